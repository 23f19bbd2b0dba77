"""Every architecture that mmacalc knows, with the names and products that -a takes.

mmacalc architectures            one line each
mmacalc architectures MI300A     all about one: other names, targets, products with compute units and clocks
"""

from __future__ import annotations

from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_argument("name", nargs="?", help="an architecture, target or product; all of them if left out")
    parser.add_common("json")


def run(options: Namespace) -> Reply:
    """The list, or one architecture's page."""
    from ..catalog import architectures, entry
    from ..render import architectures as render

    names = [options.name] if options.name else architectures()
    return show(options.json, "architectures", [entry(name) for name in names], render, bool(options.name))
