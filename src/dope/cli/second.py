"""The second stage of `dope estimate`: how the functionals vary with covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from dope.data import OperatorData, Reading
    from dope.inference import Estimate, Regression

# From so many independent units on a curve is drawn, with so many degrees of freedom; a straight line below.
_ENOUGH, _SPLINE = 60, 3


def features(by: Sequence[str], data: OperatorData, reading: Reading) -> dict[str, pd.DataFrame]:
    """The values of the named covariates, one a unit: labels of words, numbers as they are."""
    return {name: _values(name, data, reading).to_frame() for name in by}


def constants(data: OperatorData, reading: Reading) -> list[str]:
    """The channels that are one number for each unit, doses apart."""
    flat = data.inputs.reshape(len(data), data.channels, -1)
    same = [bool((flat[:, c] == flat[:, c, :1]).all()) for c in range(data.channels)]
    return [
        name
        for name, one in zip(reading.channels, same, strict=True)
        if one and name != "none" and not name.startswith(("dose rate", "steady-state"))
    ]


def _values(name: str, data: OperatorData, reading: Reading) -> pd.Series:
    import numpy as np
    import pandas as pd

    from dope.data import DataError

    able = constants(data, reading)
    first = data.inputs.reshape(len(data), data.channels, -1)[..., 0].astype(np.float64)
    levels = [label for label in able if label.startswith(f"{name} = ")]
    if levels:  # words: the level without a channel is the one where no channel is 1
        columns = np.stack([first[:, reading.channels.index(label)] for label in levels], axis=-1)
        words = [label.removeprefix(f"{name} = ") for label in levels]
        rest = f"not {words[0]}" if len(words) == 1 else "the first"
        place = np.where(columns.any(1), columns.argmax(1) + 1, 0)
        return pd.Series(np.array([rest, *words])[place], name=name)
    if name not in able:
        known = ", ".join(dict.fromkeys(label.split(" = ")[0] for label in able)) or "none"
        raise DataError(f"by names {name!r}, which is no covariate that is constant for each unit; there are {known}.")
    values = pd.Series(first[:, reading.channels.index(name)], name=name)
    if values.nunique() < 2:
        raise DataError(f"by names {name}, which is the same for all units: nothing can vary with it.")
    return values if values.nunique() > 2 else values.map(lambda v: f"{v:g}")


def stages(est: Estimate, found: Mapping[str, pd.DataFrame]) -> dict[str, Regression]:
    """A regression for each functional and covariate, under "AUC by WT"."""
    groups = est.scores.group
    independent = len(est.scores) if groups is None else len(set(groups.tolist()))
    out = {}
    for name, values in found.items():
        column = values[name].to_numpy()
        smooth = column.dtype.kind == "f" and len(set(column.tolist())) > 2 * _SPLINE and independent >= _ENOUGH
        for functional in est.names:
            one = est[functional] if len(est) > 1 else est
            out[f"{functional} by {name}"] = one.regress(values, spline=_SPLINE if smooth else None)
    return out


def records(found: Mapping[str, Regression]) -> dict[str, Any]:
    """For JSON: coefficients with their intervals."""
    return {title: r.to_frame().reset_index().to_dict("records") for title, r in found.items()}
