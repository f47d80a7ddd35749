"""Functionals combine as numbers do, and what stays an integral stays one."""

import operator

import numpy as np
import pytest
import torch

import dope.functionals as fn
from dope.data import DataError, Grid
from helpers import GRIDS_1D, GRIDS_2D, fields

GRIDS = GRIDS_1D | GRIDS_2D
ON_GRIDS = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}

INTEGRALS = (fn.Energy(), fn.TimeAbove(0.2, 6.0))
OTHERS = (fn.SoftMax(4.0), fn.functional(lambda u, grid: 1 + grid.mean(u.square()), name="own"))


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("left", [*INTEGRALS, *OTHERS, 3.0, np.float64(2)], ids=str)
@pytest.mark.parametrize("right", [*INTEGRALS, *OTHERS, 2], ids=str)
@pytest.mark.parametrize("grid", [GRIDS_1D["nodes"], GRIDS_2D["cells x nodes"]], ids=["1-D", "2-D"])
def test_values_combine_as_numbers_do(sign, left, right, grid):
    if not isinstance(left, fn.Functional) and not isinstance(right, fn.Functional):
        return
    u = fields(grid)
    value = [p(u, grid) if isinstance(p, fn.Functional) else p for p in (left, right)]
    torch.testing.assert_close(SIGNS[sign](left, right)(u, grid), SIGNS[sign](*value))


@ON_GRIDS
def test_representers_follow_the_rules_of_differentiation(grid):
    u, (f, h) = fields(grid), OTHERS
    wf, wh = f.representer(u, grid), h.representer(u, grid)
    vf, vh = (v(u, grid).reshape(-1, *[1] * grid.ndim) for v in (f, h))
    for g, expected in [
        (2 * f - h / 4 + 1, 2 * wf - wh / 4),
        (f * h, wf * vh + vf * wh),
        (f / h, (wf * vh - vf * wh) / vh**2),
        (1 / h, -wh / vh**2),
        (-f, -wf),
    ]:
        torch.testing.assert_close(g.representer(u, grid), expected, rtol=1e-9, atol=1e-9)


def test_linear_combinations_of_integrals_are_integrals_and_others_are_not():
    f, h = INTEGRALS
    for g in (f + h, f - h, 2 * f, f / 3, -f, f + 1, 1 - f, 2 * f - h / 3 + 1, f.within(lambda x: x < 1)):
        assert isinstance(g, fn.Integral)
    for g in (f * h, f / h, 1 / f, f + OTHERS[0], OTHERS[0].within(lambda x: x < 1)):
        assert not isinstance(g, fn.Integral)


@ON_GRIDS
def test_the_integrand_of_a_combination_has_the_combination_as_its_mean(grid):
    from dope.functionals.integral import coordinates

    u, (f, h) = fields(grid), INTEGRALS
    place = (lambda x: x) if grid.ndim == 1 else (lambda x: x[..., 0])
    for g in (2 * f - h / 3 + 1, (f + h).within(lambda x: place(x) < 1), fn.AUC().within(lambda x: place(x) < 1)):
        field = g.integrand(u, coordinates(grid, u), grid)
        torch.testing.assert_close((field * torch.as_tensor(grid.weights)).flatten(1).sum(1), g(u, grid))


# ---- regions --------------------------------------------------------------------------------------------
def test_within_a_region_means_and_integrals_are_those_of_the_region():
    grid = Grid.cells(0, 4, 400)
    x = torch.as_tensor(grid.points[..., 0])
    part = lambda x: x < 1  # noqa: E731
    assert fn.Mean().within(part)(x, grid).item() == pytest.approx(0.5)
    assert fn.AUC().within(part)(x, grid).item() == pytest.approx(0.5)
    assert fn.AUC().within(lambda x: x >= 1)(x, grid).item() == pytest.approx(7.5)
    assert fn.TimeAbove(0.75, 1e4).within(part)(x, grid).item() == pytest.approx(0.25)
    assert fn.SoftMax(1e4).within(part)(x, grid).item() == pytest.approx(1, abs=6e-3)
    assert fn.SoftMin(1e4).within(lambda x: x > 3)(x, grid).item() == pytest.approx(3, abs=6e-3)
    assert fn.PointValue(3.0, 0.1).within(lambda x: x > 3)(x, grid).item() > 3.05
    assert fn.Flux().within(part)(x**2, grid).item() == pytest.approx(fn.Flux(region=part)(x**2, grid).item())


