"""tcgen05 beyond a plain product: weight-stationary products, scaled accumulators, shifts, reducing loads, copies that
widen elements. Values are small integers, which every format and order of sums holds exactly."""

from __future__ import annotations

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc.families.descriptors import coded_depths
from mmacalc.kernels.ptx.matrix_descriptors import LEADING_IS_ABSOLUTE, matrix_offsets
from mmacalc.kernels.ptx.tensor_products import _check_leading, _Form, _shaped
from samples import rotated, sampled

KERNEL = """.version 9.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
 .reg .b16 %h<9>; .reg .b32 %r<200>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .pred %p<4>;
 .shared .align 1024 .b8 data[65536]; .shared .align 8 .b64 bar; .shared .align 8 .b64 done; .shared .b32 base;
 ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r2, data;
 setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0;
 @%p0 bra A; mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [done], 1;
 fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0], {size}, [bar];
A: @%p1 bra B; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 512;
B: bar.sync 0; ld.shared.b32 %r3, [base];
W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W;
 shl.b32 %r4, %r1, 21; add.u32 %r4, %r4, %r3; // this warp's lanes
 {prepare}
 tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
 @%p0 bra C;
 {work}
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
C: mbarrier.try_wait.parity.shared.b64 %p2, [done], 0; @!%p2 bra C;
 tcgen05.fence::after_thread_sync;
 {read}
 tcgen05.wait::ld.sync.aligned; bar.sync 0;
 @%p1 bra D; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 512;
D: ret; }}
"""


def read(count: int, first: int = 20, kind: str = "") -> str:
    """Load columns of a warp's 32 lanes and store them: thread t has row t of the output."""
    names = ", ".join(f"%r{first + place}" for place in range(count))
    stores = "".join(f"st.global.b32 [%d3+{4 * place}], %r{first + place};" for place in range(count))
    return (
        f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {{{names}}}, [%r4]; tcgen05.wait::ld.sync.aligned;"
        f"mul.wide.u32 %d2, %r0, {4 * count}; add.u64 %d3, %d1, %d2; {stores}"
    )


def fill(columns: int) -> str:
    """Each cell of some columns is its lane times 64 plus its column."""
    values = "".join(f"mad.lo.u32 %r{20 + place}, %r0, 64, {place};" for place in range(columns))
    names = ", ".join(f"%r{20 + place}" for place in range(columns))
    return f"{values} tcgen05.st.sync.aligned.32x32b.x{columns}.b32 [%r4], {{{names}}};"


