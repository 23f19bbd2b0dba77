"""What an editor shows of a text with matrix instructions: hovers, diagnostics, edits that repair them, cycles.

Nothing of a protocol is here: lines and columns are counted from 0 in characters of the text, as `str` counts them.
`mmacalc.cli.lsp` speaks to the editor.
"""

from __future__ import annotations

import re
from contextlib import suppress

from ..base.errors import Error, printable
from ..base.records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..hazards.lint import LintReport

__all__ = ["Document", "Fix", "Hint", "Hover", "Problem", "architecture_of"]

AMD_ENDINGS = (".s", ".asm", ".amdgcn", ".isa", ".dis")
SOURCES = (".hip", ".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cl", ".inl")
_TARGET = re.compile(
    r'^\s*\.amdgcn_target\s+"[^"\n]*?(gfx\w+)|^\s*\.target\s+(sm_\w+)|\bmmacalc:\s*(?:-a\s+)?([\w.+-]+)', re.M
)
_NAME = re.compile(
    r"\b(?:v_(?:mfma|smfmac|wmma|swmmac)\w*|(?:wgmma\.mma_async|mma|wmma|tcgen05|ldmatrix|stmatrix|movmatrix)(?:\.[\w:]+)+"
    r"|__builtin_amdgcn_(?:mfma|smfmac|wmma|swmmac)\w*|__hmma_\w+|__imma_\w+|llvm\.(?:amdgcn|nvvm)\.[\w.]*m(?:fma|ma)[\w.]*"
    r"|[HIDQBOU]G?MMA(?:\.[\w]+)+|UTC[A-Z]*MMA\w*|dpasw?\.\w[\w.]*)"
)
"""Names of matrix instructions, of the builtins that become them, and of SASS opcodes."""
LONGEST = 30  # lines of one statement


class Hover(TupleRecord):
    """A text in Markdown about a part of a line: from start to end."""

    text: str
    start: int
    end: int


class Problem(TupleRecord):
    """A diagnosis of a part of a line; code: the rule of lint; insert: the lines to put before it; first: the line of
    the instruction that it must wait for, or -1."""

    line: int
    start: int
    end: int
    message: str
    code: str
    insert: tuple[str, ...] = ()
    first: int = -1
    severity: str = "error"


class Fix(TupleRecord):
    """A repair: the text to insert at the beginning of a line."""

    title: str
    line: int
    text: str


class Hint(TupleRecord):
    """A remark behind a line."""

    line: int
    column: int
    text: str


def architecture_of(text: str) -> str | None:
    """The architecture that a text names: by its target, or in a comment `mmacalc: gfx942`.

    >>> architecture_of("; mmacalc: MI300X"), architecture_of(".target sm_90a, debug"), architecture_of("s_nop 0")
    ('MI300X', 'sm_90a', None)
    """
    found = _TARGET.search(text)
    return next((name for name in found.groups() if name), None) if found else None


