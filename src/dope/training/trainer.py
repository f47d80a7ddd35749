"""One trainer that fits many networks at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dope.data import DataError
from dope.training.ensemble import Ensemble, State
from dope.training.progress import Progress, no_progress
from dope.training.recipe import Recipe

Batch = dict[str, Tensor]
Loss = Callable[[Tensor, Batch], Tensor]
"""`loss(fields (B, *grid), batch) -> (B,)`: one value a unit, from the unit's own tensors."""

_RANDOM = threading.Lock()  # torch initialises modules from one global generator
_CHECKS = 50  # how often, at most, the held-out loss is looked at


@dataclass(frozen=True, eq=False)
class Task:
    """One network to train: its seed, and the units (positions in the shared tensors) it may see."""

    seed: int
    train: np.ndarray
    validate: np.ndarray


def train(
    make: Callable[[Task], nn.Module],
    loss: Loss,
    shared: Mapping[str, Tensor],
    tasks: Sequence[Task],
    recipe: Recipe,
    *,
    own: Mapping[str, Sequence[Tensor]] | None = None,
    selection: Loss | None = None,
    device: torch.device,
    what: str = "training",
    progress: Progress = no_progress,
) -> Ensemble:
    """Train a network for each task.

    Parameters
    ----------
    make : builds the untrained network of a task; called under the task's seed.
    shared : tensors (n, ...) of all units, among them "inputs"; a batch holds the rows of its units.
    own : tensors that differ between networks, for each name one (len(train) + len(validate), ...) a task, in
        that order of units.
    selection : the loss by which the best state is chosen on the held-out units; `loss` unless given.

    Networks that take the same number of steps are trained together; the others in further groups.
    """
    if not tasks:
        raise ValueError("nothing to train")
    steps = [recipe.steps(len(t.train)) for t in tasks]
    groups: dict[tuple[int, bool], list[int]] = {}
    for m, (task, count) in enumerate(zip(tasks, steps, strict=True)):
        if len(task.train) == 0:
            raise DataError("a network has no training unit: use fewer folds or more units.")
        groups.setdefault((count, len(task.validate) > 0), []).append(m)
    total, done = sum(count for count, _ in groups), 0
    parts = []
    for (count, _), members in groups.items():
        parts.append(
            _train_group(
                make,
                loss,
                selection or loss,
                shared,
                {k: [v[m] for m in members] for k, v in (own or {}).items()},
                [tasks[m] for m in members],
                recipe,
                count,
                device,
                all(part.stackable for part in parts),  # once a group could not be stacked, no other is tried
                lambda step, base=done: progress(what, base + step, total),
            )
        )
        done += count
    order = np.argsort(np.concatenate([np.asarray(m) for m in groups.values()]), kind="stable")
    return parts[0] if len(parts) == 1 else Ensemble.joined(parts, order)


def _train_group(make, loss, selection, shared, own, tasks, recipe, steps, device, stackable, tick) -> Ensemble:
    modules = []
    with _RANDOM, torch.random.fork_rng(devices=[]):
        for task in tasks:
            torch.manual_seed(task.seed)
            modules.append(make(task))
    ensemble = Ensemble.of(modules, device)
    ensemble.stackable = stackable
    parameters = {k: v.requires_grad_() for k, v in ensemble.parameters.items()}
    leaves = list(parameters.values())
    optimiser = torch.optim.Adam(leaves, lr=recipe.rate, weight_decay=recipe.weight_decay, fused=True)
    feed = _Feed(shared, own, tasks, device)
    order = np.stack([_stream(task, recipe.batch, steps) for task in tasks], axis=1)  # (steps, M, batch)
    order = torch.as_tensor(order, device=device)
    held_out = len(tasks[0].validate) > 0
    every = max(1, round(len(tasks[0].train) / recipe.batch), steps // _CHECKS)
    best_value = torch.full((len(tasks),), torch.inf, device=device)
    best = {k: v.detach().clone() for k, v in parameters.items()}

    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate_at(step, steps)
        values = _values(ensemble, parameters, loss, feed.training(order[step]))
        gradients = torch.autograd.grad(values.mean(1).sum(), leaves)
        for leaf, gradient in zip(leaves, _clipped(gradients, recipe.clip), strict=True):
            leaf.grad = gradient
        optimiser.step()
        last = step == steps - 1
        if held_out and ((step + 1) % every == 0 or last):
            value = _held_out_value(ensemble, parameters, selection, feed)
            better = value < best_value
            best_value = torch.where(better, value, best_value)
            with torch.no_grad():
                for k, leaf in parameters.items():
                    best[k] = torch.where(better.view(-1, *[1] * (leaf.dim() - 1)), leaf, best[k])
        if (step + 1) % 10 == 0 or last:
            tick(step + 1)

    final = best if held_out else {k: v.detach() for k, v in parameters.items()}
    for k, v in final.items():
        if not torch.isfinite(v).all():
            raise FloatingPointError(
                f"training diverged (parameter {k!r} is not finite): lower Recipe.rate or keep Recipe.clip on."
            )
    return Ensemble(ensemble.module, final, ensemble.buffers, ensemble.stackable)


def _values(ensemble: Ensemble, parameters: State, loss: Loss, batch: Batch) -> Tensor:
    """Losses `(M, B)`."""
    fields = ensemble(batch["inputs"], parameters)
    count, size = fields.shape[:2]
    flat = {k: v.flatten(0, 1) for k, v in batch.items()}
    return loss(fields.flatten(0, 1), flat).view(count, size)


def _clipped(gradients: Sequence[Tensor], clip: float | None) -> Sequence[Tensor]:
    """Gradients scaled down, network by network, to a norm of at most `clip`."""
    if clip is None:
        return gradients
    squares = sum(g.flatten(1).square().sum(1) for g in gradients)
    factor = (clip / (torch.as_tensor(squares).sqrt() + 1e-6)).clamp(max=1.0)
    return [g * factor.view(-1, *[1] * (g.dim() - 1)) for g in gradients]


@torch.no_grad()
def _held_out_value(ensemble: Ensemble, parameters: State, loss: Loss, feed: _Feed) -> Tensor:
    """Mean held-out loss `(M,)`."""
    total = torch.zeros(len(ensemble), device=feed.device, dtype=torch.float64)
    for place, real in feed.validation_places():
        values = _values(ensemble, parameters, loss, feed.held_out(place))
        total += (values * real).double().sum(1)
    return total / feed.validation_sizes


def _stream(task: Task, batch: int, steps: int) -> np.ndarray:
    """Positions within the task's training units, `(steps, batch)`: shuffled passes one after another."""
    rng = np.random.default_rng(task.seed)
    need, units = steps * batch, len(task.train)
    passes = -(-need // units)
    return np.concatenate([rng.permutation(units) for _ in range(passes)])[:need].reshape(steps, batch)


class _Feed:
    """Hands every network the rows of its own units."""

    _AT_ONCE = 64  # held-out units of a network that are evaluated at a time

    def __init__(self, shared, own, tasks: Sequence[Task], device: torch.device) -> None:
        self.device = device
        self.shared = {k: v.to(device) for k, v in shared.items()}
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
