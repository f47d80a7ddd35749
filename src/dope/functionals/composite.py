"""Functionals built from functionals: linear combinations, products, ratios, restrictions to a region."""

from __future__ import annotations

import operator

import numpy as np
import torch
from torch import Tensor

from dope.data import DataError, Grid
from dope.functionals.base import Functional, Region
from dope.functionals.integral import Integral, indicator, inside

_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def combine(sign: str, left: Functional | float, right: Functional | float) -> Functional:
    """`left sign right`. Linear combinations of integrals stay integrals, and keep the exact correction."""
    for part in (left, right):
        if not isinstance(part, (Functional, int, float, np.number)):
            raise DataError(f"a functional combines with functionals and numbers, not with {type(part).__name__}.")
    left, right = (p if isinstance(p, Functional) else float(p) for p in (left, right))
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

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        left, right = (p(u, grid) if isinstance(p, Functional) else p for p in (self._left, self._right))
        return _SIGNS[self._sign](left, right)


class _IntegralCombination(_Combination, Integral):
    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        # a number is its own mean, because the weights sum to one
        left, right = (p.integrand(u, x, grid) if isinstance(p, Integral) else p for p in (self._left, self._right))
        return _SIGNS[self._sign](left, right)


def restrict(g: Functional, region: Region) -> Functional:
    """`g` under the measure conditioned on a region; an integral stays an integral."""
    return _IntegralWithin(g, region) if isinstance(g, Integral) else _Within(g, region)


class _Within(Functional):
    def __init__(self, g: Functional, region: Region) -> None:
        self._g, self._region = g, region
        self.name, self.units = f"{g.name} within region", g.units

    @property
    def confined_to(self) -> Region:
        inner = self._g.confined_to
        return self._region if inner is None else lambda x: np.asarray(inner(x)) & np.asarray(self._region(x))

    def __call__(self, u: Tensor, grid: Grid) -> Tensor:
        return self._g(u, grid.restricted(indicator(self._region, grid)))


class _IntegralWithin(_Within, Integral):
    def integrand(self, u: Tensor, x: Tensor, grid: Grid) -> Tensor:
        part = grid.restricted(indicator(self._region, grid))
        held = inside(self._region, x.detach().cpu().numpy(), grid.ndim)
        # part.measure / grid.measure is the share of the domain that the region holds
        share = torch.as_tensor(held * (grid.measure / part.measure), dtype=u.dtype, device=u.device)
        return self._g.integrand(u, x, part) * share
