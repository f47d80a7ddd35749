"""The one-step correction: weighted residuals."""

from __future__ import annotations

import numpy as np

from dope.functionals import Functional
from dope.scores.correction import Correction, Prediction


class OneStep(Correction):
    """`c_i = 1/K sum_k beta(X_k) (Y_k - S(X_k))`: removes the first-order bias of any differentiable g."""

    name = "one-step"
    label = "one-step"

    def __call__(self, g: Functional, prediction: Prediction, plugin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        terms = prediction.data.stencil(prediction.weights(g)) * prediction.residual
        return prediction.average(terms), prediction.spread(terms)
