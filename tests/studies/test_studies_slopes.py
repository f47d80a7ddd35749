"""How the bias grows: laws that are known, found again in rows."""

import numpy as np
import pytest

from dope.studies.slopes import slopes

DELTAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def rows(row, law, repeats=40, scatter=0.1, seed=0, units=1.0, **changes):
    """Rows whose bias follows `law(delta)`, times a factor that differs by repeat, over units that differ more."""
    rng, out = np.random.default_rng(seed), []
    for repeat in range(repeats):
        mean = units * rng.standard_normal()  # far larger than the bias
        factor = 1 + scatter * rng.standard_normal()
        for delta in DELTAS:
            at = {"study": "robustness", "setting": "delta", "value": delta, "repeat": repeat, **changes}
            out.append(row(estimator="floor", estimate=mean, **at))
            out.append(row(estimator="one-step S", estimate=mean + factor * law(delta), **at))
    return out


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_power_of_the_errors_size_is_found_exactly(row, power, sign):
    (s,) = slopes(rows(row, lambda d: sign * 1e-3 * (1 + d) ** power))
    # each repeat follows the law: neither the units nor the factors leave anything but rounding, whose size
    # relative to the bias is 1e-16 * 1 / 1e-3
    assert s.slope == pytest.approx(power, abs=1e-9)
    assert s.se == pytest.approx(0, abs=1e-9)
    assert s.visible
    assert s.repeats == 40
    assert np.sign(s.bias).tolist() == [sign] * 6


def test_a_bias_without_delta_does_not_flatten_the_slope(row):
    # the law of errors 1 + delta times as large has a bias at delta = 0: against log(delta) it would have a slope
    # of about 0.2, and from delta = 0 none at all
    (s,) = slopes(rows(row, lambda d: 2e-3 * (1 + d)))
    assert s.deltas == DELTAS
    assert s.bias[0] == pytest.approx(2e-3, rel=0.1)  # three standard errors of 40 factors of spread 0.1, and some
    assert s.slope == pytest.approx(1, abs=1e-9)


def test_the_standard_error_is_that_of_many_repetitions(row):
    # two parts of the bias with factors of their own: the slope then varies from study to study
    def noisy(seed):
        rng, out = np.random.default_rng(seed), []
        for repeat in range(50):
            a, b = 1 + 0.5 * rng.standard_normal(), 1 + 0.5 * rng.standard_normal()
            for d in DELTAS:
                at = {"study": "robustness", "setting": "delta", "value": d, "repeat": repeat}
                out.append(row(estimator="floor", estimate=0.0, **at))
                out.append(row(estimator="one-step S", estimate=a * (1 + d) + b * (1 + d) ** 2, **at))
        return slopes(out)[0]

    found = [noisy(seed) for seed in range(200)]
    # the spread of 200 slopes is known to 1 / sqrt(400) = 5 %: four times that
    assert np.mean([s.se for s in found]) == pytest.approx(np.std([s.slope for s in found], ddof=1), rel=0.2)


def test_units_are_taken_out_by_the_floor_of_the_same_repeat(row):
    law = {"law": lambda d: 1e-3 * (1 + d) ** 2, "scatter": 0.2}
    calm, wild = (slopes(rows(row, units=u, **law))[0] for u in (0.0, 1000.0))
    # what is left of the units is rounding at their size, 1e-13, over a bias of 1e-3
    assert wild.slope == pytest.approx(calm.slope, abs=1e-8)
    np.testing.assert_allclose(wild.bias, calm.bias, atol=1e-11)


def test_a_bias_that_chance_could_have_made_is_marked(row):
    (s,) = slopes(rows(row, lambda d: 1e-3 * (1 + d), scatter=20.0))
    assert s.slope == pytest.approx(1, abs=1e-9)
    assert not s.visible
    assert str(s).endswith("?")


def test_a_bias_that_changes_its_sign_has_no_slope(row):
    (s,) = slopes(rows(row, lambda d: 1e-3 * (d - 0.25)))
    assert (s.slope, s.se, s.known, str(s)) == (None, None, False, "none")


def test_repeats_that_are_not_whole_are_left_out(row):
    whole = rows(row, lambda d: 1e-3 * (1 + d), repeats=6)
    kept = [r for r in whole if not (r.repeat == 2 and r.value == 0.3 and r.estimator == "one-step S")]
    kept = [r for r in kept if not (r.repeat == 4 and r.value == 0.0 and r.estimator == "floor")]
    (s,) = slopes(kept)
    assert s.repeats == 4
    assert s.slope == pytest.approx(1, abs=1e-9)


def test_one_repeat_or_one_delta_or_none_have_no_slope(row):
    (one,) = slopes(rows(row, lambda d: 1.0, repeats=1))
    (single,) = slopes([r for r in rows(row, lambda d: 1.0) if r.value == 0.1])
    (alone,) = slopes([r for r in rows(row, lambda d: 1.0) if r.estimator != "floor"])
    assert (one.slope, single.slope, alone.slope) == (None, None, None)
    assert slopes([row()]) == []


def test_with_fixed_directions_the_slope_is_in_delta_itself(row):
    (s,) = slopes(rows(row, lambda d: 0.5 * d**2, protocol="release"))
    assert s.slope == pytest.approx(2, abs=1e-9)
    assert s.deltas == DELTAS[1:]  # at delta = 0 there is no error, and no logarithm
    assert s.size == "delta"


def test_functionals_and_protocols_have_slopes_of_their_own(row):
    more = rows(row, lambda d: 1e-3 * (1 + d)) + rows(row, lambda d: 1e-3 * (1 + d) ** 2, functional="auc")
    assert {s.functional: round(s.slope, 6) for s in slopes(more)} == {"tat": 1.0, "auc": 2.0}
