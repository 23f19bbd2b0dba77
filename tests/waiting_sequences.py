"""Random sequences of instructions around WMMA, and what LLVM 22's hazard recognizer puts before each instruction.

    python tests/waiting_sequences.py > tests/data/llvm/waiting_sequences.tsv    (the recorded sample, before gzip -9)

A line of the sample: target, wave size, instructions separated by "; ", and one sign for each of them: "." nothing, "w"
s_waitcnt_depctr with va_vdst(0), "n" v_nop, "b" both; for a load of LDS_DIRECT, the wait_vdst that LLVM sets, in
hexadecimal. Registers are few, so that much depends on much: v0 to v31 are operands of WMMA, v32 to v35 are not.
"""

from __future__ import annotations

import random
import re

import mmacalc
from mmacalc.asm.reader import read_line, vector_registers
from mmacalc.hazards.register_use import entry_of, register_use
from test_waits_llvm import after_recognizer, line, mir, recognized

TARGETS = ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151")
RDNA4 = ("gfx1200", "gfx1201")
REGISTERS = (0, 3, 9, 14, 16, 18, 24, 32, 33, 34, 35)
INSERTED = "S_WAITCNT_DEPCTR 3999"  # va_vdst(0) as LLVM encodes it; the sequences have others

# {0} to {2} are numbers of registers.
TRANSCENDENTAL = (
    "v_exp_f32 v{0}, v{1}", "v_exp_f32 v{0}, v{1}", "v_rcp_f32 v{0}, v{1}", "v_rcp_f64 v[{0}:{0}+1], v[{1}:{1}+1]",
    "v_exp_f16 v{0}.l, v{1}.l", "v_exp_f16 v{0}.h, v{1}.l",
)  # fmt: skip
VALU = (
    "v_mov_b32 v{0}, v{1}", "v_mov_b32 v{0}, v{1}", "v_add_f32 v{0}, v{1}, v{2}", "v_add_f32 v{0}, v{1}, v{2}",
    "v_fmac_f32 v{0}, v{1}, v{2}", "v_mov_b32_dpp v{0}, v{1} row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_permlanex16_b32 v{0}, v{1}, s0, s1", "v_readfirstlane_b32 s0, v{0}", "v_nop",
    "v_dual_mov_b32 v34, v{1} :: v_dual_mov_b32 v35, v{2}",
)  # fmt: skip
OTHER = (
    "s_mov_b32 s8, 0", "s_mov_b32 s8, 0", "lds_direct_load v70 wait_vdst:0", "s_waitcnt_depctr 8191",
    "s_waitcnt_depctr 4095", "global_load_dword v{0}, v[60:61], off", "global_store_dword v[60:61], v{0}, off",
    "ds_write_b32 v60, v{0}", "exp mrt0 v{0}, v{0}, v{0}, v{0}",
)  # fmt: skip
EXEC = ("s_mov_b64 exec, -1", "s_and_saveexec_b64 s[0:1], s[2:3]")


def sequence(chance: random.Random, target: str, wave: int) -> list[str]:
    """A few to fifteen instructions: WMMA, transcendental ones, other VALU ones, and some that end hazards."""
    lines = []
    other = OTHER if target.startswith("gfx110") else OTHER[:-1]  # LLVM puts more around exports of gfx1150
    for _ in range(chance.randrange(4, 16)):
        kind = chance.choices((TRANSCENDENTAL, VALU, other, None), (5, 8, 1, 3))[0]
        if kind is None:
            lines.append(_matrix(chance, target, wave))
        else:
            lines.append(_filled(chance, kind))
    return lines


def masked(chance: random.Random, target: str, wave: int) -> list[str]:
    """A few instructions of wave64 among which EXEC is written. On gfx1100 to gfx1103 none is transcendental: there
    lint and LLVM repair in another order."""
    transcendental = TRANSCENDENTAL[:4] if target.startswith("gfx115") else ()
    lines = []
    for _ in range(chance.randrange(4, 14)):
        kind = chance.choices((VALU[:5] + transcendental, EXEC, OTHER[:-1], None), (10, 4, 1, 4))[0]
        lines.append(_filled(chance, kind) if kind else _matrix(chance, target, wave))
    return lines


