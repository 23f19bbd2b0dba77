"""What a GEMM costs, for every instruction that could do it, from the shapes, best first.

    mmacalc estimate -a MI300A --gemm 4096x4096x4096 --type f16
    mmacalc estimate -a gfx950 --gemm 8192x8192x8192 --type fp4 --json
    mmacalc estimate -a MI308X --gemm 4096x4096x4096 --type fp8 --clock 1.4 --memory 5300

An architecture or target stands for the product that the answer names; --units, --clock and --memory describe another.
"cycles each" is how long one instruction occupies its matrix unit, of which a compute unit (of RDNA: a workgroup
processor, of NVIDIA: an SM) has four that work at the same time. "useful" is the part of the issued operations that is
not padding, "peak" the useful operations in those cycles over the architecture's fastest instruction on the format.

"tile" is the tile of D of a workgroup that takes the least time, of 64, 128 or 256 rows and columns whose sums fit into
registers (tcgen05: its own). The device takes tiles in "rounds", and "busy" is how full these are with the last. "time"
is the longest of three, which "bound" names: the matrix units in all rounds; LDS (shared memory), from which each wave
of a tile reads its rows of A and columns of B; memory, from which A, B and C come and to which D goes once. "A B D" are
the 32-bit registers of each lane. Nothing else is in the time: the text below the table says what is left out.
"""

from __future__ import annotations

from ..base.checks import real
from ..base.errors import Error
from ..command import Command, Reply, number, option, show, tables
from ..command.common import ARCHITECTURE, JSON
from ..command.options import shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..command import Options
    from ..model import Instruction
    from ..throughput import Candidate, Estimate

COLUMNS = ("instruction", "cycles each", "useful", "peak", "tile", "rounds", "busy", "time", "bound", "A B D")


def text(estimate: Estimate) -> str:
    """The estimate as text: a heading, a row for each instruction, best first, and notes."""
    record = estimate.architecture
    lines = [
        f"D = A B + C of {estimate.m}x{estimate.n}x{estimate.k} with {estimate.type} inputs on {record.title}",
        f"{estimate.flops} operations; at least {estimate.bytes} bytes to move{_moved(estimate)}",
        _device(estimate),
    ]
    if estimate.peak is not None:
        lines.append(f"peak: {estimate.peak} operations per {record.unit} and cycle{_rate(estimate)}")
    columns = [column for column in zip(COLUMNS, *map(_row, estimate.candidates)) if {*column[1:]} != {"?"}]
    names, *rows = zip(*columns)
    return (
        "\n".join(lines) + "\n" + tables.write(names, rows) + LEGEND + "".join(f"{note}\n" for note in _notes(estimate))
    )


def _moved(estimate: Estimate) -> str:
    """How long memory takes, and where its bandwidth is from."""
    device = estimate.device
    if not device.memory_gb_s:
        return ""
    own = device.product is not None and device.memory_gb_s == device.product.memory_gb_s
    note = device.product.memory_note if device.product else ""
    named = [estimate.architecture.memory_source] * (note != "assumed") + [note] * bool(note)
    source = f", {', '.join(named)}" if own else ""
    return f": {time_text(estimate.bytes / (device.memory_gb_s * 1e9))} ({device.memory_gb_s:g} GB/s{source})"


def _device(estimate: Estimate) -> str:
    """The product that is assumed, and what is missing for a time."""
    device, record = estimate.device, estimate.architecture
    known = [f"{device.units} {record.unit}s"] if device.units else []
    known += [f"{device.clock_ghz:g} GHz"] if device.clock_ghz else []
    name = device.product.name if device.product else f"no product with {device.name} is in the catalog"
    wanted = [option for option, value in (("--units", device.units), ("--clock", device.clock_ghz)) if not value]
    if not wanted or not any(candidate.cycles for candidate in estimate.candidates):
        return f"device: {': '.join([name, ' at '.join(known)] if known else [name])}"
    what = f"{name}: {' at '.join(known)}" if known else name
    return f"device: {what}; with {' and '.join(wanted)} there would be times"


def _rate(estimate: Estimate) -> str:
    device = estimate.device
    if estimate.peak is None or not device.units or not device.clock_ghz:
        return ""
    tera = estimate.peak * device.units * device.clock_ghz / 1000
    return f", {float(f'{tera:.4g}'):g} T{'OPS' if estimate.candidates[0].instruction.integer else 'FLOPS'}"


