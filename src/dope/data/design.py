"""Known designs: how each unit's observation points were chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid


@dataclass(frozen=True, eq=False)
class Design:
    """The law of the observation points of each unit on the nodes of the grid, where it is known.

    `probability` (n, *grid) is the chance of each node at one draw. If the K points of a unit were drawn
    *without* replacement, `inclusion` (n, *grid) must hold the chance that a node is among them: the average
    over the points then follows inclusion / K, not probability. `density` (n, *grid) replaces both when
    points come from a continuum: the density of a point with respect to the grid's reference measure.
    """

    probability: np.ndarray | None = None
    inclusion: np.ndarray | None = None
    density: np.ndarray | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.probability, self.inclusion, self.density) if v is not None]
        if not given:
            raise DataError("a design needs probability, inclusion or density.")
        if self.density is not None and len(given) > 1:
            raise DataError("a design is either a density or probabilities on the nodes, not both.")
        for name in ("probability", "inclusion", "density"):
            value = getattr(self, name)
            if value is None:
                continue
            value = np.asarray(value, dtype=np.float64)
            if not np.isfinite(value).all() or (value < 0).any():
                raise DataError(f"design {name} must be finite and not negative.")
            object.__setattr__(self, name, value)

    @property
    def array(self) -> np.ndarray:
        """The array that decides: inclusion before probability before density."""
        chosen = self.inclusion if self.inclusion is not None else self.probability
        return chosen if chosen is not None else self.density  # type: ignore[return-value]

    def inverse_weight(self, grid: Grid, counts: np.ndarray) -> np.ndarray:
        """`xi` (n, *grid): the reference measure over the law of an observed point; 0 where mu has no mass.

        Raises if the design cannot reach a node that carries mass: no weight repairs that.
        """
        n = len(counts)
        if self.array.shape != (n, *grid.shape):
            raise DataError(f"design has shape {self.array.shape}, expected (n, *grid) = {(n, *grid.shape)}.")
        size = counts.reshape(n, *([1] * grid.ndim))
        if self.inclusion is not None:
            law, mass = self.inclusion / np.maximum(size, 1), grid.weights
        elif self.probability is not None:
            law, mass = self.probability, grid.weights
        else:
            law, mass = self.density, np.ones(grid.shape) * (grid.weights > 0)
        unreachable = (law <= 0) & (mass > 0)
        if unreachable.any():
            unit = int(np.argmax(unreachable.reshape(n, -1).any(1)))
            raise DataError(
                f"design: unit at position {unit} can never be observed at {int(unreachable[unit].sum())} node(s) that "
                "carry mass, so the average over the whole domain is not identified: restrict the functional with "
                "g.within(region) or correct the design."
            )
        return np.divide(mass, law, out=np.zeros_like(law), where=law > 0)

    def take(self, units: np.ndarray) -> Design:
        pick = lambda v: None if v is None else v[units]  # noqa: E731
        return Design(pick(self.probability), pick(self.inclusion), pick(self.density))


def inclusion_probabilities(probability: np.ndarray, size: int, *, draws: int = 0, seed: int = 0) -> np.ndarray:
    """Chances of being among `size` nodes drawn one after another without replacement, `(n, nodes)`.

    By default from the exponential-clock equation `pi = 1 - exp(-t p)`, `sum(pi) = size`, which is exact for
    equal probabilities and accurate to O(1/size) otherwise; with `draws > 0` by Monte Carlo.
    """
    p = np.atleast_2d(np.asarray(probability, dtype=np.float64))
    positive = (p > 0).sum(1)
    if (positive < size).any():
        unit = int(np.argmax(positive < size))
        raise DataError(f"unit {unit}: {size} distinct points asked for, but only {positive[unit]} have positive probability.")
    if draws > 0:
        rng = np.random.default_rng(seed)
        hits = np.zeros_like(p)
        with np.errstate(divide="ignore"):
            scale = np.where(p > 0, 1 / p, np.inf)
        for _ in range(draws):
            clock = rng.standard_exponential(p.shape) * scale
            first = np.argpartition(clock, size - 1, axis=1)[:, :size]
            np.put_along_axis(hits, first, np.take_along_axis(hits, first, 1) + 1, 1)
        return hits / draws
    # Newton on log t for sum(1 - exp(-t p)) = size: the sum is increasing in t, and concave in t
    full = positive == size
    goal = np.where(full, size - 0.5, size).astype(np.float64)
    t = np.full((len(p), 1), float(size))
    for _ in range(100):
        left = np.exp(-t * p)
        gap = (1 - left).sum(1) - goal
        if np.abs(gap).max() < 1e-12 * size:
            break
        slope = (p * left).sum(1)
        t = t - (gap / slope)[:, None]
    pi = 1 - np.exp(-t * p)
    pi[full] = p[full] > 0
    return pi
