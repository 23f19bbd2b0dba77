"""Triton and Gluon kernels on the emulator, with NumPy or torch CPU arrays, for any target that Triton has.

Hidden arguments, scratch, the number of threads and the bytes of shared memory come from what Triton says of the
compiled kernel. No GPU is needed, neither to compile nor to run; the triton package is.
"""

from __future__ import annotations

import tempfile
from math import prod
from pathlib import Path

import numpy as np

from .base.checks import shown, whole
from .base.errors import Error, abbreviated
from .base.records import imported
from .formats import named as named_format
from .kernels.amd.tensor_copies import packed_descriptor
from .kernels.device.launch import AddressedValue
from .kernels.device.memory import owner_of
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
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip
"""Types of elements as Triton's signatures have them."""
WIDE_WAVES = ("gfx9",)
"""AMD's targets with waves of 64 lanes; those of newer ones have 32."""


def launch(kernel: Any, grid: Any, *args: Any, target: str = "", product: str | None = None, **named: Any) -> Any:
    """Run a Triton kernel on the emulator, as `kernel[grid](*args, **named)` does on a GPU.

    Args:
        kernel: a function with @triton.jit or @gluon.jit, or a CompiledKernel of `triton.compile` or `compiled`.
        grid: a number or up to three.
        args, named: the kernel's arguments and constexprs, in its order or by name: NumPy arrays or torch CPU tensors
            for pointers, TensorDescriptor for tensor descriptors, numbers. Of a CompiledKernel only arguments. Besides,
            Triton's num_warps, num_stages and the like, and limit= and schedule= of `mmacalc.launch`.
        target: what to compile a function for, such as "sm_80", "sm_90a" or "gfx942".
        product: of a function that multiplies matrices, which of its arguments they are, as "c = a @ b": it is followed
            by `mmacalc.follow_product`, which names the instruction and the line of Python that make it wrong.

    Returns:
        The report, as of `mmacalc.launch`; arrays and tensors are changed in place. With product= what
        `mmacalc.follow_product` returns.

    Raises:
        Error: the triton package is missing; an argument that is missing or of no type of Triton's; a target that
            Triton does not compile for; and as `mmacalc.launch`.
    """
    options = {name: named.pop(name) for name in ("limit", "schedule") if named.get(name) is not None}
    if hasattr(kernel, "arg_names") and not hasattr(kernel, "asm"):
        values = _bound(kernel, args, named)
        made = compiled(kernel, target, values, named)
        given = [value for name, value in values.items() if not _is_constant(kernel, name)]
        if product is not None:
            options["product"] = product, values
    elif product is not None:
        raise Error(
            "product= is for a function of Triton, which has names; of a compiled kernel: mmacalc.follow_product"
        )
    else:
        if named:
            raise Error(f"a compiled Triton kernel takes its arguments in order; got {abbreviated(named)} by name")
        made, given = kernel, list(args)
    return _run(made, grid, given, options)


def compiled(kernel: Any, target: str, values: dict[str, Any], options: dict[str, Any] | None = None) -> Any:
    """What Triton compiles of a function for a target.

    Args:
        kernel: a function with @triton.jit or @gluon.jit. target: such as "sm_90a" or "gfx942". values: its arguments
            and constexprs by name. options: num_warps and the like.

    Raises:
        Error: the triton package is missing, or does not compile for the target.
    """
    try:
        triton, backends = imported("triton"), imported("triton.backends.compiler")
        gluon = getattr(kernel, "is_gluon", bool)()
        source_of = (
            imported("triton.experimental.gluon._runtime").GluonASTSource
            if gluon
            else imported("triton.compiler").ASTSource
        )
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
    aligned = {
        (at,): [["tt.divisibility", 16]]
        for at, name in enumerate(names)
        if _is_multiple(signature[name], name, values[name])
    }
    source = source_of(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=machine, options=options or {})


def _is_multiple(kind: str, name: str, value: Any) -> bool:
    """Whether Triton compiles for a pointer or a number that 16 divides, as its own launches do."""
    if kind[0] == "*":
        return _bytes_before(name, value) % 16 == 0
    return kind in ("i32", "i64") and int(value) % 16 == 0


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


