"""Unlabelled inputs: the formulas, derived again; the identities; and what ppi-python computes."""

import numpy as np
import pytest

from dope.data import DataError
from dope.inference import estimate
from dope.scores import Scores


def world(rng, n=60, m=200, folds=3, quality=0.8, group=None, repeats=1, offset=0.0):
    """Scores of `folds` operators that agree in all but an offset each."""
    fold = np.stack([rng.permutation(np.arange(n) % folds) for _ in range(repeats)])
    z, zu = rng.standard_normal(n), rng.standard_normal(m)
    shift = offset * rng.standard_normal((repeats, folds))
    plugin = quality * z + np.take_along_axis(shift, fold, 1) + 0.2 * rng.standard_normal((repeats, n))
    correction = z - plugin + 0.3 * rng.standard_normal((repeats, n)) + 1
    unlabeled = quality * zu + shift[:, :, None] + 0.2 * rng.standard_normal((repeats, folds, m))
    return Scores(
        plugin[:, :, None], correction[:, :, None], fold, np.arange(n), ("g",), group=group,
        unlabeled=unlabeled[..., None],
    )  # fmt: skip


def by_hand(scores, form):
    """Estimate, variance and l of one repeat and functional, unit by unit."""
    g, psi = scores.plugin[0, :, 0].tolist(), scores.psi[0, :, 0].tolist()
    fold, unlabeled = scores.fold[0].tolist(), scores.unlabeled[0, :, :, 0]
    n, (folds, m) = len(g), unlabeled.shape
    members = [[i for i in range(n) if fold[i] == j] for j in range(folds)]
    average = [sum(len(members[j]) / n * unlabeled[j, u] for j in range(folds)) for u in range(m)]
    mean_in = lambda v, j: sum(v[i] for i in members[j]) / len(members[j])  # noqa: E731
    cov = sum((g[i] - mean_in(g, fold[i])) * (psi[i] - mean_in(psi, fold[i])) for i in range(n))
    var = sum((g[i] - mean_in(g, fold[i])) ** 2 for i in range(n))
    lam = {"tuned": cov / var * m / (n + m), "paper": m / (n + m)}.get(form, form)
    theta = sum(psi) / n + lam * (sum(average) / m - sum(g) / n)
    d = [psi[i] - lam * (g[i] - unlabeled[fold[i]].mean()) for i in range(n)]
    centre = sum(d) / n
    variance = sum((v - centre) ** 2 for v in d) / (n - 1) / n + lam**2 * np.var(average, ddof=1) / m
    return theta, variance, lam


@pytest.mark.parametrize("form", ["tuned", "paper", 0.3, 0.0, -0.5])
def test_the_formulas_derived_again(form):
    scores = world(np.random.default_rng(1), offset=0.5)
    theta, variance, lam = by_hand(scores, form)
    est = estimate(scores, ppi=form)
    assert est.value == pytest.approx(theta, rel=1e-12)
    assert est.se**2 == pytest.approx(variance, rel=1e-12)
    assert est.ppi.lam[0, 0] == pytest.approx(lam, rel=1e-12)


def test_the_papers_form_is_the_papers_equation():
    """Eq. PPI: the mean of g over all n1 + n2 inputs, plus the mean correction."""
    scores = world(np.random.default_rng(2))
    n, m = 60, scores.unlabeled.shape[2]
    shares = np.bincount(scores.fold[0]) / n
    unlabelled_sum = (shares @ scores.unlabeled[0, :, :, 0]).sum()
    equation = (scores.plugin.sum() + unlabelled_sum) / (n + m) + scores.correction.mean()
    assert estimate(scores, ppi="paper").value == pytest.approx(equation, rel=1e-12)
    # and its plug-in, debiased by nothing
    assert estimate(scores).plugin == pytest.approx((scores.plugin.sum() + unlabelled_sum) / (n + m), rel=1e-12)


