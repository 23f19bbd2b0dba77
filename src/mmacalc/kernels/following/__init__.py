"""Follow a matrix product through a compiled kernel: which elements each matrix instruction multiplies, whether these
make up D = A B, and if not, which instruction is wrong."""

from __future__ import annotations

from ...asm.code_objects import Kernel
from ...base.checks import arguments_checked, shown
from ...base.errors import Error, plural
from ...base.json_form import encoded
from ...base.records import TupleRecord, json_keys
from ..ptx.kernel import PtxKernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..device.launch import Size
    from .verdict import ProductFinding

__all__ = ["FollowedProduct", "follow_product"]


@json_keys(
    "product: as it was asked for", "findings", "tiles: products of a wave", "launches", "note",
    "reported: what the launch itself finds",
)  # fmt: skip
class FollowedProduct(TupleRecord):
    """What following a product found.

    Attributes:
        product: as it was asked for.
        findings: what is wrong, in the order of execution: `ProductFinding`. Empty if every D[m][n] is the sum over k
            of A[m][k] B[k][n], each k once, stored in its place.
        tiles: how many matrix instructions waves executed (blocks of them counted by themselves).
        launches: how many were made to tell the elements apart.
        note: what was not followed, "" if all was.
        report: of the launch with the values of the arguments, as `mmacalc.launch` gives it.
    """

    product: str
    findings: tuple[ProductFinding, ...]
    tiles: int
    launches: int
    note: str
    report: Any

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        plain: dict[str, Any] = encoded(self)
        return plain

    @property
    def reported(self) -> tuple[str, ...]:
        """What the launch itself finds, in words."""
        return tuple([str(one.sentence) for one in self.report.findings])

    def words(self) -> str:
        """The findings, and how many products were followed."""
        lines = [one.sentence for one in self.findings]
        right = f"{plural(self.tiles, 'product')} of {self.product} followed: "
        lines.append(right + (plural(len(self.findings), "finding") if self.findings else "all are right"))
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def __str__(self) -> str:
        return self.words()


@arguments_checked
def follow_product(
    kernel: Kernel | PtxKernel, grid: Size, block: Size, *args: Any, product: str, progress: bool | None = None,
    **options: Any,
) -> FollowedProduct:  # fmt: skip
    """Launch a compiled kernel that computes D = A B, and find the instruction that makes it wrong.

    A and B are filled with values that say which element they are, and a product is answered with numbers that say
    which sums these are; what each matrix instruction multiplies and what is stored follows from them. So a load of a
    wrong address, a wrong register, a k that is left out or added twice and a store to a wrong place are found, where
    no rule is broken and only the result is wrong. Of several formats several launches are made, since 8-bit numbers
    tell few elements apart. At the end the kernel is launched with the values of its arguments.

    Args:
        kernel, grid, block, args, options: as `mmacalc.launch`.
        product: which arguments are D, A and B, by their names or numbers: "d = a @ b", "3 = 1 @ 2.T". `.T` is for a
            matrix that its array holds the other way round; `:bf16` behind a name for an array whose type does not say
            its format. Arrays are rows and columns, with batches before them.
        progress: as of `mmacalc.launch`.

    Returns:
        A `FollowedProduct`.

    Raises:
        Error: the product cannot be read or followed: A and B reach the products through arithmetic, sparse products,
            what is multiplied depends on values; what stops a launch.

    A kernel of one mma that loads B as if it lay the other way round:

    >>> import mmacalc, numpy as np
    >>> kernel = mmacalc.load('''
    ... .version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d) {
    ...   .reg .b64 %a<9>; .reg .b32 %r<9>; .reg .f32 %f<5>;
    ...   ld.param.u64 %a1, [a]; ld.param.u64 %a2, [b]; ld.param.u64 %a3, [d];
    ...   mov.u32 %r1, %tid.x; mul.wide.u32 %a4, %r1, 4; add.u64 %a1, %a1, %a4; add.u64 %a2, %a2, %a4;
    ...   ld.global.b32 %r2, [%a1]; ld.global.b32 %r3, [%a1+128]; ld.global.b32 %r4, [%a2]; mov.f32 %f1, 0f00000000;
    ...   mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
    ...     {%f1, %f2, %f3, %f4}, {%r2, %r3}, {%r4}, {%f1, %f1, %f1, %f1};
    ...   mul.wide.u32 %a5, %r1, 8; add.u64 %a3, %a3, %a5;
    ...   st.global.v2.f32 [%a3], {%f1, %f2}; st.global.v2.f32 [%a3+256], {%f3, %f4}; ret; }''')["k"]
    >>> a, b, d = np.ones((16, 8), np.float16), np.ones((8, 8), np.float16), np.zeros((16, 8), np.float32)
    >>> len(follow_product(kernel, 1, 32, a, b, d, product="d = a @ b.T").findings)
    0
    >>> print(follow_product(kernel, 1, 32, a, b, d, product="d = a @ b").findings[0].message)
    all products together are d = a @ b.T: B is taken the other way round
    """
    from .launches import Launched, follow

    if not isinstance(kernel, (Kernel, PtxKernel)):
        raise Error(f"follow_product takes a compiled kernel, one of mmacalc.load; got {shown(kernel)}")
    return follow(Launched(kernel, grid, block, args, options, progress), product)
