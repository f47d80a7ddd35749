"""The exact correction for integral functionals."""

from __future__ import annotations

import numpy as np
import torch

from dope.data import Grid
from dope.functionals import Functional, Integral
from dope.scores.correction import Correction, Prediction

# Standard deviations at which a Gaussian is summed: fine enough for integrands much steeper than the noise, too.
_STEPS = 0.4 * np.arange(-22, 23)


class Exact(Correction):
    """`c_i = 1/K sum_k xi(X_k) (psi(Y_k) - phi(S(X_k)))`, where `psi(Y)` has the mean of `phi` without the noise.

    For `g(u) = int phi(u(x), x) dmu` the field `phi(u)` is itself observed, so no second-order remainder in S is
    left. Noise of variance s2 smooths the mean of `phi(Y)`. What it does is done once and twice more, on purpose, and
    extrapolated back: with `phi_m` the mean of `phi` under m further noises, `psi = 3 phi - 3 phi_1 + phi_2`, which is
    right for polynomials to degree five. The Taylor term `-1/2 phi'' s2` is right to degree three, but its own
    scatter is that of a second derivative: for integrands steep on the scale of the noise it doubles the error.
    """

    name = "exact"
    label = "exact (integral functional)"

    def __init__(self, sigma2: float) -> None:
        self.sigma2 = sigma2

    def __call__(self, g: Functional, prediction: Prediction, plugin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert isinstance(g, Integral)
        y, x = _observations(prediction)
        grid = prediction.data.grid
        observed = self._smoothed(g, y, x, grid, (3.0, -3.0, 1.0))
        predicted = g.integrand(torch.as_tensor(prediction.field_at_points), x, grid)
        terms = prediction.xi_at_points * (observed - predicted).numpy()
        return prediction.average(terms), prediction.spread(terms)

    def noise_left(self, g: Integral, prediction: Prediction) -> float:
        """The noise bias that the extrapolation does not remove, were the observed values the truth."""
        if self.sigma2 == 0:
            return 0.0
        y, x = _observations(prediction)
        left = self._smoothed(g, y, x, prediction.data.grid, (-1.0, 3.0, -3.0, 1.0))
        return abs(float(prediction.average(prediction.xi_at_points * left.numpy()).mean()))

    def _smoothed(
        self, g: Integral, y: torch.Tensor, x: torch.Tensor, grid: Grid, shares: tuple[float, ...]
    ) -> torch.Tensor:
        """`sum_m shares[m] phi_m(y)`, with `phi_m` the mean of `phi` under m further noises of this variance."""
        clean = g.integrand(y, x, grid)
        if self.sigma2 == 0:
            return sum(shares) * clean
        out = shares[0] * clean
        scale = np.sqrt(np.arange(1, len(shares)))
        density = np.exp(-0.5 * (_STEPS[:, None] / scale) ** 2)
        weight = (density / density.sum(0)) @ np.array(shares[1:])
        for step, share in zip(_STEPS, weight, strict=True):
            out = out + float(share) * g.integrand(y + float(np.sqrt(self.sigma2) * step), x, grid)
        return out


def _observations(prediction: Prediction) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and places; padding gets a harmless value at a real node, and weighs nothing."""
    data = prediction.data
    inside = data.grid.points.reshape(-1, data.grid.ndim)[0]
    places = np.where(data.observed[..., None], data.points, inside)
    if data.grid.ndim == 1:
        places = places[..., 0]
    values = np.where(data.observed, data.values, prediction.field_at_points)
    return torch.as_tensor(values), torch.as_tensor(places)
