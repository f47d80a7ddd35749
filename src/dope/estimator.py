"""DOPE: the few lines that walk through the rooms."""

from __future__ import annotations

import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

import numpy as np
import torch

from dope.data import DataError, OperatorData
from dope.fitted import Fit
from dope.nuisances import Plan, fit_solution, fit_weights, out_of_fold, weight_network
from dope.operators import FNO, Operator, Pretrained
from dope.training import Recipe, progress_bar, resolve_device, single_threaded
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

    def fit(self, data: OperatorData, *, progress: bool | None = None) -> Fit:
        """Train the solution operator and the weights of every fold; then estimate any functional from the result.

        `progress` shows bars on stderr; by default where a person watches a terminal.
        """
        if not isinstance(data, OperatorData):
            raise DataError(f"fit needs a dope.OperatorData, got {type(data).__name__}.")
        plan = Plan.draw(
            len(data),
            folds=self.folds,
            repeats=self.repeats,
            seed=self.seed,
            validation=self.recipe.validation,
            group=data.groups,
        )
        device = resolve_device(self.device)
        weight_operator = self.weight_operator or weight_network(data.grid)
        trained = isinstance(self.operator, Pretrained)
        if trained:
            self.operator.check(data)
        begun = time.perf_counter()
        # The two nuisances do not wait for one another; on a CPU with cores to spare they train side by side.
        lanes = 2 if device.type == "cpu" and torch.get_num_threads() > 1 and not trained else 1
        stop = threading.Event()
        with single_threaded(device), progress_bar(watched() if progress is None else progress) as bar:

            def tell(what: str, done: int, total: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                bar(what, done, total)

            def solution():
                if trained:
                    return None, np.repeat(self.operator.fields(data)[None], self.repeats, axis=0)
                networks = fit_solution(data, self.operator, plan, self.recipe, device=device, progress=tell)
                return networks, out_of_fold(networks, plan, data.inputs)

            def weights():
                networks, scale = fit_weights(data, weight_operator, plan, self.recipe, device=device, progress=tell)
                xi = out_of_fold(networks, plan, data.inputs)
                for m, r, units in plan.held_out():
                    xi[r, units] *= scale[m]
                return networks, xi

            with ThreadPoolExecutor(lanes) as pool:
                first, second = pool.submit(solution), pool.submit(weights)
                try:
                    (solution_networks, fields), (weight_networks, xi) = first.result(), second.result()
                except BaseException:  # an interrupt, or one lane failed: the other need not finish
                    stop.set()
                    raise
        meta = {
            "operator": repr(self.operator),
            "weight_operator": repr(weight_operator),
            "folds": self.folds,
            "repeats": self.repeats,
            "seed": self.seed,
            "recipe": asdict(self.recipe),
            "device": str(device),
            "seconds": round(time.perf_counter() - begun, 3),
            "versions": {
                "dope": version("dope"),
                "torch": torch.__version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
        }
        return Fit(
            data,
            self.operator,
            weight_operator,
            self.recipe,
            plan,
            fields,
            xi,
            solution_networks,
            weight_networks,
            device,
            meta,
        )
