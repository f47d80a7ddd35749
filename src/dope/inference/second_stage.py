"""Second stage: `g(S0(a))` as a function of features of the input, from debiased pseudo-outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.data import DataError
from dope.inference.bands import root_of, sup_t
from dope.inference.features import Basis, basis_for, rows
from dope.inference.repeats import aggregate
from dope.inference.variance import cluster_sums, group_codes, quantile_t, two_sided_p

if TYPE_CHECKING:
    import pandas as pd

    from dope.inference.result import Estimate


@dataclass(frozen=True, eq=False)
class Prediction:
    """The regression at given places: `low`, `high` cover each place, `band_low`, `band_high` all of them at once."""

    value: np.ndarray
    se: np.ndarray
    low: np.ndarray
    high: np.ndarray
    band_low: np.ndarray
    band_high: np.ndarray
    level: float

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        columns = ("value", "se", "low", "high", "band_low", "band_high")
        return pd.DataFrame({name: getattr(self, name) for name in columns})


@dataclass(frozen=True, eq=False)
class Regression:
    """The best linear projection of the pseudo-outcomes on a basis, or the means of groups of units.

    `covariance` is HC3; with groups of units the cluster form of HC3, which leaves out one cluster at a time and
    is HC3 again where every cluster is one unit. Means of labels have the standard error of a mean, each with
    its own degrees of freedom. `terms` (R, units or clusters, p) are what each one adds to the coefficients: their
    squares sum to the variance.

    Unit weights make it the projection in the population that the weighted units stand for: weighted least squares,
    with the same errors of its weighted rows. `notes` are the warnings of the estimate that it comes from, `meta`
    its origin.
    """

    names: tuple[str, ...]
    coef: np.ndarray
    covariance: np.ndarray
    df: np.ndarray
    n: int
    basis: Basis | None
    terms: np.ndarray
    level: float = 0.95
    notes: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def se(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))

    def conf_int(self, level: float | None = None) -> np.ndarray:
        """`(p, 2)`"""
        half = quantile_t((1 + (level or self.level)) / 2, self.df) * self.se
        return np.stack([self.coef - half, self.coef + half], axis=1)

    def joint_conf_int(self, level: float | None = None, draws: int = 20_000, seed: int = 0) -> np.ndarray:
        """`(p, 2)` sup-t band over all coefficients."""
        df = self._variance_df(np.eye(len(self.coef)), self.df)
        wide = sup_t(root_of(self.covariance), df, level or self.level, draws, seed) * self.se
        return np.stack([self.coef - wide, self.coef + wide], axis=1)

    def pvalue(self, null: float = 0.0) -> np.ndarray:
        return two_sided_p((self.coef - null) / self.se, self.df)

    def predict(self, features: Any, level: float | None = None, draws: int = 20_000, seed: int = 0) -> Prediction:
        """At new features, in the form of those of the fit, with a band that is uniform over them."""
        if self.basis is None:
            raise DataError("a calibration has no features of its own: use predict of the learner's result.")
        level = level or self.level
        x = self.basis.matrix(features)
        root = x @ root_of(self.covariance)
        value, se = x @ self.coef, np.sqrt((root**2).sum(1))
        # a mixture of coefficients has at least the degrees of freedom of the least certain one it uses
        df = np.array([self.df[row != 0].min() for row in x])
        half = quantile_t((1 + level) / 2, df) * se
        wide = sup_t(root, self._variance_df(x, df), level, draws, seed) * se
        return Prediction(value, se, value - half, value + half, value - wide, value + wide, level)

    def _variance_df(self, x: np.ndarray, most: np.ndarray) -> np.ndarray:
        """Degrees of freedom of each place's own variance estimate, for the band.

        A variance is a sum of squares u_i^2, few of which matter near the edge of the features: normal u_i give it
        3 (sum u^2)^2 / sum u^4 degrees of freedom. A band looks for its worst place, so these count for it: with
        n - p everywhere it covers 93 % at n = 100. One place alone is no band, and keeps n - p.
        """
        if len(x) == 1:
            return most
        u2 = np.einsum("mp,rcp->rmc", x, self.terms) ** 2
        fourth = (u2**2).sum(2)
        df = np.divide(3 * u2.sum(2) ** 2, fourth, out=np.full(fourth.shape, np.inf), where=fourth > 0)
        return np.minimum(np.median(df, axis=0), most)

    def to_frame(self, level: float | None = None) -> pd.DataFrame:
        import pandas as pd

        ends = self.conf_int(level)
        columns = {"estimate": self.coef, "se": self.se, "t": self.coef / self.se, "p": self.pvalue()}
        columns |= {"low": ends[:, 0], "high": ends[:, 1], "df": self.df}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    def __repr__(self) -> str:
        table = self.to_frame().to_string(float_format=lambda v: f"{v:.4g}")
        return "\n".join([f"Regression of {self.n} units", table, *(f"WARNING: {note}" for note in self.notes)])


@dataclass(frozen=True, eq=False)
class Learned:
    """A cross-fitted regressor of the pseudo-outcomes.

    `fitted` (n,) are out-of-fold predictions, `r2` the share of the pseudo-outcomes' variance that they explain
    (their noise counts against it), `calibration` the slope of the pseudo-outcomes on the predictions, centred
    within folds: 1 says that they are right in size; one not clearly above 0, that they say nothing.

    The slope's variance is twice that of a regression on given predictions. Where there is nothing to find, the
    slope is a sum over pairs of units, each of which counts twice: once as predicted and once as predicting. With the
    plain variance a least-squares learner of pure noise is called significant in 18 % of studies instead of 5 %.
    """

    fitted: np.ndarray
    r2: float
    calibration: Regression
    models: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"Learned({len(self.models)} models, out-of-fold r2 = {self.r2:.3g})\ncalibration: {self.calibration!r}"

    def predict(self, features: Any) -> np.ndarray:
        """The mean of the folds' models; no interval is known for an arbitrary learner."""
        return np.mean([model.predict(_table(features)) for model in self.models], axis=0)


