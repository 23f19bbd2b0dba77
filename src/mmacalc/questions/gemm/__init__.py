"""Compute a whole matrix product on the emulator: D = alpha A B + beta C through one instruction, chained along K.

    mmacalc gemm -a gfx942 --a a.npy --b b.npy -o d.npy
    mmacalc gemm -a sm_90a --a a.npy --b b.npy --c c.npy --split-k 4 --accuracy
    mmacalc gemm -a gfx942 --gemm 512x512x512 --type bf16 --accuracy
    mmacalc gemm -a H100 --against MI300X,A100 --type bf16 --m 64 --n 64 --k 4096 --distribution positive

Matrices are (M, K), (K, N) and (M, N), of any size, with batches before them; files are .npy, .npz (as FILE.npz:NAME)
or CSV. Without -i the instruction is that which takes the matrix units the least time for the type of A; where no
cycles are published (AMX, SME), that of which the fewest are needed.
"""

from __future__ import annotations

import time

from ...base.checks import whole
from ...base.errors import Error, plural
from ...base.files import write
from ...base.records import Record, json_keys
from ...base.waiting import DELAY, LINE
from ...catalog import entry
from ...command import Command, Reply, flag, number, option, refuse_given, show
from ...command.common import ARCHITECTURE, JSON, MODIFIERS
from ...command.options import file_option, files, fraction, modifiers, shape, whole_number
from ...formats import formats_named
from ...spelling import heading
from ..numerics import numerics_text
from ..run import matrix_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ...arithmetic.numerics import Numerics
    from ...command import Options
    from ...emulator.comparison import NumericsComparison
    from ...emulator.gemm import Emulated
    from ...model import Instruction

    Array = NDArray[Any]

LARGEST_SHOWN = 256  # elements of D


@json_keys("max_ulps", "mean_ulps", "max_relative_error=max_relative")
class Deviation(Record):
    """How far D is from the exactly rounded product: ULP, and the relative error."""

    max_ulps: float
    mean_ulps: float
    max_relative: float


@json_keys(
    "**instruction",
    "numerics",
    "modifiers",
    "steps: instructions along K",
    "k_order",
    "split_k",
    "accumulate: the format of sums between chains",
    "d_type: of D",
    "d_shape",
    "d_dtype",
    "[d]: where it is small",
    "[accuracy]: with --accuracy",
)
class Product(Record):
    """A product, and how it was computed.

    Attributes:
        instruction, modifiers: what it was chained through. numerics: how it rounds. steps: instructions along K for
            each element. k_order: their order. split_k: into how many chains. accumulate: the format in which their
            results are kept and added. d_type: that of D.
        whole: D, (..., M, N). output: the file it was written to. accuracy: if it was asked for.
    """

    instruction: Instruction
    numerics: Numerics
    modifiers: Mapping[str, int]
    steps: int
    k_order: str
    split_k: int
    accumulate: str
    d_type: str
    whole: Array
    output: str | None = None
    accuracy: Deviation | None = None

    @property
    def d(self) -> Array | None:
        """D, where it is small."""
        return self.whole if self.whole.size <= LARGEST_SHOWN else None

    @property
    def d_shape(self) -> tuple[int, ...]:
        """The shape of D."""
        return tuple(self.whole.shape)

    @property
    def d_dtype(self) -> str:
        """The type of D's array."""
        return str(self.whole.dtype)


def product(d: Emulated, output: str | None = None) -> Product:
    """The answer that an emulated D is."""
    found = d.emulation
    assert found is not None
    near = found.accuracy and Deviation(found.accuracy.max_ulps, found.accuracy.mean_ulps, found.accuracy.max_relative)
    return Product(
        found.instruction, found.numerics, found.modifiers, found.steps, found.k_order, found.split_k,
        found.accumulate, found.d_type, d, output, near,
    )  # fmt: skip


