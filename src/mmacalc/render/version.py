"""The version, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..answers.version import Version

__all__ = ["json_object", "text"]


def text(answer: Version) -> str:
    """One line."""
    return f"mmacalc {answer.mmacalc}\n"


def json_object(answer: Version) -> dict[str, Any]:
    """All that a bug report needs."""
    return {
        "mmacalc": answer.mmacalc,
        "python": answer.python,
        "platform": answer.platform,
        "packages": dict(answer.packages),
        "core": answer.core,
        "llvm": list(answer.llvm),
        "targets": list(answer.targets),
    }
