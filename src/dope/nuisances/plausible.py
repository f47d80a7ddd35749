"""Weights that cannot be right, told by the points alone."""

from __future__ import annotations

import numpy as np

from dope.data import OperatorData

# How far above one a unit's mean weight must lie: as a number, and in its own standard errors.
_FACTOR, _ERRORS = 2.0, 5.0


def plausible(xi: np.ndarray, data: OperatorData) -> np.ndarray:
    """`xi` (n, *grid), scaled down in units where it cannot be the inverse of any design.

    Whatever the design, right weights have mean one over a unit's points, up to chance. A network that meets an input
    unlike all that it has seen may miss this by far, and one such unit would decide the estimate. Its weights are then
    divided by their mean. No observed value takes part in this, so the correction stays what it is.
    """
    at_points, counts = data.stencil(xi), data.counts
    mean = np.where(data.observed, at_points, 0.0).sum(1) / np.maximum(counts, 1)
    centred = np.where(data.observed, at_points - mean[:, None], 0.0)
    error = np.sqrt((centred**2).sum(1) / np.maximum(counts * (counts - 1.0), 1.0))
    wrong = (counts > 1) & (mean > np.maximum(_FACTOR, 1 + _ERRORS * error))
    out = xi.copy()
    out[wrong] /= mean[wrong].reshape(-1, *[1] * data.grid.ndim)
    return out
