"""Whole chains of fp8 products against mmaemu 0.1.0, whose models come from an RTX 4060 and an H100.

The answers are recorded (tests/oracles/mmaemu_answers.py); with mmaemu installed, `pytest -m mmasim` also checks the
record.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.oracles import mmaemu_answers

import mmacalc

RECORD = np.load(Path(__file__).parent / "data" / "mmaemu_answers.npz")["answers"]


@pytest.mark.parametrize("at", range(len(RECORD)), ids=[" ".join(case) for case in mmaemu_answers.CASES])
def test_a_chain_of_512_products_has_the_bits_of_mmaemu(at):
    case, wanted = mmaemu_answers.CASES[at], RECORD[at]
    preset, first, second, _ = case
    target, name = mmaemu_answers.PRESETS[preset]
    inst = mmacalc.instruction(target, name.format(first, second))
    a, b, c = mmaemu_answers.inputs(*case)
    assert (mmacalc.gemm_bits(a, b, c, instruction=inst) == wanted).all()


@pytest.mark.mmasim
def test_the_record_is_what_mmaemu_says():
    pytest.importorskip("mmaemu")
    for case, recorded in zip(mmaemu_answers.CASES, RECORD):
        assert (mmaemu_answers.answer(*case) == recorded).all(), case
