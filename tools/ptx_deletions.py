"""Deletes each synchronisation statement of PTX kernels, one at a time, and says which deletions are harmful and named.

    python tools/ptx_deletions.py sm_90a matmul_tma      kernels of tools/triton_kernels.py, by target and name
    python tools/ptx_deletions.py                        all of them, for three targets
    python tools/ptx_deletions.py recorded               kernels by nvcc: those of tests/data/ptx/mistakes.cu that are
                                                         right (TMA, clusters ...), a ring of stages, a GEMM by TMA
    python tools/ptx_deletions.py generated              what `mmacalc generate` makes: mma.sync, wgmma, GEMMs
    --sample 8                                           at most eight statements of each kernel, evenly spread

A deletion is *harmful* if some legal schedule (another order of warps, completions as late or as early as PTX permits)
gives another result than the whole kernel, or none at all. It is *named* if the launch in the default order has a
finding or is stopped by an error. Of the harmful ones at least 95 % are to be named, and the whole kernel has no
finding in any schedule. What is named and changed no result is judged by the memory model of PTX: `JUDGED` has the rule
that the kernel breaks then, with its section; one that no rule covers counts as a false finding. The status is 1 if
less are named, or if a finding is false.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmacalc import Error
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read

SCHEDULES = (1, 2, 3)
MORE = (4, 6, 9, 12, 15)
WANTED = 0.95
GUARD = r"(?:@!?[%\w$]+\s+)?"
# What synchronises: barriers, fences, waits, commits, arrivals, initialisations. Waits in loops go with their loop.
SYNCHRONISES = re.compile(
    rf"^\s*{GUARD}(?:bar(?:rier)?\.|fence|membar|cp\.async\.(?:bulk\.)?(?:commit|wait)|cp\.async\.mbarrier|mbarrier\."
    r"(?:init|arrive|expect|try_wait|test_wait)|wgmma\.(?:fence|commit|wait)|tcgen05\.(?:commit|wait::st|fence))"
)


# What is deleted, the kind of a finding, and the rule of the PTX ISA (9.0, by title of the section) that is broken
# although no result changed here.
JUDGED = (
    (r"fence\.proxy\.async", "proxy", "Proxies; Causality order: a generic and an asynchronous access of one place are "
     "ordered by a proxy fence alone. Stale data are not emulated, so no value shows it"),
    (r"fence\.proxy\.tensormap|tensormap", "proxy", "membar, fence: a tensor map that was written is read by another "
     "proxy: .release and .acquire. Stale data are not emulated"),
    (r"fence|membar", "race", "Release and acquire patterns: nothing orders the CTAs. The values had arrived here"),
    (r"fence|membar|barrier\.cluster", "mbarrier", "mbarrier.init; barrier.cluster: its initialisation is not visible "
     "to the others of the cluster. It had been executed here"),
    (r"wgmma\.fence", "fence", "wgmma.fence: registers written before are not ordered with the wgmma.mma_async; what "
     "is emulated reads them late"),
    (r"wgmma\.(commit|wait)|cp\.async", "wait|race", "Asynchronous operations: nothing waits for the end before its "
     "result or source is used. It had ended here, or another wait comes before it matters"),
    (r"bar\.warp", "race", "bar.warp.sync: lanes of a warp are not ordered without it (sm_70 and later). They run "
     "together here"),
    (r"bar|mbarrier\.(init|arrive)|mbarrier\.(try|test)_wait", "mbarrier", "mbarrier.init: it is used before its "
     "initialisation is visible, or more arrivals come than are expected"),
    (r"bar|mbarrier|tcgen05", "race|wait|uninitialised", "Conflict and data-races: accesses, or an access and an "
     "asynchronous operation, that nothing orders. The values are equal, or the order that hurts was not tried"),
    (r"bar|mbarrier|tcgen05", "tensor memory|barrier|warp", "barrier, tcgen05.alloc: undefined by their own sections"),
)  # fmt: skip


class Launching(NamedTuple):
    """A kernel's text, how it is launched, and the arrays that it leaves its results in, made anew by `make`, whose
    arguments may also be the bytes of all parameters."""

    text: str
    grid: Any
    block: Any
    shared: int
    make: Callable[[], tuple[Any, list[np.ndarray]]]
    entry: str = ""
    cluster: Any = None
    limit: int | None = None


class Deletion(NamedTuple):
    """A statement without which the kernel was run: its line and text, the findings, whether a result was another."""

    line: int
    text: str
    named: tuple[str, ...]
    harmful: bool

    @property
    def rule(self) -> str:
        """The rule that is broken where no result changes; "" if none is known."""
        for statement, kinds, rule in JUDGED:
            if re.search(statement, self.text) and any(re.match(kinds, kind) for kind in self.named):
                return rule
        return ""


def without(lines: list[str], at: int) -> str | None:
    """The text without the statement of a line; None where it is not a whole statement of that line."""
    found = re.match(r"^(\s*(?:[%\w$]+:\s*)?)([^;{}]*;)(.*)$", lines[at])
    if found is None:
        return None
    made = [*lines[:at], found[1] + found[3], *lines[at + 1 :]]
    waited = re.search(r"(?:try|test)_wait\S*\s+([%\w$]+)\s*,", found[2])
    if waited:  # the loop that asks again goes, too
        for after in range(at + 1, min(at + 4, len(made))):
            if re.search(rf"@!?{re.escape(waited[1])}\s+bra", made[after]):
                made[after] = ""
                break
    return "\n".join(made)


def outcome(launching: Launching, text: str, schedule: int | None) -> tuple[tuple[str, ...], list[np.ndarray] | None]:
    """The findings of a launch, and its results; no results where it does not come to its end."""
    arguments, results = launching.make()
    try:
        module = read(text)
        launch = Launch(
            PtxKernel(module, launching.entry or module.entries[0].name), launching.grid, launching.block, arguments,
            launching.shared, schedule=schedule,
        )  # fmt: skip
        report = launch.run()
    except Error as error:
        return (f"stopped: {error}",), None
    kinds = tuple(sorted({finding.kind for finding in report.findings}))
    return kinds, None if "deadlock" in kinds else results


def differ(found: list[np.ndarray] | None, want: list[np.ndarray] | None) -> bool:
    """Whether results are others; what another order of additions changes does not count."""
    if found is None or want is None:
        return found is not want
    for one, other in zip(found, want):
        a, b = one.astype(np.float64), other.astype(np.float64)
        if not np.allclose(a, b, rtol=0, atol=1e-4 * np.abs(b).max(initial=0), equal_nan=True):
            return True
    return False


def alone(text: str, entry: str) -> str:
    """A module's text with one kernel of several."""
    starts = [found.start() for found in re.finditer(r"^\s*(?:\.visible )?\.entry ", text, re.M)]
    if len(starts) < 2:
        return text
    start = next(at for at in starts if re.match(rf"[^(]*\b{re.escape(entry)}\(", text[at:]))
    return text[: starts[0]] + text[start : _end(text, start)] + text[_end(text, starts[-1]) :]


