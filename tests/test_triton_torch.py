"""Triton kernels on torch CPU tensors, by the packages themselves: run with -m triton where both are installed."""

import pytest

import mmacalc.triton
from mmacalc import Error

pytestmark = [pytest.mark.triton, pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")]
TARGETS = ("sm_80", "sm_90a", "gfx942", "gfx1250")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The kernels, in a file: Triton reads their source."""
    import importlib.util

    path = tmp_path_factory.mktemp("triton") / "kernels_of_triton.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("kernels_of_triton", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def product(a, b, c, depth, ldm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    found = tl.zeros((BM, BN), tl.float32)
    for step in range(0, depth, BK):
        left = tl.load(a + i[:, None] * ldm + (step + k)[None, :])
        found = tl.dot(left, tl.load(b + (step + k)[:, None] * ldm + j[None, :]), found)
    tl.store(c + i[:, None] * ldm + j[None, :], found)


@triton.jit
def shifted(a, b, c, depth, ldm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    found = tl.zeros((BM, BN), tl.float32)
    for step in range(0, depth, BK):
        left = tl.load(a + i[:, None] * ldm + (step + k)[None, :])
        right = tl.load(b + (step + k + 1)[:, None] * ldm + j[None, :], mask=(step + k + 1)[:, None] < depth, other=0.0)
        found = tl.dot(left, right, found)
    tl.store(c + i[:, None] * ldm + j[None, :], found)


@triton.jit
def through_descriptors(a, b, c, depth, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    found = tl.zeros((BM, BN), tl.float32)
    for step in range(0, depth, BK):
        found = tl.dot(a.load([i, step]), b.load([step, j]), found)
    c.store([i, j], found)
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_vector_addition_on_tensors_their_views_and_in_place(kernels, target):
    import torch

    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int32):
        both = (50 * torch.randn(1003)).to(dtype)
        x, y = both[:1000], both[3:]  # they overlap, and y is not aligned
        out, expected = torch.zeros_like(x), x + y
        assert mmacalc.triton.launch(kernels.add, 4, x, y, out, 1000, block=256, target=target).findings == ()
        assert torch.equal(out, expected)
    pair = torch.randn(2, 1000)
    expected, second = pair[0] + pair[1], pair[1].clone()
    mmacalc.triton.launch(kernels.add, 4, pair[0], pair[1], pair[0], 1000, block=256, target=target)
    assert torch.equal(pair[0], expected)
    assert torch.equal(pair[1], second)


@pytest.mark.parametrize("target", TARGETS)
def test_a_matrix_product_on_tensors(kernels, target):
    import torch

    for dtype in (torch.float16, torch.bfloat16):
        a, b, c = torch.randn(64, 64).to(dtype), torch.randn(64, 64).to(dtype), torch.zeros(64, 64)
        sizes = {"BM": 32, "BN": 32, "BK": 32}
        assert mmacalc.triton.launch(kernels.product, (2, 2), a, b, c, 64, 64, **sizes, target=target).findings == ()
        assert torch.allclose(c, a.float() @ b.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_a_product_through_tensor_descriptors_or_a_refusal_by_name(kernels, target):
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    def launched(a, b, c, **options):
        blocks = (a, [64, 32]), (b, [32, 64]), (c, [64, 64])
        made = [TensorDescriptor.from_tensor(tensor, block, **options) for tensor, block in blocks]
        sizes = {"BM": 64, "BN": 64, "BK": 32}
        return mmacalc.triton.launch(kernels.through_descriptors, (2, 2), *made, 64, **sizes, target=target)

    whole = torch.randn(128, 96)
    for dtype in (torch.float16, torch.bfloat16):
        cases = (whole[:, :64].contiguous(), 128), (whole[:96, :64].contiguous(), 72), (whole[:, 32:], 128)
        for number, (left, columns) in enumerate(cases):
            a, b = whole.to(dtype)[:, 32:] if number == 2 else left.to(dtype), torch.randn(64, columns).to(dtype)
            c = torch.zeros(a.shape[0], columns)
            if target == "sm_90a" and number == 2:
                with pytest.raises(Error, match=r"strides \[96, 1\]"):
                    launched(a, b, c)
                continue
            assert launched(a, b, c).findings == ()
            assert torch.allclose(c, a.float() @ b.float(), rtol=1e-4, atol=1e-4)
    if target in ("sm_90a", "gfx1250"):
        with pytest.raises(Error, match="padding='nan'"):
            launched(torch.zeros(128, 64), torch.zeros(64, 128), torch.zeros(128, 128), padding="nan")


@pytest.mark.parametrize("target", TARGETS)
def test_a_product_is_followed_and_a_wrong_line_of_it_is_named(kernels, target):
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    sizes = {"BM": 32, "BN": 32, "BK": 32, "target": target, "product": "c = a @ b"}
    a, b, c = torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16(), torch.zeros(64, 64)
    before = a.clone(), b.clone()
    found = mmacalc.triton.launch(kernels.product, (2, 2), a, b, c, 64, 64, **sizes)
    assert (found.findings, found.note, found.report.findings) == ((), "", ()), str(found)
    assert torch.allclose(c, a.float() @ b.float(), rtol=1e-4, atol=1e-4)
    assert torch.equal(a, before[0])
    assert torch.equal(b, before[1])

    found = mmacalc.triton.launch(kernels.shifted, (2, 2), a, b, c, 64, 64, **sizes)
    line = next(at for at, text in enumerate(SOURCE.split("\n"), 1) if "step + k + 1" in text)
    assert found.findings
    assert {one.location.line for one in found.findings} == {line}, str(found)

    made = [TensorDescriptor.from_tensor(tensor, [32, 32]) for tensor in (a, b, c)]
    found = mmacalc.triton.launch(kernels.through_descriptors, (2, 2), *made, 64, **sizes)
    assert (found.findings, found.note) == ((), ""), str(found)
    made = mmacalc.triton.compiled(kernels.add, target, {"x": a, "y": b, "out": c, "n": 5, "block": 32})
    with pytest.raises(Error, match="product= is for a function of Triton"):
        mmacalc.triton.launch(made, 1, a, b, c, 5, product="c = a @ b")
