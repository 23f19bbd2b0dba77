"""Find instructions by shape, format, architecture, intrinsic or opcode, across architectures.

All given words and options must match. A word is a part of the mnemonic, a shape, a format that some operand has,
sparse or dense, an architecture, a SASS opcode, a builtin, or a name of CUDA's mma.h. For example:

    mmacalc find MI300X 16x16x32 fp8               the instructions of CDNA3 of that shape with FP8
    mmacalc find wgmma.m64n24k8                    of that mnemonic and shape
    mmacalc find --shape 32x32x8 --a bf16          every 32x32x8 instruction with bf16 inputs
    mmacalc find -a gfx950 --a fp8 --sparse        the sparse FP8 instructions of CDNA4
    mmacalc find --intrinsic mfma_f32_32x32x1f32   the instructions that a builtin becomes
    mmacalc find -a MI300X __builtin_amdgcn_mfma_f32_32x32x8f16
    mmacalc find -a B200 UTCHMMA                   those that become a SASS opcode
    mmacalc find -a A100 "wmma::fragment<matrix_a, 16, 16, 16, half, row_major>"
    mmacalc find MI300X like mma.m16n8k16.f32.bf16.bf16.f32    what comes nearest to it there, and what differs

What stands behind `like` (or --like) is an instruction by its name, perhaps with its architecture before it: how many
of one for how many of the other, registers, rounding with an input that shows it, and what replaces the loads of
fragments, the copies into shared memory and the exchanges between lanes. Where a name leaves formats or a shape open
(f8f6f4, tcgen05), --a-type, --b-type, --d-type and --shape, --m, --n, --k choose them.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from fnmatch import fnmatchcase

from ...base.checks import arguments_checked, whole
from ...base.errors import Error, abbreviated, did_you_mean
from ...base.records import Record, TupleRecord
from ...catalog import architectures, entry, known_name
from ...catalog.grammar.sass import is_opcode, sources
from ...command import Command, Reply, argument, flag, number, option, show
from ...command.common import JSON
from ...command.options import either, shape, terminal_width
from ...compiler import builtins
from ...compiler.cuda_names import is_wmma_name, stands_for
from ...families.tensor_memory import TYPES
from ...formats import FORMATS, formats_named, named, scaling
from ...model.tensor_memory import TensorMemoryInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ...catalog import Entry
    from ...command import Options
    from ...model import Instruction
    from .equivalents import Equivalents

PRODUCT = "tcgen05.mma"  # how the names of tcgen05 begin that multiply


@arguments_checked
def find(
    arch: str | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    blocks: int | None = None,
    a: str | None = None,
    b: str | None = None,
    c: str | None = None,
    d: str | None = None,
    sparse: bool | None = None,
    opcode: int | None = None,
    intrinsic: str | None = None,
    name: str | None = None,
) -> tuple[Instruction, ...]:
    """The instructions that match all criteria, across architectures, in catalog order; just that name first.

    Args:
        arch: an architecture by any of its names; all of them if left out.
        m, n, k, blocks: the shape. a, b, c, d: formats by any of their names ("fp8" means OCP and FNUZ alike;
            mxfp8, mxfp6, mxfp4 and nvfp4 ask for the block scales as well).
        sparse: only sparse, or only dense instructions. opcode: the opcode field.
        intrinsic: a part of the compiler builtin's or intrinsic's name, or a name of CUDA's mma.h: wmma::mma_sync,
            "wmma::fragment<matrix_a, 16, 16, 16, half, row_major>".
        name: words that must all fit: a part of the mnemonic (or, if none has it, parts of it: wgmma.m64n24k8), a shape
            (16x16x32, m16n8k16), a format that some operand has, sparse, dense, an architecture, the beginning of a
            SASS opcode, such as HMMA.16816; or a builtin (__builtin_amdgcn_...), or such a name of mma.h.

    Of tcgen05, whose shape and types are parameters, those that can have what was asked for, with that.

    Raises:
        Error: an unknown architecture or format, or a name that mma.h does not have.

    >>> import mmacalc
    >>> [inst.name for inst in mmacalc.find(arch="gfx942", m=32, k=8, a="bf16")]
    ['v_mfma_f32_32x32x8_bf16']
    """
    words = read_words(name or "", arch)
    sizes = {"m": m, "n": n, "k": k, "blocks": blocks, "sparse": sparse, "opcode": opcode}
    formats = _Formats(
        {x: formats_asked(given) for x, given in zip("ABCD", (a, b, c, d)) if given is not None},
        [formats_asked(given) for given in words.formats],
        [wanted for given in (a, b, *words.formats) if given is not None and (wanted := scaling(given))],
    )
    asked = [{key: value for key, value in sizes.items() if value is not None}]
    asked += [dict(zip("mnk", shape)) for shape in words.shapes]
    asked += [{"sparse": words.sparse}] if words.sparse is not None else []

    shape = {key: value for given in reversed(asked) for key, value in given.items()}
    for in_parts in (False, True) if words.names else (False,):
        tests = [_name_test(text, in_parts) for text in words.names]

        def fitting(inst: Instruction, tests: list[Callable[[Instruction], bool]] = tests) -> Instruction | None:
            offered = _offered(inst, shape, formats)
            fits = (
                offered is not None
                and formats.fit(offered)
                and all(getattr(offered, key) == value for given in asked for key, value in given.items())
                and all(test(offered) for test in tests)
            )
            return offered if fits else None

        plain = [text.lower() for text in words.names if not in_parts and _is_plain(text)]
        products = bool(shape or formats.of_operands or formats.anywhere)

        def names(name: str, plain: list[str] = plain) -> bool:
            return all(text in name for text in plain)

        pool = _pool(words, fitting, names, products)
        found = pool if not intrinsic else filter(name_test(intrinsic, builtins.names), pool)
        if listed := tuple(found):
            return _exact_first(listed, words)
    return ()


def _exact_first(found: tuple[Instruction, ...], words: Words) -> tuple[Instruction, ...]:
    """What was found, in catalog order; those first that have just the name."""
    wanted = {name.lower() for name in words.names}
    if words.opcode:
        own = {(name, inst.name) for name in dict.fromkeys(one.arch for one in found)
               for inst in sources(entry(name), words.opcode, part=False)}  # fmt: skip
        return tuple(sorted(found, key=lambda inst: ((inst.arch, inst.name) not in own, "wmma" in inst.features)))
    return tuple(sorted(found, key=lambda inst: not wanted & {inst.name, *inst.aliases})) if wanted else found


class _Formats(TupleRecord):
    """The formats that were asked for: of operands, of any operand, and of scales, with the size of their blocks."""

    of_operands: dict[str, set[str]]
    anywhere: list[set[str]]
    scales: list[tuple[str, int]]

    def fit(self, inst: Instruction) -> bool:
        """Whether an instruction has them all."""
        return (
            all(inst.format_names(operand) & wanted for operand, wanted in self.of_operands.items())
            and all(any(inst.format_names(operand) & wanted for operand in inst.formats) for wanted in self.anywhere)
            and all(inst.block_size == size and scale in inst.format_names("SA") for scale, size in self.scales)
        )


def _is_plain(text: str) -> bool:
    """Whether a text can only be a part of a mnemonic: nothing that stands for others, and no compiler's name."""
    return text.replace("_", "").replace(".", "").isalnum() and not text.startswith(builtins.PREFIXES)


