"""One computation that can be repeated with changes: what a diagnosis works on."""

from __future__ import annotations

from .arrays import as_array, as_values, checked, rounded
from .computing import compute
from .execution import Execution, execution_of
from .matrices import extras, prepared
from .tensor_memory import fitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ..model import Instruction

    Array = NDArray[Any]

__all__ = ["Case", "reference_case"]


class Case:
    """An instruction with its inputs as checked codes, to be run again with some of them replaced.

    Attributes:
        execution, codes: the instruction with its modifiers and its inputs, by operand.
        expected: the right D, as codes.
        values: the inputs as they were given, where they were values.
        turned: whether the D to compare with came as (N, M).
    """

    execution: Execution
    codes: dict[str, Array]
    values: Mapping[str, Array]
    turned: bool
    expected: Array

    def __init__(self, execution: Execution, codes: dict[str, Array], values: Mapping[str, Array]) -> None:
        self.execution, self.codes, self.values, self.turned = execution, codes, values, False
        self.expected = self.run()

    def run(self, **replaced: Array) -> Array:
        """D's codes, with some inputs replaced."""
        return compute(self.execution, {**self.codes, **replaced}, rearrange=True)


def reference_case(
    inst: Instruction, a: ArrayLike, b: ArrayLike, c: ArrayLike, bits: bool, rest: Mapping[str, Any]
) -> Case:
    """The `Case` of the arguments of `multiply`, or of `multiply_bits` if `bits`."""
    options = dict(rest)
    further = [options.pop(name, None) for name in ("index", "scale_a", "scale_b")]
    flags = [bool(options.pop(name, False)) for name in ("clamp", "satfinite")]
    wave = options.pop("wave", None)
    inst, options = fitted(inst, a, b, options)
    execution = execution_of(inst, wave, options, *flags)
    read = as_array if bits else as_values
    given = {name: read(execution, name, value) for name, value in (("A", a), ("B", b), ("C", c))}
    codes = {name: (checked if bits else rounded)(execution, name, value) for name, value in given.items()}
    codes |= extras(execution, *further)
    return Case(execution, prepared(execution, codes), {} if bits else given)
