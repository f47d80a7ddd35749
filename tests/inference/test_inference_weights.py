"""Unit weights: the formulas by hand, equal weights as none, weight 0 as absence, and whole weights as copies."""

from dataclasses import replace

import numpy as np
import pytest

from dope.data import DataError
from dope.inference import estimate
from dope.scores import Scores

RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.5, 3.0, 40)
KINDS = {
    "plain": {},
    "grouped": {"group": np.arange(40) // 4},
    "repeated": {"repeats": 3},
    "unlabelled": {"inputs": 60},
    "all at once": {"repeats": 2, "inputs": 60, "group": np.arange(40) // 4},
}


def everything(est, x):
    """Every number that can be asked of a joint estimate of two functionals."""
    one, labels = est["g0"], np.where(np.arange(len(x)) % 3 == 0, "a", "b")
    plan = one.plan(precision=0.2, cost_unit=10, cost_point=1)
    curve, means = one.regress(x, spline=3), one.regress(labels)
    line = curve.predict(np.linspace(0.1, 0.9, 5))
    parts = [
        est.value, est.covariance, est.plugin, est.plugin_se, est.df, est.conf_int(), est.pvalue(0.5), est.bootstrap(),
        est.joint_conf_int(), est.contrast([1, -1]).conf_int(), est.ratio(0, 1).conf_int(),
        est.ratio(0, 1, "fieller").conf_int(), curve.coef, curve.covariance, curve.df, line.band_low, line.band_high,
        means.coef, means.se, means.df, [plan.between, plan.within, plan.n],
    ]  # fmt: skip
    if est.ppi is not None:
        parts += [est.ppi.lam, est.ppi.shift]
    return np.concatenate([np.ravel(p) for p in parts])


def planned(table, **more):
    rng = np.random.default_rng(1)
    variance = rng.uniform(0.01, 0.1, (more.get("repeats", 1), 40, 2))
    return table(n=40, count=2, correction_var=variance, counts=rng.integers(2, 9, 40), **more)


def kept(scores, units):
    """The table of some of the units."""
    part = lambda a: None if a is None else a[units]  # noqa: E731
    return replace(
        scores, plugin=scores.plugin[:, units], correction=scores.correction[:, units], fold=scores.fold[:, units],
        ids=scores.ids[units], group=part(scores.group), counts=part(scores.counts),
        correction_var=None if scores.correction_var is None else scores.correction_var[:, units],
        unit_weight=part(scores.unit_weight),
    )  # fmt: skip


# ---- what must not depend on how weights are written --------------------------------------------------
@pytest.mark.parametrize("size", [1.0, 0.3, 1e200, 1e-200])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_are_no_weights(table, kind, size):
    scores, x = planned(table, **KINDS[kind]), RNG.uniform(size=40)
    plain, even = (everything(estimate(s), x) for s in (scores, replace(scores, unit_weight=np.full(40, size))))
    np.testing.assert_allclose(even, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_ratios_of_weights_matter(table, kind):
    scores, x = planned(table, **KINDS[kind]), RNG.uniform(size=40)
    one, two = (everything(estimate(replace(scores, unit_weight=s * WEIGHTS)), x) for s in (1, 1e-6))
    np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_of_weight_zero_is_absent(table, kind):
    scores, x = planned(table, **KINDS[kind]), RNG.uniform(size=40)
    weights = np.where(np.arange(40) % 5 == 2, 0.0, WEIGHTS)
    weights[4:8] = 0  # a whole group
    scores = replace(scores, unit_weight=weights)
    whole, part = estimate(scores), estimate(kept(scores, weights > 0))
    x[weights == 0] = x[weights > 0][0]  # features of nobody: the knots of a spline are quantiles over all rows
    inside = whole["g0"].regress(x), part["g0"].regress(x[weights > 0])
    for name in ("coef", "covariance", "df", "n"):
        np.testing.assert_allclose(getattr(inside[0], name), getattr(inside[1], name), rtol=1e-10, atol=1e-15)
    assert whole.n == part.n == np.count_nonzero(weights)
    for name in ("value", "covariance", "plugin_se", "df"):
        np.testing.assert_allclose(getattr(whole, name), getattr(part, name), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(whole.bootstrap(), part.bootstrap(), rtol=1e-10)
    if whole.ppi is not None:
        np.testing.assert_allclose(whole.ppi.lam, part.ppi.lam, rtol=1e-10)
        np.testing.assert_allclose(whole.ppi.shift, part.ppi.shift, rtol=1e-10)


def test_a_unit_of_weight_two_in_a_group_is_two_copies_in_it(table):
    """Copies in one cluster are not independent: the cluster variance knows, and weights say the same."""
    group, times = np.arange(40) // 4, 1 + np.arange(40) % 3
    scores = table(n=40, group=group)
    copies = kept(scores, np.repeat(np.arange(40), times))
    a, b = estimate(replace(scores, unit_weight=times)), estimate(copies)
    assert a.value == pytest.approx(b.value, rel=1e-12)
    assert a.se == pytest.approx(b.se, rel=1e-12)
    assert a.df == b.df
    assert a.bootstrap() == pytest.approx(b.bootstrap(), rel=1e-10)


# ---- the formulas -------------------------------------------------------------------------------------
def test_the_weighted_mean_and_its_variance_by_hand(table):
    scores = replace(table(n=40, count=2), unit_weight=WEIGHTS)
    est, w = estimate(scores), WEIGHTS
    for k in range(2):
        psi, plugin = scores.psi[0, :, k], scores.plugin[0, :, k]
        theta = (w * psi).sum() / w.sum()
        assert est.value[k] == pytest.approx(theta, rel=1e-12)
        assert est.se[k] ** 2 == pytest.approx(40 / 39 * (w**2 * (psi - theta) ** 2).sum() / w.sum() ** 2, rel=1e-12)
        assert est.plugin[k] == pytest.approx((w * plugin).sum() / w.sum(), rel=1e-12)
    e = w[:, None] * (scores.psi[0] - est.value)
    np.testing.assert_allclose(est.covariance, 40 / 39 * e.T @ e / w.sum() ** 2, rtol=1e-12)
    np.testing.assert_array_equal(est.df, 39)


def test_weighted_clusters_by_hand(table):
    group = np.repeat(np.arange(8), [2, 3, 4, 5, 6, 7, 8, 5])
    scores = replace(table(n=40, group=group), unit_weight=WEIGHTS)
    est, w, psi = estimate(scores), WEIGHTS, scores.psi[0, :, 0]
    sums = np.array([(w * (psi - est.value))[group == c].sum() for c in range(8)])
    assert est.se**2 == pytest.approx(8 / 7 * (sums**2).sum() / w.sum() ** 2, rel=1e-12)
    assert est.df == 7


def test_repeats_take_the_median_of_weighted_means(table):
    scores = replace(table(n=40, repeats=3), unit_weight=WEIGHTS)
    each = [
        estimate(replace(scores, plugin=scores.plugin[[r]], correction=scores.correction[[r]], fold=scores.fold[[r]]))
        for r in range(3)
    ]
    value, se = np.array([e.value for e in each]), np.array([e.se for e in each])
    assert estimate(scores).value == pytest.approx(np.median(value), rel=1e-12)
    spread = np.median(se**2 + (value - np.median(value)) ** 2)
    assert estimate(scores).se ** 2 == pytest.approx(spread, rel=1e-12)


@pytest.mark.parametrize("form", ["tuned", "paper", 0.4])
def test_ppi_weighs_the_labelled_parts_only(table, form):
    scores = replace(table(n=40, inputs=90, folds=3), unit_weight=WEIGHTS)
    w, g, psi = WEIGHTS / WEIGHTS.sum(), scores.plugin[0, :, 0], scores.psi[0, :, 0]
    fold, unlabeled = scores.fold[0], scores.unlabeled[0, :, :, 0]
    shares = np.array([w[fold == j].sum() for j in range(3)])
    est = estimate(scores, ppi=form)
    lam = est.ppi.lam[0, 0]
    assert est.value == pytest.approx(w @ psi + lam * (shares @ unlabeled.mean(1) - w @ g), rel=1e-12)
    d = psi - lam * (g - unlabeled.mean(1)[fold])
    own = 40 / 39 * (w**2 * (d - w @ d) ** 2).sum()
    assert est.se**2 == pytest.approx(own + lam**2 * (shares @ unlabeled).var(ddof=1) / 90, rel=1e-12)
    if form == "tuned":  # minimises the variance, moments being centred within folds
        inside = lambda v: v - np.array([(w * v)[fold == j].sum() for j in range(3)])[fold] / shares[fold]  # noqa: E731
        gc, yc = inside(g), inside(psi)
        scale = 40 / 37
        variance, cov = scale * (w**2 * gc**2).sum(), scale * (w**2 * gc * yc).sum()
        assert lam == pytest.approx(cov / (variance + scale * (w * gc**2).sum() / 90), rel=1e-10)


def test_ratios_and_contrasts_of_weighted_means(table):
    est = estimate(replace(table(n=40, count=2), unit_weight=WEIGHTS))
    (a, b), c = est.value, est.covariance
    made = est.ratio(0, 1)
    assert made.value == pytest.approx(a / b, rel=1e-12)
    gradient = np.array([1 / b, -a / b**2])
    assert made.se**2 == pytest.approx(gradient @ c @ gradient, rel=1e-10)
    mean = np.average(made.scores.psi[0, :, 0], weights=WEIGHTS)
    assert mean == pytest.approx(a / b, rel=1e-12)
    assert est.contrast([2, -1]).se ** 2 == pytest.approx(np.array([2, -1]) @ c @ np.array([2, -1]), rel=1e-10)


def test_differences_of_weighted_means(table):
    ids = np.array([f"p{k}" for k in range(40)])
    one = replace(table(n=40, ids=ids), unit_weight=WEIGHTS)
    order = np.random.default_rng(1).permutation(40)
    two = kept(replace(table(n=40, ids=ids, seed=2), unit_weight=7 * WEIGHTS), order)
    paired = estimate(one).difference(estimate(two))
    gap = one.psi[0, :, 0] - two.psi[0, np.argsort(order), 0]
    theta = np.average(gap, weights=WEIGHTS)
    assert paired.value == pytest.approx(theta, rel=1e-12)
    assert paired.se**2 == pytest.approx(
        40 / 39 * (WEIGHTS**2 * (gap - theta) ** 2).sum() / WEIGHTS.sum() ** 2, rel=1e-12
    )
    with pytest.raises(DataError, match="the same unit_weights="):
        estimate(one).difference(estimate(replace(two, unit_weight=None)))
    other = replace(table(n=30, seed=3), ids=np.arange(100, 130))
    for a, b in ((one, other), (other, one)):
        first, second = estimate(a), estimate(b)
        apart = first.difference(second)
        assert apart.value == pytest.approx(first.value - second.value, rel=1e-12)
        assert apart.se**2 == pytest.approx(first.se**2 + second.se**2, rel=1e-12)
        stacked = np.average(apart.scores.psi[0, :, 0], weights=apart.scores.unit_weight)
        assert stacked == pytest.approx(apart.value, rel=1e-12)


# ---- second stage and planning ------------------------------------------------------------------------
def test_weighted_least_squares_with_hc3_is_statsmodels(table):
    sm = pytest.importorskip("statsmodels.api")
    scores, x = replace(table(n=40), unit_weight=WEIGHTS), RNG.standard_normal((40, 2))
    fit = estimate(scores).regress(x)
    model = sm.WLS(scores.psi[0, :, 0], sm.add_constant(x), weights=WEIGHTS)
    reference = model.fit(cov_type="HC3", use_t=True)
    np.testing.assert_allclose(fit.coef, reference.params, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, reference.cov_params(), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(fit.conf_int(), reference.conf_int(), rtol=1e-9)


def test_weighted_means_of_labels_are_estimates_of_each_group(table):
    labels = np.array(["low", "high", "mid", "high"] * 10)
    scores = replace(table(n=40), unit_weight=WEIGHTS)
    fit = estimate(scores).regress(labels)
    for k, name in enumerate(fit.names):
        alone = estimate(kept(scores, labels == name))
        assert fit.conf_int()[k] == pytest.approx(alone.conf_int(), rel=1e-10)


def test_a_learner_takes_no_weights(table):
    linear = pytest.importorskip("sklearn.linear_model")
    with pytest.raises(DataError, match="no unit weights"):
        estimate(replace(table(), unit_weight=WEIGHTS)).regress(np.arange(40.0), learner=linear.LinearRegression())


def test_a_plan_of_weighted_units_holds_what_uneven_weights_cost(table):
    rng, counts = np.random.default_rng(3), np.full(4000, 4)
    psi = rng.standard_normal(4000) + rng.standard_normal((4000, 4)).mean(1)
    w = rng.uniform(0.2, 3, 4000)
    est = estimate(table(
        psi[None, :, None], counts=counts, correction_var=rng.chisquare(3, (1, 4000, 1)) / 12, unit_weight=w,
    ))  # fmt: skip
    made = est.plan(precision=0.05)
    uneven = (w**2).mean() / w.mean() ** 2
    assert made.between == pytest.approx(uneven, rel=0.1)
    assert made.within == pytest.approx(uneven, rel=0.1)
    assert made.between + made.within / 4 == pytest.approx(4000 * est.se**2, rel=1e-10)


# ---- words --------------------------------------------------------------------------------------------
def test_a_summary_says_that_units_were_weighted(table):
    est = estimate(replace(table(), unit_weight=WEIGHTS))
    effective = WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum()
    assert f"yes (effective n = {effective:.1f})" in est.summary()
    assert "Unit weights" in est.summary()
    assert "Unit weights" not in estimate(table()).summary()
    assert not est.notes


def test_a_few_units_that_carry_the_mean_are_noticed(table):
    heavy = np.where(np.arange(40) < 2, 20.0, 1.0)
    assert any("40 of them count as 7.3 equal" in n for n in estimate(table(unit_weight=heavy)).notes)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(39), r"expected \(40,\)"),
        (np.where(np.arange(40) == 3, np.nan, 1.0), "unit 'p3' is nan, which is not finite"),
        (np.where(np.arange(40) == 3, np.inf, 1.0), "unit 'p3' is inf, which is not finite"),
        (np.where(np.arange(40) == 5, -1.0, 1.0), "unit 'p5' is -1, which is negative"),
        (np.zeros(40), "'p0'.*nobody is left"),
        (["much"] * 40, "must be numbers"),
    ],
)
def test_weights_that_cannot_be(table, weights, words):
    with pytest.raises(DataError, match=words):
        table(ids=np.array([f"p{k}" for k in range(40)]), unit_weight=weights)


def test_too_few_units_of_weight(table):
    with pytest.raises(DataError, match="at least 2 independent units"):
        estimate(table(unit_weight=np.eye(40)[0]))


def test_weights_are_kept_as_they_were_given():
    given = [1, 2, 3]
    scores = Scores(np.ones((1, 3, 1)), np.zeros((1, 3, 1)), np.zeros((1, 3), int), np.arange(3), ("g",),
                    unit_weight=given)  # fmt: skip
    np.testing.assert_array_equal(scores.unit_weight, given)
    np.testing.assert_allclose(scores.relative_weight, [0.5, 1, 1.5])
