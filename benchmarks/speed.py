"""How long a training step and a cell of a study take on one CPU core, beside other ways to do the same.

    python benchmarks/speed.py [--repeats 3] [--steps 80] [--out benchmarks/results/speed-cpu.json]

One thread. Times are processor time of this process, which other programs on the machine change little; wall time
stands beside them. The step is that of the published FNO in one dimension on the dosing data: forward, loss at 24
points, backward, clipping, Adam. It is timed stacked (`dope.training.train`), as a plain PyTorch loop over one model
with `torch.fft`, and as neuraloperator's FNO under its own `Trainer`, where that is installed. A cell is one
setting of one repeat of a study under the protocol `release`, with the rows of the published table; the published
implementation's times for it are given, not measured here.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.mkldnn import to_mkldnn

import dope
from dope.nuisances import observation_tensors, solution_loss
from dope.studies import protocol
from dope.studies.cell import run_block
from dope.studies.executor import blocks
from dope.studies.registry import select
from dope.studies.runner import missing
from dope.training import Task, single_threaded, train

CPU = torch.device("cpu")
NODES, CHANNELS, WIDTH, MODES, LAYERS, BATCH, POINTS = 128, 3, 32, 12, 3, 8, 24
STACKS = (1, 2, 5, 10)
RUNS = 10  # of which the quickest counts, where a step is timed
# Seconds of the published implementation at its best setting (one thread a process): FNO for AUC and TAT of one
# (repeat, rho), two processes on two cores; DeepONet the same in one process; Darcy for one (repeat, kappa), one core.
PUBLISHED = {"pk-fno": (39.2, 2), "pk-deeponet": (24.0, 1), "darcy": (43.0, 1)}
# The rows of the published tables.
TABLES = {
    "pk-fno": ["plugin", "direct", "structured", "oracle"],
    "pk-deeponet": ["plugin", "direct", "structured", "oracle"],
    "darcy": ["plugin", "direct"],
}
GOALS = {"step": 1.4, "plain": 2.0, "neuraloperator": 3.0, "pk-fno": 3.2, "pk-deeponet": 0.96, "darcy": 5.0}


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Processor and wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def best(work: Callable[[], Any], repeats: int, per: float) -> dict[str, float]:
    """Milliseconds of the quickest of several runs, divided by `per`."""
    runs = [timed(work) for _ in range(repeats)]
    cpu, wall = (1e3 * min(column) / per for column in zip(*runs, strict=True))
    return {"cpu_ms": round(cpu, 4), "wall_ms": round(wall, 4)}


# ---- a training step ----------------------------------------------------------------------------------------
class Data:
    """320 units of the dosing world, and one shuffled pass after another."""

    def __init__(self, steps: int) -> None:
        world = dope.benchmarks.pharmacokinetics(rho=0.5)
        self.data = world.sample(320, seed=0).data
        self.tensors = observation_tensors(self.data)
        self.units, self.steps = np.arange(len(self.data)), steps
        rng = np.random.default_rng(0)
        passes = -(-steps * BATCH // len(self.units))
        order = np.concatenate([rng.permutation(self.units) for _ in range(passes)])
        self.order = torch.as_tensor(order[: steps * BATCH].reshape(steps, BATCH))

    def batches(self):
        for rows in self.order:
            yield {k: v[rows] for k, v in self.tensors.items()}


def stacked(data: Data, networks: int, operator: dope.FNO) -> None:
    recipe = dope.Recipe(epochs=data.steps, max_steps=data.steps, rate=1e-3, schedule="constant", validation=0.0)
    tasks = [Task(seed, data.units, data.units[:0]) for seed in range(networks)]
    make = lambda task: operator.build(data.data.grid, data.data.channels)  # noqa: E731
    with single_threaded(CPU):  # as every fit does
        train(make, solution_loss, data.tensors, tasks, recipe, device=CPU)


class PlainSpectral(nn.Module):
    """The textbook layer: FFT, mix the kept modes, inverse FFT."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH, MODES, dtype=torch.cfloat) / WIDTH**2)

    def forward(self, u: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(u)
        out = torch.zeros_like(spectrum)
        out[..., :MODES] = torch.einsum("bim,iom->bom", spectrum[..., :MODES], self.weight)
        return torch.fft.irfft(out, n=u.shape[-1])


class PlainFNO(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Conv1d(CHANNELS + 1, WIDTH, 1)
        self.spectral = nn.ModuleList(PlainSpectral() for _ in range(LAYERS))
        self.pointwise = nn.ModuleList(nn.Conv1d(WIDTH, WIDTH, 1) for _ in range(LAYERS))
        self.project = nn.Sequential(nn.Conv1d(WIDTH, WIDTH, 1), nn.GELU(), nn.Conv1d(WIDTH, 1, 1))
        self.register_buffer("places", torch.linspace(0, 24, NODES)[None, None])

    def forward(self, inputs: Tensor) -> Tensor:
        u = self.lift(torch.cat([inputs, self.places.expand(len(inputs), 1, NODES)], 1))
        for spectral, pointwise in zip(self.spectral, self.pointwise, strict=True):
            u = F.gelu(spectral(u) + pointwise(u))
        return self.project(u).squeeze(1)


def plain(data: Data) -> None:
    torch.manual_seed(0)
    net = PlainFNO()
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-3)
    for batch in data.batches():
        optimiser.zero_grad()
        solution_loss(net(batch["inputs"]), batch).mean().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()


def neuraloperator(data: Data) -> tuple[Callable[[], None], int] | None:
    """Its FNO of the same width, modes and layers under its own Trainer, which does not clip; and its parameters."""
    try:
        from neuralop import Trainer
        from neuralop.models import FNO
    except ImportError:
        return None
    torch.manual_seed(0)

    class Net(nn.Module):
        """Passes on what the network reads; the loss reads the rest."""

        def __init__(self) -> None:
            super().__init__()
            self.net = FNO(
                n_modes=(2 * (MODES - 1),),  # of which it keeps MODES, the field being real
                in_channels=CHANNELS,
                out_channels=1,
                hidden_channels=WIDTH,
                n_layers=LAYERS,
                lifting_channel_ratio=1,
                projection_channel_ratio=1,
                use_channel_mlp=False,
            )

        def forward(self, inputs: Tensor, **rest: Tensor) -> Tensor:
            return self.net(inputs).squeeze(1)

    model = Net()
    batches = [{**batch, "y": batch["values"]} for batch in data.batches()]

    def run() -> None:
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)
        schedule = torch.optim.lr_scheduler.ConstantLR(optimiser, 1.0)
        trainer = Trainer(model=model, n_epochs=1, device="cpu")
        loss = lambda out, **batch: solution_loss(out, batch).mean()  # noqa: E731
        trainer.train(batches, {}, optimiser, schedule, training_loss=loss)

    return run, parameters(model)


