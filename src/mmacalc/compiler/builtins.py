"""The compiler's names of an instruction: clang's builtin with its prototype, and the LLVM intrinsic.

Both follow from the instruction by rule. What an argument list looks like is a row of `_TEMPLATES`; the vector
types follow from the formats and the register counts; the few names that the rule would miss are rows of data.

Source: clang and LLVM 22.1.8 (BuiltinsAMDGPU, IntrinsicsAMDGPU.td), compared for every instruction of every target.
"""

from __future__ import annotations

from collections import namedtuple

from ..asm.forms import UNENCODED
from ..catalog import entry
from ..errors import Error, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["Intrinsic", "by_name", "intrinsic", "intrinsics", "names", "unscaled"]


class Intrinsic(
    namedtuple("Intrinsic", "builtin return_type arg_types llvm_intrinsic declaration immediates arg_names")
):
    """One clang builtin and the LLVM intrinsic behind it.

    builtin: clang's name; return_type, arg_types: its types, a vector as "float x4"; arg_names: what each argument
    is; immediates: the positions of the arguments that must be constants. llvm_intrinsic, declaration: LLVM's name
    with its overloads spelled out, and its declaration (LLVM may have arguments that clang fills in).
    """

    __slots__ = ()
    builtin: str
    return_type: str
    arg_types: tuple[str, ...]
    llvm_intrinsic: str
    declaration: str
    immediates: tuple[int, ...]
    arg_names: tuple[str, ...]

    @property
    def prototype(self) -> str:
        """The builtin's prototype, immediates marked: `float x4 __builtin_...(float, float, float x4, int imm)`."""
        given = (f"{kind} imm" if at in self.immediates else kind for at, kind in enumerate(self.arg_types))
        return f"{self.return_type} {self.builtin}({', '.join(given)})"


# Argument lists: A, B, C are the operands; others are name:type, with "!" if they are immediates. What follows "|"
# LLVM has and clang fills in (with 0).
_TAIL = " a_scale_row:int! a_scale_fmt:int! a_scale:{0} b_scale_row:int! b_scale_fmt:int! b_scale:{0}{1}"
_REUSE = " a_reuse:bool! b_reuse:bool!"
_SIGNED = "a_signed:bool! A b_signed:bool! B C"
_NEGATED = "a_neg:bool! A b_neg:bool! B"
_TEMPLATES = {
    "mfma": "A B C cbsz:int! abid:int! blgp:int!",
    "mfma sparse": "A B C index:int cbsz:int! abid:int!",
    "mfma scale": "A B C cbsz:int! blgp:int! a_op_sel:int! a_scale:int b_op_sel:int! b_scale:int",
    "wmma": "A B C",
    "wmma high": "A B C high:bool!",
    "wmma no-high": "A B C | bool!",
    "wmma integer": f"{_SIGNED} clamp:bool!",
    "wmma sparse": "A B C index:int",
    "wmma sparse integer": f"{_SIGNED} index:int clamp:bool!",
    "cdna5": f"{_NEGATED} c_mod:short! C{_REUSE}",
    "cdna5 narrow": f"A B c_mod:short! C{_REUSE}",
    "cdna5 integer": f"{_SIGNED}{_REUSE} | bool!",
    "cdna5 sparse": f"{_NEGATED} C index:int{_REUSE}",
    "cdna5 sparse narrow": f"A B C index:int{_REUSE}",
    "cdna5 sparse integer": f"{_SIGNED} index:int{_REUSE} | bool!",
    "cdna5 f8f6f4": "a_fmt:int! A b_fmt:int! B c_mod:short! C",
    "cdna5 f4": "A B c_mod:short! C",
}
_C_TYPES = {"bool": "_Bool"}
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
    layout = inst.architecture.layout
    if inst.architecture.vendor != "amd" or inst.name in UNENCODED:
        return ()
    if layout == "mfma" and "A" in inst.choices.values() and not inst.scaled:
        return ()  # clang reaches it through the scaled form's builtin: see `unscaled`
    tied = ("", "_tied") if layout == "wmma-replicated" and inst.format("D").bits == 16 else ("",)
    return tuple(_made(inst, size, variant) for variant in tied)


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
    return tuple(name for one in found for name in (one.builtin, one.llvm_intrinsic))


def by_name(arch: str, name: str) -> tuple[Instruction, Intrinsic]:
    """The instruction and the intrinsic of a builtin's or an LLVM intrinsic's name.

    Raises:
        Error: the architecture has no such builtin.
    """
    found = {}
    for inst in entry(arch).instructions():
        for wave in inst.architecture.waves:
            for one in intrinsics(inst, wave):
                found[one.builtin] = found[one.llvm_intrinsic] = inst, one
    if name not in found:
        hint = did_you_mean(name, found)
        raise Error(f"{entry(arch).architecture.title} has no matrix builtin '{name}'.{hint}")
    return found[name]


