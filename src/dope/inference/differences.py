"""One estimate less another: the same units, or two independent arms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dope.data import DataError
from dope.inference.notes import together
from dope.inference.repeats import tiled
from dope.inference.variance import Arm, codes
from dope.scores import Scores

if TYPE_CHECKING:
    from dope.inference.result import Estimate

E = TypeVar("E", bound="Estimate")


def difference(one: E, two: Estimate, paired: bool | None) -> E:
    if len(one) != len(two):
        raise DataError(f"{len(one)} functionals less {len(two)}: both estimates need the same functionals.")
    order = _matching(one.scores.ids, two.scores.ids)
    if paired is None:
        paired = order is not None
    if paired and (order is None or len(one.arms) > 1 or len(two.arms) > 1):
        raise DataError(
            "a paired difference needs the same units in both estimates, each id once: give ids to both data sets, "
            "or compare independent samples with paired=False."
        )
    names = tuple(f"{a} difference" if a == b else f"{a} - {b}" for a, b in zip(one.names, two.names, strict=True))
    if paired and not _same_weights(one.scores, two.scores, order):
        raise DataError(
            "a paired difference needs the same unit weights in both estimates: pass the same unit_weights= to both."
        )
    if paired:
        arms, plugin_arms = _paired(one.arms, two.arms, order), _paired(one.plugin_arms, two.plugin_arms, order)
        scores = _paired_scores(one.scores, two.scores, order, names)
    else:
        minus = -np.eye(len(two))
        arms = one.arms + tuple(arm.combine(minus) for arm in two.arms)
        plugin_arms = one.plugin_arms + tuple(arm.combine(minus) for arm in two.plugin_arms)
        scores = _stacked_scores(one.scores, two.scores, names)
    remarks = tuple(dict.fromkeys(one.remarks + two.remarks))
    verdicts = ()
    if one.verdicts and two.verdicts:
        verdicts = tuple(together(pair) for pair in zip(one.verdicts, two.verdicts, strict=True))
    else:  # one of the two was not checked: no verdict, but no warning is lost either
        remarks += together(one.verdicts + two.verdicts).warnings
    if not paired and order is None and _partly_shared(one.scores.ids, two.scores.ids):
        remarks += ("Some ids occur in both arms, which are compared as independent samples.",)
    return replace(
        one,
        scores=scores,
        arms=arms,
        plugin_arms=plugin_arms,
        joint=one.joint,
        correction=one.correction if one.correction == two.correction else f"{_text(one)} / {_text(two)}",
        weights=one.weights if one.weights == two.weights else f"{one.weights} / {two.weights}",
        reasons=tuple(dict.fromkeys(one.reasons + two.reasons)),
        remarks=remarks,
        verdicts=verdicts,
        ppi=None,
        fieller=None,
        meta={"first": dict(one.meta), "second": dict(two.meta), "paired": paired},
    )


def _text(est: Estimate) -> str:
    return est.correction if isinstance(est.correction, str) else ", ".join(dict.fromkeys(est.correction))


def _matching(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Where each id of `a` stands in `b`; None unless both hold the same ids, each once."""
    a, b = np.asarray(a), np.asarray(b)
    if len(a) != len(b):
        return None
    place = {label: k for k, label in enumerate(b.tolist())}
    order = [place.get(label) for label in a.tolist()]
    return np.array(order) if None not in order and len(set(order)) == len(a) else None


def _same_weights(one: Scores, two: Scores, order: np.ndarray) -> bool:
    if one.relative_weight is None and two.relative_weight is None:
        return True
    a, b = (np.ones(len(s)) if (w := s.relative_weight) is None else w for s in (one, two))
    return np.allclose(a, b[order], rtol=1e-9, atol=0)


def _partly_shared(a: np.ndarray, b: np.ndarray) -> bool:
    numbered = all(np.array_equal(np.asarray(x), np.arange(len(x))) for x in (a, b))
    return not numbered and bool(set(np.asarray(a).tolist()) & set(np.asarray(b).tolist()))


def _paired(ones: tuple[Arm, ...], twos: tuple[Arm, ...], order: np.ndarray) -> tuple[Arm, ...]:
    one, two = ones[0], twos[0]
    repeats = math.lcm(len(one.terms), len(two.terms))
    a, b = tiled(one, repeats), tiled(two, repeats)
    if a.known is not None and b.known is not None:
        # nothing says whether both saw the same unlabelled inputs: Var(u - v) <= 2 Var u + 2 Var v holds in any case
        known = 2 * (a.known + b.known)
    else:
        known = b.known if a.known is None else a.known
    group = b.group[order] if a.group is None and b.group is not None else a.group
    return (Arm(a.terms - b.terms[:, order], group, known, a.weight),)


def _paired_scores(one: Scores, two: Scores, order: np.ndarray, names: tuple[str, ...]) -> Scores:
    repeats = math.lcm(len(one.plugin), len(two.plugin))
    tile = lambda table: np.tile(table, (repeats // len(table), 1, 1))  # noqa: E731
    return replace(
        one,
        plugin=tile(one.plugin) - tile(two.plugin)[:, order],
        correction=tile(one.correction) - tile(two.correction)[:, order],
        fold=np.tile(one.fold, (repeats // len(one.fold), 1)),
        group=two.group[order] if one.group is None and two.group is not None else one.group,
        unlabeled=None,
        correction_var=None,
        names=names,
    )


def _stacked_scores(one: Scores, two: Scores, names: tuple[str, ...]) -> Scores:
    """Both arms in one table, scaled so that its mean over all units is the difference of the two means."""
    weights = [s.relative_weight for s in (one, two)]
    sizes = [len(s) if w is None else np.count_nonzero(w) for s, w in zip((one, two), weights, strict=True)]
    n = sum(sizes)
    repeats = math.lcm(len(one.plugin), len(two.plugin))

    def stack(a: np.ndarray, b: np.ndarray, scale: tuple[float, float] = (1, 1)) -> np.ndarray:
        rest = (1,) * (a.ndim - 1)
        return np.concatenate(
            [np.tile(x, (repeats // len(x), *rest)) * s for x, s in ((a, scale[0]), (b, scale[1]))], axis=1
        )

    scale = (n / sizes[0], -n / sizes[1])
    unit_weight = None
    if any(w is not None for w in weights):
        unit_weight = np.concatenate(
            [np.ones(len(s)) if w is None else w for s, w in zip((one, two), weights, strict=True)]
        )
    group = None
    if one.group is not None or two.group is not None:
        labels = [s.ids if s.group is None else s.group for s in (one, two)]
        first, second = (codes(x) for x in labels)
        group = np.concatenate([first, second + first.max() + 1])
    counts = None if one.counts is None or two.counts is None else np.concatenate([one.counts, two.counts])
    return Scores(
        plugin=stack(one.plugin, two.plugin, scale),
        correction=stack(one.correction, two.correction, scale),
        fold=stack(one.fold, two.fold),
        ids=np.concatenate([np.asarray(one.ids), np.asarray(two.ids)]),
        names=names,
        group=group,
        counts=counts,
        unit_weight=unit_weight,
    )
