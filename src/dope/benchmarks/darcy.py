"""Steady flow through a random medium, observed where the medium is tight and the solution changes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from scipy.linalg import get_lapack_funcs

from dope.benchmarks.world import World, whole
from dope.data import DataError, Grid
from dope.functionals import ExcessAbove, Functional

_COARSE, _MODES = 5, 3
_LOG_SCALE, _LEAST = 0.65, 0.2
_NUMBERS_AT_ONCE = 1 << 20  # entries of the banded matrices assembled together: 8 MB


@dataclass(frozen=True)
class Darcy(World):
    """`-div(a grad u) = 1` on the unit square with u = 0 on its edges: input channel `[a]`, solution u.

    kappa : sharpness of the functional, whose softplus has slope 7.5 + 2.5 kappa. It changes no data.
    size : grid points in each direction.
    temperature, floor : the chance of a node is proportional to exp(temperature |saliency|) + floor.
    replication : how the 5 x 5 coefficients fill the grid. "blocks": blocks of ceil(size / 5) nodes, cut at
        the far edges, so that the last ones may be thin; "nearest": each node takes the nearest coarse node.
    edges : the saliency's differences at the edges. "wrap": the neighbour outside is the node at the
        opposite edge; "one-sided": the node itself and its neighbour inside.
    coefficient_shift : s, where the medium conducts (1 + s) a while the input still shows a.
    """

    kappa: float = 0.0
    _: KW_ONLY
    size: int = 17
    temperature: float = 7.0
    floor: float = 1e-3
    replication: Literal["blocks", "nearest"] = "blocks"
    edges: Literal["wrap", "one-sided"] = "wrap"
    coefficient_shift: float = 0.0
    noise: float = 0.01
    pool: int = 20_000

    name: ClassVar[str] = "darcy"

    def __post_init__(self) -> None:
        whole("size", self.size, 3)
        super().__post_init__()
        if not (np.isfinite(self.kappa) and self.kappa >= 0):
            raise DataError(f"kappa must be finite and not negative, got {self.kappa}.")
        if not 0 <= self.temperature <= 100:
            raise DataError(f"temperature must lie in [0, 100], got {self.temperature}: above, chances round to zero.")
        if not (np.isfinite(self.floor) and self.floor >= 0):
            raise DataError(f"floor must be finite and not negative, got {self.floor}.")
        if self.replication not in ("blocks", "nearest"):
            raise DataError(f"replication must be 'blocks' or 'nearest', got {self.replication!r}.")
        if self.edges not in ("wrap", "one-sided"):
            raise DataError(f"edges must be 'wrap' or 'one-sided', got {self.edges!r}.")
        if not (np.isfinite(self.coefficient_shift) and self.coefficient_shift > -1):
            raise DataError(f"coefficient_shift must exceed -1 for anything to flow, got {self.coefficient_shift}.")

    @cached_property
    def grid(self) -> Grid:
        return Grid.product(Grid.uniform(0, 1, self.size), Grid.uniform(0, 1, self.size))

    @property
    def functionals(self) -> dict[str, Functional]:
        return {"excess": ExcessAbove(0.5, 7.5 + 2.5 * self.kappa, name="excess")}

    @property
    def physics(self) -> World:
        # with replacement, so that a coarse grid may have fewer nodes than the default number of points
        return Darcy(
            size=self.size,
            replication=self.replication,
            coefficient_shift=self.coefficient_shift,
            with_replacement=True,
        )

    def simulate(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        coarse = coarse_coefficients(rng.standard_normal((n, _MODES, _MODES)))
        a = replicate(coarse, self.size, self.replication).astype(np.float32)
        # The solution belongs to the coefficients as shown, after their rounding to single precision.
        return a[:, None], solve((1 + self.coefficient_shift) * a.astype(np.float64))

    def probability(self, inputs: np.ndarray, solutions: np.ndarray) -> np.ndarray:
        s = saliency(inputs[:, 0].astype(np.float64), solutions, self.edges)
        s -= s.mean(axis=(1, 2), keepdims=True)
        s /= np.maximum(np.abs(s).max(axis=(1, 2), keepdims=True), np.finfo(np.float64).tiny)
        mass = np.exp(self.temperature * np.abs(s)) + self.floor
        return mass / mass.sum(axis=(1, 2), keepdims=True)


def coarse_coefficients(modes: np.ndarray) -> np.ndarray:
    """Coefficients `(n, 5, 5)` from the normal weights `(n, 3, 3)` of the cosine modes."""
    x = np.linspace(0, 1, _COARSE)
    cosine = np.sqrt(2) * np.cos(np.pi * np.arange(1, _MODES + 1)[:, None] * x)
    field = _LOG_SCALE / _MODES * np.einsum("nij,ir,js->nrs", modes, cosine, cosine)
    return np.maximum(np.exp(field), _LEAST)


def replicate(coarse: np.ndarray, size: int, how: str) -> np.ndarray:
    """The piecewise constant field `(n, size, size)` of coarse values `(n, 5, 5)`."""
    node = np.arange(size)
    if how == "blocks":
        source = node // -(-size // _COARSE)
    else:
        # halves go to the even coarse node, which keeps the map symmetric about the centre
        source = np.round(node * (_COARSE - 1) / (size - 1)).astype(np.int64)
    return coarse[:, source[:, None], source]


def solve(a: np.ndarray) -> np.ndarray:
    """Finite-difference solutions `(n, size, size)` for coefficients at the nodes, harmonic means between.

    The interior system is symmetric positive definite with half-bandwidth size - 2, so a banded Cholesky
    factorisation a unit does what a dense solve does, two orders of magnitude faster.
    """
    size = a.shape[1]
    inner = size - 2
    u = np.zeros(a.shape)
    (pbsv,) = get_lapack_funcs(("pbsv",), (u,))
    load = np.full((inner * inner, 1), 1 / (size - 1) ** 2)
    at_once = max(1, _NUMBERS_AT_ONCE // (inner**2 * (inner + 1)))
    for start in range(0, len(a), at_once):
        bands = _bands(a[start : start + at_once])
        for i, unit in enumerate(bands, start):
            # LAPACK reads band after band down a column: the transpose of a row-major (unknowns, bands) array
            _, solution, failed = pbsv(unit.T, load, lower=1, overwrite_ab=1)
            if failed:
                raise DataError(f"unit {i}: its system is not positive definite: coefficients must exceed 0.")
            u[i, 1:-1, 1:-1] = solution.reshape(inner, inner)
    return u


def _bands(a: np.ndarray) -> np.ndarray:
    """`(n, unknowns, size - 1)`, times h squared: entry (j, d) couples the unknowns j and j + d."""
    inner = a.shape[1] - 2
    north = 2 * a[:, :-1] * a[:, 1:] / (a[:, :-1] + a[:, 1:])  # faces between rows p and p + 1
    east = 2 * a[:, :, :-1] * a[:, :, 1:] / (a[:, :, :-1] + a[:, :, 1:])
    north, east = north[:, :, 1:-1], east[:, 1:-1]
    bands = np.zeros((len(a), inner, inner, inner + 1))
    bands[..., 0] = north[:, :-1] + north[:, 1:] + east[:, :, :-1] + east[:, :, 1:]
    bands[:, :, :-1, 1] = -east[:, :, 1:-1]  # the last unknown of a row does not touch the first of the next
    bands[:, :-1, :, inner] = -north[:, 1:-1]
    return bands.reshape(len(a), inner * inner, inner + 1)


def saliency(a: np.ndarray, u: np.ndarray, edges: str) -> np.ndarray:
    """`(0.5 + |u| + |difference of u|) / a` at every node: large where the medium is tight and u varies."""
    squared = sum(_difference(u, axis, edges) ** 2 for axis in (1, 2))
    return (0.5 + np.abs(u) + np.sqrt(squared)) / np.maximum(a, 1e-8)


def _difference(u: np.ndarray, axis: int, edges: str) -> np.ndarray:
    """Centred differences over two steps of the grid, not divided by them."""
    out = np.roll(u, -1, axis) - np.roll(u, 1, axis)
    if edges == "one-sided":
        # Doubled, to stand for two steps as inside. Undoubled it would equal wrapping, u being 0 on all edges.
        v, d = np.moveaxis(u, axis, 0), np.moveaxis(out, axis, 0)
        d[0] = 2 * (v[1] - v[0])
        d[-1] = 2 * (v[-1] - v[-2])
    return out


darcy = Darcy
