"""Triton and Gluon kernels on the emulator, with NumPy or torch CPU arrays, for any target that Triton has.

Hidden arguments, scratch, the number of threads and the bytes of shared memory come from what Triton says of the
compiled kernel. No GPU is needed, neither to compile nor to run; the triton package is.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
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
    from collections.abc import Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["EmulatedGPU", "compiled", "emulated", "launch"]

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
            for pointers, TensorDescriptor (of triton.tools or of Gluon) for tensor descriptors, numbers, tuples of
            these. Of a CompiledKernel only arguments. Besides, Triton's num_warps, num_stages, maxnreg and the like,
            and limit= and schedule= of `mmacalc.launch`.
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
        given = _flattened(made.src.signature.values(), values.values())
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
    """What Triton compiles of a function for a target, of the types that Triton itself finds for the arguments.

    Args:
        kernel: a function with @triton.jit or @gluon.jit. target: such as "sm_90a" or "gfx942". values: its arguments
            and constexprs by name. options: num_warps and the like.

    Raises:
        Error: the triton package is missing, or does not compile for the target.
    """
    named = {name: value if _is_constant(kernel, name) else _typed(name, value) for name, value in values.items()}
    with emulated(target):
        return kernel.run(grid=(1,), warmup=True, **named, **(options or {}))


@contextmanager
def emulated(target: str, **options: Any) -> Iterator[EmulatedGPU]:
    """Within it, `kernel[grid](...)` of Triton and Gluon runs on the emulator, with torch CPU tensors.

    So host code that launches kernels runs as it is, with its heuristics, hooks and tensor descriptors. Of an
    autotuned kernel the first configuration that is left is taken: nothing is timed.

    Args:
        target: what to compile for, such as "sm_90a" or "gfx942". options: limit= and schedule= of `mmacalc.launch`.

    Yields:
        The GPU, whose `reports` have the reports of the launches, in their order.

    Raises:
        Error: the triton package is missing, or does not compile for the target.
    """
    try:
        driver, backends = imported("triton.runtime.driver").driver, imported("triton.backends.compiler")
    except ImportError:
        raise Error("Triton is missing: pip install triton") from None
    if target.startswith("gfx"):
        machine = backends.GPUTarget("hip", target, 64 if target.startswith(WIDE_WAVES) else 32)
    elif target.startswith("sm_") and target[3:].rstrip("af").isdecimal():
        machine = backends.GPUTarget("cuda", whole(target[3:].rstrip("af"), "the number of a target"), 32)
    else:
        raise Error(f"target is such as 'sm_80', 'sm_90a' or 'gfx942'; got {shown(target)}")
    before, gpu = driver._active, EmulatedGPU(machine, options)
    driver.set_active(gpu)
    try:
        yield gpu
    finally:
        driver._active = before


class EmulatedGPU:
    """What `emulated` puts in the place of Triton's driver; `reports` are those of the launches.

    The methods are those that Triton 3.9 asks of a driver (triton/backends/driver.py, runtime/jit.py).
    """

    def __init__(self, machine: Any, options: dict[str, Any]) -> None:
        self.machine: Any = machine
        self.options: dict[str, Any] = options
        self.reports: list[Any] = []
        self.utils: EmulatedGPU = self

    def get_current_target(self) -> Any:
        """Triton's record of the target."""
        return self.machine

    def get_current_device(self) -> _Device:
        """Where tensors are, and another for each target, since Triton keeps what it compiled by it."""
        found = _Device("cpu")
        found.target = self.machine.backend, self.machine.arch
        return found

    def get_current_stream(self, device: Any) -> int:
        """There is one."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Where tensors are."""
        return imported("torch").device("cpu")

    def get_device_properties(self, device: Any) -> dict[str, int]:
        """Of the target, as far as host code asks for them."""
        wave = self.machine.warp_size
        return {"max_shared_mem": 1 << 20, "multiprocessor_count": 4, "max_num_regs": 65536, "warpSize": wave}

    def load_binary(self, *given: Any) -> tuple[None, None, int, int, int]:
        """Nothing is loaded: module, function, registers, spills and threads at most."""
        return None, None, 0, 0, 1024

    def get_benchmarker(self) -> Any:
        """A timer that takes every configuration for as fast, without a launch."""
        return lambda call, quantiles=None, **options: [1.0] * len(quantiles or (1,))

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        """What launches a compiled kernel, on the GPU that is there then."""
        active = imported("triton.runtime.driver").driver

        def launched(x: int, y: int, z: int, *given: Any) -> None:
            made = _Made(source, metadata)
            values = _flattened(source.signature.values(), given[6:])
            gpu = active.active
            gpu.reports.append(_run(made, (x, y, z), values, dict(gpu.options)))

        return launched


class _Device(str):
    """The name of torch's device, which is equal to that of the same target only."""

    target: tuple[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Device) and self.target == other.target

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.target)


class _Made:
    """A compiled kernel for `_run`, from what Triton keeps on disk: a launcher is not given the texts."""

    def __init__(self, source: Any, metadata: Any) -> None:
        kept = imported("triton.runtime.cache").get_cache_manager(metadata.hash).get_group(source.name[:150] + ".json")
        files = {Path(name).suffix[1:]: Path(path) for name, path in kept.items()}
        self.metadata = metadata
        self.asm: dict[str, Any] = {}
        if "ptx" in files:
            self.asm["ptx"] = files["ptx"].read_text()
        elif "hsaco" in files:
            self.asm["hsaco"] = files["hsaco"].read_bytes()


