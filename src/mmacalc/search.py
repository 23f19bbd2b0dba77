"""Search of the catalog: the instructions that match criteria, across architectures."""

from __future__ import annotations

from contextlib import suppress

from .catalog import architectures, entry
from .catalog.grammar.sass import is_opcode, sources
from .checks import arguments_checked
from .compiler import builtins
from .compiler.cuda_names import is_wmma_name, meant_by
from .errors import Error
from .families.tensor_memory_shapes import TYPES
from .formats import formats_named, named, scaling
from .model.tensor_memory import TensorMemoryInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .model import Instruction

__all__ = ["find"]


@arguments_checked
def find(
    arch: str | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    blocks: int | None = None,
    a: str | None = None,
    b: str | None = None,
    c: str | None = None,
    d: str | None = None,
    sparse: bool | None = None,
    opcode: int | None = None,
    intrinsic: str | None = None,
    name: str | None = None,
) -> tuple[Instruction, ...]:
    """The instructions that match all criteria, across architectures, in catalog order.

    Args:
        arch: an architecture by any of its names; all of them if left out.
        m, n, k, blocks: the shape. a, b, c, d: formats by any of their names ("fp8" means OCP and FNUZ alike;
            mxfp8, mxfp6, mxfp4 and nvfp4 ask for the block scales as well).
        sparse: only sparse, or only dense instructions. opcode: the opcode field.
        intrinsic: a part of the compiler builtin's or intrinsic's name, or a name of CUDA's mma.h: wmma::mma_sync,
            "wmma::fragment<matrix_a, 16, 16, 16, half, row_major>". name: a part of the mnemonic, the beginning of
            a SASS opcode, such as HMMA.16816, a builtin (__builtin_amdgcn_...), or such a name of mma.h.

    Of tcgen05, whose shape and types are parameters, those that can have what was asked for, with that.

    Raises:
        Error: an unknown architecture or format, or a name that mma.h does not have.

    >>> import mmacalc
    >>> [inst.name for inst in mmacalc.find(arch="gfx942", m=32, k=8, a="bf16")]
    ['v_mfma_f32_32x32x8_bf16']
    """
    sizes = {"m": m, "n": n, "k": k, "blocks": blocks, "sparse": sparse, "opcode": opcode}
    formats = {x: formats_named(given) for x, given in zip("ABCD", (a, b, c, d)) if given is not None}
    scales = [wanted for given in (a, b) if given is not None and (wanted := scaling(given))]
    tests = [_name_test(intrinsic, builtins.names)] if intrinsic else []
    if name and name.startswith(builtins.PREFIXES):
        tests.append(_name_test(name.partition("(")[0].strip(), builtins.names))
    elif name and not is_opcode(name):
        tests.append(_name_test(name, lambda inst: (inst.name, *inst.aliases)))
    shape = {key: value for key, value in sizes.items() if value is not None}

    def fits(inst: Instruction) -> bool:
        return (
            all(getattr(inst, key) == value for key, value in shape.items())
            and all(inst.format_names(operand) & wanted for operand, wanted in formats.items())
            and all(inst.block_size == size and scale in inst.format_names("SA") for scale, size in scales)
            and all(test(inst) for test in tests)
        )

    pool = (_offered(inst, shape, formats, scales) for inst in _pool(arch, name))
    return tuple([inst for inst in pool if inst is not None and fits(inst)])


def _pool(arch: str | None, name: str | None) -> Iterator[Instruction]:
    """The instructions of an architecture, or of all; where the name is a SASS opcode, those that become it."""
    for target in architectures() if arch is None else (arch,):
        known = entry(target)
        if name is None or not is_opcode(name):
            yield from known.instructions()
            yield from map(known.instruction, known.tensor_memory_names)
        elif known.architecture.family.sass:
            yield from sources(known, name, part=True)


def _name_test(text: str, names: Callable[[Instruction], tuple[str, ...]]) -> Callable[[Instruction], bool]:
    """Whether a text is a part of a name of an instruction; or means it, as a C++ name of nvcuda::wmma.

    Raises:
        Error: nvcuda::wmma has no such name.
    """
    if is_wmma_name(text):
        return meant_by(text)
    wanted = text.lower()
    return lambda inst: any(wanted in known for known in names(inst))


def _offered(
    inst: Instruction, shape: dict[str, Any], formats: dict[str, set[str]], scales: list[tuple[str, int]]
) -> Instruction | None:
    """The instruction, of tcgen05 with the shape and formats that were asked for; None if it cannot have them."""
    if not inst.in_tensor_memory:
        return inst
    if not isinstance(inst, TensorMemoryInstruction):
        return None if shape or formats else inst  # it only moves cells
    parameters = {key: value for key, value in shape.items() if key in "mnk"} | _chosen(inst, formats, scales)
    with suppress(Error):
        return inst.shaped(**parameters)
    return None


def _chosen(
    inst: TensorMemoryInstruction, formats: dict[str, set[str]], scales: list[tuple[str, int]]
) -> dict[str, str]:
    """The types of a kind that are among formats, by the parameters of `shaped`."""
    inputs, outputs = TYPES.get(inst.kind, ((), ()))
    chosen: dict[str, str] = {}
    for operand, wanted in formats.items():
        words = [word for word in (outputs if operand in "CD" else inputs) if named(word).name in wanted]
        if words:
            chosen["d" if operand == "C" else operand.lower()] = words[0]
    if inst.kind == "f16" and "b" in chosen:
        chosen.setdefault("a", chosen["b"])
    if scales and inst.scaled:
        chosen["scale"] = f"u{scales[0][0]}" if scales[0][0] == "e8m0" else scales[0][0]
    return chosen
