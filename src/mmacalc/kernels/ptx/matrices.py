"""Matrix instructions of a warp: mma and mma.sp, wmma, ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14).

Layouts and arithmetic are the catalog's: an instruction is looked up by its opcode, its operands are gathered from the
registers of the warp, and the results are to the bit those of `Instruction.execute`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...base.errors import Error
from ...catalog import entry
from ...emulator.computing import compute
from ...emulator.execution import execution_of
from ...emulator.fragments import Placed, multiplied, tables
from ...emulator.registers import gather, scatter
from ...ptx.module import Register, bits_of, is_braced
from .accesses import SHARED_BASE, by_space, read_memory, space_of_access, write_memory
from .memory_bytes import gathered
from .shared_core import loaded_matrix
from .signatures import Kind, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ...emulator.execution import Execution, Places
    from ...model import Instruction
    from ...ptx.module import Statement
    from .compiler import Compiler
    from .machine import Machine
    from .program import Step
    from .threads import Threads

    Array = NDArray[Any]

__all__ = ["BUILDERS", "Executor", "catalogued", "put_register_file", "register_file"]

ROW = 16
"""Bytes of a row that a lane of ldmatrix or stmatrix names."""


class Executor:
    """An instruction with its modifiers, ready to be executed on register files (group, register, lane)."""

    execution: Execution
    places: dict[str, Places]

    def __init__(self, inst: Instruction, modifiers: Mapping[str, int] | None = None) -> None:
        self.inst = inst
        self.execution = execution_of(inst, None, modifiers or {}, False, False)
        self.places = {name: self.execution.places(name) for name in inst.register_operands}

    def __call__(self, files: Mapping[str, Array], given: Mapping[str, Array] | None = None) -> Array:
        """D's registers, from the register files of the operands, and the codes of those that lie elsewhere."""
        codes: dict[str, Array] = dict(given or {})
        for name, file in files.items():
            found = gather(file, self.places[name])
            if name == "K" and self.execution.sparsity:
                found = self.execution.sparsity.from_metadata(found)
            codes[name] = found
        result = compute(self.execution, codes, rearrange=False)
        place = self.places["D"]
        registers = np.zeros(
            (*result.shape[: result.ndim - len(self.execution.shapes["D"])], place.registers, place.lanes), np.uint32
        )
        scatter(registers, result, place)
        return registers

    def undefined(self, masks: Mapping[str, Array], files: Mapping[str, Array]) -> Array:
        """Which bits of D's registers follow from undefined bits of the operands', which masks has: an element of D
        from its row of A, its column of B and its own C. Of integers what 0 multiplies adds nothing; undefined metadata
        and scales count for all of D."""
        lost = {name: gather(mask, self.places[name]) != 0 for name, mask in masks.items()}
        a, b, found = lost.pop("A"), lost.pop("B"), lost.pop("C")
        if self.inst.format("A").kind in ("signed", "unsigned") and not self.inst.sparse:
            a_codes, b_codes = (gather(files[name], self.places[name]) for name in "AB")
            known = [one.astype(np.float32) for one in (a, b, (b_codes != 0) | b, (a_codes != 0) | a)]
            found = found | (known[0] @ known[2] > 0) | (known[3] @ known[1] > 0)
        else:
            found = found | a.any(-1, keepdims=True) | b.any(-2, keepdims=True)
        for more in lost.values():
            groups = more.reshape(len(more), -1).any(1)
            found = found | groups.reshape(-1, *[1] * (found.ndim - 1))
        place = self.places["D"]
        registers = np.zeros((len(found), place.registers, place.lanes), np.uint32)
        scatter(registers, np.where(found, np.uint64((1 << place.bits) - 1), np.uint64(0)), place)
        return registers


