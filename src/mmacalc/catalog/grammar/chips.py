"""What drivers, compilers and shops print, as a name that the catalog has.

"NVIDIA H100 80GB HBM3", "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "compute_90" and "9.0a+PTX" are in no list. One
rule reads them: a text means the known name whose words it has all, of several the one with the most words. If none has
all its words in the text, a text means the known names that have all of its own ("RTX 6000": three generations). The
other words of a text with a short name (A2, T4, M1) have to be those of products.
In a known name, `*` stands for a digit and `#` for one from 1 to 9, so that "rtx 40#0" is every GeForce of that series.
"""

from __future__ import annotations

from ...base.errors import Error
from ...base.records import Cache, TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Meaning", "meaning"]

VENDORS = {"nvidia", "amd", "intel", "arm", "tesla", "geforce", "instinct", "radeon", "arc", "r", "tm", "c"}
# Words that make no other product of a name: the same chip with the same units and clock.
INSIGNIFICANT = {
    "gpu", "graphics", "generation", "oam", "hbm2", "hbm2e", "hbm3", "hbm3e", "sxm", "sxm2", "sxm4", "sxm5", "sxm6",
    "ada", "blackwell", "amdgcn", "amdhsa", "sramecc", "xnack", "workstation",
    "edition",
}  # fmt: skip
# Words of products that no known name has.
COMPANIONS = {"laptop", "mobile", "tensor", "core", "grid", "quadro", "virtual", "mig", "apple", "chip", "macbook", "mac"}
LONG = 4  # letters and digits of a name that nothing else is called by
CAPABILITY = ("sm", "compute", "lto", "cc")
SHORTEST = 3  # letters and digits of a text that is a part of names


class Meaning(TupleRecord):
    """The known name that a text means; `other` is whether it has words that may make it another product."""

    name: str
    other: bool


def meaning(text: str, known: Mapping[str, str]) -> Meaning | None:
    """What a text means of the known names; None if none.

    Args:
        text: what was given. known: by each name as people write it, what it belongs to (an architecture).

    Raises:
        Error: it may mean several that belong to different architectures.

    >>> names = {"H100": "sm_90a", "H100 PCIe": "sm_90a", "sm_90": "sm_90", "RTX PRO 6000": "sm_120a"}
    >>> meaning("NVIDIA H100 80GB HBM3", names), meaning("9.0+PTX", names)
    (Meaning(name='H100', other=False), Meaning(name='sm_90', other=False))
    """
    if capability := _capability(text):
        return next((Meaning(name, False) for name in known if name == capability), None)
    given = _words(text)
    if not given:
        return None
    phrases = {name: _words(name) or (name,) for name in known}
    inside = {name: words for name, words in phrases.items() if all(_any_fits(given, word) for word in words)}
    if inside:
        most = max(map(len, inside.values()))
        best = [name for name, words in inside.items() if len(words) == most]
        exact = [name for name in best if not _is_series(name)] or best
        _one_owner(text, exact, known)
        owner = known[exact[0]]
        used = [word for name, words in inside.items() if known[name] == owner for word in words]
        rest = [word for word in given if not any(_fits(word, pattern) for pattern in used)]
        if len("".join(inside[exact[0]])) < LONG:
            of_products = COMPANIONS.union(INSIGNIFICANT, *phrases.values())
            if any(word.isalpha() and word not in of_products for word in rest):
                return None
        several = len({tuple(phrases[name]) for name in exact}) > 1
        return Meaning(exact[0], several or _is_series(exact[0]) or not all(map(_insignificant, rest)))
    if len("".join(given)) < SHORTEST:
        return None
    around = [
        name
        for name, words in phrases.items()
        if not set(given).isdisjoint(words) and all(any(_fits(word, known) for known in words) for word in given)
    ]
    if not any(all(_any_of(word, phrases[name]) for word in given) for name in around):
        return None
    _one_owner(text, around, known)
    return Meaning(around[0], True)


_WORDS = Cache(4096)  # each text is compared with the words of every name


def _words(text: str) -> tuple[str, ...]:
    """The words of a name, without the vendor's."""
    if len(text) > 100:  # longer than any name: not worth keeping
        return _split(text)
    found: tuple[str, ...] = _WORDS.get(text, lambda: _split(text))
    return found


def _split(text: str) -> tuple[str, ...]:
    spaced = "".join([letter if letter.isalnum() or letter in "*#" else " " for letter in text.lower()])
    return tuple([word for word in spaced.split() if word not in VENDORS])


def _capability(text: str) -> str:
    """NVIDIA's target that a text spells in the way of nvcc, CMake or torch; empty if it is not a target.

    >>> _capability("compute_90a"), _capability("8.6"), _capability("90-real"), _capability("SM120"), _capability("4090")
    ('sm_90a', 'sm_86', 'sm_90', 'sm_120', '')
    """
    lower = text.strip().lower()
    for suffix in ("+ptx", "-real", "-virtual"):
        lower = lower.removesuffix(suffix)
    for prefix in CAPABILITY:
        lower = lower.removeprefix(prefix)
    plain = lower.removeprefix("_")
    number = plain.rstrip("af")
    digits = number.replace(".", "", 1)
    dotted = number.partition(".")[2]
    if digits.isdecimal() and digits.isascii() and len(digits) in (2, 3):
        return f"sm_{digits}{plain[len(number) :]}" if len(dotted) < 2 else ""
    return ""


def _fits(word: str, pattern: str) -> bool:
    """Whether a word is that of a known name, in which * is a digit and # one from 1 to 9."""
    if word == pattern:
        return True
    if len(word) != len(pattern) or not _is_series(pattern):
        return False
    return all(letter == place or _is_digit_of(place, letter) for letter, place in zip(word, pattern))


def _is_digit_of(place: str, letter: str) -> bool:
    return _is_series(place) and letter.isascii() and letter.isdecimal() and (place, letter) != ("#", "0")


def _any_fits(words: Iterable[str], pattern: str) -> bool:
    return any(_fits(word, pattern) for word in words)


def _any_of(word: str, patterns: Iterable[str]) -> bool:
    """Whether a word is one of a name that has more; what any number fits says nothing without the others ("rtx pro ****"
    of "RTX 6090")."""
    return any(_fits(word, pattern) for pattern in patterns if pattern.strip("*"))


def _is_series(name: str) -> bool:
    return "*" in name or "#" in name


def _insignificant(word: str) -> bool:
    return word in INSIGNIFICANT or (word.endswith("gb") and word.removesuffix("gb").isdecimal())


def _one_owner(text: str, names: list[str], known: Mapping[str, str]) -> None:
    """Refuse names of several architectures."""
    owners: dict[str, str] = {}
    for name in names:
        owners.setdefault(known[name], _filled(name, _words(text)))
    if len(owners) > 1:
        shown = [f"{name} ({owner})" for owner, name in owners.items()]
        raise Error(f"'{text}' is ambiguous: {', '.join(shown[:-1])} or {shown[-1]}; give one of them")


def _filled(name: str, given: tuple[str, ...]) -> str:
    """A known name with the words of a text in the places of its patterns."""
    return " ".join([next((word for word in given if _fits(word, place)), place) for place in name.split()])
