"""The cross-fitting plan: who trains on whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dope.data import DataError
from dope.training import Task

ROLES = {"folds": 0, "solution": 1, "weights": 2}


def child_seed(seed: int, role: str, *path: int) -> int:
    """A seed that depends on its place in the work only: not on order, batch or worker."""
    spawned = np.random.SeedSequence(seed, spawn_key=(ROLES[role], *path))
    return int(spawned.generate_state(1, dtype=np.uint64)[0] >> 1)


@dataclass(frozen=True, eq=False)
class Plan:
    """`fold` (R, n): in repeat r, unit i is held out of the networks of fold `fold[r, i]`.

    Units of one group share a fold, and share the side of the inner validation split, which is taken from the
    training part only. The networks are numbered repeat by repeat, fold by fold.
    """

    fold: np.ndarray
    folds: int
    seed: int
    group: np.ndarray | None
    validation: float

    @staticmethod
    def draw(
        n: int, *, folds: int, repeats: int, seed: int, validation: float, group: np.ndarray | None = None
    ) -> Plan:
        if folds < 2:
            raise DataError(f"folds must be at least 2, got {folds}: a unit's own networks may not see it.")
        if repeats < 1:
            raise DataError(f"repeats must be at least 1, got {repeats}.")
        code, count, what = _blocks(group, n)
        if count < folds:
            raise DataError(
                f"{count} {what} cannot be split into {folds} folds: use at most folds={count} or more data."
            )
        fold = np.empty((repeats, n), dtype=np.int64)
        for r in range(repeats):
            rng = np.random.default_rng(child_seed(seed, "folds", r))
            fold[r] = (rng.permutation(count) % folds)[code]
        return Plan(fold, folds, seed, group, validation)

    @property
    def repeats(self) -> int:
        return len(self.fold)

    def __len__(self) -> int:
        return self.repeats * self.folds

    def held_out(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """(network, repeat, units held out of it) for every network."""
        for r in range(self.repeats):
            for j in range(self.folds):
                yield r * self.folds + j, r, np.flatnonzero(self.fold[r] == j)

    def tasks(self, role: str) -> list[Task]:
        """One training task a network, for "solution" or "weights"."""
        out = []
        for r in range(self.repeats):
            for j in range(self.folds):
                part = np.flatnonzero(self.fold[r] != j)
                rng = np.random.default_rng(child_seed(self.seed, "folds", r, j))
                train, validate = self._split(part, rng)
                out.append(Task(child_seed(self.seed, role, r, j), train, validate))
        return out

    def _split(self, part: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        code, count, _ = _blocks(None if self.group is None else self.group[part], len(part))
        held = min(round(self.validation * count), count - 1)
        if held < 1:
            return part, part[:0]
        chosen = np.isin(code, rng.permutation(count)[:held])
        return part[~chosen], part[chosen]


def _blocks(group: np.ndarray | None, n: int) -> tuple[np.ndarray, int, str]:
    if group is None:
        return np.arange(n), n, "units"
    names, code = np.unique(group, return_inverse=True)
    return code, len(names), "groups"
