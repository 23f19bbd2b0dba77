"""Names that are not an instruction's, and leave no doubt which one is meant: parts of a name, an atom of CuTe's, a
builtin, an intrinsic of LLVM's, ck's and Tensile's names.

    mma.m16n8k16.f32.f16.f16.f32        the parts of a PTX name that are not the same in all of them
    ldmatrix.x4.trans
    mfma_f32_32x32x8f16                 AMD's without v_, with or without underscores: ck's, clang's, Triton's
    __builtin_amdgcn_mfma_f32_32x32x8f16, llvm.amdgcn.mfma.f32.32x32x8f16
    llvm.nvvm.mma.m16n8k16.row.col.bf16, __dmma_m8n8k4_mma_f64      LLVM's and clang's of NVIDIA
    SM80_16x8x16_F32F16F16F32_TN        CUTLASS's and CuTe's, of mma, wgmma, ldmatrix and stmatrix
    SM120_16x8x32_TN<float_e4m3_t, float_e2m1_t, float>, SM100_MMA_F16BF16_SS      whose types are arguments
    XE_8x16x16_F32BF16BF16F32_TT, XE_DPAS_TT<8, float, half_t>                     those of sycl-tla
    WarpGemmMfmaF16F16F32M32N32K8       ck_tile's
    fx.rocdl.MFMA(16, 16, 16, fx.BFloat16), fly_rocdl.atom.cdna3.mfma<16x16x16, (bf16, bf16) -> f32>    FlyDSL's
    MI32x32x8x1                         of a kernel's name of Tensile (hipBLASLt), where the formats leave one
"""

from __future__ import annotations

import re

from ...base.checks import whole
from ...base.errors import Error, UnclearNameError, abbreviated, did_you_mean
from ...formats import formats_named
from .nvvm import LLVM, functions, plain_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .. import Entry

__all__ = ["candidates", "clear_name", "from_atom"]

NEUTRAL = {"sync", "aligned", "row", "col", "shared", "b16", "m8n8", "mma_async"}
"""Parts of PTX names that may be left out without a choice: they say nothing, or what is usual."""
NVIDIA = (LLVM, "__hmma_", "__imma_", "__bmma_", "__dmma_", "__mma_")
"""How the functions begin that become NVIDIA's instructions."""
WITHOUT = ("wgmma", "movmatrix")  # opcodes without an intrinsic in LLVM 22
WHOLE, USUAL = {"sync", "aligned"}, {"row", "col", "shared"}
"""What only a whole opcode has, and what may be left out of one."""
TYPES = "F64|F32|TF32|F16|BF16|S32|S8|U8|S4|U4|U1|E4M3|E5M2|E2M1|E2M3|E3M2"
_ATOM = re.compile(
    rf"(?:SM(?P<arch>\d+)|MMA)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<types>(?:{TYPES}){{3,4}})"
    r"_(?P<layout>[TN]{2}|SS|RS)(?P<rest>(?:_\w+)?)(?:\s*<.*>|\s*\{.*\})?",
    re.IGNORECASE,
)
_MOVE = re.compile(r"SM(?P<arch>\d+)_U(?P<bits>16|32)x(?P<count>[1248])_(?P<kind>LD|ST)SM_(?P<turn>[NT])", re.IGNORECASE)
_TYPED = re.compile(
    r"SM120_(?P<shape>\d+x\d+x\d+)_TN(?P<scaled>_VS)?\s*<(?P<types>[\w:,\s]+)>(?:\s*\{\s*\})?", re.IGNORECASE
)
_TENSOR = re.compile(r"SM100_MMA_(?P<kind>[A-Z0-9]+)(?P<two>_2x1SM)?_(?:SS|TS)(?:\s*<(?P<arguments>.*)>)?(?:\s*\{.*\})?", re.IGNORECASE)
_XE = re.compile(
    rf"XE_(?P<m>\d)x16x\d+_(?P<types>(?:{TYPES}){{4}})_TT(?:\s*\{{.*\}})?|XE_DPAS_TT\s*<(?P<arguments>[\w:,\s]+)>.*",
    re.IGNORECASE,
)
KINDS = {"F16BF16": ("f16",), "TF32": ("tf32",), "S8": ("i8",), "F8F6F4": ("f8f6f4",), "MXF8F6F4": ("mxf8f6f4", "block_scale", "block32"),
         "MXF4": ("mxf4", "block_scale", "block32"), "MXF4, 16": ("mxf4nvf4", "block_scale", "block16")}  # fmt: skip
