"""Products of torch tensors where they lie, such as on a GPU: the kernels of `mmacalc.emulator.array_kernels`.

That is done for one chain of an instruction that has such a kernel, on tensors of its operands' own formats (bfloat16
for bf16, float32 for f32 and TF32); everything else is computed on the host, to the same bits. What a kernel flags is
computed on the host as well: `mmacalc.emulator.fast.recomputed`.
"""

from __future__ import annotations

import sys

import numpy as np

from ..arithmetic.codecs import decode
from ..formats import NUMPY_NAMES
from . import fast
from .array_kernels import KERNELS, ON_DEVICES, PREPARED
from .arrays import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..formats import Format
    from .execution import Execution
    from .fast import Kernel

__all__ = ["HOSTS", "product"]

HOSTS = ["cpu"]
"""The kinds of torch's devices whose tensors NumPy can read."""
ELEMENTS = 1 << 24  # of D at a time: some 20 arrays of 4 bytes each
INTEGERS = {8: "uint8", 16: "int16", 32: "int32"}


def product(execution: Execution, a: Any, b: Any, c: Any, k: int) -> Any | None:
    """D, a float32 tensor, of a chain of an instruction along K from C; None if it has to be done on the host.

    Args:
        a, b: tensors (M, K) and (K, N); c: one of (M, N), or a number. k: K, filled up to whole instructions.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(a, torch.Tensor) or a.device.type in HOSTS or not isinstance(b, torch.Tensor):
        return None
    found, formats = fast.kernel(execution), execution.formats
    if found is None or found.name not in ON_DEVICES or execution.block_size or formats["D"].bits > 32:
        return None
    if a.ndim != 2 or b.ndim != 2 or b.device != a.device:
        return None
    if not isinstance(c, torch.Tensor):
        kind = getattr(torch, NUMPY_NAMES[formats["C"].name])
        c = torch.full((len(a), b.shape[1]), float(c), dtype=kind, device=a.device)
    given = {"A": (a, formats["A"]), "B": (b, formats["B"]), "C": (c, formats["C"])}
    if c.shape != (len(a), b.shape[1]) or c.device != a.device or not all(_own(x, form) for x, form in given.values()):
        return None
    missing = k - a.shape[1]
    codes = {name: _codes(torch, tensor, form) for name, (tensor, form) in given.items()}
    codes["A"] = torch.nn.functional.pad(codes["A"], (0, missing))
    codes["B"] = torch.nn.functional.pad(codes["B"], (0, 0, 0, missing))
    return _computed(torch, execution, found, codes)


def _own(tensor: Any, form: Format) -> bool:
    """Whether a tensor's type is the format's own: its memory is the encoding."""
    name = str(tensor.dtype).removeprefix("torch.")
    return name == NUMPY_NAMES.get(form.name) or (name == "float32" and form.bits == 32)


def _codes(torch: Any, tensor: Any, form: Format) -> Any:
    """A tensor's codes; float32 is rounded to TF32 and XF32, to nearest even."""
    tensor = tensor.detach().contiguous()
    codes = tensor.view(getattr(torch, INTEGERS[form.bits]))
    if form.bits == 32 and form.mantissa == 10:
        rounded = codes + (0xFFF + (codes >> 13 & 1)) & ~0x1FFF
        codes = torch.where(torch.isnan(tensor), 0x7FC00000, rounded)
    return codes


def _computed(torch: Any, execution: Execution, found: Kernel, codes: dict[str, Any]) -> Any:
    a, b = (_operand(torch, codes[name], execution.formats[name], found) for name in "AB")
    if prepare := PREPARED.get(found.name):
        b = prepare(b, found.parameters)
    c = _start(torch, codes["C"], execution.formats["C"], found)
    d, flags = torch.empty_like(c), torch.empty(c.shape, dtype=torch.bool, device=c.device)
    rows = max(1, ELEMENTS // max(1, c.shape[1]))
    for first in range(0, len(c), rows):
        part = slice(first, first + rows)
        of_a = fast.Operand(a.values[part], None if a.exponents is None else a.exponents[part])
        values, bad = KERNELS[found.name](of_a, b, c[part], found.parameters)
        d[part], flags[part] = values, bad | ~torch.isfinite(values)
    if flags.any():
        at = torch.nonzero(flags, as_tuple=True)
        few = [codes["A"][at[0]], codes["B"][:, at[1]].T, codes["C"][at]]
        host = [_on_host(execution, name, x) for name, x in zip("ABC", few)]
        again = fast.recomputed(execution, *host)
        form = execution.formats["D"]
        values = again.view(np.float32) if form.bits == 32 else decode(again, form).astype(np.float32)
        d[at] = torch.from_numpy(values).to(d.device)
    return d


def _on_host(execution: Execution, name: str, codes: Any) -> Any:
    """Codes on the host, unsigned."""
    array = codes.cpu().numpy()
    return checked(execution, name, array.view(f"u{array.itemsize}"))


def _operand(torch: Any, codes: Any, form: Format, found: Kernel) -> Any:
    """Codes as a kernel reads them: `fast.decoded` on tensors."""
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


def _start(torch: Any, codes: Any, form: Format, found: Kernel) -> Any:
    """C's codes as the values that a kernel starts from."""
    if form.bits == 32:
        values = codes.view(torch.float32)
    else:
        table = torch.from_numpy(np.array(fast.tables(form.name, "").values)).to(codes.device)
        values = table[codes.long() & ((1 << form.bits) - 1)]
    if found.parameters.get("flush"):
        values = torch.where(torch.abs(values) < 2.0**-126, torch.zeros_like(values), values)
    return values
