"""What instructions are to the memory model of an AMD target: how far an access is strong, which caches an instruction
invalidates or writes back, and what makes stores visible to other waves.

Sources: LLVM's User Guide for AMDGPU Backend, "Memory Model", of each target, and the code that clang 22 makes of
fences and of atomic operations of HIP with each scope. A wave *releases* what it stored to the device by waiting until
its stores are done, and where L2 may keep them from others by writing it back before that wait. It *acquires* what
others have released by waiting for the load of the flag and invalidating the caches that it shares with fewer waves
than the device has. On gfx9 the waves of a workgroup share the only cache of vector memory, in order. On gfx11 and
gfx12 they may be on two compute units (WGP mode): a wave that comes from a barrier then invalidates the cache of its
own, and before the barrier stores must be done (LLVM pull requests 160501 and 161638 say why, of CU mode, too).

How far an atomic operation reaches gfx12 says in its scope: in WGP mode SCOPE_CU reaches no other wave and SCOPE_SE the
workgroup; in CU mode, and on gfx1250, SCOPE_CU reaches the workgroup, and gfx1250's SCOPE_SE the cluster (clang 22, of
each scope of `__scoped_atomic_fetch_add`; the scope "cluster" of LLVM pull request 157641). Elsewhere atomic operations
are carried out in L2, and have the same code for a workgroup and for the device.
"""

from __future__ import annotations

from ...base.records import TupleRecord
from ..device.grid_races import CLUSTER, DEVICE, MAYBE, PLAIN, WORKGROUP, Grade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from .memory import Access

__all__ = ["Caches", "MemoryModel", "model_of"]


class Caches(TupleRecord):
    """What an instruction does to caches. far: it invalidates those that the workgroups of a device do not share,
    except the nearest one where there are two; near: the nearest one; back: it writes L2 back."""

    far: bool
    near: bool
    back: bool