def _name_test(text: str, in_parts: bool) -> Callable[[Instruction], bool]:
    if text.strip().startswith(builtins.PREFIXES):
        return name_test(builtins.plain_name(text), builtins.names)
    return name_test(text, lambda inst: (inst.name, *inst.aliases), in_parts)


def _pool(
    words: Words, fitting: Callable[[Instruction], Instruction | None], names: Callable[[str], bool], products: bool
) -> Iterator[Instruction]:
    """The instructions of an architecture, or of all, that fit, as `fitting` gives them; where there is a SASS opcode,
    of those that become it. A name means the same on all targets of NVIDIA: one that does not fit is made once.
    """
    refused: dict[str, set[str]] = {}
    every = sorted(architectures(), key=lambda name: entry(name).architecture.family.layouts_only)
    for target in every if words.arch is None else (words.arch,):
        known = entry(target)
        unfit = refused.setdefault(known.meaning or target, set())
        for inst in _made(known, unfit, names, products) if not words.opcode else _becoming(known, words.opcode):
            if (found := fitting(inst)) is not None:
                yield found
            elif not inst.in_tensor_memory:  # tcgen05's depth is the target's
                unfit.add(inst.name)


def _made(
    known: Entry, unfit: set[str], names: Callable[[str], bool], products: bool
) -> Iterator[Instruction]:  # fmt: skip
    """The instructions that can fit: `names` says whether one can by its name alone, where it has no other."""
    alone = bool(known.meaning)
    yield from known.instructions(lambda name: name not in unfit and (not alone or names(name)))
    for name in known.tensor_memory_names:
        if names(name) and (not products or name.startswith(PRODUCT)):
            yield known.instruction(name)


