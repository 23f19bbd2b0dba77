"""Changes AMD kernels of Triton one instruction at a time, and says which changes are named or change a result.

    python tools/amd_mutations.py                          waits and barriers of every kernel for six targets
    python tools/amd_mutations.py gfx1250 attention        only these targets and kernels of tools/triton_kernels.py
    python tools/amd_mutations.py --values                 operands, offsets and modifiers instead
    python tools/amd_mutations.py --sample 4               at most four changes of each kernel and kind, by chance

A wait loses one of its counters, or gets a count that is one higher; a barrier is taken out (s_barrier, or a signal
with its wait); v_nop becomes s_nop 0, and s_nop one state shorter. With --values a register operand becomes the next
one, two sources are swapped, an offset grows, or op_sel or a sign is flipped. Machine code is changed in its place.

A change is *named* if the launch has a finding or is stopped by an error; *by lint* if only `mmacalc lint` names it, on
another path; *wrong* if only the results are others, by their bits; *in a note* if only the notes are; *silent* if
nothing is, which is listed, to be read. Changes of instructions that the launch does not reach are left out. The status
is 1 if a whole kernel has a finding.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import triton_kernels as kernels

import mmacalc
from mmacalc.asm.decoder import labelled, listing
from mmacalc.hazards.memory_counters import waits_of
from mmacalc.kernels.amd.program import program_of
from mmacalc.kernels.amd.target import MachineTarget

LIMIT = 1_000_000
"""Instructions of a launch: a change can make a loop that does not end."""
NOP = "s_nop 0"


class Change(NamedTuple):
    """Instructions to write at offsets of the code, and what kind of change that is."""

    kind: str
    at: int
    new: tuple[tuple[int, str], ...]


class Outcome(NamedTuple):
    """What a launch leaves: findings and notes as sentences, or why it was stopped, and the results' bytes."""

    findings: tuple[str, ...]
    notes: tuple[str, ...]
    results: bytes
    executed: frozenset[int]  # offsets of the instructions that were reached


# --- what is changed --------------------------------------------------------------------------------------------------


def wait_changes(lines: list[tuple[int, str]]) -> Iterator[Change]:
    """Waits and barriers that are taken out or weakened."""
    for number, (at, text) in enumerate(lines):
        name, _, rest = text.partition(" ")
        if name == "s_nop" and rest not in ("0", "0x0"):
            yield Change("s_nop", at, ((at, f"s_nop {int(rest, 0) - 1}"),))
        elif name == "v_nop":
            yield Change("v_nop", at, ((at, NOP),))
        elif name == "s_barrier":
            yield Change("barrier", at, ((at, NOP),))
        elif name == "s_barrier_signal":
            wait = next((place for place, later in lines[number:] if later.startswith("s_barrier_wait")), at)
            yield Change("barrier", at, ((at, NOP), (wait, NOP)))
        elif re.match(r"s_wait(cnt|_)", name) and name != "s_wait_event":
            yield from _weaker(at, name, rest)


def _weaker(at: int, name: str, rest: str) -> Iterator[Change]:
    """A wait without one of its counters, or with one that is one too high."""
    fields = re.findall(r"(\w+)\((\d+)\)", rest)
    kind = "result" if name in ("s_wait_alu", "s_waitcnt_depctr") else "wait"
    for field, count in fields:
        others = " ".join(f"{one}({number})" for one, number in fields if one != field)
        yield Change(kind, at, ((at, f"{name} {others}" if others else NOP),))
        if kind == "wait":
            yield Change("count", at, ((at, f"{name} {others} {field}({int(count) + 1})"),))
    if not fields:
        first, _, last = rest.rpartition(" ")
        yield Change("wait", at, ((at, NOP),))
        number = f"{int(last, 0) + 1:#x}"
        yield Change("count", at, ((at, " ".join(filter(None, (name, first, number)))),))


