"""Copies that fill LDS (shared memory) without registers: which can fill a tile as it lies, and what lanes fetch.

    global_load_lds_dwordx4, buffer_load_dword ... lds   a wave's lanes fill LDS one behind the other, from an address
        of the wave on; only where each lane fetches from is its own. So a swizzle is applied to the addresses in global
        memory, and padding can only stand behind what one instruction fills (CDNA3 ISA, "Memory Buffer Load to LDS";
        LLVM's AMDGPUUsage, llvm.amdgcn.global.load.lds).
    global_load_async_to_lds_b128   each lane says where in LDS, too: any tile (gfx1250)
    cp.async.bulk.tensor   TMA fills boxes row by row, swizzled in one of three modes (of five where there is Tensor
        Memory), without padding (PTX ISA, "Swizzling modes"): a row of the tile is as wide as the mode swizzles, a box
        at most 256 each way

Which of these a target has are lines of its catalog file (`lds_copies`).
"""

from __future__ import annotations

from ..base.errors import plural
from ..base.records import TupleRecord, json_keys
from ..families.shared_memory import PATTERNS
from .swizzles import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .accesses import Placing
    from .units import Tile

__all__ = ["LdsCopy", "copies"]

MOST_BOX = 256
"""Elements of a box of TMA in each direction (CUDA driver API, cuTensorMapEncodeTiled)."""
LEAST_BOX = 16
"""Bytes of which a box's rows are a multiple."""


@json_keys(
    "name",
    "width: bytes of a lane; of TMA of a box's row",
    "together: bytes of LDS that one instruction fills one behind the other; 0 where each lane says where",
    "instructions",
    "fault: why it cannot fill the tile as it lies; empty if it can",
    "from_bytes: for each lane of the first instruction, the byte of the tile in memory that it fetches from",
)
class LdsCopy(TupleRecord):
    """An instruction that fills a tile without registers.

    name: the mnemonic; width: bytes of a lane (of TMA: of a row of the box); together: bytes of LDS that one
    instruction fills one behind the other, 0 where each lane says where; instructions: that fill the tile; fault: why
    it cannot as the tile lies, empty if it can; from_bytes: for each lane of the first instruction the byte of the
    tile, as it lies in memory with its ld, that it fetches from; None for a lane with nothing to fetch.
    """

    name: str
    width: int
    together: int
    instructions: int
    fault: str
    from_bytes: tuple[int | None, ...] = ()


def copies(tile: Tile, placing: Placing) -> tuple[LdsCopy, ...]:
    """The copies of the target, the widest first, that could fill a tile.

    >>> import mmacalc
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_bf16").operand("A")
    >>> [(one.name, one.together, one.fault) for one in mmacalc.memory(a, ld=64, swizzle=(3, 4, 4)).copies]
    [('global_load_lds_dwordx4', 1024, ''), ('global_load_lds_dword', 256, '')]
    """
    found = []
    for name, width in tile.operand.instruction.architecture.lds_copies:
        if not width:
            found.append(_box(name, tile, placing))
        else:
            found.append(_lanes(name, width, tile, placing, "async" in name))
    return tuple(found)


def _lanes(name: str, width: int, tile: Tile, placing: Placing, scattered: bool) -> LdsCopy:
    """A copy of `width` bytes of each lane of a wave."""
    wave, size = tile.operand.wave, tile.rows * tile.row_bytes
    together = 0 if scattered else wave * width
    fault = _lane_fault(tile, placing, width, together)
    count = -(-size // (wave * width))
    if fault:
        return LdsCopy(name, width, together, count, fault)
    pieces = [(at // tile.row_bytes, at % tile.row_bytes) for at in range(0, size, width)]
    placed = placing.addresses(tile, pieces)
    order = range(len(pieces)) if scattered else sorted(range(len(pieces)), key=placed.__getitem__)
    first = [pieces[number][0] * tile.row_bytes + pieces[number][1] for number in order[:wave]]
    return LdsCopy(name, width, together, count, "", (*first, *[None] * (wave - len(first))))


def _lane_fault(tile: Tile, placing: Placing, width: int, together: int) -> str:
    """Why lanes cannot fill the tile with accesses of `width` bytes; empty if they can."""
    if tile.row_bytes % width:
        return f"rows of {plural(tile.row_bytes, 'byte')} are not whole accesses of {width}"
    piece = placing.swizzle.piece(tile.operand.placement.bits)
    if piece and piece % width:
        return f"the swizzle keeps {plural(piece, 'byte')} together, and a lane fills {width}"
    span = placing.every or tile.row_bytes
    if placing.pad and together and span % together:
        where = f"every {span} bytes" if placing.every else f"behind each row of {span} bytes"
        return (
            f"the padding stands {where}, and an instruction fills {together} bytes one behind the other: pad every "
            f"{together} (--pad-every), or swizzle"
        )
    return ""


def _box(name: str, tile: Tile, placing: Placing) -> LdsCopy:
    """TMA: a box of all rows."""
    width, bits = tile.row_bytes, tile.operand.placement.bits
    spans = {mode: one.row_bytes for mode, one in PATTERNS.items() if one.bits and (one.code >= 0 or
             tile.operand.instruction.architecture.tcgen05)}  # fmt: skip
    span = next((span for mode, span in spans.items() if MODES[mode] == placing.swizzle), 0)
    known = " or ".join(", ".join(spans).rsplit(", ", 1))
    boxes = -(-tile.rows // MOST_BOX)
    fault = ""
    if placing.pad:
        fault = f"TMA puts no padding between rows: a swizzle of {known} does what it is for"
    elif placing.swizzle.piece(bits) and not span:
        fault = f"TMA swizzles as {known} do, and not in other ways"
    elif span and width != span:
        fault = f"a box's row is the {span} bytes that the mode swizzles; the tile's rows have {width}"
    elif width % LEAST_BOX or width * 8 // bits > MOST_BOX:
        fault = f"a box's row is a multiple of 16 bytes, and at most {MOST_BOX} elements; the tile's has {width} bytes"
    return LdsCopy(name, width, width * min(tile.rows, MOST_BOX), boxes, fault)
