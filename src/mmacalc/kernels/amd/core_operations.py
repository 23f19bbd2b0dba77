"""Instructions that only compute, in words of the compiled core (lanes.c): each is an `Operation` there, or two.

What they compute is, bit for bit, what their rows in `operations` do, which stay the definition (see `runs`).
"""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache

import numpy as np

from ...asm.decoded import ConstantOperand, RegisterOperand
from ...emulator import core
from .modifiers import HINTS, dpp8_lanes, dpp_lanes, written_lanes
from .state import ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .operands import Operand
    from .target import MachineTarget

__all__ = ["CONSTANT", "Operation", "computes_floats", "operations_of", "vector_code"]

_VECTOR, _ACCUMULATOR, _SCALAR, CONSTANT = (kind << 16 for kind in range(4))
_NONE = -1
_ALL = 0xFFFFFFFF


class Operation(ctypes.Structure):
    """The struct Operation of lanes.c."""

    code: int
    destination: int
    second: int
    source: Any
    low: Any
    high: Any
    shift: Any
    keep: Any
    flip: Any
    old: int
    up: int
    parts: int
    moves: int
    zeros: int
    inactive: int
    there: int
    allowed: int
    from_: Any

    _fields_ = [
        ("code", ctypes.c_int32), ("destination", ctypes.c_int32), ("second", ctypes.c_int32),
        ("source", ctypes.c_int32 * 3),
        *((name, ctypes.c_uint32 * 3) for name in ("low", "high", "shift", "keep", "flip")),
        ("old", ctypes.c_uint32), ("up", ctypes.c_uint32),
        *((name, ctypes.c_int32) for name in ("parts", "moves", "zeros", "inactive")),
        ("there", ctypes.c_uint64), ("allowed", ctypes.c_uint64), ("from_", ctypes.c_uint8 * 64),
    ]  # fmt: skip


@lru_cache(maxsize=1)
def _codes() -> dict[str, int]:
    """The number of each operation of the core, in the order of the numbers; none without the core."""
    names = core.function("lane_operations", (), ctypes.c_char_p)
    return {} if names is None else {name: number for number, name in enumerate(names().decode().split())}


# --- which operation an instruction is ---


_SHIFTED_ADD = {f"s_lshl{by}_add_u32": by for by in (1, 2, 3, 4)}


