"""The exact correction for integral functionals."""

from __future__ import annotations

import numpy as np
import torch

from dope.functionals import Functional, Integral
from dope.scores.correction import Correction, Prediction

# A Gauss rule that also resolves integrands as steep as three over the noise.
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_GAUSS_WEIGHTS = _GAUSS_WEIGHTS / _GAUSS_WEIGHTS.sum()


class Exact(Correction):
    """`c_i = 1/K sum_k xi(X_k) (phi(Y_k) - 1/2 phi''(Y_k) sigma^2 - phi(S(X_k)))`.

    For `g(u) = int phi(u(x), x) dmu` the field `phi(u)` is itself observed, so no second-order remainder in S is
    left. Noise shifts the mean of `phi(Y)` by `1/2 phi'' sigma^2`, which is taken off.
    """

    name = "exact"
    label = "exact (integral functional)"

    def __init__(self, sigma2: float) -> None:
        self.sigma2 = sigma2

    def __call__(self, g: Functional, prediction: Prediction, plugin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert isinstance(g, Integral)
        y, x = _observations(prediction)
        grid = prediction.data.grid
        observed = g.integrand(y, x, grid) - 0.5 * self.sigma2 * g.curvature(y, x, grid)
        predicted = g.integrand(torch.as_tensor(prediction.field_at_points), x, grid)
        terms = prediction.xi_at_points * (observed - predicted).numpy()
        return prediction.average(terms), prediction.spread(terms)

    def noise_left(self, g: Integral, prediction: Prediction) -> float:
        """The noise bias that the second-order term does not remove, were the observed values the truth."""
        y, x = _observations(prediction)
        grid, s2 = prediction.data.grid, self.sigma2
        if s2 == 0:
            return 0.0
        truth = g.integrand(y, x, grid)
        left = -truth
        for node, weight in zip(_GAUSS_NODES, _GAUSS_WEIGHTS, strict=True):
            noisy = y + float(np.sqrt(s2) * node)
            left = left + weight * (g.integrand(noisy, x, grid) - 0.5 * s2 * g.curvature(noisy, x, grid))
        return abs(float(prediction.average(prediction.xi_at_points * left.numpy()).mean()))


def _observations(prediction: Prediction) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and places; padding gets a harmless value at a real node, and weighs nothing."""
    data = prediction.data
    inside = data.grid.points.reshape(-1, data.grid.ndim)[0]
    places = np.where(data.observed[..., None], data.points, inside)
    if data.grid.ndim == 1:
        places = places[..., 0]
    values = np.where(data.observed, data.values, prediction.field_at_points)
    return torch.as_tensor(values), torch.as_tensor(places)
