"""What networks learn from, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

Batch = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Task:
    """One network to train: its seed, and the units (positions in the shared tensors) it may see."""

    seed: int
    train: np.ndarray
    validate: np.ndarray


def stream(task: Task, batch: int, steps: int) -> np.ndarray:
    """Positions within the task's training units, `(steps, batch)`: shuffled passes one after another."""
    rng = np.random.default_rng(task.seed)
    need, units = steps * batch, len(task.train)
    passes = np.tile(np.arange(units), (-(-need // units), 1))
    return rng.permuted(passes, axis=1).reshape(-1)[:need].reshape(steps, batch)


class Feed:
    """Hands every network the rows of its own units."""

    _AT_ONCE = 64  # held-out units of a network that are evaluated at a time

    def __init__(self, shared, own, tasks: Sequence[Task], device: torch.device) -> None:
        self.device = device
        self.shared = shared
        self.train_units = _table([t.train for t in tasks], device)
        self.validate_units = _table([t.validate for t in tasks], device)
        sizes = [len(t.validate) for t in tasks]
        self.longest = max(sizes)
        self.validation_sizes = torch.as_tensor(sizes, device=device, dtype=torch.float64)
        self.row = torch.arange(len(tasks), device=device)[:, None]
        self.own_train = {
            k: _padded([v[: len(t.train)] for v, t in zip(vs, tasks, strict=True)], device) for k, vs in own.items()
        }
        self.own_validate = {
            k: _padded([v[len(t.train) :] for v, t in zip(vs, tasks, strict=True)], device) for k, vs in own.items()
        }

    def training(self, place: Tensor) -> Batch:
        """The batch at positions `(M, B)` of each network's training units."""
        return self._rows(self.train_units, self.own_train, place)

    def held_out(self, place: Tensor) -> Batch:
        return self._rows(self.validate_units, self.own_validate, place)

    def _rows(self, units: Tensor, own: Mapping[str, Tensor], place: Tensor) -> Batch:
        unit = units.gather(1, place)
        return {k: v[unit] for k, v in self.shared.items()} | {k: v[self.row, place] for k, v in own.items()}

    def validation_places(self):
        sizes = self.validation_sizes[:, None]
        for start in range(0, self.longest, self._AT_ONCE):
            place = torch.arange(start, min(start + self._AT_ONCE, self.longest), device=self.device)
            place = place.expand(len(self.row), -1)
            real = place < sizes
            yield torch.where(real, place, 0), real


def _table(rows: Sequence[np.ndarray], device: torch.device) -> Tensor:
    """Units of each network, padded by repeating the first: padding is never drawn or is masked."""
    longest = max(len(r) for r in rows)
    out = np.zeros((len(rows), longest), dtype=np.int64)
    for m, row in enumerate(rows):
        out[m, : len(row)] = row
    return torch.as_tensor(out, device=device)


def _padded(parts: Sequence[Tensor], device: torch.device) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True).to(device)
