"""The part of a kernel's source that is the same in HIP and CUDA: digits of the lane, loads and stores."""

from __future__ import annotations

from operator import index

from ..base.checks import shown, whole
from ..base.errors import Error
from ..base.records import TupleRecord
from .fragments import fragment, runs, total
from .marks import listed, mark, mark_lines
from .staging import WORDS, staged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..model import Instruction
    from .fragments import Fragment, Item, Run
    from .gemm_staging import CudaPlan
    from .gemm_tcgen05_plan import TensorMemoryPlan
    from .gemm_tma import TmaPlan
    from .staging import Staged

__all__ = [
    "AS_WORDS", "CONSTRAINTS", "Request", "arguments_of", "comment", "element_type", "filling", "fragments", "in_lds",
    "indented", "kernel_name", "leading_dimension", "loads", "matrix_lines", "matrix_notes", "memory_type",
    "not_neighbours", "pattern_line", "registers", "signature", "slots", "stores", "views",
]  # fmt: skip

MOST_COLUMNS = 110  # of a line of arguments
# The C types of elements in memory. Narrower elements are packed into bytes; bf16 is carried as its bits.
ELEMENTS = {
    "f64": "double", "f32": "float", "xf32": "float", "tf32": "float", "f16": "_Float16", "bf16": "unsigned short",
    "i32": "int", "i8": "signed char", "iu8": "signed char",
}  # fmt: skip
# How inline PTX takes the registers of a format: the constraint, and the member of the union.
CONSTRAINTS = {"f64": ("d", "element"), "f32": ("f", "element")}
AS_WORDS = ("r", "word")  # those of all other formats


class Request(TupleRecord):
    """What to generate: the instruction, wave size and modifiers; the orders of A and B in memory; whether leading
    dimensions are constants rather than arguments; "hip" or "cuda"; whether A and B go through LDS, and their tiles
    there, once those are known."""

    instruction: Instruction
    wave: int
    fields: Mapping[str, int]
    order_a: str
    order_b: str
    constants: bool
    language: str
    lds: bool = False
    tiles: Mapping[str, Staged] = {}

    def order(self, name: str) -> str:
        """The order of an operand in memory; C and D are row by row."""
        return {"A": self.order_a, "B": self.order_b}.get(name, "row")


def kernel_name(inst: Instruction) -> str:
    """The name of the kernel: the instruction's, as an identifier."""
    return inst.name.removeprefix("v_").replace("::", "_").replace(".", "_")


def fragments(request: Request) -> dict[str, Fragment]:
    """A, B, C and D. A sparse AMD instruction accumulates to D, so its C is loaded as D lies."""
    inst = request.instruction
    given = {name: name if name in inst.operands else "D" for name in "ABCD"}
    return {name: fragment(inst.operand(operand, request.wave, **request.fields)) for name, operand in given.items()}


def in_lds(request: Request, operands: Mapping[str, Fragment]) -> Request:
    """The request with the tiles of A and B in LDS.

    Raises:
        Error: elements below a byte lie across memory.
    """
    for name in "AB":
        bits = stored_bits(operands[name])
        if bits * runs(operands[name], request.order(name))[0].count % 8:
            raise not_neighbours(request, name, bits)
    tiles = {
        name: staged(operands[name].operand, operands[name], request.order(name), element_type(request, name))
        for name in "AB"
    }
    return request._replace(tiles=tiles)


def indented(lines: Iterable[str], depth: int = 1) -> Iterator[str]:
    """Lines of a function's body, or of a block that lies deeper in it."""
    return ("    " * depth + line if line else "" for line in lines)


def comment(request: Request) -> str:
    """The first line: what the kernel computes, and how its matrices lie in memory."""
    inst = request.instruction
    words = {"row": "row by row", "col": "column by column"}
    given = [f"{name} {mark(f'{name} order', words[request.order(name)])}" for name in "AB"]
    orders = ", ".join([*given, "C and D row by row"])
    sparse = "; A is 2:4 compressed" if inst.sparse else ""
    name, title = mark("name", inst.name), mark("title", inst.architecture.title)
    wave = "" if request.language == "cuda" else f", wave{mark('wave', request.wave)}"
    lines = [f"{name} on {title}{wave}: D = A B + C.", f"In memory: {orders}{sparse}."]
    if in_bytes(inst):
        lines.append(IN_BYTES)
    if not request.constants:
        lines.append("ld are in elements; each row (or column) begins where its widest access is aligned.")
    return "".join([f"// {line}\n" for line in lines])


# PTX ISA 9.1, fragments of mma with .kind::f8f6f4: memory has elements as registers do.
IN_BYTES = "Each element of A and B lies in a byte: e2m1 in bits 5 to 2, e2m3 and e3m2 in bits 5 to 0."


