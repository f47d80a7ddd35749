"""Colours that colour-blind readers can tell apart, and what they become on a dark page."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Palette:
    """Okabe and Ito's hues, darkened or lightened until they stand out from the page by 3 to 1, words by 4.5 to 1."""

    ink: str
    muted: str
    rule: str
    paper: str
    debiased: str
    plugin: str
    truth: str
    shade: str


LIGHT = Palette(
    ink="#1f2328",
    muted="#57606a",
    rule="#d0d7de",
    paper="#ffffff",
    debiased="#0072b2",
    plugin="#c4500a",
    truth="#00795a",
    shade="#d5dbe3",
)
DARK = Palette(
    ink="#e6edf3",
    muted="#9da7b3",
    rule="#3d444d",
    paper="#12161c",
    debiased="#56b4e9",
    plugin="#f0a04b",
    truth="#2fc79b",
    shade="#39424e",
)


def variables(palette: Palette) -> str:
    """The palette as CSS custom properties."""
    return " ".join(f"--{f.name}: {getattr(palette, f.name)};" for f in fields(palette))


def as_variables() -> dict[str, str]:
    """From each colour of the light palette to the CSS that follows the reader's own choice of light or dark."""
    return {getattr(LIGHT, f.name): f"var(--{f.name})" for f in fields(LIGHT)}
