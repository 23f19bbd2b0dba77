"""Entry: an architecture with the lines of its catalog file. That of AMD's files, which other grammars extend."""

from __future__ import annotations

from ...base.checks import fits, shown, whole
from ...base.errors import Error, did_you_mean, first_of
from ...base.records import Cache, cached_property, frozen
from ...model import Architecture, Instruction, Product
from .amd import Description, describe, older_spellings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...model import Instruction
    from .literals import CatalogFile

# The fields of a line behind the name, and what its dictionary may have, with their types. A tuple of cycles or of
# narrow_cycles has one for each architecture of the file.
FIELDS = {
    "opcode": "int", "cycles": "int | None | tuple[int, ...]", "VALU cycles": "int | None", "features": "str",
}  # fmt: skip
MORE = {
    "on": "tuple[str, ...]", "formats": "Mapping[str, str]",
    "narrow_cycles": "tuple[int, int] | tuple[tuple[int, int], ...]",
    "wait_cycles": "tuple[int, tuple[int, int] | None]", "prefix_opcode": "int", "scale_format": "str",
    "since_llvm": "int", "unconfirmed": "tuple[str, ...] | Mapping[str, str]", "provenance": "str",
}  # fmt: skip


_files = Cache(16)  # the instructions of a file that its architectures share, by name


