"""The loads that transpose as `memory` has them: which serve an operand's order, each lane's address, bank conflicts.

Where memory has the order across k (A column by column, B row by row), each lane's k lie in as many rows of memory, and
plain loads move one element each. A load that transposes takes a run of a row in every lane instead. Which element lies
at a lane's address follows from `TransposeLoad.lane_fetches`, and which k and row that is from the operand's layout.
"""

from __future__ import annotations

from ..base.errors import Error, plural
from ..base.records import TupleRecord, json_keys
from .accesses import PLAIN, Accesses, Placing, Repair, repair
from .banks import BankAccess, bank_access
from .swizzles import RowSwizzle
from .transpose_loads import loads_for, transpose_loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Operand
    from .transpose_loads import LoadStep
    from .units import Tile

__all__ = ["AddressTerm", "TransposingLoad", "lane_terms", "transposing", "transposing_repair"]

ACROSS = {"A": "col", "B": "row"}


class AddressTerm(TupleRecord):
    """One term of a lane's address: (lane / divisor % size) * bytes."""

    divisor: int
    size: int
    bytes: int


@json_keys(
    "load",
    "memory: LDS or global",
    "first_register",
    "registers",
    "k: the first and the last of each run that it takes",
    "access_bytes: at the address of each lane",
    "address=terms: the sum of (lane / divisor % size) * bytes, without padding and swizzle",
    "addresses: of each lane; in LDS with padding and swizzle; none where there is a fault",
    "fetched_by: how sure it is which lane's address fetches what",
    "cycles=cost.cycles: null for global memory, and where there is a fault",
    "conflicts=cost.conflicts",
    "provenance=cost.rule.provenance",
    "fault: why padding, ld or swizzle do not suit it; empty where they do",
)
class TransposingLoad(TupleRecord):
    """A load that transposes while it fills registers of an operand.

    Attributes:
        load, memory: its mnemonic, and whether it reads "LDS" or "global" memory.
        first_register, registers: those of the operand that it fills; k: (first, last) of each run that it takes.
        access_bytes: at each lane's address; places: for each lane, (row of memory, byte in the row).
        addresses: of each lane, in LDS with padding and swizzle; cost: of that access in LDS, None of global memory.
        fetched_by: how sure it is which lane's address fetches what; fault: why it cannot be used, or "".
    """

    load: str
    memory: str
    first_register: int
    registers: int
    k: tuple[tuple[int, int], ...]
    access_bytes: int
    places: tuple[tuple[int, int], ...]
    terms: tuple[AddressTerm, ...] | None
    addresses: tuple[int, ...]
    fetched_by: str
    cost: BankAccess | None
    fault: str


def transposing(tile: Tile, placing: Placing = PLAIN) -> tuple[TransposingLoad, ...]:
    """The loads that transpose and fill an operand, where memory has the order that they are for; none otherwise.

    All loads of one mnemonic together fill the operand; those from LDS and those from global memory are alternatives.

    >>> import mmacalc
    >>> from mmacalc.memory_access.units import tile
    >>> a = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A")
    >>> [(one.load, one.k, one.cost.conflicts) for one in transposing(tile(a, "col", 64, None))][:1]
    [('ds_read_b64_tr_b16', ((0, 3), (8, 11)), 2)]
    >>> transposing(tile(a, "row", 64, None))
    ()
    """
    if tile.order != ACROSS.get(tile.operand.name):
        return ()
    found = []
    for load in transpose_loads(tile.operand.instruction.arch):
        try:
            steps = loads_for(tile.operand, load.name)
        except Error:
            continue
        found += [_served(step, tile, placing) for step in steps]
    return tuple(found)


def transposing_repair(tile: Tile, fill: int) -> Repair | None:
    """The smallest padding and swizzle that free the transposing loads from LDS, and those that fill the tile, of
    conflicts; None where there are no such loads."""
    loads = [one for one in transposing(tile) if one.memory == "LDS"]
    if not loads:
        return None
    width = loads[0].access_bytes
    if tile.row_bytes % _alignment(width):
        return None
    return repair(Accesses(width, width, tuple([one.places for one in loads])), tile, fill, "read")


