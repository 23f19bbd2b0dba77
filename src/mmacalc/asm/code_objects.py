"""Code objects: what an executor needs of a linked ELF object for an AMD GPU.

Sources: LLVM 22, "User Guide for AMDGPU Backend": "Code Object" (ELF header, notes, relocation records), "Kernel
Descriptor", "Initial Kernel Execution State", "Code Object V5 Metadata".
"""

from __future__ import annotations

import struct
from types import MappingProxyType

from ..base.checks import arguments_checked, shown
from ..base.errors import Error, did_you_mean
from ..base.files import file_name, reason
from ..base.records import Record, TupleRecord, json_keys
from .demangled import demangled
from .message_pack import unpacked
from .objects import elf_content
from .source_lines import NO_LINES, SourceLines
from .targets import GENERIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike
    from typing import Any

__all__ = ["Kernel", "KernelArgument", "KernelDescriptor", "LoadedSection", "load"]


# What pyelftools raises for bytes that contradict themselves; out of the code below it is a fault of ours.
_DAMAGE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


class LoadedSection(TupleRecord):
    """A part of a code object that lies in memory: its ELF section, address and bytes, with relocations applied."""

    name: str
    address: int
    data: bytes
    executable: bool
    writable: bool


@json_keys(
    "name",
    "offset",
    "size",
    "kind=value_kind",
)
class KernelArgument(TupleRecord):
    """An argument in the kernarg segment: offset and size in bytes.

    value_kind: "by_value", "global_buffer", "dynamic_shared_pointer", "hidden_block_count_x" ..., as the metadata has
    it. name, type_name: "" where the compiler wrote none.
    """

    name: str
    offset: int
    size: int
    value_kind: str
    type_name: str = ""
    address_space: str = ""

    @property
    def hidden(self) -> bool:
        """Whether the runtime sets it, not the caller."""
        return self.value_kind.startswith("hidden_")


class KernelDescriptor(Record):
    """The 64 bytes that say how a kernel starts.

    Attributes:
        group_segment_size, private_segment_size, kernarg_size: bytes of LDS, of scratch for a work-item, of arguments.
        entry_offset: where the code begins, in bytes from the descriptor.
        wavefront_size: 32 or 64. user_sgpr_count: SGPRs that are set before the kernel starts.
        user_sgprs: (name, first SGPR, count) of what is in them, in their order; "kernarg_preload" last.
        workgroup_id_sgprs: (name, SGPR) of the workgroup's ids and of what follows them. Empty for gfx12 and newer,
            where the ids are in ttmp9 (x) and ttmp7 (y in the lower, z in the upper half).
        work_item_id: 0: x; 1: x, y; 2: x, y, z. Of gfx908 they are in v0, v1, v2; else ten bits each of v0.
        round_f32, round_f16_f64: 0 nearest even, 1 up, 2 down, 3 to zero.
        denormals_f32, denormals_f16_f64: 0 flushed in and out, 1 out, 2 in, 3 kept.
        ieee_mode, dx10_clamp: of targets before gfx12. fp16_overflow: results beyond f16 are clamped.
        accum_offset: of gfx90a and newer CDNA targets, the number of VGPRs before the AccVGPRs; else 0.
        wgp_mode: whether the waves of a workgroup may be on both compute units of a workgroup processor (gfx10 and
            newer). tg_split: whether they may be on several compute units (gfx90a and newer CDNA targets).
    """

    group_segment_size: int
    private_segment_size: int
    kernarg_size: int
    entry_offset: int
    wavefront_size: int
    user_sgpr_count: int
    user_sgprs: tuple[tuple[str, int, int], ...]
    workgroup_id_sgprs: tuple[tuple[str, int], ...]
    work_item_id: int
    round_f32: int
    round_f16_f64: int
    denormals_f32: int
    denormals_f16_f64: int
    ieee_mode: bool
    dx10_clamp: bool
    fp16_overflow: bool
    uses_dynamic_stack: bool
    private_segment: bool
    accum_offset: int
    kernarg_preload: tuple[int, int]
    wgp_mode: bool
    tg_split: bool


