"""Known designs: how each unit's observation points were chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid

_NAMES = ("probability", "inclusion", "density")
# Probabilities that went through float32 sum to one only up to its rounding.
_ROUNDING = 1e-4


@dataclass(frozen=True, eq=False)
class Design:
    """The law of the observation points of each unit on the nodes of the grid, where it is known.

    `probability` (n, *grid) is the chance of each node at one draw. If the K points of a unit were drawn
    *without* replacement, `inclusion` (n, *grid) must hold the chance that a node is among them: a point picked
    among the K then follows inclusion / K, not probability. `density` (n, *grid) replaces both when points come
    from a continuum: the density of a point with respect to the grid's reference measure.
    """

    probability: np.ndarray | None = None
    inclusion: np.ndarray | None = None
    density: np.ndarray | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in _NAMES if getattr(self, name) is not None}
        if not given:
            raise DataError("a design needs probability, inclusion or density: pass the one that is known.")
        if self.density is not None and len(given) > 1:
            raise DataError("a design is either a density or probabilities on the nodes, not both: drop one of them.")
        for name, value in given.items():
            value = np.asarray(value, dtype=np.float64)
            if value.ndim < 2:
                raise DataError(f"design {name} has shape {value.shape}, expected (n, *grid): one row a unit.")
            bad = ~np.isfinite(value) | (value < 0)
            if name == "inclusion":
                bad |= value > 1 + _ROUNDING
            if bad.any():
                at = tuple(int(i) for i in np.argwhere(bad)[0])
                bound = "between 0 and 1" if name == "inclusion" else "finite and not negative"
                raise DataError(
                    f"design {name} must be {bound}, but the unit at position {at[0]} has {value[at]:g} at node "
                    f"{at[1:]}: correct it."
                )
            object.__setattr__(self, name, value)
        if self.probability is not None:
            total = self.probability.reshape(len(self.probability), -1).sum(1)
            off = np.abs(total - 1) > _ROUNDING
            if off.any():
                i = int(np.argmax(off))
                raise DataError(
                    f"design probability of the unit at position {i} sums to {total[i]:g} over the nodes, expected 1 "
                    f"({int(off.sum())} unit(s) affected): divide each unit's probabilities by their sum."
                )
            if self.inclusion is not None and self.inclusion.shape != self.probability.shape:
                raise DataError(
                    f"design probability has shape {self.probability.shape}, inclusion {self.inclusion.shape}: they "
                    "must describe the same units and nodes."
                )

    @property
    def array(self) -> np.ndarray:
        """The array that decides: inclusion before probability before density."""
        return next(v for v in (self.inclusion, self.probability, self.density) if v is not None)

    def inverse_weight(self, grid: Grid, counts: np.ndarray) -> np.ndarray:
        """`xi` (n, *grid): the reference measure over the law of an observed point; 0 where mu has no mass.

        Raises if a unit with observations can never be observed at a node that carries mass: no weight repairs
        that.
        """
        n = len(counts)
        if self.array.shape != (n, *grid.shape):
            raise DataError(f"design has shape {self.array.shape}, expected (n, *grid) = {(n, *grid.shape)}.")
        law = self.array
        if self.inclusion is not None:  # pi / K, with K the number drawn, of which some may have been lost since
            drawn = law.reshape(n, -1).sum(1).reshape(n, *([1] * grid.ndim))
            law = law / np.where(drawn > 0, drawn, 1.0)
        mass = grid.weights if self.density is None else (grid.weights > 0).astype(np.float64)
        seen = (counts > 0).reshape(n, *([1] * grid.ndim))
        unreachable = (law <= 0) & (mass > 0) & seen
        if unreachable.any():
            unit = int(np.argmax(unreachable.reshape(n, -1).any(1)))
            raise DataError(
                f"design: the unit at position {unit} can never be observed at {int(unreachable[unit].sum())} node(s) "
                "that carry mass, so an average over the whole domain is not identified: build the data on "
                "grid.restricted(...) to the nodes that can be observed, or correct the design."
            )
        return np.divide(mass, law, out=np.zeros_like(law), where=law > 0)

    def take(self, units: np.ndarray) -> Design:
        """The designs of the units at these positions."""
        return Design(**{name: v[units] for name in _NAMES if (v := getattr(self, name)) is not None})


def inclusion_probabilities(probability: np.ndarray, size: int, *, draws: int = 0, seed: int = 0) -> np.ndarray:
    """Chances of being among `size` nodes drawn one after another without replacement, `(n, nodes)`.

    By default from the exponential-clock equation `pi = 1 - exp(-t p)`, `sum(pi) = size`, which is exact for
    equal probabilities and accurate to O(1/size) otherwise; with `draws > 0` by Monte Carlo.
    """
    p = np.atleast_2d(np.asarray(probability, dtype=np.float64))
    p = p / p.sum(1, keepdims=True)
    positive = (p > 0).sum(1)
    if (positive < size).any():
        unit = int(np.argmax(positive < size))
        raise DataError(
            f"the unit at position {unit}: {size} distinct points asked for, but only {positive[unit]} have positive "
            "probability: draw fewer, or give more nodes a chance."
        )
    if draws > 0:
        rng = np.random.default_rng(seed)
        hits = np.zeros_like(p)
        with np.errstate(divide="ignore"):
            scale = 1 / p
        for _ in range(draws):
            clock = rng.standard_exponential(p.shape) * scale
            first = np.argpartition(clock, size - 1, axis=1)[:, :size]
            np.put_along_axis(hits, first, np.take_along_axis(hits, first, 1) + 1, 1)
        return hits / draws
    # Newton's method for sum(1 - exp(-t p)) = size. The sum is increasing and concave in t and lies below `size`
    # at the start, so the steps approach the root from the left and never pass it.
    full = positive == size  # every positive node is drawn: the root is at infinity, and known
    goal = np.where(full, 0, size)[:, None]
    t = np.where(full, 0.0, size)[:, None]
    for _ in range(200):
        left = np.exp(-t * p)
        gap = goal - (1 - left).sum(1, keepdims=True)
        if (gap <= 1e-12 * size).all():
            break
        t = t + gap / (p * left).sum(1, keepdims=True)
    pi = 1 - np.exp(-t * p)
    pi[full] = p[full] > 0
    return pi
