"""How many 32-bit words an instruction has that is not decoded: to resynchronise after it.

Formats differ in the highest bits of the first word; a source operand that is a literal (or, in some
formats, a DPP or SDWA control) adds words. Which of the fields an instruction has is not known here, so the code of a
literal counts in all of them. Source: CDNA3, CDNA4, RDNA3, RDNA4 and CDNA5 ISA guides, "Microcode
formats"; compared with LLVM 22.1.8 on random words.
"""

from __future__ import annotations

from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["CDNA", "CDNA5", "RDNA3", "RDNA4", "Format", "words_of"]


class Format(TupleRecord):
    """One instruction format: the first word begins with `bits`, and it has `words` words and perhaps a literal.

    fields: (lowest bit, width, words that a code adds), of source operands and of opcodes that have a literal of
    their own. Bits of the second word count from 32. An instruction has one literal at most.
    """

    bits: str
    words: int
    fields: tuple[tuple[int, int, Mapping[int, int]], ...] = ()


_Extra = dict[int, int]
_LITERAL = {255: 1}
_LITERALS_64 = {255: 1, 254: 2}
_VOP2 = {0x2C: 1, 0x2D: 1, 0x37: 1, 0x38: 1}  # fmamk and fmaak, f32 and f16
_VOPD = {1: 1, 2: 1}  # the same as one half of a VOPD


def _scalar(literal: _Extra, setreg: int, sop2: _Extra = {}) -> tuple[Format, ...]:  # noqa: B006
    s0, s1 = (0, 8, literal), (8, 8, literal)
    return (
        Format("101111101", 1, (s0,)),  # SOP1
        Format("101111110", 1, (s0, s1)),  # SOPC
        Format("1011", 1, ((23, 5, {setreg: 1}),)),  # SOPP, SOPK
        Format("10", 1, (s0, s1, (23, 7, sop2))),  # SOP2
    )


def _vector(extra: _Extra, vop2: _Extra) -> tuple[Format, ...]:
    return (Format("0", 1, ((0, 9, extra), (25, 6, vop2))),)  # VOP1, VOP2, VOPC


def _rdna(literal: _Extra, vop2: _Extra) -> tuple[Format, ...]:
    dpp = {233: 1, 234: 1, 250: 1, **literal}
    three = ((32, 9, dpp), (41, 9, literal), (50, 9, literal))
    return (
        *_scalar(literal, 19, {0x45: 1, 0x46: 1}),
        *_vector(dpp, vop2),
        Format("110101", 2, three),  # VOP3
        Format("11001100", 2, three),  # VOP3P
        Format("11001101", 2),  # VINTERP
        Format("11001110", 1),  # LDSDIR
        Format("11001111", 3),  # VOPD3
        Format("110010", 2, ((0, 9, _LITERAL), (32, 9, _LITERAL), (22, 4, _VOPD), (17, 5, _VOPD))),  # VOPD
        Format("110110", 2),  # DS
        Format("111101", 2),  # SMEM
        Format("111110", 2),  # EXP
    )


_RDNA3_MEMORY = (
    Format("110111", 2),  # FLAT
    Format("111000", 2),  # MUBUF
    Format("111010", 2),  # MTBUF
    Format("111100", 2, ((0, 1, {1: 1}),)),  # MIMG; bit 0 says that a word of addresses follows
)
_RDNA4_MEMORY = (
    Format("110001", 3),  # VBUFFER
    Format("110100", 3),  # VIMAGE
    Format("111001", 3),  # VSAMPLE
    Format("111011", 3),  # VFLAT, VGLOBAL, VSCRATCH
)
CDNA = (
    *_scalar(_LITERAL, 20),
    *_vector({249: 1, 250: 1, 255: 1}, {0x17: 1, 0x18: 1, 0x24: 1, 0x25: 1}),
    # VOP3 and VOP3P. The guides allow no literal in them; LLVM decodes one.
    Format("110100", 2, ((32, 9, _LITERAL), (41, 9, _LITERAL), (50, 9, _LITERAL))),
    # VINTRP, 110101, has one word, like what no format has.
    Format("110000", 2),  # SMEM
    Format("110001", 2),  # EXP
    Format("11011", 2),  # DS, FLAT
    Format("111000", 2),  # MUBUF
    Format("111010", 2),  # MTBUF
    Format("111100", 2),  # MIMG
)
RDNA3 = (*_rdna(_LITERAL, _VOP2), *_RDNA3_MEMORY)
RDNA4 = (*_rdna(_LITERAL, _VOP2), *_RDNA4_MEMORY)
CDNA5 = (*_rdna(_LITERALS_64, {**_VOP2, 0x23: 2, 0x24: 2}), *_RDNA4_MEMORY)  # and fmamk, fmaak of f64


def words_of(formats: Iterable[Format], words: Sequence[int], at: int, end: int) -> tuple[int, int]:
    """The length in words of the instruction that begins at a word, without and with a literal or control that it
    seems to have; unknown encodings count as one word.

    >>> words_of(CDNA, [0xBE8000FF, 0x12345678], 0, 2)  # s_mov_b32 s0, 0x12345678
    (1, 2)
    """
    first = words[at]
    if at + 1 == end:
        return 1, 1
    for form in formats:
        if first >> 32 - len(form.bits) == int(form.bits, 2):
            whole = first | words[at + 1] << 32
            extra = [more.get(whole >> low & (1 << width) - 1, 0) for low, width, more in form.fields]
            return min(form.words, end - at), min(form.words + max(extra, default=0), end - at)
    return 1, 1
