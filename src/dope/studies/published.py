"""The published figures, in the functionals' own units."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from dope.studies.registry import STUDIES

_COVERAGE = "coverage"  # in place of a scale: the printed number is a coverage, not an error


@dataclass(frozen=True)
class Published:
    """An RMSE with its standard error, and by how much both were multiplied in print; or a coverage."""

    rmse: float | None = None
    se: float | None = None
    coverage: float | None = None
    scale: float | None = None


@lru_cache(maxsize=1)
def _figures() -> dict[tuple[str, str, str, str, float, str], Published]:
    out = {}
    with files("dope.studies").joinpath("published.csv").open(encoding="utf-8", newline="") as lines:
        for entry in csv.DictReader(lines):
            place = tuple(entry[k] for k in ("study", "backbone", "functional", "setting"))
            printed, se = float(entry["rmse"]), float(entry["se"]) if entry["se"] else None
            if entry["scale"] == _COVERAGE:
                figure = Published(coverage=printed)
            else:
                scale = float(entry["scale"])
                figure = Published(printed / scale, None if se is None else se / scale, scale=scale)
            out[(*place, float(entry["value"]), entry["estimator"])] = figure
    return out


def published(study: str, backbone: str, functional: str, setting: str, value: float, estimator: str) -> Published:
    """The published figure of an estimator here; empty where there is none."""
    for record in STUDIES.get(study, ()):
        printed = record.published.get(estimator)
        if record.backbone == backbone and functional in record.functionals and printed is not None:
            return _figures().get((study, backbone, functional, setting, round(value, 9), printed), Published())
    return Published()
