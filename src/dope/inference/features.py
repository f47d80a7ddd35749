"""Features of the inputs as the columns of a regression, for the units at hand and for new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dope.data import DataError


@dataclass(frozen=True)
class Column:
    """One given column: numbers with the `span` they lie in, or labels with their `levels`."""

    name: str
    levels: tuple[Any, ...] | None = None
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Basis:
    """How features become columns. `knots`, where given, are those of a natural cubic spline in one column.

    Labels alone give one indicator each (`means`); labels beside other columns leave out their first level.
    """

    columns: tuple[Column, ...]
    knots: tuple[float, ...] | None = None
    means: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        if self.means:
            return tuple(str(level) for level in self.columns[0].levels or ())
        if self.knots is not None:
            return ("intercept", *(f"spline {k + 1} of {self.columns[0].name}" for k in range(len(self.knots) - 1)))
        out = ["intercept"]
        for c in self.columns:
            out += [c.name] if c.levels is None else [f"{c.name}={level}" for level in c.levels[1:]]
        return tuple(out)

    def matrix(self, features: Any) -> np.ndarray:
        """`(n, p)` columns of features in the form in which they were first given."""
        parts = []
        given = _split(features)
        if len(given) != len(self.columns):
            raise DataError(f"{len(given)} feature(s) where the regression has {len(self.columns)}.")
        for c, (name, values) in zip(self.columns, given, strict=True):
            parts.append(_numbers(name, values) if c.levels is None else _indicators(c, values))
        if self.means:
            return parts[0]
        ones = np.ones((len(parts[0]), 1))
        if self.knots is not None:
            return np.hstack([ones, natural_spline(parts[0][:, 0], np.array(self.knots))])
        kept = [p if c.levels is None else p[:, 1:] for c, p in zip(self.columns, parts, strict=True)]
        return np.hstack([ones, *kept])


def basis_for(features: Any, spline: int | None) -> Basis:
    """The basis that these features ask for."""
    given = _split(features)
    columns = tuple(_column(name, values) for name, values in given)
    if spline is None:
        return Basis(columns, means=len(columns) == 1 and columns[0].levels is not None)
    if len(columns) != 1 or columns[0].levels is not None:
        raise DataError("a spline takes one numeric feature.")
    if isinstance(spline, bool) or spline < 2:
        raise DataError(f"spline is its degrees of freedom, at least 2; got {spline!r}.")
    x = _numbers(*given[0])[:, 0]
    knots = np.unique(np.quantile(x, np.linspace(0, 1, spline + 1)))
    if len(knots) < spline + 1:
        raise DataError(f"feature {given[0][0]!r} has too few different values for {spline} degrees of freedom.")
    return Basis(columns, knots=tuple(float(k) for k in knots))


def _column(name: str, values: np.ndarray) -> Column:
    if _is_label(values):
        return Column(name, levels=_levels(values))
    x = _numbers(name, values)
    return Column(name, span=(float(x.min()), float(x.max())))


def natural_spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """`(n, K - 1)`: natural cubic splines with K knots, linear outside them, without the constant."""
    scale = knots[-1] - knots[0]
    x, knots = (x - knots[0]) / scale, (knots - knots[0]) / scale

    def d(k: int) -> np.ndarray:
        return (np.maximum(x - knots[k], 0) ** 3 - np.maximum(x - knots[-1], 0) ** 3) / (knots[-1] - knots[k])

    last = d(len(knots) - 2)
    return np.stack([x, *(d(k) - last for k in range(len(knots) - 2))], axis=1)


def rows(features: Any, where: np.ndarray) -> Any:
    """The rows `where` of features, in the form in which they were given."""
    return features.iloc[where] if hasattr(features, "iloc") else np.asarray(features)[where]


def _split(features: Any) -> list[tuple[str, np.ndarray]]:
    """Named columns of an array, a Series or a DataFrame."""
    if hasattr(features, "columns"):
        return [(str(c), np.asarray(features[c])) for c in features.columns]
    array = np.asarray(features)
    if array.ndim == 1:
        return [(str(getattr(features, "name", None) or "x"), array)]
    if array.ndim != 2:
        raise DataError(f"features have shape {array.shape}: give (n,) or (n, p).")
    return [(f"x{k}", array[:, k]) for k in range(array.shape[1])]


def _is_label(values: np.ndarray) -> bool:
    return values.dtype.kind in "OUSTb"


def _levels(values: np.ndarray) -> tuple[Any, ...]:
    missing = [i for i, v in enumerate(values.tolist()) if v is None or v != v]
    if missing:
        raise DataError(f"the label of unit {missing[0]} is missing ({len(missing)} in all): fill or remove.")
    return tuple(np.unique(values.astype(str) if values.dtype.kind == "O" else values).tolist())


def _numbers(name: str, values: np.ndarray) -> np.ndarray:
    try:
        out = values.astype(float)[:, None]
    except (TypeError, ValueError) as error:
        raise DataError(f"feature {name!r} holds values that are not numbers.") from error
    if not np.isfinite(out).all():
        i = int(np.argmin(np.isfinite(out[:, 0])))
        raise DataError(f"feature {name!r} is not finite for unit {i}: fill or remove.")
    return out


def _indicators(column: Column, values: np.ndarray) -> np.ndarray:
    values = values.astype(str) if values.dtype.kind == "O" else values
    unknown = sorted(set(values.tolist()) - set(column.levels or ()))
    if unknown:
        raise DataError(f"{column.name!r} has the label {unknown[0]!r}, which was not among the units of the fit.")
    return (values[:, None] == np.array(column.levels)[None]).astype(float)
