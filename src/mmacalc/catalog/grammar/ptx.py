"""PTX names: families into instructions, qualifier orders into one, and why a target refuses a name.

The catalog file of a family whose `Family.grammar` is this module has families of names instead of lines (see
`mmacalc.catalog.ptx` and `mmacalc.catalog.grammar`). Nothing is expanded until it is asked for, and a name
expands only the families whose fixed qualifiers it has.
"""

from __future__ import annotations

from functools import lru_cache

from ...base.checks import fits, number, shown, whole
from ...base.errors import Error, did_you_mean, plural
from ...base.records import Cache, cached_property, frozen
from ...formats import named
from ...model import Instruction
from . import Entry as PlainEntry
from . import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from . import CatalogFile

__all__ = ["Entry", "key"]

NEWEST = 121  # the newest target that ptxas was asked about
REFERENCE = (9, 5)  # the PTX version of ptxas 13.5, the newest whose verdicts were recorded
TYPES = (
    "f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "s8", "u8", "s4", "u4", "s32", "b1",
    "b16", "b8", "b8x16", "b6x16_p32", "b4x16_p64", "ue8m0", "ue4m3",
)  # fmt: skip
FORMAT = {"b6x16_p32": "b6", "b4x16_p64": "b4", "ue8m0": "e8m0", "s32": "i32", "s8": "i8", "s4": "i4"}
MEANINGS = {
    "rn": "rounding", "rz": "rounding", "rm": "rounding", "rp": "rounding", "xor": "bit_operation", "and": "bit_operation",
}  # fmt: skip
SHARED_MEMORY = (
    "is in shared memory, where a 64-bit matrix descriptor says, and in no register; `mmacalc memory` with the same -a and "
    "-i has each element's byte, `mmacalc descriptor` encodes where, -d describes both"
)
FLAGS = ("sync", "aligned", "trans", "satfinite", "block_scale", "x1", "x2", "x4")
REPEATED = ("sync", "satfinite")
OPCODES = {"wgmma": 2, "wmma": 2, "wmma.load": 3, "wmma.store": 3}  # the parts of an opcode, if more than one
# The least and most types that a name has, by the first word of its opcode.
TYPES_OF = {"mma": (4, 5), "wgmma": (3, 3), "wmma": (1, 4), "ldmatrix": (1, 2), "stmatrix": (1, 1), "movmatrix": (1, 1)}
_SHARED = ("shared", "shared::cta")
_ANYWHERE = (*_SHARED, "global")
SPACES: dict[str, tuple[str, ...]] = {"ldmatrix": _SHARED, "stmatrix": _SHARED, "wmma.load": _ANYWHERE, "wmma.store": _ANYWHERE}


def key(name: str) -> str:
    """A name in the one order that all its spellings share.

    ptxas reads the qualifiers after the opcode as a set: they may stand in any order, and .sync and .satfinite may be
    repeated. Only within the types, the two layouts and the bit operation does the order count (tried against ptxas
    13.0.88). The state space of the instructions that have one may be left out; it is .shared, .shared::cta or, of
    wmma, also .global.

    >>> key("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e4m3.e4m3.f32") == key(
    ...     "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32")
    True
    """
    given = name.lower().strip().split(".")
    opcode = ".".join(given[:2]) if given[0] == "wmma" else given[0]
    length = OPCODES.get(opcode, OPCODES.get(given[0], 1))
    parts: list[str] = []
    for part in given[length:]:
        if not (part in REPEATED and part in parts):
            parts.append(part)
    if space := next((part for part in parts if part in SPACES.get(opcode, ())), ""):
        parts.remove(space)
    return ".".join(given[:length] + sorted(parts, key=_rank))


def _rank(part: str) -> str:
    """The class of a qualifier; equal for qualifiers whose order among themselves counts."""
    if part in TYPES:
        return "~type"
    if part in ("row", "col"):
        return "layout"
    if part == "popc" or MEANINGS.get(part) == "bit_operation":
        return "operation"
    if part in FLAGS or part in MEANINGS or "::" in part or part == "sp" or shape_of(part):
        return part
    return ""


def shape_of(part: str) -> tuple[int, ...] | None:
    """The numbers of a shape such as m16n8k32 or m8n8."""
    if part[:1] != "m" or "n" not in part:
        return None
    numbers = part[1:].replace("n", " ").replace("k", " ").split()
    sizes = [number(size) for size in numbers]
    return tuple([size for size in sizes if size is not None]) if None not in sizes else None


