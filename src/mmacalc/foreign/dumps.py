"""A dump of Triton's GPU IR (.ttgir) as a whole: which dots become which instructions, and what moves.

Of a .ttir, whose tensors have no layouts yet, the dots alone."""

from __future__ import annotations

import re

from ..base.checks import whole
from ..base.errors import Error
from ..base.records import Record
from ..catalog import entry
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
_PLAIN = re.compile(r"tensor<((?:\d+x)+)(\w+)>")
_TENSOR_MEMORY = re.compile(r"memdesc<((?:\d+x)+)(\w+), (#\w+), #ttng\.tensor_memory")
_BLOCKS = re.compile(
    r"^(#\w+) = #ttng\.tensor_memory_encoding<(?=[^>]*blockM = (\d+))(?=[^>]*blockN = (\d+))", re.MULTILINE
)
_TYPES = re.compile(r"lhs = (\w+) rhs = (\w+)")
_TARGET = re.compile(r'"?ttg\.target"? = "(\w+):(\w+)"')
_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')


DEEPEST = 8  # names of locations behind each other


class PlainTensor(Record):
    """A tensor, or a part of Tensor Memory, of which a dump says the shape and the type of the elements.

    Attributes:
        block: of one in Tensor Memory the rows and columns that one instruction computes; empty where none is said.
        in_tensor_memory: whether it is there.
    """

    shape: tuple[int, ...]
    element: str
    block: tuple[int, ...] = ()
    in_tensor_memory: bool = False

    def __str__(self) -> str:
        memory = " in Tensor Memory" if self.in_tensor_memory else ""
        blocks = f", blocks of {'x'.join(map(str, self.block))}" if self.block else ""
        return f"{'x'.join(map(str, self.shape))} {self.element}{memory}{blocks}"


class DumpStep(Record):
    """One operation of a dump that computes or moves a matrix.

    Attributes:
        line: its number. operation: such as tt.dot. source: file and line of the program; "" if the dump has none.
        column: in that line; 0 if the dump has none.
        tensors: its operands and result, in their order: layouts with their shapes; of a .ttir, whose tensors have no
            layouts yet, and in Tensor Memory plain ones. Barriers are left out.
        instruction: of a dot, the one that it becomes; None where the catalog has none, or several.
        count: of a dot, how many of these each warp executes.
        conversion: of a convert_layout, what moves.
        unread: how many of its layouts are of kinds that are not read.
    """

    line: int
    operation: str
    source: str
    tensors: tuple[ForeignLayout | PlainTensor, ...]
    instruction: Instruction | None = None
    count: int = 0
    conversion: Conversion | None = None
    unread: int = 0
    column: int = 0

    @property
    def layouts(self) -> tuple[ForeignLayout, ...]:
        """Those of its tensors that have one."""
        return tuple([tensor for tensor in self.tensors if isinstance(tensor, ForeignLayout)])

    @property
    def multiplies(self) -> bool:
        """Whether it is a dot."""
        return "dot" in self.operation or "mma" in self.operation


class Dump(Record):
    """The steps of a dump, and the layouts that it names; target: such as gfx942 or sm_90, "" if the dump says none;
    warps: of a CTA, 0 if the dump does not say; early: whether it is a .ttir, whose tensors have no layouts."""

    steps: tuple[DumpStep, ...]
    names: tuple[str, ...]
    target: str = ""
    warps: int = 0
    early: bool = False


def is_dump(text: str) -> bool:
    """Whether a text is Triton's IR.

    >>> is_dump("tt.func public @f() { }"), is_dump("#ttg.blocked<{}>")
    (True, False)
    """
    return "tt.func" in text or "ttg.convert_layout" in text


def read_dump(text: str) -> Dump:
    """The dots and the movements of a dump.

    Args:
        text: of a .ttgir file, or a .ttir, of which the dots are read.

    Raises:
        Error: it has none of them.

    >>> read_dump("tt.func @f() { }")
    Traceback (most recent call last):
        ...
    mmacalc.base.errors.Error: the dump has no dot and no conversion of layouts
    """
    names = aliases(text)
    places = _sources(text)
    target = _target(text)
    early = "#ttg." not in text and "#triton_gpu." not in text and "#ttng." not in text
    blocks = {name: (whole(m, "a block"), whole(n, "a block")) for name, m, n in _BLOCKS.findall(text)}
    lines = enumerate(text.splitlines(), 1)
    steps = [step for number, line in lines for step in _steps(number, line, names, places, blocks, target)]
    if not steps:
        raise Error("the dump has no dot and no conversion of layouts")
    warps = whole(found[1], "a number of warps") if (found := _WARPS.search(text)) else 0
    return Dump(tuple(steps), tuple(names), target, warps, early)


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


def _shape(text: str) -> tuple[int, ...]:
    return tuple([whole(size, "a size") for size in text.rstrip("x").split("x")])


def _steps(
    number: int, line: str, names: dict[str, Encoding], places: dict[str, tuple[str, int]],
    blocks: dict[str, tuple[int, int]], target: str,
) -> Iterator[DumpStep]:  # fmt: skip
    found = _STEP.search(line)
    if found is None:
        return
    location = re.search(r"loc\((#loc\d*)\)", line)
    source, column = places.get(location[1], ("", 0)) if location else ("", 0)
    operation = found[1]
    read, unread = _tensors(found[2], names, blocks)
    if read and all(_is_barrier(tensor) for tensor in read):
        return
    operands = tuple([tensor for tensor in read if not _is_barrier(tensor)])
    layouts = tuple([tensor for tensor in operands if isinstance(tensor, ForeignLayout)])
    instruction, count, moved = None, 0, None
    if "tc_gen5_mma" in operation:
        instruction, count = _tensor_memory_product(found[2], operands, target)
    elif "dot" in operation and len(layouts) >= 2:
        instruction, count = _instruction(layouts, _TYPES.search(found[2]))
    elif operation == "ttg.convert_layout" and len(layouts) == 2:
        moved = _conversion(*layouts)
    yield DumpStep(number, operation, source, operands, instruction, count, moved, unread, column)


