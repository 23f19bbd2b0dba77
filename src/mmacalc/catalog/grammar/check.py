"""check(entry): what a catalog file says is held against everything that it refers to.

A file outside the package is checked when it is read; a test checks the package's own. What a check cannot know is
whether a number is true: that is for the source which the file names.
"""

from __future__ import annotations

from ...arithmetic.tables import TABLES
from ...base.checks import fits, number, shown
from ...base.errors import Error, did_you_mean, printable
from ...base.records import late
from ...formats import CHOICES, FORMATS
from ...model import Architecture, Product
from ...model.architecture import PROVENANCES
from . import CatalogFile
from .ptx import is_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from ...model import Instruction
    from . import Entry

__all__ = ["check", "check_file"]

OPERANDS = ("A", "B", "C", "D", "K", "SA", "SB", "P")
PARTS = (
    *OPERANDS, "cycles", "valu_cycles", "wait_cycles", "narrow_cycles", "arithmetic", "lds_phases", "transpose_loads",
    "opcode",
)  # fmt: skip
"""What `assumed` and `unconfirmed` may name."""
VOCABULARY = {
    "encoding": ("", "VOP3P", "VOP3P-MAI", "Xe-HP DPAS", "Xe-HPC DPAS"),
    "unit": ("unit", "CU", "WGP", "SM", "Xe-core"),
    "wmma_fragments": ("", "volta", "turing"),
    "fma_through": ("", "wgmma", "tcgen05"),
}
KINDS = ("dense", "sparse", "scale")
RATES = ("f16", "bf16", "tf32", "f64", "fp8", "fp6", "fp4", "int8", "int4", "int1")
ACCESSES = {"read": (4, 8, 12, 16), "write": (4, 8, 12, 16), "ldmatrix": (16,)}
PHASE = "tuple[str, int, int, str, str, str]"
OLDEST_LLVM = 10
MOST_NAMES = 1 << 14
"""Instructions of one architecture in a file outside the package; the package's largest has 3,000."""
PRODUCTS = "tuple[tuple[Any, ...], ...]"  # as a file has them


def check_file(file: CatalogFile) -> None:
    """Refuse assignments of wrong types, before anything is made of them.

    Raises:
        Error: says which, and what it should be.
    """
    for name, kind in CatalogFile.__annotations__.items():
        value = getattr(file, name)
        if not fits(value, kind) or (name in ("architectures", "instructions") and not value):
            comma = " (a single one ends in a comma)" if kind.startswith("tuple") else ""
            raise Error(f"{name.upper()} should be {kind}{comma}; got {shown(value)}")
        _check_printable(name.upper(), value)
    kinds = {**Architecture.__annotations__, "products": PRODUCTS}
    for record in file.records:
        where = f"architecture {shown(record.get('name'))}"
        for field, value in record.items():
            if field not in kinds:
                raise Error(f"{where} has no field {shown(field)}.{did_you_mean(str(field), kinds)} Fields: {', '.join(kinds)}")
            if not fits(value, kinds[field]):
                raise Error(f"{where}: {field} should be {kinds[field]}; got {shown(value)}")
        if not record.get("name") or record["name"] != record["name"].lower().strip():
            raise Error(f"{where}: the name is lower case, such as cdna3")
    names = [record["name"] for record in file.records]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Error(f"architecture '{twice[0]}' is described twice")


def _check_printable(where: str, value: Any) -> None:
    """Refuse control characters in any text of a file: what it says is printed on terminals."""
    if isinstance(value, str):
        if not value.isprintable():
            raise Error(f"{where} has a text with control characters: '{printable(value)}'")
    elif hasattr(value, "items"):
        for name, held in value.items():
            _check_printable(where, name)
            _check_printable(where, held)
    elif isinstance(value, tuple):
        for held in value:
            _check_printable(where, held)


def check(entry: Entry, file: CatalogFile, taken: Mapping[str, str]) -> None:
    """Refuse an entry that contradicts itself, or that refers to what does not exist.

    Args:
        entry: as it was made. file: whose it is. taken: the architectures of the names that others have, in the one
            spelling of `mmacalc.catalog.normalised`.

    Raises:
        Error: says which fact, and what would be right.
    """
    arch = entry.architecture
    where = f"architecture '{arch.name}'"
    _check_names(where, arch, taken)
    _check_references(where, arch, taken)
    for problem in (*_record_problems(arch), *_tcgen05_problems(arch.tcgen05), *_phase_problems(arch), *_product_problems(arch)):
        raise Error(f"{where}: {problem}")
    _check_loads(where, entry)
    _check_tables(where, entry, file)
    _check_instructions(where, entry)


