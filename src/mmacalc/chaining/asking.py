"""The two questions: `chain` for two instructions, `feeds` for everything that one instruction feeds for free."""

from __future__ import annotations

from typing import overload

from ..base.checks import arguments_checked
from ..base.errors import Error
from ..catalog import entry
from ..model import Instruction
from ..model.architecture import PROVENANCES
from . import relabelling
from .answer import Chain, Filled
from .conversions import conversion, of_target
from .matching import KINDS, match
from .place_bits import movements
from .tiles import USES, refusal, slots, suggestion, tiles, use_named
from .ways import ways

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .matching import Match
    from .place_bits import Movement
    from .tiles import Tiles, Use
    from .ways import Way

__all__ = ["chain", "feeds"]


@overload
def chain(
    x: Instruction, y: Instruction, use: str, keep_k: bool = ..., wave: int | None = ..., **modifiers: int | str
) -> Chain: ...
@overload
def chain(
    x: Instruction, y: Instruction, use: None = ..., keep_k: bool = ..., wave: int | None = ..., **modifiers: int | str
) -> tuple[Chain, ...]: ...
@arguments_checked
def chain(
    x: Instruction,
    y: Instruction,
    use: str | None = None,
    keep_k: bool = False,
    wave: int | None = None,
    **modifiers: int | str,
) -> Chain | tuple[Chain, ...]:
    """How D of one instruction becomes A or B of another.

    Args:
        x, y: two instructions of one architecture.
        use: what the result becomes: "A", "At" (A is its transpose), "B" or "Bt"; all that are possible if left out.
        keep_k: whether the contracted index must keep its order. Otherwise it may be relabelled, which costs nothing
            but must be followed elsewhere: see `Chain.followers` and `Chain.conditions`.
        wave: the wave size; the architecture's default if left out.
        modifiers: of either instruction (cbsz, blgp, opsel ...); each goes to the one that has it.

    Returns:
        One `Chain` for a use; without, a tuple of them, the cheapest first.

    Raises:
        Error: the result cannot become that operand (or, without a use, any): another architecture, another number of
            blocks or lanes, integers against floats, an operand that is compressed or not in registers.

    >>> import mmacalc
    >>> x = mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16")
    >>> [(each.use, each.kind) for each in mmacalc.chain(x, x)]
    [('At', 'k-relabel'), ('B', 'k-relabel'), ('A', 'lane-moves'), ('Bt', 'lane-moves')]
    >>> mmacalc.chain(x, x, "B", keep_k=True).ways[0].instructions
    (('v_permlane32_swap_b32', 4),)
    """
    if use is not None:
        return _chain(x, y, use_named(use), keep_k, wave, modifiers)
    possible = [each for each in USES.values() if not refusal(x, y, each, modifiers)]
    if not possible:
        raise Error(_why_none(x, y, modifiers))
    return tuple(sorted([_chain(x, y, each, keep_k, wave, modifiers) for each in possible], key=_cost))


def _why_none(x: Instruction, y: Instruction, modifiers: Mapping[str, int | str]) -> str:
    reasons = dict.fromkeys(refusal(x, y, each, modifiers) for each in USES.values())
    return "; ".join(reasons) + suggestion(x, y)


def _cost(answer: Chain) -> tuple[int, int]:
    return KINDS.index(answer.kind), answer.ways[0].cost if answer.ways else answer.repacks


@arguments_checked
def feeds(x: Instruction, use: str | None = None, wave: int | None = None, **modifiers: int | str) -> tuple[Chain, ...]:
    """Every instruction and use that D of one instruction can feed without moving data between lanes.

    Args:
        x: the instruction whose result is used. use, wave, modifiers: as for `chain`; a modifier applies to every
            instruction that has it.

    Returns:
        The chains, in catalog order; of those with different N of wgmma, whose A is the same, only one.

    Raises:
        Error: no such use or wave size, an instruction without a result in registers, or a modifier that no
            instruction has.

    >>> import mmacalc
    >>> x = mmacalc.instruction("gfx90a", "v_mfma_f32_16x16x16f16")
    >>> [(each.y.name, each.use) for each in mmacalc.feeds(x, "B") if each.kind == "identical"]
    [('v_mfma_f32_16x16x16f16', 'B'), ('v_mfma_f32_16x16x16bf16_1k', 'B')]
    """
    uses = list(USES.values()) if use is None else [use_named(use)]
    x.operand("D", wave)
    found, unused = [], set(modifiers)
    for y in _alike(x):
        fields = {name: value for name, value in modifiers.items() if name in y.modifier_limits(wave)}
        unused.difference_update(fields)
        for each in uses:
            if not refusal(x, y, each, fields):
                sides = tiles(x, y, each, wave, fields)
                if match(sides, keep_k=False) is not None:
                    found.append(_answer(x, y, sides, False, fields))
    if unused:
        raise Error(f"no instruction that D of {x.name} could feed has the modifier {min(unused)}; leave it out")
    return tuple(found)


