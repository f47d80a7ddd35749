"""One estimate as one HTML file that asks nothing of the network."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dope.data import DataError
from dope.inference import Estimate
from dope.reports import sections
from dope.reports.content import Content, gather
from dope.reports.markup import esc
from dope.reports.style import CSS
from dope.reports.words import listed

_SECTIONS = (sections.asked, sections.answer, sections.trust, sections.fields, sections.weights, sections.scores,
             sections.made, sections.data)  # fmt: skip


def report(
    estimate: Estimate,
    path: str | Path = "report.html",
    *,
    title: str | None = None,
    truth: Mapping[str, float] | None = None,
) -> Path:
    """Write an estimate as one self-contained HTML page, to read on a screen, a phone or paper.

    Parameters
    ----------
    estimate : what `fit.estimate(...)` gives, or any `Estimate`; without a fit, what needs one is left out.
    path : the file; its folder is made where there is none.
    title : of the page; the functionals' names unless given.
    truth : known true values by functional, shown beside the estimates.

    Returns the path.
    """
    if not isinstance(estimate, Estimate):
        raise DataError(f"report needs an estimate, got {type(estimate).__name__}: pass what fit.estimate(...) gives.")
    known = _truth(truth or {}, estimate.names)
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder: give the report a file name, e.g. {file / 'report.html'}.")
    file.parent.mkdir(parents=True, exist_ok=True)
    content = gather(estimate, known)
    file.write_text(_page(content, title), encoding="utf-8")
    return file


def _truth(truth: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    strange = [name for name in truth if name not in names]
    if strange:
        raise DataError(f"truth names {listed(strange)}, but the estimate has {listed(names)}.")
    try:
        known = {name: float(value) for name, value in truth.items()}
    except (TypeError, ValueError):
        known = {"": float("nan")}
    if not np.isfinite(list(known.values())).all():
        raise DataError("truth maps names to finite numbers.")
    return known


def _page(content: Content, title: str | None) -> str:
    est = content.est
    heading = title or _title(est)
    observations = "" if est.scores.counts is None else f", {int(np.sum(est.scores.counts))} observations"
    body = "\n".join(part for write in _SECTIONS if (part := write(content)))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="dope {esc(_version(est))}">
<title>{esc(heading)}</title>
<style>
{CSS}
</style>
</head>
<body>
<main>
<header>
<h1>{esc(heading)}</h1>
<p class="sub">Debiased estimation with a neural operator. {est.n} units{observations}.</p>
</header>
{body}
</main>
</body>
</html>
"""


def _title(est: Estimate) -> str:
    names = list(est.names)
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return f"Mean of {listed(names)}"


def _version(est: Estimate) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dope")
    except PackageNotFoundError:  # run from a source tree
        return f"(Python {platform.python_version()})"
