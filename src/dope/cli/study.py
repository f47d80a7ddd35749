"""STUDY.toml: a study of the user's own files, as one record."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dope.data import Grid, OperatorData, Reading

ARRAYS, LABELLED = (".h5", ".hdf5", ".npz"), (".nc", ".nc4", ".netcdf", ".zarr")
# Below this number of independent subjects, networks that lack a fifth of them learn too little.
FEW, MANY_FOLDS, FOLDS = 25, 10, 5


@dataclass(frozen=True)
class Data:
    """Where the data are, and how they are read; see `dope.data.read_table` and `dope.data.read_xarray`."""

    file: str = ""
    inputs: Any = None
    id: str | None = None
    time: Any = None
    value: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    covariates: list[str] | None = None
    time_varying: list[str] = field(default_factory=list)
    where: Mapping[str, Any] = field(default_factory=dict)
    occasion: str | None = None
    period: float | None = None
    groups: str | None = None
    blq: str = "drop"
    outside: str = "error"
    encoding: str = "utf-8"
    unit: str | None = None
    points: list[str] | None = None


@dataclass(frozen=True)
class GridOf:
    """The grid: `nodes`, or equal steps of a kind."""

    kind: str = "uniform"
    lower: float | None = None
    upper: float | None = None
    size: int = 128
    nodes: list[float] | None = None


@dataclass(frozen=True)
class Asked:
    """What is estimated, written as for `dope report --functional`; `by` names inputs for a second stage."""

    functionals: list[str] = field(default_factory=list)
    level: float = 0.95
    weights: str = "shared"
    correction: str = "auto"
    by: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fitting:
    """How networks are trained. `folds` is "auto" or a number."""

    folds: Any = "auto"
    repeats: int = 1
    seed: int = 0
    epochs: int = 100
    device: str = "auto"


@dataclass(frozen=True)
class Output:
    folder: str = "."
    json: str = "result.json"
    report: str = "report.html"
    title: str | None = None


@dataclass(frozen=True)
class Study:
    data: Data = field(default_factory=Data)
    grid: GridOf = field(default_factory=GridOf)
    estimate: Asked = field(default_factory=Asked)
    fit: Fitting = field(default_factory=Fitting)
    output: Output = field(default_factory=Output)

    def with_flags(self, flags: Mapping[str, Mapping[str, Any]]) -> Study:
        """The same study, where a flag was given with the flag's value."""
        parts = {
            section: replace(getattr(self, section), **{k: v for k, v in given.items() if v is not None})
            for section, given in flags.items()
        }
        return replace(self, **parts)


def read(path: Path) -> Study:
    """A STUDY.toml; files in it are meant from where it stands."""
    import tomllib

    from dope.data import DataError

    if not path.is_file():
        raise DataError(f"{path}: there is no such file. `dope init DATA.csv` writes one from a data file.")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not TOML: {error}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8.") from None
    sections = {f.name: f.default_factory for f in fields(Study)}  # type: ignore[misc]
    parts: dict[str, Any] = {}
    for section, given in tables.items():
        if section not in sections or not isinstance(given, dict):
            raise DataError(f"{path}: {_unknown(section, sections, 'section')}")
        kind = type(sections[section]())
        known = {f.name: f for f in fields(kind)}
        for key, value in given.items():
            if key not in known:
                raise DataError(f"{path}, [{section}]: {_unknown(key, known, 'key')}")
            _check(path, section, key, value, getattr(kind(), key))
        parts[section] = kind(**given)
    study = Study(**parts)
    if not study.data.file:
        raise DataError(f'{path}, [data]: file = "..." is missing: which data?')
    beside = {"file": str(path.parent / study.data.file)}
    if isinstance(study.data.inputs, str):
        beside["inputs"] = str(path.parent / study.data.inputs)
    return study.with_flags({"data": beside, "output": {"folder": str(path.parent / study.output.folder)}})


