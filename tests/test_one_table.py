"""A fact about an AMD instruction stands once: in its record, not in lists of names beside it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from mmacalc.asm.formats import vop3p
from mmacalc.asm.tables import FAMILY_OF, flags_of, table
from mmacalc.catalog import entry
from sources import syntax_tree
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
SHOWN = "text that is shown"
UNIT = "what fills wait states"
# Every place in the package that names an example or the beginning of its name: what it knows about it, and why that is
# not in the record. A fact stands in one module for each instruction.
PLACES = {
    ("asm/reader.py", "MATRIX"): ("that a text means a matrix instruction", "texts name what a target lacks"),
    ("asm/reader.py", "AMD_MNEMONICS"): ("that a line of a text is AMD's", "any text is read, of any target"),
    ("asm/written.py", "_counters"): (SHOWN, "a message about its operand"),
    ("catalog/cdna3.py", "INSTRUCTIONS"): ("its record on CDNA3", "the record itself"),
    ("catalog/cdna4.py", "INSTRUCTIONS"): ("its record on CDNA4", "the record itself"),
    ("catalog/cdna4.py", "VECTOR_INSTRUCTIONS"): ("lanes in one issue", "rates, which LLVM lacks"),
    ("catalog/grammar/__init__.py", "older_spellings"): ("its older spelling", "a rule of the names themselves"),
    ("catalog/rdna3.py", "INSTRUCTIONS"): ("its record on RDNA3", "the record itself"),
    ("catalog/rdna4.py", "INSTRUCTIONS"): ("its record on RDNA4", "the record itself"),
    ("chaining/ways.py", "SWAPS"): ("what a way of moving data uses it for", "a choice of ours"),
    ("chaining/ways.py", "MEMORY_NAMES"): ("how a target calls its LDS accesses", "names to be written"),
    ("cli/help.py", "ONE"): (SHOWN, "an example"),
    ("cli/help.py", "NAME"): (SHOWN, "an example"),
    ("compiler/builtins.py", "_stem"): ("clang's name of it", "clang's names are not in LLVM's tables"),
    ("hazards/deallocation.py", "MESSAGE"): (SHOWN, "a message"),
    ("hazards/deallocation.py", "REPAIR"): (UNIT, "what repairs is written"),
    ("hazards/deallocation.py", "early_deallocations"): (UNIT, "what repairs is looked for"),
    ("hazards/lane_masks.py", "_MASKS"): ("whether it writes a mask of lanes", "no flag of LLVM's says so"),
    ("hazards/lane_masks.py", "_copies"): ("whether it writes a mask of lanes", "of EXEC, beside a copy of it"),
    ("hazards/lint.py", "NOTHING"): (SHOWN, "a message"),
    ("hazards/lint.py", "_unchecked"): (UNIT, "the unit of the rules"),
    ("hazards/memory_counters.py", "waits_of"): ("what it waits for", "the fields of numbers are immediates.py's"),
    ("hazards/memory_counters.py", "waits_of_statement"): ("what it waits for", "as a text"),
    ("hazards/memory_counters.py", "wait_text"): ("what it waits for", "written"),
    ("hazards/recognizer.py", "nop_instructions"): (UNIT, "what repairs is written"),
    ("hazards/recognizer.py", "HazardRecognizer"): (UNIT, "the unit of the rules"),
    ("hazards/register_use.py", "_kinds"): ("whether it permutes lanes", "by their names, as LLVM's isPermlane"),
    ("hazards/register_use.py", "states_given"): ("how many wait states it gives", "no other gives more than 1"),
    ("hazards/register_use.py", "_nop_states"): ("how many wait states it gives", "its number in a text"),
    ("hazards/tables.py", "RULES"): (UNIT, "the unit of the rules"),
    ("kernels/amd/arithmetic.py", "_results"): ("what CLAMP means", "of comparisons, by the ISA guide"),
    ("kernels/amd/control.py", "NOTHING"): ("what it does", "it computes nothing"),
    ("kernels/amd/control.py", "WAITS"): ("what it does", "it waits"),
    ("kernels/amd/control.py", "_ENDING"): ("what it does", "a function for each"),
    ("kernels/amd/cross_lane.py", "CROSS_LANE"): ("what it does", "a function for each"),
    ("kernels/amd/memory_model.py", "MemoryModel"): (SHOWN, "a message"),
    ("kernels/amd/narrow_formats.py", "is_stochastic"): ("what it does", "the two that a function is for"),
    ("kernels/amd/narrow_formats.py", "stochastic"): ("what it does", "its name has the format"),
    ("kernels/amd/operations/floats.py", "APPROXIMATE"): ("its error", "AMD documents it, LLVM does not"),
    ("kernels/amd/operations/floats.py", ""): ("what it does", "a function for each"),
    ("kernels/amd/operations/packed.py", "DOTS"): ("what it does", "a function for each"),
    ("kernels/amd/operations/rounding.py", "_F64"): ("how it rounds in other modes", "a function for each"),
    ("kernels/amd/operations/rounding.py", "_NARROW"): ("how it rounds in other modes", "a function for each"),
    ("kernels/amd/operations/scalars.py", "SCALARS"): ("what it does", "a function for each"),
    ("kernels/amd/program.py", "PARTIAL"): ("that it keeps a part", "LLVM ties accumulators and these alike"),
    ("kernels/amd/core_operations.py", "_table"): ("which operation of the core it is", "one for each that there is"),
    ("kernels/repairing/amd_edits.py", "_texts"): ("that its operands have no other order", "texts, of any target"),
    ("page/waits.py", "AFTER"): (SHOWN, "examples of the page"),
    ("page/waits.py", "BEFORE"): (SHOWN, "examples of the page"),
    ("questions/find/movement.py", "PURPOSES"): ("what it is good for, in words", "a choice of ours"),
}  # fmt: skip
REPEATED = (SHOWN, UNIT)  # no facts about instructions


@cache
def places():
    """(module, name at its top level) -> line -> the examples that a string there names or begins."""
    found: dict[tuple[str, str], dict[int, set[str]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for top in syntax_tree(path).body:
            targets = [] if isinstance(top, ast.For) else getattr(top, "targets", [getattr(top, "target", None)])
            owner = getattr(top, "name", "".join(getattr(one, "id", "") for one in targets[:1]))
            for node in ast.walk(top):
                documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                for each in () if documents else ast.iter_child_nodes(node):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        for name in named(each.value):
                            lines = found.setdefault((str(path.relative_to(SOURCE)), owner), {})
                            lines.setdefault(each.lineno, set()).add(name)
    return found


def named(text: str) -> set[str]:
    """The examples that a word of a text is, or begins."""
    words = [word for word in text.split() if "_" in word and len(word) > 2]
    return {name for name in EXAMPLES for word in words if name == word or name.startswith(word)}


def test_every_place_that_names_an_instruction_has_a_reason():
    found = places()
    assert {place: lines for place, lines in found.items() if place not in PLACES} == {}
    assert PLACES.keys() - found.keys() == set()


def test_no_fact_about_an_instruction_stands_in_two_modules():
    modules: dict[tuple[str, str], set[str]] = {}
    for (module, name), lines in places().items():
        fact, _ = PLACES[module, name]
        for example in set().union(*lines.values()):
            modules.setdefault((example, fact), set()).add(module)
    assert {one: where for one, where in modules.items() if len(where) > 1 and one[1] not in REPEATED} == {}


def test_bits_of_formats_stand_once():
    """What matrix instructions share with VOP3P has its bits from there; a field of their own is another field."""
    shared = vop3p("cdna").fields
    rows = re.findall(r'\("(\w+)", "([\d:,]+)"', (SOURCE / "asm/encodings.py").read_text())
    assert len(rows) > 20
    names = {"CLMP": "CLAMP", "OPSEL": "OP_SEL", "OPSEL_HI": "OP_SEL_HI", "NEG": "NEG_LO"}
    again = [(name, bits) for name, bits in rows
             if (field := shared.get(names.get(name.removeprefix("SCALE_"), name.removeprefix("SCALE_"))))
             and field.bits == bits]  # fmt: skip
    assert again == []


def test_the_flags_that_readers_ask_for_are_flags_of_records():
    known = {flag for target, (_, _, wave) in FAMILY_OF.items() for flags in table(target, wave).flags.values()
             for flag in flags}  # fmt: skip
    asked = {"branch", "barrier", "call", "packed", "salu", "valu", "atomic", "asynccnt", "dot", "trans",
             "lane_select", "read_lane", "div_fmas", "fma64", "permlane_swap", "relative", "byte_sel", "byte_sel_dst",
             "scale_sel", "swizzle", "from_lds", "message", "lane_mask", "one_scalar", "signed_literal", "invalidate",
             "write_back", "prefetch", "waits_xcnt", "by_m0", "part", "byte", "hwreg", "from_trap",
             "sets_vskip"}  # fmt: skip
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
