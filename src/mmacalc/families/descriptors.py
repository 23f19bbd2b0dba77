"""The descriptors of tcgen05 and wgmma: bit fields, encoded and decoded by one table each, and swizzle atoms.

An instruction descriptor (32 bits) holds the shape and types of a tcgen05.mma; a shared memory descriptor (64 bits)
says where an operand lies. What the PTX ISA does not allow is encoded all the same and said in `Descriptor.notes`;
what no bits can say is refused.

Sources: PTX ISA 9.1, sections 9.7.16.4 (tcgen05) and 9.7.15.5.1.2 (wgmma), and 9.4 for sm_107; CUTLASS 7107b055,
mma_sm100_desc.hpp, whose bit fields give the same 560 values.
"""

from __future__ import annotations

from ..base.checks import arguments_checked, require_int, shown
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord, json_keys
from ..formats import ptx_name
from . import shared_memory
from .tensor_memory import DEPTHS, Form, allowed_shapes, default_types, types_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Descriptor", "DescriptorField", "atom_offset", "coded_depths", "decode_instruction", "decode_shared_memory",
    "instruction_descriptor", "shared_memory_descriptor",
]  # fmt: skip

INPUT_CODES = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5},
    "i8": {"u8": 0, "s8": 1},
    "mxf4": {"e2m1": 1},
}
INPUT_CODES |= {"mxf8f6f4": INPUT_CODES["f8f6f4"], "mxf4nvf4": INPUT_CODES["mxf4"]}
OUTPUT_CODES = {"f16": 0, "f32": 1, "s32": 2}
SCALE_CODES = {"ue4m3": 0, "ue8m0": 1}
MX = ("mxf8f6f4", "mxf4", "mxf4nvf4")
SHIFTS = {0: 0, 8: 1, 16: 2, 32: 3}
SWIZZLES = {
    "tcgen05": {"none": 0, "128B base32B": 1, "128B": 2, "64B": 4, "32B": 6},
    "wgmma": {name: swizzle.code for name, swizzle in shared_memory.SWIZZLES.items()},
}
# The atoms that operands lie in. That of "128B base32B" has four rows, not eight: PTX ISA, table 55 (9.7.16.10.6).
ATOMS = {name: swizzle for name, swizzle in shared_memory.PATTERNS.items() if name in SWIZZLES["tcgen05"]}

# Fields as (name, lowest bit, bits); None is reserved.
_COMMON = (
    ("sparse", 2, 1), ("a_type", 7, 3), ("negate_a", 13, 1), ("negate_b", 14, 1), ("transpose_a", 15, 1),
    ("transpose_b", 16, 1), ("n", 17, 6),
)  # fmt: skip
PLAIN_FIELDS = (
    *_COMMON, ("selector", 0, 2), ("saturate", 3, 1), ("d_type", 4, 2), ("b_type", 10, 3), ("m", 24, 5),
    ("k", 29, 1), ("max_shift", 30, 2),
)  # fmt: skip
MX_FIELDS = (*_COMMON, ("scale_id_b", 4, 2), ("scale_type", 23, 1), ("m", 27, 2), ("scale_id_a", 29, 2), ("k", 31, 1))
WGMMA_NAMES = {
    "start address": "address", "leading dimension byte offset": "leading", "stride dimension byte offset": "stride",
    "base offset": "base_offset", "swizzle": "swizzle",
}  # fmt: skip
SHARED_FIELDS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "tcgen05": (
        ("address", 0, 14), ("leading", 16, 14), ("stride", 32, 14), ("version", 46, 3), ("base_offset", 49, 3),
        ("leading_is_absolute", 52, 1), ("lut_segment", 53, 1), ("swizzle", 61, 3),
    ),
    "wgmma": tuple([(WGMMA_NAMES[name], low, bits) for name, low, bits, _ in shared_memory.FIELDS]),
}  # fmt: skip
FLAGS = {
    "sparse": ("A is dense", "A is sparse"), "saturate": ("wraps around", "saturates"),
    "negate_a": ("A as it is", "-A"), "negate_b": ("B as it is", "-B"),
    "transpose_a": ("A is K-major", "A is MN-major"), "transpose_b": ("B is K-major", "B is MN-major"),
}  # fmt: skip
MEANINGS = {
    "selector": "sparsity selector", "max_shift": "the most rows that B shifts, with .ws",
    "leading": "leading dimension byte offset", "stride": "stride dimension byte offset", "address": "start address",
    "base_offset": "base offset of the swizzle", "leading_is_absolute": "leading is an address (sm_103a)",
    "lut_segment": "segment of the table of .decompress::lut::b (sm_107)", "scale_id_a": "byte of SA's words",
    "scale_id_b": "byte of SB's words", "version": "version of the descriptor",
}  # fmt: skip


