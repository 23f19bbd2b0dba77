"""The options of the classic command line as tables, and a fast reader of them."""

from __future__ import annotations

from types import SimpleNamespace

from ..model.modifiers import SYNONYMS
from ..numerals import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    Options = Namespace | SimpleNamespace

__all__ = [
    "ACTIONS", "FIELDS", "FILE_OPTIONS", "FLAGS", "FORMAT_FIELDS", "MATRICES", "MATRIX_NAMES", "MODIFIERS", "NAMES",
    "NUMBERS", "OLDER_SPELLINGS", "STYLES", "TENSOR_MEMORY", "TENSOR_MEMORY_NAMES", "assembly_spellings", "file_option",
    "name_metavar", "scan", "spellings", "with_shape",
]  # fmt: skip

ACTIONS: dict[str, tuple[str | None, str]] = {
    "get_register": ("-g", "print the register and lane of one element"),
    "matrix_entry": ("-m", "print the elements in one register and lane"),
    "register_layout": ("-R", "print the registers and lanes of every element"),
    "matrix_layout": ("-M", "print the elements in every register and lane"),
    "pattern": (None, "print the operand's layout as an einops-like pattern, with its digit sizes"),
}
MATRICES: dict[str, tuple[str | None, str]] = {
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
# Modifiers that take a number, and those that take a name as well.
FIELDS = {
    "abid": (None, "A-matrix Broadcast Identifier: which block they read, or which set of compression indices"),
    "opsel": (None, "OPSEL: the half of each C and D register, the set of indices, or the low bit of the scale bytes"),
    "op_sel_hi": (None, "OP_SEL_HI: the high bit of the byte that holds the scales: bit 0 of A, bit 1 of B (CDNA4)"),
    "neg": (None, "NEG: bit 0 negates A, bit 1 B (low halves), bit 2 C; of integers, which are signed"),
    "neg_hi": (None, "NEG_HI: the same for high halves; bit 2 takes the absolute value of C"),
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
    "matrix_a_scale": (None, "the half of the wave that holds the scales of A on CDNA5: 0 or MATRIX_SCALE_ROW0, 1"),
    "matrix_b_scale": (None, "the half of the wave that holds the scales of B on CDNA5: 0 or MATRIX_SCALE_ROW0, 1"),
}
MODIFIERS = (*FIELDS, *FORMAT_FIELDS)
# The shape of tcgen05, which is in its instruction descriptor, and places in Tensor Memory. The short -M is AMD's table
# of registers; before a number it is --m (see `with_shape`).
TENSOR_MEMORY: dict[str, tuple[str | None, str]] = {
    "m": (None, "tcgen05: the M of the instruction descriptor; -M before a number means the same"),
    "n": ("-N", "tcgen05: the N of the instruction descriptor"),
    "k": (None, "tcgen05: the K of one MMA, where a kind has several"),
    "column": (None, "tcgen05, with -m: the column of Tensor Memory; -l is the lane"),
    "cta": (None, "tcgen05, with -m: the CTA of a pair"),
    "half": (None, "tcgen05: bit 4 of the lane in the address, where 64 rows are in every other 16 lanes"),
    "scale_id_a": (None, "tcgen05: the byte of a word at which the scales of A begin"),
    "scale_id_b": (None, "tcgen05: the byte of a word at which the scales of B begin"),
}
TENSOR_MEMORY_NAMES = {
    "a_type": (None, "tcgen05: the type of A, such as bf16 or e4m3"),
    "b_type": (None, "tcgen05: the type of B"),
    "d_type": (None, "tcgen05: the type of D, f32 or f16"),
    "load": (None, "tcgen05, with -D and -g: also the thread and register after this load, such as 32x32b.x32"),
}
STYLES: dict[str, tuple[str | None, str]] = {
    "csv": ("-c", "print tables as comma-separated values"),
    "markdown": (None, "print tables as Markdown"),
    "asciidoc": (None, "print tables as AsciiDoc"),
    "json": (None, "answer with JSON"),
}
# The files of operands of which the classic command line has a flag: they have the operands' names.
FILE_OPTIONS = {"scale_a": ("--sa", "--scale-a"), "scale_b": ("--sb", "--scale-b")}
# Older spellings, of which the rule of CONTRIBUTING.md ("Options") does not hold: the command, and what is written now.
OLDER_SPELLINGS = {
    ("find", "--a"): "--a-type", ("find", "--b"): "--b-type", ("find", "--c"): "--c-type", ("find", "--d"): "--d-type",
    ("gemm", "--random"): "--gemm", ("gemm", "--scale-a"): "--sa", ("gemm", "--scale-b"): "--sb",
    ("generate", "--ld"): "--ld-kind", ("run", "--scale-a"): "--sa", ("run", "--scale-b"): "--sb",
    ("run-kernel", "--block"): "--block-dim", ("transpose-loads", "-l"): "--load",
}  # fmt: skip
# Every option by what follows it: nothing, a whole number, a number or a format's name, or a name.
FLAGS: dict[str, tuple[str | None, str]] = {
    "version": ("-v", "show the version; with --json also what it runs on, for bug reports"),
    "list_instructions": ("-L", "list the architecture's instructions"),
    "detail_instruction": ("-d", "print all details of the instruction"),
    **ACTIONS,
    **MATRICES,
    "output_calculation": ("-o", "with -D and -g or -m: show what the element is the sum of"),
    "transpose": (None, "swap the rows and columns of a table"),
    **STYLES,
}
NUMBERS: dict[str, tuple[str | None, str]] = {
    "I_coordinate": ("-I", "the row of A, C, D or K"),
    "J_coordinate": ("-J", "the column of B, C or D"),
    "K_coordinate": ("-K", "the column of A or K, the row of B"),
    "block": ("-b", "the block, of an instruction that has several"),
    "register": ("-r", "the register, counted from the operand's first"),
    "lane": ("-l", "the lane of the wave"),
    "wavefront": ("-w", "the wave size: 32 or 64 on RDNA"),
    **FIELDS,
    **TENSOR_MEMORY,
}
NAMES: dict[str, tuple[str | None, str]] = {
    "architecture": ("-a", "the GPU architecture, by any of its names"),
    "instruction": ("-i", "instruction name (case-insensitive)"),
    **TENSOR_MEMORY_NAMES,
}


def file_option(name: str) -> tuple[str, ...]:
    """The ways to write the option whose file holds a matrix."""
    return FILE_OPTIONS.get(name, (f"--{name}",))


def name_metavar(name: str) -> str:
    """What follows an option of NAMES, as help calls it."""
    return "FORMAT" if name.endswith("_type") else "NAME"


def spellings(name: str, short: str | None) -> tuple[str, ...]:
    """The ways to write an option: short if it has one, with hyphens, with underscores."""
    long = dict.fromkeys(("--" + name.replace("_", "-"), "--" + name))
    return (short, *long) if short else tuple(long)


def assembly_spellings(name: str) -> tuple[str, ...]:
    """The ways to write a modifier's option by the names that assembly has for the field; help does not list them.

    >>> assembly_spellings("neg")
    ('--neg-lo', '--neg_lo')
    """
    return tuple([way for word, meant in SYNONYMS.items() if meant == name for way in spellings(word, None)])


_MEANINGS = {
    spelling: (name, what)
    for what, options in (("flag", FLAGS), ("number", NUMBERS), ("format", FORMAT_FIELDS), ("name", NAMES))
    for name, (short, _) in options.items()
    for spelling in (*spellings(name, short), *assembly_spellings(name))
}
_DEFAULTS = dict.fromkeys(NAMES) | dict.fromkeys(FLAGS, False) | dict.fromkeys((*NUMBERS, *FORMAT_FIELDS), 0)


def with_shape(argv: Sequence[str]) -> list[str]:
    """A command line with -M before a number written as --m: AMD's -M takes no value, so nothing else is meant.

    >>> with_shape(["-M", "128", "-N", "256"]), with_shape(["-A", "-M"])
    (['--m', '128', '-N', '256'], ['-A', '-M'])
    """
    following = [*argv[1:], ""]
    return ["--m" if word == "-M" and after.isdecimal() else word for word, after in zip(argv, following)]


def scan(argv: Sequence[str]) -> SimpleNamespace | None:
    """Read a command line whose options are unabbreviated and separate from their values.

    argparse takes longer to import than a query takes to answer, so it is called only where this returns None: for
    abbreviations, `--lane=3`, `-gA`, help, and errors. `classic.add_arguments` is the authority.
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
        values[name] = True if what == "flag" else whole(value, f"--{name}") if number else value
    return SimpleNamespace(**values)
