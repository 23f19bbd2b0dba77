"""Around which instruction attention is generated where none is asked for."""

from __future__ import annotations

from ..base.checks import shown
from ..base.errors import Error
from ..catalog import entry
from .attention import FORMATS, FP8, attention_plan, problem_of
from .attention_cuda_plan import cuda_attention_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model import Instruction

__all__ = ["attention_instruction"]

KEYS = (128, 96, 80, 64, 32)  # of a tile that N of wgmma and tcgen05.mma names, the best first


def attention_instruction(arch: str, sizes: str | Sequence[int], element: str = "f16") -> Instruction:
    """The instruction around which attention of these sizes is generated on an architecture.

    tcgen05.mma, then wgmma, with the most keys of which two warpgroups have room, then mma.sync; of AMD that with the
    most products. Heads that do not fit the first go to the next.

    Args:
        sizes: as of `generate(attention=...)`. element: "f16", "bf16", or of NVIDIA "fp8".

    Raises:
        Error: there is none; with what the last one said.

    >>> attention_instruction("H100", "1x16x4096x4096x128", "bf16").name
    'wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16'
    >>> attention_instruction("MI300X", "1x16x4096x4096x128").name
    'v_mfma_f32_32x32x8_f16'
    """
    architecture = entry(arch).architecture
    architecture.family.require("generate", architecture.title)
    known = (*FORMATS, *["fp8"] * (architecture.family.language == "cuda"))
    if element not in (*known, FP8):
        raise Error(f"attention is generated for {', '.join(known)}; got {shown(element)}")
    element = FP8 if element == "fp8" else element
    problem, reason = problem_of(sizes), ""
    found: list[tuple[int, Instruction]] = []
    for inst in _candidates(arch, element):
        try:
            if inst.architecture.family.language == "hip":
                attention_plan(inst, problem.head, head_v=problem.head_v)
                return inst
            found.append((cuda_attention_plan(inst, problem.head, head_v=problem.head_v).groups, inst))
        except Error as error:
            reason = str(error)
    if not found:
        raise Error(
            f"attention of {element} with heads of {problem.head} is generated around no instruction of "
            f"{architecture.title}{f': {reason}' if reason else ''}"
        )
    return max(found, key=lambda each: min(each[0], 2))[1]


def _candidates(arch: str, element: str) -> Iterator[Instruction]:
    """The instructions of an architecture that might do, the best first."""
    known = [
        inst
        for inst in entry(arch).instructions()
        if not inst.sparse and not inst.scaled and inst.blocks == 1 and inst.flops and "wmma" not in inst.features
    ]
    if entry(arch).architecture.tcgen05:
        kind = "f8f6f4" if element == FP8 else "f16"
        blackwell = entry(arch).instruction(f"tcgen05.mma.cta_group::1.kind::{kind}")
        yield from (blackwell.split_parameters({"n": keys, "a": element})[0] for keys in KEYS)
    formats = [[inst.format(name).name for name in "ABCD"] for inst in known]
    fitting = [inst for inst, each in zip(known, formats) if each == [element, element, "f32", "f32"]]
    hopper = {inst.n: inst for inst in fitting if "wgmma" in inst.features}
    yield from (hopper[keys] for keys in KEYS if keys in hopper)
    rest = [inst for inst in fitting if "wgmma" not in inst.features and not inst.in_tensor_memory]
    yield from sorted(rest, key=lambda inst: -inst.m * inst.n * inst.k)
