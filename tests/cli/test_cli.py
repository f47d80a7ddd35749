"""The command line: what it costs to ask for help, what it prints, and how it fails."""

import functools
import html
import os
import subprocess
import sys

import pytest

import dope
from dope.cli import main
from dope.cli.specs import _KINDS, parse

HEAVY = ("torch", "numpy", "scipy", "pandas", "matplotlib", "h5py")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    study = dope.benchmarks.pharmacokinetics(size=32).sample(12, seed=0)
    model = dope.DOPE(dope.FNO(width=6), folds=2, recipe=dope.Recipe(epochs=1, max_steps=3))
    model.fit(study.data, progress=False).save(folder)
    return folder


@pytest.fixture(autouse=True)
def _eighty_columns_without_colour(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


def fits(text):
    assert text.strip()
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80, max(text.splitlines(), key=len)


def test_help_names_every_command_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom dope.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr.strip() == "[]"
    for command in ("demo", "report", "info"):
        assert command in ran.stdout
    fits(ran.stdout)


@pytest.mark.parametrize("command", ["demo", "report", "info"])
def test_every_command_explains_itself(command, capsys):
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    fits(text)
    assert f"Usage: dope {command}" in text


def test_the_module_is_the_command():
    run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=60)
    ran = run([sys.executable, "-m", "dope", "--version"], env=os.environ | {"COLUMNS": "80"})
    assert (ran.returncode, ran.stdout.strip()) == (0, "0.1.0")
    ran = run([sys.executable, "-m", "dope", "report", "nowhere"])
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dope: nowhere holds no saved fit")
    assert "Traceback" not in ran.stderr


def test_info_lists_versions_devices_and_extras(capsys):
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    fits(text)
    for word in ("dope", "python", "torch", "cores", 'device "auto"', "extra dask", "extra xarray"):
        assert f"\n{word}" in f"\n{text}"


def test_a_missing_extra_comes_with_its_remedy(capsys, monkeypatch):
    from dope.cli import info

    monkeypatch.setattr(info, "installed", lambda name: None if name == "distributed" else "1.0")
    assert main(["info"]) == 0
    assert "pip install 'dope[dask]'" in capsys.readouterr().out


def test_the_demo_prints_its_table_and_writes_its_report(monkeypatch, tmp_path, capsys):
    from dope.cli import demo

    monkeypatch.setattr(
        dope.benchmarks, "pharmacokinetics", functools.partial(dope.benchmarks.pharmacokinetics, pool=500, size=32)
    )
    demo.run(n=12, rho=0.5, seed=0, report=tmp_path / "d.html", recipe=dope.Recipe(epochs=1, max_steps=3), folds=2)
    out, err = capsys.readouterr()
    table = out.split("\n\n")[0]
    fits(table)
    head, *rows = table.splitlines()[1:]
    for column in ("functional", "plug-in", "one-step", "debiased", "95 % interval", "truth", "mean"):
        assert column in head
    assert [row.split("  ")[0].strip() for row in rows] == ["AUC (mean)", "time above 0.5", "soft maximum"]
    # name, plug-in, one-step, debiased, by, interval, truth, mean: nothing is cut off
    assert all("…" not in row and row.rstrip()[-4:].isdigit() for row in rows)
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("Report:"))
    assert "12 patients" in err
    page = (tmp_path / "d.html").read_text("utf-8")
    assert "Truth" in page
    assert f"Report: {tmp_path / 'd.html'}" in out


def test_a_saved_fit_is_reported(saved, tmp_path, capsys):
    assert main(["report", str(saved), "-o", "r.html", "--functional", "mean", "--functional", "peak=soft-max:6"]) == 0
    text = capsys.readouterr().out
    fits(text)
    assert "Report: r.html" in text
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "Mean of mean and peak" in page
    est = dope.load(saved).estimate([dope.Mean(), dope.SoftMax(6.0, name="peak")])
    assert est.to_frame().to_csv(lineterminator="\n").splitlines()[2] in html.unescape(page)


def test_the_mean_is_reported_by_default(saved, tmp_path, capsys):
    assert main(["report", str(saved), "--title", "A study"]) == 0
    assert "<h1>A study</h1>" in (tmp_path / "report.html").read_text("utf-8")


SPECS = {
    "mean": dope.Mean,
    "AUC": dope.AUC,
    "time-above:0.5,8": dope.TimeAbove,
    "time_below: 0.5, 8": dope.TimeBelow,
    "time-in-range:3.9,10": dope.TimeInRange,
    "time-in-range:3.9,10,4": dope.TimeInRange,
    "excess-above:1,5": dope.ExcessAbove,
    "soft-max:6": dope.SoftMax,
    "soft-min:6": dope.SoftMin,
    "energy": dope.Energy,
    "tracking-error:-1e-3": dope.TrackingError,
    "point-value:0.5,0.1": dope.PointValue,
    "point-value:0.3,0.7,0.1": dope.PointValue,
    "flux:1": dope.Flux,
    "flux:0,upper": dope.Flux,
}


@pytest.mark.parametrize(("spec", "kind"), SPECS.items(), ids=list(SPECS))
def test_specs_are_read(spec, kind):
    assert type(parse(spec)) is kind
    assert parse(f"its name={spec}").name == "its name"


def test_specs_keep_their_numbers_in_order():
    g = parse("time-in-range:3.9,10,4")
    assert (g.low, g.high, g.sharpness) == (3.9, 10, 4)
    assert parse("point-value:0.3,0.7,0.1").place.tolist() == [0.3, 0.7]
    assert parse("flux:1,lower").boundary == "lower"
    assert {s.lower().replace("_", "-").partition(":")[0] for s in SPECS} == set(_KINDS)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nonsense", "Known are: mean, auc, time-above:threshold,sharpness"),
        ("", "none named ''"),
        ("mean:1", "write it mean"),
        ("time-above:0.5", "write it time-above:threshold,sharpness"),
        ("time-above:high,8", "numbers expected"),
        ("time-above:0.5,-8", "sharpness must be positive"),
        ("time-in-range:1", "write it time-in-range:low,high[,sharpness]"),
        ("point-value:1", "write it point-value:x,...,width"),
        ("flux:0,left", "boundary must be"),
    ],
)
def test_a_bad_spec_is_a_plain_message_and_code_2(saved, spec, words, capsys):
    assert main(["report", str(saved), "-f", spec]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.startswith("dope: functional")


@pytest.mark.parametrize("arguments", [["frobnicate"], ["demo", "--n", "many"], ["report"], ["info", "--what"]])
def test_a_wrong_command_line_is_code_2(arguments, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err


def test_ctrl_c_is_code_130(monkeypatch, capsys):
    from dope.cli import info

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "_lines", interrupt)
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_an_error_of_the_program_is_not_blamed_on_the_user(monkeypatch):
    from dope.cli import info

    def broken():
        raise ValueError("a bug")

    monkeypatch.setattr(info, "_lines", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(["info"])
