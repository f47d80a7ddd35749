"""How the corrections bear a poor operator, and whether the diagnosis tells it from a good one.

    python benchmarks/poor_operators.py [--repeats 50] [--device auto] [--out DIR]

Prints, for the time above a threshold in the dosing world (rho = 0.5), the RMSE over the floor and the coverage of
each estimator when the recommended recipe is cut to 20 epochs at a rate of 1e-3 and two folds; and in how many repeats
the diagnosis of the recommended fit says that the interval of the soft maximum cannot be trusted. Rows are kept in
DIR/results.sqlite: a second run goes on from there.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import dope
from dope import studies
from dope.estimator import fit_together
from dope.training import resolve_device

SHORT = studies.Protocol(name="short", folds=2, recipe=dope.Recipe(epochs=20, rate=1e-3))
CASES = (
    ("FNO, n = 64", "pk-fno", SHORT),
    ("DeepONet, n = 64", "pk-deeponet", SHORT),
    ("DeepONet, n = 512", "pk-deeponet", replace(SHORT, name="short-512", n=512)),
)
SHOWN = ("plugin", "one-step", "exact", "design", "exact-design")
TOGETHER = 50  # fits trained side by side


def table(repeats: int, device: str, out: Path) -> None:
    print(f"time above 0.5, {repeats} repeats: RMSE / floor (se), coverage (se)")
    for title, study, protocol in CASES:
        rows = studies.reproduce(
            study,
            protocol=protocol,
            settings=["rho=0.5"],
            functionals=["tat"],
            repeats=repeats,
            device=device,
            out=out,
            executor="serial" if device.startswith("cuda") else "local",
        )
        by_name = {row.estimator: row for row in rows}
        print(f"{title}  (floor {100 * by_name['floor'].rmse:.2f}e-2, covers {by_name['floor'].coverage:.2f})")
        for name in SHOWN:
            row = by_name[name]
            ratio, se = row.ratio_to_floor, row.rmse_se / row.floor_rmse
            print(f"  {name:14} {ratio:5.2f} ({se:.2f})   {row.coverage:.2f} ({row.coverage_se:.2f})")


def verdicts(repeats: int, device: str) -> None:
    world = dope.benchmarks.pharmacokinetics(rho=0.5)
    g = dope.SoftMax(6.0)
    for operator in (dope.DeepONet(), dope.FNO()):
        begun, warned, over = time.perf_counter(), 0, []
        for start in range(0, repeats, TOGETHER):
            seeds = range(start, min(start + TOGETHER, repeats))
            models = [dope.DOPE(operator=operator, seed=s, device=device) for s in seeds]
            fits = fit_together(models, [world.sample(64, seed=10_000 + s).data for s in seeds])
            for fit in fits:
                assert isinstance(fit, dope.Fit), fit
                diagnosis = fit.diagnose(g)
                warned += not diagnosis.passed
                over += [c.name for c in diagnosis.checks if not c.passed]
        what = ", ".join(f"{name} {over.count(name)}" for name in dict.fromkeys(over))
        print(
            f"{type(operator).__name__}, soft maximum, n = 64: warned in {warned} of {repeats}"
            f"{f' ({what})' if what else ''}, {time.perf_counter() - begun:.0f} s"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("poor-operators"))
    chosen = parser.parse_args()
    where = str(resolve_device(chosen.device))
    table(chosen.repeats, where, chosen.out)
    verdicts(chosen.repeats, where)
