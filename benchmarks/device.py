"""What one device does: agreement with the CPU, a training step, fits of many units, whole studies.

    python benchmarks/device.py [--device auto] [--only agreement steps planes fits studies] [--out FILE]

Every part prints its lines when it is done, and all of them come once more at the end. `agreement` fits the same data
with the same seeds alone, in company and on the CPU, and prints the largest difference of an estimate in its standard
errors. `planes` sets one training step of a wide FNO in two dimensions beside neuraloperator's, where that is
installed. `studies` runs the commands that the project's goals name, and takes as long as they do.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from speed import BATCH, MODES, Data, machine

import dope
from dope.estimator import fit_together
from dope.nuisances import solution_loss
from dope.training import Recipe, Task, resolve_device, single_threaded, train

Lines = Iterator[tuple[str, float, str]]
"""What was measured, the number, and its goal in words."""

STUDIES = {
    "pk-fno, paper": (["pk-fno", "--protocol", "paper"], "15 s on an H200"),
    "all, paper": (["all", "--protocol", "paper"], "120 s on an H200, 1200 s on two cores"),
    "pk-fno, recommended, 200 repeats": (["pk-fno", "--repeats", "200"], "600 s on an H200"),
}


def clock(work: Callable[[], object], device: torch.device) -> float:
    def settle() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    settle()
    begun = time.perf_counter()
    work()
    settle()
    return time.perf_counter() - begun


def agreement(device: torch.device) -> Lines:
    world, asked = dope.benchmarks.pharmacokinetics(rho=0.5), [dope.Mean(), dope.TimeAbove(0.5, 8.0), dope.SoftMax(6.0)]
    data = [world.sample(64, seed=seed).data for seed in range(4)]
    models = [dope.DOPE(seed=seed, device=str(device)) for seed in range(4)]
    company = [fit.estimate(asked) for fit in fit_together(models, data, progress=False)]
    alone = [fit_together([m], [d], progress=False)[0].estimate(asked) for m, d in zip(models, data, strict=True)]
    yield "alone and in company, standard errors", _apart(company, alone), "0.05"
    if device.type != "cpu":
        models = [replace(m, device="cpu") for m in models]
        there = [fit.estimate(asked) for fit in fit_together(models, data, progress=False)]
        yield "device and CPU, standard errors", _apart(company, there), "0.05"


def _apart(some, others) -> float:
    return max(float(np.max(np.abs(a.value - b.value) / b.se)) for a, b in zip(some, others, strict=True))


def steps(device: torch.device) -> Lines:
    """The published FNO in one dimension, batch 8."""
    operator, goals = dope.FNO(modes=MODES, period=1), {10: "1400 on one core", 450: "9.5 on an H200"}
    for networks in (1, 10, 450) if device.type == "cuda" else (1, 10):
        for count in (20, 200):  # the first settles libraries and records the step
            data = Data(count)
            seconds = clock(lambda d=data, m=networks: _stacked(d, m, operator, device), device)
        yield f"step, stack of {networks}, us a network", 1e6 * seconds / count / networks, goals.get(networks, "")


def _stacked(data: Data, networks: int, operator: dope.FNO, device: torch.device) -> None:
    recipe = Recipe(epochs=data.steps, max_steps=data.steps, schedule="constant", validation=0.0)
    tasks = [Task(seed, data.units, data.units[:0]) for seed in range(networks)]
    with single_threaded(device):
        train(
            lambda task: operator.build(data.data.grid, data.data.channels),
            solution_loss,
            data.tensors,
            tasks,
            recipe,
            device=device,
        )


def planes(device: torch.device) -> Lines:
    """One network of width 64 and 16 x 16 modes on squares, forward, loss, backward and Adam."""
    for size in (64, 256):
        grid = dope.Grid.product(dope.Grid.uniform(0, 1, size), dope.Grid.uniform(0, 1, size))
        inputs, fields = torch.randn(2 * BATCH, 1, size, size), torch.randn(2 * BATCH, size, size)
        operator = dope.FNO(width=64, modes=16, layers=4, signed=True, period=1)
        units, count = np.arange(2 * BATCH), 50 if device.type == "cuda" else 2

        def ours(many: int, grid=grid, operator=operator, inputs=inputs, fields=fields, units=units) -> None:
            recipe = Recipe(epochs=many, max_steps=many, schedule="constant", validation=0.0, clip=None)
            with single_threaded(device):
                train(
                    lambda task: operator.build(grid, 1),
                    lambda u, rows: (u - rows["fields"]).square().flatten(1).mean(1),
                    {"inputs": inputs, "fields": fields},
                    [Task(0, units, units[:0])],
                    recipe,
                    device=device,
                )

        ours(25 if device.type == "cuda" else 1)
        long, short = clock(lambda n=count, f=ours: f(2 * n), device), clock(lambda n=count, f=ours: f(n), device)
        milliseconds = 1e3 * (long - short) / count
        yield f"step, FNO {size} x {size}, ms", milliseconds, ""
        try:
            from neuralop.models import FNO
        except ImportError:
            continue
        theirs = FNO(n_modes=(16, 16), in_channels=1, out_channels=1, hidden_channels=64, n_layers=4).to(device)
        optimiser = torch.optim.Adam(theirs.parameters())
        batch, wanted = inputs[:BATCH].to(device), fields[:BATCH, None].to(device)

        def step(theirs=theirs, optimiser=optimiser, batch=batch, wanted=wanted) -> None:
            optimiser.zero_grad()
            (theirs(batch) - wanted).square().mean().backward()
            optimiser.step()

        step()
        seconds = clock(lambda n=count, f=step: [f() for _ in range(n)], device) / count
        yield f"neuraloperator's over ours, {size} x {size}", 1e3 * seconds / milliseconds, "1 or more"


def fits(device: torch.device) -> Lines:
    """Five folds under the default recipe."""
    world, sizes, took = dope.benchmarks.pharmacokinetics(rho=0.5), [1000, 4096, 10_000, 100_000], []
    for n in sizes:
        data = world.sample(n, seed=0).data
        took.append(clock(lambda d=data: dope.DOPE(device=str(device)).fit(d, progress=False), device))
        yield f"fit of {n} units, s", took[-1], "60 s on an H200" if n == 4096 else ""
    slope = math.log(took[-1] / took[0]) / math.log(sizes[-1] / sizes[0])
    yield "slope of log seconds in log units", slope, "at most 1.05"


def studies(device: torch.device) -> Lines:
    command = str(Path(sys.executable).with_name("dope"))
    for name, (arguments, goal) in STUDIES.items():
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            whole = [command, "reproduce", *arguments, "--device", str(device), "--out", folder]
            subprocess.run(whole, check=True, stdout=subprocess.DEVNULL)
            yield f"{name}, s", time.perf_counter() - begun, goal


PARTS = {"agreement": agreement, "steps": steps, "planes": planes, "fits": fits, "studies": studies}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    device = resolve_device(chosen.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else machine()["cpu"]
    found: list[tuple[str, float, str]] = []
    for part in chosen.only:
        for line in PARTS[part](device):
            found.append(line)
            print("{:44}{:12.4g}   {}".format(*line), flush=True)
            if chosen.out is not None:
                entry = {"device": name, "versions": machine()["versions"], "lines": found}
                chosen.out.write_text(json.dumps(entry, indent=1) + "\n")
    print(f"\n{name}\n{'':44}{'measured':>12}   goal")
    for line in found:
        print("{:44}{:12.4g}   {}".format(*line))


if __name__ == "__main__":
    main()