class MemoryModel(TupleRecord):
    """The rules of a target.

    scopes: where instructions say how far they reach: "scope" (gfx12), "sc" (gfx942), "glc" (others: of loads only).
    one_cache: the waves of a workgroup share one cache, whose accesses are in order (gfx9). near: waves of a workgroup
    may have caches apart (WGP mode). levels: caches to invalidate are two, the far one first (gfx11). back: L2 must be
    written back for other workgroups. waited: an invalidation is to be waited for before others of the workgroup rely
    on it (gfx12). clusters: SCOPE_SE reaches the workgroups of a cluster (gfx1250). counters: by counter, whether its
    accesses are writes (0) or give a value (1); gfx9's are both.
    """

    scopes: str
    one_cache: bool
    near: bool
    levels: int
    back: bool
    waited: bool
    clusters: bool
    counters: Mapping[str, tuple[int, ...]]

    def grade(self, instruction: DecodedInstruction, access: Access) -> Grade:
        """What an access of global memory is."""
        if access.action == "load":
            return Grade("read", self._reach(instruction, False))
        if access.action == "store":
            return Grade("write", MAYBE if self.scopes == "glc" else self._reach(instruction, False))
        returns = bool(instruction.destinations)
        return Grade("atomic", self._reach(instruction, True), "cmp" in access.action, returns)

    def _reach(self, instruction: DecodedInstruction, atomic: bool) -> int:
        modifiers = instruction.modifiers
        if self.scopes == "scope":
            inner = WORKGROUP if atomic and not self.near else PLAIN  # loads and stores of SCOPE_CU may be plain ones
            outer = CLUSTER if self.clusters else WORKGROUP
            return (inner, outer, DEVICE, DEVICE)[int(modifiers.get("scope", 0))]
        if atomic:  # carried out in L2
            return DEVICE
        if self.scopes == "sc":
            if modifiers.get("glc"):  # of scalar loads alone: past the cache of scalar data
                return DEVICE
            return DEVICE if modifiers.get("sc1") else WORKGROUP if modifiers.get("sc0") else PLAIN
        return DEVICE if modifiers.get("glc") else PLAIN

    def caches(self, instruction: DecodedInstruction) -> Caches | None:
        """What an instruction does to caches; None of one that does nothing to those that matter between workgroups."""
        name, modifiers = instruction.name, instruction.modifiers
        if self.scopes == "scope":
            if name not in ("global_inv", "global_wb", "global_wbinv"):
                return None
            reach = int(modifiers.get("scope", 0))
            far = reach >= SCOPE_DEV
            return Caches(far and name != "global_wb", reach >= SCOPE_SE and name != "global_wb",
                          far and name != "global_inv")  # fmt: skip
        if self.scopes == "sc":
            if not modifiers.get("sc1"):
                return None
            return {"buffer_inv": Caches(True, True, False), "buffer_wbl2": Caches(False, False, True)}.get(name)
        return _NAMED.get(name)

    @property
    def release(self) -> str:
        """What makes what a wave stored visible to other workgroups, in instructions."""
        if self.scopes == "scope":
            return "global_wb scope:SCOPE_DEV and s_wait_storecnt 0x0" if self.back else "s_wait_storecnt 0x0"
        if self.scopes == "sc":
            return "buffer_wbl2 sc1 and s_waitcnt vmcnt(0)"
        return "s_waitcnt vmcnt(0)" if self.one_cache else "s_waitcnt_vscnt null, 0x0"

    @property
    def acquire(self) -> str:
        """What lets plain loads of a wave see what others have released, in instructions."""
        if self.scopes == "scope":
            return "s_wait_loadcnt 0x0 and global_inv scope:SCOPE_DEV"
        if self.scopes == "sc":
            return "s_waitcnt vmcnt(0) and buffer_inv sc1"
        if self.one_cache:
            return "s_waitcnt vmcnt(0) and buffer_wbinvl1_vol"
        return "s_waitcnt vmcnt(0), buffer_gl1_inv and buffer_gl0_inv"

    @property
    def refresh(self) -> str:
        """What lets plain loads of a wave that comes from a barrier see what others of its workgroup have stored."""
        return "buffer_gl0_inv" if self.scopes == "glc" else "global_inv scope:SCOPE_SE"

    @property
    def done(self) -> str:
        """The wait for the stores of a wave."""
        return next(name for name, kinds in self.counters.items() if 0 in kinds)

    @property
    def strong(self) -> str:
        """How an access is marked that other workgroups are to see, or that sees theirs."""
        return {"scope": "scope:SCOPE_DEV", "sc": "sc1", "glc": "glc"}[self.scopes]

    def unsure_of(self, instruction: DecodedInstruction) -> bool:
        """Whether an atomic operation may reach further than its scope says: Triton 3.9 compiles buffer atomics for
        gfx1200 and gfx1201 without a scope (pull request 8778), for gfx1250 with SCOPE_DEV (9744). AMD's CK had them
        without one on gfx12, and wrong results on gfx1250 (ROCm/rocm-libraries, pull request 10312)."""
        return self.scopes == "scope" and not self.clusters and instruction.name.startswith("buffer_atomic")

    def reaching(self, apart: int) -> str:
        """How an access is marked that reaches as far as two agents are apart."""
        near = apart == (CLUSTER if self.clusters else WORKGROUP)
        return "scope:SCOPE_SE" if near and self.scopes == "scope" else self.strong


SCOPE_SE, SCOPE_DEV = 1, 2
"""Scopes of gfx12's instructions, in their numbers."""
_NAMED = {
    "buffer_wbinvl1": Caches(True, True, False), "buffer_wbinvl1_vol": Caches(True, True, False),
    "buffer_gl1_inv": Caches(True, False, False), "buffer_gl0_inv": Caches(False, True, False),
}  # fmt: skip
_GFX9: Mapping[str, tuple[int, ...]] = {"vmcnt": (0, 1)}
_GFX11: Mapping[str, tuple[int, ...]] = {"vmcnt": (1,), "vscnt": (0,)}
_GFX12: Mapping[str, tuple[int, ...]] = {"loadcnt": (1,), "storecnt": (0,)}


def model_of(kernel: Kernel) -> MemoryModel | None:
    """The memory model of a kernel; None of one in TgSplit mode, whose rules are not followed here."""
    target, descriptor = kernel.target, kernel.descriptor
    if target.startswith("gfx9"):
        if descriptor.tg_split:
            return None
        scoped = target in ("gfx942", "gfx950", "gfx9-4-generic")
        return MemoryModel("sc" if scoped else "glc", True, False, 1, scoped, False, False, _GFX9)
    if target.startswith("gfx12"):
        single = target.startswith("gfx125")  # no WGP mode, and L2 is written back (clang 22)
        near = descriptor.wgp_mode and not single
        return MemoryModel("scope", False, near, 1, single, True, single, _GFX12)
    return MemoryModel("glc", False, descriptor.wgp_mode, 2, False, False, False, _GFX11)
