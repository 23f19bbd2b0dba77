"""What PTX's arithmetic computes, value by value in Python integers and fractions, from the text of the PTX ISA 9.0.

An independent reader of the same sections as mmacalc.kernels.ptx.arithmetic: it shares nothing with it.
Values are the bits of their types. `compute(root, words, bits)` gives the bits of the results.
"""

import math
from fractions import Fraction

from ptx_opcodes import COMPARISONS

FORMATS = {  # exponent bits, mantissa bits, kind of specials: ieee, fn (only NaN), none
    "f16": (5, 10, "ieee"), "bf16": (8, 7, "ieee"), "f32": (8, 23, "ieee"), "f64": (11, 52, "ieee"),
    "tf32": (8, 10, "ieee"), "e4m3": (4, 3, "fn"), "e5m2": (5, 2, "ieee"), "e2m3": (2, 3, "none"),
    "e3m2": (3, 2, "none"), "e2m1": (2, 1, "none"),
}  # fmt: skip
NAN_CODES = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF, "e4m3": 0x7F, "e5m2": 0x7F}
NAN = "nan"


class Value:
    """A float: NaN, an infinity or a fraction, with its sign."""

    def __init__(self, sign, size):
        self.sign, self.size = sign, size  # size: Fraction, math.inf or NAN

    @property
    def number(self):
        return -self.size if self.sign else self.size


def _is_integer(word):
    return word[:1] in "usb" and word[1:].isdigit()


def is_float(type_):
    return type_ in FORMATS


def width(type_):
    if type_ in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        return 32
    if type_ in FORMATS:
        return {"tf32": 32}.get(type_, 1 + sum(FORMATS[type_][:2]))
    return {"pred": 1, "f32x2": 64}.get(type_) or int(type_[1:])


def decode(bits, type_):
    exponent_bits, mantissa_bits, kind = FORMATS[type_]
    sign = bits >> exponent_bits + mantissa_bits & 1
    exponent, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    top = (1 << exponent_bits) - 1
    if kind == "ieee" and exponent == top:
        return Value(sign, NAN if mantissa else math.inf)
    if kind == "fn" and exponent == top and mantissa == (1 << mantissa_bits) - 1:
        return Value(sign, NAN)
    bias = (1 << exponent_bits - 1) - 1
    if exponent == 0:
        return Value(sign, Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits))
    return Value(sign, Fraction(mantissa + (1 << mantissa_bits)) * Fraction(2) ** (exponent - bias - mantissa_bits))


def largest(type_):
    exponent_bits, mantissa_bits, kind = FORMATS[type_]
    top, bias = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 1
    mantissa = (1 << mantissa_bits + 1) - 1
    if kind == "ieee":
        top -= 1
    if kind == "fn":
        mantissa -= 1
    return Fraction(mantissa) * Fraction(2) ** (top - bias - mantissa_bits)


def encode(value, type_, mode="rn", finite=False):
    """Bits of a value, rounded; with `finite` what is too large becomes the largest."""
    exponent_bits, mantissa_bits, kind = FORMATS[type_]
    shift = 13 if type_ == "tf32" else 0
    sign = value.sign << exponent_bits + mantissa_bits
    if value.size == NAN:
        if type_ in NAN_CODES:
            return NAN_CODES[type_]
        if kind == "none":
            return encode(Value(0, largest(type_)), type_)
        return 0x7FF8000000000000
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    most = largest(type_)
    if value.size == math.inf:
        return encode(Value(value.sign, most), type_) if finite else (sign | infinity) << shift
    bias = (1 << exponent_bits - 1) - 1
    size = value.size
    if size == 0:
        return sign << shift
    power = max(_floor_log2(size), 1 - bias)
    scaled = size / Fraction(2) ** (power - mantissa_bits)
    whole, rest = scaled.numerator // scaled.denominator, scaled - scaled.numerator // scaled.denominator
    half = Fraction(1, 2)
    up = {
        "rn": rest > half or (rest == half and whole & 1), "rna": rest >= half, "rz": False,
        "rm": bool(rest) and value.sign, "rp": bool(rest) and not value.sign,
    }[mode]  # fmt: skip
    whole += bool(up)
    if whole * Fraction(2) ** (power - mantissa_bits) > most:
        if finite:
            return encode(Value(value.sign, most), type_)
        keeps = mode == "rz" or (mode == "rm" and not value.sign) or (mode == "rp" and value.sign)
        return encode(Value(value.sign, most), type_) if keeps else (sign | infinity) << shift
    if whole >> mantissa_bits + 1:
        whole, power = whole >> 1, power + 1
    code = whole if whole < 1 << mantissa_bits else (power + bias << mantissa_bits) + whole - (1 << mantissa_bits)
    return (sign | code) << shift


