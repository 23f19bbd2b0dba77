"""The compiler's names of an instruction: clang's builtin with its prototype, and the LLVM intrinsic.

Both follow from the instruction by rule. What an argument list looks like is data of `dialects`; the vector types
follow from the formats and the register counts.

Source: clang and LLVM 22.1.8 (BuiltinsAMDGPU, IntrinsicsAMDGPU.td), compared for every instruction of every target.
"""

from __future__ import annotations

from ..base.errors import Error, did_you_mean
from ..base.records import imported
from ..catalog import entry
from ..catalog.grammar import COMPILERS
from ..catalog.grammar.nvvm import plain_name as plain_name
from .dialects import Intrinsic, dialect_of, fitting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..model import Instruction
    from .dialects import Dialect

PREFIXES = COMPILERS
"""How the names of builtins and intrinsics begin."""
LLVM_VERSION = 22  # the version whose builtins these are


_C_TYPES = {"bool": "_Bool"}
_ELEMENTS = {"f64": "double", "i32": "int"}
_LLVM_TYPES = {
    "_Bool": "i1", "bool": "i1", "short": "i16", "int": "i32", "long": "i64", "long long": "i64", "float": "float",
    "double": "double", "_Float16": "half", "__fp16": "half", "__bf16": "bfloat",
}  # fmt: skip
_MANGLED = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}


def intrinsic(instruction: Instruction, wave: int | None = None) -> Intrinsic | None:
    """The builtin of an instruction on a wave size (the architecture's default if left out); None if it has none.

    >>> import mmacalc
    >>> found = intrinsic(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"))
    >>> found.prototype
    'float x4 __builtin_amdgcn_mfma_f32_16x16x16f16(_Float16 x4, _Float16 x4, float x4, int imm, int imm, int imm)'
    >>> found.llvm_intrinsic
    'llvm.amdgcn.mfma.f32.16x16x16f16'
    """
    found = intrinsics(instruction, wave)
    return found[0] if found else None


def intrinsics(instruction: Instruction, wave: int | None = None) -> tuple[Intrinsic, ...]:
    """Every builtin of an instruction: none, one, or on RDNA3 with a 16-bit D two, of which the second, "tied",
    keeps the other halves of D's registers as they were in C."""
    inst, size = instruction, instruction.architecture.wave(wave)
    if own := inst.architecture.family.functions:
        found: tuple[Intrinsic, ...] = imported(f"mmacalc.compiler.{own}").functions(inst)
        return found
    dialect = dialect_of(inst)
    if dialect is None or inst.since_llvm > LLVM_VERSION:
        return ()
    arguments = fitting(inst, dialect.arguments)
    if arguments is None:
        return ()
    variants = ("", "_tied") if dialect.tied and inst.format("D").bits == 16 else ("",)
    return tuple(_intrinsic(inst, size, dialect, arguments, variant) for variant in variants)


def unscaled(instruction: Instruction) -> Instruction | None:
    """What a scaled instruction's builtin becomes when both its scales are the constant 0: the instruction without
    scales where that has no builtin of its own (gfx950), else None.

    Other constants stay scales, of 2^(c - 127). Source: what llc 22.1.8 selects.

    >>> import mmacalc
    >>> unscaled(mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"))
    mmacalc.instruction('cdna4', 'v_mfma_f32_16x16x128_f8f6f4')
    """
    listed, name = entry(instruction.arch), instruction.name.replace("_scale_", "_")
    if not instruction.scaled or name not in listed.names:
        return None
    found = listed.instruction(name)
    return None if intrinsics(found) else found


def names(instruction: Instruction) -> tuple[str, ...]:
    """Every name that a compiler has for an instruction: builtins and LLVM intrinsics, of all wave sizes."""
    found = [one for wave in instruction.architecture.waves for one in intrinsics(instruction, wave)]
    return tuple(name for one in found for name in (one.builtin, one.llvm_intrinsic) if name)


def named(arch: str) -> dict[str, tuple[Instruction, Intrinsic, int]]:
    """The builtins and LLVM intrinsics of an architecture by their names, each with its instruction and wave size; of
    several that the arguments choose from, with the first."""
    return {name: found[0] for name, found in meant(arch).items()}


