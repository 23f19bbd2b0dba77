"""Every kind of answer in JSON is as src/mmacalc/schema.json describes it, and nothing more."""

import ast
import json
import random
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import mmacalc
from mmacalc.cli import answer, command, commands
from mmacalc.command.options import MATRICES, MATRIX_NAMES
from ptx_cases import recorded
from recorded import program as recorded_program
from recorded import text as recorded_text
from samples import sampled
from sources import syntax_tree

SOURCE = Path(mmacalc.__file__).parent
ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((SOURCE / "schema.json").read_text(encoding="utf-8"))
F16 = "v_mfma_f32_16x16x16_f16"
F8F6F4 = "v_mfma_scale_f32_16x16x128_f8f6f4"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
TCGEN05 = "tcgen05.mma.cta_group::1.kind::f16"
LISTING = "v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3]\nv_add_f32 v6, v0, v1\n"
SAMPLES = {
    "list-instructions": ["-a cdna3 -L", "find --shape 32x32x8 --a bf16"],
    "equivalents": ["find gfx942 like mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"],
    "detail-instruction": [f"-a cdna3 -i {F16} -d", f"-a gfx950 -i {F8F6F4} -d --cbsz fp4", f"-a sm_80 -i {MMA} -d"],
    "get-register": [f"-a cdna3 -i {F16} -A -g -I 3 -K 9", f"-a gfx950 -i {F8F6F4} -D -g -o --cbsz fp6"],
    "matrix-entry": [f"-a cdna3 -i {F16} -D -m -l 3 -o", f"-a gfx950 -i {F8F6F4} --scale-a -m -l 3"],
    "register-layout": [f"-a cdna3 -i {F16} -A -R", f"-a sm_80 -i {MMA} -D -R"],
    "matrix-layout": [f"-a cdna3 -i {F16} -A -M", f"-a sm_80 -i {MMA} -D -M"],
    "pattern": [f"-a cdna3 -i {F16} -A --pattern"],
    "architectures": ["architectures"],
    "version": ["-v"],
    "help": ["help", "help formats"],
    "explain": ["explain {listing}", "explain 'HMMA.16816.F32 R4, R8, R12, R4'", "explain -a B200 UTCHMMA",
                "explain '__builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0)'",
                "explain 'wgmma.fence.sync.aligned;'",
                "explain 'tcgen05.ld.sync.aligned.32x32b.x2.b32 {{%a, %b}}, [%t];'",
                "explain 'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%d0,%d1}}, %d2, %d3, {{%d4,%d5}};'"],
    "assemble": ["assemble -a gfx942 'v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3]' --fields",
                 "assemble -a gfx942 '.long 1'"],
    "disassemble": ["disassemble -a gfx942 '00 81 cc d3 10 25 02 04'"],
    "intrinsic": [f"intrinsic -a gfx942 {F16}", "intrinsic -a gfx950 v_mfma_f32_16x16x128_f8f6f4"],
    "compare": [f"compare gfx942 {F16} sm_90a wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"],
    "waits": ["waits -a gfx950 'v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]' 'v_mov_b32 v0, 0'",
              "waits -a gfx1100 'v_exp_f32 v0, v1' 'v_add_f32 v2, v0, v0'", "waits -a gfx942 {listing}"],
    "lint": ["lint -a gfx942 {listing}", "lint -a gfx1100 'v_exp_f32 v0, v1 \n v_add_f32 v2, v0, v0'"],
    "estimate": ["estimate -a MI300X --gemm 256x256x256 --type f16", "estimate -a sm_70 --gemm 64x64x64 --type f16"],
    "numerics": [f"numerics -a gfx942 -i {F16}", "numerics -a gfx942 -i v_mfma_i32_16x16x32_i8"],
    "two-numerics": [f"numerics -a gfx942 -i {F16} -i v_mfma_i32_16x16x32_i8"],
    "numerics-overview": ["numerics -a cdna3"],
    "run": [f"run -a gfx942 -i {F16} --random 1 --registers", f"run -a gfx942 -i {F16} --random 1 --compare {{zeros}}"],
    "lds-transpose": ["lds-transpose -i v_mfma_f32_32x32x16_f16 -A"],
    "lds-transpose-tile": ["lds-transpose -l ds_read_b96_tr_b6"],
    "lds-transpose-loads": ["lds-transpose"],
    "layout": ["layout (4,8):(8,1)", "layout (4,2):(1,8)",
               "layout BlockedLayout([1,4],[8,8],[4,1],[1,0]) --tensor 64x64"],
    "triton-dump": ["explain {ttgir}"],
    "triton-kernel": ["explain {attend}"],
    "layout-conversion": ["layout BlockedLayout([1,4],[8,8],[4,1],[1,0]) BlockedLayout([4,1],[8,8],[4,1],[0,1])"],
    "tile": [f"tile -a gfx942 -i {F16} --waves 2x2 --repeat 1x2", f"tile -a sm_80 -i {MMA} --permutation n=8:1"],
    "tile-element": [f"tile -a gfx942 -i {F16} --waves 2x2 -A -I 3 -K 5"],
    "tile-place": [f"tile -a sm_80 -i {MMA} --waves 2x2 -D --thread 77 --value 1", f"tile -a gfx942 -i {F16} -A -l 3"],
    "tile-operand": [f"tile -a gfx942 -i {F16} --waves 2x2 -D", f"tile -a sm_80 -i {MMA} -B"],
    "memory": [f"memory -a gfx942 -i {F16} -A --ld 64 --search", f"memory -a sm_80 -i {MMA} -B --order col"],
    "shared-operand": ["memory -a H100 -i wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 -B --order col"],
    "chain": [f"chain -a gfx942 {F16} {F16}", f"chain -a gfx942 {F16} v_mfma_f32_16x16x32_fp8_fp8 --use A"],
    "gemm": ["gemm -a gfx942 --random 4x5x6 --type f16 --accuracy", "gemm -a sm_80 --random 40x50x60 --type tf32"],
    "generate": [f"generate -a gfx942 -i {F16}"],
    "numerics-comparison": ["gemm -a H100 --against MI300X --type fp8 --m 8 --n 8 --k 256 --promote 128"],
    "generate-check": [f"generate -a gfx942 -i {F16} --check"],
    "formula": [f"generate -a gfx942 -i {F16} --formula D"],
    "tensor-memory-instruction": [f"-a B200 -i {TCGEN05} -d"],
    "tensor-memory-element": [f"-a B200 -i {TCGEN05} -M 64 -N 64 -D -g -I 3 --load 16x256b.x2"],
    "tensor-memory-cell": [f"-a B200 -i {TCGEN05} -M 64 -N 64 -A -m --column 3"],
    "tensor-memory-elements": [f"-a B200 -i {TCGEN05} -M 64 -N 8 -D -R"],
    "tensor-memory-cells": [f"-a B200 -i {TCGEN05} -M 64 -N 8 -D -M"],
    "tensor-memory-pattern": [f"-a B200 -i {TCGEN05} -M 64 -N 64 -D --pattern --load 16x256b.x2"],
    "tensor-memory-move": ["-a B200 -i tcgen05.cp.cta_group::1.4x256b -d",
                           "-a B200 -i tcgen05.shift.cta_group::1.down -d"],
    "tensor-memory-moved": ["-a B200 -i tcgen05.ld.sync.aligned.16x64b.x2.b32 -g --column 2"],
    "descriptor": ["descriptor f16 -M 128 -N 256", "descriptor wgmma 0x1"],
    "swizzle-atom": ["descriptor atom --swizzle 128B-base32B --type tf32 --major mn"],
    "kernels": ["run-kernel {kernel}"],
    "run-kernel": ["run-kernel {kernel} reverse --block 256 --args {x} out:{y}:f4:256 256 --trace"],
    "profile": ["profile {kernel} reverse --block 256 --args {x} out:{y}:f4:256 256", "profile {kernel} reverse",
                "profile {ptx} --block 256 --args {x} {x} out:{y}:f4:256 256"],
    "profiles": ["profile {ptx} {kernel} reverse"],
    "debug-kernel": ["run-kernel {kernel} reverse --block 256 --args {x} out:{y}:f4:256 256 --stop-at finding "
                     "--watch v1",
                     "run-kernel {ptx} vector_add --block 256 --args {x} {x} out:{y}:f4:256 256 "
                     "--watch vector_add_param_2[3]"],
    "follow-product": [f"run-kernel {{gemm}} --grid {grid} --block 128 --args {{a}} {{b}} out:{{y}}:f4:64x128 64 128 "
                       "96 --product '3 = 1 @ 2.T'" for grid in (1, 2)],
    "find-repairs": ["run-kernel {ptx} vector_add --block 256 --args {x} {x} out:{y}:f4:256 256 --expect 3={x}",
                     "run-kernel {ptx} vector_add --block 256 --args {x} {x} out:{y}:f4:256 256 --expect 3={x} "
                     "--tolerance 9"],
    "ptx-kernels": ["run-kernel {ptx}"],
    "run-program": ["run-program {program} race"],
    "ptx-coverage": ["run-kernel {ptx} --covered"],
    "run-ptx-kernel": ["run-kernel {ptx} vector_add --block 256 --args {x} {x} out:{y}:f4:256 256 --schedule 3",
                       "run-kernel {race} k --block 64 --args out:{y}:f4:64"],
    "chain-list": [f"chain -a gfx942 {F16} --list"],
}  # fmt: skip


