"""The names that clang and LLVM have for NVIDIA's matrix instructions, made from the names of PTX by rule.

    mma, mma.sp      llvm.nvvm.mma[.sp[.ordered.metadata]][.b1op].SHAPE.LAYOUTS[.kind][.satfinite].TYPES: of FP8 and
                     narrower floats D A B C, of f16 D C, else A, or A B where they differ
    with scales      ... mma.[sp.ordered.metadata.]block.scale.SHAPE.row.col.KIND[.scale.Nx].TYPES.SCALE
    wmma             llvm.nvvm.wmma.SHAPE.mma...; load and store with and without a stride; clang's __hmma_, __imma_,
                     __bmma_, __dmma_ and __mma_, whose layouts are an argument
    ldmatrix, stmatrix   the name of PTX without its state space, which is the address's
    tcgen05          mma with A in shared memory or in Tensor Memory (tensor): the kind, the CTA group and the collector
                     are arguments; ld, st, cp, shift

LLVM 22 has none for wgmma.mma_async, movmatrix, ldmatrix of s8.s4, tcgen05.ld.red and what `_missing` says; these are
reached by inline assembly. It has wmma with f16 and satfinite, too, which PTX ISA 9.1 has no longer.

Source: the names of LLVM 22.1.8 (IntrinsicsNVVM.td) and of clang 22.1.8 (BuiltinsNVPTX.td); a test compares all.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["functions", "plain_name"]

LLVM = "llvm.nvvm."
NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
ROUNDINGS = ("rn", "rz", "rm", "rp")


def functions(name: str) -> tuple[tuple[str, str], ...]:
    """Every name that clang ("" where it has none) and LLVM have for an instruction.

    >>> functions("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    (('__hmma_m16n16k16_mma_f32f32', 'llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32'),)
    """
    words = name.replace("::", ".").split(".")
    reader = READERS.get(words[0])
    if reader is None or _missing(words):
        return ()
    builtin = _builtin(words) if words[0] == "wmma" and not {*ROUNDINGS} & {*words} else ""
    return tuple([(builtin, own) for own in reader(words)])


def plain_name(name: str) -> str:
    """A name without the address spaces of LLVM's overloads, and without what stands around it in a call.

    >>> plain_name("@llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p3(ptr %p)")
    'llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16'
    """
    alone = name.partition("(")[0].strip().lstrip("@")
    return re.sub(r"(?:\.p\d)+$", "", alone) if alone.startswith(LLVM) else alone


def _missing(words: list[str]) -> bool:
    """Whether LLVM 22 has no intrinsic for an instruction of a family that it knows."""
    if words[0] == "wmma":
        shape = next(word for word in words if _is_shape(word))
        wide = words[1] == "mma" and words[-1] == "f64" and shape != "m8n8k4"
        return wide or (words[1] != "mma" and words[-1] == "f32" and shape in ("m8n8k32", "m8n8k128"))
    if words[0] != "mma":
        return "ti16" in words  # tcgen05 of sm_107a, a target that LLVM 22 does not have
    rounded = words[-1] in ROUNDINGS and words[-2] == "f64"
    short = "kind" in words and "m16n8k16" in words
    unscaled = "4X" in words and words[-1] == "ue8m0"
    return rounded or short or unscaled or ("ordered_metadata" in words and "kind" not in words and _half_of_fp8(words))


def _half_of_fp8(words: list[str]) -> bool:
    return words[-1] == "f16" and words[-2] in NARROW


def _is_shape(word: str) -> bool:
    return word[:1] == "m" and word[1:2].isdigit()


def _types(words: list[str]) -> list[str]:
    """The types that a name of LLVM has, of those of D, A, B, C."""
    d, a, b, c = words
    return [d, a, b, c] if a in NARROW else [d, c] if a == "f16" else [a] if a == b else [a, b]


def _mma(words: list[str]) -> Iterator[str]:
    shape = next(at for at, word in enumerate(words) if _is_shape(word))
    variant = [word for word in words[:shape] if word in ("sp",)]
    variant += ["ordered", "metadata"] if "ordered_metadata" in words else []
    layouts, rest = words[shape : shape + 3], words[shape + 3 :]
    operation = [word for word in rest if word in ("xor", "and", "popc")]
    rest = [word for word in rest if word not in operation]
    satfinite = ["satfinite"] if "satfinite" in rest else []
    rest = [word for word in rest if word != "satfinite"]
    kind: list[str] = []
    if rest[0] == "kind":
        kind, rest = rest[:2], rest[2:]
    if rest[0] == "block_scale":
        vector = ["scale", rest[2].lower()] if rest[1] == "scale_vec" else []
        *types, scale = rest[3 if vector else 1 :]
        parts = ["mma", *variant, "block", "scale", *layouts, kind[1], *vector, *_types(types), scale]
    else:
        parts = ["mma", *variant, *operation, *layouts, *kind, *satfinite, *_types(rest)]
    yield f"llvm.nvvm.{'.'.join(parts)}"


def _wmma(words: list[str]) -> Iterator[str]:
    shape = next(at for at, word in enumerate(words) if _is_shape(word))
    if words[1] == "mma":
        operation = words[2:4] if words[3] == "popc" else []
        layouts = words[words.index("aligned") + 1 : shape]
        rest = words[shape + 1 :]
        satfinite = ["satfinite"] if "satfinite" in rest else []
        rest = [word for word in rest if word != "satfinite"]
        rounding = rest[:1] if rest[0] in ROUNDINGS else []
        rest = rest[len(rounding) :]
        types = rest if len(rest) == 2 else _types(rest)
        yield ".".join(["llvm.nvvm.wmma", words[shape], "mma", *operation, *layouts, *rounding, *types, *satfinite])
        return
    for stride in ((), ("stride",)):
        yield ".".join(["llvm.nvvm.wmma", words[shape], words[1], words[2], words[shape - 1], *stride, words[-1]])


CLASSES = {
    "f16": "hmma", "f32": "hmma", "s8": "imma", "u8": "imma", "s4": "imma", "u4": "imma", "s32": "imma", "b1": "bmma",
    "f64": "dmma", "bf16": "mma_bf16", "tf32": "mma_tf32",
}  # fmt: skip


def _builtin(words: list[str]) -> str:
    """Clang's name for a wmma; its layouts are an argument."""
    shape = next(word for word in words if _is_shape(word))
    types = [word for word in words[words.index(shape) + 1 :] if word not in ("satfinite", "shared", *ROUNDINGS)]
    kind = CLASSES[types[1] if words[1] == "mma" and len(types) == 4 else types[-1]]
    if words[1] == "mma":
        operation = f"_{words[2]}_popc" if kind == "bmma" else ""
        result = "".join(types) if len(types) == 2 else types[0] if kind in ("mma_bf16", "mma_tf32") else types[1]
        return f"__{kind}_{shape}_mma{operation}_{result}"
    if shape == "m8n8k128":
        kind = "bmma"
    if shape == "m16n16k8":
        kind = "mma_tf32" if words[1] == "load" else "mma"
    if words[1] == "store":
        return f"__{kind}_{shape}_st_c_{types[-1].replace('s32', 'i32')}"
    typed = (words[2] != "c" and kind in ("imma", "bmma")) or (words[2] == "c" and kind == "hmma")
    return f"__{kind}_{shape}_ld_{words[2]}" + (f"_{types[-1]}" if typed else "")


def _matrix(words: list[str]) -> Iterator[str]:
    if "s8" not in words:
        yield f"llvm.nvvm.{'.'.join([word for word in words if word != 'shared'])}"


def _tensor_memory(words: list[str]) -> Iterator[str]:
    group = f"cg{words[words.index('cta_group') + 1]}" if "cta_group" in words else ""
    rest = [word for at, word in enumerate(words) if word != "cta_group" and words[at - 1] != "cta_group"]
    if words[1] in ("ld", "st"):
        if rest[4] in ("red", "spcompress") or rest[2] != "sync":
            return
        yield f"llvm.nvvm.tcgen05.{words[1]}.{rest[4]}.{rest[5]}"
    elif words[1] == "cp":
        shape = "_".join([word for word in rest[2:] if not word.startswith("b")])
        decompressed = [word for word in rest if word.startswith(("b6", "b4"))]
        yield ".".join(["llvm.nvvm.tcgen05.cp", shape, *decompressed, group])
    elif words[1] == "shift":
        yield f"llvm.nvvm.tcgen05.shift.down.{group}"
    elif words[1] == "mma":
        yield from _product(rest, group)


def _product(words: list[str], group: str) -> Iterator[str]:
    kind = words[words.index("kind") + 1]
    name = "llvm.nvvm.tcgen05.mma" + ".ws" * ("ws" in words) + ".sp" * ("sp" in words)
    for place in ("shared", "tensor"):
        if "ws" in words:
            yield from (f"{name}.{place}{mask}" for mask in ("", ".zero_col_mask"))
        elif "block_scale" in words:
            scale = words[-1]
            if scale == "block32" and kind != "mxf4nvf4":  # which is what they have where none is named
                yield f"{name}.{place}.{kind}.block_scale"
            yield f"{name}.{place}.{kind}.block_scale.{scale}"
        else:
            shifts = ("", ".ashift") if place == "tensor" else ("",)
            divided = ("", ".scale_d") if kind in ("f16", "tf32") else ("",)
            for scaled in divided:
                for lanes in ("", f".disable_output_lane.{group}"):
                    yield from (f"{name}.{place}{scaled}{lanes}{shift}" for shift in shifts)


READERS = {"mma": _mma, "wmma": _wmma, "ldmatrix": _matrix, "stmatrix": _matrix, "tcgen05": _tensor_memory}
