"""Say whether the result of one instruction can be an operand of the next, and how.

    mmacalc chain -a gfx942 v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_f16          D of the first into the second
    mmacalc chain -a gfx950 v_mfma_f32_32x32x16_f16 v_mfma_f32_32x32x16_f16 --use B --keep-k
    mmacalc chain -a sm_80 --list mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

Two layouts of Triton, Gluon or CuTe are answered as `mmacalc layout` does: what a conversion between them costs.

The result D can become A or B of the next instruction, as it is or transposed (At, Bt): f is the index that
survives, k the one that is added up. Without --use all four are answered, the cheapest first. Where k may be
relabelled, elements often stay in their lanes; --keep-k asks without that.
"""

from __future__ import annotations

from ..base.errors import Error, plural
from ..base.records import Record, json_keys
from ..catalog import entry
from ..command import Command, Reply, argument, flag, option, refuse_given, show
from ..command.common import INSTRUCTIONS, JSON, MODIFIERS, TARGET, WAVE
from ..command.options import modifiers
from ..foreign import reads
from .layout import ELEMENT, TENSOR, answered, conversion_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..chaining import Chain, Feeds
    from ..chaining.answer import Filled
    from ..chaining.conversions import Conversion
    from ..chaining.tiles import Use
    from ..chaining.ways import Way
    from ..command import Options

WIDTH = 116
MEANINGS = {
    "identical": "D's registers in order are the operand's once they are converted",
    "renamed": "nothing moves: the operand's registers are D's under other numbers",
    "repacked": "nothing moves between lanes; pairs of elements are put together anew",
    "k-relabel": "nothing moves if k is relabelled",
    "kf-relabel": "nothing moves if k and f are relabelled; the rows of the result come out in another order",
    "lane-moves": "elements move between lanes",
}


@json_keys(
    "from=conversion.source",
    "to=conversion.target",
    "rounding=conversion.rounding",
    "instructions=conversion.counted",
    "registers=conversion.registers",
    "times",
)
class Converted(Record):
    """The conversion of a chain, and how many times it is done."""

    conversion: Conversion
    times: int


@json_keys(
    "**chain",
    "wave=chain.wave",
    "formula=chain.tiles.use.formula",
    "patterns",
    "follow=chain.followers",
    "conversion",
    "repacks=chain.repacks",
    "registers=chain.registers",
    "exchanges=chain.exchanges",
    "lane_permutation=chain.lane_permutation",
    "gathered=chain.gathered",
    "ways=chain.ways",
)
class ChainInFull(Record):
    """All about one use of a result."""

    chain: Chain

    @property
    def patterns(self) -> dict[str, str]:
        """The layouts of the result and of the operand."""
        tiles = self.chain.tiles
        return {"D": tiles.source.pattern, tiles.use.operand: tiles.target.pattern}

    @property
    def conversion(self) -> Converted:
        """From D's format to the operand's."""
        return Converted(self.chain.conversion, self.chain.conversions)


@json_keys("architecture: the canonical name", "chains=in_full")
class Chains(Record):
    """One or several uses of a result, the cheapest first."""

    chains: tuple[Chain, ...]

    @property
    def architecture(self) -> str:
        """Its name."""
        return self.chains[0].x.arch

    @property
    def in_full(self) -> tuple[ChainInFull, ...]:
        """All about each."""
        return tuple(map(ChainInFull, self.chains))


def chain_text(chain: Chain) -> str:
    """One use of a result."""
    return text(Chains((chain,)))


def text(answer: Chains) -> str:
    """One or several uses of a result, the cheapest first."""
    answers = answer.chains
    first = answers[0]
    wave = f", wave{first.wave}" if len(first.x.architecture.waves) > 1 else ""
    heading = f"{first.x.architecture.title}{wave}: D of {first.x.name} into {first.y.name}"
    return "\n\n".join([heading, *[_one(answer) for answer in answers]]) + "\n"


def _one(answer: Chain) -> str:
    use = answer.tiles.use
    lines = [f"{answer.use}: {answer.kind} ({MEANINGS[answer.kind]})", f"  {use.formula}: {_summed(use)}"]
    lines += _field("tile", _tile(answer))
    lines += _field("D", f"{answer.tiles.source.pattern}")
    lines += _field(use.operand, f"{answer.tiles.target.pattern}")
    lines += _relabelling(answer)
    lines += _field("convert", _wrapped(_conversion(answer).split(" "), ""))
    lines += _field("registers", _wrapped(_registers(answer), ";")) if answer.registers else []
    lines += _moves(answer)
    lines += _field("provenance", f"layouts: {answer.provenance}")
    return "\n".join(lines)


def _summed(use: Use) -> str:
    """Which index of D the next product adds up, and what attention computes for it."""
    if use.f == "i":
        return "Y adds up the columns of D; in attention D is S = Q K'"
    return "Y adds up the rows of D; in attention D is S' = K Q', Q and K exchanged"


def _field(name: str, content: str | list[str]) -> list[str]:
    rows = [content] if isinstance(content, str) else content
    return [f"    {name if at == 0 else '':<10} {row}" for at, row in enumerate(rows)]


