"""Whole matrix products with the hardware's arithmetic: D = alpha A B + beta C, one instruction chained along K.

`gemm` takes and gives values, `gemm_bits` encodings. What happens, in this order: A and B are rounded to the
instruction's formats; K is filled up with zeros to whole instructions; for every element of D the instruction is
applied to one step of K after the other, the result of each being the C of the next; then the epilogue. M and N need
no filling up, since elements of D do not touch each other.
"""

from __future__ import annotations

import sys
from contextlib import suppress

import numpy as np

from ..base.checks import arguments_checked
from ..base.errors import Error
from ..base.records import TupleRecord
from . import blocks, device
from .arrays import checked, rounded
from .plan import Plan, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction
    from .accuracy import Accuracy

    Array = NDArray[Any]
    _Base = np.ndarray[Any, np.dtype[Any]]
else:
    _Base = np.ndarray

__all__ = ["Emulated", "Emulation", "gemm", "gemm_bits"]


class Emulation(TupleRecord):
    """How a product was computed.

    instruction, modifiers: what it was chained through; numerics: its model with provenance and source; steps: how
    many instructions are chained for each element; k_order: the order of the steps; split_k: into how many chains;
    padded_k: K filled up; accuracy: with compare=True, an `Accuracy`; cuts: the steps at which the chains begin, from 0
    to the number of steps (of stream-K those of a tile with the most chains); accumulate: the format in which the
    results of chains are kept and added; d_type: that of D.
    """

    instruction: Instruction
    modifiers: Mapping[str, int]
    numerics: Any
    steps: int
    k_order: str
    split_k: int
    padded_k: int
    accuracy: Accuracy | None = None
    cuts: tuple[int, ...] = ()
    accumulate: str = ""
    d_type: str = ""

    @property
    def provenance(self) -> str:
        """How sure the result is, bit for bit; see `mmacalc.arithmetic.tables`."""
        provenance: str = self.numerics.provenance
        return provenance


class Emulated(_Base):
    """A NumPy array that says how it was computed: `emulation`. Everything else is as of any array."""

    emulation: Emulation | None = None

    def __array_finalize__(self, source: object) -> None:
        self.emulation = getattr(source, "emulation", None)


