"""Clusters of workgroups of gfx1250: where a workgroup is in its cluster, and the barrier of a cluster.

A cluster is launched together; up to 16 workgroups, a multiple of which the grid has along each axis. TTMP9 and TTMP7
have the id of the cluster, TTMP6 the place of the workgroup in it and the cluster's size, IB_STS2 that there is one and
the number of the workgroup (LLVM 22: what it compiles llvm.amdgcn.cluster.* and llvm.amdgcn.workgroup.id to).

Barrier -3 is that of the cluster: one wave of each workgroup signals it, and all waves may wait at it (LLVM 22,
s_cluster_barrier; AITER's f4gemm of hsa/gfx1250).

A load with a mask of workgroups (TENSOR_LOAD_TO_LDS, CLUSTER_LOAD_*) is made by each workgroup of the mask, and the
memory system answers all of them at once: what each receives is what a load without mask gives it. No public text of
AMD says so in one sentence; three public programs of theirs rely on it: the rewriter of code objects for an older
stepping makes plain loads of CLUSTER_LOAD_*, the emulator rocjitsu executes them so, and AITER waits for each
workgroup's own loads alone. Whether a workgroup that the mask names, and that makes no such load, receives anything is
not known: noted.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ...base.errors import Error, plural
from ..device.launch import Dim3, dim3
from .state import M0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...asm.code_objects import Kernel
    from ...asm.decoded import DecodedInstruction
    from ...base.arrays import Array
    from ..device.findings import Reporter
    from ..device.scheduler import Waves
    from .program import Program
    from .state import Group

__all__ = ["CLUSTER_LOADS", "ClusterBarrier", "Multicasts", "cluster_of", "cluster_words", "clustered", "shared_load"]

CLUSTER_LOADS = "cluster_load_"
"""How the loads begin that workgroups of a cluster may share."""
MOST = 16
"""Workgroups of a cluster: the fields of TTMP6 and a descriptor's workgroup_mask have no room for more."""


def cluster_of(kernel: Kernel, given: Any, grid: Dim3) -> Dim3:
    """The size of a cluster in workgroups: as given, or by the kernel's metadata (.cluster_dims), or 1.

    Raises:
        Error: the target has none, it is too large, or the grid is not a multiple of it.
    """
    named = [int(one) for one in kernel.metadata.get(".cluster_dims", ()) or () if int(one) > 0]
    size = dim3("cluster", given if given is not None else tuple(named) or 1)
    count = size.x * size.y * size.z
    if count > 1 and not kernel.target.startswith("gfx125"):
        raise Error(
            f"launch: {kernel.target} has no clusters of workgroups; gfx1250 and gfx1251 have. Leave out cluster="
        )
    if count > MOST:
        raise Error(f"launch: a cluster has at most {MOST} workgroups; got {tuple(size)}, which are {count}")
    if any(whole % part for whole, part in zip(grid, size)):
        raise Error(f"launch: the grid {tuple(grid)} is not a multiple of the cluster {tuple(size)}")
    return size


def clustered(grid: Dim3, cluster: Dim3) -> Iterator[Dim3]:
    """The workgroups of a grid in the order in which clusters are dispatched, x first; those of each x first, too."""
    outer = [range(0, whole, part) for whole, part in zip(grid, cluster)]
    for z, y, x in product(outer[2], outer[1], outer[0]):
        for k, j, i in product(range(cluster.z), range(cluster.y), range(cluster.x)):
            yield Dim3(x + i, y + j, z + k)


