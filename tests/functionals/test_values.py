"""Functionals measure what their names say, on fields whose summaries are known."""

import math

import numpy as np
import pytest
import torch

import dope.functionals as fn
from dope.data import DataError, Grid
from dope.functionals.base import evaluate, representers
from helpers import GRIDS, GRIDS_1D, GRIDS_2D, cases, fields, functionals

FINE = Grid.uniform(0, 2, 2001)
X = torch.as_tensor(FINE.points[..., 0])


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_a_constant_field_gives_the_closed_forms(grid):
    u = torch.full((2, *grid.shape), 0.7, dtype=torch.float64)
    g = functionals(grid)
    expected = {
        "mean": 0.7,
        "auc": 0.7 * grid.measure,
        "time above": 1 / (1 + math.exp(-3)),
        "time below": 1 / (1 + math.exp(3)),
        "excess above": math.log1p(math.exp(4.8)) / 8,
        "energy": 0.49,
        "tracking a number": 0.04,
        "point value": 0.7,
        "soft maximum": 0.7,
        "soft minimum": 0.7,
        "flux": 0.0,
        "flux through a region": 0.0,
    }
    for name in expected.keys() & g.keys():
        value = expected[name]
        torch.testing.assert_close(
            g[name](u, grid), torch.full((2,), value, dtype=torch.float64), rtol=1e-9, atol=1e-12
        )


def test_means_and_integrals_of_a_line():
    u = (3 * X + 1)[None]
    assert fn.Mean()(u, FINE).item() == pytest.approx(4, rel=1e-12)
    assert fn.AUC()(u, FINE).item() == pytest.approx(8, rel=1e-12)
    # mean of (3x + 1)^2 on [0, 2]; the trapezoid rule is off by h^2 / 12 times the mean curvature, 1.5e-6
    assert fn.Energy()(u, FINE).item() == pytest.approx(19, abs=2e-6)
    assert fn.TrackingError(lambda x: 3 * x)(u, FINE).item() == pytest.approx(1, rel=1e-12)


def test_the_area_of_a_plane_has_its_unit():
    grid = Grid.product(Grid.uniform(0, 3, 5), Grid.uniform(0, 2, 4))
    assert fn.AUC()(torch.ones(1, *grid.shape, dtype=torch.float64), grid).item() == pytest.approx(6)


@pytest.mark.parametrize(("kind", "share"), [("above", 0.25), ("below", 0.75)])
def test_sharp_thresholds_tend_to_the_share_of_the_domain(kind, share):
    g = {"above": fn.TimeAbove, "below": fn.TimeBelow}[kind]
    errors = [abs(g(1.5, sharpness)(X[None], FINE).item() - share) for sharpness in (2.0, 8.0, 32.0, 128.0)]
    assert errors == sorted(errors, reverse=True)
    # the logistic's tail at the end of the domain is e^-64; half a cell of the grid is 2.5e-4
    assert errors[-1] < 2.5e-4


def test_a_sharp_range_tends_to_the_share_of_the_domain():
    assert fn.TimeInRange(0.5, 1.5, 200.0)(X[None], FINE).item() == pytest.approx(0.5, abs=5e-4)
    # the default lets each edge take a twentieth of the range
    g = fn.TimeInRange(0.5, 1.5)
    low, high = (torch.sigmoid(torch.tensor(g.sharpness * z)) for z in (-0.025, 0.025))
    assert (low.item(), high.item()) == pytest.approx((0.05, 0.95), abs=0.003)


def test_time_above_and_below_share_the_domain():
    u = fields(FINE)
    total = fn.TimeAbove(0.1, 5.0)(u, FINE) + fn.TimeBelow(0.1, 5.0)(u, FINE)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_a_sharp_excess_tends_to_the_mean_excess():
    # the mean of (x - 1)_+ on [0, 2] is a quarter; a softplus adds pi^2 / 12 / sharpness^2 over the length
    assert fn.ExcessAbove(1.0, 100.0)(X[None], FINE).item() == pytest.approx(0.25, abs=1e-4)


def test_a_steep_excess_neither_overflows_nor_turns_linear():
    u = torch.tensor([[0.2, 0.2]], dtype=torch.float64)
    grid = Grid.uniform(0, 1, 2)
    assert fn.ExcessAbove(0.0, 110.0)(u, grid).item() == pytest.approx(0.2 + math.log1p(math.exp(-22)) / 110, rel=1e-15)
    assert fn.ExcessAbove(0.0, 1e6)(u, grid).item() == pytest.approx(0.2)


def test_soft_extremes_tend_to_the_extremes_from_inside():
    u = fields(FINE)
    top, bottom = u.amax(1), u.amin(1)
    least = math.log(1 / FINE.weights.min())
    for sharpness in (1.0, 10.0, 100.0, 1000.0):
        high, low = fn.SoftMax(sharpness)(u, FINE), fn.SoftMin(sharpness)(u, FINE)
        # exp(lam max) times its smallest possible weight is at most the integral, which is at most exp(lam max)
        assert ((high <= top) & (high >= top - least / sharpness)).all()
        assert ((low >= bottom) & (low <= bottom + least / sharpness)).all()


