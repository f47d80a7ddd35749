"""Everything that a folder of results has to say, in one record."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dope.data import DataError
from dope.studies import store
from dope.studies.formats.records import finite, read_json, summary
from dope.studies.slopes import Slope, slopes
from dope.studies.table import Summary, summarise


@dataclass(frozen=True, eq=False)
class Results:
    """The table of a folder, the slopes of its robustness studies, and what readers of both must be told.

    codes, devices : the versions of the code that made the rows, and where it ran.
    protocols : every number of each study's protocol, by study and protocol.
    """

    table: tuple[Summary, ...]
    slopes: tuple[Slope, ...] = ()
    notes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    protocols: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def only(self, functionals: Sequence[str]) -> Results:
        """What concerns these functionals alone."""
        known = list(dict.fromkeys(s.functional for s in self.table))
        for name in functionals:
            if name not in known:
                raise DataError(f"the results have no functional {name!r}. Known are: {', '.join(known)}.")
        table = tuple(s for s in self.table if s.functional in functionals)
        return replace(self, table=table, slopes=tuple(s for s in self.slopes if s.functional in functionals))

    def save(self, file: str | Path) -> None:
        """Write all of it as JSON: to keep in a repository, or beside a paper. `results` reads it back."""
        entry = {
            "codes": self.codes,
            "devices": self.devices,
            "notes": self.notes,
            "protocols": [[*place, numbers] for place, numbers in self.protocols.items()],
            "slopes": [asdict(s) for s in self.slopes],
            "table": [finite(s) for s in self.table],
        }
        # a line for each number of the table: changes of a file in a repository can then be read
        parts = [f'"{key}": {_lines(value)}' for key, value in entry.items()]
        try:
            Path(file).write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
        except OSError as error:
            raise DataError(f"{file} cannot be written: {error.strerror or error}.") from None

    @classmethod
    def load(cls, file: str | Path) -> Results:
        """What `save` wrote; of a file of `dope table DIR --format json` the table alone."""
        try:
            entry = read_json(file)
            if isinstance(entry, list):
                return cls(tuple(map(summary, entry)))
            lists = {key: tuple(entry[key]) for key in ("codes", "devices", "notes")}
            protocols = {(study, name): numbers for study, name, numbers in entry["protocols"]}
            slopes = tuple(Slope(**{k: tuple(v) if isinstance(v, list) else v for k, v in s.items()})
                           for s in entry["slopes"])  # fmt: skip
            return cls(table=tuple(map(summary, entry["table"])), slopes=slopes, protocols=protocols, **lists)
        except (ValueError, TypeError, KeyError):
            raise DataError(
                f"{file} holds no results of a study: it is written by `dope table DIR --archive {file}`."
            ) from None


def _lines(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(v, allow_nan=False) for v in value) + "\n]"


def results(place: str | Path) -> Results:
    """The results in a folder that `reproduce` wrote, or in a file of `Results.save` or `dope table --format json`."""
    if Path(place).is_file():
        return Results.load(place)
    rows, failures = store.read(place)
    if not rows:
        said = f" {_failed(failures)[0]}" if failures else ""
        raise DataError(f"{place} holds no finished cell yet.{said}")
    codes = tuple(dict.fromkeys(r.code for r in rows))
    notes = _failed(failures)
    if len(codes) > 1:
        notes.append(f"The rows come from {len(codes)} versions of the code: {', '.join(codes)}.")
    devices = tuple(dict.fromkeys(r.device for r in rows))
    return Results(tuple(summarise(rows)), tuple(slopes(rows)), tuple(notes), codes, devices, store.numbers(place))


def _failed(failures: Sequence[tuple[str, int, str]]) -> list[str]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for study, _, reason in failures:
        reasons[study].append(reason)
    return [
        f"{study}: {len(why)} setting{'s' if len(why) > 1 else ''} of a repeat gave no rows, the first because of: "
        f"{why[0]} The same command tries again."
        for study, why in reasons.items()
    ]
