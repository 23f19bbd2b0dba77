"""Copies and stores that nobody waits for at once: im2col and gathered tiles, reductions, st.async, st.bulk."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import mmacalc

HEAD = ".version 9.0\n.target {target}\n.address_size 64\n"
REGISTERS = ".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<4>;"
BARRIER = "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;"


def kernel(body: str, parameters: int, target: str = "sm_90a", more: str = ""):
    names = ", ".join(f".param .u64 a{place}" for place in range(parameters))
    loads = " ".join(f"ld.param.u64 %d{place}, [a{place}];" for place in range(parameters))
    return mmacalc.load(f"""{HEAD.format(target=target)}
.visible .entry k({names}) {more} {{
 {REGISTERS}
 .shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 bar;
 {loads} mov.u32 %r0, %tid.x; mov.u32 %r1, tile;
 {body}
 ret; }}""")["k"]


WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;"


def column(image, box, start, shifts, corners, stride):
    """The pixels of an im2col copy, one after the other, in plain loops over NHWC."""
    pixels, channels = box
    images, height, width, _ = image.shape
    (lower_h, lower_w), (upper_h, upper_w) = corners
    rows = range(lower_h, height + upper_h, stride)
    columns = range(lower_w, width + upper_w, stride)
    every = list(product(range(images + 9), rows, columns))
    first = every.index(start[:3])
    found = np.zeros((pixels, channels), image.dtype)
    for place, (n, h, w) in enumerate(every[first : first + pixels]):
        y, x = h + shifts[0], w + shifts[1]
        if n < images and 0 <= y < height and 0 <= x < width:
            found[place] = image[n, y, x, start[3] : start[3] + channels]
    return found


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("shift_h", "shift_w"), [(0, 0), (2, 1)])
def test_im2col_reads_the_pixels_of_a_convolution(stride: int, shift_h: int, shift_w: int) -> None:
    image = np.arange(2 * 6 * 5 * 16, dtype=np.float16).reshape(2, 6, 5, 16)
    corners, box, start = ((-1, -1), (-1, -1)), (40, 8), (0, 1, -1 + stride, 8)
    mapped = mmacalc.tensor_map(image, box, corners=corners, steps=(1, stride, stride, 1))
    out = np.zeros(box, np.float16)
    size = out.nbytes
    n, h, w, c = start
    k = kernel(
        f"""
 {BARRIER}
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
 mov.u16 %h1, {shift_w}; mov.u16 %h2, {shift_h};
 mov.s32 %r2, {c}; mov.s32 %r3, {w}; mov.s32 %r4, {h}; mov.s32 %r5, {n};
 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes \
 [%r1], [%d0, {{%r2, %r3, %r4, %r5}}], [bar], {{%h1, %h2}};
 {WAIT}
 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], {size};
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""",
        2,
    )
    report = mmacalc.launch(k, 1, 1, mapped, out)
    assert not report.findings, str(report)
    expected = column(image, box, start, (shift_h, shift_w), corners, stride)
    assert (out == expected).all()


def test_im2col_stores_pixels_without_offsets_and_wants_a_map_of_its_mode() -> None:
    image = np.zeros((1, 4, 4, 8), np.float32)
    mapped = mmacalc.tensor_map(image, (16, 8), corners=((0, 0), (0, 0)))
    body = """
 mad.lo.u32 %r2, %r0, 4, %r1; cvt.rn.f32.u32 %r3, %r0; st.shared.b32 [%r2], %r3;
 fence.proxy.async.shared::cta; bar.sync 0;
 setp.ne.u32 %p1, %r0, 0; @%p1 bra E;
 cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%d0, {0, 0, 0, 0}], [%r1];
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"""
    report = mmacalc.launch(kernel(body.replace("%r3, %r0; st", "%r3, %r0; st"), 1), 1, 128, mapped)
    assert not report.findings
    assert (image.reshape(-1) == np.arange(128)).all()
    with pytest.raises(mmacalc.Error, match="4 dimensions in tile mode"):
        mmacalc.launch(kernel(body, 1), 1, 128, mmacalc.tensor_map(image, (1, 4, 4, 8)))
    with pytest.raises(mmacalc.Error, match="is not in the bounding box"):
        mmacalc.launch(kernel(body.replace("{0, 0, 0, 0}", "{0, 4, 0, 0}"), 1), 1, 128, mapped)


@pytest.mark.parametrize("corners", [((0,), (0,)), ((0, 0),), ((0, 0), (0, 200)), 5, ((0, 0), (0, "x"))])
def test_corners_that_are_none_are_refused(corners) -> None:
    with pytest.raises(mmacalc.Error, match="corner"):
        mmacalc.tensor_map(np.zeros((1, 4, 4, 8), np.float32), (16, 8), corners=corners)


def test_four_rows_are_gathered_and_scattered() -> None:
    data, out = np.arange(64 * 32, dtype=np.float32).reshape(64, 32), np.zeros((64, 32), np.float32)
    load, store = (mmacalc.tensor_map(one, (1, 32)) for one in (data, out))
    k = kernel(
        f"""
 {BARRIER} mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes \
 [%r1], [%d0, {{0, 7, 3, 60, 64}}], [bar];
 {WAIT}
 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%d1, {{0, 1, 2, 4, 8}}], [%r1];
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""",
        2,
        "sm_100a",
    )
    assert not mmacalc.launch(k, 1, 1, load, store).findings
    expected = np.zeros_like(out)
    expected[[1, 2, 4]] = data[[7, 3, 60]]
    assert (out == expected).all()


OPERATIONS = {
    "add": lambda a, b: a + b, "min": np.minimum, "max": np.maximum, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1), "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1),
}  # fmt: skip
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
KINDS = [
    *[("add", type_) for type_ in ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.bf16")],
    *[(kind, type_) for kind in ("min", "max") for type_ in ("u32", "s32", "u64", "s64", "f16", "bf16")],
    *[(kind, type_) for kind in ("and", "or", "xor") for type_ in ("b32", "b64")], ("inc", "u32"), ("dec", "u32"),
]  # fmt: skip


def values(type_: str, random):
    if type_ in DTYPES:
        return random.normal(size=256 // np.dtype(DTYPES[type_]).itemsize).astype(DTYPES[type_])
    dtype = np.dtype(f"{'i' if type_[0] == 's' else 'u'}{int(type_[1:]) // 8}")
    return np.frombuffer(random.bytes(256), dtype) % dtype.type(1000)


@pytest.mark.parametrize(("kind", "type_"), KINDS)
def test_bulk_reductions_combine_every_type(kind: str, type_: str) -> None:
    random = np.random.default_rng(5)
    plain = type_.rpartition(".")[2]
    new, old = values(plain, random), values(plain, random)
    expected = OPERATIONS[kind](old, new).astype(old.dtype)
    out, given = (array.view(np.uint16).copy() if plain == "bf16" else array.copy() for array in (old, new))
    k = kernel(
        f"""
 {BARRIER} mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d0], 256, [bar]; {WAIT}
 cp.reduce.async.bulk.global.shared::cta.bulk_group.{kind}.{type_} [%d1], [%r1], 256;
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""",
        2,
    )
    assert not mmacalc.launch(k, 1, 1, given, out).findings
    assert (out.view(old.dtype) == expected).all()


CLUSTER = """
 mov.u32 %r8, %cluster_ctarank; xor.b32 %r9, %r8, 1;
 mov.u32 %r10, bar; mapa.shared::cluster.u32 %r11, %r10, %r9; mapa.shared::cluster.u32 %r12, %r1, %r9;
 mad.lo.u32 %r13, %r0, 4, %r12; mad.lo.u32 %r14, %r0, 4, %r1;
 setp.ne.u32 %p2, %r0, 0; @%p2 bra I;
 mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
 fence.mbarrier_init.release.cluster;
