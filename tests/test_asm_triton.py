"""The assembler against the LLVM 24 inside an installed Triton, on random texts: a second oracle beside LLVM 22."""

import random

import pytest

import mmacalc
from asm_texts import TARGETS, random_text
from mmacalc.asm.forms import forms
from mmacalc.asm.objects import read
from mmacalc.asm.targets import MACHINES
from mmacalc.asm.targets import target as target_of

# What LLVM 24 has besides LLVM 22's targets.
EVERY = (*TARGETS, ("gfx1154", 32), ("gfx1170", 32), ("gfx1170", 64), ("gfx1171", 32), ("gfx1172", 64))


def triton_bytes(text, name, wave):
    """The code of one line, None where Triton's assembler refuses it."""
    from triton.backends.amd.compiler import assemble_amdgcn

    features = f"+wavefrontsize{wave}" if wave and len(mmacalc.architecture(name).waves) > 1 else ""
    try:
        found = assemble_amdgcn(f".text\n{text}\n", name, features)
    except RuntimeError:
        return None
    return b"".join(section.code for section in read(found, "the object", name).sections)


def our_bytes(text, name, wave):
    try:
        return mmacalc.assemble(text, name, wave)
    except mmacalc.Error:
        return None


@pytest.mark.triton
@pytest.mark.parametrize("where", EVERY, ids=str)
def test_texts_have_the_bytes_of_tritons_assembler_or_are_refused_as_there(where):
    rng = random.Random(f"triton{where}")
    known = list(forms(target_of(*where)).values())
    texts = [random_text(form, rng, mistakes) for mistakes in (0.0, 0.05, 0.25) for form in (known * 20)[:150]]
    taken = 0
    for text in texts:
        expected = triton_bytes(text, *where)
        assert our_bytes(text, *where) == expected, text
        taken += expected is not None
    assert taken > 100


@pytest.mark.triton
def test_the_machine_numbers_of_newer_targets_are_those_of_tritons_objects():
    from triton.backends.amd.compiler import assemble_amdgcn

    numbers = {target: number for number, target in MACHINES.items()}
    for target in ("gfx1154", "gfx1170", "gfx1171", "gfx1172", "gfx1310", "gfx942"):
        assert assemble_amdgcn(".text\ns_nop 0\n", target, "")[48] == numbers[target]