class DeviceVariables:
    """The variables of a loaded code object, as the launches so far have left them: bytes of its sections. placed: by
    the name of each variable its address and size."""

    def __init__(
        self, contents: Mapping[int, bytes | bytearray], placed: Mapping[str, tuple[int, int]] = MappingProxyType({})
    ) -> None:
        self._contents = {address: bytearray(content) for address, content in contents.items()}
        self._placed = placed

    def of(self, section: LoadedSection) -> bytes | bytearray:
        """The bytes of a section: a launch writes into those of a writable one."""
        return self._contents.get(section.address, section.data)

    def named(self, name: str) -> memoryview:
        """The bytes of a variable, to read and to write: a host does so with __constant__ ones, too.

        Raises:
            Error: the object has no such variable.
        """
        return self.at(*self.placed(name))

    def at(self, address: int, size: int) -> memoryview:
        """The bytes from an address of the code object on, to read and to write.

        Raises:
            Error: they do not lie in one section with variables.
        """
        for start, content in self._contents.items():
            if start <= address and address + size <= start + len(content):
                return memoryview(content)[address - start : address - start + size]
        raise Error(f"{size} bytes from {address:#x} on lie in no section of the code object that has variables")

    def placed(self, name: str) -> tuple[int, int]:
        """Where a variable lies in the code object, and how many bytes it has.

        Raises:
            Error: the object has no such variable.
        """
        if name not in self._placed:
            raise Error(
                f"the code object has no variable '{name}'.{did_you_mean(name, self._placed)}", kind="unknown name"
            )
        return self._placed[name]

    def copy(self) -> DeviceVariables:
        """The variables as they are now, for launches that are to leave these alone."""
        return DeviceVariables(self._contents, self._placed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceVariables) and self._contents == other._contents


class Kernel(Record):
    """A compiled kernel.

    Attributes:
        name, target: its name and compiler target. address, code: of its own instructions, in bytes.
        descriptor, arguments: see there. sections: all that the object puts into memory, functions that the kernel
            calls and global variables among them.
        vgpr_count, accvgpr_count, sgpr_count: registers of a work-item, of a wave; 0 where the metadata is silent.
        maximum_workgroup_size: in work-items; 0 where the metadata is silent.
        metadata: the kernel's part of the metadata note.
        variables: what the launches so far have left in the object's variables, for all kernels of one `load`.
        source_lines: the line of the source that an instruction comes from, by `source_lines.at(address)`.
    """

    name: str
    target: str
    address: int
    code: bytes
    descriptor: KernelDescriptor
    arguments: tuple[KernelArgument, ...]
    sections: tuple[LoadedSection, ...]
    metadata: Mapping[str, Any] = {}
    variables: DeviceVariables = DeviceVariables({})
    source_lines: SourceLines = NO_LINES

    @property
    def cpp_name(self) -> str:
        """The name as C++ has it, such as demo::reverse<3, int>; the name itself where it is not mangled."""
        found = demangled(self.name)
        return found.qualified if found else self.name

    @property
    def wavefront_size(self) -> int:
        """32 or 64."""
        return self.descriptor.wavefront_size

    @property
    def vgpr_count(self) -> int:
        """VGPRs of a work-item, AccVGPRs included where the two are one file."""
        return int(self.metadata.get(".vgpr_count", 0))

    @property
    def accvgpr_count(self) -> int:
        """AccVGPRs of a work-item."""
        return int(self.metadata.get(".agpr_count", 0))

    @property
    def sgpr_count(self) -> int:
        """SGPRs of a wave."""
        return int(self.metadata.get(".sgpr_count", 0))

    @property
    def argument_bytes(self) -> int:
        """Bytes of the arguments: of the descriptor, or of the metadata, by which HIP launches; descriptors written by
        hand (AITER) may have 0."""
        return max(self.descriptor.kernarg_size, int(self.metadata.get(ARGUMENT_BYTES, 0)))

    @property
    def given_arguments(self) -> tuple[KernelArgument, ...]:
        """The arguments that a caller gives: all but the hidden ones, which the runtime sets. Where the metadata has
        no names, as of HIP, they have those of the debug information (-g), if there is any."""
        found = tuple([one for one in self.arguments if not one.hidden])
        if not found or any(one.name for one in found):
            return found
        names = self.source_lines.parameters(self.name)
        return (
            tuple([one._replace(name=name) for one, name in zip(found, names)]) if len(names) == len(found) else found
        )

    @property
    def maximum_workgroup_size(self) -> int:
        """Work-items of a workgroup, at most."""
        return int(self.metadata.get(".max_flat_workgroup_size", 0))


