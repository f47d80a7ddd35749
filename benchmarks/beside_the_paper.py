"""Why some numbers of the protocol `paper` are not the published ones: two things that can be tried.

    python benchmarks/beside_the_paper.py [--repeats 50]

Prints RMSE of the plug-in, with standard errors. Dosing world, rho = 0.5: ours beside a textbook loop (one network at a
time, with an FFT and torch's own Adam) on the same units. Flow, kappa = 0: the published 24 channels beside 32.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace

import numpy as np
import torch
from speed import PlainFNO

from dope import studies
from dope.functionals.base import evaluate
from dope.nuisances import Plan, observation_tensors, solution_loss
from dope.studies import store
from dope.studies.registry import select
from dope.training import single_threaded

SETTING = ["rho=0.5"]


def textbook(repeats: int) -> dict[str, list[float]]:
    """Errors of the plug-in, one a repeat."""
    how = studies.protocol("paper")
    ((study, (setting,), functionals),) = select("pk-fno", SETTING, ["auc", "tat"])
    errors: dict[str, list[float]] = {g: [] for g in functionals}
    for repeat in range(repeats):
        world = how.apply(study.world(setting), 1000 + repeat)
        data = world.sample(how.n, repeat).data
        tensors, fields = observation_tensors(data), np.empty((how.n, *data.grid.shape))
        plan = Plan.draw(how.n, folds=how.folds, repeats=1, seed=repeat, validation=0.0)
        for (_, _, held), task in zip(plan.held_out(), plan.tasks("solution"), strict=True):
            fields[held] = trained(tensors, task.train, task.seed, how.recipe)(tensors["inputs"][held])
        for g in functionals:
            asked = study.functional(g, world)
            errors[g].append(float(evaluate(asked, fields, data.grid).mean() - float(world.theta(asked))))
    return errors


def trained(tensors: dict[str, torch.Tensor], units: np.ndarray, seed: int, recipe):
    torch.manual_seed(seed)
    net, rng = PlainFNO(), np.random.default_rng(seed)
    optimiser = torch.optim.Adam(net.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
    for _ in range(recipe.epochs):
        for rows in np.array_split(rng.permutation(units), len(units) // recipe.batch):
            batch = {name: value[rows] for name, value in tensors.items()}
            optimiser.zero_grad()
            solution_loss(net(batch["inputs"]), batch).mean().backward()
            optimiser.step()
    return lambda inputs: net(inputs).detach().numpy()


def show(name: str, errors: np.ndarray, power: int) -> None:
    squares = errors**2
    rmse = np.sqrt(squares.mean())
    se = squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * rmse)
    print(f"{name:44}{rmse * 10**power:8.2f} ({se * 10**power:.2f})", flush=True)


def ours(study: str, how: studies.Protocol, settings: list[str], functionals: list[str], repeats: int):
    with tempfile.TemporaryDirectory() as folder:
        run = {"repeats": repeats, "settings": settings, "functionals": functionals, "protocol": how, "out": folder}
        studies.reproduce(study, estimators=["plugin"], executor="local", progress=False, **run)
        rows, _ = store.read(folder)
    return {g: np.array([r.estimate - r.truth for r in rows if r.functional == g and r.estimator == "plugin"])
            for g in {r.functional for r in rows}}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    repeats = parser.parse_args().repeats
    how = studies.protocol("paper")
    with single_threaded(torch.device("cpu")):
        plain = textbook(repeats)
    here = ours("pk-fno", how, SETTING, ["auc", "tat"], repeats)
    for g, printed in (("auc", "2.01 (0.16)"), ("tat", "2.25 (0.17)")):
        print(f"dosing, {g}, plug-in, RMSE x 10^2; published {printed}")
        show("  textbook", np.array(plain[g]), 2)
        show("  ours", here[g], 2)
    print("flow, kappa = 0, plug-in, RMSE x 10^4; published 1.45 (0.06)")
    for width in (24, 32):
        wide = replace(how, name=f"paper-{width}", plane=replace(how.plane, width=width))
        show(f"  {width} channels", ours("darcy", wide, ["kappa=0"], [], repeats)["smooth_excess"], 4)


if __name__ == "__main__":
    main()
