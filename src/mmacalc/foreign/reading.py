"""ForeignLayout: a layout that was read from another program's notation, with the instructions that it is of."""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import Record
from ..catalog import entry
from ..layout.linear import LinearLayout
from .encodings import Encoding, axes_of, linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..layout import Layout
    from ..layout.cute import CuteLayout
    from ..model import Instruction
    from ..model.tile import Tile

__all__ = ["ForeignLayout", "read", "reads"]

LARGE = 1 << 12
"""A tensor that is larger than any layout of warps."""
ARCHITECTURES = {
    ("amd_mfma", 1): "cdna1", ("amd_mfma", 2): "cdna2", ("amd_mfma", 3): "cdna3", ("amd_mfma", 4): "cdna4",
    ("amd_wmma", 1): "rdna3", ("amd_wmma", 2): "rdna4", ("amd_wmma", 3): "cdna5", ("nvidia_mma", 2): "sm_80",
    ("nvidia_mma", 3): "sm_90a",
}  # fmt: skip
"""The architecture that a version of an encoding is of (of mma.sync the oldest that Triton compiles for)."""
FORMATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i8": "i8", "f8E4M3FN": "e4m3", "f8E5M2": "e5m2",
           "f8E4M3FNUZ": "e4m3fnuz", "f8E5M2FNUZ": "e5m2fnuz", "tf32": "tf32"}  # fmt: skip
"""MLIR's types of elements that are formats of operands."""


