"""The disassembler: bytes in, the text that LLVM prints out, and everything else as `.long`.

Each form is compiled into a `FormDecoder`: a mask and a value that its words must match, one table of texts per
operand, and the printed modifiers remembered by their bits. Decoding an instruction is then a few look-ups.
"""

from __future__ import annotations

import contextlib
from functools import lru_cache

from ..checks import arguments_checked
from ..errors import Error, counted
from ..records import Cache
from .assembler import statement
from .forms import InstructionForm, forms
from .lengths import words_of
from .reader import MATRIX, Reader
from .tables import COVERED
from .targets import own_assembler, target
from .tokens import TokenStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .operands import OperandSlot
    from .targets import Target

__all__ = ["FormDecoder", "decoded_lines", "decoders", "disassemble", "instructions", "other_words", "respelled"]


@arguments_checked
def disassemble(
    code: bytes, arch: str, wave: int | None = None, llvm: int | None = None, matrix: bool | None = None
) -> str:
    """The assembly text of machine code, one line per instruction, as LLVM prints it.

    Whole code is decoded for gfx908, gfx90a, gfx942, gfx950, gfx1100 to gfx1103, gfx1200, gfx1201 and gfx1250; a word
    that begins no instruction is written as `.long 0x........`. For other targets, and on request, only matrix
    instructions, the AccVGPR moves (v_accvgpr_read, _write and _mov) and the scale loads are, and all else is `.long`,
    a line for each 32-bit word. DPAS is written as iga64 does.

    Args:
        code: the bytes, little-endian, a whole number of 32-bit words.
        arch: an architecture, product or compiler target, such as "gfx942".
        wave: 32 or 64 where the architecture has both; its default if left out.
        llvm: the LLVM version whose encodings the code has, 24 or 22; those of either are taken if left out.
        matrix: True for matrix instructions only, False to refuse a target whose other instructions are not known; if
            left out, whole code where the target's is known and no LLVM version is given.

    Raises:
        Error: unknown architecture, one whose whole code is not known though it is asked for, or the
            length is not a multiple of four bytes.

    >>> disassemble(bytes.fromhex("0081ccd310250204"), "gfx942")
    'v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:1'
    >>> disassemble(bytes.fromhex("01030402"), "gfx942"), disassemble(bytes.fromhex("01030402"), "gfx942", matrix=True)
    ('v_add_f32_e32 v2, v1, v1', '.long 0x02040301')
    """
    return "\n".join([text for _, text in decoded_lines(code, arch, wave, llvm, matrix)])


def decoded_lines(
    code: bytes, arch: str, wave: int | None = None, llvm: int | None = None, matrix: bool | None = None
) -> list[tuple[int, str]]:
    """As `disassemble`: the text of every instruction, with the number of the 32-bit word at which it begins."""
    if matrix is None:
        matrix = llvm is not None or own_assembler(arch) is not None or target(arch, wave).name not in COVERED
    if matrix:
        return instructions(code, arch, wave, llvm)
    from .decoder import listing

    _check(code)
    where = target(arch, wave)
    return listing(bytes(code), where.name, where.wave)


def _check(code: object) -> None:
    if not isinstance(code, (bytes, bytearray, memoryview)):
        raise Error(f"disassemble takes bytes, such as bytes.fromhex('0081ccd310250204'); got {type(code).__name__}")


