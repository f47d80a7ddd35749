"""Rows to figures: one object a setting, functional and estimator."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from dope.studies import store
from dope.studies.cell import Row
from dope.studies.estimators import ESTIMATORS
from dope.studies.published import published
from dope.studies.registry import STUDIES


@dataclass(frozen=True)
class Summary:
    """What the repeats of one estimator in one setting say, in the functional's own units.

    Standard errors are None below two repeats. `floor_rmse` is that of the mean over the true solutions in the same
    repeats. `published_coverage` is shown, but is no key of `to_dict`: there, what was published is an RMSE or None.
    """

    study: str
    backbone: str
    functional: str
    setting: str
    value: float
    estimator: str
    protocol: str
    repeats: int
    rmse: float
    rmse_se: float | None
    floor_rmse: float | None
    ratio_to_floor: float | None
    bias: float
    bias_se: float | None
    coverage: float
    coverage_se: float
    mean_length: float
    seconds: float
    published_rmse: float | None
    published_se: float | None
    published_coverage: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in KEYS}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Summary:
        """The summary that `to_dict` was called on."""
        place = (entry[k] for k in ("study", "backbone", "functional", "setting", "value", "estimator"))
        return cls(**entry, published_coverage=published(*place).coverage)


KEYS = tuple(f.name for f in fields(Summary) if f.name != "published_coverage")


def table(folder: str | Path) -> list[Summary]:
    """The table of everything that a folder holds."""
    rows, _ = store.read(folder)
    return summarise(rows)


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """One object for each estimator of each setting, in the order of the studies' own grids."""
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        groups[
            (row.config, row.study, row.backbone, row.functional, row.setting, row.value, row.estimator, row.protocol)
        ].append(row)
    out = []
    for (config, *place), group in groups.items():
        floor = {r.repeat: r for r in groups.get((config, *place[:5], "floor", place[-1]), ())}
        out.append(_summary(tuple(place), group, floor))
    return sorted(out, key=_order)


def _summary(place: tuple, rows: Sequence[Row], floor: dict[int, Row]) -> Summary:
    n = len(rows)
    error = np.array([r.estimate - r.truth for r in rows])
    covered = float(np.mean([r.low <= r.truth <= r.high for r in rows]))
    rmse = math.sqrt(float((error**2).mean()))
    rmse_se = bias_se = None
    if n > 1:
        # the delta method: sd(error^2) / sqrt(n) is the standard error of the squared RMSE
        rmse_se = float((error**2).std(ddof=1)) / math.sqrt(n) / (2 * rmse) if rmse > 0 else 0.0
        bias_se = float(error.std(ddof=1)) / math.sqrt(n)
    floor_rmse = ratio = None
    if all(r.repeat in floor for r in rows):
        below = np.array([floor[r.repeat].estimate - floor[r.repeat].truth for r in rows])
        floor_rmse = math.sqrt(float((below**2).mean()))
        ratio = rmse / floor_rmse if floor_rmse > 0 else None
    study, backbone, functional, setting, value, estimator, protocol = place
    printed = published(study, backbone, functional, setting, value, estimator)
    return Summary(
        study=study,
        backbone=backbone,
        functional=functional,
        setting=setting,
        value=value,
        estimator=estimator,
        protocol=protocol,
        repeats=n,
        rmse=rmse,
        rmse_se=rmse_se,
        floor_rmse=floor_rmse,
        ratio_to_floor=ratio,
        bias=float(error.mean()),
        bias_se=bias_se,
        coverage=covered,
        coverage_se=math.sqrt(covered * (1 - covered) / n),
        mean_length=float(np.mean([r.high - r.low for r in rows])),
        seconds=float(np.mean([r.seconds for r in rows])),
        published_rmse=printed.rmse,
        published_se=printed.se,
        published_coverage=printed.coverage,
    )


def _order(s: Summary) -> tuple:
    """Studies, functionals, settings and estimators as the records list them."""
    known = list(STUDIES)
    names = ["floor"]
    functionals: list[str] = []
    for record in STUDIES.get(s.study, ()):
        names += [e for e in record.estimators if e not in names]
        functionals += [f for f in record.functionals if f not in functionals]
    names += [e for e in ESTIMATORS if e not in names]
    return (
        _place(known, s.study),
        s.protocol,
        _place(functionals, s.functional),
        s.setting,
        s.value,
        _place(names, s.estimator),
    )


def _place(names: Sequence[str], name: str) -> tuple[int, str]:
    return (names.index(name) if name in names else len(names), name)
