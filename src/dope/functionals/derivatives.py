"""Functionals of the field's derivative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, Grid
from dope.functionals.base import Functional, Region
from dope.functionals.integral import coordinates, indicator


class Flux(Functional):
    """The mean flux density `-k(x) du/dx_axis` through a region or, with `boundary`, across a face of the domain.

    Parameters
    ----------
    axis : the direction of the flux.
    region : a numpy function of the coordinates; the mean is taken over the nodes where it is true.
    boundary : "lower" or "upper": the outward flux across that face of `axis`, averaged over the face.
    conductivity : `k`, a number or a torch function of the coordinates.

    Derivatives are second-order differences on the grid (first-order one-sided at a boundary face). A
    derivative at a face amplifies the operator's error by one over the cell: prefer a region where there is a choice.
    """

    def __init__(
        self,
        axis: int = 0,
        *,
        region: Region | None = None,
        boundary: str | None = None,
        conductivity: float | Callable[[Tensor], Tensor] = 1.0,
        name: str | None = None,
    ) -> None:
        if boundary not in (None, "lower", "upper"):
            raise DataError(f"boundary must be 'lower' or 'upper', got {boundary!r}.")
        if boundary is not None and region is not None:
            raise DataError("Flux takes a region or a boundary, not both.")
        self.axis, self.region, self.boundary, self.conductivity = axis, region, boundary, conductivity
        where = f" {boundary} face" if boundary else ""
        self.name, self.units = name or f"flux along axis {axis}{where}", "u/x"

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        if not 0 <= self.axis < grid.ndim:
            raise DataError(f"{self.name!r}: axis {self.axis} does not exist on a grid of {grid.ndim} dimension(s).")
        k = self.conductivity(coordinates(grid, u)) if callable(self.conductivity) else self.conductivity
        density = -k * _derivative(u, grid, self.axis)
        if self.boundary is not None:
            if grid.axes[self.axis].kind == "periodic":
                raise DataError(f"{self.name!r}: axis {self.axis} is periodic and has no faces: take a region instead.")
            face = np.zeros(grid.shape, dtype=bool)
            np.moveaxis(face, self.axis, 0)[0 if self.boundary == "lower" else -1] = True
            grid = grid.restricted(face)
            density = density if self.boundary == "upper" else -density
        elif self.region is not None:
            grid = grid.restricted(indicator(self.region, grid))
        return grid.mean(density)


def _derivative(u: Tensor, grid: Grid, axis: int) -> Tensor:
    line = grid.axes[axis]
    dim = u.dim() - grid.ndim + axis
    if line.kind == "periodic":
        step = (line.upper - line.lower) / len(line.nodes)
        return (torch.roll(u, -1, dim) - torch.roll(u, 1, dim)) / (2 * step)
    nodes = torch.as_tensor(line.nodes, dtype=u.dtype, device=u.device)
    return torch.gradient(u, spacing=(nodes,), dim=dim)[0]
