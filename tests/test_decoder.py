"""The decoder of whole code against llvm-objdump 22 and llvm-mc 22: compiled kernels, and instances of every row."""

from __future__ import annotations

import contextlib
import random
import re
import subprocess

import pytest

import mmacalc
from asm_texts import random_text
from compiled_kernels import LEVELS, TARGETS, compiled
from llvm_mc import disassembled, tool
from mmacalc.asm.code_objects import load
from mmacalc.asm.decoded import ConstantOperand, RegisterOperand
from mmacalc.asm.decoder import decode, text
from mmacalc.asm.forms import forms
from mmacalc.asm.lengths import words_of
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.asm.targets import target as target_of

_LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)", re.M)


def listed(path):
    """What llvm-objdump prints: address -> (text, size); padding that it leaves out is not there."""
    run = subprocess.run([tool("llvm-objdump"), "-d", path], capture_output=True, text=True, check=True)
    found = _LINE.findall(run.stdout)
    return {int(at, 16): (re.sub(r"\s*<.*>$", "", line), 4 * len(words.split())) for line, at, words in found}


def compared(target, level, folder):
    path = folder / "kernels.hsaco"
    path.write_bytes(compiled(target, level))
    expected = listed(path)
    (section,) = [section for section in next(iter(load(path).values())).sections if section.executable]
    decoded = list(decode(section.data, target, section.address))
    ours = {one.address: (text(one), one.size) for one in decoded}
    assert {at: ours.get(at) for at in expected} == expected
    assert len(expected) > 1000
    return decoded


@pytest.mark.parametrize(("target", "level"), LEVELS.items())
def test_compiled_kernels_decode_to_what_objdump_prints(target, level, tmp_path):
    for one in compared(target, level, tmp_path):
        assert all(isinstance(each, RegisterOperand) for each in one.destinations)
        assert all(isinstance(each, (RegisterOperand, ConstantOperand)) for each in one.sources)


@pytest.mark.whole
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", range(4))
def test_kernels_of_every_level_decode_to_what_objdump_prints(target, level, tmp_path):
    compared(target, level, tmp_path)


def test_a_word_that_is_no_instruction_is_named_with_its_address():
    with pytest.raises(mmacalc.Error, match=r"gfx942 has no instruction at address 0x104: 0xffffffff 0xffffffff"):
        list(decode(bytes.fromhex("0000 80bf ffffffff ffffffff"), "gfx942", 0x100))
    with pytest.raises(mmacalc.Error, match="ends in the middle"):
        list(decode(bytes.fromhex("ff00 80be"), "gfx942"))


def operands(code):
    """Destinations and sources of one instruction of gfx942, registers as they are written in LLVM's MIR."""
    (one,) = decode(bytes.fromhex(code), "gfx942")
    shown = [
        [f"{each.file}{each.index}:{each.count}" if isinstance(each, RegisterOperand) else each.bits for each in side]
        for side in (one.destinations, one.sources)
    ]
    return one.name, *shown, dict(one.modifiers)


def test_operands_that_the_text_does_not_name_are_there():
    assert operands("0107 0476") == ("v_fmac_f32", ["v2:1"], ["v1:1", "v3:1", "v2:1"], {})
    control = {"dpp_ctrl": 0x111, "row_mask": 15, "bank_mask": 15}
    assert operands("fa06 0476 0111 01ff") == ("v_fmac_f32", ["v2:1"], ["v1:1", "v3:1", "v2:1"], control)
    saved = ["s4:2", "exec0:2", "scc0:1"], ["vcc0:2", "exec0:2"], {}
    assert operands("6a20 84be") == ("s_and_saveexec_b64", *saved)
    assert operands("0400 85bf") == ("s_cbranch_scc1", [], ["scc0:1"], {"simm16": 4, "target": 20})
    carry = ["v1:1", "vcc0:2"], ["v2:1", "v3:1", "vcc0:2"], {}
    assert operands("0207 0238") == ("v_addc_co_u32", *carry)
    assert operands("0500 03b7") == ("s_addk_i32", ["s3:1", "scc0:1"], ["s3:1"], {"simm16": 5})
    store = [], ["v2:2", "v4:1", "off0:0"], {"offset": -8}
    assert operands("f89f 70dc 0204 7f00") == ("global_store_dword", *store)


