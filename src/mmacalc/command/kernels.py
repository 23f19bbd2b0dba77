"""What the commands that launch a kernel take: its arguments, the grid, and what else a launch has."""

from __future__ import annotations

from ..base.checks import number, real, whole
from ..base.errors import Error, plural
from ..base.records import TupleRecord
from ..families.shared_memory import COPY_PATTERNS
from . import number as number_option
from . import option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

__all__ = ["BUNDLED", "LAUNCH", "KernelArguments", "kernel_arguments", "write_outputs"]

BUNDLED = option("-a", "--architecture", placeholder="NAME", help="which object of a bundle, such as gfx942 or sm_90a")
LAUNCH = (
    number_option(
        "--grid", nargs="+", default=[1], placeholder="N", help="workgroups along x, y, z (default: 1)"
    ),
    number_option(
        "--block-dim", "--block", name="block", nargs="+", default=[64], placeholder="N", older=("--block",),
        help="threads of a workgroup along x, y, z (default: 64)",
    ),
    option("--args", nargs="*", default=[], placeholder="ARGUMENT", help="the kernel's arguments, see above"),
    number_option("--shared", default=0, placeholder="BYTES", help="dynamic LDS (default: 0)"),
    number_option("--limit", placeholder="N", help="stop after N instructions, of all waves (default: none)"),
    number_option("--cluster", nargs="+", placeholder="N", help="CTAs of a cluster along x, y, z (PTX, gfx1250)"),
    number_option("--schedule", placeholder="SEED", help="another order of the waves or warps (default: a fixed one)"),
)  # fmt: skip
"""The options of a launch."""

OUTPUT, MAP, BUFFER = "out:", "map:", "buffer:"
ELEMENTS = ("bf16", "tf32", "b4x16", "b4x16_p64", "b6x16_p32")
"""Types of a tensor map that arrays do not say themselves."""


class KernelArguments(TupleRecord):
    """What --args gives: values one by one, or a buffer of all; the arrays that are written back, by file; the files
    that are only read; the arrays whose addresses are in the buffer."""

    values: tuple[Any, ...]
    buffer: bytes | None
    outputs: dict[str, NDArray[Any]]
    inputs: tuple[str, ...]
    held: tuple[Any, ...] = ()


def write_outputs(arguments: KernelArguments) -> None:
    """Write the arrays that are written back."""
    if arguments.outputs:
        from ..base.files import write
        from .arrays import content

        contents = {path: content("--args", path, array) for path, array in arguments.outputs.items()}
        write(contents, list(arguments.inputs))


def kernel_arguments(words: list[str]) -> KernelArguments:
    """The arguments that the words of --args give.

    Raises:
        Error: one that cannot be read, or does not fit.
    """
    outputs: dict[str, NDArray[Any]] = {}
    inputs: list[str] = []
    if words and words[0].startswith(BUFFER):
        return _buffer(words, outputs, inputs)
    values = tuple([_argument(word, outputs, inputs) for word in words])
    return KernelArguments(values, None, outputs, tuple(inputs))


def _argument(word: str, outputs: dict[str, NDArray[Any]], inputs: list[str]) -> Any:
    """An argument; arrays that are written back and files that are read are entered."""
    if word.startswith(BUFFER):
        raise Error(f"--args: {BUFFER} is all arguments in one, and comes first; got '{word[:60]}' behind others")
    box, given = _map(word) if word.startswith(MAP) else (None, word)
    if given.startswith(OUTPUT):
        path, value = _output(given.removeprefix(OUTPUT))
        value = outputs.setdefault(path, value)  # an array may be given by its address and by a map
    elif given.lower().endswith(".npy"):
        inputs.append(given)
        value = _array(given)
    elif box is None:
        value = _value(given)
    else:
        raise Error(f"--args: map: ends in an array, FILE.npy or out:FILE.npy; got '{word[:60]}'")
    return value if box is None else _mapped(value, *box)


