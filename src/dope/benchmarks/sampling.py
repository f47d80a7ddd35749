"""Drawing K of N nodes with unequal probabilities, many units at once."""

from __future__ import annotations

import numpy as np

from dope.data import DataError


def draw_nodes(
    probability: np.ndarray, size: int, rng: np.random.Generator, *, with_replacement: bool = False
) -> np.ndarray:
    """`(n, size)` node numbers, increasing along each row, from `probability` `(n, nodes)`.

    Without replacement the law is that of drawing one node after another and renormalising what is left, as
    `numpy.random.Generator.choice(nodes, size, replace=False, p=p)` does.
    """
    nodes = (_with_replacement if with_replacement else _without_replacement)(probability, size, rng)
    nodes.sort(axis=1)
    return nodes


def _without_replacement(p: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    # Every node rings after an exponential time of rate p. The next to ring among those left is node j with
    # chance p_j / (sum of p left), whatever rang before: the first `size` to ring are a successive sample.
    reachable = (p > 0).sum(1)
    if (reachable < size).any():
        raise DataError(
            f"{size} distinct points asked for, but a unit has only {int(reachable.min())} nodes of positive "
            "probability: ask for fewer points or sample with_replacement=True."
        )
    clock = rng.standard_exponential(p.shape)
    with np.errstate(divide="ignore"):
        clock /= p
    return np.argpartition(clock, size - 1, axis=1)[:, :size]


def _with_replacement(p: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(p, axis=1)
    cumulative /= cumulative[:, -1:]  # ends in exactly one, above every uniform number
    uniform = rng.random((len(p), size))
    nodes = np.empty(uniform.shape, dtype=np.int64)
    for k in range(size):
        nodes[:, k] = (cumulative <= uniform[:, k : k + 1]).sum(1)
    return nodes


def two_level_inclusion(favoured: np.ndarray, others: np.ndarray, ratio: np.ndarray, size: int) -> np.ndarray:
    """Exact chances of being among `size` nodes drawn without replacement, for two kinds of nodes.

    Each entry of the arrays `(m,)` is a design with that many `favoured` nodes, each `ratio` times as likely
    at one draw as each of the `others`. Returns `(m, 2)`: the chance of a favoured node, and of another one.
    """
    taken = np.arange(size + 1.0)  # how many favoured nodes are among those drawn so far
    chance = np.zeros((len(favoured), size + 1))
    chance[:, 0] = 1
    for drawn in range(size):
        rest = np.maximum(favoured[:, None] - taken, 0) * ratio[:, None]
        other = np.maximum(others[:, None] - (drawn - taken), 0)
        step = chance * rest / (rest + other)
        chance -= step
        chance[:, 1:] += step[:, :-1]
    expected = chance @ taken
    return np.stack([expected / favoured, (size - expected) / np.maximum(others, 1)], axis=1)
