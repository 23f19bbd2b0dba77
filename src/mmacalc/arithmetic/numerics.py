"""How an instruction computes: its arithmetic model, how sure that is, and the same in words.

The rows that decide are in `mmacalc.arithmetic.tables`; nothing here needs NumPy.
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..formats import named
from .tables import ASSUMED, HARDWARE, OWN_NAN, TABLES, TWO, UNDECIDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model import Instruction
    from .tables import Row

__all__ = ["ALIASES", "MMA_SIM_NAMES", "Numerics", "kind", "model_name", "numerics", "refusal"]

ALIASES = {
    "T": "aligned_truncated", "R": "two_stage_floored", "R8": "two_stage_floored_even_odd", "P": "pairwise_f32",
    "X": "exact", "F": "fma_chain", "S": "block_scaled_fp4", "M16": "fp8_two_halves",
    "I": "integer",
}  # fmt: skip
"""The models' names in version 0.1."""

MMA_SIM_NAMES = {
    "aligned_truncated": "T-FDPA", "block_scaled_fp4": "GST-FDPA", "two_stage_floored": "TR-FDPA",
    "two_stage_floored_even_odd": "GTR-FDPA", "exact": "E-FDPA", "pairwise_f32": "FTZ_MUL_ADD", "fma_chain": "FMA",
}  # fmt: skip
"""The names of the models in MMA-Sim 2, of those that it has; with block scales T-FDPA is ST-FDPA."""

EXPLANATIONS = {
    "aligned_truncated": (
        "The {group} products of a step and the accumulator are aligned to the largest exponent among them; each is "
        "cut toward zero {fraction} fraction bits below that exponent (which is 2^{lowest} at least, and to which a "
        "zero contributes nothing); the cut terms are added exactly. {final}{chain}"
    ),
    "two_stage_floored": (
        "The {group} products of a step are aligned to their largest exponent, cut toward zero {fraction} fraction "
        "bits below it and added; that sum is floored at {dot_fraction} bits and the accumulator at {fraction} bits "
        "below the larger exponent of the two; their sum is floored to {sum_fraction} fraction bits and rounded to "
        "nearest even. A single product of 2^128 or more is an infinity.{chain}"
    ),
    "two_stage_floored_even_odd": (
        "The {group} products of a step are split into even and odd k; each half is aligned to its own largest "
        "exponent, cut toward zero {fraction} fraction bits below it and added; the two sums are floored at {fraction} "
        "bits and added; that is floored at {dot_fraction} bits and the accumulator at {fraction} bits below the "
        "larger exponent of the two (the accumulator counts as 0 when it is more than {reach} exponents below); their "
        "sum is floored to {sum_fraction} fraction bits and rounded to nearest even.{chain}"
    ),
    "dot2_ones_complement": (
        "A chain of two-product steps. Products and accumulator are cut toward zero to a common grid: the coarser of "
        "{fraction} bits below the largest exponent of the products and {reach} bits below the leading bit of the "
        "largest term. A product whose sign is not the accumulator's is added as its one's complement, one unit too "
        "low. {final}{chain}"
    ),
    "dot4_floored": (
        "A chain of steps of {group} products. Each {pair} of them are floored {fraction} bits below their largest "
        "exponent and added; these sums and the accumulator are floored to a common grid: the coarser of {fraction} "
        "bits below the largest exponent of the products and {reach} bits below the accumulator's leading bit. "
        "{final}{chain}"
    ),
    "pairwise_f32": (
        "Each product is rounded to f32; {group} of them are added pairwise in a balanced tree, and the result to the "
        "accumulator, each addition rounded to nearest even in f32.{flushing}{chain}"
    ),
    "two_chains": (
        "Two chains of fused multiply-adds from plus zero, over the even k and over the odd k; the two are added, and "
        "the result to the accumulator, each rounded to nearest even in f32; results and an accumulator below 2^-126 "
        "become zeros of their sign{flushing}."
    ),
    "rounded_to_odd": (
        "The {group} products of a step are rounded to f32, then their sum, then that and the accumulator, each to odd "
        "(cut toward zero, the last bit set if anything was lost); operands and results below 2^-126 become zeros of "
        "their sign.{chain}"
    ),
    "exact": "The exact sum of {group} products and the accumulator, rounded once to nearest even.{chain}",
    "fma_chain": "A chain of fused multiply-adds in the order of k, from the accumulator on, each rounded once "
    "({round}).",
    "block_scaled_fp4": (
        "Each run of {group} products is added exactly and multiplied by its two scales; the results and the "
        "accumulator are cut toward zero {fraction} fraction bits below the largest exponent of the scales and of the "
        "accumulator, added exactly, and cut toward zero to f32."
    ),
    "fp8_two_halves": (
        "Two steps: the products {halves} on top of the first result. In each, all terms are cut toward zero "
        "{fraction} fraction bits below the largest exponent (which is 2^{lowest} at least), added exactly and {step}. "
        "The accumulator is added last, rounded to nearest even."
    ),
    "integer": "Exact integer arithmetic; the sum wraps modulo 2^32, or saturates to int32 if the instruction "
    "{saturates}.",
}

