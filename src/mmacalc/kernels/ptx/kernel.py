"""Kernels of a PTX module, as `mmacalc.load` gives them: light, so that a launch of other kernels does not pay."""

from __future__ import annotations

from ...asm.demangled import demangled
from ...base.errors import plural
from ...ptx.module import bits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...base.arrays import Array
    from ...ptx.module import Module

__all__ = ["PtxKernel"]


class PtxKernel:
    """A kernel of a PTX module, as `mmacalc.load` gives it; `mmacalc.launch` runs it.

    Attributes:
        module, name, target: the module, the entry's name, and what its .target names (sm_90a).
        variables: by name the address and the bytes of variables that keep their values from launch to launch, as in
            a program (`mmacalc.run_program`); those of others begin anew with every launch.
    """

    module: Module
    name: str
    target: str
    variables: dict[str, tuple[int, Array]]

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name, self.target = module, name, module.target
        self.variables = {}

    @property
    def cpp_name(self) -> str:
        """The name as C++ has it, such as demo::reverse<3, int>; the name itself where it is not mangled."""
        found = demangled(self.name)
        return found.qualified if found else self.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple([variable.name for variable in self.module.functions[self.name].parameters])

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The name and PTX type of each parameter; of a structure its size, as b8[128]."""
        found = []
        for variable in self.module.functions[self.name].parameters:
            whole = variable.size * 8 == bits_of(variable.type)
            count = variable.size * 8 // max(8, bits_of(variable.type))
            found.append((variable.name, variable.type if whole else f"{variable.type}[{count}]"))
        return tuple(found)

    @property
    def block(self) -> tuple[int, ...]:
        """The threads of a block that the kernel asks for (.reqntid); empty if it leaves that open."""
        return tuple(self.module.functions[self.name].attributes.get("reqntid", ()))

    def uncovered(self) -> tuple[tuple[int, str, str], ...]:
        """The statements that cannot be run: (line, statement, why). Empty for a kernel that `launch` takes."""
        from .compiler import Compiler

        compiler = Compiler(self.module, self.module.functions[self.name])
        compiler.compiled()
        return tuple([(statement.line, statement.text, why) for statement, why in compiler.problems])

    def __repr__(self) -> str:
        return f"<PtxKernel {self.name} for {self.target}: {plural(len(self.parameters), 'parameter')}>"
