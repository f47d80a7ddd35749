"""The bootstrap-t interval: for scores too skewed for the t interval."""

from __future__ import annotations

import numpy as np

from dope.data import DataError
from dope.inference.repeats import moments
from dope.inference.variance import Arm


def intervals(arms: tuple[Arm, ...], level: float, draws: int, seed: int) -> np.ndarray:
    """(G, 2): `value - q se` with q the quantiles of `(theta* - theta) / se*` over resampled units.

    Whole groups are resampled where there are groups, every repeat with the same units, each arm by itself. The mean
    over unlabelled inputs is one of many terms: it varies normally, with its known variance.
    """
    if draws < 199:
        raise DataError(f"{draws} draws do not settle the tails of a bootstrap-t interval: take 1999 or so.")
    value, covariance, _ = moments(arms)
    se = np.sqrt(np.diag(covariance))
    rng = np.random.default_rng(seed)
    gap, variance = 0.0, 0.0
    for arm, child in zip(arms, rng.spawn(len(arms)), strict=True):
        g, v = _resampled(arm, draws, child)
        gap, variance = gap + g, variance + v
    # a resample of one and the same unit has no standard error: it says nothing about t
    t = np.divide(gap, np.sqrt(variance), out=np.full_like(gap, np.nan), where=variance > 0)
    out = np.stack([value, value], axis=1)
    for k in np.flatnonzero(se > 0):
        usable = t[np.isfinite(t[:, k]), k]
        # (1 + draws) p-th smallest: exact coverage of the bootstrap law for the usual 1999
        low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2], method="weibull")
        out[k] = value[k] - high * se[k], value[k] - low * se[k]
    return out


def _resampled(arm: Arm, draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`theta* - theta` and `se*^2` of one arm, both (draws, G), by the formulas of the estimate itself."""
    repeats, count = arm.mean.shape[0], arm.terms.shape[2]
    counts = arm.sizes > 0  # a cluster without weight is not one that could have been drawn
    c, sizes = arm.clusters, arm.sizes[counts]
    e = np.ascontiguousarray(np.moveaxis(arm.residuals, 1, 0)[counts]).reshape(c, -1)  # (C, R G), sums to 0
    columns = np.concatenate([e, e**2, e * sizes[:, None], sizes[:, None], sizes[:, None] ** 2], axis=1)
    shift = np.empty((draws, e.shape[1]))
    variance = np.empty_like(shift)
    step = max(1, 4_000_000 // c)
    for start in range(0, draws, step):
        weights = rng.multinomial(c, np.full(c, 1 / c), size=min(step, draws - start)).astype(float)
        sums, squares, mixed, total, total2 = np.split(weights @ columns, np.cumsum([e.shape[1]] * 3 + [1]), axis=1)
        here = slice(start, start + len(weights))
        shift[here] = sums / total
        # sum_c w_c (e_c - N_c shift)^2, expanded; rounding may leave it just below 0
        spread = squares - 2 * shift[here] * mixed + shift[here] ** 2 * total2
        variance[here] = np.maximum(spread, 0) * (c / (c - 1)) / total**2
    shift, variance = shift.reshape(draws, repeats, count), variance.reshape(draws, repeats, count)
    if arm.known is not None:
        known = np.diagonal(arm.known, axis1=1, axis2=2)
        shift = shift + rng.standard_normal((draws, 1, count)) * np.sqrt(known)
        variance = variance + known
    if repeats == 1:
        return shift[:, 0], variance[:, 0]
    centre = np.median(arm.mean, axis=0)
    each = shift + (arm.mean - centre)
    middle = np.median(each, axis=1)
    return middle, np.median(variance + (each - middle[:, None]) ** 2, axis=1)
