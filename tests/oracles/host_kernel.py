"""Runs generated HIP kernels, and CUDA's around wmma, on the host: their C as it is, products by `Instruction.execute`.

Inline PTX becomes calls of host_runtime.h, which stop each thread until its warp has arrived; then `Machine` carries
the instruction out on the registers of all lanes. CUDA's other kernels run as PTX: see emulated_kernel.py.
"""

import ctypes
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import mmacalc
from llvm_mc import tool
from mmacalc.compiler.builtins import intrinsic
from mmacalc.emulator.execution import located
from mmacalc.emulator.registers import gather, scatter

RUNTIME = Path(__file__).with_name("host_runtime.h")
PREFIX = """
#define __global__
#define __device__
#define __shared__ static __attribute__((section("shared_memory")))
#define __launch_bounds__(threads)
#define __builtin_amdgcn_workitem_id_x() host::current
#define __builtin_amdgcn_workgroup_id_x() host::block_x
#define __builtin_amdgcn_workgroup_id_y() host::block_y
#define __builtin_amdgcn_fence(order, scope)
#define __builtin_amdgcn_s_barrier() host::synchronize()
static __attribute__((section("shared_memory"), aligned(1024), used)) char first_of_shared_memory[16];
"""
SUFFIX = """
static void body(void **arguments) { %s(%s); }
extern "C" char *shared_bytes() { return __start_shared_memory; }
extern "C" int run(int blocks_x, int blocks_y, int threads, int alone, host::Model model, void **arguments) {
    return host::run(blocks_x, blocks_y, threads, alone, model, body, arguments, __start_shared_memory,
                     __stop_shared_memory - __start_shared_memory);
}
"""
# Statements of PTX that concern one thread alone; the others are those of a warp or more.
THREAD_STATEMENTS = [
    (r"mov\.u32 (%\d+), %laneid", r"{0} = host::lane(32)"),
    (r"mov\.u32 (%\d+), %tid\.x", r"{0} = host::current"),
    (r"mov\.u32 (%\d+), %ctaid\.x", r"{0} = host::block_x"),
    (r"mov\.u32 (%\d+), %ctaid\.y", r"{0} = host::block_y"),
]
# Of AMD's builtins: the bytes of an element of an argument, the arguments that are operands, and names of fields.
BYTES = {"_Bool": 1, "_Float16": 2, "__fp16": 2, "__bf16": 2, "short": 2, "int": 4, "float": 4, "double": 8, "long": 8}
BYTES |= {"long long": 8}
OPERANDS = {"a": "A", "b": "B", "c": "C", "index": "K", "a_scale": "SA", "b_scale": "SB"}
FIELDS = {"a_fmt": "matrix_a_fmt", "b_fmt": "matrix_b_fmt"}
READ = {"r": "(uint32_t)({})", "l": "(uint64_t)({})", "f": "host::bits((float)({}))", "d": "host::bits((double)({}))"}
WRITTEN = {
    "r": "(uint32_t){}",
    "l": "(decltype({1})){0}",
    "f": "host::value<float>({})",
    "d": "host::value<double>({})",
}


def split_outside(text, separator):
    """The parts of C text between separators that are in no parentheses or strings."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "([{") - (character in ")]}")
        if character == separator and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def host_statement(match):
    """An asm statement as a block of C++: its operands in words %0, %1 ..., the PTX statements as calls."""
    text = re.sub(r'"\s*//[^\n]*', '"', match[1])
    template, outputs, inputs = [*split_outside(text, ":"), "", ""][:3]
    ptx = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', template)).replace("%%", "%").replace("\\n", " ")
    operands = [re.fullmatch(r'"([=+]?)([rlfd])"\((.*)\)', each, re.S).groups()
                for each in [*split_outside(outputs, ","), *split_outside(inputs, ",")] if each]  # fmt: skip
    lines = [f"uint64_t words[{len(operands) + 1}] = {{}};"]
    for number, (way, kind, expression) in enumerate(operands):
        if way != "=":
            lines.append(f"words[{number}] = {READ[kind].format(expression)};")
    kinds = "".join(kind for _, kind, _ in operands)
    for statement in [each.strip(" {}") if "{" not in each[1:] else each.strip() for each in ptx.split(";")]:
        if statement:
            lines.append(host_call(statement.removeprefix("{ "), kinds) + ";")
    for number, (way, kind, expression) in enumerate(operands):
        if way:
            lines.append(f"{expression} = {WRITTEN[kind].format(f'words[{number}]', expression)};")
    return "{ " + " ".join(lines) + " }"


def host_call(statement, kinds):
    """A PTX statement as a C++ expression."""
    for pattern, call in THREAD_STATEMENTS:
        if match := re.fullmatch(pattern, statement):
            return call.format(*[re.sub(r"%(\d+)", r"words[\1]", each) for each in match.groups()])
    return f'host::meet("{kinds}|{statement}", 32, words)'


def compiled(source, library, *options):
    """Compile C++ into a shared library."""
    command = [tool("clang"), "-x", "c++", *options, "-w", "-shared", "-fPIC", "-o", library, source, "-lstdc++"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@cache
def runtime():
    """host_runtime.cpp, loaded so that kernels find it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "runtime.so")
        compiled(RUNTIME.with_suffix(".cpp"), library, "-std=c++17", "-O1")
        return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def builtin_in(source, inst, wave):
    """The builtin of a matrix instruction that a HIP kernel calls: of another one, where that has no scales."""
    calls = set(re.findall(r"__builtin_amdgcn_\w+", source))
    known = (intrinsic(each, wave) for each in mmacalc.instructions(inst.arch)) if "amdgcn" in source else ()
    return next((each for each in known if each and each.builtin in calls), None)