def test_nonlinear_functionals_average_predictions_not_fields():
    """Two operators whose predictions are 0 and 4: their mean is 2, whatever g of the averaged field would be."""
    scores = Scores(
        np.zeros((1, 4, 1)), np.zeros((1, 4, 1)), np.array([[0, 0, 0, 1]]), np.arange(4), ("g",),
        unlabeled=np.stack([np.zeros((10, 1)), np.full((10, 1), 4.0)])[None],
    )  # fmt: skip
    # three labelled units of four were predicted by the first operator: weights 3/4 and 1/4
    assert estimate(scores, ppi=1.0).value == pytest.approx(1.0)


@pytest.mark.parametrize("grouped", [False, True])
def test_without_unlabelled_inputs_it_is_the_one_step_estimate_exactly(grouped):
    scores = world(np.random.default_rng(3), m=0, group=np.arange(60) // 4 if grouped else None, repeats=3)
    none = estimate(scores, ppi=None)
    for form in ("tuned", "paper", 0.7):
        est = estimate(scores, ppi=form)
        assert est.value == none.value
        assert est.se == none.se
        assert est.conf_int() == none.conf_int()
        assert est.pvalue() == none.pvalue()
        assert est.ppi is None


def test_l_of_zero_is_the_one_step_estimate_exactly():
    scores = world(np.random.default_rng(4), repeats=2)
    zero, none = estimate(scores, ppi=0.0), estimate(scores, ppi=None)
    assert zero.value == none.value
    assert zero.se == none.se


def test_few_unlabelled_inputs_change_little():
    scores = world(np.random.default_rng(5), m=1)
    assert abs(estimate(scores).value - estimate(scores, ppi=None).value) < 0.1  # l* is at most about 1/61
    assert estimate(scores).se == pytest.approx(estimate(scores, ppi=None).se, rel=0.02)


def test_a_perfect_operator_and_many_inputs_leave_the_error_of_the_unlabelled_mean():
    rng = np.random.default_rng(6)
    z, zu = rng.standard_normal((1, 50, 1)), rng.standard_normal((1, 1, 100_000, 1))
    scores = Scores(z, np.zeros_like(z), np.zeros((1, 50), int), np.arange(50), ("g",), unlabeled=zu)
    est = estimate(scores)
    assert est.value == pytest.approx(zu.mean(), abs=1e-3)  # l* = 1 - 5e-4 of a gap of about 0.14
    assert est.se == pytest.approx(1 / np.sqrt(100_000), rel=0.02)


def test_folds_whose_operators_differ_by_a_constant_cost_nothing():
    """Such constants cancel between labelled and unlabelled units, in the value and in the variance."""
    plain = world(np.random.default_rng(7))
    shift = np.array([-5.0, 1.0, 9.0])
    moved = Scores(
        plain.plugin + shift[plain.fold][..., None], plain.correction - shift[plain.fold][..., None], plain.fold,
        plain.ids, plain.names, unlabeled=plain.unlabeled + shift[None, :, None, None],
    )  # fmt: skip
    a, b = estimate(plain), estimate(moved)
    assert b.value == pytest.approx(a.value, rel=1e-10)
    assert b.se == pytest.approx(a.se, rel=1e-10)


def test_one_pretrained_operator_serves_all_folds():
    scores = world(np.random.default_rng(8), folds=1)
    spread = Scores(
        scores.plugin, scores.correction, np.arange(60)[None] % 5, scores.ids, scores.names, unlabeled=scores.unlabeled
    )
    assert estimate(spread).value == estimate(scores).value
    assert estimate(spread).se == estimate(scores).se


def test_clusters_of_labelled_units():
    group = np.repeat(np.arange(15), 4)
    scores = world(np.random.default_rng(9), folds=1, group=group)
    est = estimate(scores, ppi=0.6)
    d = scores.psi[0, :, 0] - 0.6 * scores.plugin[0, :, 0]
    sums = np.array([(d - d.mean())[group == c].sum() for c in range(15)])
    unlabelled = 0.36 * scores.unlabeled[0, 0, :, 0].var(ddof=1) / 200
    assert est.se**2 == pytest.approx(15 / 14 * (sums**2).sum() / 60**2 + unlabelled, rel=1e-12)
    assert est.df == 14
    # the tuned l minimises the variance that clusters give to the means
    c = lambda a, b: 15 / 14 / 60**2 * sum(  # noqa: E731
        (a - a.mean())[group == k].sum() * (b - b.mean())[group == k].sum() for k in range(15)
    )
    g, psi = scores.plugin[0, :, 0], scores.psi[0, :, 0]
    assert estimate(scores).ppi.lam[0, 0] == pytest.approx(c(psi, g) / (c(g, g) + g.var(ddof=1) / 200), rel=1e-12)


def test_joint_covariance_with_an_l_for_each_functional(table):
    scores = table(n=50, count=3, inputs=300, folds=1)
    est = estimate(scores)
    lam = est.ppi.lam[0]
    assert len(set(lam)) == 3
    d = scores.psi[0] - lam * scores.plugin[0]
    expected = np.cov(d.T) / 50 + np.outer(lam, lam) * np.cov(scores.unlabeled[0, 0].T) / 300
    np.testing.assert_allclose(est.covariance, expected, rtol=1e-11)
    single = estimate(Scores(
        scores.plugin[:, :, :1], scores.correction[:, :, :1], scores.fold, scores.ids, ("g0",),
        unlabeled=scores.unlabeled[..., :1],
    ))  # fmt: skip
    assert single.value == pytest.approx(est.value[0], rel=1e-13)
    assert single.se == pytest.approx(est.se[0], rel=1e-12)


def test_an_operator_without_any_spread_is_left_out():
    scores = world(np.random.default_rng(10), folds=1)
    flat = Scores(
        np.full_like(scores.plugin, 2.0), scores.correction, scores.fold, scores.ids, scores.names,
        unlabeled=np.full_like(scores.unlabeled, 2.0),
    )  # fmt: skip
    assert estimate(flat).value == estimate(flat, ppi=None).value
    assert estimate(flat).se == estimate(flat, ppi=None).se


def test_inputs_from_elsewhere_are_noticed():
    scores = world(np.random.default_rng(11))
    assert not [n for n in estimate(scores).notes if "unlabelled" in n]
    moved = Scores(
        scores.plugin, scores.correction, scores.fold, scores.ids, scores.names, unlabeled=scores.unlabeled + 3
    )
    assert [n for n in estimate(moved).notes if "same population" in n]
    assert not [n for n in estimate(moved, ppi=None).notes if "same population" in n]


def test_tables_of_the_wrong_form():
    s = world(np.random.default_rng(12))
    with pytest.raises(DataError, match="unlabeled has shape"):
        estimate(Scores(s.plugin, s.correction, s.fold, s.ids, s.names, unlabeled=s.unlabeled[0]))
    with pytest.raises(DataError, match="no operator"):
        estimate(Scores(s.plugin, s.correction, s.fold, s.ids, s.names, unlabeled=s.unlabeled[:, :2]))
    broken = s.unlabeled.copy()
    broken[0, 1, 17] = np.inf
    with pytest.raises(DataError, match="input 17"):
        estimate(Scores(s.plugin, s.correction, s.fold, s.ids, s.names, unlabeled=broken))


def test_ppi_python_mean_for_the_same_lambda():
    """ppi-python (0.2.3): lam mean(f_unl) + mean(y - lam f), with population variances (ddof 0) and a normal quantile.

    Its y is our psi and its f our plug-in, both from one operator. The point agrees as it is; its variance is ours
    with each sample's variance divided by its size instead of size - 1.
    """
    scores = world(np.random.default_rng(13), folds=1)
    y, f, fu = scores.psi[0, :, 0], scores.plugin[0, :, 0], scores.unlabeled[0, 0, :, 0]
    n, m = len(y), len(fu)
    for lam in (0.0, 0.4, 1.0, 1.3):
        est = estimate(scores, ppi=lam)
        point = np.mean(lam * fu) + np.mean(y - lam * f)
        imputed, rectifier = np.std(lam * fu) ** 2 / m, np.std(y - lam * f) ** 2 / n
        assert est.value == pytest.approx(point, rel=1e-12)
        unlabelled = lam**2 * fu.var(ddof=1) / m
        theirs = (est.se**2 - unlabelled) * (n - 1) / n + unlabelled * (m - 1) / m
        assert theirs == pytest.approx(imputed + rectifier, rel=1e-12)
