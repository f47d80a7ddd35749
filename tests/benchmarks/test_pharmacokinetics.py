"""The pharmacokinetic world, held against literal loops of its definition."""

from itertools import permutations

import numpy as np
import pytest

from dope.benchmarks import pharmacokinetics
from dope.benchmarks.pharmacokinetics import concentration, dosing_rate
from dope.benchmarks.sampling import two_level_inclusion
from dope.data import DataError, inclusion_probabilities
from dope.functionals.base import evaluate, representers

# Float64 rounding over 127 steps of a stable recursion, against values of order one.
EXACT = {"rtol": 0, "atol": 1e-12}


def literal_recursion(rate, clearance, volume, step):
    u = [0.0]
    elimination = clearance / volume
    for r in rate[:-1]:
        if elimination < 1e-12:
            u.append(u[-1] + step * r / volume)
        else:
            decay = np.exp(-elimination * step)
            u.append(decay * u[-1] + r / volume * (1 - decay) / elimination)
    return np.array(u)


# ---- dynamics -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("shift", [0.0, 0.25])
def test_solutions_follow_the_literal_recursion_of_the_shown_inputs(shift):
    draw = pharmacokinetics(clearance_shift=shift).sample(40, seed=1)
    for a, u in zip(draw.data.inputs.astype(np.float64), draw.solutions, strict=True):
        clearance, volume = (1 + shift) * np.exp(a[1, 0]), np.exp(a[2, 0])
        np.testing.assert_allclose(u, literal_recursion(a[0], clearance, volume, 24 / 127), **EXACT)


def test_a_constant_infusion_has_its_textbook_solution():
    # the recursion is exact for rates that are constant on each step
    t = np.linspace(0, 24, 128)
    (u,) = concentration(np.full((1, 128), 1.5), np.array([1.2]), np.array([3.0]), t[1])
    np.testing.assert_allclose(u, 1.5 / 1.2 * (1 - np.exp(-0.4 * t)), **EXACT)


@pytest.mark.parametrize("clearance", [0.0, 1e-14, 1e-13, 1e-10])
def test_without_elimination_the_drug_adds_up(clearance):
    rate = np.random.default_rng(0).random((1, 128))
    (u,) = concentration(rate, np.array([clearance]), np.array([2.0]), 0.2)
    total = 0.2 / 2.0 * np.concatenate([[0], np.cumsum(rate[0, :-1])])
    # elimination removes less than clearance / volume * time = 1e-10 / 2 * 25.6 of what is there
    np.testing.assert_allclose(u, total, rtol=2e-9, atol=0)
    np.testing.assert_allclose(u, literal_recursion(rate[0], 0.0, 2.0, 0.2), rtol=2e-9)


# ---- inputs -------------------------------------------------------------------------------------------
def test_doses_cover_the_nodes_of_closed_windows():
    t = np.arange(25.0)
    middle = (4 - 1) / 3 * 1.0  # duration 4, so the window starts at share * 20
    uniform = np.array(
        [
            [0.9, middle, 0.25, 0.0, middle, 0.35, 1.0],  # [5, 9] at rate 0.5 and [7, 11] at rate 2
            [0.1, middle, 0.25, 0.0, middle, 0.35, 1.0],  # the first alone
            [0.9, 0.0, 1.0, 0.5, 0.0, 0.0, 0.5],  # [23, 24] and [0, 1] at rate 1.25
        ]
    )
    rate = dosing_rate(uniform, t)
    np.testing.assert_allclose(rate[0], 0.5 * ((t >= 5) & (t <= 9)) + 2.0 * ((t >= 7) & (t <= 11)))
    np.testing.assert_allclose(rate[1], 0.5 * ((t >= 5) & (t <= 9)))
    np.testing.assert_allclose(rate[2], 1.25 * ((t >= 23) | (t <= 1)))


def test_doses_follow_their_family():
    t = np.linspace(0, 24, 2401)
    rate = dosing_rate(np.random.default_rng(3).random((2000, 7)), t)
    assert rate.min() == 0
    assert rate[rate > 0].min() >= 0.5
    assert rate.max() <= 4.0
    # E int r dt = 1.5 pulses * 2.5 long * 1.25 high; sd of one unit is about 3, and 5 of its errors are allowed
    total = rate.mean(1) * 24
    assert abs(total.mean() - 1.5 * 2.5 * 1.25) < 5 * total.std() / np.sqrt(2000)


def test_inputs_are_rate_and_correlated_log_normal_parameters():
    inputs = pharmacokinetics().sample(20_000, seed=2).inputs
    assert inputs.shape == (20_000, 3, 128)
    assert (inputs[:, 1:] == inputs[:, 1:, :1]).all()
    log_cl, log_v = inputs[:, 1:, 0].T.astype(np.float64)
    # 5 standard errors: sd / sqrt(n) for means, sd / sqrt(2 n) for deviations, (1 - r^2) / sqrt(n) for correlations
    assert abs(log_cl.mean()) < 5 * 0.25 / 141
    assert abs(log_v.mean() - 1) < 5 * 0.20 / 141
    assert abs(log_cl.std() - 0.25) < 5 * 0.25 / 200
    assert abs(log_v.std() - 0.20) < 5 * 0.20 / 200
    assert abs(np.corrcoef(log_cl, log_v)[0, 1] - 0.4) < 5 * 0.84 / 141


def test_a_shifted_clearance_shows_in_solutions_only():
    plain, shifted = (pharmacokinetics(clearance_shift=s).sample(50, seed=0) for s in (0.0, 0.25))
    np.testing.assert_array_equal(plain.inputs, shifted.inputs)
    assert (shifted.solutions <= plain.solutions).all()
    assert shifted.solutions.sum() < 0.95 * plain.solutions.sum()


