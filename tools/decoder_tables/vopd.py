"""The halves of VOPD: every opcode of either half beside an instruction that the other half is known to take."""

from __future__ import annotations

from .line import Line
from .llvm import Answer, Decoder

_FIRST = ("v16", "v[16:17]", "v31", "v[31:32]")  # the first sources of X and Y


def _vopd(x: int, y: int, side: str, source: int, _: int) -> int:
    first, second = (source, 0) if side == "x" else (0, source)
    word = 0b110010 << 26 | x << 22 | y << 17 | first << 9 | 272
    return word | 8 << 56 | (13 >> 1) << 49 | second << 41 | 287 << 32


def _vopd3(x: int, y: int, side: str, source: int, third: int) -> int:
    a, b, c, d = (source, third, 33, 0) if side == "x" else (20, 0, source, third)
    word = 0xCF << 24 | x << 18 | y << 12 | 272 | 287 << 32 | a << 48 | b << 56
    return word | 8 << 64 | c << 72 | d << 80 | 13 << 88


# format, its words, bytes, opcodes of X and of Y, the other half's opcode beside X (mov, add) and beside Y (mov, mul)
_FORMATS = (("vopd", _vopd, 8, 16, 32, 8, 8), ("vopd3", _vopd3, 12, 64, 64, 4, 3))


def lines(decoder: Decoder, forms) -> list[Line]:
    """The lines of a target's VOPD."""
    made = []
    for name, word, size, of_x, of_y, beside_x, beside_y in _FORMATS:
        if f"{name}:x" not in forms:
            continue
        for side, count in (("x", of_x), ("y", of_y)):
            for opcode in range(count):
                pair = (opcode, beside_x) if side == "x" else (beside_y, opcode)
                tried = [word(*pair, side, source, third) for source in (20, 0) for third in (40, 0)]
                answers = decoder.words(tried, size)
                known = [(one, its) for one, its in zip(tried, answers) if its and its.size >= size]
                if known:
                    made.append(_line(decoder, name, side, opcode, *known[0], size))
    return made


def _half(answer: Answer, side: str) -> tuple[str, list[str]]:
    name, _, operands = answer.text.split(" :: ")[side == "y"].partition(" ")
    return name, [each.split(" ")[0] for each in operands.split(", ")]


def _line(decoder: Decoder, form: str, side: str, opcode: int, word: int, answer: Answer, size: int) -> Line:
    name, tokens = _half(answer, side)
    operands = [_operand(token, at, name, form == "vopd") for at, token in enumerate(tokens)]
    implied = "<VDST" if "fmac" in name or "dot2acc" in name else "<vcc" if "cndmask" in name and form == "vopd" else ""
    modifiers = ""
    if "bitop2" in name:
        modifiers = "BITOP3"
    elif form == "vopd3":
        first = 41 if side == "x" else 44
        others = decoder.words([word ^ 1 << first + bit for bit in range(3)], size)
        live = sum(
            1 << bit for bit, other in enumerate(others)
            if other and other.opcode == answer.opcode and other.text != answer.text
        )  # fmt: skip
        modifiers = f"NEG:{live}" if live else ""
    kind = ":bitop2" if "bitop2" in name else ""
    signature = "|".join(("", " ".join(operands), implied, modifiers, "", "REST"))
    return Line(f"{form}:{side}{kind}", signature, name, opcode)


def _operand(token: str, at: int, name: str, literals: bool) -> str:
    count = 2 if "[" in token else 1
    if at == 0:
        return f">VDST=v{count}"
    if "0x" in token:
        return "LITERAL=32"
    if token in _FIRST:
        return f"SRC0=x{count}{_type(name)}{'!' * literals}"
    if token.startswith("s"):
        return "VSRC2=s1"
    return f"{'VSRC2' if token in ('v40', 'v[40:41]') else 'VSRC1'}=v{count}"


def _type(name: str) -> str:
    """The type of the first source's constants, which the name says."""
    ends = {"_f32_f16": "v2f16", "_f32_bf16": "v2bf16", "f64": "f64", "f32": "f32"}
    return next((kind for end, kind in ends.items() if name.endswith(end)), "i32")