def _floor_log2(size):
    power = size.numerator.bit_length() - size.denominator.bit_length()
    return power if Fraction(2) ** power <= size else power - 1


def flushed(bits, type_):
    exponent_bits, mantissa_bits, _ = FORMATS[type_]
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    return bits & 1 << exponent_bits + mantissa_bits if exponent == 0 else bits


# --- sums and products with IEEE's specials ---


def times(a, b):
    sign = a.sign ^ b.sign
    if NAN in (a.size, b.size) or {a.size, b.size} == {0, math.inf}:
        return Value(0, NAN)
    if math.inf in (a.size, b.size):
        return Value(sign, math.inf)
    return Value(sign, a.size * b.size)


def plus(a, b, mode):
    if NAN in (a.size, b.size):
        return Value(0, NAN)
    if math.inf in (a.size, b.size):
        if a.size == b.size:
            return a if a.sign == b.sign else Value(0, NAN)
        return a if a.size == math.inf else b
    total = a.number + b.number
    if total:
        return Value(int(total < 0), abs(total))
    if a.sign == b.sign:
        return Value(a.sign, Fraction(0))
    return Value(int(mode == "rm"), Fraction(0))


def over(a, b):
    sign = a.sign ^ b.sign
    if NAN in (a.size, b.size) or (a.size == b.size and a.size in (0, math.inf)):
        return Value(0, NAN)
    if a.size == math.inf or b.size == 0:
        return Value(sign, math.inf)
    return Value(sign, Fraction(0) if b.size == math.inf else a.size / b.size)


