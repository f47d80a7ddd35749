"""The distribution of the scores whose mean is the estimate."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dope.inference import Estimate
from dope.inference.tables import records
from dope.reports.palette import LIGHT
from dope.reports.plots import canvas

_BINS = (8, 40)


def scores(est: Estimate, ax: Axes | None = None, functional: int | str = 0) -> Axes:
    """Histogram of each unit's debiased score, with its plug-in part as an outline, the estimate and its interval.

    Where units are weighted, each counts by its weight.

    functional : name or position, where there are several.
    """
    ax = canvas.axes(ax, 3.6, 2.4)
    k = est.names.index(functional) if isinstance(functional, str) else range(len(est))[functional]
    row = records(est, est.level)[k]
    # over repeats each unit has several scores; their median is what the estimate is built from
    psi, plugin = (np.median(table[:, :, k], axis=0) for table in (est.scores.psi, est.scores.plugin))
    both = np.concatenate([psi, plugin])
    edges = np.histogram_bin_edges(both, bins="auto")
    if not _BINS[0] <= len(edges) - 1 <= _BINS[1]:
        edges = np.histogram_bin_edges(both, bins=int(np.clip(len(edges) - 1, *_BINS)))
    canvas.open_frame(ax)
    ends = (row["low"], row["high"])
    if np.isfinite(ends).all():
        ax.axvspan(*ends, color=LIGHT.debiased, alpha=0.25, linewidth=0, zorder=1.5)
    weight = est.scores.relative_weight
    ax.hist(psi, edges, weights=weight, color=LIGHT.shade, edgecolor=LIGHT.muted, linewidth=0.5, zorder=1)
    ax.hist(plugin, edges, weights=weight, histtype="step", color=LIGHT.plugin, linewidth=1.5, zorder=2)
    ax.axvline(row["estimate"], color=LIGHT.debiased, linewidth=2, zorder=3)
    ax.set_ylabel("units" if weight is None else "units, weighted")
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.xaxis.set_major_locator(MaxNLocator(4))
    canvas.heading(ax, row["name"], fontsize="medium")
    return ax
