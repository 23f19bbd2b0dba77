"""A kernel of Triton as a whole: what its GPU IR says, joined with what it came of and what came of it.

All stages name the same places of the program: the .ttir and the .ttgir by loc(...), the .llir by !DILocation, the .ptx
and the .amdgcn by .loc. So a tl.dot meets its matrix instructions, and a change of layout what moves data for it. What
the layouts foretell is set beside what the assembly has; where the two differ, that is said.
"""

from __future__ import annotations

import os
import re
from collections import Counter

from ...base.checks import whole
from ...base.records import Record, json_keys
from ...catalog import entry
from ...command.files import as_text, read_bytes
from ...foreign.dumps import Dump, DumpStep, PlainTensor, read_dump
from .triton import executed, factors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...foreign import ForeignLayout

__all__ = ["KernelStep", "TritonKernel", "grouped", "joined", "kernel_text"]

ASSEMBLY = (".amdgcn", ".ptx")
STAGES = (".ttir", ".ttgir", ".llir", *ASSEMBLY)
"""What Triton makes of a kernel that is read here, by the endings of its files."""
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_STATEMENT = re.compile(r"\s*(?:@!?%\w+\s+)?([a-z][\w.:]+)")
_TELLING = re.compile(
    r"v_(?:mfma|smfmac|wmma|swmmac)_|ds_|v_permlane|s_barrier|(?:global|buffer|cluster)_load_\w*lds|tensor_"
    r"|w?g?mma\.|tcgen05\.|ldmatrix\.|stmatrix\.|movmatrix\.|shfl\.|ld\.shared|st\.shared|bar\.|barrier\.|cp\.async"
    r"|cp\.reduce|mbarrier\.|fence\.proxy"
)
"""Instructions that multiply matrices, access shared memory, exchange values between lanes, or wait for others."""
_PRODUCT = re.compile(
    r"v_(?:mfma|smfmac|wmma|swmmac)_|mma\.|wgmma\.mma_async|tcgen05\.mma"
    r"|llvm\.amdgcn\.(?:mfma|smfmac|wmma|swmmac)|llvm\.nvvm\.(?:mma\.|wgmma\.mma|tcgen05\.mma)"
)
_CALLED = re.compile(r"@(llvm\.(?:amdgcn|nvvm)\.[\w.]+)\(")
_TELLING_CALL = re.compile(
    r"llvm\.amdgcn\.(?:s?mfma|smfmac|s?wmma|swmmac|ds\.|permlane|s\.barrier|load\.to\.lds|raw\.\w+\.buffer\.load\.lds"
    r"|global\.load\.\w*lds|tensor\.|cluster\.)|llvm\.nvvm\.(?:w?g?mma|tcgen05|ldmatrix|stmatrix|shfl|barrier|bar\.|cp\.|mbarrier"
    r"|fence\.proxy)"
)
_INLINE = re.compile(r'\basm (?:\w+ )*"([^"]*)"')
_SHARED_ACCESS = re.compile(r"\b(load|store)\b.*\baddrspace\(3\)")
_DEBUG = re.compile(r"!dbg !(\d+)")
_LOCATED = re.compile(r"^!(\d+) = .*!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: !(\d+)", re.MULTILINE)
_SCOPE = re.compile(r"^!(\d+) = .*!DI(?:Subprogram|LexicalBlock|LexicalBlockFile)\(.*?\bfile: !(\d+)", re.MULTILINE)
_DIFILE = re.compile(r'^!(\d+) = !DIFile\(filename: "([^"]*)"', re.MULTILINE)
Place = tuple[str, int]


