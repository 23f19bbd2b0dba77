"""Descriptors of tcgen05 and wgmma, and swizzle atoms: CUTLASS's values, both ways, and the command line."""

import csv
import gzip
import json
import re
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

import mmacalc
from mmacalc.cli import answer
from mmacalc.families import descriptors, shared_memory
from mmacalc.families.descriptors import ATOMS, INPUT_CODES, SWIZZLES, atom_offset

DATA = Path(__file__).parent / "data" / "tensor_memory"
NAMES = {"sfa_id": "scale_id_a", "sfb_id": "scale_id_b"}


def rows(name):
    with gzip.open(DATA / name, "rt") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_every_instruction_descriptor_is_cutlass_s_and_decodes_to_what_it_was_made_of():
    for row in rows("instruction_descriptors.tsv.gz"):
        given_fields = dict(part.split("=") for part in row["fields"].split())
        options = {NAMES.get(name, name): int(value) for name, value in given_fields.items() if value.isdigit()}
        if options.pop("k_bit31", 0):
            options["k"] = 64 if row["kind"] == "mxf8f6f4" else 96
        if "max_shift" in options:  # CUTLASS gives the code
            options["max_shift"] = (0, 8, 16, 32)[options["max_shift"]]
        types = {"a": row["a"], "b": row["b"], "d": row["d"], "scale": given_fields.get("scale", "")}
        found = mmacalc.instruction_descriptor(row["kind"], int(row["M"]), int(row["N"]), **types, **options)
        assert found.word == int(row["value"], 16), row
        meanings = {field.name: field.meaning for field in found.fields}
        assert (meanings["m"], meanings["n"]) == (f"M {row['M']}", f"N {row['N']}")
        assert (meanings["a_type"], meanings["b_type"]) == (f"A {row['a']}", f"B {row['b']}")
        assert not [note for note in found.notes if "reserved" in note and "K" not in note]


def test_every_byte_of_an_atom_is_cutlass_s():
    for row in rows("swizzle_atoms.tsv.gz"):
        bits = {"8bit": 8, "f16": 16, "tf32": 32}[row["type"]]
        swizzle, major = row["swizzle"].replace("_", " "), row["major"].lower()
        assert atom_offset(int(row["mn"]), int(row["k"]), bits, swizzle, major) == int(row["byte_offset"]), row


def test_a_descriptor_of_any_legal_form_has_no_remark():
    """PTX ISA 9.1, table 39: kind::f16 has M 64 with N 8, 16 ... in one CTA, and M 256 in two."""
    for kind, m, n in (("f16", 64, 8), ("f16", 128, 16), ("f16", 256, 32), ("i8", 64, 24), ("mxf8f6f4", 128, 8)):
        word = mmacalc.instruction_descriptor(kind, m, n).word
        assert descriptors.decode_instruction(word, kind).notes == (), (kind, m, n)


def test_the_fields_of_tcgen05s_shared_memory_descriptor_are_those_of_ptx():
    """PTX ISA 9.1, the matrix descriptor of tcgen05: bits 13-0, 29-16, 45-32, 48-46 (0b001), 51-49, 52, 63-61; bit 53,
    the segment of lut::b, is in PTX ISA 9.4."""
    assert descriptors.SHARED_FIELDS["tcgen05"] == (
        ("address", 0, 14), ("leading", 16, 14), ("stride", 32, 14), ("version", 46, 3), ("base_offset", 49, 3),
        ("leading_is_absolute", 52, 1), ("lut_segment", 53, 1), ("swizzle", 61, 3),
    )  # fmt: skip


