"""Input functions with sparse, irregular, noisy point values of their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

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
        bad = ~np.isfinite(a).reshape(n, -1).all(1)
        if bad.any():
            i = int(np.argmax(bad))
            channel, *node = (int(w) for w in np.argwhere(~np.isfinite(a[i]))[0])
            raise DataError(
                f"inputs of unit {names[i]}: channel {channel} is not finite at node {tuple(node)} "
                f"({int(bad.sum())} unit(s) affected): fill or remove before fitting."
            )
        x, y = _observations(points, values, n, grid, names)
        if design is not None and not isinstance(design, Design):
            design = Design(probability=np.asarray(design, dtype=np.float64))
        if design is not None and design.array.shape != (n, *grid.shape):
            raise DataError(
                f"design has shape {design.array.shape}, expected (n, *grid) = {(n, *grid.shape)}: one row of "
                "probabilities over the nodes for each unit."
            )
        self._set(a, x, y, grid, _labels(groups, n, "groups"), design, names)

    # ---- from and to files ----------------------------------------------------------------------------
    @classmethod
    def from_frame(
        cls, observations: Any, inputs: Any = None, grid: Grid | None = None, **options: Any
    ) -> OperatorData:
        """Read a long table, one row an observation or a dose: a pandas frame, any frame that speaks the dataframe
        interchange protocol, or the path of a CSV, Parquet or SAS transport file.

        Doses and covariates of the table become the inputs unless `inputs` are given. The names of NONMEM, of CDISC
        and of glucose sensors are understood; `dope.data.read_table` takes the same options and also says what was
        read.
        """
        from dope.data.tables import read_table

        return read_table(observations, inputs=inputs, grid=grid, **options)[0]

    @classmethod
    def from_xarray(cls, ds: Any, **options: Any) -> OperatorData:
        """Read an xarray Dataset, or the path of a NetCDF or Zarr store; see `dope.data.read_xarray`."""
        from dope.data.xarray_io import read_xarray

        return read_xarray(ds, **options)[0]

    @classmethod
    def open(cls, path: str | Path) -> OperatorData:
        """What `save` wrote. From HDF5, inputs stay on disk and are read where they are used."""
        from dope.data.study_file import read

        return cls._unchecked(*read(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write everything to one file, `.h5` (HDF5) or `.npz`."""
        from dope.data.study_file import write

        write(self, Path(path))

    @classmethod
    def _unchecked(cls, *parts: object) -> OperatorData:
        """Of fields that are known to be valid."""
        out = object.__new__(cls)
        out._set(*parts)
        return out

    def _set(self, *parts: object) -> None:
        """Write the fields, in their order."""
        for part, value in zip(fields(self), parts, strict=True):
            object.__setattr__(self, part.name, value)

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
        """The units at these positions (or of a mask), in this order; each at most once."""
        units = np.arange(len(self))[np.asarray(units)].reshape(-1)
        if len(units) == 0 or len(np.unique(units)) < len(units):
            raise DataError("take needs at least one unit, and each unit once: a unit counted twice is not two units.")
        # Parts of valid data are valid, but may hold no observation at all: that is why nothing is checked again.
        part = object.__new__(OperatorData)
        part._set(
            self.inputs[units],
            self.points[units],
            self.values[units],
            self.grid,
            None if self.groups is None else self.groups[units],
            None if self.design is None else self.design.take(units),
            self.ids[units],
        )
        return part


