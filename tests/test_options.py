"""The rule of CONTRIBUTING.md ("Options of the command line"): one spelling means one thing in every command."""

import argparse
import re
from pathlib import Path

import pytest

import mmacalc
from mmacalc.cli import answer, command_parser, commands, summaries
from mmacalc.cli import command as command_of
from mmacalc.command.options import MATRICES, MODIFIERS, spellings
from mmacalc.model.instruction import SYNONYMS

CLASSIC = ""
COMMANDS = (CLASSIC, *commands())
AMDS_OWN = ("-m", "-l", "-o", "-M")  # which mean other things after a command
WITHOUT_JSON = {"batch", "completion", "draw", "lsp", "mcp", "page"}  # always JSON, a script, a picture, a page


def test_what_lists_say_of_commands_is_read_from_their_texts_as_the_commands_have_it():
    assert [tuple(each) for each in summaries()] == [(c.name, c.summary, c.need) for c in commands().values()]


def actions(name):
    """The options of a command by their spellings."""
    return {spelling: each for each in command_of(name).options for spelling in (*each.spellings, *each.hidden)}


def meaning(option):
    """What follows an option: nothing, or what its placeholder says."""
    return option.placeholder or option.choices or None


def test_a_spelling_is_followed_by_the_same_in_every_command():
    meanings = {}
    for command in COMMANDS:
        for spelling, action in actions(command).items():
            own = command == CLASSIC and spelling in AMDS_OWN
            if not own and spelling not in action.older:
                meanings.setdefault(spelling, {}).setdefault(meaning(action), []).append(command)
    assert {spelling: found for spelling, found in meanings.items() if len(found) > 1} == {}


def two_values(option):
    """Two texts that an option takes."""
    for pair in (option.choices[:2], ("1", "2"), ("1x2x3", "4x5x6"), ("x1", "x2")):
        try:
            if len(pair) == 2 and (option.kind is None or len({repr(option.kind(text)) for text in pair}) == 2):
                return pair
        except (argparse.ArgumentTypeError, ValueError):
            pass
    raise AssertionError(option)


def test_an_option_that_takes_one_value_is_not_given_another_in_silence():
    tried = 0
    for name in commands():
        for option in command_of(name).options:
            if option.spellings and option.nargs is None and not option.many and (option.placeholder or option.choices):
                first, second = two_values(option)
                for again in (*option.spellings, *option.hidden):
                    words = [option.spellings[0], first, again]
                    with pytest.raises(mmacalc.Error, match="is given twice, first as"):
                        command_parser(name).parsed([*words, second])
                    try:
                        command_parser(name).parsed([*words, first])
                    except mmacalc.Error as refused:  # another option is required
                        assert "is given twice" not in str(refused)  # noqa: PT017
                    tried += 1
    assert tried > 700


def test_a_command_takes_all_modifiers_or_none_of_them():
    wanted = {spelling for name in MODIFIERS for spelling in spellings(name, None)}
    for command in COMMANDS:
        known = set(actions(command))
        if command not in (CLASSIC, "descriptor"):  # the descriptor has a field called selector
            assert known & wanted in (set(), wanted), command
            assert ("--modifier" in known) == bool(known & wanted), command
    assert wanted <= set(actions(CLASSIC))


ASSEMBLY = (
    ("-a gfx950 -i v_mfma_scale_f32_16x16x128_f8f6f4 --scale-a -g -K 37", "--op_sel 1", "--opsel 1"),
    ("-a gfx950 -i v_mfma_scale_f32_16x16x128_f8f6f4 --scale-a -g -K 37", "--opsel_hi 1", "--op-sel-hi 1"),
    ("-a gfx1100 -i v_wmma_f16_16x16x16_f16 -D -g", "--op-sel 4", "--opsel 4"),
    ("-a gfx1201 -i v_swmmac_f32_16x16x32_f16 -k -g -w 64", "--index-key 1", "--opsel 1"),
    ("-a gfx1201 -i v_wmma_f32_16x16x16_f16 -D -g -o", "--neg_lo 5", "--neg 5"),
    ("-a gfx942 -i v_mfma_f64_16x16x4_f64 -D -g -o", "--neg 5", "--blgp 5"),
    ("draw -a gfx950 -i v_mfma_scale_f32_16x16x128_f8f6f4 --scale-a", "--op-sel 1", "--opsel 1"),
    ("run -a gfx942 -i v_mfma_f64_16x16x4_f64 --random 1 --json", "--neg-lo 2", "--blgp 2"),
    ("-a gfx1250 -i v_wmma_scale_f32_16x16x128_f8f6f4 --scale-a -g -K 99", "--matrix-a-scale MATRIX_SCALE_ROW1",
     "--matrix_a_scale 1"),
    ("-a gfx1250 -i v_wmma_scale_f32_16x16x128_f8f6f4 -A -g -K 99", "--matrix_a_fmt MATRIX_FMT_BF6", "--cbsz 3"),
    ("run -a gfx1250 -i v_wmma_scale_f32_16x16x128_f8f6f4 --random 2 --json", "--matrix-b-fmt MATRIX_FMT_FP4",
     "--blgp 4"),
)  # fmt: skip


