"""DPAS and DPASW of Intel's Xe, assembled and disassembled byte for byte as iga64 does.

    (W) dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf {Atomic,$3}

D, C (src0, `null` for zero), B (src1) and A (src2), each with its type; A may begin within a register, at an element
that is counted by its type. What iga64 takes and IGC's DPAS.md excludes is refused: predicates, other execution sizes
and depths, D, C and B that begin within a register, accumulators other than f, hf, bf, d and ud. As iga64, the two
sources may be of any two floating types, though DPAS.md wants both alike.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from ..base.checks import number as whole_number
from ..base.checks import whole
from ..base.errors import Error, did_you_mean, plural
from ..base.records import Record, TupleRecord
from ..catalog import entry
from ..families.dpas import TYPES
from ..formats import named
from .dpas_encodings import ACCUMULATORS, DEPTH, DEPTH_CODE, GENERATIONS, OPCODES, SOURCE_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .dpas_encodings import Generation
    from .fields import Encoding, Field

__all__ = ["assemble_lines", "instructions", "respelled", "statements"]

SPELT = {"ub": "u8", "b": "s8"}
PRINTED = {spelt: printed for printed, spelt in SPELT.items()}
LINE = re.compile(
    r"(?:\((?P<w>W)\))?\s*(?P<mnemonic>dpasw?)\.(?P<depth>\d+)x(?P<count>\d+)\s*"
    r"\(\s*(?P<size>\d+)\s*(?:\|\s*M(?P<mask>\d+)\s*)?\)"
    r"(?P<operands>[^{]*)(?:\{(?P<options>[^}]*)\})?\s*;?"
)
OPERAND = re.compile(r"(?P<register>null|r\d+)(?:\.(?P<sub>\d+))?\s*:\s*(?P<type>\w+)")
OPERANDS = (("dst", "D"), ("src0", "C"), ("src1", "B"), ("src2", "A"))
FIELDS = ("DST", "SRC0", "SRC1", "SRC2")
EXAMPLE = "dpas.8x8 ({size}|M0) r40:f r30:f r20:bf r10.0:bf"


class Form(Record):
    """How DPAS is encoded on a generation: its mnemonic, depth and repeat count, and the fields."""

    name: str
    encoding: Encoding
    operands: Mapping[str, str]

    def meaning(self, field: Field, values: Mapping[str, int]) -> str:
        """What the value of a field means."""
        text = self.operands.get(field.name)
        return f"{field.meaning}; {text}" if text else field.meaning


class Encoded(TupleRecord):
    """One assembled statement: its form and its bytes. linked: of AMD's, what a linker fills in."""

    form: Form
    code: bytes
    linked: None = None

    @property
    def values(self) -> dict[str, int]:
        """The value of every field of the encoding."""
        return self.form.encoding.decode(int.from_bytes(self.code, "little"))


def _generation(arch: str, wave: int | None = None, llvm: int | None = None) -> tuple[str, int, Generation]:
    """The title, the execution size and the encodings of an architecture.

    Raises:
        Error: its encodings were never seen, it has no such execution size, or LLVM's encodings are asked for.
    """
    record = entry(arch).architecture
    record.wave(wave)
    if llvm is not None:
        raise Error(f"the encodings of {record.title} are those of iga64; LLVM has none (leave llvm out)")
    if not record.assembly:
        known = "Xe-HP, Xe-HPG and Xe-HPC"
        raise Error(f"how {record.title} encodes DPAS is not known here: iga64 1.1.0, which was asked, has {known}")
    return record.title, record.waves[0], GENERATIONS[record.assembly]


def assemble_lines(text: str, arch: str, wave: int | None = None, llvm: int | None = None) -> list[Encoded]:
    """Every statement of a text, assembled.

    Raises:
        Error: a line is not a DPAS of the architecture; the message has the line if there are several.

    >>> assemble_lines("dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf", "xe-hpc")[0].code.hex()
    '59001000a03a0728041e05050414040a'
    """
    found = []
    _generation(arch, wave, llvm)
    for number, line in statements(text):
        try:
            found.append(_statement(line, arch))
        except Error as error:
            if "\n" in text.strip():
                raise Error(f"line {number}: {error}") from None
            raise
    if not found:
        raise Error("there is nothing to assemble: the text has no instruction")
    return found


