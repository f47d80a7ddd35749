"""Studies that are fitted together come out as if each were fitted alone."""

import numpy as np
import pytest

import dope
from dope import DOPE, FNO, DataError, Recipe
from dope.estimator import fit_together
from dope.fitted import learn_together
from dope.nuisances import Plan

WORLD = dope.benchmarks.pharmacokinetics(rho=0.5, size=32, points=10)
RECIPE = Recipe(epochs=3, batch=8)
SIZES = (24, 17, 24)  # unequal, so that steps, padding and places differ
G = [dope.TimeAbove(0.2, 8.0), dope.TimeAbove(0.3, 8.0), dope.SoftMax(6.0)]


def model(seed):
    return DOPE(operator=FNO(width=8, modes=4, layers=2), folds=2, recipe=RECIPE, seed=seed, device="cpu")


@pytest.fixture(scope="module")
def data():
    return [WORLD.sample(n, seed=k).data for k, n in enumerate(SIZES)]


@pytest.fixture(scope="module")
def together(data):
    return fit_together([model(k) for k in range(3)], data, progress=False)


@pytest.fixture(scope="module")
def alone(data):
    return [model(k).fit(part, progress=False) for k, part in enumerate(data)]


# Twelve steps of Adam at 2e-3 on batched products that round differently.
CLOSE = {"rtol": 0, "atol": 1e-4}


def test_fields_and_weights_are_those_of_each_alone(together, alone):
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.fields, other.fields, **CLOSE)
        np.testing.assert_allclose(one.xi, other.xi, **CLOSE)


def test_each_keeps_its_own_data_design_and_seed(together, data):
    for k, fit in enumerate(together):
        assert fit.data is data[k]
        assert fit.meta["seed"] == k
        est = fit.estimate(dope.Mean(), weights="design")
        assert np.isfinite(est.se)


@pytest.mark.parametrize("weights", ["structured", "direct"])
def test_weights_of_a_functional_are_learned_together_too(together, alone, weights):
    learn_together(together, G, weights)
    for one, other, g in zip(together, alone, G, strict=True):
        np.testing.assert_allclose(
            one.estimate(g, weights=weights).value, other.estimate(g, weights=weights).value, atol=2e-3, rtol=0
        )
        assert one.estimate(g, weights=weights).value != pytest.approx(one.estimate(g).value, abs=1e-9)


def test_weights_of_several_functionals_of_one_fit_are_learned_at_once(alone):
    """And those of the mean, which are not learned again, are what an integral of the field itself learns."""
    fit, mean = alone[0], dope.Mean()
    asked = [dope.TimeAbove(0.2, 8.0), mean, dope.Integral(lambda u, x: u), dope.SoftMax(6.0)]
    learn_together([fit] * 4, asked, "structured")
    one_by_one = [dope.TimeAbove(0.2, 8.0), dope.SoftMax(6.0)]
    for g in one_by_one:
        learn_together([fit], [g], "structured")
    learned = {key: values for key, (_, values) in fit._learned.items()}
    for g, other in zip((asked[0], asked[3]), one_by_one, strict=True):
        np.testing.assert_allclose(learned["structured", id(g)], learned["structured", id(other)], **CLOSE)
    assert learned["structured", id(mean)] is fit.xi
    np.testing.assert_allclose(learned["structured", id(asked[2])], fit.xi, **CLOSE)


def test_a_split_in_place_of_cross_fitting_estimates_from_the_last_units_alone():
    world_data = WORLD.sample(40, seed=5).data
    plan = Plan.split(20, 5, 15, seed=3)
    (fit,) = fit_together([model(3)], [world_data], plans=[plan], progress=False)
    assert np.isnan(fit.fields[:, :25]).all()
    assert np.isfinite(fit.fields[:, 25:]).all()
    learn_together([fit], [G[0]], "structured")
    kept = fit.take(plan.estimated)
    assert len(kept.data) == 15
    for weights in ("shared", "structured"):
        est = kept.estimate(G[0], weights=weights, correction="one-step")
        assert est.n == 15
        assert np.isfinite(est.value)


def test_models_that_differ_by_more_than_their_seeds_are_refused(data):
    other = DOPE(operator=FNO(width=4, modes=4), folds=2, recipe=RECIPE, device="cpu")
    with pytest.raises(DataError, match="seeds only"):
        fit_together([model(0), other], data[:2])


def test_a_study_that_diverges_is_told_and_spares_the_others(data):
    values = data[0].values.copy()
    values[:] = 3e38  # gradients overflow in single precision
    bad = dope.OperatorData(data[0].inputs, data[0].points, values, grid=data[0].grid)
    raw = Recipe(epochs=2, standardise=False, clip=None, validation=0)
    models = [DOPE(operator=FNO(width=8, modes=4, layers=2), folds=2, recipe=raw, seed=k, device="cpu") for k in (0, 1)]
    broken, sound = fit_together(models, [bad, data[1]], progress=False)
    assert isinstance(broken, FloatingPointError)
    assert np.isfinite(sound.fields).all()
    with pytest.raises(FloatingPointError, match="diverged"):
        models[0].fit(bad, progress=False)
