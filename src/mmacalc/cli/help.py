"""Explain a topic or a command.

    mmacalc help                where to begin, and the topics
    mmacalc help layouts        how layouts are written
    mmacalc help modifiers      the modifiers of all instructions
    mmacalc help draw           all options of a command
    mmacalc help draw --man     the same as a manual page

`mmacalc` without arguments is the first of these.
"""

from __future__ import annotations

from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord, json_keys
from ..command import NEEDS, Command, Reply, argument, flag, show
from ..command.common import JSON, TILE
from ..command.options import FIELDS, FORMAT_FIELDS, WIDTH, is_modifier, spellings, terminal_width
from . import command, command_names, command_parser, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..command import Option, Options


class Example(TupleRecord):
    """A question, and the command line that answers it; `need` is "" where it is that of the example before."""

    need: str
    question: str
    command: str


class Guide(TupleRecord):
    """The short page: examples, the commands by need (each with what it does), the names of the topics."""

    examples: tuple[Example, ...]
    commands: Mapping[str, Mapping[str, str]]
    topics: tuple[str, ...]


@json_keys("topic=name", "text")
class Topic(TupleRecord):
    """One topic: its name, and a text of paragraphs; indented lines are examples and tables."""

    name: str
    text: str


ONE = "-a MI300X -i v_mfma_f32_32x32x8_f16"
NAME = "v_mfma_f32_32x32x8_f16"

EXAMPLES = (
    Example("find", "instructions by shape", "mmacalc find MI300X 32x32x8 bf16"),
    Example("look", "all about one", f"mmacalc {ONE} -d"),
    Example("", "what a line does", 'mmacalc explain "HMMA.16816.F32 R4, R8, R12, R4"'),
    Example("place", "where A[3][7] is", f"mmacalc {ONE} -A -g -I 3 -K 7"),
    Example("", "a picture of D", f"mmacalc draw {ONE} -D"),
    Example("chain", "what its D can feed", f"mmacalc chain -a MI300X {NAME} --list"),
    Example("load", "loads, bank conflicts", f"mmacalc memory {ONE} -A --ld 64"),
    Example("encode", "machine code", "mmacalc assemble -a MI300X kernel.s"),
    Example("wait", "missing wait states", "mmacalc lint -a MI300X kernel.s"),
    Example("compute", "D = A B + C, to the bit", f"mmacalc run {ONE} --random 1"),
    Example("debug", "why my D is wrong", f"mmacalc run {ONE} --random 1 --compare d.npy"),
    Example("", "is my kernel right", "mmacalc run-kernel kernel.ptx"),
    Example("", "what bounds it", "mmacalc profile kernel.ptx"),
    Example("generate", "a kernel around it", f"mmacalc generate {ONE} -o kernel.hip"),
)


