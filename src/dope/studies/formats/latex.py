r"""For a paper: one `booktabs` table a panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dope.studies.layout import MISSING, Block, Cell, Panel, Section, sections
from dope.studies.slopes import Slope
from dope.studies.table import Summary

_SPECIAL = {"\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "{": r"\{",
            "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}  # fmt: skip


def latex(table: Sequence[Summary], slopes: Sequence[Slope] = ()) -> str:
    out = [r"% \usepackage{booktabs}"]
    for section in sections(table, slopes):
        for block in section.blocks:
            for panel in block.panels:
                out += ["", *_table(block, panel)]
        if section.slopes:
            out += ["", *_slopes(section)]
    return "\n".join(out) + "\n"


def _table(block: Block, panel: Panel) -> Iterator[str]:
    place = f"{block.study}, protocol {block.protocol}, {block.many}; {block.functional}: "
    title = panel.title(rf"$\times 10^{{{panel.power}}}$").replace("%", r"\%")
    caption = f"{escaped(place)}{title}."
    head = [block.setting, *(f"{v:g}" for v in block.values)]
    rows = (
        [rf"\quad {line.label}" if line.published else escaped(line.label), *map(_cell, line.cells)]
        for line in panel.lines
    )
    yield from _booktabs(caption, head, rows)


def _slopes(section: Section) -> Iterator[str]:
    rows = ([escaped(f"{s.functional}, {s.estimator}"), str(s)] for s in section.slopes)
    caption = escaped(f"{section.title}: ") + r"fitted slopes of $\log |\mathrm{bias}|$ in $\log(\mathrm{errors})$."
    yield from _booktabs(caption, ["estimator", "slope"], rows)


def _booktabs(caption: str, head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\caption{{{caption}}}"
    yield rf"\begin{{tabular}}{{l{'c' * (len(head) - 1)}}}"
    yield r"\toprule"
    yield rf"{' & '.join(map(escaped, head))} \\"
    yield r"\midrule"
    for row in rows:
        yield rf"{' & '.join(row)} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _cell(cell: Cell) -> str:
    if cell == Cell():
        return MISSING
    return rf"${cell.value}\ ({cell.se})$" if cell.se else f"${cell.value}$"


def escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
