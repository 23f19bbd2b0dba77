"""An attention kernel of Hopper in CUDA around wgmma: see `mmacalc.codegen.attention`.

Q, K and V lie in shared memory as memory has them, in panels of 128 bytes of a row (of 64 or 32 where the head asks for
it): K-major for Q K^T, and V, whose rows are k of P V, MN-major. D of the first product, rounded, is A of the second.

Source: PTX ISA 9.1, section 9.7.15.5.
"""

from __future__ import annotations

from ..families.descriptors import SWIZZLES as SWIZZLE_CODES
from .attention_parts import Parts, held_in_registers, rescaled, rounded_words, stores
from .ptx import DESCRIPTOR, braced, operand_texts, operands
from .tensor_copies import VECTOR, offsets, swizzle_name
from .wgmma import ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .attention import CudaAttentionPlan
    from .staging import Side

__all__ = ["descriptors", "k_major_offset", "parts", "tiles_in_shared_memory"]


def parts(found: CudaAttentionPlan) -> Parts:
    """What a kernel around wgmma has of its own."""
    held = held_in_registers(found)
    assert found.q
    rows = f" + thread / LANES * {found.instruction.m * found.q.panel}" if found.groups > 1 else ""
    texts = {"Q": f"descriptor(q_tile{rows}", "K": "descriptor(k_tile", "V": "descriptor(v_tile"}
    return Parts(
        held,
        functions=(DESCRIPTOR,),
        shared=tuple(tiles_in_shared_memory(found)),
        begin=(*descriptors(found, SWIZZLE_CODES["wgmma"], texts), f"float o[TILES_V][{len(held.items)}] = {{}};"),
        scores=tuple(_scores(found)),
        rescale=tuple(rescaled(held)),
        handing=(),
        values=tuple(_values(found)),
        end=tuple(stores(held)),
    )


def tiles_in_shared_memory(found: CudaAttentionPlan) -> Iterator[str]:
    """Q, two tiles of K, and one of V, in dynamic shared memory."""
    assert found.q
    yield "extern __shared__ unsigned char memory[];  // of the tiles, and up to 1024 to align them"
    yield "unsigned char *const q_tile = memory + (-shared_address(memory) & 1023);"
    yield f"unsigned char *const k_tile = q_tile + {found.q.tile.bytes}, *const v_tile = k_tile + 2 * K_BYTES;"


def descriptors(found: CudaAttentionPlan, codes: Mapping[str, int], texts: Mapping[str, str]) -> Iterator[str]:
    """The matrix descriptors of Q and K, which are K-major, and of V, which is MN-major.

    Args:
        codes: of swizzles. texts: for each of Q, K and V what makes its descriptor, and of which place.
    """
    for side in found.sides:
        leading, stride = offsets(side) if side.name == "V" else (VECTOR, ROWS * side.panel)
        given = f"{texts[side.name]}, {leading}, {stride}, {codes[swizzle_name(side)]})"
        major = "MN" if side.name == "V" else "K"
        yield f"const unsigned long long {side.name.lower()}_start = {given};  // {major}-major"


def k_major_offset(side: Side, step: int, k: int) -> int:
    """The bytes from the start of Q or K to those of a step along the head's elements."""
    byte = step * k * side.bytes
    return byte // side.panel * side.depth * side.panel + byte % side.panel


def _scores(found: CudaAttentionPlan) -> Iterator[str]:
    inst, steps = found.instruction, found.head // found.instruction.k
    assert found.q
    words = inst.operand("D").registers
    yield "// The products of queries and keys."
    yield "float s[TILES_K][4];"
    yield "const unsigned long long k_stage = k_start + stage * (K_BYTES / 16);"
    yield 'asm volatile("wgmma.fence.sync.aligned;\\n"'
    inputs = []
    for step in range(steps):
        yield f'             "{inst.name} "  // step {step}'
        a, b = words + 2 * step, words + 2 * step + 1
        add = "1" if step else "0"
        texts = {"S": braced(0, words), "Q's and K's descriptors": f"%{a}, %{b}"}
        texts["scale-d, signs, K-major both"] = f"{add}, 1, 1, 0, 0"
        yield from operand_texts(texts, ";\\n")
        for name, side in (("q_start", found.q), ("k_stage", found.k)):
            inputs.append(f'"l"({name} + {k_major_offset(side, step, inst.k) // 16})')
    yield '             "wgmma.commit_group.sync.aligned;\\n"'
    yield '             "wgmma.wait_group.sync.aligned 0;"'
    yield from operands(list(_results("s", words, "=f")), inputs, ' : "memory"')
    yield ""


def _results(name: str, words: int, constraint: str) -> Iterator[str]:
    return (f'"{constraint}"({name}[{at // 4}][{at % 4}])' for at in range(words))


def _values(found: CudaAttentionPlan) -> Iterator[str]:
    inst, steps = found.instruction, found.block_n // found.instruction.k
    name = inst.name.replace(f"n{inst.n}k", f"n{found.head}k")
    words, each = found.head // 2, inst.operand("A").registers
    yield "// P is A of the second product as it lies in the first one's registers, rounded."
    yield from rounded_words(steps * each, 4, "0")
    yield 'asm volatile("wgmma.fence.sync.aligned;\\n"'
    inputs = [f'"r"(p[{at}])' for at in range(steps * each)]
    for step in range(steps):
        yield f'             "{name} "  // step {step}'
        texts = {"O": braced(0, words), "P": braced(words + step * each, each)}
        texts["V's descriptor"] = f"%{words + len(inputs)}"
        texts["scale-d, signs, V MN-major"] = "1, 1, 1, 1"
        yield from operand_texts(texts, ";\\n")
        inputs.append(f'"l"(v_start + {step * inst.k * found.v.panel // 16})')
    yield '             "wgmma.commit_group.sync.aligned;\\n"'
    yield '             "wgmma.wait_group.sync.aligned 0;"'
    yield from operands(list(_results("o", words, "+f")), inputs, ' : "memory"')
