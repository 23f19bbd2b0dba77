"""The matrix instructions of PTX and SASS, and calls of NVIDIA's builtins, explained: see `explain`."""

from __future__ import annotations

import re

from ...base.errors import Error
from ...catalog import entry
from ...catalog.grammar.sass import TENSOR_MEMORY, emulated_part, is_opcode, near_opcode, sources
from ...throughput import rated_product
from .answer import Explanation, explained_once, ptx_of_sass, purpose
from .nvvm import function_calls, function_line, has_function
from .ptx import line as ptx_line
from .sass import line as sass_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...catalog import Entry
    from ...compiler.c_text import Call
    from ...model import Product
    from .answer import ExplainedLine

    _Found = tuple[int, str, str]
    _Reader = Callable[[Entry, Product | None, int, str, str], ExplainedLine]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_PTX = re.compile(
    r"(?<![\w.])((?:mma\.(?:sync|sp|m\d+n)|wgmma\.|wmma\.(?:mma|load|store)|ldmatrix\.|stmatrix\.|movmatrix\.|tcgen05\.\w)"
    r"[\w.:]*)([^;]*)"
)
_SASS = re.compile(r"(?:@!?U?P\w+[ \t]+)?([A-Z][A-Z0-9]+(?:\.\w+)*)(?:[ \t]([^;]*))?;?", re.IGNORECASE | re.ASCII)
_TARGET = re.compile(r"\.target\s+(sm_\w+)|code for (sm_\w+)|EF_CUDA_SM(\d+a?)|arch = (sm_\w+)")
WARPGROUP = ("wgmma", "warpgroup")
# The targets that are tried where a text names none: those of the data centre and of GeForce, the oldest first.
USUAL = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")


def explained(text: str, arch: str | None) -> Explanation | None:
    """The explanation of PTX, SASS and builtins; None if the text has no such matrix instruction."""
    plain = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    # Strings of inline assembly: quotes, and the ends of lines as C++ writes them.
    unquoted = plain.replace("\\n", "  ").replace("\\t", "  ").replace('"', " ")
    ptx, sass, called = list(_ptx(unquoted)), list(_sass(plain)), function_calls(text)
    if not ptx and not sass and not called:
        return None
    functions = [call.name for call in called]
    where, also = _architecture(text, arch, [name for _, name, _ in ptx], [name for _, name, _ in sass], functions)
    known, product = entry(where), rated_product(where)
    differ = product is not None and any(one.fma_per_clock for one in known.architecture.products)
    lines = _lines(ptx, ptx_line, where, also, "PTX") + _lines(sass, sass_line, where, also, "SASS")
    lines += explained_once(
        called, lambda call: call[1:], lambda call: call.number, _call, where, also, lambda call: (call.text, "builtin")
    )
    ordered = tuple(sorted(lines, key=lambda line: line.number))
    return Explanation(known.architecture.name, also, ordered, product=product.name if product and differ else "")


def _call(call: Call, name: str) -> ExplainedLine:
    return function_line(entry(name), rated_product(name), call)


def _lines(found: list[_Found], line: _Reader, where: str, also: tuple[str, ...], language: str) -> list[ExplainedLine]:
    def explained(one: _Found, name: str) -> ExplainedLine:
        return line(entry(name), rated_product(name), *one)

    return explained_once(
        found, lambda one: one[1:], lambda one: one[0], explained, where, also,
        lambda one: (" ".join(" ".join(one[1:]).split()), language),
    )  # fmt: skip


def _ptx(text: str) -> Iterator[_Found]:
    """The instructions of PTX: of each its line, its name, and what follows."""
    number, at = 1, 0
    for match in _PTX.finditer(text):
        number, at = number + text.count("\n", at, match.start()), match.start()
        yield number, match[1].rstrip("."), match[2]


def _sass(text: str) -> Iterator[_Found]:
    """The opcodes of SASS, one a line: of each its line, its name, and what follows."""
    for number, line in enumerate(text.split("\n"), 1):
        match = _SASS.fullmatch(line.strip(" \t")) if line else None
        if match and (is_opcode(match[1]) or ptx_of_sass(match[1])):
            yield number, match[1], (match[2] or "").strip(" \t")


def near(text: str) -> str:
    """The opcode that the first word of a text is close to, as a clause."""
    word = text.split(" ")[0]
    return near_opcode(word) if re.fullmatch(r"[A-Za-z]\w*(?:\.\w+)*", word, re.ASCII) else ""


def _architecture(
    text: str, arch: str | None, ptx: list[str], sass: list[str], functions: list[str]
) -> tuple[str, tuple[str, ...]]:
    """The target, where none is named the newest of USUAL that has all of the instructions, and the others that do.

    Raises:
        Error: the architecture is not NVIDIA's.
    """
    named = next((next(filter(None, match)) for match in _TARGET.findall(text)), "")
    if arch is not None or named:
        found = arch if arch is not None else named if named.startswith("sm_") else f"sm_{named}"
        if not entry(found).architecture.family.sass:
            language = "PTX" if ptx else "SASS" if sass else "C++ or LLVM IR"
            raise Error(f"the text is NVIDIA's {language}; {found} is not a target of NVIDIA")
        return found, ()
    names = {*ptx, *sass, *functions}
    having = [name for name in USUAL if all(_has(entry(name), one) for one in names)]
    if having:
        return having[-1], tuple(having[:-1])
    some = [name for name in USUAL if any(_has(entry(name), one, part=True) for one in names)]
    return (*reversed(some), *_beginning(ptx), "sm_80")[0], ()


def _beginning(ptx: list[str]) -> list[str]:
    """The targets with instructions that begin as misspelt ones do; those from sm_80 on first."""
    opcodes = tuple({f"{name.lower().partition('.')[0]}." for name in ptx})
    having = [name for name in USUAL if opcodes and any(one.startswith(opcodes) for one in entry(name).names)]
    return sorted(having, key=lambda name: name in USUAL[:2])


def _has(known: Entry, name: str, part: bool = False) -> bool:
    if name.startswith(("__", "llvm.")):
        return has_function(known, name)
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
