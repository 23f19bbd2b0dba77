"""The reader of assembly text: comments, labels, symbols, directives, and the statements with their operands.

It takes what LLVM and AMD's own kernels write: comments of every style (`;`, `//`, `#`, `/* */`), numeric labels,
`.set` symbols, macro definitions (left out), llvm-objdump's addresses, and the target that a file names. It knows no
instruction: the assembler reads operands with `mmacalc.asm.tokens`, what an instruction does to registers is
`mmacalc.hazards.register_use`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..base.checks import whole
from ..base.errors import Error
from ..base.records import TupleRecord
from .macros import Expander
from .registers import FILES, RegisterRange
from .tokens import integer, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "AMD_MNEMONICS",
    "MATRIX",
    "Listing",
    "Reader",
    "Statement",
    "addresses",
    "named_targets",
    "parse",
    "read_line",
    "read_listing",
    "vector_registers",
]


class Statement(TupleRecord):
    """One instruction: lower-case mnemonic, operand texts, {modifier: value}, line number from 1, and its text.

    second: of a VOPD pair (`first :: second`) the second half. In the operands, not in the text, symbols are
    replaced by their values. written: the text with the registers that the code has, where a comment says which ones
    above 255 are meant (and the operands have those); else "".
    """

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: dict[str, str]
    number: int
    text: str
    second: Statement | None = None
    written: str = ""


class Listing(TupleRecord):
    """A listing.

    statements: its instructions; alike: of each, the number of the first that reads alike. labels: label -> the
    statements that it stands before, in order of appearance. addresses: address -> statement, where the listing has
    addresses. targets: those that it names. resolved: the text of each statement with the values of symbols in the
    registers. symbols: those of `.set`, with their last values. macros: the names of macros, in lower case.
    """

    statements: tuple[Statement, ...]
    alike: tuple[int, ...]
    labels: dict[str, tuple[int, ...]]
    addresses: dict[int, int]
    targets: tuple[str, ...]
    resolved: tuple[str, ...] = ()
    symbols: dict[str, int] = {}
    macros: frozenset[str] = frozenset()


# gfx1250 prints the true number of a register above 255 as a comment: `v0 /*v256*/`.
_TRUE_NAME = re.compile(r"\bv(?:\d+|\[\d+:\d+\])\s*/\*\s*(v(?:\d+|\[\d+:\d+\]))\s*\*/")
# A block comment that a line comment or a string opens is none.
_BLOCK_COMMENT = re.compile(r"(//[^\n]*|;[^\n]*|^[ \t]*#[^\n]*|\"[^\"\n]*\")|/\*.*?(?:\*/|\Z)", re.DOTALL | re.M)
_LINE_COMMENT = re.compile(r"//.*|;.*|^\s*#.*")
_ADDRESS = re.compile(r"//\s*([0-9A-Fa-f]{8,16}):")
_LABEL = re.compile(r"\s*(?:[0-9A-Fa-f]+\s+<([^>]+)>|([\w.$@]+))\s*:(?!:)", re.ASCII)
_SYMBOL = re.compile(r"\s*(?:\.(?:set|equ|equiv)\s+([\w.$]+)\s*,|([\w.$]+)\s*=(?!=))\s*(.+)", re.ASCII)
_WORD = re.compile(r"(?<![\w.$@])[A-Za-z_.$][\w.$@]*", re.ASCII)
_WAIT = re.compile(r"(?:s_nop|s_waitcnt_depctr|s_wait_alu)\s", re.IGNORECASE)
_BRACKETED = re.compile(r"\[[^\[\]]*\]")
_SPACED = re.compile(r"\[[^\[\]]*\s[^\[\]]*\]")
_PART = re.compile(r"(?:[^,\[(]|\[[^\[\]]*\]|\([^()]*\)|[\[(])+")
_MODIFIER = re.compile(r"([A-Za-z_]\w*):(.*)", re.ASCII | re.DOTALL)
_OPERAND_WORD = re.compile(r"(?:[vas]|acc|ttmp)(?:\d+|\[.*\])$|-?\d|[-|]", re.IGNORECASE | re.ASCII)
_REGISTER = re.compile(
    r"(?<![\w.$@])(?:(v|acc|a|s|ttmp)(?:(\d{1,4})(?![\w@])|\[([^\[\]]*)\])(?:\.([lh])\b)?"
    r"|(vcc|exec|flat_scratch|xnack_mask)(_lo|_hi)?\b|(m0|scc)\b)",
    re.IGNORECASE | re.ASCII,
)
_TARGET = re.compile(
    r"^[ \t]*(?:\.amdgcn_target|\.amd_amdgpu_isa|amdhsa\.target:)\s*[\"']?amdgcn-[\w.]*-[\w.]*-[\w.]*-(gfx[\w-]+)", re.M
)
_MACRO = re.compile(r"^[ \t]*\.macro[ \t]+([\w.$@]+)", re.MULTILINE | re.IGNORECASE | re.ASCII)
_BLOCKS = {".macro": (".endm", ".endmacro"), ".amdgpu_metadata": (".end_amdgpu_metadata",)}
MATRIX = ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")
AMD_MNEMONICS = (
    "v_", "s_", "buffer_", "tbuffer_", "image_", "global_", "flat_", "scratch_", "ds_", "lds_", "tensor_", "exp ",
    "export ", "cluster_",
)  # fmt: skip
LAST_REGISTER = {"v": 1023, "a": 255}
_LAST = {**LAST_REGISTER, "s": 127, "ttmp": 15}
# VCC, M0 and EXEC are SGPRs (CDNA3 ISA guide, section 4.1); what has no such number is a file of its own.
NAMED_REGISTERS = {
    "vcc": RegisterRange("s", 106, 2), "m0": RegisterRange("s", 124, 1), "exec": RegisterRange("s", 126, 2),
    "scc": RegisterRange("scc", 0, 1),
    **{name: RegisterRange(name, 0, 2) for name in ("flat_scratch", "xnack_mask")},
}  # fmt: skip


class Reader:
    """A text being read. `symbols` and `labels` grow as its statements are taken one by one.

    symbols: the `.set` symbols with their present values. labels: label -> how many statements came before it.
    before: the labels just before the last statement; after: those behind all statements. meant: whether registers are
    those that a comment names, such as /*v256*/, or those of the code, of which s_set_vgpr_msb has the higher bits.
    """

    def __init__(self, text: str, meant: bool = True) -> None:
        self.text: str = text
        self.meant: bool = meant
        self.symbols: dict[str, int] = {}
        self.labels: dict[str, list[int]] = {}
        self.addresses: dict[int, int] = {}
        self.before: list[str] = []
        self.after: list[str] = []

    def statements(self, strict: bool = False) -> Iterator[tuple[int, str]]:
        """The instructions, with their line numbers, without labels; when strict also everything else: directives
        (except `.set`), and lines of other programs; macros are expanded then."""
        count = 0
        ends: tuple[str, ...] = ()
        labels: list[str] = []
        read = Expander(self.symbols, self._defined).expanded if strict else _numbered
        for number, raw in read(self._lines()):
            line, address = raw, None
            if "/" in line or ";" in line or "#" in line:
                address = _ADDRESS.search(line)
                line = _LINE_COMMENT.sub("", line)
            line = line.strip()
            if not line:
                continue
            if ends:
                ends = () if line.split(None, 1)[0].lower() in ends else ends
                continue
            while ":" in line and (label := _LABEL.match(line)):
                labels.append(label[1] or label[2])
                self.labels.setdefault(labels[-1], []).append(count)
                line = line[label.end() :].lstrip()
            if not line or ((line[0] == "." or "=" in line) and self._set(line)):
                continue
            if line[0] in ".<-":
                ends = _BLOCKS.get(line.split(None, 1)[0].lower(), ())
                if strict:
                    self.before, labels = labels, []
                    yield number, line
                continue
            if address:
                self.addresses[whole(f"0x{address[1]}", "an address", (1 << 64) - 1)] = count
            count += 1
            self.before, labels = labels, []
            yield number, line
        self.after = labels

    def _defined(self, name: str) -> bool:
        return name in self.symbols or name in self.labels

    def _lines(self) -> list[str]:
        text = self.text
        if "/*" in text:
            text = _TRUE_NAME.sub(r"\1", text) if self.meant else text
            # A block comment becomes its newlines, so that the numbers stay right.
            text = _BLOCK_COMMENT.sub(lambda comment: comment[1] or " " + "\n" * comment[0].count("\n"), text)
        return text.split("\n")

    def _set(self, line: str) -> bool:
        """Whether the line sets a symbol; if so, set it. A value that cannot be computed leaves it unknown."""
        symbol = _SYMBOL.match(line)
        if symbol is None:
            return False
        name = symbol[1] or symbol[2]
        try:
            self.symbols[name] = integer(symbol[3], self.symbols)
        except Error:
            self.symbols.pop(name, None)
        return True

    def resolved(self, text: str) -> str:
        """An instruction with the values of symbols in brackets, and in the operand of waits, for their names."""
        if not self.symbols:
            return text

        def number(name: re.Match[str]) -> str:
            return f"({self.symbols[name[0]]})" if name[0] in self.symbols else name[0]

        if wait := _WAIT.match(text):
            return wait[0] + _WORD.sub(number, text[wait.end() :])
        return _BRACKETED.sub(lambda bracket: _WORD.sub(number, bracket[0]), text)


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return iter(enumerate(lines, 1))


def read_line(text: str) -> Statement:
    """The one statement of a line of assembly.

    Raises:
        Error: the text has no instruction, or several.

    >>> read_line("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3] cbsz:1 ; comment").operands
    ('v[0:3]', 'v4', 'v5', 'v[0:3]')
    """
    statements = read_listing(text).statements
    if len(statements) != 1:
        what = f"{len(statements)} instructions" if statements else "no instruction"
        raise Error(f"one line of assembly is needed, such as 'v_mov_b32 v0, v1'; '{text.strip()[:60]}' has {what}")
    return statements[0]


def read_listing(text: str) -> Listing:
    """Read a whole listing. Never raises; unrecognised lines are skipped."""
    reader = Reader(text)
    statements: list[Statement] = []
    texts: list[str] = []
    alike: list[int] = []
    known: dict[str, int] = {}
    for number, line in reader.statements():
        resolved = reader.resolved(line)
        at = len(statements)
        texts.append(resolved)
        first = known.setdefault(resolved, at)
        alike.append(first)
        one = parse(resolved, number) if first == at else statements[first]
        if first != at or resolved is not line:
            one = Statement(one.mnemonic, one.operands, one.modifiers, number, line, one.second)
        statements.append(one)
    if _TRUE_NAME.search(text):
        written = dict(Reader(text, meant=False).statements())
        statements = [
            one if one.text == written[one.number] else one._replace(written=written[one.number]) for one in statements
        ]
        texts = [one.written or text for one, text in zip(statements, texts)]
    labels = {name: tuple(places) for name, places in reader.labels.items()}
    macros = frozenset(name.lower() for name in _MACRO.findall(text))
    return Listing(
        tuple(statements),
        tuple(alike),
        labels,
        reader.addresses,
        named_targets(text),
        tuple(texts),
        reader.symbols,
        macros,
    )


def addresses(text: str) -> dict[int, int]:
    """The address of every line that shows one, by its number from 1, as llvm-objdump writes it.

    >>> addresses("s_nop 0 // 000000001900: BF800000")
    {1: 6400}
    """
    if "//" not in text:
        return {}
    found = ((number, _ADDRESS.search(line)) for number, line in enumerate(text.split("\n"), 1))
    return {number: whole(f"0x{address[1]}", "an address", (1 << 64) - 1) for number, address in found if address}


def named_targets(text: str) -> tuple[str, ...]:
    """The compiler targets that a text names, without their features.

    >>> named_targets('.amdgcn_target "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"')
    ('gfx942',)
    """
    return tuple(dict.fromkeys(_TARGET.findall(text)))


def parse(text: str, number: int = 1) -> Statement:
    """One statement without label or comment."""
    if "::" in text:
        first, _, last = text.partition("::")
        if first.strip() and last.strip():
            return parse(first, number)._replace(text=text, second=parse(last, number))
    mnemonic, rest = (*text.split(None, 1), "")[:2]
    if operands := plain(rest):
        return Statement(mnemonic.lower(), tuple(operands), {}, number, text)
    modifiers: dict[str, str] = {}
    if " " in rest and _SPACED.search(rest):  # `v[0 : 3]` is one word
        rest = _BRACKETED.sub(lambda bracket: "".join(bracket[0].split()), rest)
    for part in _PART.findall(rest):
        at_start, named = True, ""
        for word in part.split():
            modifier = _MODIFIER.fullmatch(word) if ":" in word else None
            if named:  # `cbsz: 1`
                modifiers[named], named = word, ""
            elif modifier:
                named = "" if modifier[2] else modifier[1].lower()
                modifiers[modifier[1].lower()] = modifier[2]
            elif at_start or _OPERAND_WORD.match(word):
                operands.append(word)
            else:
                modifiers[word.lower()] = ""
            at_start = False
    return Statement(mnemonic.lower(), tuple(operands), modifiers, number, text)


def vector_registers(operand: str) -> tuple[RegisterRange, ...]:
    """The vector registers that an operand names; empty for constants, SGPRs and what is unknown.

    >>> [str(registers) for registers in vector_registers("neg(v[4:7])")]
    ['v[4:7]']
    """
    return tuple([one for one in registers(operand) if one.file in LAST_REGISTER])


@lru_cache(maxsize=100_000)
def registers(operand: str) -> tuple[RegisterRange, ...]:
    """The registers of every file that an operand names.

    >>> [str(registers) for registers in registers("s[4:5]") + registers("vcc_hi") + registers("acc[0:1]")]
    ['s[4:5]', 's107', 'a[0:1]']
    """
    return tuple(_registers(operand))


def _registers(operand: str) -> Iterator[RegisterRange]:
    for file, number, bracket, half, pair, part, single in _REGISTER.findall(operand):
        if pair or single:
            named = NAMED_REGISTERS[(pair or single).lower()]
            yield named._replace(first=named.first + (part.lower() == "_hi"), count=1) if part else named
            continue
        name = FILES[file.lower()]
        for part in [number] if number else bracket.split(","):  # `v[4:7]`; `v[4]`; a list, `v[4,5]` or `v[4:5, 8]`
            try:
                ends = [integer(end) for end in part.split(":")]
            except Error:
                continue
            if len(ends) <= 2 and 0 <= ends[0] <= ends[-1] <= _LAST[name]:
                yield RegisterRange(name, ends[0], ends[-1] - ends[0] + 1, half.lower())
