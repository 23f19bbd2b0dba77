"""The launches that follow a product."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from ...asm.code_objects import Kernel
from ...base.errors import Error
from ...base.records import TupleRecord
from ...emulator.computing import computed_by
from ..device.observer import Observer
from ..launching import launch_observed
from ..ptx.tensor_map import TensorMapArgument
from . import FollowedProduct
from .asked import product_of
from .machines import AmdMachines, PtxMachines
from .origins import Origins
from .recorder import Narrower, Recorder
from .stores import Stores
from .suspects import Suspects
from .tags import Tags, narrowest
from .verdict import found_in, judged, other_way_round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...base.arrays import Array
    from ..device.launch import Size
    from ..ptx.kernel import PtxKernel
    from .asked import Product
    from .machines import Machines

__all__ = ["Kept", "Launched", "follow"]


class Kept(Observer):
    """Remembers what the arrays of a launch held before it."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.contents: list[tuple[Array, Array]] = []

    def started(self, machine: Any) -> None:
        if not self.contents:
            regions = self.machines.memory(machine).regions
            arrays = {id(one.array): one.array for one in regions if one.array is not None}
            self.contents = [(array, array.copy()) for array in arrays.values() if array.flags.writeable]

    def put_back(self) -> None:
        for array, content in self.contents:
            array[...] = content


def _writeable(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with copies of arrays that cannot be written."""
    copies: dict[int, Array] = {}

    def written(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or array.flags.writeable:
            return array
        return copies.setdefault(id(array), array.copy())

    return tuple([one._replace(array=written(one.array)) if isinstance(one, TensorMapArgument) else written(one)
                  for one in args])  # fmt: skip


@contextmanager
def _restored(product: Product) -> Iterator[None]:
    """The matrices as they were, afterwards."""
    arrays = [one.array for one in (product.a, product.b, product.d)]
    before = [array.copy() for array in arrays]
    try:
        yield
    finally:
        for array, content in zip(arrays, before):
            array[...] = content


class Launched(TupleRecord):
    """A launch, as `mmacalc.launch` takes it."""

    kernel: Kernel | PtxKernel
    grid: Size
    block: Size
    args: tuple[Any, ...]
    options: dict[str, Any]
    progress: bool | None = None

    @property
    def machines(self) -> Machines:
        """How to read the machines that run it."""
        return AmdMachines(self.kernel) if isinstance(self.kernel, Kernel) else PtxMachines()

    def observed(self, *observers: Observer) -> Any:
        """Make it, with observers; gives the report."""
        return launch_observed(*self[:5], observers, self.progress)[0]


def follow(launched: Launched, text: str, named: Mapping[str, Any] | None = None) -> FollowedProduct:
    """As `follow_product`. named: the matrices by name, where these are not the arguments, but share their memory."""
    kernel, args, options = launched.kernel, launched.args, launched.options
    machines = launched.machines
    if options.get("arguments") is not None:
        raise Error("follow_product takes the arguments one by one, not as one buffer: it has to know the matrices")
    marked = _writeable(args) if named is None else args
    if named is not None:
        product = product_of(text, list(named), list(named.values()))
    elif isinstance(kernel, Kernel):
        names = [one.name or f"argument {number + 1}" for number, one in enumerate(kernel.given_arguments)]
        product = product_of(text, names, marked)
    else:
        product = product_of(text, list(kernel.parameters), marked)
    tags = Tags(product)
    base = narrowest(product.d.format)
    with _restored(product):
        while True:
            origins, stores = Origins(machines, product), Stores(machines, product)
            recorder = Recorder(tags, machines, origins, base)
            try:
                launches = _launches(launched._replace(args=marked), recorder, stores, origins)
                break
            except Narrower:
                base = recorder.base
    if not recorder.products:
        raise Error("the kernel executes no matrix instruction: there is no product to follow")
    verdict = judged(recorder.products, product, machines, stores.known)
    if 2 * verdict.foreign > sum(len(chain.tiles) for chain in verdict.chains):
        raise Error(
            f"product '{text}': most matrix instructions multiply values that are not elements of A and B: the kernel "
            "computes with them before (scales, differences, parts), or the product is another. It cannot be followed"
        )
    stored, note = stores.judged(verdict, recorder)
    turned = other_way_round(verdict, recorder.products, product, machines, stores.known)
    wrong = verdict.wrong if turned is None else [turned]
    findings = [*found_in(machines, Suspects(origins, verdict.numbers, verdict.chains, wrong)), *stored]
    return FollowedProduct(text.strip(), tuple(findings), verdict.tiles, launches, note, launched.observed())


def _launches(launched: Launched, recorder: Recorder, stores: Stores, origins: Origins) -> int:
    """Make the launches that tell the elements apart; gives how many."""
    digit, count, kept = 0, recorder.tags.digits, Kept(recorder.machines)
    while digit < count:
        recorder.begin(digit)
        recorder.tags.fill(digit)
        recorder.tags.product.d.array[...] = np.zeros((), recorder.tags.product.d.array.dtype)
        seen: tuple[Observer, ...] = (origins, stores, recorder) if digit == 0 else (recorder, stores)
        try:
            with computed_by(recorder):
                launched.observed(*seen, kept)
            stores.read(digit, recorder.base)
        finally:
            kept.put_back()
        if digit:
            recorder.end()
        else:
            count = max(count, recorder.sum_digits)
        digit += 1
    return count