TOWARD_ZERO, NEAREST = "toward zero", "nearest even"
ROUNDINGS = {"rn": NEAREST, "rz": TOWARD_ZERO, "rm": "down", "rp": "up"}


class Numerics(TupleRecord):
    """How an instruction computes.

    model: the name of a function in `mmacalc.arithmetic.models`.MODELS; parameters: its keyword arguments;
    provenance: how sure that is; source: citation; explanation: the same in words. rounding: how a result is rounded
    to D's format; subnormals: "kept", or what becomes zero; nan: the bits of a NaN result, "canonical" where they are
    unpublished, "" for integers; step: how many products are added at once, where K has as many: a number, "K", or
    "K/2".
    """

    model: str
    parameters: Mapping[str, Any]
    provenance: str
    source: str
    explanation: str
    rounding: str
    subnormals: str
    nan: str
    step: str


def model_name(name: str) -> str:
    """The name of a model, which may be given by its letter in version 0.1.

    >>> model_name("R8")
    'two_stage_floored_even_odd'
    """
    return ALIASES.get(name, name)


def kind(inst: Instruction) -> str:
    """The sort of an instruction: mfma, smfmac, wmma (of AMD, and of NVIDIA), swmmac, mma, wgmma or tcgen05.

    >>> import mmacalc
    >>> kind(mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16"))
    'mfma'
    """
    name = inst.name.removeprefix("v_")
    return name.replace(".", "_").split("_")[0]


def numerics(inst: Instruction, **modifiers: int | str) -> Numerics:
    """The arithmetic model of an instruction; `modifiers` matter where a field chooses the formats.

    Raises:
        Error: the instruction only moves a matrix (ldmatrix), or its architecture's record names no table of ours.

    >>> import mmacalc
    >>> found = numerics(mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"))
    >>> found.model, dict(found.parameters), found.provenance
    ('aligned_truncated', {'group': 8, 'fraction': 24, 'lowest': -132}, 'hardware-verified')
    """
    if not {"A", "B"} <= set(inst.operands):
        raise Error(f"{inst.name} moves a matrix and computes nothing, so it has no arithmetic model")
    inst.architecture.family.require("arithmetic", inst.name)
    inst, rest = inst.split_parameters(modifiers)
    fields = inst.resolved(rest)
    formats = {operand: inst.format_of(operand, fields).name for operand in "ABCD"}
    row = _row(inst, formats)
    if not row.model:
        raise Error(_refused(inst, row))
    parameters, provenance, source = dict(row.parameters), row.provenance, row.source
    stored = inst.k // 2 if inst.sparse else inst.k
    if "group" in parameters:
        parameters["group"] = min(parameters["group"] or stored, stored)
    if row.model == "fma_chain" and formats["D"] == "f64" and inst.rounding:
        parameters["rounding"] = inst.rounding
    if provenance == HARDWARE:
        provenance, source = _of_measured(row, stored)
    if row.model != "integer" and (analogy := inst.architecture.family.analogy(inst)):
        provenance, source = ASSUMED, f"{analogy}: {source}"
    explanation = _explain(inst, row.model, parameters, formats, stored)
    rounding, subnormals = _rounding(row.model, parameters, formats["D"]), _subnormals(row.model, parameters, formats)
    nan = _nan(inst, row.model, formats)
    step = {"fma_chain": "1", "two_chains": "1", "rounded_to_odd": "1", "fp8_two_halves": "K/2"}.get(row.model) or str(
        row.parameters.get("group") or "K"
    )
    return Numerics(row.model, parameters, provenance, source, explanation, rounding, subnormals, nan, step)


def _of_measured(row: Row, stored: int) -> tuple[str, str]:
    """The provenance and the source of a row that says "hardware-verified": what the measured outputs do not decide."""
    if stored > row.measured:
        return TWO, f"{row.source}; measured with a K of {row.measured}"
    by: dict[str, list[str]] = {}
    for what, source in row.undecided.items():
        by.setdefault(source, []).append(UNDECIDED[what])
    open_ = "; ".join(f"{' and '.join(words)} ({source})" for source, words in by.items())
    return HARDWARE, row.source + (f"; the outputs recorded here do not show {open_}" if open_ else "")


def refusal(inst: Instruction) -> str:
    """Why the arithmetic of an instruction that multiplies is not computed; "" where it is.

    >>> import mmacalc
    >>> refusal(mmacalc.instruction("amx-dmr", "tdpbf8ps"))[:24]
    "tdpbf8ps: Intel's ISE re"
    >>> refusal(mmacalc.instruction("amx-dmr", "tdpbf16ps"))
    ''
    """
    if reason := inst.architecture.family.unsupported_topics.get("arithmetic"):
        return reason.format(title=inst.name)
    row = _row(inst, {operand: inst.format_of(operand).name for operand in "ABCD"})
    return "" if row.model else _refused(inst, row)


def _refused(inst: Instruction, row: Row) -> str:
    return f"{inst.name}: {row.source}"


