"""Long tables: what is understood, what it becomes, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from dope.data import DataError, Grid, OperatorData, read_table

NONMEM = """\
#ID,TIME,AMT,RATE,ADDL,II,EVID,MDV,DV,WT,SEX,TAD
1,0,100,.,.,.,1,1,.,70,M,0
1,1,.,.,.,.,0,0,5.5,70,M,1
1,4,.,.,.,.,0,0,2.5,70,M,4
# a remark of somebody
1,6,.,.,.,.,0,1,9,70,M,6
2,0,60,20,1,5,1,1,.,55.5,F,0
2,2,.,.,.,.,0,0,3,55.5,F,2
2,8,.,.,.,.,2,1,.,55.5,F,3
2,12,.,.,.,.,0,0,1,55.5,F,7
"""
GRID = Grid.uniform(0, 12, 49)


@pytest.fixture
def write(tmp_path):
    def put(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return put


def mass(data, channel=0):
    """The integral of a channel by the grid's own quadrature."""
    return data.grid.measure * data.grid.mean(data.inputs[:, channel].astype(np.float64))


def channel(data, reading, name):
    return data.inputs[:, reading.channels.index(name)]


# ---- NONMEM -------------------------------------------------------------------------------------------
def test_nonmem_names_are_understood_and_every_row_is_accounted_for(write):
    data, reading = read_table(write(NONMEM))
    assert reading.kind == "NONMEM"
    assert data.ids.tolist() == [1, 2]
    assert data.groups is None
    assert (reading.subjects, reading.units, reading.observations, reading.doses, reading.rows) == (2, 2, 4, 3, 8)
    np.testing.assert_array_equal(data.points[..., 0], [[1, 4], [2, 12]])
    np.testing.assert_array_equal(data.values, [[5.5, 2.5], [3, 1]])
    assert reading.channels == ("dose rate", "WT", "SEX = M")
    np.testing.assert_array_equal(channel(data, reading, "WT")[:, 0], [70, 55.5])
    np.testing.assert_array_equal(channel(data, reading, "SEX = M")[:, 0], [1, 0])
    dropped = {d.why: d.rows for d in reading.dropped}
    assert dropped == {"MDV = 1": (6,), "neither observation nor dose (EVID 2, 3)": (9,)}
    # observations, dose rows and dropped rows are all the rows there are
    assert reading.observations + 2 + sum(map(len, dropped.values())) == reading.rows
    assert reading.aside == {"TAD": "not a property of a subject"}


@pytest.mark.parametrize("change", [str.lower, lambda s: s.replace(",", "\t"), lambda s: s.replace(",", " "),
                                    lambda s: s.replace("\n", "\r\n"), lambda s: "\ufeff" + s,
                                    lambda s: s.replace(",", ";").replace(".5", ",5")])  # fmt: skip
def test_case_separators_line_ends_and_decimal_commas_do_not_matter(write, change):
    want, _ = read_table(write(NONMEM))
    got, _ = read_table(write(change(NONMEM), "other.txt"))
    np.testing.assert_array_equal(got.values, want.values)
    np.testing.assert_array_equal(got.points, want.points)
    np.testing.assert_array_equal(got.inputs, want.inputs)


def test_a_frame_is_read_like_its_file(write):
    frame = pd.read_csv(write(NONMEM), comment="#", names=NONMEM.split("\n")[0].lstrip("#").split(","), na_values=".")
    want, _ = read_table(write(NONMEM))
    got = OperatorData.from_frame(frame)
    np.testing.assert_array_equal(got.inputs, want.inputs)
    np.testing.assert_array_equal(got.values, want.values)
    assert got.ids.tolist() == [1, 2]


class Interchange:
    """A frame of another library: nothing but the protocol."""

    def __init__(self, frame):
        self._frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._frame.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.filterwarnings("ignore:.*interchange.*")
def test_any_frame_that_speaks_the_interchange_protocol_is_read():
    frame = pd.DataFrame({"id": [1, 1, 2, 2], "time": [0.0, 1.0, 0.0, 2.0], "dv": [1.0, 2.0, 3.0, 4.0]})
    data = OperatorData.from_frame(Interchange(frame))
    np.testing.assert_array_equal(data.values, [[1, 2], [3, 4]])


