"""Triton's layouts in MLIR: `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, with the aliases of the lines before them.

    #mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>
    tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>>

A tensor's type gives the shape as well. Older dumps say #triton_gpu. instead of #ttg.
"""

from __future__ import annotations

import re

from ...base.checks import whole
from ...base.errors import Error
from ..encodings import KINDS, Encoding
from ..reading import ForeignLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["aliases", "last_layout", "read", "tensors"]

PREFIX = r"#(?:ttg|triton_gpu)\."
_ALIAS = re.compile(r"^\s*(#[\w$.]+)\s*=\s*(#[\w.]+<)", re.MULTILINE)
_TENSOR = re.compile(r"(?:tensor|!ttg\.memdesc|!tt\.memdesc)<((?:\d+x)+)([\w]+),\s*(#)")
_TOKEN = re.compile(r'\s*(#[\w.$]+|"[^"]*"|-?\d+|:\+|[\w.]+|[<>{}\[\],=:])')
_OLDER = {"shared": "swizzled_shared"}
"""Kinds as older versions of Triton call them."""


def last_layout(text: str, known: Mapping[str, Encoding] = {}) -> tuple[Encoding, tuple[int, ...], str] | None:
    """The last layout of a text, after the aliases in it, the shape of its tensor (empty if it has
    none), and the type of its elements.

    Args:
        text: a layout, perhaps after lines of aliases, or within a tensor's type. known: further aliases.

    Raises:
        Error: it begins as a layout and cannot be read, or is of a kind that is not known.

    >>> given = "tensor<64x32xf16, #ttg.slice<{dim = 0, parent = #b}>>"
    >>> found, shape, element = last_layout(given, {"#b": Encoding("blocked", {})})
    >>> found.kind, shape, element
    ('slice', (64, 32), 'f16')
    """
    names = {**known, **aliases(text, known)}
    if tensor := _TENSOR.search(text):
        shape = tuple([whole(size, "a size") for size in tensor[1][:-1].split("x")])
        return _one(text, tensor.start(3), names)[0], shape, tensor[2]
    rest = _without_aliases(text)
    if found := re.match(rf"\s*({PREFIX}[a-z])", rest):
        return _one(rest, found.start(1), names)[0], (), ""
    if not rest.strip() and names.keys() - known.keys():
        return names[[*names][-1]], (), ""
    return None


def read(text: str) -> ForeignLayout | None:
    """The last layout of a text as a `ForeignLayout`; None if it has none. Arguments and errors as of `last_layout`.

    >>> read("#ttg.slice<{dim = 0, parent = #ttg.blocked<{}>}>").kind
    'slice'
    """
    found = last_layout(text)
    if found is None:
        return None
    encoding, shape, element = found
    return ForeignLayout("Triton", encoding.kind, encoding=encoding, given_shape=shape, element=element)


def _without_aliases(text: str) -> str:
    return "\n".join([line for line in text.splitlines() if not _ALIAS.match(line)])


def aliases(text: str, known: Mapping[str, Encoding] = {}) -> dict[str, Encoding]:
    """The layouts that lines of a text name, by name; those of kinds that are not known are left out.

    >>> aliases("#a = #ttg.slice<{dim = 0, parent = #ttg.linear<{lane = [[0, 1]]}>}>")["#a"].kind
    'slice'
    """
    found = dict(known)
    for match in _ALIAS.finditer(text):
        prefix = re.match(PREFIX, match[2])
        kind = match[2][prefix.end() : -1] if prefix else ""
        if _OLDER.get(kind, kind) in KINDS:
            found[match[1]] = _one(text, match.start(2), found)[0]
    return {name: one for name, one in found.items() if name not in known}


def tensors(text: str, names: Mapping[str, Encoding]) -> list[tuple[tuple[int, ...], str, Encoding]]:
    """The shape, element type and layout of every tensor type in a line, in their order.

    >>> [(shape, kind) for shape, kind, _ in tensors("tensor<8x4xf16, #b> -> tensor<8x4xf32, #b>",
    ...     {"#b": Encoding("blocked", {})})]
    [((8, 4), 'f16'), ((8, 4), 'f32')]
    """
    found = []
    for match in _TENSOR.finditer(text):
        shape = tuple([whole(size, "a size") for size in match[1][:-1].split("x")])
        try:
            encoding, _ = _one(text, match.start(3), names)
        except Error:
            continue  # a layout of a kind that is not known
        found.append((shape, match[2], encoding))
    return found


def _one(text: str, at: int, names: Mapping[str, Encoding]) -> tuple[Encoding, int]:
    value, end = _value(text, at, names)
    if not isinstance(value, Encoding):
        raise Error(f"'{text[at : at + 60].strip()}' is not a layout of Triton")
    return value, end


def _token(text: str, at: int) -> tuple[str, int]:
    found = _TOKEN.match(text, at)
    if found is None:
        raise Error(f"a layout of Triton ends early or cannot be read at '{text[at : at + 40].strip()}'")
    return found[1], found.end()


def _value(text: str, at: int, names: Mapping[str, Encoding], depth: int = 0) -> tuple[Any, int]:
    if depth > 32:
        raise Error("a layout of Triton is nested more than 32 deep")
    word, end = _token(text, at)
    if word[0] == "#":
        return _reference(text, word, end, names, depth)
    if word == "[":
        return _list(text, end, names, depth)
    if word == "{":
        return _dictionary(text, end, names, depth)
    if word in ("true", "false"):
        return word == "true", end
    if word.lstrip("-").isdecimal():
        number = whole(word.lstrip("-"), "a number of a layout")
        return -number if word[0] == "-" else number, end
    return word, end


def _reference(text: str, word: str, end: int, names: Mapping[str, Encoding], depth: int) -> tuple[Encoding, int]:
    if word in names:
        return names[word], end
    prefix = re.match(PREFIX, word)
    if prefix is None:
        known = ", ".join(names) or "none is defined"
        raise Error(f"{word} is not defined in the text; give its line, too: {word} = #ttg.... ({known})")
    kind = word[prefix.end() :]
    parameters: dict[str, Any] = {}
    kind = _OLDER.get(kind, kind)
    opened, end = _token(text, end)
    if opened != "<":
        raise Error(f"'<' should follow {word}; got '{opened}'")
    while True:
        token, after = _token(text, end)
        if token == ">":
            return Encoding(kind, parameters), after
        if token == ",":
            end = after
            continue
        if token == "[":
            parameters["padding"], end = _list(text, after, names, depth)
            continue
        if token != "{":
            raise Error(f"'{{' should follow {word}<; got '{token}'")
        given, end = _dictionary(text, after, names, depth)
        parameters |= given


def _list(text: str, at: int, names: Mapping[str, Encoding], depth: int) -> tuple[tuple[Any, ...], int]:
    found: list[Any] = []
    while True:
        token, after = _token(text, at)
        if token == "]":
            return tuple(found), after
        if token == ",":
            at = after
        elif token == ":+":
            pad, at = _value(text, after, names, depth + 1)
            found[-1] = (found[-1], pad)
        else:
            value, at = _value(text, at, names, depth + 1)
            found.append(value)


def _dictionary(text: str, at: int, names: Mapping[str, Encoding], depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while True:
        token, after = _token(text, at)
        if token == "}":
            return found, after
        if token == ",":
            at = after
            continue
        equals, at = _token(text, after)
        if equals != "=":
            raise Error(f"'=' should follow {token} in a layout of Triton; got '{equals}'")
        found[token], at = _value(text, at, names, depth + 1)