def _tensors(
    text: str, names: dict[str, Encoding], blocks: dict[str, tuple[int, int]]
) -> tuple[list[ForeignLayout | PlainTensor], int]:
    """The tensors and memory descriptors of a line, in their order, and how many cannot be read."""
    read: list[ForeignLayout | PlainTensor] = []
    unread = 0
    for piece in re.split(r"\b(?=(?:tensor|memdesc)<)", text)[1:]:
        if held := _TENSOR_MEMORY.match(piece):
            read.append(PlainTensor(_shape(held[1]), held[2], blocks.get(held[3], ()), True))
        elif plain := _PLAIN.match(piece):
            read.append(PlainTensor(_shape(plain[1]), plain[2]))
        elif one := tensors(f"!ttg.{piece}" if piece.startswith("memdesc") else piece, names):
            shape, element, encoding = one[0]
            read.append(ForeignLayout("Triton", encoding.kind, encoding=encoding, given_shape=shape, element=element))
        else:
            unread += 1
    return read, unread


def _is_barrier(tensor: ForeignLayout | PlainTensor) -> bool:
    """Whether it is of mbarriers, which hold no matrix."""
    return tensor.element == "i64" and isinstance(tensor, ForeignLayout) and tensor.shape[-1] == 1


def _conversion(source: ForeignLayout, target: ForeignLayout) -> Conversion | None:
    bits = re.sub(r"\D", "", source.element.partition("E")[0]) or "32"
    try:
        return convert(source.linear(), target.linear(), whole(bits[:3], "the width of an element"))
    except Error:
        return None


def _instruction(layouts: tuple[ForeignLayout, ...], types: re.Match[str] | None) -> tuple[Instruction | None, int]:
    """The instruction of a dot and how often each warp executes it; None where none or several fit.

    Args:
        types: of a tt.dot_scaled the formats of A and B, of which e2m1 stands in pairs in a byte.
    """
    first, result = layouts[0], layouts[-1]
    if result.matrix_encoding is None or len(first.shape) != 2:
        return None, 0
    if types:
        return _scaled_instruction(layouts, types)
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


def _scaled_instruction(layouts: tuple[ForeignLayout, ...], types: re.Match[str]) -> tuple[Instruction | None, int]:
    """The scaled instruction of the result's shape that takes both formats and has as many k for each scale."""
    first, result = layouts[0], layouts[-1]
    k = first.shape[1] * (2 if types[1] == "e2m1" else 1)
    scales = [layout.shape[-1] for layout in layouts[1:-1] if layout.kind != "dot_op"]
    block = k // scales[0] if scales else 0
    operands = "BA" if result.transposed else "AB"
    fits = [
        inst
        for inst in result.scaled_instructions
        if inst.block_size == block
        and k % inst.k == 0
        and all(types[at] in inst.format_names(operands[at - 1]) for at in (1, 2))
    ]
    return (fits[0], _times(fits[0], result, k)) if len(fits) == 1 else (None, 0)


KINDS_OF = {
    "f16": "f16", "bf16": "f16", "f32": "tf32", "tf32": "tf32", "i8": "i8",
    "f8E4M3FN": "f8f6f4", "f8E5M2": "f8f6f4",
}  # fmt: skip
"""The kind of tcgen05.mma by the elements of its A."""


def _tensor_memory_product(
    text: str, operands: tuple[ForeignLayout | PlainTensor, ...], target: str
) -> tuple[Instruction | None, int]:
    """The tcgen05.mma of a ttng.tc_gen5_mma, and how many are issued: a block of the result and 256 bits of k each.

    Triton, third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/DotOpToLLVM/MMAv5.cpp. Of a pair of CTAs no number is given.

    Args:
        operands: A, B, D, and perhaps the scales of A and B.
    """
    types = _TYPES.search(text)
    if len(operands) < (5 if types else 3):
        return None, 0
    first, _, result, *rest = operands
    if not isinstance(result, PlainTensor) or not result.block:
        return None, 0
    kind, k = KINDS_OF.get(first.element, ""), first.shape[-1]
    if types:
        k *= 2 if types[1] == "e2m1" else 1
        kind = _scaled_kind(types, rest[0], k)
    group = 2 if "two_ctas" in text else 1
    try:
        inst = entry(f"{target}a" if target else "sm_100a").instruction(f"tcgen05.mma.cta_group::{group}.kind::{kind}")
    except Error:
        return None, 0
    tiles = [max(1, size // block) for size, block in zip(result.shape[-2:], result.block)]
    return inst, 0 if group == 2 else tiles[0] * tiles[1] * max(1, k // inst.k)


def _scaled_kind(types: re.Match[str], scales: ForeignLayout | PlainTensor, k: int) -> str:
    """The kind of a block-scaled tcgen05.mma by the formats of A and B and the k of each scale."""
    block = k // scales.shape[-1]
    if {types[1], types[2]} != {"e2m1"}:
        return f"mxf8f6f4.block_scale.block{block}"
    name = "mxf4nvf4" if scales.element.startswith("f8E4M3") else "mxf4"
    return f"{name}.block_scale.block{block}"


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
