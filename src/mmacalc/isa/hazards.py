"""How many wait states one instruction needs after another, by which rule of which source.

>>> import mmacalc
>>> wait = mmacalc.wait_states(
...     "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]", "v_add_f32 v20, v3, v21", "gfx942")
>>> int(wait), wait.mend
(11, ('s_nop 10',))
"""

from __future__ import annotations

from collections import namedtuple

from ..checks import arguments_checked
from ..errors import Error
from .access import Access, access, entry_of
from .hazard_rules import ARCHITECTURES, BOOKS, Book
from .listing import Span, read_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["DEPENDENCIES", "Judge", "Opinion", "WaitStates", "judge_of", "nops", "wait_states"]

NO_RULE = "no rule: the second touches nothing that the first makes it wait for"
MOST_NOP = 16  # s_nop 15 gives 16 wait states (CDNA4 ISA guide, S_NOP: SIMM16[3:0])


class Opinion(namedtuple("Opinion", "states rule place provenance registers")):
    """What one source says about two instructions: how many states, by which rule, found where in the source."""

    __slots__ = ()
    states: int
    rule: str
    place: str
    provenance: str
    registers: Span | None


class WaitStates(namedtuple("WaitStates", "states rule llvm guide unit registers opinions")):
    """How many wait states are needed between two instructions; `int()` of it is `states`.

    states: the larger of the two sources' numbers. rule: the rule that says so, and whose it is. llvm: what LLVM
    inserts. guide: what the ISA guide asks for, None where no guide is at hand. unit: "s_nop" where any
    instruction between the two counts as one state and s_nop N as N + 1; "v_nop" where only VALU instructions do.
    registers: those that the rule is about. opinions: every source's `Opinion`; one whose provenance is
    "unconfirmed" does not decide.
    """

    __slots__ = ()
    states: int
    rule: str
    llvm: int
    guide: int | None
    unit: str
    registers: str
    opinions: tuple[Opinion, ...]

    def __int__(self) -> int:
        return self.states

    def __index__(self) -> int:
        return self.states

    @property
    def mend(self) -> tuple[str, ...]:
        """The instructions that give these states when nothing else stands between the two."""
        return nops(self.states, self.unit)


def nops(states: int, unit: str) -> tuple[str, ...]:
    """The fewest instructions that give so many wait states.

    >>> nops(18, "s_nop"), nops(2, "v_nop")
    (('s_nop 15', 's_nop 1'), ('v_nop', 'v_nop'))
    """
    if unit == "v_nop":
        return ("v_nop",) * states
    whole, rest = divmod(states, MOST_NOP)
    return (f"s_nop {MOST_NOP - 1}",) * whole + ((f"s_nop {rest - 1}",) if rest else ())


# --- dependencies: each gives the registers of the second instruction that make the hazard, or None ---


def _meet(touched: Iterable[Span], held: Iterable[Span]) -> Span | None:
    held = tuple(held)
    return next((span for span in touched if any(span.overlaps(other) for other in held)), None)


def _c(first: Access, second: Access) -> Span | None:
    return _meet(second.roles("C"), first.writes)


def _c_exact(first: Access, second: Access) -> Span | None:
    found = _c(first, second)
    return found if found in first.writes else None


def _c_overlap(first: Access, second: Access) -> Span | None:
    found = _c(first, second)
    return None if found in first.writes else found


def _c_forwarded(first: Access, second: Access) -> Span | None:
    return _c_exact(first, second) if first.passes == second.passes else None


def _c_not_forwarded(first: Access, second: Access) -> Span | None:
    return None if _c_forwarded(first, second) else _c(first, second)


def _inputs(first: Access, second: Access) -> Span | None:
    return _meet(second.roles("A", "B", "index", "scale"), first.writes)


def _inputs_but_scales(first: Access, second: Access) -> Span | None:
    return _meet(second.roles("A", "B", "index"), first.writes)


def _read(first: Access, second: Access) -> Span | None:
    return _meet((span for _, span in second.reads), first.writes)


def _write(first: Access, second: Access) -> Span | None:
    return _meet(second.writes, first.writes)


def _write_c(first: Access, second: Access) -> Span | None:
    return _meet(second.writes, first.roles("C"))


def _write_inputs(first: Access, second: Access) -> Span | None:
    return _meet(second.writes, first.roles("A", "B", "index"))


def _write_read(first: Access, second: Access) -> Span | None:
    return _meet(second.writes, (span for _, span in first.reads))


