"""V of 8 bits turned over for wgmma, which takes B with k contiguous: the k of P V are keys.

V comes by TMA as memory has it, a row for each key. Three warps of the warpgroup that copies turn it over on its way to
a tile whose rows have keys contiguous: ldmatrix.trans gives a lane four keys of two neighbours in a row, two byte
permutations make four keys of each, and stmatrix stores them. The keys of a row lie in the order in which P is in the
first product's registers, which is the order in which ldmatrix.trans gives them. Odd and even rows take turns in a
matrix, so that no store conflicts. FlashAttention-3 does so, too (Shah et al., arXiv:2407.08608, section 3.3).

Sources: PTX ISA 9.1, sections 9.7.14.5 (ldmatrix, stmatrix), 9.7.15.5 (wgmma: B of 8 bits is K-major).
"""

from __future__ import annotations

from .attention_cuda_plan import TURNED_PLACES
from .gemm_cuda_loads import PERMUTED, matrix_loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention_cuda_plan import CudaAttentionPlan

__all__ = ["functions", "turning"]

WARPS = 3  # that turn over; the fourth of their warpgroup copies
STORE = """\
// Stores four 8x8 matrices of 16 bits; each lane names a row.
static __device__ void store_matrices(unsigned int row, const unsigned int *word) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 : : "r"(row), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
}
"""


def functions(found: CudaAttentionPlan) -> Iterator[str]:
    """What stands before the kernel."""
    turned = found.turned
    assert turned
    yield f"enum {{ T_BYTES = {turned.tile.bytes}, PLACES = {TURNED_PLACES}, TURNING = {WARPS} }};  // of V turned over"
    yield from found.v.tile.function()
    yield from turned.tile.function()
    yield from matrix_loads(True)
    yield f"{PERMUTED}\n{STORE}"


def turning(found: CudaAttentionPlan) -> Iterator[str]:
    """What the three warps do."""
    across = found.head_v // 16
    yield "const int warp = lane / 32 - 1, at = lane % 32;"
    yield "const unsigned int first = at < 16 ? 0x6420 : 0x7531, second = first ^ 0x1111;  // even rows, or odd ones"
    yield "const int t_row = at % 8 * 2 + (at / 4 % 2 ^ at / 8 % 2), t_byte = at / 16 * 16;  // that this lane names"
    yield "#pragma unroll 1"
    yield "for (int key = first_key, turn = 1, n = 0; key < keys; key += BLOCK_N, turn += 2, ++n) {"
    yield "    wait_for_tile(came_at, turn);"
    yield "    if (n >= PLACES) wait(left_at + n % PLACES * 8, (n / PLACES - 1) % 2);"
    yield "    const unsigned int from = tile_of(ring, turn), to = turned_tiles + n % PLACES * T_BYTES;"
    yield f"    for (int unit = warp; unit < {across * found.block_n // 32}; unit += TURNING) {{"
    yield f"        const int element = unit % {across} * 16, row = unit / {across} * 32;"
    yield "        unsigned int pairs[4], word[4];"
    yield "        load_matrices_turned(pairs, from + v_place(row + at, element));"
    yield "#pragma unroll"
    yield "        for (int e = 0; e < 4; ++e)"
    yield "            word[e] = permuted(pairs[e / 2 * 2], pairs[e / 2 * 2 + 1], e % 2 ? second : first);"
    yield "        store_matrices(to + t_place(element + t_row, row + t_byte), word);"
    yield "    }"
    yield "    // The asynchronous proxy, through which wgmma reads, sees what was stored."
    yield '    asm volatile("fence.proxy.async.shared::cta;\\n"'
    yield '                 "bar.sync 3, %0;" : : "n"(TURNING * 32) : "memory");'
    yield "    if (at == 0 && warp < GROUPS) arrive(free_at + turn % STAGES * 8);"
    yield "    if (lane == 32) arrive(turned_at + n % PLACES * 8);"
    yield "}"
