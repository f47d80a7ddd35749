"""Prediction-powered inference: inputs without observations sharpen the plug-in part of the estimate.

`theta(l) = mean psi + l (mean_unl g - mean_lab g)` is unbiased for every l, since the two means have the same
expectation: a prediction on the unlabelled inputs is the average of the folds' `g` with weights n_j / n1, the
shares in which the folds' operators predict the labelled units.

Written per unit, `theta(l)` is the mean of `d_i = psi_i - l (g_i - F_j(i))`, with `F_j` the unlabelled mean of
the operator of unit i's own fold. That removes the differences between the folds' operators from the variance
(their means cancel in theta), keeps ddof 1, and at l = 0 is the one-step estimate to the last digit.
With unit weights every mean over labelled units is a weighted one, n_j / n1 are shares of the weight, and unlabelled
inputs count one each: they come from the population that the weighted units stand for.

The tuned `l* = Cov(psi, g)/Var(g) n2/(n1+n2)`, with moments of the labelled units centred within folds, is a
regression slope, and it is not clipped. A negative one (an operator anti-correlated with the truth) and one
above 1 (an operator that predicts too little spread) are real gains: SD 0.77 and 0.40 of the labelled-only
estimate at n1 = 64, n2 = 1024, where clipping to [0, 1] leaves 1.00 and 0.75. The price of estimating it, a variance
factor of 1 + 1/n1, is the same for every operator: SD 1.03 at n1 = 20 and 1.01 at n1 = 64 where the operator knows
nothing, where the paper's `l` has 1.36. Var(g) in `l*` comes from labelled units, like Cov: the ratio is then
unharmed by a sample that happens to be spread out. Taking it from the unlabelled inputs, or minimising the
estimated variance, doubles the coverage lost on skewed scores (at n1 = n2 = 64: 0.88 rather than 0.93).
The variance below is that of a fixed `l`; estimating it adds a part 2/n1 of it at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dope.data import DataError
from dope.inference.variance import (
    Arm,
    cluster_sizes,
    cluster_sums,
    group_codes,
    mean_covariance,
    weighted,
    weighted_mean,
)
from dope.scores import Scores

Form = Literal["tuned", "paper"] | float | None


@dataclass(frozen=True, eq=False)
class Powered:
    """What unlabelled inputs did: the `form`, `lam` (R, G), how many inputs, and whether they look alike.

    `shift` (G,) are z-scores of the predictions' mean on unlabelled against labelled inputs.
    """

    form: str
    lam: np.ndarray
    inputs: int
    shift: np.ndarray


def arms(scores: Scores, form: Form) -> tuple[Arm, Arm, Powered | None]:
    """The arm of the estimate, that of its plug-in, and what unlabelled inputs did to them.

    The plug-in of the paper takes the mean of `g` over all inputs, labelled or not: `l = n2/(n1+n2)`.
    """
    if form is None or scores.unlabeled is None or scores.unlabeled.shape[2] == 0:
        group, weight = group_codes(scores.group), scores.relative_weight
        return Arm(scores.psi, group, None, weight), Arm(scores.plugin, group, None, weight), None
    m = _predicted(scores).shape[2]
    arm, lam = _powered(scores, scores.psi, form)
    plugin_arm, _ = _powered(scores, scores.plugin, "paper")
    powered = Powered(form if isinstance(form, str) else "given", lam, m, _shift(scores))
    return arm, plugin_arm, powered


def _powered(scores: Scores, psi: np.ndarray, form: Form) -> tuple[Arm, np.ndarray]:
    m = _predicted(scores).shape[2]
    group = group_codes(scores.group)
    fold_mean, spread = _unlabelled_moments(scores)
    lam = _lambda(scores, psi, group, form)
    offset = np.take_along_axis(fold_mean, _operator_of(scores)[:, :, None], axis=1)  # (R, n, G)
    terms = psi - lam[:, None] * (scores.plugin - offset)
    known = lam[:, :, None] * lam[:, None, :] * spread / m
    return Arm(terms, group, known, scores.relative_weight), lam


def _unlabelled_moments(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Means of each fold's predictions (R, J, G), and the covariance over inputs (R, G, G) of their average."""
    unlabeled = _predicted(scores)
    m = unlabeled.shape[2]
    average = np.einsum("rj,rjmg->rmg", _shares(scores), unlabeled)
    if m > 1:
        centred = average - average.mean(1, keepdims=True)
        spread = np.einsum("rmg,rmh->rgh", centred, centred) / (m - 1)
    else:  # one input has no spread of its own: take the labelled units'
        centred, dof = _centred(scores, scores.plugin)
        spread = np.einsum("rng,rnh->rgh", weighted(centred, scores.relative_weight), centred) / dof
    return unlabeled.mean(2), spread


