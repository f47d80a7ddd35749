"""The abstract functional: a scalar summary of a field, with its derivative."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, Grid

Region = Callable[[np.ndarray], np.ndarray]

# Values of fields that are worked on at once: 128 MB in float64.
_VALUES_AT_ONCE = 2**24


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
        gradient = self.gradient(u, grid)
        weights = torch.as_tensor(grid.weights, dtype=u.dtype, device=u.device)
        massless = weights <= 0
        if massless.any() and gradient[..., massless].any():
            raise DataError(
                f"functional {self.name!r} depends on the field at nodes without quadrature weight, so its derivative "
                "is no integral over the domain: give these nodes weight, or integrate with grid.mean."
            )
        return torch.where(massless, 0.0, gradient / weights)

    def check(self, u: Tensor, grid: Grid) -> None:  # noqa: B027
        """Raise where the functional, at fields `(n, *grid)`, is not what its kind promises."""

    def gradient(self, u: Tensor, grid: Grid) -> Tensor:
        """`d g / d u` at every node, without the quadrature weight."""
        u = u.detach().requires_grad_()
        with torch.enable_grad():
            values = self(u, grid)
            if not values.requires_grad:
                raise NotDifferentiable(self)
            (gradient,) = torch.autograd.grad(values.sum(), u)
        return gradient.detach()

    @property
    def confined_to(self) -> Region | None:
        """Where it looks, if `within` confined it; None for the whole domain."""
        return None

    def within(self, region: Region) -> Functional:
        """This functional under the reference measure conditioned on a region.

        `region` is a numpy function from coordinates, `(...)` in 1-D and `(..., d)` else, to true or false. Means
        become means over the region, integrals become integrals over it.
        """
        from dope.functionals.composite import restrict  # there, functionals are already defined

        return restrict(self, region)

    def named(self, name: str) -> Functional:
        """The same functional under another name."""
        if name == self.name:
            return self
        other = copy(self)
        other.name = name
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

    def __rtruediv__(self, other: float) -> Functional:
        return _combine("/", other, self)

    def __neg__(self) -> Functional:
        return _combine("*", -1.0, self)


class NotDifferentiable(DataError):
    """A functional whose value does not follow the field smoothly: there is nothing to correct along."""

    def __init__(self, g: Functional) -> None:
        super().__init__(
            f"functional {g.name!r} has no derivative with respect to the field: build it from torch operations of u, "
            "without detach(), numpy() or a comparison (dope.TimeAbove and dope.SoftMax smooth the usual ones)."
        )


def positive(value: float, what: str) -> float:
    """`value` as a float, if it is a positive number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise DataError(f"{what} must be positive, got {value}.")
    return number


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
                f"functional {self.name!r} must return one number a field (a 0-d tensor), got {got}: reduce over the "
                "grid with torch operations, e.g. grid.mean(u ** 2); several summaries are several functionals."
            )
        try:
            values = torch.vmap(lambda v: self._f(v, grid))(flat)
        except RuntimeError:  # data-dependent control flow cannot be batched; one field at a time can
            values = torch.stack([self._f(v, grid) for v in flat])
        return values.reshape(u.shape[: u.dim() - grid.ndim])


def functional(f: Callable[[Tensor, Grid], Tensor], *, name: str | None = None, units: str = "u") -> Functional:
    """A functional from any differentiable torch function of one field on the grid.

    `f(u, grid)` receives a tensor of shape `grid.shape` and returns a 0-d tensor, in which integrals are written
    `grid.mean(...)`: then `within(region)` reaches them too. The representer comes from automatic differentiation.
    """
    if not callable(f):
        raise DataError(f"dope.functional needs a function of (u, grid), got {type(f).__name__}.")
    label = name or getattr(f, "__name__", "g")
    return _Custom(f, "g" if label == "<lambda>" else label, units)


def evaluate(g: Functional, fields: np.ndarray, grid: Grid) -> np.ndarray:
    """Values of `g` at fields `(n, *grid)`, in float64 and piece by piece; checked."""
    out = np.empty(len(fields))
    for piece, u in _pieces(g, fields, grid):
        with torch.no_grad():
            if piece.start == 0:
                g.check(u, grid)
            values = g(u, grid)
        if not isinstance(values, Tensor) or values.shape != u.shape[:1]:
            got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
            raise DataError(f"functional {g.name!r} must return one number a field, got {got} for {len(u)} fields.")
        out[piece] = values.numpy()
    return _finite(out, "", g, fields)


def representers(g: Functional, fields: np.ndarray, grid: Grid) -> np.ndarray:
    """Riesz representers of `g` at fields `(n, *grid)`, in float64 and piece by piece; checked."""
    out = np.empty(fields.shape)
    for piece, u in _pieces(g, fields, grid):
        out[piece] = g.representer(u, grid).detach().numpy()
    return _finite(out, "the derivative of ", g, fields)


def not_a_functional(g: object) -> DataError:
    what = f"the class {g.__name__}" if isinstance(g, type) else type(g).__name__
    return DataError(
        f"expected a dope functional, got {what}: wrap a function of (u, grid) in dope.functional(...), or make "
        "one that is there, such as dope.Mean()."
    )


def _pieces(g: Functional, fields: np.ndarray, grid: Grid) -> Iterator[tuple[slice, Tensor]]:
    if not isinstance(g, Functional):
        raise not_a_functional(g)
    if fields.shape[1:] != grid.shape:
        raise DataError(f"fields have shape {fields.shape}, expected (n, *grid) with grid {grid.shape}.")
    step = max(1, _VALUES_AT_ONCE // grid.size)
    for start in range(0, len(fields), step):
        piece = slice(start, start + step)
        yield piece, torch.as_tensor(np.ascontiguousarray(fields[piece]), dtype=torch.float64)


def _finite(out: np.ndarray, what: str, g: Functional, fields: np.ndarray) -> np.ndarray:
    bad = ~np.isfinite(out).reshape(len(out), -1).all(1)
    if bad.any():
        raise DataError(
            f"{what}functional {g.name!r} is not finite for {int(bad.sum())} of {len(out)} fields (first at position "
            f"{int(np.argmax(bad))}): check its parameters against the range of the field "
            f"[{np.min(fields):g}, {np.max(fields):g}]."
        )
    return out
