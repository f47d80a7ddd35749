"""How far a study is, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(what: str, total: int, show: bool) -> Iterator[Callable[[str], None]]:
    """`step(name)` counts one cell; shows a bar with the time left where a person watches, else nothing."""
    if not show or not total:
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]:>16}"),
    )
    # Bound to the stream of now: cells that run in this process put another one in its place.
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, refresh_per_second=2, disable=not console.is_terminal) as bars:
        bar = bars.add_task(what, total=total, left="")
        begun, done = time.monotonic(), 0

        def step(name: str) -> None:
            nonlocal done
            done += 1
            # cells take minutes: rates over the last seconds, which bars usually go by, would say nothing
            left = (time.monotonic() - begun) / done * (total - done)
            bars.update(bar, completed=done, description=name[:24], left=f"{duration(left)} left")

        yield step


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