class DescriptorField(TupleRecord):
    """One field: its name, lowest bit and width; the code in it and what that means."""

    name: str
    low: int
    bits: int
    code: int
    meaning: str


@json_keys(
    "title",
    "value=word",
    "hex=hexadecimal",
    "size: in bits",
    "fields",
    "notes",
)
class Descriptor(TupleRecord):
    """A descriptor: what it is of, its value, its width in bits, its fields from the lowest bit up, and notes on
    what the PTX ISA does not allow or reserves."""

    title: str
    word: int
    size: int
    fields: tuple[DescriptorField, ...]
    notes: tuple[str, ...]

    @property
    def hexadecimal(self) -> str:
        """The value, with all digits."""
        return f"{self.word:#0{self.size // 4 + 2}x}"


def _instruction_fields(kind: str) -> tuple[tuple[str, int, int], ...]:
    if kind not in INPUT_CODES:
        known = ", ".join(INPUT_CODES)
        raise Error(f"the descriptor of kind::{kind} is not known.{did_you_mean(kind, INPUT_CODES)} Known: {known}")
    fields = PLAIN_FIELDS if kind not in MX else (*MX_FIELDS, ("b_type", 10, 3 if kind == "mxf8f6f4" else 2))
    return tuple(sorted(fields, key=lambda field: field[1]))


def coded_depths(kind: str, sparse: int) -> tuple[int, int | None]:
    """What the bit of K means, 0 and 1; None if it is reserved: it is for dense instructions of some kinds only."""
    deeper = {"mxf4": 96, "mxf4nvf4": 96, "f8f6f4": 64, "mxf8f6f4": 64}.get(kind)
    return DEPTHS[kind][sparse], None if sparse else deeper


@arguments_checked
def instruction_descriptor(kind: str, m: int, n: int, **options: int | str) -> Descriptor:
    """The instruction descriptor of a tcgen05.mma.

    Args:
        kind: as in .kind::f16. m, n: the shape.
        options: a, b, d: types; k; sparse, saturate, negate_a, negate_b, transpose_a, transpose_b: 1 or 0; selector;
            max_shift: 0, 8, 16 or 32; scale: ue8m0 or ue4m3; scale_id_a, scale_id_b.

    Raises:
        Error: something that the fields cannot say.

    >>> hex(instruction_descriptor("f16", 128, 256, a="bf16", d="f32").word)
    '0x8400490'
    """
    fields = _instruction_fields(kind)
    usual = default_types(kind)
    known = (
        "a",
        "b",
        "d",
        "k",
        "scale",
        *[name for name, *_ in fields if not name.endswith("_type") and name not in ("m", "n", "k")],
    )
    if unknown := [name for name in options if name not in known]:
        hint = did_you_mean(unknown[0], known)
        raise Error(f"the descriptor of kind::{kind} has no field '{unknown[0]}'.{hint} It has: {', '.join(known)}")
    types = {name: ptx_name(str(options.get(name) or default)) for name, default in zip("abd", usual)}
    if kind == "f16" and options.get("a") and not options.get("b"):
        types["b"] = types["a"]
    step = 128 if kind in MX else 16
    for name, value, multiple, count in (("M", m, step, 2 if kind in MX else 16), ("N", n, 8, 32)):
        most = multiple * count
        if value % multiple or not multiple <= value <= most:
            raise Error(f"the field of {name} holds multiples of {multiple} up to {most} (kind::{kind}); got {value}")
    codes = {name: require_int(name, options.get(name, 0)) for name, *_ in fields}
    codes |= {
        "m": m // step, "n": n // 8, "a_type": _code("A", types["a"], INPUT_CODES[kind]),
        "b_type": _code("B", types["b"], INPUT_CODES[kind]), "d_type": _code("D", types["d"], OUTPUT_CODES),
        "max_shift": _code("max_shift", require_int("max_shift", options.get("max_shift", 0)), SHIFTS),
        "scale_type": _code("scale", ptx_name(str(options.get("scale") or "ue8m0")), SCALE_CODES),
        "k": _depth_code(kind, require_int("k", options.get("k", 0)), codes["sparse"]),
    }  # fmt: skip
    return decode_instruction(_packed(fields, codes), kind)


