"""What the emulator keeps between calls is bounded (tests/test_shared_state.py has the caches of everything else)."""

from __future__ import annotations

import gc

import numpy as np

import mmacalc
from mmacalc.base.records import Cache
from mmacalc.emulator import execution as places
from mmacalc.emulator import fast
from mmacalc.emulator.execution import Execution


def test_hundreds_of_diagnoses_keep_no_more_than_the_caches_hold():
    """A result of float64, which other models and orders are tried on: each is an execution of its own."""
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16")
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((16, 4, 4)).astype(np.float16).astype(float) for _ in "ab")
    d = (a @ b).astype(np.float32)
    misses = fast.kernel.cache_info().misses
    for _ in range(250):
        assert mmacalc.diagnose(inst, a, b, d=d).rounding
    kept = fast.kernel.cache_info()
    assert kept.misses - misses > 5 * 256  # they would all have been kept
    assert kept.currsize <= kept.maxsize == 256
    gc.collect()
    alive = sum(isinstance(found, Execution) for found in gc.get_objects())
    assert alive <= 3 * 256  # of kernels, of plain calls, of calls with modifiers


def test_places_are_told_apart_by_the_layout_and_not_by_where_it_lies_in_memory(monkeypatch):
    """An address comes again when a layout has gone; here most answers are forgotten at once, and their layouts with
    them, so that a key by address would soon find another operand's places."""
    monkeypatch.setattr(places, "_kept", Cache(8))
    for inst in mmacalc.instructions("cdna3")[:60]:
        for name in inst.register_operands:
            operand = inst.operand(name)
            found = places.located(operand)
            assert found is places.located(operand)
            assert all(np.array_equal(x, y) for x, y in zip(found, places._located(operand)))
            assert len(places._kept) <= 8
