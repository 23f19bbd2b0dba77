"""`explain` of calls in C++ and LLVM IR, of listings with equal lines, and of hostile texts: it takes linear time."""

import random
import time

import pytest

import mmacalc
from mmacalc.cli import answer
from mmacalc.compiler.builtins import intrinsics
from mmacalc.compiler.c_text import calls, constant
from recorded import table
from samples import sampled

MFMA = "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]\n"
HMMA = "  HMMA.16816.F32 R4, R8, R12, R4 ;\n"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
CALL = "__builtin_amdgcn_mfma_f32_32x32x8f16("


def expression(rng, depth=3):
    """A random expression of C++ that is a value for an argument; without a comma outside of brackets."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(
            ["a", "x1", "p->v", "s.t", "*p", "&q[0]", "017", "0xeL", "1.5e-3f", "'\\''", "','", "ns::k", "1'000"]
        )
    inner = [expression(rng, depth - 1) for _ in range(3)]
    return rng.choice([
        "{0}->f({1}, {2})", "({0})", "({0}) >> ({1})", "({0}) << ({1})", "({0}) < ({1}) ? {2} : {0}", "v[{0}][{1}]",
        "static_cast<float4>({0})", "get<0, 1>({0})", "std::pair<int, S<8>>({0}, {1}).first", "(half4){{{0}, {1}}}",
        "({0}) >= ({1})", "g(\"),(\", {0})", "({0}) /* ,) */ + ({1})", "[&](int i) {{ return {0}; }}({1})",
        "({0}) > ({1})", "({0}) -> w", "u[{0} , {1}]", "({0}) // ,(\n + ({1})", "f({0},\n  {1})", "S<{0}>::of({1})",
    ]).format(*inner)  # fmt: skip


@pytest.mark.parametrize("arch", ["gfx90a", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_expressions_of_cpp_as_arguments_are_explained_as_simple_names_are(arch):
    rng = random.Random(f"expressions {arch}")
    known = [one for inst in mmacalc.instructions(arch) for one in intrinsics(inst)]
    for one in [rng.choice(known) for _ in range(150)]:
        given = ["1" if at in one.immediates else f"x{at}" for at in range(len(one.arg_names))]
        written = [text if at in one.immediates else expression(rng) for at, text in enumerate(given)]
        [plain] = mmacalc.explain(f"d = {one.builtin}({', '.join(given)});", arch).lines
        text = f"d = {one.builtin}({' ,'.join(written)}\n); // end"
        [found] = [line for line in mmacalc.explain(text, arch).lines if line.text.startswith(one.builtin)]
        fields = ("number", "instruction", "fields", "flags", "cycles", "problem")
        assert [getattr(found, name) for name in fields] == [getattr(plain, name) for name in fields], text
        assert len(found.operands) == len(plain.operands)
        for ours, theirs in zip(found.operands, plain.operands):
            assert ours == mmacalc.questions.explain.ExplainedOperand(
                theirs.role, ours.text, theirs.registers, theirs.operand, theirs.first, theirs.remarks
            ), text


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("01", 1), ("017", 15), ("0xe", 14), ("0XEul", 14), ("1u", 1), ("2LL", 2), ("0b11", 3), ("1'0", 10),
     ("true", 1), ("(int)1", 1), ("static_cast<unsigned int>(3)", 3), ("-1", -1), ("~0", -1), ("1 << 2 | 1", 5),
     ("(1 + 2) * 3 - 4", 5), ("2 - 1 - 1", 0), ("!0", 1), ("8 >> 1 & 6 ^ 1", 5), ("CBSZ", None), ("a < b", None),
     ("()", None), ("(1", None), ("1)", None), ("1 2", None), ("", None), ("- ", None), ("e", None), ("f(1)", None),
     ("(bool)2", None), ("'a'", None)],
)  # fmt: skip
def test_constants_are_read_as_c_reads_them(text, value):
    assert constant(text) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [("08", "octal"), ("0o7", "not an integer of C"), ("1_0", "not an integer of C"), ("CBSZ", "not in the text"),
     ("9" * 5000, "of up to 64 bits"), ("0x" + "f" * 5000, "of up to 64 bits"), ("1 << 70", "more than 64 bits"),
     ("9" * 19, "CBSZ")],
)  # fmt: skip
def test_a_constant_that_is_none_is_a_problem_of_its_line(text, says):
    status, out, err = answer(
        ["explain", "-a", "gfx90a", f"d = __builtin_amdgcn_mfma_f32_32x32x4f16(a, b, c, {text}, 0, 0);"]
    )
    assert (status, err) == (0, "")
    assert says in out.rpartition("note: ")[2]


def test_a_call_with_too_many_arguments_is_a_problem_and_templates_are_told_from_comparisons_by_their_number():
    [line] = mmacalc.explain(f"{CALL}a, b, c, 0, 0, 0, 0)", "gfx942").lines
    assert "it takes 6 arguments; got 7" in line.problem
    [call] = calls("__f(a < b, c > (d), e<f, g>(h))", lambda name: name == "__f")
    assert call.arguments_for(3) == ("a < b", "c > (d)", "e<f, g>(h)")
    assert call.arguments_for(2) == ("a < b, c > (d)", "e<f, g>(h)")
    assert call.arguments_for(4) == ("a < b", "c > (d)", "e<f", "g>(h)")


GROWING = {
    "empty lines": lambda n: "\n" * n + MFMA,
    "escaped quotes": lambda n: '\\"' * n + MFMA,
    "unclosed calls": lambda n: CALL * n,
    "nested calls": lambda n: CALL * n + ")" * n,
    "calls on a line": lambda n: f"{CALL}a, b, c, 0, 0, 0);" * n,
    "templates": lambda n: CALL + "f<1, " * n + ")",
    "closed templates": lambda n: CALL + "f<1, " * n + "2" + ">(x)" * n + ", b, c, 0, 0, 0)",
    "parentheses around a constant": lambda n: f"{CALL}a, b, c, {'(' * n}1{')' * n}, 0, 0)",
    "raw strings": lambda n: MFMA + 'R"(' * n,
    "asm": lambda n: MFMA + 'asm("' * n,
    "comments in SASS": lambda n: HMMA[:-3] + " /*" * n,
    "comments in assembly": lambda n: MFMA[:-1] + " v1 /*" * n,
    "blanks after an opcode": lambda n: HMMA + "HMMA" + " " * n + ";x",
    "dots after an opcode": lambda n: HMMA + "HMMA" + ".A" * n + "!",
    "predicates": lambda n: HMMA + "@P0 " * n,
    "open brackets of SASS": lambda n: "HMMA.16816.F32 " + "[" * n,
    "open brackets of PTX": lambda n: MMA + "a[," * n,
    "braces of PTX": lambda n: MMA + "{" * n,
    "open brackets of assembly": lambda n: "v_mfma_f32_32x32x8_f16 " + "v[" * n,
    "parentheses of assembly": lambda n: "v_mfma_f32_32x32x8_f16 " + "(" * n,
    "names of PTX": lambda n: "tcgen05." * n + MMA,
    "targets": lambda n: MMA + ".target " * n,
    "digits": lambda n: "HMMA.16816.F32 R4, R8, R12, R" + "9" * n,
    "DPAS": lambda n: "dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf " + "(" * n,
    "equal lines of assembly": lambda n: MFMA * n,
    "equal lines of SASS": lambda n: HMMA * n,
    "equal lines of PTX": lambda n: f"{MMA}{{a,b,c,d}}, {{e,f,g,h}}, {{i,j}}, {{a,b,c,d}};\n" * n,
    "equal lines of DPAS": lambda n: "dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.0:bf\n" * n,
}  # fmt: skip


def seconds(text):
    """The CPU time of an answer."""
    start = time.process_time()
    assert answer(["explain", text]).status in (0, 2)
    return time.process_time() - start


@sampled("family", GROWING, 7)
def test_explain_takes_time_in_proportion_to_the_length_of_the_text(family):
    """Of up to five tries, since a busy machine disturbs some; a text of twice the length takes four times in none."""
    text = GROWING[family]
    seconds(text(1))
    tries = []
    while len(tries) < 5:
        tries.append((seconds(text(1500)), seconds(text(3000))))
        if tries[-1][1] < 2.5 * tries[-1][0] + 0.02:
            return
    raise AssertionError(tries)


def test_equal_lines_are_explained_once_and_all_are_listed():
    start = time.process_time()
    status, out, _ = answer(["explain", "-a", "gfx942", MFMA * 8000])
    assert (status, time.process_time() - start < 1.5) == (0, True)
    assert out.count("  as line 1\n") == 7999
    assert [line.number for line in mmacalc.explain(MFMA * 3 + HMMA, "gfx942").lines] == [1, 2, 3]


def test_without_an_architecture_it_is_the_newest_and_what_differs_on_others_is_said():
    found = mmacalc.explain("d = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);")
    assert (found.architecture, found.also) == ("cdna4", ("cdna1", "cdna2", "cdna3"))
    assert dict(found.lines[0].cycles_elsewhere) == {"cdna1": 64, "cdna2": 64}
    for name, cycles in found.lines[0].cycles_elsewhere.items():
        assert mmacalc.instruction(name, "v_mfma_f32_32x32x8f16").cycles == cycles
    out = answer(["explain", "d = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);"]).out
    assert "CDNA4 (the newest that has all of this); also on cdna1, cdna2, cdna3. -a chooses" in out
    assert "32 cycles (cdna1: 64, cdna2: 64)" in out
    found = mmacalc.explain("v_wmma_f32_16x16x16_f16")
    assert (found.architecture, found.lines[0].laid_out_elsewhere) == ("rdna4", ("rdna3",))
    found = mmacalc.explain("HMMA.16816.F32 R4, R8, R12, R4")
    assert (found.architecture, found.lines[0].cycles_elsewhere["sm_80"]) == ("sm_120a", 8)


NINES = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [f"HMMA.16816.F32 R{NINES}, R8, R12, R4", f"HGMMA.64x128x16.F32 R24, gdesc[UR{NINES}], R24",
     f"UTCHMMA gdesc[UR{NINES}], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], !UPT",
     f"LDTM.x4 R{NINES}, tmem[UR4]", f"HMMA.884.F32.F32.STEP{NINES} R4, R8, R12, R4",
     f"wgmma.mma_async.sync.aligned.m64n{NINES}k16.f32.f16.f16 {{a}}, b, c, p, 1, 1, 0, 0;",
     f"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{a,b,c,d}}, {{e,f}}, {{g,h}}, {{a,b,c,d}}, i, {NINES};",
     f"dpas.8x8 (16|M0) r{NINES}:f r30:f r20:bf r10.0:bf", f"dpas.8x8 (16|M0) r40:f r30:f r20:bf r10.{NINES}:bf",
     f"dpas.8x{NINES} (16|M0) r40:f r30:f r20:bf r10.0:bf", f"v_mfma_f32_32x32x8_f16 v[0:{NINES}], v[1:2], v[3:4], 0",
     f"v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:{NINES}", f"{CALL}a, b, c, {NINES}, 0, 0)",
     f"d = @llvm.amdgcn.mfma.f32.32x32x8f16(a, b, c, i32 {NINES}, i32 0, i32 0)"],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_a_number_of_any_length_is_refused_or_a_problem(text):
    status, out, err = answer(["explain", text])
    assert status == 2 or any(word in out for word in ("note: ", "has no", "Did you mean", "9...9")), out
    assert status == (2 if err else 0)
    if status == 0 and text.startswith(("mma.sp", CALL, "d = ")):
        assert "note: " in out


def test_several_files_are_explained_one_after_another(tmp_path):
    first, second, none = (str(tmp_path / name) for name in ("a.s", "b.sass", "none.ttgir"))
    (tmp_path / "a.s").write_text(MFMA)
    (tmp_path / "b.sass").write_text(HMMA)
    status, out, err = answer(["explain", "-a", "gfx942", first, second])
    assert (status, out.startswith(f"{first}:\nArchitecture: CDNA3"), f"{second}: the text is NVIDIA's" in err) == (
        2,
        True,
        True,
    )
    status, out, err = answer(["explain", first, second])
    assert (status, err, out.count("Architecture: ")) == (0, "", 2)
    assert "cannot read" in answer(["explain", first, none]).err
    assert "cannot read" in answer(["explain", none]).err


def test_the_ir_of_triton_is_refused_as_what_it_is():
    (status, out, err) = answer(["explain", "#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1]}>"])
    assert (status, out, "QMMA" in err, "has no instrShape" in err) == (2, "", False, True)


def tcgen05_text(name, operands):
    """A line of PTX with the operands of a row of ptxas's verdicts."""
    words = ["[d]", "[a]" if "A=tmem" in operands else "a", "b", *["[m]"] * ("meta" in operands), "idesc"]
    words += ["[sa]", "[sb]"] * ("sf" in operands)
    words += [f"{{{', '.join('w' * int(word[4:]))}}}" for word in operands if word.startswith("mask")] + ["p"]
    words += ["z"] * ("zeromask" in operands) + [word[5:] for word in operands if word.startswith("scale")]
    if not name.startswith("tcgen05.mma"):
        words = ["[d]", operands[0][6:]] if operands and operands[0].startswith("nCols=") else []
    return f"{name} {', '.join(words)};"


