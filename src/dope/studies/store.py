"""Where rows are kept: `DIR/results.sqlite`, written by one process, read by anybody at any time."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dope.data import DataError
from dope.studies.cell import Cell, Row, config_of
from dope.studies.protocol import Protocol
from dope.studies.study import Study

FILE, _LOCK = "results.sqlite", "writer.lock"
_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "REAL"}
_NULLABLE = ("estimate", "se", "low", "high")  # SQLite keeps a NaN as NULL
_COLUMNS = [f.name for f in fields(Row)]
_KEY = ("config", "study", "backbone", "functional", "setting", "value", "estimator", "repeat")
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS rows (
  {", ".join(f"{f.name} {_TYPES[f.type]}{'' if f.name in _NULLABLE else ' NOT NULL'}" for f in fields(Row))},
  PRIMARY KEY ({", ".join(_KEY)})
);
CREATE TABLE IF NOT EXISTS configs (
  config TEXT PRIMARY KEY, study TEXT NOT NULL, protocol TEXT NOT NULL, numbers TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS failures (
  config TEXT NOT NULL, setting TEXT NOT NULL, value REAL NOT NULL, repeat INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (config, setting, value, repeat)
);
"""


class Store:
    """The one writer. A cell's rows enter in one transaction, on the disk before they count as done."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._db.executescript(_SCHEMA)

    def register(self, study: Study, protocol: Protocol) -> str:
        """The hash of the study's numbers; refuses a folder that holds the same names with other numbers."""
        config = config_of(study, protocol)
        known = self._db.execute(
            "SELECT config FROM configs WHERE study = ? AND protocol = ?", (study.key, protocol.name)
        ).fetchall()
        if known and (config,) not in known:
            raise DataError(
                f"the folder already holds study {study.key!r} with protocol {protocol.name!r} and other numbers or "
                "estimators: use another folder, or give the protocol another name."
            )
        with self._db:
            self._db.execute(
                "INSERT OR IGNORE INTO configs VALUES (?, ?, ?, ?)",
                (config, study.key, protocol.name, json.dumps(protocol.to_dict())),
            )
        return config

    def finished(self, config: str) -> set[tuple[str, float, int, str]]:
        """(setting, value, repeat, functional) of all rows there are."""
        found = self._db.execute(
            "SELECT DISTINCT setting, value, repeat, functional FROM rows WHERE config = ?", (config,)
        )
        return set(found.fetchall())

    def add(self, cell: Cell, rows: Sequence[Row]) -> None:
        with self._db:
            self._forget_failure(cell)
            self._db.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(_COLUMNS))})", map(astuple, rows))

    def add_failure(self, cell: Cell, reason: str) -> None:
        config = config_of(cell.record, cell.protocol)
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)",
                [(config, s.name, s.value, cell.repeat, reason) for s in cell.settings],
            )

    def _forget_failure(self, cell: Cell) -> None:
        config = config_of(cell.record, cell.protocol)
        self._db.executemany(
            "DELETE FROM failures WHERE config = ? AND setting = ? AND value = ? AND repeat = ?",
            [(config, s.name, s.value, cell.repeat) for s in cell.settings],
        )


@contextmanager
def writing(folder: Path) -> Iterator[Store]:
    """The store of a folder, for its only writer."""
    folder.mkdir(parents=True, exist_ok=True)
    # The system gives this lock back however the process ends, and readers of the results do not meet it.
    with closing(sqlite3.connect(folder / _LOCK, timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise DataError(f"another run is writing to {folder}: wait for it, or use another folder.") from None
        with closing(sqlite3.connect(folder / FILE, timeout=60)) as db:
            db.execute("PRAGMA synchronous = FULL")
            yield Store(db)


def read(folder: str | Path) -> tuple[list[Row], list[tuple[str, int, str]]]:
    """All rows of a folder, and its failed cells as (protocol's study, repeat, reason)."""
    file = Path(folder) / FILE
    if not file.is_file():
        raise DataError(f"{folder} holds no {FILE}: it is written by `dope reproduce STUDY --out {folder}`.")
    with closing(_reader(file)) as db:
        try:
            found = db.execute(f"SELECT {', '.join(_COLUMNS)} FROM rows ORDER BY rowid").fetchall()
            failed = db.execute(
                "SELECT study, repeat, reason FROM failures JOIN configs USING (config) ORDER BY study, repeat"
            ).fetchall()
        except sqlite3.DatabaseError as error:
            raise DataError(f"{file} cannot be read as results of a study: {error}.") from None
    nan = float("nan")
    rows = [Row(*(nan if v is None else v for v in entry)) for entry in found]
    return rows, failed


def numbers(folder: str | Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Every number of the protocols behind a folder's rows, by study and protocol."""
    file = Path(folder) / FILE
    with closing(_reader(file)) as db:
        found = db.execute("SELECT study, protocol, numbers FROM configs ORDER BY rowid").fetchall()
    return {(study, name): json.loads(text) for study, name, text in found}


def _reader(file: Path) -> sqlite3.Connection:
    # A run that was killed in the middle of writing leaves a journal: readers can take back what is half written only
    # where they may write themselves.
    mode = "rw" if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK) else "ro"
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode={mode}", uri=True, timeout=60)


@lru_cache(maxsize=1)
def code_version() -> str:
    """The version of the library, a hash of its source, so that rows of changed code can be told apart, and torch's."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode())
        digest.update(file.read_bytes())
    return f"dope {version('dope')}+{digest.hexdigest()[:10]}, torch {version('torch')}"
