"""Questions that take more than one operand, or a whole catalog: plain data out, no printing."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache

from .catalog import entry, every_instruction
from .checks import arguments_checked
from .errors import Error
from .model.modifiers import negated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .model import Element, Instruction, Operand

__all__ = ["Term", "calculation", "find", "formats_named", "same_blocks", "scales", "sign"]


@lru_cache(maxsize=4096)
def sign(operand: Operand, lsb: int) -> str:
    """The signs that NEG, NEG_HI (or BLGP on an FP64 MFMA) put on what is read at a bit position.

    Returns "", "-", "|" (absolute value) or "-|"; where two f16 values of a sparse A share the location and one is
    negated, "low" or "high".

    >>> import mmacalc
    >>> wmma = mmacalc.instruction("rdna3", "v_wmma_f32_16x16x16_f16")
    >>> sign(wmma.operand("B", neg=2), lsb=0), sign(wmma.operand("B", neg=2), lsb=16)
    ('-', '')
    >>> swmmac = mmacalc.instruction("rdna4", "v_swmmac_f32_16x16x32_f16")
    >>> sign(swmmac.operand("A", neg=1), lsb=0), sign(swmmac.operand("A", neg=1, neg_hi=1), lsb=0)
    ('low', '-')
    """
    instruction, fields, name = operand.instruction, operand.fields, operand.name
    if instruction.integer:
        return ""  # NEG then says which operands are signed
    if name == "C":
        absolute = "|" if negated(fields.get("neg_hi", 0), "C") else ""
        minus = negated(fields.get("neg", 0) | _blgp_signs(operand), "C")
        return ("-" if minus else "") + absolute
    low = negated(fields.get("neg", 0) | _blgp_signs(operand), name)
    high = negated(fields.get("neg_hi", 0) | _blgp_signs(operand), name)
    if operand.placement.merge == 2 and operand.placement.bits == 16:
        return {(True, True): "-", (True, False): "low", (False, True): "high"}.get((low, high), "")
    return "-" if (high if lsb >= 16 else low) else ""


def _blgp_signs(operand: Operand) -> int:
    """BLGP of an FP64 MFMA negates A, B and C by its three bits (CDNA3 ISA guide, VOP3P-MAI fields)."""
    return operand.fields.get("blgp", 0) if operand.instruction.formats.get("A") == "f64" else 0


class Elsewhere(namedtuple("Elsewhere", "name instruction")):
    """An operand whose elements are in no register (B of wgmma)."""

    __slots__ = ()
    name: str
    instruction: Instruction


class Term(namedtuple("Term", "operand location element sign")):
    """One factor or addend of an output calculation.

    operand: which matrix; location: where it is read, None of an `Elsewhere`; element: the (row, column, block)
    that this location holds when no modifier is set; sign: as `sign` gives it.
    """

    __slots__ = ()
    operand: Operand | Elsewhere
    location: Any  # a Location
    element: tuple[int, int, int]
    sign: str


def calculation(
    instruction: Instruction, i: int, j: int, block: int, wave: int, fields: Mapping[str, int]
) -> tuple[tuple[tuple[Term, Term], ...], Term | None]:
    """What one element of D is the sum of: the (A, B) factors in ascending k, and the C term (None if sparse).

    For a replicated operand, the first copy is named.

    Raises:
        Error: the instruction only moves a matrix, or the places of its elements are not known.
    """
    if instruction.flops == 0:
        raise Error(f"{instruction.name} moves a matrix and calculates nothing")
    operands: dict[str, Operand | Elsewhere] = {}
    for name in instruction.operands:
        here = name in instruction.register_operands
        operands[name] = instruction.operand(name, wave, **fields) if here else Elsewhere(name, instruction)
    products = tuple(
        (_term(operands["A"], i=i, k=k, block=block), _term(operands["B"], k=k, j=j, block=block))
        for k in range(instruction.k)
    )
    addend = _term(operands["C"], i=i, j=j, block=block) if "C" in operands else None
    return products, addend


def scales(
    instruction: Instruction, i: int, j: int, wave: int, fields: Mapping[str, int]
) -> tuple[tuple[range, Term, Term], ...]:
    """For each block of k, the scales of A and B that multiply its products in one element of D.

    Empty for an instruction without scales.

    >>> import mmacalc
    >>> scaled = mmacalc.instruction("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")
    >>> [(k, a.location.lane, b.location.lane) for k, a, b in scales(scaled, 3, 5, 64, {})][1]
    (range(32, 64), 19, 21)
    """
    if not instruction.scaled:
        return ()
    a, b = (instruction.operand(name, wave, **fields) for name in ("SA", "SB"))
    size = instruction.block_size
    return tuple((range(k, k + size), _term(a, i=i, k=k), _term(b, k=k, j=j)) for k in range(0, instruction.k, size))


def _term(operand: Operand | Elsewhere, **coordinates: int) -> Term:
    if isinstance(operand, Elsewhere):
        row, col = (("i", "k"), ("k", "j"), ("i", "j"))["ABC".index(operand.name)]
        return Term(operand, None, (coordinates[row], coordinates[col], coordinates["block"]), "")
    location = operand.locate(**coordinates)[0]
    element = tuple([coordinates.get(axis, 0) for axis in (*operand.axes[1:], operand.axes[0])])
    if not MOVING.isdisjoint(operand.fields):
        # Where a modifier moves data between lanes, the element is the one that lies there without it.
        still = {name: value for name, value in operand.fields.items() if name not in MOVING}
        plain = operand.instruction.operand(operand.name, operand.wave, **still)
        found = list(plain.elements(location.lane, location.item))
        element = element if element in found or not found else found[0]
    return Term(operand, location, element, sign(operand, location.lsb))


# Fields that make an operand be read from other lanes or blocks than those that its layout says.
MOVING = frozenset({"cbsz", "abid", "blgp"})


def same_blocks(operand: Operand) -> list[list[int]]:
    """The blocks of an operand, grouped where CBSZ makes several read the same registers."""
    groups: dict[tuple[int, int], list[int]] = {}
    for block, step in enumerate(operand.steps("block")):
        groups.setdefault(step, []).append(block)
    return list(groups.values())


def holdings(operand: Operand, register: int, lane: int) -> Iterator[tuple[Element, str]]:
    """What a register of a lane holds, with the sign under which the instruction reads it."""
    for element in operand.contents(register, lane):
        yield element, sign(operand, element.lsb)


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
    """Every instruction that fits all that is given, across architectures, in catalog order.

    Args:
        arch: an architecture by any of its names; all of them if left out.
        m, n, k, blocks: the shape. a, b, c, d: formats by any of their names ("fp8" means OCP and FNUZ alike).
        sparse: only sparse, or only dense instructions. opcode: the opcode field.
        intrinsic: a part of the compiler builtin's or intrinsic's name. name: a part of the mnemonic.

    Raises:
        Error: an unknown architecture or format.

    >>> import mmacalc
    >>> [inst.name for inst in mmacalc.find(arch="gfx942", m=32, k=8, a="bf16")]
    ['v_mfma_f32_32x32x8_bf16']
    """
    sizes = {"m": m, "n": n, "k": k, "blocks": blocks, "sparse": sparse, "opcode": opcode}
    formats = {x: formats_named(given) for x, given in zip("ABCD", (a, b, c, d)) if given is not None}
    pool = every_instruction() if arch is None else iter(entry(arch).instructions())
    return tuple(
        inst
        for inst in pool
        if all(value is None or getattr(inst, key) == value for key, value in sizes.items())
        and all(inst.format_names(operand) & names for operand, names in formats.items())
        and (name is None or any(name.lower() in known for known in (inst.name, *inst.aliases)))
        and (intrinsic is None or _reached_by(inst, intrinsic))
    )


# A format that people name by its width alone is found in both its encodings.
_EITHER = {"fp8": {"e4m3", "e4m3fnuz"}, "bf8": {"e5m2", "e5m2fnuz"}}


def formats_named(given: str) -> set[str]:
    """The formats that a name means: one, or for a name by width alone (fp8, bf8) both encodings.

    Raises:
        Error: no format is called that.

    >>> sorted(formats_named("fp8")), formats_named("half")
    (['e4m3', 'e4m3fnuz'], {'f16'})
    """
    from .formats import CHOICES, named

    if given.lower() in CHOICES:
        return {given.lower()}
    return _EITHER.get(given.lower()) or {named(given).name}


def _reached_by(inst: Instruction, part: str) -> bool:
    from .compiler.builtins import names

    return any(part.lower() in name for name in names(inst))


def one(found: tuple[Instruction, ...]) -> Instruction:
    """The only instruction of a search.

    Raises:
        Error: none or several fit.
    """
    if len(found) != 1:
        raise Error(f"{len(found)} instructions fit; give more of the shape, formats or architecture")
    return found[0]
