"""Where plots are drawn, and the little they have in common."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from dope.data import Grid
from dope.reports.clean import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Axis labels of coordinates, which carry no names of their own.
_COORDINATES = ("x", "y", "z")


def figure(width: float, height: float) -> Figure:
    """A figure that belongs to nobody; at an interactive prompt one that pyplot shows."""
    if hasattr(sys, "ps1"):
        import matplotlib.pyplot as plt

        return plt.figure(figsize=(width, height), layout="constrained")
    return Figure(figsize=(width, height), layout="constrained")


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes handed in, or new ones."""
    return figure(width, height).add_subplot() if ax is None else ax


def open_frame(ax: Axes) -> None:
    """No box around the data: two spines are enough to read positions from."""
    ax.spines[["top", "right"]].set_visible(False)


def heading(ax: Axes, text: str, **how: Any) -> None:
    # a user's "$" is a dollar, not the beginning of a formula
    ax.set_title(clean(text), loc="left", parse_math=False, **how)


def coordinate(grid: Grid, axis: int = 0, label: str | None = None) -> str:
    """The name of an axis: its label where it has one."""
    if label is not None:
        return clean(label)
    return _COORDINATES[axis] if grid.ndim <= len(_COORDINATES) else f"x{axis + 1}"
