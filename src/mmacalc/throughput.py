"""What instructions cost: units and clocks of products, cycles of instructions, peaks, and estimates for a GEMM.

A compute unit (of RDNA: a workgroup processor, of NVIDIA: an SM) has four matrix units. AMD publishes the cycles of
every instruction. NVIDIA publishes multiply-adds per clock and SM, by format: an instruction that is native there is
taken to reach them, and its cycles follow (of wgmma and tcgen05: see `_memory_keeps_up`).

So instructions of `c` cycles and `f` operations each reach 4 f / c operations per clock and unit. The *peak* of an
architecture for some formats is the largest such number among its dense instructions on those formats.

The time of a GEMM is bound by three things: the matrix units, which take the tiles of workgroups in rounds, the last of
which is seldom full; LDS, from which the waves of a tile read A and B; and memory, from which A, B, C and D come and go
once. Each instruction is given the tile of a workgroup that takes the least time.
"""

from __future__ import annotations

from . import catalog
from .base.checks import arguments_checked
from .base.errors import Error
from .base.records import TupleRecord, json_keys
from .catalog import entry
from .formats import CHOICES, FORMATS, formats_named, named, scaling
from .model import Product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from .formats import Format
    from .model import Architecture, Instruction, Product
    from .model.tensor_memory import TensorMemoryInstruction

MATRIX_UNITS = 4
"""Matrix units of one compute unit, workgroup processor or SM (AMD's tool: "FLOPs/CU/cycle" is four times one's)."""

SHARED_MEMORY_BYTES = 128
"""What shared memory delivers in a clock: 32 banks of 4 bytes (CUDA C++ Programming Guide, shared memory)."""

RATES = {"e4m3": "fp8", "e5m2": "fp8", "i8": "int8", "u8": "int8", "i4": "int4", "u4": "int4"}
"""NVIDIA's word for a format in its tables of rates, where it is not the format's name."""

SMALL = {"e3m2": "fp8", "e2m3": "fp8", "e2m1": "fp8"}
"""The same of tcgen05's kind::f8f6f4 and kind::mxf8f6f4, which have FP8's rate for all their formats."""


class Device(TupleRecord):
    """What an estimate is for: the name that was asked for, the product that it means (None if the catalog has none),
    its units (of RDNA: workgroup processors), its clock and the bandwidth of its memory in 1e9 bytes per second; None
    where they are not published."""

    name: str
    product: Product | None
    units: int | None
    clock_ghz: float | None
    memory_gb_s: float | None = None

    @property
    def matrix_units(self) -> int | None:
        """Four for each unit."""
        return None if self.units is None else MATRIX_UNITS * self.units


