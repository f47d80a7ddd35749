"""The rows of a repeat: which estimators there are, and what each one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dope import inference
from dope.functionals import Integral
from dope.inference import Estimate
from dope.studies.case import Answer, Case

# name -> (weights, correction) of fit.estimate. "auto" is what a user gets who names neither.
_ESTIMATES = {
    "plugin": ("shared", "none"),
    "one-step": ("shared", "one-step"),
    "exact": ("shared", "exact"),
    "targeted": ("shared", "targeted"),
    "auto": ("shared", "auto"),
    "structured": ("structured", "one-step"),
    "direct": ("direct", "one-step"),
    "design": ("design", "one-step"),
    "exact-design": ("design", "exact"),
}
# The true weight at the true solution: w/p as in the published experiments, and with inclusion probabilities.
_ORACLES = {"oracle": False, "oracle-pi": True}

ESTIMATORS = (*_ESTIMATES, *_ORACLES)


def standard(case: Case, names: Sequence[str]) -> Iterator[Answer]:
    """The floor and the named estimators, for every functional of the case."""
    for g, functional in case.functionals.items():
        yield case.floor(g)
        for name in names:
            if _ESTIMATES.get(name, ("", ""))[1] == "exact" and not isinstance(functional, Integral):
                continue  # there is no exact correction
            yield case.answer(g, name, maker(case, g, name))


def maker(case: Case, g: str, name: str) -> Callable[[], Estimate]:
    """How the named estimator is computed."""
    if name in _ORACLES:
        return lambda: case.one_step(g, case.fit.fields, case.oracle_beta(g, inclusion=_ORACLES[name])[None])
    weights, correction = _ESTIMATES[name]

    def make() -> Estimate:
        # the scores alone: what an estimate says of itself besides is for readers, and takes longer than the numbers
        scores, _, _ = case.fit.scores([case.functionals[g]], [g], weights=weights, correction=correction)
        return inference.estimate(scores, joint=False)

    return make