@pytest.mark.filterwarnings("ignore:.*interchange.*")
def test_polars_frames_are_read():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"ID": ["a", "a", "b"], "TIME": [0.0, 1.0, 2.0], "DV": [1.0, 2.0, None]})
    data = OperatorData.from_frame(frame)
    assert data.ids.tolist() == ["a", "b"]
    assert data.counts.tolist() == [2, 0]


def test_parquet_is_read_like_csv(tmp_path, write):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(write("ID,TIME,AMT,DV,WT\n1,0,10,.,70\n1,1,.,5,70\n2,0,10,.,80\n2,3,.,2,80\n"), na_values=".")
    frame.to_parquet(tmp_path / "t.parquet")
    data, reading = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(data.values, [[5], [2]])
    np.testing.assert_allclose(mass(data), 10, rtol=1e-6)  # float32 inputs
    assert reading.dropped == ()


def test_commented_rows_are_left_out(write):
    text = "C,ID,TIME,AMT,DV\n.,1,0,10,.\nC,1,1,.,99\n.,1,2,.,5\n.,2,0,10,.\n.,2,1,.,3\n"
    data, reading = read_table(write(text))
    assert data.values.tolist() == [[5], [3]]
    assert [(d.why, d.rows) for d in reading.dropped] == [("commented out (C)", (3,))]


def test_rows_that_begin_with_a_hash_are_listed_and_remarks_are_not(write):
    text = "ID,TIME,AMT,DV\n1,0,10,.\n#1,1,.,99\n# the assay failed, said the laboratory\n1,2,.,5\n2,0,10,.\n2,1,.,3\n"
    data, reading = read_table(write(text))
    assert data.values.tolist() == [[5], [3]]
    assert [(d.why, d.rows) for d in reading.dropped] == [("begin with #", (3,))]
    assert reading.rows == 5  # two doses, two observations, and the one that is switched off


def test_lines_before_the_names_may_be_comments(write):
    data, _ = read_table(write("TABLE NO.  1\n ID TIME AMT DV\n 1 0 10 0\n 1 1 0 5\n 2 0 10 0\n 2 1 0 3\n", "t.tab"))
    assert data.values.tolist() == [[5], [3]]


def test_headers_and_columns_of_units_are_read(write):
    _, reading = read_table(write("ID,TIME (h),AMT [mg],DV (mg/L)\n1,0,10,.\n1,1,.,5\n2,0,1,.\n2,1,.,3\n"))
    assert reading.measured_in == {"value": "mg/L", "time": "h", "dose": "mg"}


# ---- doses --------------------------------------------------------------------------------------------
GRIDS = {
    "uniform": Grid.uniform(0, 12, 49),
    "cells": Grid.cells(0, 12, 50),
    "nodes": Grid.nodes([0, 0.1, 0.5, 1, 2, 4, 8, 12]),
    "periodic": Grid.periodic(0, 12, 48),
}


@pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))
@pytest.mark.parametrize("start", [0.0, 0.13, 5.0, 11.9])
@pytest.mark.parametrize("rate", [".", 400, 70])
def test_what_is_given_within_the_grid_is_conserved_by_its_quadrature(grid, start, rate):
    frame = pd.DataFrame({"ID": 1, "TIME": [start, 12.0], "AMT": [80.0, np.nan], "RATE": [rate, "."], "DV": [".", 1]})
    data, _ = read_table(frame, grid=grid)
    given = 80.0 if rate == "." else min(80.0, rate * (12 - start))
    np.testing.assert_allclose(mass(data), given, rtol=1e-6)  # inputs are float32


def test_a_bolus_is_one_cell_wide_and_keeps_its_time():
    frame = pd.DataFrame({"ID": 1, "TIME": [3.1, 8], "AMT": [80.0, np.nan], "DV": [np.nan, 1]})
    data, _ = read_table(frame, grid=GRID)
    rate = data.inputs[0, 0].astype(np.float64)
    assert np.count_nonzero(rate) == 2
    t = GRID.points[:, 0]
    np.testing.assert_allclose(GRID.mean(rate * t) / GRID.mean(rate), 3.1, rtol=1e-6)


