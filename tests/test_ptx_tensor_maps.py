"""Tensor maps that a kernel fills field by field: what no driver would encode stops the launch by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mmacalc
from mmacalc.kernels.ptx.tensor_map_bits import new, unknown
from mmacalc.kernels.ptx.tensor_maps import TensorMap

KERNEL = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 given[128], .param .u64 map, .param .u64 out) {{
 .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
 .shared .align 128 .b8 own[128]; .shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 bar;
 mov.u32 %r0, %tid.x; mov.b64 %d0, given; ld.param.u64 %d1, [map]; ld.param.u64 %d2, [out];
 mul.wide.u32 %d3, %r0, 4; add.u64 %d4, %d0, %d3; ld.param.b32 %r1, [%d4]; mov.u32 %r2, own;
 mad.lo.u32 %r3, %r0, 4, %r2; st.shared.b32 [%r3], %r1; bar.warp.sync -1; setp.ne.u32 %p0, %r0, 0;
 @%p0 bra A; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
 {replace}
A: bar.warp.sync -1;
 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%r2], 128;
 @%p0 bra B; fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
 mov.u32 %r4, tile; mov.b32 %r5, 0;
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%d1, {{%r5, %r5}}], [bar];
B: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra B;
 mov.u32 %r6, tile; mad.lo.u32 %r6, %r0, 4, %r6; ld.shared.b32 %r7, [%r6];
 add.u64 %d5, %d2, %d3; st.global.b32 [%d5], %r7; ret; }}
"""
REPLACE = "tensormap.replace.tile.{}.shared::cta.b1024.b{} [%r2], {};"
FIELDS = {  # by the fields and their values: what is said; nothing where the driver takes them
    ("box_dim 32 0, 16", "box_dim 32 1, 8"): "",
    ("element_stride 32 1, 8", "box_dim 32 1, 64"): "",
    ("box_dim 32 0, 0",): "line 11: .* box_dim 0 is 0; it is 1 to 256",
    ("box_dim 32 1, 257",): "line 11: .* box_dim 1 is 257; it is 1 to 256",
    ("element_stride 32 0, 0",): "line 11: .* element_stride 0 is 0; it is 1 to 8",
    ("element_stride 32 1, 9",): "line 11: .* element_stride 1 is 9; it is 1 to 8",
    (f"global_stride 64 0, {1 << 40}",): r"line 11: .* global_stride 0 is 1099511627776; .* below 2\^40",
    ("global_stride 64 0, 72",): "line 11: .* global_stride 0 is 72; it is a multiple of 16",
    ("rank 32 7",): "line 11: .* rank is 7; it is 0 to 4",
    (f"global_address 64 {-1 << 63}",): "line 17: cp.async.*the address is 0x8000000000000000",
    ("global_address 64 8200",): "line 17: cp.async.*the address is 0x2008; it is a multiple of 16",
    ("box_dim 32 0, 6",): "line 17: .*innermost axis has 24 bytes; with swizzle none it has a multiple of 16$",
    ("swizzle_mode 32 1",): "line 17: .*has 64 bytes; with swizzle 32B it has a multiple of 16, up to 32",
    ("swizzle_mode 32 2",): "",
    ("elemtype 32 15",): "line 17: .*the innermost dimension has 32 elements of .b6x16_p32; .* a multiple of 128",
    ("elemtype 32 14", "global_dim 32 0, 128"): "line 17: .*innermost axis has 8 bytes; of .b4x16_p64 it has 64",
    ("swizzle_mode 32 4",): "line 17: .*the swizzle 96B is not of this target: sm_103a has it",
    ("fill_mode 32 1", "elemtype 32 2"): "line 17: .*elements of .u32 outside the tensor are NaN, which floats alone",
    ("swizzle_mode 32 7",): "line 17: .*there is no tensor map at",
    ("box_dim 32 0, 32", "box_dim 32 1, 4", "swizzle_mode 32 3", "swizzle_atomicity 32 1"): "",
    ("box_dim 32 0, 32", "box_dim 32 1, 4", "swizzle_mode 32 3", "swizzle_atomicity 32 3"): "",
    ("box_dim 32 0, 32", "box_dim 32 1, 4", "swizzle_mode 32 3", "swizzle_atomicity 32 2"): "",
    ("swizzle_mode 32 2", "swizzle_atomicity 32 1"): "line 17: .*mode 2 and atomicity 1: only 128B",
    ("swizzle_atomicity 32 4",): "line 11: .*swizzle_atomicity is 4; it is 0 to 3",
}


@pytest.mark.parametrize("fields", FIELDS, ids=" and ".join)
def test_a_tensor_map_that_the_driver_would_refuse_stops_the_launch_by_its_field(fields: tuple[str, ...]) -> None:
    x, made, out = (
        np.arange(16 * 32, dtype=np.float32).reshape(16, 32),
        np.zeros(128, np.uint8),
        np.zeros(32, np.float32),
    )
    replace = " ".join(REPLACE.format(*field.split(" ", 2)) for field in fields)
    kernel = mmacalc.load(KERNEL.format(replace=replace))["k"]
    given = mmacalc.tensor_map(x, (8, 16))
    if FIELDS[fields]:
        with pytest.raises(mmacalc.Error, match=FIELDS[fields]):
            mmacalc.launch(kernel, 1, 32, given, made, out)
        return
    assert mmacalc.launch(kernel, 1, 32, given, made, out).findings == ()
    if "swizzle_atomicity" in fields[-1]:  # parts of the first line are exchanged
        assert np.sort(out).tolist() == [*range(32)]
        return
    assert (np.sort(out[:8]) == np.arange(8)).all()  # a swizzle exchanges parts of four


# Words of maps that CuTe's DSL 4.8.1 has encoded, at 0x123456789000, without the bit 0x200000 of word 2 that its loads
# have: the element, the swizzle, the dimensions and the box in units, the strides in bytes.
ENCODED = {
    ("f16", "128B", (512, 1000), (1024,), (64, 64)): {2: 0x46312, 3: 0x40, 8: 511, 9: 999, 13: 0x3F000000, 14: 63},
    ("f16", "64B", (504, 1000), (1024,), (32, 64)): {2: 0x44312, 3: 0x40, 8: 503, 9: 999, 13: 0x1F000000, 14: 63},
    ("u8", "32B", (520, 1000), (1040,), (32, 256)): {2: 0x42012, 3: 0x41, 8: 519, 9: 999, 13: 0x1F000000, 14: 255},
    ("f32", "128B base32B", (256, 128), (1024,), (32, 8)): {2: 0xC6392, 3: 0x40, 8: 255, 9: 127, 13: 0x1F000000, 14: 7},
    ("f32", "128B base64B", (256, 128), (1024,), (32, 8)): {
        2: 0x1C6392, 3: 0x40, 8: 255, 9: 127, 13: 0x1F000000, 14: 7},
    ("b4x16_p64", "128B", (16, 128), (128,), (8, 8)): {2: 0x46612, 3: 8, 8: 255, 9: 127, 13: 0x7F000000, 14: 7},
    ("b6x16_p32", "128B base32B", (16, 128), (192,), (8, 8)): {
        2: 0xC6692, 3: 12, 8: 255, 9: 127, 13: 0x7F000000, 14: 7},
    ("b4x16", "none", (256, 8), (256,), (16, 64)): {2: 0x40592, 3: 0x10, 8: 511, 9: 7, 13: 0x1F000000, 14: 63},
    ("bf16", "none", (64, 10, 11, 12, 13), (128, 1280, 14080, 168960), (32, 2, 3, 4, 5)): {
        2: 0x40542, 3: 8, 4: 0x50, 5: 0x370, 6: 0x2940, 8: 63, 9: 9, 10: 10, 11: 11, 12: 12, 13: 0x1F000000,
        14: 0x04030201},
    ("f64", "none", (64, 10, 11), (1 << 37, 1 << 39), (32, 2, 3)): {
        2: 0x404A2, 7: 0x82, 8: 63, 9: 9, 10: 10, 13: 0x1F000000, 14: 0x0201},
}  # fmt: skip


@pytest.mark.parametrize("fields", ENCODED, ids=str)
def test_tensor_maps_have_the_bits_that_cutes_dsl_encodes(fields: tuple) -> None:
    element, swizzle, dimensions, strides, box = fields
    rank = len(box)
    made = TensorMap(element, rank, swizzle, 0, 0x123456789000, dimensions, strides, box, (1,) * rank)
    want = np.zeros(16, np.uint32)
    want[:2] = 0x56789000, 0x1234
    want[list(ENCODED[fields])] = list(ENCODED[fields].values())
    assert np.array_equal(np.frombuffer(made.packed(), np.uint32)[:16], want)


