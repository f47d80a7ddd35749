"""Corrections: exact identities, the orders of their errors, and which one is chosen."""

import numpy as np
import pytest
import torch

import dope
from dope import Design, Grid, OperatorData
from dope.functionals.base import evaluate
from dope.scores import Exact, OneStep, PlugIn, Prediction, Targeted, choose, noise_variance

GRID = Grid.cells(0, 1, 64)
X = GRID.axes[0].nodes
TAT = dope.TimeAbove(0.3, 6.0)
PEAK = dope.SoftMax(5.0)


def curves(n, seed=0):
    rng = np.random.default_rng(seed)
    size, phase = rng.uniform(0.3, 1, (n, 1)), rng.uniform(0, 1, (n, 1))
    return size * np.sin(2 * np.pi * (X + phase)) + 0.3


def world(n=50, k=20, *, tilt=0.8, noise=0.0, seed=0):
    """Points drawn with replacement from p ∝ 1 + tilt (2x - 1): the truth, the data and the true xi."""
    rng = np.random.default_rng(seed)
    u = curves(n, seed)
    p = np.broadcast_to((1 + tilt * (2 * X - 1)) / 64, u.shape)
    nodes = np.stack([rng.choice(64, size=k, p=q) for q in p])
    values = np.take_along_axis(u, nodes, 1) + noise * rng.normal(size=nodes.shape)
    data = OperatorData(np.zeros((n, 1, 64)), X[nodes], values, grid=GRID, design=Design(probability=p))
    return u, data, data.design.inverse_weight(GRID, data.counts)


def everywhere(n=20, seed=0):
    """Every node observed once without noise: averages over points are then integrals, without sampling error."""
    u = curves(n, seed)
    data = OperatorData(np.zeros((n, 1, 64)), np.broadcast_to(X, u.shape), u, grid=GRID)
    return u, data, np.ones_like(u)


def corrected(method, g, prediction):
    plugin = evaluate(g, prediction.field, GRID)
    correction, _ = method(g, prediction, plugin)
    return plugin + correction


def slope(method, g, delta=(0.02, 0.04, 0.08, 0.16)):
    """Log-log slope of the bias in the size of the operator's error."""
    u, data, xi = everywhere()
    h = 0.5 * np.cos(2 * np.pi * X) + 0.4
    truth = evaluate(g, u, GRID).mean()
    bias = [abs(corrected(method, g, Prediction(data, u + d * h, xi)).mean() - truth) for d in delta]
    return np.polyfit(np.log(delta), np.log(bias), 1)[0]


# ---- identities -----------------------------------------------------------------------------------------
def test_uniform_design_and_the_mean_give_weights_of_one():
    n = 5
    data = OperatorData(
        np.zeros((n, 1, 64)), np.tile(X[:8], (n, 1)), np.zeros((n, 8)), grid=GRID, design=np.full((n, 64), 1 / 64)
    )
    xi = data.design.inverse_weight(GRID, data.counts)
    np.testing.assert_allclose(Prediction(data, curves(n), xi).weights(dope.Mean()), 1.0, rtol=1e-12)


@pytest.mark.parametrize("g", [dope.Mean(), TAT, PEAK, dope.Energy()], ids=str)
def test_a_perfect_operator_needs_no_correction(g):
    u, data, xi = world()
    for method in [OneStep(), Targeted()] + ([Exact(0.0)] if isinstance(g, dope.Integral) else []):
        np.testing.assert_allclose(corrected(method, g, Prediction(data, u, xi)), evaluate(g, u, GRID), atol=1e-12)


@pytest.mark.parametrize("g", [dope.Mean(), TAT, PEAK], ids=str)
def test_a_perfect_operator_s_correction_has_mean_zero_under_noise(g):
    u, data, xi = world(n=2000, noise=0.1)
    c, _ = OneStep()(g, Prediction(data, u, xi), evaluate(g, u, GRID))
    assert abs(c.mean()) < 3 * c.std() / np.sqrt(len(c))  # three standard errors, a fixed seed


def test_halving_the_error_halves_the_plugin_s_bias_and_quarters_the_one_step_s():
    for g in (TAT, PEAK, dope.Energy()):
        assert slope(PlugIn(), g) == pytest.approx(1.0, abs=0.15)
        assert slope(OneStep(), g) == pytest.approx(2.0, abs=0.1)


def test_the_exact_correction_has_no_remainder_at_all():
    u, data, xi = everywhere()
    wrong = Prediction(data, u + 0.7, xi)
    for g in (TAT, dope.Energy(), dope.Mean()):
        truth = evaluate(g, u, GRID).mean()
        assert abs(evaluate(g, wrong.field, GRID).mean() - truth) > 0.05
        assert corrected(Exact(0.0), g, wrong).mean() == pytest.approx(truth, abs=1e-12)


