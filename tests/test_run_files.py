"""What `run` reads and writes, and what it says of it; what Python's arrays may be."""

import io
import json
import os

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer

F16 = ["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16", "--quiet"]
BF16 = ["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x16_bf16", "--quiet"]
FP8 = ["run", "-a", "gfx942", "-i", "v_mfma_f32_16x16x32_fp8_fp8", "--quiet"]
INST = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
SQUARE = np.arange(256.0).reshape(16, 16) / 64


def d_of(argv):
    """D of a command line, from its JSON; with what it says of conversions."""
    reply = answer([*argv, "--json"])
    assert reply.status == 0, reply
    found = json.loads(reply.out)
    return np.array(found["d"], float), found["conversions"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    np.save("a.npy", SQUARE.astype(np.float16))
    np.save("u16.npy", SQUARE.astype(np.float16).view(np.uint16))
    np.save("bf16.npy", SQUARE.astype(ml_dtypes.bfloat16))
    np.save("fp8a.npy", rng.standard_normal((16, 32)).astype(ml_dtypes.float8_e4m3fnuz))
    np.save("fp8b.npy", rng.standard_normal((32, 16)).astype(ml_dtypes.float8_e4m3fnuz))
    np.savez("two.npz", one=SQUARE, other=np.eye(16))
    np.savez_compressed("single.npz", SQUARE)
    text = "\n".join(",".join(map(str, row)) for row in SQUARE.tolist())
    (tmp_path / "bom.csv").write_text("\ufeff" + text + "\r\n")
    return tmp_path


# --- what goes in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["a.npy", "two.npz:one", "single.npz", "single.npz:arr_0", "bom.csv"])
def test_a_matrix_is_the_same_from_every_kind_of_file(here, file):
    expected = INST.multiply(SQUARE, np.eye(16))
    found, _ = d_of([*F16, "--a", file, "--b", "two.npz:other"])
    assert np.array_equal(found, expected)


def test_saved_arrays_of_ml_dtypes_are_taken_for_what_they_are(here):
    whole = SQUARE.astype(ml_dtypes.bfloat16).astype(np.float64)
    expected = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_bf16").multiply(whole, whole)
    found, conversions = d_of([*BF16, "--a", "bf16.npy", "--b", "bf16.npy"])
    assert np.array_equal(found, expected)
    assert [(each["given"], each["changed"]) for each in conversions] == [("|V2", 0), ("|V2", 0)]
    assert d_of([*BF16, "--a", "bf16.npy", "--b", "bf16.npy", "--bits"])[0][3, 5] == expected[3, 5].view(np.uint32)
    # The same file as values of another format.
    assert np.array_equal(d_of([*F16, "--a", "bf16.npy", "--b", "a.npy"])[0], INST.multiply(whole, SQUARE))
    inst = mmacalc.instruction("gfx942", FP8[4])
    a, b = (np.load(f"fp8{x}.npy").view(ml_dtypes.float8_e4m3fnuz) for x in "ab")
    assert np.array_equal(d_of([*FP8, "--a", "fp8a.npy", "--b", "fp8b.npy"])[0], inst.multiply(a, b))
    assert "which is any 8-bit type of ml_dtypes" in answer([*F16, "--a", "fp8a.npy", "--b", "a.npy"]).err


def test_what_conversion_changes_is_counted(here):
    values = np.zeros((16, 16))
    values[0, :7] = [0.1, 1e30, -1e30, np.inf, np.nan, 1.5, 2049]
    np.save("v.npy", values)
    reply = answer([*F16, "--a", "v.npy", "--b", "a.npy"])
    changed = "A: 4 of 256 values changed when they were rounded from float64 to f16; 2 became infinite"
    assert reply.err == f"mmacalc: {changed}\n"
    assert d_of([*F16, "--a", "v.npy", "--b", "a.npy"])[1][0]["infinite"] == 2
    assert answer([*F16, "--a", "a.npy", "--b", "a.npy"]).err == ""
    np.save("v.npy", np.full((16, 32), 1000.0))
    assert "512 of 512 values changed" in (err := answer([*FP8, "--a", "v.npy", "--b", "fp8b.npy"]).err)
    assert "512 became NaN" in err


def test_unsigned_integers_for_a_float_operand_need_a_word(here):
    argv = [*F16, "--a", "u16.npy", "--b", "u16.npy"]
    reply = answer(argv)
    assert (reply.status, reply.out) == (2, "")
    assert "u16.npy has type uint16, and A is f16: give --bits" in reply.err
    assert d_of([*argv, "--bits"])[0][1, 2] == INST.multiply(SQUARE, SQUARE)[1, 2].view(np.uint32)
    codes = SQUARE.astype(np.float16).view(np.uint16)
    assert np.array_equal(d_of([*argv, "--values"])[0], INST.multiply(codes, codes))
    assert "not allowed with" in answer([*argv, "--values", "--bits"]).err
    integer = ["run", "-a", "gfx942", "-i", "v_mfma_i32_16x16x32_i8"]
    np.save("i.npy", np.ones((16, 32), np.uint8))
    np.save("j.npy", np.ones((32, 16), np.uint8))
    assert d_of([*integer, "--a", "i.npy", "--b", "j.npy"])[0][0, 0] == 32


def npy(header, data=b""):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


BROKEN = {
    "huge.npy": (npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 1000000), }\n"), "is cut short"),
    "cut.npy": (npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (16, 16), }\n", bytes(2047)), "2047 are there"),
    "object.npy": (npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (16, 16), }\n"), "holds Python objects"),
    "code.npy": (npy(b"__import__('os').system('true')\n"), "cannot be read"),
    "deep.npy": (npy(b"(" * 9000), "cannot be read"),
    "negative.npy": (npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-16, -16), }\n", bytes(2048)), ""),
    "text.npy": (
        npy(b"{'descr': '<U1', 'fortran_order': False, 'shape': (16, 16), }\n", bytes(1024)),
        "type of numbers",
    ),
    "version.npy": (b"\x93NUMPY\x09\x00" + bytes(100), "version 9.0"),
    "empty.npy": (b"", "rows"),
    "zip.npz": (b"PK\x03\x04" + bytes(50), "damaged .npz"),
    "pickle": (b"\x80\x04\x95.", "not a number"),
    "words.csv": (b"1,2\nx,\x1b4\n", "'x' is not a number"),
    "ragged.csv": (b"1,2\n3\n", "rows have"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_in_a_line(here, name):
    data, says = BROKEN[name]
    (here / name).write_bytes(data)
    status, out, err = answer([*F16, "--a", name, "--b", "a.npy", "-o", "d.npy"])
    assert (status, out, err.count("\n"), os.path.exists("d.npy")) == (2, "", 1, False)
    assert says in err
    assert "allow_pickle" not in err


# --- what goes out ----------------------------------------------------------------------------------------------------

RANDOM = [*F16, "--random", "1"]
REFUSED = [
    ([*RANDOM, "-o", "d.npz"], "ends in .npy or .csv; got 'd.npz'"),
    ([*RANDOM, "-o", "d"], "ends in .npy or .csv"),
    ([*RANDOM, "-o", ""], "ends in .npy or .csv"),
    ([*RANDOM, "--a", ""], "--a was given an empty name"),
    ([*RANDOM, "--save-inputs", ""], "empty prefix"),
    ([*RANDOM, "-o", "d.npy", "--compare", "none.npy"], "cannot read 'none.npy'"),
    ([*RANDOM, "-o", "d.npy", "--compare", "two.npz:one", "--save-inputs", "no/such/"], "cannot be written"),
    ([*RANDOM, "-o", "xa.npy", "--save-inputs", "x"], "would both write"),
    ([*RANDOM, "-o", "d.npy", "--cbsz", "1", "-m", "cbsz=2"], "cbsz was given twice: 1 and 2"),
    ([*F16, "--a", "a.npy", "--b", "bom.csv", "-o", "./a.npy"], "which is an input"),
    ([*F16, "--a", "a.npy", "--b", "bom.csv", "-o", "d.npy", "--save-inputs", "./"], "which is an input"),
    ([*RANDOM, "--c", "two.npz:one", "-o", "two.npz"], "ends in .npy or .csv"),
]


@pytest.mark.parametrize(
    ("argv", "says"), REFUSED, ids=lambda part: " ".join(part[6:]) if isinstance(part, list) else ""
)
def test_what_is_refused_has_written_nothing(here, argv, says):
    before = {name: (here / name).read_bytes() for name in os.listdir()}
    status, out, err = answer(argv)
    assert (status, out) == (2, "")
    assert says in err
    assert {name: (here / name).read_bytes() for name in os.listdir()} == before


def test_outputs_are_written_by_their_suffix_in_either_case(here):
    assert answer([*RANDOM, "-o", "d.NPY", "--save-inputs", "in_"]).out == "D: 16x16 float32, written to d.NPY\n"
    assert answer([*RANDOM, "-o", "d.CSV"]).status == 0
    assert np.array_equal(np.load("d.NPY"), np.loadtxt("d.CSV", delimiter=",").astype(np.float32))
    again = [*F16, "--a", "in_a.npy", "--b", "in_b.npy", "--c", "in_c.npy"]
    assert np.array_equal(d_of(again)[0], np.load("d.NPY"))
    assert answer([*again, "--compare", "d.CSV"]).status == 0


def test_quiet_leaves_out_how_the_instruction_computes(here):
    loud, quiet = answer([*F16[:-1], "--identity"]).out, answer([*F16, "--identity"]).out
    assert "Arithmetic:" in loud
    assert loud.endswith(quiet)
    assert quiet.startswith("D:\n")


@pytest.mark.parametrize("name", ["v_wmma_scale_f32_16x16x128_f8f6f4", "v_wmma_scale16_f32_16x16x128_f8f6f4"])
def test_a_scaled_result_that_differs_is_compared(here, name):
    np.save("zeros.npy", np.zeros((16, 16), np.float32))
    reply = answer(["run", "-a", "gfx1250", "-i", name, "--random", "1", "--compare", "zeros.npy"])
    assert (reply.status, reply.err) == (1, "")
    assert "256 of 256 elements differ" in reply.out


# --- arrays of other libraries ----------------------------------------------------------------------------------------


class Exporter:
    """An array of another library, by one protocol only."""

    def __init__(self, array, *protocols):
        for name in protocols:
            method = getattr(array, name)
            setattr(type(self), name, lambda _, *args, _method=method, **rest: _method(*args, **rest))


def test_arrays_of_any_library_are_taken_by_their_protocols():
    class ByArray(Exporter):
        pass

    class ByDlpack(Exporter):
        pass

    expected = INST.multiply(SQUARE, SQUARE)
    for given in (ByArray(SQUARE, "__array__"), ByDlpack(SQUARE, "__dlpack__", "__dlpack_device__")):
        assert np.array_equal(INST.multiply(given, SQUARE, given), INST.multiply(SQUARE, SQUARE, SQUARE))
    codes = SQUARE.astype(np.float16).view(np.uint16)
    given = ByDlpack(codes, "__dlpack__", "__dlpack_device__")
    assert np.array_equal(INST.multiply_bits(given, given).view(np.float32), expected)


def test_encodings_may_be_arrays_of_ml_dtypes_and_registers_signed():
    inst = mmacalc.instruction("gfx942", BF16[4])
    values = SQUARE.astype(ml_dtypes.bfloat16)
    expected = inst.multiply(values, values)
    for codes in (values, values.view(np.uint16), np.load(saved(values))):
        assert np.array_equal(inst.multiply_bits(codes, codes).view(np.float32), expected)
    with pytest.raises(mmacalc.Error, match="has type float8_e5m2; it takes bf16 encodings"):
        inst.multiply_bits(SQUARE.astype(ml_dtypes.float8_e5m2), values)
    registers = np.full((2, 64), 0x3F803F80, np.uint32)
    assert np.array_equal(inst.execute(registers.view(np.int32), registers), inst.execute(registers, registers))


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    return file


def test_a_masked_array_with_holes_is_refused():
    with pytest.raises(mmacalc.Error, match="masked array with elements left out"):
        INST.multiply(np.ma.masked_less(SQUARE, 1), SQUARE)
    assert INST.multiply(np.ma.masked_less(SQUARE, -1), SQUARE).shape == (16, 16)


@pytest.mark.parametrize(
    "value",
    [np.float16(np.inf), np.float16(-np.inf), np.float32(2**31), ml_dtypes.float8_e5m2(np.inf), np.float64(0.5)],
)
def test_a_value_that_an_integer_accumulator_lacks_is_refused_in_every_type(value):
    inst = mmacalc.instruction("gfx942", "v_mfma_i32_16x16x32_i8")
    ones = np.ones((16, 32)), np.ones((32, 16))
    with pytest.raises(mmacalc.Error, match=r"C of .*: i32 takes whole numbers from -2147483648 to 2147483647"):
        inst.multiply(*ones, np.full((16, 16), value))
    assert inst.multiply(*ones, np.full((16, 16), np.float32(-(2.0**31))))[0, 0] == -(2**31) + 32


def test_rounding_the_largest_values_warns_of_nothing():
    inst = mmacalc.instruction("gfx950", "v_mfma_f32_16x16x128_f8f6f4")
    inst.multiply(np.full((16, 128), 1.7e308), np.zeros((128, 16)), cbsz="fp6", blgp="fp6")
