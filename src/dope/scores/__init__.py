"""Corrections.

In: predicted fields, weights, observations, a functional. Out: one `Scores` table, the plug-in value and its
correction for every unit.
Must hold: a score is a function of the unit's own observations and of out-of-fold predictions; its mean is the
estimate, its spread the standard error, for every correction alike.
"""

from dope.scores.correction import Correction, Prediction
from dope.scores.exact import Exact
from dope.scores.noise import noise_variance
from dope.scores.one_step import OneStep
from dope.scores.plug_in import PlugIn
from dope.scores.select import CORRECTIONS, choose
from dope.scores.table import Scores
from dope.scores.targeted import Targeted

__all__ = [
    "CORRECTIONS",
    "Correction",
    "Exact",
    "OneStep",
    "PlugIn",
    "Prediction",
    "Scores",
    "Targeted",
    "choose",
    "noise_variance",
]
