"""Modifiers: what may follow the operands of an instruction, and how each is written.

LLVM has four kinds: a number (cbsz:1), bits for operands (neg_lo:[1,0,0]), a flag (clamp), and a choice by name or
number (matrix_a_fmt:MATRIX_FMT_FP4). What is written otherwise (controls of DPP, cache policies) is known by its texts
alone (`mmacalc.asm.decoded_text`). Each instruction takes its modifiers in one fixed order.

Source: LLVM 22.1.8, AMDGPUAsmParser, and its assembler on random texts (tests/test_asm_llvm.py, tests/test_encoder.py).
"""

from __future__ import annotations

from ..base.records import TupleRecord
from ..formats import CHOICES, SHORT_NAMES
from ..model.instruction import SCALE_ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from .fields import Field

__all__ = ["FLAGS", "LISTS", "MATRIX_FMT", "NAMES", "NUMBERS", "SCALE_FMT", "Modifier", "kind_of"]

MATRIX_FMT = tuple(f"MATRIX_FMT_{SHORT_NAMES[name].upper()}" for name in CHOICES["f8f6f4"])
SCALE_FMT = tuple(f"MATRIX_SCALE_FMT_{name}" for name in ("E8", "E5M3", "E4M3"))
NUMBERS = frozenset((
    "offset", "offset0", "offset1", "row_mask", "bank_mask", "bitop3", "fi", "bound_ctrl", "cbsz", "abid", "blgp",
    "index_key",
))  # fmt: skip
LISTS = frozenset(("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg"))
FLAGS = frozenset((
    "clamp", "offen", "idxen", "gds", "glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "lds", "tfe", "nv",
    "scale_offset", "r128", "matrix_a_reuse", "matrix_b_reuse",
))  # fmt: skip
NAMES: Mapping[str, tuple[str, ...]] = {
    f"matrix_{x}_{name}": names for x in "ab"
    for name, names in (("fmt", MATRIX_FMT), ("scale", SCALE_ROWS), ("scale_fmt", SCALE_FMT))
}  # fmt: skip


_KINDS = {
    **dict.fromkeys(NUMBERS, "number"), **dict.fromkeys(LISTS, "bits"), **dict.fromkeys(FLAGS, "flag"),
    **dict.fromkeys(NAMES, "choice"),
}  # fmt: skip


def kind_of(name: str) -> str:
    """How a modifier is written: "number", "bits", "flag", "choice", or "" where its texts alone say it."""
    return _KINDS.get(name, "")


class Modifier(TupleRecord):
    """One modifier of a row.

    name: as it is written, or the field's in lower case. shift, mask: where its field is. split: the field, where it
    has several pieces. always: whether a decoded instruction has it also if it is 0. sign: the bit that makes a number
    negative, 0 if none does. known: the values that it takes, None for all. field: the encoding's.
    """

    name: str
    shift: int
    mask: int
    split: Field | None
    always: bool
    sign: int
    known: Container[int] | None
    field: Field

    def takes(self, value: int) -> bool:
        """Whether the field may have this value."""
        return not value & ~self.mask and (self.known is None or value in self.known)
