"""Integral functionals: the mean over the domain of an integrand of the field and the place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dope.data import Grid
from dope.functionals.base import Functional


def coordinates(grid: Grid, like: Tensor) -> Tensor:
    """Coordinates of the nodes as users write them: `(*grid,)` in 1-D, else `(*grid, d)`."""
    x = torch.as_tensor(grid.points, dtype=like.dtype, device=like.device)
    return x[..., 0] if grid.ndim == 1 else x


class Integral(Functional):
    """`g(u) = scale * int phi(u(x), x) dmu`, with mu the grid's normalised measure.

    `phi(u, x)` is a torch function applied at every node; `x` has the shape of `u` in 1-D, one more axis of
    length d else. Such functionals get the exact correction, because `phi` of the field is itself observed.
    """

    def __init__(self, phi: Callable[[Tensor, Tensor], Tensor], *, name: str = "integral", units: str = "u") -> None:
        self._phi = phi
        self.name = name
        self.units = units

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        """`phi(u, x)` at places `x`, scaled so that its mean under the grid's measure is the functional."""
        return self._phi(u, x)

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        weights = torch.as_tensor(grid.weights, dtype=u.dtype, device=u.device)
        values = self.integrand(u, coordinates(grid, u), grid) * weights
        return values.sum(dim=tuple(range(-grid.ndim, 0)))

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        """`d phi / d u`, by automatic differentiation unless a subclass has it in closed form."""
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            values = self.integrand(u, x, grid)
            if not values.requires_grad:
                return torch.zeros_like(u)
            (slope,) = torch.autograd.grad(values.sum(), u)
        return slope.detach()

    def curvature(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        """`d^2 phi / d u^2`, for the noise term of the exact correction."""
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            values = self.integrand(u, x, grid)
            if not values.requires_grad:
                return torch.zeros_like(u)
            (slope,) = torch.autograd.grad(values.sum(), u, create_graph=True)
            if not slope.requires_grad:
                return torch.zeros_like(u)
            (curvature,) = torch.autograd.grad(slope.sum(), u)
        return curvature.detach()

    def representer(self, u: Tensor, grid: Grid) -> Tensor:
        weights = torch.as_tensor(grid.weights, dtype=u.dtype, device=u.device)
        return self.slope(u, coordinates(grid, u), grid) * (weights > 0)


def indicator(region: Callable, grid: Grid) -> np.ndarray:
    """Which nodes of the grid lie in a region given by a function of the coordinates."""
    x = grid.points
    return np.broadcast_to(np.asarray(region(x[..., 0] if grid.ndim == 1 else x), dtype=bool), grid.shape)
