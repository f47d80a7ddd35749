"""An estimate in words: text, frame, JSON, LaTeX, HTML."""

from __future__ import annotations

import html
import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from dope.inference.notes import listed

if TYPE_CHECKING:
    import pandas as pd

    from dope.inference.result import Estimate

WIDTH = 80
TARGET = (
    "The target is E[g(S0(A))]: g of the solution that the input determines. Where inputs explain the curves only "
    "in part, a curved g has two means: one-step and targeted corrections estimate g of the conditional mean curve, "
    "the exact correction the mean of the individuals' g."
)


def records(est: Estimate, level: float) -> list[dict[str, Any]]:
    """One dict of plain numbers for each functional."""
    ends = np.atleast_2d(est.conf_int(level))
    columns = {
        "estimate": est.value,
        "se": est.se,
        "t": est.tstat(),
        "p": est.pvalue(),
        "low": ends[:, 0],
        "high": ends[:, 1],
        "plugin": est.plugin,
        "plugin_se": est.plugin_se,
        "df": est.df,
    }
    corrections = (est.correction,) * len(est) if isinstance(est.correction, str) else est.correction
    return [
        {"name": name}
        | {key: float(np.atleast_1d(column)[k]) for key, column in columns.items()}
        | {"n": est.n, "correction": corrections[k]}
        | {"warning": "; ".join(note.text for note in est.cautions if note.concerns(name))}
        for k, name in enumerate(est.names)
    ]


def facts(est: Estimate) -> list[tuple[str, str]]:
    """What a reader needs to know of how the numbers came about: (label, text) pairs."""
    s = est.scores
    grouped = any(arm.group is not None for arm in est.arms)
    out = [("Units", f"{est.n}")]
    if grouped:
        out.append(("Groups", f"{sum(arm.clusters for arm in est.arms)}"))
    if any(arm.weight is not None for arm in est.arms):
        out.append(("Unit weights", f"yes (effective n = {sum(arm.effective for arm in est.arms):.1f})"))
    if s.counts is not None:
        out.append(("Observations", f"{int(np.sum(s.counts))}"))
    out += [("Folds", f"{len(np.unique(s.fold[0]))}"), ("Repeats", f"{s.plugin.shape[0]}")]
    df = np.atleast_1d(est.df)
    same = np.allclose(df, df[0])
    kind = "Welch" if len(est.arms) > 1 else ("cluster" if grouped else "iid")
    out += [
        ("Correction", est.correction if isinstance(est.correction, str) else ", ".join(dict.fromkeys(est.correction))),
        ("Weights", est.weights),
        ("Std. errors", kind + (", Fieller interval" if est.fieller is not None else "")),
        ("Deg. of freedom", f"{df[0]:.5g}" if same else f"{df.min():.5g} to {df.max():.5g}"),
    ]
    if est.ppi is not None:
        lam = np.median(est.ppi.lam, axis=0)
        shown = [f"{v:.2f}" for v in lam if np.isfinite(v)]
        weight = f", l = {', '.join(dict.fromkeys(shown))}" if shown else ""
        out.append(("Unlabelled", f"{est.ppi.inputs} ({est.ppi.form}{weight})"))
    return out


# ---- text ---------------------------------------------------------------------------------------------
def short(est: Estimate) -> str:
    rows = records(est, est.level)
    level = f"{100 * est.level:g} %"
    parts = [f"{r['name']} {_num(r['estimate'])} [{_num(r['low'])}, {_num(r['high'])}]" for r in rows[:4]]
    more = f", and {len(rows) - 4} more" if len(rows) > 4 else ""
    doubted = [name for name, v in zip(est.names, est.verdicts, strict=False) if v.failed]
    warning = f", {len(est.notes)} note(s): see summary()" if est.notes else ""
    warning = f", DO NOT TRUST {listed(doubted)}: see summary()" if doubted else warning
    return f"{type(est).__name__}({'; '.join(parts)}{more}; {level} intervals, {est.n} units{warning})"


