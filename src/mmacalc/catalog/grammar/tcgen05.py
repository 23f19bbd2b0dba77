"""The names of tcgen05 instructions: what their qualifiers mean, and which targets take them.

A name is an operation and a set of qualifiers. `refusal` says why a target refuses one, in words; it is a list of
rules, tried against ptxas 13.5.37 on 4,123 forms and eight targets. In what the targets differ is in their records:
`tcgen05` of an architecture names its kinds, its features of FEATURES, the further K of its kinds, and `block16`, the
suffix of an opcode for scales of 16; without the last nothing is known of its SASS. What only the instruction descriptor or an address
says (shapes, types, transposes), no assembler checks: see `mmacalc.families.tensor_memory`.

ptxas takes a scale-input-d immediate on dense .kind::i8, even one out of range, which the PTX ISA does not have; here
it is refused.

The types of a tcgen05.mma are in no SASS opcode but in the descriptor, which SASS prints as idesc[URx]; collectors are
suffixes of operands. Further instructions around an opcode (those that wait for the other CTA) are not listed.

Sources: PTX ISA 9.1, section 9.7.16, and 9.4, section 9.7.18; ptxas 13.5.37, and nvdisasm 13.5 for 2,919 instructions
on sm_100a, sm_103a, sm_107a and sm_110a.
"""

from __future__ import annotations

from ...base.checks import number, whole
from ...base.errors import Error, did_you_mean
from ...base.records import Cache, TupleRecord
from ...families.tensor_memory import (
    DEPTHS,
    LOADS,
    MOST_REGISTERS,
    TYPES,
    Form,
    allowed_shapes,
    copy_layout,
    load_layout,
)
from ...model.tensor_memory import WHERE_B, TensorMemoryInstruction, TensorMemoryMove
from .ptx import FORMAT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ...model import Architecture, Instruction

__all__ = ["FEATURES", "KEYS", "KINDS", "Name", "sass_of", "parse", "record", "refusal"]

KINDS = ("f16", "tf32", "f8f6f4", "i8", "ti16", "mxf8f6f4", "mxf4", "mxf4nvf4")
# What not every target has, as `features` of its record name it, and as messages do.
FEATURES = {
    "shift": "tcgen05.shift", "scale_vec": "sizes of scales as .scale_vec (write .block16 or .block32)",
    "sparse mxf4": "sparse kind::mxf4 and kind::mxf4nvf4", "scale-input-d": "scale-input-d", "red": "tcgen05.ld.red",
    "spcompress": ".spcompress", "collector::b": ".collector::b", "decompress::lut::b": ".decompress::lut::b",
    "multicast::cluster::32b": ".multicast::cluster::32b",
    "sync_restrict::shared::read::mma::a": ".sync_restrict::shared::read::mma::a",
}  # fmt: skip
KEYS = ("kinds", "features", "depths", "block16")
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

    text: the whole name, in the case that PTX has; operation: mma, ld, cp ...; qualifiers: the rest; cta_group: 1 or 2,
    0 if it has none; kind: as in .kind::f16; scale: the scale vector's size, "" if none is named; shape: of ld, st and cp; count: N of .xN, 0 if there is none;
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
        raise Error(f"unknown instruction 'tcgen05.{operation}'.{did_you_mean(operation, QUALIFIERS)}", kind="unknown name")
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


def refusal(name: str, target: str, has: Mapping[str, Any], operands: Iterable[str] = ()) -> str:
    """Why a target refuses a form; "" if it takes it.

    Args:
        name: with its qualifiers. target: such as sm_100a; has: `Architecture.tcgen05` of it.
        operands: what of the operands matters: "tmem" for A in Tensor Memory, "mask4" or "mask8" for the words of
            disable-output-lane, "scale0" to "scale15" for scale-input-d, "zeromask", "ncols=64".

    >>> refusal("tcgen05.mma.cta_group::1.kind::i8", "sm_100f", {"kinds": ("f16",)})
    'sm_100f has no kind::i8'
    """
    if not has:
        return "it has no Tensor Memory"
    try:
        for needed, reason in _rules(parse(name), tuple(operands)):
            if not needed:
                return reason
            if needed not in (*has.get("kinds", ()), *has.get("features", ())):
                return f"{target} has no {reason}"
    except Error as problem:
        return str(problem)
    return ""


