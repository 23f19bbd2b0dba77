"""Encode and decode the descriptors of tcgen05 and wgmma, field by field; the byte of an element in a swizzle's atom.

    mmacalc descriptor f16 -M 128 -N 256 --a-type bf16             the instruction descriptor of kind::f16
    mmacalc descriptor f16 0x08400490                              the same, decoded
    mmacalc descriptor tcgen05 --address 0x400 --leading 16 --stride 1024 --swizzle 128B
    mmacalc descriptor wgmma 0x4000004000010040                    a shared memory descriptor, decoded
    mmacalc descriptor atom --swizzle 128B --type f16 --major k    the bytes of a swizzle's atom

An instruction descriptor has the shape and types of a tcgen05.mma, and its bits mean other things by kind; a shared
memory descriptor, of tcgen05 or wgmma, says where an operand lies.
"""

from __future__ import annotations

from ..asm.fields import Field
from ..base.errors import Error, did_you_mean
from ..base.records import Record
from ..command import Command, Reply, argument, flag, number, option, refuse_given, show, tables
from ..command.common import INSTRUCTION, JSON, TARGET
from ..families import descriptors
from ..families.descriptors import ATOMS, atom_offset
from ..formats import named
from .assemble import word_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command import Options
    from ..families.descriptors import Descriptor


class SwizzleAtom(Record):
    """The bytes of an atom.

    Attributes:
        swizzle, format, major: which. bits: of an element's slot. bytes: by row (k of an MN-major atom, else m or n)
            and the index along the row, the byte of the element.
    """

    swizzle: str
    format: str
    major: str
    bits: int
    bytes: tuple[tuple[int, ...], ...]


def swizzle_atom(swizzle: str = "128B", element: str = "f16", major: str = "k") -> SwizzleAtom:
    """The bytes of the atom of a swizzle.

    Args:
        swizzle: none, 32B, 64B, 128B or 128B base32B. element: the type. major: "k" or "mn".

    Raises:
        Error: an unknown swizzle, type or major, or a type of less than a byte.

    >>> swizzle_atom("128B", "f16").bytes[1][:2], swizzle_atom("128B", "f16").bytes[1][8]
    ((144, 146), 128)
    """
    bits = max(8, named(element).bits)
    atom_offset(0, 0, bits, swizzle, major)  # refuses what there is not
    atom = ATOMS[swizzle]
    count = atom.row_bytes * 8 // bits
    rows = [
        [atom_offset(*_place(row, along, major), bits, swizzle, major) for along in range(count)]
        for row in range(atom.rows)
    ]
    return SwizzleAtom(swizzle, element, major, bits, tuple(map(tuple, rows)))


def _place(row: int, along: int, major: str) -> tuple[int, int]:
    """The coordinates mn and k of an element by its row and its index along it."""
    return (row, along) if major == "k" else (along, row)


def text(descriptor: Descriptor) -> str:
    """The value, its words with every field, the fields with their meanings, and notes."""
    fields = [
        Field(field.name, f"{field.low + field.bits - 1}:{field.low}", field.meaning) for field in descriptor.fields
    ]
    lines = [f"{descriptor.title}: {descriptor.hexadecimal}"]
    for first in range(0, descriptor.size, 32):
        lines += word_frame(_whole(fields, first), descriptor.word, first)
    rows = [(f.name, f"[{bits.bits}]", str(f.code), f.meaning) for f, bits in zip(descriptor.fields, fields)]
    names, places, values = (max(len(row[column]) for row in rows) for column in range(3))
    lines.append("")
    lines += [f"{name:{names}}  {bits:{places}}  {value:>{values}}  {meaning}" for name, bits, value, meaning in rows]
    lines += [f"Note: {note}" for note in descriptor.notes]
    return "\n".join(lines) + "\n"


def _whole(fields: list[Field], first: int) -> list[Field]:
    """The fields of one word, with the reserved bits between them."""
    taken = {bit for field in fields for high, low in field.pieces for bit in range(low, high + 1)}
    found = [field for field in fields if any(first <= low < first + 32 for _, low in field.pieces)]
    free = [bit for bit in range(first, first + 32) if bit not in taken]
    while free:
        last = free.index(free[0])
        while last + 1 < len(free) and free[last + 1] == free[last] + 1:
            last += 1
        found.append(Field("-", f"{free[last]}:{free[0]}", "reserved"))
        free = free[last + 1 :]
    return found


