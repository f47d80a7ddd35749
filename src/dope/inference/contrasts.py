"""Linear combinations of functionals, as further estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dope.data import DataError
from dope.inference.notes import together
from dope.scores import Scores

if TYPE_CHECKING:
    from dope.inference.result import Estimate

E = TypeVar("E", bound="Estimate")


def contrast(est: E, weights: ArrayLike | Mapping[str, float], names: str | tuple[str, ...] | None) -> E:
    if isinstance(weights, Mapping):
        vector = np.zeros(len(est))
        for name, weight in weights.items():
            vector[index_of(est, name)] = weight
        weights = vector
    w = np.asarray(weights, float)
    if w.ndim not in (1, 2) or w.shape[-1] != len(est) or not np.isfinite(w).all():
        raise DataError(
            f"contrast weights have shape {w.shape}: give {len(est)} finite weights, one for each of "
            f"{', '.join(est.names)}, or rows of such."
        )
    rows = np.atleast_2d(w)
    if names is None:
        labels = tuple(_formula(row, est.names) for row in rows)
    else:
        labels = (names,) if isinstance(names, str) else tuple(names)
        if len(labels) != len(rows):
            raise DataError(f"{len(labels)} names for {len(rows)} contrasts.")
    return _combine(est, rows, labels, joint=w.ndim == 2)


def select(est: E, functional: str | int) -> E:
    i = index_of(est, functional)
    return _combine(est, np.eye(len(est))[[i]], (est.names[i],), joint=False)


def index_of(est: Estimate, functional: str | int) -> int:
    if isinstance(functional, str):
        if est.names.count(functional) == 1:
            return est.names.index(functional)
        trouble = "no" if functional not in est.names else "more than one"
        raise DataError(f"{trouble} functional is named {functional!r}; there are: {', '.join(est.names)}.")
    if not -len(est) <= functional < len(est):
        raise DataError(f"functional {functional} of {len(est)}: count from 0, or use a name.")
    return int(functional) % len(est)


def _combine(est: E, w: np.ndarray, names: tuple[str, ...], *, joint: bool) -> E:
    corrections = est.correction
    if not isinstance(corrections, str):
        used = [dict.fromkeys(c for c, x in zip(est.correction, row, strict=True) if x) for row in w]
        corrections = tuple(" + ".join(names_) for names_ in used) if joint else " + ".join(used[0])
    powered = est.ppi
    if powered is not None:
        # a row that mixes functionals mixes their l as well: there is no single one to show
        alone = (w != 0).sum(1) == 1
        first = np.argmax(w != 0, axis=1)
        powered = replace(
            powered,
            lam=np.where(alone, powered.lam[:, first], np.nan),
            shift=np.where(alone, powered.shift[first], 0.0),
        )
    return replace(
        est,
        scores=_combined_scores(est.scores, w, names),
        arms=tuple(arm.combine(w) for arm in est.arms),
        plugin_arms=tuple(arm.combine(w) for arm in est.plugin_arms),
        joint=joint,
        correction=corrections,
        verdicts=tuple(together(v for v, x in zip(est.verdicts, row, strict=True) if x) for row in w)
        if est.verdicts
        else (),
        ppi=powered,
        fieller=est.fieller if joint is False and np.array_equal(w, [[1.0]]) else None,
    )


def _combined_scores(scores: Scores, w: np.ndarray, names: tuple[str, ...]) -> Scores:
    variance = None
    if scores.correction_var is not None and ((w != 0).sum(1) <= 1).all():
        # known without the covariances between functionals only where each row takes one of them
        variance = np.nan_to_num(scores.correction_var) @ (w**2).T
        variance[(np.isnan(scores.correction_var) @ (w != 0).T.astype(float)) > 0] = np.nan
    return replace(
        scores,
        plugin=scores.plugin @ w.T,
        correction=scores.correction @ w.T,
        unlabeled=None if scores.unlabeled is None else scores.unlabeled @ w.T,
        correction_var=variance,
        names=names,
    )


def _formula(row: np.ndarray, names: tuple[str, ...]) -> str:
    text = ""
    for weight, name in zip(row, names, strict=True):
        if weight == 0:
            continue
        size = "" if abs(weight) == 1 else f"{abs(weight):g} "
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        text += f"{sign}{size}{name}"
    return text or "0"
