"""The detail page of an NVIDIA instruction."""

from __future__ import annotations

from ...base.records import Record
from ...catalog.grammar.ptx import targets_text
from ...families.shared_memory import FIELDS, SWIZZLES
from ...model.architecture import DOUBTFUL
from ...spelling import heading, transposition_note
from ...throughput import dense_rate
from ..numerics import numerics_lines
from . import formulas
from .detail import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...model import Instruction, Operand
    from .detail import Detail, SassOpcodes


# What the operands and constants of a PTX statement are called elsewhere in this package.
_OPERANDS = {
    "d": "D", "a": "A", "b": "B", "c": "C", "e": "K", "sp-meta": "K", "scale-a": "SA", "scale-b": "SB", "p": "P",
}  # fmt: skip
_CONSTANTS = {"f": "selector", "sp-sel": "selector"}
_ROLES = {"K": "metadata e", "SA": "scales of A", "SB": "scales of B", "P": "row addresses"}


def text(detail: Detail) -> str:
    """Everything about one PTX instruction on one target.

    The formulas are derived from the layouts; see `mmacalc.questions.classic.formulas`.
    """
    inst = detail.instruction
    lines = [
        *_identity(inst), *_work(inst), *_registers(inst), *_shared_memory(inst), *_sass(detail), *_arithmetic(detail),
        *_mappings(inst), *_provenance(inst),
    ]  # fmt: skip
    return heading(inst) + "".join([f"    {line}\n" for line in lines])


class PtxDetail(Record):
    """What only PTX instructions have."""

    ptx_syntax: str
    ptx_version: str
    targets: tuple[str, ...]
    sass: Mapping[str, SassOpcodes]
    elsewhere: Mapping[str, str]
    fragment_registers: Mapping[str, int] | None


def own(detail: Detail) -> PtxDetail:
    """The statement, the targets, and where operands are that are not in registers."""
    inst = detail.instruction
    fragments = inst.fragment_registers or None
    return PtxDetail(syntax(inst), inst.ptx, inst.targets, detail.sass, inst.outside_registers, fragments)


def statement(inst: Instruction) -> str:
    """What follows the name in a statement, operands as `<A>` and constants as `<=selector>`."""
    import re

    return re.sub(r"[\w-]+", lambda word: _word(inst, word.group()), syntax(inst).removeprefix(inst.name))


def _word(inst: Instruction, word: str) -> str:
    field = _CONSTANTS.get(word, word.replace("-", "_"))
    if field in inst.modifier_limits():
        return f"<={field}>"
    operand = _OPERANDS.get(word)
    if word == "r":  # what ldmatrix fills and stmatrix stores
        operand = next((name for name in inst.operands if name in "AD"), None)
    return f"<{operand}>" if operand in inst.operands else word


def _identity(inst: Instruction) -> Iterator[str]:
    yield f"PTX: {syntax(inst)}"
    yield f"PTX ISA version: {inst.ptx} (the target {inst.arch} has PTX {inst.architecture.ptx})"
    yield f"Targets: {targets_text(inst.targets)}"
    yield "Matrix dimensions:"
    yield f"    M: {inst.m}"
    yield f"    N: {inst.n}"
    if "move" not in inst.features or "wmma" in inst.features:
        yield f"    K: {inst.k}"
    if turned := transposition_note(inst):
        yield f"    In memory: {turned}"
    if inst.blocks > 1:
        yield f"    {'matrices' if 'move' in inst.features else 'MMAs of a warp (blocks)'}: {inst.blocks}"


