"""A HIP kernel around one AMD instruction: loads by its layouts, the builtin, the store."""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..catalog import instructions
from ..compiler.builtins import intrinsic, unscaled
from .marks import mark
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
    signature,
    stores,
    views,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..compiler.dialects import Intrinsic
    from ..model import Instruction
    from .fragments import Fragment
    from .source import Request

__all__ = ["HEADER", "PREFIX", "SYNCHRONIZE", "WAITS", "XDL_WAIT", "kernel", "reached", "signs", "source", "values"]

# The most wait states after a WMMA or SWMMAC of gfx1250 (LLVM 22.1.8, checkWMMACoexecutionHazards).
WAITS = 8
XDL_WAIT = '"s_nop 15\\n\\ts_nop 3"'
"""Those between an MFMA of 16 passes and the VALU, as a C text (CDNA4 ISA guide, Table 38)."""

HEADER = """\
#if defined(__CLANG_HIP_RUNTIME_WRAPPER_H__) && __has_include(<hip/hip_runtime.h>)
#include <hip/hip_runtime.h>
#elif !defined(__global__)  // without ROCm: clang -x hip -nogpuinc -nogpulib
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#endif
"""
"""The wrapper is what hipcc and clang include first; with -nogpuinc nothing includes it, also where some HIP is
installed (which of another release would not compile)."""

WIDE = "".join([f"typedef unsigned int u32x{n} __attribute__((ext_vector_type({n})));\n" for n in (2, 4)])
PREFIX = "__builtin_amdgcn_"  # of all builtins

