"""AMD's matrix operands: eight texts that all families share, and the engine that sizes their digits.

The texts hold for MFMA and SMFMAC of CDNA1 to CDNA4, WMMA and SWMMAC of RDNA3, RDNA4 and CDNA5. What differs
between the families is how large each digit is, and that follows from the shape and the element width:

    i   rows (of B: columns) that lie in different lanes       g   groups of lanes that split k
    e   the elements of one 128-bit load (RDNA4: 64-bit)       c   such chunks one after another in a lane
    v   rows beyond i, in further registers                    r   copies (RDNA3 keeps A and B in every 16 lanes)
    w   the upper half of a wave64 on RDNA4
    h   rows of D in neighbouring registers                    m   groups of lanes that split the rows of D
    bl, bh   blocks of D in lanes, and in registers            opsel   the half of D's register that is used
    p, q, s  of a 2:4 group: the four logical k, the groups in a chunk, the two stored values
    set      the set of indices in the index register
    p, kb    of scales: the k that share one, and such blocks in a lane; byte, half: where op_sel finds them
    bp, abid blocks that CBSZ broadcasts together, and the one whose A they use

Source: measured against AMD's Matrix Instruction Calculator 1.3.2 for all 121 of its instructions.
"""

from __future__ import annotations

from ..base.errors import Error
from . import AXES, NEIGHBOURS, Family, Placement, packed, shared_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..catalog.grammar import Description
    from ..layout import Layout
    from ..model import Instruction
    from . import Placement

A = "b (v i) (c g w e) -> lane (*r w g b i), item (v c e)"
B = "b (c g w e) j -> lane (*r w g b j), item (c e)"
A_SPARSE = "b (v i) (c g w q p) -> lane (*r w g b i), item (v c q *s)"
INDEX = "b (v i) (c g w q p) -> lane (*r w g b i), item (set v c q *s)"
INDEX_BY_CHUNK = "b (v i) (c g w q p) -> lane (*r w c b i), item (set v g q *s)"
RESULT = "(bh bl) (v m w h) j -> lane (w m bl j), item (bh v h opsel)"
SCALE_A = "b i (kb g p) -> lane (half g i), item (byte kb)"
SCALE_B = "b (kb g p) j -> lane (half g j), item (byte kb)"
A_BROADCAST = "(b bp) i (c g w e) -> lane (w g b abid i), item (c e)"


