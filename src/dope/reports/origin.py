"""What was read from the user's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dope.reports.content import Content
from dope.reports.markup import definitions, paragraph, section, table

_SHOWN = 8


def origin(c: Content) -> str:
    """The record of `dope estimate`, where there is one: every row that is not in the estimate stands here."""
    read = c.est.meta.get("data")
    if not isinstance(read, Mapping):
        return ""
    counted = f"{read['subjects']} subjects, {read['observations']} observations"
    if read["units"] != read["subjects"]:
        counted = f"{read['units']} units of {counted}"
    if read["doses"]:
        counted += f", {read['doses']} doses"
    kind = f"{read['kind']} table, {read['rows']} rows" if read["rows"] else read["kind"]
    units = ", ".join(f"{what} in {unit}" for what, unit in read["measured_in"].items())
    pairs = [
        ("File", f"{read['source']}: {kind}"),
        ("Found", counted),
        ("Columns", ", ".join(f"{role}: {name}" for role, name in read["columns"].items())),
        ("Measured in", units or "not said in the data"),
        ("Inputs", ", ".join(read["channels"])),
        *(("Note", note) for note in read["notes"]),
    ]
    return section(
        "origin",
        "What was read",
        definitions([pair for pair in pairs if pair[1]]),
        _dropped(read["dropped"]),
        _aside(read["aside"]),
    )


def _dropped(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return paragraph("No row was left out.", kind="quiet")
    body = []
    for d in rows:
        key = "lines" if "lines" in d else "rows"
        shown = ", ".join(map(str, d[key][:_SHOWN])) + (" ..." if len(d[key]) > _SHOWN else "")
        body.append([d["why"], d["count"], f"{key if d['count'] > 1 else key[:-1]} {shown}"])
    return table("Rows left out", ["Why", "How many", "Where"], body)


def _aside(columns: Mapping[str, str]) -> str:
    if not columns:
        return ""
    said = "; ".join(f"{name} ({why})" for name, why in columns.items())
    return paragraph(f"Columns left aside: {said}.", kind="quiet")