class ForeignLayout(Record):
    """A layout as another program writes it.

    Attributes:
        notation: "Triton", "Gluon" or "CuTe". kind: such as amd_mfma, dot_op or, of CuTe, layout.
        encoding: Triton's parameters; cute: CuTe's layout; the other one is None.
        given_shape: of the tensor, if the text says it. element: the type of its elements, likewise.
    """

    notation: str
    kind: str
    encoding: Encoding | None = None
    cute: CuteLayout | None = None
    given_shape: tuple[int, ...] = ()
    element: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor; where the text does not say it, the smallest one that all warps share (of CuTe the index)."""
        if self.given_shape or self.encoding is None:
            return self.given_shape or (self.cute.cosize if self.cute else 1,)
        return _smallest(self.encoding)

    def linear(self, shape: Sequence[int] = ()) -> LinearLayout:
        """The layout over GF(2) of a tensor.

        Args:
            shape: of the tensor; `shape` of this layout if left out. Of CuTe the sizes of the axes, the first the
                fastest, whose product is the cosize.

        Raises:
            Error: a size is not a power of two, or the shape does not fit.

        >>> read("(4,8):(8,1)").linear().bases["thread"]
        ((8,), (16,))
        """
        if self.encoding is not None:
            return linear(self.encoding, tuple(shape) or self.shape)
        return LinearLayout.of(self._digits(shape))

    def layout(self, shape: Sequence[int] = ()) -> Layout:
        """The layout in this package's notation.

        Raises:
            Error: it XORs coordinates, so that no re-grouping of digits says it; or as `linear`.

        >>> read("((4,8),(2,2)):((16,1),(8,64))").layout((8, 16)).pattern
        'i (j2 j1 j0) -> thread (i j1), value (j2 j0)'
        """
        return self._digits(shape) if self.encoding is None else self.linear(shape).layout()

    def _digits(self, shape: Sequence[int]) -> Layout:
        assert self.cute is not None
        sizes = tuple(shape) or (self.cute.cosize,)
        names = "thread,value" if self.cute.rank == 2 else "place"
        return self.cute.layout(axes_of(len(sizes)) if len(sizes) > 1 else ("index",), names, sizes)

    @property
    def operand(self) -> str:
        """A, B or D of the instructions that the layout is of; "" if it is of none."""
        if self.encoding is None:
            return ""
        if self.kind == "dot_op":
            return "AB"[self.encoding.get("opIdx")]
        return "D" if self.kind in ("amd_mfma", "amd_wmma", "nvidia_mma") else ""

    @property
    def matrix_encoding(self) -> Encoding | None:
        """The encoding of the matrix instruction: its own, or the parent of an operand; None if there is none."""
        if self.encoding is None:
            return None
        found = self.encoding.get("parent") if self.kind == "dot_op" else self.encoding
        return found if found.kind in ("amd_mfma", "amd_wmma", "nvidia_mma") else None

    @property
    def transposed(self) -> bool:
        """Whether the instruction computes the transpose: its A is B of the dot."""
        matrix = self.matrix_encoding
        return bool(matrix and matrix.get("isTransposed", matrix.get("isTranspose", False)))

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions of that shape on the architecture that the encoding is of; of those the ones that take the
        elements' type, where the text says it of an operand.

        >>> text = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
        >>> [inst.name for inst in read(text).instructions]
        ['v_mfma_f32_32x32x8_f16', 'v_mfma_f32_32x32x8_bf16']
        """
        return tuple(self._instructions())

    @property
    def scaled_instructions(self) -> tuple[Instruction, ...]:
        """Those of that shape that have a scale for each block of k, which a tt.dot_scaled becomes."""
        return tuple(self._instructions(scaled=True))

    def _instructions(self, scaled: bool = False) -> Iterator[Instruction]:
        matrix = self.matrix_encoding
        if matrix is None:
            return
        version = matrix.get("versionMajor") if matrix.kind == "nvidia_mma" else matrix.get("version")
        arch = ARCHITECTURES.get((matrix.kind, version))
        if arch is None:
            return
        m, n, k = (*matrix.get("instrShape", (16, 16, 16)), 0)[:3]
        if self.transposed:
            m, n = n, m
        wide = matrix.kind == "nvidia_mma" and version == 3
        for inst in entry(arch).instructions():
            fits = (inst.m, inst.n) == ((64, n) if wide else (m, n)) and k in (0, inst.k) and inst.blocks == 1
            if (
                not fits
                or not inst.flops
                or inst.sparse
                or inst.scaled != scaled
                or (wide != ("wgmma" in inst.features))
            ):
                continue
            if "wmma" in inst.features and matrix.kind == "nvidia_mma":
                continue
            element = FORMATS.get(self.element)
            if self.operand in ("A", "B") and element and element not in inst.format_names(self.operand):
                continue
            yield inst

    def tile(self, instruction: Instruction, shape: Sequence[int] = ()) -> Tile:
        """The tile of an instruction whose operand this is, where it is D; of a transposed one, of the transpose.

        Raises:
            Error: the layout is not of a matrix instruction, or of WMMA, whose warps are placed one by one.

        >>> text = "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
        >>> found = read(text)
        >>> inst = next(inst for inst in found.instructions if inst.k == 16)
        >>> found.tile(inst, (64, 64)).title
        '64x64x16, waves 2x2x1, repeat 2x4x1'
        """
        matrix = self.matrix_encoding
        if (
            matrix is None
            or matrix.kind == "amd_wmma"
            or (matrix.kind == "nvidia_mma" and len(instruction.layouts) == 0)
        ):
            raise Error(f"#ttg.{self.kind} does not say waves and repetitions of one instruction along m and n")
        waves = matrix.get("warpsPerCTA")
        near = matrix.get("tilesPerWarp", (1, 1))
        sizes = tuple(shape) or self.shape
        own = (instruction.n, instruction.m) if self.transposed else (instruction.m, instruction.n)
        repeat = [max(near[at], sizes[at] // (own[at] * waves[at])) for at in (0, 1)]
        order = "mnk" if self.transposed else "nmk"
        turn = -1 if self.transposed else 1
        return instruction.tile(
            waves[::turn], repeat[::turn], adjacent=near[::turn], wave_order=order, repeat_order=order
        )


def _smallest(encoding: Encoding) -> tuple[int, ...]:
    """The smallest tensor of which all lanes and warps have a part, and that an instruction fills."""
    found = linear(encoding, (LARGE,) * encoding.rank)
    every = [basis for place in ("lane", "warp", "offset") for basis in found.bases.get(place, ())]
    sizes = [2 * max([basis[at] for basis in every], default=0) or 1 for at in range(encoding.rank)]
    if encoding.shared:
        return (64,) * encoding.rank
    matrix = encoding.get("parent") if encoding.kind == "dot_op" else encoding
    if "instrShape" in matrix.parameters and encoding.rank == 2:
        m, n, k = (*matrix.get("instrShape"), 1)[:3]
        least = (m, n) if matrix is encoding else (m, k) if encoding.get("opIdx") == 0 else (k, n)
        sizes = [max(pair) for pair in zip(sizes, least)]
    return tuple(sizes)


def read(text: str) -> ForeignLayout:
    """The layout that a text is.

    Args:
        text: a layout of Triton (MLIR, perhaps with lines of aliases before it, or a tensor's type), Gluon or CuTe.

    Raises:
        Error: no notation has it; the message says which there are.

    >>> read("gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])").shape
    (32, 32)
    """
    found = _read(text)
    if found is None:
        raise Error(
            f"'{text.strip()[:80]}' is not a layout that can be read: give Triton's #ttg.blocked<{{...}}>, Gluon's "
            "BlockedLayout(...), or CuTe's (4,8):(8,1)"
        )
    return found


def reads(text: str) -> bool:
    """Whether a text is a layout of one of the notations, even one with a mistake in it.

    >>> reads("(4,8):(8,1)"), reads("v_mfma_f32_32x32x8_f16")
    (True, False)
    """
    try:
        return _read(text) is not None
    except Error:
        return True


def _read(text: str) -> ForeignLayout | None:
    from .notations import readers

    return next((found for reader in readers() if (found := reader(text)) is not None), None)
