"""Small fits, trained for a moment: pages and plots need one, not a good one."""

import numpy as np
import pytest

import dope
from dope.inference import estimate
from dope.scores import Scores

HOSTILE = '<script>alert("1")</script> & $\\frac$ \x07 "quoted"'


def small_fit(world):
    model = dope.DOPE(dope.FNO(width=6), folds=2, recipe=dope.Recipe(epochs=1, max_steps=3))
    return model.fit(world.sample(12, seed=0).data, progress=False)


@pytest.fixture(scope="session")
def line_fit():
    return small_fit(dope.benchmarks.pharmacokinetics(size=32))


@pytest.fixture(scope="session")
def plane_fit():
    return small_fit(dope.benchmarks.darcy(size=9))


@pytest.fixture(scope="session")
def line_estimate(line_fit):
    return line_fit.estimate([dope.Mean(name="AUC (mean)"), dope.TimeAbove(0.5, 8.0), dope.SoftMax(6.0)])


@pytest.fixture(scope="session")
def bare_estimate():
    """From scores alone: no fit, groups, two repeats, skewed enough to be warned of."""
    rng = np.random.default_rng(0)
    plugin = rng.lognormal(0, 1.5, (2, 60, 2))
    scores = Scores(
        plugin=plugin,
        correction=rng.normal(0, 0.1, plugin.shape),
        fold=np.tile(np.arange(60) % 3, (2, 1)),
        ids=np.arange(60),
        names=("dose", HOSTILE),
        group=np.arange(60) // 6,
    )
    return estimate(scores)
