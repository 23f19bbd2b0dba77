"""How an operand is loaded from memory (D: stored): the accesses, the cache lines, and LDS bank conflicts.

    mmacalc memory -a gfx950 -i v_mfma_f32_32x32x16_bf16 -A --ld 64            row by row in memory, 64 elements a row
    mmacalc memory -a gfx950 -i v_mfma_f32_32x32x16_bf16 -A --ld 64 --search   padding and swizzles without a conflict
    mmacalc memory -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --kpack 2 --search  k relabelled over two instructions
    mmacalc memory -a a100 -i mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 -B --order col      with ldmatrix
    mmacalc memory -a H100 -i wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 -B --order col   bytes by descriptor

B of wgmma and of tcgen05.mma, and their A, are read from shared memory by a descriptor: then the answer is the byte of
every element under --swizzle, in atoms --leading and --stride bytes apart.

Bank phases are data of each architecture, with their source; what has not been measured is marked.
"""

from __future__ import annotations

from ..base.errors import plural
from ..command import Command, Reply, flag, number, option, show, tables
from ..command.common import ARCHITECTURE, INSTRUCTION, JSON, MODIFIERS, TILE, WAVE, operand_of
from ..command.options import modifiers
from ..spelling import instruction_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..command import Options
    from ..memory_access.accesses import LdsCost, Repair
    from ..memory_access.answer import Memory, MemoryAndRepair
    from ..memory_access.shared_operands import SharedOperand
    from ..model import Instruction


def memory_text(found: Memory) -> str:
    """How an operand is loaded, without a search."""
    from ..memory_access.answer import MemoryAndRepair

    return text(MemoryAndRepair(found, None, found.transposing))


def text(found: MemoryAndRepair) -> str:
    """The answer for a terminal."""
    answer, repair = found.memory, found.repair
    return (
        "\n".join(
            [
                *_head(answer),
                *_transposing(found),
                *_accesses(answer),
                *_lds(answer.lds),
                *_matrix(answer),
                *_copies(answer),
                *_repair(repair, answer.fill),
            ]  # fmt: skip
        )
        + "\n"
    )


def _head(answer: Memory) -> Iterator[str]:
    operand, tile = answer.operand, answer.tile
    inst = operand.instruction
    yield f"Architecture: {inst.architecture.title}"
    yield f"Instruction: {instruction_name(inst)}"
    along = "row by row" if tile.order == "row" else "column by column"
    yield f"{operand.name} ({operand.format.title}), {along}: {tile.rows} rows of {tile.row_bytes} bytes (ld {tile.ld})"
    if answer.kpack:
        yield f"  k relabelled over {plural(answer.kpack, 'instruction')}: A and B alike, all k of a lane side by side"


def _transposing(found: MemoryAndRepair) -> Iterator[str]:
    """The loads that transpose, which are the fast way."""
    for one in found.transposing:
        runs = ", ".join(f"{first}-{last}" for first, last in one.k)
        last = one.first_register + one.registers - 1
        yield f"Transposed from {_where(one.memory)} by {one.load} into v[{one.first_register}:{last}]: k {runs}"
        if one.fault:
            yield f"  not as the tile lies: {one.fault}"
            continue
        if one.terms is not None:
            shown = " + ".join([_term(*term) for term in one.terms]) or "0"
            start = f" + {one.places[0][0] * found.memory.tile.row_bytes + one.places[0][1]}".replace(" + 0", "")
            yield f"  byte address of a lane ({one.fetched_by}): {shown}{start}"
        if one.cost:
            cost, as_if = one.cost, f"as a read of {one.access_bytes} bytes a lane, {one.cost.rule.provenance}"
            yield f"  LDS: {plural(cost.cycles, 'cycle')}, {plural(cost.conflicts, 'conflict')} ({as_if})"
    if found.transposing:
        yield from _repair(found.transposing_search, found.memory.fill, "transposing loads")
        yield "  `mmacalc transpose-loads` has the elements of each lane; without them, each lane by itself:"


def _where(memory: str) -> str:
    return "LDS" if memory == "LDS" else f"{memory} memory"


