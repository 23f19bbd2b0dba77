"""A dump of Triton's GPU IR (.ttgir) as a whole: which dots become which instructions, and what moves."""

from __future__ import annotations

import re

from ..base.checks import whole
from ..base.errors import Error
from ..base.records import Record
from .conversion import convert
from .notations.ttgir import aliases, tensors
from .reading import FORMATS, ForeignLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from .conversion import Conversion
    from .encodings import Encoding

__all__ = ["Dump", "DumpStep", "is_dump", "read_dump"]

OPERATIONS = (
    "tt.dot",
    "tt.dot_scaled",
    "ttng.warp_group_dot",
    "ttng.tc_gen5_mma",
    "ttng.tc_gen5_mma_scaled",
    "ttg.convert_layout",
    "ttg.local_load",
    "ttg.local_alloc",
    "ttg.local_store",
)
_STEP = re.compile(r"(?:^|=)\s*(" + "|".join(map(re.escape, OPERATIONS)) + r")\s(.*)")
_LOCATION = re.compile(
    r'^(#loc\d*) = loc\((?:callsite\()?(?:"[^"]*"\()?(?:(#loc\d*)|"([^"]*)":(\d+)(?::(\d+))?)', re.MULTILINE
)
_TARGET = re.compile(r'"?ttg\.target"? = "(\w+):(\w+)"')
_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')


DEEPEST = 8  # names of locations behind each other


class DumpStep(Record):
    """One operation of a dump that computes or moves a matrix.

    Attributes:
        line: its number. operation: such as tt.dot. source: file and line of the program; "" if the dump has none.
        column: in that line; 0 if the dump has none.
        layouts: those of its operands and result, with their shapes.
        instruction: of a dot, the one that it becomes; None where the catalog has none, or several.
        count: of a dot, how many of these each warp executes.
        conversion: of a convert_layout, what moves.
        unread: how many of its layouts are of kinds that are not read.
    """

    line: int
    operation: str
    source: str
    layouts: tuple[ForeignLayout, ...]
    instruction: Instruction | None = None
    count: int = 0
    conversion: Conversion | None = None
    unread: int = 0
    column: int = 0

    @property
    def multiplies(self) -> bool:
        """Whether it is a dot."""
        return "dot" in self.operation or "mma" in self.operation


class Dump(Record):
    """The steps of a dump, and the layouts that it names; target: such as gfx942 or sm_90, "" if the dump says none;
    warps: of a CTA, 0 if the dump does not say."""

    steps: tuple[DumpStep, ...]
    names: tuple[str, ...]
    target: str = ""
    warps: int = 0


def is_dump(text: str) -> bool:
    """Whether a text is Triton's GPU IR.

    >>> is_dump("tt.func public @f() { }"), is_dump("#ttg.blocked<{}>")
    (True, False)
    """
    return "tt.func" in text or "ttg.convert_layout" in text


def read_dump(text: str) -> Dump:
    """The dots and the movements of a dump.

    Args:
        text: of a .ttgir file.

    Raises:
        Error: it has none of them, as a .ttir has not, whose tensors have no layouts yet.

    >>> read_dump("tt.func @f() { }")
    Traceback (most recent call last):
        ...
    mmacalc.base.errors.Error: the dump has no dot and no conversion of layouts; a .ttgir has them
    """
    names = aliases(text)
    places = _sources(text)
    steps = [step for number, line in enumerate(text.splitlines(), 1) for step in _steps(number, line, names, places)]
    if not steps:
        raise Error("the dump has no dot and no conversion of layouts; a .ttgir has them")
    return Dump(
        tuple(steps),
        tuple(names),
        _target(text),
        whole(found[1], "a number of warps") if (found := _WARPS.search(text)) else 0,
    )


