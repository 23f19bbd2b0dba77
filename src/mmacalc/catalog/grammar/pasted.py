"""An instruction's name as it stands in a line that was pasted: with operands, a semicolon, LLVM's _e64."""

from __future__ import annotations

from ...base.errors import Error

__all__ = ["COMPILERS", "name_alone"]

ENDINGS = ("_e64", "_e32", "_vop3p")  # LLVM's encodings, as disassemblers and profilers append them
COMPILERS = ("__builtin", "llvm.", "intel_sub_group", "__hmma_", "__imma_", "__bmma_", "__dmma_", "__mma_")  # how names of builtins and intrinsics begin


def name_alone(text: str, architecture: str) -> str:
    """The mnemonic of a pasted line; the text itself where there is nothing around it.

    Raises:
        Error: it is a compiler's name; says which command knows those.

    >>> name_alone("v_mfma_f32_16x16x16_f16_e64 v[0:3], v[4:5], v[6:7], v[0:3]", "cdna3")
    'v_mfma_f32_16x16x16_f16'
    >>> name_alone("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32;", "sm_80")
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    word = (text.split() or [text])[0].rstrip(";,")
    if word.startswith(COMPILERS):
        name = word.partition("(")[0]
        raise Error(
            f"{name} is a compiler's name, not a mnemonic: `mmacalc find -a {architecture} {name}` says which it becomes"
        )
    for ending in ENDINGS:
        word = word.removesuffix(ending)
    return word
