"""The modules of the package as syntax trees, each read once by a test process."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src/mmacalc"


@cache
def syntax_tree(path):
    """The syntax tree of a file, which no test changes."""
    return ast.parse(path.read_text(encoding="utf-8"))
