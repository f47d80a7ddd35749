"""The studies there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dope.benchmarks import World, burgers, darcy, glucose, pharmacokinetics, temperature, tracking
from dope.data import DataError
from dope.studies.study import Setting, Study, grid

_RHO = grid("rho", [k / 8 for k in range(9)])
_KAPPA = grid("kappa", [k / 5 for k in range(6)])
_UNITS = (64, 256, 1024, 4096)
_CHEAP = ("plugin", "one-step", "exact", "targeted", "auto", "design", "exact-design", "oracle-pi")
_TABLE = (*_CHEAP, "structured", "direct", "oracle")
# Steps of a training whose budget does not grow with n, as a large operator's would not: ten epochs at n = 64.
_BUDGET = 80
_PRINTED = {"plugin": "plugin", "direct": "dope", "structured": "structured", "oracle": "oracle"}
_PK = {"auc": "auc", "tat": "tat", "soft_cmax": "soft_cmax"}
_TWO = {"auc": "auc", "tat": "tat"}


def _dosing(setting: Setting) -> World:
    return pharmacokinetics(rho=setting.get("rho", 0.5))


def _flow(setting: Setting) -> World:
    return darcy(kappa=setting.get("kappa", 0.0))


def _faster_clearance(setting: Setting) -> World:
    return pharmacokinetics(rho=setting.get("rho", 0.5), clearance_shift=setting["s"])


def _other_medium(setting: Setting) -> World:
    return darcy(kappa=setting.get("kappa", 0.0), coefficient_shift=setting["s"])


def _further(world: Callable[..., World], functionals: Sequence[str], about: str, *more: Setting) -> Study:
    """A study of one of the worlds beyond the published two."""

    def at(setting: Setting) -> World:
        return world(rho=setting["rho"])

    return Study(
        "worlds",
        "fno",
        at,
        {g: g for g in functionals},
        (*grid("rho", [0.0, 0.5]), *more),
        ("plugin", "one-step", "auto", "design", "exact-design", "oracle-pi"),
        part=world().name,
        about=about,
    )


# A day of glucose is too intricate to be learned from the units of a protocol: with more, one sees that this is all.
_MORE_DAYS = tuple(Setting("n=256, rho", rho, (("rho", rho), ("n", 256.0))) for rho in (0.0, 0.5))

# The shift is part of the setting's name, so that a table has one line of sample sizes for each.
_SHIFT = tuple(Setting(f"s={s:g}, n", float(n), (("s", s), ("n", float(n)))) for s in (0.0, 0.1, 0.25) for n in _UNITS)

_ALL = (
    Study(
        "pk-fno", "fno", _dosing, _PK, _RHO, _TABLE, published=_PRINTED, about="Plug-in against debiased, by sampling."
    ),
    Study("pk-deeponet", "deeponet", _dosing, _PK, _RHO, _TABLE, published=_PRINTED, about="The same with a DeepONet."),
    Study(
        "darcy",
        "fno",
        _flow,
        {"smooth_excess": "excess"},
        _KAPPA,
        _TABLE,
        published={"plugin": "plugin", "direct": "dope"},
        together=True,  # kappa changes the question, not the data
        about="Smooth excess above a threshold in a random medium.",
    ),
    Study(
        "pk-coverage",
        "fno",
        _dosing,
        _PK,
        _RHO,
        ("plugin", "one-step", "exact", "targeted", "auto", "direct", "oracle", "oracle-pi"),
        published={"plugin": "plugin", "direct": "dope"},
        shares="pk-fno",
        about="Coverage and length of 95 % intervals.",
    ),
    Study(
        "pk-ppi",
        "fno",
        _dosing,
        {"soft_cmax": "soft_cmax", "auc": "auc"},
        # The published tables do not state their rho.
        grid("n2", [0, 64, 128, 256, 512, 1024, 2048, 4096], rho=0.5),
        ("plugin", "direct+paper", "direct+tuned", "one-step+paper", "one-step+tuned", "auto+paper", "auto+tuned"),
        kind="unlabeled",
        published={"plugin": "plugin", "direct+paper": "dope"},
        together=True,
        about="Further inputs without observations; rho = 0.5.",
    ),
    Study(
        "shift",
        "fno",
        _faster_clearance,
        _PK,
        _SHIFT,
        ("plugin", "one-step", "exact", "targeted", "auto", "design"),
        simulator=pharmacokinetics,
        about="A frozen operator from a simulator whose clearance is off by the factor 1 + s.",
    ),
    Study(
        "shift",
        "fno",
        _other_medium,
        {"smooth_excess": "excess"},
        _SHIFT,
        ("plugin", "one-step", "exact", "targeted", "auto", "design"),
        part="darcy",
        simulator=darcy,
        about="A frozen operator from a simulator whose medium conducts 1 + s times as well.",
    ),
    Study("rates", "fno", _dosing, _PK, grid("n", _UNITS, rho=0.5), _CHEAP, about="Bias and error against n."),
    Study(
        "rates",
        "fno",
        _dosing,
        _PK,
        tuple(
            Setting(f"{_BUDGET} steps, n", float(n), (("rho", 0.5), ("n", float(n)), ("steps", float(_BUDGET))))
            for n in _UNITS
        ),
        _CHEAP,
        part="budget",
        steps=_BUDGET,
        about="Bias and error against n with a training budget that does not grow.",
    ),
    Study(
        "robustness",
        "fno",
        _dosing,
        _TWO,
        grid("delta", [k / 10 for k in range(6)], rho=0.5),
        ("plugin S", "one-step S", "one-step beta", "one-step S+beta", "exact S"),
        kind="corrupted",
        together=True,
        about="Errors of S and of beta made 1 + delta times as large.",
    ),
    Study(
        "baselines",
        "fno",
        _dosing,
        _PK,
        _RHO,
        ("trapezoid", "spline", "gp", "weighted", "plugin", "auto"),
        kind="baselines",
        about="Every unit by itself, without an operator.",
    ),
    _further(glucose, ("time_in_range", "mean"), "Blood glucose over a day: time in range.", *_MORE_DAYS),
    _further(burgers, ("energy",), "Waves that steepen into fronts: energy."),
    _further(tracking, ("tracking_error",), "A servo under disturbances: accumulated tracking error."),
    _further(temperature, ("hot_area", "excess"), "The temperature of a plate: exceedance of a threshold."),
)

STUDIES: dict[str, tuple[Study, ...]] = {}
for _study in _ALL:
    STUDIES[_study.name] = (*STUDIES.get(_study.name, ()), _study)
_BY_KEY = {s.key: s for s in _ALL}


def find(name: str) -> tuple[Study, ...]:
    """The records of a study; "all" are all of them."""
    if name == "all":
        return _ALL
    if name not in STUDIES:
        raise DataError(f"there is no study {name!r}. Known are: {', '.join(STUDIES)}, all.")
    return STUDIES[name]


def by_key(key: str) -> Study:
    return _BY_KEY[key]


def select(
    name: str, settings: Sequence[str], functionals: Sequence[str], estimators: Sequence[str] = ()
) -> list[tuple[Study, list, list]]:
    """(study, settings, functionals) of every record that the filters leave something of."""
    out, errors = [], []
    for study in find(name):
        try:
            out.append((study.limited(estimators), list(study.chosen(settings)), list(study.asked(functionals))))
        except DataError as error:  # another record of the same name may have it
            errors.append(error)
    out = [entry for entry in out if entry[1] and entry[2]]
    if not out:
        if errors:
            raise errors[0]
        raise DataError(f"no setting of study {name!r} satisfies all of: {', '.join(settings)}.")
    return out