def statements(text: str) -> list[tuple[int, str]]:
    """The lines with instructions, without comments and labels."""
    text = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment.group()), text, flags=re.S)
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        line = re.sub(r"^\s*[A-Za-z_]\w*:(?=\s|$)", "", line.partition("//")[0]).strip()
        if line:
            found.append((number, line))
    return found


def _statement(line: str, arch: str) -> Encoded:
    title, size, generation = _generation(arch)
    read = LINE.fullmatch(line)
    if read is None:
        _refuse_line(line, size)
    mnemonic, count = read["mnemonic"], whole_number(read["count"], 99)
    if mnemonic not in generation.mnemonics:
        raise Error(f"{title} has no {mnemonic}; it has {' and '.join(generation.mnemonics)}")
    if read["depth"] != DEPTH or not count or count > 8:
        raise Error(f"'{mnemonic}.{read['depth']}x{read['count']}': the depth is {DEPTH}, the repeat count is 1 to 8")
    if whole_number(read["size"]) != size:
        raise Error(f"the execution size of {mnemonic} on {title} is {size}; got {read['size']}")
    mask = whole(read["mask"] or "0", "the channel offset M")
    operands = _operands(read["operands"], EXAMPLE.format(size=size))
    values = {
        "OPCODE": OPCODES[mnemonic], "EXEC_SIZE": size.bit_length() - 1, "NO_MASK": int(bool(read["w"])),
        "CHANNEL_OFFSET": _offset(mask, generation), "RCOUNT": count - 1, "SDEPTH": DEPTH_CODE,
        **_options(read["options"] or "", generation, title), **_registers(operands, generation, title),
    }  # fmt: skip
    encoding = generation.encoding
    texts = dict(zip(FIELDS, re.sub(r"\s*:\s*", ":", read["operands"]).split()))
    types = {f"{field}_TYPE": text.rpartition(":")[2] for field, text in texts.items()}
    form = Form(f"{mnemonic}.{DEPTH}x{count}", encoding, {**texts, **types, "OPCODE": mnemonic})
    return Encoded(form, encoding.encode(values).to_bytes(encoding.size, "little"))


def _refuse_line(line: str, size: int) -> NoReturn:
    example = EXAMPLE.format(size=size)
    if re.match(r"\([~&fWw]", line) and not line.startswith("(W)"):
        raise Error(f"'{line}': DPAS has no predicate; before it there can be (W) only")
    word = re.split(r"[\s.(]", line.removeprefix("(W)").strip() + " ")[0]
    hint = did_you_mean(word, OPCODES) if word not in OPCODES else ""
    raise Error(f"'{line}' is not a dpas or dpasw.{hint} It should read like {example}")


def _operands(text: str, example: str) -> list[re.Match[str]]:
    words = re.sub(r"\s*:\s*", ":", text).split()
    if len(words) != len(OPERANDS):
        raise Error(f"'{text.strip()}': there are four operands, dst, src0, src1 and src2, as in {example}")
    found = []
    for word, (name, operand) in zip(words, OPERANDS):
        read = OPERAND.fullmatch(word)
        if read is None:
            raise Error(f"{name} ({operand}) is a register with a type, such as r40:f; got '{word}'")
        found.append(read)
    return found


def _offset(mask: int, generation: Generation) -> int:
    if mask % generation.offset or mask >= 32:
        most = 32 - generation.offset
        raise Error(f"the mask begins at a multiple of {generation.offset} up to M{most}; got M{mask}")
    return mask // generation.offset


def _registers(operands: Sequence[re.Match[str]], generation: Generation, title: str) -> dict[str, int]:
    values: dict[str, int] = {}
    types = [SPELT.get(read["type"], read["type"]) for read in operands]
    _check_types(types, generation, title)
    for field, (name, operand), read in zip(FIELDS, OPERANDS, operands):
        null = read["register"] == "null"
        register = 0 if null else whole_number(read["register"][1:], 255)
        if null and operand != "C":
            raise Error(f"{name} ({operand}) is a register; only src0 can be null, for a C of zero")
        if register is None:
            raise Error(f"{name} ({operand}) is one of r0 to r255; got {read['register']}")
        if read["sub"] and whole_number(read["sub"]) != 0 and operand != "A":
            raise Error(f"{name} ({operand}) begins with a register, such as r{register}; got {read.group()}")
        values[field] = register
        if operand == "C":
            values["SRC0_FILE"] = int(not null)
    values["DST_TYPE"], values["SRC0_TYPE"] = ACCUMULATORS[types[0]], ACCUMULATORS[types[1]] & 7
    for field, word in zip(("SRC1", "SRC2"), types[2:]):
        values[f"{field}_TYPE"], values[f"{field}_BITS"] = SOURCE_TYPES[word]
    values["SRC2_SUBREG"] = _subregister(operands[3], types[3], generation)
    return values