def regress(est: Estimate, features: Any, *, spline: int | None, learner: Any) -> Regression | Learned:
    if len(est) > 1:
        raise DataError('a second stage takes one functional: est["name"].regress(...).')
    if len(est.arms) > 1 or est.fieller is not None:
        raise DataError("a second stage takes the estimate of one sample, not a comparison of arms or a Fieller ratio.")
    if len(features) != len(est.scores):
        raise DataError(f"features have {len(features)} rows, the estimate {len(est.scores)} units: one row each.")
    psi = est.scores.psi[:, :, 0]
    group, weight = group_codes(est.scores.group), est.scores.relative_weight
    if learner is not None:
        if spline is not None:
            raise DataError("give a spline or a learner, not both.")
        if weight is not None:
            raise DataError("a learner takes no unit weights: use spline=, linear features or labels, which do.")
        return _learn(est, features, learner, psi, group)
    basis = basis_for(features, spline)
    x = basis.matrix(features)
    if basis.means:
        counted = x if weight is None else x * weight[:, None]
        parts = [_means(counted, y, group, basis.names) for y in psi]
        df = _clusters(counted, group) - 1.0
    else:
        # least squares of rows times the root of their weights
        root = np.ones(len(x)) if weight is None else np.sqrt(weight)
        parts = [_least_squares(x * root[:, None], y * root, group, basis.names) for y in psi]
        independent = int(_clusters(root[:, None], group)[0])
        df = np.full(x.shape[1], float(independent - (x.shape[1] if group is None else 1)))
    coef, covariance, terms = _together(parts)
    return Regression(basis.names, coef, covariance, df, est.n, basis, terms, est.level, _notes(est), dict(est.meta))


def _notes(est: Estimate) -> tuple[str, ...]:
    """Warnings of the fit; those of the mean's own interval say nothing of a regression."""
    return tuple(str(note) for note in est._told)


def _clusters(values: np.ndarray, group: np.ndarray | None) -> np.ndarray:
    """(p,): in how many units or clusters each column of `values` (n, p), none of them negative, is not 0."""
    return (cluster_sums(values[None], group)[0] > 0).sum(0)


