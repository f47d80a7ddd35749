"""A sampling schedule that units share: where it is, the grid should be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dope.data.grid import Grid

# A schedule of fewer times is too coarse for a curve; one of more makes networks slow.
_FEWEST, _MOST = 5, 512
# What share of units keeps all of its times, and how far a time may be from its node, as a share of the step there.
_FULL, _NEAR, _KEPT = 0.6, 0.35, 0.95
# Steps that differ by less than this share are equal.
_EVEN = 1e-3


def schedule(times: Sequence[np.ndarray], lower: float, upper: float) -> Grid | None:
    """A grid of the times at which units were observed, widened to `[lower, upper]`; None where they share none.

    Between the times of a common schedule nobody is ever observed, so that no weight can stand in for what happens
    there. On a grid of these times the trapezoid rule bridges the gaps, as it does for one profile.
    """
    times = [np.sort(t) for t in times if len(t)]
    counts = np.array([len(t) for t in times])
    usual = int(np.bincount(counts).argmax())
    full = [t for t in times if len(t) == usual]
    if not _FEWEST <= usual <= _MOST or len(full) < max(2, _FULL * len(times)):
        return None
    nodes = np.median(np.stack(full), axis=0)
    steps = np.diff(nodes)
    if (steps <= 0).any():
        return None
    before, after = np.append(steps[0], steps), np.append(steps, steps[-1])
    pooled = np.concatenate(times)
    nearest = np.searchsorted((nodes[1:] + nodes[:-1]) / 2, pooled)
    gap = pooled - nodes[nearest]
    room = np.where(gap < 0, before[nearest], after[nearest])
    if (np.abs(gap) <= _NEAR * room).mean() < _KEPT:
        return None
    nodes = _widened(nodes, steps, lower, upper)
    steps = np.diff(nodes)
    if np.ptp(steps) <= _EVEN * steps.mean():
        return Grid.uniform(nodes[0], nodes[-1], len(nodes))
    return Grid.nodes(nodes)


def _widened(nodes: np.ndarray, steps: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Both ends moved out to the ends of the domain, or a node added there where that is far."""
    nodes = nodes.copy()
    if nodes[0] - lower <= _NEAR * steps[0]:
        nodes[0] = lower
    else:
        nodes = np.append(lower, nodes)
    if upper - nodes[-1] <= _NEAR * steps[-1]:
        nodes[-1] = max(upper, nodes[-1])
    else:
        nodes = np.append(nodes, upper)
    return nodes
