"""How clang names and types the builtins of each generation: data for `mmacalc.compiler.builtins`.

A catalog file names the dialect of its architectures. What differs between the instructions of a generation is a
mapping from words to a choice; the entry with the most words that all hold for an instruction counts:

    sparse, scaled, integer    as for the instruction
    scaled16                   a scale for every 16 k
    f8f6f4                     fields choose the formats of A and B
    fp8, f4                    A is an 8-bit or a 4-bit float
    half                       dense, with 16-bit results
    wide                       a lane's A fills 128 bits

Argument lists: A, B, C are the operands; others are name:type, with "!" if they are immediates. What follows "|" LLVM
has and clang fills in (with 0).

Source: clang and LLVM 22.1.8 (BuiltinsAMDGPU, IntrinsicsAMDGPU.td), compared for every instruction of every target.
"""

from __future__ import annotations

from ..base.errors import Error, did_you_mean
from ..base.records import Record, TupleRecord, json_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Instruction


class Dialect(Record):
    """The builtins of a generation.

    Attributes:
        arguments: the argument lists; None where an instruction has no builtin.
        suffixes: what follows the name, {wave} being the wave size.
        overloads: the operands whose types are part of LLVM's name, D A (B); ".i32" is the index's.
        half, bfloat: the element types of f16 and bf16.
        pair: the type of a narrow operand that fills two registers; "" if a vector of int.
        tied: whether instructions with 16-bit results have a second builtin, "tied", which keeps the other halves.
    """

    name: str
    arguments: Mapping[str, str | None]
    overloads: Mapping[str, str]
    suffixes: Mapping[str, str] = {"": ""}
    half: Mapping[str, str] = {"": "_Float16"}
    bfloat: Mapping[str, str] = {"": "short"}
    pair: Mapping[str, str] = {"": ""}
    tied: bool = False


_REUSE = " a_reuse:bool! b_reuse:bool!"
_SIGNED = "a_signed:bool! A b_signed:bool! B C"
_NEGATED = "a_neg:bool! A b_neg:bool! B"
_F8F6F4 = "a_fmt:int! A b_fmt:int! B c_mod:short! C"
_F4 = "A B c_mod:short! C"
_SCALES = " a_scale_row:int! a_scale_fmt:int! a_scale:{0} b_scale_row:int! b_scale_fmt:int! b_scale:{0}" + _REUSE

DIALECTS = {
    "mfma": Dialect(
        "mfma",
        arguments={
            "": "A B C cbsz:int! abid:int! blgp:int!",
            "sparse": "A B C index:int cbsz:int! abid:int!",
            "f8f6f4": None,  # reached through the scaled form's builtin: see `builtins.unscaled`
            "f8f6f4 scaled": "A B C cbsz:int! blgp:int! a_op_sel:int! a_scale:int b_op_sel:int! b_scale:int",
        },
        overloads={"": "", "scaled": "AB"},
        # bf16 was declared as short until clang had __bf16, which the builtins that are new on CDNA4 use.
        bfloat={"": "short", "wide": "__bf16"},
        pair={"": "long long", "sparse": ""},
    ),
    "gfx11": Dialect(
        "gfx11",
        arguments={"": "A B C", "half": "A B C high:bool!", "integer": f"{_SIGNED} clamp:bool!"},
        overloads={"": "DA"},
        suffixes={"": "_w{wave}"},
        tied=True,
    ),
    "gfx12": Dialect(
        "gfx12",
        arguments={
            "": "A B C",
            "half": "A B C | bool!",
            "integer": f"{_SIGNED} clamp:bool!",
            "sparse": "A B C index:int",
            "sparse integer": f"{_SIGNED} index:int clamp:bool!",
        },
        overloads={"": "DA", "sparse": "DAB.i32"},
        suffixes={"": "_w{wave}_gfx12", "sparse": "_w{wave}"},
        half={"": "_Float16", "sparse": "__fp16"},
    ),
    "gfx1250": Dialect(
        "gfx1250",
        arguments={
            "": f"{_NEGATED} c_mod:short! C{_REUSE}",
            "fp8": f"A B c_mod:short! C{_REUSE}",
            "integer": f"{_SIGNED}{_REUSE} | bool!",
            "sparse": f"{_NEGATED} C index:int{_REUSE}",
            "sparse fp8": f"A B C index:int{_REUSE}",
            "sparse integer": f"{_SIGNED} index:int{_REUSE} | bool!",
            "f8f6f4": _F8F6F4,
            "f8f6f4 scaled": _F8F6F4 + _SCALES.format("int"),
            "f8f6f4 scaled scaled16": _F8F6F4 + _SCALES.format("long"),
            "f4": _F4,
            "f4 scaled": _F4 + _SCALES.format("int"),
            "f4 scaled scaled16": _F4 + _SCALES.format("long"),
        },
        overloads={"": "DA", "sparse": "DAB.i32", "f8f6f4": "DAB", "f4": "DAB"},
        half={"": "__fp16"},
        bfloat={"": "__bf16"},
    ),
}


