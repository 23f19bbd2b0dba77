"""Instructions that move matrices between Tensor Memory and registers or shared memory: tcgen05.ld, st, cp."""

from __future__ import annotations

from ..errors import Error
from .instruction import Instruction
from .location import Location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..layout import Layout

__all__ = ["TensorMemoryMove"]


class TensorMemoryMove(Instruction):
    """A tcgen05.ld, st, cp or another instruction of Tensor Memory that multiplies nothing.

    `layout` is that of `mmacalc.families.tensor_memory_moves`: from the lane and column (of cp: row and column) to the
    thread and register, or lane and column; None where nothing is moved between such places.
    """

    layout: Layout | None = None
    pack: bool = False
    sass: str = ""

    in_tensor_memory = True

    @property
    def placed_layout(self) -> Layout:
        """The layout.

        Raises:
            Error: the instruction moves nothing between places.
        """
        if self.layout is None:
            raise Error(f"{self.name} moves no elements; tcgen05.ld, st and cp do")
        return self.layout

    def locate(self, lane: int = 0, column: int = 0) -> tuple[Location, ...]:
        """Which thread and register of the warp a cell's value is in, from the address of a tcgen05.ld or st.

        Raises:
            Error: the instruction is not an ld or st, or does not reach that cell.

        >>> import mmacalc
        >>> load = mmacalc.instruction("sm_100a", "tcgen05.ld.sync.aligned.16x256b.x2.b32")
        >>> load.locate(lane=9, column=5)
        (Location(lane=6, item=3, register=3, lsb=0, width=32),)
        """
        if self.layout is None or "item" not in self.layout.places:
            raise Error(f"{self.name} moves nothing between Tensor Memory and registers; tcgen05.ld and st do")
        found = []
        for thread, item in self.layout.locate({"lane": lane, "column": column}):
            register, lsb, width = (item // 2, item % 2 * 16, 16) if self.pack else (item, 0, 32)
            found.append(Location(thread, item, register, lsb, width))
        return tuple(found)
