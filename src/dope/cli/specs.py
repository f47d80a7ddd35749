"""Functionals as they are written on a command line: `name:number,number`, or `label=name:number,number`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dope.functionals import Functional


@dataclass(frozen=True)
class _Kind:
    """A functional of the library: its class, the names of its numbers, and how many of them may be left out."""

    home: str
    numbers: tuple[str, ...] = ()
    optional: int = 0
    make: Callable[[Any, Sequence[str]], Any] | None = None

    def usage(self, name: str) -> str:
        needed = len(self.numbers) - self.optional
        text = ",".join(self.numbers[:needed]) + "".join(f"[,{n}]" for n in self.numbers[needed:])
        return f"{name}:{text.removeprefix(',')}" if text else name


def _point(home: Any, words: Sequence[str]) -> Any:
    *place, width = (float(w) for w in words)
    return home(place, width)


def _flux(home: Any, words: Sequence[str]) -> Any:
    return home(int(words[0]), boundary=words[1] if len(words) > 1 else None)


_KINDS = {
    "mean": _Kind("Mean"),
    "auc": _Kind("AUC"),
    "time-above": _Kind("TimeAbove", ("threshold", "sharpness")),
    "time-below": _Kind("TimeBelow", ("threshold", "sharpness")),
    "time-in-range": _Kind("TimeInRange", ("low", "high", "sharpness"), optional=1),
    "excess-above": _Kind("ExcessAbove", ("threshold", "sharpness")),
    "soft-max": _Kind("SoftMax", ("sharpness",)),
    "soft-min": _Kind("SoftMin", ("sharpness",)),
    "energy": _Kind("Energy"),
    "tracking-error": _Kind("TrackingError", ("reference",)),
    "point-value": _Kind("PointValue", ("x", "...", "width"), make=_point),
    "flux": _Kind("Flux", ("axis", "lower|upper"), optional=1, make=_flux),
}


def parse(spec: str) -> Functional:
    """The functional that `spec` describes, under its label where it has one."""
    from dope import functionals
    from dope.data import DataError

    label, _, described = spec.rpartition("=")
    name, _, rest = described.partition(":")
    name = name.strip().lower().replace("_", "-")
    words = [w.strip() for w in rest.split(",")] if rest.strip() else []
    if name not in _KINDS:
        known = ", ".join(kind.usage(n) for n, kind in _KINDS.items())
        raise DataError(f"functional {spec!r}: there is none named {name!r}. Known are: {known}.")
    kind = _KINDS[name]
    most = len(words) if kind.make is _point else len(kind.numbers)
    least = 2 if kind.make is _point else len(kind.numbers) - kind.optional
    if not least <= len(words) <= most:
        raise DataError(f"functional {spec!r}: {len(words)} number(s) given, write it {kind.usage(name)}.")
    home = getattr(functionals, kind.home)
    try:
        g = kind.make(home, words) if kind.make else home(*(float(w) for w in words))
    except DataError as error:
        raise DataError(f"functional {spec!r}: {error}") from None
    except ValueError:
        raise DataError(f"functional {spec!r}: numbers expected, write it {kind.usage(name)}.") from None
    return g.named(label.strip()) if label.strip() else g
