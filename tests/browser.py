"""The page in a headless Chromium, for the tests of the page."""

import contextlib
import os
import shutil
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)


def made_once(folder, name, make):
    """A file that several test processes share: one of them makes it, the others wait."""
    path, lock = Path(folder) / name, Path(folder) / f"{name}.lock"
    with contextlib.suppress(FileExistsError):
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        part = path.with_suffix(".part")
        part.write_text(make(), encoding="utf-8")
        part.rename(path)
    for _ in range(600):
        if path.exists():
            return path
        time.sleep(0.2)
    raise TimeoutError(f"{path} was not made")


@contextlib.contextmanager
def chromium():
    """The browser; a missing one is a failure (./test installs it), never a skipped test."""
    assert CHROMIUM, "no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class Opened:
    """A page that was opened, with everything that it asked of the network and wrote to the console."""

    def __init__(self, browser, path, link="", size=(1400, 900), **options):
        width, height = size
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page = self.context.new_page()
        self.requests, self.messages = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.path = path
        self.page.goto(path.as_uri() + link)
        self.page.wait_for_function("window.mmacalc !== undefined")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.context.close()
        if not any(problem):
            assert self.messages == []
            assert [url for url in self.requests if url.partition("#")[0] != self.path.as_uri()] == []

    def settle(self):
        """Wait until everything is drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
