"""How many wait states one instruction needs after another, by which rule of which source.

>>> import mmacalc
>>> wait = mmacalc.wait_states(
...     "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]", "v_add_f32 v20, v3, v21", "gfx942")
>>> int(wait), wait.nops
(11, ('s_nop 10',))
"""

from __future__ import annotations

from ..asm.reader import read_line
from ..asm.registers import RegisterRange
from ..asm.targets import target
from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import Cache, TupleRecord, json_keys
from .register_use import MOST_NOP, RegisterUse, entry_of, register_use
from .tables import EXPERT, FORWARDING, FURTHER, NEVER, RULES, TABLES, Expiry, ForwardingRule, HazardTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model import Architecture

    Test = Callable[[RegisterUse, RegisterUse], RegisterRange | None]

__all__ = [
    "DEPENDENCIES",
    "Dependency",
    "HazardRecognizer",
    "SourceAnswer",
    "WaitStates",
    "nop_instructions",
    "recognizer_for",
    "specific_kind",
    "wait_states",
]

NO_RULE = "no rule: the second touches nothing that the first makes it wait for"


@json_keys(
    "source=place",
    "states",
    "rule",
    "provenance",
)
class SourceAnswer(TupleRecord):
    """One source's answer: wait states, the rule in words, its place in the source, how sure it is, and the registers
    that the rule is about (None if there are none)."""

    states: int
    rule: str
    place: str
    provenance: str
    registers: RegisterRange | None


@json_keys(
    "[architecture]",
    "states: wait states needed: the larger number of the sources that count",
    "unit: what gives a wait state: s_nop: any instruction; v_nop: a VALU instruction",
    "nops",
    "rule",
    "llvm",
    "guide",
    "registers",
    "[ended_by]=expiry.words: what ends the hazard however few the states are; nops then has the one that LLVM inserts",
    "sources",
)
class WaitStates(TupleRecord):
    """How many wait states are needed between two instructions; `int()` of it is `states`.

    states: the largest of the sources' numbers. rule: the rule behind it, with its source. llvm: what LLVM
    22.1.8 inserts. guide: what the ISA guide asks for, None where no guide is at hand. unit: "s_nop" where any
    instruction between the two counts as one state and s_nop N as N + 1; "v_nop" where only VALU instructions do.
    registers: those that the rule is about. sources: every source's `SourceAnswer`; one whose provenance is
    "unconfirmed" does not decide, and what LLVM lacks is there only where it has a row. architecture:
    the canonical name of the one asked about; "" within a `LintReport`, which has it. expiry: what ends the hazard
    however few the states are, such as s_waitcnt_depctr.
    """

    states: int
    rule: str
    llvm: int
    guide: int | None
    unit: str
    registers: str
    sources: tuple[SourceAnswer, ...]
    architecture: str = ""
    expiry: Expiry = NEVER

    def __int__(self) -> int:
        return self.states

    def __index__(self) -> int:
        return self.states

    @property
    def nops(self) -> tuple[str, ...]:
        """The instructions to put between the two when nothing else is there."""
        instruction = self.expiry.instruction
        return (instruction,) if instruction and self.states else nop_instructions(self.states, self.unit)


def nop_instructions(states: int, unit: str) -> tuple[str, ...]:
    """The shortest sequence that gives `states` wait states.

    >>> nop_instructions(18, "s_nop"), nop_instructions(2, "v_nop")
    (('s_nop 15', 's_nop 1'), ('v_nop', 'v_nop'))
    """
    if unit == "v_nop":
        return ("v_nop",) * states
    whole, rest = divmod(states, MOST_NOP)
    return (f"s_nop {MOST_NOP - 1}",) * whole + ((f"s_nop {rest - 1}",) if rest else ())


Kinds = tuple[tuple[str, frozenset[str]], ...]


