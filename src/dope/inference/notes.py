"""What must be read together with an interval, and which functionals it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A warning, and the functionals it concerns: all of them where it names none."""

    text: str
    names: tuple[str, ...] = ()

    def concerns(self, name: str) -> bool:
        return not self.names or name in self.names

    def __str__(self) -> str:
        return f"{listed(self.names)}: {self.text[:1].lower()}{self.text[1:]}" if self.names else self.text


@dataclass(frozen=True)
class Verdict:
    """What the checks of a fit found for one functional: those that failed, and a warning for each."""

    failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        if not self.failed:
            return "nothing in the fit speaks against the interval"
        return f"do not trust the interval ({', '.join(self.failed)})"


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a number that several functionals make up: whatever speaks against one of them speaks against it."""
    verdicts = list(verdicts)
    return Verdict(
        tuple(dict.fromkeys(f for v in verdicts for f in v.failed)),
        tuple(dict.fromkeys(w for v in verdicts for w in v.warnings)),
    )


def warned(names: Sequence[str], verdicts: Sequence[Verdict]) -> tuple[Note, ...]:
    """The warnings of verdicts, each said once with the functionals that it concerns."""
    about: dict[str, list[str]] = {}
    for name, verdict in zip(names, verdicts, strict=False):
        for text in verdict.warnings:
            about.setdefault(text, []).append(name)
    return tuple(Note(text, tuple(who) if len(who) < len(names) else ()) for text, who in about.items())


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
