"""Products of torch tensors where they lie, such as on a GPU: the kernels of `mmacalc.emulator.array_kernels`.

That is done for instructions that have such a kernel, on tensors of its operands' own formats (bfloat16 for bf16,
float32 for f32 and TF32; scales as uint8 or float8_e8m0fnu), with batches, scales, split K, sums of chains in
f16 or bf16, alpha and beta; everything else (stream-K and a D that is converted among it) is computed on the host, to
the same bits. What a kernel flags is computed on the host as well: `mmacalc.emulator.fast.recomputed`.
"""

from __future__ import annotations

import sys
from math import prod

import numpy as np

from ..arithmetic.codecs import encode
from ..formats import NUMPY_NAMES
from . import fast
from .arrays import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..formats import Format
    from .execution import Execution
    from .fast import Kernel
    from .plan import Plan

__all__ = ["HOSTS", "product"]

HOSTS = ["cpu"]
"""The kinds of torch's devices whose tensors NumPy can read."""
ELEMENTS = 1 << 24  # of D at a time: some 20 arrays of 4 bytes each
INTEGERS = {8: "uint8", 16: "int16", 32: "int32"}


def product(plan: Plan, given: Mapping[str, Any]) -> Any | None:
    """D (*batch, M, N), a float32 tensor beside A; None if the product has to be done on the host.

    Args:
        plan: the product, with its epilogue. given: A, B, C and SA, SB as `gemm` takes them; a number for C, or None
            for scales, stand for themselves.
    """
    torch = sys.modules.get("torch")
    a = given["A"]
    if torch is None or not isinstance(a, torch.Tensor) or a.device.type in HOSTS or plan.execution.sparsity:
        return None
    if plan.cuts.tiles or plan.result != plan.execution.formats["D"]:
        return None
    from .array_kernels import ON_DEVICES

    found = fast.kernel(plan.execution)
    if found is None or found.name not in ON_DEVICES or plan.execution.formats["D"].bits > 32:
        return None
    tensors = _tensors(torch, plan, given)
    if tensors is None:
        return None
    arithmetic = OnDevice(torch, plan.execution, found)
    try:
        batch = torch.broadcast_shapes(*(tensor.shape[:-2] for tensor in tensors.values()))
    except RuntimeError:
        return None  # the host says what is wrong
    codes = {
        name: _ready(torch, plan, name, _codes(torch, tensor, plan.execution.formats[name])).expand(
            *batch, *_shapes(plan)[name]
        ).reshape(prod(batch), *_shapes(plan)[name])
        for name, tensor in tensors.items()
    }  # fmt: skip
    d = torch.empty((prod(batch), plan.m, plan.n), dtype=torch.float32, device=a.device)
    rows = max(1, ELEMENTS // max(1, plan.n))
    for entry in range(len(d)):
        for first in range(0, plan.m, rows):
            at = slice(first, first + rows)
            part = {name: code[entry, None] for name, code in codes.items()}
            part |= {name: part[name][:, at] for name in {"A", "C", "SA"} & part.keys()}
            d[entry, at] = arithmetic.wide(plan.product(part, arithmetic, plan.cuts.at))[0]
    return d.reshape(*batch, plan.m, plan.n)


def _shapes(plan: Plan) -> dict[str, tuple[int, int]]:
    """The last two axes of each operand, K filled up."""
    shapes = {"A": (plan.m, plan.k), "B": (plan.k, plan.n), "C": (plan.m, plan.n)}
    if size := plan.execution.block_size:
        shapes |= {"SA": (plan.m, plan.k // size), "SB": (plan.k // size, plan.n)}
    return shapes


def _tensors(torch: Any, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """All operands as tensors of their formats on A's device; None if one is something else, or has another shape."""
    formats, size, device = plan.execution.formats, plan.execution.block_size, given["A"].device
    wanted = {"A": (plan.m, plan.given_k), "B": (plan.given_k, plan.n), "C": (plan.m, plan.n)}
    if size:
        blocks = -(-plan.given_k // size)
        wanted |= {"SA": (plan.m, blocks), "SB": (blocks, plan.n)}
    elif given["SA"] is not None or given["SB"] is not None:
        return None
    tensors = dict(given)
    if isinstance(given["C"], (int, float)):
        kind = getattr(torch, NUMPY_NAMES[formats["C"].name])
        tensors["C"] = torch.full(wanted["C"], float(given["C"]), dtype=kind, device=device)
    for name in ("SA", "SB"):
        if size and given[name] is None:
            one = int(encode(np.array(1.0), formats[name]))
            tensors[name] = torch.full(wanted[name], one, dtype=torch.uint8, device=device)
    tensors = {name: tensors[name] for name in wanted}
    good = all(
        isinstance(tensor, torch.Tensor) and tensor.device == device and tensor.shape[-2:] == wanted[name]
        and _own(tensor, formats[name], scale=name in ("SA", "SB"))
        for name, tensor in tensors.items()
    )  # fmt: skip
    return tensors if good else None


def _own(tensor: Any, form: Format, scale: bool) -> bool:
    """Whether a tensor's type is the format's own: its memory is the encoding. Scales are codes."""
    name = str(tensor.dtype).removeprefix("torch.")
    codes = scale and name == "uint8" and form.bits == 8
    return name == NUMPY_NAMES.get(form.name) or (name == "float32" and form.bits == 32) or codes


def _codes(torch: Any, tensor: Any, form: Format) -> Any:
    """A tensor's codes; float32 is rounded to TF32 and XF32, to nearest even."""
    tensor = tensor.detach().contiguous()
    codes = tensor.view(getattr(torch, INTEGERS[form.bits]))
    if form.bits == 32 and form.mantissa == 10:
        rounded = codes + (0xFFF + (codes >> 13 & 1)) & ~0x1FFF
        codes = torch.where(torch.isnan(tensor), 0x7FC00000, rounded)
    return codes


def _ready(torch: Any, plan: Plan, name: str, codes: Any) -> Any:
    """Codes with K filled up with zeros (scales with ones), and in the order of the steps."""
    axis = {"A": -1, "SA": -1, "B": -2, "SB": -2}.get(name)
    if axis is None:
        return codes
    length = _shapes(plan)[name][axis]
    missing = length - codes.shape[axis]
    filler = 0 if name in "AB" else int(encode(np.array(1.0), plan.execution.formats[name]))
    codes = torch.nn.functional.pad(codes, (0, missing) if axis == -1 else (0, 0, 0, missing), value=filler)
    at = plan.reordered(length)
    return codes if at is None else codes.index_select(axis, torch.from_numpy(at).to(codes.device))


class OnDevice:
    """torch's tensors, by the array kernels: `plan.Arithmetic`. Codes are integers, of 8 bits unsigned."""

    torch: Any
    execution: Execution
    found: Kernel
    form: Format

    def __init__(self, torch: Any, execution: Execution, found: Kernel) -> None:
        self.torch, self.execution, self.found = torch, execution, found
        self.form = execution.formats["D"]

    def zeros(self, codes: Any) -> Any:
        """Zeros in the shape of C."""
        return self.torch.zeros_like(codes)

    def chain(self, codes: dict[str, Any]) -> Any:
        """D's codes of one chain along K: of one entry."""
        from .array_kernels import KERNELS, PREPARED

        torch, found = self.torch, self.found
        a, b = (self._operand(codes[name][0], name) for name in "AB")
        if size := self.execution.block_size:
            a = self._scaled(a, codes["SA"][0].repeat_interleave(size, dim=1), "SA")
            b = self._scaled(b, codes["SB"][0].repeat_interleave(size, dim=0), "SB")
        if prepare := PREPARED.get(found.name):
            b = prepare(b, found.parameters)
        c = self.wide(codes["C"][0])
        if found.parameters.get("flush"):
            c = torch.where(torch.abs(c) < 2.0**-126, torch.zeros_like(c), c)
        values, flags = KERNELS[found.name](a, b, c, found.parameters)
        flags = flags | ~torch.isfinite(values)
        result = self._exact(values)
        if flags.any():
            at = torch.nonzero(flags, as_tuple=True)
            again = self._recomputed(codes, at)
            result[at] = torch.from_numpy(again.view(f"i{again.itemsize}")).to(result.device)
        return result[None]

    def wide(self, codes: Any) -> Any:
        """The values of D's codes, float32."""
        if self.form.bits == 32:
            return codes.view(self.torch.float32)
        table = self.torch.from_numpy(np.array(fast.tables(self.form.name, "").values)).to(codes.device)
        return table[codes.long() & ((1 << self.form.bits) - 1)]

    def narrow(self, values: Any) -> Any:
        """The codes of values, rounded to nearest even."""
        missing = encode(np.array([np.nan]), self.form, self.execution.inst.architecture.vendor)
        return self.torch.where(
            self.torch.isnan(values), int(missing.view(f"i{missing.itemsize}")[0]), self._exact(values)
        )

    def plus(self, x: Any, y: Any) -> Any:
        """The sums."""
        return x + y

    def times(self, number: float, values: Any) -> Any:
        """The products."""
        return float(np.float32(number)) * values

    def rounded(self, values: Any, form: Format) -> Any:
        """Values of f16 or bf16."""
        return values.to(getattr(self.torch, NUMPY_NAMES[form.name])).to(values.dtype)

    def _exact(self, values: Any) -> Any:
        """The codes of float32 values, rounded to nearest even; any of NaN."""
        kind = getattr(self.torch, NUMPY_NAMES[self.form.name])
        return values.to(kind).contiguous().view(getattr(self.torch, INTEGERS[self.form.bits])).clone()

    def _recomputed(self, codes: dict[str, Any], at: Any) -> Any:
        """The codes of some elements of D by the model, on the host."""
        rows, columns = at
        size = self.execution.block_size
        few = [codes["A"][0][rows], codes["B"][0][:, columns].T, codes["C"][0][at]]
        a, b, c = (self._on_host(name, part) for name, part in zip("ABC", few))
        scales = None
        if size:
            parts = {"SA": codes["SA"][0][rows], "SB": codes["SB"][0][:, columns].T}
            of_a, of_b = (np.repeat(self._on_host(name, part), size, axis=1) for name, part in parts.items())
            scales = of_a, of_b
        return fast.recomputed(self.execution, a, b, c, scales)

    def _on_host(self, name: str, codes: Any) -> Any:
        """Codes on the host, unsigned."""
        array = codes.cpu().numpy()
        return checked(self.execution, name, array.view(f"u{array.itemsize}"))

    def _operand(self, codes: Any, name: str) -> Any:
        """Codes as a kernel reads them: `fast.decoded` on tensors."""
        torch, found, form = self.torch, self.found, self.execution.formats[name]
        if form.bits <= 16:
            values, exponents = fast.tables(form.name, found.flushed)
            index = codes.long() & ((1 << form.bits) - 1)
            picked = [torch.from_numpy(np.array(x)).to(codes.device)[index] for x in (values, exponents)]
            return fast.Operand(picked[0], picked[1] if found.aligned else None)
        field = (codes >> 23 & 0xFF).to(torch.int16)
        exponents = torch.clip(field, 1, None) - 127
        exponents[field == 0xFF] = fast.NONFINITE
        exponents[codes << 1 == 0] = fast.EMPTY
        return fast.Operand(codes.view(torch.float32), exponents if found.aligned else None)

    def _scaled(self, operand: Any, codes: Any, name: str) -> Any:
        """An operand with its block scales multiplied in: `fast.scaled` on tensors."""
        torch = self.torch
        form = self.execution.formats[name]
        own, powers = (torch.from_numpy(np.array(x)).to(codes.device)[codes.long()] for x in fast.tables(form.name, ""))
        values, wide = operand.values * own, operand.values.double() * own
        zero = (operand.exponents == fast.EMPTY) & (powers != fast.NONFINITE)
        exponents = operand.exponents + powers
        exponents[(operand.exponents == fast.NONFINITE) | (powers == fast.NONFINITE)] = fast.NONFINITE
        exponents[zero | (powers == fast.EMPTY)] = fast.EMPTY
        exponents[(values != wide) & torch.isfinite(wide)] = fast.NONFINITE
        return fast.Operand(values, exponents)
