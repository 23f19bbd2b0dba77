"""Serve the questions to coding agents: a server of the Model Context Protocol on standard input and output.

    mmacalc mcp
    uvx --from "mmacalc[mcp]" mmacalc mcp

A client is told to run that; most take {"mcpServers": {"mmacalc": {"command": "mmacalc", "args": ["mcp"]}}}. It needs
the Python package mcp (the extra mmacalc[mcp]). Each tool asks one of the commands, and its answer is that command's
text, at most --characters of it: whole lines, and then how many more there are. What is refused is an error of
the tool, with the sentence that people read. `mmacalc help agents` is a text for agents that have a shell.
"""

from __future__ import annotations

import shlex
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..base.errors import Error
from ..base.version import __version__
from ..command import Command, Reply, number
from ..command.files import standard_input_taken
from . import answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..command import Options

__all__ = ["COMMAND", "TOOLS", "server"]

LIMIT = 6000  # characters: some 2,000 tokens
INSTRUCTIONS = (
    "Facts of the matrix instructions of AMD, NVIDIA and Intel GPUs (MFMA, WMMA, mma, wgmma, tcgen05, dpas): which "
    "lane, register and bit holds which element, what an instruction computes to the bit, hazards, bank conflicts, "
    "kernels run without a GPU. Ask before writing index arithmetic, wait states or a layout by heart. GPUs go by any "
    "of their names (MI300X, gfx942, H100, sm_90a). A name that is not known is refused with the nearest ones."
)
FORBIDDEN = ("-o", "--output", "--save-inputs", "--update-baseline")
COORDINATES = {
    "A": ("-I", "-K"), "B": ("-K", "-J"), "C": ("-I", "-J"), "D": ("-I", "-J"), "K": ("-I", "-K"), "SA": ("-I", "-K"),
    "SB": ("-K", "-J"), "P": ("-I", "-K"),
}  # fmt: skip
FLAGS = {"K": "-k", "SA": "--scale-a", "SB": "--scale-b", "P": "--addresses"}
_limit: ContextVar[int] = ContextVar("limit", default=LIMIT)
"""The most characters of an answer, of the server whose tool is called."""


def _asked(words: Sequence[str], options: str = "") -> str:
    """The text of a command's answer, within the limit; a refusal is raised."""
    more = shlex.split(options)
    if wrong := [word for word in more if word.partition("=")[0] in FORBIDDEN]:
        raise Error(f"options: {wrong[0]} writes files, which the tools do not")
    with standard_input_taken("mcp"):
        reply = answer([*words, *more])
    if reply.status > 1 and not reply.out:
        raise Error(reply.err.removeprefix("mmacalc: ").rstrip("\n"))
    return shortened(reply.out + reply.err, _limit.get())


def shortened(text: str, limit: int) -> str:
    r"""A text of at most some characters: whole lines, and how many more there are.

    >>> shortened("one\ntwo\nthree\nfour\n" * 20, 120).split("\n")[-1]
    '... 70 more lines: ask for one operand, register, lane or file'
    """
    text = text.rstrip("\n")
    if len(text) <= limit:
        return text
    tail = "... {} more lines: ask for one operand, register, lane or file"
    kept = text[: max(0, limit - len(tail) - 8)].rpartition("\n")[0]
    left = text.count("\n") - kept.count("\n")
    return f"{kept}\n{tail.format(left)}" if kept else text[: limit - 30] + " ... (the line goes on)"


def _flag(operand: str) -> str:
    name = operand.strip().upper()
    if name not in COORDINATES:
        raise Error(f"operand is one of {', '.join(COORDINATES)}; got '{operand[:40]}'")
    return FLAGS.get(name, f"-{name}")


def find(words: str, gpu: str = "") -> str:
    """Instructions by GPU, shape, type, sparsity, part of a name, SASS opcode or compiler builtin: "32x32x8 bf16". Or
    what an instruction of another GPU becomes on gpu: "like mma.m16n8k16.f32.bf16.bf16.f32"."""
    return _asked(["find", *([gpu] if gpu else []), *shlex.split(words)])


