"""The rows of a repeat whose nuisances are made worse on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dope.functionals import Integral
from dope.functionals.base import evaluate
from dope.inference import Estimate
from dope.scores import Exact, Prediction
from dope.studies.case import Answer, Case


def corrupted(case: Case, names: Sequence[str]) -> Iterator[Answer]:
    """`S + delta (S - S0)` and `beta + delta (beta - beta0)`, each and both, without training anything again.

    A name is an estimator and what is made worse, "one-step S+beta". beta are the shared weights at the uncorrupted S.
    """
    truth, fields = case.draw.solutions, case.fit.fields.astype(np.float64)
    for g, functional in case.functionals.items():
        beta0 = case.oracle_beta(g, inclusion=True)
        beta = np.stack([case.fit.prediction(r).weights(functional) for r in range(len(fields))])
        for setting in case.settings:
            delta = setting["delta"]
            yield case.floor(g, setting.value)
            for name in names:
                kind, _, parts = name.partition(" ")
                if kind == "exact" and not isinstance(functional, Integral):
                    continue
                worse = fields + delta * (fields - truth) if "S" in parts.split("+") else fields
                weights = beta + delta * (beta - beta0) if "beta" in parts.split("+") else beta

                def make(kind=kind, worse=worse, weights=weights, g=g) -> Estimate:
                    if kind == "one-step":
                        return case.one_step(g, worse, weights)
                    return _estimate(case, g, kind, worse)

                yield case.answer(g, name, make, setting.value)


def _estimate(case: Case, g: str, kind: str, fields: np.ndarray) -> Estimate:
    """The plug-in or the exact estimate at given fields `(R, n, *grid)`."""
    functional, data = case.functionals[g], case.fit.data
    plugin = np.stack([evaluate(functional, field, data.grid) for field in fields])
    correction = np.zeros_like(plugin)
    if kind == "exact":
        for r, field in enumerate(fields):
            prediction = Prediction(data, field, case.fit.prediction(r).xi)
            correction[r], _ = Exact(prediction.sigma2)(functional, prediction, plugin[r])
    return case.from_scores(g, plugin, correction)