def _check(path: Path, section: str, key: str, value: Any, default: Any) -> None:
    """Refuse a value of another kind than the default's, where that is a number, text, a list or a table."""
    from dope.data import DataError

    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text in quotes",
             list: "a list in brackets", dict: "a table in braces"}  # fmt: skip
    if key == "folds":
        if value == "auto" or (isinstance(value, int) and not isinstance(value, bool)):
            return
        raise DataError(f'{path}, [{section}]: folds is {value!r}, write "auto" or a whole number.')
    expected = type(default)
    if expected not in kinds or isinstance(value, expected):
        return
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return
    raise DataError(f"{path}, [{section}]: {key} is {value!r}, write {kinds[expected]}.")


def _unknown(word: str, known: Mapping[str, Any], what: str) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"there is no {what} {word!r} among {', '.join(known)}{'.' if hint else ''}{hint}"


# ---- what it stands for -------------------------------------------------------------------------------
def grid(study: Study) -> Grid | None:
    """The grid, None where it is left to the data."""
    from dope.data import DataError, Grid

    g = study.grid
    if g.nodes is not None:
        return Grid.nodes(g.nodes)
    if g.lower is None and g.upper is None:
        return None
    if g.lower is None or g.upper is None:
        raise DataError("a grid has two ends: give lower and upper.")
    kinds = {"uniform": Grid.uniform, "periodic": Grid.periodic, "cells": Grid.cells}
    if g.kind not in kinds:
        raise DataError(f"a grid is {', '.join(kinds)}, or given by its nodes; not {g.kind!r}.")
    return kinds[g.kind](g.lower, g.upper, g.size)


def is_table(path: Path) -> bool:
    """Whether a file holds a long table, rather than arrays."""
    return path.suffix.lower() not in (*ARRAYS, *LABELLED)


def load(study: Study) -> tuple[OperatorData, Reading]:
    """The data, from whatever kind of file."""
    from dope.data import DataError, OperatorData, Reading, read_table, read_xarray

    d, path = study.data, Path(study.data.file)
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        data = OperatorData.open(path)
        groups = data.ids if data.groups is None else data.groups
        return data, Reading(
            source=str(path),
            kind="arrays",
            columns={},
            measured_in={},
            rows=0,
            subjects=len(set(groups.tolist())),
            units=len(data),
            observations=int(data.counts.sum()),
            doses=0,
            channels=tuple(f"input {c}" for c in range(data.channels)),
            grid=repr(data.grid),
        )
    if suffix in LABELLED:
        inputs = [d.inputs] if isinstance(d.inputs, str) else d.inputs
        return read_xarray(
            path, values=d.value, inputs=inputs, points=d.points, unit=d.unit, groups=d.groups, grid=grid(study)
        )
    if isinstance(d.inputs, list):
        raise DataError(f'{path}: inputs names one file, e.g. inputs = "inputs.csv"; columns are covariates.')
    return read_table(
        path,
        inputs=d.inputs,
        grid=grid(study),
        id=d.id,
        time=d.time,
        value=d.value,
        columns={role: name or None for role, name in d.columns.items()},
        covariates=d.covariates,
        time_varying=d.time_varying,
        where=d.where,
        occasion=d.occasion,
        period=d.period,
        groups=d.groups,
        blq=d.blq,
        outside=d.outside,
        encoding=d.encoding,
    )


def folds(wanted: Any, data: OperatorData) -> tuple[int, str]:
    """How many folds, and why these are not the usual ones."""
    from dope.data import DataError

    count = len(data) if data.groups is None else len(set(data.groups.tolist()))
    what = "units" if data.groups is None else "groups"
    if count < 2:
        raise DataError(f"{count} independent {what[:-1]}: an interval needs at least 2, and a trustworthy one 10.")
    if wanted == "auto":
        number = FOLDS if count >= FEW else min(count, MANY_FOLDS)
        if number == FOLDS:
            return number, ""
        least = count - -(-count // number)
        return number, (
            f"Only {count} {what}: {number} folds instead of {FOLDS}, so that every network still learns from "
            f"{least} of them."
        )
    if wanted > count:
        return count, f"{wanted} folds asked for, but there are {count} {what}: {count} folds, one left out of each."
    return wanted, ""