def root_bits(value, type_, mode):
    """The square root, rounded: an exact one of enough digits and a digit for what is left."""
    if value.size == NAN or (value.sign and value.size):
        return encode(Value(0, NAN), type_)
    if value.size in (0, math.inf):
        return encode(value, type_)
    places = 2 * (1200 if type_ == "f64" else 200)
    scaled = value.size * Fraction(2) ** places
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    size = Fraction(whole) / Fraction(2) ** (places // 2)
    if whole * whole != scaled:
        size += Fraction(1, 2) / Fraction(2) ** (places // 2)
    return encode(Value(0, size), type_, mode)


# --- floats ---


def finished(bits, type_, words):
    """.ftz, .relu and .sat of a result."""
    value = decode(bits, type_)
    if "ftz" in words:
        bits = flushed(bits, type_)
    if "relu" in words and value.size != NAN and (value.sign or value.size == 0):
        return 0
    if "sat" in words:
        if value.size == NAN or value.sign or decode(bits, type_).size == 0:
            return 0
        if value.size > 1:
            return encode(Value(0, Fraction(1)), type_)
    return bits


def sources_of(bits, type_, words):
    return [decode(flushed(one, type_) if "ftz" in words else one, type_) for one in bits]


def float_arithmetic(root, words, type_, bits, narrow=None):
    mode = next((word for word in words if word in ("rz", "rm", "rp")), "rn")
    if narrow:
        values = [decode(one, narrow) for one in bits[:-1]] + [decode(bits[-1], "f32")]
    else:
        values = sources_of(bits, type_, words)
    if root in ("mad", "fma"):
        exact = plus(times(values[0], values[1]), values[2], mode)
    elif root == "mul":
        exact = times(*values)
    else:
        second = values[1] if root == "add" or values[1].size == NAN else Value(1 - values[1].sign, values[1].size)
        exact = plus(values[0], second, mode)
    return finished(encode(exact, type_, mode), type_, words)


def float_function(root, words, type_, bits):
    mode = next((word for word in words if word in ("rz", "rm", "rp")), "rn")
    values = sources_of(bits, type_, words)
    if root == "sqrt":
        return finished(root_bits(values[0], type_, mode), type_, words)
    one = Value(0, Fraction(1))
    exact = over(one, values[0]) if root == "rcp" else over(*values)
    return finished(encode(exact, type_, mode), type_, words)


def float_extreme(root, words, type_, bits):
    bits = [flushed(one, type_) if "ftz" in words else one for one in bits]
    values = [decode(one, type_) for one in bits]
    signs = [value.sign for value in values]
    if "abs" in words:
        values = [Value(0, value.size) for value in values]
    numbers = [value for value in values if value.size != NAN]
    if len(numbers) < len(values) and ("NaN" in words or not numbers):
        return encode(Value(0, NAN), type_)
    chosen = numbers[0]
    for value in numbers[1:]:
        below = value.number < chosen.number or (value.number == chosen.number and value.sign > chosen.sign)
        same = value.number == chosen.number and value.sign == chosen.sign
        if not same and below == (root == "min"):
            chosen = value
    if "xorsign" in words:
        chosen = Value(signs[0] ^ signs[1], chosen.size)
    return encode(chosen, type_)


# --- comparisons ---


def compared(word, a, b, type_, ftz):
    if is_float(type_):
        x, y = [decode(flushed(one, type_) if ftz else one, type_) for one in (a, b)]
        nan = NAN in (x.size, y.size)
        if word in ("num", "nan"):
            return nan == (word == "nan")
        if nan:
            return len(word) == 3
        a, b, word = x.number, y.number, word[:2]
    elif type_[0] == "s":
        a, b = signed(a, width(type_)), signed(b, width(type_))
    word = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(word, word)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[word]


def combined(words, found, rest):
    for word in words:
        if word in ("and", "or", "xor"):
            return {"and": found and rest[0], "or": found or rest[0], "xor": bool(found) != bool(rest[0])}[word]
    return found


# --- integers ---


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def read(value, type_):
    return signed(value, width(type_)) if type_[0] == "s" else value


def clamped(value, type_):
    bits = width(type_)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def integer_arithmetic(root, words, type_, bits, carry=0):
    """(value, carry out) of add, sub, mul, mad and those with carry."""
    size = width(type_)
    a, b, *c = [read(one, type_) for one in bits]
    if root in ("add", "addc"):
        total = a + b + carry
        out = (bits[0] + bits[1] + carry) >> size & 1
    elif root in ("sub", "subc"):
        total = a - b - carry
        out = int(bits[0] - bits[1] - carry < 0)
    else:
        product = a * b
        if "wide" in words:
            wide = 2 * size
            more = (signed(bits[2], wide) if type_[0] == "s" else bits[2]) if c else 0
            return (product + more) & (1 << wide) - 1, 0
        part = product >> size if "hi" in words else product
        if not c:
            return part & (1 << size) - 1, 0
        total = (part if "sat" in words else part & (1 << size) - 1) + c[0] + carry
        out = ((part & (1 << size) - 1) + bits[2] + carry) >> size & 1
    if "sat" in words:
        total = clamped(total, type_)
    return total & (1 << size) - 1, out


def divided(root, type_, bits):
    size = width(type_)
    a, b = (read(one, type_) for one in bits)
    if b == 0:
        return None  # unspecified
    quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    return (quotient if root == "div" else a - quotient * b) & (1 << size) - 1


def field(type_, a, start, length):
    """bfe, as the ISA's pseudocode has it."""
    size = width(type_)
    start, length = start & 0xFF, length & 0xFF
    if type_[0] == "u" or length == 0:
        sign = 0
    else:
        sign = a >> min(start + length - 1, size - 1) & 1
    found = 0
    for place in range(size):
        found |= (a >> start + place & 1 if place < length and start + place < size else sign) << place
    return found


def inserted(size, a, b, start, length):
    start, length = start & 0xFF, length & 0xFF
    for place in range(length):
        if start + place < size:
            b = b & ~(1 << start + place) | (a >> place & 1) << start + place
    return b


def permuted(mode, a, b, c):
    octets = [(b << 32 | a) >> 8 * place & 0xFF for place in range(8)]
    if mode:
        table = {
            "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
            "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["3210", "3211", "3222", "3333"],
            "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"],
        }[mode]  # fmt: skip
        codes = [int(digit) for digit in reversed(table[c & 3])]
    else:
        codes = [c >> 4 * place & 15 for place in range(4)]
    found = 0
    for place, code in enumerate(codes):
        octet = octets[code & 7]
        if code & 8:
            octet = 0xFF if octet & 0x80 else 0
        found |= octet << 8 * place
    return found


def bmsk(mode, a, b):
    a1, b1 = a & 31, b & 31
    ones = (1 << 32) - 1
    mask0, total = ones << a1 & ones, a1 + b1
    overflow = total >= 32
    mask1 = ones << total & ones
    if mode == "clamp":
        if a >= 32:
            overflow, mask0 = True, 0
        if b >= 32:
            overflow = True
    if overflow:
        mask1 = 0
    elif b1 == 0:
        mask1 = ones
    return mask0 & ~mask1 & ones


def szext(mode, type_, a, b):
    ones = (1 << 32) - 1
    b1 = b & 31
    large = b >= 32 and mode == "clamp"
    mask = 0 if large else ones << b1 & ones
    sign = 0 if b1 == 0 or large or type_ != "s32" else a >> (b1 - 1 & 31) & 1
    return a & ~mask & ones | (mask if sign else 0)


def highest(value):
    return value.bit_length() - 1


def bfind(words, type_, a):
    size = width(type_)
    value = read(a, type_)
    if value < 0:
        value = ~value
    if value == 0:
        return 0xFFFFFFFF
    return size - 1 - highest(value) if "shiftamt" in words else highest(value)


def dot(root, words, types, a, b, c):
    elements = 4 if root == "dp4a" else 2
    total = c
    for place in range(elements):
        each = 8 if elements == 4 else 16
        x = a >> each * place & (1 << each) - 1
        y = b >> 8 * (place + (2 if "hi" in words and elements == 2 else 0)) & 0xFF
        total += (signed(x, each) if types[0][0] == "s" else x) * (signed(y, 8) if types[1][0] == "s" else y)
    return total & 0xFFFFFFFF


def twenty_four(root, words, type_, bits):
    parts = [signed(one, 24) if type_[0] == "s" else one & 0xFFFFFF for one in bits[:2]]
    product = parts[0] * parts[1] >> (16 if "hi" in words else 0)
    if root == "mul24":
        return product & 0xFFFFFFFF
    if "sat" in words:
        return clamped(signed(product, 64) + read(bits[2], type_), type_) & 0xFFFFFFFF
    return (product + bits[2]) & 0xFFFFFFFF


# --- conversions ---


def convert_one(words, target, source, bits):
    """One value of cvt between the simple types."""
    mode = next((word for word in words if word in ("rn", "rz", "rm", "rp", "rna")), "rn")
    whole = next((word for word in words if word in ("rni", "rzi", "rmi", "rpi")), "")
    if not is_float(source):
        value = read(bits & (1 << width(source)) - 1, source)
        if not is_float(target):
            return (clamped(value, target) if "sat" in words else value) & (1 << width(target)) - 1
        found = encode(Value(int(value < 0), Fraction(abs(value))), target, mode)
        return finished(found, target, [word for word in words if word == "sat"])
    value = decode(flushed(bits, source) if "ftz" in words and source == "f32" else bits, source)
    if whole and value.size not in (NAN, math.inf):
        number = value.number
        number = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[whole](number)
        value = Value(value.sign, Fraction(abs(number)))
    if not is_float(target):
        if value.size == NAN:
            return 1 << width(target) - 1 if source == "f64" or width(target) == 64 else 0
        if value.size == math.inf:
            return clamped(-(1 << 99) if value.sign else 1 << 99, target) & (1 << width(target)) - 1
        return clamped(int(value.number), target) & (1 << width(target)) - 1
    if "relu" in words and value.size != NAN and (value.sign or value.size == 0):
        value = Value(0, Fraction(0))
    found = encode(value, target, mode, "satfinite" in words)
    if target == "tf32":
        return found
    return finished(found, target, [w for w in words if w in ("sat",) or (w == "ftz" and target == "f32")])


def scale_code(bits, source, words):
    value = decode(bits, source)
    if value.size == NAN:
        return 255
    if value.size == math.inf:
        return 254 if "satfinite" in words else 255
    if value.size == 0:
        return 0
    power = _floor_log2(value.size)
    power += "rp" in words and Fraction(2) ** power != value.size
    return min(max(power + 127, 0), 254 if "satfinite" in words else 255)


def halves(bits):
    return [bits & 0xFFFF, bits >> 16]


def convert(words, bits):
    plain = [word for word in words if word in FORMATS or _is_integer(word)]
    if len(plain) == 2 and len(bits) == 1:
        return convert_one(words, *plain, bits[0])
    target, source = words[-2:]
    if target in ("f16x2", "bf16x2") and source == "f32":
        if "rs" in words:
            return stochastic(words, bits)
        low, high = (convert_one(words, target[:-2], "f32", one) for one in (bits[1], bits[0]))
        return high << 16 | low
    if target in ("f16x2", "bf16x2"):
        name, each = source[:-2], 4 if source.startswith("e2m1") else 8
        found = 0
        for place in (0, 1):
            code = bits[0] >> each * place & (1 << each) - 1
            if name == "ue8m0":
                one = 0x7FFF if code == 255 else encode(Value(0, Fraction(2) ** (code - 127)), "bf16")
            else:
                value = decode(code & (1 << 1 + sum(FORMATS[name][:2])) - 1, name)
                if "relu" in words and value.size != NAN and value.sign:
                    value = Value(0, Fraction(0))
                one = encode(value, target[:-2])
            found |= one << 16 * place
        return found
    single = source[:-2] if source.endswith("x2") else source
    low, high = halves(bits[0]) if source.endswith("x2") else (bits[1], bits[0])
    name, each = target[:-2], 4 if target.startswith("e2m1") else 8
    found = 0
    for place, one in enumerate((low, high)):
        if name == "ue8m0":
            code = scale_code(one, single, words)
        else:
            value = decode(one, single)
            if "relu" in words and value.size != NAN and (value.sign or value.size == 0):
                value = Value(0, Fraction(0))
            code = encode(value, name, "rn", True)
        found |= code << each * place
    return found


def stochastic(words, bits):
    """bf16x2 alone."""
    found = 0
    for place, one, random in ((0, bits[1], bits[2] & 0xFFFF), (1, bits[0], bits[2] >> 16)):
        value = decode(one, "f32")
        if value.size == NAN:
            code = 0x7FFF
        elif "relu" in words and (value.sign or value.size == 0):
            code = 0
        else:
            size = one & 0x7FFFFFFF
            code = (size + (random if value.size != math.inf else 0)) >> 16
            if "satfinite" in words:
                code = min(code, 0x7F7F)
            code |= value.sign << 15
        found |= code << 16 * place
    return found


def pack(words, bits):
    target = words[2]
    each = width(target)
    kept = [clamped(read(one, "s32"), target) & (1 << each) - 1 for one in bits[:2]]
    both = kept[0] << each | kept[1]
    return both if len(bits) == 2 else (bits[2] << 2 * each | both) & 0xFFFFFFFF


# --- by root ---


def by_parts(function, each, bits, count=2):
    found = 0
    for place in range(count):
        found |= function([one >> each * place & (1 << each) - 1 for one in bits]) << each * place
    return found


def compute(root, words, bits, carry=0):
    """The bits of the results of an opcode; None for what PTX leaves open. Sources are the bits of their registers."""
    others = ("f16x2", "bf16x2", "f32x2", "u16x2", "s16x2", "pred")
    types = [word for word in words if is_float(word) or word in others or _is_integer(word)]
    type_ = types[-1] if types else ""
    if root == "cvt":
        return [pack(words, bits) if "pack" in words else convert(words, bits)]
    if root in ("set", "setp"):
        return comparison(root, words, types, bits)
    if type_ in ("f16x2", "bf16x2", "u16x2", "s16x2", "f32x2"):
        single, each = ({"f": "f32"}[type_[0]], 32) if type_ == "f32x2" else (type_[:-2], 16)
        inner = [single if word == type_ else word for word in words]
        return [by_parts(lambda part: compute(root, inner, part)[0], each, bits)]
    size = width(type_)
    ones = (1 << size) - 1
    if root in ("add", "sub", "mul", "mad", "fma"):
        if len(types) == 2:
            return [float_arithmetic(root, words, "f32", bits, types[1])]
        if is_float(type_):
            return [float_arithmetic(root, words, type_, bits)]
        value, out = integer_arithmetic(root, words, type_, bits)
        return [value, out] if "cc" in words else [value]
    if root in ("addc", "subc", "madc"):
        value, out = integer_arithmetic(root, words, type_, bits, carry) if root != "madc" else integer_arithmetic(
            "mad", words, type_, bits, carry)  # fmt: skip
        return [value, out] if "cc" in words else [value]
    if root in ("min", "max"):
        if is_float(type_):
            return [float_extreme(root, words, type_, bits)]
        found = (min if root == "min" else max)(read(one, type_) for one in bits)
        return [(max(found, 0) if "relu" in words else found) & ones]
    if root in ("div", "rem") and not is_float(type_):
        return [divided(root, type_, bits)]
    if root in ("div", "rcp", "sqrt"):
        return [float_function(root, words, type_, bits)]
    return [_RULES[root](words, types, size, ones, *bits)]


def comparison(root, words, types, bits):
    type_ = types[-1]
    word = next(word for word in words if word in COMPARISONS)
    single = type_[:-2] if type_.endswith("16x2") else type_
    pairs = [tuple(bits[:2])] if single == type_ else list(zip(halves(bits[0]), halves(bits[1])))
    found = [bool(compared(word, a, b, single, "ftz" in words)) for a, b in pairs]
    rest = bits[2:]
    if root == "setp":
        second = found[1] if len(found) == 2 else not found[0]
        return [int(combined(words, found[0], rest)), int(combined(words, second, rest))]
    result = types[0]
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    each = [combined(words, one, rest) for one in found]
    if len(each) == 2:
        one = ones.get(result, 0xFFFF)
        return [(one if each[0] else 0) | (one if each[1] else 0) << 16]
    return [ones.get(result, (1 << width(result)) - 1) if each[0] else 0]


def _sign(root):
    def rule(words, types, size, ones, a):
        type_ = types[0]
        if is_float(type_):
            top = 1 << size - 1
            a = flushed(a, type_) if "ftz" in words else a
            return a ^ top if root == "neg" else a & ~top
        return (-read(a, type_) if root == "neg" else abs(read(a, type_))) & ones

    return rule


def _select(words, types, size, ones, a, b, c):
    if types[-1] == "f32":
        value = decode(flushed(c, "f32") if "ftz" in words else c, "f32")
        return a if value.size != NAN and value.number >= 0 else b
    return a if signed(c, 32) >= 0 else b


def _test(words, types, size, ones, a):
    value = decode(a, types[0])
    subnormal = flushed(a, types[0]) != a
    return int({
        "finite": value.size not in (NAN, math.inf), "infinite": value.size == math.inf, "number": value.size != NAN,
        "notanumber": value.size == NAN, "normal": value.size not in (NAN, math.inf) and not subnormal,
        "subnormal": subnormal,
    }[words[0]])  # fmt: skip


def _lop3(words, types, size, ones, a, b, c, table, *rest):
    found = 0
    for place in range(32):
        row = (a >> place & 1) << 2 | (b >> place & 1) << 1 | c >> place & 1
        found |= (table >> row & 1) << place
    return found


def _shift_right(words, types, size, ones, a, n):
    return read(a, types[0]) >> min(n, 200) & ones


def _funnel(words, types, size, ones, a, b, c):
    n = c & 31 if "wrap" in words else min(c, 32)
    both = b << 32 | a
    return both << n >> 32 & ones if "l" in words else both >> n & ones


_RULES = {
    "neg": _sign("neg"), "abs": _sign("abs"), "testp": _test, "lop3": _lop3, "shr": _shift_right, "shf": _funnel,
    "and": lambda w, t, s, o, a, b: a & b, "or": lambda w, t, s, o, a, b: a | b, "xor": lambda w, t, s, o, a, b: a ^ b,
    "not": lambda w, t, s, o, a: ~a & o, "cnot": lambda w, t, s, o, a: int(a == 0), "mov": lambda w, t, s, o, a: a,
    "copysign": lambda w, t, s, o, a, b: a & 1 << s - 1 | b & o >> 1,
    "shl": lambda w, t, s, o, a, n: a << min(n, 200) & o, "popc": lambda w, t, s, o, a: a.bit_count(),
    "clz": lambda w, t, s, o, a: s - a.bit_length(), "brev": lambda w, t, s, o, a: int(f"{a:0{s}b}"[::-1], 2),
    "bfind": lambda w, t, s, o, a: bfind(w, t[0], a), "bfe": lambda w, t, s, o, *x: field(t[0], *x),
    "bfi": lambda w, t, s, o, *x: inserted(s, *x), "bmsk": lambda w, t, s, o, *x: bmsk(w[0], *x),
    "szext": lambda w, t, s, o, *x: szext(w[0], t[0], *x),
    "prmt": lambda w, t, s, o, *x: permuted(w[1] if len(w) > 1 else "", *x),
    "sad": lambda w, t, s, o, a, b, c: c + abs(read(a, t[0]) - read(b, t[0])) & o,
    "dp4a": lambda w, t, s, o, *x: dot("dp4a", w, t, *x), "dp2a": lambda w, t, s, o, *x: dot("dp2a", w, t, *x),
    "mul24": lambda w, t, s, o, *x: twenty_four("mul24", w, t[0], x),
    "mad24": lambda w, t, s, o, *x: twenty_four("mad24", w, t[0], x),
    "selp": lambda w, t, s, o, a, b, p: a if p else b, "slct": _select,
}  # fmt: skip
