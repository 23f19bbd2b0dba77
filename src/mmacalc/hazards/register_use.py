"""What one instruction does to vector registers, and its hazard classes.

Matrix instructions come from the catalog: their kind and length follow from formats, shape and cycles. Every other
instruction is read by the general rule of AMD's assembly: the first operand is written and the others are read,
except that stores and comparisons write no vector register; the exceptions are the tables below.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .. import catalog
from ..asm.reader import AMD_MNEMONICS, LAST_REGISTER, MATRIX, Statement, vector_registers
from ..asm.registers import RegisterRange
from ..asm.tokens import integer
from ..errors import Error, did_you_mean
from ..model.modifiers import FORMAT_SYNONYMS
from ..records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..catalog import Entry
    from ..model import Instruction

__all__ = ["RegisterUse", "entry_of", "is_matrix", "register_use", "written_operands"]

# v_mfma_ld_scale_b32 and its like: the first half of a scaled instruction, which only reads the scales.
SCALE_PREFIX = "_ld_scale"
# LLVM's VMEM, FLAT and DS instructions; exports are a kind of their own.
MEMORY = ("buffer_", "tbuffer_", "image_", "global_", "flat_", "scratch_", "ds_", "lds_", "tensor_")
KNOWN = tuple(prefix.strip() for prefix in AMD_MNEMONICS)
# Memory instructions that write no vector register; everything that does not return is among them.
STORES = ("_store", "ds_write", "_to_lds", "_load_lds", "tensor_", "_prefetch", "_wb", "_inv")
# What returns a value although it stores or counts (LDS), and the flags that make an atomic return one.
DS_RETURNS = ("_rtn", "ds_read", "ds_load", "permute", "ds_swizzle", "ds_append", "ds_consume", "ds_ordered", "ds_bvh",
              "_param_load", "_direct_load")  # fmt: skip
RETURNS = ("glc", "sc0")
# VALU instructions whose destination is also read: accumulation, or part of the register is preserved.
TIED = ("fmac", "v_mac_", "_dot2c", "_dot4c", "_dot8c", "v_writelane", "v_cvt_sr_", "_swap_", "v_movrel", "_mixlo_",
        "_mixhi_", "v_permlane16_b", "v_permlanex16_b")  # fmt: skip
# The flags of DPP, which preserves what its masks leave out (LLVM's operand `old`).
DPP = ("quad_perm", "row_", "dpp8")
SWAPS = ("v_swap_b", "v_permlane16_swap", "v_permlane32_swap", "v_swaprel")
# The transcendental unit's instructions: LLVM's SIInstrFlags::TRANS.
TRANS = ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos", "tanh", "prng")
# gfx950's two, for which LLVM has a rule of their own (GCNHazardRecognizer::checkPermlaneHazards).
PERMLANE_SWAPS = ("v_permlane16_swap", "v_permlane32_swap")
# LDSDIR (RDNA3 ISA guide, section 12.2): what they load is written when VALU instructions have done with the register.
LDS_DIRECT = ("lds_direct_load", "lds_param_load", "ds_direct_load", "ds_param_load")
WAIT_VDST = ("wait_vdst", "wait_va_vdst")
# Both wait for the counters of dependencies; bits 12 to 15 are va_vdst.
DEPENDENCY_WAITS = ("s_waitcnt_depctr", "s_wait_alu")
# Scalar instructions whose first operand is read.
EXEC_READ = ("s_cmp", "s_bitcmp", "s_setpc", "s_set_pc", "s_swappc")
_COUNTER = re.compile(r"([a-z_]+)\s*\(([^()]*)\)", re.IGNORECASE)
MOST_NOP = 16  # s_nop 15 gives 16 wait states (CDNA4 ISA guide, S_NOP: SIMM16[3:0])
FMA64 = ("v_fma_f64", "v_fmac_f64")
MFMA = ("v_mfma_", "v_smfmac_")


_REGISTER_LIKE = re.compile(r"[-|]*(?:v|a|acc)[\d\[]", re.IGNORECASE)


class RegisterUse(TupleRecord):
    """One instruction as the hazard rules see it.

    kinds: the classes that rules name; passes: how long a matrix instruction takes, in the unit that the rules of
    its architecture count (passes of 4 cycles; on gfx1250, 8 or 16), else 0. name: the mnemonic, without suffix.
    writes: spans; reads: (role, span) pairs, role one of A, B, C, index, scale, other. execs: writes EXEC.
    valu: issues as a VALU instruction. states: the wait states that it provides: 1; for s_nop N, N + 1; for other words
    (macros), 0.
    """

    kinds: frozenset[str]
    passes: int
    name: str
    writes: tuple[RegisterRange, ...]
    reads: tuple[tuple[str, RegisterRange], ...]
    execs: bool
    valu: bool
    states: int

    @property
    def is_instruction(self) -> bool:
        """Whether it is an instruction, as far as the mnemonic shows."""
        return self.name.startswith(KNOWN)

    @property
    def is_matrix(self) -> bool:
        """Whether it is an MFMA, SMFMAC, WMMA or SWMMAC."""
        return is_matrix(self.name)

    def roles(self, *names: str) -> tuple[RegisterRange, ...]:
        """The spans read in these roles."""
        return tuple(span for role, span in self.reads if role in names)


def entry_of(arch: str) -> Entry:
    """The catalog entry of an AMD architecture with matrix instructions.

    Raises:
        Error: unknown architecture, or one of another vendor.
    """
    entry = catalog.entry(arch)
    entry.architecture.family.require("waits", entry.architecture.title)
    return entry


def is_matrix(name: str) -> bool:
    """Whether a mnemonic is that of an MFMA, SMFMAC, WMMA or SWMMAC."""
    return name.startswith(MATRIX) and SCALE_PREFIX not in name


def register_use(statement: Statement, entry: Entry, strict: bool = False) -> RegisterUse:
    """What a statement does on an architecture.

    Args:
        statement: from `mmacalc.asm.reader`.
        entry: the catalog entry of the architecture.
        strict: refuse mnemonics of no known family instead of reading them by the general rule.

    Raises:
        Error: a matrix instruction that the architecture lacks or with too few operands; when strict also a
            mnemonic of no known family.
    """
    name = _bare(statement.mnemonic)
    if is_matrix(name):
        return _matrix(entry.instruction(name), statement)
    if SCALE_PREFIX in name:
        reads = tuple(("scale", span) for operand in statement.operands for span in vector_registers(operand))
        kinds = frozenset({"MFMA", "XDL"} if name.startswith("v_mfma") else ())
        return RegisterUse(kinds, 0, name, (), reads, False, True, 1)
    if statement.second is not None:
        return _dual(statement, entry)
    if strict and not name.startswith(KNOWN):
        hint = did_you_mean(name, entry.names)
        raise Error(f"unknown AMD instruction '{statement.mnemonic}'.{hint} Mnemonics begin with v_, s_, "
                    "ds_, buffer_, global_, flat_, scratch_, image_ or exp")  # fmt: skip
    if strict:
        _check_operands(statement)
    return _general(name, statement)


def _check_operands(statement: Statement) -> None:
    """Refuse what no assembler reads, and operands that look like vector registers and name none."""
    if not statement.text.isascii():
        raise Error(f"'{statement.text}' has characters that are not ASCII")
    for operand in statement.operands:
        if _REGISTER_LIKE.match(operand) and not vector_registers(operand):
            last = ", ".join(f"{file}{number}" for file, number in LAST_REGISTER.items())
            raise Error(f"'{operand}' in '{statement.text}' is not a vector register; the last are {last}")


@lru_cache(maxsize=16384)
def _bare(mnemonic: str) -> str:
    """The mnemonic without encoding suffix, and without the underscore that macros of AMD's kernels put before it."""
    for suffix in ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"):
        mnemonic = mnemonic.removesuffix(suffix)
    return mnemonic.removeprefix("_")


