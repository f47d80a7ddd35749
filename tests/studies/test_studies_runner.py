"""Carrying a study out: nothing is done twice, and a row depends on its own place alone."""

import time
from dataclasses import replace

import numpy as np
import pytest

from dope.data import DataError
from dope.functionals import Integral
from dope.studies import STUDIES, find, reproduce, runner, store
from dope.studies import cell as cells
from dope.studies.cell import Failure, seed_of
from dope.studies.registry import select

ONE = {"settings": ["rho=0.5"], "functionals": ["tat"]}
EVERY = [study for records in STUDIES.values() for study in records]


def rows_in(folder):
    """Rows by their place, without how long they took and which code made them."""
    found, failures = store.read(folder)
    assert failures == []
    return {(r.study, r.functional, r.setting, r.value, r.repeat, r.estimator): replace(r, seconds=0.0, code="")
            for r in found}  # fmt: skip


@pytest.fixture
def done(monkeypatch):
    """The cells that runs really carry out, as (setting, repeat, functionals)."""
    out, before = [], runner.outcomes

    def counted(asked, *how):
        for cell, outcome in before(asked, *how):
            out.append((*(s.value for s in cell.settings), cell.repeat, cell.functionals))
            yield cell, outcome

    monkeypatch.setattr(runner, "outcomes", counted)
    return out


def test_a_finished_cell_is_not_repeated_and_more_repeats_add_only_those(tmp_path, tiny, done):
    run = {"protocol": tiny, "out": tmp_path, **ONE}
    first = reproduce("pk-fno", repeats=2, **run)
    assert done == [(0.5, 0, ("tat",)), (0.5, 1, ("tat",))]
    kept = rows_in(tmp_path)
    assert reproduce("pk-fno", repeats=2, **run) == first
    assert len(done) == 2
    reproduce("pk-fno", repeats=3, **run)
    assert done[2:] == [(0.5, 2, ("tat",))]
    after = rows_in(tmp_path)
    assert {place: after[place] for place in kept} == kept
    assert reproduce("pk-fno", repeats=1, **run)[0].repeats == 3  # what is there is shown


def test_a_functional_and_a_setting_more_add_only_themselves(tmp_path, tiny, done):
    run = {"repeats": 1, "protocol": tiny, "out": tmp_path}
    reproduce("pk-fno", **run, **ONE)
    reproduce("pk-fno", settings=["rho=0.5", "rho=1"], functionals=["auc", "tat"], **run)
    assert sorted(done[1:]) == [(0.5, 0, ("auc",)), (1.0, 0, ("auc", "tat"))]


def test_the_table_is_of_what_was_asked_for(tmp_path, tiny):
    run = {"repeats": 1, "protocol": tiny, "out": tmp_path}
    reproduce("pk-fno", settings=["rho=0", "rho=0.5"], **run)
    table = reproduce("pk-fno", **run, **ONE)
    assert {(s.value, s.functional) for s in table} == {(0.5, "tat")}
    assert {s.estimator for s in table} == {"floor", *find("pk-fno")[0].estimators}


@pytest.mark.parametrize("study", EVERY, ids=lambda s: s.key)
def test_every_study_gives_every_row(tmp_path, tiny, study):
    small = [s for s in study.settings if s.get("n", 8) <= 64]
    chosen = small if study.together else small[:1]
    from dope.studies.cell import Cell, run_block

    functionals = tuple(study.functionals)
    (rows,) = run_block([Cell(study.key, tuple(chosen), functionals, study.estimators, 0, tiny)], "v")
    world = study.world(chosen[0])
    expected = {
        (g, s.value, e)
        for g in functionals
        for s in chosen
        for e in ("floor", *study.estimators)
        if isinstance(study.functional(g, world), Integral) or not e.startswith(("exact", "weighted"))
    }
    assert {(r.functional, r.value, r.estimator) for r in rows} == expected
    assert len(rows) == len(expected)
    for r in rows:
        assert np.isfinite([r.estimate, r.truth, r.low, r.high]).all()
        assert r.low <= r.estimate <= r.high
        assert r.seed == seed_of(study, chosen[0], 0)


def test_coverage_is_another_view_of_the_same_repeats(tmp_path, tiny, done):
    # the published coverage is that of the intervals of the published errors: one training serves both
    run = {"repeats": 1, "protocol": tiny, "settings": ["rho=0.5"], "functionals": ["tat"]}
    chosen = [entry for name in ("pk-fno", "pk-coverage") for entry in select(name, ["rho=0.5"], ["tat"])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "select", lambda *filters: chosen)
        reproduce("all", out=tmp_path / "both", **run)
    assert len(done) == 1
    reproduce("pk-coverage", out=tmp_path / "alone", **run)
    assert len(done) == 2
    both, alone = rows_in(tmp_path / "both"), rows_in(tmp_path / "alone")
    same({place: both[place] for place in alone}, alone)
    assert {place[0] for place in both} == {"pk-fno", "pk-coverage"}


