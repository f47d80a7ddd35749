"""Baselines, held against closed forms and dense computations; and their rows in a study."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

import dope.functionals as fn
from dope.benchmarks import pharmacokinetics, temperature
from dope.data import DataError, Design, Grid, OperatorData
from dope.functionals.base import evaluate
from dope.studies.baseline_rows import baselines, mean_of_units
from dope.studies.baselines import (
    CURVES,
    Process,
    _deviance,
    fit_process,
    gp,
    of_curves,
    posterior_mean,
    spline,
    trapezoid,
    weighted,
)

GRID = Grid.uniform(0, 2, 41)
T = GRID.points[:, 0]
EVERY = pytest.mark.parametrize("name", CURVES)


def units(grid, points, values, **kw):
    return OperatorData(np.zeros((len(points), 1, *grid.shape)), points, values, grid=grid, **kw)


def scattered(n=4, k=7, *, seed=0, ends=True):
    """Off-grid places, both ends of the domain among them unless told."""
    places = np.random.default_rng(seed).uniform(0, 2, (n, k))
    if ends:
        places[:, 0], places[:, -1] = 0, 2
    return places


# ---- lines and splines --------------------------------------------------------------------------------
@pytest.mark.parametrize("curve", [trapezoid, spline])
def test_a_linear_function_is_exact(curve):
    places = scattered()
    curves = curve(units(GRID, places, 3 * places - 1))
    np.testing.assert_allclose(curves, np.tile(3 * T - 1, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(of_curves(fn.AUC(), curves, GRID), 2 * 3 - 2, rtol=1e-12)


def test_trapezoid_is_the_rule_of_that_name():
    # for points on nodes, the integral of the lines between them is the sum over unequal steps
    grid = Grid.uniform(0, 24, 49)
    nodes = np.array([0, 3, 4, 11, 20, 48])
    y = np.random.default_rng(1).uniform(0, 5, (1, 6))
    value = of_curves(fn.AUC(), trapezoid(units(grid, grid.points[nodes, 0][None], y)), grid)
    np.testing.assert_allclose(value, np.trapezoid(y, grid.points[nodes, 0]), rtol=1e-12)


def test_spline_reproduces_its_points_and_stays_between_them():
    nodes = np.array([2, 9, 15, 22, 37])
    y = np.array([[0.0, 4.0, 4.0, 1.0, 2.0]])
    curve = spline(units(GRID, T[nodes][None], y))[0]
    np.testing.assert_allclose(curve[nodes], y[0], atol=1e-14)
    np.testing.assert_allclose(curve[2:38], PchipInterpolator(T[nodes], y[0])(T[2:38]), atol=1e-14)
    for a, b in pairwise(nodes):
        assert (np.diff(curve[a : b + 1]) * np.sign(curve[b] - curve[a]) >= 0).all()
    np.testing.assert_array_equal(curve[9:16], 4.0)  # no overshoot between equal values


@pytest.mark.parametrize("curve", [trapezoid, spline])
def test_curves_are_constant_beyond_the_first_and_last_point(curve):
    out = curve(units(GRID, [[0.52, 1.0, 1.48]], [[5.0, 1.0, 2.0]]))[0]
    np.testing.assert_array_equal(out[T < 0.5], 5)
    np.testing.assert_array_equal(out[T > 1.5], 2)


@pytest.mark.parametrize("curve", [trapezoid, spline])
def test_order_does_not_matter_and_values_at_one_place_count_as_their_mean(curve):
    once = curve(units(GRID, [[0.0, 0.7, 2.0]], [[1.0, 3.0, 2.0]]))
    again = curve(units(GRID, [[2.0, 0.7, 0.0, 0.7]], [[2.0, 5.0, 1.0, 1.0]]))
    np.testing.assert_allclose(again, once, atol=1e-14)


@EVERY
def test_on_a_circle_curves_close_and_turn_with_their_points(name):
    grid = Grid.periodic(0, 1, 40)
    rng = np.random.default_rng(2)
    nodes = np.stack([np.sort(rng.choice(40, 9, replace=False)) for _ in range(6)])
    y = np.sin(2 * np.pi * nodes / 40 + np.arange(6)[:, None])
    still = CURVES[name](units(grid, nodes / 40, y))
    turned = CURVES[name](units(grid, (nodes + 13) % 40 / 40, y))
    # the Gaussian process is fitted by iteration, to the same data but for rounding
    np.testing.assert_allclose(turned, np.roll(still, 13, axis=1), atol=1e-10 if name != "gp" else 1e-4)
    # no jump where the circle is cut: its largest step is that of elsewhere
    steps = np.abs(np.roll(still, -1, axis=1) - still)
    assert (steps[:, -1] <= 1.01 * steps[:, :-1].max(axis=1)).all()


def test_both_ends_of_a_circle_are_one_place():
    grid = Grid.periodic(0, 1, 10)
    out = trapezoid(units(grid, [[0.0, 0.5, 1.0]], [[1.0, 0.0, 3.0]]))[0]
    np.testing.assert_allclose(out[[0, 1, 5, 9]], [2.0, 1.6, 0.0, 1.6], atol=1e-12)


# ---- Gaussian process ---------------------------------------------------------------------------------
def dense(data, unit, process):
    """Posterior mean and log-likelihood pieces of one unit, by the textbook."""
    seen = data.observed[unit]
    x, y = data.points[unit, seen, 0], data.values[unit, seen]

    def kernel(a, b):
        z = np.sqrt(3) * np.abs(a[:, None] - b) / process.length
        return (1 + z) * np.exp(-z)

    k = kernel(x, x) + process.ratio * np.eye(len(x))
    return process.mean + kernel(T, x) @ np.linalg.inv(k) @ (y - process.mean), k, y


@pytest.fixture(scope="module")
def ragged():
    """Units with 1, 3, 8, 5 and 2 off-grid points."""
    rng = np.random.default_rng(3)
    counts = [1, 3, 8, 5, 2]
    points = [rng.uniform(0, 2, k) for k in counts]
    return units(GRID, points, [np.sin(3 * x) + 0.05 * rng.standard_normal(len(x)) for x in points])


def test_the_posterior_mean_equals_a_dense_computation(ragged):
    process = Process(mean=0.3, length=0.6, ratio=0.01)
    expected = [dense(ragged, i, process)[0] for i in range(5)]
    np.testing.assert_allclose(posterior_mean(ragged, process), expected, atol=1e-11)


def test_on_a_circle_the_process_is_that_of_a_plane_around_it():
    grid = Grid.periodic(-1, 2, 30)
    x, y = np.array([-0.95, 0.3, 1.9]), np.array([1.0, -1.0, 2.0])

    def plane(t):
        return 3 / (2 * np.pi) * np.stack([np.cos(2 * np.pi * t / 3), np.sin(2 * np.pi * t / 3)], axis=1)

    def kernel(a, b):
        z = np.sqrt(3) * np.linalg.norm(plane(a)[:, None] - plane(b), axis=2) / 0.8
        return (1 + z) * np.exp(-z)

    expected = 0.5 + kernel(grid.points[:, 0], x) @ np.linalg.inv(kernel(x, x) + 0.1 * np.eye(3)) @ (y - 0.5)
    np.testing.assert_allclose(posterior_mean(units(grid, x[None], y[None]), Process(0.5, 0.8, 0.1))[0], expected)


def test_the_likelihood_equals_a_dense_computation_and_its_mean_and_variance_are_the_best(ragged):
    parts = [dense(ragged, i, Process(0.0, 0.6, 0.01))[1:] for i in range(5)]
    n = sum(len(y) for _, y in parts)

    def deviance(mean, variance):
        squares = sum((y - mean) @ np.linalg.solve(k, y - mean) for k, y in parts)
        return n * np.log(variance) + sum(np.linalg.slogdet(k)[1] for k, _ in parts) + squares / variance, squares / n

    value, mean = _deviance(ragged, 0.6, 0.01)
    _, variance = deviance(mean, 1.0)
    # the profile leaves out squares / variance, which at the best variance is n
    np.testing.assert_allclose(value + n, deviance(mean, variance)[0], rtol=1e-10)
    for other in (0.9, 1.1):
        assert deviance(mean + other - 1, variance)[0] > value + n
        assert deviance(mean, other * variance)[0] > value + n


def test_the_process_recovers_the_noise_and_the_curves_it_was_shown():
    rng = np.random.default_rng(4)
    places = rng.uniform(0, 2, (60, 15))
    phase = rng.uniform(0, 6, (60, 1))
    truth = 2 + np.sin(3 * T + phase)
    noisy = units(GRID, places, 2 + np.sin(3 * places + phase) + 0.1 * rng.standard_normal(places.shape))
    process = fit_process(noisy)
    # The signal's variance is about 0.5 to 2 as the process sees it, so that the ratio is 0.01 within a factor 4.
    assert 0.0025 < process.ratio < 0.04
    assert 0.3 < process.length < 10
    inner = (T > 0.3) & (T < 1.7)  # where points surround nearly every place
    errors = [np.sqrt(((curve(noisy) - truth)[:, inner] ** 2).mean()) for curve in (gp, trapezoid)]
    assert errors[0] < 0.08  # of noise 0.1: better than any single value
    assert errors[0] < 0.8 * errors[1]


def test_without_noise_the_process_passes_through_its_points():
    rng = np.random.default_rng(5)
    nodes = np.stack([np.sort(rng.choice(41, 12, replace=False)) for _ in range(20)])
    y = np.cos(2 * T[nodes] + rng.uniform(0, 6, (20, 1)))
    np.testing.assert_allclose(np.take_along_axis(gp(units(GRID, T[nodes], y)), nodes, 1), y, atol=1e-3)


@pytest.mark.filterwarnings("error")
def test_the_process_is_fitted_on_a_coarse_grid_too():
    # of whose cells half is longer than the shortest scale tried elsewhere
    grid = Grid.uniform(0, 2, 5)
    process = fit_process(units(grid, scattered(), np.random.default_rng(9).standard_normal((4, 7))))
    assert process.length >= 0.2 * (1 - 1e-9)


def test_constant_values_give_constant_curves_of_any_kind():
    for curve in CURVES.values():
        np.testing.assert_allclose(curve(units(GRID, scattered(), np.full((4, 7), 2.5))), 2.5, atol=1e-9)


# ---- weighted -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("world", [pharmacokinetics(1.0, noise=0.0), temperature(0.5, noise=0.0)], ids=lambda w: w.name)
def test_weighting_by_the_known_design_is_unbiased(world):
    draw = world.sample(3000, seed=6)
    for g in world.functionals.values():
        if isinstance(g, fn.Integral):
            truth = evaluate(g, draw.solutions, world.grid)
            gap = weighted(draw.data, g) - truth
            # the clock equation of the temperature's design leaves up to 1 % of the value
            slack = 0.0 if world.name == "pharmacokinetics" else 0.01 * truth.mean()
            assert abs(gap.mean()) < 4 * gap.std() / 3000**0.5 + slack
            # and it is the weight that makes it so: plain averages are far off
            plain = OperatorData(
                draw.inputs,
                draw.data.points,
                draw.values,
                grid=world.grid,
                design=np.broadcast_to(world.grid.weights, draw.solutions.shape),
            )
            biased = weighted(plain, g) - truth
            assert abs(biased.mean()) > 10 * biased.std() / 3000**0.5


@pytest.mark.filterwarnings("error")
def test_the_weighted_mean_is_its_definition_for_ragged_points_between_nodes():
    grid = Grid.uniform(0, 1, 3)
    p = np.array([[0.2, 0.5, 0.3], [0.25, 0.25, 0.5], [0.2, 0.2, 0.6]])
    data = units(grid, [[0.25, 0.5], [1.0], []], [[2.0, 3.0], [-1.0], []], design=p)
    xi = np.array([0.25, 0.5, 0.25]) / p
    got = weighted(data, fn.Integral(lambda u, x: u**2 + x))
    expected = [((xi[0, 0] + xi[0, 1]) / 2 * (4 + 0.25) + xi[0, 1] * (9 + 0.5)) / 2, xi[1, 2] * (1 + 1), np.nan]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_padding_is_never_asked_for_its_logarithm():
    data = units(Grid.uniform(0, 1, 3), [[0.5, np.nan]], [[2.0, np.nan]], design=[[0.25, 0.5, 0.25]])
    g = fn.Integral(lambda u, x: u.log())
    np.testing.assert_allclose(weighted(data, g), np.log(2), rtol=1e-12)


def test_weighting_needs_an_integral_and_a_design():
    plain = units(GRID, [[0.5]], [[1.0]])
    with pytest.raises(DataError, match="known design"):
        weighted(plain, fn.Mean())
    known = units(GRID, [[0.5]], [[1.0]], design=Design(probability=np.full((1, 41), 1 / 41)))
    with pytest.raises(DataError, match="no integral"):
        weighted(known, fn.SoftMax(5.0))


# ---- every curve --------------------------------------------------------------------------------------
@EVERY
def test_a_unit_without_observations_has_no_value_and_changes_no_other(name):
    rng = np.random.default_rng(7)
    points = [rng.uniform(0, 2, k) for k in (5, 0, 1, 9)]
    values = [np.exp(-x) for x in points]
    curves = CURVES[name](units(GRID, points, values))
    assert np.isnan(curves[1]).all()
    values_of = of_curves(fn.SoftMax(5.0), curves, GRID)
    assert np.isnan(values_of).tolist() == [False, True, False, False]
    others = CURVES[name](units(GRID, [points[i] for i in (0, 2, 3)], [values[i] for i in (0, 2, 3)]))
    np.testing.assert_array_equal(curves[[0, 2, 3]], others)


@EVERY
def test_a_single_point_gives_a_curve(name):
    curve = CURVES[name](units(GRID, [[0.3], [1.2]], [[4.0], [1.0]]))
    if name == "gp":  # between the unit's own value and the mean of all
        assert (curve[0] <= 4).all()
        assert (curve[0] >= 2.5 - 1e-9).all()
    else:
        np.testing.assert_array_equal(curve[0], 4)


@EVERY
def test_curves_need_one_coordinate(name):
    with pytest.raises(DataError, match="one coordinate"):
        CURVES[name](temperature().sample(2, seed=0).data)


# ---- rows ---------------------------------------------------------------------------------------------
def case(world, n=200):
    """A repeat as the study's estimators see it, of which baselines use the draw alone."""
    draw = world.sample(n, seed=8)
    floor = SimpleNamespace(estimator="floor")
    return SimpleNamespace(
        draw=draw,
        functionals=world.functionals,
        settings=(SimpleNamespace(value=0.5),),
        floor=lambda g: floor,
    )


