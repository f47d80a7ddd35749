"""Observations: every way to write them means the same, and everything impossible is refused by name."""

import numpy as np
import pandas as pd
import pytest
import torch

from dope.data import DataError, Design, Grid, OperatorData
from helpers import GRIDS_1D, GRIDS_2D, data

GRID = Grid.uniform(0, 1, 5)
PLANE = Grid.product(Grid.uniform(0, 1, 5), Grid.cells(0, 2, 4))
NAN = np.nan

POINTS = np.array([[0.1, 0.5, 0.9], [0.25, NAN, NAN], [NAN, NAN, NAN]])
VALUES = np.array([[1.0, 2.0, 3.0], [4.0, NAN, NAN], [NAN, NAN, NAN]])
INPUTS = np.arange(30.0).reshape(3, 2, 5)


def build(**changed):
    """Valid data of 3 units named a, b, c, with some arguments replaced."""
    arguments = {"inputs": INPUTS, "points": POINTS, "values": VALUES, "grid": GRID, "ids": ["a", "b", "c"]} | changed
    return OperatorData(**arguments)


def same(a, b):
    np.testing.assert_array_equal(a.inputs, b.inputs)
    np.testing.assert_array_equal(a.points, b.points)
    np.testing.assert_array_equal(a.values, b.values)


# ---- what is accepted ----------------------------------------------------------------------------------
def test_shapes_and_counts():
    d = build()
    assert (len(d), d.channels) == (3, 2)
    assert (d.inputs.shape, d.points.shape, d.values.shape) == ((3, 2, 5), (3, 3, 1), (3, 3))
    np.testing.assert_array_equal(d.counts, [3, 1, 0])
    np.testing.assert_array_equal(d.observed, [[1, 1, 1], [1, 0, 0], [0, 0, 0]])
    assert "3 units, 2 input channel(s)" in repr(d)
    assert "4 observations, 0-3 a unit" in repr(d)


@pytest.mark.parametrize(
    ("points", "values"),
    [
        ([[0.1, 0.5, 0.9], [0.25], []], [[1, 2, 3], [4], []]),
        ([np.array([0.1, 0.5, 0.9]), (0.25,), np.array([])], [np.array([1, 2, 3]), (4.0,), ()]),
        ([[[0.1], [0.5], [0.9]], [[0.25]], []], [[1, 2, 3], [4], []]),
        (np.array([np.array([0.1, 0.5, 0.9]), np.array([0.25]), np.array([])], dtype=object), [[1, 2, 3], [4], []]),
        (POINTS[..., None], VALUES),
        (pd.DataFrame(POINTS), pd.DataFrame(VALUES)),
        (torch.as_tensor(POINTS), torch.as_tensor(VALUES)),
        (POINTS.tolist(), VALUES.tolist()),
        ([[0.1, 0.5, 0.9], [0.25], []], VALUES),
    ],
    ids=["lists", "arrays", "columns", "object array", "last axis", "frames", "tensors", "nested lists", "mixed"],
)
def test_every_way_to_write_observations_means_the_same(points, values):
    same(build(points=points, values=values), build())


def test_ragged_points_of_a_plane_equal_padded_ones():
    points = [[[0.1, 1.5], [0.2, 0.3]], [], [[0.5, 1.0]]]
    padded = np.full((3, 2, 2), NAN)
    padded[0], padded[2, 0] = points[0], points[2][0]
    inputs = np.zeros((3, 1, 5, 4))
    ragged = OperatorData(inputs, points, [[1, 2], [], [3]], grid=PLANE)
    same(ragged, OperatorData(inputs, padded, [[1, 2], [NAN, NAN], [3, NAN]], grid=PLANE))
    np.testing.assert_array_equal(ragged.counts, [2, 0, 1])


def test_a_value_that_is_missing_makes_its_point_unobserved():
    d = build(points=np.tile([0.1, 0.5, 7.0], (3, 1)), values=np.array([[1, 2, NAN], [NAN, 3, NAN], [4, NAN, NAN]]))
    np.testing.assert_array_equal(d.counts, [2, 1, 1])
    assert np.isnan(d.points[~d.observed]).all()


def test_one_channel_needs_no_channel_axis():
    assert build(inputs=INPUTS[:, 0]).inputs.shape == (3, 1, 5)


