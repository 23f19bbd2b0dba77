"""The options that several commands have: the one description of each, and what reads their values.

The options of the classic command line are tables, for a query is answered in less time than it takes to make records
of them; a command has them as `Option`s.
"""

from __future__ import annotations

from ..base.checks import number as number_of
from ..base.checks import real
from ..base.errors import Error
from ..model.instruction import SYNONYMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from . import Option, Options

__all__ = [
    "ACTIONS", "FIELDS", "FLAGS", "FORMAT_FIELDS", "MATRICES", "MATRIX_NAMES", "MODIFIERS", "NAMES", "NUMBERS",
    "STYLES", "TENSOR_MEMORY", "TENSOR_MEMORY_NAMES", "WIDTH", "assembly_spellings", "either", "file_option",
    "files", "flag_options", "fraction", "is_modifier", "matrices", "modifier_fields", "modifiers", "name_options",
    "number_options", "number_or_name", "shape", "spellings", "terminal_width", "whole_number",
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
    "abid": (None, "A-matrix Broadcast Identifier: which block of A is broadcast, or which set of compression indices"),
    "opsel": (None, "OPSEL: the half of each C and D register, the set of indices, or the low bit of the scale bytes"),
    "op_sel_hi": (None, "OP_SEL_HI: the high bit of the byte that holds the scales: bit 0 of A, bit 1 of B (CDNA4)"),
    "neg": (None, "NEG: bit 0 negates A, bit 1 B (low halves), bit 2 C; for integers: which operands are signed"),
    "neg_hi": (None, "NEG_HI: the same for high halves; bit 2 takes the absolute value of C"),
    "selector": (None, "NVIDIA's sparsity selector: which lanes of each four hold the metadata K"),
    "byte_id_a": (None, "NVIDIA's byte-id-a: the first byte of the scales of A"),
    "thread_id_a": (None, "NVIDIA's thread-id-a: which lanes hold the scales of A"),
    "byte_id_b": (None, "NVIDIA's byte-id-b: the first byte of the scales of B"),
    "thread_id_b": (None, "NVIDIA's thread-id-b: which lane of each four holds the scales of B"),
}
FORMAT_FIELDS = {
    "cbsz": (None, "Control Broadcast Size: 2^CBSZ blocks read one block of A; for f8f6f4: the format of A (fp8 ...)"),
    "blgp": (None, "B-matrix Lane Group Pattern; for FP64: which of A, B, C are negated; for f8f6f4: the format of B"),
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
FILE_OPTIONS = {"scale_a": "--sa", "scale_b": "--sb"}
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


def file_option(name: str) -> str:
    """How the option whose file holds a matrix is written."""
    return FILE_OPTIONS.get(name, f"--{name}")


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


# --- the options of a command -----------------------------------------------------------------------------------------


def _option(name: str, ways: Iterable[str], text: str, **rest: Any) -> Option:
    from . import Option

    return Option(**{"name": name, "spellings": tuple(ways), "help": text, **rest})


def number_options(
    table: Mapping[str, tuple[str | None, str]], kind: Callable[[str], object], default: int | None = None
) -> tuple[Option, ...]:
    """Options that take a number; a modifier also by the names of assembly, which help leaves out."""
    rest: dict[str, Any] = {"placeholder": "#", "kind": kind, "default": default}
    return tuple([
        _option(name, spellings(name, short), text, **rest, hidden=assembly_spellings(name))
        for name, (short, text) in table.items()
    ])  # fmt: skip


def name_options(table: Mapping[str, tuple[str | None, str]]) -> tuple[Option, ...]:
    """Options that take a name, or of a type a format."""
    return tuple([
        _option(name, spellings(name, short), text, placeholder="FORMAT" if name.endswith("_type") else "NAME")
        for name, (short, text) in table.items()
    ])  # fmt: skip


def flag_options(table: Mapping[str, tuple[str | None, str]]) -> tuple[Option, ...]:
    """Options that nothing follows."""
    return tuple([_option(name, spellings(name, short), text, default=False) for name, (short, text) in table.items()])


def matrices(verb: str) -> tuple[Option, ...]:
    """The flags that choose an operand, with what is done with it."""
    return flag_options({name: (short, text.replace("query", verb)) for name, (short, text) in MATRICES.items()})


def files(table: Mapping[str, str]) -> tuple[Option, ...]:
    """An option for each matrix that a file can hold, by name, with what it is."""
    return tuple([
        _option(
            name, dict.fromkeys((file_option(name), "--" + name.replace("_", "-"))),
            f".npy, .npz:NAME or .csv file: {text}", placeholder="FILE",
            older=("--" + name.replace("_", "-"),) if name in FILE_OPTIONS else (),
        )
        for name, text in table.items()
    ])  # fmt: skip


def modifier_fields(default: int | None = None) -> tuple[Option, ...]:
    """Every modifier under its own name."""
    formats = [
        each._replace(known=_SCALE_FORMATS if each.name.endswith("scale_fmt") else _NARROW_FORMATS)
        if not each.name.endswith("scale") else each._replace(known=("MATRIX_SCALE_ROW0", "MATRIX_SCALE_ROW1"))
        for each in number_options(FORMAT_FIELDS, number_or_name, default)
    ]  # fmt: skip
    return (*number_options(FIELDS, whole_number, default), *formats)


_NARROW_FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")
_SCALE_FORMATS = ("e8m0", "e5m3", "e4m3")


def is_modifier(option: Option) -> bool:
    """Whether an option is a modifier, or -m, which takes any: help has one line for all of them.

    The selector of a descriptor is not a modifier: it is a field of its own.
    """
    return option.name == "modifier" or (option.name in MODIFIERS and option.default is None)


WIDTH = 110  # characters in a line, where no terminal says how wide it is


def terminal_width() -> int:
    """Characters in a line of the terminal (COLUMNS, if it is set); WIDTH where there is no terminal."""
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns


# --- what reads a value -----------------------------------------------------------------------------------------------


def _refused(text: str) -> Exception:
    from argparse import ArgumentTypeError

    return ArgumentTypeError(text)


def whole_number(text: str) -> int:
    """The argument type of every index and field."""
    value = number_of(text)
    if value is None:
        raise _refused(f"'{text[:40]}' is not a whole number from 0 up (to 18 digits)")
    return value


def fraction(text: str) -> float:
    """The argument type of a factor."""
    if (value := real(text)) is None:
        raise _refused(f"'{text[:40]}' is not a number, such as 0.5")
    return value


def number_or_name(text: str) -> int | str:
    """The argument type of fields whose values have names, such as those of formats: a whole number, or a name."""
    return text if text[:1].isalpha() else whole_number(text)


def shape(written: str, text: str) -> tuple[int, int, int]:
    """M, N and K written as 16x16x32, after the option that is `written` so.

    Raises:
        Error: they are not.
    """
    sizes = [number_of(part.strip()) for part in text.lower().replace("*", "x").replace(",", "x").split("x")]
    if len(sizes) != 3 or None in sizes:
        raise Error(f"{written} takes M, N and K, such as 16x16x32; got '{text[:60]}'")
    m, n, k = (size or 0 for size in sizes)
    return m, n, k


def field_value(text: str) -> tuple[str, int | str]:
    """A modifier and its value, as -m takes them.

    >>> field_value("cbsz=0x1"), field_value("CBSZ = fp4")
    (('cbsz', 1), ('cbsz', 'fp4'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise Error(f"-m takes NAME=VALUE, such as cbsz=1 or cbsz=fp4; got '{text[:40]}'")
    if value[:1].isalpha():
        return name.lower(), value
    found = number_of(value)
    if found is None:
        raise Error(f"-m {name}: '{value[:40]}' is not a whole number from 0 up (to 18 digits)")
    return name.lower(), found


def either(what: str, positional: str | None, written: str | None) -> str | None:
    """What was given by itself or after an option.

    Raises:
        Error: both were given.
    """
    if positional is not None and written is not None:
        raise Error(f"{what} was given twice: {positional} and {written}; leave one out")
    return written if positional is None else positional


def modifiers(options: Options, taken: Sequence[str] = ()) -> dict[str, Any]:
    """The modifiers of a command line, by their own options and by -m.

    Args:
        options: of a command with `common.MODIFIERS`. taken: the only ones that the command takes; all if empty.

    Raises:
        Error: one was given twice with different values, or the command does not take it.
    """
    named = [(name, value) for name in MODIFIERS if (value := getattr(options, name)) is not None]
    found: dict[str, int | str] = {}
    for name, value in (*named, *map(field_value, options.modifier)):
        if found.setdefault(name, value) != value:
            raise Error(f"{name} was given twice: {found[name]} and {value}")
        if taken and name not in taken:
            raise Error(f"{name} is not a modifier that this takes; known: {', '.join(taken)}")
    return found