def _accesses(answer: Memory) -> Iterator[str]:
    verb = "Stores" if answer.operand.name == "D" else "Loads"
    number, each = answer.instructions, answer.access_bytes
    yield f"{verb}: {number} of {plural(each, 'byte')} per lane (runs of {plural(answer.run_bytes, 'byte')})"
    yield f"  global  {number} x {answer.global_instruction}"
    yield f"  LDS     {number} x {answer.lds_instruction}"
    terms = answer.terms
    if terms is not None:
        parts = [_term(*term) for term in terms]
        yield f"  byte address of a lane: {' + '.join(parts) or '0'}"
    if len(answer.offsets) > 1 and terms is None:
        yield "  byte address of a lane: no sum of digits of its number; --json has the accesses of each"
    if len(answer.offsets) > 1:
        shown = ", ".join(map(str, answer.offsets[:16])) + (" ..." if len(answer.offsets) > 16 else "")
        yield f"  {'and of the accesses:   ' if terms is not None else 'of lane 0, each access:'} {shown}"
    used = answer.bytes_used
    for size, lines in ((64, answer.lines64), (128, answer.lines128)):
        share = f"{used / (size * lines):.0%}"
        yield f"Cache lines of {size} bytes: {lines}, {size * lines} bytes fetched for {used} used ({share})"


def _term(divisor: int, size: int, stride: int) -> str:
    lane = f"lane / {divisor}" if divisor > 1 else "lane"
    return f"({lane} % {size}) * {stride}"


def _lds(cost: LdsCost) -> Iterator[str]:
    rule, worst = cost.rule, cost.worst
    yield f"LDS: {plural(cost.cycles, 'cycle')}, ideal {cost.ideal}, {plural(cost.conflicts, 'conflict')}"
    if cost.conflicts:
        lanes, cycles = _runs(worst.lanes), plural(worst.cycles, "cycle")
        yield f"  worst phase: lanes {lanes} need {cycles}; bank {worst.bank} is busiest"
    source = f", {rule.source}" if rule.source else ""
    yield f"  {rule.banks} banks, {plural(cost.phases, 'phase')} in an access ({rule.provenance}{source})"


def _copies(answer: Memory) -> Iterator[str]:
    """What could fill the tile without registers."""
    for one in answer.copies:
        if one.fault:
            yield f"Filled without registers by {one.name}: not as the tile lies: {one.fault}"
            continue
        if not one.from_bytes:
            boxes = plural(one.instructions, "box", "boxes")
            yield f"Filled without registers by {one.name}: {boxes} of {one.together} bytes"
            continue
        where = "one behind the other" if one.together else "each where it says"
        yield f"Filled without registers: {one.instructions} x {one.name}, {one.width} bytes a lane, {where}"
        moved = [lane for lane, at in enumerate(one.from_bytes) if at not in (None, lane * one.width)]
        fetched = f"  a lane fetches byte lane * {one.width} of the tile in memory"
        if moved:
            first = moved[0]
            shown = ", ".join([str(at) for at in one.from_bytes[first : first + 8] if at is not None])
            yield f"{fetched}, but lanes from {first} on {shown} ..."
        else:
            yield fetched


def _matrix(answer: Memory) -> Iterator[str]:
    for load in answer.matrix_loads:
        registers = f"registers {load.first_register} to {load.first_register + load.registers - 1}"
        yield f"{load.name}: {registers}" if load.registers > 1 else f"{load.name}: register {load.first_register}"
        yield f"  shared memory: {plural(load.cost.cycles, 'cycle')}, {plural(load.cost.conflicts, 'conflict')}"
        rows = [f"{row}:{byte}" for row, byte in load.rows]
        for first in range(0, len(rows), 8):
            yield f"  lanes {first} to {first + 7} give row:byte  {'  '.join(rows[first : first + 8])}"


def _repair(repair: Repair | None, fill: int, what: str = "accesses") -> Iterator[str]:
    if repair is None:
        return
    pad, swizzle, sparse = repair
    yield f"Without conflicts, both for these {what} and for those that fill the tile ({fill} bytes a lane, --fill):"
    yield f"  padding  {'none keeps both free' if pad is None else plural(pad, 'byte') + ' behind each row'}"
    if sparse is not None:
        where = f"--pad {sparse.pad_bytes} --pad-every {sparse.every}"
        yield f"  or       {plural(sparse.pad_bytes, 'byte')} behind every {sparse.every} of the tile: {where}"
    if swizzle is None:
        yield "  swizzle  no XOR of address bits keeps both free; try --kpack 2"
    elif not swizzle.bits:
        yield "  swizzle  not needed"
    else:
        yield f"  swizzle  bits {swizzle.bits}, base {swizzle.base}, shift {swizzle.shift}: {_formula(*swizzle)}"


