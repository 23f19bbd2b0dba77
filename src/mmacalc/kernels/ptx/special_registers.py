"""The special registers of a launch (PTX ISA, "Special Registers")."""

from __future__ import annotations

import numpy as np

from .program import RESERVED
from .statements import AXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...base.arrays import Array
    from .launch import Launch

__all__ = ["SpecialRegisters"]


class SpecialRegisters(dict):  # type: ignore[type-arg]
    """Special registers by name, each an array of the resident threads."""

    launch: Launch
    first: int
    cta: Array
    inner: Array

    def __init__(self, launch: Launch, first: int, ctas: int) -> None:
        self.launch, self.first = launch, first
        number = np.arange(ctas * launch.block_size)
        self.cta, self.inner = number // launch.block_size + first, number % launch.block_size

    def __missing__(self, name: str) -> Array:
        value = np.broadcast_to(np.asarray(self._value(name)), self.inner.shape).astype(np.uint64)
        self[name] = value
        return value

    def _value(self, name: str) -> Any:
        launch = self.launch
        base, _, axis = name.rpartition(".")
        if base:
            return self._vector(base, AXES.index(axis))
        lane = (self.inner % 32).astype(np.uint64)
        one = np.uint64(1)
        values: dict[str, Any] = {
            "%laneid": lane,
            "%warpid": self.inner // 32,
            "%nwarpid": -(-launch.block_size // 32),
            "WARP_SZ": 32,
            "%smid": self.cta,
            "%nsmid": int(np.prod(launch.grid)),
            "%gridid": 1,
            "%envreg1": launch.workspace >> 32,  # cooperative groups take the workspace's address from these two
            "%envreg2": launch.workspace & 0xFFFFFFFF,
            "%cluster_ctarank": self.cta % launch.cluster_size,
            "%cluster_nctarank": launch.cluster_size,
            "%is_explicit_cluster": int(launch.cluster_size > 1),
            "%dynamic_smem_size": launch.dynamic,
            "%total_smem_size": launch.shared_bytes,
            "%aggr_smem_size": launch.shared_bytes,
            "%reserved_smem_offset_end": RESERVED,
            "%reserved_smem_offset_cap": RESERVED,
            "%reserved_smem_offset_1": RESERVED // 2,  # cooperative groups keep the barriers of groups of warps there
            "%lanemask_eq": one << lane,
            "%lanemask_lt": (one << lane) - one,
            "%lanemask_le": (one << lane << one) - one,
            "%lanemask_gt": 0xFFFFFFFF & ~((one << lane << one) - one),
            "%lanemask_ge": 0xFFFFFFFF & ~((one << lane) - one),
        }
        return values.get(name, 0)

    def _vector(self, base: str, axis: int) -> Any:
        launch = self.launch
        inner = (self.inner % launch.block[0], self.inner // launch.block[0] % launch.block[1],
                 self.inner // (launch.block[0] * launch.block[1]))  # fmt: skip
        place = launch.coordinates(self.cta)
        return {
            "%tid": inner[axis], "%ntid": launch.block[axis], "%ctaid": place[axis], "%nctaid": launch.grid[axis],
            "%clusterid": place[axis] // launch.cluster[axis],
            "%nclusterid": launch.grid[axis] // launch.cluster[axis],
            "%cluster_ctaid": place[axis] % launch.cluster[axis], "%cluster_nctaid": launch.cluster[axis],
        }[base]  # fmt: skip