class Fragments:
    """Products of warps whose operands lie in registers, on the registers as they are.

    executor: what computes the same of any operands, and is asked where the core is not there or declines.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._placed: dict[int, Placed | None] = {}

    def __call__(self, files: Mapping[str, Array]) -> Array:
        """D's registers (register, thread), from those of A, B and C."""
        count = files["A"].shape[1]
        if count not in self._placed:
            found = tables(self.executor.execution)
            self._placed[count] = None if found is None or files.keys() != {*"ABC"} else Placed(found, count)
        placed = self._placed[count]
        if placed is None:
            return by_register(self.executor({name: by_warp(file) for name, file in files.items()}))
        starts = np.arange(0, 4 * count, 128)
        d = np.empty((self.executor.places["D"].registers, count), np.uint32)
        left = multiplied(placed, {**files, "D": d}, dict.fromkeys("ABCD", starts), np.zeros(len(starts), bool))
        if left.any():
            rest = self.executor({name: by_warp(file)[left] for name, file in files.items()})
            d.reshape(len(d), -1, 32)[:, left] = np.swapaxes(rest, 0, 1)
        return d


def by_warp(file: Array, lanes: int = 32) -> Array:
    """Registers (register, thread) as those of each warp: (warp, register, lane)."""
    return np.swapaxes(file.reshape(len(file), -1, lanes), 0, 1)


def by_register(file: Array) -> Array:
    """The registers of each warp (warp, register, lane) as (register, thread)."""
    return np.swapaxes(file, 0, 1).reshape(file.shape[1], -1)


def catalogued(compiler: Compiler, name: str) -> Instruction:
    """The catalog's instruction of that opcode on the module's target."""
    return entry(compiler.program.target).instruction(name)


def _registers(compiler: Compiler, operand: Any, wide: bool) -> list[Any]:
    """Getters of the 32-bit registers of an operand in braces; of f64 a register has two."""
    names = operand if is_braced(operand) else (operand,)
    if not wide:
        return [compiler.source(name, "b32") for name in names]
    return [compiler.source(name, "b64") for name in names]


def register_file(machine: Machine, threads: Threads, getters: list[Any], wide: bool, lanes: int = 32) -> Array:
    """The register file of an operand: (group, register, lane)."""
    return by_warp(register_rows(machine, threads, getters, wide), lanes)


def register_rows(machine: Machine, threads: Threads, getters: list[Any], wide: bool) -> Array:
    """The registers of an operand: (register, thread)."""
    found = np.empty((len(getters) << wide, len(threads)), np.uint32)
    for row, getter in enumerate(getters):
        value = getter(machine, threads)
        if wide:
            found[2 * row], found[2 * row + 1] = value & np.uint64(0xFFFFFFFF), value >> np.uint64(32)
        else:
            found[row] = value
    return found


def put_register_file(machine: Machine, threads: Threads, sinks: list[Any], file: Array, wide: bool) -> None:
    """Write a register file (group, register, lane)."""
    put_register_rows(machine, threads, sinks, by_register(file), wide)


def put_register_rows(machine: Machine, threads: Threads, sinks: list[Any], rows: Array, wide: bool) -> None:
    """Write registers (register, thread)."""
    for place, sink in enumerate(sinks):
        if wide:
            low, high = (rows[2 * place + half].astype(np.uint64) for half in (0, 1))
            sink(machine, threads, high << np.uint64(32) | low)
        else:
            sink(machine, threads, rows[place])


