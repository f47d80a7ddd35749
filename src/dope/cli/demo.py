"""`dope demo`: a dosing study with a known truth, from data to report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from dope import Recipe


def demo(
    *,
    n: Annotated[int, Parameter(alias="-n")] = 64,
    rho: float = 0.5,
    seed: int = 0,
    report: Annotated[Path, Parameter(alias="-o")] = Path("demo-report.html"),
) -> None:
    """Simulate a dosing study, estimate, and write a report: the quickstart.

    Concentrations after one or two doses, 24 noisy values a patient, more of them near the peak. The network
    learns concentration curves from doses; the estimate corrects what it gets wrong. Takes less than a minute.

    Parameters
    ----------
    n
        Patients.
    rho
        How much observation concentrates around a patient's peak: 0 not at all, up to 5.
    seed
        Of the study and of the fit.
    report
        The HTML report to write.
    """
    run(n=n, rho=rho, seed=seed, report=report)


def run(*, n: int, rho: float, seed: int, report: Path, recipe: Recipe | None = None, folds: int = 5) -> None:
    """The demo, with the recommended recipe unless another is given."""
    from dope.cli.terminal import console, progress_console

    begun = time.perf_counter()
    say = progress_console()
    with say.status("Loading ..."):
        import dope
        from dope.functionals.base import evaluate

        world = dope.benchmarks.pharmacokinetics(rho=rho)
        study = world.sample(n, seed=seed)
        data = study.data
    asked = [dope.Mean(name="AUC (mean)"), dope.TimeAbove(0.5, 8.0), dope.SoftMax(6.0)]
    say.print(f"Fitting {n} patients with {int(data.counts.sum())} concentrations, {folds} folds ...")
    fit = dope.DOPE(recipe=recipe or dope.Recipe(), folds=folds, seed=seed).fit(data)
    with say.status("Estimating, and simulating the truth ..."):
        debiased = fit.estimate(asked)
        one_step = fit.estimate(asked, correction="one-step")
        truth = {g.name: float(world.theta(g)) for g in asked}
        known = [float(evaluate(g, study.solutions, world.grid).mean()) for g in asked]
        file = dope.report(debiased, report, title=f"Dosing study: {n} simulated patients", truth=truth)
    out = console()
    say.print()
    out.print(table(debiased, one_step, truth, known))
    for line in reading(n):
        out.print(line, markup=False)
    for note in debiased.notes:
        out.print(f"Warning: {note}", markup=False)
    out.print(f"Report: {file}", markup=False, soft_wrap=True)
    out.print(f"Elapsed: {time.perf_counter() - begun:.0f} s", markup=False)


def table(debiased: Any, one_step: Any, truth: dict[str, float], known: list[float]) -> Any:
    """Estimates beside what they should be."""
    from rich.table import Table
    from rich.text import Text

    out = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title_justify="left")
    for head in ("functional", "plug-in", "one-step", "debiased", "by", f"{100 * debiased.level:g} % interval", "truth",
                 "all-data\nmean"):  # fmt: skip
        justify = "left" if head in ("functional", "by") else "right"
        out.add_column(head, justify=justify, no_wrap=True, vertical="bottom")
    for k, name in enumerate(debiased.names):
        low, high = debiased.conf_int()[k]
        out.add_row(
            name,
            f"{debiased.plugin[k]:.4f}",
            f"{one_step.value[k]:.4f}",
            Text(f"{debiased.value[k]:.4f}", style="bold cyan"),
            Text(debiased.correction[k].split(" (")[0], style="dim"),
            f"{low:.4f}-{high:.4f}",
            f"{truth[name]:.4f}",
            f"{known[k]:.4f}",
        )
    return out


def reading(n: int) -> tuple[str, str]:
    """How to read the table."""
    return (
        "\nplug-in believes the network; one-step and debiased add a correction from the weighted observations; "
        "'by' is the one chosen. The interval is of debiased, and allows for what the network still gets wrong.",
        f"truth is the mean over the population. all-data mean is what these {n} patients would give if each whole "
        "curve were known: no method that sees only them gets reliably closer to the truth.\n",
    )