def _becoming(known: Entry, opcode: str) -> tuple[Instruction, ...]:
    return sources(known, opcode, part=True) if known.architecture.family.sass else ()


def _offered(inst: Instruction, shape: dict[str, Any], wanted: _Formats) -> Instruction | None:
    """The instruction, of tcgen05 with the shape and formats that were asked for; None if it cannot have them."""
    if not inst.in_tensor_memory:
        return inst
    if not isinstance(inst, TensorMemoryInstruction):
        return None if shape or wanted.of_operands or wanted.anywhere else inst  # it only moves cells
    parameters = {key: value for key, value in shape.items() if key in "mnk"} | _chosen(inst, wanted)
    with suppress(Error):
        return inst.shaped(**parameters)
    return None


def _chosen(inst: TensorMemoryInstruction, wanted: _Formats) -> dict[str, str]:
    """The types of a kind that are among formats, by the parameters of `shaped`."""
    types = dict(zip("ABCD", [TYPES.get(inst.kind, ((), ()))[operand in "CD"] for operand in "ABCD"]))
    chosen: dict[str, str] = {}
    for operand, formats in wanted.of_operands.items():
        if words := [word for word in types[operand] if named(word).name in formats]:
            chosen["d" if operand == "C" else operand.lower()] = words[0]
    for formats in wanted.anywhere:  # of A, else of B, else of D
        free = [(operand, word) for operand in "ABD" if operand.lower() not in chosen for word in types[operand]]
        found = [(operand.lower(), word) for operand, word in free if named(word).name in formats]
        chosen.update(found[:1])
    if inst.kind == "f16" and "b" in chosen:
        chosen.setdefault("a", chosen["b"])
    if wanted.scales and inst.scaled:
        (scale, _), *_ = wanted.scales
        chosen["scale"] = f"u{scale}" if scale == "e8m0" else scale
    return chosen


SHOWN = 6  # architectures that are counted by name
MANY = 40
"""From this number of matches on, how many they are is said."""
GROUPED = 250
"""From this number of lines on, groups are listed in place of them."""


class Matches(Record):
    """The instructions that a search found."""

    instructions: tuple[Instruction, ...]


def text(matches: Matches) -> str:
    """One match per line: architecture, name, shape, formats. Of many each name once, with the architectures behind."""
    having: dict[tuple[str, str, str], list[str]] = {}
    for inst in matches.instructions:
        having.setdefault(_columns(inst), []).append(inst.arch)
    rows = list(having)
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip() for row in rows]
    if len(matches.instructions) < MANY or all(len(names) == 1 for names in having.values()):
        first, line_of = max(len(inst.arch) for inst in matches.instructions), dict(zip(rows, lines))
        return "".join([f"{inst.arch:{first}}  {line_of[_columns(inst)]}\n" for inst in matches.instructions])
    longest, screen = sum(widths) + 4, terminal_width()
    shown = [abbreviated(names, 3) for names in having.values()]
    beside = longest + 2 + max(map(len, shown)) <= screen
    return "".join([f"{line:{longest}}  {names}\n" if beside else f"{line}\n    {names}\n"
                    for line, names in zip(lines, shown)])  # fmt: skip


def short_text(matches: Matches) -> str:
    """The same; of very many a line for each beginning of their names: how many, on how many architectures, shapes."""
    if len({_columns(inst) for inst in matches.instructions}) < GROUPED:
        return text(matches)
    groups: dict[str, list[Instruction]] = {}
    for inst in matches.instructions:
        groups.setdefault(_beginning(inst.name), []).append(inst)
    longest = max(map(len, groups))
    lines = [f"{'beginning of the name':{longest}}  names  architectures  shapes\n"]
    for beginning, having in sorted(groups.items(), key=lambda group: -len(group[1])):
        shapes = dict.fromkeys(filter(None, map(_shape, having)))
        where = {inst.arch for inst in having}
        names = len({inst.name for inst in having})
        lines.append(
            f"{beginning:{longest}}  {names:5}  {len(where):13}  {abbreviated(list(shapes), 1)}".rstrip() + "\n"
        )
    return "".join([*lines, "--all lists every instruction.\n"])


