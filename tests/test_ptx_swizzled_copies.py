"""Tensor copies with every swizzle and with elements of less than a byte: where each byte lies in shared memory, there
and back, and what tcgen05.mma reads of it by a descriptor."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mmacalc
from mmacalc.arithmetic.codecs import decode
from mmacalc.families.shared_memory import PATTERNS
from mmacalc.formats import named

KERNEL = """.version 8.8
.target {target}
.address_size 64
.visible .entry k(.param .align 64 .b8 x[128], .param .align 64 .b8 y[128], .param .u64 in, .param .u64 out) {{
 .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
 .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b64 bar;
 mov.u32 %r0, %tid.x; mov.b64 %d0, x; mov.b64 %d1, y; ld.param.u64 %d2, [in]; ld.param.u64 %d3, [out];
 mov.u32 %r1, tile; setp.ne.u32 %p0, %r0, 0;
 {fill}
 @%p0 bra A; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
A: bar.warp.sync -1; @%p0 bra C;
 {work}
C: bar.warp.sync -1;
 {read}
 ret; }}
"""
LOAD = """mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d0, {{{at}}}], [bar];
B: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra B;"""
STORE = """cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {{{at}}}], [%r1];
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
WORDS = """mov.u32 %r2, %r0;
{name}: and.b32 %r3, %r2, 3; setp.ge.u32 %p1, %r3, {of_four}; @%p1 bra {name}N;
 mul.wide.u32 %d4, %r2, 4; add.u64 %d4, %d4, {there}; mad.lo.u32 %r4, %r2, 4, %r1; {move}
{name}N: add.u32 %r2, %r2, 32; setp.lt.u32 %p1, %r2, {words}; @%p1 bra {name};"""
DUMP = ("D", "%d3", "ld.shared.b32 %r5, [%r4]; st.global.b32 [%d4], %r5;")
FILL = ("F", "%d2", "ld.global.b32 %r5, [%d4]; st.shared.b32 [%r4], %r5;")

# Where the pieces of 16 bytes go in the lines of 128 bytes: the tables of PTX ISA 5.5.7, line by line.
TABLES = {
    "none": ("01234567",),
    "32B": ("01234567", "10325476"),
    "64B": ("01234567", "10325476", "23016745", "32107654"),
    "128B": ("01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"),
    "128B base32B": ("01234567", "23016745", "45670123", "67452301"),
    "128B base64B": ("01234567", "45670123"),
}
TYPES = {"u8": "u1", "f16": "f2", "f32": "f4", "f64": "f8", "b4x16": "u1", "b4x16_p64": "u1", "b6x16_p32": "u1"}
PADDED = {"b4x16_p64": (8, 64), "b6x16_p32": (12, 96)}  # bytes of 16 elements, and of a row of a box
ROWS = 11  # of a box, so that patterns begin again


def words(move: tuple[str, str, str], count: int, of_four: int = 4) -> str:
    name, there, text = move
    return WORDS.format(name=name, there=there, move=text, words=count, of_four=of_four)


def launched(maps, given, out, target="sm_100a", **parts):
    kernel = mmacalc.load(KERNEL.format(target=target, **{"fill": "", "work": "", "read": "", **parts}))["k"]
    return mmacalc.launch(kernel, 1, 32, *maps, given, out)


