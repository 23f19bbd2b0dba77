"""What a GEMM kernel does with its sums before it stores them: scales, C, a bias, an activation, a narrower format.

One record says what is computed; a dialect has what a language needs for it: how a format is widened to f32, how the
hardware rounds f32 to it, its approximations of 2^x and 1/x. From both follows one function, `finished`, which every
kernel calls for each element: nothing else of a kernel knows what the epilogue computes.

Order and formats are those of cuBLASLt and hipBLASLt: D = activation(alpha * scales * (A B) + beta * C + bias), in f32;
C has D's format, and bf16 where D has 8 bits (cuBLAS 13.0, cublasLtMatmul, table of supported FP8 types).
"""

from __future__ import annotations

import re

from ..base.checks import shown
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from ..catalog import entry
from ..formats import FORMATS
from .source import indented, memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..formats import Format
    from ..model import Instruction

__all__ = [
    "DIALECTS", "Epilogue", "NO_EPILOGUE", "Parameters", "c_format", "epilogue_of", "finishing", "output_format",
    "parameters", "sums_format",
]  # fmt: skip

SIDES = ("row", "column")
ACTIVATIONS = {
    "relu": "value < 0 ? 0 : value",
    # x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), written with exp: -2 sqrt(2 / pi) log2(e) = -2.3022082
    "gelu": "value * reciprocal(1 + power_of_2(-2.3022082f * (value + 0.044715f * value * value * value)))",
    "silu": "value * reciprocal(1 + power_of_2(-1.44269504f * value))",
}
OUTPUTS = ("f32", "f16", "bf16", "fp8", "bf8")
SMALL = {"fp8": "e4m3", "bf8": "e5m2"}
FLAGS = ("alpha", "beta")
WORDS = (*FLAGS, "bias=row", "bias=column", "scale=row", "scale=column", *ACTIVATIONS, *[f"to={to}" for to in OUTPUTS])


class Epilogue(TupleRecord):
    """What is done with a sum: D = activation(alpha * row scale * column scale * sum + beta * C + bias), in f32.

    alpha, beta: whether the kernel takes them; bias: "row" (one for each row of D), "column", or ""; row_scale,
    column_scale: whether it takes one for each row of D, each column; activation: "relu", "gelu" (by tanh), "silu" or
    ""; to: the format of D: "f32", "f16", "bf16", "fp8" or "bf8", "" for that of the sums. sums: their format where it
    is not that of the instruction's D.
    """

    alpha: bool = False
    beta: bool = False
    bias: str = ""
    row_scale: bool = False
    column_scale: bool = False
    activation: str = ""
    to: str = ""
    sums: str = ""

    @property
    def of_parts(self) -> Epilogue:
        """That of parts of K, whose sums are stored as they are."""
        return NO_EPILOGUE._replace(sums=self.sums)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that say it."""
        found = [name for name in FLAGS if getattr(self, name)]
        found += [f"scale={side}" for side in SIDES if getattr(self, f"{side}_scale")]
        found += [f"bias={self.bias}"] * bool(self.bias) + [self.activation] * bool(self.activation)
        return (*found, *[f"to={self.to}"] * bool(self.to))

    @property
    def suffix(self) -> str:
        """What the names of kernels with it end in."""
        return "".join(f"_{word.replace('=', '_')}" for word in self.words)

    @property
    def placed(self) -> bool:
        """Whether it reads what belongs to a row or column of D."""
        return self.beta or self.row_scale or self.column_scale or bool(self.bias)

    @property
    def formula(self) -> str:
        """D as a formula of the sums A B."""
        factors = [*["alpha"] * self.alpha, *[f"{side}_scale" for side in SIDES if getattr(self, f"{side}_scale")]]
        terms = [
            " * ".join([*factors, "A B"]),
            *["beta * C"] * self.beta,
            *[f"bias of the {self.bias}"] * bool(self.bias),
        ]
        found = " + ".join(terms)
        return f"{self.activation}({found})" if self.activation else found


NO_EPILOGUE = Epilogue()


class Parameters(TupleRecord):
    """What an epilogue adds behind a kernel's parameters, and behind the arguments of a call."""

    declared: str
    passed: str


class Dialect(TupleRecord):
    """What a language needs: functions by name; expressions that widen `value` to f32, by format; statements that
    return `value` rounded, by format; and the instruction that a target has to have for these."""

    functions: Mapping[str, str]
    widen: Mapping[str, str]
    round: Mapping[str, Sequence[str]]
    needs: Mapping[str, str]


def _amd_small(name: str) -> tuple[str, ...]:
    return (
        "value = value == value ? __builtin_amdgcn_fmed3f(value, -LARGEST, LARGEST) : value;  // NaN stays",
        f"return (unsigned char)__builtin_amdgcn_cvt_pk_{name}_f32(value, value, 0, false);",
    )


def _nvidia_16(name: str) -> tuple[str, ...]:
    return (
        "unsigned short found;",
        f'asm("cvt.rn.{name}.f32 %0, %1;" : "=h"(found) : "f"(value));',
        "return found;",
    )


