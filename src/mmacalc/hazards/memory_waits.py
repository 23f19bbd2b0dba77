"""Missing waits for memory: registers that are touched while an access that writes or reads them may be outstanding.

Every path through the basic blocks is followed. On a path an outstanding access has an age, how many accesses of its
sequence are younger (see `memory_counters`): a wait for n ends those of age n and more. Where paths meet, the youngest
age counts, so a wait must be enough on all of them.

Sets of accesses are the bits of integers: of every sequence a list of sets, by age. Accesses that do the same to the
same registers share a bit, so that their number is bounded by the registers, not by the listing; only those of which
one is touched too early are then followed one by one. On gfx1250 each has a bit of its own, since which of them are
translated depends on their ages beside one another.

What is watched: registers that loads write; what exports read, which may not be overwritten before; and on gfx1250
what any access reads until its address is translated (XCNT). What is not: bytes of LDS and of memory. Assumed: calls
come back with nothing outstanding, and a kernel begins so.

In gfx12's mode of expert scheduling the hardware keeps vector registers in order no more between the VALU and accesses:
an access may touch what the VALU writes, and overwrite what it reads, only after a wait for va_vdst; and what
overwrites registers that an access reads comes after a wait for vm_vsrc (s_wait_alu). The rules are those by which LLVM
22 inserts these waits (SIInsertWaitcnts with -amdgpu-expert-scheduling-mode) and LLVM 24 (in Triton 3.9), which alone
waits for what the VALU reads (pull request 201619): every VALU instruction counts in va_vdst, a scaled WMMA twice,
every access in vm_vsrc; transcendental instructions end apart from others, and so do accesses of LDS, of buffers and of
other memory. Three things are not demanded that LLVM 22 writes: WMMAs and f64 products, divisions and roundings end
apart from others there too; a wait for the access itself is enough here, since it has read its registers then; and one
of 15 or more instructions before is taken to have ended (7 accesses).
"""

from __future__ import annotations

from functools import partial
from itertools import zip_longest

from ..asm.reader import read_listing
from ..asm.tables import flags_of
from ..base.records import Cache, TupleRecord
from .memory_counters import DEPENDENCY, MOST, counters_of, sequence_of, wait_text, waits_of_statement
from .pending import bits_of
from .register_use import bare
from .touched import EXEC, may_access, register_names, tables_of, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..asm.blocks import Block
    from ..asm.reader import Listing, Statement
    from .touched import Touched

    Stream = tuple[str, str | None]  # a counter, and a sequence of it or what ends in any order
    Levels = list[int]  # the accesses of a stream by their age; of those that end in any order only the first
    State = list[Levels]  # of every stream
    Hits = list[tuple[int, int, int]]  # stream, age, accesses

__all__ = ["MemoryWait", "TooManyPaths", "has_counters", "missing_result_waits", "missing_waits", "repaired"]

XCNT = "xcnt"
VDST, VSRC = DEPENDENCY
_ACCESSES = {"lds": "lds", "gds": "lds", "buffer": "buffer"}
"""Accesses that read their registers in the order of their own, by kind or unit; others are all of one order."""
_VECTORS = 2 * 2048
"""The numbers of vector registers and accumulators are below (see `touched`)."""
_UNTRANSLATED = ("lds", "gds", "async", "tensor", "export", "direct", "message")
"""Accesses that XCNT does not count."""


_CACHES = frozenset(("invalidate", "write_back", "prefetch"))
"""Flags of what moves no data of the program: nothing is translated."""


EFFORT, LEAST_EFFORT = 40, 2_000_000
"""How many outstanding accesses may enter basic blocks, on all paths: for each statement of a listing (a compiler's
listings need 1 to 5), and of a short listing."""


class TooManyPaths(Exception):  # noqa: N818 (not the user's error)
    """Following all outstanding accesses over all paths takes too long."""


class MemoryWait(TupleRecord):
    """A missing wait: the statement that comes too early, the access that it must wait for, the sentence that says so,
    and the waits that are enough there, by counter."""

    at: int
    access: int
    message: str
    waits: tuple[tuple[str, int], ...]


