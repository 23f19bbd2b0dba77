"""Which lane, register and bit of a GPU holds which element of a matrix instruction's operands, both ways.

The command line is that of AMD's Matrix Instruction Calculator. Choose an architecture (-a), an instruction (-i),
a matrix (-A -B -C -D -k) and one of the actions -d -g -m -R -M; or list the instructions with -L. For example:

    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9     the lane and register of A[3][9]
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -D -m -r 2 -l 35    what register 2 of lane 35 is of D
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -B -R               the registers of all of B
    mmacalc -a MI300X -i v_mfma_f32_16x16x16_f16 -d                  all about the instruction

`mmacalc COMMAND -h` explains each of the further commands, which are listed below.
"""

from __future__ import annotations

from types import SimpleNamespace

from .. import __version__
from ..catalog import entry
from ..errors import Error
from . import SUBCOMMANDS, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from ..model import Instruction, Operand
    from .parser import Parser

    Options = Namespace | SimpleNamespace

ACTIONS = {
    "get_register": ("-g", "print the register and lane of one element"),
    "matrix_entry": ("-m", "print the elements in one register and lane"),
    "register_layout": ("-R", "print the registers and lanes of every element"),
    "matrix_layout": ("-M", "print the elements in every register and lane"),
    "pattern": (None, "print the operand's layout as an einops-like pattern, with its digit sizes"),
}
MATRICES = {
    "A_matrix": ("-A", "query the A input matrix"),
    "B_matrix": ("-B", "query the B input matrix"),
    "C_matrix": ("-C", "query the C input matrix"),
    "D_matrix": ("-D", "query the D output matrix"),
    "compression": ("-k", "query K, the compression indices of a sparse A"),
    "scale_a": (None, "query SA, the block scales of A"),
    "scale_b": (None, "query SB, the block scales of B"),
    "addresses": (None, "query P, the row addresses of NVIDIA's ldmatrix and stmatrix"),
}
MATRIX_NAMES = dict(zip(MATRICES, ("A", "B", "C", "D", "K", "SA", "SB", "P")))
# Modifiers that take a number, and those that take the name of a format as well.
FIELDS = {
    "abid": (None, "A-matrix Broadcast Identifier: which block they read, or which set of compression indices"),
    "opsel": (None, "OPSEL: the half of each C and D register, the set of indices, or the low bit of the scale bytes"),
    "op_sel_hi": (None, "OP_SEL_HI: the high bit of the byte that holds the scales: bit 0 of A, bit 1 of B (CDNA4)"),
    "neg": (None, "NEG: bit 0 negates A, bit 1 B (low halves), bit 2 C; of integers, which are signed"),
    "neg_hi": (None, "NEG_HI: the same for high halves; bit 2 takes the absolute value of C"),
    "matrix_a_scale": (None, "the half of the wave that holds the scales of A on CDNA5"),
    "matrix_b_scale": (None, "the half of the wave that holds the scales of B on CDNA5"),
    "selector": (None, "NVIDIA's sparsity selector: which lanes of each four hold the metadata K"),
    "byte_id_a": (None, "NVIDIA's byte-id-a: the first byte of the scales of A"),
    "thread_id_a": (None, "NVIDIA's thread-id-a: which lanes hold the scales of A"),
    "byte_id_b": (None, "NVIDIA's byte-id-b: the first byte of the scales of B"),
    "thread_id_b": (None, "NVIDIA's thread-id-b: which lane of each four holds the scales of B"),
}
FORMAT_FIELDS = {
    "cbsz": (None, "Control Broadcast Size: 2^CBSZ blocks of A read one block; of f8f6f4, the format of A (fp8 ...)"),
    "blgp": (None, "B-matrix Lane Group Pattern; of FP64, which of A, B, C are negated; of f8f6f4, the format of B"),
    "matrix_a_fmt": (None, "the format of A of f8f6f4 on CDNA5, by number or name; --cbsz means the same"),
    "matrix_b_fmt": (None, "the format of B of f8f6f4 on CDNA5, by number or name; --blgp means the same"),
    "matrix_a_scale_fmt": (None, "the format of the scales of A on CDNA5: e8m0, e5m3 or e4m3"),
    "matrix_b_scale_fmt": (None, "the format of the scales of B on CDNA5: e8m0, e5m3 or e4m3"),
}
MODIFIERS = (*FIELDS, *FORMAT_FIELDS)
STYLES = {
    "csv": ("-c", "print tables as comma-separated values"),
    "markdown": (None, "print tables as Markdown"),
    "asciidoc": (None, "print tables as AsciiDoc"),
    "json": (None, "answer with JSON"),
}
# Every option by what follows it: nothing, a whole number, a number or a format's name, or a name.
FLAGS = {
    "list_instructions": ("-L", "list the architecture's instructions"),
    "detail_instruction": ("-d", "print all about the instruction"),
    **ACTIONS,
    **MATRICES,
    "output_calculation": ("-o", "with -D and -g or -m: show what the element is the sum of"),
    "transpose": (None, "swap the rows and columns of a table"),
    **STYLES,
}
NUMBERS = {
    "I_coordinate": ("-I", "the row of A, C, D or K"),
    "J_coordinate": ("-J", "the column of B, C or D"),
    "K_coordinate": ("-K", "the column of A or K, the row of B"),
    "block": ("-b", "the block, of an instruction that has several"),
    "register": ("-r", "the register, counted from the operand's first"),
    "lane": ("-l", "the lane of the wave"),
    "wavefront": ("-w", "the wave size: 32 or 64 on RDNA"),
    **FIELDS,
}
NAMES = {
    "architecture": ("-a", "the GPU architecture, by any of its names"),
    "instruction": ("-i", "the instruction, in either case"),
}