def _known(where: str, what: str, name: Any, names: Collection[str]) -> None:
    if name not in names:
        listed = f" Known: {', '.join(filter(None, names))}" if len(names) <= 40 else ""
        raise Error(f"{where}: {what} names {shown(name)}, which does not exist.{did_you_mean(str(name), names)}{listed}")


def _check_names(where: str, arch: Architecture, taken: Mapping[str, str]) -> None:
    from .. import normalised

    for name in (arch.name, *arch.aliases):
        if not normalised(name):
            raise Error(f"{where}: {shown(name)} has no letter or digit, so nothing can ask for it")
        if normalised(name) in taken:
            owner = taken[normalised(name)]
            raise Error(f"{where}: the name '{name}' already belongs to {owner}; a file outside the package takes no names")
    if not arch.title.strip():
        raise Error(f"{where}: the title is empty")


def _check_references(where: str, arch: Architecture, taken: Mapping[str, str]) -> None:
    """The names of tables, generations and words that fields have."""
    for field, words in VOCABULARY.items():
        _known(where, field, getattr(arch, field), words)
    assembly = late("dpas_assembly" if arch.family.grammar == "dpas" else "assembly")
    hazards = late("hazards")
    named = [("assembly", arch.assembly, assembly), ("hazards", arch.hazards, hazards)]
    named += [("assembly_of", name, assembly) for name in arch.assembly_of.values()]
    named += [("hazards_of", name, hazards) for name in arch.hazards_of.values()]
    named += [("builtins", arch.builtins, late("builtins")), ("arithmetic", arch.arithmetic, TABLES)]
    for field, name, names in named:
        if name:
            _known(where, field, name, names)
    others = {*taken.values(), arch.name}
    for name, _ in arch.also_assembled.values():
        _known(where, "also_assembled", name, others)
    for field in ("assumed", "unconfirmed"):
        for part in getattr(arch, field):
            _known(where, field, part, PARTS)
    for kind, formats in arch.layouts_on_hardware.items():
        _known(where, "layouts_on_hardware", kind, KINDS)
        for name in formats:
            _known(where, "layouts_on_hardware", name, (*FORMATS, *CHOICES))
    for name in arch.format_names.values():
        _known(where, "format_names", name, FORMATS)
    for name in arch.format_fields:
        _known(where, "format_fields", name, OPERANDS)


def _record_problems(arch: Architecture) -> Iterator[str]:
    waves, alignment = arch.waves, arch.register_alignment
    if len({*waves}) < len(waves) or any(wave & (wave - 1) or wave > 128 for wave in waves):
        yield f"waves are different powers of two, at most 128, the default first; got {waves}"
    if alignment is not None and (alignment < 1 or alignment & (alignment - 1) or alignment > 64):
        yield f"register_alignment is a power of two of bytes, at most 64; got {alignment}"
    if not 0 <= arch.lds_bytes <= 1 << 20:
        yield f"lds_bytes is 0 to {1 << 20}; got {arch.lds_bytes}"
    for target, version in arch.since_llvm.items():
        if target not in (*arch.targets, *arch.aliases) or version < OLDEST_LLVM:
            yield f"since_llvm has a version of at least {OLDEST_LLVM} for each of its targets; got {target}: {version}"
    for version in (*arch.assembly_of, *arch.also_assembled):
        if version < OLDEST_LLVM:
            yield f"assembly_of and also_assembled have versions of LLVM, at least {OLDEST_LLVM}; got {version}"
    for field, values in arch.scale_fields.items():
        if values < 1 or values & (values - 1):
            yield f"scale_fields has the number of values of each field, a power of two; {field} has {values}"
    if bad := [name for name in arch.rocwmma if name not in (*arch.targets, *arch.aliases)]:
        yield f"rocwmma names '{bad[0]}', which is not one of its targets"
    if arch.ptx and not is_version(arch.ptx):
        yield f"ptx is a version such as 9.4; got '{arch.ptx}'"
    yield from _rate_problems(arch.fma_per_clock)


def _tcgen05_problems(has: Mapping[str, Any]) -> Iterator[str]:
    if not has:
        return
    from .tcgen05 import FEATURES, KEYS, KINDS

    vocabulary = (
        ("tcgen05", has, KEYS), ("kinds of tcgen05", has.get("kinds", ()), KINDS),
        ("features of tcgen05", has.get("features", ()), FEATURES),
        ("depths of tcgen05", has.get("depths", {}), has.get("kinds", ())),
    )  # fmt: skip
    for what, given, known in vocabulary:
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            yield f"{what} should be a tuple of names; got {shown(given)}"
            return
        for word in given:
            if word not in known:
                hint = did_you_mean(str(word), known)
                yield f"{what} names {shown(word)}, which does not exist.{hint} Known: {', '.join(known)}"
    if not has.get("kinds"):
        yield "tcgen05 has no kinds"
    depths = has.get("depths", {})
    if not fits(depths, "Mapping[str, tuple[int, ...]]") or any(k < 1 or k % 16 for ks in depths.values() for k in ks):
        yield f"depths of tcgen05 are the further K of a kind, multiples of 16; got {shown(depths)}"
    if has.get("block16", "") not in ("", ".4X", ".BLOCK16"):
        yield f"block16 of tcgen05 is a suffix of SASS opcodes, .4X or .BLOCK16; got {shown(has['block16'])}"


