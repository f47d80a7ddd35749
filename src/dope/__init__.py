"""Debiased neural operators: one number out of a solution, with an interval that can be trusted."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dope import benchmarks
    from dope.data import DataError, Design, Grid, OperatorData, inclusion_probabilities
    from dope.estimator import DOPE
    from dope.fitted import Fit, load
    from dope.functionals import (
        AUC,
        Energy,
        ExcessAbove,
        Flux,
        Functional,
        Integral,
        Mean,
        PointValue,
        SoftMax,
        SoftMin,
        TimeAbove,
        TimeBelow,
        TimeInRange,
        TrackingError,
        functional,
    )
    from dope.inference import Estimate
    from dope.operators import FNO, DeepONet, Operator, pretrained
    from dope.reports import report
    from dope.training import Recipe

# Where each public name lives. Names are fetched when they are first used, so that the command line answers
# without loading torch.
_HOMES = {
    "dope": ["benchmarks"],
    "dope.data": ["DataError", "Design", "Grid", "OperatorData", "inclusion_probabilities"],
    "dope.estimator": ["DOPE"],
    "dope.fitted": ["Fit", "load"],
    "dope.functionals": [
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
    ],
    "dope.inference": ["Estimate"],
    "dope.operators": ["FNO", "DeepONet", "Operator", "pretrained"],
    "dope.reports": ["report"],
    "dope.training": ["Recipe"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AUC",
    "DOPE",
    "FNO",
    "DataError",
    "DeepONet",
    "Design",
    "Energy",
    "Estimate",
    "ExcessAbove",
    "Fit",
    "Flux",
    "Functional",
    "Grid",
    "Integral",
    "Mean",
    "Operator",
    "OperatorData",
    "PointValue",
    "Recipe",
    "SoftMax",
    "SoftMin",
    "TimeAbove",
    "TimeBelow",
    "TimeInRange",
    "TrackingError",
    "benchmarks",
    "functional",
    "inclusion_probabilities",
    "load",
    "pretrained",
    "report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dope' has no attribute {name!r}")
    home = _HOME[name]
    value = import_module(f"dope.{name}") if home == "dope" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
