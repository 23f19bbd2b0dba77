"""A generated GEMM with any of its options on the emulator: compiled, launched as its own launch lines say, compared.

What a launch line names (A, B_map, sums, ends, bias, ldd ...) is made as the source says, filled with small integers
and powers of two so that sums are exact, and D is compared with float64 between what a rounding may make of it.
"""

import re

import numpy as np

import mmacalc
from generated_gemms import OPTIONS, conflicts, laid_out, mapped, packed_rows, unsigned
from generated_kernels import compiled
from mmacalc.arithmetic.codecs import decode, encode, largest
from mmacalc.codegen import gemm, gemm_cuda, gemm_tcgen05, gemm_tma, gemm_wgmma
from mmacalc.codegen.epilogue import c_format, epilogue_of, output_format
from mmacalc.codegen.tensor_copies import multiple
from mmacalc.emulator.execution import sparsity
from mmacalc.formats import FORMATS
from mmacalc.model.block_scales import block_scales_of
from oracles.emulated_kernel import RECORDED, ptx_of

EMPTY = 0x5A
ACTIVATIONS = {
    "": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
ALPHA, BETA = 0.5, 0.25
SHAPE = ("m", "n", "k", "a", "b", "d", "scale")


class Product:
    """The kernels of a source, and what launches them.

    Args:
        sizes: M, N and K; ends: of groups, None for none. options: those of `generate`, with the instruction's fields.
    """

    def __init__(self, target, name, orders, sizes, folder, ends=None, recorded=RECORDED, **options):
        self.inst, self.orders, self.sizes = mmacalc.instruction(target, name), orders, sizes
        self.ends, self.options, self.target = ends, options, target
        self.given = {**options, "gemm": sizes, **({"groups": len(ends)} if ends else {})}
        self.source = mmacalc.generate(self.inst, "", *orders, **self.given)
        fields = {key: value for key, value in options.items() if key in SHAPE}
        if self.inst.in_tensor_memory:
            self.inst = self.inst.shaped(**fields)
        self.scales = block_scales_of(options["block_scales"]) if options.get("block_scales") else None
        self.epilogue = epilogue_of(options.get("epilogue"), self.inst, self.scales is not None)
        self.hip = target.startswith("gfx")
        self.path = self._compiled(folder, recorded)
        self.kernels = mmacalc.load(self.path)
        self.plan = self._planned()
        if self.inst.in_tensor_memory:
            self.inst = self.plan.instruction
        self.form = output_format(self.inst, self.epilogue)

    def _compiled(self, folder, recorded):
        if self.hip:
            return compiled(
                self.source, self.target, folder / "k.hsaco", self.options.get("wave"), OPTIONS.get(self.target, ())
            )
        return ptx_of(self.source, self.target, folder, recorded)

    def _planned(self):
        """The plan that the sizes in memory follow from."""
        inst, orders, stages = self.inst, self.orders, self.options.get("stages")
        if self.hip:
            known = ("cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt", "matrix_a_scale_fmt", "matrix_b_scale_fmt", "neg",
                     "tile", "stages")  # fmt: skip
            fields = {name: self.options[name] for name in known if name in self.options}
            return gemm.plan(inst, self.options.get("wave"), *orders, scales=self.scales, **fields)
        if inst.in_tensor_memory:
            return gemm_tcgen05.plan(inst, *orders, stages, self.scales)
        if "wgmma" in inst.features:
            by_tma = gemm_tma.plan(inst, *orders, stages, self.scales)
            return by_tma or gemm_wgmma.plan(inst, *orders, stages, self.scales)
        return gemm_cuda.plan(inst, *orders, stages, bool(self.options.get("weights")), self.scales)

    def lines(self):
        """The launches that the source names: (kernel, grid, threads, shared bytes, arguments)."""
        text = re.sub(r"\n// +", " ", self.source)
        hip = r"hipLaunchKernelGGL\((\w+), (dim3\([^)]*\)), dim3\((\d+)\), 0, stream,([^)]*)\)"
        cuda = r"(\w+)<<<(dim3\([^)]*\)|\d+), (\d+)(?:, (\d+))?(?:, stream)?>>>\(([^)]*)\)"
        for found in re.finditer(hip if self.hip else cuda, text):
            name, grid, threads, *shared, given = found.groups()
            grid = tuple(int(each) for each in re.findall(r"\d+", grid.removeprefix("dim3")))
            yield name, grid, int(threads), int(*shared or "0") if shared and shared[0] else 0, given

    def parameters(self, name):
        """The names of a kernel's parameters."""
        found = re.search(rf"__global__ [^;{{}}]*?\b{name}\(([^{{]*?)\) \{{", self.source)
        return [re.split(r"[ *]", each.strip())[-1] for each in found[1].split(",")]

    def run(self, seed=0, real=False):
        """The matrices and D, and the reports of all launches.

        Args:
            real: whether A, B and scales along K are real numbers instead of those whose sums are exact.
        """
        case = Case(self, np.random.default_rng(seed), real)
        for name, grid, threads, shared, given in self.lines():
            values, tokens = [], [each.strip() for each in given.split(",")]
            names = self.parameters(name)
            assert len(names) == len(tokens), (names, tokens)
            for parameter, token in zip(names, tokens):
                values.append(case.value(parameter, token))
            more = {"shared": shared} if shared else {}
            case.reports.append(mmacalc.launch(self.kernels[name], grid, threads, *values, **more))
        return case


class Case:
    """Random matrices and vectors of a product, and what D must be."""

    def __init__(self, product, rng, real):
        self.product, self.rng, self.real, self.reports = product, rng, real, []
        inst, (m, n, k) = product.inst, product.sizes
        self.count = product.options.get("batch") or (len(product.ends) if product.ends else 1)
        batches = product.options.get("batch") or 1
        self.a = self._matrix("A", (batches, m, k))
        self.b = self._matrix("B", (self.count, k, n))
        self.held, self.leads = {}, {}
        wide = (self.a, self.b)
        if inst.sparse:
            wide = (self._sparse(), self.b)
        if product.options.get("weights"):
            wide = (self.a, self._weights())
        self._lay_out(wide)
        if inst.scaled:
            self._scaled()
        self._vectors(m, n)

    def _matrix(self, side, shape):
        form = self._form(side)
        if form.kind in ("signed", "unsigned") or not form.is_float:  # all of them, the most negative first
            least, most = (
                (0, 1 << form.bits) if form.name.startswith("u") else (-1 << form.bits - 1, 1 << form.bits - 1)
            )
            if not self.product.epilogue.words:
                return self.rng.integers(least, most, shape).astype(float)
        least = 0 if form.name.startswith("u") else -2
        if self.real and form.is_float:
            vendor = self.product.inst.architecture.family.vendor
            return decode(encode(self.rng.standard_normal(shape), form, vendor), form).astype(float)
        return self.rng.integers(least, 3, shape).astype(float)

    def _form(self, side):
        product = self.product
        found = product.plan.operand(side).format if product.hip else product.inst.format(side)
        if found.kind != "either":
            return found
        signed = product.options.get("neg", 3) >> "AB".index(side) & 1
        return FORMATS[f"{'ui'[signed]}{found.bits}"]

    def _sparse(self):
        from test_generate_formats import thinned

        inst = self.product.inst
        self.a = np.stack([thinned(self.rng, each, sparsity(inst)) for each in self.a])
        ends, wave = self.product.ends, self.product.options.get("wave")
        parts = np.split(self.a[0], ends[:-1]) if ends else self.a
        packed = [mmacalc.pack_sparse(inst, each, wave) for each in parts]
        kept, words = zip(*packed)
        self.metadata = np.concatenate(words) if ends else np.stack(words)
        return np.concatenate(kept)[None] if ends else np.stack(kept)

    def _weights(self):
        _, n, k = self.product.sizes
        codes = self.rng.integers(-8, 8, (k, n))
        scales = 2.0 ** self.rng.integers(-2, 3, (-(-k // 128), n))
        self.b = (codes * np.repeat(scales, 128, 0)[:k])[None]
        self.packed = mmacalc.pack_int4(codes)
        self.weight_scales = encode(scales, self.product.inst.format("A"))
        return

    def _lay_out(self, matrices):
        """A and B in memory, batches one behind the other; rows as long as a tensor map wants them."""
        product, vendor = self.product, self.product.inst.architecture.family.vendor
        plan = product.plan
        for matrix, order, side in zip(matrices, product.orders, "AB"):
            if matrix is None:
                self.held[side], self.leads[side] = self.packed, 2 * self.packed.shape[1]
                continue
            form, sided = self._form(side), plan.a if side == "A" else plan.b
            codes = [encode(each if order == "row" else each.T, form, vendor) for each in matrix]
            columns = codes[0].shape[1]
            if product.inst.in_tensor_memory:
                self.held[side] = np.stack([packed_rows(each, sided) for each in codes])
                self.leads[side] = -(-columns // multiple(sided)) * multiple(sided)
                continue
            rows = [laid_out(each, form.bits, columns) for each in codes]
            self.held[side], self.leads[side] = np.stack(rows), columns

    def _scaled(self):
        inst, (m, n, k) = self.product.inst, self.product.sizes
        size = inst.block_size
        shapes = [(len(each), rows, -(-k // size)) for each, rows in ((self.a, m), (self.b, n))]
        values = [2.0 ** self.rng.integers(-1, 2, shape) for shape in shapes]
        vendor = inst.architecture.family.vendor
        plan = self.product.plan
        forms = [plan.scale(side).format if self.product.hip else inst.format(f"S{side}") for side in "AB"]
        self.mx = [encode(each, form, vendor).astype(np.uint8) for each, form in zip(values, forms)]
        a, b = (np.repeat(each, size, 2)[..., :k] for each in values)
        self.a, self.b = self.a * a, self.b * b.swapaxes(1, 2)

    def _vectors(self, m, n):
        product, rng, count = self.product, self.rng, self.count
        epilogue, scales, (_, _, k) = product.epilogue, product.scales, product.sizes
        batches = product.options.get("batch")
        of_columns = (count, n) if product.ends else (n,)
        self.row, self.column = 2.0 ** rng.integers(-2, 3, m), 2.0 ** rng.integers(-2, 3, of_columns)
        self.bias = rng.integers(-9, 10, m if epilogue.bias == "row" else of_columns).astype(float)
        self.c = rng.integers(-64, 65, (batches or 1, m, n)).astype(float)
        if scales:
            depth = -(-k // scales.depth)
            shapes = (batches or 1, -(-m // scales.rows), depth), (count, -(-n // scales.columns), depth)
            self.along = [
                (rng.uniform(0.5, 2, shape) if self.real else 2.0 ** rng.integers(-1, 2, shape)).astype(np.float32)
                for shape in shapes
            ]
        form = c_format(product.inst, epilogue)
        vendor = product.inst.architecture.family.vendor
        self.c_held = encode(self.c, form, vendor)
        self.d = np.full((batches or 1, m, n), int.from_bytes(bytes([EMPTY] * (product.form.bits // 8)), "little"),
                         unsigned(product.form))  # fmt: skip
        if form == product.form and epilogue.beta:  # in place
            self.d[:] = self.c_held
            self.c_held = self.d
        self.sums = None

    def value(self, parameter, token):
        """The argument of a parameter, for which the launch line has a word or a number."""
        product, (m, n, k) = self.product, self.product.sizes
        vectors = {"row_scale": self.row, "column_scale": self.column, "bias": self.bias}
        if product.scales:
            vectors |= dict(zip(("A_scales", "B_scales"), self.along))
        numbers = {"M": m, "N": n, "K": k, "lda": self.leads["A"], "ldb": self.leads["B"], "ldd": n, "ldc": n}
        numbers |= {"groups": self.count, "d_batch": m * n, "c_batch": m * n}
        if "A" in self.held and self.held["A"].ndim == 3:
            numbers |= {f"{side.lower()}_batch": self.each(side) for side in "AB" if self.held[side].ndim == 3}
            numbers["b_group"] = numbers.get("b_batch", 0)
        if parameter in numbers:
            # A name in the launch line (ldc) is the user's own; a number is that of these sizes.
            assert token == str(numbers[parameter]) or not token.isdigit(), (parameter, token, numbers[parameter])
            wide = parameter.endswith(("_batch", "_group"))
            return np.int64(numbers[parameter]) if wide else numbers[parameter]
        if token in ("A_map", "B_map"):
            return self.mapped(token[0])
        if token in ("A_scale_map", "B_scale_map"):
            side = token[0]
            packed = self.packed_scales(side, product.plan.block_k // product.inst.block_size).view(np.uint64)
            several = product.options.get("batch") or (product.ends and side == "B")
            box = (*[1] * bool(several), *product.plan.scale_box(side))
            return mmacalc.tensor_map(packed if several else packed[0], box)
        if parameter in ("SA", "SB"):
            return self.mx["AB".index(parameter[1])]
        if product.inst.scaled and parameter in ("A_scales", "B_scales"):
            return self.packed_scales(parameter[0], 4).view(np.uint32)
        if product.options.get("weights") and parameter == "B_scales":
            return self.weight_scales
        if parameter in vectors:
            return np.ascontiguousarray(vectors[parameter], np.float32)
        others = {"A": self.held["A"], "B": self.held["B"], "C": self.c_held, "D": self.d,
                  "alpha": np.float32(ALPHA), "beta": np.float32(BETA)}  # fmt: skip
        if parameter in others:
            if parameter == "D" and token == "sums":
                return self.workspace()
            return others[parameter]
        if parameter == "ends":
            return np.array(product.ends, np.int32)
        if parameter == "metadata":
            if "map" not in token:
                return self.metadata
            several, words = bool(product.options.get("batch")), self.metadata.view(np.uint64)
            return mmacalc.tensor_map(words if several or product.ends else words[0], (*[1] * several, 1, 256))
        assert parameter in ("sums", "workspace"), parameter
        return self.workspace()

    def packed_scales(self, side, blocks):
        """Those of all products, or groups: of A's groups each begins with a tile of 128 rows of its own."""
        ends, given = self.product.ends, self.mx["AB".index(side)]
        parts = np.split(given[0], ends[:-1]) if ends and side == "A" else given
        packed = [mmacalc.pack_scales(each, blocks) for each in parts]
        return np.concatenate(packed)[None] if ends and side == "A" else np.stack(packed)

    def workspace(self):
        """The sums of all parts."""
        m, n, _ = self.product.sizes
        if self.sums is None:
            form = "f32" if self.product.epilogue.sums else self.product.inst.format("D").name
            kind = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[form]
            self.sums = np.full((len(self.d), self.product.options["split_k"], m, n), 55, kind)
        return self.sums

    def each(self, side):
        """The elements of one matrix."""
        rows = self.held[side].shape[1]
        return rows * self.leads[side]

    def mapped(self, side):
        """The tensor map of A or B: of one, of a batch, of groups."""
        product, held = self.product, self.held[side]
        sided = product.plan.a if side == "A" else product.plan.b
        several = bool(product.options.get("batch") or (product.ends and side == "B"))
        return mapped(np.ascontiguousarray(held if several else held[0]), sided, several)

    def right(self):
        """D in float64."""
        product, scales, (m, n, k) = self.product, self.product.scales, self.product.sizes
        epilogue, ends = product.epilogue, product.ends
        a, b, rows = self.a, self.b, [slice(None)] * self.count
        if ends:
            rows = [slice(first, last) for first, last in zip([0, *ends], ends)]
        found = np.zeros(self.d.shape)
        for at, part in enumerate(rows):
            batch = 0 if ends else at
            left, right = a[batch][part], b[at]
            if scales:
                by_row = np.repeat(self.along[0][batch], scales.rows, 0)[:m][part]
                by_column = np.repeat(self.along[1][at], scales.columns, 0)[:n]
                value = sum(
                    (left[:, first : first + scales.depth] @ right[first : first + scales.depth])
                    * by_row[:, block, None] * by_column[:, block]
                    for block, first in enumerate(range(0, k, scales.depth))
                )  # fmt: skip
            else:
                value = left @ right
            value = value * self.row[part, None] if epilogue.row_scale else value
            value = value * (self.column[at] if ends else self.column) if epilogue.column_scale else value
            value = value * ALPHA if epilogue.alpha else value
            value = value + BETA * self.c[batch][part] if epilogue.beta else value
            if epilogue.bias == "row":
                value = value + self.bias[part, None]
            elif epilogue.bias:
                value = value + (self.bias[at] if ends else self.bias)
            found[batch][part] = ACTIVATIONS[epilogue.activation](value)
        return found

    @property
    def findings(self):
        """What the launches found."""
        return [finding for report in self.reports for finding in report.findings]

    def conflicts(self):
        """Bank conflicts of all launches."""
        return sum(map(conflicts, self.reports))

    def wrong(self):
        """How many elements of D are not the nearest to any number within what may err before rounding."""
        product, right = self.product, self.right()
        # gelu and silu err by 2 ulp each of 2^x and 1/x; RDNA3 rounds sums of products (see its arithmetic model).
        rounds = product.target.startswith("gfx11") and product.inst.format("D").is_float
        error = 0.01 if rounds else 1e-5 * (product.epilogue.activation in ("gelu", "silu"))
        limits = []
        for sign in (-1, 1):
            near = right + sign * error * np.maximum(abs(right), 1e-3)
            near = near + sign * 0.5 * rounds
            if product.form.bits == 8:
                near = np.clip(near, -largest(product.form.name), largest(product.form.name))
            limits.append(decode(encode(near, product.form), product.form))
        found = decode(self.d, product.form)
        return int((~((limits[0] <= found) & (found <= limits[1]))).sum())
