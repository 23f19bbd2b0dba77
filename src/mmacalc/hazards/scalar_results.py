"""SGPRs that are read too soon after a write, which s_wait_alu (RDNA3: s_waitcnt_depctr) waits for.

gfx1200 and gfx1201: once a VALU instruction has read an SGPR, or the other one of its pair, what later writes it is not
there for the next reader: a value from the SALU needs sa_sdst(0), one from the VALU va_sdst(0), in VCC va_vcc(0). A
scalar instruction may read what the VALU has written, and ends that hazard; so do scalar loads and accesses by a
buffer.

RDNA3 in wave64 (known by VALU instructions that write a pair of SGPRs): the same where a VALU instruction has read the
pair as its mask of lanes (v_cndmask, carries, v_div_fmas), and nothing but the wait ends it, or a scalar load into the
pair: what comes from memory is there when it has been waited for.

Every path through the basic blocks is followed. Assumed: no hazard where a kernel begins, and none where a call comes
back.

Source: LLVM 22.1.8, AMDGPUWaitSGPRHazards (VALUReadSGPRHazard) and GCNHazardRecognizer::fixVALUMaskWriteHazard, which
waits behind the write, whoever reads. No ISA guide has either.
"""

from __future__ import annotations

from ..asm.reader import NAMED_REGISTERS, registers
from ..asm.tables import flags_of
from ..base.records import TupleRecord
from .memory_counters import dependencies_waited
from .memory_waits import MemoryWait
from .pending import blocks_before
from .register_use import accesses, bare, form_of, operation_of
from .touched import tables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.blocks import Block
    from ..asm.reader import Listing, Statement
    from ..asm.registers import RegisterRange

    Spans = tuple[RegisterRange, ...]

__all__ = ["early_scalar_reads", "has_scalar_hazards"]

_VCC = NAMED_REGISTERS["vcc"].first
_UNTRACKED = NAMED_REGISTERS["vcc"].last + 1
"""M0, EXEC and what follows them are not part of either hazard."""
_DS_NOPS = 4
"""As many ds_nop in a row let the hardware forget which SGPRs were read (of wave32; LLVM's cull)."""


class _Effect(TupleRecord):
    """What a statement is to the hazards.

    unit: "valu", "salu", "memory" (which ends them), "nop" (ds_nop), or "" (others, and waits). reads, masks, writes:
    SGPRs; masks are those of reads that choose lanes. waited: the fields of s_wait_alu that it brings to 0.
    """

    unit: str
    reads: Spans = ()
    masks: Spans = ()
    writes: Spans = ()
    waited: frozenset[str] = frozenset()


class _State(TupleRecord):
    """What has happened on some path. tracked: SGPRs (of gfx12: pairs) that the VALU has read, by whom; by_salu,
    by_valu: SGPRs written since, by whom: the first statement of the listing that may be it."""

    tracked: dict[int, int]
    by_salu: dict[int, int]
    by_valu: dict[int, int]

    def merged(self, other: _State) -> _State:
        """What has happened on the paths of either."""
        return _State(*(_earliest(one, another) for one, another in zip(self, other)))

    def clear(self) -> None:
        """No SGPR is written too late for a reader."""
        self.by_salu.clear()
        self.by_valu.clear()


