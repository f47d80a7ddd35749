"""What every world promises: drawing, seeds, noise, known designs and the truth."""

import copy
import dataclasses
import math

import numpy as np
import pytest

from dope.benchmarks import Truth, burgers, darcy, glucose, pharmacokinetics, temperature, tracking
from dope.benchmarks.sampling import draw_nodes
from dope.benchmarks.tracking import reference
from dope.data import DataError, OperatorData
from dope.functionals import Functional, Mean

FOCUSED = [burgers(), glucose(), tracking(), temperature()]
WORLDS = [pharmacokinetics(1.0), darcy(), *FOCUSED]
EVERY = pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
# Their inclusion probabilities are exact; those of the others are the clock equation's.
EXACT = ("pharmacokinetics", "tracking")
P = np.array([0.4, 0.2, 0.15, 0.1, 0.08, 0.05, 0.02])


def frequency(nodes, size):
    return np.stack([(nodes == j).any(1) for j in range(size)], axis=1)


# ---- drawing ------------------------------------------------------------------------------------------
def test_without_replacement_has_the_law_of_numpy_choice():
    n = 20_000
    ours = frequency(draw_nodes(np.tile(P, (n, 1)), 3, np.random.default_rng(0)), 7)
    rng = np.random.default_rng(1)
    theirs = frequency(np.array([rng.choice(7, 3, replace=False, p=P) for _ in range(n)]), 7)
    # single nodes and pairs, each within 5 standard errors of a difference of two frequencies
    pairs = [seen.T @ seen.astype(float) / n for seen in (ours, theirs)]
    for mine, other in ((ours.mean(0), theirs.mean(0)), pairs):
        assert (np.abs(mine - other) < 5 * np.sqrt(2 * 0.25 / n)).all()


def test_with_replacement_every_draw_follows_the_chances():
    n = 20_000
    chances = np.append(P, 0.0)
    nodes = draw_nodes(np.tile(chances, (n, 1)), 3, np.random.default_rng(2), with_replacement=True)
    count = np.bincount(nodes.ravel(), minlength=8)
    assert count[7] == 0
    assert (np.abs(count / (3 * n) - chances) <= 5 * np.sqrt(chances * (1 - chances) / (3 * n))).all()
    assert (np.diff(nodes, axis=1) == 0).any()


def test_a_node_without_chance_is_never_drawn():
    chances = np.tile([0.5, 0.0, 0.25, 0.25], (500, 1))
    assert (draw_nodes(chances, 3, np.random.default_rng(3)) == [0, 2, 3]).all()
    with pytest.raises(DataError, match="4 distinct points"):
        draw_nodes(chances, 4, np.random.default_rng(3))


@EVERY
def test_points_are_distinct_increasing_nodes(world):
    draw = world.sample(200, seed=0)
    assert draw.nodes.shape == (200, 24)
    assert (np.diff(draw.nodes, axis=1) > 0).all()
    np.testing.assert_array_equal(draw.data.points, world.grid.points.reshape(-1, world.grid.ndim)[draw.nodes])


@EVERY
def test_known_design_is_the_law_of_the_points(world):
    n = 10_000
    draw = world.sample(n, seed=1)
    seen = frequency_of_nodes(draw.nodes, world.grid.size)
    pi = draw.design.inclusion.reshape(n, -1)
    gap = (seen - pi).mean(0)
    error = np.sqrt((pi * (1 - pi)).mean(0) / n)
    # the clock equation is good to O(1/K) of a chance of 0.08 to 0.2
    slack = 0.0 if world.name in EXACT else 0.005
    assert (np.abs(gap) < 5 * error + slack).all()


@EVERY
def test_nodes_are_observed_as_often_as_their_own_chance_says(world):
    # over nodes and units of like chance, however unlike their places: a twentieth of all at a time
    draw = world.sample(4000, seed=1)
    seen = frequency_of_nodes(draw.nodes, world.grid.size).ravel()
    pi = draw.design.inclusion.ravel()
    order = np.argsort(pi, kind="stable")
    for part in np.array_split(order, 20):
        error = np.sqrt((pi[part] * (1 - pi[part])).sum()) / len(part)
        # the clock equation errs by less than 2 % of a chance here
        slack = 0.0 if world.name in EXACT else 0.02 * pi[part].mean()
        assert abs(seen[part].mean() - pi[part].mean()) < 4.5 * error + slack


