"""The words of a search as people type them: "gfx942 16x16x16 bf16", "wgmma.m64n24k8", "HMMA.16816 f16", "v_mfma*f64".

Each word is the first of these that it can be: a shape, a format, sparse or dense, an architecture (of several words
too, "RTX 4090"), else a part of the mnemonic or a SASS opcode.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import fnmatchcase

from .catalog import architectures, entry, known_name
from .catalog.grammar.sass import is_opcode
from .compiler import builtins
from .compiler.cuda_names import is_wmma_name, stands_for
from .errors import Error
from .formats import FORMATS, formats_named
from .numerals import whole
from .records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .model import Instruction

__all__ = ["Words", "formats_asked", "name_parts", "name_test", "read_words"]

_SHAPE = re.compile(r"m?(\d+)[xn](\d+)[xk](\d+)", re.IGNORECASE)
_KINDS = {"sparse": True, "dense": False}


class Words(TupleRecord):
    """What the words of a search ask for.

    Attributes:
        arch: an architecture, None for all; shapes: each (M, N, K); formats: each of some operand.
        sparse: True for sparse instructions, False for dense ones, None for both.
        names: parts of names; opcode: a SASS opcode or the beginning of one, "" if there is none.
    """

    arch: str | None
    shapes: tuple[tuple[int, ...], ...]
    formats: tuple[str, ...]
    sparse: bool | None
    names: tuple[str, ...]
    opcode: str


def read_words(text: str, arch: str | None = None) -> Words:
    """The words of a text, each as what it is.

    Args:
        text: the words. arch: the architecture, if it is known already: then no word is read as one.

    Raises:
        Error: there are two architectures, two SASS opcodes, or sparse and dense.

    >>> read_words("MI300X 16x16x16 bf16")
    Words(arch='mi300x', shapes=((16, 16, 16),), formats=('bf16',), sparse=None, names=(), opcode='')
    >>> read_words("wgmma.m64n24k8 sparse").names
    ('wgmma.m64n24k8',)
    """
    if is_wmma_name(text) or text.strip().startswith(builtins.PREFIXES):
        return Words(arch, (), (), None, (text,), "")
    shapes, formats, kinds, others, opcodes = [], [], [], [], []
    for word in text.split():
        if found := _SHAPE.fullmatch(word):
            shapes.append(_sizes(found))
        elif word.lower() in _KINDS:
            kinds.append(_KINDS[word.lower()])
        elif is_opcode(word):
            opcodes.append(word)
        elif _is_format(word):
            formats.append(word)
        else:
            others.append("scale" if word.lower() == "scaled" else word)
    if len(set(kinds)) > 1:
        raise Error("sparse and dense exclude each other; leave one of them out")
    if len(opcodes) > 1:
        raise Error(f"{' and '.join(opcodes)} are two SASS opcodes; ask for one")
    if arch is None:
        arch, others = _architecture(others)
    sparse = kinds[0] if kinds else None
    return Words(arch, tuple(shapes), tuple(formats), sparse, tuple(others), "".join(opcodes))


def formats_asked(given: str) -> set[str]:
    """The formats that a name asks for: of integers also those whose sign a field chooses.

    Raises:
        Error: no format is called that.

    >>> sorted(formats_asked("int8")), sorted(formats_asked("u4")), sorted(formats_asked("fp8"))
    (['i8', 'iu8'], ['iu4', 'u4'], ['e4m3', 'e4m3fnuz'])
    """
    found = formats_named(given)
    return found | {either for name in found if (either := f"iu{name[1:]}") in FORMATS and name[0] in "iu"}


def _is_format(word: str) -> bool:
    """Whether a word is the name of a number format, and not of what a mnemonic is called by (scale)."""
    with suppress(Error):
        return word.lower() not in ("scale", "index", "address") and bool(formats_named(word))
    return False


def _architecture(words: list[str]) -> tuple[str | None, list[str]]:
    """The architecture that a run of words names, the longest if there are several, and the other words.

    Of several words all must belong to the name: "RTX 4090", not "mma 4090".

    Raises:
        Error: another word names another architecture.
    """
    runs = [(start, end) for start in range(len(words)) for end in range(len(words), start, -1)]
    for start, end in sorted(runs, key=lambda run: run[0] - run[1]):
        with suppress(Error):
            found, other = known_name(" ".join(words[start:end]))
            if other and end - start > 1:
                continue
            rest = words[:start] + words[end:]
            second, _ = _architecture(rest)
            break
    else:
        return None, words
    if second is not None and second != found:
        raise Error(f"{found} and {second} are two architectures; search one of them, or all with neither")
    return found, rest


def name_test(
    text: str, names: Callable[[Instruction], Iterable[str]], in_parts: bool = False
) -> Callable[[Instruction], bool]:
    """Whether a text means an instruction by one of its names.

    It is a part of the name, or the name fits its asterisks. A C++ name of nvcuda::wmma stands for the instructions
    that it becomes.

    Args:
        text: the text. names: the names of an instruction.
        in_parts: compare all that is between its dots and underscores, also with the shape and the formats.

    Raises:
        Error: nvcuda::wmma has no such name.

    >>> import mmacalc
    >>> inst = mmacalc.instruction("cdna2", "v_mfma_f32_16x16x16f16")
    >>> [name_test(text, lambda inst: (inst.name,))(inst) for text in ("mfma_f32", "v_mfma*f16", "mfma_16x16x16_f16")]
    [True, True, False]
    >>> name_test("mfma_16x16x16_f16", lambda inst: (inst.name,), in_parts=True)(inst)
    True
    """
    if is_wmma_name(text):
        return stands_for(text)
    wanted = text.lower()
    if "*" in wanted:
        return lambda inst: any(fnmatchcase(known, f"*{wanted}*") for known in names(inst))
    if not in_parts:
        return lambda inst: any(wanted in known for known in names(inst))
    tests = [_part_test(part, names) for part in _parts(wanted)]
    return lambda inst: bool(tests) and all(test(inst) for test in tests)


def _part_test(part: str, names: Callable[[Instruction], Iterable[str]]) -> Callable[[Instruction], bool]:
    if found := _SHAPE.fullmatch(part):
        shape = _sizes(found)
        return lambda inst: (inst.m, inst.n, inst.k) == shape
    formats = formats_asked(part) if _is_format(part) else set()
    return lambda inst: (
        any(part in known and part in _parts(known) for known in names(inst))
        or any(inst.format_names(operand) & formats for operand in inst.formats)
    )


def _sizes(found: re.Match[str]) -> tuple[int, ...]:
    return tuple([whole(size, "a size of a shape") for size in found.groups()])


def _parts(name: str) -> set[str]:
    return {*re.split(r"[._]", name)} - {""}


def name_parts() -> set[str]:
    """Every part, between dots and underscores, of the name of any instruction.

    >>> {"mfma", "wgmma", "m16n8k16"} <= name_parts()
    True
    """
    return {part for arch in architectures() for name in entry(arch).names for part in _parts(name)}
