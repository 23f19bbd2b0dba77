"""Kernels that make mistakes, written by hand on matrices, memory and register files, not by the diagnosis."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

import mmacalc
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.diagnosis.inputs import random
from mmacalc.emulator.execution import execution_of
from mmacalc.emulator.registers import files, gather
from mmacalc.formats import FORMATS

CDNA3 = ("gfx942", "v_mfma_f32_16x16x16_f16")
CDNA3_32 = ("gfx942", "v_mfma_f32_32x32x8_f16")
CDNA3_BF16 = ("gfx942", "v_mfma_f32_16x16x16_bf16")
CDNA3_FP8 = ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8")
CDNA3_I8 = ("gfx942", "v_mfma_i32_16x16x32_i8")
CDNA3_F64 = ("gfx942", "v_mfma_f64_16x16x4_f64")
CDNA3_BLOCKS = ("gfx942", "v_mfma_f32_4x4x4_16b_f16")
CDNA3_SPARSE = ("gfx942", "v_smfmac_f32_16x16x32_f16")
CDNA4 = ("gfx950", "v_mfma_f32_16x16x32_bf16")
CDNA4_FP8 = ("gfx950", "v_mfma_f32_16x16x32_fp8_fp8")
CDNA4_SCALED = ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4")
RDNA3 = ("gfx1100", "v_wmma_f32_16x16x16_f16")
RDNA4 = ("gfx1200", "v_wmma_f32_16x16x16_bf16")
RDNA4_I8 = ("gfx1200", "v_wmma_i32_16x16x16_iu8")
CDNA5_SCALED = ("gfx1250", "v_wmma_scale_f32_16x16x128_f8f6f4")
AMPERE = ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
AMPERE_SMALL = ("sm_80", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
AMPERE_I8 = ("sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
AMPERE_F16 = ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
AMPERE_SPARSE = ("sm_80", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
HOPPER = ("sm_90a", "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16")
BLACKWELL = ("sm_120a", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")


class Kernel:
    """One instruction with random inputs: as matrices, and as the register files that a right kernel loads."""

    def __init__(self, arch, name, seed):
        self.inst, self.seed = mmacalc.instruction(arch, name), seed
        self.execution = execution_of(self.inst, None, {}, False, False)
        self.inputs = random(self.execution, seed)
        self.a, self.b, self.c = (self.inputs[x] for x in "abc")
        self.extra = {name: value for name, value in self.inputs.items() if name not in "abc"}
        self.rng = np.random.default_rng(seed + 1000)

    def multiply(self, a=None, b=None, c=None, **more):
        a, b, c = (self.inputs[x] if value is None else value for x, value in (("a", a), ("b", b), ("c", c)))
        return self.inst.multiply(a, b, c, **{**self.extra, **more})

    @property
    def d(self):
        return self.multiply()

    def approximately(self, a=None, b=None, c=None):
        """D of a program that adds otherwise: right up to rounding."""
        a, b, c = (
            np.asarray(self.inputs[x] if v is None else v, np.float64) for x, v in (("a", a), ("b", b), ("c", c))
        )
        return (a @ b + c).astype(np.float32)

    def registers(self):
        return files(self.inst, self.a, self.b, self.c, **self.extra)[0]

    def issue(self, **changed):
        """D by the instruction on register files, some of them changed by a function."""
        held = self.registers()
        held = {name: changed[name](file) if name in changed else file for name, file in held.items()}
        more = {key: held[name] for key, name in (("index", "K"), ("scale_a", "SA"), ("scale_b", "SB")) if name in held}
        c = held.get("C", held.get("D", 0))
        return self.matrix(self.inst.execute(held["A"], held["B"], c, **more))

    def matrix(self, file, operand="D"):
        """D's registers as a matrix, as a right kernel stores them."""
        execution = self.execution
        form = execution.formats["D"]
        values = decode(gather(file, execution.places(operand)), form)
        return values if form.bits == 64 else values.astype(np.float32 if form.is_float else np.int32)

    def stored(self, change):
        """D of which the registers are changed by a function before a right store."""
        held = files(self.inst, self.a, self.b, self.c, **self.extra)[1]
        return self.matrix(change(held))


