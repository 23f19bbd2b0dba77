"""Finding instructions whose shape is a parameter, SASS opcodes, and the C++ names of CUDA's warp matrix functions."""

import pytest

import mmacalc
from mmacalc.catalog import entry
from mmacalc.cli import answer
from mmacalc.families.tensor_memory import allowed_shapes
from mmacalc.questions.find import MANY
from samples import sampled

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


PHRASES = {
    "MI300X 16x16x32 fp8": {"arch": "cdna3", "m": 16, "n": 16, "k": 32, "a": "fp8"},
    "bf16 RTX 4090 sparse m16n8k32": {"arch": "sm_89", "m": 16, "n": 8, "k": 32, "sparse": True, "a": "bf16"},
    "dense cdna4 32x32x16": {"arch": "cdna4", "m": 32, "n": 32, "k": 16, "sparse": False},
    "HMMA.16816 bf16": {"name": "HMMA.16816", "a": "bf16"},
    "wgmma.m64n24k8": {"arch": "h100", "m": 64, "n": 24, "k": 8, "name": "wgmma", "sparse": False},
    "mfma_16x16x16_f16": {"m": 16, "n": 16, "k": 16, "name": "mfma", "a": "f16"},
    "v_mfma*f64": {"name": "mfma", "a": "f64"},
    "tcgen05.mma m64n64k32 b200 e5m2": {"name": "tcgen05.mma", "arch": "b200", "m": 64, "n": 64, "k": 32, "a": "e5m2"},
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 NVIDIA A100": {
        "arch": "sm_80",
        "m": 16,
        "n": 8,
        "k": 16,
        "a": "f16",
        "d": "f32",
        "name": "mma.sync",
    },
    "dpas B580 8x16x16 bf16": {"arch": "xe2", "m": 8, "n": 16, "k": 16, "a": "bf16"},
    "int8 rdna3": {"arch": "rdna3", "a": "iu8"},
    "uint4 gfx1201 sparse": {"arch": "gfx1201", "a": "iu4", "sparse": True},
    "scale gfx950": {"arch": "gfx950", "name": "v_mfma_scale"},
    "scaled fp4 b200": {"arch": "b200", "a": "fp4", "name": "block_scale"},
    "nvfp4 B300": {"arch": "b300", "a": "nvfp4"},
}


@pytest.mark.parametrize(("phrase", "criteria"), PHRASES.items())
def test_words_ask_for_what_the_parameters_of_the_same_meaning_ask_for(phrase, criteria):
    found = mmacalc.find(name=phrase)
    assert found
    assert {inst for inst in mmacalc.find(**criteria) if not inst.name.startswith("wmma.")} <= {*found}
    assert {*found} == {*mmacalc.find(name=" ".join(phrase.split()[::-1]))}
    for inst in found:
        shape = {key: getattr(inst, key) for key in ("m", "n", "k", "sparse", "arch") if key in criteria}
        wanted = criteria | ({"arch": mmacalc.architecture(criteria["arch"]).name} if "arch" in criteria else {})
        assert shape == {key: wanted[key] for key in shape}
    answered = answer(["find", *phrase.split()]).out
    assert answered == answer(["find", phrase]).out
    names = {inst.name for inst in found}
    lines = [line for line in answered.splitlines() if not line.startswith(" ")]
    assert len(lines) == (len(found) if len(found) < MANY else len(names))


def test_every_instruction_is_found_by_its_name_its_shape_and_its_formats():
    for inst in [one for arch in ("cdna4", "rdna4", "sm_90a") for one in mmacalc.instructions(arch)][::23]:
        words = [
            inst.arch,
            inst.name,
            f"{inst.m}x{inst.n}x{inst.k}",
            *[form for form in inst.formats.values() if form != "address"],
        ]
        assert inst in mmacalc.find(name=" ".join(words)), words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("gfx942 16x16x16 fp8", "6 do without gfx942, 12 do without 16x16x16, 2 do without fp8"),
        ("wgmna", "none has 'wgmna' in its name. Did you mean wgmma"),
        ("gfx942 H100", "gfx942 and h100 are two architectures"),
        ("sparse dense", "sparse and dense exclude each other"),
        ("HMMA.16816 IMMA.16832", "are two SASS opcodes"),
        ("-a gfx90a --sparse", "without -a"),
    ],
)
def test_a_search_without_result_says_what_to_leave_out(words, reason):
    reply = answer(["find", *words.split()])
    assert (reply.status, reply.out) == (2, "")
    assert reason in reply.err


@pytest.mark.parametrize(
    ("words", "says"),
    [("RTX 5090 tcgen05", "(Blackwell, GeForce and RTX PRO) has none with 'tcgen05' in its name; these have: sm_100a"),
     ("A100 wgmma", "has none with 'wgmma' in its name; these have: sm_90a"),
     ("MI300X swmmac f16", "CDNA3 has none with 'swmmac' in its name; these have: cdna5"),
     ("-a V100 mma.sp", "has none with 'mma.sp' in its name; these have: sm_80")],
)  # fmt: skip
def test_a_product_without_what_was_asked_for_is_said_with_those_that_have_it(words, says):
    status, out, err = answer(["find", *words.split()])
    assert (status, out) == (2, "")
    assert says.replace("sm_80", "sm_") in err


@sampled(
    "criteria",
    [{"name": "16x16x32 bf16"}, {"a": "fp8", "sparse": True}, {"n": 8, "d": "f32"}, {"name": "mma_16x8x32"}, {"k": 64},
     {"name": "scale fp4"}, {"name": "tcgen05.ld"}, {"name": "HMMA.16816"}, {"intrinsic": "mma_f32_16x16"},
     {"blocks": 4}],
    5,
)  # fmt: skip
def test_a_search_of_all_architectures_finds_what_searches_of_each_do(criteria):
    each = [inst for arch in mmacalc.architectures() for inst in mmacalc.find(arch=arch, **criteria)]
    assert sorted(mmacalc.find(**criteria), key=repr) == sorted(each, key=repr)
    assert each


def test_very_many_are_listed_by_the_beginning_of_their_names_unless_all_are_asked_for():
    short, every = answer(["find", "f16"]), answer(["find", "f16", "--all"])
    groups = [line.split("  ")[0] for line in short.out.splitlines()[1:-1]]
    assert len(groups) < 60 < 250 < len(every.out.splitlines())
    assert {"mma.sync.aligned", "v_mfma_f32", "tcgen05.mma", "dpas"} <= {*groups}
    names = {inst.name for inst in mmacalc.find(name="f16")}
    assert all(any(name.startswith(group) for group in groups) for name in names)
    assert sum(int(line.split()[1]) for line in short.out.splitlines()[1:-1]) == len(names)
    assert max(map(len, short.out.splitlines())) <= 80


def test_the_exact_match_is_first_and_many_are_counted():
    found = mmacalc.find(name="A100 HMMA.16816.F32")
    assert found[0].name == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert all(inst.formats["A"] == "f16" for inst in found[:3])
    assert mmacalc.find(name="v_wmma_f16_16x16x16_f16")[0].name == "v_wmma_f16_16x16x16_f16"
    many = answer(["find", "int4"])
    count = len(mmacalc.find(name="int4"))
    assert many.err.startswith(f"mmacalc: {count} instructions: ")
    assert len(many.out.splitlines()) < count  # each name once, with the architectures that have it
