"""Labelled arrays: the dims of an xarray Dataset as the grid, its attributes as units."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.data.errors import DataError
from dope.data.grid import Grid
from dope.data.operator_data import OperatorData
from dope.data.tables.reading import Reading

if TYPE_CHECKING:
    import xarray as xr

_UNITS = ("unit", "id", "subject", "patient", "sample", "run", "member", "case", "n")
_VALUES = ("values", "value", "observations", "observed", "dv", "y")
# Nodes whose steps differ by less than this share of a step are equally spaced: coordinates are often float32.
_EVEN = 1e-4


def read_xarray(
    ds: xr.Dataset | str | Path,
    *,
    values: str | None = None,
    inputs: Sequence[str] | None = None,
    points: Sequence[str] | None = None,
    unit: str | None = None,
    groups: str | None = None,
    grid: Grid | None = None,
) -> tuple[OperatorData, Reading]:
    """Read an xarray Dataset, or the path of a NetCDF or Zarr store.

    Parameters
    ----------
    ds : one dim counts units, the grid's dims carry coordinates.
    values : the variable of observations. Over (unit, *grid dims), NaN where nothing was observed; or over (unit, k)
        with its `points` beside it.
    inputs : variables over (unit, *grid dims), (unit,) or the grid dims alone; by default all that are of such a form.
    points : variables over (unit, k), one for each grid dim; not needed where values lie on the grid.
    unit : the dim of units.
    groups : a variable over (unit,) of labels of units that are not independent of one another.
    grid : in place of the coordinates: where axes are periodic or cells, which coordinates cannot say.
    """
    source = str(ds) if isinstance(ds, (str, Path)) else "the dataset"
    if isinstance(ds, (str, Path)):
        ds = _opened(Path(ds))
    if not hasattr(ds, "data_vars"):
        raise DataError(f"from_xarray reads an xarray.Dataset or a path, not a {type(ds).__name__}.")
    values = _variable(ds, values, _VALUES, "the observations", "values", source)
    unit = _unit_dim(ds, unit, values, source)
    observed = ds[values]
    if unit not in observed.dims:
        raise DataError(f"{source}: {values} has dims {observed.dims}, none of which is the dim of units {unit!r}.")
    beside = _points(ds, points, observed, unit, source)
    dims = _grid_dims(ds, observed, unit, beside)
    if not dims:
        raise DataError(f"{source}: there is no dim with coordinates beside the dim of units, so there is no grid.")
    ds = _increasing(ds, dims)
    observed = ds[values]
    made = grid or _grid(ds, dims, source)
    if made.shape != tuple(ds.sizes[d] for d in dims):
        raise DataError(f"{source}: the grid has shape {made.shape}, the dims {dims} have other sizes.")
    names = _inputs(ds, inputs, unit, dims, {values, groups, *beside}, source)
    n = ds.sizes[unit]
    shape = (n, *made.shape)
    array = np.empty((n, len(names), *made.shape), dtype=np.float32)
    for c, name in enumerate(names):
        array[:, c] = _spread(ds[name], unit, dims, shape, source)
    at, y = _observations(ds, observed, unit, dims, beside, made, source)
    ids = ds[unit].values if unit in ds.coords else None
    data = OperatorData(
        array,
        at,
        y,
        grid=made,
        groups=None if groups is None else ds[_there(ds, groups, source)].values,
        ids=ids,
    )
    said = {"value": observed.attrs.get("units")} | {d: _unit_of(ds[d]) for d in dims if d in ds.coords}
    said |= {name: ds[name].attrs.get("units") for name in names}
    reading = Reading(
        source=source,
        kind="xarray",
        columns={"value": values, "unit": unit, "grid": ", ".join(dims)}
        | ({"points": ", ".join(beside)} if beside else {})
        | ({"groups": groups} if groups else {}),
        measured_in={what: str(u) for what, u in said.items() if u},
        rows=0,
        subjects=n if data.groups is None else len(np.unique(data.groups)),
        units=n,
        observations=int(data.counts.sum()),
        doses=0,
        channels=tuple(names),
        grid=repr(made),
        aside={str(v): "not over units or the grid, or not a number" for v in ds.data_vars
               if v not in (*names, values, groups, *beside)},
    )  # fmt: skip
    return data, reading


def _opened(path: Path) -> xr.Dataset:
    try:
        import xarray as xr
    except ImportError:
        raise DataError(f"{path}: reading NetCDF and Zarr needs xarray: pip install 'dope[xarray]'.") from None
    if not path.exists():
        raise DataError(f"{path}: there is no such file.")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{path} is empty (0 bytes).")
    try:
        return xr.open_zarr(path) if path.suffix == ".zarr" or path.is_dir() else xr.open_dataset(path)
    except ImportError as error:
        raise DataError(f"{path}: a package is missing to read it ({error}).") from None
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} cannot be read ({str(error).splitlines()[0]}): is it whole, and NetCDF?") from None


# ---- which is which -----------------------------------------------------------------------------------
def _there(ds: xr.Dataset, name: str, source: str) -> str:
    if name not in ds.variables:
        known = ", ".join(str(v) for v in ds.variables)
        raise DataError(f"{source}: there is no variable {name!r} among {known}.")
    return name


def _variable(ds: xr.Dataset, name: str | None, usual: Sequence[str], words: str, option: str, source: str) -> str:
    if name is not None:
        return _there(ds, name, source)
    found = [str(v) for v in ds.data_vars if str(v).lower() in usual]
    if len(found) != 1:
        known = ", ".join(str(v) for v in ds.data_vars) or "nothing"
        raise DataError(f'{source}: which variable holds {words}? There are {known}: pass {option}="...".')
    return found[0]


def _unit_dim(ds: xr.Dataset, unit: str | None, values: str, source: str) -> str:
    if unit is not None:
        if unit not in ds.dims:
            raise DataError(f"{source}: there is no dim {unit!r} among {', '.join(map(str, ds.dims))}.")
        return unit
    dims = [str(d) for d in ds[values].dims]
    if not dims:
        raise DataError(f"{source}: {values} is a single number: observations have a dim of units.")
    named = [d for d in dims if d in ds.coords and ds[d].dtype.kind not in "iufmM"]  # labels are no grid
    return next((d for d in dims if d.lower() in _UNITS), [*named, *dims][0])


def _points(ds: xr.Dataset, points: Sequence[str] | None, observed: Any, unit: str, source: str) -> list[str]:
    """Variables that say where values were taken: those given, else coordinates over the two dims of the values, or
    over the dim that counts them where all units were observed at the same places."""
    if points is not None:
        return [_there(ds, p, source) for p in ([points] if isinstance(points, str) else points)]
    if observed.ndim != 2:
        return []
    (count,) = (d for d in observed.dims if d != unit)
    numbers = [str(c) for c in observed.coords if c not in observed.dims and ds[c].dtype.kind in "iufmM"]
    found = [c for c in numbers if set(ds[c].dims) == set(observed.dims)]
    if not found and count not in ds.coords:
        found = [c for c in numbers if ds[c].dims == (count,)]
    return _as_dims(found, [str(d) for d in ds.dims if d not in observed.dims and d in ds.coords])


def _as_dims(points: list[str], dims: list[str]) -> list[str]:
    """Points in the order of the grid's dims, where each carries the name of one: station_lon goes with lon."""
    order = [[p for p in points if d.lower() in p.lower()] for d in dims]
    return [found[0] for found in order] if all(len(found) == 1 for found in order) and order else points


