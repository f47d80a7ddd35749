"""What is asked.

In: fields on a grid (torch, any leading batch axes). Out: one number a field, and the Riesz representer of
the derivative with respect to the grid's reference measure.
Must hold: a functional is pure and differentiable; its closed-form representer, where it has one, equals the
one from automatic differentiation; an `Integral` also exposes its integrand, so corrections may use it.
"""

from dope.functionals.base import Functional, functional
from dope.functionals.derivatives import Flux
from dope.functionals.extremes import SoftMax, SoftMin
from dope.functionals.integral import Integral
from dope.functionals.integrals import (
    AUC,
    Energy,
    ExcessAbove,
    Mean,
    PointValue,
    TimeAbove,
    TimeBelow,
    TimeInRange,
    TrackingError,
)

__all__ = [
    "AUC",
    "Energy",
    "ExcessAbove",
    "Flux",
    "Functional",
    "Integral",
    "Mean",
    "PointValue",
    "SoftMax",
    "SoftMin",
    "TimeAbove",
    "TimeBelow",
    "TimeInRange",
    "TrackingError",
    "functional",
]
