"""Glucose in mg/dL or mmol/L, told apart by its size."""

from __future__ import annotations

import numpy as np

from dope.data.tables.names import Columns
from dope.data.tables.table import Table

# Nobody lives with a median glucose above 30 mmol/L or below 30 mg/dL; 1 mmol/L is 18 mg/dL.
_BETWEEN = 30.0


def unit(table: Table, columns: Columns, rows: np.ndarray, y: np.ndarray) -> str:
    """The unit that all subjects share; a table that mixes the two is refused."""
    import pandas as pd

    subject, names = pd.factorize(table.text(columns["id"])[rows])
    middle = pd.Series(y[rows]).groupby(subject).median()
    high = middle.to_numpy() > _BETWEEN
    if high.any() and not high.all():
        odd = int(np.argmin(high)) if high.mean() > 0.5 else int(np.argmax(high))
        usual = int(np.argmax(high)) if high.mean() > 0.5 else int(np.argmin(high))
        mask = np.zeros(len(table), bool)
        mask[np.flatnonzero(rows)[subject == odd]] = True
        raise table.error(
            mask,
            f"{columns['value']} of subject {names[odd]} (median {middle[odd]:.3g}) looks like "
            f"{_name(high[odd])}, that of {names[usual]} (median {middle[usual]:.3g}) like {_name(high[usual])}: "
            "convert to one unit (1 mmol/L is 18 mg/dL).",
        )
    return _name(bool(high[0]))


def _name(high: bool) -> str:
    return "mg/dL" if high else "mmol/L"
