"""Runs a program that uses CuTe's DSL and PyTorch on the emulator: every launch, in place of a GPU.

    python tools/cute_programs.py sm_100a PROGRAM.py ...                 the program's own arguments follow
    SCHEDULES=-,1,2 python tools/cute_programs.py ...                    each launch in other orders of the warps, too
    RECORD=FOLDER python tools/cute_programs.py ...                      launches for tools/ptx_changes.py, FOLDER0 ...

Needs mmacalc, nvidia-cutlass-dsl, PyTorch for CPUs, g++ and the headers of CUDA (in $CUDA_HOME, /usr/local/cuda), no
GPU and no driver. The DSL compiles for the target that is named and keeps its PTX; cute_runtime.cpp stands in for the
CUDA calls of its host code, which hands over the tensor maps that it encodes itself. PyTorch's tensors lie in the
host's memory and say that they are CUDA's. Programs see 4 multiprocessors, of which clusters may fill 2. What a program
checks against PyTorch it checks as on a GPU. The status is 1 where a launch is refused or has a finding.

    python tools/cute_programs.py sm_90a cutlass/examples/python/CuTeDSL/cute/hopper/kernel/dense_gemm/dense_gemm.py
        --mnkl 256,256,192,1 --cluster_shape_mn 2,1
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import runpy
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

TARGET, PROGRAM, *OPTIONS = sys.argv[1:]
FOLDER = Path(tempfile.mkdtemp())
HERE = Path(__file__).parent
LIBRARY = FOLDER / "cute_runtime.so"


def _prepare() -> None:
    """Compile the stand-in and set what the DSL reads when it is imported."""
    headers = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    command = ["g++", "-w", "-shared", "-fPIC", "-O1", f"-I{headers}", str(HERE / "cute_runtime.cpp"), "-o"]
    subprocess.run([*command, str(LIBRARY)], check=True)
    import nvidia_cutlass_dsl

    runtime = next(Path(nvidia_cutlass_dsl.__path__[0]).glob("cu1*/lib/libcute_dsl_runtime.so"))
    for prefix in ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL"):
        values = {"ARCH": TARGET, "LIBS": f"{LIBRARY}:{runtime}", "KEEP": "ptx", "DUMP_DIR": str(FOLDER),
                  "DISABLE_FILE_CACHING": "1"}  # fmt: skip
        os.environ |= {f"{prefix}_{name}": value for name, value in values.items()}


_prepare()
import cuda.bindings.driver as driver  # noqa: E402
import cuda.bindings.runtime as runtime  # noqa: E402
import cutlass.cute.testing  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from cutlass.utils.hardware_info import HardwareInfo  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

import mmacalc  # noqa: E402
from mmacalc.kernels.device import memory as device_memory  # noqa: E402
from mmacalc.kernels.ptx.compiler import compile_kernel  # noqa: E402
from mmacalc.kernels.ptx.kernel import PtxKernel  # noqa: E402
from mmacalc.kernels.ptx.launch import Launch  # noqa: E402
from mmacalc.ptx.reader import read  # noqa: E402

ALLOCATED: list[tuple[int, int]] = []
SCHEDULES = [None if word == "-" else int(word) for word in os.environ.get("SCHEDULES", "-").split(",")]
count = wrong = 0


def arrays() -> list[tuple[int, np.ndarray, str]]:
    """The memory of all tensors, by address, with a name for messages."""
    found = dict(ALLOCATED)
    for one in gc.get_objects():
        if type(one) is torch.Tensor and one.device.type == "cpu" and (size := one.untyped_storage().nbytes()):
            found[one.untyped_storage().data_ptr()] = size
    return [
        (at, np.frombuffer((ctypes.c_char * size).from_address(at), np.uint8), f"a tensor of {size} bytes")
        for at, size in sorted(found.items())
    ]


def text_of(name: str) -> str:
    """The PTX that the DSL has compiled last of a kernel."""
    for file in sorted(FOLDER.glob("**/*.ptx"), key=os.path.getmtime, reverse=True):
        if re.search(rf"\.entry\s+{re.escape(name)}\b", text := file.read_text()):
            return text
    raise mmacalc.Error(f"the DSL has kept no PTX of {name}")


def launched(given: bytes, counts: Any, shared: int, arguments: Any) -> None:
    """A launch of the DSL's host code: run on the emulator; what is found is printed."""
    global count, wrong
    name, sizes = given.decode(), [tuple(counts[at : at + 3]) for at in (0, 3, 6)]
    try:
        text = text_of(name)
        kernel = PtxKernel(read(text), name)
        program = compile_kernel(kernel.module, name)
        parameters = bytearray(program.parameter_bytes)
        for number, (start, one) in enumerate(program.parameters.values()):
            parameters[start : start + one.size] = ctypes.string_at(arguments[number], one.size)
        if to := os.environ.get("RECORD"):
            record(Path(f"{to}{count}"), text, name, sizes, shared, bytes(parameters))
        count += 1
        before = [(array, array.copy()) for _, array in arrays()]
        for schedule in SCHEDULES:
            for array, content in before:
                array[:] = content
            report = Launch(kernel, *sizes[:2], (), shared=shared, cluster=sizes[2], schedule=schedule,
                            buffer=bytes(parameters)).run()  # fmt: skip
            print(f"{name[:60]}, grid {sizes[0]}: {len(report.findings)} findings", flush=True)
            for finding in report.findings:
                wrong += 1
                print(f"  {finding.kind}: line {finding.line}: {finding.text}: {finding.message}")
    except mmacalc.Error as error:
        print(f"{name[:60]}, grid {sizes[0]}: {error}", flush=True)
        os._exit(1)  # the DSL's host code takes no exception
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def record(to: Path, text: str, name: str, sizes: list[tuple[int, ...]], shared: int, parameters: bytes) -> None:
    """A launch as tools/record_launch.py records it."""
    to.mkdir(parents=True, exist_ok=True)
    known = arrays()
    lines = [name, *(" ".join(map(str, size)) for size in sizes), str(shared)]
    (to / "launch.txt").write_text("\n".join([*lines, *(f"{at} {len(array)}" for at, array, _ in known)]) + "\n")
    (to / "kernel.ptx").write_text(text)
    (to / "parameters").write_bytes(parameters)
    for number, (_, array, _) in enumerate(known):
        array.tofile(to / f"memory{number}")


