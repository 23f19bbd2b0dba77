"""Architecture: one GPU architecture (or compilation target), as its catalog file describes it."""

from __future__ import annotations

from ..base.checks import argument_class, arguments_checked
from ..base.errors import Error
from ..base.records import Record, cached_property, json_keys
from ..families import family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..families import Family

__all__ = ["PROVENANCES", "VENDORS", "Architecture", "Product"]

VENDORS = {"amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel", "apple": "Apple", "arm": "Arm"}
PROVENANCES = ("hardware-verified", "two sources agree", "one source", "unconfirmed", "assumed")
DOUBTFUL = ("unconfirmed", "assumed")  # what every answer says


@json_keys(
    "name",
    "aliases",
    "target?",
    "compute_units=units",
    "clock_ghz",
)
class Product(Record):
    """A product with an architecture's chip, as the vendor's data sheet describes it.

    Attributes:
        name: as the vendor prints it; aliases: other names, lower case.
        units: compute units (of NVIDIA: SMs); clock_ghz: the clock that the published peaks assume; None if it is
            not published. memory_gb_s: the published peak bandwidth of its memory (HBM, GDDR), in 1e9 bytes per second.
        target: the compiler's name of its chip, where the architecture has several.
        memory_note: what else there is to know of that bandwidth; "assumed" where no page with it was found.
        fma_per_clock: what differs from the architecture's; None for a rate that is not published.
        clock_for: the clock that the published peak of a format assumes, where it is another.
    """

    name: str
    units: int | None = None
    clock_ghz: float | None = None
    memory_gb_s: float | None = None
    aliases: tuple[str, ...] = ()
    target: str = ""
    memory_note: str = ""
    fma_per_clock: Mapping[str, int | None] = {}
    clock_for: Mapping[str, float] = {}

    def _check(self) -> None:
        for field, value in (
            ("units", self.units),
            ("clock_ghz", self.clock_ghz),
            ("memory_gb_s", self.memory_gb_s),
        ):
            if value is not None and not (isinstance(value, (int, float)) and value > 0):
                raise Error(f"product {self.name}: {field} is {value!r}; it should be a positive number, or None")


