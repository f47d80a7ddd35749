"""Riesz regression: both forms of the loss, the weights it finds, and what a penalty does to them."""

import numpy as np
import pytest
import torch

import dope
from dope import FNO, Grid, OperatorData, Recipe
from dope.functionals.base import representers
from dope.nuisances import Plan, fit_weights, jvp_form, observation_tensors, out_of_fold, riesz_loss
from tests.helpers import GRIDS_1D, GRIDS_2D, data, fields, functionals

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "grid", [GRIDS_1D["uniform"], GRIDS_1D["nodes"], GRIDS_2D["cells x nodes"]], ids=["line", "nodes", "square"]
)
def test_the_forward_mode_loss_is_the_gradient_loss(grid):
    observations = data(grid, n=3)
    batch = {k: v.double() if v.is_floating_point() else v for k, v in observation_tensors(observations).items()}
    u, beta = fields(grid), fields(grid, seed=1)
    for name, g in functionals(grid).items():
        by_gradient = riesz_loss(beta, g.gradient(u, grid), batch)
        forward = jvp_form(lambda v, g=g: g(v, grid), u, beta, batch)
        torch.testing.assert_close(by_gradient, forward, rtol=1e-10, atol=1e-10, msg=name)


def test_units_without_points_keep_the_derivative_term_only():
    grid = GRIDS_1D["uniform"]
    d = OperatorData(np.zeros((2, 1, 17)), [[0.3, 0.5], []], [[1.0, 2.0], []], grid=grid)
    batch = observation_tensors(d)
    beta = torch.full((2, 17), 3.0)
    value = riesz_loss(beta, torch.as_tensor(grid.weights, dtype=torch.float32), batch)
    torch.testing.assert_close(value, torch.tensor([9.0 - 6.0, -6.0]))


def study(n=80, rho=0.0, seed=0, **kw):
    """Points that follow `p(x | a) ∝ 1 + a (2x - 1)`, |a| < 1, on cells: `xi = 1 / p` is known."""
    rng = np.random.default_rng(seed)
    grid = Grid.cells(0, 1, 16)
    x = grid.axes[0].nodes
    a = rho * rng.uniform(0.5, 1, n)
    p = (1 + a[:, None] * (2 * x - 1)) / 16
    nodes = np.stack([rng.choice(16, size=40, p=q) for q in p])
    inputs = np.broadcast_to(a[:, None, None], (n, 1, 16))
    truth = 1 / (16 * p)
    return OperatorData(inputs, x[nodes], rng.normal(size=(n, 40)), grid=grid, **kw), truth


def learned(d, recipe, **kw):
    plan = Plan.draw(len(d), folds=2, repeats=1, seed=0, validation=recipe.validation)
    networks, scale = fit_weights(d, FNO(width=8, modes=4, layers=2), plan, recipe, device=CPU, **kw)
    return out_of_fold(networks, plan, d.inputs)[0], scale


def rms(v):
    return np.sqrt((v**2).mean())


def test_uniform_design_and_the_mean_give_weights_of_one():
    d, truth = study(rho=0.0)
    np.testing.assert_allclose(truth, 1)
    xi, _ = learned(d, Recipe(epochs=30))
    # 32 units of 40 points estimate a constant weight to about 1/sqrt(1280) = 3 %; networks add as much again
    assert rms(xi - 1) < 0.1
    assert abs(xi.mean() - 1) < 0.03


def test_the_weights_of_an_uneven_design_are_found():
    d, truth = study(rho=0.9, n=160)
    xi, _ = learned(d, Recipe(epochs=60))
    # the largest weights, where points are rarest, keep most of the error
    assert rms(xi - truth) < 0.45 * rms(1 - truth)


def test_half_of_the_units_unobserved_doubles_the_weights():
    """Units without points are stood for by the others: the minimiser is xi / P(K > 0)."""
    d, _ = study(rho=0.0, n=120)
    values = d.values.copy()
    values[::2] = np.nan
    half = OperatorData(d.inputs, d.points, values, grid=d.grid)
    xi, _ = learned(half, Recipe(epochs=60))
    assert xi.mean() == pytest.approx(2.0, abs=0.2)


def test_direct_weights_learn_the_representer_too():
    d, truth = study(rho=0.9, n=160)
    u = np.broadcast_to(d.grid.axes[0].nodes, (160, 16)).astype(np.float64)
    g = dope.Energy()

    def at_units(seen):
        return [representers(g, u[v], d.grid) for v in seen]

    beta, _ = learned(d, Recipe(epochs=60), representer=at_units, factor=False)
    target = truth * 2 * u
    assert rms(beta - target) < 0.35 * rms(target)
    xi, _ = learned(d, Recipe(epochs=60), representer=at_units, factor=True)
    assert rms(xi * 2 * u - target) < 0.35 * rms(target)


def test_the_scale_puts_back_what_a_penalty_took():
    """With a penalty lambda on a uniform design the weights shrink to 1 / (1 + lambda); the scale is 1 + lambda."""
    d, _ = study(rho=0.0)
    xi, scale = learned(d, Recipe(epochs=40, riesz_penalty=0.5, validation=0))
    assert xi.mean() == pytest.approx(1 / 1.5, abs=0.05)
    np.testing.assert_allclose(scale, 1.5, atol=0.1)
    _, none = learned(d, Recipe(epochs=1))
    np.testing.assert_array_equal(none, 1)
