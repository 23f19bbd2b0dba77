"""Text that generated CUDA kernels share: what stands for CUDA's headers, and small functions around PTX."""

from __future__ import annotations

from .marks import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "DESCRIPTOR", "ENTRY_OF_ONE_BLOCK", "GRID_CONSTANT", "HEADER", "SHARED_ADDRESS", "SYNCHRONIZE", "braced", "header",
    "launch", "operand_texts", "operands", "statement",
]  # fmt: skip

MOST_COLUMNS = 116
INDENT = " " * 13  # behind asm volatile(

HEADER = """\
#ifndef __global__  // without CUDA's headers: clang -x cuda -nocudainc -nocudalib
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))
#endif

struct __attribute__((aligned(8))) u32x2 { unsigned int word[2]; };
struct __attribute__((aligned(16))) u32x4 { unsigned int word[4]; };

"""

SHARED_ADDRESS = """\
// The address in shared memory that PTX instructions take.
static __device__ unsigned int shared_address(const void *pointer) {
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
    return (unsigned int)address;
}

"""

DESCRIPTOR = """\
// The matrix descriptor of wgmma: bits 13:0 address / 16, 29:16 leading dimension byte offset / 16, 45:32 stride
// dimension byte offset / 16, 63:62 swizzle (0 none, 1 128B, 2 64B, 3 32B).
static __device__ unsigned long long descriptor(const void *tile, int leading, int stride, int swizzle) {
    return (shared_address(tile) & 0x3FFFFull) >> 4 | (unsigned long long)leading / 16 << 16
        | (unsigned long long)stride / 16 << 32 | (unsigned long long)swizzle << 62;
}

"""

SYNCHRONIZE = 'asm volatile("bar.sync 0;" ::: "memory");'

GRID_CONSTANT = "__grid_constant__ __attribute__((grid_constant))"  # of `header`

# Without the 1 (a block of a multiprocessor) ptxas may ignore setmaxnreg: its message C7508, NVIDIA/cutlass #3406.
ENTRY_OF_ONE_BLOCK = 'extern "C" __global__ void __launch_bounds__(THREADS, 1)'


def header(*macros: str, one_block: bool = False) -> str:
    """HEADER with more macros; one_block: that of __launch_bounds__ takes the 1 of ENTRY_OF_ONE_BLOCK, too.

    >>> [line for line in header("__align__(n)", one_block=True).splitlines() if "bounds" in line or "align__" in line]
    ['#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))', '#define __align__(n)']
    """
    text = HEADER.replace("#endif\n", "".join([f"#define {macro}\n" for macro in macros]) + "#endif\n", 1)
    one, any_number = "__launch_bounds__(threads)", "__launch_bounds__(...)"
    return text.replace(one, any_number).replace("(threads)", "(__VA_ARGS__)") if one_block else text


def braced(first: int, count: int) -> str:
    """The numbers of `count` operands of inline PTX from `first` on, as a vector.

    >>> braced(4, 2)
    '{%4, %5}'
    """
    return "{" + ", ".join([f"%{first + number}" for number in range(count)]) + "}"


def statement(name: str, texts: Mapping[str, str], outputs: Sequence[str], inputs: Sequence[str]) -> Iterator[str]:
    """An asm statement of one instruction.

    Args:
        texts: what each operand is, and how it is written, in order; outputs, inputs: their constraints.
    """
    yield f'asm volatile("{name} "'
    yield from operand_texts(texts, ";")
    yield from operands(outputs, inputs)


def operand_texts(texts: Mapping[str, str], end: str) -> Iterator[str]:
    """The operands as PTX writes them, each in a line of its own, or in several, with what it is."""
    for number, (what, text) in enumerate(texts.items(), 1):
        line = ""
        for part in text.split(" "):
            if len(line) + len(part) > MOST_COLUMNS - 20:
                yield f'{INDENT}"{line}"'
                line = ""
            line += f"{part} "
        yield f'{INDENT}"{line[:-1]}{", " if number < len(texts) else end}"  // {what}'


def operands(outputs: Sequence[str], inputs: Sequence[str], end: str = "") -> Iterator[str]:
    """The last lines of an asm statement: its outputs and inputs, in lines of a readable length."""
    for given, last in ((outputs, ""), (inputs, f"{end});")):
        yield listed(f"{INDENT}: ", given, MOST_COLUMNS + 1, len(INDENT) + 2) + last


def launch(name: str, grid: str, threads: int, arguments: str, says: str) -> str:
    """The line that launches a kernel from the host, as a comment."""
    return f"\n// {name}<<<{grid}, {threads}>>>({arguments});  {says}\n"