class Document:
    """A text that is edited. Answers are computed from the text of now; what lines do is kept by `mmacalc.hazards`.

    Args:
        name: of the file. text: its content. architecture: for texts that name none.
    """

    def __init__(self, name: str, text: str, architecture: str | None = None) -> None:
        self.name: str = name.lower()
        self.lines: list[str] = text.replace("\r\n", "\n").split("\n")
        self.text: str = "\n".join(self.lines)
        self.architecture: str | None = architecture_of(self.text) or architecture
        self._report: LintReport | Error | None = None

    @property
    def assembly(self) -> bool:
        """Whether it is assembly of AMD, which lint reads."""
        return self.name.endswith(AMD_ENDINGS) and not re.search(r"^\s*\.target\s+sm_", self.text, re.M)

    @property
    def ptx(self) -> bool:
        """Whether it is a whole module of PTX, which the reader of kernels reads, and no part of one."""
        return bool(re.search(r"^\s*\.version\s+\d", self.text, re.M))

    def report(self) -> LintReport | Error:
        """What lint finds, or why it cannot say."""
        if self._report is None:
            from ..hazards.lint import lint

            try:
                self._report = lint(self.text, self.architecture)
            except Error as refused:
                self._report = refused
        return self._report

    def hover(self, line: int, column: int) -> Hover | None:
        """What the matrix instruction or builtin at a place does: its layout in the registers of the line, cycles, and
        how soon which other lines may follow."""
        if not 0 <= line < len(self.lines):
            return None
        for found in _NAME.finditer(self.lines[line]):
            statement, last = self._statement(line, found.start())
            ends = len(self.lines[line]) if last > line else found.start() + len(statement)
            if found.start() <= column <= max(found.end(), ends):
                text = _explained(statement, self.architecture)
                waits = "".join(self._waits(line)) if self.assembly else ""
                return Hover(f"```text\n{text}\n{waits}```", found.start(), found.end())
        return None

    def _statement(self, line: int, column: int) -> tuple[str, int]:
        """A statement from its name on, and its last line: to the end of the line in assembly of AMD, to the
        parenthesis that closes a call, to the semicolon in PTX."""
        text = self.lines[line][column:]
        if self.name.endswith(AMD_ENDINGS) and not text.startswith(("mma", "wgmma", "wmma", "tcgen05")):
            return re.split(r"//|;", text)[0].rstrip(), line
        last = line
        while not (end := _ended(text)) and last < min(len(self.lines) - 1, line + LONGEST):
            last += 1
            text += "\n" + self.lines[last]
        return (text[:end] if end else self.lines[line][column:]).strip(), last if end else line

    def _waits(self, line: int) -> Iterator[str]:
        """Which instructions must wait for that of a line, as far as the text has them."""
        from ..hazards.lint import waits

        try:
            every = waits(self.text, self.architecture).waits
        except Error:
            return
        for one in [one for one in every if one.first_line == line + 1][:4]:
            missing = f", {one.missing} missing" if one.missing else ""
            yield f"  line {one.line} ({one.text}) needs {one.wait.states} wait states, has {one.elapsed}{missing}\n"

    def problems(self) -> list[Problem]:
        """What lint finds, and in other texts names of instructions that nothing has."""
        if not self.assembly:
            return list(self._ptx_problems() if self.ptx else self._unknown_names())
        report = self.report()
        if isinstance(report, Error):
            if report.kind == "nothing":
                return []
            return [Problem(0, 0, len(self.lines[0]), str(report), "architecture", severity="information")]
        found = []
        for one in report.findings:
            start = one.column - 1
            message = one.sentence
            if one.wait is not None:
                message = (f"{one.missing} wait states too early after line {one.first_line} "
                           f"({printable(one.first_text)}): needs {one.wait.states}, has {one.elapsed}; "
                           f"{one.wait.rule}")  # fmt: skip
            elif one.first_line:
                message = f"{message} (line {one.first_line}: {printable(one.first_text)})"
            code = one.kind.replace(" ", "-")
            found.append(
                Problem(one.line - 1, start, start + len(one.text), message, code, one.nops, one.first_line - 1)
            )
        return found

    def _ptx_problems(self) -> Iterator[Problem]:
        """Where a module of PTX cannot be read, or else the statements of its kernels that are not known: ptxas refuses
        them, or the emulator does not run them; the message says which forms there are."""
        if not self.text.strip():
            return
        from .ptx_editing import faults

        for one in faults(self.text):
            code, severity = ("ptx-statement", "warning") if one.readable else ("ptx", "error")
            yield self._in_line(min(one.line, len(self.lines)) - 1, one.message, code, severity)

    def _in_line(self, line: int, message: str, code: str, severity: str) -> Problem:
        """A problem of a whole line, without what it is indented by."""
        text = self.lines[line]
        return Problem(line, len(text) - len(text.lstrip()), len(text.rstrip()), message, code, severity=severity)

    def _unknown_names(self) -> Iterator[Problem]:
        """Names of matrix instructions and builtins that no architecture, or not that of the text, has."""
        for number, line in enumerate(self.lines):
            if "mm" not in line and "mfma" not in line and "mac" not in line and "MMA" not in line:
                continue
            for found in _NAME.finditer(line.split("//")[0]):
                if problem := _name_problem(found[0], self.architecture):
                    yield Problem(number, found.start(), found.end(), problem, "unknown-name", severity="warning")

    def fixes(self, first: int, last: int) -> list[Fix]:
        """The repairs of what is wrong in lines."""
        if not self.assembly:
            return []
        return [fix for problem in self.problems() if problem.insert and first <= problem.line <= last
                for fix in [self._fix(problem)]]  # fmt: skip

    def _fix(self, problem: Problem) -> Fix:
        indent = self.lines[problem.line][: problem.start]
        indent = indent if indent.isspace() or not indent else "\t"
        lines = [f"{indent}{one}\n" for one in problem.insert]
        return Fix(f"Insert {'; '.join(problem.insert)}", problem.line, "".join(lines))

    def hints(self, first: int, last: int) -> list[Hint]:
        """The cycles of every matrix instruction in lines."""
        found = []
        for number in range(max(0, first), min(last + 1, len(self.lines))):
            line = self.lines[number]
            if (name := _NAME.search(line)) and (cycles := _cycles(name[0], self.architecture)):
                found.append(Hint(number, len(line.rstrip()), f"{cycles} cycles"))
        return found


