"""An `OperatorData` in one file: HDF5, whose inputs stay on disk until they are used, or npz."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from dope.data.design import Design
from dope.data.errors import DataError
from dope.data.grid import Axis, Grid

if TYPE_CHECKING:
    from dope.data.operator_data import OperatorData

HDF5, NPZ = (".h5", ".hdf5"), (".npz",)
_FORMAT = 1
_DESIGN = ("probability", "inclusion", "density")
_CHECKED_AT_ONCE = 2**24  # numbers


# ---- out ----------------------------------------------------------------------------------------------
def write(data: OperatorData, path: Path) -> None:
    kind = _kind(path)
    arrays, facts = _parts(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    # a file is there as a whole or not at all, and data that are mapped from it keep what they see
    part = path.with_name(path.name + ".part")
    try:
        if kind == "npz":
            with part.open("wb") as file:
                np.savez(file, facts=np.array(json.dumps(facts)), **arrays)
        else:
            with h5py.File(part, "w") as file:
                file["facts"] = json.dumps(facts)
                for name, array in arrays.items():
                    file.create_dataset(name, data=array)  # contiguous: only then can it be mapped
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _parts(data: OperatorData) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    arrays = {"inputs": data.inputs, "points": data.points, "values": data.values}
    arrays["grid.weights"] = data.grid.weights
    for k, axis in enumerate(data.grid.axes):
        arrays |= {f"axis{k}.nodes": axis.nodes, f"axis{k}.weights": axis.weights}
    if data.design is not None:
        parts = {name: getattr(data.design, name) for name in _DESIGN}
        arrays |= {f"design.{name}": part for name, part in parts.items() if part is not None}
    facts = {
        "format": _FORMAT,
        "axes": [{"kind": a.kind, "lower": a.lower, "upper": a.upper} for a in data.grid.axes],
        "measure": data.grid.measure,
        "ids": _labels(data.ids),
        "groups": None if data.groups is None else _labels(data.groups),
        "inputs": "finite",
    }
    return arrays, facts


def _labels(labels: np.ndarray) -> list[Any]:
    return [x if isinstance(x, (str, int, float)) else str(x) for x in labels.tolist()]


# ---- in -----------------------------------------------------------------------------------------------
def read(path: Path) -> tuple[Any, ...]:
    """The fields of an `OperatorData`, in their order."""
    kind = _kind(path)
    if not path.is_file():
        raise DataError(f"{path}: there is no such file.")
    try:
        arrays, facts = _npz(path) if kind == "npz" else _hdf5(path)
        return _assembled(path, arrays, facts)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile, EOFError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path} is damaged or was not written by OperatorData.save ({error}): save it again."
        ) from None


def _npz(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files if name != "facts"}
        return arrays, json.loads(str(file["facts"]))


def _hdf5(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with h5py.File(path, "r") as file:
        arrays = {name: file[name][()] for name in file if name not in ("inputs", "facts")}
        arrays["inputs"] = _mapped(path, file["inputs"])
        return arrays, json.loads(file["facts"].asstr()[()])


def _mapped(path: Path, inputs: h5py.Dataset) -> np.ndarray:
    """The inputs where they lie in the file; read into memory only where they are packed or not float32."""
    start = inputs.id.get_offset()
    if start is None or inputs.dtype != np.dtype("<f4") or inputs.size == 0:
        return inputs[()].astype(np.float32)
    # copy on write: torch shares memory that may be written, and nothing is ever written back
    return np.memmap(path, dtype="<f4", mode="c", offset=start, shape=inputs.shape)


def _assembled(path: Path, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> tuple[Any, ...]:
    if facts.get("format") != _FORMAT:
        raise DataError(f"{path} has format {facts.get('format')!r}, this version of dope reads format {_FORMAT}.")
    axes = tuple(
        Axis(a["kind"], arrays[f"axis{k}.nodes"], arrays[f"axis{k}.weights"], a["lower"], a["upper"])
        for k, a in enumerate(facts["axes"])
    )
    grid = Grid(axes, arrays["grid.weights"], facts["measure"])
    inputs, points, values = arrays["inputs"], arrays["points"], arrays["values"]
    ids, groups = np.asarray(facts["ids"]), facts["groups"]
    n, k = values.shape
    if inputs.ndim != 2 + grid.ndim or inputs.shape[0] != n or inputs.shape[2:] != grid.shape:
        raise DataError(f"{path}: inputs have shape {inputs.shape}, expected ({n}, C, *{grid.shape}).")
    if points.shape != (n, k, grid.ndim) or len(ids) != n:
        raise DataError(f"{path}: points {points.shape}, values {values.shape} and {len(ids)} ids do not fit together.")
    if facts.get("inputs") != "finite":
        _check(path, inputs)
    design = {name: arrays[f"design.{name}"] for name in _DESIGN if f"design.{name}" in arrays}
    return (
        inputs,
        points,
        values,
        grid,
        None if groups is None else np.asarray(groups),
        Design(**design) if design else None,
        ids,
    )


def _check(path: Path, inputs: np.ndarray) -> None:
    """Inputs that another program wrote are looked at once, a part at a time."""
    at_once = max(1, _CHECKED_AT_ONCE // int(np.prod(inputs.shape[1:])))
    for start in range(0, len(inputs), at_once):
        bad = ~np.isfinite(inputs[start : start + at_once]).reshape(-1, int(np.prod(inputs.shape[1:]))).all(1)
        if bad.any():
            raise DataError(f"{path}: inputs of the unit at position {start + int(np.argmax(bad))} are not finite.")


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in HDF5:
        return "hdf5"
    if suffix in NPZ:
        return "npz"
    raise DataError(f"{path}: data are saved as .h5 or .npz, not as {suffix or 'a file without a suffix'}.")
