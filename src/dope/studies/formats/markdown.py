"""For a page of documentation: one table for each functional and measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dope.studies.layout import MISSING, Block, Line, sections
from dope.studies.slopes import Slope, words
from dope.studies.table import Summary


def markdown(table: Sequence[Summary], slopes: Sequence[Slope] = ()) -> str:
    out: list[str] = []
    for section in sections(table, slopes):
        out += ["", f"### {section.title}", "", section.about]
        for block in section.blocks:
            out += _block(block)
        if section.slopes:
            out += _slopes(section.slopes)
        out += ["", section.legend]
    return "\n".join(out[1:]) + "\n"


def _block(block: Block) -> Iterator[str]:
    for panel in block.panels:
        yield from ("", f"**{block.functional}**: {panel.title(f'× 10<sup>{panel.power}</sup>')}.", "")
        yield from _table([block.setting, *(f"{v:g}" for v in block.values)], _rows(panel.lines))


def _rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    for line in lines:
        name = f"*{line.label}*" if line.published else line.label
        yield [name, *(f"*{c}*" if line.published and str(c) != MISSING else str(c) for c in line.cells)]


def _slopes(slopes: Sequence[Slope]) -> Iterator[str]:
    yield from ("", words(slopes), "")
    functionals = list(dict.fromkeys(s.functional for s in slopes))
    found = {(s.estimator, s.functional): s for s in slopes}
    names = list(dict.fromkeys(s.estimator for s in slopes))
    rows = ([n, *(str(found[n, f]) if (n, f) in found else MISSING for f in functionals)] for n in names)
    yield from _table(["estimator", *functionals], rows)


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
