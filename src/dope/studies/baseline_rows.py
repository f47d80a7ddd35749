"""The rows of a repeat in which every unit is also estimated by itself, without an operator."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from dope.functionals import Integral
from dope.inference.variance import quantile_t
from dope.studies.baselines import BASELINES, CURVES, of_curves, weighted
from dope.studies.case import Answer, Case
from dope.studies.estimators import standard


def baselines(case: Case, names: Sequence[str]) -> Iterator[Answer]:
    """The floor, the named estimators and the named baselines; the latter need no fit, and their seconds hold none."""
    yield from standard(case, [name for name in names if name not in BASELINES])
    data, value = case.draw.data, case.settings[0].value
    for name in (name for name in names if name in BASELINES):
        begun = time.perf_counter()
        curves = CURVES[name](data) if name in CURVES else None
        drawing = time.perf_counter() - begun
        for g, functional in case.functionals.items():
            if curves is None and not isinstance(functional, Integral):
                continue  # there is no phi(Y) to average
            begun = time.perf_counter()
            units = weighted(data, functional) if curves is None else of_curves(functional, curves, data.grid)
            numbers = mean_of_units(units)
            yield Answer(g, value, name, *numbers, drawing + time.perf_counter() - begun)


def mean_of_units(values: np.ndarray) -> tuple[float, float, float, float]:
    """(mean, se, low, high) over the units that have a value, with the 95 % t interval."""
    values = values[np.isfinite(values)]
    n = len(values)
    mean, se = float(values.mean()), float(values.std(ddof=1) / math.sqrt(n))
    half = float(quantile_t(0.975, n - 1)) * se
    return mean, se, mean - half, mean + half
