"""A product of whole matrices on the emulator, as text and as JSON."""

from __future__ import annotations

from ..errors import counted
from .diagnosis import plain
from .instruction_numerics import numerics_object, numerics_text
from .run import matrix_text
from .spelling import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..emulator.accuracy import Accuracy
    from ..emulator.gemm import Emulated, Emulation

__all__ = ["json_object", "text"]

LARGEST_SHOWN = 256  # elements of D


def text(d: Emulated, output: str | None = None) -> str:
    """How D was computed, how far it is from the exact product, and D where it is small."""
    emulation = d.emulation
    assert emulation is not None
    parts = [heading(emulation.instruction), numerics_text(emulation.numerics), _chain(emulation)]
    if emulation.accuracy:
        parts.append(_accuracy(emulation.accuracy))
    size = f"D: {'x'.join(map(str, d.shape))} {d.dtype}"
    if output:
        parts.append(f"{size}, written to {output}\n")
    elif not d.size:
        parts.append(f"{size}\n")
    elif d.size > LARGEST_SHOWN:
        parts.append(f"{size}; -o writes it to a file\n")
    else:
        parts.append(matrix_text("D", d, 8 * d.itemsize if d.dtype.kind == "u" else 0))
    return "".join(parts)


def json_object(d: Emulated) -> dict[str, Any]:
    """The same as plain data; D where it is small."""
    from .json import instruction_object

    emulation = d.emulation
    assert emulation is not None
    accuracy = emulation.accuracy
    return {
        **instruction_object(emulation.instruction),
        "numerics": numerics_object(emulation.numerics),
        "modifiers": dict(emulation.modifiers),
        "steps": emulation.steps,
        "k_order": emulation.k_order,
        "split_k": emulation.split_k,
        "d_shape": list(d.shape),
        "d_dtype": str(d.dtype),
        **({"d": plain(d.tolist())} if d.size <= LARGEST_SHOWN else {}),
        **({"accuracy": _numbers(accuracy)} if accuracy else {}),
    }


def _chain(emulation: Emulation) -> str:
    """How the steps of K are put together."""
    each = f"{counted(emulation.steps, 'instruction')} along K for each element, {emulation.k_order}"
    return f"Chain: {each}{f', in {emulation.split_k} chains that are added' if emulation.split_k > 1 else ''}.\n"


def _numbers(accuracy: Accuracy) -> dict[str, Any]:
    return {
        "max_ulps": plain(accuracy.max_ulps), "mean_ulps": plain(accuracy.mean_ulps),
        "max_relative_error": plain(accuracy.max_relative),
    }  # fmt: skip


def _accuracy(accuracy: Accuracy) -> str:
    return (
        f"From the exactly rounded product: at most {accuracy.max_ulps:,.0f} ULP, {accuracy.mean_ulps:.3g} on average; "
        f"relative error at most {accuracy.max_relative:.3g}.\n"
    )