def _code(what: str, given: str | int, codes: Mapping[str, int] | Mapping[int, int]) -> int:
    known: dict[str | int, int] = {**codes}  # type: ignore[dict-item]
    if given not in known:
        hint = did_you_mean(shown(given), map(str, known))
        raise Error(f"{what} is {', '.join(map(str, known))}; got {shown(given)}.{hint}")
    return known[given]


def _depth_code(kind: str, k: int, sparse: int) -> int:
    depths = coded_depths(kind, sparse)
    for code, depth in enumerate(depths):
        if k in (0, depth):
            return code
    have = [str(depth) for depth in depths if depth]
    raise Error(f"the descriptor of kind::{kind} can say K = {' or '.join(have)}; got {k}")


def _packed(fields: tuple[tuple[str, int, int], ...], codes: Mapping[str, int]) -> int:
    word = 0
    for name, low, bits in fields:
        if not 0 <= codes[name] < 1 << bits:
            raise Error(f"{name} has {bits} bit{'s' * (bits > 1)}, so it is 0 to {(1 << bits) - 1}; got {codes[name]}")
        word |= codes[name] << low
    return word


def _unpacked(fields: tuple[tuple[str, int, int], ...], word: int) -> dict[str, int]:
    return {name: word >> low & (1 << bits) - 1 for name, low, bits in fields}


def _reserved(fields: tuple[tuple[str, int, int], ...], word: int) -> list[str]:
    """The note on bits that no field has."""
    used = sum((1 << bits) - 1 << low for _, low, bits in fields)
    return [f"reserved bits are set: {word & ~used:#x}"] if word & ~used else []


@arguments_checked
def decode_instruction(word: int, kind: str) -> Descriptor:
    """What an instruction descriptor says. The same bits mean other things by kind.

    Raises:
        Error: more than 32 bits, or an unknown kind.

    >>> [f.meaning for f in decode_instruction(0x08400490, "f16").fields if f.name in ("m", "n", "a_type")]
    ['A bf16', 'N 256', 'M 128']
    """
    described = _instruction_fields(kind)
    _fits(word, 32)
    codes = _unpacked(described, word)
    step = 128 if kind in MX else 16

    def meaning(name: str, code: int) -> str:
        if name.endswith("_type"):
            return _type_meaning(kind, name, code)
        if name in FLAGS:
            return FLAGS[name][code]
        if name in ("m", "n"):
            return f"{name.upper()} {code * (step if name == 'm' else 8)}"
        if name == "k":
            depth = coded_depths(kind, codes["sparse"])[code]
            return f"K {depth}" if depth else "reserved"
        return f"{MEANINGS[name]}: {8 << code - 1 if code else 0}" if name == "max_shift" else MEANINGS[name]

    fields = _fields(described, codes, meaning)
    return Descriptor(f"instruction descriptor of kind::{kind}", word, 32, fields, _notes(kind, word, codes, described))