def _tile(answer: Chain) -> str:
    blocks = f" in {answer.blocks} blocks" if answer.blocks > 1 else ""
    return f"f {answer.f}, k {answer.k}{blocks}: {answer.x_count} of X, {answer.y_count} of Y"


def _relabelling(answer: Chain) -> list[str]:
    if answer.relabel is None:
        return []
    pattern = f"{answer.relabel_pattern}: " if answer.relabel_pattern else ""
    lines = _field("relabel k", _wrapped([f"{pattern}D's k in order are the operand's k", *ranges(answer.relabel)], ""))
    for at, follower in enumerate(answer.followers):
        start = "either" if at == 0 else "or"
        if follower.where == "source":
            rows = "rows" if follower.operand == "A" else "columns"
            what = f"load the {rows} of X's {follower.operand} in that order (only other {rows}, as wide as before)"
        else:
            width = ""
            if follower.run_bytes is not None:
                same = follower.run_bytes == follower.kept_bytes
                width = f" ({follower.run_bytes} bytes at once{'' if same else f' instead of {follower.kept_bytes}'})"
            what = f"load Y's {follower.operand} with its k in the inverse order{width}"
        lines += _field("", f"{start} {what}")
    for condition in answer.conditions:
        lines += _field("but", _wrapped(condition.text.split(" "), ""))
    return lines


def _conversion(answer: Chain) -> str:
    conversion = answer.conversion
    if not conversion.rounding:
        same = conversion.source == conversion.target
        what = (
            f"none: both are {conversion.source}"
            if same
            else f"none: {conversion.target} is read from {conversion.source}"
        )
    else:
        each = _counted(conversion.instructions)
        per = "register" if conversion.registers == 1 else f"{conversion.registers} registers"
        what = f"{conversion.source} to {conversion.target}, {conversion.rounding}"
        what += f": {each} for each {per}, {answer.conversions} times" if each else ""
    return f"{what}; {answer.repacks} byte permutes before" if answer.repacks else what


def _counted(instructions: Iterable[tuple[str, int]]) -> str:
    return ", ".join([f"{count} {name}" if count > 1 else name for name, count in instructions])


def _registers(answer: Chain) -> list[str]:
    """`b0 <- d0 d1`: the registers of the operand with those of D; x1.d0 where there are several X."""
    name = answer.tiles.use.operand.lower()
    rows = []
    for filled in answer.registers:
        y = f"y{filled.y}." if answer.y_count > 1 else ""
        rows.append(f"{y}{name}{filled.register} <- {' '.join(_sources(answer, filled)) or 'nothing'}")
    return rows


def _sources(answer: Chain, filled: Filled) -> list[str]:
    width = int(answer.tiles.source.placement.slot_bits)
    found: list[str] = []
    whole = width >= 32
    places = list(filled.sources)
    at = 0
    while at < len(places):
        place = places[at]
        pair = places[at : at + 32 // width] if not whole else []
        if place is None:
            at += 1
        elif pair and len(pair) == 32 // width and _fills_register(place, pair, width):
            found.append(_register(answer, place[0], place[1]))
            at += len(pair)
        else:
            half = "" if whole else f".{'lh'[place[2] // 16]}"
            found.append(_register(answer, place[0], place[1]) + half)
            at += 1
    return _runs(found)


def _fills_register(first: tuple[int, int, int], places: Sequence[tuple[int, int, int] | None], width: int) -> bool:
    return list(places) == [(first[0], first[1], at * width) for at in range(len(places))]


def _register(answer: Chain, x: int, register: int) -> str:
    return f"{f'x{x}.' if answer.x_count > 1 else ''}d{register}"


def _runs(names: list[str]) -> list[str]:
    """`d0 d1 d2 d3` as `d[0:3]`."""
    found: list[str] = []
    at = 0
    while at < len(names):
        stem, number = names[at].rstrip("0123456789"), names[at][len(names[at].rstrip("0123456789")) :]
        last = at
        while number and last + 1 < len(names) and names[last + 1] == f"{stem}{int(number) + last + 1 - at}":
            last += 1
        found += [f"{stem}[{number}:{int(number) + last - at}]"] if last - at > 1 else names[at : last + 1]
        at = last + 1
    return found


def _moves(answer: Chain) -> list[str]:
    if not answer.ways:
        return []
    lines = []
    if answer.exchanges or answer.lane_permutation:
        exchanges = [f"item bit {item} with lane bit {lane}" for item, lane in answer.exchanges]
        permuted = [f"{bit} to {to}" for bit, to in answer.lane_permutation]
        what = [f"exchange {', '.join(exchanges)}"] if exchanges else []
        what += [f"permute lane bits: {', '.join(permuted)}"] if permuted else []
        what += [f"gather copies along lane bits {', '.join(map(str, answer.gathered))}"] if answer.gathered else []
        lines += _field("move", _wrapped(what, ";"))
    names = [way.name for way in answer.ways]
    width = max(len(name) for name in names)
    return lines + _field("ways", [f"{way.name:<{width}}  {_way(way)}" for way in answer.ways])


def _way(way: Way) -> str:
    memory = f" ({way.bytes} bytes{_rows(way)})" if way.bytes else ""
    return f"{', '.join([f'{count} {name}' for name, count in way.instructions])}{memory}"


def _rows(way: Way) -> str:
    """How the rows lie in LDS, and what stores and loads cost there."""
    if way.lds is None:
        return ""
    rows = way.lds
    pad = f" + {rows.pad_bytes}" if rows.pad_bytes else ""
    cost = f"{plural(rows.cycles, 'cycle')}, {plural(rows.conflicts, 'conflict')}"
    return f", rows of {rows.row_bytes}{pad} along {rows.along}: {cost}"


def ranges(numbers: Sequence[int]) -> list[str]:
    """Runs of neighbouring numbers: `0-3`, `8-11`."""
    found, start = [], numbers[0]
    for at, number in enumerate(numbers):
        if at + 1 == len(numbers) or numbers[at + 1] != number + 1:
            found.append(str(start) if start == number else f"{start}-{number}")
            start = numbers[at + 1] if at + 1 < len(numbers) else number
    return found


def _wrapped(parts: Sequence[str], mark: str) -> list[str]:
    """Parts in lines of at most WIDTH characters."""
    lines = [""]
    for at, part in enumerate(parts):
        piece = part + (mark if at + 1 < len(parts) else "")
        if lines[-1] and len(lines[-1]) + 1 + len(piece) > WIDTH - 15:
            lines.append("")
        lines[-1] += f" {piece}" if lines[-1] else piece
    return lines


def list_text(found: Feeds) -> str:
    """A line for each instruction and use: its kind, how many X feed how many Y, and how k is relabelled."""

    x, rows = found.x, [_row(chain) for chain in found.chains]
    if not rows:
        return f"D of {x.name} feeds no instruction of {x.architecture.title} without moves between lanes\n"
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, [*widths, 0])]).rstrip() for row in rows]
    return f"{x.architecture.title}: what D of {x.name} feeds without moves between lanes\n" + "\n".join(lines) + "\n"


