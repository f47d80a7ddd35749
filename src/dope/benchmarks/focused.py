"""Worlds in which a share of the observations concentrates where something happens."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from dope.benchmarks.world import World, whole
from dope.data import DataError


@dataclass(frozen=True)
class Focused(World):
    """A world observed evenly but for one share of the observations, which goes where the interest is.

    rho : this share, drawn in proportion to `interest`; the others are spread evenly over all nodes.
    size : number of grid points along each axis.
    """

    rho: float = 0.5
    _: KW_ONLY
    size: int = 128

    least_size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        whole("size", self.size, self.least_size)
        super().__post_init__()
        if not 0 <= self.rho < 1:
            raise DataError(
                f"rho must lie in [0, 1), got {self.rho}: it is the share of the observations drawn where {self.name} "
                "is of interest, and with all of them there the rest would hardly ever be observed."
            )

    @abstractmethod
    def interest(self, solutions: np.ndarray) -> np.ndarray:
        """How much each node of these units attracts observations, `(n, *grid)`, not negative."""

    def probability(self, inputs: np.ndarray, solutions: np.ndarray) -> np.ndarray:
        # the least normal number keeps units without anything of interest, which are observed evenly, from 0 / 0
        drawn = self.interest(solutions) + np.finfo(np.float64).tiny
        drawn /= drawn.sum(axis=tuple(range(1, drawn.ndim)), keepdims=True)
        return (1 - self.rho) / self.grid.size + self.rho * drawn

    @property
    def physics(self) -> World:
        # with replacement, so that a coarse grid may have fewer nodes than the default number of points
        return type(self)(size=self.size, with_replacement=True)
