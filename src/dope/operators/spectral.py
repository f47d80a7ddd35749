"""A convolution in Fourier space as products with real matrices.

Only the kept modes are ever computed: the truncated transform of an axis is a product with a
(modes x nodes) matrix, which beats a full FFT at the few modes that operators keep, works in any precision,
on non-uniform nodes, and under vmap and both modes of differentiation.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from dope.data import Grid
from dope.data.grid import Axis


def frequencies(modes: int, *, signed: bool) -> np.ndarray:
    """Exactly `modes` whole frequencies: 0, 1, ... or, signed, centred at zero."""
    return np.arange(modes) - (modes // 2 if signed else 0)


def transform(axis: Axis, k: np.ndarray, period: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Complex matrices: analysis (modes, nodes) and synthesis (nodes, modes) along one axis.

    The waves repeat after `period` lengths of the domain. With 1 they are those of the discrete Fourier transform,
    which takes the ends of the domain for neighbours; where they are not, a longer period keeps them apart.
    """
    size = len(axis.nodes)
    if axis.kind != "periodic":
        k = k / period
    if axis.uniform:
        place = np.arange(size) / size
        share = np.ones(size)
    else:  # quadrature in place of the equal steps of a discrete Fourier transform
        place = (axis.nodes - axis.lower) / (axis.upper - axis.lower) * (size - 1) / size
        share = axis.weights * size
    phase = 2 * math.pi * np.multiply.outer(k, place)
    return np.exp(-1j * phase) * share, np.exp(1j * phase).T / size


@lru_cache(maxsize=64)  # thousands of networks of one architecture are made for one study
def _matrices(
    axis: Axis, modes: int, signed: bool, last: bool, period: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The transform and its inverse as real matrices, with real and imaginary parts one after another."""
    k = frequencies(modes, signed=signed)
    ahead, back = transform(axis, k, period)
    ahead = np.concatenate([ahead.real, ahead.imag])
    if last:  # the field is real: half of the spectrum holds it all
        twice = np.where((k == 0) | ((2 * k == len(axis.nodes)) & (period == 1 or axis.kind == "periodic")), 1.0, 2.0)
        back = np.concatenate([back.real * twice, -back.imag * twice], axis=1)
    else:
        back = np.concatenate([back.real, back.imag])
    return torch.as_tensor(ahead, dtype=dtype), torch.as_tensor(back, dtype=dtype)


class SpectralConv(nn.Module):
    """`(B, *grid, C) -> (B, *grid, C)`: keep the chosen modes, mix their channels, go back."""

    def __init__(self, grid: Grid, width: int, modes: tuple[int, ...], *, signed: bool, period: float = 1.0) -> None:
        super().__init__()
        self.shape, self.modes, self.width = grid.shape, modes, width
        scale = 1 / (width * width)
        self.weight = nn.Parameter(scale * torch.randn(*modes, width, width, 2))
        for d, axis in enumerate(grid.axes):
            last = d == grid.ndim - 1
            ahead, back = _matrices(axis, modes[d], signed and not last, last, period, torch.get_default_dtype())
            self.register_buffer(f"ahead{d}", ahead, persistent=False)
            self.register_buffer(f"back{d}", back, persistent=False)

    def forward(self, u: Tensor) -> Tensor:
        batch, width, d = len(u), self.width, len(self.shape)
        # last axis: real -> (real, imaginary)
        f = getattr(self, f"ahead{d - 1}") @ u  # (B, ..., 2 m, C)
        f = f.reshape(batch, *self.shape[:-1], 2, -1)
        for axis in range(d - 2, -1, -1):
            f = self._complex(getattr(self, f"ahead{axis}"), f, self.shape[:axis], self.shape[axis], self.modes[axis])
        # (B, 2, modes..., C) for d > 1 has its parts first; bring both cases to (modes, 2 B, C)
        count = math.prod(self.modes)
        f = f.reshape(batch, 2, count, width).permute(2, 1, 0, 3).reshape(count, 2 * batch, width)
        # (..., C, 2) read as one matrix with 2 C columns: all four real products at once, and no copy of the weights
        parts = torch.bmm(f, self.weight.reshape(count, width, 2 * width)).reshape(count, 2, batch, width, 2)
        (re_re, re_im), (im_re, im_im) = (p.unbind(-1) for p in parts.unbind(1))
        f = torch.stack([re_re - im_im, re_im + im_re]).permute(2, 0, 1, 3)  # (B, 2, modes, C)
        for axis in range(d - 1):
            f = self._complex_back(getattr(self, f"back{axis}"), f, axis)
        f = f.reshape(batch, 2, -1, self.modes[-1], width).transpose(1, 2)
        return (getattr(self, f"back{d - 1}") @ f.reshape(batch, -1, 2 * self.modes[-1], width)).reshape(u.shape)

    def _complex(self, matrix: Tensor, f: Tensor, before: tuple[int, ...], size: int, modes: int) -> Tensor:
        """Transform one further axis of `f` (B, *before, size, 2, rest) -> (B, *before, 2, modes * rest)."""
        batch, rest = len(f), f.shape[-1]
        parts = matrix @ f.reshape(batch, *before, size, 2 * rest)
        parts = parts.reshape(batch, *before, 2, modes, 2, rest)
        (cos_re, cos_im), (sin_re, sin_im) = (p.unbind(-2) for p in parts.unbind(-4))
        out = torch.stack([cos_re - sin_im, sin_re + cos_im], -3)
        return out.reshape(batch, *before, 2, modes * rest)

    def _complex_back(self, matrix: Tensor, f: Tensor, axis: int) -> Tensor:
        """Undo axis number `axis`: (B, 2, nodes before, modes, rest) -> the same with nodes in place of modes."""
        batch = len(f)
        before, size, modes = math.prod(self.shape[:axis]), self.shape[axis], self.modes[axis]
        f = f.reshape(batch, 2, before, modes, -1)
        parts = (matrix @ f).reshape(batch, 2, before, 2, size, -1)
        (re_cos, re_sin), (im_cos, im_sin) = (p.unbind(2) for p in parts.unbind(1))
        return torch.stack([re_cos - im_sin, re_sin + im_cos], 1)
