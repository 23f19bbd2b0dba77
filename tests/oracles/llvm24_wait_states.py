"""The v_nops that LLVM 24's code generator inserts between a WMMA and what depends on it, on gfx1250 and gfx1251.

    pip install triton==3.9.0                (its wheel has LLVM 24.0.0git with AMD's back end)
    python tests/oracles/llvm24_wait_states.py pairs > pairs.json                 (with mmacalc and the tests' tools)
    python tests/oracles/llvm24_wait_states.py answers pairs.json > hazards_24.tsv     (with Triton)

Machine IR of both instructions goes through the whole code generator, since the wheel runs no single pass.
"""

from __future__ import annotations

import json
import re
import sys

OTHERS = (
    "v_mov_b32 v240, v0", "v_mov_b32 v0, v240", "v_mov_b32 v64, v240", "v_mov_b32 v96, v240", "v_mov_b32 v128, v240",
    "v_mov_b32 v160, v240", "v_exp_f32 v240, v0", "v_exp_f32 v0, v240", "v_exp_f32 v64, v240",
)  # fmt: skip
SECOND = ("v_wmma_f32_16x16x32_f16", "v_swmmac_f32_16x16x64_f16", "v_wmma_f32_16x16x4_f32")


def pairs() -> list[tuple[str, str, str, str, str]]:
    """(target, first, second, the same two as machine IR)."""
    from tests import test_waits_llvm as waits

    import mmacalc

    found = []
    for target in ("gfx1250", "gfx1251"):
        for inst in mmacalc.instructions(target):
            for codes in waits.codes_of(inst):
                first = waits.line(inst, codes=codes)
                others = list(OTHERS)
                for name in SECOND:
                    two = mmacalc.instruction(target, name)
                    places: list[dict[str, int]] = [{"a": 0}, {"b": 0}, {"c": 0}]
                    if two.sparse:
                        places = [{"a": 0}, {"b": 0}, {"k": 0}]
                    others += [waits.line(two, **{"d": 192, "c": 224, "k": 160, **at}) for at in places]
                found += [
                    (target, first, other, waits.mir(first, target), waits.mir(other, target)) for other in others
                ]
    return found


def newer(mir: str) -> str:
    """Machine IR as LLVM 24 has it: dense f16, bf16 and f32 WMMA have no NEG of A and B, the f64 one has."""
    mir = re.sub(r"(= V_WMMA_F64\w+) (\$\w+), (\$\w+), 8, (.*)", r"\1 8, \2, 8, \3, 8, \4", mir)
    return re.sub(r"(= V_WMMA_(?!F64)\w+) 8, (\$\w+), 8, (\$\w+), 8, (\$\w+), ", r"\1 \2, \3, 8, \4, ", mir)


def function(number: int, *lines: str) -> str:
    """A function of two instructions whose results are used."""
    results = dict.fromkeys(line.split(" = ")[0].replace("early-clobber ", "") for line in lines)
    used = "".join(f", implicit {result}" for result in results)
    body = "".join(f"    {newer(line)}\n" for line in lines)
    return (
        f"---\nname: f{number}\nnoPhis: true\nisSSA: false\nnoVRegs: true\nmachineFunctionInfo:\n"
        "  isEntryFunction: true\n  scratchRSrcReg: '$private_rsrc_reg'\n  stackPtrOffsetReg: '$sgpr32'\n"
        f"body: |\n  bb.0:\n{body}    S_ENDPGM 0{used}\n...\n"
    )


def answers(path: str) -> None:
    """Print target, first, second and the number of v_nops."""
    from triton._C.libtriton import llvm

    llvm.init_targets()
    with open(path) as file:
        every = json.load(file)
    for target in ("gfx1250", "gfx1251"):
        mine = [pair for pair in every if pair[0] == target]
        declared = "".join(f"  define amdgpu_kernel void @f{n}() {{ ret void }}\n" for n in range(len(mine)))
        with open(f"{path}.mir", "w") as file:
            file.write(f"--- |\n{declared}...\n")
            file.writelines(function(n, *pair[3:]) for n, pair in enumerate(mine))
        text = llvm.translate_mir_to_asm(f"{path}.mir", "amdgcn-amd-amdhsa", target, "", [], False, False)
        for number, (_, first, second, _, _) in enumerate(mine):
            body = re.search(rf"^f{number}:.*?s_endpgm", text, re.S | re.M)
            assert body
            lines = [line.strip() for line in body.group(0).splitlines() if line.strip().startswith("v_")]
            at = [n for n, line in enumerate(lines) if not line.startswith("v_nop")]
            assert lines[at[-2]].startswith(first.split()[0]), (first, lines)
            print(target, first, second, at[-1] - at[-2] - 1, sep="\t")


if __name__ == "__main__":
    if sys.argv[1] == "pairs":
        json.dump(pairs(), sys.stdout)
    else:
        answers(sys.argv[2])
