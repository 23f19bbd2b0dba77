"""Every architecture that mmacalc knows, with the names and products that -a takes.

    mmacalc architectures                   one line each: what is known of it, targets, products
    mmacalc architectures MI300A            all about one: what is known and how sure, products with units and clocks
    mmacalc architectures "NVIDIA H100 80GB HBM3"     what a driver prints is taken, here and after -a

A name that may be several architectures ("RTX 6000") is refused with these.
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
    from ..answers.architectures import describe, describe_all
    from ..render import architectures as render
    from .parser import terminal_width

    found = (describe(options.name),) if options.name else describe_all()
    return show(options.json, "architectures", found, render, bool(options.name), terminal_width())