def text(answer: Product) -> str:
    """How D was computed, how far it is from the exact product, and D where it is small."""
    d = answer.whole
    parts = [heading(answer.instruction), numerics_text(answer.numerics), _chain(answer)]
    if answer.accuracy:
        parts.append(_accuracy(answer.accuracy))
    size = f"D: {'x'.join(map(str, d.shape))} {d.dtype}"
    if answer.output:
        parts.append(f"{size}, written to {answer.output}\n")
    elif not d.size:
        parts.append(f"{size}\n")
    elif d.size > LARGEST_SHOWN:
        parts.append(f"{size}; -o writes it to a file\n")
    else:
        parts.append(matrix_text("D", d, 8 * d.itemsize if d.dtype.kind == "u" else 0))
    return "".join(parts)


def _chain(answer: Product) -> str:
    """How the steps of K are put together."""
    each = f"{plural(answer.steps, 'instruction')} along K for each element, {answer.k_order}"
    added = f", in {answer.split_k} chains that are added in {answer.accumulate}" if answer.split_k > 1 else ""
    own = answer.instruction.format("D", answer.modifiers).name
    converted = f" D is converted to {answer.d_type}." if answer.d_type != own else ""
    return f"Chain: {each}{added}.{converted}\n"


def _accuracy(accuracy: Deviation) -> str:
    return (
        f"From the exactly rounded product: at most {accuracy.max_ulps:,.0f} ULP, {accuracy.mean_ulps:.3g} on average; "
        f"relative error at most {accuracy.max_relative:.3g}.\n"
    )


INTEGERS = {"i8", "u8", "i4", "u4", "iu8", "iu4", "b1"}
SIZES = ("m", "n", "k")
DEFAULT = {"m": 64, "n": 64, "k": 4096}
LARGEST_RANDOM = 1 << 28  # elements of a matrix: 2 GiB
FILES = {
    "a": "A", "b": "B", "c": "C (default: zeros)", "scale_a": "the scale codes of A (default: scales of 1)",
    "scale_b": "the scale codes of B",
}  # fmt: skip


def run(options: Options) -> Reply:
    """Compute D, write it, and say how it was computed."""
    from ...emulator.gemm import gemm, gemm_bits

    if options.against is not None:
        return _against(options)
    single = ("plot", "distribution", *SIZES)
    refuse_given(COMMAND, options, single, "goes with --against; --gemm MxNxK has the sizes of a single product")
    if options.bits and options.accuracy:
        raise Error("--accuracy cannot be used with --bits")
    operands = _operands(options)
    if "c" not in operands:
        refuse_given(COMMAND, options, ("beta",), "is the factor of C; give --c")
    if options.compare is not None:
        return _compared(options, operands)
    given: dict[str, Any] = {
        "arch": options.architecture, "instruction": _instruction(options, operands), "split_k": options.split_k,
        "promote": options.promote, "k_order": _order(options.k_order), "threads": options.threads,
        "accumulate": options.accumulate, "d_type": options.d_type, "progress": _Progress(),
        **modifiers(options),
    }  # fmt: skip
    if options.bits:
        if given.pop("promote"):
            raise Error("--promote is for values; leave --bits out, or cut K by --split-k")
        refuse_given(COMMAND, options, ("alpha", "beta"), "is for values; leave --bits out")
        d = gemm_bits(**operands, **given)
    else:
        d = gemm(**operands, **given, alpha=options.alpha, beta=options.beta, compare=options.accuracy)
    given["progress"].close()
    if options.output is not None:
        from ...command.arrays import content, file_of

        read = [file_of(path) for name in FILES if (path := getattr(options, name))]
        write({options.output: content("-o", options.output, d)}, read)
    return show(options.json, "gemm", product(d, options.output), text)


