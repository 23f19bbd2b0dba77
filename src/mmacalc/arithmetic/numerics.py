"""Which arithmetic model an instruction follows: a table of rows, the first that fits decides.

A row is (architectures, conditions, model, parameters, provenance, note). Architectures are the catalog's names;
an empty tuple means all. A condition names what must hold: `inputs` and `outputs`, the formats of A and B and of
D; `kinds`, the sort of instruction; `name`, a part of the mnemonic. The parameters are those of the model's
function in `mmacalc.arithmetic.models`; a `group` is shortened to K.

Provenance. "hardware-verified": compared bit for bit with outputs measured on that generation by Khattak and
Mikaitis. "two sources agree": two published models. "one source": one of them, or a vendor's document alone.
"assumed": nobody has published how the instruction rounds.

Nothing here needs NumPy, so that a page of text can show a model without loading it.
"""

from __future__ import annotations

from collections import namedtuple

from ..errors import Error
from ..formats import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model import Instruction

__all__ = ["ALIASES", "Numerics", "kind", "model_name", "numerics"]

HARDWARE, TWO, ONE, ASSUMED = "hardware-verified", "two sources agree", "one source", "assumed"

MMA_SIM = "MMA-Sim (arXiv 2511.10909)"
KHATTAK = "Khattak and Mikaitis (arXiv 2512.07004)"
BOTH = f"{MMA_SIM}; {KHATTAK}"

VOLTA = ("sm_70", "sm_72")
TURING = ("sm_75",)
AMPERE = ("sm_80", "sm_86", "sm_87", "sm_88")
ADA = ("sm_89",)
HOPPER = ("sm_90", "sm_90a")
B200 = ("sm_100", "sm_100a", "sm_100f")
BLACKWELL = (*B200, "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f")
BLACKWELL_RTX = ("sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f")
NVIDIA = (*VOLTA, *TURING, *AMPERE, *ADA, *HOPPER, *BLACKWELL, *BLACKWELL_RTX)

HALF = ("f16", "bf16")
FP8 = ("e4m3", "e5m2")
NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
FNUZ = ("e4m3fnuz", "e5m2fnuz")
INTEGERS = ("i8", "u8", "i4", "u4", "iu8", "iu4", "b1")

