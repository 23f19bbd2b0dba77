"""A wrong argument of the public API is an mmacalc.Error, whatever its type."""

import contextlib
import inspect
import tempfile
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from recorded import program as recorded_program
from test_following import SINGLE

WGMMA = mmacalc.instruction("H100", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
MFMA = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
SQUARE = np.ones((16, 16))
DATA = Path(__file__).parent / "data"
MATRICES = np.ones((16, 8), np.float16), np.ones((8, 8), np.float16), np.zeros((16, 8), np.float32)
CODES = np.ones((16, 16), np.uint16)
REGISTERS = np.ones((2, 64), np.uint32)
LAYOUT = MFMA.operand("A").layout
CHAIN = mmacalc.chain(MFMA, MFMA, "A")
KERNEL = mmacalc.load(".version 7.0 .target sm_80 .address_size 64 .visible .entry f() { ret; }")["f"]
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
PROGRAM = recorded_program("hip", tempfile.mkdtemp())
RIGHT = {  # for each function, arguments that it answers
    mmacalc.instruction: {"arch": "gfx942", "name": "v_mfma_f32_16x16x16_f16"},
    mmacalc.instructions: {"arch": "gfx942"},
    mmacalc.find: {"arch": "gfx942", "m": 16, "n": 16, "k": 16, "blocks": 1, "a": "f16", "b": "f16", "c": "f32",
                   "d": "f32", "sparse": False, "opcode": 77, "intrinsic": "mfma", "name": "mfma"},
    mmacalc.assemble: {"text": ".long 1", "arch": "gfx942", "wave": 64},
    mmacalc.disassemble: {"code": bytes(4), "arch": "gfx942", "wave": 64},
    mmacalc.wait_states: {"first": "s_nop 0", "second": "s_nop 0", "arch": "gfx942"},
    mmacalc.Layout: {"text": "i -> lane (i)", "axes": ("i",), "sizes": {"i": 4}},
    mmacalc.architecture: {"name": "gfx942"},
    mmacalc.lint: {"text": "s_nop 0", "arch": "gfx942"},
    mmacalc.explain: {"text": "HMMA.16816.F32 R4, R8, R12, R4", "arch": "sm_80"},
    mmacalc.estimate: {"architecture": "gfx942", "m": 64, "n": 64, "k": 64, "type": "f16", "out": "f32", "units": 3,
                       "clock_ghz": 1.5},
    mmacalc.load: {"path": str(DATA / "llvm" / "scale_gfx942.hsaco"), "arch": "gfx942"},
    mmacalc.launch: {"kernel": lambda wave: None, "grid": 1, "block": 64, "arch": "gfx942", "wave_size": 64,
                     "progress": False},
    mmacalc.profile: {"kernel": KERNEL, "grid": 1, "block": 32, "latency": 500.0, "registers": 32, "progress": False},
    mmacalc.debug: {"kernel": KERNEL, "grid": 1, "block": 32, "stop": "finding", "watch": (), "wave": 0,
                    "progress": False},
    mmacalc.follow_product: {"kernel": mmacalc.load(SINGLE)["k"], "grid": 1, "block": 32, "args": MATRICES,
                             "product": "d = a @ b.T", "progress": False},
    mmacalc.find_repairs: {"kernel": mmacalc.load(SINGLE)["k"], "grid": 1, "block": 32, "args": MATRICES,
                           "expected": {"d": MATRICES[2]}, "tolerance": 1.0, "most": 1, "progress": False},
    mmacalc.run_program: {"command": [str(PROGRAM)], "arch": "gfx942", "schedule": 1, "limit": 1000,
                          "processors": 2, "quiet": True},
    mmacalc.compare: {"first": MFMA, "second": MFMA},
    mmacalc.compare_numerics: {"architectures": ["sm_80"], "a": SQUARE, "b": SQUARE, "type": "f16", "shape": (8, 8, 64),
                               "distribution": "normal", "seed": 0, "promote": 0, "split_k": 1, "k_order": "ascending"},
    mmacalc.diagnose: {"instruction": MFMA, "a": SQUARE, "b": SQUARE, "c": 0, "d": SQUARE, "bits": False,
                       "alpha": 1, "beta": 1, "wave": 64},
    mmacalc.intrinsic: {"instruction": MFMA, "wave": 64},
    mmacalc.numerics: {"instruction": MFMA, "wave": 64, "cbsz": 0},
    mmacalc.memory: {"operand": MFMA.operand("A"), "order": "row", "ld": 64, "pad": 0, "swizzle": None, "kpack": None,
                     "fill": 16},
    mmacalc.shared_operand: {"inst": WGMMA, "matrix": "B", "order": "col", "swizzle": "128B", "leading": 16,
                             "stride": 1024},
    mmacalc.generate: {"instruction": MFMA, "language": "hip", "order_a": "row", "order_b": "col", "ld": "constants",
                       "wave": 64, "gemm": None},
    mmacalc.chain: {"x": MFMA, "y": MFMA, "use": "B", "keep_k": False, "wave": 64},
    mmacalc.feeds: {"x": MFMA, "use": "B", "wave": 64},
    mmacalc.gemm: {"a": SQUARE, "b": SQUARE, "c": 0, "arch": "gfx942", "split_k": 1, "alpha": 1, "beta": 1},
    mmacalc.gemm_bits: {"a": CODES, "b": CODES, "c": 0, "arch": "gfx942", "instruction": MFMA, "split_k": 1},
    mmacalc.instruction_descriptor: {"kind": "f16", "m": 128, "n": 64, "a": "f16", "k": 16, "negate_a": 1},
    mmacalc.shared_memory_descriptor: {"address": 0, "leading": 16, "stride": 1024, "swizzle": "128B", "unit": "wgmma",
                                       "base_offset": 0},
    CHAIN.apply: {"d": np.zeros((1, 4, 64), np.uint32), "way": None},
    LAYOUT.locate: {"coordinates": {"i": 3}, "fields": {}},
    LAYOUT.contents: {"place": (3, 0), "fields": {}},
    LAYOUT.compose: {"then": LAYOUT.inverse()},
    LAYOUT.renamed: {"lane": "thread"},
    MFMA.operand("A").draw: {"registers": False, "style": "light", "color_by": "lane", "mark": (), "fold": True},
    MFMA.execute: {"a": REGISTERS, "b": REGISTERS, "c": 0, "d": np.zeros((4, 64), np.uint32), "wave": 64},
    MFMA.multiply_bits: {"a": CODES, "b": CODES, "c": 0, "satfinite": False, "cbsz": 0},
    MFMA.operand: {"name": "A", "wave": 64, "cbsz": 0, "blgp": 0, "abid": 0, "neg": 0, "opsel": 0},
    MFMA.format: {"operand": "A", "fields": {}},
    MFMA.throughput: {"cbsz": 0},
    MFMA.cycles_for: {"cbsz": 0},
    MFMA.modifier_limits: {"wave": 64, "cbsz": 0},
    MFMA.index_sets: {"wave": 64},
    MFMA.provenance_of: {"part": "A"},
    MFMA.resolved: {"modifiers": {"cbsz": 0}},
    MFMA.check_modifiers: {"wave": 64, "modifiers": {"cbsz": 0}},
    MFMA.operand("A").locate: {"i": 3, "k": 1, "block": 0},
    MFMA.operand("A").contents: {"register": 0, "lane": 3},
    mmacalc.equivalents: {"instruction": MFMA, "arch": "sm_80"},
    mmacalc.pack_int4: {"weights": np.zeros((64, 16), int)},
    mmacalc.block_scaled_gemm: {
        "a": SQUARE, "b": SQUARE, "scale_a": np.ones((16, 1), np.float32), "scale_b": np.ones((1, 1), np.float32),
        "arch": "gfx942", "instruction": MFMA, "block_scales": "1x128,128x128",
    },
    mmacalc.pack_scales: {"scales": np.zeros((128, 4), np.uint8), "blocks": 4},
    mmacalc.pack_sparse: {"instruction": mmacalc.instruction("sm_80", SPARSE), "matrix": np.zeros((16, 32))},
    mmacalc.waits: {"text": "v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], a[0:15]", "arch": "gfx942"},
    mmacalc.transpose_loads: {"operand": mmacalc.instruction("gfx950", "v_mfma_f32_32x32x16_f16").operand("A")},
    mmacalc.address_of: {"array": np.ones((2, 4))},
    mmacalc.tensor_map: {
        "array": np.zeros((8, 64), np.float16), "box": (8, 64), "swizzle": "128B", "element": "f16", "steps": (1, 1),
        "fill": "zeros",
    },
    MFMA.multiply: {"a": SQUARE, "b": SQUARE, "c": SQUARE, "wave": 64, "clamp": False, "satfinite": False, "cbsz": 0},
}  # fmt: skip
ONLY_WORDS = {"arch", "name", "text", "first", "second", "part", "operand", "intrinsic", "type", *"abcd"}
JUNK = [None, 3, -1, 1 << 80, 10**5000, [10**5000], 1.5, "x", "9" * 5000, "\0\ud800", b"x", [64], {}, (), object(),
        np.array([1, 2]), np.ones((2, 2)), np.float32(1.5), float("nan"), 1j, MFMA, mmacalc]  # fmt: skip
CASES = [(function, name) for function, given in RIGHT.items() for name in given if name != "args"]


def called(function, given):
    """What the function answers to arguments by name, those of `*args` at their place."""
    before = list(given)[: list(given).index("args")] if "args" in given else []
    named = {name: value for name, value in given.items() if name not in {*before, "args"}}
    return function(*map(given.get, before), *given.get("args", ()), **named)


def spoken(part):
    return getattr(part, "__name__", part)


@pytest.mark.parametrize(("function", "name"), CASES, ids=spoken)
def test_an_argument_of_any_type_is_answered_or_an_error(function, name):
    called(function, RIGHT[function])
    for junk in JUNK:
        with contextlib.suppress(mmacalc.Error):
            called(function, {**RIGHT[function], name: junk})


OTHERS = (
    MFMA.multiply,
    MFMA.multiply_bits,
    MFMA.execute,
    mmacalc.compare,
    mmacalc.compare_numerics,
    mmacalc.diagnose,
    mmacalc.generate,
    mmacalc.memory,
    mmacalc.transpose_loads,
    mmacalc.gemm,
    mmacalc.gemm_bits,
    mmacalc.block_scaled_gemm,
    mmacalc.instruction_descriptor,
    CHAIN.apply,
)  # whose a, first ... are no texts
TEXTS = [(function, name) for function, name in CASES if name in ONLY_WORDS and function not in OTHERS]


@pytest.mark.parametrize(("function", "name"), TEXTS, ids=spoken)
@pytest.mark.parametrize("junk", [3, b"x", [], np.array([1, 2])], ids=repr)
def test_what_should_be_text_is_refused_by_name(function, name, junk):
    with pytest.raises(mmacalc.Error, match=f"{name} = .* should be text"):
        called(function, {**RIGHT[function], name: junk})


def test_every_public_function_with_arguments_is_among_these():
    public = {getattr(mmacalc, name) for name in mmacalc.__all__}
    functions = {each for each in public if inspect.isfunction(each) and inspect.signature(each).parameters}
    assert functions <= set(RIGHT), "add the new function to RIGHT, with arguments that it answers"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: mmacalc.find(m="x"), r"find\(\): m = 'x' should be a whole number"),
        (lambda: mmacalc.find(sparse="yes"), r"find\(\): sparse = 'yes' should be True or False"),
        (lambda: mmacalc.find(inrtinsic="mfma"), r"find\(\) has no argument 'inrtinsic'. Did you mean intrinsic\?"),
        (lambda: MFMA.throughput(blpg=4), "unknown modifier 'blpg'. Did you mean blgp"),
        (lambda: MFMA.format("X"), "has no operand 'X'; it has A, B, C, D"),
        (lambda: MFMA.multiply(SQUARE, SQUARE, wave=np.array([1, 2])), r"multiply\(\): wave = .* whole number"),
        (
            lambda: MFMA.multiply(SQUARE, SQUARE, C=SQUARE),
            r"no argument 'C'. Did you mean c\? It takes: a, b, c, index",
        ),
        (lambda: MFMA.multiply(SQUARE, SQUARE, clmp=True), r"unknown modifier 'clmp'. Did you mean clamp\?"),
        (lambda: MFMA.multiply(SQUARE, SQUARE, None), r"C of v_mfma_f32_16x16x16_f16 is None; .* 0 if left out"),
        (lambda: mmacalc.gemm(SQUARE, SQUARE, arch="pvc"), r"how Xe-HPC rounds is undocumented"),
        (lambda: MFMA.multiply(SQUARE, SQUARE, clamp=np.array([1, 2])), r"multiply\(\): clamp = .* True or False"),
    ],
)
def test_the_error_says_what_would_be_right(ask, says):
    with pytest.raises(mmacalc.Error, match=says):
        ask()


def test_numpys_scalars_are_numbers_like_pythons():
    assert MFMA.operand("A", wave=np.int32(64), cbsz=np.uint8(0)) is MFMA.operand("A", wave=64, cbsz=0)
    assert mmacalc.find(arch="gfx942", m=np.int64(32), sparse=np.bool_(True))


def test_a_message_is_one_line_that_a_terminal_can_show():
    shown = str(mmacalc.Error("no '\x1b[31m\nred\udcff" + "x" * 20000 + "' here. Did you mean café?"))
    assert shown.startswith(r"no '\x1b[31m\nred\xffxxx")
    assert shown.endswith("xxx' here. Did you mean café?")
    assert len(shown) < 200
