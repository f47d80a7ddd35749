"""Files and frames as tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.data.errors import DataError
from dope.data.tables.names import ROLES, normal
from dope.data.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

TEXT = (".csv", ".tsv", ".txt", ".dat", ".tab", ".prn")
PARQUET = (".parquet", ".pq")
SAS = (".xpt", ".sas7bdat")
_DELIMITERS = ",;\t|"


def load(source: Any, encoding: str = "utf-8") -> Table:
    """A path to a file, a frame of pandas, or of any library that speaks the dataframe interchange protocol."""
    if isinstance(source, (str, Path)):
        return _file(Path(source), encoding)
    return _frame(_as_pandas(source), "the table")


def _file(path: Path, encoding: str) -> Table:
    if not path.is_file():
        raise DataError(f"{path}: there is no such file.")
    kind = path.suffix.lower()
    if kind in TEXT:
        return _text(path, encoding)
    if kind in PARQUET:
        return _parquet(path)
    if kind in SAS:
        return _sas(path)
    known = ", ".join((*TEXT, *PARQUET, *SAS))
    raise DataError(f"{path}: tables are read from {known} files, not from {kind or 'a file without a suffix'}.")


# ---- frames -------------------------------------------------------------------------------------------
def _as_pandas(source: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, Mapping):
        return pd.DataFrame(dict(source))
    if hasattr(source, "__dataframe__"):
        from pandas.api.interchange import from_dataframe

        return from_dataframe(source)
    if hasattr(source, "__arrow_c_stream__"):  # polars speaks this alone since its version 2
        try:
            import pyarrow
        except ImportError:
            if hasattr(source, "to_dict") and hasattr(source, "columns"):
                return pd.DataFrame({name: source[name].to_list() for name in source.columns})
            raise DataError(
                f"reading a {type(source).__name__} needs pyarrow: pip install 'dope[parquet]', or pass a pandas frame."
            ) from None
        return pyarrow.table(source).to_pandas()
    raise DataError(
        f"a table is a path, a frame of pandas, or one that speaks the dataframe interchange protocol or Arrow's, not "
        f"a {type(source).__name__}."
    )


def _frame(frame: pd.DataFrame, name: str) -> Table:
    frame = frame.rename(columns=str).reset_index(drop=True)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"{name}: the column {twice[0]!r} is there twice: rename one of them.")
    if frame.empty:
        raise DataError(f"{name} is empty: it has {len(frame.columns)} column(s) and {len(frame)} rows.")
    return Table(name, frame, np.arange(len(frame)), "row", "its columns")


def _parquet(path: Path) -> Table:
    # a whole Parquet file begins and ends with the same four letters
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        ends = []
        for place in (0, max(size - 4, 0)):
            file.seek(place)
            ends.append(file.read(4))
    if size == 0:
        raise DataError(f"{path} is empty (0 bytes).")
    if ends[0] != b"PAR1":
        raise DataError(f"{path} is no Parquet file: it does not begin with 'PAR1'.")
    if ends[1] != b"PAR1" or size < 12:
        raise DataError(
            f"{path} is cut off after {size} bytes: a Parquet file ends with 'PAR1', and none of its rows can be read "
            "without that end (from row 0 on). Copy or download it again."
        )
    try:
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            f"{path}: reading Parquet needs pyarrow: pip install 'dope[parquet]', or save the table as CSV."
        ) from None
    try:
        frame = pyarrow.parquet.read_table(path).to_pandas()
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors or OSErrors
        raise DataError(f"{path} is a damaged Parquet file ({str(error).splitlines()[0]}): write it again.") from None
    return _frame(frame, str(path))


def _sas(path: Path) -> Table:
    import pandas as pd

    try:
        frame = pd.read_sas(path, encoding="utf-8")
    except (OSError, ValueError, EOFError, IndexError) as error:
        raise DataError(f"{path} cannot be read as a SAS file ({error}): export it again, or save it as CSV.") from None
    return _frame(frame, str(path))


# ---- text ---------------------------------------------------------------------------------------------
def _text(path: Path, encoding: str) -> Table:
    import pandas as pd

    text = _decoded(path, encoding)
    names, rows, lines, header, off = _rows(text, path)
    if not rows:
        raise DataError(f"{path}, line {header}: there are names but no rows below them: the file holds no data.")
    frame = pd.DataFrame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), dtype=object)
    comma = "," not in text.split("\n", header)[header - 1] and _has_decimal_commas(rows)
    return Table(str(path), frame, np.array(lines), "line", f"line {header}", comma, tuple(off))


def _decoded(path: Path, encoding: str) -> str:
    raw = path.read_bytes()
    if not raw.strip():
        raise DataError(f"{path} is empty ({len(raw)} bytes): there is not even a line with names (line 1).")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf-8":
        raise DataError(f'{path}, line 1: the file is UTF-16: save it as UTF-8, or pass encoding="utf-16".')
    try:
        text = raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}: write e.g. utf-8, latin-1 or cp1252.") from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: byte {raw[error.start]:#04x} is no {encoding}: save the file as UTF-8, or say how "
            'it is written, e.g. encoding="cp1252".'
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{path}, line {line}: there is a zero byte, so this is no text file.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _rows(text: str, path: Path) -> tuple[list[str], list[list[str]], list[int], int, list[int]]:
    """Names, cells of every row that is no comment and not blank, their lines, the line of the names, and the lines of
    rows that begin with # but are whole otherwise: data that somebody has switched off, not a remark."""
    names: list[str] = []
    rows, lines, header = [], [], 0
    off: list[int] = []
    delimiter, skipped = ",", 0
    body = text
    for number, line in enumerate(text.split("\n"), start=1):
        if _is_header(line):
            delimiter = _delimiter(line)
            header, skipped = number, number - 1
            body = "\n".join(text.split("\n")[skipped:])
            break
    else:
        raise DataError(f"{path}, line 1: there is no line with the names of columns.")
    for cells, number in _cells(body, delimiter, skipped, path):
        if not any(cells):
            continue
        if not names:
            cells[0] = cells[0].lstrip("#").strip()
            names = _names(cells, path, number)
            continue
        if cells[0].startswith("#") or cells[0].startswith("TABLE NO"):
            off += [number] if len(cells) == len(names) > 1 and sum(map(bool, cells)) > 1 else []
            continue
        extra = cells[len(names) :]
        if len(cells) < len(names) or any(extra):
            raise DataError(
                f"{path}, line {number}: {len(cells)} cells, but line {header} names {len(names)} columns: write '.' "
                "for what is missing, and put text that holds the separator in quotes."
            )
        rows.append(cells[: len(names)])
        lines.append(number)
    return names, rows, lines, header, off


