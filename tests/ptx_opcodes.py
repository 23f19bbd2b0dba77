"""Opcodes of PTX's arithmetic, as candidates for ptxas and for mmacalc: right ones and wrong combinations.

A candidate is an opcode with a line of operands of the types that its suffix names.
"""

from itertools import product

INTEGERS = tuple(f"{kind}{bits}" for bits in (16, 32, 64) for kind in "us")
BITS = ("b16", "b32", "b64")
FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64")
HALVES = ("u16x2", "s16x2")
ALL = (*INTEGERS, *BITS, *FLOATS, *HALVES, "u8", "s8", "b8", "pred")
ROUNDINGS = ("", "rn", "rz", "rm", "rp")
ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
COMPARISONS = (*ORDERED, "lo", "ls", "hi", "hs", *[f"{word}u" for word in ORDERED], "num", "nan")
WIDTHS = {"pred": 1, "f16x2": 32, "bf16x2": 32, "f32x2": 64, "u16x2": 32, "s16x2": 32, "tf32": 32, "bf16": 16}
NAMES = {1: "%p", 8: "%b", 16: "%h", 32: "%r", 64: "%rd"}
SMALL = ("e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2")
SMALL4 = ("e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4")
DECLARED = ".reg .pred %p<9>; .reg .b8 %b<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;"


def width(type_):
    if type_ in SMALL:
        return 8 if type_ == "e2m1x2" else 16
    if type_ in SMALL4:
        return 16 if type_ == "e2m1x4" else 32
    return WIDTHS.get(type_) or int("".join(letter for letter in type_ if letter.isdigit()))


def operands(*types):
    return ", ".join(f"{NAMES[width(type_)]}{place}" for place, type_ in enumerate(types))


def joined(*words):
    return ".".join(word for word in words if word)


def wider(type_):
    return f"{type_[0]}{2 * width(type_)}" if type_[0] in "us" and type_ in INTEGERS[:4] else type_


def _arithmetic():
    for root, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("mad", 3)):
        hows = ("", "lo", "hi", "wide") if root in ("mul", "mad") else ("",)
        for how, rounding, ftz, relu, sat, cc, type_ in product(
            hows, ROUNDINGS, ("", "ftz"), ("", "relu"), ("", "sat"), ("", "cc"), ALL
        ):
            wide = wider(type_) if how == "wide" else type_
            sources = (type_,) * min(count, 2) + (wide,) * (count - 2)
            yield joined(root, how, rounding, ftz, relu, sat, cc, type_), operands(wide, *sources)
    for root, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        for rounding, sat, ftz, narrow in product(ROUNDINGS, ("", "sat"), ("", "ftz"), ("f16", "bf16")):
            yield joined(root, rounding, ftz, sat, "f32", narrow), operands("f32", *(narrow,) * (count - 1), "f32")
    for root in ("addc", "subc", "madc"):
        for how, cc, type_ in product(("", "lo", "hi"), ("", "cc"), ALL):
            yield joined(root, how, cc, type_), operands(type_, *(type_,) * (3 if root == "madc" else 2))


def _unary():
    for root in ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "neg", "abs", "not", "cnot", "brev"):
        for rounding, approximate, ftz, type_ in product(ROUNDINGS, ("", "approx"), ("", "ftz"), ALL):
            yield joined(root, rounding, approximate, ftz, type_), operands(type_, type_)
    for type_ in ALL:
        yield f"popc.{type_}", operands("u32", type_)
        yield f"clz.{type_}", operands("u32", type_)
        yield f"bfind.{type_}", operands("u32", type_)
        yield f"bfind.shiftamt.{type_}", operands("u32", type_)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield f"testp.{test}.{type_}", operands("pred", type_)