def value_changes(lines: list[tuple[int, str]]) -> Iterator[Change]:
    """Instructions of vectors, matrices and memory with another operand, offset or modifier."""
    for at, text in lines:
        name, _, rest = text.partition(" ")
        if not re.match(r"v_|ds_|global_|buffer_|flat_", name) or name == "v_nop" or " :: " in text:
            continue
        for kind, new in _with_other_values(name, rest):
            yield Change(kind, at, ((at, f"{name} {new}"),))


def _with_other_values(name: str, rest: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"\bv(\d+)\b|\bv\[(\d+):(\d+)\]", rest):
        words = f"v{int(found[1]) + 1}" if found[1] else f"v[{int(found[2]) + 1}:{int(found[3]) + 1}]"
        yield "register", rest[: found.start()] + words + rest[found.end() :]
    operands = re.split(r", (?![^\[]*\])", re.split(r" (?=\w+:)", rest)[0])
    tail = rest[len(", ".join(operands)) :]
    if name.startswith("v_") and len(operands) > 2 and operands[1] != operands[2]:
        operands[1:3] = operands[2:0:-1]
        yield "swap", ", ".join(operands) + tail
    if found := re.search(r"\boffset:(\d+)", rest):
        yield "offset", f"{rest[: found.start(1)]}{int(found[1]) + 4}{rest[found.end() :]}"
    for found in re.finditer(r"(?:op_sel|op_sel_hi|neg_lo|neg_hi):\[([01])", rest):
        yield "modifier", f"{rest[: found.start(1)]}{1 - int(found[1])}{rest[found.end() :]}"
    if found := re.search(r"-(v\d+)", rest):
        yield "modifier", rest[: found.start()] + rest[found.start() + 1 :]


def patched(code: bytes, target: str, change: Change, sizes: dict[int, int]) -> bytes | None:
    """The code with a change; None where that has no encoding of the same size, or is the same."""
    made = bytearray(code)
    for at, text in change.new:
        try:
            new = mmacalc.assemble(text, target)
        except mmacalc.Error:
            return None
        if len(new) != sizes[at]:
            return None
        made[at : at + len(new)] = new
    return None if bytes(made) == code or _idle(made, change, target) else bytes(made)


def _idle(made: bytearray, change: Change, target: str) -> bool:
    """Whether a count that is one higher waits for nothing: the hardware never has so many."""
    if change.kind != "count" or not target.startswith(("gfx9", "gfx10", "gfx11", "gfx12")):
        return False
    generation = "gfx9" if target.startswith("gfx9") else target[:5]
    name = change.new[0][1].partition(" ")[0]
    return not waits_of(name, int.from_bytes(made[change.at : change.at + 2], "little"), generation)


# --- launches ---------------------------------------------------------------------------------------------------------


class Compiled:
    """A kernel as Triton made it: its code is changed in the bytes of the object."""

    def __init__(self, name: str, target: str, folder: Path) -> None:
        self.name, self.target, self.made = name, target, kernels.compiled(kernels.CASES[name](), target)
        self.path, self.object = folder / "kernel.hsaco", self.made.asm["hsaco"]
        kernel = self._kernel(self.object)
        self.code, self.address = kernel.code, kernel.address
        self.lines = [(4 * word, text) for word, text in listing(kernel.code, target)]
        ends = [at for at, _ in self.lines[1:]] + [len(kernel.code)]
        self.sizes = {at: end - at for (at, _), end in zip(self.lines, ends)}

    def _kernel(self, content: bytes) -> Any:
        self.path.write_bytes(content)
        return mmacalc.load(self.path)[self.made.metadata.name]

    def launched(self, code: bytes) -> Outcome:
        """What a launch with this code leaves."""
        assert self.object.count(self.code) == 1
        kernel, case = self._kernel(self.object.replace(self.code, code)), kernels.CASES[self.name]()
        try:
            report = kernels.launched_on_amd(case, self.target, kernel, self.made.metadata.shared, limit=LIMIT)
        except mmacalc.Error as error:
            return Outcome((f"stopped: {error}",), (), b"", frozenset())
        results = b"".join(found.tobytes() for found, _ in case.want)
        findings, notes = (tuple(one.sentence for one in told) for told in (report.findings, report.notes))
        steps = program_of(kernel, MachineTarget(kernel.target, kernel.wavefront_size)).steps
        reached = frozenset(at - kernel.address for at, step in steps.items() if step.executed)
        return Outcome(findings, notes, results, reached)

    def linted(self, code: bytes) -> tuple[str, ...]:
        """What `mmacalc lint` finds in this code."""
        lines = labelled(code, self.target, self.address)
        text = "\n".join("".join(f"{label}:\n" for label in line.labels) + line.text for line in lines)
        return tuple(one.sentence for one in mmacalc.lint(text, self.target).findings)


