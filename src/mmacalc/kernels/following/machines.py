"""What following a product asks of the two machines: who executes an instruction, where it stands, what it is called,
and which registers hold an element of an operand."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ...asm.decoder import text as decoded_text
from ...base.errors import Error
from ...base.records import TupleRecord
from ...ptx.module import Register, is_braced
from ..amd.matrix import fields_of
from ..amd.modifiers import Modifiers
from ..amd.state import ACCUMULATORS, EXEC, SCALARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ...asm.code_objects import Kernel
    from ...base.arrays import Array
    from ...model import Operand
    from .recorder import Recorded

__all__ = ["AmdMachines", "Machines", "PtxMachines", "Wave"]


_EXEC = frozenset((SCALARS + EXEC, SCALARS + EXEC + 1))


class Wave(TupleRecord):
    """A wave (a warp, of wgmma the first of its warpgroup, of tcgen05 the thread's): its workgroup, and which of it."""

    workgroup: tuple[int, int, int]
    number: int


class Machines:
    """What is the same of both."""

    def waves(self, machine: Any, who: Any, count: int) -> tuple[Wave, ...]:
        """Those that carry out a product, in the order of its entries."""
        raise NotImplementedError

    def first_wave(self, machine: Any, who: Any) -> Wave:
        """The first wave of an access of global memory."""
        raise NotImplementedError

    def place(self, step: Any) -> int:
        """The address, or the line of PTX."""
        raise NotImplementedError

    def place_text(self, place: int) -> str:
        """A place in words."""
        raise NotImplementedError

    def described(self, step: Any) -> str:
        """An instruction with its place, and its line of the source where that is known."""
        location = self.location(step)
        where = f" ({location})" if location else ""
        return f"{self.place_text(self.place(step))}{where}: {self.text(step)}"

    def text(self, step: Any) -> str:
        """The instruction in words."""
        raise NotImplementedError

    def location(self, step: Any) -> Any:
        """The line of the source, None where it is not known."""
        raise NotImplementedError

    def holder(self, product: Recorded, name: str, row: int, col: int, block: int) -> str:
        """Where an element of an operand lies, in words; "" where it is in no register."""
        raise NotImplementedError

    # --- for `origins`: registers by number, waves or warps of a batch as units ---

    def memory(self, machine: Any) -> Any:
        """Global memory."""
        raise NotImplementedError

    def shared_bytes(self, machine: Any) -> int:
        """Bytes of shared memory of all workgroups of a batch."""
        raise NotImplementedError

    def unit_count(self, machine: Any) -> int:
        """Waves of a batch."""
        raise NotImplementedError

    def units(self, machine: Any, who: Any) -> Array:
        """Those that execute an instruction."""
        raise NotImplementedError

    def access_units(self, machine: Any, who: Any, count: int) -> Array | None:
        """Of each of some accesses to shared memory, None where that is not known."""
        raise NotImplementedError

    def is_product(self, step: Any) -> bool:
        """Whether an instruction multiplies matrices."""
        raise NotImplementedError

    def operand_registers(self, step: Any, name: str) -> Sequence[int]:
        """The registers of an operand of a product."""
        raise NotImplementedError

    def address_registers(self, step: Any) -> Iterable[int]:
        """Those of an access's address."""
        raise NotImplementedError

    def stored_registers(self, step: Any) -> Iterable[int]:
        """Those that a store to shared memory stores."""
        raise NotImplementedError

    def read_registers(self, step: Any) -> Iterable[int]:
        """Those on which results depend."""
        raise NotImplementedError

    def written_registers(self, step: Any) -> Iterable[int]:
        """Those that it writes."""
        raise NotImplementedError

    # --- for slices: registers of every kind ---

    def every_read(self, step: Any) -> Iterable[int]:
        """All registers on which an instruction depends, scalar ones and masks among them."""
        raise NotImplementedError

    def every_written(self, step: Any) -> Iterable[int]:
        """All registers that it writes."""
        raise NotImplementedError

    def is_branch(self, step: Any) -> bool:
        """Whether where it goes on depends on registers."""
        raise NotImplementedError

    def is_whole(self, who: Any) -> bool:
        """Whether every lane of the units executes an instruction."""
        raise NotImplementedError


def _element(operand: Operand, name: str, row: int, col: int, block: int) -> tuple[int, int, int, int]:
    """Register, lane, first bit and width of an element."""
    keys = {"A": ("i", "k"), "B": ("k", "j"), "C": ("i", "j")}[name]
    found = operand.locate(**dict(zip(keys, (row, col))), block=block)[0]
    return found.register, found.lane, found.lsb, found.width


class AmdMachines(Machines):
    """Of AMD. kernel: which."""

    kernel: Kernel

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def waves(self, machine: Any, who: Any, count: int) -> tuple[Wave, ...]:
        return tuple([self._wave(machine.waves, int(row)) for row in who.numbers()])

    def first_wave(self, machine: Any, who: Any) -> Wave:
        return self._wave(machine.waves, int(who.rows()[0]))

    def _wave(self, waves: Any, row: int) -> Wave:
        return Wave((*waves.groups[int(waves.workgroup_of[row])],), int(waves.wave_in_group[row]))

    def place(self, step: Any) -> int:
        return int(step.instruction.address)

    def place_text(self, place: int) -> str:
        return f"{place:#x}"

    def text(self, step: Any) -> str:
        return decoded_text(step.instruction)

    def location(self, step: Any) -> Any:
        return self.kernel.source_lines.at(step.instruction.address)

    def holder(self, product: Recorded, name: str, row: int, col: int, block: int) -> str:
        instruction, wave = product.step.instruction, self.kernel.wavefront_size
        held = instruction.sources["ABC".index(name)]
        if not isinstance(held, RegisterOperand) or isinstance(held, ConstantOperand):
            return ""
        inst = product.inst
        fields = fields_of(instruction._replace(modifiers=Modifiers(instruction.modifiers)), inst, wave)
        operand = inst.operand(name, wave=wave, **fields)
        register, lane, lsb, width = _element(operand, name, row, col, block)
        part = "" if width >= 32 else f"[{lsb + width - 1}:{lsb}]"
        return f"lane {lane}'s {held.file}{held[1] + register}{part}"

    def memory(self, machine: Any) -> Any:
        return machine.memory

    def shared_bytes(self, machine: Any) -> int:
        return int(machine.lds.data.size)

    def unit_count(self, machine: Any) -> int:
        return int(machine.registers.waves)

    def units(self, machine: Any, who: Any) -> Array:
        found: Array = who.numbers()
        return found

    def access_units(self, machine: Any, who: Any, count: int) -> Array | None:
        found: Array = who.rows()
        return found if len(found) == count else None

    def is_product(self, step: Any) -> bool:
        return step.matrix is not None

    def operand_registers(self, step: Any, name: str) -> Sequence[int]:
        held = step.instruction.sources["AB".index(name)]
        if not isinstance(held, RegisterOperand) or isinstance(held, ConstantOperand) or held.file not in ("v", "a"):
            return ()
        first = held[1] + (ACCUMULATORS if held.file == "a" else 0)
        return range(first, first + held[2])

    def address_registers(self, step: Any) -> Iterable[int]:
        return [one for one in step.addresses if one < SCALARS] if step.kind == "memory" else ()

    def stored_registers(self, step: Any) -> Iterable[int]:
        return [one for one in step.reads - step.addresses if one < SCALARS]

    def read_registers(self, step: Any) -> Iterable[int]:
        return [one for one in step.reads if one < SCALARS]

    def written_registers(self, step: Any) -> Iterable[int]:
        return [one for one in step.writes if one < SCALARS]

    def every_read(self, step: Any) -> Iterable[int]:
        found: frozenset[int] = step.reads | step.addresses
        return found if str(step.instruction.name).startswith("s_") else found | _EXEC

    def every_written(self, step: Any) -> Iterable[int]:
        found: Iterable[int] = step.writes
        return found

    def is_branch(self, step: Any) -> bool:
        return str(step.instruction.name).startswith("s_cbranch")

    def is_whole(self, who: Any) -> bool:
        return who.mask is None


class PtxMachines(Machines):
    """Of PTX."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}

    def waves(self, machine: Any, who: Any, count: int) -> tuple[Wave, ...]:
        if not self._names:
            self._names = {name: at for at, name in enumerate(machine.program.names)}
        first = who.number[:: len(who.number) // count]
        return tuple([self._wave(machine, int(thread)) for thread in first])

    def first_wave(self, machine: Any, who: Any) -> Wave:
        return self._wave(machine, int(who.number[0]))

    def _wave(self, machine: Any, thread: int) -> Wave:
        return Wave(machine.launch.cta_of(machine, thread), int(machine.inner_of[thread]) // 32)

    def place(self, step: Any) -> int:
        return int(step.line)

    def place_text(self, place: int) -> str:
        return f"line {place}"

    def text(self, step: Any) -> str:
        return str(step.text)

    def location(self, step: Any) -> Any:
        return step.statement.location

    def holder(self, product: Recorded, name: str, row: int, col: int, block: int) -> str:
        statement = product.step.statement
        if statement.root == "mma":
            held = statement.operands[" ABC".index(name)]
        elif statement.root == "wgmma":
            held = statement.operands[{"A": 1, "B": 2, "C": 0}[name]]
        else:
            return ""
        listed = held if is_braced(held) else (held,)
        if name in "AB" and statement.root == "wgmma" and not is_braced(held):
            return ""
        try:
            register, lane, lsb, width = _element(product.inst.operand(name), name, row, col, block)
        except Error:
            return ""
        register //= 2 if product.inst.format(name).bits == 64 else 1
        one = listed[register] if register < len(listed) else None
        part = "" if width >= 32 else f"[{lsb + width - 1}:{lsb}]"
        return f"lane {lane}'s {one.name}{part}" if isinstance(one, Register) else ""

    def memory(self, machine: Any) -> Any:
        return machine.launch.memory

    def shared_bytes(self, machine: Any) -> int:
        return int(machine.shared.size)

    def unit_count(self, machine: Any) -> int:
        return -(-int(machine.count) // 32)

    def units(self, machine: Any, who: Any) -> Array:
        return np.unique(who.number // 32)

    def access_units(self, machine: Any, who: Any, count: int) -> Array | None:
        found: Array = who.number // 32
        return found if len(found) == count else None

    def is_product(self, step: Any) -> bool:
        statement = step.statement
        return statement.root in ("mma", "wmma") or "mma_async" in statement.modifiers or "mma" in statement.modifiers

    def operand_registers(self, step: Any, name: str) -> Sequence[int]:
        statement = step.statement
        if statement.root not in ("mma", "wgmma"):
            return ()
        held = statement.operands["AB".index(name) + 1]
        if statement.root == "wgmma" and not is_braced(held):
            return ()
        listed = held if is_braced(held) else (held,)
        frame = self._names
        return [frame[one.name] for one in listed if isinstance(one, Register) and one.name in frame]

    def address_registers(self, step: Any) -> Iterable[int]:
        is_access = step.statement.root in ("ld", "st", "ldmatrix", "stmatrix", "cp")
        found: Iterable[int] = step.critical if is_access else ()
        return found

    def stored_registers(self, step: Any) -> Iterable[int]:
        found: Iterable[int] = step.reads
        return found

    def read_registers(self, step: Any) -> Iterable[int]:
        found: Iterable[int] = step.reads
        return found

    def written_registers(self, step: Any) -> Iterable[int]:
        found: Iterable[int] = step.writes
        return found

    def every_read(self, step: Any) -> Iterable[int]:
        found: Iterable[int] = step.reads
        return found

    def every_written(self, step: Any) -> Iterable[int]:
        found: Iterable[int] = step.writes
        return found

    def is_branch(self, step: Any) -> bool:
        return step.statement.root == "bra" and step.statement.guard is not None

    def is_whole(self, who: Any) -> bool:
        return len(who.number) == 32 * len(np.unique(who.number // 32))
