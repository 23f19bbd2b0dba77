"""The opcodes of PTX that do more than compute, with their operands: which modifiers each root takes together, and the
kind and type of every operand. A statement that differs is refused when it is read, with what its opcode takes.

A line is a root (or several, joined by commas), the modifiers in the notation of `grammar`, and behind ` : ` the
operands in their order, separated by commas:

    u32        a register or constant of that type; `$` is the type that the opcode ends with
    =u32       a register that is written; =u32_ may be the sink `_`; =b32|?pred may have a second destination
    #          an integer constant
    []         an address; in shared memory its register has 32 or 64 bits, elsewhere 64; [32] and [*] say others
    [map]      a tensor map and coordinates
    N*u16      any number of them in braces
    taddr      an address in Tensor Memory: a register of .b32 and of no other type
    V$         as many as .v2, .v4 or .v8 say, in braces
    u32~       the register may be wider (9.4.1 "Operand Size Exceeding Instruction-Type Size")
    u64@       the address of a variable will do
    ?u32       may be left out; word?u16 is there if the opcode has that word
    b32/pred   one of several
    *          operands that the catalog knows: the builder of the statement looks at them

A register agrees with a type as the PTX ISA 9.0 says (9.2, "Type Information for Instructions and Operands"): .b types
agree with every type of their size, integers with each other, floats with their own; types without registers of their
own (.bf16, .tf32, .f16x2 ...) with .b alone. The lines are ptxas 13.0's verdicts on 13,000 statements.

>>> fault(signature("st", ("shared", "f32")), Statement(
...     1, None, "st", ("shared", "f32"), (Address(Register("%r1")), Register("%d1")), None, ""), {
...     "%r1": "b32", "%d1": "f64"}.get)
'st.shared.f32 takes [address], .f32; operand 2 is %d1, a register of .f64'
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...base.errors import plural
from ...base.records import TupleRecord
from ...ptx.module import Address, Negated, Number, Pair, Register, Statement, Symbol, bits_of, count_of, is_braced
from .grammar import TYPES, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ptx.module import Operand

    TypeOf = Callable[[str], str | None]

__all__ = ["Kind", "agrees", "fault", "kind_of", "lines_of", "operation_kinds", "signature"]

LISTS = {
    "SCOPE": "cta|cluster|gpu|sys", "SHARED": "shared|shared::cta", "CTAS": "shared|shared::cta|shared::cluster",
    "SPACE": "global|shared|shared::cta|shared::cluster|local",
    "BOTH": "global|shared|shared::cta|shared::cluster",
    "READABLE": "global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func",
    "VEC": "v2|v4|v8", "WORD": "b32|u32|s32|b64|u64|s64|f32|f64",
    "ANY": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "EVICT1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "EVICT2": "L2::evict_normal|L2::evict_first|L2::evict_last", "FETCH": "L2::64B|L2::128B|L2::256B",
    "HINT": "L2::cache_hint", "SEM": "relaxed|acquire|release|acq_rel", "BYTES": "mbarrier::complete_tx::bytes",
    "DIM": "1d|2d|3d|4d|5d", "IM2COL": "im2col|im2col::w|im2col::w::128", "REDUCE": "add|min|max|inc|dec|and|or|xor",
    "GROUP": "cta_group::1|cta_group::2",
}  # fmt: skip
"""Lists of words that only these opcodes have."""
FORMS = """
ld        [weak] [READABLE] [ca|cg|cs|lu|cv] [HINT] [FETCH] [unified] [VEC] ANY : =V$~, [], HINT?u64
ld        [weak] [READABLE] [EVICT1] [EVICT2] [HINT] [FETCH] [VEC] ANY : =V$~, [], HINT?u64
ld        [weak] global [ca|cg|cs] nc [EVICT1] [EVICT2] [HINT] [FETCH] [VEC] ANY : =V$~, [], HINT?u64
ld        volatile [READABLE] [FETCH] [VEC] ANY : =V$~, []
ld        relaxed|acquire SCOPE [SPACE] [EVICT1] [EVICT2] [HINT] [FETCH] [VEC] ANY : =V$~, [], HINT?u64
ld        mmio relaxed sys [global] [VEC] ANY : =V$~, []
ldu       [global] [VEC] ANY : =V$~, []
st        [weak] [SPACE|param|param::func] [wb|cg|cs|wt] [HINT] [VEC] ANY : [], V$~, HINT?u64
st        [weak] [SPACE] [EVICT1] [EVICT2] [HINT] [VEC] ANY : [], V$~, HINT?u64
st        volatile [SPACE] [VEC] ANY : [], V$~
st        relaxed|release SCOPE [SPACE] [EVICT1] [EVICT2] [HINT] [VEC] ANY : [], V$~, HINT?u64
st        mmio relaxed sys [global] [VEC] ANY : [], V$~
st        async [weak] [shared::cluster] BYTES [VEC] WORD : [], V$, []
st        async [weak] [shared::cluster] BYTES v4 b32|u32|s32|f32 : [], V$, []
st        async [mmio] release gpu|sys [global] WORD|b8|u8|s8|b16|u16|s16 : [], $
st        bulk [weak] [shared::cta] : [], u32/u64, #
atom      [SEM] [SCOPE] [BOTH] add [HINT] u32|s32|u64|f32|f64 : =$_, [], $, HINT?u64
atom      [SEM] [SCOPE] [BOTH] min|max [HINT] u32|s32|u64|s64 : =$_, [], $, HINT?u64
atom      [SEM] [SCOPE] [BOTH] inc|dec [HINT] u32 : =$_, [], $, HINT?u64
atom      [SEM] [SCOPE] [BOTH] and|or|xor [HINT] b32|b64 : =$_, [], $, HINT?u64
atom      [SEM] [SCOPE] [BOTH] exch [HINT] b32|b64|b128 : =$_, [], $, HINT?u64
atom      [SEM] [SCOPE] [BOTH] cas [HINT] b16|b32|b64|b128 : =$_, [], $, $, HINT?u64
atom      [SEM] [SCOPE] [BOTH] add noftz [HINT] f16|f16x2|bf16|bf16x2 : =$_, [], $, HINT?u64
atom      [SEM] [SCOPE] [global] add [HINT] VEC f32 : =V$_, [], V$, HINT?u64
atom      [SEM] [SCOPE] [global] add|min|max noftz [HINT] VEC f16|bf16|f16x2|bf16x2 : =V$_, [], V$, HINT?u64
red       [relaxed|release] [SCOPE] [BOTH] add [HINT] u32|s32|u64|f32|f64 : [], $, HINT?u64
red       [relaxed|release] [SCOPE] [BOTH] min|max [HINT] u32|s32|u64|s64 : [], $, HINT?u64
red       [relaxed|release] [SCOPE] [BOTH] inc|dec [HINT] u32 : [], $, HINT?u64
red       [relaxed|release] [SCOPE] [BOTH] and|or|xor [HINT] b32|b64 : [], $, HINT?u64
red       [relaxed|release] [SCOPE] [BOTH] add noftz [HINT] f16|f16x2|bf16|bf16x2 : [], $, HINT?u64
red       [relaxed|release] [SCOPE] [global] add [HINT] VEC f32 : [], V$, HINT?u64
red       [relaxed|release] [SCOPE] [global] add|min|max noftz [HINT] VEC f16|bf16|f16x2|bf16x2 : [], V$, HINT?u64
red       async relaxed cluster [shared::cluster] BYTES inc|dec u32 : [], $, []
red       async relaxed cluster [shared::cluster] BYTES min|max u32|s32 : [], $, []
red       async relaxed cluster [shared::cluster] BYTES and|or|xor b32 : [], $, []
red       async relaxed cluster [shared::cluster] BYTES add u32|s32|u64|s64 : [], $, []
red       async [mmio] relaxed|release gpu|sys [global] add u32|s32|u64|s64 : [], $
multimem  ld_reduce [weak] [global] min|max|add|and|or|xor b32|b64|u32|u64|s32|s64 : =$, [64]
multimem  ld_reduce relaxed|acquire SCOPE [global] min|max|add|and|or|xor b32|b64|u32|u64|s32|s64 : =$, [64]
multimem  ld_reduce [weak] [global] min|max|add [acc::f32|acc::f16] [VEC] MULTI : =V$, [64]
multimem  ld_reduce relaxed|acquire SCOPE [global] min|max|add [acc::f32|acc::f16] [VEC] MULTI : =V$, [64]
multimem  st [weak] [global] [VEC] MULTI|b32|b64|u32|u64|s32|s64 : [64], V$
multimem  st relaxed|release SCOPE [global] [VEC] MULTI|b32|b64|u32|u64|s32|s64 : [64], V$
multimem  red [relaxed|release] [SCOPE] [global] min|max|add|and|or|xor b32|b64|u32|u64|s32|s64 : [64], $
multimem  red [relaxed|release] [SCOPE] [global] min|max|add [VEC] MULTI : [64], V$
prefetch  [global|local] L1|L2 : [64]
prefetch  global L2::evict_last|L2::evict_normal : [64]
prefetch  [param|const] tensormap : [64]
prefetchu L1 : [64]
applypriority [global] L2::evict_normal : [64], #
discard   [global] L2 : [64], #
createpolicy fractional EVICT2|L2::evict_unchanged [L2::evict_unchanged|L2::evict_first] b64 : =u64, ?f32
createpolicy range [global] EVICT2|L2::evict_unchanged [L2::evict_unchanged|L2::evict_first] b64 : =u64, [*], u32, u32
createpolicy cvt L2 b64 : =u64, u64
isspacep  READABLE : =pred, u32/u64
cvta      READABLE u32|u64 : =$, $@
cvta      to READABLE u32|u64 : =$, $
mapa      [shared::cluster] u32|u64 : =$, $@, u32
getctarank [shared::cluster] u32|u64 : =u32, $@
cp        async ca|cg SHARED global [HINT] [FETCH] : [*], [*], #, ?u32/pred, HINT?u64
cp        async commit_group|wait_all :
cp        async wait_group : #
cp        async mbarrier arrive|arrive::one [noinc] [SHARED] b64 : []
cp        async mbarrier arrive [noinc] [SHARED] b64 : []
cp        async bulk commit_group :
cp        async bulk wait_group [read] : #
cp        async bulk shared::cluster|shared::cta global BYTES [HINT] : [*], [*], u32, [*], HINT?u64
cp        async bulk shared::cluster global BYTES multicast::cluster [HINT] : [*], [*], u32, [*], u16, HINT?u64
cp        async bulk shared::cluster shared::cta BYTES : [*], [*], u32, [*]
cp        async bulk global shared::cta bulk_group [HINT] [cp_mask] : [*], [*], u32, HINT?u64, cp_mask?b16
cp        async bulk prefetch L2 global [HINT] : [*], u32, HINT?u64
cp        reduce async bulk shared::cluster shared::cta BYTES and|or|xor b32 : [*], [*], u32, [*]
cp        reduce async bulk shared::cluster shared::cta BYTES add u32|s32|u64 : [*], [*], u32, [*]
cp        reduce async bulk shared::cluster shared::cta BYTES min|max u32|s32 : [*], [*], u32, [*]
cp        reduce async bulk shared::cluster shared::cta BYTES inc|dec u32 : [*], [*], u32, [*]
cp        reduce async bulk global shared::cta bulk_group [HINT] and|or|xor b32|b64 : [*], [*], u32, HINT?u64
cp        reduce async bulk global shared::cta bulk_group [HINT] add u32|s32|u64|f32|f64 : [*], [*], u32, HINT?u64
cp        reduce async bulk global shared::cta bulk_group [HINT] add noftz f16|bf16 : [*], [*], u32, HINT?u64
cp        reduce async bulk global shared::cta bulk_group [HINT] min|max u32|s32|u64|s64|f16|bf16 : \
[*], [*], u32, HINT?u64
cp        reduce async bulk global shared::cta bulk_group [HINT] inc|dec u32 : [*], [*], u32, HINT?u64
cp        async bulk tensor DIM shared::cluster|shared::cta global [tile|tile::gather4] BYTES [multicast::cluster] \
[GROUP] [HINT] : [*], [map], [*], multicast::cluster?u16, HINT?u64
cp        async bulk tensor DIM shared::cluster|shared::cta global IM2COL BYTES [multicast::cluster] \
[GROUP] [HINT] : [*], [map], [*], N*u16, multicast::cluster?u16, HINT?u64
cp        async bulk tensor DIM global shared::cta [tile|tile::scatter4|im2col_no_offs] bulk_group [HINT] : \
[map], [*], HINT?u64
cp        reduce async bulk tensor DIM global shared::cta REDUCE [tile|im2col_no_offs] bulk_group [HINT] : \
[map], [*], HINT?u64
cp        async bulk prefetch tensor DIM L2 global [tile|tile::gather4] [HINT] : [map], HINT?u64
cp        async bulk prefetch tensor DIM L2 global IM2COL [HINT] : [map], N*u16, HINT?u64
tensormap replace tile global_address [global|shared::cta] b1024 b64 : [*], b64
tensormap replace tile global_stride [global|shared::cta] b1024 b64 : [*], #, b64
tensormap replace tile rank [global|shared::cta] b1024 b32 : [*], b32
tensormap replace tile box_dim|global_dim|element_stride [global|shared::cta] b1024 b32 : [*], #, b32
tensormap replace tile elemtype|interleave_layout|swizzle_mode|fill_mode|swizzle_atomicity [global|shared::cta] b1024 \
b32 : [*], #
tensormap cp_fenceproxy global SHARED tensormap::generic release SCOPE sync aligned : [*], [*], #
mbarrier  init [SHARED] b64 : [], u32
mbarrier  inval [SHARED] b64 : []
mbarrier  expect_tx|complete_tx [relaxed] [cta|cluster] [CTAS] b64 : [], u32
mbarrier  arrive|arrive_drop [release|relaxed] [cta|cluster] [CTAS] b64 : =u64_, [], ?u32
mbarrier  arrive|arrive_drop expect_tx [release|relaxed] [cta|cluster] [CTAS] b64 : =u64_, [], u32
mbarrier  arrive|arrive_drop noComplete [release] [cta] [SHARED] b64 : =u64_, [], u32
mbarrier  test_wait [acquire|relaxed] [cta|cluster] [SHARED] b64 : =pred, [], u64
mbarrier  test_wait parity [acquire|relaxed] [cta|cluster] [SHARED] b64 : =pred, [], u32
mbarrier  try_wait [acquire|relaxed] [cta|cluster] [SHARED] b64 : =pred, [], u64, ?u32
mbarrier  try_wait parity [acquire|relaxed] [cta|cluster] [SHARED] b64 : =pred, [], u32, ?u32
mbarrier  pending_count b64 : =u32, u64
clusterlaunchcontrol try_cancel async [shared::cta] BYTES [multicast::cluster::all] b128 : [], []
clusterlaunchcontrol query_cancel is_canceled pred b128 : =pred, b128
clusterlaunchcontrol query_cancel get_first_ctaid v4 b32 b128 : =4*b32_, b128
clusterlaunchcontrol query_cancel get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128 : =b32, b128
bar       [cta] sync : u32, ?u32
bar       [cta] arrive : u32, u32
bar       [cta] red popc u32 : =u32, u32, ?u32, pred
bar       [cta] red and|or pred : =pred, u32, ?u32, pred
bar       warp sync : u32
barrier   [cta] sync [aligned] : u32, ?u32
barrier   [cta] arrive [aligned] : u32, u32
barrier   [cta] red popc [aligned] u32 : =u32, u32, ?u32, pred
barrier   [cta] red and|or [aligned] pred : =pred, u32, ?u32, pred
barrier   cluster arrive [release|relaxed] [aligned] :
barrier   cluster wait [acquire] [aligned] :
membar    cta|gl|sys|proxy.alias :
fence     [sc|acq_rel|acquire|release] SCOPE :
fence     acquire sync_restrict::shared::cluster cluster :
fence     release sync_restrict::shared::cta cluster :
fence     mbarrier_init release cluster :
fence     proxy alias|async|async::global|async.global|async.shared::cta|async.shared::cluster :
fence     proxy tensormap::generic release SCOPE :
fence     proxy tensormap::generic acquire SCOPE : [*], #
fence     proxy async::generic acquire sync_restrict::shared::cluster cluster :
fence     proxy async::generic release sync_restrict::shared::cta cluster :
shfl      sync up|down|bfly|idx b32 : =b32|?pred, b32, b32, b32, u32
vote      sync ballot b32 : =b32, pred, u32
vote      sync all|any|uni pred : =pred, pred, u32
match     any sync b32|b64 : =u32, $, u32
match     all sync b32|b64 : =u32_|?pred, $, u32
redux     sync add|min|max u32|s32 : =$, $, u32
redux     sync and|or|xor b32 : =u32, u32, u32
redux     sync min|max [abs] [NaN] f32 : =f32, f32, u32
activemask b32 : =b32
elect     sync : =u32_|pred, u32
griddepcontrol launch_dependents|wait :
setmaxnreg inc|dec sync aligned u32 : #
nanosleep u32 : u32
pmevent   [mask] : #
brkpt     :
trap      :
exit      :
ret       [uni] :
alloca    u32|u64 : =$, $, ?#
stacksave u32|u64 : =$
stackrestore u32|u64 : $
wgmma     fence sync aligned :
wgmma     commit_group sync aligned :
wgmma     wait_group sync aligned : #
tcgen05   alloc GROUP sync aligned [shared::cta] b32 : [], u32
tcgen05   dealloc GROUP sync aligned b32 : taddr, u32
tcgen05   relinquish_alloc_permit GROUP sync aligned :
tcgen05   wait::ld|wait::st sync aligned :
tcgen05   fence::before_thread_sync|fence::after_thread_sync :
tcgen05   shift GROUP down : [32]
tcgen05   commit GROUP mbarrier::arrive::one [shared::cluster] b64 : []
tcgen05   commit GROUP mbarrier::arrive::one [shared::cluster] multicast::cluster b64 : [], u16
tcgen05   cp GROUP ... : [32], u64
tcgen05   ld red sync aligned 16x32bx2 ... : =N*$, =$, [32], #
tcgen05   ld red sync aligned ... : =N*$, =$, [32]
tcgen05   ld sync aligned 16x32bx2 ... : =N*b32, [32], #
tcgen05   ld sync aligned ... : =N*b32, [32]
tcgen05   st sync aligned 16x32bx2 ... : [32], #, N*b32
tcgen05   st sync aligned ... : [32], N*b32
tcgen05   mma ws sp ... : [taddr], u64/[taddr], u64, [taddr], u32, pred, ?u64
tcgen05   mma ws ... : [taddr], u64/[taddr], u64, u32, pred, ?u64
tcgen05   mma sp block_scale ... : [taddr], u64/[taddr], u64, [taddr], u32, [taddr], [taddr], pred
tcgen05   mma block_scale ... : [taddr], u64/[taddr], u64, u32, [taddr], [taddr], pred
tcgen05   mma sp ... : [taddr], u64/[taddr], u64, [taddr], u32, ?N*u32, pred, ?#
tcgen05   mma ... : [taddr], u64/[taddr], u64, u32, ?N*u32, pred, ?#
bra,brx,call,mma,wmma,ldmatrix,stmatrix,movmatrix,wgmma ... : *
""".replace("MULTI", "f32|f64|f16|bf16|f16x2|bf16x2|e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4")
"""Opcodes that do more than compute, and their operands: see the module. `...` is any modifiers."""


class Kind(TupleRecord):
    """What an operand may be. types: one of them; [] of addresses, # of constants. braced: "V", "N" or a number of
    registers in braces; word: "" or what the opcode must have for the operand to be there, "?" if it may be left out.
    second: the type of a second destination, which may lack unless must_pair; special: a special register will do."""

    types: tuple[str, ...]
    written: bool = False
    braced: str = ""
    wider: bool = False
    sink: bool = False
    symbol: bool = False
    word: str = ""
    second: str = ""
    must_pair: bool = False
    special: bool = False


_KIND = re.compile(r"(?:([\w:]*\?))?(=?)(?:(V|N|\d+)\*?(?=[a-z$]))?([^~_@|]+)([~_@]*)(?:\|(\??)(\w+))?$")


@lru_cache(maxsize=512)
def kind_of(text: str) -> Kind:
    """A kind from its text."""
    match = _KIND.match(text)
    assert match is not None, text
    word, written, count, types, flags, lacks, second = match.groups(default="")
    word = word[:-1] or "?" if word else ""
    return Kind(tuple(types.split("/")), bool(written), count, "~" in flags, "_" in flags, "@" in flags,
                LISTS.get(word, word), second, bool(second) and not lacks)  # fmt: skip


def lines_of(root: str) -> list[str]:
    """The lines of a root."""
    return list(_lines().get(root, ()))


@lru_cache(maxsize=1)
def _lines() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for line in FORMS.strip().splitlines():
        roots, _, rest = line.partition(" ")
        for root in roots.split(","):
            found.setdefault(root, []).append(rest.strip())
    return {root: tuple(lines) for root, lines in found.items()}


@lru_cache(maxsize=4096)
def signature(root: str, modifiers: tuple[str, ...]) -> tuple[Kind, ...] | None:
    """The operands of an opcode in the order of the statement; None if PTX has no such opcode. Of opcodes whose
    operands the catalog knows it is one kind of the type "*"."""
    for line in _lines().get(root, ()):
        words, _, operands = f"{line} ".partition(": ")
        if _taken(words.split(), modifiers):
            kinds = [kind_of(text.strip()) for text in operands.split(",") if text.strip()]
            return tuple([one for one in kinds if one.word in ("", "?") or one.word in modifiers])
    return None


def _taken(tokens: Sequence[str], modifiers: tuple[str, ...]) -> bool:
    """Whether the tokens of a line name all modifiers, each once, in any order."""
    left = list(modifiers)
    for token in tokens:
        if token == "...":
            return True
        for words in words_of(token, LISTS):
            if all(word in left for word in words):
                for word in words:
                    left.remove(word)
                break
        else:
            return False
    return not left


def operation_kinds(root: str, modifiers: tuple[str, ...], results: tuple[str, ...], sources: tuple[str, ...]) -> (
    tuple[Kind, ...]
):  # fmt: skip
    """The operands of an opcode that computes, from the types of its results and sources."""
    types = tuple([word for word in modifiers if word in TYPES])
    if root == "cvt" and "pack" not in modifiers:  # by the types of the opcode: e4m3x2 has registers of .b16 alone
        results, sources = types[:1], tuple([types[1] if one != "b32" else one for one in sources])
    wider = root == "cvt" and _FUNDAMENTAL.issuperset(types)
    second = results[1] if len(results) > 1 else ""
    sink = root in ("setp", "lop3")
    if root == "lop3":
        sources = (*sources[:3], "#", *sources[4:])
    special = root == "mov" or (root == "cvt" and sources[0][0] in "us")
    return (
        Kind(results[:1], True, "", wider, sink, second=second, must_pair=root == "lop3" and bool(second)),
        *[Kind((one,), False, "", wider, symbol=root == "mov", special=special) for one in sources],
    )


# --- agreement ---

_FUNDAMENTAL = frozenset(f"{kind}{bits}" for kind in "usb" for bits in (8, 16, 32, 64)) | {
    "f16", "f16x2", "f32", "f64", "b128", "pred",
}  # fmt: skip


@lru_cache(maxsize=4096)
def agrees(register: str, type_: str, wider: bool = False) -> bool:
    """Whether a register of a type may stand for an operand of a type (9.2 and 9.4).

    >>> agrees("b32", "f32"), agrees("s32", "u32"), agrees("f32", "u32"), agrees("u64", "u32", True)
    (True, True, False, True)
    """
    if "pred" in (register, type_) or ("b128" in (register, type_) and not wider):
        return register == type_
    own, wanted = bits_of(register), width_of(type_)
    if type_ == "taddr":
        return register == "b32"
    if type_ not in _FUNDAMENTAL:
        return register == f"b{wanted}" or (own == wanted and type_[1:] in ("16x2",) and register[0] in "us")
    if own == wanted:
        bits = register[0] == "b" or (type_[0] == "b")
        return bits or register == type_ or (register[0] in "us" and type_[0] in "us")
    return wider and own > wanted and (register[0] == "b" or (register[0] in "us" and type_[0] in "usb"))


def width_of(type_: str) -> int:
    """The bits of a register for values of a type: of two or four small floats all of them."""
    if type_ in ("taddr", "#"):
        return 32
    small, _, count = type_.partition("x")
    if (count and small[:1] == "e") or type_ in ("ue8m0x2",):
        each = 4 if small == "e2m1" else 8
        return each * count_of(count)
    return 16 if type_ == "bf16" else 32 if type_ in ("u16x2", "s16x2") else bits_of(type_)


# --- the check ---


def fault(kinds: tuple[Kind, ...] | None, statement: Statement, type_of: TypeOf) -> str:
    """What is wrong with the operands of a statement, in words; "" if nothing is. type_of: the type of a register by
    its name, None of special ones."""
    if kinds is None or (kinds and kinds[0].types == ("*",)):
        return ""
    if any(one.braced == "V" and _too_wide(statement) for one in kinds):
        return f"{statement.opcode} has more bits than a vector: 128, of ld and st 256 in 32 or 64 each"
    form = ", ".join(_words(one, statement) for one in kinds) or "no operands"
    operands, left = statement.operands, list(kinds)
    for place, operand in enumerate(operands):
        while left and left[0].word == "?":  # is it there?
            rest = sum(one.word != "?" for one in left)
            if rest < len(operands) - place and (not left[0].braced or is_braced(operand)):
                break
            del left[0]
        if not left:
            break
        if wrong := _wrong(left[0], operand, statement, type_of):
            return f"{statement.opcode} takes {form}; operand {place + 1} is {wrong}"
        del left[0]
    else:
        if all(one.word == "?" for one in left):
            return ""
    return f"{statement.opcode} takes {form}; got {plural(len(operands), 'operand')}"


def _too_wide(statement: Statement) -> bool:
    """Whether the vector of an opcode is wider than PTX has them (5.4.2; 9.7.9.8 for .v8 and .v4 of 64 bits)."""
    each = width_of(_type("$", statement))
    count = next((count_of(word[1:]) for word in statement.modifiers if word in ("v2", "v4", "v8")), 1)
    wide = statement.root in ("ld", "st") and "async" not in statement.modifiers and each in (32, 64)
    return count > 1 and count * each > (256 if wide else 128)


def _words(one: Kind, statement: Statement) -> str:
    """An operand as an error names it."""
    names = {"#": "a constant", "[]": "[address]", "[*]": "[address]", "[64]": "[address]", "[32]": "[address]",
             "[map]": "[map, {coordinates}]", "[taddr]": "[address]", "taddr": ".b32"}  # fmt: skip
    types = [names.get(type_) or f".{_type(type_, statement)}" for type_ in one.types]
    text = " or ".join(types)
    count = _count(one, statement)
    if count != 1 or one.braced == "1":
        text = f"{{{count or 'some'} of {text}}}"
    if one.second:
        text += f"|.{one.second}"
    return f"({text})" if one.word == "?" else text


def _type(type_: str, statement: Statement) -> str:
    return next(word for word in reversed(statement.modifiers) if word in TYPES) if type_ == "$" else type_


def _count(one: Kind, statement: Statement) -> int:
    """How many registers in braces an operand is; 1 of one without, 0 of any number."""
    if one.braced == "V":
        return next((count_of(word[1:]) for word in statement.modifiers if word in ("v2", "v4", "v8")), 1)
    return 0 if one.braced == "N" else count_of(one.braced) if one.braced else 1


def _wrong(one: Kind, operand: Operand, statement: Statement, type_of: TypeOf) -> str:
    """What an operand is instead, "" if it is right."""
    types = [_type(type_, statement) for type_ in one.types]
    addresses = [type_ for type_ in types if type_[0] == "["]
    if addresses and (isinstance(operand, Address) or len(types) == 1):
        return _wrong_address(addresses[0], operand, statement, type_of)
    count = _count(one, statement)
    if isinstance(operand, Pair):
        if not one.second:
            return "a pair of destinations"
        sink = one._replace(sink=True)
        return _wrong_one(sink, operand.first, types, type_of) or _wrong_one(
            sink, operand.second, [one.second], type_of
        )
    if one.must_pair:
        return f"{_shown(operand, type_of)}, without a second destination"
    if is_braced(operand) and (one.braced or statement.root == "mov"):
        if one.braced and count and len(operand) != count:
            return f"{len(operand)} in braces"
        if not one.braced:  # mov of parts (9.7.9.2)
            if len(operand) < 2 or sum(is_braced(other) for other in statement.operands) > 1:
                return "a list in braces"
            types = [f"b{width_of(types[0]) // len(operand)}"]
        sizes = {bits_of(own) for each in operand if isinstance(each, Register) and (own := type_of(each.name))}
        if len(sizes) > 1:
            return "a list of registers of several sizes"
        each_of = one._replace(sink=True)
        return next(filter(None, [_wrong_one(each_of, each, types, type_of) for each in operand]), "")
    if (count != 1 or one.braced == "1") and not (one.sink and _is_sink(operand)):
        return f"{_shown(operand, type_of)}, without braces"
    return _wrong_one(one, operand, types, type_of)


def _is_sink(operand: Operand) -> bool:
    return isinstance(operand, Symbol) and operand.name == "_"


def _wrong_one(one: Kind, operand: Operand, types: list[str], type_of: TypeOf) -> str:
    fine = False
    if isinstance(operand, Register):
        own = type_of(operand.name)
        if own is None:
            fine = (operand.name == "WARP_SZ" and not one.written) or (
                one.special and any(_special_is(operand.name, one) for one in types)
            )
        elif types[0] != "#":
            fine = any(agrees(own, type_, one.wider) for type_ in types)
    elif one.written:
        fine = _is_sink(operand) and one.sink
    elif isinstance(operand, Number) and types[0] == "#":
        fine = not operand.kind
    elif isinstance(operand, Number):
        fine = any(_holds(type_, operand.kind) for type_ in types)
    elif isinstance(operand, Negated):
        inner = operand.operand
        fine = "pred" in types and isinstance(inner, Register) and type_of(inner.name) == "pred"
    elif isinstance(operand, Symbol):
        fine = one.symbol and operand.name != "_" and types[0][0] in "usb"
    return "" if fine else _shown(operand, type_of)


def _special_is(name: str, type_: str) -> bool:
    """Whether a special register has a type, .u32 for most (PTX ISA 10)."""
    if name == "%is_explicit_cluster":
        return type_ == "pred"
    wide = name in ("%clock64", "%globaltimer", "%current_graph_exec")
    return type_[0] in "usb" and (width_of(type_) == 64 if wide else width_of(type_) < 64 or name == "%gridid")


def _holds(type_: str, number: str) -> bool:
    """Whether a constant may stand for a type: integers for integers, bits and predicates, floats for f32 and f64, and
    for bits of their size."""
    if not number:
        return (type_[0] in "usb" and type_ in _FUNDAMENTAL and type_ != "b128") or type_ in ("pred", "taddr")
    return type_ in ("f32", "f64", "b32" if number == "f32" else "b64")


def _wrong_address(type_: str, operand: Operand, statement: Statement, type_of: TypeOf) -> str:
    if not isinstance(operand, Address):
        return _shown(operand, type_of)
    if type_ == "[map]":
        if len(operand.more) != 1 or not is_braced(operand.more[0]):
            return "an address without coordinates in braces"
        strange = [one for one in operand.more[0] if _wrong_one(Kind(("s32",)), one, ["s32"], type_of)]
        return f"a coordinate {_shown(strange[0], type_of)}" if strange else ""
    if operand.more:
        return "an address with coordinates"
    if not isinstance(operand.base, Register):
        return ""
    own = type_of(operand.base.name) or ""
    # ptxas 13 takes 32 bits in all state spaces but that of global memory, whose addresses have 64 (.address_size).
    spaces = ("shared", "local", "const")
    shared = type_ == "[*]" or (type_ == "[]" and any(word.startswith(spaces) for word in statement.modifiers))
    if type_ == "[taddr]":
        return "" if own == "b32" else f"an address in {_shown(operand.base, type_of)}"
    narrow = shared or type_ == "[32]" or any(word.startswith("param") for word in statement.modifiers)
    wide = type_ != "[32]"
    fine = own[:1] in ("u", "s", "b") and ((narrow and own[1:] == "32") or (wide and own[1:] == "64"))
    return "" if fine else f"an address in {_shown(operand.base, type_of)}"


def _shown(operand: object, type_of: TypeOf) -> str:
    if isinstance(operand, Register):
        own = type_of(operand.name)
        name = operand.name.partition("@")[0]
        return f"{name}, a register of .{own}" if own else f"{name}, a special register"
    if isinstance(operand, Number):
        return "a float" if operand.kind else f"the constant {operand.value}"
    if isinstance(operand, Symbol):
        return "the sink _" if operand.name == "_" else operand.name.partition("@")[0]
    if isinstance(operand, Negated):
        return f"the negated {_shown(operand.operand, type_of)}"
    return {Address: "an address", Pair: "a pair", tuple: "a list in braces"}.get(type(operand), str(operand))
