"""Words and files: what a reader sees, and what another program reads."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dope.inference import estimate

NASTY = ("auc_0-24 <b>&", "time above 0.5 mg/L during the whole of the first dosing interval, {log} 100 % ~ \\^")


@pytest.fixture
def rich(table):
    """Everything at once: long and nasty names, repeats, groups, unlabelled inputs, notes, reasons."""
    return estimate(
        table(n=40, count=2, repeats=2, inputs=30, group=np.arange(40) // 5, names=NASTY, counts=np.full(40, 6)),
        correction=("exact", "one-step"),
        weights="shared",
        reasons=("exact for the first, " + "because " * 20,),
        notes=("Overlap is poor <script>: the effective sample size is 7 & falls.",),
        meta={"seed": np.int64(3), "recipe": {"lr": np.float64(2e-3)}, "bad": float("nan"), 4: (1, 2)},
    )


def estimates(table, rich):
    tiny = estimate(table(1e-9 * np.random.default_rng(0).standard_normal((1, 30, 1))))
    huge = estimate(table(1e12 * np.random.default_rng(0).standard_normal((1, 30, 3))))
    flat = estimate(table(np.ones((1, 12, 1))))
    yield from (rich, tiny, huge, flat, rich.ratio(0, 1), rich.ratio(0, 1, "fieller"), rich[0], rich.contrast([-1, 2]))
    yield tiny.difference(flat, paired=False)
    yield estimate(table(n=20, count=30))


def test_summaries_fit_into_80_columns(table, rich):
    for est in estimates(table, rich):
        for level in (0.95, 0.9, 0.999):
            lines = est.summary(level).splitlines()
            assert max(map(len, lines)) <= 80
            assert not any(line != line.rstrip() for line in lines)


def test_a_summary_says_what_a_reader_must_know(rich):
    text = rich.summary()
    for label, value in [
        ("Units", "40"), ("Groups", "8"), ("Observations", "240"), ("Folds", "5"), ("Repeats", "2"),
        ("Weights", "shared"),
        ("Correction", "exact, one-step"), ("Std. errors", "cluster"), ("Unlabelled", "30 (tuned"),
    ]:  # fmt: skip
        line = next(line for line in text.splitlines() if label + ":" in line)
        assert value in line
    for column in ("estimate", "std err", "P>|t|", "[0.025", "0.975]", "plug-in"):
        assert column in text
    assert "E[g(S0(A))]" in text
    assert "exact correction the mean of the individuals' g" in " ".join(text.split())
    assert "Choice: exact for the first" in text
    assert "[0.05" in rich.summary(0.9)


def test_the_numbers_of_a_summary_are_the_estimates(table):
    est = estimate(table(n=50, count=2, names=("auc", "cmax")))
    for k, name in enumerate(est.names):
        row = next(line for line in est.summary().splitlines() if line.startswith(name)).split()
        shown = [float(row[c]) for c in (1, 2, 3, 5, 6, 7)]
        ends = est.conf_int()[k]
        expected = [est.value[k], est.se[k], est.tstat()[k], *ends, est.plugin[k]]
        np.testing.assert_allclose(shown, expected, rtol=6e-4)  # four digits


def test_notes_stand_beside_every_interval(rich):
    for note in rich.notes:
        squeezed = "".join(note.split())
        assert squeezed in "".join(rich.summary().split())
        assert note in json.loads(rich.to_json())["notes"]
    assert len(rich.notes) > 1  # the given one, and that 8 groups are few
    assert "Overlap is poor" in rich.to_latex()
    assert "Overlap is poor" in rich._repr_html_()
    assert "note(s)" in repr(rich)
    for made in (rich[0], rich.contrast([1, 1]), rich.ratio(0, 1), rich.difference(rich)):
        assert "Overlap is poor" in made.summary()


def test_frames(rich):
    frame = rich.to_frame()
    assert tuple(frame.index) == NASTY
    np.testing.assert_allclose(frame.estimate, rich.value)
    np.testing.assert_allclose(frame[["low", "high"]], rich.conf_int())
    np.testing.assert_allclose(frame.plugin_se, rich.plugin_se)
    assert list(frame.correction) == ["exact", "one-step"]
    assert rich[0].to_frame().shape == (1, frame.shape[1])


def test_json_round_trip(table, rich):
    for est in estimates(table, rich):
        text = est.to_json()
        document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        rows = document["functionals"]
        for k, row in enumerate(rows):
            assert row["name"] == est.names[k]
            assert row["estimate"] == np.atleast_1d(est.value)[k]
            low = np.atleast_2d(est.conf_int())[k, 0]
            assert row["low"] == (low if np.isfinite(low) else None)
        np.testing.assert_array_equal(document["covariance"], est.covariance)
    document = json.loads(rich.to_json())
    assert document["meta"] == {"seed": 3, "recipe": {"lr": 2e-3}, "bad": None, "4": [1, 2]}
    assert document["level"] == 0.95


def test_latex_is_escaped(rich):
    text = rich.to_latex()
    assert r"auc\_0-24 \textless{}b\textgreater{}\&" in text
    assert r"\{log\} 100 \% \textasciitilde{} \textbackslash{}\textasciicircum{}" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == 1
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 2
    for row in rows:
        assert len(row.replace(r"\&", "").split("&")) == 7


def test_latex_of_powers_of_ten_and_of_unbounded_intervals(table):
    rng = np.random.default_rng(0)
    tiny = estimate(table(1e-9 * (5 + rng.standard_normal((1, 30, 1))))).to_latex()
    assert r"\times 10^{-9}$" in tiny
    assert "e-" not in tiny
    unbounded = estimate(table(rng.standard_normal((1, 40, 2)))).ratio(0, 1, "fieller").to_latex()
    assert r"$-\infty$" in unbounded


def test_html_is_escaped_and_accessible(rich):
    text = rich._repr_html_()
    root = ET.fromstring(f"<div>{text}</div>")  # well formed, so nothing escaped into markup
    assert root.find(".//script") is None
    assert root.find(".//b") is None
    assert root.find(".//caption") is not None
    assert {th.get("scope") for th in root.iter("th")} == {"col", "row"}
    rows = root.find(".//tbody").findall("tr")
    assert [row.find("th").text for row in rows] == list(NASTY)
    assert all(len(row.findall("td")) == 7 for row in rows)


def test_repr_is_short(table):
    assert repr(estimate(table(names=("auc",)))).startswith("Estimate(auc ")
    many = repr(estimate(table(count=30)))
    assert "26 more" in many
    assert "\n" not in many