"""CuTe's word for a kind of tcgen05.mma, with the size of a block where that is an argument; what PTX has for it."""
CPLUSPLUS = {"half_t": "f16", "bfloat16_t": "bf16", "float": "f32", "tfloat32_t": "tf32", "int8_t": "s8", "uint8_t": "u8",
             "int": "s32", "int32_t": "s32", "int4b_t": "s4", "uint4b_t": "u4"}  # fmt: skip
DPAS = {"f16": "hf", "bf16": "bf", "f32": "f", "s32": "d", "s8": "s8", "u8": "u8", "s4": "s4", "u4": "u4", "tf32": "tf32"}
"""Intel's words for formats."""
_TILE = re.compile(
    r"WarpGemm(?:Impl|Attribute)?Mfma(?P<a>F16|Bf16|bf16|Fp8|Bf8|I8|F32|f8)(?P<b>\w*?)(?P<d>F32|I32)"
    r"M(?P<m>\d+)N(?P<n>\d+)K(?P<k>\d+)\w*",
    re.IGNORECASE,
)  # fmt: skip
_TENSILE = re.compile(r"(?:\w*_)?MI(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?:x(?P<b>\d+))?(?:_\w*)?", re.IGNORECASE)
_FLY = re.compile(
    r"(?:fx\.)?(?:rocdl\.)?(?P<kind>MFMA|WMMA)\(\s*(?P<m>\d+)\s*,\s*(?P<n>\d+)\s*,\s*(?P<k>\d+)\s*,\s*(?P<a>[\w.]+)\s*\)"
    r"|!?fly_rocdl\.\S*?(?P<kind2>mfma|wmma)<(?P<shape>\d+x\d+x\d+)\s*,\s*\((?P<a2>\w+)\s*,\s*(?P<b2>\w+)\)\s*->\s*(?P<d2>\w+)>"
)
_CALL = re.compile(r"(?:@?llvm\.amdgcn\.|__builtin_amdgcn_|rocdl\.|amdgcn\.|(?:ck::)?(?:MfmaInstr|WmmaInstr)::)", re.IGNORECASE)
_ENDINGS = re.compile(r"(?:_(?:w32|w64|gfx\d+|e64|e32))+$")

FEW = 16
"""Instructions that are listed where a text may mean any of them."""


def clear_name(entry: Entry, text: str) -> str | None:
    """The only instruction that a text can mean; None if it means none, or more than `FEW`: too little of a name.

    Raises:
        Error: it can mean a few; the message lists them.

    >>> from mmacalc.catalog import entry
    >>> clear_name(entry("sm_80"), "ldmatrix.x4.trans")
    'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16'
    >>> clear_name(entry("gfx942"), "MFMA_F32_32x32x8_f16"), clear_name(entry("gfx942"), "v_mfma_f32_32x32x8_f17")
    ('v_mfma_f32_32x32x8_f16', None)
    """
    found = _plain(text, candidates(entry, text))
    if len(found) > FEW:
        return None
    if len(found) > 1:
        name = entry.architecture.name
        raise UnclearNameError(
            f"'{text.strip()[:60]}' may be {len(found)} instructions of {name}: {abbreviated(found)}."
            f" Did you mean {' or '.join(found[:3])}?"
        )
    if not found and _is_of_nvidia(text.strip()):
        raise Error(_no_function(entry, plain_name(text)), kind="unknown name")
    return found[0] if found else None


def _is_of_nvidia(word: str) -> bool:
    return word.lstrip("@").startswith(NVIDIA)


