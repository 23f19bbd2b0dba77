"""Every instruction of a code, decoded: see `mmacalc.asm.decoded` for what comes out.

Rows of matrix instructions are made of the catalog (`mmacalc.asm.forms`), all others are those of
`mmacalc.asm.tables`.
"""

from __future__ import annotations

from types import MappingProxyType

from ..base.errors import Error, plural
from ..base.records import TupleRecord
from .decoded import ConstantOperand, DecodedInstruction, RegisterOperand
from .decoded_text import instruction_text
from .formats import alike
from .forms import matrix_rows
from .high_registers import chooses_registers, commented, with_registers_meant
from .operand_codes import Literal
from .rows import Row, Slot
from .tables import COVERED, FAMILY_OF, Table, covered, table
from .targets import LLVM_VERSIONS
from .targets import target as target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .forms import MatrixRows
    from .operand_codes import Operand
    from .targets import Target

__all__ = ["Line", "decode", "labelled", "listing", "matrix_listing", "other_words", "text"]

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
    meant = _meant([instruction for _, instruction, _ in found if instruction is not None], names)
    lines = []
    for at, instruction, size in found:
        if instruction is None:
            for one in range(at, at + size, 4):
                lines.append(Line(address + one, labels.get(address + one, ()), f".long 0x{_word(code, one):08x}", 4))
            continue
        shown, there = instruction_text(instruction), instruction.modifiers.get("target")
        if other := meant.get(instruction.address):
            shown = commented(shown, instruction_text(other))
        if there in starts:
            shown = f"{shown.rpartition(' ')[0]} {labels[int(there)][0]}"
        lines.append(Line(address + at, labels.get(address + at, ()), shown, size))
    return lines


def _meant(instructions: list[DecodedInstruction], names: Mapping[int, object]) -> dict[int, DecodedInstruction]:
    """By address, the instructions with the VGPRs above 255 that they mean; {} where that depends on the path."""
    if not chooses_registers(instructions):
        return {}
    try:
        return {one.address: one for one in with_registers_meant(instructions, names)}
    except Error:
        return {}


