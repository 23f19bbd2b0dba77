"""The launches that look for the edit which makes a result right."""

from __future__ import annotations

import numpy as np

from ...asm.code_objects import Kernel
from ...base.checks import shown
from ...base.errors import Error, plural
from ..amd.program import program_of
from ..amd.target import MachineTarget
from ..device.launch import AddressedValue, Progress
from ..following.launches import Kept
from ..launching import launch_observed
from ..ptx.tensor_map import TensorMapArgument
from . import InstructionRepair, Repairs
from .amd_edits import amd_edits, edited
from .edits import KIND, Change, changes_alike
from .ptx_edits import changed_kernel, ptx_edits
from .slices import LEVELS, Slices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...base.arrays import Array
    from ..following.launches import Launched
    from .edits import Edit

__all__ = ["searched"]

LIMIT = 200_000
"""Instructions of a launch whose original does not end."""


class _Wanted:
    """The right results: arrays of the arguments with what they are to hold."""

    def __init__(self, launched: Launched, expected: Mapping[int | str, Any], tolerance: float | None) -> None:
        self.arrays = [(name, *_result(launched, name, value)) for name, value in expected.items()]
        if not self.arrays:
            raise Error("expected has no array: give the right content of each argument that the kernel writes")
        self.tolerance = tolerance

    def wrong(self) -> list[tuple[int | str, Array, Array, Array]]:
        """The arguments with wrong elements: which, what they hold, and what is right."""
        found = []
        for name, array, right in self.arrays:
            off = _wrong(array, right, self.tolerance)
            if off.any():
                found.append((name, off, array, right))
        return found

    def words(self) -> str:
        """What is wrong now; "" if nothing is."""
        lines = []
        for name, off, array, right in self.wrong():
            at = np.unravel_index(int(np.flatnonzero(off.reshape(-1))[0]), off.shape)
            place = ", ".join(map(str, map(int, at)))
            which = f"argument {name}" if isinstance(name, int) else name
            lines.append(f"{which}: {int(off.sum())} of {plural(off.size, 'element')} are wrong; "
                         f"[{place}] is {array[at]} where {right[at]} is right")  # fmt: skip
        return "; ".join(lines)


def _result(launched: Launched, name: int | str, value: Any) -> tuple[Array, Array]:
    """The array of an argument, and its right content in its shape."""
    kernel, args = launched.kernel, launched.args
    if isinstance(kernel, Kernel):
        names = [one.name or str(number + 1) for number, one in enumerate(kernel.given_arguments)]
    else:
        names = list(kernel.parameters)
    where = name - 1 if isinstance(name, int) else names.index(name) if name in names else -1
    if not 0 <= where < len(args):
        raise Error(
            f"expected names argument {shown(name)}; the kernel has {', '.join(names)}, by name or number from 1"
        )
    given = args[where]
    array = given.array if isinstance(given, (AddressedValue, TensorMapArgument)) else given
    if not isinstance(array, np.ndarray):
        raise Error(f"argument {name} is a single value: only an array, which a kernel writes to, can be wrong")
    right = np.asarray(value)
    if right.size != array.size:
        raise Error(f"argument {name} has {plural(array.size, 'element')}; {right.size} are expected")
    return array, right.reshape(array.shape)


def _wrong(found: Array, right: Array, tolerance: float | None) -> Array:
    """Which elements are wrong. tolerance: of the largest right one; if left out 0 for integers, 2^-8 for floats."""
    if tolerance is None:
        tolerance = 0.0 if found.dtype.kind in "iub" else 2.0**-8
    with np.errstate(invalid="ignore"):
        one, other = found.astype(np.float64), right.astype(np.float64)
        most = np.abs(other[np.isfinite(other)]).max(initial=0.0)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        off: Array = ~same & ~(np.abs(one - other) <= tolerance * most)
    return off


class _Trials:
    """Launches of a kernel and of its edits, always with the arrays as they were before the first one."""

    def __init__(self, launched: Launched, wanted: _Wanted) -> None:
        self.launched, self.wanted = launched, wanted
        self.kept, self.count = Kept(launched.machines), 0
        self.report: Any = None
        self.stopped, self.limit = "", LIMIT
        self.slices = Slices(launched.machines)
        self.levels: dict[int, int] | None = None

    def first(self) -> None:
        """Launch the kernel as it is: its report, or why it was stopped; and what wrong results came through."""
        observers = self.kept, self.slices
        try:
            self.report, machine = launch_observed(*self.launched[:5], observers, self.launched.progress)
        except Error as error:
            self.stopped = str(error)
            self.limit = self.launched.options.get("limit") or LIMIT
            self.levels = self.slices.stopped() or None
            return
        reached, executed = _reached(self.launched.kernel, machine)
        self.limit = 4 * executed + 1000
        self.levels = self.slices.levels([(array, off) for _, off, array, _ in self.wanted.wrong()])
        if self.levels is None:
            self.levels = dict.fromkeys(reached, 0)

    def adds(self, kernel: Any) -> tuple[str, ...] | None:
        """The kinds of findings that an edited kernel has and the kernel as it is has not; None where its result is
        wrong, too."""
        self.kept.put_back()
        self.count += 1
        options = {**self.launched.options, "limit": self.limit}
        try:
            report, _ = launch_observed(kernel, *self.launched[1:4], options, (), False)
        except Error:
            return None
        if self.wanted.wrong():
            return None
        known = {(one.kind, one.text) for one in self.report.findings} if self.report else set()
        return tuple(sorted({one.kind for one in report.findings if (one.kind, one.text) not in known}))