class Nothing:
    """A stream, an event, a context or a device of PyTorch."""

    cuda_stream, multi_processor_count, total_memory, name = 0, 4, 1 << 37, "emulator"
    major, minor = int(TARGET[3:].rstrip("af")) // 10, 0

    def __init__(self, *_: Any, **__: Any) -> None: ...
    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_: Any) -> None: ...
    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: 1.0


class OnHost(TorchFunctionMode):
    """Tensors of CUDA lie in the host's memory."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        def host(one: Any) -> Any:
            return "cpu" if isinstance(one, (str, torch.device)) and str(one).startswith("cuda") else one

        named = {key: host(value) for key, value in (named or {}).items() if key != "pin_memory"}
        return function(*map(host, arguments), **named)


def dlpack(self: torch.Tensor, *_: Any, **__: Any) -> Any:
    """A tensor as DLPack has it, of CUDA's first device."""
    with torch._C.DisableTorchFunction():
        capsule = host_dlpack(self.detach())
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ctypes.c_int.from_address(pointer(capsule, b"dltensor") + 8).value = 2
    return capsule


E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def scaled_mm(a: Any, b: Any, scale_a: Any, scale_b: Any, out_dtype: Any = None, **_: Any) -> torch.Tensor:
    """torch._scaled_mm of scales by blocks, which PyTorch has on GPUs alone: in float32."""

    def scaled(matrix: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        values = matrix.float() if matrix.dtype != torch.float4_e2m1fn_x2 else torch.tensor(
            [*E2M1, *(-one for one in E2M1)])[torch.stack(
                [matrix.view(torch.uint8) & 15, matrix.view(torch.uint8) >> 4], -1).long()].flatten(-2)  # fmt: skip
        rows, depth = values.shape
        size = 16 if scales.dtype == torch.float8_e4m3fn else 32
        tiles = scales.flatten().float().view(-(-rows // 128), -(-depth // size // 4), 32, 4, 4)
        flat = tiles.permute(0, 3, 2, 1, 4).flatten(0, 2).flatten(1)
        return values * flat[:rows, : depth // size].repeat_interleave(size, 1)

    return (scaled(a, scale_a) @ scaled(b.T.contiguous(), scale_b).T).to(out_dtype)


def benchmark(call: Any, *_: Any, kernel_arguments: Any = None, workspace_generator: Any = None, **__: Any) -> float:
    """A launch where a program has launched nothing before, instead of many that are timed."""
    if not count:
        given = kernel_arguments or workspace_generator()
        call(*given.args, **given.kwargs)
    return 1.0


def stand_in() -> None:
    """Put these in the place of CUDA's Python bindings and of PyTorch's CUDA."""
    for module, prefix, good in (
        (runtime, "cuda", runtime.cudaError_t.cudaSuccess), (driver, "cu", driver.CUresult.CUDA_SUCCESS),
    ):  # fmt: skip
        for name in dir(module):
            if re.match(f"{prefix}[A-Z]", name) and not isinstance(getattr(module, name), type):
                value = (
                    (1,)
                    if re.search("GetDeviceCount|DeviceGetCount", name)
                    else ()
                    if "Synchron" in name or "Unload" in name
                    else (0,)
                )
                setattr(module, name, lambda *_, good=good, value=value, **__: (good, *value))
    HardwareInfo.get_max_active_clusters = lambda *_, **__: 2
    HardwareInfo.get_device_multiprocessor_count = lambda *_, **__: 4
    cutlass.cute.testing.benchmark = benchmark
    for name in ("current_stream", "default_stream", "Stream", "stream", "device", "Event", "get_device_properties"):
        setattr(torch.cuda, name, Nothing)
    for name in ("synchronize", "init", "set_device", "empty_cache", "manual_seed", "manual_seed_all"):
        setattr(torch.cuda, name, lambda *_, **__: None)
    torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 1
    torch.cuda.current_device, torch.cuda.get_device_capability = lambda: 0, lambda *_: (Nothing.major, 0)
    torch.Tensor.cuda = lambda self, *_, **__: self.clone()
    torch.Tensor.is_cuda = property(lambda _: True)
    torch.Tensor.__dlpack__, torch.Tensor.__dlpack_device__ = dlpack, lambda _: (2, 0)
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        del torch.Tensor.__dlpack_c_exchange_api__
    device_memory._kept_arrays, torch._scaled_mm = arrays, scaled_mm


host_dlpack = torch.Tensor.__dlpack__
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t,
                            ctypes.POINTER(ctypes.c_void_p))  # fmt: skip
CALLBACKS = (
    FUNCTION(launched),
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(lambda at, size: ALLOCATED.append((at, size))),
)
ctypes.CDLL(str(LIBRARY)).set_callbacks(*CALLBACKS)
stand_in()
sys.argv = [PROGRAM, *OPTIONS]
sys.path.insert(0, str(Path(PROGRAM).resolve().parent))
with OnHost():
    runpy.run_path(PROGRAM, run_name="__main__")
sys.exit(wrong > 0)
