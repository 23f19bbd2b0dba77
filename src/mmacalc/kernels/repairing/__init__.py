"""Which single change of an instruction makes the result of a compiled kernel right."""

from __future__ import annotations

from ...asm.code_objects import Kernel
from ...base.checks import arguments_checked, shown
from ...base.errors import Error, plural
from ...base.records import TupleRecord, json_keys
from ..ptx.kernel import PtxKernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from ..device.launch import Size

__all__ = ["InstructionRepair", "Repairs", "find_repairs"]

MOST = 4000
"""Launches that a search makes, at most, if it is not told otherwise."""


@json_keys(
    "place: the address, or the line of PTX",
    "text: the instruction as it is",
    "better: the instruction with which the result is right",
    "kind: what is other in it",
    "adds: kinds of findings that it has and the kernel as it is has not",
    "location: of the source",
)
class InstructionRepair(TupleRecord):
    """An instruction with which the result is right.

    Attributes:
        place: "0x1698", or "line 34".
        text, better: the instruction as it is, and as it would be right.
        kind: what is other: order of operands, accumulator, modifier, lanes, number, register, opcode, mask, predicate;
            of several instructions that are changed alike, of which text and better are the first, how many they are.
        adds: kinds of findings that the launch with it has and that of the kernel as it is has not; such a change is
            only there if there is none without.
        location: its line of the source; None where that is not known.
    """

    place: str
    text: str
    better: str
    kind: str
    adds: tuple[str, ...]
    location: Any

    @property
    def sentence(self) -> str:
        """It in words."""
        where = f"\n    at {self.location}" if self.location is not None else ""
        more = f"; then there are findings: {', '.join(self.adds)}" if self.adds else ""
        return f"repair: {self.place}: {self.text}: the result is right with {self.better} ({self.kind}){more}{where}"


@json_keys(
    "wrong: what is wrong with the result", "repairs", "tried: launches", "edits: how many there are",
    "reported: what the launch itself finds",
)  # fmt: skip
class Repairs(TupleRecord):
    """What a search for repairs found.

    Attributes:
        wrong: what is wrong with the result of the kernel as it is, or why that was stopped; "" if it is right.
        repairs: the changes of one instruction with which it is right: `InstructionRepair`. Where there are several,
            they are as near to what stands there as each other.
        tried, edits: how many changes were tried, of how many of the instructions that matter.
        report: of the launch of the kernel as it is, as `mmacalc.launch` gives it; None where it was stopped.
    """

    wrong: str
    repairs: tuple[InstructionRepair, ...]
    tried: int
    edits: int
    report: Any

    @property
    def reported(self) -> tuple[str, ...]:
        """What the launch itself finds, in words."""
        return tuple([str(one.sentence) for one in self.report.findings]) if self.report is not None else ()

    def words(self) -> str:
        """What is wrong, the repairs, and how many changes were tried."""
        if not self.wrong:
            return "the result is as expected"
        lines = [self.wrong, *[one.sentence for one in self.repairs]]
        tried = f"{plural(self.tried, 'change')} tried, of {self.edits}: "
        return "\n".join([*lines, tried + (plural(len(self.repairs), "repair") if self.repairs else "none is enough")])


@arguments_checked
def find_repairs(
    kernel: Kernel | PtxKernel, grid: Size, block: Size, *args: Any, expected: Mapping[int | str, ArrayLike],
    tolerance: float | None = None, most: int = MOST, progress: bool | None = None, **options: Any,
) -> Repairs:  # fmt: skip
    """Find the instruction that makes a result wrong: the one with which, a little changed, it is right.

    Where no rule is broken nothing tells a wrong offset, register, lane, comparison or order of operands from a right
    one but the result. The kernel is launched with one instruction changed at a time, as a slip of the pen changes it,
    the nearest changes first, until the result is right and nothing more is found than before; if that is never so,
    changes are given with which more is found. Of each kind of change products come before what moves between lanes
    and LDS, memory, comparisons and everything else. Only instructions are changed through which wrong elements came,
    those before others that all of these and no right ones came through; and the same change is tried of all
    instructions of a line of the source together, as an unrolled loop has them. The arrays have afterwards what the
    kernel as it is leaves.

    Args:
        kernel, grid, block, args, options: as `mmacalc.launch`.
        expected: the right content of the arrays that the kernel writes, by the argument's number from 1, or its name.
        tolerance: how far elements may be off, as a part of the largest right one. If left out, 0 for integers and
            2**-8 for floats.
        most: launches, at most. A launch of a small kernel takes some hundredths of a second.
        progress: as of `mmacalc.launch`.

    Returns:
        `Repairs`.

    Raises:
        Error: expected names no array of the arguments, or has another number of elements; arguments in one buffer.

    A kernel that reverses 32 words, but for one that is taken from the wrong lane:

    >>> import mmacalc, numpy as np
    >>> kernel = mmacalc.load('''
    ... .version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k(.param .u64 x, .param .u64 y) {
    ...   .reg .b64 %a<5>; .reg .b32 %r<5>;
    ...   ld.param.u64 %a1, [x]; ld.param.u64 %a2, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %a3, %r1, 4;
    ...   add.u64 %a1, %a1, %a3; add.u64 %a2, %a2, %a3; ld.global.b32 %r2, [%a1];
    ...   shfl.sync.bfly.b32 %r3, %r2, 30, 31, -1; st.global.b32 [%a2], %r3; ret; }''')["k"]
    >>> x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    >>> found = find_repairs(kernel, 1, 32, x, y, expected={"y": x[::-1]})
    >>> found.repairs[0].text, found.repairs[0].better
    ('shfl.sync.bfly.b32 %r3, %r2, 30, 31, -1', 'shfl.sync.bfly.b32 %r3, %r2, 31, 31, -1')
    """
    from ..following.launches import Launched
    from .search import searched

    if not isinstance(kernel, (Kernel, PtxKernel)):
        raise Error(f"find_repairs takes a compiled kernel, one of mmacalc.load; got {shown(kernel)}")
    if options.get("arguments") is not None:
        raise Error("find_repairs takes the arguments one by one, not as one buffer: it has to know the results")
    if not hasattr(expected, "items"):
        raise Error(
            f"expected is a dictionary, of an argument's number or name its right content; got {shown(expected)}"
        )
    if most < 1:
        raise Error(f"most is how many launches may be made, from 1 up; got {most}")
    return searched(Launched(kernel, grid, block, args, options, progress), expected, tolerance, most)
