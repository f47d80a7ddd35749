"""Waves that steepen into fronts, observed where they are steep."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dope.benchmarks.focused import Focused
from dope.data import Grid
from dope.functionals import Energy, Functional

_VISCOSITY, _TIME = 0.01, 0.5
_MODES = 4
_MEAN_SD, _WAVE_SD = 0.3, 0.6
_FINE = 512  # nodes that resolve exp(-potential / 2 viscosity), far narrower than the wave itself


@dataclass(frozen=True)
class Burgers(Focused):
    """`u_t + u u_x = 0.01 u_xx` on the periodic interval [0, 1): input channel `[u at time 0]`, solution u at time 0.5.

    The wave at time 0 is the trigonometric interpolant of its input. Of interest is the steepness |u_x|.
    """

    _: KW_ONLY
    noise: float = 0.02

    name: ClassVar[str] = "burgers"
    least_size: ClassVar[int] = 2 * _MODES + 1

    @cached_property
    def grid(self) -> Grid:
        return Grid.periodic(0, 1, self.size)

    @property
    def functionals(self) -> dict[str, Functional]:
        return {"energy": Energy()}

    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        z = rng.standard_normal((n, 2 * _MODES + 1))
        mode = np.arange(1, _MODES + 1)
        angle = 2 * np.pi * mode[:, None] * self.grid.axes[0].nodes
        waves = np.concatenate([np.cos(angle), np.sin(angle)])
        size = _WAVE_SD / np.sqrt((1.0 / mode**2).sum()) / np.tile(mode, 2)
        start = np.einsum("nm,mx->nx", z[:, 1:] * size, waves) + _MEAN_SD * z[:, :1]
        inputs = start[:, None].astype(np.float32)
        # The solution belongs to the wave as it is shown, after its rounding to single precision.
        return inputs, evolve(inputs[:, 0].astype(np.float64))

    def interest(self, solutions: np.ndarray) -> np.ndarray:
        return np.abs(np.roll(solutions, -1, axis=1) - np.roll(solutions, 1, axis=1))


def evolve(start: np.ndarray) -> np.ndarray:
    """Waves `(n, nodes)` at the final time, by the substitution of Cole and Hopf.

    In the frame that moves with the mean, `u = -2 nu (log v)_x` where v solves the heat equation, each of whose
    Fourier modes decays by itself: there is no time step, and the only error is that of the interpolant, from which
    the fastest wave of an even grid, whose phase its nodes cannot tell, is left out.
    """
    size = start.shape[1]
    refined = -(-_FINE // size)
    nodes = refined * size
    wave = np.fft.rfft(start, axis=1)
    mean = wave[:, :1].real / size
    frequency = 2j * np.pi * np.arange(nodes // 2 + 1)
    wave[:, 0] = 0
    if size % 2 == 0:
        wave[:, -1] = 0
    wave[:, 1:] /= frequency[1 : wave.shape[1]]
    potential = refined * np.fft.irfft(wave, nodes, axis=1)
    # anchored at its least value, so that the largest exponential is one
    potential -= potential.min(axis=1, keepdims=True)
    heat = np.fft.rfft(np.exp(-potential / (2 * _VISCOSITY)), axis=1)
    heat *= np.exp(_VISCOSITY * _TIME * frequency**2 - frequency * mean * _TIME)
    v = np.fft.irfft(heat, nodes, axis=1)[:, ::refined]
    slope = np.fft.irfft(frequency * heat, nodes, axis=1)[:, ::refined]
    return mean - 2 * _VISCOSITY * slope / v


burgers = Burgers
