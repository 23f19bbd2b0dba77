"""What a chain asks: the result of one instruction and the operand of another, brought to a common size.

The result S of X can be used in four ways. f is the index that survives, k the one that Y adds up over:

    A    A[f][k] = S[f][k]        B    B[k][f] = S[k][f]
    At   A[f][k] = S[k][f]        Bt   B[k][f] = S[f][k]

Both sides are tiled to F = lcm and K = lcm of their extents. The number of the instruction that holds a tile (f
before k) is a further, most significant digit of the item. Then each element has a lane and an item on both sides,
and every question about the chain is one about these two places.
"""

from __future__ import annotations

from math import lcm

from ..base.checks import shown
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord
from ..catalog import instructions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Instruction, Operand

    Places = tuple[tuple[int, int], ...]

__all__ = ["USES", "Tiles", "Use", "refusal", "slots", "suggestion", "tiles", "use_named"]


class Use(TupleRecord):
    """One way to use a result: the operand of Y that it becomes, the axes of D that are f and k, Y's axis of f."""

    name: str
    operand: str
    f: str
    k: str
    axis: str

    @property
    def formula(self) -> str:
        """Such as A[f][k] = D[k][f]."""
        target = f"{self.operand}[f][k]" if self.operand == "A" else f"{self.operand}[k][f]"
        return f"{target} = D[{'f' if self.f == 'i' else 'k'}][{'k' if self.f == 'i' else 'f'}]"


_ROWS = ("A", "A", "i", "j", "i"), ("At", "A", "j", "i", "i"), ("B", "B", "j", "i", "j"), ("Bt", "B", "i", "j", "j")
USES = {row[0]: Use(*row) for row in _ROWS}


class Tiles(TupleRecord):
    """Both sides of a chain at their common size.

    use: a `Use`; source: D of X; target: the operand of Y; f, k: the common extents.
    x_tiles, y_tiles: how many X and Y lie along (f, k).
    source_f, source_k, target_f, target_k: what each value of f and of k adds to (lane, item). With several blocks,
        the tables of f hold those of every block, one after another.
    """

    use: Use
    source: Operand
    target: Operand
    f: int
    k: int
    x_tiles: tuple[int, int]
    y_tiles: tuple[int, int]
    source_f: Places
    source_k: Places
    target_f: Places
    target_k: Places


def use_named(name: str) -> Use:
    """The use of that name; case-insensitive.

    Raises:
        Error: there is no such use.
    """
    for known, use in USES.items():
        if isinstance(name, str) and name.lower() == known.lower():
            return use
    hint = did_you_mean(shown(name), USES)
    raise Error(
        f"use is {shown(name)}; it should be A, At (transposed), B or Bt: which operand of Y the result becomes.{hint}"
    )


