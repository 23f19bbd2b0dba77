"""The tile of a generated GEMM as the source of other languages: Triton, Gluon, CuTe, ck_tile.

All are written from one plan, that of the HIP or CUDA kernel: the same instruction, block, waves, neighbours along k in
a lane, and swizzle. What a language cannot say of it is refused by name.
"""

from __future__ import annotations

from ...base.errors import Error
from . import ck_tile, cute, gluon, triton
from .plan import TilePlan, tile_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["LANGUAGES", "exported", "tile_plan"]

LANGUAGES = {"triton": triton.source, "gluon": gluon.source, "cute": cute.source, "ck_tile": ck_tile.source}


def exported(language: str, plan: TilePlan, sizes: tuple[int, int, int], others: Mapping[str, Any]) -> str:
    """The source of a GEMM's tile in another language.

    Args:
        sizes: M, N and K of the launch line. others: options of `generate` that no other language has, by name.

    Raises:
        Error: one of these was given, or the language cannot say the plan.
    """
    if given := [name for name, value in others.items() if value]:
        raise Error(f"{language} is written of D = A B alone: leave out {', '.join(given)}, or lang")
    return LANGUAGES[language](plan, sizes)
