"""The dependencies that hazard rules name: which registers of two instructions must meet for a rule to hold."""

from __future__ import annotations

from ..asm.registers import RegisterRange
from ..records import TupleRecord
from .register_use import RegisterUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Test = Callable[[RegisterUse, RegisterUse], RegisterRange | None]

__all__ = ["DEPENDENCIES", "NO_REGISTERS", "Dependency"]

NO_REGISTERS = RegisterRange("", 0, 0)
"""What a test gives where the rule is not about registers."""


class Dependency(TupleRecord):
    """A test, the registers of the first instruction that it looks at, and what the two instructions do, in words.

    test: (first, second) -> the registers of the second that make the hazard; None if there are none.
    roles: those of the first's reads that the test looks at; "writes" for what it writes, "scalars" for its SGPRs,
    "EXEC" for the EXEC mask; empty where the rule is not about registers.
    words: {d} is what the first writes, {r} what the test found, {second} the second's kind.
    """

    test: Test
    roles: tuple[str, ...]
    words: str


def _overlapping(touched: Iterable[RegisterRange], others: Iterable[RegisterRange]) -> RegisterRange | None:
    others = tuple(others)
    return next((registers for registers in touched if any(registers.overlaps(other) for other in others)), None)


def _c(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.roles("C"), first.writes)


def _c_exact(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    c = _c(first, second)
    return c if c in first.writes else None


def _c_overlap(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    c = _c(first, second)
    return None if c in first.writes else c


def _c_forwarded(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _c_exact(first, second) if first.passes == second.passes else None


def _c_not_forwarded(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return None if _c_forwarded(first, second) else _c(first, second)


def _inputs(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.roles("A", "B", "index", "scale"), first.writes)


def _inputs_but_scales(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.roles("A", "B", "index"), first.writes)


def _read(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping((registers for _, registers in second.reads), first.writes)


def _write(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.writes)


def _write_c(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.roles("C"))


def _write_c_not_d(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return None if _write(first, second) else _write_c(first, second)


def _write_inputs(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, first.roles("A", "B", "index"))


def _write_read(first: RegisterUse, second: RegisterUse) -> RegisterRange | None:
    return _overlapping(second.writes, (registers for _, registers in first.reads))


def _scalar(*roles: str) -> Test:
    return lambda first, second: _overlapping(
        (span for role, span in second.scalars_read if role in roles), first.scalars_written
    )


def _same(test: Test, same: bool) -> Test:
    return lambda first, second: test(first, second) if (first.name == second.name) is same else None


def _exec(first: RegisterUse, _: RegisterUse) -> RegisterRange | None:
    return NO_REGISTERS if first.execs else None


_D, _S = ("writes",), ("scalars",)
_ALL_READS = ("A", "B", "C", "index", "scale", "other")
DEPENDENCIES = {
    name: Dependency(*row)
    for name, row in {
        "C": (_c, _D, "writes {d}, then {second} reads {r} as C"),
        "C exact": (_c_exact, _D, "writes {d}, then {second} reads exactly that as C"),
        "C overlap": (_c_overlap, _D, "writes {d}, then {second} reads {r}, which overlaps it, as C"),
        "C forwarded": (_c_forwarded, _D, "writes {d}, then {second} of as many passes reads exactly that as C"),
        "C not forwarded": (
            _c_not_forwarded, _D, "writes {d}, then {second} reads {r} as C, not the same or in other passes",
        ),
        "A/B": (_inputs, _D, "writes {d}, then {second} reads {r} as A, B, index or scale"),
        "A/B/index": (_inputs_but_scales, _D, "writes {d}, then {second} reads {r} as A, B or index"),
        "read": (_read, _D, "writes {d}, then {second} reads {r}"),
        "write": (_write, _D, "writes {d}, then {second} writes {r}"),
        "write C": (_write_c, ("C",), "reads C, then {second} writes {r} in it"),
        "write C, not D": (_write_c_not_d, ("C",), "reads C, then {second} writes {r} in it"),
        "write A/B/index": (
            _write_inputs, ("A", "B", "index"), "reads A, B and index, then {second} writes {r} in them",
        ),
        "write read": (_write_read, _ALL_READS, "reads a register, then {second} writes {r}"),
        "same opcode C": (_same(_c, True), _D, "writes {d}, then the same opcode reads {r} as C"),
        "same opcode A/B": (_same(_inputs, True), _D, "writes {d}, then the same opcode reads {r} as A or B"),
        "other opcode read": (_same(_read, False), _D, "writes {d}, then {second} reads {r}"),
        "other opcode write": (_same(_write, False), _D, "writes {d}, then {second} writes {r}"),
        "EXEC": (_exec, ("EXEC",), "writes EXEC, then {second} runs"),
        "lane select": (_scalar("lane"), _S, "writes {r}, then {second} chooses a lane by it"),
        "VCC": (_scalar("vcc"), _S, "writes VCC, then {second} reads it"),
        "scalar read": (_scalar("lane", "scalar", "vcc"), _S, "writes {r}, then {second} reads it"),
        "after": (lambda first, second: NO_REGISTERS, (), "runs, then {second}"),
    }.items()
}  # fmt: skip