def _ended(text: str) -> int:
    """Where a statement ends that begins with a name: behind the parenthesis that closes its call, or at a semicolon
    outside of quotes; 0 if it does not end."""
    depth = 0
    call = re.match(r"[\w.:]+\s*\(", text)
    for at, character in enumerate(text):
        depth += (character in "({[") - (character in ")}]")
        if call and depth == 0 and character == ")":
            return at + 1
        if not call and character in ';"' and depth <= 0:
            return at
        if depth < 0:
            return at
    return 0


_kept = Cache(4096)
"""What is said of a statement, and of a name, of an architecture."""


def _explained(statement: str, architecture: str | None) -> str:
    """The text of explain about one statement; where it is refused, why."""
    made: str = _kept.get(("explained", statement, architecture), lambda: _explain(statement, architecture))
    return made


def _explain(statement: str, architecture: str | None) -> str:
    from ..questions.explain import ExplainedText, explain, text

    problem = ""
    name = re.match(r"[\w.:]+", statement)
    for written in dict.fromkeys((statement, name[0] if name else "")):
        for where in dict.fromkeys((architecture, None)):
            try:
                return text(ExplainedText(explain(written, where), "the text")).rstrip("\n")
            except Error as refused:
                problem = problem or str(refused)
    return problem


def _name_problem(name: str, architecture: str | None) -> str:
    made: str = _kept.get(("problem", name, architecture), lambda: _problem(name, architecture))
    return made


def _problem(name: str, architecture: str | None) -> str:
    """Why a name is not an instruction; "" if it is one, or of a kind that the catalog does not list in full."""
    from ..questions.find import find

    if architecture is None or not name.startswith(("v_", "__builtin_amdgcn", "mma.sync", "wgmma.mma_async")):
        return ""
    with suppress(Error):
        if name.startswith("__builtin"):
            if find(arch=architecture, name=name):
                return ""
            others = dict.fromkeys([inst.arch for inst in find(name=name)])
            return f"{architecture} has no builtin {name}" + (f"; {', '.join(others)} have" if others else "")
        from ..catalog import entry

        entry(architecture).instruction(name)
        return ""
    try:
        from ..catalog import entry

        entry(architecture).instruction(name)
    except Error as refused:
        return str(refused)
    return ""


def _cycles(name: str, architecture: str | None) -> int:
    made: int = _kept.get(("cycles", name, architecture), lambda: _asked_cycles(name, architecture))
    return made


def _asked_cycles(name: str, architecture: str | None) -> int:
    from ..catalog import entry
    from ..questions.find import find

    if architecture is None:
        return 0
    with suppress(Error):
        if name.startswith(("__builtin", "llvm.")):
            found = find(arch=architecture, name=name)
            return (found[0].cycles or 0) if found else 0
        return entry(architecture).instruction(re.sub(r"_e(32|64)$", "", name)).cycles or 0
    return 0
