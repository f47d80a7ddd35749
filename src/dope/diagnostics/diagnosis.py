"""The verdict, in words."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dope.diagnostics.balance import Balance, balance
from dope.diagnostics.gaps import unseen
from dope.diagnostics.operator_error import OperatorError, operator_error, remainder
from dope.diagnostics.overlap import Overlap, overlap
from dope.diagnostics.smoothing import smoothing_gap
from dope.functionals import Functional, Integral, Mean
from dope.functionals.base import evaluate
from dope.inference import Verdict
from dope.scores import Correction, OneStep, Prediction

if TYPE_CHECKING:
    import pandas as pd

# An effective share of a tenth makes a standard error three times that of even weights.
_LEAST_EFFECTIVE = 0.1
_LARGEST_SHARE = 0.05
# Of few observations one holds a share like that though all weigh the same: up to so many even shares are no concern.
_EVEN_SHARES = 3
# What was never seen is the operator's invention, and no weight can tell.
_UNSEEN = 0.1
# Imbalance must be both beyond chance (over all directions, at 1 %) and of a size that matters.
_CHANCE, _IMBALANCE = 0.01, 0.2
# Standard errors beyond which one direction that was named beforehand counts as missed.
_ONE = 2.0
# Bias of half a standard error brings the coverage of a 95 % interval to 92 %: the limit for what either check finds.
_REMAINDER = 0.5
# Nothing can be said of a remainder whose own error is as large as that of the estimate.
_HIDDEN = 1.0
# Beyond this share of the spread of the solution an expansion around the prediction says little.
_RELATIVE_ERROR = 0.5


@dataclass(frozen=True)
class Check:
    """One question about a fit: what was found, the limit, and what to do if it is passed."""

    name: str
    value: float
    limit: float
    passed: bool
    words: str
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Whether the interval of a functional can be trusted, and why."""

    functional: str
    correction: str
    checks: tuple[Check, ...]
    overlap: Overlap
    balance: Balance
    error: OperatorError
    smoothing: float | None

    @property
    def passed(self) -> bool:
        return all(c.passed for c in self.checks)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for every check that failed, with its remedy."""
        return tuple(f"{c.words}: {c.remedy}" for c in self.checks if not c.passed)

    @property
    def found(self) -> Verdict:
        """What estimates carry along, through contrasts and ratios and into tables."""
        return Verdict(tuple(c.name for c in self.checks if not c.passed), self.warnings)

    @property
    def verdict(self) -> str:
        return f"{self.functional}: {self.found.words}."

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        rows = [(c.name, c.value, c.limit, "passed" if c.passed else "FAILED", c.words) for c in self.checks]
        return pd.DataFrame(rows, columns=["check", "value", "limit", "verdict", "in words"]).set_index("check")

    def __str__(self) -> str:
        lines = [self.verdict]
        for c in self.checks:
            lines.append(f"  {'passed' if c.passed else 'FAILED'}  {c.name}: {c.words}")
            if not c.passed:
                lines.append(f"          what to do: {c.remedy}")
        if self.smoothing is not None:
            lines.append(f"  note    smoothing: the smooth functional lies {self.smoothing:+.3g} from the hard one")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def diagnose(g: Functional, prediction: Prediction, *, correction: Correction, se: float) -> Diagnosis:
    """Check overlap, balance, the operator's error and what it leaves in the estimate.

    `correction` is the one in use, `se` the standard error of the estimate it gave.
    """
    factor = prediction.xi_at_points if prediction.xi is not None else np.ones(prediction.data.observed.shape)
    spread = overlap(factor, prediction, g.confined_to)
    # the exact correction weighs by xi alone, as the mean does: its error is one of phi(S), wherever w_g may vanish
    mean = Mean() if g.confined_to is None else Mean().within(g.confined_to)
    even = balance(mean if correction.name == "exact" else g, prediction)
    error = operator_error(prediction, factor)
    checks = [_overlap_check(spread), _gaps_check(unseen(g, prediction)), _balance_check(even)]
    if correction.name != "none":
        shift = correction(g, prediction, evaluate(g, prediction.field, prediction.data.grid))[0].mean()
        checks.append(_product_check(even, float(shift), se))
    remedy = "a better operator, more units or more folds" + (
        ", or correction='exact'" if isinstance(g, Integral) else ""
    )
    # the exact correction has no expansion around the prediction to lose, a linear functional is its own expansion
    left = (0.0, 0.0) if correction.name == "exact" else remainder(g, prediction, factor)
    checks.append(_error_check(error, left != (0.0, 0.0) or correction.name == "none", remedy))
    if correction.name == "none":
        checks.append(_plugin_check(g, prediction))
    elif correction.name != "exact":
        checks.append(_remainder_check(*left, se, remedy))
    return Diagnosis(g.name, correction.name, tuple(checks), spread, even, error, smoothing_gap(g, prediction))


def _overlap_check(spread: Overlap) -> Check:
    return Check(
        "overlap",
        spread.effective,
        _LEAST_EFFECTIVE,
        spread.effective >= _LEAST_EFFECTIVE
        and spread.largest <= max(_LARGEST_SHARE, _EVEN_SHARES / max(spread.observations, 1)),
        f"the weights leave {100 * spread.effective:.0f} % of {spread.observations} observations effective, the "
        f"largest one has {100 * spread.largest:.2g} %",
        "observe more where points are rare, or restrict the functional with g.within(region)",
    )


def _gaps_check(share: float) -> Check:
    words = f"parts with {100 * share:.0f} % of the domain hold" if share else "each part of the domain holds"
    words += " no observation of any unit" if share else " observations"
    remedy = "observe units there too, ask about the part that is observed, or let the grid be the schedule"
    return Check("gaps", share, _UNSEEN, share <= _UNSEEN, words, remedy)


def _missed(even: Balance) -> tuple[np.ndarray, int, float]:
    """Which directions are missed by more than chance, the worst of them, and by how much."""
    beyond = np.abs(even.z) > -ndtri(_CHANCE / 2 / len(even.z))
    worst = int(np.argmax(np.abs(even.size) * beyond))
    return beyond, worst, float(np.abs(even.size[worst])) if beyond.any() else 0.0


def _balance_check(even: Balance) -> Check:
    beyond, worst, size = _missed(even)
    words = (
        f"weighted points miss direction {even.names[worst]} by {100 * size:.0f} % (z = {even.z[worst]:.1f})"
        if beyond.any()
        else f"weighted points stand for the domain (|z| <= {np.abs(even.z).max():.1f} in {len(even.z)} directions)"
    )
    remedy = "train the weights longer, use a known design, or more units"
    return Check("balance", size, _IMBALANCE, size <= _IMBALANCE, words, remedy)


def _product_check(even: Balance, shift: float, se: float) -> Check:
    """What is left where both are wrong: the share that the weights miss of what is to be corrected."""
    size = _missed(even)[2]
    if abs(even.z[-1]) > _ONE:  # the likeliest direction of the error, looked at by itself
        size = max(size, float(abs(even.size[-1])))
    large = abs(shift) / se if se > 0 else 0.0
    words = f"the correction moves the estimate by {large:.2g} standard errors, and its weights miss "
    words += f"{100 * size:.0f} % in some direction" if size else "nothing that can be told from chance"
    remedy = "use a known design, a better operator, or more units for the weights to learn from"
    return Check("product of errors", size * large, _REMAINDER, size * large <= _REMAINDER, words, remedy)


def _error_check(error: OperatorError, matters: bool, remedy: str) -> Check:
    words = f"the operator's error is {100 * error.relative:.0f} % of the spread of the solution"
    words += "" if matters else ", which counts here only times the error of the weights"
    passed = error.relative <= _RELATIVE_ERROR or not matters
    return Check("operator error", error.relative, _RELATIVE_ERROR, passed, words, remedy)


def _plugin_check(g: Functional, prediction: Prediction) -> Check:
    plugin = evaluate(g, prediction.field, prediction.data.grid)
    correction, _ = OneStep()(g, prediction, plugin)
    se = (plugin + correction).std(ddof=1) / np.sqrt(len(plugin))
    ratio = float(abs(correction.mean()) / se) if se > 0 else float("inf")
    return Check(
        "plug-in bias",
        ratio,
        _REMAINDER,
        ratio <= _REMAINDER,
        f"the weighted residuals put the bias of the plug-in at {correction.mean():.2g}, {ratio:.2g} standard errors "
        "of a corrected estimate",
        "use a correction",
    )


def _remainder_check(value: float, noise: float, se: float, remedy: str) -> Check:
    if np.isnan(value):
        words = "the second-order remainder of the correction cannot be estimated from units with one point each"
        return Check("remainder", value, _REMAINDER, False, words, f"observe some units at two points, or {remedy}")
    ratio = abs(value) / se if se > 0 else (float("inf") if value else 0.0)
    words = f"the second-order remainder of the correction is {value:.2g} (se {noise:.1g}), {ratio:.2g} standard errors"
    # a large value within its own error is no finding, unless that error would hide any
    small, chance, hidden = ratio <= _REMAINDER, abs(value) <= 2 * noise, noise > _HIDDEN * se
    words += " of the estimate, which is too uncertain to tell" if hidden else ""
    return Check("remainder", ratio, _REMAINDER, (small or chance) and not hidden, words, remedy)
