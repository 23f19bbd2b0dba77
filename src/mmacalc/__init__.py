"""mmacalc: matrix instructions of AMD, NVIDIA and Intel GPUs, element by element and bit by bit.

Everything is imported when it is first used, so `import mmacalc` costs nothing.

>>> import mmacalc
>>> inst = mmacalc.instruction("MI300X", "v_mfma_f32_16x16x16_f16")
>>> inst.operand("A").locate(i=3, k=9)
(Location(lane=35, item=1, register=0, lsb=16, width=16),)
"""

from __future__ import annotations

from .later import FUNCTIONS

# The methods of `mmacalc.model` whose code is in a higher layer, and what the catalog's records name there.
FUNCTIONS.update(
    assembly="mmacalc.asm.generations:GENERATIONS",
    dpas_assembly="mmacalc.asm.dpas_encodings:GENERATIONS",
    hazards="mmacalc.hazards.tables:RULES",
    builtins="mmacalc.compiler.dialects:DIALECTS",
    transpose_load="mmacalc.memory_access.transpose_loads:TransposeLoad",
    vector_instructions="mmacalc.chaining.conversions:INSTRUCTIONS",
    numerics="mmacalc.arithmetic:numerics",
    multiply="mmacalc.emulator.matrices:multiply",
    multiply_bits="mmacalc.emulator.matrices:multiply_bits",
    execute="mmacalc.emulator.registers:execute",
    executor="mmacalc.emulator.registers:executor",
    draw_operand="mmacalc.drawing:draw_operand",
    draw_instruction="mmacalc.drawing:draw_instruction",
    draw_profile="mmacalc.questions.profile:draw",
)

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
