"""The matrix instructions of PTX and SASS, explained: see `explain`."""

from __future__ import annotations

import re

from ..catalog import entry
from ..catalog.grammar.hints import near_opcode
from ..catalog.grammar.purposes import meant_by, purpose
from ..catalog.grammar.sass import TENSOR_MEMORY, emulated_part, is_opcode, sources
from ..errors import Error
from ..rates import rated_product
from . import explain_ptx, explain_sass
from .explain import Explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog import Entry

__all__ = ["explained", "near"]

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_PTX = re.compile(
    r"(?<![\w.])((?:mma\.(?:sync|sp|m\d+n)|wgmma\.|wmma\.(?:mma|load|store)|ldmatrix\.|stmatrix\.|movmatrix\.|tcgen05\.\w)"
    r"[\w.:]*)([^;]*)"
)
_SASS = re.compile(
    r"(?m)^[ \t]*(?:@!?U?P\w+[ \t]+)?([A-Z][A-Z0-9]+(?:\.\w+)*)(?:[ \t]+([^;\n]*))?;?[ \t]*$", re.IGNORECASE
)
_TARGET = re.compile(r"\.target\s+(sm_\w+)|code for (sm_\w+)|EF_CUDA_SM(\d+a?)|arch = (sm_\w+)")
WARPGROUP = ("wgmma", "warpgroup")
# The targets that are tried where a text names none: those of the data centre and of GeForce, the oldest first.
USUAL = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")


def explained(text: str, arch: str | None) -> Explanation | None:
    """The explanation of PTX or SASS; None if the text has no such matrix instruction."""
    plain = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    # Strings of inline assembly: quotes, and the ends of lines as C++ writes them.
    unquoted = plain.replace("\\n", "  ").replace("\\t", "  ").replace('"', " ")
    ptx = [(_line_of(unquoted, match.start()), match[1].rstrip("."), match[2]) for match in _PTX.finditer(unquoted)]
    sass = [(_line_of(plain, match.start(1)), match[1], match[2] or "") for match in _SASS.finditer(plain)
            if is_opcode(match[1]) or meant_by(match[1])]  # fmt: skip
    if not ptx and not sass:
        return None
    where, also = _architecture(text, arch, [name for _, name, _ in ptx], [name for _, name, _ in sass])
    known, product = entry(where), rated_product(where)
    differ = product is not None and any(one.fma_per_clock for one in known.architecture.products)
    lines = [explain_ptx.line(known, product, *one) for one in ptx]
    lines += [explain_sass.line(known, product, *one) for one in sass]
    ordered = tuple(sorted(lines, key=lambda line: line.number))
    return Explanation(known.architecture.name, also, ordered, product=product.name if product and differ else "")


def near(text: str) -> str:
    """The opcode that the first word of a text is close to, as a clause."""
    return near_opcode(text.split(" ")[0])


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _architecture(text: str, arch: str | None, ptx: list[str], sass: list[str]) -> tuple[str, tuple[str, ...]]:
    """The target, and others of USUAL that have all of the instructions.

    Raises:
        Error: the architecture is not NVIDIA's.
    """
    named = next((next(filter(None, match)) for match in _TARGET.findall(text)), "")
    if arch is not None or named:
        found = arch if arch is not None else named if named.startswith("sm_") else f"sm_{named}"
        if not entry(found).architecture.family.sass:
            raise Error(f"the text is NVIDIA's {'PTX' if ptx else 'SASS'}; {found} is not a target of NVIDIA")
        return found, ()
    names = {*ptx, *sass}
    having = [name for name in USUAL if all(_has(entry(name), one) for one in names)]
    if having:
        return having[0], tuple(having[1:])
    some = [name for name in USUAL if any(_has(entry(name), one, part=True) for one in names)]
    return (*some, *_beginning(ptx), "sm_80")[0], ()


def _beginning(ptx: list[str]) -> list[str]:
    """The targets with instructions that begin as misspelt ones do; those from sm_80 on first."""
    opcodes = tuple({f"{name.lower().partition('.')[0]}." for name in ptx})
    having = [name for name in USUAL if opcodes and any(one.startswith(opcodes) for one in entry(name).names)]
    return sorted(having, key=lambda name: name in USUAL[:2])


def _has(known: Entry, name: str, part: bool = False) -> bool:
    if purpose(name) and name.lower().startswith(WARPGROUP):
        return any(one.startswith(WARPGROUP[0]) for one in known.names)
    if is_opcode(name):
        tensor_memory = name.upper().startswith(TENSOR_MEMORY)
        if tensor_memory:
            return bool(known.tensor_memory_names)
        return bool(sources(known, name, part) or emulated_part(known, name))
    try:
        known.instruction(name)
    except Error:
        return False
    return True
