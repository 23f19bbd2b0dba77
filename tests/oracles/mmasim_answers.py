"""What MMA-Sim (Microsoft Research, PyPI `mmasim`) computes for every form that it has and mmacalc has too.

    pip install mmasim==2.1.1 torch          (a CPU build will do)
    python tests/oracles/mmasim_answers.py tests/data/mmasim_answers.npz

Inputs are made from a fixed sequence of 64-bit numbers (splitmix64), so the record holds answers only: for each form,
ROWS x COLUMNS elements of D for each kind of input, as codes. The tests make the same inputs with `inputs`.
"""

from __future__ import annotations

import re
import sys
import zlib

import numpy as np

import mmacalc
from mmacalc.formats import FORMATS

KINDS = ("normal", "wide exponents", "cancellation", "zeros", "subnormal", "any bits")
ROWS, COLUMNS = 16, 8
TARGETS = {
    "Volta": "sm_70", "Turing": "sm_75", "Ampere": "sm_80", "Ada Lovelace": "sm_89", "Hopper": "sm_90a",
    "Blackwell": "sm_100a", "RTX Blackwell": "sm_120a", "CDNA1": "cdna1", "CDNA2": "cdna2", "CDNA3": "cdna3",
}  # fmt: skip
F8F6F4 = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")


# --- the inputs ---------------------------------------------------------------------------------------------------


class Stream:
    """splitmix64: the same numbers on every machine and with every NumPy."""

    def __init__(self, name: str) -> None:
        self.state = np.uint64(zlib.crc32(name.encode()))

    def words(self, *shape: int) -> np.ndarray:
        """Uniform 64-bit numbers."""
        with np.errstate(over="ignore"):
            z = self.state + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, 1 + int(np.prod(shape)), dtype=np.uint64)
            self.state = z[-1]
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))).reshape(shape)

    def below(self, limit: int, *shape: int) -> np.ndarray:
        """Whole numbers from 0 to limit - 1."""
        return (self.words(*shape) >> np.uint64(33)).astype(np.int64) % limit


def fields(name: str) -> tuple[int, int, int]:
    """Exponent bits, mantissa bits and bias of a format's code; tf32 and xf32 are codes of 32 bits."""
    found = FORMATS[name]
    return found.exponent, 23 if found.bits == 32 else found.mantissa, found.bias


def codes(stream: Stream, name: str, kind: str, *shape: int) -> np.ndarray:
    """Codes of a format."""
    form = FORMATS[name]
    exponent, mantissa, bias = fields(name)
    raw = stream.words(*shape) >> np.uint64(64 - form.bits)
    if name in ("e8m0", "ue4m3"):
        near = np.uint64(119) if name == "e8m0" else np.uint64(bias << 3)
        small = (raw & np.uint64(15 if name == "e8m0" else 31)) + near
        chosen = raw if kind in ("wide exponents", "any bits") else small
        return chosen & np.uint64(0x7F) if name == "ue4m3" else chosen
    if kind == "any bits":
        return raw
    top = (1 << exponent) - (1 if form.specials == "ieee" else 0)
    if kind in ("normal", "cancellation"):
        field = np.clip(bias - 3 + stream.below(6, *shape), 0, top - 1)
    elif kind == "subnormal":
        field = np.where(stream.below(2, *shape) == 0, 0, stream.below(top, *shape))
    else:
        field = stream.below(top, *shape)
    sign_mantissa = (raw >> np.uint64(form.bits - 1) << np.uint64(form.bits - 1)) | (
        raw & np.uint64((1 << mantissa) - 1)
    )
    result = sign_mantissa | field.astype(np.uint64) << np.uint64(mantissa)
    magnitude = np.uint64((1 << (form.bits - 1)) - 1)
    if form.specials == "fn":  # the largest code is NaN
        result = np.where(result & magnitude == magnitude, result ^ np.uint64(1), result)
    if form.specials == "fnuz":  # minus zero is NaN
        result = np.where(result == np.uint64(1 << (form.bits - 1)), np.uint64(0), result)
    return result