class _Row:
    """A row of a table, compiled."""

    __slots__ = ("between", "dependency", "expiry", "first", "place", "second", "states")

    def __init__(
        self,
        first: str,
        second: str,
        dependency: str,
        states: int | tuple[int, ...],
        place: str,
        between: str = "",
        expiry: Expiry = NEVER,
    ) -> None:
        self.first, self.second, self.place = _kinds(first), _kinds(second), place
        self.states = states
        self.between, self.expiry = frozenset(between.split()), expiry
        self.dependency = DEPENDENCIES[dependency]

    def sentence(self, first: RegisterUse, second: RegisterUse, registers: RegisterRange) -> str:
        """The rule in words, for these two instructions."""
        length = f" ({first.passes} passes)" if isinstance(self.states, tuple) and "MFMA" in first.kinds else ""
        written = ", ".join(map(str, first.writes))
        words = self.dependency.words.format(d=written, second=specific_kind(second), r=registers)
        return f"{specific_kind(first)}{length} {words}"


def _kinds(text: str) -> Kinds:
    """`VALU-DOT MEM` -> (("VALU", {"DOT"}), ("MEM", {}))."""
    return tuple((word.split("-")[0], frozenset(word.split("-")[1:])) for word in text.split())


def _fits(wanted: Kinds, kinds: frozenset[str]) -> bool:
    return any(kind in kinds and not (without & kinds) for kind, without in wanted)


def specific_kind(use: RegisterUse) -> str:
    """The most specific class of an instruction."""
    for kind in ("DGEMM", "SGEMM", "XDL", "DOT"):
        if kind in use.kinds:
            return kind
    named = use.kinds & {"ACC_READ", "ACC_WRITE", "FMA64", "MEM", "EXP", "PERMLANE", "PERMLANE_SWAP", "LDS_DIRECT",
                         "PART", "SETREG", "GETREG", "RFE", "M0_WRITE", "M0_READ", "SETVSKIP", "VCCZ_SOURCE",
                         "EXECZ_SOURCE", "EXEC_SOURCE"}  # fmt: skip
    return use.name if named else min(use.kinds - {"DUAL", "OP_SEL_HI", "WORK"}, default=use.name)


class _Source:
    """One table, compiled: finds the rows that a pair of kinds can meet, once for each pair."""

    def __init__(self, table: HazardTable) -> None:
        self.table = table
        self.rows = tuple(_Row(*row) for row in table.rows)
        self.trusted = table.provenance != "unconfirmed"
        self._fitting: dict[tuple[frozenset[str], frozenset[str]], tuple[_Row, ...]] = {}

    def states(self, row: _Row, first: RegisterUse) -> int:
        """The states that a row asks for after `first`.

        Raises:
            Error: the table has no number for an instruction of this length.
        """
        if isinstance(row.states, tuple):
            if first.passes not in self.table.lengths:
                raise Error(f"{self.table.source} has no wait states for {first.passes} passes ({first.name})")
            return row.states[self.table.lengths.index(first.passes)]
        return row.states

    def answer(
        self, first: RegisterUse, second: RegisterUse, between: frozenset[str], expiry: Expiry | None
    ) -> tuple[int, _Row | None, RegisterRange | None]:
        """The largest number of states that a row asks for, that row, and the registers that it is about; of rows that
        expire so, or of all (None)."""
        kinds = (first.kinds, second.kinds)
        if kinds not in self._fitting:
            rows = (row for row in self.rows if _fits(row.first, kinds[0]) and _fits(row.second, kinds[1]))
            self._fitting[kinds] = tuple(rows)
        best: tuple[int, _Row | None, RegisterRange | None] = (0, None, None)
        for row in self._fitting[kinds]:
            if (row.between and not row.between & between) or expiry not in (None, row.expiry):
                continue
            registers = row.dependency.test(first, second)
            if registers is not None and (best[1] is None or self.states(row, first) > best[0]):
                best = (self.states(row, first), row, registers)
        return best


class Reach(TupleRecord):
    """What an instruction can be the first of: a hazard about its registers in these roles (those of
    `Dependency.roles`), perhaps only where an instruction of the kinds `between` follows it, which ends as `expiry`
    says, and over at most `states` wait states."""

    roles: tuple[str, ...]
    between: frozenset[str]
    expiry: Expiry
    states: int


