"""The banks of LDS (shared memory) as data for the page: which lanes each phase of an access serves.

rules      [banks, [lanes of each phase], whether phases merge, ports, provenance, source]
banks      for each architecture {"read": [rule for each of WIDTHS], "write": [...]}, or null where none is published
accesses   for each architecture the names of loads and stores: {"lds": {"load": [for each of WIDTHS] ...} ...}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..catalog import entry
from ..errors import Error
from ..memory_access.banks import rule
from ..memory_access.names import access_name
from .page_distinct import Distinct

if TYPE_CHECKING:
    from ..model import Architecture, Operand

__all__ = ["WIDTHS", "bank_data"]

WIDTHS = (1, 2, 4, 8, 16)  # bytes of one lane's access


def bank_data(architectures: list[Architecture]) -> dict[str, Any]:
    """The tables `rules`, `banks`, `names` and `accesses`."""
    rules, names = Distinct(), Distinct()
    banks: list[Any] = []
    for architecture in architectures:
        try:
            found = {access: [_rule(architecture, width, access) for width in WIDTHS] for access in ("read", "write")}
        except Error:
            banks.append(None)
            continue
        banks.append({access: [rules.number(row) for row in rows] for access, rows in found.items()})
    accesses = [names.number(_names(architecture)) for architecture in architectures]
    return {"rules": rules.things, "banks": banks, "names": names.things, "accesses": accesses}


def _rule(architecture: Architecture, width: int, access: str) -> list[Any]:
    found = rule(architecture, width, access)
    phases = [list(lanes) for lanes in found.phases]
    return [found.banks, phases, int(found.merges), found.ports, found.provenance, found.source]


def _names(architecture: Architecture) -> dict[str, dict[str, list[str]]]:
    loaded, stored = _operand(architecture, "A"), _operand(architecture, "D")
    return {
        memory: {
            "load": [access_name(loaded, memory, width) for width in WIDTHS] if loaded else [],
            "store": [access_name(stored, memory, width) for width in WIDTHS] if stored else [],
        }
        for memory in ("lds", "global")
    }


def _operand(architecture: Architecture, name: str) -> Operand | None:
    """The operand of that name of any instruction: what loads it is called does not depend on the instruction.

    None where the family does not say how its loads and stores are called.
    """
    if not architecture.family.mnemonics:
        return None
    for inst in entry(architecture.name).instructions():
        if name in inst.register_operands:
            return inst.operand(name)
    return None
