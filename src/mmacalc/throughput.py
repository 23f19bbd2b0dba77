"""What instructions cost: units and clocks of products, cycles of instructions, peaks, and estimates for a GEMM.

A compute unit (of RDNA: a workgroup processor, of NVIDIA: an SM) has four matrix units. AMD publishes the cycles of
every instruction. NVIDIA publishes multiply-adds per clock and SM, by format: an instruction that is native there is
taken to reach them, and its cycles follow (of wgmma and tcgen05: see `_memory_keeps_up`).

So instructions of `c` cycles and `f` operations each reach 4 f / c operations per clock and unit. The *peak* of an
architecture for some formats is the largest such number among its dense instructions on those formats.
"""

from __future__ import annotations

from . import catalog
from .base.checks import arguments_checked
from .base.errors import Error
from .base.records import TupleRecord, json_keys
from .catalog import entry
from .catalog.grammar import sass
from .families.tensor_memory import LANES, allowed_shapes, slot_bits, types_of
from .formats import CHOICES, FORMATS, formats_named, named, scaling
from .model import Product
from .model.tensor_memory import TensorMemoryInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from .formats import Format
    from .model import Architecture, Instruction, Product

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
    its units (of RDNA: workgroup processors) and its clock; None where they are not published."""

    name: str
    product: Product | None
    units: int | None
    clock_ghz: float | None

    @property
    def matrix_units(self) -> int | None:
        """Four for each unit."""
        return None if self.units is None else MATRIX_UNITS * self.units


def device(name: str, units: int | None = None, clock_ghz: float | None = None) -> Device:
    """The device that an architecture's or product's name means.

    Args:
        name: an architecture, target or product; for an architecture, its first product.
        units: compute units as the vendor counts them (of RDNA: two in a workgroup processor), instead of the
            product's. clock_ghz: the clock instead of the product's.

    Raises:
        Error: no architecture is called that, or a number that is not positive.

    >>> device("MI300A").units, device("RX 7600").units, device("RX 7600", units=28).units
    (228, 16, 14)
    """
    if units is not None and units < 1:
        raise Error(f"units is at least 1; got {units}")
    if clock_ghz is not None and not 0 < clock_ghz < 1000:
        raise Error(f"clock_ghz is above 0 and below 1000; got {clock_ghz}")
    product = catalog.product(name)
    count = units or (product.units if product else None)
    pairs = entry(name).architecture.unit == "WGP"
    own = product.clock_ghz if product else None
    return Device(name, product, -(-count // 2) if count and pairs else count, clock_ghz or own)


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
    if inst.sparse or (through and through not in inst.features) or key is None:
        return None
    native = inst.in_tensor_memory or sass.sass_of(inst, architecture.name)[1].startswith("native")
    rates = {**architecture.fma_per_clock, **(product.fma_per_clock if product else {})}
    rate = rates.get(f"{key}.k{inst.k}", rates.get(f"{key}.{inst.formats['D']}", rates.get(key)))
    return rate if native and rate and _memory_keeps_up(inst, rate) else None


def _memory_keeps_up(inst: Instruction, rate: int) -> bool:
    """Whether an instruction can have the published rate (NVIDIA publishes no other): one whose A and B shared memory
    delivers in that time, which wgmma does from N = 64 on; of tcgen05.mma, with 128 rows in each SM and without .ws."""
    if "wgmma" not in inst.features and not inst.in_tensor_memory:
        return True
    rows, ctas, bits = inst.m, _ctas(inst), inst.format("A").bits
    if isinstance(inst, TensorMemoryInstruction):
        if inst.m != LANES * ctas or inst.form.ws:
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
    return inst.form.cta_group if isinstance(inst, TensorMemoryInstruction) else 1


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
                if inst.format(operand, {field: value}).name in accepted:
                    fields[field] = value
        if all(inst.format(operand, fields).name in accepted for operand in "AB"):
            yield fields


def _products(
    architecture: str, wanted: set[str], shape: tuple[int, int] | None = None
) -> Iterator[tuple[Instruction, dict[str, int]]]:
    """The dense instructions that multiply two matrices of one format, with the modifiers that choose it.

    Those whose shape is a parameter (tcgen05) once for each shape that can be best for a product of `shape`, M and N;
    once for their largest without it.
    """
    for name in entry(architecture).tensor_memory_names:
        tcgen05 = entry(architecture).instruction(name)
        if isinstance(tcgen05, TensorMemoryInstruction) and tcgen05.formats and not tcgen05.sparse:
            yield from ((shaped, {}) for shaped in _shaped(tcgen05, wanted, shape))
    for inst in entry(architecture).instructions():
        if {"A", "B", "D"} <= set(inst.operands) and not inst.sparse:
            for fields in _choices(inst, wanted):
                yield inst, fields


def _shaped(
    inst: TensorMemoryInstruction, wanted: set[str], shape: tuple[int, int] | None
) -> Iterator[TensorMemoryInstruction]:
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
    "seconds",
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
        seconds: the time when the chains are spread evenly over all matrix units of the device, and nothing but the
            matrix units takes time. These three are None if a number is not known.
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

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N and K of the instruction."""
        return self.instruction.m, self.instruction.n, self.instruction.k

    @property
    def formats(self) -> dict[str, str]:
        """The formats of A, B, C and D under the modifiers."""
        return {name: self.instruction.format(name, self.modifiers).name for name in "ABCD"}

    @property
    def integer(self) -> bool:
        """Whether A is of integers."""
        return not self.instruction.format("A", self.modifiers).is_float

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
) -> Estimate:
    """What D = A B + C takes, for every dense instruction that could do it, best first.

    Args:
        architecture: any name of an architecture, target or product ("cdna3", "gfx942", "MI300A").
        m, n, k: the shape of the whole product.
        type: the format of A and B, by any of its names ("fp8": the FP8 that the architecture has).
        out: the format of C and D; any if left out.
        units, clock_ghz: see `device`.

    Best is: the least time on the device (in matrix units where its units are not known), then the fewest bytes,
    then the fewest registers. Within 2 % of the least time, instructions whose N is a power of two, or all of N, come
    before others: no swizzle divides a row of 216 columns.

    Raises:
        Error: a size below 1, an unknown architecture or format, or no instruction that fits.

    >>> found = estimate("gfx942", 4096, 4096, 4096, "f16")
    >>> best = found.candidates[0]
    >>> best.instruction.name, best.count, best.share, dict(best.registers)
    ('v_mfma_f32_16x16x16_f16', 16777216, 1.0, {'A': 2, 'B': 2, 'C': 4, 'D': 4})
    >>> found.device.product.name, f"{best.seconds * 1e6:.1f} us"
    ('MI300X', '105.3 us')
    """
    if min(m, n, k) < 1:
        raise Error(f"M, N and K of a GEMM are at least 1; got {m}x{n}x{k}")
    record, where = entry(architecture).architecture, device(architecture, units, clock_ghz)
    record.family.require("estimate", record.title)
    wanted, results, scales = formats_named(type), formats_named(out) if out else None, scaling(type)
    fitting = [
        (inst, fields)
        for inst, fields in _products(architecture, wanted, (m, n))
        if (results is None or inst.format("D", fields).name in results)
        and (not scales or (inst.block_size == scales[1] and scales[0] in inst.format_names("SA")))
    ]
    if not fitting:
        raise Error(_none_fits(architecture, record, type, out))
    product = rated_product(architecture)
    best = _peak(_products(architecture, wanted), product)
    made = [
        _candidate(inst, fields, (m, n, k), duration(inst, fields, product), best, where) for inst, fields in fitting
    ]
    made = _best_shapes(_usable_first(sorted(made, key=lambda one: _rank(one, where)), where, n))
    least = min(_memory(one.instruction, one.modifiers, m * k, k * n, m * n) for one in made)
    return Estimate(record, where, m, n, k, type, 2 * m * n * k, best, least, tuple(made))


