"""The named integral functionals, each with the derivative of its integrand in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dope.data import DataError, Grid
from dope.functionals.base import positive
from dope.functionals.integral import Integral, coordinates


class Mean(Integral):
    """The mean of the field over the domain: the AUC divided by the length of the domain."""

    def __init__(self, *, name: str = "mean") -> None:
        self.name, self.units = name, "u"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return u

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return torch.ones_like(u)


class AUC(Integral):
    """The integral of the field over the domain, in units of u times x."""

    def __init__(self, *, name: str = "AUC") -> None:
        self.name, self.units = name, "u·x"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return grid.measure * u

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return torch.full_like(u, grid.measure)


class TimeAbove(Integral):
    """The share of the domain where the field exceeds a threshold, smoothed by a logistic of given sharpness.

    The transition from 5 % to 95 % takes 5.9 / sharpness units of the field.
    """

    def __init__(self, threshold: float, sharpness: float, *, name: str | None = None) -> None:
        self.threshold = float(threshold)
        self.sharpness = positive(sharpness, "sharpness")
        self.name, self.units = name or f"time above {threshold:g}", "1"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return torch.sigmoid(self.sharpness * (u - self.threshold))

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        s = torch.sigmoid(self.sharpness * (u - self.threshold))
        return self.sharpness * s * (1 - s)


class TimeBelow(Integral):
    """The share of the domain where the field lies below a threshold, smoothed as in `TimeAbove`."""

    def __init__(self, threshold: float, sharpness: float, *, name: str | None = None) -> None:
        self.threshold = float(threshold)
        self.sharpness = positive(sharpness, "sharpness")
        self.name, self.units = name or f"time below {threshold:g}", "1"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return torch.sigmoid(self.sharpness * (self.threshold - u))

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        s = torch.sigmoid(self.sharpness * (self.threshold - u))
        return -self.sharpness * s * (1 - s)


class TimeInRange(Integral):
    """The share of the domain where the field lies between two thresholds, smoothed at both.

    Unless given, the sharpness lets each edge take a twentieth of the range.
    """

    def __init__(self, low: float, high: float, sharpness: float | None = None, *, name: str | None = None) -> None:
        if not low < high:
            raise DataError(f"TimeInRange needs low < high, got {low} and {high}.")
        self.low, self.high = float(low), float(high)
        self.sharpness = positive(sharpness if sharpness is not None else 120.0 / (high - low), "sharpness")
        self.name, self.units = name or f"time in {low:g}-{high:g}", "1"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return torch.sigmoid(self.sharpness * (u - self.low)) - torch.sigmoid(self.sharpness * (u - self.high))

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        a = torch.sigmoid(self.sharpness * (u - self.low))
        b = torch.sigmoid(self.sharpness * (u - self.high))
        return self.sharpness * (a * (1 - a) - b * (1 - b))


class ExcessAbove(Integral):
    """The mean of the part of the field above a threshold, smoothed by a softplus."""

    def __init__(self, threshold: float, sharpness: float, *, name: str | None = None) -> None:
        self.threshold = float(threshold)
        self.sharpness = positive(sharpness, "sharpness")
        self.name, self.units = name or f"excess above {threshold:g}", "u"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        # logaddexp has no threshold beyond which it turns linear, as torch's softplus has
        z = self.sharpness * (u - self.threshold)
        return torch.logaddexp(z, torch.zeros_like(z)) / self.sharpness

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return torch.sigmoid(self.sharpness * (u - self.threshold))


class Energy(Integral):
    """The mean of the squared field."""

    def __init__(self, *, name: str = "energy") -> None:
        self.name, self.units = name, "u²"

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return u**2

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return 2 * u


class TrackingError(Integral):
    """The mean squared distance of the field from a reference: a number, or a function of the coordinates."""

    def __init__(self, reference: float | Callable[[Tensor], Tensor], *, name: str = "tracking error") -> None:
        self._reference = reference
        self.name, self.units = name, "u²"

    def _error(self, u: Tensor, x: Tensor) -> Tensor:
        return u - (self._reference(x) if callable(self._reference) else self._reference)

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return self._error(u, x) ** 2

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return 2 * self._error(u, x)


class PointValue(Integral):
    """The field near one place: its mean under a Gaussian window of standard deviation `width`."""

    def __init__(self, place: float | ArrayLike, width: float | ArrayLike, *, name: str | None = None) -> None:
        self.place = np.atleast_1d(np.asarray(place, dtype=np.float64))
        self.width = np.broadcast_to(np.asarray(width, dtype=np.float64), self.place.shape).copy()
        if not np.isfinite(self.place).all():
            raise DataError(f"PointValue: place must be finite, got {place}.")
        if not (np.isfinite(self.width).all() and (self.width > 0).all()):
            raise DataError(f"PointValue: width must be positive, got {width}.")
        at = ", ".join(f"{p:g}" for p in self.place)
        self.name, self.units = name or f"value at {at}", "u"

    def _window(self, x: Tensor, d: int) -> Tensor:
        place = torch.as_tensor(self.place, dtype=x.dtype, device=x.device)
        width = torch.as_tensor(self.width, dtype=x.dtype, device=x.device)
        z = (x[..., None] if d == 1 else x) - place
        return torch.exp(-0.5 * ((z / width) ** 2).sum(-1))

    def _kernel(self, x: Tensor, grid: Grid) -> Tensor:
        if len(self.place) != grid.ndim:
            raise DataError(f"{self.name!r} has {len(self.place)} coordinate(s), the grid has {grid.ndim}.")
        nodes = coordinates(grid, x)
        weights = torch.as_tensor(grid.weights, dtype=x.dtype, device=x.device)
        mass = (self._window(nodes, grid.ndim) * weights).sum()
        if mass < 1e-12:
            raise DataError(
                f"{self.name!r}: no node within reach of width {self.width.tolist()}: widen it or refine the grid."
            )
        return self._window(x, grid.ndim) / mass

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return u * self._kernel(x, grid)

    def slope(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        return self._kernel(x, grid).expand_as(u)