def meant(arch: str) -> dict[str, list[tuple[Instruction, Intrinsic, int]]]:
    """The same with every instruction that a name can become: NVIDIA's have the layouts, or the kind, as arguments."""
    found: dict[str, list[tuple[Instruction, Intrinsic, int]]] = {}
    known = entry(arch)
    for inst in (*known.instructions(), *map(known.instruction, known.tensor_memory_names)):
        for wave in inst.architecture.waves:
            for one in intrinsics(inst, wave):
                for name in filter(None, dict.fromkeys((one.builtin, one.llvm_intrinsic))):
                    same = found.setdefault(name, [])
                    if not same or same[-1][0] is not inst:
                        same.append((inst, one, wave))
    return found


def by_name(arch: str, name: str) -> tuple[Instruction, Intrinsic]:
    """The instruction and the intrinsic of a builtin's or an LLVM intrinsic's name.

    Raises:
        Error: the architecture has no such builtin.
    """
    inst, one, _ = all_by_name(arch, name)[0]
    return inst, one


def all_by_name(arch: str, name: str) -> list[tuple[Instruction, Intrinsic, int]]:
    """Every instruction that a name can become, each with the intrinsic and the wave size.

    Raises:
        Error: the architecture has no such builtin.
    """
    found = meant(arch)
    if (alone := plain_name(name)) not in found:
        hint = did_you_mean(alone, found)
        raise Error(f"{entry(arch).architecture.title} has no matrix builtin '{alone}'.{hint}", kind="unknown name")
    return found[alone]


def _intrinsic(inst: Instruction, wave: int, dialect: Dialect, arguments: str, variant: str) -> Intrinsic:
    stem = _stem(inst)
    types = {name: _type(inst, name, wave, dialect) for name in "ABD"}
    types["C"] = _type(inst, "C" if "C" in inst.operands else "D", wave, dialect)
    tokens, _, filled = arguments.partition(" | ")
    names, kinds, immediates = [], [], []
    for at, token in enumerate(tokens.split()):
        name, _, kind = token.partition(":")
        names.append(name.lower())
        kinds.append(types[token] if token in types else _C_TYPES.get(kind.rstrip("!"), kind.rstrip("!")))
        if token.endswith("!"):
            immediates.append(at)
    taken = [_llvm(kind) + (" immarg" if at in immediates else "") for at, kind in enumerate(kinds)]
    taken += [_llvm(kind.rstrip("!")) + " immarg" for kind in filled.split()]
    llvm = f"llvm.amdgcn.{stem}{variant}".replace("_", ".") + _overloads(inst, types, dialect)
    declaration = f"{_llvm(types['D'])} @{llvm}({', '.join(taken)})"
    suffix = (fitting(inst, dialect.suffixes) or "").format(wave=wave)
    builtin = f"__builtin_amdgcn_{stem}{variant}{suffix}"
    return Intrinsic(builtin, types["D"], tuple(kinds), llvm, declaration, tuple(immediates), tuple(names))


def _stem(inst: Instruction) -> str:
    """The name after __builtin_amdgcn_: the mnemonic's, or for an MFMA that CDNA1 or CDNA2 has, the one it had there
    (v_mfma_f32_4x4x4_16b_bf16 was v_mfma_f32_4x4x4bf16_1k)."""
    if inst.name.startswith("v_mfma"):
        head, _, kind = inst.name.rpartition("_")
        shape = head.removesuffix(f"_{inst.blocks}b")
        for older in (f"{shape}{kind}_1k", f"{shape}{kind}"):
            if older in entry("cdna2").names:
                return older[2:]
    return inst.name[2:]


def _overloads(inst: Instruction, types: dict[str, str], dialect: Dialect) -> str:
    """The types that are part of the LLVM name."""
    operands, _, index = (fitting(inst, dialect.overloads) or "").partition(".")
    if operands == "DA" and inst.formats["C"] != inst.formats["D"]:
        operands = "DAC"
    return "".join(f".{_mangled(types[name])}" for name in operands) + f".{index}" * bool(index)


