"""tcgen05.mma, whose matrices are in Tensor Memory: instructions whose shape is a parameter.

The shape and the types are in the instruction descriptor, a value at run time, so `operand` takes them; what it gives
is a `TensorMemoryOperand` (see `mmacalc.model.tensor_memory_operand`).
"""

from __future__ import annotations

from ..checks import arguments_checked
from ..errors import Error, did_you_mean
from ..families import tensor_memory as family
from ..families.tensor_memory_shapes import (
    DEPTHS,
    check_scale_type,
    check_shape,
    check_types,
    default_types,
    types_of,
)
from ..formats import named, ptx_name
from ..records import Cache
from .instruction import Instruction
from .tensor_memory_operand import TensorMemoryOperand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..formats import Format

__all__ = ["TensorMemoryInstruction"]

SHAPE = ("m", "n", "k", "a", "b", "d", "scale")
PARAMETERS = (*SHAPE, "half", "selector", "scale_id_a", "scale_id_b")
_shaped = Cache(1 << 10)  # instructions with a shape, made before
WHERE_B = "is in shared memory, where a 64-bit matrix descriptor says; `mmacalc descriptor` draws it"


def _types(kind: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The types of A, B and D: those that were named, else the usual ones. A and B of kind::f16 are alike."""
    usual = dict(zip("ABD", default_types(kind)))
    found = {name: ptx_name(str(given.get(name.lower(), word))) for name, word in usual.items()}
    return {**found, "B": found["A"]} if kind == "f16" and "b" not in given else found


class TensorMemoryInstruction(Instruction):
    """A tcgen05.mma. Until a shape and types are given, m, n and formats are the largest shape and the usual types.

    `given` has the parameters of the instruction descriptor that were named: see `shaped`.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f16")
    >>> mma.operand("D", m=128, n=256, d="f32").locate(i=3, j=17)
    (TensorMemoryLocation(cta=0, lane=3, column=17, lsb=0, width=32),)
    """

    form: family.Form = family.Form("", False, False, 0)
    sass: str = ""
    given: Mapping[str, Any] = {}

    in_tensor_memory = True

    @property
    def types(self) -> dict[str, str]:
        """The types of A, B and D as PTX spells them, s8 rather than i8.

        Raises:
            Error: they are not published (kind::ti16).
        """
        return _types(self.form.kind, self.given)

    @arguments_checked
    def shaped(
        self,
        m: int | None = None,
        n: int | None = None,
        k: int | None = None,
        a: str | None = None,
        b: str | None = None,
        d: str | None = None,
        scale: str | None = None,
    ) -> TensorMemoryInstruction:
        """The instruction with what its instruction descriptor says.

        Args:
            m, n, k: the shape; what is left out stays as it is.
            a, b, d: the types of A, B and D, such as "bf16". scale: the type of the scales, "ue8m0" or "ue4m3".

        Raises:
            Error: there is no such shape or type; the message says which there are.

        >>> import mmacalc
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f8f6f4").shaped(m=64, n=32, b="e2m1")
        >>> mma.m, mma.n, mma.k, mma.format("B").name
        (64, 32, 32, 'e2m1')
        """
        parameters = {"m": m, "n": n, "k": k, "a": a, "b": b, "d": d, "scale": scale}
        named_now = {name: value for name, value in parameters.items() if value is not None}
        if not named_now:
            return self
        key = (self, *parameters.values())
        shaped: TensorMemoryInstruction = _shaped.get(key, lambda: self._with({**self.given, **named_now}))
        return shaped

    def _with(self, given: Mapping[str, Any]) -> TensorMemoryInstruction:
        m, n = given.get("m", self.m), given.get("n", self.n)
        k = check_shape(self.form, self.arch, m, n, given.get("k"))
        types = _types(self.form.kind, given)
        check_types(self.form.kind, *types.values())
        formats = {**types, "C": types["D"]}
        if self.scaled:
            scale = check_scale_type(self.form.kind, self.scale_vec, given.get("scale"))
            formats |= {"SA": scale, "SB": scale}
        elif "scale" in given:
            raise Error(f"kind::{self.form.kind} has no scales, so no type of scales")
        names = {name: named(word).name for name, word in formats.items()}
        changed = {"m": m, "n": n, "k": k, "formats": names, "given": given}
        return type(self)(**{name: getattr(self, name) for name in self._fields} | changed)

    @property
    def drawn_operands(self) -> tuple[str, ...]:
        """Those in Tensor Memory."""
        return tuple([name for name in self.operands if name != "B"])

    @property
    def modelled_as(self) -> str:  # type: ignore[override]  # it depends on the form here
        """What its arithmetic is assumed to be like: MMA-Sim has dense cta_group::1 with the usual K only."""
        form = self.form
        alike = "as with cta_group::1 and without .ws" if form.ws or form.cta_group == 2 else ""
        return alike if self.k == DEPTHS[form.kind][form.sparse] else "as with the usual K"

    def format(self, operand: str, fields: Mapping[str, int | str] = {}) -> Format:
        """As `Instruction.format`.

        Raises:
            Error: the types are not published (kind::ti16), or there is no such operand.
        """
        types_of(self.form.kind)
        return super().format(operand, fields)

    def modifier_limits(self, wave: int | None = None, cbsz: int = 0) -> dict[str, tuple[int, ...]]:
        """The fields of addresses and of the descriptor that choose places; see `operand`. No others."""
        scales = {"scale_id_a": (0, 1, 2, 3), "scale_id_b": (0, 1, 2, 3)} if self.scaled else {}
        return {"half": (0, 1), **({"selector": (0, 1)} if self.sparse else {}), **scales}

    def with_parameters(self, modifiers: Mapping[str, Any]) -> tuple[Instruction, dict[str, Any]]:
        """The instruction with the shape and types among modifiers, and the modifiers that remain.

        Types are also called a_type, b_type, d_type and scale_type, as on the command line.
        """
        words = {name: name.removesuffix("_type") for name in modifiers}
        parameters = {words[name]: value for name, value in modifiers.items() if words[name] in SHAPE}
        rest = {name: value for name, value in modifiers.items() if words[name] not in SHAPE}
        return self.shaped(**parameters), rest

    def operand(self, name: str, wave: int | None = None, **parameters: Any) -> Any:
        """One operand in Tensor Memory, a `TensorMemoryOperand`.

        Args:
            name: A (in Tensor Memory), C or D, K (metadata), SA or SB. wave: a warp has 32 lanes.
            parameters: m, n and, where there are several, k; a, b, d: the types of A, B and D; half: bit 4 of the
                lane in the address, where 64 rows lie in every other 16 lanes; selector: the sparsity selector;
                scale_id_a, scale_id_b: the byte at which the scales of this K begin.

        Raises:
            Error: m or n is missing, or there is no such operand, shape, type or parameter.
        """
        upper = name.upper()
        if upper not in self.operands:
            raise Error(f"{self.name} has no operand '{name}'; it has {', '.join(self.operands)}")
        if upper == "B":
            raise Error(f"B of {self.name} {WHERE_B}")
        if unknown := [given for given in parameters if given not in PARAMETERS]:
            hint = did_you_mean(unknown[0], PARAMETERS)
            raise Error(f"tcgen05.mma has no parameter '{unknown[0]}'.{hint} Known: {', '.join(PARAMETERS)}")
        known = {**self.given, **parameters}
        if missing := [size for size in ("m", "n") if known.get(size) is None]:
            raise Error(
                f"the shape of {self.name} is in the instruction descriptor: name {' and '.join(missing)}, "
                f"such as m={self.m}, n={self.n} (on the command line --m {self.m} --n {self.n})"
            )
        shape = {word: value for word, value in parameters.items() if word in SHAPE}
        fields = {word: value for word, value in parameters.items() if word not in SHAPE and value is not None}
        return TensorMemoryOperand(self.shaped(**shape), upper, fields)