@EVERY
def test_chances_are_a_law_that_leaves_no_node_out(world):
    draw = world.sample(200, seed=1)
    p = draw.design.probability.reshape(200, -1)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
    assert (p > 0).all()
    # Newton's method stops at 1e-12 of K
    np.testing.assert_allclose(draw.design.inclusion.reshape(200, -1).sum(1), 24, rtol=1e-9)


def frequency_of_nodes(nodes, size):
    seen = np.zeros((len(nodes), size))
    np.put_along_axis(seen, nodes, 1.0, axis=1)
    return seen


@EVERY
@pytest.mark.parametrize("with_replacement", [False, True])
def test_inverse_design_weights_recover_the_mean_of_the_field(world, with_replacement):
    world = type(world)(points=12, noise=0.0, with_replacement=with_replacement)
    draw = world.sample(8000, seed=2)
    xi = draw.design.inverse_weight(world.grid, draw.data.counts).reshape(8000, -1)
    weighted = (np.take_along_axis(xi, draw.nodes, 1) * draw.values).mean(1)
    gap = weighted - world.grid.mean(draw.solutions)
    # exact up to Monte-Carlo error, but the clock equation leaves 2 % of the mean at K = 12 (Darcy; 0.5 % at 24)
    slack = 0.0 if with_replacement or world.name in EXACT else 0.02 * abs(draw.solutions.mean())
    assert abs(gap.mean()) < 4 * gap.std() / math.sqrt(8000) + slack


# ---- samples ------------------------------------------------------------------------------------------
@EVERY
def test_a_draw_holds_data_solutions_and_design(world):
    draw = world.sample(7, seed=3)
    assert isinstance(draw.data, OperatorData)
    assert len(draw) == len(draw.data) == 7
    assert draw.data.design is draw.design
    assert draw.data.inputs.shape == (7, draw.data.channels, *world.grid.shape)
    assert draw.solutions.shape == (7, *world.grid.shape)
    assert draw.solutions.dtype == np.float64
    for array in (draw.design.probability, draw.design.inclusion):
        assert array.shape == (7, *world.grid.shape)


@EVERY
def test_seeds_reproduce_and_differ(world):
    first, again, other = (world.sample(20, seed=s) for s in (4, 4, 5))
    for name in ("inputs", "solutions", "nodes", "values"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))


@EVERY
def test_the_first_units_do_not_depend_on_their_number(world):
    few, many = world.sample(10, seed=6), world.sample(1500, seed=6)  # more than are simulated together
    for name in ("inputs", "solutions", "nodes", "values"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:10])


@EVERY
def test_simulating_twice_continues_the_stream(world):
    rng = np.random.default_rng(7)
    parts = [world.simulate(5, rng)[1] for _ in range(2)]
    np.testing.assert_array_equal(np.concatenate(parts), world.simulate(10, np.random.default_rng(7))[1])


@EVERY
def test_noise_is_gaussian_of_the_given_size(world):
    draw = world.sample(2000, seed=8)
    residual = draw.values - np.take_along_axis(draw.solutions.reshape(2000, -1), draw.nodes, 1)
    z = residual.ravel() / world.noise
    n = z.size
    # 5 standard errors of mean, standard deviation, skewness and kurtosis of normal numbers
    assert abs(z.mean()) < 5 / math.sqrt(n)
    assert abs(z.std() - 1) < 5 / math.sqrt(2 * n)
    assert abs((z**3).mean()) < 5 * math.sqrt(15 / n)
    assert abs((z**4).mean() - 3) < 5 * math.sqrt(96 / n)


def test_units_are_shared_between_designs():
    one, other = (pharmacokinetics(rho).sample(10, seed=9) for rho in (0.0, 1.0))
    np.testing.assert_array_equal(one.solutions, other.solutions)
    assert not np.array_equal(one.nodes, other.nodes)


