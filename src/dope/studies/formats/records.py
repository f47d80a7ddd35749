"""For programs: one object, or one line, for each setting, functional and estimator."""

from __future__ import annotations

import csv as _csv
import io
import json as _json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dope.data import DataError
from dope.studies.slopes import Slope
from dope.studies.table import KEYS, Summary


def json(table: Sequence[Summary], slopes: Sequence[Slope] = ()) -> str:
    """A list of objects with the keys `KEYS`, in the functionals' own units. What is not a number is null."""
    entries = ",\n".join(_json.dumps(finite(s), allow_nan=False) for s in table)
    return f"[\n{entries}\n]\n" if entries else "[]\n"


def csv(table: Sequence[Summary], slopes: Sequence[Slope] = ()) -> str:
    """The same with a line each; what is null there is empty here."""
    out = io.StringIO()
    writer = _csv.DictWriter(out, KEYS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(finite(s) for s in table)
    return out.getvalue()


def read_json(file: str | Path) -> Any:
    """What a JSON file holds."""
    try:
        return _json.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from None


def summary(entry: Mapping[str, Any]) -> Summary:
    """The summary that an object of the list stands for."""
    return Summary.from_dict({k: _number(k, entry[k]) for k in KEYS})


# These always are numbers, and null only where they are not finite.
_ALWAYS = ("rmse", "bias", "coverage", "coverage_se", "mean_length", "seconds")


def finite(s: Summary) -> dict[str, Any]:
    """The summary as JSON holds it."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in s.to_dict().items()}


def _number(key: str, value: Any) -> Any:
    return math.nan if value is None and key in _ALWAYS else value
