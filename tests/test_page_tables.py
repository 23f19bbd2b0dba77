"""The page's evaluator against Python, in a browser: every operand, wave size and modifier value of the catalog."""

import base64
import json
import random
import re
import zlib
from itertools import product

import numpy
import pytest

import mmacalc
from browser import Opened
from mmacalc.catalog import architectures, entry
from mmacalc.drawing.matrix import matrix
from mmacalc.families.tensor_memory import allowed_shapes, types_of
from mmacalc.page.tensor_memory import instructions as tensor_memory_instructions
from mmacalc.page.words import encodable
from samples import sampled
from tensor_memory_forms import TARGETS

PRIMES = (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F)


@pytest.fixture(scope="module")
def opened(browser, page_file):
    with Opened(browser, page_file) as found:
        yield found.page


def checksum(operand):
    """All of `locate`: each place of each element, weighted by its number, modulo 2^32 (page/src/checksum.ts)."""
    table = operand.table()
    columns = [table[name] for name in ("lane", "item", "register", "lsb")]
    if operand.tile:
        columns[0] = columns[0] + operand.parts.lane[-1][1] * table["wave"]
    if len(operand.copies()) > 1:
        order = numpy.lexsort((columns[1], columns[0]), axis=-1)
        columns = [numpy.take_along_axis(column, order, axis=-1) for column in columns]
    with numpy.errstate(over="ignore"):
        values = [(column.ravel().astype(numpy.uint32) + numpy.uint32(1)) * numpy.uint32(prime)
                  for column, prime in zip(columns, PRIMES)]  # fmt: skip
        value = values[0] ^ values[1] ^ values[2] ^ values[3]
        weights = (2 * numpy.arange(len(value), dtype=numpy.uint32) + numpy.uint32(1)).astype(numpy.uint32)
        return int((value * weights).sum(dtype=numpy.uint32))


class Checksums:
    """The checksum of an operand, computed once for each distinct placement."""

    def __init__(self):
        self.known = {}
        self.places = 0

    def of(self, operand):
        placement = operand.placement
        read = placement.lanes and tuple(placement.lanes(lane) for lane in range(operand.lanes))
        key = (id(placement.layout), *sorted(placement.fields.items()), placement[2:6], read, operand.wave)
        if key not in self.known:
            self.known[key] = (checksum(operand), placement.layout)
        self.places += numpy.prod(operand.shape) * len(operand.copies())
        return self.known[key][0]


TABLES = """(step) => {
  const { catalog, checksum } = mmacalc, known = new Map(), rows = [];
  const sum = (placement) => {
    if (placement && !known.has(placement)) known.set(placement, checksum(placement));
    return placement ? known.get(placement) : null;
  };
  for (const architecture of catalog.architectures) {
    for (const [number, instruction] of catalog.instructions(architecture).entries()) {
      if (number % step) continue;
      for (const wave of architecture.waves) {
        for (const operand of instruction.operands(wave)) {
          const values = operand.combinations().map((fields) => sum(operand.placement(fields)));
          const width = operand.placement({}).slot(0, 0).width;
          rows.push([architecture.name, instruction.name, wave, operand.name, operand.fields, values, width]);
        }
      }
    }
  }
  return rows;
}"""


@sampled("step", [31, 8, 1], 1, whole=1)
def test_every_operand_lies_where_python_says(opened, step):
    """36 million places: lane, item, register and bit of every element, under every value of every modifier."""
    rows, sums = opened.evaluate(TABLES, step), Checksums()
    rows = [row for row in rows if not row[1].startswith("tcgen05")]
    if step == 1:
        names = {(name, inst.name) for name in architectures() for inst in mmacalc.instructions(name)}
        assert {(arch, name) for arch, name, *_ in rows} == {
            (arch, name) for arch, name in names if mmacalc.instruction(arch, name).register_operands
        }
    tables = 0
    for arch, name, wave, operand, fields, found, width in rows:
        inst = mmacalc.instruction(arch, name)
        limits = {field: set() for field in fields}
        for cbsz in inst.modifier_limits(wave).get("cbsz", (0,)):
            for field, values in inst.modifier_limits(wave, cbsz).items():
                if field in limits:
                    limits[field] |= {*values}
        expected = []
        for combination in product(*(sorted(values) for values in limits.values())):
            try:
                expected.append(sums.of(inst.operand(operand, wave, **dict(zip(fields, combination)))))
            except mmacalc.Error:
                expected.append(None)
        assert found == expected, (arch, name, wave, operand, fields)
        assert width == inst.operand(operand, wave).location_of_item(0, 0).width
        tables += len([value for value in expected if value is not None])
    assert tables > 16_000 // step
    assert sums.places > 18_000_000 // step


