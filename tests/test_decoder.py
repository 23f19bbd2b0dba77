"""The decoder of whole code against llvm-objdump 22 and llvm-mc 22: compiled kernels, and instances of every row."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

import mmacalc
from asm_texts import random_text
from compiled_kernels import LEVELS, TARGETS, compiled
from llvm_mc import LISTED, assembled, disassembled, halves, object_for, rows_of_llvm, tool
from mmacalc.asm.code_objects import load
from mmacalc.asm.decoded import ConstantOperand, RegisterOperand
from mmacalc.asm.decoded_text import operand_text
from mmacalc.asm.decoder import decode, other_words, text
from mmacalc.asm.forms import forms
from mmacalc.asm.operand_codes import constant_patterns, register_text
from mmacalc.asm.operations import operation, operations
from mmacalc.asm.tables import FAMILY_OF
from mmacalc.asm.targets import target as target_of
from samples import sampled


def listed(path, target):
    """What llvm-objdump prints: address -> (text, size); padding that it leaves out is not there."""
    features = [f"--mattr={each}" for each in halves(target)]
    run = subprocess.run([tool("llvm-objdump"), "-d", *features, path], capture_output=True, text=True, check=True)
    found = LISTED.findall(run.stdout)
    return {int(at, 16): (re.sub(r"\s*<.*>$", "", line), 4 * len(words.split())) for line, at, words in found}


def compared(target, level, folder):
    path = folder / "kernels.hsaco"
    path.write_bytes(compiled(target, level))
    expected = listed(path, target)
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
    with pytest.raises(mmacalc.Error, match=r"gfx942.* no instruction .* address 0x104: 0xffffffff 0xffffffff"):
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
        assert written == (result.counts[0] if result else 0)
        assert len(one.sources) == len(form.slots) - bool(result) + (form.slot("K") is not None)


# --- what LLVM prints otherwise ---------------------------------------------------------------------------------------


def _codes_of_constants(match):
    """0xf2 as 1.0: the code of an inline constant as the constant."""
    known = constant_patterns("f32")[1]
    return operand_text(ConstantOperand(known[int(match[0], 16)], False), "f32")


# LLVM 22.1.8's faults, each as what it should have printed: (the name, what is wrong, the replacement).
_FAULTS = [
    # An inline constant as src1 is printed as its code.
    (r"v_fmac_f(16|32)_e64_dpp", r"(?<=[ (|-])0x[8-9a-f][0-9a-f]\b", _codes_of_constants),
    # The bars of |v1| close after vcc.
    (r"v_cndmask_b32_dpp", r", (vcc(_lo)?)\|", r"|, \1"),
    # Remarks on what the hardware would not take: these registers, DPP of 64-bit operands but row_newbcast.
    (r"", r"\b(m0|exec\w*)/\*Invalid register, operand has '\w+' register class\*/", r"\1"),
    (r"\w+_dpp", r"  /\* DP ALU dpp only supports row_newbcast \*/", ""),
]
# Instructions of which LLVM decodes DPP_CTRL as a source operand: 128 as the constant 0, 255 as a literal.
_CONTROL_AS_SOURCE = re.compile(r"v_(fma_mix\w+|cvt_pk_(fp8|bf8)_f32)_e64_dpp")
_CONTROL = re.compile(r" ((quad_perm|row_\w+|wave_\w+):\S+|row_\w*mirror|/\* Invalid dpp_ctrl value \*/)")


def mended(theirs, ours):
    """LLVM's text without its faults, and ours without what LLVM does not print."""
    for name, wrong, right in _FAULTS:
        if re.match(name, theirs):
            if "DP ALU" in wrong and re.search(wrong, theirs):
                ours = _CONTROL.sub("", ours, count=1)
            theirs = re.sub(wrong, right, theirs)
    if _CONTROL_AS_SOURCE.match(theirs):
        theirs, ours = _CONTROL.sub("", theirs), _CONTROL.sub("", ours)
    return theirs, ours


def refused(found):
    """What LLVM 22.1.8 does not decode: buffers with a negative offset ("expected a 23-bit unsigned offset", says its
    assembler), of trap registers three, for which it takes eight, and `_CONTROL_AS_SOURCE`."""
    if _CONTROL_AS_SOURCE.match(found.mnemonic) and found.modifiers.get("dpp_ctrl") == 255:
        return True
    if found.name.endswith("load_b96") and found.destinations[0].file == "ttmp":
        return True
    return "buffer" in found.name and int(found.modifiers.get("offset", 0)) < 0


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
            found = next(decode(code, target))
            if not refused(found):
                return found, code
    return None


