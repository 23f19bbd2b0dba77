"""The server for coding agents, asked by the protocol's own client, and the text that tells agents what to ask."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

import mmacalc
from mmacalc.cli import answer, commands
from mmacalc.cli.mcp import TOOLS, server, shortened

ROOT = Path(__file__).parents[1]
MFMA = {"gpu": "MI300X", "instruction": "v_mfma_f32_32x32x8_f16"}
LISTING = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]\nv_add_f32 v6, v0, v1\n"
OBJECT = str(ROOT / "tests/data/kernels/exchange_gfx942.hsaco")
CALLS = {
    "find": ({"words": "32x32x8 bf16", "gpu": "MI300X"}, "v_mfma_f32_32x32x8_bf16"),
    "compare": ({**MFMA, "other_gpu": "A100", "other": "mma.m16n8k16.f32.f16.f16.f32"}, "rounding to D"),
    "locate": ({**MFMA, "operand": "A", "row": 3, "column": 7}, "A[3][7] = v1{35}.[31:16]"),
    "layout": ({**MFMA, "operand": "D"}, "lane"),
    "tile": ({**MFMA, "operand": "D", "waves": "2x2", "options": "-I 40 -J 50"}, "wave"),
    "explain": ({"text": "HMMA.16816.F32 R4, R8, R12, R4"}, "mma.sync.aligned.m16n8k16"),
    "chain": ({"gpu": "MI300X", "first": MFMA["instruction"], "second": MFMA["instruction"]}, "identical"),
    "memory": ({**MFMA, "operand": "A", "row_elements": 64}, "padding"),
    "lint": ({"assembly": LISTING, "gpu": "gfx942"}, "put s_nop 4 before it"),
    "diagnose": ({**MFMA, "a": [[1.0] * 8] * 32, "b": [[1.0] * 32] * 8, "d": [[8.0] * 32] * 32}, ""),
    "run_kernel": ({"path": OBJECT}, "reverse"),
    "profile": ({"path": OBJECT, "kernel": "reverse"}, ""),
    "generate": (MFMA, "__builtin_amdgcn_mfma_f32_32x32x8f16"),
    "estimate": ({"gpu": "MI300X", "gemm": "256x256x256", "type": "fp8"}, "fp8"),
}


def asked(calls, made=None):
    """The answers of tools, by the SDK's client: (whether it is an error, the text)."""

    from mcp import Client  # here, for it takes a second, and each test process imports this module

    async def talk():
        async with Client(server() if made is None else made) as client:
            found = []
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                assert len(result.content) == 1
                found.append((result.is_error, result.content[0].text))
            return (await client.list_tools()).tools, found

    return asyncio.run(talk())


def test_every_tool_answers_the_client_within_the_limit():
    tools, found = asked([(name, arguments) for name, (arguments, _) in CALLS.items()])
    assert [tool.name for tool in tools] == [tool.__name__ for tool in TOOLS] == list(CALLS)
    for (name, (_, says)), (wrong, text) in zip(CALLS.items(), found):
        assert not wrong, (name, text)
        assert says in text, name
        assert 0 < len(text) <= 6000
    assert all(tool.description and len(tool.description) < 400 for tool in tools)
    assert sum(len(tool.model_dump_json()) for tool in tools) < 14_000  # what a session pays before it asks


def test_a_refusal_is_an_error_with_the_sentence_and_its_suggestions():
    wrong = {**MFMA, "instruction": "v_mfma_f32_32x32x8_f61", "operand": "A", "row": 3, "column": 7}
    calls = [
        ("locate", wrong), ("locate", {**MFMA, "operand": "X", "row": 0, "column": 0}),
        ("locate", {**MFMA, "operand": "A"}),
        ("locate", {**MFMA, "operand": "A", "row": 3, "column": 7, "options": '"'}),
        ("layout", {**MFMA, "operand": "A", "options": "-o file"}), ("explain", {"text": "-"}),
        ("diagnose", {**MFMA, "a": "missing.npy", "b": "missing.npy", "d": "missing.npy"}),
    ]  # fmt: skip
    says = (
        "Did you mean v_mfma_f32_32x32x8_f16", "operand is one of A, B", "give row and column", "quotation",
        "writes files", "standard input is already used", "cannot read 'missing.npy'",
    )  # fmt: skip
    for (wrong, text), part in zip(asked(calls)[1], says, strict=True):
        assert wrong
        assert part in text


