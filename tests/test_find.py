"""Finding instructions whose shape is a parameter, SASS opcodes, and the C++ names of CUDA's warp matrix functions."""

import pytest

import mmacalc
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.families.tensor_memory_shapes import allowed_shapes

# What nvcc 13.0 -arch=sm_80 -ptx makes of loading each fragment (of accumulators: of storing them); .global left out.
FRAGMENTS = {
    "wmma::matrix_a, 16, 16, 16, half, wmma::row_major": "wmma.load.a.sync.aligned.row.m16n16k16.f16",
    "wmma::matrix_b, 16, 16, 16, half, wmma::col_major": "wmma.load.b.sync.aligned.col.m16n16k16.f16",
    "matrix_a, 32, 8, 16, half, col_major": "wmma.load.a.sync.aligned.col.m32n8k16.f16",
    "matrix_b, 8, 32, 16, signed char, row_major": "wmma.load.b.sync.aligned.row.m8n32k16.s8",
    "matrix_a, 16, 16, 16, unsigned char, row_major": "wmma.load.a.sync.aligned.row.m16n16k16.u8",
    "matrix_b, 32, 8, 16, __nv_bfloat16, row_major": "wmma.load.b.sync.aligned.row.m32n8k16.bf16",
    "matrix_a,16,16,8,wmma::precision::tf32,row_major": "wmma.load.a.sync.aligned.row.m16n16k8.tf32",
    "matrix_b, 8, 8, 4, double, col_major": "wmma.load.b.sync.aligned.col.m8n8k4.f64",
    "matrix_a, 8, 8, 32, wmma::experimental::precision::s4, row_major": "wmma.load.a.sync.aligned.row.m8n8k32.s4",
    "matrix_b, 8, 8, 128, experimental::precision::b1, col_major": "wmma.load.b.sync.aligned.col.m8n8k128.b1",
    "accumulator, 16, 16, 16, float": "wmma.store.d.sync.aligned.col.m16n16k16.f32",
    "accumulator, 8, 32, 16, int": "wmma.store.d.sync.aligned.row.m8n32k16.s32",
}


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_fragment_type_finds_the_instructions_that_nvcc_loads_it_by(fragment):
    found = {
        inst.name.replace(".shared", "") for inst in mmacalc.find("sm_80", name=f"nvcuda::wmma::fragment<{fragment}>")
    }
    assert FRAGMENTS[fragment] in found
    words = FRAGMENTS[fragment].split(".")
    moves = {name for name in found if not name.startswith("wmma.mma")}
    assert all(words[6] in name.split(".") and words[-1] in name.split(".") for name in moves)
    if ".store." not in FRAGMENTS[fragment]:
        assert moves == {FRAGMENTS[fragment]}
    assert any(name.startswith("wmma.mma") for name in found)
    assert mmacalc.find("sm_80", intrinsic=f"wmma::fragment<{fragment}>") == mmacalc.find(
        "sm_80", name=f"nvcuda::wmma::fragment<{fragment}>"
    )


def test_every_wmma_fragment_has_a_type_that_finds_it():
    types = {"f16": "half", "f32": "float", "f64": "double", "bf16": "__nv_bfloat16", "tf32": "precision::tf32",
             "i8": "signed char", "u8": "unsigned char", "i32": "int", "i4": "precision::s4", "u4": "precision::u4",
             "b1": "precision::b1"}  # fmt: skip
    wmma = [inst for inst in mmacalc.instructions("sm_80") if "wmma" in inst.features]
    for inst in wmma[::5]:
        operand = inst.operands[0]
        layout = f", {inst.layouts[0]}_major" if operand in "AB" else ""
        use = {"A": "matrix_a", "B": "matrix_b"}.get(operand, "accumulator")
        shape = f"{inst.m}, {inst.n}, {inst.k}"
        name = f"wmma::fragment<{use}, {shape}, {types[inst.formats[operand]]}{layout}>"
        assert inst in mmacalc.find("sm_80", name=name), name


