"""What a layout family is: from an instruction's shape, formats and fields to the layout of each operand.

A catalog file names its family. A family is one object of a module of this package (`family`); the rest of the program
asks it questions and never compares its name.
"""

from __future__ import annotations

from ..base.errors import Error, did_you_mean
from ..base.records import Cache, Record, TupleRecord, imported
from ..layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..catalog.grammar import Description
    from ..model import Instruction


class Axis(TupleRecord):
    """One coordinate of an operand that is not the layout's own: `first` + value // `run` is that of the layout.

    So the k of a scale counts the scales, and rows that only fill up a layout are left out.
    """

    name: str
    extent: int
    first: int = 0
    run: int = 1


class Placement(TupleRecord):
    """One operand's layout with what is needed to turn its items into registers, or columns, and bits.

    layout: coordinates to places by name. In registers these are lane and item, perhaps with a place before the lane
    that counts waves (warp, eu); in Tensor Memory cta, lane, column and perhaps item, the slot in a column; after
    tcgen05.ld cta, warp, lane, load and item. fields: the values of its selectors; slot_bits: the width of an item's
    slot; offset, bits: where in its slot the element lies and how wide it is; slots_per_location: how many neighbouring
    slots share one Location (the stored values of a sparse group); lanes: a function from the layout's lane to the lane
    that is read instead (BLGP), or None; axes: the coordinates of the operand where the layout's last two are others;
    doubt: what no second source confirms about the layout, "" if nothing.
    """

    layout: Layout
    fields: Mapping[str, int]
    slot_bits: int
    offset: int
    bits: int
    slots_per_location: int
    lanes: Callable[[int], int] | None
    axes: tuple[Axis, ...] = ()
    doubt: str = ""


def packed(
    layout: Layout, bits: int, fields: Mapping[str, int] | None = None, slots_per_location: int = 1
) -> Placement:
    """A placement whose slots are as wide as their elements."""
    return Placement(layout, fields or {}, bits, 0, bits, slots_per_location, None)


# The coordinates of each operand.
AXES: dict[str, tuple[str, str, str]] = {
    "A": ("block", "i", "k"), "B": ("block", "k", "j"), "C": ("block", "i", "j"), "D": ("block", "i", "j"),
    "K": ("block", "i", "k"), "SA": ("block", "i", "k"), "SB": ("block", "k", "j"),
}  # fmt: skip

# The elements of a 32-bit register, by the bits of their slots; those of 64 bits take two registers each.
NEIGHBOURS = {1: 32, 2: 16, 4: 8, 8: 4, 16: 2, 32: 1, 64: 1}

_LAYOUTS = Cache(1 << 12)  # every operand of the catalog under every modifier takes about 2,000


def shared_layout(
    text: str, axes: tuple[str, ...], sizes: tuple[tuple[str, int], ...], extents: tuple[tuple[str, int], ...] = ()
) -> Layout:
    """One Layout object for all operands of the same text, sizes and extents."""
    key = (text, axes, sizes, extents)
    layout: Layout = _LAYOUTS.get(key, lambda: Layout(text, axes, dict(sizes), dict(extents)))
    return layout


def joined(layout: Layout) -> Layout:
    """The same layout with the places before the lane as one, and those behind it as the items of a lane.

    >>> sizes = (("i", 256), ("c", 4), ("e", 2))
    >>> joined(shared_layout("i (c e) -> lane (i), column (c), item (e)", ("i", "k"), sizes)).pattern
    'i (c e) -> lane (i), item (c e)'
    """
    names = tuple(layout.places)
    at = names.index("lane")
    if at <= 1 and names[at + 1 :] == ("item",):
        return layout
    groups = {"lane": ("lane",), "item": names[at + 1 :]}
    if at:
        groups = {names[0]: names[:at], **groups}
    left = " ".join(f"({' '.join(group)})" for group in layout.coordinates)
    right = ", ".join(
        f"{name} ({' '.join(digit for place in places for digit in layout.places[place])})"
        for name, places in groups.items()
    )
    return shared_layout(f"{left} -> {right}", layout.axes, tuple(layout.sizes.items()))


