"""MFMA and SMFMAC of CDNA1 to CDNA4: 64 lanes, several blocks, AccVGPRs, and the lane patterns of BLGP."""

from __future__ import annotations

from .amd import AmdFamily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..catalog.grammar.amd import Description
    from ..model import Instruction
    from .base import Placement

__all__ = ["BLGP", "MFMA", "index_set"]

# BLGP, B-matrix Lane Group Pattern: which lane is read for the B element that lies in lane l.
# Source: AMD's README ("Example of Using the BLGP Modifier"), CDNA ISA guides, VOP3P-MAI BLGP field.
BLGP: dict[int, Callable[[int], int]] = {
    0: lambda lane: lane,
    1: lambda lane: lane % 32,
    2: lambda lane: lane % 32 + 32,
    3: lambda lane: (lane + 16) % 64,
    4: lambda lane: lane % 16,
    5: lambda lane: lane % 16 + 16,
    6: lambda lane: lane % 16 + 32,
    7: lambda lane: lane % 16 + 48,
}


def index_set(cbsz: int, abid: int) -> int:
    """The set of compression indices that an SMFMAC reads: ABID's, unless CBSZ[1:0] is not zero.

    Source: AMD's tool 1.3.2 and the CDNA4 ISA guide, section 7.1.8.

    >>> index_set(cbsz=0, abid=3), index_set(cbsz=1, abid=3)
    (3, 0)
    """
    return abid if cbsz & 3 == 0 else 0


class _Mfma(AmdFamily):
    def selecting_fields(self, described: Description) -> dict[str, bool]:
        """CBSZ and ABID broadcast blocks of A, or choose the index set of a sparse A."""
        return {"cbsz": described.sparse or (described.blocks > 1 and described.formats["A"] != "f64")}

    def input_sizes(self, instruction: Instruction, operand: str, wave: int, bits: int) -> dict[str, int]:
        """The rows take as many lanes as there are; the lanes that remain split k."""
        rows = instruction.n if operand == "B" else instruction.m
        return self.split(instruction, operand, bits, groups=wave // (rows * instruction.blocks))

    def result_sizes(self, instruction: Instruction, wave: int, bits: int) -> dict[str, int]:
        """Four rows of D lie in neighbouring registers (of FP64: one), then come groups of lanes."""
        run = 1 if bits == 64 else 4
        groups = min(instruction.m // run, wave // instruction.n)
        low = wave // (instruction.n * groups)
        return {"h": run, "m": groups, "w": 1, "v": instruction.m // (run * groups), "j": instruction.n, "opsel": 1,
                "bl": low, "bh": instruction.blocks // low}  # fmt: skip

    def scale_sizes(self, instruction: Instruction, rows: int, wave: int) -> dict[str, int]:
        """The scales of a row are spread over the groups of lanes, one byte of a register in each."""
        return {"g": wave // rows, "kb": 1, "byte": 4}

    def scale_selectors(self, side: str, fields: Mapping[str, int]) -> dict[str, int]:
        """op_sel and op_sel_hi choose the byte of the register: bit 0 of each for A, bit 1 for B."""
        bit = "ab".index(side)
        high, low = (fields.get(name, 0) >> bit & 1 for name in ("op_sel_hi", "opsel"))
        return {"byte": high << 1 | low}

    def index_set(self, fields: Mapping[str, int]) -> int:
        """See the function `index_set`."""
        return index_set(fields.get("cbsz", 0), fields.get("abid", 0))

    def b_lanes(self, instruction: Instruction, fields: Mapping[str, int], placement: Placement) -> Placement:
        """BLGP makes lanes read other lanes' B; of FP64 instructions it negates instead."""
        blgp = fields.get("blgp", 0) if "blgp" in instruction.features else 0
        return placement._replace(lanes=BLGP[blgp]) if blgp and placement.bits != 64 else placement


MFMA = _Mfma("mfma", features=("cbsz", "blgp"), blocks=True, opcode_bits=7, mnemonics="gfx9")
