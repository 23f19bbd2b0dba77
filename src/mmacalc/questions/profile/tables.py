"""Profiles of kernels as text: one kernel, or two side by side."""

from __future__ import annotations

from os.path import basename

from ...base.errors import plural
from ...command.tables import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...kernels.device.issue import IssueModel
    from ...kernels.device.profile import Counts, Profile, Profiled, ProfiledLoop

__all__ = ["COLUMNS", "SHOWN", "by_column", "comparison", "loop_name", "memory_word", "share", "source_text", "text"]

SHOWN = 12
"""Lines and instructions that the text lists without --all."""
COLUMNS = ("matrix", "vector", "scalar", "shared", "memory", "wait", "other")
OTHER = ("other", "barrier", "branch", "scalar memory")


def by_column(counts: Counts) -> list[int]:
    """The instructions of each column of the tables."""
    kinds = counts.kinds
    return [*[kinds.get(kind, 0) for kind in COLUMNS[:-1]], sum(kinds.get(kind, 0) for kind in OTHER)]


def memory_word(found: Profile) -> str:
    """What the vendor calls LDS."""
    return "shared" if found.wave_size == 32 and found.target.startswith("sm_") else "LDS"


def _header(found: Profile, first: Sequence[str]) -> list[str]:
    names = [memory_word(found) if name == "shared" else name for name in COLUMNS]
    unit = found.unit.split("-byte ")[-1]
    cells = [*first, "all", *names]
    if found.launched:
        cells += [f"{unit}: moved", "needed", f"{memory_word(found)} cycles", "conflicts"]
    return [*cells, "stalled"] if found.model is not None else cells


def _cells(found: Profile, counts: Counts) -> list[str]:
    cells = [str(counts.executed), *map(_number, by_column(counts))]
    if found.launched:
        cells += map(_number, (counts.moved, counts.needed, counts.shared_cycles, counts.conflicts))
    if found.model is not None:
        cells.append(share(counts.stalled or 0.0, found.counts.stalled or 0.0))
    return cells


def _number(value: int) -> str:
    return str(value) if value else ""


def share(part: float, whole: float) -> str:
    """A share in percent; "" of nothing."""
    return f"{100 * part / whole:.0f} %" if part and whole else ""


def _place(found: Profile, place: int) -> str:
    return f"line {place}" if found.target.startswith("sm_") else f"{place:#x}"


def text(found: Profile, everything: bool = False) -> str:
    """The summary, and tables by loop, by line and by instruction; then what the model says."""
    parts = ["\n".join(_summary(found))]
    if found.loops:
        rows = [[loop_name(found, loop), f"{loop.iterations:g}" if found.launched else "", *_cells(found, loop.counts)]
                for loop in found.loops]  # fmt: skip
        parts.append(f"By loop:\n{_table(_header(found, ('loop', 'turns')), rows)}")
    if found.lines:
        lines = found.lines if everything else found.lines[:SHOWN]
        rows = [[source_text(line.location), *_cells(found, line.counts), line.text[:60]] for line in lines]
        parts.append(f"By line of the source{_of(lines, found.lines)}:\n"
                     f"{_table([*_header(found, ('line',)), 'source'], rows)}")  # fmt: skip
    parts.append(_instructions(found, everything))
    if found.model is not None:
        parts.append("\n".join(_model_lines(found, found.model)))
    elif found.launched:
        parts.append(f"No model of issue: {found.no_model}.")
    return "\n\n".join(parts) + "\n"


def _of(some: Sequence[object], whole: Sequence[object]) -> str:
    return "" if len(some) == len(whole) else f", {len(some)} of {len(whole)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns that are empty."""
    kept = [at for at, name in enumerate(header) if any(row[at] for row in rows)]
    return write([header[at] for at in kept], [[row[at] for at in kept] for row in rows], "markdown").rstrip("\n")


def loop_name(found: Profile, loop: ProfiledLoop) -> str:
    """A loop in words."""
    source = f" ({source_text(loop.location)})" if loop.location is not None else ""
    return f"{'  ' * loop.depth}{_place(found, loop.first)} to {_place(found, loop.last)}{source}"