def _is_header(line: str) -> bool:
    """The first line that is neither blank nor a comment; a comment that begins with the name of the units is none."""
    words = line.strip()
    if not words or words.startswith("TABLE NO"):
        return False
    if not words.startswith("#"):
        return True
    first = re.split(r"[,;\t| ]", words.lstrip("# "), maxsplit=1)
    return len(first) > 1 and normal(first[0]) in (*ROLES["id"], "C")


def _delimiter(header: str) -> str | None:
    """The separator that occurs most in the line of names; None for blanks."""
    counts = {d: header.count(d) for d in _DELIMITERS}
    best = max(counts, key=lambda d: counts[d])
    if counts[best]:
        return best
    return None if len(header.split()) > 1 else ","


def _cells(body: str, delimiter: str | None, skipped: int, path: Path) -> Iterator[tuple[list[str], int]]:
    """(cells, line) of every record; a quoted cell may run over several lines, the first counts."""
    if delimiter is None:
        for number, line in enumerate(body.split("\n"), start=skipped + 1):
            yield line.split() or [""], number
        return
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, skipinitialspace=True)
    before = 0
    try:
        for cells in reader:
            yield [c.strip() for c in cells] or [""], skipped + before + 1
            before = reader.line_num
    except csv.Error as error:  # a quote that is never closed swallows the rest of the file
        raise DataError(
            f"{path}, line {skipped + before + 1}: the record cannot be read ({error}): look for an open quote."
        ) from None


def _names(cells: list[str], path: Path, number: int) -> list[str]:
    while cells and not cells[-1]:  # a separator at the end of the line
        cells.pop()
    names = [c or f"unnamed{k + 1}" for k, c in enumerate(cells)]
    twice = [n for k, n in enumerate(names) if n in names[:k]]
    if twice:
        raise DataError(f"{path}, line {number}: the column {twice[0]!r} is there twice: rename one of them.")
    if all(re.fullmatch(r"[-+.\d eE]+", n) for n in names):
        raise DataError(f"{path}, line {number}: the first line holds numbers: put the names of the columns there.")
    return names


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    return any(re.fullmatch(r"[-+]?\d+,\d+", cell) for row in rows[:1000] for cell in row)