def test_every_baseline_answers_for_every_functional_it_is_defined_for():
    world = pharmacokinetics(0.5)
    answers = [a for a in baselines(case(world), ["trapezoid", "spline", "gp", "weighted"]) if a.estimator != "floor"]
    got = {(a.estimator, a.functional) for a in answers}
    every = {(b, g) for b in ("trapezoid", "spline", "gp", "weighted") for g in ("auc", "tat", "soft_cmax")}
    assert got == every - {("weighted", "soft_cmax")}
    solutions = world.sample(200, seed=8).solutions
    for a in answers:
        assert a.value == 0.5
        assert a.low < a.estimate < a.high
        truth = of_curves(world.functionals[a.functional], solutions, world.grid).mean()
        # 24 of 128 nodes a unit: interpolation loses little, most of it of a peak of 0.7
        assert abs(a.estimate - truth) < (0.06 if a.functional == "soft_cmax" else 4 * a.se)


def test_the_interval_is_that_of_the_mean_over_observed_units():
    values = np.array([1.0, 2.0, np.nan, 4.0, 5.0])
    mean, se, low, high = mean_of_units(values)
    assert mean == 3
    assert se == pytest.approx(np.sqrt(10 / 3) / 2)
    # the 97.5 % quantile of t with 3 degrees of freedom
    assert (low, high) == pytest.approx((3 - 3.18244630528371 * se, 3 + 3.18244630528371 * se))
