"""Around which instruction attention is generated where none is asked for."""

from __future__ import annotations

from ..base.checks import shown
from ..base.errors import Error
from ..catalog import entry
from ..formats import CHOICES
from .attention import FORMATS, KEYS, attention_plan, elements_of, problem_of
from .attention_cuda_plan import cuda_attention_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model import Instruction

__all__ = ["attention_instruction"]

NAMED_KEYS = (128, 96, 80, 64, 32)  # of a tile that N of wgmma and tcgen05.mma names, the best first


def attention_instruction(
    arch: str, sizes: str | Sequence[int], element: str = "f16"
) -> tuple[Instruction, dict[str, int]]:
    """The instruction around which attention of these sizes is generated on an architecture, and the modifiers that
    choose its formats.

    tcgen05.mma, then wgmma, with the most keys of which two warpgroups have room, then mma.sync; of AMD that with the
    most products, and not more keys at once than a tile has. Heads that do not fit the first go to the next.

    Args:
        sizes: as of `generate(attention=...)`. element: "f16", "bf16", "fp8", or of AMD "bf8".

    Raises:
        Error: there is none; with what the last one said.

    >>> attention_instruction("H100", "1x16x4096x4096x128", "bf16")[0].name
    'wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16'
    >>> inst, modifiers = attention_instruction("MI355X", "1x16x4096x4096x128", "bf8")
    >>> inst.name, modifiers
    ('v_mfma_f32_32x32x64_f8f6f4', {'cbsz': 1, 'blgp': 1})
    """
    architecture = entry(arch).architecture
    architecture.family.require("generate", architecture.title)
    known = elements_of(architecture)
    form = known.get(element, element)
    if form not in known.values():
        raise Error(f"attention is generated for {', '.join(known)}; got {shown(element)}")
    problem, reason = problem_of(sizes), ""
    found: list[tuple[int, Instruction, dict[str, int]]] = []
    for inst, fields in _candidates(arch, form):
        try:
            if inst.architecture.family.language == "hip":
                unit = attention_plan(inst, problem.head, head_v=problem.head_v, fields=fields).unit
                found.append((int(unit <= KEYS), inst, fields))
            else:
                groups = cuda_attention_plan(inst, problem.head, head_v=problem.head_v).groups
                found.append((min(groups, 2), inst, fields))
        except Error as error:
            reason = str(error)
    if not found:
        raise Error(
            f"attention of {form} with heads of {problem.head} is generated around no instruction of "
            f"{architecture.title}{f': {reason}' if reason else ''}"
        )
    return max(found, key=lambda each: each[0])[1:]


def _candidates(arch: str, form: str) -> Iterator[tuple[Instruction, dict[str, int]]]:
    """The instructions of an architecture that might do, with modifiers, the best first."""
    known = [
        inst
        for inst in entry(arch).instructions()
        if not inst.sparse and not inst.scaled and inst.blocks == 1 and inst.flops and "wmma" not in inst.features
    ]
    if entry(arch).architecture.tcgen05:
        kind = "f16" if form in FORMATS else "f8f6f4"
        blackwell = entry(arch).instruction(f"tcgen05.mma.cta_group::1.kind::{kind}")
        yield from ((blackwell.split_parameters({"n": keys, "a": form})[0], {}) for keys in NAMED_KEYS)
    fitting = [
        (inst, fields)
        for inst in known
        if (fields := _choosing(inst, form)) is not None
        and [inst.format(name, fields).name for name in "ABCD"] == [form, form, "f32", "f32"]
    ]
    hopper = {inst.n: (inst, fields) for inst, fields in fitting if "wgmma" in inst.features}
    yield from (hopper[keys] for keys in NAMED_KEYS if keys in hopper)
    rest = [each for each in fitting if "wgmma" not in each[0].features and not each[0].in_tensor_memory]
    yield from sorted(rest, key=lambda each: (-each[0].m * each[0].n * each[0].k, len(each[0].choices)))


def _choosing(inst: Instruction, form: str) -> dict[str, int] | None:
    """The modifiers with which A and B have a format, where fields choose it; None if they do not offer it."""
    offered = {field: CHOICES[inst.formats[operand]] for field, operand in inst.choices.items()}
    if not all(form in each for each in offered.values()):
        return None
    return {field: each.index(form) for field, each in offered.items() if each[0] != form}