LAYOUTS = """\
A layout is one line that says which lane and which item of the lane hold an element:

    A: i (g e) -> lane (g i), item (e)    sizes: i=16, g=4, e=4

On the left are the coordinates: i, j and k are row, column and the index that is added up, b is the block. A coordinate
in parentheses is cut into digits, the most significant first, as in einops: (g e) with g=4 and e=4 means k = 4 g + e.
On the right the same digits make the lane and the item. In the example A[3][9] has g=2 and e=1, so it is in lane
2 * 16 + 3 = 35, item 1.

An item is an element's place within its lane, counted from the operand's first register: of 16 bits, item 1 is the high
half of register 0. *r is replicated: every value of r has a copy. A digit of the right alone is a selector, which a
modifier sets.

    mmacalc -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --pattern           the layout of A
    mmacalc -a gfx942 -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9        one element: its lane, register and bits
    mmacalc -a gfx942 -i v_mfma_f32_16x16x16_f16 -A -m -r 0 -l 35       one register of one lane: its elements
    mmacalc -a gfx942 -i v_mfma_f32_16x16x16_f16 -A -R                  all elements; -M: all registers
    mmacalc draw -a gfx942 -i v_mfma_f32_16x16x16_f16 -A                a picture

More: https://mmacalc.github.io/mmacalc/notation.html
"""
INSTRUCTIONS = """\
Names of instructions are those of the vendors, in any case: AMD's mnemonics (v_mfma_f32_16x16x16_f16, also as older
compilers wrote them), PTX's names with their qualifiers in any order that ptxas takes, and SASS opcodes, which stand
for the PTX instruction that becomes them (HMMA.16816.F32, HGMMA.64x128x16.F32). Every other name that leaves one
instruction is taken too: CuTe's atoms (SM80_16x8x16_F32F16F16F32_TN), clang's builtins, names of CK and Tensile, parts
of a PTX name (ldmatrix.x4.trans).

    mmacalc -a gfx942 -L                                   all of one architecture
    mmacalc find --shape 16x16x16 --a f16                  those of a shape and format, of every architecture
    mmacalc find --intrinsic mfma_f32_16x16x16f16          by a part of a builtin's or intrinsic's name

Where a name is not known, the closest are named.
"""
FILES = """\
Matrices (run, gemm) are .npy, a member of an .npz as FILE.npz:NAME, or CSV, known by what they hold, not by their
names. They hold values; with --bits encodings, as unsigned integers, which is how bf16 and FP8 are saved where NumPy
has no such type. CSV is a row to a line; several blocks stand below one another.

Listings (lint) are text: a compiler's output, llvm-objdump -d, or written by hand. disassemble takes hexadecimal, raw
bytes, ELF code objects and clang's offload bundles.

The name - is standard input wherever a file is read. -o FILE writes the result to a file. Input that is refused
changes no file.
"""
OUTPUT = """\
--json answers with one object in one line (https://mmacalc.github.io/mmacalc/json.html). schema_version rises
when a key changes its meaning or goes away, not when one is added. --csv, --markdown and --asciidoc write tables.
`mmacalc batch` answers a command line per input line, for programs that ask often.

The exit status is

    0    the question is answered
    1    something was found: by lint, diagnose, run and gemm --compare, run-kernel, profile, generate --check
    2    the input is refused; the message says what would be right, and nothing is on standard output (with --json
         it is there, as {"error": ...})
    3    a bug in mmacalc; please report it with `mmacalc --version --json`
    130  Ctrl-C
"""
PROVENANCE = """\
Every answer says how sure it is where that is not "two sources agree":

    hardware-verified    compared with results of that generation's silicon
    two sources agree    two independent public sources, such as the ISA document and LLVM
    one source           one public source
    unconfirmed          a source that no second one confirms, or that others contradict
    assumed              by analogy with other instructions or generations: nothing is published

    mmacalc architectures                     what is known of each architecture
    mmacalc architectures MI300X              one product, with provenance
    mmacalc numerics -a gfx942                how sure the arithmetic of each instruction is

Which sources: https://mmacalc.github.io/mmacalc/provenance.html
"""
AMD = """\
Every command line of AMD's Matrix Instruction Calculator 1.3.2 works here, and prints the same to the byte,
except formulas that are corrected, calculations (-o) on RDNA3, the texts of help and version, and errors. Why:
https://mmacalc.github.io/mmacalc/isa-errata.html

New in addition to its options: --json, --pattern, the operands --scale-a and --scale-b, wave sizes by -w, NVIDIA's
instructions under their PTX names, and the commands that `mmacalc -h` lists.
"""
TOPICS = {
    "layouts": LAYOUTS, "instructions": INSTRUCTIONS, "files": FILES, "output": OUTPUT, "provenance": PROVENANCE,
    "amd": AMD,
}  # fmt: skip


def topic(name: str, others: Mapping[str, str], commands: Iterable[str] = ()) -> Topic:
    """The text of a topic.

    Args:
        name: of TOPICS, or of `others`: further texts by name; case-insensitive. The s at the end may be left out.
        commands: what else may be meant.

    Raises:
        Error: there is no such topic.

    >>> topic("layout", {}).name
    'layouts'
    """
    texts, lower = {**TOPICS, **others}, name.strip().lower()
    for known in (lower, f"{lower}s", lower.removesuffix("s")):
        if known in texts:
            return Topic(known, texts[known])
    hint = did_you_mean(lower, (*texts, *commands))
    raise Error(f"no help on '{name}'.{hint} Topics: {', '.join(texts)}, and every command", kind="unknown name")


