"""Write tests/data/cute_algebra.json.gz: what pycute and tensor-layouts make of random layouts.

    pip install --no-deps nvidia-cutlass==4.2.0.0 tensor-layouts==0.3.2 && python tests/oracles/cute_algebra.py

An answer is the operation, its arguments as texts, and for each of the two the index of every coordinate of the result
(or the number that is the result); null where it refuses the arguments.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

DATA = Path(__file__).parent.parent / "data" / "cute_algebra.json.gz"
SIZES = (1, 2, 2, 3, 4, 4, 6, 8)


def text(nested):
    return str(nested) if isinstance(nested, int) else f"({','.join(map(text, nested))})"


def random_layout(rng, most=64, compact=0.6):
    """A shape and a stride: a compact one in a random order of its modes, or any strides."""
    sizes = []
    while len(sizes) < rng.randint(1, 4):
        size = rng.choice(SIZES)
        if size * prod(sizes) <= most:
            sizes.append(size)
        elif rng.random() < 0.5:
            break
    sizes = sizes or [4]
    if rng.random() < compact:
        steps, weight = [0] * len(sizes), 1
        for at in rng.sample(range(len(sizes)), len(sizes)):
            steps[at] = weight if sizes[at] > 1 else 0
            weight *= sizes[at]
    else:
        steps = [rng.choice((0, 1, 2, 3, 4, 8, 16)) for _ in sizes]
    if len(sizes) == 1:
        return sizes[0], steps[0]
    if len(sizes) > 2 and rng.random() < 0.5:
        return (tuple(sizes[:2]), *sizes[2:]), (tuple(steps[:2]), *steps[2:])
    return tuple(sizes), tuple(steps)


def prod(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


def written(layout):
    return f"{text(layout[0])}:{text(layout[1])}"


def indices(layout, size):
    return [int(layout(at)) for at in range(size)]


def pycute_answers():
    import pycute

    def asked(name, one, more):
        first = pycute.Layout(*one)
        if name == "coalesce":
            return pycute.coalesce(first)
        if name == "complement":
            return pycute.complement(first, more)
        if name in ("right_inverse", "left_inverse"):
            return getattr(pycute, name)(first)
        second = pycute.Layout(*more)
        function = {"compose": "composition"}.get(name, name)
        return getattr(pycute, function)(first, second)

    return asked, pycute.size


def tensor_layouts_answers():
    import tensor_layouts as library

    def asked(name, one, more):
        first = library.Layout(*one)
        if name in ("coalesce", "right_inverse", "left_inverse", "nullspace"):
            return getattr(library, name)(first)
        if name == "complement":
            return library.complement(first, more)
        return getattr(library, {"common_vector": "max_common_vector"}.get(name, name))(first, library.Layout(*more))

    return asked, library.size


OPERATIONS = (
    "coalesce", "compose", "complement", "logical_divide", "zipped_divide", "logical_product", "blocked_product",
    "raked_product", "right_inverse", "left_inverse", "nullspace", "common_vector",
)  # fmt: skip
LACKING = {"pycute": ("nullspace", "common_vector", "blocked_product", "raked_product")}


def cases():
    rng = random.Random(30)
    for name in OPERATIONS:
        for _ in range(150):
            one = random_layout(rng)
            more = None
            if name == "complement":
                more = rng.choice((64, 96, 128, 192))
            elif name not in ("coalesce", "right_inverse", "left_inverse", "nullspace"):
                more = random_layout(rng, 16)
            yield name, one, more


def main():
    libraries = {"pycute": pycute_answers(), "tensor-layouts": tensor_layouts_answers()}
    rows = []
    for name, one, more in cases():
        answers = {}
        for library, (asked, size) in libraries.items():
            if name in LACKING.get(library, ()):
                continue
            try:
                found = asked(name, one, more)
                answers[library] = found if isinstance(found, int) else indices(found, size(found))
            except Exception:  # whatever it refuses its arguments with
                answers[library] = None
        second = more if more is None or isinstance(more, int) else written(more)
        rows.append([name, written(one), second, answers])
    DATA.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), mtime=0))
    print(len(rows), "answers", file=sys.stderr)


if __name__ == "__main__":
    main()