class _Step(TupleRecord):
    """A statement that is an access or, in expert scheduling, of the VALU, that waits, or that calls: its waits, the
    streams that it raises, whether it drains XCNT, and whether it calls."""

    waits: dict[str, int]
    raises: tuple[Stream, ...]
    drains: bool
    calls: bool


_PLAIN = _Step({}, (), False, False)


def missing_waits(listing: Listing, blocks: Sequence[Block], target: str, expert: bool = False) -> Iterator[MemoryWait]:
    """Every statement that comes too early, with each access that it must wait for, in the order of the listing.

    Args:
        listing, blocks: from `mmacalc.asm.reader` and `pending`. target: the compiler target, such as "gfx942". expert:
            whether the mode of expert scheduling is set.

    Raises:
        TooManyPaths: following them all takes too long.
    """
    program = _Program(listing, target, expert)
    together = program.grouped()
    paths = _Paths(program, blocks, together)
    hits = paths.hits()
    early = 0
    for _, found in hits:
        for _, _, accesses in found:
            early |= accesses
    apart = [at for at, number in together.items() if early >> number & 1]
    if len(apart) > early.bit_count():
        paths = _Paths(program, blocks, {at: number for number, at in enumerate(apart)})
        hits = paths.hits()
    for at, found in hits:
        yield from paths.answers(at, found)


def missing_result_waits(texts: Sequence[str], blocks: Sequence[Block], target: str) -> list[MemoryWait]:
    """The instructions that lack s_wait_alu in code for the mode of expert scheduling, in its order.

    Args:
        texts, blocks: the instructions as the disassembler prints them, and their blocks. target: the compiler target,
            such as "gfx1250".

    Raises:
        TooManyPaths: following all paths takes too long.
    """
    found = missing_waits(read_listing("\n".join(texts)), blocks, target, expert=True)
    return [one for one in found if any(counter in DEPENDENCY for counter, _ in one.waits)]


def repaired(waits: Iterable[tuple[str, int]], target: str) -> tuple[str, ...]:
    """The instructions that wait.

    >>> repaired([("vmcnt", 0)], "gfx942")
    ('s_waitcnt vmcnt(0)',)
    """
    return wait_text(dict(waits), _generation(target))


def has_counters(target: str) -> bool:
    """Whether the counters of a target are known.

    >>> has_counters("gfx942"), has_counters("gfx1030")
    (True, False)
    """
    return target.startswith(tuple(MOST))


def _generation(target: str) -> str:
    return next(name for name in MOST if target.startswith(name))


_known = Cache(1 << 15)  # as `mmacalc.hazards.lint` keeps what statements do


