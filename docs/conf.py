"""Sphinx configuration. The build needs no network."""

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
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]

html_theme = "pydata_sphinx_theme"
html_title = "dope"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False

# Pages with code are run when they are built, so that every number on them was printed by this version.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

default_role = "code"  # single backticks in docstrings are code
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": False, "show-inheritance": True}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
