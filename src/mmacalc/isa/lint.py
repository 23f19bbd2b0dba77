"""Find where a listing touches a matrix instruction's registers too early.

The listing is cut into basic blocks at labels and branches, and every path is followed: fall-through, both ways of a
conditional branch, and loops back to their head; where paths meet, the one that leaves the fewest states counts.

What is assumed: a branch whose target is not in the listing, and s_setpc, lead nowhere; s_swappc and s_call come back
at once; every instruction between two others gives one wait state and s_nop N gives N + 1 (as LLVM counts; where the
unit is v_nop only VALU instructions count); macros are not expanded; `.if` and `.rept` are read once, as written;
registers of names that the listing does not set are unknown and make no finding; nor does v_wmma_f64_16x16x4_f64,
whose wait states no source gives. Waiting for memory (s_waitcnt) and
hazards without a matrix or dot instruction are not looked at.
"""

from __future__ import annotations

from collections import namedtuple

from ..errors import Error
from .access import Access, access, entry_of
from .hazards import Judge, judge_of, nops
from .listing import Listing, read_listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .hazards import WaitStates

__all__ = ["Finding", "lint"]

BRANCHES = ("s_branch", "s_cbranch")
ENDS = ("s_branch", "s_endpgm", "s_setpc", "s_rfe")


class Finding(namedtuple("Finding", "line text first_line first_text given missing wait mend")):
    """One place that comes too early.

    line, text: the instruction that comes too early. first_line, first_text: the one that it must wait for.
    given: the wait states between the two on the shortest path; missing: how many more are needed. wait: the rule.
    mend: the nops to put before the line; empty where those of an earlier finding mend this one too.
    """

    __slots__ = ()
    line: int
    text: str
    first_line: int
    first_text: str
    given: int
    missing: int
    wait: WaitStates
    mend: tuple[str, ...]


class _Since(namedtuple("_Since", "given mended passed")):
    """What has passed since an instruction, at the least: wait states, wait states had the findings been mended,
    and the kinds of the instructions, of those that a rule asks for."""

    __slots__ = ()
    given: int
    mended: int
    passed: frozenset[str]

    def meet(self, other: _Since) -> _Since:
        """Both are possible."""
        return _Since(min(self.given, other.given), min(self.mended, other.mended), self.passed | other.passed)


def lint(text: str, arch: str) -> tuple[Finding, ...]:
    """Every place in a listing where a matrix instruction's result or source is touched too early.

    Args:
        text: assembly as compilers and llvm-objdump write it.
        arch: any name of an AMD architecture with matrix instructions.

    Raises:
        Error: unknown architecture, or a matrix instruction that it lacks; the message has the line.

    >>> [found] = lint('''
    ... v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]
    ... s_nop 1
    ... global_store_dwordx4 v[8:9], v[0:3], off''', "gfx942")
    >>> found.line, found.wait.states, found.missing, found.mend
    (4, 5, 3, ('s_nop 2',))
    """
    entry = entry_of(arch)
    listing = read_listing(text)
    accesses = []
    for statement in listing.statements:
        try:
            accesses.append(access(statement, entry, listing.symbols))
        except Error as error:
            raise Error(f"line {statement.number}: {error}") from None
    return _Walk(listing, accesses, judge_of(entry.architecture.name)).findings()