def test_an_infusion_has_its_own_rate_inside():
    frame = pd.DataFrame({"ID": 1, "TIME": [2.0, 8], "AMT": [90.0, np.nan], "RATE": [30, np.nan], "DV": [np.nan, 1]})
    data, _ = read_table(frame, grid=GRID)
    t = GRID.points[:, 0]
    np.testing.assert_allclose(data.inputs[0, 0][(t > 2) & (t < 5)], 30, rtol=1e-6)
    np.testing.assert_array_equal(data.inputs[0, 0][(t < 2) | (t > 5)], 0)


def test_additional_doses_are_written_out():
    head = {"ID": 1, "RATE": np.nan}
    short = pd.DataFrame(head | {"TIME": [0, 11.0], "AMT": [50, np.nan], "ADDL": [3, 0], "II": [2.5, 0], "DV": [0, 1]})
    long = pd.DataFrame(head | {"TIME": [0, 2.5, 5, 7.5, 11], "AMT": [50] * 4 + [np.nan], "DV": [0] * 4 + [1]})
    a, reading = read_table(short, grid=GRID)
    b, _ = read_table(long, grid=GRID)
    np.testing.assert_array_equal(a.inputs, b.inputs)
    assert reading.doses == 4


def test_doses_after_the_grid_are_dropped_and_doses_before_it_refused():
    frame = pd.DataFrame({"ID": 1, "TIME": [0, 1, 20.0], "AMT": [50, np.nan, 50], "DV": [np.nan, 1, np.nan]})
    data, reading = read_table(frame, grid=GRID)
    np.testing.assert_allclose(mass(data), 50, rtol=1e-6)
    assert [(d.why, d.rows) for d in reading.dropped] == [("doses after the end of the grid (12)", (2,))]
    with pytest.raises(DataError, match=r"row 0: a dose at 0, before the grid begins at 0.5"):
        read_table(frame, grid=Grid.uniform(0.5, 12, 40))


def test_compartments_that_are_dosed_have_a_channel_each():
    frame = pd.DataFrame({"ID": 1, "TIME": [0, 1, 2], "AMT": [50, 20, 0], "CMT": [1, 2, 2], "DV": [0, 0, 1]})
    data, reading = read_table(frame, grid=GRID)
    assert reading.channels == ("dose rate (CMT 1)", "dose rate (CMT 2)")
    np.testing.assert_allclose([mass(data, 0), mass(data, 1)], [[50], [20]], rtol=1e-6)


def test_a_regimen_at_steady_state_is_told_by_its_amount_and_interval():
    frame = pd.DataFrame(
        {"ID": [1, 1, 2, 2], "TIME": [0, 5.0, 0, 5], "AMT": [50, 0, 50, 0], "SS": [1, 0, 0, 0], "II": [12, 0, 0, 0],
         "DV": [0, 1, 0, 2]}
    )  # fmt: skip
    data, reading = read_table(frame)
    assert reading.channels[1:] == ("steady-state amount before", "steady-state interval before")
    np.testing.assert_array_equal(data.inputs[:, 1:, 0], [[50, 12], [0, 0]])


def test_a_dose_beside_the_samples_is_given_at_time_zero():
    frame = pd.DataFrame({"Subject": [1, 1, 2, 2], "Wt": [70, 70, 80, 80], "Dose": [4.0, 4, 5, 5], "Time": [0, 6, 0, 9],
                          "conc": [0.7, 3, 0.1, 2]})  # fmt: skip
    data, reading = read_table(frame)
    np.testing.assert_allclose(mass(data), [4, 5], rtol=1e-6)
    assert "one dose at time 0" in reading.notes[0]
    data, reading = read_table(frame, covariates=["Dose"])
    assert reading.channels == ("Dose",)
    assert reading.doses == 0
    assert reading.aside == {"Wt": "not among the covariates asked for"}


