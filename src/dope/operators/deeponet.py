"""DeepONet: a branch that reads the input function, a trunk that reads the place."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from dope.data import DataError, Grid
from dope.operators.base import Operator, whole
from dope.operators.linear import Linear


@dataclass(frozen=True)
class DeepONet(Operator):
    """`sum_l branch_l(a) trunk_l(x)`: can be asked at any point.

    `branch="sensors"` reads the values of all channels at all nodes. `branch="pooled"` is the smaller network of
    the published experiments: pointwise convolutions averaged over the grid, which forget where things are.
    """

    width: int = 32
    latent: int = 32
    branch: str = "sensors"

    def __post_init__(self) -> None:
        whole("DeepONet", width=self.width, latent=self.latent)
        if self.branch not in ("sensors", "pooled"):
            raise DataError(f"DeepONet: branch must be 'sensors' or 'pooled', got {self.branch!r}.")

    def core(self, grid: Grid, channels: int) -> nn.Module:
        if self.branch == "pooled":
            branch: nn.Module = _PooledBranch(grid, channels, self.width, self.latent)
        else:
            # the coordinate channels are the same for every unit
            branch = _SensorBranch(grid, channels - grid.ndim, self.width, self.latent)
        return _DeepONetCore(branch, grid, self.width, self.latent)


class _SensorBranch(nn.Module):
    def __init__(self, grid: Grid, channels: int, width: int, latent: int) -> None:
        super().__init__()
        self.ndim, self.channels = grid.ndim, channels
        self.first, self.second = Linear(grid.size * channels, width), Linear(width, width)
        self.last = Linear(width, latent)

    def forward(self, values: Tensor) -> Tensor:
        flat = values[..., : self.channels].flatten(-1 - self.ndim)
        return self.last(F.gelu(self.second(F.gelu(self.first(flat)))))


class _PooledBranch(nn.Module):
    def __init__(self, grid: Grid, channels: int, width: int, latent: int) -> None:
        super().__init__()
        self.ndim = grid.ndim
        self.lift = Linear(channels, width)
        self.blocks = nn.ModuleList(Linear(width, width) for _ in range(2))
        self.last = Linear(width, latent)

    def forward(self, values: Tensor) -> Tensor:
        h = self.lift(values.flatten(-1 - self.ndim, -2))
        for block in self.blocks:
            h = h + F.gelu(block(h))
        return self.last(h.mean(-2))


class _DeepONetCore(nn.Module):
    stacks = True

    def __init__(self, branch: nn.Module, grid: Grid, width: int, latent: int) -> None:
        super().__init__()
        self.shape = grid.shape
        self.trunk = nn.Sequential(
            Linear(grid.ndim, width), nn.GELU(), Linear(width, width), nn.GELU(), Linear(width, latent)
        )
        self.branch = branch

    def query(self, values: Tensor, places: Tensor) -> Tensor:
        return self.branch(values) @ self.trunk(places).mT

    def forward(self, values: Tensor, places: Tensor) -> Tensor:
        return self.query(values, places).unflatten(-1, self.shape)
