"""Pictures of a study: functions that draw on axes and return them, and the figures that are made of these.

Nothing global changes, neither rcParams nor pyplot's figures. matplotlib is loaded when the first axes are drawn on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.data import DataError
from dope.studies.layout import grouped, ordered
from dope.studies.results import Results
from dope.studies.slopes import Slope
from dope.studies.table import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
_NAMES = {"floor": "floor (true values)", "plugin": "plug-in", "plugin S": "plug-in, S", "auto": "debiased",
          "auto+tuned": "debiased, tuned PPI", "auto+paper": "debiased, plain PPI",
          "one-step+tuned": "one-step, tuned PPI", "one-step+paper": "one-step, plain PPI",
          "direct+tuned": "direct, tuned PPI", "direct+paper": "direct, plain PPI"}  # fmt: skip
_PUBLISHED = ", published"
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
_MOST, _COLUMNS = 6, 3
_LEVEL = 0.95
# Settings that double from one to the next.
_DOUBLING = ("n", "n2")
_WIDTH, _HEIGHT, _LEGEND = 3.1, 2.5, 0.7
# Of an entry of a legend: inches for a letter of its words, and for all else.
_LETTER, _MARK = 0.07, 0.7


@dataclass(frozen=True)
class Picture:
    """A figure that is not drawn yet: a name for its files, what it shows, and its size in inches."""

    name: str
    caption: str
    size: tuple[float, float]
    draw: Callable[[Figure], object]


# ---- on one axes ------------------------------------------------------------------------------------------
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
                    linestyle=(0, (1, 2)), label=_name(name) + _PUBLISHED, zorder=2)  # fmt: skip
    _setting_axis(ax, group)
    _open_frame(ax)


def _setting_axis(ax: Axes, group: Sequence[Summary]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    name, values = _axis_name(group[0]), sorted({s.value for s in group})
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


def _axis_name(s: Summary) -> str:
    # "s=0.25, n": what varies comes last
    return s.setting.rpartition(",")[2].strip()


def _title(s: Summary) -> str:
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
    return _NAMES.get(estimator, estimator)


def _values(at: Sequence[Summary], of: Callable[[Summary], float | None]) -> np.ndarray:
    return np.array([np.nan if (v := of(s)) is None else v for s in at], dtype=float)


def _open_frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


# ---- whole figures ----------------------------------------------------------------------------------------
# The measures of a study, one below the other.
_ROWS: dict[str, tuple[Callable[..., Any], ...]] = {
    "pk-coverage": (coverage,),
    "rates": (ratio, coverage),
    "shift": (rmse, coverage),
}


def pictures(found: Results) -> Iterator[Picture]:
    """The figures of everything that was found; settings of a single value have none."""
    studies: dict[tuple[str, str, str], list[list[Summary]]] = {}
    for group in grouped(found.table):
        first = group[0]
        if len({s.value for s in group}) > 1:
            studies.setdefault((first.study, first.backbone, first.protocol), []).append(group)
    for (study, backbone, protocol), groups in studies.items():
        here = [s for s in found.slopes if (s.study, s.backbone, s.protocol) == (study, backbone, protocol)]
        asked = {group[0].functional for group in groups}
        here = [s for s in here if s.functional in asked and len(s.deltas) > 1]
        if here:
            yield _bias_picture(study, protocol, here)
        elif len({group[0].setting for group in groups}) > 1:  # a figure for each functional, a column for each line
            for functional in dict.fromkeys(group[0].functional for group in groups):
                columns = [group for group in groups if group[0].functional == functional]
                yield _picture(f"{study}-{functional}", protocol, columns)
        else:
            parts = [groups[k : k + _COLUMNS] for k in range(0, len(groups), _COLUMNS)]
            for k, part in enumerate(parts):
                name = f"{study}-{k + 1}" if len(parts) > 1 else study
                yield _picture(name, protocol, part)


def _picture(name: str, protocol: str, columns: Sequence[Sequence[Summary]]) -> Picture:
    measures = _ROWS.get(columns[0][0].study, (rmse, coverage) if not _has_published(columns) else (rmse,))

    def draw(fig: Figure) -> None:
        # columns of one functional have one scale; functionals have units of their own
        shared = len({group[0].functional for group in columns}) == 1
        everything = [s for group in columns for s in group] if shared else []
        axes = fig.subplots(len(measures), len(columns), squeeze=False, sharex="col", sharey="row" if shared else False)
        for i, measure in enumerate(measures):
            for j, group in enumerate(columns):
                ax = measure(group, axes[i, j], everything)
                if i == 0:
                    ax.set_title(_title(group[0]), loc="left", parse_math=False)
                if i + 1 < len(measures):
                    ax.set_xlabel("")
                if j and ax.get_ylabel():
                    ax.set_ylabel("")
        _legend(fig, [ax for row in axes for ax in row])

    rows = len(measures)
    size = (max(4.2, _WIDTH * len(columns)), _HEIGHT * rows + _LEGEND)
    shown = ", ".join(_MEASURES[m] for m in measures)
    first = columns[0][0]
    caption = f"{first.study}, protocol {protocol}: {shown} against {_axis_name(first)}."
    if rmse in measures:
        caption += " Bars are two Monte-Carlo standard errors either way."
    if _has_published(columns):
        caption += " Hollow marks are published figures."
    if coverage in measures:
        caption += " Coverage agrees with 95 % where it is shaded."
    return Picture(f"{name}-{protocol}", caption, size, draw)


_MEASURES = {rmse: "root mean squared error", ratio: "RMSE over the floor's", coverage: "coverage of 95 % intervals"}


def _has_published(columns: Sequence[Sequence[Summary]]) -> bool:
    return any((s.published_rmse, s.published_coverage) != (None, None) for group in columns for s in group)


def _bias_picture(study: str, protocol: str, slopes: Sequence[Slope]) -> Picture:
    functionals = list(dict.fromkeys(s.functional for s in slopes))

    def draw(fig: Figure) -> None:
        for ax, g in zip(fig.subplots(1, len(functionals), squeeze=False)[0], functionals, strict=True):
            robustness([s for s in slopes if s.functional == g], ax)
            ax.set_title(g, loc="left", parse_math=False)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), frameon=False, fontsize="small",
                      title="slope (standard error)", title_fontsize="small")  # fmt: skip

    caption = (
        f"{study}, protocol {protocol}: absolute bias, paired with the floor of the same repeats, when the nuisances "
        f"are made worse; slopes in log({slopes[0].size})."
    )
    return Picture(f"{study}-{protocol}", caption, (max(4.2, 3.9 * len(functionals)), 4.3), draw)


def _legend(fig: Figure, axes: Sequence[Axes]) -> None:
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    names = [label for label in entries if not label.endswith(_PUBLISHED)]
    names.sort(key=lambda label: label != _NAMES["floor"])
    order = [n for name in names for n in (name, name + _PUBLISHED) if n in entries]
    columns = max(1, int(fig.get_figwidth() / (_LETTER * max(map(len, order)) + _MARK)))
    fig.legend([entries[n] for n in order], order, loc="outside lower center", ncols=columns, frameon=False,
               fontsize="small")  # fmt: skip


# ---- files ------------------------------------------------------------------------------------------------
def save_figures(found: Results, folder: str | Path) -> list[Path]:
    """Write every figure as SVG and as PNG, and return the files."""
    import matplotlib
    from matplotlib.figure import Figure

    from dope.reports.svg import drawing

    place = Path(folder)
    out = []
    try:
        place.mkdir(parents=True, exist_ok=True)
        for picture in pictures(found):
            # letters as outlines: the same on every machine, and in every program for papers
            with drawing(), matplotlib.rc_context({"svg.fonttype": "path"}):
                fig = Figure(figsize=picture.size, layout="constrained")
                picture.draw(fig)
                for kind in ("svg", "png"):
                    file = place / f"{_file_name(picture.name)}.{kind}"
                    # no date: the same results give the same file
                    fig.savefig(file, facecolor="white", dpi=160, metadata={"Date": None} if kind == "svg" else None)
                    out.append(file)
    except OSError as error:
        raise DataError(f"figures cannot be written to {place}: {error.strerror or error}.") from None
    return out


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