def _same(test: Callable[[Access, Access], Span | None], same: bool) -> Callable[[Access, Access], Span | None]:
    return lambda first, second: test(first, second) if (first.name == second.name) is same else None


_ALWAYS = Span("", 0, 0)  # a hazard that is not about registers


# Dependency -> test, and what the two do, in words: d is what the first writes, r what the test found.
DEPENDENCIES: dict[str, tuple[Callable[[Access, Access], Span | None], str]] = {
    "C": (_c, "writes {d}, then {second} reads {r} as C"),
    "C exact": (_c_exact, "writes {d}, then {second} reads exactly that as C"),
    "C overlap": (_c_overlap, "writes {d}, then {second} reads {r}, which overlaps it, as C"),
    "C forwarded": (_c_forwarded, "writes {d}, then {second} of as many passes reads exactly that as C"),
    "C not forwarded": (_c_not_forwarded, "writes {d}, then {second} reads {r} as C, not the same or in other passes"),
    "A/B": (_inputs, "writes {d}, then {second} reads {r} as A, B, index or scale"),
    "A/B/index": (_inputs_but_scales, "writes {d}, then {second} reads {r} as A, B or index"),
    "read": (_read, "writes {d}, then {second} reads {r}"),
    "write": (_write, "writes {d}, then {second} writes {r}"),
    "write C": (_write_c, "reads C, then {second} writes {r} in it"),
    "write A/B/index": (_write_inputs, "reads A, B and index, then {second} writes {r} in them"),
    "write read": (_write_read, "reads a register, then {second} writes {r}"),
    "same opcode C": (_same(_c, True), "writes {d}, then the same opcode reads {r} as C"),
    "same opcode A/B": (_same(_inputs, True), "writes {d}, then the same opcode reads {r} as A or B"),
    "other opcode read": (_same(_read, False), "writes {d}, then {second} reads {r}"),
    "other opcode write": (_same(_write, False), "writes {d}, then {second} writes {r}"),
    "EXEC": (lambda first, second: _ALWAYS if first.execs else None, "writes EXEC, then {second} runs"),
    "after": (lambda first, second: _ALWAYS, "runs, then {second}"),
}


# --- the engine ---


class _Row:
    """A row of a book, ready to be asked."""

    __slots__ = ("between", "first", "place", "second", "states", "test", "words")

    def __init__(
        self, first: str, second: str, dependency: str, states: int | tuple[int, ...], place: str, between: str = ""
    ) -> None:
        self.first, self.second, self.place = _terms(first), _terms(second), place
        self.states = states
        self.between = frozenset(between.split())
        self.test, self.words = DEPENDENCIES[dependency]

    def sentence(self, first: Access, second: Access, span: Span) -> str:
        """The rule in words, for these two instructions."""
        length = f" ({first.passes} passes)" if isinstance(self.states, tuple) and "MFMA" in first.kinds else ""
        written = ", ".join(map(str, first.writes))
        return f"{_kind(first)}{length} {self.words.format(d=written, second=_kind(second), r=span)}"


