"""For a terminal: at most 80 columns, and nothing but characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from dope.studies.layout import MISSING, PUBLISHED, Block, sections
from dope.studies.slopes import Slope, words
from dope.studies.table import Summary

WIDTH = 80
_GAP = 2


def text(table: Sequence[Summary], slopes: Sequence[Slope] = ()) -> str:
    out: list[str] = []
    for section in sections(table, slopes):
        out += ["", *_filled(f"{section.title}. {section.about}"), ""]
        for block in section.blocks:
            out += _one_setting(block) if len(block.values) == 1 else _many_settings(block)
        if section.slopes:
            out += _slopes(section.slopes)
        out += _filled(section.legend)
    return "\n".join(line.rstrip() for line in out[1:]) + "\n"


def _many_settings(block: Block) -> Iterator[str]:
    for panel in block.panels:
        yield from _filled(f"{block.functional}: {panel.title(f'x 10^{panel.power}')}")
        body = [[_label(line.label), *map(str, line.cells)] for line in panel.lines]
        yield from _grid([block.setting, *(f"{v:g}" for v in block.values)], body)
        yield ""


def _one_setting(block: Block) -> Iterator[str]:
    """With one column to a panel, panels are the columns."""
    yield from _filled(f"{block.functional}, {block.setting}={block.values[0]:g}")
    head = ["estimator"]
    lines: dict[str, list[str]] = {}
    for panel in block.panels:
        name = f"{_SHORT[panel.name]}{f' x 10^{panel.power}' if panel.power else ''}"
        printed = any(line.published for line in panel.lines)
        head += [name, PUBLISHED] if printed else [name]
        above = ""
        for line in panel.lines:
            if line.published:
                lines[above][-1] = str(line.cells[0])
            else:
                above = line.label
                lines.setdefault(above, []).extend([str(line.cells[0]), *([MISSING] if printed else [])])
    yield from _grid(head, [[name, *cells] for name, cells in lines.items()])
    yield ""


_SHORT = {
    "RMSE": "RMSE",
    "coverage of 95 % intervals": "coverage",
    "RMSE over the floor's": "to floor",
    "bias": "bias",
    "mean length of intervals": "length",
}


def _slopes(slopes: Sequence[Slope]) -> Iterator[str]:
    yield from _filled(words(slopes))
    functionals = list(dict.fromkeys(s.functional for s in slopes))
    found = {(s.estimator, s.functional): s for s in slopes}
    names = list(dict.fromkeys(s.estimator for s in slopes))
    body = [[n, *(str(found[n, f]) if (n, f) in found else MISSING for f in functionals)] for n in names]
    yield from _grid(["", *functionals], body)
    yield ""


def _grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns that are wide enough, in as many stacks of about equal width as the screen needs."""
    label = max(len(line[0]) for line in [head, *body])
    widths = [max(len(line[k]) for line in [head, *body]) + _GAP for k in range(1, len(head))]
    per = max(1, (WIDTH - label) // max(widths))
    stacks = -(-len(widths) // per)
    per = -(-len(widths) // stacks)
    for first in range(0, len(widths), per):
        if first:
            yield ""
        for line in [head, *body]:
            cells = zip(line[1 + first : 1 + first + per], widths[first : first + per], strict=True)
            yield f"{line[0]:<{label}}" + "".join(f"{cell:>{width}}" for cell, width in cells)


def _label(name: str) -> str:
    return f"  {name}" if name == PUBLISHED else name


def _filled(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, break_on_hyphens=False)