# PTX ISA 9.1, section 9.7.16.4.1, the tables of the instruction descriptor: of tf32, f16, f8f6f4 and i8; of mxf8f6f4;
# of mxf4 and mxf4nvf4. What is left out is reserved; K, the last bit, is so in table 44, and in PTX ISA 9.4 of sm_107.
EVERY = "2 sparse, 7-9 a_type, 13 negate_a, 14 negate_b, 15 transpose_a, 16 transpose_b, 17-22 n"
MX = f"{EVERY}, 4-5 scale_id_b, 23 scale_type, 27-28 m, 29-30 scale_id_a, 31 k"
PLAIN = f"{EVERY}, 0-1 selector, 3 saturate, 4-5 d_type, 10-12 b_type, 24-28 m, 29 k, 30-31 max_shift"
FIELDS = {
    **dict.fromkeys(("f16", "tf32", "f8f6f4", "i8"), PLAIN),
    "mxf8f6f4": f"{MX}, 10-12 b_type", **dict.fromkeys(("mxf4", "mxf4nvf4"), f"{MX}, 10-11 b_type"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FIELDS)
def test_the_fields_of_an_instruction_descriptor_are_those_of_ptx(kind):
    fields = descriptors.decode_instruction(0, kind).fields
    listed = [f"{f.low}{f'-{f.low + f.bits - 1}' * (f.bits > 1)} {f.name}" for f in fields]
    assert listed == sorted(FIELDS[kind].split(", "), key=lambda text: int(re.match(r"\d+", text)[0]))
    assert INPUT_CODES.keys() == FIELDS.keys()


def test_descriptors_are_printed_with_all_their_digits_and_addresses_end_at_256_kilobytes():
    """PTX ISA 9.1: 32 bits, and 64 bits with 14 of (address & 0x3FFFF) >> 4."""
    assert descriptors.decode_instruction(2**32 - 1, "f16").size == 32
    with pytest.raises(mmacalc.Error, match="32 bits is 0 to 0xffffffff; got 0x100000000"):
        descriptors.decode_instruction(2**32, "f16")
    largest = 0x3FFF0
    for unit in ("tcgen05", "wgmma"):
        found = mmacalc.shared_memory_descriptor(largest, largest, largest, unit=unit)
        assert (found.size, [field.code for field in found.fields[:3]]) == (64, [0x3FFF] * 3)
        with pytest.raises(mmacalc.Error, match="multiple of 16 below 262144; got 262144"):
            mmacalc.shared_memory_descriptor(largest + 16, 16, 16, unit=unit)


def test_the_largest_shift_of_b_has_the_code_that_ptx_gives_it():
    """PTX ISA 9.1, the instruction descriptor of tcgen05: no shift, 8, 16 and 32 rows."""
    words = [mmacalc.instruction_descriptor("f16", m=32, n=64, max_shift=rows).word for rows in (0, 8, 16, 32)]
    assert [word >> 30 for word in words] == [0, 1, 2, 3]


def test_each_swizzle_has_the_code_that_ptx_gives_it():
    """PTX ISA 9.1: table 42 for tcgen05, and the matrix descriptor of wgmma."""
    assert SWIZZLES == {
        "tcgen05": {"none": 0, "128B base32B": 1, "128B": 2, "64B": 4, "32B": 6},
        "wgmma": {"none": 0, "128B": 1, "64B": 2, "32B": 3},
    }


@pytest.mark.parametrize("swizzle", ATOMS)
def test_an_atom_uses_each_byte_once(swizzle):
    rows, width = ATOMS[swizzle].rows, ATOMS[swizzle].row_bytes
    assert sorted(atom_offset(row, byte, 8, swizzle) for row in range(rows) for byte in range(width)) == [
        *range(rows * width)
    ]


@given(st.sampled_from(sorted(INPUT_CODES)), st.integers(0, 2**32 - 1))
def test_every_word_decodes_and_its_fields_make_it_again(kind, word):
    found = descriptors.decode_instruction(word, kind)
    made = sum(field.code << field.low for field in found.fields)
    assert made & word == made
    assert (made == word) == (not any(note.startswith("reserved bits") for note in found.notes))


@given(st.sampled_from(["none", "32B", "64B", "128B"]), st.integers(0, 2**14 - 1), st.integers(0, 2**14 - 1))
def test_a_descriptor_of_wgmma_is_the_one_of_its_layouts(swizzle, address, stride):
    found = mmacalc.shared_memory_descriptor(16 * address, 16, 16 * stride, swizzle, "wgmma")
    assert found.word == shared_memory.descriptor(16 * address, 16, 16 * stride, swizzle)
    assert descriptors.decode_shared_memory(found.word, "wgmma") == found
    tcgen05 = mmacalc.shared_memory_descriptor(16 * address, 16, 16 * stride, swizzle)
    assert (tcgen05.word >> 61, tcgen05.word >> 46 & 7) == (SWIZZLES["tcgen05"][swizzle], 1)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (("f16", 120, 64), r"M holds multiples of 16 up to 256 \(kind::f16\); got 120"),
        (("mxf4", 64, 64), r"M holds multiples of 128 up to 256 \(kind::mxf4\)"),
        (("ti16", 128, 64), "the descriptor of kind::ti16 is not known"),
        (("f61", 128, 64), "Did you mean f16"),
    ],
)
def test_what_no_bits_can_say_is_refused(call, reason):
    with pytest.raises(mmacalc.Error, match=reason):
        mmacalc.instruction_descriptor(*call)
    with pytest.raises(mmacalc.Error, match="multiple of 16"):
        mmacalc.shared_memory_descriptor(8, 16, 1024)
    with pytest.raises(mmacalc.Error, match="no field 'negate'"):
        mmacalc.instruction_descriptor("f16", 128, 64, negate=1)


