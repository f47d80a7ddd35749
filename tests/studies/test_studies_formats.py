"""Tables as text, Markdown, LaTeX, JSON and CSV: they hold the same numbers, and fit where they are read."""

import csv
import io
import json
import math
import re

import pytest

from dope.data import DataError
from dope.studies import FORMATS, KEYS, STUDIES, Results, results, write
from dope.studies.slopes import slopes
from dope.studies.table import summarise

EVERY = pytest.mark.parametrize("name", list(STUDIES))


def table_of(rows):
    return summarise(rows), slopes(rows)


@EVERY
def test_text_fits_eighty_columns_and_has_no_colour(rows_of, name):
    text = write(*_args(rows_of(name)))
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(line == line.rstrip() for line in text.splitlines())


def _args(rows, format="text"):
    table, found = table_of(rows)
    return table, format, found


@EVERY
@pytest.mark.parametrize("format", list(FORMATS))
def test_every_format_shows_every_estimator_and_the_floor(rows_of, name, format):
    text = write(*_args(rows_of(name), format))
    for study in STUDIES[name]:
        for word in ("floor", *study.estimators, *study.functionals):
            # LaTeX writes an underscore as \_
            assert word in text.replace("\\_", "_")


def test_numbers_far_from_the_published_ones_are_named(rows_of):
    rows = [r for r in rows_of("pk-fno", repeats=10) if r.functional == "tat" and r.estimator in ("floor", "direct")]
    table, _ = table_of(rows)
    errors = {s.value: (s.rmse - s.published_rmse) / math.hypot(s.rmse_se, s.published_se)
              for s in table if s.published_rmse is not None}  # fmt: skip
    assert len(errors) == 9
    far = {value: off for value, off in errors.items() if abs(off) > 3}
    assert 0 < len(far) < 9  # errors of size 1e-2: below every published RMSE, by more or less
    text = " ".join(write(table).split())
    assert f"Of 9 RMSE beside a published one {len(far)} lie further than 3 joint standard errors from it:" in text
    for value, off in errors.items():
        assert (f"tat direct at rho={value:g} ({off:+.1f})" in text) == (value in far)


def test_text_shows_each_number_at_the_stated_scale_beside_the_published_one(rows_of):
    rows = [r for r in rows_of("pk-fno", repeats=4) if r.functional == "tat"]
    table, _ = table_of(rows)
    text = write(table)
    assert "tat: RMSE x 10^2, standard error in parentheses, published figures below" in text
    rmse = text[text.index("tat: RMSE x") : text.index("tat: coverage")]
    shown = _read(rmse, "rho")
    for s in table:
        assert shown[s.estimator][s.value] == f"{100 * s.rmse:.2f} ({100 * s.rmse_se:.2f})"
        if s.published_rmse is not None:
            assert shown[f"{s.estimator}, published"][s.value] == (
                f"{100 * s.published_rmse:.2f} ({100 * s.published_se:.2f})"
            )
    coverage = _read(text[text.index("tat: coverage") : text.index("tat: RMSE over")], "rho")
    ratio = _read(text[text.index("tat: RMSE over") : text.index("floor: the mean")], "rho")
    for s in table:
        assert coverage[s.estimator][s.value] == f"{s.coverage:.2f}"
        assert ratio[s.estimator][s.value] == f"{s.ratio_to_floor:.2f}"


def _read(text, setting):
    """{estimator: {value: cell}} of the stacks of a printed table."""
    out, values, above = {}, [], ""
    for line in text.splitlines():
        words = re.sub(r" \(", "(", line).split()
        if words and words[0] == setting:
            values = [float(w) for w in words[1:]]
        elif values and len(words) == 1 + len(values):
            name = f"{above}, published" if words[0] == "published" else words[0]
            above = words[0] if words[0] != "published" else above
            cells = (re.sub(r"\(", " (", w) for w in words[1:])
            out.setdefault(name, {}).update(zip(values, cells, strict=True))
    return out