TITLE = "mmacalc: which lane, register and bit of a GPU holds which element of a matrix, and what it computes"
NAMES = "For MI300X put any GPU, by its product, driver or target name; `mmacalc architectures` lists them."
MORE = (
    "`mmacalc -h` lists all commands and options, `mmacalc COMMAND -h` those of one. "
    "The manual: https://mmacalc.github.io/mmacalc/start.html"
)


def topic_text(answer: Topic, width: int = WIDTH) -> str:
    """The topic, in lines of `width` characters."""
    return wrapped(answer.text, width) + "\n"


def text(answer: Guide, width: int = WIDTH) -> str:
    """The page, in lines of `width` characters; an example that is longer stays whole."""
    examples = answer.examples
    column = max(len(example.need) for example in examples) + 2
    longest = max(len(example.question) for example in examples) + 2
    one_line = column + longest + max(len(example.command) for example in examples) <= width
    lines = [wrapped(TITLE, width), ""]
    for need, question, line in examples:
        begin = f"{need:{column}}{question:{longest}}"
        lines += [begin + line] if one_line else [begin.rstrip(), " " * (column + 2) + line]
    end = [NAMES, f"`mmacalc help TOPIC` explains {', '.join(answer.topics)}, and every command.", MORE]
    return "\n".join([*lines, "", wrapped(" ".join(end), width)]) + "\n"


def commands(by_need: Mapping[str, Mapping[str, str]], width: int) -> str:
    """The commands by need, a paragraph each, in lines of `width` characters at most."""
    from textwrap import fill

    longest = max(len(name) for each in by_need.values() for name in each) + 2
    lines, further = [], " " * (longest + 4)
    for need, each in by_need.items():
        lines.append(f"  {need}:")
        for name, what in each.items():
            lines.append(fill(what, width, initial_indent=f"    {name:{longest}}", subsequent_indent=further))
    return "\n".join(lines)


def wrapped(text: str, width: int) -> str:
    """A text whose paragraphs are filled anew; indented lines stay as they are.

    >>> print(wrapped("One sentence that\\ngoes on.\\n\\n    an example", 80))
    One sentence that goes on.
    <BLANKLINE>
        an example
    """
    from textwrap import fill

    parts = text.strip("\n").split("\n\n")
    found = []
    for part in parts:
        kept = any(line.startswith("  ") for line in part.split("\n"))
        if kept:
            found.append("\n".join([folded for line in part.split("\n") for folded in _folded(line, width)]))
        else:
            found.append(fill(" ".join(part.split("\n")), width, break_on_hyphens=False))
    return "\n\n".join(found)


def _folded(line: str, width: int) -> Iterator[str]:
    """An indented line in the width: what stands behind a gap goes below, and a command goes on after a backslash."""
    if len(line) <= width:
        yield line
        return
    indent = len(line) - len(line.lstrip())
    first, gap, rest = line[indent:].partition("   ")
    if gap:
        yield from _folded(f"{'':{indent}}{first}", width)
        yield from _folded(f"{'':{indent + 4}}{rest.strip()}", width)
        return
    at = line.rfind(" ", indent + 1, width - 2)
    if at < 0:
        yield line
        return
    mark = " \\" if first.startswith(("mmacalc", "echo", "llvm-objdump", "nvcc", "cuobjdump")) else ""
    yield f"{line[:at]}{mark}"
    further = f"{'':{indent + (4 if mark else 0)}}{line[at + 1 :]}"
    if not mark:
        yield from _folded(further, width)
        return
    while len(further) > width and (at := further.rfind(" ", indent + 5, width - 2)) > 0:
        yield f"{further[:at]} \\"
        further = f"{'':{indent + 4}}{further[at + 1 :]}"
    yield further