def launched(image, out, target="sm_103a", **parts):
    """The report of a launch on the bytes of an image."""
    given = {"prepare": "", "work": "", "read": "", **parts}
    size = -(-image.nbytes // 16) * 16
    raw = np.zeros(size, np.uint8)
    raw[: image.nbytes] = image.reshape(-1).view(np.uint8)
    kernel = mmacalc.load(KERNEL.format(target=target, size=size, **given))["k"]
    return mmacalc.launch(kernel, 1, 128, raw, out)


def run(image, shape, target="sm_103a", **parts):
    out = np.zeros(shape, np.uint32)
    report = launched(image, out, target, **parts)
    assert not report.findings, str(report)
    return out


def cells(rows: int, columns: int):
    return np.arange(rows)[:, None] * 64 + np.arange(columns)


NOTHING = np.zeros(16, np.uint8)


def test_a_shift_moves_the_rows_of_eight_columns_but_the_last_of_each_warp() -> None:
    out = run(NOTHING, (128, 16), prepare=fill(16), work="tcgen05.shift.cta_group::1.down [%r3];", read=read(16))
    expected = cells(128, 16)
    for lane in range(128):
        if lane % 32 != 31:
            expected[lane, :8] = cells(129, 16)[lane + 1, :8]
    assert (out == expected).all()


@pytest.mark.parametrize("kind", ["min", "max"])
@pytest.mark.parametrize("type_", ["u32", "s32", "f32", "abs.f32", "NaN.f32"])
def test_a_reducing_load_gives_the_values_and_the_least_or_greatest(kind: str, type_: str) -> None:
    values = np.random.default_rng(1).normal(size=(128, 4)).astype(np.float32)
    values[5, 2] = np.nan
    plain = type_.rpartition(".")[2]
    load = "".join(f"ld.shared.b32 %r{20 + place}, [%r5+{4 * place}];" for place in range(4))
    out = run(
        values, (128, 5),
        prepare=f"mad.lo.u32 %r5, %r0, 16, %r2; {load}"
        "tcgen05.st.sync.aligned.32x32b.x4.b32 [%r4], {%r20, %r21, %r22, %r23};",
        read=f"tcgen05.ld.red.sync.aligned.32x32b.x4.{kind}.{type_} {{%r30, %r31, %r32, %r33}}, %r34, [%r4];"
        "tcgen05.wait::ld.sync.aligned; mul.wide.u32 %d2, %r0, 20; add.u64 %d3, %d1, %d2;"
        + "".join(f"st.global.b32 [%d3+{4 * place}], %r{30 + place};" for place in range(5)),
    )  # fmt: skip
    assert (out[:, :4] == values.view(np.uint32)).all()
    given = np.abs(values) if "abs" in type_ else values
    choose = {"min": np.minimum, "max": np.maximum} if "NaN" in type_ else {"min": np.fmin, "max": np.fmax}
    if plain == "f32":
        assert np.array_equal(out[:, 4].view(np.float32), choose[kind].reduce(given, axis=1), equal_nan=True)
    else:
        integers = values.view(np.uint32 if plain == "u32" else np.int32)
        assert (out[:, 4].view(integers.dtype) == getattr(integers, kind)(axis=1)).all()


@pytest.mark.parametrize(("bits", "source"), [(4, "b4x16_p64"), (6, "b6x16_p32")])
def test_a_copy_gives_each_small_element_a_byte(bits: int, source: str) -> None:
    codes = np.random.default_rng(2).integers(0, 1 << bits, (128, 2, 16))
    image = np.zeros((2, 128, 16), np.uint8)  # core matrices of 8 rows of 16 bytes: first half of each row, then second
    for row in range(128):
        for half in range(2):
            value = sum(int(code) << bits * place for place, code in enumerate(codes[row, half]))
            image[half, row] = np.frombuffer(value.to_bytes(16, "little"), np.uint8)
    descriptor = 2048 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46
    work = f"""cvt.u64.u32 %d4, %r2; shr.u64 %d4, %d4, 4; or.b64 %d4, %d4, {descriptor};
 tcgen05.cp.cta_group::1.128x256b.b8x16.{source} [%r3], %d4;"""
    out = run(image, (128, 8), work=work, read=read(8))
    expected = (codes << (2 if bits == 4 else 0)).astype(np.uint8).reshape(128, 32)
    assert (out.view(np.uint8) == expected).all()


def operand(matrix):
    """A K-major matrix of 16 columns of f16 without swizzle: two core columns of 8 x 16 bytes, one after the other."""
    rows = len(matrix)
    return np.concatenate([matrix[:, :8].reshape(rows, 8), matrix[:, 8:].reshape(rows, 8)]).astype(np.float16)


def product(m: int, n: int, d: str, more: str = "", ws: str = ".ws", scale: str = "", prepare: str = "", seed: int = 3):
    random = np.random.default_rng(seed)
    a, b = random.integers(-4, 5, (m, 16)), random.integers(-4, 5, (n, 16))
    image = np.concatenate([operand(a), operand(b)])
    idesc = (1 << 4 if d == "f32" else 0) | n // 8 << 17 | m // 16 << 24
    both = [
        f"""cvt.u64.u32 %d{4 + at}, %r{2 if not at else 6}; shr.u64 %d{4 + at}, %d{4 + at}, 4;
 or.b64 %d{4 + at}, %d{4 + at}, {rows * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46};"""
        for at, rows in ((0, m), (1, n))
    ]
    work = f"""add.u32 %r6, %r2, {m * 32}; {both[0]} {both[1]} setp.eq.u32 %p3, %r0, {0 if prepare else 7};
 mov.b32 %r7, {idesc}; tcgen05.mma{ws}.cta_group::1.kind::f16{more} [%r3], %d4, %d5, %r7, %p3{scale};"""
    columns = n // (128 // m) if ws else n
    out = run(image, (128, columns), work=work, read=read(columns), prepare=prepare)
    return a @ b.T, out


@pytest.mark.parametrize("m", [32, 64, 128])
def test_a_weight_stationary_product_lies_in_banks_of_lanes(m: int) -> None:
    expected, out = product(m, 64, "f32")
    banks = 128 // m  # layouts D, E and G: i (q j) -> lane (q i), column (j)
    found = np.concatenate(np.split(out.view(np.float32), banks), axis=1)
    assert (found == expected).all()
    assert (product(m, 64, "f32", ".collector::b1::fill")[0] == expected).all()


@pytest.mark.parametrize("scale", [0, 1, 5])
def test_the_accumulator_is_scaled_down_before_the_product_is_added(scale: int) -> None:
    start = "".join(f"mov.b32 %r{20 + place}, 0f45000000;" for place in range(64))  # 2048.0
    names = ", ".join(f"%r{20 + place}" for place in range(64))
    prepare = f"{start} tcgen05.st.sync.aligned.32x32b.x64.b32 [%r4], {{{names}}};"
    expected, out = product(128, 64, "f32", ws="", scale=f", {scale}" if scale else "", prepare=prepare)
    assert (out.view(np.float32) == expected + 2048 / 2**scale).all()


@pytest.mark.parametrize("shifted", [False, True])
def test_rows_of_a_in_tensor_memory_are_shifted_as_they_are_read(shifted: bool) -> None:
    random = np.random.default_rng(4)
    a, b = random.integers(-4, 5, (128, 16)), random.integers(-4, 5, (64, 16))
    image = np.concatenate([a.astype(np.float16).reshape(-1), operand(b).reshape(-1)])
    loads = "".join(f"ld.shared.b32 %r{20 + place}, [%r5+{4 * place}];" for place in range(8))
    names = ", ".join(f"%r{20 + place}" for place in range(8))
    prepare = f"""mad.lo.u32 %r5, %r0, 32, %r2; {loads} add.u32 %r8, %r4, 256;
 tcgen05.st.sync.aligned.32x32b.x8.b32 [%r8], {{{names}}};"""
    work = f"""add.u32 %r6, %r2, {128 * 32}; cvt.u64.u32 %d5, %r6; shr.u64 %d5, %d5, 4;
 or.b64 %d5, %d5, {64 * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46}; setp.ne.u32 %p3, %r0, 0; add.u32 %r8, %r3, 256;
 mov.b32 %r7, {1 << 4 | 8 << 17 | 8 << 24};
 tcgen05.mma.cta_group::1.kind::f16{".ashift" if shifted else ""} [%r3], [%r8], %d5, %r7, %p3;"""
    out = run(image, (128, 64), prepare=prepare, work=work, read=read(64))
    rows = [lane + (shifted and lane % 32 != 31) for lane in range(128)]
    assert (out.view(np.float32) == a[rows] @ b.T).all()


def test_a_product_follows_a_copy_of_its_operand_by_the_same_thread() -> None:
    """tcgen05.cp and tcgen05.mma of one thread form a pipeline (PTX ISA 9.7.16.6.2): nothing needs to come between."""
    random = np.random.default_rng(6)
    a, b = random.integers(-4, 5, (128, 16)), random.integers(-4, 5, (32, 16))
    work = "add.u32 %r6, %r2, 4096; add.u32 %r8, %r3, 64;"
    for at, start, rows in ((4, 2, 128), (5, 6, 32)):
        code = rows * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46
        work += f"cvt.u64.u32 %d{at}, %r{start}; shr.u64 %d{at}, %d{at}, 4; or.b64 %d{at}, %d{at}, {code};"
    work += f"""setp.eq.u32 %p3, %r0, 7; mov.b32 %r7, {1 << 4 | 4 << 17 | 8 << 24};
 tcgen05.cp.cta_group::1.128x256b [%r8], %d4;
 tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r8], %d5, %r7, %p3;"""
    out = run(np.concatenate([operand(a), operand(b)]), (128, 32), work=work, read=read(32))
    assert (out.view(np.float32) == a @ b.T).all()


def descriptors(rows: int, n: int) -> str:
    """The descriptors %d4 of A and %d5 of B, operands of `operand`, one after the other."""
    text = f"add.u32 %r6, %r2, {rows * 32};"
    for at, start, count in ((4, 2, rows), (5, 6, n)):
        code = count * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46
        text += f"cvt.u64.u32 %d{at}, %r{start}; shr.u64 %d{at}, %d{at}, 4; or.b64 %d{at}, %d{at}, {code};"
    return text


COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"


def test_a_product_follows_a_copy_into_its_accumulator_that_is_committed_already() -> None:
    random = np.random.default_rng(7)
    a, b = random.integers(-4, 5, (128, 16)), random.integers(-4, 5, (32, 16))
    work = f"""{descriptors(128, 32)} setp.eq.u32 %p3, %r0, 7; mov.b32 %r7, {1 << 4 | 4 << 17 | 8 << 24};
 tcgen05.cp.cta_group::1.128x256b [%r3], %d4; {COMMIT} [bar];
 tcgen05.mma.cta_group::1.kind::f16 [%r3], %d4, %d5, %r7, %p3;"""
    out = run(np.concatenate([operand(a), operand(b)]), (128, 32), work=work, read=read(32))
    assert (out.view(np.float32) == a @ b.T).all()


@pytest.mark.parametrize(("load", "expected"), [("16x64b", []), ("32x32b", ["wait", "uninitialised"])])
def test_products_of_64_rows_in_the_two_halves_of_the_lanes_are_apart(load: str, expected: list[str]) -> None:
    """Layout F: 16 of each 32 lanes. The first product is waited for, the second is in flight in the other lanes."""
    random = np.random.default_rng(8)
    a, b = random.integers(-4, 5, (64, 16)), random.integers(-4, 5, (32, 16))
    work = f"""{descriptors(64, 32)} setp.eq.u32 %p3, %r0, 7; mov.b32 %r7, {1 << 4 | 4 << 17 | 4 << 24};
 tcgen05.mma.cta_group::1.kind::f16 [%r3], %d4, %d5, %r7, %p3; {COMMIT} [done];
 add.u32 %r8, %r3, {16 << 16}; tcgen05.mma.cta_group::1.kind::f16 [%r8], %d4, %d5, %r7, %p3;"""
    parts = f"""tcgen05.ld.sync.aligned.{load}.x1.b32 {{%r20}}, [%r4]; tcgen05.wait::ld.sync.aligned;
V: mbarrier.try_wait.parity.shared.b64 %p2, [done], 1; @!%p2 bra V;"""
    report = launched(np.concatenate([operand(a), operand(b)]), np.zeros(1, np.uint32), work=work, read=parts)
    assert [one.kind for one in report.findings] == expected


def test_elements_of_4_bits_lie_packed_with_padding_behind_each_16_in_shared_memory() -> None:
    """PTX ISA 9.7.16.10.4.4; the same of kind::f8f6f4, since one tensor copy serves both."""
    random = np.random.default_rng(9)
    codes, b = random.integers(0, 16, (128, 32)), random.integers(-4, 5, (16, 32))
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    a = np.where(codes & 8, -1, 1) * values[codes & 7]
    packed = np.full((2, 128, 16), 0xFF, np.uint8)  # core columns of 16 bytes a row; padding is never read
    packed[..., :8] = np.stack([(half[:, ::2] | half[:, 1::2] << 4) for half in (codes[:, :16], codes[:, 16:])])
    eights = b.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    image = np.concatenate([packed.reshape(-1), np.stack([eights[:, :16], eights[:, 16:]]).reshape(-1)])
    work = f"""{descriptors(128, 16)} setp.eq.u32 %p3, %r0, 7; mov.b32 %r7, {1 << 4 | 5 << 7 | 2 << 17 | 8 << 24};
 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %d4, %d5, %r7, %p3;"""
    out = run(image, (128, 16), work=work, read=read(16))
    assert (out.view(np.float32) == a @ b.T).all()


@pytest.mark.parametrize(
    "work",
    [
        "tcgen05.cp.cta_group::1.128x256b [%r8], %d4;",
        "tcgen05.mma.cta_group::1.kind::f16 [%r8], %d4, %d4, %r7, %p3;",
        "tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r8], %d4, %r7, %p3;",
        "tcgen05.shift.cta_group::1.down [%r8];",
    ],
    ids=["cp", "mma", "mma of A", "shift"],
)
def test_columns_beyond_tensor_memory_stop_the_launch(work: str) -> None:
    setup = f"""add.u32 %r8, %r3, 508; cvt.u64.u32 %d4, %r2; shr.u64 %d4, %d4, 4; or.b64 %d4, %d4, {1 << 46};
 setp.eq.u32 %p3, %r0, 7; mov.b32 %r7, {1 << 4 | 4 << 17 | 8 << 24};"""
    with pytest.raises(mmacalc.Error, match=r"line 2\d.*touches columns 508 to \d+ of Tensor Memory, which has 512"):
        run(NOTHING, (128, 4), work=setup + "\n" + work, read=read(4))


@pytest.mark.parametrize(
    ("work", "column"),
    [
        ("tcgen05.st.sync.aligned.32x32b.x8.b32 [%r8], {%r0,%r0,%r0,%r0,%r0,%r0,%r0,%r0};", 508),
        ("tcgen05.st.sync.aligned.32x32b.x1.b32 [%r8], {%r0};", 512),
        ("tcgen05.st.sync.aligned.16x64b.x2.b32 [%r8], {%r0, %r0};", 510),
        ("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r20, %r21, %r22, %r23}, [%r8];", 510),
    ],
)
def test_columns_of_a_warp_beyond_tensor_memory_are_named(work: str, column: int) -> None:
    def findings(start: int) -> list[tuple[str, str, str]]:
        report = launched(NOTHING, np.zeros(16), prepare=f"{fill(16)} add.u32 %r8, %r4, {start}; {work}")
        return [(one.kind, one.text, one.message) for one in report.findings]

    outside = ("tensor memory", work.rstrip(";"), "touches columns that are not allocated")
    assert outside in findings(column)
    assert outside not in findings(0)


DESCRIPTORS = {  # by the statement: the matrix that its last descriptor is of, and the registers of both
    "tcgen05.mma.cta_group::1.kind::f16 [%r3], %d4, %d5, %r7, %p3;": "B",
    "tcgen05.mma.cta_group::1.kind::f16 [%r3], %d5, %d4, %r7, %p3;": "A",
    "tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r8], %d5, %r7, %p3;": "B",
    "tcgen05.mma.ws.cta_group::1.kind::f16 [%r3], %d4, %d5, %r7, %p3;": "B",
    "tcgen05.cp.cta_group::1.128x256b [%r8], %d5;": "the source",
    "tcgen05.cp.cta_group::1.128x128b [%r8], %d5;": "the source",
}
STORED = "add.u32 %r8, %r4, 256; tcgen05.st.sync.aligned.32x32b.x8.b32 [%r8], {%r0,%r0,%r0,%r0,%r0,%r0,%r0,%r0};"
CORE = 128 << 32 >> 4
"""The stride from 8 rows to the next, without swizzle."""
STRIDES = {  # the words of the finding, bits of a descriptor of 128 rows of 32 bytes
    "": 2048 << 16 >> 4 | CORE,
    "parts of {} lie at the same bytes": 2048 << 16 >> 4,  # no stride
    "parts of {} lie at the same bytes:": 2048 << 16 >> 4 | CORE // 2,
    "parts of {} lie at the same bytes: the leading": 64 << 16 >> 4 | CORE,
    "the descriptor of {} has a stride of 272 bytes, which is not a multiple of 32": 272 << 32 >> 4 | 6 << 61,
    "the descriptor of {} has a stride of 288 bytes, which is not a multiple of 64": 288 << 32 >> 4 | 4 << 61,
}


@pytest.mark.parametrize("wrong", STRIDES)
@pytest.mark.parametrize("statement", DESCRIPTORS)
def test_a_descriptor_whose_strides_do_not_fit_its_matrix_is_named(statement: str, wrong: str) -> None:
    """Both matrices have 128 rows: that of %d4 is right."""
    work = "add.u32 %r8, %r3, 256; setp.eq.u32 %p3, %r0, 7;" + f"mov.b32 %r7, {1 << 4 | 16 << 17 | 8 << 24};"
    for at, code in ((4, STRIDES[""]), (5, STRIDES[wrong])):
        work += f"cvt.u64.u32 %d{at}, %r2; shr.u64 %d{at}, %d{at}, 4; or.b64 %d{at}, %d{at}, {code | 1 << 46};"
    report = launched(np.zeros((128, 256), np.uint8), np.zeros(16), work=f"{work}\n {statement}", prepare=STORED)
    depth = 16 if "128x128b" in statement else 32
    if depth == 16 and "leading" in wrong:  # it has no second part along the rows
        wrong = ""
    found = [one for one in report.findings if one.kind == "descriptor"]
    assert [one.text for one in found] == [statement.rstrip(";")] * bool(wrong)
    assert all(wrong.format(DESCRIPTORS[statement]) in one.message for one in found)
    assert len(report.findings) == len(found), str(report)


@pytest.mark.parametrize(
    ("kind", "idesc", "operands"),
    [
        ("kind::f16", 1 << 4 | 16 << 17 | 8 << 24, {"A": 128}),
        ("kind::mxf8f6f4.block_scale.block32", 16 << 17 | 1 << 23 | 1 << 27, {"A": 128, "SA": 256, "SB": 264}),
        ("kind::mxf8f6f4.block_scale.block32", 16 << 17 | 1 << 23 | 1 << 27, {"SA": 256, "SB": 264}),
    ],
)
def test_operands_of_a_product_that_nothing_has_written_are_named(kind, idesc, operands) -> None:
    """Each operand in Tensor Memory by itself: columns of D end at 127."""
    names = ", ".join(["%r0"] * 8)
    for missing in ("", *operands):
        prepare = "".join(f"add.u32 %r8, %r4, {column}; tcgen05.st.sync.aligned.32x32b.x8.b32 [%r8], {{{names}}};"
                          for name, column in operands.items() if name != missing)  # fmt: skip
        work = f"setp.eq.u32 %p3, %r0, 7; mov.b32 %r7, {idesc}; add.u32 %r8, %r3, 128; add.u32 %r9, %r3, 256;"
        work += "add.u32 %r10, %r3, 264; cvt.u64.u32 %d4, %r2; shr.u64 %d4, %d4, 4;"
        work += f"or.b64 %d4, %d4, {STRIDES[''] | 1 << 46};"
        scales = ", [%r9], [%r10]" if "SA" in operands else ""
        left = "[%r8]" if "A" in operands else "%d4"
        work += f"tcgen05.mma.cta_group::1.{kind} [%r3], {left}, %d4, %r7{scales}, %p3;"
        found = launched(np.zeros((128, 256), np.uint8), np.zeros(16), prepare=prepare, work=work).findings
        wanted = [("uninitialised", f"reads {missing} in Tensor Memory that nothing has written")] * bool(missing)
        assert [(one.kind, one.message) for one in found] == wanted


HANDOVER = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
 .reg .b32 %r<60>; .reg .b64 %d<9>; .reg .pred %p<6>;
 .shared .align 1024 .b8 data[8192]; .shared .align 8 .b64 bar; .shared .align 8 .b64 done; .shared .b32 base;
 ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r2, data;
 setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p3, %r0, 32; mov.pred %p4, 0;
 @%p0 bra A; mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [done], 1;
 fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 5120;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0], 5120, [bar];