def _grid_dims(ds: xr.Dataset, observed: Any, unit: str, beside: list[str]) -> tuple[str, ...]:
    if not beside:
        return tuple(str(d) for d in observed.dims if d != unit)
    counted = set(observed.dims)
    return tuple(str(d) for d in ds.dims if d not in counted and d in ds.coords)


def _grid(ds: xr.Dataset, dims: tuple[str, ...], source: str) -> Grid:
    axes = [_axis(ds, d, source) for d in dims]
    return Grid.product(*axes) if len(axes) > 1 else axes[0]


def _increasing(ds: xr.Dataset, dims: tuple[str, ...]) -> xr.Dataset:
    """Axes that fall from end to end, as latitudes often do, turned round."""
    for dim in dims:
        if dim in ds.coords and ds[dim].dtype.kind in "iufmM" and len(ds[dim]) > 1:
            x = _numbers(ds[dim].values)
            if (np.diff(x) < 0).all():
                ds = ds.isel({dim: slice(None, None, -1)})
    return ds


def _unit_of(coordinate: Any) -> str | None:
    """What a coordinate is measured in: dates and durations are read in hours."""
    return "h" if coordinate.dtype.kind in "mM" else coordinate.attrs.get("units")


def _axis(ds: xr.Dataset, dim: str, source: str) -> Grid:
    if dim not in ds.coords:
        raise DataError(f"{source}: the dim {dim!r} has no coordinates: assign them, or pass grid=.")
    if ds[dim].dtype.kind not in "iufmM":
        raise DataError(
            f"{source}: the coordinates of {dim!r} are {str(ds[dim].values[0])!r} and the like, not numbers or dates: "
            'is it the dim of units? Then pass unit="...".'
        )
    x = _numbers(ds[dim].values)
    steps = np.diff(x)
    if not (np.isfinite(x).all() and (steps > 0).all()):
        at = int(np.argmin(np.isfinite(x[1:]) & (steps > 0))) + 1
        raise DataError(
            f"{source}: the coordinates of {dim!r} must increase, but number {at} ({x[at]:g}) does not exceed number "
            f"{at - 1} ({x[at - 1]:g}): sort them (ds.sortby({dim!r})) and drop duplicates."
        )
    if len(x) > 1 and (steps > 0).all() and np.allclose(steps, steps.mean(), rtol=_EVEN, atol=0):
        return Grid.uniform(x[0], x[-1], len(x))
    return Grid.nodes(x)


