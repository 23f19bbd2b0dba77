"""Random texts and encodings of matrix instructions, legal or nearly so, from the forms of `mmacalc.asm`."""

from __future__ import annotations

from mmacalc.asm.forms import forms
from mmacalc.asm.operand_codes import constant_texts
from mmacalc.asm.registers import RegisterRange
from mmacalc.asm.rows import NAMES, kind_of
from mmacalc.asm.targets import target

TARGETS = (
    ("gfx908", None), ("gfx90a", None), ("gfx942", None), ("gfx950", None), ("gfx1100", 32), ("gfx1100", 64),
    ("gfx1150", 32), ("gfx1151", 64), ("gfx1200", 32), ("gfx1200", 64), ("gfx1250", None), ("gfx1251", None),
)  # fmt: skip
CONSTANTS = (
    "0", "64", "65", "-16", "-17", "1.0", "-4.0", "3.0", "0.15915494", "0.15915494309189532", "0.1592", "0x3f800000",
    "0x3c00", "0x3e22", "0xffff", "0xffffffff", "0x3ff0000000000000", "-0.0", "1.00000000001", "0.501", "2*3", "1e0",
    "1.0e", "-4.e", ".5E+", "2e",
)  # fmt: skip
WORDS = (
    "null", "m0", "vcc", "vcc_lo", "exec_hi", "src_scc", "vccz", "src_shared_base", "private_limit", "off",
    "src_pops_exiting_wave_id", "src_flat_scratch_base_lo", "flat_scratch_lo", "xnack_mask_hi", "src_lds_direct",
    "ttmp3", "s0", "s103", "s[2:3]", "s[3:4]", "ttmp[2:3]", "exec", "|v0|", "-v1",
)  # fmt: skip
MODIFIERS = (
    "cbsz:1", "abid:2", "blgp:3", "neg:[1,0,0]", "neg_lo:[1,0,0]", "neg_hi:[0,1,0]", "op_sel:[0,0,1]", "clamp",
    "op_sel_hi:[0,0,0]", "noclamp", "index_key:1", "matrix_a_reuse", "nomatrix_b_reuse", "matrix_a_fmt:1",
    "matrix_b_scale:1", "cbsz:8", "quad_perm:[0,1,2,3]",
)  # fmt: skip


def random_text(form, rng, mistakes=0.0):
    """A statement; each of its parts is replaced by something else with the probability `mistakes`."""
    fields, modifiers = {}, []
    for modifier in form.modifiers:
        if rng.random() < 0.35:
            value, text = _modifier(form, modifier, rng, mistakes)
            modifiers.append(text)
            fields[modifier.field.name] = value if modifier.takes(value) else 0
    if rng.random() < mistakes:
        modifiers.insert(rng.randrange(len(modifiers) + 1), rng.choice(MODIFIERS))
    if rng.random() < mistakes / 2:
        rng.shuffle(modifiers)
    shared = rng.choice("va")
    operands = [_operand(slot, slot.count(fields), shared, rng, mistakes) for slot in form.slots]
    c = [slot.name for slot in form.slots].index("C") if form.slot("C") else None
    same = c and form.slots[c].counts == form.slots[0].counts
    if same and operands[c][:2] in ("v[", "a[") and rng.random() >= mistakes:
        operands[c] = operands[0]  # C that overlaps D in part is refused
    if "mfma_ld_scale" in form.name and rng.random() >= mistakes:
        operands[1] = operands[0]  # two different scalar registers are refused
    if rng.random() < mistakes / 4:
        del operands[rng.randrange(len(operands))]
    return " ".join([f"{form.name} {', '.join(operands)}", *modifiers])


def _modifier(form, modifier, rng, mistakes):
    over, kind, name = rng.random() < mistakes, kind_of(modifier.name), modifier.name
    if kind == "flag":
        return 1, name
    legal = [value for value in range(modifier.mask + 1) if modifier.takes(value)]
    if kind == "bits":
        value = rng.randrange(8) if over else rng.choice(legal)
        width = form.widths.get(name, 3)
        given = [str(value >> bit & 1) for bit in range(rng.choice((width, width, 1, 2, 3)))]
        return value, f"{name}:[{','.join(given)}]"
    value = rng.choice((legal[-1] + 1, -1, 16)) if over else rng.choice(legal)
    if kind == "choice" and value in legal and rng.random() < 0.6:
        return value, f"{name}:{NAMES[name][value]}"
    return value, f"{name}:{value}"


def _operand(slot, count, shared, rng, mistakes):
    kind = rng.random()
    if slot.constant and kind < 0.3:
        return rng.choice([*constant_texts(slot.constant).values()])
    if slot.specials and kind < 0.45:
        return rng.choice([*slot.specials])
    file = slot.files[0] if len(slot.files) == 1 else shared if slot.name in "CD" else rng.choice(slot.files)
    step = 2 if slot.even and count > 1 else 1
    if rng.random() < mistakes:
        count = rng.choice((1, 2, 4, 8, 16, count + 1, count))
        step = rng.choice((1, step))
        file = rng.choice(("v", "a", file, "s"))
        if rng.random() < 0.5:
            return rng.choice(CONSTANTS + WORDS)
    first = rng.randrange(0, 257 - min(count, 256), step) if file != "s" else 4 * rng.randrange(20)
    return str(RegisterRange(file, first, count))


def random_code(form, rng, flips=0):
    """An encoding with random fields, then `flips` random bits the other way; None if LLVM could crash on it."""
    fields = form.format.fields
    values = dict(form.fixed)
    free = {slot.field.name for slot in form.slots} | {one.field.name for one in form.modifiers}
    free |= {name for name, field in fields.items() for slot in form.slots if field.mask & slot.bank}
    for name in sorted(free):
        if "SRC" in name:
            values[name] = rng.choice((256 + 2 * rng.randrange(128), 256 + 2 * rng.randrange(128), rng.randrange(512)))
        else:
            values[name] = rng.choice((0, rng.randrange(1 << fields[name].width)))
    if "VDST" in free:
        values["VDST"] &= ~1
    word = form.format.encode(values)
    for _ in range(flips):
        word ^= 1 << rng.randrange(8 * form.size)
    # LLVM 22's disassembler crashes on constants and literals in slots that have none.
    for slot in form.slots:
        if slot.field.name != "VDST":
            code = slot.field.gather(word)
            if code in (254, 255) or (code < 256 and not slot.constant):
                return None
    return word.to_bytes(form.size, "little")


def all_forms():
    """(target, wave, form) of every form of every target."""
    return [(name, wave, form) for name, wave in TARGETS for form in forms(target(name, wave, llvm=22)).values()]
