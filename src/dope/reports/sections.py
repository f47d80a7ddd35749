"""The sections of a report, in their order.

Each is a function from the content to HTML, empty where it does not apply.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dope.diagnostics import Check
from dope.inference import Note
from dope.inference.tables import facts
from dope.reports import plots
from dope.reports.content import Content, tests_zero
from dope.reports.markup import (
    Html,
    bullets,
    definitions,
    details,
    esc,
    figure,
    key,
    note,
    paragraph,
    section,
    table,
)
from dope.reports.plots.fields import limits
from dope.reports.svg import inline
from dope.reports.words import domain, listed, number, probability

# More functionals than these are in the table, and in the forest, but get no histogram.
_HISTOGRAMS = 12
# Love plots: the directions are the same for all functionals, and weights that are shared mostly fail alike.
_LOVE_PLOTS = 3
_UNITS = 6


def asked(c: Content) -> str:
    entries = []
    for a in c.asked:
        units = "" if a.units is None else f"; {a.units}" if a.units == "no unit" else f"; in {a.units}"
        entries.append((a.name, f"{a.words}{units}"))
    along = "" if c.measured.coordinate_label is None else f"{c.measured.coordinate_label} in "
    where = "" if c.fit is None else f" The domain is {along}{domain(c.fit.data.grid)}."
    legend = _letters(c)
    return section(
        "asked",
        "What was asked",
        paragraph("The mean over the population of inputs of:"),
        definitions(entries),
        paragraph(f"{where}{legend}".strip(), kind="quiet") if where or legend else "",
        _caveat(c),
    )


def _letters(c: Content) -> str:
    """What u and x stand for, where the data did not say what they are measured in."""
    used = [a.units for a in c.asked if a.units not in (None, "no unit")]
    parts = []
    if c.measured.value is None and any("u" in units for units in used):
        parts.append("u stands for the unit of the observed values")
    if c.measured.coordinate is None and any("x" in units for units in used):
        parts.append("x for that of the coordinate" if parts else "x stands for the unit of the coordinate")
    return f" {', '.join(parts)}." if parts else ""


def _caveat(c: Content) -> str:
    curved = [a.name for a in c.asked if a.linear is False]
    unknown = [a.name for a in c.asked if a.linear is None]
    straight = [a.name for a in c.asked if a.linear]
    parts = [
        paragraph(
            "The target is E[g(S0(A))]: g of the solution that the input determines, averaged over inputs. "
            "Where inputs determine each unit's solution (a simulator, a law with every coefficient given), that is "
            "the mean of the units' own g."
        )
    ]
    if curved or unknown:
        bold = lambda names: Html(f"<strong>{esc(listed(names))}</strong>")  # noqa: E731
        whose = ["For ", bold(curved), ", curved in the field,"] if curved else []
        if unknown:
            whose += [" for " if curved else "For ", bold(unknown), ", if curved in the field,"]
        parts.append(
            paragraph(
                Html("<strong>Where inputs explain the solutions only in part</strong> (patients, sensors outdoors), "),
                "S0(A) is the conditional mean solution: the average over all units with the same input. ",
                *whose,
                " there are then two different means: the plug-in, one-step and targeted numbers are g of the "
                "conditional mean solution, the exact correction's are means of the individual g. They can lie far "
                "apart.",
            )
        )
    if straight:
        parts.append(paragraph(f"For {listed(straight)}, linear in the field, both readings agree."))
    return note("Which mean this is", *parts, kind="know")


def answer(c: Content) -> str:
    head = ["Functional", "Debiased" if c.corrected else "Estimate", f"{c.level} interval", "Std. error", "Plug-in"]
    head += ["Truth"] if c.truth else []
    tested = tests_zero(c)
    head += ["p (value 0)"] if tested else []
    head += ["Correction"]
    body = []
    for r in c.rows:
        low, high = number(r["low"]), number(r["high"])
        cells: list[object] = [
            r["name"],
            Html(f'<strong class="answer">{esc(number(r["estimate"]))}</strong>'),
            _flagged(f"{low} to {high}") if any(w.concerns(r["name"]) for w in c.warnings) else f"{low} to {high}",
            number(r["se"]),
            number(r["plugin"]),
        ]
        if c.truth:
            cells.append(number(c.truth[r["name"]]) if r["name"] in c.truth else "–")
        if tested:
            cells.append(probability(r["p"]))
        body.append([*cells, r["correction"]])
    warnings = note("Warnings: read together with the intervals", bullets(_said(w, c) for w in c.warnings), kind="warn")
    size = (4.8, 0.4 + 0.72 * len(c.rows))

    def draw(fig: Any) -> None:
        plots.forest(c.est, fig.subplots(len(c.rows), 1, squeeze=False)[:, 0], truth=c.truth, legend=False)

    spoken = "; ".join(
        f"{r['name']}: estimate {number(r['estimate'])}, interval {number(r['low'])} to {number(r['high'])}, "
        f"plug-in {number(r['plugin'])}"
        for r in c.rows
    )
    what = "debiased" if c.corrected else "estimate"
    legend = key("dot", f"{what}, with {c.level} interval") + key("square", "plug-in")
    legend += key("dash", "truth") if c.truth else ""
    return section(
        "answer",
        "The answer",
        table(f"Estimates with {c.level} intervals, from {c.est.n} units", head, body),
        f'<div id="warnings">{warnings}</div>' if c.warnings else "",
        paragraph(
            "Plug-in: the mean over units of g of the predicted field, the prediction believed as it is. Debiased: the "
            "plug-in plus a correction from the weighted observations, which removes the first-order effect of the "
            "operator's error; the interval includes what that error still adds to the spread."
        ),
        figure(legend, inline("forest", spoken, size, draw)),
    )


def _flagged(interval: str) -> Html:
    return Html(
        f'<span class="flagged">{esc(interval)} <a href="#warnings" title="read the warnings below" '
        'aria-label="see warnings">&#9888;</a></span>'
    )


def _said(w: Note, c: Content) -> Html:
    text = w.text[:1].upper() + w.text[1:]
    return Html(f"<strong>{esc(listed(w.names))}.</strong> {esc(text)}" if w.names and len(c.est) > 1 else esc(text))


def trust(c: Content) -> str:
    if c.fit is None:
        return ""
    parts = []
    for d in c.diagnoses:
        found: list[object] = [_check(k) for k in d.checks]
        if d.smoothing is not None:
            found.append(f"smoothing: the smooth functional lies {d.smoothing:+.3g} from the hard one on these fields")
        parts.append(details(d.verdict, bullets(found), open_=not d.passed))
    if c.diagnoses:
        parts.append(_balance(c))
    unchecked = [name for name in c.est.names if name not in {d.functional for d in c.diagnoses}]
    if unchecked:
        parts.append(paragraph(f"Not checked: {listed(unchecked)}."))
    about = "What the observations themselves say about the weights and the operator; the truth is not needed for it."
    return section("trust", "Can it be trusted?", paragraph(about), *parts)


def _balance(c: Content) -> str:
    shown = c.diagnoses[:_LOVE_PLOTS]
    pictures = []
    for k, d in enumerate(shown):
        z = np.abs(d.balance.z)
        spoken = f"Balance of the weights for {d.functional}: largest |z| {z.max():.1f}, in {len(z)} directions"
        size = (3.3, 1.0 + 0.2 * len(z))
        pictures.append(inline(f"balance{k}", spoken, size, lambda fig, d=d: plots.balance(d, fig.subplots())))
    left = "" if len(shown) == len(c.diagnoses) else f" The first {len(shown)} of {len(c.diagnoses)} are drawn."
    about = (
        "Do the weighted points stand for the domain? Each row is a shape (P1 rises evenly, P2 bends once, and so on) "
        "that an error of the operator might have; a dot outside the shade is a shape that the correction misses in "
        f"part, by the percentage beside it.{left}"
    )
    legend = key("dot", "within chance") + key("circle", "beyond chance, with its size")
    legend += key("fill", "99 % of fits with right weights have every dot here")
    return paragraph(about) + figure(legend, *pictures, kind="many")


def _check(k: Check) -> Html:
    told = f"<strong>{'passed' if k.passed else 'FAILED'}</strong> {esc(k.name)}: {esc(k.words)}"
    return Html(told if k.passed else f"{told}. What to do: {esc(k.remedy)}")


def fields(c: Content) -> str:
    if c.fit is None or c.prediction is None:
        return ""
    p = c.prediction
    chosen = plots.representative(p, _UNITS)
    flat = p.data.grid.ndim == 1
    band = plots.residual_band(p) if flat else None
    shared = limits(p, chosen, band)
    labels = (c.measured.coordinate_label, c.measured.value_label)
    pictures = [
        inline(
            f"field{j}",
            f"Predicted field of unit {p.data.ids[i]} with its {int(p.data.counts[i])} observations",
            (3.3, 2.3) if flat else (3.3, 2.8),
            lambda fig, i=i: plots.field(p, i, fig.subplots(), limits=shared, band=band, labels=labels),
        )
        for j, i in enumerate(chosen)
    ]
    who = (
        "by the operator that was brought"
        if c.fit.solution is None
        else "by networks that never saw the unit in training (out of fold)"
    )
    if flat:
        legend = key("line", "predicted field") + key("circle", "observation")
        if band is not None:
            legend += key("band", "95 % of all units' observations lie so near their predictions")
    else:
        legend = "Image: predicted field. Circles: observations, on the same colour scale. "
    if p.data.grid.ndim > 2:
        legend = "Image: predicted field in the middle of the remaining axes. "
    return section(
        "fields",
        "Predicted fields and observations",
        paragraph(
            f"{len(chosen)} of {len(p.data)} units, predicted {who}, ordered from the closest to the farthest: rms "
            "is the root mean square of observation less prediction."
        ),
        figure(legend, *pictures, kind="many"),
    )


def weights(c: Content) -> str:
    if c.fit is None or c.prediction is None:
        return ""
    title = "Design and weights"
    data = c.prediction.data
    p = c.prediction
    if p.xi is None:
        return section("weights", title, paragraph(
            f"Weights: {c.est.weights}, learned anew for each functional; they are not drawn here."))  # fmt: skip
    at = np.where(data.observed, p.xi_at_points, 0.0)
    unit = p.average(at)[data.counts > 0]
    share = at.sum() ** 2 / (data.observed.sum() * (at**2).sum())
    spread = unit.std(ddof=1) / np.sqrt(len(unit)) if len(unit) > 1 else float("nan")
    origin = "from the known design" if c.est.weights == "design" else "learned from where observations lie"
    if data.grid.ndim == 1:
        legend = (
            key("fill", "density of observation points") + key("line", "mean weight")
            + key("band", "weights, 5 % to 95 % of units")
        )  # fmt: skip
        scale = (
            " Both are relative to even sampling, 1: where points are twice as dense, the weight should be a half. "
            "Bars sum over units; the band shows how far single units differ."
        )
    else:
        legend = "Image: mean weight over units. " + ("Rings: observation points." if data.grid.ndim == 2 else "")
        scale = " A weight of 1 means sampling as dense as the reference measure."
    label = f"Weights over the domain and density of points; effective share {100 * share:.0f} %"
    size = (4.8, 2.5) if data.grid.ndim == 1 else (4.6, 3.6)
    place = c.measured.coordinate_label
    mean = (
        f"{unit.mean():.3f} at the observed points (standard error {spread:.3f}); 1 where weights are right on average"
    )
    effective = f"{100 * share:.0f} % of {int(data.counts.sum())} observations; 100 % where all weigh the same"
    return section(
        "weights",
        title,
        paragraph(
            f"The weights ({c.est.weights}, {origin}) make uneven observations count as if they lay evenly over the ",
            "domain.",
            scale,
        ),
        figure(legend, inline("weights", label, size, lambda fig: plots.weights(p, fig.subplots(), label=place))),
        definitions([("Mean weight", mean), ("Effective share", effective)]),
    )


def scores(c: Content) -> str:
    shown = c.rows[:_HISTOGRAMS]
    pictures = [
        inline(f"scores{k}", f"Histogram of the scores of {r['name']}, mean {number(r['estimate'])}", (3.3, 2.3),
               lambda fig, k=k: plots.scores(c.est, fig.subplots(), k))
        for k, r in enumerate(shown)
    ]  # fmt: skip
    left = "" if len(shown) == len(c.rows) else f" The first {len(shown)} of {len(c.rows)} functionals are drawn."
    return section(
        "scores",
        "Scores",
        paragraph(
            "Every unit contributes one score, its plug-in value plus its correction. The estimate is the "
            + ("mean of the scores" if c.est.scores.unit_weight is None else "mean of the scores by the units' weights")
            + (", sharpened by the unlabelled inputs" if c.est.ppi is not None else "")
            + ", and the interval comes from their spread; it is to be trusted less where a few scores lie far out."
            + left
        ),
        figure(key("fill", "debiased scores") + key("outline", "plug-in values")
               + key("line", "estimate") + key("band", f"{c.level} interval"), *pictures, kind="many"),
    )  # fmt: skip


def made(c: Content) -> str:
    meta = dict(c.est.meta)
    pairs: list[tuple[object, object]] = list(facts(c.est))
    if c.fit is not None:
        data = c.fit.data
        low, high = int(data.counts.min()), int(data.counts.max())
        each = f"{low} in each unit" if low == high else f"{low} to {high} in a unit"
        pairs += [("Points", each), ("Grid", f"{' × '.join(map(str, data.grid.shape))} nodes on {domain(data.grid)}"),
                  ("Input channels", data.channels)]  # fmt: skip
    pairs += [("Choice", Html("<br>".join(esc(r) for r in c.est.reasons)))] if c.est.reasons else []
    named = {"operator": "Operator", "seed": "Seed", "recipe": "Recipe", "device": "Device", "versions": "Versions"}
    pairs += [(label, _plain(meta[k])) for k, label in named.items() if k in meta]
    if "seconds" in meta:
        pairs.append(("Training time", f"{meta['seconds']} s"))
    known = {*named, "seconds", "folds", "repeats", "data"}  # what was read has a section of its own
    pairs += [(str(k).replace("_", " ").capitalize(), _plain(v)) for k, v in meta.items() if k not in known]
    return section("made", "How it was made", definitions(pairs))


def _plain(item: Any) -> str:
    if isinstance(item, dict):
        return ", ".join(f"{str(k).replace('_', ' ')} {_plain(v)}" for k, v in item.items())
    return str(item)
