"""Search of the catalog: the instructions that match criteria, across architectures."""

from __future__ import annotations

from .catalog import architectures, entry, every_instruction
from .catalog.grammar.sass import is_opcode, sources
from .checks import arguments_checked
from .compiler import builtins
from .formats import formats_named, scaling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
        intrinsic: a part of the compiler builtin's or intrinsic's name. name: a part of the mnemonic, or the
            beginning of a SASS opcode, such as HMMA.16816.

    Raises:
        Error: an unknown architecture or format.

    >>> import mmacalc
    >>> [inst.name for inst in mmacalc.find(arch="gfx942", m=32, k=8, a="bf16")]
    ['v_mfma_f32_32x32x8_bf16']
    """
    sizes = {"m": m, "n": n, "k": k, "blocks": blocks, "sparse": sparse, "opcode": opcode}
    formats = {x: formats_named(given) for x, given in zip("ABCD", (a, b, c, d)) if given is not None}
    scales = [wanted for given in (a, b) if given is not None and (wanted := scaling(given))]
    return tuple(
        inst
        for inst in _pool(arch, name)
        if all(value is None or getattr(inst, key) == value for key, value in sizes.items())
        and all(inst.format_names(operand) & wanted for operand, wanted in formats.items())
        and all(inst.block_size == size and scale in inst.format_names("SA") for scale, size in scales)
        and (name is None or is_opcode(name) or any(name.lower() in known for known in (inst.name, *inst.aliases)))
        and (intrinsic is None or any(intrinsic.lower() in known for known in builtins.names(inst)))
    )


def _pool(arch: str | None, name: str | None) -> Iterator[Instruction]:
    """The instructions of an architecture, or of all; where the name is a SASS opcode, those that become it."""
    if name is None or not is_opcode(name):
        yield from every_instruction() if arch is None else entry(arch).instructions()
        return
    for target in architectures() if arch is None else (arch,):
        if entry(target).architecture.family.sass:
            yield from sources(entry(target), name, part=True)
