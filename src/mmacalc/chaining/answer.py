"""Chain: the answer to whether, and how, the result of one instruction becomes an operand of another."""

from __future__ import annotations

from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import TupleRecord, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction
    from .conversions import Conversion
    from .tiles import Tiles
    from .ways import Way

__all__ = ["Chain", "Condition", "Feeds", "Filled", "Followers"]


@json_keys(
    "y",
    "register",
    "sources",
)
class Filled(TupleRecord):
    """What one register of the operand is made of, before anything moves between lanes.

    y: which Y, counting from 0; register: of the operand; sources: for each element, lowest bits first, (x, register,
    lsb): which X, which register of its D and the lowest bit there; None for bits that hold nothing.
    """

    y: int
    register: int
    sources: tuple[tuple[int, int, int] | None, ...]


class Condition(TupleRecord):
    """What a relabelled k asks of the rest of the kernel. name: "sparse groups", "scale blocks" or "sum order"."""

    name: str
    text: str


class Followers(TupleRecord):
    """Where the relabelling of k can be put.

    where: "source" (the rows or columns of X that become k are loaded in the order `relabel`) or "partner" (the other
    operand of Y is loaded with its k in the order `order`).
    instruction, operand: whose loads change. run_bytes: the longest run of neighbours in k that a lane of the partner
    then loads at once, kept_bytes: the same with k in place; both None for the source, whose loads only change rows.
    """

    where: str
    instruction: str
    operand: str
    run_bytes: int | None
    kept_bytes: int | None


@json_keys(
    "x=x.name",
    "y=y.name",
    "use",
    "kind",
    "f",
    "k",
    "blocks",
    "x_count",
    "y_count",
    "relabel",
    "relabel_f",
    "relabel_pattern",
    "conditions",
    "provenance",
)
class Chain(TupleRecord):
    """How D of X becomes an operand of Y. Made by `mmacalc.chain`.

    Attributes:
        x, y: the instructions; use: "A", "At", "B" or "Bt"; wave: the wave size.
        kind: "identical" (D's registers in order are the operand once they are converted), "renamed" (the registers
            have other numbers), "repacked" (pairs of 16 bits are put together anew), "k-relabel" and "kf-relabel"
            (nothing moves between lanes if k, or k and f, get other names) or "lane-moves".
        f, k, blocks: the common tile: the index that survives, the contracted one, and the blocks.
        x_count, y_count: how many X and Y make up a tile; instances are numbered along f first, then along k.
        relabel: for each k of the result, the k of the operand where it lands; None if every k stays.
        relabel_f: the same of f: the rows of the last result come out in this order; None in all known cases.
        relabel_pattern: the relabelling of k in digits, such as "(m h) -> (h m)"; empty if it has none.
        followers: where the relabelling can be put, the better first.
        conditions: what makes a relabelling unsafe or not free.
        conversion: from D's format to the operand's; repacks: how many byte permutes come before it.
        registers: what each register of the operand is filled from, before anything moves between lanes.
        exchanges: (item bit, lane bit) pairs that are exchanged; lane_permutation: where each lane bit goes after that;
            gathered: the lane bits along which copies are gathered. Items are counted in the operand's slots.
        ways: how to move the elements, the cheapest first; empty if nothing moves between lanes.
        provenance: that of the less certain of the two layouts.
        sources, tiles: for each item of the operand the item of the result; both sides as tables.
    """

    x: Instruction
    y: Instruction
    use: str
    wave: int
    kind: str
    f: int
    k: int
    blocks: int
    x_count: int
    y_count: int
    relabel: tuple[int, ...] | None
    relabel_f: tuple[int, ...] | None
    relabel_pattern: str
    followers: tuple[Followers, ...]
    conditions: tuple[Condition, ...]
    conversion: Conversion
    repacks: int
    registers: tuple[Filled, ...]
    exchanges: tuple[tuple[int, int], ...]
    lane_permutation: tuple[tuple[int, int], ...]
    gathered: tuple[int, ...]
    ways: tuple[Way, ...]
    provenance: str
    sources: tuple[int | None, ...]
    tiles: Tiles

    def __repr__(self) -> str:
        return f"<Chain: D of {self.x.name} as {self.use} of {self.y.name}: {self.kind}>"

    @property
    def free(self) -> bool:
        """Whether no data moves between lanes."""
        return self.kind != "lane-moves"

    @property
    def conversions(self) -> int:
        """How often the instructions of `conversion` are needed: registers that are filled alike are converted once."""
        if not self.conversion.instructions:
            return 0
        if not self.registers:  # all goes through memory, where every register is read on its own
            return -(-self.y_count * self.tiles.target.registers // self.conversion.registers)
        different = {filled.sources for filled in self.registers if any(filled.sources)}
        return -(-len(different) // self.conversion.registers)

    @property
    def order(self) -> tuple[int, ...]:
        """For each k of the operand, the k of the result that lies there: the order in which Y's other operand is
        to be loaded. The inverse of `relabel`; 0, 1, 2 ... if every k stays.

        >>> import mmacalc
        >>> x = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x4_f32")
        >>> mmacalc.chain(x, x, "B").order
        (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
        """
        if self.relabel is None:
            return tuple(range(self.k))
        order = [0] * self.k
        for k, lands in enumerate(self.relabel):
            order[lands] = k
        return tuple(order)

    @arguments_checked
    def apply(self, d: ArrayLike, way: str | None = None) -> NDArray[np.uint32]:
        """Carry the chain out: the registers of D of every X become the operand registers of every Y.

        Args:
            d: uint32, (..., x_count, registers, lanes): D's registers, as `Instruction.execute` returns them; leading
                axes are batches. Instances along f come first, then those along k.
            way: the name of one of `ways`; the cheapest if left out.

        Returns:
            uint32, (..., y_count, registers, lanes), for `Instruction.execute` of Y. Bits that hold nothing are zero.

        Raises:
            Error: registers of another shape or type, or a way that the chain does not have.

        >>> import mmacalc, numpy
        >>> x = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
        >>> ones = numpy.full((1, 2, 64), 0x3C003C00, numpy.uint32)
        >>> d = x.execute(ones, ones)
        >>> b = mmacalc.chain(x, x, "B").apply(d)
        >>> b.shape, hex(b[0, 0, 0])
        ((1, 2, 64), '0x4c004c00')
        """
        from .running import run

        return run(self, d, self._way(way))

    def _way(self, name: str | None) -> Way | None:
        if name is None:
            return self.ways[0] if self.ways else None
        for way in self.ways:
            if way.name == name:
                return way
        known = f"its ways are {', '.join([way.name for way in self.ways])}" if self.ways else "nothing moves"
        raise Error(f"this chain has no way called {name!r}; {known}")


@json_keys(
    "architecture=x.arch",
    "x=x.name",
    "chains",
)
class Feeds(TupleRecord):
    """What D of x feeds without moves between lanes: the chains that `mmacalc.feeds` finds."""

    x: Instruction
    chains: tuple[Chain, ...]