def test_the_page_inflates_the_tables_of_python(opened, page_file):
    written = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page_file.read_text()).group(1)
    assert opened.evaluate("() => mmacalc.catalog.data") == json.loads(zlib.decompress(base64.b64decode(written)))


NAMES = """() => mmacalc.catalog.architectures.map((architecture) => [
  architecture.name, mmacalc.catalog.instructions(architecture).map(({ name, aliases }) => [name, aliases]),
])"""


def test_every_architecture_has_the_instructions_and_aliases_of_python(opened):
    listed = dict(opened.evaluate(NAMES))
    assert [*listed] == [*architectures()]
    for arch, rows in listed.items():
        expected = [*mmacalc.instructions(arch), *tensor_memory_instructions(entry(arch).architecture)]
        assert sorted(rows) == sorted([inst.name, [*inst.aliases]] for inst in expected), arch


TENSOR_MEMORY = """(step) => {
  const { catalog } = mmacalc, rows = [];
  for (const architecture of catalog.architectures)
    for (const [number, instruction] of catalog.instructions(architecture).entries()) {
      if (!instruction.inTensorMemory) continue;
      const [wave] = instruction.architecture.waves, found = [];
      for (const operand of number % step ? [] : instruction.operands(wave)) {
        const combinations = operand.combinations();
        for (let at = 0; at < combinations.length; at += 1 + Math.floor(combinations.length / 5)) {
          const placement = operand.placement(combinations[at]);
          const places = [];
          if (placement) {
            const [, rows_, columns] = placement.shape;
            for (const row of [0, 1, 37, rows_ - 1]) for (const column of [0, 1, 5, columns - 1])
              if (row < rows_ && column < columns) places.push([row, column, placement.locate(0, row, column)]);
          }
          found.push([operand.name, combinations[at], placement && places, placement && placement.format]);
        }
      }
      const modifiers = instruction.modifiers(wave).map(({ field, values, names }) => [field, values({}), names]);
      rows.push([architecture.name, instruction.name, modifiers, found]);
    }
  return rows;
}"""


