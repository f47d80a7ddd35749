"""The solution operator, learned from sparse points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, OperatorData, interpolate
from dope.nuisances.observations import observation_tensors
from dope.nuisances.plan import Plan, SideBySide
from dope.operators import FieldNet, Operator
from dope.training import Ensemble, Recipe, Task, train
from dope.training.progress import Progress, no_progress


def solution_loss(fields: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """`1/K sum_k (Y_k - u(X_k))^2` of every unit."""
    at_points = interpolate(fields.flatten(1), batch["index"], batch["weight"])
    return (batch["share"] * (batch["values"] - at_points) ** 2).sum(-1)


def fit_solution(
    data: OperatorData,
    operator: Operator,
    plan: Plan | SideBySide,
    recipe: Recipe,
    *,
    device: torch.device,
    progress: Progress = no_progress,
    checkpoint: str | Path | None = None,
) -> Ensemble:
    """One network for every fold and repeat of the plan."""
    tensors, tasks = observation_tensors(data), plan.tasks("solution")
    if any(data.counts[t.train].sum() == 0 for t in tasks):
        raise DataError(
            f"{int((data.counts > 0).sum())} of {len(data)} units have observations, and those that one of the "
            "networks learns from have none: use fewer folds, or leave out units without observations."
        )
    values = torch.as_tensor(data.values, dtype=torch.float32)

    def seen(task: Task) -> Tensor:
        part = values[task.train]
        return part[torch.isfinite(part)]

    def make(task: Task) -> FieldNet:
        net = operator.build(data.grid, data.channels)
        if recipe.standardise:
            net.standardise(tensors["inputs"][task.train], seen(task))
        return net

    # In units of the spread that a network's own training units show, gradients and their clipping do not
    # depend on the unit of measurement.
    spread = [float(seen(t).std(correction=0)) or 1.0 if recipe.standardise else 1.0 for t in tasks]
    own = {"size": [torch.full((len(t.train) + len(t.validate),), s**-2) for t, s in zip(tasks, spread, strict=True)]}
    return train(
        make,
        lambda fields, batch: batch["size"] * solution_loss(fields, batch),
        tensors,
        tasks,
        recipe,
        own=own,
        device=device,
        what="solution operator",
        progress=progress,
        checkpoint=checkpoint,
    )


def out_of_fold(ensemble: Ensemble, plan: Plan | SideBySide, inputs: np.ndarray) -> np.ndarray:
    """Fields `(R, n, *grid)`: every unit by the network that never saw it; NaN where all networks may have seen it."""
    out = np.full((plan.repeats, *inputs.shape[:1], *inputs.shape[2:]), np.nan, dtype=np.float32)
    held = list(plan.held_out())
    for (_, r, units), fields in zip(held, ensemble.predict_each(inputs, [u for _, _, u in held]), strict=True):
        out[r, units] = fields
    return out
