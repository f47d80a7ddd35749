"""A table as text, Markdown, LaTeX, JSON or CSV.

In: summaries, and the slopes of a robustness study. Out: one string that ends in a newline.
Must hold: text fits 80 columns; every table shows the floor; JSON and CSV carry full precision and no hidden scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dope.data import DataError
from dope.studies.formats.latex import latex
from dope.studies.formats.markdown import markdown
from dope.studies.formats.records import csv, json
from dope.studies.formats.text import text
from dope.studies.slopes import Slope
from dope.studies.table import Summary

FORMATS: dict[str, Callable[[Sequence[Summary], Sequence[Slope]], str]] = {
    "text": text,
    "json": json,
    "markdown": markdown,
    "csv": csv,
    "latex": latex,
}


def write(table: Sequence[Summary], format: str = "text", slopes: Sequence[Slope] = ()) -> str:
    """A table in one of the `FORMATS`."""
    if format not in FORMATS:
        raise DataError(f"there is no format {format!r}. Known are: {', '.join(FORMATS)}.")
    return FORMATS[format](table, slopes)


__all__ = ["FORMATS", "csv", "json", "latex", "markdown", "text", "write"]
