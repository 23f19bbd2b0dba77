"""What a program is told of its device: the structures and numbers of the runtimes, by their versions."""

from __future__ import annotations

import struct

from ..base.checks import number
from ..base.errors import Error
from ..base.records import TupleRecord
from ..catalog import architecture

__all__ = ["Device"]

# Where the fields of cudaDeviceProp and hipDeviceProp_t lie: cuda_runtime_api.h 12.4 and 13.0, hip_runtime_api.h 5.2
# and 7.1. Those of HIP 6 and 7 begin like those of CUDA 12; of 11 no more than that is written.
_TWELVE = {
    "name": 0, "totalGlobalMem": 288, "sharedMemPerBlock": 296, "regsPerBlock": 304, "warpSize": 308,
    "maxThreadsPerBlock": 320, "maxThreadsDim": 324, "maxGridSize": 336, "totalConstMem": 352, "major": 360,
    "minor": 364, "multiProcessorCount": 388, "canMapHostMemory": 400, "concurrentKernels": 576,
    "unifiedAddressing": 604, "maxThreadsPerMultiProcessor": 624, "sharedMemPerMultiprocessor": 640,
    "regsPerMultiprocessor": 648, "managedMemory": 652, "cooperativeLaunch": 688,
}  # fmt: skip
_OPTIN = {"sharedMemPerBlockOptin": 696, "maxBlocksPerMultiProcessor": 712}
_THIRTEEN = {
    **_TWELVE, "multiProcessorCount": 384, "canMapHostMemory": 392, "concurrentKernels": 560, "unifiedAddressing": 588,
    "maxThreadsPerMultiProcessor": 604, "sharedMemPerMultiprocessor": 624, "regsPerMultiprocessor": 632,
    "managedMemory": 636, "cooperativeLaunch": 668, "sharedMemPerBlockOptin": 672, "maxBlocksPerMultiProcessor": 688,
}  # fmt: skip
_HIP_FIVE = {
    "name": 0, "totalGlobalMem": 256, "sharedMemPerBlock": 264, "regsPerBlock": 272, "warpSize": 276,
    "maxThreadsPerBlock": 280, "maxThreadsDim": 284, "maxGridSize": 296, "totalConstMem": 320, "major": 328,
    "minor": 332, "multiProcessorCount": 336, "maxThreadsPerMultiProcessor": 344, "concurrentKernels": 360,
    "sharedMemPerMultiprocessor": 376, "canMapHostMemory": 388, "gcnArchName": 396, "cooperativeLaunch": 656,
    "managedMemory": 772,
}  # fmt: skip
_HIP_SIX = {
    **{name: at for name, at in _TWELVE.items() if name not in ("unifiedAddressing", "regsPerMultiprocessor")},
    "gcnArchName": 1160, "sharedMemPerMultiprocessor": 1416,
}  # fmt: skip
LAYOUTS = {
    ("cudaGetDeviceProperties", 11): (692, _TWELVE),
    ("cudaGetDeviceProperties", 12): (1032, {**_TWELVE, **_OPTIN}),
    ("cudaGetDeviceProperties", 13): (1008, _THIRTEEN),
    ("hipGetDeviceProperties", 0): (792, _HIP_FIVE),
    ("hipGetDevicePropertiesR0600", 0): (1472, _HIP_SIX),
}
"""By the function and the version of CUDA's library: the bytes, and where the fields lie."""
_FORMATS = {
    "name": "256s", "gcnArchName": "256s", "totalGlobalMem": "Q", "sharedMemPerBlock": "Q", "totalConstMem": "Q",
    "sharedMemPerMultiprocessor": "Q", "sharedMemPerBlockOptin": "Q", "maxThreadsDim": "3i", "maxGridSize": "3i",
}  # fmt: skip

# cudaDeviceAttr (12.4, 13.0) and hipDeviceAttribute_t (5.2, 7.1), by what they ask for.
_CUDA_ATTRIBUTES = {
    1: "maxThreadsPerBlock", 2: "maxThreadsDim", 3: "maxThreadsDim", 4: "maxThreadsDim.z", 5: "maxGridSize",
    6: "maxGridSize.y", 7: "maxGridSize.y", 8: "sharedMemPerBlock", 9: "totalConstMem", 10: "warpSize",
    12: "regsPerBlock", 16: "multiProcessorCount", 19: "canMapHostMemory", 31: "concurrentKernels",
    39: "maxThreadsPerMultiProcessor", 41: "unifiedAddressing", 75: "major", 76: "minor",
    81: "sharedMemPerMultiprocessor", 82: "regsPerMultiprocessor", 83: "managedMemory", 89: "managedMemory",
    95: "cooperativeLaunch", 97: "sharedMemPerBlockOptin", 106: "maxBlocksPerMultiProcessor", 111: "reserved",
    115: "managedMemory", 120: "clusterLaunch",
}  # fmt: skip
_HIP_ATTRIBUTES = {
    3: "canMapHostMemory", 8: "concurrentKernels", 10: "cooperativeLaunch", 23: "major", 24: "managedMemory",
    26: "maxThreadsDim", 27: "maxThreadsDim", 28: "maxThreadsDim", 29: "maxGridSize", 30: "maxGridSize",
    31: "maxGridSize", 56: "maxThreadsPerBlock", 57: "maxThreadsPerMultiProcessor", 61: "minor",
    63: "multiProcessorCount", 71: "regsPerBlock", 74: "sharedMemPerBlock", 83: "totalConstMem", 87: "warpSize",
    10002: "sharedMemPerMultiprocessor",
}  # fmt: skip
_SHARED = {8: 166912, 9: 232448, 10: 232448, 11: 232448}
"""Bytes of shared memory that a block may ask for, by the major compute capability (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability")."""
_SMALL_SHARED = 101376
"""Those of 8.6, 8.9 and 12.x."""
_RESERVED = 1024