class AmdFamily(Family):
    """The common part of AMD's families. A family supplies digit sizes and the values of selectors.

    Attributes:
        row_lanes: the most lanes that the rows of A (columns of B) take, further rows go to further registers; 0 if
            every row has its lane.
        chunk_bytes: the bytes of consecutive k that a lane holds before the next group of lanes has its turn: of A, C,
            D and a dense B, and of a sparse B.
        index_text: the layout of the compression indices.
    """

    vendor: str = "amd"
    spelling: str = "amd"
    small_overflow: str = "none"
    language: str = "hip"
    vector_instructions: str = "amd"
    row_lanes: int = 0
    chunk_bytes: tuple[int, int] = (16, 16)
    index_text: str = INDEX

    def operands(self, instruction: Instruction) -> tuple[str, ...]:
        """A B C D, with the compression index K in C's place if A is sparse, and scales if there are any."""
        if instruction.sparse:
            return ("A", "B", "D", "K")
        return ("A", "B", "C", "D", "SA", "SB") if instruction.scaled else ("A", "B", "C", "D")

    def implied_features(self, described: Description) -> tuple[str, ...]:
        """sparse and scale; and the field that selects among blocks or index sets, by the family."""
        words = {"sparse": described.sparse, "scale": described.block_size, **self.selecting_fields(described)}
        return tuple([word for word, present in words.items() if present])

    def selecting_fields(self, described: Description) -> dict[str, bool]:
        """The fields that select blocks or index sets, each with whether an instruction has it."""
        raise NotImplementedError

    def place(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """The placement of one operand of an MFMA, SMFMAC, WMMA or SWMMAC instruction, or of its scales.

        Raises:
            Error: the digits that the family gives this shape do not multiply to its sizes, or overflow the wave.
        """
        rule = {"SA": self._scale, "SB": self._scale, "C": self._result, "D": self._result}.get(operand, self._input)
        try:
            placement = rule(instruction, operand, wave, fields)
            layout, whole = (
                placement.layout,
                {"block": instruction.blocks, "i": instruction.m, "j": instruction.n, "k": instruction.k},
            )
            fits = layout.extents == tuple([whole[axis] for axis in layout.axes]) and layout.spans["lane"] <= wave
        except (Error, ZeroDivisionError):
            fits = False
        if not fits:
            raise Error(
                "catalog line of {}: {} of {} x {} x {} in {} blocks does not fit the layout family '{}'".format(
                    instruction.name, operand, *_shape(instruction), self.name
                )
            )
        return placement

    # What a family decides: the sizes of the digits, and the values of selectors.

    def input_sizes(self, instruction: Instruction, operand: str, wave: int, bits: int) -> dict[str, int]:
        """The digit sizes of A, B or K."""
        raise NotImplementedError

    def result_sizes(self, instruction: Instruction, wave: int, bits: int) -> dict[str, int]:
        """The digit sizes of C and D."""
        raise NotImplementedError

    def scale_sizes(self, instruction: Instruction, rows: int, wave: int) -> dict[str, int]:
        """The digit sizes of the scales of A or B, but for the rows."""
        raise NotImplementedError

    def scale_selectors(self, side: str, fields: Mapping[str, int]) -> dict[str, int]:
        """Where the scales of side "a" or "b" are, by the fields."""
        raise NotImplementedError

    def index_set(self, fields: Mapping[str, int]) -> int:
        """The set of compression indices that the fields choose."""
        return fields.get("opsel", 0)

    def b_lanes(self, instruction: Instruction, fields: Mapping[str, int], placement: Placement) -> Placement:
        """B's placement under fields that make lanes read other lanes' B."""
        return placement

    def split(self, instruction: Instruction, operand: str, bits: int, groups: int) -> dict[str, int]:
        """The common digits of A, B and K: rows over lanes and registers, k over groups, chunks and elements.

        Only the stored k counts: half of K for a sparse A. The 6-bit formats are loaded 32 elements at a time.
        """
        rows = instruction.n if operand == "B" else instruction.m
        stored = instruction.k // 2 if instruction.sparse and operand != "B" else instruction.k
        lanes_of_rows = min(rows, self.row_lanes or rows)
        chunk = 32 if bits == 6 else self.chunk_bytes[instruction.sparse and operand == "B"] * 8 // bits
        run = min(stored // groups, chunk)
        return {"b": instruction.blocks, "v": rows // lanes_of_rows, "i": lanes_of_rows, "w": 1, "r": 1,
                "g": groups, "e": run, "c": stored // (groups * run)}  # fmt: skip

    # The four rules.

    def _input(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        bits = instruction.format_of("A" if operand == "K" else operand, fields).bits
        sizes = self.input_sizes(instruction, operand, wave, bits)
        if operand == "B":
            del sizes["v"]
            sizes["j"] = sizes.pop("i")
            return self.b_lanes(instruction, fields, packed(_layout(B, "B", sizes), bits))
        if instruction.sparse:
            return self._sparse(operand, sizes, bits, fields)
        if "cbsz" in instruction.features and (cbsz := fields.get("cbsz", 0)):
            broadcast = {**sizes, "b": sizes["b"] >> cbsz, "bp": 1 << cbsz, "abid": 1 << cbsz}
            return packed(_layout(A_BROADCAST, "A", broadcast), bits, {"abid": fields.get("abid", 0)})
        return packed(_layout(A, "A", sizes), bits)

    def _sparse(self, operand: str, sizes: dict[str, int], bits: int, fields: Mapping[str, int]) -> Placement:
        """2:4 sparse A, or its index: four logical k, of which two are stored, share one place."""
        sizes = {**sizes, "q": sizes["e"] // 2, "p": 4, "s": 2}
        del sizes["e"]
        if operand == "A":
            return packed(_layout(A_SPARSE, "A", sizes), bits, slots_per_location=2)
        stored = sizes["v"] * sizes["c"] * sizes["q"] * 2
        sizes["set"] = max(1, 32 // (2 * stored))
        chosen = {"set": self.index_set(fields) % sizes["set"]}
        return packed(_layout(self.index_text, "K", sizes), 2, chosen, slots_per_location=2)

    def _scale(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """The scales of A or B: one for each `block_size` consecutive k of a row (of B: column)."""
        side = operand[1].lower()
        rows = instruction.m if side == "a" else instruction.n
        sizes = {
            "b": 1,
            "p": instruction.block_size,
            "g": 1,
            "half": 1,
            "byte": 1,
            **self.scale_sizes(instruction, rows, wave),
        }
        sizes["i" if side == "a" else "j"] = rows
        chosen = {name: value % sizes[name] for name, value in self.scale_selectors(side, fields).items()}
        layout = _layout(SCALE_A if side == "a" else SCALE_B, operand, sizes)
        return packed(layout, instruction.format_of(operand, fields).bits, chosen)

    def _result(self, instruction: Instruction, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        bits = instruction.format_of(operand, fields).bits
        layout = _layout(RESULT, operand, self.result_sizes(instruction, wave, bits))
        return packed(layout, bits, {"opsel": fields["opsel"] >> 2 & 1 if "opsel" in fields else 0})


def _shape(instruction: Instruction) -> tuple[int, int, int, int]:
    return instruction.m, instruction.n, instruction.k, instruction.blocks


def _layout(text: str, operand: str, sizes: Mapping[str, int]) -> Layout:
    return shared_layout(text, AXES[operand], tuple(sizes.items()))


# --- MFMA and SMFMAC of CDNA1 to CDNA4: 64 lanes, several blocks, AccVGPRs, and the lane patterns of BLGP ---


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


# --- WMMA and SWMMAC: RDNA3 (and 3.5), RDNA4, and CDNA5. Sixteen lanes hold the rows of A and the columns of B ---


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