def instructions(code: bytes, arch: str, wave: int | None = None, llvm: int | None = None) -> list[tuple[int, str]]:
    """As `decoded_lines`, of matrix instructions only."""
    _check(code)
    if own := own_assembler(arch):
        decoded: list[tuple[int, str]] = own.instructions(code, arch, wave, llvm)
        return decoded
    if len(code) % 4:
        raise Error(
            f"the code has {counted(len(code), 'byte')}; instructions are whole 32-bit words, so a multiple of 4"
        )
    where = target(arch, wave, llvm)
    tables = [decoders(one) for one in (where, *(() if llvm else _older(arch, where)))]
    words = memoryview(bytes(code)).cast("I") if _LITTLE else _swapped(code)
    decoded, at, end = [], 0, len(words)
    while at < end:
        key, length, text = words[at] >> 16, 0, None
        for by_key in tables:
            for decoder in by_key.get(key, ()):
                size, text = decoder.read(words, at, end)
                if size:
                    length = length or size
                    break
            if text is not None:
                length = size
                break
        if text is not None:
            decoded.append((at, text))
        else:
            # Bits that no form has are data to LLVM, which goes on at the next word.
            known = any(key in by_key for by_key in tables)
            length = length or (1 if known else other_words(where, words, at, end))
            decoded += [(at + i, f".long 0x{words[at + i]:08x}") for i in range(length)]
        at += length
    return decoded


def other_words(where: Target, words: Sequence[int], at: int, end: int) -> int:
    """The length in words of an instruction that is not decoded here.

    Where it seems to have a literal, the decoder of whole code says whether it uses that operand, for the targets that
    it covers.
    """
    least, length = words_of(where.generation.formats, words, at, end)
    if length > least:
        from .decoder import decode

        code = b"".join(word.to_bytes(4, "little") for word in words[at : min(at + 5, end)])
        with contextlib.suppress(Error):
            return next(decode(code, where.name, wave=where.wave)).size // 4
    return length


def respelled(text: str, arch: str, wave: int | None = None, llvm: int | None = None) -> list[str]:
    """The lines of assembly, with the instructions that the assembler takes as LLVM prints them, others as written.

    Labels get lines of their own; comments are left out.

    Raises:
        Error: a matrix instruction that the target lacks or that is malformed; the message has the line.

    >>> respelled("loop: V_MFMA_F32_32X32X8F16 acc[0:15] v[16:17] v[18:19] 0\\ns_cbranch_scc0 loop", "gfx942")
    ['loop:', 'v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], 0', 's_cbranch_scc0 loop']
    """
    if own := own_assembler(arch):
        spelt: list[str] = own.respelled(text, arch, wave, llvm)
        return spelt
    where, reader = target(arch, wave, llvm), Reader(text, meant=False)
    lines: list[str] = []
    for number, line in reader.statements(strict=True):
        lines += [f"{label}:" for label in reader.before]
        mnemonic = line.split(None, 1)[0].lower()
        if mnemonic.startswith((*MATRIX, "v_accvgpr_")):
            try:
                code = statement(TokenStream(line, reader.symbols), where).code
            except Error as error:
                raise Error(f"line {number}: {error}") from None
            line = disassemble(code, arch, wave, llvm, matrix=True)
        lines.append(line)
    return lines


_LITTLE = memoryview(b"\1\0\0\0").cast("I")[0] == 1


def _swapped(code: bytes) -> Sequence[int]:
    return [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)]


def _older(arch: str, where: Target) -> list[Target]:
    """The same target by the LLVM versions that encode it otherwise."""
    return [target(arch, where.wave, version) for version in where.entry.architecture.assembly_of]


@lru_cache(maxsize=64)
def decoders(where: Target) -> dict[int, tuple[FormDecoder, ...]]:
    """The decoders by the upper half of an instruction's first word, longer forms first."""
    by_key: dict[int, list[FormDecoder]] = {}
    for form in forms(where).values():
        decoder = FormDecoder(form)
        for key in _keys(decoder.mask >> 16 & 0xFFFF, decoder.value >> 16 & 0xFFFF):
            by_key.setdefault(key, []).append(decoder)
    return {key: tuple(sorted(decoders, key=lambda one: -one.words)) for key, decoders in by_key.items()}


def _keys(mask: int, value: int) -> Iterator[int]:
    """The numbers of 16 bits that have a value where a mask has ones."""
    free = rest = ~mask & 0xFFFF
    while rest:
        yield value | rest
        rest = rest - 1 & free
    yield value


