"""Kernels of tests/data/ptx/*.cu, right ones and mistaken ones: their launches, and what their findings must say.

A case is (CTAs, threads, bytes of dynamic shared memory, arrays, function). The arrays are shapes by a letter for the
type: random ones of f (32 bits), h (16 bits) and w (words), zeros of F, W and bytes B. Of them the function makes the
arguments, the result among them, and what it should be. `name<0>` is the right kernel of a case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read

Case = tuple[int, int, int, str, Callable[..., tuple[list[Any], np.ndarray, Any]]]
TYPES = {"f": "f4", "h": "f2", "w": "u4", "b": "u1"}


def rows(x: np.ndarray) -> Any:
    return mmacalc.tensor_map(x, (1, 128))


def swizzled(x: np.ndarray, count: int = 64) -> Any:
    return mmacalc.tensor_map(x, (count, 64), swizzle="128B")


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = a.astype(float) @ b.astype(float).T
    return found


def compiled(text: str) -> dict[str, PtxKernel]:
    """The kernels of a PTX text by their names in C++."""
    module = read(text)
    return {kernel.cpp_name: kernel for kernel in [PtxKernel(module, function.name) for function in module.entries]}


def with_arrays(case: Case) -> tuple[list[Any], np.ndarray, Any]:
    """The arguments of a launch in new arrays, its result, and what it should be."""
    rng, found = np.random.default_rng(3), []
    for letter, *size in case[3].split():
        shape, kind = tuple(map(int, "".join(size).split("x"))), TYPES[letter.lower()]
        values = rng.integers(0, 99, shape) if letter == "w" else rng.standard_normal(shape)
        found.append(values.astype(kind) if letter.islower() else np.zeros(shape, kind))
    return case[4](*found)


def launched(kernel: PtxKernel, case: Case, schedule: int | None = None) -> tuple[Launch, bool]:
    """A launch that has run, and whether its result is right."""
    arguments, found, wanted = with_arrays(case)
    launch = Launch(kernel, case[0], case[1], arguments, case[2], schedule=schedule)
    launch.run()
    return launch, bool(np.allclose(found, wanted, rtol=1e-4, atol=1e-4))


def is_right(kernel: PtxKernel, case: Case, schedule: int | None) -> None:
    launch, right = launched(kernel, case, schedule)
    assert not launch.findings, str(next(iter(launch.findings.values())).sentence)
    assert not launch.remarks
    assert right


def is_named(kernel: PtxKernel, case: Case, wanted: tuple[str, str, str]) -> None:
    """Asserts that a launch has a finding of this kind ("stopped": an error, "note": a note and no finding), whose line
    of the source and whose words have these texts."""
    kind, text, message = wanted
    if kind == "stopped":
        with pytest.raises(mmacalc.Error, match=message):
            launched(kernel, case)
        return
    launch, _ = launched(kernel, case)
    if kind == "note":
        assert any(message in remark for _, remark in launch.remarks)
        assert not launch.findings
        return
    found = list(launch.findings.values())
    assert any(
        one.kind == kind and text in source_line(one) and message in one.message for one in found
    ), "\n".join(f"{one.sentence} [{source_line(one)}]" for one in found)  # fmt: skip


def source_line(finding: Any) -> str:
    """The line in the kernel that a finding names: where functions that were put in place are called. CUDA's own
    headers are not recorded."""
    place = finding.location
    while place is not None and place.inlined_at is not None:
        place = place.inlined_at
    return "" if place is None or place.file.endswith(".hpp") else lines(place.file)[place.line - 1]


@cache
def lines(file: str) -> list[str]:
    return (recorded.DATA / "ptx" / file).read_text().split("\n")