def test_the_power_of_ten_is_that_of_the_published_table(rows_of):
    assert "smooth_excess: RMSE x 10^4," in write(*_args(rows_of("darcy")))
    assert "soft_cmax: RMSE x 10^2," in write(*_args(rows_of("pk-ppi")))


@pytest.mark.parametrize(
    ("size", "title", "number"),
    [(0.00321, "RMSE x 10^3", "3.21"), (4.0, "RMSE", "4.00"), (321.0, "RMSE x 10^-2", "3.21")],
)
def test_without_a_published_table_the_floor_lies_between_1_and_10(row, size, title, number):
    rows = [row(study="mine", repeat=k, value=v, estimator=e, estimate=0.2 + size)
            for k in range(2) for v in (0.0, 1.0) for e in ("floor", "plugin")]  # fmt: skip
    text = write(summarise(rows))
    assert f"tat: {title}, standard error" in text
    line = next(line for line in text.splitlines() if line.startswith("plugin"))
    assert line.split()[1] == number


def test_coverages_stand_beside_the_published_ones(rows_of):
    text = write(*_args(rows_of("pk-coverage")))
    block = text[text.index("auc: coverage") : text.index("auc: RMSE over")]
    assert _read(block, "rho")["plugin, published"][0.0] == "0.44"
    assert "mean length of intervals" in text


def test_one_setting_is_one_table_with_a_column_for_each_measure(row):
    rows = [row(repeat=k, estimator=e, estimate=0.2 + x) for k in range(2)
            for e, x in (("floor", 0.01), ("plugin", 0.03))]  # fmt: skip
    text = write(summarise(rows))
    assert "tat, rho=0.5\n" in text
    head, floor, plugin = text[text.index("estimator") :].splitlines()[:3]
    assert head.split() == ["estimator", "RMSE", "x", "10^2", "published", "coverage", "to", "floor"]
    assert floor.split() == ["floor", "1.00", "(0.00)", "-", "0.00", "1.00"]
    assert plugin.split() == ["plugin", "3.00", "(0.00)", "2.25", "(0.17)", "0.00", "3.00"]


def test_what_is_missing_is_a_dash(row):
    # an estimator that one setting does not have; a single repeat without standard error
    rows = [row(estimator=e, value=v) for e, v in (("floor", 0.0), ("floor", 1.0), ("exact", 0.0))]
    lines = write(summarise(rows)).splitlines()
    assert next(line for line in lines if line.startswith("exact")).split() == ["exact", "5.00", "-"]


def test_numbers_that_went_astray_stay_readable(row):
    rows = [row(estimator=e, value=v, repeat=k, estimate=x) for k in range(2) for v in (0.0, 1.0)
            for e, x in (("floor", 0.21), ("plugin", 3.5e9), ("direct", math.nan))]  # fmt: skip
    text = write(summarise(rows))
    assert "3.5e+11" in text
    assert "nan" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_slopes_stand_below_the_robustness_table(rows_of):
    rows = rows_of("robustness")
    table, found = table_of(rows)
    text = write(table, "text", found)
    below = text[text.index("Slopes of log |bias| in log(1 + delta)") :]
    for s in found:
        (line,) = [line for line in below.splitlines() if line.startswith(f"{s.estimator}  ")]
        assert str(s) in line
    assert "Slopes" not in write(table)


def test_the_standard_error_of_a_coverage_is_told(rows_of):
    # sqrt(0.95 * 0.05 / 3) = 0.126
    assert "Over 3 repeats, a coverage of 0.95 has a standard error of 0.13." in " ".join(
        write(*_args(rows_of("pk-fno"))).split()
    )


# ---- for programs -----------------------------------------------------------------------------------------
@EVERY
def test_json_has_exactly_the_keys_in_their_order_and_full_precision(rows_of, name):
    table, found = table_of(rows_of(name, repeats=2))
    entries = json.loads(write(table, "json", found))
    assert len(entries) == len(table)
    for s, entry in zip(table, entries, strict=True):
        assert tuple(entry) == KEYS
        assert entry == s.to_dict()


