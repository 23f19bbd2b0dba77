"""Which shapes and types tcgen05.mma has, and why another is refused.

The shape is in the instruction descriptor, a value at run time: no assembler can check it.
A row of SHAPES is (kinds, cta_group, M, N, K dense, K sparse); the K of .ws are the same. N is (first, last, step).

Sources: PTX ISA 9.1, table 39, and 9.4, table 48 and section 9.7.18.2; remarks on CUTLASS from mma_traits_sm100.hpp.
"""

from __future__ import annotations

from itertools import pairwise

from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tensor_memory import Form

__all__ = [
    "TYPES", "allowed_shapes", "check_scale_type", "check_shape", "check_types", "default_types", "depths", "remark",
    "steps", "transposes", "types_of",
]  # fmt: skip

_MX = ("mxf8f6f4", "mxf4", "mxf4nvf4")
SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_EVERY_8, _EVERY_16, _EVERY_32 = (
    tuple([step * n for n in range(1, count + 1)]) for step, count in ((8, 32), (16, 16), (32, 8))
)
_I8 = (8, 16, 24, *_EVERY_16[1:])

# K of one MMA, by kind: dense, sparse; 256 bits of A a row are stored.
DEPTHS = {
    "f16": (16, 32), "ti16": (16, 32), "tf32": (8, 16), "f8f6f4": (32, 64), "i8": (32, 64), "mxf8f6f4": (32, 64),
    "mxf4": (64, 128), "mxf4nvf4": (64, 128),
}  # fmt: skip
# The types of A and B of a kind, and of D.
TYPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "f16": (("f16", "bf16"), ("f32", "f16")),
    "tf32": (("tf32",), ("f32",)),
    "f8f6f4": (SMALL, ("f32", "f16")),
    "i8": (("s8", "u8"), ("s32",)),
    "mxf8f6f4": (SMALL, ("f32",)),
    "mxf4": (("e2m1",), ("f32",)),
    "mxf4nvf4": (("e2m1",), ("f32",)),
}


