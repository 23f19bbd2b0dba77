"""printf of a kernel: vprintf(format, values), whose values lie in local memory, each at a multiple of its size (CUDA
C++ Programming Guide, "Formatted Output")."""

from __future__ import annotations

import re
import struct

import numpy as np

from ...base.errors import Error
from .accesses import LOCAL_BASE, space_of_generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

__all__ = ["MOST", "print_values"]

MOST = 1 << 20
"""Characters of a launch that are kept, as CUDA's buffer holds bytes; what follows is left out."""
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")
_LONG = ("ll", "l", "j", "z", "t")


def print_values(compiler: Compiler, step: Step, parameters: tuple[Any, ...]) -> None:
    """Compile a call of vprintf."""
    format_at, values_at = (compiler.frame.bound[one.name] for one in parameters)

    def run(machine: Machine, threads: Threads) -> None:
        printed = machine.launch.printed
        for thread in threads.number.tolist():
            local = machine.local[thread]
            form, values = (int.from_bytes(local[at : at + 8].tobytes(), "little") for at in (format_at, values_at))
            if sum(map(len, printed)) < MOST:
                printed.append("".join(_written(machine, thread, _text(machine, form), values - LOCAL_BASE)))

    step.run = run


def _text(machine: Machine, address: int) -> str:
    """The characters in global memory from an address to the next 0."""
    region = machine.launch.memory.around(address)
    if region is None or space_of_generic(np.array([address]))[0]:
        raise Error(f"printf is given a text at {address:#x}, where no global memory is")
    place = region.place + address - region.start
    end = min(region.place + region.end - region.start, place + MOST)
    content = machine.launch.memory.data[place:end].tobytes()
    return content.partition(b"\0")[0].decode("utf-8", "replace")


def _written(machine: Machine, thread: int, form: str, at: int) -> Iterator[str]:
    """The parts of a text with the values of a thread in it, which lie from an offset of its local memory on."""
    local, begin = machine.local[thread].tobytes(), 0

    def value(kind: str) -> Any:
        nonlocal at
        size = struct.calcsize(kind)
        at = -(-at // size) * size
        found = struct.unpack_from(f"<{kind}", local, at)[0] if 0 <= at <= len(local) - size else 0
        at += size
        return found

    for one in _CONVERSION.finditer(form):
        yield form[begin : one.start()]
        begin = one.end()
        flags, width, digits, length, letter = one.groups()
        if letter == "%":
            yield "%"
            continue
        width, digits = (str(value("i")) if word == "*" else word for word in (width, digits))
        shape = f"%{flags}{width or ''}" + (f".{digits or 0}" if "." in one[0] else "")
        yield _converted(machine, shape, letter, "q" if length in _LONG else "i", value)
    yield form[begin:]


def _converted(machine: Machine, shape: str, letter: str, kind: str, value: Any) -> str:
    if letter in "di":
        return str((shape + "d") % value(kind))
    if letter in "uxXo":
        return str((shape + ("d" if letter == "u" else letter)) % value(kind.upper()))
    if letter == "c":
        return str((shape + "s") % chr(value("i") & 0xFF))
    if letter == "p":
        return str((shape + "s") % hex(value("Q")))
    if letter == "s":
        return str((shape + "s") % _text(machine, value("Q")))
    number = value("d")
    return float.hex(number) if letter in "aA" else str((shape + letter) % number)
