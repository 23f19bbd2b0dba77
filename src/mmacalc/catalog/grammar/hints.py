"""What is wrong with a name of PTX or an opcode of SASS that no target has, and what would be right.

Code of messages only, no data: nothing but the clauses behind an error follows from it.
"""

from __future__ import annotations

from functools import lru_cache

from ...base.errors import did_you_mean, first_of
from .braces import expand
from .ptx import TYPES, key, shape_of
from .sass import first_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["near_opcode", "nearest"]


def near_opcode(name: str) -> str:
    """A clause that names the opcode that a misspelt one is close to.

    >>> near_opcode("HMAM.16816.F32")
    ' Did you mean HMMA?'
    """
    known = {opcode.lower(): opcode for opcode in first_words()}
    return did_you_mean(name.strip().partition(".")[0], known, most=1, shown=known)


def nearest(name: str, templates: tuple[str, ...], target: str) -> str:
    """Clauses on a name that no target has: what it lacks, which types its shape takes, or which names are like it.

    Args:
        name: what was given. templates: the families of names, in braces. target: where the list of names is found.

    >>> nearest("mma.sync.m8n8k4.row.col.f64.f64.f64.f64", ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",), "sm_80")
    ' It lacks .aligned: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64'
    """
    given = tuple(key(name).split("."))
    if given[0] not in {template.split(".")[0] for template in templates}:
        return f"{near_opcode(name)} `-a {target} -L` lists what there is."
    return _advice(given, templates)


@lru_cache(maxsize=256)
def _advice(given: tuple[str, ...], templates: tuple[str, ...]) -> str:
    names = [name for template in templates for name in expand(template)]
    close = _closest(given, names)
    parts = close[0].lower().replace(".shared", "").split(".")
    missing = [part for part in parts if part not in given]
    if 0 < len(missing) == len(parts) - len(given) <= 2:
        return f" It lacks .{' and .'.join(missing)}: {close[0]}"
    shape = next((part for part in given if shape_of(part)), "")
    types = [part for part in given if part in TYPES]
    if types != [part for part in parts if part in TYPES] and shape in parts:
        same = [name.split(".") for name in names if name.split(".")[0] == given[0] and shape in name.split(".")]
        taken = {tuple(p for p in n if p in TYPES): None for n in same if ("sp" in given) == ("sp" in n)}
        near = sorted(taken, key=lambda offer: -sum(x == y for x, y in zip(offer, types)))
        return f" {given[0]} {shape} takes the types {first_of(map('.'.join, near))}."
    return f" Did you mean {' or '.join(close)}?"


def _closest(given: tuple[str, ...], names: Iterable[str], most: int = 3) -> list[str]:
    """The instructions whose qualifiers differ least from those given; of equals, those that look most alike."""
    from difflib import SequenceMatcher

    scored: dict[int, list[str]] = {}
    for name in names:
        parts = name.lower().replace(".shared", "").split(".")
        common = sum(min(given.count(part), parts.count(part)) for part in set(given))
        scored.setdefault(len(given) + len(parts) - 2 * common, []).append(name)
    best, text = scored[min(scored)], ".".join(given)
    best = [name for name in best if name.split(".")[0] == given[0]] or best
    likeness = {name: SequenceMatcher(None, key(name), text).ratio() for name in best[:40]}
    return sorted(likeness, key=lambda name: -likeness[name])[:most]
