"""How a study is carried out: every number in one immutable record."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from dope.benchmarks import World
from dope.benchmarks.pharmacokinetics import Pharmacokinetics
from dope.data import DataError
from dope.operators import FNO, DeepONet, Operator
from dope.training import Recipe


@dataclass(frozen=True)
class Protocol:
    """The numbers of a study that its settings do not vary.

    Parameters
    ----------
    name : what tables call it.
    n : units of a repeat, unless the study varies them.
    folds, splits : parts of the cross-fitting, and random splits over which estimates are aggregated.
    recipe : how networks are trained. With `validation` the state that is best on held-out units is kept, without it
        (0) the last one; `riesz_penalty` is the penalty on the weights.
    fno, deeponet : the solution operator of each backbone.
    plane : the FNO of two-dimensional domains, where it is not the same.
    weights_like_operator : the weights' networks have the operator's architecture instead of a small one of their own.
    train_units, validation_units : units besides the n, on which one network learns and is selected, in place of
        cross-fitting; 0 for cross-fitting.
    interval, ddof : "t" (n - 1 degrees of freedom) or "normal" (+-1.96, and this ddof over the pooled folds).
    unlabeled_average : `g` of the folds' averaged field at unlabelled inputs, in place of the average of `g`.
    fixed_window : the pharmacokinetic window stands at |t - 1| <= 1 with weight 0.45 sqrt(rho), whatever the peak.
    fixed_directions : the robustness study adds delta times a fixed field to the truth, in place of making the errors
        of trained networks 1 + delta times as large.
    points, with_replacement : K observations of a unit, and whether one node may be observed several times.
    size : nodes of the grid along each axis; the benchmark's own number where None.
    truth_pool : units whose mean stands for the truth; the benchmark's own number where None.
    fresh_truth : a new pool for every repeat, so that the truth's error is part of every error.
    simulator_units, simulator_recipe : what a frozen operator was trained on, with full fields, and how.
    """

    name: str = "recommended"
    n: int = 64
    folds: int = 5
    splits: int = 1
    recipe: Recipe = field(default_factory=Recipe)
    fno: FNO = field(default_factory=FNO)
    deeponet: DeepONet = field(default_factory=DeepONet)
    plane: FNO | None = None
    weights_like_operator: bool = False
    train_units: int = 0
    validation_units: int = 0
    interval: str = "t"
    ddof: int = 0
    unlabeled_average: bool = False
    fixed_window: bool = False
    fixed_directions: bool = False
    points: int = 24
    with_replacement: bool = False
    size: int | None = None
    truth_pool: int | None = None
    fresh_truth: bool = False
    simulator_units: int = 512
    simulator_recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if self.interval not in ("t", "normal"):
            raise DataError(f"Protocol: interval must be 't' or 'normal', got {self.interval!r}.")
        if self.interval == "normal" and self.splits > 1:
            raise DataError("Protocol: the normal interval is that of one split; use interval='t' with several.")
        for name in ("n", "folds", "splits", "points", "simulator_units"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1):
                raise DataError(f"Protocol: {name} must be a whole number of at least 1, got {value!r}.")
        if self.train_units and self.folds * self.splits > 1:
            raise DataError("Protocol: train_units take the place of cross-fitting: use folds=1 and splits=1.")

    def operator(self, backbone: str, ndim: int) -> Operator:
        if backbone == "deeponet":
            return self.deeponet
        return self.plane if self.plane is not None and ndim == 2 else self.fno

    def apply(self, world: World, seed: int) -> World:
        """The world as this protocol observes it; `seed` is that of a fresh truth pool."""
        changes: dict[str, Any] = {"points": self.points, "with_replacement": self.with_replacement}
        if self.size is not None:
            changes["size"] = self.size
        if self.truth_pool is not None:
            changes["pool"] = self.truth_pool
        if self.fresh_truth:
            changes["pool_seed"] = seed
        if self.fixed_window and isinstance(world, Pharmacokinetics):
            changes |= {"window_at": 1.0, "bandwidth": 1.0, "window_weight": 0.45 * math.sqrt(world.rho)}
        return replace(world, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Every number, as JSON holds it."""
        out = asdict(self)
        return out | {name: repr(getattr(self, name)) for name in ("fno", "plane", "deeponet")}

    def digest(self, *more: str) -> str:
        """A short hash of every number, and of whatever else decides a row."""
        text = json.dumps([self.to_dict(), *more], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return "\n".join(f"{f.name:<22} {getattr(self, f.name)}" for f in fields(self))


_RECOMMENDED = Protocol()
"""What a user gets from `dope.DOPE()`, on the data of the published experiments."""

_PAPER = Protocol(
    name="paper",
    folds=2,
    recipe=Recipe(
        epochs=20,
        max_steps=80,
        rate=1e-3,
        schedule="constant",
        weight_decay=1e-5,
        batch=8,
        clip=None,
        validation=0.0,
        standardise=False,
        riesz_penalty=0.1,
        rescale=False,
    ),
    fno=FNO(modes=12, period=1),
    plane=FNO(width=24, modes=8, period=1),
    deeponet=DeepONet(branch="pooled"),
    weights_like_operator=True,
    interval="normal",
    unlabeled_average=True,
    truth_pool=2000,
    fresh_truth=True,
)
"""The published experiments, as far as their text says. What is ours: `xi` of the structured weights is positive by a
softplus that starts at one; the Darcy functional has its divisor repaired (see the benchmark); networks start from the
library's own random order. The direct weights have no link, as in the paper. Its trainings take 80 steps; the studies
with more units keep to that number, as a large operator would.
"""

_RELEASE = replace(
    _PAPER,
    name="release",
    n=256,
    train_units=256,
    validation_units=64,
    folds=1,
    recipe=replace(_PAPER.recipe, max_steps=4000, riesz_penalty=0.0, riesz_shrinkage=1e-3),
    ddof=1,
    with_replacement=True,
    fixed_window=True,
    fixed_directions=True,
)
"""The authors' later public protocol: 256 units to train, 64 to choose the best state, 256 to estimate from. Epochs,
learning rate and architectures, which it leaves open, are those of the paper.
"""

PROTOCOLS = {p.name: p for p in (_RECOMMENDED, _PAPER, _RELEASE)}


def protocol(name: str) -> Protocol:
    """A preset by its name."""
    if name not in PROTOCOLS:
        raise DataError(f"there is no protocol {name!r}. Known are: {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]
