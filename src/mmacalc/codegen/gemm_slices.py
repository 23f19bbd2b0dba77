"""Batches of a GEMM of AMD, and a GEMM whose K is split among workgroups: kernels around the same tile.

Batches are the third dimension of the grid, parts of K the second. Each part writes its sums to a workspace of
M x N for each part (and batch); a second kernel adds them in the order of the parts, so that the result is the same
every time, and does the epilogue.
"""

from __future__ import annotations

from ..base.errors import Error
from .epilogue import finishing, output_format, parameters
from .source import memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gemm import Plan

__all__ = ["MOST_PARTS", "checked_slices", "notes", "reduction", "sliced_kernel", "sliced_launch"]

MOST_PARTS = 128
REDUCING = 256  # work-items of a workgroup that adds the parts


def checked_slices(found: Plan, split: int | None, batch: int | None) -> Plan:
    """The plan with parts of K, and batches.

    Raises:
        Error: numbers out of range, scaled instructions, or sums that a workspace should not round.
    """
    for name, value, most in (("split_k", split, MOST_PARTS), ("batch", batch, 65535)):
        if value is not None and not 1 <= value <= most:
            raise Error(f"{name} is from 1 to {most}; got {value}")
    inst = found.instruction
    if inst.scaled and (batch or (split or 1) > 1):
        raise Error(f"split_k and batch are of matrices without scales; {inst.name} has scales: leave them out")
    if (split or 1) > 1 and inst.format("D").bits < 32:
        raise Error(
            f"the sums of {inst.name} are {inst.format('D').name}, and parts of them would be rounded before they are "
            "added: use its sibling that adds up in f32, with to= in epilogue"
        )
    return found._replace(split=split or 1, batches=batch)


def notes(found: Plan) -> Iterator[str]:
    """What the head of the source says."""
    if found.batches:
        yield "// Batches are a_batch, b_batch, d_batch elements apart, aligned where lda, ldb, ldd have to be;"
        yield "// the third dimension of the grid is their number."
    if found.split > 1:
        batches = "batches x " * bool(found.batches)
        yield f"// K is split into {found.split} parts, the second dimension of the grid. Each writes its sums to the"
        yield f"// workspace `sums`, {batches}{found.split} x M x N, of which {found.reduce_name}"
        yield "// makes D, always in the same order."


def _elements(name: str, bits: int) -> str:
    """A number of elements as elements of the C type, where narrow ones share a byte."""
    return name if bits >= 8 else f"({name}) / {8 // bits}"


def _batched(found: Plan, name: str, bits: int) -> str:
    return f" + {_elements(f'batch * {name.lower()}_batch', bits)}" if found.batches else ""


def _declared(found: Plan, names: tuple[str, ...]) -> str:
    """The parameters of batches behind all others."""
    return ",\n    " + ", ".join(f"long long {name}_batch" for name in names) if found.batches else ""


def sliced_kernel(found: Plan, name: str, aligned: str) -> Iterator[str]:
    """The body and the parameters of a kernel, from its name on."""
    given = "const a_element *__restrict__ A, const b_element *__restrict__ B"
    batch = "const long long batch = __builtin_amdgcn_workgroup_id_z();"
    a, b = (_batched(found, side.name, side.bits) for side in (found.a, found.b))
    if found.split == 1:
        c = ("c",) if found.epilogue.beta else ()
        d = "output *D" if found.epilogue.beta else "output *__restrict__ D"  # C may be D
        given += f", {d},\n    int M, int N, int K, int lda, int ldb, int ldd"
        yield f"void {name}("
        more = parameters(found.instruction, found.epilogue).declared
        yield f"    {given}{more}{_declared(found, ('a', 'b', 'd', *c))}) {{"
        yield f"    {batch}"
        more = parameters(found.instruction, found.epilogue).passed.replace(" C,", " C + batch * c_batch,")
        yield f"    tile<{aligned}>(A{a}, B{b}, D + batch * d_batch,"
        yield f"        M, N, K, lda, ldb, ldd{more});"
        yield "}"
        return
    yield f"void {name}("
    yield f"    {given}, output *__restrict__ sums,"
    yield f"    int M, int N, int K, int lda, int ldb{_declared(found, ('a', 'b'))}) {{"
    yield f"    {batch if found.batches else 'const long long batch = 0;'}"
    yield f"    enum {{ SPLIT = {found.split} }};"
    yield "    const int part = __builtin_amdgcn_workgroup_id_y(), stages = (K + BLOCK_K - 1) / BLOCK_K;"
    yield "    const int depth = (stages + SPLIT - 1) / SPLIT * BLOCK_K;  // of a part"
    yield "    const int first = part * (long long)depth < K ? part * depth : K;"
    starts = []
    for side in (found.a, found.b):
        start = "(long long)first" + ("" if side.along_k else f" * ld{side.name.lower()}")
        starts.append(f"{side.name}{_batched(found, side.name, side.bits)} + {_elements(start, side.bits)}")
    yield f"    tile<{aligned}>({starts[0]}, {starts[1]},"
    yield "        sums + (batch * SPLIT + part) * M * N, M, N, least(K - first, depth), lda, ldb, N);"
    yield "}"


