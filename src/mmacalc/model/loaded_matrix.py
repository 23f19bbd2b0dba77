"""D of a tcgen05.mma in the registers of a warpgroup, after tcgen05.ld of all its columns."""

from __future__ import annotations

from ..later import higher_layer
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..drawing import Drawing
    from ..layout import Layout
    from .tensor_memory_operand import TensorMemoryOperand

__all__ = ["LoadedLocation", "LoadedMatrix"]


class LoadedLocation(TupleRecord):
    """Where an element is after tcgen05.ld: CTA, warp of the warpgroup, lane (thread) of the warp, the number of the
    load, its register, and the bits."""

    cta: int
    warp: int
    lane: int
    load: int
    register: int
    lsb: int
    width: int


class LoadedMatrix(TupleRecord):
    """D in the registers of a warpgroup: its operand, the layout (cta, warp, lane, load, item), whether packed, and the
    load's name, such as 32x32b.x32."""

    operand: TensorMemoryOperand
    layout: Layout
    pack: bool
    load: str

    def locate(self, i: int = 0, j: int = 0) -> tuple[LoadedLocation, ...]:
        """Which thread and register holds an element.

        Raises:
            Error: it is outside D.
        """
        found = []
        for cta, warp, lane, load, item in self.layout.locate({"i": i, "j": j}, self.operand.fields):
            register, lsb = (item // 2, item % 2 * 16) if self.pack else (item, 0)
            found.append(LoadedLocation(cta, warp, lane, load, register, lsb, self.operand.cells.bits))
        return tuple(found)

    def draw(self, **look: Any) -> Drawing:
        """A picture of D with the lanes and registers that hold it: see `Operand.draw`.

        >>> import mmacalc
        >>> d = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").operand("D", m=128, n=64)
        >>> d.loaded("32x32b", 32).draw(mark="D[35][40]").text().splitlines()[-2]
        'D[35][40] is in warp 1, lane 3, %r40'
        """
        drawing: Drawing = higher_layer("draw_operand")(self, **look)
        return drawing

    def contents(self, warp: int, lane: int, load: int, register: int, cta: int = 0) -> tuple[tuple[int, int], ...]:
        """The (i, j) in a register of a thread after a load, lowest bits first."""
        items = (2 * register, 2 * register + 1) if self.pack else (register,)
        places = [(cta, warp, lane, load, item) for item in items]
        return tuple([(i, j) for place in places for i, j in self.layout.contents(place, self.operand.fields)])
