"""What an edit is called and what to do about it: the only place where a diagnosis is put into words.

`WORDS` has a name and an advice for each kind of edit. In both, {T} is the target ("A", "A and B alike: each", "the
index", "scale_a"), {verb} is load or store, {whose} the operands, joined by "and"; the others are what the edit says of
itself (`Edit.given`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .edits import Edit
    from .problem import Problem

__all__ = ["description"]

TARGETS = {"AB": "A and B alike: each", "K": "the index", "SA": "scale_a", "SB": "scale_b"}
WHOSE = {"AB": "A and B", "SA": "scale_a", "SB": "scale_b", "SASB": "scale_a and scale_b"}
OPTIONS = {"SA": "-scale-a", "SB": "-scale-b", "K": "k", "AB": "A"}
FORMATS = {
    "e4m3": "OCP fp8 (e4m3fn)", "e5m2": "OCP bf8 (e5m2)", "e4m3fnuz": "FNUZ fp8 (e4m3fnuz)",
    "e5m2fnuz": "FNUZ bf8 (e5m2fnuz)",
}  # fmt: skip

STRIDE = "check the leading dimension (stride between rows) with which you {verb} {T}"
TURN = "exchange the strides with which you {verb} {T} (row-major for column-major)"
OFFSET = "check the row and column offsets with which you {verb} {T}"
SWIZZLE = "undo the swizzle of shared memory (LDS) when reading, or do not apply it when writing"
LAYOUT = "the layout: `mmacalc -a {arch} -i {inst} -{option} -R`"
PACKING = "check how elements are packed into 32 bits, the first in the low bits"
LOOP = "check the bounds of the loop over k"
ALPHA = "check alpha, and the scales that the kernel applies"
ACTIVATION = "compare before the activation, or apply it to the reference too"
STORE = "check the bounds of the store, and EXEC"
INDEX = "each group's two positions are in the order of the stored values, the first in the low bits"
INDEX_SET = "check which set of indices the instruction reads (ABID, OPSEL or the sparsity selector), and its register"
BYTE = "check which lane and byte (OPSEL) hold which block's scale"
SWAP = "exchange the first two source operands"
C_START = "initialise the accumulator with C before the first instruction"
PATTERN = "the layout of {T}: `mmacalc -a {arch} -i {inst} -{T} --pattern`"

WORDS: dict[str, tuple[str, str]] = {
    # --- a matrix in memory
    "transposed": ("{T} is transposed", TURN),
    "by columns": ("{T} is read column by column although it is stored row by row", TURN),
    "by rows": ("{T} is read row by row although it is stored column by column", TURN),
    "tiles transposed": ("{T} has each {size} x {size} tile transposed", "transpose no tiles of {T}"),
    "ldmatrix": (
        "{T} has each {size} x {size} tile transposed (ldmatrix with .trans too many or too few)",
        "load {T} by ldmatrix with .trans if it has none, without .trans if it has it",
    ),
    "tiles reordered": (
        "{T} has its {height} x {width} tiles in column-major order instead of row-major",
        "exchange the second and third tile (matrix) of a fragment",
    ),
    "leading dimension": ("{T} is read with a leading dimension {how}", STRIDE),
    "by columns, leading dimension": ("{T} is read column by column with a leading dimension off by {n:+d}", STRIDE),
    "stride": ("{T} is read with a stride of {n} between elements", STRIDE),
    "repeated": ("{T} is read with each element {n} times, one after the other", STRIDE),
    "one row": ("{T} has one row only: every row is row 0 (leading dimension 0)", STRIDE),
    "one column": ("{T} has one column only: every column is column 0", STRIDE),
    "displaced": ("{T} is displaced by {n:+d} {what}{s}", OFFSET),
    "displaced, zeros beyond": ("{T} is displaced by {n:+d} {what}{s}, and filled up with zeros", OFFSET),
    "reversed": ("{T} has its {what}s in reverse order", OFFSET),
    "reordered": ("{T} has its {what}s {order}", OFFSET),
    "address off": ("{T} is read from an address {n:+d} elements off", OFFSET),
    "swizzled": ("{T} is swizzled: {how} instead of column", SWIZZLE),
    "missing": ("{T} is zero in {which}", "check the bounds within which you {verb} {T}"),
    "zero": ("{T} is zero in {which}", LAYOUT),
    # --- lanes and registers
    "lanes off": ("{T} is {n:+d} lanes off", LAYOUT),
    "lane off": ("{T} is one lane off ({n:+d})", LAYOUT),
    "lanes exchanged": ("{T} comes from lane ^ {n}: lanes exchanged", LAYOUT),
    "lanes transposed": ("{T} has its lanes transposed: lane {n} * (lane % {rest}) + lane / {rest}", LAYOUT),
    "lanes in groups": ("{T} is the same in every group of {n} lanes (that of lanes 0 to {last})", LAYOUT),
    "neighbouring lanes": ("{T} is the same in every {n} neighbouring lanes", LAYOUT),
    "lane 0": ("{T} is lane 0's in every lane", LAYOUT),
    "register order": ("{T} has its registers in the order {order}", LAYOUT),
    "register 0": ("{T} has register 0 in every register", LAYOUT),
    "registers again": ("{T} has registers 0 to {last} again and again", LAYOUT),
    "registers off": ("{T} is {n} registers off", LAYOUT),
    "registers exchanged in pairs": ("{T} comes from register ^ {n}: registers exchanged in pairs", LAYOUT),
    "two registers exchanged": ("{T} has registers {x} and {y} exchanged", LAYOUT),
    "halves": ("{T} has the 16-bit halves of each register exchanged", PACKING),
    "low half": ("{T} has the low half of each register in both halves", PACKING),
    "high half": ("{T} has the high half of each register in both halves", PACKING),
    "bytes reversed": ("{T} has the bytes of each register in reverse order", PACKING),
    "bytes exchanged": ("{T} has the bytes of each 16 bits exchanged", PACKING),
    "nibbles": ("{T} has the nibbles of each byte exchanged", PACKING),
    "nibbles reversed": ("{T} has the nibbles of each register in reverse order", PACKING),
    "layout": ("{T} is {read} {how}", "{advice}"),
    # --- the whole tile and its blocks
    "D transposed": (
        "the tile is transposed: D[j][i] was stored as D[i][j]",
        "swap row and column where D is stored (the lanes of D run along j, not along i)",
    ),
    "D by columns": ("D was stored column by column and read row by row", "swap the strides of D"),
    "A and B swapped, transposed": (
        "A and B are swapped: D is (B^T A^T) + C, so the product is transposed but C is not",
        SWAP,
    ),
    "A and B swapped, C transposed": ("A and B are swapped and C is transposed", SWAP),
    "A and B swapped": ("A and B are swapped: D is B A + C", "exchange the matrices that are loaded"),
    "blocks": ("the blocks of {T} {how}", "check which lanes and registers hold the blocks of {T}"),
    # --- the accumulator
    "C is not added": ("C is not added", C_START),
    "the product is added twice": (
        "the product is added twice",
        "reset the accumulator, or run the loop once less",
    ),
    "the product is missing": ("D is C: the product is missing", "check that the instruction ran for all lanes"),
    "C is subtracted": ("C is subtracted instead of added", "check NEG[2], or the sign of C"),
    "the product is subtracted": ("the product is subtracted: D is C - A B", "check NEG of A and B"),
    "C of one line": (
        "{what} 0 of C is added to every {what}",
        "C is added for each element of D: load it with both row and column",
    ),
    "not reset": (
        "the accumulator is not reset between tiles (one tile after the other, {how})",
        "fill the accumulator with zeros before the loop over k",
    ),
    # --- k and the sum
    "part of k": ("{which}", LOOP),
    "some steps": (
        "only every {which} step along K is added, from step {first}",
        "check the increment of the loop over k",
    ),
    "stale step": (
        "step {n} along K was computed with the data of the step before",
        "wait for the load (or the barrier) before the data are used: double buffering is one step behind",
    ),
    "one step": ("in step {n} of the {steps} steps along K alone, {name}", "{advice}; in that step alone"),
    "other step": (
        "{T} is that of {how}",
        "check which registers, or which part of the buffer, the step reads {T} from",
    ),
    "registers on": (
        "{T} is read from registers {n:+d} away, which hold another step's in part",
        "check the numbers of the registers of {T}: " + LAYOUT,
    ),
    "step twice": ("step {n} along K is added twice", LOOP + ": it runs once too often"),
    "step too many": (
        "one step too many along K is added: A continues in the next row, B in the next column",
        LOOP + ": it runs once too often",
    ),
    "order of k": (
        "k is not in the same order in A and B: {T} has it {how}",
        "load A and B with the same order of k",
    ),
    "order of steps": (
        "the steps along K are added {how}",
        "the additions are in another order than one after the other from k = 0; that rounds otherwise",
    ),
    "other modifiers": ("the instruction ran with {how}", "set the modifiers of {inst} as intended"),
    "other instruction": ("{other} ran instead", "issue {inst}"),
    "narrow accumulator": (
        "the accumulator is {other}: the sum is rounded to it after {each}",
        "accumulate in {form}: declare the accumulator so, and issue the instruction whose D is {form}",
    ),
    "other sum": ("the sum is formed {how}", "this instruction: {explanation}"),
    "separate roundings": (
        "products and sums are each rounded to f32, in the order of k, {how}",
        "this instruction: {explanation}",
    ),
    "subnormal results": ("subnormal results were flushed to zero", "compare with subnormals kept"),
    # --- codes
    "zero point": (
        "the integers of {whose} are off by 128, modulo 256 (a zero point; unsigned for signed)",
        "subtract the zero point of {whose} before the product",
    ),
    "holds other codes": (
        "{whose} {hold} {other} codes, which were read as {form}{half}",
        "convert {whose} to {form}, which {inst} reads",
    ),
    "read as others": (
        "the {form} codes of {whose} were read as {other}",
        "run an instruction (on a GPU) that reads {form}",
    ),
    "cut": (
        "{whose} {were} cut to {plain}, not rounded to nearest",
        "convert with rounding to nearest even, or expect these values",
    ),
    "through": ("{whose} {were} rounded to {other} before", "keep {whose} in {plain} from the start"),
    "signs lost": (
        "the signs of {whose} are lost: absolute values are multiplied",
        "check the top bit of each element of {whose}: a mask one bit too narrow, ABS or |x| before the product",
    ),
    "flushed": (
        "subnormal inputs were flushed to zero",
        "the hardware keeps subnormals here; the kernel or the reference flushes them",
    ),
    # --- the index of a sparse A
    "positions": ("{text}", INDEX),
    "positions shifted": ("every position of the index is shifted by {n}", "positions count from 0"),
    "index halves": ("the halves of the index are swapped", INDEX_SET),
    "index groups off": ("the index is {n} groups off", INDEX_SET),
    "not compressed": (
        "A is not compressed: {which} taken for its values",
        "store the values at the positions of the index, one after the other; see `mmacalc.compress`",
    ),
    # --- scales
    "scale codes off": (
        "the codes of {whose} are off by {n:+d} (the bias of E8M0 is 127)",
        "encode a scale of 2**e as e + 127",
    ),
    "scales twice": (
        "{whose} {are} applied twice",
        "the instruction scales: do not multiply the inputs or D by the scales besides",
    ),
    "no scales": ("the scales are not applied", "turn scaling on (ABID[0] = 1 on CDNA4)"),
    "no scale": ("{T} is not applied", "check its register and byte"),
    "scales swapped": ("the scales of A and B are swapped", "exchange the scale operands"),
    "scale blocks off": ("{T} is off by {n:+d} block{s} of k", BYTE),
    "scale of one block": ("one scale byte for all: {T} of block {n} of k is used for every block", BYTE),
    "one scale": ("one scale byte for all: the first of {T} is used for the whole matrix", BYTE),
    "scale of the first block": ("{T} of the first of each {n} blocks of k is used for all {n}", BYTE),
    "both scales of one block": (
        "one scale byte for all: both scales of block 0 of k are used for every block",
        "step the byte (OPSEL) or the lane with k",
    ),
    # --- what follows the product
    "integer clipped": ("D was clipped to {to}", "{advice}"),
    "integer wrapped": ("D was wrapped to {to}", "{advice}"),
    "through f32": (
        "D went through f32, which has 24 bits of an integer",
        "f32 holds integers to 2**24: convert after the sums are small, or keep D in int32",
    ),
    "activation": ("{function} was applied to D", ACTIVATION),
    "D is a function": ("D is the {function} of the result", ACTIVATION),
    "softmax": ("softmax was applied to each {what} of D", "compare before softmax, or apply it to the reference too"),
    "before C": (
        "{function} was applied to the product before C was added",
        "apply the activation after C is added: initialise the accumulator with C",
    ),
    "rounded": (
        "D was rounded to {to}",
        "keep D in {own} until it is stored, or compare with the reference rounded to {to}",
    ),
    "cut short": (
        "D was cut to {to}, not rounded to nearest",
        "keep D in {own} until it is stored, or compare with the reference rounded to {to}",
    ),
    "quantised": (
        "D {how} multiples of {step:.9g}",
        "compare before D is quantised, or quantise the reference alike",
    ),
    "clipped": ("D was clipped {how}", "compare before the bounds are applied"),
    "scaled, relu": ("D is scaled by {x:.9g}, and relu was applied to it", "check alpha; " + ACTIVATION),
    "bias, relu": ("{what} is added to D (a bias), and relu was applied to it", "add the bias to C; " + ACTIVATION),
    "scaled": ("D is scaled by a constant: it is {x:.9g} ({of})", ALPHA),
    "opposite": ("D has the opposite sign: it is -1 ({of})", ALPHA),
    "C times": ("C is added {y:.9g} times (beta)", "check how the accumulator is initialised, and beta"),
    "C twice": ("C is added twice", "check how the accumulator is initialised, and beta"),
    "C zero times": ("C is not added", "check how the accumulator is initialised, and beta"),
    "C negative": ("C is subtracted instead of added", "check how the accumulator is initialised, and beta"),
    "product twice": ("the product is added twice", "reset the accumulator between tiles"),
    "product negative": ("the product is subtracted: D is C - A B", "check alpha"),
    "product times": ("the product is scaled by {x:.9g}, C is not (alpha)", "check alpha"),
    "alpha, no C": ("the product is scaled by {x:.9g}, and C is not added", "check alpha and beta"),
    "alpha and beta": ("D is {x:.9g} A B + {y:.9g} C (alpha and beta)", "check alpha and beta"),
    "scaled by line": (
        "each {what} of D is scaled by a number of its own ({shown} ...)",
        "check the scales by {what}",
    ),
    "constant start": (
        "the accumulator is {x:.6g} in every element instead of C",
        "initialise the accumulator (with C, or with zero) before the first instruction",
    ),
    "bias": ("{shown} is added {where}", "compare before the bias is added, or add it to C"),
    # --- part of D
    "not stored": ("D is zero in {where}: not computed, or not stored", STORE),
    "NaN": (
        "D is NaN in {where}: the accumulator was not initialised there, or an input is NaN",
        "initialise the accumulator before the first instruction",
    ),
    "constant": ("D is {x:.9g} throughout {where}: not stored", STORE),
    "other values in D": (
        "D holds other values in {where}; all the rest is right",
        "an accumulator that was not initialised there, registers that were overwritten before the store, or a result "
        "that was read too early",
    ),
    # --- read from D
    "elsewhere": ("{what} of {T} are elsewhere: {how}", PATTERN),
    "D elsewhere": ("the elements are right, but in other places: {how}", PATTERN),
    "scattered": ("the elements of {T} are right, but in other places: {how}", PATTERN),
    "line elsewhere": ("{what} of {T} are elsewhere: {how}", "check the {line} index with which you load {T}"),
    "zero in part": ("{T} is zero in {where}", "check {advice}"),
    "other values": ("{T} holds other values in {where}; all the rest is right", "check {advice}"),
}


def description(problem: Problem, edits: Sequence[Edit]) -> tuple[str, str]:
    """What a sequence of edits is called, and what to do about it."""
    name, advice = zip(*(_of_one(problem, edit) for edit in edits))
    return "; and ".join(name), "; ".join(advice)


def _of_one(problem: Problem, edit: Edit) -> tuple[str, str]:
    target, kind, given = edit.target, edit.kind, dict(edit.given)
    if kind == "one step":
        given["name"], given["advice"] = _of_one(problem, given["inner"])
    if kind == "other step":
        given["how"] = f"{abs(given['n'])} step{'s' * (abs(given['n']) > 1)} {'later' if given['n'] > 0 else 'before'}"
    if kind == "lanes off" and abs(given["n"]) == 1:
        kind = "lane off"
    several = len(target) > 1 and target not in ("SA", "SB", "sum")
    given["s"] = "s" * (abs(given.get("n", 1)) != 1)
    for name in ("form", "other"):
        if name in given:
            held = getattr(given[name], "name", given[name])
            given[name] = FORMATS.get(held, held)
            given.setdefault("plain", held)
    words = {
        "T": TARGETS.get(target, target), "whose": WHOSE.get(target, target),
        "verb": "store" if target == "D" else "load", "read": "read" if target == "D" else "filled",
        "arch": problem.inst.arch, "inst": problem.inst.name,
        "option": OPTIONS.get(target, target), "hold": "hold" if several else "holds",
        "were": "were" if several else "was", "are": "are" if several else "is", **given,
    }  # fmt: skip
    name, advice = WORDS[kind]
    return name.format_map(words), advice.format_map(words)
