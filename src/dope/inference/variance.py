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
    variance that does not come from these units: that of the mean over unlabelled inputs. `weight` (n,) are weights
    of the units, of mean 1 over those that are not 0; a unit of weight 0 counts nowhere.
    Arms are independent of one another, and an estimate may be the sum over several.
    """

    terms: np.ndarray
    group: np.ndarray | None = None
    known: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.clusters < 2:
            what = "unit" if self.group is None else "group"
            raise DataError(
                f"a standard error needs at least 2 independent {what}s, got {self.clusters}: "
                + ("add units." if self.group is None else "add groups, or drop groups= if units are independent.")
            )

    @cached_property
    def sizes(self) -> np.ndarray:
        """(C,): units in each independent cluster, or the sum of their weights; ones where there are no groups."""
        return cluster_sizes(self.terms.shape[1], self.group, self.weight)

    @property
    def n(self) -> int:
        return self.terms.shape[1] if self.weight is None else np.count_nonzero(self.weight)

    @property
    def clusters(self) -> int:
        return np.count_nonzero(self.sizes)

    @property
    def effective(self) -> float:
        """How many units of equal weight say as much: (sum w)^2 / sum w^2."""
        return self.n if self.weight is None else float(self.n**2 / (self.weight**2).sum())

    @property
    def df(self) -> int:
        return self.clusters - 1

    @cached_property
    def mean(self) -> np.ndarray:
        """(R, G)"""
        return weighted_mean(self.terms, self.weight)

    @cached_property
    def residuals(self) -> np.ndarray:
        """(R, C, G): (weighted) sums over each cluster of the terms less their mean; the units' own without groups."""
        return cluster_sums(weighted(self.terms - self.mean[:, None], self.weight), self.group)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(R, G, G) of the mean: C/(C-1) sum_c e_c e_c' / n^2, which is Var(ddof=1)/n when units are independent."""
        own = mean_covariance(self.residuals, self.n, self.clusters)
        return own if self.known is None else own + self.known

    def combine(self, weights: np.ndarray) -> Arm:
        """The arm of the linear combinations `weights` (H, G) of the functionals."""
        known = None if self.known is None else weights @ self.known @ weights.T
        return Arm(self.terms @ weights.T, self.group, known, self.weight)


def weighted(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(R, n, G), each unit times its weight."""
    return values if weight is None else values * weight[:, None]


def weighted_mean(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(R, G): the mean over units of (R, n, G)."""
    return values.mean(1) if weight is None else weighted(values, weight).sum(1) / weight.sum()


def cluster_sizes(n: int, group: np.ndarray | None, weight: np.ndarray | None) -> np.ndarray:
    """(C,): the sum of the weights of each cluster's units; their number without weights."""
    if group is None:
        return np.ones(n) if weight is None else weight
    return np.bincount(group, weights=weight).astype(float)


def cluster_sums(values: np.ndarray, group: np.ndarray | None) -> np.ndarray:
    """Sums of (R, n, G) over groups: (R, C, G)."""
    if group is None:
        return values
    out = np.zeros((values.shape[0], int(group.max()) + 1, values.shape[2]))
    np.add.at(out, (slice(None), group), values)
    return out


def mean_covariance(residuals: np.ndarray, n: int, c: int, other: np.ndarray | None = None) -> np.ndarray:
    """(R, G, G) covariance of means over n units from the centred sums (R, C, G) of c independent clusters."""
    other = residuals if other is None else other
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