@pytest.mark.parametrize(
    ("dose", "message"),
    [
        ({"RATE": 10.0}, "row 0: RATE is positive but the amount is 0.*for ever, SS = 1"),
        ({"AMT": 5, "ADDL": 1e9, "II": 1}, "row 0: ADDL asks for 1e\\+09 further doses"),
        ({"AMT": 5, "ADDL": 2.5, "II": 1}, "row 0: ADDL is 2.5"),
        ({"AMT": 5, "ADDL": 2}, "row 0: ADDL asks for further doses, but II"),
        ({"AMT": 5, "SS": 2, "II": 1}, "row 0: SS is 2: 0 and 1 are understood"),
        ({"AMT": 5, "SS": 1}, "row 0: SS = 1 needs the interval II"),
        ({"AMT": 5, "RATE": -3}, "row 0: RATE is -3: a rate cannot be negative"),
    ],
)
def test_regimens_that_make_no_sense_are_refused_by_their_rows(dose, message):
    first = {"ID": 1, "TIME": 0.0, "EVID": 1, "AMT": 0, "RATE": 0, "ADDL": 0, "II": 0, "SS": 0, "DV": np.nan} | dose
    last = dict.fromkeys(first, 0) | {"ID": 1, "TIME": 5.0, "DV": 2.0}
    with pytest.raises(DataError, match=message):
        read_table(pd.DataFrame([first, last]))


# ---- covariates ---------------------------------------------------------------------------------------
def frame_of(**columns):
    head = {"ID": [1, 1, 1, 2, 2, 2], "TIME": [0.0, 4, 8, 0, 4, 8], "DV": [1.0, 2, 3, 4, 5, 6]}
    return pd.DataFrame(head | columns)


def test_numbers_that_belong_to_a_subject_become_channels_and_others_are_left_aside_with_the_reason():
    frame = frame_of(DEPTH=[1, 1, 1, 2, 2, 2], NOISE=[1, 2, 3, 4, 5, 6], SAME=1, WORD=list("aaabbb"), IPRED=0.5)
    _, reading = read_table(frame)
    assert reading.channels == ("DEPTH",)
    assert reading.aside == {
        "NOISE": "varies within a subject",
        "SAME": "the same for all subjects",
        "WORD": "text: name it in covariates to use it",
        "IPRED": "not a property of a subject",
    }


def test_words_become_one_channel_for_every_level_but_the_first():
    _, reading = read_table(frame_of(RACE=list("aaabbb")))
    assert reading.channels == ("RACE = b",)


def test_a_covariate_that_varies_is_refused_unless_it_is_carried_forward():
    frame = frame_of(WT=[70, 70, 72, 80, 80, 80])
    with pytest.raises(DataError, match=r"row 2: WT varies within subject 1 .*time_varying"):
        read_table(frame)
    data, reading = read_table(frame, time_varying=["WT"])
    assert reading.channels == ("WT",)
    t = data.grid.points[:, 0]
    np.testing.assert_array_equal(data.inputs[0, 0], np.where(t < 8, 70, 72))


def test_a_missing_covariate_is_refused_by_subject():
    with pytest.raises(DataError, match="WT of subject 2 is missing"):
        read_table(frame_of(WT=[70, 70, 70, None, None, None]))
    with pytest.raises(DataError, match=r"no column 'WTT'.* Did you mean 'WT'"):
        read_table(frame_of(WT=[70, 70, 70, 80, 80, 80]), covariates=["WTT"])


# ---- limits, kinds, occasions -------------------------------------------------------------------------
def test_values_below_the_limit_are_dropped_or_replaced(write):
    path = write("ID,TIME,DV,BLQ,LLOQ\n1,0,3,0,0.2\n1,1,<0.4,0,0.2\n1,2,0,1,0.2\n2,3,5,0,0.2\n2,4,BLQ,0,0.2\n")
    data, reading = read_table(path)
    assert data.values.tolist() == [[3], [5]]
    assert [(d.why, d.rows) for d in reading.dropped] == [("below the limit of quantification", (3, 4, 6))]
    data, reading = read_table(path, blq="half")
    np.testing.assert_array_equal(data.values, [[3, 0.2, 0.1], [5, 0.1, np.nan]])
    assert "3 values below" in reading.notes[0]
    data, _ = read_table(path, blq="zero")
    np.testing.assert_array_equal(data.values, [[3, 0, 0], [5, 0, np.nan]])


