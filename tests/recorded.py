"""Reads the recorded answers of independent oracles from tests/data."""

import csv
import gzip
import json
import lzma
from pathlib import Path

DATA = Path(__file__).parent / "data"


def text(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as stream:
        return stream.read()


def json_lines(name):
    return [json.loads(line) for line in text(name).splitlines()]


def json_file(name):
    return json.loads(text(name))


def table(name):
    """The rows of a tab-separated file, each a dictionary by column."""
    return list(csv.DictReader(text(name).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def program(name, folder):
    """A program of tests/data/programs, written into a folder; its path."""
    path = Path(folder) / name
    path.write_bytes(lzma.decompress((DATA / "programs" / f"{name}.xz").read_bytes()))
    path.chmod(0o755)
    return path
