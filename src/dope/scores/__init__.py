"""Corrections.

In: predicted fields, weights at the observed points, observations. Out: one `Scores` table.
Must hold: every number of a unit comes from networks that never saw the unit.
"""

from dope.scores.table import Scores

__all__ = ["Scores"]
