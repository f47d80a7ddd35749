"""Pictures of estimates and predictions.

In: an `Estimate`, its `Diagnosis` or second stage, or the out-of-fold `Prediction` behind it. Out: the matplotlib
axes that were drawn on.
Must hold: nothing global changes, neither rcParams nor pyplot's figures; axes that are handed in keep their style;
names of users are never read as mathematics.
"""

from dope.reports.plots.balance import balance
from dope.reports.plots.canvas import heading
from dope.reports.plots.fields import field, fields, representative, residual_band
from dope.reports.plots.forest import forest
from dope.reports.plots.scores import scores
from dope.reports.plots.second_stage import second_stage
from dope.reports.plots.weights import weights

__all__ = [
    "balance",
    "field",
    "fields",
    "forest",
    "heading",
    "representative",
    "residual_band",
    "scores",
    "second_stage",
    "weights",
]
