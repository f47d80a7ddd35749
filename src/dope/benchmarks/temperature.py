"""The temperature of a plate with a few heaters, measured where it is hot."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from dope.benchmarks.focused import Focused
from dope.data import Grid
from dope.functionals import ExcessAbove, Functional, TimeAbove

_AMBIENT = 20.0
_HEATERS = 4
_WIDTH = 0.08
_LOG_HEAT, _SD_LOG_HEAT = np.log(150.0), 0.4
_LOG_LENGTH, _SD_LOG_LENGTH = np.log(0.15), 0.25
_THRESHOLD, _SHARPNESS = 60.0, 0.5


@dataclass(frozen=True)
class Temperature(Focused):
    """Steady heat in a thin plate, the unit square with insulated edges: solution the temperature T in °C.

    `T - l^2 laplace(T) = 20 + q`, where conduction spreads over the length l what heaters give and the air at 20 °C
    takes away. Input channels: the heating q in °C, which is how much warmer a place were without conduction, and
    log l. Four heaters of random place and strength. Of interest is the rise above the plate's coolest place.
    """

    _: KW_ONLY
    size: int = 20
    noise: float = 0.5
    pool: int = 50_000

    name: ClassVar[str] = "temperature"

    @cached_property
    def grid(self) -> Grid:
        return Grid.product(Grid.cells(0, 1, self.size), Grid.cells(0, 1, self.size))

    @property
    def functionals(self) -> dict[str, Functional]:
        return {
            "hot_area": TimeAbove(_THRESHOLD, _SHARPNESS, name="hot_area"),
            "excess": ExcessAbove(_THRESHOLD, _SHARPNESS, name="excess"),
        }

    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        z = rng.standard_normal((n, 1 + 3 * _HEATERS))
        strength = np.exp(_LOG_HEAT + _SD_LOG_HEAT * z[:, 1 : 1 + _HEATERS])
        place = ndtr(z[:, 1 + _HEATERS :]).reshape(n, 2, _HEATERS, 1)
        x, y = np.exp(-0.5 * ((self.grid.axes[0].nodes - place) / _WIDTH) ** 2).swapaxes(0, 1)
        inputs = np.empty((n, 2, *self.grid.shape), dtype=np.float32)
        inputs[:, 0] = (strength[:, :, None] * x).swapaxes(1, 2) @ y
        inputs[:, 1] = (_LOG_LENGTH + _SD_LOG_LENGTH * z[:, 0])[:, None, None]
        # The solution belongs to the inputs as they are shown, after their rounding to single precision.
        shown = inputs.astype(np.float64)
        return inputs, _AMBIENT + spread(shown[:, 0], np.exp(shown[:, 1, 0, 0]))

    def interest(self, solutions: np.ndarray) -> np.ndarray:
        return solutions - solutions.min(axis=(1, 2), keepdims=True)


def spread(heating: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Finite-volume solutions `(n, size, size)` of `u - length^2 laplace(u) = heating` with insulated edges.

    The cosines at the centres of the cells diagonalise the five-point operator, so that a solve is two changes of
    basis.
    """
    size = heating.shape[1]
    mode = np.arange(size)
    cosine = np.sqrt(2 / size) * np.cos(np.pi / size * mode[:, None] * (mode + 0.5))
    cosine[0] = np.sqrt(1 / size)
    rate = (2 * size * np.sin(np.pi / (2 * size) * mode)) ** 2
    modes = cosine @ heating @ cosine.T
    modes /= 1 + length[:, None, None] ** 2 * (rate[:, None] + rate)
    return cosine.T @ modes @ cosine


temperature = Temperature