def _bytes_before(name: str, value: Any) -> int:
    """How many bytes of its storage lie before an array or a tensor; storage begins at a multiple of 256 here."""
    if hasattr(value, "data_ptr"):
        return int(value.storage_offset() * value.element_size())
    return owner_of(name, value)[1]


class _Tensors:
    """The storage of torch's tensors as arrays of bytes, each once, so that tensors that share storage share memory."""

    def __init__(self) -> None:
        self._storages: dict[int, Array] = {}

    def pointer(self, value: Any) -> Any:
        """What a pointer to a tensor is launched with: its storage from its first element on, with any strides.

        Anything else is returned as it is.

        Raises:
            Error: the tensor is on a GPU.
        """
        if not hasattr(value, "data_ptr"):
            return value
        if value.device.type != "cpu":
            raise Error("a tensor is on a GPU; kernels run on tensors of the CPU: give tensor.cpu()")
        storage = value.untyped_storage()
        if storage.data_ptr() not in self._storages:
            torch = imported("torch")
            self._storages[storage.data_ptr()] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
        return self._storages[storage.data_ptr()][_bytes_before("a tensor", value) :]

    def matrix(self, value: Any) -> Any:
        """The elements of a tensor, or of a descriptor's base, as an array that shares their memory; anything else is
        returned as it is."""
        value = getattr(value, "base", value) if hasattr(value, "block_shape") else value
        if not hasattr(value, "data_ptr") or not value.is_contiguous():
            return value
        kind = _element("a tensor", value)
        name = next(name for name, short in TYPES.items() if short == kind)
        dtype = named_format(name).dtype if name.startswith(("float", "bfloat")) else np.dtype(name)
        content = self.pointer(value)[: value.numel() * dtype.itemsize]
        return content.view(dtype).reshape(tuple(value.shape))

    def tensor(self, descriptor: Any) -> tuple[Array, str | None]:
        """The tensor of a descriptor as an array, and the PTX type of its elements where NumPy lacks it.

        Raises:
            Error: its strides are not those of consecutive elements.
        """
        base, shape, kind = descriptor.base, tuple(map(int, descriptor.shape)), _element("base", descriptor.base)
        wanted = [prod(shape[at + 1 :]) for at in range(len(shape))]
        if list(map(int, descriptor.strides)) != wanted:
            raise Error(
                f"the tensor descriptor has strides {list(descriptor.strides)}; tensor maps are covered of consecutive "
                f"elements, of shape {list(shape)} with strides {wanted}: give base.contiguous()"
            )
        held = {"bf16": "uint16", "fp8e4nv": "uint8", "fp8e5": "uint8", "i8": "uint8", "i16": "uint16"}.get(kind)
        dtype = np.dtype(held or str(base.dtype).removeprefix("torch."))
        content = self.pointer(base).reshape(-1).view(np.uint8)
        size = prod(shape) * dtype.itemsize
        if size > content.size:
            raise Error(f"the tensor descriptor of shape {list(shape)} has {size} bytes; its base has {content.size}")
        return content[:size].view(dtype).reshape(shape), "bf16" if kind == "bf16" else None


def _run(made: Any, grid: Any, values: list[Any], options: dict[str, Any]) -> Any:
    sizes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if "ptx" in made.asm:
        (kernel,) = load(made.asm["ptx"]).values()
        assert isinstance(kernel, PtxKernel)
        given = _with_descriptors(values, made.metadata, True)
        for name in ("global_scratch_size", "profile_scratch_size"):
            if size := getattr(made.metadata, name, 0):
                given.append(np.zeros(size * prod(sizes), np.uint8))
        return _launched(kernel, sizes, kernel.block, given, {"shared": made.metadata.shared, **options})
    if "hsaco" not in made.asm:
        raise Error("the compiled kernel has neither PTX nor an object of AMD's")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.hsaco"
        path.write_bytes(made.asm["hsaco"])
        found: Any = load(path)[made.metadata.name]
    given = _with_descriptors(values, made.metadata, False)
    expected = len(found.given_arguments)
    given += [None] * (expected - len(given))  # scratch that the kernel does not use
    shared = max(0, made.metadata.shared - found.descriptor.group_segment_size)
    threads = made.metadata.num_warps * made.metadata.target.warp_size
    return _launched(found, sizes, threads, given, {"shared": shared, **options})


