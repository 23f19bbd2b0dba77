"""What an AMD mnemonic means: shape, blocks, formats and features.

    v_mfma_f32_16x16x4_4b_f16     D's format, M x N x K, blocks ("4b"), the format of A and B
    v_mfma_f32_16x16x32_fp8_bf8   formats of A and of B
    v_mfma_f32_16x16x4f16         the older spelling of gfx908 and gfx90a; "_1k" marks bf16 with four k per lane
    v_wmma_bf16f32_16x16x32_bf16  D is bf16, C is f32
    v_mfma_scale_f32_..., v_wmma_scale16_f32_...   with block scales for 32 or 16 consecutive k
    v_smfmac_..., v_swmmac_...    A is 2:4 sparse

Formats are the words of `WORDS`, but for those that an architecture's `format_names` reads differently.
"""

from __future__ import annotations

from ...base.checks import whole
from ...base.errors import Error
from ...base.records import TupleRecord
from ...formats import CHOICES, FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Description", "describe", "older_spellings"]

WORDS = {"fp8": "e4m3", "bf8": "e5m2", "f4": "e2m1"}
OPERATIONS = ("mfma", "smfmac", "wmma", "swmmac")
SCALES = {"scale": 32, "scale16": 16}  # the consecutive k that one scale multiplies

# The elements of A in one lane of the older MFMA, whose mnemonics leave out the blocks: 64 lanes hold all of A.
OLDER_ELEMENTS = {"f32": 1, "f64": 1, "bf16": 2, "f16": 4, "i8": 4, "bf16_1k": 4}


class Description(TupleRecord):
    """shape: (M, N, K); formats: of A, B, C and D by name; block_size: the k of one scale, 0 without scales."""

    shape: tuple[int, int, int]
    blocks: int
    formats: Mapping[str, str]
    sparse: bool
    block_size: int


def describe(name: str, format_names: Mapping[str, str] = {}) -> Description:
    """What a mnemonic means.

    Args:
        name: the mnemonic, lower case.
        format_names: what a format's word means on this architecture, where it differs from `WORDS`.

    Raises:
        Error: the name does not follow the grammar.

    >>> describe("v_mfma_f32_32x32x4_2b_f16").blocks, describe("v_mfma_f32_32x32x4f16").blocks
    (2, 2)
    >>> describe("v_smfmac_f32_16x16x64_bf8_fp8", {"bf8": "e5m2fnuz"}).formats["A"]
    'e5m2fnuz'
    """
    parts = name.split("_")
    if len(parts) < 4 or parts[0] != "v" or parts[1] not in OPERATIONS:
        raise _unknown(name, f"it should begin with v_ and one of {', '.join(OPERATIONS)}")
    block_size = SCALES.get(parts[2], 0)
    result, shape_word, *inputs = parts[3:] if block_size else parts[2:]
    numbers, older = _split_shape(name, shape_word)
    blocks = 1
    if older:
        inputs, blocks = [older], _older_blocks(name, numbers, "_".join([older, *inputs]))
    elif inputs and inputs[0][:-1].isdigit() and inputs[0].endswith("b"):
        blocks = whole(inputs.pop(0)[:-1], f"the blocks of {name}")
    if not 1 <= len(inputs) <= 2:
        raise _unknown(name, "it should end with the format of A and B, or with one of each")
    # C has D's format unless the name has both, as bf16f32 does: D, then C.
    d, c = ("bf16", "f32") if result == "bf16f32" else (result, result)
    words = {"A": inputs[0], "B": inputs[-1], "C": c, "D": d}
    formats = {operand: {**WORDS, **format_names}.get(word, word) for operand, word in words.items()}
    for operand, format_name in formats.items():
        if format_name not in FORMATS and format_name not in CHOICES:
            raise _unknown(name, f"{operand} has the format '{words[operand]}', which is none of mmacalc.formats")
    return Description(numbers, blocks, formats, parts[1] in ("smfmac", "swmmac"), block_size)


def older_spellings(names: Iterable[str]) -> dict[str, str]:
    """The spellings of gfx908 and gfx90a that LLVM still assembles for later targets, with the names that they mean.

    They leave out the blocks and the last underscore; bf16 with four k in a lane may end in _1k. An instruction whose
    name has the formats of A and of B, or leaves them to fields, has none.

    >>> older_spellings(["v_mfma_f32_16x16x4_4b_bf16"])
    {'v_mfma_f32_16x16x4bf16': 'v_mfma_f32_16x16x4_4b_bf16', 'v_mfma_f32_16x16x4bf16_1k': 'v_mfma_f32_16x16x4_4b_bf16'}
    """
    found = {}
    for name in names:
        parts = name.split("_")
        if len(parts) < 5 or parts[1] != "mfma":
            continue
        _, _, result, shape, *inputs = parts
        blocks = inputs.pop(0) if inputs and inputs[0][:-1].isdigit() else "1b"
        if len(inputs) == 1 and inputs[0] not in CHOICES and shape.count("x") == 2 and shape.replace("x", "").isdigit():
            older = f"v_mfma_{result}_{shape}{inputs[0]}"
            found[older] = name
            if inputs[0] == "bf16":
                (m, _, k), _ = _split_shape(name, shape)
                if m * k * whole(blocks[:-1], "the blocks of a name") == 64 * OLDER_ELEMENTS["bf16_1k"]:
                    found[f"{older}_1k"] = name
    return found


def _split_shape(name: str, word: str) -> tuple[tuple[int, int, int], str]:
    """The three sizes of 16x16x4f16, and the format that the older spelling puts behind them."""
    m, _, rest = word.partition("x")
    n, _, rest = rest.partition("x")
    k = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    if not (m.isdigit() and n.isdigit() and k.isdigit()):
        raise _unknown(name, f"'{word}' should be M x N x K, such as 16x16x16")
    sizes = [whole(size, f"a size of {name}") for size in (m, n, k)]
    return (sizes[0], sizes[1], sizes[2]), rest[len(k) :]


def _older_blocks(name: str, shape: tuple[int, int, int], format_word: str) -> int:
    if format_word not in OLDER_ELEMENTS:
        raise _unknown(name, f"the older spelling has the formats {', '.join(OLDER_ELEMENTS)}")
    blocks, rest = divmod(64 * OLDER_ELEMENTS[format_word], shape[0] * shape[2])
    if rest or not blocks:
        raise _unknown(name, f"64 lanes do not hold {shape[0]} x {shape[2]} elements of {format_word} evenly")
    return blocks


def _unknown(name: str, what: str) -> Error:
    return Error(f"'{name}' does not follow the grammar of AMD's mnemonics: {what}")