def check_name(name: str) -> None:
    """Refuse a name that `describe` could not read.

    Raises:
        Error: says which qualifier is unknown, or what the name lacks.

    >>> check_name("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> check_name("mma.sync.aligned.m16n8k16.row.col.f32.f61.f16.f32")
    Traceback (most recent call last):
    mmacalc.base.errors.Error: 'mma.sync.aligned.m16n8k16.row.col.f32.f61.f16.f32' has the unknown qualifier .f61. Did you mean f64 or f16?
    """
    parts = name.split(".")
    opcode = ".".join(parts[: OPCODES.get(".".join(parts[:2]), OPCODES.get(parts[0], 1))])
    if parts[0] not in TYPES_OF:
        raise Error(f"'{name}' begins with none of {', '.join(TYPES_OF)}")
    known = (*TYPES, "row", "col", "popc", "sp", *FLAGS, *MEANINGS, "mma_async", "load", "store", "mma", *"abcd", *_ANYWHERE)
    for part in parts[1:]:
        if part not in known and "::" not in part and not shape_of(part):
            raise Error(f"'{name}' has the unknown qualifier .{part}.{did_you_mean(part, known)}", kind="unknown name")
    move = parts[0] in ("ldmatrix", "stmatrix", "movmatrix")
    shape = next((numbers for numbers in map(shape_of, parts) if numbers), ())
    if len(shape) != (2 if move else 3) or not all(0 < size <= 1024 for size in shape):
        raise Error(f"'{name}' has no shape such as {'m8n8' if move else 'm16n8k16'}")
    types = [part for part in parts if part in TYPES]
    least, most = TYPES_OF[parts[0]] if opcode not in ("wmma.load", "wmma.store") else (1, 1)
    if not least <= len(types) <= most:
        raise Error(f"'{name}' has {plural(len(types), 'type')}; {parts[0]} has {least} to {most}")


def check_more(name: str, more: Mapping[str, Any]) -> None:
    """Refuse what the dictionary of a family of names may not have: see `mmacalc.catalog.ptx`.

    Raises:
        Error: says which key, and which there are.
    """
    known = {"unconfirmed": "Mapping[str, str]", "provenance": "str"}
    for word, value in more.items():
        if word not in known:
            raise Error(f"the family {name} has the unknown fact '{word}'.{did_you_mean(word, known)} Known: {', '.join(known)}")
        if not fits(value, known[word]):
            raise Error(f"the family {name}: {word} should be {known[word]}; got {shown(value)}")


# --- from a name to an instruction ---


def describe(name: str) -> dict[str, Any]:
    """What a name means: the fields of `Instruction` that follow from it.

    >>> describe("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")["k"]
    8
    """
    parts = name.split(".")
    shape = next(numbers for numbers in map(shape_of, parts) if numbers)
    types = [FORMAT.get(part, part) for part in parts if part in TYPES]
    if parts[0] in ("ldmatrix", "stmatrix", "movmatrix"):
        return _move(parts, shape, types)
    m, n, k = shape
    if parts[0] == "wmma" and parts[1] != "mma":
        fragment = parts[2].upper()
        return {
            "m": m, "n": n, "k": k, "blocks": 1, "formats": {fragment: types[0]}, "features": ("wmma", "move"),
            "explicit_operands": (fragment,), "layouts": tuple(part for part in parts if part in ("row", "col")),
            "fragment_registers": {fragment: wmma_registers((m, n, k), fragment, types[0])},
        }  # fmt: skip
    if parts[0] == "wmma" and len(types) == 2:
        types[1:1] = ["f16", "f16"]
    formats = {"A": types[1], "B": types[2], "C": types[3] if len(types) > 3 else types[0], "D": types[0]}
    facts: dict[str, Any] = {MEANINGS[part]: part for part in parts if part in MEANINGS}
    if formats["A"] == "f64":
        facts.setdefault("rounding", "rn")
    facts |= _qualified(parts, k, types, formats)
    if parts[0] == "wmma":
        registers = {operand: wmma_registers((m, n, k), operand, formats[operand]) for operand in "ABCD"}
        facts["fragment_registers"] = registers
    blocks = 4 if shape == (8, 8, 4) and formats["A"] == "f16" else 1
    return {"m": m, "n": n, "k": k, "blocks": blocks, "formats": formats, **facts}


