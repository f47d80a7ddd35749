"""What a fit answers with: estimates, regressions and diagnoses that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dope.diagnostics import Diagnosis
from dope.functionals import Functional
from dope.inference import Estimate, Learned, Regression

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dope.fitted import Fit


@dataclass(frozen=True, eq=False, repr=False)
class FittedEstimate(Estimate):
    """An estimate that knows the fit it came from, so that it can be drawn and reported."""

    fit: Fit | None = None
    functionals: tuple[Functional, ...] = ()
    diagnoses: tuple[FittedDiagnosis, ...] = ()

    def __getitem__(self, functional: str | int) -> Self:
        one = super().__getitem__(functional)
        asked = [d.functional for d in self.diagnoses]
        if asked != list(self.names):  # a contrast: its rows are none of the functionals
            return one
        k = asked.index(one.names[0])
        return replace(one, functionals=self.functionals[k : k + 1], diagnoses=self.diagnoses[k : k + 1])

    def plot(self, ax: Axes | Sequence[Axes] | np.ndarray | None = None) -> Axes | np.ndarray:
        """Estimates and intervals, with the plug-in beside them: on one axes, or by default one for each functional."""
        from dope.reports import plots

        return plots.forest(self, ax)

    def regress(self, features: Any, *, spline: int | None = None, learner: Any = None) -> FittedRegression | Learned:
        found = super().regress(features, spline=spline, learner=learner)
        return found if isinstance(found, Learned) else FittedRegression(**_parts(found))

    regress.__doc__ = Estimate.regress.__doc__


@dataclass(frozen=True, eq=False, repr=False)
class FittedRegression(Regression):
    """A second stage that can be drawn."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """The curve over one numeric feature, or a bar for the mean of each label, with intervals and bands."""
        from dope.reports import plots

        return plots.second_stage(self, ax)


@dataclass(frozen=True, eq=False, repr=False)
class FittedDiagnosis(Diagnosis):
    """A diagnosis that can be drawn."""

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> FittedDiagnosis:
        return cls(**_parts(diagnosis))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The love plot: in which directions the weighted points fail to stand for the domain."""
        from dope.reports import plots

        return plots.balance(self, ax)


def _parts(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}
