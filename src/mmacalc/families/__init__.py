"""The layout families: objects that answer how a generation of matrix instructions lays out its operands."""

from __future__ import annotations

from ..base.errors import Error, did_you_mean
from ..base.records import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Family

__all__ = ["FAMILIES", "family"]

# Where each family is defined: module and name. A module is imported when one of its families is first used.
FAMILIES = {
    "mfma": ("amd", "MFMA"),
    "wmma-rdna3": ("amd", "RDNA3"),
    "wmma-rdna4": ("amd", "RDNA4"),
    "wmma-cdna5": ("amd", "CDNA5"),
    "tensor-core": ("tensor_core", "TENSOR_CORE"),
    "dpas": ("dpas", "DPAS"),
    "simdgroup": ("stated", "SIMDGROUP"),
    "amx": ("stated", "AMX"),
    "sme": ("stated", "SME"),
}


def family(name: str) -> Family:
    """The family of that name.

    Raises:
        Error: there is none.

    >>> family("mfma").blocks
    True
    """
    if name not in FAMILIES:
        raise Error(
            f"unknown layout family '{name}'.{did_you_mean(name, FAMILIES)} Known: {', '.join(FAMILIES)}",
            kind="unknown name",
        )
    module, attribute = FAMILIES[name]
    found: Family = getattr(imported(f"{__name__}.{module}"), attribute)
    return found