def _spellings(mangled: str) -> tuple[str, ...]:
    """What a kernel of C++ may be called beside its mangled name: demo::reverse<3, int>, demo::reverse, reverse ..."""
    name = demangled(mangled)
    if name is None:
        return ()
    return (*name, name.plain.rpartition("::")[2], name.qualified[len(name.plain.rpartition("::")[0]) :].lstrip(":"))


class Kernels(dict[str, Kernel]):
    """Kernels by name; also by the plain C++ name, where only one has it. A name that is not there gets a hint."""

    def __missing__(self, name: str) -> Kernel:
        meant = [mangled for mangled in self if name in _spellings(mangled)]
        if len(meant) == 1:
            return self[meant[0]]
        if meant:
            words = ", ".join(f"{mangled} ({cpp.qualified})" for mangled in meant if (cpp := demangled(mangled)))
            raise Error(f"several kernels are called '{name}'; give one of their names: {words}")
        raise Error(
            f"unknown kernel '{name}'.{did_you_mean(name, self)} Kernels: {', '.join(self) or 'none'}",
            kind="unknown name",
        )


@arguments_checked
def load(path: str | PathLike[str], arch: str | None = None) -> Mapping[str, Kernel]:
    """The kernels of a code object by name, with all that it takes to run them.

    Its `__device__` variables keep their values from launch to launch, as in a module on a GPU; another `load` has
    them as they were at first.

    Args:
        path: a linked code object (.hsaco, .co), by itself or in clang's offload bundle.
        arch: which object of a bundle, such as "gfx942"; may be left out if there is one.

    Raises:
        Error: no such file, not a linked code object, no kernel in it, a relocation that needs another object, or
            pyelftools is missing. Asking the result for a kernel that it lacks raises too.

    Example: `mmacalc.load("kernel.hsaco")["gemm"].descriptor.kernarg_size`, where there is such a file; here is none:

    >>> load("kernel.hsaco")
    Traceback (most recent call last):
    mmacalc.base.errors.Error: cannot read 'kernel.hsaco': No such file or directory
    """
    from os import PathLike, fspath

    name = fspath(path) if isinstance(path, (str, PathLike)) else None
    if not isinstance(name, str):
        raise Error(f"path = {shown(path)} should be the path of a code object, such as 'kernel.hsaco'")
    try:
        with open(file_name(name), "rb") as file:
            content = file.read()
    except (OSError, ValueError) as problem:
        raise Error(f"cannot read '{name}': {reason(problem)}", kind="file", file=name) from None
    return MappingProxyType(_kernels(content, name, arch))


def _kernels(content: bytes, name: str, arch: str | None) -> Kernels:
    elf, target, _ = elf_content(content, name, arch)
    from elftools.common.exceptions import ELFError

    try:
        return _read(elf, target, name)
    except Error:
        raise
    except (ELFError, *_DAMAGE) as problem:
        if not (isinstance(problem, ELFError) or _raised_in_elftools(problem)):
            raise
        raise Error(f"'{name}' is a damaged ELF object: {problem or type(problem).__name__}") from None


def _raised_in_elftools(problem: BaseException) -> bool:
    """Whether pyelftools raised something, not we."""
    at = problem.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and "elftools" in at.tb_frame.f_code.co_filename