def in_bytes(inst: Instruction) -> bool:
    """Whether elements of A or B are narrower than the bytes that they lie in.

    >>> import mmacalc
    >>> name = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{}.e4m3.f32"
    >>> [in_bytes(mmacalc.instruction("sm_120a", name.format(a))) for a in ("e2m1", "e5m2")]
    [True, False]
    """
    names = [name for name in "AB" if name in inst.register_operands]
    return any(inst.format(name).bits < inst.operand(name).placement.slot_bits == 8 for name in names)


def extents(given: str | Sequence[int], count: int, meaning: str) -> list[int]:
    """Sizes, from a text such as 128x64x32 or from whole numbers.

    Args:
        given: the sizes. count: how many there are. meaning: what they are, for the message.

    Raises:
        Error: others.

    >>> extents("128X64", 2, "a tile is MxN"), extents((128, 64), 2, "a tile is MxN")
    ([128, 64], [128, 64])
    >>> extents("128x", 2, "a tile is MxN")
    Traceback (most recent call last):
    mmacalc.base.errors.Error: a tile is MxN; got '128x'
    """
    try:
        if isinstance(given, str):
            found = [whole(part, "a size") for part in given.lower().split("x")]
        else:
            found = list(map(index, given))
    except (TypeError, ValueError):
        found = []
    if len(found) != count:
        raise Error(f"{meaning}; got {shown(given)}")
    return found


def element_type(request: Request, name: str) -> str:
    """The C type of an operand's elements in memory."""
    inst = request.instruction
    return memory_type(inst.format(name if name in inst.operands else "D", request.fields).name, request.language)


def memory_type(format: str, language: str) -> str:
    """The C type of a format's elements in memory."""
    if language == "cuda" and format == "f16":
        return "unsigned short"
    return ELEMENTS.get(format, "unsigned char")


def signature(attributes: str, name: str, arguments: Mapping[str, str]) -> str:
    """A kernel's head with its arguments {name: C type}, in lines of a readable length."""
    parts = [f"{kind}{argument}" for argument, kind in arguments.items()]
    return f'extern "C" __global__ {attributes}\n{listed(f"{name}(", parts, MOST_COLUMNS, 4)})'


def arguments_of(request: Request, more: Sequence[str] = ()) -> dict[str, str]:
    """The arguments of a kernel in order, as {name: C type}: the matrices, `more`, and the leading dimensions.

    Args:
        more: types and names of further pointers, such as "const int *index".
    """
    kinds = {name: mark(f"{name} type", element_type(request, name)) for name in "ABCD"}
    found = {name: f"{'' if name == 'D' else 'const '}{kind} *" for name, kind in kinds.items()}
    found |= {text.rpartition("*")[2]: text.rpartition("*")[0] + "*" for text in more}
    return found if request.constants else found | {f"ld{name.lower()}": "int " for name in "ABCD"}


def pattern_line(name: str, found: Fragment) -> str:
    """The pattern of an operand and the sizes of its digits, as a comment."""
    sizes = ", ".join(f"{digit} = {size}" for digit, size in found.operand.sizes.items())
    return f"// {name}: {found.operand.pattern}    ({sizes})"


def matrix_lines(request: Request, name: str, found: Fragment) -> Iterator[str]:
    """The pattern of an operand, its leading dimension, and the digits of the lane number."""
    yield from mark_lines(f"{name} digits", _digits(request, name, found))


def _digits(request: Request, name: str, found: Fragment) -> Iterator[str]:
    yield pattern_line(name, found)
    if name not in request.tiles:  # those of a tile stand where it is filled
        yield from leading_dimension(request, name, found.rows, found.columns)
    yield from found.variables(name.lower())


def leading_dimension(request: Request, name: str, rows: int, columns: int) -> Iterator[str]:
    """The leading dimension of a matrix, where it is a constant."""
    if request.constants:
        yield f"const int ld{name.lower()} = {columns if request.order(name) == 'row' else rows};"


def filling(request: Request, operands: Mapping[str, Fragment], threads: int, synchronize: str) -> Iterator[str]:
    """The tiles in LDS, and the loops that fill them."""
    if not request.tiles:
        return
    for name, tile in request.tiles.items():
        yield tile.declaration()
        yield from leading_dimension(request, name, operands[name].rows, operands[name].columns)
        yield from tile.filling("lane", threads)
    yield synchronize
    yield ""


def loads(request: Request, name: str, found: Fragment) -> Iterator[str]:
    """The accesses that load a matrix into its union."""
    lines = (line for run in runs(found, request.order(name)) for line in _load(request, name, found, run))
    yield from mark_lines(f"{name} loads", lines)


def stored_bits(found: Fragment) -> int:
    """The bits of an element in memory: those of its slot, since containers are loaded whole."""
    return found.operand.placement.slot_bits