def add_arguments(parser: Parser) -> None:
    """Declare the options of AMD's command line, and those it lacks."""
    from .parser import number_or_name, whole_number

    parser.epilog = "further commands:\n" + "\n".join(f"    {name:12} {text}" for name, text in SUBCOMMANDS.items())
    parser.add_text("-v", "--version", text=f"mmacalc {__version__}\n", help="show the version")
    # What abbreviates an option of AMD's tool there must do so here, whatever options we add. Its options are those
    # with a short spelling, and these.
    spelt_out = ("cbsz", "abid", "blgp", "opsel", "neg", "neg_hi", "markdown", "asciidoc", "transpose")
    short = (name for options in (NAMES, FLAGS, NUMBERS) for name, option in options.items() if option[0])
    parser.abbreviated = frozenset((*short, *spelt_out))
    for name, option in NAMES.items():
        parser.add_argument(*spellings(name, option[0]), metavar="NAME", help=option[1])
    for name, flag in FLAGS.items():
        parser.add_argument(*spellings(name, flag[0]), action="store_true", help=flag[1])
    for kind, numbers in ((whole_number, NUMBERS), (number_or_name, FORMAT_FIELDS)):
        for name, number in numbers.items():
            parser.add_argument(*spellings(name, number[0]), type=kind, metavar="#", default=0, help=number[1])


def spellings(name: str, short: str | None) -> tuple[str, ...]:
    """The ways to write an option: short if it has one, with hyphens, with underscores."""
    long = dict.fromkeys(("--" + name.replace("_", "-"), "--" + name))
    return (short, *long) if short else tuple(long)


_MEANINGS = {
    spelling: (name, what)
    for what, options in (("flag", FLAGS), ("number", NUMBERS), ("format", FORMAT_FIELDS), ("name", NAMES))
    for name, (short, _) in options.items()
    for spelling in spellings(name, short)
}
_DEFAULTS = dict.fromkeys(NAMES) | dict.fromkeys(FLAGS, False) | dict.fromkeys((*NUMBERS, *FORMAT_FIELDS), 0)


def scan(argv: Sequence[str]) -> SimpleNamespace | None:
    """Read a command line in which every option is spelt in full and apart from its value.

    argparse takes longer to import than a query takes to answer, so it is called only for what this declines
    with None: abbreviations, `--lane=3`, `-gA`, help, and everything wrong. `add_arguments` is the authority.
    """
    values: dict[str, object] = {**_DEFAULTS}
    words = iter(argv)
    for word in words:
        name, what = _MEANINGS.get(word, ("", ""))
        value = "" if what == "flag" else next(words, "-")
        digits = value.isascii() and value.isdecimal() and len(value) < 10
        if not what or value.startswith("-") or (what == "number" and not digits):
            return None
        number = digits and what in ("number", "format")
        values[name] = True if what == "flag" else int(value) if number else value
    return SimpleNamespace(**values)


def run(options: Options) -> str | Answer:
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
    matrix = MATRIX_NAMES[_only(options, MATRICES, "matrix", "-A, -B, -C, -D, -k, --scale-a, --scale-b or --addresses")]
    _check_output_calculation(options, action, matrix)
    _check_style(options)
    operand = _operand(instruction, matrix, options)
    from . import answers

    return answers.ANSWERS[action](operand, options)