@pytest.mark.parametrize(("query", "theirs", "ours"), ASSEMBLY, ids=[theirs for _, theirs, _ in ASSEMBLY])
def test_modifiers_go_by_the_names_of_assembly_too(query, theirs, ours):
    """The results are the same; what `run` repeats of the command line aside."""
    replies = [answer([*query.split(), *words.split()]) for words in (theirs, ours, "")]
    named, plain, without = [re.sub(r'"modifiers": {.*?}', "", reply.out) for reply in replies]
    assert [reply.status for reply in replies] == [0, 0, 0]
    assert named == plain != without


def test_every_name_of_assembly_is_an_option_that_help_leaves_out():
    for command in (CLASSIC, "draw", "run"):
        for name, meant in SYNONYMS.items():
            for spelling in spellings(name, None):
                assert actions(command)[spelling].name == meant
                assert f"{spelling} " not in command_parser(command).format_help()


def test_an_operand_is_chosen_by_the_same_flags():
    for command in ("draw", "page"):
        assert {spelling for name, (short, _) in MATRICES.items() for spelling in spellings(name, short)} <= set(
            actions(command)
        )


def test_every_answer_is_there_as_json():
    assert {command for command in commands() if "--json" not in actions(command)} == WITHOUT_JSON


def test_an_instruction_and_its_architecture_have_one_spelling():
    for command in COMMANDS:
        known = actions(command)
        assert ("-i" in known) == ("--instruction" in known), command
        assert "-i" not in known or "-a" in known, command


def test_a_parser_takes_just_the_options_of_its_command():
    for name in COMMANDS:
        assert set(command_parser(name)._option_string_actions) == {*actions(name), "-h", "--help"}, name


def test_an_older_spelling_stands_beside_another():
    older = {(name, spelling) for name in COMMANDS for each in command_of(name).options for spelling in each.older}
    assert ("find", "--a") in older
    assert ("run-kernel", "--block") in older
    for name in COMMANDS:
        assert all(set(each.older) < set(each.spellings) for each in command_of(name).options if each.older), name