def loads(chance: random.Random, target: str, wave: int) -> list[str]:
    """A WMMA or another VALU instruction, up to twenty that touch other registers, and a load of LDS_DIRECT into one of
    the first's registers, or, where no transcendental instruction is there, into any. (LLVM sets wait_vdst to 0 if one
    is among the last 15 VALU instructions, even where none of these touches the register.)"""
    inst = chance.choice(mmacalc.instructions(target))
    matrix = line(inst, d=16, a=0, b=8, c=24, wave=wave)
    first = chance.choice((matrix, matrix, _filled(chance, VALU[:-2]), _filled(chance, TRANSCENDENTAL)))
    quiet = (*["v_mov_b32 v80, v81"] * 4, "s_mov_b32 s8, 0")
    ends = [*(one.format(90) for one in OTHER[5:-1]), *["v_exp_f32 v82, v81"] * 3]
    lines, last = [*chance.sample(ends, chance.randrange(2)), first], chance.choice(("", "", chance.choice(ends)))
    lines += [chance.choice(quiet) for _ in range(chance.randrange(11 if last.startswith("v_exp") else 20))]
    lines += [last, *(chance.choice(quiet) for _ in range(chance.randrange(4)))] if last else []
    touched = [each for operand in read_line(first).operands for each in vector_registers(operand)]
    registers = [each.first + chance.randrange(each.count) for each in touched]
    if not any("TRANS" in register_use(read_line(one), entry_of(target)).kinds for one in lines):
        registers += REGISTERS
    load = "ds_direct_load v{} wait_vm_vsrc:1 wait_va_vdst" if target in RDNA4 else "lds_direct_load v{} wait_vdst"
    return [*lines, f"{load.format(chance.choice(registers))}:15"]


def _matrix(chance: random.Random, target: str, wave: int) -> str:
    d, c = chance.choice(((16, None), (16, 24), (24, None)))
    inst = chance.choice(mmacalc.instructions(target))
    return line(inst, d=d, a=chance.choice((0, 8, 16)), b=8, c=c, wave=wave)


def _filled(chance: random.Random, templates: tuple[str, ...]) -> str:
    text = chance.choice(templates).format(*(chance.choice(REGISTERS) for _ in range(3)))
    return re.sub(r"(\d+)\+1", lambda number: str(int(number[1]) + 1), text)


def answers(target: str, wave: int, sequences: list[list[str]]) -> list[str]:
    """LLVM's signs for each sequence."""
    found = []
    for lines, body in zip(sequences, recognized(target, sequences, wave)):
        given = [mir(one, target).split(" = ")[-1].split()[0] for one in lines]
        signs, before = "", []
        for text in body[:-1]:
            opcode = text.split(" = ")[-1].split()[0]
            if text == INSERTED or opcode != given[len(signs)]:
                before.append(text)
                continue
            waited, nop = INSERTED in before, any(each.startswith("V_NOP") for each in before)
            assert len(before) == waited + nop, before
            load = re.search(r"LDS_DIRECT_LOAD (\d+)|DS_DIRECT_LOAD (\d+)", text)
            sign = {(False, False): ".", (True, False): "w", (False, True): "n", (True, True): "b"}[waited, nop]
            signs += f"{int(load[1] or load[2]):x}" if load else sign
            before = []
        assert len(signs) == len(lines)
        found.append(signs)
    return found


# --- listings with branches: blocks of (lines, what ends it, the block that a branch leads to) ---

WAIT = "s_waitcnt_depctr depctr_va_vdst(0)"
Blocks = list[tuple[list[str], str, int]]
ENDS = {"": [], "s_branch": ["S_BRANCH %bb.{}"], "s_cbranch_scc0": ["S_CBRANCH_SCC0 %bb.{}, implicit undef $scc"]}