def _no_function(entry: Entry, wanted: str) -> str:
    """Why a function of LLVM's or clang's becomes no instruction of an architecture."""
    title = entry.architecture.title
    opcode = wanted.removeprefix(LLVM).partition(".")[0]
    if wanted.startswith(LLVM) and opcode in WITHOUT:
        return f"LLVM 22 has no intrinsic for {opcode}, which is inline assembly there: give the opcode of PTX"
    if entry.architecture.vendor != "nvidia":
        return f"{wanted[:80]} is a function for NVIDIA's targets, and {title} is not one"
    known = [name for one in (*entry.names, *entry.tensor_memory_names) for pair in functions(one) for name in pair if name]
    hint = did_you_mean(wanted, known)
    if any(name.startswith(wanted) for name in known):
        hint = f" `mmacalc find -a {entry.architecture.name} {wanted}` lists those whose intrinsics begin so."
    return f"no instruction of {title} has '{wanted[:80]}' as its intrinsic.{hint}"


def _plain(text: str, found: list[str]) -> list[str]:
    """The only one of several that adds nothing but types to a text, if there is one: what PTX says by a qualifier (sp,
    trans, a rounding), a text without it does not mean.

    >>> from mmacalc.catalog import entry
    >>> word = "mma.m16n8k16.f32.f16"
    >>> _plain(word, candidates(entry("sm_80"), word))
    ['mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32']
    """
    wanted = text.strip().rstrip(";,").lower().split(".")
    types = {*TYPES.lower().split("|"), "b1"}
    more = {name: _left_over(wanted, name.lower().split(".")) for name in found}
    plain = [name for name, parts in more.items() if parts is not None and not {*parts} - NEUTRAL - types]
    return plain if len(plain) == 1 else found


def candidates(entry: Entry, text: str) -> list[str]:
    """The instructions of an architecture that a text can mean, without those that say more than it needs.

    >>> from mmacalc.catalog import entry
    >>> candidates(entry("sm_80"), "SM80_16x8x16_F32BF16BF16F32_TN")
    ['mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32']
    """
    word = text.strip().rstrip(";,")
    if _is_of_nvidia(word):
        return _by_function(entry, word)
    if len(word) <= 200 and (fly := _FLY.fullmatch(word)):
        return _by_fly(entry, fly)
    if not word or len(word) > 200:
        return []
    for parts in from_atom(word):
        return _by_parts(entry, parts, entry.tensor_memory_names if parts[0] == "tcgen05" else entry.names)
    if " " in word:
        return []
    return _by_parts(entry, word.split("."), entry.names) or _squashed(entry, word) or _by_shape(entry, word)


def _by_function(entry: Entry, word: str) -> list[str]:
    """The instructions that one of LLVM's or clang's functions for NVIDIA becomes: several where an argument chooses.

    >>> from mmacalc.catalog import entry
    >>> _by_function(entry("sm_80"), "llvm.nvvm.mma.m16n8k16.row.col.bf16")
    ['mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32']
    """
    wanted = plain_name(word)
    return [name for name in (*entry.names, *entry.tensor_memory_names)
            if any(wanted in pair for pair in functions(name))]  # fmt: skip


