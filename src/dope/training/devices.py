"""Where to compute, and with how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

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
    """One torch thread while small networks train on the CPU, and the quicker of torch's two libraries for products.

    Their products are too small to share: a second thread costs more in waiting than it brings, and several
    times as much when another process holds the core.
    """
    threads, products = torch.get_num_threads(), _products()
    before = getattr(products, "fp32_precision", None)
    if device.type == "cpu":
        torch.set_num_threads(1)
        _keep_freed_memory()
        if products is not None and _exact_in_onednn():
            products.fp32_precision = "bf16"
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if products is not None:
            products.fp32_precision = before


def _products() -> Any:
    """Torch's settings of oneDNN's matrix products, None where there are none."""
    found = getattr(torch.backends.mkldnn, "matmul", None)  # older versions have none
    return found if torch.backends.mkldnn.is_available() and hasattr(found, "fp32_precision") else None


@cache
def _exact_in_onednn() -> bool:
    """Whether oneDNN multiplies in full single precision when it is allowed less.

    Torch leaves products of single precision to another library, which is half as quick on some processors, unless
    oneDNN may round their factors to 16 bits. It does so only where that is quicker: on processors with instructions
    for it. There it is not used, so that no result depends on this.
    """
    products = _products()
    before, error = products.fp32_precision, 0.0
    draw = torch.Generator().manual_seed(0)
    try:
        products.fp32_precision = "bf16"
        for rows, inner, columns in ((256, 32, 32), (24, 128, 256), (16, 64, 64), (512, 512, 64)):
            a = torch.rand(4, rows, inner, generator=draw)
            b = torch.rand(4, inner, columns, generator=draw)
            exact = a.double() @ b.double()
            error = max(error, float(((a @ b - exact) / exact).abs().max()))
    except RuntimeError:  # not for this processor
        return False
    finally:
        products.fp32_precision = before
    return error < 1e-5  # sums of positive numbers: single precision leaves some 1e-7, 16 bits some 1e-3


def _keep_freed_memory() -> None:
    """Let the C library keep what a training step frees for the next one.

    Returned to the system and asked for again, its pages cost as much as the arithmetic. glibc keeps twice as much as
    the largest block it ever saw freed, of up to 32 MB; elsewhere this does nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
