"""The cycles of the catalog against the scheduling models of LLVM 22, by llvm-mca, and what later LLVM has."""

import re
import subprocess

import pytest

import mmacalc
from llvm_mc import tool
from mmacalc.asm.forms import forms
from mmacalc.asm.targets import target

# How many instructions each has, and how many cycles llvm-mca's unit is. RDNA3 and RDNA4 are not here: LLVM 22 gives
# their WMMA one cycle of a VALU, as it does every VALU instruction.
TARGETS = {
    "gfx908": (20, 4), "gfx90a": (27, 4), "gfx942": (46, 4), "gfx950": (68, 4), "gfx1250": (43, 1), "gfx1251": (43, 1),
}  # fmt: skip


def text(form):
    """The instruction with registers far apart, C on D where they are of one size."""
    counts = [slot.count({}) for slot in form.slots]
    names = [slot.name for slot in form.slots]
    if "C" in names and counts[names.index("C")] == counts[0]:
        starts = [0 if name == "C" else 32 * place for place, name in enumerate(names)]
    else:
        starts = [32 * place for place in range(len(names))]
    spans = [f"[{start}:{start + count - 1}]" if count > 1 else start for start, count in zip(starts, counts)]
    return f"{form.name} {', '.join(f'{slot.files[0]}{span}' for slot, span in zip(form.slots, spans))}"


def modelled(name):
    """For every instruction of a target that LLVM 22 knows: how many units of time it holds its hardware resource."""
    known = forms(target(name))
    instructions = [inst for inst in mmacalc.instructions(name) if inst.formats["A"] != "f64" or name != "gfx1251"]
    lines = "".join(f"{text(known[inst.name])}\n" for inst in instructions)
    command = [tool("llvm-mca"), "-mtriple=amdgcn", f"-mcpu={name}", "-instruction-tables=full", "-"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("Instructions:\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == len(instructions)
    for inst, row in zip(instructions, table):
        held = re.search(r"HW(\w+)(?:\[(\d+)\])?", row)
        yield inst, held[1], int(held[2] or 1), int(row.split()[1])


@pytest.mark.parametrize("name", TARGETS)
def test_every_cycle_count_is_that_of_llvms_scheduling_model(name):
    count, unit = TARGETS[name]
    compared = 0
    for inst, resource, held, latency in modelled(name):
        cycles, narrow = inst.wait_cycles or (inst.cycles, inst.narrow_cycles)
        if narrow:  # llvm-mca cannot see the fields that choose the formats, and takes the shorter
            cycles = narrow[1]
        if resource == "VALU" and unit == 1:  # not on the matrix unit: only the latency says how long it takes
            held = latency
        assert unit * held == cycles, inst
        compared += 1
    assert compared == count


def test_where_llvm_after_22_has_other_cycles_the_catalog_has_those():
    """LLVM's pull requests 202522 (gfx1250, stepping B0) and 203145 (gfx1251), as their descriptions say them."""
    changed = set()
    for inst in mmacalc.instructions("gfx1250"):
        eight_bit = inst.formats["A"] in ("e4m3", "e5m2")
        if eight_bit and (inst.k, inst.sparse) == (64, False):
            expected = (4, None)
        elif inst.formats["A"] == "f8f6f4":
            expected = (8, (4, 4))
        else:
            expected = (16 if inst.formats["A"] in ("iu8", "f32") else 8, None)
        assert (inst.cycles, inst.narrow_cycles) == expected, inst
        if inst.wait_cycles and inst.wait_cycles != expected:
            changed.add(inst.name)
    assert len(changed) == 11
    for inst in mmacalc.instructions("gfx1251"):
        half = inst.formats["A"] in ("f16", "bf16", "f32", "f64")
        eight_bit = inst.formats["A"] in ("e4m3", "e5m2") and (inst.k == 64 or inst.sparse)
        assert inst.cycles == (16 if half or eight_bit else 32), inst
        assert inst.narrow_cycles == ((4, 16) if inst.formats["A"] == "f8f6f4" else None)
