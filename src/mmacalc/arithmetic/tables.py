"""Which arithmetic model an instruction follows: a table for each generation; the first row that fits decides.

An architecture's catalog record names its table ("arithmetic"). A row says what it is for: `inputs`, the formats of A
and B; `outputs`, those of D; `kinds`, the sorts of instruction; `name`, a part of the mnemonic; an empty one means any.
Then the model's name ("" for what is not computed: the source then says why), the keyword arguments of its function
(`mmacalc.arithmetic.models`; a `group` is shortened to K), the provenance and the source.

Provenance. "hardware-verified": compared bit for bit with outputs measured on that generation, which no neighbouring
model reproduces: none with another split or order of k, another width, another place of C. `undecided` has what the
outputs do not show, with the source that decides it; `measured`, the largest K of an instruction whose outputs there
are (tests/test_arithmetic_neighbours.py holds both against the outputs; an instruction with a larger K has the label
of the published models). "two sources agree": two published models. "one source": one of them, or only a vendor's
document. "assumed": how the instruction rounds is unpublished, or published of another generation only: the source
begins with what it is assumed to be like. tests/test_provenance.py derives the label of every instruction from its
sources by these rules, and asks MMA-Sim's own list which generations it has.

Nothing here needs NumPy, so that a page of text can show a model without loading it.
"""

from __future__ import annotations

import _collections_abc  # collections.abc without the package collections, which costs a query 2 ms

from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

__all__ = ["ASSUMED", "HARDWARE", "INTEGERS", "OTHERS", "OWN_NAN", "SAME_UNIT", "TABLES", "TWO", "UNDECIDED", "Row"]

HARDWARE, TWO, ONE, ASSUMED = "hardware-verified", "two sources agree", "one source", "assumed"

MMA_SIM = "MMA-Sim 2.1.1 (arXiv 2511.10909v2)"
KHATTAK = "Khattak and Mikaitis (TACO 23(3), 2026, doi 10.1145/3830409)"
BOTH = f"{MMA_SIM}; {KHATTAK}"
MMAEMU = "mmaemu 0.1.0"
ROCJITSU = "AMD's rocjitsu (ROCm/rocm-systems pull request 12120)"

HALF = ("f16", "bf16")
FP8 = ("e4m3", "e5m2")
FP6_FP4 = ("e2m3", "e3m2", "e2m1")
FNUZ = ("e4m3fnuz", "e5m2fnuz")
INTEGERS = ("i8", "u8", "i4", "u4", "iu8", "iu4", "b1")

OWN_NAN = ("dot2_ones_complement", "dot4_floored")
"""The models whose NaN bits are known; of the others NVIDIA's are all alike, AMD's unpublished."""


