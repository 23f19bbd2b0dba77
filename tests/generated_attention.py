"""Generated attention kernels: compiled, launched on the emulator, and compared with softmax in float64."""

import numpy as np

import mmacalc
from generated_gemms import OPTIONS
from generated_kernels import compiled
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.codegen.attention import Seen, attention_plan
from mmacalc.codegen.attention_cuda_plan import cuda_attention_plan
from mmacalc.codegen.tensor_copies import swizzle_name
from mmacalc.formats import FORMATS
from oracles.emulated_kernel import ATTENTION, ptx_of

EMPTY = 0x7DAD  # a NaN of f16; of bf16 a large number
GAP = 16  # bytes between rows in memory
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8, "e4m3": 2.0**-4, "e5m2": 2.0**-3}
# Half of the smallest number; of P, which e4m3 has times 2^6 (fnuz: 2^5), e5m2 times 2^7.
SMALLEST = {"f16": 2.0**-25, "bf16": 0.0, "e4m3": 2.0**-16, "e5m2": 2.0**-24}
FLUSHED = {("gfx90a", "f16"): 2.0**-14}  # operands of MFMA that are read as 0


class Attention:
    """The kernel of a head size, compiled."""

    def __init__(self, target, name, head, causal, folder, wave=None, tile=None, head_v=None, window=None, **shape):
        self.inst, self.head, self.causal, self.target = mmacalc.instruction(target, name), head, causal, target
        self.head_v, self.window = head_v or head, window
        self.inst, formats = self.inst.split_parameters(shape)
        hip = self.inst.architecture.family.language == "hip"
        self.plan = (attention_plan if hip else cuda_attention_plan)(
            self.inst, head, Seen(causal, window or 0), tile=tile, head_v=self.head_v,
            **({"wave": wave, "fields": formats} if hip else {}),
        )  # fmt: skip
        sizes = (1, 2, 64, 64, head) + ((head_v,) if head_v else ())
        self.source = mmacalc.generate(
            self.inst, attention=sizes, causal=causal, window=window, wave=wave, tile=tile, **formats
        )
        if hip:
            path = compiled(self.source, target, folder / "a.hsaco", self.plan.wave, OPTIONS.get(target, ()))
        else:
            path = ptx_of(self.source, target, folder, ATTENTION)
        self.options = {} if hip else {"shared": self.plan.shared}
        self.path, self.kernel = path, mmacalc.load(path)[self.plan.name]

    def launch(self, batches, heads, group, queries, keys, rows_first=False, seed=0, size=1, schedule=None):
        """Random normal numbers: (the report, the largest part of the bound that an element of O errs by, that of L).

        Args:
            rows_first: memory has [batch][row][head], else [batch][head][row]. size: of Q, times that of the others.
        """
        rng, (of_q, of_k) = np.random.default_rng(seed), (FORMATS[name] for name in (self.plan.form_p, self.plan.form))
        shapes = [(batches, heads, queries), *[(batches, heads // group, keys)] * 2, (batches, heads, queries)]
        widths = (self.head, self.head, self.head_v, self.head_v)
        forms = (of_q, of_k, of_k, FORMATS["bf16"] if of_k.bits == 8 else of_k)
        tensors = [Tensor(*each, rows_first) for each in zip(shapes, widths, forms)]
        q, k, v = (
            tensor.fill(rng.standard_normal((*tensor.shape, tensor.head)) * factor)
            for tensor, factor in zip(tensors, (size, 1, 1))
        )
        scale, lse = np.float32(self.head**-0.5), np.full((batches, heads, queries), 7, np.float32)
        given, strided = [tensor.memory for tensor in tensors], tensors
        if self.options.get("shared"):  # by TMA
            sides, strided = zip(tensors, (self.plan.q, self.plan.k, self.plan.v), self.plan.boxes), tensors[3:]
            given[:3] = [
                mmacalc.tensor_map(tensor.viewed()[..., : tensor.head], box, swizzle=swizzle_name(side))
                for tensor, side, box in sides
            ]
        strides = [tensor.strides[at] for at in (2, 1, 0) for tensor in strided]
        report = mmacalc.launch(
            self.kernel, (-(-queries // self.plan.block_m), heads, batches), self.plan.threads,
            *given, lse, queries, keys, heads, group, scale, *strides, schedule=schedule, **self.options,
        )  # fmt: skip
        k, v = (np.repeat(each, group, 1) for each in (k, v))
        o, o_bound, right, l_bound = self.expected(q, k, v, float(scale))
        with np.errstate(invalid="ignore"):
            off = abs(tensors[3].values() - o) / o_bound
            l_off = np.where(np.isinf(right), np.where(lse == right, 0, np.inf), abs(lse - right) / l_bound)
        assert tensors[3].gaps_are_empty()
        return report, off.max(), l_off.max()

    def expected(self, q, k, v, scale):
        """O and the logarithms of the sums in float64, and what the kernel may err by.

        P is rounded to the format of V, O to its own. All else is f32: S by D additions, whose error moves
        exp(S) by as much, relatively; exp2 with the rounding of its argument; sums over the keys. MFMA and mma cut
        instead of rounding, so 2^-23 for each; RDNA3's products of pairs err by some more.
        """
        head, keys, form = self.head, k.shape[2], self.plan.form_p.removesuffix("fnuz")
        of_o = "bf16" if FORMATS[self.plan.form_p].bits == 8 else form
        ulp = 2.0**-23 * (4 if self.target.startswith("gfx11") else 1)
        # Sums of e4m3 have 14 bits on Ada and Hopper: of 33 that are added at once each is cut 2^-13 below the largest.
        cut = 33 * 2.0**-13 if form == "e4m3" and self.target in ("sm_89", "sm_90a") else 0
        s = scale * np.einsum("bhmd,bhnd->bhmn", q, k)
        s_off = (
            scale * np.einsum("bhmd,bhnd->bhmn", abs(q), abs(k)) * ((head + 2) * ulp + -(-head // 32) * cut)
            + 4 * abs(s).max() * ulp
        )
        if self.causal:
            rows, columns = np.arange(s.shape[2])[:, None], np.arange(keys)
            own = rows + keys - s.shape[2]
            s = np.where((columns <= own) & (columns > own - (self.window or 1 << 30)), s, -np.inf)
        highest = s.max(-1, keepdims=True)
        highest = np.where(np.isinf(highest), 0, highest)
        p = np.exp(s - highest)
        total = p.sum(-1, keepdims=True)
        share = np.divide(1, total, where=total > 0, out=np.zeros_like(total))
        f32_off = (s_off.max() + 4 * ulp) + keys * 2 * ulp
        p_off = p * (ROUNDING[form] + f32_off) + SMALLEST[form]
        p_off += np.where(p < FLUSHED.get((self.target, form), 0), p, 0)
        o = (p * share) @ v
        bound = (p_off * share) @ abs(v) + abs(o) * (ROUNDING[of_o] + 2 * f32_off) + SMALLEST[of_o]
        bound = bound + -(-keys // 32) * cut * (p * share) @ abs(v)
        with np.errstate(divide="ignore"):
            return o, bound + 1e-30, np.log(total[..., 0]) + highest[..., 0], 2 * f32_off + 4 * abs(s_off).max()


class Tensor:
    """Rows of a head's elements in memory, with gaps behind them that nothing may read or write."""

    def __init__(self, shape, head, form, rows_first):
        self.shape, self.head, self.form, self.rows_first = shape, head, form, rows_first
        batches, heads, rows = shape
        outer = (rows, heads) if rows_first else (heads, rows)
        size = form.bits // 8
        self.empty = EMPTY >> 16 - form.bits
        self.memory = np.full((batches, *outer, head + GAP // size), self.empty, f"u{size}")
        steps = [step // size for step in self.memory.strides]
        self.strides = (steps[0], *(steps[2:0:-1] if rows_first else steps[1:3]))  # of batches, heads, rows

    def viewed(self):
        return self.memory.swapaxes(1, 2) if self.rows_first else self.memory

    def fill(self, values):
        """The values as the format has them."""
        codes = encode(values, self.form)
        self.viewed()[..., : self.head] = codes
        return decode(codes, self.form)

    def values(self):
        return decode(self.viewed()[..., : self.head], self.form)

    def gaps_are_empty(self):
        return bool((self.memory[..., self.head :] == self.empty).all())
