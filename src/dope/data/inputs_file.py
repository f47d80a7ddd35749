"""Inputs without observations, from arrays or from files larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import ArrayLike

from dope.data.errors import DataError
from dope.data.operator_data import OperatorData

_ROWS = 4096


class Blocks:
    """Rows of an array or file, float32, a block at a time.

    `source` is an array, an `OperatorData` (whose inputs are taken), a `.npy` file, or an HDF5 file with a data set
    "inputs". Every row must have shape `row` and be finite; a missing axis for a single channel is added.
    """

    def __init__(self, source: ArrayLike | OperatorData | str | Path, row: tuple[int, ...], what: str) -> None:
        self.row, self.what = row, what
        self._file = None
        rows: Any = source.inputs if isinstance(source, OperatorData) else source
        if isinstance(rows, (str, Path)):
            rows = self._open(Path(rows))
        try:
            self._rows = rows if hasattr(rows, "shape") else np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:  # ragged lists, words
            raise DataError(f"{what} must be numbers in one array (m, {', '.join(map(str, row))}): {error}.") from None
        if getattr(self._rows.dtype, "kind", "f") not in "iuf":  # a torch dtype has no kind, and holds numbers
            raise DataError(f"{what} must be real numbers, got dtype {self._rows.dtype}.")
        shape = tuple(self._rows.shape)
        self._add_channel = shape[1:] == row[1:] and len(row) > 1 and row[0] == 1
        if shape[1:] != row and not self._add_channel:
            raise DataError(f"{what} have shape {shape}, expected (m, {', '.join(map(str, row))}).")

    def _open(self, path: Path):
        if not path.is_file():
            raise DataError(f"{what_file(path)} does not exist.")
        if path.suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        if path.suffix in (".h5", ".hdf5"):
            self._file = h5py.File(path, "r")
            if "inputs" not in self._file:
                raise DataError(
                    f"{what_file(path)} has no data set 'inputs', only {', '.join(self._file) or 'nothing'}."
                )
            return self._file["inputs"]
        raise DataError(f"{what_file(path)}: inputs are read from .npy and .h5 files.")

    def __len__(self) -> int:
        return int(self._rows.shape[0])

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray]]:
        try:
            for start in range(0, len(self), _ROWS):
                rows = slice(start, min(start + _ROWS, len(self)))
                block = np.array(self._rows[rows], dtype=np.float32)
                if self._add_channel:
                    block = block[:, None]
                bad = ~np.isfinite(block).reshape(len(block), -1).all(1)
                if bad.any():
                    raise DataError(f"{self.what}: the row at position {start + int(np.argmax(bad))} is not finite.")
                yield rows, block
        finally:
            if self._file is not None:
                self._file.close()


def what_file(path: Path) -> str:
    return f"the file {str(path)!r}"