def _against(options: Options) -> Reply:
    """The same product on several GPUs."""
    from ...emulator.comparison import compare_numerics
    from . import comparison as render

    alone = ("accuracy", "bits", "compare", "output", "instruction", "alpha", "beta", "c", "scale_a", "scale_b")
    names = (*alone, *[one.name for one in MODIFIERS])
    refuse_given(COMMAND, options, names, "is not taken together with --against; leave one of them out")
    others = [name.strip() for name in options.against.split(",") if name.strip()]
    if not others:
        raise Error("--against takes names of GPUs or architectures, such as MI300X,A100")
    sizes: dict[str, Any] = {name: getattr(options, name) for name in SIZES}
    wanted, seed = _random(options)
    if wanted is not None:
        if any(size is not None for size in sizes.values()):
            raise Error(f"--gemm {wanted} and --m, --n, --k both give a shape; leave one of them out")
        sizes = dict(zip(SIZES, shape("--gemm", wanted)))
    matrices = matrices_of(options)
    if matrices and any(size is not None for size in sizes.values()):
        raise Error("--a and --b have their own shape; leave --m, --n, --k and --gemm out")
    found = compare_numerics(
        [options.architecture, *others], matrices.get("a"), matrices.get("b"), type=options.type,
        shape=tuple(DEFAULT[name] if sizes[name] is None else sizes[name] for name in SIZES),
        accumulate=options.accumulate, d_type=options.d_type,
        distribution=options.distribution or "normal", seed=seed, promote=options.promote, split_k=options.split_k,
        k_order=_order(options.k_order),
    )  # fmt: skip
    if options.plot is not None:
        from ...drawing.scene import svg

        if not options.plot.endswith(".svg"):
            raise Error(f"--plot {options.plot}: the plot is written as .svg")
        write({options.plot: svg(render.plot(found)).encode()}, [])
    return show(options.json, "numerics-comparison", found, _compared_text)


def _compared_text(found: NumericsComparison) -> str:
    from .comparison import text

    return text(found)


def _compared(options: Options, operands: dict[str, Any]) -> Reply:
    """The diagnosis of a kernel's D, which is that of `mmacalc run --compare`."""
    from ...command.arrays import content, file_of, load
    from .. import run as kernel_run

    alone = "alpha", "beta", "split_k", "promote", "k_order", "accuracy", "accumulate", "d_type"
    refuse_given(COMMAND, options, alone, "is not taken together with --compare; leave one of them out")
    inst, chosen = for_kernel(options, operands)
    flags = {"clamp": False, "satfinite": False, "wave": None}
    theirs = load("--compare", options.compare, (), options.bits)
    found = kernel_run.computed(
        inst, operands, modifiers(options), flags=flags, bits=options.bits, given=theirs, registers=False
    )
    if options.output is not None:
        read = [file_of(path) for name in (*FILES, "compare") if (path := getattr(options, name))]
        write({options.output: content("-o", options.output, found.d)}, read)
    status = 1 if found.differs else 0
    writer = kernel_run.writer(quiet=True, output=options.output)
    return show(options.json, "run", found, writer, status=status, notes=(*chosen, *kernel_run.notes(found)))


def _operands(options: Options) -> dict[str, Any]:
    """The matrices, from files or random.

    Raises:
        Error: a file that cannot be read, or no A or B.
    """
    found = matrices_of(options)
    if {"a", "b"} <= found.keys():
        refuse_given(COMMAND, options, ("gemm", "random"), "is for random matrices; --a and --b are given by files")
    wanted, seed = _random(options)
    if wanted is not None:
        import numpy as np

        m, n, k = shape("--gemm", wanted)
        if (largest := max(m * k, k * n, m * n)) > LARGEST_RANDOM:
            raise Error(f"--gemm {wanted} has a matrix of {largest} elements; at most {LARGEST_RANDOM} are made")
        generator = np.random.default_rng(seed)
        whole = options.bits or _integers(options)
        for name, size in (("a", (m, k)), ("b", (k, n))):
            found.setdefault(name, generator.integers(0, 2, size) if whole else generator.standard_normal(size))
    if missing := [name for name in "ab" if name not in found]:
        raise Error(
            f"no {' and no '.join(f'--{name}' for name in missing)}; give files, or --gemm MxNxK for random ones"
        )
    return found