class _Program:
    """The statements of a listing as waits see them."""

    def __init__(self, listing: Listing, target: str, expert: bool) -> None:
        self._listing, self._tables, self.expert = listing, tables_of(target), expert
        self.generation, self.translates = _generation(target), target.startswith("gfx125")
        steps = {at: self._step(listing.statements[at]) for at in dict.fromkeys(listing.alike)}
        self.steps = [steps[first] for first in listing.alike]
        self.effort = max(EFFORT * len(self.steps), LEAST_EFFORT)

    def alike(self, at: int) -> int:
        """The first statement that reads as this one."""
        return self._listing.alike[at]

    def touched(self, at: int) -> Touched:
        """What a statement does to registers."""
        return self._touched(self._listing.statements[at])

    def _touched(self, one: Statement) -> Touched:
        found: Touched = _known.get((self._tables, one.text, one.operands), partial(touched, one, self._tables))
        return found

    def _step(self, statement: Statement) -> _Step:
        waits, flags = waits_of_statement(statement, self.generation), flags_of(bare(statement.mnemonic))
        access = kind = self._touched(statement).kind if may_access(statement.mnemonic, self._tables) else ""
        raises: list[Stream] = []
        if kind:
            kind = "load" if kind == "memory" else kind
            known = {"async": "load", "tensor": "load"} if self.generation != "gfx12" else {}
            kind = known.get(kind, kind)
            raises = [(counter, sequence_of(kind, self.generation)) for counter in counters_of(kind, self.generation)]
            if self.translates and kind not in _UNTRANSLATED and _CACHES.isdisjoint(flags):
                raises.append((XCNT, None if kind == "scalar" else ""))
        if self.expert:
            raises += _dependency(statement.mnemonic, access, flags)
        drains, calls = "waits_xcnt" in flags, "call" in flags
        return _Step(waits, tuple(raises), drains, calls) if waits or raises or drains or calls else _PLAIN

    def grouped(self) -> dict[int, int]:
        """Of each access that something must wait for, the number of those that do the same to the same registers."""
        numbers: dict[object, int] = {}
        found = {}
        for at, step in enumerate(self.steps):
            if step.raises and (self.held(at) or self.touched(at).writes):
                alone = self.translates or len(step.raises) > 1
                key = at if alone else (step.raises, self.held(at), self.touched(at).writes)
                found[at] = numbers.setdefault(key, len(numbers))
        return found

    def held(self, at: int) -> frozenset[int]:
        """What an access reads later than when it is issued."""
        raises = self.steps[at].raises
        if (XCNT, "") in raises:
            return self.touched(at).reads | EXEC
        if raises[0][0] == VDST:
            return _vectors(self.touched(at).reads)
        late = (
            (XCNT, None) in raises
            or raises[-1][0] == VSRC
            or (raises[0][0] == "expcnt" and self.touched(at).kind != "direct")
        )
        return self.touched(at).reads if late else _NONE


_NONE = frozenset[int]()


def _dependency(name: str, kind: str, flags: frozenset[str]) -> list[Stream]:
    """What an instruction raises of the counters of s_wait_alu. kind: of its access, "" if it is none."""
    vector = kind not in ("", "scalar", "message", "tensor", "export", "direct")
    if vector and _CACHES.isdisjoint(flags):
        unit = "buffer" if "mubuf" in flags else kind
        return [(VSRC, _ACCESSES.get(unit, "memory"))]
    if kind or not name.startswith("v_"):
        return []
    counts = 2 if name.startswith("v_wmma_scale") else 1  # it is two instructions: the scales are loaded first
    return [(VDST, "trans" if "trans" in flags else "")] * counts


