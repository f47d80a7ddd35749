"""Monte-Carlo over worlds with a known truth.

In: a study's name, a protocol, a number of repeats. Out: one row a repeat, setting, functional and estimator in
`DIR/results.sqlite`, and from it the table of errors beside the published figures, in several formats, and figures.
Must hold: a row depends on (study, setting, repeat) and the protocol alone, not on worker, order or company; one
process writes; a finished cell is never lost and never repeated.
"""

from dope.studies.figures import Picture, pictures, save_figures
from dope.studies.formats import FORMATS, write
from dope.studies.page import study_report
from dope.studies.protocol import PROTOCOLS, Protocol, protocol
from dope.studies.registry import STUDIES, find
from dope.studies.results import Results, results
from dope.studies.runner import reproduce
from dope.studies.slopes import Slope
from dope.studies.study import Setting, Study
from dope.studies.table import KEYS, Summary, table

__all__ = ["FORMATS", "KEYS", "PROTOCOLS", "STUDIES", "Picture", "Protocol", "Results", "Setting", "Slope", "Study",
           "Summary", "find", "pictures", "protocol", "reproduce", "results", "save_figures",
           "study_report", "table", "write"]  # fmt: skip
