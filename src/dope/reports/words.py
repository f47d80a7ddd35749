"""Functionals and units in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dope import functionals as fn
from dope.data import DataError, Grid
from dope.functionals import Functional
from dope.functionals.base import representers
from dope.inference.tables import _num as number  # a page shows the digits that summary() shows
from dope.inference.tables import _p as probability

__all__ = ["Asked", "ask", "domain", "listed", "number", "probability"]

# A logistic of sharpness s passes from 5 % to 95 % within 2 log(19) / s.
_HALF_EDGE = float(np.log(19))


@dataclass(frozen=True)
class Asked:
    """One functional in words. `linear` is None where it is not known."""

    name: str
    words: str
    units: str | None
    linear: bool | None


def ask(name: str, g: Functional | None, fields: np.ndarray | None, grid: Grid | None) -> Asked:
    """`g` in words; a few fields `(n, *grid)` decide whether it is linear."""
    if g is None or grid is None or fields is None:
        return Asked(name, "computed from scores that carry no functional", None, None)
    return Asked(name, _words(g, grid), "no unit" if g.units == "1" else g.units, _linear(g, fields, grid))


def domain(grid: Grid) -> str:
    return " × ".join(f"[{a.lower:g}, {a.upper:g}]" for a in grid.axes)


def listed(names: Sequence[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _words(g: Functional, grid: Grid) -> str:
    match g:
        case fn.Mean():
            return "mean of the field over the domain"
        case fn.AUC():
            return "integral of the field over the domain"
        case fn.TimeAbove():
            return f"share of the domain where the field exceeds {g.threshold:g}{_edge(g.sharpness)}"
        case fn.TimeBelow():
            return f"share of the domain where the field lies below {g.threshold:g}{_edge(g.sharpness)}"
        case fn.TimeInRange():
            return f"share of the domain where the field lies between {g.low:g} and {g.high:g}{_edge(g.sharpness)}"
        case fn.ExcessAbove():
            return (
                f"mean over the domain of the field's part above {g.threshold:g} "
                f"(smoothed by a softplus of sharpness {g.sharpness:g})"
            )
        case fn.Energy():
            return "mean of the squared field over the domain"
        case fn.TrackingError():
            return "mean squared distance of the field from its reference over the domain"
        case fn.PointValue():
            place, width = (", ".join(f"{v:g}" for v in w) for w in (g.place, g.width))
            return f"value of the field near ({place}): its mean under a Gaussian window of width {width}"
        case fn.SoftMax():
            return f"smooth maximum of the field: log-mean-exp of sharpness {g.sharpness:g}, below the maximum"
        case fn.SoftMin():
            return f"smooth minimum of the field: log-mean-exp of sharpness {g.sharpness:g}, above the minimum"
        case fn.Flux():
            where = f"across the {g.boundary} face" if g.boundary else ("through a region" if g.region else "")
            return f"mean flux density −k ∂u/∂x of the field along axis {g.axis} {where}".rstrip()
        case fn.Integral():
            return f"mean over the domain of a function of the field: {g.name}"
        case _:
            return f"scalar summary of the field: {g.name}"


def _edge(sharpness: float) -> str:
    return f" (smoothed: counted from 5 % to 95 % within ±{_HALF_EDGE / sharpness:.2g} of a threshold)"


def _linear(g: Functional, fields: np.ndarray, grid: Grid) -> bool:
    """Whether the derivative is the same at fields far from one another, as for an affine functional only."""
    size = np.abs(fields).max() or 1.0
    try:
        w = representers(g, np.concatenate([fields, 3 * fields + size, -fields]), grid)
    except DataError:  # not defined at these fields, as a logarithm below zero
        return False
    return bool(np.abs(w - w[:1]).max() <= 1e-8 * max(np.abs(w).max(), 1e-300))