class Row(TupleRecord):
    """One row of a table; see the module."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]
    name: str
    model: str
    parameters: Mapping[str, Any]
    provenance: str
    source: str
    measured: int
    undecided: Mapping[str, str]


UNDECIDED = {
    "split": "how k is split into steps", "order": "the order of the steps", "width": "how many bits are kept",
    "c": "when C is added", "rounding": "how a result is rounded", "zero": "the sign of a sum that becomes zero",
    "least exponent": "the least exponent of the alignment",
}  # fmt: skip
"""What measured outputs may leave open, in words."""

SAME_UNIT = "the f32 results of the same unit do"
OTHERS = (
    SAME_UNIT,
    "mmaemu's outputs of an H100 show it",
    "AMD compared 1.2e8 outputs, these among them",
)
"""Other measured outputs, for what must be measured if a row says "hardware-verified"."""


def _row(
    inputs: tuple[str, ...], model: str, parameters: Mapping[str, Any], provenance: str, source: str, *,
    outputs: tuple[str, ...] = (), kinds: tuple[str, ...] = (), name: str = "", measured: int = 0,
    undecided: Mapping[str, str] = {},
) -> Row:  # fmt: skip
    return Row(inputs, outputs, kinds, name, model, parameters, provenance, source, measured, undecided)


# --- AMD ----------------------------------------------------------------------------------------------------------

_INTEGERS = _row(INTEGERS, "integer", {}, ONE, "the vendors' ISA documents")
_F64 = _row(("f64",), "fma_chain", {}, ONE, MMA_SIM)
_F32 = _row(("f32",), "fma_chain", {}, ONE, MMA_SIM)
_UNPUBLISHED = _row((), "exact", {}, ASSUMED, "no bit-accurate model of this instruction is public")

_CDNA3 = {"fraction": 24, "dot_fraction": 32, "sum_fraction": 31}
_CDNA3_SOURCE = (
    f"{MMA_SIM}; Khattak and Mikaitis (arXiv 2512.07004v3), whose code lost that model in August 2026; that the "
    "sum is floored at 32 and again at 31 bits, only the former"
)
_CDNA1_SOURCE = f"{BOTH}; that a sum of nothing but minus zeros is plus zero, MMA-Sim and fpy2 0.3.0, unmeasured"
_CDNA2_SOURCE = f"{BOTH}; that inputs below the normal numbers are plus zero, of either sign, is unmeasured"

# RDNA3 and RDNA4, by the format of D: the least exponent that c's leading bit counts as.
_DOT2 = {"group": 2, "fraction": 24, "reach": 26}
_DOT4 = {"group": 4, "pair": 2, "fraction": 24, "reach": 26}
_W7900 = f"{ROCJITSU}, measured on a Radeon Pro W7900; on gfx1151 by issue 12056"
_R9700 = f"{ROCJITSU}, measured on a Radeon AI Pro R9700"
_SPARSE = f"as the dense instruction, over the selected products: {ROCJITSU}"
_DOT4_FP8 = f"as V_DOT4_F32_FP8 and its kin, which {ROCJITSU} gives as measured on gfx1201"


def _dot4(kind: str, provenance: str, source: str) -> tuple[Row, ...]:
    return (
        _row(
            HALF,
            "dot4_floored",
            {**_DOT4, "lowest": -126},
            provenance,
            source,
            kinds=(kind,),
            outputs=("f32", "bf16"),
            measured=16,
            undecided={"least exponent": OTHERS[2]},
        ),
        _row(
            HALF,
            "dot4_floored",
            {**_DOT4, "lowest": -14},
            provenance,
            source,
            kinds=(kind,),
            outputs=("f16",),
            measured=16,
            undecided={"width": OTHERS[2], "least exponent": OTHERS[2]},
        ),
    )


# --- CPUs ---------------------------------------------------------------------------------------------------------

_SDM = "Intel's SDM, volume 2, the operation of {}; Bochs (cpu/avx/amx.cc)"
_ARM = "Arm DDI 0602, {}; QEMU (target/arm/tcg/sme_helper.c)"
_AMX_OPEN = "Intel's ISE reference has its pseudo code, of which no second source was found: it is not computed here"

# --- NVIDIA -------------------------------------------------------------------------------------------------------


def _by_result(
    inputs: tuple[str, ...], model: str, parameters: Mapping[str, Any], adder: int, provenance: str, source: str, *,
    kept: int | None = None, outputs: tuple[str, ...] = ("f32", "f16"), kinds: tuple[str, ...] = (), name: str = "",
    measured: int = 0, undecided: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Row, ...]:  # fmt: skip
    """A row for each format of D. The least exponent of the alignment, MMA-Sim's e_zero, is -108 - F for f32 and 4 - F
    for f16 results, F being the fraction bits of the generation's `adder`; f32 results have `kept` fraction bits."""
    own = {
        "f32": {"lowest": -108 - adder} | ({} if kept is None else {"kept": kept}),
        "f16": {"lowest": 4 - adder},
    }
    return tuple(
        _row(inputs, model, {**parameters, **own[out]}, provenance, source, kinds=kinds, name=name, outputs=(out,),
             measured=measured, undecided={**(_EDGES if measured else {}), **((undecided or {}).get(out, {}))})
        for out in outputs
    )  # fmt: skip


_EDGES = {
    "zero": "MMA-Sim and mmaemu have plus zero, Khattak and Mikaitis the sign of the sum",
    "least exponent": "MMA-Sim, Khattak and Mikaitis",
}  # fmt: skip
"""What no random outputs show, and what decides it instead."""


def _aligned(
    inputs: tuple[str, ...], group: int | None, fraction: int, provenance: str, source: str, *, name: str = "",
    kinds: tuple[str, ...] = (), outputs: tuple[str, ...] = ("f32", "f16"), measured: int = 0,
) -> tuple[Row, ...]:  # fmt: skip
    return _by_result(inputs, "aligned_truncated", {"group": group, "fraction": fraction}, fraction, provenance, source,
                      name=name, kinds=kinds, outputs=outputs, measured=measured,
                      undecided={"f16": {"width": SAME_UNIT}} if measured else {})  # fmt: skip


