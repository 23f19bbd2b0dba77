"""Every instruction of a code, decoded: see `mmacalc.asm.decoded` for what comes out.

Matrix instructions are decoded with the forms of `mmacalc.asm.forms`, all others with the rows of
`mmacalc.asm.tables`.
"""

from __future__ import annotations

from ..errors import Error, counted
from ..records import TupleRecord
from .decoded import ConstantOperand, DecodedInstruction, RegisterOperand
from .decoded_matrix import MatrixDecoder, matrix_decoders
from .decoded_text import instruction_text
from .lengths import words_of
from .operand_codes import Literal
from .tables import FAMILY_OF, Row, Slot, Table, covered, table
from .targets import target as target_of
from .vopd import vopd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .operand_codes import Operand

__all__ = ["Line", "decode", "labelled", "listing", "text"]

_PADDING = bytes(16)


def decode(code: bytes, target: str, address: int = 0, wave: int | None = None) -> Iterator[DecodedInstruction]:
    """The instructions of a code, one after another.

    Args:
        code: machine code, a whole number of 32-bit words. address: where it lies, in bytes.
        target: a compiler target: gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200, gfx1201 or gfx1250.
        wave: 32 or 64; the target's default if left out. It decides how wide lane masks such as VCC are.

    Raises:
        Error: the target is not one of these, or a word begins no instruction; the message has address and word.

    >>> first, last = decode(bytes.fromhex("01030402 000081bf"), "gfx942")
    >>> text(first), first.name, first.destinations
    ('v_add_f32_e32 v2, v1, v1', 'v_add_f32', (RegisterOperand(file='v', index=2, count=1, half=0, bits=32),))
    """
    for at, instruction, words in _walk(code, target, address, wave):
        if instruction is None:
            shown = " ".join(f"0x{_word(code, one):08x}" for one in range(at, min(at + 8, len(code)), 4))
            where = f"at address {address + at:#x}: {shown}"
            if words is None:
                raise Error(f"the code for {target} ends in the middle of an instruction {where}")
            raise Error(
                f"mmacalc's tables of {target}, made from LLVM 22.1.8, have no instruction for the words {where}"
            )
        yield instruction