def compare(target, rows, rng):
    halves = [row for row in rows_of_llvm(target, FAMILY_OF[target][2]) if row.format.name.startswith("vopd")]
    found = [decodable(row, target, rng, halves) for row in rows]
    pairs = [pair for pair in found if pair]
    assert len(pairs) > 0.95 * len(found)
    wrong, known = {}, target_of(target)
    for (ours, code), (theirs, size) in zip(pairs, disassembled([code[: one.size] for one, code in pairs], target)):
        words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code) & ~3, 4)]
        length = 4 * other_words(known, words)  # what skips other instructions
        printed, shown = mended(theirs or "nothing", text(ours))
        if (shown, ours.size, length) != (printed, size, size):
            wrong[theirs] = text(ours), code.hex(), length
    assert wrong == {}


@sampled("target", TARGETS, 3)
def test_an_instance_of_every_row_prints_as_llvm_prints_it(target):
    compare(target, rows_of_llvm(target, FAMILY_OF[target][2]), random.Random(target))


def test_tensor_copies_print_as_llvm_prints_them():
    """Two or four groups of scalar registers, their alignment, null, r128, TH, SCOPE, NV, and bits that are ignored."""
    rng, codes = random.Random(0), []
    for row in rows_of_llvm("gfx1250", 32):
        if row.name.startswith("tensor_"):
            codes += [(row.value | rng.getrandbits(96) & ~row.mask).to_bytes(12, "little") for _ in range(400)]
    codes += [code[:10] + bytes([124, 16]) for code in codes[-20:]]  # the third group is null, the fourth is not
    assert len(codes) == 1620
    whole, printed = 0, set()
    for code, (theirs, size) in zip(codes, disassembled(codes, "gfx1250")):
        if theirs is None or "/*Invalid" in theirs:  # m0, a constant, no register
            with pytest.raises(mmacalc.Error):
                next(decode(code, "gfx1250"))
            continue
        found = next(decode(code, "gfx1250"))
        assert (text(found), found.size) == (theirs, size)
        whole, printed = whole + 1, printed | {*theirs.split()}
    assert whole > 200
    assert {"tensor_load_to_lds", "tensor_store_from_lds", "null,", "null", "r128", "nv", "scope:SCOPE_SYS"} <= printed


@pytest.mark.parametrize(("code", "line", "newer"), [
    # As ROCm's LLVM has them: clang's tools of hotswap, tensor_load_to_lds_gfx1250_legacy.
    ("000031d00000000000047c7c", "tensor_load_to_lds s[0:3], s[4:11]", "010071d00000007c00047c7c"),
    ("004031d00000000000040c10", "tensor_store_from_lds s[0:3], s[4:11], s[12:15], s[16:19]",
     "014071d00000007c00040c10"),
    # In kernels of AITER, hsa/gfx1250/f4gemm and mxfp8fp4gemm: unused bits are 0.
    ("640088cc0811021a", "v_wmma_f32_32x16x128_f4 v[100:115], v[8:23], v[8:15], 0", "644088cc0811021a"),
    ("000035cc88090300042033cc40891204", "v_wmma_scale_f32_16x16x128_f8f6f4 v[4:11], v[64:71], v[68:83], v[4:11], "
     "v136, v132 matrix_a_fmt:MATRIX_FMT_FP4", "000035cc88090302042033cc40891204"),
])  # fmt: skip
def test_what_amds_own_kernels_of_gfx1250_write_is_read_though_llvm_22_refuses_it(code, line, newer):
    assert mmacalc.disassemble(bytes.fromhex(code), "gfx1250") == line
    assert mmacalc.assemble(line, "gfx1250").hex() == newer
    assert mmacalc.disassemble(bytes.fromhex(code), "gfx1250", llvm=22).startswith(".long")
    assert disassembled([bytes.fromhex(code)], "gfx1250")[0][0] is None


def test_scales_before_an_f4_product_of_amds_kernels_belong_to_it():
    """AITER, hsa/gfx1250/f4gemm: v0 in the scales' unused SRC2, 0 in the product's unused OPSEL_HI2. LLVM 22 prints the
    first half as a load of scales by itself, and finds no instruction in the second."""
    code = bytes.fromhex("002035cc5ca50204640088cc0811021a")
    line = "v_wmma_scale_f32_32x16x128_f4 v[100:115], v[8:23], v[8:15], 0, v92, v82 matrix_a_reuse"
    assert mmacalc.disassemble(code, "gfx1250") == line
    assert [one.name for one in decode(code, "gfx1250")] == ["v_wmma_scale_f32_32x16x128_f4"]
    assert disassembled([code], "gfx1250")[0][0].startswith("v_wmma_ld_scale_paired_b32 v92, v82")


