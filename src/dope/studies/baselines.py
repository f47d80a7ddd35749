"""What a user would do without an operator: every unit by itself, from its own observations.

Each baseline but one draws a curve through every unit's points, of which any functional is taken:

trapezoid : straight lines between the unit's points, as non-compartmental analysis draws them.
spline : a shape-preserving cubic (PCHIP) through the unit's points. It needs two points and no tuning, and stays
    between neighbouring observations; a smoothing spline needs five points and one smoothness for the whole curve,
    which cannot be right both where a dose begins and where it washes out.
gp : the posterior mean of a Gaussian process, with hyperparameters that all units share.
weighted : no curve, but `1/K sum xi(X_k) phi(Y_k)` for `g(u) = int phi(u(x), x) dmu`, with the known design.
    Unbiased but for the noise, and the only one that is not confined to one coordinate.

Curves are constant before a unit's first and after its last point ("gp": return to the mean of all units), unless
the grid is periodic. Several values at one place count as their mean. A unit without observations has no curve and
no value (NaN), and is to be left out of the mean over units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize

from dope.data import DataError, Grid, OperatorData
from dope.data.grid import Axis
from dope.functionals import Functional, Integral
from dope.functionals.base import evaluate

# Hyperparameters are fitted to at most so many units, spread over the data: more would not change them visibly.
_UNITS_FITTED = 256
# Bounds on the noise variance over the signal's. The lower one is what keeps close points solvable in float64.
_RATIO = (1e-8, 1e2)
# Numbers of a stack of covariance matrices that is worked on at once: 128 MB.
_NUMBERS_AT_ONCE = 2**24


def trapezoid(data: OperatorData) -> np.ndarray:
    """Curves `(n, nodes)`."""
    return _unit_by_unit("trapezoid", data, np.interp)


def spline(data: OperatorData) -> np.ndarray:
    """Curves `(n, nodes)`."""
    return _unit_by_unit("spline", data, _pchip)


def gp(data: OperatorData) -> np.ndarray:
    """Curves `(n, nodes)`."""
    return _of_observed("gp", data, lambda seen: posterior_mean(seen, fit_process(seen)))


def of_curves(g: Functional, curves: np.ndarray, grid: Grid) -> np.ndarray:
    """The functional's value of each curve, `(n,)`."""
    out = np.full(len(curves), np.nan)
    drawn = np.isfinite(curves).all(axis=1)
    out[drawn] = evaluate(g, curves[drawn], grid)
    return out


def weighted(data: OperatorData, g: Functional) -> np.ndarray:
    """Values `(n,)`."""
    if not isinstance(g, Integral):
        raise DataError(
            f"baseline 'weighted' averages phi(Y), and {g.name!r} is no integral of phi(u(x), x): use another baseline."
        )
    if data.design is None:
        raise DataError("baseline 'weighted' needs a known design: pass design= to OperatorData.")
    seen = data.observed
    if not seen.any():
        return np.full(len(data), np.nan)
    xi = data.stencil(data.design.inverse_weight(data.grid, data.counts))
    # padding gets a value and a place at which any phi is defined, and weighs nothing
    places = np.where(seen[..., None], data.points, data.grid.points.reshape(-1, data.grid.ndim)[0])
    values = np.where(seen, data.values, data.values[seen][0])
    x = torch.as_tensor(places[..., 0] if data.grid.ndim == 1 else places)
    phi = g.integrand(torch.as_tensor(values), x, data.grid).numpy()
    total = np.where(seen, xi * phi, 0.0).sum(1)
    return np.divide(total, data.counts, out=np.full(len(data), np.nan), where=data.counts > 0)


CURVES: dict[str, Callable[[OperatorData], np.ndarray]] = {"trapezoid": trapezoid, "spline": spline, "gp": gp}
BASELINES = (*CURVES, "weighted")


def _of_observed(name: str, data: OperatorData, draw: Callable[[OperatorData], np.ndarray]) -> np.ndarray:
    if data.grid.ndim > 1:
        raise DataError(
            f"baseline {name!r} draws curves over one coordinate, and this grid has {data.grid.ndim}: of them, "
            "'weighted' alone works here."
        )
    out = np.full((len(data), data.grid.size), np.nan)
    seen = data.counts > 0
    if seen.any():
        out[seen] = draw(data.take(seen))
    return out