def listing(code: bytes, target: str, wave: int | None = None) -> list[tuple[int, str]]:
    """The text of every instruction, with the number of the 32-bit word at which it begins; other words as .long.

    An instruction that is unknown here is written as .long with all words that its format has.

    Raises:
        Error: see `decode`.
    """
    found: list[tuple[int, str]] = []
    for at, instruction, words in _walk(code, target, 0, wave, skip=True):
        if instruction is not None:
            found.append((at // 4, instruction_text(instruction)))
        else:
            unknown = range(at, at + 4 * (words or 1), 4)
            found += [(one // 4, f".long 0x{_word(code, one):08x}") for one in unknown]
    return found


class Line(TupleRecord):
    """An instruction or a word of data: its address, the labels before it, its text and its size in bytes."""

    address: int
    labels: tuple[str, ...]
    text: str
    size: int


def labelled(
    code: bytes, target: str, address: int = 0, names: Mapping[int, tuple[str, ...]] = {}, wave: int | None = None
) -> list[Line]:
    """The lines of a code with its labels: branches name the place where they lead, words that begin no instruction are
    .long.

    Args:
        names: address -> the names of what begins there. Where a branch leads and nothing has a name, a label is made
            of the address: .L1a40.

    Raises:
        Error: see `decode`.

    >>> for line in labelled(bytes.fromhex("0100 82bf 0000 80bf 0000 81bf"), "gfx942", 0x100, {0x100: ("kernel",)}):
    ...     print(*line.labels, line.text)
    kernel s_branch .L108
    s_nop 0
    .L108 s_endpgm
    """
    found: list[tuple[int, DecodedInstruction | None, int]] = []
    for at, instruction, words in _walk(code, target, address, wave, skip=True):
        found.append((at, instruction, 4 * (words or 1)))
    starts = {address + at for at, _, _ in found}
    labels = dict(names)
    for _, instruction, _ in found:
        there = instruction.modifiers.get("target") if instruction is not None else None
        if there is not None and there in starts:
            labels.setdefault(int(there), (f".L{there:x}",))
    lines = []
    for at, instruction, size in found:
        if instruction is None:
            for one in range(at, at + size, 4):
                lines.append(Line(address + one, labels.get(address + one, ()), f".long 0x{_word(code, one):08x}", 4))
            continue
        shown, there = instruction_text(instruction), instruction.modifiers.get("target")
        if there in starts:
            shown = f"{shown.rpartition(' ')[0]} {labels[int(there)][0]}"
        lines.append(Line(address + at, labels.get(address + at, ()), shown, size))
    return lines


def _walk(
    code: bytes, target: str, address: int, wave: int | None, skip: bool = False
) -> Iterator[tuple[int, DecodedInstruction | None, int | None]]:
    """(offset in bytes, the instruction there, words to go on); None is a word without an instruction, or (None, None)
    the beginning of one that the code cuts off. skip: what is unknown is as long as its format says."""
    name = covered(target)
    if len(code) % 4:
        raise Error(
            f"the code has {counted(len(code), 'byte')}; instructions are whole 32-bit words, so a multiple of 4"
        )
    size = wave or FAMILY_OF[name][2]
    rows, matrices = table(name, size), matrix_decoders(name, size)
    formats = target_of(name, wave).generation.formats
    padded, at, end = bytes(code) + _PADDING, 0, len(code)
    while at < end:
        instruction = _one(padded, at, address + at, rows, matrices)
        if instruction is None:
            unknown = [_word(code, one) for one in range(at, min(at + 16, end), 4)]
            words = words_of(formats, unknown, 0, len(unknown))[1] if skip else 1
            yield at, None, words
            at += 4 * words
        elif at + instruction.size > end:
            yield at, None, None
            at += 4
        else:
            yield at, instruction, instruction.size // 4
            at += instruction.size


def text(instruction: DecodedInstruction) -> str:
    """The assembly of a decoded instruction, as llvm-objdump 22 prints it."""
    return instruction_text(instruction)


def _word(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + 4], "little")


def _one(code: bytes, at: int, address: int, rows: Table, matrices: MatrixDecoder) -> DecodedInstruction | None:
    """The instruction that begins at a byte; None if there is none."""
    bits = int.from_bytes(code[at : at + 16], "little")
    first = bits & 0xFFFFFFFF
    if (matrix := matrices.read(bits, address)) is not None:
        return matrix
    for name, shift, mask in rows.formats_of(first):
        for row in rows.rows(name, first >> shift & mask):
            if bits & row.mask == row.value:
                return _decoded(row, bits, code, at, address)
    return vopd(bits, rows, lambda row, bits: _decoded(row, bits, code, at, address))


def _decoded(row: Row, bits: int, code: bytes, at: int, address: int) -> DecodedInstruction | None:
    """The instruction that a row makes of the bits; None if an operand's code means nothing."""
    size = row.size
    destinations: list[RegisterOperand] = []
    sources: list[Operand] = []
    modifiers: dict[str, int | str] = dict(row.implied)
    bank = 1 if row.acc and bits & row.acc else 0
    for slot in row.slots:
        operand: Operand | Literal | None
        if slot.style:
            if slot.field is not None:
                modifiers[slot.field.name.lower()] = _signed(slot.field.gather(bits), slot)
                continue
            operand, size = _own_literal(slot, code, at, row.size)
        elif slot.field is None:
            operand = slot.fixed
        else:
            value = bits >> slot.shift & slot.mask if slot.mask else slot.field.gather(bits)
            operand = slot.entries[bank][value]
            if isinstance(operand, Literal):
                operand, size = _literal(operand, slot, row, code, at)
            elif slot.half is not None and isinstance(operand, RegisterOperand) and operand.file == "v":
                operand = RegisterOperand("v", operand.index, 1, bits >> row.op_sel + slot.half & 1, 16)
        if operand is None:
            return None
        (destinations if slot.destination else sources).append(operand)  # type: ignore[arg-type]
    if not _modifiers(row, bits, modifiers):
        return None
    if row.reads or row.writes:
        _implied(row, destinations, sources)
    if row.branch:
        offset = int(modifiers["simm16"])
        modifiers["target"] = address + 4 + 4 * (offset - 0x10000 if offset >= 0x8000 else offset)
    return DecodedInstruction(
        address, size, row.name, row.mnemonic, row.encoding, tuple(destinations), tuple(sources), modifiers, None, row
    )


def _modifiers(row: Row, bits: int, found: dict[str, int | str]) -> bool:
    """Add the modifiers; False if one has a value without a meaning."""
    for name, shift, mask, field, always, sign, known in row.modifiers:
        number = (bits >> shift if field is None else field.gather(bits)) & mask
        if number or always:
            if known is not None and number not in known:
                return False
            found[name] = (number ^ sign) - sign if sign else number
    return True


def _signed(number: int, slot: Slot) -> int:
    """An offset in the place of an operand, which is signed; SIMM16 is not."""
    if slot.field is None or slot.field.name != "OFFSET":
        return number
    sign = 1 << slot.field.width - 1
    return (number ^ sign) - sign


def _own_literal(slot: Slot, code: bytes, at: int, size: int) -> tuple[ConstantOperand, int]:
    width = int(slot.style.removeprefix("literal").removeprefix("i"))
    count = 8 if width == 64 else 4
    value = int.from_bytes(code[at + size : at + size + count], "little")
    return ConstantOperand(value, True, width), size + count


def _literal(which: Literal, slot: Slot, row: Row, code: bytes, at: int) -> tuple[ConstantOperand, int]:
    """A literal as the operand reads it (see `ConstantOperand`), and the size of the instruction."""
    kind, end = slot.constant.rstrip("!"), row.size + which.size
    value = int.from_bytes(code[at + row.size : at + end], "little")
    if which.size == 8:
        return ConstantOperand(value, True, 64), end
    if kind == "f64":
        return ConstantOperand(value << 32, True, 64), end
    if kind == "i64":
        negative = value >> 31 and "_i64" in row.name
        return ConstantOperand(value | (0xFFFFFFFF << 32 if negative else 0), True, 64), end
    return ConstantOperand(value, True, 16 if kind in ("i16", "f16", "bf16") else 32), end


def _implied(row: Row, destinations: list[RegisterOperand], sources: list[Operand]) -> None:
    """Add the operands that the text does not name."""
    printed = {True: iter(tuple(destinations)), False: iter(tuple(sources))}
    by_field: dict[str, Operand] = {}
    for slot in row.slots:
        if not slot.style or slot.field is None:
            operand = next(printed[slot.destination])
            if slot.field is not None:
                by_field[slot.field.name] = operand
    sources += [by_field[name] if name in by_field else _special(name, row) for name in row.reads]
    destinations += [_special(name, row) for name in row.writes]


def _special(name: str, row: Row) -> RegisterOperand:
    """VCC, EXEC, SCC or M0. Scalar instructions say by their names how wide EXEC is."""
    count = 1
    if name in ("vcc", "exec"):
        count = {"_b32": 1, "_b64": 2}.get(row.name[-4:], row.lane_mask) if "exec" in row.name else row.lane_mask
    return RegisterOperand(name, 0, count, 0, 32 * count)
