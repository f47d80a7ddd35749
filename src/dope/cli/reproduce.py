"""`dope reproduce`: a study, from its name to its table."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def reproduce(
    study: str,
    /,
    *,
    repeats: Annotated[int, Parameter(alias="-r")] = 50,
    setting: Annotated[tuple[str, ...], Parameter(alias="-s", negative=(), show_default=False)] = (),
    functional: Annotated[tuple[str, ...], Parameter(alias="-f", negative=(), show_default=False)] = (),
    estimator: Annotated[tuple[str, ...], Parameter(alias="-e", negative=(), show_default=False)] = (),
    protocol: Literal["paper", "release", "recommended"] = "recommended",
    out: Annotated[Path | None, Parameter(alias="-o", show_default=lambda _: "STUDY-PROTOCOL")] = None,
    executor: Annotated[str | None, Parameter(show_default=lambda _: "local, serial on a GPU")] = None,
    workers: int | None = None,
    device: str = "auto",
) -> None:
    """Carry out a Monte-Carlo study and print its table beside the published figures.

    Killed at any moment and started again, it loses no finished cell and repeats none.

    Parameters
    ----------
    study
        Its name, or "all". A wrong name lists those there are.
    repeats
        How many. Those that the folder already holds are not repeated.
    setting
        Only this one, such as rho=0.5; all unless given. May be given several times.
    functional
        Only this one, such as tat; all unless given. May be given several times.
    estimator
        Only this one, such as auto; all unless given. May be given several times.
    protocol
        paper: the published experiments. release: the authors' later public protocol. recommended: what
        dope.DOPE() does.
    out
        The folder of results.
    executor
        serial: this process. local: one process for each core. dask:ADDRESS: a Dask cluster.
    workers
        How many processes; as many as there are cores unless given (local).
    device
        Where networks are trained: cpu, cuda, cuda:1, or auto.
    """
    # Cells compute on small arrays, for which a second thread of the numerical libraries costs more than it brings.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read when they are loaded
    from dope import studies
    from dope.training import resolve_device

    place = str(resolve_device(device))
    folder = out or Path(f"{study}-{protocol}")
    try:
        table = studies.reproduce(
            study,
            repeats=repeats,
            settings=setting,
            functionals=functional,
            estimators=estimator,
            protocol=protocol,
            out=folder,
            # a GPU works for one process at a time
            executor=executor or ("local" if place == "cpu" else "serial"),
            workers=workers,
            device=place,
        )
    except KeyboardInterrupt:
        print(f"What is finished is kept in {folder}: the same command goes on from there.", file=sys.stderr)
        raise
    found = studies.results(folder)
    print(studies.write(table, slopes=found.slopes), end="")
    for note in found.notes:
        print(note, file=sys.stderr)
    print(f"Results: {folder}", file=sys.stderr)
