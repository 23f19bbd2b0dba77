"""Explain the matrix instructions of a text: AMD's assembly, PTX, SASS, iga64's, or builtins; a line or a listing.

    mmacalc explain "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]"
    mmacalc explain "HMMA.16816.F32 R4, R8, R12, R4"
    mmacalc explain -a MI300X kernel.s
    mmacalc explain *.s                          several; with --json, one line for each
    mmacalc explain kernel.hsaco                 an object of an AMD GPU
    mmacalc explain "c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);"
    mmacalc explain "__hmma_m16n16k16_mma_f32f32(d, a, b, c, 1, 0);"
    mmacalc explain kernel.ttgir                 the dots of a Triton kernel, their instructions, what moves
    mmacalc explain ~/.triton/cache/KEY          the same from .ttir to PTX or amdgcn: which became which
    mmacalc explain "#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{...}>, kWidth = 2}>"    as `mmacalc layout`
    mmacalc explain "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{})"    as `mmacalc tile`
    mmacalc explain SM80_16x8x16_F32F16F16F32_TN                  a name of CuTe's, ck's, FlyDSL's ...
    cuobjdump -sass kernel.o | mmacalc explain -

For each: what it computes, with the signs that modifiers put on A, B and C (A' has the halves of its registers that are
named negated), its cycles, which registers hold which operand with which layout, and what lane 0 has; of AMD's assembly
also where a result is used too early, as `mmacalc lint` finds it. Where neither -a nor the text names an architecture,
it is the newest that has all of the instructions, with the cycles of the others where they differ.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...base.checks import arguments_checked
from ...base.errors import Error, UnclearNameError, printable
from ...base.records import Record, json_keys
from ...command import Command, Reply, argument, show
from ...command.common import JSON, TARGET
from ...command.files import each_text, expanded, names_file
from ...model.architecture import DOUBTFUL
from ...spelling import element_text, transposition_note
from ..disassemble import object_text
from .answer import CONDITION, ExplainedLine, ExplainedOperand, Explanation, cell_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...command import Options
    from ...command.files import GivenText
    from ...formats import Format
    from ...layout import Layout
    from ...model import Element, Operand

__all__ = ["COMMAND", "ExplainedLine", "ExplainedOperand", "Explanation", "explain", "text"]


_NAME = re.compile(r"[!@]?[\w.:]{3,160}(?:\s*(?:\(.*\)|<.*>))?(?:\s*\{\s*\})?", re.DOTALL)
_CUTILE = re.compile(r"\bcuda\.tile\b|\bct\.(?:mma|matmul|load|store|kernel|bid)\b")
SHOWN = 2  # registers whose elements are shown, besides the last
MOST = 4  # elements of a register that are all shown
LAYOUTS = ("#ttg.", "#triton_gpu.", "Layout", "make_layout", "):", ":(")
"""What is in a text that may be a layout of another program."""
ROLES = {"K": "K (sparse index)", "SA": "SA (scales of A)", "SB": "SB (scales of B)"}
DESCRIBED = "its shape and types are in the instruction descriptor: see `mmacalc help descriptor`"
NEVER, ALWAYS = ("0", "!UPT", "false"), ("1", "UPT", "true")
IN_SHARED_MEMORY = {"A": "transposed: M-major in shared memory", "B": "transposed: N-major in shared memory"}


@json_keys("[file]: where there are several", "**explanation")
class ExplainedText(Record):
    """An explanation, and what the text is called; several: whether it is one of several."""

    explanation: Explanation
    name: str
    several: bool = False

    @property
    def file(self) -> str | None:
        """The name, where there are several."""
        return self.name if self.several else None


def explanation_text(explanation: Explanation) -> str:
    """An explanation of a text."""
    return text(ExplainedText(explanation, "the text"))


def text(explained: ExplainedText) -> str:
    """A paragraph for each instruction, then the hazards, which name the text; of one of several its name first."""
    found = _text(explained.explanation, explained.name)
    return f"{printable(explained.name)}:\n{found}\n" if explained.several else found


def _text(answer: Explanation, name: str) -> str:
    from ...catalog import entry

    title = entry(answer.architecture).architecture.title
    newest = " (the newest that has all of this)" if answer.also else ""
    also = f"{newest}; also on {', '.join(answer.also)}. -a chooses" if answer.also else ""
    cycles = f"; cycles are those of {answer.product}" if answer.product else ""
    lines = [f"Architecture: {title}{also}{cycles}\n"]
    lines += _paragraphs(answer.lines)
    if answer.hazards is not None and len(answer.lines) + answer.hazards.instructions > 2:
        from ..lint import CheckedListing
        from ..lint import text as lint_text

        lines.append(lint_text(CheckedListing(answer.hazards, name)))
    return "\n".join(lines)


def _paragraphs(lines: Sequence[ExplainedLine]) -> Iterator[str]:
    """A paragraph for each line; of one that an earlier line equals, which that is."""
    first: dict[tuple[object, ...], int] = {}
    for line in lines:
        number = first.setdefault((line.text, line.language, line.problem, line.instruction), line.number)
        head = f"{f'{line.number}: ' if len(lines) > 1 else ''}{printable(line.text)}\n"
        yield head + ("".join(_line(line)) if number == line.number else f"  as line {number}\n")


def _line(line: ExplainedLine) -> Iterator[str]:
    inst = line.instruction
    if inst is None:
        yield f"  {line.problem or line.purpose}\n"
        return
    if line.language == "SASS":
        others = f" (or {', '.join(line.others)})" if line.others else ""
        yield f"  PTX: {inst.name}{others}\n"
    if inst.in_tensor_memory:
        described = "" if inst.features[-1] == "move" else DESCRIBED
        part = f"{line.part}, of two: " if line.part else ""
        yield f"  {part}{line.purpose or described}\n"
    else:
        yield f"  {_work(line)}\n"
    for operand in line.operands:
        yield from _operand(operand, line.operands[0])
    if line.laid_out_elsewhere:
        yield f"  other layouts on {', '.join(line.laid_out_elsewhere)}\n"
    for fault in line.problem.split("\n") if line.problem else ():
        yield f"  note: {fault}\n"


def _work(line: ExplainedLine) -> str:
    """What it computes: shape, formats, cycles."""
    inst = line.instruction
    assert inst is not None
    shape = f"{inst.m}x{inst.n}x{inst.k}" + (f", {inst.blocks} blocks" if inst.blocks > 1 else "")
    if "move" in inst.features:
        size = f"{inst.blocks} matrices" if inst.blocks > 1 else "a matrix"
        formats = dict.fromkeys(name for name in inst.formats.values() if name != "address")
        turned = transposition_note(inst)
        in_memory = f"; in memory {turned}" if turned else ""
        return f"moves {size} of {inst.m}x{inst.n}, {', '.join(formats)}{in_memory}"
    a, b, d = [_format(line, inst.format(name, line.fields), name) for name in ("A", "B", "D")]
    sparse = ", A sparse" if inst.sparse else ""
    scaled = f", a scale for each {inst.block_size} k" if inst.block_size else ""
    cycles = f"{line.cycles} cycles" if line.cycles else "cycles not published"
    if line.part:
        cycles += " for all steps together"
    if elsewhere := [f"{name}: {count}" for name, count in line.cycles_elsewhere.items() if count]:
        cycles += f" ({', '.join(elsewhere)})"
    modifiers = {**line.fields, **line.flags}
    fields = "".join([f", {name.upper()} = {value}" for name, value in modifiers.items()])
    fields += "".join([f", {name.upper()} = {value} (no known effect)" for name, value in line.unused.items()])
    part = f"{line.part} of " if line.part else ""
    return f"{part}{_formula(line)}{sparse}, {shape}, {a} {b} -> {d}{scaled}; {cycles}{fields}"


def _format(line: ExplainedLine, form: Format, name: str) -> str:
    """The format of an operand; of integers whose sign a modifier chooses, with that sign."""
    remarks = _remarks(line, name)
    if form.kind != "either" or not {"signed", "unsigned"} & remarks:
        return form.name
    return f"{'i' if 'signed' in remarks else 'u'}{form.bits}"


def _remarks(line: ExplainedLine, name: str) -> set[str]:
    roles = (name, f"descriptor of {name}")
    return {remark for operand in line.operands if operand.role in roles for remark in operand.remarks}


def _formula(line: ExplainedLine) -> str:
    """The product with the signs of its operands; a stroke marks one of which only half of the elements are negated."""
    inst = line.instruction
    assert inst is not None
    factors = []
    for name in "AB":
        remarks = _remarks(line, name)
        half = "'" if remarks & {"low halves negated", "high halves negated"} else ""
        factors.append(f"(-{name})" if "negated" in remarks else name + half)
    signs = _remarks(line, "C")
    listed = not line.operands or any(operand.role == "C" for operand in line.operands)
    added = "C" if "C" in inst.operands and listed else "D"  # C of wgmma is D in PTX
    added = f"|{added}|" if "absolute value" in signs else added
    sign = "-" if "negated" in signs else "+"
    condition = next((operand.text for operand in line.operands if operand.role == CONDITION), "1")
    if condition in NEVER or any(operand.role == "C" and operand.text == "0" for operand in line.operands):
        return f"D = {' '.join(factors)}"
    when = "" if condition in ALWAYS else f" ({added} only where {printable(condition)})"
    return f"D = {' '.join(factors)} {sign} {added}{when}"


def _operand(operand: ExplainedOperand, result: ExplainedOperand) -> Iterator[str]:
    role = ROLES.get(operand.role, operand.role)
    if operand.layout is not None:
        yield from _cells(operand, operand.layout)
        return
    layout, remarks = operand.operand, "".join([f", {remark}" for remark in _spoken(operand)])
    if layout is not None and layout.provenance in DOUBTFUL:
        remarks += f" (the layout is {layout.provenance})"
    if layout is None or operand.lane is None:
        yield f"  {role}: {_named(operand)}{remarks}\n"
        return
    if operand.role == "C" and operand.registers == result.registers and operand.first == result.first:
        same = "the same as D" if result.text == operand.text else "laid out as D"
        yield f"  {role}: {printable(operand.text)}  {same}{remarks}\n"
        return
    sizes = ", ".join([f"{digit}={size}" for digit, size in layout.sizes.items()])
    yield f"  {role}: {printable(operand.text)}{remarks}  {layout.pattern}   {sizes}\n"
    texts = _first_and_last(layout, operand.first, len(operand.registers))
    names = [operand.registers[at] for at, _ in texts]
    held = [f"{name} = {elements}" for name, (_, elements) in zip(names, texts)]
    if len(operand.registers) > len(held):
        held.insert(SHOWN, "...")
    yield f"      lane {operand.lane}: {', '.join(held)}\n"


@lru_cache(1024)
def _first_and_last(layout: Operand, first: int, count: int) -> tuple[tuple[int, str], ...]:
    """The registers that are shown, and what the first lane has in them."""
    operand = ExplainedOperand("", "", ("",) * count, layout, first)
    pairs = layout.format.bits == 64 and count != layout.registers // 2  # PTX has one name for both
    half = (" (low half)", " (high half)") if pairs else ("", "")
    shown = range(count) if count <= SHOWN + 1 else (*range(SHOWN), count - 1)
    held = operand.held
    return tuple([(at, f"{_shortened(layout, held[at])}{half[(first + at) % 2]}") for at in shown])


def _named(operand: ExplainedOperand) -> str:
    """The text of an operand with the registers that it stands for."""
    registers, text = ", ".join(operand.registers), printable(operand.text)
    if operand.registers[:1] == (operand.text,):
        return registers
    if not registers:
        return text
    return f"{registers} (of the pair {text})" if text.isalnum() else f"{text} ({registers})"


def _cells(operand: ExplainedOperand, layout: Layout) -> Iterator[str]:
    """The registers of a tcgen05.ld or st, and which lanes and columns of Tensor Memory they move."""
    sizes = ", ".join([f"{digit}={size}" for digit, size in layout.trimmed_sizes.items()])
    yield f"  {operand.role}: {printable(operand.text)}  {layout.pattern}   {sizes}\n"
    held = [f"{name} = {' and '.join(map(cell_text, cells))}" for name, cells in zip(operand.registers, operand.cells)]
    yield f"      thread 0: {_ends(held)}\n"


def _ends(held: Sequence[str]) -> str:
    """What the first registers hold, and the last."""
    return ", ".join(held if len(held) <= SHOWN + 1 else [*held[:SHOWN], "...", held[-1]])


def _spoken(operand: ExplainedOperand) -> list[str]:
    """The remarks on an operand as they are printed."""
    return [IN_SHARED_MEMORY[operand.role[-1]] if word == "transposed" else word for word in operand.remarks]


def _shortened(layout: Operand, held: Sequence[Element]) -> str:
    """The elements of a register: all, or the ends of a run along a row or a column.

    >>> import mmacalc
    >>> a = mmacalc.instruction("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("A")
    >>> _shortened(a, a.contents(1, 0))
    'A[8][0..1]'
    """
    rows, cols = sorted({one.row for one in held}), sorted({one.col for one in held})
    blocks = sorted({one.block for one in held})
    one_block = len(blocks) == 1 and len(held) == len(rows) * len(cols) > 1
    if one_block and 1 in (len(rows), len(cols)) and _run(rows) and _run(cols):
        row, col = [f"{places[0]}..{places[-1]}" if len(places) > 1 else f"{places[0]}" for places in (rows, cols)]
        return element_text(layout, 0, 0, blocks[0]).replace("[0][0]", f"[{row}][{col}]")
    texts = [element_text(layout, one.row, one.col, one.block) for one in held]
    return " ".join(texts if len(texts) <= MOST else [texts[0], texts[1], "...", texts[-1]]) or "nothing"


def _run(places: Sequence[int]) -> bool:
    return places[-1] - places[0] == len(places) - 1


@arguments_checked
def explain(text: str, arch: str | None = None) -> Explanation:
    """Every matrix instruction of a text: what it computes, its operands, its cycles, its hazards.

    Args:
        text: AMD's assembly, PTX, SASS, iga64's assembly, C++ with inline assembly or builtins, or LLVM IR, as
            compilers and disassemblers write it.
        arch: the architecture; where it is left out, that which the text names, else the newest that has all of its
            instructions; what differs on the others is said as well.

    Raises:
        Error: the text has no matrix instruction, no architecture has all of them, or the text names another one than
            `arch`.

    >>> found = explain("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15] cbsz:0", "gfx942").lines[0]
    >>> found.instruction.k, found.cycles, found.operands[1].role, found.operands[1].held[0][1]
    (8, 32, 'A', Element(row=0, col=1, block=0, lsb=16, width=16))
    >>> explain("HMMA.16816.F32.BF16 R4, R8, R12, R4").lines[0].instruction.name
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32'
    """
    from ...catalog import entry
    from . import amd

    if arch is not None:
        architecture = entry(arch).architecture
        architecture.family.require("explain", architecture.title)
    if (found := amd.explained(text, arch)) is not None:
        return found
    from . import intel, nvidia

    for reader in (nvidia.explained, intel.explained):
        if (found := reader(text, arch)) is not None:
            return found
    if not text.strip():
        raise Error("the text is empty; give a line or a listing of assembly")
    code = [line.partition("//")[0].partition(";")[0].strip() for line in text.split("\n")]
    code = [line for line in code if line and not line.startswith(".") and not line.endswith(":")]
    first, kinds = (code or [text.strip()])[0][:80], "AMD's assembly, PTX, SASS or iga64's assembly"
    meant = _meant(first) or nvidia.near(first)
    if len(code) > 1:
        raise Error(f"none of {len(code)} lines is a matrix instruction of {kinds}; the first is '{first}'.{meant}")
    raise Error(f"there is no matrix instruction of {kinds} in '{first}'.{meant}")


def _meant(line: str) -> str:
    """What a line stands for that is the name of no instruction, as a clause."""
    from ...compiler.cuda_names import is_wmma_name
    from ...hazards.register_use import is_matrix

    word = line.partition(" ")[0]
    if "#ttg." in line or "#triton_" in line:
        return " It is Triton's IR; give the PTX, the amdgcn or the LLVM IR (llir) that Triton makes of it"
    if _CUTILE.search(line):
        return " cuTile's tiles have no layout and no instruction that a program names; give the PTX or SASS made of it"
    if is_wmma_name(line):
        return f' `mmacalc find "{line.partition("(")[0].strip()}"` lists the instructions that CUDA\'s mma.h uses'
    return f" Did you mean v_{word}?" if is_matrix(f"v_{word}") else ""


def run(options: Options) -> Iterator[Reply]:
    """The explanation; of several files one after another, also where one is refused; a kernel of Triton as a whole
    where both its GPU IR and its assembly are there."""
    if not all(map(names_file, options.text)):
        yield from each_text(options, _reply, object_text)
        return
    from .triton_kernel import grouped, joined, kernel_text

    paths = [path for path, _ in expanded(options.text)]
    kernels = grouped(paths)
    for files in kernels:
        yield show(options.json, "triton-kernel", joined(files), kernel_text)
    read = {path for files in kernels for path in files.values()}
    rest = [path for path in paths if path not in read]
    if not kernels:
        yield from each_text(options, _reply, object_text)
    elif rest:
        yield from each_text(type(options)(**{**vars(options), "text": rest}), _reply, object_text)


def _reply(given: GivenText, options: Options) -> Reply:
    if "tt." in given.text or "ttg." in given.text:  # Triton's dialects
        from ...foreign.dumps import is_dump, read_dump
        from .triton import DumpAnswer, dump_text

        if is_dump(given.text):
            return show(options.json, "triton-dump", DumpAnswer(read_dump(given.text)), dump_text)
    if "tiled_mma" in given.text or "TiledMMA" in given.text:
        from ...foreign.tiled_mma import is_tiled_mma, tiled_mma
        from ..tile import described
        from ..tile import text as tile_text

        if is_tiled_mma(given.text):
            return show(options.json, "tile", described(tiled_mma(given.text), given.text), tile_text)
    if any(mark in given.text for mark in LAYOUTS):
        from ...foreign import reads
        from ..layout import answered

        if reads(given.text):
            return answered([given.text], None, None, options.json)
    arch = options.architecture and options.architecture.partition(":")[0]
    try:
        found = explain(given.text, arch)
        unread = len(found.lines) == 1 and found.lines[0].instruction is None
    except Error:
        if (named := _by_name(given.text, arch, options.json)) is None:
            raise
        return named
    named = _by_name(given.text, arch, options.json) if unread else None
    return named or show(options.json, "explain", ExplainedText(found, given.name, given.several), text)


def _by_name(given: str, arch: str | None, as_json: bool) -> Reply | None:
    """The instruction that a text means which is only its name, in parts or another program's, as a tile of one; None
    of other texts.

    Raises:
        Error: it may be several.
    """
    from ...catalog import entry
    from ..find.equivalents import named_anywhere
    from ..tile import described
    from ..tile import text as tile_text

    word = given.strip().rstrip(";")
    if not _NAME.fullmatch(word):
        return None
    try:
        inst = entry(arch).meant(word) if arch else named_anywhere(word)
    except UnclearNameError:
        raise
    except Error:
        return None
    notes = [] if arch else [f"{inst.name} as on {inst.arch}; -a chooses another architecture"]
    if not inst.flops or inst.in_tensor_memory:
        found = ExplainedText(explain(inst.name, inst.arch), inst.name)
        return show(as_json, "explain", found, text, notes=notes)
    return show(as_json, "tile", described(inst.tile(), word), tile_text, notes=notes)


def _other_answers() -> dict[str, Callable[..., str]]:
    from ..layout import text as layout_text
    from ..tile import text as tile_text
    from .triton import dump_text
    from .triton_kernel import kernel_text

    return {"layout": layout_text, "tile": tile_text, "triton-dump": dump_text, "triton-kernel": kernel_text}


COMMAND = Command(
    "explain", "explain a line or a listing of assembly, PTX or SASS: what its matrix instructions do", "look", __doc__,
    (TARGET, JSON, argument("text", "paths of files, - for standard input; or one or more lines", nargs="+")),
    run, {"explain": text}, _other_answers,
)  # fmt: skip
