"""What the edits of both machines have in common."""

from __future__ import annotations

import re
from itertools import combinations

from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

__all__ = ["KIND", "Edit", "numbers_near", "opcodes_near", "swaps"]


class Edit(TupleRecord):
    """An instruction with a change.

    cost: how far it is from what stands there; less is tried first. place: the address, or the line of PTX. text, new:
    the instruction as it is, and changed. kind: what is other, in words. code: its bytes; of PTX the function, the
    number of the statement in it, and the new one.
    """

    cost: int
    place: int
    text: str
    new: str
    kind: str
    code: Any


KIND = 4
"""How much further another number or register is than another form, and one nearby than the next one; where an
instruction stands counts 0 to 4."""
_PAIRS = (
    ("gt", "ge"), ("lt", "le"), ("eq", "ne"), ("eq", "lg"), ("lt", "gt"), ("le", "ge"), ("lt", "ge"), ("gt", "le"),
    ("min", "max"), ("add", "sub"), ("and", "or"), ("and", "andn2"), ("shl", "shr"), ("lshlrev", "lshrrev"),
    ("ashrrev", "lshrrev"), ("scc0", "scc1"), ("vccz", "vccnz"), ("up", "down"), ("up", "bfly"), ("down", "bfly"),
    ("lo", "hi"), ("rn", "rz"), ("hi", "lo"), ("sub", "subrev"), ("ltu", "leu"), ("ls", "lo"), ("hs", "hi"),
)  # fmt: skip
_OTHERS: dict[str, tuple[str, ...]] = {}
for _one, _other in _PAIRS:
    _OTHERS[_one] = (*_OTHERS.get(_one, ()), _other)
    _OTHERS[_other] = (*_OTHERS.get(_other, ()), _one)
_DISTANCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


def opcodes_near(name: str) -> Iterator[str]:
    """Opcodes that do the opposite, or the same up to the edge: one part of the name is another.

    >>> list(opcodes_near("v_cmp_gt_u32_e32"))[:2], list(opcodes_near("setp.ge.s32"))[0]
    (['v_cmp_ge_u32_e32', 'v_cmp_lt_u32_e32'], 'setp.gt.s32')
    """
    for found in re.finditer(r"[a-z]+\d?(?![a-z\d])", name):
        for other in _OTHERS.get(found[0], ()):
            yield name[: found.start()] + other + name[found.end() :]


def numbers_near(value: int, others: Iterable[int] = ()) -> Iterator[int]:
    """Numbers that could have been meant: those of others first, then near ones, half, double, powers of two apart.

    >>> list(numbers_near(16, [0, 48]))[:5]
    [0, 48, 17, 15, 18]
    """
    near = [value + sign * step for step in _DISTANCES for sign in (1, -1)]
    yield from [
        one for one in dict.fromkeys((*others, *near, 2 * value, value // 2, 0, -value, ~value)) if one != value
    ]


def swaps(operands: Sequence[Any]) -> Iterator[list[Any]]:
    """The operands with two of them in each other's place."""
    for one, other in combinations(range(len(operands)), 2):
        if operands[one] != operands[other]:
            new = list(operands)
            new[one], new[other] = new[other], new[one]
            yield new