def _table() -> dict[str, str]:
    """The operation of each mnemonic; of comparisons see `_compared`."""
    found = {
        "v_mov_b32 v_accvgpr_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32": "mov", "v_not_b32": "not",
        "v_and_b32": "and", "v_or_b32": "or", "v_xor_b32": "xor", "v_xnor_b32": "xnor", "v_and_or_b32": "and_or",
        "v_or3_b32": "or3", "v_xor3_b32": "xor3", "v_bfi_b32": "bfi", "v_bfe_u32": "bfe_u32", "v_bfe_i32": "bfe_i32",
        "v_lshlrev_b32": "lshlrev", "v_lshrrev_b32": "lshrrev", "v_ashrrev_i32": "ashrrev",
        "v_lshl_add_u32": "lshl_add", "v_add_lshl_u32": "add_lshl", "v_lshl_or_b32": "lshl_or", "v_xad_u32": "xad",
        "v_add_u32 v_add_nc_u32 v_add_i32 v_add_nc_i32": "add", "v_sub_u32 v_sub_nc_u32 v_sub_i32 v_sub_nc_i32": "sub",
        "v_subrev_u32 v_subrev_nc_u32": "subrev", "v_add3_u32": "add3", "v_mul_lo_u32": "mul_lo",
        "v_mul_hi_u32": "mul_hi_u32", "v_mul_hi_i32": "mul_hi_i32", "v_mul_u32_u24": "mul_u24",
        "v_mul_i32_i24": "mul_i24", "v_mad_u32_u24": "mad_u24", "v_mad_i32_i24": "mad_i24",
        "v_perm_b32": "perm", "v_alignbit_b32": "alignbit", "v_alignbyte_b32": "alignbyte", "v_bcnt_u32_b32": "bcnt",
        "v_mbcnt_lo_u32_b32": "mbcnt_lo", "v_mbcnt_hi_u32_b32": "mbcnt_hi", "v_cndmask_b32": "cndmask",
        "v_cvt_f32_i32": "f32_i32", "v_cvt_f32_u32": "f32_u32", "v_cvt_i32_f32": "i32_f32", "v_cvt_u32_f32": "u32_f32",
        "v_fma_f32 v_fmac_f32 v_fmaak_f32 v_fmamk_f32": "fma_f32", "v_min_f32 v_min_num_f32": "min_f32",
        "v_max_f32 v_max_num_f32": "max_f32", "v_min3_f32 v_min3_num_f32": "min3_f32",
        "v_max3_f32 v_max3_num_f32": "max3_f32", "v_cvt_f32_f16": "f32_f16", "v_cvt_f16_f32": "f16_f32",
        "v_cvt_pk_bf16_f32": "pk_bf16", "v_cvt_pk_f16_f32": "pk_f16", "v_lshl_add_u64": "lshl_add_u64",
        "v_lshlrev_b64": "lshlrev_b64", "v_lshrrev_b64": "lshrrev_b64", "v_ashrrev_i64": "ashrrev_i64",
        "v_mad_u64_u32 v_mad_co_u64_u32 v_mad_nc_u64_u32": "mad_u64_u32", "v_add_nc_u64 v_add_u64": "add_u64",
        "v_mov_b64": "mov_b64", "v_add_co_u32": "add_co", "v_sub_co_u32": "sub_co", "v_subrev_co_u32": "subrev_co",
        "v_addc_co_u32 v_add_co_ci_u32": "addc", "v_subb_co_u32 v_sub_co_ci_u32": "subb",
        "v_subbrev_co_u32 v_subrev_co_ci_u32": "subbrev", "v_readfirstlane_b32": "readfirstlane",
        "v_readlane_b32": "readlane", "v_writelane_b32": "writelane",
        **{f"v_{name}_f32": f"{name}_f32" for name in (
            "add", "sub", "subrev", "mul", "rcp", "rsq", "sqrt", "floor", "ceil", "trunc", "rndne",
        )},
        "v_rcp_iflag_f32": "rcp_f32", "v_mov_b16": "mov_b16", "v_bitop3_b32": "bitop3", "v_ldexp_f32": "ldexp_f32",
        **{f"v_div_{name}_f32": f"div_{name}_f32" for name in ("scale", "fmas", "fixup")},
        **{f"v_{name}_{kind}": f"{name}_{kind}" for kind in ("i32", "u32")
           for name in ("min", "max", "min3", "max3", "med3")},
        **{f"v_pk_{name}_f32": f"pk_{name}_f32" for name in ("add", "mul", "fma")},
        "s_mov_b32 s_movk_i32": "s_mov", "s_mov_b64": "s_mov64", "s_cselect_b32": "s_cselect",
        "s_cselect_b64": "s_cselect64", "s_add_u32 s_add_co_u32": "s_add_u32", "s_sub_u32 s_sub_co_u32": "s_sub_u32",
        "s_addc_u32 s_add_co_ci_u32": "s_addc", "s_subb_u32 s_sub_co_ci_u32": "s_subb",
        "s_add_i32 s_add_co_i32 s_addk_i32 s_addk_co_i32": "s_add_i32", "s_sub_i32 s_sub_co_i32": "s_sub_i32",
        "s_mul_i32": "s_mul", "s_mulk_i32": "s_mulk", "s_mul_hi_u32": "s_mul_hi_u32", "s_mul_hi_i32": "s_mul_hi_i32",
        "s_add_u64 s_add_nc_u64": "s_add_u64", "s_not_b32": "s_not", "s_not_b64": "s_not64", "s_lshl_b32": "s_lshl",
        "s_lshr_b32": "s_lshr", "s_ashr_i32": "s_ashr", "s_lshl_b64": "s_lshl64", "s_lshr_b64": "s_lshr64",
        "s_ashr_i64": "s_ashr64", "s_bfe_u32": "s_bfe_u32", "s_bfe_i32": "s_bfe_i32",
        "s_pack_ll_b32_b16": "s_pack_ll", "s_sext_i32_i8": "s_sext8", "s_sext_i32_i16": "s_sext16",
        "s_bitcmp0_b32": "s_bitcmp0", "s_bitcmp1_b32": "s_bitcmp1", "s_abs_i32": "s_abs",
        "s_bcnt1_i32_b32": "s_bcnt1", "s_ff1_i32_b32 s_ctz_i32_b32": "s_ff1", "s_bfm_b32": "s_bfm",
        **dict.fromkeys(_SHIFTED_ADD, "s_lshladd"),
        **{f"s_{name}_{kind}": f"s_{name}_{kind}" for kind in ("i32", "u32") for name in ("min", "max")},
    }  # fmt: skip
    for name, own in (("and", "and"), ("or", "or"), ("xor", "xor"), ("andn2", "andn2"), ("and_not1", "andn2"),
                      ("orn2", "orn2"), ("or_not1", "orn2"), ("nand", "nand"), ("nor", "nor"),
                      ("xnor", "xnor")):  # fmt: skip
        found[f"s_{name}_b32"], found[f"s_{name}_b64"] = f"s_{own}", f"s_{own}64"
    return {name: own for names, own in found.items() for name in names.split()}


