"""Repeated cross-fitting: one answer from R repeats that differ only in how the folds were drawn."""

from __future__ import annotations

import numpy as np

from dope.inference.variance import Arm


def aggregate(value: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median over repeats of (R, G) estimates and their (R, G, G) covariances.

    The variance is `median(se_r^2 + (theta_r - theta)^2)`, so a repeat that strays pays for it, but one bad
    repeat in many cannot take the answer with it. The covariance is the elementwise median of the matrices
    `V_r + (theta_r - theta)(theta_r - theta)'`. Such a median need not be positive semi-definite: where it is not,
    its negative eigenvalues are set to 0 and rows and columns rescaled to the variances above, so that a joint
    table always shows the standard errors of the single ones.
    """
    if len(value) == 1:
        return value[0], covariance[0]
    centre = np.median(value, axis=0)
    gap = value - centre
    middle = np.median(covariance + gap[:, :, None] * gap[:, None, :], axis=0)
    return centre, _psd_keeping_diagonal(middle)


def _psd_keeping_diagonal(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    # rounding alone gives eigenvalues of this size: a semi-definite matrix is returned as it is
    if values[0] >= -1e-12 * max(values[-1], 0.0):
        return matrix
    repaired = (vectors * np.maximum(values, 0)) @ vectors.T
    have, want = np.diag(repaired), np.diag(matrix)
    scale = np.sqrt(np.divide(want, have, out=np.zeros_like(want), where=have > 0))
    repaired = repaired * scale[:, None] * scale
    np.fill_diagonal(repaired, want)
    return repaired


def moments(arms: tuple[Arm, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value (G,), covariance (G, G) and degrees of freedom (G,) of the sum of independent arms."""
    parts = [aggregate(arm.mean, arm.covariance) for arm in arms]
    value = sum(v for v, _ in parts)
    covariance = sum(c for _, c in parts)
    variances = np.stack([np.diag(c) for _, c in parts])  # (arms, G)
    dofs = np.array([arm.df for arm in arms], float)
    if len(arms) == 1:
        return value, covariance, np.full(len(value), dofs[0])
    # Welch and Satterthwaite
    lower = (variances**2 / dofs[:, None]).sum(0)
    df = np.divide(variances.sum(0) ** 2, lower, out=np.full(len(value), dofs.sum()), where=lower > 0)
    return value, covariance, df


def tiled(arm: Arm, repeats: int) -> Arm:
    """The arm with its repeats copied to a common number: a median over them stays what it was."""
    times = repeats // len(arm.terms)
    if times == 1:
        return arm
    known = None if arm.known is None else np.tile(arm.known, (times, 1, 1))
    return Arm(np.tile(arm.terms, (times, 1, 1)), arm.group, known, arm.weight)