def _nvidia_small(name: str) -> tuple[str, ...]:
    return (
        "unsigned short found;  // two elements: the other is 0",
        f'asm("cvt.rn.satfinite.{SMALL[name]}x2.f32 %0, %1, %2;" : "=h"(found) : "f"(0.0f), "f"(value));',
        "return (unsigned char)found;",
    )


def _nvidia_function(name: str, parameter: str, opcode: str, operand: str) -> str:
    """A function of f32 around one PTX instruction."""
    numbers = ", ".join(f"%{number}" for number in range(1 + operand.count('"(')))
    return f"""\
static __device__ float {name}({parameter}) {{
    float found;
    asm("{opcode} {numbers};" : "=f"(found) : {operand});
    return found;
}}
"""


DIALECTS = {
    "hip": Dialect(
        {
            "power_of_2": "static __device__ float power_of_2(float x) { return __builtin_amdgcn_exp2f(x); }\n",
            "reciprocal": "static __device__ float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }\n",
            "multiply_add": (
                "static __device__ float multiply_add(float x, float y, float z) { return __builtin_fmaf(x, y, z); }\n"
            ),
        },
        {
            "f32": "value", "i32": "(float)value", "f16": "(float)value",
            "bf16": "__builtin_bit_cast(float, (unsigned int)value << 16)",
        },
        {
            "f32": ("return value;",), "f16": ("return (_Float16)value;",),
            "bf16": ("return __builtin_bit_cast(unsigned short, (__bf16)value);",),
            "fp8": _amd_small("fp8"), "bf8": _amd_small("bf8"),
        },
        {"fp8": "v_cvt_pk_fp8_f32", "bf8": "v_cvt_pk_bf8_f32"},
    ),
    "cuda": Dialect(
        {
            "power_of_2": _nvidia_function("power_of_2", "float x", 'ex2.approx.f32', '"f"(x)'),
            "reciprocal": _nvidia_function("reciprocal", "float x", "rcp.approx.f32", '"f"(x)'),
            "multiply_add": _nvidia_function(
                "multiply_add", "float x, float y, float z", "fma.rn.f32", '"f"(x), "f"(y), "f"(z)'
            ),
            "f16_widened": _nvidia_function("f16_widened", "unsigned short x", "cvt.f32.f16", '"h"(x)'),
            "bf16_widened": _nvidia_function(
                "bf16_widened", "unsigned short x", "mov.b32", '"r"((unsigned int)x << 16)'
            ),
        },
        {"f32": "value", "i32": "(float)value", "f16": "f16_widened(value)", "bf16": "bf16_widened(value)"},
        {
            "f32": ("return value;",), "f16": _nvidia_16("f16"), "bf16": _nvidia_16("bf16"),
            "fp8": _nvidia_small("fp8"), "bf8": _nvidia_small("bf8"),
        },
        {"bf16": "cvt.rn.bf16x2.f32", "fp8": "cvt.rn.satfinite.e4m3x2.f32", "bf8": "cvt.rn.satfinite.e5m2x2.f32"},
    ),
}  # fmt: skip


def epilogue_of(given: str | Epilogue | None, inst: Instruction, scaled: bool = False) -> Epilogue:
    """The epilogue that words say.

    Args:
        given: "alpha,beta,scale=row,scale=column,bias=column,relu,to=f16", or some of these; or the record.
        scaled: whether the kernel itself makes the sums f32: those of integers, too (see `gemm_scales`).

    Raises:
        Error: a word that is none, or said twice; sums that f32 does not hold; a format that the target does not
            convert to.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    >>> found = epilogue_of("alpha,beta,bias=column,relu,to=f16", inst)
    >>> found.formula, found.to
    ('relu(alpha * A B + beta * C + bias of the column)', 'f16')
    """
    own = "f32" if scaled and inst.format("D").name != "f32" else ""
    if given is None:
        return NO_EPILOGUE._replace(sums=own, to=own)
    found = given if isinstance(given, Epilogue) else _read(given)
    for word in found.words:
        if word not in WORDS:
            raise Error(f"an epilogue has the words {', '.join(WORDS)}; got '{word}'.{did_you_mean(word, WORDS)}")
    if found == NO_EPILOGUE:
        return found
    sums = inst.format("D").name
    dialect = DIALECTS[inst.architecture.family.language]
    if sums not in dialect.widen:
        raise Error(f"an epilogue is computed in f32; the sums of {inst.name} are {sums}: leave epilogue out")
    to = found.to or ("f32" if sums == "i32" else sums)
    needed = dialect.needs.get(to)
    if needed and needed not in entry(inst.arch).vector_instructions:
        raise Error(f"{inst.architecture.title} has no conversion of f32 to {to} ({needed}): use to=f32 or to=f16")
    return found._replace(to=to, sums=own)


