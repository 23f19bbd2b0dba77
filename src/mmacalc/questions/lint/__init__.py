"""Find registers that a listing uses too early (matrix instructions, loads), and lines that no assembler accepts.

    mmacalc lint kernel.s                    a compiler's listing, which names its target (.amdgcn_target)
    mmacalc lint *.s build "src/**/*.s"      several files, folders, patterns; with --json, one line for each
    mmacalc lint kernel.hsaco                an object (ELF, or clang's offload bundle); places are addresses
    mmacalc lint -a gfx942 kernel.s          a listing that does not, or a hand-written one
    llvm-objdump -d kernel.o | mmacalc lint -a gfx942 -
    mmacalc lint --format github asm         annotations of GitHub; sarif: a report for code scanning; json
    mmacalc lint --baseline known.json asm   only what is new: the findings of now are written there the first time

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

What cannot be read is said on standard error, and the other files are checked; the status is then 2. Files of a folder
that have no AMD instruction are left out, with --skip-others also those that are named. A baseline is made where its
file is missing (where CI is set, as in most services, it is refused), and anew with --update-baseline.
"""

from __future__ import annotations

from ...base.errors import Error, plural, printable
from ...base.records import Record, json_keys
from ...command import Command, Reply, argument, flag, option, refused, show
from ...command.common import JSON, TARGET
from ...command.files import about, readable, texts
from ..disassemble import object_text
from ..waits import nops_text, states_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...command import Options
    from ...command.files import GivenText
    from ...hazards.lint import Finding, LintReport
    from ...hazards.recognizer import WaitStates
    from .baseline import Baseline


@json_keys("file", "**report", "known: how many findings are in the baseline, and left out")
class CheckedListing(Record):
    """What was found in a listing.

    Attributes:
        report: the findings. name: of the file. addresses: those of the lines that have one, which name their places
            in the text instead. known: how many findings a baseline has, which are left out.
    """

    report: LintReport
    name: str
    addresses: Mapping[int, int] = {}
    known: int = 0

    @property
    def file(self) -> str:
        """The name of the file, without what a terminal would obey."""
        return printable(self.name)


def text(answer: CheckedListing) -> str:
    """The findings, each with its line in the file, their number, and what was not looked at."""
    report, name, addresses = answer.report, answer.file, answer.addresses
    if not report.findings:
        none = "" if report.matrix_instructions else ": there is no matrix instruction in it"
        return _closed(f"{name}: no {'new ' * bool(answer.known)}hazards found{none}{_known(answer)}", report)
    counts = [(len(report.of_kind(kind)), noun) for kind, noun in NOUNS.items()]
    found = " and ".join(plural(count, noun) for count, noun in counts if count)
    lines = [
        _finding(one, name, before is not None and before.line == one.line, addresses)
        for before, one in zip((None, *report.findings), report.findings)
    ]
    return "".join(lines) + _closed(f"{found} found{_known(answer)}", report)


def _closed(said: str, report: LintReport) -> str:
    """The last line, with what was not looked at; where that is longer than a line, each on lines of its own."""
    if not report.unchecked:
        return f"{said}\n"
    line = f"{said}; not checked: {', '.join(report.unchecked)}"
    if len(line) <= WIDTH or len(report.unchecked) == 1:
        return f"{line}\n"
    from textwrap import TextWrapper

    lines = TextWrapper(WIDTH, "  - ", "    ", break_long_words=False, break_on_hyphens=False)
    clauses = [lines.fill(one) for one in report.unchecked]
    return "\n".join([f"{said}; not checked:", *clauses, ""])


def report_text(report: LintReport) -> str:
    """The findings of a text."""
    return text(CheckedListing(report, "the text"))


def _known(answer: CheckedListing) -> str:
    return f", {answer.known} in the baseline" if answer.known else ""


WIDTH = 80
NOUNS = {"invalid": "error", "wait states": "hazard", "wait": "missing wait", "vccz": "stale flag",
         "shift amount": "wrong shift amount", "exec": "loss of lanes"}  # fmt: skip
"""What the findings of a kind are called."""


