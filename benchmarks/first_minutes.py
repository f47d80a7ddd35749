"""How long a user waits on the first day.

    python benchmarks/first_minutes.py

Prints, each the median of five runs in processes of their own: importing dope and all of its public names beside
importing torch, `dope --help`, `dope demo` (once), and ten functionals with their joint covariance from one fit of 64
units. Processor time stands beside the clock: where other work shares the machine, it is the figure to go by.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("dope"))
EVERYTHING = "import dope\nfor name in dope.__all__: getattr(dope, name)"
TEN = """
import time, torch
torch.set_num_threads(1)
import dope
world = dope.benchmarks.pharmacokinetics(rho=0.5)
fit = dope.DOPE(recipe=dope.Recipe(epochs=2)).fit(world.sample(n=64, seed=0).data, progress=False)
asked = [dope.Mean(), dope.AUC(), dope.TimeAbove(0.5, 8.0), dope.TimeBelow(0.2, 8.0), dope.TimeInRange(0.2, 0.8, 8.0),
         dope.ExcessAbove(0.5, 8.0), dope.SoftMax(6.0), dope.SoftMin(6.0), dope.Energy(), dope.PointValue(6.0, 1.0)]
wall, cpu = time.perf_counter(), time.process_time()
est = fit.estimate(asked)
assert est.covariance.shape == (10, 10)
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def run(*command: str) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(*command: str) -> tuple[float, float]:
    run(*command)  # once for the disk's cache
    wall, cpu = zip(*(run(*command) for _ in range(5)), strict=True)
    return statistics.median(wall), statistics.median(cpu)


def ten() -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", TEN], check=True, capture_output=True, text=True)
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def main() -> None:
    torch = median(sys.executable, "-c", "import torch")
    print(f"{'':36}{'clock':>8}{'processor':>11}   seconds")
    with tempfile.TemporaryDirectory() as folder:
        demo = (COMMAND, "demo", "--report", str(Path(folder) / "demo.html"))
        for name, (wall, cpu) in (
            ("import torch", torch),
            ("import dope", median(sys.executable, "-c", "import dope")),
            ("import dope, all public names", median(sys.executable, "-c", EVERYTHING)),
            ("dope --help", median(COMMAND, "--help")),
            ("dope demo", run(*demo)),
            ("ten functionals of one fit", ten()),
        ):
            beside = f"   {cpu / torch[1]:.2f} x torch" if name.startswith("import dope") else ""
            print(f"{name:36}{wall:8.2f}{cpu:11.2f}{beside}")


if __name__ == "__main__":
    main()
