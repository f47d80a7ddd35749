"""matplotlib figures as SVG that can stand inside an HTML page."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from contextlib import contextmanager

import matplotlib
from matplotlib.figure import Figure

from dope.reports.clean import clean
from dope.reports.palette import LIGHT, as_variables

# Families of settings that a session may have changed.
_STYLED = ("axes", "figure", "font", "grid", "hist", "lines", "patch", "path", "scatter", "text", "xtick", "ytick")
_NAMESPACE = re.compile(r"^\{.*\}")
_HEX = re.compile(r"#[0-9a-f]{6}")
_REFERENCE = re.compile(r"#([\w.-]+)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_GEOMETRY = ("d", "x", "y", "width", "height", "transform")
_BLACK = "#000000"
# How far a page may magnify a picture before its letters look out of place.
_LARGEST = 1.15


@contextmanager
def drawing():
    """Draw for a page: its ink, its sizes, text kept as text. Everything is as before afterwards."""
    style = {
        "svg.fonttype": "none",  # the reader's own font: small, sharp, found by the browser's search
        "svg.hashsalt": "dope",  # the same figure gives the same bytes
        "font.size": 10.5,
        "axes.titlesize": 11,
        "axes.titleweight": "normal",
        "axes.edgecolor": LIGHT.muted,
        "axes.labelcolor": LIGHT.muted,
        "axes.facecolor": "none",
        "axes.unicode_minus": True,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "text.color": LIGHT.ink,
        "text.usetex": False,
        "xtick.color": LIGHT.muted,
        "ytick.color": LIGHT.muted,
        "figure.dpi": 72,
    }
    # from the defaults, whatever style the session has chosen: the page has one look, and usetex would need LaTeX
    with matplotlib.rc_context({k: v for k, v in matplotlib.rcParamsDefault.items() if k.split(".")[0] in _STYLED}):
        matplotlib.rcParams.update(style)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            yield


def inline(name: str, label: str, size: tuple[float, float], draw: Callable[[Figure], object]) -> str:
    """The picture that `draw` makes on a figure of `size` inches, as an `<svg>` element.

    name : unique on the page; every id in the picture begins with it.
    label : what the picture shows, for those who do not see it.
    """
    with drawing():
        fig = Figure(figsize=size, layout="constrained")
        draw(fig)
        text = io.StringIO()
        fig.savefig(text, format="svg", transparent=True, dpi=144)
    root = ET.fromstring(text.getvalue())
    _slim(root, name)
    # A viewBox alone lets the page choose the width; max-width keeps small pictures at their own scale.
    box = root.attrib["viewBox"]
    width = float(box.split()[2])
    root.attrib.clear()
    root.attrib.update({
        "viewBox": box, "class": "plot", "role": "img", "aria-label": clean(label),
        "style": f"max-width: {width * 4 / 3 * _LARGEST:.0f}px",
    })  # fmt: skip
    return ET.tostring(root, encoding="unicode")


def _slim(root: ET.Element, name: str) -> None:
    """Only what is drawn: no metadata, no ids that nothing refers to, hundredths of a point, colours as variables."""
    colours = as_variables() | {_BLACK: "var(--ink)"}
    used = {r for e in root.iter() for v in e.attrib.values() for r in _REFERENCE.findall(v)}
    for parent in root.iter():
        for child in list(parent):
            if _NAMESPACE.sub("", child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        element.tail = None
        if element.tag != "text" and element.tag != "tspan":
            element.text = None
        attributes = {_NAMESPACE.sub("", k): v for k, v in element.attrib.items()}
        element.attrib.clear()
        for key, value in attributes.items():
            if key == "id":
                if value not in used:
                    continue
                value = f"{name}-{value}"
            elif key in ("href", "clip-path", "fill", "stroke") and not value.startswith("data:"):
                value = _REFERENCE.sub(rf"#{name}-\1", value)
            elif key == "style":
                value = _style(value, name, colours)
            elif key in _GEOMETRY:
                value = _NUMBER.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value).replace("\n", "")
            element.set(key, value)


def _style(style: str, name: str, colours: dict[str, str]) -> str:
    kept = []
    for part in style.split(";"):
        key, _, value = part.strip().partition(":")
        if key in ("font-family", "") or (key == "font" and not value.strip()):
            continue
        if key == "font":  # size and family in one: the family is the page's
            size = re.search(r"[\d.]+px", value)
            kept.append(f"font-size: {size[0]}" if size else f"font:{value}")
            continue
        if "url(#" in value:
            value = _REFERENCE.sub(rf"#{name}-\1", value)
        else:
            value = _HEX.sub(lambda m: colours.get(m[0], m[0]), value)
        kept.append(f"{key}:{value}")
    return ";".join(kept)
