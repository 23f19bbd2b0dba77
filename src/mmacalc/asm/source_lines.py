"""Which line of the source each instruction of a code object comes from: `.debug_line` (DWARF 5, section 6.2); and
what the parameters of a kernel are called: `.debug_info` (section 3.3).

Compilers write the first with -g or -gline-tables-only, the second with -g; Triton always writes the first.
"""

from __future__ import annotations

import linecache
import os
from bisect import bisect_right
from io import BytesIO

from ..base.records import Frozen, TupleRecord, cached_property, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    _Read = TypeVar("_Read")

__all__ = ["NO_LINES", "SourceLines", "SourceLocation"]


@json_keys("str()")
class SourceLocation(TupleRecord):
    """A line of the source: the file, as the compiler had it, and the line from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def text(self) -> str:
        """The line itself; "" where the file is not there."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def described(self) -> str:
        """`file:line`, with the line itself where the file is there."""
        return f"{self}: {text}" if (text := self.text) else str(self)


class SourceLines(Frozen):
    """The lines of an object's instructions, read when one is asked for.

    elf: the bytes of the object; none where nothing is known.
    """

    elf: bytes

    def __init__(self, elf: bytes = b"") -> None:
        self._set(elf=elf)

    def __reduce__(self) -> tuple[type[SourceLines], tuple[bytes]]:
        return SourceLines, (self.elf,)

    @cached_property
    def _rows(self) -> tuple[tuple[int, SourceLocation | None], ...]:
        return tuple(sorted(_of_units(self.elf, _unit_rows), key=lambda row: row[0])) if self.elf else ()

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple([start for start, _ in self._rows])

    def at(self, address: int) -> SourceLocation | None:
        """The line of the instruction at an address; None where there is none."""
        place = bisect_right(self._starts, address) - 1
        return self._rows[place][1] if place >= 0 else None

    def parameters(self, function: str) -> tuple[str, ...]:
        """The names of a function's parameters, in their order, by the function's symbol; none where none are known."""
        return self._parameters.get(function, ())

    @cached_property
    def _parameters(self) -> dict[str, tuple[str, ...]]:
        return dict(_of_units(self.elf, _unit_parameters)) if self.elf else {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceLines)  # what a kernel does is the same

    def __hash__(self) -> int:
        return 0


NO_LINES = SourceLines()


def _of_units(content: bytes, read: Callable[[Any, Any], Iterator[_Read]]) -> Iterator[_Read]:
    """What is read of each compilation unit of an object; nothing of a damaged one."""
    from elftools.common.exceptions import DWARFError, ELFError, ELFParseError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(BytesIO(content))
        if elf.get_section_by_name(".debug_line") is None:
            return
        debug = elf.get_dwarf_info(relocate_dwarf_sections=False)  # it is linked
        for unit in debug.iter_CUs():
            yield from read(debug, unit)
    except (DWARFError, ELFError, ELFParseError, KeyError, IndexError, AttributeError, ValueError, TypeError):
        return  # lines and names are shown where they can be read; a damaged table is no reason to refuse the kernel


def _unit_rows(debug: Any, unit: Any) -> Iterator[tuple[int, SourceLocation | None]]:
    """(address, line) where a line begins, None where a sequence ends."""
    program = debug.line_program_for_CU(unit)
    if program is not None:
        folder = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
        yield from _of_program(program, _name(folder.value) if folder else "")


def _unit_parameters(_: Any, unit: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(symbol, names of its parameters) of each function."""
    for entry in unit.iter_DIEs():
        symbol = entry.attributes.get("DW_AT_linkage_name") or entry.attributes.get("DW_AT_name")
        if entry.tag == "DW_TAG_subprogram" and symbol:
            names = [
                _name(one.attributes["DW_AT_name"].value)
                for one in entry.iter_children()
                if one.tag == "DW_TAG_formal_parameter" and "DW_AT_name" in one.attributes
            ]
            yield _name(symbol.value), tuple(names)


def _of_program(program: Any, folder: str) -> Iterator[tuple[int, SourceLocation | None]]:
    files = list(_files(program, folder))
    first = 0 if program.header["version"] >= 5 else 1
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        number = state.file - first
        known = not state.end_sequence and 0 <= number < len(files) and state.line
        yield state.address, SourceLocation(files[number], state.line) if known else None


def _files(program: Any, folder: str) -> Iterator[str]:
    """The files of a table; their folders are counted from the folder of the compilation before DWARF 5."""
    folders = [_name(one) for one in program.header["include_directory"]]
    if program.header["version"] < 5:
        folders.insert(0, folder)
    for one in program.header["file_entry"]:
        place = folders[one.dir_index] if one.dir_index < len(folders) else ""
        yield os.path.join(folders[0] if folders else folder, place, _name(one.name))


def _name(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
