"""Long tables: one row an observation or a dose.

In: a file or frame whose columns are named as NONMEM, CDISC or makers of glucose sensors name them, or by the user.
Out: an `OperatorData`, and a `Reading` that says what was read and what was not. Must hold: every row is an
observation, a dose, or named among the dropped ones with its reason; errors say in which lines to look.
"""

from dope.data.tables.look import kinds
from dope.data.tables.names import ROLES
from dope.data.tables.read import read_table
from dope.data.tables.reading import Dropped, Reading

__all__ = ["ROLES", "Dropped", "Reading", "kinds", "read_table"]
