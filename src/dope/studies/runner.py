"""From a study's name to a full store: what is still to do, who does it, and one writer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dope.data import DataError
from dope.studies import store
from dope.studies.cell import Cell, Failure, Row, config_of
from dope.studies.executor import outcomes
from dope.studies.progress import counting
from dope.studies.protocol import Protocol, protocol
from dope.studies.registry import by_key, select
from dope.studies.study import Setting, Study
from dope.studies.table import Summary, summarise
from dope.training import resolve_device


def reproduce(
    study: str,
    *,
    repeats: int = 50,
    settings: Sequence[str] = (),
    functionals: Sequence[str] = (),
    estimators: Sequence[str] = (),
    protocol: str | Protocol = "recommended",
    out: str | Path,
    executor: str = "serial",
    workers: int | None = None,
    device: str = "cpu",
    progress: bool | None = None,
) -> list[Summary]:
    """Carry out what is missing of a study in folder `out`, and return its table.

    Killed at any moment and called again, it loses no finished cell and repeats none.

    Parameters
    ----------
    study : a study's name, or "all".
    repeats : how many; those that the folder already holds are not repeated.
    settings, functionals, estimators : which, such as "rho=0.5", "tat" and "auto"; all of the study's unless given. The
        weights of estimators that are not asked for are not learned.
    protocol : "recommended", "paper", or a Protocol of your own.
    executor : "serial", "local" (processes of this machine) or "dask:ADDRESS".
    workers : how many processes; as many as there are cores unless given.
    device : where networks are trained, "cpu", "cuda", ...
    progress : a bar on stderr; by default where a person watches.
    """
    for name, value in (("repeats", repeats), ("workers", 1 if workers is None else workers)):
        if not (isinstance(value, int) and value >= 1):
            raise DataError(f"{name} must be a whole number of at least 1, got {value!r}.")
    how = _preset(protocol)
    chosen = select(study, settings, functionals, estimators)
    device = str(resolve_device(device))
    with store.writing(Path(out)) as kept:
        cells: list[Cell] = []
        configs = set()
        for record, points, asked in chosen:
            config = kept.register(record, how)
            configs.add(config)
            cells += missing(record, points, asked, repeats, how, device, kept.finished(config))
        # repeat by repeat, so that a table of an unfinished study has all its columns
        cells.sort(key=lambda cell: cell.repeat)
        cells, views = _views(cells)
        show = sys.stderr.isatty() if progress is None else progress
        with counting(study, len(cells), show) as step:
            for cell, outcome in outcomes(cells, executor, workers, store.code_version()):
                if isinstance(outcome, Failure):
                    kept.add_failure(cell, outcome.reason)
                else:
                    kept.add(cell, outcome)
                    for view in views.get(cell, ()):
                        kept.add(view, _seen(view, outcome))
                step(f"{cell.study} {cell.settings[0].name}={cell.settings[0].value:g}")
    rows, _ = store.read(out)
    shown = {(r.name, r.backbone, s.name, s.value, f) for r, points, asked in chosen for s in points for f in asked}
    return [
        s
        for s in summarise(row for row in rows if row.config in configs)
        if (s.study, s.backbone, s.setting, s.value, s.functional) in shown
    ]


def missing(
    study: Study,
    settings: Sequence[Setting],
    functionals: Sequence[str],
    repeats: int,
    how: Protocol,
    device: str,
    finished: set[tuple[str, float, int, str]],
) -> Iterator[Cell]:
    """The cells that are not yet finished, each with what is missing of it."""
    for repeat in range(repeats):
        left: dict[tuple[str, ...], list[Setting]] = {}
        for s in settings:
            asked = tuple(g for g in functionals if (s.name, s.value, repeat, g) not in finished)
            if asked:
                left.setdefault(asked, []).append(s)
        for asked, points in left.items():
            groups = [tuple(points)] if study.together else [(s,) for s in points]
            for group in groups:
                yield Cell(study.key, group, asked, study.estimators, repeat, how, device)


def _views(cells: Sequence[Cell]) -> tuple[list[Cell], dict[Cell, list[Cell]]]:
    """The cells that must be carried out, and for some of them those that only look at their outcome."""
    known = {_work(cell): cell for cell in cells}
    views: dict[Cell, list[Cell]] = {}
    for cell in cells:
        shared = known.get(_work(replace(cell, study=by_key(cell.study).shares)))
        if shared is not None and set(cell.estimators) <= set(shared.estimators):
            views.setdefault(shared, []).append(cell)
    seen = {view for looking in views.values() for view in looking}
    return [cell for cell in cells if cell not in seen], views


def _work(cell: Cell) -> Cell:
    """The cell without regard to which answers it gives."""
    return replace(cell, estimators=())


def _seen(view: Cell, rows: Sequence[Row]) -> list[Row]:
    """The rows of a cell, from those of the one that it shares data and fit with."""
    study = view.record
    config, names = config_of(study, view.protocol), ("floor", *study.estimators)
    return [replace(row, config=config, study=study.name) for row in rows if row.estimator in names]


def _preset(how: str | Protocol) -> Protocol:
    return how if isinstance(how, Protocol) else protocol(how)
