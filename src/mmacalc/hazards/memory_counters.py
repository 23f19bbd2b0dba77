"""The counters of outstanding memory accesses, as data: what raises which one, in which order accesses end, and what
instructions wait for.

An access raises its counters when it is issued; a wait for n lets a wave go on once at most n accesses of a counter are
outstanding. Accesses of one sequence of a counter end in order, so one with n or more younger ones of its sequence has
ended then; accesses without a sequence end in any order, so they have ended only after a wait for 0. Counters are
finite: an instruction whose issue would overflow one waits for an older access.

Sources: CDNA3, RDNA3 and RDNA4 ISA guides, "Data dependency resolution"; LLVM 22's SIInsertWaitcnts (events,
`counterOutOfOrder`) and `hasFlatLgkmVMemCountInOrder`; AMDGPUBaseInfo (`getVmcntBitWidthHi` ...) for widths; for full
counters ROCm's rocm-systems, pull requests 10925 and 10926.
"""

from __future__ import annotations

import re

from ..asm.immediates import DEPENDENCIES, counter_fields, counters
from ..asm.tokens import integer
from ..base.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asm.reader import Statement

__all__ = [
    "COUNTERS", "DEPENDENCY", "MOST", "counters_of", "dependencies_waited", "sequence_of", "wait_text", "waits_of",
    "waits_of_statement",
]  # fmt: skip

_IMAGE = {"sample": ("vmcnt",), "bvh": ("vmcnt",)}
_GFX9_10 = {"lds": ("lgkmcnt",), "gds": ("lgkmcnt",), "scalar": ("lgkmcnt",), "message": ("lgkmcnt",),
            "export": ("expcnt",), "direct": ("expcnt",), **_IMAGE}  # fmt: skip
COUNTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "gfx9": {"load": ("vmcnt",), "store": ("vmcnt",), "flat load": ("vmcnt", "lgkmcnt"),
             "flat store": ("vmcnt", "lgkmcnt"), **_GFX9_10},
    "gfx11": {"load": ("vmcnt",), "store": ("vscnt",), "flat load": ("vmcnt", "lgkmcnt"),
              "flat store": ("vscnt", "lgkmcnt"), **_GFX9_10},
    "gfx12": {"load": ("loadcnt",), "store": ("storecnt",), "flat load": ("loadcnt", "dscnt"),
              "flat store": ("storecnt", "dscnt"), "lds": ("dscnt",), "gds": ("dscnt",), "scalar": ("kmcnt",),
              "message": ("kmcnt",), "export": ("expcnt",), "direct": ("expcnt",), "sample": ("samplecnt",),
              "bvh": ("bvhcnt",), "async": ("asynccnt",), "tensor": ("tensorcnt",)},
}  # fmt: skip
"""What raises which counters, by generation."""
MOST: dict[str, dict[str, int]] = {
    "gfx9": {"vmcnt": 63, "lgkmcnt": 15, "expcnt": 7},
    "gfx11": {"vmcnt": 63, "vscnt": 63, "lgkmcnt": 63, "expcnt": 7},
    "gfx12": {"loadcnt": 63, "storecnt": 63, "dscnt": 63, "kmcnt": 31, "samplecnt": 63, "bvhcnt": 7, "expcnt": 7,
              "asynccnt": 63, "tensorcnt": 63, "xcnt": 63, "va_vdst": 15, "vm_vsrc": 7},
}  # fmt: skip
"""How many accesses a counter holds; a field of s_waitcnt with this value waits for nothing. va_vdst and vm_vsrc are of
s_wait_alu: instructions whose results are not written, and accesses that have not read their vector registers."""
DEPENDENCY = ("va_vdst", "vm_vsrc")
"""Those counters of s_wait_alu that are followed; the field with the value above waits for nothing."""
_FIELDS = {field for field, *_ in DEPENDENCIES}
_MAIN = ""  # the sequence of what has no other one
_SEQUENCES: dict[str, dict[str, str | None]] = {
    "gfx9": {"scalar": None, "flat load": None, "flat store": None, "message": "message", "gds": "gds"},
    "gfx11": {"scalar": None, "message": "message", "gds": "gds", "sample": "sample", "bvh": "bvh", "direct": "direct"},
    "gfx12": {"scalar": None, "message": "message", "gds": "gds", "direct": "direct"},
}  # fmt: skip
# A family of the tables whose s_waitcnt is the generation's (`mmacalc.asm.immediates`).
_FAMILY = {"gfx9": "cdna3", "gfx11": "rdna3"}
_PAIRS = {"loadcnt_dscnt": ("loadcnt", "dscnt"), "storecnt_dscnt": ("storecnt", "dscnt")}  # bits 8 to 13, 0 to 5
_DEPENDED = re.compile(r"depctr_(\w+)\s*\(([^()]*)\)")
_NAMED = re.compile(r"\b(\w+?cnt)(?:_sat)?\s*\(([^()]*)\)", re.IGNORECASE)


def counters_of(kind: str, generation: str) -> tuple[str, ...]:
    """The counters that an access raises.

    >>> counters_of("flat load", "gfx12")
    ('loadcnt', 'dscnt')
    """
    return COUNTERS[generation][kind]


def sequence_of(kind: str, generation: str) -> str | None:
    """The sequence within its counters whose accesses end in order; None of what ends in any order.

    >>> sequence_of("lds", "gfx9") == sequence_of("flat load", "gfx11"), sequence_of("scalar", "gfx9")
    (True, None)
    """
    return _SEQUENCES[generation].get(kind, _MAIN)