def _end(text: str, start: int) -> int:
    """Where the body of a kernel ends."""
    depth = 0
    for found in re.finditer(r"[{}]", text[text.index(")", start) :]):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return text.index(")", start) + found.end()
    return len(text)


def sites(launching: Launching, most: int | None) -> list[tuple[int, str]]:
    """The lines whose statement can be deleted, and the text without it."""
    lines = launching.text.split("\n")
    found = [(at, text) for at, line in enumerate(lines) if SYNCHRONISES.match(line) and (text := without(lines, at))]
    if most is None or len(found) <= most:
        return found
    return [found[at] for at in np.linspace(0, len(found) - 1, most).round().astype(int).tolist()]


def study(
    launching: Launching, schedules: tuple[int, ...] = SCHEDULES, most: int | None = None
) -> tuple[list[str], list[Deletion]]:
    """What is wrong with the kernel as it is, and its deletions, at most some of them."""
    wrong = []
    named, want = outcome(launching, launching.text, None)
    for schedule in (None, *schedules):
        found, result = outcome(launching, launching.text, schedule)
        if found or differ(result, want):
            wrong.append(f"schedule {schedule}: {', '.join(found) or 'another result'}")
    lines, deletions = launching.text.split("\n"), []
    for at, text in sites(launching, most):
        named, result = outcome(launching, text, None)
        harmful = differ(result, want)
        for schedule in (*schedules, *(MORE if named else ())):  # what is named should be harmful in some schedule
            harmful = harmful or differ(outcome(launching, text, schedule)[1], want)
        deletions.append(Deletion(at + 1, lines[at].strip(), named, harmful))
    return wrong, deletions


