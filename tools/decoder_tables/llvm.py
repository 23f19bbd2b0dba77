"""LLVM's decoder, asked through llvm_decoder."""

from __future__ import annotations

import subprocess
from functools import cache
from typing import NamedTuple

_BATCH = 300  # lines; their answers fit into a pipe
# What follows the words that are asked for: a literal that no inline constant equals.
PADDING = bytes.fromhex("12efcd2b") + bytes(16)


class Operand(NamedTuple):
    """Of an opcode: LLVM's operand type, register class, and the operand that it is tied to (-1: none)."""

    type: int
    kind: str
    tied: int


class Opcode(NamedTuple):
    """What LLVM says of an opcode: its name, how many operands it writes, all operands, registers that it implies."""

    name: str
    definitions: int
    operands: tuple[Operand, ...]
    uses: tuple[str, ...]
    defines: tuple[str, ...]


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
        name, definitions, operands, uses, defines = self.lines([f"D {number}"])[0].split("|")
        parts = [each.rsplit(",", 2) for each in operands.split(";") if each]
        described = tuple(Operand(int(kind), group, int(tied)) for kind, group, tied in parts)
        return Opcode(name, int(definitions), described, *(tuple(each.lower().split()) for each in (uses, defines)))


def _answer(line: str) -> Answer:
    size, opcode, rest = line.split("|", 2)
    text, operands = rest.rsplit("|", 1)
    name, _, body = text.partition(" ")
    tokens, modifiers = _tokens(body)
    return Answer(int(size), int(opcode), name, tokens, modifiers, tuple(operands.split(";")), text)


def _tokens(body: str) -> tuple[tuple[str, ...], str]:
    """The operands of a text and what follows them."""
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