def test_the_guide_lists_every_option_that_commands_share():
    guide = Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.findall(r"`(--?[\w-]+)", guide.partition("## Options")[2].partition("## Style")[0])
    shared = {}
    for name in set(commands()) - {"page"}:
        for spelling in actions(name):
            shared.setdefault(spelling, set()).add(name)
    longest = {spelling for spelling, having in shared.items() if len(having) > 2 and spelling[:2] != "--"}
    assert longest - {"-h"} <= set(table)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("find -a gfx942 --a bf16 --m 32", "find -a gfx942 --a-type bfloat16 --m 32"),
        ("find mfma_f64 -a gfx942", "find -i mfma_f64 -a gfx942"),
        ("intrinsic -a gfx942 v_mfma_f32_16x16x16_f16", "intrinsic -a gfx942 -i v_mfma_f32_16x16x16_f16"),
        ("chain -a gfx942 {} {} --use B", "chain -a gfx942 -i {} -i {} --use B"),
        ("compare gfx942 {} gfx950 {}", "compare -a gfx942 -i {} -a gfx950 -i {}"),
        ("compare gfx942 {} gfx942 {}", "compare -a gfx942 -i {} -i {}"),
        ("numerics -a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -m cbsz=fp4",
         "numerics -a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 --cbsz float4_e2m1fn"),
        ("run -a gfx908 -i v_mfma_f32_32x32x1f32 --random 1 -m cbsz=1",
         "run -a gfx908 -i v_mfma_f32_32x32x1f32 --random 1 --cbsz 1"),
        ("gemm -a gfx942 --random 4x5x6 --type f16 --accuracy", "gemm -a gfx942 --gemm 4x5x6 --type f16 --accuracy"),
        ("memory -a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A --matrix_a_fmt 0",
         "memory -a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A -m matrix_a_fmt=0"),
        ("chain -a gfx942 {} --use B {}", "chain -a gfx942 {} {} --use B"),
        ("-a H100 -i wgmma.m64n24k8 -d", "-a H100 -i wgmma.mma_async.sync.aligned.m64n24k8.f32.tf32.tf32 -d"),
        ("-a gfx942 -i 16x16x8 -d", "-a gfx942 -i v_mfma_f32_16x16x8_xf32 -d"),
        ("chain MI300X {} {} --use B", "chain -a MI300X {} {} --use B"),
        ("intrinsic gfx942 {}", "intrinsic -a gfx942 {}"),
        ("draw gfx942 {} -A", "draw -a gfx942 -i {} -A"),
        ("memory gfx942 {} -A --ld 64", "memory -a gfx942 -i {} -A --ld 64"),
        ("assemble gfx942 s_endpgm", "assemble -a gfx942 s_endpgm"),
        ("compare MI300X MI355X 16x16x32 fp8",
         "compare gfx942 v_mfma_f32_16x16x32_fp8_fp8 gfx950 v_mfma_f32_16x16x32_fp8_fp8"),
        ("transpose-loads -a gfx950 -l ds_read_b64_tr_b8", "transpose-loads -a gfx950 --load ds_read_b64_tr_b8"),
    ],
)  # fmt: skip
def test_two_ways_to_write_one_question_have_one_answer(one, other):
    name = "v_mfma_f32_16x16x16_f16"
    assert answer(one.replace("{}", name).split()) == answer(other.replace("{}", name).split())
    assert answer(one.replace("{}", name).split()).status == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("descriptor f8f6f4 -M 128 -N 256 --a-type e4m3 --b-type e5m2",
         "descriptor f8f6f4 -M 128 -N 256 --a-type float8_e4m3fn --b-type f8E5M2"),
        ("descriptor i8 -M 128 -N 256 --a-type s8 --d-type s32",
         "descriptor i8 -M 128 -N 256 --a-type int8 --d-type int32"),
        ("-a B200 -i tcgen05.mma.cta_group::1.kind::f16 -M 128 -N 64 --a-type bf16 -D -g -I 3",
         "-a B200 -i tcgen05.mma.cta_group::1.kind::f16 -M 128 -N 64 --a-type torch.bfloat16 -D -g -I 3"),
        ("-a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A -g --cbsz fp4 -K 9",
         "-a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A -g --cbsz MXFP4 -K 9"),
        ("find -a gfx942 --a-type bf16", "find -a gfx942 --a-type bfloat16"),
    ],
)  # fmt: skip
def test_formats_go_by_any_of_their_names_in_every_command(one, other):
    assert answer(one.split()) == answer(other.split())
    assert answer(one.split()).status == 0


def test_a_shape_is_taken_with_crosses_commas_and_stars():
    argv = ["find", "-a", "gfx942", "--a-type", "f16", "--shape"]
    assert answer([*argv, "16,16,16"]) == answer([*argv, "16*16*16"]) == answer([*argv, "16X16x16"])
    assert answer([*argv, "16x16x16"]).status == 0


def test_a_seed_and_a_shape_are_told_apart():
    argv = ["gemm", "-a", "gfx942", "--type", "f16", "--json"]
    first = answer([*argv, "--gemm", "4x5x6", "--random", "7"])
    assert first.status == 0
    assert first == answer([*argv, "--gemm", "4x5x6", "--seed", "7"])
    assert "both give a shape" in answer([*argv, "--gemm", "4x5x6", "--random", "4x5x6"]).out
    assert "--gemm MxNxK" in answer([*argv, "--random", "7"]).out
    assert "not a whole number" in answer([*argv, "--gemm", "4x5x6", "--random", "-1"]).out


