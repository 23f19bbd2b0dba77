"""Kernels launched with one buffer of all their arguments; the names of arguments that only -g knows."""

import ctypes
import json

import numpy as np
import pytest

import mmacalc
from compiling import clang
from hip_kernels import assembled, hip_kernels, hip_listing
from mmacalc import cli

SOURCE = """
struct pair { float a; int n; };
extern "C" __attribute__((global)) void axpy(float *y, const float *x, pair by, float c) {
    int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < by.n) y[i] += by.a * x[i] + c;
}
"""
FIELDS = np.dtype([("y", "u8"), ("x", "u8"), ("a", "f4"), ("n", "i4"), ("c", "f4")])


class Arguments(ctypes.Structure):
    _fields_ = (("y", ctypes.c_uint64), ("x", ctypes.c_uint64), ("a", ctypes.c_float), ("n", ctypes.c_int),
                ("c", ctypes.c_float))  # fmt: skip


PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 p, .param .u32 value) {
    .reg .b64 %a;
    .reg .b32 %v;
    ld.param.u64 %a, [p];
    ld.param.u32 %v, [value];
    st.global.u32 [%a], %v;
    ret;
}
"""


@pytest.fixture
def arrays():
    return np.ones(100, np.float32), np.arange(100, dtype=np.float32)


def given(y, x):
    return mmacalc.address_of(y), mmacalc.address_of(x), 2.0, 99, 0.5


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1250"])
@pytest.mark.parametrize("form", ["bytes", "structured array", "ctypes structure"])
def test_a_buffer_gives_what_arguments_one_by_one_give(target, form, arrays):
    kernel, (y, x) = hip_kernels(SOURCE, target)["axpy"], arrays
    wanted = y.copy()
    mmacalc.launch(kernel, 2, 64, wanted, x, np.array((2.0, 99), "f4, i4"), 0.5)
    structured = np.array(given(y, x), FIELDS)
    made = {"bytes": structured.tobytes(), "structured array": structured, "ctypes structure": Arguments(*given(y, x))}
    report = mmacalc.launch(kernel, 2, 64, arguments=made[form])
    assert not report.findings
    assert np.array_equal(y, wanted)
    assert y[3] == 7.5


def test_a_buffer_of_another_size_or_type_is_refused_by_name(arrays):
    kernel, (y, x) = hip_kernels(SOURCE, "gfx942")["axpy"], arrays
    right = np.array(given(y, x), FIELDS).tobytes()
    for wrong, words in (
        (right[:-1], "have 28 to 32 bytes; the buffer has 27"),
        (right + bytes(8), "have 28 to 32 bytes; the buffer has 36"),
        ("text", "arguments is the kernel's arguments as they lie in memory"),
        (7, "got 7"),
    ):
        with pytest.raises(mmacalc.Error, match=words):
            mmacalc.launch(kernel, 2, 64, arguments=wrong)
    with pytest.raises(mmacalc.Error, match="all arguments of the kernel; got 1 argument beside it"):
        mmacalc.launch(kernel, 2, 64, y, arguments=right)
    with pytest.raises(mmacalc.Error, match=r"kernel's arguments have 12 to 16 bytes; the buffer has 8"):
        mmacalc.launch(mmacalc.load(PTX)["fill"], 1, 1, arguments=bytes(8))


def test_a_kernel_without_metadata_about_arguments_takes_a_buffer_alone(arrays):
    listing = hip_listing(SOURCE, "gfx942")
    start, end = listing.index("    .args:"), listing.index("    .group_segment_fixed_size")
    kernel, (y, x) = assembled(listing[:start] + listing[end:], "gfx942")["axpy"], arrays
    assert not kernel.arguments
    with pytest.raises(mmacalc.Error, match="has 28 bytes of arguments, and its metadata does not say which"):
        mmacalc.launch(kernel, 2, 64)
    mmacalc.launch(kernel, 2, 64, arguments=np.array(given(y, x), FIELDS))
    assert y[3] == 7.5


def test_an_array_of_structures_is_not_taken_for_a_pointer_where_the_argument_is_a_value(arrays):
    kernel, (y, x) = hip_kernels(SOURCE, "gfx942")["axpy"], arrays
    with pytest.raises(
        mmacalc.Error, match="argument 3 of the kernel is a value of 8 bytes; got an array of structures"
    ):
        mmacalc.launch(kernel, 2, 64, y, x, np.array([(2.0, 99)], "f4, i4"), 0.5)


def test_a_ptx_kernel_takes_a_buffer_too():
    out = np.zeros(1, np.uint32)
    made = np.array((mmacalc.address_of(out), 5, 0), "u8, u4, u4")
    mmacalc.launch(mmacalc.load(PTX)["fill"], 1, 1, arguments=made)
    assert out[0] == 5
    found = mmacalc.debug(mmacalc.load(PTX)["fill"], 1, 1, arguments=made, watch="p[0]")
    assert [change.after for change in found.changes] == ["5"]


def test_elements_behind_a_buffer_are_watched_by_the_names_of_the_debug_information(arrays):
    kernel, (y, x) = hip_kernels(SOURCE, "gfx942", "-g")["axpy"], arrays
    assert [one.name for one in kernel.arguments] == [""] * 4
    assert [one.name for one in kernel.given_arguments] == ["y", "x", "by", "c"]
    for watch in ("y[3]", "argument 1[3]"):
        found = mmacalc.debug(kernel, 2, 64, arguments=np.array(given(y, x), FIELDS), watch=watch)
        assert [change.lanes for change in found.changes] == [(3,)]
        y[:] = 1
    with pytest.raises(mmacalc.Error, match=r"byte 16 of the arguments has no address of an array"):
        mmacalc.debug(kernel, 2, 64, arguments=np.array(given(y, x), FIELDS), watch="by[0]")
    unnamed = hip_kernels(SOURCE, "gfx942", "-gline-tables-only")["axpy"]
    assert [one.name for one in unnamed.given_arguments] == [""] * 4


def test_the_command_line_puts_addresses_of_arrays_into_a_buffer(tmp_path, monkeypatch, arrays, capsys):
    _, x = arrays
    monkeypatch.chdir(tmp_path)
    content = np.array((0, 0, 2.0, 99, 0.5), FIELDS).tobytes()
    (tmp_path / "arguments.bin").write_bytes(content)
    np.save("x.npy", x)
    made = clang("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", text=hip_listing(SOURCE, "gfx942"), name="kernels.s")
    wanted = np.zeros(100, np.float32)
    mmacalc.launch(mmacalc.load(made)["axpy"], 2, 64, arguments=np.array(given(wanted, x), FIELDS))
    for buffer in ("buffer:arguments.bin", f"buffer:0x{content.hex()}"):
        words = ["--grid", "2", "--args", buffer, "8=x.npy", "0=out:y.npy:f4:100"]
        assert cli.main(["run-kernel", str(made), *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["written"] == ["y.npy"]
        assert np.array_equal(np.load("y.npy"), wanted)
    for words, said in (
        (["buffer:0x0"], "two hexadecimal digits for each byte"),
        (["buffer:arguments.bin", "25=x.npy"], "each in eight of its 28 bytes; got '25=x.npy'"),
        (["x.npy", "buffer:arguments.bin"], "comes first"),
    ):
        assert cli.main(["run-kernel", str(made), "--args", *words]) == 2
        assert said in capsys.readouterr().err