def _matrix(instruction: Instruction, statement: Statement) -> RegisterUse:
    operands = [vector_registers(operand) for operand in statement.operands]
    if len(operands) < 4 or not operands[0]:
        raise Error(
            f"{instruction.name} takes D, A, B and {'the index' if instruction.sparse else 'C'}, D a vector register "
            f"tuple such as v[0:3]; got '{', '.join(statement.operands)}'"
        )
    # A sparse instruction has the index in the place of C; C is then D.
    roles = ("A", "B", "index" if instruction.sparse else "C", "scale", "scale")
    reads = [(role, span) for role, ranges in zip(roles, operands[1:]) for span in ranges]
    if instruction.sparse:
        reads.append(("C", operands[0][0]))
    kinds, passes = _length(instruction, statement)
    return RegisterUse(kinds, passes, instruction.name, operands[0][:1], tuple(reads), False, True, 1)


def _length(instruction: Instruction, statement: Statement) -> tuple[frozenset[str], int]:
    """The kinds and the length of a matrix instruction."""
    inner = instruction.formats["A"]
    own = (instruction.cycles or 0, instruction.narrow_cycles)
    cycles = _cycles(instruction, statement, *(instruction.wait_cycles or own))
    if not instruction.name.startswith(MFMA):
        if inner in ("f32", "f64"):  # no XDL instruction: it runs as VALU instructions do, without co-execution
            return frozenset({f"WMMA_{inner.upper()}"}), 0
        kind = "SWMMAC" if instruction.sparse else "WMMA"
        return frozenset({kind, f"{kind}_32"} if _cycles(instruction, statement, *own) == 32 else {kind}), cycles
    if inner == "f64":
        return frozenset({"MFMA", "DGEMM", f"DGEMM{instruction.m}"}), cycles // 4
    return frozenset({"MFMA", "SGEMM" if inner == "f32" else "XDL"}), cycles // 4


