"""The variance of the measurement noise, from neighbouring residuals."""

from __future__ import annotations

import numpy as np

from dope.data import OperatorData

_UNITS_AT_ONCE = 512


def noise_variance(data: OperatorData, residual: np.ndarray) -> float:
    """An estimate of `Var(eps)` that needs neither replicates nor a good operator.

    Two residuals of one unit at places close to one another differ by twice the noise plus the change of the
    operator's error between the places, which is of the order of their squared distance. So half the squared
    differences of nearest neighbours are regressed on the squared distance, and the intercept is the variance.
    Where the data cannot tell the intercept from zero it is zero.
    """
    pairs = [_neighbours(data, residual, slice(s, s + _UNITS_AT_ONCE)) for s in range(0, len(data), _UNITS_AT_ONCE)]
    d, v = (np.concatenate(part) for part in zip(*pairs, strict=True))
    if len(d) == 0:
        return 0.0
    near = d <= np.median(d)
    d, v = d[near], v[near]
    if len(d) < 10 or np.ptp(d) <= 1e-12 * d.max():
        return float(v.mean())
    centre = d.mean()
    slope = max(0.0, ((d - centre) * v).sum() / ((d - centre) ** 2).sum())
    return float(max(0.0, v.mean() - slope * centre))


def _neighbours(data: OperatorData, residual: np.ndarray, units: slice) -> tuple[np.ndarray, np.ndarray]:
    """Squared distance to the nearest other point of the unit, and half the squared difference of residuals."""
    span = np.array([a.upper - a.lower for a in data.grid.axes])
    seen = data.observed[units]
    place = np.where(seen[..., None], data.points[units] / span, np.inf)
    with np.errstate(invalid="ignore"):
        gap = ((place[:, :, None] - place[:, None]) ** 2).sum(-1)
    gap = np.where(np.isfinite(gap), gap, np.inf)
    gap[:, np.arange(gap.shape[1]), np.arange(gap.shape[1])] = np.inf
    nearest = gap.argmin(-1)
    distance = np.take_along_axis(gap, nearest[..., None], -1)[..., 0]
    difference = residual[units] - np.take_along_axis(residual[units], nearest, -1)
    paired = seen & np.isfinite(distance)
    return distance[paired], difference[paired] ** 2 / 2