# fmt: off
ROWS: tuple[tuple[tuple[str, ...], dict[str, Any], str, dict[str, Any], str, str], ...] = (
    ((), {"inputs": INTEGERS}, "integer", {}, ONE, "the vendors' ISA documents"),
    ((), {"inputs": ("f64",)}, "fma_chain", {}, ONE, MMA_SIM),

    # AMD
    (("cdna1", "cdna2", "cdna3", "cdna4"), {"inputs": ("f32",)}, "fma_chain", {}, ONE, MMA_SIM),
    (("cdna5", "gfx1251"), {"inputs": ("f32",)}, "fma_chain", {}, ASSUMED, "as CDNA1 to CDNA4"),
    (("cdna1",), {"inputs": ("f16",)}, "exact", {"group": 4}, ASSUMED,
     f"{KHATTAK}; {MMA_SIM} says pairwise_f32 with 4 products instead, so this is unresolved"),
    (("cdna1",), {"inputs": ("bf16",)}, "exact", {"group": 2}, ASSUMED,
     f"{KHATTAK}; {MMA_SIM} says pairwise_f32 with 2 products instead, so this is unresolved"),
    (("cdna2",), {"inputs": ("bf16",), "name": "bf16_1k"}, "pairwise_f32", {"group": 4, "flush": True}, TWO, BOTH),
    (("cdna2",), {"inputs": ("bf16",)}, "pairwise_f32", {"group": 2, "flush": True}, TWO, BOTH),
    (("cdna2",), {"inputs": ("f16",)}, "pairwise_f32", {"group": 4, "flush": True}, TWO, BOTH),
    (("cdna3",), {"inputs": HALF, "kinds": ("mfma",)}, "two_stage_floored", {"group": 8}, TWO, BOTH),
    (("cdna3",), {"inputs": ("xf32",)}, "two_stage_floored", {"group": 4}, ONE,
     f"{MMA_SIM}; that the low 13 bits of the operands are cut is AMD's documentation"),
    (("cdna3",), {"inputs": FNUZ, "kinds": ("mfma",)}, "two_stage_floored_even_odd", {"group": 16}, TWO, BOTH),

    # NVIDIA. m8n8k4.f16 has no tensor-core opcode after Turing: ptxas writes ordinary instructions instead.
    (VOLTA, {"inputs": ("f16",)}, "aligned_truncated", {"group": 4, "fraction": 23}, HARDWARE, f"{BOTH}, V100"),
    (TURING, {"inputs": ("f16",)}, "aligned_truncated", {"group": 8, "fraction": 24}, ONE, MMA_SIM),
    (NVIDIA, {"inputs": ("f16",), "name": "m8n8k4."}, "fma_chain", {}, ASSUMED,
     "it has no tensor-core opcode here (ptxas 13.0): ordinary fused multiply-adds, in the order of k"),
    ((*AMPERE, *ADA), {"inputs": HALF}, "aligned_truncated", {"group": 8, "fraction": 24},
     HARDWARE, f"{BOTH}, A100, A2, Ada, L40S"),
    ((*AMPERE, *ADA), {"inputs": ("tf32",)}, "aligned_truncated", {"group": 4, "fraction": 24}, HARDWARE,
     f"{BOTH}, A100, A2, Ada, L40S"),
    (ADA, {"inputs": FP8, "outputs": ("f32",)}, "aligned_truncated", {"group": 16, "fraction": 13, "kept": 13},
     HARDWARE, f"{BOTH}, Ada, L40S"),
    (ADA, {"inputs": FP8, "outputs": ("f16",)}, "aligned_truncated", {"group": 16, "fraction": 13},
     HARDWARE, f"{BOTH}, Ada, L40S"),
    (HOPPER, {"inputs": HALF}, "aligned_truncated", {"group": 16, "fraction": 25}, HARDWARE, f"{BOTH}, H100, H200"),
    (HOPPER, {"inputs": ("tf32",)}, "aligned_truncated", {"group": 8, "fraction": 25}, HARDWARE, f"{BOTH}, H100, H200"),
    (HOPPER, {"inputs": FP8, "kinds": ("wgmma",), "outputs": ("f32",)}, "aligned_truncated",
     {"group": 32, "fraction": 13, "kept": 13}, HARDWARE, f"{BOTH}, H100, H200"),
    (HOPPER, {"inputs": FP8, "kinds": ("wgmma",), "outputs": ("f16",)}, "aligned_truncated",
     {"group": 32, "fraction": 13}, TWO, BOTH),
    (HOPPER, {"inputs": FP8, "outputs": ("f16",)}, "fp8_two_halves", {"fraction": 25},
     HARDWARE, f"{KHATTAK}, H100, H200"),
    (HOPPER, {"inputs": FP8, "outputs": ("f32",)}, "fp8_add_c_last", {"fraction": 25}, ASSUMED, "as on B200"),
    (B200, {"inputs": (*HALF, "tf32"), "kinds": ("mma", "wmma")}, "aligned_truncated", {"group": None, "fraction": 25},
     HARDWARE, f"{BOTH}, B200"),
    (B200, {"inputs": FP8, "kinds": ("mma",), "outputs": ("f16",)}, "fp8_two_halves", {"fraction": 25}, HARDWARE,
     f"{KHATTAK}, B200"),
    (B200, {"inputs": FP8, "kinds": ("mma",), "outputs": ("f32",)}, "fp8_add_c_last", {"fraction": 25}, HARDWARE,
     f"{KHATTAK}, B200"),
    (BLACKWELL, {"inputs": FP8, "kinds": ("mma",), "outputs": ("f16",)}, "fp8_two_halves", {"fraction": 25}, ASSUMED,
     "as on B200"),
    (BLACKWELL, {"inputs": FP8, "kinds": ("mma",), "outputs": ("f32",)}, "fp8_add_c_last", {"fraction": 25}, ASSUMED,
     "as on B200"),
    ((*BLACKWELL, *BLACKWELL_RTX), {"inputs": ("e2m1",), "name": "mxf4"}, "block_scaled_fp4",
     {"group": 16, "fraction": 35}, ONE, MMA_SIM),
    ((*BLACKWELL, *BLACKWELL_RTX), {"inputs": (*HALF, "tf32", *NARROW)}, "aligned_truncated",
     {"group": None, "fraction": 25}, ONE, MMA_SIM),

    # Everything else: CDNA3 sparse, CDNA4, CDNA5, RDNA3, RDNA4.
    ((), {}, "exact", {}, ASSUMED, "no bit-accurate model of this instruction is public"),
)
# fmt: on

