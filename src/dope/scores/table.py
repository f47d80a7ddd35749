"""The one interface between learning and statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dope.data import DataError


@dataclass(frozen=True, eq=False)
class Scores:
    """For every repeat, unit and functional: the plug-in value and its correction, both out of fold.

    All inference is a pure function of this table. `plugin` and `correction` are `(R, n, G)` float64 for R
    repeats of cross-fitting, n units and G functionals; `fold` is `(R, n)`; `group` is `(n,)` or None.
    `unlabeled`, where inputs without observations were given, holds `g` of their predicted fields
    `(R, J, m, G)` for each of the J folds' operators.

    Two more columns serve the planning of a next study: `counts` `(n,)`, the points observed in each unit, and
    `correction_var` `(R, n, G)`, the sampling variance of each unit's correction: that of the mean of its K_i
    terms, `s_i^2 / K_i`, NaN where K_i < 2 leaves it unknown.

    `unit_weight` `(n,)`, of any scale, says how much of the population each unit stands for (inverse sampling
    probabilities): the estimate is then the weighted mean over units. A unit of weight 0 counts as absent.
    """

    plugin: np.ndarray
    correction: np.ndarray
    fold: np.ndarray
    ids: np.ndarray
    names: tuple[str, ...]
    group: np.ndarray | None = None
    unlabeled: np.ndarray | None = None
    correction_var: np.ndarray | None = None
    counts: np.ndarray | None = None
    unit_weight: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.plugin.ndim != 3 or self.plugin.shape != self.correction.shape:
            raise ValueError(
                f"plugin {self.plugin.shape} and correction {self.correction.shape} must both be (R, n, G)."
            )
        repeats, n, count = self.plugin.shape
        if self.fold.shape != (repeats, n) or len(self.ids) != n or len(self.names) != count:
            raise ValueError("fold must be (R, n), ids (n,) and names (G,).")
        if self.correction_var is not None and self.correction_var.shape != self.plugin.shape:
            raise ValueError(f"correction_var {self.correction_var.shape} must be (R, n, G) = {self.plugin.shape}.")
        if self.counts is not None and np.shape(self.counts) != (n,):
            raise ValueError(f"counts {np.shape(self.counts)} must be (n,) = ({n},).")
        if self.unit_weight is not None:
            object.__setattr__(self, "unit_weight", _weights(self.unit_weight, self.ids))

    @property
    def psi(self) -> np.ndarray:
        """`(R, n, G)`: plug-in plus correction, whose (weighted) mean is the estimate."""
        return self.plugin + self.correction

    @property
    def relative_weight(self) -> np.ndarray | None:
        """`(n,)`: the unit weights scaled to mean 1 over the units that count, so that equal ones are ones."""
        if self.unit_weight is None:
            return None
        w = self.unit_weight / self.unit_weight.max()  # first, since weights of any size may be summed and squared
        return w * (np.count_nonzero(w) / w.sum())

    def __len__(self) -> int:
        return self.plugin.shape[1]


def _weights(weights: np.ndarray, ids: np.ndarray) -> np.ndarray:
    try:
        w = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"unit weights must be numbers, one for each of {len(ids)} units: {error}.") from None
    if w.shape != (len(ids),):
        raise DataError(f"unit weights have shape {w.shape}, expected ({len(ids)},): one for each unit.")
    for bad, what in ((~np.isfinite(w), "not finite"), (w < 0, "negative")):
        if bad.any():
            i = int(np.argmax(bad))
            raise DataError(
                f"the weight of unit {str(ids[i])!r} is {w[i]:g}, which is {what} ({int(bad.sum())} such): a weight is "
                "the share of the population that a unit stands for, 0 for none."
            )
    if not w.any():
        raise DataError(f"the weights of all {len(ids)} units, from {str(ids[0])!r} on, are 0: nobody is left.")
    return w
