"""Mistakes that people make in kernels for Hopper, one at a time: each is named, at its line, in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mmacalc
from mistaken_ptx import CASES, RIGHT, TEXT, kernels
from mmacalc.cli import answer
from ptx_findings import Case, compiled, is_named, is_right, launched
from samples import sampled

# name: the kind of a finding ("stopped" of an error, "note" of a note), what its line of the source has, its words
WRONG: dict[str, tuple[str, str, str]] = {
    "tma_store<1>": ("proxy", "store(&map", "fence.proxy.async must come after the write"),
    "tma_store<2>": ("proxy", "store(&map", "fence.proxy.async must come after the write"),
    "tma_store<3>": ("proxy", "store(&map", "reads byte 4 of tile in shared memory by the async proxy"),
    "tma_store<4>": ("race", "store(&map", "which another thread (thread 1) wrote"),
    "tma_store<5>": ("race", "tile[t] = 2 *", "which an asynchronous operation in flight reads"),
    "tma_store<6>": ("proxy", "store(&map", "fence.proxy.async must come after the write"),
    "tma_store<7>": ("race", "tile[t] = 2 *", "which an asynchronous operation in flight reads"),
    "tma_load<1>": ("mbarrier", "expect(&full", "is not initialised"),
    "tma_load<2>": ("deadlock", "wait(&full, row)", "1 arrival of 2 missing"),
    "tma_load<3>": ("deadlock", "wait(&full, row)", "full in shared memory is in phase 0, and phase 0 is waited for"),
    "tma_load<4>": ("mbarrier", "wait(&full, row)", "a barrier must come in between"),
    "tma_load<5>": ("wait", "tile[t]", "an asynchronous copy in flight writes: it is not waited for"),
    "tma_load<6>": ("deadlock", "wait(&full, row)", "256 bytes more than expected have come (a wrong expect_tx)"),
    "tma_load<7>": ("deadlock", "wait(&full, row)", "512 bytes that were expected have not come"),
    "tma_load<8>": ("stopped", "", "the tile must begin at a multiple of 128 bytes"),
    "tma_load<9>": ("wait", "tile[t]", "an asynchronous copy in flight writes: it is not waited for"),
    "tma_load<10>": ("wait", "tile[t]", "an asynchronous copy in flight writes: it is not waited for"),
    "tma_load<11>": ("wait", "tile[t]", "an asynchronous copy in flight writes: it is not waited for"),
    "tma_load<12>": ("race", "load(", "of tile in shared memory, which another thread read"),
    "ring<1>": ("deadlock", "wait(&empty[s], phase ^ 1)", "empty in shared memory is in phase 128"),
    "ring<2>": ("deadlock", "wait(&empty[s], phase ^ 1)", "1 arrival of 129 missing"),
    "ring<3>": ("deadlock", "wait(&empty[s], phase)", "128 arrivals of 128 missing"),
    "ring<4>": ("mbarrier", "expect(&full[s]", "arrives 1 times where 0 arrivals are pending"),
    "ring<5>": ("wait", "load(", "of tiles in shared memory, which an asynchronous copy in flight writes"),
    "ring<6>": ("wait", "tiles[s][t]", "an asynchronous copy in flight writes: it is not waited for"),
    "ring<7>": ("race", "load(", "of tiles in shared memory, which another thread read"),
    "ring<8>": ("deadlock", "wait(&empty[s], phase ^ 1)", "128 arrivals of 128 missing"),
    "product<1>": ("proxy", "MULTIPLY", "of tiles in shared memory by the async proxy"),
    "product<2>": ("stopped", "", "so far the descriptor of A reaches"),
    "product<3>": ("fence", "MULTIPLY", "since the last wgmma.fence: one must come in between"),
    "product<4>": ("wait", "put(d, c)", "which a wgmma in flight uses: wgmma.wait_group must come before"),
    "product<5>": ("wait", "c[0] += 1", "which a wgmma in flight uses: wgmma.wait_group must come before"),
    "product<6>": ("wait", "put(d, c)", "which a wgmma in flight uses: wgmma.wait_group must come before"),
    "product<7>": ("race", "tiles[0][t] = 0", "which an asynchronous operation in flight reads"),
    "product<8>": ("wait", "put(d, c)", "which a wgmma in flight uses: wgmma.wait_group must come before"),
    "product<9>": ("stopped", "", "so far the descriptor of A reaches"),
    "swizzled<1>": ("note", "", "not a multiple of 1024 bytes"),
    "swizzled<2>": ("descriptor", "MULTIPLY", "parts of A lie at the same bytes"),
    "swizzled<3>": ("descriptor", "", "has the swizzle 64B; the tensor copy that wrote these bytes had 128B"),
    "stages<1>": ("wait", "sum += tiles", "an asynchronous copy in flight writes: it is not waited for"),
    "stages<2>": ("race", "sum += tiles", "which another thread (thread 33) wrote"),
    "stages<3>": ("wait", "sum += tiles", "an asynchronous copy in flight writes: it is not waited for"),
    "stages<4>": ("race", "sum += tiles", "which another thread (thread 33) wrote"),
    "named<1>": ("race", "buffer[(t + 7) % 64]", "which another thread (thread 7) wrote"),
    "named<2>": ("deadlock", "bar.sync 1, 128", "wants 128 threads, and 64 have come; threads have come to barrier 2"),
    "named<3>": ("barrier", "bar.sync 1, 96", "another number of threads than those who wait there"),
    "lanes<1>": ("race", "buffer[t ^ 1]", "which another thread (thread 1) wrote"),
    "lanes<2>": ("deadlock", "__syncwarp", "lanes 0-15 of the warp wait at line"),
    "lanes<3>": ("uninitialised", "out[t] = y", "comes from a lane that does not execute the shuffle"),
    "lanes<4>": ("barrier", "__syncthreads", "not all threads of the warp execute it"),
    "peers<1>": ("race", "ld.shared::cluster", "may not have started: a barrier of the cluster must come before"),
    "peers<2>": ("race", "ld.shared::cluster", "may not have started: a barrier of the cluster must come before"),
    "peers<3>": ("race", "ld.shared::cluster", "wrote without synchronisation in between"),
    "peers<4>": ("race", "ld.shared::cluster", "a barrier of the cluster must come after"),
    "peers<5>": ("stopped", "", "outside shared memory of a cluster of 2"),
    "peers<6>": ("race", "ld.shared::cluster", "a barrier of the cluster must come after"),
    "multicast<1>": ("mbarrier", "multicast::cluster", "a barrier must come in between"),
    "multicast<2>": ("mbarrier", "multicast::cluster", "a barrier must come in between"),
    "multicast<3>": ("wait", "tile[t]", "an asynchronous copy in flight writes: it is not waited for"),
    "multicast<4>": ("deadlock", "wait(&full, 0)", "512 bytes that were expected have not come"),
    "registers<1>": ("warp", "setmaxnreg.dec", "only 1 warp of the warpgroup's 4 executed it"),
    "registers<2>": ("deadlock", "setmaxnreg.inc", "want 80,896 registers, and the CTA has 64,512"),
    "registers<3>": ("deadlock", "setmaxnreg.inc", "want 66,560 registers, and the CTA has 64,512"),
    "handed_on<1>": ("wait", "work[t] + work[128 + t]", "cp.async.bulk.wait_group (without .read)"),
    "handed_on<2>": ("wait", "work[t] + work[128 + t]", "cp.async.bulk.wait_group (without .read)"),
    "handed_on<11>": ("proxy", "load(tile", "fence.proxy.async (or .global) must come after the write"),
    "handed_on<12>": ("proxy", "load(tile", "fence.proxy.async (or .global) must come after the write"),
    "made_map<1>": ("proxy", "load(tile, made", "fence.proxy.tensormap::generic.release must come after the write"),
    "made_map<2>": ("proxy", "load(tile, made", "fence.proxy.tensormap::generic.acquire of the map must come before"),
}
UNNAMED = {"swizzled<4>"}  # reads other columns of the tile than were meant: only the result shows it


def case(name: str) -> Case:
    return CASES[name.partition("<")[0]]


def test_every_kernel_of_the_source_is_tried() -> None:
    assert kernels().keys() == {*RIGHT, *WRONG, *UNNAMED}


@sampled("schedule", [None, 1, 3, 5], 2)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_right_and_has_no_finding_in_any_order(name: str, schedule: int | None) -> None:
    is_right(kernels()[name], case(name), schedule)


@sampled("name", WRONG, 40)
def test_a_mistake_is_named_at_its_line_of_the_source(name: str) -> None:
    is_named(kernels()[name], case(name), WRONG[name])


@pytest.mark.parametrize(("name", "kind", "counts"), [
    ("tma_load<6>", "deadlock", "mbarrier.arrive.expect_tx"), ("tma_load<7>", "deadlock", "mbarrier.arrive.expect_tx"),
    ("tma_load<2>", "deadlock", "mbarrier.init"), ("ring<2>", "deadlock", "mbarrier.init"),
    ("ring<5>", "wait", "cp.async.bulk"),
])  # fmt: skip
def test_what_an_mbarrier_waits_for_is_named_with_the_statement_that_says_so(name: str, kind: str, counts: str) -> None:
    launch, _ = launched(kernels()[name], case(name))
    found = [one for one in launch.findings.values() if one.kind == kind]
    assert any(one.other_text.startswith(counts) for one in found), found
    if kind == "wait":
        words = re.search(
            r"at the mbarrier that it signals, which is in phase \d+, line (\d+) expects bytes", found[0].message
        )
        assert words is not None, found[0].message
        statements = kernels()[name].module.functions[kernels()[name].name].statements
        assert "expect_tx" in next(one.opcode for one in statements if one.line == int(words[1]))


def test_a_tensor_map_is_given_on_the_command_line(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    x = np.arange(256, dtype=np.float32).reshape(2, 128)
    np.save("x.npy", x)
    (tmp_path / "k.ptx").write_text(TEXT)

    def run(*words: str) -> Any:
        return answer(["run-kernel", "k.ptx", "tma_load<0>", "--block", "128", "--args", *words])

    reply = run("map:1x128:x.npy", "out:y.npy:f4:2x128")
    assert reply.status == 0, reply
    assert (np.load("y.npy") == x).all()
    for words, message in (
        (["x.npy", "out:y.npy:f4:2x128"], "map:BOX:FILE.npy on the command line"),
        (["map:x.npy", "5"], "map: begins with the box"),
        (
            ["map:1x128:256B:x.npy", "5"],
            "of none, 32B, 64B, 128B, 128B-base32B, 128B-base64B, 128B-base32B-flip8B, 96B; got '256B'",
        ),
        (["map:1x128:128B-base16B:x.npy", "5"], "96B; got '128B-base16B'"),
        (["map:1x128:7", "5"], "map: ends in an array"),
        (["map:1x512:x.npy", "5"], "box has a size of 1 to 256"),
    ):
        refused = run(*words)
        assert refused.status == 2
        assert message in refused.err


def test_kernels_have_their_names_in_cpp_and_a_source_is_refused_with_the_way_out(tmp_path: Any) -> None:
    loaded = mmacalc.load(TEXT)
    assert loaded["tma_load<0>"].cpp_name == "tma_load<0>"
    assert loaded["tma_load<0>"].name == "_Z8tma_loadILi0EEv3MapPf"
    with pytest.raises(mmacalc.Error, match="several kernels are called 'tma_load'"):
        loaded["tma_load"]
    (tmp_path / "k.cu").write_text("__global__ void k() {}")
    with pytest.raises(mmacalc.Error, match="nvcc -ptx"):
        mmacalc.load(tmp_path / "k.cu")


def test_a_bulk_store_that_is_not_waited_for_before_the_end_is_a_note() -> None:
    text = TEXT.replace("cp.async.bulk.wait_group.read 0;", "")
    launch, _ = launched(compiled(text)["tma_store<0>"], CASES["tma_store"])
    assert any("wait_group.read" in remark for _, remark in launch.remarks)


REUSED = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
    .shared .align 128 .b8 tile[128];
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; and.b32 %r3, %r1, 31; mad.lo.u32 %r3, %r3, 4, %r2;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra OTHER;
    st.shared.b32 [%r3], %r1;
    fence.proxy.async.shared::cta;
    bar.warp.sync -1;
    setp.ne.u32 %p0, %r1, 0;
    @!%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    bar.sync 0;
    cp.async.bulk.wait_group.read 0;
    ret;
OTHER:
    bar.sync 0;
    st.shared.b32 [%r3], %r1;
    ret;
}
"""


@pytest.mark.parametrize("schedule", [None, 1, 2])
def test_a_second_wait_for_the_source_of_a_bulk_store_does_not_count_as_another_read(schedule):
    texts = REUSED, REUSED.replace("wait_group.read 0", "wait_group.read 1", 1)
    right, early = (mmacalc.load(text)["k"] for text in texts)
    out = np.zeros(32, np.uint32)
    assert mmacalc.launch(right, 1, 64, out, schedule=schedule).findings == ()
    assert (out == np.arange(32)).all()
    assert {found.kind for found in mmacalc.launch(early, 1, 64, out, schedule=schedule).findings} & {"race", "wait"}