# Instructions with a number that has a name, and where in the code the number is.
NUMBERED = {
    "s_getreg_b32 s0, 0": 0, "s_setreg_b32 0, s0": 0, "s_sendmsg 0": 0, "s_sendmsg_rtn_b32 s0, 0": 0, "s_waitcnt 0": 0,
    "s_delay_alu 0": 0, "s_waitcnt_depctr 0": 0, "s_wait_alu 0": 0, "s_set_gpr_idx_mode 0": 0, "s_barrier_wait 0": 0,
    "s_endpgm 0": 0, "s_nop 0": 0, "s_version 0": 0, "ds_swizzle_b32 v0, v1 offset:0": 0,
    "v_mov_b32_dpp v0, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf": 40,
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1200", "gfx1250"])
def test_every_number_that_has_a_name_is_printed_as_llvm_prints_it(target):
    """Hardware registers, messages, counters, delays, DPP controls, and LDS swizzles with one bit or group changed."""
    plain = {*range(64), *(1 << bit for bit in range(16)), *(65535 ^ 1 << bit for bit in range(16))}
    registers = {number | 31 << 11 for number in range(64)} | {number | 5 << 6 | 3 << 11 for number in range(0, 64, 5)}
    messages = {*range(1024), *range(1024, 65536, 4099)}
    delays = {first | skip << 4 | second << 7 for first in range(16) for skip in range(8) for second in (0, 5, 15)}
    swizzles = {*range(0x8000, 0x8100, 3), *range(0xC000, 0x10000, 61), *range(0, 0x8000, 97)}
    swizzles |= {31 | flip << 10 for flip in range(32)} | {32 - group | lane << 5 for group in (2, 4, 8, 16, 32)
                                                          for lane in range(group)}  # fmt: skip
    versions = {number | flags << 13 for number in range(16) for flags in range(8)}
    values = {
        "s_version": versions | plain, "s_getreg": registers | plain, "s_setreg": registers | plain,
        "s_sendmsg ": messages | plain, "s_sendmsg_rtn": set(range(256)), "s_delay": delays | plain,
        "ds_swizzle": swizzles, "v_mov": set(range(512)),
    }  # fmt: skip
    codes = []
    for line, found in zip(NUMBERED, assembled(NUMBERED, target)):
        if not isinstance(found, str):
            code, low = int.from_bytes(found[1], "little"), NUMBERED[line]
            chosen = next((known for name, known in values.items() if line.startswith(name)), plain)
            codes += [(code | value << low).to_bytes(len(found[1]), "little") for value in sorted(chosen)]
    wrong = {}
    for code, (theirs, size) in zip(codes, disassembled(codes, target)):
        if theirs is not None:
            try:
                ours = next(decode(code, target))
            except mmacalc.Error:
                assert "/*" in theirs, theirs  # LLVM: "not supported on ASICs earlier than ..."
                continue
            if (text(ours), ours.size) != (theirs, size):
                wrong[theirs] = text(ours), code.hex()
    assert wrong == {}
    assert len(codes) > 2500


def test_every_inline_constant_has_the_bits_of_its_number():
    """NumPy's and ml_dtypes' bits; packed types have them in the low half, v_pk_fmac_f16 in both. Of bf16 and f64
    1/(2 pi) is cut, one below the nearest (LLVM's isInlinableLiteral64 and isInlinableLiteralBF16)."""
    numbers = np.array([0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 * np.pi)])
    bits = {
        name: numbers.astype(kind).view(f"u{size}").tolist()
        for name, kind, size in (("f64", "f8", 8), ("f32", "f4", 4), ("f16", "f2", 2), ("bf16", ml_dtypes.bfloat16, 2))
    }
    for name in ("bf16", "f64"):
        bits[name][-1] -= 1
    types = {"i16": "f16", "f16": "f16", "bf16": "bf16", "i32": "f32", "f32": "f32", "i64": "f64", "f64": "f64",
             "v2i16": "f32", "v2f16": "f16", "v2bf16": "bf16", "v2i32": "f32", "v2f32": "f32",
             "v2b16": "f32"}  # fmt: skip
    for name, form in types.items():
        width, patterns = constant_patterns(name)
        assert width == (32 if name.startswith("v2") else int(name.strip("bfi")))
        assert [patterns[code] for code in range(240, 249)] == bits[form]
        assert patterns == {
            **{128 + value: value for value in range(65)}, **{192 + value: 2**width - value for value in range(1, 17)},
            **dict(zip(range(240, 249), bits[form])),
        }  # fmt: skip
    width, patterns = constant_patterns("both16")
    assert width == 32
    assert [patterns[code] for code in range(240, 249)] == [0x10001 * each for each in bits["f16"]]


