"""The studies there are: their names, their grids, and how parts of them are asked for."""

import pytest

from dope.data import DataError
from dope.functionals import Functional
from dope.studies import PROTOCOLS, STUDIES, find
from dope.studies.registry import by_key, select
from dope.studies.study import Setting

EVERY = [study for records in STUDIES.values() for study in records]
NINE = ("pk-fno", "pk-deeponet", "pk-ppi", "darcy", "pk-coverage", "robustness", "rates", "shift", "baselines")


def test_the_nine_studies_are_there_and_all_are_all_of_them():
    assert set(NINE) <= set(STUDIES)
    assert list(find("all")) == EVERY
    assert len({s.key for s in EVERY}) == len(EVERY)


@pytest.mark.parametrize("study", EVERY, ids=lambda s: s.key)
def test_every_record_can_be_asked_for_all_it_names(study):
    assert by_key(study.key) is study
    assert len({(s.name, s.value) for s in study.settings}) == len(study.settings)
    for setting in (study.settings[0], study.settings[-1]):
        world = study.world(setting)
        for name in study.functionals:
            functional = study.functional(name, world)
            assert isinstance(functional, Functional)
            assert functional.name == name
    for protocol in PROTOCOLS.values():
        assert protocol.operator(study.backbone, world.grid.ndim) is not None
    assert set(study.published) <= set(study.estimators)


@pytest.mark.parametrize(
    ("name", "setting", "values"),
    [
        ("pk-fno", "rho", [k / 8 for k in range(9)]),
        ("pk-deeponet", "rho", [k / 8 for k in range(9)]),
        ("darcy", "kappa", [0, 0.2, 0.4, 0.6, 0.8, 1]),
        ("pk-ppi", "n2", [0, 64, 128, 256, 512, 1024, 2048, 4096]),
        ("rates", "n", [64, 256, 1024, 4096]),
        ("robustness", "delta", [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_grids_are_those_of_the_protocol(name, setting, values):
    found = [s.value for s in find(name)[0].settings]
    assert found == pytest.approx(values)
    assert {s.name for s in find(name)[0].settings} == {setting}


def test_filters_of_one_parameter_are_alternatives_and_of_several_all_hold():
    (study,) = find("pk-fno")
    assert [s.value for s in study.chosen(["rho=0.5", "rho=1"])] == [0.5, 1.0]
    shift = find("shift")[0]
    (only,) = shift.chosen(["s=0.25", "n=256"])
    assert (only["s"], only["n"]) == (0.25, 256)
    assert [s["s"] for s in shift.chosen(["n=64"])] == [0.0, 0.1, 0.25]


def test_a_setting_stands_for_its_own_value_unless_it_says_more():
    assert Setting("rho", 0.5)["rho"] == 0.5
    assert Setting("n", 64.0, (("n", 64.0), ("rho", 0.5))).get("rho", 0) == 0.5
    assert Setting("rho", 0.5).get("n", 7) == 7


@pytest.mark.parametrize(
    ("study", "settings", "functionals", "words"),
    [
        ("pk-fnо", [], [], "there is no study"),
        ("nonsense", [], [], "Known are: pk-fno, "),
        ("pk-fno", ["rho"], [], "setting 'rho': write it as name=number, for example rho=0"),
        ("pk-fno", ["rho=half"], [], "write it as name=number"),
        ("pk-fno", ["kappa=0"], [], "has no setting 'kappa'. Known are: rho"),
        ("pk-fno", ["rho=0.3"], [], "has no setting rho=0.3. Known are: rho=0, rho=0.125"),
        ("pk-fno", [], ["peak"], "has no functional 'peak'. Known are: auc, tat"),
        ("all", ["rho=7"], [], "has no setting rho=7"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(study, settings, functionals, words):
    with pytest.raises(DataError) as caught:
        select(study, settings, functionals)
    assert words in str(caught.value)


def test_estimators_are_chosen_in_the_order_of_the_study():
    ((study, _, _),) = select("pk-fno", ["rho=0.5"], ["tat"], ["oracle", "plugin"])
    assert study.estimators == ("plugin", "oracle")
    with pytest.raises(DataError, match=r"has no estimator 'best'\. Known are: plugin, one-step"):
        select("pk-fno", [], [], ["best"])


def test_a_filter_chooses_among_the_records_of_a_name():
    chosen = select("shift", ["s=0.25", "n=64"], ["tat"])
    assert [(s.key, len(points), asked) for s, points, asked in chosen] == [("shift", 1, ["tat"])]
    everything = select("all", ["kappa=0.2"], [])
    assert [s.key for s, _, _ in everything] == ["darcy"]