def side_by_side(parts: Sequence[OperatorData]) -> OperatorData:
    """The units of several data on one grid, one after another, under new ids and without groups or designs."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.values.shape[1] for part in parts)

    def padded(array: np.ndarray) -> np.ndarray:
        return np.pad(
            array, ((0, 0), (0, width - array.shape[1]), *((0, 0),) * (array.ndim - 2)), constant_values=np.nan
        )

    out = object.__new__(OperatorData)
    inputs = np.concatenate([part.inputs for part in parts])
    points = np.concatenate([padded(part.points) for part in parts])
    values = np.concatenate([padded(part.values) for part in parts])
    out._set(inputs, points, values, parts[0].grid, None, None, np.arange(len(inputs)))
    return out


def _inputs(inputs: ArrayLike, grid: Grid) -> np.ndarray:
    expected = f"(n, C, {', '.join(map(str, grid.shape))})"
    try:
        a = np.asarray(inputs)
        if a.dtype.kind not in "iuf":
            raise ValueError(f"dtype {a.dtype}")
    except (ValueError, TypeError, RuntimeError) as error:  # ragged lists; tensors on a device or with a graph
        raise DataError(f"inputs must be real numbers in one array of shape {expected}, got: {error}.") from None
    a = a.astype(np.float32)
    if a.ndim == 1 + grid.ndim:
        a = a[:, None]
    if a.ndim != 2 + grid.ndim or a.shape[2:] != grid.shape:
        raise DataError(
            f"inputs have shape {np.shape(inputs)}, but the grid needs {expected}: every input channel is a function "
            "on the grid; repeat constants over it, and move channels to the second axis."
        )
    if len(a) == 0 or a.shape[1] == 0:
        raise DataError(f"inputs have shape {np.shape(inputs)}: at least one unit and one channel are needed.")
    return a


def _ids(ids: ArrayLike | None, n: int) -> np.ndarray:
    names = _labels(ids, n, "ids")
    if names is None:
        return np.arange(n)
    first: dict = {}
    for i, name in enumerate(names.tolist()):
        if first.setdefault(name, i) != i:
            raise DataError(
                f"ids must be unique, but {name!r} names the units at positions {first[name]} and {i}: merge the rows "
                "of one unit, or pass repeated subjects as groups=."
            )
    return names


def _labels(labels: ArrayLike | None, n: int, what: str) -> np.ndarray | None:
    if labels is None:
        return None
    from pandas import isna  # here, because importing pandas takes longer than the rest of the room

    out = np.array(labels)
    if out.shape != (n,):
        raise DataError(f"{what} has shape {out.shape}, expected ({n},): one label a unit.")
    missing = np.flatnonzero(isna(out))
    if len(missing):
        raise DataError(
            f"{what}: the unit at position {missing[0]} has no label ({len(missing)} missing): give it one, or drop "
            "the unit."
        )
    return out


def _observations(points, values, n: int, grid: Grid, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = grid.ndim
    x, given = _padded(points, n, d, "points", names)
    y, wanted = _padded(values, n, 0, "values", names)
    if given is not None and wanted is not None and (given != wanted).any():
        i = int(np.argmax(given != wanted))
        raise DataError(
            f"unit {names[i]} has {given[i]} point(s) but {wanted[i]} value(s): every value needs its point; use NaN "
            "for a value that was not observed."
        )
    if x.shape[:2] != y.shape:
        raise DataError(
            f"points {x.shape[:2]} and values {y.shape} differ in (n, K): every value needs its point; pad both with "
            "NaN to the same K."
        )
    if np.isinf(y).any():
        i, k = np.argwhere(np.isinf(y))[0]
        raise DataError(f"unit {names[i]}: value {k} is infinite: correct it, or use NaN if it was not observed.")
    seen = np.isfinite(y)
    lost = seen & ~np.isfinite(x).all(-1)
    if lost.any():
        i, k = np.argwhere(lost)[0]
        raise DataError(
            f"unit {names[i]}: value {k} ({y[i, k]:g}) has a point that is not finite ({int(lost.sum())} such): give "
            "its coordinates, or set the value to NaN."
        )
    outside = seen & ~grid.contains(x)
    if outside.any():
        i, k = np.argwhere(outside)[0]
        domain = " x ".join(f"[{a.lower:g}, {a.upper:g}]" for a in grid.axes)
        at = ", ".join(f"{v:g}" for v in x[i, k])
        raise DataError(
            f"unit {names[i]}: point {k} at ({at}) lies outside the domain {domain} ({int(outside.sum())} point(s) in "
            "all): widen the grid or drop these observations."
        )
    if not seen.any():
        raise DataError("no unit has an observation, so nothing can be learned or corrected: values holds no number.")
    lower = np.array([a.lower for a in grid.axes])
    upper = np.array([a.upper for a in grid.axes])
    x = np.where(seen[..., None], np.clip(x, lower, upper), np.nan)
    return x, y


def _padded(rows, n: int, d: int, what: str, names: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """`(n, K)` for d = 0, else `(n, K, d)`, and how many entries each unit has where that was given by lists."""
    if not hasattr(rows, "__len__") or len(rows) != n:
        held = f"{len(rows)} units" if hasattr(rows, "__len__") else type(rows).__name__
        raise DataError(f"{what} hold {held}, inputs hold {n} units: give one row a unit, empty or NaN for none.")
    width = max(d, 1)
    out = np.asarray(rows) if hasattr(rows, "__array__") else None
    if out is None or out.dtype.kind not in "iuf":
        parts = [_part(row, width, what, name) for row, name in zip(rows if out is None else out, names, strict=True)]
        lengths = np.array([len(part) for part in parts])
        out = np.full((n, lengths.max(), width), np.nan)
        for i, part in enumerate(parts):
            out[i, : len(part)] = part
        return (out if d else out[..., 0]), lengths
    out = out.astype(np.float64)
    if d == 1 and out.ndim == 2:
        out = out[..., None]
    if out.ndim != (3 if d else 2) or (d and out.shape[2] != d):
        expected = "(n, K)" if d <= 1 else f"(n, K, {d})"
        raise DataError(f"{what} have shape {np.shape(rows)}, expected {expected}: one row a unit, padded with NaN.")
    return out, None


def _part(row, width: int, what: str, name: object) -> np.ndarray:
    """The entries of one unit, `(K_i, width)`."""
    try:
        part = np.asarray(row, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(f"{what} of unit {name} are not numbers: {error}.") from None
    if part.size == 0:
        return np.empty((0, width))
    if width == 1 and part.ndim == 1:
        part = part[:, None]
    if part.ndim != 2 or part.shape[1] != width:
        expected = "(K_i,)" if width == 1 else f"(K_i, {width})"
        raise DataError(
            f"{what} of unit {name} have shape {np.shape(row)}, expected {expected}: one entry an observation."
        )
    return part
