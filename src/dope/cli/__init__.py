"""The commands.

In: words of a command line. Out: tables on stdout, pages on disk, progress and errors on stderr.
Must hold: nothing heavy is imported before a command needs it; errors of a user's data are one plain message and
exit code 2; tables fit 80 columns, with colour and without.
"""

from dope.cli.app import main

__all__ = ["main"]
