"""A relabelled k: as a pattern, where it can be followed, and what it asks of the rest of the kernel."""

from __future__ import annotations

from ..arithmetic import numerics
from .answer import Condition, Followers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Operand
    from .tiles import Tiles

    Relabel = Sequence[int] | None

__all__ = ["conditions", "followers", "pattern"]

LARGEST_LOAD = 16
"""Bytes that one load brings to a lane."""


# --- as a pattern ---


def pattern(tiles: Tiles, relabel: Relabel) -> str:
    """The relabelling as digits of k, most significant first: those of the result, then in the operand's order.

    Digits are named as in D's layout; x is the number of the X along k. Empty if nothing is relabelled, or if it is
    not an exchange of digits.
    """
    if relabel is None:
        return ""
    digits = _digits(relabel)
    if digits is None:
        return ""
    names = _names(tiles, [size for size, _ in digits])
    left = [names[at] for at in reversed(range(len(digits)))]
    right = [names[at] for at in sorted(range(len(digits)), key=lambda at: -digits[at][1])]
    return f"({' '.join(left)}) -> ({' '.join(right)})"


def _digits(relabel: Sequence[int]) -> list[tuple[int, int]] | None:
    """The (size, weight in the operand) of each digit of k, lowest first; None if the relabelling has none."""
    digits, weight = [], 1
    while weight < len(relabel):
        step, size = relabel[weight], 1
        while size * weight < len(relabel) and relabel[size * weight] == size * step:
            size += 1
        while len(relabel) % (size * weight):
            size -= 1
        if size == 1:
            return None
        digits.append((size, step))
        weight *= size
    for k, lands in enumerate(relabel):
        rest, total = k, 0
        for size, step in digits:
            rest, digit = divmod(rest, size)
            total += digit * step
        if total != lands:
            return None
    return digits


def _names(tiles: Tiles, sizes: Sequence[int]) -> list[str]:
    """A name for each digit, lowest first: that of D's digit that it is, or is a part of."""
    layout = tiles.source.layout
    group = layout.coordinates[layout.axes.index(tiles.use.k)]
    own = [(name, layout.sizes[name]) for name in reversed(group) if layout.sizes[name] > 1]
    if tiles.x_tiles[1] > 1:
        own.append(("x", tiles.x_tiles[1]))
    starts, weight = [], 1
    for name, size in own:
        starts.append((weight, name, size))
        weight *= size
    names, at = [], 1
    for size in sizes:
        start, name, whole = next(entry for entry in reversed(starts) if entry[0] <= at)
        names.append(name if start == at and size >= whole else f"{name}{(at // start).bit_length() - 1}")
        at *= size
    return names


# --- where it can be followed ---


def followers(tiles: Tiles, relabel: Relabel) -> tuple[Followers, ...]:
    """Where the relabelling can be put: in the loads of X, or in those of Y's other operand."""
    if relabel is None:
        return ()
    x, y = tiles.source.instruction, tiles.target.instruction
    feeding = "A" if tiles.use.k == "i" else "B"
    source = Followers("source", x.name, feeding, None, None)
    other = "B" if tiles.use.operand == "A" else "A"
    if other not in y.register_operands:
        return source, Followers("partner", y.name, other, None, None)
    partner = y.operand(other, tiles.target.wave, **tiles.target.fields)
    order = [0] * len(relabel)
    for k, lands in enumerate(relabel):
        order[lands] = k
    return source, Followers(
        "partner", y.name, other, _run_bytes(partner, order), _run_bytes(partner, range(len(order)))
    )


def _run_bytes(partner: Operand, order: Sequence[int]) -> int:
    """The bytes of the longest run of neighbouring k that every lane of an operand can load at once: a power of two."""
    steps = partner.steps("k")
    count = len(steps)
    by_place = [sorted(range(count), key=lambda k: steps[k])]
    bits = int(partner.placement.bits)
    run = 1
    while run * 2 * bits <= 8 * LARGEST_LOAD and run * 2 <= count:
        wanted = run * 2
        for first in range(0, len(order), count):
            held = [order[first + k] for k in by_place[0]]
            lanes = [steps[k][0] for k in by_place[0]]
            for at in range(0, count, wanted):
                piece = held[at : at + wanted]
                if piece != list(range(piece[0], piece[0] + wanted)) or len(set(lanes[at : at + wanted])) > 1:
                    return run * bits // 8
        run = wanted
    return run * bits // 8


# --- what it asks ---


def conditions(tiles: Tiles, relabel: Relabel) -> tuple[Condition, ...]:
    """What makes a relabelling unsafe, or not free."""
    if relabel is None:
        return ()
    y = tiles.target.instruction
    found = []
    if y.sparse:
        period = y.operand("A", tiles.target.wave).layout.sizes["p"]
        if not _keeps_groups(relabel, period):
            found.append(
                Condition(
                    "sparse groups",
                    f"A of {y.name} is pruned in groups of {period} k, and these mix: prune and compress it in the "
                    "order of the relabelled k",
                )
            )
    if y.block_size and not _keeps_groups(relabel, y.block_size):
        found.append(
            Condition(
                "scale blocks",
                f"{y.name} scales blocks of {y.block_size} k, and these mix: scale the partner in blocks of the "
                "relabelled k, or let them share a scale",
            )
        )
    if not _keeps_sums(tiles, relabel):
        found.append(Condition("sum order", "the products are added in another order, so the last bits can differ"))
    return tuple(found)


# Models that add a group of products exactly, or cut each of them alone, so that their order within it does not matter;
# with what else of k must stay: of the last one, whether it is even.
ORDERLESS = {"integer": 1, "exact": 1, "aligned_truncated": 1, "two_stage_floored": 1, "two_stage_floored_even_odd": 2}


def _keeps_sums(tiles: Tiles, relabel: Sequence[int]) -> bool:
    """Whether Y adds the same products at every step, so that no bit of its result changes."""
    y = tiles.target.instruction
    model = numerics(y, **tiles.target.fields)
    if model.model == "integer":
        return True
    group, modulus = model.parameters.get("group") or y.k, ORDERLESS.get(model.model, 0)
    return bool(modulus) and all(
        lands // group == k // group and lands % modulus == k % modulus for k, lands in enumerate(relabel)
    )


def _keeps_groups(relabel: Sequence[int], size: int) -> bool:
    """Whether every aligned group of k lands in one aligned group."""
    groups = range(0, len(relabel), size)
    return all(len({relabel[k] // size for k in range(start, start + size)}) == 1 for start in groups)
