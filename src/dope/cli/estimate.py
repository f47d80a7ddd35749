"""`dope estimate`: the user's own data, from a file to a table, a JSON file and a report."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from dope.cli.study import Study
    from dope.data import Reading
    from dope.fitted import FittedEstimate


def estimate(
    study: Path,
    /,
    *,
    functional: Annotated[tuple[str, ...], Parameter(alias="-f", negative=())] = (),
    id: str | None = None,
    time: str | None = None,
    value: str | None = None,
    covariates: str | None = None,
    time_varying: str | None = None,
    where: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    occasion: str | None = None,
    period: float | None = None,
    groups: str | None = None,
    inputs: str | None = None,
    grid: str | None = None,
    blq: str | None = None,
    outside: str | None = None,
    encoding: str | None = None,
    level: float | None = None,
    by: str | None = None,
    folds: str | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    epochs: int | None = None,
    device: str | None = None,
    title: str | None = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Estimate from your own data: prints a table, writes result.json and report.html.

    STUDY is a STUDY.toml (dope init writes one), or a data file: then flags say the rest, and columns are found by
    their names. Flags go before what STUDY.toml says.

    Parameters
    ----------
    study
        STUDY.toml, or a data file: CSV, Parquet, SAS transport, HDF5, npz, NetCDF, Zarr.
    functional
        What to estimate, as for dope report: auc, mean, soft-max:6, time-above:0.5,8, ... May be given several
        times; "peak=soft-max:6" calls it "peak".
    id
        The column of subjects.
    time
        The column of times, or several with commas for a plane: x,y.
    value
        The column (or variable) of observations.
    covariates
        Columns that are inputs, with commas; "none" for none.
    time_varying
        Covariates that change within a subject, with commas: values are carried forward.
    where
        Which observations: COLUMN=VALUE. May be given several times.
    occasion
        The column that cuts subjects into occasions.
    period
        The length of the units that long records are cut into.
    groups
        The column of labels of units that are not independent.
    inputs
        A file of inputs: constants of units, functions in a long table, or .npy.
    grid
        LOWER,UPPER,SIZE of equal steps.
    blq
        Values below the limit of quantification: drop, half or zero.
    outside
        Observations outside the grid: error or drop.
    encoding
        Of a text file.
    level
        Of the intervals; 0.95 unless given.
    by
        Covariates over which the report draws the functionals, with commas.
    folds
        Parts of the cross-fitting: a number, or auto.
    repeats
        Random splits over which estimates are aggregated.
    seed
        Of everything random.
    epochs
        Passes of the training.
    device
        auto, cpu or cuda.
    title
        The heading of the report.
    output
        The folder to write to.
    quiet
        Print nothing but errors.
    json
        Print result.json instead of the table.
    """
    from dope.cli import study as studies

    flags = {
        "data": {
            "id": id,
            "time": _several(time) if time and "," in time else time,
            "value": value,
            "covariates": _several(covariates),
            "time_varying": _several(time_varying),
            "where": _pairs(where),
            "occasion": occasion,
            "period": period,
            "groups": groups,
            "inputs": inputs,
            "blq": blq,
            "outside": outside,
            "encoding": encoding,
        },
        "grid": _grid(grid),
        "estimate": {"functionals": list(functional) or None, "level": level, "by": _several(by)},
        "fit": {"folds": _folds(folds), "repeats": repeats, "seed": seed, "epochs": epochs, "device": device},
        "output": {"folder": None if output is None else str(output), "title": title},
    }
    toml = study.suffix.lower() == ".toml"
    asked = studies.read(study) if toml else studies.Study(data=studies.Data(file=str(study)))
    run(asked.with_flags(flags), quiet=quiet, json=json)


def run(study: Study, *, quiet: bool = False, json: bool = False) -> None:
    """Everything that can be wrong is looked at before anything is trained; everything is written at the end."""
    from dope.cli.terminal import console, progress_console

    begun = time.perf_counter()
    say = progress_console()
    say.quiet = quiet
    with say.status("Reading ..."):
        from dope.cli import second
        from dope.cli import study as studies
        from dope.cli.specs import parse

        functionals = [parse(spec) for spec in study.estimate.functionals or ["mean"]]
        _refuse_doubles([g.name for g in functionals])
        _refuse_folder(Path(study.output.folder))
        _refuse_level(study.estimate.level)
        data, reading = studies.load(study)
        _try(functionals, data)
        features = second.features(study.estimate.by, data, reading)
        folds, why = studies.folds(study.fit.folds, data)
        import dope

        recipe = dope.Recipe(epochs=study.fit.epochs)
        model = dope.DOPE(
            folds=folds, repeats=study.fit.repeats, seed=study.fit.seed, device=study.fit.device, recipe=recipe
        )
    say.print(str(reading), markup=False, soft_wrap=True)
    if why:
        say.print(why, markup=False)
    say.print(f"Fitting {len(data)} units, {folds} folds ...", markup=False)
    fit = model.fit(data, progress=False if quiet else None)
    with say.status("Estimating ..."):
        est = _estimated(fit, functionals, study, reading, why)
        stages = second.stages(est, features)
        document = _document(est, study, reading, second.records(stages))
        files = _write(est, stages, document, study.output)
    if quiet:
        return
    out = console()
    if json:
        print(document)
        return
    out.print(est.summary(), markup=False, soft_wrap=True)
    for label, file in zip(("Report", "Numbers"), files, strict=True):
        out.print(f"{label}: {file}", markup=False, soft_wrap=True)
    out.print(f"Elapsed: {time.perf_counter() - begun:.0f} s", markup=False)


