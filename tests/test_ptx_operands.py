"""Operands of other kinds, types and numbers than an opcode has are refused when a kernel is read, as by ptxas 13.0.

The recorded statements are right ones with one operand changed, left out or added (tests/data/ptx/operands.tsv.gz),
without those that ptxas refuses for the value of a constant, and without forms that it takes and the PTX ISA lacks.
"""

from __future__ import annotations

import re

import pytest

import mmacalc
import recorded
from mmacalc.kernels.ptx.compiler import Compiler
from mmacalc.ptx.reader import read
from samples import sampled

HEAD = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 P) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .u16 %uh<9>; .reg .f16 %hf<9>; .reg .b32 %b<33>; .reg .u32 %u<9>;
.reg .s32 %s<9>; .reg .f32 %f<33>; .reg .b64 %d<9>; .reg .u64 %ud<9>; .reg .f64 %fd<9>; .reg .b128 %q<9>;
.reg .b8 %c<9>; .reg .f16x2 %x<9>;
.shared .align 128 .b8 S[1024]; ret;
"""
ROWS = [(row["statement"], row["taken"] == "1") for row in recorded.table("ptx/operands.tsv.gz")]


def refusals(statements: list[str]) -> dict[str, str]:
    """Why each statement is refused; those that are not are missing."""
    found, left, first = {}, list(statements), HEAD.count("\n") + 1
    while True:
        try:
            module = read(HEAD + "".join(f"{one};\n" for one in left) + "ret;\n}\n")
            break
        except mmacalc.Error as error:  # what is no operand at all stops the reader at its line
            number = re.match(r"line (\d+)", str(error))
            assert number is not None
            found[left.pop(int(number[1]) - first)] = str(error)
    compiler = Compiler(module, module.functions["k"])
    compiler.compiled()
    found.update({left[statement.line - first]: why for statement, why in compiler.problems})
    return found


@sampled("part", range(8), 4)
def test_statements_are_taken_or_refused_as_ptxas_does(part: int) -> None:
    mine = ROWS[part::8]
    why = refusals([statement for statement, _ in mine])
    assert [statement for statement, taken in mine if (statement not in why) != taken] == []
    assert len(why) > 1000


@pytest.mark.parametrize(
    ("statement", "fine", "wrong"),
    [
        ("bar.sync {}", [0, 15], [16, -1]),
        ("barrier.cta.sync.aligned 1, {}", [32, 1024], [33]),
        ("bar.red.popc.u32 %u1, {}, %p1", [15], [16]),
        ("bar.warp.sync {}", [-1, 7], []),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [S], {}", [32, 512], [0, 16, 48, 1024]),
        ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %b1, {}", [32, 256], [16, 48]),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [S], [%d1], {}, [S]", [0, 16], [20]),
        ("pmevent {}", [0, 15], [16]),
        ("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [S], {}", [0, 15], [16]),
        ("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [S], {}, 5", [0, 4], [5]),
        ("applypriority.global.L2::evict_normal [%d1], {}", [128], [64]),
        ("bfe.u32 %u1, %u2, {}, 4", [0, 255], [256]),
    ],
)
def test_values_of_constants_are_taken_or_refused_as_ptxas_does(
    statement: str, fine: list[int], wrong: list[int]
) -> None:
    """Verdicts of ptxas 13.0."""
    why = refusals([statement.format(value) for value in (*fine, *wrong)])
    assert [*why] == [statement.format(value) for value in wrong]
    assert all("got" in message for message in why.values())


def test_a_refusal_says_what_the_opcode_takes_and_what_it_got() -> None:
    statements = {
        "shfl.sync.bfly.b32 %b1, %d2, 1, 31, -1":
            "takes .b32|.pred, .b32, .b32, .b32, .u32; operand 2 is %d2, a register of .b64",
        "atom.shared.add.u32 %u1, [%u0], 1.5": "operand 3 is a float",
        "st.shared.v2.f32 [%u0], {%f1}": "takes [address], {2 of .f32}; operand 2 is 1 in braces",
        "@%b1 add.s32 %s1, %s2, %s3": "is guarded by %b1, which is a register of .b32, not of .pred",
        "bar.sync": "takes .u32, (.u32); got 0 operands",
        "ld.global.f32 %f1, [%u0]": "operand 2 is an address in %u0, a register of .u32",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%b0,%b1}, %b4, {%f0,%f1,%f2,%f3}":
            "operand 3 is %b4, a register of .b32, without braces",
    }  # fmt: skip
    why = refusals([*statements])
    for statement, message in statements.items():
        assert message in why[statement]
