"""The whole path: fits, estimates, what they keep to, and what they refuse."""

import json

import numpy as np
import pytest
import torch

import dope
from dope import DOPE, FNO, DataError, DeepONet, Grid, OperatorData, Recipe

QUICK = Recipe(epochs=3, batch=8)
WORLD = dope.benchmarks.pharmacokinetics(rho=0.5, size=32, points=10)
SMALL = FNO(width=8, modes=4, layers=2)


def model(**kw):
    return DOPE(**({"operator": SMALL, "folds": 2, "recipe": QUICK, "device": "cpu"} | kw))


@pytest.fixture(scope="module")
def draw():
    return WORLD.sample(24, seed=1)


@pytest.fixture(scope="module")
def fit(draw):
    return model().fit(draw.data, progress=False)


G = [dope.Mean(), dope.TimeAbove(0.2, 8.0), dope.SoftMax(6.0)]


def test_one_fit_answers_any_functional(fit):
    joint = fit.estimate(G, names=["auc", "tat", "cmax"])
    for k, g in enumerate(G):
        alone = fit.estimate(g)
        assert alone.value == pytest.approx(joint.value[k], rel=1e-14)
        assert alone.se == pytest.approx(joint.se[k], rel=1e-14)
        low, high = alone.conf_int()
        assert low < alone.value < high
    assert joint.covariance.shape == (3, 3)
    assert "auc" in joint.summary()


def test_the_estimate_is_the_mean_of_the_scores(fit):
    e = fit.estimate(G[1], correction="one-step")
    p = fit.prediction()
    u = torch.as_tensor(p.field)
    beta = p.xi * G[1].representer(u, fit.data.grid).numpy()
    nodes = np.rint(fit.data.points[..., 0] / 24 * 31).astype(int)
    residual = fit.data.values - np.take_along_axis(p.field, nodes, 1)
    psi = G[1](u, fit.data.grid).numpy() + (np.take_along_axis(beta, nodes, 1) * residual).mean(1)
    assert e.value == pytest.approx(psi.mean(), abs=1e-12)
    assert e.se == pytest.approx(psi.std(ddof=1) / np.sqrt(24), rel=1e-12)


def test_the_same_seed_gives_the_same_numbers_with_any_number_of_threads(draw, fit):
    before = torch.get_num_threads()
    torch.set_num_threads(2)  # both nuisances side by side
    try:
        again = model().fit(draw.data, progress=False)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(again.fields, fit.fields)
    np.testing.assert_array_equal(again.xi, fit.xi)
    assert not np.array_equal(model(seed=1).fit(draw.data, progress=False).fields, fit.fields)


def test_a_fit_with_checkpoints_is_the_same_fit(draw, fit, tmp_path):
    for _ in range(2):  # trained, then taken from the folder
        again = model().fit(draw.data, progress=False, checkpoint=tmp_path)
        np.testing.assert_array_equal(again.fields, fit.fields)
        np.testing.assert_array_equal(again.xi, fit.xi)
        assert len(list(tmp_path.iterdir())) == 2  # the operators and the weights


@pytest.mark.parametrize("weights", ["shared", "structured", "direct"])
def test_no_network_of_a_unit_knows_anything_of_its_values(draw, fit, weights):
    """Spoiling one unit's values changes the networks of the other folds only: its own field stays."""
    unit = int(fit.plan.tasks("solution")[1].train[0])  # one that the other fold trains on, not only selects by
    values = draw.data.values.copy()
    values[unit] += 5.0
    spoiled = OperatorData(draw.data.inputs, draw.data.points, values, grid=draw.data.grid)
    other = model().fit(spoiled, progress=False)
    np.testing.assert_array_equal(other.fields[0, unit], fit.fields[0, unit])
    moved = other.plan.fold[0] != other.plan.fold[0, unit]
    assert (other.fields[0, moved] != fit.fields[0, moved]).any()
    if weights != "shared":
        one, two = (f._prediction(0, G[1], weights) for f in (fit, other))
        for name in ("xi", "beta"):
            if getattr(one, name) is not None:
                np.testing.assert_array_equal(getattr(one, name)[unit], getattr(two, name)[unit])


def test_a_saved_fit_answers_alike(fit, tmp_path, draw):
    fit.save(tmp_path / "fit")
    back = dope.load(tmp_path / "fit")
    more = WORLD.sample(30, seed=2).data
    for options in ({}, {"weights": "design"}, {"unlabeled": more}):
        one, two = fit.estimate(G, **options), back.estimate(G, **options)
        np.testing.assert_allclose(one.value, two.value, rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.se, two.se, rtol=0, atol=1e-12)
    assert sorted(p.suffix for p in (tmp_path / "fit").iterdir()) == [".json", ".safetensors"]
    assert back.meta["recipe"]["epochs"] == 3
    with pytest.raises(DataError, match="no saved fit"):
        dope.load(tmp_path)