class _Walk:
    """One listing, its paths followed until nothing new is found."""

    def __init__(self, listing: Listing, accesses: list[Access], judge: Judge) -> None:
        self.listing, self.accesses, self.judge = listing, accesses, judge
        self.following = _flow(listing)
        self.starts = _starts(listing, self.following)
        self.begins = [judge.begins(one.kinds) for one in accesses]
        self.worst: dict[int, tuple[int, int, int, int, frozenset[str]]] = {}

    def findings(self) -> tuple[Finding, ...]:
        """The findings, in the order of the lines."""
        entering: dict[int, dict[int, _Since]] = {0: {}} if self.accesses else {}
        work = [start for start in self.starts if start < len(self.accesses)]
        entering.update((start, {}) for start in work)
        while work:
            start = work.pop(0)
            leaving, following = self._block(start, entering[start])
            for place in following:
                if _merge(entering[place], leaving) and place not in work:
                    work.append(place)
        return tuple(self._finding(at) for at in sorted(self.worst))

    def _block(self, at: int, entering: dict[int, _Since]) -> tuple[dict[int, _Since], tuple[int, ...]]:
        """Walk one block; what is still to be waited for at its end, and the blocks that follow it."""
        since = dict(entering)
        while True:
            since = self._step(at, since)
            following = self.following[at]
            at += 1
            if following != (at,) or at in self.starts:
                return since, tuple(place for place in following if place < len(self.accesses))

    def _step(self, at: int, since: dict[int, _Since]) -> dict[int, _Since]:
        """Check one instruction against all that it may have to wait for, and let it pass."""
        one, worst, mend = self.accesses[at], None, 0
        for first, passed in since.items():
            states = self.judge.states(self.accesses[first], one, passed.passed)
            mend = max(mend, states - passed.mended)
            missing = states - passed.given
            if missing > 0 and (worst is None or missing > worst[1]):
                worst = (first, missing, passed.given, 0, passed.passed)
        if worst:
            self.worst[at] = (*worst[:3], mend, worst[4])
        step, kinds, most = self.judge.passing(one), one.kinds & self.judge.watched, self.judge.most
        result = {
            first: _Since(passed.given + step, passed.mended + mend + step, passed.passed | kinds)
            for first, passed in since.items()
            if passed.given + step < most
        }
        if self.begins[at]:
            result[at] = _Since(0, 0, frozenset())
        return result

    def _finding(self, at: int) -> Finding:
        first, missing, given, mend, passed = self.worst[at]
        wait = self.judge.judge(self.accesses[first], self.accesses[at], passed)
        late, early = self.listing.statements[at], self.listing.statements[first]
        return Finding(
            late.number, late.text, early.number, early.text, given, missing, wait, nops(mend, self.judge.unit)
        )


def _merge(into: dict[int, _Since], leaving: dict[int, _Since]) -> bool:
    """Join what comes from another path; whether anything is new."""
    new = False
    for first, passed in leaving.items():
        joined = passed.meet(into[first]) if first in into else passed
        if into.get(first) != joined:
            into[first], new = joined, True
    return new


def _flow(listing: Listing) -> list[tuple[int, ...]]:
    """For every statement, the statements that can come next."""
    addresses = {place: address for address, place in listing.addresses.items()}
    flow: list[tuple[int, ...]] = []
    for at, statement in enumerate(listing.statements):
        following: tuple[int, ...] = () if statement.mnemonic.startswith(ENDS) else (at + 1,)
        if statement.mnemonic.startswith(BRANCHES) and statement.operands:
            following += _target(listing, at, statement.operands[-1], addresses.get(at))
        flow.append(following)
    return flow


def _starts(listing: Listing, flow: list[tuple[int, ...]]) -> frozenset[int]:
    """Where basic blocks start: at the first statement, at labels, where branches lead and after them; and the end."""
    starts = {0, len(flow), *(place for places in listing.labels.values() for place in places)}
    for at, following in enumerate(flow):
        if following != (at + 1,):
            starts.update((*following, at + 1))
    return frozenset(starts)


def _target(listing: Listing, at: int, name: str, address: int | None) -> tuple[int, ...]:
    """Where a branch leads: a label, `1f` and `1b`, or an offset in words where the listing has addresses."""
    if name in listing.labels:
        return listing.labels[name][:1]
    if name[:-1] in listing.labels and name[-1] in "bf":
        places = listing.labels[name[:-1]]
        return tuple(p for p in places if p > at)[:1] if name[-1] == "f" else tuple(p for p in places if p <= at)[-1:]
    if address is None or not name.isdigit():
        return ()
    offset = (int(name) ^ 0x8000) - 0x8000  # a signed 16-bit number of words after the branch itself
    place = listing.addresses.get(address + 4 + 4 * offset)
    return () if place is None else (place,)
