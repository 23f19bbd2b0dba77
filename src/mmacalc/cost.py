"""What instructions cost, from the catalog's numbers alone: peaks, shares of peak, and estimates for a GEMM.

A compute unit (of RDNA: a workgroup processor) has four matrix units, so that instructions of `c` cycles and `f`
operations each reach 4 f / c operations per clock and unit. The *peak* of an architecture for some formats is the
largest such number among its dense instructions on those formats.
"""

from __future__ import annotations

from collections import namedtuple

from .catalog import entry
from .errors import Error
from .query import formats_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .model import Architecture, Instruction

__all__ = ["Candidate", "Estimate", "estimate", "matrix_units", "peak", "units"]

MATRIX_UNITS = 4
"""Matrix units of one compute unit or workgroup processor (AMD's tool: "FLOPs/CU/cycle" is four times one's)."""

INTEGERS = {"i8": "iu8", "u8": "iu8", "i4": "iu4", "u4": "iu4"}
"""Instructions on integers whose sign a field decides take either."""


def matrix_units(architecture: Architecture) -> int | None:
    """The number of matrix units of the product that the catalog names; None where it names none.

    >>> from mmacalc.catalog import architecture
    >>> matrix_units(architecture("MI300X"))
    1216
    """
    count = units(architecture)
    return None if count is None else MATRIX_UNITS * count


def units(architecture: Architecture) -> int | None:
    """The number of compute units (of RDNA: workgroup processors, two compute units each) of that product."""
    count: int | None = architecture.compute_units
    return count // 2 if count and architecture.unit == "WGP" else count


def _choices(inst: Instruction, wanted: set[str]) -> Iterator[dict[str, int]]:
    """The modifiers under which A and B of an instruction both have one of the wanted formats, the same for both."""
    for name in sorted(wanted):
        accepted = {name, INTEGERS.get(name, name)}
        fields: dict[str, int] = {}
        for field, operand in inst.choices.items():
            if operand not in "AB":
                continue
            for value in inst.modifier_limits()[field]:
                if inst.format(operand, {field: value}).name in accepted:
                    fields[field] = value
        if all(inst.format(operand, fields).name in accepted for operand in "AB"):
            yield fields


def _products(architecture: str, wanted: set[str]) -> Iterator[tuple[Instruction, dict[str, int]]]:
    """The dense instructions that multiply two matrices of one format, with the modifiers that choose it."""
    for inst in entry(architecture).instructions():
        if "A" in inst.operands and not inst.sparse and "D" in inst.operands:
            for fields in _choices(inst, wanted):
                yield inst, fields


def peak(architecture: str, *formats: str) -> int | None:
    """The largest number of operations per clock and unit on matrices of the given formats.

    None where no dense instruction takes such a format, or where its cycles are not known.

    >>> peak("MI100", "bf16"), peak("MI250X", "bf16"), peak("MI100", "f64")
    (512, 1024, None)
    """
    wanted = {name for given in formats for name in formats_named(given)}
    wanted |= {own for own, either in INTEGERS.items() if either in wanted}
    rates = [inst.throughput(**fields) for inst, fields in _products(architecture, wanted) if inst.cycles_for(**fields)]
    return max(rates, default=None)


class Candidate(
    namedtuple("Candidate", "instruction modifiers chains count cycles flops useful share registers bytes")
):
    """One instruction that could carry out a GEMM.

    modifiers: the fields that choose its formats; chains: how many accumulators there are, each of which takes its
    instructions one after another; count: how many are issued; cycles: how long all of them occupy
    matrix units, added up (None if not known); flops: the operations issued, padding included; useful: 2 M N K over
    that; share: useful operations in that time over the architecture's peak on these formats (None if not known);
    registers: 32-bit registers a lane needs, by operand; bytes: read and written when every instruction loads its
    A and B from memory.
    """

    __slots__ = ()
    instruction: Instruction
    modifiers: Mapping[str, int]
    chains: int
    count: int
    cycles: int | None
    flops: int
    useful: float
    share: float | None
    registers: Mapping[str, int]
    bytes: int


