"""The targeted correction: move the field, not the answer."""

from __future__ import annotations

import numpy as np

from dope.functionals import Functional
from dope.functionals.base import evaluate
from dope.scores.correction import Correction, Prediction


class Targeted(Correction):
    """The estimate is the mean of `g(S + e beta)`, so it keeps to the range of g.

    `e = sum(1/K sum beta r) / sum(1/K sum beta^2)` is pooled over the folds. At this `e` the weighted residuals of
    the updated field have mean zero; they are kept in the scores, because the spread of `g` alone would
    understate the error.
    """

    name = "targeted"
    label = "targeted"

    def __call__(self, g: Functional, prediction: Prediction, plugin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        grid = prediction.data.grid
        beta = prediction.weights(g)
        at_points = prediction.data.stencil(beta)
        size = prediction.average(at_points**2).sum()
        step = prediction.average(at_points * prediction.residual).sum() / size if size > 0 else 0.0
        updated = evaluate(g, prediction.field + step * beta, grid)
        terms = at_points * (prediction.residual - step * at_points)
        return updated - plugin + prediction.average(terms), prediction.spread(terms)