def _beginning(name: str) -> str:
    """What of a name stands before its shape; of one without a shape, two words.

    >>> _beginning("v_mfma_f32_16x16x16_f16"), _beginning("tcgen05.mma.cta_group::1.kind::f16")
    ('v_mfma_f32', 'tcgen05.mma')
    """
    before, *shape = re.split(r"[._]m?\d+[xn]\d", name, maxsplit=1)
    return before if shape else ".".join(name.split(".")[:2])


def _count(matches: Matches) -> str:
    """Of many matches how many they are, of several architectures also how many each has; else ""."""
    counts = Counter(inst.arch for inst in matches.instructions)
    if len(matches.instructions) < MANY:
        return ""
    if len(counts) < 2:
        return f"{len(matches.instructions)} instructions; --shape or a format chooses"
    listed = ", ".join([f"{arch} {count}" for arch, count in counts.most_common(SHOWN)])
    more = f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else ""
    return f"{len(matches.instructions)} instructions: {listed}{more}; -a, --shape or a format chooses"


def _columns(inst: Instruction) -> tuple[str, str, str]:
    blocks = f" x {inst.blocks}" if inst.blocks > 1 else ""
    own = inst.formats
    formats = f"{own['A']} {own['B']} -> {own['D']}" if {"A", "B", "D"} <= set(own) else next(iter(own.values()), "")
    return inst.name, f"{_shape(inst)}{blocks}", formats


def _shape(inst: Instruction) -> str:
    """M, N and K; of tcgen05 the letters of those that are parameters and were not asked for, of its moves nothing."""
    if not inst.in_tensor_memory:
        return f"{inst.m}x{inst.n}x{inst.k}"
    given = getattr(inst, "given", None)
    return "" if given is None else f"{given.get('m', 'M')}x{given.get('n', 'N')}x{inst.k}"


LIKE = "like"


def _like(options: Options) -> Reply | None:
    """What comes near to an instruction, where that is asked for: find MI300X like NAME."""
    words, name = list(options.words), options.like
    if LIKE in words:
        words, behind = words[: words.index(LIKE)], " ".join(words[words.index(LIKE) + 1 :])
        name = either("the instruction behind like", behind, name)
    if name is None:
        return None
    from . import equivalents

    arch = either("the architecture", " ".join(words) or None, options.architecture)
    given = [x for x in ("blocks", "sparse", "opcode", "intrinsic", "instruction") if getattr(options, x) is not None]
    if given:
        raise Error(f"like finds what comes near to an instruction, whose name says it all; leave --{given[0]} out")
    if not arch:
        raise Error(f"say where: mmacalc find MI300X like {name or 'INSTRUCTION'}")
    if not name.strip():
        raise Error(f"like takes an instruction: mmacalc find {arch} like mma.m16n8k16.f32.bf16.bf16.f32")
    found, other = known_name(arch)
    if other and len(words) > 1:  # a longer name of a product is one word behind -a, or in quotes
        raise Error(f"like takes only an architecture before it, such as {found}; got '{arch}'")
    inst = equivalents.named_anywhere(name)
    near = equivalents.equivalents(inst, arch, **_left_open(options, inst))
    notes = [] if " " in name else [f"{inst.name} as on {inst.arch}; another architecture can stand before the name"]
    return show(options.json, "equivalents", near, _near_text, notes=notes)


def _left_open(options: Options, inst: Instruction) -> dict[str, int | str]:
    """The modifiers for what the name of an instruction leaves open: its formats, of tcgen05 also its shape.

    Raises:
        Error: the name says it already.
    """
    sizes = {size: value for size, value in zip("mnk", _shape_asked(options)) if value is not None}
    formats = {name: value for name in "abcd" if (value := getattr(options, name)) is not None}
    if isinstance(inst, TensorMemoryInstruction):
        if "c" in formats:
            raise Error(f"C of {inst.name} is D; give --d-type")
        return sizes | formats
    fields = {operand.lower(): field for field, operand in inst.choices.items()}
    for name in (*sizes, *formats):
        if name not in fields:
            says = f"is {inst.format(name.upper()).name}" if name in formats else f"is {getattr(inst, name)}"
            raise Error(f"{name.upper()} of {inst.name} {says}, as its name says; leave --{name} out")
    return {fields[name]: value for name, value in formats.items()}


