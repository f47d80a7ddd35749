"""What a printed table shows, worked out before any of it is written.

A section is a study under a protocol, a block one of its functionals: settings are the columns, estimators the lines,
as in the published tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dope.studies.published import published
from dope.studies.registry import STUDIES
from dope.studies.slopes import Slope
from dope.studies.table import Summary

MISSING = "-"
PUBLISHED = "published"
_LEVEL = 0.95
# Joint standard errors from the published figure at which a cell is named.
_FAR = 3.0
# What is shown besides RMSE, coverage and the ratio to the floor.
_FURTHER = {"pk-coverage": ("length",), "rates": ("bias",), "robustness": ("bias",), "shift": ("bias",)}


@dataclass(frozen=True)
class Cell:
    """A number as it is printed, and its standard error where it has one."""

    value: str = MISSING
    se: str = ""

    def __str__(self) -> str:
        return f"{self.value} ({self.se})" if self.se else self.value


@dataclass(frozen=True)
class Line:
    """One estimator over all settings, or the published figures of the estimator in the line above."""

    label: str
    cells: tuple[Cell, ...]

    @property
    def published(self) -> bool:
        return self.label == PUBLISHED


@dataclass(frozen=True)
class Panel:
    """One measure. Its numbers are multiplied by ten to the power `power`."""

    name: str
    power: int
    lines: tuple[Line, ...]

    def title(self, scale: str) -> str:
        """`scale` is how a format writes the power."""
        title = f"{self.name} {scale}" if self.power else self.name
        if any(cell.se for line in self.lines for cell in line.cells):
            title += ", standard error in parentheses"
        if any(line.published for line in self.lines):
            title += ", published figures below"
        return title


@dataclass(frozen=True)
class Block:
    """One functional of one study under one protocol, along one setting."""

    study: str
    backbone: str
    protocol: str
    functional: str
    setting: str
    values: tuple[float, ...]
    repeats: tuple[int, int]
    panels: tuple[Panel, ...]

    @property
    def about(self) -> str:
        """What the study's own record says; nothing for a study that this version does not know."""
        for record in STUDIES.get(self.study, ()):
            if (record.backbone == self.backbone and self.functional in record.functionals
                    and any(s.name == self.setting for s in record.settings)):  # fmt: skip
                return record.about
        return ""

    @property
    def many(self) -> str:
        """How many repeats stand behind a cell."""
        least, most = self.repeats
        return f"{most} repeat{'s' if most > 1 else ''}" if least == most else f"{least} to {most} repeats"


@dataclass(frozen=True)
class Section:
    """All blocks of one study under one protocol, and the slopes of a robustness study.

    `beside` says which of its numbers are far from the published ones.
    """

    study: str
    backbone: str
    protocol: str
    blocks: tuple[Block, ...]
    slopes: tuple[Slope, ...]
    beside: str

    @property
    def title(self) -> str:
        return f"{self.study}, protocol {self.protocol}"

    @property
    def about(self) -> str:
        about = dict.fromkeys(b.about for b in self.blocks if b.about)
        many = dict.fromkeys(b.many for b in self.blocks)
        return " ".join((*about, f"{', '.join(many)}.".capitalize()))

    @property
    def legend(self) -> str:
        """What the reader must know about the numbers."""
        fewest = min(b.repeats[0] for b in self.blocks)
        return (
            "floor: the mean of the true values of the same units, which no method that sees only them gets reliably "
            f"below. Over {fewest} repeats, a coverage of {_LEVEL:g} has a standard error of "
            f"{math.sqrt(_LEVEL * (1 - _LEVEL) / fewest):.2f}.{self.beside}"
        )


def sections(table: Sequence[Summary], slopes: Sequence[Slope] = ()) -> list[Section]:
    """The sections of a table, in its order."""
    out = []
    for place in dict.fromkeys(_section(s) for s in table):
        here = [s for s in table if _section(s) == place]
        asked = {s.functional for s in here}
        out.append(
            Section(
                *place,
                blocks=tuple(_block(group) for group in grouped(here)),
                slopes=tuple(s for s in slopes if _section(s) == place and s.functional in asked),
                beside=_beside_published(here),
            )
        )
    return out


def _beside_published(table: Sequence[Summary]) -> str:
    """How many RMSE stand beside a published one, and which are further off than chance explains."""
    count, far = 0, []
    for s in table:
        if s.published_rmse is None or s.published_se is None or s.rmse_se is None:
            continue
        count += 1
        off = (s.rmse - s.published_rmse) / math.hypot(s.rmse_se, s.published_se)
        if abs(off) > _FAR:
            far.append(f"{s.functional} {s.estimator} at {s.setting}={s.value:g} ({off:+.1f})")
    if not count:
        return ""
    named = f": {', '.join(far)}" if far else ""
    away = f"{len(far)} lie further than {_FAR:g} joint standard errors from it{named}."
    return f" Of {count} RMSE beside a published one {away}"