ALIASES = {
    "T": "aligned_truncated", "R": "two_stage_floored", "R8": "two_stage_floored_even_odd", "P": "pairwise_f32",
    "X": "exact", "F": "fma_chain", "S": "block_scaled_fp4", "M16": "fp8_two_halves", "M32": "fp8_add_c_last",
    "I": "integer",
}  # fmt: skip
"""The models' names in version 0.1."""

EXPLANATIONS = {
    "aligned_truncated": (
        "The {group} products of a step and the accumulator are aligned to the largest exponent among them; each is "
        "cut toward zero {fraction} fraction bits below that exponent; the cut terms are added exactly. {final}{chain}"
    ),
    "two_stage_floored": (
        "The {group} products of a step are aligned to their largest exponent, cut toward zero 24 fraction bits below "
        "it and added; that sum is floored at 31 bits and the accumulator at 24 bits below the larger exponent of the "
        "two; their sum is rounded to nearest even. A single product of 2^128 or more is an infinity.{chain}"
    ),
    "two_stage_floored_even_odd": (
        "The {group} products of a step are split into even and odd k; each half is aligned to its own largest "
        "exponent, cut toward zero 24 fraction bits below it and added; the two sums are floored at 24 bits and added; "
        "that is floored at 31 bits and the accumulator at 24 bits below the larger exponent of the two (the "
        "accumulator counts as 0 when it is more than 25 exponents below); rounded to nearest even.{chain}"
    ),
    "pairwise_f32": (
        "Each product is rounded to f32; {group} of them are added pairwise in a balanced tree, and the result to the "
        "accumulator, each addition rounded to nearest even in f32. Subnormal inputs and results become zero.{chain}"
    ),
    "exact": "The exact sum of {group} products and the accumulator, rounded once to nearest even.{chain}",
    "fma_chain": (
        "A chain of fused multiply-adds in the order of k, from the accumulator on, each rounded once ({round})."
    ),
    "block_scaled_fp4": (
        "Each run of {group} products is added exactly and multiplied by its two scales; the results and the "
        "accumulator are cut toward zero {fraction} fraction bits below the largest exponent of the scales and of the "
        "accumulator, added exactly, and cut toward zero to f32."
    ),
    "fp8_two_halves": (
        "Two steps: the products with k % 4 of 0 and 1, then those with k % 4 of 2 and 3 on top of the first result. "
        "In each, all terms are cut toward zero {fraction} fraction bits below the largest exponent, added exactly and "
        "rounded to nearest even to f16. The accumulator is added last, rounded to nearest even."
    ),
    "fp8_add_c_last": (
        "All products are cut toward zero {fraction} fraction bits below their largest exponent, added exactly and cut "
        "toward zero to f32; the accumulator is added last, rounded to nearest even."
    ),
    "integer": (
        "Exact integer arithmetic; the sum wraps modulo 2^32, or saturates to int32 if the instruction {saturates}."
    ),
}

SPECIALS = {
    "amd": "The bits of a NaN result are not published for AMD: the canonical quiet NaN is given.",
    "nvidia": (
        "Every NaN result is 0x7FFFFFFF (f32) or 0x7FFF (f16). A zero counts with its format's smallest exponent; the "
        "published models differ there, so inputs with zeros beside huge or tiny numbers are less sure."
    ),
}


class Numerics(namedtuple("Numerics", "model parameters provenance source explanation")):
    """How an instruction computes.

    model: the name of a function of `mmacalc.arithmetic.models`; parameters: its keyword arguments; provenance: how
    sure that is; source: who says so; explanation: the same in words.
    """

    __slots__ = ()
    model: str
    parameters: Mapping[str, Any]
    provenance: str
    source: str
    explanation: str


