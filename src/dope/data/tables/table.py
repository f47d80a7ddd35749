"""A table as it came: its columns, and where in the file each row stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dope.data.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = frozenset({"", ".", "NA", "N/A", "NAN", "NULL", "NONE", "<NA>", "NAT"})
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Table:
    """`frame` holds text or numbers under the header's names; `lines` (rows,) says where a row stands.

    `row` is the word for that: "line" of a text file, counted from 1 as editors do, or "row" of a frame, counted
    from 0 as `iloc` does. `header` says where the names stand, `switched_off` in which lines rows begin with #.
    """

    source: str
    frame: pd.DataFrame
    lines: np.ndarray
    row: str
    header: str
    decimal_comma: bool = False
    switched_off: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def take(self, keep: np.ndarray) -> Table:
        frame = self.frame[keep].reset_index(drop=True)
        return Table(self.source, frame, self.lines[keep], self.row, self.header, self.decimal_comma)

    def at(self, rows: np.ndarray) -> str:
        """Where rows (a mask or positions) stand: "line 7", "lines 7, 9 and 3 more"."""
        return places(self.lines[rows], self.row)

    def error(self, rows: np.ndarray, what: str) -> DataError:
        return DataError(f"{self.source}, {self.at(rows)}: {what}")

    # ---- columns --------------------------------------------------------------------------------------
    def text(self, name: str) -> np.ndarray:
        """The column as stripped text, empty where it is missing."""
        column = self.frame[name]
        words = column.astype(object).where(column.notna(), "").astype(str).str.strip()
        if column.dtype.kind == "f":  # numbers that a frame holds as 1.0 name the same thing as 1
            words = words.str.removesuffix(".0")
        words = words.to_numpy(dtype=object)
        return np.where(np.isin(np.char.upper(words.astype(str)), list(MISSING)), "", words)

    def is_number(self, name: str) -> bool:
        return self.frame[name].dtype.kind in "iufb"

    def parsed(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The column as float64, NaN where it is missing; and a mask of entries that are something else."""
        import pandas as pd

        column = self.frame[name]
        if self.is_number(name):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            return values, np.isinf(values)
        words = pd.Series(self.text(name), dtype=object)
        if self.decimal_comma:
            words = words.str.replace(",", ".", regex=False)
        values = pd.to_numeric(words.where(words != "", None), errors="coerce").to_numpy(np.float64, na_value=np.nan)
        return values, (words != "").to_numpy() & ~np.isfinite(values)

    def numbers(self, name: str, what: str = "a number") -> np.ndarray:
        """The column as float64, NaN where it is missing; anything else is refused."""
        values, bad = self.parsed(name)
        if bad.any():
            first = str(self.frame[name].iloc[int(np.argmax(bad))]).strip()
            raise self.error(
                bad, f"{name} is {first!r}, not {what}: correct it, or write '.' where nothing was measured."
            )
        return values


def places(lines: np.ndarray, row: str) -> str:
    """Line numbers in words."""
    shown = [str(int(n)) for n in lines[:_SHOWN]]
    if len(lines) == 1:
        return f"{row} {shown[0]}"
    if len(lines) > _SHOWN:
        return f"{row}s {', '.join(shown)} and {len(lines) - _SHOWN} more"
    return f"{row}s {', '.join(shown[:-1])} and {shown[-1]}"