@arguments_checked
def gemm(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike = 0,
    arch: str | None = None,
    instruction: str | Instruction | None = None,
    *,
    k_order: Any = "ascending",
    split_k: Any = 1,
    promote: int = 0,
    accumulate: str | None = None,
    d_type: str | None = None,
    alpha: float = 1,
    beta: float = 1,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    threads: int | None = None,
    out: Any = None,
    compare: bool = False,
    progress: Any = None,
    **modifiers: int | str,
) -> Any:
    """D = alpha A B + beta C of any size, as a kernel computes it that chains one instruction along K.

    Args:
        a, b, c: A (..., M, K), B (..., K, N), C (..., M, N) or a number; leading axes are batches and broadcast. NumPy,
            ml_dtypes and torch arrays, or anything with `__array__` or `__dlpack__`. Torch's tensors on a GPU are
            multiplied there where `mmacalc.emulator.device` can; else they are copied to the host, as all others, and
            the result back. Of Dask arrays D is one, not computed yet: each of its blocks is a task that takes whole
            rows of A and whole columns of B, so it has the same bits for any chunks and workers.
        arch: any name of an architecture, target or product.
        instruction: a name, or an `Instruction`. If left out, that which takes the matrix units the least time for the
            type of A: float16, bfloat16, int8 ... (float32 is TF32 on NVIDIA); where no cycles are published (AMX,
            SME), that of which the fewest are needed.
        k_order: the order in which the steps of K are chained: "ascending", "descending", or their numbers in order.
        split_k: into how many chains of about equal length K is cut; or the k at which new chains begin, such as
            (128, 256); or a word. "cublas:3": slices of whole 64 k (of fp8 128 k), as others measured it on an H100.
            "interleaved:4:64": four chains that take units of 64 k in turn. "stream-k:132:128x128x64": the units of 64
            k of all tiles of 128x128 dealt out to 132 workgroups. The last two are how kernels are written, not
            measured. The chains' results are added in order, each addition rounded to nearest even in f32 (of f64
            results f64).
        promote: a new chain each `promote` k, as kernels of fp8 do it (128): split_k at 128, 256 ...
        accumulate: the format in which the results of chains are kept, f32, f16 or bf16: each of them and each sum is
            rounded to nearest even to it.
        d_type: a format that D is converted to in the end, f16, bf16, fp8 (as the GPU has it), bf8: to nearest even
            from the f32 value of the epilogue. Numbers too large for 8 bits are the largest on NVIDIA (.satfinite), NaN
            or infinities on AMD (FP16_OVFL is off).
        alpha, beta: if both are 1, C is where the (first) chain starts. Else it starts from zero, and alpha D + beta C
            is computed in f32 (of f64 results f64), each of the three operations rounded to nearest even, the result to
            D's format. C is not read if beta is 0. Integer results take no others than alpha 1 and beta 0 or 1.
        scale_a, scale_b: codes of the block scales, (..., M, K/32) and (..., K/32, N), or as the block size says.
        threads: how many; by default one for each core that the process may use, and one for each task of Dask's.
        out: an array of D's shape that is written and returned.
        compare: also compute the exactly rounded product, and how far D is from it: `emulation.accuracy`.
        progress: a function that is called with how much is done and how much there is, now and then.
        modifiers: those that choose formats, such as cbsz="fp4".

    Returns:
        D, an array of A's library: float32 (also for f16 and bf16 results), float64 or int32, by D's format. Its
        attribute `emulation` says through which instruction, in which order and how sure it is.

    Raises:
        Error: shapes, types or values that do not fit; no instruction that does.

    >>> import numpy
    >>> rng = numpy.random.default_rng(1)
    >>> a, b = rng.standard_normal((2, 100, 100)).astype(numpy.float16)
    >>> d = gemm(a, b, arch="gfx942", compare=True)
    >>> d.shape, d.dtype, d.emulation.instruction.name, d.emulation.steps
    ((100, 100), dtype('float32'), 'v_mfma_f32_16x16x16_f16', 7)
    >>> d.emulation.provenance, d.emulation.accuracy.max_ulps < 5000
    ('two sources agree', True)
    """
    plan = Plan(a, b, arch, instruction, modifiers, k_order, split_k, threads, promote, accumulate, d_type)
    plan.epilogue(alpha, beta)
    operands = {"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b}
    if blocks.in_blocks(*operands.values()):
        how = {"k_order": k_order, "split_k": split_k, "promote": promote, "accumulate": accumulate, "d_type": d_type,
               "alpha": alpha, "beta": beta, "threads": threads, "out": out, "compare": compare,
               "progress": progress}  # fmt: skip
        return _marked(blocks.product(gemm, plan, operands, how), plan)
    if not compare:
        d = device.product(plan, {"A": a, "B": b, "C": c, "SA": scale_a, "SB": scale_b})
        if d is not None:
            return _like(d, a, out, _emulation(plan))
    codes = {name: rounded(plan.execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    plan.take(codes, scale_a, scale_b)
    result = plan.values(plan.run(progress))
    emulation = _emulation(plan)
    if compare:
        from .accuracy import accuracy

        emulation = emulation._replace(accuracy=accuracy(plan, result))
    return _like(result, a, out, emulation)


@arguments_checked
def gemm_bits(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike = 0,
    arch: str | None = None,
    instruction: str | Instruction | None = None,
    *,
    k_order: Any = "ascending",
    split_k: Any = 1,
    promote: int = 0,
    accumulate: str | None = None,
    d_type: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    threads: int | None = None,
    out: Any = None,
    progress: Any = None,
    **modifiers: int | str,
) -> Any:
    """D = A B + C of any size on raw encodings, to the bit.

    Args:
        a, b, c: encodings as of `multiply_bits`; the others are those of `gemm`.

    Returns:
        D (..., M, N), the unsigned integer type of D's width, with `emulation`.

    Raises:
        Error: as `gemm`.

    >>> import numpy
    >>> one = numpy.full((40, 40), 0x3C00, numpy.uint16)
    >>> hex(gemm_bits(one, one, arch="sm_80", instruction="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")[0, 0])
    '0x42200000'
    """
    plan = Plan(a, b, arch, instruction, modifiers, k_order, split_k, threads, promote, accumulate, d_type)
    operands = {"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b}
    if blocks.in_blocks(*operands.values()):
        how = {"k_order": k_order, "split_k": split_k, "promote": promote, "accumulate": accumulate, "d_type": d_type,
               "threads": threads, "out": out, "progress": progress}  # fmt: skip
        return _marked(blocks.product(gemm_bits, plan, operands, how), plan)
    codes = {name: checked(plan.execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    plan.take(codes, scale_a, scale_b)
    return _like(plan.run(progress), a, out, _emulation(plan))


def _emulation(plan: Plan) -> Emulation:
    execution = plan.execution
    return Emulation(
        execution.inst, dict(execution.fields), execution.numerics, plan.steps, plan.cuts.order_text, plan.split_k,
        plan.k, cuts=tuple(plan.cuts.at), accumulate=_sums(plan), d_type=plan.result.name,
    )  # fmt: skip


def _sums(plan: Plan) -> str:
    """The format of the chains' sums."""
    own = plan.execution.formats["D"]
    return plan.sums.name if plan.sums else own.name if own.bits == 64 or not own.is_float else "f32"


def _marked(d: Any, plan: Plan) -> Any:
    """A Dask array with its emulation."""
    d.emulation = _emulation(plan)
    return d


def _like(result: Any, a: object, out: Any, emulation: Emulation) -> Any:
    """The result in A's library, or in `out`, with its emulation."""
    if out is not None:
        if tuple(out.shape) != tuple(result.shape):
            raise Error(f"out has shape {shape_text(out.shape)}; D is {shape_text(result.shape)}")
        target = out
        try:
            target[...] = _of_library(result, out)
        except (TypeError, ValueError) as error:  # a read-only array, or a library's whose arrays never change
            raise Error(f"out cannot be written; leave it out, and D is an array of A's library: {error}") from None
    else:
        target = _of_library(result, a)
    if isinstance(target, np.ndarray):
        if out is not None:
            return target
        target = target.view(Emulated)
    with suppress(AttributeError):  # an array of a library that takes no attributes
        target.emulation = emulation
    return target


def _of_library(result: Any, like: object) -> Any:
    torch = sys.modules.get("torch")
    if not isinstance(result, np.ndarray):
        return result  # a tensor, where A is
    if torch is not None and isinstance(like, torch.Tensor):
        signed = result.view(f"i{result.itemsize}") if result.dtype.kind == "u" else result
        return torch.from_numpy(signed).to(like.device)
    if isinstance(like, np.ndarray) or not hasattr(like, "__array_namespace__"):
        return result
    library: Any = like.__array_namespace__()
    try:
        found = library.asarray(result, device=getattr(like, "device", None))
    except TypeError:  # CuPy's asarray has no device: it is the current one
        found = library.asarray(result)
    kept = str(found.dtype).rpartition(".")[2]
    if kept != result.dtype.name:  # JAX without jax_enable_x64
        raise Error(
            f"D is {result.dtype.name}, of which A's library makes {kept}; give NumPy arrays, or let it keep 64 bits"
        )
    return found