class Counts:
    """What was found in all kernels: harmful deletions, those that are named, false findings, and by rule what is named
    without another result."""

    def __init__(self) -> None:
        self.deletions = self.harmful = self.named = self.false = 0
        self.rules: Counter[str] = Counter()

    def add(self, name: str, wrong: list[str], deletions: list[Deletion]) -> None:
        """Print a kernel's deletions, and count them."""
        for one in wrong:
            print(f"{name}: the whole kernel, {one}")
        harmful = [one for one in deletions if one.harmful]
        named = [one for one in harmful if one.named]
        more = [one for one in deletions if one.named and not one.harmful]
        unjudged = [one for one in more if not one.rule]
        print(f"{name}: {len(deletions)} deletions, {len(harmful)} harmful, {len(named)} of them named; "
              f"{len(more)} more named", flush=True)  # fmt: skip
        for one in deletions:
            if one.harmful and not one.named:
                print(f"    not named: line {one.line}: {one.text}")
        for one in unjudged:
            print(f"    named, and no rule says why: line {one.line}: {one.text[:60]}: {', '.join(one.named)[:120]}")
        self.deletions, self.harmful = self.deletions + len(deletions), self.harmful + len(harmful)
        self.named, self.false = self.named + len(named), self.false + len(wrong) + len(unjudged)
        self.rules.update(one.rule for one in more if one.rule)

    def end(self) -> int:
        """Print the sums; the status."""
        print(f"{self.deletions} deletions: {self.named} of {self.harmful} harmful ones are named; {self.false} false "
              f"findings; {sum(self.rules.values())} more are named by a rule:")  # fmt: skip
        for rule, times in self.rules.most_common():
            print(f"{times:5}  {rule}")
        return 1 if self.false or self.named < WANTED * self.harmful else 0


def of_recorded() -> Iterator[tuple[str, Launching]]:
    """Kernels by nvcc that the tests have recorded."""
    sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]
    import mistaken_ptx
    import mmacalc
    import ptx_findings
    import recorded

    for name in mistaken_ptx.RIGHT:
        entry, case = mistaken_ptx.kernels()[name].name, mistaken_ptx.CASES[name.partition("<")[0]]

        def make(case: Any = case) -> tuple[list[Any], list[np.ndarray]]:
            arguments, result, _ = ptx_findings.with_arrays(case)
            return arguments, [result]

        yield name, Launching(alone(mistaken_ptx.TEXT, entry), *case[:3], make, entry)

    def ring() -> tuple[list[Any], list[np.ndarray]]:
        rng, d = np.random.default_rng(0), np.zeros((64, 64), np.float32)
        sides = [rng.standard_normal((64, 256)).astype(np.float16) for _ in range(2)]
        return [*[mmacalc.tensor_map(x, (64, 64), swizzle="128B") for x in sides], d, np.int32(256)], [d]

    yield "producer", Launching(recorded.text("ptx/producer_sm_90a.ptx.gz"), 1, 160, 0, ring)
    yield "generate --gemm", of_generate()


def of_generate() -> Launching:
    """The GEMM by TMA, mbarriers and wgmma that `mmacalc generate` makes, for products smaller than a tile."""
    import mmacalc
    from mmacalc.codegen import gemm_tma
    from mmacalc.codegen.tensor_copies import box, swizzle_name
    from oracles.emulated_kernel import ptx_of

    inst = mmacalc.instruction("sm_90a", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16")
    plan = gemm_tma.plan(inst, "row", "col")
    text = ptx_of(mmacalc.generate(inst, gemm="512x512x512", order_a="row", order_b="col"), "sm_90a", Path("."))
    m, n, k = 40, 32, 5 * plan.a.depth

    def make() -> tuple[list[Any], list[np.ndarray]]:
        rng = np.random.default_rng(1)
        sides = zip([(m, k), (n, k)], (plan.a, plan.b))
        maps = [
            mmacalc.tensor_map(rng.standard_normal(shape).astype(np.float16), box(side),
                               swizzle=swizzle_name(side)) for shape, side in sides
        ]  # fmt: skip
        d = np.zeros((m, n), np.float32)
        return [*maps, d, m, n, k, n], [d]

    return Launching(alone(text, plan.name), plan.blocks(m, n), plan.threads, plan.shared, make, plan.name)


def of_generated() -> Iterator[tuple[str, Launching]]:
    """What `generate` makes around one instruction through shared memory, and GEMMs, as the tests launch them."""
    import tempfile

    os.environ.setdefault("RECORD_PTX", "no")  # of more sizes and orders than the tests have
    sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]
    import mmacalc
    import test_generate as tests
    from oracles.host_products import gemm_product, tile_product

    folder = Path(tempfile.mkdtemp())
    for arch, name, options in tests.ON_THE_HOST:
        if arch.startswith("sm_") and options.get("lds"):
            inst, orders = (
                mmacalc.instruction(arch, name),
                (options.get("order_a", "row"), options.get("order_b", "col")),
            )
            fields = {key: value for key, value in options.items() if key == "selector"}
            source = mmacalc.generate(inst, **options)
            yield f"{arch} {name}", captured(partial(tile_product, inst, source, orders, folder, lead=1, **fields))
    for arch, name, orders, padding in tests.NVIDIA_GEMMS:
        inst, plan, source = tests.nvidia_gemm(arch, name, orders)
        sizes = plan.block_m + 5, 24, 3 * plan.block_k + 16
        for rows in (padding, (16, 16)):
            run = partial(gemm_product, inst, source, plan, orders, folder, sizes, padding=rows)
            yield f"{arch} gemm {name}, padding {rows}", captured(run)
    yield from of_attention(folder)


