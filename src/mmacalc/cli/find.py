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
"""

from __future__ import annotations

from ..catalog import entry
from ..errors import Error, did_you_mean, first_of
from ..render import matches
from ..search import find
from ..search_words import name_parts, read_words
from . import Reply, show
from .parser import either, shape, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help="what must fit: a part of the mnemonic, a shape, a format ...")
    add("-i", "--instruction", metavar="NAME", help="the same")
    add("-a", "--architecture", metavar="NAME", help="one architecture only")
    add("--shape", metavar="MxNxK", help="the shape of one block, such as 16x16x32")
    for size in ("m", "n", "k"):
        add(f"--{size}", type=whole_number, metavar="#", help=f"the size {size.upper()} of one block")
    add("--blocks", type=whole_number, metavar="#", help="how many blocks one instruction multiplies")
    for operand in "abcd":
        text = f"the format of {operand.upper()}, by any of its names"
        add(f"--{operand}-type", f"--{operand}", dest=operand, metavar="FORMAT", help=text)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--sparse", action="store_true", default=None, help="sparse instructions only")
    kind.add_argument("--dense", dest="sparse", action="store_false", help="dense instructions only")
    add("--opcode", type=whole_number, metavar="#", help="the opcode field, decimal or 0x...")
    add("--intrinsic", metavar="NAME", help="a part of the name of a compiler builtin or intrinsic")
    parser.add_common("json")


def run(options: Namespace) -> Reply:
    """List the matches."""
    m, n, k = _shape(options)
    name = either("the name", " ".join(options.words) or None, options.instruction)
    criteria = {
        "arch": options.architecture, "m": m, "n": n, "k": k, "blocks": options.blocks, "a": options.a,
        "b": options.b, "c": options.c, "d": options.d, "sparse": options.sparse, "opcode": options.opcode,
        "intrinsic": options.intrinsic, "name": name,
    }  # fmt: skip
    found = find(**criteria)
    if not found:
        raise Error(f"no instruction matches all criteria; {_advice(criteria)}")
    notes = filter(None, [matches.count(found)])
    return show(options.json, "list-instructions", found, matches, notes=notes)


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
            return f"{title} has none with '{word}' in its name; these have: {first_of(having, 12)}"
    fewer = {word: {**criteria, "name": " ".join(other for other in words if other != word)} for word in words}
    for key in [key for key, value in criteria.items() if value is not None and key != "name"]:
        fewer["-a" if key == "arch" else f"--{key}"] = {**criteria, key: None}
    counts = {left_out: len(find(**rest)) for left_out, rest in fewer.items()}
    if len(fewer) < 2 or not any(counts.values()):
        return "leave one or several out"
    return ", ".join(f"without {left_out} {count} do" for left_out, count in counts.items() if count)


def _shape(options: Namespace) -> tuple[int | None, int | None, int | None]:
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
