"""Draws the gallery: the pictures beside this script, and README.md, which shows and explains them.

    python docs/gallery/make_gallery.py

`tests/test_draw.py` checks that what is here is what this script makes.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import mmacalc
from mmacalc.cli.draw import arguments_drawing

HERE = Path(__file__).parent
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"

PICTURES = (
    ("mfma-32x32x8", "An MFMA, whole", "-a gfx942 -i v_mfma_f32_32x32x8_f16 --mark D[22][5]",
     "D comes in bands of four rows, for a lane's four registers v0 to v3 hold four rows of its column; then it is the "
     "other half-wave's turn. D[22][5] is the product of row 22 of A and column 5 of B, which are framed: lanes 22 and "
     "54 hold that row, lanes 5 and 37 that column. The strips at the edges are the whole layout: the lane of an "
     "element is the lane part of its row plus that of its column."),
    ("mma-m16n8k16", "An mma.sync of NVIDIA", f"-a sm_80 -i {MMA} --mark D[3][5]",
     "Four neighbouring lanes (four hues) share a row; the shade runs over the groups of four. Registers count rows "
     "8 apart first, then along k."),
    ("fp4-16x16x128", "4-bit elements", "-a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A --cbsz fp4 --mark A[3][37]",
     "One lane holds 32 neighbours along k, which fill four registers."),
    ("fp8-16x16x128", "8-bit elements of the same instruction",
     "-a gfx950 -i v_mfma_f32_16x16x128_f8f6f4 -A --cbsz fp8 --mark A[3][37]",
     "Now a lane holds two runs of 16 along k, 64 apart: v0 to v3 hold the first, v4 to v7 the second."),
    ("scales", "The scales of those blocks",
     "-a gfx950 -i v_mfma_scale_f32_16x16x128_f8f6f4 --scale-a --mark SA[3][37]",
     "Each lane holds one scale, that of 32 neighbours along k. Not those that it holds itself: in the fp8 layout "
     "above, A[3][37] is in lane 35, and its scale in lane 19."),
    ("index", "The index of a sparse A", "-a gfx942 -i v_smfmac_f32_16x16x32_f16 -k --abid 1 --mark K[3][9]",
     "Four k share one place: the indices of the two values that are stored. ABID 1 chooses the second set of bits."),
    ("blocks-cbsz", "Sixteen blocks, broadcast", "-a gfx942 -i v_mfma_f32_4x4x4_16b_f16 -A --cbsz 2 --abid 1",
     "With CBSZ 2, four blocks read one block of A, and ABID 1 says the second of each four: only lanes 4 to 7, 20 to "
     "23 ... are read."),
    ("rdna3-copies", "Copies on RDNA3", "-a gfx1100 -i v_wmma_f32_16x16x16_f16 -A --mark A[3][5]",
     "RDNA3 wants A in both halves of the wave: lane 3 and lane 19 hold the same row."),
    ("rdna4-wave64", "RDNA4 in wave64", "-a gfx1201 -i v_wmma_f32_16x16x16_f16 -D -w 64 --style print",
     "In a wave32, a lane holds eight rows of its column. In a wave64 it holds four of them, and the lane 32 further "
     "the next four. Drawn with --style print, for paper."),
    ("wgmma-64x256", "A warpgroup's accumulator", f"-a sm_90a -i {WGMMA} -D --mark D[20][100]",
     "64 x 256 results in 128 lanes. Eight columns repeat 32 times, in further registers, so that the picture shows "
     "the first, the marked and the last repetition."),
)  # fmt: skip


def files() -> dict[str, str]:
    """Every file of the gallery by name, with its content."""
    made = {f"{name}.svg": arguments_drawing(shlex.split(command)).svg for name, _, command, _ in PICTURES}
    text = (
        "# Layouts worth knowing\n\nMade by `python docs/gallery/make_gallery.py`; every picture by the command below"
    )
    text += " it. How to read them: a tile is a run of neighbours that lie in one lane, its number is the lane, and"
    text += " the strips say what each row and column adds to the lane and to the register.\n"
    for name, title, command, explained in PICTURES:
        text += f"\n## {title}\n\n{explained}\n\n![{title}]({name}.svg)\n\n    mmacalc draw {command}\n"
    return {**made, "README.md": text}


if __name__ == "__main__":
    for file, content in files().items():
        (HERE / file).write_text(content)
        print(f"{file}: {len(content)} characters, mmacalc {mmacalc.__version__}")
