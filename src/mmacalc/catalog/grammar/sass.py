"""Which SASS opcodes a PTX instruction becomes on each target, as rules.

A row is (words, {targets: opcodes}); the first row whose words the instruction all has decides. Words are
qualifiers of the name, the formats of operands (A:f16, D:f32) and the kinds of A: int8, int4, fp8 (e4m3, e5m2).
Targets are numbers of the sm: "75-89", "90+" (the letter after the number makes no difference). Opcodes begin with

    ~   the target has no such opcode: others, and further instructions around them, do its work
    =   several opcodes of the same kind do it, since the PTX shape is larger than the hardware's
    -   no tensor-core opcode at all

and have in braces: {shape} 16816, {half} the same with half the k, {mnk} 16x8x16, {D} {A} {B} {C} the formats,
{A8} {B8} the 8-bit types of the same sign, {SP} .SP when sparse, {SAT}, {RND}, {OP}, {N} the number of matrices.

Sources: ptxas 13.0.88 for every instruction and target, read with nvdisasm 13.1.80, and ptxas 13.5.37 (the
same); mma of sm_70 by ptxas and nvdisasm 12.4.99, the rest of it is what Turing's compiler does for the same
instruction.
"""

from __future__ import annotations

from functools import cache, lru_cache

from ...base.checks import whole
from ...base.errors import Error, abbreviated, did_you_mean, plural
from ...base.records import Cache
from . import expand
from .ptx import NEWEST, TYPES, key, number_of, shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...model import Instruction
    from .. import Entry
    from .ptx import Entry as PtxEntry

STEPS = "HMMA.884.{D}.{C}.STEP0 + HMMA.884.{D}.{C}.STEP1"
UNPACK = "xMOVM.U4TO8.M832 + "
BITS = {"75-89": "BMMA.{shape}.{OP}.POPC"}

