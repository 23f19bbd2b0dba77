"""What the emulator keeps between calls is bounded: by the formats and names there are, or by a size."""

from __future__ import annotations

import gc
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import mmacalc
from mmacalc.emulator import fast, places
from mmacalc.emulator.execution import Execution

FEW = {"str", "bool", ""}
"""What a function whose cache has no size may be asked by: names and answers of yes or no."""


def cached_functions():
    for package in ("emulator", "arithmetic", "diagnosis"):
        home = importlib.import_module(f"mmacalc.{package}")
        for found in pkgutil.iter_modules(home.__path__, f"mmacalc.{package}."):
            if found.name.endswith("._core"):
                continue  # the library of core.c
            module = importlib.import_module(found.name)
            for name, function in vars(module).items():
                if hasattr(function, "cache_parameters") and function.__module__ == found.name:
                    yield pytest.param(function, id=f"{found.name}.{name}")


@pytest.mark.parametrize("function", list(cached_functions()))
def test_a_cache_without_a_size_is_asked_by_names_only(function):
    kinds = {str(kind) for name, kind in inspect.get_annotations(function.__wrapped__).items() if name != "return"}
    assert function.cache_parameters()["maxsize"] is not None or kinds <= FEW


def test_a_thousand_diagnoses_keep_no_more_than_the_caches_hold():
    """A result of float64, which other models and orders are tried on: each is an execution of its own."""
    inst = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16")
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((16, 4, 4)).astype(np.float16).astype(float) for _ in "ab")
    d = (a @ b).astype(np.float32)
    misses = fast.kernel.cache_info().misses
    for _ in range(1000):
        assert mmacalc.diagnose(inst, d, a, b).rounding
    kept = fast.kernel.cache_info()
    assert kept.misses - misses > 5 * 256  # they would all have been kept
    assert kept.currsize <= kept.maxsize == 256
    gc.collect()
    alive = sum(isinstance(found, Execution) for found in gc.get_objects())
    assert alive <= 3 * 256  # of kernels, of plain calls, of calls with modifiers
    assert len(places._kept) <= places.MOST


def test_places_are_told_apart_by_the_layout_and_not_by_where_it_lies_in_memory(monkeypatch):
    """An address can come again when a layout has gone; and no more than some answers are kept."""
    monkeypatch.setattr(places, "MOST", 8)
    monkeypatch.setattr(places, "_kept", {})
    for inst in mmacalc.instructions("cdna3")[:30]:
        for name in inst.register_operands:
            operand = inst.operand(name)
            found = places.located(operand)
            assert found is places.located(operand)
            wanted = places._located(operand)
            assert all(np.array_equal(x, y) for x, y in zip(found, wanted))
            assert len(places._kept) <= 8
            assert not any(isinstance(part, int) and part > 1 << 20 for key in places._kept for part in key)
