"""Which lane, register and bit of a GPU holds which element of a matrix instruction's operands, both ways.

The command line is that of AMD's Matrix Instruction Calculator. Choose an architecture (-a), an instruction (-i),
a matrix (-A -B -C -D -k) and one of the actions -d -g -m -R -M; or list the instructions with -L. For example:

    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9     the lane and register of A[3][9]
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -D -m -r 2 -l 35    which elements of D register 2 of lane 35 holds
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -B -R               the registers of all of B
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -d                  all about the instruction

`mmacalc COMMAND -h` explains each command.
"""

from __future__ import annotations

from ...command import Command
from ...command.options import (
    FLAGS,
    FORMAT_FIELDS,
    NAMES,
    NUMBERS,
    TENSOR_MEMORY,
    flag_options,
    name_options,
    number_options,
    number_or_name,
    spellings,
    whole_number,
)  # fmt: skip
from . import run
from .about import listing_text, pattern_text, version_text
from .detail import text as detail_text
from .layouts import matrix_text
from .layouts import text as layout_text
from .places import contents_text
from .places import text as place_text
from .tensor_memory import (
    cell_table_text,
    element_table_text,
    element_text,
    move_text,
    moved_text,
)  # fmt: skip
from .tensor_memory import contents_text as cell_text
from .tensor_memory import detail_text as tensor_memory_text
from .tensor_memory import pattern_text as tensor_memory_pattern_text

SPELT_OUT = ("cbsz", "abid", "blgp", "opsel", "neg", "neg_hi", "markdown", "asciidoc", "transpose")
"""The long options of AMD's tool that have no short spelling."""


def _abbreviated() -> tuple[str, ...]:
    """The options whose abbreviations AMD's tool accepts, which must stay unambiguous here: those with a short
    spelling, and SPELT_OUT."""
    options = {**NAMES, **FLAGS, **NUMBERS}
    amds = [name for name, given in options.items() if name in SPELT_OUT or (given[0] and name not in TENSOR_MEMORY)]
    return tuple([spelling for name in amds for spelling in spellings(name, None)])


COMMAND = Command(
    "", "", "", __doc__,
    (
        *name_options(NAMES), *flag_options(FLAGS), *number_options(NUMBERS, whole_number, 0),
        *number_options(FORMAT_FIELDS, number_or_name, 0),
    ),
    run,
    {
        "list-instructions": listing_text, "detail-instruction": detail_text, "get-register": place_text,
        "matrix-entry": contents_text, "register-layout": layout_text, "matrix-layout": matrix_text,
        "pattern": pattern_text, "version": version_text, "tensor-memory-instruction": tensor_memory_text,
        "tensor-memory-element": element_text, "tensor-memory-cell": cell_text,
        "tensor-memory-elements": element_table_text, "tensor-memory-cells": cell_table_text,
        "tensor-memory-pattern": tensor_memory_pattern_text, "tensor-memory-move": move_text,
        "tensor-memory-moved": moved_text,
    },
    usage="mmacalc COMMAND ...\n       mmacalc -a NAME -i NAME [MATRIX] ACTION [options]",
    abbreviated=_abbreviated(),
)  # fmt: skip
