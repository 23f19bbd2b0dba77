"""What the hazard rules read and write, against the operands of the decoder: every row of every target."""

from __future__ import annotations

import contextlib
import random
import re

import pytest

import mmacalc
from asm_texts import random_text
from mmacalc.asm.decoded import RegisterOperand
from mmacalc.asm.decoder import decode, text
from mmacalc.asm.forms import forms
from mmacalc.asm.operations import operation
from mmacalc.asm.reader import read_line
from mmacalc.asm.tables import FAMILY_OF, instruction_names, table
from mmacalc.asm.targets import target as target_of
from mmacalc.hazards.register_use import accesses, decoded_use, entry_of, register_use
from samples import sampled
from test_decoder import decodable

# Where the rules differ from what the decoder lists, by what the text has, and why.
READ_TOO = {
    r"quad_perm|row_\w+|dpp8|wave_\w+": "lanes that DPP's masks leave out keep the destination: LLVM's operand `old`",
    r"UNUSED_PRESERVE": "the part of the destination that dst_sel leaves out is kept",
}
WRITTEN_TOO = {r"v_movrels?d": "M0 says which register is written, counted from one that LLVM describes as read"}
NOT_WRITTEN = {
    r"TH_ATOMIC_CASCADE": "LLVM's disassembler does not print whether a cascading atomic returns (TH bit 0); its "
                          "assembler takes the text as one that does not",
}  # fmt: skip


def vectors(operands):
    return {(one.file, one.index + at) for one in operands if isinstance(one, RegisterOperand) and one.file in "va"
            for at in range(one.count)}  # fmt: skip


def spans(ranges):
    return {(one.file, one.first + at) for one in ranges for at in range(one.count)}


def kept(instruction):
    """The registers of which the row says that a part is kept, though it lists them nowhere among the sources."""
    return vectors(instruction.destinations) if getattr(instruction.form, "keeps", ()) else set()


@sampled("target", FAMILY_OF, 2)
def test_the_rules_read_and_write_the_registers_that_the_decoder_lists(target):
    rows, rng, entry = table(target, FAMILY_OF[target][2]).every(), random.Random(target), entry_of(target)
    halves = [row for row in rows if row.format.name.startswith("vopd")]
    wrong, compared = {}, 0
    for row in rows:
        pair = decodable(row, target, rng, halves)
        if pair is None or row.name.startswith("s_"):
            continue
        found, shown = pair[0], text(pair[0])
        both = [found, *([found.second] if found.second else [])]
        writes = {one for half in both for one in vectors(half.destinations)}
        reads = {one for half in both for one in vectors(half.sources) | kept(half)}
        use = register_use(read_line(shown), entry)
        read, written = spans(span for _, span in use.reads), spans(use.writes)
        differences = (
            (reads - read, {}),
            (read - reads, READ_TOO),
            (written - writes, WRITTEN_TOO),
            (writes - written, NOT_WRITTEN),
        )
        for registers, reasons in differences:
            if registers and not (registers <= writes | reads and any(re.search(text, shown) for text in reasons)):
                wrong[shown] = registers
        compared += 1
    assert wrong == {}
    assert compared > 2000


# What the text does not say: see NOT_WRITTEN; and scalar instructions whose first operand is read though it is EXEC.
UNSAID = r"TH_ATOMIC_CASCADE|s_(prefetch\w+|movreld_b64|(buffer_)?(atomic|store)\w+|dcache\w+|bitcmp\w+) exec"


@sampled("target", FAMILY_OF, 2, first=1)
def test_a_decoded_instruction_is_used_as_its_text_says(target):
    """Every row and every matrix form: wait states of kernels need no text."""
    rows, rng, entry = table(target, FAMILY_OF[target][2]).every(), random.Random(target), entry_of(target)
    halves = [row for row in rows if row.format.name.startswith("vopd")]
    found = [pair[0] for row in rows if (pair := decodable(row, target, rng, halves))]
    for form in forms(target_of(target)).values():
        with contextlib.suppress(mmacalc.Error):  # formats of scales that do not go together
            found.append(next(decode(mmacalc.assemble(random_text(form, rng), target), target)))
    wrong = {}
    for one in found:
        try:
            theirs = register_use(read_line(text(one)), entry)
        except mmacalc.Error:  # one that LLVM encodes for gfx1250, and the catalog lacks
            with pytest.raises(mmacalc.Error):
                decoded_use(one, entry)
            continue
        ours = decoded_use(one, entry)
        if ours != theirs and not re.search(UNSAID, text(one)):
            wrong[text(one)] = ours, theirs
    assert wrong == {}
    assert len(found) > 2500


def test_dpp_reads_what_it_writes_of_vector_registers_alone():
    read: dict[str, set[str]] = {}
    for target in ("gfx942", "gfx1100", "gfx1200", "gfx1250"):
        for name in instruction_names():
            one = operation(name, target)
            for form in one.forms if one is not None else ():
                operands = [_operand(use.kind) for use in form.operands]
                if form.format.startswith(("vop3_dpp16", "dpp16", "dpp:")) and "" not in operands:
                    text = f"{name} {', '.join(operands)} row_shr:1 row_mask:0xa bank_mask:0xf"
                    for access, operand in zip(accesses(read_line(text), target), operands):
                        read.setdefault(access, set()).add(operand[0])
    assert read["rw"] == {"v"}
    assert read["w"] == {"s"}


def _operand(kind: str) -> str:
    """A register of a kind of operands; "" of what the test leaves out."""
    return {"v1": "v1", "x1": "v2", "s1": "s2", "s1/2": "s2"}.get(kind, "")