def _together(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients, covariance and terms over the repeats, from each repeat's coefficients and terms."""
    terms = np.stack([t for _, t in parts])
    coef, covariance = aggregate(np.stack([c for c, _ in parts]), np.einsum("rcp,rcq->rpq", terms, terms))
    return coef, covariance, terms


def _least_squares(
    x: np.ndarray, y: np.ndarray, group: np.ndarray | None, names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and the terms (units or clusters, p) whose outer products sum to HC3 or its cluster form."""
    n, p = np.count_nonzero(x.any(1)), x.shape[1]  # a unit of weight 0 is a row of zeros
    if n <= p:
        raise DataError(f"{n} units cannot hold {p} coefficients: use fewer features.")
    q, r = np.linalg.qr(x)
    size = np.abs(np.diag(r)) / np.sqrt((x**2).sum(0)).clip(1e-300)
    if size.min() < 1e-9:
        raise DataError(f"feature {names[int(np.argmin(size))]!r} follows from the others: leave it out.")
    coef = np.linalg.solve(r, q.T @ y)
    e = y - x @ coef
    if group is None:
        room = 1 - (q**2).sum(1)
        scores = q * (e / np.where(room > 1e-9, room, np.nan))[:, None]
        bad, what = np.isnan(scores).any(1), "unit"
    else:
        m = np.zeros((int(group.max()) + 1, p, p))
        np.add.at(m, group, q[:, :, None] * q[:, None, :])
        bad, what = np.linalg.eigvalsh(m)[:, -1] > 1 - 1e-9, "group"
        if not bad.any():
            scores = np.linalg.solve(np.eye(p) - m, cluster_sums((q * e[:, None])[None], group)[0][:, :, None])[:, :, 0]
    if bad.any():
        raise DataError(
            f"a coefficient rests on {what} {int(np.argmax(bad))} alone, so that it has no standard error: "
            f"leave out or merge the feature that singles out this {what}."
        )
    return coef, np.linalg.solve(r, scores.T).T


def _means(
    x: np.ndarray, y: np.ndarray, group: np.ndarray | None, names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Means of labels, and terms that give each the standard error its units alone would have.

    `x` (n, labels) holds the weight of each unit in the column of its label.
    """
    size, clusters = x.sum(0), _clusters(x, group)
    if clusters.min() < 2:
        raise DataError(
            f"label {names[int(np.argmin(clusters))]!r} has fewer than 2 independent "
            f"{'units' if group is None else 'groups'}: merge it with another."
        )
    mean = x.T @ y / size
    e = cluster_sums((x * (y[:, None] - mean) / size)[None], group)[0] * np.sqrt(clusters / (clusters - 1))
    return mean, e


def _learn(est: Estimate, features: Any, learner: Any, psi: np.ndarray, group: np.ndarray | None) -> Learned:
    try:
        from sklearn.base import clone
    except ImportError as error:
        raise DataError("learner= needs scikit-learn: pip install scikit-learn.") from error

    x = _table(features)
    fitted, models, parts = np.empty_like(psi), [], []
    for r, (y, fold) in enumerate(zip(psi, est.scores.fold, strict=True)):
        labels = np.unique(fold)
        if len(labels) < 2:
            raise DataError("a learner is cross-fitted by the folds of the estimate, which has one only.")
        centred = np.empty_like(y)
        for j in labels:
            inside = fold == j
            model = clone(learner).fit(rows(x, ~inside), y[~inside])
            fitted[r, inside] = model.predict(rows(x, inside))
            centred[inside] = fitted[r, inside] - fitted[r, inside].mean()
            models.append(model)
        if np.ptp(centred) == 0:
            raise DataError("the learner predicts one value for all units: nothing to calibrate; use another learner.")
        parts.append(_least_squares(np.stack([np.ones_like(y), centred], axis=1), y, group, ("mean", "slope")))
    slope, variance, terms = _together([(c[1:], t[:, 1:]) for c, t in parts])
    df = np.array([float(len(x) - 2 if group is None else group.max())])
    calibration = Regression(
        ("slope",), slope, 2 * variance, df, len(x), None, terms, est.level, _notes(est), dict(est.meta)
    )
    r2 = float(np.median(1 - ((psi - fitted) ** 2).sum(1) / ((psi - psi.mean(1, keepdims=True)) ** 2).sum(1)))
    return Learned(np.median(fitted, axis=0), r2, calibration, tuple(models))


def _table(features: Any) -> Any:
    if hasattr(features, "columns"):
        return features
    array = np.asarray(features)
    return array[:, None] if array.ndim == 1 else array
