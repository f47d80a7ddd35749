"""Integral functionals: the mean over the domain of an integrand of the field and the place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, Grid
from dope.functionals.base import Functional, NotDifferentiable, Region


def coordinates(grid: Grid, like: Tensor) -> Tensor:
    """Coordinates of the nodes as users write them: `(*grid,)` in 1-D, else `(*grid, d)`."""
    x = torch.as_tensor(grid.points, dtype=like.dtype, device=like.device)
    return x[..., 0] if grid.ndim == 1 else x


class Integral(Functional):
    """`g(u) = scale * int phi(u(x), x) dmu`, with mu the grid's normalised measure.

    `phi(u, x)` is a torch function that acts on each value by itself; `x` broadcasts against `u` in 1-D and has one
    more axis of length d else. Such functionals get the exact correction: `phi` of the field is itself observed.
    """

    def __init__(self, phi: Callable[[Tensor, Tensor], Tensor], *, name: str = "integral", units: str = "u") -> None:
        if not callable(phi):
            raise DataError(f"dope.Integral needs a function phi(u, x), got {type(phi).__name__}.")
        self._phi = phi
        self.name = name
        self.units = units

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        """`phi(u, x)` at places `x`, scaled so that its mean under the grid's measure is the functional."""
        try:
            values = torch.as_tensor(self._phi(u, x), dtype=u.dtype, device=u.device)
        except (TypeError, RuntimeError) as error:
            raise DataError(
                f"functional {self.name!r}: phi fails for u {tuple(u.shape)} and x {tuple(x.shape)} ({error}): "
                "build it from torch operations that return one number a value of the field."
            ) from error
        try:
            return values.expand(u.shape)
        except RuntimeError:
            raise DataError(
                f"functional {self.name!r}: phi must return one number a value of the field, got shape "
                f"{tuple(values.shape)} for u {tuple(u.shape)} and x {tuple(x.shape)}: use x[..., k] for coordinate k."
            ) from None

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        return grid.mean(self.integrand(u, coordinates(grid, u), grid))

    def check(self, u: Tensor, grid: Grid) -> None:
        """Raise unless `phi` acts on each value by itself: observed values come without the field around them."""
        x = coordinates(grid, u)
        values = self.integrand(u[:1], x, grid).flatten()
        for node in {0, grid.size // 2, grid.size - 1}:
            place = x.reshape(grid.size, -1)[node : node + 1]
            alone = self.integrand(u[:1].reshape(-1)[node : node + 1], place[:, 0] if grid.ndim == 1 else place, grid)
            if not torch.allclose(alone, values[node], rtol=1e-6, atol=1e-9, equal_nan=True):
                raise DataError(
                    f"functional {self.name!r}: phi must act on each value of the field by itself, but gives "
                    f"{float(alone):.4g} for one value alone and {float(values[node]):.4g} for it within its field: "
                    "write what needs the whole field with dope.functional."
                )

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        """`d phi / d u`, by automatic differentiation unless a subclass has it in closed form."""
        return self._derivative(u, x, grid, order=1)

    def curvature(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        """`d^2 phi / d u^2`, for the noise term of the exact correction."""
        return self._derivative(u, x, grid, order=2)

    def _derivative(self, u: Tensor, x: Tensor, grid: Grid, order: int) -> Tensor:
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            values = self.integrand(u, x, grid)
            if not values.requires_grad:
                raise NotDifferentiable(self)
            for left in reversed(range(order)):
                if not values.requires_grad:  # phi is linear: its slope is a constant
                    return torch.zeros_like(u)
                (values,) = torch.autograd.grad(values.sum(), u, create_graph=left > 0, materialize_grads=True)
        return values.detach()

    def representer(self, u: Tensor, grid: Grid) -> Tensor:
        carries_mass = torch.as_tensor(grid.weights > 0, device=u.device)
        return self.slope(u, coordinates(grid, u), grid) * carries_mass


def indicator(region: Region, grid: Grid) -> np.ndarray:
    """Which nodes of the grid lie in a region."""
    return inside(region, grid.points[..., 0] if grid.ndim == 1 else grid.points, grid.ndim)


def inside(region: Region, x: np.ndarray, d: int) -> np.ndarray:
    """Which places `x`, written as users do, lie in a region."""
    shape = x.shape if d == 1 else x.shape[:-1]
    try:
        return np.broadcast_to(np.asarray(region(x), dtype=bool), shape)
    except ValueError as error:
        hint = "" if d == 1 else f"; coordinates arrive as (..., {d}), so pick one with x[..., 0]"
        raise DataError(f"a region must map places to one true or false each{hint}: {error}.") from None
