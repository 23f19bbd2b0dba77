"""The part of a kernel's source that is the same in HIP and CUDA: digits of the lane, loads and stores."""

from __future__ import annotations

from ..errors import Error
from ..records import TupleRecord
from .fragments import fragment, runs, total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..model import Instruction, Operand
    from .fragments import Fragment, Item, Run

__all__ = [
    "Request", "array_sizes", "comment", "element_type", "fragments", "kernel_name", "loads", "matrix_lines", "slots",
    "stores",
]  # fmt: skip

# The C types of elements in memory. Narrower elements are packed into bytes; bf16 is carried as its bits.
ELEMENTS = {
    "f64": "double", "f32": "float", "xf32": "float", "tf32": "float", "f16": "_Float16", "bf16": "unsigned short",
    "i32": "int", "i8": "signed char", "iu8": "signed char",
}  # fmt: skip
WORDS = {4: "unsigned int", 8: "u32x2", 16: "u32x4"}


class Request(TupleRecord):
    """What to generate: the instruction, wave size and modifiers; the orders of A and B in memory; whether leading
    dimensions are constants rather than arguments; "hip" or "cuda"; whether what depends on modifiers and orders is to
    be a mark such as `@{A loads}` (see `mmacalc.codegen.template`)."""

    instruction: Instruction
    wave: int
    fields: Mapping[str, int]
    order_a: str
    order_b: str
    constants: bool
    language: str
    template: bool = False

    def order(self, name: str) -> str:
        """The order of an operand in memory; C and D are row by row."""
        return {"A": self.order_a, "B": self.order_b}.get(name, "row")

    def mark(self, what: str, text: object) -> str:
        """A text, or in a template the mark in its place."""
        return f"@{{{what}}}" if self.template else str(text)


def kernel_name(inst: Instruction) -> str:
    """The name of the kernel: the instruction's, as an identifier."""
    return inst.name.removeprefix("v_").replace("::", "_").replace(".", "_")


def fragments(request: Request) -> dict[str, Fragment]:
    """A, B, C and D. A sparse AMD instruction accumulates to D, so its C is loaded as D lies."""
    inst = request.instruction
    given = {name: name if name in inst.operands else "D" for name in "ABCD"}
    return {name: fragment(inst.operand(operand, request.wave, **request.fields)) for name, operand in given.items()}


def comment(request: Request) -> str:
    """The first line: what the kernel computes, and how its matrices lie in memory."""
    inst = request.instruction
    words = {"row": "row by row", "col": "column by column"}
    given = [f"{name} {request.mark(f'{name} order', words[request.order(name)])}" for name in "AB"]
    orders = ", ".join([*given, "C and D row by row"])
    sparse = "; A is 2:4 compressed" if inst.sparse else ""
    return (
        f"// {inst.name} on {inst.architecture.title}, wave{request.wave}: D = A B + C. In memory: {orders}{sparse}.\n"
    )


def element_type(request: Request, operand: Operand) -> str:
    """The C type of an operand's elements in memory."""
    name = operand.format.name
    if request.language == "cuda" and name == "f16":
        return "unsigned short"
    return ELEMENTS.get(name, "unsigned char")


def _variables(name: str, found: Fragment) -> Iterator[str]:
    for digit in found.digits:
        quotient = f"lane / {digit.divisor}" if digit.divisor > 1 else "lane"
        yield f"const int {name}_{digit.name} = {quotient} % {digit.size};"


def _heading(name: str, found: Fragment) -> str:
    sizes = ", ".join(f"{digit} = {size}" for digit, size in found.operand.sizes.items())
    return f"// {name}: {found.operand.pattern}    ({sizes})"


def matrix_lines(request: Request, name: str, found: Fragment) -> Iterator[str]:
    """The pattern of an operand, its leading dimension, and the digits of the lane number."""
    if request.template:
        yield request.mark(f"{name} digits", "")
        return
    yield _heading(name, found)
    if request.constants:
        yield f"const int ld{name.lower()} = {_shortest(request, name, found)};"
    yield from _variables(name.lower(), found)


def loads(request: Request, name: str, found: Fragment) -> Iterator[str]:
    """The accesses that load a matrix into its union."""
    if request.template:
        yield request.mark(f"{name} loads", "")
        return
    for run in runs(found, request.order(name)):
        yield from _load(request, name, found, run)


def stored_bits(found: Fragment) -> int:
    """The bits of an element in memory: those of its slot, since containers are loaded whole."""
    return found.operand.placement.slot_bits


def array_sizes(request: Request, name: str, found: Fragment) -> tuple[str, str]:
    """How many elements, and how many words, the union of an operand has."""
    return request.mark(f"{name} slots", slots(found)), request.mark(f"{name} words", found.operand.registers)


def slots(found: Fragment) -> int:
    """How many elements fit in the registers of a lane."""
    bits = max(found.operand.placement.slot_bits, 8)
    return found.operand.registers * 32 // bits


def _shortest(request: Request, name: str, found: Fragment) -> int:
    return found.columns if request.order(name) == "row" else found.rows


def _load(request: Request, name: str, found: Fragment, run: Run) -> Iterator[str]:
    """The accesses of one run: one vector access each, as wide as the run allows."""
    bits, letter, slot = stored_bits(found), name.lower(), run.first.slot
    at, size = _address(request, name, found, run.first), run.count * bits // 8
    if run.count == 1 and bits >= 8:
        yield f"{letter}.element[{slot}] = {name}[{at}];"
        return
    if run.count * bits % 8:
        other = "col" if request.order(name) == "row" else "row"
        raise Error(
            f"{name} of {request.instruction.name} has elements of {bits} bits that are not neighbours in memory under "
            f"order '{request.order(name)}': use order '{other}'"
        )
    if size % 4:
        kind = {1: "unsigned char", 2: "unsigned short"}[size]
        yield f"(({kind} *)&{letter})[{slot * bits // 8 // size}] = *(const {kind} *)({name} + {at});"
        return
    width = min(16, size & -size)
    for more in range(0, size, width):
        source = f"{name} + {at}" + (f" + {more * 8 // max(bits, 8)}" if more else "")
        word = slot * bits // 32 + more // 4
        yield f"*({WORDS[width]} *)&{letter}.word[{word}] = *(const {WORDS[width]} *)({source});"


def _address(request: Request, name: str, found: Fragment, item: Item) -> str:
    """The index of an item's element; of the byte it begins in where elements are narrower."""
    letter, order = name.lower(), request.order(name)
    across, along = ("row", "column") if order == "row" else ("column", "row")
    extent = found.rows if order == "row" else found.columns
    major = [(getattr(digit, across) + digit.block * extent, f"{letter}_{digit.name}") for digit in found.digits]
    minor = [(getattr(digit, along), f"{letter}_{digit.name}") for digit in found.digits]
    row = total(major, getattr(item, across) + item.block * extent)
    row = f"({row})" if " " in row else row
    column = total(minor, getattr(item, along))
    index = f"{row} * ld{letter}" + (f" + {column}" if column != "0" else "")
    bits = stored_bits(found)
    return index if bits >= 8 else f"({index}) * {bits} / 8"


def stores(request: Request, found: Fragment) -> Iterator[str]:
    """The stores of D, element by element."""
    yield from matrix_lines(request, "D", found)
    if request.template:
        yield request.mark("D stores", "")
        return
    for item in found.items:
        yield f"D[{_address(request, 'D', found, item)}] = d.element[{item.slot}];"
