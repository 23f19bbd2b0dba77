"""Other forms of the instructions of an AMD kernel: those that a slip of the pen could have come from."""

from __future__ import annotations

import re

from ...asm.assembler import assemble
from ...asm.decoder import listing
from ...base.checks import whole
from ...base.errors import Error
from .edits import KIND, Edit, numbers_near, opcodes_near, swaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...asm.code_objects import Kernel

__all__ = ["amd_edits", "edited"]

_SKIPPED = re.compile(
    r"s_(wait|nop|branch|endpgm|barrier|sleep|set_vgpr|delay|setprio|clause|code_end|inst_pref)|v_nop"
)
_PRODUCT = re.compile(r"v_(mfma|smfmac|wmma|swmmac)")
_LANES = re.compile(r"ds_|v_(readlane|writelane|permlane|mov_b32_dpp|readfirst)|\S+_dpp$|\S+_sdwa$")
_MEMORY = re.compile(r"global_|buffer_|flat_|s_load|s_buffer|scratch_|tensor_")
_MASKS = re.compile(r"v_cmp|s_cmp|s_cbranch|v_cndmask|s_\S*saveexec|s_(mov|or|and|xor|andn2|and_not1)_b(32|64)$")
_REGISTER = re.compile(r"(?<![\w.])([vas])(?:(\d+)|\[(\d+):(\d+)\])(?![\w\[])")
_NUMBER = re.compile(r"(?<![\w.\[:,])-?(?:0x[0-9a-f]+|\d+)(?![\w.\]:,])")
_FIELD = re.compile(r"(?<=:)-?(?:0x[0-9a-f]+|\d+)(?![\w\]:,])")
_LIST = re.compile(r"\b(?:op_sel|op_sel_hi|neg_lo|neg_hi):\[([01](?:,[01])*)\]")
_MODIFIER = re.compile(
    r" (?:cbsz|abid|blgp|neg_lo|neg_hi|op_sel|op_sel_hi|byte_sel|matrix_\w+|clamp|mul|div|offset\w*|bitop3)(?::\S+)?"
    r"(?= |$)|(?<= )-(?=[vs])"
)
_SAVES = re.compile(r"s_mov_b(32|64) (\S+), exec(?:_lo)?$")
_ROWS = re.compile(r"row_(shl|shr|ror|share|xmask|newbcast):(\d+)")
_PERMUTATIONS = ("[1,0,3,2]", "[2,3,0,1]", "[3,2,1,0]", "[0,1,2,3]", "[1,2,3,0]", "[3,0,1,2]", "[0,0,2,2]", "[1,1,3,3]")
_NEAR = (1, -1, 2, -2, 4, -4, 8, -8)
_WINDOW = 16
"""Instructions before and behind one whose registers it may have meant."""


def edited(kernel: Kernel, edit: Edit) -> Kernel:
    """The kernel with an instruction in its place."""
    at = edit.place
    new: bytes = edit.code

    def patched(data: bytes, start: int) -> bytes:
        return data[: at - start] + new + data[at - start + len(new) :]

    sections = [one._replace(data=patched(one.data, one.address))
                if one.executable and one.address <= at < one.address + len(one.data) else one
                for one in kernel.sections]  # fmt: skip
    return kernel._changed(
        code=patched(kernel.code, kernel.address), sections=tuple(sections), variables=kernel.variables.copy()
    )


def amd_edits(kernel: Kernel, reached: frozenset[int] | None) -> Iterator[Edit]:
    """The edits of the instructions that a launch reaches, by their addresses; None: of all. Only what has as many
    bytes."""
    lines = [(kernel.address + 4 * word, text) for word, text in listing(kernel.code, kernel.target,
                                                                         kernel.wavefront_size)]  # fmt: skip
    places = [at for at, _ in lines]
    for number, (at, text) in enumerate(lines):
        if (reached is not None and at not in reached) or _SKIPPED.match(text) or text.startswith("."):
            continue
        end = places[number + 1] if number + 1 < len(lines) else kernel.address + len(kernel.code)
        near = [line for _, line in lines[max(0, number - _WINDOW) : number + _WINDOW]]
        alike = [line for _, line in lines if line.split(" ", 1)[0] == text.split(" ", 1)[0]]
        yield from _of_instruction(kernel, (at, text, end - at), near, alike)


def _of_instruction(kernel: Kernel, line: tuple[int, str, int], near: list[str], alike: list[str]) -> Iterator[Edit]:
    at, text, size = line
    seen = {text}
    if _code(kernel, text, size) is None:
        return
    for cost, kind, new in _texts(text, near, alike):
        if new not in seen:
            seen.add(new)
            if (code := _code(kernel, new, size)) is not None:
                yield Edit(KIND * cost + _weight(text), at, text, new, kind, code)


def _code(kernel: Kernel, text: str, size: int) -> bytes | None:
    """The bytes of an instruction, None where it has none, or another number of them."""
    try:
        found = assemble(text, kernel.target, kernel.wavefront_size)
    except Error:
        return None
    return found if len(found) == size else None


def _weight(text: str) -> int:
    """How far back an instruction stands: products first, then what moves between lanes and LDS, and memory."""
    kinds = (_PRODUCT, _LANES, _MEMORY, _MASKS)
    return next((number for number, kind in enumerate(kinds) if kind.match(text.split(" ", 1)[0])), len(kinds))


