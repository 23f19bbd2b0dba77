"""Vector and scalar arithmetic: a decoded instruction and its row of the table, compiled to a function."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...errors import Error
from .modifiers import modifiers_of, sdwa_part, source
from .operands import read_exec, reader, write_exec, write_scc, writer
from .operations.bits import ones
from .operations.conversions import largest_float8
from .operations.floats import flushed
from .operations.rounding import directed
from .operations.saturating import saturating
from .state import SCC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...arrays import Array
    from ...asm.decoded import DecodedInstruction
    from .operands import Reader
    from .state import Group
    from .target import MachineTarget

    Compute = Callable[[Group], tuple[Array, ...]]
    Store = Callable[[Group, tuple[Array, ...]], None]

__all__ = ["FLOAT_RESULTS", "arithmetic", "clamped", "dual", "lower_lanes"]

FLOAT_RESULTS = ("f16", "f32", "f64", "bf16")


def arithmetic(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """What an instruction with a row in the table computes, and how it is written.

    Raises:
        Error: a modifier that is not covered.
    """
    sources, results, function = target.row(instruction.name)
    modifiers = modifiers_of(instruction)
    if "bitop" in instruction.name:
        function = function(int(modifiers.get("bitop3", 0)))
    if (limited := saturating(instruction.name)) is not None and modifiers.get("clamp"):
        function = limited
    reads = _sources(instruction, sources, target)
    writes = _results(instruction, results, target)
    single, most = len(results) == 1, largest_float8(instruction.name, target.architecture.format_names)
    kind = "f32" if results[0] == "bf16" else results[0]
    by_mode = {0: function}

    def compute(group: Group) -> tuple[Array, ...]:
        mode = group.mode.rounding.get(kind, 0)
        if mode not in by_mode:
            by_mode[mode] = directed(instruction.name, function, kind, mode)
        values = [read(group) for read in reads]
        if most and group.mode.clamps_overflow:
            values = [np.where(np.isfinite(value), np.clip(value, -most, most), value) for value in values]
        found = by_mode[mode](*values)
        return (found,) if single else found

    def store(group: Group, values: tuple[Array, ...]) -> None:
        for write, value in zip(writes, values):
            write(group, value)

    return compute, store


def _sources(instruction: DecodedInstruction, kinds: tuple[str, ...], target: MachineTarget) -> list[Reader]:
    reads: list[Reader] = []
    place = 0
    for kind in kinds:
        if kind == "scc":
            reads.append(lambda group: group.s[SCC, group.rows][:, None] != 0)
        elif kind == "exec":
            if target.wave == 32 and instruction.name.endswith("b64"):
                raise Error(f"{instruction.name} of waves of 32 lanes is not covered")
            reads.append(read_exec)
        elif kind in ("old", "old64"):
            reads.append(reader(instruction.destinations[0], "u64" if kind == "old64" else "u32"))
        elif kind in ("simm", "uimm"):
            raw = int(instruction.modifiers["simm16"])
            value = np.array([[raw - (raw >> 15 << 16) if kind == "simm" else raw]])
            typed = value.astype(np.int32 if kind == "simm" else np.uint32)
            reads.append(lambda group, typed=typed: typed)  # type: ignore[misc]
        else:
            reads.append(source(instruction, place, kind, target.wave))
            place += 1
    return reads


def lower_lanes(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """V_MBCNT: the bits of a mask below the lane's own, of lanes 0 to 31 or 32 to 63, plus a number."""
    mask, plus = (source(instruction, place, "u32", target.wave) for place in (0, 1))
    lane = np.arange(target.wave)
    place = np.clip(lane - 32 if "hi" in instruction.name else lane, 0, 32).astype(np.uint64)
    below = ((np.uint64(1) << place) - np.uint64(1)).astype(np.uint32)
    write = writer(instruction.destinations[0], "u32")
    return (
        lambda group: (ones(mask(group) & below) + plus(group),),
        lambda group, values: write(group, values[0]),
    )


# --- results ---


