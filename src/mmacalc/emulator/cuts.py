"""How K is cut into chains: in which order the steps are taken, and where a new chain begins.

A chain is a run of instructions, the result of each being the C of the next; the results of several chains are added in
order. Cuts are whole numbers of steps, since no kernel cuts an instruction. Split-K cuts every element of D alike; of
stream-K each tile of D has its own cuts.
"""

from __future__ import annotations

import numpy as np

from ..base.checks import number, require_int, shown
from ..base.errors import Error, did_you_mean
from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..model import Instruction

__all__ = ["Cuts", "StreamK", "cuts_of"]

LIBRARIES = {"cublas": (("sm_90", "sm_90a"), {16: 64, 8: 128})}
"""How libraries cut K: on which architectures, and by the bits of an element the G of s slices of ceil(ceil(K / G) / s)
times G, of which the last one is shorter. Measured by others, not by us: cuBLAS on an H100 for f16 and fp8, in 99.8 %
of 1.9 million comparisons of bytes (facebookexperimental/triton, pull requests 2752 and 2769); mmaemu 0.1.0 has the
same for cuBLASLt's fp8 there."""

WAYS = ("cublas:3", "interleaved:4:64", "stream-k:132:128x128x64")
"""The words that split_k may be. The last two are how kernels are written, not measurements: Tensile's
GlobalSplitUSummationAssignmentRoundRobin gives units of DepthU to workgroups in turn (its Common.py), Triton's split-K
kernels units of BLOCK_K; stream-K is algorithm 5 of Osama, Merrill, Cecka, Garland and Owens, "Stream-K" (PPoPP 2023),
where the workgroup with a tile's first k adds what the others have, in order."""