def _row(chain: Chain) -> tuple[str, ...]:
    order = ""
    if chain.relabel is not None:
        order = f"k {chain.relabel_pattern or ' '.join(ranges(chain.relabel))}"
    return chain.y.name, chain.use, chain.kind, f"{chain.x_count}:{chain.y_count}", order


TWO = "chain takes two instructions, the one that computes D and the one that uses it; or --list and one"


def run(options: Options) -> Reply:
    """One chain, the four, or the list."""
    from ..chaining import Feeds, chain, feeds

    names = [name for name in (options.x, options.y) if name is not None] + options.instruction
    if options.architecture is None and len(names) == 2 and all(map(reads, names)):
        own = ("use", "keep_k", "list", "wavefront", *[one.name for one in MODIFIERS])
        refuse_given(COMMAND, options, own, "is for instructions; these are layouts")
        return answered(names, options.tensor, options.type, options.json)
    refuse_given(COMMAND, options, ("tensor", "type"), "is for layouts; instructions have their own sizes")
    if options.architecture is None:
        raise Error("no architecture was given; choose one with -a, such as `-a cdna3` or `-a MI300X`")
    known = entry(options.architecture)
    if not 1 <= len(names) <= 2 or (len(names) == 2) == options.list:
        wanted = "--list takes one instruction, the one whose result is used" if options.list else TWO
        raise Error(f"{wanted}; got {' and '.join(names) or 'none'}")
    x = known.meant(names[0])
    fields = modifiers(options)
    if options.list:
        refuse_given(COMMAND, options, ("keep_k",), "is for two instructions; --list relabels where that is needed")
        found = Feeds(x, feeds(x, options.use, options.wavefront, **fields))
        return show(options.json, "chain-list", found, list_text)
    y, how = known.meant(names[1]), (options.keep_k, options.wavefront)
    one = (chain(x, y, options.use, *how, **fields),) if options.use else chain(x, y, None, *how, **fields)
    return show(options.json, "chain", Chains(one), text)


COMMAND = Command(
    "chain", "whether the result of one instruction can feed the next, and how", "chain", __doc__,
    (
        TARGET, WAVE, JSON, TENSOR, ELEMENT,
        argument("x", "the instruction whose result D is used", nargs="?", placeholder="X"),
        argument("y", "the instruction that uses it", nargs="?", placeholder="Y"),
        INSTRUCTIONS,
        option(
            "--use", placeholder="OPERAND", help="A, At, B or Bt: what D becomes (At and Bt: its transpose)",
            known=("A", "At", "B", "Bt"),
        ),
        flag("--keep-k", help="do not relabel the contracted index"),
        flag(
            "--list",
            help="list all that D of X feeds without moves between lanes (f8f6f4: as 8 bits, or as --cbsz ... say)",
        ),
        *MODIFIERS,
    ),
    run, {"chain": text, "chain-list": list_text, "layout-conversion": conversion_text},
)  # fmt: skip