def outcome_of(found: Outcome, whole: Outcome, linted: Callable[[], tuple[str, ...]]) -> str:
    """What a change did: one of `OUTCOMES`."""
    if found.findings:
        return "named"
    if linted():
        return "by lint"
    if found.results != whole.results:
        return "wrong"
    return "in a note" if {*found.notes} - {*whole.notes} else "silent"


# --- counting ---------------------------------------------------------------------------------------------------------


def chosen(kernel: Compiled, whole: Outcome, values: bool, most: int | None) -> list[tuple[Change, bytes]]:
    """The changes of what a launch reaches, with their code: all, or some of each kind, the same every time."""
    by_kind: dict[str, list[tuple[Change, bytes]]] = {}
    for change in (value_changes if values else wait_changes)(kernel.lines):
        if change.at in whole.executed and (code := patched(kernel.code, kernel.target, change, kernel.sizes)):
            by_kind.setdefault(change.kind, []).append((change, code))
    shuffle = random.Random(f"{kernel.target} {kernel.name}")
    return [one for found in by_kind.values()
            for one in (found if most is None or len(found) <= most else shuffle.sample(found, most))]  # fmt: skip


def study(kernel: Compiled, values: bool, most: int | None, counts: Counter[tuple[str, str]], verbose: bool) -> bool:
    """Try a kernel's changes, print the silent ones and count all; whether the whole kernel has no finding."""
    whole = kernel.launched(kernel.code)
    title = f"{kernel.target} {kernel.name}"
    linted = kernel.linted(kernel.code)
    for sentence in (*whole.findings, *linted):
        print(f"{title}: the whole kernel: {sentence}")
    texts = dict(kernel.lines)
    for change, code in chosen(kernel, whole, values, most):
        found = kernel.launched(code)
        what = outcome_of(found, whole, partial(kernel.linted, code))
        counts[change.kind, what] += 1
        if what == "silent" or verbose:
            new = change.new[0][1]
            print(f"{title} {kernel.address + change.at:#x} {change.kind}: {texts[change.at]} -> {new}: {what}")
        for sentence in found.findings[:2] if verbose else ():
            print(f"    {sentence}")
    sys.stdout.flush()
    return not (whole.findings or linted)


OUTCOMES = ("named", "by lint", "wrong", "in a note", "silent")


def table(counts: Counter[tuple[str, str]]) -> str:
    """A row for each kind of change, and one of all."""
    rows = [("change", "tried", *OUTCOMES)]
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    for title, own in [*((kind, [kind]) for kind in kinds), ("all", kinds)]:
        numbers = [sum(counts[kind, what] for kind in own) for what in OUTCOMES]
        rows.append((title, str(sum(numbers)), *map(str, numbers)))
    return "\n".join(" ".join(f"{cell:>10}" for cell in row) for row in rows)


def main(words: list[str]) -> int:
    """Study the kernels that are named, or all; the status."""
    most = None
    if "--sample" in words:
        at = words.index("--sample")
        most = int(words[at + 1])
        del words[at : at + 2]
    targets = [word for word in words if word in kernels.TARGETS] or list(kernels.TARGETS)
    names = [word for word in words if word in kernels.CASES] or list(kernels.CASES)
    counts: Counter[tuple[str, str]] = Counter()
    clean = True
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            for name in kernels.cases_of(target, names):
                kernel = Compiled(name, target, Path(folder))
                clean &= study(kernel, "--values" in words, most, counts, "--verbose" in words)
    print(table(counts))
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