def _alike(x: Instruction) -> Iterator[Instruction]:
    """The instructions of the same architecture whose operands lie in as many lanes; one of all N of a wgmma."""
    known, seen = entry(x.arch), set()
    for name in known.names:
        head, _, rest = name.partition("m64n")
        key = (head, rest.lstrip("0123456789"))
        if x.architecture.family.grammar and (name.split(".")[0] != x.name.split(".")[0] or key in seen):
            continue
        if rest:
            seen.add(key)
        yield known.instruction(name)


def _chain(
    x: Instruction, y: Instruction, use: Use, keep_k: bool, wave: int | None, modifiers: Mapping[str, int | str]
) -> Chain:
    return _answer(x, y, tiles(x, y, use, wave, modifiers), keep_k, modifiers)


def _answer(x: Instruction, y: Instruction, sides: Tiles, keep_k: bool, modifiers: Mapping[str, int | str]) -> Chain:
    reach = of_target(x.architecture)
    found = match(sides, keep_k)
    movement, how = (None, ()) if found is not None else _cheapest(sides, keep_k, reach)
    pi = found.k if found is not None else movement.k if movement is not None else None
    sources = found.sources if found is not None else movement.sources if movement is not None else ()
    registers = _registers(sides, sources)
    repacks = _repacks(sides, registers)
    converted = conversion(sides, reach)
    return Chain(
        x=x, y=y, use=sides.use.name, wave=sides.source.wave, kind=_kind(sides, found, repacks), f=sides.f, k=sides.k,
        blocks=sides.source.shape[0], x_count=sides.x_tiles[0] * sides.x_tiles[1],
        y_count=sides.y_tiles[0] * sides.y_tiles[1], relabel=pi, relabel_f=found.f if found is not None else None,
        relabel_pattern=relabelling.pattern(sides, pi), followers=relabelling.followers(sides, pi),
        conditions=relabelling.conditions(sides, pi), conversion=converted, repacks=repacks, registers=registers,
        exchanges=movement.exchanges if movement is not None else (),
        lane_permutation=tuple(sorted(movement.lane_permutation.items())) if movement is not None else (),
        gathered=movement.gathered if movement is not None else (), ways=how,
        provenance=max(sides.source.provenance, sides.target.provenance, key=PROVENANCES.index),
        sources=sources, tiles=sides,
    )  # fmt: skip


def _kind(sides: Tiles, found: Match | None, repacks: int) -> str:
    if found is None:
        return "lane-moves"
    if found.f is not None:
        return "kf-relabel"
    if found.k is not None:
        return "k-relabel"
    if sides.source_f == sides.target_f and sides.source_k == sides.target_k:
        return "identical"
    return "repacked" if repacks else "renamed"


def _cheapest(sides: Tiles, keep_k: bool, reach: Mapping[str, int]) -> tuple[Movement | None, tuple[Way, ...]]:
    """The movement whose cheapest way is the cheapest; one that keeps k, of two that cost the same."""
    candidates = movements(sides, keep_k)
    if not candidates:
        return None, ways(sides, None, reach)
    found = [(movement, ways(sides, movement, reach)) for movement in candidates]
    return min(found, key=lambda pair: pair[1][0].cost + _repacks(sides, _registers(sides, pair[0].sources)))


# --- which registers ---


def _registers(sides: Tiles, sources: Sequence[int | None]) -> tuple[Filled, ...]:
    """What each register of the operand is filled from."""
    target, each = sides.target, slots(sides.target)
    width = int(target.placement.slot_bits)
    filled = []
    for y in range(len(sources) // each):
        for register in range(0, target.registers, max(1, width // 32)):
            first, last = register * 32 // width, -(-(register + 1) * 32 // width)
            items = sources[y * each + first : y * each + max(last, first + 1)]
            filled.append(Filled(y, register, tuple([_place(sides, item) for item in items])))
    return tuple(filled)


def _place(sides: Tiles, item: int | None) -> tuple[int, int, int] | None:
    """(x, register, lsb) of an item of the result."""
    if item is None:
        return None
    x, slot = divmod(item, slots(sides.source))
    bit = slot * int(sides.source.placement.slot_bits)
    return x, bit // 32, bit % 32


def _repacks(sides: Tiles, registers: Sequence[Filled]) -> int:
    """How many byte permutes put the pairs of a 16-bit result together that an operand's register or a conversion
    takes: none where a register of the result is such a pair already."""
    if int(sides.source.placement.slot_bits) != 16:
        return 0
    torn = set()
    for filled in registers:
        for at in range(0, len(filled.sources), 2):
            pair = [place for place in filled.sources[at : at + 2] if place is not None]
            whole = len(pair) < 2 or (pair[0][:2] == pair[1][:2] and (pair[0][2], pair[1][2]) == (0, 16))
            if not whole:
                torn.add(tuple(pair))
    return len(torn)
