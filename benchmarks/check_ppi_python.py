"""Agreement with ppi-python on the mean: point and interval for the same lambda.

Run where both are installed:

    pip install ppi-python && pip install dope
    python benchmarks/check_ppi_python.py

ppi-python divides variances by n (ddof 0) and takes a normal quantile; dope divides by n - 1 and takes a t quantile.
The point is compared as it is, the interval after the same two conventions are put in dope's numbers.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import ndtri

from dope.inference import estimate
from dope.scores import Scores

TOLERANCE = 1e-8


def interval_with_their_conventions(est, level: float) -> tuple[float, float]:
    """From dope's own pieces: the variance of labelled units and that of unlabelled inputs, each over n, not n - 1."""
    (arm,) = est.arms
    unlabelled = arm.known[0, 0, 0]
    labelled = est.se**2 - unlabelled
    m = est.ppi.inputs
    variance = labelled * (arm.n - 1) / arm.n + unlabelled * (m - 1) / m
    half = ndtri((1 + level) / 2) * np.sqrt(variance)
    return est.value - half, est.value + half


def main() -> int:
    try:
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    except ImportError as error:
        print(f"ppi-python cannot be imported ({error}): pip install ppi-python")
        return 2
    worst = 0.0
    print(f"{'n1':>6}{'n2':>7}{'quality':>9}{'lambda':>8}{'point':>12}{'interval':>12}   largest difference")
    for seed, (n, m, quality) in enumerate([(30, 200, 0.9), (200, 50, 0.5), (64, 5000, 0.0), (1000, 1000, -0.7)]):
        rng = np.random.default_rng(seed)
        y = 2 + rng.standard_normal(n)
        noise = lambda k, rng=rng, q=quality: np.sqrt(1 - q**2) * rng.standard_normal(k)  # noqa: E731
        f, fu = quality * y + noise(n), quality * (2 + rng.standard_normal(m)) + noise(m)
        scores = Scores(
            f[None, :, None], (y - f)[None, :, None], np.zeros((1, n), int), np.arange(n), ("mean",),
            unlabeled=fu[None, None, :, None],
        )  # fmt: skip
        for lam in (0.0, 0.3, 1.0, m / (n + m)):
            est = estimate(scores, ppi=lam)
            point = float(np.squeeze(ppi_mean_pointestimate(y, f, fu, lam=lam)))
            ends = np.array([float(np.squeeze(e)) for e in ppi_mean_ci(y, f, fu, alpha=0.05, lam=lam)])
            gap_point = abs(point - est.value)
            gap_ends = np.abs(ends - interval_with_their_conventions(est, 0.95)).max()
            worst = max(worst, gap_point, gap_ends)
            print(f"{n:>6}{m:>7}{quality:>9}{lam:>8.3f}{est.value:>12.6f}{ends[1] - ends[0]:>12.6f}"
                  f"   {gap_point:.1e} {gap_ends:.1e}")  # fmt: skip
    print(f"largest difference {worst:.1e}, allowed {TOLERANCE:.0e}: {'agree' if worst < TOLERANCE else 'DISAGREE'}")
    return int(worst >= TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
