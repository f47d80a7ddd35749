"""Data in one file: what comes back, and what is not read before it is needed."""

import tracemalloc

import h5py
import numpy as np
import pytest

import dope
from dope.data import DataError, Design, Grid, OperatorData
from helpers import data as some_data

GRIDS = {
    "line": Grid.uniform(0, 24, 17),
    "circle": Grid.periodic(0, 1, 12),
    "nodes": Grid.nodes([0, 1, 3, 7]),
    "plane": Grid.product(Grid.cells(0, 1, 5), Grid.uniform(-1, 1, 4)),
}


@pytest.mark.parametrize("name", ["study.h5", "study.npz"])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))
def test_everything_comes_back(tmp_path, name, grid):
    saved = some_data(grid, ids=list("abcdef"), groups=[3, 3, 5, 5, 9, 9], design=np.broadcast_to(
        np.full(grid.shape, 1 / grid.size), (6, *grid.shape)))  # fmt: skip
    saved.save(tmp_path / name)
    got = OperatorData.open(tmp_path / name)
    for part in ("inputs", "points", "values", "groups", "ids"):
        np.testing.assert_array_equal(getattr(got, part), getattr(saved, part))
        assert getattr(got, part).dtype == getattr(saved, part).dtype
    assert got.grid.same_as(grid)
    assert got.grid.measure == grid.measure
    assert repr(got) == repr(saved)
    assert isinstance(got.design, Design)
    np.testing.assert_array_equal(got.design.probability, saved.design.probability)


def test_absent_parts_stay_absent(tmp_path):
    some_data(GRIDS["line"]).save(tmp_path / "s.h5")
    got = OperatorData.open(tmp_path / "s.h5")
    assert got.groups is None
    assert got.design is None


def spoil(path):
    """Make the inputs of a file not a number, where they lie."""
    with h5py.File(path, "r+") as file:
        file["inputs"][...] = np.nan


def test_open_does_not_read_the_inputs(tmp_path):
    path = tmp_path / "big.h5"
    rng = np.random.default_rng(0)
    grid = Grid.uniform(0, 1, 256)
    big = OperatorData(rng.normal(size=(2000, 8, 256)), rng.uniform(0, 1, (2000, 2)), np.ones((2000, 2)), grid=grid)
    big.save(path)
    tracemalloc.start()
    got = OperatorData.open(path)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert big.inputs.nbytes > 16e6
    assert held < 4e6  # points, values and labels take less than 0.2 MB; the inputs alone would take 16
    assert isinstance(got.inputs, np.memmap)
    np.testing.assert_array_equal(got.inputs[1234], big.inputs[1234])
    # what is written to the file after it was opened is seen: nothing was copied
    spoil(path)
    assert np.isnan(got.inputs[0, 0, 0])


def test_a_fit_reads_them_from_the_file_and_changes_nothing(tmp_path):
    study = dope.benchmarks.pharmacokinetics(size=32).sample(12, seed=0).data
    study.save(tmp_path / "s.h5")
    before = (tmp_path / "s.h5").read_bytes()
    model = dope.DOPE(dope.FNO(width=6), folds=2, recipe=dope.Recipe(epochs=1, max_steps=3))
    a = model.fit(study, progress=False).estimate(dope.Mean())
    b = model.fit(OperatorData.open(tmp_path / "s.h5"), progress=False).estimate(dope.Mean())
    assert (a.value, a.se) == (b.value, b.se)
    assert (tmp_path / "s.h5").read_bytes() == before


def test_inputs_of_another_program_are_looked_at(tmp_path):
    import json

    some_data(GRIDS["line"]).save(tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        facts = json.loads(file["facts"].asstr()[()])
        del facts["inputs"], file["facts"]
        file["facts"] = json.dumps(facts)
        file["inputs"][3, 0, 2] = np.nan
    with pytest.raises(DataError, match="unit at position 3 are not finite"):
        OperatorData.open(tmp_path / "s.h5")


def test_saving_over_the_file_that_was_opened_keeps_the_data(tmp_path):
    path = tmp_path / "s.h5"
    saved = some_data(GRIDS["line"])
    saved.save(path)
    got = OperatorData.open(path)
    got.save(path)
    np.testing.assert_array_equal(got.inputs, saved.inputs)
    np.testing.assert_array_equal(OperatorData.open(path).inputs, saved.inputs)
    assert [p.name for p in tmp_path.iterdir()] == ["s.h5"]


@pytest.mark.parametrize("name", ["s.h5", "s.npz"])
def test_a_damaged_file_is_told(tmp_path, name):
    some_data(GRIDS["line"]).save(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"damaged or was not written by OperatorData\.save"):
        OperatorData.open(tmp_path / name)


def test_other_names_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"saved as .h5 or .npz, not as .csv"):
        some_data(GRIDS["line"]).save(tmp_path / "s.csv")
    with pytest.raises(DataError, match="there is no such file"):
        OperatorData.open(tmp_path / "s.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["u"] = [1.0]
    with pytest.raises(DataError, match=r"was not written by OperatorData\.save"):
        OperatorData.open(tmp_path / "other.h5")