def syntax(inst: Instruction) -> str:
    """The instruction with its operands as PTX writes them."""
    name = inst.name
    if inst.moves == "stmatrix":
        return f"{name} [p], r;"
    if inst.moves == "ldmatrix":
        return f"{name} r, [p];"
    if inst.moves == "movmatrix":
        return f"{name} d, a;"
    if "move" in inst.features:
        return f"{name} [p], r{{, stride}};" if ".store." in name else f"{name} r, [p]{{, stride}};"
    if "wgmma" in inst.features:
        scales = {"f16": 4, "bf16": 4, "tf32": 2, "e4m3": 2, "e5m2": 2}.get(inst.formats["A"], 0)
        tail = ("imm-scale-a", "imm-scale-b", "imm-trans-a", "imm-trans-b")[:scales]
        middle = ("sp-meta", "sp-sel") if inst.sparse else ()
        return f"{name} {', '.join(('d', 'a or a-desc', 'b-desc', *middle, 'scale-d', *tail))};"
    tail = (("e", "f") if inst.sparse else ()) + (
        ("scale-a", "{byte-id-a, thread-id-a}", "scale-b", "{byte-id-b, thread-id-b}") if inst.scaled else ()
    )
    return f"{name} {', '.join(('d', 'a', 'b', 'c', *tail))};"


def _work(inst: Instruction) -> Iterator[str]:
    if not inst.flops or "move" in inst.features:
        return
    yield "Execution statistics:"
    yield f"    {'Ops' if inst.integer else 'FLOPs'}: {inst.flops}"
    rate = dense_rate(inst)
    if rate:
        products = inst.architecture.products
        others: dict[int, list[str]] = {}
        for product in products:
            other = dense_rate(inst, product)
            if other and other != rate:
                others.setdefault(other, []).append(product.name)
        more = "".join(f"; {other} on {', '.join(names)}" for other, names in others.items())
        yield f"    Dense FMA per clock and SM: {rate} ({inst.architecture.fma_source}){more}"


def _registers(inst: Instruction) -> Iterator[str]:
    per = "lane of the warpgroup's 128" if "wgmma" in inst.features else "lane"
    yield f"Registers of each {per}:"
    for name in inst.operands:
        yield f"    {name}: {_register_line(inst, name)}"
    limits = inst.modifier_limits()
    if limits:
        yield "Constants:"
        for field, values in limits.items():
            yield f"    {field.replace('_', '-')}: {', '.join(map(str, values))}"


def _register_line(inst: Instruction, name: str) -> str:
    form = inst.format(name)
    role = f" ({_ROLES[name]})" if name in _ROLES else ""
    if name not in inst.register_operands:
        count = inst.fragment_registers.get(name)
        if count is None:
            return f"none; a 64-bit matrix descriptor; {form.title}"
        return f"{_count(count, form.bits)}, the places of their elements unspecified by NVIDIA; {form.title}"
    if name == "C" and "wgmma" in inst.features:
        return "the registers of D, unless scale-d is false: then D = A * B"
    operand = inst.operand(name)
    inside = ""
    if operand.placement.slot_bits > form.bits and name not in _ROLES:
        first = operand.placement.offset
        inside = f", each in bits {first + form.bits - 1}:{first} of a byte"
        if operand.placement.slots_per_location > 1:
            inside = ", each in a byte"
    return f"{_count(operand.registers, form.bits)}{role}; {form.title}{inside}"