# What LLVM 22.1.8 prints though it refuses to assemble it: a tuple that is not aligned or ends past the last register,
# and values of the hardware where a VGPR is needed. (With a remark where it knows, and then it is right.)
_REFUSED = re.compile(r"/\*Invalid|\b[va]\[\d*[13579]:|:(25[6-9]|2[678]\d|10[2-5])\]|\bnull\b|\bsrc_")


def consistent(register):
    """Whether a register's numbers are those of its text."""
    shown, (_, index, count, half, bits) = register_text(register), register
    if numbers := re.fullmatch(r"[a-z]+\[?(\d+):?(\d*)\]?(\.[lh])?", shown):
        first, last, part = numbers.groups()
        known = int(first), int(last or first) - int(first) + 1, part == ".h", 16 if part else 32 * count
        return known == (index, count, half, bits)
    return (index, half, bits) == (shown.endswith("_hi"), 0, 32 * count)


def of_every_code(target, seen):
    """Words of instructions with every code of every kind of field, of VGPRs some. Kinds in `seen` are left out."""
    rng = random.Random(target)
    for row in rows_of_llvm(target, FAMILY_OF[target][2]):
        for slot in row.slots if not row.format.name.startswith("vopd") else ():
            kind = tuple(map(id, slot.entries))
            if slot.field is None or slot.style or kind in seen:
                continue
            several = (decodable(row, target, rng, ()) for _ in range(3))
            found = next((pair for pair in several if pair and not _REFUSED.search(text(pair[0]))), None)
            if not found:
                continue
            seen[kind] = slot.entries  # kept, so that nothing else gets its id
            size, width = found[0].size, slot.field.width
            base = int.from_bytes(found[1][:size], "little") & ~slot.field.spread((1 << width) - 1)
            vectors = 0 if getattr(slot.entries[0][6], "file", "") in ("v", "a") else 256
            for code in range(1 << width):
                if code < vectors or code % 5 == 0 or not 8 <= code % 128 < 120:
                    yield code, (base | slot.field.spread(code)).to_bytes(size, "little")


@sampled("step", [4, 1], 1)
def test_every_code_of_an_operand_is_the_register_or_constant_that_llvm_prints(step):
    seen, wrong, count = {}, {}, 0
    for target in TARGETS:
        taken = {}
        for code, word in itertools.islice(of_every_code(target, seen), 0, None, step):
            try:
                taken[word] = next(decode(word + bytes.fromhex("341280bf"), target))
            except mmacalc.Error:
                if code not in (254, 255):  # LLVM 22.1.8 crashes on literals in VOP3 of targets that have none there
                    taken[word] = None
        for (word, ours), (theirs, _) in zip(taken.items(), disassembled(taken, target) if taken else ()):
            if ours is None:
                if theirs is not None and not _REFUSED.search(theirs):
                    wrong[theirs] = "nothing", word.hex()
            elif not refused(ours) and "1234" not in theirs:
                printed, shown = mended(theirs or "nothing", text(ours))
                if shown != printed or "/*Invalid" in printed:
                    wrong[theirs] = text(ours), word.hex()
                registers = [each for each in (*ours.destinations, *ours.sources) if isinstance(each, RegisterOperand)]
                assert all(map(consistent, registers)), theirs
                count += 1
    assert wrong == {}
    assert count > 20000 // step


@sampled("target", TARGETS, 0, whole=2)
def test_three_more_instances_of_every_row_print_as_llvm_prints_them(target):
    compare(target, 3 * rows_of_llvm(target, FAMILY_OF[target][2]), random.Random(target))


def test_halves_of_registers_are_named_on_every_target_that_has_them():
    """As LLVM 22 prints them with +real-true16, which later versions have by default on gfx12 too."""
    for target in ("gfx1100", "gfx1200", "gfx1201", "gfx1250"):
        (one,) = decode(bytes.fromhex("31396a7e"), target)
        assert text(one) == "v_mov_b16_e32 v53.l, v49.l"
        assert one.destinations == (RegisterOperand("v", 53, 1, 0, 16),)


