"""The numbers of a report, to copy."""

from __future__ import annotations

import csv
import io

from dope.inference import Estimate
from dope.reports.content import Content
from dope.reports.markup import code, details, paragraph, section

# A page lists the scores of so many units: some 100 kB.
_LISTED = 1000


def data(c: Content) -> str:
    parts = [details("Estimates, as CSV", code(c.est.to_frame().to_csv(lineterminator="\n"), "Estimates as CSV"))]
    if len(c.est.scores) <= _LISTED:
        parts.append(details("Scores of every unit, as CSV", code(_scores_csv(c.est), "Scores as CSV")))
    else:
        parts.append(paragraph(f"The scores of {len(c.est.scores)} units are too many for a page: see est.scores."))
    return f'<div class="data">{section("data", "Data to copy", *parts)}</div>'


def _scores_csv(est: Estimate) -> str:
    s = est.scores
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    head = ["id", "repeat", "fold"] if s.unit_weight is None else ["id", "repeat", "fold", "weight"]
    write([*head, *(f"{name}: {part}" for name in s.names for part in ("plug-in", "correction"))])
    repeats = s.plugin.shape[0] if s.plugin.shape[0] * len(s) <= _LISTED else 1
    for r in range(repeats):
        for i, label in enumerate(s.ids):
            pairs = zip(s.plugin[r, i], s.correction[r, i], strict=True)
            weight = [] if s.unit_weight is None else [f"{s.unit_weight[i]:.7g}"]
            write([label, r, int(s.fold[r, i]), *weight, *(f"{v:.7g}" for pair in pairs for v in pair)])
    return out.getvalue()