class HazardRecognizer:
    """The sources of one set of rules. `mmacalc.hazards.lint` asks it about the pairs of a listing.

    unit: "s_nop" or "v_nop", see `WaitStates`. longest: the most wait states that any pair needs. forwarding: the rule
    of three instructions in wave64, if there is one.
    """

    unit: str
    forwarding: ForwardingRule | None
    sources: list[_Source]
    longest: int

    def __init__(self, name: str) -> None:
        llvm, guide, self.unit = RULES[name]
        self.forwarding = FORWARDING.get(name)
        self.sources = [_Source(TABLES[table]) for table in (llvm, guide, *FURTHER.get(name, ())) if table]
        numbers = (row.states for source in self.sources for row in source.rows)
        self._rows: dict[tuple[object, ...], tuple[tuple[int, Test, frozenset[str], Expiry], ...]] = {}
        self._reaches: dict[tuple[object, ...], tuple[Reach, ...]] = {}
        self.longest = max(max(states) if isinstance(states, tuple) else states for states in numbers)

    def reach(self, first: RegisterUse, others: frozenset[str]) -> tuple[Reach, ...]:
        """The hazards that an instruction can be the first of where others are of these kinds, by the sources that
        decide."""
        roles = {role for role, _ in first.reads}
        roles |= {
            role
            for role, present in (("writes", first.writes), ("scalars", first.scalars_written), ("EXEC", first.execs))
            if present
        }
        key = first.kinds, first.passes, frozenset(roles), others
        if key not in self._reaches:
            self._reaches[key] = self._reach(first, roles, others)
        return self._reaches[key]

    def _reach(self, first: RegisterUse, roles: set[str], others: frozenset[str]) -> tuple[Reach, ...]:
        longest: dict[tuple[tuple[str, ...], frozenset[str], Expiry], int] = {}
        for source in self.sources:
            for row in source.rows if source.trusted else ():
                wanted = row.dependency.roles
                met = any(kind in others for kind, _ in row.second)
                if met and _fits(row.first, first.kinds) and (not wanted or not roles.isdisjoint(wanted)):
                    key = row.dependency.roles, row.between, row.expiry
                    longest[key] = max(longest.get(key, 0), source.states(row, first))
        return tuple(Reach(*key, states) for key, states in longest.items() if states)

    def states_provided(self, use: RegisterUse) -> int:
        """The wait states that an instruction between two others gives."""
        return use.states if self.unit == "s_nop" else int(use.valu)

    def states(
        self,
        first: RegisterUse,
        second: RegisterUse,
        between: frozenset[str] = frozenset(),
        expiry: Expiry | None = None,
    ) -> int:
        """The wait states needed between two instructions.

        Args:
            between: kinds of instructions between them.
            expiry: ask the rules that expire so only.
        """
        kinds = first.kinds, first.passes, second.kinds
        rows = self._rows.get(kinds)
        if rows is None:
            rows = self._rows[kinds] = self._fitting(first, second)
        for states, test, asked, ends in rows:
            fits = (not asked or asked & between) and expiry in (None, ends)
            if fits and test(first, second) is not None:
                return states
        return 0

    def _fitting(self, first: RegisterUse, second: RegisterUse) -> tuple[tuple[int, Test, frozenset[str], Expiry], ...]:
        """The rows that can hold for instructions of these kinds, the largest number of states first."""
        rows = [
            (source.states(row, first), row.dependency.test, row.between, row.expiry)
            for source in self.sources
            for row in (source.rows if source.trusted else ())
            if _fits(row.first, first.kinds) and _fits(row.second, second.kinds)
        ]
        return tuple(sorted((row for row in rows if row[0]), key=lambda row: -row[0]))

    def answer(
        self,
        first: RegisterUse,
        second: RegisterUse,
        between: frozenset[str] = frozenset(),
        expiry: Expiry | None = None,
    ) -> WaitStates:
        """The wait states needed between two instructions, with their reasons; arguments as for `states`."""
        answers, expiries, guides = [], [], []
        for source in self.sources:
            states, row, registers = source.answer(first, second, between, expiry)
            if row is None and source.table.partial:
                continue
            expiries.append(row.expiry if row else NEVER)
            rule = row.sentence(first, second, registers) if row and registers else ""
            place = f"{source.table.source}, {row.place}" if row else source.table.source
            about = registers if registers != NO_REGISTERS else None
            answers.append(SourceAnswer(states, rule, place, source.table.provenance, about))
            guides += [states] if source.table.guide and source.trusted else []
        trusted = [each for each in answers if each.provenance != "unconfirmed"]
        # On a tie the last, which is the ISA guide: it is the hardware's own document.
        best = max(reversed(trusted), key=lambda each: (each.states, bool(each.rule)))
        rule = f"{best.rule}: {best.place}" if best.rule else NO_RULE
        guide = max(guides, default=None)
        registers_text = str(best.registers or "")
        ends = expiries[answers.index(best)]
        return WaitStates(
            best.states, rule, answers[0].states, guide, self.unit, registers_text, tuple(answers), "", ends
        )


