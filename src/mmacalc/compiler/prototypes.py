"""What a compiler calls an instruction, as a record."""

from __future__ import annotations

from ..base.records import TupleRecord, json_keys

__all__ = ["Intrinsic"]


@json_keys(
    "builtin",
    "return_type",
    "arg_types",
    "llvm_intrinsic",
    "declaration",
    "immediates: positions of the arguments that must be constants",
    "arg_names",
    "prototype",
)
class Intrinsic(TupleRecord):
    """One clang builtin and the LLVM intrinsic behind it, or a function of OpenCL, without an LLVM intrinsic.

    builtin: clang's name; return_type, arg_types: its types, a vector as "float x4"; arg_names: what each argument
    is; immediates: the positions of the arguments that must be constants. llvm_intrinsic, declaration: LLVM's name
    with its overloads spelled out, and its declaration (LLVM may have arguments that clang fills in). Of NVIDIA's
    instructions the names alone: without overloads, types and arguments; builtin is "" where clang has none.
    """

    builtin: str
    return_type: str
    arg_types: tuple[str, ...]
    llvm_intrinsic: str
    declaration: str
    immediates: tuple[int, ...]
    arg_names: tuple[str, ...]

    @property
    def prototype(self) -> str:
        """The builtin's prototype, immediates marked: `float x4 __builtin_...(float, float, float x4, int imm)`."""
        if not self.return_type:  # NVIDIA's, of which the names are known
            return self.builtin
        given = (f"{kind} imm" if at in self.immediates else kind for at, kind in enumerate(self.arg_types))
        return f"{self.return_type} {self.builtin}({', '.join(given)})"
