"""Video instructions against Python's integers, byte by byte and half by half."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mmacalc.kernels.ptx import arithmetic, grammar
from mmacalc.kernels.ptx.video import ROOTS

COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
COMPUTE = {
    "vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min,
    "vmax": max, "vavrg": lambda a, b: (a + b + (a + b >= 0)) // 2,
}  # fmt: skip


def parts(value: int, count: int, signed: bool) -> list[int]:
    bits = 32 // count
    raw = [value >> bits * place & (1 << bits) - 1 for place in range(count)]
    return [one - (1 << bits) if signed and one >> bits - 1 else one for one in raw]


def expected(root: str, words: tuple[str, ...], a: int, b: int, c: int) -> int:
    name, count = (root[:-1], int(root[-1])) if root[-1] in "24" else (root, 1)
    types = [word for word in words if word in ("u32", "s32")]
    target = "u32" if name == "vset" else types.pop(0)
    bits = 32 // count
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if target == "s32" else (0, (1 << bits) - 1)
    found = []
    for x, y in zip(parts(a, count, types[0] == "s32"), parts(b, count, types[1] == "s32")):
        word = next((word for word in words if word in COMPARE), "")
        value = int(eval(f"{x} {COMPARE[word]} {y}")) if word else COMPUTE[name](x, y)
        found.append(min(max(value, low), high) if "sat" in words else value)
    if "add" in words:
        return (c + sum(found)) % (1 << 32)
    return sum((value % (1 << bits)) << bits * place for place, value in enumerate(found))


@pytest.mark.parametrize("root", ROOTS)
def test_every_form_computes_what_the_isa_says(root: str) -> None:
    random = np.random.default_rng(11)
    a, b, c = random.integers(0, 1 << 32, (3, 40), dtype=np.uint64).astype(np.uint32)
    a[:4], b[:4] = (0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F), (0x80000001, 0x7FFF8000, 0x7F807F80, 0xFF01FF01)
    forms = sorted(grammar.forms(root))
    assert len(forms) >= 8
    for form in forms:
        operation = arithmetic.operation(root, form)
        given = [x.view(np.int32) if type_ == "s32" else x for x, type_ in zip((a, b, c), operation.sources)]
        found = operation.function(*given).view(np.uint32).tolist()
        assert found == [expected(root, form, *(int(x) for x in each)) for each in zip(a, b, c)], form


def test_the_forms_are_those_of_every_type() -> None:
    assert {form for form in grammar.forms("vadd4") if "add" in form} == {
        ("add", *types) for types in product(("u32", "s32"), repeat=3)
    }