def test_one_analyte_is_chosen_where_there_are_several():
    frame = frame_of(DVID=[1, 2, 1, 1, 2, 1])
    with pytest.raises(DataError, match=r"rows 1 and 4: DVID is '2', but '1' before.*where"):
        read_table(frame)
    data, reading = read_table(frame, where={"DVID": 1})
    assert data.values.tolist() == [[1, 3], [4, 6]]
    assert [(d.why, d.rows) for d in reading.dropped] == [("DVID is not 1", (1, 4))]
    with pytest.raises(DataError, match=r"no observation has DVID = 3; there are 1, 2"):
        read_table(frame, where={"DVID": 3})


def test_occasions_are_units_with_their_own_clock_and_subjects_their_groups():
    frame = pd.DataFrame(
        {"ID": [7] * 4 + [8] * 2, "TIME": [0, 2.0, 100, 103, 0, 1], "OCC": [1, 1, 2, 2, 1, 1],
         "EVID": [1, 0, 4, 0, 1, 0], "AMT": [10, 0, 20, 0, 30, 0], "DV": [0, 5.0, 0, 6, 0, 7]}
    )  # fmt: skip
    with pytest.raises(DataError, match=r'row 2: EVID 3 or 4 .*occasion="OCC"'):
        read_table(frame)
    data, reading = read_table(frame, occasion="OCC")
    assert data.ids.tolist() == ["7/1", "7/2", "8/1"]
    assert data.points[..., 0].tolist() == [[2], [3], [1]]
    np.testing.assert_allclose(mass(data), [10, 20, 30], rtol=1e-6)
    assert data.groups.tolist() == [0, 0, 1]
    assert (reading.subjects, reading.units) == (2, 3)


def test_groups_come_from_a_column():
    data, reading = read_table(frame_of(SITE=list("xxxyyy")), groups="SITE")
    assert data.groups.tolist() == ["x", "y"]
    assert "SITE" not in reading.channels


def test_values_of_another_size_are_remarked_on():
    frame = frame_of(DV=[1.0, 2, 3, 4000, 5000, 6000])
    assert "values of 1 are about 2.5e+03 times off the others'" in read_table(frame)[1].notes[-2]
    assert not any("another unit" in note for note in read_table(frame_of(DV=[1.0, 2, 3, 40, 50, 60]))[1].notes)
    with pytest.raises(DataError, match=r"rows 3, 4 and 5: DV is in ng/L, elsewhere in mg/L \(CONC_UNIT_\)"):
        read_table(frame.assign(CONC_UNIT_=["mg/L"] * 3 + ["ng/L"] * 3))


