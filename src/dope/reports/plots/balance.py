"""The love plot: in which directions the weighted points fail to stand for the domain."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from scipy.special import ndtri

from dope.diagnostics import Balance, Diagnosis
from dope.reports.palette import LIGHT
from dope.reports.plots import canvas

# The diagnosis calls an imbalance chance by the same rule: over all directions together, at 1 %.
_CHANCE = 0.01


def balance(diagnosis: Diagnosis, ax: Axes | None = None) -> Axes:
    """The z-score of each test direction as a dot, with what chance alone gives shaded: `fit.diagnose(g)`, drawn.

    A dot outside the shade is hollow, and carries the size of the imbalance: the share of an operator error of that
    shape which the correction leaves or invents. Small sizes do no harm, however certain they are.
    """
    even = diagnosis.balance
    ax = canvas.axes(ax, 4.2, 0.9 + 0.26 * len(even.names))
    limit = chance_limit(even)
    places = -np.arange(len(even.names))
    beyond = np.abs(even.z) > limit
    canvas.open_frame(ax)
    ax.spines["left"].set_visible(False)
    ax.axvspan(-limit, limit, color=LIGHT.shade, alpha=0.6, linewidth=0, zorder=0)
    ax.axvline(0, color=LIGHT.muted, linewidth=1, zorder=1)
    ax.hlines(places, 0, even.z, color=LIGHT.muted, linewidth=0.8, zorder=1)
    ax.plot(even.z[~beyond], places[~beyond], "o", color=LIGHT.debiased, markersize=6)
    ax.plot(even.z[beyond], places[beyond], "o", color=LIGHT.plugin, markerfacecolor="none", markersize=6.5,
            markeredgewidth=1.7)  # fmt: skip
    for z, y, size in zip(even.z[beyond], places[beyond], even.size[beyond], strict=True):
        # right of the dot, or of the axis: on the left it would run into the names
        ax.annotate(f"{100 * abs(size):.2g} %", (max(z, 0.0), y), (8, 0), textcoords="offset points", va="center",
                    fontsize="small")  # fmt: skip
    reach = max(1.25 * float(np.abs(even.z).max()), 1.6 * float(even.z.max()), 1.25 * limit)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(places[-1] - 0.6, 0.6)
    ax.set_yticks(places, even.names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.set_xlabel("imbalance in standard errors")
    canvas.heading(ax, diagnosis.functional, fontsize="medium")
    return ax


def chance_limit(even: Balance) -> float:
    """The largest |z| that chance gives to any of the directions, but for once in a hundred fits."""
    return float(-ndtri(_CHANCE / 2 / len(even.z)))
