"""What a fit is asked and what it keeps: names, unlabelled inputs, labels and predictions on disk."""

import datetime

import numpy as np
import pytest

import dope
from dope import DOPE, FNO, DataError, Grid, OperatorData, Recipe

GRID = Grid.uniform(0, 1, 16)
RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(8, 1, 16))
POINTS, VALUES = RNG.uniform(0, 1, (8, 4)), RNG.normal(size=(8, 4))


def fit_of(operator=None, **more):
    data = OperatorData(INPUTS, POINTS, VALUES, grid=GRID, **more)
    model = DOPE(operator or FNO(width=4, modes=3, layers=1), folds=2, recipe=Recipe(epochs=1), device="cpu")
    return model.fit(data, progress=False)


@pytest.fixture(scope="module")
def fit():
    return fit_of()


def test_one_name_may_be_a_word(fit):
    assert fit.estimate(dope.Mean(), names="auc").names == ("auc",)
    with pytest.raises(DataError, match="1 names for 2 functionals"):
        fit.estimate([dope.Mean(), dope.Energy()], names="ab")
    with pytest.raises(DataError, match="the class Mean"):
        fit.estimate([dope.Mean])


def test_a_name_does_not_have_weights_learned_again(fit):
    g = dope.Energy()
    first = fit.estimate(g, weights="structured")
    assert fit.estimate(g, weights="structured", names="power").value == first.value
    assert len([key for key in fit._learned if key[1] == id(g)]) == 1


def test_unlabelled_inputs_of_another_grid_are_refused(fit):
    other = OperatorData(INPUTS, POINTS, VALUES, grid=Grid.uniform(0, 2, 16))
    with pytest.raises(DataError, match=r"Grid.uniform\(0, 2, 16\).*bring them onto its grid"):
        fit.estimate(dope.Mean(), unlabeled=other)
    for words in (np.full((3, 16), "a"), [["a"] * 16] * 3, [[1.0], [1.0, 2.0]]):
        with pytest.raises(DataError, match="unlabeled inputs must be"):
            fit.estimate(dope.Mean(), unlabeled=words)


@pytest.mark.parametrize(
    "ids",
    [
        [datetime.date(2020, 1, 1 + k) for k in range(8)],
        np.arange(8).astype("datetime64[D]"),
        [b"%d" % k for k in range(8)],
    ],
    ids=["dates", "numpy dates", "bytes"],
)
def test_labels_of_any_kind_do_not_lose_a_fit(ids, tmp_path):
    fit = fit_of(ids=ids, groups=ids)
    fit.save(tmp_path)
    back = dope.load(tmp_path)
    assert len(set(back.data.ids.tolist())) == 8
    assert back.estimate(dope.Mean()).value == fit.estimate(dope.Mean()).value


def test_predictions_of_another_program_come_back_from_disk(tmp_path):
    fields = np.cumsum(INPUTS[:, 0], -1) / 16
    fit = fit_of(dope.pretrained(fields))
    fit.save(tmp_path)
    back = dope.load(tmp_path)
    one, two = (f.estimate(dope.Mean(), unlabeled=2 * fields) for f in (fit, back))
    assert (one.value, one.se) == (two.value, two.se)


def test_one_of_several_comes_with_its_own_functional_and_diagnosis(fit):
    asked = [dope.Mean(), dope.SoftMax(6.0)]
    est = fit.estimate(asked, names=["auc", "cmax"])
    assert est["cmax"].functionals == (asked[1],)
    assert [d.functional for d in est["cmax"].diagnoses] == ["cmax"]
    assert est["cmax"].verdicts == fit.estimate(asked[1]).verdicts
    assert est.contrast([[1, -1], [1, 0]])[0].names == ("auc - cmax",)


def test_every_result_carries_seed_recipe_and_versions(fit):
    import json

    est = fit.estimate([dope.Mean(), dope.Energy()])
    made = [est, est["energy"], est.contrast([1, -1]), est.ratio(0, 1), est["mean"].regress(INPUTS[:, 0, 0])]
    for found in made:
        assert found.meta["seed"] == 0
        assert found.meta["recipe"]["epochs"] == 1
        assert {"dope", "torch", "numpy", "python"} <= set(found.meta["versions"])
    assert json.loads(est.to_json())["meta"]["seed"] == 0
    assert est.difference(est).meta["first"]["seed"] == 0
    assert "seed 0." in est.summary()