class _Pointer:
    """A NumPy array as Triton takes a tensor: with its type and the address of its first element."""

    def __init__(self, name: str, array: Array) -> None:
        self.dtype, self.array, self.first = str(array.dtype), array, _bytes_before(name, array)

    def data_ptr(self) -> int:
        """As the emulator places it: storage begins at a multiple of 256."""
        return 256 + self.first


def _typed(name: str, value: Any) -> Any:
    """An argument as Triton's own binder takes it.

    Raises:
        Error: it has no type of Triton's.
    """
    if isinstance(value, tuple):
        each = [_typed(name, one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    if hasattr(value, "block_shape"):
        _element(name, value.base)
        return value
    if hasattr(value, "dtype") and len(value.shape):
        _element(name, value)
        return _Pointer(name, value) if isinstance(value, np.ndarray) else value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if value is None or isinstance(value, (bool, int, float)) or hasattr(value, "data_ptr"):
        return value
    raise Error(f"the argument '{name}' is {shown(value)}; a Triton kernel takes arrays, tensors and numbers")


def _flattened(types: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """The arguments that a compiled kernel has, in its order: those of tuples one by one, constants left out."""
    found: list[Any] = []
    for kind, value in zip(types, values):
        if isinstance(kind, (tuple, list)):
            found += _flattened(kind, value)
        elif kind != "constexpr":
            found.append(value)
    return found


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


def _element(name: str, value: Any) -> str:
    kind = str(getattr(value.dtype, "name", value.dtype)).removeprefix("torch.")
    if kind not in TYPES:
        raise Error(f"the argument '{name}' has elements of {kind}; Triton has {', '.join(TYPES)}")
    return TYPES[kind]


def _bytes_before(name: str, value: Any) -> int:
    """How many bytes of its storage lie before an array or a tensor; storage begins at a multiple of 256 here."""
    value = _plain(value)
    if hasattr(value, "data_ptr"):
        return int(value.storage_offset() * value.element_size())
    return owner_of(name, value)[1]


def _plain(value: Any) -> Any:
    """The tensor that `triton.reinterpret` has wrapped to give it another type; anything else as it is."""
    return value.base if hasattr(value, "data_ptr") and hasattr(value, "base") else value


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
        value = _plain(value)
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
        value = _plain(getattr(value, "base", value) if hasattr(value, "block_shape") else value)
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
            Error: it reaches beyond its base.
        """
        base, shape, kind = descriptor.base, tuple(map(int, descriptor.shape)), _element("base", descriptor.base)
        held = {"bf16": "uint16", "fp8e4nv": "uint8", "fp8e5": "uint8", "i8": "uint8", "i16": "uint16"}.get(kind)
        dtype = np.dtype(held or str(base.dtype).removeprefix("torch."))
        content = self.pointer(base).reshape(-1).view(np.uint8)
        strides = [int(stride) * dtype.itemsize for stride in descriptor.strides]
        size = sum([(length - 1) * stride for length, stride in zip(shape, strides)]) + dtype.itemsize
        if size > content.size:
            raise Error(f"the tensor descriptor of shape {list(shape)} has {size} bytes; its base has {content.size}")
        array: Array = np.ndarray(shape, dtype, content, 0, strides)
        return array, "bf16" if kind == "bf16" else None


def _run(made: Any, grid: Any, values: list[Any], options: dict[str, Any]) -> Any:
    sizes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    ctas = int(getattr(made.metadata, "num_ctas", 1) or 1)
    sizes = (sizes[0] * ctas, *sizes[1:])  # a program is a cluster
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
    cluster = {"cluster": ctas} if ctas > 1 else {}
    return _launched(found, sizes, threads, given, {"shared": shared, **cluster, **options})


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
        elif (fills or rounds) and not maps_run:
            what = "padding='nan'" if fills else "round_f32_to_tf32"
            raise Error(f"{what} of a tensor descriptor is not covered where it becomes gfx1250's descriptor, which "
                        "fills with zeros")  # fmt: skip
        elif not maps_run:
            given += [_tensor_descriptor(tensors.pointer(value.base), value, maps.pop(0), metadata.num_warps), *sizes]
        else:
            given += [_tensor_map(tensors, value, maps.pop(0)), *sizes]
    return given


def _tensor_map(tensors: _Tensors, value: Any, meta: dict[str, Any]) -> Any:
    """The tensor map of a TensorDescriptor, as Triton 3.9's launcher makes it (nvidia/driver.py, make_tensordesc_arg).
    meta: what Triton says of it."""
    array, element = tensors.tensor(value)
    box = list(meta["block_size"])
    options: dict[str, Any] = {}
    if meta.get("is_im2col"):
        options["corners"] = tuple(value.pixel_box_lower_corner), tuple(value.pixel_box_upper_corner)
        options["steps"] = tuple(value.element_strides or ())
    if meta.get("fp4_padded"):
        element, box[-1] = "b4x16_p64", box[-1] // 2  # Triton counts elements of 4 bits
    if getattr(value, "round_f32_to_tf32", False):
        element = "tf32"
    options["fill"] = "nan" if getattr(value, "padding", "zero") == "nan" else "zeros"
    swizzle = ("none", "32B", "64B", "128B")[meta["swizzle"]]
    return tensor_map(array, box, swizzle=swizzle, element=element, **options)


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
