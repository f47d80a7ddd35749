"""How far a smooth functional is from the hard one it stands for."""

from __future__ import annotations

import numpy as np

from dope.functionals import ExcessAbove, Functional, SoftMax, SoftMin, TimeAbove, TimeBelow, TimeInRange
from dope.functionals.base import evaluate
from dope.scores import Prediction


def smoothing_gap(g: Functional, prediction: Prediction) -> float | None:
    """Mean of the smooth value less the hard one on the predicted fields; None where there is no hard one."""
    u, grid = prediction.field, prediction.data.grid
    hard = _hard(g, u)
    if hard is None:
        return None
    if isinstance(g, (SoftMax, SoftMin)):
        inside = u[:, grid.weights > 0]
        exact = inside.max(1) if isinstance(g, SoftMax) else inside.min(1)
    else:
        exact = grid.mean(hard)
    return float((evaluate(g, u, grid) - exact).mean())


def _hard(g: Functional, u: np.ndarray) -> np.ndarray | None:
    if isinstance(g, TimeAbove):
        return (u > g.threshold).astype(np.float64)
    if isinstance(g, TimeBelow):
        return (u < g.threshold).astype(np.float64)
    if isinstance(g, TimeInRange):
        return ((u >= g.low) & (u <= g.high)).astype(np.float64)
    if isinstance(g, ExcessAbove):
        return np.maximum(u - g.threshold, 0.0)
    return u if isinstance(g, (SoftMax, SoftMin)) else None
