"""The opcodes of PTX that compute: which modifiers and types each root takes together.

A line is a root (or several, joined by commas) and what stands behind it, as in the syntax boxes of the PTX ISA 9.0,
9.7.1 to 9.7.9: alternatives are separated by `|`, what may be left out is in brackets, words in capitals are lists.
The order of modifiers in an opcode is free, as it is for ptxas. `arithmetic` computes them; an opcode that is on no
line is refused before. The lines are ptxas 13.0's verdicts on 80,360 opcodes, less what the ISA does not document.
Beyond them are conversions of small floats to bf16x2, which Triton 3.9 emits for newer ones. cvt between f16 and bf16
without a rounding is .rn: ptxas makes the same code of both.

>>> takes("add", ("rz", "f32")), takes("add", ("f32", "rz")), takes("add", ("rz", "f16"))
(True, True, False)
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from ...base.checks import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HINTS", "TYPES", "forms", "has", "lines_of", "needed", "takes", "words_of"]

HINTS = (
    "prefetch", "prefetchu", "applypriority", "nanosleep", "setmaxnreg", "griddepcontrol", "pmevent",
    "brkpt",
)  # fmt: skip
"""Opcodes without an effect on results; nothing reads their operands."""
LISTS = {
    "INT": "u16|s16|u32|s32|u64|s64", "INT8": "u8|s8|u16|s16|u32|s32|u64|s64", "WORDS": "u32|s32|u64|s64",
    "BITS": "b16|b32|b64", "RND": "rn|rz|rm|rp", "WHOLE": "rni|rzi|rmi|rpi", "HALF": "f16|f16x2",
    "BHALF": "bf16|bf16x2", "BOOL": "and|or|xor", "SAME": "eq|ne", "ORDER": "eq|ne|lt|le|gt|ge",
    "UNORDER": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan", "UNSIGNED": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
}  # fmt: skip
FORMS = """
add,sub           INT
add               u16x2|s16x2
add,sub           cc WORDS
add,sub           sat s32
add,sub,mul       [rn] [ftz] [sat] HALF
add,sub,mul       [rn] BHALF
add,sub,mul       [RND] [ftz] [sat] f32
add,sub,mul       [RND] [ftz] f32x2
add,sub,mul       [RND] f64
add,sub           [RND] [sat] f32 f16|bf16
mul,mad           lo|hi INT
mul,mad           wide u16|s16|u32|s32
mad               lo|hi cc WORDS
mad               hi sat s32
mad,fma           RND [ftz] [sat] f32
mad,fma           RND f64
fma               RND [ftz] f32x2
fma               rn [ftz] [sat|relu] HALF
fma               rn [relu] BHALF
fma               RND [sat] f32 f16|bf16
addc,subc         [cc] WORDS
madc              lo|hi [cc] WORDS
mul24,mad24       lo|hi u32|s32
mad24             hi sat s32
sad,div,rem       INT
div               approx|full|RND [ftz] f32
div               RND f64
rcp,sqrt          approx|RND [ftz] f32
rcp,sqrt          RND f64
rcp               approx ftz f64
rsqrt             approx [ftz] f32|f64
ex2               approx [ftz] f32
ex2               approx HALF
ex2               approx ftz BHALF
lg2,sin,cos       approx [ftz] f32
tanh              approx f32|f16|f16x2|bf16|bf16x2
neg,abs           s16|s32|s64|f64|bf16|bf16x2
neg,abs           [ftz] f32|f16|f16x2
min,max           INT|u16x2|s16x2|f64
min,max           relu s32|s16x2
min,max           [ftz] [NaN] [xorsign.abs] f32|f16|f16x2
min,max           [NaN] [xorsign.abs] BHALF
min,max           [ftz] [NaN] abs f32
copysign          f32|f64
testp             finite|infinite|number|notanumber|normal|subnormal f32|f64
and,or,xor,not    pred|b16|b32|b64
cnot,shl          BITS
shr               BITS|INT
shf               l|r clamp|wrap b32
prmt              b32 [f4e|b4e|rc8|ecl|ecr|rc16]
lop3              [and|or] b32
bmsk              clamp|wrap b32
szext             clamp|wrap u32|s32
bfe               WORDS
bfi,brev,popc,clz b32|b64
fns               b32
bfind             [shiftamt] WORDS
dp4a              u32|s32 u32|s32
dp2a              lo|hi u32|s32 u32|s32
setp              SAME [BOOL] BITS
setp              ORDER [BOOL] s16|s32|s64
setp              UNSIGNED [BOOL] u16|u32|u64
setp              UNORDER [BOOL] f64|bf16|bf16x2
setp              UNORDER [BOOL] [ftz] f32|f16|f16x2
set               SAME [BOOL] u32|s32|f32|f16|bf16 BITS
set               ORDER [BOOL] u32|s32|f32|f16|bf16 s16|s32|s64
set               UNSIGNED [BOOL] u32|s32|f32|f16|bf16 u16|u32|u64
set               UNORDER [BOOL] u32|s32|f32|f16|bf16 f64
set               UNORDER [BOOL] [ftz] u32|s32|f32|f16 f32
set               UNORDER [BOOL] bf16 f32|f16|bf16
set               UNORDER [BOOL] [ftz] u16|s16|u32|s32|f16 f16
set               UNORDER [BOOL] u16|s16|u32|s32 bf16
set               UNORDER [BOOL] [ftz] u32|s32|f16x2 f16x2
set               UNORDER [BOOL] u32|s32|bf16x2 bf16x2
selp              BITS|INT|f32|f64
slct              BITS|INT|f32|f64 s32
slct              [ftz] BITS|INT|f32|f64 f32
mov               pred|BITS|b128|INT|f32|f64
SIMD              [sat|add] u32|s32 u32|s32 u32|s32
vset2,vset4       ORDER [add] u32|s32 u32|s32
vadd,vsub,vabsdiff,vmin,vmax [sat] u32|s32 u32|s32 u32|s32
vset              ORDER u32|s32 u32|s32
cvt               INT8 INT8
cvt               sat u8 s8|u16|s16|u32|s32|u64|s64
cvt               sat s8 u8|u16|s16|u32|s32|u64|s64
cvt               sat u16 s8|s16|u32|s32|u64|s64
cvt               sat s16 u16|u32|s32|u64|s64
cvt               sat u32 s8|s16|s32|u64|s64
cvt               sat s32 u32|u64|s64
cvt               sat u64 s8|s16|s32|s64
cvt               sat s64 u64
cvt               WHOLE [sat] INT8 f16|f64
cvt               WHOLE [ftz] [sat] INT8 f32
cvt               WHOLE INT8 bf16
cvt               RND f16|bf16|f32|f64 INT8
cvt               RND sat f16|f32|f64 INT8
cvt               RND ftz [sat] f32 INT8
cvt               [RND] f16 bf16
cvt               RND f64 bf16
cvt               [RND] bf16 f16
cvt               RND f16|bf16 f64
cvt               RND [ftz] f16|bf16 f32
cvt               RND [ftz] sat f16 f32
cvt               RND sat f16 f64
cvt               RND [ftz] [sat] f32 f64
cvt               RND [ftz] f32 bf16
cvt               [sat] f16 f16
cvt               [ftz] [sat] f32 f16|f32
cvt               [ftz] f32 bf16
cvt               [sat] f64 f16|f64
cvt               [ftz] [sat] f64 f32
cvt               f64|bf16 bf16
cvt               WHOLE [sat] f16 f16
cvt               WHOLE bf16 bf16
cvt               WHOLE [ftz] [sat] f32 f32
cvt               WHOLE [sat] f64 f64
cvt               rn|rz [relu] [satfinite] f16|f16x2|bf16|bf16x2|tf32 f32
cvt               rna [satfinite] tf32 f32
cvt               rs [relu] [satfinite] f16x2|bf16x2 f32
cvt               rs [relu] satfinite e4m3x4|e5m2x4|e2m1x4|e2m3x4|e3m2x4 f32
cvt               rn satfinite [relu] e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2 f32
cvt               rn satfinite [relu] e4m3x2|e5m2x2|e2m1x2 f16x2
cvt               rn [relu] f16x2|bf16x2 e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2
cvt               rz|rp [satfinite] ue8m0x2 f32|bf16x2
cvt               rn bf16x2 ue8m0x2
cvt               pack sat u16|s16 s32
cvt               pack sat u8|s8|u4|s4|u2|s2 s32 b32
""".replace("SIMD ", ",".join(f"{root}{count}" for root in (
    "vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax") for count in "24") + " ")  # fmt: skip


def lines_of(root: str, modifiers: tuple[str, ...] = ()) -> list[str]:
    """The lines of a root; where some take the types of an opcode, these alone."""
    types = _types(modifiers)
    found = [line for line in _lines(root) if types and types in {_types(form) for form in _expanded(line)}]
    return found or _lines(root)


def _types(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([word for word in words if word in TYPES])


def _lines(root: str) -> list[str]:
    found = []
    for line in FORMS.strip().splitlines():
        roots, _, rest = line.partition(" ")
        if root in roots.split(","):
            found.append(rest.strip())
    return found


def words_of(token: str, lists: Mapping[str, str]) -> list[tuple[str, ...]]:
    """What a token of a line stands for: the words of each alternative, those of most words first. lists: what the
    words in capitals are."""
    optional = token[0] == "["
    alternatives = "|".join(lists.get(word, word) for word in token.strip("[]").split("|")).split("|")
    found = sorted([tuple(word.split(".")) for word in alternatives], key=len, reverse=True)
    return [*found, ()] if optional else found


@lru_cache(maxsize=256)  # there are fewer roots
def forms(root: str) -> frozenset[tuple[str, ...]]:
    """All forms of a root: the modifiers in alphabetical order, the types behind them in their own."""
    found = set()
    for line in _lines(root):
        found.update(_expanded(line))
    return frozenset(found)


def _expanded(line: str) -> list[tuple[str, ...]]:
    choices = product(*[words_of(token, LISTS) for token in line.split()])
    return [_canonical([word for words in choice for word in words]) for choice in choices]


SMALL = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
TYPES = frozenset(
    ["pred", "f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64", "tf32", "u16x2", "s16x2", "ue8m0x2"]
    + [f"{name}x{count}" for name in SMALL for count in (2, 4)]
    + [f"{kind}{bits}" for kind in "usb" for bits in (2, 4, 8, 16, 32, 64)]
    + ["b128"]
)
"""The words that are types."""


def _canonical(words: list[str]) -> tuple[str, ...]:
    types = [word for word in words if word in TYPES]
    return (*sorted(word for word in words if word not in TYPES), *types)


def takes(root: str, modifiers: tuple[str, ...]) -> bool:
    """Whether an opcode is one of PTX."""
    return _canonical(list(modifiers)) in forms(root)


NEEDS = """
100a  cvt rs
100f  cvt e2m1x2|e2m3x2|e3m2x2|ue8m0x2
100   cvt rn|rz satfinite tf32
90    cvt rn|rz tf32
80    cvt tf32
89    cvt e4m3x2|e5m2x2
80    cvt =bf16.f32|=bf16x2.f32|=f16x2.f32
90    cvt ftz =f32.bf16
80    cvt =f32.bf16
90    cvt bf16
80    cvt relu =f16.f32
90    add,min,max u16x2|s16x2
90    min,max relu s32
100   min,max abs f32 -xorsign
86    min,max xorsign
80    min,max NaN f32
80    min,max f16|f16x2|bf16|bf16x2
100   add,sub,mul,fma f32x2|=f32.f16|=f32.bf16
90    add,sub,mul,tanh,setp,set bf16|bf16x2
90    ex2 ftz bf16|bf16x2
80    fma bf16|bf16x2
80    fma relu
80    neg,abs bf16|bf16x2
100s  redux f32
80    redux
90    elect,mapa,getctarank,griddepcontrol,stmatrix
90    mbarrier try_wait|expect_tx|complete_tx
80    mbarrier,createpolicy
90    barrier,bar cluster
90    fence proxy -alias
90    fence mbarrier_init
100t  cp tile::scatter4
100t  cp tile::gather4 shared::cluster -prefetch
100   cp tile::gather4
100t  cp cta_group
90    cp bulk
100   st bulk
90    st,red async
90    multimem
100f  clusterlaunchcontrol multicast
100   clusterlaunchcontrol
80    applypriority,discard
90    prefetch tensormap
80    prefetch L2::evict_last|L2::evict_normal
80    cp async
90    atom b128
90    atom,red v2|v4|v8
90    fence sync_restrict
100   ld,st v8
90a   setmaxnreg
90A   wgmma
100b  tcgen05 shift
103t  tcgen05 red
100t  tcgen05
"""
"""What an opcode needs: the first line whose roots have the opcode's and whose words it has (alternatives are separated
by `|`; `=` begins types in their order, `-` a word that it lacks). Opcodes on no line are those of sm_75.

