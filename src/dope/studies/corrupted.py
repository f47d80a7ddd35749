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
    With fixed directions it is `S0 + delta h` and `beta0 + delta b` instead, h = 1 and b = -(1 + 1/4 cos 2 pi x / T).
    """
    truth, grid = case.draw.solutions, case.draw.world.grid
    fixed = case.protocol.fixed_directions
    fields = truth[None] + 1.0 if fixed else case.fit.fields.astype(np.float64)
    first = grid.axes[0]
    turns = (grid.points[..., 0] - first.lower) / (first.upper - first.lower)
    for g, functional in case.functionals.items():
        beta0 = case.oracle_beta(g, inclusion=True)
        if fixed:
            beta = (beta0 - (1 + 0.25 * np.cos(2 * np.pi * turns)))[None]
        else:
            beta = np.stack([case.fit.prediction(r).weights(functional) for r in range(len(fields))])
        for setting in case.settings:
            delta = setting["delta"]
            yield case.floor(g, setting.value)
            for name in names:
                kind, _, parts = name.partition(" ")
                if kind == "exact" and not isinstance(functional, Integral):
                    continue
                worse = _worse(fields, truth, delta, "S" in parts.split("+"), fixed)
                weights = _worse(beta, beta0, delta, "beta" in parts.split("+"), fixed)

                def make(kind=kind, worse=worse, weights=weights, g=g) -> Estimate:
                    if kind == "one-step":
                        return case.one_step(g, worse, weights)
                    return _estimate(case, g, kind, worse)

                yield case.answer(g, name, make, setting.value)


def _worse(value: np.ndarray, truth: np.ndarray, delta: float, chosen: bool, fixed: bool) -> np.ndarray:
    """`value` with an error 1 + delta times as large or, with fixed directions, delta times as large."""
    if fixed:
        return truth + (delta if chosen else 0.0) * (value - truth)
    return value + delta * (value - truth) if chosen else value


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
