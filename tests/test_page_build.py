"""The page in the package is the one that its sources make, and its sources have no type error."""

import graphlib
import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[1] / "page"


def run(*command):
    return subprocess.run(command, cwd=PAGE, capture_output=True, text=True)


def test_the_built_page_is_that_of_the_sources(tmp_path):
    made = tmp_path / "page.html"
    done = run("node", "build.mjs", str(made))
    assert (done.returncode, done.stderr) == (0, ""), "cd page && npm ci"
    assert made.read_bytes() == (PAGE.parent / "src/mmacalc/page/page.html").read_bytes(), "run node page/build.mjs"


def test_the_sources_have_no_type_error():
    done = run("node_modules/.bin/tsc", "--noEmit")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_modules_of_the_page_import_one_another_in_one_direction():
    imports = {
        file.stem: set(re.findall(r'from "\./(\w+)\.ts"', file.read_text(encoding="utf-8")))
        for file in (PAGE / "src").glob("*.ts")
    }
    assert len(imports) > 30
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError
