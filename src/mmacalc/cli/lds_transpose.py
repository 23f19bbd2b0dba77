"""The LDS loads that transpose a matrix into an MFMA operand: what each lane receives.

    mmacalc lds-transpose -a gfx950                                    the loads, and the operands that each fills
    mmacalc lds-transpose -a gfx950 -i v_mfma_f32_32x32x16_f16 -A      the loads that fill A, and which k each takes
    mmacalc lds-transpose -a gfx950 -l ds_read_b64_tr_b8               lane by lane, a tile of one load

-A is for an A that LDS holds column by column, -B for a B that it holds row by row.
"""

from __future__ import annotations

from ..catalog import entry, instructions
from ..errors import Error, did_you_mean
from ..loads import LANES, feeding, transpose_loads
from .parser import number_or_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from ..loads import Step, TransposeLoad
    from ..model import Operand
    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The architecture, and the operand or the load."""
    add = parser.add_argument
    add("-a", "--architecture", metavar="NAME", default="cdna4", help="the architecture (default: cdna4)")
    add("-i", "--instruction", metavar="NAME", help="the MFMA instruction")
    add("-A", "--A-matrix", dest="matrix", action="store_const", const="A", help="its A, column by column in LDS")
    add("-B", "--B-matrix", dest="matrix", action="store_const", const="B", help="its B, row by row in LDS")
    add("--cbsz", type=number_or_name, default=0, metavar="#", help="of f8f6f4, the format of A")
    add("--blgp", type=number_or_name, default=0, metavar="#", help="of f8f6f4, the format of B")
    add("-l", "--load", metavar="NAME", help="the load")
    parser.add_common("json")


def run(options: Namespace) -> str:
    """Answer with the loads, with those of an operand, or with the tile of one."""
    loads = transpose_loads(options.architecture)
    if not loads:
        raise Error(f"{entry(options.architecture).architecture.title} has no loads that transpose; cdna4 has four")
    if options.instruction:
        return _operand(options)
    if options.load:
        return _tile(_named(loads, options.load), options.json)
    return _listing(loads, options.json)


def _named(loads: tuple[TransposeLoad, ...], name: str) -> TransposeLoad:
    for load in loads:
        if load.name == name.lower():
            return load
    names = [load.name for load in loads]
    raise Error(f"there is no load '{name}'.{did_you_mean(name, names)} They are {', '.join(names)}")


def _operand(options: Namespace) -> str:
    if not options.matrix:
        raise Error("choose the matrix with -A or -B")
    instruction = entry(options.architecture).instruction(options.instruction)
    given = {name: getattr(options, name) for name in ("cbsz", "blgp") if getattr(options, name)}
    operand = instruction.operand(options.matrix, **given)
    steps = feeding(operand)
    if options.json:
        return _document(
            "lds-transpose", architecture=instruction.arch, instruction=instruction.name, matrix=operand.name,
            modifiers=dict(operand.fields), pattern=operand.pattern, sizes=operand.sizes,
            loads=[_step(step) for step in steps], tile=_about(steps[0].load),
        )  # fmt: skip
    stored = "column by column" if operand.name == "A" else "row by row"
    lines = [
        f"Architecture: {instruction.architecture.title}",
        f"Instruction: {instruction.name.upper()}",
        f"{operand.name} ({operand.format.title}), {stored} in LDS: {len(steps)} loads",
        *(line for step in steps for line in _described(operand, step)),
        f"Layout: {operand.pattern}",
        *_tile_lines(steps[0].load),
    ]
    return "\n".join(lines) + "\n"


def _described(operand: Operand, step: Step) -> list[str]:
    last = step.first_register + step.load.registers - 1
    name = "i" if operand.name == "A" else "j"
    lines = [f"    {step.load.name} fills v[{last}:{step.first_register}]"]
    for lane, first, k in step.groups:
        lines.append(
            f"        lanes {lane}..{lane + LANES - 1}: {name} = {first}..{first + LANES - 1}, "
            f"k = {k}..{k + step.load.elements - 1}"
        )
    return lines


def _step(step: Step) -> dict[str, object]:
    groups = [
        {"first_lane": lane, "first_row_or_column": first, "first_k": k, "last_k": k + step.load.elements - 1}
        for lane, first, k in step.groups
    ]
    return {"load": step.load.name, "first_register": step.first_register, "registers": step.load.registers,
            "groups": groups}  # fmt: skip


def _tile(load: TransposeLoad, as_json: bool) -> str:
    received, fetched = load.received, load.fetched
    if as_json:
        return _document("lds-transpose-tile", architecture=load.architecture.name, **_about(load))
    from ..render import tables

    header = ["lane", f"fetches ({load.fetched_by})", *_slots(load)]
    rows = []
    for lane in range(LANES):
        ((k, first),) = fetched.contents((lane, 0))
        cells = [f"T[{row}][{i}]" for slot in range(load.elements) for row, i in received.contents((lane, slot))]
        rows.append((str(lane), f"T[{k}][{first}..{first + load.elements - 1}]", *cells))
    return (
        f"Architecture: {load.architecture.title}\nLoad: {load.name}\n"
        f"A row of {LANES} lanes transposes a tile T[k][i] of {load.elements} k and {LANES} rows i of A (columns of "
        f"B).\n{tables.write(header, rows)}" + "\n".join(_tile_lines(load)) + "\n"
    )


def _tile_lines(load: TransposeLoad) -> tuple[str, ...]:
    """What a lane of a row receives, and what is at its address, of a tile whose first row i and first k are 0."""
    received, fetched = (
        f"{layout.pattern}, {', '.join(f'{name}={size}' for name, size in layout.trimmed_sizes.items())}"
        for layout in (load.received, load.fetched)
    )
    return (
        f"A lane of a row of {LANES} receives: {received} ({load.received_by})",
        f"At its address lies: {fetched} ({load.fetched_by})",
        f"Open: {load.open}",
    )


def _slots(load: TransposeLoad) -> list[str]:
    names = []
    for slot in range(load.elements):
        register, lsb = divmod(slot * load.bits, 32)
        last = lsb + load.bits - 1
        names.append(
            f"v{register}.[{last}:{lsb}]" if last < 32 else f"v{register}.[31:{lsb}] v{register + 1}.[{last - 32}:0]"
        )
    return names


def _listing(loads: tuple[TransposeLoad, ...], as_json: bool) -> str:
    if as_json:
        return _document(
            "lds-transpose-loads", architecture=loads[0].architecture.name,
            loads=[{**_about(load), "fills": [_fed(operand) for operand in _operands(load)]} for load in loads],
        )  # fmt: skip
    lines = [f"Architecture: {loads[0].architecture.title}"]
    for load in loads:
        lines.append(
            f"{load.name} (opcode {load.opcode:#x}): {load.registers} registers, {load.elements} elements of "
            f"{load.bits} bits in each lane; fills"
        )
        lines += [f"    {_fed(operand)}" for operand in _operands(load)]
        lines.append(f"    Open: {load.open}")
    return "\n".join(lines) + "\n"


def _about(load: TransposeLoad) -> dict[str, object]:
    layouts = {"received": (load.received, load.received_by), "fetched": (load.fetched, load.fetched_by)}
    return {
        "load": load.name, "opcode": load.opcode, "element_bits": load.bits, "registers": load.registers,
        "elements": load.elements, "lanes": LANES,
        "open": load.open,
        **{name: {"pattern": layout.pattern, "sizes": layout.trimmed_sizes, "provenance": provenance}
           for name, (layout, provenance) in layouts.items()},
    }  # fmt: skip


def _operands(load: TransposeLoad) -> list[Operand]:
    """The operands that a load fills, each format that a field can choose once."""
    found = []
    for instruction in instructions(load.architecture.name):
        fields = {operand: field for field, operand in instruction.choices.items()}
        for name in "AB":
            values = instruction.modifier_limits()[fields[name]] if name in fields else (None,)
            for value in values:
                operand = instruction.operand(name, **({} if value is None else {fields[name]: value}))
                try:
                    if feeding(operand)[0].load == load:
                        found.append(operand)
                except Error:
                    continue
    return found


def _fed(operand: Operand) -> str:
    chosen = f", {operand.format.name}" if operand.name in operand.instruction.choices.values() else ""
    count = len(feeding(operand))
    return f"{operand.name} of {operand.instruction.name}{chosen}: {count} load{'s' * (count > 1)}"


def _document(query: str, **content: object) -> str:
    from ..render import json as json_text

    return json_text.document(query, content)
