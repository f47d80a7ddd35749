"""Smooth maxima and minima."""

from __future__ import annotations

import torch
from torch import Tensor

from dope.data import Grid
from dope.functionals.base import Functional, positive


class SoftMax(Functional):
    """`log(int exp(lam * u) dmu) / lam`: tends to the maximum from below as `lam` grows."""

    def __init__(self, sharpness: float, *, name: str | None = None) -> None:
        self.sharpness = positive(sharpness, "sharpness")
        self.name, self.units = name or "soft maximum", "u"

    def _terms(self, u: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        weights = torch.as_tensor(grid.weights, dtype=u.dtype, device=u.device)
        terms = self.sharpness * u + weights.log()
        return terms, torch.logsumexp(terms, dim=tuple(range(-grid.ndim, 0)), keepdim=True)

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        return self._terms(u, grid)[1].reshape(u.shape[: u.dim() - grid.ndim]) / self.sharpness

    def representer(self, u: Tensor, grid: Grid) -> Tensor:
        total = self._terms(u, grid)[1]
        inside = torch.as_tensor(grid.weights > 0, device=u.device)
        return torch.exp(self.sharpness * u - total) * inside


class SoftMin(Functional):
    """`-log(int exp(-lam * u) dmu) / lam`: tends to the minimum from above as `lam` grows."""

    def __init__(self, sharpness: float, *, name: str | None = None) -> None:
        self._mirror = SoftMax(sharpness)
        self.sharpness = self._mirror.sharpness
        self.name, self.units = name or "soft minimum", "u"

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        return -self._mirror(-u, grid)

    def representer(self, u: Tensor, grid: Grid) -> Tensor:
        return self._mirror.representer(-u, grid)
