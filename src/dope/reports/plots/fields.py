"""Predicted fields of single units, with their observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from dope.reports.palette import LIGHT
from dope.reports.plots import canvas
from dope.scores import Prediction


def fields(
    prediction: Prediction, units: int | Sequence[int] = 6, ax: Sequence[Axes] | np.ndarray | None = None
) -> np.ndarray:
    """Small multiples of predicted fields with their observations; returns the array of axes.

    units : how many, spread evenly from the best to the worst predicted unit; or positions of units.
    ax : as many axes as units.
    """
    chosen = representative(prediction, units) if isinstance(units, int) else [int(i) for i in units]
    if ax is None:
        across = min(len(chosen), 3)
        down = math.ceil(len(chosen) / across)
        fig = canvas.figure(2.9 * across, 2.3 * down)
        places = fig.subplots(down, across, squeeze=False).ravel()
        for spare in places[len(chosen) :]:
            spare.set_visible(False)
        places = places[: len(chosen)]
    else:
        places = np.asarray(ax, dtype=object).ravel()
    for place, unit in zip(places, chosen, strict=True):
        field(prediction, unit, place, limits=limits(prediction, chosen))
    return places


def representative(prediction: Prediction, count: int) -> list[int]:
    """Positions of units spread evenly from the best to the worst predicted at its own observations."""
    error = residual_rms(prediction)
    order = np.argsort(np.where(np.isfinite(error), error, np.inf), kind="stable")
    observed = order[: max(1, int(np.isfinite(error).sum()))]
    ranks = np.linspace(0, len(observed) - 1, min(count, len(observed))).round().astype(int)
    return [int(i) for i in observed[np.unique(ranks)]]


def residual_rms(prediction: Prediction) -> np.ndarray:
    """`(n,)`: root mean square of observation less prediction; NaN for a unit without observations."""
    mean = prediction.average(prediction.residual**2)
    return np.where(prediction.data.counts > 0, np.sqrt(mean), np.nan)


def limits(prediction: Prediction, units: Sequence[int]) -> tuple[float, float]:
    """The range of the fields and the observations of these units."""
    values = prediction.data.values[units]
    shown = np.concatenate([prediction.field[units].ravel(), values[np.isfinite(values)]])
    return float(shown.min()), float(shown.max())


def field(
    prediction: Prediction, unit: int, ax: Axes | None = None, *, limits: tuple[float, float] | None = None
) -> Axes:
    """The predicted field of one unit: a line in 1-D, an image in 2-D, the middle slice in more dimensions."""
    ax = canvas.axes(ax, 3.2, 2.4)
    data, error = prediction.data, residual_rms(prediction)[unit]
    low, high = _range(limits, prediction, unit)
    canvas.heading(ax, f"unit {data.ids[unit]}, rms {error:.2g}" if np.isfinite(error) else f"unit {data.ids[unit]}",
                   fontsize="medium")  # fmt: skip
    if data.grid.ndim == 1:
        _line(ax, prediction, unit)
        room = 0.06 * (high - low)
        ax.set_ylim(low - room, high + room)
    else:
        _image(ax, prediction, unit, Normalize(low, high))
    return ax


def _range(limits: tuple[float, float] | None, prediction: Prediction, unit: int) -> tuple[float, float]:
    if limits is None:
        values = prediction.data.values[unit]
        shown = np.concatenate([prediction.field[unit].ravel(), values[np.isfinite(values)]])
        limits = float(shown.min()), float(shown.max())
    low, high = limits
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _line(ax: Axes, prediction: Prediction, unit: int) -> None:
    data = prediction.data
    canvas.open_frame(ax)
    ax.plot(data.grid.axes[0].nodes, prediction.field[unit], color=LIGHT.debiased, linewidth=1.8, zorder=2)
    seen = data.observed[unit]
    # hollow, so that the line stays visible where it is right
    ax.plot(data.points[unit, seen, 0], data.values[unit, seen], "o", color=LIGHT.plugin, markerfacecolor="none",
            markersize=4.5, markeredgewidth=1.2, zorder=3)  # fmt: skip
    ax.set_xlabel(canvas.coordinate(data.grid))
    ax.set_ylabel("u")


def _image(ax: Axes, prediction: Prediction, unit: int, norm: Normalize) -> None:
    data = prediction.data
    picture = image(ax, data.grid, prediction.field[unit], norm=norm)
    if data.grid.ndim == 2:
        seen = data.observed[unit]
        place = data.points[unit, seen]
        ax.scatter(place[:, 0], place[:, 1], c=data.values[unit, seen], norm=norm, cmap="viridis", s=22,
                   edgecolors="white", linewidths=0.9, zorder=3)  # fmt: skip
    bar = ax.figure.colorbar(picture, ax=ax, fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)  # type: ignore[operator]


def image(ax: Axes, grid: Any, values: np.ndarray, **how: Any) -> Any:
    """A field on the first two axes of its grid, at the middle of all others."""
    middle = values[(slice(None), slice(None), *(s // 2 for s in values.shape[2:]))]
    first, second = (grid.axes[k].nodes for k in (0, 1))
    # one picture, not one polygon a cell: a page of vectors would weigh megabytes
    mesh = ax.pcolormesh(first, second, middle.T, shading="nearest", cmap="viridis", rasterized=True, **how)
    spans = [grid.axes[k].upper - grid.axes[k].lower for k in (0, 1)]
    if 1 / 3 < spans[0] / spans[1] < 3:
        ax.set_aspect("equal")
    ax.set_xlabel(canvas.coordinate(grid, 0))
    ax.set_ylabel(canvas.coordinate(grid, 1))
    return mesh