def _row(inst: Instruction, formats: Mapping[str, str]) -> Row:
    table = inst.architecture.arithmetic
    if table not in TABLES:
        known = ", ".join(name for name in TABLES if name)
        raise Error(f"the catalog's record of {inst.arch} names the arithmetic '{table}'; there are {known}")
    for row in (*TABLES[table], *TABLES[""]):
        fits = (
            (not row.inputs or {formats["A"], formats["B"]} <= set(row.inputs))
            and (not row.outputs or formats["D"] in row.outputs)
            and (not row.kinds or kind(inst) in row.kinds)
            and row.name in inst.name
        )
        if fits:
            return row
    raise AssertionError("the last row fits everything")


# --- in words -----------------------------------------------------------------------------------------------------


def _explain(
    inst: Instruction, model: str, parameters: Mapping[str, Any], formats: Mapping[str, str], stored: int
) -> str:
    words = {"group": stored, **parameters}
    chain = ""
    if words["group"] < stored:
        chain = (
            f" k longer than {words['group']} is a chain, low k first: the result of one step is the accumulator of "
            "the next."
        )
    saturates = "says .satfinite" if inst.architecture.family.satfinite else "clamps"
    if inst.in_tensor_memory:
        saturates = "descriptor says so"
    halves = (
        "with k % 8 below 4, then the others"
        if inst.sparse
        else "with k % 4 of 0 and 1, then those with k % 4 of 2 and 3"
    )
    step = "rounded to nearest even to f16" if formats["D"] == "f16" else "cut toward zero to f32"
    text = EXPLANATIONS[model].format(
        **words, chain=chain, halves=halves, step=step, final=_final(model, parameters, formats["D"]),
        saturates=saturates, flushing=_flushing(model, parameters), round=_rounding(model, parameters, formats["D"]),
    )  # fmt: skip
    nan = _nan(inst, model, formats)
    return f"{text} {_NAN_SENTENCES.get(nan, f'A NaN result is {nan}.')}" if nan else text


def _flushing(model: str, parameters: Mapping[str, Any]) -> str:
    """What becomes of subnormal factors, and of pairwise_f32 also of results."""
    if model == "two_chains":
        return ", as do factors" if parameters["flush_inputs"] else ""
    flushed = " Subnormal inputs become plus zero, subnormal results zero."
    return flushed if parameters.get("flush") else ""


def _final(model: str, parameters: Mapping[str, Any], out: str) -> str:
    if model in OWN_NAN:
        flush = ", subnormal results to zero" if model == "dot2_ones_complement" else ""
        return {
            "f32": f"The sum is rounded to nearest even to f32{flush}.",
            "f16": "The sum is rounded to nearest even to f16, after every step.",
            "bf16": f"The sum is rounded to nearest even to f32{flush} and cut to bf16, after every step.",
        }[out]
    if out == "f16":
        return "The sum is rounded to nearest even to f16."
    kept = parameters.get("kept")
    return f"The sum is cut toward zero to f32{f' with {kept} fraction bits' if kept else ''}."


def _rounding(model: str, parameters: Mapping[str, Any], out: str) -> str:
    """How a result is rounded to D's format."""
    if model == "integer":
        return "none"
    if model in ("aligned_truncated", "block_scaled_fp4"):
        kept = parameters.get("kept")
        return NEAREST if out == "f16" else TOWARD_ZERO + (f", {kept} fraction bits" if kept else "")
    if model in OWN_NAN and out == "bf16":
        return f"{NEAREST} to f32, then {TOWARD_ZERO}"
    return "to odd" if model == "rounded_to_odd" else ROUNDINGS[parameters.get("rounding", "rn")]


def _subnormals(model: str, parameters: Mapping[str, Any], formats: Mapping[str, str]) -> str:
    if model == "integer":
        return ""
    if model == "rounded_to_odd" or parameters.get("flush") or parameters.get("flush_inputs"):
        return "inputs, C and results flushed"
    if model == "two_chains":
        return "C and results flushed"
    if model == "dot2_ones_complement":
        flushed = [name for name, operand in (("inputs", "A"), ("C and results", "D")) if formats[operand] != "f16"]
        return f"{' and '.join(flushed).replace('inputs and C and', 'inputs, C and')} flushed" if flushed else "kept"
    return "kept"


_NAN_SENTENCES = {
    "canonical": "The bits of a NaN result are not published: the canonical quiet NaN is given.",
}


def _nan(inst: Instruction, model: str, formats: Mapping[str, str]) -> str:
    """The bits of a NaN result, "canonical" where they are unpublished."""
    out = formats["D"]
    if not named(out).is_float:
        return ""
    if model in OWN_NAN:
        factor, invalid = {"f32": ("0xFFC00A3D", "0xFFC00000"), "f16": ("0xFE3D", "0xFE00"),
                           "bf16": ("0xFFFD", "0xFFC0")}[out]  # fmt: skip
        if named(formats["A"]).bits == 8:
            return f"{factor}; C's NaN quieted"
        return f"{factor} from a NaN factor, {invalid} from an invalid product, C's NaN quieted"
    return inst.architecture.family.nan_codes.get(out, "canonical")
