"""Find where a listing violates a wait that registers require, and lines that no assembler accepts.

The listing is cut into basic blocks at branches and their targets, and every path is followed: fall-through, both ways
of a conditional branch, and loops back to their head; where paths meet, the one that leaves the fewest states counts.

What is assumed: a branch whose target is not in the listing, and s_setpc, lead nowhere; s_swappc and s_call come back
at once; every instruction between two others gives one wait state and s_nop N gives N + 1 (as LLVM counts; where the
unit is v_nop only VALU instructions count); macros are not expanded and give none; `.if` and `.rept` are read once, as
written; registers of names that the listing does not set are unknown and make no finding, and s_waitcnt_depctr with
such a name is taken to wait for everything; nor does v_wmma_f64_16x16x4_f64 make one, whose wait states no source
gives. Where the listing sets gfx12's mode of expert scheduling, wait states are those of gfx1250's stepping B0
(`tables.EXPERT`); where it chooses registers above v255 that it does not name they are not judged, and `unchecked` says
so. Waits for memory are those of `memory_waits`.

Operands of a line are checked by the assembler itself (`mmacalc.asm.assembler`), so of matrix instructions, moves of
AccVGPRs and loads of scales only. A line is accepted if LLVM 22 or LLVM 24 takes it, in the wave size that fits most
lines. Lines whose registers depend on symbols without a value, macro arguments or placeholders of inline assembly are
not checked.

Before gfx10 all hazards are looked at for which LLVM inserts s_nop, those of DPP, lanes, SGPRs, VCC, EXEC, M0, hardware
registers, results that fill a part of a register and data of stores among them, and those that only ISA guides have:
VCCZ, EXECZ and EXEC as data, MODE.VSKIP; so are reads of vccz after a write of half of VCC (see `vccz`), and shifts of
gfx90a (see `shift_amounts`). Not where LLVM breaks a clause of loads because it may be issued again, which `unchecked`
says for targets with XNACK. A wait that AMD's own kernels leave out (`Expiry.disputed`) is a clause of `unchecked`, no
finding.

On gfx11 and gfx12: transcendental results (gfx1100 to gfx1103, gfx1250), registers written around a write of EXEC
(gfx11 in wave64, which is known by scalar instructions that write exec, not exec_lo), lds_direct_load, permlanes behind
v_cmpx, and SGPRs (see `scalar_results`). On gfx1250 also copies into LDS behind which nothing waits for their counter
(see `lds_copies`). Not looked at are the bytes of LDS that waves share, and what else LLVM waits for on gfx11 and
gfx12, which `unchecked` says where the listing has such an instruction.

On gfx11, gfx1200 and gfx1201 also vector registers that are given back (see `deallocation`).

On all targets lanes that are lost are named: see `lane_masks`.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache, partial

from ..asm.assembler import problems
from ..asm.blocks import decoded_blocks
from ..asm.forms import form_of
from ..asm.reader import AMD_MNEMONICS, read_listing
from ..asm.tables import flags_of, instruction_names
from ..asm.targets import LLVM_VERSIONS, agreed, target
from ..base.checks import arguments_checked
from ..base.errors import Error, did_you_mean
from ..base.records import Cache, TupleRecord, json_keys
from .deallocation import MESSAGE as DEALLOCATION
from .deallocation import REPAIR as IDLE
from .deallocation import early_deallocations
from .forwarding import Forwarding
from .lane_masks import lost_lanes
from .lds_copies import unwaited_copies
from .memory_waits import TooManyPaths, has_counters, missing_waits, repaired
from .pending import PendingHazards, Repair, basic_blocks
from .recognizer import nop_instructions, recognizer_for
from .register_use import UNREAD, decoded_use, entry_of, is_known, is_matrix, register_use
from .scalar_results import early_scalar_reads
from .shift_amounts import MESSAGE as SHIFT_MESSAGE
from .shift_amounts import high_shift_amounts
from .vccz import MESSAGE, REPAIR, stale_vccz

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.blocks import Block
    from ..asm.decoded import DecodedInstruction
    from ..asm.reader import Listing, Statement
    from ..asm.targets import Target
    from ..catalog import Entry
    from .pending import Ages, Violation
    from .recognizer import HazardRecognizer, WaitStates
    from .register_use import RegisterUse

__all__ = [
    "Finding", "LintReport", "MissingStates", "RequiredWait", "WaitsReport", "lint", "missing_states",
    "waits",
]  # fmt: skip

NOTHING = "the text has no AMD instruction: none of its lines begins with v_, s_, ds_, buffer_, global_ ..."
_SYMBOL = re.compile(r"(?!(?:[.$]|L\d|\d))")  # a label that is no jump target within a function
SCHED_MODE = "HW_REG_WAVE_SCHED_MODE"
"""The hardware register whose value 2 is expert scheduling (gfx12)."""
_UNFOLLOWED = re.compile(
    r"(?:lds|ds)_(?:direct|param)_load|ds_atomic_async_barrier_arrive_b64|src_flat_scratch_base_\w+"
    r"|HW_REG_(?:WAVE_)?(?:STATUS|STATE_PRIV|EXCP_FLAG_\w+)"
)
"""Around these LLVM 22.1.8 has hazards on gfx11 and gfx12 that are not looked at: fixLdsDirectVMEMHazard,
fixDsAtomicAsyncBarrierArriveB64, fixScratchBaseForwardingHazard and fixGetRegWaitIdle."""
_XNACK = re.compile(r"gfx[\w-]+(?::\w+[+-])*:xnack\+", re.ASCII)
_EXPERT = re.compile(rf"\S+\s+hwreg\(\s*(?:{SCHED_MODE}|26)\b")


@json_keys(
    "kind: wait states, wait, vccz, shift amount, exec or invalid",
    "message=sentence",
    "line",
    "column: of the instruction in the line, from 1",
    "text",
    "first_line",
    "first_text",
    "elapsed",
    "missing",
    "nops: what to put before the line; empty where those of other findings are enough",
    "wait",
)
class Finding(TupleRecord):
    """One violation.

    kind: "wait states"; "wait", a missing wait for memory; "vccz", a read of vccz that a write of half of VCC has not
    updated; "shift amount", a shift of 64 bits that gfx90a may do wrongly; "exec", lanes that are lost; "invalid", a
    line that no assembler accepts.
    line, text: the line. first_line, first_text: where it comes too early the instruction that it must wait for, of
    lanes that are lost what tells so; 0 and "" of others. elapsed: the wait states between the two on the shortest
    path; missing: how many more are needed; wait: the rule; 0, 0 and None of other kinds. nops: the instructions to put
    before the line (s_nop, v_nop, s_waitcnt_depctr, s_waitcnt ...); empty where those of other findings are enough.
    message: what is wrong, in words; of an invalid line with several faults each is a finding.
    column: where the instruction begins in its line, from 1.
    """

    line: int
    text: str
    first_line: int
    first_text: str
    elapsed: int
    missing: int
    wait: WaitStates | None
    nops: tuple[str, ...]
    kind: str = "wait states"
    message: str = ""
    column: int = 1

    @property
    def sentence(self) -> str:
        """What is wrong: the message, or the rule of wait states."""
        return self.message or (self.wait.rule if self.wait else "")


@json_keys(
    "architecture",
    "instructions",
    "matrix_instructions",
    "unchecked: what was not looked at",
    "findings",
)
class LintReport(TupleRecord):
    """The result for a listing: the findings, the architecture's canonical name, the numbers of instructions and of
    matrix instructions, and, as a clause each, what of this listing was not looked at."""

    findings: tuple[Finding, ...]
    architecture: str
    instructions: int
    matrix_instructions: int
    unchecked: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """The findings of a kind (see `Finding`).

        >>> report = lint("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[5:6], v[6:7], v[0:3]", "gfx942")
        >>> [one.message for one in report.of_kind("invalid")]
        ['A of v_mfma_f32_4x4x4_16b_f16 takes 2 registers, even-aligned: v[4:5]; got v[5:6]']
        """
        return tuple(one for one in self.findings if one.kind == kind)


@arguments_checked
def lint(text: str, arch: str | None = None) -> LintReport:
    """Every place in a listing where a matrix instruction's result or source, or the result of a load, is touched too
    early, and every line that no assembler accepts.

    Args:
        text: assembly as compilers and llvm-objdump write it.
        arch: any name of an AMD architecture with matrix instructions; None where the listing names its target
            (`.amdgcn_target`, as compilers write).

    Raises:
        Error: the text has no AMD instruction; the architecture is unknown, missing, or not the one that the listing
            names.

    >>> [finding] = lint('''
    ... v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]
    ... s_nop 1
    ... global_store_dwordx4 v[8:9], v[0:3], off''', "gfx942").findings
    >>> finding.line, finding.wait.states, finding.missing, finding.nops
    (4, 5, 3, ('s_nop 2',))
    """
    listing = read_listing(text)
    if not any(one.mnemonic.startswith(AMD_MNEMONICS) for one in listing.statements):
        if arch is not None:
            recognizer_for(entry_of(arch).architecture, arch)  # another vendor's target has no wait states: says why
        raise Error(NOTHING, kind="nothing")
    name = agreed(arch, listing.targets, "the listing")
    entry = entry_of(name)
    uses, counts = _uses(listing, entry)
    if not counts[0]:
        raise Error(NOTHING, kind="nothing")
    findings, unchecked = _findings(listing, uses, entry, name)
    written = text.split("\n") if findings else []
    return LintReport(
        tuple(one._replace(column=_column(written[one.line - 1], one.text)) for one in findings),
        entry.architecture.name,
        *counts,
        (*unchecked, *_reissued(text, arch or "")),
    )


def _findings(
    listing: Listing, uses: list[RegisterUse], entry: Entry, arch: str
) -> tuple[list[Finding], tuple[str, ...]]:
    """The findings of a listing, in its order and without their columns, and what is not looked at."""
    unnamed, expert = _unnamed(listing.statements), _expert(listing.statements)
    recognizer, blocks = recognizer_for(entry.architecture, arch, expert), basic_blocks(listing)
    assembles = bool(entry.architecture.assembly)
    disputed: dict[str, str] = {}
    found: list[tuple[int, Finding]] = []
    if not unnamed:
        uses = _by_fewest(uses) if expert else uses
        found += _missing_states(listing.statements, uses, blocks, recognizer, disputed)
    if assembles:
        found += _invalid(listing, arch)
    unfollowed = unnamed or "the target's counters are not known"
    if assembles and not unnamed and has_counters(compiled := target(arch).name):
        found += _stale(listing, blocks, compiled)
        found += _high_shifts(listing, compiled)
        found += _lost_lanes(listing, blocks, compiled)
        found += _deallocated(listing, compiled)
        try:
            found += list(_missing_waits(listing, blocks, compiled, expert))
            unfollowed = ""
        except TooManyPaths:
            unfollowed = "too many accesses are outstanding on too many paths"
    unchecked = _unchecked(listing, assembles, unfollowed, unnamed, recognizer.unit)
    return [one for _, one in sorted(found, key=lambda found: found[0])], (*unchecked, *disputed.values())


def _column(line: str, text: str) -> int:
    """Where an instruction begins in its line, from 1; where it stands otherwise there, the first character."""
    at = line.find(text)
    return at + 1 if at >= 0 else len(line) - len(line.lstrip()) + 1


@json_keys(
    "line",
    "text",
    "first_line",
    "first_text",
    "part: the kernel or function, by its label",
    "elapsed: the wait states between the two on the shortest path",
    "missing: how many more are needed",
    "wait",
)
class RequiredWait(TupleRecord):
    """An instruction that must not come too soon after another, and how soon it comes.

    line, text: the instruction. first_line, first_text: the one that it must wait for. elapsed: the wait states between
    the two on the shortest path; missing: how many more are needed, 0 where there are enough. wait: the rule. part: the
    last label of a symbol before the line, such as the kernel's name; "" if there is none.
    """

    line: int
    text: str
    first_line: int
    first_text: str
    elapsed: int
    missing: int
    wait: WaitStates
    part: str = ""


@json_keys("architecture", "unjudged: why the waits are not known; empty if they are", "waits")
class WaitsReport(TupleRecord):
    """The waits between the instructions of a listing, the architecture's canonical name, and why they are not known
    ("" if they are)."""

    waits: tuple[RequiredWait, ...]
    architecture: str
    unjudged: str = ""


@arguments_checked
def waits(text: str, arch: str | None = None) -> WaitsReport:
    """Which instructions of a listing need wait states after an earlier one, how many, and how many there are.

    Of several that an instruction must wait for the tightest is given; pairs that are far enough apart by more than the
    longest rule are left out.

    Args:
        text, arch: as for `lint`.

    Raises:
        Error: as `lint`.

    >>> import mmacalc
    >>> [wait] = mmacalc.waits('''
    ... v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]
    ... s_nop 4
    ... global_store_dwordx4 v[8:9], v[0:3], off''', "gfx942").waits
    >>> wait.line, wait.wait.states, wait.elapsed, wait.missing
    (4, 5, 5, 0)
    """
    listing = read_listing(text)
    arch = agreed(arch, listing.targets, "the listing")
    entry = entry_of(arch)
    uses, counts = _uses(listing, entry)
    statements = listing.statements
    if not counts[0]:
        raise Error(NOTHING, kind="nothing")
    expert = _expert(statements)
    recognizer, uses = recognizer_for(entry.architecture, arch, expert), _by_fewest(uses) if expert else uses
    if unjudged := _unnamed(statements):
        return WaitsReport((), entry.architecture.name, unjudged)
    pending = PendingHazards(uses, basic_blocks(listing), recognizer, beyond=1)
    symbols = sorted((at, name) for name, places in listing.labels.items() if _SYMBOL.match(name) for at in places)
    found = []
    for at, one in pending.waits(pending.ages({})):
        first, second = statements[one.first], statements[at]
        wait = recognizer.answer(uses[one.first], uses[at], one.between, one.expiry)
        part = next((name for place, name in reversed(symbols) if place <= at), "")
        lines = second.number, second.text, first.number, first.text
        found.append(RequiredWait(*lines, one.elapsed, max(0, one.missing), wait, part))
    return WaitsReport(tuple(found), entry.architecture.name)


def _missing_states(
    statements: tuple[Statement, ...],
    uses: list[RegisterUse],
    blocks: Sequence[Block],
    recognizer: HazardRecognizer,
    disputed: dict[str, str],
) -> Iterator[tuple[int, Finding]]:
    """The findings of wait states; of what is disputed a clause for each reason is entered instead."""
    pending = PendingHazards(uses, blocks, recognizer)
    ages = pending.ages({})
    violations = list(pending.violations(ages))
    repairs = _repairs(pending, ages) if violations else {}
    for at, violation in violations:
        found = _finding(statements, uses, recognizer, at, violation, repairs.get(at, Repair()))
        if why := violation.expiry.disputed:
            disputed.setdefault(why, f"line {found.line}, {found.sentence}: {why}")
        else:
            yield at, found
    if recognizer.forwarding:
        yield from _forwarded(statements, Forwarding(uses, blocks, recognizer.forwarding), repairs)


def _unnamed(statements: Sequence[Statement]) -> str:
    """Why registers of a listing are not known; "" if they are."""
    chosen = any(one.mnemonic == "s_set_vgpr_msb" for one in statements)
    named = any(one.written for one in statements)
    return "s_set_vgpr_msb chooses registers that the listing does not name" if chosen and not named else ""


def _expert(statements: Sequence[Statement]) -> bool:
    """Whether a listing sets the mode of expert scheduling, as every kernel of Triton 3.9 for gfx1250 does."""
    return any(
        one.mnemonic.startswith("s_setreg_") and _EXPERT.match(one.text) and one.operands[-1] not in ("0", "0x0")
        for one in statements
    )


def _by_fewest(uses: Sequence[RegisterUse]) -> list[RegisterUse]:
    """The same with the passes of the stepping where they are fewest; what was one object stays one."""
    found = {id(use): use._replace(passes=use.fewest) if use.fewest != use.passes else use for use in uses}
    return [found[id(use)] for use in uses]


def _uses(listing: Listing, entry: Entry) -> tuple[list[RegisterUse], tuple[int, int]]:
    """What every statement does, one object for all that read alike; how many are instructions, and matrix ones."""
    uses: list[RegisterUse] = []
    for at, (statement, first) in enumerate(zip(listing.statements, listing.alike)):
        if first < at:
            uses.append(uses[first])
            continue
        key = entry, statement.text, listing.resolved[at]
        uses.append(_known_uses.get(key, partial(_use_or_none, statement, entry)))
    counts = Counter(listing.alike).items()
    return uses, (
        sum(count for first, count in counts if uses[first].is_instruction),
        sum(count for first, count in counts if uses[first].is_matrix),
    )


KEPT = 1 << 15
"""Statements of which is kept what they do and what is wrong with them: an editor asks again after each keystroke."""
_known_uses = Cache(KEPT)
_known_faults = Cache(KEPT)


def _use_or_none(statement: Statement, entry: Entry) -> RegisterUse:
    try:
        return register_use(statement, entry)
    except Error:  # `invalid_lines` says what is wrong with it
        return UNREAD._replace(name=statement.mnemonic)


def _invalid(listing: Listing, arch: str) -> Iterator[tuple[int, Finding]]:
    for at, message in invalid_lines(listing, arch):
        one = listing.statements[at]
        yield at, Finding(one.number, one.text, 0, "", 0, 0, None, (), "invalid", message)


def _missing_waits(
    listing: Listing, blocks: Sequence[Block], compiled: str, expert: bool
) -> Iterator[tuple[int, Finding]]:
    scalars, copies = early_scalar_reads(listing, blocks, compiled), unwaited_copies(listing, blocks, compiled)
    for found in (*missing_waits(listing, blocks, compiled, expert), *scalars, *copies):
        one, first = listing.statements[found.at], listing.statements[found.access]
        waits = repaired(found.waits, compiled)
        yield (
            found.at,
            Finding(one.number, one.text, first.number, first.text, 0, 0, None, waits, "wait", found.message),
        )


def _stale(listing: Listing, blocks: Sequence[Block], compiled: str) -> Iterator[tuple[int, Finding]]:
    for at, writer in stale_vccz(listing, blocks, compiled):
        one, first = listing.statements[at], listing.statements[writer]
        yield at, Finding(one.number, one.text, first.number, first.text, 0, 0, None, (REPAIR,), "vccz", MESSAGE)


def _high_shifts(listing: Listing, compiled: str) -> Iterator[tuple[int, Finding]]:
    for at, number in high_shift_amounts(listing, _functions(listing), compiled):
        one = listing.statements[at]
        message = SHIFT_MESSAGE.format(amount=f"v{number}", next=f"v{number + 1}")
        yield at, Finding(one.number, one.text, 0, "", 0, 0, None, (), "shift amount", message)


def _lost_lanes(listing: Listing, blocks: Sequence[Block], compiled: str) -> Iterator[tuple[int, Finding]]:
    for found in lost_lanes(listing, blocks, compiled):
        one, other = listing.statements[found.at], listing.statements[found.other]
        first = (other.number, other.text) if found.other != found.at else (0, "")
        yield found.at, Finding(one.number, one.text, *first, 0, 0, None, (), "exec", found.message)


def _deallocated(listing: Listing, compiled: str) -> Iterator[tuple[int, Finding]]:
    for at in early_deallocations(listing, compiled):
        one = listing.statements[at]
        yield at, Finding(one.number, one.text, 0, "", 0, 0, None, (IDLE,), "wait", DEALLOCATION)


def _functions(listing: Listing) -> list[int]:
    """The statements at which a kernel begins behind another one: labels of symbols behind what ends a program."""
    places = sorted({at for name, found in listing.labels.items() if _SYMBOL.match(name) for at in found if at})
    return [at for at in places if "return" in flags_of(listing.statements[at - 1].mnemonic)]


def _unchecked(listing: Listing, assembles: bool, unfollowed: str, unjudged: str, counted: str) -> Iterator[str]:
    """What is not looked at, as clauses."""
    if not assembles:
        yield "operands of matrix instructions (the catalog names no encodings)"
    if unfollowed:
        yield f"waits for memory ({unfollowed})"
    if unjudged:
        yield f"wait states around matrix instructions ({unjudged})"
    names = {one.mnemonic for one in listing.statements}
    if any("by_m0" in flags_of(_SUFFIXES.sub("", name)) for name in names):
        yield "registers that M0 chooses"
    yield "bytes of LDS that waves share"
    if counted != "s_nop":
        texts = [one.text for one in listing.statements]
        for what in dict.fromkeys(found[0] for found in map(_UNFOLLOWED.search, texts) if found):
            yield f"what LLVM waits for around {what}"


def _reissued(text: str, arch: str) -> Iterator[str]:
    """What is not looked at where loads may be issued again, by the target that the text or the caller names: a load of
    a clause must not overwrite an address of the clause (LLVM 22.1.8, checkSoftClauseHazards)."""
    if _XNACK.search(arch) or _XNACK.search(text):
        yield "clauses of loads that may be issued again (XNACK)"


def _repairs(pending: PendingHazards, ages: Ages) -> dict[int, Repair]:
    """What to put in before statements, so that no violation is left.

    The first try judges each block as if nothing had been put in before it, so it puts in too much where a path passes
    several places. The second judges the blocks by what the first put in, which is too little where that falls away.
    The third adds what the second lacks; more never makes a violation.
    """
    most = pending.repairs(ages, {})
    fewer = pending.repairs(pending.ages(most), {})
    for at, missing in pending.repairs(pending.ages(fewer), fewer).items():
        fewer[at] = fewer.get(at, Repair()) + missing
    return fewer


def _forwarded(
    statements: tuple[Statement, ...], forwarding: Forwarding, repairs: dict[int, Repair]
) -> Iterator[tuple[int, Finding]]:
    """The findings about registers that are forwarded in wave64, where the others are repaired."""
    needed = {}
    for at, _ in forwarding.violations(repairs):
        needed[at] = repairs[at] = repairs.get(at, Repair()) + Repair(
            0, frozenset({forwarding.rule.expiry.instruction})
        )
    for at, violation in forwarding.violations({}):
        wait = forwarding.answer(at, violation)
        first, second = statements[violation.later], statements[at]
        missing = wait.states - violation.elapsed
        nops = wait.nops if at in needed else ()
        yield (
            at,
            Finding(second.number, second.text, first.number, first.text, violation.elapsed, missing, wait, nops),
        )


def _finding(
    statements: tuple[Statement, ...],
    uses: list[RegisterUse],
    recognizer: HazardRecognizer,
    at: int,
    violation: Violation,
    repair: Repair,
) -> Finding:
    first, second = statements[violation.first], statements[at]
    wait = recognizer.answer(uses[violation.first], uses[at], violation.between, violation.expiry)
    instruction = violation.expiry.instruction
    nops = nop_instructions(repair.states, recognizer.unit)
    return Finding(
        second.number,
        second.text,
        first.number,
        first.text,
        violation.elapsed,
        violation.missing,
        wait,
        (instruction,) * (instruction in repair.instructions) if instruction else nops,
    )


# --- lines that no assembler accepts ---

_OPEN = re.compile(r"\[(?=[^][]*\])[^][]*?(?<![\w.])[A-Za-z_.$@]|\\\w|[%$]\d", re.ASCII)
_SUFFIXES = re.compile(r"(_e64_dpp|_e32|_e64|_dpp|_sdwa)$")


def invalid_lines(listing: Listing, arch: str) -> Iterator[tuple[int, str]]:
    """The faults of the statements that no assembler accepts: (number of the statement, message).

    Args:
        listing: from `mmacalc.asm.reader`. arch: any name of an AMD architecture or target.
    """
    waves = target(arch).entry.architecture.waves
    by_wave = [dict(_wrong(listing, [target(arch, wave, llvm) for llvm in _versions(arch)])) for wave in waves]
    fewest = min(by_wave, key=lambda wrong: sum(first in wrong for first in listing.alike))
    for at, first in enumerate(listing.alike):
        for message in fewest.get(first, ()):
            yield at, message


@lru_cache(maxsize=256)
def _versions(arch: str) -> tuple[int, ...]:
    """The LLVM versions that know a target."""
    found = []
    for version in LLVM_VERSIONS:
        try:
            target(arch, None, version)
        except Error:
            continue
        found.append(version)
    return tuple(found)


def _wrong(listing: Listing, targets: list[Target]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The messages for targets of one wave size, by the first of the statements that read alike."""
    own = bool(listing.symbols or listing.macros)
    where = tuple([(one.name, one.wave, one.llvm) for one in targets])
    others: dict[str, tuple[str, ...] | None] = {}  # by name, what is wrong where the assembler is not asked
    for at, (statement, first) in enumerate(zip(listing.statements, listing.alike)):
        if first != at:
            continue
        text, name = listing.resolved[at], statement.mnemonic
        if name not in others:
            asked = is_matrix(name) or any(form_of(name, one) is not None for one in targets)
            others[name] = None if asked else _unknown(name, listing)
        found = others[name]
        if found is None and own:
            found = _faults(text, listing, targets)
        elif found is None:
            found = _known_faults.get((where, text), partial(_faults, text, listing, targets))
        if found:
            yield at, found