def _fp8_two_halves(out: str, provenance: str, source: str, measured: int = 0) -> tuple[Row, ...]:
    return _by_result(FP8, "fp8_two_halves", {"fraction": 25}, 25, provenance, source, outputs=(out,), kinds=("mma",),
                      measured=measured, undecided={"f16": {"width": SAME_UNIT}} if measured else {})  # fmt: skip


# m8n8k4.f16 has no tensor-core opcode after Turing: ptxas writes ordinary instructions instead.
_M8N8K4 = _row(
    ("f16",), "fma_chain", {}, ASSUMED,
    "it has no tensor-core opcode here (ptxas 13.0): ordinary fused multiply-adds, in the order of k", name="m8n8k4.",
)  # fmt: skip
_AMPERE_GPUS = f"{BOTH}, A100, A2, Ada, L40S"


def _ampere() -> tuple[Row, ...]:
    return (
        _INTEGERS, _F64, _M8N8K4, *_aligned(HALF, 8, 24, HARDWARE, _AMPERE_GPUS, measured=8),
        *_aligned(("tf32",), 4, 24, HARDWARE, _AMPERE_GPUS, outputs=("f32",), measured=4),
    )  # fmt: skip


_HOPPER_GPUS = f"{BOTH}, H100, H200"
_TWO_HMMA = "ptxas 13.0 writes two HMMA of f16, the first from zero, then adds C"
_B200_HMMA = f"{_TWO_HMMA}; of HMMA on B200 {MMA_SIM} and {KHATTAK} have a model"
_BLACKWELL_FP4 = _row(
    ("e2m1",), "block_scaled_fp4", {"group": 16, "fraction": 35, "lowest": -139}, ONE, MMA_SIM, name="mxf4"
)
# MMA-Sim has tcgen05 of sm_100a with cta_group::1: exactly one step for the usual K.
_TCGEN05 = (*HALF, "tf32", *FP8, *FP6_FP4)
_TCGEN05_ALIGNED = {"group": None, "fraction": 25}
_TCGEN05_SOURCE = f"{MMA_SIM}; of fp8, that it keeps 25 bits, also DeepGEMM's issue 176"


def _tcgen05_like_b200() -> tuple[Row, ...]:
    return (
        _row(("e2m1",), "block_scaled_fp4", {"group": 16, "fraction": 35, "lowest": -139}, ASSUMED,
             f"as on B200: {MMA_SIM}", name="mxf4", kinds=("tcgen05",)),
        *_by_result(_TCGEN05, "aligned_truncated", _TCGEN05_ALIGNED, 25, ASSUMED, f"as on B200: {MMA_SIM}",
                    kinds=("tcgen05",)),
    )  # fmt: skip


def _blackwell_rest() -> tuple[Row, ...]:
    return _aligned(_TCGEN05, None, 25, ONE, MMA_SIM)


_CUT_FP8 = {"fraction": 13}  # the adder of these generations, of which 13 bits are kept for fp8

