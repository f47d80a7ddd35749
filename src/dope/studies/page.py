"""The results of a study as one HTML file that asks nothing of the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dope.reports.document import document, writable
from dope.reports.markup import Html, bullets, definitions, details, esc, figure, note, paragraph, section, table
from dope.studies.figures import pictures
from dope.studies.layout import MISSING, Block, Cell, Panel, Section, sections
from dope.studies.results import Results
from dope.studies.slopes import words

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def study_report(found: Results, path: str | Path, *, title: str | None = None) -> Path:
    """Write the tables and figures of a study as one self-contained HTML page, and return its path."""
    file = writable(path)
    parts = sections(found.table, found.slopes)
    names = list(dict.fromkeys(s.study for s in parts))
    heading = title or (f"Study {names[0]}" if len(names) == 1 else f"Studies {', '.join(names)}")
    sub = "Monte-Carlo over a world with a known truth, beside the published figures where there are any."
    told = note("Please note", bullets(found.notes), kind="warn") if found.notes else ""
    body = [told, *(_section(k, part, found) for k, part in enumerate(parts)), _made(found)]
    file.write_text(document(heading, sub, "\n".join(b for b in body if b)), encoding="utf-8")
    return file


def _section(k: int, part: Section, found: Results) -> str:
    return section(
        f"study-{k}",
        part.title,
        paragraph(part.about),
        *_figures(k, part, found),
        *(_panel(block, panel) for block in part.blocks for panel in block.panels),
        _slopes(part),
        paragraph(part.legend, kind="quiet"),
    )


def _figures(k: int, part: Section, found: Results) -> Iterator[str]:
    from dope.reports.svg import inline

    place = (part.study, part.backbone, part.protocol)
    here = [s for s in found.table if (s.study, s.backbone, s.protocol) == place]
    for j, picture in enumerate(pictures(Results(tuple(here), part.slopes))):
        yield figure(esc(picture.caption), inline(f"figure-{k}-{j}", picture.caption, picture.size, picture.draw))


def _panel(block: Block, panel: Panel) -> str:
    head = [block.setting, *(f"{v:g}" for v in block.values)]
    rows, above = [], ""
    for line in panel.lines:
        label = f"{above}, published" if line.published else line.label
        rows.append([label, *map(_cell, line.cells)])
        above = line.label
    return table(f"{block.functional}: {panel.title(f'× 10{str(panel.power).translate(_RAISED)}')}.", head, rows)


def _cell(cell: Cell) -> Html:
    # in two lines, so that nine settings stand side by side
    error = f'<br><small class="quiet">({esc(cell.se)})</small>' if cell.se else ""
    return Html(esc(cell.value) + error)


def _slopes(part: Section) -> str:
    if not part.slopes:
        return ""
    return table(words(part.slopes), ["estimator", *_functionals(part)], _slope_rows(part))


def _functionals(part: Section) -> list[str]:
    return list(dict.fromkeys(s.functional for s in part.slopes))


def _slope_rows(part: Section) -> Iterator[Sequence[str]]:
    found = {(s.estimator, s.functional): str(s) for s in part.slopes}
    for name in dict.fromkeys(s.estimator for s in part.slopes):
        yield [name, *(found.get((name, g), MISSING) for g in _functionals(part))]


def _made(found: Results) -> str:
    if not found.codes:
        return ""
    numbers = [
        details(f"{study}, protocol {protocol}: all its numbers", definitions(values.items()))
        for (study, protocol), values in found.protocols.items()
    ]
    made = f"With {'; '.join(found.codes)}; on {', '.join(found.devices)}."
    return section("made", "How it was made", paragraph(made), *numbers)
