"""How wrong the operator is, and what that leaves in a one-step estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from dope.data import Grid
from dope.functionals import Functional
from dope.scores import Prediction

# Second derivatives are taken at this many units at most: a mean over them is precise enough for a verdict.
_UNITS = 256
# Units whose predicted fields tell a linear functional from a curved one.
_PROBED = 4


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

    The error of the operator is seen at K points only, but a quadratic form of it is estimable from them:
    `sum_{k != l} xi_k xi_l r_k r_l H(X_k, X_l) / (K (K - 1))` for the second derivatives between different nodes, and
    `sum_k xi_k H(X_k) (r_k^2 - sigma^2) / K` for those of a node with itself. Both need units with two points: where
    there are none, a functional that is not linear leaves something unknown, NaN.
    """
    data, grid = prediction.data, prediction.data.grid
    chosen = np.flatnonzero(data.counts > 1)
    if len(chosen) == 0:
        everywhere = np.arange(grid.size)
        curved = (_curvature(g, u, everywhere, grid).any() for u in prediction.field[:_PROBED])
        return (float("nan"), float("nan")) if any(curved) else (0.0, 0.0)
    chosen = chosen[np.linspace(0, len(chosen) - 1, min(_UNITS, len(chosen))).astype(int)]
    mass = np.where(grid.weights > 0, grid.weights, np.inf).ravel()
    out = np.empty(len(chosen))
    for row, i in enumerate(chosen):
        seen = data.observed[i]
        k = int(seen.sum())
        nodes, column = np.unique(data.stencil.index[i][seen], return_inverse=True)
        share = np.zeros((k, len(nodes)))  # of each node in the value at each point
        np.add.at(share, (np.arange(k)[:, None], column.reshape(k, -1)), data.stencil.weight[i][seen])
        curved = _curvature(g, prediction.field[i], nodes, grid)
        own = np.diag(curved) / mass[nodes]
        coupled = (curved - np.diag(np.diag(curved))) / np.multiply.outer(mass[nodes], mass[nodes])
        xi, residual = xi_at_points[i][seen], prediction.residual[i][seen]
        pairs = share @ coupled @ share.T * np.multiply.outer(xi * residual, xi * residual)
        apart = (pairs.sum() - np.trace(pairs)) / (k * (k - 1))
        local = (xi * (share @ own) * (residual**2 - prediction.sigma2)).sum() / k
        out[row] = 0.5 * (apart + local)
    return float(out.mean()), float(out.std(ddof=1) / np.sqrt(len(out))) if len(out) > 1 else float("inf")


def _curvature(g: Functional, field: np.ndarray, nodes: np.ndarray, grid: Grid) -> np.ndarray:
    """The second derivatives of `g` at a field between some of its nodes, `(len(nodes), len(nodes))`."""
    count = len(nodes)
    u = torch.as_tensor(np.broadcast_to(field, (count, *grid.shape)).copy()).requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(g(u, grid).sum(), u, create_graph=True)
        if not slope.requires_grad:
            return np.zeros((count, count))
        picked = slope.reshape(count, -1)[torch.arange(count), torch.as_tensor(nodes)].sum()
        (curved,) = torch.autograd.grad(picked, u, allow_unused=True)
    return np.zeros((count, count)) if curved is None else curved.numpy().reshape(count, -1)[:, nodes]
