"""What LLVM does with every opcode of every format, found by asking it for words and for the same with one bit changed.

A bit that changes a printed operand belongs to that operand, one that changes what follows the operands to a modifier,
one that changes nothing is ignored, and one that makes another instruction or none is fixed. A modifier's bit that
makes another LLVM instruction of the same name (an atomic that returns, data in AccVGPRs) splits the row in two.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import NamedTuple

from mmacalc.asm.formats import OPERANDS, encodings
from mmacalc.asm.tables import FAMILY_OF

from .llvm import Answer, Decoder

# Values to begin with: registers far apart whose tuples are aligned, and 0 where an instruction lacks the operand.
_BEGIN = {
    "VDST": [8, 0, 126], "SDST": [16, 0, 8], "SRC0": [272, 16], "VSRC1": [24], "SRC1": [280, 24, 0],
    "SRC2": [288, 40, 0], "SSRC0": [32, 0], "SSRC1": [64, 0], "ADDR": [16, 0], "DATA0": [24, 0], "DATA1": [32, 0],
    "DATA": [24, 0], "VADDR": [16, 0], "VDATA": [24, 0], "SADDR": [48], "SOFFSET": [60], "SBASE": [8, 0],
    "VADDR0": [16], "VADDR1": [32], "VADDR2": [48], "VADDR3": [64],
    "SDATA": [32, 0], "SIMM16": [5, 0], "OP_SEL_HI": [7, 0], "DPP_CTRL": [0xE4, 0x150], "DST_SEL": [6],
    "SRC0_SEL": [6], "SRC1_SEL": [6, 0], "FORMAT": [1], "SRSRC": [10],
}  # fmt: skip
# Matrix instructions are those of the catalog; interpolation, images and typed buffers are graphics; tensor_save
# and tensor_stop are for trap handlers.
_ELSEWHERE = re.compile(r"v_(mfma|smfmac|wmma|swmmac|accvgpr)|.*interp|tbuffer|tensor_(save|stop)")
# Formats whose rows are those of another one, with other names for the fields; VOPD has a module of its own.
_DERIVED = re.compile(r"vopd|.*:bitop3\b")


class Printed(NamedTuple):
    """A printed operand: its field, place in the text and in the MCInst, and the text of each code of the field."""

    field: str
    token: int
    operand: int | None
    codes: tuple[str | None, ...]


class Found(NamedTuple):
    """A row: bits of modifiers that do something (`live`) or nothing (`ignored`), fields that a split fixed, operands
    whose text a modifier changes (`moved`: field -> bit -> places), and a text of each live modifier."""

    format: str
    opcode: int
    word: int
    answer: Answer
    fixed: dict[str, int]
    printed: tuple[Printed, ...]
    live: dict[str, int]
    ignored: dict[str, int]
    moved: dict[str, dict[int, tuple[int, ...]]]
    sample: dict[str, str]


def rows(program: str, target: str, wave: int | None, sweep: bool = True) -> list[Found]:
    """The rows of a target; `sweep`: also what every code of an operand is."""
    asked = _Rows(Decoder(program, target, wave), sweep)
    for name, form in encodings(FAMILY_OF[target][0]).items():
        if not _DERIVED.match(name):
            asked.format(name, form)
    return asked.found


class _Rows:
    def __init__(self, decoder: Decoder, sweep: bool) -> None:
        self.decoder, self.sweep, self.found = decoder, sweep, []
        self._codes = {}  # by what decides about them, so that each kind of operand is swept once

    def format(self, name, form) -> None:
        """All opcodes of a format."""
        fields = [field for field in form.fields.values() if field.value is None and field.name != "OP"]
        choices = product(*[[field.spread(value) for value in _begin(name, field)] for field in fields])
        fixed, code = form.encode({}), form.fields["OP"]
        begin = [fixed | sum(values) for values in choices]
        opcodes = range(1 << code.width)
        words = [[word | code.spread(opcode) for word in begin] for opcode in opcodes]
        answers = iter(self.decoder.words([word for some in words for word in some], form.size))
        for opcode, some in zip(opcodes, words):
            pairs = [(word, next(answers)) for word in some]
            known = [
                (word, answer) for word, answer in pairs
                if answer and answer.size >= form.size and not _ELSEWHERE.match(answer.text)
            ]  # fmt: skip
            if known:  # rather one that LLVM has no remark about
                word, answer = min(known, key=lambda pair: "/*" in pair[1].text)
                self.row(name, form, opcode, word, answer, {})

    def row(self, name, form, opcode, word, answer, fixed) -> None:
        """The row of a word that LLVM knows, or its two halves."""
        bits = [
            (field, bit) for field in form.fields.values() for bit in range(field.width)
            if field.name not in ("OP", "ENCODING") and field.name not in fixed
        ]  # fmt: skip
        flipped = self.decoder.words([word ^ field.spread(1 << bit) for field, bit in bits], form.size)
        found = Found(name, opcode, word, answer, fixed, (), Counter(), Counter(), {}, {})
        places: dict[str, Counter] = {}
        operands: dict[str, int] = {}
        for (field, bit), other in zip(bits, flipped):
            if other is None:
                continue
            if other.opcode != answer.opcode:
                if self._splits(field, answer, other):
                    for one, its in ((word, answer), (word ^ field.spread(1 << bit), other)):
                        self.row(name, form, opcode, one, its, {**fixed, field.name: field.gather(one)})
                    return
                continue
            self._bit(field, bit, answer, other, found, places, operands)
        printed = tuple(
            self._printed(found, form, form.fields[field], count.most_common(1)[0][0], operands.get(field))
            for field, count in places.items()
        )
        self.found.append(found._replace(printed=printed))

    def _splits(self, field, answer: Answer, other: Answer) -> bool:
        """Whether a bit makes another LLVM instruction of the same name, and is a modifier's."""
        names = [self.decoder.opcode(each.opcode).name for each in (answer, other)]
        if "t16" in names[0] and "fake16" in names[1]:  # LLVM's older description of the same instruction
            return False
        modifier = field.value is None and field.name not in OPERANDS and field.name != "OFFSET"
        return modifier and not field.name.startswith("BIT") and other.name == answer.name

    def _bit(self, field, bit, answer, other, found, places, operands) -> None:
        """What a bit is for that leaves the instruction the same."""
        changed = [at for at, pair in enumerate(zip(answer.tokens, other.tokens)) if pair[0] != pair[1]]
        in_place = field.name in OPERANDS or field.name == "OFFSET"
        if in_place and len(changed) == 1 and len(answer.tokens) == len(other.tokens):
            places.setdefault(field.name, Counter())[changed[0]] += 1
            moved = [at for at, pair in enumerate(zip(answer.operands, other.operands)) if pair[0] != pair[1]]
            if moved:
                operands.setdefault(field.name, moved[0])
        elif other.text == answer.text:
            found.ignored[field.name] |= 1 << bit
        else:
            found.live[field.name] |= 1 << bit
            found.sample.setdefault(field.name, other.modifiers)
            others = tuple(at for at in changed if bare(answer.tokens[at]) != bare(other.tokens[at]))
            if others and not in_place:
                found.moved.setdefault(field.name, {})[bit] = others

    def _printed(self, found: Found, form, field, token: int, operand: int | None) -> Printed:
        if field.width > 9 or not self.sweep:
            return Printed(field.name, token, operand, ())
        described = self.decoder.opcode(found.answer.opcode).operands
        kind = described[operand] if operand is not None and operand < len(described) else None
        key = (found.format, field.name, found.answer.tokens[token], kind, token)
        if kind is None or key not in self._codes:
            words = [found.word & ~field.mask | field.spread(value) for value in range(1 << field.width)]
            answers = self.decoder.words(words, form.size)
            texts = tuple(
                other.tokens[token]
                if other and other.opcode == found.answer.opcode and len(other.tokens) > token
                and "/*" not in other.tokens[token] else None
                for other in answers
            )  # fmt: skip
            self._codes[key] = texts
        return Printed(field.name, token, operand, self._codes[key])


def bare(token: str) -> str:
    """An operand without sign and absolute value."""
    return re.sub(r"^-?\|?(.*?)\|?$", r"\1", re.sub(r"^(?:neg|sext|abs)\((.*)\)$", r"\1", token))


def _begin(name: str, field) -> list[int]:
    """The values of a field to begin with, in a format."""
    values = _BEGIN.get(field.name, [0])
    if field.name == "SRC0" and (field.width == 8 or name.startswith("sdwa")):
        values = [16]
    elif field.name == "SRSRC" and field.width == 9:
        values = [40]
    elif field.name == "OFFSET" and name in ("smem", "smem:both"):  # 0 is printed otherwise
        values = [8]
    elif field.name == "VDST" and "vop3" not in name:
        values = [8, 0]
    return [value for value in values if value < 1 << field.width]