def test_what_the_ptx_isa_does_not_allow_is_noted():
    assert mmacalc.instruction_descriptor("i8", 128, 64, negate_a=1).notes == ("kind::i8 has no negation",)
    assert "no tcgen05.mma" in mmacalc.instruction_descriptor("f16", 16, 64).notes[0]
    assert "K-major" in mmacalc.instruction_descriptor("mxf4", 128, 64, transpose_b=1).notes[0]
    assert mmacalc.instruction_descriptor("mxf4", 256, 64, k=96).notes == ("this K requires sm_103a or sm_107",)
    assert mmacalc.instruction_descriptor("f16", 128, 256).notes == ()


def legal_shapes():
    """(kind, sparse) -> the pairs (M, N) of any tcgen05.mma, and the usual K: PTX ISA 9.1, table 39."""
    with (DATA / "shapes.tsv").open() as stream:
        listed = [row for row in csv.DictReader(stream, delimiter="\t") if not row["M"].startswith("as ")]
    shapes, depths = {}, {}
    for row in listed:
        columns = []
        for part in row["N"].split("|"):
            ends, _, step = part.partition(" step ")
            first, _, last = ends.partition("..")
            columns += range(int(first), int(last or first) + 1, int(step or 1))
        key = row["kind"], int(row["sparse"])
        shapes.setdefault(key, set()).update((int(m), n) for m in row["M"].split("|") for n in columns)
        depths.setdefault(key, int(row["K"]))
    return shapes, depths


def packed(kind, **codes):
    fields = {field.name: field.low for field in descriptors.decode_instruction(0, kind).fields}
    return sum(code << fields[name] for name, code in codes.items())


@pytest.mark.parametrize("kind", INPUT_CODES)
def test_a_shape_that_no_instruction_has_is_noted_and_every_other_is_not(kind):
    shapes, _ = legal_shapes()
    scaled = kind.startswith("mx")
    for sparse in (0, 1):
        for m in range(4 if scaled else 32):
            for n in (*range(34), 63):
                size = m * (128 if scaled else 16), n * 8
                notes = descriptors.decode_instruction(packed(kind, sparse=sparse, m=m, n=n), kind).notes
                noted = any(note.startswith("no tcgen05.mma") for note in notes)
                assert noted == (size not in shapes[kind, sparse]), (size, notes)


@pytest.mark.parametrize("kind", INPUT_CODES)
def test_the_bit_of_k_means_the_deeper_k_of_the_ptx_isa(kind):
    """PTX ISA 9.1: dense K = 96 of mxf4 on sm_103a; 9.4: dense K = 64 of f8f6f4 and mxf8f6f4 on sm_107."""
    _, depths = legal_shapes()
    for sparse in (0, 1):
        deeper = None if sparse else {"mxf4": 96, "mxf4nvf4": 96, "f8f6f4": 64, "mxf8f6f4": 64}.get(kind)
        where = {96: "sm_103a or sm_107", 64: "sm_107"}.get(deeper)
        for code in (0, 1):
            found = descriptors.decode_instruction(packed(kind, sparse=sparse, k=code), kind)
            (meaning,) = [field.meaning for field in found.fields if field.name == "k"]
            depth = deeper if code else depths[kind, sparse]
            assert meaning == (f"K {depth}" if depth else "reserved")
            noted = [note for note in found.notes if "this K requires" in note or "bit of K" in note]
            reserved = f"the bit of K is reserved in {'sparse ' * sparse}kind::{kind}"
            expected = f"this K requires {where}" if deeper else reserved
            assert noted == [expected] * code
            if depth:
                assert mmacalc.instruction_descriptor(kind, 128, 64, k=depth, sparse=sparse).word == packed(
                    kind, **{field.name: field.code for field in found.fields if field.name in ("sparse", "k")},
                    **usual_codes(kind),
                )  # fmt: skip


