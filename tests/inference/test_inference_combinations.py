"""Contrasts, ratios, differences, simultaneous statements."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats

from dope.data import DataError
from dope.inference import estimate


# ---- contrasts ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("inputs", [0, 100])
def test_contrasts_are_linear(table, grouped, inputs):
    est = estimate(table(n=40, count=3, inputs=inputs, group=np.arange(40) // 4 if grouped else None))
    w = np.array([[1.0, -1.0, 0.0], [0.2, 0.3, 0.5]])
    made = est.contrast(w)
    np.testing.assert_allclose(made.value, w @ est.value, rtol=1e-12)
    np.testing.assert_allclose(made.covariance, w @ est.covariance @ w.T, rtol=1e-10)
    np.testing.assert_allclose(made.plugin, w @ est.plugin, rtol=1e-12)
    single = est.contrast({"g0": 1, "g1": -1})
    assert single.value == pytest.approx(made.value[0], rel=1e-12)
    assert single.se == pytest.approx(made.se[0], rel=1e-12)
    assert single.names == ("g0 - g1",)
    # a contrast of contrasts, and one that goes back
    again = made.contrast([1.0, 2.0])
    assert again.value == pytest.approx(np.array([1.0, 2.0]) @ w @ est.value, rel=1e-12)
    np.testing.assert_allclose(est.contrast(np.eye(3)).covariance, est.covariance, rtol=1e-12)


def test_the_scores_of_a_contrast_are_the_contrast_of_the_scores(table):
    est = estimate(table(n=20, count=2, inputs=30, repeats=3))
    made = est.contrast([2.0, -1.0])
    np.testing.assert_allclose(made.scores.psi[:, :, 0], 2 * est.scores.psi[:, :, 0] - est.scores.psi[:, :, 1])
    np.testing.assert_allclose(
        made.scores.unlabeled[..., 0], 2 * est.scores.unlabeled[..., 0] - est.scores.unlabeled[..., 1]
    )


def test_the_sampling_variance_of_corrections_survives_where_it_is_known(table):
    variance = np.random.default_rng(0).random((1, 20, 2))
    variance[0, 4] = np.nan
    est = estimate(table(n=20, count=2, correction_var=variance, counts=np.full(20, 5)))
    np.testing.assert_allclose(est.contrast([3.0, 0.0]).scores.correction_var[..., 0], 9 * variance[..., 0])
    assert est.contrast([1.0, 1.0]).scores.correction_var is None  # needs a covariance that nobody has


@pytest.mark.parametrize(
    ("weights", "words"), [([1.0], "2 finite weights"), ([1.0, np.nan], "finite"), ({"nope": 1}, "no functional")]
)
def test_contrasts_that_cannot_be(table, weights, words):
    with pytest.raises(DataError, match=words):
        estimate(table(count=2)).contrast(weights)


# ---- ratios -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_delta_method_for_a_ratio(table, repeats):
    est = estimate(table(n=60, count=2, repeats=repeats))
    made = est.ratio("g0", "g1")
    psi = est.scores.psi
    a, b = psi[:, :, 0], psi[:, :, 1]
    r = a.mean(1) / b.mean(1)
    cov = [np.cov(a[k], b[k]) / 60 for k in range(repeats)]
    gradients = [np.array([1 / b[k].mean(), -a[k].mean() / b[k].mean() ** 2]) for k in range(repeats)]
    se2 = np.array([d @ c @ d for d, c in zip(gradients, cov, strict=True)])
    assert made.value == pytest.approx(np.median(r), rel=1e-12)
    assert made.se**2 == pytest.approx(np.median(se2 + (r - np.median(r)) ** 2), rel=1e-10)
    assert made.names == ("g0 / g1",)
    np.testing.assert_allclose(made.scores.psi.mean(1)[:, 0], r, rtol=1e-12)
    if repeats == 1:
        assert made.plugin == pytest.approx(est.plugin[0] / est.plugin[1], rel=1e-12)


@pytest.mark.parametrize("inputs", [0, 80])
def test_fieller_against_its_defining_inequality(table, inputs):
    est = estimate(table(n=25, count=2, inputs=inputs))
    made = est.ratio("g0", "g1", method="fieller")
    low, high = made.conf_int(0.9)
    a, b = est.value
    (vaa, vab), (_, vbb) = est.covariance
    t2 = scipy.stats.t.ppf(0.95, 24) ** 2
    inside = lambda r: (a - r * b) ** 2 <= t2 * (vaa - 2 * r * vab + r * r * vbb)  # noqa: E731
    width = high - low
    for r in np.linspace(low - width, high + width, 301):
        if min(abs(r - low), abs(r - high)) > 1e-9 * width:
            assert inside(r) == (low < r < high)
    assert made.pvalue(low) == pytest.approx(0.1, rel=1e-6)
    assert made.pvalue(high) == pytest.approx(0.1, rel=1e-6)


def test_fieller_and_delta_agree_where_the_denominator_is_far_from_zero(table):
    rng = np.random.default_rng(0)
    est = estimate(table(np.array([30.0, 50.0]) + rng.standard_normal((1, 400, 2))))
    delta, fieller = est.ratio(0, 1), est.ratio(0, 1, "fieller")
    assert fieller.conf_int() == pytest.approx(delta.conf_int(), rel=1e-5)  # they differ by (se_b / b)^2 = 1e-6


def test_fieller_with_a_denominator_that_may_be_zero_is_unbounded_and_says_so(table):
    rng = np.random.default_rng(0)
    est = estimate(table(np.array([1.0, 0.05]) + rng.standard_normal((1, 40, 2))))
    made = est.ratio(0, 1, "fieller")
    assert made.conf_int() == (-np.inf, np.inf)
    assert any("cannot be told from 0" in note for note in made.notes)
    assert "WARNING" in made.summary()
    for what in (made.bootstrap, made.joint_conf_int):
        with pytest.raises(DataError, match="delta"):
            what()


# ---- differences --------------------------------------------------------------------------------------
def test_independent_arms_are_compared_as_welch_does(table):
    one, two = table(n=30, seed=1), table(n=45, seed=2)
    made = estimate(one).difference(estimate(two))
    reference = scipy.stats.ttest_ind(one.psi[0, :, 0], two.psi[0, :, 0], equal_var=False)
    assert made.tstat() == pytest.approx(reference.statistic, rel=1e-10)
    assert made.df == pytest.approx(reference.df, rel=1e-10)
    assert made.pvalue() == pytest.approx(reference.pvalue, rel=1e-9)
    assert made.conf_int(0.9) == pytest.approx(tuple(reference.confidence_interval(0.9)), rel=1e-9)
    assert made.n == 75
    # its table of scores has the difference as its mean
    assert made.scores.psi.mean() == pytest.approx(made.value, rel=1e-12)


def test_the_same_units_are_paired_by_their_ids_in_any_order(table):
    ids = np.array([f"p{k}" for k in range(30)])
    one, two = table(n=30, ids=ids), table(n=30, seed=0)
    shuffle = np.random.default_rng(1).permutation(30)
    moved = table(two.plugin[:, shuffle], two.correction[:, shuffle] * 0.5, ids=ids[shuffle])
    made = estimate(one).difference(estimate(moved))
    reference = scipy.stats.ttest_rel(one.psi[0, :, 0], (two.plugin + 0.5 * two.correction)[0, :, 0])
    assert made.meta["paired"]
    assert made.tstat() == pytest.approx(reference.statistic, rel=1e-9)
    assert made.df == 29
    apart = estimate(one).difference(estimate(moved), paired=False)
    assert apart.se > made.se
    assert apart.value == pytest.approx(made.value, rel=1e-10)


def test_a_difference_from_itself_is_zero(table):
    est = estimate(table(n=20, count=2, repeats=3))
    made = est.difference(est)
    np.testing.assert_array_equal(made.value, 0)
    np.testing.assert_array_equal(made.se, 0)


def test_differences_of_repeats_and_groups(table):
    one = estimate(table(n=30, repeats=2, seed=1))
    two = estimate(table(n=24, repeats=3, seed=2, group=np.arange(24) // 3))
    made = one.difference(two)
    assert made.value == pytest.approx(one.value - two.value, rel=1e-12)
    assert made.se**2 == pytest.approx(one.se**2 + two.se**2, rel=1e-12)
    assert made.df == pytest.approx(made.se**4 / (one.se**4 / one.df + two.se**4 / two.df), rel=1e-12)
    assert np.isfinite(made.bootstrap()).all()
    assert made.scores.plugin.shape[0] == 6
    assert "Welch" in made.summary()


def test_paired_differences_of_powered_estimates_are_not_too_sure(table):
    one = estimate(table(n=40, inputs=50, seed=1))
    made = one.difference(one)
    assert made.value == 0
    assert made.se > 0  # whether the unlabelled inputs were the same is not known
    assert made.se**2 == pytest.approx(4 * one.arms[0].known[0, 0, 0], rel=1e-12)


def test_differences_that_cannot_be(table):
    one, two = estimate(table(n=20)), estimate(table(n=21))
    with pytest.raises(DataError, match="paired=False"):
        one.difference(two, paired=True)
    with pytest.raises(DataError, match="same functionals"):
        one.difference(estimate(table(count=2)))
    some = estimate(table(n=20, ids=np.array([f"p{k}" for k in range(20)])))
    other = estimate(table(n=20, ids=np.array([f"p{k}" for k in range(5, 25)])))
    assert any("ids occur in both" in note for note in some.difference(other).notes)


# ---- several at once ----------------------------------------------------------------------------------
def test_holm_against_statsmodels(table):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    est = estimate(table(n=30, count=6))
    null = est.value + np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.6])
    expected = multitest.multipletests(est.pvalue(null), method="holm")[1]
    np.testing.assert_allclose(est.holm(null), expected, rtol=1e-12)


def test_the_joint_band_is_wider_than_each_interval_and_narrower_than_bonferroni(table):
    est = estimate(table(n=50, count=5))
    half = lambda ends: np.diff(ends, axis=1)[:, 0] / 2  # noqa: E731
    joint, single = half(est.joint_conf_int()), half(est.conf_int())
    bonferroni = half(est.conf_int(1 - 0.05 / 5))
    assert (joint > 1.05 * single).all()
    assert (joint < bonferroni).all()
    np.testing.assert_allclose(est.joint_conf_int().mean(1), est.value, rtol=1e-12)
    np.testing.assert_array_equal(est.joint_conf_int(seed=3), est.joint_conf_int(seed=3))


def test_the_joint_band_of_one_functional_is_its_interval(table):
    est = estimate(table(n=50), joint=True)
    np.testing.assert_allclose(est.joint_conf_int(), est.conf_int(), rtol=1e-12)
    # copies of one functional are one functional: 20000 draws leave the quantile an error of about 1 %
    copies = estimate(table(np.repeat(est.scores.psi, 3, axis=2)))
    np.testing.assert_allclose(copies.joint_conf_int()[0] - est.value, est.conf_int()[0] - est.value, rtol=0.03)


def test_the_joint_band_of_independent_functionals_is_sidaks(table):
    rng = np.random.default_rng(0)
    # n large: t is normal; exactly uncorrelated columns
    q = np.linalg.qr(np.hstack([np.ones((2000, 1)), rng.standard_normal((2000, 4))]))[0][:, 1:]
    est = estimate(table(q[None] * np.sqrt(2000)))
    critical = (est.joint_conf_int(draws=200_000)[0, 1] - est.value[0]) / est.se[0]
    sidak = scipy.stats.norm.ppf((1 + 0.95**0.25) / 2)
    assert critical == pytest.approx(sidak, rel=0.01)  # 4 standard errors of the quantile of 200000 draws


def test_tost_is_two_one_sided_tests(table):
    scores = table(n=30)
    psi = scores.psi[0, :, 0]
    est = estimate(scores)
    result = est.equivalence(0.5, 1.6)
    above = scipy.stats.ttest_1samp(psi, 0.5, alternative="greater").pvalue
    below = scipy.stats.ttest_1samp(psi, 1.6, alternative="less").pvalue
    assert result.pvalue == pytest.approx(max(above, below), rel=1e-9)
    assert result.interval == est.conf_int(0.9)
    low, high = est.conf_int(0.9)
    assert est.equivalence(low - 1e-9, high + 1e-9).equivalent is True
    assert est.equivalence(low + 1e-6, high + 1).equivalent is False
    joint = estimate(table(n=30, count=3)).equivalence(-10, [2.0, 10, 10])
    assert joint.equivalent.tolist() == [True, True, True]
    for bad in ((1.0, 1.0), (2.0, 1.0), (np.nan, 1.0)):
        with pytest.raises(DataError, match="low < high"):
            est.equivalence(*bad)


# ---- bootstrap ----------------------------------------------------------------------------------------
def test_bootstrap_intervals_are_finite_nested_and_reproducible(table):
    for extra in ({}, {"group": np.arange(40) // 4}, {"repeats": 3}, {"inputs": 60}):
        est = estimate(table(n=40, count=2, **extra))
        ends = [est.bootstrap(level) for level in (0.5, 0.8, 0.95, 0.99)]
        assert np.isfinite(ends).all()
        for inner, outer in pairwise(ends):
            assert (outer[:, 0] < inner[:, 0]).all()
            assert (outer[:, 1] > inner[:, 1]).all()
        np.testing.assert_array_equal(est.bootstrap(), est.bootstrap())
        assert (est.bootstrap(seed=1) != est.bootstrap(seed=2)).all()


def test_bootstrap_t_by_resampling_units_one_by_one(table):
    scores = table(np.random.default_rng(1).exponential(size=(1, 20, 1)))
    x = scores.psi[0, :, 0]
    rng = np.random.default_rng(8)
    t = []
    for _ in range(20_000):
        y = x[rng.integers(0, 20, 20)]
        t.append((y.mean() - x.mean()) / (y.std(ddof=1) / np.sqrt(20)))
    se = x.std(ddof=1) / np.sqrt(20)
    expected = x.mean() - np.quantile(t, 0.975) * se, x.mean() - np.quantile(t, 0.025) * se
    # 20000 draws leave quantiles of t in the tails an error of about 1.5 %
    assert estimate(scores).bootstrap(draws=20_000) == pytest.approx(expected, rel=0.02)


def test_bootstrap_of_clusters_resamples_groups_with_the_estimates_own_formulas(table):
    from dope.inference.bootstrap import _resampled

    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(12), rng.integers(1, 6, 12))
    x = rng.standard_normal(len(group)) + rng.exponential(size=12)[group]
    (arm,) = estimate(table(x[None, :, None], group=group)).arms
    shift, variance = _resampled(arm, 200, np.random.default_rng(7))
    drawn = np.random.default_rng(7).multinomial(12, np.full(12, 1 / 12), size=200)
    for times, got_shift, got_variance in zip(drawn, shift[:, 0], variance[:, 0], strict=True):
        parts = [x[group == c] for c in range(12) for _ in range(times[c])]
        total = np.concatenate(parts)
        assert got_shift == pytest.approx(total.mean() - x.mean(), abs=1e-12)
        expected = 12 / 11 * sum((p - total.mean()).sum() ** 2 for p in parts) / len(total) ** 2
        assert got_variance == pytest.approx(expected, rel=1e-9)


def test_skewed_scores_are_noticed_and_the_bootstrap_named(table):
    rng = np.random.default_rng(0)
    skewed = estimate(table(rng.lognormal(0, 1.2, (1, 60, 1))))
    notes = [n for n in skewed.notes if "bootstrap" in n]
    assert len(notes) == 1
    assert notes[0] in " ".join(skewed.summary().replace("\n  ", " ").split("\n"))
    assert not estimate(table(rng.standard_normal((1, 60, 1)))).notes
    assert not estimate(table(rng.exponential(size=(1, 4000, 1)))).notes  # as skewed, but n is large
    low, high = skewed.bootstrap()
    assert high - skewed.value > skewed.value - low  # towards the long tail


def test_the_skewness_limit_is_a_percentage_point_of_coverage():
    """The gamma^2 term of the Edgeworth expansion of the two-sided t interval's coverage, written out."""
    from dope.inference.cautions import SKEW_LIMIT

    z = scipy.stats.norm.ppf(0.975)
    loss = lambda s: 2 * z / 18 * (z**4 + 2 * z**2 - 3) * s**2 * scipy.stats.norm.pdf(z)  # noqa: E731
    assert loss(SKEW_LIMIT) == pytest.approx(0.01, abs=0.0002)


def test_few_units_and_few_or_unequal_groups_are_noticed(table):
    assert any("Only 6 units" in n for n in estimate(table(n=6)).notes)
    assert any("Only 8 independent groups" in n for n in estimate(table(n=40, group=np.arange(40) // 5)).notes)
    assert not estimate(table(n=40, group=np.arange(40) // 2)).notes
    one_big = np.concatenate([np.zeros(20), np.arange(1, 21)])
    # 21 groups: sum of squared shares (20^2 + 20) / 40^2 = 0.2625, that of 3.8 equal ones
    assert any("21 of them count as 3.8 equal ones" in n for n in estimate(table(n=40, group=one_big)).notes)
