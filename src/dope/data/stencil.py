"""Multilinear interpolation with everything that does not depend on the field computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Stencil:
    """Nodes and weights that turn a field on a grid into its values at points.

    `index` holds flat node numbers and `weight` their shares; both are `(..., corners)`. Points that lie on
    nodes need one corner, others up to `2 ** d`.
    """

    index: np.ndarray
    weight: np.ndarray

    def __call__(self, field: np.ndarray) -> np.ndarray:
        """Values at the points of fields `(n, *grid)`, for a stencil `(n, K, corners)`."""
        flat = field.reshape(field.shape[0], -1)
        corners = np.take_along_axis(flat, self.index.reshape(len(flat), -1).astype(np.int64), axis=1)
        return (corners.reshape(self.index.shape) * self.weight).sum(-1)


def interpolate(field: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """Values of `field` (batch, nodes) at the points of a stencil (batch, K, corners).

    Plain gather and sum: it works under `vmap`, `jvp` and `grad`, and is linear in `field`.
    """
    corners = torch.gather(field, -1, index.flatten(-2)).unflatten(-1, index.shape[-2:])
    return (corners * weight).sum(-1)
