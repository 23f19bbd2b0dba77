"""The one error class that users meet, and the "did you mean" that goes with it."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a third of a bare interpreter's start, so no module imports it
if TYPE_CHECKING:
    from collections.abc import Iterable


class Error(ValueError):
    """Something the user gave cannot be answered.

    The message says what was given, what is allowed, and what would be right. Every public function
    raises this and no other error for bad input; the command line prints it and exits with status 2.
    """


def did_you_mean(given: str, known: Iterable[str], most: int = 3) -> str:
    """A clause that names the closest known spellings, or an empty string when none is close.

    >>> did_you_mean("v_mfma_f32_32x32x8_f61", ["v_mfma_f32_32x32x8_f16", "v_mfma_f64_4x4x4_4b_f64"])
    ' Did you mean v_mfma_f32_32x32x8_f16?'
    """
    from difflib import get_close_matches  # costs 4 ms, so only when something is already wrong

    close = get_close_matches(given.lower(), list(known), n=most, cutoff=0.7 if len(given) > 5 else 0.6)
    if not close:
        return ""
    return f" Did you mean {' or '.join(close)}?"
