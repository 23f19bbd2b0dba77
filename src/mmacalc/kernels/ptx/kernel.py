"""Kernels of a PTX module, as `mmacalc.load` gives them: light, so that a launch of other kernels does not pay."""

from __future__ import annotations

from ...errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...ptx.reader import Module

__all__ = ["PtxKernel"]


class PtxKernel:
    """A kernel of a PTX module, as `mmacalc.load` gives it; `mmacalc.launch` runs it.

    Attributes:
        module, name, target: the module, the entry's name, and what its .target names (sm_90a).
    """

    module: Module
    name: str
    target: str

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name, self.target = module, name, module.target

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple([variable.name for variable in self.module.functions[self.name].parameters])

    def uncovered(self) -> tuple[tuple[int, str, str], ...]:
        """The statements that cannot be run: (line, statement, why). Empty for a kernel that `launch` takes."""
        from .program import Compiler

        compiler = Compiler(self.module, self.module.functions[self.name])
        compiler.compiled()
        return tuple([(statement.line, statement.text, why) for statement, why in compiler.problems])

    def __repr__(self) -> str:
        return f"<PtxKernel {self.name} for {self.target}: {counted(len(self.parameters), 'parameter')}>"