class HostKernel:
    """A generated kernel, compiled for the host."""

    def __init__(self, inst, source, folder, wave=None):
        self.inst, self.wave = inst, inst.architecture.wave(wave)
        self.builtin = builtin_in(source, inst, self.wave)
        name, parameters = re.search(
            r'extern "C"[^(]*?__global__.*?(\w+)\(\s*((?:const |unsigned |\w)[^)]*)\) \{', source, re.S
        ).groups()
        passed = []
        for number, parameter in enumerate(parameters.split(",")):
            kind = parameter.strip().rpartition("*" if "*" in parameter else " ")[0]
            passed.append(f"({kind}*)arguments[{number}]" if "*" in parameter else f"*({kind} *)arguments[{number}]")
        self.parameters = [re.split(r"[ *]", each.strip())[-1] for each in parameters.split(",")]
        body = re.sub(
            r"__attribute__\(\(amdgpu_flat_work_group_size\(\w+, \w+\)\)\)", "", source.partition("#endif")[2]
        )
        body = re.sub(r"asm(?: volatile)?\((.*?)\);", host_statement, body, flags=re.S)
        suffix = SUFFIX % (name, ", ".join(passed))
        program = "\n".join([f'#include "{RUNTIME}"', PREFIX, self._builtin(), body, suffix])
        (folder / "kernel.cpp").write_text(program)
        library = folder / f"kernel{len(list(folder.iterdir()))}.so"
        compiled(folder / "kernel.cpp", library, "-std=c++17", "-O0")
        runtime()
        self.library = ctypes.CDLL(str(library))
        self.library.shared_bytes.restype = ctypes.POINTER(ctypes.c_uint8)

    def _builtin(self):
        """The builtin of AMD as a macro; the registers of its c become those of the result."""
        if not self.builtin:
            return ""
        builtin = self.builtin
        names = [f"argument{number}" for number in range(len(builtin.arg_names))]
        c = names[builtin.arg_names.index("c")]
        call = f'host::wave("{builtin.builtin}", {self.wave}, {c}, {", ".join(names)})'
        return f"#define {builtin.builtin}({', '.join(names)}) {call}"

    def run(self, arguments, threads, blocks=(1, 1), alone=False):
        """Run with {parameter: array or int}; arrays are written in place. The names of what was carried out."""
        held = [
            value if isinstance(value, np.ndarray) else np.array(value, np.int32)
            for value in (arguments[name] for name in self.parameters)
        ]
        pointers = (ctypes.c_void_p * len(held))(*[value.ctypes.data for value in held])
        machine = Machine(self)
        kind = ctypes.CFUNCTYPE(
            None, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64))
        )
        problems = self.library.run(*blocks, threads, int(alone), kind(machine.perform), pointers)
        assert machine.failure is None, machine.failure
        assert problems == 0, (
            "a deadlock" if problems >= 1000000 else f"{problems} threads did not wait for their copies"
        )
        return machine.performed