class Device(TupleRecord):
    """A device, as a program is told of it: its target, the library of the runtime with its version (libcudart 13),
    the compute units and the bytes of memory."""

    target: str
    cuda: bool
    version: int
    processors: int
    memory: int

    @property
    def values(self) -> dict[str, int]:
        """What the fields of the structures and the attributes are."""
        record = architecture(self.target)
        major, minor, optin = self._capability()
        shared = 49152 if self.cuda else record.lds_bytes
        optin = optin or shared
        return {
            "totalGlobalMem": self.memory, "sharedMemPerBlock": shared, "regsPerBlock": 65536,
            "warpSize": record.wave(None), "maxThreadsPerBlock": 1024, "maxThreadsDim": 1024, "maxThreadsDim.z": 64,
            "maxGridSize": 0x7FFFFFFF, "maxGridSize.y": 65535, "totalConstMem": 65536, "major": major, "minor": minor,
            "multiProcessorCount": self.processors, "canMapHostMemory": 1, "concurrentKernels": 1,
            "unifiedAddressing": 1, "maxThreadsPerMultiProcessor": 2048, "regsPerMultiprocessor": 65536,
            "sharedMemPerMultiprocessor": optin + _RESERVED if self.cuda else optin, "managedMemory": 1,
            "cooperativeLaunch": 1, "sharedMemPerBlockOptin": optin, "maxBlocksPerMultiProcessor": 32,
            "reserved": _RESERVED, "clusterLaunch": int(major >= 9),
        }  # fmt: skip

    def _capability(self) -> tuple[int, int, int]:
        """The compute capability, and the shared memory that a block may ask for: 0, no more than it has."""
        digits = "".join(filter(str.isalnum, self.target.removeprefix("gfx").removeprefix("sm_")))
        if not self.cuda:
            return number(digits[:-2]) or 0, number(f"0x{digits[-2]}") or 0, 0
        major, minor = divmod(number("".join(filter(str.isdigit, digits))) or 0, 10)
        small = major == 12 or (major == 8 and minor >= 6)
        return major, minor, _SMALL_SHARED if small else _SHARED.get(major, 0)

    def properties(self, function: str) -> bytes:
        """The structure that a function of the runtime gives.

        Raises:
            Error: this version of it is not known.
        """
        key = (function, self.version if self.cuda else 0)
        if key not in LAYOUTS:
            known = ", ".join(str(version) for name, version in LAYOUTS if name == function)
            raise Error(f"{function} is known of version {known or 'none'} of the runtime; this is {self.version}")
        size, fields = LAYOUTS[key]
        found, values = bytearray(size), self.values
        for name, at in fields.items():
            form = _FORMATS.get(name, "i")
            if form == "256s":
                struct.pack_into(form, found, at, (self.title if name == "name" else self.target).encode())
            elif form == "3i":
                rest = ("maxThreadsDim", "maxThreadsDim.z") if name == "maxThreadsDim" else ("maxGridSize.y",) * 2
                struct.pack_into(form, found, at, values[name], *[values[one] for one in rest])
            else:
                struct.pack_into(form, found, at, values[name])
        return bytes(found)

    @property
    def title(self) -> str:
        """Its name."""
        return f"mmacalc ({self.target})"

    def attribute(self, asked: int) -> int:
        """The value of an attribute.

        Raises:
            Error: what the attribute asks for is not known.
        """
        known = _CUDA_ATTRIBUTES if self.cuda else _HIP_ATTRIBUTES
        if asked not in known:
            function = "cudaDeviceGetAttribute" if self.cuda else "hipDeviceGetAttribute"
            raise Error(f"the program calls {function} of attribute {asked}, which is not known here")
        return self.values[known[asked]]

    def function(self) -> bytes:
        """cudaFuncAttributes or hipFuncAttributes: the threads of a block, registers and dynamic shared memory."""
        found = bytearray(144 if self.cuda else 56)
        threads, registers, shared = (24, 28, 44) if self.cuda else (28, 32, 24)
        struct.pack_into("i", found, threads, 1024)
        struct.pack_into("i", found, registers, 32)
        struct.pack_into("i", found, shared, self.values["sharedMemPerBlockOptin"])
        return bytes(found)

    @property
    def runtime(self) -> int:
        """The version as the runtime gives it: 13000, 60000000."""
        return self.version * (1000 if self.cuda else 10_000_000)

    @property
    def host_memory(self) -> int:
        """What an allocation of the host is called: cudaMemoryTypeHost, hipMemoryTypeHost, which was 0 before 6."""
        return 1 if self.cuda or self.version >= 6 else 0
