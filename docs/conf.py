"""The documentation as a site: `sphinx-build -W docs build/site`, which ./test does.

Sphinx, with Markdown through MyST, because the reference comes from the docstrings, and it refuses a page with a broken
link. Two pages are written here from the program itself (commands.md, instructions.md), so that they cannot be
older than it, and the interactive page is put beside the others.
"""

import importlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

import reference  # noqa: E402

os.environ["COLUMNS"] = "100"  # of the help texts, which follow the terminal's width

import mmacalc  # noqa: E402

project = "mmacalc"
author = "the mmacalc authors"
copyright = "2026, the mmacalc authors"  # noqa: A001 (Sphinx reads this name)
version = release = mmacalc.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "generated/provenance.md"]  # which a page includes
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name shapes, units and types in words
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "mmacalc"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"sidebar_hide_name": False}


def write_references(app: object) -> None:
    """Write the pages that come from the program, where they are not what they should be already."""
    for name, text in reference.pages().items():
        path = HERE / "generated" / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def write_interactive_page(app: object, exception: object) -> None:
    """Put the page of `mmacalc page` beside the others."""
    if exception is None:
        page = importlib.import_module("mmacalc.questions.page").page("")
        (Path(app.outdir) / "layouts.html").write_text(page, encoding="utf-8")


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_references)
    app.connect("build-finished", write_interactive_page)