def _rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What a form needs: the kind or feature with what a message calls it, or "" with the reason why no target takes
    the form."""
    if name.operation in GROUPED and name.cta_group not in (1, 2):
        yield "", f"tcgen05.{name.operation} has .cta_group::1 or .cta_group::2"
    rules = {"mma": _mma_rules, "ld": _move_rules, "st": _move_rules, "cp": _copy_rules, "commit": _commit_rules}
    if name.operation in rules:
        yield from rules[name.operation](name, operands)
    if name.operation == "shift":
        yield _feature("shift")
    if name.operation in ("alloc", "dealloc"):
        yield from _column_rules(name, operands)


def _feature(word: str) -> tuple[str, str]:
    return word, FEATURES[word]


def _mma_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if name.kind not in KINDS:
        yield "", f"unknown .kind::{name.kind}; the kinds are {', '.join(KINDS)}.{did_you_mean(name.kind, KINDS)}"
        return
    yield name.kind, f"kind::{name.kind}"
    scaled = name.kind in SCALES
    if scaled != name.has("block_scale"):
        yield "", f"kind::{name.kind} {'needs' if scaled else 'does not take'} .block_scale"
    if not scaled and name.scale:
        yield "", f"kind::{name.kind} has no scales, so no .{name.scale}"
    if scaled and name.scale not in SCALES[name.kind]:
        known = " or ".join(f".{word}" for word in SCALES[name.kind] if word)
        yield "", f"kind::{name.kind} takes {known}"
    if name.scale.startswith("scale_vec"):
        yield _feature("scale_vec")
    if name.kind in ("mxf4", "mxf4nvf4") and name.has("sp"):
        yield _feature("sparse mxf4")
    yield from (_ws_rules(name) if name.has("ws") else _collector_rules(name))
    yield from _operand_rules(name, operands, scaled)


def _ws_rules(name: Name) -> Iterator[tuple[str, str]]:
    if name.cta_group != 1 or name.kind in SCALES:
        yield "", ".ws takes .cta_group::1 and no kind with scales"
    if name.has("ashift") or name.has("decompress::lut::b"):
        yield "", ".ws takes no .ashift and no .decompress"
    buffers = [f"b{number}" for number in range(4)]
    if any(buffer not in buffers or action not in ACTIONS for buffer, action in name.collectors):
        yield "", ".ws has the collectors b0 to b3 with ::fill, ::use, ::lastuse or ::discard"
    if len(name.collectors) > 1:
        yield "", ".ws takes one collector"


def _collector_rules(name: Name) -> Iterator[tuple[str, str]]:
    collectors = dict(name.collectors)
    if len(collectors) < len(name.collectors) or not {*collectors} <= {"a", "b"}:
        yield "", "without .ws the collectors are a and b, each once"
    if not {*collectors.values()} <= {*ACTIONS}:
        yield "", "a collector does ::fill, ::use, ::lastuse or ::discard"
    if "b" in collectors:
        yield _feature("collector::b")
    if name.has("ashift"):
        if name.kind in SCALES:
            yield "", ".ashift cannot be combined with .block_scale"
        if collectors.get("a") in ("fill", "use"):
            yield "", f".ashift cannot be combined with .collector::a::{collectors['a']}"
    if name.has("decompress::lut::b"):
        yield _feature("decompress::lut::b")
        if name.kind not in ("f8f6f4", "mxf8f6f4") or name.has("sp"):
            yield "", ".decompress::lut::b requires dense kind::f8f6f4 or kind::mxf8f6f4"


def _operand_rules(name: Name, operands: tuple[str, ...], scaled: bool) -> Iterator[tuple[str, str]]:
    if name.has("ashift") and operands and "tmem" not in operands:
        yield "", ".ashift shifts A in Tensor Memory"
    masks = [word for word in operands if word.startswith("mask")]
    if masks and (scaled or name.has("ws") or masks != [f"mask{4 * name.cta_group}"]):
        yield "", "disable-output-lane has 4 words, 8 with .cta_group::2; not with .block_scale or .ws"
    if "zeromask" in operands and not name.has("ws"):
        yield "", "the zero-column mask requires .ws"
    for scale in [word[5:] for word in operands if word.startswith("scale")]:
        if name.kind not in ("f16", "tf32") or name.has("ws") or number(scale, 15) is None:
            yield "", "scale-input-d is 0 to 15, with kind::f16 and kind::tf32, without .ws"
        yield _feature("scale-input-d")


def _move_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if name.shape not in LOADS:
        yield "", f"tcgen05.{name.operation} has the shapes {', '.join(LOADS)}"
        return
    most = MOST_REGISTERS // LOADS[name.shape][-1]
    if not 1 <= name.count <= most:
        yield "", f".{name.shape} takes .x1 to .x{most}"
    if name.operation == "st":
        return
    if name.has("spcompress") or name.has("red"):
        yield from _reduction_rules(name)
    elif not name.has("b32") or name.qualifiers & {"min", "max", "abs", "NaN", "sp::2:4", "f32", "s32", "u32", "b2"}:
        yield "", "tcgen05.ld takes .b32; .min and .max require .red"


def _reduction_rules(name: Name) -> Iterator[tuple[str, str]]:
    shapes = ("32x32b", "16x32bx2")
    if name.shape not in shapes or name.count < 2 or name.has("pack::16b") or name.has("b32"):
        yield "", f".red has the shapes {' and '.join(shapes)}, .x2 to .x128, and no .pack"
    if name.has("min") == name.has("max"):
        yield "", ".red takes .min or .max"
    types = [word for word in ("f32", "s32", "u32") if name.has(word)]
    if len(types) != 1 or ("f32" not in types and (name.has("abs") or name.has("NaN"))):
        yield "", ".red takes .f32, .s32 or .u32; .abs and .NaN are for .f32"
    yield _feature("red")
    if name.has("spcompress"):
        yield _feature("spcompress")
        if not name.qualifiers >= {"sp::2:4", "f32", "b2"} or name.shape != "32x32b" or name.count < 4:
            yield "", ".spcompress requires .32x32b.x4 or larger with .sp::2:4.f32.b2"
        if name.has("NaN") or (name.has("abs") and name.has("min")):
            yield "", ".spcompress takes .min, .max or .max with .abs"
    elif name.qualifiers & {"sp::2:4", "b2"}:
        yield "", ".sp::2:4 and .b2 require .spcompress"


def _copy_shape(name: Name) -> str:
    return ".".join([name.shape, *[word for word in name.qualifiers if word.startswith("warpx")]])


def _copy_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    shape = _copy_shape(name)
    if shape not in COPIES:
        yield "", f"tcgen05.cp has the shapes {', '.join(COPIES)}"
    narrow = [word for word in DECOMPRESSIONS if name.has(word)]
    if len(narrow) != name.has("b8x16"):
        yield "", "a decompression is .b8x16.b4x16_p64 or .b8x16.b6x16_p32"


def _commit_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for word in ("multicast::cluster::32b", "sync_restrict::shared::read::mma::a"):
        if name.has(word):
            yield _feature(word)


def _column_rules(name: Name, operands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Columns: a power of two from 32 to 512; 1024 with .exclusive."""
    every = (32, 64, 128, 256, 512, 1024) if name.has("exclusive") else (32, 64, 128, 256, 512)
    for count in [word[6:] for word in operands if word.lower().startswith("ncols=")]:
        if count.isdigit() and number(count) not in every:
            yield "", f"tcgen05.{name.operation} takes {every[0]} to {every[-1]} columns, a power of two; got {count}"


