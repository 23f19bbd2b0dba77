"""What the recorded outputs of GPUs decide about an arithmetic model, and what they leave open.

A model that reproduces every recorded output is not proved by that: another split of k, another order, another width
may reproduce them too. For every row of the tables that says "hardware-verified", its neighbours are computed on all
outputs recorded of its generation. Those that fit must be named in the row (`undecided`), each with what decides it
instead, and the provenance that a user sees has it; where nothing does, the label is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_arithmetic_amd import WMMA, dots, packed, words
from tests.test_arithmetic_measured import FOLDER, INPUTS

import mmacalc
import recorded
from mmacalc.arithmetic.codecs import decode as decoded
from mmacalc.arithmetic.codecs import decode_powers, encode, on_grid, round_to_format
from mmacalc.arithmetic.models import MODELS, Numbers, _sum, numbers, toward_zero
from mmacalc.arithmetic.tables import HARDWARE, OTHERS, SAME_UNIT, TABLES
from mmacalc.formats import FORMATS

# --- recorded outputs: (A's format, C's and D's formats, a (n, K), b (n, K), c (n), d (n)), all as codes ---

GENERATIONS = {"V100": "volta", "A100": "ampere", "Ada": "ada", "H200": "hopper", "B200": "b200"}


def of_nvidia():
    """(table, kind of instruction, outputs); Ada's f16 is Ampere's row."""
    for path in sorted(FOLDER.glob("*.npz")):
        gpu, form = path.stem.split("_")[0], INPUTS[path.stem.split("_")[1]]
        with np.load(path) as data:
            for output in sorted({"d_fp16", "d_fp32"} & set(data.files)):
                a, b, c, d = (data[name].view(np.float32).astype(np.float64) for name in ("a", "b", "c", output))
                wgmma = gpu == "H200" and form in ("e4m3", "e5m2") and output == "d_fp32"
                out = {"d_fp32": "f32", "d_fp16": "f16"}[output]
                codes = [encode(x, FORMATS[name]) for x, name in ((a, form), (b, form), (0 * c if wgmma else c, out))]
                table = "ampere" if (gpu, form) == ("Ada", "f16") else GENERATIONS[gpu]
                yield table, "wgmma" if wgmma else "mma", (form, out, out, *codes, encode(d, FORMATS[out]))


def of_amd():
    for name, table in (("gfx1100_dot2", "rdna3"), ("gfx1201_dot2", "rdna4")):
        for form, cases in dots(name):
            pairs = [np.stack([cases[:, i] & 0xFFFF, cases[:, i] >> 16], axis=1).astype(np.uint16) for i in (0, 1)]
            yield table, "wmma", (form, "f32", "f32", *pairs, cases[:, 2], cases[:, 3])
    n = np.arange(256).reshape(16, 16)
    measured = [words(line) for line in recorded.text("amd_numerics/gfx1100_wmma_integers.txt.gz").splitlines()]
    for form in ("f16", "bf16"):
        a, b = (encode((n * step % 17 - 8).astype(float), FORMATS[form]) for step in (7, 11))
        c = encode((n * 13 % 129 - 64).astype(float), FORMATS["f32"])
        yield "rdna3", "wmma", (form, "f32", "f32", *products(a, b), c.ravel(), np.array(measured, np.uint32).ravel())
    for form, c, d32, d64, *inputs in WMMA:
        a, b = (np.array([words(text.replace(",", " "))], np.uint16) for text in inputs)
        for d, order in ((d32, np.r_[0:4, 8:12, 4:8, 12:16]), (d64, np.arange(16))):
            ends = (np.array([int(word, 16)], np.uint32) for word in (c, d))
            yield "rdna4", "wmma", (form, "f32", "f32", a[:, order], b[:, order], *ends)
    order = np.r_[0:4, 8:12, 4:8, 12:16]
    for form, a, b, c, d11, d12, *_ in packed():
        yield "rdna3", "wmma", (form, form, form, *products(a, b), c.ravel(), d11.ravel())
        yield "rdna4", "wmma", (form, form, form, *products(a[:, order], b[order]), c.ravel(), d12.ravel())


def products(a, b):
    """The rows of A and the columns of B of each element of D."""
    return np.repeat(a, b.shape[1], axis=0), np.tile(b.T, (len(a), 1))


OUTPUTS = [*of_nvidia(), *of_amd()]


def concerning(table, row):
    """The outputs that a row of a table explains."""
    return [
        given for where, kind, given in OUTPUTS
        if where == table and given[0] in row.inputs and given[2] in row.outputs and kind in (row.kinds or (kind,))
    ]  # fmt: skip


# --- neighbours ---


def adder(a, b, c, out, parts, fraction, lowest, rounding, late):
    """An adder that aligns: the products of each part of k and what came before, from C or (late) C at the end."""
    total = numbers(np.zeros_like(c.value), out) if late else c
    for part in parts:
        total = numbers(rounding(_sum(a.at(part), b.at(part), total, fraction, lowest), out) + 0.0, out)
    return round_to_format(total.value + c.value, out) if late else total.value


def cut(kept=None):
    return lambda values, out: toward_zero(values, kept)


def splits(k):
    """Ways to go along k, each a list of the k of its steps."""
    every = np.arange(k)
    found = [[every], [every[every % 4 < 2], every[every % 4 >= 2]], [every[::2], every[1::2]]]
    found += [[every[at : at + size] for at in range(0, k, size)] for size in (k // 2, k // 4) if size]
    return [[part.tolist() for part in parts] for parts in found]


def as_adder(row, k):
    """The row's model as the arguments of `adder`."""
    given, every = row.parameters, list(range(k))
    late = row.model == "fp8_two_halves"
    size = min(given.get("group") or k, k)
    parts = [every[at : at + size] for at in range(0, k, size)]
    if late:
        parts = [[at for at in every if at % 4 < 2], [at for at in every if at % 4 >= 2]]
    rounding = cut(given.get("kept")) if row.outputs == ("f32",) else round_to_format
    return {"parts": parts, "rounding": rounding, "late": late, **{x: given[x] for x in ("fraction", "lowest")}}


