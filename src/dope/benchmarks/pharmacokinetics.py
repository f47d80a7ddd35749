"""Concentrations after one or two pulses of a drug, observed more often around their peak."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from dope.benchmarks.sampling import two_level_inclusion
from dope.benchmarks.world import World, whole
from dope.data import DataError, Design, Grid
from dope.functionals import Functional, Mean, SoftMax, TimeAbove

_HORIZON = 24.0
_MEAN_LOG_CL, _MEAN_LOG_V = 0.0, 1.0
_SD_LOG_CL, _SD_LOG_V, _CORRELATION = 0.25, 0.20, 0.4
_DURATION = (1.0, 4.0)
_RATE = (0.5, 2.0)


@dataclass(frozen=True)
class Pharmacokinetics(World):
    """One-compartment kinetics on [0, 24]: input channels `[r, log CL, log V]`, solution the concentration.

    rho : how much observation concentrates around the unit's peak: the window's share of it is rho / 5.
    size : number of grid points.
    bandwidth : half-width of the window around the peak, in units of time.
    window_weight : the window's share itself, in place of rho / 5.
    window_at : a time at which the window stands for all units, in place of each one's peak.
    clearance_shift : s, where patients clear (1 + s) CL while the input still shows CL: what an operator
        learned from a simulator with s = 0 gets wrong.
    """

    rho: float = 0.5
    _: KW_ONLY
    size: int = 128
    bandwidth: float = 5.0
    window_weight: float | None = None
    window_at: float | None = None
    clearance_shift: float = 0.0
    noise: float = 0.002
    pool: int = 200_000

    name: ClassVar[str] = "pharmacokinetics"

    def __post_init__(self) -> None:
        whole("size", self.size, 2)
        super().__post_init__()
        if not 0 <= self.weight < 1:
            given = f"rho={self.rho}" if self.window_weight is None else f"window_weight={self.window_weight}"
            raise DataError(
                f"{given} gives the window {self.weight:g} of the observations: use rho in [0, 5) or window_weight "
                "in [0, 1). With all of them in the window, nothing outside it would ever be observed."
            )
        if not self.bandwidth > 0:
            raise DataError(f"bandwidth is the window's half-width in time: it must exceed 0, got {self.bandwidth}.")
        if self.window_at is not None and not 0 <= self.window_at <= _HORIZON:
            raise DataError(f"window_at must lie in [0, {_HORIZON:g}], got {self.window_at}.")
        if not (np.isfinite(self.clearance_shift) and self.clearance_shift > -1):
            raise DataError(f"clearance_shift must exceed -1 for drug to be cleared, got {self.clearance_shift}.")

    @property
    def weight(self) -> float:
        """The share of the observations that is drawn from the window around the peak."""
        return self.rho / 5 if self.window_weight is None else self.window_weight

    @cached_property
    def grid(self) -> Grid:
        return Grid.uniform(0, _HORIZON, self.size)

    @property
    def functionals(self) -> dict[str, Functional]:
        return {
            "auc": Mean(name="auc"),
            "tat": TimeAbove(0.5, 8.0, name="tat"),
            "soft_cmax": SoftMax(6.0, name="soft_cmax"),
        }

    @property
    def physics(self) -> World:
        # with replacement, so that a coarse grid may have fewer nodes than the default number of points
        return Pharmacokinetics(size=self.size, clearance_shift=self.clearance_shift, with_replacement=True)

    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        # One row of nine normals a unit, whatever it uses of them: units keep their place in the stream.
        z = rng.standard_normal((n, 9))
        log_v = _CORRELATION * z[:, 0] + np.sqrt(1 - _CORRELATION**2) * z[:, 1]
        inputs = np.empty((n, 3, self.size), dtype=np.float32)
        inputs[:, 0] = dosing_rate(ndtr(z[:, 2:]), self.grid.axes[0].nodes)
        inputs[:, 1] = (_MEAN_LOG_CL + _SD_LOG_CL * z[:, 0])[:, None]
        inputs[:, 2] = (_MEAN_LOG_V + _SD_LOG_V * log_v)[:, None]
        # The solution belongs to the inputs as they are shown, after their rounding to single precision.
        clearance, volume = np.exp(inputs[:, 1:, 0].astype(np.float64)).T
        clearance = (1 + self.clearance_shift) * clearance
        return inputs, concentration(inputs[:, 0], clearance, volume, self._step)

    def probability(self, inputs: np.ndarray, solutions: np.ndarray) -> np.ndarray:
        return self._designs[0][self._centre(solutions)]

    def design(self, inputs: np.ndarray, solutions: np.ndarray) -> Design:
        centre = self._centre(solutions)
        probability, inclusion = self._designs
        return Design(probability=probability[centre], inclusion=None if inclusion is None else inclusion[centre])

    def _centre(self, solutions: np.ndarray) -> np.ndarray:
        """The row of `_designs` for each unit."""
        return solutions.argmax(axis=1) if self.window_at is None else np.zeros(len(solutions), dtype=np.int64)

    @property
    def _step(self) -> float:
        return _HORIZON / (self.size - 1)

    @cached_property
    def _designs(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Chances at one draw and inclusion probabilities, one row for each place the window may have."""
        node = np.arange(self.size)
        centre = node[:, None] if self.window_at is None else np.array([[self.window_at / self._step]])
        # a node at exactly the half-width is inside
        inside = np.abs(node - centre) <= self.bandwidth / self._step + 1e-9
        count = inside.sum(1)
        outer = (1 - self.weight) / self.size
        inner = outer + self.weight / count
        probability = np.where(inside, inner[:, None], outer)
        if self.with_replacement:
            return probability, None
        chances = two_level_inclusion(count, self.size - count, inner / outer, self.points)
        return probability, np.where(inside, chances[:, :1], chances[:, 1:])


def dosing_rate(uniform: np.ndarray, times: np.ndarray) -> np.ndarray:
    """One or two pulses `(n, len(times))` from uniform numbers `(n, 7)`: how many, then each one's shape."""
    rate = np.zeros((len(uniform), len(times)), dtype=np.float32)
    for pulse, (duration, start, height) in enumerate((uniform[:, 1:4].T, uniform[:, 4:7].T)):
        length = _between(_DURATION, duration)
        begin = start * (_HORIZON - length)
        end = np.minimum(begin + length, _HORIZON)
        height = _between(_RATE, height).astype(np.float32)
        if pulse == 1:
            height[uniform[:, 0] < 0.5] = 0
        given = (begin[:, None] <= times) & (times <= end[:, None])
        rate += given * height[:, None]
    return rate


def _between(ends: tuple[float, float], share: np.ndarray) -> np.ndarray:
    return ends[0] + (ends[1] - ends[0]) * share


def concentration(rate: np.ndarray, clearance: np.ndarray, volume: np.ndarray, step: float) -> np.ndarray:
    """Solutions `(n, nodes)` of `u' = -(CL / V) u + r / V`, `u(0) = 0`, for a rate constant on each step."""
    elimination = clearance / volume
    decay = np.exp(-elimination * step)
    slow = elimination * step < 1e-12  # the limit without elimination, off by less than half of this
    gain = np.where(slow, step, -np.expm1(-elimination * step) / np.where(slow, 1.0, elimination)) / volume
    u = np.zeros(rate.shape[::-1])  # time first: each step then works on contiguous memory
    given = np.ascontiguousarray(rate.T)
    for k in range(1, len(u)):
        np.multiply(u[k - 1], decay, out=u[k])
        u[k] += given[k - 1] * gain
    return u.T


pharmacokinetics = Pharmacokinetics