def test_inputs_are_float32_and_observations_float64():
    d = build()
    assert (d.inputs.dtype, d.points.dtype, d.values.dtype) == (np.float32, np.float64, np.float64)


def test_data_do_not_follow_later_changes_of_the_users_arrays():
    inputs, points, values = INPUTS.astype(np.float32), POINTS.copy(), VALUES.copy()
    d = build(inputs=inputs, points=points, values=values)
    inputs[:], points[:], values[:] = 0, 0, 0
    same(d, build())


def test_points_at_the_end_of_the_domain_up_to_rounding_are_moved_into_it():
    d = build(points=np.where(np.isnan(POINTS), NAN, 1 + 1e-12))
    assert np.nanmax(d.points) == 1.0


@pytest.mark.parametrize("grid", (GRIDS_1D | GRIDS_2D).values(), ids=GRIDS_1D | GRIDS_2D)
def test_the_stencil_interpolates_observed_points_and_ignores_padding(grid):
    whole = data(grid)
    gaps = np.where(np.random.default_rng(0).random(whole.values.shape) < 0.5, NAN, whole.values)
    d = OperatorData(whole.inputs, whole.points, gaps, grid=grid)
    field = np.random.default_rng(1).normal(size=(len(d), *grid.shape))
    at_points = d.stencil(field)
    np.testing.assert_allclose(at_points[d.observed], whole.stencil(field)[d.observed], rtol=1e-12)
    np.testing.assert_array_equal(at_points[~d.observed], 0)


def test_take_keeps_everything_of_the_units_taken():
    design = Design(probability=np.tile([0.1, 0.2, 0.4, 0.2, 0.1], (3, 1)))
    d = build(groups=["x", "y", "x"], design=design)
    part = d.take([2, 0])
    same(part, build(inputs=INPUTS[[2, 0]], points=POINTS[[2, 0]], values=VALUES[[2, 0]], ids=["c", "a"]))
    assert part.ids.tolist() == ["c", "a"]
    assert part.groups.tolist() == ["x", "x"]
    assert part.design.probability.shape == (2, 5)
    assert part.grid is d.grid
    same(d.take(np.array([True, False, True])), d.take([0, 2]))


def test_take_may_leave_units_without_observations():
    assert build().take([2]).counts.tolist() == [0]


@pytest.mark.parametrize("units", [[0, 0], [0, -3], np.zeros(3, bool)])
def test_take_refuses_to_count_a_unit_twice_or_take_none(units):
    with pytest.raises(DataError, match="each unit once"):
        build().take(units)


def test_labels_of_any_type_are_kept():
    days = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-02"]).to_numpy()
    d = build(groups=days, ids=[10, 30, 20])
    assert d.ids.tolist() == [10, 30, 20]
    assert len(np.unique(d.groups)) == 2
    assert build(ids=None).ids.tolist() == [0, 1, 2]
    assert build(groups=pd.Series(["x", "y", "x"], dtype="category")).groups.tolist() == ["x", "y", "x"]


def test_probabilities_are_accepted_as_a_design():
    d = build(design=np.full((3, 5), 0.2))
    np.testing.assert_array_equal(d.design.probability, 0.2)


# ---- what is refused -----------------------------------------------------------------------------------
def bad_values(i, k, value):
    out = VALUES.copy()
    out[i, k] = value
    return out


def bad_points(i, k, value):
    out = POINTS.copy()
    out[i, k] = value
    return out