def _section(s: Summary | Slope) -> tuple[str, str, str]:
    return s.study, s.backbone, s.protocol


def grouped(table: Iterable[Summary]) -> list[list[Summary]]:
    """The summaries of each block."""
    groups: dict[tuple, list[Summary]] = defaultdict(list)
    for s in table:
        groups[s.study, s.backbone, s.protocol, s.functional, s.setting].append(s)
    return list(groups.values())


def _block(group: Sequence[Summary]) -> Block:
    first = group[0]
    values = tuple(sorted({s.value for s in group}))
    counts = [s.repeats for s in group]
    power = _power(group)
    names = ("rmse", "coverage", "ratio", *_FURTHER.get(first.study, ()))
    panels = tuple(_PANELS[name](group, values, power) for name in names)
    return Block(
        study=first.study,
        backbone=first.backbone,
        protocol=first.protocol,
        functional=first.functional,
        setting=first.setting,
        values=values,
        repeats=(min(counts), max(counts)),
        panels=panels,
    )


def _power(group: Sequence[Summary]) -> int:
    """The power of ten of the published table, else the one that brings the floor to between 1 and 10."""
    for s in group:
        scale = published(s.study, s.backbone, s.functional, s.setting, s.value, s.estimator).scale
        if scale:
            return round(math.log10(scale))
    sizes = sorted(s.floor_rmse or s.rmse for s in group)
    sizes = [size for size in sizes if math.isfinite(size) and size > 0]
    return -math.floor(math.log10(sizes[len(sizes) // 2])) if sizes else 0


# ---- panels -----------------------------------------------------------------------------------------------
def _rmse(group: Sequence[Summary], values: Sequence[float], power: int) -> Panel:
    def ours(s: Summary) -> Cell:
        return _cell(s.rmse, s.rmse_se, power)

    def printed(s: Summary) -> Cell:
        return _cell(s.published_rmse, s.published_se, power)

    return Panel("RMSE", power, _lines(group, values, ours, printed))


def _coverage(group: Sequence[Summary], values: Sequence[float], power: int) -> Panel:
    lines = _lines(group, values, lambda s: _cell(s.coverage), lambda s: _cell(s.published_coverage))
    return Panel("coverage of 95 % intervals", 0, lines)


def _ratio(group: Sequence[Summary], values: Sequence[float], power: int) -> Panel:
    return Panel("RMSE over the floor's", 0, _lines(group, values, lambda s: _cell(s.ratio_to_floor)))


def _bias(group: Sequence[Summary], values: Sequence[float], power: int) -> Panel:
    return Panel("bias", power, _lines(group, values, lambda s: _cell(s.bias, s.bias_se, power, sign="+")))


def _length(group: Sequence[Summary], values: Sequence[float], power: int) -> Panel:
    return Panel("mean length of intervals", power, _lines(group, values, lambda s: _cell(s.mean_length, None, power)))


_PANELS = {"rmse": _rmse, "coverage": _coverage, "ratio": _ratio, "bias": _bias, "length": _length}


def _lines(
    group: Sequence[Summary],
    values: Sequence[float],
    ours: Callable[[Summary], Cell],
    printed: Callable[[Summary], Cell] | None = None,
) -> tuple[Line, ...]:
    out: list[Line] = []
    for estimator in dict.fromkeys(s.estimator for s in ordered(group)):
        at = {s.value: s for s in group if s.estimator == estimator}
        out.append(Line(estimator, tuple(ours(at[v]) if v in at else Cell() for v in values)))
        shown = tuple(printed(at[v]) if printed and v in at else Cell() for v in values)
        if any(cell != Cell() for cell in shown):
            out.append(Line(PUBLISHED, shown))
    return tuple(out)


def ordered(group: Sequence[Summary]) -> list[Summary]:
    """By estimator as in the fullest setting: an estimator that starts later keeps its place."""
    columns: dict[float, list[str]] = defaultdict(list)
    for s in group:
        columns[s.value].append(s.estimator)
    order = list(max(columns.values(), key=len))
    order += [s.estimator for s in group if s.estimator not in order]
    return sorted(group, key=lambda s: order.index(s.estimator))


def _cell(value: float | None, se: float | None = None, power: int = 0, sign: str = "") -> Cell:
    if value is None or not math.isfinite(value):
        return Cell()
    return Cell(_number(value, power, sign), "" if se is None or not math.isfinite(se) else _number(se, power))


def _number(value: float, power: int, sign: str = "") -> str:
    value *= 10.0**power
    # two decimals are what was published; a training that went astray may need another form
    return f"{value:{sign}.2f}" if abs(value) < 1000 else f"{value:{sign}.1e}"