def laid_out(rows: np.ndarray, swizzle: str) -> np.ndarray:
    """Bytes of shared memory, of rows one behind the other, by the tables of the ISA."""
    flat = np.zeros(-(-rows.size // 128) * 128, np.uint8)
    flat[: rows.size] = rows.reshape(-1)
    lines, found = flat.reshape(-1, 8, 16), np.zeros((len(flat) // 128, 8, 16), np.uint8)
    for line, table in zip(range(len(lines)), itertools.cycle(TABLES[swizzle])):
        for place, piece in enumerate(table):
            found[line, place] = lines[line, int(piece)]
    return found.reshape(-1)


def tensor(element: str, swizzle: str) -> tuple[np.ndarray, tuple[int, int], np.ndarray]:
    """An array of random bytes, a box of it as wide as the swizzle's rows, and where the box begins."""
    size = np.dtype(TYPES[element]).itemsize
    width = PADDED[element][1] if element in PADDED else PATTERNS[swizzle].row_bytes // size
    shape = (2 * ROWS, 3 * width * size)
    raw = np.random.default_rng(7).integers(0, 256, shape, np.uint8)
    start = mmacalc.address_of(raw) % 32
    if start:  # padded elements want an address that is a multiple of 32
        room = np.zeros(raw.size + 32, np.uint8)
        at = -mmacalc.address_of(room) % 32
        room[at : at + raw.size] = raw.reshape(-1)
        raw = room[at : at + raw.size].reshape(shape)
    return raw.view(TYPES[element]), (ROWS, width), raw


@pytest.mark.parametrize("swizzle", TABLES)
@pytest.mark.parametrize("element", TYPES)
def test_a_copy_puts_each_byte_where_the_isas_table_of_the_swizzle_has_it(element: str, swizzle: str) -> None:
    x, (rows, width), raw = tensor(element, swizzle)
    group, row = PADDED.get(element, (16, PATTERNS[swizzle].row_bytes))
    wide = np.zeros((rows, row // group, 16), np.uint8)
    wide[..., :group] = raw[3 : 3 + rows, row : 2 * row].reshape(rows, -1, group)
    want, out = laid_out(wide, swizzle), np.zeros(8192, np.uint8)
    count = {"b4x16": 2 * width, **dict.fromkeys(PADDED, 128)}.get(element, width)
    parts = {"work": LOAD.format(size=rows * row, at=f"{count}, 3"), "read": words(DUMP, wide.size // 4, group // 4)}
    given = {"swizzle": swizzle, "element": element}
    if (element, swizzle) in itertools.product(PADDED, ("32B", "64B", "128B base64B")) and (
        element, swizzle) != ("b6x16_p32", "128B base64B"):  # fmt: skip
        with pytest.raises(mmacalc.Error, match=f"the swizzle of .{element} is none, 128B"):
            mmacalc.tensor_map(x, (rows, width), **given)
        return
    made = mmacalc.tensor_map(x, (rows, width), **given)
    if (element, swizzle) == ("b6x16_p32", "128B base64B"):
        with pytest.raises(mmacalc.Error, match=r"128B base64B of \.b6x16_p32 is for stores alone"):
            launched((made, made), raw, out, **parts)
        return
    assert launched((made, made), raw, out, **parts).findings == ()
    assert np.array_equal(out[: wide.size], want[: wide.size])


@pytest.mark.parametrize("swizzle", TABLES)
@pytest.mark.parametrize("element", [one for one in TYPES if one not in PADDED])
def test_a_store_with_the_swizzle_of_the_load_gives_the_box_back(element: str, swizzle: str) -> None:
    x, (rows, width), raw = tensor(element, swizzle)
    y = np.zeros_like(x)
    maps = [mmacalc.tensor_map(one, (rows, width), swizzle=swizzle, element=element) for one in (x, y)]
    row, count = PATTERNS[swizzle].row_bytes, 2 * width if element == "b4x16" else width
    work = LOAD.format(size=rows * row, at=f"{count}, 5") + STORE.format(at=f"{2 * count}, 2")
    assert launched(maps, raw, raw, work=work).findings == ()
    back = y.view(np.uint8).reshape(2 * ROWS, -1)
    assert np.array_equal(back[2 : 2 + rows, 2 * row :], raw[5 : 5 + rows, row : 2 * row])
    assert not back[:, : 2 * row].any()
    assert not back[2 + rows :].any()


@pytest.mark.parametrize("swizzle", ["none", "128B", "128B base32B", "128B base64B"])
def test_a_store_of_six_bits_packs_the_low_bits_of_bytes(swizzle: str) -> None:
    y, (rows, width), raw = tensor("b6x16_p32", swizzle)
    bytes_ = np.random.default_rng(3).integers(0, 256, (rows, 128), np.uint8)
    given = laid_out(bytes_, swizzle)
    made = mmacalc.tensor_map(y, (rows, width), swizzle=swizzle, element="b6x16_p32")
    parts = {"fill": words(FILL, rows * 32) + "fence.proxy.async.shared::cta;", "work": STORE.format(at="128, 4")}
    before = raw.copy()
    assert launched((made, made), given, raw, **parts).findings == ()
    number = [sum(int(byte & 63) << 6 * place for place, byte in enumerate(row)) for row in bytes_]
    want = np.array([list(one.to_bytes(96, "little")) for one in number], np.uint8)
    assert np.array_equal(raw[4 : 4 + rows, 96:192], want)
    raw[4 : 4 + rows, 96:192] = before[4 : 4 + rows, 96:192]
    assert np.array_equal(raw, before)


@pytest.mark.parametrize("element", PADDED)
def test_padding_holds_nothing(element: str) -> None:
    x, box, raw = tensor(element, "128B")
    made = mmacalc.tensor_map(x, box, swizzle="128B", element=element)
    out, size = np.zeros(8192, np.uint8), ROWS * PADDED[element][1]
    parts = {"work": LOAD.format(size=size, at="0, 0"), "read": words(DUMP, ROWS * 32)}
    (found,) = launched((made, made), raw, out, fill=words(FILL, ROWS * 32), **parts).findings
    assert (found.kind, found.text) == ("uninitialised", "st.global.b32 [%d4], %r5")
    # The mbarrier counts the bytes of global memory: more or fewer are never complete.
    for other in (size - 16, ROWS * 128):
        wrong = {"work": LOAD.format(size=other, at="0, 0")}
        assert {one.kind for one in launched((made, made), raw, out, **wrong).findings} == {"deadlock"}


def test_what_tensor_copies_do_not_have_is_refused_by_name() -> None:
    x, box, raw = tensor("b4x16_p64", "128B")
    y, wide, _ = tensor("f32", "128B base32B")
    four, atoms = mmacalc.tensor_map(x, box, element="b4x16_p64"), mmacalc.tensor_map(y, wide, swizzle="128B base32B")
    flips = mmacalc.tensor_map(y, wide, swizzle="128B base32B flip8B")
    rounds = mmacalc.tensor_map(y, wide, swizzle="128B base32B", element="tf32")
    load, store = (lambda first: LOAD.format(size=704, at=f"{first}, 0")), STORE.format(at="0, 0")
    reduce = store.replace("cp.async", "cp.reduce.async", 1).replace("cta.tile", "cta.add.tile")
    cases = (
        (four, "sm_100a", {"work": store}, "tensor copies load .b4x16_p64 and do not store it"),
        (four, "sm_100a", {"work": reduce}, "no reductions of .b4x16_p64"),
        (four, "sm_90a", {"work": load(0)}, ".b4x16_p64 is not of this target: sm_100 and later have it"),
        (atoms, "sm_90a", {"work": load(0)}, "the swizzle 128B base32B is not of this target"),
        (flips, "sm_100a", {"work": store}, "the swizzle 128B base32B flip8B is for loads alone"),
        (rounds, "sm_100a", {"work": reduce}, "reductions of .tf32 by tensor copies are not covered"),
        (four, "sm_100a", {"work": load(64)}, "first coordinate counts elements .* multiple of 128; got 64"),
    )
    for made, target, parts, says in cases:
        with pytest.raises(mmacalc.Error, match=says):
            launched((made, made), raw, raw, target, **parts)
    for element, array, shape, says in (
        ("b4x16_p64", x, (8, 32), "has 32 bytes; of .b4x16_p64 it has 64"),
        ("b6x16_p32", x[:, :160], (8, 96), "a row of a tensor of .b6x16_p32 has a multiple of 96 bytes"),
        ("b4x16_p64", x[:, 16:], (8, 64), "a row of a tensor of .b4x16_p64 has a multiple of 64"),
        ("b4x16_p64", np.zeros((9, 80), np.uint8)[:, :64], (8, 64), "multiples of 32 bytes"),
    ):
        with pytest.raises(mmacalc.Error, match=says):
            mmacalc.tensor_map(array, shape, element=element)


# --- products ---

PRODUCT = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 out) {{
 .reg .b32 %r<200>; .reg .b64 %d<9>; .reg .pred %p<4>;
 .shared .align 1024 .b8 data[65536]; .shared .align 8 .b64 bar; .shared .align 8 .b64 done; .shared .b32 base;
 mov.b64 %d0, a; mov.b64 %d1, b; ld.param.u64 %d2, [out]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5;
 mov.u32 %r2, data; setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0;
 @%p0 bra A; mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [done], 1;
 fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
 {loads}
A: @%p1 bra B; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 64;
B: bar.sync 0; ld.shared.b32 %r3, [base];
W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W;
 @%p0 bra C; shr.u32 %r5, %r2, 4; cvt.u64.u32 %d3, %r5;
 {products}
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
C: mbarrier.try_wait.parity.shared.b64 %p2, [done], 0; @!%p2 bra C; tcgen05.fence::after_thread_sync;
 shl.b32 %r4, %r1, 21; add.u32 %r4, %r4, %r3;
 tcgen05.ld.sync.aligned.32x32b.x64.b32 {{{names}}}, [%r4]; tcgen05.wait::ld.sync.aligned;
 mul.wide.u32 %d5, %r0, 256; add.u64 %d5, %d2, %d5; {stores}
 bar.sync 0; @%p1 bra D; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
D: ret; }}
"""
M, N = 128, 64


def product(kind, idesc, loads, size, steps):
    """The kernel of a product: boxes (map, place, first, second coordinate), and the descriptors of each step."""
    copies = "".join(
        f"add.u32 %r6, %r2, {place}; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        f"[%r6], [%d{which}, {{{first}, {second}}}], [bar];\n" for which, place, first, second in loads
    )  # fmt: skip
    texts = "".join(
        f"add.u64 %d4, %d3, {a}; add.u64 %d6, %d3, {b}; setp.ne.u32 %p3, {number}, 0;\n"
        f"tcgen05.mma.cta_group::1.kind::{kind} [%r3], %d4, %d6, {idesc}, %p3;\n"
        for number, (a, b) in enumerate(steps)
    )
    names = ", ".join(f"%r{20 + place}" for place in range(64))
    stores = "".join(f"st.global.b32 [%d5+{4 * place}], %r{20 + place};" for place in range(64))
    return PRODUCT.format(size=size, loads=copies, products=texts, names=names, stores=stores)


def aligned(raw: np.ndarray) -> np.ndarray:
    room = np.zeros(raw.size + 32, np.uint8)
    at = -mmacalc.address_of(room) % 32
    room[at : at + raw.size] = raw.reshape(-1)
    return room[at : at + raw.size].reshape(raw.shape)


def packed(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows of codes of some bits, one behind the other."""
    numbers = [sum(int(code) << bits * place for place, code in enumerate(row)) for row in codes]
    return np.array([list(one.to_bytes(codes.shape[1] * bits // 8, "little")) for one in numbers], np.uint8)


SMALL = {"e2m1": (4, "b4x16_p64"), "e2m3": (6, "b6x16_p32"), "e3m2": (6, "b6x16_p32"), "e4m3": (8, "u8")}


@pytest.mark.parametrize("turned", ["", "A", "AB"])
@pytest.mark.parametrize(("a", "b"), [("e4m3", "e2m1"), ("e2m1", "e3m2"), ("e3m2", "e2m3"), ("e2m3", "e4m3")])
def test_a_product_of_padded_elements_is_that_of_their_values(a: str, b: str, turned: str) -> None:
    """A box has 128 elements a row: along k four steps of 32 bytes, along M or N (of which B has 128) of 32 rows."""
    rng, k, maps, values, loads, words, size = np.random.default_rng(5), 128, [], [], [], [], 0
    inst = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f8f6f4").shaped(m=M, n=N, a=a, b=b, d="f32")
    for which, (matrix, name, rows) in enumerate((("A", a, M), ("B", b, N))):
        along, (bits, element), start = matrix in turned, SMALL[name], which * 16384
        held = 128 if along else rows  # of B along N half of a row's elements are not read
        codes = rng.integers(0, 1 << bits, (held, k))
        codes = codes & 0xBF if name == "e4m3" else codes  # no NaN, and sums that float32 holds
        values.append(decode(codes[:rows], named(name)))
        raw = aligned(packed(codes.T if along else codes, bits))
        maps.append(mmacalc.tensor_map(raw, (len(raw), 16 * bits), swizzle="128B", element=element))
        loads.append((which, start, 0, 0))
        size += raw.nbytes
        found = mmacalc.shared_operand(inst, matrix, "row" if matrix == "A" else "col", "128B")
        assert (found.leading, found.stride) == (0, 1024)  # as of one panel along M or N
        word = mmacalc.shared_memory_descriptor(start, found.leading, found.stride, "128B").word
        words.append([word + step * (32 * 128 if along else 32) // 16 for step in range(4)])
    options = {f"transpose_{name.lower()}": int(name in turned) for name in "AB"}
    idesc = mmacalc.instruction_descriptor("f8f6f4", M, N, a=a, b=b, d="f32", **options).word
    out = np.zeros((M, N), np.float32)
    text = product("f8f6f4", idesc, loads, size, list(zip(*words)))
    assert mmacalc.launch(mmacalc.load(text)["k"], 1, 128, *maps, out).findings == ()
    assert np.array_equal(out, (values[0] @ values[1].T).astype(np.float32))


@pytest.mark.parametrize("turned", ["A", "B", "AB"])
def test_tf32_along_m_and_n_is_read_where_tensor_copies_with_atoms_of_32_bytes_put_it(turned: str) -> None:
    rng, k, maps, loads, codes, size = np.random.default_rng(6), 16, [], [], [], 0
    matrices = [rng.integers(-8, 8, (rows, k)).astype(np.float32) for rows in (M, N)]
    kind = "tcgen05.mma.cta_group::1.kind::tf32"
    inst = mmacalc.instruction("sm_100a", kind).shaped(m=M, n=N)
    for which, (name, matrix) in enumerate(zip("AB", matrices)):
        along, start, rows = name in turned, which * 16384, len(matrix)
        array = np.ascontiguousarray(matrix.T if along else matrix)
        swizzle = "128B base32B" if along else "64B"
        box = (k, 32) if along else (rows, 16)
        maps.append(mmacalc.tensor_map(array, box, swizzle=swizzle))
        loads += [(which, start + first * 4 * k, first if along else 0, 0) for first in range(0, rows, 32)][
            : None if along else 1
        ]
        found = mmacalc.shared_operand(inst, name, "row" if along == (name == "B") else "col", swizzle)
        leading = found.leading * (k // 8 if along else 1)  # all k of a panel follow each other
        word = mmacalc.shared_memory_descriptor(start, leading, found.stride, swizzle).word
        assert not along or (found.leading, found.stride) == (1024, 512)  # CUTLASS: atoms of four k
        codes.append([word + step * (1024 if along else 32) // 16 for step in range(k // 8)])
        size += array.nbytes
    options = {f"transpose_{name.lower()}": int(name in turned) for name in "AB"}
    idesc = mmacalc.instruction_descriptor("tf32", M, N, d="f32", **options).word
    out = np.zeros((M, N), np.float32)
    text = product("tf32", idesc, loads, size, list(zip(*codes)))
    assert mmacalc.launch(mmacalc.load(text)["k"], 1, 128, *maps, out).findings == ()
    assert np.array_equal(out, matrices[0] @ matrices[1].T)
    # Another swizzle is one that PTX does not have of tf32 along M or N, nor base32B of anything else.
    wrong = product("tf32", idesc ^ 3 << 15, loads, size, list(zip(*codes)))
    with pytest.raises(mmacalc.Error, match="PTX has 128B base32B for tf32 along M or N, and for nothing else"):
        mmacalc.launch(mmacalc.load(wrong)["k"], 1, 128, *maps, out)


@pytest.mark.parametrize(("name", "source"), [("e2m1", "b4x16_p64"), ("e3m2", "b6x16_p32")])
def test_a_copy_to_tensor_memory_reads_padded_elements_and_not_the_padding(name: str, source: str) -> None:
    """tcgen05.cp gives each a byte, four bits at bits 5 to 2 of it (CUTLASS, copy_sm100.hpp)."""
    bits, element = SMALL[name]
    codes = np.random.default_rng(8).integers(0, 1 << bits, (M, 128))
    raw = aligned(packed(codes, bits))
    made = mmacalc.tensor_map(raw, (M, 16 * bits), swizzle="128B", element=element)
    text = product("f16", 0, [(0, 0, 0, 0)], raw.nbytes, [])
    word = mmacalc.shared_memory_descriptor(0, 16, 1024, "128B").word
    copy = f"add.u64 %d4, %d3, {word}; tcgen05.cp.cta_group::1.128x128b.b8x16.{source} [%r3], %d4;\n tcgen05.commit"
    names, stores = text[text.index("{%r20") : text.index("}, [%r4]")], text[text.index("st.global") :]
    few = {
        "x64": "x4",
        names: "{%r20, %r21, %r22, %r23",
        "%r0, 256": "%r0, 16",
        " tcgen05.commit": copy,
        stores[: stores.index("bar.sync")]: "".join(f"st.global.b32 [%d5+{4 * at}], %r{20 + at};" for at in range(4)),
    }
    for old, new in few.items():
        text = text.replace(old, new)
    out = np.zeros((M, 16), np.uint8)
    assert mmacalc.launch(mmacalc.load(text)["k"], 1, 128, made, made, out).findings == ()
    assert np.array_equal(out, codes[:, :16] << (2 if bits == 4 else 0))