# --- SASS ---

OPCODES = {
    "f16": "UTCHMMA", "tf32": "UTCHMMA", "ti16": "UTCHMMA", "f8f6f4": "UTCQMMA", "mxf8f6f4": "UTCQMMA",
    "i8": "UTCIMMA", "mxf4": "UTCOMMA", "mxf4nvf4": "UTCOMMA",
}  # fmt: skip
MOVE_OPCODES: dict[str, tuple[str, ...]] = {
    "32x32b": ("",), "16x64b": (".16dp64bit",), "16x128b": (".16dp128bit",), "16x256b": (".16dp256bit",),
    "16x32bx2": (".16dp32bit_t0_t15", ".16dp32bit_t16_t31"),
}  # fmt: skip
COPY_OPCODES = {
    "128x256b": "", "128x128b": ".128dp128bit", "4x256b": ".4dp256bit", "32x128b.warpx4": ".4x32dp128bit",
    "64x128b.warpx2::02_13": ".2x64dp128bit_lw02_lw13", "64x128b.warpx2::01_23": ".2x64dp128bit_lw01_lw23",
}  # fmt: skip
CONVERSIONS = (("b4x16_p64", ".U4x16P64"), ("b6x16_p32", ".U6x16P32"))
OTHERS = {"shift": "UTCSHIFT.DOWN", "dealloc": "UTCATOMSWS.AND", "wait::st": "FENCE.VIEW.ASYNC.T"}


