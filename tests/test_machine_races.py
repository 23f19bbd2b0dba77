"""Races in LDS, and what is loaded into it, in compiled kernels: each mistake is found, and nothing else."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from generated_kernels import compiled
from mmacalc.kernels.machine.race_shadow import RaceShadow

SOURCE = (Path(__file__).parent / "data/kernels/races.hip").read_text()
TARGETS = ("gfx942", "gfx1100")


@pytest.fixture(scope="module", params=TARGETS)
def kernels(request, tmp_path_factory):
    return mmacalc.load(compiled(SOURCE, request.param, tmp_path_factory.mktemp("races") / "races.hsaco"))


def found(kernel, *args, block=256):
    return [(one.kind, one.text.split()[0], one.message) for one in mmacalc.launch(kernel, 1, block, *args).findings]


# --- the rule ---------------------------------------------------------------------------------------------------------


def races(first, second):
    """The rule, of two accesses (kind, wave): different waves, and one writes; atomic operations go together."""
    kinds = {first[0], second[0]}
    harmless = kinds == {"read"} or ("write" not in kinds and ("read" not in kinds or "compare-and-swap" in kinds))
    return first[1] != second[1] and not harmless


def test_two_accesses_race_by_their_kinds_waves_and_bytes():
    kinds = ("read", "write", "atomic", "compare-and-swap")
    for a, b, size, move in itertools.product(kinds, kinds, (1, 2, 4, 8, 12, 16), (-2, 0, 1, 64)):
        for waves in ([1, 2, 3], [3, 2, 1]):  # the wave that the other one meets is the first or the last
            for other in (1, 2, 3, 4):
                shadow = RaceShadow(256)
                if a == "write":
                    for wave in waves:
                        shadow.note(a, np.array([32]), size, np.array([wave], np.uint8))
                else:
                    shadow.note(a, np.full(3, 32), size, np.array(waves, np.uint8))
                met = shadow.note(b, np.array([32 + move]), size, np.array([other], np.uint8))
                wanted = -size < move < size and any(races((a, wave), (b, other)) for wave in waves)
                assert (met is not None) == wanted, (a, b, size, move, waves, other)
                shadow.barrier()
                assert shadow.note(b, np.array([32 + move]), size, np.array([other], np.uint8)) is None


def test_bytes_beside_those_that_two_waves_read_belong_to_the_wave_that_read_them():
    shadow = RaceShadow(16)
    shadow.note("read", np.array([0]), 2, np.array([1], np.uint8))
    shadow.note("read", np.array([0]), 4, np.array([2], np.uint8))
    assert shadow.note("write", np.array([2]), 2, np.array([2], np.uint8)) is None
    assert shadow.note("write", np.array([0]), 1, np.array([2], np.uint8)) == (0, 0)


def test_waves_that_write_one_byte_in_one_instruction_race():
    shadow = RaceShadow(64)
    waves = np.array([1, 2, 3], np.uint8)
    assert shadow.note("write", np.array([0, 4, 8]), 4, waves) is None
    assert shadow.note("write", np.array([16, 20, 19]), 4, waves) is not None


# --- compiled kernels -------------------------------------------------------------------------------------------------


def test_a_forgotten_barrier_beside_atomic_operations_is_a_race(kernels):
    x = np.random.default_rng(0).integers(0, 1000, 256).astype(np.int32)
    counts = np.bincount(x & 15, minlength=16)
    for forgotten, name in ((0, "none"), (1, "ds_add_u32"), (2, "ds_(read|load)_b32")):
        out = np.zeros(16, np.int32)
        have = found(kernels[f"histogram{forgotten}"], out, x)
        assert np.array_equal(out, counts)  # the waves run in an order that happens to be right
        assert [kind for kind, _, _ in have] == ["race"] * (forgotten > 0), have
        assert all(re.fullmatch(name, one) for _, one, _ in have)


@pytest.mark.parametrize("writer", range(4))
def test_any_wave_that_overwrites_what_others_read_races_with_them(kernels, writer):
    ((kind, name, message),) = found(kernels["overwrite"], np.zeros(256, np.float32), np.ones(256, np.float32), writer)
    assert kind == "race"
    assert name in ("ds_write_b32", "ds_store_b32")
    assert "writes byte 0 of LDS, which another wave" in message


def test_what_an_atomic_operation_returns_of_uninitialised_lds_is_undefined(kernels):
    x, out = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    ((kind, name, message),) = found(kernels["returned"], out, x, 0)
    assert (kind, "global_store" in name, "bytes of LDS" in message) == ("uninitialised", True, True)
    assert found(kernels["returned"], out, x, 1) == []  # exchanged first
