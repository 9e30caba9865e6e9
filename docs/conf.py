"""Sphinx configuration of the documentation; `make docs` builds it without network access."""

import runpy
from pathlib import Path

import latex2mathml.converter
from docutils.nodes import SkipNode

import counterplay

here = Path(__file__).parent
runpy.run_path(str(here.parent / "tools" / "reference.py"))["write"](here / "reference")

project = "Counterplay"
author = "The Counterplay authors"
version = release = counterplay.__version__
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "Counterplay"
html_math_renderer = "mathml"  # browsers draw it without a script from the network
html_static_path = ["_static"]
html_css_files = ["own.css"]
html_show_sphinx = False
html_show_copyright = False
templates_path: list[str] = []
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "attrs_inline", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "auto"  # the course has its outputs stored; `make notebooks` executes it
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]


def write_inline_math(translator, node):
    """Write a formula within a line as MathML."""
    translator.body.append(latex2mathml.converter.convert(node.astext()))
    raise SkipNode


def write_displayed_math(translator, node):
    """Write a formula on its own line as MathML."""
    formula = latex2mathml.converter.convert(node.astext(), display="block")
    translator.body.append(f'<div class="math">{formula}</div>')
    raise SkipNode


def setup(app):
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (write_inline_math, None), (write_displayed_math, None))
