"""A first look at a table: what has to be chosen before it can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dope.data.tables import observations
from dope.data.tables.names import assign
from dope.data.tables.source import load


def kinds(
    source: Any, encoding: str = "utf-8", named: Mapping[str, str] | None = None
) -> tuple[str, list[tuple[str, int]]] | None:
    """The column that tells several kinds of observations apart, and how many there are of each; else None.

    named : columns by role, where their names are not understood by themselves.
    """
    table = load(source, encoding)
    columns = assign(table.names, named or {}, table.source)
    value = columns.get("value")
    if value is None:
        return None
    table, _ = observations.without_comments(table, columns)
    amount = table.numbers(columns["amount"]) if columns.get("amount") else None
    rows = observations.classify(table, columns, amount).kind == observations.OBSERVATION
    rows &= table.text(value) != ""
    for role in observations.KINDS:
        name = columns.get(role)
        if name is not None:
            found = Counter(word for word in table.text(name)[rows].tolist() if word)
            if len(found) > 1:
                return name, found.most_common()
    return None