class _Paths:
    """The outstanding accesses at the start of every block, on the worst path.

    Args:
        program, blocks: the listing. followed: by statement, the bits of the accesses that are followed.

    Raises:
        TooManyPaths: following them takes too long.
    """

    def __init__(self, program: _Program, blocks: Sequence[Block], followed: Mapping[int, int]) -> None:
        self._program, self._blocks, self._followed = program, blocks, followed
        self._effort = program.effort
        streams = dict.fromkeys([stream for at in followed for stream in program.steps[at].raises])
        self._streams: list[Stream] = list(streams)
        self._numbers = {stream: number for number, stream in enumerate(streams)}
        most = MOST[program.generation]
        self._most = [most[counter] for counter, _ in streams]
        self._access: dict[int, int] = {}  # of every bit, the first access
        self._writing: dict[int, int] = {}  # register -> the accesses that write it
        self._holding: dict[int, int] = {}  # register -> the accesses that read it late
        self._clobbered: dict[int, int] = {}  # register -> the instructions of the VALU that touch it
        self._apart: dict[int, tuple[int, int]] = {}  # of those that end apart, the bits of what they write and read
        behind = max(followed.values(), default=0) + 1
        for at, number in followed.items():
            if self._access.setdefault(number, at) == at:
                written = read = number
                if (VDST, "trans") in program.steps[at].raises:
                    written, read = self._apart[number] = behind + 2 * number, behind + 2 * number + 1
                    self._access |= {written: at, read: at}
                _enter(self._writing, program.touched(at).writes, 1 << number)
                _enter(self._holding, program.held(at), 1 << read)
                _enter(self._clobbered, program.touched(at).writes, 1 << written)
                _enter(self._clobbered, program.held(at), 1 << read)
        self._touching: dict[int, tuple[int, int, int]] = {}
        self._touching_vectors: dict[int, tuple[int, int]] = {}
        self._over: dict[int, int] = {}
        self._runs: dict[int, list[tuple[int, int, int]]] = {}
        self._entering = self._solved()

    def _solved(self) -> list[State]:
        blocks = self._blocks
        entering: list[State] = [[[] for _ in self._streams] for _ in blocks]
        waiting: Iterable[int] = range(len(blocks)) if self._streams else ()
        while waiting:
            ready = sorted(waiting)
            ahead = set(ready)
            waiting = set()
            for number in ready:
                ahead.discard(number)
                state = [[*levels] for levels in entering[number]]
                self._effort -= sum(bits.bit_count() for levels in state for bits in levels)
                if self._effort < 0:
                    raise TooManyPaths
                self._carry(blocks[number], state)
                for following in blocks[number].following:
                    merged = [_merged(*both) for both in zip(entering[following], state)]
                    if merged != entering[following]:
                        entering[following] = merged
                        if following not in ahead:
                            waiting.add(following)
        return entering

    def hits(self) -> list[tuple[int, Hits]]:
        """The statements that come too early, each with the accesses that it must wait for."""
        found: list[tuple[int, Hits]] = []
        for block, entering in zip(self._blocks, self._entering if self._streams else ()):
            found += self._walk(range(block.start, block.end), [[*levels] for levels in entering])
        return found

    def _carry(self, block: Block, state: State) -> None:
        """From the accesses outstanding at the start of a block to those at its end, as `_walk`: what does nothing but
        touch registers, in one step."""
        if block.start not in self._runs:
            self._runs[block.start] = [*self._runs_of(block)]
        for data, overwrites, at in self._runs[block.start]:
            if (data or overwrites) and any(state):
                ended = 0
                for (counter, _), levels in zip(self._streams, state):
                    if counter in DEPENDENCY:
                        continue  # of the VALU and of accesses, which are no such statements
                    mask = overwrites if counter == XCNT else data | overwrites if counter == "expcnt" else data
                    for accesses in levels:
                        ended |= accesses & mask
                for levels in state if ended else ():
                    _end(levels, ended)
            for _ in self._walk(range(at, min(at + 1, block.end)), state):
                pass

    def _runs_of(self, block: Block) -> Iterator[tuple[int, int, int]]:
        """For each statement that does more than touch registers, and for the end, the accesses whose registers are
        touched before it, and those of which is overwritten what they read late."""
        data = overwritten = 0
        for at in range(block.start, block.end):
            if self._program.steps[at] is not _PLAIN:
                yield data, overwritten, at
                data = overwritten = 0
            else:
                reads, writes, overwrites = self._masks(at)
                data, overwritten = data | reads | writes, overwritten | overwrites
        yield data, overwritten, block.end

    def _walk(self, places: range, state: State) -> Iterator[tuple[int, Hits]]:
        """The statements that come too early. state: of the accesses outstanding before them; at the end, those after
        them. An access whose wait is missing counts as ended from there on."""
        steps = self._program.steps
        for at in places:
            step = steps[at]
            if any(state):
                if step is not _PLAIN:
                    self._pass(step, state)
                if hits := self._touched(at, step, state):
                    yield at, hits
            if step.raises:
                self._issue(at, step, state)

    def _pass(self, step: _Step, state: State) -> None:
        """What ends when a statement is issued."""
        if step.waits:
            self._wait(state, step.waits)
        own = [sequence for counter, sequence in step.raises if counter == XCNT]
        for number, (counter, sequence) in enumerate(self._streams):
            # Between scalar and vector accesses the hardware waits for all translations.
            drains = counter == XCNT and (step.drains or bool(own and sequence != own[0]))
            if drains or step.calls:
                state[number] = []

    def _wait(self, state: State, waits: Mapping[str, int]) -> None:
        ended = 0
        for number, (counter, sequence) in enumerate(self._streams):
            most = waits.get(counter)
            if most == 0 or (most is not None and sequence is not None):
                if counter != XCNT and counter not in DEPENDENCY:
                    for accesses in state[number][most:]:
                        ended |= accesses
                del state[number][most:]
                _trim(state[number])
        if ended:
            self._translated(state, ended)

    def _issue(self, at: int, step: _Step, state: State) -> None:
        """The others of its sequences are older now; one that would overflow the counter has ended."""
        number = self._followed.get(at, -1)
        bit = 0 if number < 0 else 1 << number
        bit |= sum(1 << one for one in self._apart.get(number, ()))
        if (VDST in (counter for counter, _ in step.raises)) and (over := self._overwritten(at)):
            for (counter, _), levels in zip(self._streams, state):
                if counter == VDST:
                    _end(levels, over)
        for stream in step.raises:
            which = self._numbers.get(stream, -1)
            levels = state[which] if which >= 0 else []
            if levels and stream[1] is not None:
                levels.insert(0, 0)
                del levels[self._most[which] :]
            if bit:
                levels[:] = [accesses & ~bit for accesses in levels] or [0]
                levels[0] |= bit
            _trim(levels)

    def _overwritten(self, at: int) -> int:
        """The VALU instructions that end before this one does: those of which it overwrites all results; and of those
        that end apart from others what an access may not overwrite, if this one touches it, too. Who waits for this one
        has waited for them (LLVM keeps of each register the last instruction that touches it)."""
        first = self._program.alike(at)
        if first not in self._over:
            touched = self._program.touched(first)
            writes, touches = _vectors(touched.writes), _vectors(touched.writes | touched.reads)
            kinds = {bit: kind for bits in self._apart.values() for kind, bit in enumerate(bits)}
            found = 0
            for number in bits_of(_of(self._writing, writes) | _of(self._clobbered, touches)):
                access = self._access[number]
                its = self._program.held(access) if kinds.get(number) else self._program.touched(access).writes
                if self._raises_vdst(number) and _vectors(its) <= (touches if number in kinds else writes):
                    found |= 1 << number
            self._over[first] = found
        return self._over[first]

    def _raises_vdst(self, number: int) -> bool:
        return any(counter == VDST for counter, _ in self._program.steps[self._access[number]].raises)

    # --- XCNT: see kernels/amd/translations.py for the rules and their sources ---

    def _translated(self, state: State, ended: int) -> None:
        """An access that has ended has read its registers and is translated, and so are the vector accesses before
        it."""
        for number, (counter, sequence) in enumerate(self._streams):
            if counter == VSRC or (counter == XCNT and sequence is None):
                _end(state[number], ended)
            elif counter == XCNT:
                _end_older(state[number], ended)

    # --- findings ---

    def _touched(self, at: int, step: _Step, state: State) -> Hits:
        """The accesses that a statement touches too early, which end."""
        reads, writes, overwrites = self._masks(at)
        results, sources = self._vector_masks(at, step) if self._program.expert else (0, 0)
        if not reads | writes | overwrites | results | sources:
            return []
        hits, ended = [], 0
        for number, (stream, levels) in enumerate(zip(self._streams, state)):
            counter, sequence = stream
            if counter == XCNT and (XCNT, "") in step.raises:  # a vector access waits itself
                _end_older(levels, overwrites)
                continue
            mask = overwrites if counter in (XCNT, "expcnt") else 0
            if counter in DEPENDENCY:
                mask = results if counter == VDST else sources
            elif counter != XCNT:
                # Loads of one sequence write in order.
                mask |= reads if sequence is not None and stream in step.raises else reads | writes
            for age, accesses in enumerate(levels):
                if early := accesses & mask:
                    hits.append((number, age, early))
                    ended |= early
        for levels in state if ended else ():
            _end(levels, ended)
        return hits

    def _masks(self, at: int) -> tuple[int, int, int]:
        """The accesses of which a statement reads and writes what they write, and writes what they read late."""
        first = self._program.alike(at)
        if first not in self._touching:
            touched = self._program.touched(first)
            self._touching[first] = (
                _of(self._writing, touched.reads), _of(self._writing, touched.writes),
                _of(self._holding, touched.writes),
            )  # fmt: skip
        return self._touching[first]

    def _vector_masks(self, at: int, step: _Step) -> tuple[int, int]:
        """Of an access, the VALU instructions that write what it touches or read what it writes; and the accesses that
        read what a statement writes: vector registers alone."""
        first = self._program.alike(at)
        if first not in self._touching_vectors:
            touched = self._program.touched(first)
            reads, writes = ([one for one in own if one < _VECTORS] for own in (touched.reads, touched.writes))
            accesses = step.raises and step.raises[-1][0] == VSRC
            held = _of(self._holding, writes)
            results = _of(self._writing, reads) | _of(self._clobbered, writes) if accesses else 0
            self._touching_vectors[first] = results, held
        return self._touching_vectors[first]

    def answers(self, at: int, hits: Hits) -> Iterator[MemoryWait]:
        """The missing waits of a statement, in the order of the accesses."""
        found: dict[int, dict[Stream, int]] = {}
        for number, age, accesses in hits:
            for bit in bits_of(accesses):
                found.setdefault(self._access[bit], {})[self._streams[number]] = age
        for access in sorted(found):
            ages = found[access]
            waits = [(stream[0], ages[stream]) for stream in self._program.steps[access].raises if stream in ages]
            waits.sort(key=lambda one: one[0] not in DEPENDENCY)
            message = self._sentence(at, access, waits[0][0])
            counters = " and ".join(counter for counter, _ in waits)
            yield MemoryWait(at, access, f"{message}: no sufficient wait for {counters} before it", tuple(waits))

    def _sentence(self, at: int, access: int, counter: str) -> str:
        """What a statement does to registers of an outstanding access."""
        own, its, held = self._program.touched(at), self._program.touched(access), self._program.held(access)
        if counter == VSRC:
            return f"overwrites {register_names(_vectors(own.writes & held))}, which an access may not have read yet"
        if counter == VDST and not _vectors((own.reads | own.writes) & its.writes):
            return f"overwrites {register_names(_vectors(own.writes & held))}, which a VALU instruction may read later"
        if counter == VDST:
            verb, found = ("reads", own.reads) if _vectors(own.reads & its.writes) else ("writes", own.writes)
            names = register_names(_vectors(found & its.writes))
            return f"{verb} {names} while the VALU instruction that writes it may be outstanding"
        if counter in (XCNT, "expcnt") and held:
            why = "an access that may be issued again until its address is translated reads" \
                if counter == XCNT else "an outstanding export reads"  # fmt: skip
            return f"overwrites {register_names(own.writes & held)}, which {why}"
        if read := own.reads & its.writes:
            return f"reads {register_names(read)} while the access that writes it may be outstanding"
        return f"writes {register_names(own.writes & its.writes)} while an access that writes it may be outstanding"