def _formula(bits: int, base: int, shift: int) -> str:
    return f"address ^ ((address >> {shift}) & {((1 << bits) - 1) << base:#x})"


def _runs(lanes: tuple[int, ...]) -> str:
    """0-3 20-23 for the lanes 0, 1, 2, 3, 20, 21, 22, 23."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def shared_text(found: SharedOperand) -> str:
    """Where the elements of an operand are that a descriptor describes: the formula, and the first rows' bytes."""
    from ..families.descriptors import ATOMS

    inst, mn = found.instruction, "i" if found.matrix == "A" else "j"
    down, along = (mn, "k") if found.major == "k" else ("k", mn)
    element = f"{found.matrix}[{mn}][k]" if found.matrix == "A" else f"{found.matrix}[k][{mn}]"
    shape = f"{found.rows} {'rows' if found.matrix == 'A' else 'columns'}, {found.depth} k"
    major, start = f"{found.major.upper()}-major", f"the start is a multiple of {found.alignment}"
    lines = [
        f"Architecture: {inst.architecture.title}",
        f"Instruction: {instruction_name(inst)}",
        f"{found.matrix} ({found.format}) in shared memory, {major}, swizzle {found.swizzle}: {shape}",
        f"Descriptor: leading {found.leading}, stride {found.stride} bytes; {start}",
        f"Byte of {element}: {found.formula}",
        *_shared_notes(found, mn),
    ]
    run = (8 << ATOMS[found.swizzle].base) // found.slot
    table = found.table if found.major == "k" else tuple(zip(*found.table))
    starts = range(0, min(len(table[0]), 8 * run), run)
    header = [f"{down} \\ {along}", *[f"{first} to {first + run - 1}" for first in starts]]
    rows = [(str(row), *[str(line[first]) for first in starts]) for row, line in enumerate(table[:SHOWN])]
    left = len(table) > SHOWN or len(table[0]) > 8 * run
    more = "The rest by the formula, and with --json.\n" if left else ""
    return "\n".join(lines) + "\n" + tables.write(header, rows, "grid") + "\n" + more


def _shared_notes(found: SharedOperand, mn: str) -> Iterator[str]:
    """What a kernel does with it: further instructions along k, and the tensor copy that writes it."""
    step = found.instruction_depth
    if found.depth > step:
        yield f"An instruction reads {step} k; the next begins {step * found.slot // 8} bytes on"
    if found.padded:
        room = 16 - 2 * found.bits
        yield f"16 elements of {found.bits} bits lie in 16 bytes, packed from the first one on; {room} bytes are empty"
    if found.swizzle == "none" or (found.padded and found.row_bytes < 128):
        return
    if found.major == "k":
        panels, rows, elements = found.depth * found.slot // 8 // found.row_bytes, found.rows, "k"
    else:
        panels, rows, elements = found.rows * found.slot // 8 // found.row_bytes, found.depth, mn
    count = f"{panels} boxes" if panels > 1 else "a box"
    across = found.row_bytes * 8 // found.slot
    yield f"TMA writes it so: {count} of {rows} rows of {across} {elements}, swizzle {found.swizzle}"


SHOWN = 16  # rows of bytes in the text


