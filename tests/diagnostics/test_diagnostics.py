"""Diagnostics against truths that are known, and verdicts that follow from them."""

import numpy as np
import pytest

import dope
from dope.diagnostics import balance, diagnose, operator_error, overlap, remainder, unseen
from dope.diagnostics.balance import directions
from dope.functionals.base import evaluate
from dope.scores import Exact, OneStep, PlugIn, Prediction
from tests.helpers import GRIDS
from tests.scores.test_corrections import GRID, TAT, X, world

WRONG = 0.25 * np.cos(2 * np.pi * X) + 0.1
FUNCTIONALS = [
    TAT,
    dope.Energy(),
    dope.SoftMax(2.0),
    dope.Mean() * dope.Mean(),
    dope.functional(lambda u, grid: u.square().mean() * u.mean(), name="own"),
]


@pytest.fixture(scope="module")
def many():
    return world(n=3000, k=20, noise=0.1)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_directions_hold_the_constant_and_are_few(grid):
    names, fields = directions(grid)
    assert names[0] == "constant"
    np.testing.assert_array_equal(fields[0], 1)
    assert fields.shape == (len(names), *grid.shape)
    assert len(names) <= 9


def test_the_operator_s_error_is_found_without_the_truth(many):
    u, data, xi = many
    p = Prediction(data, u + WRONG, xi)
    found = operator_error(p, p.xi_at_points)
    expected = np.sqrt(GRID.mean(WRONG**2))
    assert found.rmse == pytest.approx(expected, rel=0.05)  # 60 000 points
    assert found.relative == pytest.approx(expected / u.std(), rel=0.05)
    assert found.noise == pytest.approx(0.1, rel=0.1)


def test_a_perfect_operator_has_no_error(many):
    u, data, xi = many
    p = Prediction(data, u, xi)
    assert operator_error(p, p.xi_at_points).rmse < 0.02


@pytest.mark.parametrize("g", FUNCTIONALS, ids=str)
def test_the_remainder_is_what_the_one_step_leaves(many, g):
    """Against the second-order term itself: g(S0) - g(S) - Dg(S0 - S) up to third order, for a small error."""
    u, data, xi = many
    field = u + WRONG
    p = Prediction(data, field, xi)
    value, se = remainder(g, p, p.xi_at_points)
    chosen = np.linspace(0, len(u) - 1, 256).astype(int)  # the units that are looked at
    # symmetric differences cancel the third order: (g(S + d) + g(S - d)) / 2 - g(S), d = S0 - S
    half = (evaluate(g, u[chosen], GRID) + evaluate(g, (field + WRONG)[chosen], GRID)) / 2 - evaluate(
        g, field[chosen], GRID
    )
    assert abs(value - half.mean()) < 3 * se + 0.05 * abs(half.mean())
    assert 3 * se < 2 * abs(half.mean())  # so that the check says something


def test_linear_functionals_leave_nothing(many):
    u, data, xi = many
    p = Prediction(data, u + WRONG, xi)
    assert remainder(dope.Mean(), p, p.xi_at_points) == (0.0, 0.0)


def test_right_weights_balance_and_wrong_ones_do_not(many):
    u, data, xi = many
    good = balance(dope.Mean(), Prediction(data, u, xi))
    assert np.abs(good.z).max() < 4
    bad = balance(dope.Mean(), Prediction(data, u, np.ones_like(xi)))
    # points follow 1 + 0.8 (2x - 1): even weights overstate P1 by 0.8 / 3 and leave the constant alone
    assert bad.names[1] == "P1"
    assert bad.size[1] == pytest.approx(0.8 / 3, abs=0.02)
    assert abs(bad.z[0]) < 1e-6
    assert bad.z[1] > 20


def test_overlap_of_even_and_of_lone_weights(many):
    u, data, _ = many
    p = Prediction(data, u, np.ones_like(u))
    even = overlap(p.xi_at_points, p)
    assert even.effective == pytest.approx(1)
    assert even.largest == pytest.approx(1 / 60_000)
    lone = np.zeros(data.observed.shape)
    lone[0, 0] = 1
    assert overlap(lone, p).effective == pytest.approx(1 / 60_000)
    assert overlap(lone, p).largest == 1


def seen_at(grid, points, u=None):
    """A prediction for units that were observed at the given places `(n, K)` or `(n, K, d)`."""
    n = len(points)
    data = dope.OperatorData(np.ones((n, *grid.shape)), points, np.zeros(np.shape(points)[:2]), grid=grid)
    field = np.ones((n, *grid.shape))
    return Prediction(data, field if u is None else field * u, field)