def device(
    name: str, units: int | None = None, clock_ghz: float | None = None, memory_gb_s: float | None = None
) -> Device:
    """The device that an architecture's or product's name means.

    Args:
        name: an architecture, target or product; for an architecture, its first product.
        units: compute units as the vendor counts them (of RDNA: two in a workgroup processor), instead of the
            product's. clock_ghz, memory_gb_s: the clock and the bandwidth of memory instead of the product's.

    Raises:
        Error: no architecture is called that, or a number that is not positive.

    >>> device("MI300A").units, device("RX 7600").units, device("RX 7600", units=28).units
    (228, 16, 14)
    """
    if units is not None and units < 1:
        raise Error(f"units is at least 1; got {units}")
    if clock_ghz is not None and not 0 < clock_ghz < 1000:
        raise Error(f"clock_ghz is above 0 and below 1000; got {clock_ghz}")
    if memory_gb_s is not None and not 0 < memory_gb_s < 1e6:
        raise Error(f"memory_gb_s is above 0 and below 1000000; got {memory_gb_s}")
    product = catalog.product(name)
    count = units or (product.units if product else None)
    pairs = entry(name).architecture.unit == "WGP"
    own, memory = (product.clock_ghz, product.memory_gb_s) if product else (None, None)
    halved = -(-count // 2) if count and pairs else count
    return Device(name, product, halved, clock_ghz or own, memory_gb_s or memory)


def units(name: str) -> int | None:
    """The number of compute units (of RDNA: workgroup processors, two compute units each) of that product.

    >>> units("MI308X"), units("RX 7900 XTX")
    (80, 48)
    """
    return device(name).units


def rated_product(name: str) -> Product | None:
    """The product whose rates a name means; None for those of the architecture.

    A product that the catalog does not list has unknown rates where those of the listed ones differ: GeForce
    cards halve some.

    >>> rated_product("RTX 4090").name, rated_product("RTX 3080 Ti").fma_per_clock["f16"], rated_product("sm_90")
    ('RTX 4090', None, None)
    """
    product, listed = catalog.product(name), entry(name).architecture.products
    if product is not None or not any(one.fma_per_clock for one in listed):
        return product
    rates = entry(name).architecture.fma_per_clock
    return Product(name, fma_per_clock=dict.fromkeys({*rates, *[key for one in listed for key in one.fma_per_clock]}))


def dense_rate(inst: Instruction, product: Product | None = None) -> int | None:
    """NVIDIA's published multiply-adds per clock and SM on the formats of a dense instruction.

    None where NVIDIA has published none, where other instructions are needed to reach them, and where the target
    has no such instruction in hardware.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("RTX 4090", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> dense_rate(inst), dense_rate(inst, mmacalc.catalog.product("RTX 4090"))
    (512, 256)
    """
    architecture = inst.architecture
    through = architecture.fma_through
    key = _rated(inst).get(inst.formats.get("A", ""))
    if inst.sparse or key is None or (through and through not in inst.features and key != "f64"):
        return None
    native = inst.in_tensor_memory
    if not native:
        from .catalog.grammar.sass import sass_of

        native = sass_of(inst, architecture.name)[1].startswith("native")
    rates = {**architecture.fma_per_clock, **(product.fma_per_clock if product else {})}
    rate = rates.get(f"{key}.k{inst.k}", rates.get(f"{key}.{inst.formats['D']}", rates.get(key)))
    return rate if native and rate and _memory_keeps_up(inst, rate) else None


def _memory_keeps_up(inst: Instruction, rate: int) -> bool:
    """Whether an instruction can have the published rate (NVIDIA publishes no other): one whose A and B shared memory
    delivers in that time, which wgmma does from N = 64 on; of tcgen05.mma, with 128 rows in each SM and without .ws."""
    if "wgmma" not in inst.features and not inst.in_tensor_memory:
        return True
    rows, ctas, bits = inst.m, _ctas(inst), inst.format_of("A").bits
    if tcgen05 := _in_tensor_memory(inst):
        from .families.tensor_memory import LANES, slot_bits

        if inst.m != LANES * ctas or tcgen05.form.ws:
            return False
        rows, bits = LANES, slot_bits(inst.kind, bits)
    cycles = inst.flops // 2 // ctas // rate
    return (rows + inst.n // ctas) * inst.k * bits <= 8 * SHARED_MEMORY_BYTES * cycles


def _rated(inst: Instruction) -> Mapping[str, str]:
    """The formats of A whose rate NVIDIA's tables have, under their names there."""
    if inst.kind.startswith("mxf4"):
        return {"e2m1": "fp4"}
    if inst.in_tensor_memory:
        return {**RATES, **SMALL, **{name: name for name in ("f16", "bf16", "tf32")}}
    return {**RATES, **{name: name for name in ("f16", "bf16", "tf32", "f64")}}


def matrix_units_used(inst: Instruction) -> int:
    """How many matrix units one instruction occupies: those of one or two SMs (tcgen05), of all four warps of a
    warpgroup, or one."""
    if inst.in_tensor_memory:
        return MATRIX_UNITS * _ctas(inst)
    return MATRIX_UNITS if "wgmma" in inst.features else 1


def _ctas(inst: Instruction) -> int:
    tcgen05 = _in_tensor_memory(inst)
    return tcgen05.form.cta_group if tcgen05 else 1


def _in_tensor_memory(inst: Any) -> TensorMemoryInstruction | None:
    """An instruction of tcgen05 as that; None of others."""
    return inst if inst.in_tensor_memory else None


def duration(inst: Instruction, fields: Mapping[str, int], product: Product | None) -> int | None:
    """The cycles for which one instruction occupies its matrix units; None if not known."""
    if not inst.architecture.family.has_published_rates:
        return inst.cycles_for(**fields)
    rate = dense_rate(inst, product)
    return None if rate is None else inst.flops // 2 * MATRIX_UNITS // rate // matrix_units_used(inst)


# --- Peaks, shares of peak, and estimates for a GEMM ---


INTEGERS = {"i8": "iu8", "u8": "iu8", "i4": "iu4", "u4": "iu4"}
"""Instructions on integers whose sign a field decides take either."""


def _choices(inst: Instruction, wanted: set[str]) -> Iterator[dict[str, int]]:
    """The modifiers under which A and B of an instruction both have one of the wanted formats, the same for both."""
    choices = inst.choices
    for name in sorted(wanted):
        accepted = {name, INTEGERS.get(name, name)}
        if not choices:
            if {inst.formats["A"], inst.formats["B"]} <= accepted:
                yield {}
            continue
        fields: dict[str, int] = {}
        for field, operand in choices.items():
            if operand not in "AB":
                continue
            for value in inst.modifier_limits()[field]:
                if inst.format_of(operand, {field: value}).name in accepted:
                    fields[field] = value
        if all(inst.format_of(operand, fields).name in accepted for operand in "AB"):
            yield fields


def _products(
    architecture: str, wanted: set[str], shape: tuple[int, int] | None = None
) -> Iterator[tuple[Instruction, dict[str, int]]]:
    """The dense instructions that multiply two matrices of one format, with the modifiers that choose it.

    Those whose shape is a parameter (tcgen05) once for each shape that can be best for a product of `shape`, M and N;
    once for their largest without it.
    """
    known = entry(architecture)
    for name in known.tensor_memory_names:
        tcgen05 = _in_tensor_memory(known.instruction(name))
        if tcgen05 and tcgen05.formats and not tcgen05.sparse:
            yield from ((shaped, {}) for shaped in _shaped(tcgen05, wanted, shape))
    accepted = wanted | {INTEGERS[name] for name in wanted if name in INTEGERS}
    for inst in known.taking(accepted):
        if {"A", "B", "D"} <= set(inst.operands) and not inst.sparse:
            for fields in _choices(inst, wanted):
                yield inst, fields


def _shaped(
    inst: TensorMemoryInstruction, wanted: set[str], shape: tuple[int, int] | None
) -> Iterator[TensorMemoryInstruction]:
    from .families.tensor_memory import allowed_shapes, types_of

    rows, columns = allowed_shapes(inst.form)
    if shape is None:
        rows, columns = rows[-1:], columns[-1:]
    else:  # powers of two, and one tile for all of N
        enough = [size for size in columns if size >= shape[1]]
        columns = tuple([size for size in columns if size & (size - 1) == 0 or size in enough[:1]])
    inputs, outputs = types_of(inst.kind)
    types = [(a, d) for a in inputs for d in outputs if named(a).name in wanted and (a, d) != ("bf16", "f16")]
    shapes = [(m, n, k) for m in rows for n in columns for k in inst.depths_with(m)]
    yield from (inst.shaped(m=m, n=n, k=k, a=a, b=a, d=d) for a, d in types for m, n, k in shapes)


def peak(architecture: str, *formats: str) -> int | None:
    """The largest number of operations per clock and unit on matrices of the given formats.

    None where no dense instruction takes such a format, or where its cycles are not known.

    >>> peak("MI100", "bf16"), peak("MI250X", "bf16"), peak("MI100", "f64"), peak("H100", "fp8")
    (512, 1024, None, 8192)
    """
    wanted = {name for given in formats for name in formats_named(given)}
    wanted |= {own for own, either in INTEGERS.items() if either in wanted}
    return _peak(_products(architecture, wanted), rated_product(architecture))


def _peak(fitting: Iterator[tuple[Instruction, dict[str, int]]], product: Product | None) -> int | None:
    costs = [(inst, duration(inst, fields, product)) for inst, fields in fitting]
    return max(
        (MATRIX_UNITS * inst.flops // cycles // matrix_units_used(inst) for inst, cycles in costs if cycles),
        default=None,
    )


@json_keys("m", "n", "count", "at_once", "rounds", "busy")
class MacroTile(TupleRecord):
    """The tile of D of a workgroup: its rows and columns; how many there are, how many the device works on at once, and
    in how many rounds; busy: the tiles over those of all rounds."""

    m: int
    n: int
    count: int  # type: ignore[assignment]  # not tuple's method
    at_once: int
    rounds: int

    @property
    def busy(self) -> float:
        """The part of the rounds' places that have a tile."""
        return self.count / (self.rounds * self.at_once)


@json_keys(
    "instruction=instruction.name",
    "shape",
    "modifiers",
    "formats",
    "integer",
    "chains",
    "count",
    "cycles_each=duration",
    "cycles",
    "cycles_provenance",
    "operations=flops",
    "useful",
    "peak_share=share",
    "seconds: the largest of the three",
    "bound: matrix units, LDS or memory; null without a time",
    "tile=tile?",
    "matrix_seconds",
    "lds_seconds: null where A or B are not in registers, or no bandwidth is known",
    "memory_seconds",
    "emulated_by: what ptxas makes of it where the target has no opcode; empty otherwise",
    "registers",
    "bytes",
)
class Candidate(TupleRecord):
    """One instruction that could carry out a GEMM.

    Attributes:
        instruction, modifiers: the instruction, and the fields that choose its formats.
        chains: how many accumulators there are, each of which takes its instructions one after another.
        count: how many instructions are issued; flops: their operations, padding included.
        duration: the cycles of one; cycles: how long all of them occupy matrix units, added up over these.
            These two are None if a number is not known.
        seconds: the largest of matrix_seconds, lds_seconds and memory_seconds; None without the first.
        tile: of a workgroup; matrix_seconds: its rounds on the matrix units; lds_seconds: what its waves read from LDS;
            memory_seconds: A, B, C and D once. None where a number is not known. matrix_cycles, lds_cycles: the same
            in clocks. emulated_by: the opcodes that ptxas makes of it where the target has none; empty otherwise.
        useful: 2 M N K over `flops`; share: useful operations in those cycles over the architecture's peak on these
            formats (None if not known).
        registers: 32-bit registers a lane needs, by operand; none where it is in shared or Tensor Memory.
        bytes: read and written when every instruction loads its A and B from memory.
    """

    instruction: Instruction
    modifiers: Mapping[str, int]
    chains: int
    count: int  # type: ignore[assignment]  # not tuple's method
    duration: int | None
    cycles: int | None
    seconds: float | None
    flops: int
    useful: float
    share: float | None
    registers: Mapping[str, int]
    bytes: int
    tile: MacroTile | None = None
    matrix_seconds: float | None = None
    lds_seconds: float | None = None
    memory_seconds: float | None = None
    emulated_by: str = ""
    matrix_cycles: int | None = None
    lds_cycles: int | None = None

    @property
    def longest(self) -> int | None:
        """The cycles of the rounds of its tile, on the matrix units or in LDS."""
        return None if self.matrix_cycles is None else max(self.matrix_cycles, self.lds_cycles or 0)

    @property
    def bound(self) -> str | None:
        """What takes the longest."""
        if self.seconds is None:
            return None
        times = {"matrix units": self.matrix_seconds, "LDS": self.lds_seconds, "memory": self.memory_seconds}
        return max(times, key=lambda name: times[name] or 0)

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N and K of the instruction."""
        return self.instruction.m, self.instruction.n, self.instruction.k

    @property
    def formats(self) -> dict[str, str]:
        """The formats of A, B, C and D under the modifiers."""
        return {name: self.instruction.format_of(name, self.modifiers).name for name in "ABCD"}

    @property
    def integer(self) -> bool:
        """Whether A is of integers."""
        return not self.instruction.format_of("A", self.modifiers).is_float

    @property
    def cycles_provenance(self) -> str:
        """How sure the cycles are."""
        return self.instruction.provenance_of("cycles")


@json_keys(
    "architecture=architecture.name: the canonical name",
    "product=device.product.name",
    "m",
    "n",
    "k",
    "type",
    "operations=flops: 2 M N K",
    "peak_operations_per_unit_and_cycle=peak: of the fastest instruction on the format",
    "unit=architecture.unit",
    "units=device.units",
    "clock_ghz=device.clock_ghz",
    "memory_gb_s=device.memory_gb_s: the published peak bandwidth of memory",
    "least_bytes=bytes: A, B and D moved once",
    "candidates",
)
class Estimate(TupleRecord):
    """What a GEMM takes on an architecture: device, the product that it is for; flops is 2 M N K; peak, operations per
    clock and unit on this format (None if not known); bytes, what must move at least (A, B and C once in, D once out);
    candidates, best first."""

    architecture: Architecture
    device: Device
    m: int
    n: int
    k: int
    type: str
    flops: int
    peak: int | None
    bytes: int
    candidates: tuple[Candidate, ...]


@arguments_checked
def estimate(
    architecture: str,
    m: int,
    n: int,
    k: int,
    type: str,
    *,
    out: str | None = None,
    units: int | None = None,
    clock_ghz: float | None = None,
    memory_gb_s: float | None = None,
) -> Estimate:
    """What D = A B + C takes, for every dense instruction that could do it, best first.

    Args:
        architecture: any name of an architecture, target or product ("cdna3", "gfx942", "MI300A").
        m, n, k: the shape of the whole product.
        type: the format of A and B, by any of its names ("fp8": the FP8 that the architecture has).
        out: the format of C and D; any if left out.
        units, clock_ghz, memory_gb_s: see `device`.

    The time of an instruction is that of its best tile of a workgroup: see `_with_tile`. Best is: the least time of
    matrix units and LDS, then the fewest bytes, then the fewest registers. Within 2 % of the least time, instructions
    whose N is a power of two, or all of N, come before others: no swizzle divides a row of 216 columns.

    Raises:
        Error: a size below 1, an unknown architecture or format, or no instruction that fits.

    >>> found = estimate("gfx942", 4096, 4096, 4096, "f16")
    >>> best = found.candidates[0]
    >>> best.instruction.name, best.count, best.share, dict(best.registers)
    ('v_mfma_f32_32x32x8_f16', 8388608, 1.0, {'A': 2, 'B': 2, 'C': 16, 'D': 16})
    >>> found.device.product.name, f"{best.seconds * 1e6:.1f} us", best.bound, best.tile[:2]
    ('MI300X', '109.2 us', 'matrix units', (64, 128))
    """
    where = device(architecture, units, clock_ghz, memory_gb_s)
    if clock_ghz is None and where.product is not None:
        wanted = formats_named(type)
        clocks = (clock for form, clock in where.product.clock_for.items() if form in wanted)
        where = where._replace(clock_ghz=next(clocks, where.clock_ghz))
    record = entry(architecture).architecture
    record.family.require("estimate", record.title)
    shape, fitting = (m, n, k), _fitting(architecture, (m, n, k), type, out)
    best = _peak(_products(architecture, formats_named(type)), rated_product(architecture))
    least = min(_memory(inst, fields, m * k, k * n, m * n) for inst, fields in fitting)
    made = [_with_tile(one, shape, where) for one in _candidates(architecture, fitting, shape, best)]
    candidates = _ordered([_timed(one, where, least) for one in made], n, lambda one: one.longest)
    return Estimate(record, where, m, n, k, type, 2 * m * n * k, best, least, candidates)


def chained(architecture: str, m: int, n: int, k: int, type: str) -> tuple[Candidate, ...]:
    """The candidates of `estimate`, without tiles and times, in the order in which `gemm` takes them: by the time that
    their chains take on the matrix units alone, spread evenly; by the number of instructions where no cycles are known.
    Another instruction gives other bits, so this order stays as it is where `estimate` comes to another.

    >>> chained("gfx942", 4096, 4096, 4096, "f16")[0].instruction.name
    'v_mfma_f32_16x16x16_f16'
    """
    matrix_units = device(architecture).matrix_units or 1

    def longest(one: Candidate) -> int | None:
        if one.duration is None:
            return None
        at_once = max(1, matrix_units // matrix_units_used(one.instruction))
        return -(-one.chains // at_once) * (one.count // one.chains) * one.duration

    shape = (m, n, k)
    return _ordered(_candidates(architecture, _fitting(architecture, shape, type, None), shape, None), n, longest)


def _fitting(
    architecture: str, shape: tuple[int, int, int], type: str, out: str | None
) -> list[tuple[Instruction, dict[str, int]]]:
    """The instructions that could compute a product, with the modifiers that choose its formats, in catalog order.

    Raises:
        Error: a size below 1, or no instruction that fits.
    """
    m, n, k = shape
    if min(shape) < 1:
        raise Error(f"M, N and K of a GEMM are at least 1; got {m}x{n}x{k}")
    record = entry(architecture).architecture
    wanted, results, scales = formats_named(type), formats_named(out) if out else None, scaling(type)
    fitting = [
        (inst, fields)
        for inst, fields in _products(architecture, wanted, (m, n))
        if (results is None or inst.format_of("D", fields).name in results)
        and (not scales or (inst.block_size == scales[1] and scales[0] in inst.format_names("SA")))
    ]
    if not fitting:
        raise Error(_none_fits(architecture, record, type, out))
    return fitting


def _ordered(
    candidates: Iterable[Candidate], n: int, longest: Callable[[Candidate], int | None]
) -> tuple[Candidate, ...]:
    """The candidates for a product of N columns, best first. longest: the cycles of each, None where they are not
    known."""

    def rank(one: Candidate) -> tuple[Any, ...]:
        cycles = longest(one)
        return (cycles is None, cycles or one.count, one.bytes, sum(one.registers.values()))

    return tuple(_best_shapes(_usable_first(sorted(candidates, key=rank), n, longest)))


def _usable_first(candidates: list[Candidate], n: int, longest: Callable[[Candidate], int | None]) -> list[Candidate]:
    """Of those that take at most 2 % longer than the best, first the widths that kernels have: powers of two, which
    swizzles and stores divide, or all of N in one; mma before wmma, then those that load the fewest bytes,
    and then the fewest instructions."""
    best = longest(candidates[0])
    if best is None:
        return candidates

    def order(one: Candidate) -> tuple[Any, ...]:
        width, cycles = one.instruction.n, longest(one)
        if cycles is None or cycles > 1.02 * best:
            return (2,)
        unusual = width & (width - 1) != 0 and width != n
        return int(unusual), "wmma" in one.instruction.features, one.bytes, one.count

    return sorted(candidates, key=order)


def _best_shapes(candidates: list[Candidate]) -> list[Candidate]:
    """Of the shapes of one tcgen05.mma with the same K and formats the first; all other instructions."""
    kept: dict[Any, Candidate] = {}
    for number, one in enumerate(candidates):
        inst = one.instruction
        kept.setdefault((inst.name, inst.k, *inst.formats.values()) if inst.in_tensor_memory else number, one)
    return list(kept.values())


def _candidates(
    architecture: str,
    fitting: Iterable[tuple[Instruction, dict[str, int]]],
    shape: tuple[int, int, int],
    best: int | None,
) -> list[Candidate]:
    """What each of the instructions costs, without tiles and times; `best` is the peak of which it has a share."""
    product = rated_product(architecture)
    return [_candidate(inst, fields, shape, duration(inst, fields, product), best) for inst, fields in fitting]


def _candidate(
    inst: Instruction, fields: dict[str, int], shape: tuple[int, int, int], each: int | None, best: int | None
) -> Candidate:
    m, n, k = shape
    tiles = -(-m // inst.m) * -(-n // inst.n)
    steps = -(-k // inst.k)
    chains = -(-tiles // inst.blocks)
    count = chains * steps
    cycles = None if each is None else each * matrix_units_used(inst) * count
    flops, useful = inst.flops * count, 2 * m * n * k
    share = None if cycles is None or not best else useful * MATRIX_UNITS / (cycles * best)
    registers = {
        name: inst.operand(name, **fields).registers
        if name in inst.register_operands
        else inst.fragment_registers.get(name, 0)  # all that there is where NVIDIA leaves the layout open
        for name in inst.operands
    }
    inputs = tiles * steps
    moved = _memory(inst, fields, inputs * inst.m * inst.k, inputs * inst.k * inst.n, tiles * inst.m * inst.n)
    return Candidate(inst, fields, chains, count, each, cycles, None, flops, useful / flops, share, registers, moved)


def _timed(found: Candidate, where: Device, least: int) -> Candidate:
    """The three times of a candidate, as far as the clock and the bandwidth are known."""
    if found.instruction.architecture.family.has_published_rates:
        from .catalog.grammar.sass import sass_of

        opcodes, status = sass_of(found.instruction, found.instruction.arch)
        found = found._replace(emulated_by=opcodes if status == "emulated" else "")
    memory = least / (where.memory_gb_s * 1e9) if where.memory_gb_s else None
    if found.longest is None or not where.clock_ghz or not where.units:
        return found._replace(memory_seconds=memory)
    clock = where.clock_ghz * 1e9
    matrix = found.matrix_cycles / clock if found.matrix_cycles else 0.0
    lds = found.lds_cycles / clock if found.lds_cycles else None
    seconds = max(matrix, lds or 0, memory or 0)
    return found._replace(seconds=seconds, matrix_seconds=matrix, lds_seconds=lds, memory_seconds=memory)


# --- The tile of a workgroup ---

SIDES = (64, 128, 256)
"""Rows and columns of D of a workgroup that kernels have; fewer where the product or the instruction has fewer."""
SUMS = {"amd": 1 << 18, "nvidia": 1 << 17}
"""Bytes of D that a unit's registers hold at most: half of 512 KB (CDNA, RDNA) and of 256 KB (NVIDIA)."""


def _with_tile(found: Candidate, shape: tuple[int, int, int], where: Device) -> Candidate:
    """The candidate with the tile of a workgroup that takes the fewest cycles; of equals the one that loads least.

    A tile is computed by up to four waves, one on each matrix unit of a compute unit; a smaller one leaves units to
    other workgroups. tcgen05.mma has its own tile, that of one SM or of two.
    """
    if found.duration is None:
        return found
    tiles = _tiles(found.instruction, found.modifiers, shape)
    made = [_tiled(found, shape, tile, where) for tile in tiles]
    return min(made, key=lambda one: (one.longest, sum(1 / side for side in (one.tile or (1, 1))[:2])))


def _tiles(inst: Instruction, fields: Mapping[str, int], shape: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    if inst.in_tensor_memory:
        yield inst.m, inst.n
        return
    rows, columns = (
        sorted({-(-min(side, own * -(-size // own)) // own) * own for side in SIDES})
        for own, size in ((inst.m, shape[0]), (inst.n, shape[1]))
    )
    bits = inst.format_of("D", fields).bits
    every = [(m, n) for m in rows for n in columns]
    yield from [(m, n) for m, n in every if m * n * bits <= 8 * SUMS[inst.architecture.vendor]] or every[:1]


def _tiled(found: Candidate, shape: tuple[int, int, int], tile: tuple[int, int], where: Device) -> Candidate:
    """The candidate with a tile, and the cycles of the matrix units and of LDS."""
    inst, (m, n, k) = found.instruction, shape
    inside = tile[0] // inst.m * (tile[1] // inst.n)
    inside = -(-inside // inst.blocks)
    own = matrix_units_used(inst)
    waves = max(own, min(MATRIX_UNITS, inside * own)) // own
    matrix_units = where.matrix_units or MATRIX_UNITS
    at_once = max(1, matrix_units // (waves * own))
    count = -(-m // tile[0]) * -(-n // tile[1])
    rounds = -(-count // at_once)
    assert found.duration is not None
    cycles = rounds * -(-inside // waves) * -(-k // inst.k) * found.duration
    shared = lds_bytes_per_clock(inst.architecture)
    reads = None
    if shared and {"A", "B"} <= set(inst.register_operands) and own == 1:
        waves_m = 2 if waves >= 4 else 1
        across = waves // waves_m
        a, b = (inst.format_of(name, found.modifiers).bits for name in "AB")
        bits = k * (tile[0] * across * a + tile[1] * waves_m * b)
        together = max(1, min(MATRIX_UNITS // waves, count))  # workgroups that share a unit's LDS
        reads = rounds * -(-bits * together // (8 * shared))
    macro = MacroTile(*tile, count, at_once, rounds)
    return found._replace(tile=macro, matrix_cycles=cycles, lds_cycles=reads)


def lds_bytes_per_clock(architecture: Architecture) -> int | None:
    """What LDS (shared memory) of a unit delivers in a clock: its banks of 4 bytes, where they were measured.

    >>> lds_bytes_per_clock(catalog.architecture("cdna3")), lds_bytes_per_clock(catalog.architecture("cdna4"))
    (128, 256)
    """
    if architecture.vendor == "nvidia":
        return SHARED_MEMORY_BYTES
    known = [line for line in architecture.lds_phases if line[0] == "read" and line[4] != "unconfirmed"]
    widest = max([line[2] for line in known], default=0) * 4
    return widest * (2 if architecture.unit == "WGP" else 1) or None


def _memory(inst: Instruction, fields: Mapping[str, int], a: int, b: int, d: int) -> int:
    """The bytes of `a` elements of A, `b` of B, and `d` of C and of D."""
    return -(-sum(inst.format_of(x, fields).bits * size for x, size in (("A", a), ("B", b), ("C", d), ("D", d))) // 8)


def _formats(names: Iterable[str]) -> list[Format]:
    """The formats of these names; a choice, such as f8f6f4, is none."""
    return [FORMATS[name] for name in names if name in FORMATS]


def _none_fits(architecture: str, record: Architecture, type: str, out: str | None) -> str:
    known: dict[str, Any] = {}
    for inst in entry(architecture).instructions():
        if {"A", "B", "D"} <= set(inst.operands) and not inst.sparse:
            known |= dict.fromkeys(sorted(inst.format_names("A") & inst.format_names("B") - CHOICES.keys()))
    result = f" with {out} results" if out else ""
    narrow = any(form.bits < 8 and not form.is_float for form in _formats(formats_named(type)))
    others = ", ".join([form.name for form in _formats(known) if form.bits <= 16])
    more = f". Weights of 4 bits are converted in registers to another format first, such as {others}" if narrow else ""
    return f"{record.title} multiplies no {type} matrices{result}; its dense instructions take {', '.join(known)}{more}"
