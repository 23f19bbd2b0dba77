"""The SASS opcodes of tcgen05 instructions, by rules.

The types of a tcgen05.mma are in no opcode but in the descriptor, which SASS prints as idesc[URx]; collectors are
suffixes of operands. Further instructions around an opcode (those that wait for the other CTA) are not listed.

Source: ptxas 13.5.37 and nvdisasm 13.5 for 2,919 instructions on sm_100a, sm_103a, sm_107a and sm_110a.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tcgen05 import Name

__all__ = ["becomes"]

MMA = {
    "f16": "UTCHMMA", "tf32": "UTCHMMA", "ti16": "UTCHMMA", "f8f6f4": "UTCQMMA", "mxf8f6f4": "UTCQMMA",
    "i8": "UTCIMMA", "mxf4": "UTCOMMA", "mxf4nvf4": "UTCOMMA",
}  # fmt: skip
MOVES: dict[str, tuple[str, ...]] = {
    "32x32b": ("",), "16x64b": (".16dp64bit",), "16x128b": (".16dp128bit",), "16x256b": (".16dp256bit",),
    "16x32bx2": (".16dp32bit_t0_t15", ".16dp32bit_t16_t31"),
}  # fmt: skip
COPIES = {
    "128x256b": "", "128x128b": ".128dp128bit", "4x256b": ".4dp256bit", "32x128b.warpx4": ".4x32dp128bit",
    "64x128b.warpx2::02_13": ".2x64dp128bit_lw02_lw13", "64x128b.warpx2::01_23": ".2x64dp128bit_lw01_lw23",
}  # fmt: skip
CONVERSIONS = (("b4x16_p64", ".U4x16P64"), ("b6x16_p32", ".U6x16P32"))
OTHERS = {"shift": "UTCSHIFT.DOWN", "dealloc": "UTCATOMSWS.AND", "wait::st": "FENCE.VIEW.ASYNC.T"}


def becomes(name: Name, target: str) -> str:
    """The opcodes of an instruction, with a semicolon between two; "" where it has none of its own.

    >>> from mmacalc.catalog.grammar.tcgen05 import parse
    >>> becomes(parse("tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16"), "sm_103a")
    'UTCOMMA.2CTA.BLOCK16'
    """
    pair = ".2CTA" if name.cta_group == 2 else ""
    if name.operation == "mma":
        return _mma(name, target, pair)
    if name.operation in ("ld", "st"):
        return "; ".join([_move(name, place) for place in MOVES[name.shape]])
    if name.operation == "cp":
        shape = ".".join([name.shape, *[word for word in name.qualifiers if word.startswith("warpx")]])
        conversion = "".join([suffix for word, suffix in CONVERSIONS if name.has(word)])
        return f"UTCCP.T.S{pair}{COPIES[shape]}{conversion}"
    if name.operation == "commit":
        many = any(word.startswith("multicast") for word in name.qualifiers)
        restricted = any(word.startswith("sync_restrict") for word in name.qualifiers)
        return f"UTCBAR{pair}{'.MULTICAST' if many else ''}{'.MMA_READ_SHM_A' if restricted else ''}"
    if name.operation == "alloc":
        return f"UTCATOMSWS{pair}.FIND_AND_SET{'' if name.has('exclusive') else '.ALIGN'}"
    if name.operation == "shift":
        return f"UTCSHIFT{pair}.DOWN"
    return OTHERS.get(name.operation, "")


def _mma(name: Name, target: str, pair: str) -> str:
    fine = name.scale in ("block16", "scale_vec::4X")
    by_four = "" if not fine else ".4X" if target.startswith(("sm_100", "sm_110")) else ".BLOCK16"
    before = (".WS" if name.has("ws") else "") + (".LUTB" if name.has("decompress::lut::b") else "")
    return f"{MMA[name.kind]}{before}{pair}{'.ASHIFT' if name.has('ashift') else ''}{by_four}"


def _move(name: Name, place: str) -> str:
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