def test_soft_extremes_do_not_overflow():
    u = 1000 * fields(FINE)
    assert torch.isfinite(fn.SoftMax(50.0)(u, FINE)).all()
    assert torch.isfinite(fn.SoftMin(50.0).representer(u, FINE)).all()


def test_a_narrow_window_tends_to_the_value_at_its_place():
    grid = Grid.product(Grid.uniform(0, 1, 41), Grid.uniform(0, 1, 41))
    u = torch.as_tensor(np.sin(3 * grid.points[..., 0]) + grid.points[..., 1] ** 2)[None]
    truth = math.sin(1.2) + 0.25
    errors = [abs(fn.PointValue([0.4, 0.5], width)(u, grid).item() - truth) for width in (0.2, 0.1, 0.05)]
    assert errors == sorted(errors, reverse=True)
    # a Gaussian window is off by half its variance times the Laplacian: 0.5 * 0.05^2 * (-9 sin 1.2 + 2)
    assert errors[-1] == pytest.approx(abs(0.5 * 0.05**2 * (-9 * math.sin(1.2) + 2)), rel=0.05)


@pytest.mark.parametrize(
    "grid", [GRIDS_1D["uniform"], GRIDS_1D["cells"], GRIDS_1D["nodes"]], ids=["uniform", "cells", "nodes"]
)
def test_the_flux_of_a_line_is_exact(grid):
    u = torch.as_tensor(1 - 3 * grid.points[..., 0])[None]
    for g, value in [
        (fn.Flux(), 3),
        (fn.Flux(conductivity=2.0), 6),
        (fn.Flux(region=lambda x: x > 1), 3),
        (fn.Flux(boundary="lower"), -3),
        (fn.Flux(boundary="upper"), 3),
    ]:
        assert g(u, grid).item() == pytest.approx(value, rel=1e-9)


def test_the_flux_of_a_plane_is_exact_along_each_axis():
    grid = Grid.product(Grid.uniform(0, 1, 6), Grid.nodes([0, 0.1, 0.5, 2]))
    x, y = torch.as_tensor(grid.points).unbind(-1)
    u = (2 * x - 5 * y)[None]
    assert fn.Flux(0)(u, grid).item() == pytest.approx(-2)
    assert fn.Flux(1)(u, grid).item() == pytest.approx(5)
    # outward through the face y = 2, conductivity 1 + x averaged over the face
    assert fn.Flux(1, boundary="upper", conductivity=lambda x: 1 + x[..., 0])(u, grid).item() == pytest.approx(7.5)


def test_the_flux_on_a_periodic_axis_wraps():
    grid = Grid.periodic(0, 1, 64)
    x = grid.points[..., 0]
    u = torch.as_tensor(np.sin(2 * np.pi * x))[None]
    first_quarter = fn.Flux(region=lambda x: x < 0.25)(u, grid).item()
    # -4 times the rise of one over a quarter; centred differences and the node sum are off by some per cent of a cell
    assert first_quarter == pytest.approx(-4, rel=0.05)
    assert fn.Flux()(u, grid).item() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("grid", "g"), cases(GRIDS_1D | GRIDS_2D))
def test_any_leading_axes_are_kept(grid, g):
    u = fields(grid, 6)
    stacked = g(u.reshape(2, 3, *grid.shape), grid)
    torch.testing.assert_close(stacked, g(u, grid).reshape(2, 3))
    torch.testing.assert_close(g(u[0], grid), g(u, grid)[0])


@pytest.mark.parametrize(("grid", "g"), cases({"cells x nodes": GRIDS_2D["cells x nodes"]}))
def test_functionals_work_under_vmap_and_in_float32(grid, g):
    u = fields(grid, 4)
    torch.testing.assert_close(torch.vmap(lambda v: g(v, grid))(u), g(u, grid))
    single = g(u.float(), grid)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), g(u, grid), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("grid", "g"), cases({"uniform": GRIDS_1D["uniform"]}))
def test_every_functional_has_a_name_and_units(grid, g):
    assert g.name
    assert g.units
    assert repr(g) == g.name
    renamed = g.named("another")
    assert (renamed.name, renamed.units) == ("another", g.units)
    assert g.name != "another"


# ---- evaluation over many fields ------------------------------------------------------------------------
def test_many_fields_are_evaluated_in_pieces(monkeypatch):
    grid = GRIDS_2D["uniform x uniform"]
    u, g = fields(grid, 10), fn.SoftMax(3.0)
    monkeypatch.setattr(fn.base, "_VALUES_AT_ONCE", 3 * grid.size)
    np.testing.assert_allclose(evaluate(g, u.numpy(), grid), g(u, grid), rtol=1e-12)
    np.testing.assert_allclose(representers(g, u.numpy(), grid), g.representer(u, grid), rtol=1e-12)


def test_float32_fields_are_summed_in_float64():
    grid = Grid.uniform(0, 1, 1001)
    field = np.full((1, 1001), 0.1, dtype=np.float32)
    assert evaluate(fn.Mean(), field, grid)[0] == pytest.approx(float(np.float32(0.1)), rel=1e-14)