_recognizers = Cache(32)


def recognizer_for(architecture: Architecture, arch: str = "", expert: bool = False) -> HazardRecognizer:
    """The recognizer of an architecture, or of the target that a name of it means; cached. expert: in the mode of
    expert scheduling, where matrix instructions count by `RegisterUse.fewest`.

    Raises:
        Error: its catalog record names no rules, or none that there are.
    """
    name = architecture.hazards
    if arch and architecture.hazards_of:
        name = architecture.hazards_of.get(target(arch).name, name)
    name = EXPERT.get(name or "", name) if expert else name
    if name not in RULES:
        named = f"'{name}'" if name else "none"
        raise Error(
            f'no wait-state rules for {architecture.title}: its catalog record names {named} ("hazards"; '
            f"available: {', '.join(RULES)})"
        )
    found: HazardRecognizer = _recognizers.get(name, lambda: HazardRecognizer(name))
    return found


@arguments_checked
def wait_states(first: str, second: str, arch: str) -> WaitStates:
    """The wait states (independent instructions or nops) needed between two instructions.

    Of several dependencies between the two, the one that needs most is named.

    Args:
        first, second: lines of assembly, as LLVM's assembler takes them (mnemonics are case-insensitive).
        arch: any name of an AMD architecture with matrix instructions.

    Raises:
        Error: a line that is not an instruction, a matrix instruction that the architecture lacks, an architecture
            that is unknown or not AMD's.

    Source: LLVM 22.1.8's hazard recognizer; the CDNA4 ISA guide's Table 38; LLVM 24.0.0git. `states` is the larger.

    >>> wait = wait_states("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]", "v_mov_b32 v0, 0", "gfx950")
    >>> wait.states, wait.llvm, wait.guide
    (19, 11, 19)
    """
    entry = entry_of(arch)
    one, two = (register_use(read_line(line), entry, strict=True) for line in (first, second))
    recognizer = recognizer_for(entry.architecture, arch)
    return recognizer.answer(one, two)._replace(architecture=entry.architecture.name)


# --- dependencies: which registers of two instructions must meet for a rule to hold ---

NO_REGISTERS = RegisterRange("", 0, 0)
"""What a test gives where the rule is not about registers."""


class Dependency(TupleRecord):
    """A test, the registers of the first instruction that it looks at, and what the two instructions do, in words.

    test: (first, second) -> the registers of the second that make the hazard; None if there are none.
    roles: those of the first's reads that the test looks at; "writes" for what it writes, "scalars" for its SGPRs,
    "EXEC" for the EXEC mask; empty where the rule is not about registers.
    words: {d} is what the first writes, {r} what the test found, {second} the second's kind.
    """

    test: Test
    roles: tuple[str, ...]
    words: str


def _overlapping(touched: Iterable[RegisterRange], others: Iterable[RegisterRange]) -> RegisterRange | None:
    others = tuple(others)
    for registers in touched:
        for other in others:
            if registers.overlaps(other):
                return registers
    return None


def _c(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.roles("C"), first.writes)