def atom_text(atom: SwizzleAtom) -> str:
    """The byte of every element; neighbours that stay together are one run."""
    down, along = ("m or n", "k") if atom.major == "k" else ("k", "m or n")
    run = max(1, (8 << ATOMS[atom.swizzle].base) // atom.bits)
    starts = range(0, len(atom.bytes[0]), run)
    header = [f"{down} \\ {along}", *[f"{start} to {min(start + run, len(atom.bytes[0])) - 1}" for start in starts]]
    rows = [(str(row), *[str(line[start]) for start in starts]) for row, line in enumerate(atom.bytes)]
    title = f"Atom of swizzle {atom.swizzle}, {atom.major.upper()}-major, {atom.format}: the first byte of each run\n"
    return title + tables.write(header, rows, "grid") + "\n"


FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "transpose_a", "transpose_b")
NUMBERS = {
    "k": "K, where the kind has several", "selector": "the sparsity selector", "max_shift": "0, 8, 16 or 32, with .ws",
    "scale_id_a": "the byte of a word at which the scales of A begin", "scale_id_b": "the same of B",
}  # fmt: skip
TYPES = {"a": "the type of A", "b": "the type of B", "d": "the type of D", "scale": "of scales: ue8m0 or ue4m3"}


KINDS: tuple[str, ...] = (*descriptors.INPUT_CODES, *descriptors.SHARED_FIELDS, "atom")


def _word(text: str) -> int:
    """The argument type of a descriptor, which has up to 64 bits."""
    from argparse import ArgumentTypeError

    from ..base.checks import number

    value = number(text, (1 << 64) - 1)
    if value is None:
        raise ArgumentTypeError(f"'{text[:40]}' is not a whole number of at most 64 bits, such as 0x08400490")
    return value


def run(options: Options) -> Reply:
    """A descriptor's fields, or an atom's bytes."""
    if options.architecture and options.instruction is None and options.what not in (None, *KINDS):
        options.instruction, options.what = options.what, None  # `descriptor H100 wgmma...`
    if options.instruction is not None:
        _of_instruction(options)
    if options.what is None:
        raise Error(f"give -a and -i, or what is encoded: {', '.join(KINDS)}")
    _refuse_others(options)
    if options.what == "atom":
        if options.value is not None:
            raise Error("an atom has no value to decode; choose it by --swizzle, --type and --major")
        atom = swizzle_atom(_swizzle(options), options.type, options.major)
        return show(options.json, "swizzle-atom", atom, atom_text)
    if options.what not in KINDS:
        hint = did_you_mean(options.what, KINDS)
        raise Error(f"unknown descriptor '{options.what}'.{hint} Known: {', '.join(KINDS)}", kind="unknown name")
    encode = _shared_memory if options.what in descriptors.SHARED_FIELDS else _instruction
    return show(options.json, "descriptor", encode(options), text)


def _refuse_others(options: Options) -> None:
    """Refuse options that are of another kind of descriptor, and those of a descriptor that is decoded."""
    if options.what == "atom":
        own, what = {"swizzle", "type", "major"}, "an atom"
    elif options.what in descriptors.SHARED_FIELDS:
        own, what = {"address", "leading", "stride", "base_offset", "swizzle"}, "a shared memory descriptor"
    else:
        own, what = {"m", "n", *[f"{name}_type" for name in TYPES], *FLAGS, *NUMBERS}, "an instruction descriptor"
    if options.value is not None:
        own, what = set(), "a descriptor to decode"
    own |= {"architecture", "instruction"} if options.instruction is not None else set()
    others = [one.name for one in COMMAND.options if one.name not in own and one.name != "json"]
    refuse_given(COMMAND, options, others, f"is not of {what}; `mmacalc descriptor -h` says what is of which")


