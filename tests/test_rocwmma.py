"""rocWMMA fragments against its guide's table, NumPy, and the instructions that they become."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from mmacalc import rocwmma
from mmacalc.rocwmma.geometry import coordinates, multiplier, operand_places
from mmacalc.rocwmma.types import TYPES, data_type, dtype_of
from samples import sampled

ROW, COL = rocwmma.row_major, rocwmma.col_major
BY_MEMORY = {ROW: rocwmma.mem_row_major, COL: rocwmma.mem_col_major}
CONTEXTS = (rocwmma.matrix_a, rocwmma.matrix_b, rocwmma.accumulator)
ARCHITECTURES = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200")

# The guide's table, typed in again: To / Tc of each Ti; and from the facts of rocWMMA 1.6, for each architecture the
# smallest BlockK of 16x16 and 32x32 blocks.
OUTPUTS = {
    "i8": {("i32", "i32"), ("i8", "i32")}, "f16": {("f32", "f32"), ("f16", "f32"), ("f16", "f16")},
    "half": {("f32", "f32"), ("half", "f32"), ("half", "half")},
    "bf16": {("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16")}, "f32": {("f32", "f32")}, "f64": {("f64", "f64")},
    "fp8": {("f32", "f32")}, "bf8": {("f32", "f32")}, "xf32": {("f32", "f32")},
}  # fmt: skip
SMALLEST = {
    "gfx908": {"i8": (16, 8), "f16": (16, 8), "half": (16, 8), "bf16": (8, 4), "f32": (4, 2)},
    "gfx90a": {"i8": (16, 8), "f16": (16, 8), "half": (16, 8), "bf16": (16, 8), "f32": (4, 2), "f64": (4,)},
    "gfx942": {
        "i8": (32, 16), "f16": (16, 8), "half": (16, 8), "bf16": (16, 8), "f32": (4, 2), "f64": (4,), "fp8": (32, 16),
        "bf8": (32, 16), "xf32": (8, 4),
    },
    "gfx950": {
        "i8": (64, 32), "f16": (32, 16), "half": (32, 16), "bf16": (32, 16), "f32": (4, 2), "f64": (4,),
        "fp8": (32, 16), "bf8": (32, 16),
    },
    "gfx1100": {"i8": (16,), "f16": (16,), "half": (16,), "bf16": (16,)},
    "gfx1200": {"i8": (16,), "f16": (16,), "half": (16,), "bf16": (16,), "fp8": (16,), "bf8": (16,)},
}  # fmt: skip


def one_wave(arch, body, *args):
    return mmacalc.launch(lambda wave, *given: body(*given), 1, rocwmma.wave_size(arch), *args, arch=arch)


def legal(arch, kind, context, size, block_k):
    """What the tables above say of one fragment."""
    inputs = SMALLEST[arch]
    if context == "accumulator":
        inputs = {i: least for i, least in inputs.items() if any(kind in pair for pair in OUTPUTS[i])}
    else:
        inputs = {i: least for i, least in inputs.items() if i == kind}
    which = {16: 0, 32: 1}.get(size, 9)
    return block_k & (block_k - 1) == 0 and any(
        which < len(least) and block_k >= least[which] for least in inputs.values()
    )


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_fragment_of_the_support_table_can_be_made_and_no_other(arch):
    def every_fragment():
        for kind, context, size, block_k in product(
            TYPES, CONTEXTS, (8, 16, 32, 64), (1, 2, 4, 8, 12, 16, 32, 48, 64, 128)
        ):
            if legal(arch, kind, context, size, block_k):
                frag = rocwmma.fragment(context, size, size, block_k, TYPES[kind])
                assert frag.num_elements * rocwmma.AMDGCN_WAVE_SIZE in (size * size, size * block_k)
            else:
                with pytest.raises(mmacalc.Error, match="Unsupported"):
                    rocwmma.fragment(context, size, size, block_k, TYPES[kind])
        for context, m, n in (("matrix_a", 16, 32), ("matrix_b", 32, 16), ("accumulator", 32, 16), ("matrix_a", 48, 16),
                              ("matrix_a", 512, 16)):  # fmt: skip
            with pytest.raises(mmacalc.Error, match=f"Unsupported block size {m} x {n}; f16 has 16 x 16"):
                rocwmma.fragment(context, m, n, 32, "f16")

    one_wave(arch, every_fragment)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_pair_of_input_and_compute_type_of_the_table_multiplies_and_no_other(arch):
    def every_pair():
        for kind, compute in product(TYPES, TYPES):
            for size in (16, 32):
                if not legal(arch, kind, "matrix_a", size, 64) or not legal(arch, compute, "accumulator", size, 64):
                    continue
                a, b, c = (
                    rocwmma.fragment(x, size, size, 64, compute if x == "accumulator" else kind) for x in CONTEXTS
                )
                for frag in (a, b, c):
                    rocwmma.fill_fragment(frag, 1)
                if compute in {pair[1] for pair in OUTPUTS[kind]}:
                    rocwmma.mma_sync(c, a, b, c)
                    assert (c.x[0] == 65).all()
                else:
                    with pytest.raises(mmacalc.Error, match="Unsupported Ti / Tc"):
                        rocwmma.mma_sync(c, a, b, c)

    one_wave(arch, every_pair)


def stored(matrix, layout, ld, offset):
    """A matrix in memory, in a layout, with a leading dimension, after `offset` other elements."""
    lines = matrix if layout == ROW else matrix.T
    memory = np.full(offset + len(lines) * ld, 99, np.float64).astype(matrix.dtype)
    memory[offset:].reshape(-1, ld)[:, : lines.shape[1]] = lines
    return memory


def loaded(memory, shape, layout, ld, offset):
    """The inverse of `stored`."""
    lines = shape if layout == ROW else shape[::-1]
    found = memory[offset:].reshape(-1, ld)[: lines[0], : lines[1]]
    return found if layout == ROW else found.T


def block_product(frags, a, b, c, d, lds, layouts):
    fragA, fragB, fragC = frags
    rocwmma.load_matrix_sync(fragA, a + 3, lds[0])
    rocwmma.load_matrix_sync(fragB, b + 5, lds[1])
    rocwmma.load_matrix_sync(fragC, c + 7, lds[2], BY_MEMORY[layouts[2]])
    rocwmma.mma_sync(fragC, fragA, fragB, fragC)
    rocwmma.store_matrix_sync(d + 9, fragC, lds[3], BY_MEMORY[layouts[3]])


@sampled("arch", ARCHITECTURES, 3)
def test_every_row_block_size_and_layout_multiplies_small_integers_exactly(arch):
    rng = np.random.default_rng(7)
    for row in rocwmma.supported(arch):
        if row.output != row.compute:
            continue  # i8 / i8 / i32 and the like compute as i8 / i32 / i32
        size = row.block_m
        for block_k, layouts in zip(
            (row.minimal_k, 2 * row.minimal_k, 4 * row.minimal_k) * 6, product((ROW, COL), repeat=4)
        ):
            record = mmacalc.architecture(arch)
            types = [dtype_of(data_type(kind, record), record) for kind in (row.input, row.compute)]
            a = rng.integers(-2, 3, (size, block_k)).astype(types[0])
            b = rng.integers(-2, 3, (block_k, size)).astype(types[0])
            c = rng.integers(-2, 3, (size, size)).astype(types[1])
            lds = [(m.shape[1] if layout == ROW else m.shape[0]) + 3 for m, layout in zip((a, b, c, c), layouts)]
            memories = [stored(m, x, ld, o) for m, x, ld, o in zip((a, b, c, 0 * c), layouts, lds, (3, 5, 7, 9))]

            def kernel(a, b, c, d, row=row, size=size, block_k=block_k, lds=lds, layouts=layouts):
                kinds = (row.input, row.input, row.compute)
                given = (layouts[0], layouts[1], None)
                frags = [rocwmma.fragment(x, size, size, block_k, t, y) for x, t, y in zip(CONTEXTS, kinds, given)]
                block_product(frags, a, b, c, d, lds, layouts)

            report = one_wave(arch, kernel, *memories)
            assert sum(report.instructions.values()) == block_k // row.minimal_k
            expected = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
            found = loaded(memories[3], (size, size), layouts[3], lds[3], 9).astype(np.float64)
            if record.name == "rdna3":  # which adds a product of the other sign one unit in the last place too low
                found = np.rint(found)
            assert np.array_equal(found, expected), (arch, row, block_k, layouts)
            outside = stored(0 * c, layouts[3], lds[3], 9) == np.array(99).astype(types[1])
            assert (memories[3][outside] == np.array(99).astype(types[1])).all()


def registers(elements):
    """Elements (lanes, number) as registers (number, lanes)."""
    return np.ascontiguousarray(np.ascontiguousarray(elements).view(np.uint32).T)


def finite(rng, shape, dtype):
    """Random numbers over a range of magnitudes, in a type."""
    if dtype.kind == "i":
        return rng.integers(-128, 128, shape).astype(dtype)
    values = rng.normal(size=shape) * 2.0 ** rng.integers(-4, 3, shape)
    return values.astype(dtype)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_multiplied_block_has_the_bits_of_its_instructions_on_the_fragments_own_registers(arch):
    """The fragments' elements, in their order, are the instructions' registers: an oracle that knows neither
    `operand_places` nor `multiply_bits`. gfx11 keeps each row of A in both halves of the wave."""
    rng, record = np.random.default_rng(11), mmacalc.architecture(arch)
    for row in rocwmma.supported(arch):
        if row.output != row.compute or row.compute in ("f16", "bf16", "half"):
            continue
        block_k, kept = 4 * row.minimal_k, {}

        def kernel(row=row, block_k=block_k, kept=kept):
            kinds = (row.input, row.input, row.compute)
            a, b, c = (rocwmma.fragment(x, row.block_m, row.block_m, block_k, t) for x, t in zip(CONTEXTS, kinds))
            for frag, key in zip((a, b, c), "abc"):
                values = finite(rng, frag.data.shape, frag.dtype)
                for i in range(frag.num_elements):
                    frag.x[i] = values[:, i]
                kept[key] = values
            rocwmma.mma_sync(c, a, b, c)
            kept["d"] = c.x[:].T

        one_wave(arch, kernel)
        inst = multiplier(record, row.input, row.compute, row.block_m)
        a, b = (kept[key].reshape(len(kept[key]), 4, -1) for key in "ab")
        if record.name == "rdna3":
            a, b = (np.concatenate([np.tile(x[:16], (2, 1, 1)), np.tile(x[16:], (2, 1, 1))], axis=2) for x in (a, b))
        fields = {"neg": 3} if inst.formats["A"] == "iu8" else {}
        d = registers(kept["c"])
        for step in range(4):
            d = inst.execute(registers(a[:, step]), registers(b[:, step]), d, **fields)
        assert np.array_equal(d, registers(kept["d"])), (arch, row)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_narrow_accumulators_are_converted_once_for_each_block_on_cdna_and_native_on_rdna(arch):
    rng, record = np.random.default_rng(3), mmacalc.architecture(arch)
    for row in rocwmma.supported(arch):
        if row.compute not in ("f16", "bf16"):
            continue
        size, block_k, kept = row.block_m, 2 * row.minimal_k, {}
        dtype = dtype_of(data_type(row.input, record), record)
        a, b, c = (finite(rng, shape, dtype) for shape in ((size, block_k), (block_k, size), (size, size)))
        d = np.zeros_like(c)

        def kernel(a, b, c, d, row=row, size=size, block_k=block_k):
            frags = [rocwmma.fragment(x, size, size, block_k, row.input, ROW) for x in CONTEXTS]
            for frag, data, ld in zip(frags, (a, b, c), (block_k, size, size)):
                rocwmma.load_matrix_sync(frag, data, ld)
            rocwmma.mma_sync(frags[2], *frags)
            rocwmma.store_matrix_sync(d, frags[2], size)

        one_wave(arch, kernel, a, b, c, d)
        inst = multiplier(record, row.input, row.compute, size)
        assert (inst.formats["D"] == "f32") == record.name.startswith("cdna")
        _, order = coordinates(record, "matrix_a", (size, size, block_k), 2)
        kept = c.astype(np.float32) if record.name.startswith("cdna") else c
        whole = np.arange(order.size).reshape(order.shape)
        for places in operand_places(inst, "matrix_a", block_k, 2):
            ks = order.reshape(-1)[places[0]]
            assert np.isin(places, whole).all()
            codes = inst.multiply_bits(a[:, ks].view(np.uint16), b[ks].view(np.uint16), kept.view(f"u{kept.itemsize}"))
            kept = codes.view(kept.dtype)
        assert np.array_equal(kept.astype(dtype).view(np.uint16), d.view(np.uint16)), (arch, row)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_element_of_a_block_is_in_one_place_and_accumulators_lie_as_d_does(arch):
    record = mmacalc.architecture(arch)
    for row in rocwmma.supported(arch):
        for block_k in (row.minimal_k, 8 * row.minimal_k):
            size = dtype_of(data_type(row.input, record), record).itemsize
            blocks = (row.block_m, row.block_m, block_k)
            for context, shape in zip(CONTEXTS, ((row.block_m, block_k), (block_k, row.block_m), (row.block_m,) * 2)):
                places = coordinates(record, context, blocks, size if context != "accumulator" else 4)
                flat = np.ravel_multi_index(places, shape)
                assert np.array_equal(np.sort(flat, axis=None), np.arange(flat.size))
            if row.compute in ("f32", "i32", "f64"):
                inst = multiplier(record, row.input, row.compute, row.block_m)
                places = operand_places(inst, "accumulator", block_k, 8 if row.compute == "f64" else 4)
                table = inst.operand("D").table()
                elements = row.block_m**2 // rocwmma.wave_size(arch)
                assert np.array_equal(places, table["lane"] * elements + table["item"])


# --- what kernels compute addresses with, and transforms ---------------------------------------------------------


def test_mapping_util_gives_each_wave_a_block_and_its_address():
    mapping = rocwmma.MappingUtil(16, 32, rocwmma.float16_t, COL)
    seen = {}

    def kernel(wave, a):
        x, y = 2 * wave.blockIdx.x + wave.index % 2, 3 * wave.blockIdx.y + wave.index // 2
        assert mapping.waveCoord() == (wave.index % 2, wave.index // 2)
        assert mapping.workgroupDim() == (2, 3)
        assert mapping.blockCoord() == (x, y)
        assert mapping.matrixCoord() == mapping.matrixCoord(rocwmma.make_coord2d(x, y)) == (16 * x, 32 * y)
        assert (mapping.blockCoordM(9), mapping.blockCoordN(9)) == ((9, y), (x, 9))
        assert (mapping.matrixCoordM(9), mapping.matrixCoordN(9)) == ((9, 32 * y), (16 * x, 9))
        assert mapping.dataOffset(rocwmma.make_coord2d(3, 5), 100) == 503
        assert mapping.dataCoord(a, rocwmma.make_coord2d(3, 5), 100).offset == 503
        assert mapping.laneId().tolist() == list(range(wave.size))
        seen[x, y] = mapping.dataCoord(a, 100).offset
        with pytest.raises(mmacalc.Error, match="dataCoord takes"):
            mapping.dataCoord(a)

    mmacalc.launch(kernel, (2, 2), (64, 3), np.zeros(1, np.float16), arch="gfx1100")
    assert seen == {(x, y): 3200 * y + 16 * x for x in range(4) for y in range(6)}
    with pytest.raises(mmacalc.Error, match="is for kernels"):
        mapping.matrixCoord()
    with pytest.raises(mmacalc.Error, match="the layout is 'rows'; it is row_major or col_major"):
        rocwmma.MappingUtil(16, 16, "f16", "rows")


def test_coordinates_are_added_and_multiplied_element_by_element():
    one, two = rocwmma.make_coord2d(3, 4), rocwmma.make_coord2d(10, 20)
    assert (one + two, two - one, one * two, one * 2) == ((13, 24), (7, 16), (30, 80), (6, 8))
    assert (rocwmma.get(0, one), rocwmma.get(1, one)) == (3, 4)
    row, column = (rocwmma.GetDataLayout_t(rocwmma.fragment_type("matrix_a", 16, 16, 16, "f16", x)) for x in (ROW, COL))
    assert (row.fromMatrixCoord(one, 100), column.fromMatrixCoord(one, 100)) == (304, 403)
    assert (row.leadingDim(two), column.leadingDim(two)) == (20, 10)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_transposed_fragment_is_the_block_of_the_transposed_matrix_and_lies_alike_in_memory(arch):
    rng = np.random.default_rng(1)

    def kernel(wave, a, same, turned):
        tile = rocwmma.fragment_type(rocwmma.matrix_a, 128, 16, 32, "f16", COL)  # a macro tile: 128 x 32
        frag = tile()
        rocwmma.load_matrix_sync(frag, a, 128)
        other = rocwmma.applyTranspose(frag)
        assert repr(other) == "fragment<matrix_b, 16, 128, 32, float16_t, row_major>"
        assert rocwmma.GetIOShape_t(other) == (32, 128, 128, 32)
        assert rocwmma.GetDataType_t(other) == rocwmma.float16_t
        assert rocwmma.ApplyTranspose_t(tile)[:4] == (rocwmma.matrix_b, 16, 128, 32)
        rocwmma.store_matrix_sync(same, other, 128)
        other = rocwmma.applyDataLayout(COL, other, 4)
        rocwmma.store_matrix_sync(turned, other, 32)
        assert repr(rocwmma.applyTranspose(other)) == "fragment<matrix_a, 128, 16, 32, float16_t, row_major>"
        rocwmma.fill_fragment(other, 0)  # a copy: frag keeps its elements
        rocwmma.store_matrix_sync(same, frag, 128)

    a = rng.normal(size=(32, 128)).astype(np.float16)  # column-major 128 x 32
    same, turned = np.zeros_like(a), np.zeros((128, 32), np.float16)
    mmacalc.launch(kernel, 1, rocwmma.wave_size(arch), a, same, turned, arch=arch)
    assert np.array_equal(same, a)
    assert np.array_equal(turned, a.T)


def test_what_no_transform_takes_is_refused():
    acc = rocwmma.fragment_type(rocwmma.accumulator, 16, 16, 16, "f32")
    for call, message in (
        (lambda: rocwmma.ApplyTranspose_t(acc), "not for accumulators"),
        (lambda: rocwmma.GetDataLayout_t(acc), "the fragment has no layout"),
        (lambda: rocwmma.ApplyDataLayout_t(acc, "rows"), "it is row_major or col_major"),
        (lambda: rocwmma.GetIOShape_t("x"), "a str is passed where a fragment or a fragment type belongs"),
    ):
        with pytest.raises(mmacalc.Error, match=message):
            call()
    assert rocwmma.GetIOShape_t(acc) == (16, 16, 16, 16)

    def macro_tile_multiplied():
        a = rocwmma.fragment(rocwmma.matrix_a, 64, 16, 16, "f16", ROW)
        b, c = (rocwmma.fragment(x, 16, 16, 16, t, ROW) for x, t in ((CONTEXTS[1], "f16"), (CONTEXTS[2], "f32")))
        rocwmma.mma_sync(c, a, b, c)

    with pytest.raises(mmacalc.Error, match="mma_sync: the blocks differ"):
        one_wave("gfx942", macro_tile_multiplied)


def test_the_fnuz_types_are_those_of_gfx942_only():
    def make():
        frag = rocwmma.fragment(rocwmma.matrix_a, 16, 16, 32, rocwmma.float8_fnuz_t, ROW)
        assert frag.dtype.name == "float8_e4m3fnuz"
        assert rocwmma.fragment(rocwmma.matrix_a, 16, 16, 32, "bfloat8_fnuz_t", ROW).dtype.name == "float8_e5m2fnuz"

    one_wave("gfx942", make)
    for kind in ("float8_fnuz_t", rocwmma.float8_fnuz_t, ml_dtypes.float8_e4m3fnuz):
        with pytest.raises(mmacalc.Error, match=r"is not a data type (of CDNA4|here)"):
            one_wave("gfx950", lambda kind=kind: rocwmma.fragment(rocwmma.matrix_a, 16, 16, 32, kind, ROW))


def test_the_wave_sizes_are_constants():
    sizes = []
    mmacalc.launch(lambda wave: sizes.append(rocwmma.Constants.AMDGCN_WAVE_SIZE), 1, 32, arch="gfx1200")
    assert (sizes, rocwmma.Constants.AMDGCN_WAVE_SIZE) == ([32], 64)
    assert (rocwmma.Constants.AMDGCN_WAVE_SIZE_32, rocwmma.Constants.AMDGCN_WAVE_SIZE_64) == (32, 64)


# --- cooperation ------------------------------------------------------------------------------------------------


def through_lds(wave, a, d, context, blocks, kind, layout, ld, numbers, assignment):
    """Every wave loads its part, all store into LDS, and the first wave takes the whole from there."""
    frag = rocwmma.fragment(context, *blocks, kind, layout)
    size = frag.data.size
    lds = wave.shared("lds", size, frag.dtype)
    packed = 1
    if (context == "matrix_a") == (layout == COL):
        packed = blocks[0]
    else:
        packed = blocks[2]
    rocwmma.load_matrix_coop_sync(frag, a, ld, *numbers(wave), assignment=assignment)
    rocwmma.store_matrix_coop_sync(lds, frag, packed, *numbers(wave), assignment=assignment)
    rocwmma.synchronize_workgroup()
    if wave.index == 0:
        whole = rocwmma.fragment(context, *blocks, kind, layout)
        rocwmma.load_matrix_sync(whole, lds, packed)
        rocwmma.store_matrix_sync(d, whole, ld)


OVERLOADS = {
    "all numbers": lambda wave: (wave.index, 6, 4),
    "more work items than waves": lambda wave: (wave.index, 6, 16),
    "an uneven split": lambda wave: (wave.index, 6, 5),
    "fewer waves than the workgroup has": lambda wave: (wave.index, 4, 8),
    "no splitCount": lambda wave: (wave.index, 6),
    "none": lambda wave: (),
}


@pytest.mark.parametrize("overload", OVERLOADS)
@pytest.mark.parametrize("context", CONTEXTS[:2])
def test_a_cooperative_load_and_store_moves_the_whole_block_once(context, overload):
    rng = np.random.default_rng(5)
    for arch, layout, assignment in product(("gfx942", "gfx1100"), (ROW, COL), ("round robin", "contiguous")):
        block = (3 * rocwmma.wave_size(arch), 2)
        blocks, kind = (16, 16, 32), np.float16
        lines, width = (16, 32) if (context == "matrix_a") == (layout == ROW) else (32, 16)
        a = rng.normal(size=(lines, 40)).astype(kind)
        d = np.full_like(a, np.nan)
        report = mmacalc.launch(
            through_lds, 1, block, a, d, context, blocks, kind, layout, 40, OVERLOADS[overload], assignment, arch=arch
        )
        assert np.array_equal(d[:, :width], a[:, :width])
        assert np.isnan(d[:, width:]).all()
        times = {"none": 3 if context == "matrix_a" else 2}.get(overload, 1)  # rows or columns of waves share a block
        assert report.traffic == (1024 * times, 1024, 1024, 1024 * times)


def test_a_cooperative_fragment_cannot_be_multiplied_or_stored_whole():
    def kernel(wave, a, d, call):
        frag = rocwmma.fragment(rocwmma.matrix_a, 16, 16, 16, "f16", ROW)
        rocwmma.load_matrix_coop_sync(frag, a, 16, wave.index, 2)
        frag.x[0] = 2 * frag.x[0]  # what treats all elements alike is allowed
        if call == "store_matrix_sync":
            rocwmma.store_matrix_sync(d, frag, 16)
        acc = rocwmma.fragment(rocwmma.accumulator, 16, 16, 16, "f32")
        b = rocwmma.fragment(rocwmma.matrix_b, 16, 16, 16, "f16")
        rocwmma.fill_fragment(acc, 0)
        rocwmma.fill_fragment(b, 0)
        rocwmma.mma_sync(acc, frag, b, acc)

    a = np.ones((16, 16), np.float16)
    for call in ("store_matrix_sync", "mma_sync"):
        with pytest.raises(
            mmacalc.Error, match=f"wave 0.*{call}: fragment<matrix_a.*holds only a part of its block, 128 of"
        ):
            mmacalc.launch(kernel, 1, 128, a, a.copy(), call)
