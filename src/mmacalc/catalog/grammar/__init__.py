"""What catalog files say: an architecture with the lines of its file (`Entry`), the names that a line stands for, how
files are read, and the grammar of AMD's mnemonics. The grammars of other names are modules of their own (PTX, SASS ...).
"""

from __future__ import annotations

from ...base.checks import fits, shown, whole
from ...base.errors import Error, abbreviated, did_you_mean
from ...base.records import Cache, TupleRecord, cached_property, frozen
from ...formats import CHOICES, FORMATS
from ...model import Architecture, Instruction, Product

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from ...model import Instruction



# --- Entry: an architecture with the lines of its catalog file; that of AMD's files, which other grammars extend ---


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
    def unconfirmed_parts(self) -> set[str]:
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

    def taking(self, formats: set[str]) -> tuple[Instruction, ...]:
        """Every instruction whose A and B may have one of some formats; others too, where no line says it."""
        return self.instructions(lambda name: self._may_take(name, formats))

    def _may_take(self, name: str, formats: set[str]) -> bool:
        line = self._lines.get(name)
        if line is None:
            return True
        stated = {**line.described(self.architecture).formats, **line.more.get("formats", {})}
        return all(not formats.isdisjoint(CHOICES.get(stated[operand], (stated[operand],))) for operand in "AB")

    def instructions(self, wanted: Callable[[str], bool] | None = None) -> tuple[Instruction, ...]:
        """Every instruction, in catalog order; those alone whose name is wanted, where that is given."""
        return tuple(self.instruction(name) for name in filter(wanted, self.names))


def _products(record: Mapping[str, Any]) -> tuple[Product, ...]:
    """The products of a record, whose lines are (name, units, clock in GHz[, memory in GB/s][, {more}])."""
    products = []
    for line in record.get("products", ()):
        described = bool(line) and hasattr(line[-1], "keys")
        fields, more = (line[:-1], line[-1]) if described else (line, {})
        if not fields or not fits(fields[0], "str") or not fits(more, "Mapping[str, Any]"):
            raise Error(f"a product is (name, units, clock in GHz[, memory in GB/s][, {{...}}]); got {shown(line)}")
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
        self._described: Description | None = None

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

    def described(self, architecture: Architecture) -> Description:
        """What the name of this line means.

        Raises:
            Error: the name does not follow the grammar.
        """
        if self._described is None:
            try:
                self._described = describe(self.name, architecture.format_names)
            except Error as problem:
                raise Error(f"{self.where}: {problem}") from None
        return self._described

    def instruction(self, architecture: Architecture, aliases: tuple[str, ...]) -> Instruction:
        """The instruction of this line, whose shape, formats and features its name implies."""
        described, more = self.described(architecture), self.more
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
            row_provenance=more.get("provenance", architecture.provenance or "two sources agree"),
            unconfirmed_parts=doubts if isinstance(doubts, dict) else dict.fromkeys(doubts, ""),
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
        f"{len(having)} instructions of {name} have the shape {spelt}: {abbreviated(having)}. "
        f"`mmacalc find -a {name} --shape {spelt}` lists them."
    )


# --- What an AMD mnemonic means: shape, blocks, formats and features ---
#
#     v_mfma_f32_16x16x4_4b_f16     D's format, M x N x K, blocks ("4b"), the format of A and B
#     v_mfma_f32_16x16x32_fp8_bf8   formats of A and of B
#     v_mfma_f32_16x16x4f16         the older spelling of gfx908 and gfx90a; "_1k" marks bf16 with four k per lane
#     v_wmma_bf16f32_16x16x32_bf16  D is bf16, C is f32
#     v_mfma_scale_f32_..., v_wmma_scale16_f32_...   with block scales for 32 or 16 consecutive k
#     v_smfmac_..., v_swmmac_...    A is 2:4 sparse
#
# Formats are the words of `WORDS`, but for those that an architecture's `format_names` reads differently.


WORDS = {"fp8": "e4m3", "bf8": "e5m2", "f4": "e2m1"}
OPERATIONS = ("mfma", "smfmac", "wmma", "swmmac")
SCALES = {"scale": 32, "scale16": 16}  # the consecutive k that one scale multiplies

# The elements of A in one lane of the older MFMA, whose mnemonics leave out the blocks: 64 lanes hold all of A.
OLDER_ELEMENTS = {"f32": 1, "f64": 1, "bf16": 2, "f16": 4, "i8": 4, "bf16_1k": 4}


class Description(TupleRecord):
    """shape: (M, N, K); formats: of A, B, C and D by name; block_size: the k of one scale, 0 without scales."""

    shape: tuple[int, int, int]
    blocks: int
    formats: Mapping[str, str]
    sparse: bool
    block_size: int


