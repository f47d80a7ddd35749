"""No correction: the baseline."""

from __future__ import annotations

import numpy as np

from dope.functionals import Functional
from dope.scores.correction import Correction, Prediction


class PlugIn(Correction):
    """`c_i = 0`: biased at first order in the operator's error."""

    name = "none"
    label = "none (plug-in)"

    def __call__(self, g: Functional, prediction: Prediction, plugin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros_like(plugin), np.zeros_like(plugin)
