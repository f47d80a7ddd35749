"""Doses out of the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.tables.doses import Doses, rate
from dope.data.tables.names import Columns
from dope.data.tables.reading import Dropped
from dope.data.tables.table import Table

# More further doses than this in one row are taken for a slip: no record of a patient is so long.
_MOST_DOSES = 10_000
# Reference times that differ by less than this are one dose: they are differences of rounded times.
_SAME_TIME = 1e-2


@dataclass(frozen=True, eq=False)
class Given:
    """The doses of a table, `steady` (units, 2) amount and interval of a regimen that went on before, and remarks."""

    doses: Doses
    steady: np.ndarray | None
    notes: tuple[str, ...]
    dropped: tuple[Dropped, ...] = ()


def from_rows(
    table: Table,
    columns: Columns,
    rows: np.ndarray,
    amount: np.ndarray,
    unit: np.ndarray,
    units: int,
    times: np.ndarray,
) -> Given:
    """One dose a dose row, ADDL written out, infusions by RATE or duration."""
    name = columns["amount"]
    late = rows & ~np.isfinite(times)
    if late.any():
        raise table.error(late, f"a dose without {columns['time']}: write when it was given.")
    for bad, what in (
        (rows & ~np.isfinite(amount), "a dose row without an amount: write the amount, or 0 for none"),
        (rows & (np.nan_to_num(amount) < 0), "a dose cannot be negative: correct the amount"),
    ):
        if bad.any():
            shown = "missing" if np.isnan(amount[np.argmax(bad)]) else f"{amount[np.argmax(bad)]:g}"
            raise table.error(bad, f"{name} is {shown}: {what}.")
    notes: list[str] = []
    duration = _durations(table, columns, rows, amount, notes)
    at = np.flatnonzero(rows)
    site = np.zeros(len(table))
    if columns.get("compartment"):
        site = np.nan_to_num(table.numbers(columns["compartment"]))
    doses = Doses(unit[at], times[at], duration[at], amount[at], site[at], at)
    steady = _steady(table, columns, rows, amount, unit, units, times)
    more, every = _additional(table, columns, rows)
    return Given(doses.repeated(more[at], every[at]), steady, tuple(notes))


def _durations(table: Table, columns: Columns, rows: np.ndarray, amount: np.ndarray, notes: list[str]) -> np.ndarray:
    duration = np.zeros(len(table))
    name = columns.get("duration")
    if name is not None:
        duration = np.nan_to_num(table.numbers(name))
        if (rows & (duration < 0)).any():
            raise table.error(rows & (duration < 0), f"{name} is negative: an infusion takes time, a bolus 0.")
    name = columns.get("rate")
    if name is None:
        return duration
    speed = np.nan_to_num(table.numbers(name))
    modelled = rows & np.isin(speed, (-1, -2))
    wrong = rows & (speed < 0) & ~modelled
    if wrong.any():
        raise table.error(wrong, f"{name} is {speed[np.argmax(wrong)]:g}: a rate cannot be negative.")
    endless = rows & (speed > 0) & (amount == 0)
    if endless.any():
        raise table.error(
            endless,
            f"{name} is positive but the amount is 0: write the amount that was infused. (An infusion that has gone on "
            "for ever, SS = 1 with an amount of 0, is not understood: write out the last part of it.)",
        )
    if modelled.any():
        notes.append(
            f"{name} is -1 or -2 for {int(modelled.sum())} doses: their rate or duration was left to a model, and they "
            "are read as given at once."
        )
    return np.divide(amount, speed, out=duration, where=speed > 0)


def _additional(table: Table, columns: Columns, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    name = columns.get("additional")
    more = np.zeros(len(table)) if name is None else np.nan_to_num(table.numbers(name))
    every = _interval(table, columns)
    wrong = rows & ((more < 0) | (more != np.round(more)))
    if wrong.any():
        raise table.error(wrong, f"{name} is {more[np.argmax(wrong)]:g}: write how many further doses, a whole number.")
    if (rows & (more > _MOST_DOSES)).any():
        many = rows & (more > _MOST_DOSES)
        raise table.error(many, f"{name} asks for {more[np.argmax(many)]:g} further doses: correct it.")
    lost = rows & (more > 0) & ~(every > 0)
    if lost.any():
        raise table.error(lost, f"{name} asks for further doses, but II does not say how far apart: fill it in.")
    return more, every


def _interval(table: Table, columns: Columns) -> np.ndarray:
    name = columns.get("interval")
    return np.zeros(len(table)) if name is None else np.nan_to_num(table.numbers(name))


def _steady(
    table: Table,
    columns: Columns,
    rows: np.ndarray,
    amount: np.ndarray,
    unit: np.ndarray,
    units: int,
    times: np.ndarray,
) -> np.ndarray | None:
    name = columns.get("steady")
    if name is None:
        return None
    flag = np.nan_to_num(table.numbers(name))
    wrong = rows & ~np.isin(flag, (0, 1))
    if wrong.any():
        raise table.error(
            wrong,
            f"{name} is {flag[np.argmax(wrong)]:g}: 0 and 1 are understood; write out the doses of other regimens.",
        )
    on = rows & (flag == 1)
    if not on.any():
        return None
    every = _interval(table, columns)
    if (on & ~(every > 0)).any():
        raise table.error(on & ~(every > 0), f"{name} = 1 needs the interval II of the regimen: fill it in.")
    first = np.full(units, np.inf)
    np.minimum.at(first, unit[rows], times[rows])
    later = on & (times > first[unit])
    if later.any():
        raise table.error(
            later, f"{name} = 1 after another dose of the same subject: only the first dose can be at steady state."
        )
    out = np.zeros((units, 2))
    out[unit[on]] = np.stack([amount[on], every[on]], axis=-1)
    return out


def from_constant(
    table: Table, columns: Columns, unit: np.ndarray, units: np.ndarray, times: np.ndarray, rows: np.ndarray
) -> Given:
    """The dose that is written beside every sample, given at time 0 or at the reference times of the samples."""
    name = columns["dose"]
    amount = table.numbers(name)
    negative = rows & (amount < 0)
    if negative.any():
        raise table.error(negative, f"{name} is {amount[np.argmax(negative)]:g}: a dose cannot be negative.")
    since = columns.since_dose
    if since is None:
        start = np.zeros(len(table))
        notes = (f"no dose rows: {name} is taken as one dose at time 0 of each unit.",)
    else:
        start = times - table.numbers(since)
        notes = (f"no dose rows: {name} is taken as given at {columns['time']} - {since}, once for each such time.",)
    duration = np.zeros(len(table))
    if columns.get("duration"):
        duration = np.nan_to_num(table.numbers(columns["duration"]))
    at = np.flatnonzero(rows & np.isfinite(amount) & np.isfinite(start))
    at = at[np.lexsort((at, start[at], unit[at]))]
    parts = np.concatenate([[True], (np.diff(unit[at]) > 0) | (np.diff(start[at]) > _SAME_TIME)]) if len(at) else []
    one = np.cumsum(parts) - 1
    begins = at[np.asarray(parts, bool)]
    differs = amount[at] != amount[begins][one] if len(at) else np.zeros(0, bool)
    if differs.any():
        i = unit[at[np.argmax(differs)]]
        raise table.error(
            np.sort(at[differs]),
            f"{name} of unit {units[i]} is {amount[at[np.argmax(differs)]]:g}, elsewhere "
            f"{amount[begins][one][np.argmax(differs)]:g} for the same dose: correct it, or write doses as rows of "
            "their own (EVID, AMT).",
        )
    missing = np.setdiff1d(np.unique(unit[rows]), unit[at])
    if len(missing):
        raise table.error(
            rows & (unit == missing[0]), f"{name} of unit {units[missing[0]]} is missing ({len(missing)} such)."
        )
    none = np.zeros(len(begins))
    return Given(Doses(unit[begins], start[begins], duration[begins], amount[begins], none, begins), None, notes)


def channels(
    given: Given, table: Table, units: int, grid: Grid
) -> tuple[list[tuple[str, np.ndarray]], Doses, tuple[Dropped, ...]]:
    """Dose-rate channels, one for every compartment that is dosed; the doses in them; dose rows beyond the grid."""
    axis, doses = grid.axes[0], given.doses
    slack = 1e-9 * (axis.upper - axis.lower)
    early = doses.start < axis.lower - slack
    if early.any():
        first = doses.start[early].min()
        raise table.error(
            np.unique(doses.row[early]),
            f"a dose at {first:g}, before the grid begins at {axis.lower:g}: begin the grid there, because what is "
            "given earlier is still at work later.",
        )
    late = doses.start > axis.upper + slack
    dropped = []
    outside = np.setdiff1d(np.unique(doses.row[late]), doses.row[~late])
    if len(outside):
        why = f"doses after the end of the grid ({axis.upper:g})"
        dropped.append(Dropped(why, tuple(int(n) for n in table.lines[outside]), table.row))
    doses = doses.take(~late)
    sites = np.unique(doses.compartment)
    out = []
    for site in sites:
        name = "dose rate" if len(sites) == 1 else f"dose rate (CMT {site:g})"
        out.append((name, rate(doses.take(doses.compartment == site), units, grid)))
    if given.steady is not None:
        out.append(("steady-state amount before", given.steady[:, 0]))
        out.append(("steady-state interval before", given.steady[:, 1]))
    if not out:
        raise DataError(f"{table.source}: no dose lies on the grid {grid!r}: widen it.")
    return out, doses, tuple(dropped)