def _type_meaning(kind: str, name: str, code: int) -> str:
    """The type that a code means, such as "A f16"."""
    codes = {"d_type": OUTPUT_CODES, "scale_type": SCALE_CODES}.get(name, INPUT_CODES[kind])
    found = next((known for known, number in codes.items() if number == code), "no such type")
    whose = "scales" if name == "scale_type" else name[0].upper()
    return f"{whose} {found}"


def _fits(word: int, size: int) -> None:
    if not 0 <= word < 1 << size:
        raise Error(f"a descriptor of {size} bits is 0 to {(1 << size) - 1:#x}; got {word:#x}")


def _fields(
    described: tuple[tuple[str, int, int], ...], codes: Mapping[str, int], meaning: Callable[[str, int], str]
) -> tuple[DescriptorField, ...]:
    return tuple(
        [DescriptorField(name, low, bits, codes[name], meaning(name, codes[name])) for name, low, bits in described]
    )


def _notes(
    kind: str, word: int, codes: Mapping[str, int], described: tuple[tuple[str, int, int], ...]
) -> tuple[str, ...]:
    """What the PTX ISA does not allow of this descriptor."""
    notes = []
    m, n = codes["m"] * (128 if kind in MX else 16), codes["n"] * 8
    forms = [Form(kind, bool(codes["sparse"]), ws, group) for ws in (False, kind not in MX) for group in (1, 2)]
    if not any(m in shapes[0] and n in shapes[1] for shapes in map(allowed_shapes, forms)):
        rows = sorted({size for shapes in map(allowed_shapes, forms) for size in shapes[0]})
        notes.append(f"no tcgen05.mma of kind::{kind} has M {m}, N {n}; M is {', '.join(map(str, rows))}")
    if kind == "i8" and (codes["negate_a"] or codes["negate_b"]):
        notes.append("kind::i8 has no negation")
    if kind in ("mxf4", "mxf4nvf4") and (codes["transpose_a"] or codes["transpose_b"]):
        notes.append(f"kind::{kind} has no transposes: A and B are K-major")
    if kind == "tf32" and (codes["transpose_a"] or codes["transpose_b"]):
        notes.append("kind::tf32 transposes with the 128B swizzle of 32-byte atoms only")
    if kind in ("i8", "f8f6f4", "mxf8f6f4") and codes["transpose_b"] and n % 16:
        notes.append("N of a transposed B of 8 bits is in steps of 16 (of 32 with cta_group::2)")
    if codes.get("saturate") and kind != "i8":
        notes.append("saturation requires kind::i8")
    if "d_type" in codes and codes["d_type"] not in [OUTPUT_CODES[output] for output in types_of(kind)[1]]:
        notes.append(f"kind::{kind} does not have this type of D")
    if codes["k"]:
        where = "sm_103a or sm_107" if kind in ("mxf4", "mxf4nvf4") else "sm_107"
        reserved = f"the bit of K is reserved in {'sparse ' if codes['sparse'] else ''}kind::{kind}"
        notes.append(f"this K requires {where}" if coded_depths(kind, codes["sparse"])[1] else reserved)
    return (*notes, *_reserved(described, word))


# --- shared memory ---


