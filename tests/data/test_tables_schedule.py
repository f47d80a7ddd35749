"""The grid that a table gets when the user gives none; AUC and Cmax on it against the rules of the field."""

import numpy as np
import pandas as pd
import pytest

import dope
from dope.data import read_table
from dope.functionals.base import evaluate

SCHEDULE = np.array([0, 0.25, 0.5, 1, 2, 4, 8, 12, 24])


def curve(t, i):
    k, ka = 0.1 + 0.01 * i, 1.2
    return (5 + i) * ka / (ka - k) * (np.exp(-k * t) - np.exp(-ka * t))


def table(times):
    """One dose at 0, and a profile of every subject at its own `times`."""
    parts = [pd.DataFrame({"ID": i, "TIME": t, "DOSE": 100 + i, "DV": curve(t, i)}) for i, t in enumerate(times)]
    return pd.concat(parts)


def joined(data):
    """Straight lines between the observations, on the grid."""
    nodes = data.grid.axes[0].nodes
    rows = zip(data.points[..., 0], data.values, data.observed, strict=True)
    return np.stack([np.interp(nodes, x[seen], y[seen]) for x, y, seen in rows])


def trapezoid(frame):
    """The linear rule of non-compartmental analysis: from the first to the last sample."""
    return frame.groupby("ID").apply(lambda p: np.trapezoid(p["DV"], p["TIME"]))


def test_a_schedule_that_subjects_share_is_the_grid():
    rng = np.random.default_rng(0)
    late = [np.sort(SCHEDULE * (1 + 0.02 * rng.uniform(-1, 1, 9))) for _ in range(10)]
    late[3] = np.delete(late[3], 5)  # a sample was lost
    data, reading = read_table(table(late))
    assert data.grid.shape == (9,)
    np.testing.assert_allclose(data.grid.axes[0].nodes, SCHEDULE, rtol=0.03)
    assert data.grid.axes[0].upper == max(t[-1] for t in late)
    assert any("share a schedule of 9 times" in note for note in reading.notes)


def test_equal_steps_of_a_schedule_make_a_uniform_grid():
    data, _ = read_table(table([np.linspace(0, 24, 97)] * 4))
    assert data.grid.same_as(dope.Grid.uniform(0, 24, 97))


@pytest.mark.parametrize("k", [3, 9, 24])
def test_times_that_are_each_subjects_own_get_equal_steps(k):
    rng = np.random.default_rng(k)
    data, _ = read_table(table([np.sort(rng.uniform(0, 24, k)) for _ in range(20)]))
    assert data.grid.shape == (128,)
    assert data.grid.axes[0].kind == "uniform"


# A fine regular schedule, the same at irregular times, and times of each subject's own on a grid of equal steps.
DENSE = {
    "regular": [np.linspace(0, 24, 241)] * 6,
    "irregular": [np.concatenate([np.linspace(0, 4, 81), np.linspace(4.2, 24, 100)])] * 6,
    "own": [np.unique(np.r_[0, 24, np.random.default_rng(i).uniform(0, 24, 300 + i)]) for i in range(6)],
}


@pytest.mark.parametrize("times", DENSE.values(), ids=list(DENSE))
def test_auc_and_cmax_of_dense_profiles_agree_with_the_linear_rule_to_half_a_percent(times):
    frame = table(times)
    data, _ = read_table(frame)
    profiles = joined(data)
    auc = evaluate(dope.AUC(), profiles, data.grid)
    np.testing.assert_allclose(auc, trapezoid(frame), rtol=5e-3)
    # a smooth maximum of this sharpness lies below the hard one by at most log(1 / share of the peak) / sharpness
    cmax = evaluate(dope.SoftMax(500.0), profiles, data.grid)
    np.testing.assert_allclose(cmax, frame.groupby("ID")["DV"].max(), rtol=5e-3)


@pytest.mark.parametrize("times", DENSE.values(), ids=list(DENSE))
def test_they_agree_with_pynca_too(times):
    tools = pytest.importorskip("pynca.tools")
    frame = table(times).reset_index(drop=True)
    nca = tools.tblNCA(frame, key=["ID"], colTime="TIME", colConc="DV", dose="DOSE", down="Linear").iloc[1:]
    data, _ = read_table(frame)
    profiles = joined(data)
    auc, cmax = (evaluate(g, profiles, data.grid) for g in (dope.AUC(), dope.SoftMax(500.0)))
    np.testing.assert_allclose(auc, nca["AUClast"].astype(float), rtol=5e-3)
    np.testing.assert_allclose(cmax, nca["Cmax"].astype(float), rtol=5e-3)


@pytest.mark.slow
def test_the_estimate_from_dense_profiles_agrees_with_the_mean_of_the_linear_rule():
    frame = table([np.linspace(0, 24, 97)] * 16)
    data, _ = read_table(frame)
    est = dope.DOPE(folds=8).fit(data, progress=False).estimate(dope.AUC())
    # the correction puts each subject's own trapezoid in place of the operator's, up to the product of two errors
    assert est.value == pytest.approx(trapezoid(frame).mean(), rel=5e-3)
