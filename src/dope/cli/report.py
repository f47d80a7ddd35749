"""`dope report`: a saved fit as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def report(
    fit: Path,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("report.html"),
    functional: Annotated[tuple[str, ...], Parameter(alias="-f", negative=(), show_default=" ".join)] = ("mean",),
    title: str | None = None,
) -> None:
    """Write the HTML report of a saved fit.

    Parameters
    ----------
    fit
        The folder that fit.save(...) wrote.
    output
        The file to write.
    functional
        What to estimate: mean, auc, energy, time-above:0.5,8, time-below:0.5,8, time-in-range:3.9,10,
        excess-above:1,5, soft-max:6, soft-min:6, tracking-error:1, point-value:0.3,0.7,0.1 (place, then width),
        flux:0,upper. May be given several times; "peak=soft-max:6" calls it "peak".
    title
        The heading of the page.
    """
    import dope
    from dope.cli.specs import parse
    from dope.cli.terminal import console

    functionals = [parse(spec) for spec in functional]
    est = dope.load(fit).estimate(functionals)
    # a page that cannot be written is found before numbers are shown
    file = dope.report(est, output, title=title)
    out = console()
    out.print(est.summary(), markup=False, soft_wrap=True)
    out.print(f"Report: {file}", markup=False, soft_wrap=True)
