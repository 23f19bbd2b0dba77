"""Changes one statement of PTX kernels at a time, and says which changes are harmful and which of these are named.

    python tools/ptx_changes.py recorded                 kernels by nvcc that tests/data/ptx has (sm_90a)
    python tools/ptx_changes.py generated                what `mmacalc generate` makes: mma.sync, wgmma, tcgen05.mma
    python tools/ptx_changes.py sm_120a matmul           kernels of tools/triton_kernels.py, by target and name
    python tools/ptx_changes.py FOLDER ...               launches that tools/record_launch.py has recorded
    --sample 20                                          changes of each kernel, evenly over their kinds (20)
    --schedules 1,2                                      the other orders of the warps that are tried

A change is *harmful* if the default order or one of the others gives another result than the whole kernel, or none. It
is *named* if the launch in one of these orders has a finding, or is stopped by an error. It is named *there* if a
finding is at the changed statement (or the one behind it, where it was left out), or has it as the other statement. It
is *noted* if it is not named and a note says of bytes that nothing reads them, which is not said of the whole kernel.

What makes another right program is counted apart (kind "program"): a store or load left out or moved, a branch turned
round. A sanitizer cannot know what was meant; what it says of these is a bonus.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import ptx_deletions as deletions
from ptx_deletions import GUARD, Launching, differ

from mmacalc import Error
from mmacalc.kernels.ptx.compiler import compile_kernel
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read

WANTED = 0.95
PROGRAM = "program"
SYNCHRONISES = (
    r"bar(?:rier)?\.|fence|membar|cp\.async\.(?:bulk\.)?(?:commit|wait)|cp\.async\.mbarrier|mbarrier\.(?:init|arrive|"
    r"expect_tx)|wgmma\.(?:fence|commit|wait)|tcgen05\.(?:alloc|dealloc|commit|wait::st|cp)|setmaxnreg|griddepcontrol"
)
WAITS = r"mbarrier\.(?:try_wait|test_wait)"
# The pattern of a statement, the kind of the change, and what stands in its place: a text, or a function of the match.
NUMBER = r"(\d+)(\s*;)"


def _more(step: int) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{found[1]}{int(found[2]) + step}{found[3]}"


def _descriptor(change: Callable[[int], int]) -> Callable[[re.Match[str]], str]:
    """Changes the upper bits of a matrix descriptor, which stand as a number from 2^40 on."""
    return lambda found: f"{found[1]}{change(int(found[2]) % (1 << 64)) % (1 << 64)}{found[3]}" if (
        int(found[2]) % (1 << 64) >= 1 << 40) else found[0]  # fmt: skip


UPPER = rf"^(\s*{GUARD}(?:or|mov)\.b64\s.*[\s,])(-?\d{{13,}})(\s*;)"
RULES: tuple[tuple[str, str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"^(\s*{GUARD}(?:cp\.async|wgmma)\S*wait_group\S*\s+){NUMBER}", "wait_group one more", _more(1)),
    (rf"^(\s*{GUARD}mbarrier\.init\S*\s+\[[^]]*\],\s*){NUMBER}", "init one more", _more(1)),
    (rf"^(\s*{GUARD}mbarrier\S*expect_tx\S*\s.*,\s*){NUMBER}", "expect_tx 16 bytes more", _more(16)),
    (rf"^(\s*{GUARD}mbarrier\S*expect_tx\S*\s.*,\s*){NUMBER}", "expect_tx 16 bytes less", _more(-16)),
    (rf"^(\s*{GUARD}mbarrier\S*expect_tx\S*\s.*,\s*)(%r\d+)(\s*;)", "expect_tx 16 bytes more",
     r"{ .reg .b32 changed; add.u32 changed, \2, 16; \1changed; }"),
    (rf"^(\s*{GUARD}mbarrier\S*expect_tx\S*\s.*,\s*)(%r\d+)(\s*;)", "expect_tx 16 bytes less",
     r"{ .reg .b32 changed; sub.u32 changed, \2, 16; \1changed; }"),
    (UPPER, "stride of a descriptor", _descriptor(lambda word: word + (8 << 32))),
    (UPPER, "leading dimension of a descriptor", _descriptor(lambda word: word + (8 << 16))),
    (UPPER, "swizzle of a descriptor", _descriptor(lambda word: word ^ 3 << 62)),
    (UPPER, "base offset of a descriptor", _descriptor(lambda word: word ^ 1 << 49)),
    (rf"^(\s*{GUARD}{WAITS}\S*\s.*,\s*)([01])(\s*[,;])", "parity", lambda m: f"{m[1]}{1 - int(m[2])}{m[3]}"),
    (rf"^(\s*{GUARD}bar(?:rier)?\S*\s+)(\d+)(\s*[,;])", "number of the barrier", _more(1)),
    (rf"^(\s*{GUARD}bar(?:rier)?\S*\s+\S+,\s*){NUMBER}", "threads of the barrier", _more(32)),
    (r"\.release\b(?=.*(?:\.gpu|\.sys|\.cluster))", "release made relaxed", ".relaxed"),
    (r"\.acquire\b(?=.*(?:\.gpu|\.sys|\.cluster))", "acquire made relaxed", ".relaxed"),
    (rf"^(\s*{GUARD}(?:fence|membar|atom|red|ld|st)\S*)\.(?:gpu|sys)\b", "scope of one CTA", r"\1.cta"),
    (r"\bmembar\.(?:gl|sys)\b", "scope of one CTA", "membar.cta"),
    (rf"^(\s*{GUARD}{WAITS}\S*\s.*\],\s*)(%r\d+)(\s*[,;].*)", "parity",
     r"{ .reg .b32 changed; xor.b32 changed, \2, 1; \1changed\3 }"),
    (r"(fence\.proxy\.async)\.shared::cta\b", "fence of another state space", r"\1.global"),
    (r"(\.multicast::cluster\S*\s.*,\s*)%\w+(\s*;)", "mask of one CTA", r"\1 1\2"),
    (rf"^(\s*{GUARD}(?:ld|st|cp\.async)\S*shared\S*\s.*\[%\w+)(\+\d+)?\]", "address 16 bytes on",
     lambda m: f"{m[1]}+{int((m[2] or '+0')[1:]) + 16}]"),
    (rf"^(\s*{GUARD}(?:wgmma\.mma_async|tcgen05\.mma)\S*\s.*)\b(p|%p\d+|1)(\s*(?:,\s*1)*\s*;)", "accumulator kept",
     lambda m: f"{m[1]}0{m[3]}" if m[2] == "1" else m[0]),
    (rf"^(\s*{GUARD}tcgen05\.ld\S*\s.*\[%\w+)(\s*\+\s*\d+)?\]", "column 8 further",
     lambda m: f"{m[1]}+{int((m[2] or '+0').strip(' +')) + 8}]"),
    (rf"^(\s*{GUARD}tcgen05\.alloc\S*\s.*,\s*)(\d+)(\s*;)", "half the columns",
     lambda m: f"{m[1]}{int(m[2]) // 2}{m[3]}"),
    (rf"^(\s*)@(%p\d+\s+(?:{SYNCHRONISES}))", "guard turned round", r"\1@!\2"),
    (rf"^(\s*)@!?%p\d+\s+((?:{SYNCHRONISES}))", "guard left out", r"\1\2"),
    (rf"^(\s*{GUARD}(?:ld|st|red|atom)\S*(?:global|shared)\S*\s.*\[%\w+)(\+\d+)?\]", "address far outside",
     lambda m: f"{m[1]}+{1 << 28}]"),
)  # fmt: skip
ASYNCHRONOUS = (
    r"(?:cp\.async(?:\.ca|\.cg|\.bulk\.tensor|\.bulk\.global|\.bulk\.shared)|tcgen05\.cp|st\.async|red\.async)"
)


class Change(NamedTuple):
    """A change of one statement: its kind, line, text, and the text of the module with it."""

    kind: str
    line: int
    text: str
    module: str


class Judged(NamedTuple):
    """What came of a change: whether a result is another, the kinds of findings, whether one is there, and the notes of
    bytes that nothing reads."""

    change: Change
    harmful: bool
    named: tuple[str, ...]
    there: bool
    noted: frozenset[str]


class Outcome(NamedTuple):
    """Of a launch the kinds of findings, the lines that they name, its results, and what is said of unread bytes."""

    kinds: tuple[str, ...]
    lines: set[int]
    results: list[np.ndarray] | None
    unread: frozenset[str] = frozenset()


def changes(text: str) -> Iterator[Change]:
    """The changes of a module's text, by line."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        whole = re.match(rf"\s*{GUARD}[a-z][\w.:]*(?:\s[^;{{}}]*(?:{{[^}}]*}}[^;{{}}]*)*)?;", line)
        if whole is None:
            continue
        for kind, changed in _of_line(lines, at):
            yield Change(kind, at + 1, line.strip(), changed)


