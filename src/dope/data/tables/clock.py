"""When things happened: times as numbers, and long records cut into units."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dope.data.errors import DataError
from dope.data.tables.table import Table

_DATE = re.compile(
    r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[- ]?[A-Za-z]{3}[- ]?\d{2,4})"
)
_CLOCK = re.compile(r"^\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([AaPp][Mm])?\s*$")
_OFFSET = re.compile(r"(?<=[\d.])\s*(Z|[+-]\d{2}(:?\d{2})?)$")


@dataclass(frozen=True, eq=False)
class Times:
    """`values` (rows,), NaN where there is none; `dated` where they are hours since an epoch."""

    values: np.ndarray
    dated: bool


def read_times(table: Table, name: str, *, dates: bool) -> Times:
    """Elapsed times, or (where `dates` are allowed) timestamps, in hours."""
    column = table.frame[name]
    if column.dtype.kind == "m":
        return Times(column.dt.total_seconds().to_numpy() / 3600, False)
    if column.dtype.kind == "M" or hasattr(column.dtype, "tz"):
        if not dates:
            raise _no_dates(table, name, np.ones(len(table), bool))
        return Times(_hours(column), True)
    values, bad = table.parsed(name)
    if not bad.any():
        return Times(values, False)
    words = table.text(name)
    dated = np.array([bool(_DATE.match(w) or _CLOCK.match(w)) for w in words])
    if dates and dated.any():
        bad = words != ""  # among timestamps a number is as wrong as a word
        if not (bad & ~dated).any():
            return Times(_parsed(table, name, words), True)
    if dated[bad].all():
        raise _no_dates(table, name, bad)
    wrong = bad & ~dated
    raise table.error(wrong, f"{name} is {words[np.argmax(wrong)]!r}, not a time: give a number, e.g. hours.")


def _no_dates(table: Table, name: str, rows: np.ndarray) -> DataError:
    first = str(table.frame[name].iloc[int(np.argmax(rows))]).strip()
    return table.error(
        rows,
        f"{name} is {first!r}, a date or a time of day: give elapsed time as a number, e.g. hours since the first "
        "dose. (Timestamps are read in tables of glucose, and where period=... cuts records into units.)",
    )


def _parsed(table: Table, name: str, words: np.ndarray) -> np.ndarray:
    """Hours by the clock on the wall: offsets from UTC, which change with summer time and travel, are left aside."""
    import pandas as pd

    local = [_OFFSET.sub("", w) if ":" in w else w for w in words]
    stamps = pd.to_datetime(pd.Series([w or None for w in local]), format="ISO8601", errors="coerce")
    bad = stamps.isna().to_numpy() & (words != "")
    if bad.any():
        raise table.error(
            bad,
            f"{name} is {words[np.argmax(bad)]!r}: timestamps are written year-month-day hour:minute:second, e.g. "
            "2024-01-31 08:05:00, because day and month cannot be told apart otherwise.",
        )
    return _hours(stamps)


def _hours(stamps) -> np.ndarray:
    """Hours since 1970 by the clock on the wall: days begin at local midnight."""
    import pandas as pd

    if getattr(stamps.dt, "tz", None) is not None:
        stamps = stamps.dt.tz_localize(None)
    return ((stamps - pd.Timestamp(0)) / pd.Timedelta(hours=1)).to_numpy(np.float64)