SYNCHRONIZE = """\
static __device__ void synchronize() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""


def kernel(request: Request) -> str:
    """The source of a kernel that multiplies one A and B.

    Raises:
        Error: the instruction has no builtin that computes it, or an operand that cannot be loaded in that order.
    """
    call = reached(request.instruction, request.wave)
    _check_carried_out(request, call)
    return source(request, call)


def _check_carried_out(request: Request, call: Call) -> None:
    """Refuse modifiers that the call has no argument for."""
    inst = request.instruction
    carried = {"neg"} if signs(inst, {}) and not call.truncated else set()
    carried |= set() if call.truncated else {FIELDS.get(name, name) for name in call.builtin.arg_names}
    if others := [name for name, value in request.fields.items() if name not in carried and value]:
        known = sorted(carried & {*inst.modifier_limits()})
        takes = f"; it takes {', '.join(known)}" if known else ""
        raise Error(
            f"a kernel around {inst.name} does not carry out {', '.join(others)}{takes}: leave out {', '.join(others)}"
        )


def source(request: Request, call: Call) -> str:
    """The source of a kernel that reaches its instruction by that call."""
    builtin = call.builtin
    operands = fragments(request)
    if request.lds:
        request = in_lds(request, operands)
    wave = mark("wave", request.wave)
    body = [
        f"const int lane = __builtin_amdgcn_workitem_id_x() % {wave};",
        *filling(request, operands, request.wave, "synchronize();"),
        *_loads(request, operands, builtin),
        *_call(request, operands, call),
        *stores(request, operands["D"]),
    ]
    lines = "\n".join(indented(body))
    name, arguments = mark("kernel", kernel_name(request.instruction)), _arguments(request)
    head = signature(f"__attribute__((amdgpu_flat_work_group_size({wave}, {wave})))", f"void {name}", arguments)
    functions = "".join(f"{line}\n" for tile in request.tiles.values() for line in tile.function())
    if functions:
        functions = f"// What this workgroup wrote to LDS can be read behind this.\n{SYNCHRONIZE}\n{functions}"
    return (
        f"{comment(request)}{HEADER}\n{WIDE}{mark('typedefs', _typedefs(builtin))}\n{functions}"
        f"{head} {{\n{lines}\n}}\n\n{_launch(name, wave, arguments)}"
    )


class Call(TupleRecord):
    """How the kernel reaches the instruction: by a builtin (of `inst`), or if that truncates the index, by assembly."""

    builtin: Intrinsic
    inst: Instruction
    truncated: bool


def reached(inst: Instruction, wave: int) -> Call:
    """How a kernel reaches an instruction.

    Raises:
        Error: no builtin computes it.
    """
    found = intrinsic(inst, wave)
    if found is None:  # gfx950's f8f6f4 without scales is what the scaled builtin becomes when both scales are 0
        for scaled in instructions(inst.arch):
            if unscaled(scaled) == inst:
                found = intrinsic(scaled, wave)
    if found is None:
        raise Error(f"{inst.name} on {inst.architecture.title} has no builtin to call: assemble it instead")
    wide = inst.sparse and inst.operand("K", wave).registers == 2
    return Call(found, inst, wide and found.arg_types[found.arg_names.index("index")] == "int")


def _typedefs(builtin: Intrinsic) -> str:
    lines = {declaration for _, declaration in values(builtin).values() if declaration}
    return "".join([f"{line}\n" for line in sorted(lines)])


def values(builtin: Intrinsic) -> dict[str, tuple[str, str]]:
    """The C types in which a builtin takes A, B and C and returns D, with the declarations of vectors, "" of others."""
    kinds = {**dict(zip(builtin.arg_names, builtin.arg_types)), "d": builtin.return_type}
    return {name: (_type(kinds[name.lower()]), _declaration(kinds[name.lower()])) for name in "ABCD"}


def _declaration(kind: str) -> str:
    element, _, count = kind.partition(" x")
    return f"typedef {element} {_type(kind)} __attribute__((ext_vector_type({count})));" if count else ""


def _type(kind: str) -> str:
    element, _, count = kind.partition(" x")
    return f"{element.strip('_').replace(' ', '_').lower()}x{count}" if count else element


def _arguments(request: Request) -> dict[str, str]:
    """The arguments of the kernel in order, as {name: C type}."""
    inst = request.instruction
    more = [f"const {_index_type(inst, request.wave)} *index"] if inst.sparse else []
    if inst.scaled:
        more += [f"const {_scale_type(inst)} *scale_a", f"const {_scale_type(inst)} *scale_b"]
    return arguments_of(request, more)


def _index_type(inst: Instruction, wave: int) -> str:
    return "long" if inst.operand("K", wave).registers == 2 else "int"


def _scale_type(inst: Instruction) -> str:
    return "long" if inst.block_size == 16 else "int"


def _union(request: Request, name: str, kind: str, found: Fragment) -> str:
    value = mark(f"{name} value", kind)
    return f"union {{ {value} value; {views(request, name, found)} }} {name.lower()}"


def _loads(request: Request, operands: Mapping[str, Fragment], builtin: Intrinsic) -> Iterator[str]:
    kinds = values(builtin)
    for name in "ABC":
        found = operands[name]
        yield from matrix_lines(request, name, found)
        yield f"{_union(request, name, kinds[name][0], found)} = {{}};"
        yield from loads(request, name, found)
        yield ""


# What the arguments of a builtin are, by name; signs are of `signs`, all others are fields.
ARGUMENTS = {
    "a": "a.value", "b": "b.value", "c": "c.value", "index": "index[lane]", "a_scale": "scale_a[lane]",
    "b_scale": "scale_b[lane]",
}  # fmt: skip
SIGNED = 3
FIELDS = {"a_fmt": "matrix_a_fmt", "b_fmt": "matrix_b_fmt", "a_scale_fmt": "matrix_a_scale_fmt",
          "b_scale_fmt": "matrix_b_scale_fmt"}  # fmt: skip


def signs(inst: Instruction, fields: Mapping[str, int]) -> dict[str, str]:
    """Whether A and B are signed, as a builtin of integers of either sign takes it: bits 0 and 1 of NEG, signed if
    nothing is said.

    >>> import mmacalc
    >>> signs(mmacalc.instruction("gfx1100", "v_wmma_i32_16x16x16_iu8"), {"neg": 1})
    {'a_signed': '1', 'b_signed': '0'}
    """
    if inst.format("A").kind != "either":
        return {}
    value = fields.get("neg", SIGNED)
    return {f"{side}_signed": str(value >> bit & 1) for bit, side in enumerate("ab")}


def _marked_signs(request: Request) -> dict[str, str]:
    found = signs(request.instruction, request.fields)
    return {name: mark(f"neg bit {bit}", value) for bit, (name, value) in enumerate(found.items())}


def _call(request: Request, operands: Mapping[str, Fragment], call: Call) -> Iterator[str]:
    builtin, fields = call.builtin, request.fields
    yield f"{_union(request, 'D', values(builtin)['D'][0], operands['D'])};"
    if call.truncated:
        yield from _assembly(request)
        return
    given = {**ARGUMENTS, **_marked_signs(request)}
    given |= {} if request.instruction.scaled else {"a_scale": "0", "b_scale": "0"}
    arguments = []
    for name in builtin.arg_names:
        field = FIELDS.get(name, name)
        arguments.append(given.get(name) or mark(f"{field} field", fields.get(field, 0)))
    name = builtin.builtin.removeprefix(PREFIX)
    yield f"d.value = {PREFIX}{mark('builtin', name)}({', '.join(arguments)});"
    yield ""


def _assembly(request: Request) -> Iterator[str]:
    """The instruction as inline assembly, with the wait states that the compiler does not add around it."""
    yield "// clang 22.1.8 declares this builtin's index as 32 bits of the 64 that the instruction reads."
    yield "d.value = c.value;"
    nops = "\\n\\tv_nop" * WAITS
    operands = '"v"(a.value), "v"(b.value), "v"(index[lane])'
    either = signs(request.instruction, {})  # other signs are refused
    signed = f" neg_lo:[{','.join(either.values())},0]" if either else ""
    name = mark("name", request.instruction.name)
    yield f'asm("{name} %0, %1, %2, %3{signed}{nops}" : "+v"(d.value) : {operands});'
    yield ""


def _launch(name: str, wave: str, arguments: Mapping[str, str]) -> str:
    given = f"hipLaunchKernelGGL({name}, dim3(1), dim3({wave}), 0, stream, {', '.join(arguments)})"
    return f"// {given};  one wave computes one tile\n"
