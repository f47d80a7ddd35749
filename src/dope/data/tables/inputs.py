"""The input channels of a table: its doses and covariates, or inputs that come beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.tables import events, functions
from dope.data.tables.covariates import read_covariates
from dope.data.tables.names import Columns, exactly
from dope.data.tables.reading import Dropped
from dope.data.tables.table import Table
from dope.data.tables.units import Units, numbered


@dataclass(frozen=True, eq=False)
class Inputs:
    """`array` (n, C, *grid) with the names of its channels; the units it belongs to; and what there is to say."""

    array: np.ndarray
    channels: tuple[str, ...]
    units: Units
    doses: int = 0
    dropped: tuple[Dropped, ...] = ()
    aside: dict[str, str] | None = None
    notes: tuple[str, ...] = ()


def find_doses(
    table: Table, columns: Columns, units: Units, rows: np.ndarray, seen: np.ndarray, amount: np.ndarray | None
) -> events.Given | None:
    """The doses of dose rows; without any, the dose that is written beside the samples; None without either."""
    if rows.any() and amount is None:
        raise table.error(rows, 'a dose row, but no column holds the amount: name it, columns={"amount": "..."}.')
    if amount is not None and rows.any():
        return events.from_rows(table, columns, rows, amount, units.code, len(units), units.times)
    if columns.get("dose"):
        return events.from_constant(table, columns, units.code, units.names, units.times, seen & (units.code >= 0))
    return None


def of_table(
    table: Table,
    columns: Columns,
    units: Units,
    doses: events.Given | None,
    *,
    covariates: Sequence[str] | None,
    time_varying: Sequence[str],
    groups: str | None,
    grid: Grid,
) -> Inputs:
    """Dose rates and covariates as channels."""
    if grid.ndim > 1:
        raise DataError(f"{table.source}: on a grid of {grid.ndim} dimensions inputs must be given: pass inputs=.")
    channels: list[tuple[str, np.ndarray]] = []
    dropped, notes, count = (), (), 0
    if doses is not None:
        channels, kept, late = events.channels(doses, table, len(units), grid)
        dropped, notes, count = doses.dropped + late, doses.notes, len(kept)
    apart = None if groups is None else exactly(groups, table.names, table.source)
    found = read_covariates(
        table,
        units.code,
        units.names,
        [name for name in columns.others if name != apart],
        covariates,
        time_varying,
        units.times,
        grid,
    )
    channels += found.channels
    if not channels:
        notes += ("no doses and no covariates: nothing tells units apart, and one mean curve is learned for all.",)
        channels = [("none", np.zeros(len(units)))]
    array = np.empty((len(units), len(channels), *grid.shape), dtype=np.float32)
    for c, (_, values) in enumerate(channels):
        array[:, c] = values if values.ndim > 1 else values[:, None]
    return Inputs(array, tuple(name for name, _ in channels), units, count, dropped, found.aside, notes)


def beside(
    inputs: Any, table: Table, columns: Columns, units: Units, places: Sequence[str], grid: Grid, encoding: str
) -> Inputs:
    """Inputs of their own: an array for the units of the table, or a table that may hold further units."""
    if not functions.is_table(inputs):
        return Inputs(*functions.from_array(inputs, units.names.tolist(), grid), units)
    array, names, ids = functions.from_table(inputs, columns["id"], places, grid, encoding)
    position = {str(label): k for k, label in enumerate(ids)}
    wanted = [str(name) for name in units.names]
    if units.cut and not all(name in position for name in wanted):
        owner = np.full(len(units), "", dtype=object)  # the inputs of a subject belong to all of its units
        there = units.code >= 0
        owner[units.code[there]] = table.text(columns["id"])[there]
        wanted = owner.tolist()
    missing = [name for name in wanted if name not in position]
    if missing:
        raise DataError(
            f"inputs have no row for {missing[0]!r} of {table.source} ({len(missing)} such): give one for every unit."
        )
    at = np.array([position[name] for name in wanted])
    if units.cut:
        return Inputs(array[at], names, units)
    labels = numbered(np.asarray(ids, dtype=object))
    code = np.where(units.code >= 0, at[units.code], -1)
    return Inputs(array, names, replace(units, code=code, names=labels, subject=np.arange(len(labels))))
