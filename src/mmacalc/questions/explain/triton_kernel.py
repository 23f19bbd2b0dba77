"""A kernel of Triton as a whole: what its GPU IR says, joined with the assembly that came of it.

The two name the same places of the program: the .ttgir by loc(...), the .ptx and the .amdgcn by .loc. So a tt.dot meets
its matrix instructions, and a change of layout what moves data for it. What the layouts foretell is set beside what the
assembly has; where the two differ, that is said.
"""

from __future__ import annotations

import os
import re
from collections import Counter

from ...base.checks import whole
from ...base.records import Record, json_keys
from ...catalog import entry
from ...command.files import as_text, read_bytes
from ...foreign.dumps import Dump, DumpStep, read_dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...foreign import ForeignLayout

__all__ = ["KernelStep", "TritonKernel", "grouped", "joined", "kernel_text"]

ASSEMBLY = (".amdgcn", ".ptx")
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_STATEMENT = re.compile(r"\s*(?:@!?%\w+\s+)?([a-z][\w.:]+)")
_TELLING = re.compile(
    r"v_(?:mfma|smfmac|wmma|swmmac)_|ds_|v_permlane|s_barrier|(?:global|buffer|cluster)_load_\w*lds|tensor_"
    r"|w?g?mma\.|tcgen05\.|ldmatrix\.|stmatrix\.|movmatrix\.|shfl\.|ld\.shared|st\.shared|bar\.|barrier\.|cp\.async"
    r"|cp\.reduce|mbarrier\.|fence\.proxy"
)
"""Instructions that multiply matrices, access shared memory, exchange values between lanes, or wait for others."""
_PRODUCT = re.compile(r"v_(?:mfma|smfmac|wmma|swmmac)_|mma\.|wgmma\.mma_async|tcgen05\.mma")
Place = tuple[str, int]


