"""Balance: do the weighted points stand for the whole domain?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from dope.data import Grid
from dope.functionals import Functional
from dope.functionals.base import representers
from dope.scores import Prediction

_DEGREE = {1: 5, 2: 2, 3: 1}  # of the polynomials: at most nine directions whatever the dimension


@dataclass(frozen=True, eq=False)
class Balance:
    """For test directions h: the mean of `1/K sum_k beta(X_k) h(X_k) - Dg(h)`, which right weights bring to zero.

    `z` is that mean over its standard error; `size` is that mean over the root mean square of `Dg(h)` at its largest
    direction: the share of an operator error of shape h that the correction leaves or invents.
    """

    names: tuple[str, ...]
    z: np.ndarray
    size: np.ndarray


def directions(grid: Grid) -> tuple[tuple[str, ...], np.ndarray]:
    """Products of Legendre polynomials of low degree, `(H, *grid)`, with their names."""
    degree = _DEGREE.get(grid.ndim, 1)
    lines = []
    for axis in grid.axes:
        s = 2 * (axis.nodes - axis.lower) / (axis.upper - axis.lower) - 1
        lines.append([np.polynomial.legendre.Legendre.basis(k)(s) for k in range(degree + 1)])
    names, fields = [], []
    for degrees in product(range(degree + 1), repeat=grid.ndim):
        field = lines[0][degrees[0]]
        for line, k in zip(lines[1:], degrees[1:], strict=True):
            field = np.multiply.outer(field, line[k])
        fields.append(field)
        names.append("constant" if not any(degrees) else "P" + "·P".join(map(str, degrees)))
    return tuple(names), np.stack(fields)


def balance(g: Functional, prediction: Prediction) -> Balance:
    """The balance of the weights for `g` in low polynomials, and in the predicted field."""
    data, grid = prediction.data, prediction.data.grid
    names, fields = directions(grid)
    beta_at_points = data.stencil(prediction.weights(g))
    w = representers(g, prediction.field, grid)
    # an operator is often wrong in proportion: its own prediction is a direction, too
    own = prediction.field / (np.sqrt(grid.mean(prediction.field**2).mean()) or 1.0)
    names = (*names, "prediction")
    z, mean, scale = [], [], []
    for h in (*fields, own):
        at_points = data.stencil(np.broadcast_to(h, prediction.field.shape))
        derivative = grid.mean(w * h)
        gap = prediction.average(beta_at_points * at_points) - derivative
        se = gap.std(ddof=1) / np.sqrt(len(gap))
        mean.append(gap.mean())
        z.append(gap.mean() / se if se > 1e-12 * (1 + np.abs(derivative).max()) else 0.0)
        scale.append(np.sqrt((derivative**2).mean()))
    largest = max(scale)
    return Balance(names, np.asarray(z), np.asarray(mean) / (largest if largest > 0 else 1.0))
