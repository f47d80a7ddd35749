"""`dope init`: a commented STUDY.toml, written by looking at the data."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    import numpy as np

    from dope.data import OperatorData, Reading

_WIDTH = 78
# A smooth maximum this much below the hard one is close enough to be called by its name.
_SHORT = 0.05
_GLUCOSE = {"mg/dL": (70, 180), "mmol/L": (3.9, 10)}


def init(
    data: Path,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("STUDY.toml"),
    id: str | None = None,
    time: str | None = None,
    value: str | None = None,
    where: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    occasion: str | None = None,
    period: float | None = None,
    encoding: str = "utf-8",
    force: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Look at a data file and write a commented STUDY.toml for it.

    Parameters
    ----------
    data
        The file: CSV, Parquet, SAS transport, HDF5, npz, NetCDF, Zarr.
    output
        The file to write.
    id
        The column of subjects, where its name is not understood.
    time
        The column of times.
    value
        The column (or variable) of observations.
    where
        Which observations: COLUMN=VALUE. May be given several times.
    occasion
        The column that cuts subjects into occasions.
    period
        The length of the units that long records are cut into.
    encoding
        Of a text file.
    force
        Replace the file if it is there.
    """
    from dope.cli import study as studies
    from dope.cli.estimate import _pairs
    from dope.cli.terminal import console
    from dope.data import DataError

    if output.exists() and not force:
        raise DataError(f"{output} is there already: choose another name with -o, or replace it with --force.")
    if not output.parent.is_dir():
        raise DataError(f"{output.parent} is no folder: make it first, or choose another name with -o.")
    chosen, remark = dict(_pairs(where) or {}), ""
    if not chosen and studies.is_table(data):
        chosen, remark = _main_kind(data, encoding, {"id": id, "time": time, "value": value})
    asked = studies.Study(
        data=studies.Data(
            file=str(data), id=id, time=time, value=value, where=chosen, occasion=occasion, period=period,
            encoding=encoding,
        )
    )  # fmt: skip
    found, reading = studies.load(asked)
    text = "\n".join(_lines(asked, found, reading, remark, output)) + "\n"
    output.write_text(text, encoding="utf-8")
    out = console()
    out.print(str(reading), markup=False, soft_wrap=True)
    out.print(f"Wrote {output}. Look at it, then: dope estimate {output}", markup=False, soft_wrap=True)


def _main_kind(data: Path, encoding: str, named: Mapping[str, str | None]) -> tuple[dict[str, str], str]:
    """Of several analytes the one that was measured most often."""
    from dope.data.tables import kinds

    several = kinds(data, encoding, {role: name for role, name in named.items() if name is not None})
    if several is None:
        return {}, ""
    column, counts = several
    held = ", ".join(f"{word} ({count})" for word, count in counts)
    return {column: counts[0][0]}, f"{column} holds {held}: the first is estimated. Write another one here for that."


# ---- the file -----------------------------------------------------------------------------------------
def _lines(study: Any, data: OperatorData, reading: Reading, remark: str, output: Path) -> Iterator[str]:
    from dope.cli import study as studies
    from dope.cli.second import constants

    yield f"# Written by `dope init {study.data.file}`. Change what you like, then run:"
    yield f"#   dope estimate {output.name}"
    yield ""
    yield "[data]"
    yield f"file = {_toml(Path(os.path.relpath(study.data.file, output.parent or '.')).as_posix())}"
    yield from ("#" + line[1:] for line in reading.lines(_WIDTH)[1:])
    yield from _columns(study, reading, remark)
    yield ""
    yield "[grid]"
    yield from _grid(data, reading)
    yield ""
    yield "[estimate]"
    yield "# What is estimated, each with a name of your own: the mean over the population of"
    yield "#   mean, auc, time-above:LIMIT,SHARPNESS, time-below:LIMIT,SHARPNESS,"
    yield "#   time-in-range:LOW,HIGH, excess-above:LIMIT,SHARPNESS, soft-max:SHARPNESS,"
    yield "#   soft-min:SHARPNESS, energy, tracking-error:REFERENCE, point-value:PLACE,WIDTH"
    yield from _functionals(data, reading)
    yield "level = 0.95  # of the intervals"
    able = [name.split(" = ")[0] for name in constants(data, reading)]
    if able:
        yield "# The report draws the functionals over these covariates: a line, a curve or means."
        yield f"by = {_toml(able[:1])}"
    yield ""
    yield "[fit]"
    folds, why = studies.folds("auto", data)
    yield from _comment(why)
    yield f'folds = "auto"  # here {folds}; or a number'
    yield "repeats = 1  # more random splits make the answer depend less on the seed"
    yield "seed = 0"
    yield "epochs = 100  # of the training"
    yield 'device = "auto"'
    yield ""
    yield "[output]"
    yield 'folder = "."'
    yield 'json = "result.json"'
    yield 'report = "report.html"'


