"""The Fourier neural operator, in one, two and three dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from dope.data import DataError, Grid
from dope.operators.base import Operator, whole
from dope.operators.linear import Linear
from dope.operators.spectral import SpectralConv


@dataclass(frozen=True)
class FNO(Operator):
    """Lift, `layers` times GELU(spectral + pointwise), project.

    Parameters
    ----------
    width : hidden channels.
    modes : kept frequencies per axis, exactly as many as asked for; by default 12 in 1-D and 8 else, at most a quarter
        of the nodes: sparse points do not tell more.
    layers : Fourier layers.
    signed : in 2-D and 3-D, centre the frequencies of all axes but the last at zero instead of keeping 0, 1, ...
        only.
    period : length after which the waves repeat, in lengths of the domain, along axes that are not periodic
        themselves. With 1 the ends of the domain are neighbours, as in a plain FNO without padding.
    """

    width: int = 32
    modes: int | tuple[int, ...] | None = None
    layers: int = 3
    signed: bool = False
    period: float = 1.1

    def __post_init__(self) -> None:
        whole("FNO", width=self.width, layers=self.layers)
        if not self.period >= 1:
            raise DataError(f"FNO: period must be at least 1, got {self.period}.")

    def kept(self, grid: Grid) -> tuple[int, ...]:
        """The number of modes kept along each axis of `grid`."""
        if self.modes is None:
            most = 12 if grid.ndim == 1 else 8
            return tuple(max(1, min(most, n // 4)) for n in grid.shape)
        modes = (self.modes,) * grid.ndim if isinstance(self.modes, int) else tuple(self.modes)
        if len(modes) != grid.ndim:
            raise DataError(f"FNO: {len(modes)} numbers of modes for a grid of {grid.ndim} dimension(s).")
        for d, (m, n) in enumerate(zip(modes, grid.shape, strict=True)):
            most = n // 2 + 1 if d == grid.ndim - 1 else n
            if not 1 <= m <= most:
                raise DataError(f"FNO: {m} modes along axis {d}, but {n} nodes hold 1 to {most}.")
        return modes

    def core(self, grid: Grid, channels: int) -> nn.Module:
        if grid.ndim > 3:
            raise DataError(f"FNO works in 1, 2 and 3 dimensions, the grid has {grid.ndim}.")
        return _FNOCore(grid, channels, self.width, self.kept(grid), self.layers, self.signed, self.period)


class _FNOCore(nn.Module):
    stacks = True

    def __init__(
        self, grid: Grid, channels: int, width: int, modes: tuple[int, ...], layers: int, signed: bool, period: float
    ) -> None:
        super().__init__()
        self.lift = Linear(channels, width)
        self.spectral = nn.ModuleList(
            SpectralConv(grid, width, modes, signed=signed, period=period) for _ in range(layers)
        )
        self.pointwise = nn.ModuleList(Linear(width, width) for _ in range(layers))
        self.hidden = Linear(width, width)
        self.out = Linear(width, 1)

    def forward(self, values: Tensor, places: Tensor) -> Tensor:
        if places.dim() == 2:  # one network, whose weights are not stacked: M = 1
            return self._fields(values.unsqueeze(0)).squeeze(0)
        return self._fields(values)

    def _fields(self, values: Tensor) -> Tensor:
        u = self.lift(values.movedim(1, -2))  # the units behind the grid, as the transforms want them
        for spectral, pointwise in zip(self.spectral, self.pointwise, strict=True):
            u = F.gelu(spectral.mix(u) + pointwise(u))
        return self.out(F.gelu(self.hidden(u))).squeeze(-1).movedim(-1, 1)