def _count(registers: int, bits: int) -> str:
    count, kind = (registers // 2, 64) if bits == 64 else (registers, 32)
    return f"{count} x {kind} bits"


def _shared_memory(inst: Instruction) -> Iterator[str]:
    if "wgmma" not in inst.features:
        return
    yield "Shared memory (B, and A unless it is in registers), by a matrix descriptor:"
    for swizzle in SWIZZLES.values():
        yield (
            f"    {swizzle.name + ' swizzle:':14} tiles of 8 rows x {swizzle.row_bytes} bytes, "
            f"Swizzle<{swizzle.bits},4,3>, code {swizzle.code}"
        )
    for name, low, bits, shift in FIELDS:
        yield f"    descriptor bits {low + bits - 1}:{low}: {name}{f' >> {shift}' if shift else ''}"


def _sass(detail: Detail) -> Iterator[str]:
    inst, groups = detail.instruction, dict[tuple[str, str], list[str]]()
    for target, known in detail.sass.items():
        groups.setdefault(known, []).append(target)
    if not groups:
        return
    own = detail.sass.get(inst.arch)
    if own:
        yield f"SASS on {inst.arch}: {own[0]} ({own[1]})"
    yield "SASS on each target:"
    for (opcodes, status), targets in groups.items():
        yield f"    {_runs(targets, inst.targets)}: {opcodes} ({status})"


def _runs(targets: list[str], every: tuple[str, ...]) -> str:
    """Targets in words: three or more that follow each other as a range."""
    runs: list[list[str]] = []
    for target in targets:
        if runs and every.index(runs[-1][-1]) + 1 == every.index(target):
            runs[-1].append(target)
        else:
            runs.append([target])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _arithmetic(detail: Detail) -> Iterator[str]:
    if detail.numerics is not None and detail.instruction.flops:
        yield from numerics_lines(detail.numerics)


def _mappings(inst: Instruction) -> Iterator[str]:
    shown = [name for name in inst.register_operands if (name, inst.formats.get("C")) != ("C", inst.formats.get("D"))]
    if not shown:
        return
    operands = {_label(inst, name): inst.operand(name) for name in shown}
    yield "Layouts:"
    for label, operand in operands.items():
        sizes = ", ".join(f"{digit}={size}" for digit, size in operand.sizes.items())
        yield f"    {label}: {operand.pattern}   {sizes}"
    wide = " (a 64-bit register counts as two)" if inst.formats.get("D") == "f64" else ""
    yield f"Matrix element to register mapping{wide}:"
    for label, operand in operands.items():
        yield from _forward(label, operand)
    yield "Register to matrix element mapping:"
    for label, operand in operands.items():
        for axis, formula in formulas.backward(operand).items():
            if axis != "block" or inst.blocks > 1:
                yield f"    {label} {axis}: {_ptx_words(formula)}"


def _label(inst: Instruction, name: str) -> str:
    same = name == "D" and "C" in inst.register_operands and inst.formats["C"] == inst.formats["D"]
    return "C or D" if same else name


def _forward(label: str, operand: Operand) -> Iterator[str]:
    named = "".join([f"[{axis}]" for axis in operand.axes if axis != "block"])
    coordinates = named + (".block" if operand.instruction.blocks > 1 else "")
    found = formulas.forward(operand)
    yield f"    {label}{coordinates} lane: {found['Lane']}"
    yield f"    {label}{coordinates} register: {found['GPR']}"
    yield from _chosen(label, operand)


def _chosen(label: str, operand: Operand) -> Iterator[str]:
    """What the instruction's constants add to the lane and to the bits."""
    layout = operand.layout
    start = layout.copy_offsets({})[0]
    for digit, field in (("f", "selector"), ("tid", "thread-id"), ("byte", "byte-id")):
        if digit in layout.selectors and layout.sizes[digit] > 1:
            moved = [y - x for x, y in zip(start, layout.copy_offsets({digit: 1})[0])]
            name = field if field == "selector" else f"{field}-{operand.name[1].lower()}"
            if moved[-1]:
                yield f"    {label} bits: {operand.placement.slot_bits} * {name} higher"
            else:
                yield f"    {label} lane: {moved[-2]} * {name} higher"


def _ptx_words(formula: str) -> str:
    return formula.replace("GPR_num", "register").replace("GPR_bits", "bit")


def _provenance(inst: Instruction) -> Iterator[str]:
    doubtful = [name for name in inst.register_operands if inst.provenance_of(name) in DOUBTFUL]
    if doubtful or inst.notes:
        yield "Provenance:"
        yield from (f"    Layout of {name}: {inst.provenance_of(name)}" for name in doubtful)
        yield from (f"    Note: {note}" for note in inst.notes)


PAGE = Page(text, own, statement)
