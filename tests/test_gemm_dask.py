"""mmacalc.gemm of Dask arrays: D is one, computed later, with the bits of one product for any chunks."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

import mmacalc
from mmacalc import Error, gemm, gemm_bits

RNG = np.random.default_rng(29)
M, K, N = 23, 70, 37
A, B = RNG.standard_normal((2, 1, M, K)).astype(np.float16), RNG.standard_normal((3, K, N)).astype(np.float16)
C = RNG.standard_normal((M, N))


@pytest.mark.filterwarnings("ignore:Increasing number of chunks")  # Dask's, of chunks that do not fit each other
@pytest.mark.parametrize("chunks", [((1, 1, 9, 16), (2, 33, 20), 17), ((2, 1, M, 3), (3, K, 1), (5, N))])
@pytest.mark.parametrize(
    "how", [{}, {"alpha": 0.5, "beta": 0.2}, {"split_k": 3}, {"promote": 32}, {"k_order": "descending"}]
)
def test_any_chunks_have_the_bits_of_one_product(chunks, how):
    expected = gemm(A, B, C, "gfx942", **how)
    blocks = [da.from_array(array, chunks=size) for array, size in zip((A, B, C), chunks)]
    d = gemm(*blocks, "gfx942", **how)
    assert (type(d), d.shape, d.dtype, d.emulation) == (da.Array, (2, 3, M, N), np.float32, expected.emulation)
    np.testing.assert_array_equal(d.compute(scheduler="synchronous").view(np.uint32), expected.view(np.uint32))


def test_one_dask_array_among_numpys_is_enough_and_scales_and_encodings_are_cut_along():
    for mixed in ((da.from_array(A, chunks=8), B, 2), (A, da.from_array(B, chunks=8), C), (A, B, da.from_array(C))):
        plain = gemm(A, B, mixed[2] if np.ndim(mixed[2]) == 0 else C, "sm_90a")
        np.testing.assert_array_equal(gemm(*mixed, "sm_90a").compute(scheduler="synchronous"), plain)
    inst = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")
    a, b = RNG.integers(0, 120, (30, 300), np.uint8), RNG.integers(0, 120, (300, 20), np.uint8)
    scales = RNG.integers(120, 130, (30, 10), np.uint8)
    d = gemm_bits(da.from_array(a, chunks=13), b, instruction=inst, scale_a=da.from_array(scales, chunks=3))
    assert d.dtype == np.uint32
    expected = gemm_bits(a, b, instruction=inst, scale_a=scales)
    np.testing.assert_array_equal(d.compute(scheduler="synchronous"), expected)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"compare": True}, "computed later"), ({"out": np.zeros((M, N))}, "computed later"),
        ({"progress": print}, "ProgressBar"), ({"c": C[1:]}, "C is"), ({"scale_a": np.ones((M, 2))}, "no block scales"),
        ({"a": da.from_array(C)[da.from_array(C)[:, 0] > 0]}, "compute_chunk_sizes"),
        ({"split_k": 99, "instruction": "v_mfma_f32_16x16x16_f16"}, "1 to 5"),
    ],
)  # fmt: skip
def test_what_dask_arrays_cannot_be_asked_for_is_refused_before_anything_is_computed(given, says):
    with pytest.raises(Error, match=says):
        gemm(**{"a": da.from_array(A), "b": B, "arch": "gfx942", **given})


@pytest.mark.whole  # examples/gemm_dask.py runs on two processes in the ordinary suite
def test_two_processes_of_a_cluster_make_one_product():
    """Each task has the instruction, so that workers need nothing but mmacalc; progress() follows what is persisted."""
    from dask.distributed import Client, LocalCluster, progress

    a, b = RNG.standard_normal((2, 150, 200)).astype(np.float16)
    b = b.reshape(200, 150)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for how in ({}, {"promote": 64, "accumulate": "bf16", "d_type": "fp8", "alpha": 0.5, "beta": 2}):
            blocks = [da.from_array(a, chunks=(40, 70)), da.from_array(b, chunks=(60, 31))]
            d = gemm(*blocks, 1, "sm_90a", **how).persist()
            progress(d, notebook=False)
            found = d.compute()
            assert len({worker for workers in client.who_has(d).values() for worker in workers}) == 2
            np.testing.assert_array_equal(found, np.asarray(gemm(a, b, 1, "sm_90a", **how)))
