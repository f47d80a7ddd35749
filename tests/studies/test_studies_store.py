"""The store: rows survive, one process writes, anybody reads."""

import math
import sqlite3
import subprocess
import sys
from dataclasses import astuple, replace

import pytest

from dope.data import DataError
from dope.studies import find, results
from dope.studies import store as room
from dope.studies.cell import Cell, config_of


@pytest.fixture
def cell(tiny):
    (study,) = find("pk-fno")
    return Cell(study.key, study.settings[:1], ("tat",), study.estimators, 0, tiny)


def written(folder, tiny, cell, rows):
    with room.writing(folder) as kept:
        kept.register(find("pk-fno")[0], tiny)
        kept.add(cell, rows)


def test_rows_come_back_as_they_went_in(tmp_path, tiny, cell, row):
    rows = [row(), row(estimator="floor", estimate=0.1 + 0.2), row(repeat=3, seed=2**63 - 1)]
    written(tmp_path / "new" / "folder", tiny, cell, rows)
    found, failures = room.read(tmp_path / "new" / "folder")
    assert found == rows
    assert failures == []


def test_a_number_that_went_astray_comes_back(tmp_path, tiny, cell, row):
    written(tmp_path, tiny, cell, [row(estimate=math.nan, se=math.inf)])
    (only,) = room.read(tmp_path)[0]
    assert math.isnan(only.estimate)
    assert only.se == math.inf


def test_a_cell_enters_whole_or_not_at_all(tmp_path, tiny, cell, row):
    with pytest.raises(sqlite3.IntegrityError):
        written(tmp_path, tiny, cell, [row(), row(estimator="floor"), row()])  # the last is the first again
    assert room.read(tmp_path)[0] == []


def test_what_is_finished_is_known_by_setting_repeat_and_functional(tmp_path, tiny, cell, row):
    with room.writing(tmp_path) as kept:
        config = kept.register(find("pk-fno")[0], tiny)
        kept.add(cell, [row(config=config), row(config=config, estimator="floor"), row(config="other", repeat=5)])
        assert kept.finished(config) == {("rho", 0.5, 0, "tat")}


def test_a_failure_is_kept_until_the_cell_succeeds(tmp_path, tiny, cell, row):
    with room.writing(tmp_path) as kept:
        kept.register(find("pk-fno")[0], tiny)
        kept.add(cell, [row(repeat=1)])
        kept.add_failure(cell, "the loss is not finite.")
    assert room.read(tmp_path)[1] == [("pk-fno", 0, "the loss is not finite.")]
    (note,) = results(tmp_path).notes
    assert "1 setting of a repeat gave no rows" in note
    assert "the loss is not finite." in note
    with room.writing(tmp_path) as kept:
        kept.add(cell, [row()])
    assert results(tmp_path).notes == ()


def test_one_process_writes_while_others_read(tmp_path, tiny, cell, row):
    code = (
        f"from pathlib import Path\nfrom dope.studies.store import writing\nwith writing(Path({str(tmp_path)!r})): pass"
    )
    with room.writing(tmp_path) as kept:
        kept.register(find("pk-fno")[0], tiny)
        kept.add(cell, [row()])
        with pytest.raises(DataError, match="another run is writing"), room.writing(tmp_path):
            pass
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert "another run is writing" in other.stderr
        assert room.read(tmp_path)[0] == [row()]
    with room.writing(tmp_path) as kept:  # and afterwards it is free again
        kept.add(cell, [row(repeat=1)])
    assert len(room.read(tmp_path)[0]) == 2


def test_a_writer_that_was_killed_in_the_middle_leaves_what_was_whole_to_readers(tmp_path, tiny, cell, row):
    written(tmp_path, tiny, cell, [row()])
    half = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA cache_size = 1")  # so that half of the transaction is on the disk when it is cut off
db.execute("BEGIN")
db.executemany("INSERT INTO failures VALUES ('c', 'rho', 0.5, ?, ?)", [(k, "x" * 1000) for k in range(2000)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", half, str(tmp_path / room.FILE)], check=False)
    assert (tmp_path / f"{room.FILE}-journal").exists()
    assert room.read(tmp_path) == ([row()], [])


def test_other_numbers_under_the_same_name_are_refused(tmp_path, tiny):
    (study,) = find("pk-fno")
    with room.writing(tmp_path) as kept:
        kept.register(study, tiny)
        kept.register(study, tiny)
        kept.register(study, replace(tiny, name="mine", n=9))
        with pytest.raises(DataError, match="other numbers"):
            kept.register(study, replace(tiny, n=9))


def test_every_number_of_a_protocol_decides_the_hash(tiny):
    (study,) = find("pk-fno")
    others = [replace(tiny, n=9), replace(tiny, recipe=replace(tiny.recipe, rate=1e-4)),
              replace(tiny, fno=replace(tiny.fno, width=5)), replace(tiny, interval="normal"),
              replace(tiny, truth_pool=None)]  # fmt: skip
    assert len({config_of(study, p) for p in (tiny, *others)}) == 6
    assert config_of(study, replace(tiny)) == config_of(study, tiny)


def test_the_numbers_of_the_protocol_are_kept(tmp_path, tiny, cell, row):
    written(tmp_path, tiny, cell, [row()])
    numbers = results(tmp_path).protocols["pk-fno", "recommended"]
    assert numbers["n"] == 8
    assert numbers["recipe"]["max_steps"] == 2


def test_rows_of_several_versions_of_the_code_are_told(tmp_path, tiny, cell, row):
    written(tmp_path, tiny, cell, [row(), row(repeat=1, code="w")])
    found = results(tmp_path)
    assert found.codes == ("v", "w")
    assert found.notes == ("The rows come from 2 versions of the code: v, w.",)


def test_a_folder_without_results_is_told(tmp_path, tiny, cell):
    with pytest.raises(DataError, match=r"holds no results.sqlite: it is written by `dope reproduce"):
        results(tmp_path)
    with room.writing(tmp_path) as kept:
        kept.register(find("pk-fno")[0], tiny)
    with pytest.raises(DataError, match="holds no finished cell yet"):
        results(tmp_path)
    with room.writing(tmp_path) as kept:
        kept.add_failure(cell, "Training diverged.")
    with pytest.raises(DataError, match="Training diverged"):
        results(tmp_path)


def test_a_file_that_is_no_database_is_told(tmp_path):
    (tmp_path / "results.sqlite").write_text("This is a text, and not a short one: it fills a header. " * 9)
    with pytest.raises(DataError, match="cannot be read as results of a study"):
        results(tmp_path)


def test_a_row_is_a_line_of_the_database_under_its_own_names(tmp_path, tiny, cell, row):
    written(tmp_path, tiny, cell, [row()])
    with sqlite3.connect(tmp_path / "results.sqlite") as db:
        names = [c[1] for c in db.execute("PRAGMA table_info(rows)")]
        (line,) = db.execute("SELECT * FROM rows").fetchall()
    assert dict(zip(names, line, strict=True)) == dict(zip(row().__dataclass_fields__, astuple(row()), strict=True))
