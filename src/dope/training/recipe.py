"""How a network is trained: every number in one immutable record."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dope.data import DataError


@dataclass(frozen=True)
class Recipe:
    """The training recipe of all networks of a fit. The defaults are the recommended ones.

    Parameters
    ----------
    epochs : passes over the training units where they are few.
    max_steps : optimiser steps where they are many: a fit never takes more.
    batch : units in a step.
    rate : the (highest) learning rate of Adam.
    schedule : "one-cycle" (cosine up from rate/25 over 30 % of the steps, cosine down to nearly zero) or "constant".
    weight_decay : coupled L2 decay, as in torch's Adam.
    clip : largest gradient norm of a network, None for none.
    validation : share of the training units held back to choose the best state; 0 keeps the last state.
    standardise : scale channels and outputs to mean 0 and standard deviation 1 on the training units.
    riesz_penalty : lambda of the Riesz loss, times the grid mean of beta squared.
    riesz_shrinkage : the same, times the squared norm of the weight network's parameters; counts in the selection.
    rescale : put weights that `riesz_penalty` has shrunk back to scale.
    """

    epochs: int = 100
    max_steps: int = 4000
    batch: int = 8
    rate: float = 2e-3
    schedule: str = "one-cycle"
    weight_decay: float = 1e-3
    clip: float | None = 1.0
    validation: float = 0.2
    standardise: bool = True
    riesz_penalty: float = 0.0
    riesz_shrinkage: float = 0.0
    rescale: bool = True

    def __post_init__(self) -> None:
        if self.schedule not in ("one-cycle", "constant"):
            raise DataError(f"Recipe: schedule must be 'one-cycle' or 'constant', got {self.schedule!r}.")
        for name in ("epochs", "max_steps", "batch"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1):
                raise DataError(f"Recipe: {name} must be a whole number of at least 1, got {value!r}.")
        if not self.rate > 0:
            raise DataError(f"Recipe: rate must be positive, got {self.rate}.")
        if self.clip is not None and not self.clip > 0:
            raise DataError(f"Recipe: clip must be positive or None, got {self.clip}.")
        if not 0 <= self.validation < 1:
            raise DataError(f"Recipe: validation must lie in [0, 1), got {self.validation}.")
        if min(self.weight_decay, self.riesz_penalty, self.riesz_shrinkage) < 0:
            raise DataError("Recipe: weight_decay, riesz_penalty and riesz_shrinkage must not be negative.")

    def steps(self, units: int) -> int:
        """Optimiser steps for a network with this many training units."""
        return min(self.epochs * math.ceil(units / self.batch), self.max_steps)

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of step number `step` of `steps`."""
        if self.schedule == "constant":
            return self.rate
        rise = max(1.0, 0.3 * steps - 1)
        low, least = self.rate / 25, self.rate / 25e4
        if step <= rise:
            return _cosine(low, self.rate, step / rise)
        return _cosine(self.rate, least, (step - rise) / max(1.0, steps - 1 - rise))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * min(share, 1.0)))
