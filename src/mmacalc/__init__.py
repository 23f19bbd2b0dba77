"""mmacalc: matrix instructions of AMD, NVIDIA and Intel GPUs, element by element and bit by bit.

Everything is imported when it is first used, so `import mmacalc` costs nothing.

>>> import mmacalc
>>> inst = mmacalc.instruction("MI300X", "v_mfma_f32_16x16x16_f16")
>>> inst.operand("A").locate(i=3, k=9)
(Location(lane=35, item=1, register=0, lsb=16, width=16),)
"""

from __future__ import annotations

# The methods of lower layers whose code is in a higher one, and what the catalog's records name there: `base.records`.
LATE = {
    "assembly": "mmacalc.asm.generations:GENERATIONS",
    "dpas_assembly": "mmacalc.asm.dpas_encodings:GENERATIONS",
    "hazards": "mmacalc.hazards.tables:RULES",
    "builtins": "mmacalc.compiler.dialects:DIALECTS",
    "transpose_load": "mmacalc.memory_access.transpose_loads:TransposeLoad",
    "vector_instructions": "mmacalc.chaining.conversions:INSTRUCTIONS",
    "numerics": "mmacalc.arithmetic:numerics",
    "multiply": "mmacalc.emulator.matrices:multiply",
    "multiply_bits": "mmacalc.emulator.matrices:multiply_bits",
    "execution": "mmacalc.emulator.matrices:fitted_execution",
    "executor": "mmacalc.emulator.registers:Executor",
    "draw_operand": "mmacalc.drawing:draw_operand",
    "draw_instruction": "mmacalc.drawing:draw_instruction",
    "draw_profile": "mmacalc.questions.profile:draw",
}

