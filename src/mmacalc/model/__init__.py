"""The data model: Architecture, Instruction and Operand, immutable records that check themselves."""

from .architecture import Architecture, Product
from .instruction import Instruction
from .operand import Element, Location, Operand

__all__ = ["Architecture", "Element", "Instruction", "Location", "Operand", "Product"]