@json_keys(
    "source: file and line of the program", "column", "operations", "lines: of the .ttgir",
    "layouts: of the first operation", "instruction: that a dot becomes by its layouts; null where none or several fit",
    "foretold: how many of it each warp executes by the layouts, of all operations at this place",
    "assembly: how many of each instruction there are at this place, of those that multiply, move or wait",
    "products: how many of these multiply matrices", "llvm: how many calls there are at this place in the LLVM IR",
    "dots: of the .ttir at this place",
    "conversion: identical, registers, lanes or shared memory",
    "shared_bytes: of shared memory that conversions go through", "cycles: of shared memory, at least",
)  # fmt: skip
class KernelStep(Record):
    """A place of the program with what the IR and the assembly have there.

    Attributes:
        steps: of the IR. assembly: how many of each instruction. lanes: of a warp. warps: of the CTA.
        bytes_per_cycle: that shared memory serves, 0 where it is not known.
        llvm: how many of each call that multiplies, moves or waits. early: the steps of the .ttir.
    """

    steps: tuple[DumpStep, ...]
    assembly: Mapping[str, int]
    lanes: int
    warps: int
    bytes_per_cycle: int
    llvm: Mapping[str, int] = {}
    early: tuple[DumpStep, ...] = ()

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
        return _tensors(self.steps[0])

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
        return _products(self.assembly)

    @property
    def dots(self) -> tuple[str, ...]:
        """Those of the .ttir, with what they multiply."""
        return tuple([f"{step.operation}, line {step.line}: {factors(step)}" for step in self.early])

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
        return self.cycles_of(self.steps)

    def cycles_of(self, steps: Iterable[DumpStep]) -> int | None:
        """The same of some of its steps."""
        moved = sum([
            (step.conversion.stores + step.conversion.loads) * step.conversion.bits // 8 * self.lanes * self.warps
            for step in steps if step.conversion and step.conversion.shared_bytes
        ])  # fmt: skip
        return -(-moved // self.bytes_per_cycle) if moved and self.bytes_per_cycle else None


def _products(counts: Mapping[str, int]) -> int:
    return sum([count for name, count in counts.items() if _PRODUCT.match(name)])


@json_keys(
    "name", "target=dump.target", "warps=dump.warps", "lanes", "files", "steps",
    "elsewhere: instructions that multiply, move or wait, at places without a step",
    "lost: dots of the .ttir at whose places the .ttgir has nothing",
)  # fmt: skip
class TritonKernel(Record):
    """A kernel with its GPU IR and what else there is of it.

    Attributes:
        name: of the files. dump: the IR. files: their names. lanes: of a warp. steps: by place, in the IR's order.
        elsewhere: how many of each instruction the assembly has at places without a step.
        assembled: whether there is assembly. lost: dots of the .ttir that no step came of.
    """

    name: str
    dump: Dump
    files: tuple[str, ...]
    lanes: int
    steps: tuple[KernelStep, ...]
    elsewhere: Mapping[str, int]
    assembled: bool = True
    lost: tuple[str, ...] = ()


def _layout(layout: ForeignLayout | PlainTensor) -> str:
    """Shape, type and layout, of matrix instructions with what chooses them."""
    if isinstance(layout, PlainTensor):
        return str(layout)
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


def grouped(paths: Iterable[str]) -> list[dict[str, str]]:
    """The files of each kernel of which there is the GPU IR and another stage, by their endings, of files that lie
    together.

    >>> grouped(["a/f.ttgir", "a/f.ptx", "b/f.ptx", "c/g.ttgir"])
    [{'.ttgir': 'a/f.ttgir', '.ptx': 'a/f.ptx'}]
    """
    having: dict[str, dict[str, str]] = {}
    for path in paths:
        stem, ending = os.path.splitext(path)
        if ending.lower() in STAGES:
            having.setdefault(stem, {})[ending.lower()] = path
    return [dict(sorted(own.items(), key=lambda one: STAGES.index(one[0])))
            for own in having.values() if ".ttgir" in own and len(own) > 1]  # fmt: skip


def joined(files: Mapping[str, str]) -> TritonKernel:
    """A kernel from the paths of its GPU IR and of what else there is, by their endings.

    Raises:
        Error: a file cannot be read, or the IR has neither a dot nor a movement.
    """
    texts = {ending: as_text(read_bytes(path)) for ending, path in files.items()}
    dump = read_dump(texts[".ttgir"])
    lanes, bytes_per_cycle = _of_target(dump, texts[".ttgir"])
    assembly = next((texts[ending] for ending in ASSEMBLY if ending in texts), None)
    counted, called = _located(assembly or ""), _calls(texts.get(".llir", ""))
    early = _by_place(read_dump(texts[".ttir"]).steps) if ".ttir" in texts else {}
    steps = tuple([
        KernelStep(
            tuple(own), dict(counted.pop(place, {})), lanes, dump.warps, bytes_per_cycle, dict(called.get(place, {})),
            tuple(early.pop(place, ())),
        )
        for place, own in _by_place(dump.steps).items()
    ])  # fmt: skip
    lost = [f"{step.operation}, line {step.line} ({step.source})" for own in early.values() for step in own]
    name = os.path.splitext(os.path.basename(files[".ttgir"]))[0]
    elsewhere = sum(counted.values(), Counter[str]())
    return TritonKernel(
        name, dump, tuple(map(os.path.basename, files.values())), lanes, steps, dict(elsewhere),
        assembly is not None, tuple(lost),
    )  # fmt: skip


def _by_place(steps: Iterable[DumpStep]) -> dict[Place, list[DumpStep]]:
    places: dict[Place, list[DumpStep]] = {}
    for step in steps:
        places.setdefault((step.source, step.column), []).append(step)
    return places


def _of_target(dump: Dump, text: str) -> tuple[int, int]:
    """The lanes of a warp, and the bytes that shared memory serves in a cycle, 0 where it is not known."""
    architecture = entry(dump.target).architecture if dump.target else None
    lanes = architecture.waves[0] if architecture else 32
    if found := re.search(r'"ttg\.threads-per-warp" = (\d+)', text):
        lanes = whole(found[1], "a number of lanes")
    rows = architecture.lds_phases if architecture else ()
    return lanes, 4 * rows[0][2] if rows else 0


def _calls(text: str) -> dict[Place, Counter[str]]:
    """The telling calls of LLVM IR at each place of the program: intrinsics, inline assembly, shared memory."""
    files, scopes = dict(_DIFILE.findall(text)), dict(_SCOPE.findall(text))
    places = {
        number: (f"{os.path.basename(files.get(scopes.get(scope, ''), ''))}:{line}", whole(column or "0", "a column"))
        for number, line, column, scope in _LOCATED.findall(text)
    }
    found: dict[Place, Counter[str]] = {}
    for line in text.splitlines():
        debug = _DEBUG.search(line)
        place = places.get(debug[1], ("", 0)) if debug else ("", 0)
        for name in _names(line):
            found.setdefault(place, Counter())[name] += 1
    return found


def _names(line: str) -> Iterator[str]:
    """What a line of LLVM IR does that multiplies, moves or waits."""
    if (called := _CALLED.search(line)) and not line.startswith("declare"):
        if _TELLING_CALL.match(called[1]):
            yield called[1]
    elif assembly := _INLINE.search(line):
        for statement in re.split(r"[;{}\n]|\\0A", assembly[1]):
            if (found := _STATEMENT.match(re.sub(r"@!?\$\d+\s*", "", statement))) and _TELLING.match(found[1]):
                yield found[1]
    elif access := _SHARED_ACCESS.search(line):
        yield f"{access[1]} addrspace(3)"


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
    yield f"{kernel.name}{target}: {kernel.dump.warps} warps of {kernel.lanes} lanes; {', '.join(kernel.files)}"
    for step in kernel.steps:
        yield ""
        yield from _step(step, kernel.assembled)
    moved = [one.conversion for step in kernel.steps for one in step.steps if one.conversion]
    through = [one for one in moved if one.shared_bytes]
    cycles = sum([step.cycles or 0 for step in kernel.steps])
    yield ""
    least = f": {sum([one.shared_bytes for one in through])} bytes" if through else ""
    yield f"{len(through)} ttg.convert_layout through shared memory{least}" + (
        f", at least {cycles} cycles" if cycles else "")  # fmt: skip
    if kernel.elsewhere:
        yield f"At other places: {_counts(kernel.elsewhere)}"
    for dot in kernel.lost:
        yield f"{dot} of the .ttir: nothing of the .ttgir is at its place"


def _step(step: KernelStep, assembled: bool) -> Iterator[str]:
    place = f"{step.source}:{step.column}" if step.source else "at no known place"
    kinds = _kinds(step.steps)
    early = [f"{one.operation}, line {one.line} of the .ttir" for one in step.early]
    yield "  ".join([place, "; ".join([*early, *map(_named_lines, kinds[: len(kinds) == 1])])]).rstrip()
    for one in kinds:
        if len(kinds) > 1:
            yield f"  {_named_lines(one)}"
        yield from _of_one_kind(one, step)
    if assembled and step.foretold and step.products != step.foretold:
        yield (f"    but the assembly has {step.products} at this place: the compiler unrolled, merged or moved it, "
               "or chose another")  # fmt: skip
    if assembled:
        yield f"    assembly: {_counts(step.assembly) or 'nothing that multiplies, moves or waits'}"
    if step.llvm and (not assembled or _products(step.llvm) != step.products):
        yield f"    LLVM IR: {_counts(step.llvm)}"


def _kinds(steps: Sequence[DumpStep]) -> list[list[DumpStep]]:
    """Steps that differ in nothing but their lines, together, in the order of their first lines."""
    found: dict[tuple[str, tuple[str, ...]], list[DumpStep]] = {}
    for step in steps:
        found.setdefault((step.operation, _tensors(step)), []).append(step)
    return [*found.values()]


def _tensors(step: DumpStep) -> tuple[str, ...]:
    return tuple(map(_layout, step.tensors))


def _named_lines(steps: Sequence[DumpStep]) -> str:
    lines = ", ".join([str(step.line) for step in steps])
    return f"{steps[0].operation}, line{'s' * (len(steps) > 1)} {lines} of the .ttgir"


def _of_one_kind(steps: Sequence[DumpStep], step: KernelStep) -> Iterator[str]:
    """The tensors of steps that are alike, and what becomes of them."""
    for tensor in _tensors(steps[0]):
        yield f"    {tensor}"
    if steps[0].unread:
        yield f"    {steps[0].unread} of its layouts cannot be read here"
    if steps[0].multiplies:
        yield _product(steps)
    if moved := steps[0].conversion:
        times = f"{len(steps)} times " if len(steps) > 1 else ""
        cycles = step.cycles_of(steps)
        cost = f": {times}{moved.shared_bytes} bytes" if moved.shared_bytes else ""
        least = f", at least {cycles} cycles of shared memory" if cycles else ""
        yield f"    {WORDS[moved.kind]}{cost}{least}"


WORDS = {
    "identical": "moves nothing", "registers": "renames registers", "lanes": "exchanges values between lanes",
    "shared memory": "through shared memory",
}  # fmt: skip


def _product(steps: Sequence[DumpStep]) -> str:
    first, foretold = steps[0], sum([one.count for one in steps])
    if first.instruction is None:
        return "    no single instruction of the catalog fits these layouts and types"
    transposed = ", which computes the transpose" if first.layouts and first.layouts[-1].transposed else ""
    return f"    by its layouts {executed(first.instruction, foretold)}{transposed}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join([f"{count} {name}" for name, count in sorted(counts.items(), key=lambda one: -one[1])])
