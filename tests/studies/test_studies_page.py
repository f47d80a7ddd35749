"""A study as one HTML page."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from dope.data import DataError
from dope.studies.page import study_report
from dope.studies.results import Results
from dope.studies.slopes import slopes
from dope.studies.table import summarise


@pytest.fixture
def found(rows_of):
    rows = rows_of("robustness")
    return Results(tuple(summarise(rows)), tuple(slopes(rows)), codes=("0.1+abc",),
                   protocols={("robustness", "recommended"): {"n": 64, "folds": 5}})  # fmt: skip


def test_the_page_holds_every_rmse_and_slope_and_the_figures(found, tmp_path):
    file = study_report(found, tmp_path / "deep" / "study.html")
    page = file.read_text("utf-8")
    for s in found.table:
        assert f">{100 * s.rmse:.2f}<br>" in page
    for s in found.slopes:
        assert f">{s}</td>" in page
    assert page.count("<svg") == 1
    assert "RMSE × 10²" in page
    assert "<h1>Study robustness</h1>" in page
    for text in ("0.1+abc", "<dt>folds</dt><dd>5</dd>", "floor: the mean of the true values"):
        assert text in page


def test_the_page_asks_nothing_of_the_network_and_is_well_formed(found, tmp_path):
    page = study_report(found, tmp_path / "s.html").read_text("utf-8")
    # names of XML namespaces are no addresses
    assert re.findall(r"""(?:src|href)=["'](?!#)|https?://(?!www\.w3\.org)|@import|url\((?!#)""", page) == []
    # the body is XML but for elements that HTML leaves open
    body = page[page.index("<main>") : page.index("</body>")].replace("<br>", "<br/>")
    ET.fromstring(body)
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_notes_are_shown_as_text(found, tmp_path):
    page = study_report(replace(found, notes=("2 failed: <script>alert(1)</script>",)), tmp_path / "s.html")
    page = page.read_text("utf-8")
    assert "2 failed: &lt;script&gt;" in page
    assert "<script" not in page
    assert "Please note" in page


def test_a_title_and_a_choice_of_functionals(found, tmp_path):
    page = study_report(found.only(["tat"]), tmp_path / "s.html", title="A & B").read_text("utf-8")
    assert "<h1>A &amp; B</h1>" in page
    assert "tat: RMSE" in page
    assert "auc" not in page
    with pytest.raises(DataError, match="no functional 'peak'"):
        found.only(["peak"])


def test_a_folder_is_no_file(found, tmp_path):
    with pytest.raises(DataError, match="is a folder: give the report a file name"):
        study_report(found, tmp_path)
