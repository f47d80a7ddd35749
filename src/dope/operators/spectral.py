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
    axis: Axis, modes: int, signed: bool, first: bool, last: bool, period: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The transform along one axis and its inverse as real matrices, which act on real and imaginary parts at once.

    What comes in and goes out has its two parts beside the axis: before the modes, but behind those of the first
    axis, and behind the nodes. Along the last axis the nodes hold real values.
    """
    k = frequencies(modes, signed=signed)
    ahead, back = (_real(matrix) for matrix in transform(axis, k, period))  # (2, modes, 2, nodes), (2, nodes, 2, modes)
    if last:  # the field is real: half of the spectrum holds it all
        twice = np.where((k == 0) | ((2 * k == len(axis.nodes)) & (period == 1 or axis.kind == "periodic")), 1.0, 2.0)
        ahead, back = ahead[:, :, :1], back[:1] * twice
    ahead, back = ahead.swapaxes(2, 3), back.swapaxes(0, 1)
    if first:
        ahead, back = ahead.swapaxes(0, 1), back.swapaxes(2, 3)
    flat = lambda m: m.reshape(m.shape[0] * m.shape[1], -1)  # noqa: E731
    return torch.as_tensor(flat(ahead), dtype=dtype), torch.as_tensor(flat(back), dtype=dtype)


def _real(matrix: np.ndarray) -> np.ndarray:
    """A complex matrix (rows, columns) as a real one from parts to parts, (2, rows, 2, columns)."""
    return np.stack([np.stack([matrix.real, -matrix.imag], 1), np.stack([matrix.imag, matrix.real], 1)])


class SpectralConv(nn.Module):
    """`(B, *grid, C) -> (B, *grid, C)`: keep the chosen modes, mix their channels, go back."""

    def __init__(self, grid: Grid, width: int, modes: tuple[int, ...], *, signed: bool, period: float = 1.0) -> None:
        super().__init__()
        self.shape, self.modes, self.width = grid.shape, modes, width
        scale = 1 / (width * width)
        self.weight = nn.Parameter(scale * torch.randn(*modes, width, width, 2))
        for d, axis in enumerate(grid.axes):
            last = d == grid.ndim - 1
            ahead, back = _matrices(
                axis, modes[d], signed and not last, d == 0, last, period, torch.get_default_dtype()
            )
            self.register_buffer(f"ahead{d}", ahead, persistent=False)
            self.register_buffer(f"back{d}", back, persistent=False)

    def forward(self, u: Tensor) -> Tensor:
        return self.mix(u.unsqueeze(0).movedim(1, -2)).movedim(-2, 1).squeeze(0)

    def mix(self, u: Tensor) -> Tensor:
        """The same with the units behind the grid and for M networks at once: `(M, *grid, B, C)`, with their weights
        stacked. In this order each transform is one product from the left, and nothing moves in between.
        """
        networks, batch, width = len(u), u.shape[-2], self.width
        axes, count = range(len(self.shape)), networks * math.prod(self.modes)
        shape = u.shape
        for d in reversed(axes):
            u = self._along(d, getattr(self, f"ahead{d}"), u, networks)
        # first modes, 2, other modes -> modes, 2: no copy where there are no others
        u = u.view(networks, self.modes[0], 2, -1, batch * width).transpose(2, 3).reshape(count, 2 * batch, width)
        # (..., C, 2) read as one matrix with 2 C columns: all four real products at once, and no copy of the weights
        parts = torch.bmm(u, self.weight.reshape(count, width, 2 * width)).view(count, 2, batch, width, 2)
        (re_re, re_im), (im_re, im_im) = (p.unbind(-1) for p in parts.unbind(1))
        u = torch.stack([re_re - im_im, re_im + im_re], 1)
        u = u.view(networks, self.modes[0], -1, 2, batch * width).transpose(2, 3)
        for d in axes:
            u = self._along(d, getattr(self, f"back{d}"), u, networks)
        return u.view(shape)

    def _along(self, d: int, matrix: Tensor, u: Tensor, networks: int) -> Tensor:
        u = u.reshape(networks * math.prod(self.shape[:d]), matrix.shape[1], -1)
        return torch.bmm(matrix.expand(len(u), -1, -1), u)
