"""What an instruction does: multiply, execute, draw. The code is in the layers that are built on records."""

from __future__ import annotations

from ..base.checks import arguments_checked
from ..base.records import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ..arithmetic.numerics import Numerics
    from ..drawing import Drawing
    from ..emulator.registers import Executor

__all__ = ["Actions"]


class Actions:
    """The methods of `Instruction` that compute and draw, by functions of higher layers: see `mmacalc.base.records`."""

    @arguments_checked
    def draw(
        self,
        *,
        wave: int | None = None,
        style: str = "light",
        color_by: str = "lane",
        mark: Sequence[str] = (),
        fold: bool = True,
        **modifiers: int | str,
    ) -> Drawing:
        """A picture of the instruction: A at the left of D and B above it, as SVG, PNG, HTML or text.

        Args:
            wave, modifiers: as for `operand`.
            style, color_by, mark, fold: as for `Operand.draw`; a marked element of D marks its row of A and its
                column of B as well.

        Raises:
            Error: an option has no such value, or PTX does not specify where the elements are (wmma.* of PTX).

        >>> import mmacalc
        >>> drawing = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").draw(style="dark", mark="D[3][9]")
        >>> drawing.svg.startswith("<svg")
        True
        """
        drawing: Drawing = late("draw_instruction")(
            self, wave=wave, style=style, color_by=color_by, mark=mark, fold=fold, **modifiers
        )
        return drawing

    @property
    def numerics(self) -> Numerics:
        """How the instruction computes: a `Numerics` with model, parameters, provenance, source and an explanation.

        >>> import mmacalc
        >>> mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16").numerics.provenance
        'two sources agree'
        """
        result: Numerics = late("numerics")(self)
        return result

    @arguments_checked
    def multiply(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike = 0,
        *,
        index: ArrayLike | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        clamp: bool = False,
        satfinite: bool = False,
        wave: int | None = None,
        **modifiers: int | str,
    ) -> NDArray[Any]:
        """D = A B + C on values, rounded as the hardware rounds it.

        A, B and C are first rounded to the operand formats, to nearest even; what overflows becomes an infinity, or
        NaN in formats without one (`mmacalc.arithmetic.codecs` has the list). Integers must be in range.

        Args:
            a, b, c: A (..., M, K), B (..., K, N), C (..., M, N), floats or integers, with the blocks before M, K, N if
                the instruction has several; leading axes are batches and broadcast. C may be a number. NumPy arrays
                (also of ml_dtypes), torch tensors in the host's memory, and what has `__array__` or `__dlpack__`.
            index: of a sparse A (..., M, K/2): the positions 0..3 within each group of four, same shape as A; of
                NVIDIA's tf32 0 or 1 within each pair, of its 4-bit types (..., M, K/4) pairs 0..3 within each eight.
                Without it A is dense (..., M, K) and must have the zeros in place.
            scale_a, scale_b: codes of the block scales, (..., M, K/block_size) and (..., K/block_size, N); without
                them the scales are 1.
            clamp, satfinite: AMD's and NVIDIA's word for saturating integer results.
            wave: 32 or 64, where an architecture has both; modifiers: cbsz, abid, blgp, neg ... as
                `modifier_limits` lists them.

        Returns:
            D (..., M, N): float64, float32 (also for f16 and bf16 results) or int32, by D's format.

        Raises:
            Error: a shape, dtype, value or modifier that does not fit.

        >>> import mmacalc, numpy
        >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
        >>> float(inst.multiply(numpy.eye(16), numpy.arange(256).reshape(16, 16), 0.5)[1, 2])
        18.5
        """
        result: NDArray[Any] = late("multiply")(
            late("execution")(self, (a, b), wave, modifiers, clamp, satfinite), (a, b, c), (index, scale_a, scale_b)
        )
        return result

    @arguments_checked
    def multiply_bits(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike = 0,
        *,
        index: ArrayLike | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        clamp: bool = False,
        satfinite: bool = False,
        wave: int | None = None,
        **modifiers: int | str,
    ) -> NDArray[Any]:
        """D = A B + C on raw encodings, to the bit.

        The matrices are what the registers hold without CBSZ, ABID and BLGP; those then choose, as the hardware does,
        which block or column is read. A field that only chooses a place (OPSEL, an index set, a scale's byte) changes
        nothing here.

        Args:
            a, b, c: unsigned integers, or arrays of ml_dtypes and torch of the operand's own format; shaped as for
                `multiply`. C may be a number, the code of all elements.
            index, scale_a, scale_b, clamp, satfinite, wave, modifiers: as for `multiply`.

        Returns:
            The codes of D (..., M, N): unsigned integers of D's width.

        Raises:
            Error: a shape, dtype, value or modifier that does not fit.

        >>> import mmacalc, numpy
        >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
        >>> one = numpy.full((16, 16), 0x3C00, numpy.uint16)  # 1.0 in f16
        >>> hex(inst.multiply_bits(one, one)[0, 0])  # 16.0 in f32
        '0x41800000'
        """
        result: NDArray[Any] = late("multiply_bits")(
            late("execution")(self, (a, b), wave, modifiers, clamp, satfinite), (a, b, c), (index, scale_a, scale_b)
        )
        return result

    @arguments_checked
    def execute(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike = 0,
        *,
        index: ArrayLike | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        d: ArrayLike | None = None,
        clamp: bool = False,
        satfinite: bool = False,
        wave: int | None = None,
        **modifiers: int | str,
    ) -> NDArray[np.uint32]:
        """D = A B + C on register files, to the bit.

        Args:
            a, b, c: the registers of A, B and C: uint32 (or int32), (..., registers, lanes); leading axes are batches
                and broadcast. C may be 0. For a sparse AMD instruction, c is the destination, which accumulates. B of
                wgmma is a (..., K, N) matrix of encodings, since it lies in shared memory. Of tcgen05, B is one too, A
                may be one, and the others are cells of Tensor Memory: (..., lanes, columns), for a pair of CTAs with
                the lanes of the second after those of the first; modifiers are m, n, half, selector, scale_id_a ...
            index, scale_a, scale_b: the registers of K, SA and SB. Without scales, all scales are 1.
            d: what the destination contained before; C's registers if left out. Bits and lanes that the instruction
                does not write keep it.
            clamp, satfinite, wave, modifiers: as for `multiply`.

        Returns:
            The destination registers: uint32, (..., registers, lanes). On RDNA3, whose A and B are replicated, a lane
            of the result reads the copies of A and B in its own group of 16 lanes: if the copies differ, lanes 0 to 15
            (the even rows of D in wave32) come from those of lanes 0 to 15, the odd rows from those of lanes 16 to 31.

        Raises:
            Error: a register file of the wrong shape or dtype, a modifier that the instruction lacks.

        >>> import mmacalc, numpy
        >>> inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
        >>> ones = numpy.full((2, 64), 0x3C003C00, numpy.uint32)
        >>> d = inst.execute(ones, ones)
        >>> d.shape, hex(d[0, 0])
        ((4, 64), '0x41800000')
        """
        run: Executor = late("executor")(late("execution")(self, (a, b), wave, modifiers, clamp, satfinite))
        return run(a, b, c, index=index, scale_a=scale_a, scale_b=scale_b, d=d)

    @arguments_checked
    def executor(
        self, *, clamp: bool = False, satfinite: bool = False, wave: int | None = None, **modifiers: int | str
    ) -> Executor:
        """The instruction under modifiers, prepared to be executed on register files many times.

        Args:
            clamp, satfinite, wave, modifiers: as for `execute`; of tcgen05 its shape and types, too (m, n, a, b ...).

        Returns:
            What `execute` does, as a function of the register files: `run(a, b, c=0, index=, scale_a=, scale_b=, d=)`,
            see `mmacalc.emulator.Executor`. Leading axes are batches; one call on many waves or warps is far faster
            than many calls.

        Raises:
            Error: a modifier that the instruction lacks, or a value that it does not take.

        >>> import mmacalc, numpy
        >>> run = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16").executor()
        >>> ones = numpy.full((1000, 2, 64), 0x3C003C00, numpy.uint32)
        >>> run(ones, ones).shape
        (1000, 4, 64)
        """
        found: Executor = late("executor")(late("execution")(self, (), wave, modifiers, clamp, satfinite))
        return found