def _target(text: str) -> str:
    """The target that a module names, as mmacalc calls it.

    >>> _target('module attributes {ttg.target = "cuda:80"}'), _target('{"ttg.target" = "hip:gfx942"}')
    ('sm_80', 'gfx942')
    """
    found = _TARGET.search(text)
    return "" if found is None else f"sm_{found[2]}" if found[1] == "cuda" else found[2]


def _sources(text: str) -> dict[str, tuple[str, int]]:
    """The file with the line, and the column, of each location; of an inlined function those in the function."""
    direct: dict[str, tuple[str, int]] = {}
    through: dict[str, str] = {}
    for name, other, path, line, column in _LOCATION.findall(text):
        if other:
            through[name] = other
        else:
            direct[name] = f"{path.rpartition('/')[2]}:{line}", whole(column or "0", "a column")
    for name, other in through.items():
        for _ in range(DEEPEST):
            other = through.get(other, other)
        if other in direct:
            direct[name] = direct[other]
    return direct


def _steps(
    number: int, line: str, names: dict[str, Encoding], places: dict[str, tuple[str, int]]
) -> Iterator[DumpStep]:
    found = _STEP.search(line)
    if found is None:
        return
    location = re.search(r"loc\((#loc\d*)\)", line)
    source, column = places.get(location[1], ("", 0)) if location else ("", 0)
    layouts = tuple([
        ForeignLayout("Triton", encoding.kind, encoding=encoding, given_shape=shape, element=element)
        for shape, element, encoding in tensors(found[2], names)
    ])  # fmt: skip
    operation, unread = found[1], found[2].count("tensor<") + found[2].count("memdesc<") - len(layouts)
    if operation.endswith("dot") and len(layouts) >= 2:
        instruction, count = _instruction(layouts)
        yield DumpStep(number, operation, source, layouts, instruction, count, unread=unread, column=column)
    elif operation == "ttg.convert_layout" and len(layouts) == 2:
        moved = _conversion(*layouts)
        yield DumpStep(number, operation, source, layouts, conversion=moved, unread=unread, column=column)
    else:
        yield DumpStep(number, operation, source, layouts, unread=unread, column=column)


def _conversion(source: ForeignLayout, target: ForeignLayout) -> Conversion | None:
    bits = re.sub(r"\D", "", source.element.partition("E")[0]) or "32"
    try:
        return convert(source.linear(), target.linear(), whole(bits[:3], "the width of an element"))
    except Error:
        return None


def _instruction(layouts: tuple[ForeignLayout, ...]) -> tuple[Instruction | None, int]:
    """The instruction of a dot and how often each warp executes it; None where none or several fit."""
    first, result = layouts[0], layouts[-1]
    if result.matrix_encoding is None or len(first.shape) != 2:
        return None, 0
    typed = ForeignLayout("Triton", "dot_op", encoding=first.encoding, element=first.element) if (
        first.kind == "dot_op") else result  # fmt: skip
    fits = [
        inst
        for inst in typed.instructions
        if inst.format("D").name == FORMATS.get(result.element, result.element)
        and FORMATS.get(first.element, first.element) in inst.format_names("A")
        and first.shape[1] % inst.k == 0
    ]
    deepest = [inst for inst in fits if inst.k == max([one.k for one in fits])]
    if len(deepest) != 1:
        return None, 0
    inst = deepest[0]
    return inst, _times(inst, result, first.shape[1])


def _times(inst: Instruction, result: ForeignLayout, k: int) -> int:
    """How often each warp executes an instruction for a result. Warps beyond the result compute it again: what a warp
    has of each axis follows from the bases of the warps that lie in it."""
    warps = result.linear().bases["warp"]
    m, n = (inst.n, inst.m) if result.transposed else (inst.m, inst.n)
    own = (m // 4 if "wgmma" in inst.features else m, n)  # of a warpgroup's rows each warp has a quarter
    counts = [
        max(1, size // (1 << sum(bool(basis[axis]) for basis in warps)) // tile)
        for axis, (size, tile) in enumerate(zip(result.shape, own))
    ]
    return counts[0] * counts[1] * (k // inst.k)