def tiles(x: Instruction, y: Instruction, use: Use, wave: int | None, modifiers: Mapping[str, int | str]) -> Tiles:
    """Both sides at their common size.

    Raises:
        Error: X has no result, Y no such operand in registers, or the two do not fit; the message says what would.
    """
    if problem := refusal(x, y, use, modifiers):
        raise Error(problem + suggestion(x, y))
    size = x.architecture.wave(wave)
    of_x, of_y = _own(x, y, size, modifiers), _own(y, x, size, modifiers)
    y.check_modifiers(size, y.resolved({name: modifiers[name] for name in modifiers if name not in {**of_x, **of_y}}))
    source, target = x.operand("D", size, **of_x), y.operand(use.operand, size, **of_y)
    _check_lanes(source, target)
    extents, wanted = dict(zip(source.axes, source.shape)), dict(zip(target.axes, target.shape))
    f, k = lcm(extents[use.f], wanted[use.axis]), lcm(extents[use.k], wanted["k"])
    x_tiles = (f // extents[use.f], k // extents[use.k])
    y_tiles = (f // wanted[use.axis], k // wanted["k"])
    return Tiles(
        use, source, target, f, k, x_tiles, y_tiles,
        _along(source, use.f, x_tiles[0], x_tiles[1], blocks=True), _along(source, use.k, x_tiles[1], 1),
        _along(target, use.axis, y_tiles[0], y_tiles[1], blocks=True), _along(target, "k", y_tiles[1], 1),
    )  # fmt: skip


def slots(operand: Operand) -> int:
    """The slots of one instance, those in the unused part of its last register included."""
    return operand.registers * 32 // int(operand.placement.slot_bits)


def _along(operand: Operand, axis: str, count: int, step: int, blocks: bool = False) -> Places:
    """What each value of a tiled coordinate adds to (lane, item); an instance's items follow the one's before."""
    each = slots(operand)
    one = tuple([(lane, item + tile * step * each) for tile in range(count) for lane, item in operand.steps(axis)])
    if not blocks:
        return one
    return tuple([(a + lane, b + item) for a, b in operand.steps("block") for lane, item in one])


# --- what does not fit ---


def refusal(x: Instruction, y: Instruction, use: Use, modifiers: Mapping[str, int | str]) -> str:
    """Why D of X can in no way become this operand of Y; empty if it can."""
    if x.arch != y.arch:
        theirs = f"{x.name} is an instruction of {x.architecture.title}, {y.name} of {y.architecture.title}"
        return f"{theirs}; a chain runs on one architecture"
    x.architecture.family.require("chain", x.architecture.title)
    for inst, operand in ((x, "D"), (y, use.operand)):
        if "wmma" in inst.features:
            return f"{inst.name} has fragments with copies that NVIDIA leaves unspecified; chain takes mma and wgmma"
        if "A" not in inst.operands or "B" not in inst.operands:
            return f"{inst.name} moves a matrix and multiplies nothing; a chain is of two products"
        if operand not in inst.register_operands:
            return f"{operand} of {inst.name} {inst.outside_registers[operand]}"
    if use.operand == "A" and y.sparse:
        return f"A of {y.name} is compressed 2:4, and a result is dense; it can be B or Bt"
    if x.blocks != y.blocks:
        return f"{x.name} has {_counted(x.blocks)} and {y.name} {_counted(y.blocks)}; both should have as many"
    return _format_refusal(x, y) or _modifier_refusal(x, y, modifiers)


def suggestion(x: Instruction, y: Instruction) -> str:
    """Where the blocks or the formats do not fit, the instructions that would: how many, and the first of them."""
    if x.arch != y.arch or (x.blocks == y.blocks and _class(x) == _class(y)):
        return ""
    wide = "wgmma" in x.features
    alike = [z for z in instructions(x.arch) if {"A", "B"} <= {*z.operands} and ("wgmma" in z.features) == wide]
    names = [z.name for z in alike if any(not refusal(x, z, use, {}) for use in USES.values())]
    return f". D of {x.name} can feed {len(names)} instructions, such as {names[0]}" if names else ""


def _counted(blocks: int) -> str:
    return f"{blocks} block{'s' * (blocks > 1)}"


def _class(inst: Instruction) -> str:
    """Instructions that can feed one another: on integers, on f64, on other floats."""
    result = inst.format("D")
    return "integer" if not result.is_float else "f64" if result.bits == 64 else "float"


def _format_refusal(x: Instruction, y: Instruction) -> str:
    given, wanted = _class(x), _class(y)
    if given == wanted:
        return ""
    why = "chain converts integers to integers and floats to floats"
    if "f64" in (given, wanted):
        why = "f64 results chain with f64 operands only"
    return f"D of {x.name} is {x.format('D').name}, and {y.name} multiplies {y.format('A').name}; {why}"


def _modifier_refusal(x: Instruction, y: Instruction, modifiers: Mapping[str, int | str]) -> str:
    for name in modifiers:
        if name not in x.modifier_limits() and name not in y.modifier_limits():
            known = sorted({*x.modifier_limits(), *y.modifier_limits()})
            hint = did_you_mean(name, known)
            return (
                f"neither {x.name} nor {y.name} has a modifier '{name}'.{hint} They have: {', '.join(known) or 'none'}"
            )
    return ""


def _own(inst: Instruction, other: Instruction, wave: int, modifiers: Mapping[str, int | str]) -> dict[str, int | str]:
    """Of the modifiers, those that an instruction has. What both have may be meant for one, so a value that only the
    other takes (CBSZ chooses a format of some MFMA, and an index set of SMFMAC) is left to it."""
    limits, others = inst.modifier_limits(wave), other.modifier_limits(wave)
    return {
        name: value
        for name, value in modifiers.items()
        if name in limits and (name not in others or value in limits[name] or name in inst.choices)
    }


def _check_lanes(source: Operand, target: Operand) -> None:
    if target.placement.lanes or any(target.layout.sizes[name] > 1 for name in target.layout.shared):
        given = " ".join(f"{name}={value}" for name, value in target.fields.items())
        raise Error(
            f"with {given}, {target.name} of {target.instruction.name} reads other lanes than its own; a chain "
            "needs it to be 0"
        )
    if source.lanes != target.lanes:
        x, y = source.instruction, target.instruction
        raise Error(
            f"D of {x.name} lies in {source.lanes} lanes and {target.name} of {y.name} in {target.lanes}; a chain "
            "needs the same lanes: chain wgmma with wgmma, and mma with mma"
        )