_MAKERS: dict[str, Callable[[], tuple[Row, ...]]] = {
    "cdna1": lambda: (
        _INTEGERS, _F32,
        _row(("f16",), "exact", {"group": 4}, TWO, _CDNA1_SOURCE),
        _row(("bf16",), "exact", {"group": 2}, TWO, _CDNA1_SOURCE),
        _UNPUBLISHED,
    ),
    "cdna2": lambda: (
        _INTEGERS, _F64, _F32,
        _row(("bf16",), "pairwise_f32", {"group": 4, "flush": True}, TWO, _CDNA2_SOURCE, name="bf16_1k"),
        _row(("bf16",), "pairwise_f32", {"group": 2, "flush": True}, TWO, _CDNA2_SOURCE),
        _row(("f16",), "pairwise_f32", {"group": 4, "flush": True}, TWO, _CDNA2_SOURCE),
        _UNPUBLISHED,
    ),
    "cdna3": lambda: (
        _INTEGERS, _F64, _F32,
        _row(HALF, "two_stage_floored", {"group": 8, **_CDNA3}, TWO, _CDNA3_SOURCE, kinds=("mfma",)),
        _row(("xf32",), "two_stage_floored", {"group": 4, **_CDNA3}, ONE,
             f"{MMA_SIM}; that the low 13 bits of the operands are cut is AMD's documentation"),
        _row(FNUZ, "two_stage_floored_even_odd", {"group": 16, **_CDNA3, "reach": 25}, TWO, _CDNA3_SOURCE,
             kinds=("mfma",)),
        _UNPUBLISHED,
    ),
    "cdna4": lambda: (
        _INTEGERS, _row(("f64",), "fma_chain", {}, ASSUMED, f"as CDNA2 and CDNA3: {MMA_SIM}"),
        _row(("f32",), "fma_chain", {}, ASSUMED, f"as CDNA1 to CDNA3: {MMA_SIM}"), _UNPUBLISHED,
    ),
    "cdna5": lambda: (
        _INTEGERS, _row(("f64",), "fma_chain", {}, ASSUMED, "as CDNA2 and CDNA3"),
        _row(("f32",), "fma_chain", {}, ASSUMED, "as CDNA1 to CDNA3"), _UNPUBLISHED,
    ),
    "rdna3": lambda: (
        _INTEGERS,
        _row(HALF, "dot2_ones_complement", _DOT2, HARDWARE, _W7900, outputs=("f32", "bf16"), measured=16,
             undecided={"width": OTHERS[2]}),
        _row(HALF, "dot2_ones_complement", {**_DOT2, "lowest": -14}, HARDWARE, _W7900, outputs=("f16",), measured=16,
             undecided={"width": OTHERS[2], "least exponent": OTHERS[2]}),
        _UNPUBLISHED,
    ),
    "rdna4": lambda: (
        _INTEGERS, *_dot4("wmma", HARDWARE, _R9700), *_dot4("swmmac", ASSUMED, _SPARSE),
        _row(FP8, "dot4_floored", {**_DOT4, "pair": 4, "lowest": -126}, ASSUMED, _DOT4_FP8, kinds=("wmma",)),
        _row(FP8, "dot4_floored", {**_DOT4, "pair": 4, "lowest": -126}, ASSUMED,
             f"{_DOT4_FP8}, over the selected products", kinds=("swmmac",)),
        _UNPUBLISHED,
    ),
    "volta": lambda: (*_aligned(("f16",), 4, 23, HARDWARE, f"{BOTH}, V100", measured=4),),
    "turing": lambda: (
        _INTEGERS, *_aligned(("f16",), 4, 23, ONE, f"{MMA_SIM}: as Volta", name="m8n8k4."),
        *_aligned(("f16",), 8, 24, ONE, MMA_SIM),
    ),
    "ampere": _ampere,
    "ada": lambda: (
        *_ampere(),
        *_by_result(FP8, "aligned_truncated", {"group": 16, **_CUT_FP8}, 24, HARDWARE,
                    f"{BOTH}, Ada, L40S; {MMAEMU}, RTX 4060", kept=13, measured=32),
    ),
    "hopper": lambda: (
        _INTEGERS, _F64, _M8N8K4, *_aligned(HALF, 16, 25, TWO, BOTH, kinds=("wgmma",)),
        *_aligned(("tf32",), 8, 25, TWO, BOTH, kinds=("wgmma",)),
        *_aligned(HALF, 16, 25, HARDWARE, _HOPPER_GPUS, measured=16),
        *_aligned(("tf32",), 8, 25, HARDWARE, _HOPPER_GPUS, outputs=("f32",), measured=4),
        *_by_result(FP8, "aligned_truncated", {"group": 32, **_CUT_FP8}, 25, HARDWARE,
                    f"{_HOPPER_GPUS}; {MMAEMU}, H100", kept=13, outputs=("f32",), kinds=("wgmma",), measured=32,
                    undecided={"f32": {"c": OTHERS[1]}}),
        *_by_result(FP8, "aligned_truncated", {"group": 32, **_CUT_FP8}, 25, TWO, BOTH, outputs=("f16",),
                    kinds=("wgmma",)),
        *_fp8_two_halves("f16", HARDWARE, f"{KHATTAK}, H100, H200", 32),
        *_fp8_two_halves("f32", TWO, f"{_TWO_HMMA}; HMMA was measured on H200; {MMAEMU} says the same"),
    ),
    "b200": lambda: (
        _INTEGERS, _F64, _M8N8K4, _BLACKWELL_FP4,
        *_by_result(_TCGEN05, "aligned_truncated", _TCGEN05_ALIGNED, 25, ONE, _TCGEN05_SOURCE, kinds=("tcgen05",)),
        *_aligned((*HALF, "tf32"), None, 25, TWO, f"{BOTH}, B200"),
        *_fp8_two_halves("f16", TWO, f"{_B200_HMMA}, the latter also of these instructions"),
        *_fp8_two_halves("f32", TWO, f"{_B200_HMMA}; the measured outputs of these instructions fit, but so does one "
                         "sum of all products"),
        *_blackwell_rest(),
    ),
    "blackwell": lambda: (
        _INTEGERS, _row(("f64",), "fma_chain", {}, ASSUMED, f"as on B200: {MMA_SIM}"), _M8N8K4, *_tcgen05_like_b200(),
        *_fp8_two_halves("f16", ASSUMED, f"{_TWO_HMMA}, here assumed to be as on B200"),
        *_fp8_two_halves("f32", ASSUMED, f"{_TWO_HMMA}, here assumed to be as on B200"),
        *_aligned(_TCGEN05, None, 25, ASSUMED, f"as on B200: {BOTH}"),
    ),
    "rubin": lambda: (
        _INTEGERS, _row(("f64",), "fma_chain", {}, ASSUMED, "as on other architectures"), _M8N8K4,
        *_fp8_two_halves("f16", ASSUMED, f"{_TWO_HMMA.replace('13.0', '13.5')}, here assumed to be as on B200"),
        *_fp8_two_halves("f32", ASSUMED, f"{_TWO_HMMA.replace('13.0', '13.5')}, here assumed to be as on B200"),
        *_aligned((*HALF, "tf32"), None, 25, ASSUMED, "as on B200", kinds=("mma", "wmma")),
    ),
    "blackwell_rtx": lambda: (
        _INTEGERS, _F64, _M8N8K4, _BLACKWELL_FP4, *_aligned(_TCGEN05, None, 25, ONE, MMA_SIM, name="block_scale"),
        *_aligned((*HALF, "tf32"), None, 25, TWO, f"{BOTH}, RTX PRO 6000"),
        *_aligned(FP8, None, 25, TWO, f"{BOTH}, RTX PRO 6000"), *_blackwell_rest(),
    ),
    "amx": lambda: (
        _row(INTEGERS, "integer", {}, TWO, _SDM.format("TDPBSSD and its kin")),
        _row(("bf16",), "two_chains", {"flush_inputs": True}, TWO, _SDM.format("TDPBF16PS")),
        _row(("f16",), "two_chains", {"flush_inputs": False}, TWO, _SDM.format("TDPFP16PS")),
        _row((), "", {}, ONE, _AMX_OPEN),
    ),
    "sme": lambda: (
        _row(INTEGERS, "integer", {}, TWO, _ARM.format("SMOPA and its kin")),
        _row(("f32",), "fma_chain", {}, TWO, _ARM.format("FMOPA (non-widening), FPMulAdd_ZA, FPCR 0")),
        _row(("f16",), "pairwise_f32", {"group": 2, "flush": False}, TWO,
             _ARM.format("FMOPA (widening), FPDotAdd_ZA, FPCR 0")),
        _row(("bf16",), "rounded_to_odd", {"group": 2}, TWO, _ARM.format("BFMOPA (widening), BFDotAdd, FPCR.EBF 0")),
        _row((), "", {}, ONE, "only the instructions listed in the catalog are computed here"),
    ),
    "": lambda: (_INTEGERS, _row(("f64", "f32"), "fma_chain", {}, ASSUMED, "as on other architectures"), _UNPUBLISHED),
}  # fmt: skip


class _Tables(_collections_abc.Mapping[str, "tuple[Row, ...]"]):
    """Tables by name, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Row, ...]] = {}

    def __getitem__(self, name: str) -> tuple[Row, ...]:
        if name not in self._made:
            self._made[name] = _MAKERS[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MAKERS)

    def __len__(self) -> int:
        return len(_MAKERS)


TABLES = _Tables()
"""The tables by name; "" is for an architecture whose record names none."""
