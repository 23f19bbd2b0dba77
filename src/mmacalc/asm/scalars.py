"""The codes below 256 that source operands take: scalar registers and values of the hardware, by generation.

Source: ISA guides of CDNA4 (table 88), RDNA3, RDNA4 and CDNA5, "Scalar operands"; which of them a slot takes: LLVM
22.1.8.
"""

from __future__ import annotations

__all__ = [
    "CDNA5_SCALARS", "CDNA5_SCALAR_PAIRS", "CDNA5_WORDS", "CDNA_SCALARS", "CDNA_WORDS", "LDS_DIRECT", "RDNA_WORDS",
]  # fmt: skip


def _words(**codes: int) -> dict[str, int]:
    return codes


def _row(prefix: str, first: int, count: int, width: int = 1) -> dict[str, int]:
    """Scalar registers, or (width 2) their even-aligned pairs."""
    if width == 1:
        return {f"{prefix}{number}": first + number for number in range(count)}
    return {f"{prefix}[{number}:{number + 1}]": first + number for number in range(0, count, 2)}


def _both(words: dict[str, int]) -> dict[str, int]:
    """Words that LLVM takes with and without "src_", printed with it."""
    return {**words, **{name.removeprefix("src_"): code for name, code in words.items()}}


_SHARED_APERTURES = _words(src_shared_base=235, src_shared_limit=236)
_PRIVATE_APERTURES = _words(src_private_base=237, src_private_limit=238)
_APERTURES = {**_SHARED_APERTURES, **_PRIVATE_APERTURES}
_SCC = _both(_words(src_scc=253))
CDNA_WORDS = {**_both(_APERTURES), **_both(_words(src_vccz=251, src_execz=252)), **_SCC}
CDNA_SCALARS = {
    **_row("s", 0, 102),
    **_words(flat_scratch_lo=102, flat_scratch_hi=103, xnack_mask_lo=104, xnack_mask_hi=105),
    **_words(vcc_lo=106, vcc_hi=107, m0=124, exec_lo=126, exec_hi=127),
    **_row("ttmp", 108, 16),
    **CDNA_WORDS,
}
# LLVM 22 takes a word more, which these GPUs do not have according to LLVM 24.
_POPS = _both(_words(src_pops_exiting_wave_id=239))
CDNA_WORDS_LLVM22 = {**CDNA_WORDS, **_POPS}
CDNA_SCALARS_LLVM22 = {**CDNA_SCALARS, **_POPS}
RDNA_WORDS = {**_words(null=124), **_both(_APERTURES), **_SCC}
CDNA5_WORDS = {
    **_words(null=124), **_both(_SHARED_APERTURES), **_SCC,
    **_words(src_flat_scratch_base_lo=230, src_flat_scratch_base_hi=231),
}  # fmt: skip
CDNA5_SCALARS = {
    **_row("s", 0, 106),
    **_words(vcc_lo=106, vcc_hi=107, m0=125, exec_lo=126, exec_hi=127),
    **_row("ttmp", 108, 16),
    **CDNA5_WORDS,
}
# LLVM takes it only as a scale of the 16-byte forms, though the target has no LDS-direct loads.
LDS_DIRECT = _both(_words(src_lds_direct=254))
CDNA5_SCALAR_PAIRS = {
    **_row("s", 0, 106, 2),
    **_words(vcc=106, exec=126),
    **_row("ttmp", 108, 16, 2),
    **CDNA5_WORDS,
}
# LLVM 22 has private apertures on gfx1250 and gfx1251, which they do not have according to LLVM 24.
CDNA5_WORDS_LLVM22, CDNA5_SCALARS_LLVM22, CDNA5_SCALAR_PAIRS_LLVM22 = (
    {**words, **_both(_PRIVATE_APERTURES)} for words in (CDNA5_WORDS, CDNA5_SCALARS, CDNA5_SCALAR_PAIRS)
)
