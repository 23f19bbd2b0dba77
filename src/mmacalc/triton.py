"""Triton kernels on the emulator, with NumPy or torch CPU arrays, for any target of either vendor that Triton has.

Hidden arguments, scratch, the number of threads and the bytes of shared memory come from what Triton says of the
compiled kernel. No GPU is needed, neither to compile nor to run; the triton package is.
"""

from __future__ import annotations

import tempfile
from math import prod
from pathlib import Path

import numpy as np

from .base.checks import shown
from .base.errors import Error, first_of
from .base.late import imported
from .base.numerals import whole
from .kernels.launching import launch as launch_kernel
from .kernels.loading import load
from .kernels.ptx.kernel import PtxKernel
from .kernels.ptx.tensor_map import tensor_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["compiled", "launch"]

TYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip
"""Types of elements as Triton's signatures have them."""
WIDE_WAVES = ("gfx9",)
"""AMD's targets with waves of 64 lanes; those of newer ones have 32."""


def launch(kernel: Any, grid: Any, *args: Any, target: str = "", **named: Any) -> Any:
    """Run a Triton kernel on the emulator, as `kernel[grid](*args, **named)` does on a GPU.

    Args:
        kernel: a function with @triton.jit, or a CompiledKernel of `triton.compile` or `compiled`.
        grid: a number or up to three.
        args, named: the kernel's arguments and constexprs, in its order or by name: NumPy arrays or torch CPU tensors
            for pointers, TensorDescriptor for tensor descriptors, numbers. Of a CompiledKernel only arguments. Besides,
            Triton's num_warps, num_stages and the like, and limit= and schedule= of `mmacalc.launch`.
        target: what to compile a function for, such as "sm_80", "sm_90a" or "gfx942".

    Returns:
        The report, as of `mmacalc.launch`; arrays and tensors are changed in place.

    Raises:
        Error: the triton package is missing; an argument that is missing or of no type of Triton's; a target that
            Triton does not compile for; and as `mmacalc.launch`.
    """
    options = {name: named.pop(name) for name in ("limit", "schedule") if named.get(name) is not None}
    if hasattr(kernel, "arg_names") and not hasattr(kernel, "asm"):
        values = _bound(kernel, args, named)
        made = compiled(kernel, target, values, named)
        given = [value for name, value in values.items() if not _is_constant(kernel, name)]
    else:
        if named:
            raise Error(f"a compiled Triton kernel takes its arguments in order; got {first_of(named)} by name")
        made, given = kernel, list(args)
    return _run(made, grid, given, options)


def compiled(kernel: Any, target: str, values: dict[str, Any], options: dict[str, Any] | None = None) -> Any:
    """What Triton compiles of a function for a target.

    Args:
        kernel: a function with @triton.jit. target: such as "sm_90a" or "gfx942". values: its arguments and constexprs
            by name. options: num_warps and the like.

    Raises:
        Error: the triton package is missing, or does not compile for the target.
    """
    try:
        triton, backends = imported("triton"), imported("triton.backends.compiler")
        compiler = imported("triton.compiler")
    except ImportError:
        raise Error("Triton is missing: pip install triton") from None
    if target.startswith("gfx"):
        machine = backends.GPUTarget("hip", target, 64 if target.startswith(WIDE_WAVES) else 32)
    elif target.startswith("sm_") and target[3:].rstrip("af").isdecimal():
        machine = backends.GPUTarget("cuda", whole(target[3:].rstrip("af"), "the number of a target"), 32)
    else:
        raise Error(f"target is such as 'sm_80', 'sm_90a' or 'gfx942'; got {shown(target)}")
    names = kernel.arg_names
    signature = {name: "constexpr" if _is_constant(kernel, name) else _type(name, values[name]) for name in names}
    constants = {name: values[name] for name in names if signature[name] == "constexpr"}
    aligned = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(names) if signature[name][0] == "*"}
    source = compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=machine, options=options or {})


def _is_constant(kernel: Any, name: str) -> bool:
    return bool(next(one.is_constexpr for one in kernel.params if one.name == name))


