"""Kernels in everybody's tests: a launch is clean, a result is right, and a failed test says why.

    def test_my_kernel(mmacalc_launch):                     # the fixture of the pytest plugin, `mmacalc.pytest_plugin`
        report = mmacalc_launch(mmacalc.load("k.ptx")["gemm"], 4, 128, a, b, d)
        assert_matches(d, a @ b, rtol=1e-3)

`assert_clean` takes the report of any launch; `assert_matches` the result, and, of a matrix product, the instruction
and the inputs: its message is then what `mmacalc.diagnose` finds.
"""

from __future__ import annotations

import re

from .base.errors import Error, plural
from .base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import ArrayLike

    from .model import Instruction

__all__ = ["Ignored", "assert_clean", "assert_matches"]


class Ignored(TupleRecord):
    """Findings that a test accepts.

    pattern: a regular expression, searched in the finding's sentence. reason: why they are fine; it has to be said.
    """

    pattern: str
    reason: str

    @classmethod
    def of(cls, entry: Ignored | str | tuple[str, str]) -> Ignored:
        """An entry of an ignore list: itself, a pair, or a text "PATTERN: REASON", as command lines have it.

        Raises:
            Error: it has no reason, or its pattern is not a regular expression.

        >>> Ignored.of("race: line 34: the flag is only a hint")
        Ignored(pattern='race: line 34', reason='the flag is only a hint')
        """
        pattern, reason = entry.rpartition(": ")[::2] if isinstance(entry, str) else tuple(entry)
        if not pattern.strip() or not reason.strip():
            raise Error(f"what is ignored needs a reason, as 'race: line 34: the flag is a hint'; got {entry!r}")
        try:
            re.compile(pattern)
        except re.error as error:
            raise Error(f"'{pattern}' is not a regular expression: {error}") from None
        return cls(pattern, reason.strip())


def assert_clean(report: Any, ignore: Iterable[Ignored | str | tuple[str, str]] = ()) -> None:
    """Assert that a launch has no finding.

    Args:
        report: what `mmacalc.launch` returned, of any kind of kernel, or `mmacalc.run_program`: then no launch was
            stopped either, and the program ended with status 0.
        ignore: findings that do not count, each with its reason, see `Ignored`.

    Raises:
        AssertionError: there are findings; says each with its place.
        Error: an entry of `ignore` has no reason, or is not a regular expression.

    >>> import mmacalc
    >>> k = mmacalc.load('''.version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 p) {
    ... .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p]; st.global.b32 [%rd1], %r1; ret; }''')["k"]
    >>> import numpy
    >>> report = mmacalc.launch(k, 1, 1, numpy.zeros(1, numpy.float32))
    >>> assert_clean(report)
    Traceback (most recent call last):
    AssertionError: 1 finding:
    uninitialised: line 2: st.global.b32 [%rd1], %r1: %r1, which no instruction has written, is stored; CTA (0, 0, 0), \
thread 0
    >>> assert_clean(report, ["%r1: its value does not matter"])
    """
    __tracebackhide__ = True
    kept = [Ignored.of(entry) for entry in ignore]
    sentences = [str(found.sentence) for found in report.findings]
    wrong = [text for text in sentences if not any(re.search(one.pattern, text) for one in kept)]
    failures = list(getattr(report, "failures", ()))
    if wrong or failures:
        raise AssertionError("\n".join([*([f"{plural(len(wrong), 'finding')}:", *wrong] if wrong else []), *failures]))


def assert_matches(  # noqa: PLR0913
    given: ArrayLike,
    want: ArrayLike | None = None,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    instruction: Instruction | None = None,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    c: ArrayLike = 0,
    **modifiers: Any,
) -> None:
    """Assert that a result is right, element by element; the message says what is wrong with it.

    Args:
        given: what the kernel left. want: what it should be; A B + C by the instruction's arithmetic if left out.
        rtol, atol: abs(given - want) may be atol + rtol * the largest abs(want); NaN matches NaN.
        instruction, a, b, c, modifiers: of a product, what it was computed from: the message is then the diagnosis
            (see `mmacalc.diagnose`).

    Raises:
        AssertionError: it is not right.
        Error: neither `want` nor instruction, a and b were given; shapes that do not fit.

    >>> import numpy
    >>> assert_matches(numpy.eye(2), numpy.ones((2, 2)))
    Traceback (most recent call last):
    AssertionError: 2 of 4 elements differ, by up to 1 at [0, 1]: 0.0 where 1.0 is right
    """
    __tracebackhide__ = True
    import numpy as np

    if want is None:
        if instruction is None or a is None or b is None:
            raise Error("assert_matches takes the right result, or instruction=, a= and b= to compute it from")
        from .emulator.gemm import gemm

        want = gemm(a, b, c, instruction=instruction, **modifiers)
    found, right = np.asarray(given, np.float64), np.asarray(want, np.float64)
    if found.shape != right.shape:
        raise Error(f"the result has the shape {found.shape}; the right one has {right.shape}")
    finite = np.abs(right[np.isfinite(right)])
    with np.errstate(invalid="ignore"):
        off = np.abs(found - right)
        same = (found == right) | (np.isnan(found) & np.isnan(right))
        wrong = ~same & ~(off <= atol + rtol * finite.max(initial=0.0))
    if not wrong.any():
        return
    at = np.unravel_index(np.argmax(np.where(wrong, np.where(np.isnan(off), np.inf, off), -1.0)), wrong.shape)
    place = ", ".join(map(str, map(int, at)))
    lines = [
        f"{int(wrong.sum())} of {plural(wrong.size, 'element')} differ, by up to {off[at]:.6g} at [{place}]: "
        f"{found[at]} where {right[at]} is right"
    ]
    if instruction is not None and a is not None and b is not None:
        from .diagnosis.compare import diagnose

        lines.append(str(diagnose(instruction, a, b, c, d=given, **modifiers)))
    raise AssertionError("\n".join(lines))
