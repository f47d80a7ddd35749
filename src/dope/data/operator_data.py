"""Input functions with sparse, irregular, noisy point values of their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dope.data.design import Design
from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.stencil import Stencil


@dataclass(frozen=True, eq=False, init=False)
class OperatorData:
    """n units: an input function on the grid and K_i >= 0 noisy values of the solution at points of the domain.

    Parameters
    ----------
    inputs : (n, C, *grid.shape), or (n, *grid.shape) for one channel. No coordinate channels: operators add them.
    points : (n, K) in 1-D or (n, K, d), padded with NaN where units have fewer; or a list of arrays.
        Any coordinate in the domain is allowed, on a node or between nodes.
    values : (n, K), NaN where there is none; or a list of arrays. A NaN value makes its point unobserved.
    groups : (n,) labels of units that are not independent of one another (patients, sites, runs).
    design : `Design`, or its (n, *grid.shape) probabilities, where the law of the points is known.
    ids : (n,) names of units, for messages and tables; 0 ... n-1 unless given.
    """

    inputs: np.ndarray
    points: np.ndarray
    values: np.ndarray
    grid: Grid
    groups: np.ndarray | None
    design: Design | None
    ids: np.ndarray

    def __init__(
        self,
        inputs: ArrayLike,
        points: ArrayLike | Sequence[ArrayLike],
        values: ArrayLike | Sequence[ArrayLike],
        *,
        grid: Grid,
        groups: ArrayLike | None = None,
        design: Design | ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> None:
        if not isinstance(grid, Grid):
            raise DataError(f"grid must be a dope.Grid, got {type(grid).__name__}: e.g. dope.Grid.uniform(0, 24, 128).")
        a = _inputs(inputs, grid)
        n = len(a)
        names = _ids(ids, n)
        a_bad = ~np.isfinite(a).reshape(n, -1).all(1)
        if a_bad.any():
            i = int(np.argmax(a_bad))
            where = np.argwhere(~np.isfinite(a[i]))[0]
            raise DataError(
                f"inputs of unit {names[i]!r}: channel {where[0]} is not finite at node {tuple(int(w) for w in where[1:])} "
                f"({int(a_bad.sum())} unit(s) affected): fill or remove before fitting."
            )
        x, y = _observations(points, values, n, grid, names)
        set_ = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        set_("inputs", a)
        set_("points", x)
        set_("values", y)
        set_("grid", grid)
        set_("groups", _labels(groups, n, "groups"))
        set_("ids", names)
        if design is not None and not isinstance(design, Design):
            design = Design(probability=np.asarray(design, dtype=np.float64))
        set_("design", design)
        if design is not None and design.array.shape != (n, *grid.shape):
            raise DataError(f"design has shape {design.array.shape}, expected (n, *grid) = {(n, *grid.shape)}.")

    # ---- derived --------------------------------------------------------------------------------------
    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        k = self.counts
        groups = "" if self.groups is None else f", {len(np.unique(self.groups))} groups"
        return (
            f"OperatorData({len(self)} units, {self.channels} input channel(s) on {self.grid!r}, "
            f"{int(k.sum())} observations, {int(k.min())}-{int(k.max())} a unit{groups})"
        )

    @property
    def channels(self) -> int:
        return self.inputs.shape[1]

    @cached_property
    def observed(self) -> np.ndarray:
        """(n, K): which entries hold an observation."""
        return np.isfinite(self.values)

    @cached_property
    def counts(self) -> np.ndarray:
        """(n,): K_i."""
        return self.observed.sum(1)

    @cached_property
    def stencil(self) -> Stencil:
        """Interpolation from the grid to the points; padding has weight zero."""
        safe = np.where(self.observed[..., None], self.points, self.grid.points.reshape(-1, self.grid.ndim)[0])
        stencil = self.grid.locate(safe)
        return Stencil(stencil.index, stencil.weight * self.observed[..., None])

    def take(self, units: ArrayLike) -> OperatorData:
        """The units at these positions, in this order."""
        units = np.asarray(units)
        return OperatorData(
            self.inputs[units],
            self.points[units],
            self.values[units],
            grid=self.grid,
            groups=None if self.groups is None else self.groups[units],
            design=None if self.design is None else self.design.take(units),
            ids=self.ids[units],
        )


def _inputs(inputs: ArrayLike, grid: Grid) -> np.ndarray:
    a = np.asarray(inputs)
    if a.dtype == object or not np.issubdtype(a.dtype, np.number):
        raise DataError(f"inputs must be numbers of one shape (n, C, *grid.shape), got dtype {a.dtype}.")
    a = a.astype(np.float32)
    expected = f"(n, C, {', '.join(map(str, grid.shape))})"
    if a.ndim == 1 + grid.ndim:
        a = a[:, None]
    if a.ndim != 2 + grid.ndim or a.shape[2:] != grid.shape:
        raise DataError(
            f"inputs have shape {np.shape(inputs)}, but the grid needs {expected}: every input channel is a function on the "
            "grid; repeat constants over it, and move channels to the second axis."
        )
    if len(a) == 0 or a.shape[1] == 0:
        raise DataError(f"inputs have shape {np.shape(inputs)}: at least one unit and one channel are needed.")
    return a


def _ids(ids: ArrayLike | None, n: int) -> np.ndarray:
    if ids is None:
        return np.arange(n)
    names = _labels(ids, n, "ids")
    assert names is not None
    unique, first, count = np.unique(names, return_index=True, return_counts=True)
    if len(unique) < n:
        twice = unique[count > 1][0]
        at = np.flatnonzero(names == twice)[:2]
        raise DataError(
            f"ids must be unique, but {twice!r} names units {at[0]} and {at[1]} ({int((count > 1).sum())} name(s) repeated): "
            "merge the rows of one unit, or pass repeated subjects as groups=."
        )
    return names


def _labels(labels: ArrayLike | None, n: int, what: str) -> np.ndarray | None:
    if labels is None:
        return None
    out = np.asarray(labels)
    if out.shape != (n,):
        raise DataError(f"{what} has shape {out.shape}, expected ({n},): one label a unit.")
    missing = out != out if out.dtype.kind == "f" else np.array([v is None for v in out])
    if missing.any():
        raise DataError(f"{what}: unit at position {int(np.argmax(missing))} has no label.")
    return out


def _observations(points, values, n: int, grid: Grid, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = grid.ndim
    x, y = _padded(points, n, d, "points", names), _padded(values, n, 0, "values", names)
    if x.shape[:2] != y.shape:
        raise DataError(f"points {x.shape[:2]} and values {y.shape} differ in (n, K): every value needs its point.")
    if np.isinf(y).any():
        i, k = np.argwhere(np.isinf(y))[0]
        raise DataError(f"unit {names[i]!r}: value {k} is infinite: correct it, or use NaN if it was not observed.")
    seen = np.isfinite(y)
    lost = seen & ~np.isfinite(x).all(-1)
    if lost.any():
        i, k = np.argwhere(lost)[0]
        raise DataError(
            f"unit {names[i]!r}: value {k} ({y[i, k]:g}) has a point that is not finite ({int(lost.sum())} such): give its "
            "coordinates, or set the value to NaN."
        )
    with np.errstate(invalid="ignore"):
        outside = seen & ~grid.contains(x)
    if outside.any():
        i, k = np.argwhere(outside)[0]
        domain = " x ".join(f"[{a.lower:g}, {a.upper:g}]" for a in grid.axes)
        at = ", ".join(f"{v:g}" for v in x[i, k])
        raise DataError(
            f"unit {names[i]!r}: point {k} at ({at}) lies outside the domain {domain} ({int(outside.sum())} point(s) in all): "
            "widen the grid or drop these observations."
        )
    if not seen.any():
        raise DataError("no unit has an observation: nothing can be learned or corrected.")
    lower = np.array([a.lower for a in grid.axes])
    upper = np.array([a.upper for a in grid.axes])
    x = np.where(seen[..., None], np.clip(x, lower, upper), np.nan)
    return x, y


def _padded(rows, n: int, d: int, what: str, names: np.ndarray) -> np.ndarray:
    """`(n, K)` for d = 0, else `(n, K, d)`, from an array or from one array a unit."""
    if len(rows) != n:
        raise DataError(f"{what} hold {len(rows)} units, inputs hold {n}.")
    try:
        out = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError):
        out = None
    if out is None:
        parts = []
        for i, row in enumerate(rows):
            try:
                part = np.asarray(row, dtype=np.float64)
            except (ValueError, TypeError) as error:
                raise DataError(f"{what} of unit {names[i]!r} are not numbers: {error}.") from None
            part = part.reshape(len(part), -1) if d else part.reshape(-1, 1)
            if part.size and part.shape[1] != max(d, 1):
                raise DataError(f"{what} of unit {names[i]!r} have {part.shape[1]} coordinates, the grid has {d}.")
            parts.append(part.reshape(-1, max(d, 1)))
        longest = max(len(p) for p in parts)
        out = np.full((n, longest, max(d, 1)), np.nan)
        for i, part in enumerate(parts):
            out[i, : len(part)] = part
        return out if d else out[..., 0]
    if d == 1 and out.ndim == 2:
        out = out[..., None]
    if out.ndim != (3 if d else 2) or (d and out.shape[2] != d):
        expected = "(n, K)" if d <= 1 else f"(n, K, {d})"
        raise DataError(f"{what} have shape {np.shape(rows)}, expected {expected}.")
    return out