@pytest.mark.parametrize(
    "world",
    [
        pharmacokinetics(points=40, size=33, noise=0.0, with_replacement=True),
        pharmacokinetics(points=33, size=33),
        darcy(points=5, size=9, noise=0.0),
        darcy(points=100, size=9, with_replacement=True),
        burgers(points=40, size=33, noise=0.0, with_replacement=True),
        glucose(points=49, size=49),
        tracking(points=40, size=33, noise=0.0, with_replacement=True),
        temperature(points=81, size=9),
    ],
    ids=repr,
)
def test_any_number_of_points_noise_and_grid_size(world):
    draw = world.sample(3, seed=0)
    assert draw.data.values.shape == (3, world.points)
    if world.noise == 0:
        exact = np.take_along_axis(draw.solutions.reshape(3, -1), draw.nodes, 1)
        np.testing.assert_array_equal(draw.data.values, exact)


# ---- truth --------------------------------------------------------------------------------------------
def literal_units(rng, n):
    """Solutions of the pharmacokinetic model drawn the obvious way, one unit after another."""
    t = np.linspace(0, 24, 128)
    covariance = np.array([[0.25**2, 0.4 * 0.25 * 0.2], [0.4 * 0.25 * 0.2, 0.2**2]])
    out = np.zeros((n, 128))
    for u in out:
        clearance, volume = np.exp(rng.multivariate_normal([0.0, 1.0], covariance))
        rate = np.zeros(128)
        for _ in range(rng.integers(1, 3)):
            length = rng.uniform(1, 4)
            start = rng.uniform(0, 24 - length)
            rate += rng.uniform(0.5, 2) * ((t >= start) & (t <= start + length))
        decay = np.exp(-clearance / volume * t[1])
        for k in range(127):
            u[k + 1] = decay * u[k] + rate[k] / clearance * (1 - decay)
    return out


def test_theta_equals_a_direct_independent_calculation():
    world = pharmacokinetics()
    u, w = literal_units(np.random.default_rng(10), 4000), np.array([0.5, *[1.0] * 126, 0.5]) / 127
    direct = {
        "auc": u @ w,
        "tat": (1 / (1 + np.exp(-8 * (u - 0.5)))) @ w,
        "soft_cmax": np.log(np.exp(6 * u) @ w) / 6,
    }
    for name, g in world.functionals.items():
        theta = world.theta(g)
        error = math.hypot(theta.se, direct[name].std() / math.sqrt(4000))
        assert abs(direct[name].mean() - theta) < 4 * error
        # 200 000 draws: far below the error of a sample of 64, and what the spread of the direct draws implies
        assert theta.se == pytest.approx(direct[name].std() / math.sqrt(200_000), rel=0.1)


@pytest.mark.parametrize(
    "world",
    [pharmacokinetics(pool=20_000), darcy(pool=4000), *(type(w)(pool=4000) for w in FOCUSED)],
    ids=lambda w: w.name,
)
def test_another_pool_agrees_within_its_error(world):
    other = type(world)(pool=world.pool, pool_seed=1)
    for g in world.functionals.values():
        one, two = world.theta(g), other.theta(g)
        assert one != two
        assert abs(one - two) < 4 * math.hypot(one.se, two.se)


@pytest.mark.parametrize("world", [type(w)(pool=500) for w in WORLDS], ids=lambda w: w.name)
def test_theta_is_the_mean_over_its_pool_and_repeats_exactly(world):
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(1,)).spawn(1)[0])
    means = world.grid.mean(world.simulate(500, rng)[1])
    theta = world.theta(Mean())
    # the pool is kept in single precision
    assert theta == pytest.approx(means.mean(), rel=1e-6)
    assert theta.se == pytest.approx(means.std(ddof=1) / math.sqrt(500), rel=1e-5)
    assert world.theta(Mean()) == theta


def test_no_sample_shares_its_units_with_the_pool():
    # Under the same seed. A shared stream would give the same units, whose means would coincide.
    world = pharmacokinetics(pool=500)
    assert abs(world.theta(Mean()) - world.grid.mean(world.sample(500, seed=0).solutions).mean()) > 1e-6


def test_worlds_that_differ_in_observation_share_one_truth():
    a = pharmacokinetics(0.0, pool=500)
    b = pharmacokinetics(1.0, pool=500, points=10, noise=0.1, with_replacement=True, bandwidth=1.0)
    c = pharmacokinetics(0.0, pool=500, clearance_shift=0.25)
    assert a.physics == b.physics
    assert a.theta(Mean()) == b.theta(Mean())
    assert a.theta(Mean()) > c.theta(Mean())