A: @%p1 bra B; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
B: bar.sync 0; ld.shared.b32 %r3, [base]; shl.b32 %r4, %r1, 21; add.u32 %r4, %r4, %r3; mov.b32 %r6, 0;
W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W;
 cvt.u64.u32 %d4, %r2; shr.u64 %d4, %d4, 4; or.b64 %d4, %d4, DA;
 add.u32 %r7, %r2, 4096; cvt.u64.u32 %d5, %r7; shr.u64 %d5, %d5, 4; or.b64 %d5, %d5, DB;
 tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r6}; tcgen05.wait::st.sync.aligned;
L:
 tcgen05.fence::before_thread_sync; // of the stores and loads
 bar.sync 0; @%p3 bra C;
 tcgen05.fence::after_thread_sync; // before the products
 mov.b32 %r7, IDESC; tcgen05.mma.cta_group::1.kind::f16 [%r3], %d4, %d5, %r7, %p4;
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
C: mbarrier.try_wait.parity.shared.b64 %p2, [done], %r6; @!%p2 bra C;
 tcgen05.fence::after_thread_sync; // before the loads
 READ
 add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 2; @%p2 bra L; // the second product follows the loads of the first
 bar.sync 0; @%p1 bra D; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
D: ret; }
"""
MISSING = {  # by the fence that is left out: which it is, and the statements that are named
    "of the stores and loads": ("before_thread_sync", ["tcgen05.st", "tcgen05.ld"]),
    "before the products": ("after_thread_sync", ["tcgen05.mma"]),
    "before the loads": ("after_thread_sync", ["tcgen05.ld"]),
}


@pytest.mark.parametrize("schedule", [None, 1])
@pytest.mark.parametrize("without", ["", *MISSING])
def test_a_fence_that_lacks_between_threads_that_share_tensor_memory_is_a_note(
    without: str, schedule: int | None
) -> None:
    """Warp 1 multiplies twice what all warps store, load, and load again. What is redundant is not asked for: a thread
    needs no fence after its own stores, nor between its products."""
    random = np.random.default_rng(5)
    a, b = random.integers(-4, 5, (128, 16)), random.integers(-4, 5, (32, 16))
    image, out = np.concatenate([operand(a), operand(b)]), np.zeros((128, 32), np.float32)
    text = HANDOVER.replace("READ", read(32)).replace("IDESC", str(1 << 4 | 4 << 17 | 8 << 24))
    for name, rows in (("DA", 128), ("DB", 32)):
        text = text.replace(name, str(rows * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46))
    lines = [line for line in text.splitlines() if not (without and line.endswith(f"// {without}"))]
    kernel = mmacalc.load("\n".join(lines))["k"]
    report = mmacalc.launch(kernel, 1, 128, image, out, schedule=schedule)
    assert not report.findings, str(report)
    assert (out == a @ b.T).all()
    notes = [note for note in report.notes if "tcgen05.fence" in note]
    assert len(notes) == bool(without), notes
    if without:
        word, statements = MISSING[without]
        where, _, message = notes[0].partition(": ")
        assert message.startswith(f"tcgen05.fence::{word} belongs")
        named = [lines[int(line) - 1] for line in where.split(" ", 1)[1].split(", ")]
        assert len(named) == len(statements)
        assert all(statement in line for statement, line in zip(statements, named))


MISTAKES_AT_ONCE = [
    ("", ""),
    ("mov.pred %p4, 0;", "mov.pred %p4, 1;"),
    ("tcgen05.wait::st.sync.aligned;", ""),
    (" bar.sync 0; @%p3", " @%p3"),
    ("before_thread_sync; // of", "after_thread_sync; //"),
    ("%d5, %r7, %p4;", "%d5, %r7, %p5;"),
    ("C: mbarrier", "bar.sync 0; bra D; C: mbarrier"),
]
"""What is changed in HANDOVER, and into what."""


@sampled(("change", "schedule"), rotated(MISTAKES_AT_ONCE, [None, 2]), len(MISTAKES_AT_ONCE), whole=0)
def test_products_that_ctas_issue_at_once_are_as_those_of_one_thread_after_the_other(
    change: tuple[str, str], schedule: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three CTAs with inputs of their own, right and with mistakes: D and all that is found are the same. So are
    barriers of one CTA after the other."""
    line, instead = change
    image = np.random.default_rng(7).integers(-4, 5, (3, 2560)).astype(np.float16)
    text = HANDOVER.replace("READ", read(32)).replace("IDESC", str(1 << 4 | 4 << 17 | 8 << 24))
    for name, rows in (("DA", 128), ("DB", 32)):
        text = text.replace(name, str(rows * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46))
    offsets = "".join(f"mov.u32 %r9, %ctaid.x; mul.wide.u32 %d2, %r9, {size}; add.u64 %d{at}, %d{at}, %d2;"
                      for at, size in ((0, 5120), (1, 16384)))  # fmt: skip
    text = text.replace("[out];", f"[out]; {offsets} setp.ne.u32 %p5, %r9, 0;").replace(
        line or "//", instead or "//", 1
    )
    found = []
    for alone in (False, True):
        if alone:
            one_by_one = lambda ctas, _: [[at] for at in range(len(ctas))]  # noqa: E731
            monkeypatch.setattr("mmacalc.kernels.ptx.tensor_products._issued_at_once", one_by_one)
            monkeypatch.setattr("mmacalc.kernels.ptx.barriers.CtaBarriers._is_whole", lambda *_: False)
        out = np.zeros((3, 128, 32), np.float32)
        report = mmacalc.launch(mmacalc.load(text)["k"], 3, 128, image, out, schedule=schedule)
        found.append((str(report.findings), str(report.notes), out.tobytes()))
    assert found[0] == found[1]
    assert (found[0][:2] != ("()", "()")) == (line[:4] not in ("", "mov.", "%d5,"))


