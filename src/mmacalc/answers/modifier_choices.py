"""What modifiers change about an operand, found by trying every value of every one of them.

No rule says here that CBSZ broadcasts A or that BLGP moves the lanes of B: an operand is made under each value, and
what differs, differs.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..model.operand import Operand

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Instruction

__all__ = ["OperandTrials"]


class OperandTrials:
    """One operand of an instruction under all modifiers; every combination is made once."""

    limits: dict[int, dict[str, tuple[int, ...]]]

    def __init__(self, inst: Instruction, name: str, wave: int) -> None:
        self._inst, self._name, self._wave = inst, name, wave
        plain = inst.modifier_limits(wave)
        # The values and the meaning of ABID depend on CBSZ; nothing else depends on another modifier's value.
        self.limits = {cbsz: inst.modifier_limits(wave, cbsz) if cbsz else plain for cbsz in plain.get("cbsz", (0,))}
        self._made: dict[tuple[tuple[str, int], ...], Operand | None] = {}

    def operand(self, **fields: int) -> Operand | None:
        """The operand under modifiers; None if their values do not go together."""
        key = tuple(sorted((field, value) for field, value in fields.items() if value))
        if key not in self._made:
            self._made[key] = self._operand(dict(key))
        return self._made[key]

    def _operand(self, fields: dict[str, int]) -> Operand | None:
        """As `Instruction.operand` makes it, but the values are known to be the instruction's own."""
        limits = self.limits[fields.get("cbsz", 0)]
        if any(value not in limits[field] for field, value in fields.items()):
            return None
        try:
            return Operand(self._inst, self._name, self._wave, fields)
        except Error:
            return None

    def choice(self, of: Callable[[Operand], Any], impossible: Any) -> Any:
        """Something about the operand under every combination of the modifiers that change it.

        Returns:
            What it always is; or [modifiers, values of each, what each combination gives (`impossible` where the
            values do not go together)], the last modifier's values fastest.
        """
        fields = self._changing(of)
        if not fields:
            return self._of(of, impossible)
        found = [self._of(of, impossible, **dict(zip(fields, values))) for values in product(*fields.values())]
        return [list(fields), [list(values) for values in fields.values()], found]

    def _of(self, of: Callable[[Operand], Any], impossible: Any, **fields: int) -> Any:
        operand = self.operand(**fields)
        return impossible if operand is None else of(operand)

    def _changing(self, of: Callable[[Operand], Any]) -> dict[str, tuple[int, ...]]:
        """The modifiers that change it, with all values that they may have under some CBSZ."""
        plain = self.limits[0]
        if not plain:
            return {}
        changing = set()
        results: dict[int, dict[tuple[str, int], Any]] = {}
        for cbsz, limits in self.limits.items():
            tried = [(field, value) for field, values in limits.items() if field != "cbsz" for value in values]
            found = {(field, value): self._of(of, None, cbsz=cbsz, **{field: value}) for field, value in tried}
            usual = found[("", 0)] = self._of(of, None, cbsz=cbsz)
            changing |= {field for (field, _), each in found.items() if each != usual}
            results[cbsz] = found
        if any(found[key] != results[0][key] for found in results.values() for key in found.keys() & results[0].keys()):
            changing.add("cbsz")
        every = {field: max((limits[field] for limits in self.limits.values()), key=len) for field in plain}
        # ABID has the values of CBSZ 0, unless CBSZ is among the modifiers that count.
        return {field: every[field] if "cbsz" in changing else plain[field] for field in plain if field in changing}