def _rate_problems(rates: Mapping[str, int | None]) -> Iterator[str]:
    for name, rate in rates.items():
        kind, _, which = name.partition(".")
        k = which[1:] if which[:1] == "k" else ""
        if kind not in RATES or not (which in ("", "f32", "f16") or k.isdecimal()):
            yield f"fma_per_clock has rates of {', '.join(RATES)}, or such as f16.f32 and fp4.k96; got '{name}'"
        if rate is not None and rate < 1:
            yield f"fma_per_clock of {name} is a positive number; got {rate}"


def _phase_problems(arch: Architecture) -> Iterator[str]:
    for row in arch.lds_phases:
        more = row[-1] if row and hasattr(row[-1], "keys") else {}
        fields = row[:-1] if more else row
        if not fits(fields, PHASE) or not fits(more, "Mapping[str, int | bool]") or {*more} - {"merges", "ports"}:
            yield f"a line of lds_phases is (access, bytes, banks, lanes, provenance, source[, {{merges, ports}}]); got {row}"
            return
        access, width, banks, lanes, provenance, _ = fields
        if width not in ACCESSES.get(access, ()):
            yield f"lds_phases: {access} of {width} bytes; accesses are {', '.join(ACCESSES)} of 4, 8, 12 or 16"
        if banks < 1 or banks & (banks - 1) or banks > 1024:
            yield f"lds_phases: the number of banks is a power of two; got {banks}"
        if provenance not in PROVENANCES:
            yield f"lds_phases: provenance '{provenance}' is not one of: {', '.join(PROVENANCES)}"
        numbers = lanes.replace(",", " ").replace("-", " ").split()
        if not numbers or any(number(word, max(arch.waves) - 1) is None for word in numbers):
            yield f"lds_phases: lanes are such as '0-3 20-23, 4-7 16-19', below {max(arch.waves)}; got '{lanes}'"


def _product_problems(arch: Architecture) -> Iterator[str]:
    for product in arch.products:
        for field, kind in Product.__annotations__.items():
            if not fits(getattr(product, field), kind):
                yield f"product {product.name}: {field} should be {kind}; got {shown(getattr(product, field))}"
        if product.target and product.target not in (*arch.targets, *arch.aliases):
            yield f"product {product.name}: its target is one of {', '.join(arch.targets)}; got '{product.target}'"
        yield from _rate_problems(product.fma_per_clock)


def _check_loads(where: str, entry: Entry) -> None:
    load_type = late("transpose_load")
    for line in entry.transpose_loads:
        more = dict(line[-1]) if line and hasattr(line[-1], "keys") else {}
        on = more.pop("on", ())
        here = f"{where}: a line of TRANSPOSE_LOADS"
        try:
            load = load_type(entry.architecture, *(line[:-1] if line and hasattr(line[-1], "keys") else line), **more)
        except (Error, TypeError):
            raise Error(f"{here} is ({', '.join(load_type._fields[1:7])}[, {{...}}]); got {line}") from None
        for field, kind in load_type.__annotations__.items():
            if field != "architecture" and not fits(getattr(load, field), kind):
                raise Error(f"{here}: {field} should be {kind}; got {shown(getattr(load, field))}")
        if not fits(on, "tuple[str, ...]") or load.bits not in (4, 6, 8, 16) or not 1 <= load.registers <= 8:
            raise Error(f"{here}: elements have 4, 6, 8 or 16 bits and fill 1 to 8 registers; got {line}")
        for word in (load.received_by, load.fetched_by):
            _known(here, "provenance", word, PROVENANCES)


def _check_tables(where: str, entry: Entry, file: CatalogFile) -> None:
    for name, lanes in entry.vector_instructions.items():
        if lanes < 1 or lanes & (lanes - 1):
            raise Error(f"{where}: VECTOR_INSTRUCTIONS has lanes as a power of two; {name} has {lanes}")
    names = {str(line[0]) for line in file.instructions if line}
    for alias, meant in file.aliases.items():
        _known(f"{where}, ALIASES", f"'{alias}'", meant, names)
        if alias in names or alias != alias.lower():
            raise Error(f"{where}: the alias '{alias}' is lower case and not the name of a line")
    every = {str(record["name"]) for record in file.records}
    for line in (*file.instructions, *file.transpose_loads):
        more: Mapping[str, Any] = line[-1] if line and hasattr(line[-1], "keys") else {}
        for name in more.get("on", ()):
            _known(f"{where}, line of {line[0]}", "on", name, every)


