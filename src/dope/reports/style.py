"""How a report looks: on a desk, on a phone, in the dark and on paper."""

from __future__ import annotations

from dope.reports.palette import DARK, LIGHT, variables

# Warm for warnings, blue for what must be known: backgrounds on which ink keeps a contrast above 7.
_LIGHT_BOXES = "--warn: #fff3d6; --warn-edge: #b26a00; --know: #e8f1fa; --know-edge: #0072b2;"
_DARK_BOXES = "--warn: #3a2c10; --warn-edge: #f0a04b; --know: #14293a; --know-edge: #56b4e9;"

CSS = f"""
:root {{ color-scheme: light dark; {variables(LIGHT)} {_LIGHT_BOXES} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} {_DARK_BOXES} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
main {{ max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }}
h1 {{ font-size: 1.75rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.2rem; margin: 2.6rem 0 .6rem; padding-top: .9rem; border-top: 1px solid var(--rule); }}
p, ul, dl {{ max-width: 44rem; margin: .5rem 0; overflow-wrap: anywhere; }}
.sub, figcaption, caption, .quiet {{ color: var(--muted); }}
a {{ color: var(--debiased); }}
aside {{ border-left: .35rem solid; border-radius: .25rem; padding: .7rem 1rem; margin: 1rem 0; }}
aside p, aside ul {{ margin: .25rem 0; max-width: 52rem; }}
.lead {{ font-weight: 650; font-size: 1.06rem; }}
.know {{ background: var(--know); border-color: var(--know-edge); }}
.warn {{ background: var(--warn); border-color: var(--warn-edge); }}
table {{ border-collapse: collapse; width: 100%; margin: 1rem 0; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; padding-bottom: .4rem; font-size: .92rem; }}
th, td {{ padding: .45rem .6rem; text-align: right; border-bottom: 1px solid var(--rule); vertical-align: baseline; }}
th:first-child {{ text-align: left; padding-left: 0; overflow-wrap: anywhere; }}
thead th {{ border-bottom: 2px solid var(--muted); font-size: .88rem; vertical-align: bottom; }}
td {{ white-space: nowrap; }}
td.words, td:last-child {{ white-space: normal; }}
.flagged {{ background: var(--warn); padding: .1rem .3rem; margin-right: -.3rem; border-radius: .2rem; }}
strong.answer {{ color: var(--debiased); font-size: 1.06em; }}
dl div {{ display: grid; grid-template-columns: 11rem 1fr; gap: .2rem 1rem; padding: .3rem 0; }}
dl div + div {{ border-top: 1px solid var(--rule); }}
dt {{ font-weight: 600; overflow-wrap: anywhere; }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
figure {{ margin: 1rem 0; }}
figcaption {{ font-size: .92rem; max-width: 46rem; margin-top: .3rem; }}
.many > div {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr));
  gap: .8rem 1.2rem; }}
.plot {{ display: block; width: 100%; height: auto; overflow: visible; font-family: inherit; }}
.plot * {{ stroke-linejoin: round; stroke-linecap: butt; }}
.key {{ display: inline-block; margin-right: 1.1rem; max-width: 100%; }}
.mark {{ display: inline-block; width: .8em; height: .8em; margin-right: .4em; vertical-align: -.05em; }}
.dot {{ background: var(--debiased); border-radius: 50%; }}
.square {{ border: 2px solid var(--plugin); }}
.circle {{ border: 2px solid var(--plugin); border-radius: 50%; }}
.dash {{ width: 0; height: 1.05em; border-left: 3px dashed var(--truth); vertical-align: -.15em; }}
.line {{ height: 0; width: 1.3em; border-top: 3px solid var(--debiased); vertical-align: .25em; }}
.outline {{ height: 0; width: 1.3em; border-top: 3px solid var(--plugin); vertical-align: .25em; }}
.fill {{ background: var(--shade); border: 1px solid var(--muted); }}
.band {{ background: var(--debiased); opacity: .35; }}
details {{ margin: .8rem 0; }}
summary {{ cursor: pointer; font-weight: 600; padding: .2rem 0; }}
pre {{ overflow: auto; max-height: 24rem; padding: .8rem; border: 1px solid var(--rule); border-radius: .25rem;
  font: .82rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }}
:focus-visible {{ outline: 3px solid var(--debiased); outline-offset: 2px; }}
@media (min-width: 40.01rem) {{ th:last-child, td:last-child {{ text-align: left; padding-left: 1.6rem; }} }}
@media screen and (max-width: 40rem) {{
  main {{ padding: 1.2rem 1rem 3rem; }}
  h1 {{ font-size: 1.4rem; }}
  table, tbody, tr, th, td, caption {{ display: block; }}
  thead {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }}
  tbody tr {{ border: 1px solid var(--rule); border-radius: .4rem; padding: .5rem .8rem; margin: .7rem 0; }}
  tbody th {{ border: 0; padding: .1rem 0 .3rem; font-size: 1.05rem; }}
  tbody td {{ display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .18rem 0; }}
  tbody td::before {{ content: attr(data-label); color: var(--muted); text-align: left; }}
  dl div {{ grid-template-columns: 1fr; gap: 0; }}
}}
@media print {{
  body {{ font-size: 10.5pt; }}
  main {{ max-width: none; padding: 0; }}
  h2 {{ break-after: avoid; }}
  aside, figure, tr, .plot {{ break-inside: avoid; }}
  aside {{ border: 1px solid; border-left-width: .35rem; print-color-adjust: exact; }}
  .mark {{ print-color-adjust: exact; }}
  .many > div {{ grid-template-columns: repeat(3, 1fr); }}
  .data {{ display: none; }}
}}
""".strip()