ROWS = (
    ("wmma mma A:f16 D:f16 C:f16", {"75": "=4xHMMA.1688.F16", "80+": "=2xHMMA.16816.F16"}),
    ("wmma mma A:f16", {"75": "=4xHMMA.1688.F32", "80+": "=2xHMMA.16816.F32"}),
    ("wmma mma A:bf16", {"80+": "=2xHMMA.16816.F32.BF16"}),
    ("wmma mma A:tf32", {"80+": "=4xHMMA.1684.F32.TF32"}),
    ("wmma mma m8n8k4 A:f64", {"80-89": "DMMA.884{RND}", "90+": "DMMA.8x8x4{RND}"}),
    ("wmma mma int8", {"75": "=4xIMMA.8816.{A}.{B}{SAT}", "80+": "=2xIMMA.16816.{A}.{B}{SAT}"}),
    ("wmma mma int4", {"75-89": "IMMA.8832.{A}.{B}{SAT}", "90": "~2xIMMA.8816.{A8}.{B8}", "100+": "~2xIMMA.16816.{A8}.{B8}"}),
    ("wmma mma and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("wmma mma xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m8n8k4 A:f16 D:f16", {"70-75": STEPS, "80+": "-"}),
    ("mma m8n8k4 A:f16", {"70-75": STEPS + " + HMMA.884.{D}.{C}.STEP2 + HMMA.884.{D}.{C}.STEP3", "80+": "-"}),
    ("mma A:f16", {"75+": "HMMA{SP}.{shape}.{D}"}),
    ("mma A:bf16", {"80+": "HMMA{SP}.{shape}.{D}.BF16"}),
    ("mma A:tf32", {"80+": "HMMA{SP}.{shape}.{D}.TF32"}),
    ("mma m8n8k4 A:f64", {"80-89": "DMMA.884{RND}", "90+": "DMMA.8x8x4{RND}"}),
    ("mma m16n8k4 A:f64", {"90": "DMMA.{mnk}{RND}", "100+": "=2xDMMA.8x8x4{RND}"}),
    ("mma m16n8k8 A:f64", {"90": "DMMA.{mnk}{RND}", "100+": "=4xDMMA.8x8x4{RND}"}),
    ("mma m16n8k16 A:f64", {"90": "DMMA.{mnk}{RND}", "100+": "=8xDMMA.8x8x4{RND}"}),
    ("mma m8n8k16 int8", {"75-90": "IMMA.8816.{A}.{B}{SAT}", "100+": "IMMA.16816.{A}.{B}{SAT}"}),
    ("mma int8", {"80+": "IMMA{SP}.{shape}.{A}.{B}{SAT}"}),
    ("mma m8n8k32 int4", {"75-89": "IMMA.8832.{A}.{B}{SAT}", "90": "~2xIMMA.8816.{A8}.{B8}", "100+": "~2xIMMA.16816.{A8}.{B8}"}),
    ("mma int4", {"80-89": "IMMA{SP}.{shape}.{A}.{B}{SAT}", "90+": "~2xIMMA{SP}.{half}.{A8}.{B8}"}),
    ("mma m8n8k128 and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k128 and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~12{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k256 and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~24{UNPACK}8xIMMA.16832.U8.U8"}),
    ("mma m8n8k128 xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k128 xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~12{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k256 xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~24{UNPACK}8xIMMA.16832.U8.U8"}),
    ("mma scale_vec::4x ue4m3", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.UE4M3.4X"}),
    ("mma scale_vec::4x ue8m0", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8.4X"}),
    ("mma kind::mxf4nvf4", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8"}),
    ("mma kind::mxf4", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8"}),
    ("mma kind::mxf8f6f4", {"120+": "QMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8"}),
    ("mma kind::f8f6f4", {"100-110": "~2xHMMA{SP}.{half}.{D}", "120+": "QMMA{SP}.{shape}.{D}.{A}.{B}"}),
    ("mma fp8", {"89": "QMMA{SP}.{shape}.{D}.{A}.{B}", "90-110": "~2xHMMA{SP}.{half}.{D}", "120+": "QMMA{SP}.{shape}.{D}.{A}.{B}"}),
    ("wgmma A:f16", {"90": "HGMMA{SP}.{mnk}.{D}"}),
    ("wgmma A:bf16", {"90": "HGMMA{SP}.{mnk}.{D}.BF16"}),
    ("wgmma A:tf32", {"90": "HGMMA{SP}.{mnk}.{D}.TF32"}),
    ("wgmma fp8", {"90": "QGMMA{SP}.{mnk}.{D}.{A}.{B}"}),
    ("wgmma int8", {"90": "IGMMA{SP}.{mnk}.{A}.{B}{SAT}"}),
    ("wgmma and", {"90": "BGMMA.{mnk}.AND.POPC"}),
    ("ldmatrix m8n8 trans", {"75+": "LDSM.16.MT88{N}"}),
    ("ldmatrix m8n8", {"75+": "LDSM.16.M88{N}"}),
    ("ldmatrix m16n16 b8", {"100+": "LDSM.8.MT1616{N}"}),
    ("ldmatrix m16n16 b6x16_p32", {"100+": "LDSM.U6x16P32TO8.MT1616{N}"}),
    ("ldmatrix m16n16 b4x16_p64", {"100+": "LDSM.U4x16P64TO8.MT1616{N}"}),
    ("ldmatrix b6x16_p32", {"100+": "LDSM.U6x16P32TO8.M816{N}"}),
    ("ldmatrix b4x16_p64", {"100+": "LDSM.U4x16P64TO8.M816{N}"}),
    ("stmatrix m8n8 trans", {"90+": "STSM.16.MT88{N}"}),
    ("stmatrix m8n8", {"90+": "STSM.16.M88{N}"}),
    ("stmatrix m16n8", {"100+": "STSM.8.MT168{N}"}),
    ("movmatrix", {"75+": "MOVM.16.MT88"}),
)

# What opcodes do that stand in emulations only, by their names, since NVIDIA documents none of them.
PARTS = {"MOVM.U4TO8": "; by its name it widens unsigned 4-bit elements to 8 bits"}

KINDS = {"i8": "int8", "u8": "int8", "i4": "int4", "u4": "int4", "e4m3": "fp8", "e5m2": "fp8"}
# mma.sp without ::ordered_metadata: from sm_100 on these types need tens of instructions to put it in order first.
# Of bf16 and tf32 the code is the same with and without it (ptxas 13.0.88).
REORDERED = ("f16", "i8", "u8")
STATUS = {"~": "emulated", "=": "native, several", "-": "emulated"}


def sass_of(instruction: Instruction, target: str) -> tuple[str, str]:
    """The SASS opcodes of an instruction on a target, and whether it is "native", "native, several" or "emulated".

    Two empty texts where it is not known: wmma loads and stores become what their layout needs, and ptxas was not
    asked about targets after `NEWEST`.

    >>> import mmacalc
    >>> sass_of(mmacalc.instruction("sm_90a", "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32"), "sm_90a")
    ('2xIMMA.8816.S8.S8', 'emulated')
    """
    kind = KINDS.get(instruction.formats.get("A", ""), "")
    formats = {f"{operand}:{name}" for operand, name in instruction.formats.items()}
    words = {*instruction.name.lower().split("."), kind, *formats}
    number = number_of(target)
    for row, targets in ROWS if number <= NEWEST else ():
        if words.issuperset(row.split()):
            text = next((text for which, text in targets.items() if _covers(which, number)), "")
            status = STATUS.get(text[:1], "native") if text else ""
            unordered = instruction.sparse and "ordered" not in instruction.features and row.startswith("mma")
            if status == "native" and unordered and number >= 100 and instruction.formats["A"] in REORDERED:
                status = "native, after instructions that put the metadata in order"
            return _filled(text.lstrip("~=-"), instruction) or ("no tensor-core opcode" if text else ""), status
    return "", ""


def _covers(which: str, number: int) -> bool:
    first, _, last = which.rstrip("+").partition("-")
    least, most = whole(first, "a target"), whole(last or first, "a target")
    return least <= number and (which.endswith("+") or number <= most)


def _filled(text: str, inst: Instruction) -> str:
    names = {operand: name.upper().replace("I", "S") for operand, name in inst.formats.items()}
    rounding = (inst.rounding or "rn")
    return text.format(
        shape=f"{inst.m}{inst.n}{inst.k}",
        half=f"{inst.m}{inst.n}{inst.k // 2}",
        mnk=f"{inst.m}x{inst.n}x{inst.k}",
        A8=names.get("A", "").replace("4", "8"),
        B8=names.get("B", "").replace("4", "8"),
        SP=".SP" if inst.sparse else "",
        SAT=".SAT" if "satfinite" in inst.features else "",
        RND="" if rounding == "rn" else f".{rounding.upper()}",
        OP=inst.bit_operation.upper(),
        N=f".{inst.blocks}" if inst.blocks > 1 else "",
        **{operand: names.get(operand, "") for operand in "ABCD"},
    )


# --- from SASS back to PTX ---

TENSOR_MEMORY = ("UTC", "LDTM", "STTM")
"""How the opcodes of tcgen05 begin, whose names are in `tcgen05`."""


def opcodes(text: str) -> tuple[str, ...]:
    """The opcodes of a text that `becomes` gives, without their numbers.

    >>> opcodes("8xMOVM.U4TO8.M832 + 4xIMMA.16832.U8.U8")
    ('MOVM.U4TO8.M832', 'IMMA.16832.U8.U8')
    """
    names = [part.lstrip("0123456789").removeprefix("x") for part in text.lstrip("~=-").split(" + ")]
    return tuple([name for name in names if name != name.lower()])  # "no tensor-core opcode" is none


@cache
def first_words() -> dict[str, set[str]]:
    """Of each opcode's first word the first words of the PTX instructions that become it."""
    found: dict[str, set[str]] = {}
    for words, targets in ROWS:
        for text in targets.values():
            for opcode in opcodes(text):
                found.setdefault(opcode.partition(".")[0].partition("{")[0], set()).add(words.split()[0])
    return found


def is_opcode(name: str) -> bool:
    """Whether a name begins as the SASS opcode of a matrix instruction does.

    >>> is_opcode("HMMA.16816.F32"), is_opcode("hgmma"), is_opcode("UTCHMMA.2CTA"), is_opcode("mma.sync")
    (True, True, True, False)
    """
    first = name.strip().upper().partition(".")[0]
    return first.startswith(TENSOR_MEMORY) or first in first_words()


def sources(entry: Entry, name: str, part: bool = False) -> tuple[Instruction, ...]:
    """The PTX instructions of a target that become a SASS opcode of their own kind (emulation is left out).

    Those that become exactly this opcode are first, then those that become one, of them those of the same shape.

    Args:
        entry: of a target. name: the opcode. part: whether further suffixes may follow the name.
    """
    return tuple([inst for _, inst in _ranked(entry, name, part)])


def ptx_sources(entry: Entry, name: str) -> list[Instruction]:
    """Those of `sources` that become one such opcode each; all of them where none does."""
    ranked = _ranked(entry, name)
    return [inst for (_, several, _), inst in ranked if not several] or [inst for _, inst in ranked]


def _ranked(entry: Entry, name: str, part: bool = False) -> list[tuple[tuple[bool, bool, bool], Instruction]]:
    """The instructions of `sources`, each after whether its opcodes are others, whether they are several, and whether
    its shape is another."""
    given = name.strip().upper().rstrip(".").split(".")
    found: list[tuple[tuple[bool, bool, bool], Instruction]] = []
    for inst, made, status in _made(entry, given[0]):
        if any(opcode == given or (part and opcode[: len(given)] == given) for opcode in made):
            own = {f"{inst.m}{inst.n}{inst.k}", f"{inst.m}X{inst.n}X{inst.k}"} & set(given) or inst.flops == 0
            found.append(((given not in made, status == "native, several", not own), inst))
    return sorted(found, key=lambda pair: pair[0])


_kept = Cache(256)


def _made(entry: Entry, first: str) -> list[tuple[Instruction, list[list[str]], str]]:
    """The instructions of a target that may become opcodes of that first word, with the opcodes that they do become (cut
    at dots) and the status; without those that are emulated."""
    made: list[tuple[Instruction, list[list[str]], str]] = _kept.get((entry, first), lambda: _find(entry, first))
    return made


def _find(entry: Entry, first: str) -> list[tuple[Instruction, list[list[str]], str]]:
    wanted, found = first_words().get(first, set()), []
    for name in entry.names if wanted else ():
        if name.partition(".")[0] in wanted:
            text, status = sass_of(inst := entry.instruction(name), entry.architecture.name)
            if status.startswith("native"):
                found.append((inst, [opcode.upper().split(".") for opcode in opcodes(text)], status))
    if first.startswith(TENSOR_MEMORY):
        for inst in map(entry.instruction, entry.tensor_memory_names):
            made = [opcode.upper().split(".") for opcode in getattr(inst, "sass", "").split("; ")]
            found.append((inst, made, "native"))
    return found


def emulated_part(entry: Entry, name: str) -> str:
    """What an opcode is that stands only in instructions with which a target does the work of others; "" if it is none.

    >>> import mmacalc
    >>> emulated_part(mmacalc.catalog.entry("sm_120a"), "MOVM.U4TO8.M832").partition(",")[0]
    'a part of what ptxas makes of 8 instructions that sm_120a has no opcode for'
    """
    wanted, target = name.strip().upper().rstrip("."), entry.architecture.name
    found = []
    for known in entry.names if wanted.partition(".")[0] in first_words() else ():
        text, status = sass_of(inst := entry.instruction(known), target)
        if status == "emulated" and wanted in opcodes(text):
            found.append((inst.flops, known, text))
    if not found:
        return ""
    _, example, text = min(found, key=lambda one: ("wmma" in one[1], one[0]))
    what = next((what for start, what in PARTS.items() if wanted.startswith(start)), "")
    count = plural(len(found), "instruction")
    return f"a part of what ptxas makes of {count} that {target} has no opcode for, such as {example} ({text}){what}"


def source(entry: PtxEntry, name: str) -> Instruction:
    """The PTX instruction that a SASS opcode stands for.

    Raises:
        Error: no instruction of the target becomes it, or several with other layouts do.
    """
    if name.strip().upper().startswith(TENSOR_MEMORY):
        raise Error(_tensor_memory(entry, name))
    own = ptx_sources(entry, name)
    shaped = [inst for inst in own if (inst.m, inst.n, inst.k) == (own[0].m, own[0].n, own[0].k)]
    if not own:
        title, near = entry.architecture.title, sources(entry, name.strip().upper().partition(".")[0], part=True)
        known = sorted({opcode for inst in near for opcode in opcodes(sass_of(inst, entry.architecture.name)[0])})
        if part := emulated_part(entry, name):
            raise Error(f"{name} is {part}; ask for the PTX instruction")
        longer = [opcode for opcode in known if f"{opcode}.".startswith(f"{name.strip().upper()}.")]
        if longer:
            raise Error(f"{name} is the beginning of {len(longer)} SASS opcodes of {title}, such as {longer[0]}")
        hint = did_you_mean(name.strip(), [opcode.lower() for opcode in known], shown={o.lower(): o for o in known})
        raise Error(f"no instruction of {title} becomes the SASS opcode {name}.{hint}")
    alike = [inst for inst in shaped if "wmma" not in inst.features]
    if any(inst.layouts != alike[0].layouts for inst in alike):
        names = " or ".join([inst.name for inst in alike])
        raise Error(f"{name} is a part of several PTX instructions with layouts of their own; give {names}")
    return shaped[0]


def _tensor_memory(entry: PtxEntry, name: str) -> str:
    """Which tcgen05 instructions become an opcode, as a message: their types are in no opcode."""
    wanted = name.strip().upper()
    names = [known for known in entry.tensor_memory_names
             if wanted in (getattr(entry.instruction(known), "sass", "") or "").upper().split("; ")]  # fmt: skip
    if not names:
        since = "" if entry.tensor_memory_names else "; tcgen05 begins with sm_100a"
        return f"no instruction of {entry.architecture.title} that mmacalc lists becomes the SASS opcode {name}{since}"
    return f"{name} is in several tcgen05 instructions, whose types are in idesc[URx]; give one of {abbreviated(names)}"


# --- What is wrong with a name of PTX or an opcode of SASS that no target has, and what would be right ---
#
# Code of messages only, no data: nothing but the clauses behind an error follows from it.


def near_opcode(name: str) -> str:
    """A clause that names the opcode that a misspelt one is close to.

    >>> near_opcode("HMAM.16816.F32")
    ' Did you mean HMMA?'
    """
    known = {opcode.lower(): opcode for opcode in first_words()}
    return did_you_mean(name.strip().partition(".")[0], known, most=1, shown=known)


def nearest(name: str, templates: tuple[str, ...], target: str) -> str:
    """Clauses on a name that no target has: what it lacks, which types its shape takes, or which names are like it.

    Args:
        name: what was given. templates: the families of names, in braces. target: where the list of names is found.

    >>> nearest("mma.sync.m8n8k4.row.col.f64.f64.f64.f64", ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",), "sm_80")
    ' It lacks .aligned: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64'
    """
    given = tuple(key(name).split("."))
    if given[0] not in {template.split(".")[0] for template in templates}:
        return f"{near_opcode(name)} `-a {target} -L` lists what there is."
    return _advice(given, templates)


@lru_cache(maxsize=256)
def _advice(given: tuple[str, ...], templates: tuple[str, ...]) -> str:
    names = [name for template in templates for name in expand(template)]
    close = _closest(given, names)
    parts = close[0].lower().replace(".shared", "").split(".")
    missing = [part for part in parts if part not in given]
    if 0 < len(missing) == len(parts) - len(given) <= 2:
        return f" It lacks .{' and .'.join(missing)}: {close[0]}"
    shape = next((part for part in given if shape_of(part)), "")
    types = [part for part in given if part in TYPES]
    if types != [part for part in parts if part in TYPES] and shape in parts:
        same = [name.split(".") for name in names if name.split(".")[0] == given[0] and shape in name.split(".")]
        taken = {tuple(p for p in n if p in TYPES): None for n in same if ("sp" in given) == ("sp" in n)}
        near = sorted(taken, key=lambda offer: -sum(x == y for x, y in zip(offer, types)))
        return f" {given[0]} {shape} takes the types {abbreviated(map('.'.join, near))}."
    return f" Did you mean {' or '.join(close)}?"


def _closest(given: tuple[str, ...], names: Iterable[str], most: int = 3) -> list[str]:
    """The instructions whose qualifiers differ least from those given; of equals, those that look most alike."""
    from difflib import SequenceMatcher

    scored: dict[int, list[str]] = {}
    for name in names:
        parts = name.lower().replace(".shared", "").split(".")
        common = sum(min(given.count(part), parts.count(part)) for part in set(given))
        scored.setdefault(len(given) + len(parts) - 2 * common, []).append(name)
    best, text = scored[min(scored)], ".".join(given)
    best = [name for name in best if name.split(".")[0] == given[0]] or best
    likeness = {name: SequenceMatcher(None, key(name), text).ratio() for name in best[:40]}
    return sorted(likeness, key=lambda name: -likeness[name])[:most]
