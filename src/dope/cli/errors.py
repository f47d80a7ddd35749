"""What is said where a command cannot go on."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

from dope.cli.terminal import WIDTH

# Options of functions that are flags of the commands under the same name.
_FLAGS = "id|time|values?|occasion|period|groups|blq|outside|encoding|unit|points"
_RENAMED = {"values": "value"}
_OPTION = re.compile(rf'\b({_FLAGS})=(?:"([^"]*)"|([\w.]+))')
_WHERE = re.compile(r'where = \{(\w+) = "([^"]*)"\}')
_GRID = re.compile(r"pass grid=(, e\.g\. dope\.Grid\.uniform\(\.\.\.\))?")


def say(error: object) -> None:
    """One message on stderr; on a terminal in lines of whole words, else in one line for programs to find."""
    text = f"dope: {as_flags(str(error))}"
    if sys.stderr.isatty():
        width = min(shutil.get_terminal_size().columns, WIDTH)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr)


def as_flags(text: str) -> str:
    """Advice written for Python, as a command line writes it: occasion="OCC" is --occasion OCC."""
    text = _WHERE.sub(lambda m: f"--where {m[1]}={_word(m[2])}", text)
    text = _GRID.sub("pass --grid LOWER,UPPER,SIZE", text)
    return _OPTION.sub(lambda m: f"--{_RENAMED.get(m[1], m[1])} {_word(m[2] if m[2] is not None else m[3])}", text)


def _word(value: str) -> str:
    return "NAME" if value == "..." else f'"{value}"' if " " in value else value
