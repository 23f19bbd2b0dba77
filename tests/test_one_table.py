"""A fact about an AMD instruction stands once: in its record, not in lists of names beside it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mmacalc.asm.tables import FAMILY_OF, flags_of, table
from mmacalc.catalog import entry
from test_architecture_files import twin_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/mmacalc"
EXAMPLES = (
    "v_add_f32", "v_exp_f32", "v_dot2acc_f32_f16", "v_cmpx_eq_f32", "v_readlane_b32", "v_permlane32_swap_b32",
    "v_div_fmas_f32", "v_fma_f64", "v_fma_mix_f32", "v_movreld_b32", "v_cvt_sr_fp8_f32", "v_mfma_f32_32x32x8_f16",
    "v_wmma_f32_16x16x16_f16", "ds_read_b128", "ds_load_b128", "global_load_dwordx4", "buffer_load_short_d16",
    "scratch_store_b32", "flat_atomic_add_f32", "s_waitcnt", "s_and_saveexec_b64", "s_branch", "s_setpc_b64",
    "s_load_dwordx2", "s_nop", "s_bitset1_b32",
)  # fmt: skip
# Where asm and hazards name one of them, or the beginning of its name, and why.
ALLOWED = {
    "asm/reader.py": "words that begin a line of AMD's assembly, in texts of any target, and what waits may name",
    "asm/written.py": "messages about the operand of s_waitcnt",
    "hazards/memory_counters.py": "the instructions that wait, which are written too",
    "hazards/register_use.py": "s_nop gives wait states; graphics and other names that the tables leave out, by prefix",
    "hazards/recognizer.py": "s_nop is what repairs",
    "hazards/tables.py": "the words of the rules: s_nop",
    "hazards/lint.py": "macros and modes of a listing that is read, names that the tables leave out",
}


def words_of(path: Path):
    """The strings of a module that are no documentation."""
    tree = ast.parse(path.read_text())
    shown = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in shown:
            yield from node.value.split()


def names(word: str) -> bool:
    """Whether a word is one of the examples or asks for its beginning."""
    return any(name == word or (len(word) > 2 and name.startswith(word) and "_" in word) for name in EXAMPLES)


def test_only_modules_with_a_reason_name_an_instruction_or_the_beginning_of_its_name():
    found: dict[str, set[str]] = {}
    for path in sorted([*(SOURCE / "asm").glob("*.py"), *(SOURCE / "hazards").glob("*.py")]):
        if hits := {word for word in words_of(path) if names(word)}:
            found[str(path.relative_to(SOURCE))] = hits
    assert {path: hits for path, hits in found.items() if path not in ALLOWED} == {}
    assert ALLOWED.keys() - found.keys() == set()


def test_the_flags_that_readers_ask_for_are_flags_of_records():
    known = {flag for target, (_, _, wave) in FAMILY_OF.items() for flags in table(target, wave).flags.values()
             for flag in flags}  # fmt: skip
    asked = {"branch", "barrier", "call", "packed", "salu", "valu", "atomic", "asynccnt", "dot", "trans",
             "lane_select", "read_lane", "div_fmas", "fma64", "permlane_swap", "relative", "byte_sel", "byte_sel_dst",
             "scale_sel", "swizzle", "from_lds", "message", "lane_mask", "one_scalar", "signed_literal", "invalidate",
             "write_back", "prefetch", "waits_xcnt", "by_m0"}  # fmt: skip
    assert asked <= known
    assert "barrier" in flags_of("s_rfe_b64")


OBJECT = ROOT / "tests/data/llvm/scale_gfx942.hsaco"
NEW_TARGET = """
import sys
import mmacalc
from mmacalc.asm.objects import read

code = read(sys.stdin.buffer.read(), "x", "gfx942").sections[0].code + bytes.fromhex("0081ccd310250204")
text = mmacalc.disassemble(code, sys.argv[1])
assert ".long" not in text
assert mmacalc.assemble(text, sys.argv[1]) == code
print(text)
"""


def test_a_target_is_a_run_of_the_generator_and_one_file_of_the_catalog(tmp_path):
    """gfx942 under another name, in a copy of the package without any edit: the table as the generator writes it, and a
    file that describes its matrix instructions."""
    shutil.copytree(SOURCE, tmp_path / "mmacalc", ignore=shutil.ignore_patterns("__pycache__", "*.html"))
    table = tmp_path / "mmacalc/asm/instruction_tables.txt"
    lines = table.read_text().splitlines(keepends=True)
    (own,) = [line for line in lines if line.startswith("target|gfx942|")]
    own = re.sub(r"gfx942\|(.*)\|.*", r"gfx9999|\1|", own)
    others = [line if line.startswith("target|") else line.replace("gfx942", "gfx942 gfx9999", 1) for line in lines]
    table.write_text("".join([*others[:2], own, *others[2:]]))
    twin = twin_of("cdna3").replace('"gfx942"', '"gfx9999"').replace('"hazards": "gfx9999"', '"hazards": "gfx942"')
    (tmp_path / "twin.py").write_text(twin.replace('"aliases": (', '"aliases": ("gfx9999", '))
    environment = {**os.environ, "MMACALC_CATALOG": str(tmp_path / "twin.py"), "PYTHONPATH": str(tmp_path)}
    shown = []
    for name in ("gfx942", "gfx9999"):
        done = subprocess.run([sys.executable, "-c", NEW_TARGET, name], env=environment, capture_output=True,
                              input=OBJECT.read_bytes(), check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        shown.append(done.stdout)
    assert shown[0] == shown[1]
    assert shown[0].count(b"\n") > 10
    assert b"v_mfma_f32_32x32x8_f16" in shown[0]


def test_the_registers_of_a_family_are_those_of_the_records_of_its_targets():
    for name, (_, scalars, wave) in FAMILY_OF.items():
        architecture = entry(name).architecture
        assert scalars.vector_alignment == (2 if architecture.register_alignment == 8 else 1), name
        assert wave == architecture.waves[0]
