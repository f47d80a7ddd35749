"""Every block of code in the README and the documentation runs, or is marked as an illustration.

In a page, `{code-cell}` is run when the page is built and `{code-block}` is an illustration. What is left is run
here: Python in the README and in ARCHITECTURE.md, examples with `>>>`, and every line that calls `dope`, which is
parsed as the command itself would.
"""

import doctest
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

import dope
from dope.answers import FittedEstimate
from dope.cli.app import build

_ROOT = Path(__file__).parents[2]
_PAGES = [
    *(_ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted(p for p in (_ROOT / "docs").rglob("*.md") if not {"_build", "generated"} & set(p.parts)),
]
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=fence)`*$", re.M | re.S)
_RUN_BY_THE_BUILD = "{code-cell} ipython3"
_NO_PYTHON = {"bash", "text", "{toctree}", "{eval-rst}"}


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(_ROOT)}:{self.line}"


def _blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, m.start()) + 1, m["kind"].strip(), m["text"]) for m in _FENCE.finditer(text)
    ]


BLOCKS = [block for page in _PAGES for block in _blocks(page)]
EXAMPLES = [b for b in BLOCKS if b.kind == "python"]
SESSIONS = sorted({b.page for b in BLOCKS if b.kind == "pycon"})


def _commands() -> list[tuple[str, str]]:
    """Lines of blocks that call dope, and calls within the text that name a command."""
    out = []
    for block in BLOCKS:
        if block.kind in ("bash", "{code-block} bash"):
            for i, line in enumerate(block.text.splitlines(), 1):
                if found := re.search(r"(?:^|[ /])(dope [^#&|>]*)", line.split("#")[0]):
                    out.append((f"{block.place} + {i}", found[1].strip()))
    for page in _PAGES:
        prose = _FENCE.sub("", page.read_text())
        out += [(str(page.relative_to(_ROOT)), m[1]) for m in re.finditer(r"`(dope [a-z][^`]*)`", prose)]
    return list(dict.fromkeys(out))


def _named(items):
    return [pytest.param(item, id=item.place if isinstance(item, Block) else str(item.name)) for item in items]


def test_there_is_something_to_check():
    assert EXAMPLES
    assert SESSIONS
    assert len(_commands()) > 10


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.place)
def test_a_block_is_run_or_marked_as_an_illustration(block):
    run_here = (block.kind == "python" and block.page.parent == _ROOT) or block.kind == "pycon"
    illustration = block.kind.startswith("{code-block} ")
    assert run_here or illustration or block.kind in {_RUN_BY_THE_BUILD, *_NO_PYTHON}, (
        f"{block.place}: a block of kind {block.kind!r} is neither run nor marked: make it a {{code-cell}} or a "
        "{code-block}."
    )


@pytest.mark.parametrize("page", sorted({b.page for b in BLOCKS if b.kind == _RUN_BY_THE_BUILD}), ids=lambda p: p.name)
def test_a_page_with_cells_is_a_notebook_to_the_build(page):
    assert page.read_text().startswith("---\nfile_format: mystnb\n")


@pytest.mark.parametrize("block", _named(EXAMPLES))
def test_an_example_runs(block, capsys):
    exec(compile(block.text, block.place, "exec"), {"__name__": "example"})


@pytest.mark.parametrize("page", SESSIONS, ids=lambda p: p.name)
def test_examples_with_prompts_give_what_they_show(page):
    text = "\n".join(b.text for b in BLOCKS if b.page == page and b.kind == "pycon")
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_docstrings_hold_no_examples_that_nobody_runs():
    for path in (_ROOT / "src" / "dope").rglob("*.py"):
        assert ">>> " not in path.read_text(), f"{path}: put examples on a page, where they are run"


@pytest.mark.parametrize("page", _PAGES, ids=lambda p: p.name)
def test_names_in_the_text_exist(page):
    homes = {"est": FittedEstimate, "fit": dope.Fit, "dope": dope}
    prose = _FENCE.sub("", page.read_text())
    for span in re.findall(r"`([^`]+)`", prose):
        for home, name in re.findall(r"(?<![\w./])(est|fit|dope)\.([A-Za-z]\w*)(?!\w*\.py)", span):
            there = set(dir(homes[home])) | set(getattr(homes[home], "__dataclass_fields__", ()))
            assert name in there or (home == "dope" and _module(name)), f"{page.name}: there is no {home}.{name}"


def _module(name: str) -> bool:
    return (_ROOT / "src" / "dope" / name).is_dir()


@pytest.mark.parametrize(("place", "line"), _commands(), ids=lambda v: v)
def test_a_command_line_is_understood(place, line):
    words = shlex.split(line)[1:]
    app = build()
    command = words[0]
    if not command.startswith("-"):
        assert command in set(app), f"{place}: there is no command {command}"
    if len(words) > 1:  # a command that is only named needs none of its arguments
        app.parse_args(words, exit_on_error=False, print_error=False)


def test_a_wrong_command_line_is_found_out():
    with pytest.raises(Exception, match="--repeat-s"):
        build().parse_args(["reproduce", "pk-fno", "--repeat-s", "3"], exit_on_error=False, print_error=False)