def sass_of(name: Name, has: Mapping[str, Any]) -> str:
    """The opcodes of an instruction, with a semicolon between two; "" where it has none of its own, or where those of
    the target are not known.

    Args:
        has: `Architecture.tcgen05` of the target.

    >>> name = parse("tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16")
    >>> sass_of(name, {"block16": ".BLOCK16"}), sass_of(name, {})
    ('UTCOMMA.2CTA.BLOCK16', '')
    """
    if "block16" not in has:
        return ""
    pair = ".2CTA" if name.cta_group == 2 else ""
    if name.operation == "mma":
        return _mma_opcode(name, has["block16"], pair)
    if name.operation in ("ld", "st"):
        return "; ".join([_move_opcode(name, place) for place in MOVE_OPCODES[name.shape]])
    if name.operation == "cp":
        shape = _copy_shape(name)
        conversion = "".join([suffix for word, suffix in CONVERSIONS if name.has(word)])
        return f"UTCCP.T.S{pair}{COPY_OPCODES[shape]}{conversion}"
    if name.operation == "commit":
        many = any(word.startswith("multicast") for word in name.qualifiers)
        restricted = any(word.startswith("sync_restrict") for word in name.qualifiers)
        return f"UTCBAR{pair}{'.MULTICAST' if many else ''}{'.MMA_READ_SHM_A' if restricted else ''}"
    if name.operation == "alloc":
        return f"UTCATOMSWS{pair}.FIND_AND_SET{'' if name.has('exclusive') else '.ALIGN'}"
    if name.operation == "shift":
        return f"UTCSHIFT{pair}.DOWN"
    return OTHERS.get(name.operation, "")


def _mma_opcode(name: Name, block16: str, pair: str) -> str:
    fine = name.scale in ("block16", "scale_vec::4X")
    by_four = block16 if fine else ""
    before = (".WS" if name.has("ws") else "") + (".LUTB" if name.has("decompress::lut::b") else "")
    return f"{OPCODES[name.kind]}{before}{pair}{'.ASHIFT' if name.has('ashift') else ''}{by_four}"


def _move_opcode(name: Name, place: str) -> str:
    count = f".x{name.count}" if name.count > 1 else ""
    if name.operation == "st":
        return f"STTM{place}{count}{'.EXPAND16BIT' if name.has('unpack::16b') else ''}"
    kind = ".SPARSIFY.U2.2TO4" if name.has("spcompress") else ""
    if not (kind or name.has("red")):
        return f"LDTM{place}{count}{'.PACK16BIT' if name.has('pack::16b') else ''}"
    statistic = ".STAT" if name.has("red") else ""
    extreme = f".{'MIN' if name.has('min') else 'MAX'}{'ABS' if name.has('abs') else ''}"
    types = (".F32" if name.has("f32") else ".S32" if name.has("s32") else "") + (".NAN" if name.has("NaN") else "")
    return f"LDTM{statistic}{kind}{place}{count}{extreme}{types}"