def test_coordinates_of_a_map_of_4_bit_elements_count_elements_and_start_at_whole_bytes() -> None:
    x, made, out = np.arange(16 * 64, dtype=np.uint8).reshape(16, 64), np.zeros(128, np.uint8), np.zeros(32, np.uint32)
    text = KERNEL.format(replace="").replace("%r5, %r5", "%r5, 0")
    given = mmacalc.tensor_map(x, (16, 32), element="b4x16")
    whole, odd = (mmacalc.load(text.replace("%r5, 0;", f"%r5, {first};"))["k"] for first in (32, 33))
    assert mmacalc.launch(whole, 1, 32, given, made, out).findings == ()
    assert np.array_equal(out.view(np.uint8).reshape(4, 32), x[:4, 16:48])
    with pytest.raises(mmacalc.Error, match=r"line 17: .*counts elements of .b4x16, and is a multiple of 2; got 33"):
        mmacalc.launch(odd, 1, 32, given, made, out)


def test_a_tensor_map_with_bits_of_unknown_meaning_is_refused() -> None:
    known = sum(1 << bit for bit in (0, 1, *range(4, 11), *range(13, 22)))
    for bit in range(4, 32):
        assert unknown(new(False) | 1 << 64 + bit) == (1 << bit & ~known)


def test_a_fence_that_acquires_a_map_at_address_0_has_no_effect_and_other_addresses_are_checked() -> None:
    made, text = np.zeros(128, np.uint8), KERNEL.format(replace="")
    x, out = np.arange(16 * 32, dtype=np.float32).reshape(16, 32), np.zeros(32, np.float32)
    given = mmacalc.tensor_map(x, (8, 16))
    fence = "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;"
    for address, notes in ((0, ["line 14: acquires a tensor map at address 0: that has no effect"]), (128, None)):
        other = f"mov.b64 %d7, {address}; {fence.replace('%d1', '%d7')} "
        kernel = mmacalc.load(text.replace(fence, other + fence))["k"]
        if notes is None:
            with pytest.raises(mmacalc.Error, match=r"line 14: fence.proxy.tensormap.* at 0x80, in no memory"):
                mmacalc.launch(kernel, 1, 32, given, made, out)
            continue
        report = mmacalc.launch(kernel, 1, 32, given, made, out)
        assert report.findings == ()
        assert [note for note in report.notes if "nothing reads" not in note] == notes


COPY = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {
 .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
 .shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;
 mov.u32 %r0, %tid.x; mov.b64 %d0, map; ld.param.u64 %d1, [out]; setp.ne.u32 %p0, %r0, 0; @%p0 bra A;
 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128; mov.u32 %r1, tile; mov.b32 %r2, 0;
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d0, {%r2, %r2}], [bar];
A: bar.sync 0;
B: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra B;
 mov.u32 %r3, tile; mad.lo.u32 %r3, %r0, 4, %r3; ld.shared.b32 %r4, [%r3]; mul.wide.u32 %d2, %r0, 4;
 add.u64 %d3, %d1, %d2; st.global.b32 [%d3], %r4; ret; }
"""


def test_a_tensor_map_may_repeat_an_axis_by_a_stride_of_0(tmp_path: Path) -> None:
    """triton_kernels makes such maps; strides below 0 and no multiples of 16 are refused."""
    row = np.arange(8, dtype=np.int32)
    shown, out = np.ndarray((4, 8), np.int32, row, 0, (0, 4)), np.zeros((4, 8), np.int32)
    (tmp_path / "k.ptx").write_text(COPY)
    kernel = mmacalc.load(tmp_path / "k.ptx")["k"]
    assert mmacalc.launch(kernel, 1, 32, mmacalc.tensor_map(shown, (4, 8)), out).findings == ()
    assert (out == row).all()
    for strides in ((-32, 4), (24, 4)):
        with pytest.raises(mmacalc.Error, match="strides of the outer axes are multiples of 16 bytes, from 0 up"):
            mmacalc.tensor_map(np.ndarray((2, 8), np.int32, np.zeros(99, np.int32), 200, strides), (2, 8))


LOAD = """.version 8.8
.target {target}
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {{
 .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<3>;
 .shared .align 1024 .b8 tile[2048]; .shared .align 8 .b64 bar;
 mov.b64 %d0, map; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1;
 mov.b32 %r3, -1; st.shared.b32 [%r2], %r3; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p0, %r0, 0;
 @%p0 bra A; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size}; add.u32 %r4, %r1, {start}; mov.b32 %r5, 0; mov.b32 %r6, {row};
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%d0, {{%r5, %r6}}], [bar];
B: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra B;
A: bar.sync 0; ld.shared.b32 %r7, [%r2]; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2; st.global.b32 [%d1], %r7;
 ret; }}
