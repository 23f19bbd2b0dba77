"""Stops and watches: what a wave holds against traces and layouts, who wrote what against the launch itself."""

import json
import pickle

import numpy as np
import pytest

import mmacalc
from hip_kernels import hip_kernels
from mmacalc import cli
from ptx_cases import CASES, KERNELS, recorded
from test_profile import tiled

PRODUCT = """
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global)) void product(const _Float16 *a, const _Float16 *b, float *d) {
    static __attribute__((shared)) float tile[256];
    int i = __builtin_amdgcn_workitem_id_x();
    half4 x = *(const half4 *)(a + (i % 16) * 16 + i / 16 * 4), y;
    for (int k = 0; k < 4; k++) y[k] = b[(i / 16 * 4 + k) * 16 + i % 16];
    float4_ c = {0, 0, 0, 0};
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);
    for (int k = 0; k < 4; k++) tile[(i / 16 * 4 + k) * 16 + i % 16] = c[k];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    for (int k = 0; k < 4; k++) d[k * 64 + i] = tile[k * 64 + i];
}
"""


def product(**more):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 16, 16)).astype(np.float16)
    d = np.zeros((16, 16), np.float32)
    kernel = hip_kernels(PRODUCT, "gfx942", "-gline-tables-only")["product"]
    return (a, b, d), mmacalc.debug(kernel, 1, 64, a, b, d, **more)


def test_the_registers_of_a_product_hold_the_elements_that_its_matrices_have():
    (a, b, d), found = product(stop="kernels.hip:10")
    assert not d.any()  # a launch that was stopped leaves its arrays
    state = product(stop=mfma_place(found))[1].state
    assert state.text.startswith("v_mfma_f32_16x16x16_f16")
    seen = {"A": set(), "B": set()}
    for register in state.registers:
        for lane, elements in enumerate(register.elements):
            for one in elements:
                if one.operand in seen:
                    matrix = {"A": a, "B": b}[one.operand]
                    assert one.value == matrix[one.row, one.col]
                    assert state.register(register.name)[lane] >> one.lsb & 0xFFFF == matrix[one.row, one.col].view(
                        "u2"
                    )
                    seen[one.operand].add((one.row, one.col))
    assert {name: len(cells) for name, cells in seen.items()} == {"A": 256, "B": 256}
    assert repr(pickle.loads(pickle.dumps(state))) == repr(state)
    assert "A[0][0]" in state._repr_html_()
    with pytest.raises(mmacalc.Error, match="no register 'v999'"):
        state.register("v999")


def mfma_place(found):
    kernel = hip_kernels(PRODUCT, "gfx942", "-gline-tables-only")["product"]
    profile = mmacalc.profile(kernel)
    return hex(next(one.place for one in profile.instructions if one.kind == "matrix"))


def test_watches_name_who_wrote_a_register_a_byte_and_an_element():
    (a, b, d), found = product(watch=["lds:8", "argument 3[17]", "v1"])
    steps = []
    kernel = hip_kernels(PRODUCT, "gfx942", "-gline-tables-only")["product"]
    mmacalc.launch(kernel, 1, 64, a, b, d, trace=steps.append)
    changes = {
        name: [one for one in found.changes if one.watched == name] for name in ("lds:8", "argument 3[17]", "v1")
    }
    (byte,), (element,) = changes["lds:8"], changes["argument 3[17]"]
    assert byte.text.startswith("ds_write")
    assert int(byte.after, 16) == d.view(np.uint32)[0, 2]
    assert byte.lanes == (2,)
    assert element.text.startswith("global_store")
    assert (np.float32(element.after), element.lanes) == (d.flat[17], (17,))
    assert element.location.line == 15
    written = [step.address for step in steps if any(name == "v1" for name, _ in step.registers)]
    assert [int(one.place, 16) for one in changes["v1"]] == written
    assert found.state is None
    assert found.report.findings == ()