# --- records ---

PTX = "8.6"  # the version that introduced tcgen05


def record(architecture: Architecture, name: str, known: Mapping[str, Mapping[str, Any]], provenance: str) -> Instruction:
    """The instruction of a name.

    Args:
        known: `Architecture.tcgen05` of every target of the file. provenance: how sure the record is.

    Raises:
        Error: the target does not take it; says why, and which targets do.
    """
    parsed = parse(name)
    taking = tuple([target for target, has in known.items() if not refusal(parsed.text, target, has)])
    if architecture.name not in taking:
        why = refusal(parsed.text, architecture.name, architecture.tcgen05)
        others = f"; {', '.join(taking)} have it" if taking else ""
        raise Error(f"{architecture.name} does not have {parsed.text}: {why}{others}")
    if parsed.operation == "mma":
        return _mma(architecture, parsed, taking, known, provenance)
    return _move(architecture, parsed, taking, provenance)


def _mma(
    architecture: Architecture, name: Name, targets: tuple[str, ...], known: Mapping[str, Mapping[str, Any]],
    provenance: str,
) -> Instruction:  # fmt: skip
    form = Form(name.kind, name.has("sp"), name.has("ws"), name.cta_group)
    scales = SCALES.get(name.kind, {}).get(name.scale, 0)
    rows, columns = allowed_shapes(form)
    depth = DEPTHS[name.kind][form.sparse]
    depths = {depth: targets}
    for target in targets if not (form.sparse or form.ws) else ():
        for k in known[target].get("depths", {}).get(name.kind, ()):
            depths[k] = (*depths.get(k, ()), target)
    formats, features, operands = {}, ["tensor-memory", "tcgen05"], ["A", "B", "C", "D"]
    if name.kind in TYPES:
        inputs, outputs = (FORMAT.get(types[0], types[0]) for types in TYPES[name.kind])
        formats = {"A": inputs, "B": inputs, "C": outputs, "D": outputs}
    if form.sparse:
        features.append("sparse")
        operands.append("K")
    if scales:
        features.append("scale")
        operands += ["SA", "SB"]
        formats |= dict.fromkeys(("SA", "SB"), "ue4m3" if scales == 4 else "e8m0")
    elsewhere = dict.fromkeys(operands, "is in Tensor Memory; its shape is in the instruction descriptor")
    return TensorMemoryInstruction(
        architecture, name.text, rows[-1], columns[-1], depth, 1, formats, features=tuple(features), ptx=PTX,
        targets=targets, explicit_operands=tuple(operands), outside_registers={**elsewhere, "B": WHERE_B}, kind=name.kind,
        scale_vec=scales, block_size=depth // scales if scales else 0, form=form,
        depths=depths, row_provenance=provenance, sass=sass_of(name, architecture.tcgen05),
    )  # fmt: skip


def _move(architecture: Architecture, name: Name, targets: tuple[str, ...], provenance: str) -> Instruction:
    layout, pack = None, name.has("pack::16b") or name.has("unpack::16b")
    if name.operation in ("ld", "st"):
        layout = load_layout(name.shape, name.count, pack)
    if name.operation == "cp":
        layout = copy_layout(_copy_shape(name))
    return TensorMemoryMove(
        architecture, name.text, 1, 1, 1, 1, {}, features=("tensor-memory", "move"), ptx=PTX, targets=targets,
        moves=f"tcgen05.{name.operation}", layout=layout, pack=pack, sass=sass_of(name, architecture.tcgen05),
        row_provenance=provenance,
    )  # fmt: skip