# ---- CDISC --------------------------------------------------------------------------------------------
def adpc(reference=(0.0,)):
    rows = [
        {"STUDYID": "S", "USUBJID": f"S-{i:03d}", "PARAMCD": p, "AFRLT": r + t, "ARRLT": t, "AVAL": 10.0 * (i + 1) - t,
         "AVALU": "ng/mL", "DOSEA": 100.0 * (i + 1), "DOSEU": "mg", "AGE": 30 + i, "SEX": "FM"[i % 2], "RRLTU": "h"}
        for i in range(4) for p in ("XAN", "MET") for r in reference for t in (0.0, 1.0, 4.0)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_cdisc_names_are_understood():
    data, reading = read_table(adpc(), where={"PARAMCD": "XAN"})
    assert reading.kind == "CDISC"
    assert (reading.subjects, reading.observations, reading.doses) == (4, 12, 4)
    assert reading.measured_in == {"value": "ng/mL", "time": "h", "dose": "mg"}
    assert reading.channels == ("dose rate", "AGE", "SEX = M")
    assert data.ids[0] == "S-000"
    np.testing.assert_allclose(mass(data), [100, 200, 300, 400], rtol=1e-6)


def test_doses_of_cdisc_concentrations_are_at_their_reference_times():
    data, reading = read_table(adpc(reference=(0.0, 24.0)), where={"PARAMCD": "XAN"})
    assert reading.doses == 8
    np.testing.assert_allclose(mass(data), [200, 400, 600, 800], rtol=1e-6)
    t = data.grid.points[:, 0]
    assert np.flatnonzero(data.inputs[0, 0])[-1] >= np.searchsorted(t, 24.0) - 1


def test_population_tables_of_cdisc_have_dose_rows():
    frame = pd.DataFrame(
        {"USUBJID": "A", "AFRLT": [0.0, 1, 5], "EVID": [1, 0, 0], "MDV": [1, 0, 0], "AMT": [50, None, None],
         "AVAL": [None, 3.0, 1], "DOSEA": 50, "WTBL": 70, "PARAMCD": ["DOSE", "XAN", "XAN"]}
    )  # fmt: skip
    data, reading = read_table(frame)
    assert (reading.observations, reading.doses) == (2, 1)
    np.testing.assert_allclose(mass(data), 50, rtol=1e-6)


# ---- glucose ------------------------------------------------------------------------------------------
def sensor(factor=1.0, days=2, patients=3):
    stamps = pd.date_range("2024-03-01", periods=24 * days, freq="h").strftime("%Y-%m-%d %H:%M:%S")
    rng = np.random.default_rng(0)
    return pd.concat(
        [pd.DataFrame({"id": f"p{i}", "time": stamps, "gl": factor * (140 + 20 * rng.normal(size=len(stamps)))})
         for i in range(patients)]
    )  # fmt: skip


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "mg/dL"), (1 / 18, "mmol/L")])
def test_glucose_is_read_by_days_and_its_unit_is_detected_and_said(factor, unit):
    data, reading = read_table(sensor(factor))
    assert reading.kind == "CGM"
    assert reading.measured_in == {"value": unit, "time": "h"}
    assert unit in str(reading)
    assert (len(data), reading.subjects, reading.observations) == (6, 3, 144)
    assert data.ids[0] == "p0/2024-03-01"
    assert data.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.points[0, :3, 0].tolist() == [0, 1, 2]
    assert data.grid.measure == 24


def test_glucose_in_two_units_is_refused():
    mixed = pd.concat([sensor(), sensor(1 / 18, patients=1).assign(id="q")])
    with pytest.raises(DataError, match=r"of subject q \(median 7.*looks like mmol/L.*1 mmol/L is 18 mg/dL"):
        read_table(mixed)


def test_glucose_that_changes_its_unit_on_the_way_is_refused_by_its_rows():
    table = sensor(patients=1, days=4).reset_index(drop=True)
    table.loc[72:, "gl"] /= 18
    with pytest.raises(DataError, match=r"rows 72, 73, .*gl of subject p0 looks like mmol/L there, and like mg/dL"):
        read_table(table)


def test_glucose_is_in_the_unit_that_its_header_says_or_is_refused():
    assert read_table(sensor(1 / 18).rename(columns={"gl": "gl (mmol/l)"}))[1].measured_in["value"] == "mmol/L"
    with pytest.raises(DataError, match=r"said to be in mmol/L, but its median of 1\d\d looks like mg/dL"):
        read_table(sensor().rename(columns={"gl": "gl (mmol/L)"}))


@pytest.mark.parametrize(
    "names",
    [
        {"id": "PatientId", "time": "Timestamp (YYYY-MM-DDThh:mm:ss)", "gl": "Glucose Value (mg/dL)"},
        {"id": "PtID", "time": "DeviceDtTm", "gl": "Sensor Glucose (mg/dL)"},
        {"id": "ID", "time": "Device Timestamp", "gl": "Historic Glucose mg/dL"},
    ],
)
def test_the_names_that_sensors_write_are_understood(names):
    _, reading = read_table(sensor().rename(columns=names))
    assert (reading.kind, reading.units, reading.measured_in["value"]) == ("CGM", 6, "mg/dL")


def test_timestamps_keep_the_clock_on_the_wall_whatever_their_offset():
    plain, stamped = sensor(days=1, patients=1), sensor(days=1, patients=1)
    stamped["time"] += ["+01:00"] * 12 + ["+02:00"] * 12  # summer time began
    want, got = read_table(plain)[0], read_table(stamped)[0]
    np.testing.assert_array_equal(got.points, want.points)
    assert got.ids.tolist() == want.ids.tolist()


