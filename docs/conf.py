"""How the documentation is built: `make docs`. Nothing in the pages needs the network."""

import runpy
from pathlib import Path

import counterplay

here = Path(__file__).parent
runpy.run_path(str(here.parent / "tools" / "reference.py"))["write"](here / "reference")

project = "Counterplay"
author = "The Counterplay authors"
version = release = counterplay.__version__
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "Counterplay"
html_static_path = ["_static"]
html_css_files = ["own.css"]
html_show_sphinx = False
html_show_copyright = False
templates_path: list[str] = []
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]