def summary(est: Estimate, level: float) -> str:
    rule = "=" * WIDTH
    lines = [rule, "Debiased estimate of E[g(S0(A))]".center(WIDTH).rstrip(), rule]
    lines += _two_columns(facts(est))
    lines += ["-" * WIDTH, *_rows(est, level), "-" * WIDTH]
    if level != 0.95:
        lines.append(f"Intervals of level {100 * level:g} %.")
    for said in verdicts(est):
        lines += textwrap.wrap(f"Verdict: {said}.", WIDTH, subsequent_indent="  ")
    for note in est.notes:
        lines += textwrap.wrap("WARNING: " + note, WIDTH, subsequent_indent="  ")
    for reason in est.reasons:
        lines += textwrap.wrap("Choice: " + reason, WIDTH, subsequent_indent="  ")
    lines += textwrap.wrap(TARGET, WIDTH)
    lines += textwrap.wrap(origin(est), WIDTH)
    return "\n".join([*lines, rule])


def verdicts(est: Estimate) -> list[str]:
    """What the checks of the fit found: functional by functional, or at once where they all passed."""
    if len({v.words for v in est.verdicts}) == 1:
        return [est.verdicts[0].words]
    return [f"{name}: {v.words}" for name, v in zip(est.names, est.verdicts, strict=False)]


def origin(est: Estimate) -> str:
    """Versions and seeds in one line; the recipe is in `meta`. Empty for scores of unknown origin."""
    parts = [est.meta[k] for k in ("first", "second")] if "second" in est.meta else [est.meta]
    versions = {f"{k} {v}" for p in parts for k, v in p.get("versions", {}).items() if k in ("dope", "torch")}
    seeds = [str(p["seed"]) for p in parts if "seed" in p]
    said = sorted(versions) + ([f"seed {' and '.join(dict.fromkeys(seeds))}"] if seeds else [])
    return f"Made with {', '.join(said)}." if said else ""


def _two_columns(pairs: list[tuple[str, str]]) -> list[str]:
    half = WIDTH // 2 - 1
    cells = [f"{label + ':':<17}{text}" for label, text in pairs]
    out, waiting = [], None
    for cell in cells:
        if len(cell) > half:
            out += textwrap.wrap(cell, WIDTH, subsequent_indent=" " * 17)
        elif waiting is None:
            waiting = cell
        else:
            out.append(f"{waiting:<{half + 2}}{cell}")
            waiting = None
    return out + ([waiting] if waiting is not None else [])


def _rows(est: Estimate, level: float) -> list[str]:
    tail = (1 - level) / 2
    head = ["estimate", "std err", "t", "P>|t|", f"[{tail:.3g}", f"{1 - tail:.3g}]", "plug-in"]
    body = [
        [_p(r[key]) if key == "p" else _num(r[key]) for key in ("estimate", "se", "t", "p", "low", "high", "plugin")]
        for r in records(est, level)
    ]
    widths = [max(len(row[c]) for row in [head, *body]) + 1 for c in range(len(head))]
    room = WIDTH - sum(widths)
    lines = [" " * room + "".join(f"{h:>{w}}" for h, w in zip(head, widths, strict=True))]
    for name, row in zip(est.names, body, strict=True):
        numbers = "".join(f"{v:>{w}}" for v, w in zip(row, widths, strict=True))
        if len(name) <= room:
            lines.append(f"{name:<{room}}{numbers}")
        else:  # a long name stands above its numbers, so that no column moves
            lines += [*textwrap.wrap(name, WIDTH), " " * room + numbers]
    return lines


def _num(value: float, digits: int = 4) -> str:
    if math.isnan(value):
        return "nan"
    text = f"{value:.{digits}g}"
    # 4 digits of a number like 0.5 or 12 are 0.5000 and 12.00: columns of equal precision read better
    if math.isfinite(value) and "e" not in text and value != 0:
        places = max(digits - 1 - math.floor(math.log10(abs(float(text)))), 0)
        text = f"{value:.{places}f}"
    return text


