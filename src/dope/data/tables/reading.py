"""What was read from a table, in words and as a record."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dope.data.tables.table import places

WIDTH = 80


@dataclass(frozen=True)
class Dropped:
    """Rows that are not among the observations or doses, and why."""

    why: str
    rows: tuple[int, ...]
    row: str = "line"

    def __str__(self) -> str:
        return f"{self.why}: {len(self.rows)} ({places(self.rows, self.row)})"


@dataclass(frozen=True)
class Reading:
    """What was read from a table.

    Parameters
    ----------
    source : the file, or what stood in for one.
    kind : "NONMEM", "CDISC", "CGM", "plain", "xarray" or "arrays".
    columns : which column was read as what.
    measured_in : units of "value", "time" and "dose", where the table says them.
    rows : rows of the table.
    subjects : subjects; `units` are subjects, or their occasions or days.
    observations, doses : how many were read; doses after ADDL was written out.
    channels : the names of the input channels.
    dropped : rows that were not read as an observation or a dose.
    aside : columns that were not read, and why.
    notes : what else a reader of the result must know.
    """

    source: str
    kind: str
    columns: Mapping[str, str]
    measured_in: Mapping[str, str]
    rows: int
    subjects: int
    units: int
    observations: int
    doses: int
    channels: tuple[str, ...]
    grid: str
    dropped: tuple[Dropped, ...] = ()
    aside: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, width: int = WIDTH) -> list[str]:
        """In words, line by line."""

        def entry(label: str, text: str) -> list[str]:
            return _entry(label, text, width)

        what = f"{self.kind} table, {self.rows} rows" if self.rows else self.kind
        lines = [f"Read {self.source}: {what}"]
        lines += entry("columns", ", ".join(f"{role} {name!r}" for role, name in self.columns.items()))
        units = ", ".join(f"{what} in {unit}" for what, unit in self.measured_in.items())
        lines += entry("measured in", units or "not said in the table")
        counts = f"{self.subjects} subjects, {self.observations} observations"
        if self.units != self.subjects:
            counts = f"{self.units} units of {counts}"
        lines += entry("found", counts + (f", {self.doses} doses" if self.doses else ""))
        lines += entry("inputs", ", ".join(self.channels))
        lines += entry("grid", self.grid)
        for dropped in self.dropped:
            lines += entry("dropped", str(dropped))
        for name, why in self.aside.items():
            lines += entry("left aside", f"{name} ({why})")
        for note in self.notes:
            lines += entry("note", note)
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""
        plain = {name: getattr(self, name) for name in ("source", "kind", "rows", "subjects", "units", "observations",
                                                         "doses", "grid")}  # fmt: skip
        return plain | {
            "columns": dict(self.columns),
            "measured_in": dict(self.measured_in),
            "channels": list(self.channels),
            "dropped": [{"why": d.why, "count": len(d.rows), d.row + "s": list(d.rows)} for d in self.dropped],
            "aside": dict(self.aside),
            "notes": list(self.notes),
        }


def _entry(label: str, text: str, width: int) -> list[str]:
    if not text:
        return []
    lead = f"  {label:<12}"
    return textwrap.wrap(
        text, width, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )  # long words (paths) may stand out, nothing is cut