def usual_codes(kind):
    """The codes of the default types, with M = 128 and N = 64, from the PTX ISA's tables."""
    types = {"f16": (0, 0, 1), "tf32": (2, 2, 1), "f8f6f4": (0, 0, 1), "i8": (1, 1, 2)}
    scaled = {"mxf8f6f4": (0, 0), "mxf4": (1, 1), "mxf4nvf4": (1, 1)}
    codes = dict(zip(("a_type", "b_type", "d_type"), types.get(kind) or scaled[kind]))
    return {**codes, "n": 8, **({"m": 1, "scale_type": 1} if kind in scaled else {"m": 8})}


# PTX ISA 9.1, the tables of the instruction descriptor: what the codes of the types mean; others mean nothing.
SMALL_CODES = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
TYPES = {
    "f16": {0: "f16", 1: "bf16"}, "tf32": {2: "tf32"}, "i8": {0: "u8", 1: "s8"}, "f8f6f4": SMALL_CODES,
    "mxf8f6f4": SMALL_CODES, "mxf4": {1: "e2m1"}, "mxf4nvf4": {1: "e2m1"},
}  # fmt: skip
RESULTS = {"f16": ("f16", "f32"), "tf32": ("f32",), "f8f6f4": ("f16", "f32"), "i8": ("s32",)}


@pytest.mark.parametrize("kind", INPUT_CODES)
def test_every_code_of_a_type_means_what_the_ptx_isa_has(kind):
    every = {
        "a_type": (TYPES[kind], "A"), "b_type": (TYPES[kind], "B"),
        "d_type": ({0: "f16", 1: "f32", 2: "s32"}, "D"), "scale_type": ({0: "ue4m3", 1: "ue8m0"}, "scales"),
    }  # fmt: skip
    for field in descriptors.decode_instruction(0, kind).fields:
        if field.name not in every:
            continue
        known, whose = every[field.name]
        for code in range(1 << field.bits):
            found = descriptors.decode_instruction(packed(kind, **{field.name: code}), kind)
            (meaning,) = [one.meaning for one in found.fields if one.name == field.name]
            assert meaning == f"{whose} {known.get(code, 'no such type')}"
            if field.name == "d_type":
                refused = known.get(code) not in RESULTS[kind]
                assert (f"kind::{kind} does not have this type of D" in found.notes) == refused


@pytest.mark.parametrize("kind", INPUT_CODES)
def test_the_notes_on_signs_orders_and_saturation_are_those_of_the_ptx_isa(kind):
    """PTX ISA 9.1, section 9.7.16.4 and table 52: integers are not negated and alone saturate; 4-bit kinds are K-major;
    tf32 transposes with one swizzle only; a transposed B of 8 bits has N in steps of 16."""
    small = kind in ("i8", "f8f6f4", "mxf8f6f4")
    said = {
        "has no negation": (("negate_a", "negate_b"), kind == "i8"),
        "has no transposes": (("transpose_a", "transpose_b"), kind in ("mxf4", "mxf4nvf4")),
        "32-byte atoms only": (("transpose_a", "transpose_b"), kind == "tf32"),
        "steps of 16": (("transpose_b",), small),
        "saturation requires kind::i8": (("saturate",), kind != "i8"),
    }
    names = {field.name for field in descriptors.decode_instruction(0, kind).fields}
    for n in (1, 2):
        for name in names & {"negate_a", "negate_b", "transpose_a", "transpose_b", "saturate", "sparse"}:
            notes = descriptors.decode_instruction(packed(kind, n=n, **{name: 1}), kind).notes
            for words, (fields, concerned) in said.items():
                expected = name in fields and concerned and (words != "steps of 16" or n == 1)
                assert any(words in note for note in notes) == expected, (name, n, notes)


