"""How large a next study must be: `Var(theta_hat) = (V_A + V_X / K) / n`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dope.data import DataError
from dope.inference.variance import quantile_t

if TYPE_CHECKING:
    import pandas as pd

    from dope.inference.result import Estimate

K_SHOWN = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class Row:
    """One design: n units with K points each."""

    n: int
    points: int
    length: float
    cost: float


@dataclass(frozen=True)
class Plan:
    """The cheapest design found: `n` units, `points` observations each, the interval's `length`, its `cost`.

    `between` is V_A, the variance between units that more points cannot remove; `within` is V_X, the variance
    that one point adds. `table` holds the best n for other numbers of points.
    """

    n: int
    points: int
    length: float
    cost: float
    level: float
    between: float
    within: float
    table: tuple[Row, ...]

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        rows = [{"n": r.n, "points": r.points, "length": r.length, "cost": r.cost} for r in self.table]
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        head = (
            f"{self.n} units with {self.points} point(s) each: {100 * self.level:g} % interval of length "
            f"{self.length:.4g} at cost {self.cost:.6g}\n"
            f"variance of a unit: {self.between:.4g} between units + {self.within:.4g} / points\n"
        )
        body = [f"{r.points:>8d}{r.n:>10d}{r.length:>14.4g}{r.cost:>14.6g}" for r in self.table]
        return head + f"{'points':>8}{'units':>10}{'length':>14}{'cost':>14}\n" + "\n".join(body)


def components(est: Estimate) -> tuple[float, float]:
    """`(V_A, V_X)`: the unit variance splits into the sampling of the points and all the rest.

    V_X is the mean of `K_i` times the sampling variance of unit i's correction, over units with at least two
    points; V_A is what remains of the variance. With groups, V_A holds the groups' share (at the present sizes);
    with unit weights both hold what their being uneven costs, as it will again in a study sampled alike.
    """
    scores = est.scores
    if len(est.arms) > 1 or len(est) > 1:
        raise DataError('plan one functional of one sample: est["name"].plan(...).')
    if scores.correction_var is None or scores.counts is None:
        raise DataError(
            "planning needs the sampling variance of each unit's correction (scores.correction_var and "
            "scores.counts): combinations of functionals do not have it, plan the functionals themselves."
        )
    variance = scores.correction_var[:, :, 0]
    counts = np.asarray(scores.counts, float)
    arm = next(iter(est.arms))
    # a unit's variance enters that of a weighted mean with the square of its weight
    square = np.ones(len(scores)) if arm.weight is None else arm.weight**2
    known = np.isfinite(variance) & (counts >= 2) & (square > 0)
    if not known.any():
        raise DataError("planning needs units with at least 2 points: with one each, V_X cannot be told from V_A.")
    within = np.array([np.average(counts[k] * v[k], weights=square[k]) for v, k in zip(variance, known, strict=True)])
    own = np.where(known, variance, np.divide(within[:, None], counts, out=np.zeros_like(variance), where=counts > 0))
    uneven = square.sum() / arm.n
    total = np.diagonal(arm.covariance, axis1=1, axis2=2)[:, 0] * arm.n
    if arm.known is not None:
        total = total - arm.known[:, 0, 0] * arm.n
    between = np.maximum(total - own @ square / arm.n, 0.0)
    return float(np.median(between)), float(np.median(within)) * float(uneven)


def plan(
    est: Estimate,
    precision: float | None = None,
    *,
    budget: float | None = None,
    cost_unit: float = 1.0,
    cost_point: float = 0.0,
    points: tuple[int, ...] | None = None,
    level: float | None = None,
) -> Plan:
    """The cheapest study whose interval is `value +- precision`, or the best one that `budget` pays for.

    Parameters
    ----------
    precision : half the length of the interval wished for.
    budget : what may be spent instead; give one of the two.
    cost_unit, cost_point : of one more unit, and of one more point of a unit, in any one currency.
    points : numbers of points per unit that are possible; 1 to 128 otherwise. With points for free the largest
        is chosen, so say what is possible.
    """
    wished = budget if precision is None else precision
    if wished is None or (precision is not None and budget is not None):
        raise DataError("give either precision (half the length of the interval) or budget.")
    if cost_unit < 0 or cost_point < 0 or cost_unit + cost_point <= 0:
        raise DataError(f"costs must not be negative, nor both 0: cost_unit={cost_unit}, cost_point={cost_point}.")
    if not (np.isfinite(wished) and wished > 0):
        raise DataError(f"precision and budget must be positive numbers, got {wished}.")
    level = est._level(level)
    between, within = components(est)
    known = est.arms[0].known
    floor = 0.0 if known is None else float(np.median(known[:, 0, 0]))
    allowed = sorted(set(points)) if points is not None else list(range(1, 129))
    if not allowed or allowed[0] < 1:
        raise DataError("points must hold numbers of points per unit, each at least 1.")

    def length(n: int, k: int) -> float:
        return 2 * float(quantile_t((1 + level) / 2, n - 1)) * math.sqrt((between + within / k) / n + floor)

    rows = []
    for k in allowed:
        price = cost_unit + k * cost_point
        if precision is not None:
            n = _smallest(lambda n, k=k: length(n, k) <= 2 * wished)
        else:
            n = int(wished / price + 1e-9)
        if n is not None and n >= 2:
            rows.append(Row(n, k, length(n, k), n * price))
    if not rows:
        raise DataError(
            f"no study reaches +-{precision}: the unlabelled inputs alone leave a standard error of {floor**0.5:.3g}."
            if precision is not None
            else f"a budget of {budget} does not pay for 2 units with {allowed[0]} point(s)."
        )
    best = min(rows, key=lambda r: (r.cost, r.length) if precision is not None else (r.length, r.cost))
    shown = [r for r in rows if points is not None or r.points in K_SHOWN or r is best]
    return Plan(best.n, best.points, best.length, best.cost, level, between, within, tuple(shown))


def _smallest(enough: Callable[[int], bool]) -> int | None:
    """The smallest n >= 2 for which `enough(n)`, which is monotone in n."""
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > 1 << 40:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