def _of_instruction(options: Options) -> None:
    """Set what is encoded by the instruction that was named; a word by itself is a descriptor of it then."""
    from ..catalog import entry

    if options.architecture is None:
        raise Error(f"-i {options.instruction} needs the architecture; give -a")
    inst = entry(options.architecture).meant(options.instruction)
    kind = getattr(inst, "kind", None)
    if options.what is not None:
        if options.value is not None or options.what in KINDS:
            raise Error(f"-i {options.instruction} says what is encoded; leave '{options.what}' out")
        from argparse import ArgumentTypeError

        try:
            options.value = _word(options.what)
        except ArgumentTypeError as problem:
            raise Error(str(problem)) from None
    if kind in descriptors.INPUT_CODES:
        options.what = kind
        options.sparse = options.sparse or inst.sparse
    elif "wgmma" in inst.features:
        options.what = "wgmma"
    else:
        raise Error(f"{inst.name} has no descriptor; tcgen05.mma and wgmma have")


def _swizzle(options: Options) -> str:
    name: str = options.swizzle
    return name.replace("-", " ")


def _instruction(options: Options) -> descriptors.Descriptor:
    if options.value is not None:
        return descriptors.decode_instruction(options.value, options.what)
    if options.m is None or options.n is None:
        raise Error("-M and -N give the shape to encode, such as -M 128 -N 256; or give a descriptor to decode")
    given: dict[str, int | str] = {name: getattr(options, f"{name}_type") for name in TYPES}
    given |= {name: int(getattr(options, name)) for name in (*FLAGS, *NUMBERS)}
    chosen = {name: value for name, value in given.items() if value}
    return descriptors.instruction_descriptor(options.what, options.m, options.n, **chosen)


def _shared_memory(options: Options) -> descriptors.Descriptor:
    if options.value is not None:
        return descriptors.decode_shared_memory(options.value, options.what)
    made = descriptors.shared_memory_descriptor(
        options.address, options.leading, options.stride, _swizzle(options), options.what, options.base_offset
    )
    return made if options.stride else made._replace(notes=(*made.notes, _no_stride(_swizzle(options))))


def _no_stride(swizzle: str) -> str:
    """What is forgotten most often (PTX ISA, "Matrix descriptor": the offset from the first 8 rows to the next 8)."""
    width = ATOMS[swizzle].row_bytes if swizzle in ATOMS else 0
    packed = f"; where K-major atoms of this swizzle lie one behind the other it is {8 * width}" if width >= 32 else ""
    return f"the stride is 0; --stride gives the bytes from 8 rows to the next 8{packed}"


COMMAND = Command(
    "descriptor", "encode and decode the descriptors of tcgen05 and wgmma; draw the atom of a swizzle", "load", __doc__,
    (
        argument(
            "what", f"a kind or unit, or an atom: {', '.join(KINDS)}", nargs="?", placeholder="KIND",
            known=KINDS,
        ),
        argument("value", "a descriptor to decode, such as 0x08400490", nargs="?", kind=_word),
        TARGET._replace(help="the GPU architecture or target, with -i"),
        INSTRUCTION._replace(required=False, help="the instruction of tcgen05 or wgmma whose descriptor is meant"),
        number("-M", "--m", help="instruction: M"),
        number("-N", "--n", help="instruction: N"),
        *[option(f"--{name}-type", placeholder="FORMAT", help=f"instruction: {text}") for name, text in TYPES.items()],
        *[flag("--" + name.replace("_", "-"), help=f"instruction: {name.replace('_', ' ')}") for name in FLAGS],
        *[
            number("--" + name.replace("_", "-"), default=0, help=f"instruction: {text}")
            for name, text in NUMBERS.items()
        ],
        number("--address", default=0, help="shared-memory: the start address, in bytes"),
        number("--leading", default=0, help="shared-memory: the leading offset, in bytes"),
        number("--stride", default=0, help="shared-memory: the stride offset, in bytes"),
        number("--base-offset", default=0, help="shared-memory: base offset"),
        option(
            "--swizzle", placeholder="SWIZZLE", default="128B", help="none, 32B, 64B, 128B or 128B-base32B",
            known=("none", "32B", "64B", "128B", "128B-base32B"),
        ),
        option("--type", placeholder="FORMAT", default="f16", help="atom: the type of the elements"),
        option("--major", placeholder="", choices=("k", "mn"), default="k", help="atom: what runs along a row"),
        JSON,
    ),
    run, {"descriptor": text, "swizzle-atom": atom_text},
)  # fmt: skip