@sampled("step", [11, 4, 1], 1, whole=1)
def test_every_operand_in_tensor_memory_lies_where_python_says(opened, step):
    """CTA, lane, column and bit under the shapes, types and fields that the page offers, of every tcgen05.mma."""
    compared = refused = 0
    for arch, name, modifiers, found in opened.evaluate(TENSOR_MEMORY, step):
        inst, words = mmacalc.instruction(arch, name), {field: names for field, _, names in modifiers}
        rows, _ = allowed_shapes(inst.form)
        for operand, fields, places, kept in found:
            shape = {"m": rows[-1], "n": 64, **fields}
            shape |= {field: words[field][value] for field, value in fields.items() if words[field]}
            if places is None:
                with pytest.raises(mmacalc.Error):
                    inst.operand(operand, **shape)
                refused += 1
                continue
            known = inst.operand(operand, **shape)
            assert kept == known.instruction.format(operand).name, (arch, name, operand, fields)
            for row, column, here in places:
                if operand in ("SA", "SB"):  # by the number of the scale
                    axis = known.placement.axes[-1]
                    number = column - axis.first
                    if row >= known.shape[1] or not 0 <= number < axis.extent // axis.run:
                        continue
                    column = number * axis.run
                expected = known.locate(**dict(zip(known.axes, (0, row, column))))
                at = [(p["lane"] // 128, p["lane"] % 128, p["register"], p["lsb"], p["width"]) for p in here]
                assert sorted(at) == sorted(tuple(place) for place in expected), (arch, name, fields, row, column)
                compared += 1
    assert compared > 10_000 // step
    assert refused > 20 // step


def test_the_page_offers_every_shape_and_type_of_tcgen05(opened):
    rows_of_all = opened.evaluate(TENSOR_MEMORY, 100_000)
    for arch, name, modifiers, _ in rows_of_all:
        inst, offered = mmacalc.instruction(arch, name), {field: values for field, values, _ in modifiers}
        rows, columns = allowed_shapes(inst.form)
        assert sorted(offered.get("m", rows)) == list(rows)
        assert sorted(offered["n"]) == list(columns)
        assert [names for field, _, names in modifiers if field == "d"] in ([], [list(types_of(inst.kind)[1])])
    assert {arch for arch, *_ in rows_of_all} == {*TARGETS}


@sampled(("step", "least"), [(11, 60), (4, 150), (1, 600)], 1, whole=1)
def test_what_a_register_holds_is_the_inverse_of_where_an_element_is(opened, step, least):
    """`elements` holds exactly the pairs that `locate` has, of every distinct placement; in Tensor Memory, where shapes
    are chosen, a sample takes every seventh."""
    wrong, tried = opened.evaluate(
        """(step) => {
      const { catalog, inverts } = mmacalc, seen = new Set();
      for (const architecture of catalog.architectures)
        for (const [number, instruction] of catalog.instructions(architecture).entries())
          for (const wave of number % step ? [] : instruction.architecture.waves)
            for (const operand of instruction.operands(wave))
              for (const [at, fields] of operand.combinations().entries()) {
                const left = step > 1 && instruction.inTensorMemory && at % 7;
                const placement = left ? null : operand.placement(fields);
                if (placement) seen.add(placement);
              }
      return [[...seen].filter((placement) => !inverts(placement)).length, seen.size];
    }""",
        step,
    )
    assert (wrong, tried > least) == (0, True)


def test_modifiers_together_give_what_python_gives(opened):
    """Random values of all modifiers at once: places, signs and what a lane holds."""
    chosen, questions, expected = random.Random(12), [], []
    for arch in architectures():
        with_modifiers = [inst for inst in mmacalc.instructions(arch) if inst.modifier_limits()]
        for inst in chosen.sample(with_modifiers, min(12, len(with_modifiers))):
            wave = chosen.choice(inst.architecture.waves)
            fields = {}
            for field in inst.modifier_limits(wave):
                fields[field] = chosen.choice(inst.modifier_limits(wave, fields.get("cbsz", 0))[field])
            for name in inst.register_operands:
                operand = inst.operand(name, wave, **fields)
                lane, item = chosen.randrange(operand.lanes), chosen.randrange(operand.items)
                held = sorted([block, row, col] for row, col, block in operand.elements(lane, item))
                slot = operand.location_of_item(lane, item)
                questions.append([arch, inst.name, wave, name, fields, lane, item])
                expected.append(
                    [checksum(operand), held, operand.sign(slot.lsb), operand.registers, operand.format.name]
                )
    assert len(questions) > 500
    found = opened.evaluate(
        """(questions) => questions.map(([arch, name, wave, operand, fields, lane, item]) => {
      const { catalog, checksum } = mmacalc;
      const table = catalog.instruction(catalog.architecture(arch), name).operand(operand, wave);
      const placement = table.placement(fields), slot = placement.slot(lane, item);
      return [checksum(placement), placement.elements(lane, item), table.sign(fields, slot.lsb), placement.registers,
              placement.format];
    })""",
        questions,
    )
    for question, one, other in zip(questions, found, expected):
        assert one == other, question


def test_every_modifier_value_is_encoded_as_the_assembler_encodes_it(opened):
    """The word under every value of every modifier that is offered, against `mmacalc.assemble` of the text shown."""
    rows = opened.evaluate("""() => {
      const rows = [];
      for (const architecture of mmacalc.catalog.architectures)
        for (const instruction of mmacalc.catalog.instructions(architecture))
          for (const wave of architecture.waves) {
            const word = instruction.word(wave);
            if (!word) continue;
            const tried = [{}];
            for (const modifier of instruction.modifiers(wave))
              for (const cbsz of [0, 1, 2])
                for (const value of modifier.values({ cbsz }))
                  if (value && modifier.field === "abid") tried.push({ cbsz, abid: value });
                  else if (value) tried.push({ [modifier.field]: value });
            for (const format of [1, 4])
              for (const one of [0, 1]) for (const other of [1, 2])
                if (instruction.modifiers(wave).some(({ field }) => field === "matrix_a_scale_fmt"))
                  tried.push({ matrix_a_fmt: 4, matrix_b_fmt: format,
                               matrix_a_scale_fmt: one, matrix_b_scale_fmt: other });
            const text = (fields) => word.text(fields).map((part) => part.text).join("");
            const one = (fields) => [text(fields), word.refused(fields) || word.hex(fields)];
            rows.push([architecture.name, instruction.name, wave, tried.map((fields) => [fields, ...one(fields)])]);
          }
      return rows;
    }""")
    compared = refused = 0
    for arch, name, wave, tried in rows:
        limits = mmacalc.instruction(arch, name).modifier_limits(wave)
        for fields, text, code in tried:
            if fields.get("cbsz", 0) not in limits.get("cbsz", (0,)):
                continue
            if "scales" in code:
                refused += 1
                with pytest.raises(mmacalc.Error, match=code):
                    mmacalc.assemble(text, arch, wave)
                continue
            assert mmacalc.assemble(text, arch, wave).hex() == code, text
            compared += 1
    assert compared > 3_000
    assert refused > 10
    amd = [name for name in architectures() if entry(name).architecture.vendor == "amd"]
    every = [inst for arch in amd for inst in mmacalc.instructions(arch)]
    without = {(inst.arch, inst.name) for inst in every if "encoding" in inst.unconfirmed_parts}
    assert {(inst.arch, inst.name) for inst in every} - without == {(arch, name) for arch, name, *_ in rows}


def test_the_page_offers_the_values_that_exist(opened):
    """Every value of a modifier that can be encoded, and no other: SWMMAC has no C to negate."""
    offered = opened.evaluate("""() => mmacalc.catalog.architectures.flatMap((architecture) =>
      mmacalc.catalog.instructions(architecture).flatMap((instruction) => architecture.waves.map((wave) =>
        [architecture.name, instruction.name, wave,
         instruction.modifiers(wave).map(({ field, values }) => [field, values({})])])))""")
    for arch, name, wave, modifiers in offered:
        if name.startswith("tcgen05"):
            continue  # test_the_page_offers_every_shape_and_type_of_tcgen05
        exist = encodable(mmacalc.instruction(arch, name), wave)
        shown = {field: (*values,) for field, values in modifiers}
        assert shown == {field: values for field, values in exist.items() if values != (0,) or field in shown}
    swmmac = next(row for row in offered if row[1] == "v_swmmac_f32_16x16x32_f16")
    assert dict(swmmac[3])["neg"] == [0, 1, 2, 3]


def test_saved_pictures_are_those_of_mmacalc_draw(opened):
    """The page draws by the same geometry: its SVG is, to the byte, the one that Python writes."""
    operands, seen = [], set()
    for arch in architectures():
        for inst in mmacalc.instructions(arch)[::23]:
            for name in inst.register_operands:
                operand = inst.operand(name)
                if operand.pattern not in seen and operand.shape[1] > 1:
                    seen.add(operand.pattern)
                    operands.append((operand, {}))
    blocks = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x4_16b_f16")
    operands.append((blocks.operand("A", cbsz=2, abid=1), {"cbsz": 2, "abid": 1}))
    operands.append((blocks.operand("B", blgp=3), {"blgp": 3}))
    wmma = mmacalc.instruction("rdna3", "v_wmma_f32_16x16x16_f16")
    operands.append((wmma.operand("A", wave=64, neg=1), {"neg": 1}))
    looks = [("light", "lane", False, True), ("dark", "register", False, False), ("print", "lane", True, True),
             ("light", "digit", False, True)]  # fmt: skip
    assert len(operands) > 20
    for at, (operand, fields) in enumerate(operands):
        style, by, labels, fold = looks[at % 4]
        by = matrix(operand).keys[-1] if by == "digit" else by  # the last digit of the columns
        labels = labels and operand.shape[1] * operand.shape[2] < 2000
        inst = operand.instruction
        shown = opened.evaluate(
            """([arch, name, operand, wave, fields, look]) => {
              const instruction = mmacalc.catalog.instruction(mmacalc.catalog.architecture(arch), name);
              const table = instruction.operand(operand, wave);
              const matrix = new mmacalc.Matrix(instruction, table, fields, table.placement(fields));
              return mmacalc.svg(mmacalc.operandScene(matrix, { ...look, marks: [[0, 1, 0]] }));
            }""",
            [inst.arch, inst.name, operand.name, operand.wave, fields,
             {"style": style, "colorBy": by, "labels": labels, "fold": fold}],
        )  # fmt: skip
        mark = f"{operand.name}[1][0]"
        assert shown == operand.draw(style=style, color_by=by, labels=labels, fold=fold, mark=mark).svg, operand


CHAINS = """(questions) => questions.map(([arch, x, y, use, keepK, wave]) => {
  const { catalog, Matrix, chain, refusal } = mmacalc, architecture = catalog.architecture(arch);
  const matrix = (name, operand) => {
    const instruction = catalog.instruction(architecture, name), table = instruction.operand(operand, wave);
    return new Matrix(instruction, table, {}, table.placement({}));
  };
  const [source, target] = [matrix(x, "D"), matrix(y, use[0])];
  if (refusal(source, target, matrix(y, "D"), catalog.floats)) return null;
  const { kind, relabel, relabelF, pattern, exchanges, lanePermutation, tiles } = chain(source, target, use, keepK);
  return [kind, relabel, relabelF, pattern, exchanges, lanePermutation, tiles.f, tiles.k,
          tiles.xTiles[0] * tiles.xTiles[1], tiles.yTiles[0] * tiles.yTiles[1]];
})"""


def chain_questions(most):
    """Pairs of instructions of every architecture, one for each two layouts, in all uses."""
    seen, found, refused = set(), [], []
    for arch in architectures():
        family = mmacalc.architecture(arch).family
        if "chain" in family.unsupported_topics:
            inst = mmacalc.instructions(arch)[0]
            (refused if family.layouts_only else found).append(
                [arch, inst.name, inst.name, "A", inst.architecture.waves[0]]
            )
            continue
        asked = [inst for inst in mmacalc.instructions(arch) if not inst.name.startswith("wmma.")]  # which is refused
        of_product = [inst for inst in asked if {"A", "B", "D"} <= {*inst.operands}]
        results, targets = {}, {}
        for inst in of_product:
            for wave in inst.architecture.waves:
                for name in inst.register_operands:
                    operand = inst.operand(name, wave)
                    key = (
                        operand.pattern,
                        *operand.sizes.items(),
                        operand.placement.slot_bits,
                        operand.format.is_float,
                    )
                    if name == "D":
                        results.setdefault((wave, key), inst)
                    elif name in "AB":
                        targets.setdefault((wave, name, key, inst.format("D").name), inst)
        for (wave, source), x in results.items():
            for (size, name, target, _), y in targets.items():
                key = (wave, source, name, target, x.blocks, y.blocks)
                if wave == size and key not in seen:
                    seen.add(key)
                    found += [[arch, x.name, y.name, use, wave] for use in (name, f"{name}t")]
    return random.Random(5).sample(found, min(len(found), most)) + refused


@sampled("most", [200, 600, 100_000], 1, whole=1)
def test_chains_are_those_of_mmacalc_chain(opened, most):
    """Classes, relabelled k, what moves; with k kept where elements move, which is what the page shows."""
    asked = chain_questions(most)
    free = opened.evaluate(CHAINS, [[arch, x, y, use, False, wave] for arch, x, y, use, wave in asked])
    kinds = set()
    for (arch, x, y, use, wave), found in zip(asked, free):
        first, second = mmacalc.instruction(arch, x), mmacalc.instruction(arch, y)
        try:
            expected = mmacalc.chain(first, second, use, wave=wave)
        except mmacalc.Error:
            assert found is None, (arch, x, y, use)
            continue
        if expected.kind == "lane-moves":
            expected = mmacalc.chain(first, second, use, keep_k=True, wave=wave)
        kinds.add(expected.kind)
        moves = [[*pair] for pair in expected.exchanges], [[*pair] for pair in expected.lane_permutation]
        relabelled = [list(each) if each else None for each in (expected.relabel, expected.relabel_f)]
        assert found == [
            expected.kind, *relabelled, expected.relabel_pattern, *moves, expected.f, expected.k, expected.x_count,
            expected.y_count,
        ], (arch, x, y, use)  # fmt: skip
    assert kinds >= {"identical", "renamed", "k-relabel", "lane-moves"}


MEMORY = """(questions) => questions.map(([arch, name, wave, operand, order, ld, pad, swizzle, search]) => {
  const { memory, catalog, Matrix } = mmacalc, instruction = catalog.instruction(catalog.architecture(arch), name);
  const table = instruction.operand(operand, wave), matrix = new Matrix(instruction, table, {}, table.placement({}));
  const tile = memory.tileOf(matrix, order, ld ?? memory.shortest(matrix, order));
  const found = typeof tile === "string" ? tile : memory.accessesOf(tile);
  if (typeof found === "string" || (tile.rowBytes + pad) % found.accessBytes) return null;
  if (memory.misfit(found, tile, pad, swizzle)) return null;
  const rule = memory.ruleOf(catalog, matrix, found.accessBytes, operand === "D");
  if (!rule) return null;
  const addresses = memory.linear(found, tile, pad, swizzle);
  const cost = memory.costOf(rule, addresses, found.accessBytes, wave);
  const repaired = search && memory.repair(catalog, tile, found);
  return [found.runBytes, found.accessBytes, addresses, cost.cycles, cost.ideal, rule[0], rule[4],
          repaired && [repaired.pad, repaired.swizzle]];
})"""


def memory_questions(most):
    """Operands of every architecture, one for each placement, with every order and some rows, paddings and swizzles."""
    seen, found, chance = set(), [], random.Random(7)
    for arch in architectures():
        for inst in mmacalc.instructions(arch):
            for wave in inst.architecture.waves:
                for name in set(inst.register_operands) & set("ABCD"):
                    operand = inst.operand(name, wave)
                    key = (arch, name, wave, operand.pattern, *operand.sizes.items(), operand.placement[2:6])
                    if key not in seen:
                        seen.add(key)
                        for order in ("row", "col"):
                            ld, pad = chance.choice([None, 64, 128, 520]), chance.choice([0, 0, 4, 8, 16, 32])
                            swizzle = chance.choice([[0, 4, 3], [3, 4, 3], [2, 4, 3], [2, 5, 4]])
                            found.append([arch, inst.name, wave, name, order, ld, pad, swizzle, chance.random() < 0.05])
    return chance.sample(found, min(len(found), most))


@sampled("most", [40, 160, 100_000], 1, whole=1)
def test_banks_are_those_of_mmacalc_memory(opened, most):
    """Runs, accesses, addresses, cycles, and now and then the repair."""
    asked, answered = memory_questions(most), 0
    for question, found in zip(asked, opened.evaluate(MEMORY, asked)):
        arch, name, wave, letter, order, ld, pad, swizzle, search = question
        operand = mmacalc.instruction(arch, name).operand(letter, wave)
        try:
            expected = mmacalc.memory(operand, order, ld, pad, swizzle)
        except mmacalc.Error:
            assert found is None, question
            continue
        answered += 1
        lds, addresses = expected.lds, expected.found.linear(expected.tile, expected.placing)
        repaired = None
        if search:
            pad, swizzle, _ = expected.search()  # the page has no padding between parts of the tile
            repaired = [pad, swizzle and list(swizzle)]
        assert found == [
            expected.run_bytes, expected.access_bytes, addresses, lds.cycles, lds.ideal, lds.rule.banks,
            lds.rule.provenance, repaired or False,
        ], question  # fmt: skip
    assert answered > 15


WAITS = """(questions) => questions.map(([arch, first, second, fields]) => {
  const { catalog, waitTable, nops } = mmacalc, architecture = catalog.architecture(arch);
  const found = waitTable(catalog, ...[first, second].map((name) => catalog.instruction(architecture, name)), fields);
  if (typeof found === "string") return null;
  const rows = [...found.matrix, ...found.after, ...found.before];
  return rows.map(({ words, answer: [states, llvm, guide, , instruction] }) =>
    [words, states, llvm, guide, nops(states, found.unit, instruction)]);
})"""


def lines_of(first, second, fields):
    """For each row of the page's table two lines of assembly, with the registers that the operands really have."""
    agpr = first.architecture.accumulators == "required"
    file = "a" if agpr else "v"

    def line(inst, base, chosen, **changed):
        spans, start = {}, base
        for name in ("D", "A", "B", "K" if inst.sparse else "C"):
            count = inst.operand(name, **chosen).registers
            letter = file if name in "DC" else "v"
            at = changed.get(name, f"{letter}{start}")
            spans[name] = f"{at[0]}[{at[1:]}:{int(at[1:]) + count - 1}]"
            start += count
        values = " ".join(f"{field}:{value}" for field, value in chosen.items())
        return f"{inst.name} {', '.join(spans.values())} {values}", spans

    x, at = line(first, 0, fields[0])
    place = {name: f"{span[0]}{span[2:].split(':')[0]}" for name, span in at.items()}
    beyond = f"{file}{int(place['D'][1:]) + 1}"
    c = "D" if second.sparse else "C"
    other, own = line(second, 100, fields[1])
    begin = {name: span[0] + span[2:].split(":")[0] for name, span in own.items()}
    for words, change in (
        ("accumulates", {c: place["D"], "D": place["D"]}),
        ("reads as C registers that overlap", {c: beyond}),
        ("reads D as A or B", {"A": f"{file}0"}),
        ("writes registers of D, its C is elsewhere", {"D": beyond}),
        ("writes registers of C", {"D": place.get("C", place["D"])}),
    ):
        if (second.sparse and "elsewhere" in words) or (first.sparse and words == "writes registers of C"):
            continue
        if words == "accumulates" and first.operand("D").registers != second.operand("D").registers:
            continue
        yield words, x, line(second, 100, fields[1], **change)[0]
    if agpr:
        yield "v_accvgpr_read reads D", x, "v_accvgpr_read_b32 v200, a0"
        yield "v_accvgpr_write writes C", f"v_accvgpr_write_b32 {begin['C']}, v200", other
    else:
        yield "VALU reads D", x, "v_add_f32 v250, v1, v250"
        yield "VALU writes registers of D", x, "v_mov_b32 v0, v250"
        yield "a store to memory", x, "ds_write_b32 v250, v0"
        yield "a load from memory", x, "ds_read_b32 v0, v250"
        yield "VALU writes C", f"v_mov_b32 {begin[c]}, v250", other
    yield "VALU writes registers of A or B", x, f"v_mov_b32 {place['B']}, v250"
    yield "a transcendental instruction writes A or B", f"v_exp_f32 {begin['B']}, v250", other
    yield "VALU writes A or B", f"v_mov_b32 {begin['B']}, v250", other


def test_wait_states_are_those_of_mmacalc_waits(opened):
    """For pairs of instructions of every architecture of AMD, with wide and narrow formats."""
    chance, asked = random.Random(11), []
    for arch in architectures():
        every = [inst for inst in mmacalc.instructions(arch) if inst.architecture.vendor == "amd"]
        for _ in range(12 if every else 0):
            pair = chance.choices(every, k=2)
            of_inputs = [[field for field, name in inst.choices.items() if name in ("A", "B")] for inst in pair]
            fields = [dict.fromkeys(names, chance.choice([0, 4])) for names in of_inputs]
            asked.append([arch, pair[0].name, pair[1].name, fields])
    compared = 0
    for (arch, first, second, fields), found in zip(asked, opened.evaluate(WAITS, asked)):
        pair = [mmacalc.instruction(arch, name) for name in (first, second)]
        if found is None:
            _, one, two = next(lines_of(*pair, fields))
            with pytest.raises(mmacalc.Error, match="no source"):
                mmacalc.wait_states(one, two, arch)
            continue
        for words, one, two in lines_of(*pair, fields):
            rows = [row for row in found if row[0].startswith(words)]
            expected = mmacalc.wait_states(one, two, arch)
            answer = [expected.states, expected.llvm, expected.guide, list(expected.nops)]
            assert [row[1:] for row in rows] == [answer], (arch, words, one, two)
            compared += 1
    assert compared > 500


KERNELS = """(asked) => asked.map(([arch, name, wave, fields, orders]) => {
  const { catalog, kernel } = mmacalc;
  const instruction = catalog.instruction(catalog.architecture(arch), name);
  const { source, refused } = kernel(instruction, wave, fields, orders);
  return refused ? null : source;
})"""


def asked_kernels():
    """Every instruction with every wave size, of an instruction of PTX that several targets have one; modifiers and
    orders at random."""
    draw, seen = random.Random(14), set()
    for arch in reversed(architectures()):
        record = entry(arch).architecture
        for inst in mmacalc.instructions(arch):
            if inst.name in seen and record.vendor == "nvidia":
                continue
            seen.add(inst.name)
            for wave in record.waves:
                orders = {name: draw.choice(("row", "col")) for name in "AB"}
                yield arch, inst.name, wave, {}, {"A": "row", "B": "col"}
                yield arch, inst.name, wave, {f: draw.choice(v) for f, v in encodable(inst, wave).items()}, orders


@sampled("step", [7, 3, 1], 1, whole=1)
def test_kernels_are_those_of_mmacalc_generate(opened, step):
    asked = list(asked_kernels())[::step]
    found = opened.evaluate(KERNELS, asked)
    made = 0
    for (arch, name, wave, fields, orders), text in zip(asked, found):
        try:
            inst = mmacalc.instruction(arch, name)
            if {"wgmma", "wmma"} & set(inst.features):  # the page shows loads from layouts of registers alone
                raise mmacalc.Error("not on the page")
            expected = mmacalc.generate(inst, wave=wave, order_a=orders["A"], order_b=orders["B"], **fields)
        except mmacalc.Error:
            expected = None
        assert text == expected, (arch, name, wave, fields, orders)
        made += expected is not None
    assert made > 1200 // step


PERMUTED = [
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 0, (2, 2, 1), (1, 2, 1), {"n": "(8,2,2):(1,16,8)"}),
    ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 0, (1, 1, 1), (1, 1, 1), {"k": "(2,4,2):(1,4,2)"}),
    ("sm_80", "mma.m16n8k8.f32.tf32.tf32.f32", 0, (4, 1, 1), (1, 16, 1), {"n": "((2,16),4):((1,8),2)"}),
    ("gfx942", "v_mfma_f32_32x32x8_f16", 0, (2, 2, 1), (2, 1, 2), {"m": "(2,32):(32,1)", "k": "(4,2,2):(1,8,4)"}),
    ("gfx942", "v_mfma_f32_16x16x8_xf32", 0, (1, 1, 1), (1, 1, 2), {"k": "(2,4,2):(1,4,2)"}),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", 64, (2, 1, 1), (1, 3, 1), {"m": "(4,4,2):(8,1,4)", "n": "(16,3):(3,1)"}),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", 0, (1, 2, 1), (1, 1, 1), {"n": "(2,16):(16,1)"}),
    ("sm_90a", "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16", 0, (2, 1, 1), (1, 1, 1), {"m": "(64,2):(2,1)"}),
]  # fmt: skip