def _c_exact(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    c = _c(first, second)
    return c if c in first.writes else None


def _c_overlap(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    c = _c(first, second)
    return None if c in first.writes else c


def _c_forwarded(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _c_exact(first, second) if first.passes == second.passes else None


def _c_not_forwarded(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return None if _c_forwarded(first, second) else _c(first, second)


def _inputs(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.roles("A", "B", "index", "scale"), first.writes)


def _inputs_but_scales(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.roles("A", "B", "index"), first.writes)


def _read(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping((registers for _, registers in second.reads), first.writes)


def _write(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.writes)


def _write_c(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.roles("C"))


def _write_c_not_d(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return None if _write(first, second) else _write_c(first, second)


def _write_inputs(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.roles("A", "B", "index"))


def _write_data(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.roles("data"))


def _write_data_at_offset(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.roles("data at an offset"))


def _write_read(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, (registers for _, registers in first.reads))


def _scalar(*roles: str) -> Test:
    return lambda first, second: _overlapping(
        (span for role, span in second.scalars_read if role in roles), first.scalars_written
    )


def _same(test: Test, same: bool) -> Test:
    return lambda first, second: test(first, second) if (first.name == second.name) is same else None


def _exec(first: RegisterUse, _: RegisterUse) -> RegisterRange | None:
    return NO_REGISTERS if first.execs else None


_D, _S = ("writes",), ("scalars",)
_ALL_READS = ("A", "B", "C", "index", "scale", "data", "data at an offset", "other")
DEPENDENCIES = {
    name: Dependency(*row)
    for name, row in {
        "C": (_c, _D, "writes {d}, then {second} reads {r} as C"),
        "C exact": (_c_exact, _D, "writes {d}, then {second} reads exactly that as C"),
        "C overlap": (_c_overlap, _D, "writes {d}, then {second} reads {r}, which overlaps it, as C"),
        "C forwarded": (_c_forwarded, _D, "writes {d}, then {second} of as many passes reads exactly that as C"),
        "C not forwarded": (
            _c_not_forwarded, _D, "writes {d}, then {second} reads {r} as C, not the same or in other passes",
        ),
        "A/B": (_inputs, _D, "writes {d}, then {second} reads {r} as A, B, index or scale"),
        "A/B/index": (_inputs_but_scales, _D, "writes {d}, then {second} reads {r} as A, B or index"),
        "read": (_read, _D, "writes {d}, then {second} reads {r}"),
        "write": (_write, _D, "writes {d}, then {second} writes {r}"),
        "write C": (_write_c, ("C",), "reads C, then {second} writes {r} in it"),
        "write C, not D": (_write_c_not_d, ("C",), "reads C, then {second} writes {r} in it"),
        "write A/B/index": (
            _write_inputs, ("A", "B", "index"), "reads A, B and index, then {second} writes {r} in them",
        ),
        "write read": (_write_read, _ALL_READS, "reads a register, then {second} writes {r}"),
        "same opcode C": (_same(_c, True), _D, "writes {d}, then the same opcode reads {r} as C"),
        "same opcode A/B": (_same(_inputs, True), _D, "writes {d}, then the same opcode reads {r} as A or B"),
        "other opcode read": (_same(_read, False), _D, "writes {d}, then {second} reads {r}"),
        "other opcode write": (_same(_write, False), _D, "writes {d}, then {second} writes {r}"),
        "EXEC": (_exec, ("EXEC",), "writes EXEC, then {second} runs"),
        "lane select": (_scalar("lane"), _S, "writes {r}, then {second} chooses a lane by it"),
        "VCC": (_scalar("vcc"), _S, "writes VCC, then {second} reads it"),
        "write data": (
            _write_data, ("data",), "stores more than two registers, then {second} writes {r} of them",
        ),
        "write data at an offset": (
            _write_data_at_offset, ("data at an offset",),
            "stores more than two registers to a buffer at an SGPR's offset, then {second} writes {r} of them",
        ),
        "part read": (_read, _D, "writes a part of {d}, then {second} reads {r}"),
        "part write": (_write, _D, "writes a part of {d}, then {second} writes {r}"),
        "M0": (_scalar("M0"), _S, "writes m0, then {second} reads it"),
        "hwreg": (_scalar("hwreg"), _S, "sets a hardware register, then {second} names the same"),
        "VCCZ": (_scalar("vccz"), _S, "writes {r}, then {second} reads vccz as data"),
        "VSKIP": (lambda first, second: NO_REGISTERS, (), "sets MODE.VSKIP, then {second} runs or is skipped"),
        "scalar read": (_scalar("lane", "scalar", "vcc"), _S, "writes {r}, then {second} reads it"),
        "after": (lambda first, second: NO_REGISTERS, (), "runs, then {second}"),
    }.items()
}  # fmt: skip
