"""Number formats of matrix instructions: widths, fields, specials, printed names.

Names are those of the instruction mnemonics and of the OCP and PTX documents: f16, bf16, e4m3 ...
`named` also takes what people write instead: fp16, half, fp8, amd_fp8, ue8m0, s8, torch.float8_e4m3fn, f8E4M3FN ...
"""

from __future__ import annotations

from .base.checks import number
from .base.errors import Error, did_you_mean
from .base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

__all__ = ["CHOICES", "FORMATS", "Format", "chosen", "formats_named", "named", "ptx_name", "scaling"]


class Format(TupleRecord):
    """One number format.

    `kind` is "float", "signed", "unsigned", "either" (a field of the instruction says which) or "bits".
    `specials` says which codes of a float are not finite: "ieee" (all ones in the exponent), "fn" (only all
    ones everywhere: NaN, no infinity), "fnuz" (only the code of minus zero: NaN), "none", or "e8m0" (0xFF is
    NaN, there is no sign, no zero and no mantissa).
    """

    name: str
    bits: int
    kind: str
    exponent: int
    mantissa: int
    bias: int
    specials: str
    title: str

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of NumPy or ml_dtypes whose elements hold such numbers.

        Raises:
            Error: neither has one.

        >>> FORMATS["f16"].dtype, FORMATS["e2m1"].dtype
        (dtype('float16'), dtype(float4_e2m1fn))
        """
        import ml_dtypes
        import numpy

        if self.name not in NUMPY_NAMES:
            raise Error(f"neither NumPy nor ml_dtypes has a type for {self.title}")
        name = NUMPY_NAMES[self.name]
        found: np.dtype[Any] = numpy.dtype(getattr(numpy if hasattr(numpy, name) else ml_dtypes, name))
        return found


_FLOAT_ROWS = (
    # name, bits, exponent bits, mantissa bits, bias, specials, the name on a detail page
    ("f64", 64, 11, 52, 1023, "ieee", "FP64 (IEEE binary64 floating point)"),
    ("f32", 32, 8, 23, 127, "ieee", "FP32 (IEEE binary32 floating point)"),
    # xf32 and tf32 occupy 32 bits of which the low 13 are not read; AMD's page calls xf32 sources FP32.
    ("xf32", 32, 8, 10, 127, "ieee", "FP32 (IEEE binary32 floating point)"),
    ("tf32", 32, 8, 10, 127, "ieee", "TF32 (8-bit exponent, 10-bit mantissa floating point)"),
    ("f16", 16, 5, 10, 15, "ieee", "FP16 (IEEE binary16 floating point)"),
    ("bf16", 16, 8, 7, 127, "ieee", "BF16 (Brain floating point)"),
    ("e4m3", 8, 4, 3, 7, "fn", "FP8 (OCP 4-bit exponent, 3-bit mantissa floating point)"),
    ("e5m2", 8, 5, 2, 15, "ieee", "BF8 (OCP 5-bit exponent, 2-bit mantissa floating point)"),
    ("e4m3fnuz", 8, 4, 3, 8, "fnuz", "FP8 (AMD 4-bit exponent, 3-bit mantissa floating point)"),
    ("e5m2fnuz", 8, 5, 2, 16, "fnuz", "BF8 (AMD 5-bit exponent, 2-bit mantissa floating point)"),
    ("e2m3", 6, 2, 3, 1, "none", "FP6 (OCP 2-bit exponent, 3-bit mantissa floating point)"),
    ("e3m2", 6, 3, 2, 3, "none", "BF6 (OCP 3-bit exponent, 2-bit mantissa floating point)"),
    ("e2m1", 4, 2, 1, 1, "none", "FP4 (OCP 2-bit exponent, 1-bit mantissa floating point)"),
    ("e8m0", 8, 8, 0, 127, "e8m0", "E8M0 (OCP 8-bit exponent scale)"),
    ("ue4m3", 8, 4, 3, 7, "fn", "UE4M3 (unsigned 4-bit exponent, 3-bit mantissa scale)"),
    ("ue5m3", 8, 5, 3, 15, "fn", "UE5M3 (unsigned 5-bit exponent, 3-bit mantissa scale)"),
)
_WHOLE_ROWS = (
    # name, bits, kind, the name on a detail page
    ("i32", 32, "signed", "int32 (Signed 32-bit integer)"),
    ("u32", 32, "unsigned", "uint32 (Unsigned 32-bit integer)"),
    ("i8", 8, "signed", "int8 (Signed 8-bit integer)"),
    ("u8", 8, "unsigned", "uint8 (Unsigned 8-bit integer)"),
    ("i4", 4, "signed", "int4 (Signed 4-bit integer)"),
    ("u4", 4, "unsigned", "uint4 (Unsigned 4-bit integer)"),
    ("i2", 2, "signed", "int2 (Signed 2-bit integer)"),
    ("u2", 2, "unsigned", "uint2 (Unsigned 2-bit integer)"),
    ("iu8", 8, "either", "IU8 (Signed/unsigned 8-bit integer)"),
    ("iu4", 4, "either", "IU4 (Signed/unsigned 4-bit integer)"),
    ("b1", 1, "bits", "B1 (single bit)"),
    ("b16", 16, "bits", "B16 (any 16 bits)"),
    ("b8", 8, "bits", "B8 (any 8 bits)"),
    ("b6", 6, "bits", "B6 (any 6 bits, loaded into bytes)"),
    ("b4", 4, "bits", "B4 (any 4 bits, loaded into bytes)"),
    ("address", 32, "bits", "Shared-memory addresses of matrix rows"),
    ("index", 2, "bits", "A matrix compression indices"),
)

# Their types in NumPy and ml_dtypes; of iu8 and iu4 the signed one.
NUMPY_NAMES = {
    "f64": "float64", "f32": "float32", "xf32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz",
    "e2m3": "float6_e2m3fn", "e3m2": "float6_e3m2fn", "e2m1": "float4_e2m1fn", "e8m0": "float8_e8m0fnu",
    "i32": "int32", "i8": "int8", "u8": "uint8", "i4": "int4", "u4": "uint4", "iu8": "int8", "iu4": "int4",
    "u32": "uint32", "i2": "int2", "u2": "uint2",
}  # fmt: skip

FORMATS = {
    **{name: Format(name, bits, "float", exponent, mantissa, bias, specials, title)
       for name, bits, exponent, mantissa, bias, specials, title in _FLOAT_ROWS},
    **{name: Format(name, bits, kind, 0, bits - (kind == "signed"), 0, "none", title)
       for name, bits, kind, title in _WHOLE_ROWS},
}  # fmt: skip

# Formats that a field of the instruction chooses: the catalog's name of the choice, and by the field's value the
# format. CBSZ and BLGP of gfx950, MATRIX_A_FMT and MATRIX_B_FMT of gfx1250: CDNA4 ISA guide, section 7.1.5; LLVM's
# MatrixFMT. MATRIX_A_SCALE_FMT and MATRIX_B_SCALE_FMT: LLVM's MatrixScaleFmt.
CHOICES: dict[str, tuple[str, ...]] = {
    "f8f6f4": ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"),
    "scale": ("e8m0", "ue5m3", "ue4m3"),
}

# The words of AMD's mnemonics and of LLVM for the formats of f8f6f4.
SHORT_NAMES = {"e4m3": "fp8", "e5m2": "bf8", "e2m3": "fp6", "e3m2": "bf6", "e2m1": "fp4"}

ALIASES = {
    **{short: name for name, short in SHORT_NAMES.items()},
    "fp64": "f64", "double": "f64", "float64": "f64", "fp32": "f32", "float": "f32", "single": "f32", "float32": "f32",
    "fp16": "f16", "half": "f16", "float16": "f16", "bfloat16": "bf16", "bfloat": "bf16",
    "floattf32": "tf32", "e4m3fn": "e4m3", "amd_fp8": "e4m3fnuz", "amd_bf8": "e5m2fnuz", "fp8_fnuz": "e4m3fnuz",
    "bf8_fnuz": "e5m2fnuz", "ue8m0": "e8m0", "e8": "e8m0", "s32": "i32", "int32": "i32", "s8": "i8", "int8": "i8",
    "uint8": "u8", "s4": "i4", "int4": "i4", "uint4": "u4",
    "uint32": "u32", "s2": "i2", "int2": "i2", "uint2": "u2",
}  # fmt: skip

# What comes before a format's name where it is a type of a library or of a language.
PREFIXES = ("torch.", "numpy.", "np.", "ml_dtypes.", "jnp.", "tl.", ".", "matrix_scale_fmt_", "matrix_fmt_")
# The formats of ml_dtypes and of LLVM that no matrix instruction has, though their names are like those of others.
ELSEWHERE = {
    "e4m3": "has infinities (IEEE's rules); OCP's format without them is float8_e4m3fn, or e4m3",
    "e4m3b11fnuz": "has the bias 11; AMD's format is float8_e4m3fnuz, of bias 8",
    "e3m4": "has four bits of mantissa",
}


def _plain(name: str) -> str:
    """A format's name without what libraries put around the bits of its fields, if it is written so.

    torch, NumPy, ml_dtypes: float8_e4m3fn, float4_e2m1fn_x2, float8_e8m0fnu; LLVM and MLIR: Float8E4M3FN, f8E4M3FN.

    Raises:
        Error: it is a format that no matrix instruction has.

    >>> _plain("torch.float4_e2m1fn_x2"), _plain("f8E4M3FNUZ"), _plain("half")
    ('e2m1', 'e4m3fnuz', 'half')
    """
    lower = name.strip().lower()
    for prefix in PREFIXES:
        lower = lower.removeprefix(prefix)
    lower = lower.removesuffix("_x2")  # torch's packed pairs
    width = lower.removeprefix("float").removeprefix("f").removeprefix("p")
    bits = width[:1]
    if width == lower or bits not in "468" or not width[1:].removeprefix("_").startswith("e"):
        return lower
    fields = width[1:].removeprefix("_")
    if fields in ELSEWHERE and bits == "8" and not lower.startswith("fp"):  # fp8_e4m3 is OCP's
        raise Error(f"no matrix instruction has the format {name}, which {ELSEWHERE[fields]}")
    for suffix in ("fnu", "fn", ""):  # what says that there are no infinities, and of the scale no sign
        if (plain := fields.removesuffix(suffix)) in FORMATS and FORMATS[plain].bits == number(bits):
            return plain
    return lower


def named(name: str) -> Format:
    """The format that `name` means, by the names of PTX, OCP, LLVM, torch, NumPy and ml_dtypes.

    Raises:
        Error: no format is called that.

    >>> named("FP16").bits, named("amd_fp8").name, named("torch.float8_e4m3fn").name, named("f8E5M2FNUZ").name
    (16, 'e4m3fnuz', 'e4m3', 'e5m2fnuz')
    """
    if name in FORMATS:
        return FORMATS[name]
    lower = _plain(name)
    try:
        return FORMATS[ALIASES.get(lower, lower)]
    except KeyError:
        hint = did_you_mean(lower, (*FORMATS, *ALIASES, *BLOCK_SCALED, *NUMPY_NAMES.values()))
        raise Error(
            f"unknown number format '{name}'.{hint} Known: {', '.join(FORMATS)}.", kind="unknown name"
        ) from None


def chosen(choice: str, name: str) -> int:
    """The value of the field that picks a format from one of `CHOICES`, or such a value itself in digits.

    Raises:
        Error: the choice does not offer that format.

    >>> chosen("f8f6f4", "fp6"), chosen("f8f6f4", "MATRIX_FMT_FP6"), chosen("f8f6f4", "2")
    (2, 2, 2)
    >>> [chosen("scale", f"MATRIX_SCALE_FMT_{name}") for name in ("E8", "E5M3", "E4M3")]
    [0, 1, 2]
    """
    offered = CHOICES[choice]
    if (value := number(name, len(offered) - 1)) is not None:
        return value
    plain = _plain(name)
    if plain in BLOCK_SCALED and len(BLOCK_SCALED[plain][0]) == 1:
        plain = BLOCK_SCALED[plain][0][0]
    meant = ALIASES.get(plain, plain)
    for candidate in (meant, f"u{meant}"):
        if candidate in offered:
            return offered.index(candidate)
    spoken = ", ".join(f"{value} ({FORMATS[f].title.split()[0].lower()})" for value, f in enumerate(offered))
    hint = did_you_mean(plain, [form for name in offered for form in (name, SHORT_NAMES.get(name, name))])
    raise Error(f"'{name}' is not a format of {choice}; it is one of {spoken}.{hint}", kind="unknown name")


# A format that people name by its width alone is found in both its encodings.
_EITHER = {"fp8": {"e4m3", "e4m3fnuz"}, "bf8": {"e5m2", "e5m2fnuz"}}

# Formats of blocks that share a scale: those of the elements, that of the scale, and the elements of a block.
# Source: OCP Microscaling Formats (MX) 1.0, table 1; nvfp4: PTX ISA 9.1, kind::mxf4nvf4 with scale_vec::4X.
BLOCK_SCALED: dict[str, tuple[tuple[str, ...], str, int]] = {
    "mxfp8": (("e4m3", "e5m2"), "e8m0", 32), "mxfp6": (("e2m3", "e3m2"), "e8m0", 32),
    "mxfp4": (("e2m1",), "e8m0", 32), "nvfp4": (("e2m1",), "ue4m3", 16),
}  # fmt: skip


def formats_named(given: str) -> set[str]:
    """The formats that a name means: one, or for a name that has only a width (fp8, bf8) both encodings.

    Raises:
        Error: no format is called that.

    >>> sorted(formats_named("fp8")), formats_named("half"), formats_named("mxfp4")
    (['e4m3', 'e4m3fnuz'], {'f16'}, {'e2m1'})
    """
    lower = given.strip().lower()
    if lower in CHOICES:
        return {lower}
    if lower in BLOCK_SCALED:
        return set(BLOCK_SCALED[lower][0])
    return _EITHER.get(lower) or {named(given).name}


def scaling(given: str) -> tuple[str, int] | None:
    """The format and block size of the scales that belong to a format; None if it has none.

    >>> scaling("MXFP4"), scaling("fp4")
    (('e8m0', 32), None)
    """
    lower = given.strip().lower()
    return BLOCK_SCALED[lower][1:] if lower in BLOCK_SCALED else None


PTX_NAMES = {"i32": "s32", "i8": "s8", "i4": "s4", "e8m0": "ue8m0"}


def ptx_name(name: str) -> str:
    """The word of PTX for a format by any of its names; the text itself if it is none.

    >>> ptx_name("bfloat16"), ptx_name("int8"), ptx_name("f8E4M3FN"), ptx_name("f17")
    ('bf16', 's8', 'e4m3', 'f17')
    """
    try:
        found = named(name).name
    except Error:
        return name
    return PTX_NAMES.get(found, found)
