"""A cell: the smallest piece of work that is done, stored and resumed as a whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from dope.benchmarks import Truth, World
from dope.estimator import DOPE, fit_together
from dope.fitted import Fit, learn_together
from dope.functionals import Functional
from dope.nuisances import Plan
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
# Kinds whose rows are made setting by setting; the others go through the settings of a cell themselves.
_BY_SETTING = ("standard", "baselines")


@dataclass(frozen=True)
class Cell:
    """One repeat of a study at one setting, or at all those that share its data and its fit.

    `study` is a key and not the record, which holds functions: cells travel between processes.
    """

    study: str
    settings: tuple[Setting, ...]
    functionals: tuple[str, ...]
    estimators: tuple[str, ...]
    repeat: int
    protocol: Protocol
    device: str = "cpu"

    @property
    def record(self) -> Study:
        """The study, with the estimators that this cell is asked for."""
        return replace(by_key(self.study), estimators=self.estimators)


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
    device: str = "cpu"


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
    place = [study.shares or study.key, setting.name, None if study.together else setting.value, repeat]
    words = np.frombuffer(hashlib.sha256(json.dumps(place).encode()).digest(), dtype="<u4")
    return _number(np.random.SeedSequence(words.tolist()))


def run_block(cells: Sequence[Cell], code: str) -> list[list[Row] | Failure]:
    """The rows of each of several cells that `alike` puts together: their networks are trained side by side.

    Training that diverges is an outcome of a study, and is told as one.
    """
    with single_threaded(resolve_device(cells[0].device)), _no_inner_bars():
        return _block(cells, code)


def alike(cell: Cell) -> tuple:
    """What cells must share to be trained together."""
    return cell.study, cell.protocol, cell.device, cell.functionals, cell.estimators, _units(cell), len(cell.settings)


def _units(cell: Cell) -> int:
    return int(cell.settings[0].get("n", cell.protocol.n))


def _block(cells: Sequence[Cell], code: str) -> list[list[Row] | Failure]:
    study, protocol, device = cells[0].record, cells[0].protocol, cells[0].device
    seeds = [seed_of(study, cell.settings[0], cell.repeat) for cell in cells]
    parts = [[_number(child) for child in np.random.SeedSequence(seed).spawn(4)] for seed in seeds]
    worlds = [
        protocol.apply(study.world(cell.settings[0]), truth)
        for cell, (_, _, truth, _) in zip(cells, parts, strict=True)
    ]
    estimated = _units(cells[0])
    total = protocol.train_units + protocol.validation_units + estimated
    draws = [world.sample(total, part[0]) for world, part in zip(worlds, parts, strict=True)]
    operator = protocol.operator(study.backbone, worlds[0].grid.ndim)
    weights = operator if protocol.weights_like_operator else None
    if study.simulator is not None:
        operator = frozen_operator(study.simulator(), protocol, study.backbone, device)
    model = DOPE(
        operator=operator,
        folds=protocol.folds,
        repeats=protocol.splits,
        recipe=protocol.recipe if study.steps is None else replace(protocol.recipe, max_steps=study.steps),
        device=device,
        weight_operator=weights,
    )
    plans = None
    if protocol.train_units:
        split = protocol.train_units, protocol.validation_units, estimated
        plans = [Plan.split(*split, seed=part[1]) for part in parts]
    begun = time.perf_counter()
    fits = fit_together(
        [replace(model, seed=part[1]) for part in parts], [draw.data for draw in draws], plans=plans, progress=False
    )
    share = 1 / len(cells)
    seconds = share * (time.perf_counter() - begun)
    sound = [k for k, fit in enumerate(fits) if isinstance(fit, Fit)]
    asked = [_asked(study, cell, world) for cell, world in zip(cells, worlds, strict=True)]
    learning = _learn(study, [fits[k] for k in sound], [asked[k] for k in sound])
    out: list[list[Row] | Failure] = []
    for cell, seed, part, draw, fit, functionals in zip(cells, seeds, parts, draws, fits, asked, strict=True):
        if not isinstance(fit, Fit):
            out.append(Failure(str(fit)))
            continue
        units = fit.plan.estimated
        case = Case(
            protocol=protocol,
            settings=cell.settings,
            draw=draw if units is None else draw.take(units),
            fit=fit if units is None else fit.take(units),
            functionals=functionals[0],
            fit_seconds=seconds,
            learning_seconds=learning,
            unlabeled_seed=part[3],
        )
        try:
            out.append(_rows(study, cell, seed, part[2], case, functionals, code))
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            out.append(Failure(str(error)))
    return out


def _asked(study: Study, cell: Cell, world: World) -> list[dict[str, Functional]]:
    """The functionals of every setting by name: where settings share data and fit, they may still ask differently."""
    if len(cell.settings) == 1:
        return [{g: study.functional(g, world) for g in cell.functionals}]
    return [{g: study.functional(g, study.world(s)) for g in cell.functionals} for s in cell.settings]


def _learn(study: Study, fits: Sequence[Fit], asked: Sequence[list[dict[str, Functional]]]) -> dict[str, float]:
    """Learn the weights of all functionals for all cells at once; seconds of one cell and functional, by kind."""
    seconds: dict[str, float] = {}
    settings = range(len(asked[0]) if study.kind in _BY_SETTING else 1) if asked else ()
    for kind in ("structured", "direct"):
        if not any(name.partition("+")[0] == kind for name in study.estimators):
            continue
        begun = time.perf_counter()
        pairs = [(g, k) for k in settings for g in asked[0][0]]
        learn_together(list(fits) * len(pairs), [of_cell[k][g] for g, k in pairs for of_cell in asked], kind)
        seconds[kind] = (time.perf_counter() - begun) / max(1, len(fits) * len(pairs))
    return seconds


def _rows(
    study: Study,
    cell: Cell,
    seed: int,
    truth_seed: int,
    case: Case,
    functionals: list[dict[str, Functional]],
    code: str,
) -> list[Row]:
    protocol = case.protocol
    if study.kind in _BY_SETTING:
        cases = [
            replace(case, settings=(s,), functionals=own) for s, own in zip(cell.settings, functionals, strict=True)
        ]
    else:
        cases = [case]
    config = config_of(study, protocol)
    device = torch.cuda.get_device_name(cell.device) if cell.device.startswith("cuda") else cell.device
    out = []
    for part in cases:
        (setting, *_) = part.settings
        its_world = protocol.apply(study.world(setting), truth_seed)
        truths = {g: _truth(its_world, study.functionals[g]) for g in part.functionals}
        out += [
            Row(
                config=config,
                study=study.name,
                backbone=study.backbone,
                setting=cell.settings[0].name,
                protocol=protocol.name,
                repeat=cell.repeat,
                truth=float(truths[a.functional]),
                truth_se=truths[a.functional].se,
                seed=seed,
                code=code,
                device=device,
                **asdict(a),
            )
            for a in _KINDS[study.kind](part, study.estimators)
        ]
    return out


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
