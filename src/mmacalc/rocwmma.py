"""rocWMMA's fragment API on emulated waves, with the hardware's bits.

The names are rocWMMA's; template arguments come first in the parentheses. One wave multiplies two 16x16 blocks:

>>> import numpy as np, mmacalc
>>> from mmacalc import rocwmma
>>> def kernel(wave, a, b, d):
...     fragA = rocwmma.fragment(rocwmma.matrix_a, 16, 16, 16, rocwmma.float16_t, rocwmma.row_major)
...     fragB = rocwmma.fragment(rocwmma.matrix_b, 16, 16, 16, rocwmma.float16_t, rocwmma.col_major)
...     acc = rocwmma.fragment(rocwmma.accumulator, 16, 16, 16, rocwmma.float32_t)
...     rocwmma.fill_fragment(acc, 0.0)
...     rocwmma.load_matrix_sync(fragA, a, 16)
...     rocwmma.load_matrix_sync(fragB, b, 16)
...     rocwmma.mma_sync(acc, fragA, fragB, acc)
...     rocwmma.store_matrix_sync(d, acc, 16, rocwmma.mem_row_major)
>>> a, b, d = np.eye(16, dtype=np.float16), np.ones((16, 16), np.float16), np.empty((16, 16), np.float32)
>>> report = mmacalc.launch(kernel, 1, 64, a, b, d, arch="gfx942")
>>> bool((d == 1).all()), dict(report.instructions)
(True, {'v_mfma_f32_16x16x16_f16': 1})

`support` has the table of what is supported; `geometry` says which element is where. Outside a launch,
AMDGCN_WAVE_SIZE is that of the default architecture, gfx942; inside, that of the wave (`wave_size(arch)` tells it on
the host).
"""

from __future__ import annotations

from .catalog import architecture as _architecture
from .kernels.launching import DEFAULT_ARCHITECTURE as _DEFAULT
from .kernels.rocwmma.fragments import Fragment
from .kernels.rocwmma.operations import (
    fill_fragment,
    fragment,
    load_matrix_coop_sync,
    load_matrix_sync,
    mma_sync,
    store_matrix_coop_sync,
    store_matrix_sync,
    synchronize_workgroup,
)
from .kernels.rocwmma.support import supported
from .kernels.rocwmma.types import (
    accumulator,
    bfloat8_t,
    bfloat16_t,
    col_major,
    float8_t,
    float16_t,
    float32_t,
    float64_t,
    hfloat16_t,
    int8_t,
    int32_t,
    matrix_a,
    matrix_b,
    mem_col_major,
    mem_row_major,
    row_major,
    xfloat32_t,
)
from .kernels.waves import running_wave as _running_wave

__all__ = [
    "AMDGCN_WAVE_SIZE",
    "Fragment",
    "accumulator",
    "bfloat8_t",
    "bfloat16_t",
    "ceilDiv",
    "col_major",
    "fill_fragment",
    "float8_t",
    "float16_t",
    "float32_t",
    "float64_t",
    "fragment",
    "hfloat16_t",
    "int8_t",
    "int32_t",
    "load_matrix_coop_sync",
    "load_matrix_sync",
    "matrix_a",
    "matrix_b",
    "mem_col_major",
    "mem_row_major",
    "mma_sync",
    "row_major",
    "store_matrix_coop_sync",
    "store_matrix_sync",
    "supported",
    "synchronize_workgroup",
    "wave_size",
    "xfloat32_t",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    AMDGCN_WAVE_SIZE: int


def wave_size(arch: str) -> int:
    """AMDGCN_WAVE_SIZE of an architecture: 64 on gfx9, 32 on gfx11 and gfx12.

    >>> wave_size("gfx942"), wave_size("gfx1100")
    (64, 32)
    """
    return _architecture(arch).waves[0]


def ceilDiv(dividend: int, divisor: int) -> int:
    """`rocwmma::ceilDiv`: the quotient, rounded up.

    >>> ceilDiv(250, 64)
    4
    """
    return -(-dividend // divisor)


def __getattr__(name: str) -> int:
    if name == "AMDGCN_WAVE_SIZE":
        wave = _running_wave()
        return wave.size if wave is not None else wave_size(_DEFAULT)
    raise AttributeError(f"module 'mmacalc.rocwmma' has no attribute '{name}'")