def _results(
    instruction: DecodedInstruction, kinds: tuple[str, ...], target: MachineTarget
) -> list[Callable[[Group, Array], None]]:
    explicit = [d for d in instruction.destinations if d.file != "scc"]
    writes: list[Callable[[Group, Array], None]] = []
    if kinds == ("mask",):  # v_cmpx of gfx9 writes VCC and EXEC
        return [_several([writer(d, "mask") for d in explicit])]
    place = 0
    for kind in kinds:
        if kind == "scc":
            writes.append(write_scc)
            continue
        if kind == "exec":
            writes.append(write_exec)
            continue
        operand = explicit[place]
        place += 1
        high = kind in ("u16", "i16", "f16", "bf16", "h16") and modifiers_of(instruction).bit("op_sel", 3)
        write = writer(operand, kind, target.keeps_halves or operand.half == 1, high)
        if "dst_sel" in instruction.modifiers and operand.file == "v":
            write = _sdwa_writer(instruction, operand, kind)
        if kind in FLOAT_RESULTS:
            write = _finished(write, kind, instruction)
        elif kind != "mask" or instruction.name.startswith("v_cmp"):
            # OMOD is ignored by other results, and CLAMP of comparisons says whether NaN is an exception (RDNA3 ISA
            # guide, section 7.2.3.1 and 7.2.3.2).
            modifiers_of(instruction).get("clamp" if kind == "mask" else "omod")
        writes.append(write)
    return writes


def _several(writes: list[Callable[[Group, Array], None]]) -> Callable[[Group, Array], None]:
    if len(writes) == 1:
        return writes[0]

    def write_all(group: Group, value: Array) -> None:
        value = np.broadcast_to(value, (group.count, group.lanes)) & group.active
        for write in writes:
            write(group, value)

    return write_all


def clamped(group: Group, value: Array) -> Array:
    """CLAMP of a float result: from 0 to 1, and 0 of a NaN if the mode has DX10_CLAMP."""
    limited: Array = np.clip(value, 0, 1)
    return np.where(np.isnan(value), value.dtype.type(0), limited) if group.mode.clamps_nan else limited


def _finished(
    write: Callable[[Group, Array], None], kind: str, instruction: DecodedInstruction
) -> Callable[[Group, Array], None]:
    """OMOD and CLAMP, and subnormal results as zero where the mode says so.

    OMOD is ignored where subnormal results are kept and in IEEE mode; it makes +0 of -0 (CDNA3 ISA guide, section
    6.2.2; RDNA3 ISA guide, section 7.2.3.1).
    """
    modifiers = modifiers_of(instruction)
    clamp, omod = bool(modifiers.get("clamp")), int(modifiers.get("omod", 0))
    factor = {0: None, 1: 2.0, 2: 4.0, 3: 0.5}[omod]
    name = "f32" if kind == "bf16" else kind

    def finish(group: Group, value: Array) -> None:
        flushes = group.mode.flush[name][1]
        if factor is not None and flushes and not group.mode.ieee:
            value = flushed(value * value.dtype.type(factor)) + value.dtype.type(0)
        if clamp:
            value = clamped(group, value)
        if flushes:
            value = flushed(value)
        write(group, value)

    return finish


def _sdwa_writer(
    instruction: DecodedInstruction, operand: RegisterOperand, kind: str
) -> Callable[[Group, Array], None]:
    """A result into a byte or a half; the rest zero, the sign, or kept (DST_UNUSED 0, 1, 2)."""
    select, unused = (int(modifiers_of(instruction).get(name, 0)) for name in ("dst_sel", "dst_unused"))
    index = operand[1]

    def write(group: Group, value: Array) -> None:
        raw = value.view(f"u{value.dtype.itemsize}").astype(np.uint32)
        if select < 6:
            by, bits = sdwa_part(select)
            field = np.uint32((1 << bits) - 1)
            placed = (raw & field) << np.uint32(by)
            if unused == 2:
                placed = placed | group.v[index, group.rows] & ~(field << np.uint32(by))
            elif unused == 1:
                sign = raw >> np.uint32(bits - 1) & np.uint32(1)
                above = np.uint32(0xFFFFFFFF << by + bits & 0xFFFFFFFF)
                placed = placed | sign * above
            raw = placed
        group.write(group.v, index, raw)

    return write


def dual(first: tuple[Compute, Store], second: tuple[Compute, Store]) -> Callable[[Group], None]:
    """Both halves of a VOPD instruction: both read their sources before either writes (RDNA3 ISA guide, "VOPD")."""

    def run(group: Group) -> None:
        one = first[0](group)
        two = tuple([np.array(value) for value in second[0](group)])
        first[1](group, one)
        second[1](group, two)

    return run
