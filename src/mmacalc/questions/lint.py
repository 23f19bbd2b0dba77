"""Find registers that a listing uses too early (matrix instructions, loads), and lines that no assembler accepts.

    mmacalc lint kernel.s                    a compiler's listing, which names its target (.amdgcn_target)
    mmacalc lint *.s                         several; with --json, one line for each
    mmacalc lint kernel.hsaco                an object (ELF, or clang's offload bundle); places are addresses
    mmacalc lint -a gfx942 kernel.s          a listing that does not, or a hand-written one
    llvm-objdump -d kernel.o | mmacalc lint -a gfx942 -

Every hazard is printed with its line, the rule and what to put before it (s_nop, v_nop; s_waitcnt or s_wait_loadcnt
where the result of a load may be outstanding on one of the paths; on gfx11 s_waitcnt_depctr where a VALU instruction
reads a transcendental result, except on RDNA3.5, and where one in wave64 reads registers written just before and just
after EXEC); the status is 1 when there is any, else 0. Labels, comments, directives, s_nop and other instructions are
understood. Every path is followed: fall-through, both ways of a conditional branch, loops. Assumed: s_setpc and
branches to labels outside the listing lead nowhere, calls return at once with no access outstanding, each instruction
between two others gives one wait state, macros are not expanded, and unknown mnemonics write their first operand and
read the others. Bytes of LDS that waves share are not checked (run-kernel does that). wait_vdst of lds_direct_load
(wait_va_vdst of ds_direct_load) is. Wave64 of gfx11 is known by scalar instructions that write exec, not exec_lo.
A line that no assembler accepts is a finding, too: every fault of a matrix instruction's operands and modifiers, a
matrix instruction that the architecture lacks (also one that LLVM assembles but cannot select, such as RDNA4's WMMA on
gfx1250), and a mnemonic that no target has. Operands of other instructions are not checked.
"""

from __future__ import annotations

from ..base.errors import counted, printable
from ..base.records import Record, json_keys
from ..command import Command, Reply, argument, show
from ..command.common import JSON, TARGET
from ..command.files import each_text
from .disassemble import object_text
from .waits import nops_text, states_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..command import Options
    from ..command.files import GivenText
    from ..hazards.lint import Finding, LintReport
    from ..hazards.recognizer import WaitStates


@json_keys("file", "**report")
class CheckedListing(Record):
    """What was found in a listing.

    Attributes:
        report: the findings. name: of the file. addresses: those of the lines that have one, which name their places
            in the text instead.
    """

    report: LintReport
    name: str
    addresses: Mapping[int, int] = {}

    @property
    def file(self) -> str:
        """The name of the file, without what a terminal would obey."""
        return printable(self.name)


def text(answer: CheckedListing) -> str:
    """The findings, each with its line in the file, their number, and what was not looked at."""
    report, name, addresses = answer.report, answer.file, answer.addresses
    unchecked = f"; not checked: {', '.join(report.unchecked)}" if report.unchecked else ""
    if not report.findings:
        none = "" if report.matrix_instructions else ": there is no matrix instruction in it"
        return f"{name}: no hazards found{none}{unchecked}\n"
    counts = [(len(report.of_kind(kind)), noun) for kind, noun in NOUNS.items()]
    found = " and ".join(counted(count, noun) for count, noun in counts if count)
    lines = [
        _finding(one, name, before is not None and before.line == one.line, addresses)
        for before, one in zip((None, *report.findings), report.findings)
    ]
    return "".join(lines) + f"{found} found{unchecked}\n"


NOUNS = {"invalid": "error", "wait states": "hazard", "wait": "missing wait"}
"""What the findings of a kind are called."""


def _finding(one: Finding, name: str, again: bool, addresses: Mapping[int, int]) -> str:
    """A finding; again: another one of the same line."""
    place = f"{addresses[one.line]:#x}" if one.line in addresses else f"{one.line}"
    first = f"{addresses[one.first_line]:#x}" if one.first_line in addresses else f"line {one.first_line}"
    head = "" if again else f"{name}:{place}: {printable(one.text)}\n"
    if one.wait is None:
        after = f" ({first}: {printable(one.first_text)})" if one.first_line else ""
        mend = f"  put {'; '.join(one.nops)} before it\n" if one.nops else ""
        return f"{head}  {printable(one.message)}{after}\n{mend}"
    return head + _too_early(one, one.wait, first)


def _too_early(one: Finding, wait: WaitStates, first: str) -> str:
    fix = f"put {nops_text(one.nops)} before it" if one.nops else "no further s_nop: the other findings cover it"
    early = states_text(one.missing, wait.unit)
    return (
        f"  {early} too early after {first}: {printable(one.first_text)}\n"
        f"  needs {wait.states}{' or a wait' if wait.expiry.instruction else ''}, has {one.elapsed}: {fix}\n"
        f"  {wait.rule}\n"
    )


def run(options: Options) -> Iterator[Reply]:
    """The findings, and 1 if there are any; of several files one after another, also where one is refused."""
    return each_text(options, _reply, object_text)


def _reply(given: GivenText, options: Options) -> Reply:
    from ..asm.reader import addresses
    from ..hazards.lint import lint

    report = lint(given.text, options.architecture and options.architecture.partition(":")[0])
    answer = CheckedListing(report, given.name, addresses(given.text) if given.listed else {})
    return show(options.json, "lint", answer, text, status=1 if report.findings else 0)


COMMAND = Command(
    "lint", "find hazards in listings: registers used too early, missing waits, lines that no assembler accepts",
    "wait", __doc__,
    (TARGET, JSON, argument("text", "paths of files, - for standard input; or one or more lines", nargs="+")),
    run, {"lint": text},
)  # fmt: skip