def _type(inst: Instruction, name: str, wave: int, dialect: Dialect) -> str:
    """The C type of an operand: an element type, and how many make up its registers."""
    registers, form = inst.operand(name, wave).registers, inst.format(name)
    if form.bits < 16:  # narrow elements travel as 32-bit words, two of them in an MFMA as one 64-bit word
        return (fitting(inst, dialect.pair) if registers == 2 else "") or _vector("int", registers)
    chosen = {"f16": dialect.half, "bf16": dialect.bfloat}.get(form.name, {"": _ELEMENTS.get(form.name, "float")})
    return _vector(fitting(inst, chosen) or "", registers * 32 // form.bits)


def _vector(element: str, count: int) -> str:
    return element if count == 1 else f"{element} x{count}"


def _llvm(kind: str) -> str:
    element, _, count = kind.partition(" x")
    return f"<{count} x {_LLVM_TYPES[element]}>" if count else _LLVM_TYPES[kind]


def _mangled(kind: str) -> str:
    element, _, count = kind.partition(" x")
    llvm = _LLVM_TYPES[element]
    return (f"v{count}" if count else "") + _MANGLED.get(llvm, llvm)


# --- What the arguments of clang's builtins are: operands, and immediates that set modifiers ---


OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "a_scale": "SA", "b_scale": "SB"}
"""The operands, by the names of `Intrinsic.arg_names`."""

FIELDS: dict[str, Callable[[int], dict[str, int]]] = {
    # arguments that are not called as the fields that they set; bits of one field from several are put together
    "a_signed": lambda v: {"neg": 1 * bool(v)},
    "b_signed": lambda v: {"neg": 2 * bool(v)},
    "a_neg": lambda v: {"neg": 1 * bool(v), "neg_hi": 1 * bool(v)},
    "b_neg": lambda v: {"neg": 2 * bool(v), "neg_hi": 2 * bool(v)},
    "c_mod": lambda v: {"neg": 4 * (v & 1), "neg_hi": 4 * (v >> 1 & 1)},  # 1 negates, 2 takes the absolute value
    "high": lambda v: {"opsel": 4 * bool(v)},  # the half of the registers of C and D
    "a_op_sel": lambda v: {"opsel": v & 1, "op_sel_hi": v >> 1 & 1},  # the byte of the scale
    "b_op_sel": lambda v: {"opsel": 2 * (v & 1), "op_sel_hi": 2 * (v >> 1 & 1)},
    "a_fmt": lambda v: {"matrix_a_fmt": v},
    "b_fmt": lambda v: {"matrix_b_fmt": v},
    "a_scale_row": lambda v: {"matrix_a_scale": v},
    "b_scale_row": lambda v: {"matrix_b_scale": v},
    "a_scale_fmt": lambda v: {"matrix_a_scale_fmt": v},
    "b_scale_fmt": lambda v: {"matrix_b_scale_fmt": v},
    "a_reuse": lambda v: {},  # a hint to the operand cache
    "b_reuse": lambda v: {},
}
"""How immediate arguments become modifiers. Source: what llc 22.1.8 selects for the intrinsics."""


def fields_of(inst: Instruction, immediates: Mapping[str, int]) -> dict[str, int]:
    """The modifiers that immediate arguments set; those that are 0 are left out.

    >>> import mmacalc
    >>> wmma = mmacalc.instruction("gfx1201", "v_wmma_i32_16x16x16_iu8")
    >>> fields_of(wmma, {"a_signed": 1, "b_signed": 1})
    {'neg': 3}
    """
    fields: dict[str, int] = {}
    for key, value in immediates.items():
        for field, bits in FIELDS.get(key, lambda v, key=key: {key: v})(value).items():
            fields[field] = fields.get(field, 0) | bits
    if inst.format("A", fields).bits > 16:
        fields["neg_hi"] = fields.get("neg_hi", 0) & 4  # one NEG bit is the whole of a 32-bit element
    return {field: value for field, value in fields.items() if value}
