"""The page: well formed, self-contained, safe, and its numbers are the estimate's own."""

import html
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import dope
from dope import DataError
from dope.reports import report

HOSTILE = '<script>alert("1")</script> & $\\frac$ \x07 "quoted"'
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Checks that tags balance, and keeps what tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.links, self.text, self.headings = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [v for k, v in attributes if k in ("href", "src", "clip-path") or "url(" in (v or "")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)
        if self.open and re.fullmatch(r"h[1-6]", self.open[-1]):
            self.headings.append((self.open[-1], data))


def page(estimate, tmp_path, **options):
    path = report(estimate, tmp_path / "r.html", **options)
    return path.read_text(encoding="utf-8")


def estimates(request):
    line = request.getfixturevalue("line_fit")
    plane = request.getfixturevalue("plane_fit")
    joint = request.getfixturevalue("line_estimate")
    g = dope.TimeAbove(0.5, 8.0)
    u = dope.functional(lambda u, grid: grid.mean(u**3), name=HOSTILE)
    return {
        "joint": joint,
        "one of a joint": joint["soft maximum"],
        "contrast": joint.contrast([1, 0, -1]),
        "ratio": joint.ratio(0, 2, method="fieller"),
        "difference": line.estimate(g).difference(line.estimate(g, correction="one-step")),
        "plug-in only": line.estimate(g, correction="none"),
        "design": line.estimate(g, weights="design"),
        "structured": line.estimate(g, weights="structured"),
        "unlabelled": line.estimate(g, unlabeled=line.data.inputs[:5]),
        "2-D": plane.estimate([dope.ExcessAbove(0.05, 20.0), dope.Flux(0), u]),
        "scores only": request.getfixturevalue("bare_estimate"),
        "read": replace(joint, meta=dict(joint.meta) | {"data": READ}),
    }


READ = {
    "source": HOSTILE, "kind": "NONMEM", "rows": 300, "subjects": 6, "units": 12, "observations": 288, "doses": 12,
    "grid": "Grid.uniform(0, 24, 32)", "columns": {"time": "TIME", "value": HOSTILE},
    "measured_in": {"value": "mg/L", "time": "h"}, "channels": ["dose rate", "SEX = M"], "notes": [HOSTILE],
    "dropped": [{"why": HOSTILE, "count": 1, "lines": [7]}, {"why": "MDV = 1", "count": 20, "rows": list(range(20))}],
    "aside": {HOSTILE: "text"},
}  # fmt: skip


def second_stages(joint):
    """A line and means, under headings of a user's."""
    one, x = joint["soft maximum"], np.linspace(50, 90, len(joint.scores))
    labels = np.array(["a", HOSTILE])[np.arange(len(x)) % 2]
    return {HOSTILE: one.regress(pd.DataFrame({"WT": x})), "means": one.regress(pd.DataFrame({"SEX": labels}))}


KINDS = ["joint", "one of a joint", "contrast", "ratio", "difference", "plug-in only", "design", "structured",
         "unlabelled", "2-D", "scores only", "read"]  # fmt: skip


