"""Inputs that come beside the observations: arrays, constants of units, or functions in a long table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.tables.names import assign, exactly, require
from dope.data.tables.source import load
from dope.data.tables.table import Table


def is_table(inputs: Any) -> bool:
    """Whether inputs are a table (a frame, or a path to one) rather than an array."""
    if isinstance(inputs, (str, Path)):
        return Path(inputs).suffix.lower() != ".npy"
    return hasattr(inputs, "__dataframe__") or hasattr(inputs, "iloc")


def from_array(inputs: Any, units: Sequence[object], grid: Grid) -> tuple[np.ndarray, tuple[str, ...]]:
    """Rows of an array, in the order in which units first appear; or an array for every id."""
    if isinstance(inputs, (str, Path)):
        inputs = np.load(inputs, mmap_mode="r", allow_pickle=False)
    if isinstance(inputs, Mapping):
        names = {str(k): k for k in inputs}
        absent = [u for u in units if str(u) not in names]
        if absent:
            raise DataError(f"inputs has no entry for {absent[0]!r} ({len(absent)} such): give one for every unit.")
        inputs = np.stack([np.asarray(inputs[names[str(u)]]) for u in units])
    array = inputs if hasattr(inputs, "shape") else np.asarray(inputs)
    if len(array) != len(units):
        raise DataError(
            f"inputs hold {len(array)} units, the observations {len(units)}: rows stand in the order in which units "
            "first appear, or pass a mapping from id to array."
        )
    channels = 1 if len(array.shape) == 1 + grid.ndim else array.shape[1]
    return array, tuple(f"input {c}" for c in range(channels))


def from_table(
    source: Any, id_: str | None, time: Sequence[str], grid: Grid, encoding: str
) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """`(inputs, channels, ids)`: constants of units where the table has no coordinates, else functions."""
    source = source.reset_index() if hasattr(source, "index") and source.index.name is not None else source
    table = load(source, encoding)
    name = exactly(id_, table.names, table.source) if id_ in table.names else None
    name = name or require(assign(table.names, {}, table.source), "id", "the units", table.source, table.header)
    labels = table.text(name)
    places = [n for n in table.names if n in time]
    if not places and grid.ndim == 1:
        found = assign([n for n in table.names if n != name], {"value": None, "dose": None}, table.source).get("time")
        places = [found] if found else []
    channels = [n for n in table.names if n != name and n not in places]
    if not channels:
        raise DataError(f"{table.source}: there is no column beside {name}: inputs need at least one.")
    import pandas as pd

    unit, ids = pd.factorize(labels)
    columns = np.stack([table.numbers(c) for c in channels])
    gaps = ~np.isfinite(columns)
    if gaps.any():
        c = int(np.argmax(gaps.any(1)))
        raise table.error(gaps[c], f"{channels[c]} is missing: an input must be known everywhere.")
    if not places:
        again = pd.Series(labels).duplicated().to_numpy()
        if again.any():
            raise table.error(
                again,
                f"unit {labels[np.argmax(again)]!r} has a second row: constants of units have one row each, functions "
                f"a column of coordinates ({', '.join(time)}).",
            )
        flat = columns.T.reshape(len(ids), len(channels), *[1] * grid.ndim)
        return np.broadcast_to(flat, (len(ids), len(channels), *grid.shape)), tuple(channels), np.asarray(ids)
    at = np.stack([table.numbers(p) for p in places], axis=-1)
    out = np.empty((len(ids), len(channels), *grid.shape))
    order = np.argsort(unit, kind="stable")
    ends = np.searchsorted(unit[order], np.arange(len(ids) + 1))
    for i in range(len(ids)):
        rows = order[ends[i] : ends[i + 1]]
        out[i] = _on_grid(table, rows, at[rows], columns[:, rows], grid, ids[i])
    return out, tuple(channels), np.asarray(ids)


def _on_grid(table: Table, rows: np.ndarray, at: np.ndarray, values: np.ndarray, grid: Grid, label: object):
    """Functions given at places, on the grid: linear between them in one dimension, node by node in more."""
    if at.shape[1] != grid.ndim:
        raise DataError(f"{table.source}: {at.shape[1]} column(s) of coordinates, the grid has {grid.ndim} dimensions.")
    if grid.ndim == 1:
        order = np.argsort(at[:, 0], kind="stable")
        x = at[order, 0]
        if (np.diff(x) == 0).any():
            again = rows[order][1:][np.diff(x) == 0]
            raise table.error(again, f"unit {label!r} has two values at one place: an input has one.")
        return np.stack([np.interp(grid.axes[0].nodes, x, v[order]) for v in values])
    stencil = grid.locate(at)
    node, off = stencil.index[:, 0], stencil.weight[:, 0] < 1 - 1e-6
    if off.any():
        raise table.error(rows[off], f"unit {label!r} has an input that is not at a node of the grid {grid!r}.")
    out = np.full((len(values), grid.size), np.nan)
    out[:, node] = values
    if np.isnan(out).any():
        raise table.error(rows, f"unit {label!r} has inputs at {len(set(node.tolist()))} of {grid.size} grid nodes.")
    return out.reshape(len(values), *grid.shape)
