"""The Darcy world, held against a dense assembly and literal loops of its definition."""

import numpy as np
import pytest

from dope.benchmarks import darcy
from dope.benchmarks.darcy import coarse_coefficients, replicate, saliency, solve
from dope.data import DataError
from dope.functionals.base import evaluate, representers


def harmonic(a, b):
    return 2 * a * b / (a + b)


def dense_solution(a):
    size = len(a)
    inner, h = size - 2, 1 / (size - 1)
    matrix = np.zeros((inner * inner, inner * inner))
    for p in range(1, size - 1):
        for q in range(1, size - 1):
            row = (p - 1) * inner + q - 1
            for dp, dq in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                face = harmonic(a[p, q], a[p + dp, q + dq]) / h**2
                matrix[row, row] += face
                if 1 <= p + dp <= inner and 1 <= q + dq <= inner:
                    matrix[row, (p + dp - 1) * inner + q + dq - 1] -= face
    u = np.zeros((size, size))
    u[1:-1, 1:-1] = np.linalg.solve(matrix, np.ones(inner * inner)).reshape(inner, inner)
    return u


# ---- solver -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_solutions_equal_the_dense_solve_of_the_shown_coefficients(shift):
    draw = darcy(coefficient_shift=shift).sample(12, seed=1)
    for a, u in zip(draw.data.inputs[:, 0].astype(np.float64), draw.solutions, strict=True):
        np.testing.assert_allclose(u, dense_solution((1 + shift) * a), rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [3, 4, 6, 11])
def test_any_size_and_any_contrast_equals_the_dense_solve(size):
    a = np.exp(2 * np.random.default_rng(size).standard_normal((5, size, size)))
    for field, u in zip(a, solve(a), strict=True):
        np.testing.assert_allclose(u, dense_solution(field), rtol=0, atol=1e-10)


def test_a_single_unknown_sees_four_harmonic_means():
    a = np.array([[9.0, 2.0, 9.0], [4.0, 1.0, 0.25], [9.0, 3.0, 9.0]])  # corners touch nothing
    faces = sum(harmonic(1.0, b) for b in (2.0, 4.0, 0.25, 3.0))
    np.testing.assert_allclose(solve(a[None])[0, 1, 1], 0.5**2 / faces, rtol=1e-14)


def test_a_homogeneous_medium_has_the_known_maximum():
    # The solution of -laplace(u) = 1 at the centre is 0.0736713532...; five points err by O(h^2), with h^2 = 1/256
    # and a constant of about 0.2, and a quarter of that at half the step.
    errors = [abs(solve(np.ones((1, s, s))).max() - 0.0736713532) for s in (17, 33)]
    assert errors[0] < 5e-4
    assert errors[1] < 0.27 * errors[0]
    np.testing.assert_allclose(solve(np.full((1, 17, 17), 4.0)), solve(np.ones((1, 17, 17))) / 4, rtol=1e-12)


def test_solutions_vanish_on_the_edges_and_are_positive_inside():
    u = darcy().sample(50, seed=2).solutions
    assert u.shape == (50, 17, 17)
    assert (u[:, [0, -1]] == 0).all()
    assert (u[:, :, [0, -1]] == 0).all()
    assert (u[:, 1:-1, 1:-1] > 0).all()


def test_a_medium_that_does_not_conduct_is_refused():
    with pytest.raises(DataError, match="unit 1"):
        solve(np.stack([np.ones((5, 5)), -np.ones((5, 5))]))


# ---- coefficients -------------------------------------------------------------------------------------
def test_coarse_coefficients_equal_the_double_sum():
    xi = 2 * np.random.default_rng(0).standard_normal((4, 3, 3))  # twice as wild, so that the bound is met
    expected = np.zeros((4, 5, 5))
    for r in range(5):
        for s in range(5):
            for i in range(3):
                for j in range(3):
                    wave = 2 * np.cos(np.pi * (i + 1) * r / 4) * np.cos(np.pi * (j + 1) * s / 4)
                    expected[:, r, s] += 0.65 / 3 * xi[:, i, j] * wave
    expected = np.maximum(np.exp(expected), 0.2)
    np.testing.assert_allclose(coarse_coefficients(xi), expected, rtol=1e-13)
    assert (expected == 0.2).any()


def test_blocks_have_four_nodes_and_the_last_one():
    coarse = np.arange(25.0).reshape(1, 5, 5)
    rows = replicate(coarse, 17, "blocks")[0, :, 0] / 5
    np.testing.assert_array_equal(rows, [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4])
    np.testing.assert_array_equal(replicate(coarse, 17, "blocks")[0, 0], rows)


@pytest.mark.parametrize("size", [5, 8, 17, 33])
def test_nearest_takes_the_closest_coarse_node_symmetrically(size):
    rows = replicate(np.arange(25.0).reshape(1, 5, 5), size, "nearest")[0, 0].astype(int)
    gap = np.abs(np.linspace(0, 1, size)[:, None] - np.linspace(0, 1, 5))
    np.testing.assert_allclose(gap[np.arange(size), rows], gap.min(1), atol=1e-12)
    np.testing.assert_array_equal(rows, 4 - rows[::-1])


