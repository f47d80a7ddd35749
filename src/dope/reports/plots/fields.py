"""Predicted fields of single units, with their observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from dope.reports.clean import clean
from dope.reports.palette import LIGHT
from dope.reports.plots import canvas
from dope.scores import Prediction

# A band needs so many residuals around each node, and takes this share of all; more than so many are thinned out.
_FEWEST, _NEAR, _MOST = 40, 0.1, 20_000


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


def limits(
    prediction: Prediction, units: Sequence[int], band: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[float, float]:
    """The range of the fields, with the band around them, and of the observations of these units."""
    values = prediction.data.values[units]
    around = [prediction.field[units] + side for side in band or (0.0,)]
    shown = np.concatenate([*(a.ravel() for a in around), values[np.isfinite(values)]])
    return float(shown.min()), float(shown.max())


def residual_band(prediction: Prediction, share: float = 0.95) -> tuple[np.ndarray, np.ndarray] | None:
    """Below and above the predictions, at every node of a line: where this share of all units' observations lie.

    Taken from the residuals nearest to the node, so it holds noise and the operator's error alike, for a unit like
    the others. None in more dimensions, and where observations are too few for it.
    """
    data = prediction.data
    place, residual = data.points[data.observed][:, 0], prediction.residual[data.observed]
    if data.grid.ndim > 1 or len(residual) < _FEWEST:
        return None
    step = -(-len(residual) // _MOST)
    order = np.argsort(place, kind="stable")[::step]
    place, residual = place[order], residual[order]
    count = min(len(place), max(_FEWEST, int(_NEAR * len(place))))
    start = np.clip(np.searchsorted(place, data.grid.axes[0].nodes) - count // 2, 0, len(place) - count)
    near = np.lib.stride_tricks.sliding_window_view(residual, count)
    low, high = np.quantile(near[start], [(1 - share) / 2, (1 + share) / 2], axis=1)
    return low, high


def field(
    prediction: Prediction,
    unit: int,
    ax: Axes | None = None,
    *,
    limits: tuple[float, float] | None = None,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    labels: tuple[str | None, str | None] = (None, None),
) -> Axes:
    """The predicted field of one unit: a line in 1-D, an image in 2-D, the middle slice in more dimensions.

    band : what `residual_band` gives, drawn around the line.
    labels : of the coordinate and of the value, in 1-D.
    """
    ax = canvas.axes(ax, 3.2, 2.4)
    data, error = prediction.data, residual_rms(prediction)[unit]
    low, high = _range(limits, prediction, unit)
    canvas.heading(ax, f"unit {data.ids[unit]}, rms {error:.2g}" if np.isfinite(error) else f"unit {data.ids[unit]}",
                   fontsize="medium")  # fmt: skip
    if data.grid.ndim == 1:
        _line(ax, prediction, unit, band, labels)
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


def _line(
    ax: Axes,
    prediction: Prediction,
    unit: int,
    band: tuple[np.ndarray, np.ndarray] | None,
    labels: tuple[str | None, str | None],
) -> None:
    data = prediction.data
    canvas.open_frame(ax)
    if band is not None:
        around = (prediction.field[unit] + side for side in band)
        ax.fill_between(data.grid.axes[0].nodes, *around, color=LIGHT.debiased, alpha=0.2, linewidth=0, zorder=1)
    ax.plot(data.grid.axes[0].nodes, prediction.field[unit], color=LIGHT.debiased, linewidth=1.8, zorder=2)
    seen = data.observed[unit]
    # hollow, so that the line stays visible where it is right
    ax.plot(data.points[unit, seen, 0], data.values[unit, seen], "o", color=LIGHT.plugin, markerfacecolor="none",
            markersize=4.5, markeredgewidth=1.2, zorder=3)  # fmt: skip
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 3, 4, 5, 6, 10]))
    ax.set_xlabel(canvas.coordinate(data.grid, label=labels[0]), parse_math=False)
    ax.set_ylabel(clean(labels[1] or "u"), parse_math=False)


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
