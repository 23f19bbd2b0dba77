"""The program of a compiled kernel: its instructions, compiled one by one when they are first reached."""

from __future__ import annotations

import threading

from ...asm.blocks import decoded_blocks
from ...asm.decoded import RegisterOperand
from ...asm.decoder import decode, text
from ...asm.high_registers import chooses_registers, with_high_bits, with_registers_meant
from ...asm.reader import read_listing
from ...asm.tables import flags_of
from ...base.errors import Error
from ...base.records import Cache
from ...hazards.deallocation import early_deallocations
from ...hazards.lane_masks import lost_lanes
from ...hazards.lint import missing_states
from ...hazards.memory_waits import TooManyPaths, missing_result_waits
from ...hazards.scalar_results import early_scalar_reads, has_scalar_hazards
from ..device.launch import collector_paused
from ..device.shared import Labels
from .arithmetic import arithmetic, dot, dual, lower_lanes, mixed, packed_arithmetic
from .control import ENDS_BLOCK, NOTHING, control_step, counts_waited
from .core_operations import operations_of
from .cross_lane import CROSS_LANE
from .global_moves import GlobalMove
from .indexing import INDEX_MODE, indexed, is_relative
from .matrix import Multiplication
from .memory import access_of
from .memory_steps import local_moves, memory_step, transposing_access
from .modifiers import Modifiers, masked, modifiers_of
from .narrow_formats import is_scaled, is_stochastic, scaled, stochastic
from .operands import numbers_of
from .operations.packed import DOTS, MIXED, PACKED
from .runs import Run, planned
from .state import EXEC, M0, SCALARS, SCC, VCC
from .target import UNKNOWN
from .tensor_copies import tensor_access
from .undefined import is_equality, lane_words, moves_bits, packed_halves, read_bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from ...asm.blocks import Block
    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from ...asm.reader import Listing
    from ...hazards.lane_masks import LostLanes
    from ...hazards.lint import MissingStates
    from ...hazards.memory_waits import MemoryWait
    from ...model import Instruction
    from .core_operations import Operation
    from .local_access import LocalMove
    from .memory import Access
    from .modifiers import Compute, Store
    from .state import Group
    from .target import MachineTarget
    from .undefined import Half

    Found = TypeVar("Found")

__all__ = ["Program", "Step", "program_of"]

LOW_FROM_LOW = ("v_mad_u64_u32", "v_mad_i64_i32", "v_mad_co_", "v_mad_nc_", "v_lshl_add_u64", "v_add_nc_u64",
                "v_lshlrev_b64")  # fmt: skip
# Results that leave a part of their register as it is. Which part is defined is not followed: one part is enough.
PARTIAL = ("v_fma_mixlo_", "v_fma_mixhi_", "v_mad_mixlo_", "v_mad_mixhi_", "v_cvt_pk_fp8_", "v_cvt_pk_bf8_",
           "v_cvt_sr_", "v_cvt_scalef32_")  # fmt: skip
_SCALAR = frozenset(("salu", "smem"))
_BY_LANE = frozenset(("read_lane", "lane_select"))
_IMPLICIT = {"vccz": (VCC, VCC + 1), "vccnz": (VCC, VCC + 1), "execz": (EXEC, EXEC + 1), "execnz": (EXEC, EXEC + 1),
             "scc0": (SCC,), "scc1": (SCC,)}  # fmt: skip


