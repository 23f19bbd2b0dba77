"""The instruction formats of AMD GPUs as text: a line per format, its fields with the manuals' own bit numbers.

A line is a format's name, its number of 32-bit words without a literal, and its fields: `NAME=bits`, or
`NAME=bits=value` where the format itself writes the field; `NAME==value` is a modifier that the format implies. Bit 0
is the lowest of the first word, bit 32 the lowest of the second; "14,60:59" is three bits of which bit 14 is the
highest. Bits that no field has are 0. What follows a colon in a name tells apart the forms that one format has, of
which the first that fits is meant: `global:off` has no scalar address, `sdwa:vop1` is the SDWA form of VOP1.

Fields in `OPERANDS` hold operands; every other field is a modifier, called as here in lower case.

Source: ISA guides of CDNA3, CDNA4, RDNA3, RDNA4 and CDNA5, "Microcode formats"; compared with LLVM 22.1.8 bit by bit
(tools/decoder_tables).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from .fields import Encoding, Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FAMILIES", "OPERANDS", "Formats", "alike", "encodings", "vop3p"]

OPERANDS = frozenset((
    "VDST", "SDST", "SRC0", "SRC1", "SRC2", "VSRC1", "VSRC2", "SSRC0", "SSRC1", "ADDR", "DATA0", "DATA1", "DATA",
    "VADDR", "VADDR0", "VADDR1", "VADDR2", "VADDR3", "VDATA", "SADDR", "SRSRC", "SOFFSET", "SBASE", "SDATA", "SIMM16",
))  # fmt: skip

_SCALAR = """
sop1 1 ENCODING=31:23=0b101111101 SDST=22:16 OP=15:8 SSRC0=7:0
sopc 1 ENCODING=31:23=0b101111110 OP=22:16 SSRC1=15:8 SSRC0=7:0
sopp 1 ENCODING=31:23=0b101111111 OP=22:16 SIMM16=15:0
sopk 1 ENCODING=31:28=0b1011 OP=27:23 SDST=22:16 SIMM16=15:0
sop2 1 ENCODING=31:30=0b10 OP=29:23 SDST=22:16 SSRC1=15:8 SSRC0=7:0
"""
_VOP1 = "ENCODING=31:25=0b0111111 VDST=24:17 OP=16:9"
_VOPC = "ENCODING=31:25=0b0111110 OP=24:17 VSRC1=16:9"
_VOP2 = "ENCODING=31=0 OP=30:25 VDST=24:17 VSRC1=16:9"
_VECTOR = f"""
vop1 1 {_VOP1} SRC0=8:0
vopc 1 {_VOPC} SRC0=8:0
vop2 1 {_VOP2} SRC0=8:0
"""
_SDWA_SRC0 = "SRC0=55,39:32 SRC0_SEL=50:48"
_SDWA_DST = "DST_SEL=42:40 DST_UNUSED=44:43 CLAMP=45 OMOD=47:46"
_SDWA = f"""
sdwa:vop1 2 {_VOP1} CODE=8:0=249 {_SDWA_SRC0} {_SDWA_DST} SEXT=51 NEG=52 ABS=53
sdwa:vopc 2 ENCODING=31:25=0b0111110 OP=24:17 VSRC1=63,16:9 CODE=8:0=249 {_SDWA_SRC0} SDST=47:40 SRC1_SEL=58:56 \
SEXT=59,51 NEG=60,52 ABS=61,53
sdwa:vop2 2 ENCODING=31=0 OP=30:25 VDST=24:17 VSRC1=63,16:9 CODE=8:0=249 {_SDWA_SRC0} {_SDWA_DST} SRC1_SEL=58:56 \
SEXT=59,51 NEG=60,52 ABS=61,53
"""
_DPP = "SRC0=39:32 DPP_CTRL=48:40 BOUND_CTRL=51 NEG=54,52 ABS=55,53 BANK_MASK=59:56 ROW_MASK=63:60"
_DPP8 = "SRC0=39:32 DPP8=63:40"
_DPP16_FORMS = f"""
dpp16:vop1 2 {_VOP1} CODE=8:0=250 {_DPP} FI=50
dpp16:vopc 2 {_VOPC} CODE=8:0=250 {_DPP} FI=50
dpp16:vop2 2 {_VOP2} CODE=8:0=250 {_DPP} FI=50
"""
_DPP8_FORMS = "".join(
    f"""