def _qualified(parts: list[str], k: int, types: list[str], formats: dict[str, str]) -> dict[str, Any]:
    """The features, operands and constants that the qualifiers of an mma, wgmma or wmma.mma add. Fills `formats`."""
    flags = [flag for part in parts for flag in part.split("::")]
    features: list[str] = [word for word in ("satfinite", "wgmma") if word in flags]
    operands = ["A", "B", "C", "D"]
    facts: dict[str, Any] = {"layouts": tuple(part for part in parts if part in ("row", "col"))}
    if "kind" in flags:
        facts["kind"] = flags[flags.index("kind") + 1]
    if "sp" in flags:
        features += ["sparse", "ordered"] if "ordered_metadata" in flags else ["sparse"]
        operands.append("K")
    if "block_scale" in flags:
        features.append("scale")
        operands += ["SA", "SB"]
        formats |= dict.fromkeys(("SA", "SB"), types[4])
        vectors = flags[flags.index("scale_vec") + 1] if "scale_vec" in flags else "2X" if "mxf4" in flags else "1X"
        facts["scale_vec"] = whole(vectors[0], "scale_vec")
        facts["block_size"] = k // facts["scale_vec"]
    if parts[0] == "wmma":
        features.append("wmma")
    if "wgmma" in flags:
        facts["outside_registers"] = {"B": SHARED_MEMORY}
    return {**facts, "features": tuple(features), "explicit_operands": tuple(operands)}


def _move(parts: list[str], shape: tuple[int, ...], types: list[str]) -> dict[str, Any]:
    """ldmatrix, stmatrix and movmatrix: each of their matrices is a block; P holds the row addresses."""
    count = next((whole(part[1:], "a count") for part in parts if part in ("x1", "x2", "x4")), 1)
    operands = {"ldmatrix": ("D", "P"), "stmatrix": ("A", "P"), "movmatrix": ("A", "D")}[parts[0]]
    held = types[-1] if types[0] == "b8x16" else types[0]  # b8x16 is a container; .s8.s4 extends 4 bits to 8
    formats = {operand: "address" if operand == "P" else held for operand in operands}
    return {
        "m": shape[0], "n": shape[1], "k": 1, "blocks": count, "formats": formats, "moves": parts[0],
        "features": ("move", "trans") if "trans" in parts else ("move",), "explicit_operands": operands,
    }  # fmt: skip


