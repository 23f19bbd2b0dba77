"""Encode and decode the descriptors of tcgen05 and wgmma, field by field; the byte of an element in a swizzle's atom.

    mmacalc descriptor f16 -M 128 -N 256 --a-type bf16             the instruction descriptor of kind::f16
    mmacalc descriptor f16 0x08400490                              the same, decoded
    mmacalc descriptor tcgen05 --address 0x400 --leading 16 --stride 1024 --swizzle 128B
    mmacalc descriptor wgmma 0x4000004000010040                    a shared memory descriptor, decoded
    mmacalc descriptor atom --swizzle 128B --type f16 --major k    the bytes of a swizzle's atom

An instruction descriptor has the shape and types of a tcgen05.mma, and its bits mean other things by kind; a shared
memory descriptor, of tcgen05 or wgmma, says where an operand lies.
"""

from __future__ import annotations

from ..errors import Error, did_you_mean
from ..families import descriptors
from . import Reply, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from .parser import Parser

FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "transpose_a", "transpose_b")
NUMBERS = {
    "k": "K, where the kind has several", "selector": "the sparsity selector", "max_shift": "0, 8, 16 or 32, with .ws",
    "scale_id_a": "the byte of a word at which the scales of A begin", "scale_id_b": "the same of B",
}  # fmt: skip
TYPES = {"a": "the type of A", "b": "the type of B", "d": "the type of D", "scale": "of scales: ue8m0 or ue4m3"}


def _word(text: str) -> int:
    """The argument type of a descriptor, which has up to 64 bits."""
    from argparse import ArgumentTypeError

    from ..numerals import number

    value = number(text, (1 << 64) - 1)
    if value is None:
        raise ArgumentTypeError(f"'{text[:40]}' is not a whole number of at most 64 bits, such as 0x08400490")
    return value


def add_arguments(parser: Parser) -> None:
    """Declare this command's arguments."""
    from .parser import whole_number

    what = (*descriptors.INPUT_CODES, *descriptors.SHARED_FIELDS, "atom")
    parser.add_argument("what", metavar="KIND", help=f"a kind or unit, or an atom: {', '.join(what)}")
    parser.add_argument("value", nargs="?", type=_word, help="a descriptor to decode, such as 0x08400490")
    parser.add_argument("-M", "--m", type=whole_number, metavar="#", help="instruction: M")
    parser.add_argument("-N", "--n", type=whole_number, metavar="#", help="instruction: N")
    for name, text in TYPES.items():
        parser.add_argument(f"--{name}-type", dest=f"{name}_type", metavar="FORMAT", help=f"instruction: {text}")
    for name in FLAGS:
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, action="store_true", help=f"instruction: {name.replace('_', ' ')}")
    for name, text in NUMBERS.items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=whole_number, default=0, metavar="#", help=f"instruction: {text}")
    for name, text in (("address", "start address"), ("leading", "leading offset"), ("stride", "stride offset")):
        parser.add_argument(
            f"--{name}", type=whole_number, default=0, metavar="#", help=f"shared-memory: the {text}, in bytes"
        )
    parser.add_argument("--base-offset", type=whole_number, default=0, metavar="#", help="shared-memory: base offset")
    parser.add_argument("--swizzle", default="128B", metavar="SWIZZLE", help="none, 32B, 64B, 128B or 128B-base32B")
    parser.add_argument("--type", default="f16", metavar="FORMAT", help="atom: the type of the elements")
    parser.add_argument("--major", choices=("k", "mn"), default="k", help="atom: what runs along a row")
    parser.add_common("json")


def run(options: Namespace) -> Reply:
    """A descriptor's fields, or an atom's bytes."""
    from ..render import descriptor, swizzle_atom

    if options.what == "atom":
        from ..answers.swizzle_atom import swizzle_atom as atom

        if options.value is not None:
            raise Error("an atom has no value to decode; choose it by --swizzle, --type and --major")
        found = atom(_swizzle(options), options.type, options.major)
        return show(options.json, "swizzle-atom", found, swizzle_atom)
    known = (*descriptors.INPUT_CODES, *descriptors.SHARED_FIELDS, "atom")
    if options.what not in known:
        hint = did_you_mean(options.what, known)
        raise Error(f"unknown descriptor '{options.what}'.{hint} Known: {', '.join(known)}")
    encode = _shared_memory if options.what in descriptors.SHARED_FIELDS else _instruction
    return show(options.json, "descriptor", encode(options), descriptor)


def _swizzle(options: Namespace) -> str:
    name: str = options.swizzle
    return name.replace("-", " ")


def _instruction(options: Namespace) -> descriptors.Descriptor:
    if options.value is not None:
        return descriptors.decode_instruction(options.value, options.what)
    if options.m is None or options.n is None:
        raise Error("-M and -N give the shape to encode, such as -M 128 -N 256; or give a descriptor to decode")
    given: dict[str, int | str] = {name: getattr(options, f"{name}_type") for name in TYPES}
    given |= {name: int(getattr(options, name)) for name in (*FLAGS, *NUMBERS)}
    chosen = {name: value for name, value in given.items() if value}
    return descriptors.instruction_descriptor(options.what, options.m, options.n, **chosen)


def _shared_memory(options: Namespace) -> descriptors.Descriptor:
    if options.value is not None:
        return descriptors.decode_shared_memory(options.value, options.what)
    return descriptors.shared_memory_descriptor(
        options.address, options.leading, options.stride, _swizzle(options), options.what, options.base_offset
    )
