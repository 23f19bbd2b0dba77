"""A product of matrices that are larger than one machine: mmacalc.gemm of Dask arrays.

    pip install "dask[array]" distributed
    python examples/gemm_dask.py            (or: python examples/gemm_dask.py tcp://SCHEDULER:8786)

Every block of D takes whole rows of A and whole columns of B, so K is not cut and the bits are those of one product.
"""

from __future__ import annotations

import sys

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, progress

import mmacalc

SIZE, BLOCK = 320, 160


def main() -> None:
    """Compute a product on a cluster, by default one of two processes on this machine."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, SIZE, SIZE)).astype(np.float16)
    addresses = sys.argv[1:]
    cluster = None if addresses else LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster or addresses[0]) as client:
        parts = [da.from_array(array, chunks=BLOCK) for array in (a, b)]
        product = mmacalc.gemm(*parts, arch="gfx942").persist()
        if sys.stderr.isatty():
            progress(product)
        d = product.compute()
        workers = len(client.scheduler_info()["workers"])
    if cluster:
        cluster.close()
    whole = mmacalc.gemm(a, b, arch="gfx942")
    same = "the bits of" if (d == whole).all() else "wrong, other bits than"
    print(f"{SIZE}x{SIZE}x{SIZE} on {workers} workers: {same} one product, {whole.emulation.instruction.name}")


if __name__ == "__main__":
    main()