def source_text(place: Any) -> str:
    """A line of the source, its file without folders."""
    return f"{basename(place.file)}:{place.line}"


def _summary(found: Profile) -> list[str]:
    counts, held = found.counts, found.occupancy
    if found.launched:
        waves = "warp" if found.target.startswith("sm_") else "wave"
        ran = f"{counts.executed} {waves} instructions of {plural(found.waves, waves)} in "
        lines = [f"{found.kernel} for {found.target}: {ran}{plural(found.workgroups, 'workgroup')}"]
    else:
        lines = [f"{found.kernel} for {found.target}: {found.why}; counts are of the listing, each "
                 f"of its {counts.executed} instructions once"]  # fmt: skip
    word = memory_word(found) if memory_word(found) == "LDS" else "shared memory"
    registers = f"{held.vector_registers} registers of a lane, " if held.vector_registers else ""
    scalars = f"{held.scalar_registers} of a wave, " if held.scalar_registers else ""
    scratch = f", {plural(held.scratch_bytes, 'byte')} of scratch" if held.scratch_bytes else ""
    lines.append(f"{registers}{scalars}{plural(held.shared_bytes, 'byte')} of {word}{scratch}")
    if held.waves is None:
        lines.append(f"occupancy: {held.limit}")
    else:
        groups = plural(held.workgroups or 0, "workgroup")
        lines.append(f"occupancy: {held.waves} of {held.most} waves on a SIMD, {groups} on a compute unit; "
                     f"limited by {held.limit}")  # fmt: skip
    if found.launched:
        each = f"; {counts.moved} {found.unit} moved, {counts.needed} would hold the bytes" if counts.moved else ""
        lines.append(f"global memory: {counts.loaded} bytes loaded, {counts.stored} stored{each}")
    if counts.shared_bytes:
        lines.append(f"{word}: {counts.shared_bytes} bytes, {plural(counts.shared_cycles, 'cycle')}, "
                     f"{counts.conflicts} of them bank conflicts")  # fmt: skip
    lines += [f"finding: {finding}" for finding in found.findings]
    return lines


def _instructions(found: Profile, everything: bool) -> str:
    listed = list(found.instructions)
    if not everything:
        hot = sorted(listed, key=lambda one: (-one.stalled, -one.executed))[:SHOWN]
        chosen = {id(one) for one in hot}
        listed = [one for one in listed if id(one) in chosen]
    unit = found.unit.split("-byte ")[-1]
    header = [
        "instruction",
        "kind",
        "times",
        f"{unit}: moved",
        "needed",
        "cycles",
        "conflicts",
        "stalled",
        "waits for",
        "text",
    ]
    rows = [_instruction(found, one) for one in listed]
    most = ", those where waves stand longest" if found.model is not None and not everything else ""
    return f"By instruction{most}{_of(listed, found.instructions)}:\n{_table(header, rows)}"


def _instruction(found: Profile, one: Profiled) -> list[str]:
    kind = memory_word(found) if one.kind == "shared" else one.kind
    most = max(one.stalls, key=lambda reason: one.stalls[reason]) if one.stalls else ""
    return [
        _place(found, one.place), kind, str(one.executed), *map(_number, (one.moved, one.needed, one.shared_cycles,
        one.conflicts)), share(one.stalled, found.counts.stalled or 0.0), most, one.text,
    ]  # fmt: skip


def _model_lines(found: Profile, model: IssueModel) -> list[str]:
    part = "" if model.whole else f", the first {model.instructions} instructions of each wave"
    lines = [
        f"A model of issue, not a measurement ({plural(model.workgroups, 'workgroup')} on one compute unit, "
        f"{model.waves:g} waves on a SIMD; the waves of workgroup {found.followed}{part}): {model.cycles:.0f} cycles",
        f"  most bound by: {model.bound}",
        "  busy: " + ", ".join([f"{unit.name} {100 * unit.busy:.0f} %" for unit in model.units]),
    ]
    gains = [one for one in model.what_if if one.cycles and model.cycles / one.cycles >= 1.01]
    if gains:
        faster = [f"{one.without} {model.cycles / one.cycles:.2f}" for one in gains]
        lines.append("  times as fast without: " + ", ".join(faster))
    total = sum(model.stalls.values())
    if total:
        waits = [
            f"{reason} {100 * cycles / total:.0f} %" for reason, cycles in model.stalls.items() if cycles > total / 100
        ]
        lines.append("  waves wait for: " + ", ".join(waits))
    lines.append("  its figures:")
    for figure in model.figures:
        value = f"{figure.value:g} {figure.unit}, " if figure.value else ""
        lines.append(f"    {figure.name}: {value}{figure.source}")
    return [*lines, f"  not in the model: {model.left_out}"]