def cluster_words(group: Dim3, cluster: Dim3) -> tuple[Dim3, int, int]:
    """Of a workgroup the id of its cluster, TTMP6 and IB_STS2. Bits 6 to 9 of IB_STS2 are not 0 in a cluster; what
    they are is not public."""
    place = [at % part for at, part in zip(group, cluster)]
    last = cluster.x * cluster.y * cluster.z - 1
    flat = place[0] + cluster.x * (place[1] + cluster.y * place[2])
    found = sum(at << 4 * axis | part - 1 << 12 + 4 * axis for axis, (at, part) in enumerate(zip(place, cluster)))
    whole = Dim3(*[at // part for at, part in zip(group, cluster)])
    return whole, found | last << 24, (flat << 21 | 1 << 6) if last else 0


class ClusterBarrier:
    """The barrier of each cluster of a batch, whose workgroups are consecutive. size: of a cluster, in workgroups.

    signalled: how often each workgroup has signalled it; waited: how often each wave has waited at it.
    """

    program: Program
    reporter: Reporter
    size: int
    waves: Waves

    def __init__(self, waves: Waves, program: Program, reporter: Reporter, size: int) -> None:
        self.waves, self.program, self.reporter, self.size = waves, program, reporter, size
        self.signalled: Array = np.zeros(len(waves.groups), np.int64)
        self.waited: Array = np.zeros(len(waves.ended), np.int64)

    def arrive(self, group: Group, instruction: DecodedInstruction, signals: bool, waits: bool) -> None:
        """Waves signal the barrier, or wait at it."""
        rows, waves = group.numbers(), self.waves
        if signals:
            self._signal(group, instruction)
        if waits:
            self.waited[rows] += 1
            waves.waiting[rows] = waves.elsewhere[rows] = True
            waves.place[rows] = instruction.address

    def unsignalled(self, group: Group) -> Array:
        """Which waves are of a cluster whose barrier no wave has signalled since it was passed last."""
        clusters = self.waves.workgroup_of[group.numbers()] // self.size
        found: Array = self.signalled.reshape(-1, self.size).max(axis=1)[clusters] <= self._passed()[clusters]
        return found

    def _signal(self, group: Group, instruction: DecodedInstruction) -> None:
        rows = group.numbers()
        ahead = np.zeros(len(rows), np.bool_)
        for at, which in enumerate(self.waves.workgroup_of[rows].tolist()):
            self.signalled[which] += 1
            ahead[at] = self.signalled[which] > self._passed()[which // self.size] + 1
        if ahead.any() and self.size > 1:
            text = (
                "the barrier of the cluster counts one signal of each workgroup, and this workgroup signals it again "
                "before the others have: it would let the cluster go on too early"
            )
            self.reporter.find("barrier", rows[ahead], instruction, text)

    def _passed(self) -> Array:
        """How often each cluster has come to it: workgroups that have ended do not count."""
        ended = self.waves.ended.reshape(len(self.signalled), -1).all(axis=1)
        table = np.where(ended, self.signalled.max(initial=0), self.signalled).reshape(-1, self.size)
        found: Array = table.min(axis=1)
        return found

    def released(self) -> Array:
        """Let waves go on whose cluster has come to the barrier; gives them."""
        waves = self.waves
        passed = self._passed()[waves.workgroup_of // self.size]
        free = waves.elsewhere & ~waves.named & ~waves.ended & (self.waited <= passed)
        waves.waiting[free] = waves.elsewhere[free] = False
        return np.flatnonzero(free)

    def missing(self, row: int) -> str:
        """Which workgroups of a wave's cluster never signal it, in words."""
        own = int(self.waves.workgroup_of[row]) // self.size * self.size
        signalled = self.signalled[own : own + self.size]
        late = np.flatnonzero(signalled < self.waited[row]) + own
        where = ", ".join(f"({one.x}, {one.y}, {one.z})" for one in (self.waves.groups[int(at)] for at in late[:4]))
        more = f" and {len(late) - 4} more" if len(late) > 4 else ""
        return f"{'workgroup' if len(late) == 1 else 'workgroups'} {where}{more} of its cluster never signal it"


class Multicasts:
    """Notes loads with a mask that names workgroups which do not make the same load. size: of a cluster."""

    reporter: Reporter
    size: int
    waves: Waves

    def __init__(self, waves: Waves, reporter: Reporter, size: int) -> None:
        self.waves, self.reporter, self.size = waves, reporter, size
        self._made: dict[tuple[int, int, object], dict[int, int]] = {}  # by cluster, mask and what is loaded
        self._first: dict[tuple[int, int, object], tuple[int, DecodedInstruction]] = {}

    def made(self, row: int, instruction: DecodedInstruction, mask: int, what: object) -> None:
        """A wave makes a load with a mask.

        Raises:
            Error: the mask names a workgroup that the cluster has not.
        """
        cluster, own = divmod(int(self.waves.workgroup_of[row]), self.size)
        if mask >> self.size:
            raise Error(
                f"a load names the workgroups {mask:#x} of its cluster, which has "
                f"{plural(self.size, 'workgroup')} (launch: cluster=; run-kernel: --cluster)"
            )
        key = cluster, mask, what
        counts = self._made.setdefault(key, {})
        counts[own] = counts.get(own, 0) + 1
        self._first.setdefault(key, (row, instruction))

    def finish(self) -> None:
        """All waves have ended."""
        for key, counts in self._made.items():
            named = [at for at in range(self.size) if key[1] >> at & 1]
            if len({counts.get(at, 0) for at in named}) > 1 or any(at not in named for at in counts):
                row, instruction = self._first[key]
                text = (
                    f"the load names the workgroups {key[1]:#x} of its cluster, and those that make it are "
                    f"{sum(1 << at for at in counts):#x}, not equally often or others: each was given what it loads "
                    "itself, and whether the others would receive it too is not known"
                )
                self.reporter.note("not checked", np.array([row]), instruction, text)


def shared_load(instruction: DecodedInstruction, load: Callable[[Group], None]) -> Callable[[Group], None]:
    """CLUSTER_LOAD_*, whose mask of workgroups is in bits 15 to 0 of M0 (ROCm's comgr, hotswap: these it clears to make
    a plain load; LLVM 22 copies the mask of llvm.amdgcn.cluster.load into M0)."""

    def run(group: Group) -> None:
        batch = group.batch
        masks = np.broadcast_to(group.s[M0, group.rows] & np.uint32(0xFFFF), (group.count,))
        for row, mask in zip(group.numbers().tolist(), masks.tolist()):
            if mask:
                what = instruction.address, int(batch.waves.wave_in_group[row])
                batch.multicasts.made(row, instruction, mask, what)
        load(group)

    return run