def _vectors(registers: frozenset[int]) -> frozenset[int]:
    return frozenset(one for one in registers if one < _VECTORS)


def _enter(accesses: dict[int, int], registers: Iterable[int], bit: int) -> None:
    for register in registers:
        accesses[register] = accesses.get(register, 0) | bit


def _of(accesses: Mapping[int, int], registers: Iterable[int]) -> int:
    found = 0
    for register in registers:
        if register in accesses:
            found |= accesses[register]
    return found


def _merged(one: Levels, other: Levels) -> Levels:
    """The accesses of either, each as young as it is in one of them."""
    if one == other or not other:
        return one
    seen, found = 0, []
    for accesses, others in zip_longest(one, other, fillvalue=0):
        found.append((accesses | others) & ~seen)
        seen |= accesses | others
    _trim(found)
    return found


def _end(levels: Levels, ended: int) -> None:
    levels[:] = [accesses & ~ended for accesses in levels]
    _trim(levels)


def _end_older(levels: Levels, accesses: int) -> None:
    """The accesses end that are as old as the youngest of some, or older."""
    del levels[next((age for age, known in enumerate(levels) if known & accesses), len(levels)) :]
    _trim(levels)


def _trim(levels: Levels) -> None:
    while levels and not levels[-1]:
        levels.pop()
