"""Overlap: do a few observations carry the answer?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dope.functionals.base import Region
from dope.functionals.integral import inside
from dope.scores import Prediction


@dataclass(frozen=True)
class Overlap:
    """How evenly the weights are spread over the observed points.

    `effective` is the effective share of the observations, `(sum xi)^2 / (N sum xi^2)`; `largest` the largest share
    of a single observation; `tail` the 99 % quantile of the weights over their mean.
    """

    effective: float
    largest: float
    tail: float
    observations: int


def overlap(weights: np.ndarray, prediction: Prediction, region: Region | None = None) -> Overlap:
    """The overlap of weights `(n, K)` at the observed points, or at those in a region."""
    data = prediction.data
    w, places = np.abs(weights[data.observed]), data.points[data.observed]
    if region is not None:
        w = w[inside(region, places[..., 0] if data.grid.ndim == 1 else places, data.grid.ndim)]
    total = w.sum()
    if total == 0:
        return Overlap(0.0, 1.0, float("inf"), len(w))
    return Overlap(
        effective=float(total**2 / (len(w) * (w**2).sum())),
        largest=float(w.max() / total),
        tail=float(np.quantile(w, 0.99) / w.mean()),
        observations=len(w),
    )
