"""Clang's builtins for AMD's matrix instructions, on per-lane registers.

Every `__builtin_amdgcn_mfma_...`, `_smfmac_...`, `_wmma_...` and `_swmmac_...` is a function here, called as in HIP but
for the leading `__builtin_`. Operands are what each lane holds:

    a scalar of HIP (float a)            an array of shape (lanes,)
    a vector of HIP (float4 c)           an array of shape (elements, lanes), so that c[i] is element i of every lane
    the same number in all lanes         a number (not for A and B)

in the operand's number format, or as integers that carry its bits (`short` for bf16, `int` for four i8). The 4- and
6-bit types of ml_dtypes are packed on the way; `pack` does the same. Scales and sparse indices are integers of any
width whose values fit, as C++ converts them. Inside `mmacalc.launch` a builtin is issued by the wave that runs;
elsewhere the architecture is given by `arch=`.

>>> import numpy as np
>>> from mmacalc import intrinsics
>>> a = b = np.ones(64, np.float32)
>>> d = intrinsics.amdgcn_mfma_f32_16x16x4f32(a, b, 0, 0, 0, 0)
>>> d.shape, float(d[3][17])
((4, 64), 4.0)

The names and the order of arguments are those of `mmacalc.compiler.builtins`. As in LLVM, a scaled builtin of gfx950
whose two scales are both the constant 0 (here: numbers, not arrays) is the instruction without scales; any other
constant is a scale.
"""

from __future__ import annotations

from .compiler.call import call, named, names, pack, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

__all__ = ["call", "names", "pack", "resolve"]


def __getattr__(name: str) -> Callable[..., NDArray[Any]]:
    builtin = named(name)
    if builtin is None:
        raise AttributeError(
            f"module 'mmacalc.intrinsics' has no attribute '{name}': no architecture has such a builtin"
        )
    return builtin