# --- two kernels ---


def comparison(files: Sequence[str], found: Sequence[Profile]) -> str:
    """The kernels side by side: what they are, what they do, what the model says."""
    header = ["", *[f"{basename(file)}: {one.kernel} ({one.target})" for file, one in zip(files, found)]]
    if len(found) == 2:
        header.append("second / first")
    rows = [row for name, value in _MEASURES if (row := _compared(name, [value(one) for one in found]))]
    words = [["limited by", *[one.occupancy.limit for one in found]],
             ["bound by (model)", *[one.model.bound if one.model else f"no model: {one.no_model}" for one in found]],
             ["findings", *[str(len(one.findings)) for one in found]]]  # fmt: skip
    rows += [[*row, ""] if len(found) == 2 else row for row in words]
    text = write(header, rows, "markdown")
    notes = [f"{one.kernel} : {one.why}\n" for one in found if not one.launched]
    return text + "".join(notes)


def _compared(name: str, values: list[float | None]) -> list[str]:
    if not any(values):
        return []
    ratio = [f"{values[1] / values[0]:.2f}" if values[0] and values[1] is not None else ""] if len(values) == 2 else []
    return [
        name,
        *["" if value is None else f"{value:g}" if value < 1e6 else f"{value:.0f}" for value in values],
        *ratio,
    ]


def _kind(name: str) -> Callable[[Profile], float | None]:
    return lambda one: one.counts.kinds.get(name, 0)


def _pipe(name: str) -> Callable[[Profile], float | None]:
    def busy(one: Profile) -> float | None:
        units = one.model.units if one.model else ()
        return next((round(100 * unit.busy, 1) for unit in units if unit.name == name), None)

    return busy


def _per_matrix(one: Profile) -> float | None:
    matrix = one.counts.kinds.get("matrix", 0)
    return round((one.counts.executed - matrix) / matrix, 2) if matrix else None


_MEASURES: tuple[tuple[str, Callable[[Profile], float | None]], ...] = (
    ("workgroups", lambda one: one.workgroups or None),
    ("waves", lambda one: one.waves or None),
    ("wave instructions", lambda one: one.counts.executed),
    *[(f"  {name}", _kind(name)) for name in ("matrix", "vector", "scalar", "shared", "memory", "scalar memory", "wait",
                                              "barrier", "branch", "other")],
    ("others for each matrix instruction", _per_matrix),
    ("bytes loaded", lambda one: one.counts.loaded),
    ("bytes stored", lambda one: one.counts.stored),
    ("lines or sectors moved", lambda one: one.counts.moved),
    ("  that would hold the bytes", lambda one: one.counts.needed),
    ("LDS or shared memory: bytes", lambda one: one.counts.shared_bytes),
    ("  cycles", lambda one: one.counts.shared_cycles),
    ("  bank conflicts", lambda one: one.counts.conflicts),
    ("registers of a lane", lambda one: one.occupancy.vector_registers),
    ("LDS or shared memory of a workgroup", lambda one: one.occupancy.shared_bytes),
    ("scratch of a lane", lambda one: one.occupancy.scratch_bytes),
    ("waves on a SIMD", lambda one: one.occupancy.waves),
    ("cycles of the model", lambda one: one.model.cycles if one.model else None),
    *[(f"  % busy: {name}", _pipe(name)) for name in ("matrix", "vector", "scalar", "issue", "LDS", "shared memory",
                                                     "first cache")],
)  # fmt: skip
