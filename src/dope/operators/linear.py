"""A linear layer of one network, or of many."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Linear):
    """`(..., in) -> (..., out)`; with stacked weights (M, out, in) for M inputs, `(M, ..., in) -> (M, ..., out)`."""

    def forward(self, u: Tensor) -> Tensor:
        if self.weight.dim() == 2:
            return F.linear(u, self.weight, self.bias)
        rows = u.reshape(len(u), -1, u.shape[-1])
        return torch.baddbmm(self.bias.unsqueeze(1), rows, self.weight.mT).view(*u.shape[:-1], -1)