def dialect_of(instruction: Instruction) -> Dialect | None:
    """The dialect of an instruction's architecture; None if clang has no builtins for it.

    Raises:
        Error: its catalog file names a dialect that does not exist.
    """
    name = instruction.architecture.builtins
    if name and name not in DIALECTS:
        raise Error(
            f"the catalog's record of {instruction.arch} names the builtins '{name}'.{did_you_mean(name, DIALECTS)} "
            f"Known: {', '.join(DIALECTS)}"
        )
    return DIALECTS.get(name)


def fitting(instruction: Instruction, choices: Mapping[str, str | None]) -> str | None:
    """The choice for an instruction: that with the most words that all hold.

    >>> import mmacalc
    >>> fitting(mmacalc.instruction("gfx1200", "v_swmmac_f32_16x16x32_f16"), DIALECTS["gfx12"].suffixes)
    '_w{wave}'
    """
    words = _words(instruction)
    return choices[max((key for key in choices if words.issuperset(key.split())), key=lambda key: len(key.split()))]


def _words(inst: Instruction) -> set[str]:
    a, chosen = inst.format("A"), "A" in inst.choices.values()
    holds = {
        "sparse": inst.sparse, "scaled": inst.scaled, "scaled16": inst.block_size == 16, "integer": inst.integer,
        "f8f6f4": chosen, "fp8": a.is_float and a.bits == 8 and not chosen, "f4": a.is_float and a.bits == 4,
        "half": not inst.sparse and inst.format("D").bits == 16, "wide": inst.operand("A").registers == 4,
    }  # fmt: skip
    return {word for word, fits in holds.items() if fits}


# --- What a compiler calls an instruction, as a record ---


@json_keys(
    "builtin",
    "return_type",
    "arg_types",
    "llvm_intrinsic",
    "declaration",
    "immediates: positions of the arguments that must be constants",
    "arg_names",
    "prototype",
)
class Intrinsic(TupleRecord):
    """One clang builtin and the LLVM intrinsic behind it, or a function of OpenCL, without an LLVM intrinsic.

    builtin: clang's name; return_type, arg_types: its types, a vector as "float x4"; arg_names: what each argument
    is; immediates: the positions of the arguments that must be constants. llvm_intrinsic, declaration: LLVM's name
    with its overloads spelled out, and its declaration (LLVM may have arguments that clang fills in). Of NVIDIA's
    instructions the names alone: without overloads, types and arguments; builtin is "" where clang has none.
    """

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
        if not self.return_type:  # NVIDIA's, of which the names are known
            return self.builtin
        given = (f"{kind} imm" if at in self.immediates else kind for at, kind in enumerate(self.arg_types))
        return f"{self.return_type} {self.builtin}({', '.join(given)})"