def test_an_interrupted_save_is_no_fit(fit, tmp_path):
    fit.save(tmp_path)
    facts = json.loads((tmp_path / "fit.json").read_text())
    facts["format"] = 99
    (tmp_path / "fit.json").write_text(json.dumps(facts))
    with pytest.raises(DataError, match="format 99"):
        dope.load(tmp_path)


@pytest.mark.parametrize("weights", ["structured", "direct"])
def test_weights_learned_for_one_functional(fit, weights):
    first = fit.estimate(G[1], weights=weights)
    assert np.isfinite(first.value)
    assert fit.estimate(G[1], weights=weights).value == first.value  # learned once
    assert first.value != fit.estimate(G[1], correction="one-step").value


def test_known_design(fit, draw):
    e = fit.estimate(dope.Mean(), weights="design")
    xi = draw.data.grid.weights * 10 / draw.design.inclusion
    nodes = np.rint(draw.data.points[..., 0] / 24 * 31).astype(int)
    u = fit.prediction().field
    c = (np.take_along_axis(xi, nodes, 1) * (draw.data.values - np.take_along_axis(u, nodes, 1))).mean(1)
    assert e.value == pytest.approx((draw.data.grid.mean(u) + c).mean(), abs=1e-12)


def test_unlabelled_inputs_narrow_the_interval(fit):
    more = WORLD.sample(400, seed=3).data
    alone, aided = fit.estimate(G[0]), fit.estimate(G[0], unlabeled=more.inputs)
    assert aided.se < alone.se
    assert fit.estimate(G[0], unlabeled=more).value == aided.value


def test_repeats_and_groups(draw):
    groups = np.arange(24) // 3
    d = draw.data
    grouped = OperatorData(d.inputs, d.points, d.values, grid=d.grid, groups=groups)
    fit = model(repeats=3).fit(grouped, progress=False)
    assert fit.fields.shape == (3, 24, 32)
    for r in range(3):
        assert all(len(set(fit.plan.fold[r, groups == g])) == 1 for g in range(8))
    e = fit.estimate(G[0])
    assert np.isfinite(e.se)
    assert e.df == 7


def test_ragged_points_between_nodes_and_units_without_any():
    rng = np.random.default_rng(0)
    grid = Grid.uniform(0, 1, 16)
    sizes = rng.integers(0, 5, 20)
    points = [rng.uniform(0, 1, k) for k in sizes]
    inputs = rng.normal(size=(20, 1, 16))
    values = [np.interp(x, grid.axes[0].nodes, a[0]) for x, a in zip(points, inputs, strict=True)]
    fit = model().fit(OperatorData(inputs, points, values, grid=grid), progress=False)
    e = fit.estimate([dope.Mean(), dope.Energy()])
    assert np.isfinite(e.value).all()
    assert np.isfinite(e.se).all()


@pytest.mark.parametrize("operator", [SMALL, DeepONet(width=8, latent=8)])
def test_fields_in_two_dimensions(operator):
    world = dope.benchmarks.darcy(0.0, size=9, points=8)
    fit = model(operator=operator).fit(world.sample(12, seed=0).data, progress=False)
    e = fit.estimate([world.functionals["excess"], dope.Flux(0)])
    assert np.isfinite(e.value).all()


def test_an_operator_brought_by_the_user_is_not_trained(draw):
    truth = torch.as_tensor(draw.solutions, dtype=torch.float32)
    index = {a.tobytes(): i for i, a in enumerate(draw.data.inputs)}

    def solver(a):
        return torch.stack([truth[index[row.numpy().tobytes()]] + 0.1 for row in a])

    fit = model(operator=dope.pretrained(solver), weight_operator=SMALL).fit(draw.data, progress=False)
    assert fit.solution is None
    e = fit.estimate(dope.Mean())
    exact = draw.data.grid.mean(draw.solutions).mean()
    assert e.plugin == pytest.approx(exact + 0.1, abs=1e-5)
    # the weights are near one, so nearly all of the offset is corrected
    assert abs(e.value - exact) < 0.02


def test_a_pretrained_operator_of_the_wrong_layout_is_found_before_training(draw):
    with pytest.raises(DataError, match="returned shape"):
        model(operator=dope.pretrained(lambda a: a)).fit(draw.data, progress=False)