def locate(  # noqa: PLR0913 (an element or a register, as the client calls them by name)
    gpu: str,
    instruction: str,
    operand: str,
    row: int | None = None,
    column: int | None = None,
    lane: int | None = None,
    register: int = 0,
    block: int = 0,
    options: str = "",
) -> str:
    """Where element [row][column] of an operand (A, B, C, D, K index, SA, SB scales) is: lane, register, bits. Or, with
    lane (and register), which elements that register holds. options: modifiers, wave size: "--cbsz 1", "-w 64"."""
    words = ["-a", gpu, "-i", instruction, _flag(operand)]
    if lane is not None:
        return _asked([*words, "-m", "-l", str(lane), "-r", str(register)], options)
    if row is None or column is None:
        raise Error("give row and column of an element, or lane and register")
    first, second = COORDINATES[operand.strip().upper()]
    place = [first, str(row), second, str(column), *(["-b", str(block)] if block else [])]
    return _asked([*words, "-g", *place], options)


def layout(gpu: str, instruction: str, operand: str, options: str = "") -> str:
    """The whole layout of an operand as one pattern with its sizes, and as formulas in C for both directions."""
    words = ["-a", gpu, "-i", instruction]
    pattern = _asked([*words, _flag(operand), "--pattern"], options)
    try:
        return f"{pattern}\n{_asked(['generate', *words, '--formula', operand.strip().upper()], options)}"
    except Error as refused:
        return f"{pattern}\n(no formulas in C: {refused})"


def explain(text: str, gpu: str = "") -> str:
    """What lines of assembly, PTX, SASS, LLVM IR or compiler builtins do: each operand's layout in the registers that
    are written there, cycles, hazards. text: the lines, or the path of a file."""
    return _asked(["explain", *(["-a", gpu] if gpu else []), text])


def chain(gpu: str, first: str, second: str, use: str = "") -> str:
    """Whether D of one instruction can be A, B or C of the next without moving data between lanes (as in attention);
    if not, the cheapest way. use: A, B, C, At or Bt; by default the best."""
    return _asked(["chain", "-a", gpu, first, second, *(["--use", use] if use else [])])


def compare(gpu: str, instruction: str, other_gpu: str, other: str) -> str:
    """Two instructions side by side: shape, cycles, registers, layouts, wait states, rounding, builtins."""
    return _asked(["compare", gpu, instruction, other_gpu, other])


def tile(gpu: str, instruction: str, operand: str, waves: str = "1x1", repeat: str = "1x1", options: str = "") -> str:
    """A tile of several waves (MxN), each with several instructions (repeat MxN): its shape and the layout of an
    operand over waves, registers and lanes. options: one element "-I 40 -J 70", "--formulas", "--adjacent 1x2"."""
    words = ["tile", "-a", gpu, "-i", instruction, _flag(operand), "--waves", waves, "--repeat", repeat]
    return _asked(words, options)


def memory(gpu: str, instruction: str, operand: str, row_elements: int, order: str = "row", options: str = "") -> str:
    """How an operand is loaded from LDS or shared memory whose rows have that many elements: the loads, cache lines,
    bank conflicts, and the padding or XOR swizzle without any. order: row or col. options: "--kpack 2"."""
    words = ["memory", "-a", gpu, "-i", instruction, _flag(operand), "--ld", str(row_elements), "--order", order]
    return _asked([*words, "--search"], options)


def lint(assembly: str, gpu: str = "") -> str:
    """Errors in AMD assembly: missing wait states and s_waitcnt along all paths, operands that no assembler takes; each
    with what to insert. assembly: a listing, or paths of files, objects or folders. gpu: where it names no target."""
    return _asked(["lint", *(["-a", gpu] if gpu else []), assembly])


Matrix = str | list[list[float]]


def diagnose(
    gpu: str, a: Matrix, b: Matrix, d: Matrix, instruction: str = "", c: Matrix | None = None, options: str = ""
) -> str:
    """Why D of a kernel is wrong: which mistake (transposed tile, swapped lanes, wrong format, missing scale ...) gives
    exactly this D. a, b, c, d: paths of .npy or .csv files, or rows of numbers. Of a whole product options may name the
    format instead of the instruction: "--type fp8"."""
    with TemporaryDirectory() as folder:
        words = ["diagnose", "-a", gpu, *(["-i", instruction] if instruction else [])]
        for name, matrix in (("a", a), ("b", b), ("c", c), ("d", d)):
            if isinstance(matrix, str):
                words += [f"--{name}", matrix]
            elif matrix is not None:
                path = Path(folder, f"{name}.csv")
                path.write_text("".join([",".join(map(repr, row)) + "\n" for row in matrix]), encoding="ascii")
                words += [f"--{name}", str(path)]
        return _asked(words, options)