def test_a_stop_at_the_nth_time_is_at_the_nth_time_that_the_wave_comes_there():
    kernel = tiled("gfx942", 1)
    arrays = np.arange(1024, dtype=np.float32), np.zeros(64, np.float32), 4
    steps = []
    mmacalc.launch(kernel, 1, 64, *arrays, trace=steps.append)
    (store,) = {step.address for step in steps if step.text.startswith("ds_write")}
    places = [number for number, step in enumerate(steps) if step.address == store]
    assert len(places) == 4
    for times, number in enumerate(places, 1):
        state = mmacalc.debug(kernel, 1, 64, *arrays, stop=f"{store:#x}#{times}").state
        assert state.executed == number
        before = {}
        for step in steps[:number]:
            before |= dict(step.registers)
        assert all(state.register(name) == values for name, values in before.items() if name in state.file)


def test_a_stop_at_a_finding_shows_the_wave_that_made_it():
    source = PRODUCT.replace("__builtin_amdgcn_s_barrier();", "", 1).replace("k * 64 + i];", "(k * 64 + i) ^ 64];")
    kernel = hip_kernels(source, "gfx942", "-gline-tables-only")["product"]
    arrays = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float32)
    report = mmacalc.launch(kernel, 1, 64, *arrays)
    found = mmacalc.debug(kernel, 1, 64, *arrays, stop="finding")
    assert (found.state is None) == (not report.findings)


def test_mma_of_ptx_is_shown_with_the_elements_of_its_matrices():
    how, case = KERNELS["mma_gemm"], CASES["mma_gemm"]()
    kernel = mmacalc.load(recorded("mma_gemm.ptx"))[how["entry"]]
    line = next(one.place for one in mmacalc.profile(kernel).instructions if one.text.startswith("mma.sync"))
    arguments = case.arguments[: len(kernel.parameters)]
    found = mmacalc.debug(kernel, how["grid"], how["block"], *arguments, stop=str(line), shared=how["shared"])
    cells = {
        (one.row, one.col): one.value
        for register in found.state.registers
        for elements in register.elements
        for one in elements
        if one.operand == "A"
    }
    assert len(cells) == 256
    # The kernel's lanes load A as the layout has it: some tile of A, element by element.
    whole = np.array(case.arguments[0], np.float64)
    tile = np.array([[cells[i, k] for k in range(16)] for i in range(16)])
    tiles = [whole[i : i + 16, k : k + 16] for i in range(0, 64, 16) for k in range(0, 96, 16)]
    assert any(np.array_equal(tile, one) for one in tiles)


@pytest.mark.parametrize(("words", "message"), [
    ({"stop": "here"}, "stop_at takes an address"), ({"stop": "0x10#0"}, "stop_at takes"),
    ({"watch": "lds:"}, "watch takes a register"), ({"watch": "lds:999999"}, "bytes of LDS"),
    ({"watch": "e[3]"}, "no array called 'e'"), ({"watch": "argument 3[256]"}, "argument 3 has 256 elements"),
    ({"wave": 1}, "wave is from 0 to 0"), ({"watch": "v400"}, "no register v400"),
])  # fmt: skip
def test_what_is_not_there_is_refused_in_words(words, message):
    if words.get("watch") == "v400":
        _, found = product(**words)
        assert found.changes == ()  # nothing writes it
        return
    with pytest.raises(mmacalc.Error, match=message):
        product(**words)


def test_the_command_stops_and_watches(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.ptx").write_text(recorded("vector_add.ptx"))
    np.save("x.npy", np.arange(256, dtype=np.float32))
    how = ["v.ptx", "vector_add", "--block", "256", "--args", "x.npy", "x.npy", "out:y.npy:f4:256", "256"]
    assert cli.main(["run-kernel", *how, "--watch", "vector_add_param_2[3]"]) == 0
    out = capsys.readouterr().out
    assert "vector_add_param_2[3]: 0.0 -> 6.0" in out
    assert "nothing wrong was found" in out
    assert cli.main(["run-kernel", *how, "--watch", "vector_add_param_2[3]", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["after"] == "6.0"
    assert not (tmp_path / "y.npy").exists()
