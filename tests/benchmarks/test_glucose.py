"""The glucose world, held against an adaptive integration and what its equations conserve."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dope.benchmarks import glucose
from dope.benchmarks.glucose import blood_glucose, sitting
from dope.functionals.base import evaluate, representers

STEP = 1 / 6


def integrated(carbs, insulin, sensitivity, basal, step):
    """The published equations, literally, one held step after another."""
    resting = 13.2

    def slope(t, y, carbs, insulin):
        first, second, plasma, action, level = y
        return [
            carbs - 1.5 * first,
            1.5 * (first - second),
            1.1 * (13.2 * insulin - plasma),
            1.5 * (sensitivity * (plasma - resting) - action),
            0.6 * (basal - level) - action * level + (0.8 * 1000 / 120) * 1.5 * second,
        ]

    plasma = 13.2 * insulin[0]
    action = sensitivity * (plasma - resting)
    y = np.array([0, 0, plasma, action, 0.6 * basal / (0.6 + action)])
    out = [y[4]]
    for k in range(len(carbs) - 1):
        held = (carbs[k], insulin[k])
        y = solve_ivp(slope, (0, step), y, args=held, method="DOP853", rtol=1e-9, atol=1e-9).y[:, -1]
        out.append(y[4])
    return np.array(out)


@pytest.fixture(scope="module")
def day():
    """Three units' inputs and their integration."""
    inputs = glucose().sample(3, seed=0).inputs.astype(np.float64)
    given = (inputs[:, 0], inputs[:, 1], np.exp(inputs[:, 2, 0]), inputs[:, 3, 0])
    return given, np.stack([integrated(*unit, STEP) for unit in zip(*given, strict=True)])


# ---- solver -------------------------------------------------------------------------------------------
def test_solutions_equal_an_adaptive_integration_of_the_shown_inputs(day):
    # truncation of the fixed step, stated as a few thousandths of a mg/dL
    np.testing.assert_allclose(glucose().sample(3, seed=0).solutions, day[1], rtol=0, atol=5e-3)


def test_the_error_falls_with_the_fourth_power_of_the_step(day):
    given, exact = day
    errors = [np.abs(blood_glucose(*given, STEP, longest) - exact).max() for longest in (1 / 12, 1 / 24, 1 / 48)]
    # 2^4 = 16, approached as the step shrinks
    assert 12 < errors[0] / errors[1] < 22
    assert 14 < errors[1] / errors[2] < 19


def test_no_unit_errs_by_more_than_stated():
    inputs = glucose().sample(2000, seed=5).inputs.astype(np.float64)
    given = inputs[:, 0], inputs[:, 1], np.exp(inputs[:, 2, 0]), inputs[:, 3, 0], STEP
    # a quarter of the step: its own error is smaller by 256
    assert np.abs(blood_glucose(*given) - blood_glucose(*given, 1 / 48)).max() < 0.02


def test_a_fasting_unit_stays_where_it_is():
    nothing, insulin = np.zeros((2, 50)), np.repeat([[1.0], [1.3]], 50, axis=1)
    u = blood_glucose(nothing, insulin, np.array([0.03, 0.03]), np.array([120.0, 120.0]), STEP)
    np.testing.assert_allclose(u[0], 120, rtol=1e-12)
    # more insulin than at rest, by 0.3 * 13.2 mU/L, whose action adds to the effectiveness
    np.testing.assert_allclose(u[1], 0.6 * 120 / (0.6 + 0.03 * 0.3 * 13.2), rtol=1e-12)


def test_every_gram_that_is_absorbed_is_cleared():
    # Without insulin's action, e int (G - G_b) + G(24) - G_b = v times the grams, and the gut is empty by then.
    size = 24 * 60 + 1
    times = np.linspace(0, 24, size)
    carbs = 60 * sitting(np.array([[7.43]]), times)[:, 0]
    u = blood_glucose(carbs, np.ones((1, size)), np.zeros(1), np.array([120.0]), times[1])[0]
    cleared = 0.6 * np.trapezoid(u - 120, times) + u[-1] - 120
    # the trapezoid rule errs by (1 / 60)^2 / 12 of jumps of the slope
    np.testing.assert_allclose(cleared, 0.8 * 1000 / 120 * 60, rtol=1e-4)


def test_food_raises_and_insulin_lowers_glucose(day):
    (carbs, insulin, sensitivity, basal), _ = day
    base = blood_glucose(carbs, insulin, sensitivity, basal, STEP)
    more = insulin + (np.arange(145) > 40)
    assert (blood_glucose(1.2 * carbs, insulin, sensitivity, basal, STEP) >= base).all()
    assert (blood_glucose(carbs, more, sensitivity, basal, STEP) <= base).all()


# ---- inputs -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [25, 145, 289])
def test_no_gram_is_lost_between_the_nodes_of_any_grid(size):
    times = np.linspace(0, 24, size)
    rate = sitting(np.array([[0.0, 7.5, 12.512, 19.97, 23.5]]), times)
    np.testing.assert_allclose((rate[..., :-1] * np.diff(times)).sum(axis=-1), 1, rtol=1e-12)
    assert (rate >= 0).all()


def test_meals_come_with_their_share_of_insulin():
    inputs = glucose().sample(4000, seed=1).inputs.astype(np.float64)
    grams = inputs[:, 0].sum(axis=1) * STEP
    units = (inputs[:, 1] - inputs[:, 1, :1]).sum(axis=1) * STEP
    mean = np.exp(0.3**2 / 2)
    # 5 standard errors: meals vary by 30 g around 200 g, boluses by 5 U around 17 U
    np.testing.assert_allclose(grams.mean(), mean * (50 + 65 + 75 + 0.5 * 25), atol=5 * 40 / 4000**0.5)
    expected = mean * 19 * np.exp(-0.2 + 0.35**2 / 2)
    np.testing.assert_allclose(units.mean(), expected, atol=5 * 6 / 4000**0.5)


def test_blood_glucose_is_that_of_people_with_diabetes():
    u = glucose().sample(2000, seed=2).solutions
    assert u.min() > 30
    assert u.max() < 600
    assert 0.5 < ((u > 70) & (u < 180)).mean() < 0.95


# ---- design and functional ----------------------------------------------------------------------------
def test_high_glucose_is_measured_more_often():
    draw = glucose(0.4).sample(5, seed=3)
    high = 1 / (1 + np.exp(-(draw.solutions - 180) / 20))
    expected = 0.6 / 145 + 0.4 * high / high.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(draw.design.probability, expected, rtol=1e-12)


def test_time_in_range_and_its_representer_in_closed_form():
    world = glucose()
    u, g = world.sample(20, seed=4).solutions, world.functionals["time_in_range"]
    low, high = (1 / (1 + np.exp(-0.2 * (u - edge))) for edge in (70, 180))
    weights = np.array([0.5, *[1.0] * 143, 0.5]) / 144
    np.testing.assert_allclose(evaluate(g, u, world.grid), (low - high) @ weights, rtol=1e-12)
    slope = 0.2 * (low * (1 - low) - high * (1 - high))
    np.testing.assert_allclose(representers(g, u, world.grid), slope, rtol=1e-9, atol=1e-15)