def _p(value: float) -> str:
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


# ---- data ---------------------------------------------------------------------------------------------
def to_frame(est: Estimate, level: float) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(records(est, level)).set_index("name")


def to_json(est: Estimate, level: float) -> str:
    document = {
        "target": TARGET,
        "level": level,
        "functionals": records(est, level),
        "covariance": est.covariance.tolist(),
        "units": est.n,
        "about": dict(facts(est)),
        "verdicts": {name: v.words for name, v in zip(est.names, est.verdicts, strict=False)},
        "notes": list(est.notes),
        "reasons": list(est.reasons),
        "meta": dict(est.meta),
    }
    return json.dumps(_plain(document), indent=2, allow_nan=False)


def _plain(item: Any) -> Any:
    """Plain JSON: no numpy types, and null for what is not a number."""
    if isinstance(item, dict):
        return {str(key): _plain(value) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [_plain(value) for value in item]
    if isinstance(item, np.ndarray):
        return _plain(item.tolist())
    if isinstance(item, np.generic):
        return _plain(item.item())
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    return item if isinstance(item, (str, int, bool)) or item is None else str(item)


# ---- typeset ------------------------------------------------------------------------------------------
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def _tex_num(value: float) -> str:
    text = _num(value)
    if not math.isfinite(value):
        return {"inf": r"$\infty$", "-inf": r"$-\infty$"}.get(text, "--")
    mantissa, _, exponent = text.partition("e")
    return f"${mantissa}$" if not exponent else rf"${mantissa} \times 10^{{{int(exponent)}}}$"


def to_latex(est: Estimate, level: float) -> str:
    """A booktabs table; the notes stand below it."""
    lines = [
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        rf"Functional & Estimate & Std.\ error & $p$ & \multicolumn{{2}}{{c}}{{{100 * level:g}\,\% interval}} & "
        r"Plug-in \\",
        r"\midrule",
    ]
    for r in records(est, level):
        p = f"${_p(r['p'])}$"
        cells = [_tex(r["name"]), _tex_num(r["estimate"]), _tex_num(r["se"]), p]
        cells += [_tex_num(r["low"]), _tex_num(r["high"]), _tex_num(r["plugin"])]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule"]
    for note in est.notes:
        lines.append(rf"\multicolumn{{7}}{{p{{0.95\linewidth}}}}{{\footnotesize {_tex(note)}}} \\")
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def to_html(est: Estimate, level: float) -> str:
    head = ["functional", "estimate", "std. error", "t", "p", "low", "high", "plug-in"]
    rows = []
    for r in records(est, level):
        values = [_num(r["estimate"]), _num(r["se"]), _num(r["t"]), _p(r["p"])]
        values += [_num(r["low"]), _num(r["high"]), _num(r["plugin"])]
        cells = "".join(f"<td>{html.escape(v)}</td>" for v in values)
        rows.append(f'<tr><th scope="row">{html.escape(r["name"])}</th>{cells}</tr>')
    about = "; ".join(f"{label.lower()} {text}" for label, text in facts(est))
    found = "".join(f"<li>Verdict: {html.escape(said)}.</li>" for said in verdicts(est))
    notes = found + "".join(f"<li><strong>Warning:</strong> {html.escape(n)}</li>" for n in est.notes)
    notes += "".join(f"<li>{html.escape(reason)}</li>" for reason in est.reasons)
    columns = "".join(f'<th scope="col">{h}</th>' for h in head)
    return (
        f"<table><caption>Debiased estimate of E[g(S0(A))], {100 * level:g} % intervals "
        f"({html.escape(about)})</caption>"
        f"<thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + f"<p>{html.escape(TARGET)}</p>"
    )
