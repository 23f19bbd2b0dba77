"""What a target is to the machine: its generation, wave size, table of operations, matrix instructions."""

from __future__ import annotations

from functools import lru_cache

from ...asm.rows import Row
from ...base.errors import Error
from ...catalog import entry
from .operations.conversions import CONVERSIONS, float8_rows
from .operations.floats import FLOATS, LOOKUPS
from .operations.integers import DIFFERENCES, INTEGERS
from .operations.scalars import SCALARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...model import Architecture, Instruction

    Operation = tuple[tuple[str, ...], tuple[str, ...], Callable[..., Any]]

__all__ = ["PRIVATE_BASE", "SCRATCH_RESOURCE", "SHARED_BASE", "UNKNOWN", "MachineTarget"]

SHARED_BASE, PRIVATE_BASE = 0x0001_0000_0000_0000, 0x0002_0000_0000_0000
"""The apertures of LDS and of scratch in the flat address space."""
SCRATCH_RESOURCE = 0x0000_0002_0000_0000
"""The base in the resource descriptor of scratch, which buffer instructions of gfx908 and gfx90a use."""

GENERATIONS = {"gfx9": "gfx9", "gfx11": "gfx11", "gfx12": "gfx12"}


_SCALES = "which of the products that follow take these scales, and when they end, is not public"
UNKNOWN = {
    "v_wmma_ld_scale_paired_b32": _SCALES, "v_wmma_ld_scale16_paired_b64": _SCALES, "v_mfma_ld_scale_b32": _SCALES,
}  # fmt: skip
"""Instructions that belong to products, but compute nothing by themselves, and why they are not executed."""


class MachineTarget:
    """A compiler's target, on a wave size.

    generation: whose counters and initial registers it has: "gfx9", "gfx11" or "gfx12". keeps_halves: whether a 16-bit
    result keeps the other half of its register (gfx10 and newer; LLVM 22, `zeroesHigh16BitsOfDest`). packed_ids:
    whether the three work-item ids come in one register. dots_without_op_sel: whether dot products have no OP_SEL.
    long_records: whether a buffer resource has 57 bits of base and 45 bits of records (gfx1250). translates: whether
    memory instructions raise XCNT (gfx1250). high_registers: whether S_SET_VGPR_MSB chooses VGPRs above 255 (gfx1250).
    """

    dots_without_op_sel: bool
    high_registers: bool
    keeps_halves: bool
    long_records: bool
    packed_ids: bool
    translates: bool

    name: str
    architecture: Architecture
    wave: int
    generation: str

    def __init__(self, name: str, wave: int) -> None:
        self.name, self.wave = name, wave
        self._entry = entry(name)
        self.architecture = self._entry.architecture
        self.generation = next((value for key, value in GENERATIONS.items() if name.startswith(key)), "")
        if not self.generation:
            raise Error(f"compiled kernels run for gfx9, gfx11 and gfx12 targets; {name} is none")
        self.keeps_halves = self.generation != "gfx9"
        self.long_records = self.translates = self.high_registers = name.startswith("gfx125")
        self.packed_ids = name not in ("gfx900", "gfx902", "gfx904", "gfx906", "gfx908")
        self.dots_without_op_sel = self.generation != "gfx9" or name in ("gfx942", "gfx950", "gfx9-4-generic")
        self._rows = _table(tuple(sorted(self.architecture.format_names.items())))

    def has(self, name: str) -> bool:
        """Whether the table has a row for an instruction."""
        return name in self._rows

    def row(self, name: str) -> Operation:
        """The types of an instruction's sources and results, and its function."""
        return self._rows[name]

    def matrix_instruction(self, instruction: DecodedInstruction) -> Instruction | None:
        """The target's record of a matrix instruction; None of another."""
        row = instruction.form
        return self._entry.instruction(instruction.name) if isinstance(row, Row) and row.instruction else None


@lru_cache(maxsize=8)
def _table(formats: tuple[tuple[str, str], ...]) -> dict[str, Operation]:
    rows: dict[str, Operation] = {}
    for table in (INTEGERS, DIFFERENCES, LOOKUPS, SCALARS, FLOATS, CONVERSIONS, float8_rows(dict(formats))):
        for names, (signature, function) in table.items():
            sources, _, results = signature.partition("->")
            for name in names.split():
                rows[name] = (tuple(sources.split()), tuple(results.split()), function)
    return rows
