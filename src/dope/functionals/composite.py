"""Functionals built from functionals: linear combinations, products, ratios, restrictions to a region."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, Grid
from dope.functionals.base import Functional
from dope.functionals.integral import Integral, indicator

_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def combine(sign: str, left: Functional | float, right: Functional | float) -> Functional:
    """`left sign right`. Linear combinations of integrals stay integrals, and keep the exact correction."""
    for part in (left, right):
        if not isinstance(part, (Functional, int, float, np.number)):
            raise DataError(f"a functional combines with functionals and numbers, not with {type(part).__name__}.")
    numbers = [not isinstance(p, Functional) for p in (left, right)]
    integrals = [isinstance(p, Integral) or number for p, number in zip((left, right), numbers, strict=True)]
    linear = sign in "+-" or (sign == "*" and any(numbers)) or (sign == "/" and numbers[1])
    if linear and all(integrals):
        return _IntegralCombination(sign, left, right)
    return _Combination(sign, left, right)


def _label(part: Functional | float) -> str:
    if not isinstance(part, Functional):
        return f"{part:g}"
    return f"({part.name})" if any(f" {s} " in part.name for s in _SIGNS) else part.name


def _units(sign: str, left: Functional | float, right: Functional | float) -> str:
    if not isinstance(left, Functional):
        return right.units if sign != "/" else f"1/({right.units})"  # type: ignore[union-attr]
    if not isinstance(right, Functional) or sign in "+-":
        return left.units
    if sign == "/":
        return "1" if left.units == right.units else f"({left.units})/({right.units})"
    return f"({left.units})·({right.units})"


class _Combination(Functional):
    def __init__(self, sign: str, left: Functional | float, right: Functional | float) -> None:
        self._sign, self._left, self._right = sign, left, right
        self.name = f"{_label(left)} {sign} {_label(right)}"
        self.units = _units(sign, left, right)

    def _value(self, part: Functional | float, u: Tensor, grid: Grid) -> Tensor | float:
        return part(u, grid) if isinstance(part, Functional) else part

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        return _SIGNS[self._sign](self._value(self._left, u, grid), self._value(self._right, u, grid))


class _IntegralCombination(Integral):
    def __init__(self, sign: str, left: Integral | float, right: Integral | float) -> None:
        self._sign, self._left, self._right = sign, left, right
        self.name = f"{_label(left)} {sign} {_label(right)}"
        self.units = _units(sign, left, right)

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        parts = [p.integrand(u, x, grid) if isinstance(p, Integral) else torch.as_tensor(p, dtype=u.dtype, device=u.device)
                 for p in (self._left, self._right)]
        return _SIGNS[self._sign](*parts)


@dataclass(frozen=True)
class _Region:
    """A region, and whether points and nodes lie in it."""

    inside: Callable

    def mask(self, x: Tensor, d: int) -> Tensor:
        flat = x.detach().cpu().numpy()
        shape = x.shape if d == 1 else x.shape[:-1]
        held = np.broadcast_to(np.asarray(self.inside(flat), dtype=bool), shape)
        return torch.as_tensor(held.copy(), device=x.device)


def Within(g: Functional, region: Callable) -> Functional:
    """`g` under the measure conditioned on a region; an integral stays an integral."""
    return _IntegralWithin(g, region) if isinstance(g, Integral) else _Within(g, region)


class _Within(Functional):
    def __init__(self, g: Functional, region: Callable) -> None:
        self._g, self._region = g, region
        self.name, self.units = f"{g.name} within region", g.units

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        return self._g(u, grid.restricted(indicator(self._region, grid)))


class _IntegralWithin(Integral):
    def __init__(self, g: Integral, region: Callable) -> None:
        self._g, self._region = g, _Region(region)
        self.name, self.units = f"{g.name} within region", g.units

    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        inside = indicator(self._region.inside, grid)
        part = grid.restricted(inside)
        mass = float((grid.weights * inside).sum())
        return self._g.integrand(u, x, part) * self._region.mask(x, grid.ndim) / mass