def blocks(chance: random.Random, target: str, wave: int) -> Blocks:
    """Two to five blocks of a few instructions."""
    made, count = [], chance.randrange(2, 6)
    masks = EXEC if wave == 64 else VALU
    for _ in range(count):
        lines = []
        for _ in range(chance.randrange(1, 5)):
            kind = chance.choices((TRANSCENDENTAL, VALU, OTHER[:-1], masks, None), (5, 8, 1, 3, 3))[0]
            lines.append(_filled(chance, kind) if kind else _matrix(chance, target, wave))
        made.append((lines, chance.choice((*ENDS, "s_cbranch_scc0")), chance.randrange(count)))
    return made


def lines_of(listing: Blocks) -> list[str]:
    """The listing, one line for each label, instruction and branch."""
    parts = [[f"L{n}:", *lines, *([f"{end} L{to}"] if end else [])] for n, (lines, end, to) in enumerate(listing)]
    return [*(one for part in parts for one in part), "s_endpgm"]


def with_lines(listing: Blocks, put: dict[int, list[str]]) -> Blocks:
    """The listing with instructions put in before the lines of these numbers, in LLVM's order."""
    made, at = [], 0
    for lines, end, to in listing:
        first = at + 1
        at = first + len(lines) + bool(end)
        more = [[*sorted(put.get(first + n, ())), text] for n, text in enumerate(lines)]
        made.append(([text for part in more for text in part], end, to))
    return made


def repaired_by_llvm(target: str, wave: int, listings: list[Blocks]) -> list[Blocks]:
    """The listings with what LLVM puts in."""
    texts = [_function(number, listing, target) for number, listing in enumerate(listings)]
    made = []
    for listing, body in zip(listings, after_recognizer(target, texts, wave)):
        found, rest = [], iter([one for one in body if not one.startswith("successors")])
        for lines, end, to in listing:
            label = next(rest)
            assert label.startswith("bb."), label
            new = []
            for text in lines:
                while _opcode(put_in := next(rest)) != _opcode(_given(text, target)) or (
                    put_in == INSERTED and text != WAIT
                ):
                    new.append({INSERTED: WAIT, "V_NOP_e32 implicit $exec": "v_nop"}[put_in])
                new.append(text)
            [next(rest) for _ in ENDS[end]]
            found.append((new, end, to))
        made.append(found)
    return made


def _given(text: str, target: str) -> str:
    return INSERTED if text == WAIT else mir(text, target)


def _opcode(text: str) -> str:
    return text.split(" = ")[-1].split()[0]


def _function(number: int, listing: Blocks, target: str) -> str:
    text = f"---\nname: f{number}\nbody: |\n"
    for n, (lines, end, to) in enumerate(listing):
        following = {to} if end == "s_branch" else {n + 1, to} if end else {n + 1}
        text += f"  bb.{n}:\n    successors: {', '.join(f'%bb.{one}' for one in sorted(following))}\n\n"
        text += "".join(f"    {_given(one, target)}\n" for one in lines)
        text += "".join(f"    {one.format(to)}\n" for one in ENDS[end])
    return f"{text}  bb.{len(listing)}:\n    S_ENDPGM 0\n...\n"


def sampled(seed: int, count: int) -> list[tuple[str, int, list[str], str]]:
    """Sequences of every target and wave size, `count` of each, and of each kind, with LLVM's signs."""
    chance, rows = random.Random(seed), []
    for target in TARGETS:
        for wave in (32, 64):
            made = [sequence(chance, target, wave) for _ in range(count)]
            made += [loads(chance, target, wave) for _ in range(count // 2)]
            made += [masked(chance, target, wave) for _ in range(count if wave == 64 else 0)]
            rows += [(target, wave, lines, signs) for lines, signs in zip(made, answers(target, wave, made))]
    return rows


if __name__ == "__main__":
    for target, wave, lines, signs in sampled(1, 200):
        print(target, wave, "; ".join(lines), signs, sep="\t")
