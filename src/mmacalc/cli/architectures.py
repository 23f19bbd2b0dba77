"""Every architecture that mmacalc knows, with the names and products that -a takes.

mmacalc architectures            one line each
mmacalc architectures MI300A     all about one: other names, targets, products with compute units and clocks
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_argument("name", nargs="?", help="an architecture, target or product; all of them if left out")
    parser.add_common("json")


def run(options: Namespace) -> str:
    """The list, or one architecture's page."""
    from ..catalog import architecture, architectures, entry
    from ..render import architectures as render

    records = [architecture(name) for name in ([options.name] if options.name else architectures())]
    if options.json:
        from ..render.json import document

        return document("architectures", architectures=[render.json_object(one) for one in records])
    return render.page(records[0], len(entry(options.name).names)) if options.name else render.text(records)