@pytest.mark.parametrize("row", PERMUTED, ids=lambda row: f"{row[0]}-{row[-1]}")
def test_a_permuted_tile_has_every_element_where_python_says(opened, row):
    arch, name, wave, waves, repeat, permutation = row
    inst = mmacalc.instruction(arch, name)
    wave = wave or inst.architecture.waves[0]
    own = inst.tile(waves, repeat, wave=wave, permutation=permutation)
    tile = {"waves": waves, "repeat": repeat, "adjacent": [1, 1, 1], "waveOrder": "mnk", "repeatOrder": "mnk",
            "permutation": permutation}  # fmt: skip
    ((refusal, operands),) = opened.evaluate(TILES, [(inst.arch, inst.name, wave, {}, tile)])
    assert not refusal
    assert {each for each, _ in operands} == set(own.operands)
    for each, (_, _, lanes, registers, found) in operands:
        operand = own.operand(each)
        assert (lanes, registers, found) == (operand.lanes, operand.registers, checksum(operand)), each


TILES = """(rows) => rows.map(([arch, name, wave, fields, tile]) => {
  const { catalog, checksum } = mmacalc;
  const instruction = catalog.instruction(catalog.architecture(arch), name);
  const refused = mmacalc.refusalOf(instruction, wave, fields, tile);
  return [refused, refused ? [] : instruction.operands(wave).map((table) => {
    const placement = mmacalc.placementOf(table, fields, tile);
    if (!placement) return [table.name, null];
    const { layout, lanes, registers } = placement;
    return [table.name, [layout.text, Object.fromEntries(layout.sizes), lanes, registers, checksum(placement)]];
  })];
})"""


