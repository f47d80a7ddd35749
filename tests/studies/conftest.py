"""A protocol that takes a moment, rows by hand, and rows for every cell of a study."""

import math

import numpy as np
import pytest

from dope import FNO, Recipe
from dope.studies import STUDIES, Protocol
from dope.studies.cell import Row

_QUICK = Recipe(epochs=1, max_steps=2, batch=4)
_TINY = Protocol(
    name="recommended",
    n=8,
    folds=2,
    recipe=_QUICK,
    fno=FNO(width=4, modes=3, layers=1),
    points=4,
    size=16,
    truth_pool=200,
    simulator_units=16,
    simulator_recipe=_QUICK,
)


@pytest.fixture
def tiny():
    return _TINY


def _row(**changes):
    fields = {
        "config": "c", "study": "pk-fno", "backbone": "fno", "functional": "tat", "setting": "rho", "value": 0.5,
        "estimator": "plugin", "protocol": "recommended", "repeat": 0, "estimate": 0.25, "se": 0.01, "low": 0.23,
        "high": 0.27, "truth": 0.2, "truth_se": 0.0001, "seconds": 2.0, "seed": 7, "code": "v",
    }  # fmt: skip
    return Row(**(fields | changes))


@pytest.fixture
def row():
    return _row


@pytest.fixture
def rows_of():
    """Rows of a study's whole grid, with errors of about the size that the published ones have."""

    def make(name, repeats=3, protocol="recommended"):
        rng, out = np.random.default_rng(0), []
        for study in STUDIES[name]:
            for functional in study.functionals:
                size = 1e-4 if functional == "smooth_excess" else 1e-2
                for setting in study.settings:
                    for repeat in range(repeats):
                        for estimator in ("floor", *study.estimators):
                            estimate = 0.2 + size * rng.standard_normal()
                            half = 2 * size / math.sqrt(1 + len(estimator) % 3)
                            out.append(
                                _row(config=study.key, study=study.name, backbone=study.backbone, functional=functional,
                                     setting=setting.name, value=setting.value, estimator=estimator, protocol=protocol,
                                     repeat=repeat, estimate=estimate, low=estimate - half, high=estimate + half)
                            )  # fmt: skip
        return out

    return make