def _earliest(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {**one, **{key: min(at, one.get(key, at)) for key, at in other.items()}}


def has_scalar_hazards(target: str) -> bool:
    """Whether a target has one of the two hazards.

    >>> has_scalar_hazards("gfx1201"), has_scalar_hazards("gfx1250")
    (True, False)
    """
    return target.startswith(("gfx120", "gfx110", "gfx115"))


def early_scalar_reads(listing: Listing, blocks: Sequence[Block], target: str) -> Iterator[MemoryWait]:
    """Every statement that reads an SGPR too soon, with the write that it must wait for, in the order of the listing;
    what follows is judged as if it waited.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx1201".
    """
    if not has_scalar_hazards(target):
        return
    paths = _Paths(listing, blocks, target)
    for block, entering in zip(blocks, paths.entering()):
        if entering is not None:
            for at in paths.events[block.start]:
                yield from paths.step(entering, at)


def _effect(statement: Statement, tables: str) -> _Effect | None:
    """None of what neither touches an SGPR nor ends a hazard."""
    name = bare(statement.mnemonic)
    waited = dependencies_waited(statement)
    if waited is not None:
        return _Effect("", waited=frozenset(field for field, number in waited.items() if number == 0))
    if name == "ds_nop":
        return _Effect("nop")
    one = operation_of(name, tables)
    unit = "" if one is None else one.unit
    if unit in ("smem", "mubuf") or name.startswith(("image_", "tbuffer_")):
        loaded = tuple(_accessed(statement, "w", tables)) if unit == "smem" else ()
        return _Effect("memory", writes=loaded)
    if unit not in ("valu", "salu"):
        return None
    halves = [half for half in (statement._replace(second=None), statement.second) if half is not None]
    reads, writes = (tuple(span for half in halves for span in _accessed(half, letter, tables)) for letter in "rw")
    flags = flags_of(name)
    masks = reads[-1:] if "lane_mask" in flags or "div_fmas" in flags else ()
    return _Effect(unit, reads, masks, writes) if reads or writes else None


def _accessed(statement: Statement, letter: str, tables: str) -> Iterator[RegisterRange]:
    """The SGPRs that an instruction, or half of a pair, reads ("r") or writes ("w")."""
    for access, operand in zip(accesses(statement, tables), statement.operands):
        if letter in access:
            yield from _scalars(operand)
    form = form_of(statement, tables)
    for name in () if form is None else form.reads if letter == "r" else form.writes:
        yield from _scalars(name)


def _scalars(operand: str) -> Spans:
    return tuple(one for one in registers(operand) if one.file == "s" and one.first < _UNTRACKED)


class _Paths:
    """The paths of a listing, and the statements on them that matter, by the start of their block."""

    def __init__(self, listing: Listing, blocks: Sequence[Block], target: str) -> None:
        self._pairs, self._blocks, tables = target.startswith("gfx12"), blocks, tables_of(target)
        known = {at: _effect(listing.statements[at], tables) for at in dict.fromkeys(listing.alike)}
        self._effects = {at: effect for at, first in enumerate(listing.alike) if (effect := known[first]) is not None}
        self.events = {
            block.start: [at for at in range(block.start, block.end) if at in self._effects] for block in blocks
        }
        # Wave64 shows in the text: only there the VALU writes masks of two registers.
        self._wave64 = any(
            one is not None and one.unit == "valu" and any(span.count == 2 for span in one.writes)
            for one in known.values()
        )
        self._forgets = {at for at in self._effects if self._nops_before(at) >= _DS_NOPS}

    def _nops_before(self, at: int) -> int:
        """How many ds_nop end with a statement."""
        count = 0
        while (effect := self._effects.get(at - count)) is not None and effect.unit == "nop":
            count += 1
        return count

    def entering(self) -> list[_State | None]:
        """The state at the start of each block; None of one that nothing leads to."""
        blocks = self._blocks
        starts = {number for number, before in enumerate(blocks_before(blocks)) if not before or number == 0}
        entering = [_State({}, {}, {}) if number in starts else None for number in range(len(blocks))]
        waiting = starts
        while waiting:
            number = min(waiting)
            waiting.discard(number)
            state = _State(*map(dict, entering[number] or ()))
            for at in self.events[blocks[number].start]:
                for _ in self.step(state, at):
                    pass
            for following in blocks[number].following:
                before = entering[following]
                merged = state.merged(state if before is None else before)
                if merged != before:
                    entering[following] = merged
                    waiting.add(following)
        return entering

    def step(self, state: _State, at: int) -> Iterator[MemoryWait]:
        """Carry a state over a statement, and give what it reads too soon."""
        effect = self._effects[at]
        if effect.unit == "memory":
            if self._pairs:
                state.clear()
            else:
                for number in (number for span in effect.writes for number in self._numbers(span)):
                    for known in state:
                        known.pop(number, None)
        elif effect.unit == "nop":
            if at in self._forgets:
                state.tracked.clear()
        elif effect.unit:
            for span in effect.reads:
                yield from self._read(state, effect, span, at)
            for span in effect.writes:
                self._write(state, effect, span, at)
        else:
            _wait(state, effect.waited)

    def _numbers(self, span: RegisterRange) -> range:
        """The SGPRs of an operand; on gfx12 VCC is one."""
        if self._pairs and span.first >= _VCC:
            return range(_VCC, _VCC + 1)
        return range(span.first, span.first + span.count)

    def _read(self, state: _State, effect: _Effect, span: RegisterRange, at: int) -> Iterator[MemoryWait]:
        numbers, salu = self._numbers(span), effect.unit == "salu"
        if self._pairs:
            if span.first // 2 not in state.tracked:
                if not salu:
                    state.tracked[span.first // 2] = at
                return
            if salu:
                _read_by_salu(state, numbers)
        elif self._wave64 and span in effect.masks:
            for number in numbers:
                state.tracked.setdefault(number, at)
        sources = [("sa_sdst", state.by_salu)]
        if not salu:
            sources.append(("va_vcc" if span.first >= _VCC else "va_sdst", state.by_valu))
        for field, written in sources:
            writer = next((written[number] for number in numbers if number in written), None)
            if writer is not None:
                yield MemoryWait(at, writer, _sentence(span, field), ((field, 0),))
                _wait(state, frozenset((field,)))

    def _write(self, state: _State, effect: _Effect, span: RegisterRange, at: int) -> None:
        own, other = state.by_salu, state.by_valu
        if effect.unit == "valu":
            own, other = other, own
        for number in self._numbers(span):
            if self._pairs:
                if span.first // 2 in state.tracked:
                    own[number] = at
                    if number == _VCC:
                        other.pop(number, None)
            elif state.tracked.pop(number, None) is not None:
                own[number] = at


def _read_by_salu(state: _State, numbers: range) -> None:
    """A scalar instruction that reads what the VALU may have written waits for it itself."""
    if numbers[0] != _VCC:
        for number in [one for one in state.by_valu if one != _VCC]:
            del state.by_valu[number]
    elif state.by_valu.pop(_VCC, None) is not None:
        state.by_salu.pop(_VCC, None)


def _wait(state: _State, fields: frozenset[str]) -> None:
    if "sa_sdst" in fields:
        state.by_salu.clear()
    for number in [*state.by_valu]:
        if ("va_vcc" if number >= _VCC else "va_sdst") in fields:
            del state.by_valu[number]


def _sentence(span: RegisterRange, field: str) -> str:
    unit = "a scalar instruction" if field == "sa_sdst" else "a VALU instruction"
    name = "vcc" if span.first >= _VCC else str(span)
    return f"reads {name}, which {unit} has written after the VALU had read it: no wait for {field} before it"
