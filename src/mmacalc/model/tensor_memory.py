"""tcgen05.mma, whose matrices are in Tensor Memory and whose shape is a parameter, and tcgen05.ld, st and cp.

The shape and the types of a tcgen05.mma are in the instruction descriptor, a value at run time, so `operand` takes
them.
"""

from __future__ import annotations

from ..base.checks import arguments_checked, require_int
from ..base.errors import Error, did_you_mean
from ..base.records import Cache
from ..families import packed
from ..families import tensor_memory as family
from ..families.tensor_memory import (
    DEPTHS,
    SELECTED,
    check_scale_type,
    check_shape,
    check_types,
    default_types,
    depths,
    remark,
    types_of,
)
from ..formats import named, ptx_name
from ..layout import Layout
from .instruction import Instruction
from .operand import WARP, Location, Operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..families import Placement
    from ..formats import Format

__all__ = ["SHAPE", "TensorMemoryInstruction", "TensorMemoryMove"]

SHAPE = ("m", "n", "k", "a", "b", "d", "scale")
PARAMETERS = (*SHAPE, "half", "selector", "scale_id_a", "scale_id_b")
MOVED_AXES = {"lane": "L", "column": "C", "row": "R"}  # as pictures of ld, st and cp call their coordinates
_shaped = Cache(1 << 10)  # instructions with a shape, made before
_operands = Cache(1 << 11)
WHERE_B = "is in shared memory, where a 64-bit matrix descriptor says; `mmacalc memory` and `descriptor` show it"


