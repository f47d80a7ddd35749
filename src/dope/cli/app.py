"""The command line as a whole: what commands there are, and what becomes of errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

# Command, where its function lives, and its line in the help: modules are imported when a command runs.
_COMMANDS = (
    ("demo", "dope.cli.demo:demo", "Simulate a dosing study, estimate, and write a report: the quickstart."),
    ("init", "dope.cli.init:init", "Look at a data file and write a commented STUDY.toml for it."),
    ("estimate", "dope.cli.estimate:estimate", "Estimate from your own data: a table, result.json and report.html."),
    ("reproduce", "dope.cli.reproduce:reproduce", "Carry out a study, beside the published figures; resumable."),
    ("table", "dope.cli.table:table", "Print the results of a study, and draw them."),
    ("report", "dope.cli.report:report", "Write the HTML report of a saved fit, or of a study."),
    ("info", "dope.cli.info:info", "Show versions, devices, threads and what is installed."),
)
_USAGE, _INTERRUPTED = 2, 130


def build() -> App:
    app = App(
        name="dope",
        help="Debiased neural operators: one number out of a solution, with an interval that can be trusted.",
        version=lambda: version("dope"),
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for name, home, help_ in _COMMANDS:
        app.command(home, name=name, help=help_)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for what the user must change, 130 for ctrl-C."""
    try:
        build()(arguments, exit_on_error=False)
    except CycloptsError:  # already printed, with the usage
        return _USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except ValueError as error:
        if not _of_the_user(error):
            raise
        from dope.cli.errors import say

        say(error)
        return _USAGE
    return 0


def _of_the_user(error: ValueError) -> bool:
    # a DataError can only have been raised where its module is loaded: no need to load it, and torch, to find out
    errors = sys.modules.get("dope.data.errors")
    return errors is not None and isinstance(error, errors.DataError)
