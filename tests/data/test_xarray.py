"""Datasets of xarray: dims as the grid, attributes as units."""

import numpy as np
import pytest

from dope.data import DataError, Grid, OperatorData, read_xarray

xr = pytest.importorskip("xarray")

N, T = 4, 25


def gridded(**attrs):
    """Observations on the nodes, NaN where there is none."""
    rng = np.random.default_rng(0)
    seen = rng.uniform(size=(N, T)) < 0.3
    seen[:, 0] = True
    y = np.where(seen, rng.normal(size=(N, T)), np.nan)
    return xr.Dataset(
        {
            "values": (("site", "time"), y, {"units": "K"}),
            "forcing": (("site", "time"), rng.normal(size=(N, T)), {"units": "W/m2"}),
            "height": (("site",), np.arange(N) * 10.0),
            "season": (("time",), np.sin(np.arange(T))),
            "name": (("site",), list("abcd")),
        },
        coords={"time": ("time", np.linspace(0, 6, T), {"units": "days"}), "site": list("wxyz")},
        attrs=attrs,
    )


def test_values_on_the_grid_are_observations_where_they_are_not_missing():
    ds = gridded()
    data, reading = read_xarray(ds)
    assert data.grid.same_as(Grid.uniform(0, 6, T))
    assert data.ids.tolist() == list("wxyz")
    assert reading.channels == ("forcing", "height", "season")
    assert reading.measured_in == {"value": "K", "time": "days", "forcing": "W/m2"}
    assert reading.aside == {"name": "not over units or the grid, or not a number"}
    y = ds["values"].values
    assert reading.observations == np.isfinite(y).sum()
    row = np.isfinite(y[2])
    np.testing.assert_array_equal(data.points[2, : row.sum(), 0], np.linspace(0, 6, T)[row])
    np.testing.assert_array_equal(data.values[2, : row.sum()], y[2, row])
    np.testing.assert_allclose(data.inputs[:, 0], ds["forcing"].values, rtol=1e-6)  # float32
    np.testing.assert_array_equal(data.inputs[1, 1], 10)
    np.testing.assert_allclose(data.inputs[3, 2], np.sin(np.arange(T)), rtol=1e-6, atol=1e-7)


def test_values_off_the_grid_have_their_points_beside_them():
    rng = np.random.default_rng(1)
    at = rng.uniform(0, 6, (N, 5))
    y = rng.normal(size=(N, 5))
    ds = gridded().drop_vars("values")
    ds["y"] = (("site", "k"), y)
    ds["when"] = (("site", "k"), at)
    data = OperatorData.from_xarray(ds, values="y", points=["when"], unit="site")
    np.testing.assert_array_equal(data.values, y)
    np.testing.assert_array_equal(data.points[..., 0], at)


def test_two_dims_make_a_plane_whatever_their_order():
    rng = np.random.default_rng(2)
    u = rng.normal(size=(5, N, 6))
    ds = xr.Dataset(
        {"y": (("lat", "run", "lon"), u), "a": (("run", "lon", "lat"), np.moveaxis(u, 0, -1))},
        coords={"lat": np.linspace(-1, 1, 5), "lon": [0.0, 1, 2, 4, 8, 16]},
    )
    data = OperatorData.from_xarray(ds)
    assert data.grid.shape == (5, 6)
    assert [a.kind for a in data.grid.axes] == ["uniform", "nodes"]
    np.testing.assert_allclose(data.inputs[:, 0], np.moveaxis(u, 1, 0), rtol=1e-6)
    # every node is observed, and the input is the field itself: the two agree through the stencil
    np.testing.assert_allclose(data.stencil(data.inputs[:, 0].astype(float)), data.values, rtol=1e-6)


def test_dates_become_hours_and_are_said_to_be():
    ds = gridded().assign_coords(time=np.datetime64("2024-01-01T12") + np.arange(T) * np.timedelta64(30, "m"))
    data, reading = read_xarray(ds)
    assert data.grid.same_as(Grid.uniform(0, 12, T))
    assert reading.measured_in["time"] == "h"