def test_estimators_that_are_not_asked_for_are_not_learned(tmp_path, tiny, monkeypatch):
    run = {"repeats": 1, "protocol": tiny, **ONE}
    reproduce("pk-fno", out=tmp_path / "all", **run)
    monkeypatch.setattr(cells, "learn_together", None)  # would fail if it were called
    reproduce("pk-fno", out=tmp_path / "few", estimators=["auto", "plugin"], **run)
    every, few = rows_in(tmp_path / "all"), rows_in(tmp_path / "few")
    assert {place[-1] for place in few} == {"floor", "plugin", "auto"}
    config = {row.config for row in few.values()}.pop()
    assert few == {place: replace(every[place], config=config) for place in few}
    with pytest.raises(DataError, match="other numbers or estimators"):
        reproduce("pk-fno", out=tmp_path / "few", **run)


def test_seeds_differ_between_cells_and_not_between_functionals():
    settings = find("pk-fno")[0].settings
    seeds = {seed_of(find(name)[0], s, r) for name in ("pk-fno", "pk-deeponet") for s in settings for r in range(5)}
    assert len(seeds) == 2 * 9 * 5


def test_rows_do_not_depend_on_order_or_company(tmp_path, tiny):
    run = {"protocol": tiny, "functionals": ["tat"]}
    reproduce("pk-fno", repeats=2, settings=["rho=0", "rho=0.5"], out=tmp_path / "a", **run)
    for value in ("rho=0.5", "rho=0"):
        reproduce("pk-fno", repeats=2, settings=[value], out=tmp_path / "b", **run)
    same(rows_in(tmp_path / "a"), rows_in(tmp_path / "b"))


def test_processes_give_the_rows_of_this_one(tmp_path, tiny):
    run = {"repeats": 3, "protocol": tiny, "settings": ["rho=0", "rho=0.5"]}
    reproduce("pk-fno", out=tmp_path / "serial", **run)
    reproduce("pk-fno", out=tmp_path / "local", executor="local", workers=2, **run)
    same(rows_in(tmp_path / "serial"), rows_in(tmp_path / "local"))


def same(one, other):
    assert one.keys() == other.keys()
    for place, row in one.items():
        for number in ("estimate", "se", "low", "high", "truth"):
            # the same seed gives the same row to 1e-6 whatever the executor
            assert getattr(other[place], number) == pytest.approx(getattr(row, number), abs=1e-6)
        assert other[place].seed == row.seed


@pytest.mark.slow
def test_dask_gives_the_rows_of_this_process(tmp_path, tiny):
    distributed = pytest.importorskip("distributed")
    run = {"repeats": 3, "protocol": tiny, "settings": ["rho=0", "rho=0.5"]}
    reproduce("pk-fno", out=tmp_path / "serial", **run)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        reproduce("pk-fno", out=tmp_path / "dask", executor=f"dask:{cluster.scheduler_address}", **run)
    same(rows_in(tmp_path / "serial"), rows_in(tmp_path / "dask"))


def test_training_that_fails_is_told_and_tried_again(tmp_path, tiny, monkeypatch):
    before, fail = cells.run_block, [True]

    def unlucky(block, code):
        return [Failure("The loss is not finite.") if cell.repeat == 1 and fail else rows
                for cell, rows in zip(block, before(block, code), strict=True)]  # fmt: skip

    monkeypatch.setattr("dope.studies.executor.run_block", unlucky)
    run = {"repeats": 3, "protocol": tiny, "out": tmp_path, **ONE}
    assert {s.repeats for s in reproduce("pk-fno", **run)} == {2}
    assert store.read(tmp_path)[1] == [("pk-fno", 1, "The loss is not finite.")]
    fail.clear()
    assert {s.repeats for s in reproduce("pk-fno", **run)} == {3}
    assert store.read(tmp_path)[1] == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"repeats": 0}, "repeats must be a whole number of at least 1, got 0"),
        ({"workers": 0}, "workers must be"),
        ({"protocol": "mine"}, "there is no protocol 'mine'. Known are: recommended, paper"),
        ({"executor": "ray"}, "executor must be serial, local or dask:ADDRESS, got 'ray'"),
        ({"executor": "dask:"}, "executor must be"),
        ({"device": "tpux"}, "device 'tpux' is not known"),
    ],
)
def test_bad_arguments_are_told_before_anything_is_trained(tmp_path, wrong, words):
    begun = time.monotonic()
    with pytest.raises(DataError) as caught:
        reproduce("pk-fno", **({"out": tmp_path} | wrong))
    assert words in str(caught.value)
    assert time.monotonic() - begun < 5
