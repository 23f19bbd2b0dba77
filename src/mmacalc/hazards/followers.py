"""How long what usually follows a matrix instruction must wait for it: who reads or overwrites D, the next product."""

from __future__ import annotations

from ..asm.registers import RegisterRange
from ..base.records import TupleRecord
from .recognizer import wait_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction

__all__ = ["Follower", "followers"]

APART = {"A": 64, "B": 96, "K": 192, "SA": 194, "SB": 196}
"""The first registers of the operands: none has more than 32."""
NEXT = 32
"""The first register of the next product's D."""
FREE = "v200"


class Follower(TupleRecord):
    """Wait states between an instruction and what follows: what it does, an example of it, how many and by which rule.

    what: in words. line: an instruction. states: 0 where nothing needs to be waited for. rule: which one asks for it.
    """

    what: str
    line: str
    states: int
    rule: str


def followers(instruction: Instruction) -> tuple[Follower, ...]:
    """The wait states after an instruction whose C is its D, as in a chain along K.

    Args:
        instruction: of an AMD architecture.

    Raises:
        Error: its architecture has no wait states, or no rule has a number for the instruction.

    >>> import mmacalc
    >>> found = followers(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16"))
    >>> found[0].what, found[0].line, found[0].states
    ('VALU reads D', 'v_mov_b32 v200, v0', 11)
    """
    instruction.architecture.family.require("waits", instruction.architecture.title)
    first = _line(instruction, 0)
    found = []
    for what, second in _seconds(instruction):
        wait = wait_states(first, second, instruction.arch)
        found.append(Follower(what, second, wait.states, wait.rule if wait.states else ""))
    return tuple(found)


def _seconds(inst: Instruction) -> Iterator[tuple[str, str]]:
    if inst.architecture.accumulators == "required":  # D is in AccVGPRs, from which nothing but this reads
        yield "VALU reads D", f"v_accvgpr_read_b32 {FREE}, a0"
        yield "VALU overwrites D", f"v_accvgpr_write_b32 a0, {FREE}"
    else:
        yield "VALU reads D", f"v_mov_b32 {FREE}, v0"
        yield "store of D", "global_store_dword v[202:203], v0, off"
        yield "VALU overwrites D", f"v_mov_b32 v0, {FREE}"
        yield "next reads D as A", _line(inst, NEXT, A=0)
    yield "next adds to D", _line(inst, 0)
    yield "VALU overwrites A", f"v_mov_b32 v{APART['A']}, {FREE}"


def _line(inst: Instruction, result: int, **placed: int) -> str:
    """The instruction with D and C at a register, and the other operands where nothing else is."""
    kind = "a" if inst.architecture.accumulators == "required" else "v"
    operands = {name: inst.operand(name).registers for name in inst.operands}
    firsts = {"D": result, "A": APART["A"], "B": APART["B"], "C": result, **APART, **placed}
    parts = [
        RegisterRange(kind if name in "CD" else "v", first, operands[name])
        for name, first in firsts.items() if name in operands
    ]  # fmt: skip
    return f"{inst.name} {', '.join(map(str, parts))}"
