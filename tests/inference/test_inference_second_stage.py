"""The second stage, against statsmodels and leave-one-out by hand; and planning, against what then happens."""

import numpy as np
import pytest
import scipy.stats

from dope.data import DataError
from dope.inference import Learned, Regression, estimate
from dope.inference.features import natural_spline


@pytest.fixture
def heated(table):
    """Scores whose mean depends on a feature, with noise that does too."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (80, 2))
    psi = 1 + 2 * x[:, 0] - x[:, 1] + (0.2 + np.abs(x[:, 0])) * rng.standard_normal(80)
    return x, psi, table(0.9 * psi[None, :, None], 0.1 * psi[None, :, None], group=None)


# ---- linear -------------------------------------------------------------------------------------------
def test_hc3_is_statsmodels(heated):
    sm = pytest.importorskip("statsmodels.api")
    x, psi, scores = heated
    fit = estimate(scores).regress(x)
    reference = sm.OLS(psi, sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
    np.testing.assert_allclose(fit.coef, reference.params, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, reference.cov_params(), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(fit.conf_int(0.9), reference.conf_int(0.1), rtol=1e-10)
    np.testing.assert_allclose(fit.pvalue(), reference.pvalues, rtol=1e-7, atol=1e-300)
    assert fit.names == ("intercept", "x0", "x1")


def test_clusters_are_left_out_one_at_a_time(table):
    """The cluster form of HC3 is the sum of squares of what leaving out each cluster does to the coefficients."""
    rng = np.random.default_rng(5)
    group, x = rng.integers(0, 15, 70), rng.standard_normal(70)
    psi = 1 + x + 0.5 * rng.standard_normal(15)[group] + 0.3 * rng.standard_normal(70)
    fit = estimate(table(psi[None, :, None], group=group)).regress(x)
    design = np.stack([np.ones(70), x], 1)
    full = np.linalg.lstsq(design, psi, rcond=None)[0]
    moved = np.stack([np.linalg.lstsq(design[group != c], psi[group != c], rcond=None)[0] - full for c in range(15)])
    np.testing.assert_allclose(fit.covariance, moved.T @ moved, rtol=1e-9)
    assert (fit.df == 14).all()
    alone = estimate(table(psi[None, :, None], group=np.arange(70))).regress(x)
    plain = estimate(table(psi[None, :, None])).regress(x)
    np.testing.assert_allclose(alone.covariance, plain.covariance, rtol=1e-10)


def test_repeats_by_the_median_formula(heated, table):
    x, psi, _ = heated
    many = psi + 0.1 * np.random.default_rng(1).standard_normal((3, 80))
    fit = estimate(table(many[..., None])).regress(x)
    each = [estimate(table(p[None, :, None])).regress(x) for p in many]
    coef, se = np.stack([f.coef for f in each]), np.stack([f.se for f in each])
    centre = np.median(coef, 0)
    np.testing.assert_allclose(fit.coef, centre, rtol=1e-12)
    np.testing.assert_allclose(fit.se, np.sqrt(np.median(se**2 + (coef - centre) ** 2, 0)), rtol=1e-10)


def test_frames_with_labels_beside_numbers(heated):
    pd = pytest.importorskip("pandas")
    x, psi, scores = heated
    frame = pd.DataFrame({"dose": x[:, 0], "site": np.array(["b", "a", "c", "a"] * 20)})
    fit = estimate(scores).regress(frame)
    assert fit.names == ("intercept", "dose", "site=b", "site=c")
    design = np.stack([np.ones(80), x[:, 0], frame.site == "b", frame.site == "c"], 1).astype(float)
    np.testing.assert_allclose(fit.coef, np.linalg.lstsq(design, psi, rcond=None)[0], rtol=1e-9)
    new = pd.DataFrame({"dose": [0.0, 1.0], "site": ["a", "c"]})
    np.testing.assert_allclose(fit.predict(new).value, [fit.coef[0], fit.coef[[0, 1, 3]].sum()], rtol=1e-10)
    with pytest.raises(DataError, match="label 'd'"):
        fit.predict(pd.DataFrame({"dose": [0.0], "site": ["d"]}))


# ---- splines and bands --------------------------------------------------------------------------------
def test_a_natural_spline_is_linear_outside_and_smooth_inside():
    knots = np.array([0.0, 1.0, 2.5, 4.0])
    x = np.linspace(-2, 6, 801)
    b = natural_spline(x, knots)
    assert b.shape == (801, 3)
    second = np.diff(b, 2, axis=0) / 0.01**2
    outside = (x[1:-1] < -0.02) | (x[1:-1] > 4.02)
    np.testing.assert_allclose(second[outside], 0, atol=1e-8)
    assert np.abs(np.diff(second, axis=0)).max() < 0.05  # no jump in the second derivative
    # with the constant it interpolates any four values at its knots
    assert np.linalg.matrix_rank(np.hstack([np.ones((4, 1)), natural_spline(knots, knots)])) == 4


def test_a_spline_finds_a_curve_and_its_band_holds_the_intervals(table):
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 3, 400)
    psi = np.sin(2 * x) + 0.1 * rng.standard_normal(400)
    fit = estimate(table(psi[None, :, None])).regress(x, spline=6)
    grid = np.linspace(0.1, 2.9, 60)
    out = fit.predict(grid)
    assert np.abs(out.value - np.sin(2 * grid)).max() < 0.1
    assert (out.band_low < out.low).all()
    assert (out.band_high > out.high).all()
    sm = pytest.importorskip("statsmodels.api")
    basis = fit.basis.matrix(x)
    reference = sm.OLS(psi, basis).fit(cov_type="HC3", use_t=True).get_prediction(fit.basis.matrix(grid))
    np.testing.assert_allclose(out.value, reference.predicted_mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(out.se, reference.se_mean, rtol=1e-7)
    np.testing.assert_allclose(np.stack([out.low, out.high], 1), reference.conf_int(), rtol=1e-6, atol=1e-8)
    assert list(out.to_frame().columns) == ["value", "se", "low", "high", "band_low", "band_high"]


def test_the_band_at_one_place_is_the_interval(heated):
    x, _, scores = heated
    out = estimate(scores).regress(x).predict([[0.3, 0.1]])
    np.testing.assert_allclose([out.band_low, out.band_high], [out.low, out.high], rtol=1e-12)


# ---- labels -------------------------------------------------------------------------------------------
def test_group_means_are_estimates_of_each_group(table):
    labels = np.array(["low", "high", "mid", "high"] * 12)
    scores = table(n=48)
    fit = estimate(scores).regress(labels)
    assert fit.names == ("high", "low", "mid")
    for k, name in enumerate(fit.names):
        reference = scipy.stats.ttest_1samp(scores.psi[0, labels == name, 0], 0)
        assert fit.conf_int()[k] == pytest.approx(tuple(reference.confidence_interval()), rel=1e-10)
        assert fit.pvalue()[k] == pytest.approx(reference.pvalue, rel=1e-8)
    assert np.count_nonzero(fit.covariance - np.diag(np.diag(fit.covariance))) == 0
    np.testing.assert_allclose(fit.predict(np.array(["mid", "low"])).value, fit.coef[[2, 1]])
    assert (fit.joint_conf_int()[:, 0] < fit.conf_int()[:, 0]).all()


def test_group_means_within_clusters(table):
    group = np.repeat(np.arange(12), 4)
    labels = np.tile(["a", "b"], 24)
    fit = estimate(table(n=48, group=group)).regress(labels)
    part = table(n=48, group=group)
    inside = labels == "a"
    alone = estimate(table(part.plugin[:, inside], part.correction[:, inside], group=group[inside]))
    assert fit.coef[0] == pytest.approx(alone.value, rel=1e-12)
    assert fit.se[0] == pytest.approx(alone.se, rel=1e-12)
    assert abs(fit.covariance[0, 1]) > 0  # both labels occur in every cluster
    assert np.linalg.eigvalsh(fit.covariance)[0] > 0


# ---- learners -----------------------------------------------------------------------------------------
def test_a_learner_is_cross_fitted_by_the_folds(heated):
    linear = pytest.importorskip("sklearn.linear_model")
    x, psi, scores = heated
    made = estimate(scores).regress(x, learner=linear.LinearRegression())
    assert isinstance(made, Learned)
    expected = np.empty(80)
    for j in range(5):
        inside = scores.fold[0] == j
        expected[inside] = linear.LinearRegression().fit(x[~inside], psi[~inside]).predict(x[inside])
    np.testing.assert_allclose(made.fitted, expected, rtol=1e-10)
    assert made.r2 == pytest.approx(1 - ((psi - expected) ** 2).sum() / ((psi - psi.mean()) ** 2).sum(), rel=1e-10)
    assert isinstance(made.calibration, Regression)
    centred = expected - np.array([expected[scores.fold[0] == j].mean() for j in range(5)])[scores.fold[0]]
    plain = estimate(scores).regress(centred)
    np.testing.assert_allclose(made.calibration.coef, plain.coef[1:], rtol=1e-9)
    np.testing.assert_allclose(made.calibration.se, np.sqrt(2) * plain.se[1:], rtol=1e-9)
    low, high = made.calibration.conf_int()[0]
    assert low < 1 < high
    assert made.predict(x[:3]).shape == (3,)
    assert "calibration" in repr(made)


def test_a_learner_of_noise_has_no_slope(table):
    ensemble = pytest.importorskip("sklearn.ensemble")
    scores = table(n=120, seed=3)
    x = np.random.default_rng(0).standard_normal((120, 3))
    made = estimate(scores).regress(x, learner=ensemble.RandomForestRegressor(20, random_state=0))
    assert made.r2 < 0.05
    assert not (made.calibration.pvalue()[0] < 0.05 and made.calibration.coef[0] > 0)


# ---- what cannot be ------------------------------------------------------------------------------------
def test_regressions_that_cannot_be(heated, table):
    x, _, scores = heated
    est = estimate(scores)
    with pytest.raises(DataError, match="one row each"):
        est.regress(x[:10])
    with pytest.raises(DataError, match="follows from the others"):
        est.regress(np.hstack([x, x[:, :1] + 2]))
    with pytest.raises(DataError, match="is not finite for unit 7"):
        est.regress(np.where(np.arange(80) == 7, np.nan, 1.0))
    with pytest.raises(DataError, match="rests on unit 5 alone"):
        est.regress((np.arange(80) == 5).astype(float))
    with pytest.raises(DataError, match="merge it"):
        est.regress(np.where(np.arange(80) == 5, "rare", "common"))
    with pytest.raises(DataError, match="one numeric feature"):
        est.regress(x, spline=4)
    with pytest.raises(DataError, match="too few different values"):
        est.regress(np.arange(80) % 3, spline=5)
    with pytest.raises(DataError, match="one functional"):
        estimate(table(count=2)).regress(np.arange(40.0))
    with pytest.raises(DataError, match="one sample"):
        estimate(table(n=20)).difference(estimate(table(n=21))).regress(np.arange(41.0))
    with pytest.raises(DataError, match="was not among"):
        est.regress(np.array(["a", "b"] * 40)).predict(np.array(["c"]))
    linear = pytest.importorskip("sklearn.dummy")
    with pytest.raises(DataError, match="one value for all"):
        est.regress(x, learner=linear.DummyRegressor())
    with pytest.raises(DataError, match="not both"):
        est.regress(x[:, 0], spline=3, learner=linear.DummyRegressor())


# ---- planning -----------------------------------------------------------------------------------------
def study(rng, n, points, between=1.0, within=4.0, spread=None):
    """Scores of units with a mean correction over `points` terms, as the score room would report them."""
    counts = np.full(n, points) if spread is None else rng.integers(points - spread, points + spread + 1, n)
    psi, variance = np.empty(n), np.empty(n)
    level = np.sqrt(between) * rng.standard_normal(n)
    for i, k in enumerate(counts):
        terms = np.sqrt(within) * rng.standard_normal(k)
        psi[i] = level[i] + terms.mean()
        variance[i] = terms.var(ddof=1) / k if k > 1 else np.nan
    return psi, variance, counts


def test_the_variance_splits_into_units_and_points(table):
    psi, variance, counts = study(np.random.default_rng(0), 4000, 5, spread=4)
    est = estimate(table(psi[None, :, None], correction_var=variance[None, :, None], counts=counts))
    made = est.plan(precision=0.1, cost_point=0.1)
    # V_X: sd of a mean of 4000 chi-squares with about 4 degrees of freedom; V_A carries the noise of psi's variance
    assert made.within == pytest.approx(4.0, rel=0.06)
    assert made.between == pytest.approx(1.0, abs=0.2)


def test_a_plan_is_the_cheapest_of_its_kind(table):
    psi, variance, counts = study(np.random.default_rng(1), 200, 6)
    est = estimate(table(psi[None, :, None], correction_var=variance[None, :, None], counts=counts))
    made = est.plan(precision=0.2, cost_unit=10, cost_point=1)
    t = lambda n: scipy.stats.t.ppf(0.975, n - 1)  # noqa: E731
    length = lambda n, k: 2 * t(n) * np.sqrt((made.between + made.within / k) / n)  # noqa: E731
    costs = {}
    for k in range(1, 60):
        n = next(n for n in range(2, 5000) if length(n, k) <= 0.4)
        costs[n, k] = n * (10 + k)
    assert made.cost == min(costs.values())
    assert costs[made.n, made.points] == made.cost
    assert made.length == pytest.approx(length(made.n, made.points), rel=1e-10)
    # near the optimum of the continuous problem
    assert made.points == pytest.approx(np.sqrt(made.within / made.between * 10), abs=2)
    frame = made.to_frame()
    assert set(frame.columns) == {"n", "points", "length", "cost"}
    assert (frame.length <= 0.4).all()
    assert "units with" in str(made)


def test_a_budget_is_spent_and_not_exceeded(table):
    psi, variance, counts = study(np.random.default_rng(1), 200, 6)
    est = estimate(table(psi[None, :, None], correction_var=variance[None, :, None], counts=counts))
    made = est.plan(budget=1000, cost_unit=10, cost_point=1)
    assert all(row.cost <= 1000 for row in made.table)
    assert made.length == min(row.length for row in made.table)
    # the plan for that precision costs as much, up to one unit
    assert est.plan(precision=made.length / 2, cost_unit=10, cost_point=1).cost == pytest.approx(made.cost, abs=30)
    few = est.plan(budget=1000, cost_unit=10, cost_point=1, points=(2, 3))
    assert {row.points for row in few.table} == {2, 3}


def test_a_planned_study_has_the_planned_length(table):
    rng = np.random.default_rng(2)
    psi, variance, counts = study(rng, 3000, 5)
    est = estimate(table(psi[None, :, None], correction_var=variance[None, :, None], counts=counts))
    made = est.plan(precision=0.25, cost_point=0.2)
    lengths = []
    for _ in range(200):
        new = study(rng, made.n, made.points)[0]
        low, high = estimate(table(new[None, :, None])).conf_int()
        lengths.append(high - low)
    # the plan's own variances are known to about 4 %, lengths to half of it; 200 studies add 0.5 %
    assert np.mean(lengths) == pytest.approx(made.length, rel=0.05)


def test_plans_that_cannot_be(table):
    psi, variance, counts = study(np.random.default_rng(1), 50, 4)
    more = {"correction_var": variance[None, :, None], "counts": counts}
    est = estimate(table(psi[None, :, None], **more))
    with pytest.raises(DataError, match="either precision"):
        est.plan()
    with pytest.raises(DataError, match="either precision"):
        est.plan(0.1, budget=3)
    with pytest.raises(DataError, match="positive"):
        est.plan(-0.1)
    with pytest.raises(DataError, match="costs"):
        est.plan(0.1, cost_unit=-1)
    with pytest.raises(DataError, match="does not pay"):
        est.plan(budget=1, cost_unit=10)
    with pytest.raises(DataError, match="sampling variance"):
        estimate(table()).plan(0.1)
    with pytest.raises(DataError, match=r'est\["name"\]'):
        estimate(table(count=2)).plan(0.1)
    single = {"correction_var": np.full((1, 50, 1), np.nan), "counts": np.ones(50)}
    with pytest.raises(DataError, match="at least 2 points"):
        estimate(table(psi[None, :, None], **single)).plan(0.1)
    powered = estimate(table(psi[None, :, None], inputs=100, folds=1, **more), ppi=1.0)
    with pytest.raises(DataError, match="unlabelled inputs alone"):
        powered.plan(precision=0.01)