def _cycles(instruction: Instruction, statement: Statement, cycles: int, narrow: tuple[int, int] | None) -> int:
    """How long an instruction takes with these formats: its own figures, or those by which wait states count."""
    return narrow[1] if narrow and _widest(instruction, statement) <= narrow[0] else cycles


def _widest(instruction: Instruction, statement: Statement) -> int:
    """The bits of the wider of A and B, whose formats fields may choose.

    Raises:
        Error: a field's value chooses no format.
    """
    fields = {
        name: value.lower().removeprefix("matrix_fmt_")
        for name, value in statement.modifiers.items()
        if name in FORMAT_SYNONYMS["A"] + FORMAT_SYNONYMS["B"]
    }
    return max(instruction.format(operand, fields).bits for operand in "AB")


def _dual(statement: Statement, entry: Entry) -> RegisterUse:
    """A VOPD pair is one instruction that does what both halves do."""
    halves = [register_use(half, entry) for half in (statement._replace(second=None), statement.second) if half]
    return halves[0]._replace(
        kinds=frozenset().union(*(half.kinds for half in halves)),
        writes=tuple(written for half in halves for written in half.writes),
        reads=tuple(read for half in halves for read in half.reads),
    )


def _general(name: str, statement: Statement) -> RegisterUse:
    if name.startswith("s_"):
        return RegisterUse(_scalar_kinds(name, statement), 0, name, (), (), False, False, _nop_states(name, statement))
    operands = [vector_registers(operand) for operand in statement.operands]
    kinds = _kinds(name)
    if "LDS_DIRECT" in kinds:
        kinds |= _wait_vdst(statement)
    written, tied = _written(name, statement.modifiers)
    roles = ("", "A", "B", "C") if "DOT" in kinds else ()
    reads: list[tuple[str, RegisterRange]] = []
    for number, registers in enumerate(operands):
        if registers and (number >= written or tied):
            role = roles[number] if 0 < number < len(roles) else "other"
            # The accumulator of a DOT with three operands is its destination.
            reads += [("C" if number == 0 and roles else role, each) for each in registers]
    writes = tuple([registers for operand in operands[:written] for registers in operand])
    execs, states = name.startswith("v_cmpx"), int(name.startswith(KNOWN))
    return RegisterUse(kinds, 0, name, writes, tuple(reads), execs, "VALU" in kinds, states)


def _nop_states(name: str, statement: Statement) -> int:
    if name != "s_nop":
        return 1
    try:
        return integer(statement.operands[0]) % MOST_NOP + 1
    except (IndexError, Error):
        return 1


