"""What runs here (-v), the instructions of an architecture (-L), and the layout of an operand (--pattern)."""

from __future__ import annotations

from ...base.records import Record, json_keys
from ...base.version import __version__
from ...spelling import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...catalog import Entry
    from ...model import Instruction, Operand

PACKAGES = ("numpy", "ml_dtypes", "pyelftools", "resvg-py")
"""Those that mmacalc can use, as the registry calls them."""


@json_keys("mmacalc", "python", "platform", "packages", "core", "llvm", "targets")
class Version(Record):
    """mmacalc and what it runs on.

    What takes time to find out is found out when it is asked for.

    Attributes:
        mmacalc: its version.
    """

    mmacalc: str

    @property
    def python(self) -> str:
        """The version of Python and its implementation."""
        import platform

        return f"{platform.python_version()} ({platform.python_implementation()})"

    @property
    def platform(self) -> str:
        """The operating system and the machine."""
        import platform

        return platform.platform()

    @property
    def packages(self) -> Mapping[str, str | None]:
        """The versions of the Python packages that mmacalc can use; None where one is not installed."""
        from importlib.metadata import PackageNotFoundError
        from importlib.metadata import version as installed

        found: dict[str, str | None] = {}
        for name in PACKAGES:
            try:
                found[name] = installed(name)
            except PackageNotFoundError:
                found[name] = None
        return found

    @property
    def core(self) -> bool:
        """Whether the emulator's C core is there and can be loaded."""
        from ...emulator.core import library

        return library() is not None

    @property
    def llvm(self) -> tuple[int, ...]:
        """The LLVM versions whose encodings it knows, the default first."""
        from ...asm.targets import LLVM_VERSIONS

        return LLVM_VERSIONS

    @property
    def targets(self) -> tuple[str, ...]:
        """The compiler targets that it knows."""
        from ...catalog import architectures, entry

        return tuple([target for name in architectures() for target in entry(name).architecture.targets])


def version() -> Version:
    """What runs here.

    >>> version().core in (True, False), "gfx942" in version().targets
    (True, True)
    """
    return Version(__version__)


def version_text(answer: Version) -> str:
    """One line."""
    return f"mmacalc {answer.mmacalc}\n"


@json_keys(
    "**operand",
    "pattern=operand.pattern",
    "sizes=operand.sizes",
    "einops=operand.einops",
    "ends=operand.layout.partial: axes that end before their digits do",
)
class Pattern(Record):
    """An operand's layout."""

    operand: Operand


def pattern_text(pattern: Pattern) -> str:
    """The layout in einops-like notation, with the digit sizes and plain einops below it."""
    operand = pattern.operand
    sizes = ", ".join(f"{name}={size}" for name, size in operand.sizes.items())
    return (
        f"{heading(operand.instruction, operand)}{operand.name}: {operand.pattern}\n"
        f"    sizes: {sizes}{ends_text(operand)}\n    einops: {operand.einops}{_steps(operand)}\n"
    )


def _steps(operand: Operand) -> str:
    """The two operations that einops needs where digits are on the left only, and others on the right only."""
    sides = operand.einops.replace("(", " ").replace(")", " ").split(" -> ")
    left, right = (set(side.split()) for side in sides)
    if left <= right or right <= left:
        return ""
    return f"   (reduce over {', '.join(sorted(left - right))}, then repeat along {', '.join(sorted(right - left))})"


def ends_text(operand: Operand) -> str:
    """Where axes end before their digits do, so that the last register is not full; empty if none does."""
    return "".join(f"; {axis} ends at {extent}" for axis, extent in operand.layout.partial.items())


@json_keys("instructions", "tensor_memory_instructions=entry.tensor_memory_names: tcgen05, whose shape is a parameter")
class Listing(Record):
    """The instructions of an architecture."""

    entry: Entry

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Those with a shape of their own."""
        return tuple(self.entry.instructions())


def listing_text(listing: Listing) -> str:
    """The names, in the order of AMD's tool."""
    entry = listing.entry
    names = "".join(f"    {name}\n" for name in (*entry.names, *entry.tensor_memory_names))
    return f"Available instructions in the {entry.architecture.title} architecture:\n{names}"