def run(options: Options) -> Reply:
    """List the matches, or what comes near to an instruction."""
    if (near := _like(options)) is not None:
        return near
    m, n, k = _shape_asked(options)
    name = either("the name", " ".join(options.words) or None, options.instruction)
    criteria = {
        "arch": options.architecture, "m": m, "n": n, "k": k, "blocks": options.blocks, "a": options.a,
        "b": options.b, "c": options.c, "d": options.d, "sparse": options.sparse, "opcode": options.opcode,
        "intrinsic": options.intrinsic, "name": name,
    }  # fmt: skip
    found = Matches(find(**criteria))
    if not found.instructions:
        raise Error(f"no instruction matches all criteria; {_advice(criteria)}")
    written = text if options.all else short_text
    return show(options.json, "list-instructions", found, written, notes=filter(None, [_count(found)]))


def _advice(criteria: dict[str, Any]) -> str:
    """What else to ask for: who has what an architecture lacks, another spelling of a word that no name has, or without
    which criterion there are some."""
    words = (criteria["name"] or "").split()
    asked = read_words(criteria["name"] or "", criteria["arch"])
    for word in asked.names:
        if asked.arch is not None and find(arch=asked.arch, name=word):
            continue
        if not (having := list(dict.fromkeys([inst.arch for inst in find(name=word)]))):
            return f"none has '{word}' in its name.{did_you_mean(word.lower(), name_parts())}"
        if asked.arch is not None:
            title = entry(asked.arch).architecture.title
            return f"{title} has none with '{word}' in its name; these have: {abbreviated(having, 12)}"
    fewer = {word: {**criteria, "name": " ".join(other for other in words if other != word)} for word in words}
    for key in [key for key, value in criteria.items() if value is not None and key != "name"]:
        fewer["-a" if key == "arch" else f"--{key}"] = {**criteria, key: None}
    counts = {left_out: len(find(**rest)) for left_out, rest in fewer.items()}
    if len(fewer) < 2 or not any(counts.values()):
        return "leave one or several out"
    return ", ".join(f"{count} do without {left_out}" for left_out, count in counts.items() if count)


def _shape_asked(options: Options) -> tuple[int | None, int | None, int | None]:
    """The sizes, from --shape or one by one.

    Raises:
        Error: both were given, and they differ.
    """
    single = (options.m, options.n, options.k)
    if options.shape is None:
        return single
    sizes = shape("--shape", options.shape)
    for name, size, given in zip("mnk", sizes, single):
        if given not in (None, size):
            raise Error(f"--shape {options.shape} and --{name} {given} contradict each other; leave one of them out")
    return sizes


# --- The words of a search as people type them ---
#
# "gfx942 16x16x16 bf16", "wgmma.m64n24k8", "HMMA.16816 f16", "v_mfma*f64". Each word is the first of these that it can
# be: a shape, a format, sparse or dense, an architecture (of several words too, "RTX 4090"), else a part of the
# mnemonic or a SASS opcode.


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


def _near_text(answer: Equivalents) -> str:
    from .equivalents import text

    return text(answer)


COMMAND = Command(
    "find", "find instructions by shape, format, architecture, intrinsic or opcode", "find", __doc__,
    (
        argument(
            "words", "what must fit: a part of the mnemonic, a shape, a format ...", nargs="*", placeholder="WORD"
        ),
        option("-i", "--instruction", placeholder="NAME", help="the same"),
        option("-a", "--architecture", placeholder="NAME", help="one architecture only"),
        option("--shape", placeholder="MxNxK", help="the shape of one block, such as 16x16x32"),
        *[number(f"--{size}", help=f"the size {size.upper()} of one block") for size in ("m", "n", "k")],
        number("--blocks", help="how many blocks one instruction multiplies"),
        *[
            option(
                f"--{operand}-type", f"--{operand}", name=operand, placeholder="FORMAT", older=(f"--{operand}",),
                help=f"the format of {operand.upper()}, by any of its names",
            )
            for operand in "abcd"
        ],
        flag("--sparse", alone="kind", default=None, help="sparse instructions only"),
        flag("--dense", name="sparse", alone="kind", default=None, constant=False, help="dense instructions only"),
        number("--opcode", help="the opcode field, decimal or 0x..."),
        option("--like", placeholder="NAME", help="what comes near to an instruction of another architecture"),
        option("--intrinsic", placeholder="NAME", help="a part of the name of a compiler builtin or intrinsic"),
        flag("--all", help="list every instruction, also of very many"),
        JSON,
    ),
    run, {"list-instructions": text, "equivalents": _near_text},
)  # fmt: skip
