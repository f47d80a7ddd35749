"""Values, standard errors, intervals and p-values: against closed forms, scipy, and one another."""

import json

import numpy as np
import pytest
import scipy.stats

from dope.data import DataError
from dope.inference import Estimate, estimate


def test_the_interval_of_one_sample_is_the_t_interval(table):
    scores = table(n=37)
    est = estimate(scores)
    psi = scores.psi[0, :, 0]
    reference = scipy.stats.ttest_1samp(psi, 0.7)
    assert isinstance(est.value, float)
    assert est.value == pytest.approx(psi.mean(), rel=1e-14)
    assert est.se == pytest.approx(psi.std(ddof=1) / np.sqrt(37), rel=1e-12)
    assert est.df == 36
    assert est.n == 37
    assert est.tstat(0.7) == pytest.approx(reference.statistic, rel=1e-12)
    assert est.pvalue(0.7) == pytest.approx(reference.pvalue, rel=1e-10)
    for level in (0.5, 0.9, 0.95, 0.999):
        assert est.conf_int(level) == pytest.approx(tuple(reference.confidence_interval(level)), rel=1e-10)


@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_null_is_rejected_exactly_where_it_lies_outside_the_interval(table, repeats, grouped):
    est = estimate(table(repeats=repeats, n=30, group=np.arange(30) // 3 if grouped else None))
    for level in (0.8, 0.95, 0.99):
        for end in est.conf_int(level):
            assert est.pvalue(end) == pytest.approx(1 - level, rel=1e-9)
    low, high = est.conf_int(0.95)
    grid = np.linspace(low - 1, high + 1, 41)
    rejected = np.array([est.pvalue(v) < 0.05 for v in grid])
    np.testing.assert_array_equal(rejected, (grid < low) | (grid > high))


def test_clusters_by_hand(table):
    values = np.array([1.0, 2.0, 4.0, 3.0, 6.0, 2.0, 1.0])
    labels = np.array(["b", "b", "a", "c", "c", "c", "a"])
    est = estimate(table(values[None, :, None], group=labels, folds=2))
    mean = values.sum() / 7
    sums = [sum(v - mean for v, g in zip(values, labels, strict=True) if g == name) for name in "abc"]
    variance = 3 / 2 * sum(s**2 for s in sums) / 7**2
    assert est.se == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert est.df == 2


def test_clusters_agree_with_statsmodels_up_to_its_small_sample_factor(table):
    sm = pytest.importorskip("statsmodels.api")
    group = np.random.default_rng(3).integers(0, 12, 60)
    scores = table(n=60, group=group)
    psi = scores.psi[0, :, 0]
    fit = sm.OLS(psi, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": group})
    # statsmodels: G/(G-1) (n-1)/(n-p) with p = 1: for a mean the second factor is 1
    assert estimate(scores).se == pytest.approx(fit.bse[0], rel=1e-10)


def test_groups_of_one_unit_are_independent_units(table):
    plain, grouped = estimate(table(n=25)), estimate(table(n=25, group=np.arange(25)))
    assert grouped.se == pytest.approx(plain.se, rel=1e-12)
    assert grouped.df == plain.df


def test_joint_numbers_are_the_single_ones_with_their_covariance(table):
    scores = table(n=50, count=3, names=("auc", "cmax", "tat"))
    est = estimate(scores)
    assert est.joint
    assert est.value.shape == est.se.shape == est.df.shape == est.pvalue().shape == (3,)
    assert est.conf_int().shape == (3, 2)
    np.testing.assert_allclose(est.covariance, np.cov(scores.psi[0].T) / 50, rtol=1e-12)
    for k, name in enumerate(est.names):
        single = est[name]
        assert not single.joint
        assert single.value == pytest.approx(est.value[k], rel=1e-13)
        assert single.conf_int() == pytest.approx(tuple(est.conf_int()[k]), rel=1e-12)
        assert est[k].pvalue(0.3) == pytest.approx(est.pvalue(0.3)[k], rel=1e-9)
    assert est.pvalue(est.value) == pytest.approx(np.ones(3))


def test_one_functional_can_be_joint(table):
    est = estimate(table(n=20), joint=True)
    assert est.value.shape == (1,)
    assert est.conf_int().shape == (1, 2)


def test_the_plugin_is_the_mean_of_predictions(table):
    scores = table(n=33, count=2)
    est = estimate(scores)
    np.testing.assert_allclose(est.plugin, scores.plugin[0].mean(0), rtol=1e-13)
    np.testing.assert_allclose(est.plugin_se, scores.plugin[0].std(0, ddof=1) / np.sqrt(33), rtol=1e-12)


def test_repeats_by_the_median_formula(table):
    scores = table(n=30, repeats=5, count=2)
    est = estimate(scores)
    theta = scores.psi.mean(1)
    se = scores.psi.std(1, ddof=1) / np.sqrt(30)
    centre = np.median(theta, 0)
    np.testing.assert_allclose(est.value, centre, rtol=1e-13)
    np.testing.assert_allclose(est.se, np.sqrt(np.median(se**2 + (theta - centre) ** 2, 0)), rtol=1e-12)


def test_equal_repeats_change_nothing(table):
    once = table(n=30, count=3)
    thrice = table(np.tile(once.plugin, (3, 1, 1)), np.tile(once.correction, (3, 1, 1)))
    np.testing.assert_allclose(estimate(thrice).covariance, estimate(once).covariance, rtol=1e-12)


def test_the_covariance_of_repeats_is_semidefinite_with_the_single_variances(table):
    # many functionals of few units and repeats that disagree: elementwise medians are then indefinite
    rng = np.random.default_rng(5)
    plugin = rng.standard_t(2, (5, 8, 12))
    est = estimate(table(plugin))
    theta, se2 = plugin.mean(1), plugin.var(1, ddof=1) / 8
    gap = theta - np.median(theta, 0)
    raw = np.median([np.cov(p.T) / 8 + np.outer(d, d) for p, d in zip(plugin, gap, strict=True)], 0)
    assert np.linalg.eigvalsh(raw)[0] < -1e-3  # the case is one
    assert np.linalg.eigvalsh(est.covariance)[0] > -1e-10
    np.testing.assert_allclose(est.se**2, np.median(se2 + (theta - np.median(theta, 0)) ** 2, 0), rtol=1e-10)


def test_scores_without_spread(table):
    est = estimate(table(np.full((1, 12, 1), 2.5)))
    assert est.se == 0
    assert est.conf_int() == (2.5, 2.5)
    assert est.pvalue(2.5) == 1
    assert est.pvalue(0) == 0
    assert est.bootstrap() == (2.5, 2.5)
    json.loads(est.to_json())


def test_a_subclass_keeps_its_class_and_fields(table):
    from dataclasses import dataclass
    from typing import Any

    @dataclass(frozen=True, eq=False, repr=False)
    class Mine(Estimate):
        fit: Any = None

    est = Mine.of(estimate(table(count=2, n=30)), fit="a fit")
    assert est.fit == "a fit"
    for made in (est["g0"], est.contrast([1, -1]), est.ratio(0, 1), est.difference(est)):
        assert type(made) is Mine
        assert made.fit == "a fit"
    assert repr(est).startswith("Mine(")


def test_what_the_makers_of_the_scores_say_is_kept(table):
    est = estimate(
        table(count=2), correction=("exact", "one-step"), weights="design", reasons=("why",), notes=("beware",),
        meta={"seed": 3}, level=0.9,
    )  # fmt: skip
    assert est.correction == ("exact", "one-step")
    assert est["g0"].correction == "exact"
    assert est.contrast([1, 1]).correction == "exact + one-step"
    assert est.notes[0] == "beware"
    assert est.meta == {"seed": 3}
    np.testing.assert_allclose(est.conf_int(), est.conf_int(0.9))


def test_numbers_cannot_be_changed_from_outside(table):
    est = estimate(table(count=2))
    before = est.value[0]
    est.value[0] = 99.0
    assert est.value[0] == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joint": False}, "joint=True"),
        ({"level": 95}, "between 0 and 1"),
        ({"ppi": "best"}, "tuned"),
        ({"ppi": float("nan")}, "tuned"),
        ({"correction": ("exact",)}, "2 functionals"),
    ],
)
def test_settings_that_cannot_be_meant(table, change, words):
    with pytest.raises(DataError, match=words):
        estimate(table(count=2), **change)


def test_tables_that_cannot_be_used(table):
    broken = np.ones((1, 5, 1))
    broken[0, 3, 0] = np.nan
    with pytest.raises(DataError, match="unit 'd'"):
        estimate(table(broken, ids=np.array(list("abcde"))))
    with pytest.raises(DataError, match="at least 2 independent units"):
        estimate(table(np.ones((1, 1, 1)), folds=1))
    with pytest.raises(DataError, match="at least 2 independent groups"):
        estimate(table(n=6, group=np.zeros(6)))
    with pytest.raises(DataError, match="between 0 and 1"):
        estimate(table()).conf_int(1.0)
    with pytest.raises(DataError, match="no functional is named"):
        estimate(table(count=2))["auc"]


def test_importing_inference_loads_neither_scipy_stats_nor_pandas_itself():
    import ast
    from pathlib import Path

    import dope.inference

    for path in Path(dope.inference.__file__).parent.glob("*.py"):
        for node in ast.parse(path.read_text()).body:  # statements at module level only
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not {n.split(".")[0] for n in names} & {"torch", "scipy", "pandas", "sklearn", "matplotlib"}, path