STEP = SimpleNamespace(line=7, text="tcgen05.mma ...", index=0)


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_bit_of_k_is_the_depth_of_the_product_or_is_refused(target: str, kind: str, sparse: bool) -> None:
    if (target, kind) == ("sm_103a", "i8"):
        return  # it has no such product
    scaled = {"mxf8f6f4": ".block_scale", "mxf4": ".block_scale.block32", "mxf4nvf4": ".block_scale.block16"}
    name = f"tcgen05.mma{'.sp' * sparse}.cta_group::2.kind::{kind}{scaled.get(kind, '')}"
    inst = mmacalc.instruction(target, name)
    options = {"scale": "ue8m0"} if kind in ("mxf8f6f4", "mxf4") else {}
    word = int(mmacalc.instruction_descriptor(kind, 256, 256, sparse=int(sparse), **options).word)
    usual, deeper = coded_depths(kind, int(sparse))
    assert _shaped(STEP, inst, kind, word)[0].k == usual
    bit = 31 if kind.startswith("mx") else 29
    if deeper == 96 and target == "sm_103a":
        assert _shaped(STEP, inst, kind, word | 1 << bit)[0].k == 96
        return
    with pytest.raises(mmacalc.Error, match=r"line 7: .*(bit of K set, which is reserved|K of .* is)"):
        _shaped(STEP, inst, kind, word | 1 << bit)