class Step:
    """One instruction, compiled.

    run: the function. reads, writes: the numbers of the registers that it touches (see `state`); addresses: of those
    read, the ones of a memory access's address; uses: of those read, the ones that a result depends on. kind:
    "arithmetic", "cross", "lane", "matrix", "memory", "control". access: of a memory instruction. count: of which
    counters (see `counters`), or "". relative: whether M0 chooses its registers; indexable: whether it does in the
    mode of gfx9. bitwise: whether it moves bits (see `undefined`); bits: those of a source that it reads. places:
    the registers of each source; operations: of the core (see `runs`), None if it has none; moves: accesses that
    the core can carry out; rest: of LDS, carries out those from a number on; product: of a matrix instruction that
    it can; waits: of a wait for counters the greatest number of each; lane_masks: the scalar registers that it
    reads as masks of lanes, and the word that each is; lane_results: those that it writes.
    equality: whether it tells if integers are equal. halves: of a packed one (see `undefined.packed_halves`). duals: of
    a dual one its two halves, each by itself.
    vector: whether MODE can skip it.
    """

    __slots__ = (
        "access", "addresses", "count", "executed", "instruction", "kind", "matrix", "reads", "run", "touched",
        "writes", "low", "low_reads", "uses", "relative", "indexable", "writes_lds",
        "bitwise", "bits", "duals", "equality", "halves", "lane_masks", "lane_results", "moves", "operations", "places",
        "product", "rest", "vector", "waits",
        "_target",
    )  # fmt: skip
    instruction: DecodedInstruction
    run: Callable[[Group], None]
    kind: str
    access: Access | None
    count: str
    executed: int
    indexable: bool
    relative: bool
    writes_lds: bool
    bitwise: bool
    equality: bool
    duals: tuple[Step, ...]
    halves: tuple[Half, Half] | None
    matrix: Instruction | None
    moves: tuple[LocalMove | GlobalMove, ...]
    operations: tuple[Operation, ...] | None
    product: Multiplication | None
    waits: dict[str, int] | None
    rest: Callable[..., None]
    bits: int
    lane_masks: dict[int, int]
    lane_results: dict[int, int]
    places: list[frozenset[int]]
    addresses: frozenset[int]
    reads: frozenset[int]
    touched: frozenset[int]
    uses: frozenset[int]
    writes: frozenset[int]
    vector: bool
    low: frozenset[int]
    low_reads: frozenset[int]

    def __init__(self, instruction: DecodedInstruction, target: MachineTarget) -> None:
        self.instruction, self.executed, self.access, self.count = instruction, 0, None, ""
        self.reads = self.writes = self.addresses = frozenset[int]()
        self.relative = is_relative(instruction.name)
        self.matrix, self.moves, self.product, self.waits = None, (), None, None
        self._target, self.operations = target, None if self.relative else operations_of(instruction, target)
        if self.operations is not None:
            self.kind, self.run = "lane" if instruction.name in CROSS_LANE else "arithmetic", self._run_later
        else:
            self.kind, self.run = ("arithmetic", _nothing) if self.relative else self._compiled(target)
        self.indexable = self.kind in ("arithmetic", "lane") and instruction.name.startswith("v_")
        halves = [instruction, *([instruction.second] if instruction.second is not None else [])]
        for half in halves:
            self.reads |= _numbers(half.sources)
            self.writes |= _numbers(half.destinations)
        if target.has(instruction.name) and {"old", "old64"} & set(target.row(instruction.name)[0]):
            self.reads |= _numbers(instruction.destinations)
        if self.kind == "control":
            self.reads |= _branch_reads(instruction.name, target.wave)
        if self.matrix is not None and self.matrix.sparse:
            self.reads |= _numbers(instruction.destinations)
        self.writes_lds = False
        if self.access is not None:
            self._memory(target)
        self.touched = self.reads | self.writes
        self.uses = frozenset() if instruction.name in NOTHING else self.reads - _kept(instruction)
        self.vector = _SCALAR.isdisjoint(flags_of(instruction.name))
        moves = self.kind in ("arithmetic", "lane") and all(moves_bits(half.name) for half in halves)
        self.bitwise = moves or self.kind == "cross"
        self.equality = self.kind == "arithmetic" and is_equality(instruction)
        self.places = [_numbers([source]) for half in halves for source in half.sources]
        self.lane_masks, self.lane_results = {}, {}
        if self.kind == "arithmetic" and not instruction.name.startswith(("s_", "v_s_")):
            masks = [operand for half in halves for operand in _mask_sources(half, target)]
            self.lane_masks = lane_words(masks)
            self.lane_results = lane_words(operand for half in halves for operand in half.destinations)
        self.bits = read_bits(instruction.name, instruction.modifiers) if self.kind == "arithmetic" else 0xFFFFFFFF
        self.low, self.low_reads = _low_half(instruction)
        self.halves = packed_halves(instruction) if self.kind == "arithmetic" else None
        alone = [half._replace(name=half.name.replace("v_dual_", "v_"), second=None) for half in halves]
        self.duals = tuple([Step(half, target) for half in alone]) if instruction.second is not None else ()

    def _run_later(self, group: Group) -> None:
        """Carry it out by itself, which most of those that the core can carry out never are: compile it now."""
        self.compile()
        self.run(group)

    def compile(self) -> None:
        """Compile what was left for later."""
        if self.operations is not None:
            self.run = self._compiled(self._target)[1]

    def part(self, half: int) -> Callable[[Group], None]:
        """The function of one half of a dual instruction, or of the whole of another."""
        first, second = self.instruction, self.instruction.second
        if second is None:
            return self.run
        compute, store = _parts(first._replace(second=None) if half == 0 else second, self._target)
        return lambda group: store(group, compute(group))

    def _memory(self, target: MachineTarget) -> None:
        access = self.access
        assert access is not None
        sources = list(self.instruction.sources)
        if access.action == "load" and "VDST" in getattr(self.instruction.form, "reads", ()):
            sources.pop()  # of which a load of 16 bits keeps a half
        data = []
        if access.action != "load" and access.unit.startswith("scalar"):
            data = sources[-1:] if self.instruction.destinations else sources[:1]
        elif access.action != "load" and not access.asynchronous and access.unit != "tensor":
            at = 0 if access.unit == "buffer" else 1
            last = None if access.unit == "ds" else at + 1
            data = sources[at:last]
        self.addresses = _numbers([source for source in sources if source not in data])
        returns = bool(self.instruction.destinations)
        self.writes_lds = access.to_lds or bool(self.instruction.modifiers.get("lds"))
        if access.unit in ("scalar", "scalar buffer"):
            self.count = "scalar"
        elif access.unit == "ds" and not access.asynchronous:
            self.count, self.writes_lds = "lds", access.action != "load"
        elif access.asynchronous:
            self.count = "async"
        elif access.unit == "tensor":
            self.count = "tensor"
        else:
            flat = "flat " if access.unit == "flat" else ""
            self.count = flat + ("load" if access.action == "load" or returns else "store")

    def _compiled(self, target: MachineTarget) -> tuple[str, Callable[[Group], None]]:
        """The kind and the function; of what is not covered, a function that says so when a wave comes there."""
        instruction = self.instruction
        if instruction.name in NOTHING:
            return "control", _nothing
        try:
            recorded = _recorded(instruction)
            found = self._executor(recorded, target)
            for half in (recorded, recorded.second):
                if half is not None:
                    modifiers_of(half).refuse_unread(half.name)
            return found
        except Error as error:
            where = "" if " at 0x" in str(error) else f" (at {instruction.address:#x})"
            return "control", _refusal(f"{error}{where}")

    def _executor(self, instruction: DecodedInstruction, target: MachineTarget) -> tuple[str, Callable[[Group], None]]:
        name = instruction.name
        if (inst := target.matrix_instruction(instruction)) is not None:
            self.matrix, multiplication = inst, Multiplication(instruction, inst, target)
            self.product = multiplication if multiplication.product is not None else None
            return "matrix", multiplication.run
        if (control := control_step(instruction, target)) is not None:
            self.waits = counts_waited(instruction, target)
            return "control", control
        if name in CROSS_LANE:
            if "ds" in flags_of(name):
                self.count = "lds"
            return "cross" if _BY_LANE.isdisjoint(flags_of(name)) else "lane", CROSS_LANE[name](instruction, target)
        if (access := transposing_access(name, target) or access_of(name) or tensor_access(name)) is not None:
            self.access, run = access, memory_step(instruction, access, target)
            if access.unit == "ds":
                self.moves, self.rest = local_moves(instruction, access, target), run
            elif (move := GlobalMove.of(instruction, access, target)) is not None:
                self.moves = (move,)
            return "memory", run
        parts = _parts(instruction, target)
        if instruction.second is not None:
            return "arithmetic", dual(parts, _parts(instruction.second, target))
        compute, store = parts
        return "arithmetic", lambda group: store(group, compute(group))