def _multiply(compiler: Compiler, statement: Statement, step: Step) -> None:
    """mma.sync, mma.sp, and those with block scales."""
    inst = catalogued(compiler, statement.opcode)
    more = [*([Kind(("b32",)), Kind(("#",))] if inst.sparse else []), *(_scale_kinds(statement) if inst.scaled else [])]
    compiler.check((*[_kind(inst, name) for name in "DABC"], *more), statement)
    d, a, b, c, *rest = statement.operands
    operands: dict[str, Any] = {"A": a, "B": b, "C": c}
    constants: dict[str, int] = {}
    selectors: dict[str, Any] = {}
    if inst.sparse:
        operands["K"] = rest.pop(0)
        constants["selector"] = compiler.number(rest.pop(0))
    for side in "ab" if inst.scaled else "":
        operands[f"S{side.upper()}"] = rest.pop(0)
        ids: Any = rest.pop(0)
        selectors |= {f"{word}_id_{side}": compiler.source(one, "b16") for word, one in zip(("byte", "thread"), ids)}
    wide = {name: inst.format(name).bits == 64 for name in operands if name in "ABC"}
    getters = {name: _registers(compiler, operand, wide.get(name, False)) for name, operand in operands.items()}
    targets = d if is_braced(d) else (d,)
    wide_d = inst.format("D").bits == 64
    sinks = [compiler.sink(name, "b64" if wide_d else "b32") for name in targets]
    step.critical = frozenset(compiler.accessed[0])
    products: dict[tuple[tuple[str, int], ...], Fragments] = {}

    def ready(machine: Machine, threads: Threads) -> tuple[Fragments, dict[str, Array]]:
        files = {name: register_rows(machine, threads, getters[name], wide.get(name, False)) for name in getters}
        chosen = [(name, _uniform(step, read(machine, threads))) for name, read in selectors.items()]
        product = products.get(tuple(chosen))
        if product is None:
            product = products[tuple(chosen)] = Fragments(Executor(inst, {**constants, **dict(chosen)}))
        return product, files

    def run(machine: Machine, threads: Threads) -> None:
        product, files = ready(machine, threads)
        put_register_rows(machine, threads, sinks, product(files), wide_d)

    masks = {name: _undefined_bits(compiler, operand, wide.get(name, False)) for name, operand in operands.items()}
    written = [_number(compiler, name) for name in targets]

    def follow(machine: Machine, threads: Threads) -> dict[int, Array]:
        product, rows = ready(machine, threads)
        files = {name: by_warp(registers) for name, registers in rows.items()}
        lost = {name: register_file(machine, threads, masks[name], wide.get(name, False)) for name in masks}
        found: dict[int, Array] = {}
        put_register_file(machine, threads, [partial(_note, found, one) for one in written],
                          product.executor.undefined(lost, files), wide_d)  # fmt: skip
        return found

    step.run, step.follow = run, follow


def _number(compiler: Compiler, operand: Any) -> int | None:
    """The number of the register that an operand is; None of a constant, `_` and a special register."""
    if not isinstance(operand, Register) or operand.name not in compiler.frame.function.registers:
        return None
    return compiler.frame.register(operand.name)


def _undefined_bits(compiler: Compiler, operand: Any, wide: bool) -> list[Any]:
    """Getters of the undefined bits of the registers of an operand."""
    dtype = np.dtype(np.uint64 if wide else np.uint32)

    def bits(index: int | None, machine: Machine, threads: Threads) -> Array:
        known = None if index is None else machine.undefined.get(index)
        return np.zeros(len(threads), dtype) if known is None else known[threads.use].astype(dtype)

    names = operand if is_braced(operand) else (operand,)
    return [partial(bits, _number(compiler, name)) for name in names]


def _note(found: dict[int, Array], index: int | None, machine: Machine, threads: Threads, bits: Array) -> None:
    if index is not None:
        found[index] = bits.astype(machine.program.registers[index])


def _scale_kinds(statement: Statement) -> list[Kind]:
    """Scales of A and B, as CUTLASS in braces or not, with their selectors, which are 16 bits wide."""
    braced = ["1" if is_braced(scale) else "" for scale in statement.operands[-4::2]]
    return [kind for one in braced for kind in (Kind(("b32",), braced=one), Kind(("b16",), braced="2"))]


def _uniform(step: Step, values: Any) -> int:
    """The selector of a scale, which CUTLASS hands on in a register; a constant to ptxas, once it is inlined."""
    found = np.unique(values)
    if len(found) > 1:
        raise Error(f"line {step.line}: {step.text}: threads select different bytes of their scales: not covered")
    return int(found[0])