# The answers, and what writes the text of each: a module of `mmacalc.questions` and its function.
TEXTS = {
    "chaining.answer.Chain": "chain:chain_text",
    "chaining.answer.Feeds": "chain:list_text",
    "codegen.check.Checked": "generate:check_text",
    "codegen.generate.GeneratedKernel": "generate:text",
    "diagnosis.compare.Diagnosis": "run:diagnosis_text",
    "emulator.comparison.NumericsComparison": "gemm:_compared_text",
    "families.descriptors.Descriptor": "descriptor:text",
    "hazards.lint.LintReport": "lint:report_text",
    "hazards.lint.WaitsReport": "waits:report_text",
    "hazards.recognizer.WaitStates": "waits:text",
    "kernels.device.debugging.Debugged": "run_kernel:debug_text",
    "kernels.following.FollowedProduct": "run_kernel:follow_text",
    "kernels.device.profile.Profile": "profile:text",
    "kernels.repairing.Repairs": "run_kernel:repair_text",
    "memory_access.answer.Memory": "memory:memory_text",
    "memory_access.answer.MemoryAndRepair": "memory:text",
    "memory_access.shared_operands.SharedOperand": "memory:shared_text",
    "questions.architectures.KnownArchitectures": "architectures:text",
    "questions.assemble.Assembly": "assemble:text",
    "questions.assemble.FileAssembly": "assemble:file_text",
    "questions.chain.Chains": "chain:text",
    "questions.classic.about.Listing": "classic.about:listing_text",
    "questions.classic.about.Pattern": "classic.about:pattern_text",
    "questions.classic.about.Version": "classic.about:version_text",
    "questions.classic.detail.Detail": "classic.detail:text",
    "questions.classic.layouts.MatrixLayout": "classic.layouts:matrix_text",
    "questions.classic.layouts.RegisterLayout": "classic.layouts:text",
    "programs.running.ProgramReport": "run_program:text",
    "questions.classic.places.ElementPlaces": "classic.places:text",
    "questions.classic.places.RegisterContents": "classic.places:contents_text",
    "questions.classic.tensor_memory.CellContents": "classic.tensor_memory:contents_text",
    "questions.classic.tensor_memory.CellTable": "classic.tensor_memory:cell_table_text",
    "questions.classic.tensor_memory.ElementCells": "classic.tensor_memory:element_text",
    "questions.classic.tensor_memory.ElementTable": "classic.tensor_memory:element_table_text",
    "questions.classic.tensor_memory.Move": "classic.tensor_memory:move_text",
    "questions.classic.tensor_memory.MovedCell": "classic.tensor_memory:moved_text",
    "questions.classic.tensor_memory.TensorMemoryDetail": "classic.tensor_memory:detail_text",
    "questions.classic.tensor_memory.TensorMemoryPattern": "classic.tensor_memory:pattern_text",
    "questions.compare.InstructionComparison": "compare:text",
    "questions.descriptor.SwizzleAtom": "descriptor:atom_text",
    "questions.disassemble.Disassembly": "disassemble:text",
    "questions.disassemble.FileDisassembly": "disassemble:file_text",
    "questions.explain.ExplainedText": "explain:text",
    "questions.explain.answer.Explanation": "explain:explanation_text",
    "questions.explain.triton.DumpAnswer": "explain.triton:dump_text",
    "questions.explain.triton_kernel.TritonKernel": "explain.triton_kernel:kernel_text",
    "questions.find.Matches": "find:text",
    "questions.find.equivalents.Equivalents": "find.equivalents:text",
    "questions.gemm.Product": "gemm:text",
    "questions.generate.IndexExpressions": "generate:formula_text",
    "questions.intrinsic.InstructionIntrinsics": "intrinsic:text",
    "questions.layout.ConvertedLayouts": "layout:conversion_text",
    "questions.layout.LayoutAnswer": "layout:text",
    "questions.lint.CheckedListing": "lint:text",
    "questions.numerics.InstructionNumerics": "numerics:text",
    "questions.numerics.TwoNumerics": "numerics:two_text",
    "questions.numerics.Overview": "numerics:overview_text",
    "questions.profile.Profiles": "profile:comparison_text",
    "questions.run.Run": "run:text",
    "questions.run_kernel.KernelList": "run_kernel:list_text",
    "questions.run_kernel.KernelRun": "run_kernel:text",
    "questions.run_kernel.PtxCoverage": "run_kernel:coverage_text",
    "questions.run_kernel.PtxKernelList": "run_kernel:ptx_list_text",
    "questions.run_kernel.PtxKernelRun": "run_kernel:ptx_text",
    "questions.tile.TileAnswer": "tile:text",
    "questions.tile.TileContents": "tile:contents_text",
    "questions.tile.TileFormulas": "tile:formulas_text",
    "questions.tile.TilePlaces": "tile:places_text",
    "questions.transpose_loads.LoadListing": "transpose_loads:listing_text",
    "questions.transpose_loads.LoadTile": "transpose_loads:tile_text",
    "questions.transpose_loads.OperandLoads": "transpose_loads:operand_text",
    "questions.waits.ListedWaits": "waits:text",
    "throughput.Estimate": "estimate:text",
}

_public: dict[str, str] | None = None


def _homes() -> dict[str, str]:
    """The module of each public name, "" for one that is a module itself, as the stub beside this file lists them."""
    global _public
    if _public is None:
        stub = __loader__.get_data(__file__.removesuffix("c").removesuffix(".py") + ".pyi").decode()
        words = [line.split() for line in stub.splitlines() if line.startswith("from .")]
        _public = {name: module[1:] for _, module, _, name, *_ in words}
    return _public


def __getattr__(name: str) -> object:
    homes = _homes() if name in ("__all__", "__version__") or not name.startswith("_") else {}
    if name == "__all__":
        return sorted(each for each, home in homes.items() if home and each != "__version__")
    if name not in homes:
        raise AttributeError(f"module 'mmacalc' has no attribute '{name}'")
    from importlib import import_module

    home = homes[name]
    found = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(_homes())
