"""Where the observations lie, and the weights that even them out."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dope.data import Grid, OperatorData
from dope.reports.palette import LIGHT
from dope.reports.plots import canvas
from dope.reports.plots.fields import image
from dope.scores import Prediction

_BINS = 24
_POINTS = 1500


def weights(prediction: Prediction, ax: Axes | None = None, *, label: str | None = None) -> Axes:
    """The weights `xi` over the domain, against how densely it was observed.

    In 1-D: bars for the density of the points relative to the reference measure, a line for the mean weight over
    units and a band from its 5 % to its 95 % quantile. Where points are twice as dense, the weight should be a half.
    In 2-D: the mean weight as an image, with the points; in more dimensions its middle slice.

    label : of the coordinate, in 1-D.
    """
    ax = canvas.axes(ax, 4.8, 3.0)
    if prediction.xi is None:
        raise ValueError("directly learned weights have no design factor to draw")
    if prediction.data.grid.ndim > 1:
        return _image(ax, prediction.data, prediction.xi)
    return _curves(ax, prediction.data, prediction.xi, label)


def _curves(ax: Axes, data: OperatorData, xi: np.ndarray, label: str | None) -> Axes:
    canvas.open_frame(ax)
    nodes = data.grid.axes[0].nodes
    edges, density = relative_density(data)
    ax.stairs(density, edges, fill=True, color=LIGHT.shade, label="density of points")
    low, high = np.quantile(xi, [0.05, 0.95], axis=0)
    band = "weights, 5 % to 95 % of units"
    ax.fill_between(nodes, low, high, color=LIGHT.debiased, alpha=0.25, linewidth=0, label=band)
    ax.plot(nodes, xi.mean(0), color=LIGHT.debiased, linewidth=2, label="weights, mean")
    ax.axhline(1, color=LIGHT.muted, linewidth=1, linestyle=(0, (2, 2)))
    ax.set_ylim(0, 1.08 * max(float(density.max()), float(high.max()), 1.0))
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel(canvas.coordinate(data.grid, label=label), parse_math=False)
    ax.set_ylabel("relative to even")
    return ax


def relative_density(data: OperatorData, bins: int = _BINS) -> tuple[np.ndarray, np.ndarray]:
    """Edges and, between them, the share of the points over the share of the reference measure (1-D)."""
    line, mass = data.grid.axes[0], data.grid.weights
    middles = (line.nodes[1:] + line.nodes[:-1]) / 2
    # edges lie between nodes, so that every bin holds whole nodes: their points and their mass
    inner = np.unique(np.linspace(0, len(line.nodes), min(bins, len(line.nodes)) + 1).round().astype(int))[1:-1]
    edges = np.concatenate([[line.lower], middles[inner - 1], [line.upper]])
    count, _ = np.histogram(data.points[data.observed][:, 0], edges)
    held = np.add.reduceat(mass, np.concatenate([[0], inner]))
    return edges, np.divide(count / max(count.sum(), 1), held, out=np.zeros(len(held)), where=held > 0)


def _image(ax: Axes, data: OperatorData, xi: np.ndarray) -> Axes:
    grid: Grid = data.grid
    picture = image(ax, grid, xi.mean(0))
    bar = ax.figure.colorbar(picture, ax=ax, fraction=0.05, pad=0.03, label="mean weight")
    bar.outline.set_visible(False)  # type: ignore[operator]
    if grid.ndim == 2:
        points = data.points[data.observed]
        points = points[:: max(1, len(points) // _POINTS)]
        ax.scatter(points[:, 0], points[:, 1], s=7, facecolors="none", edgecolors="white", linewidths=0.7, alpha=0.8)
    return ax
