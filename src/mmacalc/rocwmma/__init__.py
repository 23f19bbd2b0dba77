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

`supported(arch)` is the table of what is supported, that of rocWMMA 1.6, whose order of k the results follow. A C++
type, `using F = fragment<...>`, is `F = rocwmma.fragment_type(...)`, and `F frag` is `frag = F()`. Outside a launch,
AMDGCN_WAVE_SIZE is that of the default architecture, gfx942; inside, that of the wave (`wave_size(arch)` gives it on
the host).

The modules:

    types        data types, matrix contexts, layouts: the names that fragments are made of
    support      the combinations that rocWMMA supports, and errors that list them
    geometry     which element is where in a fragment, and in the operands of the instruction that multiplies it
    fragments    fragments, and the products that fill accumulators
    operations   the functions: fragment, load, store, mma_sync ...
    mapping      coordinates of blocks and waves: make_coord2d, MappingUtil
    transforms   fragment types, applyTranspose, applyDataLayout
"""

from __future__ import annotations

from ..catalog import architecture as _architecture
from ..kernels.launching import DEFAULT_ARCHITECTURE as _DEFAULT
from ..kernels.waves import running_wave as _running_wave
from .fragments import Fragment
from .mapping import Coord2d, DataLayout, MappingUtil, get, make_coord2d
from .operations import (
    fill_fragment,
    fragment,
    load_matrix_coop_sync,
    load_matrix_sync,
    mma_sync,
    store_matrix_coop_sync,
    store_matrix_sync,
    synchronize_workgroup,
)
from .support import supported
from .transforms import (
    ApplyDataLayout_t,
    ApplyTranspose_t,
    FragmentType,
    GetDataLayout_t,
    GetDataType_t,
    GetIOShape_t,
    IOShape,
    applyDataLayout,
    applyTranspose,
    fragment_type,
)
from .types import (
    accumulator,
    bfloat8_fnuz_t,
    bfloat8_t,
    bfloat16_t,
    col_major,
    float8_fnuz_t,
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

__all__ = [
    "AMDGCN_WAVE_SIZE",
    "ApplyDataLayout_t",
    "ApplyTranspose_t",
    "Constants",
    "Coord2d",
    "DataLayout",
    "Fragment",
    "FragmentType",
    "GetDataLayout_t",
    "GetDataType_t",
    "GetIOShape_t",
    "IOShape",
    "MappingUtil",
    "accumulator",
    "applyDataLayout",
    "applyTranspose",
    "bfloat16_t",
    "bfloat8_fnuz_t",
    "bfloat8_t",
    "ceilDiv",
    "col_major",
    "fill_fragment",
    "float16_t",
    "float32_t",
    "float64_t",
    "float8_fnuz_t",
    "float8_t",
    "fragment",
    "fragment_type",
    "get",
    "hfloat16_t",
    "int32_t",
    "int8_t",
    "load_matrix_coop_sync",
    "load_matrix_sync",
    "make_coord2d",
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


class _Constants:
    """`rocwmma::Constants`: the wave sizes."""

    AMDGCN_WAVE_SIZE_32 = 32
    AMDGCN_WAVE_SIZE_64 = 64

    @property
    def AMDGCN_WAVE_SIZE(self) -> int:
        """The wave size of the calling wave, or of the default architecture."""
        return _wave_size_here()


Constants: _Constants = _Constants()


def _wave_size_here() -> int:
    wave = _running_wave()
    return wave.size if wave is not None else wave_size(_DEFAULT)


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
        return _wave_size_here()
    raise AttributeError(f"module 'mmacalc.rocwmma' has no attribute '{name}'")
