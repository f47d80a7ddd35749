"""Where a training stands, on disk: one that was stopped goes on from there."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from dope.data import DataError


class Checkpoint:
    """The state of one group of networks in `folder`, written at most once in `every` seconds and at the end.

    The file is named by a hash of all that decides the outcome, so that no training goes on from the state of another
    one; a changed recipe, seed or data set begins anew beside it.
    """

    def __init__(self, folder: str | Path, what: str, key: Iterable[object], *, every: float = 30.0) -> None:
        digest = hashlib.sha256()
        for part in key:
            digest.update(_bytes(part))
        self.file = Path(folder) / f"{what.replace(' ', '-')}-{digest.hexdigest()[:16]}.safetensors"
        self.every, self._saved = every, time.monotonic()
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"checkpoints cannot be written to {folder}: {error.strerror or error}.") from None

    def load(self, device: torch.device) -> dict[str, Tensor] | None:
        """The state that was saved last, None where there is none."""
        if not self.file.is_file():
            return None
        try:
            return load_file(self.file, device=str(device))
        except (SafetensorError, OSError) as error:
            raise DataError(f"{self.file} cannot be read as a checkpoint ({error}): delete it to begin anew.") from None

    @property
    def due(self) -> bool:
        return time.monotonic() - self._saved >= self.every

    def save(self, state: Mapping[str, Tensor]) -> None:
        """Write the state; the file holds the old one until the new one is whole."""
        fresh = self.file.with_suffix(".part")
        save_file({name: value.detach().cpu().contiguous() for name, value in state.items()}, fresh)
        os.replace(fresh, self.file)
        self._saved = time.monotonic()


def _bytes(part: object) -> bytes:
    if isinstance(part, Tensor):
        part = part.detach().cpu().numpy()
    if isinstance(part, np.ndarray):
        return repr((part.shape, part.dtype.str)).encode() + np.ascontiguousarray(part).tobytes()
    return repr(part).encode()
