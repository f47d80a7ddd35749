"""One repeat of one setting: what was drawn, and how estimates of it become answers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dope import inference
from dope.benchmarks import Draw
from dope.data import Design
from dope.fitted import Fit
from dope.functionals import Functional
from dope.functionals.base import evaluate, representers
from dope.inference import Estimate
from dope.inference.variance import quantile_t
from dope.scores import OneStep, Prediction, Scores
from dope.studies.protocol import Protocol
from dope.studies.study import Setting

_NORMAL = 1.96  # as printed in the published experiments


@dataclass(frozen=True)
class Answer:
    """One estimator's answer; `seconds` are those of its own work and its share of what was trained together."""

    functional: str
    value: float
    estimator: str
    estimate: float
    se: float
    low: float
    high: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Case:
    """A repeat's data, its fit and the functionals asked for, by the names that tables use."""

    protocol: Protocol
    settings: tuple[Setting, ...]
    draw: Draw
    fit: Fit
    functionals: dict[str, Functional]
    fit_seconds: float
    learning_seconds: Mapping[str, float]
    unlabeled_seed: int

    def answer(self, g: str, estimator: str, make: Callable[[], Estimate], value: float | None = None) -> Answer:
        """The estimate that `make` gives, with this protocol's interval."""
        begun = time.perf_counter()
        numbers = interval(make(), self.protocol)
        learning = self.learning_seconds.get(estimator.partition("+")[0], 0.0)
        seconds = self.fit_seconds + learning + time.perf_counter() - begun
        return Answer(g, self.settings[0].value if value is None else value, estimator, *numbers, seconds)

    def floor(self, g: str, value: float | None = None) -> Answer:
        """What these units would give if each whole solution were known: no method without further inputs beats it."""
        values = evaluate(self.functionals[g], self.draw.solutions, self.draw.world.grid)
        n = len(values)
        mean, se = float(values.mean()), float(values.std(ddof=1) / math.sqrt(n))
        half = float(quantile_t(0.975, n - 1)) * se
        value = self.settings[0].value if value is None else value
        return Answer(g, value, "floor", mean, se, mean - half, mean + half, 0.0)

    def oracle_weight(self, *, inclusion: bool) -> np.ndarray:
        """The true `xi0`: `w / p`, or with inclusion probabilities, which is what K distinct points need."""
        design = self.draw.design if inclusion else Design(probability=self.draw.design.probability)
        return design.inverse_weight(self.draw.world.grid, self.draw.data.counts)

    @cached_property
    def plain_oracle(self) -> np.ndarray:
        return self.oracle_weight(inclusion=False)

    @cached_property
    def true_weight(self) -> np.ndarray:
        return self.oracle_weight(inclusion=True)

    def oracle_beta(self, g: str, *, inclusion: bool) -> np.ndarray:
        """`beta0 = xi0 w_g(S0)`."""
        xi = self.true_weight if inclusion else self.plain_oracle
        return xi * representers(self.functionals[g], self.draw.solutions, self.draw.world.grid)

    def one_step(self, g: str, fields: np.ndarray, beta: np.ndarray) -> Estimate:
        """The one-step estimate from fields `(R, n, *grid)` and weights `(R or 1, n, *grid)` of any origin."""
        functional = self.functionals[g]
        plugin, correction = [], []
        for r, field in enumerate(fields):
            prediction = Prediction(self.fit.data, field.astype(np.float64), None, beta=beta[min(r, len(beta) - 1)])
            plugin.append(evaluate(functional, prediction.field, self.fit.data.grid))
            correction.append(OneStep()(functional, prediction, plugin[-1])[0])
        return self.from_scores(g, np.stack(plugin), np.stack(correction))

    def from_scores(self, g: str, plugin: np.ndarray, correction: np.ndarray) -> Estimate:
        """The estimate of plug-in values and corrections `(R, n)`."""
        scores = Scores(plugin[..., None], correction[..., None], self.fit.plan.fold, self.fit.data.ids, (g,))
        return inference.estimate(scores, joint=False)


def interval(estimate: Estimate, protocol: Protocol) -> tuple[float, float, float, float]:
    """(estimate, se, low, high) by the protocol's interval."""
    value = float(estimate.value)
    if protocol.interval == "t":
        return value, float(estimate.se), *(float(v) for v in estimate.conf_int())
    (arm,) = estimate.arms
    terms = arm.terms[0, :, 0]
    variance = terms.var(ddof=protocol.ddof) / len(terms)
    if arm.known is not None:  # that of the mean over unlabelled inputs
        variance += arm.known[0, 0, 0]
    se = math.sqrt(variance)
    return value, se, value - _NORMAL * se, value + _NORMAL * se
