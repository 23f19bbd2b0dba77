"""The former place of `device.memory`."""

from __future__ import annotations

from ..device.memory import GlobalMemory, Outside

__all__ = ["GlobalMemory", "Outside"]
