"""The figures of a study, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dope.data import DataError
from dope.studies.layout import grouped
from dope.studies.panels import NAMES, PUBLISHED, axis_name, coverage, ratio, rmse, robustness, title_of
from dope.studies.results import Results
from dope.studies.slopes import Slope
from dope.studies.table import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
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
                    ax.set_title(title_of(group[0]), loc="left", parse_math=False)
                if i + 1 < len(measures):
                    ax.set_xlabel("")
                if j and ax.get_ylabel():
                    ax.set_ylabel("")
        _legend(fig, [ax for row in axes for ax in row])

    rows = len(measures)
    size = (max(4.2, _WIDTH * len(columns)), _HEIGHT * rows + _LEGEND)
    shown = ", ".join(_MEASURES[m] for m in measures)
    first = columns[0][0]
    caption = f"{first.study}, protocol {protocol}: {shown} against {axis_name(first)}."
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
    names = [label for label in entries if not label.endswith(PUBLISHED)]
    names.sort(key=lambda label: label != NAMES["floor"])
    order = [n for name in names for n in (name, name + PUBLISHED) if n in entries]
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
