"""One trainer that fits many networks at once."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from dope.data import DataError
from dope.training.checkpoint import Checkpoint
from dope.training.ensemble import Ensemble, State
from dope.training.feed import Batch, Feed, Task, stream
from dope.training.progress import Progress, no_progress
from dope.training.recipe import Recipe

Loss = Callable[[Tensor, Batch], Tensor]
"""`loss(fields (B, *grid), batch) -> (B,)`: one value a unit, from the unit's own tensors."""

_RANDOM = threading.Lock()  # torch initialises modules from one global generator
_CHECKS = 50  # how often, at most, the held-out loss is looked at
# Networks of the trial step that tells a network's memory, and the share of the free memory that is then used.
_PROBE, _MEMORY_SHARE = 8, 0.7
# On a CPU: enough to share what a step costs besides arithmetic, few enough that caches hold some of it.
_MOST_ON_CPU = 20


def train(
    make: Callable[[Task], nn.Module],
    loss: Loss,
    shared: Mapping[str, Tensor],
    tasks: Sequence[Task],
    recipe: Recipe,
    *,
    own: Mapping[str, Sequence[Tensor]] | None = None,
    selection: Loss | None = None,
    shrinkage: float = 0.0,
    device: torch.device,
    what: str = "training",
    progress: Progress = no_progress,
    checkpoint: str | Path | None = None,
) -> Ensemble:
    """Train a network for each task.

    Parameters
    ----------
    make : builds the untrained network of a task; called under the task's seed.
    shared : tensors (n, ...) of all units, among them "inputs"; a batch holds the rows of its units.
    own : tensors that differ between networks, for each name one (len(train) + len(validate), ...) a task, in
        that order of units.
    selection : the loss by which the best state is chosen on the held-out units; `loss` unless given.
    shrinkage : times the squared norm of a network's parameters, added to its loss and to its selection.
    checkpoint : a folder for the state of the training, from which the same call goes on after it was stopped.

    Networks that take the same number of steps are trained together, as many at a time as the device's memory holds;
    the others in further groups. A network whose training diverged comes back with parameters that are not finite.
    """
    if not tasks:
        raise ValueError("nothing to train")
    steps = [recipe.steps(len(t.train)) for t in tasks]
    groups: dict[tuple[int, bool], list[int]] = {}
    for m, (task, count) in enumerate(zip(tasks, steps, strict=True)):
        if len(task.train) == 0:
            raise DataError("a network has no training unit: use fewer folds or more units.")
        groups.setdefault((count, len(task.validate) > 0), []).append(m)
    shared = {k: v.to(device) for k, v in shared.items()}
    work = _Work(make, loss, selection or loss, shared, own or {}, tasks, recipe, shrinkage, device, what, checkpoint)
    waiting = list(groups.values())
    total, done = sum(steps), 0
    parts: list[Ensemble] = []
    order: list[int] = []
    largest = _most_at_once(work, tuple(waiting[0])) if device.type == "cuda" else _MOST_ON_CPU
    while waiting:
        members = waiting.pop(0)
        if len(members) > largest:
            pieces = -(-len(members) // largest)
            waiting[:0] = [part.tolist() for part in np.array_split(np.asarray(members), pieces)]
            continue
        count = steps[members[0]]

        def tick(step: int, base: int = done, size: int = len(members)) -> None:
            progress(what, base + step * size, total)

        try:
            # once a group could not be stacked, no other is tried
            part = _train_group(work, members, count, all(part.stackable for part in parts), tick)
        except torch.OutOfMemoryError:
            if len(members) == 1:
                raise
            part = None  # the exception holds the group's tensors: they are free only behind this block
        if part is None:
            torch.cuda.empty_cache()
            largest = -(-len(members) // 2)
            waiting.insert(0, members)
            warnings.warn(f"{what}: out of memory, going on with {largest} networks at a time.", stacklevel=2)
            continue
        parts.append(part)
        order += members
        done += count * len(members)
    return parts[0] if len(parts) == 1 else Ensemble.joined(parts, np.argsort(order, kind="stable"))


@dataclass(frozen=True, eq=False)
class _Work:
    """What `train` was asked for."""

    make: Callable[[Task], nn.Module]
    loss: Loss
    selection: Loss
    shared: Mapping[str, Tensor]
    own: Mapping[str, Sequence[Tensor]]
    tasks: Sequence[Task]
    recipe: Recipe
    shrinkage: float
    device: torch.device
    what: str
    checkpoint: str | Path | None


def _most_at_once(work: _Work, members: Sequence[int]) -> int:
    """How many networks the device's free memory holds, from the peak of one step of a few."""
    few = list(members[:_PROBE])
    free, _ = torch.cuda.mem_get_info(work.device)
    before = torch.cuda.memory_allocated(work.device)
    torch.cuda.reset_peak_memory_stats(work.device)
    _train_group(replace(work, checkpoint=None), few, 1, True, lambda step: None)
    each = (torch.cuda.max_memory_allocated(work.device) - before) / len(few)
    torch.cuda.empty_cache()
    return max(1, int(_MEMORY_SHARE * free / each))


def _train_group(
    work: _Work, members: Sequence[int], steps: int, stackable: bool, tick: Callable[[int], None]
) -> Ensemble:
    recipe, device, selection = work.recipe, work.device, work.selection
    tasks = [work.tasks[m] for m in members]
    own = {k: [v[m] for m in members] for k, v in work.own.items()}
    modules = []
    with _RANDOM, torch.random.fork_rng(devices=[]):
        for task in tasks:
            # only the CPU's generator: seeding those of devices costs more than making a small network
            torch.default_generator.manual_seed(task.seed)
            modules.append(work.make(task))
    ensemble = Ensemble.of(modules, device)
    ensemble.stackable = stackable
    # all parameters as one row a network, which the optimiser steps at once; the networks learn by its parts
    flat = torch.cat([v.flatten(1) for v in ensemble.parameters.values()], 1)
    ensemble.parameters = {k: v.requires_grad_() for k, v in _parts(flat, ensemble.parameters).items()}
    feed = Feed(work.shared, own, tasks, device)
    order = np.stack([stream(task, recipe.batch, steps) for task in tasks], axis=1)  # (steps, M, batch)
    order = torch.as_tensor(order, device=device)
    held_out = len(tasks[0].validate) > 0
    every = max(1, round(len(tasks[0].train) / recipe.batch), steps // _CHECKS)
    best_value = torch.full((len(tasks),), torch.inf, device=device)
    best = flat.clone()

    one_step = _Step(work, ensemble, flat, feed)
    kept, begin = None, 0
    if work.checkpoint is not None:
        of_units = [part for t in tasks for part in (t.train, t.validate, t.seed)]
        tensors = [*work.shared.values(), *(v for vs in own.values() for v in vs)]
        kept = Checkpoint(work.checkpoint, work.what, [recipe, work.shrinkage, steps, flat, *of_units, *tensors])
        if (state := kept.load(device)) is not None:
            begin = one_step.resume(state)
            best, best_value = state["best"], state["best_value"]
            tick(begin)
    for step in range(begin, steps):
        one_step(order[step], recipe.rate_at(step, steps), more=steps - step)
        last = step == steps - 1
        if held_out and ((step + 1) % every == 0 or last):
            value = _held_out_value(ensemble, selection, feed)
            if work.shrinkage:
                value = value + work.shrinkage * flat.square().sum(1)
            better = value < best_value
            best_value = torch.where(better, value, best_value)
            best = torch.where(better[:, None], flat, best)
        if (step + 1) % 10 == 0 or last:
            tick(step + 1)
            if kept is not None and (kept.due or last):
                kept.save({**one_step.state, "best": best, "best_value": best_value})

    if held_out:  # a network whose held-out loss was never finite has no best state, and must not pass for untrained
        flat = torch.where(best_value.isfinite()[:, None], best, torch.nan)
    final = _parts(flat, ensemble.parameters)
    return Ensemble(ensemble.module, final, ensemble.buffers, ensemble.stackable)


class _Step:
    """One optimiser step of all networks of a group.

    On a GPU a step is recorded once and then played back: to launch its many small kernels one by one takes longer
    than to run them.
    """

    _FIRST, _WORTH = 3, 20  # steps before one is recorded, in which libraries settle; and how many must be left

    def __init__(self, work: _Work, ensemble: Ensemble, flat: Tensor, feed: Feed) -> None:
        self.work, self.ensemble, self.flat, self.feed = work, ensemble, flat, feed
        recipe, self.gpu = work.recipe, work.device.type == "cuda"
        rate = torch.tensor(recipe.rate, device=work.device) if self.gpu else recipe.rate
        self.optimiser = torch.optim.Adam(
            [flat], lr=rate, weight_decay=recipe.weight_decay, fused=True, capturable=self.gpu
        )
        self.taken = 0
        self.recorded: torch.cuda.CUDAGraph | None = None
        self.place: Tensor | None = None

    def __call__(self, place: Tensor, rate: float, *, more: int) -> None:
        """Learn from the rows `place` (M, B) of each network's training units."""
        for group in self.optimiser.param_groups:
            if self.gpu:
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        if self.gpu and self.taken == self._FIRST and more >= self._WORTH and self.ensemble.stackable:
            self._record(place)
        if self.recorded is None or self.place is None:
            self._take(place)
        else:
            self.place.copy_(place)
            self.recorded.replay()
        self.taken += 1

    @property
    def state(self) -> State:
        """All that further steps depend on."""
        return {"flat": self.flat, **self.optimiser.state[self.flat]}

    def resume(self, state: State) -> int:
        """Go on from such a state; the number of the step that comes next."""
        with torch.no_grad():
            self.flat.copy_(state["flat"])
        names = ("step", "exp_avg", "exp_avg_sq")
        self.optimiser.state[self.flat] = {name: state[name].clone() for name in names}
        return int(state["step"])

    def _take(self, place: Tensor) -> None:
        work = self.work
        values = _values(self.ensemble, work.loss, self.feed.training(place))
        parts = torch.autograd.grad(values.mean(1).sum(), list(self.ensemble.parameters.values()))
        gradient = torch.cat([g.flatten(1) for g in parts], 1)
        if work.shrinkage:
            gradient.add_(self.flat, alpha=2 * work.shrinkage)
        if work.recipe.clip is not None:
            gradient.mul_((work.recipe.clip / (gradient.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1.0))
        self.flat.grad = gradient
        self.optimiser.step()

    def _record(self, place: Tensor) -> None:
        self.flat.grad = None
        torch.cuda.empty_cache()  # the record keeps memory of its own
        self.place, graph = place.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._take(self.place)
        self.recorded = graph


def _values(ensemble: Ensemble, loss: Loss, batch: Batch) -> Tensor:
    """Losses `(M, B)`."""
    fields = ensemble(batch["inputs"])
    count, size = fields.shape[:2]
    flat = {k: v.flatten(0, 1) for k, v in batch.items()}
    return loss(fields.flatten(0, 1), flat).view(count, size)


def _parts(flat: Tensor, like: State) -> State:
    """The named parts of `flat`, on its memory."""
    sizes = [v[0].numel() for v in like.values()]
    parts = zip(like.items(), flat.split(sizes, dim=1), strict=True)
    return {k: part.view(v.shape) for (k, v), part in parts}


@torch.no_grad()
def _held_out_value(ensemble: Ensemble, loss: Loss, feed: Feed) -> Tensor:
    """Mean held-out loss `(M,)`."""
    total = torch.zeros(len(ensemble), device=feed.device, dtype=torch.float64)
    for place, real in feed.validation_places():
        values = _values(ensemble, loss, feed.held_out(place))
        total += (values * real).double().sum(1)
    return total / feed.validation_sizes
