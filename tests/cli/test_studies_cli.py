"""`dope reproduce`, `dope table`, and `dope report` of a study: what they print, write and refuse."""

import json
import subprocess
import sys

import pytest

from dope import FNO, Recipe
from dope.cli import main
from dope.studies import KEYS, PROTOCOLS, Protocol

_QUICK = Recipe(epochs=1, max_steps=2, batch=4)
_FNO = FNO(width=4, modes=3, layers=1)
_TINY = Protocol(name="recommended", n=8, folds=2, recipe=_QUICK, fno=_FNO, points=4, size=16, truth_pool=200)
_ASKED = ["--setting", "rho=0.5", "--functional", "tat", "--executor", "serial", "--device", "cpu"]


@pytest.fixture(autouse=True)
def _quick_and_eighty_columns_wide(monkeypatch, tmp_path):
    monkeypatch.setitem(PROTOCOLS, "recommended", _TINY)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def done(tmp_path, capsys):
    assert main(["reproduce", "robustness", "--repeats", "3", "--executor", "serial", "--out", "runs"]) == 0
    capsys.readouterr()
    return tmp_path / "runs"


def fits(text):
    assert text.strip()
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80, max(text.splitlines(), key=len)


@pytest.mark.parametrize("command", ["reproduce", "table", "report"])
def test_help_loads_nothing_heavy_and_fits(command):
    code = (
        "import sys\nfrom dope.cli import main\n"
        f"try: main(['{command}', '--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'numpy', 'matplotlib') if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr.strip() == "[]"
    assert f"Usage: dope {command}" in ran.stdout
    fits(ran.stdout)


def test_a_study_is_carried_out_and_its_table_printed(tmp_path, capsys):
    assert main(["reproduce", "pk-fno", "--repeats", "2", *_ASKED]) == 0
    out, err = capsys.readouterr()
    fits(out)
    assert "tat, rho=0.5" in out
    assert "auc" not in out
    # the published figures of direct weights: 1.95 and 0.16
    assert "1.95 (0.16)" in next(line for line in out.splitlines() if line.startswith("direct"))
    assert (tmp_path / "pk-fno-recommended" / "results.sqlite").is_file()
    assert err == "Results: pk-fno-recommended\n"


def test_the_same_command_again_prints_the_same_and_trains_nothing(capsys, monkeypatch):
    arguments = ["reproduce", "pk-fno", "--repeats", "2", "--out", "here", *_ASKED]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("dope.studies.executor.run_block", None)
    assert main(arguments) == 0
    assert capsys.readouterr().out == first


def test_without_a_choice_processes_work_on_a_cpu(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "dope.studies.runner.outcomes", lambda cells, executor, workers, code: asked.append(executor) or []
    )
    for arguments, executor in (([], "local"), (["--executor", "serial"], "serial")):
        main(["reproduce", "pk-fno", "--device", "cpu", "--out", executor, *arguments])
        assert asked.pop() == executor


def test_slopes_are_printed_below_the_robustness_table(done, capsys):
    assert main(["table", str(done)]) == 0
    out = capsys.readouterr().out
    fits(out)
    assert "Slopes of log |bias| in log(1 + delta)" in out
    assert "plugin S " in out[out.index("Slopes") :]


def test_json_on_stdout_is_nothing_but_json(done, capsys):
    assert main(["table", str(done), "--format", "json", "--figures", "pictures"]) == 0
    out, err = capsys.readouterr()
    entries = json.loads(out)
    assert all(tuple(e) == KEYS for e in entries)
    assert [line.partition(": ")[0] for line in err.splitlines()] == ["Figure"] * 2


@pytest.mark.parametrize(
    ("format", "begins"),
    [("markdown", "### robustness"), ("csv", "study,backbone"), ("latex", r"% \usepackage{booktabs}")],
)
def test_the_other_formats(done, capsys, format, begins):
    assert main(["table", str(done), "--format", format]) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_figures_are_written(done, tmp_path, capsys):
    assert main(["table", str(done), "--figures", "new/pictures"]) == 0
    assert sorted(f.name for f in (tmp_path / "new" / "pictures").iterdir()) == [
        "robustness-recommended.png", "robustness-recommended.svg",
    ]  # fmt: skip


def test_a_table_is_read_from_its_json(done, tmp_path, capsys):
    assert main(["table", str(done), "--format", "json"]) == 0
    (tmp_path / "t.json").write_text(capsys.readouterr().out, "utf-8")
    assert main(["table", "t.json", "--format", "csv"]) == 0
    from_file = capsys.readouterr().out
    assert main(["table", str(done), "--format", "csv"]) == 0
    assert capsys.readouterr().out == from_file


def test_a_study_is_reported_as_a_page(done, tmp_path, capsys):
    assert main(["report", str(done), "-o", "study.html", "--functional", "tat", "--title", "Our study"]) == 0
    assert capsys.readouterr().out == "Report: study.html\n"
    page = (tmp_path / "study.html").read_text("utf-8")
    assert "<h1>Our study</h1>" in page
    assert "tat: RMSE" in page
    assert "auc: RMSE" not in page
    assert "<svg" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "nonsense"], "there is no study 'nonsense'. Known are: pk-fno"),
        (["reproduce", "pk-fno", "--setting", "rho=7"], "no setting rho=7. Known are: rho=0"),
        (["reproduce", "pk-fno", "--functional", "peak"], "no functional 'peak'"),
        (["reproduce", "pk-fno", "--repeats", "0"], "repeats must be a whole number of at least 1"),
        (["reproduce", "pk-fno", "--executor", "ray"], "executor must be serial, local or dask:ADDRESS"),
        (["reproduce", "pk-fno", "--device", "tpux"], "device 'tpux' is not known"),
        (["table", "nowhere"], "holds no results.sqlite: it is written by `dope reproduce STUDY --out nowhere`"),
    ],
)
def test_a_wrong_request_is_a_plain_message_and_code_2(arguments, words, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dope: ")
    assert words in err


@pytest.mark.parametrize("arguments", [["reproduce"], ["table"], ["reproduce", "pk-fno", "--protocol", "mine"],
                                       ["table", "x", "--format", "yaml"]])  # fmt: skip
def test_a_wrong_command_line_is_code_2(arguments, capsys):
    assert main(arguments) == 2
    assert "Traceback" not in "".join(capsys.readouterr())


def test_a_functional_that_a_study_does_not_have_is_told_by_the_report(done, capsys):
    assert main(["report", str(done), "-f", "peak"]) == 2
    assert "no functional 'peak'. Known are: auc, tat" in capsys.readouterr().err


def test_failed_cells_are_told_and_tried_again(capsys, monkeypatch):
    from dope.studies import cell, executor

    run = executor.run_block
    monkeypatch.setattr(executor, "run_block", lambda block, code: [
        cell.Failure("The loss is not finite.") if c.repeat else rows
        for c, rows in zip(block, run(block, code), strict=True)])  # fmt: skip
    arguments = ["reproduce", "pk-fno", "--repeats", "2", "--out", "here", *_ASKED]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "1 repeat." in out
    assert "1 setting of a repeat gave no rows, the first because of: The loss is not finite." in err
    monkeypatch.setattr(executor, "run_block", run)
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "2 repeats." in out
    assert "gave no rows" not in err
