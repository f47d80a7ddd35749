"""A Fourier layer of many networks at once, with its derivatives written down.

The arithmetic is that of `gelu(spectral(u) + pointwise(u))`. What automatic differentiation would add to it are fields
that are written only to be summed: here products add into what is already there, which takes a third off a training
step of small networks. The derivatives are first ones in reverse mode; `SpectralConv` has all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


def fourier_layer(u: Tensor, bank: Tensor, weight: Tensor, bias: Tensor, transforms: Sequence[Tensor]) -> Tensor:
    """Fields `(M, *grid, B, C)` of fields like them, of M networks with their weights stacked.

    `bank` (M, *modes, C, C, 2) mixes the channels of every mode, `weight` (M, C, C) and `bias` (M, C) those of every
    node; `transforms` are the matrices of the axes into the spectrum and then those back, as `SpectralConv` has them.
    """
    return _FourierLayer.apply(u, bank, weight, bias, *transforms)


class _FourierLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u: Tensor, bank: Tensor, weight: Tensor, bias: Tensor, *transforms: Tensor) -> Tensor:
        axes = u.dim() - 3
        ahead, back = transforms[:axes], transforms[axes:]
        networks, (batch, width) = len(u), u.shape[-2:]
        modes = bank.shape[1 : 1 + axes]
        matrices = bank.reshape(-1, width, 2 * width)
        spectrum = _analysis(u, ahead, modes)
        z = torch.baddbmm(bias.unsqueeze(1), u.reshape(networks, -1, width), weight.mT)
        _add_synthesis(z, _mixed(spectrum, matrices), back, modes, u.shape[1 : 1 + axes])
        ctx.save_for_backward(u, spectrum, z, matrices, weight, *transforms)
        ctx.bank = bank.shape
        return F.gelu(z).view(networks, *u.shape[1 : 1 + axes], batch, width)

    @staticmethod
    @once_differentiable
    def backward(ctx, out: Tensor):
        u, spectrum, z, matrices, weight, *transforms = ctx.saved_tensors
        axes = u.dim() - 3
        networks, shape, width = len(u), u.shape[1 : 1 + axes], u.shape[-1]
        modes = ctx.bank[1 : 1 + axes]
        # the adjoint of a product with a matrix is one with its transpose: analysis and synthesis change places
        ahead, back = ([t.mT for t in part] for part in (transforms[:axes], transforms[axes:]))
        dz = torch.ops.aten.gelu_backward(out.reshape(z.shape), z)
        du = torch.bmm(dz, weight)
        d_weight, d_bias = torch.bmm(dz.mT, u.reshape(networks, -1, width)), dz.sum(1)
        re, im = _analysis(dz.view(u.shape), back, modes).unbind(1)
        d_parts = torch.stack([torch.stack([re, im], -1), torch.stack([im, -re], -1)], 1).view(len(re), -1, 2 * width)
        rows = spectrum.view(len(re), -1, width)
        d_bank = torch.bmm(rows.mT, d_parts).view(ctx.bank)
        d_spectrum = torch.bmm(d_parts, matrices.mT).view(spectrum.shape)
        _add_synthesis(du, d_spectrum, ahead, modes, shape)
        return du.view(u.shape), d_bank, d_weight, d_bias, *[None] * len(transforms)


def _analysis(u: Tensor, ahead: Sequence[Tensor], modes: Sequence[int]) -> Tensor:
    """The spectrum `(M * modes, 2, B, C)` of fields `(M, *grid, B, C)`."""
    networks, (batch, width) = len(u), u.shape[-2:]
    shape = u.shape[1:-2]
    for d in reversed(range(len(shape))):
        u = _along(ahead[d], u, networks * math.prod(shape[:d]))
    u = u.view(networks, modes[0], 2, -1, batch * width).transpose(2, 3)
    return u.reshape(-1, 2, batch, width)


def _mixed(spectrum: Tensor, matrices: Tensor) -> Tensor:
    """Every mode's complex product with its `(C, C)` matrix."""
    count, _, batch, width = spectrum.shape
    # (..., C, 2) read as one matrix with 2 C columns: all four real products at once
    parts = torch.bmm(spectrum.view(count, 2 * batch, width), matrices).view(count, 2, batch, width, 2)
    (re_re, re_im), (im_re, im_im) = (p.unbind(-1) for p in parts.unbind(1))
    return torch.stack([re_re - im_im, re_im + im_re], 1)


def _add_synthesis(
    z: Tensor, spectrum: Tensor, back: Sequence[Tensor], modes: Sequence[int], shape: Sequence[int]
) -> None:
    """Add the fields of a spectrum to `z` (M, nodes * B, C)."""
    networks, (batch, width) = len(z), spectrum.shape[-2:]
    u = spectrum.view(networks, modes[0], -1, 2, batch * width).transpose(2, 3)
    last = len(shape) - 1
    for d in range(last):
        u = _along(back[d], u, networks * math.prod(shape[:d]))
    lead = networks * math.prod(shape[:last])
    z = z.view(lead, shape[last], -1)
    z.baddbmm_(back[last].expand(lead, -1, -1), u.reshape(lead, back[last].shape[1], -1))


def _along(matrix: Tensor, u: Tensor, lead: int) -> Tensor:
    return torch.bmm(matrix.expand(lead, -1, -1), u.reshape(lead, matrix.shape[1], -1))