# ---- quadrature and functionals -----------------------------------------------------------------------
def test_quadrature_is_the_normalised_trapezoid_rule():
    w = pharmacokinetics().grid.weights
    np.testing.assert_allclose(w, np.array([0.5, *[1.0] * 126, 0.5]) / 127, rtol=1e-15)


def test_functionals_equal_their_definitions():
    world = pharmacokinetics()
    u, w = world.sample(30, seed=4).solutions, world.grid.weights
    sigmoid = 1 / (1 + np.exp(-8 * (u - 0.5)))
    tilted = np.exp(6 * u) / (w * np.exp(6 * u)).sum(1, keepdims=True)
    expected = {
        "auc": ((w * u).sum(1), np.ones_like(u)),
        "tat": ((w * sigmoid).sum(1), 8 * sigmoid * (1 - sigmoid)),
        "soft_cmax": (np.log((w * np.exp(6 * u)).sum(1)) / 6, tilted),
    }
    assert world.functionals.keys() == expected.keys()
    for name, g in world.functionals.items():
        assert g.name == name
        np.testing.assert_allclose(evaluate(g, u, world.grid), expected[name][0], rtol=1e-12)
        np.testing.assert_allclose(representers(g, u, world.grid), expected[name][1], rtol=1e-11, atol=1e-14)


# ---- design -------------------------------------------------------------------------------------------
def literal_probability(u, bandwidth, weight):
    t = np.linspace(0, 24, len(u))
    window = np.abs(t - t[np.argmax(u)]) <= bandwidth
    return (1 - weight) / len(u) + weight * window / window.sum()


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_design_mixes_uniform_and_peak_window(rho):
    draw = pharmacokinetics(rho).sample(50, seed=5)
    p, pi = draw.design.probability, draw.design.inclusion
    np.testing.assert_allclose(p, [literal_probability(u, 5.0, rho / 5) for u in draw.solutions], rtol=1e-13)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-13)
    np.testing.assert_allclose(pi.sum(1), 24, rtol=1e-12)
    # mildly unequal chances: the exponential-clock equation is nearly exact
    np.testing.assert_allclose(pi, inclusion_probabilities(p, 24), rtol=2e-3)


def test_rho_zero_is_uniform_with_weight_w_times_n():
    draw = pharmacokinetics(0.0).sample(20, seed=6)
    w = draw.data.grid.weights
    assert (draw.design.probability == 1 / 128).all()
    xi = draw.design.inverse_weight(draw.data.grid, draw.data.counts)
    np.testing.assert_allclose(xi, np.broadcast_to(w * 128, xi.shape), rtol=1e-13)


def test_the_released_protocol_has_a_window_of_eleven_points():
    world = pharmacokinetics(0.5, bandwidth=1.0, window_weight=0.45 * np.sqrt(0.5), with_replacement=True)
    draw = world.sample(200, seed=7)
    p = draw.design.probability
    expected = [literal_probability(u, 1.0, 0.45 * np.sqrt(0.5)) for u in draw.solutions]
    np.testing.assert_allclose(p, expected, rtol=1e-13)
    inner = (draw.solutions.argmax(1) > 5) & (draw.solutions.argmax(1) < 122)
    assert ((p[inner] > p[inner].min()).sum(1) == 11).all()
    assert draw.design.inclusion is None


def test_a_node_at_exactly_the_half_width_is_in_the_window():
    # 121 nodes are 0.2 apart, which no float is: 25 steps must still count as 5 hours
    draw = pharmacokinetics(1.0, size=121).sample(100, seed=8)
    peak = draw.solutions.argmax(1)
    unit = int(np.flatnonzero((peak >= 25) & (peak <= 95))[0])
    p = draw.design.probability[unit]
    assert (p > p.min()).sum() == 51


def test_two_level_inclusion_equals_enumeration():
    p = np.array([3, 3, 1, 1, 1]) / 9  # two favoured nodes, three times as likely
    pi = np.zeros(5)
    for order in permutations(range(5), 3):
        chance, left = 1.0, 1.0
        for node in order:
            chance *= p[node] / left
            left -= p[node]
        pi[list(order)] += chance
    (inner, outer) = two_level_inclusion(np.array([2]), np.array([3]), np.array([3.0]), 3)[0]
    np.testing.assert_allclose([inner, inner, outer, outer, outer], pi, rtol=1e-13)


def test_two_level_inclusion_at_its_limits():
    everything = two_level_inclusion(np.array([2, 5]), np.array([3, 0]), np.array([3.0, 2.0]), 5)
    np.testing.assert_allclose(everything[:, 0], 1, rtol=1e-13)
    np.testing.assert_allclose(everything[0, 1], 1, rtol=1e-13)


# ---- errors -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rho": -0.1}, "rho"),
        ({"rho": 5.0}, "rho"),
        ({"window_weight": 1.2}, "window_weight"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"clearance_shift": -1.0}, "clearance_shift"),
        ({"size": 1}, "size"),
    ],
)
def test_impossible_parameters_are_named(settings, words):
    with pytest.raises(DataError, match=words):
        pharmacokinetics(**settings)


def test_a_window_with_a_place_of_its_own_stands_there_for_every_unit():
    world = pharmacokinetics(0.5, bandwidth=1.0, window_weight=0.3, window_at=1.0, with_replacement=True)
    draw = world.sample(20, seed=1)
    t = world.grid.axes[0].nodes
    inside = np.abs(t - 1.0) <= 1.0
    assert inside.sum() == 11
    expected = 0.7 / 128 + 0.3 / 11 * inside
    np.testing.assert_allclose(draw.design.probability, np.tile(expected, (20, 1)), rtol=1e-12)
    with pytest.raises(DataError, match="window_at"):
        pharmacokinetics(window_at=25.0)
