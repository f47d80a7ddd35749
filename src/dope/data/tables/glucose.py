"""Glucose in mg/dL or mmol/L, told apart by its size."""

from __future__ import annotations

import numpy as np

from dope.data.errors import DataError
from dope.data.tables.names import Columns
from dope.data.tables.table import Table

# Nobody lives with a median glucose above 30 mmol/L or below 30 mg/dL; 1 mmol/L is 18 mg/dL.
_BETWEEN = 30.0
# Sensors end at 40 mg/dL and at 27.8 mmol/L: more values than this on both sides of 30 are of two units.
_STRAY = 0.05
MG, MMOL = "mg/dL", "mmol/L"


def unit(table: Table, columns: Columns, rows: np.ndarray, y: np.ndarray, said: str | None) -> tuple[str, str]:
    """The unit that all subjects share, and a remark where it was guessed; a table that mixes units is refused.

    said : the unit that the table itself names.
    """
    import pandas as pd

    subject, names = pd.factorize(table.text(columns["id"])[rows])
    high = pd.Series(y[rows]).groupby(subject).median().to_numpy() > _BETWEEN
    odd = (y[rows] > _BETWEEN) != high[subject]
    _one_each(table, columns, rows, odd, subject, names, high)
    middle = pd.Series(y[rows]).groupby(subject).median()
    if high.any() and not high.all():
        odd = int(np.argmin(high)) if high.mean() > 0.5 else int(np.argmax(high))
        usual = int(np.argmax(high)) if high.mean() > 0.5 else int(np.argmin(high))
        raise table.error(
            _mask(table, rows, subject == odd),
            f"{columns['value']} of subject {names[odd]} (median {middle[odd]:.3g}) looks like "
            f"{_name(high[odd])}, that of {names[usual]} (median {middle[usual]:.3g}) like {_name(high[usual])}: "
            "convert to one unit (1 mmol/L is 18 mg/dL).",
        )
    looks, median = _name(bool(high[0])), float(np.median(y[rows]))
    if said is None:
        return looks, f"glucose is taken to be in {looks}, because its median is {median:.3g}."
    known = {MG.lower(): MG, MMOL.lower(): MMOL}.get(said.lower().replace(" ", ""))
    if known is not None and known != looks:
        raise DataError(
            f"{table.source}, {table.header}: {columns['value']} is said to be in {said}, but its median of "
            f"{median:.3g} looks like {looks}: correct the unit or the values, because thresholds depend on it."
        )
    return known or said, ""


def _one_each(
    table: Table,
    columns: Columns,
    rows: np.ndarray,
    odd: np.ndarray,
    subject: np.ndarray,
    names: np.ndarray,
    high: np.ndarray,
) -> None:
    """Refuse a subject whose record changes its unit on the way; `odd` (of the rows) are off its median's side."""
    share = np.bincount(subject, odd) / np.bincount(subject)
    if share.max() <= _STRAY:
        return
    worst = int(np.argmax(share > _STRAY))
    raise table.error(
        _mask(table, rows, odd & (subject == worst)),
        f"{columns['value']} of subject {names[worst]} looks like {_name(not high[worst])} there, and like "
        f"{_name(bool(high[worst]))} elsewhere: convert to one unit (1 mmol/L is 18 mg/dL).",
    )


def _mask(table: Table, rows: np.ndarray, of_rows: np.ndarray) -> np.ndarray:
    mask = np.zeros(len(table), bool)
    mask[np.flatnonzero(rows)[of_rows]] = True
    return mask


def _name(high: bool) -> str:
    return MG if high else MMOL