def _notes(estimate: Estimate) -> Iterator[str]:
    from ..throughput import lds_bytes_per_clock

    record = estimate.architecture
    if not estimate.device.memory_gb_s:
        yield "The bandwidth of memory is not in the catalog, so it bounds no time: --memory says it."
    if lds_bytes_per_clock(record) is None:
        yield f"The bandwidth of LDS on {record.title} is not confirmed, so it bounds no time."
    unsure = [c.instruction.name for c in estimate.candidates if c.instruction.provenance_of("cycles") == "unconfirmed"]
    if unsure:
        yield f"The cycles of {', '.join(unsure)} are unconfirmed."
    if not record.family.has_published_rates:
        return
    if any(c.cycles for c in estimate.candidates):
        yield f"Cycles follow from the multiply-adds per clock and SM that NVIDIA publishes ({record.fma_source})."
    if any(c.instruction.in_tensor_memory for c in estimate.candidates):
        yield "tcgen05 has D in Tensor Memory, not in registers. Its cycles are those with 128 rows in each SM, without"
        yield ".ws, and where the 128 bytes that shared memory delivers in a clock are enough for A and B."
    if any(c.cycles is None for c in estimate.candidates):
        through = f"; those it publishes for {record.title} are of {record.fma_through}" if record.fma_through else ""
        if any(c.cycles for c in estimate.candidates):
            yield f"?: NVIDIA publishes no rate for this instruction and these formats{through}."
        else:
            yield f"No cycles and times: NVIDIA publishes no rate for these instructions and formats{through}."
    yield from _emulated(estimate)


def _emulated(estimate: Estimate) -> Iterator[str]:
    """What ptxas makes of instructions for which the target has no opcode of its own."""
    for one in estimate.candidates:
        if one.emulated_by:
            title, opcodes = estimate.architecture.title, one.emulated_by
            yield f"Emulated: {title} has no opcode for {estimate.type}; ptxas makes {opcodes} of"
            yield f"{one.instruction.name} (and alike of the others)."
            if ".S8" in one.emulated_by or ".U8" in one.emulated_by:
                yield "So int8 needs as many matrix instructions, and no conversion: --type i8 has its rates."
            return


LEGEND = """\
cycles each: of one instruction on its matrix unit; useful: without padding; peak: of the fastest there is for these
  formats; tile: of a workgroup; rounds: of tiles on the device, and how full; A B D: 32-bit registers of a lane
time: the longest of the matrix units, what waves read from LDS, and A, B, C and D once from memory; left out are
  filling LDS, caches, latency, the first tiles and the epilogue, launch, split K, clocks under load
"""


def _row(found: Candidate) -> tuple[str, ...]:
    chosen = "".join(f" {field}:{value}" for field, value in found.modifiers.items())  # as the assembler writes them
    tile = found.tile
    return (
        found.instruction.name + chosen + _parameters(found.instruction) + " (emulated)" * bool(found.emulated_by),
        "?" if found.duration is None else str(found.duration),
        _percent(found.useful),
        _percent(found.share),
        "?" if tile is None else f"{tile.m}x{tile.n}",
        "?" if tile is None else str(tile.rounds),
        "?" if tile is None else _percent(tile.busy),
        "?" if found.seconds is None else time_text(found.seconds),
        found.bound or "?",
        " ".join(str(found.registers[name]) for name in "ABD"),
    )


def _parameters(inst: Instruction) -> str:
    """The shape and types of a tcgen05.mma, which its name does not say, as `shaped` takes them."""
    given = getattr(inst, "given", {})
    return "".join(f" {name}={value}" for name, value in given.items() if not (name == "b" and value == given.get("a")))


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def time_text(seconds: float) -> str:
    """A time with three digits and the unit that gives it one to three before the point.

    >>> time_text(0.0123), time_text(0.00999), time_text(105.3e-6), time_text(3.05e-8)
    ('12.3 ms', '9.99 ms', '105 us', '30.5 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def run(options: Options) -> Reply:
    """The table, or JSON."""
    from ..throughput import estimate

    answer = estimate(
        options.architecture, *shape("--gemm", options.gemm), options.type,
        out=options.out, units=options.units, clock_ghz=_real("--clock", "GHz, such as 2.1", options.clock),
        memory_gb_s=_real("--memory", "GB/s, such as 5300", options.memory),
    )  # fmt: skip
    return show(options.json, "estimate", answer, text)


def _real(name: str, what: str, text: str | None) -> float | None:
    if text is None:
        return None
    if (value := real(text)) is None:
        raise Error(f"{name} takes a number of {what}; got '{text}'")
    return value


COMMAND = Command(
    "estimate", "estimate what a GEMM costs, for every instruction that could do it", "find", __doc__,
    (
        ARCHITECTURE, JSON,
        option(
            "--gemm", placeholder="MxNxK", required=True, help="the shape of the whole product, such as 4096x4096x4096"
        ),
        option(
            "--type", placeholder="FORMAT", required=True,
            help="the format of A and B, such as f16, bf16, fp8 or i8",
        ),
        option("--out", placeholder="FORMAT", help="the format of C and D; any if left out"),
        number("--units", help="compute units (of NVIDIA: SMs), instead of the product's"),
        option("--clock", placeholder="GHZ", help="the clock in GHz, instead of the product's"),
        option("--memory", placeholder="GB/S", help="the bandwidth of memory in GB/s, instead of the product's"),
    ),
    run, {"estimate": text},
)  # fmt: skip
