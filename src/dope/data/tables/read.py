"""From a long table to `OperatorData`, with a record of what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.operator_data import OperatorData
from dope.data.tables import events, functions, glucose, observations
from dope.data.tables.inputs import beside, find_doses, of_table
from dope.data.tables.names import CDISC, GLUCOSE, Columns, assign, exactly, normal, require
from dope.data.tables.reading import Dropped, Reading
from dope.data.tables.schedule import schedule
from dope.data.tables.source import load
from dope.data.tables.table import Table
from dope.data.tables.units import DAY, Units, check_order, check_resets, find_units, groups_of, split_rows

if TYPE_CHECKING:
    import pandas as pd

_NODES, _DAY_NODES = 128, 145
_OF_DOSES = ("amount", "rate", "duration", "interval", "additional", "steady", "dose", "dose unit")


def read_table(
    source: str | Path | pd.DataFrame | Any,
    *,
    inputs: Any = None,
    grid: Grid | None = None,
    id: str | None = None,
    time: str | Sequence[str] | None = None,
    value: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    covariates: Sequence[str] | None = None,
    time_varying: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    occasion: str | None = None,
    period: float | None = None,
    groups: str | None = None,
    blq: str = "drop",
    outside: str = "error",
    encoding: str = "utf-8",
) -> tuple[OperatorData, Reading]:
    """Read a long table, one row an observation or a dose.

    Parameters
    ----------
    source : path of a CSV, Parquet or SAS transport file; a pandas frame; or any frame that speaks the dataframe
        interchange protocol.
    inputs : inputs that are not in the table: an array `(n, C, *grid)` in the order in which units first appear, a
        mapping from id to array, a frame (or its path) with a row of constants a unit, or a long one of functions.
        Without it, doses and covariates of the table are the inputs.
    grid : where fields live; without it, the sampling times that units share, else 128 equal steps over all times.
    id, time, value : columns, where their names are not understood by themselves; several times for several dimensions.
    columns : further columns by role (`dope.data.tables.ROLES`), None for a role that no column has.
    covariates : columns that become channels; without it, those that can only be properties of a subject.
    time_varying : covariates that change within a subject: each value is carried forward.
    where : which observations, e.g. `{"PARAMCD": "XAN"}` or `{"DVID": [1, 2]}`.
    occasion : a column that cuts subjects into units, each with its own clock; subjects become groups.
    period : the length of units that long records are cut into, in units of time (hours for timestamps).
    groups : a column of labels of units that are not independent of one another.
    blq : values below the limit of quantification: "drop", "half" (of the limit) or "zero".
    outside : observations outside the grid: "error" or "drop".
    encoding : of a text file.
    """
    if outside not in ("error", "drop"):
        raise DataError(f"outside must be 'error' or 'drop', got {outside!r}.")
    table = load(source, encoding)
    rows = len(table) + len(table.switched_off)
    places = [time] if isinstance(time, str) else list(time or ())
    roles = _roles(table, dict(columns or {}), id, places, value, covariates, time_varying)
    places = [roles["time"], *(exactly(name, table.names, table.source) for name in places[1:])]
    kind = _kind(roles, inputs)

    # which rows are what
    table, dropped = observations.without_comments(table, roles)
    observations.no_duplicates(table)
    amount = table.numbers(roles["amount"]) if roles.get("amount") else None
    split = observations.classify(table, roles, amount)
    seen, unwanted = observations.chosen(table, roles, split.kind == observations.OBSERVATION, where or {})
    dosed = split.kind == observations.DOSE
    if inputs is not None and dosed.any():
        dropped.append(_dropped("dose rows, because inputs were given", table, dosed))
        dosed = np.zeros_like(dosed)
    other = np.isin(split.kind, (observations.OTHER, observations.RESET))
    if other.any():
        dropped.append(_dropped("neither observation nor dose (EVID 2, 3)", table, other))
    units = find_units(table, roles, seen, dosed, occasion=occasion, period=period, glucose=kind == "CGM")
    if inputs is None:
        check_resets(table, split, units)
        if len(places) == 1:
            check_order(table, roles, units, seen | dosed, occasion)

    # what was measured, where
    y, measured, unusable, replaced = observations.values(table, roles, seen, blq)
    dropped += unwanted + unusable
    at = np.stack([units.times, *(table.numbers(p) for p in places[1:])], axis=-1)
    lost = measured & ~np.isfinite(at).all(-1)
    if lost.any():
        dropped.append(_dropped(f"no {' or '.join(places)}", table, lost))
        measured &= ~lost
    _some(table, roles, measured, dropped)
    doses = find_doses(table, roles, units, dosed, seen, amount) if inputs is None else None
    chosen = grid is None
    grid = grid or _guess(table, roles, at, measured, doses, units, inputs)
    if grid.ndim != at.shape[1]:
        raise DataError(
            f"the grid has {grid.ndim} dimension(s), time names {at.shape[1]} column(s): name one for each."
        )
    off = measured & ~grid.contains(at)
    if off.any():
        if outside == "error":
            raise _outside(table, off, places, at, grid)
        dropped.append(_dropped("outside the grid", table, off))
        measured &= ~off
        _some(table, roles, measured, dropped)

    # what is known of each unit
    found = (
        of_table(table, roles, units, doses, covariates=covariates, time_varying=time_varying, groups=groups, grid=grid)
        if inputs is None
        else beside(inputs, table, roles, units, places, grid, encoding)
    )
    units = found.units
    parts = split_rows(units.code, len(units), measured, at[:, 0])
    data = OperatorData(
        found.array,
        [at[p] for p in parts],
        [y[p] for p in parts],
        grid=grid,
        groups=groups_of(table, units, groups),
        ids=units.names,
    )
    physical, guessed = _measured_in(table, roles, units, measured, dosed, y, kind)
    remarks = _remarks(table, units, data, y, measured, replaced, blq)
    if chosen and grid.axes[0].kind == "nodes":
        remarks.append(
            f"units share a schedule of {grid.size} times, which is the grid: between its times nobody was observed."
        )
    reading = Reading(
        source=table.source,
        kind=kind,
        columns={role: name for role, name in roles.by_role.items() if _was_used(role, roles, inputs)},
        measured_in=physical,
        rows=rows,
        subjects=len(np.unique(units.subject)),
        units=len(data),
        observations=int(data.counts.sum()),
        doses=found.doses,
        channels=found.channels,
        grid=repr(grid),
        dropped=(*dropped, *found.dropped),
        aside=found.aside or {},
        notes=(*guessed, *remarks, *found.notes),
    )
    return data, reading


# ---- columns ------------------------------------------------------------------------------------------
def _roles(
    table: Table,
    given: dict[str, str | None],
    id: str | None,
    places: Sequence[str],
    value: str | None,
    covariates: Sequence[str] | None,
    varying: Sequence[str],
) -> Columns:
    """Columns by role, without those that the user wants as covariates."""
    given |= {} if id is None else {"id": id}
    given |= {"time": places[0]} if places else {}
    given |= {} if value is None else {"value": value}
    wanted = {exactly(name, table.names, table.source) for name in (*(covariates or ()), *varying)}
    roles = assign(table.names, given, table.source)
    taken = {name: role for role, name in roles.by_role.items() if name in wanted}
    clash = [name for name, role in taken.items() if role in ("id", "time", "value", "amount")]
    if clash:
        raise DataError(f"{table.source}: {clash[0]} is read as {taken[clash[0]]}, and cannot be a covariate as well.")
    roles = assign(table.names, given | dict.fromkeys(taken.values()), table.source)
    for role, words in (("id", "the subjects"), ("time", "the times"), ("value", "the measured values")):
        require(roles, role, words, table.source, table.header)
    return roles


def _kind(roles: Columns, inputs: Any) -> str:
    if roles.plain("value") in GLUCOSE and not roles.get("amount") and not roles.get("dose"):
        return "CGM"
    if any(normal(name) in CDISC for name in roles.by_role.values()):
        return "CDISC"
    if inputs is None and (roles.get("amount") or roles.get("event")):
        return "NONMEM"
    return "plain"


def _was_used(role: str, roles: Columns, inputs: Any) -> bool:
    if inputs is not None and role in _OF_DOSES:
        return False
    return not (role == "dose" and roles.get("amount"))


# ---- rows ---------------------------------------------------------------------------------------------
def _dropped(why: str, table: Table, rows: np.ndarray) -> Dropped:
    return Dropped(why, tuple(int(n) for n in table.lines[rows]), table.row)


def _some(table: Table, roles: Columns, measured: np.ndarray, dropped: Sequence[Dropped]) -> None:
    if not measured.any():
        why = f" ({'; '.join(map(str, dropped))})" if dropped else ""
        raise DataError(
            f"{table.source}: no row holds an observation{why}. Is {roles['value']!r} the column of measured values?"
        )


def _outside(table: Table, rows: np.ndarray, places: Sequence[str], at: np.ndarray, grid: Grid) -> DataError:
    domain = " x ".join(f"[{a.lower:g}, {a.upper:g}]" for a in grid.axes)
    where = ", ".join(f"{v:g}" for v in at[np.argmax(rows)])
    return table.error(
        rows, f'{", ".join(places)} is {where}, outside the grid {domain}: widen the grid, or pass outside="drop".'
    )


def _remarks(
    table: Table, units: Units, data: OperatorData, y: np.ndarray, measured: np.ndarray, replaced: int, blq: str
) -> list[str]:
    out = []
    if units.period is not None:
        what = "one day, with time in hours since midnight" if units.dated and units.period == DAY else (
            f"length {units.period:g}"
        )  # fmt: skip
        out.append(f"records are cut into units of {what}; subjects are their groups.")
    elif units.cut:
        out.append("subjects have several units, and are their groups.")
    if replaced:
        out.append(f"{replaced} values below the limit of quantification were replaced (blq={blq!r}).")
    remark = observations.far_apart(y[measured], units.code[measured], units.names)
    if remark:
        out.append(remark)
    if table.decimal_comma:
        out.append("numbers are written with a decimal comma.")
    empty = int((data.counts == 0).sum())
    if empty:
        out.append(f"{empty} of {len(data)} units have no observation; they are kept, with their inputs.")
    return out


# ---- what the table does not say ----------------------------------------------------------------------
def _guess(
    table: Table,
    roles: Columns,
    at: np.ndarray,
    rows: np.ndarray,
    doses: events.Given | None,
    units: Units,
    inputs: Any,
) -> Grid:
    """The sampling schedule that units share, else equal steps; over all times, from 0 or the first one below it."""
    if at.shape[1] > 1 or (inputs is not None and not functions.is_table(inputs)):
        raise DataError(
            f"{table.source}: the grid of the inputs is not known: pass grid=, e.g. dope.Grid.uniform(...)."
        )
    if units.period is not None:
        return Grid.uniform(0.0, units.period, _DAY_NODES if units.period == DAY else _NODES)
    starts = np.zeros(0) if doses is None else doses.doses.start
    times = at[rows, 0]
    lower = min(float(times.min()), float(starts.min(initial=0.0)), 0.0)
    upper = float(times.max())
    if not lower < upper:
        raise DataError(f"{table.source}: all observations are at time {upper:g}, so there is no curve to learn.")
    parts = split_rows(units.code, len(units), rows, at[:, 0])
    return schedule([at[p, 0] for p in parts], lower, upper) or Grid.uniform(lower, upper, _NODES)


def _measured_in(
    table: Table, roles: Columns, units: Units, rows: np.ndarray, doses: np.ndarray, y: np.ndarray, kind: str
) -> tuple[dict[str, str], list[str]]:
    """The units of value, time and dose, and what was guessed."""
    value, notes = observations.unit_of(table, roles, "value unit", "value", rows), []
    if kind == "CGM":
        value, guessed = glucose.unit(table, roles, rows, y, value)
        notes += [guessed] if guessed else []
    amount = "amount" if roles.get("amount") else "dose"
    dose = observations.unit_of(table, roles, "dose unit", amount, doses if doses.any() else rows)
    time = "h" if units.dated else observations.unit_of(table, roles, "time unit", "time", rows)
    return {what: unit for what, unit in (("value", value), ("time", time), ("dose", dose)) if unit}, notes
