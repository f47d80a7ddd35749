"""The abstract operator, and the module that lets any architecture speak physical units."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dope.data import DataError, Grid

# softplus(_UNIT) = 1: a weight network whose output layer starts at zero starts at xi = 1.
_UNIT = math.log(math.e - 1)


def whole(operator: str, **sizes: int) -> None:
    """Raise unless every size is a whole number of at least 1."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not (isinstance(size, int) and size >= 1):
            raise DataError(f"{operator}: {name} must be a whole number of at least 1, got {size!r}.")


class Operator(ABC):
    """An immutable description of an architecture; `build` makes the network for a grid.

    The network's core receives standardised values with the coordinate channels appended, channels last, and
    the coordinates of the nodes: `core(values (B, *grid, C + d), places (nodes, d)) -> (B, *grid)`. A core with an
    attribute `stacks = True` is also asked with the weights of M networks stacked along a leading axis, which all of
    `values`, `places` and fields then have in front; any other is vectorised by `vmap`, which costs some time.
    """

    @abstractmethod
    def core(self, grid: Grid, channels: int) -> nn.Module:
        """The bare network, for `channels` input channels, coordinates included."""

    def build(self, grid: Grid, channels: int, *, positive: bool = False) -> FieldNet:
        """A network from `channels` input functions on `grid` to a field; `positive` for weights `xi > 0`."""
        return FieldNet(self.core(grid, channels + grid.ndim), grid, channels, positive=positive)


class FieldNet(nn.Module):
    """A core with its coordinate channels, its standardisation and its link.

    The shifts and scales are persistent buffers, so they travel with the weights and each of many stacked networks
    keeps its own; the coordinates are the grid's, and shared.
    """

    places: Tensor
    in_shift: Tensor
    in_scale: Tensor
    in_low: Tensor
    in_high: Tensor
    out_shift: Tensor
    out_scale: Tensor

    def __init__(self, core: nn.Module, grid: Grid, channels: int, *, positive: bool) -> None:
        super().__init__()
        self.core = core
        self.ndim = grid.ndim
        self.positive = positive
        places = torch.as_tensor(grid.points, dtype=torch.get_default_dtype())
        self.register_buffer("places", places, persistent=False)
        self.register_buffer("in_shift", torch.zeros(channels + grid.ndim))
        self.register_buffer("in_scale", torch.ones(channels + grid.ndim))
        self.register_buffer("in_low", torch.full((channels,), -torch.inf))
        self.register_buffer("in_high", torch.full((channels,), torch.inf))
        self.register_buffer("out_shift", torch.zeros(()))
        self.register_buffer("out_scale", torch.ones(()))
        if positive:
            # The last layer starts at zero: before training every weight is one, the uniform design's.
            last = [m for m in core.modules() if isinstance(m, nn.Linear)][-1]
            nn.init.zeros_(last.weight)
            if last.bias is not None:
                nn.init.zeros_(last.bias)

    @torch.no_grad()
    def standardise(self, inputs: Tensor, values: Tensor | None) -> None:
        """Take the scale of every channel from training inputs (n, C, *grid) and of the output from values.

        The channels' ranges are kept, too: what lies beyond them is later taken for their ends. Beyond what it was
        trained on a network may answer anything, and one unit of a heavy-tailed input would decide the estimate.
        """
        dims = (0, *range(2, inputs.dim()))
        mean, sd = inputs.mean(dims), inputs.std(dims, correction=0)
        self.in_low.copy_(inputs.amin(dims))
        self.in_high.copy_(inputs.amax(dims))
        place_dims = tuple(range(self.ndim))
        mean = torch.cat([mean, self.places.mean(place_dims)])
        sd = torch.cat([sd, self.places.std(place_dims, correction=0)])
        self.in_shift.copy_(mean)
        # a channel without variation carries no information; dividing by its rounding error would invent some
        self.in_scale.copy_(torch.where(sd > 1e-6 * (1 + mean.abs()), sd, 1.0))
        if values is not None:
            self.out_shift.copy_(values.mean())
            spread = values.std(correction=0)
            self.out_scale.copy_(torch.where(spread > 0, spread, torch.ones_like(spread)))

    @property
    def stacks(self) -> bool:
        """Whether stacked parameters and buffers, and inputs (M, B, C, *grid), can be put in as they are."""
        return getattr(self.core, "stacks", False)

    def forward(self, inputs: Tensor) -> Tensor:
        return self._link(self.core(self._channels(inputs), self._standard(self.places.flatten(0, -2))))

    def query(self, inputs: Tensor, points: Tensor) -> Tensor:
        """The field at any points (K, d), for cores that can be asked anywhere."""
        return self._link(self.core.query(self._channels(inputs), self._standard(points)))

    def _channels(self, inputs: Tensor) -> Tensor:
        """Standardised values with the coordinate channels, channels last."""

        def own(buffer: Tensor) -> Tensor:
            channels = _behind(buffer[..., : self.in_low.shape[-1]], 1, 1)
            return channels.reshape(*channels.shape, *[1] * self.ndim)

        values = (inputs.clamp(own(self.in_low), own(self.in_high)) - own(self.in_shift)) / own(self.in_scale)
        places = self._standard(self.places.flatten(0, -2)).mT.unflatten(-1, self.places.shape[:-1])
        places = places.unsqueeze(-2 - self.ndim)
        places = places.expand(*values.shape[: -1 - self.ndim], *places.shape[-1 - self.ndim :])
        return torch.cat([values, places], -1 - self.ndim).movedim(-1 - self.ndim, -1)

    def _standard(self, places: Tensor) -> Tensor:
        shift, scale = (_behind(v, 1, 1)[..., -self.ndim :] for v in (self.in_shift, self.in_scale))
        return (places - shift) / scale

    def _link(self, z: Tensor) -> Tensor:
        if self.positive:
            return F.softplus(z + _UNIT)
        rows = z.dim() - self.out_scale.dim()
        return z * _behind(self.out_scale, rows) + _behind(self.out_shift, rows)


def _behind(buffer: Tensor, rows: int, own: int = 0) -> Tensor:
    """A buffer, stacked or not, with room for `rows` axes before its last `own` ones."""
    stacked = buffer.dim() - own
    return buffer.reshape(*buffer.shape[:stacked], *[1] * rows, *buffer.shape[stacked:])
