"""Vector and scalar arithmetic, compiled: instructions with a row in the tables of `operations`, and those of VOP3P,
which are packed, mixed or dot products."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...base.errors import Error
from .modifiers import modifiers_of, sdwa_part, source, words
from .operands import DTYPES, bfloat, modified, read_exec, reader, typed, write_exec, write_scc, writer
from .operations.bits import ones
from .operations.conversions import largest_float8
from .operations.floats import exact_sum_of_product, flushed, fma, fma_bfloat
from .operations.integers import saturating
from .operations.packed import DOTS, MIXED, PACKED
from .operations.rounding import directed
from .state import SCC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .modifiers import Compute, Store
    from .operands import Reader
    from .state import Group
    from .target import MachineTarget

__all__ = ["arithmetic", "dot", "dual", "lower_lanes", "mixed", "packed_arithmetic"]

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


# --- packed, mixed and dot products (VOP3P) ---


LOW, HIGH = ("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi")
"""The modifiers of VOP3P: which half each result takes of a source, and whether it is negated."""


def _half(instruction: DecodedInstruction, place: int, kind: str, half: int, wave: int, pick: int = -1) -> Reader:
    """What the low (0) or high (1) result takes of a source: 16 bits of a register, or one register of a pair.

    VOP2 has neither OP_SEL nor NEG_LO and NEG_HI. pick: the half, where it is not OP_SEL's bit of the place.
    """
    modifiers, operand, word = modifiers_of(instruction), instruction.sources[place], words(instruction, place, wave)
    chosen, negated = (LOW, HIGH)[half]
    bit = modifiers.bit(chosen, place) if chosen in modifiers or not half else True
    if pick >= 0:
        bit = bool(pick)
    if kind in ("f32", "b32"):
        raw, dtype = word(int(bit) if isinstance(operand, RegisterOperand) else 0), DTYPES[kind]
        read: Reader = lambda group: raw(group).view(dtype)  # noqa: E731
    else:
        read = typed(word, operand, kind, bit)
    # NEG of VOP2 with DPP or SDWA is nowhere documented of packed sources; whoever asks for it refuses it.
    negative = modifiers.bit(negated, place) if kind in (*FLOAT_RESULTS, "b32") else False
    return modified(read, kind, negative, False)


def packed_arithmetic(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """Both halves of a packed instruction.

    Raises:
        Error: CLAMP of an integer instruction that has no exact form; a part of a register under SDWA.
    """
    signature, function = PACKED[instruction.name]
    kinds = signature.partition(" -> ")[0].split()
    kind = signature.rpartition(" ")[2]
    modifiers = modifiers_of(instruction)
    whole = [modifiers.get(name, 6) == 6 for name in ("src0_sel", "src1_sel", "dst_sel")]
    if not all(whole):
        raise Error(f"{instruction.name} of a part of a register (SDWA) is not covered: AMD does not document it")
    if instruction.name == "v_pk_mov_b32":  # OP_SEL[0] chooses for the low result, OP_SEL[1] for the high one
        picks = [int(modifiers.bit("op_sel", place)) for place in (0, 1)]
        modifiers.get("op_sel_hi")  # without an effect
        reads = [[_half(instruction, half, kind, half, target.wave, picks[half])] * 2 for half in (0, 1)]
    else:
        reads = [
            [_half(instruction, place, each, half, target.wave) for place, each in enumerate(kinds)] for half in (0, 1)
        ]
    function, clamp = _clamped(instruction, function, kind)
    name = "f32" if kind in ("bf16", "b32") else kind

    def compute(group: Group) -> tuple[Array, ...]:
        found = []
        operation = function
        if mode := group.mode.rounding.get(name, 0):
            operation = directed(instruction.name, function, kind, mode)
        for half in (0, 1):
            value = operation(*[read(group) for read in reads[half]])
            if clamp:
                value = clamped(group, value)
            if kind in FLOAT_RESULTS and group.mode.flush[name][1]:
                value = flushed(value)
            found.append(_pattern(value, kind))
        return (found[0], found[1])

    return compute, _stored_pair(instruction.destinations[0], kind in ("f32", "b32"))


def _stored_pair(operand: RegisterOperand, wide: bool) -> Store:
    """Writes two registers, or two halves of one."""

    def store(group: Group, values: tuple[Array, ...]) -> None:
        file = group.registers.file(operand)
        if wide:
            low, high = np.array(values[0]), np.array(values[1])
            group.write(file, operand[1], low)
            group.write(file, operand[1] + 1, high)
        else:
            group.write(file, operand[1], values[0] | values[1] << np.uint32(16))

    return store


def _clamped(instruction: DecodedInstruction, function: Any, kind: str) -> tuple[Any, bool]:
    """The operation under CLAMP, and whether its float result is still to be clamped."""
    clamp = bool(modifiers_of(instruction).get("clamp"))
    if not clamp or kind in FLOAT_RESULTS:
        return function, clamp
    exact = saturating(instruction.name)
    if exact is None:
        raise Error(f"{instruction.name} with clamp is not covered")
    return exact, False


def _pattern(value: Array, kind: str) -> Array:
    if kind in ("f32", "b32"):
        return value.view(np.uint32)
    if kind == "bf16":
        return bfloat(value)
    return value.view(np.uint16).astype(np.uint32)


def mixed(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """V_FMA_MIX: sources of f32 or f16, by OP_SEL_HI; NEG_HI is ABS. One rounding."""
    modifiers = modifiers_of(instruction)
    reads: list[Reader] = []
    result, half = MIXED[instruction.name]
    for place, operand in enumerate(instruction.sources[:3]):
        kind = half if modifiers.bit("op_sel_hi", place) else "f32"
        high = modifiers.bit("op_sel", place)  # without an effect on f32
        read = typed(words(instruction, place, target.wave), operand, kind, high)
        read = modified(read, kind, modifiers.bit("neg_lo", place), modifiers.bit("neg_hi", place))
        reads.append(lambda group, read=read: read(group).astype(np.float32))  # type: ignore[misc]
    clamp = bool(modifiers.get("clamp"))
    operand = instruction.destinations[0]
    high = "mixhi" in instruction.name or operand.half == 1

    def compute(group: Group) -> tuple[Array, ...]:
        if group.mode.rounding["f16" if result == "f16" else "f32"]:
            raise Error(f"{instruction.name} in another rounding mode than to nearest even is not covered")
        a, b, c = (read(group) for read in reads)
        if result == "f16":
            value = exact_sum_of_product(a, b, c).astype(np.float16)
        elif result == "bf16":
            value = fma_bfloat(a, b, c)
        else:
            value = fma(a, b, c)
        if clamp:
            value = clamped(group, value)
        return (flushed(value) if group.mode.flush["f32" if result == "bf16" else result][1] else value,)

    def store(group: Group, values: tuple[Array, ...]) -> None:
        raw = _pattern(values[0], result)
        if result != "f32":
            old = group.v[operand[1], group.rows]
            keep, by = (0xFFFF, 16) if high else (0xFFFF0000, 0)
            raw = old & np.uint32(keep) | raw << np.uint32(by)
        group.write(group.v, operand[1], raw)

    return compute, store


def dot(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Compute, Store]:
    """Dot products of packed elements: of f16 and bf16 each element with OP_SEL and NEG, of integers the whole words.

    Raises:
        Error: OP_SEL of an instruction that has none (LLVM pull request 100485: of 8- and 4-bit elements; LLVM 22,
            hasDOTOpSelHazard: "Cannot use op_sel with v_dot instructions" from gfx940 and gfx11 on).
    """
    kind, function, signed = DOTS[instruction.name]
    modifiers, wave = modifiers_of(instruction), target.wave
    selects = "dot2" in instruction.name and not target.dots_without_op_sel
    if not selects and (modifiers.get("op_sel") or modifiers.get("op_sel_hi", -1) & 3 not in (0, 3)):
        raise Error(f"{instruction.name} with op_sel is not covered: hardware has none there")
    for name in ("op_sel", "op_sel_hi"):  # of the third source, which has 32 bits: without an effect
        modifiers.bit(name, 2)
    clamp = bool(modifiers.get("clamp"))
    write = writer(instruction.destinations[0], "u32")
    if kind == "int":
        flags = [modifiers.bit("neg_lo", place) if signed is None else signed for place in (0, 1)]
        parts = [_integer_source(instruction, place, selects, wave) for place in (0, 1)]
        third = words(instruction, 2, wave)(0)
        compute: Compute = lambda group: (  # noqa: E731
            function(parts[0](group), parts[1](group), third(group), (flags[0], flags[1]), clamp),
        )
    else:
        compute = _float_dot(instruction, kind, function, selects, wave)
    return compute, lambda group, values: write(group, values[0])


def _integer_source(instruction: DecodedInstruction, place: int, selects: bool, wave: int) -> Reader:
    """A source of packed integers; of pairs of 16 bits OP_SEL chooses the halves."""
    raw = words(instruction, place, wave)(0)
    modifiers = modifiers_of(instruction)
    if not selects or "op_sel_hi" not in modifiers:
        return raw
    by = [np.uint32(16 * modifiers.bit(name, place)) for name in ("op_sel", "op_sel_hi")]
    low = np.uint32(0xFFFF)
    return lambda group: raw(group) >> by[0] & low | (raw(group) >> by[1] & low) << np.uint32(16)


def _float_dot(instruction: DecodedInstruction, kind: str, function: Any, selects: bool, wave: int) -> Compute:
    """V_DOT2: both halves of two sources, each with its sign, and a third source."""
    modifiers = modifiers_of(instruction)
    vop3p = "op_sel_hi" in modifiers
    picks = ((-1, -1) if selects else (0, 1)) if vop3p else (0, 1)
    halves = [[_half(instruction, place, kind, half, wave, picks[half]) for half in (0, 1)] for place in (0, 1)]
    word = words(instruction, 2, wave)
    # LLVM 22 writes the sign of the third source, an f32, into both; NEG_HI alone is documented nowhere.
    negative = vop3p and modifiers.bit("neg_lo", 2)
    if negative:
        modifiers.bit("neg_hi", 2)
    third = modified(typed(word, instruction.sources[2], "f32"), "f32", negative, False)
    clamp = bool(modifiers.get("clamp"))

    def compute(group: Group) -> tuple[Array, ...]:
        a, b = ([read(group).astype(np.float32) for read in pair] for pair in halves)
        value = function(a, b, third(group))
        return ((clamped(group, value) if clamp else value).view(np.uint32),)

    return compute
