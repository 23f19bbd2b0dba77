"""Deletes each synchronisation statement of PTX kernels, one at a time, and says which deletions are harmful and named.

    python tools/ptx_deletions.py sm_90a matmul_tma      kernels of tools/triton_kernels.py, by target and name
    python tools/ptx_deletions.py                        all of them, for three targets

A deletion is *harmful* if some legal schedule (another order of warps, completions as late or as early as PTX permits)
gives another result than the whole kernel, or none at all. It is *named* if the launch in the default order has a
finding or is stopped by an error. Of the harmful ones at least 95 % are to be named, and the whole kernel has no
finding in any schedule. Deletions that are named and harmful in no schedule are listed too: a missing proxy fence, for
example, changes no value here. The status is 1 if less are named.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mmacalc import Error
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read

SCHEDULES = (1, 2, 3)
MORE = (4, 6, 9, 12, 15)
WANTED = 0.95
GUARD = r"(?:@!?[%\w$]+\s+)?"
# What synchronises: barriers, fences, waits, commits, arrivals, initialisations. Waits in loops go with their loop.
SYNCHRONISES = re.compile(
    rf"^\s*{GUARD}(?:bar(?:rier)?\.|fence|membar|cp\.async\.(?:bulk\.)?(?:commit|wait)|cp\.async\.mbarrier|mbarrier\."
    r"(?:init|arrive|expect|try_wait|test_wait)|wgmma\.(?:fence|commit|wait)|tcgen05\.(?:commit|wait::st|fence))"
)


class Launching(NamedTuple):
    """A kernel's text, how it is launched, and the arrays that it leaves its results in, made anew by `make`."""

    text: str
    grid: Any
    block: Any
    shared: int
    make: Callable[[], tuple[list[Any], list[np.ndarray]]]


class Deletion(NamedTuple):
    """A statement without which the kernel was run: its line and text, the findings, whether a result was another."""

    line: int
    text: str
    named: tuple[str, ...]
    harmful: bool


def without(lines: list[str], at: int) -> str | None:
    """The text without the statement of a line; None where it is not a whole statement of that line."""
    found = re.match(r"^(\s*(?:[%\w$]+:\s*)?)([^;{}]*;)(.*)$", lines[at])
    if found is None:
        return None
    made = [*lines[:at], found[1] + found[3], *lines[at + 1 :]]
    waited = re.search(r"(?:try|test)_wait\S*\s+([%\w$]+)\s*,", found[2])
    if waited:  # the loop that asks again goes, too
        for after in range(at + 1, min(at + 4, len(made))):
            if re.search(rf"@!?{re.escape(waited[1])}\s+bra", made[after]):
                made[after] = ""
                break
    return "\n".join(made)


def outcome(launching: Launching, text: str, schedule: int | None) -> tuple[tuple[str, ...], list[np.ndarray] | None]:
    """The findings of a launch, and its results; no results where it does not come to its end."""
    arguments, results = launching.make()
    try:
        module = read(text)
        launch = Launch(
            PtxKernel(module, module.entries[0].name), launching.grid, launching.block, arguments, launching.shared,
            schedule=schedule,
        )  # fmt: skip
        report = launch.run()
    except Error as error:
        return (f"stopped: {error}",), None
    kinds = tuple(sorted({finding.kind for finding in report.findings}))
    return kinds, None if "deadlock" in kinds else results


def differ(found: list[np.ndarray] | None, want: list[np.ndarray] | None) -> bool:
    """Whether results are others; what another order of additions changes does not count."""
    if found is None or want is None:
        return found is not want
    for one, other in zip(found, want):
        a, b = one.astype(np.float64), other.astype(np.float64)
        if not np.allclose(a, b, rtol=0, atol=1e-4 * np.abs(b).max(initial=0), equal_nan=True):
            return True
    return False


def study(launching: Launching, schedules: tuple[int, ...] = SCHEDULES) -> tuple[list[str], list[Deletion]]:
    """What is wrong with the kernel as it is, and its deletions."""
    wrong = []
    named, want = outcome(launching, launching.text, None)
    for schedule in (None, *schedules):
        found, result = outcome(launching, launching.text, schedule)
        if found or differ(result, want):
            wrong.append(f"schedule {schedule}: {', '.join(found) or 'another result'}")
    lines, deletions = launching.text.split("\n"), []
    for at, line in enumerate(lines):
        text = without(lines, at) if SYNCHRONISES.match(line) else None
        if text is None:
            continue
        named, result = outcome(launching, text, None)
        harmful = differ(result, want)
        for schedule in (*schedules, *(MORE if named else ())):  # what is named should be harmful in some schedule
            harmful = harmful or differ(outcome(launching, text, schedule)[1], want)
        deletions.append(Deletion(at + 1, line.strip(), named, harmful))
    return wrong, deletions


def show(name: str, wrong: list[str], deletions: list[Deletion]) -> tuple[int, int]:
    """Print a kernel's deletions; how many are harmful, and how many of those are named."""
    for one in wrong:
        print(f"{name}: the whole kernel, {one}")
    harmful = [one for one in deletions if one.harmful]
    named = [one for one in harmful if one.named]
    more = [one for one in deletions if one.named and not one.harmful]
    print(f"{name}: {len(deletions)} deletions, {len(harmful)} harmful, {len(named)} of them named; "
          f"{len(more)} more named", flush=True)  # fmt: skip
    for one in deletions:
        if one.harmful and not one.named:
            print(f"    not named: line {one.line}: {one.text}")
    for one in more:
        print(f"    named, same result: line {one.line}: {one.text[:60]}: {', '.join(one.named)[:90]}")
    return len(harmful), len(named)


def of_triton(target: str, name: str) -> Launching:
    """A kernel of tools/triton_kernels.py."""
    import triton_kernels as kernels

    made = kernels.compiled(kernels.CASES[name](), target)
    module = read(made.asm["ptx"])
    threads = module.entries[0].attributes["reqntid"][0]

    def make() -> tuple[list[Any], list[np.ndarray]]:
        case = kernels.CASES[name]()
        return kernels.arguments_of(case, made), [found for found, _ in case.want]

    return Launching(made.asm["ptx"], kernels.CASES[name]().grid, threads, made.metadata.shared, make)


def main(words: list[str]) -> int:
    """Study the kernels that are named, or all; the status."""
    import triton_kernels as kernels

    targets = [word for word in words if word in kernels.CUDA] or list(kernels.CUDA)
    names = [word for word in words if word in kernels.CASES] or list(kernels.CASES)
    harmful = named = failed = 0
    for target in targets:
        for name in kernels.cases_of(target, names):
            start = time.process_time()
            wrong, deletions = study(of_triton(target, name))
            counts = show(f"{target} {name} ({time.process_time() - start:.0f} s)", wrong, deletions)
            harmful, named, failed = harmful + counts[0], named + counts[1], failed + len(wrong)
    print(f"{named} of {harmful} harmful deletions are named; {failed} findings in whole kernels")
    return 1 if failed or named < WANTED * harmful else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