"""


def loaded(array: np.ndarray, box: tuple[int, int], size: int, *, start: int = 0, row: int = 0,
           target: str = "sm_100a", **options: object) -> np.ndarray:  # fmt: skip
    """The words of shared memory after a tensor copy, -1 where it has written none."""
    kernel = mmacalc.load(LOAD.format(target=target, size=size, start=start, row=row))["k"]
    out = np.zeros(512, np.uint32)
    report = mmacalc.launch(kernel, 1, 512, mmacalc.tensor_map(array, box, **options), out)
    assert report.findings == ()
    return out


# Measured on an RTX 5080 (github.com/roundandr/Allegro, verification/cocotb/golden): the box of an array whose word i
# is i + 1, in rows of 32, and of some bytes of shared memory the words that were there.
MEASURED = {
    ("128B", (5, 8), (2, 1), 96, 0): {0: 1, 28: 8, 128: 69, 144: 65, 288: 129, 316: 136, 32: -1, 384: -1},
    ("32B", (8, 8), (), 256, 128): {128: 5, 144: 1, 160: 37, 256: 129, 380: 232},
    ("64B", (8, 16), (), 512, 128): {128: 5, 176: 9, 256: 73, 384: 141, 512: 193, 636: 240},
    ("128B base32B", (8, 32), (), 1024, 128): {128: 9, 160: 1, 256: 49, 384: 89, 640: 137, 1024: 225},
    ("128B base32B flip8B", (8, 32), (), 1024, 0): {0: 1, 128: 43, 136: 41, 160: 35, 256: 81, 384: 123, 896: 251},
    ("128B base32B flip8B", (8, 32), (), 1024, 128): {128: 11, 136: 9, 160: 3, 256: 49, 384: 91, 640: 139, 1024: 225},
}  # fmt: skip


@pytest.mark.parametrize("copy", MEASURED, ids=str)
def test_a_tile_lies_in_shared_memory_where_a_gpu_was_measured_to_put_it(copy: tuple) -> None:
    swizzle, box, steps, size, start = copy
    words = np.arange(1, 257, dtype=np.uint32).reshape(8, 32)
    found = loaded(words, box, size, start=start, swizzle=swizzle, steps=steps).view(np.int32)
    assert {byte: int(found[byte // 4]) for byte in MEASURED[copy]} == MEASURED[copy]
    assert np.count_nonzero(found != -1) * 4 == size


def test_rows_of_96_bytes_follow_each_other_and_are_exchanged_in_every_second_line() -> None:
    bytes_ = np.arange(384, dtype=np.uint16).astype(np.uint8).reshape(4, 96)
    found = loaded(bytes_, (4, 96), 384, swizzle="96B", target="sm_103a").view(np.uint8)
    place = np.arange(384)
    assert (found[place ^ place >> 3 & 16] == bytes_.reshape(-1)).all()
    with pytest.raises(mmacalc.Error, match="the swizzle 96B is not of this target"):
        loaded(bytes_, (4, 96), 384, swizzle="96B")


def test_loads_round_to_tf32_and_fill_with_nan_as_a_gpu_was_measured_to() -> None:
    given = [0x3F801001, 0x3F803000, 0x3F805000, 0x80000001, 1, 0x7FFFFF, 0x7F800001, 0x7FC00001, 0xFF800001,
             0x7F800000, 0xFF800000, 0xBF801000, 0x3FFFFFFF, 0x2000, 0x80000000, 0]  # fmt: skip
    want = [0x3F802000, 0x3F804000, 0x3F804000, 0x80000000, 0, 0x800000, *[0x7FFFE000] * 3, 0x7F800000, 0xFF800000,
            0xBF800000, 0x40000000, 0x2000, 0x80000000, 0]  # fmt: skip
    values = np.array(given, np.uint32).view(np.float32).reshape(1, 16)
    for element, words in (("tf32", want), ("tf32.ftz", want), ("f32", given), ("f32.ftz", given)):
        assert loaded(values, (2, 16), 128, element=element)[:32].tolist() == [*words, *[0] * 16]
        found = loaded(values, (2, 16), 128, element=element, fill="nan")
        assert found[:32].tolist() == [*words, *[0x7FF77FF7] * 16]
    halves = loaded(np.ones((2, 8), np.float16), (1, 8), 16, row=2, fill="nan").view(np.uint16)
    assert halves[:8].tolist() == [0x7FF7] * 8
    with pytest.raises(mmacalc.Error, match="fill is 'zeros', or 'nan' of f16"):
        mmacalc.tensor_map(np.ones((2, 8), np.uint16), (1, 8), fill="nan")
