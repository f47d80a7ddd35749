"""The answer: a value with its uncertainty, and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from dope.data import DataError
from dope.inference import bands, bootstrap, cautions, contrasts, differences, planning, ratios, second_stage, tables
from dope.inference.notes import Note, Verdict, warned
from dope.inference.ppi import Powered
from dope.inference.ppi import arms as ppi_arms
from dope.inference.ppi import check as check_ppi
from dope.inference.ratios import Fieller
from dope.inference.repeats import moments
from dope.inference.variance import Arm, quantile_t, two_sided_p
from dope.scores import Scores

if TYPE_CHECKING:
    import pandas as pd

Number = float | np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """`theta = E[g(S0(A))]`, debiased, with intervals.

    `value`, `se`, `df`, `plugin` and `plugin_se` are floats for one functional and arrays `(G,)` for a joint
    estimate; `covariance` is `(G, G)` always. The interval, the standard error and the p-value agree with one
    another: a null value is rejected at 5 % exactly where it lies outside the 95 % interval.

    Made by `dope.inference.estimate`; `contrast`, `ratio` and `difference` return further ones, on which
    everything works again. `arms` are the samples whose means add up to the value (one, but for a difference of
    independent arms), `plugin_arms` the same without any correction. `verdicts` say for each functional what the checks
    of the fit behind it found; there are none where nothing was checked.
    """

    scores: Scores
    arms: tuple[Arm, ...]
    plugin_arms: tuple[Arm, ...]
    joint: bool = False
    level: float = 0.95
    correction: str | tuple[str, ...] = "one-step"
    weights: str = "shared"
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    ppi: Powered | None = None
    fieller: Fieller | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, estimate: Estimate, **more: Any) -> Self:
        """An existing estimate as this class, with the further fields of a subclass."""
        kept = {f.name: getattr(estimate, f.name) for f in fields(estimate) if f.name in cls.__dataclass_fields__}
        return cls(**(kept | more))

    # ---- the numbers ----------------------------------------------------------------------------------
    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return moments(self.arms)

    @cached_property
    def _plugin_moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return moments(self.plugin_arms)

    @property
    def names(self) -> tuple[str, ...]:
        return self.scores.names

    @property
    def value(self) -> Number:
        return self._shape(self._moments[0])

    @property
    def covariance(self) -> np.ndarray:
        """`(G, G)`: of the estimates of the functionals."""
        return self._moments[1].copy()

    @property
    def se(self) -> Number:
        return self._shape(np.sqrt(np.diag(self.covariance)))

    @property
    def df(self) -> Number:
        """Degrees of freedom of the t interval: n - 1; with groups, groups - 1; Welch's for independent arms."""
        return self._shape(self._moments[2])

    @property
    def n(self) -> int:
        """Units in the scores, less those of weight 0; unlabelled inputs are not counted."""
        return sum(arm.n for arm in self.arms)

    @property
    def plugin(self) -> Number:
        """The plug-in value: the operator's predictions believed as they are."""
        return self._shape(self._plugin_moments[0])

    @property
    def plugin_se(self) -> Number:
        """The spread of the plug-in; it knows nothing of the operator's error."""
        return self._shape(np.sqrt(np.diag(self._plugin_moments[1])))

    @cached_property
    def cautions(self) -> tuple[Note, ...]:
        """What must be read together with the intervals, and with which of them."""
        return (*self._told, *cautions.of(self))

    @property
    def notes(self) -> tuple[str, ...]:
        """The same in words: each names the functionals it concerns, where these are not all."""
        return tuple(str(note) for note in self.cautions)

    @property
    def _told(self) -> tuple[Note, ...]:
        """What the makers of the scores say."""
        return (*(Note(text) for text in self.remarks), *warned(self.names, self.verdicts))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, functional: str | int) -> Self:
        """One functional of a joint estimate, as an estimate of its own."""
        return contrasts.select(self, functional)

    # ---- one at a time --------------------------------------------------------------------------------
    def conf_int(self, level: float | None = None) -> tuple[float, float] | np.ndarray:
        """`(low, high)`, or `(G, 2)` for a joint estimate: each row covers at `level` by itself."""
        level = self._level(level)
        if self.fieller is not None:
            return self.fieller.interval(level)
        half = quantile_t((1 + level) / 2, self._moments[2]) * np.sqrt(np.diag(self.covariance))
        return self._ends(np.stack([self._moments[0] - half, self._moments[0] + half], axis=1))

    def tstat(self, null: ArrayLike = 0.0) -> Number:
        """(value - null) / se."""
        if self.fieller is not None:
            return self.fieller.tstat(float(np.asarray(null)))
        gap, se = self._moments[0] - np.asarray(null, float), np.sqrt(np.diag(self.covariance))
        # scores without any spread: an estimate off the null is infinitely many standard errors away from it
        exact = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
        return self._shape(np.divide(gap, se, out=exact, where=se > 0))

    def pvalue(self, null: ArrayLike = 0.0) -> Number:
        """Two-sided p-value of `theta = null`."""
        df = self._moments[2] if self.fieller is None else self.fieller.df
        return self._shape(two_sided_p(np.atleast_1d(self.tstat(null)), df))

    def equivalence(self, low: ArrayLike, high: ArrayLike, alpha: float = 0.05) -> bands.Equivalence:
        """Two one-sided tests (TOST) that theta lies between `low` and `high`."""
        return bands.equivalence(self, low, high, alpha)

    def bootstrap(
        self, level: float | None = None, draws: int = 1999, seed: int = 0
    ) -> tuple[float, float] | np.ndarray:
        """Bootstrap-t interval, in the form of `conf_int`: for skewed scores. Whole groups are resampled."""
        self._refuse_fieller("bootstrap")
        return self._ends(bootstrap.intervals(self.arms, self._level(level), draws, seed))

    # ---- all together ---------------------------------------------------------------------------------
    def joint_conf_int(self, level: float | None = None, draws: int = 20_000, seed: int = 0) -> np.ndarray:
        """`(G, 2)` sup-t band: all functionals are covered together at `level`."""
        self._refuse_fieller("joint_conf_int")
        return bands.simultaneous(*self._moments, self._level(level), draws, seed)

    def holm(self, null: ArrayLike = 0.0) -> Number:
        """Holm's p-values: rejecting those below alpha makes any false rejection at most alpha likely."""
        return self._shape(bands.holm(np.atleast_1d(self.pvalue(null))))

    # ---- further estimates ----------------------------------------------------------------------------
    def contrast(self, weights: ArrayLike | Mapping[str, float], names: str | tuple[str, ...] | None = None) -> Self:
        """Linear combinations: a vector or `{name: weight}` gives one estimate, a matrix `(H, G)` a joint one."""
        return contrasts.contrast(self, weights, names)

    def ratio(
        self, numerator: str | int, denominator: str | int, method: Literal["delta", "fieller"] = "delta"
    ) -> Self:
        """One functional over another. `fieller` stays valid where the denominator is close to 0."""
        return ratios.ratio(self, numerator, denominator, method)

    def difference(self, other: Estimate, paired: bool | None = None) -> Self:
        """`self - other`: paired by ids when both have the same ones, otherwise two independent arms (Welch).

        Pairing independent arms that merely share their ids is harmless (a paired t-test stays valid and loses
        degrees of freedom); treating the same units as independent is not. Hence the default.
        """
        return differences.difference(self, other, paired)

    def regress(
        self, features: Any, *, spline: int | None = None, learner: Any = None
    ) -> second_stage.Regression | second_stage.Learned:
        """Second stage: how `g(S0(a))` varies with features of the input.

        features : (n,) or (n, p) numbers, a DataFrame, or (n,) labels, which give the means of the groups.
        spline : degrees of freedom of a natural cubic spline in one feature; linear otherwise.
        learner : a scikit-learn regressor, cross-fitted by the existing folds; its calibration is tested.
        """
        return second_stage.regress(self, features, spline=spline, learner=learner)

    def plan(self, precision: float | None = None, **settings: Any) -> planning.Plan:
        """Units and points per unit of a next study; see `dope.inference.planning.plan`."""
        return planning.plan(self, precision, **settings)

    # ---- words ----------------------------------------------------------------------------------------
    def summary(self, level: float | None = None) -> str:
        return tables.summary(self, self._level(level))

    def to_frame(self, level: float | None = None) -> pd.DataFrame:
        return tables.to_frame(self, self._level(level))

    def to_json(self, level: float | None = None) -> str:
        return tables.to_json(self, self._level(level))

    def to_latex(self, level: float | None = None) -> str:
        return tables.to_latex(self, self._level(level))

    def __repr__(self) -> str:
        return tables.short(self)

    def _repr_html_(self) -> str:
        return tables.to_html(self, self.level)

    # ---- helpers --------------------------------------------------------------------------------------
    def _shape(self, array: np.ndarray) -> Number:
        array = np.asarray(array, float)
        return array.copy() if self.joint else float(array.reshape(-1)[0])

    def _ends(self, array: np.ndarray) -> tuple[float, float] | np.ndarray:
        return array if self.joint else (float(array[0, 0]), float(array[0, 1]))

    def _level(self, level: float | None) -> float:
        level = self.level if level is None else level
        if not 0 < level < 1:
            raise DataError(f"a level lies between 0 and 1, e.g. 0.95; got {level}.")
        return float(level)

    def _refuse_fieller(self, what: str) -> None:
        if self.fieller is not None:
            raise DataError(f'{what} is not defined for a Fieller ratio: use ratio(..., method="delta").')