class Machine:
    """Carries out the instructions of warps, as their kernel asks for them."""

    def __init__(self, kernel):
        self.kernel, self.performed, self.failure = kernel, [], None
        self.shared = kernel.library.shared_bytes()

    def perform(self, what, lanes, groups, words):
        """One instruction of several warps: their lanes' words are changed in place."""
        try:
            kinds, _, statement = what.decode().rpartition("|")
            count = len(kinds) if kinds else self.words_of_builtin()
            found = np.array([words[n][:count] for n in range(lanes * groups)], np.uint64).reshape(groups, lanes, count)
            change = self.builtin if not kinds else getattr(self, re.match(r"[a-z]+", statement)[0])
            changed = change(found, *([statement, kinds] if kinds else []))
            self.performed.append(statement.partition(" ")[0])
            for n, row in enumerate(changed.reshape(lanes * groups, -1).tolist()):
                for at, word in enumerate(row):
                    words[n][at] = word
        except BaseException as error:  # it cannot pass through C
            self.failure = self.failure or error

    # --- AMD ---

    def words_of_builtin(self):
        return sum(self.builtin_sizes())

    def builtin_sizes(self):
        """The 32-bit words of each argument of the builtin."""
        counts = [kind.partition(" x") for kind in self.kernel.builtin.arg_types]
        return [-(-BYTES[kind] * int(count or 1) // 4) for kind, _, count in counts]

    def builtin(self, words):
        inst, wave = self.kernel.inst, self.kernel.wave
        files, fields, first = {}, {}, 0
        for name, size in zip(self.kernel.builtin.arg_names, self.builtin_sizes()):
            part = np.ascontiguousarray(words[:, :, first : first + size].swapaxes(1, 2).astype(np.uint32))
            if name in OPERANDS:
                files[name] = part
            else:
                fields[name] = int(part[0, 0, 0])
            first += size
        signs = fields.pop("a_signed", 0) + 2 * fields.pop("b_signed", 0)
        fields = {FIELDS.get(name, name): value for name, value in fields.items() if value} | (
            {"neg": signs} if signs else {}
        )
        names = [name for name in files if OPERANDS[name] in inst.operands or name == "c"]  # scales may be constants 0
        held = {name: OPERANDS[name] if OPERANDS[name] in inst.operands else "D" for name in names}
        files = {name: files[name][:, : inst.operand(held[name], wave, **fields).registers] for name in names}
        names = {"index": "index", "a_scale": "scale_a", "b_scale": "scale_b"}
        rest = {names[name]: files.pop(name) for name in names if name in files}
        d = inst.execute(files["a"], files["b"], files["c"], wave=wave, **rest, **fields)
        result = words.copy()
        result[:, :, : d.shape[1]] = d.swapaxes(1, 2)
        return result

    # --- PTX ---

    def file(self, words, operand, kinds):
        """The registers (groups, registers, lanes) that an operand in braces names; of a double two."""
        numbers = [int(each) for each in re.findall(r"%(\d+)", operand)]
        columns = []
        for number in numbers:
            columns.append(words[:, :, number] & np.uint64(0xFFFFFFFF))
            if kinds[number] == "d":
                columns.append(words[:, :, number] >> np.uint64(32))
        return np.stack(columns, axis=1).astype(np.uint32)

    def written(self, words, operand, kinds, file):
        changed, row = words.copy(), 0
        for number in [int(each) for each in re.findall(r"%(\d+)", operand)]:
            changed[:, :, number] = file[:, row]
            if kinds[number] == "d":
                changed[:, :, number] |= file[:, row + 1].astype(np.uint64) << np.uint64(32)
                row += 1
            row += 1
        return changed

    def mma(self, words, statement, kinds):
        name, _, rest = statement.partition(" ")
        inst = mmacalc.instruction(self.kernel.inst.arch, name)
        d, a, b, c, *more = split_outside(rest, ",")
        given = {}
        if inst.sparse:
            given |= {"index": self.file(words, more.pop(0), kinds), "selector": int(more.pop(0), 0)}
        for side in "ab" if inst.scaled else "":
            given[f"scale_{side}"] = self.file(words, more.pop(0), kinds)
            given |= dict(zip((f"byte_id_{side}", f"thread_id_{side}"), map(int, more.pop(0).strip("{}").split(","))))
        assert not more
        files = [self.file(words, operand, kinds) for operand in (a, b, c)]
        return self.written(words, d, kinds, inst.execute(*files, **given))

    def wmma(self, words, statement, kinds):
        name, _, rest = statement.partition(" ")
        if name.startswith("wmma.mma"):
            return self.mma(words, statement, kinds)
        parts = [each.strip("[]") for each in split_outside(rest, ",")]
        if ".load." in name:
            registers, pointer, stride = parts
        else:
            pointer, registers, stride = parts
        inst = mmacalc.instruction(self.kernel.inst.arch, re.sub(r"\.(\w+)$", r".shared.\1", name))
        operand = inst.operand(name.split(".")[2].upper())
        place, (_, rows, columns) = located(operand), operand.shape
        kind = np.dtype(f"u{max(operand.format.bits, 8) // 8}")
        bits = operand.format.bits
        step = int(words[0, 0, int(stride[1:])])
        major, minor = (rows, columns) if ".row." in name else (columns, rows)
        at = ctypes.cast(int(words[0, 0, int(pointer[1:])]), ctypes.POINTER(ctypes.c_uint8))
        memory = np.ctypeslib.as_array(at, (((major - 1) * step + minor) * bits // 8,))
        position = np.arange(major)[:, None] * step + np.arange(minor)
        position = position if ".row." in name else position.T
        file = self.file(words, registers, kinds)
        if ".load." in name:
            if bits >= 8:
                codes = memory.view(kind)[position]
            else:
                codes = memory[position * bits // 8] >> position * bits % 8 & (1 << bits) - 1
            scatter(file, np.broadcast_to(codes, (len(file), *codes.shape)).astype(kind), place)
            return self.written(words, registers, kinds, file)
        memory.view(kind)[position] = gather(file, place)[0]
        return words
