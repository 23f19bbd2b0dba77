"""What memcheck, racecheck, initcheck and synccheck look for, and wrong pipelines of Ampere, Hopper, Blackwell: each is
named by its kind at its line; the right kernels are clean in any order of the warps.

tests/data/ptx/pitfalls.cu and blackwell.cu have the kernels; their PTX is by nvcc 13.0 (-lineinfo).
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc.kernels.ptx.kernel import PtxKernel
from ptx_findings import Case, compiled, is_named, is_right, launched, product, rows, swizzled
from samples import sampled

FILES = ("pitfalls_sm_90a", "blackwell_sm_100a")


def voted(x: np.ndarray) -> np.ndarray:
    """What `halves` computes of each 16 words by themselves."""
    found = []
    for lane in range(32):
        first = lane // 16 * 16
        half = x[first : first + 16]
        same = sum(1 << first + at for at in range(16) if (half[at] ^ x[lane]) & 1 == 0)
        parts = int(half.sum()), 1000 * int((half == x[3]).any()), 2000 * int((half < x[32]).all())
        found.append((sum(parts) + 4000 * int((half & 1).sum()) + (same << 8)) % (1 << 32))
    return np.array(found, np.uint32)


def transposed(x: np.ndarray) -> np.ndarray:
    """Four matrices of 8x8 halves, each turned."""
    halves = x.view(np.uint16).reshape(4, 8, 8).swapaxes(1, 2)
    return np.ascontiguousarray(halves).view(np.uint32).reshape(-1)


T = np.arange(128)
CASES: dict[str, Case] = {
    "tree": (1, 128, 0, "w128 W1", lambda x, z: ([x, z], z, x.sum())),
    "neighbour": (1, 128, 0, "w128 W128", lambda x, z: ([x, z], z, (x + np.append(x[1:], 0))[::-1])),
    "histogram": (1, 128, 0, "w128 W16", lambda x, z: ([x, z], z, np.bincount(x & 15, minlength=16))),
    "two_tiles": (1, 128, 0, "w7x128 W128", lambda x, z: ([x, z, 7], z, x.sum(0)[T ^ 64])),
    "flag": (1, 64, 0, "w32 W32", lambda x, z: ([x, z], z, np.roll(x, -1))),
    "ended": (1, 128, 0, "w128 W128", lambda x, z: ([x, z, 100], z, np.append(x[99::-1], np.zeros(28)))),
    "diverged": (1, 32, 0, "w32 W32", lambda x, z: ([x, z], z, np.where(x & 1, x[x % 2 == 1].sum(), 0))),
    "halves": (1, 32, 0, "w33 W32", lambda x, z: ([x, z], z, voted(x))),
    "accesses": (1, 64, 0, "f64 F64", lambda x, z: ([x, z, 64], z, x + x[T[:64] ^ 63] + x[T[:64] & 7] + T[:64])),
    "tail": (1, 128, 0, "w7x128 W128", lambda x, z: ([x, z, 7], z, x.sum(0)[T ^ 96])),
    "noted": (1, 128, 0, "w128 W128", lambda x, z: ([x, z], z, x[T ^ 64])),
    "elected": (1, 32, 0, "w32 W32", lambda x, z: ([x, z], z, x[7])),
    "fragments": (1, 32, 0, "w128 W128", lambda x, z: ([x, z], z, transposed(x))),
    "turns": (1, 64, 0, "W1", lambda z: ([z, 3], z, 0b010101)),
    "spread": (2, 64, 0, "w128 W16", lambda x, z: ([x, z], z, np.bincount(x & 15, minlength=16))),
    "bulk": (1, 128, 0, "w132 W128", lambda x, z: ([x, z], z, x[T ^ 64])),
    "pipeline": (
        1, 160, 32768, "h64x320 h64x320 F64x64",
        lambda a, b, d: ([swizzled(a), swizzled(b), d, 5], d, product(a, b)),
    ),
    "shared_ring": (2, 160, 0, "f5x128 F2x128", lambda x, z: ([rows(x), z, 5], z, np.tile(x.sum(0)[T ^ 64], (2, 1)))),
    "gemm": (
        1, 256, 49152, "h256x192 h64x192 F256x64",
        lambda a, b, d: ([swizzled(a, 128), swizzled(b), d, 2, 3], d, product(a, b)),
    ),
    "tensor_memory": (
        1, 128, 0, "h128x16 h64x16 F128x64",
        lambda a, b, d: ([a.view(np.uint32), b.view(np.uint16), d], d, product(a, b)),
    ),
}  # fmt: skip
FLIES = "which an asynchronous copy in flight writes: it is not waited for"
READ = "which an asynchronous operation in flight reads"
# name: the kind of a finding ("stopped" of an error), what its line of the source has, its words
WRONG: dict[str, tuple[str, str, str]] = {
    "tree<1>": ("race", "part[t] += part[t + s]", "(thread 64) wrote without synchronisation"),
    "tree<2>": ("barrier", "part[t] += part[t + s]; __syncthreads()", "not all threads of the warp execute it"),
    "tree<3>": ("race", "v[t] = v[t] + v[t + s]", "(thread 16) wrote without synchronisation"),
    "tree<4>": ("race", "v[t] = v[t] + v[t + s]", "which another thread read without synchronisation"),
    "tree<5>": ("race", "part[t] += part[t + s]", "(thread 32) wrote without synchronisation"),
    "neighbour<1>": ("race", "x[t] += y", "which another thread read without synchronisation"),
    "neighbour<2>": ("race", "x[127 - t]", "(thread 127) wrote without synchronisation"),
    "histogram<1>": ("race", "+= 1", "which another thread read without synchronisation"),
    "histogram<2>": ("uninitialised", "atomicAdd", "which nothing has written"),
    "histogram<3>": ("race", "out[t] = bins[t]", "wrote without synchronisation"),
    "histogram<4>": ("race", "atomicAdd", "which another thread wrote without synchronisation"),
    "two_tiles<1>": ("race", "= next", "which another thread read without synchronisation"),
    "two_tiles<2>": ("race", "= next", "which another thread read without synchronisation"),
    "two_tiles<3>": ("race", "tile[s][t ^ 64]", "(thread 64) wrote without synchronisation"),
    "flag<1>": ("race", "data[(t + 1) % 32]", "(thread 1) wrote without synchronisation"),
    "flag<2>": ("race", "data[(t + 1) % 32]", "(thread 1) wrote without synchronisation"),
    "flag<3>": ("race", "data[(t + 1) % 32]", "(thread 1) wrote without synchronisation"),
    "ended<1>": ("race", "", "reads byte 0 of x in shared memory, which another thread (thread 0) wrote"),
    "ended<2>": ("uninitialised", "x[127 - t]", "which comes from memory that nothing has written, is stored"),
    "diverged<1>": ("deadlock", "__reduce_add_sync(~0u", "of the warp wait at line"),
    "diverged<2>": ("uninitialised", "out[t] = sum", "comes from a lane that does not execute the shuffle"),
    "diverged<3>": ("warp", "", "its mask 0x0000fffe does not name"),
    "diverged<4>": ("warp", "__syncwarp(0x55555555)", "its mask 0x55555555 does not name"),
    "accesses<1>": ("stopped", "", "loads 4 bytes just past the end of argument 1"),
    "accesses<2>": ("stopped", "", "4 bytes before the first byte of argument 1"),
    "accesses<3>": ("stopped", "", "is not a multiple of 16"),
    "accesses<4>": ("stopped", "", "is outside shared memory, which has 256 bytes"),
    "accesses<5>": ("stopped", "", "is outside local memory, which has 32 bytes"),
    "accesses<6>": ("uninitialised", "out[t] = x", "which comes from memory that nothing has written, is stored"),
    "accesses<7>": ("uninitialised", "out[t] = x", "which comes from memory that nothing has written, is stored"),
    "tail<1>": ("wait", "sum += tiles", FLIES),
    "tail<2>": ("wait", "sum += tiles", FLIES),
    "tail<3>": ("race", "issue(step + 3)", "which another thread read without synchronisation"),
    "tail<4>": ("race", "tiles[step % 4][t] = 0", "which another thread read without synchronisation"),
    "noted<1>": ("deadlock", "wait(&full, 0)", "128 arrivals of 128 missing"),
    "noted<2>": ("wait", "tile[t ^ 64]", FLIES),
    "noted<3>": ("wait", "tile[t ^ 64]", FLIES),
    "elected<1>": ("race", "out[t] = slot", "(thread 0) wrote without synchronisation"),
    "fragments<1>": ("race", "ldmatrix", "(thread 1) wrote without synchronisation"),
    "fragments<2>": ("race", "tile[0][0][i * 32 + t]", "(thread 0) wrote without synchronisation"),
    "fragments<3>": ("stopped", "", "ldmatrix.*address 0x5f4 is outside shared memory"),
    "fragments<4>": ("stopped", "", "ldmatrix.*address 0x2400 is outside shared memory"),
    "turns<1>": ("deadlock", "bar.sync 2", "barrier 2 wants 64 threads, and 32 have come"),
    "turns<2>": ("deadlock", "bar.sync 1", "thread 32 waits at line"),
    "turns<3>": ("deadlock", "bar.sync 1", "barrier 1 wants 64 threads, and 32 have come"),
    "turns<4>": ("race", "out[0] = value", "(thread 0) wrote without synchronisation"),
    "spread<1>": ("race", "red.shared::cluster", "may not have started: a barrier of the cluster must come before"),
    "spread<2>": ("race", "red.shared::cluster", "a barrier of the cluster must come after"),
    "spread<3>": ("race", "ld.shared::cluster", "a barrier of the cluster must come after"),
    "spread<4>": ("race", "st.shared::cluster", "write different values to byte 0 of bins"),
    "bulk<1>": ("stopped", "", "multiples of 16; got .* and 500 bytes"),
    "bulk<2>": ("stopped", "", "multiples of 16; got"),
    "bulk<3>": ("stopped", "", "is outside shared memory, which has"),
    "bulk<4>": ("deadlock", "wait(&full[0], 0)", "512 bytes that were expected have not come"),
    "bulk<5>": ("deadlock", "try_wait(&full[1]", "1 arrival of 1 missing"),
    "bulk<6>": ("wait", "tile[t ^ 64]", FLIES),
    "bulk<7>": ("mbarrier", "init(&full[0], 1)", "mbarrier.inval must come first"),
    "bulk<8>": ("mbarrier", "full[0] = t", "mbarrier.inval must come before its bytes are used"),
    "pipeline<1>": ("race", "load(tiles", READ),
    "pipeline<2>": ("wait", "MULTIPLY", FLIES),
    "pipeline<3>": ("race", "MULTIPLY", "wrote without synchronisation"),
    "pipeline<4>": ("wait", "MULTIPLY", FLIES),
    "pipeline<5>": ("wait", "c[i] *= 2", "which a wgmma in flight uses"),
    "pipeline<6>": ("fence", "MULTIPLY", "since the last wgmma.fence: one must come in between"),
    "pipeline<7>": ("race", "MULTIPLY", "wrote without synchronisation"),
    "pipeline<8>": ("race", "load(tiles", READ),
    "pipeline<9>": ("wait", "d[(row", "which a wgmma in flight uses"),
    "shared_ring<1>": ("wait", "tiles[s][t ^ 64]", FLIES),
    "shared_ring<2>": ("deadlock", "wait(&empty[s]", "2 arrivals of 4 missing"),
    "shared_ring<3>": ("race", "mbarrier.arrive.release", "a barrier of the cluster must come after"),
    "shared_ring<4>": ("mbarrier", "expect(&full[s], 512)", "where 0 arrivals are pending"),
    "shared_ring<5>": ("race", "cp.async.bulk.tensor.2d", "wrote without synchronisation"),
    "gemm<1>": ("deadlock", "wait(&free", "4 arrivals of 4 missing"),
    "gemm<2>": ("race", "accumulator = base", "(thread 32) wrote without synchronisation"),
    "gemm<3>": ("wait", "load(place", FLIES),
    "gemm<4>": ("wait", "multiply(accumulator", FLIES),
    "gemm<5>": ("deadlock", "wait(&full[s], phase)", "8192 bytes that were expected have not come"),
    "gemm<6>": ("race", "load(place", READ),
    "gemm<7>": ("wait", "get(accumulator", "Tensor Memory that an operation in flight writes: tcgen05.commit"),
    "gemm<8>": ("race", "multiply(accumulator", "wrote without synchronisation"),
    "gemm<9>": ("wait", "multiply(accumulator", FLIES),
    "gemm<10>": ("race", "load(place", READ),
    "gemm<11>": ("wait", "get(accumulator", "Tensor Memory that an operation in flight writes: tcgen05.commit"),
    "gemm<12>": ("deadlock", "wait(&done", "1 arrival of 1 missing"),
    "gemm<13>": ("deadlock", "wait(&done", "1 arrival of 1 missing"),
    "gemm<14>": ("uninitialised", "get(accumulator", "reads Tensor Memory that nothing has written"),
    "gemm<15>": ("uninitialised", "get(accumulator", "reads Tensor Memory that nothing has written"),
    "gemm<16>": ("race", "multiply(accumulator", "Tensor Memory that warp 4 may still read"),
    "gemm<17>": ("tensor memory", "get(accumulator", "touches columns that are not allocated"),
    "gemm<18>": ("tensor memory", "alloc<64>", "allocates columns that are never freed"),
    "gemm<19>": ("tensor memory", "dealloc<", "frees 32 columns from 0, which were not allocated so"),
    "tensor_memory<1>": ("proxy", "tcgen05.mma", "fence.proxy.async must come after the write"),
    "tensor_memory<2>": ("wait", "tcgen05.mma", "or tcgen05.wait::st, must come before"),
    "tensor_memory<3>": ("race", "tcgen05.mma", "reads Tensor Memory that another thread or operation wrote"),
    "tensor_memory<4>": ("race", "put(left", "writes Tensor Memory that an operation in flight reads"),
    "tensor_memory<5>": ("race", "right[t] = 0", READ),
    "tensor_memory<6>": ("tensor memory", "get(accumulator", "reaches the lanes 0 to 31; the address says lane 32"),
    "tensor_memory<7>": ("tensor memory", "get(accumulator", "touches columns that are not allocated"),
    "tensor_memory<8>": ("tensor memory", "get(accumulator", "touches columns that are not allocated"),
}
RIGHT = [f"{name}<0>" for name in CASES]


@cache
def kernels() -> dict[str, PtxKernel]:
    return {name: kernel for file in FILES for name, kernel in compiled(recorded.text(f"ptx/{file}.ptx.gz")).items()}


def case(name: str) -> Case:
    return CASES[name.partition("<")[0]]


def test_every_kernel_of_the_sources_is_tried() -> None:
    assert kernels().keys() == {*RIGHT, *WRONG}


@sampled("name", RIGHT, 8)
def test_a_right_kernel_is_right_and_has_no_finding_in_any_order(name: str) -> None:
    for schedule in (None, 1, 2, 3):
        is_right(kernels()[name], case(name), schedule)


@sampled("name", list(WRONG), 20, whole=30)
def test_a_mistake_is_named_by_its_kind_at_its_line(name: str) -> None:
    is_named(kernels()[name], case(name), WRONG[name])


def test_a_descriptor_of_tcgen05_that_reaches_beyond_shared_memory_stops_the_launch() -> None:
    text = recorded.text("ptx/blackwell_sm_100a.ptx.gz")
    wide = re.sub(r"\b46117566620495380\d\d\b", lambda found: str(int(found[0]) | 0x3000 << 32), text)
    assert wide != text
    with pytest.raises(mmacalc.Error, match=r"tcgen05\.mma.*is outside shared memory, which has \d+ bytes"):
        launched(compiled(wide)["gemm<0>"], CASES["gemm"])


def test_a_descriptor_of_tcgen05_with_another_swizzle_than_its_tensor_copy_is_named() -> None:
    text = recorded.text("ptx/blackwell_sm_100a.ptx.gz")
    other = re.sub(r"\b46117566620495380\d\d\b", lambda found: str(np.int64(int(found[0]) ^ -(1 << 62))), text)
    assert other != text
    launch, _ = launched(compiled(other)["gemm<0>"], CASES["gemm"])
    words = "has the swizzle 64B; the tensor copy that wrote these bytes had 128B"
    assert [one for one in launch.findings.values() if one.kind == "descriptor" and words in one.message]


def test_a_tile_of_a_tensor_copy_that_reaches_beyond_shared_memory_stops_the_launch() -> None:
    text, entry = recorded.text("ptx/blackwell_sm_100a.ptx.gz"), "_Z4gemmILi0EEv3MapS0_Pfii"
    other = re.sub(rf"mov\.b64\s+%rd22, {entry}_param_1;", "", text)  # A's map for B, too
    assert other != text
    with pytest.raises(mmacalc.Error, match=r"so far the tile reaches, whose box is \(128, 64\)"):
        launched(compiled(other)["gemm<0>"], CASES["gemm"])
