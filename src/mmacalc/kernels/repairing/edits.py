"""What the edits of both machines have in common."""

from __future__ import annotations

import re
from itertools import combinations

from ...base.checks import whole
from ...base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

__all__ = ["KIND", "Change", "Edit", "changes_alike", "numbers_near", "opcodes_near", "swaps"]


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


class Change(TupleRecord):
    """What is tried: one edit, or the same edit of several instructions that come from one mistake in the source, as of
    an unrolled loop. rank: what is less is tried first."""

    rank: int
    edits: tuple[Edit, ...]


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


def changes_alike(edits: Iterable[Edit], line: Callable[[Edit], Any]) -> Iterator[tuple[Edit, ...]]:
    """Edits of two and more instructions with one opcode of one line of the source that do the same to each: another
    opcode or order, a number or a register that is as much more. line: of the source, of an edit.

    >>> texts = [("ds_read v1, v9 offset:8", "ds_read v1, v9 offset:12"), ("ds_read v2, v9", "ds_read v2, v8"),
    ...          ("ds_read v3, v9 offset:24", "ds_read v3, v9 offset:28")]
    >>> edits = [Edit(5, place, text, new, "", b"") for place, (text, new) in enumerate(texts)]
    >>> [[edit.place for edit in one] for one in changes_alike(edits, lambda edit: None)]
    [[0, 2]]
    """
    found: dict[Any, dict[int, Edit]] = {}
    for edit in edits:
        key = line(edit), edit.text.split(" ", 1)[0], edit.kind, _difference(edit.text, edit.new)
        found.setdefault(key, {}).setdefault(edit.place, edit)
    for one in found.values():
        if len(one) > 1:
            yield tuple(one.values())


def _difference(text: str, new: str) -> Any:
    """What is done to an instruction: where, and how much more a number or register is, or which words are other."""
    old, other = _TOKEN.findall(text), _TOKEN.findall(new)
    first = next((at for at, pair in enumerate(zip(old, other)) if pair[0] != pair[1]), min(len(old), len(other)))
    if len(old) != len(other):
        return first, len(other) - len(old)
    return tuple([(at, _step(*pair)) for at, pair in enumerate(zip(old, other)) if pair[0] != pair[1]])


def _step(old: str, new: str) -> Any:
    found = [re.fullmatch(r"(\D*?)(0x[0-9a-f]+|\d+)", one) for one in (old, new)]
    if found[0] and found[1] and found[0][1] == found[1][1]:
        values = [whole(one[2], "a number", (1 << 64) - 1) for one in found if one]
        return found[0][1], values[1] - values[0]
    return old, new


_TOKEN = re.compile(r"[\w.%]+|[^\w\s]")


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