def test_gaps_are_parts_where_nobody_was_seen():
    rng, grid = np.random.default_rng(0), dope.Grid.uniform(0, 24, 121)
    some = rng.uniform(0, 24, (30, 5))
    assert unseen(dope.Mean(), seen_at(grid, some)) == 0
    assert unseen(dope.Mean(), seen_at(grid, some / 2)) == pytest.approx(0.5, abs=0.01)
    schedule = np.tile([0.0, 4.8, 9.6, 14.4, 19.2, 24.0], (30, 1))
    assert unseen(dope.Mean(), seen_at(grid, schedule)) == pytest.approx(0.4, abs=0.02)
    assert unseen(dope.Mean(), seen_at(dope.Grid.nodes(schedule[0]), schedule)) == 0
    # a question about the observed half alone has no gap
    assert unseen(dope.Mean().within(lambda x: x < 11), seen_at(grid, some / 2)) == 0
    square = dope.Grid.product(dope.Grid.cells(0, 1, 12), dope.Grid.cells(0, 1, 12))
    places = rng.uniform(0, 1, (60, 6, 2))
    assert unseen(dope.Mean(), seen_at(square, places)) == 0
    assert unseen(dope.Mean(), seen_at(square, places * [0.5, 1])) == pytest.approx(0.5)


def test_a_large_correction_by_weights_that_are_off_is_not_passed():
    """An operator that is wrong by a half and weights that fall short by a tenth: neither alone is a reason."""
    u, data, xi = world(n=1500, k=20, noise=0.02)

    def found(operator, weights):
        p, g = Prediction(data, operator * u, weights * xi), dope.Mean()
        psi = evaluate(g, p.field, GRID) + OneStep()(g, p, np.zeros(len(u)))[0]
        return failed(diagnose(g, p, correction=OneStep(), se=psi.std(ddof=1) / np.sqrt(len(u))))

    assert found(1.0, 1.0) == found(1.5, 1.0) == found(1.0, 0.9) == set()
    assert found(1.5, 0.9) == {"product of errors"}


def test_a_question_about_the_observed_part_is_judged_there():
    """Points in the lower half only: weights that are right there balance the half and nothing beyond it."""
    rng, grid = np.random.default_rng(1), dope.Grid.uniform(0, 1, 41)
    half = grid.points[:, 0] <= 0.5
    points = rng.uniform(0, 0.5 - 1 / 80, (400, 8))
    u = 1 + 0.3 * rng.normal(size=(400, 1)) * np.cos(np.pi * grid.points[:, 0])
    data = dope.OperatorData(u, points, np.zeros((400, 8)), grid=grid)
    xi = np.where(half, 0.5, 5.0) * np.ones((400, 1))
    p = Prediction(data, u, xi)
    lower, energy = lambda x: x < 0.5, dope.Energy()
    confined = energy.within(lower)
    for g, passed in ((energy, False), (confined, True), (confined.within(lambda x: x > 0), True)):
        checks = {c.name: c for c in diagnose(g, p, correction=Exact(0.0), se=0.1).checks}
        assert checks["gaps"].passed == checks["balance"].passed == passed, (g, checks)
    inside = overlap(p.xi_at_points, p, lower)
    assert inside.effective == pytest.approx(1)
    assert overlap(p.xi_at_points, p, lambda x: x < 0.25).observations < 0.55 * inside.observations


def test_a_remainder_lost_in_its_own_noise_is_not_passed():
    from dope.diagnostics.diagnosis import _remainder_check

    assert _remainder_check(0.01, 0.01, 0.1, "").passed
    assert _remainder_check(0.06, 0.04, 0.1, "").passed  # large, but within its own error
    assert not _remainder_check(0.09, 0.04, 0.1, "").passed
    lost = _remainder_check(-0.068, 0.1, 0.015, "")
    assert not lost.passed
    assert "too uncertain to tell" in lost.words


def verdict(g, shift, method, *, xi=None, n=300):
    u, data, right = world(n=n, k=20, noise=0.02)
    p = Prediction(data, u + shift * (1 + np.cos(2 * np.pi * X)), right if xi is None else xi(right))
    plugin = evaluate(g, p.field, GRID)
    c, _ = method(g, p, plugin)
    return diagnose(g, p, correction=method, se=(plugin + c).std(ddof=1) / np.sqrt(n))


def failed(d):
    return {c.name for c in d.checks if not c.passed}


def test_verdicts():
    good = verdict(TAT, 0.02, OneStep())
    assert good.passed
    assert good.warnings == ()
    assert "nothing in the fit speaks against" in str(good)
    poor = verdict(dope.SoftMax(6.0), 0.4, OneStep())
    assert {"remainder", "operator error"} <= failed(poor)
    assert "do not trust" in str(poor)
    assert all("correction" in w or "operator" in w for w in poor.warnings)
    assert verdict(TAT, 0.4, Exact(4e-4)).passed  # no remainder to fear
    assert failed(verdict(TAT, 0.2, PlugIn())) == {"plug-in bias"}
    assert "balance" in failed(verdict(TAT, 0.02, OneStep(), xi=np.ones_like))
    narrow = verdict(TAT, 0.02, OneStep(), xi=lambda xi: np.where(np.arange(64) == 60, 60.0, 1e-3) * np.ones_like(xi))
    assert "overlap" in failed(narrow)