def from_atom(word: str) -> Iterator[list[str]]:
    """The parts of the PTX name of an atom of CuTe's; nothing for other texts.

    >>> next(from_atom("SM90_64x128x16_F32F16F16_SS"))
    ['wgmma', 'mma_async', 'm64n128k16', 'f32', 'f16', 'f16']
    >>> next(from_atom("SM75_U16x8_LDSM_T"))
    ['ldmatrix', 'm8n8', 'x4', 'trans', 'b16']
    """
    word = re.sub(r"^(?:\w+::)+", "", word)
    if found := _MOVE.fullmatch(word):
        transposed = found["turn"].upper() == "T"
        count = whole(found["count"], "a count") * whole(found["bits"], "a width") // 32
        opcode = "ldmatrix" if found["kind"].upper() == "LD" else "stmatrix"
        yield [opcode, "m8n8", f"x{count}", *["trans"] * transposed, "b16"]
        return
    found = _ATOM.fullmatch(word)
    if found is None:
        yield from _from_arguments(word)
        return
    types = [one.lower() for one in re.findall(TYPES, found["types"].upper())]
    types = ["b1" if one == "u1" else one for one in types]
    shape = f"m{found['m']}n{found['n']}k{found['k']}"
    if found["layout"].upper() in ("SS", "RS"):
        yield ["wgmma", "mma_async", shape, *types]
        return
    order = ["row" if letter == "T" else "col" for letter in found["layout"].upper()]
    order[1] = "col" if found["layout"].upper()[1] == "N" else "row"
    rest = found["rest"].upper()
    more = ["satfinite"] if "SATURATE" in rest else []
    bits = [part for word, part in (("XORPOPC", "xor"), ("ANDPOPC", "and")) if word in rest]
    yield ["mma", "sync", "aligned", shape, *order, *more, *types, *bits, *["popc"] * bool(bits)]


def _from_arguments(word: str) -> Iterator[list[str]]:
    """The parts of the name of an atom of CuTe's whose types are arguments of a template, or of sycl-tla's.

    >>> next(_from_arguments("SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 16>"))[-6:]
    ['scale_vec::4X', 'f32', 'e2m1', 'e2m1', 'f32', 'ue4m3']
    >>> next(_from_arguments("SM100_MMA_F16BF16_2x1SM_SS")), next(_from_arguments("XE_8x16x16_F32BF16BF16F32_TT"))
    (['tcgen05', 'mma', 'cta_group::2', 'kind::f16'], ['dpas', '8x8', 'f', 'f', 'bf', 'bf'])
    """
    if (found := _TENSOR.fullmatch(word)) and found["kind"].upper() in KINDS:
        size = ", 16" if "16" in _types(found["arguments"] or "")[6:7] else ""  # after four types, M and N
        kind, *blocks = KINDS[found["kind"].upper() + (size if found["kind"].upper() == "MXF4" else "")]
        yield ["tcgen05", "mma", f"cta_group::{2 if found['two'] else 1}", f"kind::{kind}", *blocks]
    elif found := _TYPED.fullmatch(word):
        a, b, d, *scale = _types(found["types"])
        m, n, k = found["shape"].split("x")
        parts = ["mma", "sync", "aligned", f"m{m}n{n}k{k}", "row", "col"]
        if not found["scaled"]:
            yield [*parts, "kind::f8f6f4", d, a, b, d]
        elif k == "64":
            yield [*parts, "kind::mxf4nvf4", "block_scale", f"scale_vec::{'4X' if scale[1:] == ['16'] else '2X'}",
                   d, a, b, d, *scale[:1]]  # fmt: skip
        else:
            yield [*parts, "kind::mxf8f6f4", "block_scale", d, a, b, d, *scale[:1]]
    elif found := _XE.fullmatch(word):
        if found["types"]:
            m, (d, a, b, c) = found["m"], _types(",".join(re.findall(TYPES, found["types"].upper())))
        else:
            m, d, a, *rest = _types(found["arguments"])
            b, c = (*rest, *(a, d)[len(rest) :])
        if {d, a, b, c} <= DPAS.keys():
            yield ["dpas", f"8x{m}", DPAS[d], DPAS[c], DPAS[b], DPAS[a]]


def _types(text: str) -> list[str]:
    """C++'s types, and other arguments, as PTX calls them.

    >>> _types("cutlass::float_e4m3_t, half_t, 16")
    ['e4m3', 'f16', '16']
    """
    words = [part.strip().rpartition("::")[2].lower() for part in text.split(",")]
    return [CPLUSPLUS.get(word) or word.removeprefix("float_").removesuffix("_t") for word in words]