def _made(inst: Instruction, wave: int, variant: str) -> Intrinsic:
    stem = _stem(inst)
    types = {name: _type(inst, name, wave) for name in "ABD"}
    types["C"] = _type(inst, "C" if "C" in inst.operands else "D", wave)
    text = _template(inst)
    tokens, _, filled = text.partition(" | ")
    names, kinds, immediates = [], [], []
    for at, token in enumerate(tokens.split()):
        name, _, kind = token.partition(":")
        names.append(name.lower())
        kinds.append(types[token] if token in types else _C_TYPES.get(kind.rstrip("!"), kind.rstrip("!")))
        if token.endswith("!"):
            immediates.append(at)
    arguments = [_llvm(kind) + (" immarg" if at in immediates else "") for at, kind in enumerate(kinds)]
    arguments += [_llvm(kind.rstrip("!")) + " immarg" for kind in filled.split()]
    llvm = f"llvm.amdgcn.{stem}{variant}".replace("_", ".") + _overloads(inst, types)
    declaration = f"{_llvm(types['D'])} @{llvm}({', '.join(arguments)})"
    builtin = f"__builtin_amdgcn_{stem}{variant}{_suffix(inst, wave)}"
    return Intrinsic(builtin, types["D"], tuple(kinds), llvm, declaration, tuple(immediates), tuple(names))


def _template(inst: Instruction) -> str:
    layout = inst.architecture.layout
    if layout == "mfma":
        return _TEMPLATES["mfma scale" if inst.scaled else "mfma sparse" if inst.sparse else "mfma"]
    if layout == "wmma-wave32":
        return _cdna5_template(inst)
    if inst.sparse or inst.integer:
        return _TEMPLATES["wmma" + " sparse" * inst.sparse + " integer" * inst.integer]
    high = {"wmma-replicated": " high", "wmma-wave": " no-high"}[layout]
    return _TEMPLATES["wmma" + high * (inst.format("D").bits == 16)]


def _cdna5_template(inst: Instruction) -> str:
    if "A" in inst.choices.values() or inst.format("A").bits < 8:
        text = _TEMPLATES["cdna5 f8f6f4" if "A" in inst.choices.values() else "cdna5 f4"]
        kind = "long" if inst.block_size == 16 else "int"
        return text + _TAIL.format(kind, _REUSE) * inst.scaled
    narrow = " integer" if inst.integer else " narrow" if inst.format("A").bits == 8 else ""
    return _TEMPLATES["cdna5" + " sparse" * inst.sparse + narrow]


# --- names ---


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


def _suffix(inst: Instruction, wave: int) -> str:
    layout = inst.architecture.layout
    if layout == "wmma-replicated" or (layout == "wmma-wave" and inst.sparse):
        return f"_w{wave}"
    return f"_w{wave}_gfx12" if layout == "wmma-wave" else ""


def _overloads(inst: Instruction, types: dict[str, str]) -> str:
    """The types that are part of the LLVM name."""
    wmma, narrow = inst.architecture.layout != "mfma", inst.format("A").bits < 8 or "A" in inst.choices.values()
    if not wmma:
        shown = "AB" * inst.scaled
    elif inst.sparse or (narrow and inst.architecture.layout == "wmma-wave32"):
        shown = "DAB"
    else:
        shown = "DAC" if inst.formats["C"] != inst.formats["D"] else "DA"
    index = ".i32" if inst.sparse and wmma else ""
    return "".join(f".{_mangled(types[name])}" for name in shown) + index


# --- types ---


def _type(inst: Instruction, name: str, wave: int) -> str:
    """The C type of an operand: an element type, and how many make up its registers."""
    registers, layout = inst.operand(name, wave).registers, inst.architecture.layout
    form = inst.format(name)
    if form.bits < 16:  # narrow elements travel as 32-bit words, two of them in an MFMA as one 64-bit word
        if layout == "mfma" and registers == 2 and not inst.sparse:
            return "long long"
        return _vector("int", registers)
    element = {"f64": "double", "i32": "int", "f16": _half(inst), "bf16": _bfloat(inst)}.get(form.name, "float")
    return _vector(element, registers * 32 // form.bits)


def _vector(element: str, count: int) -> str:
    return element if count == 1 else f"{element} x{count}"


def _half(inst: Instruction) -> str:
    """clang has two names for half: the newer builtins, SWMMAC on, were declared with __fp16."""
    layout = inst.architecture.layout
    return "__fp16" if layout == "wmma-wave32" or (layout == "wmma-wave" and inst.sparse) else "_Float16"


def _bfloat(inst: Instruction) -> str:
    """bf16 was declared as short until clang had __bf16, which the builtins that are new on CDNA4 and CDNA5 use."""
    newer = inst.arch == "cdna4" and inst.name not in entry("cdna3").names
    return "__bf16" if newer or inst.architecture.layout == "wmma-wave32" else "short"


def _llvm(kind: str) -> str:
    element, _, count = kind.partition(" x")
    return f"<{count} x {_LLVM_TYPES[element]}>" if count else _LLVM_TYPES[kind]


def _mangled(kind: str) -> str:
    element, _, count = kind.partition(" x")
    llvm = _LLVM_TYPES[element]
    return (f"v{count}" if count else "") + _MANGLED.get(llvm, llvm)
