"""CuTe's TiledMMA as C++ writes it, as a tile: an atom, the layout of the atoms over the warps, and a tiler.

    make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{})
    TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2,_2>>, Tile<_32,Layout<Shape<_2,_16>>,_16>>

The atom layout says how many warps (of wgmma, warpgroups) there are along m, n and k, and by its strides how they are
counted. What the tiler has more along an axis than they cover, each of them repeats; a layout in it permutes the axis,
also one that is smaller than what the warps cover, block by block. Before CUTLASS 3.4 a layout of values stood in the
tiler's place: how many atoms each warp repeats along m, n and k.
Source: CUTLASS, include/cute/atom/mma_atom.hpp (TiledMMA, make_tiled_mma, tile_size_mnk).
"""

from __future__ import annotations

import re

from ..base.errors import Error
from ..catalog import entry
from ..layout.cute import CuteLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction
    from ..model.tile import Tile

__all__ = ["atom_note", "is_tiled_mma", "tiled_mma"]

_BEGINS = re.compile(r"\s*(?:(?:auto|using)\s+\w+\s*=\s*)?(?:TiledMMA\s+\w+\s*=\s*)?(make_tiled_mma\s*\(|TiledMMA\s*<)")
_ATOM = re.compile(r"\b(SM(\d+)_\w+)")
_TILER = re.compile(r"(?:Tile|Shape|tuple)\s*<|(?:make_(?:tile|shape)\s*)?\(")
_NONE = ("_", "X", "Underscore")
TARGETS = {"90": "sm_90a", "100": "sm_100a", "103": "sm_103a", "120": "sm_120a"}
"""The targets that have the atoms of a generation, where these are features of it."""


def is_tiled_mma(text: str) -> bool:
    """Whether a text begins as a TiledMMA.

    >>> is_tiled_mma("auto mma = make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{})"), is_tiled_mma("Layout<_8>")
    (True, False)
    """
    return _BEGINS.match(text.replace("cute::", "")) is not None


def tiled_mma(text: str) -> Tile:
    """The tile that a TiledMMA is.

    Raises:
        Error: it names no atom that is known, or a layout or a tiler that make no tile.

    >>> tile = tiled_mma("make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_64,_32,_16>{})")
    >>> tile.title
    '64x32x16, waves 2x2x1, repeat 2x2x1'
    """
    text = text.replace("cute::", "")
    found = _BEGINS.match(text)
    atom = _ATOM.search(text)
    if found is None or atom is None:
        raise Error(
            "a TiledMMA is make_tiled_mma(ATOM{}, Layout<Shape<_2,_2>>{}, Tile<...>{}) with an atom such as "
            f"SM80_16x8x16_F32F16F16F32_TN; got '{text.strip()[:80]}'"
        )
    _, *arguments = _split(text, found.end())
    if len(arguments) > 2:
        raise Error(f"a TiledMMA has an atom, a layout of atoms and a tiler; '{arguments[2]}' is one more")
    if atom[2] == "70":
        raise Error(f"{atom[1]}: {atom_note(atom[1])}, and a tile of quad pairs has no answer here")
    inst = entry(TARGETS.get(atom[2], f"sm_{atom[2]}")).meant(atom[1])
    waves, order = _atoms(arguments[0] if arguments else "Layout<Shape<_1,_1,_1>>")
    repeat, permutation = _tiler(arguments[1] if len(arguments) > 1 else "Tile<_,_,_>", inst, waves)
    return inst.tile(waves, repeat, wave_order=order, permutation=permutation)


def atom_note(name: str) -> str:
    """What a name of CuTe's stands for besides the instruction that it leads to; "" where that is all.

    >>> atom_note("SM90_64x64x16_F32F16F16_SS")
    'A of an atom whose name ends in _SS is in shared memory; the registers shown are those of its _RS'
    """
    atom = _ATOM.search(name.upper())
    if atom is None:
        return ""
    if atom[2] == "70":
        return "CuTe's SM70 atoms are of a quad pair of 8 threads; a warp's instruction multiplies four of them at once"
    if atom[2] == "90" and "_SS" in atom[1]:
        return "A of an atom whose name ends in _SS is in shared memory; the registers shown are those of its _RS"
    return ""


def _split(text: str, at: int) -> list[str]:
    """The arguments from a place after an opening bracket to where it closes, without {} behind them."""
    depth, begin, parts = 0, at, []
    for end in range(at, len(text) + 1):
        letter = text[end] if end < len(text) else ")"
        if depth == 0 and letter in ",)>":
            parts.append(re.sub(r"(\{\s*\}|\(\s*\))\s*$", "", text[begin:end].strip()).strip())
            begin = end + 1
            if letter != ",":
                return parts
        depth += (letter in "<({") - (letter in ">)}")
    return parts


def _atoms(text: str) -> tuple[tuple[int, ...], str]:
    """The atoms along m, n and k, and which of these axes is counted first."""
    layout = CuteLayout.parse(text)
    if layout.rank > 3:
        raise Error(f"a layout of atoms has up to three modes, such as Layout<Shape<_2,_2,_1>>; got '{text}'")
    modes: list[tuple[int, str, int]] = []
    for axis, mode in zip("mnk", layout):
        if not isinstance(mode.shape, int) or not isinstance(mode.stride, int):
            raise Error(f"the modes of a layout of atoms are numbers here; got '{text}'")
        modes.append((mode.stride, axis, mode.shape))
    weight, order = 1, ""
    for stride, axis, count in sorted(modes):
        if count > 1 and stride != weight:
            raise Error(f"the layout of atoms '{text}' leaves warps out: after {weight} of them comes stride {stride}")
        weight *= count
        order += axis if count > 1 else ""
    rest = "".join([axis for axis in "mnk" if axis not in order])
    return tuple([count for _, _, count in modes]), order + rest


def _tiler(text: str, inst: Instruction, waves: tuple[int, ...]) -> tuple[tuple[int, ...], dict[str, CuteLayout]]:
    """How many instructions each warp repeats along m, n and k, and the permutations."""
    if "ayout" in text.partition("<")[0].partition("(")[0]:  # a layout of values
        return _atoms(text)[0], {}
    begins = _TILER.match(text)
    if begins is None:
        raise Error(f"a tiler is Tile<...> with a size or a layout for m, n and k; got '{text}'")
    repeat: list[int] = []
    permutation: dict[str, CuteLayout] = {}
    for axis, part, size, count in zip("mnk", _split(text, begins.end()), (inst.m, inst.n, inst.k), (*waves, 1, 1)):
        own = wanted = size * count
        if part not in _NONE:
            layout = _whole(CuteLayout.parse(part))
            wanted = max(own, layout.size)
            if layout.indices != tuple(range(layout.size)):
                permutation[axis] = layout
            if wanted % own or wanted % layout.size:
                raise Error(f"the tiler has {layout.size} along {axis}, and the atoms cover {own} at a time")
        repeat.append(wanted // own)
    return tuple(repeat), permutation


def _whole(layout: CuteLayout) -> CuteLayout:
    """A permutation with what it leaves out behind it: CuTe's tiles of the tensor that it cuts follow one another so.

    >>> str(_whole(CuteLayout.parse("(2,16):(1,8)")))
    '((2,16),4):((1,8),2)'
    """
    if layout.size >= layout.cosize:
        return layout
    rest = layout.complement()
    return CuteLayout((layout.shape, rest.shape), (layout.stride, rest.stride))
