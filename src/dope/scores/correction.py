"""The abstract correction, and what it works from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dope.data import OperatorData
from dope.functionals import Functional
from dope.functionals.base import representers
from dope.scores.noise import noise_variance


@dataclass(frozen=True, eq=False)
class Prediction:
    """Out-of-fold nuisances of one repeat, in float64.

    `field` (n, *grid) is S(A). The weights are `beta = xi w_g(S)`, from `xi` (n, *grid); where beta was learned
    directly, `beta` holds it and `xi` is None.
    """

    data: OperatorData
    field: np.ndarray
    xi: np.ndarray | None
    beta: np.ndarray | None = None

    @cached_property
    def field_at_points(self) -> np.ndarray:
        return self.data.stencil(self.field)

    @cached_property
    def residual(self) -> np.ndarray:
        """`Y - S(A)(X)`, zero where nothing was observed."""
        return np.where(self.data.observed, np.nan_to_num(self.data.values) - self.field_at_points, 0.0)

    @cached_property
    def xi_at_points(self) -> np.ndarray:
        if self.xi is None:
            raise ValueError("directly learned weights have no design factor")
        return self.data.stencil(self.xi)

    @cached_property
    def sigma2(self) -> float:
        """The estimated variance of the noise."""
        return noise_variance(self.data, self.residual)

    def weights(self, g: Functional) -> np.ndarray:
        """`beta` on the grid."""
        if self.beta is not None:
            return self.beta
        return self.xi * representers(g, self.field, self.data.grid)

    def average(self, terms: np.ndarray) -> np.ndarray:
        """`1/K sum_k` of terms (n, K) over the observed points; 0 for a unit without any."""
        return np.where(self.data.observed, terms, 0.0).sum(1) / np.maximum(self.data.counts, 1)

    def spread(self, terms: np.ndarray) -> np.ndarray:
        """The sampling variance of `average(terms)`: `s^2 / K` within the unit, NaN below two observations."""
        k = self.data.counts
        centred = np.where(self.data.observed, terms - self.average(terms)[:, None], 0.0)
        return np.divide((centred**2).sum(1), k * (k - 1.0), out=np.full(len(k), np.nan), where=k > 1)


class Correction(ABC):
    """From one repeat's predictions to each unit's correction."""

    name: str
    label: str

    @abstractmethod
    def __call__(self, g: Functional, prediction: Prediction, plugin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corrections `(n,)` to the plug-in values, and the sampling variance `(n,)` of each."""
