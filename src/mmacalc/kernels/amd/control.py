"""Instructions that steer a wave: branches, calls, barriers, waits, the mode, the end of the program."""

from __future__ import annotations

import numpy as np

from ...asm.decoded import RegisterOperand
from ...asm.high_registers import MODE_HIGH, MODES, high_bits_of
from ...asm.immediates import hardware_field
from ...base.errors import Error
from ...hazards.memory_counters import waits_of
from ..device.memory import BASE
from .indexing import INDEX_MODE
from .modifiers import modifiers_of
from .named_barriers import NAMED_CONTROL, named_signal, named_wait
from .operands import raw_reader, scalar_row
from .state import (
    DX10_CLAMP,
    EXEC,
    FP16_OVERFLOW,
    GPR_INDEX,
    IEEE,
    SCC,
    VCC,
    VGPR_HIGH,
    VSKIP,
    mode_register,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from .state import Group
    from .target import MachineTarget

    Run = Callable[[Group], None]
    Compile = Callable[[DecodedInstruction, MachineTarget], Run]

__all__ = ["CODE_BASE", "CONTROL", "ENDS_BLOCK", "NOTHING", "control_step", "counts_waited"]

CODE_BASE = BASE
"""The address at which the code object lies."""

GET_REALTIME = 131
"""The message that asks for the time (RDNA3 ISA guide, S_SENDMSG_RTN_B64)."""

SCHEDULING = ("HW_REG_SCHED_MODE", "HW_REG_WAVE_SCHED_MODE")
CLOCKS = ("HW_REG_SHADER_CYCLES", "HW_REG_SHADER_CYCLES_LO")
PLACES = ("HW_REG_HW_ID", "HW_REG_HW_ID1", "HW_REG_HW_ID2", "HW_REG_WAVE_HW_ID1", "HW_REG_WAVE_HW_ID2",
          "HW_REG_XCC_ID")  # fmt: skip
CLUSTER = "HW_REG_IB_STS2"
CLUSTER_FIELDS = ((6, 4), (21, 4))
"""First bit and width of the fields of IB_STS2: whether a workgroup is in a cluster, and which of it it is."""
WORKGROUP_BARRIER, CLUSTER_BARRIER, NAMED_BARRIER = -1, -3, 0
_FLOATS = 0xFF | FP16_OVERFLOW
KNOWN_MODE = {"gfx9": _FLOATS | DX10_CLAMP | IEEE | GPR_INDEX | VSKIP, "gfx11": _FLOATS | DX10_CLAMP | IEEE,
              "gfx12": _FLOATS | 1 << 24 | 1 << 25 | 1 << 27}  # fmt: skip
"""The bits of MODE that the emulator looks at, and those that change no result: on gfx12 bit 24, whether s_prefetch_*
fetch or are s_nop, and bit 27, whether performance is counted (RDNA4 ISA guide, section 3.4.3); others decide about
exceptions. Bit 25 of gfx1250 is the mode in which accesses are issued again (LLVM 22 sets it where a kernel starts; see
`counters`)."""

# Hints, scalar caches and waits for what is not modelled: nothing to do.
NOTHING = frozenset(
    [
        "s_nop",
        "v_nop",
        "s_clause",
        "s_delay_alu",
        "s_setprio",
        "s_setprio_inc_wg",
        "s_sendmsg",
        "s_inst_prefetch",
        "s_wait_alu",
        "s_set_inst_prefetch_distance",
        "s_waitcnt_depctr",
        "s_icache_inv",
        "s_dcache_inv",
        "s_dcache_wb",
        "s_dcache_discard",
        "s_code_end",
        "s_wait_expcnt",
        "s_wait_samplecnt",
        "s_wait_bvhcnt",
        "s_wait_event",
        "s_version",
        "s_ttracedata",
        "s_ttracedata_imm",
        "s_incperflevel",
        "s_decperflevel",
        "s_sethalt",
        "s_waitcnt_expcnt",
        "s_monitor_sleep",
        "ds_nop",
        "s_prefetch_inst",
        "s_prefetch_inst_pc_rel",
        "s_prefetch_data",
        "s_prefetch_data_pc_rel",
        "s_buffer_prefetch_data",
        "flat_prefetch_b8",
        "s_wakeup",
        "s_gl1_inv",
        "s_dcache_inv_vol",
        "s_dcache_wb_vol",
        "s_dcache_discard_x2",
        "global_prefetch_b8",
    ]
)
WAITS = ("s_waitcnt", "s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_asynccnt",
         "s_wait_tensorcnt", "s_wait_xcnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt",
         "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_wait_idle")  # fmt: skip
CACHES = ("buffer_wbl2", "buffer_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv", "buffer_gl1_inv",
          "buffer_invl2", "global_wb", "global_inv", "global_wbinv")  # fmt: skip

_CONDITIONS: dict[str, Callable[[Group], Array]] = {
    "scc0": lambda group: group.s[SCC, group.rows] == 0,
    "scc1": lambda group: group.s[SCC, group.rows] != 0,
    "vccz": lambda group: ~_any(group, VCC),
    "vccnz": lambda group: _any(group, VCC),
    "execz": lambda group: ~_any(group, EXEC),
    "execnz": lambda group: _any(group, EXEC),
}


def _any(group: Group, row: int) -> Array:
    found: Array = (group.s[row : row + group.lanes // 32, group.rows] != 0).any(axis=0)
    return found


def _branch(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    goal = int(instruction.modifiers["target"])

    def run(group: Group) -> None:
        group.registers.pc[group.rows] = goal

    return run


def _conditional(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    condition = _CONDITIONS[instruction.name.removeprefix("s_cbranch_")]
    goal, following = int(instruction.modifiers["target"]), instruction.address + instruction.size

    def run(group: Group) -> None:
        group.registers.pc[group.rows] = np.where(condition(group), goal, following)

    return run


def _end(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    modifiers_of(instruction).get("simm16")  # of the driver

    def run(group: Group) -> None:
        group.batch.waves.ended[group.rows] = True

    return run


def _barrier(signals: bool, waits: bool) -> Callable[[DecodedInstruction, MachineTarget], Run]:
    def compile_(instruction: DecodedInstruction, target: MachineTarget) -> Run:
        number, following = _barrier_number(instruction), instruction.address + instruction.size
        if number == NAMED_BARRIER:
            return (named_wait if waits else named_signal)(instruction, target)
        of_cluster = number == CLUSTER_BARRIER
        if of_cluster and not target.translates:
            raise Error(f"{instruction.name} of the barrier of a cluster (-3): {target.name} has no clusters")

        def run(group: Group) -> None:
            group.registers.pc[group.rows] = following
            if of_cluster:
                group.batch.cluster_barrier(group, instruction, signals, waits)
            else:
                group.batch.barrier(group, instruction, signals, waits)

        return run

    return compile_


def _signal_first(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """S_BARRIER_SIGNAL_ISFIRST: a signal, and SCC of the wave that is the first to signal (RDNA4 ISA guide; of the
    other barriers LLVM, AMDGPU Execution Synchronization)."""
    signal = _barrier(True, False)(instruction, target)
    number = _barrier_number(instruction)
    if number == NAMED_BARRIER:
        return signal

    def of_cluster(group: Group) -> None:
        cluster = group.batch.cluster
        if cluster.size == 1:
            raise Error(
                f"{instruction.name} of the barrier of a cluster (-3) without a cluster: no public text says what SCC "
                "is then (launch: cluster=; run-kernel: --cluster)"
            )
        own = group.batch.waves.workgroup_of[group.numbers()] // cluster.size
        first = cluster.unsignalled(group) & np.append(True, own[1:] != own[:-1])
        signal(group)
        group.s[SCC, group.rows] = first

    if number == CLUSTER_BARRIER:
        return of_cluster

    def run(group: Group) -> None:
        waves, rows = group.batch.waves, group.numbers()
        before = waves.signalled.reshape(len(waves.groups), -1).max(axis=1)
        own = waves.workgroup_of[rows]
        first = (waves.signalled[rows] == before[own]) & np.append(True, own[1:] != own[:-1])
        signal(group)
        group.s[SCC, group.rows] = first

    return run


def _barrier_number(instruction: DecodedInstruction) -> int:
    """The barrier that an instruction names: -1 is that of the workgroup (RDNA4 ISA guide), -3 that of the cluster
    (LLVM 22, s_cluster_barrier); `NAMED_BARRIER` stands for those from 0 up, and one in M0.

    Raises:
        Error: it is that of the trap handler.
    """
    if instruction.name == "s_barrier":
        return WORKGROUP_BARRIER
    named = instruction.sources[0] if instruction.sources else None
    number = int(instruction.modifiers["simm16"]) if named is None else getattr(named, "bits", None)
    for known in (WORKGROUP_BARRIER, CLUSTER_BARRIER):
        if not isinstance(named, RegisterOperand) and number in (known & 0xFFFF, known & 0xFFFFFFFF):
            return known
    if isinstance(named, RegisterOperand) or int(number or 0) < 0x8000:
        return NAMED_BARRIER
    raise Error(f"{instruction.name} of a barrier of the trap handler (-2, -4) is not covered: -1, -3 and 0 to 16 are")


def counts_waited(instruction: DecodedInstruction, target: MachineTarget) -> dict[str, int] | None:
    """Of a wait for counters how many accesses of each may be outstanding then; None of another instruction."""
    if instruction.name not in WAITS:
        return None
    return waits_of(instruction.name, int(instruction.modifiers.get("simm16", 0)), target.generation)


def _wait(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    waits = counts_waited(instruction, target) or {}
    return lambda group: group.batch.wait(group, waits)


def _cache(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """Caches are not modelled: what they do to the order of accesses is."""
    return lambda group: group.batch.grid_races.cached(group, instruction)


# --- the program counter ---


def _get_pc(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    row, value = scalar_row(instruction.destinations[0]), CODE_BASE + instruction.address + instruction.size

    def run(group: Group) -> None:
        _write_address(group, row, value)

    return run


def _write_address(group: Group, row: int, value: int) -> None:
    group.s[row, group.rows], group.s[row + 1, group.rows] = value & 0xFFFFFFFF, value >> 32


def _set_pc(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    low, high = raw_reader(instruction.sources[0]), raw_reader(instruction.sources[0], 1)

    def run(group: Group) -> None:
        goal = high(group)[:, 0].astype(np.int64) << 32 | low(group)[:, 0].astype(np.int64)
        group.registers.pc[group.rows] = goal - CODE_BASE

    return run


def _returning(goes: Compile) -> Compile:
    """A jump that keeps the address to return to. The goal is read first: both can be in the same registers."""

    def compile_(instruction: DecodedInstruction, target: MachineTarget) -> Run:
        jump, save = goes(instruction, target), _get_pc(instruction, target)

        def run(group: Group) -> None:
            jump(group)
            save(group)

        return run

    return compile_


# --- the mode and other hardware registers ---


def _set_register(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """MODE, and the mode of scheduling, which decides when instructions issue and not what they compute.

    S_SETREG_IMM32_B32 of gfx1250, no matter which bits of MODE it names, also writes those that choose VGPRs above 255,
    with bits 12 to 19 of its constant (LLVM 22, FeatureSetregVGPRMSBFixup and AMDGPULowerVGPREncoding.cpp).

    Raises:
        Error: another register.
    """
    register, first, bits = hardware_field(instruction)
    read = raw_reader(instruction.sources[-1])
    if register in SCHEDULING:
        return lambda group: None
    if register not in MODES:
        raise Error(f"{instruction.name} of {register} is not covered: only {_listed(MODES, SCHEDULING)} are")
    high = target.high_registers
    known, raised = KNOWN_MODE[target.generation], 0xFF << MODE_HIGH if high else 0
    immediate = raised if instruction.name == "s_setreg_imm32_b32" else 0

    def run(group: Group) -> None:
        value = np.broadcast_to(read(group)[:, 0], (group.count,)).astype(np.int64)
        kept, before = (1 << bits) - 1 << first, mode_register(group.mode.bits, high)
        found = before & ~kept | value << first & kept
        if ((found ^ before) & ~(known | raised)).any():
            raise Error(f"{instruction.name} changes bits of {register} that are not covered: {known:#x} are")
        found = found & ~immediate | value & immediate
        if not high:
            group.set_mode(group.mode.bits & ~0xFFFFFFFF | found)
        else:
            upper = group.mode.bits & ~((1 << VGPR_HIGH + 8) - 1)
            group.set_mode(upper | high_bits_of(found) << VGPR_HIGH | found & ~raised)

    return run


def _get_register(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """MODE as it is; clocks; where a wave runs: on the first unit of every kind, which the report says.

    Bits 6 to 9 of IB_STS2 (gfx1250) are 0 of a workgroup in no cluster, and bits 21 to 24 its number in the cluster
    (LLVM 22, llvm.amdgcn.workgroup.id and cluster.workgroup.flat.id).

    Raises:
        Error: another register, of which AMD documents no value that a launch here could know.
    """
    register, first, bits = hardware_field(instruction)
    row = scalar_row(instruction.destinations[0])
    known = register in (*MODES, *CLOCKS, *PLACES) or (register == CLUSTER and (first, bits) in CLUSTER_FIELDS)
    if not known:
        raise Error(
            f"{instruction.name} of {register}, bits {first} to {first + bits - 1}, is not covered: only "
            f"{_listed(MODES, CLOCKS, PLACES)} and bits 6 to 9 and 21 to 24 of {CLUSTER} are"
        )

    def run(group: Group) -> None:
        value: Any = 0
        if register in MODES:
            value = mode_register(group.mode.bits, target.high_registers)
        elif register in CLOCKS:
            value = group.batch.steps & 0xFFFFF
        elif register == CLUSTER:
            value = group.batch.cluster_state[group.batch.waves.workgroup_of[group.rows]]
        elif register in PLACES:
            group.batch.tally.warnings[f"{instruction.name} of {register} is 0: all waves run on the first unit"] += 1
        group.write_scalar(row, np.full(group.count, value >> first & (1 << bits) - 1, np.uint32))

    return run


def _listed(*names: tuple[str, ...]) -> str:
    return ", ".join(sorted({name for each in names for name in each}))


def _skip(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """S_SETVSKIP: a bit of a number decides whether vector instructions are skipped (CDNA3 ISA guide)."""
    read, which = (raw_reader(source) for source in instruction.sources[:2])

    def run(group: Group) -> None:
        chosen = (read(group) >> (which(group) & np.uint32(31)) & np.uint32(1))[:, 0].astype(np.int64)
        group.set_mode(np.broadcast_to(group.mode.bits & ~VSKIP | chosen * VSKIP, (group.count,)))

    return run


def _mode(first: int) -> Callable[[DecodedInstruction, MachineTarget], Run]:
    def compile_(instruction: DecodedInstruction, target: MachineTarget) -> Run:
        value = int(instruction.modifiers["simm16"]) & 15

        def run(group: Group) -> None:
            group.set_mode(group.mode.bits & ~(15 << first) | value << first)

        return run

    return compile_


def _clock(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """S_MEMTIME and its like: the number of instructions so far."""
    row = scalar_row(instruction.destinations[0])
    return lambda group: _write_address(group, row, group.batch.steps)


def _answer(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """S_SENDMSG_RTN: the answer to the message that asks for the time."""
    message = int(instruction.modifiers.get("ssrc0", 0))
    if message != GET_REALTIME:
        raise Error(
            f"{instruction.name} of the message {message} is not covered: only GET_REALTIME ({GET_REALTIME}) is"
        )
    return _clock(instruction, target)


def _trap(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    number = int(instruction.modifiers["simm16"])

    def run(group: Group) -> None:
        raise Error(f"the kernel came to s_trap {number} at {instruction.address:#x}: it stops itself there")

    return run


_ENDING: dict[str, Compile] = {
    "s_branch": _branch,
    **{f"s_cbranch_{name}": _conditional for name in _CONDITIONS},
    "s_endpgm": _end,
    "s_endpgm_saved": _end,
    "s_barrier": _barrier(True, True),
    "s_barrier_signal": _barrier(True, False),
    "s_barrier_signal_isfirst": _signal_first,
    "s_barrier_wait": _barrier(False, True),
    "s_setpc_b64": _set_pc,
    "s_set_pc_i64": _set_pc,
    "s_swappc_b64": _returning(_set_pc),
    "s_swap_pc_i64": _returning(_set_pc),
    "s_call_b64": _returning(_branch),
    "s_call_i64": _returning(_branch),
    "s_setreg_b32": _set_register,
    "s_trap": _trap,
    "s_setvskip": _skip,
}


def _sleep(instruction: DecodedInstruction, target: MachineTarget) -> Run:
    """A pause, for others to do what the waves wait for: these go on first, however long it is."""
    instruction.modifiers.get("simm16")

    def run(group: Group) -> None:
        group.batch.waves.back[group.rows] = True

    return run


CONTROL: dict[str, Compile] = {
    **_ENDING,
    "s_sleep": _sleep,
    "s_sleep_var": _sleep,
    **dict.fromkeys(WAITS, _wait),
    **dict.fromkeys(CACHES, _cache),
    "s_getpc_b64": _get_pc,
    "s_get_pc_i64": _get_pc,
    "s_setreg_imm32_b32": _set_register,
    "s_getreg_b32": _get_register,
    "s_round_mode": _mode(0),
    "s_denorm_mode": _mode(4),
    "s_memtime": _clock,
    "s_memrealtime": _clock,
    "s_get_shader_cycles_u64": _clock,
    "s_sendmsg_rtn_b64": _answer,
    **INDEX_MODE,
    **NAMED_CONTROL,
}
ENDS_BLOCK = frozenset(_ENDING)


def control_step(instruction: DecodedInstruction, target: MachineTarget) -> Run | None:
    """The function of an instruction that steers; None if it is none."""
    if instruction.name in NOTHING:
        return lambda group: None
    make = CONTROL.get(instruction.name)
    return make(instruction, target) if make else None