class Estimate(namedtuple("Estimate", "architecture m n k type flops peak bytes candidates")):
    """What a GEMM takes on an architecture: flops is 2 M N K; peak, operations per clock and unit on this format
    (None if not known); bytes, what must move at least (A, B and C once in, D once out); candidates, best first."""

    __slots__ = ()
    architecture: Architecture
    m: int
    n: int
    k: int
    type: str
    flops: int
    peak: int | None
    bytes: int
    candidates: tuple[Candidate, ...]

    def seconds(self, candidate: Candidate) -> float | None:
        """The time of a candidate when its chains are spread evenly over all matrix units of the product, and nothing
        but the matrix units takes time; None if a number is not known."""
        count, clock = matrix_units(self.architecture), self.architecture.clock_ghz
        if candidate.cycles is None or count is None or clock is None:
            return None
        longest = -(-candidate.chains // count) * (candidate.cycles // candidate.chains)
        return float(longest / (clock * 1e9))


def estimate(architecture: str, m: int, n: int, k: int, type: str, out: str | None = None) -> Estimate:
    """What D = A B + C takes, for every dense instruction that could do it, best first.

    Args:
        architecture: any of its names. m, n, k: the shape of the whole product.
        type: the format of A and B, by any of its names ("fp8": the FP8 that the architecture has).
        out: the format of C and D; any if left out.

    Best is: the least time in matrix units, then the fewest bytes, then the fewest registers.

    Raises:
        Error: a size below 1, an unknown architecture or format, or no instruction that fits.

    >>> found = estimate("gfx942", 4096, 4096, 4096, "f16")
    >>> best = found.candidates[0]
    >>> best.instruction.name, best.count, best.share, dict(best.registers)
    ('v_mfma_f32_32x32x8_f16', 8388608, 1.0, {'A': 2, 'B': 2, 'C': 16, 'D': 16})
    """
    if min(m, n, k) < 1:
        raise Error(f"a GEMM of {m}x{n}x{k} has a size below 1; M, N and K are at least 1")
    record = entry(architecture).architecture
    wanted, results = formats_named(type), formats_named(out) if out else None
    fitting = [
        (inst, fields)
        for inst, fields in _products(architecture, wanted)
        if results is None or inst.format("D", fields).name in results
    ]
    if not fitting:
        raise Error(_none_fits(architecture, record, type, out))
    best = peak(architecture, type)
    made = [_candidate(inst, fields, (m, n, k), best) for inst, fields in fitting]
    made.sort(key=lambda c: (c.cycles is None, c.cycles or c.count, c.bytes, sum(c.registers.values())))
    least = min(_memory(c.instruction, c.modifiers, m * k, k * n, m * n) for c in made)
    return Estimate(record, m, n, k, type, 2 * m * n * k, best, least, tuple(made))


def _candidate(inst: Instruction, fields: dict[str, int], shape: tuple[int, int, int], best: int | None) -> Candidate:
    m, n, k = shape
    tiles = -(-m // inst.m) * -(-n // inst.n)
    steps = -(-k // inst.k)
    chains = -(-tiles // inst.blocks)
    count = chains * steps
    each = inst.cycles_for(**fields)
    cycles = None if each is None else each * count
    flops, useful = inst.flops * count, 2 * m * n * k
    share = None if cycles is None or not best else useful * MATRIX_UNITS / (cycles * best)
    counted = inst.fragment_registers  # all that there is where NVIDIA leaves the layout open
    registers = {
        name: inst.operand(name, **fields).registers if name in inst.register_operands else counted.get(name, 0)
        for name in inst.operands
    }
    inputs = tiles * steps
    moved = _memory(inst, fields, inputs * inst.m * inst.k, inputs * inst.k * inst.n, tiles * inst.m * inst.n)
    return Candidate(inst, fields, chains, count, cycles, flops, useful / flops, share, registers, moved)


def _memory(inst: Instruction, fields: Mapping[str, int], a: int, b: int, d: int) -> int:
    """The bytes of so many elements of A and B, and of C and D each."""
    return -(-sum(inst.format(x, fields).bits * size for x, size in (("A", a), ("B", b), ("C", d), ("D", d))) // 8)


def _none_fits(architecture: str, record: Architecture, type: str, out: str | None) -> str:
    known: dict[str, Any] = {}
    for inst in entry(architecture).instructions():
        if "A" in inst.operands and not inst.sparse:
            known |= dict.fromkeys(sorted(inst.format_names("A") & inst.format_names("B")))
    result = f" with {out} results" if out else ""
    return f"{record.title} multiplies no {type} matrices{result}; its dense instructions take {', '.join(known)}"