def _check_types(types: Sequence[str], generation: Generation, title: str) -> None:
    integers = [word for word in SOURCE_TYPES if not named(TYPES[word]).is_float]
    for (name, operand), word in zip(OPERANDS, types):
        known = [*ACCUMULATORS] if operand in "DC" else [*generation.sources, *integers]
        if word not in known:
            raise Error(f"{name} ({operand}) on {title} has the types {', '.join(known)}; got '{word}'")
    if len({named(TYPES[word]).is_float for word in types}) > 1:
        raise Error(f"all four operands are floats or all are integers; got {', '.join(types)}")


def _subregister(read: re.Match[str], word: str, generation: Generation) -> int:
    """A's first byte or word in its register, from the element at which it begins."""
    first = whole(read["sub"] or "0", "src2 (A): its first element") * named(TYPES[word]).bits
    step = 8 * generation.subregister
    if first % step or first >= 8 * generation.register_bytes:
        last = 8 * generation.register_bytes // named(TYPES[word]).bits - 1
        every = max(1, step // named(TYPES[word]).bits)
        raise Error(f"src2 (A) begins at an element of {word} from 0 to {last}, every {every}; got {read.group()}")
    return first // step


def _token(written: str, generation: Generation) -> bool:
    return whole_number(written, generation.tokens - 1) is not None


def _options(text: str, generation: Generation, title: str) -> dict[str, int]:
    """The fields that the options in braces set: {Atomic}, a token and a distance to wait for."""
    atomic, token, distance = 0, None, None
    for word in filter(None, (part.strip() for part in text.split(","))):
        if word == "Atomic":
            atomic = 1
        elif (read := re.fullmatch(r"\$(\d+)(|\.dst|\.src)", word)) and not token and _token(read[1], generation):
            token = (whole(read[1], "a token"), read[2])
        elif (read := re.fullmatch(r"([A-Z]?)@([1-7])", word)) and read[1] in generation.pipes and not distance:
            distance = (whole(read[2], "a distance"), read[1])
        else:
            pipes = ", ".join(f"{pipe}@1 to {pipe}@7" for pipe in generation.pipes)
            raise Error(
                f"'{word}' is not an option of DPAS on {title}; options are Atomic, one of $0 to "
                f"${generation.tokens - 1} (as it is, with .dst or with .src) and one of {pipes}, each once"
            )
    code = 0
    if token and distance:
        if token[1] not in generation.both or distance[1]:
            raise Error(f"{{{text}}}: on {title} a distance goes with {_listed(generation.both)}, and names no pipe")
        code = generation.both[token[1]] | distance[0] << generation.shift | token[0]
    elif token:
        code = generation.waits[token[1]] | token[0]
    elif distance:
        code = generation.pipes[distance[1]] | distance[0]
    return {"ATOMIC": atomic, "SWSB": code}


def _listed(kinds: Mapping[str, int]) -> str:
    return " or ".join(f"$n{kind}" for kind in kinds)


# --- bytes into text ---


def instructions(code: bytes, arch: str, wave: int | None = None, llvm: int | None = None) -> list[tuple[int, str]]:
    """The text of every instruction, with the number of the 32-bit word at which it begins; others as `.long`.

    >>> instructions(bytes.fromhex("59001000a03a0728041e05050414040a"), "xe-hpc")
    [(0, 'dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf')]
    """
    title = _generation(arch, wave, llvm)[0]
    if len(code) % 8:
        raise Error(f"the code has {plural(len(code), 'byte')}; instructions of {title} have 16, or 8 if compacted")
    code, at, found = bytes(code), 0, []
    while at < len(code):
        length = 8 if int.from_bytes(code[at : at + 8], "little") >> 29 & 1 else 16  # compacted
        part = code[at : at + length]
        text = _text(int.from_bytes(part, "little"), arch) if len(part) == 16 else None
        words = range(0, len(part), 4)
        texts = [f".long 0x{int.from_bytes(part[word : word + 4], 'little'):08x}" for word in words]
        found += [(at // 4, text)] if text else [((at + word) // 4, each) for word, each in zip(words, texts)]
        at += length
    return found


def _text(word: int, arch: str) -> str | None:
    """One instruction; None if it is not a DPAS, or one without a text."""
    _, size, generation = _generation(arch)
    values = generation.encoding.decode(word)
    mnemonic = next((name for name in generation.mnemonics if OPCODES[name] == values["OPCODE"]), None)
    wait = _wait_text(values["SWSB"], generation)
    accumulators = {code: word for word, code in ACCUMULATORS.items()}
    dst = accumulators.get(values["DST_TYPE"])
    if mnemonic is None or wait is None or dst is None:
        return None
    like = [word for word in ACCUMULATORS if named(TYPES[word]).is_float == named(TYPES[dst]).is_float]
    src0 = next((word for word in like if ACCUMULATORS[word] & 7 == values["SRC0_TYPE"]), None)
    sources = [_source(values, field, dst, generation) for field in ("SRC1", "SRC2")]
    if src0 is None or None in sources:
        return None
    c = f"r{values['SRC0']}" if values["SRC0_FILE"] else "null"
    src1, src2 = (PRINTED.get(str(word), str(word)) for word in sources)
    bits = 8 * values["SRC2_SUBREG"] * generation.subregister
    first = bits // named(TYPES[src2]).bits
    options = ",".join([*["Atomic"] * values["ATOMIC"], *[wait] * bool(wait)])
    text = (
        f"{'(W) ' * values['NO_MASK']}{mnemonic}.{DEPTH}x{values['RCOUNT'] + 1} "
        f"({size}|M{values['CHANNEL_OFFSET'] * generation.offset}) "
        f"r{values['DST']}:{dst} {c}:{src0} r{values['SRC1']}:{src1} r{values['SRC2']}.{first}:{src2}"
        + f" {{{options}}}"
        * bool(options)
    )
    try:  # fields that must be 0, and those that this text does not say
        again = _statement(text, arch).code
    except Error:
        return None
    return text if int.from_bytes(again, "little") == word else None


def _source(values: Mapping[str, int], field: str, dst: str, generation: Generation) -> str | None:
    floating = named(TYPES[dst]).is_float
    code = (values[f"{field}_TYPE"], values[f"{field}_BITS"])
    for word, known in SOURCE_TYPES.items():
        is_float = named(TYPES[word]).is_float
        if known == code and is_float == floating and (not is_float or word in generation.sources):
            return word
    return None


def _wait_text(code: int, generation: Generation) -> str | None:
    """The dependence that SWSB says, as iga64 writes it; "" for none, None for a code that it never writes."""
    for kind, base in generation.both.items():
        low = (1 << generation.shift) - 1
        distance = code - base >> generation.shift
        if code >= base and 1 <= distance <= 7 and code & low < generation.tokens:
            return f"@{distance},${code & low}{kind}"
    for kind, base in generation.waits.items():
        if 0 <= code - base < generation.tokens and base:
            return f"${code - base}{kind}"
    for pipe, base in generation.pipes.items():
        if 1 <= code - base <= 7:
            return f"{pipe}@{code - base}"
    return "" if code == 0 else None


def respelled(text: str, arch: str, wave: int | None = None, llvm: int | None = None) -> list[str]:
    """The lines of a text, with DPAS as `instructions` prints it and others as written.

    Raises:
        Error: a DPAS that the architecture lacks or that is malformed; the message has the line.
    """
    lines = []
    _generation(arch, wave, llvm)
    for number, line in statements(text):
        if re.match(r"(?:\([^)]*\)\s*)?dpasw?\b", line):
            try:
                line = instructions(_statement(line, arch).code, arch)[0][1]
            except Error as error:
                raise Error(f"line {number}: {error}") from None
        lines.append(line)
    return lines