def test_functions_of_mma_h_find_what_they_become():
    names = {inst.name for inst in mmacalc.find("sm_80", name="wmma::mma_sync")}
    assert names == {i.name for i in mmacalc.instructions("sm_80") if i.name.startswith("wmma.mma.sync")}
    single = mmacalc.find("sm_80", name="nvcuda::wmma::experimental::bmma_sync")
    assert {inst.formats["A"] for inst in single} == {"b1"}
    assert all(
        i.name.startswith("wmma.store.d") for i in mmacalc.find("sm_80", name="wmma::store_matrix_sync(p, f, 16)")
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wmma::fill_fragment", "becomes no matrix instruction. These do: load_matrix_sync"),
        ("wmma::mma_snyc", "Did you mean mma_sync"),
        ("wmma::fragment<matrix_c, 16, 16, 16, half>", "no use 'matrix_c'. Did you mean"),
        ("wmma::fragment<matrix_a, 16, 16, 16, half, rowmajor>", "no layout 'rowmajor'. Did you mean row_major"),
        ("wmma::fragment<matrix_a, 16, 16, half, row_major>", "should have a use, M, N, K, a type"),
        ("wmma::fragment<matrix_a, 16, 16, 16, fp16, row_major>", "no type 'fp16'"),
    ],
)
def test_a_name_that_mma_h_does_not_have_is_refused_with_those_that_it_has(name, reason):
    reply = answer(["find", "-a", "A100", name])
    assert (reply.status, reason in reply.err) == (2, True), reply.err


def test_sass_opcodes_find_the_instructions_that_become_them():
    quarter = {inst.kind for inst in mmacalc.find("B200", name="UTCQMMA")}
    assert quarter == {"f8f6f4", "mxf8f6f4"}
    assert {inst.kind for inst in mmacalc.find("rubin", name="utcomma.block16")} == {"mxf4nvf4"}
    loads = mmacalc.find("B200", name="LDTM.16dp256bit")
    assert loads
    assert all(".ld." in inst.name and "16x256b" in inst.name for inst in loads)
    assert mmacalc.find("A100", name="HMMA.16816.F32.BF16", k=16)[0].name == (
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    )


def test_tcgen05_is_found_by_every_shape_and_type_that_it_can_have_and_by_no_other():
    every = {name for name in entry("sm_100a").tensor_memory_names if ".mma" in name and "ti16" not in name}
    for name in every:
        inst = mmacalc.instruction("sm_100a", name)
        rows, columns = allowed_shapes(inst.form)
        found = mmacalc.find("sm_100a", m=rows[0], n=columns[-1], k=inst.k, name="tcgen05.mma", sparse=inst.sparse)
        (one,) = (other for other in found if other.name == name)
        assert (one.m, one.n, one.given["m"]) == (rows[0], columns[-1], rows[0])
    assert not mmacalc.find("sm_100a", m=96, name="tcgen05")
    assert not mmacalc.find("sm_100a", name="tcgen05", opcode=1)
    bf16 = mmacalc.find("sm_100a", a="bf16", m=64, name="tcgen05")
    assert {(inst.kind, inst.formats["B"], inst.formats["D"]) for inst in bf16} == {("f16", "bf16", "f32")}
    assert not mmacalc.find("sm_100a", a="bf16", d="f16", name="tcgen05")
    assert {(inst.m, inst.form.cta_group, inst.kind[:4]) for inst in mmacalc.find("B300", k=96)} == {(256, 2, "mxf4")}
    assert {inst.block_size for inst in mmacalc.find("B200", a="nvfp4")} == {16}
    assert {inst.kind for inst in mmacalc.find("B200", a="mxfp8")} == {"mxf8f6f4"}


def test_the_list_of_what_was_found_names_the_sizes_that_were_asked_for():
    lines = answer(["find", "-a", "B200", "--m", "64", "--a", "tf32", "tcgen05.mma.cta"]).out.splitlines()
    assert lines == ["sm_100a  tcgen05.mma.cta_group::1.kind::tf32  64xNx8  tf32 tf32 -> f32"]
    assert answer(["find", "-a", "B200", "tcgen05.shift"]).out.split()[:2] == [
        "sm_100a",
        "tcgen05.shift.cta_group::1.down",
    ]