def wmma_registers(shape: tuple[int, int, int], operand: str, format_name: str) -> int:
    """The 32-bit registers of a wmma fragment: eight for A and B of f16, otherwise what the elements need.

    Source: PTX ISA 9.1, section 9.7.14.4.1.
    """
    m, n, k = shape
    if format_name == "f16" and operand in "AB":
        return 8
    elements = {"A": m * k, "B": k * n}.get(operand, m * n)
    return max(1, elements * named(format_name).bits // 1024)


_fitting = Cache(16)  # whether the vector instructions of a file are built as they should be, looked at once


class Entry(PlainEntry):
    """A compilation target and the families it has."""

    meaning = "PTX"

    def __init__(self, record: Mapping[str, Any], file: CatalogFile) -> None:
        self._file = file
        self._targets = tuple([other["name"] for other in file.architectures])
        super().__init__({"targets": (record["name"],), **record}, file)
        self._names: tuple[str, ...] | None = None
        self._tensor_memory_names: tuple[str, ...] | None = None

    @cached_property
    def _tcgen05(self) -> dict[str, Mapping[str, Any]]:
        """What every target of the file with Tensor Memory has."""
        return {other["name"]: other["tcgen05"] for other in self._file.records if "tcgen05" in other}

    @classmethod
    def check_types(cls, lines: tuple[tuple[Any, ...], ...], arch: str) -> None:
        """These lines are checked when they are read."""

    def _read_lines(self, lines: tuple[tuple[Any, ...], ...]) -> None:
        """Nothing is read ahead: see `_find`."""

    def _vector_instructions(self, file: CatalogFile) -> Mapping[str, int]:
        lines: Any = file.vector_instructions or ()
        if not _fitting.get(id(lines), lambda: (lines, fits(lines, "tuple[tuple[str, int, str], ...]")))[1]:
            raise Error(f"VECTOR_INSTRUCTIONS should be a tuple of (name, lanes, targets); got {shown(lines)}")
        found: Mapping[str, int] = frozen(
            {name: lanes for name, lanes, which in lines if self.architecture.name in targets(which, self._targets)}
        )
        return found

    def _having(self, family: tuple[Any, ...]) -> tuple[str, ...]:
        """The targets of a family, oldest first."""
        return targets(family[2], self._targets)

    def check_lines(self) -> None:
        """Refuse families that are not built as `mmacalc.catalog.ptx` says.

        Raises:
            Error: says which, and what would be right.
        """
        for line in self._file.instructions:
            if not fits(line, "tuple[str, str, str] | tuple[str, str, str, Mapping[str, Any]]") or not is_version(line[1]):
                raise Error(f"a line of INSTRUCTIONS is (names, PTX version, targets[, {{...}}]); got {shown(line)}")
            check_more(line[0], line[3] if len(line) > 3 else {})
            self._having(line)
            for name in expand(line[0]):
                check_name(name)
        for word in (*self._targets, *self.architecture.targets):
            number_of(word)

    @property
    def names(self) -> tuple[str, ...]:
        """The mnemonics of this target, in catalog order."""
        if self._names is None:
            self._names = tuple(name for family in self._families() for name in expand(family[0]))
        return self._names

    @property
    def tensor_memory_names(self) -> tuple[str, ...]:
        """The instructions of Tensor Memory (tcgen05), which are found by name: their shape is a parameter."""
        if self._tensor_memory_names is None:
            names = [name for template in self._file.tensor_memory for name in expand(template)]
            known = bool(names) and bool(self.architecture.tcgen05)
            self._tensor_memory_names = tuple([name for name in names if known and not self.refusal(name)])
        return self._tensor_memory_names

    def refusal(self, name: str, operands: Iterable[str] = ()) -> str:
        """Why this target refuses a form of tcgen05; "" if it takes it. See `mmacalc.catalog.grammar.tcgen05`.

        Args:
            name: with its qualifiers. operands: what of the operands matters.
        """
        from .tcgen05 import refusal

        return refusal(name, self.architecture.name, self.architecture.tcgen05, operands)

    @property
    def unconfirmed_parts(self) -> set[str]:
        """The operands that no second source confirms, of any instruction."""
        return {part for family in self._families() for part in (*family[3:], {})[0].get("unconfirmed", ())}

    def _families(self) -> Iterator[tuple[Any, ...]]:
        for family in self._file.instructions:
            if _version(family[1]) <= REFERENCE and self.architecture.name in self._having(family):
                yield family

    def instruction(self, name: str) -> Instruction:
        """The instruction of that name, its qualifiers in any order that ptxas takes, or the only one of that shape.

        Raises:
            Error: this target has none, or several of a shape; the message says which target or PTX version does.
        """
        name = name.strip()
        if name in self._instructions:
            return self._instructions[name]
        if self._file.tensor_memory and name.lower().startswith("tcgen05."):
            from .tcgen05 import parse, record, sass_of

            parsed, provenance = parse(name), self._usual_provenance
            if self.refusal(name):
                return record(self.architecture, name, self._tcgen05, provenance)  # which says why
            made = self._alike(
                parsed.text, lambda: record(self.architecture, name, self._tcgen05, provenance),
                row_provenance=provenance, sass=sass_of(parsed, self.architecture.tcgen05),
            )  # fmt: skip
            return self._instructions.setdefault(name, made)
        try:
            family, full = self._find(name, key(name))
        except Error:
            from . import instruction_of_shape, name_alone
            from .sass import is_opcode, source

            alone = name_alone(name, self.architecture.name)
            if is_opcode(alone):
                return source(self, alone)
            if found := instruction_of_shape(self, name):
                return found
            if alone != name:
                return self.instruction(alone)
            raise
        return self._instruction(family, full)

    def instructions(self, wanted: Callable[[str], bool] | None = None) -> tuple[Instruction, ...]:
        """Every instruction, in catalog order; those alone whose name is wanted, where that is given."""
        named = ((family, filter(wanted, expand(family[0]))) for family in self._families())
        return tuple(self._instruction(family, name) for family, names in named for name in names)

    def _instruction(self, family: tuple[Any, ...], name: str) -> Instruction:
        if name not in self._instructions:
            more = family[3] if len(family) > 3 else {}
            provenance = more.get("provenance", self._usual_provenance)
            made = self._alike(name, lambda: Instruction(
                self.architecture, name, **describe(name), ptx=family[1], targets=self._having(family),
                unconfirmed_parts=more.get("unconfirmed", {}), row_provenance=provenance,
            ), row_provenance=provenance)  # fmt: skip
            return self._instructions.setdefault(name, made)
        return self._instructions[name]

    @property
    def _usual_provenance(self) -> str:
        """Of a line that does not say how sure it is. Targets that ptxas was not asked about are like their elders."""
        known = "two sources agree" if number_of(self.architecture.name) <= NEWEST else "assumed"
        return self.architecture.provenance or known

    def _find(self, name: str, wanted: str) -> tuple[tuple[Any, ...], str]:
        """The family and the full name of a key.

        Raises:
            Error: no family of this target has it.
        """
        given = set(wanted.split("."))
        for family in self._file.instructions:
            if _fixed(family[0]) <= given and wanted in _keys(family[0]):
                full = _keys(family[0])[wanted]
                self._refuse(family, full)
                return family, full
        if outside := self._file.outside.get(name.lower().split(".")[0]):
            raise Error(f"{name} {outside}; mmacalc does not cover it")
        from .sass import nearest

        templates = tuple([family[0] for family in self._file.instructions])
        raise Error(f"PTX has no '{name}'.{nearest(name, templates, self.architecture.name)}", kind="unknown name")

    def _refuse(self, family: tuple[Any, ...], full: str) -> None:
        here, having = self.architecture, self._having(family)
        if _version(family[1]) > REFERENCE:
            latest = ".".join(map(str, REFERENCE))
            raise Error(f"{full} needs PTX {family[1]}, for {', '.join(having)}; ptxas 13.5 has PTX {latest}")
        if here.name not in having:
            raise Error(f"{here.name} does not have {full}: it needs {targets_text(having)} (PTX {family[1]})")


def number_of(target: str) -> int:
    """The number of a target.

    Raises:
        Error: it is not called as a target of NVIDIA is.

    >>> number_of("sm_103f")
    103
    """
    digits = target[3:].rstrip("af")
    if not target.startswith("sm_") or len(target) - len(digits) > 4 or not digits.isdecimal():
        raise Error(f"the targets of NVIDIA are called sm_90, sm_90a or sm_100f; got '{target}'")
    return whole(digits, "a target of NVIDIA", 9999)


@lru_cache(maxsize=1024)
def targets(which: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The targets that a line of a file names: "80+" or a list, among those of the file, oldest first.

    Raises:
        Error: the text is neither, or names a target that the file has not.

    >>> targets("80+", ("sm_75", "sm_80", "sm_90a")), targets("90a", ("sm_75", "sm_90a"))
    (('sm_80', 'sm_90a'), ('sm_90a',))
    """
    if which.endswith("+"):
        first = number_of(f"sm_{which[:-1]}")
        return tuple(name for name in known if number_of(name) >= first)
    names = tuple([f"sm_{target}" for target in which.split()])
    if not names or not set(names) <= set(known):
        raise Error(f"the targets '{which}' should be such as 80+, or a list of {', '.join(known)} without sm_")
    return names


def targets_text(having: tuple[str, ...]) -> str:
    """The targets of a family in words: the first, when every later one has it too.

    A family that begins with a plain target ("80+") is one of those; only lists begin with sm_90a and its like.
    """
    if having[0][-1].isdigit():
        return f"{having[0]} or later"
    return " or ".join(filter(None, (", ".join(having[:-1]), having[-1])))


def is_version(text: str) -> bool:
    """Whether a text is a version of PTX, such as 9.4."""
    parts = text.split(".")
    return len(parts) == 2 and all(part.isdecimal() and len(part) < 4 for part in parts)


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return whole(major, "a version of PTX"), whole(minor, "a version of PTX")


@lru_cache(maxsize=1024)
def _keys(template: str) -> Mapping[str, str]:
    """The names of a family by their keys."""
    return {key(name): name for name in expand(template)}


@lru_cache(maxsize=1024)
def _fixed(template: str) -> set[str]:
    """The qualifiers that every name of a family has, as `key` writes them."""
    words, open_word = [], ""
    for part in template.split("."):
        open_word = f"{open_word}.{part}" if open_word else part
        if open_word.count("{") == open_word.count("}"):
            words.append(open_word)
            open_word = ""
    return {word.lower() for word in words if "{" not in word} - {"shared"}
