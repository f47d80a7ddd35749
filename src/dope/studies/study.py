"""A study: a small declarative record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dope.benchmarks import World
from dope.data import DataError
from dope.functionals import Functional


@dataclass(frozen=True)
class Setting:
    """One point of a study's grid: `name` and `value` are what tables show, `parameters` what it stands for."""

    name: str
    value: float
    parameters: tuple[tuple[str, float], ...] = ()

    def __getitem__(self, parameter: str) -> float:
        return dict(self.parameters or ((self.name, self.value),))[parameter]

    def get(self, parameter: str, default: float) -> float:
        return dict(self.parameters or ((self.name, self.value),)).get(parameter, default)

    @property
    def all(self) -> tuple[tuple[str, float], ...]:
        return self.parameters or ((self.name, self.value),)


@dataclass(frozen=True)
class Study:
    """What is simulated, over which grid, and what is estimated.

    name : what tables call it. `part` tells two records of one name apart.
    world : the world of a setting.
    functionals : name in tables -> name in the world.
    estimators : rows of every repeat, besides the floor.
    kind : which estimates a cell makes: "standard", "unlabeled", "corrupted" or "baselines".
    published : estimator here -> its name in the published tables.
    together : all settings of a repeat come from one fit, because none of them changes the data.
    shares : the key of the study whose data and fits its repeats are, where they are not its own.
    simulator : the operator was trained on this world, and is not trained again.
    steps : the most optimiser steps of any training, in place of the protocol's.
    """

    name: str
    backbone: str
    world: Callable[[Setting], World]
    functionals: Mapping[str, str]
    settings: tuple[Setting, ...]
    estimators: tuple[str, ...]
    kind: str = "standard"
    part: str = ""
    published: Mapping[str, str] = field(default_factory=dict)
    together: bool = False
    shares: str = ""
    simulator: Callable[[], World] | None = None
    steps: int | None = None
    about: str = ""

    @property
    def key(self) -> str:
        return f"{self.name}/{self.part}" if self.part else self.name

    def functional(self, name: str, world: World) -> Functional:
        return world.functionals[self.functionals[name]].named(name)

    def chosen(self, filters: Sequence[str]) -> tuple[Setting, ...]:
        """The settings that `filters` such as "rho=0.5" leave; values of one parameter are alternatives."""
        wanted: dict[str, set[float]] = {}
        for text in filters:
            name, sign, value = text.partition("=")
            try:
                wanted.setdefault(name.strip(), set()).add(float(value))
            except ValueError:
                sign = ""
            if not sign:
                raise DataError(f"setting {text!r}: write it as name=number, for example {self._examples()[0]}.")
        known = {name for s in self.settings for name, _ in s.all}
        left = self.settings
        for name, values in wanted.items():
            if name not in known:
                raise DataError(f"study {self.name!r} has no setting {name!r}. Known are: {', '.join(sorted(known))}.")
            missing = [v for v in values if not any(_is(s, name, v) for s in self.settings)]
            if missing:
                of = sorted({s[name] for s in self.settings if name in dict(s.all)})
                raise DataError(
                    f"study {self.name!r} has no setting {name}={missing[0]:g}. Known are: "
                    f"{', '.join(f'{name}={v:g}' for v in of)}."
                )
            left = tuple(s for s in left if any(_is(s, name, v) for v in values))
        return left

    def asked(self, names: Sequence[str]) -> tuple[str, ...]:
        """The functionals named, or all of them."""
        return self._named("functional", tuple(self.functionals), names)

    def limited(self, estimators: Sequence[str]) -> Study:
        """The study with the named estimators, or all of them."""
        return replace(self, estimators=self._named("estimator", self.estimators, estimators))

    def _named(self, what: str, known: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
        for name in names:
            if name not in known:
                raise DataError(f"study {self.name!r} has no {what} {name!r}. Known are: {', '.join(known)}.")
        return tuple(f for f in known if not names or f in names)

    def _examples(self) -> list[str]:
        return [f"{name}={value:g}" for name, value in self.settings[0].all]


def _is(setting: Setting, name: str, value: float) -> bool:
    return name in dict(setting.all) and math.isclose(setting[name], value, abs_tol=1e-12)


def grid(name: str, values: Sequence[float], **fixed: float) -> tuple[Setting, ...]:
    """A setting for each value of one parameter, beside fixed ones."""
    return tuple(Setting(name, float(v), ((name, float(v)), *fixed.items())) for v in values)
