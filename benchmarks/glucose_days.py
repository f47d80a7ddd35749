"""Time in range from a few glucose values a day: days of virtual patients, of whom each whole curve is known.

    python benchmarks/glucose_days.py FILE [--subsets 20] [--epochs 100]

FILE is an npz with `A` (days, channels, 288), meals and insulin in steps of five minutes and the patient's parameters
as constants, `U` (days, 288), the glucose in mg/dL, and `patient_id` (days,). Random subsets of the days are observed
at a few random times, with noise. Prints, for the share of time in 70-180 mg/dL: in how many subsets the interval,
which counts patients, covers the mean over all days; and the error against each subset's own true value, beside that
of joining each day's values by straight lines. All but counts is in percentage points.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dope
from dope.functionals.base import evaluate

ASKED = dope.TimeInRange(70, 180)
GRID = dope.Grid.cells(0, 24, 288)
CORRECTIONS = {"plug-in": "none", "one-step": "one-step", "exact": "exact", "debiased": "auto"}
LINES = "straight lines"


@dataclass(frozen=True, eq=False)
class Days:
    """All days: inputs (n, C, 288), glucose (n, 288), patients (n,)."""

    inputs: np.ndarray
    glucose: np.ndarray
    patient: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Days:
        with np.load(path) as file:
            return cls(file["A"], file["U"].astype(np.float64), file["patient_id"])

    def observed(self, days: np.ndarray, count: int, noise: float, rng: np.random.Generator) -> dope.OperatorData:
        """`count` values of each day at random times, the same chance for every five minutes."""
        node = np.stack([rng.choice(GRID.size, count, replace=False) for _ in days])
        node.sort(axis=1)
        values = np.take_along_axis(self.glucose[days], node, 1) + noise * rng.standard_normal(node.shape)
        return dope.OperatorData(
            self.inputs[days], GRID.points[node, 0], values, grid=GRID, groups=self.patient[days], ids=days
        )


def joined(data: dope.OperatorData) -> np.ndarray:
    """Each day's values joined by straight lines, on the grid."""
    nodes = GRID.points[:, 0]
    return np.stack([np.interp(nodes, x, y) for x, y in zip(data.points[..., 0], data.values, strict=True)])


def run(days: Days, subset: int, options: argparse.Namespace) -> dict[str, tuple[float, float, float]]:
    """(error against the subset's own value, lower end, upper end) by estimator, for one subset."""
    rng = np.random.default_rng(np.random.SeedSequence([options.seed, subset]))
    chosen = np.sort(rng.choice(len(days.glucose), options.units, replace=False))
    data = days.observed(chosen, options.points, options.noise, rng)
    own = evaluate(ASKED, days.glucose[chosen], GRID).mean()
    model = dope.DOPE(recipe=dope.Recipe(epochs=options.epochs), seed=subset, device=options.device)
    fit = model.fit(data, progress=False)
    out = {}
    for name, correction in CORRECTIONS.items():
        est = fit.estimate(ASKED, correction=correction)
        out[name] = (est.value - own, *est.conf_int())
        if name == "debiased" and subset == 0:
            print(f"of the first: {est.correction}; {'; '.join(est.reasons)}", flush=True)
    out[LINES] = (evaluate(ASKED, joined(data), GRID).mean() - own, np.nan, np.nan)
    return out


def table(rows: list[dict[str, tuple[float, float, float]]], truth: float) -> None:
    print(f"\n{'':16}{'RMSE':>7}{'bias':>8}{'covered':>12}{'half width':>12}")
    for name in rows[0]:
        error, low, high = 100 * np.array([row[name] for row in rows]).T
        line = f"{name:<16}{np.sqrt(np.mean(error**2)):7.2f}{error.mean():8.2f}"
        if name != LINES:
            inside = ((low <= 100 * truth) & (100 * truth <= high)).sum()
            line += f"{f'{inside} of {len(rows)}':>12}{(high - low).mean() / 2:12.2f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    for name, default in (("subsets", 20), ("units", 200), ("points", 24), ("epochs", 100), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--noise", type=float, default=8.0, help="standard deviation in mg/dL")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    days = Days.read(options.file)
    truth = float(evaluate(ASKED, days.glucose, GRID).mean())
    hard = ((days.glucose >= 70) & (days.glucose <= 180)).mean()
    print(
        f"{len(days.glucose)} days of {len(np.unique(days.patient))} patients: time in range {100 * truth:.2f}, with "
        f"hard edges {100 * hard:.2f}; {options.subsets} subsets of {options.units} days, {options.points} values a "
        f"day, noise sd {options.noise:g} mg/dL, {options.epochs} epochs",
        flush=True,
    )
    rows = []
    for subset in range(options.subsets):
        begun = time.perf_counter()
        rows.append(run(days, subset, options))
        error = {name: 100 * row[0] for name, row in rows[-1].items()}
        print(
            f"{subset:>4}: "
            + ", ".join(f"{name} {e:+.2f}" for name, e in error.items())
            + f"  ({time.perf_counter() - begun:.0f} s)",
            flush=True,
        )
    table(rows, truth)


if __name__ == "__main__":
    main()
