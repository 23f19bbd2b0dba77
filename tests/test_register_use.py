"""What the hazard rules read and write, against the operands of the decoder: every row of every target."""

from __future__ import annotations

import random
import re

import pytest

from mmacalc.asm.decoded import RegisterOperand
from mmacalc.asm.decoder import text
from mmacalc.asm.reader import read_line
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.hazards.register_use import entry_of, register_use
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


@pytest.mark.parametrize("target", FAMILY_OF)
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