def _served(step: LoadStep, tile: Tile, placing: Placing) -> TransposingLoad:
    """One load with its addresses."""
    load, width = step.load, step.load.elements * step.load.bits // 8
    placing = placing if load.memory == "LDS" else PLAIN
    places = _places(step, tile.operand)
    found = Accesses(width, width, (places,))
    plain = tuple([address or 0 for address in found.linear(tile, PLAIN)[0]])
    fault = _fault(tile, placing, width)
    addresses = () if fault else tuple([address or 0 for address in found.linear(tile, placing)[0]])
    cost = _cost(tile, addresses, width) if addresses and load.memory == "LDS" else None
    return TransposingLoad(
        load.name, load.memory, step.first_register, load.registers, tuple([(run[0], run[-1]) for run in step.k]),
        width, places, lane_terms(plain), addresses, load.fetched_by, cost, fault,
    )  # fmt: skip


def _places(step: LoadStep, operand: Operand) -> tuple[tuple[int, int], ...]:
    """For each lane, the row of memory and the byte in it at its address.

    Lane g + l of a group from lane g on fetches element [k][i] of the tile and those behind it. Lane g + i receives
    [k][i] in slot k, so its element there is the one that the address is of.
    """
    load, item = step.load, step.number * step.load.elements
    rows = dict(zip(operand.axes, operand.shape))["k"]
    places = []
    for lane in range(operand.lanes):
        ((slot, first),) = load.lane_fetches.contents((lane % load.lanes, 0))
        row, col, block = next(iter(operand.elements(lane - lane % load.lanes + first, item + slot)))[:3]
        k, along = (col, row) if operand.name == "A" else (row, col)
        places.append((block * rows + k, along * load.bits // 8))
    return tuple(places)


def _cost(tile: Tile, addresses: tuple[int, ...], width: int) -> BankAccess:
    """The cost of the lanes' addresses as of a plain read of that width: how LDS serves these was not measured."""
    found = bank_access(tile.operand.instruction.architecture, addresses, width)
    return found._replace(rule=found.rule._replace(provenance="unconfirmed"))


def _alignment(width: int) -> int:
    """What an address is a multiple of: the width, of 12 bytes a dword."""
    return width & -width


def _fault(tile: Tile, placing: Placing, width: int) -> str:
    """Why a load of `width` bytes a lane cannot read the tile as it is placed; "" if it can."""
    swizzle, bits = placing.swizzle, tile.operand.placement.bits
    if placing.every and (placing.pad % _alignment(width) or placing.every % _alignment(width)):
        return f"{placing.pad} bytes every {placing.every} do not keep accesses of {width} bytes aligned"
    if (stride := tile.row_bytes + (0 if placing.every else placing.pad)) % _alignment(width):
        return f"rows {plural(stride, 'byte')} apart do not keep accesses of {width} bytes aligned"
    whole = swizzle == PLAIN.swizzle or not any(swizzle)
    if not whole and (piece := swizzle.piece(bits)) % width:
        least = "vec" if isinstance(swizzle, RowSwizzle) else "the base"
        return f"the swizzle keeps {plural(piece, 'byte')} together, of the {width} at a lane's address: raise {least}"
    return ""


def lane_terms(addresses: tuple[int, ...]) -> tuple[AddressTerm, ...] | None:
    """Each lane's address, relative to lane 0's, as a sum over digits of its number; None if it is no such sum.

    >>> lane_terms((0, 8, 64, 72))
    (AddressTerm(divisor=1, size=2, bytes=8), AddressTerm(divisor=2, size=2, bytes=64))
    >>> lane_terms((0, 8, 16, 24)), lane_terms((0, 1, 1, 5))
    ((AddressTerm(divisor=1, size=4, bytes=8),), None)
    """
    terms: list[AddressTerm] = []
    bit = 1
    while bit < len(addresses):
        step = addresses[bit] - addresses[0]
        if terms and terms[-1].divisor * terms[-1].size == bit and step == terms[-1].bytes * terms[-1].size:
            terms[-1] = terms[-1]._replace(size=2 * terms[-1].size)
        else:
            terms.append(AddressTerm(bit, 2, step))
        bit *= 2
    sums = [addresses[0] + sum(lane // t.divisor % t.size * t.bytes for t in terms) for lane in range(len(addresses))]
    return tuple([term for term in terms if term.bytes]) if sums == list(addresses) else None
