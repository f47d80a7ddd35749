"""Telling a person how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called as `progress(what, done, total)`."""


def no_progress(what: str, done: int, total: int) -> None:
    """Say nothing."""


@contextmanager
def progress_bar(show: bool) -> Iterator[Progress]:
    """A rich bar for each thing under way, on stderr; nothing where nobody watches a terminal."""
    if not show:
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<26}"), BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, refresh_per_second=5, disable=not console.is_terminal) as bars:
        rows: dict[str, int] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in rows:
                rows[what] = bars.add_task(what, total=total)
            bars.update(rows[what], completed=done, total=total)  # type: ignore[arg-type]

        yield progress


def watched() -> bool:
    """Whether a person is likely to see a progress bar."""
    return sys.stderr.isatty()
