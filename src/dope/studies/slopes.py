"""How the bias grows with the errors of the nuisances, in the rows of a robustness study.

At delta the errors are 1 + delta times what they were: delta = 0 is not free of bias, and a fit of log |bias| in
log delta would be meaningless. The law to find is |bias| ~ (1 + delta)^slope, so the fit is in log(1 + delta): 1 for
an error that enters by itself, 2 for a product of two errors that both grow. Under the release protocol the errors
are delta times a fixed direction, and the fit is in log delta without delta = 0.

The bias is the mean over repeats of estimate - floor. Both see the same units, so what is subtracted is their own
sampling error and not the nuisances'. All deltas share the repeats' units and fits. Their biases move together, and
the standard error of the slope (delta method over repeats) allows for that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dope.studies.cell import Row

_SETTING = "delta"
# What delta is added to, to be proportional to the errors: 1 unless the protocol says otherwise.
_OFFSET = {"release": 0.0}
# A mean closer to zero than this many of its standard errors may have either sign: its logarithm says little.
_VISIBLE = 2.0


@dataclass(frozen=True)
class Slope:
    """A fitted slope of log |bias| in log(offset + delta).

    repeats : those that have the estimator and the floor at every delta.
    bias, bias_se : paired biases by delta.
    slope, se : None where there is none: fewer than two deltas or repeats, or a bias that is zero or changes sign.
    visible : whether every bias is at least two standard errors from zero; if not, the slope says little.
    """

    study: str
    backbone: str
    functional: str
    estimator: str
    protocol: str
    offset: float
    repeats: int
    deltas: tuple[float, ...]
    bias: tuple[float, ...]
    bias_se: tuple[float, ...]
    slope: float | None
    se: float | None

    @property
    def known(self) -> bool:
        return self.slope is not None

    @property
    def size(self) -> str:
        """What the errors are proportional to."""
        return f"{self.offset:g} + delta" if self.offset else "delta"

    @property
    def visible(self) -> bool:
        return all(abs(b) >= _VISIBLE * se for b, se in zip(self.bias, self.bias_se, strict=True))

    def __str__(self) -> str:
        if self.slope is None or self.se is None:
            return "none"
        return f"{self.slope:.2f} ({self.se:.2f}){'' if self.visible else ' ?'}"


def slopes(rows: Iterable[Row]) -> list[Slope]:
    """A slope for each functional and estimator of the rows whose setting is delta, in their order."""
    groups: dict[tuple, dict[str, dict[tuple[int, float], float]]] = defaultdict(lambda: defaultdict(dict))
    for r in rows:
        if r.setting == _SETTING:
            groups[r.config, r.study, r.backbone, r.functional, r.protocol][r.estimator][r.repeat, r.value] = r.estimate
    out = []
    for (_, study, backbone, functional, protocol), estimates in groups.items():
        floor = estimates.pop("floor", {})
        for estimator, found in estimates.items():
            offset = _OFFSET.get(protocol, 1.0)
            deltas, difference = _paired({at: v for at, v in found.items() if offset + at[1] > 0}, floor)
            bias, bias_se, slope, se = fit(offset + np.array(deltas), difference)
            out.append(
                Slope(
                    study=study,
                    backbone=backbone,
                    functional=functional,
                    estimator=estimator,
                    protocol=protocol,
                    offset=offset,
                    repeats=len(difference),
                    deltas=deltas,
                    bias=tuple(map(float, bias)),
                    bias_se=tuple(map(float, bias_se)),
                    slope=slope,
                    se=se,
                )
            )
    return out


def fit(sizes: np.ndarray, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray, float | None, float | None]:
    """Biases, their standard errors, the slope and its own, from differences `(repeats, sizes of the errors)`."""
    n, many = difference.shape
    if n < 2:
        return difference.mean(0) if n else np.full(many, np.nan), np.full(many, np.nan), None, None
    bias, bias_se = difference.mean(0), difference.std(0, ddof=1) / math.sqrt(n)
    if many < 2 or not (np.all(bias > 0) or np.all(bias < 0)):
        return bias, bias_se, None, None
    x = np.log(sizes)
    pull = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    slope = float(pull @ np.log(np.abs(bias)))
    # what a repeat adds to the slope, to first order: d log|b| = db / b
    influence = (difference / bias) @ pull
    return bias, bias_se, slope, float(influence.std(ddof=1)) / math.sqrt(n)


def words(slopes: Sequence[Slope]) -> str:
    """What the numbers are."""
    text = (
        f"Slopes of log |bias| in log({slopes[0].size}), standard error in parentheses; bias: mean of the estimate "
        "minus the floor of the same repeat."
    )
    if any(s.known and not s.visible for s in slopes):
        text += " ?: some bias is less than two standard errors from zero, and its slope may be that of chance."
    if not all(s.known for s in slopes):
        text += " none: the bias changes its sign, or there are too few repeats."
    return text


def _paired(
    found: dict[tuple[int, float], float], floor: dict[tuple[int, float], float]
) -> tuple[tuple[float, ...], np.ndarray]:
    """Deltas, and estimate - floor `(repeats, deltas)` of the repeats that have all of them."""
    deltas = tuple(sorted({value for _, value in found}))
    repeats = sorted({repeat for repeat, _ in found})
    whole = [r for r in repeats if all((r, d) in found and (r, d) in floor for d in deltas)]
    difference = [[found[r, d] - floor[r, d] for d in deltas] for r in whole]
    return deltas, np.array(difference, dtype=float).reshape(len(whole), len(deltas))