@json_keys(
    "source: file and line of the program", "column", "operations", "lines: of the .ttgir",
    "layouts: of the first operation", "instruction: that a dot becomes by its layouts; null where none or several fit",
    "foretold: how many of it each warp executes by the layouts, of all operations at this place",
    "assembly: how many of each instruction there are at this place, of those that multiply, move or wait",
    "products: how many of these multiply matrices", "conversion: identical, registers, lanes or shared memory",
    "shared_bytes: of shared memory that conversions go through", "cycles: of shared memory, at least",
)  # fmt: skip
class KernelStep(Record):
    """A place of the program with what the IR and the assembly have there.

    Attributes:
        steps: of the IR. assembly: how many of each instruction. lanes: of a warp. warps: of the CTA.
        bytes_per_cycle: that shared memory serves, 0 where it is not known.
    """

    steps: tuple[DumpStep, ...]
    assembly: Mapping[str, int]
    lanes: int
    warps: int
    bytes_per_cycle: int

    @property
    def source(self) -> str:
        """File and line."""
        return self.steps[0].source

    @property
    def column(self) -> int:
        """In that line."""
        return self.steps[0].column

    @property
    def operations(self) -> tuple[str, ...]:
        """Such as tt.dot."""
        return tuple(dict.fromkeys(step.operation for step in self.steps))

    @property
    def lines(self) -> tuple[int, ...]:
        """Their lines."""
        return tuple([step.line for step in self.steps])

    @property
    def layouts(self) -> tuple[str, ...]:
        """Shape, type and layout of the first operation's tensors."""
        return tuple(map(_layout, self.steps[0].layouts))

    @property
    def instruction(self) -> str | None:
        """The one that a dot becomes."""
        found = {step.instruction.name for step in self.steps if step.instruction}
        return found.pop() if len(found) == 1 else None

    @property
    def foretold(self) -> int:
        """How many of it each warp executes, if every step is executed once."""
        return sum([step.count for step in self.steps])

    @property
    def products(self) -> int:
        """The matrix instructions of the assembly."""
        return sum([count for name, count in self.assembly.items() if _PRODUCT.match(name)])

    @property
    def conversion(self) -> str | None:
        """How far its convert_layout moves."""
        return next((step.conversion.kind for step in self.steps if step.conversion), None)

    @property
    def shared_bytes(self) -> int:
        """Of its conversions."""
        return sum([step.conversion.shared_bytes for step in self.steps if step.conversion])

    @property
    def cycles(self) -> int | None:
        """What its conversions take of shared memory at least: every byte is stored once and loaded once."""
        moved = sum([
            (step.conversion.stores + step.conversion.loads) * step.conversion.bits // 8 * self.lanes * self.warps
            for step in self.steps if step.conversion and step.conversion.shared_bytes
        ])  # fmt: skip
        return -(-moved // self.bytes_per_cycle) if moved and self.bytes_per_cycle else None


@json_keys(
    "name", "target=dump.target", "warps=dump.warps", "lanes", "files", "steps",
    "elsewhere: instructions that multiply, move or wait, at places without a step",
)  # fmt: skip
class TritonKernel(Record):
    """A kernel with its GPU IR and its assembly.

    Attributes:
        name: of the files. dump: the IR. files: their names. lanes: of a warp. steps: by place, in the IR's order.
        elsewhere: how many of each instruction the assembly has at places without a step.
    """

    name: str
    dump: Dump
    files: tuple[str, ...]
    lanes: int
    steps: tuple[KernelStep, ...]
    elsewhere: Mapping[str, int]


def _layout(layout: ForeignLayout) -> str:
    """Shape, type and layout, of matrix instructions with what chooses them."""
    size, own = "x".join(map(str, layout.shape)), layout.encoding
    if own is None:
        return f"{size} {layout.element} {layout.kind}"
    parent = own.parameters.get("parent", own) if own.kind == "dot_op" else own
    operand = f"operand {'AB'[own.parameters['opIdx']]} of " if own.kind == "dot_op" else ""
    chosen = [
        f"{name} {'x'.join(map(str, value))}"
        for name in ("instrShape", "warpsPerCTA")
        if isinstance(value := parent.parameters.get(name), tuple)
    ]
    return f"{size} {layout.element} {operand}{parent.kind}" + (f" ({', '.join(chosen)})" if chosen else "")


def grouped(paths: Iterable[str]) -> list[tuple[str, str]]:
    """The .ttgir and the assembly of each kernel that has both, of files that lie together.

    >>> grouped(["a/f.ttgir", "a/f.ptx", "a/f.llir", "b/f.ptx", "c/g.ttgir"])
    [('a/f.ttgir', 'a/f.ptx')]
    """
    having: dict[str, dict[str, str]] = {}
    for path in paths:
        stem, ending = os.path.splitext(path)
        having.setdefault(stem, {})[ending.lower()] = path
    return [(own[".ttgir"], own[ending]) for own in having.values() if ".ttgir" in own for ending in ASSEMBLY
            if ending in own]  # fmt: skip


def joined(ttgir: str, assembly: str) -> TritonKernel:
    """A kernel from the paths of its GPU IR and its assembly.

    Raises:
        Error: a file cannot be read, or the IR has neither a dot nor a movement.
    """
    dump = read_dump(as_text(read_bytes(ttgir)))
    return _joined(dump, as_text(read_bytes(assembly)), (ttgir, assembly))


def _joined(dump: Dump, assembly: str, paths: Sequence[str]) -> TritonKernel:
    counted = _located(assembly)
    name = os.path.splitext(os.path.basename(paths[0]))[0]
    architecture = entry(dump.target).architecture if dump.target else None
    lanes = architecture.waves[0] if architecture else 32
    if architecture and (found := re.search(r'"ttg\.threads-per-warp" = (\d+)', as_text(read_bytes(paths[0])))):
        lanes = whole(found[1], "a number of lanes")
    rows = architecture.lds_phases if architecture else ()
    bytes_per_cycle = 4 * rows[0][2] if rows else 0
    places: dict[tuple[str, int], list[DumpStep]] = {}
    for step in dump.steps:
        places.setdefault((step.source, step.column), []).append(step)
    steps = tuple([
        KernelStep(tuple(own), dict(counted.pop(place, {}) if place[0] else {}), lanes, dump.warps, bytes_per_cycle)
        for place, own in places.items()
    ])  # fmt: skip
    elsewhere = sum(counted.values(), Counter[str]())
    return TritonKernel(name, dump, tuple(map(os.path.basename, paths)), lanes, steps, dict(elsewhere))


def _located(assembly: str) -> dict[Place, Counter[str]]:
    """The telling instructions of an assembly at each place of the program."""
    files: dict[str, str] = {}
    found: dict[Place, Counter[str]] = {}
    place: Place = ("", 0)
    for line in assembly.splitlines():
        if named := _FILE.match(line):
            files[named[1]] = os.path.basename(named[2])
        elif at := _LOC.match(line):
            place = f"{files.get(at[1], at[1])}:{at[2]}", whole(at[3], "a column")
        elif (statement := _STATEMENT.match(line)) and _TELLING.match(statement[1]):
            found.setdefault(place, Counter())[statement[1]] += 1
    unnamed = {key for key, _ in found if key.partition(":")[0].isdecimal()}
    return _with_names(found, assembly) if unnamed else found


_LATE_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"', re.MULTILINE)


def _with_names(found: dict[Place, Counter[str]], assembly: str) -> dict[Place, Counter[str]]:
    """The same where the files are named at the end, as in PTX."""
    names = {number: os.path.basename(name) for number, name in _LATE_FILE.findall(assembly)}
    made: dict[Place, Counter[str]] = {}
    for (source, column), counts in found.items():
        number, colon, line = source.partition(":")
        made.setdefault((f"{names.get(number, number)}{colon}{line}", column), Counter()).update(counts)
    return made


# --- as text ---


def kernel_text(kernel: TritonKernel) -> str:
    """A paragraph for each place, and the sums."""
    return "\n".join(_lines(kernel)) + "\n"


def _lines(kernel: TritonKernel) -> Iterator[str]:
    target = f" for {kernel.dump.target}" if kernel.dump.target else ""
    yield f"{kernel.name}{target}: {kernel.dump.warps} warps of {kernel.lanes} lanes; {' and '.join(kernel.files)}"
    for step in kernel.steps:
        yield ""
        yield from _step(step)
    through = [step for step in kernel.steps if step.shared_bytes]
    moved, cycles = sum([step.shared_bytes for step in through]), sum([step.cycles or 0 for step in through])
    yield ""
    least = f": {moved} bytes" + (f", at least {cycles} cycles" if cycles else "") if through else ""
    yield f"{len(through)} ttg.convert_layout through shared memory{least}"
    if kernel.elsewhere:
        yield f"At other places: {_counts(kernel.elsewhere)}"


def _step(step: KernelStep) -> Iterator[str]:
    place = f"{step.source}:{step.column}" if step.source else "at no known place"
    lines = f"line{'s' * (len(step.lines) > 1)} {', '.join(map(str, step.lines))} of the .ttgir"
    yield f"{place}  {' and '.join(step.operations)}, {lines}"
    for layout in step.layouts:
        yield f"    {layout}"
    if any(one.multiplies for one in step.steps):
        yield from _product(step)
    if step.conversion:
        cost = f": {step.shared_bytes} bytes" if step.shared_bytes else ""
        least = f", at least {step.cycles} cycles of shared memory" if step.cycles else ""
        yield f"    {WORDS[step.conversion]}{cost}{least}"
    yield f"    assembly: {_counts(step.assembly) or 'nothing that multiplies, moves or waits'}"


WORDS = {
    "identical": "moves nothing", "registers": "renames registers", "lanes": "exchanges values between lanes",
    "shared memory": "through shared memory",
}  # fmt: skip


def _product(step: KernelStep) -> Iterator[str]:
    if step.instruction is None:
        yield "    no single instruction of the catalog fits these layouts and types"
        return
    transposed = ", which computes the transpose" if step.steps[0].layouts[-1].transposed else ""
    yield f"    by its layouts {step.foretold} x {step.instruction} in each warp{transposed}"
    if step.products != step.foretold:
        yield (f"    but the assembly has {step.products} at this place: the compiler unrolled, merged or moved it, "
               "or chose another")  # fmt: skip


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join([f"{count} {name}" for name, count in sorted(counts.items(), key=lambda one: -one[1])])