def _shared(options: Options, inst: Instruction) -> SharedOperand:
    """The operand that a descriptor describes, with the options that concern it."""
    from ..base.errors import Error
    from ..memory_access.shared_operands import shared_operand
    from ..model.tensor_memory import TensorMemoryInstruction

    others = {
        "ld": None,
        "pad": 0,
        "pad_every": 0,
        "kpack": None,
        "fill": 16,
        "search": False,
        **{one.name: None for one in TILE},
    }
    for name, usual in others.items():
        if getattr(options, name) not in (usual, []):
            raise Error(f"--{name.replace('_', '-')} is not for an operand that a descriptor describes; --order, "
                        "--swizzle, --leading and --stride are")  # fmt: skip
    given = modifiers(options)
    shape = {name: value for name in "mnk" if (value := getattr(options, name)) is not None}
    if isinstance(inst, TensorMemoryInstruction):
        inst = inst.shaped(**shape)
    elif shape:
        raise Error(f"{inst.name} has its shape in its name; -M, -N and -K are for tcgen05.mma")
    if given:
        raise Error(f"{', '.join(given)} does not change where {options.matrix} lies in shared memory")
    swizzle = options.swizzle.replace("-", " ") if options.swizzle else None
    return shared_operand(inst, options.matrix, options.order, swizzle, options.leading, options.stride)


def run(options: Options) -> Reply:
    """The accesses of an operand."""
    from ..base.errors import Error
    from ..catalog import entry
    from ..memory_access.answer import MemoryAndRepair, memory
    from ..memory_access.shared_operands import reads_shared_memory
    from ..memory_access.transposed import transposing_repair

    if not options.matrix:
        raise Error("choose the matrix with -A, -B, -C or -D")
    inst = entry(options.architecture).meant(options.instruction)
    if reads_shared_memory(inst, options.matrix) and (
        options.matrix == "B" or inst.in_tensor_memory or options.by_descriptor
    ):
        return show(options.json, "shared-operand", _shared(options, inst), shared_text)
    for name in ("leading", "stride", "m", "n", "k", "by_descriptor"):
        if getattr(options, name) not in (None, False):
            raise Error(
                f"--{name.replace('_', '-')} is for an A or B that wgmma or tcgen05.mma reads from shared memory by a "
                "descriptor"
            )
    operand = operand_of(options, inst, options.matrix, modifiers(options))
    answer = memory(operand, options.order, options.ld, options.pad, options.swizzle, options.kpack, options.fill,
                    options.pad_every)  # fmt: skip
    fast = answer.transposing
    better = transposing_repair(answer.tile, answer.fill) if options.search and fast else None
    found = MemoryAndRepair(answer, answer.search() if options.search else None, fast, better)
    return show(options.json, "memory", found, text)


COMMAND = Command(
    "memory",
    "show how an operand is loaded: access width, cache lines, LDS bank conflicts, padding and swizzles",
    "load", __doc__,
    (
        ARCHITECTURE, INSTRUCTION, WAVE, JSON,
        *[
            flag(f"-{name}", f"--{name}-matrix", name="matrix", constant=name, default=None, help=f"the matrix {name}")
            for name in "ABCD"
        ],
        option(
            "--order", placeholder="ORDER", default="row",
            help="row (default): row by row in memory; col: column by column", known=("row", "col"),
        ),
        number("--ld", placeholder="N", help="elements from one row (column) in memory to the next"),
        number("--pad", placeholder="BYTES", default=0, help="padding behind each row in LDS"),
        number("--pad-every", placeholder="BYTES", default=0, help="the padding is behind every BYTES instead"),
        option(
            "--swizzle", placeholder="SWIZZLE",
            help="of LDS: BITS,BASE,SHIFT, 32B, 64B, 128B or vec,perPhase,maxPhase=4,1,16",
            known=("32B", "64B", "128B", "none"),
        ),
        number("--kpack", placeholder="N", help="load N instructions' operands at once, k relabelled"),
        number(
            "--fill", placeholder="BYTES", default=16,
            help="a lane's bytes in the accesses that fill LDS: 4, 8 or 16 (default), which --search also keeps free",
        ),
        number("--leading", help="of a descriptor: the leading dimension byte offset"),
        number("--stride", help="of a descriptor: the stride dimension byte offset"),
        *[
            number(f"-{name}", f"--{name.lower()}", help=f"of tcgen05.mma: {name}; the largest if left out")
            for name in "MNK"
        ],
        flag("--by-descriptor", help="A of wgmma in shared memory by a descriptor, not in registers"),
        flag("--search", help="the smallest padding and swizzle without a conflict"),
        *TILE,
        *MODIFIERS,
    ),
    run, {"memory": text, "shared-operand": shared_text},
)  # fmt: skip