def model_name(name: str) -> str:
    """The name of a model, which may be given by its letter in version 0.1.

    >>> model_name("R8")
    'two_stage_floored_even_odd'
    """
    return ALIASES.get(name, name)


def kind(inst: Instruction) -> str:
    """The sort of an instruction: mfma, smfmac, wmma (of AMD, and of NVIDIA), swmmac, mma or wgmma.

    >>> import mmacalc
    >>> kind(mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16"))
    'mfma'
    """
    name = inst.name.removeprefix("v_")
    return name.replace(".", "_").split("_")[0]


def numerics(inst: Instruction, **modifiers: int | str) -> Numerics:
    """The arithmetic model of an instruction; `modifiers` matter where a field chooses the formats.

    Raises:
        Error: the instruction only moves a matrix (ldmatrix).

    >>> import mmacalc
    >>> found = numerics(mmacalc.instruction("cdna3", "v_mfma_f32_32x32x8_f16"))
    >>> found.model, found.parameters, found.provenance
    ('two_stage_floored', {'group': 8}, 'two sources agree')
    """
    if not {"A", "B"} <= set(inst.operands):
        raise Error(f"{inst.name} moves a matrix and computes nothing, so it has no arithmetic model")
    fields = inst.resolved(modifiers)
    formats = {operand: inst.format(operand, fields).name for operand in "ABCD"}
    model, parameters, provenance, source = _row(inst, formats)
    parameters = dict(parameters)
    stored = inst.k // 2 if inst.sparse else inst.k
    if "group" in parameters:
        parameters["group"] = min(parameters["group"] or stored, stored)
    if model == "fma_chain" and formats["D"] == "f64" and inst.rounding:
        parameters["rounding"] = inst.rounding
    if inst.architecture.vendor == "nvidia" and model != "integer" and (inst.sparse or kind(inst) == "wmma"):
        provenance = ASSUMED
        likewise = "the dense model over the selected products; dense" if inst.sparse else "as mma.sync"
        source = f"{likewise}: {source}"
    return Numerics(model, parameters, provenance, source, _explain(inst, model, parameters, formats, stored))


def _row(inst: Instruction, formats: Mapping[str, str]) -> tuple[str, Mapping[str, Any], str, str]:
    for architectures, conditions, model, parameters, provenance, source in ROWS:
        fits = (
            (not architectures or inst.arch in architectures)
            and {formats["A"], formats["B"]} <= set(conditions.get("inputs", (formats["A"], formats["B"])))
            and formats["D"] in conditions.get("outputs", (formats["D"],))
            and kind(inst) in conditions.get("kinds", (kind(inst),))
            and conditions.get("name", "") in inst.name
        )
        if fits:
            return model, parameters, provenance, source
    raise AssertionError("the last row fits everything")


def _explain(
    inst: Instruction, model: str, parameters: Mapping[str, Any], formats: Mapping[str, str], stored: int
) -> str:
    group = parameters.get("group", stored)
    vendor = inst.architecture.vendor
    chain = ""
    if group < stored:
        chain = (
            f" k longer than {group} is a chain, low k first: the result of one step is the accumulator of the next."
        )
    kept = parameters.get("kept")
    cut = f"cut toward zero to f32 with {kept} fraction bits" if kept else "cut toward zero to f32"
    final = "The sum is rounded to nearest even to f16." if formats["D"] == "f16" else f"The sum is {cut}."
    words = {"rn": "to nearest even", "rz": "toward zero", "rm": "down", "rp": "up"}
    text = EXPLANATIONS[model].format(
        group=group, fraction=parameters.get("fraction"), chain=chain, final=final,
        round=words[parameters.get("rounding", "rn")],
        saturates="says .satfinite" if vendor == "nvidia" else "clamps",
    )  # fmt: skip
    if formats["D"] == "f64":
        return f"{text} The bits of a NaN result are not published: the canonical quiet NaN is given."
    return f"{text} {SPECIALS[vendor]}" if named(formats["D"]).is_float else text
