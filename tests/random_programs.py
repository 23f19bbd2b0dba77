"""Random C kernels, for the host and for a GPU: the same source gives the same bits.

A kernel reads 64 words a thread and writes its results as words. Undefined behaviour is kept out: shifts are masked,
divisors are odd, floats are brought into range before they become integers. NaN is written as one pattern, since
its bits are not the same everywhere. So is a zero of 16 bits: LLVM 22 loses its sign for AMD GPUs, as it makes
(_Float16)(x * y) of f32 into v_fma_mixlo_f16 x, y, 0, and -h + 0 into -h.
"""

import random
import re

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "f32", "f64")
ORDERS = ("<", "<=", "==", "!=", ">", ">=")
C_NAMES = {
    "i8": "signed char", "u8": "unsigned char", "i16": "short", "u16": "unsigned short", "i32": "int",
    "u32": "unsigned int", "i64": "long", "u64": "unsigned long", "f16": "_Float16", "f32": "float", "f64": "double",
    "bf16": "__bf16",
}  # fmt: skip
HEADER = """
#ifdef HOST
#define KERNEL(name) static void name##_body(int i, const unsigned *in, unsigned *out); \\
extern "C" void name(int n, const unsigned *in, unsigned *out) { \\
for (int i = 0; i < n; ++i) name##_body(i, in, out); } \\
static void name##_body(int i, const unsigned *in, unsigned *out)
#else
#define DEVICE static __attribute__((device))
#define KERNEL(name) DEVICE void name##_body(int i, const unsigned *in, unsigned *out); \\
extern "C" __attribute__((global)) void name(int n, const unsigned *in, unsigned *out) { \\
int i = __builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x(); \\
if (i < n) name##_body(i, in, out); } \\
DEVICE void name##_body(int i, const unsigned *in, unsigned *out)
#endif
#define PUT(slot, value) out[i * 16 + (slot)] = (value)
#define PUT64(slot, value) do { unsigned long w = (value); \\
PUT(slot, (unsigned)w); PUT((slot) + 1, (unsigned)(w >> 32)); } while (0)
template <typename To, typename From> static inline
#ifndef HOST
__attribute__((device))
#endif
To bits(From from) { return __builtin_bit_cast(To, from); }
"""