class Entry:
    """An architecture with its catalog lines. An Instruction is made when it is first asked for.

    Raises:
        Error: the record or a line is wrong; says where and what would be right.
    """

    architecture: Architecture
    meaning = ""
    """Entries with the same text here agree in what a name means; "" where it may be each one's own."""

    def __init__(self, record: Mapping[str, Any], file: CatalogFile) -> None:
        required = ("name", "title", "vendor", "layout", "waves")
        if missing := [field for field in required if field not in record]:
            raise Error(f"architecture '{record.get('name')}' lacks: {', '.join(missing)}")
        products = _products(record)
        aliases = dict.fromkeys([*record.get("aliases", ()), *(name for one in products for name in names_of(one))])
        self.architecture = Architecture(**{**record, "aliases": tuple(aliases), "products": products})
        self.transpose_loads: tuple[tuple[Any, ...], ...] = file.transpose_loads
        self.vector_instructions: Mapping[str, int] = self._vector_instructions(file)
        self._instructions: dict[str, Instruction] = {}
        # Keyed by the file's id, which stays its own as long as the file is kept here.
        self._of_file: dict[str, Instruction] = _files.get(id(file), lambda: (file, {}))[1]
        self._lines: dict[str, Line] = {}
        self._place = [other["name"] for other in file.architectures].index(record["name"])
        self._read_lines(file.instructions)
        self._own_aliases = file.aliases

    def __reduce__(self) -> tuple[Any, ...]:
        """An entry is pickled by its name, as architectures and instructions are."""
        from .. import entry

        return entry, (self.architecture.name,)

    def _alike(self, name: str, make: Callable[[], Instruction], **own: Any) -> Instruction:
        """An instruction that other architectures of the file have as well, but for its own fields; made once."""
        made: Instruction | None = self._of_file.get(name)
        if made is None:
            return self._of_file.setdefault(name, make())
        return made._changed(architecture=self.architecture, **own)

    def _vector_instructions(self, file: CatalogFile) -> Mapping[str, int]:
        listed: Any = file.vector_instructions
        if not fits(listed, "Mapping[str, int]"):
            raise Error(f"VECTOR_INSTRUCTIONS should be a dictionary of names with lanes; got {shown(listed)}")
        found: Mapping[str, int] = frozen(dict(listed))
        return found

    def _read_lines(self, lines: tuple[tuple[Any, ...], ...]) -> None:
        opcodes: dict[tuple[int, int | None], str] = {}
        for raw in lines:
            line = Line(raw, self.architecture.name, self._place)
            if self.architecture.name not in line.more.get("on", (self.architecture.name,)):
                continue
            taken = opcodes.setdefault((line.opcode, line.more.get("prefix_opcode")), line.name)
            if taken != line.name:
                raise Error(f"{line.where}: opcode {line.opcode:#x} already belongs to {taken}")
            if line.name in self._lines:
                raise Error(f"{line.where}: the name is used twice")
            self._lines[line.name] = line

    def check_lines(self) -> None:
        """Refuse lines that are not built as this grammar's are. Those of AMD were when they were read.

        Raises:
            Error: says which, and what would be right.
        """

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        """The mnemonic of every other name that an instruction has."""
        return {**older_spellings(self._lines), **self._own_aliases}

    @classmethod
    def check_types(cls, lines: tuple[tuple[Any, ...], ...], arch: str) -> None:
        """Refuse lines whose fields are of other types than they should be, before anything reads them.

        Files outside the package are checked when they are read, its own by a test.
        """
        for line in lines:
            Line.check_types(line, arch)

    @property
    def names(self) -> tuple[str, ...]:
        """The mnemonics, in catalog order."""
        return tuple(self._lines)

    @property
    def opcodes(self) -> dict[str, tuple[int, int | None]]:
        """The opcode of every mnemonic, and that of its prefix if it has one."""
        return {name: (line.opcode, line.more.get("prefix_opcode")) for name, line in self._lines.items()}

    @property
    def prefixes(self) -> dict[int, str]:
        """The opcodes of prefixes, each with an instruction that has it."""
        return {prefix: name for name, (_, prefix) in self.opcodes.items() if prefix is not None}

    @property
    def tensor_memory_names(self) -> tuple[str, ...]:
        """The instructions whose shape is a parameter (tcgen05 of NVIDIA), which `instructions` leaves out."""
        return ()

    @property
    def doubts(self) -> set[str]:
        """The operands and fields that no second source confirms, of any instruction."""
        return {part for line in self._lines.values() for part in line.more.get("unconfirmed", ())}

    def canonical(self, name: str) -> str | None:
        """The mnemonic that a name or alias means, case-insensitive; None if there is none."""
        lower = name.strip().lower()
        key = lower if lower in self._lines else self._aliases.get(lower, lower)
        return key if key in self._lines else None

    def instruction(self, name: str) -> Instruction:
        """The instruction of that name or alias, or the only one of that shape; case-insensitive.

        Raises:
            Error: the architecture has none, or several of a shape; the message names the closest.
        """
        key = self.canonical(name)
        if key is None or key not in self._instructions:
            if key is None:

                if found := instruction_of_shape(self, name):
                    return found
                if (alone := name_alone(name, self.architecture.name)) != name:
                    return self.instruction(alone)
                lower = name.strip().lower()
                hint = did_you_mean(lower, (*self._lines, *self._aliases), shown=self._aliases)
                title = self.architecture.title
                raise Error(f"{title} has no instruction '{name}'.{hint} `-a {title.lower()} -L` lists them all.", kind="unknown name")
            aliases = tuple(alias for alias, name in self._aliases.items() if name == key)
            made = self._lines[key].instruction(self.architecture, aliases)
            return self._instructions.setdefault(key, made)  # the first, if two threads made it
        return self._instructions[key]

    def meant(self, name: str) -> Instruction:
        """The instruction that a user means: by its name, as of `instruction`, or by one that leaves no doubt, such as
        mma.m16n8k16.f32.f16.f16.f32, mfma_f32_32x32x8f16 or SM80_16x8x16_F32F16F16F32_TN.

        Programs that are read have full names, so what reads them asks `instruction`.

        Raises:
            Error: no instruction has the name, or it may be several; the message says which.
        """
        try:
            return self.instruction(name)
        except Error:
            from .clear_names import clear_name

            if is_shape(name) or (clear := clear_name(self, name)) is None:
                raise
            return self.instruction(clear)

    def instructions(self, wanted: Callable[[str], bool] | None = None) -> tuple[Instruction, ...]:
        """Every instruction, in catalog order; those alone whose name is wanted, where that is given."""
        return tuple(self.instruction(name) for name in filter(wanted, self.names))


def _products(record: Mapping[str, Any]) -> tuple[Product, ...]:
    """The products of a record, whose lines are (name, units, clock in GHz[, {more}])."""
    products = []
    for line in record.get("products", ()):
        described = bool(line) and hasattr(line[-1], "keys")
        fields, more = (line[:-1], line[-1]) if described else (line, {})
        if not fields or not fits(fields[0], "str") or not fits(more, "Mapping[str, Any]"):
            raise Error(f"a product is (name, units, clock in GHz[, {{...}}]); got {shown(line)}")
        products.append(Product(*fields, **more))
    return tuple(products)