def neighbours(row, k):
    """(what differs, the model of a, b, c and D's format) of each neighbour for outputs of a length."""
    if row.model.startswith("dot"):
        yield from dot_neighbours(row, k)
        return
    own = as_adder(row, k)

    def other(**changes):
        return lambda a, b, c, out: adder(a, b, c, out, **{**own, **changes})

    yield "", other()
    for parts in splits(k):
        if sorted(parts) != sorted(own["parts"]):
            yield "split", other(parts=parts)
    if len(own["parts"]) > 1:
        yield "order", other(parts=own["parts"][::-1])
    yield "c", other(late=not own["late"])
    for name, kind in (("fraction", "width"), ("lowest", "least exponent")):
        yield from ((kind, other(**{name: own[name] + by})) for by in (-1, 1))
    if row.outputs == ("f16",):
        yield "rounding", other(rounding=lambda values, out: _cut_f16(values))
    else:
        yield "rounding", other(rounding=round_to_format)
        kept = row.parameters.get("kept")
        yield from (("width", other(rounding=cut(bits))) for bits in ((kept - 1, kept + 1) if kept else (22,)))


def _cut_f16(values):
    near = round_to_format(values, FORMATS["f16"])
    back = np.abs(near) > np.abs(values)
    return np.where(back, np.nextafter(near.astype(np.float16), np.float16(0)).astype(np.float64), near)


def dot_neighbours(row, k):
    """The same of RDNA's dot products."""

    def other(order=None, late=False, **changes):
        def computed(a, b, c, out):
            at = np.arange(k) if order is None else order
            start = numbers(np.zeros_like(c.value), out) if late else c
            d = MODELS[row.model](a.at(at), b.at(at), start, out, **{**row.parameters, **changes})
            return round_to_format(d + c.value, out) if late else d

        return computed

    group = row.parameters["group"]
    yield "", other()
    for name in ("fraction", "reach"):
        yield from (("width", other(**{name: row.parameters[name] + by})) for by in (-1, 1))
    if "lowest" in row.parameters:
        yield from (("least exponent", other(lowest=row.parameters["lowest"] + by)) for by in (-1, 1))
    if "pair" in row.parameters:
        yield "split", other(pair=4)
        yield "split", other(pair=1)
    yield "c", other(late=True)
    if k > group:
        steps = np.arange(k).reshape(-1, group)
        yield "order", other(order=steps[::-1].ravel())
        yield "order", other(order=steps.T.ravel())