class Expressions:
    """A generator of random expressions over the thread's inputs."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def input(self, kind):
        slot = self.random.randrange(64)
        word = f"in[i * 64 + {slot}]"
        if kind in ("i64", "u64", "f64"):
            wide = f"((unsigned long)in[i * 64 + {slot ^ 1}] << 32 | {word})"
            return f"bits<double>({wide})" if kind == "f64" else f"(({C_NAMES[kind]}){wide})"
        if kind == "f32":
            return f"bits<float>({word})"
        if kind in ("f16", "bf16"):
            return f"bits<{C_NAMES[kind]}>((unsigned short){word})"
        return f"(({C_NAMES[kind]}){word})"

    def make(self, kind, depth):
        if depth == 0:
            return self.input(kind) if self.random.random() < 0.85 else self.constant(kind)
        return self.integer(kind, depth) if kind[0] in "iu" else self.float(kind, depth)

    def constant(self, kind):
        if kind[0] in "iu":
            return f"(({C_NAMES[kind]}){self.random.choice([0, 1, 3, 7, 64, 255, 12345, 0x7FFFFFFF])})"
        return f"(({C_NAMES[kind]}){self.random.choice([0.5, 1.0, -2.0, 3.25, 100.0, 0.0])})"

    def integer(self, kind, depth):
        name, bits = C_NAMES[kind], int(kind[1:])
        choice = self.random.randrange(13)
        a = self.make(kind, depth - 1)
        b = self.make(kind, depth - 1)
        amount = f"({self.make('u32', depth - 1)} & {bits - 1})"
        if choice < 3:
            return f"(({name})({a} {'+-*'[choice]} {b}))"
        if choice == 3:
            return f"(({name})({a} {self.random.choice('&|^')} {b}))"
        if choice == 4:
            return f"(({name})({a} << {amount}))"
        if choice == 5:
            return f"(({name})({a} >> {amount}))"
        if choice == 6:
            other = self.random.choice(INTEGERS)
            return f"(({name}){self.make(other, depth - 1)})"
        if choice == 7:
            return f"({a} {self.random.choice(ORDERS)} {b} ? {self.make(kind, depth - 1)} : {a})"
        if choice == 8:
            unsigned = C_NAMES["u" + kind[1:]]
            return f"(({name})(({unsigned}){a} {self.random.choice('/%')} ({unsigned})(({unsigned}){b} | 1)))"
        if choice == 9 and kind[0] == "i":
            return f"(({name})(({a} >> 1) {self.random.choice('/%')} (({b} >> 1 & 0x7fff) | 1)))"
        if choice == 10:
            if bits == 64:
                return f"(({name})__builtin_{self.random.choice(['popcountl', 'bswap64'])}((unsigned long){a}))"
            trick = self.random.choice(["popcount", "bswap32", "bitreverse32"])
            return f"(({name})__builtin_{trick}((unsigned){a}))"
        if choice == 11:
            trick = self.random.choice(["clz", "ctz"])
            return f"(({name})__builtin_{trick}((unsigned){a} | 1))"
        low, high = ("-100.0", "100.0") if kind[0] == "i" else ("0.0", "200.0")
        kind_of = self.random.choice(("f32", "f64"))
        value = self.make(kind_of, depth - 1)
        f = C_NAMES[kind_of]
        return f"({{ {f} x = {value}; ({name})(x > ({f}){low} && x < ({f}){high} ? x : ({f})7); }})"

    def float(self, kind, depth):
        name = C_NAMES[kind]
        choice = self.random.randrange(10)
        a, b = self.make(kind, depth - 1), self.make(kind, depth - 1)
        if choice < 3:
            return f"(({name})({a} {'+-*'[choice]} {b}))"
        if choice == 3 and kind != "f16" and kind != "bf16":
            return f"({a} / {b})"
        if choice == 4 and kind in FLOATS:
            suffix = {"f16": "f16", "f32": "f", "f64": ""}[kind]
            return f"__builtin_fma{suffix}({a}, {b}, {self.make(kind, depth - 1)})"
        if choice == 5:
            other = self.random.choice([k for k in FLOATS if k != kind])
            value = self.make(other, depth - 1)
            if other == "f16":
                value = f"({{ _Float16 h = {value}; h == 0 ? (_Float16)0 : h; }})"
            return f"(({name}){value})"
        if choice == 6:
            other = self.random.choice(("i32", "u32", "i16", "u8", "i64", "u64") if kind != "bf16" else ("i8", "u8"))
            if kind == "f16":
                other = self.random.choice(("i16", "u8", "i8"))
            return f"(({name}){self.make(other, depth - 1)})"
        if choice == 7:
            return f"({a} {self.random.choice(ORDERS)} {b} ? {a} : {self.make(kind, depth - 1)})"
        if choice == 8 and kind in ("f32", "f64"):
            suffix = "f" if kind == "f32" else ""
            function = self.random.choice(["floor", "ceil", "trunc", "rint", "sqrt", "fabs"])
            return f"__builtin_{function}{suffix}({a})"
        return f"(-{a})"


def store(slot, kind, text):
    """A statement that writes a value, its NaN as one pattern."""
    if kind in ("i64", "u64"):
        return f"PUT64({slot}, (unsigned long){text});"
    if kind == "f64":
        return f"{{ double x = {text}; PUT64({slot}, x != x ? 0x7ff8000000000000ul : bits<unsigned long>(x)); }}"
    if kind == "f32":
        return f"{{ float x = {text}; PUT({slot}, x != x ? 0x7fc00000u : bits<unsigned>(x)); }}"
    if kind in ("f16", "bf16"):
        pattern = "x != x ? 0x7e00u : x == 0 ? 0 : bits<unsigned short>(x)"
        return f"{{ {C_NAMES[kind]} x = {text}; PUT({slot}, {pattern}); }}"
    return f"PUT({slot}, (unsigned){text});"


def kernel(name, seed, kinds, depth=3):
    """A kernel that computes eight random expressions, some in a loop whose length differs from lane to lane."""
    made = Expressions(seed)
    lines = []
    for slot in range(0, 16, 2):
        kind = made.random.choice(kinds)
        text = made.make(kind, depth)
        if made.random.random() < 0.3:
            again = made.make(kind, 1)
            count = f"(in[i * 64 + {made.random.randrange(64)}] & 7)"
            lines.append(
                f"{{ {C_NAMES[kind]} y = {text}; for (unsigned k = 0; k < {count}; ++k) "
                f"y = ({C_NAMES[kind]})(y + {again}); {store(slot, kind, 'y')} }}"
            )
        else:
            lines.append(store(slot, kind, text))
        if kind not in ("i64", "u64", "f64"):
            lines.append(f"PUT({slot + 1}, 0);")
    body = "\n".join(f"    {line}" for line in lines)
    return f"KERNEL({name}) {{\n{body}\n}}\n"


def names(source):
    """The kernels of a source."""
    return re.findall(r"KERNEL\((\w+)\) \{", source)