def _faults(text: str, listing: Listing, targets: list[Target]) -> tuple[str, ...]:
    if _OPEN.search(text):
        return ()
    found: tuple[str, ...] = ()
    for where in targets:
        wrong = problems(text, where, listing.symbols)
        if not wrong:
            return ()
        found = found or wrong
    return found


def _unknown(mnemonic: str, listing: Listing) -> tuple[str, ...]:
    """The message for a name that no target has; none where one has it, or it is a macro."""
    name = _SUFFIXES.sub("", mnemonic)
    if not name.startswith(AMD_MNEMONICS) or mnemonic in listing.macros or is_known(name):
        return ()
    return (f"unknown instruction '{mnemonic}'.{did_you_mean(name, instruction_names())}",)


# --- decoded code ---


class MissingStates(TupleRecord):
    """first, second: numbers of the two instructions; missing: how many wait states more are needed; wait: the rule."""

    first: int
    second: int
    missing: int
    wait: WaitStates


def missing_states(
    instructions: Sequence[DecodedInstruction], arch: str, expert: bool = False
) -> Iterator[MissingStates]:
    """The places where an instruction comes too early after another, in the order of the code.

    Args:
        instructions: from `mmacalc.asm.decoder.decode`. arch: the target. expert: in the mode of expert scheduling.

    Raises:
        Error: the rules have no number for a matrix instruction.
    """
    entry = entry_of(arch)
    recognizer, blocks = recognizer_for(entry.architecture, arch, expert), decoded_blocks(instructions)
    uses = [_use(one, entry) for one in instructions]
    uses = _by_fewest(uses) if expert else uses
    pending = PendingHazards(uses, blocks, recognizer)
    found = []
    for at, one in pending.violations(pending.ages({})):
        wait = recognizer.answer(uses[one.first], uses[at], one.between, one.expiry)
        found.append(MissingStates(one.first, at, one.missing, wait))
    if recognizer.forwarding:
        forwarding = Forwarding(uses, blocks, recognizer.forwarding)
        for at, later in forwarding.violations({}):
            wait = forwarding.answer(at, later)
            found.append(MissingStates(later.later, at, wait.states - later.elapsed, wait))
    return iter(sorted(found, key=lambda one: one.second))


def _use(instruction: DecodedInstruction, entry: Entry) -> RegisterUse:
    try:
        return decoded_use(instruction, entry)
    except Error:  # one that LLVM encodes and the architecture lacks
        return UNREAD._replace(name=instruction.name)
