"""The names of tcgen05 instructions: what their qualifiers mean, and which targets take them.

A name is an operation and a set of qualifiers. `refusal` says why a target refuses one, in words; it is a list of
rules, tried against ptxas 13.5.37 on 4,123 forms and eight targets. What only the instruction descriptor or an address
says (shapes, types, transposes), no assembler checks: see `mmacalc.families.tensor_memory_shapes`.

ptxas takes a scale-input-d immediate on dense .kind::i8, even one out of range, which the PTX ISA does not have; here
it is refused.

Sources: PTX ISA 9.1, section 9.7.16, and 9.4, section 9.7.18; ptxas 13.5.37.
"""

from __future__ import annotations

from ...errors import Error, did_you_mean
from ...families.tensor_memory_moves import LOADS, MOST_REGISTERS
from ...numerals import number, whole
from ...records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["TARGETS", "Name", "parse", "refusal"]

RUBIN = ("sm_107a", "sm_107f")
TARGETS = ("sm_100a", "sm_100f", "sm_103a", "sm_103f", *RUBIN, "sm_110a", "sm_110f")
OWN = tuple(target for target in TARGETS if target.endswith("a"))
KINDS: dict[str, tuple[str, ...]] = {
    "f16": TARGETS, "tf32": TARGETS, "f8f6f4": TARGETS, "i8": ("sm_100a", "sm_110a"), "ti16": RUBIN,
    "mxf8f6f4": TARGETS, "mxf4": TARGETS, "mxf4nvf4": TARGETS,
}  # fmt: skip
# The sizes of scale vectors that a kind takes, with the scales of a row and of the usual K; "" is none named.
SCALES = {
    "mxf8f6f4": {"": 1, "block32": 1, "scale_vec::1X": 1},
    "mxf4": {"": 2, "block32": 2, "scale_vec::2X": 2},
    "mxf4nvf4": {"block32": 2, "scale_vec::2X": 2, "block16": 4, "scale_vec::4X": 4},
}
SCALE_WORDS = ("block16", "block32", "scale_vec::1X", "scale_vec::2X", "scale_vec::4X")
ACTIONS = ("fill", "use", "lastuse", "discard")
DECOMPRESSIONS = ("b4x16_p64", "b6x16_p32")
_SYNC = "sync aligned"
_COUNTS = "x1 x2 x4 x8 x16 x32 x64 x128"
# The qualifiers of each operation: those that it must have, and those that it may have.
QUALIFIERS = {
    "mma": ("", "sp ws block_scale ashift decompress::lut::b " + " ".join(SCALE_WORDS)),
    "ld": (_SYNC, f"pack::16b red spcompress min max abs NaN sp::2:4 b32 f32 s32 u32 b2 {_COUNTS}"),
    "st": (f"{_SYNC} b32", f"unpack::16b {_COUNTS}"),
    "cp": ("", "b8x16 warpx4 warpx2::02_13 warpx2::01_23 " + " ".join(DECOMPRESSIONS)),
    "shift": ("down", ""),
    "alloc": (f"{_SYNC} shared::cta b32", "exclusive"),
    "dealloc": (f"{_SYNC} b32", "exclusive"),
    "relinquish_alloc_permit": (_SYNC, ""),
    "commit": (
        "mbarrier::arrive::one b64",
        "shared::cluster multicast::cluster multicast::cluster::32b sync_restrict::shared::read::mma::a",
    ),
    "wait::ld": (_SYNC, ""), "wait::st": (_SYNC, ""),
    "fence::before_thread_sync": ("", ""), "fence::after_thread_sync": ("", ""),
}  # fmt: skip
GROUPED = ("mma", "cp", "shift", "alloc", "dealloc", "relinquish_alloc_permit", "commit")
COPIES = ("128x256b", "128x128b", "4x256b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4")


