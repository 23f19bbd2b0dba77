"""The checks of compiled kernels, each alone: what it is told, and what it finds."""

from types import SimpleNamespace

import numpy as np
import pytest

import mmacalc
from mmacalc.asm.decoder import decode, text
from mmacalc.kernels.amd.checks import Bounds, LocalAccess, Moves, Products, Races, Waits
from mmacalc.kernels.amd.counters import Counters
from mmacalc.kernels.amd.memory import Access, ActiveLanes
from mmacalc.kernels.amd.program import Program
from mmacalc.kernels.amd.state import EXEC, SCALARS, Group, Registers
from mmacalc.kernels.amd.target import MachineTarget
from mmacalc.kernels.amd.undefined import Uninitialised
from mmacalc.kernels.device.findings import Reporter, Stop, Tally
from mmacalc.kernels.device.launch import Dim3
from mmacalc.kernels.device.scheduler import PATIENCE, Waves
from mmacalc.kernels.device.shared import PrivateMemory, SharedMemory
from mmacalc.kernels.device.traffic import BankCounter

WORDS = "ds_read_b32 v1, v0", "v_add_u32_e32 v2, v1, v1", "global_store_dword v0, v2, s[0:1]", "ds_write_b32 v0, v2"
CODE = bytes.fromhex("00006cd800000001 01030468 008070dc00020000 00001ad800020000")  # by llvm-mc


class Scene:
    """A workgroup of two waves of gfx942 at the first instruction of a program, with nothing but a reporter."""

    def __init__(self):
        self.program = Program(decode(CODE, "gfx942"), MachineTarget("gfx942", 64), {})
        self.registers = Registers(2, 64, 4, 0, 0)
        self.registers.s[EXEC : EXEC + 2] = 0xFFFFFFFF
        self.registers.mark_written(0, SCALARS + EXEC, SCALARS + EXEC + 1, SCALARS, SCALARS + 1)
        self.tally, self.waves = Tally(text), Waves([Dim3(3, 0, 0)], 2)
        self.reporter = Reporter(self.tally, self.waves)
        self.counters = Counters(2, "gfx9")
        self.lds = SharedMemory(1, 1024)
        self.steps = [self.program.step(address) for address in self.program.instructions]

    def group(self, *rows):
        return Group(self.registers, None, np.array(rows))

    def access(self, kind, rows, addresses, number=0, action="load", words=None):
        """An access of LDS by the instruction of a number, a word for each lane."""
        group = self.group(*rows)
        lanes = ActiveLanes(group, np.asarray(addresses, np.int64), 4)
        waves, _ = lanes.lanes()
        instruction = self.steps[number].instruction
        access = Access("ds", action, 4)
        return LocalAccess(group, lanes, instruction, access, kind, lanes.addresses, waves, words, False)

    @property
    def found(self):
        return [(one.kind, one.workgroup, one.wave, one.lanes) for one in self.tally.findings.values()]


@pytest.fixture
def scene():
    return Scene()


EACH = 4 * np.arange(64)


def test_waves_at_the_lowest_address_run_first_and_the_others_have_their_turn_in_the_end():
    waves, at = Waves([Dim3(0, 0, 0)], 3), np.array([8, 4, 4])
    runs = [waves.next(at) for _ in range(PATIENCE + 1)]
    assert {address for address, _ in runs[:PATIENCE]} == {4}
    assert [rows.tolist() for _, rows in (runs[0], runs[-1])] == [[1, 2], [0]]
    waves.ended[:] = True
    assert waves.next(at) is None


def test_a_barrier_opens_for_the_waves_that_live():
    waves = Waves([Dim3(0, 0, 0), Dim3(1, 0, 0)], 2)
    waves.arrive(np.array([0]), 12, signals=True, waits=True)
    assert waves.released() == []
    waves.ended[1] = True
    assert (waves.released(), waves.waiting.any()) == ([0], False)
    assert waves.text(3) == "workgroup (1, 0, 0), wave 1"


def test_races_are_found_between_waves_and_not_across_a_barrier(scene):
    races = Races(scene.lds, scene.counters, scene.program, scene.reporter)
    for barrier in (True, False):
        races.accessed(scene.access("read", [0], EACH))
        if barrier:
            scene.lds.barrier()
        races.accessed(scene.access("write", [1], EACH, 3, "store", [np.ones(64, np.uint32)]))
        scene.lds.barrier()
        assert scene.found == ([] if barrier else [("race", (3, 0, 0), 1, (0,))])
    (found,) = scene.tally.findings.values()
    assert found.message == "writes byte 0 of LDS, which wave 0 of the workgroup accesses without a barrier in between"
    assert (found.text, found.other_text) == (WORDS[3], WORDS[0])