def inputs(inst: mmacalc.Instruction, kind: str) -> dict[str, np.ndarray]:
    """Codes of A (M, K), B (K, N), C (M, N), and the scales SA, SB where there are any, of one block."""
    stream = Stream(f"{inst.arch} {inst.name} {kind}")
    a = codes(stream, inst.formats["A"], kind, inst.m, inst.k)
    b = codes(stream, inst.formats["B"], kind, inst.k, inst.n)
    c = codes(stream, inst.formats["C"], kind, inst.m, inst.n)
    if kind == "cancellation" and inst.k > 1 and FORMATS[inst.formats["A"]].specials != "fnuz":
        half = inst.k // 2
        a[:, half : 2 * half] = a[:, :half] ^ np.uint64(1 << (FORMATS[inst.formats["A"]].bits - 1))
        b[half : 2 * half] = b[:half]
        b[-1] ^= np.uint64(1)
    if kind == "zeros":
        a = np.where(stream.below(3, *a.shape) == 0, np.uint64(0), a)
        b = np.where(stream.below(3, *b.shape) == 0, np.uint64(0), b)
        a[:4], b[:, ::3] = 0, 0
        c = np.where(stream.below(4, *c.shape) == 0, np.uint64(0), c)
    found = {"A": a, "B": b, "C": c}
    if "SA" in inst.operands:
        blocks = inst.k // inst.block_size
        found["SA"] = codes(stream, inst.formats["SA"], kind, inst.m, blocks)
        found["SB"] = codes(stream, inst.formats["SB"], kind, blocks, inst.n)
    widths = {name: max(8, FORMATS[inst.formats[name]].bits) // 8 for name in found}
    return {name: array.astype(f"u{widths[name]}") for name, array in found.items()}


# --- the forms ----------------------------------------------------------------------------------------------------


def forms() -> list[tuple[str, str, str]]:
    """(MMA-Sim's architecture, class and form) of everything that mmacalc has too."""
    from mmasim.amd import isa_mfma
    from mmasim.nv_ptx import isa_mma, isa_tcgen05mma, isa_wgmma

    found = [(arch, "MMA", form) for arch, names in isa_mma.mma_shape_and_type.items() for form in names]
    found += [
        ("RTX Blackwell", "MMABlockScale", form) for form in isa_mma.mma_block_scale_shape_and_type["RTX Blackwell"]
    ]
    # One n of wgmma stands for all: n changes neither the model nor its parameters.
    found += [("Hopper", "WGMMA", form) for form in isa_wgmma.wgmma_shape_and_type["Hopper"] if "n8k" in form]
    # Nor do m and n of tcgen05.
    found += [
        ("Blackwell", kind, form)
        for kind, forms in (
            ("TCGen05MMA", isa_tcgen05mma.tcgen05mma_shape_and_type),
            ("TCGen05MMABlockScale", isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type),
        )
        for form in forms["Blackwell"]
        if form.startswith("m128n8k")
    ]
    found += [(arch, "MFMA", suffix) for arch, names in isa_mfma.arch_mfma_suffix.items() for suffix in names]
    return found


def instruction(arch: str, kind: str, form: str) -> mmacalc.Instruction:
    """mmacalc's instruction of a form of MMA-Sim."""
    target = TARGETS[arch]
    if kind == "MFMA":
        return mmacalc.instruction(target, f"v_mfma_{form}")
    shape, *parts = form.split(".")
    if kind == "WGMMA":
        return mmacalc.instruction(target, f"wgmma.mma_async.sync.aligned.{form}")
    if kind.startswith("TCGen05"):
        return tensor_memory_instruction(target, shape, parts)
    if kind == "MMABlockScale":
        which, block, *types = parts
        vectors = int(shape.split("k")[1]) // int(block.removeprefix("block"))
        which = f"{which}.block_scale.scale_vec::{vectors}X"
        return mmacalc.instruction(target, f"mma.sync.aligned.{shape}.row.col.{which}.{'.'.join(types)}")
    return mmacalc.instruction(target, f"mma.sync.aligned.{shape}.row.col.{'.'.join(parts)}")


def tensor_memory_instruction(target: str, shape: str, parts: list[str]) -> mmacalc.Instruction:
    """The tcgen05.mma of a form such as m128n8k32.kind::f8f6f4.f32.e4m3.e5m2, with its shape and types."""
    m, n, _ = (int(size) for size in re.findall(r"[0-9]+", shape))
    which = ".".join([parts[0], "block_scale", parts[1]]) if parts[1].startswith("block") else parts[0]
    d, a, b, *scale = parts[1:] if which == parts[0] else parts[2:]
    inst = mmacalc.instruction(target, f"tcgen05.mma.cta_group::1.{which}")
    return inst.shaped(m=m, n=n, a=a, b=b, d=d, scale=scale[0] if inst.block_size == 16 else None)


def answer(arch: str, kind: str, form: str, given: dict[str, np.ndarray]) -> np.ndarray:
    """D's codes, the first ROWS x COLUMNS of them, as MMA-Sim computes them."""
    import torch
    from mmasim.amd import MFMA
    from mmasim.nv_ptx import MMA, WGMMA, MMABlockScale, TCGen05MMA, TCGen05MMABlockScale

    classes = (MFMA, MMA, MMABlockScale, WGMMA, TCGen05MMA, TCGen05MMABlockScale)
    operation = next(one for one in classes if one.__name__ == kind)(arch, form)

    def tensor(name: str, dtype: object, container: str) -> object:
        array = np.ascontiguousarray(given[name])
        if dtype is torch.uint8:  # 6-bit and 4-bit formats: low bits of a byte, e2m1 two bits up; or two to a byte
            if getattr(operation, "packing", 1) == 2:
                array = (array[:, 0::2] << 4 | array[:, 1::2]) if name == "A" else (array[0::2] << 4 | array[1::2])
            elif container == "e2m1":
                array = array << 2
        signed = array.view(f"i{array.itemsize}") if array.itemsize > 1 else array
        return torch.from_numpy(np.ascontiguousarray(signed)).view(dtype)

    types = operation.__dict__
    args = [tensor(x.upper(), types[f"{x}_type"], types.get(f"{x}_type_ptx", "")) for x in "abc"]
    if kind.endswith("BlockScale"):
        args += [tensor("SA", types["s_type"], ""), tensor("SB", types["s_type"], "")]
    d = operation(*args)
    width = d.element_size()
    found = d.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[width]).numpy().view(f"u{width}")
    return found[:ROWS, :COLUMNS]


def answers() -> dict[str, np.ndarray]:
    """The whole record: "arch|class|form" -> (kinds, rows, columns)."""
    result = {}
    for form in forms():
        inst = instruction(*form)
        result["|".join(form)] = np.stack([answer(*form, inputs(inst, kind)) for kind in KINDS])
    return result


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **answers())
