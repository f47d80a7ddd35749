"""Estimates with their intervals, and the plug-in beside each."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dope.inference import Estimate
from dope.inference.tables import records
from dope.reports.clean import clean
from dope.reports.palette import LIGHT
from dope.reports.plots import canvas


def forest(
    est: Estimate,
    ax: Axes | Sequence[Axes] | np.ndarray | None = None,
    *,
    truth: Mapping[str, float] | None = None,
    legend: bool = True,
) -> Any:
    """Debiased estimates with intervals, the plug-in as a hollow square and, where known, the truth as a line.

    ax : one axes for all functionals, or one axes each; by default each has its own scale, because functionals
        are measured in different units.

    Returns the axes, or the array of them.
    """
    rows = records(est, est.level)
    if ax is None:
        fig = canvas.figure(4.8, 0.75 + 0.8 * len(rows))
        ax = fig.subplots(len(rows), 1, squeeze=False)[:, 0]
        ax = ax[0] if len(rows) == 1 else ax
    shared = isinstance(ax, Axes)
    places: list[Axes] = [ax] if shared else list(ax)  # type: ignore[arg-type,list-item]
    groups = [rows] if shared else [[row] for row in rows]
    for place, group in zip(places, groups, strict=True):
        _draw(place, group, est.level, truth or {}, named=not shared)
    if legend:
        handles, labels = places[0].get_legend_handles_labels()
        places[-1].legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.55 if len(groups[-1]) == 1 else -0.15),
            ncols=3,
            frameon=False,
            fontsize="small",
        )
    return ax


def _draw(
    ax: Axes, rows: Sequence[Mapping[str, Any]], level: float, truth: Mapping[str, float], *, named: bool
) -> None:
    canvas.open_frame(ax)
    ax.spines["left"].set_visible(False)
    for k, row in enumerate(rows):
        y, first = -k, k == 0
        ends = np.array([row["low"], row["high"]])
        if np.isfinite(ends).all():
            ax.plot(ends, [y, y], color=LIGHT.debiased, linewidth=2.2, solid_capstyle="butt", marker="|", markersize=9)
        else:
            at = (row["estimate"], y)
            ax.annotate("no bounded interval", at, (0, 8), textcoords="offset points", fontsize="small")
        label = f"debiased, {100 * level:g} % interval" if first else None
        ax.plot(row["estimate"], y, "o", color=LIGHT.debiased, markersize=7, label=label)
        hollow = {"markerfacecolor": "none", "markeredgecolor": LIGHT.plugin, "markeredgewidth": 1.6}
        ax.plot(row["plugin"], y - 0.3, "s", markersize=6.5, label="plug-in" if first else None, **hollow)
        if row["warning"]:
            ax.annotate("see warnings", (1, y + 0.18), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                        fontsize="small", color=LIGHT.plugin)  # fmt: skip
        if row["name"] in truth:
            at = float(truth[row["name"]])
            ax.plot([at, at], [y - 0.48, y + 0.35], color=LIGHT.truth, linewidth=2, linestyle=(0, (3, 1.5)),
                    label="truth" if first else None)  # fmt: skip
    ax.set_ylim(-len(rows) + 0.4, 0.5)
    ax.margins(x=0.08)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    if named:
        ax.set_yticks([])
        canvas.heading(ax, textwrap.shorten(rows[0]["name"], 60, placeholder=" ..."), fontsize="medium")
    else:
        names = [textwrap.fill(clean(row["name"]), 24) for row in rows]
        ax.set_yticks([-k for k in range(len(rows))], names, parse_math=False)
        ax.tick_params(axis="y", length=0)
