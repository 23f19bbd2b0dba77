"""Where to begin: what one asks of mmacalc, by need, with a real example of each; and texts on single topics."""

from __future__ import annotations

from ..errors import Error, did_you_mean
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["EXAMPLES", "NEEDS", "TOPICS", "Example", "Guide", "Topic", "topic"]


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
    Example("generate", "a kernel around it", f"mmacalc generate {ONE} -o kernel.hip"),
)

# The commands of each need.
NEEDS: dict[str, tuple[str, ...]] = {
    "find": ("architectures", "find", "compare", "estimate"),
    "look": ("explain", "intrinsic", "numerics"),
    "place": ("draw", "page"),
    "chain": ("chain",),
    "load": ("memory", "transpose-loads", "descriptor"),
    "encode": ("assemble", "disassemble"),
    "wait": ("waits", "lint"),
    "compute": ("run", "gemm", "run-kernel"),
    "generate": ("generate",),
    "work with it": ("batch", "completion", "help"),
}

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
"""
INSTRUCTIONS = """\
Names of instructions are those of the vendors, in any case: AMD's mnemonics (v_mfma_f32_16x16x16_f16, also as older
compilers wrote them), PTX's names with their qualifiers in any order that ptxas takes, and SASS opcodes, which stand
for the PTX instruction that becomes them (HMMA.16816.F32, HGMMA.64x128x16.F32).

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
    1    something was found: by lint, run and gemm --compare, run-kernel, generate --check
    2    the input is refused; the message says what would be right, and nothing is on standard output
    3    a fault of mmacalc; please report it with `mmacalc --version --json`
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
    mmacalc architectures MI300X              the same of one, and how sure
    mmacalc numerics -a gfx942                how sure the arithmetic of each instruction is
"""
AMD = """\
Every command line of AMD's Matrix Instruction Calculator 1.3.2 works here, and prints the same to the byte,
except formulas that are corrected, calculations (-o) on RDNA3, the texts of help and version, and errors. Why:
https://mmacalc.github.io/mmacalc/isa-errata.html

New beside its options: --json, --pattern, the operands --scale-a and --scale-b, wave sizes by -w, NVIDIA's
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
    raise Error(f"there is no help on '{name}'.{hint} Topics: {', '.join(texts)}; and every command")
