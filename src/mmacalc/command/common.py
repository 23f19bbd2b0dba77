"""The options that most commands have, each under the one spelling that it has everywhere."""

from __future__ import annotations

from . import flag, number, option
from .options import modifier_fields

__all__ = ["ARCHITECTURE", "INSTRUCTION", "INSTRUCTIONS", "JSON", "LLVM", "MODIFIERS", "TARGET", "WAVE"]

NAME = "NAME"
ARCHITECTURE = option(
    "-a", "--architecture", placeholder=NAME, required=True, help="the GPU architecture or target, by any of its names"
)
TARGET = option(
    "-a", "--architecture", placeholder=NAME,
    help="the GPU architecture or target; may be left out where the file names it",
)  # fmt: skip
INSTRUCTION = option("-i", "--instruction", placeholder=NAME, required=True, help="instruction name (case-insensitive)")
INSTRUCTIONS = option(
    "-i", "--instruction", placeholder=NAME, many=True, default=[], help="an instruction; once for each"
)
WAVE = number("-w", "--wavefront", "--wave", help="the wave size: 32 or 64 on RDNA (default 32)")
LLVM = number("--llvm", help="the LLVM version whose encodings are meant, 24 (default) or 22")
JSON = flag("--json", help="answer with JSON")
MODIFIERS = (
    *modifier_fields(),
    option(
        "-m", "--modifier", placeholder="NAME=VALUE", many=True, default=[],
        help="a modifier: cbsz=1, blgp=fp4, neg=3 ...",
    ),
)  # fmt: skip
