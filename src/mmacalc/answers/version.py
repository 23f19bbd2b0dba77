"""What runs here (--version): for bug reports."""

from __future__ import annotations

from .. import __version__
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Version", "version"]

PACKAGES = ("numpy", "ml_dtypes", "pyelftools", "resvg-py")
"""Those that mmacalc can use, as the registry calls them."""


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
        from ..emulator.core import library

        return library() is not None

    @property
    def llvm(self) -> tuple[int, ...]:
        """The LLVM versions whose encodings it knows, the default first."""
        from ..asm.targets import LLVM_VERSIONS

        return LLVM_VERSIONS

    @property
    def targets(self) -> tuple[str, ...]:
        """The compiler targets that it knows."""
        from ..catalog import architectures, entry

        return tuple([target for name in architectures() for target in entry(name).architecture.targets])


def version() -> Version:
    """What runs here.

    >>> version().core in (True, False), "gfx942" in version().targets
    (True, True)
    """
    return Version(__version__)