def test_places_of_every_operand_are_asked_for_by_row_and_column():
    scaled = {"gpu": "gfx950", "instruction": "v_mfma_scale_f32_16x16x128_f8f6f4"}
    inst = mmacalc.instruction(*scaled.values())
    for name, (row, column) in {
        "A": ("i", "k"),
        "B": ("k", "j"),
        "D": ("i", "j"),
        "SA": ("i", "k"),
        "SB": ("k", "j"),
    }.items():
        place = {"row": 3, "column": 5}
        [(wrong, text)] = asked([("locate", {**scaled, "operand": name, **place})])[1]
        location = inst.operand(name).locate(**{row: 3, column: 5})[0]
        assert not wrong
        assert f"v{location.register}{{{location.lane}}}" in text
        [(_, back)] = asked(
            [("locate", {**scaled, "operand": name, "lane": location.lane, "register": location.register})]
        )[1]
        assert "[3][5]" in back.replace("[5][3]", "[3][5]") or name in ("SA", "SB")


def test_a_long_answer_ends_with_how_much_more_there_is():
    [(_, text)] = asked([("find", {"words": "int4"})], server(1000))[1]
    assert len(text) <= 1000
    shown = int(re.search(r"\.\.\. (\d+) more lines", text)[1])
    whole = answer(["find", "int4"])
    assert shown + text.count("\n") == (whole.out + whole.err).rstrip("\n").count("\n") + 1
    assert len(shortened("x" * 9000, 600)) <= 600


def test_diagnose_takes_files_and_rows(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (32, 8)).astype(float), rng.integers(-4, 5, (8, 32)).astype(float)
    np.save(tmp_path / "d.npy", (a @ b).T.astype(np.float32))
    call = {**MFMA, "a": a.tolist(), "b": b.tolist(), "d": str(tmp_path / "d.npy")}
    [(wrong, text)] = asked([("diagnose", call)])[1]
    assert not wrong
    assert "transposed" in text


def test_the_command_speaks_the_protocol_on_standard_input_and_output():
    from mcp import StdioServerParameters

    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "mmacalc", "mcp"], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    )
    _, found = asked([("find", CALLS["find"][0]), ("lint", CALLS["lint"][0])], parameters)
    assert [wrong for wrong, _ in found] == [False, False]


def test_without_the_package_the_command_says_what_to_install_and_all_else_works(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['mcp'] = None\nsys.modules['mcp.server'] = None\nsys.modules['pygls'] = None\n"
        "sys.modules['lsprotocol'] = None\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    for command in ("mcp", "lsp"):
        done = subprocess.run(
            [sys.executable, "-m", "mmacalc", command],
            capture_output=True,
            text=True,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        assert (done.returncode, done.stdout) == (2, ""), command
        assert "install" in done.stderr
        assert ("mcp" if command == "mcp" else "pygls") in done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "mmacalc", "mcp", "-h"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0


def test_the_skill_is_in_the_package_and_every_command_that_it_names_is_there():
    shown = answer(["help", "agents"]).out
    assert shown == Path(mmacalc.__file__).parent.joinpath("cli/SKILL.md").read_text(encoding="utf-8")
    assert shown.startswith("---\nname: mmacalc\ndescription: ")
    head = shown.split("---")[1]
    assert len(head) < 1024  # what agents read of every skill
    named = {line.split()[1] for line in re.findall(r"`(mmacalc [a-z][^`]*)`", shown)}
    assert named <= {*commands()}
    assert {"find", "explain", "chain", "memory", "lint", "run-kernel", "profile", "diagnose", "generate"} <= named
    for line in re.findall(r"`mmacalc ([^`]*NAME[^`.]*)`", shown):
        if "FILE" not in line and "--a " not in line and "-o " not in line:
            words = shlex.split(line.replace("H100 NAME", "gfx950 NAME").replace("NAME", "v_mfma_f32_32x32x8_f16"))
            assert answer(words).status == 0, words
    assert json.loads(answer(["help", "agents", "--json"]).out)["topic"] == "agents"
