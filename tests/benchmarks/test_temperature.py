"""The temperature world, held against a dense assembly and what insulated edges conserve."""

import numpy as np
import pytest

from dope.benchmarks import temperature
from dope.benchmarks.temperature import spread
from dope.functionals.base import evaluate, representers


def dense_solution(heating, length):
    """Balance of every cell: what it gives to each neighbour and to the air is its heating."""
    size = len(heating)
    matrix = np.eye(size * size)
    for p in range(size):
        for q in range(size):
            for dp, dq in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                if 0 <= p + dp < size and 0 <= q + dq < size:  # no heat passes the edges
                    matrix[p * size + q, p * size + q] += (length * size) ** 2
                    matrix[p * size + q, (p + dp) * size + q + dq] -= (length * size) ** 2
    return np.linalg.solve(matrix, heating.ravel()).reshape(size, size)


# ---- solver -------------------------------------------------------------------------------------------
def test_solutions_equal_the_dense_solve_of_the_shown_inputs():
    draw = temperature().sample(8, seed=0)
    inputs = draw.inputs.astype(np.float64)
    for (heating, log_length), u in zip(inputs, draw.solutions, strict=True):
        # rounding of two changes of basis of numbers of a few hundred
        np.testing.assert_allclose(u, 20 + dense_solution(heating, np.exp(log_length[0, 0])), rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [2, 3, 11])
def test_any_size_and_any_length_equals_the_dense_solve(size):
    rng = np.random.default_rng(size)
    heating, length = rng.standard_normal((4, size, size)), np.array([0.01, 0.1, 1.0, 10.0])
    for q, ell, u in zip(heating, length, spread(heating, length), strict=True):
        np.testing.assert_allclose(u, dense_solution(q, ell), rtol=0, atol=1e-9)


def test_the_error_falls_with_the_square_of_the_cell():
    errors = []
    for size in (20, 40, 80):
        x = (np.arange(size) + 0.5) / size
        known = np.outer(np.cos(np.pi * x), np.cos(2 * np.pi * x))
        heating = (1 + 0.15**2 * 5 * np.pi**2) * known
        errors.append(np.abs(spread(heating[None], np.array([0.15]))[0] - known).max())
    # second order, whose next term is smaller by the square of the cell
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4, rtol=0.02)


def test_heat_is_neither_lost_nor_made():
    draw = temperature().sample(100, seed=1)
    heating = draw.inputs[:, 0].astype(np.float64)
    np.testing.assert_allclose(draw.solutions.mean(axis=(1, 2)), 20 + heating.mean(axis=(1, 2)), rtol=1e-12)


def test_no_place_is_hotter_than_its_heaters_or_colder_than_the_air():
    draw = temperature().sample(200, seed=2)
    rise, heating = draw.solutions - 20, draw.inputs[:, 0].astype(np.float64)
    assert (rise.max(axis=(1, 2)) < heating.max(axis=(1, 2))).all()
    assert (rise > 0).all()


def test_without_conduction_places_are_as_hot_as_they_are_heated_and_with_much_all_alike():
    heating = np.random.default_rng(3).uniform(0, 100, (1, 9, 9))
    np.testing.assert_allclose(spread(heating, np.array([0.0])), heating, rtol=1e-12)
    # an error of 100 / (1 + (pi length)^2)
    np.testing.assert_allclose(spread(heating, np.array([1e4])), heating.mean(), rtol=1e-6)


# ---- world --------------------------------------------------------------------------------------------
def test_heaters_are_anywhere_and_of_the_stated_strength():
    heating = temperature(size=40).sample(2000, seed=4).inputs[:, 0].astype(np.float64)
    # A Gaussian of width s around a place that is even on [0, 1] has the mean s sqrt(2 pi) times a share that
    # falls outside: 1 - 2 s / sqrt(2 pi) along each axis.
    inside = 0.08 * np.sqrt(2 * np.pi) * (1 - 2 * 0.08 / np.sqrt(2 * np.pi))
    expected = 4 * 150 * np.exp(0.4**2 / 2) * inside**2
    each = heating.mean(axis=(1, 2))
    assert abs(each.mean() - expected) < 5 * each.std() / 2000**0.5
    # no direction is preferred
    gap = (heating * (np.arange(40) - 19.5)).mean(axis=(1, 2))
    assert abs(gap.mean()) < 5 * gap.std() / 2000**0.5


def test_hot_places_are_observed_more_often():
    draw = temperature(0.6).sample(5, seed=5)
    for u, p in zip(draw.solutions, draw.design.probability, strict=True):
        rise = u - u.min()
        np.testing.assert_allclose(p, 0.4 / 400 + 0.6 * rise / rise.sum(), rtol=1e-12)


def test_functionals_and_their_representers_in_closed_form():
    world = temperature()
    u = world.sample(10, seed=6).solutions
    z = 0.5 * (u - 60)
    hot = 1 / (1 + np.exp(-z))
    area, excess = world.functionals["hot_area"], world.functionals["excess"]
    np.testing.assert_allclose(evaluate(area, u, world.grid), hot.mean(axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(representers(area, u, world.grid), 0.5 * hot * (1 - hot), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(evaluate(excess, u, world.grid), np.logaddexp(0, z).mean(axis=(1, 2)) / 0.5, rtol=1e-12)
    np.testing.assert_allclose(representers(excess, u, world.grid), hot, rtol=1e-12)
