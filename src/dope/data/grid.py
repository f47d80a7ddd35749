"""Grids: where fields live, and the quadrature weights that turn them into integrals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dope.data.errors import DataError
from dope.data.stencil import Stencil

Field = TypeVar("Field", np.ndarray, Tensor)

# A point closer to a node than this share of a cell is taken to lie on it.
_SNAP = 1e-7


@dataclass(frozen=True, eq=False)
class Axis:
    """One coordinate direction: increasing `nodes` on `[lower, upper]` and weights that sum to one."""

    kind: str
    nodes: np.ndarray
    weights: np.ndarray
    lower: float
    upper: float

    @property
    def uniform(self) -> bool:
        return self.kind != "nodes"

    def locate(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The two nodes around each coordinate and the share of the right one."""
        size = len(self.nodes)
        if self.kind == "periodic":
            step = (self.upper - self.lower) / size
            place = (x - self.lower) / step
            left = np.floor(place).astype(np.int64)
            share = place - left
            left, right = left % size, (left + 1) % size
        else:
            left = np.clip(np.searchsorted(self.nodes, x, side="right") - 1, 0, size - 2)
            right = left + 1
            share = (x - self.nodes[left]) / (self.nodes[right] - self.nodes[left])
        # snapped to nodes, and for cells constant between the border and the outermost centre
        share = np.where(share < _SNAP, 0.0, np.where(share > 1 - _SNAP, 1.0, share))
        return left, right, share


def _interval(lower: float, upper: float, size: int) -> tuple[float, float, int]:
    try:
        ordered = math.isfinite(lower) and math.isfinite(upper) and lower < upper
    except TypeError:
        ordered = False
    if not ordered:
        raise DataError(f"a grid needs finite lower < upper, got [{lower}, {upper}]: swap or correct the ends.")
    if size != size or size < 2 or int(size) != size:
        raise DataError(f"a grid needs a whole number of at least 2 points, got {size!r}: pass how many nodes it has.")
    return float(lower), float(upper), int(size)


