"""Riesz regression: weights learned without a density of the design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dope.data import Grid, OperatorData, interpolate
from dope.nuisances.observations import observation_tensors
from dope.nuisances.plan import Plan, SideBySide
from dope.operators import FNO, FieldNet, Operator
from dope.training import Ensemble, Recipe, Task, train
from dope.training.progress import Progress, no_progress
from dope.training.trainer import Loss


def weight_network(grid: Grid) -> FNO:
    """The architecture of weights unless the user names another one."""
    return FNO(width=16, modes=min(4, grid.shape[0] // 2) if grid.ndim == 1 else 1, layers=2)


def riesz_loss(beta: Tensor, gradient: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """`1/K sum_k beta(X_k)^2 - 2 <gradient, beta>` of every unit.

    `gradient` is the derivative of g at the unit's fixed predicted field: the directional derivative is then an
    inner product, and equals the forward-mode `jvp_form`. A unit without observations keeps the second term,
    by which the weights of the others learn to stand in for it.
    """
    at_points = interpolate(beta.flatten(1), batch["index"], batch["weight"])
    fit = (batch["share"] * at_points**2).sum(-1)
    return fit - 2 * (gradient * beta).flatten(1).sum(-1)


def jvp_form(g: Callable[[Tensor], Tensor], fields: Tensor, beta: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """The same loss with the derivative taken by forward-mode automatic differentiation."""
    at_points = interpolate(beta.flatten(1), batch["index"], batch["weight"])
    slope = torch.func.jvp(g, (fields,), (beta,))[1]
    return (batch["share"] * at_points**2).sum(-1) - 2 * slope


def fit_weights(
    data: OperatorData,
    operator: Operator,
    plan: Plan | SideBySide,
    recipe: Recipe,
    *,
    representer: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]] | None = None,
    factor: bool = True,
    device: torch.device,
    what: str = "weights",
    progress: Progress = no_progress,
    checkpoint: str | Path | None = None,
) -> tuple[Ensemble, np.ndarray]:
    """Weight networks for every fold and repeat of the plan, and the scale that undoes the penalty's shrinking.

    Parameters
    ----------
    representer : from the units that each network sees to `w_g(S(A)) (len(units), *grid)` at that network's predicted
        fields, one array a network. None stands for the mean functional, whose representer is one.
    factor : learn the positive `xi` of `beta = xi w_g`; otherwise learn `beta` itself.
    """
    tensors = observation_tensors(data)
    tasks = plan.tasks("weights")
    quadrature = torch.as_tensor(data.grid.weights, dtype=torch.float32, device=device)
    own: dict[str, list[Tensor]] = {}
    scale = {id(t): 1.0 for t in tasks}
    if representer is not None:
        seen = [np.concatenate([t.train, t.validate]) for t in tasks]
        w = [torch.as_tensor(v, dtype=torch.float32) for v in representer(seen)]
        own["representer"] = w
        if recipe.standardise:  # the scale of beta is that of the representer on the training units
            scale = {
                id(t): float(v[: len(t.train)].square().mean().sqrt()) or 1.0 for t, v in zip(tasks, w, strict=True)
            }
        own["size"] = [torch.full((len(u),), scale[id(t)] ** -2) for u, t in zip(seen, tasks, strict=True)]

    def make(task: Task) -> FieldNet:
        net = operator.build(data.grid, data.channels, positive=factor)
        if recipe.standardise:
            net.standardise(tensors["inputs"][task.train], None)
            if not factor:
                net.out_scale.fill_(scale[id(task)])
        return net

    def parts(fields: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        w = batch.get("representer")
        beta = fields if w is None or not factor else fields * w
        gradient = quadrature if w is None else w * quadrature
        return beta, gradient

    def objective(penalty: float) -> Loss:
        def loss(fields: Tensor, batch: dict[str, Tensor]) -> Tensor:
            beta, gradient = parts(fields, batch)
            value = riesz_loss(beta, gradient, batch)
            if penalty:
                value = value + penalty * beta.square().flatten(1).mean(-1)
            return value if representer is None else batch["size"] * value

        return loss

    ensemble = train(
        make,
        objective(recipe.riesz_penalty),
        tensors,
        tasks,
        recipe,
        own=own,
        selection=objective(0.0),  # a penalty on beta may shape the weights, not choose among them
        shrinkage=recipe.riesz_shrinkage,
        device=device,
        what=what,
        progress=progress,
        checkpoint=checkpoint,
    )
    shrink = np.ones(len(tasks))
    if recipe.riesz_penalty and recipe.rescale:
        shrink = _rescaling(ensemble, tensors, own, tasks, parts)
    return ensemble, shrink


@torch.no_grad()
def _rescaling(ensemble: Ensemble, tensors, own, tasks: Sequence[Task], parts) -> np.ndarray:
    """`c = sum JVP(beta) / sum 1/K sum beta^2` on the training units of every network."""
    out = np.ones(len(tasks))
    for m, task in enumerate(tasks):
        rows = torch.as_tensor(task.train)
        batch = {k: v[rows].to(ensemble.device) for k, v in tensors.items()}
        if own:
            batch["representer"] = own["representer"][m][: len(task.train)].to(ensemble.device)
        beta, gradient = parts(ensemble.member(m)(batch["inputs"]), batch)
        at_points = interpolate(beta.flatten(1), batch["index"], batch["weight"])
        below = (batch["share"] * at_points**2).sum()
        above = (gradient * beta).sum()
        if below > 0 and above > 0:
            out[m] = float(above / below)
    return out