dpp8:vop1{suffix} 2 {_VOP1} CODE=8:0={code} {_DPP8} {fi}
dpp8:vopc{suffix} 2 {_VOPC} CODE=8:0={code} {_DPP8} {fi}
dpp8:vop2{suffix} 2 {_VOP2} CODE=8:0={code} {_DPP8} {fi}
"""
    for suffix, code, fi in (("", 233, ""), (":fi", 234, "FI==1"))
)
_VOP3_LOW = "VDST=7:0 ABS=10:8 OP_SEL=14:11 CLAMP=15 OP=25:16 ENCODING=31:26=0b{}"
_VOP3SD_LOW = "VDST=7:0 SDST=14:8 CLAMP=15 OP=25:16 ENCODING=31:26=0b{}"
_VOP3_SOURCES = "SRC1=49:41 SRC2=58:50 OMOD=60:59 NEG=63:61"
_BITOP3_LOW = "VDST=7:0 OP_SEL=14:11 CLAMP=15 OP=25:16 ENCODING=31:26=0b{}"
_BITOP3_SOURCES = "SRC1=49:41 SRC2=58:50 BITOP3=60:59,10:8,63:61"
_VOP3P_LOW = "VDST=7:0 NEG_HI=10:8 OP_SEL=13:11 OP_SEL_HI=14,60:59 CLAMP=15 OP={} ENCODING={}"
_VOP3P_SOURCES = "SRC1=49:41 SRC2=58:50 NEG_LO=63:61"


def _vop3p(vop3p: tuple[str, str]) -> str:
    return f"vop3p 2 {_VOP3P_LOW.format(*vop3p)} SRC0=40:32 {_VOP3P_SOURCES}"


def _vop3(encoding: str, vop3p: tuple[str, str]) -> str:
    return f"""
{_vop3p(vop3p)}
vop3 2 {_VOP3_LOW.format(encoding)} SRC0=40:32 {_VOP3_SOURCES}
vop3:sd 2 {_VOP3SD_LOW.format(encoding)} SRC0=40:32 {_VOP3_SOURCES}
vop3:bitop3 2 {_BITOP3_LOW.format(encoding)} SRC0=40:32 {_BITOP3_SOURCES}
"""


_DPP_WORD = "SRC0=71:64 DPP_CTRL=80:72 FI=82 BOUND_CTRL=83 BANK_MASK=91:88 ROW_MASK=95:92"


def _vop3_dpp(vop3p: tuple[str, str]) -> str:
    """The forms with a DPP word: two words of VOP3 whose SRC0 is a code, then the word."""
    low = {
        "vop3": f"{_VOP3_LOW.format(110101)} {_VOP3_SOURCES}",
        "vop3:sd": f"{_VOP3SD_LOW.format(110101)} {_VOP3_SOURCES}",
        "vop3:bitop3": f"{_BITOP3_LOW.format(110101)} {_BITOP3_SOURCES}",
        "vop3p": f"{_VOP3P_LOW.format(*vop3p)} {_VOP3P_SOURCES}",
    }
    lines = []
    for name, fields in low.items():
        first, _, form = name.partition(":")
        more = form and f":{form}"
        lines.append(f"{first}_dpp16{more} 3 {fields} CODE=40:32=250 {_DPP_WORD}")
        for suffix, code, fi in (("", 233, ""), (":fi", 234, "FI==1")):
            lines.append(f"{first}_dpp8{more}{suffix} 3 {fields} CODE=40:32={code} SRC0=71:64 DPP8=95:72 {fi}")
    return "\n".join(lines) + "\n"


# --- CDNA ---

_CDNA_VOP3P = ("22:16", "31:23=0b110100111")
_CDNA_SMEM = "SBASE=5:0 SDATA=12:6 NV=15 GLC=16 OP=25:18 ENCODING=31:26=0b110000"
_CDNA_DS = "OFFSET0=7:0 OFFSET1=15:8 GDS=16 OP=24:17 ENCODING=31:26=0b110110 ADDR=39:32 DATA0=47:40 DATA1=55:48 \
VDST=63:56"
_CDNA_FLAT = "OP=24:18 ENCODING=31:26=0b110111 ADDR=39:32"
_CDNA_MUBUF = "OFFSET=11:0 OP=24:18 ENCODING=31:26=0b111000 VADDR=39:32 SRSRC=52:48 SOFFSET=63:56"
_CDNA1_CACHE = {"flat": "GLC=16 SLC=17", "buffer": "GLC=14 SLC=17", "bank": ""}
_CDNA2_CACHE = {"flat": "GLC=16 SLC=17 SCC=25", "buffer": "GLC=14 SLC=17 SCC=15", "bank": "ACC=55"}
_CDNA3_CACHE = {"flat": "SC0=16 NT=17 SC1=25", "buffer": "SC0=14 NT=17 SC1=15", "bank": "ACC=55"}
_ADDRESSED = (("", 0, 0), (":idxen", 0, 1), (":offen", 1, 0), (":both", 1, 1))
_SCRATCH = (("off", 0, 1), ("vector", 1, 1), ("scalar", 0, 0), ("both", 1, 0))


def _cdna_memory(cache_fields: dict[str, str], scratch: str) -> str:
    flat, buffer, bank = cache_fields["flat"], cache_fields["buffer"], cache_fields["bank"]
    data = f"DATA=47:40 VDST=63:56 {bank}"
    ds = f"{_CDNA_DS} {bank.replace('55', '25')}"
    lines = [
        f"smem:both 2 {_CDNA_SMEM} IMM=17=1 EN=14=1 OFFSET=52:32 SOFFSET=63:57",
        f"smem:register 2 {_CDNA_SMEM} IMM=17=0 EN=14=1 SOFFSET=63:57",
        f"smem:old 2 {_CDNA_SMEM} IMM=17=0 EN=14=0 SOFFSET=38:32",
        f"smem 2 {_CDNA_SMEM} IMM=17=1 EN=14=0 OFFSET=52:32",
        f"ds 2 {ds}",
        f"ds:offset 2 {ds.replace('OFFSET0=7:0 OFFSET1=15:8', 'OFFSET=15:0')}",
        f"flat 2 {_CDNA_FLAT} OFFSET=11:0 SEG=15:14=0 {flat} SADDR=54:48=0 {data}",
        f"global:off 2 {_CDNA_FLAT} OFFSET=12:0 SEG=15:14=2 {flat} SADDR=54:48=0x7f {data}",
        f"global 2 {_CDNA_FLAT} OFFSET=12:0 SEG=15:14=2 {flat} SADDR=54:48 {data}",
        f"global:lds:off 2 {_CDNA_FLAT} OFFSET=12:0 LDS=13=1 SEG=15:14=2 {flat} SADDR=54:48=0x7f {data}",
        f"global:lds 2 {_CDNA_FLAT} OFFSET=12:0 LDS=13=1 SEG=15:14=2 {flat} SADDR=54:48 {data}",
    ]
    fields = f"{_CDNA_FLAT} OFFSET=12:0 SEG=15:14=1 {flat} {data}"
    if scratch == "either":
        lines.append(f"scratch:vector 2 {fields} SADDR=54:48=0x7f")
        lines.append(f"scratch:scalar 2 {fields} SADDR=54:48")
    else:
        for name, both, off in _SCRATCH:
            lines.append(f"scratch:{name} 2 {fields} SVE=13={both} SADDR=54:48{'=0x7f' if off else ''}")
    for name, offen, idxen in _ADDRESSED:
        mode = f"OFFEN=12={offen} IDXEN=13={idxen} {buffer}"
        lines.append(f"buffer{name} 2 {_CDNA_MUBUF} {mode} LDS=16=0 VDATA=47:40 {bank or 'TFE=55'}")
        lines.append(f"buffer:lds{name} 2 {_CDNA_MUBUF} {mode} LDS=16=1")
    return "\n".join(lines) + "\n"


def _cdna(cache_fields: dict[str, str], scratch: str) -> str:
    return (
        f"{_SCALAR}{_SDWA}{_DPP16_FORMS.replace(' FI=50', '')}{_VECTOR}"
        f"{_vop3('110100', _CDNA_VOP3P)}{_cdna_memory(cache_fields, scratch)}"
    )


# --- RDNA3 ---

_RDNA3_VOP3P = ("22:16", "31:23=0b110011000")
_RDNA3_FLAT = "DLC=13 GLC=14 SLC=15 OP=24:18 ENCODING=31:26=0b110111 ADDR=39:32 DATA=47:40 VDST=63:56"
_RDNA3_DS = "GDS=17 OP=25:18 ENCODING=31:26=0b110110 ADDR=39:32 DATA0=47:40 DATA1=55:48 VDST=63:56"
_RDNA3_SMEM = "SBASE=5:0 SDATA=12:6 DLC=13 GLC=14 OP=25:18 ENCODING=31:26=0b111101 OFFSET=52:32"


def _rdna3_memory() -> str:
    lines = [
        f"smem:zero 2 {_RDNA3_SMEM}=0 SOFFSET=63:57=124",
        f"smem 2 {_RDNA3_SMEM} SOFFSET=63:57=124",
        f"smem:both 2 {_RDNA3_SMEM} SOFFSET=63:57",
        f"ds 2 OFFSET0=7:0 OFFSET1=15:8 {_RDNA3_DS}",
        f"ds:offset 2 OFFSET=15:0 {_RDNA3_DS}",
        f"flat 2 {_RDNA3_FLAT} OFFSET=11:0 SEG=17:16=0 SADDR=54:48=124",
        f"global:off 2 {_RDNA3_FLAT} OFFSET=12:0 SEG=17:16=2 SADDR=54:48=124",
        f"global 2 {_RDNA3_FLAT} OFFSET=12:0 SEG=17:16=2 SADDR=54:48",
    ]
    for name, both, off in _SCRATCH:
        fields = f"{_RDNA3_FLAT} OFFSET=12:0 SEG=17:16=1 SVE=55={both} SADDR=54:48{'=124' if off else ''}"
        lines.append(f"scratch:{name} 2 {fields}")
    for name, offen, idxen in _ADDRESSED:
        lines.append(
            f"buffer{name} 2 OFFSET=11:0 SLC=12 DLC=13 GLC=14 OP=25:18 ENCODING=31:26=0b111000 VADDR=39:32 "
            f"VDATA=47:40 SRSRC=52:48 TFE=53 OFFEN=54={offen} IDXEN=55={idxen} SOFFSET=63:56"
        )
    return "\n".join(lines) + "\n"


# --- RDNA4 and CDNA5 ---


def _rdna4_memory(smem: str, flat: str) -> str:
    smem_low = f"SBASE=5:0 SDATA=12:6 OP=18:13 {smem} SCOPE=22:21 TH=24:23 ENCODING=31:26=0b111101 OFFSET=55:32"
    ds = "OP=25:18 ENCODING=31:26=0b110110 ADDR=39:32 DATA0=47:40 DATA1=55:48 VDST=63:56"
    memory = (
        f"OP=21:14 ENCODING=31:26=0b111011 VDST=39:32 {flat} SCOPE=51:50 TH=54:52 DATA=62:55 ADDR=71:64 OFFSET=95:72"
    )
    lines = [
        f"smem:zero 2 {smem_low}=0 SOFFSET=63:57=124",
        f"smem 2 {smem_low} SOFFSET=63:57=124",
        f"smem:both 2 {smem_low} SOFFSET=63:57",
        f"ds 2 OFFSET0=7:0 OFFSET1=15:8 {ds}",
        f"ds:offset 2 OFFSET=15:0 {ds}",
    ]
    for name, segment in (("flat", 0), ("global", 2)):
        lines.append(f"{name}:off 3 {memory} SEG=25:24={segment} SADDR=6:0=124")
        lines.append(f"{name} 3 {memory} SEG=25:24={segment} SADDR=6:0")
    for name, both, off in _SCRATCH:
        lines.append(f"scratch:{name} 3 {memory} SEG=25:24=1 SVE=49={both} SADDR=6:0{'=124' if off else ''}")
    for name, offen, idxen in _ADDRESSED:
        lines.append(
            f"buffer{name} 3 SOFFSET=6:0 OP=21:14 TFE=22 ENCODING=31:26=0b110001 VDATA=39:32 SRSRC=49:41 SCOPE=51:50 "
            f"TH=54:52 FORMAT=61:55 OFFEN=62={offen} IDXEN=63={idxen} VADDR=71:64 OFFSET=95:72"
            f"{' NV=7' if 'NV' in flat else ''}"
        )
    return "\n".join(lines) + "\n"


_RDNA4_VOP3P = ("23:16", "31:24=0b11001100")


def _rdna(vop3p: tuple[str, str], memory: str) -> str:
    return f"{_SCALAR}{_DPP16_FORMS}{_DPP8_FORMS}{_VECTOR}{_vop3_dpp(vop3p)}{_vop3('110101', vop3p)}{memory}"


# The two halves of VOPD; REST are the fields of the other one. VDST of Y lacks its lowest bit.
_VOPD = """
vopd:x 2 ENCODING=31:26=0b110010 OP=25:22 VSRC1=16:9 SRC0=8:0 VDST=63:56 REST=55:32,21:17
vopd:y 2 ENCODING=31:26=0b110010 OP=21:17 VSRC1=48:41 SRC0=40:32 VDST=55:49 REST=63:56,25:22,16:0
"""
_VOPD3 = """
vopd3:x 3 ENCODING=31:24=0b11001111 OP=23:18 SRC0=8:0 NEG=43:41 VSRC1=55:48 VSRC2=63:56 VDST=71:64 \
REST=95:72,46:44,40:32,17:12
vopd3:y 3 ENCODING=31:24=0b11001111 OP=17:12 SRC0=40:32 NEG=46:44 VSRC1=79:72 VSRC2=87:80 VDST=95:88 \
REST=71:48,43:41,23:18,8:0
vopd3:y:bitop2 3 ENCODING=31:24=0b11001111 OP=17:12 SRC0=40:32 VSRC1=79:72 BITOP3=87:80 VDST=95:88 \
REST=71:48,43:41,23:18,8:0
"""

# Tensor copies of CDNA5, in the format of images: two groups of scalar registers that describe the tensor, or four.
# The older encoding has 0 in the fields of images: AITER's kernels have it, and AMD's LLVM writes it as
# tensor_load_to_lds_gfx1250_legacy and reads it as tensor_load_to_lds (ROCm/llvm-project, comgr's tests of hotswap).
_TENSOR_LOW = "R128=4 NV=7 OP=21:14 ENCODING=31:26=0b110100 SCOPE=51:50 TH=54:52 VADDR0=71:64 VADDR1=79:72"
_TENSOR = "".join(
    f"""