def _types(kind: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The types of A, B and D: those that were named, else the usual ones. A and B of kind::f16 are alike."""
    usual = dict(zip("ABD", default_types(kind)))
    found = {name: ptx_name(str(given.get(name.lower(), word))) for name, word in usual.items()}
    return {**found, "B": found["A"]} if kind == "f16" and "b" not in given else found


class TensorMemoryInstruction(Instruction):
    """A tcgen05.mma. Until a shape and types are given, m, n and formats are the largest shape and the usual types.

    `given` has the parameters of the instruction descriptor that were named: see `shaped`; `depths` the targets that
    have each K, the usual first.

    >>> import mmacalc
    >>> mma = mmacalc.instruction("sm_100a", "tcgen05.mma.cta_group::1.kind::f16")
    >>> mma.operand("D", m=128, n=256, d="f32").locate(i=3, j=17)
    (TensorMemoryLocation(cta=0, lane=3, column=17, lsb=0, width=32),)
    """

    form: family.Form = family.Form("", False, False, 0)
    sass: str = ""
    depths: Mapping[int, tuple[str, ...]] = {}
    given: Mapping[str, Any] = {}

    in_tensor_memory = True

    @property
    def given_shape(self) -> str:
        """The shape as messages say it."""
        return f", m={self.m}, n={self.n}"

    def depths_with(self, m: int) -> tuple[int, ...]:
        """The K that the instruction may have with an M on its target, the usual first.

        >>> import mmacalc
        >>> name = "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32"
        >>> mma = mmacalc.instruction("sm_103a", name)
        >>> mma.depths_with(128), mma.depths_with(256)
        ((64,), (64, 96))
        """
        return depths(self.form, self.depths, self.arch, m)

    @property
    def remark(self) -> str:
        """Where CUTLASS is stricter than the PTX ISA about this shape; "" if it is not."""
        return remark(self.form, self.m, self.n)

    def placement(self, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """Where an operand is in Tensor Memory."""
        return family.place(self, operand, fields)

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
        k = check_shape(self.form, self.depths, self.arch, m, n, given.get("k"))
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
    def modelled_as(self) -> str:
        """What its arithmetic is assumed to be like: MMA-Sim has dense cta_group::1 with the usual K only."""
        form = self.form
        alike = "as with cta_group::1 and without .ws" if form.ws or form.cta_group == 2 else ""
        return alike if self.k == DEPTHS[form.kind][form.sparse] else "as with the usual K"

    def format_of(self, operand: str, fields: Mapping[str, int] = {}) -> Format:
        """As `Instruction.format_of`.

        Raises:
            Error: the types are not published (kind::ti16), or there is no such operand.
        """
        types_of(self.form.kind)
        return super().format_of(operand, fields)

    def modifier_limits(self, wave: int | None = None, cbsz: int = 0) -> dict[str, tuple[int, ...]]:
        """The fields of addresses and of the descriptor that choose places; see `operand`. No others."""
        scales = {"scale_id_a": (0, 1, 2, 3), "scale_id_b": (0, 1, 2, 3)} if self.scaled else {}
        selector = {"selector": (0, 1) if self.form.kind in SELECTED else (0,)} if self.sparse else {}
        return {"half": (0, 1), **selector, **scales}

    def split_parameters(self, modifiers: Mapping[str, Any]) -> tuple[Instruction, dict[str, Any]]:
        """The instruction with the shape and types among modifiers, and the modifiers that remain.

        Types are also called a_type, b_type, d_type and scale_type, as on the command line.
        """
        words = {name: name.removesuffix("_type") for name in modifiers}
        parameters = {words[name]: value for name, value in modifiers.items() if words[name] in SHAPE}
        rest = {name: value for name, value in modifiers.items() if words[name] not in SHAPE}
        return self.shaped(**parameters), rest

    def operand(self, name: str, wave: int | None = None, **modifiers: int | str) -> Operand:
        """One operand in Tensor Memory.

        Args:
            name: A (in Tensor Memory), C or D, K (metadata), SA or SB. wave: a warp has 32 lanes.
            modifiers: m, n and, where there are several, k; a, b, d: the types of A, B and D; half: bit 4 of the
                lane in the address, where 64 rows lie in every other 16 lanes; selector: the sparsity selector;
                scale_id_a, scale_id_b: the byte at which the scales of this K begin.

        Raises:
            Error: m or n is missing, or there is no such operand, shape, type or parameter.

        >>> import mmacalc
        >>> mma = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")
        >>> mma.operand("A", m=128, n=64).pattern
        'i (c e) -> lane (i), column (c), item (e)'
        """
        upper = name.upper()
        if upper not in self.operands:
            raise Error(f"{self.name} has no operand '{name}'; it has {', '.join(self.operands)}")
        if upper == "B":
            raise Error(f"B of {self.name} {WHERE_B}")
        if unknown := [given for given in modifiers if given not in PARAMETERS]:
            hint = did_you_mean(unknown[0], PARAMETERS)
            raise Error(f"tcgen05.mma has no parameter '{unknown[0]}'.{hint} Known: {', '.join(PARAMETERS)}")
        known = {**self.given, **modifiers}
        if missing := [size for size in ("m", "n") if known.get(size) is None]:
            raise Error(
                f"the shape of {self.name} is in the instruction descriptor: name {' and '.join(missing)}, "
                f"such as m={self.m}, n={self.n} (on the command line --m {self.m} --n {self.n})"
            )
        shape: dict[str, Any] = {word: value for word, value in modifiers.items() if word in SHAPE}
        given = {word: value for word, value in modifiers.items() if word not in SHAPE and value is not None}
        fields = {word: require_int(word, value) for word, value in given.items()}
        return _operand(self.shaped(**shape), upper, family.LANES, fields)


def _operand(instruction: Instruction, name: str, lanes: int, fields: Mapping[str, int]) -> Operand:
    key = (id(instruction), name, *sorted(fields.items()))  # its own id, since the operand that is kept holds it
    operand: Operand = _operands.get(key, lambda: Operand(instruction, name, lanes, fields))
    return operand


class TensorMemoryMove(Instruction):
    """A tcgen05.ld, st, cp or another instruction of Tensor Memory that multiplies nothing.

    `layout` is that of `mmacalc.families.tensor_memory`: from the lane and column (of cp: row and column) to the
    thread and register, or lane and column; None where nothing is moved between such places.
    """

    layout: Layout | None = None
    pack: bool = False
    sass: str = ""

    in_tensor_memory = True

    @property
    def placed_layout(self) -> Layout:
        """The layout.

        Raises:
            Error: the instruction moves nothing between places.
        """
        if self.layout is None:
            raise Error(f"{self.name} moves no elements; tcgen05.ld, st and cp do")
        return self.layout

    @property
    def drawn_operands(self) -> tuple[str, ...]:
        """T: what is moved, by the lane and column (of cp the row and column) from which it comes."""
        return ("T",)

    @property
    def to_registers(self) -> bool:
        """Whether it moves between Tensor Memory and registers, as ld and st do."""
        return "item" in self.placed_layout.places

    def placement(self, operand: str, wave: int, fields: Mapping[str, int]) -> Placement:
        """Where the cells come to be; coordinates are named as pictures do."""
        layout = self.placed_layout
        axes = [MOVED_AXES[axis] for axis in layout.axes]
        return packed(Layout(layout.pattern, axes, layout.trimmed_sizes), 16 if self.pack else 32)

    def format_of(self, operand: str, fields: Mapping[str, int] = {}) -> Format:
        """32 bits of a cell, or 16 of each."""
        return named("b16" if self.pack else "i32")

    def operand(self, name: str, wave: int | None = None, **modifiers: int | str) -> Operand:
        """The cells that are moved.

        Raises:
            Error: it moves nothing between such places, or there is no such operand or modifier.
        """
        if name.upper() != "T":
            raise Error(f"{self.name} has no operand '{name}'; T is what it moves")
        if modifiers:
            raise Error(f"{self.name} has no modifiers; got {', '.join(modifiers)}")
        return Operand(self, "T", WARP if self.to_registers else family.LANES, {})

    def locate(self, lane: int = 0, column: int = 0) -> tuple[Location, ...]:
        """Which thread and register of the warp a cell's value is in, from the address of a tcgen05.ld or st.

        Raises:
            Error: the instruction is not an ld or st, or does not reach that cell.

        >>> import mmacalc
        >>> load = mmacalc.instruction("sm_100a", "tcgen05.ld.sync.aligned.16x256b.x2.b32")
        >>> load.locate(lane=9, column=5)
        (Location(lane=6, item=3, register=3, lsb=0, width=32),)
        """
        if self.layout is None or not self.to_registers:
            raise Error(f"{self.name} moves nothing between Tensor Memory and registers; tcgen05.ld and st do")
        places = self.layout.locate({"lane": lane, "column": column})
        return tuple([self.operand("T").location_of_item(thread, item) for thread, item in places])