RACE = """.version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 p) {
.reg .b32 %r<3>; .shared .b32 s;
mov.u32 %r1, %tid.x;
st.shared.b32 [s], %r1;
ret;
}"""


def strict(part):
    """A schema under which an object has no keys but those described."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: strict(value) for key, value in part.items()}
    return {"additionalProperties": False, **found} if "properties" in part else found


STRICT = strict(SCHEMA["$defs"])


def problems(query, content):
    schema = {"$ref": f"#/$defs/{query.replace(' ', '%20')}", "$defs": STRICT}
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema).iter_errors(content)]


def checked(argv):
    """The query that a command line answers, its JSON validated."""
    program = argv[0] == "run-program"  # what follows its program belongs to that
    reply = answer([argv[0], "--json", *argv[1:]] if program else [*argv, "--json"])
    assert reply.status < 2, reply.err
    found = json.loads(reply.out)
    assert Draft202012Validator(SCHEMA).is_valid(found)
    assert found.pop("schema_version") == 2
    query = found.pop("query")
    assert problems(f"answer {query}", found) == [], argv
    return query


@pytest.fixture
def files(tmp_path):
    (tmp_path / "kernel.s").write_text(LISTING)
    (tmp_path / "zeros.csv").write_text("\n".join([",".join(["0"] * 16)] * 16))
    np.save(tmp_path / "x.npy", np.zeros(256, np.float32))
    (tmp_path / "vector_add.ptx").write_text(recorded("vector_add.ptx"))
    (tmp_path / "race.ptx").write_text(RACE)
    (tmp_path / "mma_gemm.ptx").write_text(recorded("mma_gemm.ptx"))
    for name, rows in (("a", 64), ("b", 128)):
        np.save(tmp_path / f"{name}.npy", np.ones((rows, 96), np.float16))
    (tmp_path / "matmul.ttgir").write_text(recorded_text("triton/matmul_gfx942.ttgir.gz"))
    kernel = Path(__file__).parent / "data/kernels/exchange_gfx942.hsaco"
    with zipfile.ZipFile(Path(__file__).parent / "data/triton/attend.zip") as recorded_kernels:
        recorded_kernels.extractall(tmp_path / "attend")
    return {
        "attend": str(tmp_path / "attend" / "gfx942"),
        "kernel": str(kernel),
        "program": str(recorded_program("hip", tmp_path)),
        "ptx": str(tmp_path / "vector_add.ptx"),
        "gemm": str(tmp_path / "mma_gemm.ptx"),
        "a": str(tmp_path / "a.npy"),
        "b": str(tmp_path / "b.npy"),
        "ttgir": str(tmp_path / "matmul.ttgir"),
        "race": str(tmp_path / "race.ptx"),
        "x": str(tmp_path / "x.npy"),
        "y": str(tmp_path / "y.npy"),
        "listing": str(tmp_path / "kernel.s"),
        "zeros": str(tmp_path / "zeros.csv"),
    }


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_is_what_the_records_say():
    """`python tools/schema.py` writes it anew."""
    done = subprocess.run([sys.executable, "tools/schema.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_kind_of_answer_has_a_sample():
    declared = {query for name in ("", *commands()) for query in command(name).every_answer()}
    assert declared == set(SCHEMA["properties"]["query"]["enum"]) == set(SAMPLES)


def test_a_command_shows_just_the_answers_that_it_declares():
    declared = {query for name in ("", *commands()) for query in command(name).every_answer()}
    paths = [*(SOURCE / "questions").rglob("*.py"), *(SOURCE / "cli").glob("*.py")]
    shown = {
        node.args[1].value
        for path in paths
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show"
    }
    assert shown == declared


@pytest.mark.parametrize(("query", "line"), [(query, line) for query, lines in SAMPLES.items() for line in lines])
def test_a_sample_of_every_kind_of_answer_fits_its_schema(query, line, files):
    assert checked(shlex.split(line.format(**files))) == query


@sampled("arch", mmacalc.architectures(), 10)
def test_answers_about_every_architecture_fit_the_schema(arch):
    rng = random.Random(arch)
    for inst in rng.sample(listed := mmacalc.instructions(arch), min(3, len(listed))):
        base = ["-a", arch, "-i", inst.name]
        checked([*base, "-d"])
        for option, name in zip(MATRICES, (MATRIX_NAMES[option] for option in MATRICES)):
            if name in inst.register_operands:
                for action in ("-g", "-m", "--pattern"):
                    checked([*base, f"--{option.replace('_', '-')}", action])


def test_a_line_of_a_batch_fits_the_schema(tmp_path):
    lines = tmp_path / "lines"
    lines.write_text("-a cdna3 -L --json\n-a nonsense -L\n-v\n")
    for line in answer(["batch", str(lines)]).out.splitlines():
        assert problems("batch", json.loads(line)) == []