def _unit_by_unit(
    name: str, data: OperatorData, draw: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    axis = data.grid.axes[0]
    return _of_observed(
        name, data, lambda seen: np.stack([draw(axis.nodes, *_points(seen, i, axis)) for i in range(len(seen))])
    )


def _points(data: OperatorData, unit: int, axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Increasing places and their values; on a circle, also one round before and one after."""
    seen = data.observed[unit]
    places, values = data.points[unit, seen, 0], data.values[unit, seen]
    length = axis.upper - axis.lower
    if axis.kind == "periodic":
        places = (places - axis.lower) % length + axis.lower  # both ends are one place
    x, at = np.unique(places, return_inverse=True)
    y = np.bincount(at, values) / np.bincount(at)
    if axis.kind == "periodic":
        x, y = np.concatenate([x - length, x, x + length]), np.tile(y, 3)
    return x, y


def _pchip(nodes: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if len(x) == 1:
        return np.full(len(nodes), y[0])
    return PchipInterpolator(x, y)(np.clip(nodes, x[0], x[-1]))


# ---- Gaussian processes -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Process:
    """A Matern-3/2 process about a constant, observed with noise of variance `ratio` times the signal's.

    Its paths have one derivative: solutions of equations whose right side jumps have no more.
    """

    mean: float
    length: float
    ratio: float


def fit_process(data: OperatorData) -> Process:
    """The hyperparameters of largest marginal likelihood over all units; mean and variance have closed forms."""
    every = -(-len(data) // _UNITS_FITTED)
    data = data.take(np.arange(0, len(data), every))
    axis = data.grid.axes[0]
    length = axis.upper - axis.lower
    # from half a cell, below which nothing can be told from noise, to a curve that is straight on the whole domain
    bounds = [(np.log(length / (2 * len(axis.nodes))), np.log(10 * length)), tuple(np.log(_RATIO))]
    # coarse first: the likelihood may have one maximum that calls the signal noise
    lengths = np.clip(np.log(length * np.array([0.03, 0.1, 0.3, 1.0])), *bounds[0])
    starts = [(a, b) for a in lengths for b in np.log([1e-6, 1e-3, 0.1])]
    best = min(starts, key=lambda p: _deviance(data, *np.exp(p))[0])
    found = minimize(
        lambda p: _deviance(data, *np.exp(p))[0],
        best,
        method="Nelder-Mead",
        bounds=bounds,
        options={"xatol": 0.02, "fatol": 0.05, "maxfev": 120},
    )
    length, ratio = (float(v) for v in np.exp(found.x))
    return Process(_deviance(data, length, ratio)[1], length, ratio)


def _deviance(data: OperatorData, length: float, ratio: float) -> tuple[float, float]:
    """-2 log likelihood, but for a constant, at the best mean and variance; and that mean."""
    count, logdet, ones, cross, squares = int(data.counts.sum()), 0.0, 0.0, 0.0, 0.0
    for part in _pieces(data):
        unit = data.take(part)
        root = np.linalg.cholesky(_covariance(unit, length, ratio))
        seen = unit.observed.astype(np.float64)
        white = np.linalg.solve(root, np.stack([seen, np.where(unit.observed, unit.values, 0.0)], axis=-1))
        logdet += 2 * float(np.log(np.diagonal(root, axis1=1, axis2=2)).sum())
        ones += float((white[..., 0] ** 2).sum())
        cross += float((white[..., 0] * white[..., 1]).sum())
        squares += float((white[..., 1] ** 2).sum())
    mean = cross / ones
    variance = max((squares - mean * cross) / count, np.finfo(float).tiny)
    return count * float(np.log(variance)) + logdet, mean


def posterior_mean(data: OperatorData, process: Process) -> np.ndarray:
    """`m + k(x, X) (k(X, X) + noise)^-1 (Y - m)` on the grid, `(n, nodes)`."""
    axis = data.grid.axes[0]
    out = np.empty((len(data), len(axis.nodes)))
    for part in _pieces(data):
        unit = data.take(part)
        residual = np.where(unit.observed, unit.values - process.mean, 0.0)
        solved = np.linalg.solve(_covariance(unit, process.length, process.ratio), residual[..., None])[..., 0]
        places = np.where(unit.observed, unit.points[..., 0], axis.lower)  # padding: `solved` is zero there
        across = _matern(_distance(axis, axis.nodes[:, None] - places[:, None, :]), process.length)
        out[part] = process.mean + (across @ solved[..., None])[..., 0]
    return out


def _covariance(data: OperatorData, length: float, ratio: float) -> np.ndarray:
    """`(n, K, K)` in units of the signal's variance; the identity where padding stands."""
    axis, seen = data.grid.axes[0], data.observed
    places = np.where(seen, data.points[..., 0], axis.lower)
    k = _matern(_distance(axis, places[:, :, None] - places[:, None, :]), length)
    k *= seen[:, :, None] & seen[:, None, :]
    diagonal = np.arange(k.shape[1])
    k[:, diagonal, diagonal] = 1 + np.where(seen, ratio, 0.0)
    return k


def _matern(distance: np.ndarray, length: float) -> np.ndarray:
    scaled = np.sqrt(3) / length * distance
    return (1 + scaled) * np.exp(-scaled)


def _distance(axis: Axis, difference: np.ndarray) -> np.ndarray:
    if axis.kind != "periodic":
        return np.abs(difference)
    # the chord between two places of a circle: the kernel stays positive definite, which along the arc it is not
    around = axis.upper - axis.lower
    return around / np.pi * np.abs(np.sin(np.pi * difference / around))


def _pieces(data: OperatorData) -> list[np.ndarray]:
    """Positions of units, few enough at a time."""
    points = data.points.shape[1]
    step = max(1, _NUMBERS_AT_ONCE // (points * max(points, data.grid.size)))
    return [np.arange(start, min(start + step, len(data))) for start in range(0, len(data), step)]