def matrices_of(options: Options) -> dict[str, Any]:
    """The matrices that files have."""
    from ...command.arrays import load

    found = {}
    for name in FILES:
        if path := getattr(options, name):
            found[name] = load(file_option(name), path, (), options.bits or name.startswith("scale"))
            if found[name].ndim < 2:
                shown = "x".join(map(str, found[name].shape)) or "a single number"
                raise Error(f"{file_option(name)} {path} is {shown}; a matrix has rows and columns")
    return found


def _split(text: str) -> int | str | list[int]:
    """The argument type of --split-k: a number of chains, the k at which they begin, or a library's name."""
    if ":" in text or not text[:1].isdecimal():
        return text
    return [whole_number(part) for part in text.split(",")] if "," in text else whole_number(text)


def _seed(text: str) -> str:
    """The argument type of --random: a whole number, or in the older spelling a shape, which `_random` reads."""
    return text if "x" in text.lower().removeprefix("0x") else str(whole_number(text))


def _random(options: Options) -> tuple[str | None, int]:
    """The shape of random matrices, if there are any, and the seed; --random MxNxK is an older spelling of --gemm."""
    given = options.random or "0"
    if "x" not in given.lower().removeprefix("0x"):
        return options.gemm, whole_number(given)
    if options.gemm is not None:
        raise Error(f"--gemm {options.gemm} and --random {given} both give a shape; --random takes the seed")
    return given, 0


def _integers(options: Options) -> bool:
    """Whether the instruction, or the type that was named, is one of integers."""
    if options.instruction is not None:
        return not entry(options.architecture).meant(options.instruction).format("A").is_float
    return options.type is not None and formats_named(options.type) <= INTEGERS


def _instruction(options: Options, operands: dict[str, Any]) -> Any:
    """The instruction that was named, or the best for --type; None leaves it to the type of A."""
    if options.instruction is not None:
        return entry(options.architecture).meant(options.instruction)
    if options.bits:
        raise Error("--bits needs -i: the type of encodings does not say their format")
    if options.type is None and not options.a:
        raise Error("--gemm needs --type (f16, bf16, fp8 ...) or -i: random numbers have no format")
    a, b = operands["a"], operands["b"]
    form = options.type or NAMELESS.get(a.dtype.str)
    return None if form is None else _best(options, form, (a.shape[-2], b.shape[-1], a.shape[-1]))


NAMELESS = {"|V1": "fp8", "|V2": "bf16"}
"""What arrays of ml_dtypes are taken for, of whose types a file keeps the size alone."""


def for_kernel(options: Options, operands: Mapping[str, Any]) -> tuple[Instruction, tuple[str, ...]]:
    """The instruction that a kernel's D is compared with, and, where it was not named, which that is.

    Raises:
        Error: neither -i nor --type, and A's array has f32 or f64, which values of any format are kept in.
    """
    a, b = operands["a"], operands["b"]
    if options.instruction is not None or options.bits:
        return _instruction(options, dict(operands)), ()
    form = options.type or NAMELESS.get(a.dtype.str)
    if form is None and a.dtype.itemsize <= 2:
        from ...emulator.plan import TYPES

        form = TYPES.get(a.dtype.name)
    if form is None:
        raise Error(f"-i or --type (f16, bf16, fp8 ...) says what the kernel computes with; A's array has {a.dtype}, "
                    "in which values of any format are kept")  # fmt: skip
    inst = _best(options, form, (a.shape[-2], b.shape[-1], a.shape[-1]))
    taken = "" if options.type else f", and A's array has type {a.dtype}"
    return inst, (f"compared with {inst.name}, the best for {form}{taken}; -i or --type chooses",)


