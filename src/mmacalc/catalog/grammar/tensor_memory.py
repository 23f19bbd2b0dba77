"""From the name of a tcgen05 instruction to its record."""

from __future__ import annotations

from functools import lru_cache

from ...errors import Error
from ...families.tensor_memory import Form
from ...families.tensor_memory_moves import copy_layout, load_layout
from ...families.tensor_memory_shapes import DEPTHS, TYPES, allowed_shapes
from ...model.tensor_memory import WHERE_B, TensorMemoryInstruction, TensorMemoryMove
from .ptx import FORMAT
from .tcgen05 import SCALES, TARGETS, Name, parse, refusal
from .tcgen05_sass import becomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model import Architecture, Instruction

__all__ = ["record"]

PTX = "8.6"  # the version that introduced tcgen05


def record(architecture: Architecture, name: str) -> Instruction:
    """The instruction of a name.

    Raises:
        Error: the target does not take it; says why, and which targets do.
    """
    parsed = parse(name)
    taking = _taking(parsed.text)
    if architecture.name not in taking:
        why = refusal(parsed.text, architecture.name)
        others = f"; {', '.join(taking)} have it" if taking else ""
        raise Error(f"{architecture.name} does not have {parsed.text}: {why}{others}")
    return _mma(architecture, parsed, taking) if parsed.operation == "mma" else _move(architecture, parsed, taking)


@lru_cache(maxsize=4096)
def _taking(name: str) -> tuple[str, ...]:
    """The targets that take a name."""
    return tuple([target for target in TARGETS if not refusal(name, target)])


def _mma(architecture: Architecture, name: Name, targets: tuple[str, ...]) -> Instruction:
    form = Form(name.kind, name.has("sp"), name.has("ws"), name.cta_group)
    scales = SCALES.get(name.kind, {}).get(name.scale, 0)
    rows, columns = allowed_shapes(form)
    depth = DEPTHS[name.kind][form.sparse]
    formats, features, operands = {}, ["tensor-memory", "tcgen05"], ["A", "B", "C", "D"]
    if name.kind in TYPES:
        inputs, outputs = (FORMAT.get(types[0], types[0]) for types in TYPES[name.kind])
        formats = {"A": inputs, "B": inputs, "C": outputs, "D": outputs}
    if form.sparse:
        features.append("sparse")
        operands.append("K")
    if scales:
        features.append("scale")
        operands += ["SA", "SB"]
        formats |= dict.fromkeys(("SA", "SB"), "ue4m3" if scales == 4 else "e8m0")
    elsewhere = dict.fromkeys(operands, "is in Tensor Memory; its shape is in the instruction descriptor")
    return TensorMemoryInstruction(
        architecture, name.text, rows[-1], columns[-1], depth, 1, formats, features=tuple(features), ptx=PTX,
        targets=targets, given_operands=tuple(operands), elsewhere={**elsewhere, "B": WHERE_B}, kind=name.kind,
        scale_vec=scales, block_size=depth // scales if scales else 0, form=form,
        sass=becomes(name, architecture.name),
    )  # fmt: skip


def _move(architecture: Architecture, name: Name, targets: tuple[str, ...]) -> Instruction:
    layout, pack = None, name.has("pack::16b") or name.has("unpack::16b")
    if name.operation in ("ld", "st"):
        layout = load_layout(name.shape, name.count, pack)
    if name.operation == "cp":
        layout = copy_layout(".".join([name.shape, *[word for word in name.qualifiers if word.startswith("warpx")]]))
    return TensorMemoryMove(
        architecture, name.text, 1, 1, 1, 1, {}, features=("tensor-memory", "move"), ptx=PTX, targets=targets,
        moves=f"tcgen05.{name.operation}", layout=layout, pack=pack, sass=becomes(name, architecture.name),
    )  # fmt: skip