def test_rows_of_48_bytes_go_on_at_the_address_that_a_descriptor_has_as_its_leading_dimension() -> None:
    rows, tiles = (
        24,
        (0x4000, 0x800, 0x8C00),
    )  # of 128 bytes of each row, in any order; as the tensor copies swizzle them
    row, byte = np.indices((rows, 3 * 128))
    plain = np.array(tiles)[byte // 128] + row * 128 + byte % 128
    want = plain ^ (plain >> 3 & 0x70)
    for first in range(0, 3 * 128, 48):
        tile, within = divmod(first, 128)
        code = tiles[tile] + within >> 4 | tiles[(tile + 1) % 3] << 12 | 1024 << 28 | LEADING_IS_ABSOLUTE
        found = matrix_offsets(code, rows, 96, 4, False, "128B")
        assert np.array_equal(found[:, ::2], want[:, first : first + 48])
        _check_leading(STEP, "A", code, 48, "128B")
        for depth, mode in ((32, "128B"), (48, "64B"), (48, "128B along M or N")):
            with pytest.raises(mmacalc.Error, match="leading dimension of A's descriptor is an address, which is for"):
                _check_leading(STEP, "A", code, depth, mode)
        if within > 80:
            with pytest.raises(mmacalc.Error, match=f"begin at byte {within} of the 128 of their swizzle"):
                _check_leading(STEP, "A", code & ~LEADING_IS_ABSOLUTE, 48, "128B")


@pytest.mark.parametrize(("bits", "field"), [(4, "scale_id_b of SB"), (29, "scale_id_a of SA")])
def test_scales_that_begin_at_a_byte_where_the_product_has_none_are_refused_at_their_statement(
    bits: int, field: str
) -> None:
    inst = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16")
    word = int(mmacalc.instruction_descriptor("mxf4nvf4", 128, 128).word)
    assert _Form(STEP, inst, "mxf4nvf4", False, word, 0).inst.k == 64
    for scale_id in (1, 2, 3):
        with pytest.raises(mmacalc.Error, match=f"^line 7: tcgen05.mma .*{field} of .* is 0; got {scale_id}"):
            _Form(STEP, inst, "mxf4nvf4", False, word | scale_id << bits, 0)


HALF = ("READ", read(16))
LANES_OF_16 = "tcgen05.ld.sync.aligned.16x64b.x32.b32 {{{}}}, [%r4];\ntcgen05.wait::ld.sync.aligned;"


@pytest.mark.parametrize(("changes", "wanted"), [
    ([], {}),
    ([HALF], {"mma": "columns 16-31 of lanes 0-127"}),
    ([("READ", LANES_OF_16.format(", ".join(f"%r{20 + at}" for at in range(32))))],
     {"mma": "columns 0-31 of lanes 16-31, 48-63, 80-95, 112-127"}),
    ([("{%r6}", "{%r0}")], {"st": "column 0 of lanes 0-127"}),  # zeros are not noted, other values are
    ([("{%r6}", "{%r0}"), ("mov.pred %p4, 0", "mov.pred %p4, 1")], {}),  # the product adds to them
    ([("{%r6}", "{%r0}"), ("mov.pred %p4, 0", "mov.pred %p4, 1"), HALF], {"mma": "columns 16-31 of lanes 0-127"}),
])  # fmt: skip
def test_columns_that_are_written_and_never_read_are_a_note(
    changes: list[tuple[str, str]], wanted: dict[str, str]
) -> None:
    text = HANDOVER.replace("IDESC", str(1 << 4 | 4 << 17 | 8 << 24))
    for old, new in [*changes, ("READ", read(32)), ("tcgen05", "\ntcgen05"),
                     *((name, str(rows * 16 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46))
                       for name, rows in (("DA", 128), ("DB", 32)))]:  # fmt: skip
        text = text.replace(old, new)
    image, out = np.ones(2560, np.float16), np.zeros((128, 32), np.float32)
    report = mmacalc.launch(mmacalc.load(text)["k"], 1, 128, image, out)
    found = {}
    for note in report.notes:
        line, _, message = note.partition(": writes Tensor Memory that nothing reads: ")
        if message:
            found[text.splitlines()[int(line.split()[1]) - 1].split(".")[1]] = message
    assert found == wanted, str(report)