def _kind(inst: Instruction, name: str) -> Kind:
    """An operand in registers: as many as the catalog says, in braces; A and B are bits of any type."""
    bits = inst.format(name).bits
    held = (
        {"f32": "f32", "f64": "f64", "i32": "s32", "f16": "f16x2"}.get(inst.format(name).name, "b32")
        if name in "CD"
        else "b32"
    )
    type_ = "b64" if bits == 64 and name in "AB" else held
    return Kind((type_,), name == "D", str(inst.operand(name).registers // (2 if bits == 64 else 1)))


def _move_name(statement: Statement) -> str:
    """The opcode as the catalog spells it: shape before count, state space without ::cta."""
    words = [word.partition("::")[0] if word.startswith("shared") else word for word in statement.modifiers]
    counts = [word for word in words if word in ("x1", "x2", "x4")]
    shapes = [word for word in words if word.startswith("m") and word[1:2].isdigit()]
    rest = [word for word in words if word not in (*counts, *shapes)]
    at = rest.index("aligned") + 1
    return ".".join([statement.root, *rest[:at], *shapes, *counts, *rest[at:]])


def _table(inst: Instruction, name: str) -> tuple[Array, Array, Array]:
    """Register, lane and first bit of the stored elements, row after row."""
    table = inst.operand(name).table()
    return tuple([np.asarray(table[field]).reshape(-1).astype(np.intp) for field in ("register", "lane", "lsb")])  # type: ignore[return-value]


def _stored_bits(inst: Instruction, name: str, opcode: str) -> int:
    """The bits of an element in shared memory, where those of a row follow each other."""
    bits = int(inst.format(name).bits)
    if bits not in (4, 6, 8, 16) or inst.format(name).name == "i8":
        raise Error(f"{opcode} is not covered")
    return bits


def _load_matrix(compiler: Compiler, statement: Statement, step: Step) -> None:
    inst = catalogued(compiler, _move_name(statement))
    bits = _stored_bits(inst, "D", statement.opcode)
    compiler.check((_kind(inst, "D"), kind_of("[]")), statement)
    names: Any = statement.operands[0]
    register, lane, lsb = _table(inst, "D")
    lines = int(np.asarray(inst.operand("P").table()).size)
    address = _matrix_address(compiler, statement, step, statement.operands[1])
    sinks = [compiler.sink(name, "b32") for name in names]
    compiler.sizes.add(ROW)
    each = len(register) // lines
    halves = _halves(register, lane, lsb, len(names)) if bits == 16 else None
    indexes = [compiler.frame.register(name.name) if isinstance(name, Register) else None for name in names]

    def fragments(data: Array, warps: int) -> Array:
        """The register file (warp, register, lane) that rows of bytes become."""
        if halves is not None:
            elements = np.ascontiguousarray(data).view(np.uint16).reshape(warps, -1)
            return elements.take(halves, axis=1).view(np.uint32).reshape(warps, len(names), 32)
        file = np.zeros((warps, len(names), 32), np.uint32)
        cells: Any = (slice(None), register, lane)
        np.bitwise_or.at(file, cells, _fields(data, bits, each).reshape(warps, -1) << lsb.astype(np.uint32))
        return file

    def run(machine: Machine, threads: Threads) -> None:
        warps = threads.whole_warps(step)
        rows = _rows(threads, warps, lines)
        places = machine.shared_access(step, rows, address(machine, rows), ROW, "ldmatrix")
        machine.check_read(step, rows, places, ROW)
        found = None if halves is None else loaded_matrix(machine.shared, places, len(warps), halves, len(names))
        if found is None:
            found = by_register(fragments(gathered(machine.shared, places, ROW), len(warps)))
        put_register_rows(machine, threads, sinks, found, False)
        unwritten = machine.take(places, ROW)
        if unwritten is not None and not machine.flight[machine.granules(places, ROW)].any():
            # Rows beyond the edge of a matrix may be left as they are, where what follows from them is not stored.
            missing = fragments(np.where(unwritten, 0xFF, 0).astype(np.uint8), len(warps))
            for place, index in enumerate(indexes):
                bad = np.ascontiguousarray(missing[:, place]).reshape(-1)
                if index is not None and bad.any():
                    machine.launch.mark_undefined(machine, step, index, threads, bad)

    step.run = run


def _halves(register: Array, lane: Array, lsb: Array, registers: int) -> Array:
    """Of elements of 16 bits, which fill all registers: which of them is in each half of a lane's register, the
    registers one after the other."""
    found = np.empty(2 * 32 * registers, np.int32)
    found[(register * 32 + lane) * 2 + lsb // 16] = np.arange(len(register))
    return found


def _fields(data: Array, bits: int, count: int) -> Array:
    """The first `count` elements of fewer than 16 bits in rows of bytes: (row, element)."""
    first = bits * np.arange(count)
    wide = np.concatenate([data, np.zeros((len(data), 1), np.uint8)], 1).astype(np.uint32)
    pairs = wide[:, first // 8] | wide[:, first // 8 + 1] << np.uint32(8)
    found: Array = pairs >> (first % 8).astype(np.uint32) & np.uint32((1 << bits) - 1)
    return found


def _rows(threads: Threads, warps: Array, lines: int) -> Threads:
    """The threads whose addresses count: the first, one for each row."""
    if lines == 32:
        return threads
    mask = np.broadcast_to(np.arange(32) < lines, warps.shape).reshape(-1)
    return threads.where(mask)


def _matrix_address(compiler: Compiler, statement: Statement, step: Step, operand: Any) -> Any:
    address = compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    if space_of_access(compiler, statement, operand) == "shared":
        return address
    return lambda machine, threads: address(machine, threads) - SHARED_BASE


def _store_matrix(compiler: Compiler, statement: Statement, step: Step) -> None:
    inst = catalogued(compiler, _move_name(statement))
    name = inst.register_operands[0]
    bits = _stored_bits(inst, name, statement.opcode)
    compiler.check((kind_of("[]"), _kind(inst, name)), statement)
    names: Any = statement.operands[1]
    register, lane, lsb = _table(inst, name)
    lines = int(np.asarray(inst.operand("P").table()).size)
    address = _matrix_address(compiler, statement, step, statement.operands[0])
    getters = [compiler.source(one, "b32") for one in names]
    step.critical = frozenset(compiler.accessed[0])
    compiler.sizes.add(ROW)

    def run(machine: Machine, threads: Threads) -> None:
        warps = threads.whole_warps(step)
        file = register_file(machine, threads, getters, False)
        stored = (file[:, register, lane] >> lsb.astype(np.uint32)).astype(f"u{bits // 8}")
        rows = _rows(threads, warps, lines)
        places = machine.shared_access(step, rows, address(machine, rows), ROW, "stmatrix")
        machine.write_shared(step, rows, places, stored.reshape(len(rows), -1).view(np.uint8))

    step.run = run


def _move_matrix(compiler: Compiler, statement: Statement, step: Step) -> None:
    inst = catalogued(compiler, statement.opcode)
    compiler.check((kind_of("=b32"), kind_of("b32")), statement)
    source, sink = compiler.source(statement.operands[1], "b32"), compiler.sink(statement.operands[0], "b32")
    taken, given = _table(inst, "A"), _table(inst, "D")

    def run(machine: Machine, threads: Threads) -> None:
        file = register_file(machine, threads, [source], False)
        halves = file[:, taken[0], taken[1]] >> taken[2].astype(np.uint32) & np.uint32(0xFFFF)
        found = np.zeros_like(file)
        cells: Any = (slice(None), given[0], given[1])
        np.bitwise_or.at(found, cells, halves << given[2].astype(np.uint32))
        put_register_file(machine, threads, [sink], found, False)

    step.run = run


# --- wmma (9.7.14.4): fragments whose layout is open to the target; the catalog has those that ptxas makes ---


def _fragments(compiler: Compiler, statement: Statement, step: Step) -> None:
    what = statement.modifiers[0]
    if what == "load":
        _load_fragment(compiler, statement, step)
    elif what == "store":
        _store_fragment(compiler, statement, step)
    else:
        _multiply(compiler, statement, step)


class _Fragment:
    """A fragment and its matrix in memory: by lane and item the register, its bit, and the element's place.

    step: elements between rows (.row) or columns (.col), which is a register's value or a constant.
    """

    def __init__(self, compiler: Compiler, statement: Statement, stride: Any) -> None:
        words = [word for word in statement.modifiers if word.partition("::")[0] not in ("global", "shared")]
        inst = catalogued(compiler, ".".join(("wmma", *words[:-1], "shared", words[-1])))
        self.name = words[1].upper()
        self.inst, self.bits = inst, bits_of(words[-1])
        self.wide, self.rows = self.bits == 64, "row" in words
        table = np.asarray(inst.operand(self.name).table())
        row, column = (index.reshape(-1) for index in np.indices(table.shape)[:2])
        flat = table.reshape(-1)
        order = np.lexsort((flat["lsb"], flat["register"], flat["lane"]))
        shape = (32, -1)
        self.register, self.lsb = (flat[field][order].reshape(shape)[0].tolist() for field in ("register", "lsb"))
        across, along = (row, column) if self.rows else (column, row)
        self.across, self.along = across[order].reshape(shape), along[order].reshape(shape)
        self.stride = compiler.source(stride, "u32") if stride is not None else None
        self.least = table.shape[1 if self.rows else 0]
        size = max(1, self.bits // 8)
        compiler.sizes.add(size)
        compiler.global_sizes.add(size)
        self.size = size

    def places(self, machine: Machine, threads: Threads, base: Array, item: int) -> tuple[Array, Array]:
        """Of each thread's item the address, and its first bit there."""
        stride = self.stride(machine, threads).astype(np.int64) if self.stride is not None else self.least
        number = self.across[threads.lane, item] * stride + self.along[threads.lane, item]
        first = number * self.bits
        return base + first // 8, (first % 8).astype(np.uint8)


def _load_fragment(compiler: Compiler, statement: Statement, step: Step) -> None:
    names, operand, *rest = statement.operands
    fragment = _Fragment(compiler, statement, rest[0] if rest else None)
    compiler.check(
        (_kind(fragment.inst, fragment.name)._replace(written=True), kind_of("[]"), kind_of("?u32")), statement
    )
    targets = names if is_braced(names) else (names,)
    space, address = space_of_access(compiler, statement, operand), compiler.address(operand)
    step.critical = frozenset(compiler.accessed[0])
    kind = "b64" if fragment.wide else "b32"
    sinks = [compiler.sink(name, kind) for name in targets]
    registers = [compiler.frame.register(name.name) for name in targets if isinstance(name, Register)]
    word = np.dtype(f"u{fragment.size}")
    full = np.dtype("u8" if fragment.wide else "u4")

    def run(machine: Machine, threads: Threads) -> None:
        base = address(machine, threads)
        file = np.zeros((len(registers), len(threads)), full)
        missing: dict[int, Array] = {}
        for item, register in enumerate(fragment.register):
            at, bit = fragment.places(machine, threads, base, item)
            place = register // 2 if fragment.wide else register

            def put(
                some: Threads, where: Array, kind: str, bit: Array = bit, place: int = place, item: int = item
            ) -> None:
                data, lacking = read_memory(machine, step, some, where, kind, fragment.size)
                mine = np.isin(threads.number, some.number)
                value = np.ascontiguousarray(data).view(word)[:, 0].astype(full)
                if fragment.bits < 8:
                    value = value >> bit[mine] & full.type((1 << fragment.bits) - 1)
                file[place, mine] |= value << full.type(0 if fragment.wide else fragment.lsb[item])
                if lacking is not None:
                    missing[place] = mine.copy() if place not in missing else missing[place] | mine

            if space == "generic":
                by_space(machine, threads, at, put)
            else:
                put(threads, at, space)
        for place, sink in enumerate(sinks):
            sink(machine, threads, file[place])
        for place, mine in missing.items():
            machine.launch.mark_undefined(machine, step, registers[place], threads.where(mine))

    step.run = run


def _store_fragment(compiler: Compiler, statement: Statement, step: Step) -> None:
    operand, names, *rest = statement.operands
    fragment = _Fragment(compiler, statement, rest[0] if rest else None)
    compiler.check(
        (kind_of("[]"), _kind(fragment.inst, fragment.name)._replace(written=False), kind_of("?u32")), statement
    )
    given = names if is_braced(names) else (names,)
    space, address = space_of_access(compiler, statement, operand), compiler.address(operand)
    getters = [compiler.source(name, "b64" if fragment.wide else "b32") for name in given]
    step.critical = frozenset(compiler.accessed[0])

    def run(machine: Machine, threads: Threads) -> None:
        base = address(machine, threads)
        values = [np.broadcast_to(getter(machine, threads), (len(threads),)) for getter in getters]
        for item, register in enumerate(fragment.register):
            at, _ = fragment.places(machine, threads, base, item)
            value = values[register // 2] if fragment.wide else values[register] >> np.uint32(fragment.lsb[item])
            data = value.astype(f"u{fragment.size}")[:, None].view(np.uint8)

            def put(some: Threads, where: Array, kind: str, data: Array = data) -> None:
                write_memory(machine, step, some, where, kind, data[np.isin(threads.number, some.number)])

            if space == "generic":
                by_space(machine, threads, at, put)
            else:
                put(threads, at, space)

    step.run = run


BUILDERS = {
    "mma": _multiply,
    "wmma": _fragments,
    "ldmatrix": _load_matrix,
    "stmatrix": _store_matrix,
    "movmatrix": _move_matrix,
}