def test_json_has_null_for_what_is_no_number(row):
    entries = json.loads(write(summarise([row(estimate=math.nan)]), "json"))
    for key in ("rmse", "rmse_se", "bias", "floor_rmse", "ratio_to_floor"):
        assert entries[0][key] is None
    assert json.loads(write([], "json")) == []


def test_json_is_read_back(row, rows_of, tmp_path):
    table, _ = table_of(rows_of("pk-coverage", repeats=2))
    (tmp_path / "t.json").write_text(write(table, "json"), "utf-8")
    assert list(results(tmp_path / "t.json").table) == table
    astray = summarise([row(estimate=math.nan)])
    (tmp_path / "n.json").write_text(write(astray, "json"), "utf-8")
    assert math.isnan(results(tmp_path / "n.json").table[0].rmse)


def test_an_archive_holds_everything(row, rows_of, tmp_path):
    table, found = table_of(rows_of("robustness", repeats=4))
    whole = Results(
        tuple(table), tuple(found), ("a note",), ("v1", "v2"), ("cpu",), {("robustness", "recommended"): {"n": 64}}
    )
    whole.save(tmp_path / "a.json")
    again = results(tmp_path / "a.json")
    assert found
    for name in ("table", "slopes", "notes", "codes", "devices", "protocols"):
        assert getattr(again, name) == getattr(whole, name)
    astray = Results(tuple(summarise([row(estimate=math.nan)])))
    astray.save(tmp_path / "n.json")
    assert math.isnan(results(tmp_path / "n.json").table[0].rmse)
    with pytest.raises(DataError, match="cannot be written"):
        whole.save(tmp_path / "none" / "a.json")


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '[{"study": "x"}]', "3"])
def test_what_is_no_table_is_told(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(DataError, match="holds no results of a study"):
        results(tmp_path / "t.json")


def test_csv_has_the_same_columns_and_numbers(rows_of):
    table, _ = table_of(rows_of("pk-fno", repeats=2))
    lines = list(csv.DictReader(io.StringIO(write(table, "csv"))))
    assert tuple(lines[0]) == KEYS
    for s, line in zip(table, lines, strict=True):
        assert {k: "" if v is None else str(v) for k, v in s.to_dict().items()} == line


# ---- for documents ----------------------------------------------------------------------------------------
@EVERY
def test_markdown_tables_are_rectangular(rows_of, name):
    text = write(*_args(rows_of(name), "markdown"))
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("|"):
            lines = paragraph.strip().splitlines()
            assert len({line.count("|") for line in lines}) == 1
            assert set(lines[1]) <= set("|-:")


def test_markdown_holds_the_numbers(rows_of):
    table, _ = table_of(list(rows_of("darcy")))
    text = write(table, "markdown")
    assert "× 10<sup>4</sup>" in text
    line = next(line for line in text.splitlines() if line.startswith("| plugin |"))
    shown = [s for s in table if s.estimator == "plugin"]
    assert line == f"| plugin | {' | '.join(f'{1e4 * s.rmse:.2f} ({1e4 * s.rmse_se:.2f})' for s in shown)} |"


@EVERY
def test_latex_tables_are_rectangular_and_escaped(rows_of, name):
    text = write(*_args(rows_of(name), "latex"))
    for kind in ("table", "tabular"):
        assert text.count(rf"\begin{{{kind}}}") == text.count(rf"\end{{{kind}}}") > 0
    for body in re.findall(r"\\begin\{tabular\}\{(lc*)\}\n(.*?)\\end\{tabular\}", text, re.S):
        rows = [line for line in body[1].splitlines() if line.endswith(r"\\")]
        assert {line.count("&") for line in rows} == {len(body[0]) - 1}
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\usepackage{booktabs}"):
        assert rule in text
    assert not re.search(r"(?<!\\)[%_#]", text.removeprefix(r"% \usepackage{booktabs}"))


def test_an_unknown_format_is_told():
    with pytest.raises(DataError, match="Known are: text, json, markdown, csv, latex"):
        write([], "yaml")
