"""Around which instruction a GEMM is generated where none is asked for."""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..catalog import entry
from ..formats import formats_named, scaling
from ..throughput import estimate
from .generate import gemm_sizes, generate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..model import Instruction

__all__ = ["GeneratedGemm", "generated_gemm"]

UNSIGNED = {"u8", "u4"}


class GeneratedGemm(TupleRecord):
    """The instruction that was chosen, the modifiers that choose its formats, and the source of the GEMM around it."""

    instruction: Instruction
    modifiers: Mapping[str, int]
    source: str


def generated_gemm(arch: str, element: str, gemm: str | Sequence[int], **options: Any) -> GeneratedGemm:
    """A GEMM around the best instruction of an architecture for a type.

    It is the first of `estimate` of which there is a kernel under the options; those that add up in the widest format
    come first. Instructions that take scales are for the types that have them (mxfp8, nvfp4 ...).

    Args:
        element: the format of A and B, by any of its names. gemm, options: as of `generate`.

    Raises:
        Error: there is none; with what was said of the best.

    >>> generated_gemm("H100", "bf16", "4096x4096x4096").instruction.name
    'wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16'
    >>> found = generated_gemm("MI355X", "fp4", "4096x4096x4096")
    >>> found.instruction.name, dict(found.modifiers)
    ('v_mfma_f32_32x32x64_f8f6f4', {'cbsz': 4, 'blgp': 4})
    """
    architecture = entry(arch).architecture
    architecture.family.require("generate", architecture.title)
    reason = ""
    for inst, fields in _candidates(arch, element, gemm_sizes(gemm)):
        try:
            return GeneratedGemm(inst, fields, generate(inst, gemm=gemm, **{**options, **fields}))
        except Error as error:
            reason = reason or f": {error}"
    raise Error(f"no instruction of {architecture.title} has a kernel for this GEMM of {element}{reason}")


def _candidates(arch: str, element: str, sizes: tuple[int, int, int]) -> list[tuple[Instruction, dict[str, int]]]:
    """The instructions that multiply matrices of a type, with the modifiers that choose it, the best first."""
    found = [
        (one.instruction, {**one.modifiers, **_signs(one.instruction, element)})
        for one in estimate(arch, *sizes, element).candidates
        if one.instruction.scaled == (scaling(element) is not None)
    ]
    return sorted(found, key=lambda each: -each[0].format("D", each[1]).bits)


def _signs(inst: Instruction, element: str) -> dict[str, int]:
    """The modifier by which integers of either sign are unsigned; signed they are without one."""
    return {"neg": 0} if inst.format("A").kind == "either" and formats_named(element) <= UNSIGNED else {}
