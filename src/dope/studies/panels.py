"""One measure of a study on one axes: functions that draw and return them.

Nothing global changes, neither rcParams nor pyplot's figures. matplotlib is loaded when the first axes are drawn on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dope.studies.layout import ordered
from dope.studies.slopes import Slope
from dope.studies.table import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's hues, darkened until they stand out from white by 3 to 1, and one marker each.
_BLUE, _SKY, _ORANGE, _GREEN, _PURPLE, _MUTED = "#0072b2", "#3b9bd9", "#c4500a", "#00795a", "#a04a80", "#57606a"
_LOOKS = {
    "floor": (_MUTED, ""),
    "plugin": (_ORANGE, "s"),
    "plugin S": (_ORANGE, "s"),
    "auto": (_BLUE, "o"),
    "exact": (_BLUE, "o"),
    "exact-design": ("#8a6d00", "P"),
    "exact S": (_BLUE, "o"),
    "auto+tuned": (_BLUE, "o"),
    "one-step": (_SKY, "^"),
    "one-step S": (_SKY, "^"),
    "one-step S+beta": (_GREEN, "D"),
    "one-step beta": (_PURPLE, "v"),
    "direct": (_PURPLE, "v"),
    "direct+paper": (_PURPLE, "v"),
    "structured": (_GREEN, "D"),
    "design": (_GREEN, "D"),
}
_SPARE = ((_PURPLE, "v"), (_GREEN, "D"), (_SKY, "^"), ("#8a6d00", "P"), ("#1f2328", "X"))
NAMES = {"floor": "floor (true values)", "plugin": "plug-in", "plugin S": "plug-in, S", "auto": "debiased",
          "auto+tuned": "debiased, tuned PPI", "auto+paper": "debiased, plain PPI",
          "one-step+tuned": "one-step, tuned PPI", "one-step+paper": "one-step, plain PPI",
          "direct+tuned": "direct, tuned PPI", "direct+paper": "direct, plain PPI"}  # fmt: skip
PUBLISHED = ", published"
# Of the many estimators of a study, those that a picture can hold and its point needs.
_DRAWN = {
    "pk-fno": ("plugin", "direct", "structured", "auto"),
    "pk-deeponet": ("plugin", "direct", "structured", "auto"),
    "darcy": ("plugin", "direct", "one-step", "auto"),
    "pk-coverage": ("plugin", "direct", "one-step", "auto"),
    "pk-ppi": ("plugin", "direct+paper", "auto+tuned"),
    "rates": ("plugin", "one-step", "auto"),
    "shift": ("plugin", "one-step", "auto"),
}
_MOST = 6
_LEVEL = 0.95
# Settings that double from one to the next.
_DOUBLING = ("n", "n2")


def rmse(group: Sequence[Summary], ax: Axes, beside: Sequence[Summary] = ()) -> Axes:
    """RMSE with two standard errors either way; published figures hollow, the floor dashed.

    beside : what other axes show on the same scale.
    """
    _measure(group, ax, lambda s: s.rmse, lambda s: s.rmse_se, lambda s: s.published_rmse)
    ax.set_ylabel("RMSE")
    shown = [s.rmse for s in _drawn([*group, *beside]) if np.isfinite(s.rmse) and s.rmse > 0]
    if shown and max(shown) > 8 * min(shown):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
        ax.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)
    return ax


def ratio(group: Sequence[Summary], ax: Axes, beside: Sequence[Summary] = ()) -> Axes:
    """RMSE as a multiple of the floor's."""
    _measure([s for s in group if s.estimator != "floor"], ax, lambda s: s.ratio_to_floor)
    ax.axhline(1, color=_MUTED, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    ax.set_ylabel("RMSE / floor")
    shown = [s.ratio_to_floor for s in _drawn([*group, *beside]) if s.ratio_to_floor]
    if shown and max(shown) > 4:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    return ax


def coverage(group: Sequence[Summary], ax: Axes, beside: Sequence[Summary] = ()) -> Axes:
    """Coverage of 95 % intervals; shaded where it lies within two standard errors of the nominal level."""
    _measure(group, ax, lambda s: s.coverage, None, lambda s: s.published_coverage)
    spread = 2 * np.sqrt(_LEVEL * (1 - _LEVEL) / min(s.repeats for s in group))
    ax.axhspan(_LEVEL - spread, min(_LEVEL + spread, 1.0), color="#d5dbe3", alpha=0.6, linewidth=0, zorder=0)
    ax.axhline(_LEVEL, color=_MUTED, linewidth=0.8, zorder=1)
    ax.set_ylabel("coverage")
    low = min((s.coverage for s in _drawn([*group, *beside])), default=0.0)
    ax.set_ylim(*((-0.04, 1.04) if low < 0.5 else (min(low, _LEVEL - spread) - 0.04, 1.01)))
    return ax


def robustness(slopes: Sequence[Slope], ax: Axes) -> Axes:
    """Paired |bias| against the size of the errors, both logarithmic, with the fitted lines and their slopes."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    ax.set_xscale("log")
    ax.set_yscale("log")
    for k, s in enumerate(slopes):
        colour, marker = _look(s.estimator, k)
        x, bias = s.offset + np.array(s.deltas), np.abs(s.bias)
        label = f"{_name(s.estimator)}: {s}"
        ax.errorbar(x, bias, s.bias_se, fmt=marker, color=colour, markersize=5, elinewidth=1, label=label)
        if s.slope is not None and (bias > 0).all():
            middle = np.exp(np.log(bias).mean() - s.slope * np.log(x).mean())
            ax.plot(x, middle * x**s.slope, color=colour, linewidth=1.2)
    offset = slopes[0].offset
    ticks = sorted({offset + d for s in slopes for d in s.deltas})
    ax.set_xticks(ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v - offset:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("delta (errors are 1 + delta times as large)" if offset else "delta (errors are proportional to it)")
    ax.set_ylabel("|bias|")
    _open_frame(ax)
    return ax


def _measure(
    group: Sequence[Summary],
    ax: Axes,
    of: Callable[[Summary], float | None],
    se: Callable[[Summary], float | None] | None = None,
    printed: Callable[[Summary], float | None] | None = None,
) -> None:
    shown = _drawn(group)
    for k, name in enumerate(dict.fromkeys(s.estimator for s in shown)):
        at = [s for s in shown if s.estimator == name]
        colour, marker = _look(name, k)
        x, y = _values(at, lambda s: s.value), _values(at, of)
        if name == "floor":
            ax.plot(x, y, color=colour, linewidth=1.4, linestyle=(0, (4, 2)), label=_name(name), zorder=1.5)
            continue
        bars = None
        if se is not None:  # an error is positive: so is the lower end of its bar, also with few repeats
            long = 2 * _values(at, se)
            bars = np.stack([np.minimum(long, 0.8 * y), long])
        ax.errorbar(x, y, bars, color=colour, marker=marker, markersize=4.5, linewidth=1.5, elinewidth=0.9,
                    label=_name(name), zorder=3)  # fmt: skip
        theirs = np.full(len(at), np.nan) if printed is None else _values(at, printed)
        if np.isfinite(theirs).any():
            ax.plot(x, theirs, color=colour, marker=marker, markersize=5, markerfacecolor="none", linewidth=0.9,
                    linestyle=(0, (1, 2)), label=_name(name) + PUBLISHED, zorder=2)  # fmt: skip
    _setting_axis(ax, group)
    _open_frame(ax)


def _setting_axis(ax: Axes, group: Sequence[Summary]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    name, values = axis_name(group[0]), sorted({s.value for s in group})
    ax.set_xlabel(name)
    if name not in _DOUBLING or len(values) < 2:
        ax.xaxis.set_major_locator(FixedLocator(values) if len(values) <= 6 else MaxNLocator(5))
        return
    if values[0] > 0:
        ax.set_xscale("log", base=2)
    else:  # as far from zero to the first as from one to the next
        ax.set_xscale("symlog", base=2, linthresh=values[1], linscale=1)
    ax.xaxis.set_major_locator(FixedLocator(values))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    if len(values) > 5:
        ax.tick_params(axis="x", labelrotation=45)


def axis_name(s: Summary) -> str:
    # "s=0.25, n": what varies comes last
    return s.setting.rpartition(",")[2].strip()


def title_of(s: Summary) -> str:
    line = s.setting.rpartition(",")[0].strip()
    return f"{s.functional}, {line}" if line else s.functional


def _drawn(group: Sequence[Summary]) -> list[Summary]:
    """What a picture of these summaries shows: a choice of estimators, in the table's order."""
    there = list(dict.fromkeys(s.estimator for s in ordered(group)))
    chosen = [e for e in _DRAWN.get(group[0].study, ()) if e in there] if group else []
    chosen = chosen or [e for e in there if e != "floor"][:_MOST]
    return [s for s in ordered(group) if s.estimator in ("floor", *chosen)]


def _look(name: str, k: int) -> tuple[str, str]:
    return _LOOKS.get(name) or _SPARE[k % len(_SPARE)]


def _name(estimator: str) -> str:
    return NAMES.get(estimator, estimator)


def _values(at: Sequence[Summary], of: Callable[[Summary], float | None]) -> np.ndarray:
    return np.array([np.nan if (v := of(s)) is None else v for s in at], dtype=float)


def _open_frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
