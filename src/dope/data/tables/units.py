"""Units: subjects, or the occasions, days or stretches of time that their records are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dope.data.errors import DataError
from dope.data.tables import clock
from dope.data.tables.names import OCCASIONS, SINCE, Columns, exactly, normal
from dope.data.tables.observations import RESET, Rows
from dope.data.tables.table import Table

DAY = 24.0


@dataclass(frozen=True, eq=False)
class Units:
    """What the rows belong to.

    `code` (rows,) counts units, -1 where a row belongs to none; `names` and `subject` are the units' own, `(units,)`.
    `times` (rows,) run on each unit's clock. `dated` where they were timestamps; `period` where records were cut.
    """

    code: np.ndarray
    names: np.ndarray
    subject: np.ndarray
    times: np.ndarray
    dated: bool = False
    period: float | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def cut(self) -> bool:
        """Whether some subject has several units."""
        return len(np.unique(self.subject)) < len(self)


def find_units(
    table: Table,
    columns: Columns,
    seen: np.ndarray,
    doses: np.ndarray,
    *,
    occasion: str | None,
    period: float | None,
    glucose: bool,
) -> Units:
    """The units of the rows: those that are `seen` as observations, and those that are `doses`."""
    if occasion is not None and period is not None:
        raise DataError("occasion and period both cut subjects into units: pass one of them.")
    if period is not None and not period > 0:
        raise DataError(f"period must be positive, got {period}.")
    read = clock.read_times(table, columns["time"], dates=glucose or period is not None)
    if glucose and read.dated and period is None:
        period = DAY
    subject, names = _coded(table, columns["id"])
    names = numbered(names)
    if occasion is not None:
        return _occasions(table, columns, subject, names, occasion, read.values, doses)
    if period is not None:
        return _stretches(table, columns, subject, names, period, read, seen, doses)
    if read.dated:
        raise DataError(f"{table.source}: {columns['time']} holds timestamps: pass period=24 for units of a day.")
    return Units(subject, names, np.arange(len(names)), read.values)


def _coded(table: Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and labels of the column's values, in the order in which they first appear."""
    import pandas as pd

    words = table.text(name)
    if (words == "").any():
        raise table.error(words == "", f"{name} is missing: every row belongs to one.")
    code, labels = pd.factorize(words)
    return code, np.asarray(labels)


def numbered(names: np.ndarray) -> np.ndarray:
    """Names that are whole numbers, written in the one usual way, as numbers."""
    if all(n.isdigit() and (n == "0" or n[0] != "0") and len(n) < 16 for n in names.tolist()):
        return names.astype(np.int64)
    return names.astype(str)


def _pairs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of pairs in the order in which they first appear, and the pairs."""
    both = np.stack([first, second], axis=-1)
    pairs, start, code = np.unique(both, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(start)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[code.reshape(-1)], pairs[order]


# ---- occasions ----------------------------------------------------------------------------------------
def _occasions(
    table: Table,
    columns: Columns,
    subject: np.ndarray,
    names: np.ndarray,
    occasion: str,
    times: np.ndarray,
    doses: np.ndarray,
) -> Units:
    number, words = _coded(table, exactly(occasion, table.names, table.source))
    code, pairs = _pairs(subject, number)
    ids = np.array([f"{names[s]}/{words[k]}" for s, k in pairs])
    origin = _origins(table, columns, code, len(ids), times, doses)
    return Units(code, ids, pairs[:, 0], times - origin[code])


def _origins(
    table: Table, columns: Columns, code: np.ndarray, units: int, times: np.ndarray, doses: np.ndarray
) -> np.ndarray:
    """When each unit's clock starts: at its first dose, else at its first row, unless time runs from a dose already."""
    if columns.plain("time") in SINCE.values():
        return np.zeros(units)
    since = columns.since_dose
    given = np.where(doses, times, np.nan)
    if not doses.any() and since is not None:
        given = times - table.numbers(since)
    start, rows = np.full(units, np.inf), np.full(units, np.inf)
    np.minimum.at(start, code, np.where(np.isfinite(given), given, np.inf))
    np.minimum.at(rows, code, np.where(np.isfinite(times), times, np.inf))
    start = np.where(np.isfinite(start), start, rows)
    return np.where(np.isfinite(start), start, 0.0)


