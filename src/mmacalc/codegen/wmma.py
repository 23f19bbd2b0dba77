"""A CUDA kernel around one wmma.mma: wmma.load, wmma.mma and wmma.store, as inline PTX.

NVIDIA leaves the layout of wmma fragments unspecified, so no element is addressed in registers: wmma.load and
wmma.store move whole matrices, in the orders that the instruction's name has. `nvcuda::wmma` is the same in C++.

Source: PTX ISA 9.1, section 9.7.14.4.
"""

from __future__ import annotations

from ..base.errors import Error
from ..catalog import entry
from ..formats import ptx_name
from .ptx import HEADER, braced, launch, operands, statement
from .source import arguments_of, comment, indented, kernel_name, leading_dimension, signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction
    from .source import Request

__all__ = ["kernel"]

WARP = 32
REGISTERS = {"f32": ("float", "f"), "f64": ("double", "d")}


def kernel(request: Request) -> str:
    """The source of a kernel in which one warp multiplies one A and B.

    Raises:
        Error: an order that is not that of the instruction's name, tiles in shared memory, or fragments that no
            wmma.load fills.
    """
    inst = request.instruction
    if inst.layouts != (request.order_a, request.order_b):
        a, b = inst.layouts
        raise Error(
            f"{inst.name} has A in order '{a}' and B in order '{b}', and no other: order_a='{a}', order_b='{b}'"
        )
    if request.lds:
        raise Error(f"{inst.name} loads whole matrices, so no tile in shared memory is laid out for it; leave out lds")
    for name in "ABC":
        moved = f"wmma.load.{name.lower()}.{_moved(request, name)}"
        if ".shared.".join(moved.rsplit(".", 1)) not in entry(inst.arch).names:
            raise Error(f"{inst.name} has no {moved} that would load its {name}: ptxas takes the product alone")
    body = [line for name in "ABC" for line in _load(request, name)] + [*_mma(inst), *_store(request)]
    lines = "\n".join(indented(body))
    name = kernel_name(inst)
    arguments = arguments_of(request)
    head = signature(f"void __launch_bounds__({WARP})", name, arguments)
    hosts = launch(name, "1", WARP, ", ".join(arguments), "one warp computes one tile")
    return f"{comment(request)}{HEADER}{head} {{\n{lines}\n}}\n{hosts}"


def _of(inst: Instruction, name: str) -> tuple[str, str, int]:
    """The C type of a fragment's registers, their constraint, and their number."""
    kind, constraint = REGISTERS.get(inst.formats[name], ("unsigned int", "r"))
    return kind, constraint, inst.fragment_registers[name] // (2 if kind == "double" else 1)


def _moved(request: Request, name: str) -> str:
    """The qualifiers of a load or store: order, shape and type."""
    inst = request.instruction
    return f"sync.aligned.{request.order(name)}.m{inst.m}n{inst.n}k{inst.k}.{ptx_name(inst.formats[name])}"


def _constraints(letter: str, constraint: str, count: int) -> list[str]:
    return [f'"{constraint}"({letter}[{number}])' for number in range(count)]


def _leading(request: Request, name: str) -> Iterator[str]:
    _, rows, columns = request.instruction.operand(name).shape
    return leading_dimension(request, name, rows, columns)


def _load(request: Request, name: str) -> Iterator[str]:
    kind, constraint, count = _of(request.instruction, name)
    letter = name.lower()
    yield from _leading(request, name)
    yield f"{kind} {letter}[{count}];"
    yield f'asm volatile("wmma.load.{letter}.{_moved(request, name)} {braced(0, count)}, [%{count}], %{count + 1};"'
    outputs = _constraints(letter, "=" + constraint, count)
    yield from operands(outputs, [f'"l"({name})', f'"r"(ld{letter})'], ' : "memory"')
    yield ""


def _mma(inst: Instruction) -> Iterator[str]:
    first, texts = 0, {}
    for name in "DABC":
        count = _of(inst, name)[2]
        texts[name] = braced(first, count)
        first += count
    kind, constraint, count = _of(inst, "D")
    yield f"{kind} d[{count}];"
    inputs = [text for name in "ABC" for text in _constraints(name.lower(), *_of(inst, name)[1:])]
    yield from statement(inst.name, texts, _constraints("d", "=" + constraint, count), inputs)
    yield ""


def _store(request: Request) -> Iterator[str]:
    _, constraint, count = _of(request.instruction, "D")
    yield from _leading(request, "D")
    yield f'asm volatile("wmma.store.d.{_moved(request, "D")} [%0], {braced(1, count)}, %{count + 1};"'
    yield from operands([], ['"l"(D)', *_constraints("d", constraint, count), '"r"(ldd)'], ' : "memory"')
