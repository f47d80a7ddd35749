"""Monte-Carlo over worlds with a known truth.

In: a study's name, a protocol, a number of repeats. Out: one row a repeat, setting, functional and estimator in
`DIR/results.sqlite`, and from it the table of errors beside the published figures.
Must hold: a row depends on (study, setting, repeat) and the protocol alone, not on worker, order or company; one
process writes; a finished cell is never lost and never repeated.
"""

from dope.studies.protocol import PROTOCOLS, Protocol, protocol
from dope.studies.registry import STUDIES, find
from dope.studies.runner import reproduce
from dope.studies.study import Setting, Study
from dope.studies.table import KEYS, Summary, table

__all__ = ["KEYS", "PROTOCOLS", "STUDIES", "Protocol", "Setting", "Study", "Summary", "find", "protocol",
           "reproduce", "table"]  # fmt: skip