def views(request: Request, name: str, found: Fragment) -> str:
    """The members of an operand's union: its elements, and the words that they fill."""
    kind = mark(f"{name} type", element_type(request, name))
    elements = mark(f"{name} slots", slots(found))
    words = mark(f"{name} words", found.operand.registers)
    return f"{kind} element[{elements}]; unsigned int word[{words}];"


def slots(found: Fragment) -> int:
    """How many elements fit in the registers of a lane."""
    bits = max(found.operand.placement.slot_bits, 8)
    return found.operand.registers * 32 // bits


def _load(request: Request, name: str, found: Fragment, run: Run) -> Iterator[str]:
    """The accesses of one run: one vector access each, as wide as the run allows."""
    bits, letter, slot = stored_bits(found), name.lower(), run.first.slot
    size = run.count * bits // 8
    if run.count == 1 and bits >= 8:
        kind = element_type(request, name)
        yield f"{letter}.element[{slot}] = {_access(request, name, found, run.first, kind)};"
        return
    if run.count * bits % 8:
        raise not_neighbours(request, name, bits)
    if size % 4:
        kind = WORDS[size]
        source = _access(request, name, found, run.first, kind)
        yield f"(({kind} *)&{letter})[{slot * bits // 8 // size}] = {source};"
        return
    width = min(16, size & -size)
    for more in range(0, size, width):
        word = slot * bits // 32 + more // 4
        source = _access(request, name, found, run.first, WORDS[width], more)
        yield f"*({WORDS[width]} *)&{letter}.word[{word}] = {source};"


def not_neighbours(request: Request, name: str, bits: int) -> Error:
    """Why elements below a byte cannot be loaded across memory."""
    other = "col" if request.order(name) == "row" else "row"
    width = f"{bits} bits" if bits > 1 else "1 bit"
    return Error(
        f"{name} of {request.instruction.name} has elements of {width} that are not neighbours in memory under order "
        f"'{request.order(name)}': use order '{other}'"
    )


def _access(request: Request, name: str, found: Fragment, item: Item, kind: str, more: int = 0) -> str:
    """What a load reads, as C text: an element or vector at an item, `more` bytes further, in memory or in LDS."""
    bits = stored_bits(found)
    if name in request.tiles:
        row, column = _row_and_column(request, name, found, item, bits, more)
        return f"*(const {kind} *)({request.tiles[name].place(row, column)})"
    at = _address(request, name, found, item)
    if kind == element_type(request, name) and bits >= 8:
        return f"{name}[{at}]"
    return f"*(const {kind} *)({name} + {at}" + (f" + {more * 8 // max(bits, 8)})" if more else ")")


def _row_and_column(
    request: Request, name: str, found: Fragment, item: Item, bits: int, more: int = 0
) -> tuple[str, str]:
    """The row of memory that has an item, and the place in it in units of 8 / bits elements (8: elements)."""
    letter, order = name.lower(), request.order(name)
    across, along = ("row", "column") if order == "row" else ("column", "row")
    extent = found.rows if order == "row" else found.columns
    major = [(getattr(digit, across) + digit.block * extent, f"{letter}_{digit.name}") for digit in found.digits]
    minor = [(getattr(digit, along) * bits // 8, f"{letter}_{digit.name}") for digit in found.digits]
    row = total(major, getattr(item, across) + item.block * extent)
    return row, total(minor, getattr(item, along) * bits // 8 + more)


def _address(request: Request, name: str, found: Fragment, item: Item) -> str:
    """The index of an item's element; of the byte it begins in where elements are narrower."""
    row, column = _row_and_column(request, name, found, item, 8)
    row = f"({row})" if " " in row else row
    index = f"{row} * ld{name.lower()}" + (f" + {column}" if column != "0" else "")
    bits = stored_bits(found)
    return index if bits >= 8 else f"({index}) * {bits} / 8"


def registers(name: str, found: Fragment) -> list[str]:
    """The registers of an operand as constraints of inline PTX."""
    constraint, member = CONSTRAINTS.get(found.operand.format.name, AS_WORDS)
    count = slots(found) if member == "element" else found.operand.registers
    return [f'"{constraint}"({name.lower()}.{member}[{at}])' for at in range(count)]


def stores(request: Request, found: Fragment) -> Iterator[str]:
    """The stores of D, element by element."""
    yield from matrix_lines(request, "D", found)
    addresses = [(_address(request, "D", found, item), item.slot) for item in found.items]
    yield from mark_lines("D stores", (f"D[{address}] = d.element[{slot}];" for address, slot in addresses))


def matrix_notes(found: CudaPlan | TensorMemoryPlan | TmaPlan) -> Iterator[str]:
    """How A, B and D lie in memory."""
    words = {True: "row by row", False: "column by column"}
    a, b = words[found.a.along_k], words[not found.b.along_k]
    kept = " / 2, of mmacalc.pack_sparse" * found.instruction.sparse
    yield f"// A (M x K{kept}) lies {a}, B (K x N) {b}, D (M x N) row by row."