@arguments_checked
def shared_memory_descriptor(
    address: int, leading: int, stride: int, swizzle: str = "128B", unit: str = "tcgen05", base_offset: int = 0
) -> Descriptor:
    """The 64-bit descriptor of an operand in shared memory.

    Args:
        address, leading, stride: in bytes, multiples of 16. swizzle: none, 32B, 64B, 128B or, of tcgen05,
            128B base32B. unit: tcgen05 or wgmma. base_offset: of the swizzle.

    Raises:
        Error: a number that does not fit, or an unknown swizzle or unit.

    >>> hex(shared_memory_descriptor(0x400, 16, 1024).word)
    '0x4000404000010040'
    """
    described = _shared_fields(unit)
    values = {"address": address, "leading": leading, "stride": stride}
    for name, value in values.items():
        limit = next(16 << bits for field, _, bits in described if field == name)
        if value % 16 or not 0 <= value < limit:
            raise Error(f"the {MEANINGS[name]} is a multiple of 16 below {limit}; got {value}")
    codes = {name: value // 16 for name, value in values.items()}
    codes |= {"version": 1, "base_offset": base_offset, "leading_is_absolute": 0, "lut_segment": 0}
    codes["swizzle"] = _code("the swizzle", swizzle, SWIZZLES[unit])
    return decode_shared_memory(_packed(described, codes), unit)


def _shared_fields(unit: str) -> tuple[tuple[str, int, int], ...]:
    if unit not in SHARED_FIELDS:
        raise Error(f"unit is {' or '.join(SHARED_FIELDS)}; got '{unit}'")
    return SHARED_FIELDS[unit]


@arguments_checked
def decode_shared_memory(word: int, unit: str = "tcgen05") -> Descriptor:
    """What a shared memory descriptor says.

    Raises:
        Error: more than 64 bits, or an unknown unit.

    >>> [field.meaning for field in decode_shared_memory(0x4000404000010040).fields][:3]
    ['start address 0x400', 'leading dimension byte offset 16', 'stride dimension byte offset 1024']
    """
    described = _shared_fields(unit)
    _fits(word, 64)
    codes = _unpacked(described, word)

    def meaning(name: str, code: int) -> str:
        if name == "swizzle":
            found = [known for known, number in SWIZZLES[unit].items() if number == code]
            return f"swizzle {found[0]}" if found else "no such swizzle"
        if name == "address":
            return f"start address {code * 16:#x}"
        return f"{MEANINGS[name]} {code * 16}" if name in ("leading", "stride") else MEANINGS[name]

    notes = []
    if codes.get("version", 1) != 1:
        notes.append("bits 46 to 48 are 0b001 in every descriptor of tcgen05")
    notes += _reserved(described, word)
    fields = _fields(described, codes, meaning)
    return Descriptor(f"shared memory descriptor of {unit}", word, 64, fields, tuple(notes))


@arguments_checked
def atom_offset(mn: int, k: int, bits: int, swizzle: str = "128B", major: str = "k") -> int:
    """The byte of an element in the atom of a swizzle: eight rows of 16, 32, 64 or 128 bytes, of 128B base32B four.

    Args:
        mn: the row of A or the column of B; k: along k. In a K-major atom mn is the row, in an MN-major one k is.
        bits: the width of an element. swizzle: as for `shared_memory_descriptor`. major: "k" or "mn".

    Raises:
        Error: outside the atom, or an unknown swizzle or major.

    >>> atom_offset(mn=1, k=0, bits=16), atom_offset(mn=1, k=0, bits=16, swizzle="none")
    (144, 16)
    """
    if swizzle not in ATOMS:
        raise Error(f"the swizzle is {', '.join(ATOMS)}; got '{swizzle}'.{did_you_mean(swizzle, ATOMS)}")
    if major not in ("k", "mn"):
        raise Error(f"major is 'k' or 'mn'; got '{major}'")
    atom = ATOMS[swizzle]
    row, along = (mn, k) if major == "k" else (k, mn)
    byte = along * bits // 8
    if not (0 <= row < atom.rows and 0 <= byte < atom.row_bytes):
        raise Error(
            f"an atom of swizzle {swizzle} has {atom.rows} rows of {atom.row_bytes} bytes; row {row}, byte {byte} is "
            "outside"
        )
    return int(atom(row * atom.row_bytes + byte))
