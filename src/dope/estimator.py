"""DOPE: the few lines that walk through the rooms."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dope.data import DataError, OperatorData
from dope.data.operator_data import side_by_side
from dope.fitted import Fit
from dope.nuisances import Plan, SideBySide, fit_solution, fit_weights, out_of_fold, plausible, weight_network
from dope.operators import FNO, Operator, Pretrained
from dope.training import Ensemble, Recipe, progress_bar, resolve_device, single_threaded
from dope.training.progress import watched


@dataclass(frozen=True)
class DOPE:
    """Debiased estimation with a neural operator.

    Parameters
    ----------
    operator : the architecture of the solution operator, or `dope.pretrained(...)`.
    folds : parts of the cross-fitting; a unit is predicted by networks that never saw its part.
    repeats : random splits over which the estimate is aggregated by the median.
    recipe : how networks are trained.
    seed : of everything random.
    device : "auto", "cpu", "cuda", ...
    weight_operator : the architecture of the weights' networks. By default a small FNO that sees little beyond the
        place itself: a larger one learns which units it trains on before it learns the design.
    """

    operator: Operator = field(default_factory=FNO)
    folds: int = 5
    repeats: int = 1
    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    device: str = "auto"
    weight_operator: Operator | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.operator, Operator):
            raise DataError(
                f"operator must be a dope operator such as dope.FNO(), got {type(self.operator).__name__}: wrap a "
                "trained module in dope.pretrained(module)."
            )
        if not isinstance(self.weight_operator, Operator | None) or isinstance(self.weight_operator, Pretrained):
            raise DataError(
                f"weight_operator must be an architecture such as dope.FNO(), got {self.weight_operator!r}."
            )
        if not isinstance(self.recipe, Recipe):
            raise DataError(
                f"recipe must be a dope.Recipe, got {type(self.recipe).__name__}: e.g. dope.Recipe(epochs=50)."
            )
        for name, least in (("folds", 1), ("repeats", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise DataError(f"{name} must be a whole number of at least {least}, got {value!r}.")

    def fit(self, data: OperatorData, *, progress: bool | None = None, checkpoint: str | Path | None = None) -> Fit:
        """Train the solution operator and the weights of every fold; then estimate any functional from the result.

        `progress` shows bars on stderr; by default where a person watches a terminal. `checkpoint` is a folder for the
        state of the training: the same call goes on from there after it was stopped, and comes to the same result.
        """
        (outcome,) = fit_together([self], [data], progress=progress, checkpoint=checkpoint)
        if isinstance(outcome, FloatingPointError):
            raise outcome
        return outcome

    def plan(self, data: OperatorData) -> Plan:
        """Who trains on whom."""
        return Plan.draw(
            len(data),
            folds=self.folds,
            repeats=self.repeats,
            seed=self.seed,
            validation=self.recipe.validation,
            group=data.groups,
        )


def fit_together(
    models: Sequence[DOPE],
    data: Sequence[OperatorData],
    *,
    plans: Sequence[Plan] | None = None,
    progress: bool | None = None,
    checkpoint: str | Path | None = None,
) -> list[Fit | FloatingPointError]:
    """Fit several studies on one grid at once: many small trainings fill a GPU that one leaves idle.

    The models may differ in their seeds only. Each study comes out as if it were fitted alone, up to rounding; one
    whose training diverged comes back as the error. `plans` take the place of the models' own.
    """
    for part in data:
        if not isinstance(part, OperatorData):
            raise DataError(f"fit needs a dope.OperatorData, got {type(part).__name__}.")
    model = models[0]
    if any(replace(other, seed=model.seed) != model for other in models):
        raise DataError("models that are fitted together may differ in their seeds only.")
    plans = [m.plan(part) for m, part in zip(models, data, strict=True)] if plans is None else plans
    plan, pooled = SideBySide(plans), side_by_side(data)
    device = resolve_device(model.device)
    operator, recipe = model.operator, model.recipe
    weight_operator = model.weight_operator or weight_network(pooled.grid)
    if isinstance(operator, Pretrained):
        for part in data:
            operator.check(part)
    begun = time.perf_counter()
    # The two nuisances do not wait for one another; on a CPU with cores to spare they train side by side.
    trained = not isinstance(operator, Pretrained)
    lanes = 2 if device.type == "cpu" and torch.get_num_threads() > 1 and trained else 1
    stop = threading.Event()
    with single_threaded(device), progress_bar(watched() if progress is None else progress) as bar:

        def tell(what: str, done: int, total: int) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            bar(what, done, total)

        def solution() -> tuple[Ensemble | None, np.ndarray]:
            if isinstance(operator, Pretrained):
                fields = np.concatenate([operator.fields(part) for part in data])
                return None, np.repeat(fields[None], plan.repeats, axis=0)
            networks = fit_solution(pooled, operator, plan, recipe, device=device, progress=tell, checkpoint=checkpoint)
            return networks, out_of_fold(networks, plan, pooled.inputs)

        def weights() -> tuple[Ensemble, np.ndarray]:
            networks, scale = fit_weights(
                pooled, weight_operator, plan, recipe, device=device, progress=tell, checkpoint=checkpoint
            )
            xi = out_of_fold(networks, plan, pooled.inputs)
            for m, r, units in plan.held_out():
                xi[r, units] *= scale[m]
            return networks, np.stack([plausible(of_repeat, pooled) for of_repeat in xi])

        with ThreadPoolExecutor(lanes) as pool:
            first, second = pool.submit(solution), pool.submit(weights)
            try:
                (solution_networks, fields), (weight_networks, xi) = first.result(), second.result()
            except BaseException:  # an interrupt, or one lane failed: the other need not finish
                stop.set()
                raise
    seconds = round((time.perf_counter() - begun) / len(models), 3)
    sound = weight_networks.finite()
    if solution_networks is not None:
        sound &= solution_networks.finite()
    out: list[Fit | FloatingPointError] = []
    units = networks = 0
    for own, part, its_plan in zip(models, data, plans, strict=True):
        rows, members = slice(units, units + len(part)), slice(networks, networks + len(its_plan))
        units, networks = rows.stop, members.stop
        if not sound[members].all():
            out.append(FloatingPointError("training diverged: lower Recipe.rate or keep Recipe.clip on."))
            continue
        out.append(
            Fit(
                part,
                operator,
                weight_operator,
                recipe,
                its_plan,
                fields[:, rows],
                xi[:, rows],
                None if solution_networks is None else solution_networks[members],
                weight_networks[members],
                device,
                _facts(own, weight_operator, device, seconds),
            )
        )
    return out


def _facts(model: DOPE, weight_operator: Operator, device: torch.device, seconds: float) -> dict[str, Any]:
    """How a fit was made; it travels with every result."""
    return {
        "operator": repr(model.operator),
        "weight_operator": repr(weight_operator),
        "folds": model.folds,
        "repeats": model.repeats,
        "seed": model.seed,
        "recipe": asdict(model.recipe),
        "device": str(device),
        "seconds": seconds,
        "versions": {
            "dope": version("dope"),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