def _reached(kernel: Any, launch: Any) -> tuple[frozenset[int], int]:
    """The places that a launch has executed, and how many instructions."""
    if isinstance(kernel, Kernel):
        steps = program_of(kernel, MachineTarget(kernel.target, kernel.wavefront_size)).steps
        counts = {at: step.executed for at, step in steps.items() if step.executed}
    else:
        counts = {}
        for step, count in zip(launch.program.steps, launch.counts):
            if count:
                counts[step.line] = counts.get(step.line, 0) + count
    return frozenset(counts), sum(counts.values())


def searched(launched: Launched, expected: Mapping[int | str, Any], tolerance: float | None, most: int) -> Repairs:
    """As `find_repairs`."""
    wanted = _Wanted(launched, expected, tolerance)
    trials = _Trials(launched, wanted)
    trials.first()
    words = trials.stopped or wanted.words()
    if not words:
        return Repairs("", (), 0, 0, trials.report)
    results = [(array, array.copy()) for array, _ in trials.kept.contents]
    changes = _changes(launched.kernel, trials.levels, bool(trials.stopped))
    try:
        found = _repairs(trials, changes[:most])
    finally:
        for array, content in results:
            array[...] = content
    repairs = tuple([_repair(launched.kernel, change, adds) for change, adds in found])
    return Repairs(words, repairs, trials.count, len(changes), trials.report)


def _changes(kernel: Any, levels: dict[int, int] | None, stopped: bool) -> list[Change]:
    """The changes of a kernel, the nearest first: small ones of what is near to what is wrong. levels: of the
    instructions that matter (`Slices.levels`); None: all. stopped: what the launch did not come to matters, too."""
    reached = None if levels is None or stopped else frozenset(levels)
    edits = list(amd_edits(kernel, reached) if isinstance(kernel, Kernel) else ptx_edits(kernel, reached))
    level = (levels or {}).get
    far = LEVELS if stopped else 0
    found = [Change(edit.cost + KIND * level(edit.place, far), (edit,)) for edit in edits]
    for some in changes_alike(edits, lambda edit: _location(kernel, edit)):
        nearest = min(level(edit.place, far) for edit in some)
        found.append(Change(some[0].cost + KIND * nearest + 1, some))
    return sorted(found, key=lambda change: change.rank)


def _repairs(trials: _Trials, changes: list[Change]) -> list[tuple[Change, tuple[str, ...]]]:
    """The nearest changes with which the result is right and nothing more is found than before; if there are none,
    those with which more is found, and of which kinds."""
    kernel = trials.launched.kernel
    found: list[tuple[Change, tuple[str, ...]]] = []
    others: list[tuple[Change, tuple[str, ...]]] = []
    line = Progress(f"changes of {kernel.name}", len(changes), trials.launched.progress)
    try:
        for change in changes:
            if found and change.rank > found[0][0].rank:
                break
            line.done = trials.count
            line.tick()
            adds = trials.adds(_changed(kernel, change))
            if adds is not None:
                (others if adds else found).append((change, adds))
    finally:
        line.close()
    return found or others


def _changed(kernel: Any, change: Change) -> Any:
    """The kernel with a change."""
    for edit in change.edits:
        kernel = edited(kernel, edit) if isinstance(kernel, Kernel) else changed_kernel(kernel, edit)
    return kernel


def _location(kernel: Any, edit: Edit) -> Any:
    """The line of the source that an edit is in; None where that is not known."""
    if isinstance(kernel, Kernel):
        return kernel.source_lines.at(edit.place)
    name, index, _ = edit.code
    return kernel.module.functions[name].statements[index].location


def _repair(kernel: Any, change: Change, adds: tuple[str, ...]) -> InstructionRepair:
    """A change as the answer has it."""
    edit, count = change.edits[0], len(change.edits)
    place = f"{edit.place:#x}" if isinstance(kernel, Kernel) else f"line {edit.place}"
    kind = edit.kind if count == 1 else f"{edit.kind}, the same in {count} instructions"
    return InstructionRepair(place, edit.text, edit.new, kind, adds, _location(kernel, edit))
