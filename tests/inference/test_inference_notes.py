"""Warnings go with the numbers they concern, through everything that is made from them."""

import json

import numpy as np
import pytest

from dope.inference import Note, Verdict, estimate

GOOD, POOR = Verdict(), Verdict(("remainder",), ("the remainder is large: a better operator",))


@pytest.fixture
def judged(table):
    """Two functionals, of which the fit fails the second."""
    from dataclasses import replace

    return replace(
        estimate(table(count=2, names=("mean", "peak")), meta={"seed": 7, "versions": {"dope": "9.9", "torch": "2"}}),
        verdicts=(GOOD, POOR),
    )


def test_a_functional_carries_its_own_verdict_only(judged):
    assert judged["mean"].verdicts == (GOOD,)
    assert judged["mean"].notes == ()
    assert judged["peak"].notes == POOR.warnings  # alone, nobody needs to be named
    assert judged.notes == ("peak: the remainder is large: a better operator",)
    assert judged.cautions == (Note(POOR.warnings[0], ("peak",)),)


def test_what_is_made_from_a_functional_inherits_its_verdict(judged):
    made = [
        judged.contrast({"mean": 1, "peak": -1}),
        judged.ratio("mean", "peak"),
        judged.difference(judged)["peak difference"],
    ]
    for est in made:
        assert est.verdicts == (POOR,)
        assert POOR.warnings[0] in est.notes
    assert judged.contrast({"mean": 2}).verdicts == (GOOD,)
    assert judged.contrast(np.eye(2)).verdicts == (GOOD, POOR)


def test_a_difference_from_what_was_never_checked_has_no_verdict_and_loses_no_warning(judged, table):
    made = judged["peak"].difference(estimate(table(seed=1)))
    assert made.verdicts == ()
    assert POOR.warnings[0] in made.notes


def test_a_warning_that_concerns_all_is_said_once_and_names_nobody(judged):
    from dataclasses import replace

    assert replace(judged, verdicts=(POOR, POOR)).notes == POOR.warnings


def test_no_table_shows_an_interval_without_its_warning(judged):
    text = " ".join(judged.summary().split())
    assert "Verdict: mean: nothing in the fit speaks against the interval." in text
    assert "Verdict: peak: do not trust the interval (remainder)." in text
    assert "WARNING: peak: the remainder is large" in text
    assert list(judged.to_frame()["warning"]) == ["", POOR.warnings[0]]
    document = json.loads(judged.to_json())
    assert document["verdicts"]["peak"] == POOR.words
    assert document["functionals"][1]["warning"] == POOR.warnings[0]
    assert "DO NOT TRUST peak" in repr(judged)
    assert "DO NOT TRUST" not in repr(judged["mean"])
    assert "Verdict: peak: do not trust the interval (remainder)." in judged._repr_html_()
    for shown in (judged.to_latex(), judged._repr_html_(), repr(judged["peak"].equivalence(-9, 9))):
        assert POOR.warnings[0] in shown


def test_a_second_stage_carries_warnings_and_origin(judged):
    x = np.arange(40.0)
    found = judged["peak"].regress(x)
    assert POOR.warnings[0] in repr(found)
    assert found.meta["seed"] == 7
    assert "WARNING" not in repr(judged["mean"].regress(x))


def test_a_summary_says_by_what_it_was_made(judged, table):
    assert "Made with dope 9.9, torch 2, seed 7." in judged.summary()
    assert "Made with dope 9.9, torch 2, seed 7." in judged.difference(judged).summary()
    assert "Made with" not in estimate(table()).summary()


def test_skewness_names_whom_it_concerns(table):
    rng = np.random.default_rng(0)
    both = np.concatenate([rng.lognormal(0, 1.5, (1, 60, 1)), rng.standard_normal((1, 60, 1))], axis=2)
    est = estimate(table(both, names=("long", "round")))
    (note,) = est.cautions
    assert note.names == ("long",)
    assert str(note).startswith("long: the scores are strongly skewed")
    assert est["round"].notes == ()


def test_groups_that_only_one_side_of_a_paired_difference_knows_still_count(table):
    rng = np.random.default_rng(0)
    group = np.arange(40) // 4
    shared = rng.standard_normal(10)[group][None, :, None]
    one = shared + 0.1 * rng.standard_normal((1, 40, 1))
    two = 0.1 * rng.standard_normal((1, 40, 1))
    bare, grouped = estimate(table(one)), estimate(table(one, group=group))
    other, other_grouped = estimate(table(two)), estimate(table(two, group=group))
    expected = grouped.difference(other_grouped)
    for made in (bare.difference(other_grouped), grouped.difference(other)):
        assert made.se == pytest.approx(expected.se, rel=1e-12)
        assert made.df == 9