def test_for_linear_functionals_exact_and_one_step_are_one():
    u, data, xi = world(noise=0.1)
    rough = Prediction(data, u + 0.3 * np.cos(9 * X), xi)
    np.testing.assert_allclose(
        corrected(Exact(0.01), dope.Mean(), rough), corrected(OneStep(), dope.Mean(), rough), atol=1e-12
    )


def test_the_noise_term_is_taken_off():
    """Energy of noisy values exceeds that of the curve by sigma^2 exactly; a threshold's by its curvature."""
    u, data, xi = world(n=4000, k=20, noise=0.2)
    rough = Prediction(data, u + 0.1, xi)
    for g in (dope.Energy(), dope.TimeAbove(0.3, 3.0)):
        truth = evaluate(g, u, GRID)
        off = lambda sigma2, g=g, truth=truth: corrected(Exact(sigma2), g, rough) - truth  # noqa: E731
        clean, dirty = off(0.04), off(0.0)
        assert abs(clean.mean()) < 3 * clean.std() / np.sqrt(len(clean))
        if isinstance(g, dope.Energy):
            assert dirty.mean() - clean.mean() == pytest.approx(0.04, rel=0.05)


def test_the_targeted_estimate_is_the_mean_of_g_at_the_updated_field():
    u, data, xi = world(n=30, noise=0.1)
    rough = Prediction(data, u - 0.4, xi)
    beta = rough.weights(TAT)
    at = data.stencil(beta)
    r = data.values - data.stencil(rough.field)
    e = (at * r).mean(1).sum() / (at**2).mean(1).sum()
    expected = evaluate(TAT, rough.field + e * beta, GRID).mean()
    scores = corrected(Targeted(), TAT, rough)
    assert scores.mean() == pytest.approx(expected, abs=1e-12)
    assert 0 < scores.mean() < 1
    # the spread is that of one-step scores, not of g alone
    assert scores.std() > evaluate(TAT, rough.field + e * beta, GRID).std()


# ---- units with few or no points ------------------------------------------------------------------------
def test_units_of_unequal_size():
    u, data, xi = world(n=3, k=6)
    values = data.values.copy()
    values[0], values[1, 2:] = np.nan, np.nan
    ragged = OperatorData(data.inputs, data.points, values, grid=GRID)
    rough = Prediction(ragged, u + 0.2, xi)
    c, spread = OneStep()(dope.Mean(), rough, evaluate(dope.Mean(), rough.field, GRID))
    assert c[0] == 0
    assert np.isnan(spread[0])
    at = ragged.stencil(xi)
    assert c[1] == pytest.approx(-0.2 * at[1, :2].mean())
    assert c[2] == pytest.approx(-0.2 * at[2].mean())


def test_the_spread_is_the_sampling_variance_of_the_correction():
    _, data, xi = world(n=1, k=12, noise=0.1)
    field = curves(1) + 0.2
    _, spread = OneStep()(dope.Mean(), Prediction(data, field, xi), np.zeros(1))
    terms = data.stencil(xi)[0] * (data.values - data.stencil(field))[0]
    assert spread[0] == pytest.approx(terms.var(ddof=1) / 12)


# ---- noise ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sigma", [0.0, 0.02, 0.2])
def test_the_noise_is_found_under_an_operator_that_is_wrong(sigma):
    u, data, _ = world(n=300, k=20, noise=sigma)
    residual = np.where(data.observed, data.values - data.stencil(u + 0.3 * np.sin(6 * X)), 0)
    # the operator's error varies by 0.3 * 6 * gap between neighbours, gap about 1/40
    assert np.sqrt(noise_variance(data, residual)) == pytest.approx(sigma, rel=0.1, abs=0.01)


def test_the_noise_of_units_with_a_single_point_is_unknown():
    data = OperatorData(np.zeros((4, 1, 64)), np.full((4, 1), 0.5), np.ones((4, 1)), grid=GRID)
    assert noise_variance(data, np.ones((4, 1))) == 0.0


# ---- choosing -------------------------------------------------------------------------------------------
def test_auto_takes_exact_where_it_holds_and_says_why():
    u, data, xi = world(n=200, noise=0.02)
    p = Prediction(data, u + 0.1, xi)
    method, why = choose("auto", TAT, p, evaluate(TAT, p.field, GRID), None)
    assert isinstance(method, Exact)
    assert "integral functional" in why
    method, why = choose("auto", PEAK, p, evaluate(PEAK, p.field, GRID), None)
    assert isinstance(method, OneStep)
    assert "not an integral functional" in why


