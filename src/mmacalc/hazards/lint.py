"""Find where a listing violates a wait that registers require, and lines that no assembler accepts.

The listing is cut into basic blocks at branches and their targets, and every path is followed: fall-through, both ways
of a conditional branch, and loops back to their head; where paths meet, the one that leaves the fewest states counts.

What is assumed: a branch whose target is not in the listing, and s_setpc, lead nowhere; s_swappc and s_call come back
at once; every instruction between two others gives one wait state and s_nop N gives N + 1 (as LLVM counts; where the
unit is v_nop only VALU instructions count); macros are not expanded and give none; `.if` and `.rept` are read once, as
written; registers of names that the listing does not set are unknown and make no finding, and s_waitcnt_depctr with
such a name is taken to wait for everything; nor does v_wmma_f64_16x16x4_f64 make one, whose wait states no source
gives. Where the listing sets gfx12's mode of expert scheduling, or chooses registers above v255 that it does not name,
wait states are not judged, and `unchecked` says so. Waits for memory are those of `memory_waits`, wrong lines those of
`invalid_lines`. Not looked at are the bytes of LDS that waves share, and hazards without a matrix or dot instruction,
except before gfx10 those before DPP, v_readlane and its like, v_div_fmas, reads of SGPRs that VALU instructions wrote,
and v_permlane16_swap and v_permlane32_swap, and on gfx11 and gfx12 those of transcendental results (gfx1100 to
gfx1103), of registers written around a write of EXEC (gfx11 in wave64, which is known by scalar instructions that write
exec, not exec_lo) and of lds_direct_load.
"""

from __future__ import annotations

import re
from collections import Counter

from ..asm.reader import read_listing
from ..asm.targets import agreed, target
from ..checks import arguments_checked
from ..errors import Error
from ..records import TupleRecord
from .control_flow import basic_blocks
from .forwarding import Forwarding
from .invalid_lines import invalid_lines
from .memory_waits import TooManyPaths, has_counters, missing_waits, repaired
from .pending import PendingHazards
from .recognizer import nop_instructions, recognizer_for
from .register_use import UNREAD, entry_of, register_use
from .violations import Repair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..asm.reader import Listing, Statement
    from ..catalog import Entry
    from .ages import Ages
    from .control_flow import Block
    from .recognizer import HazardRecognizer, WaitStates
    from .register_use import RegisterUse
    from .violations import Violation

__all__ = ["Finding", "LintReport", "RequiredWait", "WaitsReport", "lint", "required_waits"]

_SYMBOL = re.compile(r"(?!(?:[.$]|L\d|\d))")  # a label that is no jump target within a function
_EXPERT = re.compile(r"\S+\s+hwreg\(\s*(?:HW_REG_WAVE_SCHED_MODE|26)\b")


