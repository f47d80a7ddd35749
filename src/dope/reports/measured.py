"""What values and coordinates are called and measured in, where the data said so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_VALUE, _PLACE = re.compile(r"\bu\b(?!\()|u(?=[²³])"), re.compile(r"\bx\b")


@dataclass(frozen=True)
class Measured:
    """Units, None where they are not known, and labels of axes."""

    value: str | None = None
    coordinate: str | None = None
    value_label: str | None = None
    coordinate_label: str | None = None

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Measured:
        """From the record of what was read, where there is one."""
        read = meta.get("data")
        if not isinstance(read, Mapping) or not isinstance(read.get("measured_in"), Mapping):
            return cls()
        units, columns = read["measured_in"], read.get("columns", {})
        place = columns.get("time", columns.get("grid", ""))
        value, coordinate = units.get("value"), units.get("time", units.get(place))
        several = "," in place  # a plane has a label for each axis, which its pictures do not take
        return cls(
            value,
            None if several else coordinate,
            _label(columns.get("value"), value),
            None if several else _label(place, coordinate),
        )

    def unit(self, units: str) -> str:
        """A functional's units, written with u and x, in those of the data."""
        if self.value is not None:
            squared = f"({self.value})" if re.search(r"[^\w%]", self.value) else self.value
            units = _VALUE.sub(lambda m: squared if units[m.end() : m.end() + 1] in ("²", "³") else self.value, units)
        return units if self.coordinate is None else _PLACE.sub(lambda _: self.coordinate, units)


def _label(name: str | None, unit: str | None) -> str | None:
    if not name:
        return None
    return name if unit is None or unit in name else f"{name} ({unit})"
