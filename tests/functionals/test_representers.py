"""The representer is the derivative: by automatic differentiation, in closed form, along any direction."""

import pytest
import torch

import dope.functionals as fn
from dope.data import DataError
from dope.functionals.base import Functional
from helpers import GRIDS_1D, GRIDS_2D, GRIDS_3D, cases, fields, functionals, inner

ALL = cases(GRIDS_1D | GRIDS_2D | GRIDS_3D)


def dexp(u):
    return torch.exp(u) / (1 + torch.exp(u)) ** 2


# Written out by hand from the published derivatives, not from the code: w_g(u) under the normalised measure.
CLOSED = {
    "mean": lambda u, grid: torch.ones_like(u),
    "auc": lambda u, grid: torch.full_like(u, grid.measure),
    "time above": lambda u, grid: 6 * dexp(6 * (u - 0.2)),
    "time below": lambda u, grid: -6 * dexp(6 * (u - 0.2)),
    "time in range": lambda u, grid: 5 * (dexp(5 * (u + 0.3)) - dexp(5 * (u - 0.4))),
    "excess above": lambda u, grid: 1 / (1 + torch.exp(-8 * (u - 0.1))),
    "energy": lambda u, grid: 2 * u,
    "tracking a number": lambda u, grid: 2 * (u - 0.5),
    "soft maximum": lambda u, grid: (
        torch.exp(5 * u) / inner(torch.exp(5 * u), torch.ones_like(u), grid).reshape(-1, *[1] * grid.ndim)
    ),
    "soft minimum": lambda u, grid: (
        torch.exp(-5 * u) / inner(torch.exp(-5 * u), torch.ones_like(u), grid).reshape(-1, *[1] * grid.ndim)
    ),
}


@pytest.mark.parametrize(("grid", "g"), ALL)
def test_own_representer_equals_the_automatic_one(grid, g):
    u = fields(grid)
    torch.testing.assert_close(g.representer(u, grid), Functional.representer(g, u, grid), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("grid", (GRIDS_1D | GRIDS_2D).values(), ids=GRIDS_1D | GRIDS_2D)
@pytest.mark.parametrize("name", CLOSED)
def test_representers_equal_the_published_formulas(grid, name):
    u = fields(grid)
    carries_mass = torch.as_tensor(grid.weights > 0)
    formula = CLOSED[name](u, grid) * carries_mass
    torch.testing.assert_close(functionals(grid)[name].representer(u, grid), formula, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("grid", "g"), ALL)
def test_a_forward_derivative_is_the_inner_product_with_the_representer(grid, g):
    u, h = fields(grid), fields(grid, seed=1)
    _, forward = torch.func.jvp(lambda v: g(v, grid), (u,), (h,))
    torch.testing.assert_close(forward, inner(g.representer(u, grid), h, grid), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("grid", "g"), ALL)
def test_a_finite_difference_is_the_inner_product_with_the_representer(grid, g):
    u, h, step = fields(grid), fields(grid, seed=1), 1e-5
    difference = (g(u + step * h, grid) - g(u - step * h, grid)) / (2 * step)
    # a central difference is off by step^2 times a third derivative, at most some hundred here
    torch.testing.assert_close(inner(g.representer(u, grid), h, grid), difference, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("grid", "g"), ALL)
def test_the_remainder_of_the_expansion_is_of_second_order(grid, g):
    u, h = fields(grid), fields(grid, seed=1)

    def remainder(step):
        return g(u + step * h, grid) - g(u, grid) - step * inner(g.representer(u, grid), h, grid)

    # halving the step divides a second-order term by four; 1e-9 is room for rounding where it vanishes
    assert (remainder(1e-3).abs() <= 0.27 * remainder(2e-3).abs() + 1e-9).all()


@pytest.mark.parametrize(("grid", "g"), cases({"uniform": GRIDS_1D["uniform"]}))
def test_the_representer_is_computed_under_no_grad_and_carries_no_graph(grid, g):
    u = fields(grid)
    with torch.no_grad():
        w = g.representer(u, grid)
    assert not w.requires_grad
    assert not u.requires_grad
    torch.testing.assert_close(w, g.representer(u, grid))


@pytest.mark.parametrize(("grid", "g"), cases({"cells x nodes": GRIDS_2D["cells x nodes"]}))
def test_fields_do_not_see_one_another(grid, g):
    u = fields(grid, 4)
    alone = torch.cat([g.representer(v[None], grid) for v in u])
    torch.testing.assert_close(g.representer(u, grid), alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "g",
    [
        fn.functional(lambda u, grid: (u > 0).double().mean(), name="hard"),
        fn.functional(lambda u, grid: u.detach().mean(), name="hard"),
        fn.Integral(lambda u, x: (u > 0).double(), name="hard"),
        fn.Integral(lambda u, x: (u > 0).double(), name="hard").within(lambda x: x > 1),
        fn.functional(lambda u, grid: (u > 0).double().mean(), name="hard") + fn.Integral(lambda u, x: x),
    ],
    ids=["comparison", "detached", "integrand", "in a region", "in a sum"],
)
def test_what_has_no_derivative_is_refused(g):
    grid = GRIDS_1D["uniform"]
    with pytest.raises(DataError, match=r"hard.* has no derivative .*torch operations of u.*TimeAbove"):
        g.representer(fields(grid), grid)


@pytest.mark.parametrize("g", [fn.Flux(), fn.functional(lambda u, grid: u.mean())], ids=["flux", "own"])
def test_what_depends_on_nodes_without_mass_has_no_representer(g):
    grid = GRIDS_1D["nodes without mass"]
    with pytest.raises(DataError, match=r"depends on the field at nodes without quadrature weight.*give these nodes"):
        g.representer(fields(grid), grid)
    # the region of a functional is no such case: only its quadrature is restricted
    fn.Flux(region=lambda x: x < 1).representer(fields(GRIDS_1D["nodes"]), GRIDS_1D["nodes"])


@pytest.mark.parametrize(
    "g", [fn.Mean(), fn.TimeAbove(0.2, 6.0), fn.Energy(), fn.ExcessAbove(0.1, 8.0), 2 * fn.Energy() - fn.Mean()]
)
@pytest.mark.parametrize("grid", [GRIDS_1D["cells"], GRIDS_2D["uniform x uniform"]], ids=["1-D", "2-D"])
def test_slope_and_curvature_are_the_derivatives_of_the_integrand(g, grid):
    rng = torch.Generator().manual_seed(0)
    y = torch.randn(3, 5, generator=rng, dtype=torch.float64)
    x = torch.rand(3, 5, *([grid.ndim] if grid.ndim > 1 else []), generator=rng, dtype=torch.float64)
    step = 1e-4
    low, mid, high = (g.integrand(y + k * step, x, grid) for k in (-1, 0, 1))
    torch.testing.assert_close(g.slope(y, x, grid), (high - low) / (2 * step), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(g.curvature(y, x, grid), (high - 2 * mid + low) / step**2, rtol=1e-5, atol=1e-5)
