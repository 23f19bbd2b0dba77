"""CuTe's layouts as texts: `((4,8),(2,2)):((16,1),(8,64))`, perhaps after a swizzle, or in C++ or Python; FlyDSL's
`fx.make_layout((4, 4, 2), (1, 8, 4))` are the same."""

from __future__ import annotations

import re

from ...layout.cute import CuteLayout
from ..reading import ForeignLayout

__all__ = ["read"]

_BEGINS = re.compile(
    r"\s*(?:(?:Swizzle|Sw|S)\s*<\s*\d|(?:cute\.|fx\.)?make_layout\s*\(|(?:cute::)?Layout\s*<|[(\d_][\d(),_\s]*:[\s\d(_])"
)


def read(text: str) -> ForeignLayout | None:
    """The layout of a text; None if it is none of CuTe's.

    Raises:
        Error: it begins as one and cannot be read.

    >>> str(read("(8,64):(64,1)").cute), read("v_mfma_f32_32x32x8_f16")
    ('(8,64):(64,1)', None)
    """
    if not _BEGINS.match(text):
        return None
    return ForeignLayout("CuTe", "layout", cute=CuteLayout.parse(text.replace("cute::", "").replace("fx.", "")))
