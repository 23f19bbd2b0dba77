"""Profiles of kernels as a picture."""

from __future__ import annotations

from ...drawing.scene import Box, Label, Line, Scene, style
from .tables import COLUMNS, SHOWN, by_column, loop_name, memory_word, share, source_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...drawing.scene import Style
    from ...kernels.device.profile import Counts, Profile

__all__ = ["plot"]

WIDTH, LABELS, BAR, ROW = 760, 210, 400, 20


def plot(found: Sequence[Profile], colours: str = "light") -> Scene:
    """One kernel below the other: how busy the model's pipes are; by line (or loop, or instruction) the wave
    instructions by kind, and how long waves stand there."""
    look = style(colours)
    shapes: list[Box | Line | Label] = []
    y = 0.0
    for one in found:
        y = _plotted(shapes, one, look, y)
    title = " and ".join([f"{one.kernel} for {one.target}" for one in found])
    told = "; ".join(
        [
            f"{one.kernel}: {one.counts.executed} wave instructions"
            + (f", bound by {one.model.bound} in a model of issue" if one.model else "")
            for one in found
        ]
    )
    return Scene(WIDTH, y + 12, look.paper, f"Profile of {title}", told, (tuple(shapes),))


def _plotted(shapes: list[Box | Line | Label], found: Profile, look: Style, top: float) -> float:
    """Draw one kernel from a height on; gives the height below it."""
    fills = _fills(look)
    what = f"{found.kernel} for {found.target}: {found.counts.executed} instructions"
    shapes.append(Label(16, top + 28, what, 14, look.text, "start", "bold"))
    y = top + 44
    if found.model is not None:
        shapes.append(Label(16, y + 8, f"busy in the model of issue; most bound by {found.model.bound}", 12, look.quiet,
                            "start"))  # fmt: skip
        y += 18
        for unit in found.model.units:
            _bar(shapes, unit.name, [(fills["matrix"], unit.busy)], f"{100 * unit.busy:.0f} %", y, look)
            y += ROW
    y += 14
    x = 16.0
    for kind in COLUMNS:
        name = memory_word(found) if kind == "shared" else kind
        shapes += [Box(x, y, 12, 12, fills[kind]), Label(x + 17, y + 10, name, 12, look.text, "start")]
        x += 36 + 9 * len(name)
    y += 24
    rows = _rows(found)
    most = max([counts.executed for _, counts in rows], default=1)
    for name, counts in rows:
        parts = [(fills[kind], number / most) for kind, number in zip(COLUMNS, by_column(counts))]
        stalled = share(counts.stalled or 0.0, found.counts.stalled or 0.0) if found.model else ""
        _bar(shapes, name, parts, f"{counts.executed}" + (f", stalled {stalled}" if stalled else ""), y, look)
        y += ROW
    return y


def _rows(found: Profile) -> list[tuple[str, Counts]]:
    """What the picture has a row for: lines of the source; without any the loops, and all."""
    if found.lines:
        return [(source_text(line.location), line.counts) for line in found.lines[:SHOWN]]
    loops = [(loop_name(found, loop).strip(), loop.counts) for loop in found.loops[:SHOWN]]
    return [*loops, ("the whole kernel", found.counts)]


def _bar(
    shapes: list[Box | Line | Label], name: str, parts: Sequence[tuple[str, float]], behind: str, y: float, look: Style
) -> None:
    shapes.append(Label(LABELS - 8, y + 11, name if len(name) < 30 else f"...{name[-27:]}", 12, look.text, "end"))
    x = float(LABELS)
    for fill, length in parts:
        if length > 0:
            shapes.append(Box(x, y, BAR * length, ROW - 6, fill))
            x += BAR * length
    shapes.append(Label(x + 6, y + 11, behind, 11, look.quiet, "start"))


def _fills(look: Style) -> dict[str, str]:
    first, second, third, fourth = look.ramps
    return {"matrix": first[1], "vector": first[0], "scalar": third[0], "shared": second[1], "memory": second[0],
            "wait": fourth[1], "other": look.strip}  # fmt: skip