class StreamK(TupleRecord):
    """Stream-K: the units of k of all tiles, tile after tile along a row of D, dealt out to workgroups in equal runs.

    workgroups: how many; m, n: of a tile of D; steps: of a unit.
    """

    workgroups: int
    m: int
    n: int
    steps: int

    def tiles(self, m: int, n: int, steps: int) -> Iterator[tuple[slice, slice, list[int]]]:
        """The rows and columns of each tile of D (m, n), and the steps at which its chains begin and end."""
        units, across = -(-steps // self.steps), -(-n // self.n)
        total = units * across * -(-m // self.m)
        each, more = divmod(total, self.workgroups)
        starts = np.array([each * group + min(group, more) for group in range(self.workgroups)])
        for tile in range(total // units if units else 0):
            inside = starts[(starts > tile * units) & (starts < (tile + 1) * units)] - tile * units
            row, column = tile // across * self.m, tile % across * self.n
            cuts = [0, *(int(start) * self.steps for start in sorted(set(inside.tolist()))), steps]
            yield slice(row, row + self.m), slice(column, column + self.n), cuts


class Cuts(TupleRecord):
    """The order of the steps (None for ascending) and what to call it, the steps at which chains begin, from 0 to the
    number of steps, in that order; of stream-K, how each tile is cut, `at` being the cuts of one with the most."""

    order: list[int] | None
    order_text: str
    at: list[int]
    tiles: StreamK | None = None


def cuts_of(
    inst: Instruction, bits: int, shape: tuple[int, int, int], k_order: Any, split_k: Any, promote: int
) -> Cuts:
    """How the K of a product (M, N, K) is cut.

    Args:
        inst: what is chained, on elements of `bits` bits.
        k_order: "ascending", "descending", or the numbers of the steps in order.
        split_k: how many chains; the k at which they are cut; or one of `WAYS`.
        promote: a new chain each this number of k; 0 leaves it to split_k.

    Raises:
        Error: a cut within an instruction, or outside of K; a library of which no cuts are recorded.
    """
    k = shape[2]
    steps = -(-k // inst.k)
    if promote:
        if split_k != 1:
            raise Error(f"promote = {shown(promote)} and split_k = {shown(split_k)} both cut K; leave one of them out")
        split_k = range(promote, k, promote) if promote > 0 else [promote]
    order, order_text = _order(k_order, steps)
    if isinstance(split_k, str):
        found = _by_name(inst, bits, shape, split_k)
        if isinstance(found, list):
            split_k = found
        elif order is not None and not found.tiles:
            raise Error(f"split_k = '{split_k}' has its own order of the steps; leave k_order out")
        else:
            return found if order is None else found._replace(order=order, order_text=order_text)
    return Cuts(order, order_text, _cuts(inst, k, split_k, promote))


def _order(k_order: Any, steps: int) -> tuple[list[int] | None, str]:
    """The steps in their order (None for ascending), and what to call it."""
    if isinstance(k_order, str):
        if k_order not in ("ascending", "descending"):
            hint = did_you_mean(k_order, ("ascending", "descending"))
            raise Error(
                f"k_order = '{k_order}' is ascending, descending, or the numbers of the steps in their order.{hint}"
            )
        return (None if k_order == "ascending" else list(range(steps))[::-1]), k_order
    try:
        numbers = [require_int("a step of k_order", step) for step in k_order]
    except TypeError:
        raise Error(
            f"k_order = {shown(k_order)} is ascending, descending, or the numbers of the steps in order"
        ) from None
    if sorted(numbers) != list(range(steps)):
        raise Error(f"k_order has {len(numbers)} numbers; it needs each of the {steps} steps, 0 to {steps - 1}, once")
    return numbers, "as given"


def _cuts(inst: Instruction, k: int, split_k: Any, promote: int) -> list[int]:
    """The steps at which chains begin, of a number of chains or of the k at which they are cut."""
    steps = -(-k // inst.k)
    if isinstance(split_k, (int, np.integer)) and not isinstance(split_k, bool):
        if not 1 <= split_k <= max(1, steps):
            raise Error(f"split_k = {shown(split_k)}: {inst.name} takes {steps} steps of {inst.k} k, so 1 to {steps}")
        return [steps * part // int(split_k) for part in range(int(split_k) + 1)]
    try:
        cuts = [require_int("a cut of split_k", cut) for cut in split_k]
    except TypeError:
        raise Error(
            f"split_k = {shown(split_k)} is a number of chains, the k at which they begin, or one of {', '.join(WAYS)}"
        ) from None
    wrong = [cut for cut in cuts if cut % inst.k or not 0 < cut < steps * inst.k]
    if wrong or sorted(set(cuts)) != cuts:
        what = (
            f"promote = {shown(promote)}"
            if promote
            else f"split_k has {shown(wrong[0]) if wrong else 'its cuts not in order'}"
        )
        end = steps * inst.k
        raise Error(f"{what}: K is cut at rising multiples of {inst.k} between 0 and {end}, between instructions")
    return [0, *(cut // inst.k for cut in cuts), steps]


def _by_name(inst: Instruction, bits: int, shape: tuple[int, int, int], text: str) -> list[int] | Cuts:
    """What a word of split_k means: the k at which chains begin, or another order or tiles too."""
    name, *rest = text.lower().split(":")
    numbers = [number(part) for word in rest for part in word.split("x")]
    form = {"interleaved": 2, "stream-k": 4}.get(name, 1)
    if name not in (*LIBRARIES, "interleaved", "stream-k") or len(numbers) != form or not all(numbers):
        raise Error(
            f"split_k = '{text}' is none of {', '.join(WAYS)} (slices as cuBLAS's; chains that take units of k in "
            "turn; workgroups and their tile). Of others (hipBLASLt, Triton) nothing is recorded: say what their "
            "kernel does, or give the k at which its slices begin"
        )
    counts = [int(count or 0) for count in numbers]
    if name in LIBRARIES:
        return _as_library(inst, bits, shape[2], name, counts[0])
    if counts[-1] % inst.k:
        raise Error(f"split_k = '{text}': {inst.name} takes {inst.k} k, so a unit is a multiple of {inst.k}")
    steps, unit = -(-shape[2] // inst.k), counts[-1] // inst.k
    if name == "stream-k":
        tiles = StreamK(counts[0], counts[1], counts[2], unit)
        most = max((cuts for *_, cuts in tiles.tiles(*shape[:2], steps)), key=len, default=[0, steps])
        return Cuts(None, "ascending", most, tiles)
    chains = [[step for step in range(steps) if step // unit % counts[0] == chain] for chain in range(counts[0])]
    if not all(chains):
        raise Error(
            f"split_k = '{text}': K has {-(-steps // unit)} units of {counts[-1]}, too few for {counts[0]} chains"
        )
    return Cuts(
        [step for chain in chains for step in chain], text, [0, *np.cumsum([len(chain) for chain in chains]).tolist()]
    )


def _as_library(inst: Instruction, bits: int, k: int, name: str, count: int) -> list[int]:
    """The k at which a library begins its slices."""
    architectures, sizes = LIBRARIES[name]
    if bits not in sizes or inst.arch not in architectures:
        raise Error(
            f"split_k = '{name}:{count}': recorded is how {name} cuts K on {' and '.join(architectures)} for elements "
            f"of {' and '.join(map(str, sorted(sizes)))} bits; {inst.name} of {inst.arch} has {bits}. Give the k at "
            "which its slices begin"
        )
    units = -(-k // sizes[bits])
    each = -(-units // count) * sizes[bits]
    return list(range(each, k, each))