def waits_of(name: str, simm: int, generation: str) -> dict[str, int]:
    """The waits of an instruction: counter and the number that may be outstanding.

    >>> waits_of("s_waitcnt", 0x0070, "gfx9"), waits_of("s_waitcnt", 0x0FFF, "gfx9"), waits_of("s_waitcnt", 7, "gfx11")
    ({'vmcnt': 0, 'lgkmcnt': 0}, {'vmcnt': 15}, {'vmcnt': 0, 'lgkmcnt': 0})
    >>> waits_of("s_wait_loadcnt_dscnt", 0x0102, "gfx12"), waits_of("s_wait_idle", 0, "gfx12")["kmcnt"]
    ({'loadcnt': 1, 'dscnt': 2}, 0)
    """
    most = MOST[generation]
    if name == "s_wait_alu":
        fields = _dependencies(simm)
        return {field: fields[field] for field in DEPENDENCY if field in fields}
    if name == "s_waitcnt":
        waits = counters(simm, _FAMILY[generation])
        return {counter: number for counter, number in waits.items() if number < most[counter]}
    kind = name.removeprefix("s_waitcnt_").removeprefix("s_wait_")
    if kind == "idle":
        return dict.fromkeys(most, 0)
    if kind in _PAIRS:
        first, second = _PAIRS[kind]
        return {first: simm >> 8 & 63, second: simm & 63}
    return {kind: simm} if kind in most else {}


def waits_of_statement(statement: Statement, generation: str) -> dict[str, int]:
    """The waits of a line of assembly; a number that is not known is taken for 0.

    >>> from mmacalc.asm.reader import read_line
    >>> waits_of_statement(read_line("s_waitcnt vmcnt(3) lgkmcnt(0)"), "gfx9")
    {'vmcnt': 3, 'lgkmcnt': 0}
    >>> waits_of_statement(read_line("s_waitcnt_vscnt null, 0x0"), "gfx11")
    {'vscnt': 0}
    >>> waits_of_statement(read_line("s_wait_alu depctr_va_vdst(3) depctr_sa_sdst(0)"), "gfx12")
    {'va_vdst': 3}
    """
    name = statement.mnemonic
    if "wait_exp" in statement.modifiers:
        return {"expcnt": _number(statement.modifiers["wait_exp"])}
    if not name.startswith("s_wait"):
        return {}
    if name == "s_waitcnt":
        named = _NAMED.findall(" ".join([*statement.operands, *statement.modifiers]))
        if named:
            return {counter.lower(): _number(number) for counter, number in named}
    if name == "s_wait_alu":
        return {field: count for field, count in (dependencies_waited(statement) or {}).items() if field in DEPENDENCY}
    if name == "s_wait_idle":
        return waits_of(name, 0, generation)
    return waits_of(name, _number(statement.operands[-1]), generation) if statement.operands else {}


def dependencies_waited(statement: Statement) -> dict[str, int] | None:
    """The fields of s_wait_alu or s_waitcnt_depctr that wait for something, with their numbers; None of others.

    >>> from mmacalc.asm.reader import read_line
    >>> dependencies_waited(read_line("s_waitcnt_depctr depctr_sa_sdst(0)"))
    {'sa_sdst': 0}
    >>> dependencies_waited(read_line("s_wait_alu 0xfffd")), dependencies_waited(read_line("s_nop 0"))
    ({'va_vcc': 0}, None)
    """
    if statement.mnemonic not in ("s_wait_alu", "s_waitcnt_depctr"):
        return None
    named = _DEPENDED.findall(" ".join([*statement.operands, *statement.modifiers]).lower())
    if named:
        return {field: _number(number) for field, number in named}
    return _dependencies(_number(statement.operands[-1])) if statement.operands else {}


def _dependencies(simm: int) -> dict[str, int]:
    fields = {field: (simm >> low & (1 << width) - 1, (1 << width) - 1) for field, low, width in DEPENDENCIES}
    return {field: number for field, (number, most) in fields.items() if number < most}


def _number(text: str) -> int:
    try:
        return integer(text)
    except Error:
        return 0


def wait_text(waits: dict[str, int], generation: str) -> tuple[str, ...]:
    """The instructions that wait.

    >>> wait_text({"vmcnt": 3, "lgkmcnt": 0}, "gfx9"), wait_text({"kmcnt": 0}, "gfx12")
    (('s_waitcnt vmcnt(3) lgkmcnt(0)',), ('s_wait_kmcnt 0x0',))
    >>> wait_text({"va_vdst": 1}, "gfx12")
    ('s_wait_alu depctr_va_vdst(1)',)
    >>> wait_text({"sa_sdst": 0}, "gfx11")
    ('s_waitcnt_depctr depctr_sa_sdst(0)',)
    """
    fields = [f"depctr_{counter}({number})" for counter, number in waits.items() if counter in _FIELDS]
    waits = {counter: number for counter, number in waits.items() if counter not in _FIELDS}
    results = (f"{'s_wait_alu' if generation == 'gfx12' else 's_waitcnt_depctr'} {' '.join(fields)}",) if fields else ()
    if generation == "gfx12":
        return (*[f"s_wait_{counter} {number:#x}" for counter, number in waits.items()], *results)
    named = {name for name, *_ in counter_fields(_FAMILY[generation])}
    own = [f"{counter}({number})" for counter, number in waits.items() if counter in named]
    others = [f"s_waitcnt_{name} null, {number:#x}" for name, number in waits.items() if name not in named]
    return (*([f"s_waitcnt {' '.join(own)}"] if own else []), *others, *results)