def _read(text: str) -> Epilogue:
    if not isinstance(text, str):
        raise Error(f"epilogue is words such as 'alpha,beta,bias=column,relu,to=f16'; got {shown(text)}")
    values: dict[str, Any] = {}
    for word in text.replace(" ", "").split(","):
        if word not in WORDS:
            raise Error(f"epilogue has the words {', '.join(WORDS)}; got '{word}'.{did_you_mean(word, WORDS)}")
        name, _, value = word.partition("=")
        if name == "scale":
            name, value = f"{value}_scale", ""
        elif name in ACTIVATIONS:
            name, value = "activation", name
        if name in values:
            raise Error(f"epilogue says {name} twice: '{values[name] or name}' and '{value or word}'; leave one out")
        values[name] = value or True
    return Epilogue(**values)


def sums_format(inst: Instruction, epilogue: Epilogue) -> Format:
    """The format of the sums that an epilogue takes."""
    return FORMATS[epilogue.sums] if epilogue.sums else inst.format("D")


def output_format(inst: Instruction, epilogue: Epilogue) -> Format:
    """The format of D in memory."""
    if not epilogue.to:
        return sums_format(inst, epilogue)
    small = SMALL.get(epilogue.to, epilogue.to)
    return FORMATS[inst.architecture.format_names.get(epilogue.to, small)]


def c_format(inst: Instruction, epilogue: Epilogue) -> Format:
    """The format of C in memory."""
    found = output_format(inst, epilogue)
    return FORMATS["bf16"] if found.bits == 8 else found


def parameters(inst: Instruction, epilogue: Epilogue) -> Parameters:
    """What the kernels take besides, in order: C, the scales, the bias, ldc, alpha, beta."""
    declared: list[str] = []
    if epilogue.beta:
        kind = memory_type(c_format(inst, epilogue).name, inst.architecture.family.language)
        declared.append(f"const {kind} *C")
    declared += [f"const float *{side}_scale" for side in SIDES if getattr(epilogue, f"{side}_scale")]
    declared += ["const float *bias"] * bool(epilogue.bias)
    declared += ["int ldc"] * epilogue.beta
    declared += [f"float {name}" for name in FLAGS if getattr(epilogue, name)]
    if not declared:
        return Parameters("", "")
    names = [text.replace("*", " ").split()[-1] for text in declared]
    pointers, numbers = (", ".join([text for text in declared if ("*" in text) == way]) for way in (True, False))
    lines = "".join(f",\n    {line}" for line in (pointers, numbers) if line)
    return Parameters(lines, f", {', '.join(names)}")


def finishing(inst: Instruction, epilogue: Epilogue) -> Iterator[str]:
    """The function that makes an element of D from a sum, and the comment that says what it computes."""
    if not epilogue.words:
        return
    language = inst.architecture.family.language
    dialect, form = DIALECTS[language], output_format(inst, epilogue)
    kinds = [memory_type(each.name, language) for each in (sums_format(inst, epilogue), form)]
    statements = [*_statements(inst, epilogue, dialect)]
    for name, lines in dialect.functions.items():
        if any(re.search(rf"\b{name}\(", line) for line in statements):
            yield lines
    yield f"// An element of D = {epilogue.formula},"
    most = ", at most its largest number" * (form.bits == 8)
    yield f"// computed in f32 and rounded to the nearest {form.name}{most}."
    if epilogue.beta:
        c = c_format(inst, epilogue)
        yield f"// C has elements of {c.name}; it is not read where beta is 0{'; it may be D' * (c == form)}."
    yield f"static __device__ {kinds[1]} finished("
    yield f"    {kinds[0]} sum, int row, int column, int M, int N{parameters(inst, epilogue).declared}) {{"
    yield from indented(statements)
    yield "}"
    yield ""


def _statements(inst: Instruction, epilogue: Epilogue, dialect: Dialect) -> Iterator[str]:
    def widened(form: str, value: str) -> str:
        return dialect.widen[form].replace("value", value)

    if epilogue.beta:
        yield "const bool inside = row < M && column < N;"
    if epilogue.bias or epilogue.row_scale or epilogue.column_scale:
        yield "// What is beyond D is not stored; it gets what the last row and column have."
        yield "row = row < M ? row : M - 1;"
        yield "column = column < N ? column : N - 1;"
    yield f"float value = {widened(sums_format(inst, epilogue).name, 'sum')};"
    yield from (f"value *= {side}_scale[{side}];" for side in SIDES if getattr(epilogue, f"{side}_scale"))
    if epilogue.alpha:
        yield "value *= alpha;"
    if epilogue.beta:
        c = widened(c_format(inst, epilogue).name, "C[(long long)row * ldc + column]")
        yield f"if (beta != 0 && inside) value += beta * {c};"
    if epilogue.bias:
        yield f"value += bias[{epilogue.bias}];"
    if epilogue.activation:
        yield f"value = {ACTIVATIONS[epilogue.activation]};"
    form = output_format(inst, epilogue)
    yield from (line.replace("LARGEST", f"{_largest(form)}.0f") for line in dialect.round[epilogue.to])


def _largest(form: Format) -> int:
    from ..arithmetic.codecs import largest

    return int(largest(form.name))