def fitting(table, row):
    """What differs in the neighbours that reproduce all recorded outputs as well; "" stands for the row itself."""
    differ: dict[tuple[str, int], bool] = {}
    for form, c_form, d_form, a, b, c, d in concerning(table, row):
        x, y = (Numbers(*decode_powers(np.ascontiguousarray(codes.T), FORMATS[form])) for codes in (a, b))
        start, out = Numbers(*decode_powers(np.ascontiguousarray(c), FORMATS[c_form])), FORMATS[d_form]
        finite = decoded(d, out) == decoded(d, out)
        with np.errstate(all="ignore"):
            signed = np.copysign(0.0, (x.value * y.value).sum(axis=0) + start.value)
            for number, (kind, model) in enumerate(neighbours(row, a.shape[1])):
                values = model(x, y, start, out)
                counted = finite if kind else finite | True  # NaN has its own rules
                wrong = (on_grid(values, out, keep_nan=True) != d) & counted
                differ[kind, number] = bool(wrong.any()) or differ.get((kind, number), False)
                if not kind:  # minus zero where the sum is negative
                    wrong = (on_grid(np.where(values == 0, signed, values), out, keep_nan=True) != d) & finite
                    differ["zero", -1] = bool(wrong.any()) or differ.get(("zero", -1), False)
    return {kind for (kind, _), other in differ.items() if not other}


ROWS = [(table, at) for table, rows in TABLES.items() for at, row in enumerate(rows) if row.provenance == HARDWARE]
MEASURED_ELSEWHERE = ("split", "order", "width", "c", "rounding")
"""What must be measured, if not in the outputs recorded here."""


@pytest.mark.parametrize(("table", "at"), ROWS)
def test_what_measured_outputs_do_not_decide_is_named_with_what_does(table, at):
    row, own = TABLES[table][at], "ampere" if TABLES[table][at] in TABLES["ampere"] else table
    found = fitting(own, row)
    assert "" in found  # the model itself
    assert found - {""} == set(row.undecided)
    assert max(given[3].shape[1] for given in concerning(own, row)) == row.measured
    for kind in found & set(MEASURED_ELSEWHERE):
        assert row.undecided[kind] in OTHERS
        if row.undecided[kind] == SAME_UNIT:
            same = [other for other in TABLES[own] if other.provenance == HARDWARE and other.outputs == ("f32",)
                    and other.parameters["fraction"] == row.parameters["fraction"]]  # fmt: skip
            assert any(kind not in other.undecided for other in same)


def test_an_instruction_with_a_larger_k_than_was_measured_has_the_label_of_the_models():
    assert len(ROWS) > 15
    name = "mma.sync.aligned.m16n8k{}.row.col.f32.f16.f16.f32"
    small, large = (mmacalc.instruction("sm_80", name.format(k)).numerics for k in (8, 16))
    assert (small.provenance, large.provenance) == ("hardware-verified", "two sources agree")
    assert "recorded here do not show the sign of a sum that becomes zero (MMA-Sim and mmaemu" in small.source
    assert large.source.endswith("; measured with a K of 8")


def test_the_outputs_of_b200_fit_one_sum_of_all_products_and_so_prove_no_split():
    """Why "fp8_add_c_last" was believed: of version 1.0.0 a whole row rested on these outputs."""
    row = next(row for row in TABLES["b200"] if row.model == "fp8_two_halves" and row.outputs == ("f32",))
    assert {"", "split", "order", "width"} <= fitting("b200", row)
    assert row.provenance != HARDWARE