class Finding(TupleRecord):
    """One violation.

    kind: "wait states"; "wait", a missing wait for memory; "invalid", a line that no assembler accepts.
    line, text: the line; where it comes too early, first_line, first_text: the instruction that it must wait for, 0 and
    "" of others. elapsed: the wait states between the two on the shortest path; missing: how many more are needed;
    wait: the rule; 0, 0 and None of other kinds. nops: the instructions to put before the line (s_nop, v_nop,
    s_waitcnt_depctr, s_waitcnt ...); empty where those of other findings are enough.
    message: what is wrong, in words; of an invalid line with several faults each is a finding.
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
    arch = agreed(arch, listing.targets, "the listing")
    entry = entry_of(arch)
    uses, counts = _uses(listing, entry)
    statements = listing.statements
    if not counts[0]:
        raise Error("the text has no AMD instruction: none of its lines begins with v_, s_, ds_, buffer_, global_ ...")
    recognizer, blocks = recognizer_for(entry.architecture, arch), basic_blocks(listing)
    unnamed = _unnamed(statements)
    unjudged = unnamed or _expert(statements)
    findings = [] if unjudged else list(_missing_states(statements, uses, blocks, recognizer))
    assembles = bool(entry.architecture.assembly)
    if assembles:
        findings += _invalid(listing, arch)
    unfollowed = unnamed or "the target's counters are not known"
    if assembles and not unnamed and has_counters(compiled := target(arch).name):
        try:
            findings += list(_missing_waits(listing, blocks, compiled))
            unfollowed = ""
        except TooManyPaths:
            unfollowed = "too many accesses are outstanding on too many paths"
    ordered = sorted(findings, key=lambda found: found[0])
    return LintReport(
        tuple(finding for _, finding in ordered),
        entry.architecture.name,
        *counts,
        tuple(_unchecked(listing, assembles, unfollowed, unjudged, recognizer.unit)),
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


class WaitsReport(TupleRecord):
    """The waits between the instructions of a listing, the architecture's canonical name, and why they are not known
    ("" if they are)."""

    waits: tuple[RequiredWait, ...]
    architecture: str
    unjudged: str = ""


@arguments_checked
def required_waits(text: str, arch: str | None = None) -> WaitsReport:
    """Which instructions of a listing need wait states after an earlier one, how many, and how many there are.

    Of several that an instruction must wait for the tightest is given; pairs that are far enough apart by more than the
    longest rule are left out.

    Args:
        text, arch: as for `lint`.

    Raises:
        Error: as `lint`.

    >>> [wait] = required_waits('''
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
        raise Error("the text has no AMD instruction: none of its lines begins with v_, s_, ds_, buffer_, global_ ...")
    recognizer = recognizer_for(entry.architecture, arch)
    if unjudged := _unnamed(statements) or _expert(statements):
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
    statements: tuple[Statement, ...], uses: list[RegisterUse], blocks: Sequence[Block], recognizer: HazardRecognizer
) -> Iterator[tuple[int, Finding]]:
    pending = PendingHazards(uses, blocks, recognizer)
    ages = pending.ages({})
    violations = list(pending.violations(ages))
    repairs = _repairs(pending, ages) if violations else {}
    for at, violation in violations:
        yield at, _finding(statements, uses, recognizer, at, violation, repairs.get(at, Repair()))
    if recognizer.forwarding:
        yield from _forwarded(statements, Forwarding(uses, blocks, recognizer.forwarding), repairs)


def _unnamed(statements: Sequence[Statement]) -> str:
    """Why registers of a listing are not known; "" if they are."""
    chosen = any(one.mnemonic == "s_set_vgpr_msb" for one in statements)
    named = any(one.written for one in statements)
    return "s_set_vgpr_msb chooses registers that the listing does not name" if chosen and not named else ""


def _expert(statements: Sequence[Statement]) -> str:
    """Why the rules for wait states do not hold, "" if they do: LLVM leaves them out in the mode of expert scheduling,
    which Triton 3.9 sets in every kernel for gfx1250."""
    for one in statements:
        if one.mnemonic.startswith("s_setreg_") and _EXPERT.match(one.text) and one.operands[-1] not in ("0", "0x0"):
            return f"line {one.number} sets the mode of expert scheduling, for which no rules are published"
    return ""


def _uses(listing: Listing, entry: Entry) -> tuple[list[RegisterUse], tuple[int, int]]:
    """What every statement does, one object for all that read alike; how many are instructions, and matrix ones."""
    uses: list[RegisterUse] = []
    for at, (statement, first) in enumerate(zip(listing.statements, listing.alike)):
        if first < at:
            uses.append(uses[first])
            continue
        try:
            uses.append(register_use(statement, entry))
        except Error:  # `invalid_lines` says what is wrong with it
            uses.append(UNREAD._replace(name=statement.mnemonic))
    counts = Counter(listing.alike).items()
    return uses, (
        sum(count for first, count in counts if uses[first].is_instruction),
        sum(count for first, count in counts if uses[first].is_matrix),
    )


def _invalid(listing: Listing, arch: str) -> Iterator[tuple[int, Finding]]:
    for at, message in invalid_lines(listing, arch):
        one = listing.statements[at]
        yield at, Finding(one.number, one.text, 0, "", 0, 0, None, (), "invalid", message)


def _missing_waits(listing: Listing, blocks: Sequence[Block], compiled: str) -> Iterator[tuple[int, Finding]]:
    for found in missing_waits(listing, blocks, compiled):
        one, first = listing.statements[found.at], listing.statements[found.access]
        waits = repaired(found.waits, compiled)
        yield (
            found.at,
            Finding(one.number, one.text, first.number, first.text, 0, 0, None, waits, "wait", found.message),
        )


def _unchecked(listing: Listing, assembles: bool, unfollowed: str, unjudged: str, counted: str) -> Iterator[str]:
    """What is not looked at, as clauses."""
    if not assembles:
        yield "operands of matrix instructions (the catalog names no encodings)"
    if unfollowed:
        yield f"waits for memory ({unfollowed})"
    if unjudged:
        yield f"wait states around matrix instructions ({unjudged})"
    names = {one.mnemonic for one in listing.statements}
    if any(name.startswith(("s_set_gpr_idx_on", "v_movrel", "s_movrel")) for name in names):
        yield "registers that M0 chooses"
    yield "bytes of LDS that waves share"
    of_results = "of s_setreg, M0 and the data of stores" if counted == "s_nop" else "without a matrix instruction"
    yield f"wait states {of_results}"


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
