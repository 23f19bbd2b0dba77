"""Random kernels of loops that lanes leave by break, continue and goto, for the host and for GPUs."""

import random

VARIABLES = "abcd"
FUNCTION = """int shared_function(int x, int y) {
    for (int i = 0; i < 6; i++) { if ((x ^ i) & 4) break; if (y & 1) x += y; else x -= i; y >>= 1; }
    return x * y + 1; }
"""
HOST = 'extern "C" void kernel%d(int *out, const int *p, int n) { for (int t = 0; t < 64; t++) [&]() %s(); }\n'
DEVICE = """extern "C" __attribute__((global)) void kernel%d(int *out, const int *p, int n) {
    int t = __builtin_amdgcn_workitem_id_x(); %s }
"""


class Writer:
    """Writes one body after another from a seed."""

    def __init__(self, seed):
        self.random, self.loops = random.Random(seed), 0

    def expression(self, depth=0):
        choose = self.random.choice
        if depth > 2 or self.random.random() < 0.35:
            return choose([*VARIABLES, "t", f"({self.random.randint(-5, 9)})", f"p[{choose(VARIABLES)} & 31]"])
        return f"({self.expression(depth + 1)} {choose('+-*&|^')} {self.expression(depth + 1)})"

    def condition(self):
        choose = self.random.choice
        one = f"(({self.expression(1)} & {choose([3, 7, 15])}) {choose(['==', '<', '>', '!='])} {choose(range(8))})"
        return one if self.random.random() < 0.7 else f"({one} {choose(['&&', '||'])} {self.condition()})"

    def statement(self, depth, loop):
        which, name = self.random.random(), self.random.choice(VARIABLES)
        if which < 0.4 or depth > 3:
            return f"{name} = {self.expression()};"
        if which < 0.62:
            other = f" else {self.block(depth + 1, loop)}" if self.random.random() < 0.5 else ""
            return f"if ({self.condition()}) {self.block(depth + 1, loop)}{other}"
        if which < 0.8 and depth < 3:
            self.loops += 1
            i = f"i{self.loops}"
            count = self.random.choice(["n", "(t & 7)", "5"])
            return f"for (int {i} = 0; {i} < {count}; {i}++) {self.block(depth + 1, True)}"
        if loop and which < 0.9:
            return f"if ({self.condition()}) {self.random.choice(['break', 'continue'])};"
        if which < 0.93:
            return f"if ({self.condition()}) goto finish;"
        return f"d ^= shared_function({self.expression(1)}, {name});"

    def block(self, depth, loop):
        return "{ " + "\n".join(self.statement(depth, loop) for _ in range(self.random.randint(1, 3))) + " }"

    def body(self):
        """What a thread t does: from p and n to out[t]."""
        blocks = self.block(0, False) + self.block(0, False)
        return f"{{ int a = t, b = p[t & 31], c = n, d = 0; {blocks}\nfinish: out[t] = a ^ b * 3 ^ c * 5 ^ d * 7; }}"


def programs(seed, count):
    """The source for the host and for GPUs of some kernels."""
    writer = Writer(seed)
    bodies = [writer.body() for _ in range(count)]
    host = "static " + FUNCTION + "".join(HOST % one for one in enumerate(bodies))
    device = "static __attribute__((device, noinline)) " + FUNCTION + "".join(DEVICE % one for one in enumerate(bodies))
    return host, device
