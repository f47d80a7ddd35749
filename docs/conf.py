"""Sphinx configuration. The build needs no network."""

import re
from importlib.metadata import version as installed

project = "dope"
author = "The dope developers"
copyright = author
version = release = installed("dope")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "jupyter_execute", "**.ipynb_checkpoints"]

html_static_path = ["_static"]
html_css_files = ["dope.css"]
html_theme = "pydata_sphinx_theme"
html_title = "dope"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False
# pages without pages below them have nothing to navigate to at their side
_ALONE = "quickstart how-it-works when-not-to-use troubleshooting coming-from design_principles cite"
html_sidebars = {page: [] for page in _ALONE.split()}

# Pages with code are run when they are built, so that every number on them was printed by this version.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "gfm"  # tables that cells write

default_role = "code"  # single backticks in docstrings are code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autosummary_generate = True

_ITEM = re.compile(r"^(\s*)(\w[\w, ]*) : (.+)$")
_MARKUP = re.compile(r"(`[^`]*`|(?<![\w*])\*\w[^*]*\w\*(?![\w*]))|([*|])")


def plain_text(app, what, name, obj, options, lines):
    """Docstrings are written to be read as text; this makes them reStructuredText.

    A line `name : text` describes a parameter or field, whatever heading it stands under.
    """
    out = []
    for line in lines:
        if line.strip() and set(line.strip()) == {"-"} and out and out[-1].strip():  # an underlined heading
            out[-1:] = [f"**{out[-1].strip()}**", ""]
            continue
        line = _MARKUP.sub(lambda m: m[1] or "\\" + m[2], line)
        if item := _ITEM.match(line):
            out += [f"{item[1]}{item[2]}", f"{item[1]}    {item[3]}"]
        else:
            out.append(line)
    lines[:] = out


def setup(app):
    app.connect("autodoc-process-docstring", plain_text)
