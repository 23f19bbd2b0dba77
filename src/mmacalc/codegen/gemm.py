"""The sizes of a tiled GEMM kernel of AMD: tiles, how A and B go through LDS, and swizzles without bank conflicts.

Each workgroup computes a tile of D with four waves, two by two; each wave keeps its part in accumulators. LDS is filled
in the order of the threads, 16 bytes each, so that no write conflicts; which bytes of which row those are says the
swizzle, and so that no read conflicts either it is searched over the addresses of both. A matrix comes to LDS in one of
three ways (see `Side`): its rows have k contiguous and stay as they are; its rows are k and stay, since loads that
transpose read them from LDS (ds_read_b64_tr, ds_load_tr); or pieces are transposed in registers on the way.

Where a lane holds less than 16 bytes of an instruction, it reads the k of `kpack` instructions at once: k is relabelled
for A and B alike, which changes nothing but the order of the sum.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from ..base.errors import Error
from ..base.records import TupleRecord
from ..memory_access.banks import lost_cycles, rule
from ..memory_access.swizzles import MODES, Swizzle
from ..memory_access.transpose_loads import loads_for
from .epilogue import NO_EPILOGUE, output_format
from .fragments import fragment, linear_sum, runs, total
from .gemm_scales import checked_scales
from .gemm_slices import name_ending, tile_rows
from .source import extents, memory_type
from .staging import Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..memory_access.transpose_loads import LoadStep
    from ..model import Instruction, Operand
    from ..model.block_scales import BlockScales
    from .epilogue import Epilogue
    from .fragments import Fragment
    from .staging import Staged

    Access = tuple[tuple[tuple[int, int], ...], int]

__all__ = [
    "SCALED_K", "VECTOR", "Piece", "Plan", "Turn", "best_swizzle", "cycles_lost", "held_k", "kpack_of", "pieces",
    "plan", "scale_span", "small_tile", "transposing", "turns_of", "writes",
]  # fmt: skip

VECTOR = 16  # bytes of a lane's access
SCALED_K = 32  # k that share a scale
TILE = (128, 128)  # rows and columns of D that a workgroup computes, unless a tile is asked for
LARGE_TILES = {"gfx950": (256, 256), "gfx1250": (256, 128)}
"""Where registers and LDS have room. Of 128x128 the first cache would take as long as the products: on gfx950 one of
32x32x16 takes 32 cycles and each load of 64 lanes and 16 bytes 16, of which four SIMDs share the cache."""
WAVES = (2, 2)  # along M and along N
WORKGROUPS = 4  # that should fit into LDS at once, one wave each on every SIMD
LARGE_TILE_BITS = (8, 16)  # of an element: products of more take longer, and clang 22 spills those of 4
TO_LDS = ("gfx950",)  # buffer_load_dwordx4 ... lds
VECTOR_BITS = 4  # of an address, within 16 bytes
LINE = 128  # bytes of memory that the first cache moves at once
DEPTH_BYTES = 64  # of a row in LDS, at least; where products take half the time, a line of memory
MOST_WAVES = 8
REGISTERS = 256  # of a wave, those for accumulation included: of gfx9's 512, so that two waves share a SIMD
OTHER_REGISTERS = 16  # for addresses
TURNING_REGISTERS = {8: 20}  # for a matrix that registers transpose, by the bits of its elements: of bytes four k
FEWER_TURNING_REGISTERS = 12
ROWS_OF_K_REGISTERS = 20  # for a matrix that loads transpose: where its lanes read


class Piece(TupleRecord):
    """An access of a lane to LDS: the terms of its byte in the tile's row for one step, and the words that it fills.

    row, byte: sums as C text of the lane's digits; table: (row, byte) of each lane; width: bytes; word: the first of
    the operand's words; load: the builtin that transposes, "" for a plain access.
    """

    row: str
    byte: str
    table: tuple[tuple[int, int], ...]
    width: int
    word: int
    load: str = ""


class Turn(TupleRecord):
    """How registers transpose a matrix whose rows are k on its way to LDS.

    rows: the k that a thread takes at once, so that a word of LDS is written whole; width: bytes of each row that it
    takes; lanes: neighbouring threads that take neighbouring parts of a row; count: pieces of a thread.
    """

    rows: int
    width: int
    lanes: int
    count: int  # type: ignore[assignment]  # not tuple's method


class Plan(TupleRecord):
    """The sizes of a GEMM kernel.

    fields: modifiers, such as formats; swapped: whether the instruction computes D transposed, B's columns as its rows,
    so that a lane's elements of D are neighbours in memory; waves_m, waves_n: of a workgroup; tiles_m, tiles_n: of the
    instruction in one wave; kpack:
    the instructions whose k a lane reads at once; steps: how often it does so for each stage; buffers: in LDS;
    split: the parts of K, each a workgroup's; batches: how many the launch line has, None for a kernel of one product;
    scales: those along K; groups: how many the launch line has, None for none.
    """

    instruction: Instruction
    wave: int
    fields: Mapping[str, int]
    swapped: bool
    waves_m: int
    waves_n: int
    tiles_m: int
    tiles_n: int
    kpack: int
    steps: int
    buffers: int
    a: Side
    b: Side
    a_turn: Turn | None = None
    b_turn: Turn | None = None
    epilogue: Epilogue = NO_EPILOGUE
    split: int = 1
    batches: int | None = None
    scales: BlockScales | None = None
    groups: int | None = None

    @property
    def block_m(self) -> int:
        """The rows of D that a workgroup computes."""
        return self.a.extent

    @property
    def block_n(self) -> int:
        """The columns of D that a workgroup computes."""
        return self.b.extent

    @property
    def block_k(self) -> int:
        """The k of one stage."""
        return self.a.depth

    @property
    def threads(self) -> int:
        """The work-items of a workgroup."""
        return self.waves_m * self.waves_n * self.wave

    @property
    def direct(self) -> bool:
        """Whether aligned matrices come to LDS without registers, while the stage before is multiplied."""
        return _loads_to_lds(self.instruction, self.a_turn, self.b_turn) and self.buffers > 1

    @property
    def name(self) -> str:
        """The name of the kernel for aligned matrices; `_any` behind it is that of the other."""
        formats = "".join(f"_{self.operand(side).format.name}" for side in "AB") if self.instruction.choices else ""
        return f"gemm_{self.instruction.name[2:]}{formats}{name_ending(self)}"

    @property
    def reduce_name(self) -> str:
        """The name of the kernel that adds the parts of K."""
        return f"{self.name}_reduce"

    def blocks(self, m: int, n: int) -> int:
        """The workgroups of a launch."""
        return tile_rows(m, self.block_m, self.groups) * -(-n // self.block_n)

    def operand(self, side: str) -> Operand:
        """The operand of the instruction that takes A or B."""
        return _operand(self.instruction, self.wave, self.fields, self.swapped, side)

    def tile(self, side: str) -> int:
        """The rows of A (columns of B) of one instruction."""
        return self.instruction.m if (side == "A") != self.swapped else self.instruction.n

    def aligned(self, m: int, n: int, k: int, lda: int, ldb: int, ldd: int) -> bool:
        """Whether the kernel for aligned matrices takes these sizes."""
        a, b = VECTOR * 8 // self.a.bits, VECTOR * 8 // self.b.bits
        depth = [each for each, side in ((a, self.a), (b, self.b)) if side.along_k]
        depth += [self.scales_k] if self.instruction.scaled else []
        d = self.stored
        return not (lda % a or ldb % b or n % d or ldd % d or any(k % each for each in depth))

    @property
    def scales_k(self) -> int:
        """The k whose scales a lane loads at once: K is a multiple of them."""
        return SCALED_K * len(fragment(self.scale("A")).items)

    def scale(self, side: str) -> Operand:
        """The operand of the instruction that takes the scales of A or B."""
        name = f"S{self.operand(side).name}"
        return self.instruction.operand(name, self.wave, **self.fields)

    @property
    def stored(self) -> int:
        """The elements of D that one store writes."""
        d = fragment(self.instruction.operand("D", self.wave))
        size = output_format(self.instruction, self.epilogue).bits // 8
        count = runs(d, "col" if self.swapped else "row")[0].count
        return max(1, min(count, VECTOR // size))


def _operand(inst: Instruction, wave: int, fields: Mapping[str, int], swapped: bool, side: str) -> Operand:
    name = side if not swapped else "BA"[side == "B"]
    return inst.operand(name, wave, **fields)


def plan(
    inst: Instruction,
    wave: int | None = None,
    order_a: str = "row",
    order_b: str = "col",
    tile: Sequence[int] | str | None = None,
    stages: int | None = None,
    scales: BlockScales | None = None,
    **modifiers: int | str,
) -> Plan:
    """The sizes of a GEMM kernel around an instruction.

    Args:
        tile: "MxNxK" or (M, N, K) of a workgroup; stages: tiles of A and B that LDS holds, 1 or 2; by the target and
            the instruction if left out. scales: those along K, for which there are twice as many sums.

    Raises:
        Error: the instruction is sparse, has several blocks, elements that no access reaches, or no builtin;
            or a tile that does not fit it.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("mi300x", "v_mfma_f32_32x32x8_f16"))
    >>> found.block_m, found.block_k, found.kpack, found.a.swizzle
    (128, 32, 2, Swizzle(bits=2, base=4, shift=3))
    """
    size = inst.architecture.wave(wave)
    fields = inst.resolved(modifiers)
    _check(inst, size, fields)
    formats = inst.format("A", fields), inst.format("B", fields)
    swapped = inst.m == inst.n and (formats[0] == formats[1] or bool(inst.choices))
    if swapped:
        fields = _exchanged(fields)
    kpack = kpack_of(inst, size, fields)
    least = inst.k * kpack
    orders = (order_a == "row", order_b == "col")
    needed = _Registers(inst, size, fields, 2 if scales else 1, kpack, orders)
    if tile is None:
        tile = _default_tile(needed, max(form.bits for form in formats))
    m, n, k = extents(tile, 3, "tile is MxNxK, such as 128x128x32")
    wanted = m, n, k
    waves = _waves(needed, wanted)
    unit = waves[0] * inst.m, waves[1] * inst.n, least
    if any(value % each or value < each for value, each in zip(wanted, unit)):
        raise Error(
            f"a tile of {inst.name} is a multiple of {'x'.join(map(str, unit))} ({waves[0]} by {waves[1]} waves); got "
            f"{'x'.join(map(str, wanted))}"
        )
    m, n, depth = wanted
    (a, a_turn), (b, b_turn) = (
        _side(
            _operand(inst, size, fields, swapped, name), name, extent, depth, along_k, kpack, waves[0] * waves[1] * size
        )
        for name, extent, along_k in zip("AB", (m, n), orders)
    )
    used = a.tile.bytes + b.tile.bytes
    more = _scale_bytes(wanted, size) if inst.scaled else 0
    buffers = _buffers(inst, used, more, stages, 1 if _loads_to_lds(inst, a_turn, b_turn) else WORKGROUPS)
    tiles = m // unit[0], n // unit[1]
    found = Plan(inst, size, fields, swapped, *waves, *tiles, kpack, depth // least, buffers, a, b, a_turn, b_turn)
    return checked_scales(found, scales)


class _Registers(TupleRecord):
    """What the registers of a wave depend on beside the tile.

    sums: for each element of D; along_k: whether A and B have k contiguous in memory.
    """

    instruction: Instruction
    wave: int
    fields: Mapping[str, int]
    sums: int
    kpack: int
    along_k: tuple[bool, bool]

    @property
    def turning(self) -> int:
        """The registers for matrices that registers transpose."""
        operands = (self.instruction.operand(name, self.wave, **self.fields) for name in "AB")
        return sum(
            TURNING_REGISTERS.get(operand.format.bits, FEWER_TURNING_REGISTERS)
            for along, operand in zip(self.along_k, operands)
            if not along and not transposing(operand, self.kpack)
        )

    def suffice(self, tile: tuple[int, int, int], waves: tuple[int, int]) -> bool:
        """Whether a workgroup of these waves has a tile's sums, parts of A and B, and the next stage in registers."""
        inst, (m, n, k), (waves_m, waves_n) = self.instruction, tile, waves
        a, b = (inst.operand(name, self.wave, **self.fields) for name in "AB")
        tiles_m, tiles_n = max(1, m // (waves_m * inst.m)), max(1, n // (waves_n * inst.n))
        held = tiles_m * tiles_n * inst.operand("D", self.wave).registers * self.sums
        parts = (tiles_m * a.registers + tiles_n * b.registers) * self.kpack
        stage = (m * a.format.bits + n * b.format.bits) * k // (32 * waves_m * waves_n * self.wave)
        scales = (VECTOR // 4 + (tiles_m + tiles_n) * (k // (inst.k * self.kpack))) * inst.scaled  # the next, and these
        others = self.turning + OTHER_REGISTERS
        if inst.architecture.targets[0] in TO_LDS and not self.turning:  # parts of two steps instead of the next stage
            stage, others = parts, others + ROWS_OF_K_REGISTERS * self.along_k.count(False)
        elif a.format.bits == b.format.bits == 8:  # loads that transpose 8 bits take half as much at once
            others += ROWS_OF_K_REGISTERS * self.along_k.count(False)
        return held <= REGISTERS // 2 and held + parts + stage + scales + others <= REGISTERS


def _default_tile(needed: _Registers, bits: int) -> tuple[int, int, int]:
    """The target's tile, or a smaller one where registers or LDS have no room for it.

    Args:
        bits: of the wider elements.
    """
    inst = needed.instruction
    target, least = inst.architecture.targets[0], inst.k * needed.kpack
    stages = 2 if target in TO_LDS else 1
    if target in LARGE_TILES and bits in LARGE_TILE_BITS and not (needed.turning or inst.scaled):
        tile = *LARGE_TILES[target], _depth(least, bits, LINE)
        fits = stages * sum(tile[:2]) * tile[2] * bits // 8 <= inst.architecture.lds_bytes
        if fits and needed.suffice(tile, _waves(needed, tile)):
            return tile
    return _small_tile(target, least, bits)


def _small_tile(target: str, least: int, bits: int) -> tuple[int, int, int]:
    return *TILE, _depth(least, bits, LINE if target in TO_LDS else DEPTH_BYTES)


def _depth(least: int, bits: int, row_bytes: int) -> int:
    """The k of a tile whose rows have `row_bytes`, at least those of one access."""
    return least * max(1, row_bytes * 8 // (least * bits))


def small_tile(inst: Instruction, wave: int) -> tuple[int, int, int]:
    """The tile for compilers that spill registers of a larger one."""
    bits = max(inst.format(name).bits for name in "AB")
    return _small_tile(inst.architecture.targets[0], inst.k * kpack_of(inst, wave), bits)


def _waves(needed: _Registers, tile: tuple[int, int, int]) -> tuple[int, int]:
    """The waves of a workgroup: two by two, or twice as many where their registers would not do.

    On RDNA3, where both halves of a wave hold all of A and B, twice as many from the start.
    """
    inst, (m, n, _) = needed.instruction, tile
    target = inst.architecture.targets[0]
    waves_m, waves_n = (4, 2) if target.startswith("gfx11") and m % (4 * inst.m) == 0 else WAVES
    while waves_m * waves_n < MOST_WAVES and not needed.suffice(tile, (waves_m, waves_n)):
        waves_m, waves_n = (2 * waves_m, waves_n) if m // waves_m >= n // waves_n else (waves_m, 2 * waves_n)
    return waves_m, waves_n


def _check(inst: Instruction, wave: int, fields: Mapping[str, int]) -> None:
    if not inst.architecture.builtins or inst.sparse or inst.blocks > 1:
        why = "A is 2:4" if inst.sparse else f"it has {inst.blocks} blocks" if inst.blocks > 1 else "it has no builtin"
        raise Error(
            f"a GEMM is generated around a dense AMD instruction of one block; not {inst.name}, {why}: use a dense "
            "sibling of one block, or leave out gemm for a kernel of one wave"
        )
    carried = {*inst.choices, *["neg"] * (inst.format("A").kind == "either")}
    if others := [name for name, value in fields.items() if value and name not in carried]:
        takes = f"; those of {inst.name} are {', '.join(sorted(carried))}" if carried else ""
        raise Error(f"a GEMM takes formats and signs of A and B as modifiers{takes}: leave out {', '.join(others)}")
    if inst.scaled and inst.block_size != SCALED_K:
        raise Error(
            f"a GEMM is generated with a scale for each {SCALED_K} k; {inst.name} has one for each {inst.block_size}"
        )
    for name in "AB":
        form = inst.format(name, fields)
        if form.bits not in (4, 8, 16, 32, 64):
            raise Error(
                f"a GEMM is generated for elements of 4 bits or whole bytes; {name} of {inst.name} has "
                f"{form.bits} bits ({form.name}): use {'fp4 or fp8' if form.is_float else 'an instruction of 8 bits'}"
            )
    if inst.format("C") != inst.format("D"):
        raise Error(
            f"{inst.name} adds to C of {inst.format('C').name} and returns {inst.format('D').name}, so it cannot "
            "accumulate: use its sibling whose C and D are of one format"
        )


def _exchanged(fields: Mapping[str, int]) -> dict[str, int]:
    """The modifiers when A and B change places."""
    pairs = {"cbsz": "blgp", "matrix_a_fmt": "matrix_b_fmt", "matrix_a_scale_fmt": "matrix_b_scale_fmt"}
    pairs |= {second: first for first, second in pairs.items()}
    found = {pairs.get(name, name): value for name, value in fields.items()}
    if "neg" in found:  # whether integers are signed: bit 0 of A, bit 1 of B
        found["neg"] = (found["neg"] & 1) << 1 | found["neg"] >> 1
    return found


def kpack_of(inst: Instruction, wave: int, fields: Mapping[str, int] | None = None) -> int:
    """How many instructions' k a lane reads at once: enough for 16 bytes where memory has less of one instruction."""
    fields = fields or {}
    found = fragment(inst.operand("A", wave, **fields))
    if _run_bytes(found, "row") >= VECTOR:
        return 1
    return max(1, VECTOR * 8 // (len(found.items) * inst.format("A", fields).bits))


def _run_bytes(found: Fragment, order: str) -> int:
    return runs(found, order)[0].count * found.operand.format.bits // 8


def _loads_to_lds(inst: Instruction, *turns: Turn | None) -> bool:
    """Whether the target has loads of 16 bytes from memory to LDS, and nothing is transposed on the way."""
    return inst.architecture.targets[0] in TO_LDS and not any(turns)


def _buffers(inst: Instruction, used: int, more: int, stages: int | None, workgroups: int) -> int:
    """How many tiles of A and B LDS holds: two where that many workgroups still fit.

    Args:
        used: bytes of one; more: bytes of scales.
    """
    most = inst.architecture.lds_bytes
    scales = f" and {more} of scales" if more else ""
    if stages is not None and (stages not in (1, 2) or stages * used + more > most):
        raise Error(f"stages is 1 or 2, and {used} bytes of LDS each{scales} have to fit into {most}; got {stages}")
    if used + more > most:
        raise Error(
            f"the tiles take {used} bytes of LDS{scales}, of which a workgroup has {most}: ask for a smaller tile"
        )
    return stages or (2 if (2 * used + more) * workgroups <= most else 1)


def scale_span(depth: int) -> int:
    """The scales of a row that a kernel loads at once: those of whole stages of that depth.

    >>> scale_span(128), scale_span(192), scale_span(1024)
    (16, 12, 32)
    """
    stage = depth // SCALED_K
    return stage * max(1, VECTOR // stage)


def _scale_bytes(tile: tuple[int, int, int], wave: int) -> int:
    """The bytes of LDS for scales: two tiles, of rows for whole waves."""
    rows = sum(-(-each // wave) * wave for each in tile[:2])
    return 2 * rows * -(-scale_span(tile[2]) // VECTOR) * VECTOR


def _side(
    operand: Operand, name: str, extent: int, depth: int, along_k: bool, kpack: int, threads: int
) -> tuple[Side, Turn | None]:
    """How one matrix goes through LDS."""
    bits = operand.format.bits
    if bits < 8 and not along_k:
        raise Error(
            f"{name} of {operand.instruction.name} has elements of {bits} bits that are not neighbours along k: use "
            f"order_{name.lower()}='{'row' if name == 'A' else 'col'}'"
        )
    loads = () if along_k else transposing(operand, kpack)
    element = memory_type(operand.format.name, "hip")
    side = Side(name, extent, depth, element, bits, along_k, not along_k and not loads)
    if side.tile.bytes % (threads * VECTOR):
        raise Error(
            f"{extent} x {depth} elements of {name} are {side.tile.bytes} bytes, no multiple of 16 for each of "
            f"{threads} work-items: ask for a larger tile"
        )
    return _best(operand, side, kpack, threads)


def transposing(operand: Operand, kpack: int) -> tuple[LoadStep, ...]:
    """The loads that read an operand from LDS where the rows of the tile are k; () if there are none."""
    if kpack > 1:
        return ()
    try:
        steps = loads_for(operand)
    except Error:
        return ()
    return steps if steps[0].load.memory == "LDS" else ()


def pieces(operand: Operand, side: Side, kpack: int) -> tuple[Piece, ...]:
    """The accesses by which a lane reads an operand for one step."""
    found = fragment(operand)
    letter, bits = side.name.lower(), side.bits
    outer, inner = ("row", "column") if operand.name == "A" else ("column", "row")
    if not side.rows_of_k:
        return tuple(_transposing_pieces(operand, transposing(operand, kpack), bits))
    row = found.first(outer, letter)
    lanes = [_digits(found, lane) for lane in range(operand.wave)]
    rows = [_weighted(found, outer, values) for values in lanes]
    if kpack > 1 or _run_bytes(found, "row" if operand.name == "A" else "col") < VECTOR:
        # Relabelled: a group of lanes has consecutive k, as many as a lane holds.
        groups, weight = [], len(found.items) * kpack * bits // 8
        size = weight
        for digit in sorted(
            (each for each in found.digits if getattr(each, inner)), key=lambda one: getattr(one, inner)
        ):
            groups.append((weight, digit))
            weight *= digit.size
        starts = [sum(each * values[digit.name] for each, digit in groups) for values in lanes]
        byte = [(each, f"{letter}_{digit.name}") for each, digit in groups]
        parts = [(0, at, at // 4) for at in range(0, size, min(VECTOR, size))]
    else:
        starts = [_weighted(found, inner, values) * bits // 8 for values in lanes]
        byte = [(getattr(digit, inner) * bits // 8, f"{letter}_{digit.name}") for digit in found.digits]
        each = runs(found, "row" if operand.name == "A" else "col")
        size = each[0].count * bits // 8
        parts = [
            (
                getattr(run.first, outer),
                getattr(run.first, inner) * bits // 8 + at,
                (run.first.slot * bits // 8 + at) // 4,
            )
            for run in each
            for at in range(0, size, VECTOR)
        ]
    width = min(VECTOR, size)
    first = [(1, row)] if row != "0" else []
    return tuple(
        Piece(
            total(first, more), total(byte, at),
            tuple((row + more, start + at) for row, start in zip(rows, starts)), width, word,
        )
        for more, at, word in parts
    )  # fmt: skip


def held_k(operand: Operand, kpack: int) -> tuple[int, ...]:
    """The k that stand at each k of `kpack` instructions, as `pieces` reads them: relabelled where it does so.

    >>> import mmacalc
    >>> held_k(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16").operand("A"), 2)
    (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)
    """
    found, k = fragment(operand), operand.instruction.k
    inner = "column" if operand.name == "A" else "row"
    packed = kpack > 1 or _run_bytes(found, "row" if operand.name == "A" else "col") < VECTOR
    if not packed or transposing(operand, kpack):
        return tuple(range(k * kpack))
    held, weight = [0] * (k * kpack), len(found.items) * kpack
    groups = []
    for digit in sorted((each for each in found.digits if getattr(each, inner)), key=lambda one: getattr(one, inner)):
        groups.append((weight, digit))
        weight *= digit.size
    for lane in range(operand.wave):
        values = _digits(found, lane)
        start = sum(each * values[digit.name] for each, digit in groups)
        for part in range(kpack):
            for at, item in enumerate(found.items):
                natural = part * k + _weighted(found, inner, values) + getattr(item, inner)
                held[natural] = start + part * len(found.items) + at
    return tuple(held)


def _digits(found: Fragment, lane: int) -> dict[str, int]:
    return {digit.name: lane // digit.divisor % digit.size for digit in found.digits}


def _weighted(found: Fragment, axis: str, values: Mapping[str, int]) -> int:
    return sum(getattr(digit, axis) * values[digit.name] for digit in found.digits)


BUILTINS = {
    "ds_read_b64_tr_b16": "ds_read_tr16_b64_v4i16", "ds_read_b64_tr_b8": "ds_read_tr8_b64_v2i32",
    "ds_load_tr16_b128": "ds_load_tr16_b128_v8i16", "ds_load_tr8_b64": "ds_load_tr8_b64_v2i32",
}  # fmt: skip


def _transposing_pieces(operand: Operand, steps: Sequence[LoadStep], bits: int) -> Iterator[Piece]:
    """Each lane's address for the loads that transpose: a row k, and the first of the elements it fetches there."""
    for step in steps:
        load = step.load
        fetched = load.lane_fetches
        rows: list[int] = []
        bytes_: list[int] = []
        for first, row, ks in sorted(step.groups):
            for lane in range(load.lanes):
                assert first + lane == len(rows)
                ((k, at),) = fetched.contents((lane, 0))
                rows.append(ks[k])
                bytes_.append((row + at) * bits // 8)
        yield Piece(
            linear_sum(rows, "lane"), linear_sum(bytes_, "lane"), tuple(zip(rows, bytes_)),
            load.elements * bits // 8, step.first_register, BUILTINS[load.name],
        )  # fmt: skip


def turn_of(side: Side, threads: int, lanes: int) -> Turn:
    """How registers transpose a stage, with a number of neighbouring threads along a row of memory."""
    size = side.bits // 8
    rows = max(1, 4 // size)
    for width in (16, 8, 4):
        units = side.depth // rows * (side.extent * size // width)
        if units % threads == 0 and width >= size:
            return Turn(rows, width, lanes, units // threads)
    raise Error(f"a stage of {side.depth} k is too small to be transposed by {threads} work-items: ask for more k")


def turned_place(side: Side, turn: Turn, at: int) -> tuple[int, int]:
    """The first row (of A; column of B) and the first k of a thread's piece."""
    pairs = side.depth // turn.rows
    across = at // (turn.lanes * pairs) * turn.lanes + at % turn.lanes
    return across * turn.width * 8 // side.bits, at // turn.lanes % pairs * turn.rows


@lru_cache(maxsize=256)
def _best(operand: Operand, side: Side, kpack: int, threads: int) -> tuple[Side, Turn | None]:
    """The side under its swizzle, and the order of a transposing side's threads."""
    reads = [(piece.table, piece.width) for piece in pieces(operand, side, kpack)]
    return best_swizzle(operand, side, reads, turns_of(side, threads))


def turns_of(side: Side, threads: int) -> Sequence[Turn | None]:
    """The ways to transpose a stage in registers, those first whose lanes load longer pieces of a row of memory; of a
    side that is not transposed, one: none."""
    if not side.turned:
        return [None]
    ways = [turn_of(side, threads, lanes) for lanes in (16, 8, 4, 2, 1)]
    return [way for way in ways if way.lanes == 1 or _fits(side, way)]


def _fits(side: Side, turn: Turn) -> bool:
    """Whether its lanes have a line of memory at most, and not more than a row."""
    piece = turn.lanes * turn.width
    return piece <= LINE and side.extent * side.bits // 8 % piece == 0


def best_swizzle(
    operand: Operand, side: Side, reads: Sequence[Access], turns: Sequence[Turn | None]
) -> tuple[Side, Turn | None]:
    """The side under the smallest swizzle without bank conflicts of a tile's reads and writes, and the first way to
    transpose that has one; with the fewest conflicts where none has none.

    Args:
        reads: of each access the (row, byte) of every lane, and its bytes.
    """
    best: tuple[int, Side, Turn | None] | None = None
    every = [side._replace(swizzle=swizzle) for swizzle in _swizzles(side.tile.bytes)]
    losses = [(cycles_lost(operand, each.tile, reads, "read"), each) for each in every]
    if turns == [None] and min(losses, key=lambda one: one[0])[0]:
        return _spread_reads(operand, losses, reads), None
    for turn in turns:
        written = [] if turn is None else writes(operand, side, turn)
        for lost, each in losses:
            if best is not None and lost >= best[0]:
                continue
            for spread in [MODES["none"], *_spreads(each, (VECTOR_BITS,))] if turn else [MODES["none"]]:
                found = each._replace(spread=spread)
                more = lost if not spread.bits else cycles_lost(operand, found.tile, reads, "read")
                if best is None or more < best[0]:
                    more += cycles_lost(operand, found.tile, written, "write")
                if best is None or more < best[0]:
                    best = more, found, turn
                    if not more:
                        return found, turn
    assert best is not None
    return best[1], best[2]


def _spread_reads(operand: Operand, losses: Sequence[tuple[int, Side]], reads: Sequence[Access]) -> Side:
    """The side under two swizzles by which its reads have no bank conflict, or the fewest.

    Loads that transpose read rows whose numbers differ in bits apart: those of ds_read_b64_tr_b16 for 16x16x32 k 0 to 3
    and 8 to 11 at once, of which one swizzle moves either all bits from 1 to 8 or not that of 8.

    Args:
        losses: of each swizzle the cycles that reads lose, and the side under it.
    """
    ordered = sorted(losses, key=lambda one: one[0])
    least, best = ordered[0]
    for _, each in ordered:
        for spread in _spreads(each, range(VECTOR_BITS, 8)):
            found = each._replace(spread=spread)
            lost = cycles_lost(operand, found.tile, reads, "read")
            if lost < least:
                least, best = lost, found
                if not lost:
                    return best
    return best


def _spreads(side: Side, bases: Iterable[int]) -> Iterator[Swizzle]:
    """Second swizzles of a tile, by bits of the address that neither of the two changes: so both together are their own
    inverse."""
    swizzle, size = side.swizzle, side.tile.bytes
    sources = range(swizzle.base + swizzle.shift, swizzle.base + swizzle.shift + swizzle.bits)
    changed = range(swizzle.base, swizzle.base + swizzle.bits)
    for base, bits in product(bases, range(1, 4)):
        for shift in range(bits, 8):
            more = range(base + shift, base + shift + bits)
            apart = not {*range(base, base + bits)} & {*sources} and not {*more} & {*changed}
            if apart and 1 << base + bits + shift <= size:
                yield Swizzle(bits, base, shift)


def _swizzles(size: int) -> Iterator[Swizzle]:
    yield Swizzle(0, 4, 3)
    for bits in range(1, 5):
        for base in range(4, 7):
            for shift in range(bits, 8):
                if 1 << bits + base + shift <= size:
                    yield Swizzle(bits, base, shift)


def writes(operand: Operand, side: Side, turn: Turn) -> list[tuple[tuple[tuple[int, int], ...], int]]:
    """The (row, byte) of each lane in each write of the first wave, and their width."""
    size = side.bits // 8
    places = [turned_place(side, turn, lane) for lane in range(operand.wave)]
    return [
        (tuple((row + more, k * size) for row, k in places), max(4, size))
        for more in range(turn.width * 8 // side.bits)
    ]


def cycles_lost(
    operand: Operand,
    tile: Staged,
    given: Sequence[tuple[Sequence[tuple[int, int]], int]],
    access: str,
) -> int:
    """The cycles that accesses of a tile lose to bank conflicts.

    Args:
        given: of each access the (row, byte) of every lane, and its bytes. access: "read" or "write".
    """
    row_bytes, architecture = tile.row_bytes, operand.instruction.architecture
    return sum(
        lost_cycles(
            rule(architecture, width, access), [tile.address(row * row_bytes + byte) for row, byte in table], width
        )
        for table, width in given
    )