def matrix_listing(code: bytes, where: Target, others: tuple[Target, ...]) -> list[tuple[int, str]]:
    """As `listing`, of matrix instructions, scale loads and moves of AccVGPRs alone; all other words as .long.

    Args:
        others: the same target by other LLVM versions, whose encodings are taken too.
    """
    matrices = tuple([matrix_rows(one) for one in (where, *others)])
    padded, at, end = bytes(code) + _PADDING, 0, len(code)
    found: list[tuple[int, str]] = []
    while at < end:
        bits = int.from_bytes(padded[at : at + 16], "little")
        instruction, seen = _matrix(bits, padded, at, at, matrices, end)
        if instruction is not None:
            found.append((at // 4, instruction_text(instruction)))
            at += instruction.size
            continue
        if not seen:  # bits that no row has are data to LLVM, which goes on at the next word
            known = any(each.rows(bits & 0xFFFFFFFF) for each in matrices)
            seen = 4 if known else 4 * other_words(where, [_word(code, one) for one in range(at, min(at + 20, end), 4)])
        found += [(one // 4, f".long 0x{_word(code, one):08x}") for one in range(at, at + seen, 4)]
        at += seen
    return found


def other_words(where: Target, words: list[int]) -> int:
    """The length in words of an instruction that is not decoded here: that of its row, where the target has one."""
    if where.name in COVERED:
        code = b"".join(word.to_bytes(4, "little") for word in words) + _PADDING
        if (found := _one(code, 0, 0, table(covered(where.name), where.wave), ())) is not None:
            return min(found.size // 4, len(words))
    return _length(where.generation.family, words)


_LITERAL, _WIDE_LITERAL = 255, 254
_SOURCES = ("SRC0", "SRC1", "SRC2", "SSRC0", "SSRC1")


def _length(family: str, words: Sequence[int]) -> int:
    """The length in words by the format and the literal that the instruction seems to have: which of the fields it has
    is not known, so the code of a literal counts in all of them. What no format has is one word."""
    bits = words[0] | (words[1] << 32 if len(words) > 1 else 0)
    found = alike(family, bits)
    if len(words) == 1 or not found:
        return 1
    rows = [table(*_FIRST[each]) for each in (family, *_LATER.get(family, ()))]
    encoding = found[0].name.partition(":")[0]
    literals = {_LITERAL: 0 if encoding == "vopd3" else 1}  # which has none
    if rows[0].scalars.wide_literals and encoding != "vopd":
        literals[_WIDE_LITERAL] = 2
    more = 0
    for form in found:
        # With a word of DPP or SDWA, SRC0 is a VGPR.
        names = [name for name in _SOURCES if name in form.fields and not (name == "SRC0" and "CODE" in form.fields)]
        codes = [form.fields[name].gather(bits) for name in names]
        more = max(more, *[literals.get(code, 0) for code in codes], 0)
        opcode = form.fields["OP"].gather(bits) if "OP" in form.fields else -1
        for row in next(filter(None, (each.rows(form.name, opcode) for each in rows)), ()):
            more = max(
                more,
                *[2 if slot.style == "literal64" else 1 for slot in row.slots if slot.style.startswith("literal")],
                0,
            )
    return min(found[0].size // 4 + more, len(words))


_LATER = {"rdna3": ("rdna4",)}  # RDNA3.5 has scalar instructions of RDNA4
_FIRST = {family: (name, wave) for name, (family, _, wave) in reversed(FAMILY_OF.items())}


def _walk(
    code: bytes, target: str, address: int, wave: int | None, skip: bool = False
) -> Iterator[tuple[int, DecodedInstruction | None, int | None]]:
    """(offset in bytes, the instruction there, words to go on); None is a word without an instruction, or (None, None)
    the beginning of one that the code cuts off. skip: what is unknown is as long as its format says."""
    name = covered(target)
    if len(code) % 4:
        raise Error(
            f"the code has {plural(len(code), 'byte')}; instructions are whole 32-bit words, so a multiple of 4"
        )
    size = wave or FAMILY_OF[name][2]
    rows = table(name, size)
    matrices = tuple([matrix_rows(target_of(name, size, version)) for version in LLVM_VERSIONS])
    padded, at, end = bytes(code) + _PADDING, 0, len(code)
    while at < end:
        instruction = _one(padded, at, address + at, rows, matrices)
        if instruction is None:
            unknown = [_word(code, one) for one in range(at, min(at + 16, end), 4)]
            words = _length(rows.family, unknown) if skip else 1
            yield at, None, words
            at += 4 * words
        elif at + instruction.size > end:
            yield at, None, None
            at += 4
        else:
            yield at, instruction, instruction.size // 4
            at += instruction.size


text = instruction_text


def _word(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + 4], "little")


def _one(
    code: bytes, at: int, address: int, rows: Table, matrices: tuple[MatrixRows, ...]
) -> DecodedInstruction | None:
    """The instruction that begins at a byte; None if there is none."""
    bits = int.from_bytes(code[at : at + 16], "little")
    first = bits & 0xFFFFFFFF
    matrix, _ = _matrix(bits, code, at, address, matrices, len(code))
    if matrix is not None:
        return matrix
    for name, shift, mask in rows.formats_of(first):
        for row in rows.rows(name, first >> shift & mask):
            if bits & row.mask == row.value:
                return _decoded(row, bits, code, at, address)
    return _pair(bits, rows, lambda row, bits: _decoded(row, bits, code, at, address))


def _matrix(
    bits: int, code: bytes, at: int, address: int, matrices: tuple[MatrixRows, ...], end: int
) -> tuple[DecodedInstruction | None, int]:
    """The matrix instruction that the bits begin with, None if there is none; and the bytes of the first row that they
    fit, though an operand of it may have no meaning."""
    seen = 0
    for each in matrices:
        for row in each.rows(bits & 0xFFFFFFFF):
            if bits & row.mask == row.value and at + row.size <= end:
                found = _decoded(row, bits, code, at, address)
                if found is not None:
                    return found, row.size
                seen = seen or row.size
    return None, seen


def _decoded(row: Row, bits: int, code: bytes, at: int, address: int) -> DecodedInstruction | None:
    """The instruction that a row makes of the bits; None if an operand's code means nothing."""
    size = row.size
    destinations: list[RegisterOperand] = []
    sources: list[Operand] = []
    modifiers: dict[str, int | str] = dict(row.implied)
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
            which = 1 if bits & slot.bank else 0
            if slot.choice is not None:
                which += 2 * slot.choice.gather(bits)
            operand = slot.entries[which][value]
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
    return tuple.__new__(DecodedInstruction, (
        address, size, row.name, row.mnemonic, row.encoding, tuple(destinations), tuple(sources),
        MappingProxyType(modifiers), None, row,
    ))  # fmt: skip


def _modifiers(row: Row, bits: int, found: dict[str, int | str]) -> bool:
    """Add the modifiers; False if one has a value without a meaning."""
    for name, shift, mask, field, always, sign, known, _ in row.modifiers:
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
        negative = value >> 31 and "signed_literal" in row.flags
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
    """VCC, EXEC, SCC or M0."""
    count = row.lane_mask if name in ("vcc", "exec") else 1
    return RegisterOperand(name, 0, count, 0, 32 * count)


# --- pairs ---

_SHARED_BIT = 56  # of VOPD: the lowest bit of X's VDST


def _pair(
    bits: int, rows: Table, decoded: Callable[[Row, int], DecodedInstruction | None]
) -> DecodedInstruction | None:
    """The VOPD instruction that the bits begin with; None if they begin none.

    Either half is a row of the tables; a literal is shared. VDST of Y lacks its lowest bit, which is the opposite of
    that of X (RDNA3 ISA guide, "Dual Issue VALU"); VOPD3 of CDNA5 has it whole.

    Args:
        decoded: decodes the bits with a row.
    """
    for form in ("vopd", "vopd3"):
        if f"{form}:x" not in rows.formats or rows.wave == 64:  # LLVM 22 has it of wave32 only
            continue
        halves = [_half(bits, rows, f"{form}:{half}", decoded) for half in "xy"]
        if halves[0] is None or halves[1] is None:
            continue
        first, second = halves[0], halves[1]
        size = max(first.size, second.size)
        if form == "vopd":
            (register,) = second.destinations
            whole = register._replace(index=2 * register.index + (1 - (bits >> _SHARED_BIT & 1)))
            sources = [whole if "<VDST" in _reads(second) and at == len(second.sources) - 1 else one
                       for at, one in enumerate(second.sources)]  # fmt: skip
            second = second._replace(destinations=(whole,), sources=tuple(sources))
        return first._replace(size=size, second=second._replace(size=size))
    return None


def _reads(instruction: DecodedInstruction) -> tuple[str, ...]:
    return tuple(f"<{name}" for name in getattr(instruction.form, "reads", ()))


def _half(
    bits: int, rows: Table, name: str, decoded: Callable[[Row, int], DecodedInstruction | None]
) -> DecodedInstruction | None:
    form = rows.formats[name]
    encoding, opcode = form.fields["ENCODING"], form.fields["OP"]
    if bits & encoding.mask != encoding.spread(encoding.value or 0):
        return None
    for row in (*rows.rows(name, opcode.gather(bits)), *rows.rows(f"{name}:bitop2", opcode.gather(bits))):
        if bits & row.mask == row.value:
            return decoded(row, bits)
    return None