_TABLE = _table()
_COMPARED = re.compile(r"v_cmp_(n?(?:lt|eq|le|gt|lg|ge)|ne|o|u)_([iuf](?:32|64))")
_SCALAR_COMPARED = re.compile(r"s_cmpk?_(eq|lg|gt|ge|lt|le)_([iu](?:32|64))")
_SAVES = re.compile(r"s_(\w+)_saveexec_b(32|64)")
_FLOATING = re.compile(r"_f32|^f(32|16)|^pk_")
_HALVES = ("f32_f16", "mov_b16")
"""Operations whose sources are halves of a register."""
_SIGNED = re.compile(r"(?:add|sub|subrev|mul|fma|min3?|max3?|rcp|rsq|sqrt|floor|ceil|trunc|rndne)_f32|[iu]32_f32"
                     r"|f16_f32|f32_f16|cndmask|mov|pk_bf16|pk_f16|n?(?:lt|eq|le|gt|lg|ge|o|u)_f32")  # fmt: skip
"""Operations whose sources NEG and ABS change."""
_THREE = frozenset(["lshl_add_u64", "mad_u64_u32", "pk_fma_f32"])
_DPP = ("dpp_ctrl", "dpp8", "row_mask", "bank_mask", "bound_ctrl", "fi")


def _code_name(name: str) -> str | None:
    """The operation of a mnemonic."""
    if (own := _TABLE.get(name)) is not None:
        return own
    if match := _COMPARED.fullmatch(name):
        relation, kind = match.groups()
        relation = {"ne": "neq"}.get(relation, relation) if kind == "f32" else relation
        return {"eq_u32": "eq_i32", "ne_u32": "ne_i32", "eq_i64": "eq_u64", "ne_i64": "ne_u64"}.get(
            f"{relation}_{kind}", f"{relation}_{kind}"
        )
    if match := _SCALAR_COMPARED.fullmatch(name):
        relation, kind = match.groups()
        if kind == "u64":
            return f"s_{relation}64"
        return f"s_{relation}" if relation in ("eq", "lg") else f"s_{relation}_{kind}"
    return None


def operations_of(instruction: DecodedInstruction, target: MachineTarget) -> tuple[Operation, ...] | None:
    """The operations that an instruction is; None if the core has none for it, or not with its modifiers.

    Of both halves of a dual one, if the second reads nothing that the first writes.
    """
    codes = _codes()
    halves = [instruction] if instruction.second is None else [instruction, instruction.second]
    if match := _SAVES.fullmatch(instruction.name):
        halves = list(_saving(instruction, *match.groups()))
    found = []
    for half in halves:
        one = _operation(half._replace(name=half.name.replace("v_dual_", "v_")), target, codes)
        if one is None:
            return None
        found.append(one)
    if instruction.second is not None:
        written = {number for d in halves[0].destinations for number in _registers(d)}
        if any(number in written for source in halves[1].sources for number in _registers(source)):
            return None
    return tuple(found)


