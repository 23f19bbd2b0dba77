"""The architectures of the catalog, with their names and products, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..catalog import Entry
    from ..model import Architecture, Product

__all__ = ["json_object", "text"]


def text(entries: Sequence[Entry], whole: bool = False) -> str:
    """A line for each: its name, what it is, and the products that have it; or all about the first."""
    if whole:
        return _page(entries[0])
    architectures = [entry.architecture for entry in entries]
    width = max(len(one.name) for one in architectures)
    lines = []
    for one in architectures:
        chips = f" ({', '.join(one.targets)})" if not one.family.ptx else ""
        products = f": {', '.join(product.name for product in one.products)}" if one.products else ""
        lines.append(f"{one.name:{width}}  {one.title}{chips}{products}\n")
    return "".join(lines)


def _page(entry: Entry) -> str:
    one = entry.architecture
    of_products = {name for product in one.products for name in (product.name.lower(), *product.aliases)}
    lines = [
        f"{one.title} (-a {one.name})",
        f"    vendor: {one.vendor.upper()}",
        f"    compiler targets: {', '.join(one.targets)}",
        f"    other names: {', '.join(name for name in one.aliases if name not in of_products) or 'none'}",
        f"    wave sizes: {' and '.join(map(str, one.waves))}",
        f"    instructions: {len(entry.names)} (-L lists them)",
    ]
    if one.unconfirmed:
        lines.append(f"    unconfirmed: {', '.join(one.unconfirmed)}")
    lines += ["    products:"] * bool(one.products)
    width = max((len(product.name) for product in one.products), default=0)
    lines += [f"        {product.name:{width}}  {_figures(one, product)}".rstrip() for product in one.products]
    return "\n".join(lines) + "\n"


def _figures(one: Architecture, product: Product) -> str:
    """Compute units, clock, target and other names of a product, as far as the catalog has them."""
    unit = "CUs" if one.unit == "WGP" else f"{one.unit}s"
    count = f"{product.units:3} {unit}" if product.units else ""
    clock = f"{product.clock_ghz:g} GHz" if product.clock_ghz else ""
    also = f"also {', '.join(product.aliases)}" if product.aliases else ""
    return f"{count:8} {clock:9} {product.target:7} {also}"


def json_object(entries: Sequence[Entry]) -> dict[str, Any]:
    """The same as plain data."""
    return {"architectures": [_architecture(entry.architecture) for entry in entries]}


def _architecture(one: Architecture) -> dict[str, Any]:
    return {
        "architecture": one.name,
        "title": one.title,
        "vendor": one.vendor,
        "targets": list(one.targets),
        "aliases": list(one.aliases),
        "wave_sizes": list(one.waves),
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