def _of_line(lines: list[str], at: int) -> Iterator[tuple[str, str]]:
    """The kinds of changes of a line's statement, and the texts that they make."""
    line = lines[at]

    def replaced(*new: str) -> str:
        return "\n".join([*lines[:at], *new, *lines[at + 1 :]])

    synchronises = re.match(rf"\s*{GUARD}(?:{SYNCHRONISES})", line)
    if (synchronises or re.match(rf"\s*{GUARD}{WAITS}", line)) and (without := deletions.without(lines, at)):
        yield "left out", without
    elif re.match(rf"\s*{GUARD}{ASYNCHRONOUS}", line):
        stores = re.search(r"\.global\.shared", line)  # of a tile, by a bulk copy
        yield PROGRAM if stores else "copy left out", replaced("")
    elif re.match(rf"\s*{GUARD}(?:st|red)\S*(?:shared|global)", line):
        yield PROGRAM, replaced("")
    if synchronises:
        if re.search(r"arrive|commit|init|alloc|red", line):
            yield "doubled", replaced(f"{line} {line.strip()}" if line.count(";") == 1 else line)
        if at + 1 < len(lines) and re.match(rf"\s*{GUARD}(?:ld|st|cp\.async|wgmma\.mma|tcgen05\.mma)", lines[at + 1]):
            yield "moved over an access", "\n".join([*lines[:at], lines[at + 1], line, *lines[at + 2 :]])
    for pattern, kind, new in RULES:
        changed = re.sub(pattern, new, line, count=1)
        if changed != line:
            yield kind, replaced(changed)


