"""The page around a report, and the file it is written to."""

from __future__ import annotations

import platform
from pathlib import Path

from dope.data import DataError
from dope.reports.markup import esc
from dope.reports.style import CSS


def document(heading: str, sub: str, body: str) -> str:
    """A whole HTML page: heading and the line below it are text, the body is markup."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="dope {esc(_version())}">
<title>{esc(heading)}</title>
<style>
{CSS}
</style>
</head>
<body>
<main>
<header>
<h1>{esc(heading)}</h1>
<p class="sub">{esc(sub)}</p>
</header>
{body}
</main>
</body>
</html>
"""


def writable(path: str | Path) -> Path:
    """The file of a report, in a folder that is there."""
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder: give the report a file name, e.g. {file / 'report.html'}.")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dope")
    except PackageNotFoundError:  # run from a source tree
        return f"(Python {platform.python_version()})"