def reduction(found: Plan) -> Iterator[str]:
    """The kernel that adds the parts of K; nothing where K is whole."""
    if found.split == 1:
        return
    inst, more = found.instruction, parameters(found.instruction, found.epilogue)
    yield from finishing(inst, found.epilogue)
    made = memory_type(output_format(inst, found.epilogue).name, "hip")
    c = ("c",) if found.epilogue.beta else ()
    yield "// D from the sums of the parts, one element for each work-item."
    yield f'extern "C" __global__ __attribute__((amdgpu_flat_work_group_size({REDUCING}, {REDUCING})))'
    yield f"void {found.reduce_name}("
    declared = more.declared + _declared(found, ("d", *c))
    yield f"    const output *__restrict__ sums, {made} *D, int M, int N, int ldd{declared}) {{"
    batch = "__builtin_amdgcn_workgroup_id_z()" if found.batches else "0"
    yield f"    const long long batch = {batch}, all = (long long)M * N;"
    yield f"    const long long at = (long long)__builtin_amdgcn_workgroup_id_x() * {REDUCING} +"
    yield "        __builtin_amdgcn_workitem_id_x();"
    yield "    if (at >= all) return;"
    yield "    const int row = at / N, column = at % N;"
    yield "    output sum = 0;"
    yield f"    for (int part = 0; part < {found.split}; ++part)"
    yield f"        sum += sums[(batch * {found.split} + part) * all + at];"
    place = f"D[{'batch * d_batch + ' * bool(found.batches)}(long long)row * ldd + column]"
    passed = more.passed.replace(" C,", " C + batch * c_batch,") if found.batches else more.passed
    yield f"    {place} ="
    yield f"        {f'finished(sum, row, column, M, N{passed})' if found.epilogue.words else 'sum'};"
    yield "}"
    yield ""


def sliced_launch(found: Plan, sizes: tuple[int, int, int], name: str, leads: tuple[int, int]) -> Iterator[str]:
    """The lines that launch the kernels."""
    m, n, k = sizes
    lda, ldb = leads
    batches, more = found.batches or 1, parameters(found.instruction, found.epilogue).passed
    grid = f"dim3({found.blocks(m, n)}, {found.split}, {batches})"
    apart = {"a": m * k, "b": n * k, "d": m * n} if found.batches else {}
    c = {"c": m * n} if found.batches and found.epilogue.beta else {}

    def strides(names: str) -> str:
        return "".join(f", {({**apart, **c})[each]}" for each in names if each in {**apart, **c})

    yield f"// hipLaunchKernelGGL({name}, {grid}, dim3({found.threads}), 0, stream,"
    if found.split == 1:
        yield f"//     A, B, D, {m}, {n}, {k}, {lda}, {ldb}, {n}{more}{strides('abdc')});"
        return
    yield f"//     A, B, sums, {m}, {n}, {k}, {lda}, {ldb}{strides('ab')});  // A, B, sums, M, N, K, lda, ldb"
    blocks = -(-m * n // REDUCING)
    yield f"// hipLaunchKernelGGL({found.reduce_name}, dim3({blocks}, 1, {batches}), dim3({REDUCING}), 0, stream,"
    yield f"//     sums, D, {m}, {n}, {n}{more}{strides('dc')});  // sums, D, M, N, ldd"