def memory(matrix, ld, shape, start=0, order="row"):
    """A matrix read from the memory of a row-major one, with a leading dimension and an offset; beyond it are zeros."""
    flat = np.concatenate([np.ravel(matrix), np.zeros(4 * matrix.size)])
    i, j = np.indices(shape)
    return flat[start + (i * ld + j if order == "row" else j * ld + i)]


def tiles(matrix, height, width, change):
    """A matrix of which each tile (height, width) is changed."""
    rows, columns = matrix.shape
    cut = matrix.reshape(rows // height, height, columns // width, width).transpose(0, 2, 1, 3)
    return change(cut).transpose(0, 2, 1, 3).reshape(rows, columns)


def each_transposed(cut):
    return np.swapaxes(cut, -1, -2)


def ldmatrix_trans_8bit(matrix):
    """8-bit elements by ldmatrix .trans, which moves pairs: tiles of 8 rows of 8 pairs."""
    rows, columns = matrix.shape
    pairs = matrix.reshape(rows // 8, 8, columns // 16, 8, 2)
    return pairs.transpose(0, 3, 2, 1, 4).reshape(rows, columns)


def as_codes_of(values, written, read):
    """Values written as codes of one format and read as another."""
    return decode(encode(np.asarray(values, np.float64), FORMATS[written]), FORMATS[read]).astype(np.float64)


def zeroed(part):
    """A change of a register file: some registers or lanes are zero."""

    def change(file):
        file = file.copy()
        file[part] = 0
        return file

    return change


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(np.asarray(x, np.float64) / math.sqrt(2)))


def silu(x):
    return (x / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


def with_values(d, part, values):
    d = d.copy()
    d[part] = values
    return d


def bf16(d):
    return d.astype(ml_dtypes.bfloat16).astype(np.float32)


def bf16_cut(d):
    return (d.view(np.uint32) & 0xFFFF0000).view(np.float32)


def swapped_halves(file):
    return (file << np.uint32(16)) | (file >> np.uint32(16))


def consecutive_rows(k):
    """D of a 32x32 MFMA stored as if register v held row 16 * (lane / 32) + v."""
    held = files(k.inst, k.a, k.b, k.c)[1].view(np.float32)
    d = np.zeros((32, 32), np.float32)
    for lane in range(64):
        d[16 * (lane // 32) : 16 * (lane // 32) + 16, lane % 32] = held[:, lane]
    return d


def other_wave(k):
    """RDNA4's D of a wave32 stored by the formulas of wave64: lanes 32 to 63 do not exist, and store nothing."""
    held = files(k.inst, k.a, k.b, k.c)[1].view(np.float32)
    d = np.zeros((16, 16), np.float32)
    for lane in range(32):
        for item in range(4):
            (where,) = k.inst.operand("D", wave=64).contents(register=item, lane=lane)
            d[where[0], where[1]] = held[item, lane]
    return d


def own_index(k):
    """A stored sparse A and its index, from the dense one."""
    from mmacalc.emulator.execution import compress

    sparsity = k.execution.sparsity
    return compress(np.asarray(k.a), np.asarray(k.a) == 0, sparsity, "")


def sparse(k, change):
    values, index = own_index(k)
    return k.inst.multiply(values, k.b, k.c, index=change(index.copy()))


def pairs_swapped(index):
    return index.reshape(*index.shape[:-1], -1, 2)[..., ::-1].reshape(index.shape)


def scales(k, **change):
    return k.multiply(**{name: function(k.extra[name].copy()) for name, function in change.items()})


def one_for_all(array):
    return np.broadcast_to(array[:1, :1], array.shape)
