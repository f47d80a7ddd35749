"""One estimate as one HTML file that asks nothing of the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dope.data import DataError
from dope.inference import Estimate, Regression
from dope.reports.content import Content, gather
from dope.reports.document import document, writable
from dope.reports.words import listed


def report(
    estimate: Estimate,
    path: str | Path = "report.html",
    *,
    title: str | None = None,
    truth: Mapping[str, float] | None = None,
    second_stage: Regression | Mapping[str, Regression] | None = None,
) -> Path:
    """Write an estimate as one self-contained HTML page, to read on a screen, a phone or paper.

    Parameters
    ----------
    estimate : what `fit.estimate(...)` gives, or any `Estimate`; without a fit, what needs one is left out.
    path : the file; its folder is made where there is none.
    title : of the page; the functionals' names unless given.
    truth : known true values by functional, shown beside the estimates.
    second_stage : what `est.regress(...)` gives for labels or one number, drawn under its heading; several by heading.

    Returns the path.
    """
    if not isinstance(estimate, Estimate):
        raise DataError(f"report needs an estimate, got {type(estimate).__name__}: pass what fit.estimate(...) gives.")
    known = _truth(truth or {}, estimate.names)
    file = writable(path)
    content = gather(estimate, known, _stages(second_stage))
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


def _stages(given: Regression | Mapping[str, Regression] | None) -> Mapping[str, Regression]:
    stages = given if isinstance(given, Mapping) else {} if given is None else {"second stage": given}
    for title, found in stages.items():
        if not isinstance(found, Regression) or found.basis is None or len(found.basis.columns) > 1:
            raise DataError(
                f"second_stage {title!r}: pass what est.regress(...) gives for labels or one number, without a learner."
            )
    return stages


def _page(content: Content, title: str | None) -> str:
    # not before a page is written: matplotlib takes long to load
    from dope.reports import sections as of
    from dope.reports import tables
    from dope.reports.dependence import dependence
    from dope.reports.origin import origin

    est = content.est
    heading = title or _title(est)
    observations = "" if est.scores.counts is None else f", {int(np.sum(est.scores.counts))} observations"
    parts = (of.asked, of.answer, of.trust, of.fields, of.weights, of.scores, dependence, origin, of.made, tables.data)
    body = "\n".join(part for write in parts if (part := write(content)))
    return document(heading, f"Debiased estimation with a neural operator. {est.n} units{observations}.", body)


def _title(est: Estimate) -> str:
    names = list(est.names)
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return f"Mean of {listed(names)}"
