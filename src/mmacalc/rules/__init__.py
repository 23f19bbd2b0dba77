"""From an instruction's shape, formats and fields to the layout of each of its operands.

`place` picks the family that the architecture's catalog file names. A family is a function of the
instruction, the operand's name, the wave size and the fields; it answers with a `Placement`.
"""

from __future__ import annotations

from ..errors import Error
from .placement import Placement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .placement import Shape

__all__ = ["Placement", "fields", "place"]


def place(shape: Shape, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
    """The layout, slot width and selector values of one operand.

    Raises:
        Error: the architecture names a layout family that does not exist.
    """
    family = shape.architecture.layout
    if family in AMD_FAMILIES:
        from . import amd

        return amd.place(shape, operand, wave, fields)
    if family == NVIDIA_FAMILY:
        from . import nvidia

        return nvidia.place(shape, operand, wave, fields)
    raise Error(f"unknown layout family '{family}'; known: {', '.join((*AMD_FAMILIES, NVIDIA_FAMILY))}")


def fields(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The fields that follow from the shape alone, with the values that each may have (NVIDIA's constants)."""
    if shape.architecture.layout != NVIDIA_FAMILY:
        return {}
    from . import nvidia

    return nvidia.fields(shape)


NVIDIA_FAMILY = "tensor-core"
AMD_FAMILIES = ("mfma", "wmma-replicated", "wmma-wave", "wmma-wave32")