def _recorded(instruction: DecodedInstruction) -> DecodedInstruction:
    """The instruction with modifiers that note what is read of them."""
    second = instruction.second
    return instruction._replace(
        modifiers=Modifiers(instruction.modifiers), second=None if second is None else _recorded(second)
    )


def _nothing(group: Group) -> None:
    """What is carried out by the instruction that `Program.indexed` gives."""


def _refusal(message: str) -> Callable[[Group], None]:
    def run(group: Group) -> None:
        raise Error(message)

    return run


def _parts(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """What a vector or scalar instruction computes and how it is written; under DPP in some lanes only.

    Raises:
        Error: it is not covered.
    """
    name = instruction.name.replace("v_dual_", "v_")
    if name != instruction.name:
        instruction = instruction._replace(name=name)
    executor = next((make for covers, make in _EXECUTORS if covers(name)), arithmetic if target.has(name) else None)
    if name in UNKNOWN:
        raise Error(f"{name} is not covered: {UNKNOWN[name]}")
    if executor is None:
        raise Error(f"{name} at {instruction.address:#x} is not covered: `mmacalc` cannot run it, and stops here")
    compute, store = executor(instruction, target)
    return compute, masked(instruction, store, target.wave)


_EXECUTORS: tuple[tuple[Callable[[str], bool], Callable[[DecodedInstruction, MachineTarget], Any]], ...] = (
    (is_scaled, scaled),
    (is_stochastic, stochastic),
    (PACKED.__contains__, packed_arithmetic),
    (MIXED.__contains__, mixed),
    (DOTS.__contains__, dot),
    (("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32").__contains__, lower_lanes),
)
"""Which mnemonics each executor has, beside those that have a row in the table."""


def _mask_sources(instruction: DecodedInstruction, target: MachineTarget) -> list[object]:
    """The sources that are masks of lanes."""
    name = instruction.name.replace("v_dual_", "v_")
    kinds = target.row(name)[0] if target.has(name) else ()
    explicit = [kind for kind in kinds if kind not in ("scc", "exec", "old", "old64", "simm", "uimm")]
    return [source for source, kind in zip(instruction.sources, explicit) if kind == "mask"]


def _numbers(operands: Iterable[object]) -> frozenset[int]:
    return frozenset(number for operand in operands for number in numbers_of(operand))


def _kept(instruction: DecodedInstruction) -> frozenset[int]:
    """The registers that an instruction reads only to keep a part of them."""
    if instruction.name in INDEX_MODE:
        return frozenset([SCALARS + M0])
    if not instruction.name.startswith(PARTIAL):
        return frozenset()
    written = instruction.destinations[0]
    explicit = [source for source in instruction.sources if source != instruction.sources[-1]]
    if len(explicit) < len(instruction.sources) - 1:  # it is a source as well
        return frozenset()
    kept = _numbers([written]) & _numbers(instruction.sources[-1:])
    return kept - _numbers(explicit)


def _low_half(instruction: DecodedInstruction) -> tuple[frozenset[int], frozenset[int]]:
    """Of sums and products of 64 bits: the low register of the result, and the registers that it follows from."""
    if not instruction.name.startswith(LOW_FROM_LOW):
        return frozenset(), frozenset()
    wide = instruction.destinations[0]
    reads = [numbers_of(source)[:1] for source in instruction.sources]
    return frozenset(numbers_of(wide)[:1]), frozenset(number for numbers in reads for number in numbers)


def _branch_reads(name: str, wave: int) -> frozenset[int]:
    """The registers that a branch looks at; of a mask of 32 lanes one."""
    return frozenset(SCALARS + row for row in _IMPLICIT.get(name.removeprefix("s_cbranch_"), ())[: wave // 32])


_known = Cache(8)
"""The programs of the code objects that were launched last, by their target and code."""


def program_of(kernel: Kernel, target: MachineTarget) -> Program:
    """The program of a kernel, and of the functions that its object has; remembered for the next launch, also of a
    kernel that is loaded again."""

    def read() -> Program:
        return new_program(kernel, target)

    code = tuple([(section.address, section.data) for section in kernel.sections if section.executable])
    program: Program = _known.get((kernel.target, kernel.wavefront_size, code), read)
    return program


def new_program(kernel: Kernel, target: MachineTarget) -> Program:
    """As `program_of`, one of its own, which counts by itself what is executed."""
    gaps: dict[int, str] = {}
    with collector_paused():
        return Program(_decoded(kernel, gaps), target, gaps)


def _decoded(kernel: Kernel, gaps: dict[int, str]) -> Iterator[DecodedInstruction]:
    """The instructions of the executable sections. Words that are none (data, or what the decoder does not know) go
    into `gaps`, with the decoder's words about them: they matter only to a wave that comes there."""
    for section in kernel.sections:
        at = section.address
        while section.executable and at < section.address + len(section.data):
            try:
                for one in decode(section.data[at - section.address :], kernel.target, at, kernel.wavefront_size):
                    yield one
                    at = one.address + one.size
            except Error as error:
                gaps[at] = str(error)
                at += 4


class Program:
    """The instructions of a code object by address, and its basic blocks.

    labels: by which the accesses of LDS are kept. swaps_words: whether 4 bytes of global memory are compared and
    swapped: so LLVM makes atomic operations of 1 and 2 bytes, on the aligned word around them (AtomicExpand).
    indexes: whether M0 chooses registers, or S_SET_VGPR_MSB does. lock: held while a launch counts what its steps
    execute, and until that is read: other threads that launch the same code wait.
    """

    indexes: bool
    instructions: dict[int, DecodedInstruction]
    labels: Labels
    lock: Any
    swaps_words: bool
    target: MachineTarget

    def __init__(
        self, instructions: Iterable[DecodedInstruction], target: MachineTarget, gaps: Mapping[int, str]
    ) -> None:
        self.target, self._gaps, self.lock = target, gaps, threading.RLock()
        self.instructions = {instruction.address: instruction for instruction in instructions}
        goals = [int(one.modifiers["target"]) for one in self.instructions.values() if "target" in one.modifiers]
        self._leaders = frozenset(goals)
        self.steps: dict[int, Step] = {}
        self.labels = Labels()
        self._blocks: dict[tuple[int, tuple[type, ...]], tuple[tuple[Step, ...], tuple[Step | Run, ...]]] = {}
        self._others: dict[tuple[int, Any, int], Step] = {}
        self._texts: dict[int, str] = {}
        self._known: dict[tuple[str, int], Any] = {}
        accesses = [access_of(one.name) for one in self.instructions.values()]
        swaps = [one for one in accesses if one is not None and one.action == "cmpswap" and one.size == 4]
        self.swaps_words = any(one.unit != "ds" for one in swaps)
        self.indexes = any(one.name in INDEX_MODE or is_relative(one.name) for one in self.instructions.values())

    def step(self, address: int) -> Step:
        """The instruction at an address, compiled.

        Raises:
            Error: there is none.
        """
        if address not in self.steps:
            if address not in self.instructions:
                raise Error(self._gaps.get(address, f"the kernel jumped to {address:#x}, where no instruction begins"))
            self.steps[address] = Step(self.instructions[address], self.target)
        return self.steps[address]

    def text(self, instruction: DecodedInstruction) -> str:
        """An instruction of the program as the disassembler prints it; remembered for the next launch."""
        at = instruction.address
        if at not in self._texts:
            self._texts[at] = text(instruction)
        return self._texts[at]

    def indexed(self, step: Step, key: int) -> Step:
        """An instruction with the registers that M0 chooses (see `indexing`)."""
        return self._renamed(step, indexed, key)

    def with_high_bits(self, step: Step, bits: int) -> Step:
        """An instruction with the registers that it names after S_SET_VGPR_MSB."""
        return step if step.kind == "control" else self._renamed(step, with_high_bits, bits)

    def _renamed(self, step: Step, how: Callable[[DecodedInstruction, int], DecodedInstruction], value: int) -> Step:
        place = step.instruction.address, how, value
        if place not in self._others:
            found = self._others[place] = Step(how(step.instruction, value), self.target)
            found.compile()  # before it is known by the instruction that the program has
            found.instruction = step.instruction
        return self._others[place]

    def block(self, address: int, separate: tuple[type, ...]) -> tuple[tuple[Step, ...], tuple[Step | Run, ...]]:
        """The instructions from an address to the next branch, barrier or branch target: each, and as runs.

        Args:
            separate: which kinds of accesses are looked at one by one (`LocalMove`, `GlobalMove`).
        """
        if (address, separate) not in self._blocks:
            with collector_paused():
                steps = [self.step(address)]
                while steps[-1].instruction.name not in ENDS_BLOCK:
                    following = steps[-1].instruction.address + steps[-1].instruction.size
                    if following in self._leaders:
                        break
                    steps.append(self.step(following))
                self._blocks[address, separate] = tuple(steps), planned(steps, self.labels, separate)
        return self._blocks[address, separate]

    def reset(self) -> None:
        """Forget how often the instructions were executed."""
        for step in self.steps.values():
            step.executed = 0

    def settle(self) -> None:
        """Enter how often the instructions of runs were executed."""
        for _, parts in self._blocks.values():
            for part in parts:
                if isinstance(part, Run):
                    part.settle()

    def of_kernel(self, kernel: Kernel) -> tuple[DecodedInstruction, ...]:
        """The instructions of a kernel itself."""
        end = kernel.address + len(kernel.code)
        return self.remembered("instructions", kernel.address, lambda: tuple(
            [one for address, one in self.instructions.items() if kernel.address <= address < end]
        ))  # fmt: skip

    def remembered(self, what: str, address: int, make: Callable[[], Found]) -> Found:
        """Something about the kernel at an address that follows from its instructions: found out once."""
        if (what, address) not in self._known:
            with collector_paused():
                self._known[what, address] = make()
        found: Found = self._known[what, address]
        return found

    def registers_meant(self, kernel: Kernel) -> tuple[DecodedInstruction, ...]:
        """The instructions of a kernel itself with the registers that they mean after S_SET_VGPR_MSB.

        Raises:
            Error: they depend on the path.
        """
        listed = self.of_kernel(kernel)
        return tuple(with_registers_meant(listed)) if chooses_registers(listed) else listed

    def missing_states(self, kernel: Kernel, expert: bool) -> tuple[list[MissingStates], str]:
        """Where the instructions of a kernel lack wait states, or why that cannot be told. expert: whether it sets the
        mode of expert scheduling."""

        def make() -> tuple[list[MissingStates], str]:
            try:
                return list(missing_states(self.registers_meant(kernel), kernel.target, expert)), ""
            except Error as error:
                return [], f"{error}"

        return self.remembered("missing states", kernel.address, make)

    def missing_result_waits(self, kernel: Kernel) -> tuple[list[MemoryWait], str]:
        """Where the instructions of a kernel in the mode of expert scheduling lack s_wait_alu, or why that cannot be
        told."""

        def make() -> tuple[list[MemoryWait], str]:
            try:
                listed = self.registers_meant(kernel)
                texts = [text(one) for one in listed]
                return missing_result_waits(texts, decoded_blocks(listed), kernel.target), ""
            except TooManyPaths:
                return [], "too many paths lead through the kernel"
            except Error as error:
                return [], f"{error}"

        return self.remembered("missing result waits", kernel.address, make)

    def _listed(self, kernel: Kernel) -> tuple[Listing, list[Block]]:
        """The instructions of a kernel as the rules of `lint` read them, and their basic blocks."""

        def make() -> tuple[Listing, list[Block]]:
            listed = list(self.of_kernel(kernel))
            return read_listing("\n".join([self.text(one) for one in listed])), decoded_blocks(listed)

        return self.remembered("listing", kernel.address, make)

    def missing_scalar_waits(self, kernel: Kernel) -> list[MemoryWait]:
        """Where the instructions of a kernel read an SGPR before s_wait_alu or s_waitcnt_depctr waits for it."""

        def make() -> list[MemoryWait]:
            if not has_scalar_hazards(kernel.target):
                return []
            return list(early_scalar_reads(*self._listed(kernel), kernel.target))

        return self.remembered("missing scalar waits", kernel.address, make)

    def lost_lanes(self, kernel: Kernel) -> list[LostLanes]:
        """Where a kernel loses lanes: EXEC that is not restored, masks that nothing reads."""

        def make() -> list[LostLanes]:
            return list(lost_lanes(*self._listed(kernel), kernel.target))

        return self.remembered("lost lanes", kernel.address, make)

    def early_deallocations(self, kernel: Kernel) -> list[int]:
        """The instructions, by number, that give back the vector registers of a kernel too early."""

        def make() -> list[int]:
            return list(early_deallocations(self._listed(kernel)[0], kernel.target))

        return self.remembered("early deallocations", kernel.address, make)

    def registers(self) -> tuple[int, int]:
        """How many vector registers and accumulators the instructions name."""
        return self.remembered("registers", -1, self._registers)

    def _registers(self) -> tuple[int, int]:
        most = {"v": 0, "a": 0}
        for instruction in self.instructions.values():
            halves = [instruction, *([instruction.second] if instruction.second is not None else [])]
            for half in halves:
                for operand in (*half.sources, *half.destinations):
                    if isinstance(operand, RegisterOperand) and operand.file in most:
                        most[operand.file] = max(most[operand.file], operand[1] + operand[2])
        return most["v"], most["a"]