@dataclass(frozen=True, eq=False)
class Grid:
    """Points of a bounded domain with quadrature weights that sum to one.

    The weights define the reference measure, under which every functional and every Riesz representer is
    taken; `measure` is the length, area or volume that turns a mean into an integral in physical units.
    """

    axes: tuple[Axis, ...]
    weights: np.ndarray = field(repr=False)
    measure: float

    # ---- construction ---------------------------------------------------------------------------------
    @staticmethod
    def uniform(lower: float, upper: float, size: int) -> Grid:
        """Equally spaced points with both ends, trapezoid weights."""
        lower, upper, size = _interval(lower, upper, size)
        weights = np.full(size, 1.0 / (size - 1))
        weights[[0, -1]] /= 2
        return Grid._of(Axis("uniform", np.linspace(lower, upper, size), weights, lower, upper))

    @staticmethod
    def periodic(lower: float, upper: float, size: int) -> Grid:
        """Equally spaced points without the right end, equal weights."""
        lower, upper, size = _interval(lower, upper, size)
        nodes = lower + (upper - lower) * np.arange(size) / size
        return Grid._of(Axis("periodic", nodes, np.full(size, 1.0 / size), lower, upper))

    @staticmethod
    def cells(lower: float, upper: float, size: int) -> Grid:
        """Centres of equal cells, equal weights."""
        lower, upper, size = _interval(lower, upper, size)
        nodes = lower + (upper - lower) * (np.arange(size) + 0.5) / size
        return Grid._of(Axis("cells", nodes, np.full(size, 1.0 / size), lower, upper))

    @staticmethod
    def nodes(points: ArrayLike, weights: ArrayLike | None = None) -> Grid:
        """Any increasing 1-D points; trapezoid weights unless given."""
        try:
            x = np.array(points, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"Grid.nodes: points must be numbers, got: {error}.") from None
        if x.ndim != 1 or len(x) < 2:
            raise DataError(f"Grid.nodes needs a 1-D array of at least 2 points, got shape {x.shape}.")
        if not np.isfinite(x).all():
            raise DataError(f"Grid.nodes: point {int(np.argmax(~np.isfinite(x)))} is not finite: remove it.")
        steps = np.diff(x)
        if (steps <= 0).any():
            at = int(np.argmax(steps <= 0)) + 1
            raise DataError(
                f"Grid.nodes: points must increase, but point {at} ({x[at]:g}) does not exceed point {at - 1} "
                f"({x[at - 1]:g}): sort the points and drop duplicates."
            )
        if weights is None:
            w = np.zeros_like(x)
            w[:-1] += steps / 2
            w[1:] += steps / 2
        else:
            w = np.asarray(weights, dtype=np.float64)
            if w.shape != x.shape:
                raise DataError(f"Grid.nodes: {len(x)} points but weights of shape {w.shape}.")
            if not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
                raise DataError("Grid.nodes: weights must be finite, not negative and not all zero.")
        return Grid._of(Axis("nodes", x, w / w.sum(), float(x[0]), float(x[-1])))

    @staticmethod
    def product(*grids: Grid) -> Grid:
        """The tensor product of grids: 1-D, themselves products, or restricted."""
        for g in grids:
            if not isinstance(g, Grid):
                raise DataError(f"Grid.product takes grids, got {type(g).__name__}: wrap points in Grid.nodes(...).")
        if not grids:
            raise DataError("Grid.product needs at least one grid.")
        axes = tuple(axis for g in grids for axis in g.axes)
        weights = reduce(np.multiply.outer, (g.weights for g in grids))
        return Grid(axes, weights, math.prod(g.measure for g in grids))

    @staticmethod
    def _of(axis: Axis) -> Grid:
        return Grid((axis,), axis.weights, axis.upper - axis.lower)

    # ---- shape ----------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a.nodes) for a in self.axes)

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def points(self) -> np.ndarray:
        """Coordinates of every node, `(*shape, d)`."""
        return np.stack(np.meshgrid(*(a.nodes for a in self.axes), indexing="ij"), axis=-1)

    def __repr__(self) -> str:
        parts = [f"{a.kind}({a.lower:g}, {a.upper:g}, {len(a.nodes)})" for a in self.axes]
        return "Grid." + parts[0] if len(parts) == 1 else f"Grid.product({', '.join(parts)})"

    def same_as(self, other: Grid) -> bool:
        """Whether two grids have the same nodes and weights."""
        return (
            self.shape == other.shape
            and all(
                a.kind == b.kind and np.array_equal(a.nodes, b.nodes)
                for a, b in zip(self.axes, other.axes, strict=True)
            )
            and np.array_equal(self.weights, other.weights)
        )

    # ---- measure --------------------------------------------------------------------------------------
    def restricted(self, inside: np.ndarray) -> Grid:
        """The same nodes under the reference measure conditioned on the nodes that are `inside`."""
        mass = float((self.weights * inside).sum())
        if mass <= 0:
            raise DataError("the region holds no grid node of positive weight: widen it or refine the grid.")
        return replace(self, weights=self.weights * inside / mass, measure=self.measure * mass)

    def mean(self, values: Field) -> Field:
        """The integral of fields `(..., *shape)`, arrays or tensors, under the normalised reference measure."""
        weights = self.weights
        if isinstance(values, Tensor):
            weights = torch.as_tensor(weights, dtype=values.dtype, device=values.device)
        return (values * weights).sum(tuple(range(-self.ndim, 0)))

    # ---- points ---------------------------------------------------------------------------------------
    def contains(self, points: np.ndarray) -> np.ndarray:
        """Which of `points` (..., d) lie in the domain."""
        lower = np.array([a.lower for a in self.axes])
        upper = np.array([a.upper for a in self.axes])
        slack = 1e-9 * (upper - lower)
        return ((points >= lower - slack) & (points <= upper + slack)).all(-1)

    def locate(self, points: np.ndarray) -> Stencil:
        """The interpolation stencil of `points` (..., d), with as few corners as the points need."""
        index = np.zeros((*points.shape[:-1], 1), dtype=np.int64)
        weight = np.ones((*points.shape[:-1], 1))
        for k, axis in enumerate(self.axes):
            left, right, share = axis.locate(points[..., k])
            ends = np.stack([left, right], axis=-1)
            shares = np.stack([1 - share, share], axis=-1)
            index = (index[..., :, None] * len(axis.nodes) + ends[..., None, :]).reshape(*points.shape[:-1], -1)
            weight = (weight[..., :, None] * shares[..., None, :]).reshape(*points.shape[:-1], -1)
        # heaviest corner first, then drop the corners that no point uses
        order = np.argsort(-weight, axis=-1, kind="stable")
        index = np.take_along_axis(index, order, -1)
        weight = np.take_along_axis(weight, order, -1)
        used = int((weight > 0).sum(-1).max(initial=1))
        return Stencil(np.ascontiguousarray(index[..., :used]), np.ascontiguousarray(weight[..., :used]))
