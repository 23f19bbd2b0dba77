"""How many wait states one instruction needs after another, and by which rule; or all such pairs of a listing.

    mmacalc waits -a gfx950 "v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], v[20:23], v[0:15]" "v_add_f32 v24, v0, v25"
    mmacalc waits kernel.hsaco               an object: each kernel's pairs
    mmacalc waits -a gfx942 kernel.s         a listing

Two lines are assembly as LLVM writes it. Wait states are independent instructions, or s_nop N for N + 1 of them;
on gfx11, gfx12 and gfx1250 they are VALU instructions or v_nop. On gfx1100 to gfx1103 a VALU instruction that reads
what a transcendental one wrote (v_exp_f32, then a WMMA) needs s_waitcnt_depctr depctr_va_vdst(0), unless enough stands
between; so does lds_direct_load whose wait_vdst is too large for what was before. Where LLVM and the ISA guide differ
the larger counts. A source marked unconfirmed is shown but does not count.

Of a listing or an object each instruction that needs wait states after an earlier one is printed with the states that
it needs and has, on the shortest path; those that lack some are marked. `mmacalc lint` finds the same mistakes, and
missing waits for memory. The status is 0 both ways.
"""

from __future__ import annotations

from itertools import groupby

from ..base.errors import Error, plural, printable
from ..base.records import Record, json_keys
from ..command import Command, Reply, argument, show
from ..command.common import JSON, TARGET
from ..command.files import each_text, names_file
from .disassemble import object_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..command import Options
    from ..command.files import GivenText
    from ..hazards.lint import RequiredWait, WaitsReport
    from ..hazards.recognizer import WaitStates


@json_keys("file", "**report")
class ListedWaits(Record):
    """The waits of a listing; name: of the file; addresses: those of the lines that have one, which name their places
    in the text instead."""

    report: WaitsReport
    name: str
    addresses: Mapping[int, int] = {}

    @property
    def file(self) -> str:
        """The name of the file, without what a terminal would obey."""
        return printable(self.name)


def report_text(report: WaitsReport) -> str:
    """The waits of a text."""
    return text(ListedWaits(report, "the text"))


def text(answer: WaitStates | ListedWaits) -> str:
    """The number with the nops that give it, the rule, and every source's answer; of a listing each pair."""
    return _listing_text(answer) if isinstance(answer, ListedWaits) else _pair_text(answer)


def _pair_text(wait: WaitStates) -> str:
    nops = f" ({nops_text(wait.nops)})" if wait.nops else ""
    nops = f", or {wait.expiry.instruction}" if wait.nops and wait.expiry.instruction else nops
    lines = [f"{states_text(wait.states, wait.unit)}{nops}", f"  {wait.rule}"]
    lines += [f"  also ended by {wait.expiry.words}"] if wait.expiry.words else []
    for source in wait.sources:
        note = "" if source.rule else ": no row"
        note += "" if source.provenance != "unconfirmed" else "  (unconfirmed, not counted)"
        lines.append(f"  {source.states:3}  {source.place}{note}")
    return "\n".join(lines) + "\n"


def _listing_text(answer: ListedWaits) -> str:
    """The waits of a listing, those of each kernel or function below its name."""
    report, name, addresses = answer.report, answer.file, answer.addresses
    if report.unjudged:
        return f"{name}: wait states are not judged: {report.unjudged}\n"
    if not report.waits:
        return f"{name}: no instruction needs wait states after another\n"
    lines = []
    for part, waits in groupby(report.waits, lambda one: one.part):
        lines += [f"{printable(part) or name}:"]
        lines += [_listed(one, addresses) for one in waits]
    short = sum(one.missing > 0 for one in report.waits)
    lines.append(f"{plural(len(report.waits), 'wait')}, of which {short} too short" if short else
                 f"{plural(len(report.waits), 'wait')}, all long enough")  # fmt: skip
    return "\n".join(lines) + "\n"


def _listed(one: RequiredWait, addresses: Mapping[int, int]) -> str:
    first, second = (f"{addresses[line]:#x}" if line in addresses else f"line {line}"
                     for line in (one.first_line, one.line))  # fmt: skip
    enough = f"  {plural(one.missing, 'state')} missing" if one.missing else ""
    ends = f" or {one.wait.expiry.instruction}" if one.wait.expiry.instruction else ""
    return (
        f"  {second}: {printable(one.text)}\n"
        f"    after {first}: {printable(one.first_text)}\n"
        f"    needs {states_text(one.wait.states, one.wait.unit)}{ends}, has {one.elapsed}{enough}: {one.wait.rule}"
    )


def states_text(states: int, unit: str) -> str:
    """`4 wait states`, or `4 VALU wait states` where only VALU instructions count."""
    return plural(states, "VALU wait state" if unit == "v_nop" else "wait state")


def nops_text(nops: Sequence[str]) -> str:
    """`s_nop 15; s_nop 1`, or `4 v_nop`."""
    return f"{len(nops)} v_nop" if nops and nops[0] == "v_nop" else "; ".join(nops)


def run(options: Options) -> Iterator[Reply]:
    """The wait states of a pair, or of every pair of each listing."""
    from ..hazards.recognizer import wait_states

    lines = options.text
    if len(lines) != 2 or any(map(names_file, lines)):
        yield from each_text(options, _reply, object_text)
        return
    if options.architecture is None:
        raise Error("two lines of assembly name no architecture; give it: -a gfx942")
    yield show(options.json, "waits", wait_states(lines[0], lines[1], options.architecture), text)


def _reply(given: GivenText, options: Options) -> Reply:
    from ..asm.reader import addresses
    from ..hazards.lint import waits

    report = waits(given.text, options.architecture and options.architecture.partition(":")[0])
    answer = ListedWaits(report, given.name, addresses(given.text) if given.listed else {})
    return show(options.json, "waits", answer, text)


COMMAND = Command(
    "waits", "show how many wait states one instruction needs after another, and by which rule", "wait", __doc__,
    (
        TARGET, JSON,
        argument("text", "two lines of assembly; or paths of files, - for standard input", nargs="+"),
    ),
    run, {"waits": text}, older=("wait-states",),
)  # fmt: skip
