"""The tracking world, held against matrix exponentials and an adaptive integration."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from dope.benchmarks import tracking
from dope.benchmarks.sampling import draw_nodes
from dope.benchmarks.tracking import follow, reference
from dope.data import DataError
from dope.functionals.base import evaluate, representers

STEP = 10 / 127


def parameters(draw):
    inputs = draw.inputs.astype(np.float64)
    return inputs[:, 0], np.exp(inputs[:, 1, 0]), inputs[:, 2, 0]


# ---- solver -------------------------------------------------------------------------------------------
def test_solutions_equal_powers_of_the_matrix_exponential_of_the_shown_inputs():
    draw = tracking().sample(10, seed=0)
    for command, w, z, u in zip(*parameters(draw), draw.solutions, strict=True):
        propagate = expm(STEP * np.array([[0, 1, 0], [-(w**2), -2 * z * w, w**2], [0, 0, 0]]))
        state, expected = np.zeros(2), [0.0]
        for c in command[:-1]:
            state = (propagate @ [*state, c])[:2]
            expected.append(state[0])
        np.testing.assert_allclose(u, expected, rtol=0, atol=1e-12)


def test_solutions_equal_an_adaptive_integration():
    draw = tracking().sample(2, seed=1)
    for command, w, z, u in zip(*parameters(draw), draw.solutions, strict=True):
        state, expected = np.zeros(2), [0.0]
        for c in command[:-1]:
            out = solve_ivp(
                lambda t, y, c=c, w=w, z=z: [y[1], w**2 * (c - y[0]) - 2 * z * w * y[1]],
                (0, STEP),
                state,
                rtol=1e-9,
                atol=1e-10,
            )
            state = out.y[:, -1]
            expected.append(state[0])
        np.testing.assert_allclose(u, expected, rtol=0, atol=1e-6)


def test_a_held_command_gives_the_known_step_response():
    w, z, t = 2.0, 0.5, np.linspace(0, 10, 41)
    swing = w * np.sqrt(1 - z**2)
    known = 1 - np.exp(-z * w * t) * (np.cos(swing * t) + z * w / swing * np.sin(swing * t))
    u = follow(np.ones((1, 41)), np.array([w]), np.array([z]), t[1])[0]
    np.testing.assert_allclose(u, known, rtol=0, atol=1e-13)


def test_steps_may_be_split_without_any_change():
    # held commands are followed exactly, whatever the step
    draw = tracking().sample(5, seed=2)
    command, w, z = parameters(draw)
    split = follow(np.repeat(command, 3, axis=1), w, z, STEP / 3)
    np.testing.assert_allclose(split[:, ::3], draw.solutions, rtol=0, atol=1e-12)


# ---- reference and loads ------------------------------------------------------------------------------
def test_the_reference_goes_out_to_one_and_back_from_rest_to_rest():
    t = torch.tensor([0.0, 5.0, 10.0], dtype=torch.float64, requires_grad=True)
    value = reference(t)
    (speed,) = torch.autograd.grad(value.sum(), t)
    assert value.tolist() == [0, 1, 0]
    assert speed.abs().max() < 1e-15
    np.testing.assert_array_equal(reference(t.detach().numpy()), value.detach().numpy())


def test_loads_are_at_most_two_pulses_within_their_height_and_the_horizon():
    world = tracking()
    load = world.sample(500, seed=3).inputs[:, 0] - reference(world.grid.points[:, 0])
    assert 0.7 * 1.6 < np.abs(load).max() <= 1.6 + 1e-6  # two at once
    changes = (np.abs(np.diff(load, axis=1)) > 1e-5).sum(axis=1)
    assert changes.max() == 4
    # each lasts from 1 to 4 of the 10: the expected share of time under none of two is (1 - 0.25)^2 at the least
    assert 0.5 < (np.abs(load) < 1e-6).mean() < 0.65


# ---- design -------------------------------------------------------------------------------------------
def test_chances_are_even_but_for_the_nodes_that_trigger():
    world = tracking(0.3)
    draw = world.sample(50, seed=4)
    for u, p in zip(draw.solutions, draw.design.probability, strict=True):
        off = np.abs(u - reference(world.grid.points[:, 0])) > 0.2
        assert off.any()
        np.testing.assert_allclose(p, 0.7 / 128 + 0.3 * off / off.sum(), rtol=1e-12)


def test_inclusion_probabilities_are_exact():
    world = tracking(0.8)
    draw = world.sample(3, seed=5)
    draws = 40_000
    for p, pi in zip(draw.design.probability, draw.design.inclusion, strict=True):
        nodes = draw_nodes(np.broadcast_to(p, (draws, 128)), 24, np.random.default_rng(6))
        seen = np.bincount(nodes.ravel(), minlength=128) / draws
        np.testing.assert_allclose(pi.sum(), 24, rtol=1e-12)
        # 5 standard errors of a frequency, with nothing for an approximation
        assert (np.abs(seen - pi) < 5 * np.sqrt(pi * (1 - pi) / draws)).all()


def test_a_servo_that_is_never_off_is_observed_evenly():
    draw = tracking(threshold=100.0).sample(3, seed=7)
    np.testing.assert_allclose(draw.design.probability, 1 / 128, rtol=1e-12)
    np.testing.assert_allclose(draw.design.inclusion, 24 / 128, rtol=1e-12)


@pytest.mark.parametrize("points", [1, 24, 128])
def test_inclusion_probabilities_hold_for_any_number_of_points_and_triggers(points):
    for threshold in (0.0, 0.05, 0.5):
        pi = tracking(0.9, threshold=threshold, points=points).sample(20, seed=8).design.inclusion
        np.testing.assert_allclose(pi.sum(axis=1), points, rtol=1e-12)
        assert (pi > 0).all()
        assert (pi <= 1 + 1e-12).all()


def test_a_threshold_is_a_distance():
    with pytest.raises(DataError, match="threshold"):
        tracking(threshold=-0.1)


# ---- functional ---------------------------------------------------------------------------------------
def test_the_tracking_error_and_its_representer_in_closed_form():
    world = tracking()
    u, g = world.sample(10, seed=9).solutions, world.functionals["tracking_error"]
    s = np.linspace(0, 1, 128)
    error = u - 64 * s**3 * (1 - s) ** 3
    weights = np.array([0.5, *[1.0] * 126, 0.5]) / 127
    np.testing.assert_allclose(evaluate(g, u, world.grid), error**2 @ weights, rtol=1e-12)
    np.testing.assert_allclose(representers(g, u, world.grid), 2 * error, rtol=1e-12, atol=1e-14)