def names_of(product: Product) -> tuple[str, ...]:
    """The names of a product, lower case."""
    return (product.name.lower(), *product.aliases)


class Line:
    """A line of an AMD catalog file, split into its parts; `place` is that of the architecture in the file."""

    opcode: int
    cycles: int | None
    valu_cycles: int | None
    narrow_cycles: tuple[int, int] | None
    wait_cycles: tuple[int, tuple[int, int] | None] | None

    def __init__(self, line: tuple[Any, ...], arch: str, place: int = 0) -> None:
        self.more: Mapping[str, Any]
        fields, self.more = self._split(line)
        self.name: str = fields[0]
        self.where: str = f"catalog line of {self.name} ({arch})"
        self.opcode, cycles, self.valu_cycles = fields[1:4]
        narrow, self.wait_cycles = self.more.get("narrow_cycles"), self.more.get("wait_cycles")
        if isinstance(cycles, tuple):
            if place >= len(cycles) or (narrow and place >= len(narrow)):
                raise Error(f"{self.where}: cycles and narrow_cycles have one for each architecture of the file; got {cycles}")
            self.wait_cycles = self.wait_cycles or (cycles[0], narrow[0] if narrow else None)
            cycles, narrow = cycles[place], narrow[place] if narrow else None
        self.cycles, self.narrow_cycles = cycles, narrow
        self.features: list[str] = fields[4].split() if len(fields) == 5 else []

    @staticmethod
    def _split(line: tuple[Any, ...]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """The fields of a line, and the dictionary at its end."""
        described = bool(line) and isinstance(line[-1], dict)
        return (line[:-1], line[-1]) if described else (line, {})

    @classmethod
    def check_types(cls, line: tuple[Any, ...], arch: str) -> None:
        """Refuse a line whose fields are of other types than they should be."""
        fields, more = cls._split(line)
        where = f"catalog line of {fields[0] if fields else ''} ({arch})"
        if not 4 <= len(fields) <= 5 or not isinstance(fields[0], str):
            raise Error(f"{where}: a line is (name, opcode, cycles, VALU cycles[, features][, {{...}}]); got {line}")
        for what, value, kinds in zip(FIELDS, fields[1:], FIELDS.values()):
            if not fits(value, kinds):
                raise Error(f"{where}: {what} is {shown(value)}; it should be {kinds}")
        for key, value in more.items():
            if key not in MORE:
                hint = did_you_mean(str(key), MORE)
                raise Error(f"{where}: unknown '{key}'.{hint} Known: {', '.join(MORE)}", kind="unknown name")
            if not fits(value, MORE[key]):
                raise Error(f"{where}: {key} is {shown(value)}; it should be {MORE[key]}")

    def _check_formats(self, described: Description) -> None:
        """A line may settle which of the name's formats an operand has, but not contradict the name."""
        for operand, name in self.more.get("formats", {}).items():
            if operand not in described.formats or name not in described.formats.values():
                stated = ", ".join(f"{which} {word}" for which, word in described.formats.items())
                hint = did_you_mean(name, described.formats.values())
                raise Error(f"{self.where}: formats say {operand} {name}; the name says {stated}.{hint}")

    def instruction(self, architecture: Architecture, aliases: tuple[str, ...]) -> Instruction:
        """The instruction of this line, whose shape, formats and features its name implies."""
        try:
            described = describe(self.name, architecture.format_names)
        except Error as problem:
            raise Error(f"{self.where}: {problem}") from None
        more = self.more
        self._check_formats(described)
        formats = {**described.formats, **more.get("formats", {})}
        if described.block_size:
            formats |= dict.fromkeys(("SA", "SB"), more.get("scale_format", "e8m0"))
        doubts = more.get("unconfirmed", ())
        return Instruction(
            architecture, self.name, *described.shape, described.blocks, formats,
            opcode=self.opcode, cycles=self.cycles, valu_cycles=self.valu_cycles,
            features=(*architecture.family.implied_features(described), *self.features),
            narrow_cycles=self.narrow_cycles, wait_cycles=self.wait_cycles, block_size=described.block_size,
            prefix_opcode=more.get("prefix_opcode"), since_llvm=more.get("since_llvm", 0), aliases=aliases,
            stated_provenance=more.get("provenance", architecture.provenance or "two sources agree"),
            doubts=doubts if isinstance(doubts, dict) else dict.fromkeys(doubts, ""),
        )  # fmt: skip


# --- An instruction's name as it stands in a line that was pasted: with operands, a semicolon, LLVM's _e64 ---


ENDINGS = ("_e64", "_e32", "_vop3p")  # LLVM's encodings, as disassemblers and profilers append them
COMPILERS = ("__builtin", "llvm.", "intel_sub_group", "__hmma_", "__imma_", "__bmma_", "__dmma_", "__mma_")  # how names of builtins and intrinsics begin


def name_alone(text: str, architecture: str) -> str:
    """The mnemonic of a pasted line; the text itself where there is nothing around it.

    Raises:
        Error: it is a compiler's name; says which command knows those.

    >>> name_alone("v_mfma_f32_16x16x16_f16_e64 v[0:3], v[4:5], v[6:7], v[0:3]", "cdna3")
    'v_mfma_f32_16x16x16_f16'
    >>> name_alone("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32;", "sm_80")
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    word = (text.split() or [text])[0].rstrip(";,")
    if word.startswith(COMPILERS):
        name = word.partition("(")[0]
        raise Error(
            f"{name} is a compiler's name, not a mnemonic: `mmacalc find -a {architecture} {name}` says which it becomes"
        )
    for ending in ENDINGS:
        word = word.removesuffix(ending)
    return word


# --- A shape in place of a name: `-i m16n8k16` and `-i 32x32x8`, where one instruction has it ---



def is_shape(text: str) -> bool:
    """Whether a text is a shape, perhaps behind the beginning of a name.

    >>> is_shape("mma.m16n8k16"), is_shape("mma.m16n8k16.f32")
    (True, False)
    """
    return _shape(text) is not None


def _shape(text: str) -> re.Match[str] | None:
    """A shape such as m16n8k16 or 16x8x16, also behind the beginning of a name."""
    import re

    form = r"(?:(?P<kind>[\w.:]+?)[._])?m?(?P<m>\d+)[nx](?P<n>\d+)[kx](?P<k>\d+)"
    return re.fullmatch(form, text.strip(), re.IGNORECASE)


def instruction_of_shape(entry: Entry, text: str) -> Instruction | None:
    """The instruction that a shape stands for; None if the text is not a shape.

    Args:
        entry: of an architecture.
        text: m16n8k16 or 16x8x16, also after the beginning of a name: mma.m16n8k16, wgmma.m64n8k16, v_mfma_32x32x8.

    Raises:
        Error: none of the architecture's instructions has this shape, or several have it.

    >>> from mmacalc.catalog import entry
    >>> instruction_of_shape(entry("sm_70"), "m8n8k16")
    Traceback (most recent call last):
        ...
    mmacalc.base.errors.Error: sm_70 has no instruction of shape 8x8x16. `mmacalc find -a sm_70` lists what there is.
    """
    found = _shape(text)
    if found is None:
        return None
    shape, kind = tuple([whole(found[axis], f"{axis.upper()} of a shape") for axis in "mnk"]), (found["kind"] or "").lower()
    name, spelt = entry.architecture.name, "x".join(map(str, shape))
    having = [
        inst.name
        for inst in entry.instructions()
        if inst.flops and (inst.m, inst.n, inst.k) == shape and inst.name.startswith(kind)
    ]
    if len(having) == 1:
        return entry.instruction(having[0])
    if not having:
        which = f" that begins with {kind}" if kind else ""
        raise Error(f"{name} has no instruction of shape {spelt}{which}. `mmacalc find -a {name}` lists what there is.", kind="unknown name")
    raise Error(
        f"{len(having)} instructions of {name} have the shape {spelt}: {first_of(having)}. "
        f"`mmacalc find -a {name} --shape {spelt}` lists them."
    )
