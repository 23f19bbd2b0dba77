"""A CUDA kernel around one warp-level mma: loads by its layouts, the instruction as inline PTX, the store.

It needs no CUDA header, so both nvcc and `clang -x cuda -nocudainc -nocudalib` compile it. f16 and bf16 are carried as
their bits; elements of kind::f8f6f4 lie in memory as in the registers, one in a byte.
"""

from __future__ import annotations

from ..errors import Error
from .source import array_sizes, comment, element_type, fragments, kernel_name, loads, matrix_lines, slots, stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .fragments import Fragment
    from .source import Request

__all__ = ["kernel"]

HEADER = """\
#ifndef __global__  // without CUDA's headers
#define __global__ __attribute__((global))
#endif

struct __attribute__((aligned(8))) u32x2 { unsigned int word[2]; };
struct __attribute__((aligned(16))) u32x4 { unsigned int word[4]; };
"""


def kernel(request: Request) -> str:
    """The source of a kernel in which one warp multiplies one A and B.

    Raises:
        Error: the instruction is not a warp-level mma, or an operand cannot be loaded in that order.
    """
    inst = request.instruction
    if inst.flops == 0 or inst.elsewhere or "wmma" in inst.features:
        raise Error(
            f"a kernel is generated around mma.sync and mma.sp, whose operands are in registers; not {inst.name}"
        )
    operands = fragments(request)
    body = [
        "int lane;",
        'asm("mov.u32 %0, %%laneid;" : "=r"(lane));',
        *_inputs(request, operands),
        f"{_union(request, 'D', operands['D'])};",
        *_mma(request, operands),
        "",
        *stores(request, operands["D"]),
    ]
    lines = "\n".join(f"    {line}" if line else "" for line in body)
    name = kernel_name(inst)
    launch = f"// {name}<<<1, 32>>>(...);  one warp computes one tile\n"
    return f"{comment(request)}{HEADER}\n{_signature(request, operands)} {{\n{lines}\n}}\n\n{launch}"


def _signature(request: Request, operands: Mapping[str, Fragment]) -> str:
    inst = request.instruction
    arguments = []
    for name, found in operands.items():
        arguments.append(f"{'' if name == 'D' else 'const '}{element_type(request, found.operand)} *{name}")
    if inst.sparse:
        arguments.append("const unsigned int *metadata")
    if inst.scaled:
        arguments += ["const unsigned int *scale_a", "const unsigned int *scale_b"]
    if not request.constants:
        arguments += [f"int ld{name.lower()}" for name in operands]
    return f'extern "C" __global__ void {kernel_name(inst)}({", ".join(arguments)})'


def _inputs(request: Request, operands: Mapping[str, Fragment]) -> Iterator[str]:
    for name in "ABC":
        yield from matrix_lines(request, name, operands[name])
        yield f"{_union(request, name, operands[name])} = {{}};"
        yield from loads(request, name, operands[name])
        yield ""


def _union(request: Request, name: str, found: Fragment) -> str:
    element, (elements, words) = element_type(request, found.operand), array_sizes(request, name, found)
    return f"union {{ {element} element[{elements}]; unsigned int word[{words}]; u32x4 whole; }} {name.lower()}"


def _mma(request: Request, operands: Mapping[str, Fragment]) -> Iterator[str]:
    """The instruction: D, A, B and C in braces, then metadata and scales, with their constraints."""
    inst, fields = request.instruction, request.fields
    places = {name: _registers(name, found) for name, found in operands.items()}
    number = 0
    texts = []
    for name in "DABC":
        texts.append("{" + ", ".join([f"%{number + at}" for at in range(len(places[name]))]) + "}")
        number += len(places[name])
    inputs = [*places["A"], *places["B"], *places["C"]]
    if inst.sparse:
        texts += [f"%{number}", request.mark("selector hex", hex(fields.get("selector", 0)))]
        inputs.append('"r"(metadata[lane])')
        number += 1
    for side in "ab" if inst.scaled else "":
        ids = [
            request.mark(f"{which}_id_{side} field", fields.get(f"{which}_id_{side}", 0))
            for which in ("byte", "thread")
        ]
        texts += [f"%{number}", f"{{{', '.join(ids)}}}"]
        inputs.append(f'"r"(scale_{side}[lane])')
        number += 1
    yield f'asm volatile("{inst.name} "'
    yield f'             "{", ".join(texts)};"'
    yield f"             : {', '.join(place.replace(chr(34), chr(34) + '=', 1) for place in places['D'])}"
    yield f"             : {', '.join(inputs)});"


def _registers(name: str, found: Fragment) -> list[str]:
    """The registers of an operand as constraints of inline assembly."""
    operand, letter = found.operand, name.lower()
    kind = operand.format.name
    if kind == "f64":
        return [f'"d"({letter}.element[{at}])' for at in range(slots(found))]
    if kind == "f32":
        return [f'"f"({letter}.element[{at}])' for at in range(slots(found))]
    return [f'"r"({letter}.word[{at}])' for at in range(operand.registers)]
