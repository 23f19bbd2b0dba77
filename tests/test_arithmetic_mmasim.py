"""The emulator against MMA-Sim 2.1.1, form by form, on six kinds of input (tests/oracles/mmasim_answers.py).

The answers are recorded; with MMA-Sim installed, `pytest -m mmasim` also checks that the record is what it says today.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.oracles import mmasim_answers

RECORD = np.load(Path(__file__).parent / "data" / "mmasim_answers.npz")

# Where MMA-Sim and mmacalc differ: the instructions, which of D's values count as equal, and why. Else every bit is
# equal. (`c`: the values of C.)
DIFFERENCES = (
    ("MMA-Sim computes on AMD and in f64 with the host's NaN; which bits the hardware gives is unpublished",
     lambda inst: inst.architecture.vendor == "amd" or inst.formats["D"] == "f64",
     lambda x, y, c: np.isnan(x) & np.isnan(y)),
    ("MMA-Sim takes the exponent of an infinite C from frexp, and can return a finite number",
     lambda inst: inst.formats["A"] == "e5m2fnuz" or inst.formats["B"] == "e5m2fnuz",
     lambda x, y, c: ~np.isfinite(c) & ~np.isfinite(x)),
)  # fmt: skip


def emulated(inst, given):
    """D's codes as the emulator computes them, of instructions with blocks the last block."""
    lead = (inst.blocks,) if inst.blocks > 1 else ()
    full = {name: np.broadcast_to(given[name], (*lead, *given[name].shape)) for name in "ABC"}
    scales = {"scale_a": given["SA"], "scale_b": given["SB"]} if "SA" in given else {}
    d = inst.multiply_bits(full["A"], full["B"], full["C"], **scales)
    return (d[-1] if lead else d)[: mmasim_answers.ROWS, : mmasim_answers.COLUMNS]


def values(codes):
    return np.ascontiguousarray(codes).view(f"f{codes.itemsize}")


def unexplained(inst, given, found, wanted):
    """Where the answers differ and no entry of DIFFERENCES says why."""
    x, y, c = (values(codes) for codes in (found, wanted, given["C"][: found.shape[0], : found.shape[1]]))
    same = found == wanted
    for _, concerns, alike in DIFFERENCES:
        if concerns(inst):
            same |= alike(x, y, c)
    return ~same


@pytest.mark.parametrize("form", RECORD.files)
def test_every_form_of_mmasim_is_equal_to_the_bit_on_every_kind_of_input(form):
    inst = mmasim_answers.instruction(*form.split("|"))
    for kind, wanted in zip(mmasim_answers.KINDS, RECORD[form]):
        given = mmasim_answers.inputs(inst, kind)
        found = emulated(inst, given)
        wrong = unexplained(inst, given, found, wanted)
        assert not wrong.any(), (kind, np.argwhere(wrong)[0], found[wrong][0], wanted[wrong][0])


def test_the_record_has_all_326_forms():
    assert len(RECORD.files) == 326


@pytest.mark.mmasim
def test_the_record_is_what_mmasim_computes_today():
    found = mmasim_answers.answers()
    assert sorted(found) == sorted(RECORD.files)
    for form, answers in found.items():
        np.testing.assert_array_equal(answers, RECORD[form], err_msg=form)
