"""Where commands print."""

from __future__ import annotations

from rich.console import Console

# Tables are made for this width and use no more where there is more.
WIDTH = 80


def console() -> Console:
    """Standard output, at most 80 columns; plain text where it is no terminal or NO_COLOR is set."""
    out = Console(highlight=False, soft_wrap=False)
    return Console(highlight=False, width=min(out.width, WIDTH))


def progress_console() -> Console:
    """Standard error, for what is under way: a pipe gets the answers only."""
    return Console(stderr=True, highlight=False)
