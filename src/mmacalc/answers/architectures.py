"""What is known of an architecture, and how sure that is."""

from __future__ import annotations

from ..arithmetic.tables import TABLES
from ..catalog import Entry, architectures, entry, known_name
from ..checks import arguments_checked
from ..hazards.tables import REPORTED, RULES
from ..hazards.tables import TABLES as WAITS
from ..model.architecture import PROVENANCES, VENDORS
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model import Architecture

__all__ = ["Known", "KnownArchitecture", "describe", "describe_all"]


class Known(Record):
    """What is known of one subject.

    Attributes:
        subject: "layouts", "cycles", "arithmetic", "waits", "encoding" or "device".
        what: in words; "" if nothing is. provenance: how sure the parts of it are, the surest first.
    """

    subject: str
    what: str
    provenance: tuple[str, ...] = ()


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


@arguments_checked
def describe(name: str) -> KnownArchitecture:
    """What is known of an architecture, by any of its names.

    Raises:
        Error: no architecture is called that, or several are.

    >>> {known.subject: known.provenance for known in describe("MI300X").known}["waits"]
    ('two sources agree', 'unconfirmed')
    """
    from ..asm.elf_machines import GENERIC

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
    if parts & {*one.unconfirmed, *found.doubts}:
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
    rows = () if "arithmetic" in one.family.unsupported_topics else TABLES.get(one.arithmetic, ())
    if not rows:
        return Known("arithmetic", "")
    sure = _sorted(row.provenance for row in rows)
    return Known("arithmetic", "bit for bit" if sure != ("assumed",) else "unpublished", sure)


def _waits(one: Architecture) -> Known:
    if not one.hazards:
        return Known("waits", "")
    llvm, guide, _ = RULES[one.hazards]
    tables = [WAITS[name] for name in (llvm, guide, REPORTED.get(one.hazards)) if name]
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