def _columns(study: Any, reading: Reading, remark: str) -> Iterator[str]:
    roles = dict(reading.columns)
    if reading.kind == "arrays":
        return
    if reading.kind == "xarray":
        yield f"value = {_toml(roles['value'])}"
        yield f"unit = {_toml(roles['unit'])}"
        yield f"inputs = {_toml(list(reading.channels))}"
        return
    for role in ("id", "time", "value"):
        yield f"{role} = {_toml(roles.pop(role))}"
    if roles:
        yield '# Further columns by what they mean; "" says that a table has no such column.'
        yield f"columns = {_toml(roles)}"
    covariates = [
        name.split(" = ")[0] for name in reading.channels if not name.startswith(("dose rate", "steady-state"))
    ]
    covariates = [name for name in dict.fromkeys(covariates) if name != "none"]
    yield "# Covariates become inputs; one that changes within a subject goes to time_varying."
    yield f"covariates = {_toml(covariates)}"
    yield "time_varying = []"
    if study.data.where or remark:
        yield from _comment(remark)
        yield f"where = {_toml(study.data.where)}"
    else:
        yield '# where = { PARAMCD = "XAN" }  # which observations, if not all'
    for name in ("occasion", "period"):
        if getattr(study.data, name) is not None:
            yield f"{name} = {_toml(getattr(study.data, name))}"
    yield 'blq = "drop"  # values below the limit of quantification: "drop", "half" or "zero"'
    yield 'outside = "error"  # observations outside the grid: "error" or "drop"'
    if study.data.encoding != "utf-8":
        yield f"encoding = {_toml(study.data.encoding)}"


def _grid(data: OperatorData, reading: Reading) -> Iterator[str]:
    axes = data.grid.axes
    if reading.kind in ("arrays", "xarray") or data.grid.ndim > 1:
        yield "# The grid comes with the data."
        return
    axis = axes[0]
    if axis.kind == "nodes":
        yield "# The times of the sampling schedule: means are taken by the linear trapezoid rule"
        yield "# over them. For a grid of equal steps, write kind, lower, upper and size instead."
        yield f"nodes = {_toml([float(f'{x:.6g}') for x in axis.nodes])}"
        return
    yield f'kind = {_toml(axis.kind)}  # or "cells", "periodic"'
    yield f"lower = {_toml(float(axis.lower))}"
    yield f"upper = {_toml(float(axis.upper))}"
    yield f"size = {len(axis.nodes)}  # more nodes are finer and slower"


def _functionals(data: OperatorData, reading: Reading) -> Iterator[str]:
    if reading.kind == "CGM":
        low, high = (
            _GLUCOSE[reading.measured_in["value"]] if reading.measured_in.get("value") in _GLUCOSE else (70, 180)
        )
        sharpness = f"{120 / (high - low):.2g}"
        asked = [f"time in range=time-in-range:{low},{high}", f"time below range=time-below:{low},{sharpness}",
                 f"time above range=time-above:{high},{sharpness}", "mean glucose=mean"]  # fmt: skip
        yield "# Shares of the day; thresholds are in the units of the table."
    elif any(name.startswith("dose rate") for name in reading.channels):
        sharpness, short = _sharpness(data)
        asked = ["AUC=auc", f"Cmax=soft-max:{sharpness:g}"]
        yield f"# AUC is over the whole grid. Cmax is a smooth maximum, {100 * short:.1f} % below the hard one on the"
        yield "# observed profiles; a sharper one is closer to it and harder to estimate."
    else:
        asked = ["mean"]
    yield "functionals = ["
    for one in asked:
        yield f"  {_toml(one)},"
    yield "]"


def _sharpness(data: OperatorData) -> tuple[float, float]:
    """The least sharpness whose smooth maximum comes near the hard one on profiles, and by how much it falls short."""
    import numpy as np

    from dope.functionals import SoftMax
    from dope.functionals.base import evaluate

    profiles = _profiles(data)
    hard = profiles.max(1).mean()
    if not hard > 0:
        return 1.0, float("nan")
    # a round number: 1, 2 or 5 times a power of ten
    ladder = [m * 10.0**e for e in range(-6, 10) for m in (1, 2, 5)]
    for sharpness in (s for s in ladder if s * hard >= 1):
        short = 1 - float(np.mean(evaluate(SoftMax(sharpness), profiles, data.grid))) / hard
        if short <= _SHORT:
            return sharpness, short
    return ladder[-1], short


def _profiles(data: OperatorData) -> np.ndarray:
    """Observations of every unit that has some, joined by straight lines on the grid."""
    import numpy as np

    nodes = data.grid.axes[0].nodes
    rows = [(data.points[i, seen, 0], data.values[i, seen]) for i, seen in enumerate(data.observed) if seen.any()]
    return np.stack([np.interp(nodes, x[np.argsort(x)], y[np.argsort(x)]) for x, y in rows])


# ---- TOML ---------------------------------------------------------------------------------------------
def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_toml(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)  # text, numbers and truth values are written alike in both


def _key(word: str) -> str:
    return word if re.fullmatch(r"[A-Za-z0-9_-]+", word) else _toml(word)


def _comment(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, _WIDTH, initial_indent="# ", subsequent_indent="# ")
