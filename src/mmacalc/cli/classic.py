"""Which lane, register and bit of a GPU holds which element of a matrix instruction's operands, both ways.

The command line is that of AMD's Matrix Instruction Calculator. Choose an architecture (-a), an instruction (-i),
a matrix (-A -B -C -D -k) and one of the actions -d -g -m -R -M; or list the instructions with -L. For example:

    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9     the lane and register of A[3][9]
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -D -m -r 2 -l 35    what register 2 of lane 35 is of D
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -B -R               the registers of all of B
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -d                  all about the instruction

Further commands: {commands}.
"""

from __future__ import annotations

from .. import __version__
from ..catalog import entry
from ..errors import Error
from . import SUBCOMMANDS, Answer
from .parser import whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..record import Instruction, Operand
    from .parser import Parser

__doc__ = __doc__.format(commands=", ".join(SUBCOMMANDS)) if __doc__ else None

ACTIONS = {
    "get_register": ("-g", "print the register and lane of one element"),
    "matrix_entry": ("-m", "print the elements in one register and lane"),
    "register_layout": ("-R", "print the registers and lanes of every element"),
    "matrix_layout": ("-M", "print the elements in every register and lane"),
    "pattern": ("", "print the operand's layout as an einops-like pattern, with its digit sizes"),
}
MATRICES = {
    "A_matrix": ("-A", "A", "the A input matrix"),
    "B_matrix": ("-B", "B", "the B input matrix"),
    "C_matrix": ("-C", "C", "the C input matrix"),
    "D_matrix": ("-D", "D", "the D output matrix"),
    "compression": ("-k", "K", "the compression indices of a sparse A"),
}
NUMBERS = {
    "I_coordinate": ("-I", "the row of A, C, D or K"),
    "J_coordinate": ("-J", "the column of B, C or D"),
    "K_coordinate": ("-K", "the column of A or K, the row of B"),
    "block": ("-b", "the block, of an instruction that has several"),
    "register": ("-r", "the register, counted from the operand's first"),
    "lane": ("-l", "the lane of the wave"),
    "wavefront": ("-w", "the wave size: 32 or 64 on RDNA"),
}
MODIFIERS = {
    "cbsz": "Control Broadcast Size: 2^CBSZ blocks of A read one block",
    "abid": "A-matrix Broadcast Identifier: which block they read, or which set of compression indices",
    "blgp": "B-matrix Lane Group Pattern; on an FP64 MFMA of CDNA3, which of A, B and C are negated",
    "opsel": "OPSEL: the half of each C and D register, or the set of compression indices",
    "neg": "NEG: bit 0 negates A, bit 1 B (low halves), bit 2 C; of integers, which are signed",
    "neg_hi": "NEG_HI: the same for high halves; bit 2 takes the absolute value of C",
}
STYLES = ("csv", "markdown", "asciidoc")


def add_arguments(parser: Parser) -> None:
    """Declare the options of AMD's command line, and those it lacks."""
    add = parser.add_argument
    parser.add_text("-v", "--version", text=f"mmacalc {__version__}\n", help="show the version")
    add("-a", "--architecture", metavar="NAME", help="the GPU architecture, by any of its names")
    add("-L", *_long("list_instructions"), action="store_true", help="list the architecture's instructions")
    add("-i", "--instruction", metavar="NAME", help="the instruction, in either case")
    add("-d", *_long("detail_instruction"), action="store_true", help="print all about the instruction")
    for name, (short, text) in ACTIONS.items():
        add(*filter(None, (short, *_long(name))), action="store_true", help=text)
    for name, (short, _, text) in MATRICES.items():
        add(short, *_long(name), action="store_true", help=f"query {text}")
    for name, (short, text) in NUMBERS.items():
        add(short, *_long(name), type=whole_number, metavar="#", default=0, help=text)
    for name, text in MODIFIERS.items():
        add(*_long(name), type=whole_number, metavar="#", default=0, help=text)
    add("-o", *_long("output_calculation"), action="store_true", help="with -D: show what the element is the sum of")
    add("-c", "--csv", action="store_true", help="print tables as comma-separated values")
    add("--markdown", action="store_true", help="print tables as Markdown")
    add("--asciidoc", action="store_true", help="print tables as AsciiDoc")
    add("--transpose", action="store_true", help="swap the rows and columns of a table")
    add("--json", action="store_true", help="answer with JSON")