def of_attention(folder: Path) -> Iterator[tuple[str, Launching]]:
    """Attention around mma.sync, wgmma and tcgen05.mma: three tiles of keys, two of queries that are not whole."""
    import test_generate_attention as tests

    for target, name, head, options in (tests.CUDA[0], *tests.SMALL):

        def run(target: str = target, name: str = name, head: int = head, options: Any = options) -> None:
            made = tests.Attention(target, name, head, True, folder, **options)
            made.launch(1, 1, 1, made.plan.block_m + 6, 2 * made.plan.block_n + 26)

        yield f"{target} attention {name}", captured(run)


def captured(run: Callable[[], Any]) -> Launching:
    """What a function loads and launches, which launches one kernel."""
    import mmacalc

    texts: list[str] = []
    calls: list[Any] = []
    load, launch = mmacalc.load, mmacalc.launch

    def read_text(text: str) -> Any:
        texts.append(text)
        return load(text)

    def record(kernel: Any, grid: Any, block: Any, *arguments: Any, **options: Any) -> Any:
        given = [np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments]
        calls.append((kernel, grid, block, given, options.get("shared", 0)))
        return launch(kernel, grid, block, *arguments, **options)

    mmacalc.load, mmacalc.launch = read_text, record
    try:
        run()
    finally:
        mmacalc.load, mmacalc.launch = load, launch
    ((kernel, grid, block, given, shared),) = calls

    def make() -> tuple[list[Any], list[np.ndarray]]:
        arguments = [np.copy(one) if isinstance(one, np.ndarray) else one for one in given]
        return arguments, [one for one in arguments if isinstance(one, np.ndarray)]

    return Launching(alone(texts[0], kernel.name), grid, block, shared, make, kernel.name)


def of_triton(target: str, name: str) -> Launching:
    """A kernel of tools/triton_kernels.py."""
    import triton_kernels as kernels

    made = kernels.compiled(kernels.CASES[name](), target)
    module = read(made.asm["ptx"])
    threads = module.entries[0].attributes["reqntid"][0]

    def make() -> tuple[list[Any], list[np.ndarray]]:
        case = kernels.CASES[name]()
        return kernels.arguments_of(case, made), [found for found, _ in case.want]

    return Launching(made.asm["ptx"], kernels.CASES[name]().grid, threads, made.metadata.shared, make)


def of_triton_kernels(words: list[str]) -> Iterator[tuple[str, Launching]]:
    """Kernels of tools/triton_kernels.py, those that are named or all."""
    import triton_kernels as kernels

    targets = [word for word in words if word in kernels.CUDA] or list(kernels.CUDA)
    names = [word for word in words if word in kernels.CASES] or list(kernels.CASES)
    for target in targets:
        for name in kernels.cases_of(target, names):
            yield f"{target} {name}", of_triton(target, name)


def main(words: list[str]) -> int:
    """Study the kernels that are named, or all; the status."""
    most = None
    if "--sample" in words:
        at = words.index("--sample")
        most = int(words[at + 1])
        del words[at : at + 2]
    counts = Counts()
    sources = {("recorded",): of_recorded, ("generated",): of_generated}
    for name, launching in sources.get(tuple(words[:1]), lambda: of_triton_kernels(words))():
        if words[:1] == ["recorded"] and words[1:] and name not in words:
            continue
        start = time.process_time()
        wrong, deletions = study(launching, most=most)
        counts.add(f"{name} ({time.process_time() - start:.0f} s)", wrong, deletions)
    return counts.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