def _usable_first(candidates: list[Candidate], where: Device, n: int) -> list[Candidate]:
    """Of those that take at most 2 % longer than the best, first the widths that kernels have: powers of two, which
    swizzles and stores divide, or all of N in one; mma before wmma, then those that load the fewest bytes,
    and then the fewest instructions."""
    best = _longest(candidates[0], where.matrix_units or 1)
    if best is None:
        return candidates

    def order(one: Candidate) -> tuple[Any, ...]:
        width, longest = one.instruction.n, _longest(one, where.matrix_units or 1)
        if longest is None or longest > 1.02 * best:
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


def _rank(found: Candidate, where: Device) -> tuple[Any, ...]:
    longest = _longest(found, where.matrix_units or 1)
    return (longest is None, longest or found.count, found.bytes, sum(found.registers.values()))


def _longest(found: Candidate, matrix_units: int) -> int | None:
    """The cycles of the matrix units that have the most chains to carry out."""
    if found.duration is None:
        return None
    at_once = max(1, matrix_units // matrix_units_used(found.instruction))
    return -(-found.chains // at_once) * (found.count // found.chains) * found.duration


def _candidate(
    inst: Instruction,
    fields: dict[str, int],
    shape: tuple[int, int, int],
    each: int | None,
    best: int | None,
    where: Device,
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
    found = Candidate(inst, fields, chains, count, each, cycles, None, flops, useful / flops, share, registers, moved)
    longest = _longest(found, where.matrix_units or 0)
    if longest is None or where.matrix_units is None or where.clock_ghz is None:
        return found
    return found._replace(seconds=longest / (where.clock_ghz * 1e9))


def _memory(inst: Instruction, fields: Mapping[str, int], a: int, b: int, d: int) -> int:
    """The bytes of `a` elements of A, `b` of B, and `d` of C and of D."""
    return -(-sum(inst.format(x, fields).bits * size for x, size in (("A", a), ("B", b), ("C", d), ("D", d))) // 8)


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
