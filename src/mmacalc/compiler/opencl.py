"""OpenCL's functions of DPAS: intel_sub_group_bf16_bf16_matrix_mad_k16 and its kin, overloaded by their types.

They exist for repeat counts of 1, 2, 4 and 8, and accumulators of D's type, which is not unsigned; with 16-bit
accumulators in sub-groups of 16 only. DPASW's are the "split" ones, where the two sub-groups have the same number of
rows of A.

Source: the Khronos extensions cl_intel_subgroup_matrix_multiply_accumulate, _tf32, _bf8 and
cl_intel_subgroup_split_matrix_multiply_accumulate, as IGC 98fff716 defines them (IBiF_dpas.cl).
"""

from __future__ import annotations

from ..families.dpas import vector_type, work_items
from .dialects import Intrinsic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["function", "functions"]

COUNTS = (1, 2, 4, 8)
SHORT = {"e4m3": "hf8", "e5m2": "bf8"}  # in names of scaled products alone


def functions(instruction: Instruction) -> tuple[Intrinsic, ...]:
    """The function of an instruction, if it has one."""
    found = function(instruction)
    return () if found is None else (found,)


def function(instruction: Instruction) -> Intrinsic | None:
    """The function of an instruction; None if it has none.

    >>> import mmacalc
    >>> function(mmacalc.instruction("xe-hpc", "dpas.8x4.f.f.hf.hf")).prototype
    'float4 intel_sub_group_f16_f16_matrix_mad_k16(short4, int8, float4)'
    """
    formats, m = instruction.formats, instruction.m
    if m not in COUNTS or formats["C"] != formats["D"] or formats["D"] == "u32":
        return None
    if formats["D"] in ("f16", "bf16") and instruction.n == 8:
        return None
    a = _first(instruction)
    if a is None:
        return None
    b = vector_type(instruction, "B", 32, instruction.k * instruction.format("B").bits // 32)
    d = vector_type(instruction, "D", instruction.format("D").bits, m)
    split = "_split" if "fused" in instruction.features else ""
    scaled = "_scaled" if instruction.scaled else ""
    short = SHORT if instruction.scaled else {}
    words = "_".join([short.get(formats[operand], formats[operand]) for operand in "AB"])
    name = f"intel_sub_group_{words}{split}{scaled}_matrix_mad_k{instruction.k}"
    arguments = {"a": a, "b": b, "acc": d}
    if instruction.scaled:
        arguments |= dict.fromkeys(
            ("scale_a", "scale_b"), vector_type(instruction, "SA", 8, instruction.k // instruction.block_size)
        )
    return Intrinsic(name, d, tuple(arguments.values()), "", "", (), tuple(arguments))


def _first(instruction: Instruction) -> str | None:
    """The type of A: what a work item has of it, of DPASW in each of two sub-groups."""
    rows, bits = instruction.m, instruction.format("A").bits
    if "fused" in instruction.features:
        operand = instruction.operand("A")
        if not operand.wave_place or operand.layout.partial:
            return None
        return vector_type(instruction, "A", instruction.k * bits // instruction.n, rows // 2)
    found = work_items(instruction, "A")
    if found is None:
        return None
    layout, width = found
    return vector_type(instruction, "A", width, layout.spans["item"] * bits // width)