def _saving(instruction: DecodedInstruction, name: str, bits: str) -> Iterator[DecodedInstruction]:
    """The instructions whose result is that of one that saves EXEC and changes it; none that is known where it saves it
    to a part of its source."""
    (saved, execute, scc), (source, _) = instruction.destinations, instruction.sources
    first: Operand = source
    if source == saved:  # the two change places
        first, exchange = execute, f"s_xor_b{bits}"
        for one in (saved, execute, saved):
            yield instruction._replace(name=exchange, destinations=(one, scc), sources=(saved, execute))
    elif set(_registers(source)) & set(_registers(saved)):
        yield instruction
        return
    else:
        yield instruction._replace(name=f"s_mov_b{bits}", destinations=(saved,), sources=(execute,))
    sources: tuple[Operand, Operand] = (first, saved)
    if name in ("andn1", "and_not0", "orn1", "or_not0"):
        name, sources = {"a": "andn2", "o": "orn2"}[name[0]], (saved, first)
    yield instruction._replace(name=f"s_{name}_b{bits}", destinations=(execute, scc), sources=sources)


def vector_code(operand: RegisterOperand, number: int = 0) -> int:
    """A vector register as the core names it: of an operand that one with a number."""
    return (_VECTOR if operand.file == "v" else _ACCUMULATOR) | operand[1] + number


def computes_floats(operations: Iterable[Operation]) -> bool:
    """Whether one of some operations rounds floats."""
    names = list(_codes())
    return any(_FLOATING.search(names[one.code]) for one in operations)


def _registers(operand: Any) -> Iterable[tuple[str, int]]:
    if isinstance(operand, RegisterOperand):
        return [(operand.file, operand[1] + number) for number in range(operand[2])]
    return ()


def _operation(instruction: DecodedInstruction, target: MachineTarget, codes: dict[str, int]) -> Operation | None:
    name = _code_name(instruction.name)
    if name is None or name not in codes:
        return None
    made = Operation(code=codes[name], destination=_NONE, second=_NONE, allowed=(1 << 64) - 1)
    made.source[:] = [_NONE] * 3
    made.keep[:] = [_ALL] * 3
    modifiers = {key: value for key, value in instruction.modifiers.items() if value and key not in HINTS}
    if not name.startswith("s_"):
        built = _vector(made, name, instruction, modifiers, target)
    else:
        built = _scalar(made, name, instruction, modifiers, target)
    return made if built and not modifiers else None


# --- operands ---


def _source(made: Operation, place: int, operand: Operand, wide: bool = False) -> bool:
    """Enter a source; whether the core can read it."""
    if isinstance(operand, ConstantOperand):
        made.source[place] = CONSTANT
        made.low[place], made.high[place] = operand.bits & _ALL, operand.bits >> 32 & _ALL
        return True
    if operand.file in ("v", "a"):
        made.source[place] = vector_code(operand)
        return operand[2] == 1 + wide
    if operand.file == "null":
        made.source[place] = CONSTANT
        return True
    if operand.file not in ROWS or operand.file in ("execz", "vccz"):
        return False
    made.source[place] = _SCALAR | ROWS[operand.file] + operand[1]
    return True


def _scalar_result(made: Operation, operand: RegisterOperand, field: str = "destination", masks: bool = False) -> bool:
    """Enter a scalar result; whether the core can write it: no vector register, and EXEC only if it `masks`."""
    if operand.file == "null":
        return True
    if operand.file not in ROWS or operand.file in ("execz", "vccz") or (operand.file == "exec" and not masks):
        return False
    setattr(made, field, ROWS[operand.file] + operand[1])
    return True


