"""One functional over another, as a further estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dope.data import DataError
from dope.inference.contrasts import index_of
from dope.inference.notes import together
from dope.inference.repeats import tiled
from dope.inference.variance import Arm, quantile_t, weighted_mean
from dope.scores import Scores

if TYPE_CHECKING:
    from dope.inference.result import Estimate

E = TypeVar("E", bound="Estimate")


@dataclass(frozen=True)
class Fieller:
    """The ratio a/b by Fieller's theorem: r is in the set where `(a - r b)^2 <= t^2 Var(a - r b)`."""

    a: float
    b: float
    var_a: float
    cov: float
    var_b: float
    df: float

    def tstat(self, null: float) -> float:
        gap = (self.a - null * self.b) * math.copysign(1.0, self.b)
        variance = max(self.var_a - 2 * null * self.cov + null**2 * self.var_b, 0.0)
        if variance == 0:
            return 0.0 if gap == 0 else math.copysign(math.inf, gap)
        return gap / math.sqrt(variance)

    def interval(self, level: float) -> tuple[float, float]:
        """The set, or the whole line where it is unbounded (the denominator cannot be told from 0)."""
        t2 = float(quantile_t((1 + level) / 2, self.df)) ** 2
        # q2 r^2 - 2 q1 r + q0 <= 0
        q2, q1, q0 = self.b**2 - t2 * self.var_b, self.a * self.b - t2 * self.cov, self.a**2 - t2 * self.var_a
        if q2 <= 0:
            return -math.inf, math.inf
        root = math.sqrt(max(q1**2 - q2 * q0, 0.0))
        return (q1 - root) / q2, (q1 + root) / q2


def ratio(est: E, numerator: str | int, denominator: str | int, method: str) -> E:
    if method not in ("delta", "fieller"):
        raise DataError(f'ratio method is "delta" or "fieller", got {method!r}.')
    i, j = index_of(est, numerator), index_of(est, denominator)
    a, b = (float(np.atleast_1d(est.value)[k]) for k in (i, j))
    if b == 0:
        raise DataError(f"the ratio's denominator {est.names[j]!r} is estimated as exactly 0.")
    c = est.covariance
    out = replace(
        est,
        scores=_ratio_scores(est.scores, i, j),
        arms=_ratio_arms(est.arms, i, j),
        plugin_arms=_ratio_arms(est.plugin_arms, i, j),
        joint=False,
        correction=est.correction
        if isinstance(est.correction, str)
        else " / ".join(dict.fromkeys((est.correction[i], est.correction[j]))),
        verdicts=(together(est.verdicts[k] for k in (i, j)),) if est.verdicts else (),
        ppi=None if est.ppi is None else replace(est.ppi, lam=np.full((1, 1), np.nan), shift=est.ppi.shift[[i, j]]),
    )
    if method == "delta":
        return out
    df = float(min(np.atleast_1d(est.df)[k] for k in (i, j)))
    return replace(out, fieller=Fieller(a, b, float(c[i, i]), float(c[i, j]), float(c[j, j]), df))


def _ratio_arms(arms: tuple[Arm, ...], i: int, j: int) -> tuple[Arm, ...]:
    """Arms of the linearised ratio: r + (a - r b) / mean b, whose mean is r and whose spread is the delta method's."""
    repeats = math.lcm(*(len(arm.terms) for arm in arms))
    arms = tuple(tiled(arm, repeats) for arm in arms)
    top, bottom = (sum(arm.mean[:, k] for arm in arms) for k in (i, j))
    r = top / bottom  # (R,)
    out = []
    for arm in arms:
        w = np.zeros((len(r), arm.terms.shape[2]))
        w[:, i] += 1 / bottom
        w[:, j] -= r / bottom
        terms = np.einsum("rng,rg->rn", arm.terms, w) + (r / len(arms))[:, None]
        known = None if arm.known is None else np.einsum("rg,rgh,rh->r", w, arm.known, w)[:, None, None]
        out.append(Arm(terms[:, :, None], arm.group, known, arm.weight))
    return tuple(out)


def _ratio_scores(scores: Scores, i: int, j: int) -> Scores:
    psi = scores.psi
    mean = weighted_mean(psi, scores.relative_weight)
    bottom = mean[:, j]
    r = (mean[:, i] / bottom)[:, None]
    line = lambda table, r, b: (table[..., i] - r * table[..., j]) / b  # noqa: E731
    unlabeled = scores.unlabeled
    if unlabeled is not None:
        unlabeled = (line(unlabeled, r[..., None], bottom[:, None, None]) + r[..., None])[..., None]
    return replace(
        scores,
        plugin=(line(scores.plugin, r, bottom[:, None]) + r)[..., None],
        correction=line(scores.correction, r, bottom[:, None])[..., None],
        unlabeled=unlabeled,
        correction_var=None,
        names=(f"{scores.names[i]} / {scores.names[j]}",),
    )