def _numbers(x: np.ndarray) -> np.ndarray:
    """Coordinates as numbers; times in hours, dates in hours since the first."""
    if x.dtype.kind == "M":
        x = x - x.reshape(-1)[0]
    if x.dtype.kind == "m":
        return np.where(np.isnat(x), np.nan, x / np.timedelta64(1, "h"))
    return x.astype(np.float64)


def _since(places: np.ndarray, axis: Any) -> np.ndarray:
    """Places as numbers on their axis: dates in hours since the first of the axis."""
    if places.dtype.kind == "M":
        places = places - axis.values[0]
    return _numbers(places)


def _inputs(
    ds: xr.Dataset, inputs: Sequence[str] | None, unit: str, dims: tuple[str, ...], taken: set, source: str
) -> list[str]:
    if inputs is not None:
        return [_there(ds, name, source) for name in ([inputs] if isinstance(inputs, str) else inputs)]
    fit = [{unit, *dims}, {unit}, set(dims)]
    names = [str(v) for v in ds.data_vars if v not in taken and set(ds[v].dims) in fit and ds[v].dtype.kind in "iufb"]
    if not names:
        raise DataError(
            f"{source}: no variable over ({unit}, {', '.join(dims)}) is left to be the input: pass inputs=[...]."
        )
    return names


def _spread(variable: Any, unit: str, dims: tuple[str, ...], shape: tuple[int, ...], source: str) -> np.ndarray:
    """A variable over some of (unit, *dims) as an array over all of them."""
    order = [d for d in (unit, *dims) if d in variable.dims]
    if set(order) != set(variable.dims):
        raise DataError(
            f"{source}: the input {variable.name} has dims {variable.dims}, not ({unit}, {', '.join(dims)})."
        )
    array = variable.transpose(*order).values
    full = array.reshape([s if d in order else 1 for d, s in zip((unit, *dims), shape, strict=True)])
    return np.broadcast_to(full, shape)


def _observations(
    ds: xr.Dataset, observed: Any, unit: str, dims: tuple[str, ...], beside: list[str], grid: Grid, source: str
) -> tuple[Any, Any]:
    if beside:
        if len(beside) != grid.ndim:
            raise DataError(
                f"{source}: the grid has {grid.ndim} dims, points are {', '.join(beside)}: one for each dim."
            )
        count = next(d for d in observed.dims if d != unit)
        places = [ds[p].broadcast_like(observed).transpose(unit, count).values for p in beside]
        at = np.stack([_since(p, ds[d]) for p, d in zip(places, dims, strict=True)], axis=-1)
        return at, observed.transpose(unit, count).values
    y = observed.transpose(unit, *dims).values.reshape(ds.sizes[unit], -1)
    nodes = grid.points.reshape(-1, grid.ndim)
    seen = np.isfinite(y)
    return [nodes[row] for row in seen], [v[row] for v, row in zip(y, seen, strict=True)]