@pytest.mark.parametrize("target", ["100a", "103f", "110a"])
def test_what_ptxas_refuses_of_tcgen05_explain_reports_and_nothing_else(target):
    """Its verdicts (13.5); it takes any power of two on kind::i8, and any column count in a register."""
    compared = [0, 0]
    for row in table("tensor_memory/ptxas_tcgen05.tsv.gz"):
        name, operands = row["instruction"], (row["operands"] or "").split()
        if (
            ("kind::i8" in name and "scale" in (row["operands"] or ""))
            or "lut" in operands
            or "nCols=register" in operands
        ):
            continue
        column = next(key for key in row if key.startswith("accepted_13.5"))
        taken = row[column][column.split("_")[2:].index(target)] == "1"
        [line] = mmacalc.explain(tcgen05_text(name, operands), f"sm_{target}").lines
        if "regs" not in operands:
            assert bool(line.problem) != taken, (line.text, line.problem)
            compared[taken] += 1
    assert min(compared) > 100


@pytest.mark.parametrize(
    ("arch", "right", "wrong"),
    [
        ("A100", "HMMA.16816.F32 R4, R8, R12, R4 ;", "HMMA.16816.F32 R4, R99999999, R12, R4 ;"),
        ("B200", "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UPT ;",
         "UTCHMMA gdesc[UR99999999999], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UPT ;"),
        ("xe2", "dpas.8x8 (16|M0) r10:f null:f r30:bf r20.0:bf",
         "dpas.8x8 (16|M0) r99999999999:f null:f r30:bf r20.0:bf"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_a_problem_of_that_line_and_the_others_are_explained(arch, right, wrong):
    first, second, third = mmacalc.explain("\n".join([right, wrong, right]), arch).lines
    assert (first.problem, third.problem) == ("", "")
    assert "99999999" in second.problem


def test_of_several_files_those_that_can_be_read_are_answered(tmp_path):
    good = tmp_path / "a.s"
    good.write_text("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]\n")
    for command in ("explain", "lint"):
        reply = answer([command, "-a", "gfx942", str(good), str(tmp_path / "missing.s")])
        assert (reply.status, reply.err.count("missing.s")) == (2, 1), "a refusal names the file once"
        assert "a.s" in reply.out


def test_a_number_of_any_length_in_a_line_is_refused_by_waits():
    with pytest.raises(mmacalc.Error, match="does not fit in 64 bits"):
        mmacalc.wait_states(f"s_nop {'1' * 5000}", "v_mov_b32 v0, v1", "gfx942")


@pytest.mark.parametrize("line", ["c = ct.mma(a, b, acc)", "import cuda.tile as ct"])
def test_cutile_is_refused_by_name(line):
    with pytest.raises(mmacalc.Error, match="cuTile's tiles have no layout and no instruction that a program names"):
        mmacalc.explain(line)
