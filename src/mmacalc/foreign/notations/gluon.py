"""Gluon's layouts in Python: `BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])`, as programs write them."""

from __future__ import annotations

import ast
import re

from ...base.errors import Error, did_you_mean
from ..encodings import Encoding
from ..reading import ForeignLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["read"]

# By class: the kind, and Triton's names of its arguments in their order, by Gluon's.
CLASSES: dict[str, tuple[str, Mapping[str, str]]] = {
    "BlockedLayout": ("blocked", {
        "size_per_thread": "sizePerThread", "threads_per_warp": "threadsPerWarp", "warps_per_cta": "warpsPerCTA",
        "order": "order", "cga_layout": "CGALayout",
    }),
    "SliceLayout": ("slice", {"dim": "dim", "parent": "parent"}),
    "DistributedLinearLayout": ("linear", {
        "reg_bases": "register", "lane_bases": "lane", "warp_bases": "warp", "block_bases": "block", "shape": "shape",
    }),
    "DotOperandLayout": ("dot_op", {"operand_index": "opIdx", "parent": "parent", "k_width": "kWidth"}),
    "NVMMADistributedLayout": ("nvidia_mma", {
        "version": "version", "warps_per_cta": "warpsPerCTA", "instr_shape": "instrShape", "cga_layout": "CGALayout",
    }),
    "AMDMFMALayout": ("amd_mfma", {
        "version": "version", "instr_shape": "instrShape", "transposed": "isTransposed",
        "warps_per_cta": "warpsPerCTA", "element_bitwidth": "elementBitWidth", "tiles_per_warp": "tilesPerWarp",
        "cga_layout": "CGALayout",
    }),
    "AMDWMMALayout": ("amd_wmma", {
        "version": "version", "transposed": "isTransposed", "warp_bases": "warp", "reg_bases": "register",
        "instr_shape": "instrShape", "cga_layout": "CGALayout", "rank": "rank",
    }),
    "SwizzledSharedLayout": ("swizzled_shared", {
        "vec": "vec", "per_phase": "perPhase", "max_phase": "maxPhase", "order": "order", "cga_layout": "CGALayout",
    }),
    "NVMMASharedLayout": ("nvmma_shared", {
        "swizzle_byte_width": "swizzlingByteWidth", "element_bitwidth": "elementBitWidth", "rank": "rank",
        "transposed": "transposed", "fp4_padded": "fp4Padded", "cga_layout": "CGALayout",
    }),
    "PaddedSharedLayout": ("padded_shared", {
        "interval_padding_pairs": "padding", "offset_bases": "offset", "cga_layout": "CGALayout", "shape": "shape",
    }),
    "PartitionedSharedLayout": ("partitioned_shared", {
        "num_partitions": "numPartitions", "num_groups": "numGroups", "partition_dim": "partitionDim",
        "partition_layout": "partitionLayout",
    }),
    "SharedLinearLayout": ("shared_linear", {
        "offset_bases": "offset", "block_bases": "block", "alignment": "alignment",
    }),
}  # fmt: skip
_CALL = re.compile(r"(?:\w+\s*=\s*)?(?:[\w.]+\.)?(\w+Layout)\s*\(")


def read(text: str) -> ForeignLayout | None:
    """The layout of a Python expression; None if the text is none of Gluon's.

    Raises:
        Error: it begins as one of Gluon's and cannot be read, or an argument is missing or unknown.

    >>> read("gl.SliceLayout(0, gl.BlockedLayout([1, 4], [8, 8], [4, 1], order=[1, 0]))").encoding.get("parent").kind
    'blocked'
    """
    found = _CALL.match(text.strip())
    if found is None or found[1] not in CLASSES:
        return None
    source = re.sub(r"^\w+\s*=\s*(?=[\w.]+\s*\()", "", text.strip())
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Error(f"'{text.strip()[:80]}' is not an expression of Python: {found[1]} cannot be read") from None
    made = _value(tree)
    assert isinstance(made, Encoding)
    shape = made.get("shape", ())
    return ForeignLayout("Gluon", made.kind, encoding=made, given_shape=tuple(shape))


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in CLASSES:
            raise Error(f"'{name}' is not one of Gluon's layouts.{did_you_mean(name, CLASSES)}")
        return _encoding(name, node)
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple([_value(part) for part in node.elts])
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (int, bool))):
        return node.value
    raise Error(f"'{ast.unparse(node)[:60]}' should be a number, a list or a layout")


def _encoding(name: str, call: ast.Call) -> Encoding:
    kind, names = CLASSES[name]
    if len(call.args) > len(names):
        raise Error(f"{name} takes {', '.join(names)}; got {len(call.args)} arguments")
    given = dict(zip(names, call.args))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in names:
            hint = did_you_mean(str(keyword.arg), names)
            raise Error(f"{name} has no argument '{keyword.arg}'.{hint} It takes {', '.join(names)}")
        given[keyword.arg] = keyword.value
    values = {names[each]: _value(node) for each, node in given.items()}
    parameters = {each: value for each, value in values.items() if value is not None}
    if kind == "nvidia_mma" and "version" in parameters:
        version = parameters.pop("version")
        parameters |= {"versionMajor": version[0], "versionMinor": version[1]} if len(version) == 2 else {}
    if kind == "amd_wmma":
        bases = {place: parameters.pop(place, ()) for place in ("register", "warp")}
        parameters["ctaLayout"] = bases
    return Encoding(kind, parameters)
