"""How wrong the operator is, and what that leaves in a one-step estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from dope.functionals import Functional
from dope.scores import Prediction

# Second derivatives are taken at this many units at most: a mean over them is precise enough for a verdict.
_UNITS = 256


@dataclass(frozen=True)
class OperatorError:
    """`rmse` is the root of `E (S - S0)^2` under the reference measure; `relative` is its share of the spread of S0."""

    rmse: float
    relative: float
    noise: float


def operator_error(prediction: Prediction, xi_at_points: np.ndarray) -> OperatorError:
    """The operator's error from weighted squared residuals less the noise variance; no truth is needed."""
    data, noise = prediction.data, prediction.sigma2
    values = np.where(data.observed, data.values, 0.0)
    seen = data.counts > 0
    mass = prediction.average(xi_at_points)[seen].mean()
    mean = lambda terms: prediction.average(xi_at_points * terms)[seen].mean() / mass  # noqa: E731
    error = max(0.0, mean(prediction.residual**2) - noise)
    spread = mean((values - mean(values)) ** 2) - noise
    return OperatorError(
        rmse=float(np.sqrt(error)),
        relative=float(np.sqrt(error / spread)) if spread > 0 else float("inf"),
        noise=float(np.sqrt(noise)),
    )


def remainder(g: Functional, prediction: Prediction, xi_at_points: np.ndarray) -> tuple[float, float]:
    """The mean of `1/2 D^2 g(S0 - S, S0 - S)`, which the one-step correction leaves, and its standard error.

    The error of the operator is seen at K points only, but a quadratic form of it is estimable from pairs of them:
    `sum_{k != l} xi_k xi_l r_k r_l H(X_k, X_l) / (K (K - 1))` for the part of the second derivative that couples
    places, and `sum_k xi_k H(X_k) (r_k^2 - sigma^2) / K` for its local part.
    """
    data, grid = prediction.data, prediction.data.grid
    chosen = np.flatnonzero(data.counts > 1)
    if len(chosen) == 0:
        return 0.0, 0.0
    chosen = chosen[np.linspace(0, len(chosen) - 1, min(_UNITS, len(chosen))).astype(int)]
    mass = np.where(grid.weights > 0, grid.weights, np.inf).ravel()
    out = np.empty(len(chosen))
    for row, i in enumerate(chosen):
        seen = data.observed[i]
        k = int(seen.sum())
        points = np.zeros((k, grid.size))
        index, weight = data.stencil.index[i][seen], data.stencil.weight[i][seen]
        np.add.at(points, (np.arange(k)[:, None], index), weight)
        curved = _curvature(g, prediction.field[i], points / mass, grid)
        pairs = curved @ (points / mass).T  # (k, k): D^2 g between the points' unit masses
        weighted = xi_at_points[i][seen] * prediction.residual[i][seen]
        apart = (weighted @ pairs @ weighted - (weighted**2 * np.diag(pairs)).sum()) / (k * (k - 1))
        local = np.diag(pairs) * (points / mass[None] * points).sum(1) ** -1
        square = prediction.residual[i][seen] ** 2 - prediction.sigma2
        out[row] = 0.5 * (apart + (xi_at_points[i][seen] * local * square).sum() / k)
    return float(out.mean()), float(out.std(ddof=1) / np.sqrt(len(out))) if len(out) > 1 else float("inf")


def _curvature(g: Functional, field: np.ndarray, directions: np.ndarray, grid) -> np.ndarray:
    """Products of the second derivative of `g` at a field with each of the directions `(k, nodes)`."""
    u = torch.as_tensor(np.broadcast_to(field, (len(directions), *grid.shape)).copy()).requires_grad_()
    v = torch.as_tensor(directions).reshape(-1, *grid.shape)
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(g(u, grid).sum(), u, create_graph=True)
        if not slope.requires_grad:
            return np.zeros_like(directions)
        (curved,) = torch.autograd.grad((slope * v).sum(), u, allow_unused=True)
    return np.zeros_like(directions) if curved is None else curved.numpy().reshape(len(directions), -1)
