"""How sure each fact is, and what products have: no oracle answers that, so it is recorded, after a check by hand.

tests/data/provenance.json is what the catalog said when it was last checked against the sources that the documentation
names (docs/provenance.md). A change of the catalog is a change here too: `python tests/test_provenance.py` writes the
file anew, and the diff shows what has to be checked.
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from tests.oracles import mmasim_answers

import mmacalc
from mmacalc.arithmetic.numerics import kind, refusal
from mmacalc.memory_access.transpose_loads import transpose_loads

RECORDED = Path(__file__).parent / "data/provenance.json"
FACTS = ("cycles", "valu_cycles")


def said():
    """All of it, as JSON has it."""
    found = {
        name: {} for name in ("instructions", "banks", "products", "rates", "doubts", "notes", "transposing loads")
    }
    for name in mmacalc.architectures():
        record, groups = mmacalc.architecture(name), defaultdict(list)
        for inst in mmacalc.instructions(name):
            facts = [f"{fact} {inst.provenance_of(fact)}" for fact in (*inst.operands, *FACTS)]
            if computed(inst):
                facts.append(f"arithmetic {inst.numerics.provenance}")
            groups["; ".join(facts)].append(inst.name)
        found["instructions"][name] = {facts: shortened(names) for facts, names in groups.items()}
        found["products"][name] = [
            [product.name, product.units, product.clock_ghz, dict(product.fma_per_clock or {})]
            for product in record.products
        ]
        found["rates"][name] = dict(sorted((record.fma_per_clock or {}).items()))
        found["doubts"][name] = {"assumed": list(record.assumed), "unconfirmed": list(record.unconfirmed)}
        found["banks"][name] = [" ".join(map(str, row[:3] + row[4:])) for row in record.lds_phases]
        found["notes"][name] = sorted({note for inst in mmacalc.instructions(name) for note in inst.notes})
        found["transposing loads"][name] = [list(load[1:]) for load in transposing(name)]
    return json.loads(json.dumps(found))


def computed(inst):
    """Whether an instruction has an arithmetic model."""
    return inst.flops and inst.architecture.arithmetic and not refusal(inst)


def transposing(name):
    """The transposing loads of an architecture, () where it has none."""
    try:
        return transpose_loads(name)
    except mmacalc.Error:
        return ()


def shortened(names):
    """The names in a line, or of many the number and a checksum."""
    text = " ".join(names)
    return text if len(text) < 400 else f"{len(names)} instructions, CRC {crc32(text.encode()):08x}"


def text_of(found):
    """As the file has it: a line for each fact."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def test_how_sure_each_fact_is_and_what_products_have_is_as_it_was_checked():
    assert said() == json.loads(RECORDED.read_text(encoding="utf-8"))


# --- the labels of arithmetic follow from their sources ---

MODELS = (
    "MMA-Sim", "Khattak and Mikaitis", "mmaemu", "rocjitsu", "ptxas", "Intel's SDM", "Bochs", "Arm DDI 0602", "QEMU",
)  # fmt: skip
"""Who says how an instruction rounds; ptxas does where it writes an instruction as others."""
LIKE = ("as ", "the dense model", "no bit-accurate model", "it has no tensor-core opcode")
"""How the source of an assumption begins: what the instruction is assumed to be like, or that nothing is known."""
GPUS = {
    "volta": "V100", "ampere": "A100, A2, Ada, L40S", "ada": "A100, A2, Ada, L40S|Ada, L40S", "hopper": "H100, H200",
    "b200": "B200", "blackwell_rtx": "RTX PRO 6000", "rdna3": "Radeon Pro W7900", "rdna4": "Radeon AI Pro R9700",
    "cdna1": "", "cdna2": "", "cdna3": "",
}  # fmt: skip
"""The GPUs of each table that Khattak and Mikaitis have a model of (of CDNA MI100 to MI300), or AMD measured."""


def label(source):
    """The label that sources give: `source` without what outputs leave open."""
    said = re.split(r"; (?:the outputs recorded here|the measured outputs|measured with a K of)", source)[0]
    if said.startswith(LIKE) or "here assumed" in said:
        return "assumed"
    clauses = [clause for clause in said.split("; ") if not re.match("that |of fp8, that ", clause)]
    names = {name for name in MODELS for clause in clauses if name in clause}
    return "two sources agree" if len(names) > 1 else "one source"


def arithmetic():
    """An instruction of each table, kind, formats, block size and source, where there is a model of them."""
    found = {}
    for name in mmacalc.architectures():
        for inst in mmacalc.instructions(name):
            if computed(inst):
                own = inst.numerics
                form = *(inst.format(operand).name for operand in "ABD"), inst.block_size
                found[(inst.architecture.arithmetic, kind(inst), *form, own.provenance, own.source)] = inst
    return found


@pytest.fixture(scope="module")
def instructions():
    return arithmetic()


def test_every_label_of_arithmetic_follows_from_its_sources(instructions):
    wrong = {}
    for (table, *_, provenance, source), inst in instructions.items():
        if provenance == "hardware-verified":  # tests/test_arithmetic_neighbours.py has the outputs
            if not any(gpus and gpus in source for gpus in GPUS[table].split("|")) or label(source) == "assumed":
                wrong[inst.arch, inst.name] = provenance, source
        elif provenance != label(source):
            wrong[inst.arch, inst.name] = provenance, label(source), source
    assert wrong == {}
    assert {key[-2] for key in instructions} == {"hardware-verified", "two sources agree", "one source", "assumed"}


def test_a_source_is_named_only_for_the_generations_that_it_has(instructions):
    """Of another generation's model the label is "assumed": sm_103 and CDNA4 once had MMA-Sim's, which has neither."""
    record = Path(__file__).parent / "data/mmasim_answers.npz"
    forms = [mmasim_answers.instruction(*form.split("|")) for form in np.load(record).files]
    has = {(inst.architecture.arithmetic, kind(inst), *(inst.format(x).name for x in "ABD"), inst.block_size)
           for inst in forms}  # fmt: skip
    named = 0
    for (table, *form, provenance, source), inst in instructions.items():
        if provenance == "assumed" or inst.choices:
            continue
        said = re.split("; the outputs recorded here", source)[0]
        named += "MMA-Sim" in said
        if "MMA-Sim" in said and "HMMA" not in said:
            assert (table, *form) in has, (inst.arch, inst.name)
        if "Khattak" in said:
            assert table in GPUS, (inst.arch, inst.name)
    assert named > 50


if __name__ == "__main__":
    RECORDED.write_text(text_of(said()), encoding="utf-8")
