"""A CUDA kernel around one warp-level mma: loads by its layouts, the instruction as inline PTX, the store.

It needs no CUDA header, so both nvcc and `clang -x cuda -nocudainc -nocudalib` compile it. f16 and bf16 are carried as
their bits; elements of kind::f8f6f4 lie in memory as in the registers, one in a byte. With `lds` A and B go through
shared memory, from where ldmatrix loads them.
"""

from __future__ import annotations

from ..base.errors import Error
from . import wgmma, wmma
from .ldmatrix import matrices
from .marks import mark, parts
from .ptx import HEADER, SHARED_ADDRESS, SYNCHRONIZE, braced, launch, statement
from .source import (
    arguments_of,
    comment,
    filling,
    fragments,
    in_lds,
    indented,
    kernel_name,
    loads,
    matrix_lines,
    pattern_line,
    registers,
    signature,
    stores,
    views,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .fragments import Fragment
    from .source import Request

__all__ = ["kernel"]

WARP = 32


def kernel(request: Request) -> str:
    """The source of a kernel in which one warp (of wgmma: one warpgroup) multiplies one A and B.

    Raises:
        Error: the instruction multiplies nothing, or takes its operands from Tensor Memory; or an operand cannot be
            loaded in that order.
    """
    inst = request.instruction
    if inst.in_tensor_memory or inst.flops == 0:
        if inst.flops:
            raise Error(
                f"{inst.name} takes its operands from Tensor Memory, which needs a whole kernel to fill and read: give "
                "gemm (--gemm MxNxK)"
            )
        raise Error(
            f"{inst.name} multiplies nothing; a kernel is generated around mma, mma.sp, wmma.mma and wgmma.mma_async"
        )
    if "wgmma" in inst.features:
        return wgmma.kernel(request)
    if "wmma" in inst.features:
        return wmma.kernel(request)
    operands = fragments(request)
    if request.lds:
        request = in_lds(request, operands)
    body = [
        "int lane;",
        'asm("mov.u32 %0, %%laneid;" : "=r"(lane));',
        *filling(request, operands, WARP, SYNCHRONIZE),
        *_inputs(request, operands),
        f"{_union(request, 'D', operands['D'])};",
        *_mma(request, operands),
        "",
        *stores(request, operands["D"]),
    ]
    lines = "\n".join(indented(body))
    name = mark("kernel", kernel_name(inst))
    more = ["const unsigned int *metadata"] if inst.sparse else []
    more += ["const unsigned int *scale_a", "const unsigned int *scale_b"] if inst.scaled else []
    arguments = arguments_of(request, more)
    head = signature(f"void __launch_bounds__({WARP})", name, arguments)
    functions = "".join(f"{line}\n" for tile in request.tiles.values() for line in tile.function())
    helpers = (SHARED_ADDRESS if request.tiles else "") + functions
    hosts = launch(name, "1", WARP, ", ".join(arguments), "one warp computes one tile")
    return f"{comment(request)}{HEADER}{helpers}{head} {{\n{lines}\n}}\n{hosts}"


def _inputs(request: Request, operands: Mapping[str, Fragment]) -> Iterator[str]:
    for name in "ABC":
        found = operands[name]
        matrix = matrices(found, request.order(name)) if name in request.tiles else None
        if matrix:
            yield pattern_line(name, found)
        else:
            yield from matrix_lines(request, name, found)
        yield f"{_union(request, name, found)} = {{}};"
        yield from matrix.load(request.tiles[name]) if matrix else loads(request, name, found)
        yield ""


def _union(request: Request, name: str, found: Fragment) -> str:
    return f"union {{ {views(request, name, found)} u32x4 whole; }} {name.lower()}"


def _mma(request: Request, operands: Mapping[str, Fragment]) -> Iterator[str]:
    """The instruction: D, A, B and C in braces, then metadata and scales, with their constraints."""
    inst, fields = request.instruction, request.fields
    places = {name: registers(name, operands[name]) for name in "DABC"}
    number = 0
    texts = {}
    for name, given in places.items():
        texts[name] = mark(f"{name} numbers", braced(number, len(given)))
        number += len(given)
    outputs = [mark("D outputs", parts([place.replace('"', '"=', 1) for place in places["D"]]))]
    inputs = [mark(f"{name} inputs", parts(places[name])) for name in "ABC"]
    if inst.sparse:
        selector = mark("selector hex", hex(fields.get("selector", 0)))
        texts["metadata, selector"] = f"{mark('next', f'%{number}')}, {selector}"
        inputs.append('"r"(metadata[lane])')
        number += 1
    for side in "ab" if inst.scaled else "":
        ids = [mark(f"{which}_id_{side} field", fields.get(f"{which}_id_{side}", 0)) for which in ("byte", "thread")]
        texts[f"scales of {side.upper()}, {{byte id, thread id}}"] = (
            f"{mark('next', f'%{number}')}, {{{', '.join(ids)}}}"
        )
        inputs.append(f'"r"(scale_{side}[lane])')
        number += 1
    yield from statement(mark("name", inst.name), texts, outputs, inputs)
