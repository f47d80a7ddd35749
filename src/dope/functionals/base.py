"""The abstract functional: a scalar summary of a field, with its derivative."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, Grid

if TYPE_CHECKING:
    Region = Callable[[np.ndarray], np.ndarray]

_FIELDS_AT_ONCE = 4096


class Functional(ABC):
    """A differentiable map from a field on a grid to one number.

    `name` appears in reports; `units` says how the value is measured, with `u` for the field's unit and `x`
    for the coordinate's.
    """

    name: str = "g"
    units: str = "u"

    @abstractmethod
    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        """Values `(...)` of fields `(..., *grid.shape)`."""

    def representer(self, u: Tensor, grid: Grid) -> Tensor:
        """The Riesz representer `w_g(u)` under the grid's measure, `(..., *grid.shape)`.

        On a grid it is the gradient over the quadrature weight, for every differentiable functional. A
        subclass overrides it only by a closed form that is equal.
        """
        weights = torch.as_tensor(grid.weights, dtype=u.dtype, device=u.device)
        gradient = self.gradient(u, grid)
        return torch.where(weights > 0, gradient / weights.clamp_min(torch.finfo(u.dtype).tiny), 0.0)

    def gradient(self, u: Tensor, grid: Grid) -> Tensor:
        """`d g / d u` at every node, without the quadrature weight."""
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(self(u, grid).sum(), u)
        return gradient.detach()

    def within(self, region: Region) -> Functional:
        """This functional under the reference measure conditioned on a region.

        `region` maps coordinates to true or false: an array `(..., )` in 1-D, else `(..., d)`. Means become
        means over the region, integrals become integrals over it.
        """
        from dope.functionals.composite import Within

        return Within(self, region)

    def named(self, name: str) -> Functional:
        """The same functional under another name."""
        from copy import copy

        other = copy(self)
        object.__setattr__(other, "name", name)
        return other

    def __repr__(self) -> str:
        return self.name

    # ---- composition ----------------------------------------------------------------------------------
    def __add__(self, other: Functional | float) -> Functional:
        return _combine("+", self, other)

    def __radd__(self, other: float) -> Functional:
        return _combine("+", other, self)

    def __sub__(self, other: Functional | float) -> Functional:
        return _combine("-", self, other)

    def __rsub__(self, other: float) -> Functional:
        return _combine("-", other, self)

    def __mul__(self, other: Functional | float) -> Functional:
        return _combine("*", self, other)

    def __rmul__(self, other: float) -> Functional:
        return _combine("*", other, self)

    def __truediv__(self, other: Functional | float) -> Functional:
        return _combine("/", self, other)

    def __neg__(self) -> Functional:
        return _combine("*", -1.0, self)


def _combine(sign: str, left: Functional | float, right: Functional | float) -> Functional:
    from dope.functionals.composite import combine

    return combine(sign, left, right)


class _Custom(Functional):
    def __init__(self, f: Callable[[Tensor, Grid], Tensor], name: str, units: str) -> None:
        self._f = f
        self.name = name
        self.units = units

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        flat = u.reshape(-1, *grid.shape)
        one = self._f(flat[0], grid)
        if not isinstance(one, Tensor) or one.dim() != 0:
            got = f"shape {tuple(one.shape)}" if isinstance(one, Tensor) else type(one).__name__
            raise DataError(
                f"functional {self.name!r} must return one number a field (a 0-d tensor), got {got}: reduce over the grid, "
                "e.g. with (weights * phi(u)).sum(), and build it from torch operations."
            )
        try:
            values = torch.vmap(lambda v: self._f(v, grid))(flat)
        except RuntimeError:  # data-dependent control flow cannot be batched; one field at a time can
            values = torch.stack([self._f(v, grid) for v in flat])
        return values.reshape(u.shape[: u.dim() - grid.ndim])


def functional(f: Callable[[Tensor, Grid], Tensor], *, name: str | None = None, units: str = "u") -> Functional:
    """A functional from any differentiable torch function of one field on the grid.

    `f(u, grid)` receives a tensor of shape `grid.shape` and returns a 0-d tensor. The representer comes from
    automatic differentiation.
    """
    if not callable(f):
        raise DataError(f"dope.functional needs a function of (u, grid), got {type(f).__name__}.")
    label = name or getattr(f, "__name__", "g")
    return _Custom(f, "g" if label == "<lambda>" else label, units)


def evaluate(g: Functional, fields: np.ndarray, grid: Grid) -> np.ndarray:
    """Values of `g` at fields `(n, *grid)`, in float64 and in pieces that fit any memory; checked."""
    if not isinstance(g, Functional):
        raise DataError(
            f"expected a dope functional, got {type(g).__name__}: wrap a function of (u, grid) in dope.functional(...)."
        )
    out = np.empty(len(fields))
    for start in range(0, len(fields), _FIELDS_AT_ONCE):
        part = torch.as_tensor(np.ascontiguousarray(fields[start : start + _FIELDS_AT_ONCE]), dtype=torch.float64)
        with torch.no_grad():
            values = g(part, grid)
        if not isinstance(values, Tensor) or values.shape != part.shape[:1]:
            got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
            raise DataError(f"functional {g.name!r} must return one number a field, got {got} for {len(part)} fields.")
        out[start : start + len(part)] = values.numpy()
    bad = ~np.isfinite(out)
    if bad.any():
        raise DataError(
            f"functional {g.name!r} is not finite for {int(bad.sum())} of {len(out)} fields (first at position "
            f"{int(np.argmax(bad))}): check its parameters against the range of the field "
            f"[{np.min(fields):g}, {np.max(fields):g}]."
        )
    return out


def representers(g: Functional, fields: np.ndarray, grid: Grid) -> np.ndarray:
    """Riesz representers of `g` at fields `(n, *grid)`, in float64."""
    out = np.empty(fields.shape)
    for start in range(0, len(fields), _FIELDS_AT_ONCE):
        part = torch.as_tensor(np.ascontiguousarray(fields[start : start + _FIELDS_AT_ONCE]), dtype=torch.float64)
        out[start : start + len(part)] = g.representer(part, grid).detach().numpy()
    return out