def describe(name: str, format_names: Mapping[str, str] = {}) -> Description:
    """What a mnemonic means.

    Args:
        name: the mnemonic, lower case.
        format_names: what a format's word means on this architecture, where it differs from `WORDS`.

    Raises:
        Error: the name does not follow the grammar.

    >>> describe("v_mfma_f32_32x32x4_2b_f16").blocks, describe("v_mfma_f32_32x32x4f16").blocks
    (2, 2)
    >>> describe("v_smfmac_f32_16x16x64_bf8_fp8", {"bf8": "e5m2fnuz"}).formats["A"]
    'e5m2fnuz'
    """
    parts = name.split("_")
    if len(parts) < 4 or parts[0] != "v" or parts[1] not in OPERATIONS:
        raise _unknown(name, f"it should begin with v_ and one of {', '.join(OPERATIONS)}")
    block_size = SCALES.get(parts[2], 0)
    result, shape_word, *inputs = parts[3:] if block_size else parts[2:]
    numbers, older = _split_shape(name, shape_word)
    blocks = 1
    if older:
        inputs, blocks = [older], _older_blocks(name, numbers, "_".join([older, *inputs]))
    elif inputs and inputs[0][:-1].isdigit() and inputs[0].endswith("b"):
        blocks = whole(inputs.pop(0)[:-1], f"the blocks of {name}")
    if not 1 <= len(inputs) <= 2:
        raise _unknown(name, "it should end with the format of A and B, or with one of each")
    # C has D's format unless the name has both, as bf16f32 does: D, then C.
    d, c = ("bf16", "f32") if result == "bf16f32" else (result, result)
    words = {"A": inputs[0], "B": inputs[-1], "C": c, "D": d}
    formats = {operand: {**WORDS, **format_names}.get(word, word) for operand, word in words.items()}
    for operand, format_name in formats.items():
        if format_name not in FORMATS and format_name not in CHOICES:
            raise _unknown(name, f"{operand} has the format '{words[operand]}', which is none of mmacalc.formats")
    return Description(numbers, blocks, formats, parts[1] in ("smfmac", "swmmac"), block_size)


def older_spellings(names: Iterable[str]) -> dict[str, str]:
    """The spellings of gfx908 and gfx90a that LLVM still assembles for later targets, with the names that they mean.

    They leave out the blocks and the last underscore; bf16 with four k in a lane may end in _1k. An instruction whose
    name has the formats of A and of B, or leaves them to fields, has none.

    >>> older_spellings(["v_mfma_f32_16x16x4_4b_bf16"])
    {'v_mfma_f32_16x16x4bf16': 'v_mfma_f32_16x16x4_4b_bf16', 'v_mfma_f32_16x16x4bf16_1k': 'v_mfma_f32_16x16x4_4b_bf16'}
    """
    found = {}
    for name in names:
        parts = name.split("_")
        if len(parts) < 5 or parts[1] != "mfma":
            continue
        _, _, result, shape, *inputs = parts
        blocks = inputs.pop(0) if inputs and inputs[0][:-1].isdigit() else "1b"
        if len(inputs) == 1 and inputs[0] not in CHOICES and shape.count("x") == 2 and shape.replace("x", "").isdigit():
            older = f"v_mfma_{result}_{shape}{inputs[0]}"
            found[older] = name
            if inputs[0] == "bf16":
                (m, _, k), _ = _split_shape(name, shape)
                if m * k * whole(blocks[:-1], "the blocks of a name") == 64 * OLDER_ELEMENTS["bf16_1k"]:
                    found[f"{older}_1k"] = name
    return found


def _split_shape(name: str, word: str) -> tuple[tuple[int, int, int], str]:
    """The three sizes of 16x16x4f16, and the format that the older spelling puts behind them."""
    m, _, rest = word.partition("x")
    n, _, rest = rest.partition("x")
    k = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    if not (m.isdigit() and n.isdigit() and k.isdigit()):
        raise _unknown(name, f"'{word}' should be M x N x K, such as 16x16x16")
    sizes = [whole(size, f"a size of {name}") for size in (m, n, k)]
    return (sizes[0], sizes[1], sizes[2]), rest[len(k) :]


def _older_blocks(name: str, shape: tuple[int, int, int], format_word: str) -> int:
    if format_word not in OLDER_ELEMENTS:
        raise _unknown(name, f"the older spelling has the formats {', '.join(OLDER_ELEMENTS)}")
    blocks, rest = divmod(64 * OLDER_ELEMENTS[format_word], shape[0] * shape[2])
    if rest or not blocks:
        raise _unknown(name, f"64 lanes do not hold {shape[0]} x {shape[2]} elements of {format_word} evenly")
    return blocks


def _unknown(name: str, what: str) -> Error:
    return Error(f"'{name}' does not follow the grammar of AMD's mnemonics: {what}")


# --- Catalog files: what they may assign, and how one outside the package is read, which MMACALC_CATALOG names ---
#
# A file outside the package is parsed, never executed.


LARGEST = 1 << 18  # bytes of a file: the largest of the package has 40,000, and a syntax tree takes 200 times as much