def _scalar(
    made: Operation, name: str, instruction: DecodedInstruction, modifiers: dict[str, Any], target: MachineTarget
) -> bool:
    sources: list[Operand] = [one for one in instruction.sources if getattr(one, "file", "") != "scc"]
    if "simm16" in instruction.modifiers:  # the operations to which the order matters have it last
        raw = int(instruction.modifiers["simm16"])
        signed = "simm" in target.row(instruction.name)[0]
        sources.append(ConstantOperand((raw - (raw >> 15 << 16)) & _ALL if signed else raw, False))
        modifiers.pop("simm16", None)
    made.up = _SHIFTED_ADD.get(instruction.name, 0)
    if len(sources) > 2 or not all(_source(made, place, one) for place, one in enumerate(sources)):
        return False
    for place in range(len(sources)):
        if made.source[place] >> 16 < _SCALAR >> 16:
            return False
    results = [one for one in instruction.destinations if one.file != "scc"]
    return not results or (len(results) == 1 and _scalar_result(made, results[0], masks=True))


def _vector(
    made: Operation, name: str, instruction: DecodedInstruction, modifiers: dict[str, Any], target: MachineTarget
) -> bool:
    destinations = list(instruction.destinations)
    sources = list(instruction.sources)
    if name in ("readfirstlane", "readlane"):
        read = all(_source(made, place, one) for place, one in enumerate(sources))
        return read and _scalar_result(made, destinations[0]) and made.destination >= 0
    if name == "bitop3":
        made.parts = int(modifiers.pop("bitop3", 0))
    if name == "div_fmas_f32":  # `second` is its mask
        mask = sources.pop()
        if not isinstance(mask, RegisterOperand) or not _scalar_result(made, mask, "second") or made.second < 0:
            return False
    wide = "64" in name and name != "lshl_add_u64"
    for place, operand in enumerate(sources):
        pairs = wide and not (name in ("lshlrev_b64", "lshrrev_b64", "ashrrev_i64") and place == 0)
        pairs = pairs and not (name == "mad_u64_u32" and place < 2)
        pairs = pairs or (name.startswith("pk_") and name.endswith("_f32")) or (name == "lshl_add_u64" and place != 1)
        if place >= 3 or not _source(made, place, operand, pairs and not _is_mask(name, place)):
            return False
    if any(_is_mask(name, place) and made.source[place] < _SCALAR for place in range(len(sources))):
        return False
    if name == "writelane":
        made.destination = _VECTOR | destinations[0][1]
        return destinations[0].file == "v" and made.source[0] >> 16 >= 2 and made.source[1] >> 16 >= 2
    if not _results(made, name, destinations, bool(_COMPARED.fullmatch(instruction.name))):
        return False
    _from_lanes(made, instruction.modifiers, modifiers, target.wave)
    return _parts(made, name, instruction, modifiers, target) and _signs(made, name, modifiers, len(sources))


def _is_mask(name: str, place: int) -> bool:
    return place == 2 and name in ("cndmask", "addc", "subb", "subbrev")


def _results(made: Operation, name: str, destinations: list[RegisterOperand], compares: bool) -> bool:
    if compares:
        return len(destinations) == 1 and _scalar_result(made, destinations[0])
    first = destinations[0]
    if first.file not in ("v", "a"):
        return False
    made.destination = vector_code(first)
    if len(destinations) > 1:
        if name not in ("div_scale_f32", "mad_u64_u32", "add_co", "sub_co", "subrev_co", "addc", "subb", "subbrev"):
            return False
        if not _scalar_result(made, destinations[1], "second"):
            return False
    return len(destinations) <= 2