def _best(options: Options, form: str, sizes: tuple[int, int, int]) -> Instruction:
    """The best instruction for a format and M, N and K; the fields that choose the format become modifiers."""
    from ...emulator.plan import best_instruction

    inst, fields = best_instruction(options.architecture, form, sizes)
    options.modifier = [*options.modifier, *[f"{name}={value}" for name, value in fields.items()]]
    return inst


def _order(text: str) -> str | list[int]:
    parts = text.split(",")
    if not parts[0].strip().isdecimal():
        return text
    return [whole(part.strip(), "--k-order: a k") for part in parts]


class _Progress:
    """A bar on a terminal's standard error, for products that take longer than two seconds."""

    WIDTH = 40

    def __init__(self) -> None:
        self.start = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Draw how much is done."""
        passed = time.monotonic() - self.start
        if passed < DELAY:
            return
        filled = self.WIDTH * done // max(1, total)
        left = f" {passed / done * (total - done):.0f} s left" if done else ""
        LINE.show(f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {done} of {total}{left}")

    def close(self) -> None:
        """Erase the bar."""
        LINE.erase()


COMMAND = Command(
    "gemm", "compute a whole matrix product on the emulator, one instruction chained along K", "compute", __doc__,
    (
        ARCHITECTURE, JSON,
        option(
            "-i", "--instruction", placeholder="NAME",
            help="the instruction to chain (default: the best for the type of A)",
        ),
        *files(FILES),
        option(
            "--gemm", placeholder="MxNxK",
            help="random A and B of this shape where no file gives them: normal, or 0 and 1",
        ),
        option(
            "--random", "--seed", placeholder="SEED", kind=_seed, older=("--random",),
            help="of the random numbers (default: 0); MxNxK stands for --gemm MxNxK",
        ),
        option(
            "--type", placeholder="FORMAT",
            help="the format of A and B: f16, bf16, fp8 ... (default: that of A's array)",
        ),
        flag("--bits", help="matrices are encodings (unsigned integers), also D's; needs -i"),
        option("--alpha", placeholder="#", kind=fraction, default=1.0, help="factor of A B (default: 1)"),
        option("--beta", placeholder="#", kind=fraction, default=1.0, help="factor of C (default: 1)"),
        option(
            "--split-k", placeholder="#", kind=_split, default=1,
            help="split K into this many chains and add their results; or where they begin (128,256); or cublas:#, "
            "interleaved:#:K (units of K in turn), stream-k:#:MxNxK (# workgroups)",
        ),
        number("--promote", default=0, help="start a new chain each # of k (fp8: 128)"),
        option(
            "--accumulate", placeholder="FORMAT", known=("f32", "f16", "bf16"),
            help="keep the sums of chains in f16 or bf16 (default: f32)",
        ),
        option(
            "--d-type", placeholder="FORMAT",
            help="convert D in the end: f16, bf16, fp8 ... (default: the instruction's D)",
        ),
        option(
            "--k-order", placeholder="ORDER", default="ascending",
            help="ascending, descending, or steps such as 0,2,1,3", known=("ascending", "descending"),
        ),
        number("--threads", help="how many (default: one for each core)"),
        flag("--accuracy", help="compare with the exactly rounded product: ULP and relative errors"),
        option(
            "--compare", placeholder="FILE",
            help="say where and why this D (from a kernel) differs, as run --compare does",
        ),
        *MODIFIERS,
        option("-o", "--output", placeholder="FILE", help="write D there, .npy or .csv"),
        option(
            "--against", placeholder="GPU,...",
            help="compare with these GPUs: equal bits, bias, errors, bounds, growth with K",
        ),
        *(number(f"--{name}", help=f"{name.upper()} of random matrices (with --against)") for name in SIZES),
        option(
            "--distribution", placeholder="NAME", help="of them: normal (default), positive, relu, uniform, wide",
            known=("normal", "positive", "relu", "uniform", "wide"),
        ),
        option("--plot", placeholder="FILE", help="draw the errors against K there, as .svg (with --against)"),
    ),
    run, {"gemm": text, "numerics-comparison": _compared_text},
)  # fmt: skip