def _finding(one: Finding, name: str, again: bool, addresses: Mapping[int, int]) -> str:
    """A finding; again: another one of the same line."""
    place = f"{addresses[one.line]:#x}" if one.line in addresses else f"{one.line}:{one.column}"
    first = f"{addresses[one.first_line]:#x}" if one.first_line in addresses else f"line {one.first_line}"
    head = "" if again else f"{name}:{place}: {printable(one.text)}\n"
    if one.wait is None:
        after = f" ({first}: {printable(one.first_text)})" if one.first_line else ""
        repair = f"  put {'; '.join(one.nops)} before it\n" if one.nops else ""
        return f"{head}  {printable(one.message)}{after}\n{repair}"
    return head + _too_early(one, one.wait, first)


def _too_early(one: Finding, wait: WaitStates, first: str) -> str:
    fix = f"put {nops_text(one.nops)} before it" if one.nops else "no further s_nop: the other findings cover it"
    early = states_text(one.missing, wait.unit)
    return (
        f"  {early} too early after {first}: {printable(one.first_text)}\n"
        f"  needs {wait.states}{' or a wait' if wait.expiry.instruction else ''}, has {one.elapsed}: {fix}\n"
        f"  {wait.rule}\n"
    )


FORMATS = ("text", "json", "github", "sarif")


def run(options: Options) -> Iterator[Reply]:
    """The findings, and 1 if there are any; of several files one after another, also where one is refused."""
    from .baseline import Baseline

    form = "json" if options.json and options.format == "text" else options.format
    if options.json and form != "json":
        raise Error(f"--json and --format {form} both choose a form; leave one of them out")
    if options.update_baseline and options.baseline is None:
        raise Error("--update-baseline writes the file that --baseline names; give --baseline FILE as well")
    options.json = form == "json"
    baseline = None if options.baseline is None else Baseline.opened(options.baseline, options.update_baseline)
    checked: list[CheckedListing] = []
    unread: list[tuple[str, Error]] = []
    skipped = 0
    for given in texts(options.text, options.architecture, object_text):
        try:
            checked.append(_checked(readable(given), options, baseline))
        except Error as error:
            if error.kind == "nothing" and (given.found or options.skip_others):
                skipped += 1
                continue
            if not given.several and form != "sarif":
                raise about(error, given.name) from None
            unread.append((given.name, error))
            yield refused(options.json, error, given.name if given.several else "")
            continue
        if form != "sarif":
            yield _written(checked[-1], form)
    if form == "sarif":
        from .sarif import document

        status = 1 if any(one.report.findings for one in checked) else 0
        yield Reply(status, document(checked, unread), "")
    yield _last(baseline, skipped, bool(checked or unread or options.skip_others))


def _checked(given: GivenText, options: Options, baseline: Baseline | None) -> CheckedListing:
    """The findings about one text, without those of the baseline."""
    from ...asm.reader import addresses
    from ...hazards.lint import lint

    report = lint(given.text, options.architecture and options.architecture.partition(":")[0])
    known = 0
    if baseline is not None:
        new = baseline.new(given.name, report.findings)
        known, report = len(report.findings) - len(new), report._replace(findings=new)
    return CheckedListing(report, given.name, addresses(given.text) if given.listed else {}, known)


def _written(answer: CheckedListing, form: str) -> Reply:
    status = 1 if answer.report.findings else 0
    if form == "github":
        from .annotations import workflow_commands

        return Reply(status, workflow_commands(answer), "")
    return show(form == "json", "lint", answer, text, status=status)


def _last(baseline: Baseline | None, skipped: int, anything: bool) -> Reply:
    """What is said at the end: of the baseline, and of files that were left out."""
    if not anything:
        raise Error(f"none of the {plural(skipped, 'file')} has an AMD instruction", kind="nothing")
    said = [f"{plural(skipped, 'file')} without AMD instructions left out"] if skipped else []
    if baseline is not None:
        said += baseline.closed()
    return Reply(0, "", "".join([f"mmacalc: {line}\n" for line in said]))


COMMAND = Command(
    "lint", "find hazards in listings: registers used too early, missing waits, lines that no assembler accepts",
    "wait", __doc__,
    (
        TARGET, JSON,
        option("--format", placeholder="", choices=FORMATS, default="text", help="how findings are written"),
        option(
            "--baseline", placeholder="FILE",
            help="leave out the findings that this file has; it is written where it is missing",
        ),
        flag("--update-baseline", help="write the findings of now to the file of --baseline"),
        flag("--skip-others", help="leave out files without AMD instructions, instead of refusing them"),
        argument(
            "text", "files, objects, folders or patterns, - for standard input; or one or more lines", nargs="+"
        ),
    ),
    run, {"lint": text},
)  # fmt: skip