@pytest.mark.parametrize("name", TARGETS)
def test_matrix_instructions_are_those_of_the_disassembler(name):
    rng = random.Random(name)
    for form in 3 * list(forms(target_of(name)).values()):
        try:
            code = mmacalc.assemble(random_text(form, rng), name)
        except mmacalc.Error:  # formats of scales that do not go together
            continue
        (one,) = decode(code, name)
        assert (text(one), one.name) == (mmacalc.disassemble(code, name), form.name)
        written, result = one.destinations[0].count if one.destinations else 0, form.slot("D")
        assert written == (result.registers if result else 0)
        assert len(one.sources) == len(form.slots) - bool(result) + (form.slot("K") is not None)


# Where LLVM's text is not what its own assembler takes for these bytes, or its decoder drops a bit.
_FAULTS = re.compile(
    r"v_fmac_f(16|32)_e64_dpp"  # an inline constant as src1 is printed as a literal of its code
    r"|v_(fma_mix\w+|cvt_pk_[fb]8_f32)_e64_dpp"  # quad_perm without its highest bit
    r"|v_cndmask_b32_dpp .*, vcc(_lo)?\|"  # the bars of |v1| close after vcc
)


def instance(row, rng, others):
    """A random word of a row; for half of a VOPD, with one of the other halves."""
    mask, value, size = row.mask, row.value, 8 * row.size
    if row.format.name.startswith("vopd"):
        first, side = row.format.name.split(":")[:2]
        other = rng.choice([one for one in others if one.format.name.startswith(f"{first}:{'yx'[side == 'y']}")])
        mask, value = mask | other.mask, value | other.value
    return value | rng.getrandbits(size) & ~mask & (1 << size) - 1


def decodable(row, target, rng, others):
    """An instance whose operands mean something; None if none is found soon."""
    for _ in range(40):
        code = instance(row, rng, others).to_bytes(row.size, "little") + rng.randbytes(8)
        with contextlib.suppress(mmacalc.Error):
            return next(decode(code, target)), code
    return None


def compare(target, rows, rng):
    halves = [row for row in table(target, FAMILY_OF[target][2]).every() if row.format.name.startswith("vopd")]
    found = [decodable(row, target, rng, halves) for row in rows]
    pairs = [pair for pair in found if pair]
    assert len(pairs) > 0.95 * len(found)
    wrong, known = {}, target_of(target)
    for (ours, code), (theirs, size) in zip(pairs, disassembled([code for _, code in pairs], target)):
        # LLVM refuses negative offsets of buffers, and remarks in a comment on what hardware would not take.
        if theirs is None or "/*" in theirs or _FAULTS.match(theirs):
            continue
        words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code) & ~3, 4)]
        length = 4 * words_of(known.generation.formats, words, 0, len(words))  # what skips other instructions
        if (text(ours), ours.size, length) != (theirs, size, size):
            wrong[theirs] = text(ours), code.hex(), length
    assert wrong == {}


@pytest.mark.parametrize("target", TARGETS)
def test_instances_of_rows_print_as_llvm_prints_them(target):
    rows, rng = table(target, FAMILY_OF[target][2]).every(), random.Random(target)
    compare(target, [row for row in rows if rng.random() < 0.1], rng)


@pytest.mark.whole
@pytest.mark.parametrize("target", TARGETS)
def test_instances_of_every_row_print_as_llvm_prints_them(target):
    compare(target, 3 * table(target, FAMILY_OF[target][2]).every(), random.Random(target))
