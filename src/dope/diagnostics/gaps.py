"""Gaps: is there a part of the domain where nobody was ever observed?"""

from __future__ import annotations

import numpy as np

from dope.functionals import Functional
from dope.functionals.base import representers
from dope.scores import Prediction

_PARTS = {1: 10, 2: 4, 3: 3}  # along an axis: below this a network fills in, as it does between any two points
_SENSITIVE = 1e-6  # of the largest sensitivity: elsewhere g does not look


def unseen(g: Functional, prediction: Prediction) -> float:
    """The share of the domain, as far as `g` looks at it, in parts without a single observation of any unit."""
    data, grid = prediction.data, prediction.data.grid
    touched = np.zeros(grid.size, dtype=bool)
    nearest = data.stencil.weight.argmax(-1)[..., None]
    touched[np.take_along_axis(data.stencil.index, nearest, -1)[data.observed]] = True
    part = np.zeros(grid.shape, dtype=np.int64)
    most = _PARTS.get(grid.ndim, 2)
    for d, size in enumerate(grid.shape):
        # parts of equally many nodes: on a schedule of few times each of them is a part
        count = min(most, size)
        place = np.arange(size) * count // size
        part = part * count + place.reshape(-1, *[1] * (grid.ndim - 1 - d))
    part = part.reshape(-1)
    sensitivity = np.abs(representers(g, prediction.field, grid)).max(0).reshape(-1)
    mass = np.where(sensitivity > _SENSITIVE * sensitivity.max(), grid.weights.reshape(-1), 0.0)
    seen = np.bincount(part, touched)[part] > 0
    return float(mass[~seen].sum() / mass.sum()) if mass.sum() > 0 else 0.0