def test_the_world_uses_its_replication():
    blocks, nearest = (darcy(replication=r).sample(5, seed=3).inputs for r in ("blocks", "nearest"))
    assert (blocks[:, 0, 0, 0] == blocks[:, 0, 3, 3]).all()
    assert (nearest[:, 0, 0, 0] != nearest[:, 0, 3, 3]).all()
    np.testing.assert_array_equal(blocks[:, 0, 0, 0], nearest[:, 0, 0, 0])


# ---- quadrature and functional ------------------------------------------------------------------------
def test_quadrature_is_the_normalised_product_of_trapezoid_rules():
    line = np.array([0.5, *[1.0] * 15, 0.5])
    table = np.outer(line, line)
    np.testing.assert_allclose(darcy().grid.weights, table / table.sum(), rtol=1e-14)


@pytest.mark.parametrize("kappa", [0.0, 0.4, 1.0])
def test_functional_equals_its_definition(kappa):
    world = darcy(kappa)
    u, w = world.sample(20, seed=4).solutions, world.grid.weights
    sharp = 7.5 + 2.5 * kappa
    g = world.functionals["excess"]
    value = (w * np.log(1 + np.exp(sharp * (u - 0.5))) / sharp).sum((1, 2))
    np.testing.assert_allclose(evaluate(g, u, world.grid), value, rtol=1e-12)
    np.testing.assert_allclose(representers(g, u, world.grid), 1 / (1 + np.exp(-sharp * (u - 0.5))), rtol=1e-12)


def test_kappa_changes_no_data():
    one, other = (darcy(k).sample(5, seed=0).data for k in (0.0, 1.0))
    np.testing.assert_array_equal(one.inputs, other.inputs)
    np.testing.assert_array_equal(one.values, other.values)


# ---- design -------------------------------------------------------------------------------------------
def literal_saliency(a, u, edges):
    size = len(u)
    out = np.zeros_like(u)

    def difference(line, p):
        if edges == "one-sided" and p == 0:
            return 2 * (line[1] - line[0])
        if edges == "one-sided" and p == size - 1:
            return 2 * (line[-1] - line[-2])
        return line[(p + 1) % size] - line[p - 1]

    for p in range(size):
        for q in range(size):
            slope = np.sqrt(difference(u[:, q], p) ** 2 + difference(u[p], q) ** 2)
            out[p, q] = (0.5 + abs(u[p, q]) + slope) / max(a[p, q], 1e-8)
    return out


@pytest.mark.parametrize("edges", ["wrap", "one-sided"])
def test_saliency_equals_the_loop(edges):
    rng = np.random.default_rng(5)
    a, u = np.exp(rng.standard_normal((3, 9, 9))), rng.standard_normal((3, 9, 9))  # u not zero on the edges
    expected = [literal_saliency(*unit, edges) for unit in zip(a, u, strict=True)]
    np.testing.assert_allclose(saliency(a, u, edges), expected, rtol=1e-13)


@pytest.mark.parametrize("edges", ["wrap", "one-sided"])
def test_design_equals_the_adaptive_law(edges):
    draw = darcy(edges=edges, temperature=5.0, floor=0.1).sample(8, seed=6)
    for a, u, p in zip(draw.inputs[:, 0].astype(np.float64), draw.solutions, draw.design.probability, strict=True):
        s = literal_saliency(a, u, edges)
        s = s - s.mean()
        s = s / np.abs(s).max()
        q = np.exp(5.0 * np.abs(s)) + 0.1
        np.testing.assert_allclose(p, q / q.sum(), rtol=1e-12)


def test_design_sums_to_one_draw_and_to_k_points():
    design = darcy().sample(60, seed=7).design
    np.testing.assert_allclose(design.probability.sum((1, 2)), 1, rtol=1e-13)
    np.testing.assert_allclose(design.inclusion.sum((1, 2)), 24, rtol=1e-9)
    assert (design.probability > 0).all()


def test_edge_rules_differ_at_the_edges_only():
    wrap, one_sided = (darcy(edges=e).sample(5, seed=8) for e in ("wrap", "one-sided"))
    a, u = wrap.inputs[:, 0].astype(np.float64), wrap.solutions
    np.testing.assert_array_equal(one_sided.solutions, u)
    changed = saliency(a, u, "wrap") != saliency(a, u, "one-sided")
    assert not changed[:, 1:-1, 1:-1].any()
    assert changed[:, 0, 1:-1].all()


# ---- errors -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kappa": -1.0}, "kappa"),
        ({"size": 2}, "size"),
        ({"temperature": -1.0}, "temperature"),
        ({"floor": -1e-3}, "floor"),
        ({"replication": "bilinear"}, "replication"),
        ({"edges": "reflect"}, "edges"),
        ({"coefficient_shift": -1.5}, "coefficient_shift"),
        ({"size": 5, "points": 26}, "points=26"),
    ],
)
def test_impossible_parameters_are_named(settings, words):
    with pytest.raises(DataError, match=words):
        darcy(**settings)
