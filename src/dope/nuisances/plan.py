"""The cross-fitting plan: who trains on whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    training part only. The networks are numbered repeat by repeat, fold by fold. Units with `fold` below 0 are held out
    of nothing: they only train (-1) or validate (-2).
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

    @staticmethod
    def split(train: int, validate: int, test: int, *, seed: int) -> Plan:
        """No cross-fitting: one network learns from the first units, and the last ones alone are estimated from."""
        fold = np.repeat([-1, -2, 0], [train, validate, test])[None]
        return Plan(fold, 1, seed, None, validate / max(1, train + validate))

    @property
    def repeats(self) -> int:
        return len(self.fold)

    @property
    def estimated(self) -> np.ndarray | None:
        """The units that an estimate is made from, where these are not all."""
        return None if (self.fold >= 0).all() else np.flatnonzero(self.fold[0] >= 0)

    def __len__(self) -> int:
        return self.repeats * self.folds

    def take(self, units: np.ndarray) -> Plan:
        """The plan as these units see it; it trains nothing more."""
        group = None if self.group is None else self.group[units]
        return Plan(self.fold[:, units], self.folds, self.seed, group, self.validation)

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
                if (self.fold[r] < 0).any():
                    given = np.flatnonzero(self.fold[r] == -1), np.flatnonzero(self.fold[r] == -2)
                    out.append(Task(child_seed(self.seed, role, r, j), *given))
                    continue
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


@dataclass(frozen=True, eq=False)
class SideBySide:
    """The plans of several studies whose units stand one after another in one table, as one plan."""

    plans: Sequence[Plan]

    def __post_init__(self) -> None:
        if len({plan.repeats for plan in self.plans}) != 1:
            raise ValueError("plans side by side need the same number of repeats")

    @property
    def repeats(self) -> int:
        return self.plans[0].repeats

    def __len__(self) -> int:
        return sum(len(plan) for plan in self.plans)

    def held_out(self) -> Iterator[tuple[int, int, np.ndarray]]:
        for networks, units, plan in self._places():
            for m, r, held in plan.held_out():
                yield networks + m, r, units + held

    def tasks(self, role: str) -> list[Task]:
        return [
            Task(task.seed, units + task.train, units + task.validate)
            for _, units, plan in self._places()
            for task in plan.tasks(role)
        ]

    def _places(self) -> Iterator[tuple[int, int, Plan]]:
        """(networks before, units before, plan) of every study."""
        networks = units = 0
        for plan in self.plans:
            yield networks, units, plan
            networks, units = networks + len(plan), units + plan.fold.shape[1]


def _blocks(group: np.ndarray | None, n: int) -> tuple[np.ndarray, int, str]:
    if group is None:
        return np.arange(n), n, "units"
    names, code = np.unique(group, return_inverse=True)
    return code, len(names), "groups"
