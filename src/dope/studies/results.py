"""Everything that a folder of results has to say, in one record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dope.data import DataError
from dope.studies import store
from dope.studies.cell import Row
from dope.studies.formats.records import read_json
from dope.studies.slopes import Slope, slopes
from dope.studies.table import Summary, summarise


@dataclass(frozen=True, eq=False)
class Results:
    """The table of a folder, the slopes of its robustness studies, and what readers of both must be told."""

    table: tuple[Summary, ...]
    slopes: tuple[Slope, ...] = ()
    notes: tuple[str, ...] = ()


def results(place: str | Path) -> Results:
    """The results in a folder that `reproduce` wrote, or in a file of `dope table DIR --format json`.

    Such a file holds no single repeats: slopes cannot be had from it.
    """
    if Path(place).is_file():
        return Results(tuple(read_json(place)))
    rows, failures = store.read(place)
    if not rows:
        said = f" {_failed(failures)[0]}" if failures else ""
        raise DataError(f"{place} holds no finished cell yet.{said}")
    return Results(tuple(summarise(rows)), tuple(slopes(rows)), (*_failed(failures), *_versions(rows)))


def holds_results(place: str | Path) -> bool:
    return (Path(place) / store.FILE).is_file()


def _failed(failures: Sequence[tuple[str, int, str]]) -> list[str]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for study, _, reason in failures:
        reasons[study].append(reason)
    return [
        f"{study}: {len(why)} setting{'s' if len(why) > 1 else ''} of a repeat gave no rows, the first because of: "
        f"{why[0]} The same command tries again."
        for study, why in reasons.items()
    ]


def _versions(rows: Sequence[Row]) -> list[str]:
    codes = list(dict.fromkeys(r.code for r in rows))
    return [f"The rows come from {len(codes)} versions of the code: {', '.join(codes)}."] if len(codes) > 1 else []
