"""Where to compute, and with how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dope.data import DataError


def resolve_device(device: str | torch.device) -> torch.device:
    """`"auto"` is the first CUDA device where there is one, else the CPU."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise DataError(f"device {device!r} is not known to torch: {error}") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise DataError(f"device {device!r}: torch finds no CUDA device here: use device='cpu' or 'auto'.")
    return chosen


@contextmanager
def single_threaded(device: torch.device) -> Iterator[None]:
    """One torch thread while small networks train on the CPU.

    Their products are too small to share: a second thread costs more in waiting than it brings, and several
    times as much when another process holds the core.
    """
    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
        _keep_freed_memory()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _keep_freed_memory() -> None:
    """Let the C library keep what a training step frees for the next one.

    Returned to the system and asked for again, its pages cost as much as the arithmetic. glibc keeps twice as much as
    the largest block it ever saw freed, of up to 32 MB; elsewhere this does nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
