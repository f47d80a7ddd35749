"""The rows of a repeat with further inputs that were never observed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dope import inference
from dope.functionals.base import evaluate
from dope.inference import Estimate
from dope.studies.case import Answer, Case
from dope.studies.estimators import maker


def unlabeled(case: Case, names: Sequence[str]) -> Iterator[Answer]:
    """The floor and the named estimators with n2 inputs more, for every n2 of the case.

    A name is an estimator and the form in which unlabelled inputs enter, "direct+paper". The plug-in takes the mean
    over all inputs. The first inputs of a larger n2 are those of a smaller one.
    """
    begun = time.perf_counter()
    most = max(int(s["n2"]) for s in case.settings)
    predictions = _predictions(case, most) if most else {}
    # predicting is part of the work of every estimate that uses it
    case = replace(case, fit_seconds=case.fit_seconds + time.perf_counter() - begun)
    for g in case.functionals:
        made: dict[str, Estimate] = {}
        for name in names:
            base, _, form = name.partition("+")
            extra = 0.0
            if base not in made:
                begun = time.perf_counter()
                made[base] = maker(case, g, base)()
                extra = time.perf_counter() - begun
            paid = replace(case, fit_seconds=case.fit_seconds + extra)
            for setting in case.settings:
                powered = _powered(made[base], predictions.get(g), int(setting["n2"]), form or "paper")
                yield paid.answer(g, name, powered, setting.value)
        for setting in case.settings:
            yield case.floor(g, setting.value)


def _powered(estimate: Estimate, predictions: np.ndarray | None, n2: int, form: str):
    def make() -> Estimate:
        if n2 == 0 or predictions is None:
            return estimate
        scores = replace(estimate.scores, unlabeled=predictions[:, :, :n2])
        return inference.estimate(scores, ppi=form, joint=False)

    return make


def _predictions(case: Case, size: int) -> dict[str, np.ndarray]:
    """`g` of every fold's predictions at `size` new inputs, `(R, J, size, 1)`, for each functional."""
    inputs = case.draw.world.sample(size, case.unlabeled_seed).inputs
    plan, grid = case.fit.plan, case.draw.world.grid
    out = {g: np.empty((plan.repeats, plan.folds, size, 1)) for g in case.functionals}
    for r in range(plan.repeats):
        fields = [case.fit.predict(inputs, r * plan.folds + j) for j in range(plan.folds)]
        if case.protocol.unlabeled_average:
            fields = [np.mean(fields, axis=0)]
        for g, functional in case.functionals.items():
            for j, field in enumerate(fields):
                out[g][r, j:, :, 0] = evaluate(functional, field, grid)
    return out
