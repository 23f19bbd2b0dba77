"""One product on several GPUs, as text and as a plot of the error against K."""

from __future__ import annotations

from math import floor, log2, log10

from ...command.tables import write
from ...drawing.scene import Box, Label, Line, Scene, style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ...emulator.comparison import GpuNumerics, NumericsComparison

__all__ = ["plot", "text"]

HEADER = ("GPU", "instruction", "equal bits", "signed error", "median", "99 %", "largest", "bound", "provenance")


def text(found: NumericsComparison) -> str:
    """A row for each GPU, and how the error grows with K."""
    m, n, k = found.shape
    how = [f"chains added in {found.accumulate}"] if found.accumulate else []
    how += [f"D converted to {found.d_type}"] if found.d_type else []
    heading = ", ".join((found.format, f"{m}x{n}x{k}", f"{found.distribution} data", *how))
    lines = [
        f"{heading}. Errors are those of D divided by the sum of |a| |b|.",
        write(HEADER, [_row(gpu) for gpu in found.gpus]).rstrip("\n"),
    ]
    for gpu in found.gpus[1:]:
        if gpu.converted:
            lines.append(f"{gpu.architecture}: {gpu.converted} elements of A and B have another value in its formats.")
    lines.append("Signed error (and the largest) of the first products, on some rows and columns:")
    sizes = [growth.k for growth in found.gpus[0].growth]
    rows = [
        (str(size), *(f"{gpu.growth[number].signed:+.1e} ({gpu.growth[number].largest:.1e})" for gpu in found.gpus))
        for number, size in enumerate(sizes)
    ]
    lines.append(write(("K", *(gpu.architecture for gpu in found.gpus)), rows).rstrip("\n"))
    return "\n".join(lines) + "\n"


def _row(gpu: GpuNumerics) -> tuple[str, ...]:
    chains = f", {gpu.split_k} chains" if gpu.split_k > 1 else ""
    shown = (gpu.percentiles[50], gpu.percentiles[99], gpu.percentiles[100], gpu.bound)
    return (
        gpu.architecture, f"{gpu.instruction.name}{chains}", f"{gpu.equal:.1%}", f"{gpu.signed:+.1e}",
        *(f"{value:.1e}" for value in shown), gpu.numerics.provenance,
    )  # fmt: skip


# --- the plot ---------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 150, 50, 50
SMALLEST = 1e-12
"""An error of zero is drawn here, at the lower edge at most."""


def plot(found: NumericsComparison, colours: str = "light") -> Scene:
    """The error over the sum of |a| |b| against K, both axes logarithmic: a thick line for the largest, a thin one for
    the magnitude of the signed mean, and where the bound stands for the whole K a short bar."""
    look = style(colours)
    sizes = [growth.k for growth in found.gpus[0].growth]
    values = [value for gpu in found.gpus for value in _errors(gpu)]
    low, high = floor(log10(max(min(values), SMALLEST))), floor(log10(max(values))) + 1
    m, n, k = found.shape

    def x(size: int) -> float:
        first, last = log2(sizes[0]), log2(sizes[-1])
        return LEFT + (WIDTH - LEFT - RIGHT) * ((log2(size) - first) / (last - first) if last > first else 0.5)

    def y(error: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (log10(max(error, 10.0**low)) - low) / (high - low)

    axes: list[Box | Line | Label] = [
        Label(
            LEFT,
            24,
            f"Error / sum |a| |b| against K: {found.format}, {found.distribution}",
            14,
            look.text,
            "start",
            "bold",
        )
    ]
    for power in range(low, high + 1):
        axes.append(Line(LEFT, y(10.0**power), WIDTH - RIGHT, y(10.0**power), look.strip, 1))
        axes.append(Label(LEFT - 8, y(10.0**power) + 4, f"1e{power}", 11, look.quiet, "end"))
    axes += [Label(x(size), HEIGHT - BOTTOM + 18, str(size), 11, look.quiet) for size in sizes]
    axes.append(Label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "K", 12, look.quiet))
    lines: list[Box | Line | Label] = []
    for number, gpu in enumerate(found.gpus):
        colour = look.ramps[number % len(look.ramps)][1]
        lines += _lines(gpu, colour, x, y)
        lines.append(Box(WIDTH - RIGHT + 14, TOP + 20 * number, 12, 12, colour))
        lines.append(Label(WIDTH - RIGHT + 32, TOP + 20 * number + 10, gpu.architecture, 12, look.text, "start"))
    told = "; ".join(
        f"{gpu.architecture} signed {gpu.signed:+.1e}, largest {gpu.percentiles[100]:.1e}" for gpu in found.gpus
    )
    title = f"Errors of {found.format} products of {m}x{n}x{k}"
    return Scene(
        WIDTH, HEIGHT, look.paper, title, f"Error over the sum of |a| |b| by K. {told}.", (tuple(axes), tuple(lines))
    )


def _errors(gpu: GpuNumerics) -> Iterator[float]:
    for growth in gpu.growth:
        yield max(growth.largest, SMALLEST)
        yield max(abs(growth.signed), SMALLEST)
    yield gpu.bound


def _lines(gpu: GpuNumerics, colour: str, x: Any, y: Any) -> Iterator[Line]:
    """The lines of one GPU."""
    for before, after in zip(gpu.growth, gpu.growth[1:]):
        yield Line(x(before.k), y(before.largest), x(after.k), y(after.largest), colour, 3)
        yield Line(x(before.k), y(abs(before.signed)), x(after.k), y(abs(after.signed)), colour, 1)
    last = gpu.growth[-1]
    yield Line(x(last.k) - 10, y(last.bound), x(last.k), y(last.bound), colour, 2)