class FormDecoder:
    """One form, compiled for decoding. `words` is its length; `mask` and `value` what its bits must match."""

    __slots__ = (
        "_choices", "_free", "_loose", "_modifiers", "_name", "_plans", "_specials", "_suffixes", "_usual", "form",
        "mask", "value", "words",
    )  # fmt: skip
    form: InstructionForm
    mask: int
    value: int
    words: int

    def __init__(self, form: InstructionForm) -> None:
        self.form = form
        self.words = form.encoding.size // 4
        self.mask, self.value = form.template
        self._loose, self._usual = form.encoding.ignored()
        self._specials = {word for slot in form.slots if slot.name == "C" for word in slot.specials} - {"null"}
        fields = form.encoding.fields
        self._modifiers = [(modifier, fields[modifier.field]) for modifier in form.modifiers]
        self._free = sum(field.mask for _, field in self._modifiers)
        self._name = form.name
        self._suffixes: dict[int, str | None] = {}
        self._choices = {slot.registers[0] for slot in form.slots if not isinstance(slot.registers, int)}
        self._plans: dict[tuple[int, ...], tuple[tuple[int, int, int, int, tuple[str | None, ...]], ...]] = {}

    def read(self, words: Sequence[int], at: int, end: int) -> tuple[int, str | None]:
        """The instruction that begins at a word: its length in words, 0 if it is none of this form, and its text,
        None if an operand or modifier of it has no text."""
        if at + self.words > end:
            return 0, None
        word = words[at]
        if self.words > 1:
            word |= words[at + 1] << 32
        if self.words == 4:
            word |= words[at + 2] << 64 | words[at + 3] << 96
        if word & self.mask != self.value:
            return 0, None
        bits = word & self._free
        try:
            suffix = self._suffixes[bits]
        except KeyError:
            suffix = self._suffixes[bits] = self._suffix(word)
        if suffix is None:
            return self.words, None
        operands = []
        for shift, mask, bank, width, texts in self._plan(word):
            text = texts[(word >> shift & mask) | (word >> bank & 1) << width]
            if text is None:
                return self.words, None
            operands.append(text)
        # LLVM's assembler takes some words as C that its disassembler has no text for. They are printed for the
        # encodings that the assembler emits, not for those with bits that it never sets.
        if word & self._loose != self._usual and not self._specials.isdisjoint(operands):
            return self.words, None
        return self.words, f"{self._name} {', '.join(operands)}{suffix}"

    def _suffix(self, word: int) -> str | None:
        suffix = ""
        for modifier, field in self._modifiers:
            text = modifier.text(field.gather(word))
            if text is None:
                return None
            suffix += text
        return suffix

    def _plan(self, word: int) -> tuple[tuple[int, int, int, int, tuple[str | None, ...]], ...]:
        """How to read each operand: (shift, mask, the bank's bit, the field's width, texts)."""
        fields = self.form.encoding.fields
        values = {name: fields[name].gather(word) for name in self._choices}
        key = tuple(values.values())
        if key not in self._plans:
            self._plans[key] = tuple(self._slot_plan(slot, slot.count(values)) for slot in self.form.slots)
        return self._plans[key]

    def _slot_plan(self, slot: OperandSlot, count: int) -> tuple[int, int, int, int, tuple[str | None, ...]]:
        fields = self.form.encoding.fields
        low = fields[slot.field].pieces[0][1]
        # Without a bank, a bit beyond the instruction is looked at, which is always 0.
        bank = fields[slot.bank[0]].pieces[0][1] + slot.bank[1] if slot.bank else 128
        return low, (1 << slot.field_bits) - 1, bank, slot.field_bits, _texts(slot, count)


_shared = Cache(1 << 12)


def _texts(slot: OperandSlot, count: int) -> tuple[str | None, ...]:
    """`OperandSlot.texts`, one table for all slots that take the same."""
    key = (
        count,
        slot.files,
        slot.bank is None,
        slot.alignment,
        slot.constant,
        slot.past_v255,
        slot.destination,
        tuple(slot.specials.items()),
    )
    texts: tuple[str | None, ...] = _shared.get(key, lambda: slot.texts(count))
    return texts