def _texts(text: str, near: list[str], alike: list[str]) -> Iterator[tuple[int, str, str]]:
    """Other texts with how far they are, and what is other in them."""
    name, _, rest = text.partition(" ")
    operands = re.split(r", (?![^\[]*\])", rest)
    *first, last = operands
    last, _, tail = last.partition(" ")
    operands = [*first, last]
    for new in opcodes_near(name):
        yield 0, "opcode", f"{new} {rest}"
    if not (_MEMORY.match(name) or name.startswith("ds_")):
        yield from _reordered(name, operands, tail)
    yield from _other_modifiers(text)
    yield from _other_lanes(text)
    yield from _other_masks(text, near)
    yield from _other_numbers(text, alike)
    yield from _other_registers(text, near)


def _reordered(name: str, operands: list[str], tail: str) -> Iterator[tuple[int, str, str]]:
    """Sources that change places; the accumulator of a product as its destination, or as 0."""
    end = f" {tail}" if tail else ""
    for new in swaps(operands[1:]):
        yield 0, "order of operands", f"{name} {', '.join([operands[0], *new])}{end}"
    if _PRODUCT.match(name) and len(operands) > 3:
        for other in (operands[0], "0"):
            yield 0, "accumulator", f"{name} {', '.join([*operands[:3], other, *operands[4:]])}{end}"


def _other_modifiers(text: str) -> Iterator[tuple[int, str, str]]:
    """One modifier less, one bit of a list the other way round, a sign more."""
    for found in _MODIFIER.finditer(text):
        yield 0, "modifier", text[: found.start()] + text[found.end() :]
    for found in _LIST.finditer(text):
        for at in range(found.start(1), found.end(1), 2):
            yield 0, "modifier", f"{text[:at]}{'10'[text[at] == '1']}{text[at + 1 :]}"
    if re.match(r"v_\w*f(16|32|64)", text) and not _PRODUCT.match(text):
        for found in list(_REGISTER.finditer(text))[1:]:
            yield 1, "modifier", f"{text[: found.start()]}-{text[found.start() :]}"


def _other_lanes(text: str) -> Iterator[tuple[int, str, str]]:
    """Other patterns of DPP."""
    if found := _ROWS.search(text):
        for number in range(16):
            yield 0, "lanes", f"{text[: found.start(2)]}{number}{text[found.end(2) :]}"
        for way in ("shl", "shr", "ror"):
            yield 0, "lanes", f"{text[: found.start(1)]}{way}{text[found.end(1) :]}"
    patterns = ("row_mirror", "row_half_mirror", *[f"quad_perm:{one}" for one in _PERMUTATIONS])
    if found := re.search(r"row_(?:half_)?mirror|quad_perm:\[[\d,]+\]", text):
        for pattern in patterns:
            yield 0, "lanes", text[: found.start()] + pattern + text[found.end() :]


def _other_masks(text: str, near: list[str]) -> Iterator[tuple[int, str, str]]:
    """Where EXEC is only saved, or taken from another mask: the masks that are near."""
    if found := _SAVES.match(text):
        width, saved = found.groups()
        short = "vcc" if width == "64" else "vcc_lo"
        for mask in (short, *dict.fromkeys(_registers(near, "s", 1 if width == "32" else 2))):
            for operation in ("and", "xor", "or"):
                yield 0, "mask", f"s_{operation}_saveexec_b{width} {saved}, {mask}"


def _other_numbers(text: str, alike: list[str]) -> Iterator[tuple[int, str, str]]:
    """Other constants and offsets: near ones, and those of instructions of the same name."""
    given = [whole(one, "an offset") for line in alike for one in re.findall(r"offset[01]?:(\d+)", line)]
    for pattern in (_NUMBER, _FIELD):
        for found in pattern.finditer(text):
            value = whole(found[0], "a constant", (1 << 64) - 1, -(1 << 63))
            others = given if text[: found.start()].endswith(("offset:", "offset0:", "offset1:")) else []
            for new in numbers_near(value, others):
                yield 1, "number", f"{text[: found.start()]}{new}{text[found.end() :]}"
    if re.match(r"ds_|global_|buffer_|flat_|scratch_", text) and "offset" not in text:
        for new in numbers_near(0, given):
            yield 1, "number", f"{text} offset:{new}"


def _other_registers(text: str, near: list[str]) -> Iterator[tuple[int, str, str]]:
    """Other registers: the next ones, and those of instructions nearby."""
    for found in list(_REGISTER.finditer(text)):
        kind, low, width = _span(found)
        steps = dict.fromkeys((*_NEAR, width, -width, 2 * width, -2 * width))
        numbers = [(1, low + step) for step in steps]
        numbers += [(2, number) for number in dict.fromkeys(_first(near, kind, width))]
        for cost, number in numbers:
            if number >= 0:
                new = f"{kind}{number}" if found[2] else f"{kind}[{number}:{number + width - 1}]"
                yield cost, "register", text[: found.start()] + new + text[found.end() :]


def _first(lines: list[str], kind: str, width: int) -> Iterator[int]:
    """The first registers of operands of a width."""
    for line in lines:
        for found in _REGISTER.finditer(line):
            other, low, wide = _span(found)
            if (other, wide) == (kind, width):
                yield low


def _span(found: re.Match[str]) -> tuple[str, int, int]:
    """The kind, first number and count of registers."""
    low, high = (whole(one, "a register") for one in (found[2] or found[3], found[2] or found[4]))
    return found[1], low, high - low + 1


def _registers(lines: list[str], kind: str, width: int) -> list[str]:
    return [f"{kind}{low}" if width == 1 else f"{kind}[{low}:{low + width - 1}]" for low in _first(lines, kind, width)]