def test_assembly_is_an_argument_a_file_or_standard_input(tmp_path):
    line = "v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3]"
    (tmp_path / "kernel.s").write_text(line + "\n")
    for command in ("assemble", "lint", "explain"):
        out = answer([command, "-a", "gfx942", line]).out
        assert out
        assert answer([command, "-a", "gfx942", str(tmp_path / "kernel.s")]).out in (
            out, out.replace("the text", str(tmp_path / "kernel.s"))
        )  # fmt: skip
        assert answer([command, "-a", "gfx942", *line.split(" ")]).out == out
        missing = answer([command, "-a", "gfx942", "missing.s"])
        assert (missing.status, missing.out) == (2, "")
        assert "cannot read 'missing.s'" in missing.err


PASTED = (
    ("gfx942", "v_mfma_f32_16x16x16_f16_e64 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:1", "v_mfma_f32_16x16x16_f16"),
    ("gfx1201", "  v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7] // C0", "v_wmma_f32_16x16x16_f16"),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32;",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1;",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"),
    ("sm_80", "HMMA.16816.F32 R4, R8, R12, R4;", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
)  # fmt: skip


@pytest.mark.parametrize(("arch", "pasted", "name"), PASTED, ids=[name for _, _, name in PASTED])
def test_an_instruction_may_be_pasted_with_what_stands_around_it(arch, pasted, name):
    assert answer(["-a", arch, "-i", pasted, "-A", "-R"]) == answer(["-a", arch, "-i", name, "-A", "-R"])
    assert mmacalc.instruction(arch, pasted) is mmacalc.instruction(arch, name)


TYPOS = [
    ("completion bsh", "Did you mean bash"),
    ("draw -a gfx942 -i v_mfma_f32_16x16x16_f16 --color alwyas", "Did you mean always"),
    ("draw -a gfx942 -i v_mfma_f32_16x16x16_f16 --A-matirx", "Did you mean --A-matrix"),
    ("memory -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --order rwo", "Did you mean row"),
    ("memory -a gfx942 -i v_mfma_f32_16x16x16_f16 -A --swizzle 129B", "Did you mean 128B"),
    ("chain -a gfx942 v_mfma_f32_16x16x16_f16 v_mfma_f32_16x16x16_f16 --use Bt2", "Did you mean Bt"),
    ("gemm -a gfx942 --gemm 4x4x4 --type f16 --k-order ascendign", "Did you mean ascending"),
    ("run -a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 --random 1 --cbsz fp44", "Did you mean fp4"),
    ("descriptor f61", "Did you mean f16"),
    ("descriptor f16 -M 128 -N 256 --a-type bf61", "Did you mean bf16"),
    ("-a B200 -i tcgen05.mma.cta_group::1.kind::f61 -d", "Did you mean f16"),
    ("numerics -a gfx942 -i v_mfma_f32_16x16x16_f16 -m cbzs=1", "Did you mean cbsz"),
    ("architectures MI300Y", "Did you mean mi300"),
    ("help modifers", "Did you mean modifiers"),
    ("version", "Did you mean --version"),
    ("MI300X", "`mmacalc -a MI300X -L`"),
    ("v_mfma_f32_32x32x8_f16", "`mmacalc find v_mfma_f32_32x32x8_f16`"),
    ("-a gfx942 v_mfma_f32_32x32x8_f16", "Did you mean -i v_mfma_f32_32x32x8_f16"),
    ("-a A100 -i m16n8k16 -d", "and 15 more. `mmacalc find -a sm_80 --shape 16x8x16`"),
    ("-a gfx942 -i 32x32x8 -d", "v_mfma_f32_32x32x8_f16, v_mfma_f32_32x32x8_bf16"),
    (
        "-a gfx942 -i __builtin_amdgcn_mfma_f32_16x16x17f16 -d",
        "`mmacalc find -a cdna3 __builtin_amdgcn_mfma_f32_16x16x17f16` says which it becomes",
    ),
    ("-a gfx942 -i 32x32x9 -d", "no instruction of shape 32x32x9"),
    ("-i v_mfma_f32_32x32x8_f16 -d", "v_mfma_f32_32x32x8_f16 is on cdna3, cdna4: choose one with -a"),
]


@pytest.mark.parametrize(("line", "says"), TYPOS, ids=[line for line, _ in TYPOS])
def test_a_misspelt_value_is_answered_with_the_closest(line, says):
    status, out, err = answer(line.split())
    assert (status, out) == (2, "")
    assert says in err