def parameters(net: nn.Module) -> int:
    """Real numbers that a network holds."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in net.parameters())


def steps(count: int) -> list[dict[str, Any]]:
    data, short = Data(count), Data(3)
    published = dope.FNO(modes=MODES, period=1)
    size = parameters(published.build(data.data.grid, data.data.channels))
    out = []  # the others come first: what a fit changes in the process, memory that is kept, would serve them
    plain(short)
    took = best(lambda: plain(data), RUNS, count)
    out.append({"what": "plain", "networks": 1, "parameters": parameters(PlainFNO()), **took})
    peer = neuraloperator(data)
    if peer is not None:
        run, its_size = peer
        run()
        out.append({"what": "neuraloperator", "networks": 1, "parameters": its_size, **best(run, RUNS, count)})
    for networks in STACKS:
        stacked(short, networks, published)
        took = best(lambda m=networks: stacked(data, m, published), RUNS, count * networks)
        out.append({"what": "stacked", "networks": networks, "parameters": size, **took})
    return out


# ---- its arithmetic, and what the machine can do ------------------------------------------------------------
def arithmetic() -> dict[str, Any]:
    """Floating-point operations and bytes of one step of one network, counted.

    Products forward count once, and twice more for the gradients of their two factors (transforms are constant: once
    more). Elementwise work is not counted. Bytes are those of every product's factors and result, of every GELU and sum
    of a layer, and of Adam's four tensors read and three written, as if nothing stayed in a cache.
    """
    rows = BATCH * NODES
    products = {  # (matrices, rows, inner, columns, of a layer, factors that learn)
        "lift": (1, rows, CHANNELS + 1, WIDTH, 1, 1),  # its input needs no gradient
        "pointwise": (1, rows, WIDTH, WIDTH, LAYERS + 1, 2),
        "analysis": (1, 2 * MODES, NODES, BATCH * WIDTH, LAYERS, 1),
        "mixing": (MODES, 2 * BATCH, WIDTH, 2 * WIDTH, LAYERS, 2),
        "synthesis": (1, NODES, 2 * MODES, BATCH * WIDTH, LAYERS, 1),
        "out": (1, rows, WIDTH, 1, 1, 2),
    }
    flop, moved = {}, {}
    for name, (b, n, k, m, times, learn) in products.items():
        flop[name] = 2 * b * n * k * m * times * (1 + learn)
        moved[name] = 4 * b * (n * k + k * m + n * m) * times * (1 + learn)
    field = 4 * rows * WIDTH
    moved["elementwise"] = field * ((LAYERS + 1) * (2 + 3) + LAYERS * (3 + 0))
    moved["adam"] = 4 * 7 * parameters(dope.FNO(modes=MODES).build(dope.Grid.uniform(0, 24, NODES), CHANNELS))
    shapes = {name: list(products[name][:4]) for name in ("pointwise", "analysis", "mixing", "synthesis")}
    return {"flop": flop, "bytes": moved, "shapes": shapes}


def rates(shapes: dict[str, list[int]]) -> dict[str, float]:
    """Measured GFLOP/s of torch's products in single precision on one core, and GB/s of a large copy.

    Those of the step are measured as in a fit, where the quicker of two libraries makes them.
    """

    def rate(work: Callable[[], Any], amount: float) -> float:
        for _ in range(3):
            work()
        calls = max(1, int(2e9 / amount))
        return round(amount * calls / min(timed(lambda: [work() for _ in range(calls)])[0] for _ in range(5)) / 1e9, 1)

    out = {}
    a = torch.randn(1024, 1024)
    out["mm 1024"] = rate(lambda: a @ a, 2 * 1024**3)
    layer = to_mkldnn(nn.Linear(1024, 1024).eval())
    with torch.no_grad():  # the library that torch keeps for other products, quicker on some processors
        out["oneDNN 1024"] = rate(lambda: layer(a), 2 * 1024**3)
    with single_threaded(CPU):  # as every fit does
        for name, (b, n, k, m) in shapes.items():
            left, right = torch.randn(b, n, k), torch.randn(b, k, m)
            out[name] = rate(lambda left=left, right=right: torch.bmm(left, right), 2 * b * n * k * m)
    big, other = torch.randn(2**26), torch.empty(2**26)
    out["copy GB/s"] = rate(lambda: other.copy_(big), 8 * 2**26)
    return out


# ---- a cell of a study --------------------------------------------------------------------------------------
def cells(repeats: int) -> list[dict[str, Any]]:
    """The cells of all settings, side by side as a study carries them out."""
    out, how = [], protocol("release")
    for name, estimators in TABLES.items():
        asked = [] if name == "darcy" else ["auc", "tat"]
        ((study, settings, functionals),) = select(name, [], asked, estimators)
        work = blocks(list(missing(study, settings, functionals, repeats, how, "cpu", set())))
        run_block(work[0][:1], "benchmark")  # what a process does once
        cpu, wall = timed(lambda work=work: [run_block(block, "benchmark") for block in work])
        per = repeats * len(settings)
        entry = {"study": name, "settings": len(settings), "functionals": functionals, "estimators": estimators}
        out.append({**entry, "repeats": repeats, "cpu_s": round(cpu / per, 3), "wall_s": round(wall / per, 3)})
        print(f"{name}: {cpu / per:.2f} s of processor time a setting and repeat", flush=True)
    return out


# ---- the table ----------------------------------------------------------------------------------------------
def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [
        line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "cpu family", "model\t"))
    ]
    packages = {}
    for package in ("dope", "torch", "numpy", "neuraloperator"):
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            packages[package] = "not installed"
    return {
        "device": "cpu",
        "cpu": platform.processor() if not names else f"{names[2 if len(names) > 2 else 0]}",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": packages,
    }


def show(result: dict[str, Any]) -> None:
    steps, cells = result["steps"], result["cells"]
    ours = min(s["cpu_ms"] for s in steps if s["what"] == "stacked")
    print(f"{result['machine']['cpu']}, one thread, {result['machine']['instructions']}")
    print(f"{'training step of one network':34}{'CPU ms':>9}{'wall ms':>9}{'ratio':>8}{'goal':>8}")
    for s in steps:
        name = f"stacked, {s['networks']}" if s["what"] == "stacked" else s["what"]
        goal = GOALS["step"] if s["what"] == "stacked" else GOALS[s["what"]]
        print(f"{name:34}{s['cpu_ms']:9.2f}{s['wall_ms']:9.2f}{s['cpu_ms'] / ours:8.2f}{goal:8.2f}")
    if result["machine"]["versions"]["neuraloperator"] == "not installed":
        print("neuraloperator is not installed: not measured")
    print(f"{'cell of a study, protocol release':34}{'CPU s':>9}{'wall s':>9}{'ratio':>8}{'goal':>8}")
    for c in cells:
        seconds, cores = PUBLISHED[c["study"]]
        ratio = seconds * cores / c["cpu_s"]
        print(f"{c['study']:34}{c['cpu_s']:9.2f}{c['wall_s']:9.2f}{ratio:8.1f}{GOALS[c['study']]:8.2f}")
    print("GFLOP/s: " + ", ".join(f"{k} {v}" for k, v in result["rates"].items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "speed-cpu.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    counted = arithmetic()
    result = {
        "machine": machine(),
        "steps": steps(chosen.steps),
        "cells": cells(chosen.repeats),
        "published": PUBLISHED,
        "goals": GOALS,
        "arithmetic": counted,
        "rates": rates(counted["shapes"]),
    }
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(result, indent=1) + "\n")
    show(result)


if __name__ == "__main__":
    main()
