"""Pictures in a notebook: executed by a kernel, exported to HTML, as Jupyter and nbviewer do."""

import base64
import json
import re
import sys
from xml.etree import ElementTree

import pytest

CELLS = (
    "import mmacalc; inst = mmacalc.instruction('cdna3', 'v_mfma_f32_16x16x16_f16'); inst",
    "inst.operand('A')",
    "inst.operand('D').draw(style='dark', mark='D[3][9]')",
    "mmacalc.instructions('sm_80')[-1]",
)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook after a kernel of this interpreter ran it."""
    from nbclient import NotebookClient  # here, for each test process imports this module
    from nbformat import v4

    home = tmp_path_factory.mktemp("jupyter")
    spec = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "this Python", "language": "python"}  # fmt: skip
    (home / "kernels" / "here").mkdir(parents=True)
    (home / "kernels" / "here" / "kernel.json").write_text(json.dumps(spec))
    patched = pytest.MonkeyPatch()
    patched.setenv("JUPYTER_PATH", str(home))
    patched.setenv("IPYTHONDIR", str(home / "ipython"))
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS])
    try:
        return NotebookClient(notebook, kernel_name="here", timeout=60).execute()
    finally:
        patched.undo()


def outputs(notebook):
    return [cell.outputs[-1].data for cell in notebook.cells]


@pytest.mark.filterwarnings("ignore")  # the kernel's own
def test_a_notebook_shows_instructions_operands_and_drawings_as_pictures(executed):
    shown = outputs(executed)
    titles = [ElementTree.fromstring(data["image/svg+xml"])[0].text for data in shown[:3]]
    assert titles == [
        "v_mfma_f32_16x16x16_f16, CDNA3", "A of v_mfma_f32_16x16x16_f16, CDNA3", "D of v_mfma_f32_16x16x16_f16, CDNA3",
    ]  # fmt: skip
    assert "D[3][9] is in lane 9 v3" in shown[2]["text/plain"]
    assert set(shown[3]) == {"image/svg+xml", "text/plain"}


@pytest.mark.filterwarnings("ignore")
def test_an_exported_notebook_keeps_its_pictures(executed):
    import nbformat
    from nbconvert import HTMLExporter

    nbformat.validate(executed)
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(executed)
    pictures = [base64.b64decode(code).decode() for code in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)]
    assert [ElementTree.fromstring(picture)[0].text for picture in pictures] == [
        ElementTree.fromstring(data["image/svg+xml"])[0].text for data in outputs(executed)[:4]
    ]
    assert len(nbformat.writes(executed)) < 150_000
    identifiers = re.findall(r'<(?:title|desc) id="(.*?)"', "".join(pictures))
    assert len(set(identifiers)) == len(identifiers) == 8