def _read(elf: Any, target: str, name: str) -> Kernels:
    if elf["e_type"] == "ET_REL":
        raise Error(f"'{name}' is not linked; link it: ld.lld -shared {name} -o kernel.hsaco")
    sections = _sections(elf, name)
    symbols = {symbol.name: symbol.entry for symbol in _symbols(elf) if symbol.name}
    listed = _listed(elf, name)
    placed = {
        name: (entry["st_value"], entry["st_size"]) for name, entry in symbols.items()
        if entry["st_info"]["type"] == "STT_OBJECT" and not name.endswith(".kd")
    }  # fmt: skip
    constant = {section.address for section in sections for at, _ in placed.values()
                if section.address <= at < section.address + len(section.data)}  # fmt: skip
    variables = DeviceVariables(
        {section.address: section.data for section in sections if section.writable or section.address in constant},
        placed,
    )
    kernels, lines = Kernels(), SourceLines(elf.stream.getvalue())
    starts = [entry["st_value"] for entry in symbols.values() if entry["st_info"]["type"] == "STT_FUNC"]
    for symbol, entry in symbols.items():
        if not symbol.endswith(".kd"):
            continue
        metadata = listed.get(symbol, {})
        descriptor = _descriptor(_bytes(sections, entry["st_value"], 64, name), target)
        address = entry["st_value"] + descriptor.entry_offset
        title = str(metadata.get(".name", symbol[:-3]))
        size = symbols[symbol[:-3]]["st_size"] if symbol[:-3] in symbols else 0
        size = size or _reach(sections, address, starts)
        code = _bytes(sections, address, size, name)
        most = -(-max(descriptor.kernarg_size, _whole(metadata, ARGUMENT_BYTES, name)) // _ALIGNED) * _ALIGNED
        arguments = tuple(_argument(one, most, name) for one in metadata.get(".args", ()))
        parts = (title, target, address, code, descriptor, arguments, sections, metadata, variables, lines)
        kernels[title] = Kernel(*parts)
    if not kernels:
        raise Error(f"'{name}' has no kernel: none of its symbols is a kernel descriptor (NAME.kd)")
    return kernels


def _reach(sections: Sequence[LoadedSection], address: int, starts: Sequence[int]) -> int:
    """The bytes from an address to the next function or the end of its section: those of a function whose symbol has
    no size, as in hand-written assembly without a .size directive."""
    ends = [one.address + len(one.data) for one in sections if one.address <= address < one.address + len(one.data)]
    return min([*ends, *[start for start in starts if start > address]], default=address) - address


def _symbols(elf: Any) -> Iterator[Any]:
    for section in elf.iter_sections():
        if section["sh_type"] in ("SHT_DYNSYM", "SHT_SYMTAB"):
            yield from section.iter_symbols()


def _listed(elf: Any, name: str) -> dict[str, Mapping[str, Any]]:
    """The metadata's kernels by their symbols, of the types that they should have."""
    found: dict[str, Mapping[str, Any]] = {}
    kernels = _metadata(elf, name).get("amdhsa.kernels", [])
    if not isinstance(kernels, list):
        raise Error(f"'{name}' is damaged: the kernels in its metadata are {shown(kernels)}")
    for kernel in kernels:
        if not isinstance(kernel, dict) or not isinstance(kernel.get(".args", []), list):
            raise Error(f"'{name}' is damaged: a kernel in its metadata is {shown(kernel)}")
        for field in _COUNTS:
            _whole(kernel, field, name)
        found[str(kernel.get(".symbol", ""))] = kernel
    return found


ARGUMENT_BYTES = ".kernarg_segment_size"
_ALIGNED = 16  # bytes of which the kernel argument segment is a multiple (LLVM, AMDGPUUsage)
_COUNTS = (".vgpr_count", ".agpr_count", ".sgpr_count", ".max_flat_workgroup_size")


def _whole(entry: Mapping[str, Any], field: str, name: str) -> int:
    """A whole number of the metadata, 0 where there is none."""
    value = entry.get(field, 0)
    if not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise Error(f"'{name}' is damaged: {field} in its metadata is {shown(value)}")
    return int(value)


def _argument(entry: Any, most: int, name: str) -> KernelArgument:
    """An argument of the metadata; most: the bytes of all arguments."""
    if not isinstance(entry, dict):
        raise Error(f"'{name}' is damaged: an argument in its metadata is {shown(entry)}")
    offset, size, kind = _whole(entry, ".offset", name), _whole(entry, ".size", name), str(entry.get(".value_kind", ""))
    if offset + size > most:
        raise Error(f"'{name}' is damaged: an argument ends at byte {offset + size} of {most}")
    if size != 8 and not kind.startswith(("by_value", "hidden_", "dynamic_shared_pointer")):
        raise Error(f"'{name}' is damaged: an argument of kind {shown(kind)} has {size} bytes; a pointer has 8")
    return KernelArgument(
        str(entry.get(".name", "")), offset, size, kind,
        str(entry.get(".type_name", "")), str(entry.get(".address_space", "")),
    )  # fmt: skip


# --- sections ---

_ALLOCATED, _WRITABLE, _EXECUTABLE = 0x2, 0x1, 0x4  # SHF_ALLOC, SHF_WRITE, SHF_EXECINSTR
_MOST_BYTES = 1 << 30  # of a section; compilers make kilobytes
_MOST_ADDRESS = 1 << 32  # of a section in its object; the offsets of a code object's own references have 32 bits
_ABSOLUTE_64, _RELATIVE_64 = 3, 13  # R_AMDGPU_ABS64, R_AMDGPU_RELATIVE64


def _sections(elf: Any, name: str) -> tuple[LoadedSection, ...]:
    """What lies in memory, at the addresses of the object itself, relocated for them."""
    found: list[tuple[str, int, bytearray, int]] = []
    for section in elf.iter_sections():
        flags, size = section["sh_flags"], section["sh_size"]
        if flags & _ALLOCATED and size:
            if section["sh_addr"] + size > _MOST_ADDRESS:
                raise Error(
                    f"'{name}' is damaged: its section {section.name!a} should be at {section['sh_addr']:#x}; "
                    f"addresses of an object are below {_MOST_ADDRESS:#x}"
                )
            if size > _MOST_BYTES:
                raise Error(f"'{name}' is damaged: its section {section.name!a} should have {size} bytes")
            data = bytearray(size) if section["sh_type"] == "SHT_NOBITS" else bytearray(section.data())
            found.append((section.name, section["sh_addr"], data, flags))
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_RELA":
            continue
        table = elf.get_section(section["sh_link"])
        if not hasattr(table, "get_symbol"):
            raise Error(f"'{name}' is damaged: its section {section.name!a} names no symbol table")
        for relocation in section.iter_relocations():
            value = relocation["r_addend"]
            if relocation["r_info_type"] == _ABSOLUTE_64:
                symbol = table.get_symbol(relocation["r_info_sym"])
                if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_WEAK":
                    raise Error(f"'{name}' needs '{symbol.name}', which is in another object; link the two")
                value += symbol["st_value"]
            elif relocation["r_info_type"] != _RELATIVE_64:
                raise Error(f"'{name}' has a relocation of type {relocation['r_info_type']}, which is not known")
            _write(found, relocation["r_offset"], value, name)
    return tuple(
        LoadedSection(title, address, bytes(data), bool(flags & _EXECUTABLE), bool(flags & _WRITABLE))
        for title, address, data, flags in found
    )


def _write(sections: list[tuple[str, int, bytearray, int]], address: int, value: int, name: str) -> None:
    for _, start, data, _ in sections:
        if start <= address and address + 8 <= start + len(data):
            data[address - start : address - start + 8] = (value & (1 << 64) - 1).to_bytes(8, "little")
            return
    raise Error(f"'{name}' is damaged: a relocation is at {address:#x}, where it has no section")


def _bytes(sections: tuple[LoadedSection, ...], address: int, size: int, name: str) -> bytes:
    for section in sections:
        start = address - section.address
        if start >= 0 and start + size <= len(section.data):
            return section.data[start : start + size]
    raise Error(f"'{name}' is damaged: it has no {size} bytes at {address:#x}")


# --- the note ---

_NOTE = 32  # NT_AMDGPU_METADATA


def _metadata(elf: Any, name: str) -> Mapping[str, Any]:
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_NOTE":
            continue
        for note in section.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (_NOTE, "NT_AMDGPU_METADATA"):
                content = note["n_descdata"]
                found = unpacked(content if isinstance(content, bytes) else content.encode("latin-1", "replace"))
                if isinstance(found, dict):
                    return found
                raise Error(f"'{name}' is damaged: its metadata note is not a map")
    return {}


# --- the descriptor ---

# What may be in the user SGPRs, by the bit of the kernel code properties: name and number of SGPRs.
_USER_SGPRS = (
    ("private_segment_buffer", 4), ("dispatch_ptr", 2), ("queue_ptr", 2), ("kernarg_segment_ptr", 2),
    ("dispatch_id", 2), ("flat_scratch_init", 2), ("private_segment_size", 1),
)  # fmt: skip
_AFTER_USER = ("workgroup_id_x", "workgroup_id_y", "workgroup_id_z", "workgroup_info")
_WAVE32, _DYNAMIC_STACK = 1 << 10, 1 << 11


def _descriptor(content: bytes, target: str) -> KernelDescriptor:
    """The kernel descriptor, read as the target's."""
    group, private, kernarg, _, entry = struct.unpack_from("<4Iq", content)
    (rsrc3, rsrc1, rsrc2, properties, preload) = struct.unpack_from("<3I2H", content, 44)
    gpu = GENERIC.get(target, (target,))[0]  # those of a generic target start alike
    gfx12, gfx9 = gpu.startswith(("gfx12", "gfx13")), gpu.startswith("gfx9")
    bits = 6 if gpu.startswith(("gfx125", "gfx13")) else 5
    user, first = [], 0
    for bit, (name, count) in enumerate(_USER_SGPRS):
        if properties >> bit & 1:
            user.append((name, first, count))
            first += count
    preload_offset, preloaded = preload >> 7, preload & 0x7F
    if preloaded:
        user.append(("kernarg_preload", first, preloaded))
    total = rsrc2 >> 1 & (1 << bits) - 1
    ids, at = [], total
    for bit, name in enumerate(_AFTER_USER):
        if rsrc2 >> 7 + bit & 1 and not gfx12:
            ids.append((name, at))
            at += 1
    if rsrc2 & 1 and gpu in ("gfx908", "gfx90a"):  # newer ones have their scratch in FLAT_SCRATCH
        ids.append(("private_segment_wave_offset", at))
    return KernelDescriptor(
        group_segment_size=group, private_segment_size=private, kernarg_size=kernarg, entry_offset=entry,
        wavefront_size=32 if properties & _WAVE32 else 64, user_sgpr_count=total, user_sgprs=tuple(user),
        workgroup_id_sgprs=tuple(ids), work_item_id=rsrc2 >> 11 & 3, round_f32=rsrc1 >> 12 & 3,
        round_f16_f64=rsrc1 >> 14 & 3, denormals_f32=rsrc1 >> 16 & 3, denormals_f16_f64=rsrc1 >> 18 & 3,
        ieee_mode=bool(rsrc1 >> 23 & 1) and not gfx12, dx10_clamp=bool(rsrc1 >> 21 & 1) and not gfx12,
        fp16_overflow=bool(rsrc1 >> 26 & 1), uses_dynamic_stack=bool(properties & _DYNAMIC_STACK),
        private_segment=bool(rsrc2 & 1),
        accum_offset=4 * ((rsrc3 & 63) + 1) if gpu in ("gfx90a", "gfx942", "gfx950") else 0,
        kernarg_preload=(preload_offset, preloaded), wgp_mode=not gfx9 and bool(rsrc1 >> 29 & 1),
        tg_split=gfx9 and gpu != "gfx908" and bool(rsrc3 >> 16 & 1),
    )  # fmt: skip
