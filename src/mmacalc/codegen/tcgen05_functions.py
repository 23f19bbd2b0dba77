"""The functions around tcgen05 in generated kernels: products, copies to Tensor Memory, commits, loads and stores.

Sources: PTX ISA 9.1, sections 9.7.16.4 (descriptors), 9.7.16.8 (ld, st), 9.7.16.9 (cp), 9.7.16.10 (mma), 9.7.16.11
(commit).
"""

from __future__ import annotations

from .ptx import braced, operand_texts, operands
from .source import indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model import Instruction

__all__ = ["FUNCTIONS", "PAIR", "cell_function", "column_function", "commit_function", "multiply_function"]

FUNCTIONS = """\
// One thread of a warp that has come here whole. ptxas knows by elect.sync that it is one: operands need no loop.
static __device__ bool elected() {
    unsigned int found;
    asm volatile("{ .reg .pred one;\\n"
                 "elect.sync _|one, 0xffffffff;\\n"
                 "selp.u32 %0, 1, 0, one; }" : "=r"(found));
    return found != 0;
}

// The matrix descriptor of tcgen05: bits 13:0 address / 16, 29:16 leading dimension byte offset / 16, 45:32 stride
// dimension byte offset / 16, 48:46 = 1, 63:61 swizzle (0 none, 2 128B, 4 64B, 6 32B).
static __device__ unsigned long long descriptor_at(unsigned int address, int leading, int stride, int swizzle) {
    return (unsigned long long)((address & 0x3FFFF) >> 4) | (unsigned long long)(leading / 16) << 16
        | (unsigned long long)(stride / 16) << 32 | 1ull << 46 | (unsigned long long)swizzle << 61;
}
"""
PAIR = """\
// The address of the same variable in a block of the pair.
static __device__ unsigned int in_block(unsigned int address, unsigned int rank) {
    unsigned int found;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(address), "r"(rank));
    return found;
}

static __device__ void arrive_in_pair(unsigned int barrier) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" : : "r"(barrier) : "memory");
}

static __device__ void synchronize_pair() {
    asm volatile("barrier.cluster.arrive.release.aligned;\\n"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
"""


def cell_function(name: str, group: int, shape: str) -> Iterator[str]:
    """The function around a tcgen05.cp."""
    yield f"static __device__ void {name}(unsigned int to, unsigned long long from) {{"
    yield f'    asm volatile("tcgen05.cp.cta_group::{group}.{shape} [%0], %1;"'
    yield '                 : : "r"(to), "l"(from) : "memory");'
    yield "}"
    yield ""


def multiply_function(inst: Instruction, name: str = "multiply", a_in_tensor_memory: bool = False) -> Iterator[str]:
    """The function around tcgen05.mma; its A is a matrix descriptor, or an address in Tensor Memory."""
    words, addresses = ["d", "a", "b", *["metadata"] * inst.sparse, "instruction"], {"d", "metadata"}
    words += ["a_scales", "b_scales"] * inst.scaled
    addresses |= {"a_scales", "b_scales", *["a"] * a_in_tensor_memory}
    wide = {"a", "b"} - addresses  # matrix descriptors
    parameters = ", ".join([f"unsigned {'long long' if word in wide else 'int'} {word}" for word in words])
    texts = [f"[%{at}]" if word in addresses else f"%{at}" for at, word in enumerate(words)]
    given = ", ".join([f'"{"l" if word in wide else "r"}"({word})' for word in words])
    yield f"// Starts d = a b, or d += a b{'; a is in Tensor Memory' * a_in_tensor_memory}."
    yield f"static __device__ void {name}({parameters}, bool add) {{"
    yield '    asm volatile("{ .reg .pred add;\\n"'
    yield f'                 "setp.ne.u32 add, %{len(words)}, 0;\\n"'
    yield f'                 "{inst.name} {", ".join(texts)}, add; }}"'
    yield f'                 : : {given}, "r"((unsigned int)add) : "memory");'
    yield "}"
    yield ""


def commit_function(group: int) -> Iterator[str]:
    """The function around tcgen05.commit, of a block or of a pair."""
    words = "barrier of both blocks" if group == 2 else "barrier"
    yield f"// Arrives at the {words} when all products that were started are complete."
    yield "static __device__ void commit(unsigned int barrier) {"
    every = ".multicast::cluster" if group == 2 else ""
    name = f"tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{every}.b64"
    if group == 2:
        yield '    asm volatile("{ .reg .b16 both;\\n"'
        yield '                 "mov.b16 both, 3;\\n"'
        yield f'                 "{name} [%0], both; }}" : : "r"(barrier) : "memory");'
    else:
        yield f'    asm volatile("{name} [%0];" : : "r"(barrier) : "memory");'
    yield "}"
    yield ""


def column_function(
    name: str,
    count: int,
    kind: tuple[str, str] = ("unsigned int", "r"),
    stores: bool = False,
    shape: str = "32x32b",
    split: str = "",
) -> Iterator[str]:
    """The function around tcgen05.ld, which waits, or around tcgen05.st, which does not.

    Args:
        count: columns. kind: the C type of the registers, and their constraint. split: behind the address.
    """
    words = [f'"{"=" * (not stores)}{kind[1]}"(word[{number}])' for number in range(count)]
    if stores:
        parameters, text = f"unsigned int address, const {kind[0]} *word", f"[%0]{split}, {braced(1, count)}"
    else:
        parameters, text = f"{kind[0]} *word, unsigned int address", f"{braced(0, count)}, [%{count}]{split}"
    yield f"// {count} columns of the lane that this thread {'writes' if stores else 'reads'}."
    yield f"static __device__ void {name}({parameters}) {{"
    yield '    asm volatile("bar.warp.sync 0xffffffff;\\n"'
    yield f'                 "tcgen05.{"st" if stores else "ld"}.sync.aligned.{shape}.x{count}.b32 "'
    yield from indented(operand_texts({"its columns": text}, ";" if stores else ";\\n"))
    if not stores:
        yield '                 "tcgen05.wait::ld.sync.aligned;"'
    given = ['"r"(address)', *words] if stores else ['"r"(address)']
    yield from indented(operands([] if stores else words, given, ' : "memory"'))
    yield "}"
    yield ""
