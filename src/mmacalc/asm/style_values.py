"""Names in the place of numbers, read: what `mmacalc.asm.immediates` prints, and numbers.

Source: LLVM 22.1.8's assembler (tests/test_encoder.py).
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..base.errors import Error
from .immediates import (
    DEPENDENCIES,
    INSTANCES,
    SKIPS,
    STYLES,
    counter_fields,
    hardware_registers,
    swizzle,
)
from .tokens import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["style_value", "swizzle_value"]

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(([^()]*)\)")


def style_value(style: str, text: str, family: str, symbols: Mapping[str, int]) -> int:
    """The number that a text in the place of an operand means.

    Raises:
        Error: it is neither a number nor a name of this kind.

    >>> style_value("waitcnt", "vmcnt(0)", "cdna3", {}), style_value("hwreg", "hwreg(HW_REG_MODE, 0, 4)", "cdna3", {})
    (3952, 6145)
    """
    text = text.strip()
    reader = _READERS.get(style)
    if reader is not None and not re.match(r"[-~(]*\d", text):
        return reader(text, family, symbols)
    return integer(text, symbols)


def _calls(text: str) -> list[tuple[str, str]]:
    """name(value) separated by spaces, commas, & or |."""
    found = _CALL.findall(text)
    if not found or re.sub(r"[\s,&|]", "", _CALL.sub("", text)):
        raise Error(f"cannot read '{text}'")
    if len({name for name, _ in found}) < len(found):
        raise Error(f"'{text}' has a name twice")
    return found


def _bounded(name: str, value: int, most: int, saturating: bool = False) -> int:
    if saturating:
        return min(value, most)
    if not 0 <= value <= most:
        raise Error(f"{name} is 0 to {most}; got {value}")
    return value


def _counters(text: str, family: str, symbols: Mapping[str, int]) -> int:
    fields = counter_fields(family)
    values = {name: most for name, _, most in fields}
    for name, given in _calls(text):
        plain = name.removesuffix("_sat")
        if plain not in values:
            raise Error(f"s_waitcnt has {', '.join(values)}; got {name}")
        values[plain] = _bounded(name, integer(given, symbols), values[plain], name != plain)
    result = 0
    for name, parts, _ in fields:
        shift = 0
        for low, width in parts:
            result |= (values[name] >> shift & (1 << width) - 1) << low
            shift += width
    return result


def _dependencies(text: str, family: str, symbols: Mapping[str, int]) -> int:
    values = {name: (1 << width) - 1 for name, _, width in DEPENDENCIES}
    for name, given in _calls(text):
        plain = name.removeprefix("depctr_").removesuffix("_sat")
        if plain not in values:
            raise Error(f"'{name}' is not one of {', '.join(values)}")
        values[plain] = _bounded(name, integer(given, symbols), values[plain], name.endswith("_sat"))
    unused = 0xFFFF & ~sum(((1 << width) - 1) << low for _, low, width in DEPENDENCIES)
    return sum(values[name] << low for name, low, _ in DEPENDENCIES) | unused & _UNUSED_DEPENDENCIES


_UNUSED_DEPENDENCIES = 0x0F80


def _delay(text: str, family: str, symbols: Mapping[str, int]) -> int:
    places = {"instid0": (0, INSTANCES), "instskip": (4, SKIPS), "instid1": (7, INSTANCES)}
    value = 0
    for name, given in _calls(text):
        if name not in places or given not in places[name][1]:
            raise Error(f"cannot read '{name}({given})' of s_delay_alu")
        value |= places[name][1].index(given) << places[name][0]
    return value


def _hardware(text: str, family: str, symbols: Mapping[str, int]) -> int:
    calls = _calls(text) if text.startswith("hwreg") else [("hwreg", text)]
    call = calls[0]
    register, *more = [part.strip() for part in call[1].split(",")]
    names = {f"HW_REG_{name}": number for number, name in hardware_registers(family).items()}
    number = names[register] if register in names else integer(register, symbols)
    offset, size = (integer(each, symbols) for each in more) if len(more) == 2 else (0, 32)
    if len(calls) > 1 or call[0] != "hwreg" or len(more) not in (0, 2):
        raise Error(f"cannot read '{text}'; it is hwreg(NAME) or hwreg(NAME, OFFSET, SIZE)")
    _bounded("the register", number, 63)
    return number | _bounded("the offset", offset, 31) << 6 | _bounded("the size less one", size - 1, 31) << 11


@lru_cache(maxsize=32)
def _printed(style: str, family: str) -> dict[str, int]:
    """The value of every text that a style prints."""
    found: dict[str, int] = {}
    for value in range(1 << 16):
        found.setdefault(STYLES[style](value, family).replace(" ", ""), value)
    return found


def _by_text(style: str) -> Callable[[str, str, Mapping[str, int]], int]:
    def read(text: str, family: str, symbols: Mapping[str, int]) -> int:
        found = _printed(style, family).get(text.replace(" ", ""))
        if found is None:
            raise Error(f"cannot read '{text}'")
        return found

    return read


_READERS: dict[str, Callable[[str, str, Mapping[str, int]], int]] = {
    "waitcnt": _counters, "depctr": _dependencies, "delay": _delay, "hwreg": _hardware, "sendmsg": _by_text("sendmsg"),
    "gpridx": _by_text("gpridx"), "version": _by_text("version"),
}  # fmt: skip


@lru_cache(maxsize=1)
def _swizzles() -> dict[str, int]:
    found: dict[str, int] = {}
    for value in range(1 << 16):
        found.setdefault(swizzle(value), value)
    return found


def swizzle_value(text: str) -> int:
    """The offset of a pattern of ds_swizzle_b32.

    Raises:
        Error: LLVM prints no such pattern.
    """
    found = _swizzles().get(text.replace(" ", ""))
    if found is None:
        raise Error(f"cannot read '{text}'")
    return found