I: {before}
 barrier.cluster.arrive; barrier.cluster.wait;
 mad.lo.u32 %r2, %r8, 100, %r0;
 {statement}
 {wait}
 ld.shared.u32 %r3, [%r14];
 mad.lo.u32 %r4, %r8, 32, %r0; mul.wide.u32 %d2, %r4, 4; add.u64 %d2, %d0, %d2; st.global.u32 [%d2], %r3;
 barrier.cluster.arrive; barrier.cluster.wait;"""
TO = "shared::cluster.mbarrier::complete_tx::bytes"


def exchanged(statement: str, before: str = "", wait: str = WAIT, schedule=None):
    body = CLUSTER.format(statement=statement, before=before, wait=wait)
    out = np.zeros((2, 32), np.uint32)
    return mmacalc.launch(kernel(body, 1, more=".reqnctapercluster 2"), 2, 32, out, schedule=schedule), out


@pytest.mark.parametrize("schedule", [None, 1, 2, 3])
def test_a_store_to_the_peer_arrives_when_its_mbarrier_is_waited_for(schedule) -> None:
    report, out = exchanged(f"st.async.{TO}.b32 [%r13], %r2, [%r11];", schedule=schedule)
    assert not report.findings, str(report)
    assert (out == np.arange(32) + np.array([[100], [0]])).all()


@pytest.mark.parametrize("schedule", [None, 1, 2, 3])
def test_reductions_of_all_lanes_add_up_in_the_memory_of_the_peer(schedule) -> None:
    report, out = exchanged(
        f"red.async.relaxed.cluster.{TO}.add.u32 [%r12], %r2, [%r11];", "st.shared.u32 [%r14], 7;", schedule=schedule
    )
    assert not report.findings, str(report)
    assert out[:, 0].tolist() == [7 + 32 * 100 + 496, 7 + 496]
    assert (out[:, 1:] == 7).all()


def test_a_reduction_between_ctas_counts_its_bytes_at_the_mbarrier() -> None:
    before = "st.shared.u32 [%r14], %r0; add.u32 %r15, %r14, 128; st.shared.u32 [%r15], 5; fence.proxy.async;"
    body = f"""@%p2 bra X; add.u32 %r16, %r1, 128;
 cp.reduce.async.bulk.shared::cluster.shared::cta.{TO.partition(".")[2]}.add.u32 [%r12], [%r16], 128, [%r11]; X:"""
    report, out = exchanged(body, before)
    assert not report.findings, str(report)
    assert (out == np.arange(32) + 5).all()


def test_a_store_that_is_not_waited_for_is_named() -> None:
    report, out = exchanged(f"st.async.{TO}.b32 [%r13], %r2, [%r11];", "st.shared.u32 [%r14], 9;", wait="")
    assert "wait" in {found.kind for found in report.findings}
    assert (out == 9).all()


def test_zeros_are_stored_in_bulk_and_race_like_a_store() -> None:
    out = np.ones(64, np.uint32)
    body = """
 mad.lo.u32 %r14, %r0, 4, %r1; st.shared.u32 [%r14], %r0; bar.sync 0;
 setp.ne.u32 %p1, %r0, 0; @%p1 bra E; st.bulk.weak.shared::cta [%r1], 128, 0;