# ---- what is refused ------------------------------------------------------------------------------------
U = np.ones((2, 17))
GRID = GRIDS_1D["uniform"]


@pytest.mark.parametrize(
    ("g", "message"),
    [
        (
            fn.functional(lambda u, grid: u[:3], name="three"),
            r"'three' must return one number a field.*got shape \(3,\): reduce",
        ),
        (fn.functional(lambda u, grid: u[:1], name="one"), r"got shape \(1,\)"),
        (fn.functional(lambda u, grid: 3.0, name="number"), "got float: reduce"),
        (lambda u, grid: u.mean(), "got function: wrap a function of .u, grid. in dope.functional"),
        (
            fn.functional(lambda u, grid: (u - 1).log().mean(), name="log"),
            r"'log' is not finite for 2 of 2.*range of the field \[1, 1\]",
        ),
        (fn.Flux(1), "axis 1 does not exist on a grid of 1 dimension"),
        (fn.PointValue([0.1, 0.2], 0.1), r"has 2 coordinate\(s\), the grid has 1"),
        (fn.PointValue(50.0, 0.1), "no node within reach"),
        (fn.Mean().within(lambda x: x > 5), "no grid node of positive weight: widen it"),
        (fn.Flux(region=lambda x: x > 5), "no grid node of positive weight"),
        (fn.Mean().within(lambda x: np.ones(3)), "one true or false each"),
        (fn.Integral(lambda u, x: torch.stack([u, u], -1), name="pair"), "'pair': phi must return one number a value"),
    ],
)
def test_evaluation_refuses_with_what_to_do(g, message):
    with pytest.raises(DataError, match=message):
        evaluate(g, U, GRID)


def test_evaluation_refuses_fields_of_another_grid():
    with pytest.raises(DataError, match=r"fields have shape \(2, 17\), expected \(n, \*grid\) with grid \(16,\)"):
        evaluate(fn.Mean(), U, GRIDS_1D["periodic"])


def test_an_infinite_derivative_is_refused():
    g = fn.functional(lambda u, grid: (u - 1).sqrt().mean(), name="root")
    assert evaluate(g, U, GRID).tolist() == [0, 0]
    with pytest.raises(DataError, match="the derivative of functional 'root' is not finite for 2 of 2"):
        representers(g, U, GRID)


def test_regions_and_integrands_of_a_plane_are_told_how_coordinates_arrive():
    grid = GRIDS_2D["uniform x uniform"]
    u = fields(grid)
    with pytest.raises(DataError, match=r"coordinates arrive as \(..., 2\), so pick one with x\[..., 0\]"):
        fn.Mean().within(lambda x: x < 0.5)(u, grid)
    with pytest.raises(DataError, match=r"use x\[..., k\] for coordinate k"):
        fn.Integral(lambda u, x: torch.exp(x), name="plane")(u, grid)


def test_periodic_axes_have_no_faces():
    grid = GRIDS_2D["periodic x uniform"]
    with pytest.raises(DataError, match="axis 0 is periodic and has no faces: take a region"):
        fn.Flux(0, boundary="upper")(fields(grid), grid)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fn.TimeAbove(0.5, 0), "sharpness must be positive, got 0"),
        (lambda: fn.SoftMax(-1), "sharpness must be positive"),
        (lambda: fn.SoftMin(math.inf), "sharpness must be positive"),
        (lambda: fn.TimeInRange(2, 1), "low < high, got 2 and 1"),
        (lambda: fn.PointValue(0.5, 0), "width must be positive"),
        (lambda: fn.PointValue(math.nan, 1), "place must be finite"),
        (lambda: fn.Flux(boundary="left"), "'lower' or 'upper', got 'left'"),
        (lambda: fn.Flux(boundary="lower", region=lambda x: x > 0), "not both"),
        (lambda: fn.functional(3), "needs a function of .u, grid., got int"),
    ],
)
def test_impossible_functionals_are_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_functions_that_cannot_be_batched_are_applied_one_by_one():
    g = fn.functional(lambda u, grid: u.mean() if u[0] > 0 else -u.mean())
    u = torch.stack([torch.ones(17), -torch.ones(17)]).double()
    assert g(u, GRID).tolist() == [1, 1]


def test_an_integrand_that_looks_at_the_whole_field_is_refused():
    """Observed values come one by one: the exact correction would silently be of something else."""
    grid = Grid.uniform(0, 1, 9)
    u = fields(grid).numpy()
    for phi in (lambda u, x: u - u.mean(-1, keepdim=True), lambda u, x: u.mean(), lambda u, x: torch.cumsum(u, -1)):
        with pytest.raises(DataError, match=r"by itself.*dope\.functional"):
            evaluate(fn.Integral(phi, name="own"), u, grid)
    for phi in (lambda u: u, lambda u, x: None, lambda u, x: u @ x[:3]):
        with pytest.raises(DataError, match="'own': phi fails"):
            evaluate(fn.Integral(phi, name="own"), u, grid)
    with pytest.raises(DataError, match="needs a function"):
        fn.Integral(3)
