"""Properties of subjects as input channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.tables.names import cannot_be_covariate, exactly, is_covariate
from dope.data.tables.table import Table

_MOST_LEVELS = 12


@dataclass(frozen=True, eq=False)
class Covariates:
    """`channels` (name, `(units,)` or `(units, nodes)`), and columns left aside with the reason."""

    channels: tuple[tuple[str, np.ndarray], ...]
    aside: dict[str, str]


def read_covariates(
    table: Table,
    unit: np.ndarray,
    units: Sequence[object],
    others: Sequence[str],
    wanted: Sequence[str] | None,
    varying: Sequence[str],
    times: np.ndarray,
    grid: Grid,
) -> Covariates:
    """The columns `wanted`; or, of the `others`, those that can only be properties of a subject."""
    channels: list[tuple[str, np.ndarray]] = []
    aside: dict[str, str] = {}
    varying = [exactly(name, table.names, table.source) for name in varying]
    named = None if wanted is None else [exactly(name, table.names, table.source) for name in wanted]
    if named is None:
        named = [n for n in others if is_covariate(n) and n not in varying]
        for name in (n for n in others if n not in named and n not in varying):
            channel, why = _guessed(table, unit, len(units), name)
            if channel is not None:
                channels.append((name, channel))
            else:
                aside[name] = why
    else:
        aside |= {n: "not among the covariates asked for" for n in others if n not in (*named, *varying)}
    strict = []
    for name in (n for n in named if n not in varying):
        level = _constant(table, unit, units, name, wanted is not None)
        if level is None:
            aside[name] = "the same for all subjects"
        else:
            strict += level
    moving = [(name, _carried(table, unit, units, name, times, grid)) for name in varying]
    return Covariates((*strict, *channels, *moving), aside)


def _guessed(table: Table, unit: np.ndarray, units: int, name: str) -> tuple[np.ndarray | None, str]:
    """A column whose name says nothing: taken where it is a number that belongs to the subject, and differs."""
    if cannot_be_covariate(name):
        return None, "not a property of a subject"
    values, bad = table.parsed(name)
    if bad.any():
        return None, "text: name it in covariates to use it"
    low, high = _range(values, unit, units)
    if np.isnan(low).any():
        return None, "missing for some subjects"
    if (low != high).any():
        return None, "varies within a subject"
    if (low == low[0]).all():
        return None, "the same for all subjects"
    return low, ""


def _constant(
    table: Table, unit: np.ndarray, units: Sequence[object], name: str, asked: bool
) -> list[tuple[str, np.ndarray]] | None:
    values, bad = table.parsed(name)
    words = None
    if bad.any():  # words: every one becomes a number of its own
        words = table.text(name)
        levels, values = np.unique(words.astype(str), return_inverse=True)
        values = np.where(words == "", np.nan, values)
        levels = {k: str(level) for k, level in enumerate(levels)}
    low, high = _range(values, unit, len(units))
    absent = np.isnan(low)
    if absent.any():
        rows = unit == int(np.argmax(absent))
        raise table.error(
            rows,
            f"{name} of subject {units[int(np.argmax(absent))]} is missing ({int(absent.sum())} such): fill it in, or "
            f"leave the column out of covariates{'' if asked else ' by naming the others'}.",
        )
    if (low != high).any():
        i = int(np.argmax(low != high))
        rows = np.flatnonzero((unit == i) & np.isfinite(values))
        changed = rows[1:][np.diff(values[rows]) != 0]
        raise table.error(
            changed,
            f"{name} varies within subject {units[i]} ({int((low != high).sum())} such): name it in time_varying to "
            "carry each value forward, or leave it out of covariates.",
        )
    if (low == low[0]).all():
        return None
    if words is None:
        return [(name, low)]
    present = np.unique(low)
    if len(present) > _MOST_LEVELS:
        raise DataError(
            f"{table.source}: {name} holds {len(present)} different words, too many for a channel each: merge them, or "
            "leave the column out of covariates."
        )
    return [(f"{name} = {levels[int(k)]}", (low == k).astype(np.float64)) for k in present[1:]]


def _range(values: np.ndarray, unit: np.ndarray, units: int) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of every unit, NaN where it has none."""
    there = np.isfinite(values) & (unit >= 0)
    low, high = np.full(units, np.inf), np.full(units, -np.inf)
    np.minimum.at(low, unit[there], values[there])
    np.maximum.at(high, unit[there], values[there])
    none = ~np.isfinite(low)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def _carried(
    table: Table, unit: np.ndarray, units: Sequence[object], name: str, times: np.ndarray, grid: Grid
) -> np.ndarray:
    """(units, nodes): at every node the last value before it; the first value before that."""
    values = table.numbers(name)
    nodes = grid.axes[0].nodes
    rows = np.flatnonzero(np.isfinite(values) & np.isfinite(times) & (unit >= 0))
    rows = rows[np.lexsort((times[rows], unit[rows]))]
    ends = np.searchsorted(unit[rows], np.arange(len(units) + 1))
    out = np.empty((len(units), len(nodes)))
    for i, label in enumerate(units):
        own = rows[ends[i] : ends[i + 1]]
        if len(own) == 0:
            raise table.error(unit == i, f"{name} of subject {label} is missing: fill it in, or leave it out.")
        last = np.searchsorted(times[own], nodes, side="right") - 1
        out[i] = values[own][np.clip(last, 0, None)]
    return out
