"""WMMA and SWMMAC: RDNA3 (and 3.5), RDNA4, and CDNA5. Sixteen lanes hold the rows of A and the columns of B."""

from __future__ import annotations

from .amd import INDEX_BY_CHUNK, AmdFamily
from .base import NEIGHBOURS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..catalog.grammar.amd import Description
    from ..model import Instruction

__all__ = ["CDNA5", "RDNA3", "RDNA4"]

FEATURES = ("opsel", "neg", "neg_c")


class _Wmma(AmdFamily):
    def selecting_fields(self, described: Description) -> dict[str, bool]:
        """OPSEL chooses the index set of a sparse A."""
        return {"opsel": described.sparse}


class _Rdna3(_Wmma):
    def input_sizes(self, instruction: Instruction, operand: str, wave: int, bits: int) -> dict[str, int]:
        """Every group of 16 lanes holds a copy of the whole A and B; a lane has all k of its row."""
        sizes = self.split(instruction, operand, bits, groups=1)
        return {**sizes, "r": wave // self.row_lanes, "e": sizes["c"] * sizes["e"], "c": 1}

    def result_sizes(self, instruction: Instruction, wave: int, bits: int) -> dict[str, int]:
        """The rows of D alternate between the groups of 16 lanes; 16-bit results fill half of a register."""
        groups = wave // self.row_lanes
        return {"h": 1, "m": groups, "w": 1, "v": instruction.m // groups, "j": instruction.n,
                "opsel": NEIGHBOURS[bits], "bl": 1, "bh": 1}  # fmt: skip


class _Split(_Wmma):
    """Two groups of 16 lanes split k, and D has eight rows in the registers of each."""

    def input_sizes(self, instruction: Instruction, operand: str, wave: int, bits: int) -> dict[str, int]:
        return self.split(instruction, operand, bits, groups=2)

    def result_sizes(self, instruction: Instruction, wave: int, bits: int) -> dict[str, int]:
        h, m = 8, 2
        return {"h": h, "m": m, "w": 1, "v": instruction.m // (h * m), "j": instruction.n, "opsel": 1, "bl": 1,
                "bh": 1}  # fmt: skip


class _Rdna4(_Split):
    def input_sizes(self, instruction: Instruction, operand: str, wave: int, bits: int) -> dict[str, int]:
        """A wave64 moves the top digit of the item to the top of the lane, unless one register holds it all."""
        sizes = self.split(instruction, operand, bits, groups=2)
        stored = sizes["g"] * sizes["c"] * sizes["e"]
        if wave == 64 and stored // 2 * bits > 32:
            sizes |= {"g": 4, "c": 1} if sizes["c"] == 2 else {"w": 2, "e": sizes["e"] // 2}
        return sizes

    def result_sizes(self, instruction: Instruction, wave: int, bits: int) -> dict[str, int]:
        sizes = super().result_sizes(instruction, wave, bits)
        return {**sizes, "w": 2, "h": 4} if wave == 64 else sizes


class _Cdna5(_Split):
    def scale_sizes(self, instruction: Instruction, rows: int, wave: int) -> dict[str, int]:
        """The scales of a row are consecutive bytes of one lane."""
        return {"kb": instruction.k // instruction.block_size, "half": wave // rows}

    def scale_selectors(self, side: str, fields: Mapping[str, int]) -> dict[str, int]:
        """matrix_a_scale and matrix_b_scale choose the half of the wave that holds the scales."""
        return {"half": fields.get(f"matrix_{side}_scale", 0)}


RDNA3 = _Rdna3("wmma-rdna3", FEATURES, half_results=True, row_lanes=16, opcode_bits=7, mnemonics="gfx11")
RDNA4 = _Rdna4("wmma-rdna4", FEATURES, row_lanes=16, chunk_bytes=(8, 16), opcode_bits=7, mnemonics="gfx11")
# On CDNA5 the index of a lane's c-th chunk of A is in the c-th half of the wave, g choosing its bits.
# Source: AMD's hip-fpsan (amdgcn_swmmac_gfx1250.hpp), which was "pinned empirically" on gfx1250.
CDNA5 = _Cdna5(
    "wmma-cdna5",
    FEATURES,
    row_lanes=16,
    chunk_bytes=(16, 32),
    index_text=INDEX_BY_CHUNK,
    opcode_bits=8,
    mnemonics="gfx11",
)