tensor:two{old} 3 DIM=2:0={one} DMASK=25:22={one} VADDR4=63:56={null} {_TENSOR_LOW} VADDR2=87:80=124 VADDR3=95:88=124
tensor{old} 3 DIM=2:0={one} DMASK=25:22={one} VADDR4=63:56={null} {_TENSOR_LOW} VADDR2=87:80 VADDR3=95:88
"""
    for old, one, null in (("", 1, 124), (":old", 0, 0))
)

# The formats of each family, in the order in which they are tried.
FAMILIES = {
    "cdna1": _cdna(_CDNA1_CACHE, "either"),
    "cdna2": _cdna(_CDNA2_CACHE, "either"),
    "cdna3": _cdna(_CDNA3_CACHE, "both"),
    "rdna3": _rdna(_RDNA3_VOP3P, _rdna3_memory()) + _VOPD,
    "rdna4": _rdna(_RDNA4_VOP3P, _rdna4_memory("", "")) + _VOPD,
    "cdna5": _rdna(_RDNA4_VOP3P, _rdna4_memory("NV=20 SCALE_OFFSET=56", "SCALE_OFFSET=48 NV=7"))
    + _VOPD
    + _VOPD3
    + _TENSOR,
}


# Formats without rows, for their lengths: graphics, exports, and images. Bit 0 of RDNA3's images says that a word of
# addresses follows. CDNA's VINTRP, 110101, has one word, like what no format has.
_CDNA_OTHERS = """
exp 2 ENCODING=31:26=0b110001
mtbuf 2 ENCODING=31:26=0b111010
mimg 2 ENCODING=31:26=0b111100
"""
_RDNA_OTHERS = """
vinterp 2 ENCODING=31:24=0b11001101
ldsdir 1 ENCODING=31:24=0b11001110
vopd3 3 ENCODING=31:24=0b11001111
exp 2 ENCODING=31:26=0b111110
"""
_RDNA3_OTHERS = f"""{_RDNA_OTHERS}
mtbuf 2 ENCODING=31:26=0b111010
mimg:more 3 ENCODING=31:26=0b111100 CODE=0=1
mimg 2 ENCODING=31:26=0b111100
"""
_RDNA4_OTHERS = f"""{_RDNA_OTHERS}
vimage 3 ENCODING=31:26=0b110100
vsample 3 ENCODING=31:26=0b111001
"""
_OTHERS = {
    **dict.fromkeys(("cdna1", "cdna2", "cdna3"), _CDNA_OTHERS), "rdna3": _RDNA3_OTHERS,
    **dict.fromkeys(("rdna4", "cdna5"), _RDNA4_OTHERS),
}  # fmt: skip


class FormatLine(Encoding):
    """A format of a line: an `Encoding` with the modifiers that it implies."""

    __slots__ = ("implied",)
    implied: dict[str, int]


class Formats(Mapping[str, FormatLine]):
    """Formats by name, in the order in which they are tried, each made when it is first asked for."""

    def __init__(self, text: str) -> None:
        self._lines = {line.split(None, 1)[0]: line for line in text.splitlines() if line}
        self._made: dict[str, FormatLine] = {}
        self._beginning: dict[int, tuple[str, ...]] = {}
        self._codes: list[tuple[str, int, int]] = []  # name, lowest bit of ENCODING in the upper nine, its value

    def __getitem__(self, name: str) -> FormatLine:
        if name not in self._made:
            self._made[name] = _format(self._lines[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def beginning(self, key: int) -> tuple[str, ...]:
        """The names of those whose ENCODING the upper nine bits of a first word are.

        >>> encodings("cdna3").beginning(0b110100111)
        ('vop3p', 'vop3', 'vop3:sd', 'vop3:bitop3')
        """
        if not self._codes:
            for name, line in self._lines.items():
                _, low, value = _ENCODING.search(line).groups("31")  # type: ignore[union-attr]
                self._codes.append((name, int(low) - 23, int(value, 0)))
        if key not in self._beginning:
            self._beginning[key] = tuple([name for name, low, value in self._codes if key >> low == value])
        return self._beginning[key]


_ENCODING = re.compile(r"\bENCODING=(31)(?::(\d+))?=(\w+)")


@lru_cache(maxsize=64)
def encodings(family: str) -> Formats:
    """The formats of a family."""
    return Formats(FAMILIES[family])


@lru_cache(maxsize=64)
def _others(family: str) -> Formats:
    return Formats(_OTHERS[family])


def vop3p(generation: str) -> FormatLine:
    """The format of packed instructions of "cdna", "rdna3" or "rdna4": what matrix instructions share with them.

    >>> vop3p("cdna").fields["SRC0"].bits
    '40:32'
    """
    return _format(_vop3p({"cdna": _CDNA_VOP3P, "rdna3": _RDNA3_VOP3P, "rdna4": _RDNA4_VOP3P}[generation]))


@lru_cache(maxsize=4096)
def _beginning(family: str, key: int) -> tuple[FormatLine, ...]:
    """The formats, those without rows too, whose ENCODING the upper nine bits of a first word are."""
    return tuple([some[name] for some in (encodings(family), _others(family)) for name in some.beginning(key)])


def alike(family: str, bits: int) -> tuple[FormatLine, ...]:
    """The formats of a family, those without rows too, that 64 bits begin: the first that fits, and those that differ
    from it in other fields alone, such as the halves of a pair."""
    found: list[FormatLine] = []
    for form in _beginning(family, bits >> 23 & 511):
        code = form.fields.get("CODE")  # says that a word of DPP or SDWA follows
        first = found[0] if found else form
        same = first.size == form.size and first.fields["ENCODING"].bits == form.fields["ENCODING"].bits
        if same and (code is None or code.gather(bits) == code.value):
            found.append(form)
    return tuple(found)


def _format(line: str) -> FormatLine:
    name, words, *texts = line.split()
    fields, implied = [], {}
    for text in texts:
        title, bits, *value = text.split("=")
        if bits:
            fields.append(Field(title, bits, "", int(value[0], 0) if value else None))
        else:
            implied[title.lower()] = int(value[0])
    taken = 0
    for field in fields:
        taken |= field.mask
    free = [bit for bit in range(32 * int(words)) if not taken >> bit & 1]
    fields += [Field(f"BIT{bit}", str(bit), "", 0) for bit in free]
    made = FormatLine(name, "", fields)
    made.implied = implied
    return made
