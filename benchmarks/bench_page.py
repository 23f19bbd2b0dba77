"""The interactive page in headless Chromium: its size, when it is usable, what a pointer and another instruction cost.

    python benchmarks/bench_page.py

Needs playwright (the `test` extra) and Chromium. The last column is the budget; times are medians.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import Opened, chromium
from mmacalc.questions.page import page

START = "#cdna3/v_mfma_f32_32x32x8_f16/D"
HOVER = """() => {
  const { app } = mmacalc, times = [];
  for (let at = 0; at < 200; at++) {
    const start = performance.now();
    app.update({ at: [0, at % 32, (7 * at) % 32] }, "marks");
    times.push(performance.now() - start);
  }
  return times;
}"""
RENDER = """() => {
  const { app, catalog } = mmacalc, times = [];
  for (const instruction of catalog.instructions(catalog.architecture("cdna4")).slice(0, 40)) {
    const start = performance.now();
    app.update({ arch: "cdna4", name: instruction.name, operand: "D", at: null });
    times.push(performance.now() - start);
  }
  return times;
}"""
HEAP = "() => performance.memory.usedJSHeapSize / 1e6"


def usable(browser, path, slower):
    """Milliseconds from the navigation until the page answers, with a processor that is so many times slower.

    The page marks the time when its tables are inflated and its first view is drawn.
    """
    times = []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        tab = context.new_page()
        context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        tab.goto(path.as_uri() + START)
        tab.wait_for_function("window.mmacalc !== undefined")
        times.append(tab.evaluate("performance.getEntriesByName('usable')[0].startTime"))
        context.close()
    return statistics.median(times)


def main():
    """Measure and print."""
    path = Path(tempfile.mkdtemp()) / "page.html"
    path.write_text(page(), encoding="utf-8")
    content = path.read_bytes()
    rows = [
        ("size", len(content) / 1000, "kB", 300),
    ]
    with chromium() as browser:
        rows.append(("usable", usable(browser, path, 1), "ms", 300))
        rows.append(("usable, processor 6 times slower", usable(browser, path, 6), "ms", 1500))
        with Opened(browser, path, START) as opened:
            rows.append(("pointer on an element", statistics.median(opened.page.evaluate(HOVER)), "ms", 8))
            rows.append(("another instruction", statistics.median(opened.page.evaluate(RENDER)), "ms", 80))
            rows.append(("heap", opened.page.evaluate(HEAP), "MB", 25))
    for name, value, unit, budget in rows:
        print(f"{name:34} {value:8.1f} {unit:3} of {budget}")


if __name__ == "__main__":
    main()
