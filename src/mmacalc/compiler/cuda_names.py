"""The C++ names of CUDA's warp matrix functions (mma.h, namespace nvcuda::wmma), and which instructions they mean.

A fragment's type, wmma::fragment<matrix_a, 16, 16, 16, half, row_major>, stands for the instructions that load, store
or multiply it; a function, wmma::mma_sync, for those that it becomes.

Source: CUDA C++ Programming Guide, "Warp Matrix Functions"; what nvcc 13.0 makes of every fragment type.
"""

from __future__ import annotations

from ..base.checks import whole
from ..base.errors import Error, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Instruction

__all__ = ["is_wmma_name", "stands_for"]

USES = {"matrix_a": "A", "matrix_b": "B", "accumulator": "D"}
TYPES = {
    "half": "f16", "__half": "f16", "float": "f32", "double": "f64", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16",
    "precision::tf32": "tf32", "signed char": "i8", "int8_t": "i8", "unsigned char": "u8", "uint8_t": "u8",
    "int": "i32", "int32_t": "i32", "precision::s4": "i4", "precision::u4": "u4", "precision::b1": "b1",
}  # fmt: skip
LAYOUTS = {"row_major": "row", "col_major": "col"}
FUNCTIONS = {
    "load_matrix_sync": "wmma.load.", "store_matrix_sync": "wmma.store.", "mma_sync": "wmma.mma.",
    "bmma_sync": "wmma.mma.",
}  # fmt: skip
EXAMPLE = "wmma::fragment<matrix_a, 16, 16, 16, half, row_major>"


def is_wmma_name(text: str) -> bool:
    """Whether a text is of namespace nvcuda::wmma.

    >>> is_wmma_name("nvcuda::wmma::mma_sync"), is_wmma_name("wmma.mma.sync")
    (True, False)
    """
    return "wmma::" in text


def stands_for(text: str) -> Callable[[Instruction], bool]:
    """Which instructions a name means.

    Raises:
        Error: there is no such function, use, type or layout; the message says which there are.

    >>> import mmacalc
    >>> means = stands_for("wmma::fragment<matrix_b, 16, 16, 16, half, col_major>")
    >>> [inst.name for inst in mmacalc.instructions("sm_70") if ".load." in inst.name and means(inst)]
    ['wmma.load.b.sync.aligned.col.m16n16k16.shared.f16']
    """
    name = text.strip().removesuffix(";")
    for namespace in ("nvcuda::", "experimental::", "wmma::"):
        name = name.replace(namespace, "")
    if name.startswith("fragment"):
        return _fragment(name)
    function = name.partition("(")[0].strip()
    if function not in FUNCTIONS:
        hint = did_you_mean(function, FUNCTIONS)
        raise Error(
            f"wmma::{function} becomes no matrix instruction.{hint} These do: {', '.join(FUNCTIONS)}; {EXAMPLE} means "
            "those of a fragment"
        )
    single_bits = function == "bmma_sync"
    return lambda inst: (
        inst.name.startswith(FUNCTIONS[function])
        and (not function.endswith("mma_sync") or (inst.formats["A"] == "b1") == single_bits)
    )


def _fragment(name: str) -> Callable[[Instruction], bool]:
    words = [word.strip() for word in name.removeprefix("fragment").strip().strip("<>").split(",")]
    if len(words) not in (5, 6) or not all(word.isdecimal() for word in words[1:4]):
        raise Error(f"'{name[:60]}' should have a use, M, N, K, a type and for A and B a layout, as {EXAMPLE}")
    use, form = _known("use", words[0], USES), _known("type", words[4], TYPES)
    shape = tuple([whole(word, "a size of a fragment") for word in words[1:4]])
    layout = _known("layout", words[5], LAYOUTS) if len(words) == 6 else ""

    def means(inst: Instruction) -> bool:
        if "wmma" not in inst.features or (inst.m, inst.n, inst.k) != shape:
            return False
        if use == "D":
            return form in (inst.formats.get("C"), inst.formats.get("D"))
        at = "AB".index(use) if len(inst.layouts) > 1 else 0
        return inst.formats.get(use) == form and layout in ("", inst.layouts[at])

    return means


def _known(what: str, word: str, known: dict[str, str]) -> str:
    if word not in known:
        raise Error(f"a fragment has no {what} '{word}'.{did_you_mean(word, known)} Known: {', '.join(known)}")
    return known[word]
