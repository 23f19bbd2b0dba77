"""The assembler, the disassembler and the builtins against recorded answers of LLVM and clang 22.1.8."""

from __future__ import annotations

import pytest

import mmacalc
import recorded as oracle
from mmacalc.compiler.builtins import intrinsics


def rows(name):
    return oracle.table(f"llvm/{name}.tsv.gz")


def wave(row):
    return int(row["wave"].lstrip("w")) if row["wave"] else None


def test_every_recorded_text_assembles_to_llvm_s_bytes_and_comes_back_as_llvm_spells_it():
    recorded = rows("encodings")
    assert len(recorded) > 2000
    for row in recorded:
        code = mmacalc.assemble(row["asm"], row["target"], wave(row))
        assert code.hex() == row["bytes"], row
        assert mmacalc.disassemble(code, row["target"], wave(row)) == row["canonical"], row


def test_every_recorded_text_that_llvm_refuses_is_refused_with_a_message_that_names_the_instruction():
    recorded = rows("illegal")
    assert len(recorded) > 2500
    for row in recorded:
        with pytest.raises(mmacalc.Error) as refused:
            mmacalc.assemble(row["asm"], row["target"], wave(row))
        message = str(refused.value)
        assert row["asm"].split()[0] in message or "is beyond the last register" in message, (row, message)


def test_every_recorded_builtin_has_clang_s_name_and_types_and_llvm_s_declaration():
    recorded = rows("builtins")
    assert len(recorded) > 200
    for row in recorded:
        inst = mmacalc.instruction(row["gfx"], row["mnemonic"])
        found = {one.builtin: one for one in intrinsics(inst, wave(row))}
        one = found[row["builtin"]]
        assert one.prototype == f"{row['return_type']} {row['builtin']}({row['arg_types']})"
        assert (one.llvm_intrinsic, one.declaration) == (row["llvm_intrinsic"], row["intrinsic_decl"])