@ON_GRIDS
def test_within_equals_the_functional_on_the_restricted_grid(grid):
    place = (lambda x: x) if grid.ndim == 1 else (lambda x: x[..., 0])
    region = lambda x: place(x) < 1  # noqa: E731
    part = grid.restricted(region(grid.points[..., 0] if grid.ndim == 1 else grid.points))
    u = fields(grid)
    for g in (*INTEGRALS, *OTHERS, fn.AUC(), fn.PointValue([0.5] * grid.ndim, 0.5)):
        torch.testing.assert_close(g.within(region)(u, grid), g(u, part))


@ON_GRIDS
def test_outside_the_region_the_representer_is_zero(grid):
    place = (lambda x: x) if grid.ndim == 1 else (lambda x: x[..., 0])
    outside = torch.as_tensor(place(grid.points[..., 0] if grid.ndim == 1 else grid.points) >= 1)
    for g in (*INTEGRALS, OTHERS[0]):
        w = g.within(lambda x: place(x) < 1).representer(fields(grid), grid)
        assert (w[:, outside] == 0).all()
        assert (w[:, ~outside] != 0).any()


def test_parts_of_the_domain_add_up_to_the_whole():
    grid = GRIDS_2D["uniform x uniform"]
    u, left = fields(grid), lambda x: x[..., 0] < 0.4
    both = fn.AUC().within(left) + fn.AUC().within(lambda x: ~left(x))
    torch.testing.assert_close(both(u, grid), fn.AUC()(u, grid))


def test_nested_regions_are_intersections():
    grid = GRIDS_1D["uniform"]
    u = fields(grid)
    for g in (fn.AUC(), fn.SoftMax(3.0)):
        nested = g.within(lambda x: x < 1.5).within(lambda x: x > 0.4)
        torch.testing.assert_close(nested(u, grid), g.within(lambda x: (x < 1.5) & (x > 0.4))(u, grid))


def test_a_region_applies_to_points_off_the_grid():
    grid = GRIDS_1D["uniform"]
    g = fn.Mean().within(lambda x: x < 1)
    x = torch.tensor([[0.11, 0.97, 1.03]], dtype=torch.float64)
    share = fn.Mean()(torch.as_tensor(grid.points[..., 0] < 1).double(), grid).item()
    values = g.integrand(torch.ones_like(x), x, grid)
    torch.testing.assert_close(values, torch.tensor([[1 / share, 1 / share, 0]], dtype=torch.float64))


# ---- names, units and refusals ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("g", "name", "units"),
    [
        (2 * fn.Mean() + fn.Energy(), "(2 * mean) + energy", "u"),
        (fn.Energy() / fn.Mean(), "energy / mean", "(u²)/(u)"),
        (fn.TimeAbove(1, 2) / fn.TimeBelow(1, 2), "time above 1 / time below 1", "1"),
        (1 - fn.TimeAbove(1, 2), "1 - time above 1", "1"),
        (1 / fn.AUC(), "1 / AUC", "1/(u·x)"),
        (fn.Mean() * fn.AUC(), "mean * AUC", "(u)·(u·x)"),
        (-fn.Mean(), "-1 * mean", "u"),
        (fn.Mean().within(lambda x: x > 0), "mean within region", "u"),
        ((fn.Mean() * 2).named("double"), "double", "u"),
    ],
)
def test_names_and_units_of_compositions(g, name, units):
    assert (g.name, g.units) == (name, units)


@pytest.mark.parametrize("other", ["two", None, torch.ones(2), [fn.Mean()]], ids=["text", "none", "tensor", "list"])
def test_functionals_combine_with_functionals_and_numbers_only(other):
    with pytest.raises(DataError, match="combines with functionals and numbers, not with"):
        fn.Mean() + other
