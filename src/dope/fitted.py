"""A fit, and the estimates it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from dope import inference, storage
from dope.answers import FittedDiagnosis, FittedEstimate
from dope.data import Blocks, DataError, OperatorData
from dope.data.operator_data import side_by_side
from dope.diagnostics import diagnose
from dope.functionals import Functional, Mean
from dope.functionals.base import evaluate, not_a_functional, representers
from dope.nuisances import Plan, SideBySide, fit_weights, out_of_fold, plausible
from dope.operators import Operator, Precomputed, Pretrained
from dope.scores import Correction, Prediction, Scores, choose
from dope.training import Ensemble, Recipe, progress_bar, single_threaded
from dope.training.progress import Progress, no_progress, watched

Unlabeled = ArrayLike | OperatorData | str | Path

WEIGHTS = ("shared", "structured", "direct", "design")


@dataclass(frozen=True, eq=False)
class Fit:
    """Out-of-fold fields and weights of every unit, from which any functional is estimated at once.

    `fields` and `xi` are `(R, n, *grid)`. `solution` and `weight_networks` are the trained networks, one a fold and
    repeat; `solution` is None where the user brought the operator.
    """

    data: OperatorData
    operator: Operator
    weight_operator: Operator
    recipe: Recipe
    plan: Plan
    fields: np.ndarray
    xi: np.ndarray
    solution: Ensemble | None
    weight_networks: Ensemble
    device: torch.device
    meta: Mapping[str, Any]
    _learned: dict[tuple[str, int], tuple[Functional, np.ndarray]] = field(default_factory=dict, repr=False)
    _predictions: dict[tuple[int, str, int], Prediction] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Fit({self.data!r}, {self.plan.folds} folds x {self.plan.repeats} repeat(s), {self.meta['operator']})"

    # ---- the answer -----------------------------------------------------------------------------------
    def estimate(
        self,
        g: Functional | Sequence[Functional],
        *,
        names: str | Sequence[str] | None = None,
        weights: str = "shared",
        correction: str = "auto",
        unlabeled: Unlabeled | None = None,
        ppi: str | float = "tuned",
        sigma2: float | None = None,
        unit_weights: ArrayLike | None = None,
    ) -> FittedEstimate:
        """The debiased mean of `g` over the population of inputs, with its standard error.

        Parameters
        ----------
        g : a functional, or several for a joint estimate.
        names : what to call them; their own names unless given.
        weights : "shared" (one set, learned with the fit, for every functional), "structured" or "direct" (learned
            now for this functional: takes as long as half a fit) or "design" (the data's known design).
        correction : "auto", "one-step", "exact" (integral functionals), "targeted" or "none".
        unlabeled : further inputs without observations: `(m, C, *grid)`, an OperatorData, or a `.npy` or `.h5` file
            (data set "inputs"), which is read in blocks and may be larger than memory.
        ppi : how unlabelled inputs are weighed: "tuned", "paper", or a number.
        sigma2 : the variance of the noise, if known; else it is estimated where it is needed.
        unit_weights : (n,), how much of the population each unit stands for (inverse sampling probabilities), on any
            scale; equal unless given.
        """
        joint = not isinstance(g, Functional)
        functionals = list(g) if joint and isinstance(g, Sequence) else [g]
        if not functionals:
            raise DataError("nothing to estimate: the list of functionals is empty.")
        for f in functionals:
            if not isinstance(f, Functional):
                raise not_a_functional(f)
        names = [names] if isinstance(names, str) else names
        labels = tuple(map(str, names)) if names is not None else tuple(f.name for f in functionals)
        if len(labels) != len(functionals):
            raise DataError(f"{len(labels)} names for {len(functionals)} functionals.")
        if len(set(labels)) < len(labels):
            raise DataError(f"functionals need distinct names, got {', '.join(labels)}: pass names=[...].")
        for label in labels:
            if any("\ud800" <= letter <= "\udfff" for letter in label):  # no file or table could hold it
                raise DataError(f"the name {label!a} is not valid text: pass names=[...] with another one.")
        if weights not in WEIGHTS:
            raise DataError(f"weights must be one of {', '.join(WEIGHTS)}, got {weights!r}.")

        scores, methods, reasons = self.scores(
            functionals,
            labels,
            weights=weights,
            correction=correction,
            unlabeled=unlabeled,
            sigma2=sigma2,
            unit_weights=unit_weights,
        )
        answer = inference.estimate(
            scores,
            joint=joint,
            ppi=ppi,
            correction=tuple(m.label for m in methods) if joint else methods[0].label,
            weights=weights,
            reasons=reasons,
            meta=dict(self.meta),
        )
        diagnoses = tuple(
            FittedDiagnosis.of(
                diagnose(f.named(label), self._prediction(0, f, weights), correction=method, se=float(se))
            )
            for f, label, method, se in zip(functionals, labels, methods, np.atleast_1d(answer.se), strict=True)
        )
        return FittedEstimate.of(
            replace(answer, verdicts=tuple(d.found for d in diagnoses)),
            fit=self,
            functionals=tuple(functionals),
            diagnoses=diagnoses,
        )

    def scores(
        self,
        functionals: Sequence[Functional],
        names: Sequence[str],
        *,
        weights: str = "shared",
        correction: str = "auto",
        unlabeled: Unlabeled | None = None,
        sigma2: float | None = None,
        unit_weights: ArrayLike | None = None,
    ) -> tuple[Scores, tuple[Correction, ...], tuple[str, ...]]:
        """All that inference needs, the correction of each functional, and why it was chosen."""
        shape = (self.plan.repeats, len(self.data), len(functionals))
        plugin, correct, spread = np.empty(shape), np.empty(shape), np.empty(shape)
        methods, reasons = [], []
        for k, f in enumerate(functionals):
            method = None
            for r in range(self.plan.repeats):
                prediction = self._prediction(r, f, weights)
                plugin[r, :, k] = evaluate(f, prediction.field, self.data.grid)
                if method is None:  # one choice for all repeats: their median must be of one estimator
                    method, reason = choose(correction, f.named(names[k]), prediction, plugin[r, :, k], sigma2)
                    methods.append(method)
                    reasons.append(f"{method.name}: {reason}")
                correct[r, :, k], spread[r, :, k] = method(f, prediction, plugin[r, :, k])
        scores = Scores(
            plugin=plugin,
            correction=correct,
            fold=self.plan.fold,
            ids=self.data.ids,
            names=tuple(names),
            group=self.data.groups,
            unlabeled=None if unlabeled is None else self._unlabeled(functionals, unlabeled),
            correction_var=spread,
            counts=self.data.counts,
            unit_weight=None if unit_weights is None else np.asarray(unit_weights),
        )
        return scores, tuple(methods), tuple(dict.fromkeys(reasons))

    def diagnose(self, g: Functional, **options: Any) -> FittedDiagnosis:
        """Whether the interval that `estimate(g, **options)` gives can be trusted, and why."""
        if not isinstance(g, Functional):
            raise DataError("diagnose takes one functional at a time.")
        return self.estimate(g, **options).diagnoses[0]

    # ---- its parts ------------------------------------------------------------------------------------
    def prediction(self, repeat: int = 0) -> Prediction:
        """Out-of-fold field and shared weights of one repeat, in float64."""
        return self._prediction(repeat, None, "shared")

    def _prediction(self, repeat: int, g: Functional | None, weights: str) -> Prediction:
        key = (repeat, weights, id(g) if weights in ("structured", "direct") else 0)
        if key not in self._predictions:
            self._predictions[key] = self._predict_out_of_fold(repeat, g, weights)
        return self._predictions[key]

    def _predict_out_of_fold(self, repeat: int, g: Functional | None, weights: str) -> Prediction:
        if weights == "shared":
            return Prediction(self.data, self.fields[repeat].astype(np.float64), self.xi[repeat].astype(np.float64))
        field = self.prediction(repeat).field
        if weights == "design":
            return Prediction(self.data, field, self._design_weight())
        assert g is not None
        learned = self._learn(g, weights)[repeat].astype(np.float64)
        if weights == "structured":
            return Prediction(self.data, field, learned)
        return Prediction(self.data, field, None, beta=learned)

    def _design_weight(self) -> np.ndarray:
        design = self.data.design
        if design is None:
            raise DataError(
                "weights='design' needs the law of the observation points: pass design= to OperatorData, or learn the "
                "weights with weights='shared'."
            )
        xi = design.inverse_weight(self.data.grid, self.data.counts)
        # units without observations carry no correction; the others stand in for them
        return xi * (len(self.data) / np.count_nonzero(self.data.counts))

    def _learn(self, g: Functional, weights: str) -> np.ndarray:
        """`xi` ("structured") or `beta` ("direct") by the Riesz loss of this very functional, `(R, n, *grid)`."""
        key = (weights, id(g))
        if key not in self._learned:
            with single_threaded(self.device), progress_bar(watched()) as progress:
                learn_together([self], [g], weights, progress=progress)
        return self._learned[key][1]

    def take(self, units: np.ndarray) -> Fit:
        """The fit as these units see it, with what was learned for them so far; nothing more can be learned."""
        learned = {key: (g, values[:, units]) for key, (g, values) in self._learned.items()}
        return replace(
            self,
            data=self.data.take(units),
            plan=self.plan.take(units),
            fields=self.fields[:, units],
            xi=self.xi[:, units],
            _learned=learned,
            _predictions={},
        )

    def predict(self, inputs: np.ndarray, network: int) -> np.ndarray:
        """Fields `(m, *grid)` of one fold's solution operator at inputs `(m, C, *grid)`."""
        if self.solution is not None:
            return self.solution.predict(network, inputs)
        assert isinstance(self.operator, Pretrained)
        return self.operator.predict(inputs, self.data.grid)

    def _unlabeled(self, functionals: Sequence[Functional], unlabeled: Unlabeled) -> np.ndarray:
        """`g` of the predicted fields of every fold's operator, `(R, J, m, G)`; never `g` of an averaged field."""
        grid, folds = self.data.grid, self.plan.folds
        predicted = isinstance(self.operator, Precomputed)
        if isinstance(unlabeled, OperatorData) and not unlabeled.grid.same_as(grid):
            raise DataError(
                f"the unlabelled inputs are on {unlabeled.grid!r}, the fit is on {grid!r}: bring them onto its grid."
            )
        row = grid.shape if predicted else (self.data.channels, *grid.shape)
        blocks = Blocks(unlabeled, row, "unlabeled fields" if predicted else "unlabeled inputs")
        out = np.empty((self.plan.repeats, folds, len(blocks), len(functionals)))
        for rows, block in blocks:
            for m, r, _ in self.plan.held_out():
                if m == 0 or self.solution is not None:  # a pretrained operator is the same for all folds
                    fields = block if predicted else self.predict(block, m)
                    values = np.stack([evaluate(g, fields, grid) for g in functionals], axis=-1)
                out[r, m % folds, rows] = values
        return out

    # ---- words and pictures ---------------------------------------------------------------------------
    def plot(self, units: int | Sequence[int] = 6) -> np.ndarray:
        """Predicted fields of a few units, how many or which, with their observations; one axes each."""
        from dope.reports import plots

        return plots.fields(self.prediction(), units)

    def save(self, path: str | Path) -> None:
        """Write the fit to a folder (safetensors and JSON); `dope.load(path)` brings it back."""
        storage.save(self, path)


def learn_together(
    fits: Sequence[Fit], functionals: Sequence[Functional], weights: str, *, progress: Progress = no_progress
) -> None:
    """Learn "structured" or "direct" weights of one functional for each fit, in one training; each keeps its own.

    The fits differ in their units and seeds only, as those of `fit_together` do; one may be named several times,
    with a functional each. The structured weights of the mean are those that the fit already has.
    """
    pairs = list(zip(fits, functionals, strict=True))
    if weights == "structured":
        for fit, g in pairs:
            if type(g) is Mean:
                fit._learned[weights, id(g)] = (g, fit.xi)
        pairs = [(fit, g) for fit, g in pairs if type(g) is not Mean]
    if not pairs:
        return
    first = pairs[0][0]
    data, plan = side_by_side([fit.data for fit, _ in pairs]), SideBySide([fit.plan for fit, _ in pairs])
    starts = np.cumsum([0, *(len(fit.data) for fit, _ in pairs)])
    networks = np.cumsum([0, *(len(fit.plan) for fit, _ in pairs)])

    def representer(seen: Sequence[np.ndarray]) -> list[np.ndarray]:
        out: list[np.ndarray] = []
        predicted: dict[int, list[np.ndarray]] = {}
        for (fit, g), start, m, end in zip(pairs, starts[:-1], networks[:-1], networks[1:], strict=True):
            units = [u - start for u in seen[m:end]]
            if id(fit) not in predicted:
                if fit.solution is not None:
                    predicted[id(fit)] = fit.solution.predict_each(fit.data.inputs, units)
                else:  # brought by the user: one for all folds
                    predicted[id(fit)] = [fit.fields[0, u] for u in units]
            values = representers(g, np.concatenate(predicted[id(fit)]).astype(np.float64), data.grid)
            out += np.split(values, np.cumsum([len(u) for u in units])[:-1])
        return out

    ensemble, scale = fit_weights(
        data,
        first.weight_operator,
        plan,
        first.recipe,
        representer=representer,
        factor=weights == "structured",
        device=first.device,
        what=f"weights of {pairs[0][1].name}"[:26],
        progress=progress,
    )
    learned = out_of_fold(ensemble, plan, data.inputs)
    for m, r, units in plan.held_out():
        learned[r, units] *= scale[m]
    if weights == "structured":
        learned = np.stack([plausible(of_repeat, data) for of_repeat in learned])
    for (fit, g), start in zip(pairs, starts, strict=False):
        fit._learned[weights, id(g)] = (g, learned[:, start : start + len(fit.data)])  # g is kept: its id stays its own


def load(path: str | Path, *, operator: Pretrained | None = None) -> Fit:
    """A fit written by `fit.save(path)`.

    A fit with a pretrained operator holds its predictions, not the operator: pass it again as `operator=` to
    predict for new inputs.
    """
    return Fit(**storage.read(path, operator))
