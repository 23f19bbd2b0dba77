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
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@gluon.jit
def moved(source, target, place):
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.expect(full, source.block_type.nbytes)
    tma.async_load(source, [place[0], place[1]], full, tile)
    mbarrier.wait(full, 0)
    tma.async_store(target, [gl.program_id(0) * 16, 0], tile)
    tma.store_wait(pendings=0)


@triton.autotune([triton.Config({"block": 64}), triton.Config({"block": 128})], key=["n"])
@triton.jit
def doubled(x, z, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(z + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


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
    import triton
    import triton.language as tl

    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int32):
        both = (50 * torch.randn(1003)).to(dtype)
        x, y = both[:1000], both[3:]  # they overlap, and y is not aligned
        out, expected = torch.zeros_like(x), x + y
        assert mmacalc.triton.launch(kernels.add, 4, x, y, out, 1000, block=256, target=target).findings == ()
        assert torch.equal(out, expected)
    x, out = torch.arange(1000, dtype=torch.int32), torch.zeros(1000, dtype=torch.int32)
    same = [triton.reinterpret(one, tl.uint32) for one in (x, x, out)]
    assert mmacalc.triton.launch(kernels.add, 4, *same, 1000, block=256, target=target).findings == ()
    assert torch.equal(out, 2 * x)
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
            assert launched(a, b, c).findings == ()
            assert torch.allclose(c, a.float() @ b.float(), rtol=1e-4, atol=1e-4)
    if target == "sm_90a":  # k from 48 on lie beyond A and B
        c = torch.zeros(128, 128)
        assert launched(torch.ones(128, 48), torch.ones(48, 128), c, padding="nan").findings == ()
        assert c.isnan().all()
    if target == "gfx1250":
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
    # On gfx1250 a second one names the load from LDS that the compiler has given to the line before.
    assert found.findings[0].location.line == line, str(found)
    assert {one.location.line for one in found.findings} <= ({line, line - 1} if target == "gfx1250" else {line})

    made = [TensorDescriptor.from_tensor(tensor, [32, 32]) for tensor in (a, b, c)]
    found = mmacalc.triton.launch(kernels.through_descriptors, (2, 2), *made, 64, **sizes)
    assert (found.findings, found.note) == ((), ""), str(found)
    made = mmacalc.triton.compiled(kernels.add, target, {"x": a, "y": b, "out": c, "n": 5, "block": 32})
    with pytest.raises(Error, match="product= is for a function of Triton"):
        mmacalc.triton.launch(made, 1, a, b, c, 5, product="c = a @ b")


def test_host_code_with_its_launches_runs_within_an_emulated_gpu(kernels):
    """A Gluon kernel with descriptors, a tuple and two programs, and an autotuned one: launched as on a GPU."""
    import torch
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    x, z = torch.randn(48, 128).half(), torch.zeros(32, 64).half()
    layout = gl.NVMMASharedLayout.get_default_for([16, 64], gl.float16)
    made = [TensorDescriptor.from_tensor(one, [16, 64], layout) for one in (x, z)]
    wanted, twice = x[20:36, 64:].repeat(2, 1), torch.zeros(100).half()
    with mmacalc.triton.emulated("sm_90a", limit=100000) as gpu:
        kernels.moved[(2,)](*made, (20, 64), num_warps=1)
        kernels.doubled[lambda meta: (-(-100 // meta["block"]),)](x, twice, 100)
    assert [report.findings for report in gpu.reports] == [(), ()]
    assert torch.equal(twice, 2 * x.ravel()[:100])
    assert torch.equal(z, wanted)
    z.zero_()
    assert mmacalc.triton.launch(kernels.moved, 2, *made, (20, 64), target="sm_90a", num_warps=1).findings == ()
    assert torch.equal(z, wanted)
    with pytest.raises(Error, match="target is such as"), mmacalc.triton.emulated("hopper"):
        pass