def test_fields_that_another_program_predicted(draw):
    """An array and a function with the same fields are the same operator."""
    fields = draw.solutions + 0.1
    index = {a.tobytes(): i for i, a in enumerate(draw.data.inputs)}
    asked = dope.pretrained(lambda a: torch.stack([torch.as_tensor(fields[index[r.numpy().tobytes()]]) for r in a]))
    one, two = (
        model(operator=o, weight_operator=SMALL).fit(draw.data, progress=False)
        for o in (asked, dope.pretrained(fields))
    )
    options = {"unlabeled": draw.data.inputs}, {"unlabeled": fields}
    for a, b in zip(({}, options[0]), ({}, options[1]), strict=True):
        x, y = one.estimate(G, **a), two.estimate(G, **b)
        np.testing.assert_allclose(x.value, y.value, rtol=1e-12)
        np.testing.assert_allclose(x.se, y.se, rtol=1e-12)
    with pytest.raises(DataError, match="one field for each unit"):
        model(operator=dope.pretrained(fields[1:])).fit(draw.data)
    with pytest.raises(DataError, match="unlabeled fields have shape"):
        two.estimate(G[0], unlabeled=draw.data.inputs)


def test_unlabelled_inputs_from_files(fit, tmp_path, monkeypatch):
    import h5py

    import dope.data.inputs_file as inputs_file

    monkeypatch.setattr(inputs_file, "_ROWS", 7)  # several blocks
    more = WORLD.sample(20, seed=5).data.inputs
    np.save(tmp_path / "more.npy", more)
    with h5py.File(tmp_path / "more.h5", "w") as f:
        f["inputs"] = more
    whole = fit.estimate(G, unlabeled=more)
    for name in ("more.npy", "more.h5"):
        np.testing.assert_allclose(fit.estimate(G, unlabeled=tmp_path / name).value, whole.value, rtol=1e-12)
    for name, message in (("none.npy", "does not exist"), ("more.txt", "read from")):
        (tmp_path / "more.txt").write_text("")
        with pytest.raises(DataError, match=message):
            fit.estimate(G, unlabeled=tmp_path / name)


# ---- what is refused, before anything is trained ----------------------------------------------------------
def test_too_few_units_for_the_folds(draw):
    with pytest.raises(DataError, match="24 units cannot be split into 30 folds"):
        model(folds=30).fit(draw.data)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f.estimate(dope.functional(lambda u, grid: u)), "one number a field"),
        (lambda f: f.estimate(lambda u: u), "dope.functional"),
        (lambda f: f.estimate([]), "empty"),
        (lambda f: f.estimate([dope.Mean(), dope.Mean()]), "distinct names"),
        (lambda f: f.estimate(dope.Mean(), names=["a", "b"]), "2 names for 1"),
        (lambda f: f.estimate(dope.Mean(), weights="best"), "weights must be one of"),
        (lambda f: f.estimate(dope.Mean(), correction="best"), "correction must be one of"),
        (lambda f: f.estimate(dope.SoftMax(6.0), correction="exact"), "integral functional"),
        (lambda f: f.estimate(dope.Mean(), unlabeled=np.zeros((4, 2, 32))), "unlabeled inputs have shape"),
        (lambda f: f.estimate(dope.Mean(), unlabeled=np.full((4, 3, 32), np.nan)), "position 0"),
        (
            lambda f: f.estimate(dope.functional(lambda u, grid: (u - 9).log().mean(), name="log")),
            "'log' is not finite",
        ),
    ],
)
def test_questions_that_make_no_sense(fit, call, message):
    with pytest.raises(DataError, match=message):
        call(fit)


def test_what_is_not_data_or_an_operator():
    with pytest.raises(DataError, match="OperatorData"):
        model().fit(np.zeros(3))
    with pytest.raises(DataError, match="pretrained"):
        DOPE(operator=torch.nn.Linear(1, 1))


def test_a_design_that_is_not_known(fit, draw):
    d = draw.data
    bare = model().fit(OperatorData(d.inputs, d.points, d.values, grid=d.grid), progress=False)
    with pytest.raises(DataError, match="design="):
        bare.estimate(dope.Mean(), weights="design")


@pytest.mark.parametrize(
    "wrong",
    [
        {"folds": 2.5},
        {"folds": "5"},
        {"repeats": 0},
        {"repeats": 1.5},
        {"seed": -1},
        {"seed": "a"},
        {"recipe": {"epochs": 3}},
        {"weight_operator": 3},
    ],
)
def test_settings_of_a_wrong_kind_are_refused_at_once(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        model(**wrong)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named(draw):
    with pytest.raises(DataError, match="no CUDA device"):
        model(device="cuda").fit(draw.data)


def test_units_that_leave_a_network_without_observations_are_told(draw):
    values = np.where(np.arange(24)[:, None] == 0, draw.data.values, np.nan)
    lonely = OperatorData(draw.data.inputs, draw.data.points, values, grid=draw.data.grid)
    with pytest.raises(DataError, match="1 of 24 units have observations"):
        model().fit(lonely, progress=False)