def _only(options: Options, choices: Mapping[str, tuple[str | None, str]], what: str, flags: str) -> str:
    chosen = [name for name in choices if getattr(options, name)]
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise Error(f"no {what} was chosen; choose one of {flags}")
    given = " and ".join(choices[name][0] or spellings(name, None)[0] for name in chosen)
    raise Error(f"{given} were given together; choose one {what} of {flags}")


def _check_style(options: Options) -> None:
    chosen = [style for style in STYLES if getattr(options, style)]
    if len(chosen) > 1:
        raise Error(f"--{' and --'.join(chosen)} were given together; choose one format")


def _check_output_calculation(options: Options, action: str, matrix: str) -> None:
    if not options.output_calculation:
        return
    if matrix != "D":
        raise Error(f"-o shows how D is calculated, so it goes with -D; got {matrix}")
    if action == "pattern":
        raise Error("-o goes with -g or -m: it explains one element of D")


def _operand(instruction: Instruction, matrix: str, options: Options) -> Operand:
    """The operand under the modifiers given, refusing those that do not concern it."""
    if matrix not in instruction.operands:
        has = ", ".join(instruction.operands)
        if matrix == "K" and not instruction.sparse:
            raise Error(f"{instruction.name} is dense and so has no compression indices; its matrices are {has}")
        raise Error(f"{instruction.name} has no {matrix} matrix; its matrices are {has}")
    fields = _fields(instruction, options)
    instruction.check_modifiers(instruction.architecture.wave(options.wavefront), fields)
    for name in fields:
        concerned = concerns(instruction, name)
        # -o shows no index, and OPSEL of a sparse instruction concerns nothing else. Only -g and -m show signs.
        shown = options.output_calculation and not (name == "opsel" and concerned == ("K",))
        shown = shown and not (name in ("neg", "neg_hi") and (options.register_layout or options.matrix_layout))
        if matrix not in concerned and not (matrix == "D" and shown):
            others = " and ".join(concerned) + ("" if concerned == ("K",) else ", and -D with -o")
            raise Error(f"--{name} does not concern {matrix} of {instruction.name}; it concerns {others}")
    return instruction.operand(matrix, options.wavefront, **fields)


def _fields(instruction: Instruction, options: Options) -> dict[str, int]:
    """The modifiers given, under the instruction's names for them; those that are 0 are left out."""
    given = {name: getattr(options, name) for name in MODIFIERS if getattr(options, name)}
    return {name: value for name, value in instruction.resolved(given).items() if value}


def concerns(instruction: Instruction, modifier: str) -> tuple[str, ...]:
    """The operands that a modifier may be given with: those whose reading it changes, and K with NEG and NEG_HI.

    AMD's tool takes NEG with K, which it does not change; whoever asks for all operands in turn may rely on it.
    """
    if modifier in instruction.choices:
        return (instruction.choices[modifier],)
    if modifier in ("cbsz", "abid"):
        return ("A", "K")
    if modifier == "blgp":
        return ("A", "B", "C") if instruction.formats["A"] == "f64" else ("B",)
    if modifier == "selector":
        return ("K",)
    if modifier.startswith(("byte_id", "thread_id")):
        return (f"S{modifier[-1].upper()}",)
    if modifier in ("matrix_a_scale", "matrix_b_scale"):
        return ("SA",) if "_a_" in modifier else ("SB",)
    if modifier in ("opsel", "op_sel_hi"):
        return ("SA", "SB") if instruction.scaled else ("K",) if instruction.sparse else ("C", "D")
    return ("A", "B", "K") if instruction.sparse else ("A", "B", "C")


def _listing(options: Options) -> str:
    chosen = entry(options.architecture)
    if options.json:
        from ..render import json as json_text

        return json_text.listing(chosen.instructions())
    title = chosen.architecture.title
    return f"Available instructions in the {title} architecture:\n" + "".join(f"    {n}\n" for n in chosen.names)


def _detail(instruction: Instruction, options: Options) -> str:
    instruction.architecture.wave(options.wavefront)
    chosen = {name: value for name in instruction.choices if (value := _fields(instruction, options).get(name))}
    instruction.check_modifiers(None, chosen)
    if options.json:
        from ..render import json as json_text

        return json_text.detail(instruction, chosen)
    if instruction.architecture.vendor == "nvidia":
        from ..render import ptx_detail

        return ptx_detail.page(instruction)
    from ..render import detail
    from .parity import KNOWN

    return detail.page(instruction, chosen, further=instruction.arch not in KNOWN)