def estimate(
    scores: Scores,
    *,
    joint: bool | None = None,
    ppi: Literal["tuned", "paper"] | float | None = "tuned",
    level: float = 0.95,
    correction: str | tuple[str, ...] = "one-step",
    weights: str = "shared",
    reasons: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    meta: Mapping[str, Any] | None = None,
) -> Estimate:
    """The estimate that a table of scores holds.

    joint : whether the numbers come as arrays; by default where there are several functionals.
    ppi : how unlabelled inputs are used, where the scores hold any: power-tuned, as in the paper, with a given
        `l`, or (None) not at all.
    level : of the intervals in tables, and the default of `conf_int`.
    correction, weights, reasons, notes, meta : what the makers of the scores did and why, shown with the result.
        `meta` must survive `json.dumps`.
    """
    _check(scores)
    check_ppi(scores, ppi)
    joint = len(scores.names) > 1 if joint is None else joint
    if not joint and len(scores.names) > 1:
        raise DataError(f"{len(scores.names)} functionals are a joint estimate: pass joint=True.")
    if not isinstance(correction, str) and len(correction) != len(scores.names):
        raise DataError(f"{len(correction)} corrections for {len(scores.names)} functionals: one each, or one name.")
    arm, plugin_arm, powered = ppi_arms(scores, ppi)
    out = Estimate(
        scores=scores,
        arms=(arm,),
        plugin_arms=(plugin_arm,),
        joint=joint,
        correction=correction if isinstance(correction, str) else tuple(correction),
        weights=weights,
        reasons=tuple(reasons),
        remarks=tuple(notes),
        ppi=powered,
        meta=dict(meta or {}),
    )
    return replace(out, level=out._level(level))


def _check(scores: Scores) -> None:
    for what, table in (("plug-in", scores.plugin), ("correction", scores.correction)):
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            r, i, g = bad[0]
            raise DataError(
                f"the {what} of unit {str(scores.ids[i])!r} for {scores.names[g]!r} is not finite (repeat {r}; "
                f"{len(bad)} value(s) in all): look at that unit's input, observations and weights."
            )
    if scores.group is not None and np.shape(scores.group) != (len(scores),):
        raise DataError(f"group has shape {np.shape(scores.group)}, expected a label for each of {len(scores)} units.")
