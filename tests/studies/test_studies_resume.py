"""`dope reproduce`, killed and started again: it loses no finished cell and repeats none."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from dope.studies import reproduce, store

# The command with a protocol that takes a moment in place of the recommended one.
_COMMAND = """
import sys
from dope import DeepONet, FNO, Recipe
from dope.studies import PROTOCOLS, Protocol
from dope.cli import main
if __name__ == "__main__":
    PROTOCOLS["recommended"] = {protocol!r}
    sys.exit(main({arguments!r}))
"""
_ARGUMENTS = ["reproduce", "pk-fno", "--setting", "rho=0", "--setting", "rho=0.5", "--device", "cpu"]


class Command:
    """`dope reproduce` as a process of its own."""

    def __init__(self, folder, tiny, executor, repeats):
        self.folder = folder
        self.arguments = [*_ARGUMENTS, "--repeats", str(repeats), "--executor", executor, "--workers", "2",
                          "--out", str(folder)]  # fmt: skip
        self.code = _COMMAND.format(protocol=tiny, arguments=self.arguments)

    def start(self):
        return subprocess.Popen([sys.executable, "-c", self.code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True)  # fmt: skip

    def cells(self):
        """How many cells the store holds by now."""
        file = self.folder / store.FILE
        if not file.exists():
            return 0
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=rw", uri=True, timeout=60)) as db:
                return db.execute("SELECT COUNT(DISTINCT value || ' ' || repeat) FROM rows").fetchone()[0]
        except sqlite3.OperationalError:  # the tables are not made yet
            return 0

    def kill_after(self, cells, wait):
        """Start, and kill -9 once so many cells are stored and `wait` seconds have passed; True if it was alive."""
        process = self.start()
        deadline = time.monotonic() + 120
        while self.cells() < cells and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(wait)
        alive = process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert self.cells() >= cells
        return alive

    def finish(self):
        out, err = self.start().communicate(timeout=300)
        return out, err


def rows_in(folder):
    return {(r.functional, r.value, r.repeat, r.estimator): replace(r, seconds=0.0, code="")
            for r in store.read(folder)[0]}  # fmt: skip


def same(found, expected):
    assert found.keys() == expected.keys()
    for place, row in expected.items():
        # trained in other company: to 1e-6
        for number in ("estimate", "se", "low", "high"):
            assert getattr(found[place], number) == pytest.approx(getattr(row, number), abs=1e-6)


def undisturbed(folder, tiny, repeats):
    reproduce("pk-fno", repeats=repeats, settings=["rho=0", "rho=0.5"], protocol=tiny, out=folder)
    return rows_in(folder)


def test_killed_and_started_again_the_rows_are_those_of_an_undisturbed_run(tmp_path, tiny):
    repeats = 12
    expected = undisturbed(tmp_path / "calm", tiny, repeats)
    command = Command(tmp_path / "killed", tiny, "serial", repeats)
    assert command.kill_after(2, 0.0)
    kept = store.read(command.folder)[0]
    assert 2 <= command.cells() < 2 * repeats
    out, err = command.finish()
    assert "tat: RMSE x 10^2" in out, err
    found = store.read(command.folder)[0]
    assert found[: len(kept)] == kept  # seconds and all: finished cells were left alone
    same(rows_in(command.folder), expected)


@pytest.mark.slow
def test_ten_kills_at_random_moments_change_no_row(tmp_path, tiny):
    repeats, rng = 60, np.random.default_rng(0)
    expected = undisturbed(tmp_path / "calm", tiny, repeats)
    command = Command(tmp_path / "killed", tiny, "local", repeats)
    alive = 0
    for _ in range(10):
        # from before the first cell of the run to some cells later, and anywhere within one
        alive += command.kill_after(min(command.cells() + int(rng.integers(0, 10)), 2 * repeats), rng.uniform(0, 0.5))
    assert alive >= 5  # some may have come after the end
    command.finish()
    same(rows_in(command.folder), expected)


def test_ctrl_c_says_that_nothing_is_lost(tmp_path, tiny):
    command = Command(tmp_path, tiny, "serial", 200)
    process = command.start()
    while command.cells() < 1 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    assert out == ""
    assert command.cells() >= 1