def sample(found: list[Change], most: int) -> list[Change]:
    """At most so many changes, evenly over their kinds, and those of a kind evenly over the text."""
    kinds: dict[str, list[Change]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    taken: list[Change] = []
    left = most
    for number, (_, some) in enumerate(sorted(kinds.items(), key=lambda item: len(item[1]))):
        count = min(len(some), -(-left // (len(kinds) - number)))
        taken += [some[place] for place in np.linspace(0, len(some) - 1, count).round().astype(int)]
        left -= count
    return taken


def _found(launching: Launching, text: str, schedule: int | None) -> Outcome:
    """What came of a launch."""
    arguments, results = launching.make()
    given = {"arguments": arguments} if isinstance(arguments, list) else {"arguments": (), "buffer": arguments}
    try:
        module = read(text)
        kernel = PtxKernel(module, launching.entry or module.entries[0].name)
        launch = Launch(kernel, launching.grid, launching.block, shared=launching.shared, schedule=schedule,
                        cluster=launching.cluster, limit=launching.limit, **given)  # fmt: skip
        report = launch.run()
    except Error as error:
        return Outcome((f"stopped: {error}",), {int(one) for one in re.findall(r"\bline (\d+)", str(error))}, None)
    kinds = tuple(sorted({finding.kind for finding in report.findings}))
    places = {line for one in report.findings for line in (one.line, one.other_line) if line}
    unread = frozenset(note for note in report.notes if "nothing reads" in note)
    return Outcome(kinds, places, None if "deadlock" in kinds else results, unread)


def judged(launching: Launching, change: Change, whole: Outcome, schedules: list[int | None]) -> Judged:
    """Run a changed kernel until a result is another and something is named, in the orders that are given."""
    harmful, named, there, noted = False, (), False, frozenset()
    for schedule in schedules:
        found = _found(launching, change.module, schedule)
        named, harmful = named or found.kinds, harmful or differ(found.results, whole.results)
        there = there or not found.lines.isdisjoint((change.line, change.line + 1))
        noted |= found.unread - whole.unread
        if harmful and named:
            break
    return Judged(change, harmful, named, there, noted)


def study(name: str, launching: Launching, most: int, schedules: list[int | None]) -> tuple[int, list[Judged]]:
    """The false findings of the whole kernel, and what came of its changes, which are printed where not named."""
    runs = [_found(launching, launching.text, schedule) for schedule in schedules]
    wrong = [(schedule, one) for schedule, one in zip(schedules, runs)
             if one.kinds or differ(one.results, runs[0].results)]  # fmt: skip
    for schedule, one in wrong:
        print(f"{name}: the whole kernel, schedule {schedule}: {', '.join(one.kinds) or 'another result'}")
    for note in sorted(runs[0].unread):
        print(f"{name}: the whole kernel: {note}")
    made = [judged(launching, one, runs[0], schedules) for one in sample(list(changes(launching.text)), most)]
    harmful = [one for one in made if one.harmful and one.change.kind != PROGRAM]
    named = sum(bool(one.named) for one in harmful)
    print(f"{name[:60]}: {len(made)} changes, {len(harmful)} harmful, {named} of them named, "
          f"{sum(one.there for one in harmful)} there", flush=True)  # fmt: skip
    for one in harmful:
        if not one.named:
            said = "in a note" if one.noted else "not named"
            print(f"    {said}: {one.change.kind}: line {one.change.line}: {one.change.text[:100]}", flush=True)
            for note in sorted(one.noted)[:3]:
                print(f"        {note[:160]}", flush=True)
    return len(wrong), made


def of_folder(folder: Path) -> Iterator[tuple[str, Launching]]:
    """A recorded launch (tools/record_launch.py, tools/cute_programs.py): its binary or kernel.ptx, and the rest."""
    import mmacalc
    from mmacalc.ptx.fatbins import ptx_texts

    entry, grid, block, cluster, shared, *blocks = (folder / "launch.txt").read_text().splitlines()
    starts = [tuple(int(word) for word in line.split()) for line in blocks]
    program = folder / "program"
    texts = ptx_texts(program.read_bytes(), program.name) if program.exists() else [(folder / "kernel.ptx").read_text()]
    text = deletions.alone(next(one for one in texts if entry in one), entry)
    size = compile_kernel(read(text), entry).parameter_bytes
    raw = (folder / "parameters").read_bytes()[:size]
    memory = [np.fromfile(folder / f"memory{number}", np.uint8) for number in range(len(starts))]

    def make() -> tuple[bytes, list[np.ndarray]]:
        arrays, packed = [one.copy() for one in memory], bytearray(raw)
        for at in range(0, len(raw) - 7, 4):  # pointers, also those within tensor maps
            word = int.from_bytes(raw[at : at + 8], "little")
            for (start, size), array in zip(starts, arrays):
                if start <= word < start + size:
                    address = mmacalc.address_of(array) + word - start
                    packed[at : at + 8] = address.to_bytes(8, "little")
        return bytes(packed), arrays

    sizes = [tuple(int(word) for word in line.split()) for line in (grid, block, cluster)]
    yield folder.name, Launching(text, *sizes[:2], int(shared), make, entry, sizes[2])


def kernels(words: list[str]) -> Iterator[tuple[str, Launching]]:
    """The kernels that the words of the command line name."""
    if words[:1] == ["recorded"]:
        yield from deletions.of_recorded()
    elif words[:1] == ["generated"]:
        yield from deletions.of_generated()
    elif words and Path(words[0]).is_dir():
        for word in words:
            yield from of_folder(Path(word))
    else:
        yield from deletions.of_triton_kernels(words)


def _option(words: list[str], name: str, default: str) -> str:
    if name not in words:
        return default
    at = words.index(name)
    _, value = words[at : at + 2]
    del words[at : at + 2]
    return value


def main(words: list[str]) -> int:
    """Study the kernels that are named; the status is 1 if less than 95 % are named or a finding is false."""
    most = int(_option(words, "--sample", "20"))
    schedules = [None, *[int(word) for word in _option(words, "--schedules", "1,2").split(",")]]
    counts: Counter[str] = Counter()
    for name, launching in kernels(words):
        false, made = study(name, launching, most, schedules)
        counts["kernels"], counts["false"] = counts["kernels"] + 1, counts["false"] + false
        for one in made:
            kind = PROGRAM + " " if one.change.kind == PROGRAM else ""
            counts[f"{kind}changes"] += 1
            counts[f"{kind}harmful"] += one.harmful
            counts[f"{kind}named"] += one.harmful and bool(one.named)
            counts[f"{kind}there"] += one.harmful and one.there
            counts[f"{kind}noted"] += one.harmful and not one.named and bool(one.noted)
    print(f"{counts['kernels']} kernels, {counts['changes']} changes: {counts['named']} of {counts['harmful']} harmful "
          f"ones are named, {counts['there']} there; {counts['noted']} in a note; {counts['false']} false findings. "
          f"Other programs: {counts['program named']} of {counts['program harmful']}, {counts['program noted']} in a "
          f"note")  # fmt: skip
    return 1 if counts["false"] or counts["named"] < WANTED * counts["harmful"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