def _by_parts(entry: Entry, parts: list[str], names: Iterable[str]) -> list[str]:
    """Of some names those that have these parts in this order; of several those whose other parts all say nothing.

    A text with .sync or .aligned is a whole opcode: where ptxas refuses it for lack of .trans, say, so is it here.
    """
    wanted = [part.lower() for part in parts]
    if len(wanted) < 2:
        return []
    found, plain = [], []
    for name in names:
        own = name.lower().split(".")
        rest = _left_over(wanted, own)
        if rest is not None and not (WHOLE & {*wanted} and set(rest) - USUAL):
            found.append(name)
            if set(rest) <= NEUTRAL:
                plain.append(name)
    return plain if len(plain) == 1 else found


def _left_over(wanted: list[str], own: list[str]) -> list[str] | None:
    """The parts of a name that are not among those wanted; None if these are not in it, in their order."""
    if own[0] != wanted[0]:
        return None
    rest, at = [], 0
    for part in own:
        if at < len(wanted) and part == wanted[at]:
            at += 1
        else:
            rest.append(part)
    return rest if at == len(wanted) else None


def _squashed(entry: Entry, word: str) -> list[str]:
    """AMD's names without the v_ and what separates the parts."""
    bare = _CALL.sub("", word.partition("(")[0]).lower().replace(".", "_")
    bare = _ENDINGS.sub("", bare)
    key = re.sub(r"[_\W]", "", bare.removeprefix("v_"))
    names = [name for name in entry.names if re.sub(r"[_\W]", "", name.lower().removeprefix("v_")) == key]
    return names or sorted({
        found for name, found in entry._aliases.items() if re.sub(r"[_\W]", "", name.removeprefix("v_")) == key
    })  # fmt: skip


_KINDS = {"f16": "f16", "bf16": "bf16", "fp8": "e4m3", "bf8": "e5m2", "i8": "i8", "f32": "f32", "f8": "e4m3"}


def _by_shape(entry: Entry, word: str) -> list[str]:
    """The instructions of a shape that ck_tile's or Tensile's name has."""
    tile, tensile = _TILE.fullmatch(word), _TENSILE.fullmatch(word)
    if tile:
        wanted = _KINDS[tile["a"].lower()]
        found = [entry.instruction(name) for name in _of_shape(entry, tile, 1)]
        both = [inst for inst in found if all(inst.format(name).name.startswith(wanted) for name in "AB")]
        return [inst.name for inst in both]
    if tensile and tensile["b"]:
        return _of_shape(entry, tensile, whole(tensile["b"], "a number of blocks"))
    return []


def _by_fly(entry: Entry, found: re.Match[str]) -> list[str]:
    """The dense instructions of an atom of FlyDSL's: a shape and the format of A and B; of its MLIR those of all.

    >>> from mmacalc.catalog import entry
    >>> candidates(entry("gfx942"), "fx.rocdl.MFMA(16, 16, 16, fx.BFloat16)")
    ['v_mfma_f32_16x16x16_bf16']
    >>> candidates(entry("gfx942"), "!fly_rocdl.atom.cdna3.mfma<16x16x4, (f32, f32) -> f32>")
    ['v_mfma_f32_16x16x4_f32']
    """
    shape = (found["shape"] or f"{found['m']}x{found['n']}x{found['k']}").split("x")
    sizes = tuple([whole(size, "a size") for size in shape])
    kind = (found["kind"] or found["kind2"]).lower()
    given = {"A": found["a"] or found["a2"], "B": found["a"] or found["b2"], "D": found["d2"]}
    try:
        wanted = {operand: formats_named(name.rpartition(".")[2]) for operand, name in given.items() if name}
    except Error:
        return []
    return [
        inst.name
        for inst in entry.instructions(lambda name: f"v_{kind}_" in name)
        if (inst.m, inst.n, inst.k) == sizes and inst.blocks == 1 and not inst.sparse and not inst.scaled
        and all(inst.format_names(operand) & names for operand, names in wanted.items())
    ]  # fmt: skip


def _of_shape(entry: Entry, found: re.Match[str], blocks: int) -> list[str]:
    shape = tuple([whole(found[axis], "a size") for axis in "mnk"])
    return [
        inst.name
        for inst in entry.instructions()
        if inst.flops and (inst.m, inst.n, inst.k) == shape and inst.blocks == blocks and not inst.sparse
    ]