def test_dates_of_points_are_counted_from_the_beginning_of_the_axis():
    start = np.datetime64("2024-01-01T00")
    ds = gridded().drop_vars("values").assign_coords(time=start + np.arange(T) * np.timedelta64(1, "h"))
    ds["y"] = (("site", "k"), np.ones((N, 2)))
    ds["when"] = (("site", "k"), np.tile(start + np.array([3, 7]) * np.timedelta64(1, "h"), (N, 1)))
    data = OperatorData.from_xarray(ds, values="y", points=["when"], unit="site")
    np.testing.assert_array_equal(data.points[..., 0], np.tile([3, 7], (N, 1)))


def test_an_axis_that_falls_is_turned_round():
    ds = gridded()
    want, got = OperatorData.from_xarray(ds), OperatorData.from_xarray(ds.isel(time=slice(None, None, -1)))
    np.testing.assert_array_equal(got.inputs, want.inputs)
    np.testing.assert_array_equal(got.points, want.points)
    np.testing.assert_array_equal(got.values, want.values)


def stations():
    """A field over latitude (falling, as in many stores) and longitude, and three places where it was observed."""
    lat, lon = np.linspace(60, 50, 6), np.linspace(0, 3, 4)
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, N))
    field = a[:, None, None] * lat[:, None] + b[:, None, None] * lon
    where = np.array([51.0, 54, 59]), np.array([0.5, 2.5, 1])
    return xr.Dataset(
        {"t2m": (("member", "lat", "lon"), field),
         "obs": (("member", "station"), np.outer(a, where[0]) + np.outer(b, where[1]))},
        coords={"lat": lat, "lon": lon, "station_lon": ("station", where[1]), "station_lat": ("station", where[0])},
    )  # fmt: skip


def test_places_that_all_units_share_are_found_and_go_with_the_axis_of_their_name():
    data, reading = read_xarray(stations(), values="obs")
    assert reading.columns["points"] == "station_lat, station_lon"
    # the field is linear in both coordinates: interpolating it at the places gives the observations
    predicted = data.stencil(data.inputs[:, 0].astype(float))
    np.testing.assert_allclose(predicted, data.values, rtol=1e-5)  # float32 inputs


def test_labels_tell_the_dim_of_units_wherever_it_stands():
    ds = gridded().transpose("time", "site")
    np.testing.assert_array_equal(OperatorData.from_xarray(ds).inputs, OperatorData.from_xarray(gridded()).inputs)
    with pytest.raises(DataError, match=r"coordinates of 'site' are 'w' and the like.*unit="):
        read_xarray(gridded(), unit="time")
    ds = gridded().assign_coords(time=np.r_[0.0, 0, np.arange(2, T)])
    with pytest.raises(DataError, match=r"'time' must increase, but number 1 \(0\) does not exceed number 0"):
        read_xarray(ds)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_stores_are_read_by_their_path(tmp_path, suffix):
    ds = gridded().drop_vars("name")
    if suffix == ".nc":
        pytest.importorskip("h5netcdf")
        ds.to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    else:
        pytest.importorskip("zarr")
        ds.to_zarr(tmp_path / "s.zarr")
    got, reading = read_xarray(tmp_path / f"s{suffix}")
    np.testing.assert_array_equal(got.inputs, OperatorData.from_xarray(ds).inputs)
    assert reading.measured_in["value"] == "K"


def test_what_cannot_be_told_is_asked_for(tmp_path):
    ds = gridded()
    with pytest.raises(DataError, match=r'which variable holds the observations.*values="'):
        read_xarray(ds.rename(values="temperature"))
    with pytest.raises(DataError, match="no dim 'patient' among"):
        read_xarray(ds, unit="patient")
    with pytest.raises(DataError, match="no variable 'force' among"):
        read_xarray(ds, inputs=["force"])
    with pytest.raises(DataError, match="'time' has no coordinates"):
        read_xarray(ds.drop_vars("time"))
    with pytest.raises(DataError, match="there is no such file"):
        read_xarray(tmp_path / "none.nc")
    (tmp_path / "cut.nc").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(DataError, match=r"cut.nc cannot be read"):
        read_xarray(tmp_path / "cut.nc")
