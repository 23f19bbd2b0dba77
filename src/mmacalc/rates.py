"""The rates of products: their units and clocks, and for how many cycles an instruction occupies a matrix unit.

A compute unit (of RDNA: a workgroup processor, of NVIDIA: an SM) has four matrix units. AMD publishes the cycles of
every instruction. NVIDIA publishes multiply-adds per clock and SM, by format: an instruction that is native there is
taken to reach them, and its cycles follow (of wgmma and tcgen05: see `_memory_keeps_up`).
"""

from __future__ import annotations

from . import catalog
from .catalog import entry
from .catalog.grammar import sass
from .errors import Error
from .families.tensor_memory import LANES, slot_bits
from .model import Product
from .model.tensor_memory import TensorMemoryInstruction
from .records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .model import Instruction

__all__ = [
    "MATRIX_UNITS",
    "Device",
    "dense_rate",
    "device",
    "duration",
    "matrix_units_used",
    "rated_product",
    "units",
]

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
