"""Every architecture that mmacalc knows, with the names and products that -a takes.

    mmacalc architectures                   one line each: what is known of it, targets, products
    mmacalc architectures MI300A            all about one: what is known and how sure, products with units and clocks
    mmacalc architectures "NVIDIA H100 80GB HBM3"     what a driver prints is taken, here and after -a

A name that may be several architectures ("RTX 6000") is refused with these.
"""

from __future__ import annotations

from textwrap import fill

from ..base.checks import arguments_checked
from ..base.records import Record, json_keys
from ..catalog import Entry, architectures, entry, known_name
from ..command import Command, Reply, argument, show
from ..command.common import JSON
from ..command.options import terminal_width
from ..model.architecture import DOUBTFUL, PROVENANCES, VENDORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..command import Options
    from ..model import Architecture, Product


@json_keys("what?: null where nothing is known", "provenance")
class Known(Record):
    """What is known of one subject.

    Attributes:
        subject: "layouts", "cycles", "arithmetic", "waits", "encoding" or "device".
        what: in words; "" if nothing is. provenance: how sure the parts of it are, the surest first.
    """

    subject: str
    what: str
    provenance: tuple[str, ...] = ()


@json_keys(
    "architecture=architecture.name: the canonical name, such as cdna3",
    "title=architecture.title",
    "vendor=architecture.vendor",
    "targets=architecture.targets",
    "aliases=architecture.aliases",
    "namesakes=other_architectures: further architectures that the name which was asked for stands for",
    "wave_sizes=architecture.waves",
    "known=by_subject: by subject: what is known, and how sure its parts are",
    "products=architecture.products",
)
class KnownArchitecture(Record):
    """An architecture with what is known of it.

    Attributes:
        entry: of the catalog. known: by subject, in one order. runs_on: where the name that was asked for is that of a
            generic target, all targets on which its code runs. namesakes: where the name is that of a generation, other
            architectures of it that have products, each with its first product.
    """

    entry: Entry
    known: tuple[Known, ...]
    runs_on: tuple[str, ...] = ()
    namesakes: tuple[tuple[str, str], ...] = ()

    @property
    def architecture(self) -> Architecture:
        """The record."""
        return self.entry.architecture

    @property
    def other_architectures(self) -> tuple[str, ...]:
        """The names of `namesakes`."""
        return tuple([name for name, _ in self.namesakes])

    @property
    def by_subject(self) -> dict[str, Known]:
        """`known` by subject."""
        return {known.subject: known for known in self.known}


@json_keys("architectures")
class KnownArchitectures(Record):
    """The architectures that were asked for; whole: one, with all about it."""

    architectures: tuple[KnownArchitecture, ...]
    whole: bool = False


@arguments_checked
def describe(name: str) -> KnownArchitecture:
    """What is known of an architecture, by any of its names.

    Raises:
        Error: no architecture is called that, or several are.

    >>> {known.subject: known.provenance for known in describe("MI300X").known}["waits"]
    ('two sources agree', 'one source', 'unconfirmed')
    """
    from ..asm.targets import GENERIC

    short = known_name(name)[0]
    generic = [targets for target, targets in GENERIC.items() if target.replace("-", "") == short]
    return _described(entry(name), generic[0] if generic else (), _namesakes(name))


def describe_all() -> tuple[KnownArchitecture, ...]:
    """The same of every architecture."""
    return tuple([_described(entry(name)) for name in architectures()])


def _namesakes(name: str) -> tuple[tuple[str, str], ...]:
    """Other architectures with products whose titles have a name in brackets: "sm_120a (Blackwell, GeForce ...)"."""
    own, found = entry(name).architecture.name, []
    for other in architectures():
        one = entry(other).architecture
        generation = one.title.lower().partition("(")[2].rstrip(")").partition(",")[0]
        if other != own and one.products and generation.split(" ")[0] == name.strip().lower():
            found.append((other, one.products[0].name))
    return tuple(found)


def _described(
    found: Entry, runs_on: tuple[str, ...] = (), namesakes: tuple[tuple[str, str], ...] = ()
) -> KnownArchitecture:
    one = found.architecture
    known = (_layouts(found), _cycles(found), _arithmetic(one), _waits(one), _encoding(one), _device(one))
    return KnownArchitecture(found, known, runs_on, namesakes)


