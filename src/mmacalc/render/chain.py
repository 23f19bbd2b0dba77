"""Chains, as text and as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..chains import Chain
    from ..chains.answer import Filled
    from ..chains.ways import Way

__all__ = ["identity", "json_object", "ranges", "text"]

WIDTH = 116
MEANINGS = {
    "identical": "D's registers in order are the operand's once they are converted",
    "renamed": "nothing moves: the operand's registers are D's under other numbers",
    "repacked": "nothing moves between lanes; pairs of elements are put together anew",
    "k-relabel": "nothing moves if k is relabelled",
    "kf-relabel": "nothing moves if k and f are relabelled; the rows of the result come out in another order",
    "lane-moves": "elements move between lanes",
}


# --- text ---


def text(answers: Sequence[Chain]) -> str:
    """One or several uses of a result, the cheapest first."""
    first = answers[0]
    wave = f", wave{first.wave}" if len(first.x.architecture.waves) > 1 else ""
    heading = f"{first.x.architecture.title}{wave}: D of {first.x.name} into {first.y.name}"
    return "\n\n".join([heading, *[_one(answer) for answer in answers]]) + "\n"


def _one(answer: Chain) -> str:
    use = answer.tiles.use
    lines = [f"{answer.use}: {answer.kind} ({MEANINGS[answer.kind]})", f"  {use.formula}"]
    lines += _field("tile", _tile(answer))
    lines += _field("D", f"{answer.tiles.source.pattern}")
    lines += _field(use.operand, f"{answer.tiles.target.pattern}")
    lines += _relabelling(answer)
    lines += _field("convert", _wrapped(_conversion(answer).split(" "), ""))
    lines += _field("registers", _wrapped(_registers(answer), ";")) if answer.registers else []
    lines += _moves(answer)
    lines += _field("provenance", f"layouts: {answer.provenance}")
    return "\n".join(lines)


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
    memory = f" ({way.bytes} bytes)" if way.bytes else ""
    return f"{', '.join([f'{count} {name}' for name, count in way.instructions])}{memory}"


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


# --- JSON ---


def json_object(answers: Sequence[Chain]) -> dict[str, Any]:
    """The same as plain data."""
    return {"architecture": answers[0].x.arch, "chains": [_chain_object(answer) for answer in answers]}


def _chain_object(answer: Chain) -> dict[str, Any]:
    return {
        **identity(answer),
        "wave": answer.wave,
        "formula": answer.tiles.use.formula,
        "patterns": {"D": answer.tiles.source.pattern, answer.tiles.use.operand: answer.tiles.target.pattern},
        "follow": [follower._asdict() for follower in answer.followers],
        "conversion": {
            "from": answer.conversion.source,
            "to": answer.conversion.target,
            "rounding": answer.conversion.rounding,
            "instructions": [{"name": name, "count": count} for name, count in answer.conversion.instructions],
            "registers": answer.conversion.registers,
            "times": answer.conversions,
        },
        "repacks": answer.repacks,
        "registers": [
            {"y": filled.y, "register": filled.register, "sources": [place and list(place) for place in filled.sources]}
            for filled in answer.registers
        ],
        "exchanges": [list(pair) for pair in answer.exchanges],
        "lane_permutation": [list(pair) for pair in answer.lane_permutation],
        "gathered": list(answer.gathered),
        "ways": [
            {
                "name": way.name,
                "instructions": [{"name": name, "count": count} for name, count in way.instructions],
                "total": way.total,
                "bytes": way.bytes,
            }
            for way in answer.ways
        ],
    }


def identity(answer: Chain) -> dict[str, Any]:
    """What identifies a chain, and its kind."""
    return {
        "x": answer.x.name,
        "y": answer.y.name,
        "use": answer.use,
        "kind": answer.kind,
        "f": answer.f,
        "k": answer.k,
        "blocks": answer.blocks,
        "x_count": answer.x_count,
        "y_count": answer.y_count,
        "relabel": None if answer.relabel is None else list(answer.relabel),
        "relabel_f": None if answer.relabel_f is None else list(answer.relabel_f),
        "relabel_pattern": answer.relabel_pattern,
        "conditions": [condition._asdict() for condition in answer.conditions],
        "provenance": answer.provenance,
    }
