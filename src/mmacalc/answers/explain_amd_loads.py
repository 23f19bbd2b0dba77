"""Loads that transpose a matrix into an operand, explained: see `explain`."""

from __future__ import annotations

import re
from functools import cache

from ..catalog import architectures, entry
from ..memory_access.transpose_loads import TransposeLoad, transpose_loads
from .explain import ExplainedLine, ExplainedOperand
from .explain_amd_operands import register_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..asm.reader import Statement

__all__ = ["owners", "transpose_load_line"]

_LOAD = re.compile(r"_tr\d*_b")
MEMORY = {"LDS": "LDS", "global": "global memory"}


@cache
def _loads() -> Mapping[str, Mapping[str, TransposeLoad]]:
    """The loads of every architecture, by mnemonic and architecture."""
    found: dict[str, dict[str, TransposeLoad]] = {}
    for arch in architectures():
        for load in transpose_loads(arch):
            for name in (load.name, *load.aliases):
                found.setdefault(name, {})[arch] = load
    return found


def owners(mnemonic: str) -> Mapping[str, TransposeLoad]:
    """The architectures that have a load that transposes, with what it is there; none if it is no such load.

    >>> sorted(owners("ds_read_b64_tr_b16")), len(owners("ds_read_b64"))
    (['cdna4'], 0)
    """
    return _loads().get(mnemonic, {}) if _LOAD.search(mnemonic) else {}


def transpose_load_line(one: Statement, where: str) -> ExplainedLine:
    """The explanation of one load."""
    arch = entry(where).architecture.name
    load = owners(one.mnemonic).get(arch)
    if load is None:
        having = " and ".join(owners(one.mnemonic))
        why = f"{entry(where).architecture.title} has no {one.mnemonic}; {having} ha{'ve' if ' ' in having else 's'} it"
        return ExplainedLine(one.number, one.text, "AMD assembly", problem=why)
    purpose = (
        f"loads and transposes {load.bits}-bit elements of a tile in {MEMORY[load.memory]}, {load.elements} for each "
        f"lane: `mmacalc transpose-loads -a {where} --load {load.name}` shows them lane by lane, with -i and -A or -B "
        "the operands that it fills"
    )
    roles = zip(("D", "address"), one.operands)
    operands = tuple([ExplainedOperand(role, text, register_names(text)) for role, text in roles])
    return ExplainedLine(one.number, one.text, "AMD assembly", operands=operands, purpose=purpose)
