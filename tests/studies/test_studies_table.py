"""Rows to figures: every number of the table derived again by hand, and joined with what was published."""

import csv
from importlib.resources import files

import numpy as np
import pytest

from dope.studies import KEYS, STUDIES, Summary
from dope.studies.published import Published, published
from dope.studies.table import summarise

ASKED_FOR = (
    "study, backbone, functional, setting, value, estimator, protocol, repeats, rmse, rmse_se, floor_rmse, "
    "ratio_to_floor, bias, bias_se, coverage, coverage_se, mean_length, seconds, published_rmse, published_se"
)
# Published tables call the debiased estimator "dope": it has directly learned weights.
OURS = {"plugin": ("plugin",), "structured": ("structured",), "oracle": ("oracle",), "dope": ("direct", "direct+paper")}


def printed():
    """The published tables, line by line."""
    with files("dope.studies").joinpath("published.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_keys_are_those_that_checks_are_written_against():
    assert list(KEYS) == ASKED_FOR.split(", ")


def test_every_number_follows_from_the_rows(row):
    errors, below, seconds = (0.03, -0.04, 0.02, 0.01), (0.01, -0.02, 0.01, 0.0), (1.0, 2.0, 3.0, 6.0)
    rows = [row(repeat=k, estimate=0.2 + e, low=0.2 + e - 0.025, high=0.2 + e + 0.025, seconds=s)
            for k, (e, s) in enumerate(zip(errors, seconds, strict=True))]  # fmt: skip
    rows += [row(repeat=k, estimator="floor", estimate=0.2 + e, low=0.1, high=0.3) for k, e in enumerate(below)]
    floor, plugin = summarise(rows)
    # squares 9, 16, 4, 1 (e-4): mean 7.5; about it 2.25 + 72.25 + 12.25 + 42.25 = 129, over 3 = 43
    assert plugin.repeats == 4
    assert plugin.rmse == pytest.approx(np.sqrt(7.5e-4))
    assert plugin.rmse_se == pytest.approx(np.sqrt(43) * 1e-4 / 2 / (2 * np.sqrt(7.5e-4)))
    # floor: squares 1, 4, 1, 0 (e-4)
    assert floor.rmse == plugin.floor_rmse == pytest.approx(np.sqrt(1.5e-4))
    assert plugin.ratio_to_floor == pytest.approx(np.sqrt(5))
    assert floor.ratio_to_floor == 1
    # mean 0.005; about it 6.25, 20.25, 2.25, 0.25 (e-4), over 3
    assert plugin.bias == pytest.approx(0.005)
    assert plugin.bias_se == pytest.approx(np.sqrt(29e-4 / 3) / 2)
    # errors of 0.03 and -0.04 are beyond the half-width of 0.025, above and below
    assert plugin.coverage == 0.5
    assert plugin.coverage_se == pytest.approx(0.25)
    assert plugin.mean_length == pytest.approx(0.05)
    assert plugin.seconds == 3.0


def test_standard_errors_are_those_of_many_repetitions(row):
    # 400 tables of 50 repeats each: the spread of their RMSE and bias is known to 1 / sqrt(2 * 400) = 3.5 %, and the
    # delta method's own error at 50 repeats is of the same order; four times 3.5 % and some for the latter
    rng = np.random.default_rng(0)
    tables = [summarise([row(repeat=k, estimate=0.2 + e) for k, e in enumerate(0.3 + rng.standard_normal(50))])[0]
              for _ in range(400)]  # fmt: skip
    for number, se in (("rmse", "rmse_se"), ("bias", "bias_se")):
        spread = np.std([getattr(t, number) for t in tables], ddof=1)
        assert np.mean([getattr(t, se) for t in tables]) == pytest.approx(spread, rel=0.18)


def test_the_floor_is_that_of_the_same_repeats(row):
    rows = [row(repeat=k, estimator="floor", estimate=0.2 + e) for k, e in enumerate((0.01, 0.02, 0.9))]
    rows += [row(repeat=k) for k in range(2)]  # the third repeat of the plug-in is not there yet
    _, plugin = summarise(rows)
    assert plugin.floor_rmse == pytest.approx(np.sqrt(2.5e-4))


def test_without_a_floor_there_is_no_ratio(row):
    (only,) = summarise([row(), row(repeat=1)])
    assert (only.floor_rmse, only.ratio_to_floor) == (None, None)


def test_one_repeat_has_no_standard_error(row):
    (only,) = summarise([row()])
    assert (only.repeats, only.rmse_se, only.bias_se) == (1, None, None)
    assert only.rmse == pytest.approx(0.05)


def test_settings_protocols_and_functionals_are_kept_apart(row):
    rows = [row(), row(value=0.25), row(functional="auc"), row(protocol="paper", config="d"), row(study="pk-deeponet")]
    assert len(summarise(rows)) == 5


def test_the_order_is_that_of_the_studies_own_grids(rows_of):
    table = summarise(reversed(rows_of("pk-fno", repeats=1)))
    (study,) = STUDIES["pk-fno"]
    assert list(dict.fromkeys(s.functional for s in table)) == list(study.functionals)
    first = [s for s in table if s.functional == "auc"]
    assert list(dict.fromkeys(s.value for s in first)) == [s.value for s in study.settings]
    assert [s.estimator for s in first][: 1 + len(study.estimators)] == ["floor", *study.estimators]


@pytest.mark.parametrize("line", printed(), ids=lambda p: "-".join(list(p.values())[:6]))
def test_every_published_figure_is_found_in_the_functionals_own_units(line):
    place = (line["study"], line["backbone"], line["functional"], line["setting"], float(line["value"]))
    found = [f for ours in OURS[line["estimator"]] if (f := published(*place, ours)) != Published()]
    assert len(found) == 1
    if line["scale"] == "coverage":
        assert (found[0].coverage, found[0].rmse) == (float(line["rmse"]), None)
    else:
        assert found[0].coverage is None
        assert found[0].rmse * float(line["scale"]) == pytest.approx(float(line["rmse"]))
        assert found[0].se * float(line["scale"]) == pytest.approx(float(line["se"]))


def test_there_are_206_published_figures_and_each_meets_a_row_of_ours(rows_of):
    assert len(printed()) == 206
    table = [s for name in STUDIES for s in summarise(rows_of(name, repeats=1))]
    met = sum(s.published_rmse is not None for s in table) + sum(s.published_coverage is not None for s in table)
    assert met == 206


def test_published_figures_stand_beside_their_own_setting_alone(rows_of):
    table = {(s.functional, s.value, s.estimator): s for s in summarise(rows_of("pk-fno", repeats=1))}
    tat = table["tat", 0.5, "structured"]
    assert (tat.published_rmse, tat.published_se) == (pytest.approx(1.44e-2), pytest.approx(0.12e-2))
    assert table["tat", 0.5, "direct"].published_rmse == pytest.approx(1.95e-2)
    for ours in ("floor", "one-step", "exact", "auto", "design", "oracle-pi"):
        assert table["tat", 0.5, ours].published_rmse is None
    (other,) = [s for s in summarise(rows_of("darcy", repeats=1)) if s.value > 0.5 and s.value < 0.7
                and s.estimator == "plugin"]  # fmt: skip
    assert other.published_rmse == pytest.approx(0.75e-4)  # kappa = 3/5 is no number of a computer


def test_a_summary_comes_back_from_its_dictionary(rows_of):
    for s in summarise(rows_of("pk-coverage", repeats=2)):
        assert Summary.from_dict(s.to_dict()) == s
    assert s.to_dict().keys() == set(KEYS)
