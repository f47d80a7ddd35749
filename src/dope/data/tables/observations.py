"""Which rows are observations, which are doses, and which are neither."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dope.data.errors import DataError
from dope.data.tables.names import Columns, exactly, is_counter, normal, unit_in
from dope.data.tables.reading import Dropped
from dope.data.tables.table import Table

BELOW = re.compile(r"^(<.*|BLQ|BQL|BLOQ|BLLOQ|<?LLOQ|BDL|ND)$", re.IGNORECASE)
_YES = frozenset({"1", "Y", "YES", "T", "TRUE", "BLQ", "BQL", "BLOQ"})
_NO = frozenset({"", "0", "N", "NO", "F", "FALSE", "ALQ"})
BLQ = ("drop", "half", "zero")
# Roles whose column tells observations of several kinds apart.
KINDS = ("analyte", "compartment")
# Units of measurement differ by thousands; subjects of one study seldom by this, with nobody between.
_APART = 300.0

# What sensors write beyond their range.
_ENDS = " A sensor's HIGH and LOW are its ends: write the value, e.g. 400 and 40 mg/dL."

OBSERVATION, DOSE, OTHER, RESET = 0, 1, 2, 3


@dataclass(frozen=True, eq=False)
class Rows:
    """`kind` (rows,) of every row, and `resets` where a dose also empties the body (EVID 4)."""

    kind: np.ndarray
    resets: np.ndarray


def without_comments(table: Table, columns: Columns) -> tuple[Table, list[Dropped]]:
    """The table without rows that are commented out or flagged as excluded."""
    dropped = [Dropped("begin with #", table.switched_off, table.row)] if table.switched_off else []
    keep = np.ones(len(table), bool)
    for role, why in (("comment", "commented out"), ("excluded", "flagged as excluded")):
        name = columns.get(role)
        if name is None:
            continue
        words = np.char.upper(table.text(name).astype(str))
        out = ~np.isin(words, list(_NO)) & keep
        if role == "comment" and columns.plain(role) == "COMMENT":
            out = words == "C"  # a column of remarks comments nothing out
        if out.any():
            dropped.append(Dropped(f"{why} ({name})", tuple(int(n) for n in table.lines[out]), table.row))
        keep &= ~out
    if not keep.any():
        raise DataError(f"{table.source}: every row is commented out or excluded, so nothing is left to read.")
    return (table if keep.all() else table.take(keep)), dropped


def no_duplicates(table: Table) -> None:
    """Refuse rows that say everything twice."""
    frame = table.frame[[name for name in table.names if not is_counter(name)]]
    again = frame.duplicated(keep="first").to_numpy()
    if again.any():
        at = int(np.argmax(again))
        same = (frame == frame.iloc[at]) | (frame.isna() & frame.iloc[at].isna())
        first = int(np.argmax(same.all(axis=1).to_numpy()))
        raise table.error(
            again,
            f"the same in every column as an earlier row ({table.row} {table.lines[first]} and {table.lines[at]} are "
            "the first pair): an observation or a dose counted twice is not two. Delete the repeated rows.",
        )


def classify(table: Table, columns: Columns, amount: np.ndarray | None) -> Rows:
    """Observations, doses and other rows, by EVID where there is one, else by AMT."""
    dosed = np.zeros(len(table), bool) if amount is None else np.nan_to_num(amount) != 0
    kind = np.where(dosed, DOSE, OBSERVATION)
    resets = np.zeros(len(table), bool)
    name = columns.get("event")
    if name is None:
        return Rows(kind, resets)
    event = table.numbers(name)
    bad = np.isfinite(event) & ~np.isin(event, (0, 1, 2, 3, 4))
    if bad.any():
        raise table.error(
            bad,
            f"{name} is {event[np.argmax(bad)]:g}: understood are 0 (observation), 1 (dose), 2 (other), 3 (reset) and "
            "4 (reset and dose).",
        )
    given = np.isfinite(event)
    kind = np.where(given, np.choose(np.nan_to_num(event).astype(int), (OBSERVATION, DOSE, OTHER, RESET, DOSE)), kind)
    resets = event == 4
    odd = (kind == OBSERVATION) & dosed & given
    if odd.any():
        raise table.error(
            odd, f"{name} says observation, but there is an amount: set {name} to 1 for a dose, or the amount to '.'."
        )
    return Rows(kind, resets)


def chosen(
    table: Table, columns: Columns, candidates: np.ndarray, where: Mapping[str, Any]
) -> tuple[np.ndarray, list[Dropped]]:
    """Of the candidate rows those of the wanted kind: `where` maps a column to a value, or to several."""
    dropped = []
    keep = candidates.copy()
    for name, value in where.items():
        column = exactly(name, table.names, table.source)
        wanted = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        match = np.zeros(len(table), bool)
        numbers, _ = table.parsed(column)
        words = table.text(column)
        for one in wanted:
            match |= words == str(one).strip()
            if isinstance(one, (int, float)):
                match |= numbers == one
        if not (keep & match).any():
            there = ", ".join(sorted(set(words[keep].tolist()))[:8])
            raise DataError(f"{table.source}: no observation has {column} = {value!r}; there are {there}.")
        out = keep & ~match
        if out.any():
            label = ", ".join(str(one) for one in wanted)
            dropped.append(Dropped(f"{column} is not {label}", tuple(int(n) for n in table.lines[out]), table.row))
        keep &= match
    if columns.get("value") is not None:
        _one_kind(table, columns, keep & (table.text(columns["value"]) != ""), where)
    return keep, dropped


def _one_kind(table: Table, columns: Columns, rows: np.ndarray, where: Mapping[str, Any]) -> None:
    """Refuse a mixture of analytes, or of units of measurement."""
    for role in KINDS:
        name = columns.get(role)
        if name is None or name in where:
            continue
        words = table.text(name)
        kinds = list(dict.fromkeys(words[rows & (words != "")].tolist()))
        if len(kinds) > 1:
            raise table.error(
                rows & (words == kinds[1]),
                f"{name} is {kinds[1]!r}, but {kinds[0]!r} before: one thing is estimated at a time. Choose it with "
                f'where = {{{name} = "{kinds[0]}"}}.',
            )
    named = [name for name in columns.others if re.search(r"UNITS?$", normal(name))]
    for name in filter(None, (columns.get("value unit"), *named)):
        _one_unit(table, name, rows, columns["value"])


def far_apart(y: np.ndarray, code: np.ndarray, names: np.ndarray) -> str:
    """A remark where some units' values are so much larger than the others' that they may be in another unit."""
    import pandas as pd

    level = pd.Series(np.abs(y)).groupby(code).median()
    level = level[level > 0].sort_values()
    if len(level) < 2:
        return ""
    steps = level.to_numpy()[1:] / level.to_numpy()[:-1]
    at = int(np.argmax(steps))
    if steps[at] < _APART:
        return ""
    few = level.index[: at + 1] if 2 * (at + 1) <= len(level) else level.index[at + 1 :]
    shown = ", ".join(str(names[k]) for k in sorted(few)[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
    return f"values of {shown} are about {steps[at]:.2g} times off the others': is that another unit of measurement?"


def _one_unit(table: Table, name: str, rows: np.ndarray, what: str) -> None:
    words = table.text(name)
    folded = np.char.lower(words.astype(str))
    first = folded[rows & (folded != "")]
    if len(first) and (first != first[0]).any():
        other = rows & (folded != "") & (folded != first[0])
        raise table.error(
            other,
            f"{what} is in {words[np.argmax(other)]}, elsewhere in {words[np.argmax(rows & (folded == first[0]))]} "
            f"({name}): convert it to one unit.",
        )


def unit_of(table: Table, columns: Columns, role: str, what: str, rows: np.ndarray) -> str | None:
    """The one unit of a column, from a column of units or from its own header."""
    name = columns.get(role)
    if name is not None and rows.any():
        _one_unit(table, name, rows, columns.get(what) or what)
        words = [w for w in table.text(name)[rows].tolist() if w]
        if words:
            return words[0]
    held = columns.get(what)
    return unit_in(held) if held else None


def values(
    table: Table, columns: Columns, rows: np.ndarray, blq: str
) -> tuple[np.ndarray, np.ndarray, list[Dropped], int]:
    """`(values, rows that hold one, dropped rows, how many were replaced)`, below-limit values treated as asked."""
    if blq not in BLQ:
        raise DataError(f"blq must be one of {', '.join(BLQ)}, got {blq!r}.")
    name = columns["value"]
    y, bad = table.parsed(name)
    words = table.text(name)
    below = np.array([bool(BELOW.match(w)) for w in words]) & bad
    wrong = bad & ~below & rows
    if wrong.any():
        raise table.error(
            wrong,
            f"{name} is {words[np.argmax(wrong)]!r}, not a number: correct it, write '.' for a value that is missing, "
            "and '<0.5' or BLQ for one below the limit."
            + (_ENDS if words[np.argmax(wrong)].upper() in ("HIGH", "LOW", "HI", "LO") else ""),
        )
    y = np.where(bad, np.nan, y)
    flag = columns.get("blq")
    if flag is not None:
        marks = np.char.upper(table.text(flag).astype(str))
        strange = rows & ~np.isin(marks, list(_YES | _NO))
        if strange.any():
            raise table.error(strange, f"{flag} is {marks[np.argmax(strange)]!r}: write 1 or Y, 0 or N.")
        below |= np.isin(marks, list(_YES))
    below &= rows
    dropped, replaced = [], 0
    missing = columns.get("missing")
    if missing is not None:
        out = rows & (table.numbers(missing) == 1) & ~below
        if out.any():
            dropped.append(Dropped(f"{missing} = 1", tuple(int(n) for n in table.lines[out]), table.row))
        rows = rows & ~out
    if below.any() and blq == "drop":
        why = "below the limit of quantification"
        dropped.append(Dropped(why, tuple(int(n) for n in table.lines[below]), table.row))
        rows = rows & ~below
    elif below.any():
        y = np.where(below, 0.0 if blq == "zero" else _half(table, columns, words, y, below), y)
        replaced = int(below.sum())
    empty = rows & ~np.isfinite(y)
    if empty.any():
        dropped.append(Dropped(f"no {name}", tuple(int(n) for n in table.lines[empty]), table.row))
    return y, rows & ~empty, dropped, replaced


def _half(table: Table, columns: Columns, words: np.ndarray, y: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Half the limit of every value below it: from '<0.5', from a column of limits, or (CENS) from the value."""
    limit = np.array([_limit(w) for w in words])
    name = columns.get("limit")
    if name is not None:
        limit = np.where(np.isfinite(limit), limit, table.numbers(name))
    if columns.get("blq") is not None and normal(columns["blq"]) == "CENS":
        limit = np.where(np.isfinite(limit), limit, y)  # a censored value is the limit itself
    unknown = below & ~np.isfinite(limit)
    if unknown.any():
        raise table.error(
            unknown,
            'the limit of quantification is not known, so blq="half" has nothing to halve: add a column LLOQ, write '
            "'<0.5', or use blq=\"drop\".",
        )
    return limit / 2


def _limit(word: str) -> float:
    """The limit in '<0.5'; not a number in any other word."""
    try:
        return float(word[1:].lstrip("= ")) if word.startswith("<") else np.nan
    except ValueError:
        return np.nan