# --- small spaces, whole ----------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS)
def test_every_value_of_an_immediate_prints_as_llvm_prints_it(target, tmp_path):
    styles = {}
    for row in rows_of_llvm(target, FAMILY_OF[target][2]):
        for slot in row.slots:
            if slot.style and slot.field is not None and slot.field.name == "SIMM16" and not row.branch:
                styles.setdefault((slot.style, row.size), row)
    for row in styles.values():
        words = [row.value | value for value in range(1 << 16)]
        code = b"".join(word.to_bytes(4, "little") for word in words)
        if row.size > 4:  # with a literal of its own
            continue
        path = tmp_path / "immediates.o"
        path.write_bytes(object_for(target, f".long {','.join(map(str, words))}\n"))
        expected = listed(path, target)
        assert len(expected) == len(words)
        assert {one.address: (text(one), one.size) for one in decode(code, target)} == expected


_LITERALS = (0, 1, 5, 64, 65, 0x3118, 0x3C00, 0x3E22, 0x3F80, 0x8000, 0xFFF0, 0xFFFF, 0x3C003C00, 0x3E22F983,
             0x3F800000, 0x12340005, 0x12343C00, 0x12343F80, 0x12345678, 0x80000000, 0xFFFF3C00, 0xFFFFFFF0, 0xFFFFFFF1,
             0xFFFFFFFF)  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("target", TARGETS)
def test_constants_of_every_type_print_as_llvm_prints_them(target):
    kinds, codes, seen = set(), [], 0
    for row in rows_of_llvm(target, FAMILY_OF[target][2]):
        for slot in row.slots:
            key = slot.constant, row.encoding, row.size
            if slot.constant and slot.field is not None and not row.format.name.startswith("vopd") and key not in kinds:
                kinds.add(key)
                constants = [*range(128, 131), 192, 193, 208, *range(240, 249)]
                found = [(code, 0x12345678) for code in constants if slot.entries[0][code] is not None]
                found += [(255, literal) for literal in _LITERALS if slot.constant.endswith("!")]
                for code, literal in found:
                    word = row.value | slot.field.spread(code)
                    codes.append(word.to_bytes(row.size, "little") + literal.to_bytes(4, "little"))
    for code, (theirs, size) in zip(codes, disassembled(codes, target)):
        with contextlib.suppress(mmacalc.Error):  # other operands, all of them 0, are none
            ours = next(decode(code, target))
            assert (text(ours), ours.size) == (mended(theirs or "nothing", "")[0], size), code.hex()
            seen += 1
    assert seen > 600


def test_an_index_of_a_scalar_load_that_counts_elements_is_read():
    """SCALE_OFFSET of gfx1250, as LLVM 22 assembles it; its disassembler prints an offset of zero as well."""
    lines = [f"s_load_{kind} {data}, s[6:7], s3 offset:0x4 scale_offset" for kind, data in (
        ("b32", "s1"), ("b64", "s[2:3]"), ("u8", "s2"), ("b256", "s[8:15]"),
    )]  # fmt: skip
    for line, (_, code) in zip(lines, assembled(lines, "gfx1250")):
        assert text(next(decode(code, "gfx1250"))) == line


def test_operations_say_what_llvm_says_of_an_instruction():
    """What was wrong where the names were asked: v_dot2acc accumulates, loads of 16 bits keep a half, cluster loads are
    memory instructions that write no register, v_pk_fmac_f16 with DPP and SDWA has three operands."""
    accesses = {
        ("v_dot2acc_f32_f16", "gfx1100"): {"rw r r"}, ("v_pk_fmac_f16", "gfx942"): {"rw r r"},
        ("ds_read_u8_d16", "gfx908"): {"rw r"}, ("global_load_short_d16", "gfx942"): {"rw r r"},
        ("scratch_load_d16_u8", "gfx1100"): {"rw r r"}, ("ds_read_b128", "gfx942"): {"w r"},
        ("v_swap_b32", "gfx942"): {"rw rw"}, ("cluster_load_async_to_lds_b32", "gfx1250"): {"r r r"},
        ("global_store_dword", "gfx90a"): {"r r r"}, ("global_atomic_add", "gfx90a"): {"r r r", "w r r r"},
    }  # fmt: skip
    found = {}
    for name, target in accesses:
        forms = operation(name, target).forms
        found[name, target] = {" ".join(one.access for one in form.operands) for form in forms}
    assert found == accesses
    flags = {name: operation(name, "gfx1250").flags for name in ("v_exp_f32", "ds_load_b128", "v_pk_fma_f16")}
    assert flags == {"v_exp_f32": {"trans", "valu"}, "ds_load_b128": {"ds", "lgkmcnt", "load"},
                     "v_pk_fma_f16": {"double_rounding", "packed", "valu"}}  # fmt: skip
    for target in FAMILY_OF:
        for one in operations(target):
            assert one.unit, one.name
            assert one.forms, one.name