def test_a_sensor_beyond_its_range_is_refused_with_what_to_write():
    table = sensor(patients=1).astype({"gl": object}).reset_index(drop=True)
    table.loc[5, "gl"] = "HIGH"
    with pytest.raises(DataError, match=r"row 5: gl is 'HIGH', not a number.*write the value, e\.g\. 400"):
        read_table(table)


# ---- any other table ----------------------------------------------------------------------------------
def long(places=("x",)):
    rng = np.random.default_rng(1)
    n, k = 3, 5
    return pd.DataFrame(
        {"run": np.repeat(["a", "b", "c"], k)} | {p: rng.uniform(0, 1, n * k) for p in places}
        | {"u": rng.normal(size=n * k)}
    )  # fmt: skip


NAMES = {"id": "run", "time": "x", "value": "u"}
UNIT = Grid.uniform(0, 1, 9)


def test_inputs_may_be_an_array_in_the_order_of_first_appearance():
    inputs = np.random.default_rng(0).normal(size=(3, 2, 9))
    data = OperatorData.from_frame(long(), inputs=inputs, grid=UNIT, **NAMES)
    np.testing.assert_allclose(data.inputs, inputs, rtol=1e-6)
    assert data.counts.tolist() == [5, 5, 5]
    swapped = {"c": inputs[2], "a": inputs[0], "b": inputs[1]}
    np.testing.assert_array_equal(
        OperatorData.from_frame(long(), inputs=swapped, grid=UNIT, **NAMES).inputs, data.inputs
    )
    with pytest.raises(DataError, match="inputs hold 2 units, the observations 3"):
        OperatorData.from_frame(long(), inputs=inputs[:2], grid=UNIT, **NAMES)
    with pytest.raises(DataError, match="pass grid="):
        OperatorData.from_frame(long(), inputs=inputs, **NAMES)


def test_points_of_a_plane_come_from_two_columns():
    plane = Grid.product(UNIT, Grid.uniform(0, 1, 5))
    names = NAMES | {"time": ("x", "y")}
    data = OperatorData.from_frame(long(("x", "y")), inputs=np.zeros((3, 1, 9, 5)), grid=plane, **names)
    assert data.points.shape == (3, 5, 2)
    with pytest.raises(DataError, match="inputs must be given"):
        OperatorData.from_frame(long(("x", "y")), grid=plane, **names)


def test_inputs_may_be_constants_of_units():
    wide = pd.DataFrame({"run": ["b", "a", "c", "d"], "k": [2.0, 1.0, 3.0, 4.0]})
    data, reading = read_table(long(), inputs=wide, grid=UNIT, **NAMES)
    assert data.ids.tolist() == ["b", "a", "c", "d"]
    assert data.counts.tolist() == [5, 5, 5, 0]
    np.testing.assert_array_equal(data.inputs, np.repeat([[[2.0]], [[1.0]], [[3.0]], [[4.0]]], 9, axis=2))
    assert "1 of 4 units have no observation" in reading.notes[0]
    # a unit's observations stay its own when the order changes
    want = long().query("run == 'a'").sort_values("x")["u"]
    np.testing.assert_array_equal(data.values[1], want)
    with pytest.raises(DataError, match="inputs have no row for 'c'"):
        read_table(long(), inputs=wide[:2], grid=UNIT, **NAMES)


def test_inputs_may_be_functions_in_a_long_table():
    x = np.linspace(0, 1, 5)
    table = pd.concat([pd.DataFrame({"run": r, "x": x, "force": s * x}) for r, s in (("a", 1), ("b", 2), ("c", 3))])
    data, reading = read_table(long(), inputs=table, grid=UNIT, **NAMES)
    assert reading.channels == ("force",)
    # a straight line is interpolated without error, up to float32
    np.testing.assert_allclose(data.inputs[:, 0], np.outer([1, 2, 3], UNIT.points[:, 0]), rtol=1e-6, atol=1e-7)


def test_a_record_is_plain_and_fits_80_columns(write):
    import json

    _, reading = read_table(write(NONMEM))
    assert max(map(len, str(reading).splitlines()[1:])) <= 80
    plain = json.loads(json.dumps(reading.to_dict()))
    assert plain["observations"] == 4
    assert plain["dropped"][1] == {"why": "MDV = 1", "count": 1, "lines": [6]}