def _long(name: str) -> tuple[str, ...]:
    """The long spellings of an option: with hyphens, and with underscores."""
    return tuple(dict.fromkeys(("--" + name.replace("_", "-"), "--" + name)))


def run(options: Namespace) -> str | Answer:
    """Answer one classic command line."""
    if not options.architecture:
        raise Error("no architecture was given; choose one with -a, such as `-a cdna3` or `-a MI300X`")
    if options.list_instructions:
        return _listing(options)
    if not options.instruction:
        raise Error("no instruction was given; choose one with -i, or list them with -L")
    instruction = entry(options.architecture).instruction(options.instruction)
    if options.detail_instruction:
        return _detail(instruction, options)
    action = _only(options, ACTIONS, "action", "-g, -m, -R, -M, -d or --pattern")
    matrix = MATRICES[_only(options, MATRICES, "matrix", "-A, -B, -C, -D or -k")][1]
    _check_output_calculation(options, action, matrix)
    _style(options)
    operand = _operand(instruction, matrix, options)
    from . import answers

    return answers.ANSWERS[action](operand, options)


def _only(options: Namespace, choices: dict[str, tuple[str, ...]], what: str, flags: str) -> str:
    chosen = [name for name in choices if getattr(options, name)]
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise Error(f"no {what} was chosen; choose one of {flags}")
    given = " and ".join(choices[name][0] or f"--{name}" for name in chosen)
    raise Error(f"{given} were given together; choose one {what} of {flags}")


def _style(options: Namespace) -> str:
    chosen = [style for style in (*STYLES, "json") if getattr(options, style)]
    if len(chosen) > 1:
        raise Error(f"--{' and --'.join(chosen)} were given together; choose one format")
    return chosen[0] if chosen and chosen[0] != "json" else "grid"


def _check_output_calculation(options: Namespace, action: str, matrix: str) -> None:
    if not options.output_calculation:
        return
    if matrix != "D":
        raise Error(f"-o shows how D is calculated, so it goes with -D; got {matrix}")
    if action not in ("get_register", "matrix_entry"):
        raise Error("-o goes with -g or -m: it explains one element of D")


def _operand(instruction: Instruction, matrix: str, options: Namespace) -> Operand:
    """The operand under the modifiers given, refusing those that do not concern it."""
    if matrix not in instruction.operands:
        has = ", ".join(instruction.operands)
        if matrix == "K":
            raise Error(f"{instruction.name} is dense and so has no compression indices; its matrices are {has}")
        raise Error(f"{instruction.name} has no {matrix} matrix; its matrices are {has}")
    fields = {name: getattr(options, name) for name in MODIFIERS if getattr(options, name)}
    instruction.check_modifiers(instruction.architecture.wave(options.wavefront), fields)
    for name in fields:
        concerned = concerns(instruction, name)
        if not (matrix in concerned or (matrix == "D" and options.output_calculation)):
            others = " and ".join(concerned) or "no matrix alone"
            raise Error(
                f"--{name} does not concern {matrix} of {instruction.name}; it concerns {others}, and -D with -o"
            )
    return instruction.operand(matrix, options.wavefront, **fields)


def concerns(instruction: Instruction, modifier: str) -> str:
    """The operands whose reading a modifier changes."""
    if modifier in ("cbsz", "abid"):
        return "AK"
    if modifier == "blgp":
        return "ABC" if instruction.formats["A"] == "f64" else "B"
    if modifier == "opsel":
        return "K" if instruction.sparse else "CD"
    return "ABC"


def _listing(options: Namespace) -> str:
    chosen = entry(options.architecture)
    if options.json:
        from ..present import json_text

        return json_text.listing(chosen.instructions())
    title = chosen.architecture.title
    return f"Available instructions in the {title} architecture:\n" + "".join(f"    {n}\n" for n in chosen.names)


def _detail(instruction: Instruction, options: Namespace) -> str:
    if options.json:
        from ..present import json_text

        return json_text.detail(instruction)
    from ..present import detail

    return detail.page(instruction)
