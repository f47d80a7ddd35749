"""Doses as a function of time: a dose-rate channel whose integral on the grid is the dose given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid


@dataclass(frozen=True, eq=False)
class Doses:
    """One entry a dose: its unit, when it begins, how long it runs (0: a bolus), how much, where, and its row."""

    unit: np.ndarray
    start: np.ndarray
    duration: np.ndarray
    amount: np.ndarray
    compartment: np.ndarray
    row: np.ndarray

    def __len__(self) -> int:
        return len(self.unit)

    def take(self, keep: np.ndarray) -> Doses:
        return Doses(*(getattr(self, f)[keep] for f in self.__dataclass_fields__))

    def repeated(self, additional: np.ndarray, interval: np.ndarray) -> Doses:
        """Every dose followed by `additional` ones at its `interval`."""
        times = additional.astype(np.int64) + 1
        out = self.take(np.repeat(np.arange(len(self)), times))
        number = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        start = out.start + number * np.repeat(np.nan_to_num(interval), times)
        return Doses(out.unit, start, out.duration, out.amount, out.compartment, out.row)


def rate(doses: Doses, units: int, grid: Grid) -> np.ndarray:
    """The dose rate `(units, nodes)`: amount per time, whose quadrature over the grid is the amount given within it.

    An amount is shared between the two nodes around it in proportion to their nearness, so that total and mean time
    are kept exactly; divided by the nodes' shares of the domain, it becomes a rate. A bolus is then a pulse one cell
    wide, an infusion its own rate with ends that are accurate within a cell.
    """
    axis = grid.axes[0]
    share = grid.weights * grid.measure
    out = np.zeros((units, len(axis.nodes)))
    for unit, start, duration, amount in zip(doses.unit, doses.start, doses.duration, doses.amount, strict=True):
        if duration > 0:
            inner = axis.nodes[(axis.nodes > start) & (axis.nodes < start + duration)]
            ends = np.clip(np.concatenate([[start], inner, [start + duration]]), axis.lower, axis.upper)
            # shares of nodes are linear between nodes: the midpoint rule is exact
            place, part = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / duration * amount
        else:
            place, part = np.array([start]), np.array([amount])
        left, right, near = axis.locate(place)
        np.add.at(out[unit], left, (1 - near) * part)
        np.add.at(out[unit], right, near * part)
    if (out[:, share == 0] != 0).any():
        raise DataError("a dose falls on a grid node of weight 0, where its amount would be lost: use a whole grid.")
    return out / np.where(share > 0, share, 1.0)
