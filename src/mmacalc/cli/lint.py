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

from ..render.json import document
from . import Reply, show
from .files import each_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from .files import GivenText
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    parser.add_common("target", "json")
    parser.add_argument("text", nargs="+", help="paths of files, - for standard input; or one or more lines")


def run(options: Namespace) -> Iterator[Reply]:
    """The findings, and 1 if there are any; of several files one after another, also where one is refused."""
    return each_text(options, _reply)


def _reply(given: GivenText, options: Namespace) -> Reply:
    from ..asm.reader import addresses
    from ..hazards.lint import lint as check
    from ..render import lint

    arch = options.architecture and options.architecture.partition(":")[0]
    report = check(given.text, arch)
    status = 1 if report.findings else 0
    if options.json:
        return Reply(status, document("lint", lint.json_object(report, given.name)), "")
    return show(False, "lint", report, lint, given.name, addresses(given.text) if given.listed else {}, status=status)
