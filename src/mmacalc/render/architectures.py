"""The architectures of the catalog, with their names and products, as text and as JSON."""

from __future__ import annotations

from textwrap import fill

from ..model.architecture import DOUBTFUL, VENDORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..answers.architectures import Known, KnownArchitecture
    from ..model import Architecture, Product

__all__ = ["json_object", "text"]

LETTERS = "LCAWED"
"""Of each subject of `KnownArchitecture.known`: layouts, cycles, arithmetic, waits, encoding, device."""


_FACTS = {"valu_cycles": "VALU co-execution cycles"}


def text(found: Sequence[KnownArchitecture], whole: bool = False, width: int = 110) -> str:
    """A line for each: its name, what is known of it, its targets and products; or all about the first."""
    if whole:
        return _page(found[0])
    longest = max(len(one.architecture.name) for one in found)
    lines = [_line(one, longest, width) for one in found]
    legend = [f"{letter} {known.subject}" for letter, known in zip(LETTERS, found[0].known)]
    return (
        "".join(lines)
        + f"""
{", ".join(legend)}. A capital letter: known; a small one: assumed or
unconfirmed in part; a dot: not known. `mmacalc architectures NAME` says more about one. -a takes all of these names,
also as drivers, compilers and shops print them.
"""
    )


def _line(found: KnownArchitecture, longest: int, width: int) -> str:
    """The line of one architecture, and further lines where its products need them."""
    one = found.architecture
    marks = "".join(map(_mark, LETTERS, found.known))
    chips = f" ({', '.join(one.targets)})" if one.targets not in ((), (one.name,)) else ""
    products = f": {', '.join(product.name for product in one.products)}" if one.products else ""
    begin = f"{one.name:{longest}}  {marks}  "
    return fill(f"{begin}{one.title}{chips}{products}", width, subsequent_indent=" " * len(begin)) + "\n"


def _mark(letter: str, known: Known) -> str:
    if not known.what or not known.provenance:
        return "."
    return letter.lower() if set(DOUBTFUL) & set(known.provenance) else letter


def _page(found: KnownArchitecture) -> str:
    entry, one = found.entry, found.architecture
    of_products = {name for product in one.products for name in (product.name.lower(), *product.aliases)}
    lines = [
        f"{one.title} (-a {one.name})",
        f"    vendor: {VENDORS[one.vendor]}",
        f"    compiler targets: {', '.join(one.targets)}",
        f"    other names: {', '.join(name for name in one.aliases if name not in of_products) or 'none'}",
        f"    wave sizes: {' and '.join(map(str, one.waves))}",
        f"    instructions: {len(entry.names)} (-L lists them)",
    ]
    if found.runs_on:
        lines.append(
            f"    generic target: code for it runs on {', '.join(found.runs_on)}; shown are those of {one.title}"
        )
    if found.namesakes:
        others = ", ".join([f"{name} ({product})" for name, product in found.namesakes])
        lines.append(f"    the name stands for further architectures: {others}")
    if one.unconfirmed:
        lines.append(f"    unconfirmed: {', '.join([_FACTS.get(fact, fact) for fact in one.unconfirmed])}")
    lines.append("    what is known:")
    lines += [f"        {known.subject:11} {_how_sure(known)}" for known in found.known]
    lines += ["    products:"] * bool(one.products)
    width = max((len(product.name) for product in one.products), default=0)
    lines += [f"        {product.name:{width}}  {_figures(one, product)}".rstrip() for product in one.products]
    return "\n".join(lines) + "\n"


def _how_sure(known: Known) -> str:
    return f"{known.what} ({', '.join(known.provenance)})" if known.what and known.provenance else "not known"


def _figures(one: Architecture, product: Product) -> str:
    """Compute units, clock, target and other names of a product, as far as the catalog has them."""
    unit = "CUs" if one.unit == "WGP" else f"{one.unit}s"
    count = f"{product.units:3} {unit}" if product.units else ""
    clock = f"{product.clock_ghz:g} GHz" if product.clock_ghz else ""
    also = f"also {', '.join(product.aliases)}" if product.aliases else ""
    return f"{count:8} {clock:9} {product.target:7} {also}"


def json_object(found: Sequence[KnownArchitecture]) -> dict[str, Any]:
    """The same as plain data."""
    return {"architectures": [_architecture(one) for one in found]}


def _architecture(found: KnownArchitecture) -> dict[str, Any]:
    one = found.architecture
    return {
        "architecture": one.name,
        "title": one.title,
        "vendor": one.vendor,
        "targets": list(one.targets),
        "aliases": list(one.aliases),
        "namesakes": [name for name, _ in found.namesakes],
        "wave_sizes": list(one.waves),
        "known": {
            known.subject: {"what": known.what or None, "provenance": list(known.provenance)} for known in found.known
        },
        "products": [
            {
                "name": product.name,
                "aliases": list(product.aliases),
                "target": product.target or None,
                "compute_units": product.units,
                "clock_ghz": product.clock_ghz,
            }
            for product in one.products
        ],
    }