E: bar.sync 0; ld.shared.u32 %r3, [%r14]; mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d0, %d2; st.global.u32 [%d2], %r3;"""
    assert not mmacalc.launch(kernel(body, 1, "sm_100a"), 1, 64, out).findings
    assert (out == np.where(np.arange(64) < 32, 0, np.arange(64))).all()
    found = mmacalc.launch(kernel(body.replace("E: bar.sync 0;", "E:"), 1, "sm_100a"), 1, 64, out).findings
    assert {one.kind for one in found} == {"race"}


@pytest.mark.parametrize("copy", [
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1], 256, [bar];",
    "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 256;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], 256;",
])  # fmt: skip
def test_a_bulk_copy_that_begins_within_shared_memory_and_ends_beyond_it_stops_the_launch(copy):
    kernel = mmacalc.load(f""".version 8.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b64 %d<2>; .reg .b32 %r<2>; .shared .align 8 .b64 bar; .shared .align 128 .b8 tile[256];
ld.param.u64 %d1, [p]; mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %r1, tile; add.u32 %r1, %r1, 16; {copy} ret; }}
""")["k"]
    with pytest.raises(mmacalc.Error, match="is outside shared memory, which has"):
        mmacalc.launch(kernel, 1, 1, np.zeros(64, np.uint32))


FLAGGED = """
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; mul.wide.u32 %d3, %r0, 4; add.u64 %d3, %d3, %d0;
    setp.ne.u32 %p2, %r0, 0; @!%p1 bra READER;
    st.global.u32 [%d3], %r0;
    bar.sync 0; @%p2 bra DONE;
    mov.u32 %r5, 1;
    st.async.release.gpu.global.u32 [%d1], %r5;
    bra DONE;
