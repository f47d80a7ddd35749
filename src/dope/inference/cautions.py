"""What the numbers themselves warn of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dope.inference.notes import Note
from dope.inference.variance import Arm

if TYPE_CHECKING:
    from dope.inference.result import Estimate

# Edgeworth expansion of the t statistic: skewness gamma of n independent terms changes the coverage of a two-sided
# 95 % interval by -0.247 gamma^2 / n (the gamma^2 term of 2 q2(1.96) phi(1.96) / n). It loses one percentage point
# where |gamma| / sqrt(n) = 0.20 (Cochran's rule n > 25 gamma^2); one tail then holds 4.2 % instead of 2.5 %.
SKEW_LIMIT = 0.20
# with fewer terms the t interval rests on their being normal
FEW = 10
# The cluster variance covers at its level with as few as 6 groups of equal size, but not with groups of very unequal
# size: normal scores lose 1 to 2 percentage points where sum_c (N_c/n)^2 exceeds 1/C by 0.015 (20 groups of 1 to 9
# units: 93.7 %), and 6 where it does by 0.1 (10 groups of 1 to 21 units, growing as the cube: 88 %).
UNEQUAL_LIMIT = 0.015
# Unit weights give a few units a large share of the mean in the same way, by the same measure (normal scores, weights
# independent of them: 92.7 % at n = 40 where the excess is 0.020, 93.3 % at n = 200 where it is 0.014).
# z-score between labelled and unlabelled predictions that chance alone gives once in a thousand
SHIFT_LIMIT = 3.3


def of(est: Estimate) -> tuple[Note, ...]:
    """Warnings in words, to be shown beside every interval that they concern."""
    return (*_few(est), *_skewed(est), *_shifted(est), *_weak_denominator(est))


def estimator_skewness(arms: tuple[Arm, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Skewness (G,) of the estimator's own law, `gamma / sqrt(n)` for n independent units, and its standard error
    where the terms are not skewed at all. The median over repeats."""
    third, var, noise = 0.0, 0.0, 0.0
    for arm in arms:
        e = arm.residuals / arm.n
        third = third + np.median((e**3).sum(1), axis=0)
        var = var + np.median((e**2).sum(1), axis=0)
        noise = noise + 6 * np.median((e**2).sum(1), axis=0) ** 3 / arm.clusters**2
    known = sum(np.median(np.diagonal(a.known, axis1=1, axis2=2), axis=0) for a in arms if a.known is not None)
    scale = (var + known) ** 1.5
    zero = np.zeros_like(scale)
    return (
        np.divide(third, scale, out=zero.copy(), where=scale > 0),
        np.divide(np.sqrt(noise), scale, out=zero.copy(), where=scale > 0),
    )


def _skewed(est: Estimate) -> tuple[Note, ...]:
    if est.fieller is not None:
        return ()
    skew, noise = estimator_skewness(est.arms)
    # a few terms look skewed by chance: only what chance does not explain is reported
    strong = (np.abs(skew) > SKEW_LIMIT) & (np.abs(skew) > 2 * noise)
    if not strong.any():
        return ()
    names = () if strong.all() else tuple(name for name, bad in zip(est.names, strong, strict=True) if bad)
    worst = float(np.abs(skew).max())
    text = (
        "The scores are strongly skewed for this number of "
        f"{'units' if all(a.group is None for a in est.arms) else 'groups'} (skewness / sqrt(n) = {worst:.2f}, "
        f"limit {SKEW_LIMIT:.2f}): a 95 % t interval loses a percentage point of coverage or more, on one side. "
        "Use the bootstrap-t interval: .bootstrap()."
    )
    return (Note(text, names),)


def _few(est: Estimate) -> tuple[Note, ...]:
    out = []
    for arm in est.arms:
        what = "units" if arm.group is None else "independent groups"
        if arm.clusters < FEW:
            out.append(f"Only {arm.clusters} {what}: the interval rests on the scores being close to normal.")
        concentration = float((arm.sizes**2).sum() / arm.n**2)
        if concentration - 1 / arm.clusters > UNEQUAL_LIMIT:
            kind, error = ("groups", "cluster standard error") if arm.group is not None else ("units", "standard error")
            uneven = "of very unequal size" if arm.weight is None else "of very unequal weight"
            out.append(
                f"The {kind} are {uneven}: {arm.clusters} of them count as {1 / concentration:.1f} equal "
                f"ones, and the {error} is too small."
            )
    return tuple(Note(text) for text in dict.fromkeys(out))


def _shifted(est: Estimate) -> tuple[Note, ...]:
    if est.ppi is None:
        return ()
    z = float(np.abs(est.ppi.shift).max())
    if z < SHIFT_LIMIT:
        return ()
    text = (
        f"Predictions on the unlabelled inputs differ from those on the labelled ones by {z:.1f} standard errors: "
        "if these inputs do not come from the same population, use ppi=None."
    )
    return (Note(text),)


def _weak_denominator(est: Estimate) -> tuple[Note, ...]:
    if est.fieller is None or np.isfinite(est.fieller.interval(est.level)).all():
        return ()
    text = (
        f"The ratio's denominator cannot be told from 0 at the {100 * est.level:g} % level: "
        "no bounded interval covers the ratio."
    )
    return (Note(text),)
