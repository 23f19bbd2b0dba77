"""mmacalc: matrix instructions of AMD, NVIDIA and Intel GPUs, element by element and bit by bit.

Everything is imported when it is first used, so `import mmacalc` costs nothing.

>>> import mmacalc
>>> inst = mmacalc.instruction("MI300X", "v_mfma_f32_16x16x16_f16")
>>> inst.operand("A").locate(i=3, k=9)
(Location(lane=35, item=1, register=0, lsb=16, width=16),)
"""

from __future__ import annotations

from .later import FUNCTIONS
from .version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .asm.assembler import assemble as assemble
    from .asm.code_objects import Kernel as Kernel
    from .asm.disassembler import disassemble as disassemble
    from .catalog import architecture as architecture
    from .catalog import architectures as architectures
    from .catalog import instruction as instruction
    from .catalog import instructions as instructions
    from .chains import Chain as Chain
    from .chains import chain as chain
    from .chains import feeds as feeds
    from .codegen.generate import generate as generate
    from .diagnosis.compare import Diagnosis as Diagnosis
    from .diagnosis.compare import diagnose as diagnose
    from .emulator.comparison import NumericsComparison as NumericsComparison
    from .emulator.comparison import compare_numerics as compare_numerics
    from .emulator.gemm import gemm as gemm
    from .emulator.gemm import gemm_bits as gemm_bits
    from .errors import Error as Error
    from .estimates import estimate as estimate
    from .families.descriptors import instruction_descriptor as instruction_descriptor
    from .families.descriptors import shared_memory_descriptor as shared_memory_descriptor
    from .hazards.lint import Finding as Finding
    from .hazards.lint import LintReport as LintReport
    from .hazards.lint import lint as lint
    from .hazards.recognizer import WaitStates as WaitStates
    from .hazards.recognizer import wait_states as wait_states
    from .kernels import launch as launch
    from .kernels.device.memory import address_of as address_of
    from .kernels.loading import load as load
    from .kernels.ptx.tensor_map import tensor_map as tensor_map
    from .layout import Layout as Layout
    from .memory_access.answer import memory as memory
    from .model import Architecture as Architecture
    from .model import Element as Element
    from .model import Instruction as Instruction
    from .model import Location as Location
    from .model import Operand as Operand
    from .model import Product as Product
    from .model.location import TensorMemoryLocation as TensorMemoryLocation
    from .questions.compare import compare as compare
    from .questions.explain import Explanation as Explanation
    from .questions.explain import explain as explain
    from .questions.find import find as find
    from .questions.intrinsic import intrinsic as intrinsic
    from .questions.numerics import numerics as numerics

__all__ = [
    "Architecture", "Chain", "Diagnosis", "Element", "Error", "Explanation", "Finding", "Instruction", "Kernel",
    "Layout", "LintReport", "Location", "NumericsComparison", "Operand", "Product", "TensorMemoryLocation",
    "WaitStates", "address_of", "architecture", "architectures", "assemble", "chain", "compare", "compare_numerics",
    "diagnose", "disassemble", "estimate", "explain", "feeds", "find", "gemm", "gemm_bits", "generate", "instruction",
    "instruction_descriptor", "instructions", "intrinsic", "launch", "lint", "load", "memory", "numerics",
    "shared_memory_descriptor", "tensor_map", "wait_states",
]  # fmt: skip

# Where each public name is defined, and the packages that are public under their own names.
_HOMES = {
    "Architecture": "model", "Chain": "chains", "Diagnosis": "diagnosis.compare", "Element": "model", "Error": "errors",
    "Explanation": "questions.explain", "Finding": "hazards.lint", "Instruction": "model", "Kernel": "asm.code_objects",
    "Layout": "layout", "LintReport": "hazards.lint", "Location": "model", "NumericsComparison": "emulator.comparison",
    "Operand": "model", "Product": "model", "TensorMemoryLocation": "model.location",
    "WaitStates": "hazards.recognizer", "address_of": "kernels.device.memory", "architecture": "catalog",
    "architectures": "catalog", "assemble": "asm.assembler", "chain": "chains", "compare": "questions.compare",
    "compare_numerics": "emulator.comparison", "diagnose": "diagnosis.compare", "disassemble": "asm.disassembler",
    "estimate": "estimates", "explain": "questions.explain", "feeds": "chains", "find": "questions.find",
    "gemm": "emulator.gemm", "gemm_bits": "emulator.gemm", "generate": "codegen.generate", "instruction": "catalog",
    "instruction_descriptor": "families.descriptors", "instructions": "catalog", "intrinsic": "questions.intrinsic",
    "launch": "kernels", "lint": "hazards.lint", "load": "kernels.loading", "memory": "memory_access.answer",
    "numerics": "questions.numerics", "shared_memory_descriptor": "families.descriptors",
    "tensor_map": "kernels.ptx.tensor_map", "wait_states": "hazards.recognizer",
}  # fmt: skip
_PACKAGES = (
    "answers", "arithmetic", "asm", "catalog", "chains", "cli", "codegen", "diagnosis", "drawing", "emulator", "errors",
    "estimates", "families", "formats", "hazards", "intrinsics", "kernels", "layout", "memory_access", "model",
    "questions", "rates", "render", "rocwmma", "testing", "triton",
)  # fmt: skip

# The methods of `mmacalc.model` whose code is in a higher layer, and what the catalog's records name there.
FUNCTIONS.update(
    assembly="mmacalc.asm.generations:GENERATIONS",
    dpas_assembly="mmacalc.asm.dpas_encodings:GENERATIONS",
    hazards="mmacalc.hazards.tables:RULES",
    builtins="mmacalc.compiler.dialects:DIALECTS",
    transpose_load="mmacalc.memory_access.transpose_loads:TransposeLoad",
    vector_instructions="mmacalc.chains.vector_instructions:INSTRUCTIONS",
    numerics="mmacalc.arithmetic:numerics",
    multiply="mmacalc.emulator.matrices:multiply",
    multiply_bits="mmacalc.emulator.matrices:multiply_bits",
    execute="mmacalc.emulator.registers:execute",
    executor="mmacalc.emulator.registers:executor",
    draw_operand="mmacalc.drawing:draw_operand",
    draw_instruction="mmacalc.drawing:draw_instruction",
)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return globals()[name]
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'mmacalc' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_PACKAGES})
