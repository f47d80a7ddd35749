"""Second stages: how the functionals vary with the inputs."""

from __future__ import annotations

from dope.reports import plots
from dope.reports.content import Content
from dope.reports.markup import code, details, figure, key, paragraph, section
from dope.reports.svg import inline
from dope.reports.words import number


def dependence(c: Content) -> str:
    """A picture of each second stage, and its coefficients to copy."""
    if not c.second_stage:
        return ""
    pictures, tables = [], []
    for k, (title, found) in enumerate(c.second_stage.items()):
        ends = found.conf_int()
        spoken = f"{title}: " + "; ".join(
            f"{name} {number(value)}, interval {number(low)} to {number(high)}"
            for name, value, (low, high) in zip(found.names, found.coef, ends, strict=True)
        )

        def draw(fig, found=found, title=title) -> None:
            ax = plots.second_stage(found, fig.subplots())
            plots.heading(ax, title, fontsize="medium")

        pictures.append(inline(f"second{k}", spoken, (3.6, 2.6), draw))
        tables.append(
            details(f"{title}, as CSV", code(found.to_frame().to_csv(lineterminator="\n"), f"{title} as CSV"))
        )
    means = all(found.basis is not None and found.basis.means for found in c.second_stage.values())
    legend = key("dot" if means else "line", "mean")
    legend += key("band", f"{c.level} interval, thick or dark for each place, thin or pale for all at once")
    return section(
        "dependence",
        "How it depends on the inputs",
        paragraph(
            "The debiased scores of the units, regressed on a property of their inputs: a straight line, a smooth "
            "curve, or a mean for each label. It says how units differ, and nothing of causes."
        ),
        figure(legend, *pictures, kind="many"),
        f'<div class="data">{"".join(tables)}</div>',
    )