# --- the instructions -------------------------------------------------------------------------------------------------


def _check_instructions(where: str, entry: Entry) -> None:
    entry.check_lines()
    names = entry.names
    if not names:
        raise Error(f"{where} has no instruction: no line of INSTRUCTIONS is for it")
    for name in names:
        here = f"catalog line of {name} ({entry.architecture.name})"
        try:
            inst = entry.instruction(name)
            for problem in _instruction_problems(inst):
                raise Error(f"{here}: {problem}")
            _place_operands(inst)
        except Error as problem:
            raise problem if name in str(problem) else Error(f"{here}: {problem}") from None
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError):
            family = entry.architecture.family.name
            raise Error(f"{here}: its shape or formats do not fit the layout family '{family}'") from None
    _check_tensor_memory(where, entry)


def _check_tensor_memory(where: str, entry: Entry) -> None:
    """Refuse names of tcgen05 that the target cannot have, and operands without a place."""
    if not entry.architecture.tcgen05:
        return
    if not entry.tensor_memory_names:
        raise Error(f"{where} has tcgen05, but no name of TENSOR_MEMORY is one that it takes")
    for name in entry.tensor_memory_names:
        inst = entry.instruction(name)
        if not inst.formats:
            continue  # what moves matrices, or has types that are not published
        for operand in inst.drawn_operands:
            if operand != "K":  # whose place no source says for some shapes
                inst.operand(operand, m=inst.m, n=inst.n)


def _instruction_problems(inst: Instruction) -> Iterator[str]:
    fields: dict[str, str] = {}
    for base in reversed(type(inst).__mro__):
        fields |= {name: kind for name, kind in vars(base).get("__annotations__", {}).items() if name in inst._fields}
    for field, kind in fields.items():
        if not fits(getattr(inst, field), kind):
            yield f"{field} should be {kind}; got {shown(getattr(inst, field))}"
    if len({*inst.features}) < len(inst.features):
        yield f"a feature is named twice: {' '.join(inst.features)}"
    if inst.sparse and "blgp" in inst.features:
        yield "sparse instructions have no blgp"
    if inst.prefix_opcode is not None and not inst.scaled:
        yield "prefix_opcode goes with scales"
    if inst.since_llvm and inst.since_llvm < OLDEST_LLVM:
        yield f"since_llvm is a version of LLVM, at least {OLDEST_LLVM}; got {inst.since_llvm}"
    yield from _operand_problems(inst)
    yield from _cycle_problems(inst)


def _operand_problems(inst: Instruction) -> Iterator[str]:
    for name, choice in inst.formats.items():
        if choice in CHOICES and name not in inst.architecture.format_fields:
            yield f"a field chooses the format of {name}, but format_fields of the architecture does not name the field"
    for name in ("SA", "SB"):
        choice = inst.formats.get(name, "")
        if any(FORMATS[word].bits != 8 for word in CHOICES.get(choice, (choice,)) if choice):
            yield f"scales have 8 bits; got {choice}"
    for part in inst.unconfirmed_parts:
        if part not in PARTS:
            yield f"unconfirmed names {shown(part)}.{did_you_mean(part, PARTS)} Known: {', '.join(PARTS)}"


def _cycle_problems(inst: Instruction) -> Iterator[str]:
    if inst.cycles and inst.architecture.vendor == "amd" and inst.cycles % 4:
        yield f"cycles are a multiple of 4, since an instruction takes whole passes; got {inst.cycles}"
    if inst.narrow_cycles and not inst.choices:
        yield "narrow_cycles goes with a field that chooses formats"
    if inst.wait_cycles is not None:
        wide, narrow = inst.wait_cycles
        if wide < 1 or (narrow is not None and not (0 < narrow[0] <= 64 and 0 < narrow[1] <= wide)):
            yield f"wait_cycles are (cycles, None or (bits, cycles)), all of them positive; got {inst.wait_cycles}"


def _place_operands(inst: Instruction) -> None:
    """Refuse an instruction with an operand that has no place, or whose layout is not that of its shape."""
    whole = {"block": inst.blocks, "i": inst.m, "j": inst.n, "k": inst.k}
    for wave in inst.architecture.waves:
        for name in inst.register_operands:
            operand = inst.operand(name, wave)
            shape = tuple([whole[axis] for axis in operand.axes])
            if "move" not in inst.features and operand.shape != shape:
                raise Error(f"{name} of {inst.name} would be {operand.shape}; its shape is {shape}")
        inst.modifier_limits(wave)
