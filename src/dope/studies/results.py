"""Everything that a folder of results has to say, in one record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dope.data import DataError
from dope.studies import store
from dope.studies.formats.records import read_json
from dope.studies.slopes import Slope, slopes
from dope.studies.table import Summary, summarise


@dataclass(frozen=True, eq=False)
class Results:
    """The table of a folder, the slopes of its robustness studies, and what readers of both must be told.

    codes : the versions of the code that made the rows.
    protocols : every number of each study's protocol, by study and protocol.
    """

    table: tuple[Summary, ...]
    slopes: tuple[Slope, ...] = ()
    notes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    protocols: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def only(self, functionals: Sequence[str]) -> Results:
        """What concerns these functionals alone."""
        known = list(dict.fromkeys(s.functional for s in self.table))
        for name in functionals:
            if name not in known:
                raise DataError(f"the results have no functional {name!r}. Known are: {', '.join(known)}.")
        table = tuple(s for s in self.table if s.functional in functionals)
        return replace(self, table=table, slopes=tuple(s for s in self.slopes if s.functional in functionals))


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
    codes = tuple(dict.fromkeys(r.code for r in rows))
    notes = _failed(failures)
    if len(codes) > 1:
        notes.append(f"The rows come from {len(codes)} versions of the code: {', '.join(codes)}.")
    return Results(tuple(summarise(rows)), tuple(slopes(rows)), tuple(notes), codes, store.numbers(place))


def _failed(failures: Sequence[tuple[str, int, str]]) -> list[str]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for study, _, reason in failures:
        reasons[study].append(reason)
    return [
        f"{study}: {len(why)} setting{'s' if len(why) > 1 else ''} of a repeat gave no rows, the first because of: "
        f"{why[0]} The same command tries again."
        for study, why in reasons.items()
    ]
