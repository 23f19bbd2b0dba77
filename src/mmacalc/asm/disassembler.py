"""The disassembler: bytes in, the text that LLVM prints out, and everything else as `.long`."""

from __future__ import annotations

from functools import lru_cache

from ..base.checks import arguments_checked
from ..base.errors import Error, plural
from .assembler import statement
from .decoder import listing, matrix_listing
from .reader import MATRIX, Reader
from .tables import COVERED
from .targets import own_assembler, target

__all__ = ["decoded_lines", "disassemble", "instructions", "respelled"]


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
    if isinstance(code, bytes) and len(code) <= _SHORT:
        return list(_short_lines(code, arch, wave, llvm, matrix))
    return _lines(code, arch, wave, llvm, matrix)


_SHORT = 16  # bytes: the longest instruction


@lru_cache(maxsize=4096)
def _short_lines(
    code: bytes, arch: str, wave: int | None, llvm: int | None, matrix: bool | None
) -> tuple[tuple[int, str], ...]:
    """An instruction alone, which is asked again and again: by pages and explanations."""
    return tuple(_lines(code, arch, wave, llvm, matrix))


def _lines(code: bytes, arch: str, wave: int | None, llvm: int | None, matrix: bool | None) -> list[tuple[int, str]]:
    if matrix is None:
        matrix = llvm is not None or own_assembler(arch) is not None or target(arch, wave).name not in COVERED
    if matrix:
        return instructions(code, arch, wave, llvm)
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
            f"the code has {plural(len(code), 'byte')}; instructions are whole 32-bit words, so a multiple of 4"
        )
    where = target(arch, wave, llvm)
    older = () if llvm else where.entry.architecture.assembly_of  # the LLVM versions that encode it otherwise
    return matrix_listing(code, where, tuple([target(arch, where.wave, version) for version in older]))


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
                code = statement(line, where, reader.symbols).code
            except Error as error:
                raise Error(f"line {number}: {error}") from None
            line = disassemble(code, arch, wave, llvm, matrix=True)
        lines.append(line)
    return lines