def test_the_shifts_swizzles_and_flags_of_descriptors_are_said_in_words():
    def meaning(name, code, kind="f16"):
        fields = descriptors.decode_instruction(packed(kind, **{name: code}), kind).fields
        return next(field.meaning for field in fields if field.name == name)

    assert [meaning("max_shift", code).rpartition(": ")[2] for code in range(4)] == ["0", "8", "16", "32"]
    words = {"sparse": "A is dense/A is sparse", "saturate": "wraps around/saturates", "negate_a": "A as it is/-A",
             "negate_b": "B as it is/-B", "transpose_a": "A is K-major/A is MN-major",
             "transpose_b": "B is K-major/B is MN-major"}  # fmt: skip
    for name, both in words.items():
        assert f"{meaning(name, 0)}/{meaning(name, 1)}" == both
    for unit, codes in SWIZZLES.items():
        low = {"tcgen05": 61, "wgmma": 62}[unit]
        for code in range(1 << 64 - low):
            found = descriptors.decode_shared_memory(code << low | 1 << 46, unit)
            name = next((name for name, number in codes.items() if number == code), None)
            assert found.fields[-1].meaning == (f"swizzle {name}" if name else "no such swizzle")
    every = descriptors.decode_shared_memory(2**64 - 1)
    assert [field.meaning for field in every.fields[:3]] == [
        "start address 0x3fff0", "leading dimension byte offset 262128", "stride dimension byte offset 262128",
    ]  # fmt: skip
    assert "bits 46 to 48 are 0b001 in every descriptor of tcgen05" in every.notes
    for version in range(8):
        noted = any("0b001" in note for note in descriptors.decode_shared_memory(version << 46).notes)
        assert noted == (version != 1)
    with pytest.raises(mmacalc.Error, match="a descriptor of 64 bits is 0 to 0xffffffffffffffff; got -0x1"):
        descriptors.decode_shared_memory(-1)


def test_sizes_are_refused_beyond_what_their_fields_hold():
    """M up to 256 in steps of 16, with block scales of 128; N up to 256 in steps of 8."""
    for kind in INPUT_CODES:
        step = 128 if kind.startswith("mx") else 16
        for m in (0, step // 2, step, 256, 256 + step):
            for n in (0, 4, 8, 256, 264):
                if m in (step, 256) and n in (8, 256):
                    word = mmacalc.instruction_descriptor(kind, m, n).word
                    fields = {one.name: one.meaning for one in descriptors.decode_instruction(word, kind).fields}
                    assert (fields["m"], fields["n"]) == (f"M {m}", f"N {n}")
                else:
                    with pytest.raises(mmacalc.Error, match="holds multiples of"):
                        mmacalc.instruction_descriptor(kind, m, n)


def test_the_command_line_draws_a_descriptor_and_reads_it_back():
    drawn = answer(["descriptor", "f16", "-M", "128", "-N", "256", "--a-type", "bf16"]).out
    assert drawn.startswith("instruction descriptor of kind::f16: 0x08400490\n")
    assert answer(["descriptor", "f16", "0x08400490"]).out == drawn
    shared = answer(["descriptor", "tcgen05", "--address", "0x400", "--leading", "16", "--stride", "1024"]).out
    assert shared.splitlines()[0].endswith("tcgen05: 0x4000404000010040")
    atom = json.loads(answer(["descriptor", "atom", "--json"]).out)
    assert atom["bytes"][1][0] == 144
    for line in (
        "instruction",
        "instruction --kind f16",
        "atom 0x1",
        "shared-memory --swizzle 12B",
        "instruction -M 0x",
    ):
        reply = answer(["descriptor", *line.split()])
        assert (reply.status, reply.out) == (2, "")


def test_an_instruction_says_what_its_descriptor_is():
    by_kind = answer(["descriptor", "f16", "-M", "128", "-N", "256"])
    name = "tcgen05.mma.cta_group::1.kind::f16"
    assert answer(["descriptor", "-a", "B200", "-i", name, "-M", "128", "-N", "256"]) == by_kind
    assert answer(["descriptor", "-a", "B200", "-i", name, "0x08400490"]) == answer(["descriptor", "f16", "0x08400490"])
    assert answer(["descriptor", "-a", "H100", "-i", "wgmma.m64n24k8", "0x1"]) == answer(["descriptor", "wgmma", "0x1"])
    for line in (
        "descriptor",
        "descriptor -a MI300X -i v_mfma_f32_32x32x8_f16",
        "descriptor -i wgmma.m64n24k8",
        "descriptor -a H100 -i wgmma.m64n24k8 f16",
        "descriptor -a H100 -i wgmma.m64n24k8 nonsense",
    ):
        assert answer(line.split())[:2] == (2, ""), line
