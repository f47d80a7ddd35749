"""What a second stage found: a curve over one feature, or the means of groups."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes

from dope.data import DataError
from dope.inference import Regression
from dope.inference.features import Column
from dope.reports.clean import clean
from dope.reports.palette import LIGHT
from dope.reports.plots import canvas

_PLACES = 121
# Labels longer than this many characters a group need another line, and more groups than this stand at an angle.
_LINE, _UPRIGHT = 14, 6


def second_stage(regression: Regression, ax: Axes | None = None) -> Axes:
    """`est.regress(...)`, drawn: a curve over one numeric feature, or a bar for the mean of each label.

    regression : of one feature, a spline or a line, or of labels alone.

    The darker band, or the thick line on a bar, covers each place by itself; the lighter one, or the thin line,
    all of them at once. A line is drawn over the features' range in the fit, a spline between its outer knots.
    """
    basis = getattr(regression, "basis", None)
    if basis is None:
        raise DataError(
            f"{type(regression).__name__} without features cannot be drawn: pass what est.regress(features) gives "
            "for labels, one number or a spline; of a learner, draw its predict()."
        )
    if len(basis.columns) > 1:
        names = ", ".join(clean(c.name) for c in basis.columns)
        raise DataError(f"a second stage of one feature can be drawn, this one has {len(basis.columns)}: {names}.")
    ax = canvas.axes(ax, 4.8, 3.0)
    canvas.open_frame(ax)
    (column,) = basis.columns
    if basis.means:
        return _bars(ax, regression)
    ends = column.span if basis.knots is None else (basis.knots[0], basis.knots[-1])
    assert ends is not None  # labels beside nothing else are means
    return _curve(ax, regression, column, ends)


def _curve(ax: Axes, regression: Regression, column: Column, ends: tuple[float, float]) -> Axes:
    x = np.linspace(*ends, _PLACES)
    p = regression.predict(x)
    percent = f"{100 * p.level:g} %"
    shade = {"color": LIGHT.debiased, "linewidth": 0}
    ax.fill_between(x, p.band_low, p.band_high, alpha=0.15, label=f"{percent}, all places at once", **shade)
    ax.fill_between(x, p.low, p.high, alpha=0.3, label=f"{percent}, each place", **shade)
    ax.plot(x, p.value, color=LIGHT.debiased, linewidth=2, label="mean")
    ax.set_xlim(*ends)
    ax.set_xlabel(clean(column.name), parse_math=False)
    ax.set_ylabel("mean")
    return ax


def _bars(ax: Axes, regression: Regression) -> Axes:
    each, together = regression.conf_int(), regression.joint_conf_int()
    places = np.arange(len(regression.names))
    percent = f"{100 * regression.level:g} %"
    ax.bar(places, regression.coef, width=0.62, color=LIGHT.shade, edgecolor=LIGHT.muted, linewidth=0.6, label="mean")
    ax.vlines(places, *together.T, color=LIGHT.debiased, linewidth=1.2, label=f"{percent}, all groups at once")
    ax.vlines(places, *each.T, color=LIGHT.debiased, linewidth=4.5, label=f"{percent}, each group")
    ax.plot(places, regression.coef, "o", color=LIGHT.paper, markeredgecolor=LIGHT.debiased, markersize=4.5, zorder=3)
    ax.axhline(0, color=LIGHT.muted, linewidth=1)
    names = [textwrap.fill(clean(name), _LINE) for name in regression.names]
    tilt = {} if len(names) <= _UPRIGHT else {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(places, names, parse_math=False, **tilt)
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel("mean")
    return ax