class Architecture(Record):
    """One architecture.

    Attributes:
        name: the canonical name, such as "cdna3"; title: as it is printed.
        vendor: "amd", "nvidia", "intel", "apple" or "arm".
        layout: the name of its layout family, see `mmacalc.families`.
        waves: the wave sizes, the default first.
        arithmetic: the name of the table in `mmacalc.arithmetic.tables` that says how its instructions round; "" is
            for unpublished.
        aliases: other names, lower case; targets: the compiler's names.
        series: names of products of which the catalog does not list every one, * for a digit and # for one from 1 to 9.
        format_fields: for instructions that leave the formats of operands to fields, each operand's field.
        scale_fields: the fields that choose among scales, with the number of their values.
        format_names: what a word of a mnemonic means here, where it differs: {"fp8": "e4m3fnuz"}.
        encoding: the name of the encoding; register_alignment: of operands in registers, in bytes.
        accumulators: AccVGPRs for C and D: "required", "allowed" or "none".
        unit: what a compute unit is called: "CU", "WGP" (two CUs) or "SM".
        products: what is sold with it, the one that stands for the architecture first.
        provenance: how sure a line is that does not say so; "" is two sources in the package's files, of NVIDIA only as
            far as ptxas was asked about the target. A file outside the package asserts what it does not say otherwise.
        assumed, unconfirmed: parts of every instruction that follow by analogy, or that no second source confirms.
        builtins: the name of clang's dialect of builtins in `mmacalc.compiler.dialects`; "" if there are none.
        lds_bytes: how many bytes of LDS a workgroup can have.
        lds_phases: which lanes LDS (shared memory) serves together: (access, bytes, banks, lanes, provenance,
            source[, {more}]), see `mmacalc.memory_access.banks.Rule`.
        lds_copies: what fills LDS without registers, the widest first: (name, bytes of a lane), of TMA 0 bytes; see
            `mmacalc.memory_access.copies`.
        assembly: the generation of its encodings in `mmacalc.asm.generations`; hazards: its wait-state rules in
            `mmacalc.hazards.tables`; "" is not known. hazards_of: those of the targets that have others.
        amd_calculator: whether AMD's matrix instruction calculator 1.3.2 knows it, whose text is then reproduced.
        assembly_of: the generations of the LLVM versions whose encodings differ from the newest.
        since_llvm: the first LLVM version that knows a target, where that is not the oldest of `mmacalc.asm.targets`.
        also_assembled: instructions of another architecture that an LLVM version assembles, though no compiler
            selects them: (architecture, how their mnemonics begin), by version.
        rocwmma: the compiler targets that rocWMMA 1.6 supports.
        layouts_on_hardware: the formats of A whose layouts tests on silicon confirm, by kind: dense, sparse, scale.
        notes: remarks about instructions that have a feature or format.
        ptx: the PTX ISA version that introduced the target.
        wmma_fragments: whose wmma fragments it has where they are not those of Ampere and later: "volta", "turing".
        patterns: where the file states the layouts: see `mmacalc.families.stated`.
        tcgen05: what a target with Tensor Memory has: see `mmacalc.catalog.grammar.tcgen05`.
        fma_per_clock: dense multiply-adds per clock and SM by type ("f16", or "f16.f32" only with f32 accumulators,
            "fp8", "fp4", "int8" ..., "fp4.k96" only with that K); fma_source: where they are published;
            fma_through: the only instructions that reach them, if not all do (f64 has no such instruction).
        memory_source: where the bandwidths of its products' memory are published.
    """

    name: str
    title: str
    vendor: str
    layout: str
    waves: tuple[int, ...]
    aliases: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    arithmetic: str = ""
    format_fields: Mapping[str, str] = {}
    scale_fields: Mapping[str, int] = {}
    format_names: Mapping[str, str] = {}
    encoding: str = ""
    register_alignment: int | None = None
    accumulators: str | None = None
    unit: str = "unit"
    products: tuple[Product, ...] = ()
    provenance: str = ""
    assumed: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    notes: Mapping[str, str] = {}
    builtins: str = ""
    lds_bytes: int = 0
    lds_phases: tuple[tuple[Any, ...], ...] = ()
    lds_copies: tuple[tuple[str, int], ...] = ()
    assembly: str = ""
    assembly_of: Mapping[int, str] = {}
    since_llvm: Mapping[str, int] = {}
    also_assembled: Mapping[int, tuple[str, str]] = {}
    hazards: str = ""
    hazards_of: Mapping[str, str] = {}
    amd_calculator: bool = False
    rocwmma: tuple[str, ...] = ()
    layouts_on_hardware: Mapping[str, tuple[str, ...]] = {}
    ptx: str = ""
    wmma_fragments: str = ""
    patterns: Mapping[str, Any] = {}
    tcgen05: Mapping[str, Any] = {}
    fma_per_clock: Mapping[str, int] = {}
    fma_source: str = ""
    fma_through: str = ""
    memory_source: str = ""

    def _check(self) -> None:
        where = f"the catalog's record of architecture '{self.name}'"
        if self.vendor != self.family.vendor:
            raise Error(f"{where}: the vendor of layout '{self.layout}' is {self.family.vendor}; got '{self.vendor}'")
        if self.accumulators not in ("required", "allowed", "none", None):
            raise Error(f"{where}: accumulators is required, allowed or none; got '{self.accumulators}'")
        if self.provenance not in ("", *PROVENANCES):
            raise Error(f"{where}: provenance is one of {', '.join(PROVENANCES)}; got '{self.provenance}'")
        if not self.waves or not all(isinstance(wave, int) and wave > 0 for wave in self.waves):
            raise Error(f"{where}: waves is a tuple of wave sizes, the default first; got {self.waves!r}")

    @cached_property
    def family(self) -> Family:
        """The layout family: how this generation lays out its operands."""
        return family(self.layout)

    def __repr__(self) -> str:
        return f"mmacalc.architecture({self.name!r})"

    @arguments_checked
    def wave(self, wave: int | None) -> int:
        """The wave size meant by `wave`; None or 0 is the default.

        Raises:
            Error: the architecture has no such wave size.

        >>> import mmacalc
        >>> mmacalc.architecture("rdna4").wave(None)
        32
        """
        if not wave:
            return self.waves[0]
        if wave not in self.waves:
            raise Error(f"{self.title} has no wave size {wave!r}; it has {' and '.join(map(str, self.waves))}")
        return wave


argument_class(Architecture)
