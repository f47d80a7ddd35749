"""Units of the data in the words of a report."""

import pytest

from dope.reports.measured import Measured

READ = {"columns": {"value": "DV (mg/L)", "time": "TIME"}, "measured_in": {"value": "mg/L", "time": "h"}}


@pytest.mark.parametrize(
    ("units", "words"), [("u", "mg/L"), ("u·x", "mg/L·h"), ("u²", "(mg/L)²"), ("1", "1"), ("1/x", "1/h"), ("%", "%")]
)
def test_a_functionals_units_are_those_of_the_data(units, words):
    assert Measured.of({"data": READ}).unit(units) == words


def test_what_is_not_known_keeps_its_letter():
    assert Measured.of({}).unit("u·x") == "u·x"
    assert Measured.of({"data": {"measured_in": {"time": "h"}}}).unit("u·x") == "u·h"


def test_axes_are_labelled_with_column_and_unit():
    found = Measured.of({"data": READ})
    assert (found.value_label, found.coordinate_label) == ("DV (mg/L)", "TIME (h)")
    plane = {"columns": {"value": "t2m", "grid": "lat, lon"}, "measured_in": {"value": "K", "lat": "degrees_north"}}
    assert Measured.of({"data": plane}).coordinate_label is None
    line = {"columns": {"value": "t2m", "grid": "z"}, "measured_in": {"z": "m"}}
    assert Measured.of({"data": line}).coordinate_label == "z (m)"
