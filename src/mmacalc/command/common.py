"""The options that most commands have, each under the one spelling that it has everywhere."""

from __future__ import annotations

from ..base.checks import number as number_of
from ..base.errors import Error
from . import flag, number, option
from .options import MODIFIERS as FIELD_NAMES
from .options import modifier_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model import Instruction, Operand
    from ..model.tile import Tile
    from . import Options

__all__ = [
    "ARCHITECTURE",
    "INSTRUCTION",
    "ARCHITECTURES",
    "INSTRUCTIONS",
    "JSON",
    "LLVM",
    "MODIFIERS",
    "TARGET",
    "TILE",
    "WAVE",
    "operand_of",
    "tile_of",
]

NAME = "NAME"
ARCHITECTURE = option(
    "-a", "--architecture", placeholder=NAME, required=True, help="the GPU architecture or target, by any of its names"
)
TARGET = option(
    "-a", "--architecture", placeholder=NAME,
    help="the GPU architecture or target; may be left out where the file names it",
)  # fmt: skip
INSTRUCTION = option("-i", "--instruction", placeholder=NAME, required=True, help="instruction name (case-insensitive)")
ARCHITECTURES = option(
    "-a", "--architecture", placeholder=NAME, many=True, default=[], help="an architecture; once for each, or for all"
)
INSTRUCTIONS = option(
    "-i", "--instruction", placeholder=NAME, many=True, default=[], help="an instruction; once for each"
)
WAVE = number("-w", "--wavefront", "--wave", help="the wave size: 32 or 64 on RDNA (default 32)")
LLVM = number("--llvm", help="the LLVM version whose encodings are meant, 24 (default) or 22")
JSON = flag("--json", help="answer with JSON")
MODIFIERS = (
    *modifier_fields(),
    option(
        "-m", "--modifier", placeholder="NAME=VALUE", many=True, default=[],
        help="a modifier: cbsz=1, blgp=fp4, neg=3 ...", known=tuple([f"{name}=" for name in FIELD_NAMES]),
    ),
)  # fmt: skip

_COUNTS = {"waves": "2x2", "repeat": "2x4", "adjacent": "1x2"}
TILE = (
    option("--waves", placeholder="MxN[xK]", help="of a tile: waves along m, n and k (default 1x1)"),
    option("--repeat", placeholder="MxN[xK]", help="of a tile: instructions of each wave along m, n, k (default 1x1)"),
    option("--adjacent", placeholder="MxN[xK]", help="of a tile: how many of a wave's instructions are neighbours"),
    option("--repeat-order", placeholder="AXES", help="of a tile: as --wave-order, of a wave's instructions"),
    option("--wave-order", placeholder="AXES", help="of a tile: m, n, k of the waves, the fastest first (mnk)"),
    option(
        "--permutation", placeholder="AXIS=LAYOUT", many=True, default=[],
        help="of a tile: CuTe's permutation of m, n or k, such as 'n=(8,2,2):(1,16,8)'",
    ),
)  # fmt: skip


def tile_of(options: Options, instruction: Instruction) -> Tile:
    """The tile that the options of TILE describe."""
    given: dict[str, Any] = {
        name: _counts(name, text) for name in _COUNTS if (text := getattr(options, name)) is not None
    }
    given |= {name: text for name in ("repeat_order", "wave_order") if (text := getattr(options, name)) is not None}
    return instruction.tile(**given, permutation=_permutations(options.permutation), wave=options.wavefront or None)


def _counts(name: str, text: str) -> tuple[int, ...]:
    counts = [number_of(part) for part in text.lower().split("x")]
    if not 1 <= len(counts) <= 3 or None in counts:
        raise Error(f"--{name} takes counts along m, n and perhaps k, such as {_COUNTS[name]}; got '{text}'")
    return tuple([count for count in counts if count is not None])


def _permutations(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        axis, equals, layout = text.partition("=")
        if axis.strip() not in ("m", "n", "k") or not equals:
            raise Error(f"--permutation takes an axis and a layout, such as 'n=(8,2,2):(1,16,8)'; got '{text}'")
        found[axis.strip()] = layout
    return found


def operand_of(options: Options, instruction: Instruction, name: str, modifiers: Mapping[str, Any]) -> Operand:
    """An operand of the instruction, or of the tile where one of the options of TILE is given."""
    asked = [option.name for option in TILE if getattr(options, option.name) not in (None, [])]
    if asked:
        return tile_of(options, instruction).operand(name, **modifiers)
    return instruction.operand(name, options.wavefront or None, **modifiers)