A number is the first compute capability; 90a and 100f want an architecture- or family-specific target from there on,
90A is sm_90a alone, 100a is sm_100a and sm_103a, 100s has their family-specific targets, 100t what has Tensor Memory,
100b and 103t some of these.
The lines are ptxas 13.0's verdicts on 20 targets from sm_75 to sm_121a.
"""
WORDS_OF_NEED = {
    "90a": "sm_90a, or an architecture-specific target from sm_100 up", "90A": "sm_90a", "100a": "sm_100a or sm_103a",
    "100f": "an architecture- or family-specific target from sm_100 up, such as sm_100a",
    "100s": "an architecture- or family-specific target of sm_100 or sm_103, such as sm_100a",
    "100b": "sm_100a, sm_103a or sm_110a", "103t": "an architecture- or family-specific target of sm_103 or sm_110",
    "100t": "an architecture- or family-specific target from sm_100 to sm_110, such as sm_100a",
}  # fmt: skip


def needed(root: str, modifiers: tuple[str, ...]) -> str:
    """What a target must be to have an opcode, in words; "" if every target has it.

    >>> needed("add", ("rn", "bf16")), needed("wgmma", ("fence", "sync", "aligned")), needed("add", ("u32",))
    ('sm_90 or later', 'sm_90a', '')
    """
    need = _need(root, modifiers)
    return WORDS_OF_NEED.get(need, f"sm_{need} or later" if need else "")


def _need(root: str, modifiers: tuple[str, ...]) -> str:
    words = {part for word in modifiers for part in (word, word.partition("::")[0])}
    words.add("=" + ".".join(_types(modifiers)))
    for need, roots, wanted in _needs():
        if root in roots and all(not words.isdisjoint(some) if some[0][0] != "-" else some[0][1:] not in words
                                 for some in wanted):  # fmt: skip
            return need
    return ""


@lru_cache(maxsize=1)
def _needs() -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]:
    found = []
    for line in NEEDS.strip().splitlines():
        need, roots, *wanted = line.split()
        found.append((need, tuple(roots.split(",")), tuple([tuple(word.split("|")) for word in wanted])))
    return tuple(found)


def has(target: str, root: str, modifiers: tuple[str, ...]) -> bool:
    """Whether a target (sm_90a) has an opcode.

    >>> has("sm_80", "add", ("rn", "bf16")), has("sm_90", "add", ("rn", "bf16")), has("sm_100", "wgmma", ("fence",))
    (False, True, False)
    """
    need = _need(root, modifiers)
    if not need or not target.startswith("sm_"):
        return True
    text = target[3:]
    number, specific = whole(text.rstrip("af"), "a target of PTX"), text[-1] in "af"
    if need == "90A":
        return target == "sm_90a"
    if need == "100b":
        return target in ("sm_100a", "sm_103a", "sm_110a")
    if need == "103t":
        return specific and number in (103, 110)
    if need == "100a":
        return target in ("sm_100a", "sm_103a")
    if need in ("100s", "100t"):
        return specific and 100 <= number < (110 if need == "100s" else 120)
    if need in ("90a", "100f"):
        return specific and number >= whole(need[:-1], "a target of PTX")
    return number >= whole(need, "a target of PTX")
