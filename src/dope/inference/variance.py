"""Samples of terms whose mean is the estimate, and the variance of that mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dope.data import DataError


@dataclass(frozen=True, eq=False)
class Arm:
    """One sample: `terms` (R, n, G), whose mean over the n units is the estimate of each repeat.

    `group` (n,) holds integer codes of units that are not independent of one another. `known` (R, G, G) is a
    variance that does not come from these units: that of the mean over unlabelled inputs.
    Arms are independent of one another, and an estimate may be the sum over several.
    """

    terms: np.ndarray
    group: np.ndarray | None = None
    known: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.clusters < 2:
            what = "unit" if self.group is None else "group"
            raise DataError(
                f"a standard error needs at least 2 independent {what}s, got {self.clusters}: "
                + ("add units." if self.group is None else "add groups, or drop groups= if units are independent.")
            )

    @cached_property
    def sizes(self) -> np.ndarray:
        """(C,): units in each independent cluster; ones where there are no groups."""
        return np.ones(self.n) if self.group is None else np.bincount(self.group).astype(float)

    @property
    def n(self) -> int:
        return self.terms.shape[1]

    @property
    def clusters(self) -> int:
        return len(self.sizes)

    @property
    def df(self) -> int:
        return self.clusters - 1

    @cached_property
    def mean(self) -> np.ndarray:
        """(R, G)"""
        return self.terms.mean(1)

    @cached_property
    def residuals(self) -> np.ndarray:
        """(R, C, G): sums over each cluster of the terms less their mean; the units' own without groups."""
        return cluster_sums(self.terms - self.mean[:, None], self.group)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(R, G, G) of the mean: C/(C-1) sum_c e_c e_c' / n^2, which is Var(ddof=1)/n when units are independent."""
        own = mean_covariance(self.residuals, self.n)
        return own if self.known is None else own + self.known

    def combine(self, weights: np.ndarray) -> Arm:
        """The arm of the linear combinations `weights` (H, G) of the functionals."""
        known = None if self.known is None else weights @ self.known @ weights.T
        return Arm(self.terms @ weights.T, self.group, known)


def cluster_sums(values: np.ndarray, group: np.ndarray | None) -> np.ndarray:
    """Sums of (R, n, G) over groups: (R, C, G)."""
    if group is None:
        return values
    out = np.zeros((values.shape[0], int(group.max()) + 1, values.shape[2]))
    np.add.at(out, (slice(None), group), values)
    return out


def mean_covariance(residuals: np.ndarray, n: int, other: np.ndarray | None = None) -> np.ndarray:
    """(R, G, G) covariance of means over n units from centred cluster sums (R, C, G)."""
    other = residuals if other is None else other
    c = residuals.shape[1]
    return np.einsum("rcg,rch->rgh", residuals, other) * (c / (c - 1) / n**2)


def codes(labels: np.ndarray) -> np.ndarray:
    """Labels as codes 0 ... C-1."""
    return np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1)


def group_codes(group: np.ndarray | None) -> np.ndarray | None:
    return None if group is None else codes(group)


def quantile_t(p: float | np.ndarray, df: float | np.ndarray) -> np.ndarray:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return stdtrit(df, p)


def two_sided_p(t: np.ndarray, df: float | np.ndarray) -> np.ndarray:
    from scipy.special import stdtr

    return 2 * stdtr(df, -np.abs(t))
