"""LLVM's decoder, asked through llvm_decoder."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from typing import NamedTuple

_BATCH = 300  # lines; their answers fit into a pipe
# What follows the words that are asked for: a literal that no inline constant equals.
PADDING = bytes.fromhex("12efcd2b") + bytes(16)


class Operand(NamedTuple):
    """Of an opcode: LLVM's operand type, register class, and the operand that it is tied to (-1: none); kept: whether
    only the code generator's instruction has that tie, not what is encoded (S_BITSET0_B32_vi).
    """

    type: int
    kind: str
    tied: int
    kept: bool = False


class Opcode(NamedTuple):
    """What LLVM says of an opcode: its name, how many operands it writes, all operands, registers that it implies, and
    its flags: those of MCInstrDesc in lower case, those of TSFlags as in `FLAGS`."""

    name: str
    definitions: int
    operands: tuple[Operand, ...]
    uses: tuple[str, ...]
    defines: tuple[str, ...]
    flags: frozenset[str]


# The bits of TSFlags that say what an instruction does rather than how it is encoded: LLVM 22.1.8, SIDefines.h,
# namespace SIInstrFlags.
FLAGS = {
    0: "salu", 1: "valu", 16: "trans", 17: "mubuf", 18: "mtbuf", 19: "smem", 20: "mimg", 21: "mimg", 22: "mimg",
    23: "exp", 24: "flat", 25: "ds", 28: "ldsdir", 32: "vmcnt", 33: "expcnt", 34: "lgkmcnt", 38: "tensorcnt",
    39: "scalar_store", 41: "asynccnt", 49: "packed", 51: "global", 52: "double_rounding", 53: "float_atomic",
    54: "mai", 55: "dot", 56: "scratch", 57: "atomic", 58: "atomic", 59: "wmma", 62: "gws", 63: "swmmac",
}  # fmt: skip
# Ends of the names of what is encoded, which the instruction that LLVM's code generator uses lacks.
_GENERATION = re.compile(r"(?:_VE)?_(?:vi|gfx\w+|si)$")


class Answer(NamedTuple):
    """size, opcode, the text's mnemonic, operands and modifiers, and the operands of the MCInst."""

    size: int
    opcode: int
    name: str
    tokens: tuple[str, ...]
    modifiers: str
    operands: tuple[str, ...]
    text: str


class Decoder:
    """The decoder of a target, in a process of its own."""

    def __init__(self, program: str, target: str, wave: int | None) -> None:
        features = [f"+wavefrontsize{wave}"] if wave else []
        if target.startswith("gfx12"):  # LLVM 22 names halves of registers on gfx11 only, later versions here too
            features.append("+real-true16")
        pipe = subprocess.PIPE
        command = [program, target, ",".join(features)]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def lines(self, lines: list[str]) -> list[str]:
        answers, process = [], self._process
        for first in range(0, len(lines), _BATCH):
            part = lines[first : first + _BATCH]
            process.stdin.write("\n".join(part) + "\nF\n")
            process.stdin.flush()
            answers += [process.stdout.readline().rstrip("\n") for _ in part]
        return answers

    def words(self, words: list[int], size: int) -> list[Answer | None]:
        """What words of so many bytes decode to."""
        lines = [(word.to_bytes(size, "little") + PADDING).hex() for word in words]
        return [None if line[0] in "-~" else _answer(line) for line in self.lines(lines)]

    @cache  # noqa: B019
    def opcode(self, number: int) -> Opcode:
        found = _opcode(self.lines([f"D {number}"])[0])
        line = self._described.get(_GENERATION.sub("", found.name))
        general = _opcode(line) if line else found
        if len(general.operands) != len(found.operands):
            return found
        pairs = zip(found.operands, general.operands)
        tied = [one if one.tied == other.tied else one._replace(tied=other.tied, kept=True) for one, other in pairs]
        return found._replace(operands=tuple(tied))

    @property
    @cache  # noqa: B019
    def _described(self) -> dict[str, str]:
        """Every opcode by its name, as it is described."""
        (count,) = self.lines(["N"])
        return {line.partition("|")[0]: line for line in self.lines([f"D {number}" for number in range(int(count))])}


def _opcode(line: str) -> Opcode:
    name, definitions, operands, uses, defines, flags = line.split("|")
    parts = [each.rsplit(",", 2) for each in operands.split(";") if each]
    described = tuple(Operand(int(kind), group, int(tied)) for kind, group, tied in parts)
    *plain, bits = flags.split()
    special = [flag for bit, flag in FLAGS.items() if int(bits) >> bit & 1]
    implied = [tuple(each.lower().split()) for each in (uses, defines)]
    return Opcode(name, int(definitions), described, *implied, frozenset((*plain, *special)))


def _answer(line: str) -> Answer:
    size, opcode, rest = line.split("|", 2)
    text, operands = rest.rsplit("|", 1)
    name, _, body = text.partition(" ")
    tokens, modifiers = _tokens(body)
    return Answer(int(size), int(opcode), name, tokens, modifiers, tuple(operands.split(";")), text)


def _tokens(body: str) -> tuple[tuple[str, ...], str]:
    """The operands of a text and what follows them."""
    if "[" not in body and "(" not in body:
        *plain, rest = body.split(",")
        last, space, more = rest.strip().partition(" ")
        words = (*(one.strip() for one in plain), *([last] if last else ()))
        return words, space + more
    tokens, depth, start = [], 0, 0
    for at, character in enumerate(body):
        depth += (character in "[(") - (character in "])")
        if depth == 0 and character == ",":
            tokens.append(body[start:at].strip())
            start = at + 1
    last, depth = body[start:].strip(), 0
    for at, character in enumerate(last):
        depth += (character in "[(") - (character in "])")
        if depth == 0 and character == " ":
            return (*tokens, last[:at]), last[at:]
    return (*tokens, last) if last else tuple(tokens), ""