def bad_inputs(value):
    out = INPUTS.copy()
    out[1, 1, 3] = value
    return out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": 5}, r"grid must be a dope.Grid, got int: e.g. dope.Grid.uniform"),
        ({"inputs": INPUTS[..., :4]}, r"inputs have shape \(3, 2, 4\), but the grid needs \(n, C, 5\).*second axis"),
        ({"inputs": np.moveaxis(INPUTS, 1, 2)}, "move channels to the second axis"),
        ({"inputs": INPUTS[:0]}, "at least one unit and one channel"),
        ({"inputs": [[1, 2], [3]]}, r"real numbers in one array of shape \(n, C, 5\)"),
        ({"inputs": np.array([["x"] * 5] * 3)}, "real numbers"),
        ({"inputs": INPUTS + 1j}, "real numbers .*complex128"),
        ({"inputs": torch.as_tensor(INPUTS).requires_grad_()}, r"detach"),
        ({"inputs": bad_inputs(NAN)}, r"inputs of unit b: channel 1 is not finite at node \(3,\) \(1 unit.*fill or"),
        ({"inputs": bad_inputs(np.inf)}, "inputs of unit b"),
        ({"points": POINTS[:2]}, "points hold 2 units, inputs hold 3 units: give one row a unit"),
        ({"values": None}, "values hold NoneType, inputs hold 3 units"),
        ({"points": POINTS[:, :2]}, r"points \(3, 2\) and values \(3, 3\) differ.*pad both with NaN"),
        ({"points": np.zeros((3, 3, 2))}, r"points have shape \(3, 3, 2\), expected \(n, K\)"),
        ({"values": VALUES[..., None]}, r"values have shape \(3, 3, 1\), expected \(n, K\)"),
        (
            {"points": bad_points(1, 0, NAN)},
            r"unit b: value 0 \(4\) has a point that is not finite.*set the value to NaN",
        ),
        (
            {"points": bad_points(0, 2, 1.5)},
            r"unit a: point 2 at \(1.5\) lies outside the domain \[0, 1\].*widen the grid",
        ),
        ({"values": bad_values(1, 0, np.inf)}, "unit b: value 0 is infinite: correct it, or use NaN"),
        ({"values": VALUES * NAN}, "no unit has an observation"),
        (
            {"points": [[0.1, 0.5], [0.2], []], "values": [[1, 2], [3, 4], []]},
            r"unit b has 1 point\(s\) but 2 value\(s\)",
        ),
        ({"points": [[0.1, 0.5], [0.2, 0.3], []], "values": [[1, 2], [3], []]}, "unit b .* use NaN"),
        ({"points": [[0.1], ["noon"], []], "values": [[1], [2], []]}, "points of unit b are not numbers"),
        ({"points": np.array([["noon"]] * 3), "values": VALUES[:, :1]}, "points of unit a are not numbers"),
        (
            {"points": [0.1, [0.2], []], "values": [[1], [2], []]},
            r"points of unit a have shape \(\), expected \(K_i,\)",
        ),
        ({"ids": ["a", "b", "a"]}, "ids must be unique, but 'a' names the units at positions 0 and 2: merge.*groups="),
        ({"ids": ["a", "b"]}, r"ids has shape \(2,\), expected \(3,\): one label a unit"),
        ({"groups": ["x", "y"]}, r"groups has shape \(2,\), expected \(3,\)"),
        ({"groups": [1.0, NAN, 2.0]}, "groups: the unit at position 1 has no label"),
        ({"groups": np.array(["x", "y", None], dtype=object)}, "groups: the unit at position 2 has no label"),
        ({"groups": pd.array(["x", pd.NA, "y"], dtype="string")}, "groups: the unit at position 1 has no label"),
        ({"design": np.full((3, 4), 0.25)}, r"design has shape \(3, 4\), expected \(n, \*grid\) = \(3, 5\)"),
        ({"design": np.full((3, 5), 0.1)}, "position 0 sums to 0.5 .*divide"),
    ],
)
def test_bad_input_is_refused_by_name_with_what_to_do(changed, message):
    with pytest.raises(DataError, match=message):
        build(**changed)


def test_points_of_a_plane_need_two_coordinates():
    inputs, values = np.zeros((2, 1, 5, 4)), [[1], [2]]
    with pytest.raises(DataError, match=r"points of unit 1 have shape \(1, 3\), expected \(K_i, 2\)"):
        OperatorData(inputs, [[[0.1, 0.2]], [[0.1, 0.2, 0.3]]], values, grid=PLANE)
    with pytest.raises(DataError, match=r"points have shape \(2, 1\), expected \(n, K, 2\)"):
        OperatorData(inputs, np.zeros((2, 1)), np.zeros((2, 1)), grid=PLANE)
    with pytest.raises(DataError, match=r"unit 1: point 0 at \(0.1, 2.5\) lies outside the domain \[0, 1\] x \[0, 2\]"):
        OperatorData(inputs, [[[0.1, 0.2]], [[0.1, 2.5]]], values, grid=PLANE)