def _estimated(fit: Any, functionals: list[Any], study: Study, reading: Reading, why: str) -> FittedEstimate:
    from dataclasses import replace

    est = fit.estimate(functionals, weights=study.estimate.weights, correction=study.estimate.correction)
    about = dict(est.meta) | {"data": reading.to_dict()} | ({"folds_because": why} if why else {})
    return replace(est, meta=about, level=study.estimate.level)


def _try(functionals: list[Any], data: Any) -> None:
    """A functional that the grid has no room for is found before hours of training."""
    import numpy as np

    from dope.functionals.base import evaluate

    for g in functionals:
        evaluate(g, np.ones((1, *data.grid.shape)), data.grid)


def _document(est: FittedEstimate, study: Study, reading: Reading, stages: dict[str, Any]) -> str:
    import json
    from dataclasses import asdict

    document = json.loads(est.to_json())
    document["data"] = document["meta"].pop("data")
    document["study"] = asdict(study)
    document["second_stage"] = stages
    return json.dumps(document, indent=2, allow_nan=False)


# ---- files --------------------------------------------------------------------------------------------
def _refuse_folder(folder: Path) -> None:
    from dope.data import DataError

    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise DataError(f"{place} is a file: results are written to a folder, -o FOLDER.")
    if not os.access(place, os.W_OK):
        raise DataError(f"{place} cannot be written to: choose another folder with -o FOLDER.")


def _write(est: FittedEstimate, stages: Mapping[str, Any], document: str, output: Any) -> tuple[Path, Path]:
    """Both files, or none: they get their names when both are whole."""
    import dope

    folder = Path(output.folder)
    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / output.report, folder / output.json
    parts = page.with_name(page.name + ".part"), numbers.with_name(numbers.name + ".part")
    try:
        dope.report(est, parts[0], title=output.title, second_stage=stages)
        parts[1].write_text(document + "\n", encoding="utf-8")
        parts[0].replace(page)
        parts[1].replace(numbers)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return page, numbers


# ---- flags --------------------------------------------------------------------------------------------
def _several(words: str | None) -> list[str] | None:
    if words is None:
        return None
    return [] if words.strip().lower() == "none" else [w.strip() for w in words.split(",") if w.strip()]


def _pairs(words: tuple[str, ...]) -> Mapping[str, Any] | None:
    from dope.data import DataError

    if not words:
        return None
    out: dict[str, list[str]] = {}
    for word in words:
        column, equals, value = word.partition("=")
        if not (column and equals and value):
            raise DataError(f"--where {word!r}: write COLUMN=VALUE.")
        out.setdefault(column.strip(), []).append(value.strip())
    return out


def _grid(words: str | None) -> Mapping[str, Any]:
    from dope.data import DataError

    if words is None:
        return {}
    try:
        lower, upper, size = words.split(",")
        return {"lower": float(lower), "upper": float(upper), "size": int(size), "kind": "uniform"}
    except ValueError:
        raise DataError(f"--grid {words!r}: write LOWER,UPPER,SIZE, e.g. 0,24,128.") from None


def _folds(word: str | None) -> Any:
    from dope.data import DataError

    if word is None or word == "auto":
        return word
    if not word.isdigit():
        raise DataError(f"--folds {word!r}: write a whole number, or auto.")
    return int(word)


def _refuse_level(level: float) -> None:
    from dope.data import DataError

    if not 0 < level < 1:
        raise DataError(f"a level lies between 0 and 1, e.g. 0.95; got {level}.")


def _refuse_doubles(names: list[str]) -> None:
    from dope.data import DataError

    twice = [n for k, n in enumerate(names) if n in names[:k]]
    if twice:
        raise DataError(f'two functionals are called {twice[0]!r}: name them, e.g. "first=soft-max:6".')