def _layouts(found: Entry) -> Known:
    one, parts = found.architecture, {"A", "B", "C", "D", "K", "SA", "SB"}
    sure = ["assumed"] if parts & set(one.assumed) else ["two sources agree"]
    if one.layouts_on_hardware:
        sure.append("hardware-verified")
    if parts & {*one.unconfirmed, *found.unconfirmed_parts}:
        sure.append("unconfirmed")
    return Known("layouts", "of every operand", _sorted(sure))


def _cycles(found: Entry) -> Known:
    one = found.architecture
    if one.fma_per_clock:
        return Known(
            "cycles", f"from the rates that {VENDORS[one.vendor]} publishes ({one.fma_source})", ("one source",)
        )
    if one.family.has_published_rates:
        return Known("cycles", "")
    first = found.instruction(found.names[0])
    return Known("cycles", "of every instruction", (first.provenance_of("cycles"),) if first.cycles else ())


def _arithmetic(one: Architecture) -> Known:
    from ..arithmetic.tables import TABLES

    rows = () if "arithmetic" in one.family.unsupported_topics else TABLES.get(one.arithmetic, ())
    if not rows:
        return Known("arithmetic", "")
    sure = _sorted(row.provenance for row in rows)
    return Known("arithmetic", "bit for bit" if sure != ("assumed",) else "unpublished", sure)


def _waits(one: Architecture) -> Known:
    from ..hazards.tables import FURTHER, RULES
    from ..hazards.tables import TABLES as WAITS

    if not one.hazards:
        return Known("waits", "")
    llvm, guide, _ = RULES[one.hazards]
    tables = [WAITS[name] for name in (llvm, guide, *FURTHER.get(one.hazards, ())) if name]
    return Known("waits", _listed([table.source for table in tables]), _sorted(t.provenance for t in tables))


def _listed(names: list[str]) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _encoding(one: Architecture) -> Known:
    if not one.assembly:
        return Known("encoding", "")
    return Known("encoding", "every field" if one.family.assembler else "byte for byte as LLVM's", ("one source",))


def _device(one: Architecture) -> Known:
    sized = [product for product in one.products if product.units and product.clock_ghz]
    if not sized:
        return Known("device", "")
    what = f"units and clock of {len(sized)} of {len(one.products)} products, by the vendor's data sheets"
    return Known("device", what, ("one source",))


def _sorted(provenances: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(provenances), key=PROVENANCES.index))


LETTERS = "LCAWED"
"""Of each subject of `KnownArchitecture.known`: layouts, cycles, arithmetic, waits, encoding, device."""


_FACTS = {"valu_cycles": "VALU co-execution cycles"}


def text(answer: KnownArchitectures, width: int = 110) -> str:
    """A line for each: its name, what is known of it, its targets and products; or all about the first."""
    found = answer.architectures
    if answer.whole:
        return _page(found[0])
    longest = max(len(one.architecture.name) for one in found)
    lines = [_line(one, longest, width) for one in found]
    legend = [f"{letter} {known.subject}" for letter, known in zip(LETTERS, found[0].known)]
    return (
        "".join(lines)
        + f"""
{", ".join(legend)}. A capital letter: known; a small one: assumed or
unconfirmed in part; a dot: not known. `mmacalc architectures NAME` says more about one. -a takes all of these names,
also as drivers and compilers print them, and retail names.
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
        *([f"    compiler targets: {', '.join(one.targets)}"] if one.targets else []),
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


def run(options: Options) -> Reply:
    """The list, or one architecture's page."""
    found = (describe(options.name),) if options.name else describe_all()
    answer = KnownArchitectures(found, bool(options.name))
    return show(options.json, "architectures", answer, lambda answer: text(answer, terminal_width()))


COMMAND = Command(
    "architectures", "list the architectures, with the names and products that -a takes", "find", __doc__,
    (
        argument(
            "name", "an architecture, target or product; all of them if left out", nargs="?", placeholder="ARCHITECTURE"
        ),
        JSON,
    ),
    run, {"architectures": text},
)  # fmt: skip