def allowed_shapes(form: Form) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The values that M and N may have.

    >>> from mmacalc.families.tensor_memory import Form
    >>> allowed_shapes(Form("f16", True, True, 1))
    ((32, 64, 128), (64, 128))
    """
    if form.ws:
        return (32, 64, 128), (64, 128) if form.sparse else (64, 128, 256)
    if form.kind in _MX:
        if form.cta_group == 1:
            return (128,), _EVERY_8
        return (256,) if form.sparse else (128, 256), _EVERY_16
    if form.kind == "i8":
        return ((64, 128), _I8) if form.cta_group == 1 else ((128, 256), _EVERY_32)
    return ((64, 128), _EVERY_8) if form.cta_group == 1 else ((128, 256), _EVERY_16)


def depths(form: Form, having: Mapping[int, tuple[str, ...]], target: str, m: int) -> tuple[int, ...]:
    """The K that one MMA may have on a target, the usual first.

    Args:
        having: the targets that have each K. That of 96 is for M = 256 of a pair of CTAs (PTX ISA 9.1, table 39).
    """
    return tuple([
        k for k, targets in having.items() if target in targets and (k != 96 or (form.cta_group, m) == (2, 256))
    ])  # fmt: skip


def check_shape(
    form: Form, having: Mapping[int, tuple[str, ...]], target: str, m: int, n: int, k: int | None
) -> int:  # fmt: skip
    """The K of this shape.

    Raises:
        Error: there is no such shape; the message says which there are.
    """
    rows, columns = allowed_shapes(form)
    name = describe(form)
    if m not in rows:
        raise Error(f"M = {m} is not supported by {name}: M is {_or(rows)}{_other_group(form, m)}")
    if n not in columns:
        raise Error(f"N = {n} is not supported by {name}: N is {steps(columns)}")
    found = depths(form, having, target, m)
    if k is not None and k not in found:
        where = ", with cta_group::2 and M = 256" if k == 96 else ""
        why = f", which requires {' or '.join(having[k])}{where}" if k in having else ""
        raise Error(f"K of {name} on {target} with M = {m} is {_or(found)}; got {k}{why}")
    return found[0] if k is None else k


def describe(form: Form) -> str:
    """A form in words.

    >>> from mmacalc.families.tensor_memory import Form
    >>> describe(Form("i8", True, False, 2))
    'kind::i8 .sp with cta_group::2'
    """
    qualifiers = f"{' .ws' if form.ws else ''}{' .sp' if form.sparse else ''}"
    return f"kind::{form.kind}{qualifiers} with cta_group::{form.cta_group}"


def _other_group(form: Form, m: int) -> str:
    """The group of CTAs that would have this M."""
    for other in (form._replace(cta_group=3 - form.cta_group, ws=False), form._replace(ws=True, cta_group=1)):
        if (not other.ws or form.kind not in _MX) and m in allowed_shapes(other)[0]:
            return f"; {describe(other)} supports M = {m}"
    return ""


def _or(values: tuple[int, ...]) -> str:
    return " or ".join(map(str, values))


def transposes(kind: str, cta_group: int) -> str:
    """Which of A and B may be MN-major in shared memory, in words.

    >>> transposes("f16", 1)
    'A and B'
    """
    if kind in ("mxf4", "mxf4nvf4"):
        return "none: A and B are K-major"
    if kind == "tf32":
        return "A and B, with the 128B swizzle of 32-byte atoms only"
    if kind == "f16":
        return "A and B"
    return f"A and B; N of a transposed B is in steps of {16 * cta_group}"


def steps(values: tuple[int, ...]) -> str:
    """Values in words: a run of equal steps as a range."""
    steps = {following - value for value, following in pairwise(values)}
    if len(values) < 4:
        return _or(values)
    if len(steps) == 1:
        return f"{values[0]} to {values[-1]} in steps of {steps.pop()}"
    return f"{', '.join(map(str, values[:4]))} to {values[-1]} in steps of {values[-1] - values[-2]}"


def remark(form: Form, m: int, n: int) -> str:
    """Where CUTLASS is stricter than the PTX ISA about this shape; "" if it is not."""
    if form.ws:
        return ""
    if form.kind in ("f16", "tf32", "f8f6f4") and form.cta_group == 1 and m == 128 and n % 16:
        return "CUTLASS takes M = 128 with N a multiple of 16 only; the PTX ISA with multiples of 8"
    if form.kind == "i8" and n == 24:
        return "CUTLASS takes N = 8 and multiples of 16 only; the PTX ISA has 24"
    if form.kind == "mxf8f6f4" and form.cta_group == 2 and m == 128:
        return "CUTLASS has M = 256 only with cta_group::2; the PTX ISA has 128 as well"
    return ""


def default_types(kind: str) -> tuple[str, str, str]:
    """The types of A, B and D that a kind means when none are named."""
    inputs, outputs = types_of(kind)
    return inputs[0], inputs[0], outputs[0]


def types_of(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types that A and B, and that D, may have.

    Raises:
        Error: they are not published (kind::ti16).
    """
    if kind not in TYPES:
        raise Error(f"the types of kind::{kind} are not in the public documents, so its layouts are not known")
    return TYPES[kind]


def check_types(kind: str, a: str, b: str, d: str) -> None:
    """Refuse types that a kind does not have.

    Raises:
        Error: says which it has.
    """
    inputs, outputs = types_of(kind)
    for name, given, known in (("A", a, inputs), ("B", b, inputs), ("D", d, outputs)):
        if given not in known:
            raise Error(f"{name} of kind::{kind} is {' or '.join(known)}; got '{given}'")
    if kind == "f16" and a != b:
        raise Error(f"A and B of kind::f16 have the same type; got {a} and {b}")
    if kind == "f16" and a == "bf16" and d == "f16":
        raise Error("D of kind::f16 is f32 when A and B are bf16; got f16")


def check_scale_type(kind: str, scales: int, given: str | None) -> str:
    """The type of scales; the usual one if none is named.

    Args:
        scales: of a row and of the usual K: 4 where a scale is for 16 elements.

    Raises:
        Error: these scales have no such type; says which they have.

    >>> check_scale_type("mxf4nvf4", 4, None), check_scale_type("mxf4", 2, None)
    ('ue4m3', 'ue8m0')
    """
    known = ("ue4m3", "ue8m0") if scales == 4 else ("ue8m0",)
    if given is not None and given not in known:
        block = "" if kind != "mxf4nvf4" else " with .block16" if scales == 4 else " with .block32"
        raise Error(f"scales of kind::{kind}{block} are {' or '.join(known)}; got '{given}'")
    return given or known[0]