@pytest.fixture(scope="module")
def pages(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    out = {}
    for kind, e in estimates(request).items():
        more = {"second_stage": second_stages(e)} if kind == "read" else {}
        out[kind] = report(e, folder / f"{kind}.html", **more).read_text("utf-8")
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_and_asks_nothing_of_the_network(pages, kind):
    text = pages[kind]
    read = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?://|@import|//fonts|<script|<link", text)
    assert all(v.startswith(("#", "data:image/png")) or "url(#" in v for v in read.links)
    assert len(read.ids) == len(set(read.ids))
    targets = {t for v in read.links for t in re.findall(r"#([\w.-]+)", v) if not v.startswith("data:")}
    assert targets <= set(read.ids)
    assert len(text.encode()) < 2_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_accessible(pages, kind):
    text = pages[kind]
    read = Page(text)
    levels = [int(h[1]) for h, _ in read.headings]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    pictures = [a for tag, a in read.tags if tag == "svg"]
    assert pictures
    assert all(a["role"] == "img" and len(a["aria-label"]) > 10 for a in pictures)
    assert all("scope" in a for tag, a in read.tags if tag == "th")
    assert text.count("<table") == text.count("<caption")
    assert ("html", {"lang": "en"}) in read.tags
    assert any(a.get("name") == "viewport" for tag, a in read.tags if tag == "meta")
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_summary_and_of_to_frame(pages, request, kind):
    est, read = estimates(request)[kind], Page(pages[kind])
    told = "".join(read.text)
    shown = re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?", est.summary())
    for row in est.to_frame().itertuples():
        for value in (row.estimate, row.se, row.low, row.high, row.plugin):
            digits = [d for d in shown if np.isclose(float(d), value, rtol=6e-4, atol=0)]
            assert any(d in told for d in digits)
    frame = est.to_frame().to_csv(lineterminator="\n")
    assert frame.replace("\x07", "\ufffd") in told


def test_the_caveat_says_which_mean_it_is(pages):
    told = "".join(Page(pages["joint"]).text)
    assert "conditional mean solution" in told
    assert "For AUC (mean), linear in the field, both readings agree." in told
    assert "For time above 0.5 and soft maximum, curved in the field" in told


def test_what_needs_a_fit_is_left_out_without_one(pages):
    with_fit, without = ([t for _, t in Page(pages[k]).headings] for k in ("joint", "scores only"))
    assert {"Predicted fields and observations", "Design and weights", "Can it be trusted?"} <= set(with_fit)
    assert without[1:] == ["What was asked", "The answer", "Scores", "How it was made", "Data to copy"]


def test_what_was_read_is_told_with_the_rows_left_out(pages):
    text = pages["read"]
    for words in (
        "What was read",
        "12 units of 6 subjects, 288 observations, 12 doses",
        "line 7",
        "rows 0, 1, 2, 3, 4, 5, 6, 7 ...",
        "Columns left aside",
        "TIME (h) in [0, 24]",
        "in mg/L",
    ):
        assert words in text
    assert "What was read" not in pages["joint"]


def test_second_stages_are_drawn_under_their_headings_with_numbers_to_copy(pages, line_estimate, tmp_path):
    text = pages["read"]
    assert text.count("How it depends on the inputs") == 1
    found = second_stages(line_estimate)["means"]
    assert html.escape(found.to_frame().to_csv(lineterminator="\n").splitlines()[1].split(",")[-2][:8]) in text
    assert report(line_estimate["soft maximum"], tmp_path / "one.html", second_stage=found).is_file()
    with pytest.raises(DataError, match=r"second_stage 'x': pass what est.regress"):
        report(line_estimate, tmp_path / "bad.html", second_stage={"x": line_estimate})
    assert not (tmp_path / "bad.html").exists()


def test_warnings_stand_beside_the_intervals_they_concern(pages, bare_estimate):
    text = pages["scores only"]
    assert bare_estimate.notes
    told = "".join(Page(text).text)
    for note in bare_estimate.cautions:
        assert note.text in told
        assert all(name.replace("\x07", "\ufffd") in told for name in note.names)
    assert text.index("</table>") < text.index('id="warnings"') < text.index("<svg")
    assert 'class="flagged"' in text


def test_an_uncorrected_number_does_not_pass_for_a_debiased_one(pages):
    text = pages["plug-in only"]
    assert "No correction was made" in text
    assert '<th scope="col" role="columnheader">Debiased</th>' not in text


def test_a_p_value_is_shown_only_where_zero_is_a_question(pages):
    assert "p (value 0)" in pages["difference"]
    assert "p (value 0)" not in pages["ratio"]
    assert "p (value 0)" not in pages["plug-in only"]


def test_the_truth_is_a_column_and_a_mark(bare_estimate, tmp_path):
    text = page(bare_estimate, tmp_path, truth={"dose": 0.46071}, title="T & <b>T</b>")
    told = "".join(Page(text).text)
    assert '<th scope="col" role="columnheader">Truth</th>' in text
    assert "0.4607" in told
    assert "T & <b>T</b>" in told
    assert "<b>" not in text


@pytest.mark.parametrize("truth", [{"other": 1.0}, {"soft maximum": np.nan}, {"soft maximum": "high"}])
def test_a_truth_of_something_else_is_refused(line_estimate, tmp_path, truth):
    with pytest.raises(DataError, match="truth"):
        report(line_estimate, tmp_path / "r.html", truth=truth)


def test_names_of_users_are_text_wherever_they_stand(line_fit, tmp_path):
    ids = [f"<i>{k}</i>$x$" for k in range(12)]
    d = line_fit.data
    data = dope.OperatorData(d.inputs, d.points, d.values, grid=d.grid, ids=ids)
    fit = dope.DOPE(dope.FNO(width=6), folds=2, recipe=dope.Recipe(epochs=1, max_steps=3)).fit(data, progress=False)
    text = page(fit.estimate([dope.Mean(name=HOSTILE), dope.AUC(name="µ")]), tmp_path, title=HOSTILE)
    Page(text)
    assert "<script" not in text
    assert "<i>" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;i&gt;" in text
    with pytest.raises(DataError, match="not valid text"):
        fit.estimate(dope.AUC(name="µ \ud800"))


def test_a_table_survives_a_round_trip_through_the_page(pages, line_estimate):
    csv = re.search(r'aria-label="Estimates as CSV">(.*?)</pre>', pages["joint"], re.S)[1]
    import io

    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(html.unescape(csv)), index_col="name", keep_default_na=False),
        line_estimate.to_frame(),
        rtol=1e-12,
    )


def test_one_file_is_written_and_its_path_returned(bare_estimate, tmp_path):
    path = report(bare_estimate, tmp_path / "new" / "r.html")
    assert path == tmp_path / "new" / "r.html"
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["r.html"]
    assert path.read_bytes() == report(bare_estimate, tmp_path / "again.html").read_bytes()


def test_what_cannot_be_reported_is_refused_with_a_remedy(line_estimate, line_fit, tmp_path):
    with pytest.raises(DataError, match="folder"):
        report(line_estimate, tmp_path)
    with pytest.raises(DataError, match="estimate"):
        report(line_fit, tmp_path / "r.html")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a chromium binary")
@pytest.mark.parametrize("kind", ["joint", "2-D", "scores only"])
def test_a_browser_has_no_complaint(pages, kind, tmp_path):
    file = tmp_path / "r.html"
    file.write_text(pages[kind], encoding="utf-8")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update"]  # fmt: skip
    ran = subprocess.run(
        ["chromium", *quiet, f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0",
         "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in ran.stderr
    assert "</main>" in ran.stdout
    assert ran.stdout.count("<svg") == pages[kind].count("<svg")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a chromium binary")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", ["joint", "2-D"])
def test_nothing_reaches_beyond_the_screen(pages, kind, width, tmp_path):
    # a frame of this width, because a browser window is no narrower than 500
    measure = (
        "<iframe onload=\"const d = this.contentDocument.documentElement; document.title = d.scrollWidth + ' of ' + "
        f'd.clientWidth" style="border: 0; width: {width}px" srcdoc="{html.escape(pages[kind])}"></iframe>'
    )
    file = tmp_path / "r.html"
    file.write_text(f"<!DOCTYPE html><title></title>{measure}", encoding="utf-8")
    ran = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    needed, there = re.search(r"<title>(\d+) of (\d+)</title>", ran.stdout).groups()
    assert int(needed) <= int(there) == width