# ---- days and other stretches -------------------------------------------------------------------------
def _stretches(
    table: Table,
    columns: Columns,
    subject: np.ndarray,
    names: np.ndarray,
    period: float,
    read: clock.Times,
    seen: np.ndarray,
    doses: np.ndarray,
) -> Units:
    if doses.any():
        raise table.error(
            doses,
            "a dose, in records that are cut by period: what is given in one stretch is still at work in the next. "
            "Leave period out, or cut at washed-out occasions (occasion=...).",
        )
    whole = seen & np.isfinite(read.values)
    if not whole.any():
        raise DataError(f"{table.source}: no observation has a time in {columns['time']}.")
    number = np.floor(np.where(whole, read.values, 0.0) / period).astype(np.int64)
    code = np.full(len(table), -1)
    code[whole], pairs = _pairs(subject[whole], number[whole])
    days = read.dated and period == DAY
    ids = np.array([f"{names[s]}/{np.datetime64(int(k), 'D') if days else k}" for s, k in pairs])
    return Units(code, ids, pairs[:, 0], read.values - number * period, read.dated, period)


# ---- checks -------------------------------------------------------------------------------------------
def check_resets(table: Table, split: Rows, units: Units) -> None:
    """A reset is harmless at the beginning of a unit only."""
    reset = (split.kind == RESET) | split.resets
    place = np.arange(len(table))
    first = np.full(len(units), len(table))
    np.minimum.at(first, units.code, place)
    later = reset & (place != first[units.code])
    if later.any():
        raise table.error(
            later,
            "EVID 3 or 4 empties the body in the middle of a subject: name the column that numbers the occasions "
            '(occasion="OCC"), and each becomes a unit of its own.',
        )


def check_order(table: Table, columns: Columns, units: Units, rows: np.ndarray, occasion: str | None) -> None:
    """Refuse a table whose times go back within a unit, in the order of the file."""
    order = np.flatnonzero(rows & np.isfinite(units.times) & (units.code >= 0))
    order = order[np.argsort(units.code[order], kind="stable")]
    times = table.numbers(columns["time"]) if not units.dated else units.times
    back = (np.diff(times[order]) < 0) & (np.diff(units.code[order]) == 0)
    if units.dated or not back.any():
        return
    later, earlier = order[1:][back], order[:-1][back]
    hint = ""
    if occasion is None:
        known = [n for n in table.names if normal(n) in OCCASIONS and n not in columns.by_role.values()]
        hint = f', or, where the clock starts again, name the column of occasions (occasion="{[*known, "OCC"][0]}")'
    raise table.error(
        later,
        f"{columns['time']} goes back from {times[earlier[0]]:g} ({table.at(earlier[:1])}) to {times[later[0]]:g} "
        f"within unit {units.names[units.code[later[0]]]}: sort the rows of each subject by time{hint}.",
    )


def groups_of(table: Table, units: Units, name: str | None) -> np.ndarray | None:
    """Labels of units that are not independent: those of a column, else the subjects where they have several units."""
    if name is None:
        return units.subject if units.cut else None
    name = exactly(name, table.names, table.source)
    words = table.text(name)
    there = np.flatnonzero((words != "") & (units.code >= 0))[::-1]
    out = np.full(len(units), "", dtype=object)
    out[units.code[there]] = words[there]  # the first row of a unit is written last
    differs = there[out[units.code[there]] != words[there]]
    if len(differs):
        raise table.error(np.sort(differs), f"{name} varies within a unit: a unit belongs to one group.")
    if (out == "").any():
        raise DataError(f"{table.source}: {name} of unit {units.names[int(np.argmax(out == ''))]} is missing.")
    return out.astype(str)


def split_rows(code: np.ndarray, units: int, rows: np.ndarray, by: np.ndarray) -> Sequence[np.ndarray]:
    """Positions of the `rows` (a mask) of every unit, in the order of `by`."""
    order = np.flatnonzero(rows)
    order = order[np.lexsort((by[order], code[order]))]
    ends = np.searchsorted(code[order], np.arange(units + 1))
    return [order[a:b] for a, b in pairwise(ends)]