def test_waits_are_missing_until_the_counter_is_waited_for(scene):
    waits, (load, add, *_) = Waits(scene.counters, scene.program, scene.reporter), scene.steps
    for wait in (True, False):
        group = scene.group(0, 1)
        waits.before(load, group)
        waits.issue(load, group)
        if wait:
            scene.counters.wait(group, {"lgkmcnt": 0})
        waits.before(add, group)
        assert scene.found == ([] if wait else [("wait", (3, 0, 0), 0, ())])
    assert "reads v1 while the access that writes it may be outstanding" in str(scene.tally.findings)


def test_an_undefined_value_passes_through_arithmetic_and_is_found_where_it_is_stored(scene):
    check, (_, add, store, _) = Uninitialised(scene.registers, scene.program, scene.reporter), scene.steps
    group = scene.group(0, 1)
    check.before(add, group)
    check.after(add, group, None)
    assert scene.found == []  # no use yet
    check.check_stored(group, store.instruction, store.instruction.sources[1], store.access)
    assert scene.found == [("uninitialised", (3, 0, 0), 0, tuple(range(64)))]
    assert "it stores v1, which no instruction has written (read at 0x8 by v_add_u32" in str(scene.tally.findings)


def test_what_a_load_reads_of_unwritten_memory_is_undefined_only_while_it_runs(scene):
    check, load = Uninitialised(scene.registers, scene.program, scene.reporter), scene.steps[0]
    group, half = scene.group(0, 1), np.arange(128) % 2 == 0
    check.before(load, group)
    check.loaded(group, ActiveLanes(group, np.tile(EACH, (2, 1)), 4), half, "LDS")
    check.after(load, group, None)
    assert group.leaves is None
    assert np.array_equal(scene.registers.undefined[1] != 0, half.reshape(2, 64))
    check.before(load, group)
    check.after(load, group, None)
    assert 1 in scene.registers.clean


def test_bytes_and_bank_conflicts_are_counted_once_for_each_wave(scene):
    banks = BankCounter(mmacalc.architecture("gfx942"), 64)
    moves = Moves(scene.tally, banks)
    moves.accessed(scene.access("read", [0, 1], 32 * EACH % 8192))
    moves.accessed(scene.access("atomic", [0, 1], EACH, action="add"))
    assert scene.tally.moved.traffic == (0, 0, 512, 512)
    (site,) = banks.sites
    assert (site.place, site.access, site.accesses, scene.tally.atomics) == (f"0x0: {WORDS[0]}", "read", 2, 2)
    assert site.conflicts > 0


def test_an_access_outside_stops_with_the_wave_and_the_lane_and_one_far_outside_is_noted(scene):
    bounds = Bounds(scene.lds, PrivateMemory(128, 16), 65536, scene.reporter)
    instruction, access = scene.steps[0].instruction, Access("ds", "load", 4)
    lanes = ActiveLanes(scene.group(1), np.where(EACH == 8, 1022, EACH), 4)
    with pytest.raises(Stop, match=r"workgroup \(3, 0, 0\), wave 1, lane 2, at 0x0 \(ds_read_b32 v1, v0\): it loads 4 "
                                   r"bytes at byte 1022 of LDS, which has 1024"):  # fmt: skip
        bounds.far_outside_lds(scene.group(1), instruction, access, lanes)
    with pytest.raises(Stop, match=r"lane 4, .* at byte 16 of scratch, which has 16"):
        bounds.outside_scratch(instruction, access, ActiveLanes(scene.group(0), EACH, 4))
    far = ActiveLanes(scene.group(1), np.where(EACH == 8, 0x7FFFFFFF, EACH), 4)
    assert np.flatnonzero(bounds.far_outside_lds(scene.group(1), instruction, access, far)).tolist() == [2]
    assert [one.kind for one in scene.tally.notes.values()] == ["outside LDS"]


def test_a_product_under_a_partial_mask_is_wrong_for_wmma_and_not_for_mfma(scene):
    scene.registers.s[EXEC] = 0xFFFFFFFE
    products, group = Products(scene.reporter), scene.group(0, 1)
    scene.tally.describe = lambda instruction: instruction.name
    for name, wrong in (("v_mfma_f32_32x32x1_2b_f32", []), ("v_wmma_f32_16x16x16_f16", [("exec", (3, 0, 0), 0, (0,))])):
        products.issued(group, SimpleNamespace(name=name, address=0), name)
        assert scene.found == wrong
    assert sum(scene.tally.issued.values()) == 4
