"""A cell: the smallest piece of work that is done, stored and resumed as a whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
import torch

from dope.benchmarks import Truth, World
from dope.estimator import DOPE
from dope.studies.baseline_rows import baselines
from dope.studies.case import Case
from dope.studies.corrupted import corrupted
from dope.studies.estimators import standard
from dope.studies.frozen import frozen_operator
from dope.studies.protocol import Protocol
from dope.studies.registry import by_key
from dope.studies.study import Setting, Study
from dope.studies.unlabeled import unlabeled
from dope.training import resolve_device, single_threaded

_KINDS = {"standard": standard, "unlabeled": unlabeled, "corrupted": corrupted, "baselines": baselines}


@dataclass(frozen=True)
class Cell:
    """One repeat of a study at one setting, or at all those that share its data and its fit."""

    study: str
    settings: tuple[Setting, ...]
    functionals: tuple[str, ...]
    repeat: int
    protocol: Protocol
    device: str = "cpu"


@dataclass(frozen=True)
class Row:
    """One estimator's answer in one repeat; the columns of the store."""

    config: str
    study: str
    backbone: str
    functional: str
    setting: str
    value: float
    estimator: str
    protocol: str
    repeat: int
    estimate: float
    se: float
    low: float
    high: float
    truth: float
    truth_se: float
    seconds: float
    seed: int
    code: str


@dataclass(frozen=True)
class Failure:
    """A cell that gave no rows, and why."""

    reason: str


def config_of(study: Study, protocol: Protocol) -> str:
    """A hash of every number that decides a row, besides setting and repeat."""
    return protocol.digest(study.key, *study.functionals, *study.estimators)


def seed_of(study: Study, setting: Setting, repeat: int) -> int:
    """The seed of a cell, from (study, setting, repeat) alone.

    Where all settings share their data it is the setting's name that counts, not its value.
    """
    place = [study.key, setting.name, None if study.together else setting.value, repeat]
    words = np.frombuffer(hashlib.sha256(json.dumps(place).encode()).digest(), dtype="<u4")
    return _number(np.random.SeedSequence(words.tolist()))


def run_cell(cell: Cell, code: str) -> list[Row] | Failure:
    """The rows of a cell. Training that diverges is an outcome of a study, and is told as one."""
    try:
        with single_threaded(resolve_device(cell.device)), _no_inner_bars():
            return _rows(cell, code)
    except (FloatingPointError, np.linalg.LinAlgError) as error:
        return Failure(str(error))


def _rows(cell: Cell, code: str) -> list[Row]:
    study, protocol = by_key(cell.study), cell.protocol
    setting = cell.settings[0]
    seed = seed_of(study, setting, cell.repeat)
    data_seed, fit_seed, truth_seed, unlabeled_seed = map(_number, np.random.SeedSequence(seed).spawn(4))
    world = protocol.apply(study.world(setting), truth_seed)
    draw = world.sample(int(setting.get("n", protocol.n)), data_seed)
    operator = protocol.operator(study.backbone)
    weights = operator if protocol.weights_like_operator else None
    if study.simulator is not None:
        operator = frozen_operator(study.simulator(), protocol, study.backbone, cell.device)
    begun = time.perf_counter()
    fit = DOPE(
        operator=operator,
        folds=protocol.folds,
        repeats=protocol.splits,
        recipe=protocol.recipe,
        seed=fit_seed,
        device=cell.device,
        weight_operator=weights,
    ).fit(draw.data, progress=False)
    case = Case(
        protocol=protocol,
        settings=cell.settings,
        draw=draw,
        fit=fit,
        functionals={g: study.functional(g, world) for g in cell.functionals},
        fit_seconds=time.perf_counter() - begun,
        unlabeled_seed=unlabeled_seed,
    )
    truths = {g: _truth(world, study.functionals[g]) for g in cell.functionals}
    return [
        Row(
            config=config_of(study, protocol),
            study=study.name,
            backbone=study.backbone,
            setting=setting.name,
            protocol=protocol.name,
            repeat=cell.repeat,
            truth=float(truths[a.functional]),
            truth_se=truths[a.functional].se,
            seed=seed,
            code=code,
            **asdict(a),
        )
        for a in _KINDS[study.kind](case, study.estimators)
    ]


@lru_cache(maxsize=64)
def _truth(world: World, functional: str) -> Truth:
    return world.theta(world.functionals[functional])


def _number(sequence: np.random.SeedSequence) -> int:
    # one bit less than the machine word: databases hold signed integers
    return int(sequence.generate_state(1, dtype=np.uint64)[0] >> 1)


class _Plain:
    """A stream that passes everything on and is no terminal."""

    def __init__(self, stream) -> None:
        self._stream = stream

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


@contextlib.contextmanager
def _no_inner_bars() -> Iterator[None]:
    """Bars of single fits stay away: a study has its own, and workers share its terminal."""
    with contextlib.redirect_stderr(_Plain(sys.stderr)):
        yield


def use_one_thread() -> None:
    """For processes that work side by side."""
    torch.set_num_threads(1)