class Family(Record):
    """A family of matrix instructions whose operands are laid out by the same rule.

    Attributes:
        name: as catalog files name it.
        features: the words that a catalog line may have among its features.
        vendor: whose instructions they are.
        grammar: the module of `mmacalc.catalog.grammar` whose Entry reads its catalog files; "" for lines of names
            and opcodes, as in `mmacalc.catalog`.
        spelling: how its users write names and registers: a module of `mmacalc.spelling`.
        assembler: the module of `mmacalc.asm` that encodes its instructions instead of AMD's assembler.
        unsupported_topics: the questions that have no answer for its instructions, each with the sentence that says so,
            in which {title} stands for the architecture.
        functions: the module of `mmacalc.compiler` that knows the functions which become its instructions, where these
            are not clang's builtins.
        language: the language of the kernels that `mmacalc.generate` writes; "" for none.
        vector_instructions: the list in `mmacalc.chaining.conversions` that its targets share; "" for none.
        matrix_moves: whether it has instructions that load and store matrices of 8 x 8 (ldmatrix, stmatrix).
        equal_operands: whether operands of one shape and width lie alike in all its generations.
        sass: whether its instructions become SASS opcodes, by which they are found too.
        has_published_rates: whether the vendor publishes multiply-adds per clock instead of cycles.
        satfinite: whether integer instructions can saturate by a qualifier of the name (.satfinite), not by a bit.
        nan_codes: the bits of a NaN result by D's format, where they are published.
        small_overflow: what conversions to 8-bit floats make of too large numbers: "largest" (NVIDIA's have .satfinite,
            which PTX requires of them), "none" (AMD's without FP16_OVFL: NaN, of e5m2 infinities); "" where it is not
            known here.
        float32: the format in which matrices of float32 are multiplied.
        blocks: whether its instructions can multiply several blocks, so that every element names its block.
        half_results: whether 16-bit results fill half of a register, which OPSEL[2] chooses.
        mnemonics: how its loads and stores are called: a key of `mmacalc.memory_access.units.NAMES`.
        layouts_only: whether only its layouts are known here, so that a search over all architectures lists it last.
        fixed_modes: the processor's modes that programs set and that are taken as fixed here, by name in small letters:
            why one is refused as a modifier, in which {name} stands for the instruction.
        opcode_bits: the width of the opcode field; 0 where the instructions have none.
    """

    name: str
    features: tuple[str, ...]
    vendor: str = ""
    grammar: str = ""
    spelling: str = ""
    assembler: str = ""
    unsupported_topics: Mapping[str, str] = {}
    functions: str = ""
    language: str = ""
    vector_instructions: str = ""
    matrix_moves: bool = False
    equal_operands: bool = False
    sass: bool = False
    has_published_rates: bool = False
    satfinite: bool = False
    nan_codes: Mapping[str, str] = {}
    fixed_modes: Mapping[str, str] = {}
    small_overflow: str = ""
    float32: str = "f32"
    blocks: bool = False
    half_results: bool = False
    layouts_only: bool = False
    opcode_bits: int = 0
    mnemonics: str = ""

    def require(self, topic: str, title: str) -> None:
        """Refuse a question about an architecture that has no answer.

        Args:
            topic: "arithmetic", "assembly", "waits", "launch" ...
            title: how messages call the architecture, or the instruction.

        Raises:
            Error: the family refuses the topic.
        """
        if topic in self.unsupported_topics:
            raise Error(self.unsupported_topics[topic].format(title=title))

    def analogy(self, instruction: Instruction) -> str:
        """What the arithmetic of an instruction is inferred from, where it was not measured itself; else empty."""
        return ""

    def operands(self, instruction: Instruction) -> tuple[str, ...]:
        """The names of an instruction's operands, in the order in which they are listed."""
        raise NotImplementedError

    def implied_features(self, described: Description) -> tuple[str, ...]:
        """The features that follow from an instruction's name."""
        return ()

    def place(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """The placement of one operand.

        Raises:
            Error: the shape does not fit the family.
        """
        raise NotImplementedError

    def fields(self, instruction: Instruction) -> dict[str, tuple[int, ...]]:
        """The fields that follow from the shape, with the values that each may have."""
        return {}


# Where each family is defined: module and name. A module is imported when one of its families is first used.
FAMILIES = {
    "mfma": ("amd", "MFMA"),
    "wmma-rdna3": ("amd", "RDNA3"),
    "wmma-rdna4": ("amd", "RDNA4"),
    "wmma-cdna5": ("amd", "CDNA5"),
    "tensor-core": ("tensor_core", "TENSOR_CORE"),
    "dpas": ("dpas", "DPAS"),
    "simdgroup": ("stated", "SIMDGROUP"),
    "amx": ("stated", "AMX"),
    "sme": ("stated", "SME"),
}


def family(name: str) -> Family:
    """The family of that name.

    Raises:
        Error: there is none.

    >>> family("mfma").blocks
    True
    """
    if name not in FAMILIES:
        raise Error(
            f"unknown layout family '{name}'.{did_you_mean(name, FAMILIES)} Known: {', '.join(FAMILIES)}",
            kind="unknown name",
        )
    module, attribute = FAMILIES[name]
    found: Family = getattr(imported(f"{__name__}.{module}"), attribute)
    return found