@pytest.mark.parametrize("world", FOCUSED, ids=lambda w: w.name)
def test_focus_changes_the_observations_and_nothing_else(world):
    even, focused = (type(world)(rho, pool=500).sample(20, seed=9) for rho in (0.0, 0.9))
    np.testing.assert_array_equal(even.inputs, focused.inputs)
    np.testing.assert_array_equal(even.solutions, focused.solutions)
    np.testing.assert_allclose(even.design.probability, 1 / world.grid.size, rtol=1e-12)
    np.testing.assert_allclose(even.design.inclusion, 24 / world.grid.size, rtol=1e-9)
    assert not np.array_equal(even.nodes, focused.nodes)
    assert even.world.physics == focused.world.physics
    assert even.world.physics != type(world)(size=world.size + 1).physics


@pytest.mark.parametrize("world", FOCUSED, ids=lambda w: w.name)
def test_more_focus_finds_more_of_what_is_of_interest(world):
    found = []
    for rho in (0.0, 0.5, 0.9):
        draw = type(world)(rho).sample(300, seed=9)
        interest = draw.world.interest(draw.solutions).reshape(300, -1)
        found.append(np.take_along_axis(interest, draw.nodes, 1).mean())
    assert found[1] > 1.1 * found[0]
    assert found[2] > 1.05 * found[1]


@pytest.mark.parametrize("world", FOCUSED, ids=lambda w: w.name)
def test_units_without_anything_of_interest_are_observed_evenly(world):
    # a wave without slope, a plate of one temperature; and a servo that is nowhere off
    dull = np.zeros((2, *world.grid.shape))
    if world.name == "tracking":
        dull += reference(world.grid.axes[0].nodes)
    np.testing.assert_allclose(type(world)(0.9).probability(dull, dull), 1 / world.grid.size, rtol=1e-12)


def test_truth_is_a_number_that_knows_its_error():
    truth = Truth(0.12341, 0.00021)
    assert isinstance(truth, float)
    assert truth + 1 == 1.12341
    assert truth.se == 0.00021
    assert repr(truth) == "0.1234 (se 0.0002)"
    assert repr(Truth(12.3, 4.0)) == "12 (se 4)"
    assert f"{truth:.2f}" == "0.12"
    twin = copy.deepcopy(truth)
    assert (twin, twin.se) == (truth, truth.se)


def test_theta_takes_any_functional_and_only_functionals():
    class Middle(Functional):
        name = "middle"

        def __call__(self, u, grid):
            return u[..., grid.size // 2]

    assert pharmacokinetics(pool=500).theta(Middle()) > 0
    with pytest.raises(DataError, match="functional"):
        pharmacokinetics(pool=500).theta(lambda u, grid: u.mean())


# ---- records and errors -------------------------------------------------------------------------------
@EVERY
def test_worlds_are_records(world):
    twin = dataclasses.replace(world)
    assert twin == world
    assert hash(twin) == hash(world)
    with pytest.raises(AttributeError):
        world.points = 3


@EVERY
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"points": 1000}, "with_replacement"),
        ({"points": 0}, "points"),
        ({"points": 2.5}, "whole number"),
        ({"noise": -1.0}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"pool": 1}, "pool"),
        ({"pool_seed": -1}, "pool_seed"),
        ({"size": 1}, "size"),
    ],
)
def test_impossible_settings_are_named(world, settings, words):
    with pytest.raises(DataError, match=words):
        type(world)(**settings)


@pytest.mark.parametrize("world", FOCUSED, ids=lambda w: w.name)
@pytest.mark.parametrize("rho", [-0.1, 1.0, float("nan")])
def test_no_share_may_leave_a_node_unobserved(world, rho):
    with pytest.raises(DataError, match=rf"rho must lie in \[0, 1\), got {rho}"):
        type(world)(rho)


@EVERY
def test_impossible_samples_are_named(world):
    with pytest.raises(DataError, match="n must be at least 1"):
        world.sample(0, seed=0)
    with pytest.raises(DataError, match="seed"):
        world.sample(1, seed=-1)
