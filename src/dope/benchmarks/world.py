"""The abstract world: simulated units, a known design, and the truth about any functional."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from dope.benchmarks.sampling import draw_nodes
from dope.data import DataError, Design, Grid, OperatorData, inclusion_probabilities
from dope.functionals import Functional
from dope.functionals.base import evaluate

# First words of the spawn keys: a sample and a truth pool never share a stream, even under one seed.
_SAMPLE, _TRUTH = 0, 1
# Units simulated together: few enough to stay in the processor's cache, which halves the time at 10^5 units.
_UNITS_AT_ONCE = 1024


class Truth(float):
    """The true value of a target: a number, with the Monte-Carlo error `se` it is known to."""

    se: float

    def __new__(cls, value: float, se: float) -> Truth:
        self = super().__new__(cls, value)
        self.se = float(se)
        return self

    def __getnewargs__(self) -> tuple[float, float]:  # what copying and sending between processes needs
        return float(self), self.se

    def __repr__(self) -> str:
        digits = -math.floor(math.log10(self.se)) if 0 < self.se < math.inf else 6
        digits = max(digits, 0)
        return f"{float(self):.{digits}f} (se {self.se:.{digits}f})"


@dataclass(frozen=True, eq=False)
class Draw:
    """Units drawn from a world: what a study would observe (`data`), and what it would not (`solutions`).

    `design` and `data` are made when first asked for: at 10^5 units they take longer than the simulation.
    """

    world: World
    inputs: np.ndarray  # (n, C, *grid), float32
    solutions: np.ndarray  # (n, *grid), float64, without noise
    nodes: np.ndarray  # (n, K), flat numbers of the observed nodes, increasing
    values: np.ndarray  # (n, K), noisy

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        return f"Draw({len(self)} units of {self.world!r})"

    def take(self, units: np.ndarray) -> Draw:
        """These units alone."""
        return Draw(self.world, self.inputs[units], self.solutions[units], self.nodes[units], self.values[units])

    @cached_property
    def design(self) -> Design:
        """The law of the points: chances at one draw and, without replacement, of being among the K."""
        return self.world.design(self.inputs, self.solutions)

    @cached_property
    def data(self) -> OperatorData:
        """The units as an estimator takes them, with their design."""
        grid = self.world.grid
        places = grid.points.reshape(-1, grid.ndim)[self.nodes]
        return OperatorData(self.inputs, places, self.values, grid=grid, design=self.design)


@dataclass(frozen=True, kw_only=True)
class World(ABC):
    """A data-generating process whose parameters are the fields of the record.

    points : K, how many nodes of the grid are observed in each unit.
    noise : standard deviation of the Gaussian noise of an observation.
    with_replacement : whether one node may be observed several times.
    pool, pool_seed : size and seed of the units that stand for the population in `theta`.
    """

    points: int = 24
    noise: float = 0.0
    with_replacement: bool = False
    pool: int = 100_000
    pool_seed: int = 0

    name: ClassVar[str]

    def __post_init__(self) -> None:
        whole("points", self.points, 1)
        whole("pool", self.pool, 2)
        whole("pool_seed", self.pool_seed, 0)
        if not (np.isfinite(self.noise) and self.noise >= 0):
            raise DataError(f"noise is a standard deviation, finite and not negative: got {self.noise}.")
        if not self.with_replacement and self.points > self.grid.size:
            raise DataError(
                f"points={self.points} distinct nodes asked for, but the grid has {self.grid.size}: ask for "
                "fewer points, refine the grid with size=, or sample with_replacement=True."
            )

    # ---- what a world defines -------------------------------------------------------------------------
    @property
    @abstractmethod
    def grid(self) -> Grid:
        """Where inputs and solutions live."""

    @property
    @abstractmethod
    def functionals(self) -> dict[str, Functional]:
        """The benchmark's own functionals, by name."""

    @property
    @abstractmethod
    def physics(self) -> World:
        """This world with all that concerns observation at its default: equal ones share their truth pools."""

    @abstractmethod
    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Inputs `(n, C, *grid)`, float32, and the solutions `(n, *grid)`, float64, of exactly these inputs.

        Units take their numbers from `rng` one after another, so two calls for m units give what one call for
        2m units gives.
        """

    @abstractmethod
    def probability(self, inputs: np.ndarray, solutions: np.ndarray) -> np.ndarray:
        """The chance `(n, *grid)` of each node of these units at one draw."""

    # ---- what every world offers ----------------------------------------------------------------------
    def design(self, inputs: np.ndarray, solutions: np.ndarray) -> Design:
        """The law of the observed nodes; a world that has its inclusion probabilities exactly overrides this."""
        p = self.probability(inputs, solutions)
        if self.with_replacement:
            return Design(probability=p)
        inclusion = inclusion_probabilities(p.reshape(len(p), -1), self.points).reshape(p.shape)
        return Design(probability=p, inclusion=inclusion)

    def sample(self, n: int, seed: int) -> Draw:
        """n units with K noisy values each. Under one seed, the first m units are the same for every n >= m."""
        n = whole("n", n, 1)
        inputs_rng, nodes_rng, noise_rng = _streams(seed, _SAMPLE, 3)
        nodes = np.empty((n, self.points), dtype=np.int64)
        values = np.empty((n, self.points))
        solutions = np.empty((n, *self.grid.shape))
        inputs = None
        for part, a, u in self._simulated(n, inputs_rng):
            p = self.probability(a, u).reshape(len(u), -1)
            nodes[part] = draw_nodes(p, self.points, nodes_rng, with_replacement=self.with_replacement)
            values[part] = np.take_along_axis(u.reshape(len(u), -1), nodes[part], axis=1)
            solutions[part] = u
            if inputs is None:
                inputs = np.empty((n, *a.shape[1:]), dtype=a.dtype)
            inputs[part] = a
        assert inputs is not None
        values += self.noise * noise_rng.standard_normal(values.shape)
        return Draw(self, inputs, solutions, nodes, values)

    def _simulated(self, n: int, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        for start in range(0, n, _UNITS_AT_ONCE):
            part = slice(start, min(start + _UNITS_AT_ONCE, n))
            yield part, *self.simulate(part.stop - start, rng)

    def theta(self, g: Functional) -> Truth:
        """`E[g(S0(A))]` from `pool` units that no sample contains, simulated once and kept in memory."""
        values = evaluate(g, _truth_pool(self.physics, self.pool, self.pool_seed), self.grid)
        return Truth(values.mean(), values.std(ddof=1) / math.sqrt(self.pool))


@lru_cache(maxsize=3)
def _truth_pool(physics: World, size: int, seed: int) -> np.ndarray:
    """Solutions `(size, *grid)`; single precision, whose rounding is far below the pool's own error."""
    (rng,) = _streams(seed, _TRUTH, 1)
    out = np.empty((size, *physics.grid.shape), dtype=np.float32)
    for part, _, solutions in physics._simulated(size, rng):
        out[part] = solutions
    return out


def _streams(seed: int, purpose: int, count: int) -> list[np.random.Generator]:
    sequence = np.random.SeedSequence(whole("seed", seed, 0), spawn_key=(purpose,))
    return [np.random.default_rng(child) for child in sequence.spawn(count)]


def whole(what: str, value: int, least: int) -> int:
    """`value` as an int, or an error that names it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise DataError(f"{what} must be a whole number, got {value!r}.") from None
    if number < least:
        raise DataError(f"{what} must be at least {least}, got {number}.")
    return number
