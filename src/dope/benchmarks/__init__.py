"""Worlds with a known truth.

In: the parameters of a benchmark, a number of units and a seed. Out: a `Draw` (an `OperatorData` with the
known design of its points, and the full solutions that a study never sees) and the `Truth` about a functional.
Must hold: a seed gives the same units whatever their number, and never those of the truth pool; the inputs, as
shown, determine the solutions; the design is the law by which the points were in fact drawn.
"""

from dope.benchmarks.burgers import burgers
from dope.benchmarks.darcy import darcy
from dope.benchmarks.focused import Focused
from dope.benchmarks.glucose import glucose
from dope.benchmarks.pharmacokinetics import pharmacokinetics
from dope.benchmarks.temperature import temperature
from dope.benchmarks.tracking import tracking
from dope.benchmarks.world import Draw, Truth, World

__all__ = ["Draw", "Focused", "Truth", "World", "burgers", "darcy", "glucose", "pharmacokinetics", "temperature",
           "tracking"]  # fmt: skip