def _scalar_kinds(name: str, statement: Statement) -> frozenset[str]:
    if name in DEPENDENCY_WAITS and _waits_for_results(statement):
        return frozenset({"VA_VDST"})
    written = statement.operands[0].lower() if statement.operands else ""
    writes_exec = name.endswith("exec_b64") or (written == "exec" and not name.startswith(EXEC_READ))
    return frozenset({"EXEC_64"} if writes_exec else ())


def _waits_for_results(statement: Statement) -> bool:
    """Whether s_waitcnt_depctr waits until va_vdst is 0. A number that is not known is taken to."""
    text = " ".join([*statement.operands, *statement.modifiers])
    counters = _COUNTER.findall(text)
    named = [value for name, value in counters if name.lower().endswith("va_vdst")]
    if counters and not named:
        return False
    try:
        return any(integer(value) == 0 for value in named) if named else not integer(text) & 0xF000
    except Error:
        return True


def _wait_vdst(statement: Statement) -> frozenset[str]:
    """The kinds of an LDS_DIRECT instruction that does not wait for all VALU results; left out, wait_vdst is 0."""
    value = next((statement.modifiers[name] for name in WAIT_VDST if name in statement.modifiers), "0")
    try:
        count = integer(value) & 15
    except Error:
        count = 0
    return frozenset({"WAIT_VDST", f"WAIT_VDST_{count}"} if count else ())


@lru_cache(maxsize=16384)
def _kinds(name: str) -> frozenset[str]:
    if name.startswith(LDS_DIRECT):
        return frozenset({"LDS_DIRECT"})
    if name.startswith(MEMORY):
        return frozenset({"MEM"})
    if name.startswith("exp"):
        return frozenset({"EXP"})
    if not name.startswith("v_"):
        return frozenset()
    kinds = {"VALU"}
    if name.startswith("v_accvgpr_read"):
        kinds.add("ACC_READ")
    elif name.startswith("v_accvgpr_write"):
        kinds.add("ACC_WRITE")
    elif name.startswith(("v_dot", "v_dual_dot")):
        kinds.add("DOT")
    elif name.startswith(FMA64):
        kinds.add("FMA64")
    elif name.startswith(PERMLANE_SWAPS):
        kinds.add("PERMLANE_SWAP")
    elif name.split("_")[1] in TRANS:
        kinds.add("TRANS")
    return frozenset(kinds)


def _written(name: str, flags: Mapping[str, str]) -> tuple[int, bool]:
    """How many of the first operands are written, and whether those are read as well."""
    kind, tied = _destination(name)
    tied = tied or any(flag.startswith(DPP) for flag in flags)
    if kind == "atomic":
        returns = "return" in flags.get("th", "").lower() or any(flag in flags for flag in RETURNS)
        return int(returns), returns and tied
    if kind == "load":
        return (0, False) if "lds" in flags else (1, tied)
    if kind == "one" and "dst_unused" in flags:
        tied = tied or "unused_preserve" in flags["dst_unused"].lower()
    return {"none": 0, "one": 1, "two": 2}[kind], tied


def written_operands(statement: Statement) -> tuple[int, bool]:
    """How many of the first operands a statement writes, by its mnemonic and flags, and whether it reads them, too."""
    name = _bare(statement.mnemonic)
    if is_matrix(name):
        return 1, False
    return (0, False) if SCALE_PREFIX in name else _written(name, statement.modifiers)


@lru_cache(maxsize=16384)
def _destination(name: str) -> tuple[str, bool]:
    """What a mnemonic writes: "none", "one" or "two" operands, or, depending on flags, "atomic" and "load"; and whether
    the destination is also read."""
    if name.startswith(MEMORY):
        if name.startswith(("ds_", "lds_")) and any(word in name for word in DS_RETURNS):
            return "one", False
        if "atomic" in name:
            return "atomic", name.startswith(("buffer_", "tbuffer_", "image_"))
        if name.startswith("ds_") or any(word in name for word in STORES):
            return "none", False
        return "load", "_d16" in name
    if name.startswith(("exp", "v_cmp_", "v_cmpx_")):
        return "none", False
    if name.startswith(SWAPS):
        return "two", True
    return "one", any(word in name for word in TIED)