def _buffer(words: list[str], outputs: dict[str, NDArray[Any]], inputs: list[str]) -> KernelArguments:
    """All arguments as they lie in memory: the first word their bytes, the others arrays whose addresses are in it."""
    from ..kernels.device.memory import address_of
    from .files import read_bytes

    given = words[0].removeprefix(BUFFER)
    if given[:2].lower() == "0x":
        content = bytearray(_hexadecimal(given))
    else:
        content = bytearray(_array(given).tobytes() if given.lower().endswith(".npy") else read_bytes(given))
        inputs.append(given)
    held = []
    for word in words[1:]:
        offset_text, equals, array_text = word.partition("=")
        offset = number(offset_text, max(len(content) - 8, -1), 0)
        if not equals or offset is None or not (array_text.startswith(OUTPUT) or array_text.lower().endswith(".npy")):
            raise Error(
                f"--args: behind {BUFFER} come arrays whose addresses are in it, OFFSET=FILE.npy or "
                f"OFFSET=out:FILE.npy, each in eight of its {plural(len(content), 'byte')}; got '{word[:60]}'"
            )
        held.append(_argument(array_text, outputs, inputs))
        content[offset : offset + 8] = address_of(held[-1]).to_bytes(8, "little")
    return KernelArguments((), bytes(content), outputs, tuple(inputs), tuple(held))


def _hexadecimal(text: str) -> bytes:
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        raise Error(f"--args: {BUFFER}0x takes two hexadecimal digits for each byte; got '{text[:40]}'") from None


def _map(word: str) -> tuple[tuple[tuple[int, ...], str, str | None], str]:
    """The box, swizzle and element type of a tensor map, and the word of its array: map:64x64:128B:a.npy."""
    box, _, rest = word.removeprefix(MAP).partition(":")
    try:
        sizes = tuple([whole(size, "a size") for size in box.split("x")])
    except Error:
        raise Error(
            f"--args: '{word[:60]}': map: begins with the box of the tensor map, such as map:64x64:128B:a.npy"
        ) from None
    options = {name.lower().replace(" ", "-"): name for name in (*COPY_PATTERNS, *ELEMENTS)}
    found: dict[str, str] = {}
    while (option := options.get(rest.partition(":")[0].lower())) is not None:
        found["element" if option in ELEMENTS else "swizzle"] = option
        rest = rest.partition(":")[2]
    wrong = rest.partition(":")[0]
    if wrong.partition("-")[0][:-1].isdigit() and wrong.partition("-")[0][-1:] in "bB":
        known = ", ".join(name.replace(" ", "-") for name in COPY_PATTERNS)
        raise Error(f"--args: the swizzle of a tensor map is one of {known}; got '{wrong}'")
    return (sizes, found.get("swizzle", "none"), found.get("element")), rest


def _mapped(array: NDArray[Any], box: tuple[int, ...], swizzle: str, element: str | None) -> Any:
    from ..kernels.ptx.tensor_map import tensor_map

    return tensor_map(array, box, swizzle=swizzle, element=element)


def _array(path: str) -> NDArray[Any]:
    """The array of a file, in C order, however the file keeps it."""
    import numpy as np

    from .arrays import load

    return np.ascontiguousarray(load("--args", path, (), False))


def _output(word: str) -> tuple[str, NDArray[Any]]:
    import numpy as np

    path, _, rest = word.partition(":")
    if not path.lower().endswith(".npy"):
        raise Error(f"--args: out: takes a .npy file, as out:d.npy or out:d.npy:f4:64x64; got 'out:{word}'")
    if not rest:
        return path, np.array(_array(path))
    kind, _, shape = rest.partition(":")
    try:
        array = np.zeros([whole(size, "a size") for size in shape.split("x")], kind)
    except (TypeError, ValueError, MemoryError):
        raise Error(
            f"--args: '{rest}' cannot be read as a type and a shape, such as f4:64x64 for 64 rows of 64 float32"
        ) from None
    if array.dtype.hasobject or array.dtype.kind not in "biuf":
        raise Error(f"--args: unknown element type '{kind}'; types are such as f4, f2, i4 or u1", kind="unknown name")
    return path, array


def _value(word: str) -> Any:
    if word == "null":
        return None
    value = number(word, (1 << 64) - 1, -(1 << 63))
    found = real(word) if value is None and not word.lstrip("-").isalnum() else value
    if found is None:
        raise Error(
            f"--args: '{word[:40]}' is neither a .npy file, out:FILE.npy, a number (of at most 64 bits), null nor "
            "buffer:FILE; see mmacalc run-kernel -h"
        )
    return found
