"""`dope table`: the results of a study in a format of choice, and as figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def table(
    results: Path,
    /,
    *,
    format: Literal["text", "json", "markdown", "csv", "latex"] = "text",
    figures: Annotated[Path | None, Parameter(show_default=False)] = None,
    archive: Annotated[Path | None, Parameter(show_default=False)] = None,
) -> None:
    """Print the results of a study beside the published figures, each with its floor.

    Parameters
    ----------
    results
        The folder that dope reproduce wrote, finished or not; or a file of --archive or --format json.
    format
        text and markdown to read, latex (booktabs) to print, json and csv for programs.
    figures
        A folder for the figures, as SVG and PNG.
    archive
        A file for all that tables and figures show, with versions, devices and every number of the protocols.
    """
    from dope import studies

    found = studies.results(results)
    # pictures that cannot be written are found before numbers are shown
    files = studies.save_figures(found, figures) if figures else []
    if archive:
        found.save(archive)
    print(studies.write(found.table, format, found.slopes), end="")
    for note in (*found.notes, *(f"Figure: {file}" for file in files)):
        print(note, file=sys.stderr)
