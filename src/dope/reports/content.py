"""What a report says, worked out before any of it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.diagnostics import Diagnosis
from dope.functionals import Functional
from dope.functionals.base import evaluate
from dope.inference import Estimate, Note, Regression
from dope.inference.tables import records
from dope.reports.measured import Measured
from dope.reports.words import Asked, ask
from dope.scores import Prediction
from dope.scores.plug_in import PlugIn

if TYPE_CHECKING:
    from dope.fitted import Fit

# Enough units to tell two functionals apart, few enough to be instant at a million.
_COMPARED = 256
# Fields on which linearity is decided.
_PROBED = 4
# Zero is a value worth testing where the units' own values lie on both sides of it.
_EITHER_SIDE = 0.05


@dataclass(frozen=True, eq=False)
class Content:
    """`fit` and `prediction` are None for an estimate made from scores alone, and for the difference of two fits.

    The weights of `prediction` are those that the estimate used; its `xi` is None where they were learned for each
    functional by itself. `diagnoses` holds one for every functional that could be checked.
    """

    est: Estimate
    rows: list[dict[str, Any]]
    asked: list[Asked]
    truth: Mapping[str, float]
    warnings: tuple[Note, ...]
    fit: Fit | None
    prediction: Prediction | None
    diagnoses: tuple[Diagnosis, ...]
    measured: Measured = field(default_factory=Measured)
    second_stage: Mapping[str, Regression] = field(default_factory=dict)

    @property
    def corrected(self) -> bool:
        """Whether every number was debiased."""
        return PlugIn.label not in _corrections(self.est)

    @property
    def level(self) -> str:
        return f"{100 * self.est.level:g} %"


def gather(est: Estimate, truth: Mapping[str, float], second_stage: Mapping[str, Regression] | None = None) -> Content:
    fit: Fit | None = getattr(est, "fit", None)
    if fit is not None and ("second" in est.meta or len(est.scores) != len(fit.data)):
        fit = None  # a difference of two fits is described by neither
    prediction = None if fit is None else _prediction(est, fit)
    fields = None if prediction is None else prediction.field[:_PROBED]
    grid = None if fit is None else fit.data.grid
    known: tuple[Functional, ...] = getattr(est, "functionals", ())
    found = [_recognised(est, fit, known, k) for k in range(len(est))]
    asked = [ask(name, None if j is None else known[j], fields, grid) for name, j in zip(est.names, found, strict=True)]
    if fit is not None:  # the functionals are known, but this number is none of them
        derived = "worked out from several functionals"
        asked = [a if j is not None else replace(a, words=derived) for a, j in zip(asked, found, strict=True)]
    measured = Measured.of(est.meta)
    asked = [a if a.units is None else replace(a, units=measured.unit(a.units)) for a in asked]
    return Content(
        est,
        records(est, est.level),
        asked,
        truth,
        _warnings(est),
        fit,
        prediction,
        _diagnoses(est, found),
        measured,
        second_stage or {},
    )


def _prediction(est: Estimate, fit: Fit) -> Prediction:
    shared = fit.prediction()
    if est.weights == "shared":
        return shared
    design = fit.data.design
    xi = design.inverse_weight(fit.data.grid, fit.data.counts) if est.weights == "design" and design else None
    return Prediction(fit.data, shared.field, xi)


def _diagnoses(est: Estimate, found: list[int | None]) -> tuple[Diagnosis, ...]:
    """Of each number that is one of the functionals the estimate was asked for, under the name it has here."""
    known: tuple[Diagnosis, ...] = getattr(est, "diagnoses", ())
    pairs = zip(est.names, found, strict=True)
    return tuple(replace(known[j], functional=name) for name, j in pairs if j is not None and j < len(known))


def _recognised(est: Estimate, fit: Fit | None, known: tuple[Functional, ...], k: int) -> int | None:
    """Which functional number k is, told by its plug-in values: contrasts rearrange what was asked for."""
    if fit is None:
        return None
    seen = est.scores.plugin[0, :_COMPARED, k]
    for j in sorted(range(len(known)), key=lambda j: j != k):  # its own place first
        values = evaluate(known[j], fit.fields[0, :_COMPARED].astype(np.float64), fit.data.grid)
        if np.allclose(values, seen, rtol=1e-9, atol=1e-12 * (np.abs(seen).max() or 1.0)):
            return j
    return None


def _corrections(est: Estimate) -> tuple[str, ...]:
    return (est.correction,) * len(est) if isinstance(est.correction, str) else est.correction


def _warnings(est: Estimate) -> tuple[Note, ...]:
    bare = tuple(name for name, c in zip(est.names, _corrections(est), strict=True) if c == PlugIn.label)
    uncorrected = Note("No correction was made: the interval knows nothing of the operator's error.", bare)
    return (uncorrected, *est.cautions) if bare else est.cautions


def tests_zero(content: Content) -> bool:
    """Whether a p-value against zero answers a question that somebody could have."""
    est = content.est
    if len(est.arms) > 1 or "second" in est.meta:
        return True
    if est.fieller is not None:  # the null of a ratio is 1, if anything
        return False
    plugin = est.scores.plugin
    below, above = (plugin < 0).mean((0, 1)), (plugin > 0).mean((0, 1))
    return bool((np.minimum(below, above) >= _EITHER_SIDE).any())