def _lambda(scores: Scores, psi: np.ndarray, group: np.ndarray | None, form: Form) -> np.ndarray:
    m, weight = _predicted(scores).shape[2], scores.relative_weight
    repeats, _, count = psi.shape
    n = _units(scores)
    if form == "paper":
        return np.full((repeats, count), m / (n + m))
    if form != "tuned":
        return np.full((repeats, count), float(form))
    g, dof = _centred(scores, scores.plugin)
    y, _ = _centred(scores, psi)
    variance = np.einsum("rng,rng->rg", weighted(g, weight), g) / dof
    gs, ys = (cluster_sums(weighted(v, weight), group) for v in (g, y))
    c = np.count_nonzero(cluster_sizes(len(scores), group, weight))
    # variances of the two means. Without groups they are Var(g)/dof-scaled alike, and this is the formula above;
    # with groups the labelled mean is known less well than its n1 units suggest, and l* rises accordingly
    scale = (n - 1) / dof if group is None else 1.0
    mean_var = np.diagonal(mean_covariance(gs, n, c), axis1=1, axis2=2) * scale
    mean_cov = np.diagonal(mean_covariance(gs, n, c, ys), axis1=1, axis2=2) * scale
    total = mean_var + variance / m
    return np.divide(mean_cov, total, out=np.zeros_like(total), where=total > 0)


def _shift(scores: Scores) -> np.ndarray:
    """(G,): the median over repeats of the z-score of mean_unl g - mean_lab g."""
    group, m, weight = group_codes(scores.group), _predicted(scores).shape[2], scores.relative_weight
    offset, spread = _unlabelled_moments(scores)
    gap = np.einsum("rj,rjg->rg", _shares(scores), offset) - weighted_mean(scores.plugin, weight)
    centred = weighted(_centred(scores, scores.plugin)[0], weight)
    c = np.count_nonzero(cluster_sizes(len(scores), group, weight))
    own = mean_covariance(cluster_sums(centred, group), _units(scores), c)
    se = np.sqrt(np.diagonal(own + spread / m, axis1=1, axis2=2))
    return np.median(np.divide(gap, se, out=np.zeros_like(gap), where=se > 0), axis=0)


def _predicted(scores: Scores) -> np.ndarray:
    """(R, J, m, G)"""
    if scores.unlabeled is None:
        raise DataError("these scores hold no unlabelled inputs.")
    return scores.unlabeled


def _operator_of(scores: Scores) -> np.ndarray:
    """(R, n): which of the J operators predicts each unit; a pre-trained one predicts them all."""
    return np.zeros_like(scores.fold) if _predicted(scores).shape[1] == 1 else scores.fold


def _units(scores: Scores) -> int:
    """n1: the labelled units that count."""
    return len(scores) if scores.relative_weight is None else np.count_nonzero(scores.relative_weight)


def _shares(scores: Scores) -> np.ndarray:
    """(R, J): n_j / n1, the share of the units or of their weight."""
    which, folds = _operator_of(scores), _predicted(scores).shape[1]
    return np.stack([np.bincount(row, scores.relative_weight, folds) for row in which]) / _units(scores)


def _centred(scores: Scores, values: np.ndarray) -> tuple[np.ndarray, int]:
    """Values less the mean of their own operator's units, and the degrees of freedom left."""
    which, weight, n = _operator_of(scores), scores.relative_weight, _units(scores)
    out = np.empty_like(values)
    dof = n
    for r, row in enumerate(which):
        size = np.bincount(row, weight)
        means = cluster_sums(weighted(values[r : r + 1], weight), row)[0] / np.where(size > 0, size, 1)[:, None]
        out[r] = values[r] - means[row]
        dof = min(dof, n - np.count_nonzero(size))
    return out, max(dof, 1)


def check(scores: Scores, form: Form) -> None:
    """Raise where the form or the unlabelled table cannot be used."""
    if form not in ("tuned", "paper", None) and (isinstance(form, (str, bool)) or not np.isfinite(form)):
        raise DataError(f'ppi is "tuned", "paper", None or a number, got {form!r}.')
    if form is None or scores.unlabeled is None:
        return
    repeats, _, count = scores.plugin.shape
    shape = _predicted(scores).shape
    if len(shape) != 4 or shape[0] != repeats or shape[3] != count:
        raise DataError(f"unlabeled has shape {shape}, expected (R, J, m, G) = ({repeats}, J, m, {count}).")
    if shape[1] > 1 and int(scores.fold.max()) >= shape[1]:
        raise DataError(f"fold {int(scores.fold.max())} has no operator among the {shape[1]} of unlabeled.")
    if not np.isfinite(scores.unlabeled).all():
        bad = int(np.argwhere(~np.isfinite(scores.unlabeled))[0][2])
        raise DataError(f"the prediction of unlabelled input {bad} is not finite: check that input.")
