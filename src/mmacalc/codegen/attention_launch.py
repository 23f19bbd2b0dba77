"""What the sources of attention kernels say of their matrices: the comment at their top, and a launch line."""

from __future__ import annotations

from ..formats import FORMATS
from .attention import AttentionPlan, o_format
from .gemm_hip import compiler_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import Problem
    from .attention_cuda_plan import CudaAttentionPlan

__all__ = ["counts_passed", "extents_of", "head_comment", "launch_arguments"]


def head_comment(found: AttentionPlan | CudaAttentionPlan) -> Iterator[str]:
    """What the kernel computes, and how its matrices lie in memory."""
    inst = found.instruction
    yield f"// O = softmax(scale Q K^T) V with {inst.name}"
    wave = f", wave{found.wave}" if isinstance(found, AttentionPlan) else ""
    yield f"// on {inst.architecture.title}{wave}."
    heads = f"{found.head}{f' (of V and O {found.head_v})' * (found.head != found.head_v)} elements"
    form, form_p = found.form, found.form_p
    yield f"// Heads of {heads} of {form}; any number of queries (M) and of keys (N)."
    if form != form_p:
        yield f"// That is of K and V; Q has elements of {form_p}, to which P is rounded."
    if found.seen.causal:
        window = f"the last {found.seen.window} of " * bool(found.seen.window)
        yield f"// Causal: the query m sees {window}the keys n <= m + N - M: the last query's last key is the last."
    yield "// Rows are Q[batch][head][m], K and V[batch][head / group][n], O as Q; `group` heads of Q share one of K"
    bits = FORMATS[form].bits
    apart = f"multiples of {128 // bits} elements apart"
    yield f"// and V. Elements of a row are neighbours; rows, heads and batches are {apart}."
    if bits == 8:
        of_v = "that of V is left to who reads O"
        yield f"// O has elements of {o_format(form)}; scales of Q and K are factors of scale, {of_v}."
    yield "// scale is positive. L, unless it is null: for each batch, head and query the logarithm of the sum of"
    yield "// exponentials. Queries that see no key get zeros, and -infinity in L."
    yield from compiler_note(inst)


def extents_of(sizes: Problem) -> tuple[list[int], list[int], list[int]]:
    """The strides of rows, heads and batches of Q, K, V and O, tensors [batch][head][row][element] without gaps."""
    rows = [sizes.head, sizes.head, sizes.head_v, sizes.head_v]
    heads = [row * count for row, count in zip(rows, (sizes.queries, sizes.keys, sizes.keys, sizes.queries))]
    counts = (sizes.heads, sizes.kv_heads, sizes.kv_heads, sizes.heads)
    return rows, heads, [head * count for head, count in zip(heads, counts)]


def counts_passed(sizes: Problem) -> str:
    """M, N, heads, group and scale of a launch line."""
    return f"{sizes.queries}, {sizes.keys}, {sizes.heads}, {sizes.group}, {sizes.head**-0.5:.9f}f"


def launch_arguments(sizes: Problem) -> Iterator[str]:
    """The arguments of a launch line, of tensors [batch][head][row][element] without gaps."""
    rows, heads, batches = extents_of(sizes)
    yield f"//     Q, K, V, O, nullptr, {counts_passed(sizes)},"
    yield f"//     {', '.join(map(str, (*rows, *heads)))},"
    yield f"//     {', '.join(map(str, batches))});"
    yield "//     Q, K, V, O, L, M, N, heads, group, scale; strides of rows, heads, batches of Q, K, V, O"
