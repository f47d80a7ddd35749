"""Scores to answers.

In: one `Scores` table. Out: an `Estimate`, and further ones by contrast, ratio and difference.
Must hold: everything is a pure function of the table, in float64; no network is ever seen; intervals, standard
errors and p-values agree with one another; a warning travels with every interval it concerns.
"""

from dope.inference.bands import Equivalence
from dope.inference.notes import Note, Verdict
from dope.inference.planning import Plan
from dope.inference.ppi import Powered
from dope.inference.ratios import Fieller
from dope.inference.result import Estimate, estimate
from dope.inference.second_stage import Learned, Prediction, Regression
from dope.inference.variance import Arm

__all__ = [
    "Arm",
    "Equivalence",
    "Estimate",
    "Fieller",
    "Learned",
    "Note",
    "Plan",
    "Powered",
    "Prediction",
    "Regression",
    "Verdict",
    "estimate",
]
