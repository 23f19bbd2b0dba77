"""The source archive and the classic script."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_source_archive_holds_every_file_and_folder_of_the_repository():
    text = (ROOT / "pyproject.toml").read_text()
    included = re.findall(r'"/([^"]+)"', text.partition("[tool.hatch.build.targets.sdist]")[2].partition("]")[0])
    assert all((ROOT / name).exists() for name in included)
    made = {"dist", "build", "LICENSE", "PKG-INFO", "pyproject.toml"}  # by builds, and what every archive holds
    own = {path.name for path in ROOT.iterdir() if path.name[0] != "." and not path.name.endswith(".egg-info")}
    assert own - {"__pycache__"} - made <= set(included)


def test_an_interpreter_that_is_too_old_is_told_so_in_one_line():
    script = (ROOT / "matrix_calculator.py").read_text()
    program = f"import sys\nsys.version_info = (3, 9)\nexec({script!r}, {{'__name__': '__main__', '__file__': 'x'}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mmacalc needs Python 3.10 or later; this is 3.9\n"
