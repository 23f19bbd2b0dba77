"""The sizes of a tiled GEMM kernel of AMD: tiles, how A and B go through LDS, and swizzles without bank conflicts.

Each workgroup computes a tile of D with four waves, two by two; each wave keeps its part in accumulators. LDS is filled
in the order of the threads, 16 bytes each, so that no write conflicts; which bytes of which row those are says the
swizzle, and so that no read conflicts either it is searched over the addresses of both. Where a tile comes by a tensor
copy (gfx1250), which knows no swizzle, bytes behind each row have its place. A matrix comes to LDS in one of
three ways (see `Side`): its rows have k contiguous and stay as they are; its rows are k and stay, since loads that
transpose read them from LDS (ds_read_b64_tr, ds_load_tr); or pieces are transposed in registers on the way.

Where a lane holds less than 16 bytes of an instruction, it reads the k of `kpack` instructions at once: k is relabelled
for A and B alike, which changes nothing but the order of the sum. A sparse A lies compressed, as a matrix of half the
k, and its metadata have the order of the relabelled k (see `mmacalc.pack_sparse`).
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from .epilogue import NO_EPILOGUE, output_format
from .fragments import fragment, runs
from .gemm_lds import COPIES, LINE, SCALED_K, VECTOR, padded_sides, run_bytes, swizzled, transposing
from .gemm_scales import checked_scales
from .gemm_slices import name_ending, tile_rows
from .source import extents, memory_type
from .staging import Side, compression, whole_accesses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model import Instruction, Operand
    from ..model.block_scales import BlockScales
    from .epilogue import Epilogue
    from .gemm_lds import Turn

__all__ = ["Plan", "kpack_of", "plan", "scale_span", "small_tile", "without_copies"]

TILE = (128, 128)  # rows and columns of D that a workgroup computes, unless a tile is asked for
LARGE_TILES = {"gfx950": (256, 256), "gfx1250": (256, 128)}
"""Where registers and LDS have room. Of 128x128 the first cache would take as long as the products: on gfx950 one of
32x32x16 takes 32 cycles and each load of 64 lanes and 16 bytes 16, of which four SIMDs share the cache."""
SIMDS = 4  # of a compute unit
WAVES = (2, 2)  # along M and along N
WORKGROUPS = 4  # that should fit into LDS at once, one wave each on every SIMD
MOST_LARGE_TILE_BITS = 16  # of an element: products of more take longer
TO_LDS = ("gfx950",)  # buffer_load_dwordx4 ... lds
HALF_WAVE = 32  # lanes of these that LDS serves together in reads of 8 bytes
SIMD_WAVES = 4  # of 256 registers that share a SIMD of these
DEPTH_BYTES = 64  # of a row in LDS, at least; where products take half the time, a line of memory
MOST_WAVES = 8
REGISTERS = 256  # of a wave, those for accumulation included: of gfx9's 512, so that two waves share a SIMD
OTHER_REGISTERS = 16  # for addresses
TURNING_REGISTERS = {8: 20, 4: 28}  # for a matrix that registers transpose, by the bits of its elements: several k
FEWER_TURNING_REGISTERS = 12
SCALES_REGISTERS = 20  # for where a stage's scales lie
BY_EIGHTS_REGISTERS = 8  # clang 22 joins accesses of 8 bytes of which it then copies one
ROWS_OF_K_REGISTERS = 20  # for a matrix that loads transpose: where its lanes read
INDEX_REGISTERS = 20  # for where metadata lie


class Plan(TupleRecord):
    """The sizes of a GEMM kernel.

    fields: modifiers, such as formats; swapped: whether the instruction computes D transposed, B's columns as its rows,
    so that a lane's elements of D are neighbours in memory; waves_m, waves_n: of a workgroup; tiles_m, tiles_n: of the
    instruction in one wave; kpack:
    the instructions whose k a lane reads at once; steps: how often it does so for each stage; buffers: in LDS;
    split: the parts of K, each a workgroup's; batches: how many the launch line has, None for a kernel of one product;
    scales: those along K; groups: how many the launch line has, None for none; copied: whether A and B of aligned
    matrices come to LDS by tensor copies.
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
    copied: bool = False

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
        return self.b.depth

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

    def shares(self, side: Side) -> int:
        """The k of the product that an element of A (B) stands for: 2 of a compressed A."""
        return self.block_k // side.depth

    @property
    def index_words(self) -> int:
        """The words of metadata that a lane has of a tile of a sparse A for a stage."""
        if not self.instruction.sparse:
            return 0
        products, registers = self.steps * self.kpack, self.instruction.operand("K", self.wave).registers
        return -(-products // self.instruction.index_sets(self.wave)) * registers

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
        a, b = whole_accesses(self.a.bits), whole_accesses(self.b.bits)
        depth = [each * self.shares(side) for each, side in ((a, self.a), (b, self.b)) if side.along_k]
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
        tile: "MxNxK" or (M, N, K) of a workgroup; stages: tiles of A and B that LDS holds, 1 or 2, by tensor copies 2
            or 3; by the target and the instruction if left out. scales: those along K, for which there are twice as
            many sums.

    Raises:
        Error: the instruction has several blocks, elements that no access reaches, or no builtin; or a tile that does
            not fit it.

    >>> import mmacalc
    >>> found = plan(mmacalc.instruction("mi300x", "v_mfma_f32_32x32x8_f16"))
    >>> found.block_m, found.block_k, found.kpack, found.a.swizzle
    (128, 32, 2, Swizzle(bits=2, base=4, shift=3))
    """
    size = inst.architecture.wave(wave)
    fields = inst.resolved(modifiers)
    _check(inst, size, fields)
    formats = inst.format("A", fields), inst.format("B", fields)
    swapped = inst.m == inst.n and (formats[0] == formats[1] or bool(inst.choices)) and not inst.sparse
    if swapped:
        fields = _exchanged(fields)
    kpack = kpack_of(inst, size, fields)
    least = inst.k * kpack
    orders = (order_a == "row", order_b == "col")
    needed = _Registers(inst, size, fields, 2 if scales else 1, kpack, orders, swapped)
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
            _operand(inst, size, fields, swapped, name),
            name,
            extent,
            depth // compression(inst, name),
            along_k,
            kpack,
            waves[0] * waves[1] * size,
        )
        for name, extent, along_k in zip("AB", (m, n), orders)
    )
    padded = None
    if stages != 1 and not (a_turn or b_turn):
        sides = [(_operand(inst, size, fields, swapped, side.name), side) for side in (a, b)]
        padded = padded_sides(sides, kpack, waves)
    a, b = padded or (a, b)
    used = a.tile.bytes + b.tile.bytes
    more = _scale_bytes(wanted, size) if inst.scaled else 0
    workgroups = 1 if _loads_to_lds(inst, a_turn, b_turn) else WORKGROUPS
    if padded:
        workgroups = max(1, SIMD_WAVES * SIMDS // (waves[0] * waves[1]))
    buffers = _buffers(inst, used, more, stages, workgroups, bool(padded))
    tiles = m // unit[0], n // unit[1]
    if inst.sparse and not _whole_registers(inst.index_sets(size), depth // inst.k):
        raise Error(
            f"{inst.index_sets(size)} {inst.name} share a register of metadata, and a tile of {depth} k has "
            f"{depth // inst.k}: use a tile whose k is {least} times a power of two"
        )
    found = Plan(inst, size, fields, swapped, *waves, *tiles, kpack, depth // least, buffers, a, b, a_turn, b_turn)
    return checked_scales(found._replace(copied=bool(padded)), scales)


def _whole_registers(sets: int, products: int) -> bool:
    """Whether the products of a stage have whole registers of metadata, or a register those of whole stages."""
    return products % sets == 0 or sets % products == 0


class _Registers(TupleRecord):
    """What the registers of a wave depend on beside the tile.

    sums: for each element of D; along_k: whether A and B have k contiguous in memory; swapped: as of `Plan`.
    """

    instruction: Instruction
    wave: int
    fields: Mapping[str, int]
    sums: int
    kpack: int
    along_k: tuple[bool, bool]
    swapped: bool

    @property
    def operands(self) -> list[Operand]:
        """Those that take A and B."""
        return [_operand(self.instruction, self.wave, self.fields, self.swapped, name) for name in "AB"]

    @property
    def turning(self) -> int:
        """The registers for matrices that registers transpose."""
        return sum(
            TURNING_REGISTERS.get(operand.format.bits, FEWER_TURNING_REGISTERS)
            for along, operand in zip(self.along_k, self.operands)
            if not along and not transposing(operand)
        )

    @property
    def _by_eights(self) -> bool:
        """Whether lanes read 24 bytes by eights."""
        return self.kpack == 1 and any(self.instruction.format(name, self.fields).bits == 6 for name in "AB")

    def _metadata(self, depth: int) -> int:
        """The registers for the metadata of a tile of A, those of a stage and of the next."""
        inst = self.instruction
        if not inst.sparse:
            return 0
        words = -(-depth // inst.k // inst.index_sets(self.wave)) * inst.operand("K", self.wave).registers
        return 2 * words

    def suffice(self, tile: tuple[int, int, int], waves: tuple[int, int]) -> bool:
        """Whether a workgroup of these waves has a tile's sums, parts of A and B, and the next stage in registers."""
        inst, (m, n, k), (waves_m, waves_n) = self.instruction, tile, waves
        a, b = self.operands
        tiles_m, tiles_n = max(1, m // (waves_m * inst.m)), max(1, n // (waves_n * inst.n))
        held = tiles_m * tiles_n * inst.operand("D", self.wave).registers * self.sums
        parts = (tiles_m * a.registers + tiles_n * b.registers) * self.kpack
        bits = m * a.format.bits // compression(inst, "A") + n * b.format.bits
        stage = bits * k // (32 * waves_m * waves_n * self.wave)
        scales = (VECTOR // 4 + (tiles_m + tiles_n) * (k // inst.k)) * inst.scaled  # the next, and these
        others = self.turning + OTHER_REGISTERS
        target, ways = inst.architecture.targets[0], self.along_k.count(False)
        copied = target in COPIES and not self.turning
        if copied:  # B whole, and A tile by tile
            stage, parts = 0, (a.registers + tiles_n * b.registers) * self.kpack
            others += (tiles_m * self._metadata(k) + INDEX_REGISTERS) * inst.sparse
        if target in TO_LDS and not self.turning:  # parts of two steps instead of the next stage
            stage, others = parts * (k > inst.k * self.kpack), others + ROWS_OF_K_REGISTERS * ways
            others += SCALES_REGISTERS * inst.scaled + BY_EIGHTS_REGISTERS * self._by_eights
        elif a.format.bits == b.format.bits == 8 and not (copied and not inst.scaled):
            others += ROWS_OF_K_REGISTERS * ways  # loads that transpose 8 bits take half as much at once
        return held <= REGISTERS // 2 and held + parts + stage + scales + others <= REGISTERS


def _default_tile(needed: _Registers, bits: int) -> tuple[int, int, int]:
    """The target's tile, or a smaller one where registers or LDS have no room for it.

    Args:
        bits: of the wider elements.
    """
    inst = needed.instruction
    target, least = inst.architecture.targets[0], inst.k * needed.kpack
    stages = 2 if target in TO_LDS else 1
    if (
        target in LARGE_TILES
        and bits <= MOST_LARGE_TILE_BITS
        and not needed.turning
        and (target in COPIES or not inst.scaled or bits < 8)  # of 8 bits with scales clang 22 spills some
    ):
        tile = *LARGE_TILES[target], _depth(least, bits, LINE)
        fits = stages * sum(tile[:2]) * tile[2] * bits // 8 <= inst.architecture.lds_bytes
        if fits and needed.suffice(tile, _waves(needed, tile)):
            return tile
    return _small_tile(inst, least, bits)


def _small_tile(inst: Instruction, least: int, bits: int) -> tuple[int, int, int]:
    fast = inst.architecture.targets[0] in (TO_LDS if not inst.sparse else (*TO_LDS, "gfx942"))
    return *TILE, _depth(least, bits, LINE if fast else DEPTH_BYTES)


def _depth(least: int, bits: int, row_bytes: int) -> int:
    """The k of a tile whose rows have `row_bytes`, at least those of one access."""
    return least * max(1, row_bytes * 8 // (least * bits))


def small_tile(inst: Instruction, wave: int) -> tuple[int, int, int]:
    """The tile for compilers that spill registers of a larger one."""
    bits = max(inst.format(name).bits for name in "AB")
    return _small_tile(inst, inst.k * kpack_of(inst, wave), bits)


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
    if not inst.architecture.builtins or inst.blocks > 1:
        why = f"it has {inst.blocks} blocks" if inst.blocks > 1 else "it has no builtin"
        raise Error(
            f"a GEMM is generated around an AMD instruction of one block; not {inst.name}, {why}: use a sibling of one "
            "block, or leave out gemm for a kernel of one wave"
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
        if form.bits not in (4, 6, 8, 16, 32, 64):
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
    """How many instructions' k a lane reads at once: enough for 16 bytes where memory has less of one instruction.

    Of 6 bits a lane has 24 bytes of 32 k. Read by eights they have bank conflicts where 32 lanes read the same half of
    16 bytes, which loads to LDS leave together (32x32x64 of gfx950): there a lane reads 48 bytes.
    """
    fields = fields or {}
    found = fragment(inst.operand("A", wave, **fields))
    sizes = [run_bytes(found, "row"), run_bytes(fragment(inst.operand("B", wave, **fields)), "col")]
    if sizes[0] >= VECTOR:
        halves = inst.architecture.targets[0] in TO_LDS and inst.m == HALF_WAVE
        return 2 if halves and any(size % VECTOR for size in sizes) else 1
    return max(1, VECTOR * 8 // (len(found.items) * inst.format("A", fields).bits))


def _loads_to_lds(inst: Instruction, *turns: Turn | None) -> bool:
    """Whether the target has loads of 16 bytes from memory to LDS, and nothing is transposed on the way."""
    return inst.architecture.targets[0] in TO_LDS and not any(turns)


def _buffers(inst: Instruction, used: int, more: int, stages: int | None, workgroups: int, copied: bool) -> int:
    """How many tiles of A and B LDS holds: two where that many workgroups still fit; of tensor copies at least two, and
    three where they fit.

    Args:
        used: bytes of one; more: bytes of scales.
    """
    most, counts = inst.architecture.lds_bytes, (3, 2) if copied else (2, 1)
    scales = f" and {more} of scales" if more else ""
    if stages is not None and (stages not in (1, 2, *counts) or stages * used + more > most):
        allowed = "1, 2 or 3" if copied else "1 or 2"
        raise Error(f"stages is {allowed}, and {used} bytes of LDS each{scales} have to fit into {most}; got {stages}")
    least = used * (2 if copied else 1)
    if least + more > most:
        raise Error(
            f"the tiles take {least} bytes of LDS{scales}, of which a workgroup has {most}: ask for a smaller tile"
        )
    return stages or next((count for count in counts if (count * used + more) * workgroups <= most), counts[-1])


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
    loads = () if along_k else transposing(operand)
    if bits == 6 and not along_k:
        raise Error(
            f"{name} of {operand.instruction.name} has elements of {bits} bits that are not neighbours along k: use "
            f"order_{name.lower()}='{'row' if name == 'A' else 'col'}'"
        )
    element = memory_type(operand.format.name, "hip")
    side = Side(name, extent, depth, element, bits, along_k, not along_k and not loads)
    if side.tile.filled % (threads * VECTOR):
        raise Error(
            f"{extent} x {depth} elements of {name} are {side.tile.bytes} bytes, no multiple of 16 for each of "
            f"{threads} work-items: ask for a larger tile"
        )
    return swizzled(operand, side, kpack, threads)


def without_copies(found: Plan) -> Plan:
    """The plan with swizzles in the place of the gaps of tensor copies, for languages that fill LDS otherwise."""
    if not found.copied:
        return found
    a, b = (
        swizzled(found.operand(side.name), side._replace(gaps=(0, 0)), found.kpack, found.threads)[0]
        for side in (found.a, found.b)
    )
    return found._replace(a=a, b=b, buffers=min(found.buffers, 2), copied=False)
