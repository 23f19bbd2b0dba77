"""The source archive."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_source_archive_holds_every_file_and_folder_of_the_repository():
    text = (ROOT / "pyproject.toml").read_text()
    included = re.findall(r'"/([^"]+)"', text.partition("[tool.hatch.build.targets.sdist]")[2].partition("]")[0])
    assert all((ROOT / name).exists() for name in included)
    made = {"dist", "build", "LICENSE", "PKG-INFO", "pyproject.toml"}  # by builds, and what every archive holds
    own = {path.name for path in ROOT.iterdir() if path.name[0] != "." and not path.name.endswith(".egg-info")}
    assert own - {"__pycache__"} - made <= set(included)
