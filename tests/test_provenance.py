"""How sure each fact is, and what products have: no oracle answers that, so it is recorded, after a check by hand.

tests/data/provenance.json is what the catalog said when it was last checked against the sources that the documentation
names (docs/provenance.md). A change of the catalog is a change here too: `python tests/test_provenance.py` writes the
file anew, and the diff shows what has to be checked.
"""

import json
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import mmacalc
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
            if inst.flops and inst.architecture.arithmetic:
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


if __name__ == "__main__":
    RECORDED.write_text(text_of(said()), encoding="utf-8")
