"""The few HTML elements that a report is made of. Every text that goes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dope.reports.clean import clean


def esc(text: object) -> str:
    return html.escape(clean(text), quote=True)


@dataclass(frozen=True)
class Html:
    """Markup that is finished: it is not escaped again."""

    text: str

    def __str__(self) -> str:
        return self.text


def show(part: object) -> str:
    return part.text if isinstance(part, Html) else esc(part)


def paragraph(*parts: object, kind: str = "") -> str:
    return f"<p{_class(kind)}>{''.join(show(p) for p in parts)}</p>"


def section(name: str, title: str, *parts: str) -> str:
    body = "\n".join(p for p in parts if p)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{esc(title)}</h2>\n{body}\n</section>'


def note(title: str, *parts: str, kind: str) -> str:
    return f'<aside class="{kind}" role="note"><p class="lead">{esc(title)}</p>{"".join(parts)}</aside>'


def bullets(items: Iterable[object]) -> str:
    return f"<ul>{''.join(f'<li>{show(i)}</li>' for i in items)}</ul>"


def definitions(pairs: Iterable[tuple[object, object]]) -> str:
    return "<dl>" + "".join(f"<div><dt>{show(k)}</dt><dd>{show(v)}</dd></div>" for k, v in pairs) + "</dl>"


def figure(caption: str, *pictures: str, kind: str = "") -> str:
    return f"<figure{_class(kind)}><div>{''.join(pictures)}</div><figcaption>{caption}</figcaption></figure>"


def details(title: str, *parts: str, open_: bool = False) -> str:
    return f"<details{' open' if open_ else ''}><summary>{esc(title)}</summary>{''.join(parts)}</details>"


def code(text: str, label: str) -> str:
    # it scrolls by itself, so it must be reached by keyboard
    return f'<pre tabindex="0" role="region" aria-label="{esc(label)}">{esc(text)}</pre>'


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The first cell of a row heads it. On a narrow screen rows become cards, whose cells carry their column's name.

    The roles are what the elements mean anyway; they are written out because laying a table out as blocks takes its
    meaning away from screen readers.
    """
    columns = "".join(f'<th scope="col" role="columnheader">{esc(h)}</th>' for h in head)
    body = ""
    for first, *rest in rows:
        cells = "".join(
            f'<td role="cell" data-label="{esc(h)}">{show(cell)}</td>' for h, cell in zip(head[1:], rest, strict=True)
        )
        body += f'<tr role="row"><th scope="row" role="rowheader">{show(first)}</th>{cells}</tr>'
    return (
        f'<table role="table"><caption>{esc(caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{columns}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
    )


def key(kind: str, text: str) -> str:
    """An entry of a legend: its mark, then its words."""
    return f'<span class="key"><span class="mark {kind}" aria-hidden="true"></span>{esc(text)}</span>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