class CatalogFile(TupleRecord):
    """What a catalog file assigns, in lower case: see `mmacalc.catalog`."""

    architectures: tuple[Mapping[str, Any], ...]
    instructions: tuple[tuple[Any, ...], ...]
    common: Mapping[str, Any] = {}
    aliases: Mapping[str, str] = {}
    transpose_loads: tuple[tuple[Any, ...], ...] = ()
    vector_instructions: Mapping[str, int] | tuple[tuple[str, int, str], ...] = {}
    tensor_memory: tuple[str, ...] = ()
    outside: Mapping[str, str] = {}
    unlisted: tuple[tuple[Any, ...], ...] = ()
    without_matrix_instructions: Mapping[str, str] = {}
    not_covered: Mapping[str, str] = {}

    @property
    def refused(self) -> dict[str, str]:
        """What is said of each name that is refused."""
        without = {name: f"has no matrix instructions: {why}" for name, why in self.without_matrix_instructions.items()}
        return {**without, **{name: f"is not covered: {why}" for name, why in self.not_covered.items()}}

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of the architectures, each with what they share."""
        return [{**self.common, **record} for record in self.architectures]


NAMES = {name.upper(): name for name in CatalogFile._fields}


def contents(values: Mapping[str, Any]) -> CatalogFile:
    """A catalog file's assignments, what it leaves out included."""
    return CatalogFile(**{name: values[spelled] for spelled, name in NAMES.items() if spelled in values})


def read_literals(path: str) -> CatalogFile:
    """A catalog file outside the package, read as literals: nothing in it is executed.

    Raises:
        Error: the file cannot be read, is too large, is not Python, or has anything but literals assigned to known names.
    """
    import ast

    try:
        with open(path, "rb") as stream:
            text = stream.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise Error(f"it has more than {LARGEST} bytes, the most that a catalog file may have")
        tree = ast.parse(text, path)
    except Error:
        raise
    except (OSError, SyntaxError, ValueError, MemoryError, RecursionError) as problem:
        raise Error(f"it cannot be read: {getattr(problem, 'strerror', None) or problem or 'its brackets are nested too deep'}") from None
    values: dict[str, Any] = {}
    for number, statement in enumerate(tree.body):
        if number == 0 and isinstance(statement, ast.Expr):
            continue  # the docstring
        name, value = _assignment(statement)
        if name not in NAMES or value is None:
            hint = did_you_mean(name, NAMES) if name else ""
            raise Error(f"its line {statement.lineno} should assign a literal to one of {', '.join(NAMES)}.{hint}")
        if name in values:
            raise Error(f"its line {statement.lineno} assigns {name} a second time")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise Error(f"{name} in line {statement.lineno} is not a literal") from None
    if missing := [name for name in ("ARCHITECTURES", "INSTRUCTIONS") if name not in values]:
        raise Error(f"it has no {' and no '.join(missing)}")
    return contents(values)


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The name and value of `name = value` or `name: type = value`; "" and None for any other statement."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    name = getattr(targets[0], "id", "") if len(targets) == 1 and type(statement).__name__ in ("Assign", "AnnAssign") else ""
    return name, getattr(statement, "value", None)


# --- Families of names: a shell's braces ---


MOST = 1 << 14
"""Names of one family, and numbers of one range: wgmma's largest family has 1,000."""


_kept = Cache(1 << 9)


def expand(template: str) -> tuple[str, ...]:
    """The names of a family, braces expanded from left to right.

    Raises:
        Error: a brace is open, a range is not first..last..step, or there are more names than `MOST`.

    >>> expand("m16n8k{8,16}.{d=f16,f32}.f16.f16.{d}")[1:3]
    ('m16n8k8.f32.f16.f16.f32', 'm16n8k16.f16.f16.f16.f16')
    >>> expand("m64n{8,16..48..16}k8{,.satfinite}")[-2:]
    ('m64n48k8', 'm64n48k8.satfinite')
    """
    made: tuple[str, ...] = _kept.get(template, lambda: _made(template))
    return made


def _made(template: str) -> tuple[str, ...]:
    from itertools import islice

    names = tuple(islice(_expanded(template), MOST + 1))
    if len(names) > MOST:
        raise Error(f"the family '{template}' has more than {MOST} names")
    return names


def _expanded(template: str) -> Iterator[str]:
    head, brace, rest = template.partition("{")
    if not brace:
        yield template
        return
    inside, closed, tail = rest.partition("}")
    if not closed or "}" in head:
        raise Error(f"'{template}' has a brace that is not closed, or not opened")
    label, equals, inside = inside.rpartition("=")
    for choice in _choices(inside):
        yield from _expanded(head + choice + (tail.replace(f"{{{label}}}", choice) if equals else tail))


def _choices(inside: str) -> Iterator[str]:
    for part in inside.split(","):
        if ".." in part:
            numbers = part.split("..")
            if len(numbers) != 3:
                raise Error(f"'{part}' should be a range first..last..step, such as 8..256..8")
            first, last, step = (whole(number, f"a number of {part}", MOST, 1) for number in numbers)
            yield from map(str, range(first, last + 1, step))
        else:
            yield part
