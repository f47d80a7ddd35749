"""Can it be trusted?

In: the predictions of a fit, a functional, the correction in use and the standard error. Out: a `Diagnosis`, a
few checks with a value, a limit, a verdict in words and, where it fails, the remedy.
Must hold: every check needs observations only, never the truth; a fit whose intervals cannot be trusted never
looks like one that can.
"""

from dope.diagnostics.balance import Balance, balance
from dope.diagnostics.diagnosis import Check, Diagnosis, diagnose
from dope.diagnostics.gaps import unseen
from dope.diagnostics.operator_error import OperatorError, operator_error, remainder
from dope.diagnostics.overlap import Overlap, overlap
from dope.diagnostics.smoothing import smoothing_gap

__all__ = [
    "Balance",
    "Check",
    "Diagnosis",
    "OperatorError",
    "Overlap",
    "balance",
    "diagnose",
    "operator_error",
    "overlap",
    "remainder",
    "smoothing_gap",
    "unseen",
]
