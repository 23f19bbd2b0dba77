"""Lists of arguments and of operands, in lines of a readable length."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["listed"]


def listed(head: str, parts: Iterable[str], most: int, indent: int, template: bool = False) -> str:
    """A list behind its head, in lines of at most `most` columns before the comma.

    Args:
        indent: of the lines behind the first; template: one line, with the marks by which the page breaks it: columns
            and indent, both counted from where the text of the line begins, since the line will be indented.

    >>> print(listed("f(", ["int a", "int b", "int c"], 14, 4))
    f(int a, int b,
        int c
    >>> listed("  f(", ["int a", "int b"], 14, 6, template=True)
    '  f(@{list 12 4}int a, int b@{end}'
    """
    if template:
        begin = len(head) - len(head.lstrip())
        return f"{head}@{{list {most - begin} {indent - begin}}}{', '.join(parts)}@{{end}}"
    lines = [head]
    for part in parts:
        if len(lines[-1]) + len(part) > most:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * indent)
        lines[-1] += f"{part}, "
    return "\n".join(lines).rstrip(", ")  # the last comma, or the space behind a head without a list