def _launched(kernel: Any, grid: Any, block: Any, given: list[Any], options: dict[str, Any]) -> Any:
    """Launch a kernel, or follow its product."""
    if "product" not in options:
        return launch_kernel(kernel, grid, block, *given, **options)
    from .kernels.following.launches import Launched, follow

    product, values = options.pop("product")
    tensors = _Tensors()
    matrices = {name: tensors.matrix(value) for name, value in values.items()}
    return follow(Launched(kernel, grid, block, tuple(given), options), product, matrices)


def _with_descriptors(values: list[Any], metadata: Any, maps_run: bool) -> list[Any]:
    """The arguments of a compiled kernel, of a tensor descriptor as Triton 3.9's launchers have them.

    That is a tensor map where Triton made one (for gfx1250 the descriptor of a copy of tensors), else its base, shape,
    strides and whether it fills with NaN and rounds to tf32; after each once more the shape and the strides. maps_run:
    whether kernels run that take a map (PTX).

    Raises:
        Error: a descriptor that is not covered.
    """
    maps, tensors = list(getattr(metadata, "tensordesc_meta", None) or []), _Tensors()
    given: list[Any] = []
    for value in values:
        if not hasattr(value, "block_shape"):
            given.append(tensors.pointer(value))
            continue
        sizes = [*map(int, value.shape), *map(int, value.strides)]
        fills, rounds = getattr(value, "padding", "zero") == "nan", bool(getattr(value, "round_f32_to_tf32", False))
        if not maps:
            given += [tensors.pointer(value.base), *sizes, int(fills), int(rounds), *sizes]
        elif fills or rounds:
            what = "padding='nan'" if fills else "round_f32_to_tf32"
            raise Error(f"{what} of a tensor descriptor is not covered where it becomes a tensor map or gfx1250's "
                        "descriptor, which fill with zeros: sm_90 and newer, gfx1250")  # fmt: skip
        elif not maps_run:
            given += [_tensor_descriptor(tensors.pointer(value.base), value, maps.pop(0), metadata.num_warps), *sizes]
        else:
            meta, (array, element) = maps.pop(0), tensors.tensor(value)
            if meta.get("is_im2col") or meta.get("fp4_padded"):
                raise Error("tensor descriptors of im2col mode and of padded fp4 are not covered")
            swizzle = ("none", "32B", "64B", "128B")[meta["swizzle"]]
            given += [tensor_map(array, meta["block_size"], swizzle=swizzle, element=element), *sizes]
    return given


def _tensor_descriptor(base: Any, value: Any, meta: dict[str, Any], warps: int) -> Any:
    """The descriptor of gfx1250's tensor_load_to_lds as a kernel of Triton 3.9 takes it, without the place in LDS
    (driver.c, encodeTDMDescriptor; TDMCommon.h, tdmGetWarpDistribution).

    Args:
        base: what a pointer to its tensor is launched with. value: the TensorDescriptor. meta: what Triton says of it.
        warps: of the kernel, among which it divides the block, the first dimension first.
    """
    block, size = [*map(int, meta["block_size"])], int(meta["elem_bits"]) // 8
    tile = [-(-block[0] // warps)] if len(block) == 1 else []
    for length in block if len(block) > 1 else ():
        parts = 1
        while parts < warps and 2 * parts <= length:
            parts *= 2
        tile, warps = [*tile, -(-length // parts)], warps // parts
    ((interval, amount),) = meta.get("interval_padding_pairs") or ((0, 0),)
    fields = [*map(int, value.shape)], [*map(int, value.strides)], tile, (interval * size, amount * size)
    return AddressedValue(base, lambda address: packed_descriptor(address, size, *fields))
