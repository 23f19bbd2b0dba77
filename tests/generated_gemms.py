"""Generated GEMMs of AMD: compiled, launched on the emulator with random small integers, and compared with NumPy."""

import numpy as np

import mmacalc
from generated_kernels import compiled
from mmacalc.arithmetic.codecs import decode, encode
from mmacalc.codegen import gemm, gemm_lds
from mmacalc.codegen.tensor_copies import box, multiple, swizzle_name

EMPTY = 0x5A
OPTIONS = {"gfx1250": ["-O2", "-mllvm", "-amdgpu-enable-vopd=0"]}
"""Of the compiler, as the source says."""


class Gemm:
    """The kernels of a source, compiled."""

    def __init__(self, target, name, orders, folder, wave=None, **options):
        self.inst, self.orders, self.target = mmacalc.instruction(target, name), orders, target
        self.plan = gemm.plan(self.inst, wave, *orders, **options)
        self.source = mmacalc.generate(
            self.inst, gemm="512x512x512", order_a=orders[0], order_b=orders[1], wave=wave, **options
        )
        self.path = compiled(self.source, target, folder / "gemm.hsaco", self.plan.wave, OPTIONS.get(target, ()))
        self.kernels = mmacalc.load(self.path)

    def launch(self, sizes, padding=(0, 0, 0), seed=0, nan=None):
        """A product of random small integers: (report, how many elements of D are wrong, whether it was aligned).

        Args:
            padding: elements behind each row of A, B and D in memory, which D's must keep. nan: a row of A and column
                of B whose scales are NaN, and so must their products be, but no others.
        """
        m, n, k = sizes
        rng = np.random.default_rng(seed)
        a, b = (rng.integers(-2, 3, shape).astype(float) for shape in ((m, k), (k, n)))
        forms = [self.plan.operand(side).format for side in "AB"]
        given, leads = [], []
        for matrix, order, form, more in zip((a, b), self.orders, forms, padding):
            rows = encode(matrix if order == "row" else matrix.T, form, "amd")
            leads.append(rows.shape[1] + more)
            given.append(laid_out(rows, form.bits, leads[-1]))
        form = self.inst.format("D")
        d = np.full((m, n + padding[2]), int.from_bytes(bytes([EMPTY] * (form.bits // 8)), "little"), unsigned(form))
        leads.append(d.shape[1])
        aligned = self.plan.aligned(m, n, k, *leads)
        kernel = self.kernels[self.plan.name + "_any" * (not aligned)]
        if self.inst.scaled:
            scales = [rng.integers(126, 129, (size, k // 32)).astype(np.uint8) for size in (m, n)]
            for scale in scales if nan is not None else []:
                scale[nan] = 255
            a, b = (
                matrix * np.repeat(2.0 ** (scale.astype(float) - 127), 32, 1) for matrix, scale in zip((a, b.T), scales)
            )
            b = b.T
        more = scales if self.inst.scaled else []
        report = mmacalc.launch(kernel, self.plan.blocks(m, n), self.plan.threads, *given, d, *more, m, n, k, *leads)
        # RDNA3 rounds sums of products that others give exactly; see its arithmetic model.
        found = decode(d[:, :n], form)
        wrong = ~(abs(found - a @ b) < 0.5)
        if nan is not None:
            wrong[nan], wrong[:, nan] = ~np.isnan(found[nan]), ~np.isnan(found[:, nan])
        kept = d[:, n:].view(np.uint8) == EMPTY
        return report, int(wrong.sum() + (~kept).sum()), aligned


def unsigned(form):
    return f"u{form.bits // 8}"


def laid_out(rows, bits, lead):
    """Encodings in memory, `lead` elements from row to row, what is behind a row as if it were a NaN or -1; those below
    a byte one behind the other."""
    found = np.full((len(rows), lead), (1 << bits) - 1, f"u{max(8, bits) // 8}")
    found[:, : rows.shape[1]] = rows
    if bits >= 8:
        return found
    assert rows.shape[1] * bits % 8 == lead * bits % 8 == 0
    return packed_bits(found, bits)


def packed_bits(codes, bits):
    """Encodings one behind the other, from the lowest bit of the first byte on."""
    every = codes[..., None] >> np.arange(bits).astype(np.uint8) & 1
    return np.packbits(every.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


def packed_rows(codes, side):
    """Encodings as memory has them for a tensor map: those below a byte one behind the other, and zeros behind them to
    rows as long as it wants."""
    columns = -(-codes.shape[-1] // multiple(side)) * multiple(side)
    rows = np.zeros((*codes.shape[:-1], columns), codes.dtype)
    rows[..., : codes.shape[-1]] = codes
    bits = side.packed or side.bits
    return packed_bits(rows, bits) if bits < 8 else rows


def mapped(memory, side, several=False):
    """The tensor map of A or B; `several`: of one of several matrices, which lie one behind the other."""
    element = {4: "b4x16_p64", 6: "b6x16_p32"}.get(side.packed)
    return mmacalc.tensor_map(memory, (*[1] * several, *box(side)), swizzle=swizzle_name(side), element=element)


def conflicts(report):
    return sum(site.conflicts for site in (report.lds if hasattr(report, "lds") else report.shared_accesses))


def spills(path):
    return [kernel.metadata[".private_segment_fixed_size"] for kernel in mmacalc.load(path).values()]


def lost(operand, side, kpack, turn):
    """The LDS cycles that the accesses of a tile lose, as `memory` counts them."""
    reads = [(piece.table, piece.width) for piece in gemm_lds.pieces(operand, side, kpack)]
    written = gemm_lds.writes(operand, side, turn) if turn else []
    return sum(
        gemm_lds.cycles_lost(operand, side.tile, each, way) for each, way in ((reads, "read"), (written, "write"))
    )