class Name(TupleRecord):
    """A name taken apart.

    text: the whole name, in the case that PTX has; operation: mma, ld, cp ...; qualifiers: the rest; cta_group: 1 or 2, 0 if it has none; kind: as in .kind::f16;
    scale: the scale vector's size, "" if none is named; shape: of ld, st and cp; count: N of .xN, 0 if there is none;
    collectors: (buffer, action) of .collector::a::fill.
    """

    text: str
    operation: str
    qualifiers: frozenset[str]
    cta_group: int
    kind: str
    scale: str
    shape: str
    count: int  # type: ignore[assignment]  # not tuple's method
    collectors: tuple[tuple[str, str], ...]

    def has(self, word: str) -> bool:
        """Whether the name has a qualifier."""
        return word in self.qualifiers


_kept = Cache(1 << 10)


def parse(name: str) -> Name:
    """A name taken apart; its qualifiers may stand in any order.

    Raises:
        Error: a qualifier is unknown, missing or given twice.

    >>> parse("tcgen05.mma.cta_group::2.kind::f16.collector::a::fill").collectors
    (('a', 'fill'),)
    """
    made: Name = _kept.get(name, lambda: _parsed(name))
    return made


def _parsed(name: str) -> Name:
    words = [word for word in name.strip().split(".") if word][1:]
    operation = words.pop(0) if words else ""
    if operation not in QUALIFIERS:
        raise Error(f"there is no 'tcgen05.{operation}'.{did_you_mean(operation, QUALIFIERS)}")
    required, optional = (text.split() for text in QUALIFIERS[operation])
    known = {word.lower(): word for word in (*required, *optional)}
    words = [known.get(word.lower(), word) for word in words]
    if twice := [word for word in words if words.count(word) > 1]:
        raise Error(f"'{name}' has .{twice[0]} twice")
    group = _suffix(words, "cta_group::")
    kind = _suffix(words, "kind::")
    shape = next((word for word in words if word[:1].isdigit() and "x" in word), "")
    collectors = tuple([_collector(word) for word in words if word.startswith("collector::")])
    for word in words:
        if word.lower() not in known and not word.startswith(("cta_group::", "kind::", "collector::")) and word != shape:
            raise Error(f"tcgen05.{operation} has no qualifier .{word}.{did_you_mean(word, known)}")
    if missing := [word for word in required if word not in words]:
        raise Error(f"'{name}' lacks .{' and .'.join(missing)}")
    count = next((whole(word[1:], "a count") for word in words if word in _COUNTS.split()), 0)
    scale = " ".join([word for word in words if word in SCALE_WORDS])
    ctas = number(group) or 0
    text = ".".join(["tcgen05", operation, *words])
    return Name(text, operation, frozenset(words), ctas, kind, scale, shape, count, collectors)


def _suffix(words: Iterable[str], prefix: str) -> str:
    return next((word[len(prefix) :] for word in words if word.startswith(prefix)), "")


def _collector(word: str) -> tuple[str, str]:
    buffer, _, action = word.removeprefix("collector::").partition("::")
    return buffer, action


def refusal(name: str, target: str, operands: Iterable[str] = ()) -> str:
    """Why a target refuses a form; "" if it takes it.

    Args:
        name: with its qualifiers. target: such as sm_100a.
        operands: what of the operands matters: "tmem" for A in Tensor Memory, "mask4" or "mask8" for the words of
            disable-output-lane, "scale0" to "scale15" for scale-input-d, "zeromask", "ncols=64".

    >>> refusal("tcgen05.mma.cta_group::1.kind::i8", "sm_100f")
    'kind::i8 is of sm_100a and sm_110a'
    """
    if target not in TARGETS:
        return "it has no Tensor Memory"
    try:
        parsed = parse(name)
        given = tuple(operands)
        for taking, reason in _rules(parsed, given):
            if target not in taking:
                return reason
    except Error as problem:
        return str(problem)
    return ""


