"""How a wave of AMD hands P to the second product: rounded, in registers, by an exchange of lanes, or through LDS."""

from __future__ import annotations

from ..formats import FORMATS
from .fragments import fragment, linear_sum
from .gemm_lds import pieces
from .staging import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .attention import AttentionPlan

__all__ = ["PAD", "exchanged", "handing", "rounding"]

PAD = 16  # bytes behind each query's row of P in LDS, against bank conflicts
EXCHANGES = {
    ("gfx95", 16): "__builtin_amdgcn_permlane16_swap(word, word, false, false)[lane / 16 % 2 ^ 1]",
    ("gfx95", 32): "__builtin_amdgcn_permlane32_swap(word, word, false, false)[lane / 32 ^ 1]",
    ("gfx11", 16): "__builtin_amdgcn_permlanex16(word, word, 0x76543210, 0xfedcba98, false, false)",
    ("gfx12", 16): "__builtin_amdgcn_permlanex16(word, word, 0x76543210, 0xfedcba98, false, false)",
    ("gfx11", 32): "__builtin_amdgcn_permlane64(word)",
    ("gfx12", 32): "__builtin_amdgcn_permlane64(word)",
    ("gfx9", 16): "__builtin_amdgcn_ds_swizzle(word, 0x401F)",
    ("gfx9", 32): "__builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, word)",
}


def exchanged(found: AttentionPlan, distance: int) -> str:
    """What `word` is in the lane with another bit of its number."""
    target = found.instruction.architecture.targets[0]
    return next(text for (name, far), text in EXCHANGES.items() if far == distance and target.startswith(name))


def rounding(found: AttentionPlan) -> Iterator[str]:
    """The function that rounds four exponentials to 8 bits."""
    if FORMATS[found.form_p].bits != 8:
        return
    name = "fp8" if found.form_p.startswith("e4m3") else "bf8"
    yield f"// Four numbers, rounded to the nearest {found.form_p}, in a register: the first in its lowest byte."
    yield "static __device__ unsigned int rounded_p(float a, float b, float c, float d) {"
    yield "    const int first = __builtin_bit_cast(int, a);  // half of it is replaced at a time"
    yield f"    const int low = __builtin_amdgcn_cvt_pk_{name}_f32(a, b, first, false);"
    yield f"    return __builtin_amdgcn_cvt_pk_{name}_f32(c, d, low, true);"
    yield "}"
    yield ""


def handing(found: AttentionPlan) -> Iterator[str]:
    """Fills `p`, B of the second product, with the exponentials, rounded."""
    inst = found.instruction
    words = inst.operand("B", found.wave).registers
    bits = FORMATS[found.form_p].bits
    each = f"narrow each[{2 * words}]; " * (bits == 16)
    yield f"union {{ value all; {each}unsigned int word[{words}]; }} p[TILES_Q][PARTS_P];"
    if bits == 8:
        assert found.handover == "registers"
        yield "// P is B of the second product as it lies in the first one's registers, rounded."
        yield "for (int i = 0; i < TILES_Q; ++i)"
        yield "    for (int e = 0; e < TILES_K * SLOTS; e += 4) {"
        yield "        const result from = s[i][e / SLOTS];"
        yield "        const int at = e % SLOTS;"
        yield f"        p[i][e / {4 * words}].word[e / 4 % {words}] ="
        yield "            rounded_p(from[at], from[at + 1], from[at + 2], from[at + 3]);"
        yield "    }"
    elif found.handover == "registers":
        yield "// P is B of the second product as it lies in the first one's registers, rounded."
        yield "for (int i = 0; i < TILES_Q; ++i)"
        yield "    for (int e = 0; e < TILES_K * SLOTS; ++e)"
        yield f"        p[i][e / {2 * words}].each[e % {2 * words}] = (narrow)s[i][e / SLOTS][e % SLOTS];"
    elif found.handover == "exchange":
        yield "// Both halves of the wave need all keys of P: each has one half, and gets the other."
        yield "for (int i = 0; i < TILES_Q; ++i)"
        yield "    for (int tile = 0; tile < TILES_K; ++tile) {"
        yield f"        union {{ narrow each[SLOTS]; unsigned int word[{words // 2}]; }} own;"
        yield "        for (int e = 0; e < SLOTS; ++e) own.each[e] = (narrow)s[i][tile][e];"
        yield f"        for (int n = 0; n < {words // 2}; ++n) {{"
        yield "            const unsigned int word = own.word[n];"
        yield f"            const unsigned int other = {exchanged(found, 16)};"
        yield "            p[i][tile].word[n] = lane < 16 ? word : other;"
        yield f"            p[i][tile].word[n + {words // 2}] = lane < 16 ? other : word;"
        yield "        }"
        yield "    }"
    else:
        yield from _through_lds(found, words)
    yield ""


def _through_lds(found: AttentionPlan, words: int) -> Iterator[str]:
    """A lane's results are neighbouring keys of its query: it writes them as they are, and reads what B needs."""
    inst = found.instruction
    slots = len(fragment(inst.operand("D", found.wave)).items)
    kind = WORDS[2 * slots]
    side = found.k._replace(name="P", extent=inst.n, depth=found.block_n)
    yield "// P goes through LDS, where the wave has a place of its own."
    yield "unsigned char *const p_tile = p_tiles[wave];"
    yield "for (int i = 0; i < TILES_Q; ++i)"
    yield "    for (int tile = 0; tile < TILES_K; ++tile) {"
    yield f"        union {{ narrow each[SLOTS]; {kind} all; }} own;"
    yield "        for (int e = 0; e < SLOTS; ++e) own.each[e] = (narrow)s[i][tile][e];"
    place = f"(i * {inst.n} + query) * P_ROW + (tile * {inst.m} + lane_key) * (int)sizeof(element)"
    yield f"        *({kind} *)(p_tile + {place}) = own.all;"
    yield "    }"
    yield '__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront", "local");'
    yield "__builtin_amdgcn_wave_barrier();"
    yield "for (int i = 0; i < TILES_Q; ++i)"
    yield "    for (int part = 0; part < PARTS_P; ++part) {"
    for piece in pieces(inst.operand("B", found.wave), side, 1):
        row = linear_sum([row for row, _ in piece.table], "lane")
        byte = linear_sum([byte for _, byte in piece.table], "lane")
        kind = WORDS[piece.width]
        at = f"(i * {inst.n} + {row}) * P_ROW + part * {inst.k * 2} + {byte}"
        yield f"        *({kind} *)&p[i][part].word[{piece.word}] = *(const {kind} *)(p_tile + {at});"
    yield "    }"
