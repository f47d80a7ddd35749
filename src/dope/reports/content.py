"""What a report says, worked out before any of it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.functionals import Functional
from dope.functionals.base import evaluate
from dope.inference import Estimate
from dope.inference.tables import records
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
    """`fit` and `prediction` are None for an estimate made from scores alone, and for the difference of two fits."""

    est: Estimate
    rows: list[dict[str, Any]]
    asked: list[Asked]
    truth: Mapping[str, float]
    warnings: tuple[str, ...]
    fit: Fit | None
    prediction: Prediction | None

    @property
    def corrected(self) -> bool:
        """Whether every number was debiased."""
        return PlugIn.label not in _corrections(self.est)

    @property
    def level(self) -> str:
        return f"{100 * self.est.level:g} %"


def gather(est: Estimate, truth: Mapping[str, float]) -> Content:
    fit: Fit | None = getattr(est, "fit", None)
    if fit is not None and ("second" in est.meta or len(est.scores) != len(fit.data)):
        fit = None  # a difference of two fits is described by neither
    prediction = None if fit is None else fit.prediction()
    fields = None if prediction is None else prediction.field[:_PROBED]
    grid = None if fit is None else fit.data.grid
    found = [_functional(est, fit, k) for k in range(len(est))]
    asked = [
        replace(ask(name, g, fields, grid), words="worked out from several functionals") if g is None and fit is not None
        else ask(name, g, fields, grid)
        for name, g in zip(est.names, found, strict=True)
    ]  # fmt: skip
    return Content(est, records(est, est.level), asked, truth, _warnings(est), fit, prediction)


def _functional(est: Estimate, fit: Fit | None, k: int) -> Functional | None:
    """The functional behind number k, recognised by its plug-in values: contrasts rearrange functionals."""
    if fit is None:
        return None
    known = tuple(getattr(est, "functionals", ()))
    seen = est.scores.plugin[0, :_COMPARED, k]
    for j in sorted(range(len(known)), key=lambda j: j != k):  # its own place first
        values = evaluate(known[j], fit.fields[0, :_COMPARED].astype(np.float64), fit.data.grid)
        if np.allclose(values, seen, rtol=1e-9, atol=1e-12 * (np.abs(seen).max() or 1.0)):
            return known[j]
    return None


def _corrections(est: Estimate) -> tuple[str, ...]:
    return (est.correction,) if isinstance(est.correction, str) else est.correction


def _warnings(est: Estimate) -> tuple[str, ...]:
    if PlugIn.label in _corrections(est):
        bare = "No correction was made: this interval knows nothing of the operator's error and can be far too narrow."
        return (bare, *est.notes)
    return est.notes


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