def _rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The targets that take a form as far as each rule goes, with what the rule says; no targets where none does."""
    if name.operation in GROUPED and name.cta_group not in (1, 2):
        yield (), f"tcgen05.{name.operation} has .cta_group::1 or .cta_group::2"
    rules = {"mma": _mma_rules, "ld": _move_rules, "st": _move_rules, "cp": _copy_rules, "commit": _commit_rules}
    if name.operation in rules:
        yield from rules[name.operation](name, operands)
    if name.operation == "shift":
        yield OWN, "tcgen05.shift is of the targets with an a"
    if name.operation in ("alloc", "dealloc"):
        yield from _column_rules(name, operands)


def _mma_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if name.kind not in KINDS:
        yield (), f"there is no .kind::{name.kind}; the kinds are {', '.join(KINDS)}.{did_you_mean(name.kind, KINDS)}"
        return
    yield KINDS[name.kind], f"kind::{name.kind} is of {' and '.join(KINDS[name.kind])}"
    scaled = name.kind in SCALES
    if scaled != name.has("block_scale"):
        yield (), f"kind::{name.kind} {'needs' if scaled else 'does not take'} .block_scale"
    if not scaled and name.scale:
        yield (), f"kind::{name.kind} has no scales, so no .{name.scale}"
    if scaled and name.scale not in SCALES[name.kind]:
        known = " or ".join(f".{word}" for word in SCALES[name.kind] if word)
        yield (), f"kind::{name.kind} takes {known}"
    if name.scale.startswith("scale_vec"):
        yield OWN, f".{name.scale} is of the targets with an a; elsewhere write .block16 or .block32"
    if name.kind in ("mxf4", "mxf4nvf4") and name.has("sp"):
        yield OWN, f"sparse kind::{name.kind} is of the targets with an a"
    yield from (_ws_rules(name) if name.has("ws") else _collector_rules(name))
    yield from _operand_rules(name, operands, scaled)


def _ws_rules(name: Name) -> Iterator[tuple[tuple[str, ...], str]]:
    if name.cta_group != 1 or name.kind in SCALES:
        yield (), ".ws takes .cta_group::1 and no kind with scales"
    if name.has("ashift") or name.has("decompress::lut::b"):
        yield (), ".ws takes no .ashift and no .decompress"
    buffers = [f"b{number}" for number in range(4)]
    if any(buffer not in buffers or action not in ACTIONS for buffer, action in name.collectors):
        yield (), ".ws has the collectors b0 to b3 with ::fill, ::use, ::lastuse or ::discard"
    if len(name.collectors) > 1:
        yield (), ".ws takes one collector"


def _collector_rules(name: Name) -> Iterator[tuple[tuple[str, ...], str]]:
    collectors = dict(name.collectors)
    if len(collectors) < len(name.collectors) or not {*collectors} <= {"a", "b"}:
        yield (), "without .ws the collectors are a and b, each once"
    if not {*collectors.values()} <= {*ACTIONS}:
        yield (), "a collector does ::fill, ::use, ::lastuse or ::discard"
    if "b" in collectors:
        yield RUBIN, ".collector::b is of sm_107a and sm_107f"
    if name.has("ashift"):
        if name.kind in SCALES:
            yield (), ".ashift does not go with .block_scale"
        if collectors.get("a") in ("fill", "use"):
            yield (), f".ashift does not go with .collector::a::{collectors['a']}"
    if name.has("decompress::lut::b"):
        yield RUBIN, ".decompress::lut::b is of sm_107a and sm_107f"
        if name.kind not in ("f8f6f4", "mxf8f6f4") or name.has("sp"):
            yield (), ".decompress::lut::b goes with dense kind::f8f6f4 and kind::mxf8f6f4"


def _operand_rules(name: Name, operands: tuple[str, ...], scaled: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    if name.has("ashift") and operands and "tmem" not in operands:
        yield (), ".ashift shifts A in Tensor Memory"
    masks = [word for word in operands if word.startswith("mask")]
    if masks and (scaled or name.has("ws") or masks != [f"mask{4 * name.cta_group}"]):
        yield (), "disable-output-lane has 4 words, 8 with .cta_group::2; not with .block_scale or .ws"
    if "zeromask" in operands and not name.has("ws"):
        yield (), "the zero-column mask goes with .ws"
    for scale in [word[5:] for word in operands if word.startswith("scale")]:
        if name.kind not in ("f16", "tf32") or name.has("ws") or number(scale, 15) is None:
            yield (), "scale-input-d is 0 to 15, with kind::f16 and kind::tf32, without .ws"
        yield TARGETS[:6], "scale-input-d is not of sm_110a and sm_110f"


def _move_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if name.shape not in LOADS:
        yield (), f"tcgen05.{name.operation} has the shapes {', '.join(LOADS)}"
        return
    most = MOST_REGISTERS // LOADS[name.shape][-1]
    if not 1 <= name.count <= most:
        yield (), f".{name.shape} takes .x1 to .x{most}"
    if name.operation == "st":
        return
    if name.has("spcompress") or name.has("red"):
        yield from _reduction_rules(name)
    elif not name.has("b32") or name.qualifiers & {"min", "max", "abs", "NaN", "sp::2:4", "f32", "s32", "u32", "b2"}:
        yield (), "tcgen05.ld is of .b32; .min and .max go with .red"


def _reduction_rules(name: Name) -> Iterator[tuple[tuple[str, ...], str]]:
    shapes = ("32x32b", "16x32bx2")
    if name.shape not in shapes or name.count < 2 or name.has("pack::16b") or name.has("b32"):
        yield (), f".red has the shapes {' and '.join(shapes)}, .x2 to .x128, and no .pack"
    if name.has("min") == name.has("max"):
        yield (), ".red takes .min or .max"
    types = [word for word in ("f32", "s32", "u32") if name.has(word)]
    if len(types) != 1 or ("f32" not in types and (name.has("abs") or name.has("NaN"))):
        yield (), ".red is of .f32, .s32 or .u32; .abs and .NaN are for .f32"
    yield TARGETS[2:], "tcgen05.ld.red is of sm_103a and later"
    if name.has("spcompress"):
        yield ("sm_107a",), ".spcompress is of sm_107a"
        if not name.qualifiers >= {"sp::2:4", "f32", "b2"} or name.shape != "32x32b" or name.count < 4:
            yield (), ".spcompress is .32x32b.x4 or larger with .sp::2:4.f32.b2"
        if name.has("NaN") or (name.has("abs") and name.has("min")):
            yield (), ".spcompress takes .min, .max or .max with .abs"
    elif name.qualifiers & {"sp::2:4", "b2"}:
        yield (), ".sp::2:4 and .b2 go with .spcompress"


def _copy_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    shape = ".".join([name.shape, *[word for word in name.qualifiers if word.startswith("warpx")]])
    if shape not in COPIES:
        yield (), f"tcgen05.cp has the shapes {', '.join(COPIES)}"
    narrow = [word for word in DECOMPRESSIONS if name.has(word)]
    if len(narrow) != name.has("b8x16"):
        yield (), "a decompression is .b8x16.b4x16_p64 or .b8x16.b6x16_p32"


def _commit_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for word in ("multicast::cluster::32b", "sync_restrict::shared::read::mma::a"):
        if name.has(word):
            yield RUBIN, f".{word} is of sm_107a and sm_107f"


def _column_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Columns: a power of two from 32 to 512; 1024 with .exclusive."""
    every = (32, 64, 128, 256, 512, 1024) if name.has("exclusive") else (32, 64, 128, 256, 512)
    for count in [word[6:] for word in operands if word.lower().startswith("ncols=")]:
        if count.isdigit() and number(count) not in every:
            yield (), f"tcgen05.{name.operation} takes {every[0]} to {every[-1]} columns, a power of two; got {count}"
