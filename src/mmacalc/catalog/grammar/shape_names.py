"""A shape in place of a name: `-i m16n8k16` and `-i 32x32x8`, where one instruction has it."""

from __future__ import annotations

import re

from ...base.errors import Error, first_of
from ...base.numerals import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model import Instruction
    from .. import Entry

__all__ = ["instruction_of_shape", "is_shape"]

_SHAPE = re.compile(r"(?:(?P<kind>[\w.:]+?)[._])?m?(?P<m>\d+)[nx](?P<n>\d+)[kx](?P<k>\d+)", re.IGNORECASE)


def is_shape(text: str) -> bool:
    """Whether a text is a shape, perhaps behind the beginning of a name.

    >>> is_shape("mma.m16n8k16"), is_shape("mma.m16n8k16.f32")
    (True, False)
    """
    return _SHAPE.fullmatch(text.strip()) is not None


def instruction_of_shape(entry: Entry, text: str) -> Instruction | None:
    """The instruction that a shape stands for; None if the text is not a shape.

    Args:
        entry: of an architecture.
        text: m16n8k16 or 16x8x16, also after the beginning of a name: mma.m16n8k16, wgmma.m64n8k16, v_mfma_32x32x8.

    Raises:
        Error: none of the architecture's instructions has this shape, or several have it.

    >>> from mmacalc.catalog import entry
    >>> instruction_of_shape(entry("sm_70"), "m8n8k16")
    Traceback (most recent call last):
        ...
    mmacalc.base.errors.Error: sm_70 has no instruction of shape 8x8x16. `mmacalc find -a sm_70` lists what there is.
    """
    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        return None
    shape, kind = tuple([whole(found[axis], f"{axis.upper()} of a shape") for axis in "mnk"]), (found["kind"] or "").lower()
    name, spelt = entry.architecture.name, "x".join(map(str, shape))
    having = [
        inst.name
        for inst in entry.instructions()
        if inst.flops and (inst.m, inst.n, inst.k) == shape and inst.name.startswith(kind)
    ]
    if len(having) == 1:
        return entry.instruction(having[0])
    if not having:
        which = f" that begins with {kind}" if kind else ""
        raise Error(f"{name} has no instruction of shape {spelt}{which}. `mmacalc find -a {name}` lists what there is.", kind="unknown name")
    raise Error(
        f"{len(having)} instructions of {name} have the shape {spelt}: {first_of(having)}. "
        f"`mmacalc find -a {name} --shape {spelt}` lists them."
    )