STEEP = dope.TimeAbove(0.3, 60.0)


def test_auto_steps_back_from_integrands_too_steep_for_the_noise():
    u, data, xi = world(n=400, noise=1.0)
    p = Prediction(data, u, xi)
    method, why = choose("auto", STEEP, p, evaluate(STEEP, p.field, GRID), None)
    assert isinstance(method, OneStep)
    assert "too steep" in why


def test_auto_leaves_integrands_alone_that_are_not_defined_under_more_noise():
    u, data, xi = world(n=60, noise=0.05)
    p = Prediction(data, u + 3, xi)
    g = dope.Integral(lambda v, x: torch.log(v - u.min() + 0.2), name="log")
    method, why = choose("auto", g, p, evaluate(g, p.field, GRID), None)
    assert isinstance(method, OneStep)
    assert "not defined at all values" in why


def test_auto_does_not_step_back_into_a_larger_error():
    """Under a steep integrand a wrong operator's remainder is far beyond the noise bias that one-step would avoid."""
    for seed in range(4):
        u, data, xi = world(n=400, noise=0.6, seed=seed)
        p = Prediction(data, 0.3 + 0.2 * (u - 0.3), xi)
        plugin = evaluate(STEEP, p.field, GRID)
        method, _ = choose("auto", STEEP, p, plugin, None)
        truth = evaluate(STEEP, u, GRID).mean()
        error = [abs((plugin + m(STEEP, p, plugin)[0]).mean() - truth) for m in (method, OneStep())]
        assert isinstance(method, Exact) or error[1] < 2 * error[0]


def test_taking_off_the_noise_of_a_steep_integrand_costs_little():
    """The scatter of a second derivative would be several times that of the observations."""
    errors = []
    for seed in range(8):
        u, data, xi = world(n=400, noise=0.3, seed=seed)
        truth = evaluate(STEEP, u, GRID).mean()
        p = Prediction(data, u + 0.1, xi)
        errors.append([corrected(m, STEEP, p).mean() - truth for m in (Exact(0.09), OneStep())])
    exact, one_step = np.sqrt(np.mean(np.square(errors), axis=0))
    assert exact < one_step  # 0.007 and 0.014; with the second derivative the first was 0.048


@pytest.mark.parametrize("power", [2, 3, 4, 5])
def test_the_noise_of_polynomials_to_degree_five_is_taken_off_without_error(power):
    y, x = torch.tensor([[-1.0, 0.2, 0.9]], dtype=torch.float64), torch.zeros(1, 3, dtype=torch.float64)
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    g = dope.Integral(lambda u, x: u**power)
    clean = sum(
        w / weights.sum() * Exact(0.25)._smoothed(g, y + 0.5 * float(z), x, GRID, (3.0, -3.0, 1.0))
        for z, w in zip(nodes, weights, strict=True)
    )
    # Gaussians summed to nine standard deviations of the noise, six of the widest one
    np.testing.assert_allclose(clean, y**power, atol=1e-5)


def test_corrections_that_cannot_be_had_are_refused():
    u, data, xi = world()
    p = Prediction(data, u, xi)
    with pytest.raises(dope.DataError, match="integral functional"):
        choose("exact", PEAK, p, np.zeros(50), None)
    with pytest.raises(dope.DataError, match="one of"):
        choose("two-step", TAT, p, np.zeros(50), None)
    with pytest.raises(dope.DataError, match="variance"):
        choose("exact", TAT, p, np.zeros(50), -1.0)
    direct = Prediction(data, u, None, beta=xi)
    with pytest.raises(dope.DataError, match="direct"):
        choose("exact", TAT, direct, np.zeros(50), None)
    assert isinstance(choose("auto", TAT, direct, np.zeros(50), None)[0], OneStep)


def test_auto_does_not_trust_noise_that_nothing_shows():
    """With one point a unit the noise cannot be told from the operator's error."""
    u, data, xi = world(n=100, k=1, noise=0.2)
    p = Prediction(data, u + 0.1, xi)
    plugin = evaluate(TAT, p.field, GRID)
    method, why = choose("auto", TAT, p, plugin, None)
    assert isinstance(method, OneStep)
    assert "sigma2=" in why
    assert isinstance(choose("auto", TAT, p, plugin, 0.04)[0], Exact)
    assert isinstance(choose("auto", dope.Mean(), p, plugin, None)[0], Exact)  # noise does not shift it
    assert "left in" in choose("exact", TAT, p, plugin, None)[1]