def test_a_diagnosis_as_a_table():
    d = verdict(dope.SoftMax(6.0), 0.4, OneStep())
    frame = d.to_frame()
    assert list(frame.index) == [c.name for c in d.checks]
    assert (frame.verdict == "FAILED").any()
    assert "<pre>" in d._repr_html_()


def test_smoothing_is_measured_on_the_predicted_fields():
    d = verdict(dope.SoftMax(6.0), 0.02, OneStep())
    assert d.smoothing < 0
    assert verdict(dope.Energy(), 0.02, OneStep()).smoothing is None


def test_warnings_stand_beside_the_interval():
    w = dope.benchmarks.pharmacokinetics(rho=0.5, size=32, points=10)
    model = dope.DOPE(
        operator=dope.FNO(width=8, modes=4, layers=2), folds=2, recipe=dope.Recipe(epochs=1), device="cpu"
    )
    fit = model.fit(w.sample(24, seed=0).data, progress=False)
    est = fit.estimate(dope.SoftMax(6.0))
    assert not est.diagnoses[0].passed
    assert not fit.diagnose(dope.SoftMax(6.0)).passed
    text = " ".join(est.summary().split())
    for warning in est.diagnoses[0].warnings:
        assert " ".join(warning.split()) in text


def test_units_with_one_point_leave_the_remainder_of_a_curved_functional_unknown():
    u, data, xi = world(n=200, k=1)
    p = Prediction(data, u + 0.01, xi)
    assert np.isnan(remainder(TAT, p, p.xi_at_points)).all()
    assert remainder(dope.Mean(), p, p.xi_at_points) == (0.0, 0.0)
    d = diagnose(TAT, p, correction=OneStep(), se=0.01)
    assert "remainder" in failed(d)
    assert "one point each" in str(d)
    assert "remainder" not in failed(diagnose(dope.Mean(), p, correction=OneStep(), se=0.01))


def test_the_operator_s_error_is_no_reason_to_doubt_a_linear_functional():
    assert "operator error" not in failed(verdict(dope.Mean(), 0.6, OneStep()))
    assert "operator error" in failed(verdict(dope.SoftMax(6.0), 0.6, OneStep()))
    assert not verdict(dope.Mean(), 0.6, PlugIn()).passed


def test_few_observations_of_equal_weight_overlap():
    u, data, _ = world(n=4, k=3, tilt=0.0)
    p = Prediction(data, u, np.ones_like(u))
    assert "overlap" not in failed(diagnose(dope.Mean(), p, correction=OneStep(), se=0.1))


def test_a_diagnosis_and_a_second_stage_can_be_drawn_where_they_are_found():
    w = dope.benchmarks.pharmacokinetics(rho=0.5, size=32, points=10)
    quick = dope.DOPE(dope.FNO(width=6, layers=1), folds=2, recipe=dope.Recipe(epochs=1), device="cpu")
    fit = quick.fit(w.sample(24, seed=0).data, progress=False)
    ax = fit.diagnose(dope.Mean(name="dose")).plot()
    assert ax.get_title(loc="left") == "dose"
    x = fit.data.inputs[:, 1, 0]
    assert len(fit.estimate(dope.Mean()).regress(x, spline=3).plot().lines) == 1
    assert fit.estimate(dope.Mean()).regress(np.where(x > 0, "fast", "slow")).plot().patches
    est = fit.estimate([dope.Mean(), dope.SoftMax(6.0)], names=["auc", "cmax"])
    assert [d.functional for d in est.diagnoses] == ["auc", "cmax"]
    assert est["auc"].verdicts == (est.diagnoses[0].found,)
    assert all("mean" not in reason.split() for reason in est.reasons)  # by the user's names


def test_the_balance_is_that_of_the_weights_which_the_correction_uses():
    """xi is wrong where the prediction lies far above the threshold: w_g is 0 there, but phi(Y) - phi(S) is not."""
    u, data, xi = world(n=300, k=20, noise=0.02, tilt=0.0)
    left = X < 0.5
    p = Prediction(data, np.where(left, 9.0, u), np.where(left, 3 * xi, xi))
    assert "balance" not in failed(diagnose(TAT, p, correction=OneStep(), se=0.01))
    assert "balance" in failed(diagnose(TAT, p, correction=Exact(4e-4), se=0.01))