def random_tile(chosen, inst, wave):
    """Counts and orders of a tile, and modifiers, as a link may have them."""
    fields = {}
    for field, values in encodable(inst, wave).items():
        if field != "abid" and chosen.random() < 0.3:
            fields[field] = chosen.choice(values[:4])
    counts = {name: [chosen.choice([1, 1, 2, 2, 3]) for _ in range(3)] for name in ("waves", "repeat")}
    if max(counts["waves"] + counts["repeat"]) == 1:
        counts["waves"][0] = 2  # one instruction is no tile: its pattern names no wave
    counts["adjacent"] = [chosen.choice([1, count]) for count in counts["repeat"]]
    orders = {name: chosen.choice(["mnk", "nmk", "kmn"]) for name in ("waveOrder", "repeatOrder")}
    return fields, {**counts, **orders}


@sampled("count", [150, 500, 3000], 1, whole=1)
def test_every_operand_of_a_tile_lies_where_python_says(opened, count):
    """Patterns, sizes, threads, registers and all places of random tiles; what Python refuses the page refuses."""
    chosen, rows = random.Random(count), []
    every = [(arch, inst) for arch in architectures() for inst in mmacalc.instructions(arch) if inst.register_operands]
    while len(rows) < count:
        arch, inst = chosen.choice(every)
        wave = chosen.choice(inst.architecture.waves)
        rows.append((arch, inst.name, wave, *random_tile(chosen, inst, wave)))
    compared = refused = 0
    for (arch, name, wave, fields, tile), (refusal, operands) in zip(rows, opened.evaluate(TILES, rows)):
        inst = mmacalc.instruction(arch, name)
        try:
            own = inst.tile(
                tile["waves"],
                tile["repeat"],
                adjacent=tile["adjacent"],
                wave=wave,
                wave_order=tile["waveOrder"],
                repeat_order=tile["repeatOrder"],
            )
            found = {each: own.operand(each, **fields) for each in own.operands}
        except mmacalc.Error:
            found = None
        if found is None:
            assert refusal or any(value is None for _, value in operands), (name, tile)
            refused += 1
            continue
        if "The page shows tiles of up to" in refusal:
            assert own.threads > 1024 or max(numpy.prod(each.shape) for each in found.values()) > 1 << 18
            continue
        assert not refusal, (name, refusal)
        for each, shown in operands:
            operand = found[each]
            wanted = [operand.pattern, operand.sizes, operand.lanes, operand.registers, checksum(operand)]
            assert shown == wanted, (arch, name, wave, fields, tile, each)
            compared += 1
    assert compared > count // 2
    assert refused > count // 50