def _terms(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """`VALU-DOT MEM` -> (("VALU", {"DOT"}), ("MEM", {}))."""
    return tuple((word.split("-")[0], frozenset(word.split("-")[1:])) for word in text.split())


def _fits(terms: tuple[tuple[str, frozenset[str]], ...], kinds: frozenset[str]) -> bool:
    return any(kind in kinds and not (without & kinds) for kind, without in terms)


def _kind(one: Access) -> str:
    """The most telling of an instruction's kinds."""
    for kind in ("DGEMM", "SGEMM", "XDL", "DOT"):
        if kind in one.kinds:
            return kind
    return (
        one.name if one.kinds & {"ACC_READ", "ACC_WRITE", "FMA64", "MEM", "EXP"} else min(one.kinds, default=one.name)
    )


class _Source:
    """One book: finds the rows that a pair of kinds can meet, once for each pair."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.rows = tuple(_Row(*row) for row in book.rows)
        self.trusted = book.provenance != "unconfirmed"
        self._found: dict[tuple[frozenset[str], frozenset[str]], tuple[_Row, ...]] = {}
        self.most = max(max(row.states) if isinstance(row.states, tuple) else row.states for row in self.rows)

    def states(self, row: _Row, first: Access) -> int:
        """The states that a row asks for after `first`."""
        if isinstance(row.states, tuple):
            if first.passes not in self.book.lengths:
                raise Error(f"{self.book.source} has no wait states for {first.passes} passes ({first.name})")
            return row.states[self.book.lengths.index(first.passes)]
        return row.states

    def judge(self, first: Access, second: Access, between: frozenset[str]) -> tuple[int, _Row | None, Span | None]:
        """The largest number of states that a row asks for, that row, and the registers it is about."""
        kinds = (first.kinds, second.kinds)
        if kinds not in self._found:
            fits = (row for row in self.rows if _fits(row.first, kinds[0]) and _fits(row.second, kinds[1]))
            self._found[kinds] = tuple(fits)
        best: tuple[int, _Row | None, Span | None] = (0, None, None)
        for row in self._found[kinds]:
            if row.between and not row.between & between:
                continue
            span = row.test(first, second)
            if span is not None and (best[1] is None or self.states(row, first) > best[0]):
                best = (self.states(row, first), row, span)
        return best

    def begins(self, kinds: frozenset[str]) -> bool:
        """Whether an instruction of these kinds can be the first of a hazard."""
        return any(_fits(row.first, kinds) for row in self.rows)


class Judge:
    """The sources of one architecture. `mmacalc.isa.lint` puts every pair of a listing to one of these."""

    def __init__(self, name: str) -> None:
        llvm, guide, self.unit = ARCHITECTURES[name]
        self.sources = [_Source(BOOKS[book]) for book in (llvm, guide) if book]
        self.most = max(source.most for source in self.sources)
        self.watched = frozenset(kind for source in self.sources for row in source.rows for kind in row.between)

    def begins(self, kinds: frozenset[str]) -> bool:
        """Whether an instruction of these kinds can be the first of a hazard."""
        return any(source.begins(kinds) for source in self.sources)

    def passing(self, one: Access) -> int:
        """The wait states that an instruction between two others gives."""
        return one.states if self.unit == "s_nop" else int(one.valu)

    def states(self, first: Access, second: Access, between: frozenset[str] = frozenset()) -> int:
        """The wait states needed between two instructions; `between`: kinds that stand between them."""
        return max(source.judge(first, second, between)[0] for source in self.sources if source.trusted)

    def judge(self, first: Access, second: Access, between: frozenset[str] = frozenset()) -> WaitStates:
        """The wait states needed between two instructions, with their reasons."""
        opinions = []
        for source in self.sources:
            states, row, span = source.judge(first, second, between)
            rule = row.sentence(first, second, span) if row and span else ""
            place = f"{source.book.source}, {row.place}" if row else source.book.source
            opinions.append(Opinion(states, rule, place, source.book.provenance, span if span != _ALWAYS else None))
        trusted = [each for each in opinions if each.provenance != "unconfirmed"]
        # Of equals the last, which is the guide: it is the hardware's own document.
        best = max(reversed(trusted), key=lambda each: (each.states, bool(each.rule)))
        rule = f"{best.rule}: {best.place}" if best.rule else NO_RULE
        guide = trusted[1].states if len(trusted) > 1 else None
        registers = str(best.registers or "")
        return WaitStates(best.states, rule, opinions[0].states, guide, self.unit, registers, tuple(opinions))


_judges: dict[str, Judge] = {}


def judge_of(name: str) -> Judge:
    """The judge of a catalog architecture, made once.

    Raises:
        Error: there are no rules for it.
    """
    if name not in ARCHITECTURES:
        raise Error(f"there are no wait-state rules for {name}; there are for {', '.join(sorted(ARCHITECTURES))}")
    if name not in _judges:
        _judges[name] = Judge(name)
    return _judges[name]


@arguments_checked
def wait_states(first: str, second: str, arch: str) -> WaitStates:
    """The wait states (independent instructions or nops) needed between two instructions.

    Of several dependencies between the two, the one that needs most is named.

    Args:
        first, second: lines of assembly, as LLVM's assembler takes them, in either case.
        arch: any name of an AMD architecture with matrix instructions.

    Raises:
        Error: a line that is no instruction, a matrix instruction that the architecture lacks, an architecture
            that is unknown or not AMD's.

    Source: LLVM 22.1.8's hazard recognizer; the CDNA4 ISA guide's Table 38. `states` is the larger.

    >>> wait = wait_states("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]", "v_mov_b32 v0, 0", "gfx950")
    >>> wait.states, wait.llvm, wait.guide
    (19, 11, 19)
    """
    entry = entry_of(arch)
    one, two = (access(read_line(line), entry, strict=True) for line in (first, second))
    return judge_of(entry.architecture.name).judge(one, two)