READER: @%p2 bra MET;
POLL: ld.acquire.gpu.global.u32 %r3, [%d1]; setp.eq.u32 %p3, %r3, 0; @%p3 bra POLL;
MET: bar.sync 0;
    ld.global.u32 %r4, [%d3]; add.u64 %d4, %d3, %d2; sub.u64 %d4, %d4, %d0; st.global.u32 [%d4], %r4;
DONE:"""
STORE, ADD = "st.async.release.gpu.global.u32 [%d1], %r5;", "red.async.release.gpu.global.add.u32 [%d1], %r5;"


@pytest.mark.parametrize("schedule", [None, 1, 2])
@pytest.mark.parametrize(("changes", "wanted"), [
    ([], []),
    ([(STORE, ADD)], []),
    ([(STORE, STORE.replace("release.gpu", "mmio.release.sys"))], []),
    ([(STORE, "mov.u64 %d5, 1; st.async.release.sys.b64 [%d1], %d5;")], []),
    ([(STORE, "fence.acq_rel.gpu; " + ADD.replace("release", "relaxed"))], []),
    ([(STORE, ADD.replace("release", "relaxed"))], [("race", "ld.global", "st.global")]),
    ([("ld.acquire.gpu", "ld.relaxed.gpu")], [("race", "ld.global", "st.global")]),
    ([(STORE, STORE + " ld.global.u32 %r3, [%d1]; st.global.u32 [%d2], %r3;")], [("race", "ld.global", "st.async")]),
    ([(STORE, STORE + " st.async.release.gpu.u32 [%d1+4], %r6;")], [("uninitialised", "st.async", "")]),
    ([("bar.sync 0;\n    ld", "bar.sync 0; ld.global.u32 %r6, [%d1]; st.global.u32 [%d1+4], %r6;\n    ld")], []),
])  # fmt: skip
def test_an_asynchronous_store_to_global_memory_releases_and_is_known_to_who_has_read_it(changes, wanted, schedule):
    body = FLAGGED
    for old, new in changes:
        body = body.replace(old, new)
    k = kernel(body.replace(";", ";\n"), 3, "sm_100a")
    data, flag, out = np.zeros(64, np.uint32), np.zeros(2, np.uint32), np.zeros(64, np.uint32)
    report = mmacalc.launch(k, 2, 64, data, flag, out, schedule=schedule)
    found = [(one.kind, ".".join(one.text.split(" ")[-2 if one.text[0] == "@" else 0].split(".")[:2]),
              ".".join(one.other_text.split(".")[:2])) for one in report.findings]  # fmt: skip
    assert sorted({*found}) == sorted(wanted), str(report)
    if not wanted:
        assert (out == np.arange(64)).all()
        assert flag[0] == 1


def test_asynchronous_additions_to_global_memory_are_all_there_at_the_end() -> None:
    k = kernel("add.u32 %r2, %r0, 1; neg.s32 %r3, %r2; cvt.s64.s32 %d2, %r3; st.async.release.gpu.u16 [%d1+8], %h0;"
               .replace("%h0", "%h1").replace("st.async", "cvt.u16.u32 %h1, 7; st.async", 1)
               + "red.async.release.sys.global.add.u32 [%d0], %r2; red.async.release.gpu.add.s64 [%d1], %d2;",
               2, "sm_100a")  # fmt: skip
    total, wide = np.zeros(1, np.uint32), np.zeros(2, np.int64)
    report = mmacalc.launch(k, 3, 64, total, wide)
    assert report.findings == ()
    assert (total[0], wide.tolist()) == (3 * 64 * 65 // 2, [-3 * 64 * 65 // 2, 7])
