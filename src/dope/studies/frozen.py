"""An operator trained on a simulator and then left as it is."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch

from dope.benchmarks import World
from dope.operators import FieldNet, Operator, Pretrained, pretrained
from dope.studies.protocol import Protocol
from dope.training import Recipe, Task, resolve_device, train

_SEED = 1  # of the one operator that all repeats share, as a simulator's users would


def frozen_operator(world: World, protocol: Protocol, backbone: str, device: str) -> Pretrained:
    """The operator that full, noise-free solutions of `world` teach; trained once a process."""
    world = protocol.apply(world, 0)
    operator, units, recipe = (
        protocol.operator(backbone, world.grid.ndim),
        protocol.simulator_units,
        protocol.simulator_recipe,
    )
    return _trained(world, operator, units, recipe, str(resolve_device(device)))


@lru_cache(maxsize=4)
def _trained(world: World, operator: Operator, units: int, recipe: Recipe, device: str) -> Pretrained:
    draw = world.sample(units, _SEED)
    fields = torch.as_tensor(draw.solutions, dtype=torch.float32)
    inputs = torch.as_tensor(draw.inputs)
    quadrature = torch.as_tensor(world.grid.weights, dtype=torch.float32, device=device)
    order = np.random.default_rng(_SEED).permutation(units)
    held = round(recipe.validation * units)
    task = Task(_SEED, order[held:], order[:held])
    seen = fields[task.train]
    scale = float(seen.std(correction=0)) or 1.0 if recipe.standardise else 1.0

    def make(task: Task) -> FieldNet:
        net = operator.build(world.grid, inputs.shape[1])
        if recipe.standardise:
            net.standardise(inputs[task.train], seen)
        return net

    def loss(predicted: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        error = (predicted - batch["fields"]).square() * quadrature
        return error.flatten(1).sum(-1) / scale**2

    tensors = {"inputs": inputs, "fields": fields}
    ensemble = train(make, loss, tensors, [task], recipe, device=torch.device(device), what="simulator's operator")
    return pretrained(lambda a: torch.as_tensor(ensemble.predict(0, a.numpy())))
