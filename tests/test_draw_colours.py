"""The colours of pictures, in numbers: any two hues are told apart by everyone, and every label can be read.

Colour vision: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
Deficiency", IEEE TVCG 15(6), 2009, severity 1.0. Difference: CIE 142-2001 (CIEDE2000), checked against the data of
Sharma, Wu and Dalal, "The CIEDE2000 Color-Difference Formula", 2005. Contrast: WCAG 2.2, 1.4.3 and 1.4.11.
"""

from itertools import combinations
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

import pytest

from mmacalc.drawing.matrix import Colour
from mmacalc.drawing.scene import STYLES

VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
STEPS = [step / 8 for step in range(9)]


def linear(colour):
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def seen(colour, vision):
    """The colour in CIELAB, as eyes of a kind see it."""
    light = linear(colour)
    red, green, blue = (min(1, max(0, sum(a * b for a, b in zip(row, light)))) for row in VISION[vision])
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def ciede2000(first, second):
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (hypot(a1, b1) + hypot(a2, b2)) / 2
    g = 0.5 * (1 - sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = (degrees(atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * sqrt(c1 * c2) * sin(radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = 1 - 0.17 * cos(radians(hm - 30)) + 0.24 * cos(radians(2 * hm)) + 0.32 * cos(radians(3 * hm + 6))
    t -= 0.20 * cos(radians(4 * hm - 63))
    sl = 1 + 0.015 * (lm - 50) ** 2 / sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    rotation = -2 * sqrt(cm**7 / (cm**7 + 25**7)) * sin(radians(60 * exp(-(((hm - 275) / 25) ** 2))))
    return sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)


def contrast(first, second):
    lights = sorted(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x))) for x in (first, second))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0),
        ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
        ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
        ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_measure_agrees_with_published_pairs(first, second, difference):
    assert ciede2000(first, second) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize(("name", "least"), [("light", 10.1), ("dark", 9.4)])
def test_any_two_hues_are_told_apart_by_every_kind_of_eyes(name, least):
    style = STYLES[name]
    worst = min(
        ciede2000(*(seen(style.fill(Colour(hue, step)), vision) for hue in pair))
        for vision in VISION
        for pair in combinations(range(4), 2)
        for step in STEPS
    )
    assert worst >= least


def test_two_hues_which_most_layouts_need_are_far_apart():
    worst = min(
        ciede2000(*(seen(STYLES["light"].fill(Colour(hue, step)), vision) for hue in (0, 1)))
        for vision in VISION
        for step in STEPS
    )
    assert worst >= 30


@pytest.mark.parametrize("name", STYLES)
def test_every_label_has_contrast(name):
    style = STYLES[name]
    fills = [style.fill(Colour(hue, step)) for hue in range(4) for step in STEPS]
    assert min(contrast(style.ink, fill) for fill in fills) >= 4.5
    assert contrast(style.quiet, style.strip) >= 4.5
    assert contrast(style.quiet, style.paper) >= 4.5
    assert contrast(style.text, style.paper) >= 4.5
    assert contrast(style.on_mark, style.mark) >= 7
    assert min(contrast(style.mark, fill) for fill in fills) >= 3


def test_print_tells_tiles_apart_by_frames():
    style = STYLES["print"]
    assert contrast(style.frame, style.paper) >= 3
    greys = [linear(first)[0] for first, last in style.ramps if first == last]
    assert len(greys) == 4
    assert greys == sorted(greys, reverse=True)