def modifiers_line(command: Command, width: int) -> str:
    """One line for all modifiers of a command; "" if it takes none."""
    if not any(map(is_modifier, command.options)):
        return ""
    line = "  -m, --cbsz, --neg ...  `mmacalc help modifiers`: fields such as -m cbsz=1, --neg 3"
    return f"{_cut(line, width)}\n"


def tile_line(command: Command, width: int) -> str:
    """One line for the options of a tile, where a command takes them in addition to its own; "" elsewhere."""
    if command.name == "tile" or TILE[0] not in command.options:
        return ""
    return f"{_cut('  --waves, --repeat ...  a tile of several waves: as `mmacalc help tile` has them', width)}\n"


def short_help(command: Command, width: int) -> str:
    """The help of a command on one screen: what it does, examples, each option in one line.

    >>> short_help(command("batch"), 80).split("\\n")[0]
    'usage: mmacalc batch [options] [FILE ...]'
    """
    from textwrap import fill

    beside = () if command.name == "tile" else TILE
    plain = [each for each in command.options if not is_modifier(each) and each not in beside]
    first, _, rest = (command.about or command.summary).strip().partition("\n\n")
    usage = " ".join(["usage: mmacalc", command.name, *usage_words(command)])
    lines = [fill(usage, width, subsequent_indent="    ", break_on_hyphens=False)]
    lines += ["", wrapped(first, width), ""]
    examples = [line for line in rest.split("\n") if line.startswith("    ") and "mmacalc" in line]
    typed = [line.strip().partition("   ")[0] for line in examples]
    shown = [line for line in typed if len(line) + 4 <= width][:2]
    lines += [f"    {line}" for line in shown] + ([""] if shown else [])
    rows = [(_spelt(each), each.help) for each in plain]
    column = min(max(len(spelt) for spelt, _ in rows) + 4, width // 2)
    lines += [_cut(f"  {spelt:{column - 2}}{about}", width) for spelt, about in rows]
    more = tile_line(command, width) + modifiers_line(command, width)
    return "\n".join(lines) + f"\n{more}\n`mmacalc help {command.name}` has all of it.\n"


def usage_words(command: Command) -> list[str]:
    """What follows the name of a command: the options it needs, the others, and what stands by itself.

    >>> usage_words(command("intrinsic"))
    ['-a NAME', '[options]', '[INSTRUCTION]']
    """
    needed = [f"{each.spellings[0]} {each.placeholder}" for each in command.options if each.spellings and each.required]
    return [*needed, "[options]", *[_place(each) for each in command.options if not each.spellings]]


def _place(option: Option) -> str:
    """An argument without an option, as usage has it."""
    name = option.placeholder or option.name
    many = {"+": f"{name} ...", "*": f"[{name} ...]", "...": f"[{name} ...]", "?": f"[{name}]"}
    return many.get(str(option.nargs), name)


def _spelt(option: Option) -> str:
    """An option's shortest and its first long spelling, with what follows them."""
    if not option.spellings:
        return option.placeholder or option.name
    long = [each for each in option.spellings if each.startswith("--")][:1]
    short = [each for each in option.spellings if not each.startswith("--")][:1]
    value = option.placeholder or ("|".join(option.choices) if option.choices else "")
    return f"{', '.join([*short, *long])} {value}".rstrip()


def _cut(line: str, width: int) -> str:
    """A line that is too long ends with three dots behind its last whole word."""
    return line if len(line) <= width else line[: width - 4].rpartition(" ")[0].rstrip(",;:") + " ..."


COMPUTED = ("modifiers", "formats", "agents")
"""Topics whose texts are written from tables."""


def guide() -> Guide:
    """The short page."""
    return Guide(EXAMPLES, by_need(), (*TOPICS, *COMPUTED))


def by_need() -> Mapping[str, Mapping[str, str]]:
    """Every command with what it does, by need."""
    found = summaries()
    return {need: {each.name: each.summary for each in found if each.need == need} for need in NEEDS}


def run(options: Options) -> Reply:
    """A topic, a command's help, or the short page."""
    if options.topic is None and not options.man:
        return first_page(options.json)
    known = command(options.topic) if options.topic else None
    if options.man:
        return _manual(options.topic, known)
    if known is not None:
        return Reply(0, command_parser(known.name).format_help(), "")
    if (options.topic or "").strip().lower() in ("agents", "agent"):
        return show(options.json, "help", Topic("agents", agents()), lambda found: found.text)
    found = topic(options.topic, {**texts(), "agents": agents()}, command_names())
    return show(options.json, "help", found, lambda found: topic_text(found, terminal_width()))


def _manual(name: str | None, known: Command | None) -> Reply:
    """The manual page of a command, or of the program."""
    from .manual import page

    if name and known is None:
        hint = did_you_mean(name, command_names())
        raise Error(f"no manual page of '{name}': commands have one.{hint}", kind="unknown name")
    return Reply(0, page(known.name if known else ""), "")


def texts() -> dict[str, str]:
    """The topics whose texts are written from tables; the skill file is not among them."""
    return {"modifiers": _modifiers(), "formats": _formats()}


def first_page(as_json: bool = False) -> Reply:
    """The short page, of `mmacalc` without arguments."""
    return show(as_json, "help", guide(), lambda page: text(page, terminal_width()))


def agents() -> str:
    """The text for coding agents, which is a skill file as they read it: SKILL.md of the package."""
    from importlib.resources import files

    return files(__package__).joinpath("SKILL.md").read_text(encoding="utf-8")


def _modifiers() -> str:
    """Every modifier with its meaning, from the tables of options."""
    rows = {**FORMAT_FIELDS, **FIELDS}
    width = max(len(name) for name in rows) + 4
    lines = [f"    {spellings(name, None)[0]:{width}}{text}" for name, (_, text) in rows.items()]
    table = "\n".join(lines)
    return f"""\
A modifier is a field of the instruction that changes which element is read, its sign, or its format. Every command that
takes an instruction takes them under the same names, and as -m NAME=VALUE (run, gemm, numerics: short for --modifier).
Numbers are decimal or 0x; where a field chooses a format, the format's name is taken.

{table}

    mmacalc -a gfx942 -i v_mfma_f32_32x32x1_2b_f32 -d     lists those that an instruction has, with their values
"""


def _formats() -> str:
    """Every format with its names, from the tables of formats."""
    from ..formats import ALIASES, BLOCK_SCALED, FORMATS, NUMPY_NAMES

    lines = []
    for name, form in FORMATS.items():
        others = [alias for alias, meant in ALIASES.items() if meant == name]
        dtype = NUMPY_NAMES.get(name)
        others += [dtype] if dtype and dtype not in others else []
        if form.kind != "bits":
            lines.append(f"    {name:10} {form.bits:2} bits  {', '.join(others)}".rstrip())
    table = "\n".join(lines)
    return f"""\
Formats are called as in PTX and in the OCP documents. The names of torch, NumPy, ml_dtypes and LLVM are taken as well,
also with torch. or np. in front, and f8E4M3FN as MLIR writes it. For `find`, fp8 and bf8 are OCP's and the FNUZ formats
alike. {", ".join(BLOCK_SCALED)} ask for instructions with such block scales.

{table}
"""


def written(answer: Guide | Topic) -> str:
    """What help answers, as text."""
    return topic_text(answer) if isinstance(answer, Topic) else text(answer)


COMMAND = Command(
    "help", "explain a topic (layouts, modifiers, formats ...) or a command", "work with it", __doc__,
    (
        argument("topic", f"one of {', '.join((*TOPICS, *COMPUTED))}, or a command", nargs="?"),
        flag("--man", help="print the manual page of the command, as man(1) reads it; without one, that of mmacalc"),
        JSON,
    ),
    run, {"help": written},
)  # fmt: skip