def _parts(
    made: Operation, name: str, instruction: DecodedInstruction, modifiers: dict[str, Any], target: MachineTarget
) -> bool:
    """Halves of registers: those that 16-bit operands, OP_SEL and SDWA without a sign name."""
    if name.startswith("pk_") and name.endswith("_f32"):
        low, high = int(modifiers.pop("op_sel", 0)), int(modifiers.pop("op_sel_hi", 0))
        if low >> len(instruction.sources) or high >> len(instruction.sources):
            return False
        for place, operand in enumerate(instruction.sources):
            if isinstance(operand, RegisterOperand):  # of a constant both take the low word
                made.parts |= (low >> place & 1 | (high >> place & 1) << 1) << 2 * place
    if not all(_part(made, name, instruction, modifiers, place) for place in range(len(instruction.sources))):
        return False
    if "dst_sel" in instruction.modifiers:
        if int(modifiers.pop("dst_sel", 0)) != 6:
            return False
        modifiers.pop("dst_unused", None)
    selects = int(modifiers.pop("op_sel", 0)) if name in _HALVES or name == "f16_f32" else 0
    if name in ("f16_f32", "mov_b16"):
        high = bool(instruction.destinations[0].half) or bool(selects >> 3 & 1)
        made.up = 16 if high else 0
        made.old = 0xFFFF if high else 0xFFFF0000 if target.keeps_halves else 0
    return True


def _part(made: Operation, name: str, instruction: DecodedInstruction, modifiers: dict[str, Any], place: int) -> bool:
    """The half or the byte of one source."""
    operand = instruction.sources[place]
    if name in _HALVES and isinstance(operand, RegisterOperand):
        made.keep[place] = 0xFFFF
        if operand.half or int(modifiers.get("op_sel", 0)) >> place & 1:
            made.shift[place] = 16
    elif isinstance(operand, RegisterOperand) and operand.bits == 16:
        return False
    if f"src{place}_sel" not in instruction.modifiers:
        return True
    select = int(modifiers.pop(f"src{place}_sel", 0))
    if select != 6:
        by, bits = (8 * select, 8) if select < 4 else (16 * (select - 4), 16)
        if made.shift[place] or made.source[place] >> 16 != 0:
            return False
        made.shift[place], made.keep[place] = by, (1 << bits) - 1
    return True


def _signs(made: Operation, name: str, modifiers: dict[str, Any], count: int) -> bool:
    """NEG and ABS."""
    negative, absolute = int(modifiers.pop("neg", 0)), int(modifiers.pop("abs", 0))
    low, high = int(modifiers.pop("neg_lo", 0)), int(modifiers.pop("neg_hi", 0))
    if not (negative or absolute or low or high):
        return True
    count -= _is_mask(name, count - 1)
    if (negative | absolute | low | high) >> count:
        return False
    if name.startswith("pk_") and name.endswith("_f32"):
        if low != high or negative or absolute:
            return False
        negative = low
    elif not _SIGNED.fullmatch(name) or low or high:
        return False
    for place in range(count):
        sign = 0x8000 if name in _HALVES else 0x80000000
        if absolute >> place & 1:
            made.keep[place] &= ~sign & _ALL
        if negative >> place & 1:
            made.flip[place] = sign
    return True


def _from_lanes(made: Operation, given: Mapping[str, Any], modifiers: dict[str, Any], wave: int) -> None:
    """DPP: see `modifiers`. given: all modifiers, those that are 0 too."""
    for name in _DPP:
        modifiers.pop(name, None)
    if "dpp8" in given:
        lanes, there, made.zeros = dpp8_lanes(int(given["dpp8"]), wave), np.ones(wave, bool), 1
    elif "dpp_ctrl" in given:
        lanes, there = dpp_lanes(int(given["dpp_ctrl"]), wave)
        lanes, made.zeros = np.clip(lanes, 0, wave - 1), bool(given.get("bound_ctrl"))
        allowed = written_lanes(int(given.get("row_mask", 15)), int(given.get("bank_mask", 15)), wave)
        if not made.zeros:
            allowed = allowed & there
        made.allowed = _bits(allowed) | (1 << 64) - (1 << wave)
    else:
        return
    made.moves, made.inactive, made.there = 1, bool(given.get("fi")), _bits(there)
    made.from_[:wave] = lanes.tolist()


def _bits(lanes: Array) -> int:
    return sum(1 << lane for lane in np.flatnonzero(lanes).tolist())