def _bound(kernel: Any, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments and constexprs by name; takes them out of `named`, and leaves Triton's options there."""
    names = list(kernel.arg_names)
    if len(args) > len(names):
        raise Error(f"the kernel takes {len(names)} arguments ({', '.join(names)}); got {len(args)}")
    values = dict(zip(names, args))
    for name in names[len(args) :]:
        if name in named:
            values[name] = named.pop(name)
        else:
            default = next(one.default for one in kernel.params if one.name == name)
            if not isinstance(default, (int, float, str, bool, type(None))):
                raise Error(f"the kernel's argument '{name}' is missing; it takes {', '.join(names)}")
            values[name] = default
    return values


def _type(name: str, value: Any) -> str:
    """An argument's type as Triton's signatures have it."""
    if hasattr(value, "block_shape"):
        return f"tensordesc<{_element(name, value.base)}[{', '.join(map(str, value.block_shape))}]>"
    if hasattr(value, "dtype") and len(value.shape):
        return f"*{_element(name, value)}"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, (int, np.integer)):
        return "i32" if -(1 << 31) <= int(value) < 1 << 31 else "i64"
    if isinstance(value, (float, np.floating)):
        return "fp32"
    raise Error(f"the argument '{name}' is {shown(value)}; a Triton kernel takes arrays, tensors and numbers")


def _element(name: str, value: Any) -> str:
    kind = str(getattr(value.dtype, "name", value.dtype)).removeprefix("torch.")
    if kind not in TYPES:
        raise Error(f"the argument '{name}' has elements of {kind}; Triton has {', '.join(TYPES)}")
    return TYPES[kind]


def _array(value: Any) -> Any:
    """A tensor of torch as an array on the same memory, of bytes where NumPy lacks its type; anything else as it is."""
    if not hasattr(value, "data_ptr"):
        return value
    if value.device.type != "cpu":
        raise Error("a tensor is on a GPU; kernels run on tensors of the CPU: give tensor.cpu()")
    try:
        return value.detach().numpy()
    except TypeError:
        return value.detach().view(imported("torch").uint8).numpy()


def _run(made: Any, grid: Any, values: list[Any], options: dict[str, Any]) -> Any:
    sizes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if "ptx" in made.asm:
        (kernel,) = load(made.asm["ptx"]).values()
        assert isinstance(kernel, PtxKernel)
        given = _with_descriptors(values, made.metadata)
        for name in ("global_scratch_size", "profile_scratch_size"):
            if size := getattr(made.metadata, name, 0):
                given.append(np.zeros(size * prod(sizes), np.uint8))
        return launch_kernel(kernel, sizes, kernel.block, *given, shared=made.metadata.shared, **options)
    if "hsaco" not in made.asm:
        raise Error("the compiled kernel has neither PTX nor an object of AMD's")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.hsaco"
        path.write_bytes(made.asm["hsaco"])
        found: Any = load(path)[made.metadata.name]
    given = [_array(value) for value in values]
    expected = sum(not one.value_kind.startswith("hidden_") for one in found.arguments)
    given += [None] * (expected - len(given))  # scratch that the kernel does not use
    shared = max(0, made.metadata.shared - found.descriptor.group_segment_size)
    threads = made.metadata.num_warps * made.metadata.target.warp_size
    return launch_kernel(found, sizes, threads, *given, shared=shared, **options)


def _with_descriptors(values: list[Any], metadata: Any) -> list[Any]:
    """The arguments of PTX: a tensor descriptor is a tensor map with its shape and strides."""
    maps = list(getattr(metadata, "tensordesc_meta", None) or [])
    given: list[Any] = []
    for value in values:
        if hasattr(value, "block_shape"):
            meta, array = maps.pop(0), _array(value.base)
            swizzle = ("none", "32B", "64B", "128B")[meta["swizzle"]]
            given += [tensor_map(array, meta["block_size"], swizzle=swizzle), *array.shape]
            given += [stride // array.itemsize for stride in array.strides]
        else:
            given.append(_array(value))
    return given
