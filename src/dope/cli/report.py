"""`dope report`: a saved fit, or the results of a study, as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def report(
    fit: Annotated[Path, Parameter(name="FIT-OR-DIR")],
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("report.html"),
    functional: Annotated[tuple[str, ...], Parameter(alias="-f", negative=(), show_default=lambda _: "mean")] = (),
    title: str | None = None,
) -> None:
    """Write the HTML report of a saved fit, or of a study.

    Parameters
    ----------
    fit
        The folder that fit.save(...) or dope reproduce wrote.
    output
        The file to write.
    functional
        Of a fit, what to estimate: mean, auc, energy, time-above:0.5,8, time-below:0.5,8, time-in-range:3.9,10,
        excess-above:1,5, soft-max:6, soft-min:6, tracking-error:1, point-value:0.3,0.7,0.1 (place, then width),
        flux:0,upper. May be given several times; "peak=soft-max:6" calls it "peak". Of a study, which of its
        functionals to show: all unless given.
    title
        The heading of the page.
    """
    # the name of its file tells a study from a fit, without loading either
    if (fit / "results.sqlite").exists():
        _of_study(fit, output, functional, title)
        return
    import dope
    from dope.cli.specs import parse
    from dope.cli.terminal import console

    functionals = [parse(spec) for spec in functional or ("mean",)]
    est = dope.load(fit).estimate(functionals)
    # a page that cannot be written is found before numbers are shown
    file = dope.report(est, output, title=title)
    out = console()
    out.print(est.summary(), markup=False, soft_wrap=True)
    out.print(f"Report: {file}", markup=False, soft_wrap=True)


def _of_study(folder: Path, output: Path, functional: tuple[str, ...], title: str | None) -> None:
    from dope import studies
    from dope.cli.terminal import console

    found = studies.results(folder)
    file = studies.study_report(found.only(functional) if functional else found, output, title=title)
    console().print(f"Report: {file}", markup=False, soft_wrap=True)
