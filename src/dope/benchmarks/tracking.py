"""A servo that follows a reference under disturbances, sampled when it is off."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from dope.benchmarks.focused import Focused
from dope.benchmarks.sampling import two_level_inclusion
from dope.data import DataError, Design, Grid
from dope.functionals import Functional, TrackingError

_HORIZON = 10.0
_LOG_FREQUENCY, _SD_LOG_FREQUENCY = np.log(2.0), 0.2
_DAMPING = (0.3, 0.8)
_LOADS = 2
_DURATION, _HEIGHT = (1.0, 4.0), 0.8


@dataclass(frozen=True)
class Tracking(Focused):
    """A position under feedback, `y'' = w^2 (c - y) - 2 z w y'` from rest on [0, 10]: solution y.

    Input channels: the command c, held over each step of the grid, log w, and the damping ratio z. The command is
    the reference `64 s^3 (1 - s)^3` with s = t / 10, out to 1 and back, and two pulses of a disturbing load.

    threshold : the error |y - reference| that triggers observations: the nodes of interest are those beyond it.
    """

    _: KW_ONLY
    threshold: float = 0.2
    noise: float = 0.01

    name: ClassVar[str] = "tracking"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.threshold) and self.threshold >= 0):
            raise DataError(f"threshold is a distance, finite and not negative: got {self.threshold}.")

    @cached_property
    def grid(self) -> Grid:
        return Grid.uniform(0, _HORIZON, self.size)

    @property
    def functionals(self) -> dict[str, Functional]:
        return {"tracking_error": TrackingError(reference, name="tracking_error")}

    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        # One row of normals a unit: its frequency, its damping, then start, duration and height of each load.
        z = rng.standard_normal((n, 2 + 3 * _LOADS))
        uniform = ndtr(z)
        start, duration, height = uniform[:, 2:].reshape(n, 3, _LOADS).swapaxes(0, 1)
        times = self.grid.axes[0].nodes
        inputs = np.empty((n, 3, self.size), dtype=np.float32)
        inputs[:, 0] = reference(times) + loads(start, duration, height, times)
        inputs[:, 1] = (_LOG_FREQUENCY + _SD_LOG_FREQUENCY * z[:, 0])[:, None]
        inputs[:, 2] = (_DAMPING[0] + (_DAMPING[1] - _DAMPING[0]) * uniform[:, 1])[:, None]
        # The solution belongs to the inputs as they are shown, after their rounding to single precision.
        shown = inputs.astype(np.float64)
        return inputs, follow(shown[:, 0], np.exp(shown[:, 1, 0]), shown[:, 2, 0], _HORIZON / (self.size - 1))

    def interest(self, solutions: np.ndarray) -> np.ndarray:
        return (np.abs(solutions - reference(self.grid.axes[0].nodes)) > self.threshold).astype(np.float64)

    def design(self, inputs: np.ndarray, solutions: np.ndarray) -> Design:
        probability = self.probability(inputs, solutions)
        if self.with_replacement:
            return Design(probability=probability)
        triggered = self.interest(solutions) > 0
        chances = self._inclusion[triggered.sum(axis=1)]
        return Design(probability=probability, inclusion=np.where(triggered, chances[:, :1], chances[:, 1:]))

    @cached_property
    def _inclusion(self) -> np.ndarray:
        """Exact chances `(size + 1, 2)` of a node that triggers and of another, by how many nodes trigger."""
        count = np.arange(1, self.size + 1)
        outer = (1 - self.rho) / self.size
        even = np.full((1, 2), self.points / self.size)  # nothing triggers
        chances = two_level_inclusion(count, self.size - count, 1 + self.rho / count / outer, self.points)
        return np.concatenate([even, chances])


def reference(t):
    """Out to 1 and back, from rest to rest. A polynomial, so that arrays and tensors are taken alike."""
    s = t / _HORIZON
    return (4 * s * (1 - s)) ** 3


def loads(start: np.ndarray, duration: np.ndarray, height: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The sum `(n, len(times))` of pulses whose start, duration and height are shares `(n, loads)` of their ranges."""
    length = _DURATION[0] + (_DURATION[1] - _DURATION[0]) * duration
    begin = start * (_HORIZON - length)
    on = (begin[..., None] <= times) & (times <= (begin + length)[..., None])
    return np.einsum("nl,nlt->nt", _HEIGHT * (2 * height - 1), on)


def follow(command: np.ndarray, frequency: np.ndarray, damping: np.ndarray, step: float) -> np.ndarray:
    """Positions `(n, nodes)` from rest for commands `(n, nodes)` held over each step: exact, by the matrix exponential.

    About a held command the servo is a free oscillation, whose exponential is known in closed form below critical
    damping.
    """
    decay = damping * frequency
    swing = frequency * np.sqrt(1 - damping**2)
    fade = np.exp(-decay * step)
    cosine, sine = fade * np.cos(swing * step), fade * np.sin(swing * step) / swing
    keep, carry = cosine + decay * sine, cosine - decay * sine
    pull = -(frequency**2) * sine
    given = np.ascontiguousarray(command.T)  # time first: each step then works on contiguous memory
    y, speed = np.zeros(given.shape), np.zeros(len(command))
    for k in range(len(y) - 1):
        error = y[k] - given[k]
        y[k + 1] = given[k] + keep * error + sine * speed
        speed = pull * error + carry * speed
    return y.T


tracking = Tracking