def run_kernel(
    path: str, kernel: str = "", grid: str = "1", block: str = "64", args: str = "", options: str = ""
) -> str:
    """Run a compiled AMD kernel (.hsaco) or PTX without a GPU; report races, missing waits and fences, uninitialised
    values, accesses out of bounds. Without kernel: those that there are. grid, block: "4 4". args in order, such as
    "a.npy out:d.npy:f4:64x64 64 0.5" (out: files are written). options: "--shared 1024", "--limit 100000"."""
    return _asked(_launch("run-kernel", path, kernel, grid, block, args), options)


def profile(path: str, kernel: str = "", grid: str = "1", block: str = "64", args: str = "", options: str = "") -> str:
    """What a compiled kernel does and what bounds it, by loop, line and instruction: run on the emulator with the
    arguments of run_kernel; exact counts, and a model of time. Without args: the listing."""
    return _asked(_launch("profile", path, kernel, grid, block, args), options)


def _launch(command: str, path: str, kernel: str, grid: str, block: str, args: str) -> list[str]:
    words = [command, path, *([kernel] if kernel else [])]
    if not (args or kernel):
        return words
    given = ["--args", *shlex.split(args)] if args else []
    return [*words, "--grid", *grid.split(), "--block-dim", *block.split(), *given]


def generate(gpu: str, instruction: str, gemm: str = "", options: str = "") -> str:
    """A kernel in HIP, CUDA or OpenCL around an instruction, with its loads and stores from the layouts. gemm: MxNxK
    for a whole product. options: "--lds", "--order-a col", "--lang ptx", "--split-k 4", "--attention
    2x16x4096x4096x128" (AMD, mma.sync)."""
    return _asked(["generate", "-a", gpu, "-i", instruction, *(["--gemm", gemm] if gemm else [])], options)


def estimate(gpu: str, gemm: str, type: str) -> str:
    """What a product MxNxK of a type (f16, fp8, int8 ...) costs on a GPU, for every instruction that can do it."""
    return _asked(["estimate", "-a", gpu, "--gemm", gemm, "--type", type])


TOOLS = (
    find,
    compare,
    locate,
    layout,
    tile,
    explain,
    chain,
    memory,
    lint,
    diagnose,
    run_kernel,
    profile,
    generate,
    estimate,
)
WRITING = (run_kernel, profile)
"""Tools that may write files: those that out: names."""


def server(limit: int = LIMIT) -> Any:
    """The server with its tools, for `run` or a client in the same process.

    Args:
        limit: the most characters of an answer.

    Raises:
        Error: the package mcp is not installed.
    """
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    made = MCPServer("mmacalc", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    for tool in TOOLS:
        about = ToolAnnotations(read_only_hint=tool not in WRITING, open_world_hint=False)
        made.tool(annotations=about, structured_output=False)(_told(tool, limit))
    return made


def _told(tool: Callable[..., str], limit: int) -> Callable[..., str]:
    """A tool whose refusals are those of the protocol."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def called(**given: Any) -> str:
        _limit.set(limit)
        try:
            return tool(**given)
        except (Error, ValueError) as refused:  # a ValueError is shlex's
            raise ToolError(str(refused)) from None

    return called


def run(options: Options) -> Reply:
    """Serve until the client closes standard input."""
    if options.characters < 500:
        raise Error(f"--characters {options.characters} is too short for an answer; at least 500 characters")
    server(options.characters).run("stdio")
    return Reply(0, "", "")


COMMAND = Command(
    "mcp", "serve these questions to coding agents (Model Context Protocol)", "work with it", __doc__,
    (number("--characters", default=LIMIT, help="the most characters of an answer (default: 6000)"),),
    run,
)  # fmt: skip
