"""What looks on while a kernel runs: profiles, stops and watches are observers, of whichever machine.

A machine that has observers tells each of them about every instruction and every access of memory; one that has none
asks one list whether it is empty.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...base.arrays import Array

__all__ = ["Observer"]


class Observer:
    """Hooks that do nothing. who: the waves of a group, or some threads, as the machine has them.

    >>> Observer().before(None, None) is None
    True
    """

    def started(self, machine: Any) -> None:
        """Some workgroups begin: `machine` holds their registers and memory."""

    def before(self, step: Any, who: Any) -> None:
        """An instruction is about to be executed."""

    def after(self, step: Any, who: Any) -> None:
        """An instruction was executed."""

    def multiplying(self, step: Any, who: Any, places: Mapping[str, Array]) -> None:
        """A product that was issued before is about to be carried out (wgmma, tcgen05). places: by operand in shared
        memory where its elements lie, (entry, row, column) of A, (entry, column, row) of B."""

    def copied(self, step: Any, places: Array, size: int) -> None:
        """An asynchronous copy from memory has written `size` bytes at each of some places of shared memory."""

    def synchronised(self, step: Any, threads: Array, places: Array, amounts: Array) -> None:
        """Threads meet barriers: mbarriers that they initialise, arrive at, tell of bytes or ask, or at which a copy or
        tcgen05.commit of theirs will arrive, or barriers of their CTA. places: of each where in shared memory, or its
        number. amounts: of each the count, the bytes, or what is asked for."""

    def stored(self, step: Any, who: Any, offsets: Array, size: int) -> None:
        """An asynchronous copy has written `size` bytes at each of some offsets of the bytes of global memory."""

    def shared(self, step: Any, who: Any, places: Array, size: int, kind: str) -> None:
        """Shared memory is about to be accessed: `size` bytes at each of some places. kind: "read", "write", or what
        an atomic operation is."""

    def memory(self, step: Any, who: Any, addresses: Array, size: int, kind: str) -> None:
        """Global memory is about to be accessed, at some addresses. kind: "read", "write" or "atomic"."""