def _binary():
    for root in ("div", "rem"):
        for rounding, approximate, ftz, type_ in product(ROUNDINGS, ("", "approx", "full"), ("", "ftz"), ALL):
            yield joined(root, rounding, approximate, ftz, type_), operands(type_, type_, type_)
    for root in ("min", "max"):
        for relu, ftz, nan, sign, type_, count in product(
            ("", "relu"), ("", "ftz"), ("", "NaN"), ("", "xorsign.abs", "abs", "xorsign"), ALL, (2, 3)
        ):
            yield joined(root, relu, ftz, nan, sign, type_), operands(type_, *(type_,) * count)
    for root in ("and", "or", "xor", "copysign"):
        for type_ in ALL:
            yield f"{root}.{type_}", operands(type_, type_, type_)
    for root in ("shl", "shr"):
        for type_ in ALL:
            yield f"{root}.{type_}", operands(type_, type_, "u32")
    for direction, mode, type_ in product(("l", "r"), ("", "clamp", "wrap"), ALL):
        yield joined("shf", direction, mode, type_), operands(type_, type_, type_, "u32")
    for mode, type_ in product(("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"), ALL):
        yield joined("prmt", type_, mode), operands(type_, type_, type_, "u32")
    for mode, type_ in product(("", "clamp", "wrap"), ALL):
        yield joined("bmsk", mode, type_), operands(type_, "u32", "u32")
        yield joined("szext", mode, type_), operands(type_, type_, "u32")
    for type_ in ALL:
        yield f"bfe.{type_}", operands(type_, type_, "u32", "u32")
        yield f"bfi.{type_}", operands(type_, type_, type_, "u32", "u32")
        yield f"sad.{type_}", operands(type_, type_, type_, type_)
        yield f"lop3.{type_}", operands(type_, type_, type_, type_) + ", 0x5a"
        yield f"mov.{type_}", operands(type_, type_)
        yield f"selp.{type_}", operands(type_, type_, type_, "pred")
        for combine in ("and", "or", "xor"):
            yield f"lop3.{combine}.{type_}", f"{operands(type_)}|%p1, {operands(type_, type_, type_)}, 0x5a, %p2"
        for how, sat in product(("", "lo", "hi", "wide"), ("", "sat")):
            yield joined("mul24", how, sat, type_), operands(type_, type_, type_)
            yield joined("mad24", how, sat, type_), operands(type_, type_, type_, type_)
    for first, second in product(("u32", "s32", "u16", "b32"), repeat=2):
        yield f"dp4a.{first}.{second}", operands("u32", "u32", "u32", "u32")
        for half in ("", "lo", "hi"):
            yield joined("dp2a", half, first, second), operands("u32", "u32", "u32", "u32")


def _comparisons():
    for ftz, result, by in product(("", "ftz"), ALL, ("s32", "f32", "u32", "f16", "f64")):
        yield joined("slct", ftz, result, by), operands(result, result, result, by)
    for word, combine, ftz, type_ in product(COMPARISONS, ("", "and", "xor"), ("", "ftz"), ALL):
        rest = ("pred",) if combine else ()
        second = "%p8" if type_.endswith("16x2") else ""
        target = "%p7|%p8" if second else "%p7"
        yield joined("setp", word, combine, ftz, type_), f"{target}, {operands(type_, type_, *rest)}"
        for result in ("u32", "s32", "f32", "u16", "s16", "f16", "bf16", "f16x2", "bf16x2", "b32", "u64", "f64"):
            yield joined("set", word, combine, ftz, result, type_), operands(result, type_, type_, *rest)


def _conversions():
    roundings = (*ROUNDINGS, "rna", "rni", "rzi", "rmi", "rpi")
    plain = tuple(type_ for type_ in ALL if type_ not in ("pred", "b16", "b32", "b64", "b8", "u16x2", "s16x2"))
    for rounding, extra, target, source in product(
        roundings, ("", "ftz", "sat", "ftz.sat", "relu", "satfinite", "relu.satfinite"), (*plain, "tf32"), plain
    ):
        given = (source, source) if target in ("f16x2", "bf16x2") else (source,)
        yield joined("cvt", rounding, extra, target, source), operands(target, *given)
    for rounding, extra, small in product((*ROUNDINGS, "rna"), ("", "relu", "satfinite", "satfinite.relu"), SMALL):
        for source in ("f32", "f16", "bf16", "f64"):
            yield joined("cvt", rounding, extra, small, source), operands(small, source, source)
        for source in ("f16x2", "bf16x2"):
            yield joined("cvt", rounding, extra, small, source), operands(small, source)
            yield joined("cvt", rounding, extra, source, small), operands(source, small)
    for extra in ("", "relu", "satfinite", "relu.satfinite"):
        for target in ("f16x2", "bf16x2", "f16", "tf32"):
            yield joined("cvt.rs", extra, target, "f32"), operands(target, "f32", "f32", "b32")
        for target in SMALL4:
            yield joined("cvt.rs", extra, target, "f32"), f"{operands(target)}, {{%r1, %r2, %r3, %r4}}, %r5"
    for sat, target, source in product(
        ("", "sat"), ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2", "u32"), ("s32", "u32", "s16")
    ):
        yield joined("cvt.pack", sat, target, source), operands("b32", source, source)
        yield joined("cvt.pack", sat, target, source, "b32"), operands("b32", source, source, "b32")


def candidates():
    """(opcode, operands) of every candidate, once."""
    found = {}
    for part in (_arithmetic, _unary, _binary, _comparisons, _conversions):
        for opcode, line in part():
            found.setdefault((opcode, line))
    return list(found)
