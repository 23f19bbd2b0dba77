"""A baseline: the findings that a project has and knows, so that only new ones are reported.

It is a JSON file with a line for each file and finding that can be read and reviewed:

    {"mmacalc-baseline": 1, "findings": [
    {"file": "asm/fa.s", "fingerprint": "b1d2...", "count": 2, "kind": "wait states", "text": "v_add_f32 v6, v0, v1"}
    ]}

Files are relative to the baseline's folder. Line numbers are not in it: a finding is known by its kind, its line and
the line that it must wait for, and by how often that occurs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter

from ...base.errors import Error, plural
from ...base.files import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...hazards.lint import Finding

__all__ = ["Baseline", "fingerprint"]

VERSION = 1
MARK = "mmacalc-baseline"


def fingerprint(finding: Finding) -> str:
    """What makes a finding the same after lines were moved: its kind and the texts of its lines, without spaces' width.

    >>> from mmacalc.hazards.lint import lint
    >>> [first] = lint("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[5:6], v[6:7], v[0:3]", "gfx942").findings
    >>> [moved] = lint("\\n  v_mfma_f32_4x4x4_16b_f16  v[0:3], v[5:6], v[6:7], v[0:3]", "gfx942").findings
    >>> fingerprint(first) == fingerprint(moved)
    True
    """
    message = "" if finding.wait or finding.first_line else finding.message
    parts = (finding.kind, " ".join(finding.text.split()), " ".join(finding.first_text.split()), message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:20]


class Baseline:
    """A baseline that is compared with, or written: see `opened`.

    Attributes:
        path: of its file. known: how often each finding is in it, by (file, fingerprint).
        writes: whether it is written. seen: the findings of now. read: the files that were checked.
    """

    def __init__(self, path: str, known: Counter[tuple[str, str]], writes: bool) -> None:
        self.path: str = path
        self.known: Counter[tuple[str, str]] = known
        self.writes: bool = writes
        self.seen: list[tuple[str, Finding]] = []
        self.read: set[str] = set()

    @classmethod
    def opened(cls, path: str, update: bool) -> Baseline:
        """The baseline of a file; where that is missing, or update, it is written by `closed`.

        Raises:
            Error: it is not a baseline, or is missing where CI is set.
        """
        if update or not os.path.exists(path):
            if not update and os.environ.get("CI"):
                raise Error(
                    f"the baseline '{path}' is missing; write it by `mmacalc lint --update-baseline --baseline {path}` "
                    "and commit it", kind="file", file=path,
                )  # fmt: skip
            return cls(path, Counter(), True)
        return cls(path, _read(path), False)

    def new(self, file: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings of a file that the baseline lacks; none where it is written."""
        name = self._name(file)
        self.read.add(name)
        self.seen += [(name, one) for one in findings]
        if self.writes:
            return ()
        left, found = Counter(self.known), []
        for one in findings:
            key = name, fingerprint(one)
            if left[key] > 0:
                left[key] -= 1
            else:
                found.append(one)
        return tuple(found)

    def closed(self) -> list[str]:
        """Write the baseline if it is to be written; what to say of it."""
        now = Counter((name, fingerprint(one)) for name, one in self.seen)
        if not self.writes:
            gone = sum(((self.known - now)[key] for key in self.known if key[0] in self.read), 0)
            return [f"{plural(gone, 'finding')} of the baseline gone: --update-baseline writes it anew"] if gone else []
        first = {(name, fingerprint(one)): one for name, one in reversed(self.seen)}
        lines = [
            json.dumps(
                {"file": name, "fingerprint": mark, "count": now[name, mark], "kind": one.kind, "text": one.text}
            )
            for (name, mark), one in sorted(first.items(), key=lambda item: item[0])
        ]
        body = ",\n".join(lines)
        write({self.path: f'{{"{MARK}": {VERSION}, "findings": [\n{body}\n]}}\n'.encode()})
        return [f"{plural(len(self.seen), 'finding')} written to the baseline {self.path}"]

    def _name(self, file: str) -> str:
        """A file as the baseline calls it: relative to its folder."""
        if file in ("<stdin>", "the text"):
            return file
        folder = os.path.dirname(os.path.abspath(self.path))
        try:
            return os.path.relpath(os.path.abspath(file), folder).replace(os.sep, "/")
        except ValueError:  # another drive
            return file.replace(os.sep, "/")


def _read(path: str) -> Counter[tuple[str, str]]:
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
        if found[MARK] != VERSION:
            raise Error(f"the baseline '{path}' has version {found[MARK]}, and this mmacalc reads {VERSION}")
        return Counter({(one["file"], one["fingerprint"]): one["count"] + 0 for one in found["findings"]})
    except OSError as problem:
        raise Error(f"cannot read '{path}': {problem.strerror}", kind="file", file=path) from None
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        if isinstance(problem, Error):
            raise
        raise Error(
            f"'{path}' is not a baseline of mmacalc lint; --update-baseline writes one", kind="file", file=path
        ) from None
