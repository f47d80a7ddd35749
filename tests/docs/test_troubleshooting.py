"""Messages that the troubleshooting page quotes are still said."""

import ast
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "troubleshooting.md"


def _texts() -> list[str]:
    """Every string of the source, with a blank for whatever is put in."""
    out = []
    for path in sorted((_ROOT / "src" / "dope").rglob("*.py")):
        parts = set()
        # the pieces of a string that is put together are visited by themselves as well, and after it
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts |= {id(value) for value in node.values}
                out.append("".join(v.value if isinstance(v, ast.Constant) else " " for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                out.append(node.value)
    return [_plain(text) for text in out]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _pattern(quote: str) -> re.Pattern[str]:
    pieces = [re.escape(piece) for piece in map(_plain, quote.split("...")) if piece]
    return re.compile(".*".join(pieces))


QUOTES = [line[2:].strip() for line in _PAGE.read_text().splitlines() if line.startswith("> ")]
TEXTS = _texts()


@pytest.mark.parametrize("quote", QUOTES)
def test_a_quoted_message_is_still_in_the_source(quote):
    assert any(_pattern(quote).search(text) for text in TEXTS), f"no message reads {quote!r}: correct {_PAGE.name}"


def test_a_message_that_is_not_in_the_source_is_found_out():
    assert len(QUOTES) > 30
    assert not any(_pattern("inputs have shape ..., but the moon needs ...").search(text) for text in TEXTS)
