"""The tensors of the data that a loss reads, one row a unit."""

from __future__ import annotations

import torch
from torch import Tensor

from dope.data import OperatorData


def observation_tensors(data: OperatorData) -> dict[str, Tensor]:
    """inputs; index and weight of the interpolation to the points; values; and the share 1/K of each point.

    Padding has share zero, so sums over points weighted by `share` are means over the observed ones.
    """
    share = data.observed / data.counts.clip(min=1)[:, None]
    return {
        "inputs": torch.as_tensor(data.inputs),
        "index": torch.as_tensor(data.stencil.index),
        "weight": torch.as_tensor(data.stencil.weight, dtype=torch.float32),
        "values": torch.nan_to_num(torch.as_tensor(data.values, dtype=torch.float32)),
        "share": torch.as_tensor(share, dtype=torch.float32),
    }
